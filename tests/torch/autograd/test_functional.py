"""Tests that derivatives of functions agree with ``torch.autograd.functional`` and ``torch.func``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl.autograd import forward, functional
from opdsl.errors import GradientError
from tests.torch.twins import assert_agree

theirs = torch.autograd.functional

X = [0.5, -1.0, 2.0]
Y = [1.5, 0.25, -2.0]


def tensors(library: Any, *values: Any) -> list[Any]:
    return [library.tensor(array, dtype=library.float64) for array in values]


def one_to_one(x):
    return x.exp() * x


def to_number(x):
    return (x.exp() * x * x).sum()


def two_to_one(x, y):
    return x * y.exp()


def two_to_two(x, y):
    return x * y, x.exp() + y


def two_to_number(x, y):
    return (x * x * y.exp()).sum()


def unused(x, y):
    return x * 2.0


CASES: dict[str, tuple[str, Callable[..., Any], int, int]] = {
    # the tested function, the differentiated function, the number of its inputs, the number of tensors in v
    "vjp": ("vjp", one_to_one, 1, 1),
    "vjp of two": ("vjp", two_to_one, 2, 1),
    "vjp to two": ("vjp", two_to_two, 2, 2),
    "vjp unused": ("vjp", unused, 2, 1),
    "jvp": ("jvp", one_to_one, 1, 1),
    "jvp of two": ("jvp", two_to_one, 2, 2),
    "jvp to two": ("jvp", two_to_two, 2, 2),
    "jvp unused": ("jvp", unused, 2, 2),
    "vhp": ("vhp", to_number, 1, 1),
    "hvp": ("hvp", to_number, 1, 1),
    "vhp of two": ("vhp", two_to_number, 2, 2),
    "jacobian": ("jacobian", one_to_one, 1, 0),
    "jacobian of two": ("jacobian", two_to_one, 2, 0),
    "jacobian to two": ("jacobian", two_to_two, 2, 0),
    "hessian": ("hessian", to_number, 1, 0),
    "hessian of two": ("hessian", two_to_number, 2, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_functional_agrees(case: str) -> None:
    name, function, inputs, vectors = CASES[case]

    def result(library: Any, module: Any) -> Any:
        arguments = tuple(tensors(library, X, Y)[:inputs])
        vector = tuple(tensors(library, Y, X)[:vectors])
        more = (vector if vectors > 1 else vector[0],) if vectors else ()
        return getattr(module, name)(function, arguments if inputs > 1 else arguments[0], *more)

    assert_agree(result(opdsl, functional), result(torch, theirs), tolerance=1e-12, strides=False)


def test_gradients_of_gradients() -> None:
    def third(gradient: Any, library: Any) -> Any:
        cubed = gradient(lambda x: gradient(lambda x: gradient(lambda x: (x * x * x * x).sum())(x).sum())(x).sum())
        return cubed(*tensors(library, X))

    assert_agree(third(functional.grad, opdsl), third(torch.func.grad, torch), tolerance=1e-12)


def test_a_jacobian_can_be_differentiated() -> None:
    def penalty(library: Any, module: Any) -> Any:
        (x,) = tensors(library, X)
        x.requires_grad_()
        (module.jacobian(one_to_one, x, create_graph=True) * 1.0).sum().backward()
        return x.grad

    assert_agree(penalty(opdsl, functional), penalty(torch, theirs), tolerance=1e-12)


def test_dual_tensors() -> None:
    def derivative(library: Any, module: Any) -> Any:
        x, y = tensors(library, X, Y)
        with module.dual_level():
            dual = module.make_dual(x, y)
            return tuple(module.unpack_dual(two_to_one(dual, y)))

    assert_agree(derivative(opdsl, forward), derivative(torch, torch.autograd.forward_ad), tolerance=1e-12)


def test_what_depends_on_no_dual_tensor_has_no_tangent() -> None:
    x, y = tensors(opdsl, X, Y)
    with forward.dual_level():
        forward.make_dual(x, y)
        assert forward.unpack_dual(y * 2.0).tangent is None


def test_dual_tensors_need_a_level() -> None:
    x, y = tensors(opdsl, X, Y)
    with pytest.raises(GradientError, match="no dual level"):
        forward.make_dual(x, y)


def test_a_vector_of_another_form_is_refused() -> None:
    (x,) = tensors(opdsl, X)
    with pytest.raises(GradientError, match="same shapes"):
        functional.vjp(one_to_one, x, opdsl.ones(2, dtype=opdsl.float64))


def test_a_function_that_returns_several_numbers_is_refused() -> None:
    with pytest.raises(GradientError, match="one number"):
        functional.value_and_grad(lambda x: x * 2)(opdsl.ones(2))
