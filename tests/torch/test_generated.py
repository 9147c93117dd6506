"""Tests of the operators that ``autogen`` and ``*_copy`` generate, compared with PyTorch's."""

from __future__ import annotations

import re
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.runtime.snapshot import tensors_in
from opdsl.testing.samples import samples_of
from tests.laws.refusals import known
from tests.torch.twins import agree, agree_or_fail


def generated() -> list[Any]:
    return [
        operator for operator in opdsl.registry if "generated" in operator.tags and operator.name.startswith("aten::")
    ]


def theirs(operator: Any) -> Any:
    packet = getattr(torch.ops.aten, operator.schema.name.base)
    return getattr(packet, operator.schema.name.overload or "default")


def test_every_name_in_autogen_is_declared() -> None:
    names = [part.strip() for one in opdsl.registry for part in str(one.properties.get("autogen", "")).split(",")]
    missing = [name for name in names if name and f"aten::{name}" not in opdsl.registry.operators]
    # torchgen generates no variants for composites outside of the core, even if their entries request it.
    assert [name for name in missing if is_torchs(name)] == []


def is_torchs(name: str) -> bool:
    base, _, overload = name.partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return packet is not None and (overload or "default") in packet.overloads()


@pytest.mark.parametrize("operator", generated(), ids=lambda operator: operator.name)
def test_schema_tags_and_table_are_pytorchs(operator: Any) -> None:
    its = theirs(operator)
    # PyTorch prints the default 0 of a float as `0.`, all its digits, that of a list as `[0]`, a reduction as a number.
    ours = f"aten::{operator.schema}".replace("reduction=Mean", "reduction=1")
    wanted = re.sub(r"(\d)\.(?=[,)])", r"\1", str(its._schema))
    wanted = re.sub(r"\d\.\d{15,}", lambda number: repr(float(number[0])), wanted)
    ours = re.sub(r"=(\d)\.0(?=[,)])", r"=\1", ours)
    ours, wanted = (re.sub(r"\[(\d)\] (\w+)=(\d)", spread_default, text) for text in (ours, wanted))
    assert ours == wanted
    # The dispatcher derives the tag `out` from the schema.
    assert set(operator.tags) == {str(tag).rpartition(".")[2] for tag in its.tags} - {"pt2_compliant_tag", "out"}
    assert [str(key) for key in operator.registrations] == ["CompositeExplicitAutograd"]


def spread_default(result: re.Match[str]) -> str:
    """Return the default of a sized list with all its elements."""
    return f"[{result[1]}] {result[2]}=[{', '.join([result[3]] * int(result[1]))}]"


@pytest.mark.parametrize("operator", generated(), ids=lambda operator: operator.name)
def test_python_calls_reach_copies_of_views_alone(operator: Any) -> None:
    assert operator.is_bound == ("view_copy" in operator.tags)


COPIES: dict[str, Any] = {
    "permute_copy": lambda lib, x: lib.permute_copy(x, (1, 0)),
    "transpose_copy": lambda lib, x: lib.transpose_copy(x, 0, 1),
    "t_copy": lambda lib, x: lib.t_copy(x),
    "view_copy": lambda lib, x: lib.view_copy(x, (2, 6)),
    "view_copy of what cannot be viewed": lambda lib, x: lib.view_copy(x.t(), (2, 6)),
    "view_copy.dtype": lambda lib, x: lib.view_copy(x, lib.int32),
    "expand_copy": lambda lib, x: lib.expand_copy(x, (2, 3, 4)),
    "slice_copy": lambda lib, x: lib.slice_copy(x, 1, 1, 3),
    "select_copy": lambda lib, x: lib.select_copy(x, 1, -1),
    "squeeze_copy": lambda lib, x: lib.squeeze_copy(x[:, :1]),
    "unsqueeze_copy": lambda lib, x: lib.unsqueeze_copy(x, 1),
    "as_strided_copy": lambda lib, x: lib.as_strided_copy(x, (2, 2), (1, 4), 1),
    "detach_copy": lambda lib, x: lib.detach_copy(x),
    "alias_copy": lambda lib, x: lib.alias_copy(x),
    "split_copy": lambda lib, x: tuple(lib.split_copy(x, 2)),
    "unbind_copy": lambda lib, x: tuple(lib.unbind_copy(x, 1)),
    "narrow_copy": lambda lib, x: lib.narrow_copy(x, 1, 1, 2),
    "out": lambda lib, x: lib.ops.aten.permute_copy.out(x, (1, 0), out=lib.empty(0)),
    "error": lambda lib, x: lib.select_copy(x, 5, 0),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    agree_or_fail(COPIES[name], torch.arange(12.0).view(3, 4))


def test_a_copy_shares_nothing() -> None:
    x = opdsl.zeros(3, 4)
    opdsl.permute_copy(x, (1, 0)).add_(1)
    assert x.sum().item() == 0


CALLS: dict[str, Any] = {
    "out of a functional operator": lambda lib, x: lib.ops.aten.clone.out(x, out=lib.empty(0)),
    "out of an in-place operator": lambda lib, x: lib.ops.aten.fill.Scalar_out(x, 3, out=lib.empty(0)),
    "out of a factory": lambda lib, x: lib.ops.aten.scalar_tensor.out(2, out=lib.empty(0, dtype=lib.int64)),
    "out of a list": lambda lib, x: lib.ops.aten.unsafe_split.Tensor_out(x, 2, out=[lib.empty(0), lib.empty(0)]),
    "functional of an in-place operator": lambda lib, x: lib.ops.aten.zero(x),
    "functional of resize_": lambda lib, x: lib.ops.aten.resize(x, (2, 2)).shape[0],
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    agree(CALLS[name], torch.arange(12.0).view(3, 4).t())


def test_an_output_of_what_was_not_asked_for_stays() -> None:
    x, statistics = opdsl.rand(2, 3, 4), (opdsl.zeros(2, 3, 1), opdsl.ones(2, 3, 1))
    outs = [opdsl.empty(0), opdsl.full((1,), 7.0), opdsl.empty(0)]
    inputs = (x, x, [4], *statistics, opdsl.ones(4), opdsl.ones(4), [True, False, True])
    expected = opdsl.ops.aten.native_layer_norm_backward(*inputs)
    opdsl.ops.aten.native_layer_norm_backward.out(*inputs, out0=outs[0], out1=outs[1], out2=outs[2])
    assert expected[1] is None
    assert [out.tolist() for out in outs] == [expected[0].tolist(), [7.0], expected[2].tolist()]


def functionals() -> list[tuple[Any, Any]]:
    """Return pairs of a generated out variant and its functional operator.

    Operators are left out if their elements are random or unset, if they need an accelerator, or if they reject all
    tensors of opdsl, such as parts of sparse layouts.
    """
    refused = known()
    by_signature = {
        str(operator.schema.signature()): operator
        for operator in opdsl.registry
        if operator.schema.kind.value == "functional"
    }
    pairs = [
        (operator, by_signature[str(operator.schema.signature())]) for operator in generated() if operator.schema.out
    ]
    return [
        (operator, base)
        for operator, base in pairs
        if "nondeterministic_seeded" not in base.tags
        and not base.schema.name.base.startswith(("empty", "new_empty", "resize", "_pin_memory"))
        and not {(base.name, "opdsl.float32"), (base.name, "opdsl.int64")} <= refused
    ]


@pytest.mark.parametrize(("operator", "base"), functionals(), ids=lambda operator: operator.name)
def test_an_out_variant_gives_what_its_functional_gives(operator: Any, base: Any) -> None:
    into, functional = (
        opdsl.registry.packets[overload.packet_name].operator_function(overload) for overload in (operator, base)
    )
    taken = {argument.name for argument in operator.schema.arguments}
    outputs = [out.name for out in operator.schema.out]
    compared = 0
    for sample in (sample for dtype in (opdsl.float32, opdsl.int64) for sample in samples_of(base, dtype)):
        try:
            expected = sample.call(functional)
        except (RuntimeError, IndexError, TypeError):
            continue
        # Only the parameters of an optimizer's step have outputs.
        results = (expected if isinstance(expected, tuple) else (expected,))[: len(outputs)]
        outs = [of_the_kind(result) for result in results]
        named = {name: value for name, value in sample.named.items() if name in taken}
        returned = into(*sample.positional, **named, **dict(zip(outputs, outs, strict=True)))
        # An operator with a list of outputs returns nothing, as in PyTorch.
        wanted = None if isinstance(outs[0], list) else outs[0] if len(outs) == 1 else tuple(outs)
        assert returned is wanted or all(one is two for one, two in zip(returned, wanted, strict=True))
        written = [one for one, two in zip(outs, results, strict=True) if two is not None]
        for one, two in zip(tensors_in(written), tensors_in(results), strict=True):
            numpy.testing.assert_array_equal(one.numpy(), two.numpy())
            compared += 1
    assert compared


def of_the_kind(result: Any) -> Any:
    """Return an output for a result: a tensor without elements, or a list of them."""
    if isinstance(result, list):
        return [*map(of_the_kind, result)]
    return opdsl.empty(0) if result is None else opdsl.empty(0, dtype=result.dtype)


def test_outputs_of_what_is_not_asked_for_stay() -> None:
    x = opdsl.ones(3, 4)
    kept = opdsl.ones(2)
    outs = opdsl.empty(0), kept, opdsl.empty(0)
    opdsl.ops.aten.native_layer_norm_backward.out(
        x, x, [4], x[:, :1], x[:, :1], x[0], x[0], [True, False, True], out0=outs[0], out1=outs[1], out2=outs[2]
    )
    assert [out.shape for out in outs] == [(3, 4), (2,), (4,)]
    assert kept.tolist() == [1, 1]
