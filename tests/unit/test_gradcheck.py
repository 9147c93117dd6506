"""Tests that ``gradcheck`` detects wrong derivative formulas and names the wrong entry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.errors import GradientError, LawError
from opdsl.testing import gradcheck, gradgradcheck


@pytest.fixture
def x() -> opdsl.Tensor:
    return opdsl.tensor([[0.5, -2.0], [1.5, 3.0]], dtype=opdsl.float64, requires_grad=True)


@pytest.fixture
def cube() -> Iterator[Any]:
    """Yield an operator that computes the cube and has no derivative, so that a test can attach any."""
    with opdsl.Library("gradchecked") as library:

        @library.op
        def cube(self: opdsl.Tensor) -> opdsl.Tensor: ...

        @cube.kernel("CPU")
        def cube_kernel(self):
            return self * self * self

        yield cube


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_right_derivative_passes(x: opdsl.Tensor, cube: Any, fast_mode: bool) -> None:
    @cube.derivative("self")
    def cube_derivative(grad, self):
        return grad * self * self * 3.0

    assert gradcheck(cube, x, fast_mode=fast_mode) and gradgradcheck(cube, x, fast_mode=fast_mode)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_derivative_is_found(x: opdsl.Tensor, cube: Any, fast_mode: bool) -> None:
    @cube.derivative("self")
    def cube_derivative(grad, self):
        return grad * self * self * 2.0

    with pytest.raises(LawError, match="with respect to input 0"):
        gradcheck(cube, x, fast_mode=fast_mode)


def test_the_entry_is_named(cube: Any, x: opdsl.Tensor) -> None:
    weights = opdsl.tensor([[3.0, 3.0], [3.0, 4.0]], dtype=opdsl.float64)

    @cube.derivative("self")
    def cube_derivative(grad, self):
        return grad * self * self * weights

    with pytest.raises(LawError, match=r"output 0 at 3 with respect to input 0 at 3 is .*36.0.* give .*27"):
        gradcheck(cube, x)


def test_a_derivative_that_is_no_derivative_twice_is_found(x: opdsl.Tensor, cube: Any) -> None:
    @cube.derivative("self")
    def cube_derivative(grad, self):
        return grad * (self * self * 3.0).detach()

    assert gradcheck(cube, x)
    with pytest.raises(LawError):
        gradgradcheck(cube, x)


def test_no_exception_on_request(x: opdsl.Tensor, cube: Any) -> None:
    @cube.derivative("self")
    def cube_derivative(grad, self):
        return grad

    assert gradcheck(cube, x, raise_exception=False) is False


def test_complex_gradients() -> None:
    z = opdsl.tensor([1 + 2j, -0.5 + 0.25j], dtype=opdsl.complex128, requires_grad=True)
    assert gradcheck(lambda z: z * z.exp(), z)


def test_a_real_result_of_complex_numbers() -> None:
    z = opdsl.tensor([1 + 2j, -0.5 + 0.25j], dtype=opdsl.complex128, requires_grad=True)
    assert gradcheck(lambda z: opdsl.view_as_real(z * z), z)


def random(*shape: int) -> opdsl.Tensor:
    generator = numpy.random.default_rng(0)
    return opdsl.from_numpy(generator.standard_normal(shape)).requires_grad_()


@pytest.mark.parametrize("training", [True, False])
def test_gradients_of_the_gradients_of_batch_norm(training: bool) -> None:
    """Second gradients of batch norm are right, where the saved statistics depend on the input."""
    running = (None, None) if training else (opdsl.tensor([0.5, -1.0]), opdsl.tensor([2.0, 0.7]))
    running = tuple(None if statistic is None else statistic.double() for statistic in running)

    def gradients(grad_out: opdsl.Tensor, x: opdsl.Tensor, weight: opdsl.Tensor) -> Any:
        with opdsl.no_grad():
            saved = opdsl.ops.aten.native_batch_norm(x, weight, None, *running, training, 0.1, 1e-5)[1:]
        return opdsl.ops.aten.native_batch_norm_backward(
            grad_out, x, weight, *running, *saved, training, 1e-5, (True, True, True)
        )

    inputs = [random(3, 2, 4), random(3, 2, 4) * 2, random(2)]
    leaves = [input.detach().requires_grad_() for input in inputs]
    assert gradcheck(gradients, leaves) and gradgradcheck(gradients, leaves)


def test_gradients_of_the_gradients_of_layer_norm() -> None:
    def gradients(grad_out: opdsl.Tensor, x: opdsl.Tensor, weight: opdsl.Tensor) -> Any:
        with opdsl.no_grad():
            saved = opdsl.ops.aten.native_layer_norm(x, (2, 4), weight, None, 1e-5)[1:]
        return opdsl.ops.aten.native_layer_norm_backward(
            grad_out, x, (2, 4), *saved, weight, None, (True, True, False)
        )[:2]

    leaves = [random(3, 2, 4), (random(3, 2, 4) * 2).detach().requires_grad_(), random(2, 4)]
    assert gradcheck(gradients, leaves) and gradgradcheck(gradients, leaves)


def test_single_precision_is_refused() -> None:
    with pytest.raises(GradientError, match="too coarse"):
        gradcheck(opdsl.exp, opdsl.ones(2, requires_grad=True))


def test_something_has_to_require_grad() -> None:
    with pytest.raises(GradientError, match="requires grad"):
        gradcheck(opdsl.exp, opdsl.ones(2, dtype=opdsl.float64))
