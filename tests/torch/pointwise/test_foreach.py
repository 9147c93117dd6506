"""Tests of operators on lists of tensors, compared with PyTorch's: schemas of native_functions.yaml, results and
errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torchgen
from torchgen.gen import parse_native_yaml

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.aten.pointwise.foreach import SCHEMAS
from opdsl.autograd import grad
from opdsl.errors import ArgumentError, DeclarationError, OpdslError
from opdsl.testing import Maker, samples_of
from opdsl.testing.samples import fitting

NATIVE = Path(torchgen.__file__).parent / "packaged/ATen/native"


def test_schemas_are_pytorchs_and_none_is_missing() -> None:
    native_functions = parse_native_yaml(
        str(NATIVE / "native_functions.yaml"), str(NATIVE / "tags.yaml")
    ).native_functions
    theirs = {
        str(native_function.func)
        for native_function in native_functions
        if str(native_function.func.name).startswith("_foreach_")
    }
    opdsl.add  # noqa: B018  loads them
    from opdsl.declare.generated import declare_generated

    declare_generated(opdsl.registry, "aten")
    names = [operator for operator in opdsl.registry if operator.name.startswith("aten::_foreach_")]
    assert {str(name.schema) for name in names} == theirs


@pytest.mark.parametrize("name", [str(schema.name) for schema in SCHEMAS if schema.returns])
def test_results_are_pytorchs(name: str) -> None:
    operator = opdsl.registry.operator(f"aten::{name}")
    base, _, overload = name.partition(".")
    theirs = getattr(getattr(torch.ops.aten, base), overload or "default", None)
    if theirs is None:
        pytest.skip("torch has none")
    function = opdsl.registry.packets[operator.packet_name].operator_function(operator)
    for sample in fitting(samples_of(operator, opdsl.float64), function, wanted=2):
        actual = function(*sample.positional, **sample.named)
        expected = theirs(*map(to_torch, sample.positional), **sample.named)
        for one, other in zip(actual, expected, strict=True):
            np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12, atol=1e-12)


def to_torch(value: object) -> object:
    if isinstance(value, Tensor):
        return torch.from_numpy(value.numpy().copy())
    return [to_torch(element) for element in value] if isinstance(value, (list, tuple)) else value


def test_lists_that_do_not_fit_are_refused() -> None:
    xs = [opdsl.ones(2), opdsl.ones(3)]
    foreach = opdsl.ops.aten
    with pytest.raises(ArgumentError, match="must have at least one tensor"):
        foreach._foreach_add([], 1.0)
    with pytest.raises(ArgumentError, match="same number of tensors, got 2 and 1"):
        foreach._foreach_add_(xs, xs[:1])
    with pytest.raises(ArgumentError, match="same number of elements, got 2 and 3"):
        foreach._foreach_mul(xs, [1.0, 2.0, 3.0])
    assert [tensor.tolist() for tensor in xs] == [[1.0, 1.0], [1.0, 1.0, 1.0]]


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("test_lists") as lib:
        yield lib


def test_list_forms_of_a_user(library: Library) -> None:
    @library.op(inplace=True, foreach=True)
    @formula
    def blend(self: Tensor, other: Tensor, weight: float = 0.5) -> Tensor:
        return self + weight * (other - self)

    make = Maker(opdsl.float64)
    xs, ys = ([make(*shape) for shape in ((3,), (2, 2), ())] for _ in range(2))
    forms = opdsl.ops.test_lists
    assert str(forms._foreach_blend.default.schema) == (
        "test_lists::_foreach_blend(Tensor[] self, Tensor[] other, float weight=0.5) -> Tensor[]"
    )
    expected = [blend(x, y, 0.25) for x, y in zip(xs, ys, strict=True)]
    for one, other in zip(forms._foreach_blend(xs, ys, weight=0.25), expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())
    followed = [tensor.clone().requires_grad_() for tensor in xs]
    slopes = grad([sum(part.sum() for part in forms._foreach_blend(followed, ys, 0.25))], followed)
    assert all((slope.numpy() == 0.75).all() for slope in slopes)
    assert forms._foreach_blend_(xs, ys, 0.25) is None
    for one, other in zip(xs, expected, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_what_has_no_list_form_says_so(library: Library) -> None:
    with pytest.raises(DeclarationError, match="foreach=True derives the list form"):

        @library.op(foreach=True)
        def parts(self: Tensor, weight: Tensor | None = None) -> Tensor: ...


def expanded() -> Tensor:
    return opdsl.ones(1).expand(3)


# Pairs of an element and its factor that are rejected.
REFUSED = {
    "a dtype that does not hold the result": lambda: (opdsl.ones(3, dtype=opdsl.int64), 0.5),
    "a shape that does not fit": lambda: (opdsl.ones(3), opdsl.ones(2)),
    "elements in one place": lambda: (expanded(), opdsl.ones(3)),
    "a leaf that requires grad": lambda: (opdsl.ones(3, requires_grad=True), opdsl.ones(3)),
    "another device": lambda: (opdsl.ones(3), opdsl.ones(3, device="meta")),
    "memory that is read": lambda: tuple(overlapping()),
}


def overlapping() -> list[Tensor]:
    memory = opdsl.ones(4)
    return [memory[1:], memory[:3]]


@pytest.mark.parametrize("why", REFUSED)
def test_lists_are_written_wholly_or_not_at_all(why: str) -> None:
    """A rejected element leaves all elements unwritten, unlike PyTorch's slow path, which writes those before it."""
    for follows in (False, True):  # an element that requires grad is written first
        first = opdsl.ones(3)
        start = opdsl.ones(3, requires_grad=True) if follows else 1.0
        for _ in range(3):
            one, other = REFUSED[why]()
            with pytest.raises(OpdslError):
                opdsl._foreach_mul_([first, one], [opdsl.full((3,), 2.0) * start, as_element(other)])
            assert first.numpy().tolist() == [1, 1, 1] and not first.requires_grad


def as_element(value: Tensor | float) -> Tensor:
    return value if isinstance(value, Tensor) else opdsl.full((3,), value)


def test_views_of_one_tensor_are_written_one_by_one() -> None:
    memory = opdsl.arange(6)
    for _ in range(3):
        before = memory.numpy().copy()
        opdsl._foreach_add_([memory[:3], memory[3:]], [memory[3:].clone(), memory[:3].clone()])
        assert (memory.numpy() == before + np.roll(before, 3)).all()


def test_outputs_of_lists_are_written_wholly_or_not_at_all() -> None:
    outs = [opdsl.zeros(3), expanded()]
    with pytest.raises(OpdslError, match="single memory location"):
        opdsl.ops.aten._foreach_neg.out([opdsl.ones(3), opdsl.ones(3)], out=outs)
    assert outs[0].numpy().tolist() == [0, 0, 0]
