"""Tests of every padding mode, compared with PyTorch's: memory formats, negative padding, errors, both orders of
gradients.
"""

from __future__ import annotations

import warnings

import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import compare, differences, of, outcome

CASES = [(mode, dims) for mode in ("reflection", "replication") for dims in (1, 2, 3)]
NN = torch._C._nn


def pads(mode, dims):
    return getattr(opdsl.ops.aten, f"{mode}_pad{dims}d"), getattr(NN, f"{mode}_pad{dims}d")


def backwards(mode, dims):
    name = f"{mode}_pad{dims}d_backward"
    return getattr(opdsl.ops.aten, name), getattr(torch.ops.aten, name)


def rounded(dtype):
    """Return the tolerance for sums of small integers: 0, except where PyTorch rounds each sum to 16 bits."""
    return 1e-2 if dtype is torch.bfloat16 else 0.0


@some.composite
def tensors(draw, dims):
    shape = draw(some.lists(some.integers(1, 5), min_size=dims + 1, max_size=dims + 2))
    image = torch.arange(float(torch.Size(shape).numel())).reshape(shape).add(1)
    if len(shape) == dims + 2 and dims > 1 and draw(some.booleans()):
        formats = {2: torch.channels_last, 3: torch.channels_last_3d}
        image = image.contiguous(memory_format=formats[dims])
    return image.to(draw(some.sampled_from([torch.float32, torch.bfloat16, torch.int64, torch.complex64, torch.bool])))


@pytest.mark.parametrize(("mode", "dims"), CASES)
@given(data=some.data())
@settings(max_examples=60)
def test_values_and_errors_of_any_padding(mode, dims, data):
    image = data.draw(tensors(dims))
    margins = data.draw(some.lists(some.integers(-3, 4), min_size=2 * dims - 1, max_size=2 * dims + 1))
    assert compare(*pads(mode, dims), (image, margins), {}, 0.0) == []


@pytest.mark.parametrize(("mode", "dims"), CASES)
def test_batches_may_be_empty_and_nothing_else(mode, dims):
    for shape in ((), (4,) * dims, (0, *(4,) * dims), (0, 2, *(4,) * dims), (2, 0, *(4,) * dims), (2, *(4,) * dims, 0)):
        assert compare(*pads(mode, dims), (torch.ones(shape), (1, 1) * dims), {}, 0.0) == []


@pytest.mark.parametrize(("mode", "dims"), CASES)
@given(data=some.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.filter_too_much])
def test_gradients_of_any_padding(mode, dims, data):
    image = data.draw(tensors(dims))
    margins = data.draw(some.lists(some.integers(-1, 2), min_size=2 * dims, max_size=2 * dims))
    grad = outcome(lambda: pads(mode, dims)[1](image, margins))[0]
    # PyTorch does not initialize the gradient of an empty result.
    assume(isinstance(grad, torch.Tensor) and grad.numel() and (grad.is_complex() or grad.is_floating_point()))
    ours, theirs = backwards(mode, dims)

    def wide(grad, x, margins):
        """Compute PyTorch's gradient in float32, since PyTorch rounds each sum to 16 bits."""
        return theirs(grad.float(), x.float(), margins).to(x.dtype)

    is_narrow = grad.dtype in (torch.float16, torch.bfloat16)
    assert compare(ours, wide if is_narrow else theirs, (grad, image, margins), {}, rounded) == []


@pytest.mark.parametrize(("mode", "dims"), CASES)
def test_a_gradient_has_the_shape_and_dtype_of_the_result(mode, dims):
    x, margins = torch.ones((2, 3, *(4,) * dims)), (1, 1) * dims
    for grad in (torch.ones((2, 3, *(5,) * dims)), torch.ones((2, 3, *(6,) * dims), dtype=torch.float64)):
        assert compare(*backwards(mode, dims), (grad, x, margins), {}, 0.0) == []


@pytest.mark.parametrize(("mode", "dims"), CASES)
def test_second_derivatives_agree_with_finite_differences(mode, dims):
    x = opdsl.randn((1, 2, *(3,) * dims), dtype=opdsl.float64).requires_grad_()
    pad, margins = pads(mode, dims)[0], (1, 2, *(2, -1) * (dims - 1))
    assert opdsl.testing.gradcheck(lambda x: pad(x * x, margins), x)
    grad = opdsl.randn(pad(x, margins).shape, dtype=opdsl.float64).requires_grad_()
    backward = backwards(mode, dims)[0]
    assert opdsl.testing.gradcheck(lambda grad: backward(grad * grad, x.detach(), margins), grad)


CIRCULAR = [
    *[((1, 1, 5), (-2, 1)), ((2, 3, 4), (0, 0)), ((2, 3, 4), (4, 4)), ((2, 3, 4), (5, 1)), ((2, 3), (1, 1))],
    *[((3,), (1, 1)), ((2, 3), (1, 1, 1)), ((2, 3), ()), ((2, 3, 0, 5), (1, 1, 0, 0)), ((1, 2, 4, 4), (1, 2, -1, 3))],
    *[((1, 2, 3, 4, 5), (1, 2, 3, 0, 0, 1)), ((1, 2, 3), (1, 1, 1, 1)), ((2, 3, 4), (-3, -2))],
    ((1, 2, 3, 2, 3, 2), (1, 0, 2, 1, -1, 1, 0, 2)),
]


@pytest.mark.parametrize(("shape", "pad"), CIRCULAR)
def test_circular_padding(shape, pad):
    image = torch.arange(float(torch.Size(shape).numel())).reshape(shape)
    assert compare(opdsl.ops.aten._pad_circular, NN._pad_circular, (image, pad), {}, 0.0) == []


MODES = [
    *[((3,), (1, 1), "reflect", None), ((3, 3), (1, 1), "mirror", None), ((3, 3), (1, 1), "reflect", 2.0)],
    *[((3, 3), (1, 1), "replicate", 0.0), ((3, 3), (1,), "constant", None), ((3,), (1, 1, 1, 1), "constant", None)],
    *[((3, 3, 3, 3, 3), (1, 1), "reflect", None), ((3, 3), (1, 2), "constant", None), ((2, 3), (), "circular", None)],
]


@pytest.mark.parametrize(("shape", "pad", "mode", "value"), MODES)
def test_modes_and_their_errors(shape, pad, mode, value):
    assert compare(opdsl.ops.aten.pad, NN.pad, (torch.ones(shape), pad, mode, value), {}, 0.0) == []


def test_a_result_is_written_where_it_is_asked_for():
    image = torch.randn(2, 3, 4, 5)
    out = torch.empty(2, 3, 6, 7).contiguous(memory_format=torch.channels_last)
    own = of(out)
    opdsl.ops.aten.reflection_pad2d(of(image), (1, 1, 1, 1), out=own)
    with warnings.catch_warnings(record=True) as caught:
        NN.reflection_pad2d(image, (1, 1, 1, 1), out=out)
    assert (caught, differences(own, out, strides=False)) == ([], [])
