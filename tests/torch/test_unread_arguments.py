"""Tests of formulas that read no elements of an argument, compared with PyTorch: results and gradients keep their
shape.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register
from opdsl.sharding.operators import rule_of

lib = Library("unread_arguments")


@lib.op
@formula
def second_alone(self: Tensor, other: Tensor) -> Tensor:
    return opdsl.sin(other) * 2 + other * 3


@lib.op
@formula
def second_at_last(self: Tensor, other: Tensor, both: bool = False) -> Tensor:
    unused = self + other
    return opdsl.sin(other) + (unused if both else 0.0)


@lib.op
@formula
def two_results(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    return opdsl.sin(other), other * other


@lib.op
@formula
def all_read(self: Tensor, other: Tensor) -> Tensor:
    return self * ((1.0 - other) * other)


THEIRS: dict[str, Callable[..., Any]] = {
    "second_alone": lambda x, y: torch.sin(y) * 2 + y * 3,
    "second_at_last": lambda x, y: torch.sin(y) + 0.0,
    "all_read": lambda x, y: x * ((1.0 - y) * y),
    "two_results": lambda x, y: (torch.sin(y), y * y),
}
SHAPES = [((3, 1), (1, 2)), ((3, 2), ()), ((3, 2), (2,)), ((3, 2), (1, 2)), ((2,), (3, 2)), ((0, 2), (2,)), ((), (3,))]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    register(lib)


def listed(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def assert_same(ours: Any, theirs: Any) -> None:
    """Compare tensors; a missing gradient equals zeros."""
    for one, other in zip(listed(ours), listed(theirs), strict=True):
        result = one if one is None or isinstance(one, torch.Tensor) else torch.from_numpy(one.detach().numpy())
        present = next(side for side in (result, other) if side is not None)
        pair = [torch.zeros_like(present) if side is None else side.detach() for side in (result, other)]
        torch.testing.assert_close(*pair)


def second_order(results: Any, leaves: Any, grad: Any) -> tuple[Any, Any]:
    """Return gradients of both orders of a sum of squares."""
    first = grad([(result * result).sum() for result in listed(results)], leaves, create_graph=True, allow_unused=True)
    total = sum((gradient * gradient).sum() for gradient in first if gradient is not None)
    return first, grad([total], leaves, allow_unused=True)


@pytest.mark.parametrize("wanted", [(True, True), (False, True)], ids=["both", "second"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", THEIRS)
def test_gradients_of_both_orders(name: str, shapes: Any, wanted: tuple[bool, bool]) -> None:
    for _ in range(3):  # plans serve the later calls
        tensors = [
            torch.randn(shape, dtype=torch.float64, requires_grad=is_wanted)
            for shape, is_wanted in zip(shapes, wanted, strict=True)
        ]
        own = [opdsl.from_numpy(leaf.detach().numpy()).requires_grad_(leaf.requires_grad) for leaf in tensors]
        leaves, own_leaves = ([leaf for leaf in values if leaf.requires_grad] for values in (tensors, own))
        expected = second_order(THEIRS[name](*tensors), leaves, torch.autograd.grad)
        actual = second_order(getattr(opdsl.ops.unread_arguments, name)(*own), own_leaves, opdsl.autograd.grad)
        in_torch = second_order(getattr(torch.ops.unread_arguments, name)(*tensors), leaves, torch.autograd.grad)
        for one, other, wanted_gradients in zip(actual, in_torch, expected, strict=True):
            assert_same(one, wanted_gradients)
            assert_same(other, wanted_gradients)


@pytest.mark.parametrize("dims", [(0, 0), (0, None), (None, 0)], ids=str)
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", THEIRS)
def test_batches(name: str, shapes: Any, dims: Any) -> None:
    theirs, function = THEIRS[name], getattr(torch.ops.unread_arguments, name)
    tensors = [
        torch.randn(shape if dim is None else (2, *shape), dtype=torch.float64)
        for shape, dim in zip(shapes, dims, strict=True)
    ]

    def gradients(operator: Callable[..., Any]) -> Any:
        def total(*values: torch.Tensor) -> Any:
            return sum(result.sum() for result in listed(operator(*values)))

        return torch.vmap(torch.func.grad(total, argnums=(0, 1)), in_dims=dims)(*tensors)

    assert_same(torch.vmap(function, in_dims=dims)(*tensors), torch.vmap(theirs, in_dims=dims)(*tensors))
    assert_same(gradients(function), gradients(theirs))
    own = opdsl.vmap(getattr(opdsl.ops.unread_arguments, name), in_dims=dims)
    assert_same(own(*[opdsl.from_numpy(leaf.numpy()) for leaf in tensors]), torch.vmap(theirs, in_dims=dims)(*tensors))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(dynamic: bool) -> None:
    torch._dynamo.reset()
    function, theirs = torch.ops.unread_arguments.second_alone, THEIRS["second_alone"]
    compiled = torch.compile(lambda x, y: function(x, y) * 2, dynamic=dynamic, backend="aot_eager")
    batches = torch.compile(torch.vmap(function), dynamic=dynamic, backend="aot_eager")
    for count in (2, 3, 5):
        x, y = torch.randn(count, 3, 4, requires_grad=True), torch.randn(4, requires_grad=True)
        gradients = torch.autograd.grad(compiled(x, y).sum(), [x, y], allow_unused=True)
        assert_same(gradients, torch.autograd.grad(2 * theirs(x, y).sum(), [x, y], allow_unused=True))
        rows = torch.randn(count, 4)
        assert_same(batches(x, rows), theirs(x, rows))


def test_an_argument_that_is_not_read_is_not_cut() -> None:
    rule = rule_of(second_alone.operator)
    x, y = opdsl.ones(4, 2), opdsl.ones(2)
    assert [(cut.inputs, cut.outputs) for cut in rule.cuts((x, y))] == [((None, 0), (0,))]
    assert [(cut.inputs, cut.outputs) for cut in rule.cuts((y, x))] == [((None, 0), (0,)), ((None, 1), (1,))]
