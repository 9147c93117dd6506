"""Tests of ``opdsl.vmap``, compared with ``torch.vmap``."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.aten.catalog import PACKETS
from opdsl.aten.python import vmap as mapping
from opdsl.aten.python.vmap_rules import Batches
from opdsl.errors import ConversionError, OpdslError, OptionError
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import SchemaKind
from opdsl.testing import Sample, samples_of

X = numpy.random.default_rng(0).standard_normal((3, 4, 5))
Y = numpy.random.default_rng(1).standard_normal((4, 5))
W = numpy.random.default_rng(2).standard_normal((5, 3))

CALLS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "pointwise": lambda lib, x, y, w: lib.vmap(lambda a: a.sin() * 2)(x),
    "reduction": lambda lib, x, y, w: lib.vmap(lambda a: a.sum(0), in_dims=1)(x),
    "shared": lambda lib, x, y, w: lib.vmap(lambda a, b: a + b, in_dims=(0, None))(x, y),
    "products": lambda lib, x, y, w: lib.vmap(lambda a, b: a @ b, in_dims=(0, 1))(x, w),
    "out": lambda lib, x, y, w: lib.vmap(lambda a: a.t(), out_dims=2)(x),
    "last": lambda lib, x, y, w: lib.vmap(lambda a: a.mean(), in_dims=-1, out_dims=-1)(x),
    "several": lambda lib, x, y, w: lib.vmap(lambda a: (a.sum(), a.cumsum(0)), out_dims=(0, 1))(x),
    "nested": lambda lib, x, y, w: lib.vmap(lib.vmap(lambda a, b: a.dot(b)), in_dims=(0, None))(x, y),
    "structures": lambda lib, x, y, w: lib.vmap(
        lambda d, b: {"s": d["x"] + b, "l": [d["y"][0] * b]}, in_dims=({"x": 0, "y": [None]}, None)
    )({"x": x, "y": [y]}, y),
    "rows": lambda lib, x, y, w: lib.vmap(lambda a: a.softmax(-1).cumsum(0).sort(1)[0])(x),
    "images": lambda lib, x, y, w: lib.vmap(lambda a: lib.nn.functional.conv1d(a[None], y[None]).relu())(x),
    "joined": lambda lib, x, y, w: lib.vmap(lambda a: lib.stack([lib.cat([a, a.flip(0)], 1), lib.cat([y, y], 1)]))(x),
    "positions": lambda lib, x, y, w: lib.vmap(lambda a: a[lib.tensor([2, 0])][:, 1:3].masked_fill(a[:2, :2] > 0, 7.0))(
        x
    ),
    "matrices": lambda lib, x, y, w: lib.vmap(
        lambda a: lib.linalg.qr(a.t())[1].abs() + lib.linalg.slogdet(a @ a.t())[1]
    )(x),
    "folded": lambda lib, x, y, w: lib.vmap(lambda a: a.max(1)[0] - a.var(1), in_dims=2)(x),
    "spectra": lambda lib, x, y, w: lib.vmap(lambda a: lib.fft.rfft(a, dim=0).abs(), in_dims=1)(x),
    "by name": lambda lib, x, y, w: lib.vmap(lambda a, k: a * k)(x, k=y),
    "written": lambda lib, x, y, w: (lib.vmap(lambda a: a.add_(1))(x), x),
    "empty": lambda lib, x, y, w: lib.vmap(lambda a: a.sum(0), out_dims=1)(x[:0]),
}


def listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: listed(element) for key, element in value.items()}
    return [listed(element) for element in value] if isinstance(value, (tuple, list)) else value.detach().numpy()


def close(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(close(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours.shape == theirs.shape and bool(numpy.allclose(ours, theirs, 1e-13, 1e-13))


@pytest.fixture(params=[1, 1000], ids=["by rules", "one by one"])
def fewest(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Set the number of elements from which a call is batched by rules instead of run one by one."""
    monkeypatch.setattr(mapping, "FEWEST", request.param)
    return int(request.param)


@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_pytorch(name: str) -> None:
    ours, theirs = (
        listed(CALLS[name](lib, *(lib.asarray(operand.copy()) for operand in (X, Y, W)))) for lib in (opdsl, torch)
    )
    assert close(ours, theirs)


@pytest.mark.usefixtures("fewest")
def test_gradients_of_each_element_and_through_all() -> None:
    def loss(lib: Any) -> Callable[[Any, Any], Any]:
        return lambda w, a: ((a @ w).tanh() ** 2).sum()

    ours = opdsl.vmap(opdsl.autograd.functional.grad(loss(opdsl)), in_dims=(None, 0))(
        opdsl.asarray(W), opdsl.asarray(X)
    )
    theirs = torch.vmap(torch.func.grad(loss(torch)), in_dims=(None, 0))(torch.asarray(W), torch.asarray(X))
    assert close(listed(ours), listed(theirs))
    followed = opdsl.tensor(X, requires_grad=True)
    opdsl.vmap(lambda a: a.square().sum())(followed).sum().backward()
    assert numpy.allclose(followed.grad.numpy(), 2 * X)


@pytest.mark.usefixtures("fewest")
def test_random_numbers() -> None:
    def noise(a: Any) -> Any:
        return opdsl.rand_like(a)

    batch = opdsl.zeros(4, 8)
    with pytest.raises(OptionError, match="randomness"):
        opdsl.vmap(noise)(batch)
    same, different = (opdsl.vmap(noise, randomness=name)(batch) for name in ("same", "different"))
    assert all(row.tolist() == same[0].tolist() for row in same)
    assert len({tuple(row.tolist()) for row in different}) == 4


@pytest.mark.parametrize(
    "call",
    [
        lambda x: opdsl.vmap(lambda a: a, in_dims=None)(x),
        lambda x: opdsl.vmap(lambda a: a, in_dims=3)(x),
        lambda x: opdsl.vmap(lambda a: a, in_dims=(0, 0))(x),
        lambda x: opdsl.vmap(lambda a, b: a)(x, x[:2]),
        lambda x: opdsl.vmap(lambda a: (a, a), out_dims=(0,))(x),
        lambda x: opdsl.vmap(lambda a: a)(opdsl.tensor(1.0)),
        lambda x: opdsl.vmap(lambda a: a, randomness="some")(x),
    ],
)
def test_calls_that_have_no_meaning(call: Callable[[Any], Any]) -> None:
    with pytest.raises(OptionError, match="vmap: "):
        call(opdsl.asarray(X))


def test_results_have_to_be_tensors() -> None:
    with pytest.raises(ConversionError, match="returns float"):
        opdsl.vmap(lambda a: 1.0)(opdsl.asarray(X))


# --------------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"written", "empty"}))
def test_operators_are_called_once_for_all_elements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> Any:
        raise AssertionError("elements were computed one after another")

    monkeypatch.setattr(mapping, "FEWEST", 1)
    monkeypatch.setattr(mapping, "_results", refuse)
    monkeypatch.setattr(Batches, "_one_by_one", refuse)
    CALLS[name](opdsl, *(opdsl.asarray(operand.copy()) for operand in (X, Y, W)))


@pytest.mark.usefixtures("fewest")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 2 if x.sum() > 0 else -x,  # depends on elements
        lambda x: x.new_zeros(5).add_(x[0]),  # writes in place
        lambda x: opdsl.full((2,), 3.0, device=x.device) + x[0, 0],
        lambda x: opdsl.tensor(x.tolist()),
        lambda x: opdsl.ones(2),  # depends on no element
    ],
)
def test_functions_without_rules_are_called_for_each_element(function: Callable[[Any], Any]) -> None:
    x = opdsl.asarray(X)
    assert opdsl.vmap(function)(x).tolist() == [function(row).tolist() for row in x]


def test_errors_are_those_of_one_element(fewest: int) -> None:
    with pytest.raises(opdsl.errors.ShapeError, match="mm"):
        opdsl.vmap(lambda x: x @ x)(opdsl.ones(200, 3, 4))


# Packets whose batching rules are tested, all in full runs. Left out are uninitialized results, lists, and an operator
# whose result cancels digits.
LEFT_OUT = "empty", "_foreach", "native_batch_norm_backward"
TRIED = [packet for packet in sorted(PACKETS) if not any(word in packet for word in LEFT_OUT)]
TRIED = TRIED if os.environ.get("OPDSL_TEST_FULL") else TRIED[::20]


def changed(value: Any, change: Callable[[opdsl.Tensor], opdsl.Tensor]) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(changed(element, change) for element in value)
    return change(value) if isinstance(value, opdsl.Tensor) else value


def batch_of(element: opdsl.Tensor) -> opdsl.Tensor:
    if not element.is_floating_point():
        return opdsl.stack([element] * 3)
    return opdsl.stack([element, element * 0.5, element.flip(list(range(element.ndim)))])


@pytest.mark.parametrize("name", TRIED)
def test_a_rule_gives_what_each_element_gives(name: str) -> None:
    # The operator is in one of these namespaces; others may have operators of equal names.
    (packet,) = (packet for own in ("aten", "opdsl") if (packet := opdsl.registry.packets.get(f"{own}::{name}")))
    for operator in packet.overloads.values():
        schema = operator.schema
        is_tried = schema.kind is SchemaKind.functional and not schema.is_mutable
        if is_tried and "nondeterministic_seeded" not in operator.tags:
            for sample in islice(samples_of(operator, opdsl.float32), 2):
                hold(operator.function, sample)


def hold(function: Callable[..., Any], sample: Sample) -> None:
    batch = [batch_of(tensor) for tensor in sample.tensors()]

    def call(*elements: opdsl.Tensor) -> Any:
        rest = iter(elements)
        inputs = changed(sample.positional, lambda _: next(rest))
        return function(*inputs, **{key: changed(value, lambda _: next(rest)) for key, value in sample.named.items()})

    try:
        expected = [list(tensors_in(call(*(operand[at] for operand in batch)))) for at in range(3)]
    except (OpdslError, NotImplementedError):
        return  # a batch of such elements has no meaning
    batches = Batches(3)
    try:
        with batches:
            returned = list(tensors_in(call(*map(batches.element, batch))))
        results = [batches.whole(tensor) for tensor in returned]
    except (OpdslError, AttributeError, TypeError, ValueError, RuntimeError):
        return  # without a batching rule it is called for each element
    for one, others in zip(results, zip(*expected, strict=True), strict=True):
        other = opdsl.stack(others)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert numpy.allclose(one.resolve_conj().numpy(), other.numpy(), 1e-4, 1e-5, equal_nan=True)
