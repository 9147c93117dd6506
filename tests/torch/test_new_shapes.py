"""Tests of calls with ever new shapes, compared with PyTorch: plans of forms serve most of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.dispatch.plans.policy import lowered_at_once

SIZES = (5, 9, 2, 6, 1, 13, 0, 7, 6, 40)  # sizes 0 and 1 have separate forms
Elements = Callable[[int], Sequence[numpy.ndarray[Any, Any]]]


def values(*shape: int) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(sum(shape)).standard_normal(shape).astype(numpy.float32)


def square(n: int) -> Sequence[numpy.ndarray[Any, Any]]:
    return [values(n, n + 3), values(n, n + 3)]


CALLS: dict[str, tuple[Elements, Callable[..., Any]]] = {
    "a sum of equal shapes": (square, lambda lib, n, x, y: x + y),
    "a product with a row": (lambda n: [values(n, 4), values(4)], lambda lib, n, x, y: x * y),
    "short rows, many of them": (lambda n: [values(50 * n, 3), values(3)], lambda lib, n, x, y: x * y),
    "short rows, whose number is even": (
        lambda n: [values(3, 64 * n), values(64 * n, 3)],
        lambda lib, n, x, y: x.t() + y,
    ),
    "channels last": (
        lambda n: [values(2, n, 16, 8)],
        lambda lib, n, x: x.contiguous(memory_format=lib.channels_last),
    ),
    "equal sizes after unequal ones": (lambda n: [values(n, 6), values(6, n)], lambda lib, n, x, y: x + y.t()),
    "one of transposed memory": (lambda n: [values(4, n), values(n, 4)], lambda lib, n, x, y: x.t() - y),
    "of an expanded one": (lambda n: [values(n, 1), values(n, 5)], lambda lib, n, x, y: x.expand(n, 5) * y),
    "of every second row": (lambda n: [values(2 * n, 3), values(n, 3)], lambda lib, n, x, y: x[::2] + y),
    "another option": (square, lambda lib, n, x, y: lib.add(x, y, alpha=n)),
    "a float": (square, lambda lib, n, x, y: x * (n / 4) + 0.5),
    "in place": (square, lambda lib, n, x, y: x.add_(y).mul_(2)),
    "in place on a view": (square, lambda lib, n, x, y: (x[:, 1:].add_(y[:, 1:]), x)),
    "a sum of a dimension": (square, lambda lib, n, x, y: x.sum(0)),
    "a mean of all": (square, lambda lib, n, x, y: (x.mean(), y.var(1))),
    "softmax": (square, lambda lib, n, x, y: x.softmax(-1)),
    "a running sum": (square, lambda lib, n, x, y: x.cumsum(0)),
    "products": (lambda n: [values(n, 4), values(4, n + 1)], lambda lib, n, x, y: x @ y),
    "products of batches": (lambda n: [values(2, 3, n, 4), values(3, 4, 5)], lambda lib, n, x, y: x @ y),
    "products of integers": (
        lambda n: [values(n, 4), values(4, 3)],
        lambda lib, n, x, y: (x * 3).long() @ (y * 3).long(),
    ),
    "products of an expanded one": (lambda n: [values(1, 4), values(4, 3)], lambda lib, n, x, y: x.expand(n, 4) @ y),
    "joined": (square, lambda lib, n, x, y: (lib.cat([x, y], 0), lib.stack([x, y], 1))),
    "views": (square, lambda lib, n, x, y: (x.view(-1), x.t().reshape(-1), x.unsqueeze(1), x[1:], x[:, 2])),
    "in order": (square, lambda lib, n, x, y: (*x.sort(1), x.sort(stable=True, dim=0)[0], x.topk(2, 1)[0], y.median())),
    "parts": (lambda n: [values(12, n)], lambda lib, n, x: x.split(4, 0)),
    "where": (square, lambda lib, n, x, y: lib.where(x > y, x, y)),
    "masked": (square, lambda lib, n, x, y: (x[x > 0], x.masked_fill(y > 0, 1.5))),
    "positions": (lambda n: [values(7, 3), values(n)], lambda lib, n, x, y: x[(y.abs() * 3).long() % 7]),
    "new ones": (lambda n: [], lambda lib, n: (lib.ones(n, 2), lib.arange(n), lib.full((n,), 0.5), lib.zeros(2, n))),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_size_gives_what_pytorch_gives(name: str) -> None:
    hold_against_pytorch(name, SIZES, "cpu")


def hold_against_pytorch(name: str, sizes: Sequence[int], device: str) -> None:
    """Make a call with several sizes on a device, and compare the results with those of PyTorch on the CPU."""
    elements, call = CALLS[name]
    with lowered_at_once():
        for n in sizes:
            arrays = elements(n)
            ours = flat(outcome(call, opdsl, n, [opdsl.from_numpy(array.copy()).to(device) for array in arrays]))
            theirs = flat(outcome(call, torch, n, [torch.from_numpy(array.copy()) for array in arrays]))
            assert len(ours) == len(theirs), n
            for mine, other in zip(ours, theirs, strict=True):
                if isinstance(other, str):
                    assert mine == other, n
                    continue
                assert (tuple(mine.shape), tuple(mine.stride())) == (tuple(other.shape), tuple(other.stride())), n
                result = mine.cpu().numpy()
                numpy.testing.assert_allclose(result, other.numpy(), rtol=2e-5, atol=2e-6, err_msg=f"size {n}")


def outcome(call: Callable[..., Any], lib: Any, n: int, inputs: Sequence[Any]) -> Any:
    """Return the result of a call, or "an error"."""
    try:
        return call(lib, n, *inputs)
    except (RuntimeError, IndexError):
        return "an error"


def flat(result: Any) -> list[Any]:
    """Return all tensors of a result."""
    return [leaf for part in result for leaf in flat(part)] if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("n", SIZES)
def test_gradients_of_every_size(n: int) -> None:
    gradients = []
    with lowered_at_once():
        for size in (4, n):  # the plans are created for size 4, and serve size n
            for lib in (opdsl, torch):
                x, w = (lib.from_numpy(array).requires_grad_() for array in (values(size, 4), values(3, 4)))
                hidden = (x @ w.t()).relu()
                loss = (hidden[:, 1:] * hidden[:, :2] + hidden.softmax(-1)[:, :2]).view(-1).sum()
                loss.backward()
                gradients.append([operand.grad.numpy() for operand in (x, w)])
    for mine, other in zip(gradients[2], gradients[3], strict=True):
        numpy.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_gradients_reach_the_tensors_of_lists() -> None:
    with lowered_at_once():
        for n in (4, 7):
            x = opdsl.ones(n, 2, requires_grad=True)
            (opdsl.cat([opdsl.ones(1, 2), x * 2, x], 0) * 3).sum().backward()
            assert x.grad is not None and x.grad.tolist() == [[9.0, 9.0]] * n


@pytest.mark.parametrize("cut", ["detach", "data", "new_zeros", "gt"])
def test_what_has_no_gradient_has_none_at_any_size(cut: str) -> None:
    calls = {
        "detach": lambda x: x.detach(),
        "data": lambda x: x.detach().clone(),
        "new_zeros": lambda x: x.new_zeros(x.shape),
        "gt": lambda x: x > 0,
    }
    with lowered_at_once():
        for n in SIZES:
            assert not calls[cut](opdsl.ones(n, 2, requires_grad=True)).requires_grad


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_asked_for_as_in_pytorch(name: str) -> None:
    elements, call = CALLS[name]
    with lowered_at_once():
        for n in (5, 8):
            asked = []
            for lib in (opdsl, torch):
                tensors = [lib.from_numpy(element.copy()).requires_grad_() for element in elements(n)]
                asked.append(
                    [getattr(output, "requires_grad", output) for output in flat(outcome(call, lib, n, tensors))]
                )
            assert asked[0] == asked[1]


def test_shared_memory_is_seen_by_the_plan_of_other_memory() -> None:
    with lowered_at_once():
        for n in (4, 6):
            table = opdsl.arange(n * 4, dtype=opdsl.float32).view(n, 4)
            table.add_(opdsl.ones(n, 4))
        with pytest.raises(opdsl.errors.OverlapError):
            table[1:].add_(table[:-1])


def test_views_within_a_composite_may_share_memory_at_some_sizes_only() -> None:
    runs: list[opdsl.Tensor] = []
    with opdsl.Library("testforms") as lib:

        @lib.op
        @opdsl.traceable
        def ends_added(self: opdsl.Tensor) -> opdsl.Tensor:
            runs.append(self)
            copy = self.clone()
            copy.narrow(0, 0, 3).add_(copy.narrow(0, copy.shape[0] - 3, 3))
            return copy

        with lowered_at_once():
            for n in (9, 7, 6):
                assert ends_added(opdsl.arange(n)).tolist()[:3] == [n - 3, n - 1, n + 1]
            assert len(runs) == 1  # one run creates the plan
            with pytest.raises(opdsl.errors.OverlapError):
                ends_added(opdsl.arange(5))


def test_a_kernel_registered_later_is_called() -> None:
    with opdsl.Library("testforms") as lib:

        @lib.op
        @opdsl.formula
        def twice(self: opdsl.Tensor) -> opdsl.Tensor:
            return self + self

        with lowered_at_once():
            assert [twice(opdsl.ones(n)).tolist()[0] for n in (2, 3, 4)] == [2.0] * 3

            @lib.impl("testforms::twice", "CPU")
            def other(self):
                return self * 5

            assert twice(opdsl.ones(5)).tolist()[0] == 5.0


def test_repeated_sizes_get_a_specialized_plan() -> None:
    x = [opdsl.ones(n, 3) for n in range(2, 9)]
    for sample in x:
        opdsl.log1p(sample)
    for _ in range(64):
        opdsl.log1p(x[-1])
    assert any("log1p" in repr(plan) for plan in plans_of(opdsl.log1p, x[-1]))


def plans_of(function: Any, x: opdsl.Tensor) -> list[object]:
    """Return the plans that a function has for the geometry of a tensor."""
    plans = function.__globals__["plans"]
    return [level[x.geometry] for level in plans.values() if x.geometry in level]


UNDIFFERENTIABLE = {
    "detach": lambda lib, x: x.detach(),
    "detached clone": lambda lib, x: x.detach().clone(),
    "zeros_like": lambda lib, x: lib.zeros_like(x),
    "compared": lambda lib, x: x > 0,
    "argmax": lambda lib, x: x.argmax(0),
}


@pytest.mark.parametrize("name", UNDIFFERENTIABLE)
def test_what_has_no_gradient_has_none_at_new_shapes(name: str) -> None:
    for size in range(2, 10):
        x = opdsl.ones(size, size + 1, requires_grad=True)
        assert not UNDIFFERENTIABLE[name](opdsl, x).requires_grad
