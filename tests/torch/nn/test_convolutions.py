"""Tests of convolutions and columns, compared with PyTorch's: groups, memory formats, errors, gradients."""

from __future__ import annotations

import itertools
import warnings

import numpy
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as some

import opdsl
from opdsl.backends.cpu import convolution
from opdsl.kernels.primitives import convolutions
from tests.torch.twins import Twins, compare, differences

ATEN = opdsl.ops.aten
LAST = {2: torch.channels_last, 3: torch.channels_last_3d}


@some.composite
def calls(draw):
    """Return arguments of ``convolution`` over one to three dimensions, most of them valid."""
    dims, groups, transposed = draw(some.integers(1, 3)), draw(some.integers(1, 2)), draw(some.booleans())
    small = some.integers(1, 3)
    per_dim = lambda least, most: [draw(some.integers(least, most)) for _ in range(dims)]  # noqa: E731
    inner, outer = groups * draw(small), groups * draw(small)
    length, stride, padding, dilation = per_dim(1, 3), per_dim(1, 3), per_dim(0, 2), per_dim(1, 2)
    weight = (inner, outer // groups, *length) if transposed else (outer, inner // groups, *length)
    torch.manual_seed(draw(some.integers(0, 99)))
    tensors = [  # whole numbers, whose sums have no rounding errors
        torch.randint(-4, 5, (2, inner, *per_dim(3, 6))).float(),
        torch.randint(-4, 5, weight).float(),
        draw(some.sampled_from([None, torch.ones(outer)])),
    ]
    if dims in LAST and draw(some.booleans()):
        tensors[0] = tensors[0].contiguous(memory_format=LAST[dims])
    extra = [min(step, gap, 2) - 1 if transposed else 0 for step, gap in zip(stride, dilation, strict=True)]
    if transposed:  # whether PyTorch rejects an empty result depends on its number of threads
        sizes = zip(tensors[0].shape[2:], stride, padding, dilation, length, extra, strict=True)
        assume(all((n - 1) * s - 2 * p + d * (k - 1) + 1 + e for n, s, p, d, k, e in sizes))
    return (*tensors, stride, padding, dilation, transposed, extra, groups)


@given(arguments=calls())
@settings(max_examples=80)
def test_values_and_errors(arguments):
    assert compare(ATEN.convolution, torch.ops.aten.convolution, arguments, {}, 2e-6) == []


# Input, weight, stride, padding, dilation, groups: more than a tile of each kind, bands, chunks of channels.
SHAPES = {
    "tiles of all heights": ((2, 3, 9, 17), (15, 3, 3, 3), 1, 1, 1, 1),
    "wide rows": ((1, 5, 3, 200), (11, 5, 2, 5), 1, 2, 1, 1),
    "single elements": ((2, 19, 7, 7), (33, 19, 1, 1), 1, 0, 1, 1),
    "bands": ((1, 40, 60, 50), (9, 40, 3, 3), 1, 1, 1, 1),
    "long signals": ((2, 40, 3000), (5, 40, 4), 2, 3, 2, 1),
    "volumes": ((2, 11, 6, 9, 8), (6, 11, 3, 2, 3), 2, 1, 1, 1),
    "groups": ((2, 12, 13, 18), (20, 3, 3, 3), 2, 2, 1, 4),
    "depthwise": ((2, 17, 21, 30), (17, 1, 3, 3), 1, 1, 1, 17),
    "depthwise by strides": ((2, 6, 21, 30), (12, 1, 5, 3), 2, 2, 1, 6),
    "depthwise dilated": ((2, 18, 11, 23), (18, 1, 3, 4), 2, 3, 2, 18),
    "depthwise volumes": ((2, 17, 5, 6, 7), (17, 1, 3, 2, 3), 2, 1, 1, 17),
    "dilated by strides": ((1, 9, 30, 31), (10, 9, 3, 3), 3, 2, 2, 1),
    "only margins": ((2, 3, 2, 2), (4, 3, 5, 5), 1, 4, 1, 1),
}


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("case", SHAPES)
def test_shapes_of_all_kinds(case, dtype, is_last):
    check_shapes(case, dtype, is_last, ATEN.convolution, ATEN.convolution_backward)


def check_shapes(case, dtype, is_last, forward, backward):
    """Compare a convolution and its backward function with PyTorch's on whole numbers, bit by bit."""
    shape, weight_shape, stride, padding, dilation, groups = SHAPES[case]
    dims = len(shape) - 2
    x, w, b = (torch.randint(-4, 5, sizes).to(dtype) for sizes in (shape, weight_shape, weight_shape[:1]))
    if is_last and dims in LAST:
        x, w = (operand.contiguous(memory_format=LAST[dims]) for operand in (x, w))
    rest = ([stride] * dims, [padding] * dims, [dilation] * dims, False, [0] * dims, groups)
    expected = torch.ops.aten.convolution(x, w, b, *rest)
    assert compare(forward, torch.ops.aten.convolution, (x, w, b, *rest), {}, 0.0) == []
    grad = torch.randint(-4, 5, expected.shape).to(dtype)
    mask = (True, True, True)
    gradients = torch.ops.aten.convolution_backward(grad, x, w, list(weight_shape[:1]), *rest, mask)
    result = backward(*Twins().of((grad, x, w)), weight_shape[:1], *rest, mask)
    assert differences(result, list(gradients), tolerance=0.0, strides=False) == []


@pytest.mark.parametrize("width", [16, 32])
def test_registers_of_all_widths(width, monkeypatch):
    def target(dtype, itemsize):
        return convolution.Target(dtype, width // itemsize, convolution._TILES_OF_16)

    direct = [packet.default.direct("CPU") for packet in (ATEN.convolution, ATEN.convolution_backward)]
    monkeypatch.setattr(convolution, "target", target)
    convolutions._compiled.cache_clear()
    try:
        for case in ("tiles of all heights", "depthwise by strides", "depthwise dilated", "dilated by strides"):
            for is_last in (False, True):
                check_shapes(case, torch.float32, is_last, *direct)
    finally:
        convolutions._compiled.cache_clear()


def test_threads_do_not_change_results():
    x, w, grad = opdsl.randn((3, 16, 40, 40)), opdsl.randn((24, 16, 3, 3)), opdsl.randn((3, 24, 40, 40))
    rest = ((1, 1), (1, 1), (1, 1), False, (0, 0), 1)

    def convolved():
        return [
            ATEN.convolution(x, w, None, *rest),
            *ATEN.convolution_backward(grad, x, w, None, *rest, (True, True, False))[:2],
        ]

    before = opdsl.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3):
            opdsl.set_num_threads(threads)
            results.append(convolved())
    finally:
        opdsl.set_num_threads(before)
    for other in results[1:]:
        assert all(bool((one == two).all()) for one, two in zip(results[0], other, strict=True))


def test_transposed_results_of_doubles_are_not_empty():
    arguments = (torch.ones(2, 1, 4).double(), torch.ones(1, 1, 1).double(), None, [1], [2], [1], True, [0], 1)
    assert compare(ATEN.convolution, torch.ops.aten.convolution, arguments, {}, 2e-6) == []


@given(arguments=calls(), mask=some.tuples(some.booleans(), some.booleans(), some.booleans()))
@settings(max_examples=40)
def test_gradients_that_a_mask_asks_for(arguments, mask):
    input, weight, bias, *rest = arguments
    try:
        grad = torch.ops.aten.convolution(input, weight, bias, *rest)
    except RuntimeError:
        return
    size = [grad.shape[1]]
    expected = torch.ops.aten.convolution_backward(grad, input, weight, size, *rest, mask)
    operands = (opdsl.from_numpy(operand.contiguous().numpy()) for operand in (grad, input, weight))
    gradients = ATEN.convolution_backward(*operands, size, *rest, mask)
    assert [gradient is not None for gradient in gradients] == list(mask)
    for one, other in zip(gradients, expected, strict=True):
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
@pytest.mark.parametrize("arguments", COLUMNS)
def test_columns(arguments, dtype):
    arguments = (torch.randn(arguments[0]).to(dtype), *arguments[1:])
    assert compare(ATEN.im2col, torch.ops.aten.im2col, arguments, {}, 0.0) == []


@pytest.mark.parametrize("shape", [(2, 18, 12), (18, 12), (2, 17, 12), (2, 18, 11), (0, 18, 12)])
def test_columns_are_collected(shape):
    arguments = (torch.randn(shape), (5, 4), (2, 3), (1, 1), (1, 1), (2, 1))
    assert compare(ATEN.col2im, torch.ops.aten.col2im, arguments, {}, 1e-5) == []


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

    def results_in(lib):
        operands = [lib.ones(*sizes, requires_grad=True) for sizes in (shape, weight_shape, weight_shape[:1])]
        function = lib.conv2d if len(weight_shape) == 4 else lib.conv1d
        convolved = function(*operands, padding=padding)
        convolved.sum().backward()
        return [tuple(convolved.shape), *(operand.grad.tolist() for operand in operands)]

    try:
        expected = results_in(torch)
    except RuntimeError:
        with pytest.raises(RuntimeError):
            results_in(opdsl)
    else:
        assert results_in(opdsl) == expected


# Sizes of images, padding, dilation, stride.
FAR = {
    "one element meets the images": ((5, 6), (5000, 4999), (5000, 4997), (2, 1)),
    "none does": ((5, 6), (7000, 0), (5000, 1), (9000, 1)),
    "beyond memory": ((5, 6), (2**24, 2**24), (2**24, 2**24), (1, 1)),
}


@pytest.mark.parametrize("case", FAR)
def test_windows_that_reach_far_beyond_the_images(case):
    """Padding far beyond the images costs neither memory nor time, since kernels skip padded elements."""
    sizes, padding, dilation, stride = FAR[case]
    tensors = [torch.randint(-4, 5, shape).double() for shape in ((2, 4, *sizes), (2, 2, 3, 3), (2,))]

    def results_in(lib, operands):
        operands = [operand.requires_grad_() for operand in operands]
        convolved = lib.conv2d(*operands, stride=stride, padding=padding, dilation=dilation, groups=2)
        (convolved * convolved).sum().backward()
        return [convolved.tolist(), *(operand.grad.tolist() for operand in operands)]

    own = [opdsl.from_numpy(input.numpy().copy()) for input in tensors]
    assert results_in(opdsl, own) == results_in(torch, tensors)


def test_infinite_products_raise_no_numpy_warning():
    one = opdsl.full((1, 2, 4), float("inf"))[:, :, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (one @ -one.transpose(1, 2) + one @ one.transpose(1, 2)).isnan().all()


@pytest.mark.parametrize(
    ("shape", "filters", "window", "stride", "groups"),
    [
        ((2, 64, 6, 6), 136, 3, 1, 1),
        ((2, 128, 3, 3), 128, 3, 1, 1),
        ((1, 100, 5, 4), 70, 5, 1, 1),
        ((3, 128, 5, 6), 256, 3, 2, 2),
        ((4, 256, 4, 4), 512, 1, 1, 1),
    ],
)
def test_threads_split_filters_when_results_are_small(
    shape: tuple[int, ...], filters: int, window: int, stride: int, groups: int
) -> None:
    draw = numpy.random.default_rng(0)
    images = draw.standard_normal(shape).astype("float32")
    w = draw.standard_normal((filters, shape[1] // groups, window, window)).astype("float32")
    options = (None, stride, window // 2, 1, groups)
    expected = torch.conv2d(torch.from_numpy(images).double(), torch.from_numpy(w).double(), *options)
    grad = draw.standard_normal(tuple(expected.shape)).astype("float32")
    back = (None, stride, window // 2, 0, groups)
    spread = torch.conv_transpose2d(torch.from_numpy(grad).double(), torch.from_numpy(w).double(), *back)
    before, results = opdsl.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 8):
            opdsl.set_num_threads(threads)
            image, weight, result = map(opdsl.from_numpy, (images, w, grad))
            pair = opdsl.conv2d(image, weight, *options), opdsl.conv_transpose2d(result, weight, *back)
            results.append([part.numpy() for part in pair])
    finally:
        opdsl.set_num_threads(before)
    for pair in results:
        for one, first, true in zip(pair, results[0], (expected, spread), strict=True):
            assert one.tobytes() == first.tobytes()
            numpy.testing.assert_allclose(one, true.numpy(), rtol=1e-4, atol=1e-5 * float(true.abs().max()))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
@pytest.mark.parametrize("sizes", [(1, 1, 2, 2, 3, 1, 2), (2, 3, 4, 5, 6, 3, 3), (2, 2, 3, 3, 5, 2, 3)])
def test_gradients_of_results_in_any_layout(order: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    samples, channels, outputs, height, width, *window = sizes
    draw = numpy.random.default_rng(0)
    x = draw.standard_normal((samples, channels, height, width))
    w = draw.standard_normal((outputs, channels, *window))
    shape = (samples, outputs, height - window[0] + 1, width - window[1] + 1)
    grad = draw.standard_normal([shape[dim] for dim in order]).transpose([order.index(dim) for dim in range(4)])
    options = (None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    wanted = torch.ops.aten.convolution_backward(*map(torch.from_numpy, (grad, x, w)), *options)
    gradients = opdsl.ops.aten.convolution_backward(*map(opdsl.from_numpy, (grad, x, w)), *options)
    for mine, theirs in zip(gradients[:2], wanted[:2], strict=True):
        numpy.testing.assert_allclose(mine.numpy(), theirs.numpy(), atol=1e-12)
