"""Tests that autograd saves only tensors whose elements the gradients of a formula read."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opdsl
from opdsl import Library, Scalar, Tensor, formula
from opdsl.interop.torch import register

lib = Library("kept_tensors")


@lib.op
@formula
def slope(grad: Tensor, x: Tensor) -> Tensor:
    s = 1.0 / (1.0 + opdsl.exp(-x))
    return grad * s * (1.0 - s)


@lib.op
@formula
def powered(x: Tensor, y: Tensor, exponent: Scalar = 1) -> Tensor:
    return x + (y if exponent == 1 else y * y * exponent)


@lib.op
@formula
def by_dtype(x: Tensor, y: Tensor) -> Tensor:
    return x * y if x.dtype == opdsl.float64 else x + 2 * y


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    register(lib)


def sizes_kept(function: Any, *inputs: Any) -> tuple[list[int], Any]:
    """Return the bytes of each tensor that PyTorch saves for a call, and the result."""
    kept: list[int] = []

    def pack(value: torch.Tensor) -> torch.Tensor:
        kept.append(value.untyped_storage().nbytes())
        return value

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda value: value):
        result = function(*inputs)
    return kept, result


def elements_kept(result: Tensor) -> list[bool]:
    """Return for each tensor that a node of opdsl saves whether its elements are saved."""
    node: Any = result.autograd
    saved = node.saved.values() if isinstance(node.saved, dict) else node.saved
    tensors = [getattr(value, "tensor", value) for value in saved]
    return [hasattr(value, "array") for value in tensors if isinstance(value, Tensor)]


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True)], ids=["first", "second", "both"])
def test_gradients_of_a_product_keep_what_they_read(wanted: tuple[bool, bool]) -> None:
    for _ in range(4):  # plans serve the later calls
        tensors = [torch.randn(100, dtype=torch.float64, requires_grad=need) for need in wanted]
        kept, computed = sizes_kept(torch.ops.kept_tensors.slope, *tensors)
        # The gradient by the first argument depends on the second one only.
        assert [size > 8 for size in kept] == [wanted[1], True]
        own = [opdsl.from_numpy(leaf.detach().numpy()).requires_grad_(leaf.requires_grad) for leaf in tensors]
        mine = opdsl.ops.kept_tensors.slope(*own)
        assert sum(elements_kept(mine)) == 1 + wanted[1]
        computed.sum().backward()
        mine.sum().backward()
        s = tensors[1].detach().sigmoid()
        expected = [s * (1 - s), tensors[0].detach() * s * (1 - s) * (1 - 2 * s)]
        for theirs, ours, value in zip(tensors, own, expected, strict=True):
            if theirs.requires_grad:
                torch.testing.assert_close(theirs.grad, value)
                torch.testing.assert_close(torch.from_numpy(ours.grad.numpy()), value)


@pytest.mark.parametrize("exponents", [(1, 2, 1, 3, 3, 1), (2, 1, 1, 1, 2, 2)], ids=str)
def test_numbers_decide_what_is_kept(exponents: tuple[int, ...]) -> None:
    for exponent in exponents:
        x, y = (torch.randn(50, dtype=torch.float64, requires_grad=True) for _ in range(2))
        kept, computed = sizes_kept(torch.ops.kept_tensors.powered, x, y, exponent)
        assert [size > 8 for size in kept] == [False, exponent != 1]
        computed.sum().backward()
        expected = torch.ones(50).double() if exponent == 1 else 2 * y.detach() * exponent
        torch.testing.assert_close(y.grad, expected)
        own = [opdsl.from_numpy(operand.detach().numpy()).requires_grad_() for operand in (x, y)]
        opdsl.ops.kept_tensors.powered(*own, exponent).sum().backward()
        torch.testing.assert_close(torch.from_numpy(own[1].grad.numpy()), expected)


@pytest.mark.parametrize("dtypes", [("float32", "float64", "float32"), ("float64", "float32", "float64")], ids=str)
def test_dtypes_decide_what_is_kept(dtypes: tuple[str, ...]) -> None:
    for dtype in dtypes:
        x, y = (torch.randn(20, dtype=getattr(torch, dtype), requires_grad=True) for _ in range(2))
        kept, computed = sizes_kept(torch.ops.kept_tensors.by_dtype, x, y)
        assert [size > 8 for size in kept] == [dtype == "float64"] * 2
        computed.sum().backward()
        torch.testing.assert_close(y.grad, x.detach() if dtype == "float64" else torch.full_like(x, 2.0))
        own = [opdsl.from_numpy(operand.detach().numpy()).requires_grad_() for operand in (x, y)]
        opdsl.ops.kept_tensors.by_dtype(*own).sum().backward()
        torch.testing.assert_close(torch.from_numpy(own[1].grad.numpy()), y.grad)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_second_order_and_compiled(dynamic: bool) -> None:
    x, y = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    for name, extra in (("slope", ()), ("powered", (1,)), ("powered", (3,)), ("by_dtype", ())):
        operator = getattr(torch.ops.kept_tensors, name)
        assert torch.autograd.gradgradcheck(lambda *inputs, run=operator, rest=extra: run(*inputs, *rest), (x, y))
        compiled = torch.compile(
            lambda *inputs, run=operator, rest=extra: run(*inputs, *rest), backend="aot_eager", dynamic=dynamic
        )
        for actual, expected in zip(
            torch.autograd.grad(compiled(x, y).sum(), (x, y)),
            torch.autograd.grad(operator(x, y, *extra).sum(), (x, y)),
            strict=True,
        ):
            torch.testing.assert_close(actual, expected)
