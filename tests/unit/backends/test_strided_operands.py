"""Tests that kernels compute the same for strided operands as for contiguous ones."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import opdsl

# Sizes around a block of 1024 elements.
SIZES = (1, 7, 1023, 1024, 1025, 3000)


def drawn(size: int, dtype: Any) -> Any:
    values = numpy.random.default_rng(size).uniform(0.1, 2, size=2 * size)
    return opdsl.from_numpy(values).to(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [opdsl.float32, opdsl.float64, opdsl.bfloat16, opdsl.float16, opdsl.complex64])
def test_costly_functions_of_every_other_element(size: int, dtype: Any) -> None:
    whole = drawn(size, dtype)
    for function in (opdsl.exp, opdsl.sin, opdsl.tanh):
        actual, wanted = function(whole[::2]), function(whole[::2].contiguous())
        assert actual.tolist() == wanted.tolist()


@pytest.mark.parametrize("size", SIZES)
def test_results_that_lie_apart_leave_what_is_between_alone(size: int) -> None:
    whole = drawn(size, opdsl.float32)
    before = whole.numpy().copy()
    whole[::2].exp_()
    numpy.testing.assert_allclose(whole.numpy()[::2], numpy.exp(before[::2].astype("f8")), rtol=3e-7)
    numpy.testing.assert_array_equal(whole.numpy()[1::2], before[1::2])


def test_functions_with_rare_elements_and_with_loops() -> None:
    x = opdsl.from_numpy(numpy.linspace(-1e9, 1e9, 4001))
    assert x[::2].sin().tolist() == x[::2].contiguous().sin().tolist()
    a = opdsl.from_numpy(numpy.random.default_rng(0).uniform(0.1, 30, size=(2, 5000)))
    apart = [array[::2] for array in a]
    assert opdsl.igamma(*apart).tolist() == opdsl.igamma(*[array.contiguous() for array in apart]).tolist()


def test_elements_at_odd_addresses() -> None:
    memory = numpy.zeros(8 * 100 + 1, numpy.uint8)[1:]
    values = memory.view(numpy.float64)
    values[:] = numpy.linspace(0, 1, 100)
    numpy.testing.assert_allclose(opdsl.from_numpy(values)[::2].exp().numpy(), numpy.exp(values[::2]), rtol=1e-15)


@pytest.mark.parametrize("turn", [lambda x: x.t(), lambda x: x[:, ::2], lambda x: x.t()[::3], lambda x: x.flip(0).t()])
@pytest.mark.parametrize("shape", [(40, 70), (3, 5), (2000, 3), (1, 3000)])
def test_rows_of_elements_that_lie_apart(shape: tuple[int, int], turn: Any) -> None:
    x = turn(opdsl.from_numpy(numpy.random.default_rng(1).normal(size=shape)))
    weight = opdsl.from_numpy(numpy.random.default_rng(2).normal(size=2 * x.shape[1]))[::2]
    calls = [
        lambda a, w: a.softmax(-1),
        lambda a, w: a.log_softmax(-1),
        lambda a, w: opdsl.layer_norm(a, a.shape[1:], w, w),
        lambda a, w: opdsl.softmax(a.contiguous().t(), 0).t(),
    ]
    for call in calls:
        actual, wanted = call(x, weight), call(x.contiguous(), weight.contiguous())
        numpy.testing.assert_allclose(actual.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-14)
