"""Tests of registered operators within ``torch.autocast``: in which dtype they run, by default and by declaration."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import OptionError
from opdsl.interop.torch import deregister, register
from opdsl.interop.torch.autocast import multiplies

lib = Library("autocast_here")


@lib.op
def product_by_sign(x: Tensor, weight: Tensor) -> Tensor:
    return x @ weight


@lib.op
@formula
def product_by_name(x: Tensor, weight: Tensor) -> Tensor:
    return opdsl.relu(opdsl.matmul(x, weight))


def helper(x, weight):
    return opdsl.mm(x, weight)


@lib.op
def product_in_a_helper(x: Tensor, weight: Tensor) -> Tensor:
    return helper(x, weight) + 1


@lib.op
@formula
def elements(x: Tensor, other: Tensor) -> Tensor:
    return opdsl.exp(x) * other


@lib.op(inplace=True)
@formula
def doubled_by_autocast(self: Tensor) -> Tensor:
    return self * 2


PRODUCTS = {
    "product_by_sign": product_by_sign,
    "product_by_name": product_by_name,
    "product_in_a_helper": product_in_a_helper,
}
X, WEIGHT = torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(0, 1, 15).reshape(5, 3)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(lib)
    yield
    deregister(lib)


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "recorded"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_runs_in_the_lower_precision(name: str, requires_grad: bool) -> None:
    call = getattr(torch.ops.autocast_here, name)
    x = X.clone().requires_grad_(requires_grad)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = call(x, WEIGHT)
    assert result.dtype == torch.bfloat16
    assert torch.equal(result, call(x.to(torch.bfloat16), WEIGHT.to(torch.bfloat16)))
    assert call(x, WEIGHT).dtype == torch.float32


def test_its_gradient_has_the_dtype_of_what_it_is_of() -> None:
    x = X.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.ops.autocast_here.product_by_sign(x, WEIGHT).sum().backward()
    assert x.grad is not None and x.grad.dtype == torch.float32
    assert torch.allclose(x.grad, WEIGHT.sum(1).expand(4, 5), rtol=0.02)


def test_float64_is_left_alone() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ops.autocast_here.product_by_sign(X.double(), WEIGHT.double()).dtype == torch.float64


@pytest.mark.parametrize("requires_grad", [False, True], ids=["plain", "recorded"])
def test_other_operators_promote_by_their_own_rules(requires_grad: bool) -> None:
    x = X.to(torch.bfloat16).requires_grad_(requires_grad)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ops.autocast_here.elements(x, x).dtype == torch.bfloat16
        assert torch.ops.autocast_here.elements(x, X).dtype == torch.float32
        assert torch.ops.autocast_here.elements(X, X).dtype == torch.float32


@pytest.mark.parametrize(
    ("rule", "own_dtype", "dtype"),
    [
        ("lower_precision", torch.float32, torch.bfloat16),
        ("float32", torch.bfloat16, torch.float32),
        ("given", torch.bfloat16, torch.bfloat16),
    ],
)
def test_a_rule_that_is_given_holds(rule: str, own_dtype: torch.dtype, dtype: torch.dtype) -> None:
    register(elements, autocast=rule)
    x = X.to(own_dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ops.autocast_here.elements(x, x).dtype == dtype
    assert torch.ops.autocast_here.elements(x, x).dtype == own_dtype


def test_in_place_follows_the_functional_operator() -> None:
    register(doubled_by_autocast, autocast="lower_precision")
    x = torch.tensor([1.0, 1.0009765625])  # the second number is 1 in bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.ops.autocast_here.doubled_by_autocast_(x)
    assert x.dtype == torch.float32


def test_an_unknown_rule_is_refused_and_nothing_changes() -> None:
    with pytest.raises(OptionError, match="'half' is no rule"):
        register(elements, autocast="half")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.ops.autocast_here.elements(X, X).dtype == torch.float32


def test_a_compiled_program_has_the_same_dtypes() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.ops.autocast_here.product_by_sign(x, WEIGHT)

    assert torch.equal(torch.compile(program, backend="aot_eager")(X), program(X))


def test_what_multiplies_is_read_from_the_code() -> None:
    assert all(multiplies(product.operator) for product in PRODUCTS.values())
    assert not multiplies(elements.operator) and not multiplies(doubled_by_autocast.operator)
