"""Convolutions and columns against PyTorch's: groups, memory formats, errors, gradients of every parameter."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import compare, differences

ATEN = opdsl.ops.aten
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


@some.composite
def calls(draw):
    """Arguments of ``convolution`` over one to three dimensions, most of them right."""
    dims, groups, transposed = draw(some.integers(1, 3)), draw(some.integers(1, 2)), draw(some.booleans())
    small = some.integers(1, 3)
    each = lambda least, most: [draw(some.integers(least, most)) for _ in range(dims)]  # noqa: E731
    inner, outer = groups * draw(small), groups * draw(small)
    length, stride, padding, dilation = each(1, 3), each(1, 3), each(0, 2), each(1, 2)
    weight = (inner, outer // groups, *length) if transposed else (outer, inner // groups, *length)
    torch.manual_seed(draw(some.integers(0, 99)))
    tensors = [
        torch.randn(2, inner, *each(3, 6)),
        torch.randn(weight),
        draw(some.sampled_from([None, torch.ones(outer)])),
    ]
    if dims in LAST and draw(some.booleans()):
        tensors[0] = tensors[0].contiguous(memory_format=LAST[dims])
    extra = [min(step, gap, 2) - 1 if transposed else 0 for step, gap in zip(stride, dilation, strict=True)]
    if transposed:  # whether an empty result is an error depends on PyTorch's number of threads
        sizes = zip(tensors[0].shape[2:], stride, padding, dilation, length, extra, strict=True)
        assume(all((n - 1) * s - 2 * p + d * (k - 1) + 1 + e for n, s, p, d, k, e in sizes))
    return (*tensors, stride, padding, dilation, transposed, extra, groups)


@given(given_=calls())
@settings(max_examples=80, deadline=None)
def test_values_and_errors(given_):
    assert compare(ATEN.convolution, torch.ops.aten.convolution, given_, {}, 2e-6) == []


def test_transposed_results_of_doubles_are_not_empty():
    given_ = (torch.ones(2, 1, 4).double(), torch.ones(1, 1, 1).double(), None, [1], [2], [1], True, [0], 1)
    assert compare(ATEN.convolution, torch.ops.aten.convolution, given_, {}, 2e-6) == []


@given(given_=calls(), mask=some.tuples(some.booleans(), some.booleans(), some.booleans()))
@settings(max_examples=40, deadline=None)
def test_gradients_that_a_mask_asks_for(given_, mask):
    input, weight, bias, *rest = given_
    input, weight = input.round(), weight.round()  # sums of whole numbers cancel without an error
    try:
        grad = torch.ops.aten.convolution(input, weight, bias, *rest)
    except RuntimeError:
        return
    size = [grad.shape[1]]
    expected = torch.ops.aten.convolution_backward(grad, input, weight, size, *rest, mask)
    operands = (opdsl.from_numpy(each.contiguous().numpy()) for each in (grad, input, weight))
    found = ATEN.convolution_backward(*operands, size, *rest, mask)
    assert [each is not None for each in found] == list(mask)
    for one, other in zip(found, expected, strict=True):
        assert one is None or not differences(one, other, tolerance=2e-6, strides=False)


@pytest.mark.parametrize("transposed", [False, True])
def test_second_derivatives_agree_with_finite_differences(transposed):
    x, w = (opdsl.randn(shape, dtype=opdsl.float64).requires_grad_() for shape in ((2, 2, 4), (2, 2, 2)))
    rest = ((2,), (1,), (1,), transposed, (0,), 1)
    grad = opdsl.randn(ATEN.convolution(x, w, None, *rest).shape, dtype=opdsl.float64).requires_grad_()
    assert opdsl.testing.gradcheck(
        lambda grad, x, w: ATEN.convolution_backward(grad, x, w, (2,), *rest, (True, True, True)), (grad, x, w)
    )


def test_gradients_of_complex_convolutions():
    x, w = (opdsl.randn(shape, dtype=opdsl.complex128).requires_grad_() for shape in ((1, 2, 4), (2, 2, 2)))
    assert opdsl.testing.gradcheck(lambda x, w: ATEN.conv1d(x, w), (x, w))


COLUMNS = [
    *[((2, 3, 5, 4), (2, 3), (1, 1), (1, 1), (2, 1)), ((3, 5, 4), (2, 2), (2, 1), (0, 0), (1, 1))],
    *[((0, 3, 5, 4), (2, 2), (1, 1), (0, 0), (1, 1)), ((2, 0, 5, 4), (2, 2), (1, 1), (0, 0), (1, 1))],
    *[((2, 3, 5, 4), (6, 2), (1, 1), (0, 0), (1, 1)), ((2, 3, 5, 4), (2, 2), (0, 1), (0, 0), (1, 1))],
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
@pytest.mark.parametrize("given_", COLUMNS)
def test_columns(given_, dtype):
    given_ = (torch.randn(given_[0]).to(dtype), *given_[1:])
    assert compare(ATEN.im2col, torch.ops.aten.im2col, given_, {}, 0.0) == []


@pytest.mark.parametrize("shape", [(2, 18, 12), (18, 12), (2, 17, 12), (2, 18, 11), (0, 18, 12)])
def test_columns_are_collected(shape):
    given_ = (torch.randn(shape), (5, 4), (2, 3), (1, 1), (1, 1), (2, 1))
    assert compare(ATEN.col2im, torch.ops.aten.col2im, given_, {}, 1e-5) == []


EMPTY = {
    "no channels": ((2, 0, 5), (3, 0, 2), 0),
    "no samples": ((0, 2, 5), (3, 2, 2), 0),
    "neither": ((0, 0, 5), (3, 0, 2), 0),
    "no elements": ((2, 2, 0), (3, 2, 2), 1),
    "no elements and no samples": ((0, 2, 0), (3, 2, 2), 1),
    "planes without channels": ((2, 0, 5, 4), (3, 0, 2, 2), 0),
    "no channels without a batch": ((0, 5), (3, 0, 2), 0),
    "not enough elements": ((2, 0, 1), (3, 0, 2), 0),
}


@pytest.mark.parametrize("case", EMPTY)
def test_nothing_to_convolve(case):
    shape, weight_shape, padding = EMPTY[case]

    def found(lib):
        operands = [lib.ones(*sizes, requires_grad=True) for sizes in (shape, weight_shape, weight_shape[:1])]
        function = lib.conv2d if len(weight_shape) == 4 else lib.conv1d
        made = function(*operands, padding=padding)
        made.sum().backward()
        return [tuple(made.shape), *(each.grad.tolist() for each in operands)]

    try:
        expected = found(torch)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            found(opdsl)
    else:
        assert found(opdsl) == expected
