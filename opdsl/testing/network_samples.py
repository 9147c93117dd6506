"""Samples of aten operators on batches of signals and images: padding, pooling, normalization, convolution."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.aten.create.ranges import arange
from opdsl.runtime import bfloat16, float16, float32, int64
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


def _padded(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, *(4,) * dims), (1, 2) * dims)
        yield Sample(make.transposed(3, 2, *(4,) * dims), (0, -1, *(3, 1) * (dims - 1)))

    return samples


def _padded_gradients(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, *(7,) * dims), make(2, *(4,) * dims), (1, 2) * dims)

    return samples


def _sampled(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for mode in range(3 if dims == 2 else 2):
            for padding in range(3):
                grid = make(1, *(2,) * dims, dims)
                yield Sample(make(1, 2, *(3,) * dims), grid, mode, padding, (mode + padding) % 2 == 0)

    return samples


def _margins(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4), (1, 2))
    yield Sample(make(2, 3, 4), (-1, 2, 0, 1))


def _numbered_margins(make: Maker) -> Iterator[Sample]:
    for mode in range(4):
        yield Sample(make(2, 4), (1, 2), mode)


def _pooled(dims: int, *more: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(1, 2, *(5,) * dims), 2)
        yield Sample(make.transposed(2, 1, *(5,) * dims), (3,), (2,), (1,), *more)

    return samples


def _pooled_gradients(dims: int, *more: object, numbered: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        indices = (make(1, 2, *(2,) * dims, dtype=int64) * 0 + 3,) if numbered else ()
        yield Sample(make(1, 2, *(2,) * dims), make(1, 2, *(5,) * dims), (2,), (), (0,), *more, *indices)

    return samples


def _divided(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(1, 2, *(5,) * dims), (2,) * dims)
        yield Sample(make.transposed(2, *(4,) * dims), (2,) * dims)

    return samples


def _divided_gradients(dims: int, *, numbered: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        indices = (make(1, 2, *(2,) * dims, dtype=int64) * 0 + 3,) if numbered else ()
        yield Sample(make(1, 2, *(2,) * dims), make(1, 2, *(5,) * dims), *indices)

    return samples


def _gradients_to_write(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 2, 2, 2), make(1, 2, 5, 5, 5), grad_input=make(1, 2, 5, 5, 5))


def _gradients_of_largest(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 2), make.distinct(2, 4, 4), (2, 2))


_SIZES = (7, 3, 4)


def _resized(dims: int, aligned: tuple[bool, ...]) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(1, 2, *(4,) * dims), _SIZES[:dims], *aligned)
        yield Sample(make.transposed(2, 1, *(3,) * dims), (6,) * dims, *(not flag for flag in aligned), *(2.0,) * dims)

    return samples


def _resized_gradients(dims: int, aligned: tuple[bool, ...]) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(1, 2, *_SIZES[:dims]), _SIZES[:dims], (1, 2, *(4,) * dims), *aligned)

    return samples


def _resized_by_factors(dims: int, aligned: tuple[bool, ...]) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(1, 2, *(4,) * dims), None, *aligned, (1.5,) * dims)
        yield Sample(make(1, 2, *(4,) * dims), _SIZES[:dims], *aligned, None)

    return samples


# Number of dimensions of each, and the value of align_corners if it takes that argument.
_INTERPOLATIONS: dict[str, tuple[int, tuple[bool, ...]]] = {
    **{f"{base}{dims}d": (dims, ()) for base in ("upsample_nearest", "_upsample_nearest_exact") for dims in (1, 2, 3)},
    "upsample_linear1d": (1, (False,)),
    "upsample_bilinear2d": (2, (False,)),
    "upsample_bicubic2d": (2, (False,)),
    "upsample_trilinear3d": (3, (False,)),
    **{f"_upsample_{mode}2d_aa": (2, (False,)) for mode in ("bilinear", "bicubic", "lanczos")},
}


def _unpooled(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        places = make.distinct(2, 3, *(4,) * dims).reshape((2, 3, -1)).to(float32).argsort(-1)[..., : 2**dims]
        windows = ((2,) * dims, (0,) * dims) if dims == 3 else ()
        yield Sample(make(2, 3, *(2,) * dims), places.reshape((2, 3, *(2,) * dims)), (4,) * dims, *windows)

    return samples


def _random_windows(dims: int, *, backward: bool) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        sizes = (2,) * dims, (3,) * dims
        shape = 2, *(3,) * dims
        places = (make(*shape) * 0).to(int64)
        if backward:
            yield Sample(make(*shape), make.distinct(2, *(5,) * dims), *sizes, places)
        else:
            shifts = make(1, 2, dims)
            shifts = shifts - shifts.floor() if make.dtype.is_floating_point else shifts
            yield Sample(make.distinct(2, *(5,) * dims), *sizes, shifts)

    return samples


def _at_points(dims: int, *more: object) -> Samples:
    """Return a function that makes samples of grid sampling gradients, with points near the center, within all
    images.
    """

    def samples(make: Maker) -> Iterator[Sample]:
        for mode in (0, 1):
            points = make(2, *(3,) * dims, dims)
            points = points / 16 if make.dtype.is_floating_point else points
            yield Sample(make(2, 2, *(3,) * dims), make(2, 2, *(4,) * dims), points, mode, 0, True, *more)

    return samples


def _at_one_image(make: Maker) -> Iterator[Sample]:
    points = make(1, 3, 3, 2)
    yield Sample(make(1, 2, 4, 4), points / 16 if make.dtype.is_floating_point else points, 0, 0, True)


def _norms_of_rows(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3), arange(3), 0.5, 2.0)


def _parts_of_vectors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(10), [make(2, 3), make(4)])


def _batch_norms(*more: object) -> Samples:
    """Return a function that makes samples of batch norms that do not write running statistics, which the schema does
    not declare.
    """

    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(3, 4, 2), make(4), make(4), make(4), make(4) * 0 + 1, False, 0.1, 1e-5, *more)
        yield Sample(make.transposed(3, 4), None, make(4), None, None, True, 0.1, 1e-5, *more)

    return samples


def _instance_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), make(4), make(4), None, None, True, 0.1, 1e-5, False)


def _written_batch_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), make(4), make(4), make(4), make(4), True, 0.1, 1e-5)


def _evaluated_batch_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), make(4), make(4), make(4), make(4) * 0 + 1, 0.1, 1e-5)


def _unwritten_batch_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), make(4), make(4), True, 0.1, 1e-5)


def _batch_norm_gradients(make: Maker) -> Iterator[Sample]:
    mask = (True, True, True)
    yield Sample(make(3, 4, 2), make(3, 4, 2), make(4), None, None, make(4), make(4), True, 1e-5, mask)
    yield Sample(make(3, 4), make(3, 4), None, make(4), make(4) * 0 + 1, None, None, False, 1e-5, mask)


def _batch_statistics(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, 2), None, None, 0.1)


def _group_norms(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), make(4), make(4), 2, 4, 3, 2, 1e-5)
    yield Sample(make(2, 4, 3), None, None, 2, 4, 3, 4, 1e-5)


def _group_norms_by_number(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 3), 2, make(4), make(4))
    yield Sample(make.transposed(2, 4), 4)


def _group_norm_gradients(make: Maker) -> Iterator[Sample]:
    rest = (make(2, 2), make(2, 2), make(4), 2, 4, 3, 2, (True, True, True))
    yield Sample(make(2, 4, 3), make(2, 4, 3), *rest)


def _channels(of_input: int, of_channels: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        inputs, channels = [make(2, 4, 3) for _ in range(of_input)], [make(4, 1) for _ in range(of_channels)]
        yield Sample(*inputs, *channels)

    return samples


def _attention(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), make(1, 2, 5, 4), make(1, 2, 5, 4))
    yield Sample(make(2, 1, 3, 4), make.transposed(2, 1, 3, 4), make(2, 1, 3, 4), is_causal=True)
    yield Sample(make(1, 2, 3, 4), make(1, 2, 5, 4), make(1, 2, 5, 4), attn_mask=make(3, 5), scale=0.5)


def _softmax_products(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(2, 4, 5), make(2, 5, 6), None, 0.5)
    yield Sample(make(3, 4), make(4, 5), make(5, 4), make(3, 5).detach(), 2.0)


def _grouped_attention(make: Maker) -> Iterator[Sample]:
    yield from _attention(make)
    yield Sample(make(1, 4, 3, 2), make(1, 2, 3, 2), make(1, 2, 3, 2), enable_gqa=True)
    yield Sample(make(3, 4), make(5, 4), make(5, 2))


def _attention_gradients(make: Maker) -> Iterator[Sample]:
    query, key, value = make(1, 2, 3, 4), make(1, 2, 5, 4), make(1, 2, 5, 4)
    sums = make(1, 2, 3)
    sums = sums.to(float32) if sums.dtype in (float16, bfloat16) else sums
    yield Sample(make(1, 2, 3, 4), query, key, value, make(1, 2, 3, 4), sums, 0.0, False)
    yield Sample(make(1, 2, 3, 4), query, key, value, make(1, 2, 3, 4), sums, 0.0, True, scale=0.5)


def _convolutions(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, 4, *(5,) * dims), make(6, 2, *(3,) * dims), make(6), (2,), (1,), (1,), groups=2)
        yield Sample(make.transposed(2, *(5,) * dims), make(3, 2, *(2,) * dims), None)

    return samples


def _named_convolutions(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, 4, *(5,) * dims), make(6, 4, *(2,) * dims), make(6), (1,), "same", (2,))
        yield Sample(make(2, *(5,) * dims), make(3, 2, *(2,) * dims), None, (2,), "valid")

    return samples


def _transposed_convolutions(dims: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(2, 4, *(3,) * dims), make(4, 2, *(3,) * dims), make(4), (2,), (1,), (1,), 2)
        yield Sample(make(2, *(3,) * dims), make(2, 3, *(2,) * dims), None, dilation=2)

    return samples


def _any_convolutions(*more: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        rest = ((2, 1), (1, 0), (1, 2), False, (0, 0), 2, *more)
        yield Sample(make(2, 4, 5, 6), make(6, 2, 3, 2), make(6), *rest)
        rest = ((2, 1), (1, 0), (1, 2), True, (1, 0), 1, *more)
        yield Sample(make(1, 4, 3, 3), make(4, 2, 3, 2), make(2), *rest)

    return samples


def _convolution_gradients(make: Maker) -> Iterator[Sample]:
    rest = ((2, 1), (1, 0), (1, 2), False, (0, 0), 2, (True, True, True))
    yield Sample(make(2, 6, 3, 4), make(2, 4, 5, 6), make(6, 2, 3, 2), (6,), *rest)


def _convolution_modes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 4, 5, 6), make(6, 2, 3, 2), make(6), (1,), "same", (2,), 2)


def _columns(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5, 4), (2, 3), (1, 1), (1, 1), (2, 1))
    yield Sample(make.transposed(3, 5, 4), (2, 2), (2, 1), (0, 0), (1, 1))


def _collected_columns(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 18, 12), (5, 4), (2, 3), (1, 1), (1, 1), (2, 1))


TABLE: dict[str, Samples] = {
    "aten::grid_sampler": _sampled(3),
    **{f"aten::grid_sampler_{dims}d": _sampled(dims) for dims in (2, 3)},
    **{f"aten::grid_sampler_{dims}d_backward": _at_points(dims, (True, True)) for dims in (2, 3)},
    **{f"opdsl::grid_sampler_{n}d_gradient_of_{name}": _at_points(n) for n in (2, 3) for name in ("input", "grid")},
    "aten::_grid_sampler_2d_cpu_fallback": _at_one_image,
    "aten::_grid_sampler_2d_cpu_fallback_backward": _at_points(2),
    "aten::embedding_renorm_": _norms_of_rows,
    "aten::unflatten_dense_tensors": _parts_of_vectors,
    **{f"aten::max_unpool{dims}d": _unpooled(dims) for dims in (2, 3)},
    **{f"aten::fractional_max_pool{dims}d": _random_windows(dims, backward=False) for dims in (2, 3)},
    **{f"aten::fractional_max_pool{dims}d_backward": _random_windows(dims, backward=True) for dims in (2, 3)},
    **{f"aten::{base}": _resized(*interpolation) for base, interpolation in _INTERPOLATIONS.items()},
    **{f"aten::{base}.vec": _resized_by_factors(*interpolation) for base, interpolation in _INTERPOLATIONS.items()},
    **{f"aten::{base}_backward": _resized_gradients(*interpolation) for base, interpolation in _INTERPOLATIONS.items()},
    **{f"aten::conv{dims}d": _convolutions(dims) for dims in (1, 2, 3)},
    **{f"aten::conv{dims}d.padding": _named_convolutions(dims) for dims in (1, 2, 3)},
    "aten::conv_transpose1d": _transposed_convolutions(1),
    **{f"aten::conv_transpose{dims}d.input": _transposed_convolutions(dims) for dims in (2, 3)},
    "aten::convolution": _any_convolutions(),
    "aten::_convolution": _any_convolutions(False, False, False, False),
    "aten::_convolution.deprecated": _any_convolutions(False, False, False),
    "aten::convolution_backward": _convolution_gradients,
    "aten::_convolution_mode": _convolution_modes,
    "aten::im2col": _columns,
    "aten::col2im": _collected_columns,
    **{f"aten::max_pool{dims}d": _pooled(dims, 1, True) for dims in (1, 2, 3)},
    **{f"aten::max_pool{dims}d_with_indices": _pooled(dims, 1, True) for dims in (1, 2, 3)},
    "opdsl::largest_of_windows": _pooled(1, 1, True),
    **{
        f"aten::max_pool{dims}d_with_indices_backward": _pooled_gradients(dims, (1,), False, numbered=True)
        for dims in (2, 3)
    },
    **{f"aten::avg_pool{dims}d": _pooled(dims, True, False) for dims in (1, 2, 3)},
    **{f"aten::avg_pool{dims}d_backward": _pooled_gradients(dims, False, True, None) for dims in (2, 3)},
    **{f"aten::adaptive_{kind}_pool{dims}d": _divided(dims) for kind in ("avg", "max") for dims in (1, 2, 3)},
    "aten::adaptive_avg_pool3d_backward.grad_input": _gradients_to_write,
    "aten::max_pool2d_backward": _gradients_of_largest,
    **{f"aten::_adaptive_avg_pool{dims}d": _divided(dims) for dims in (2, 3)},
    **{f"aten::_adaptive_avg_pool{dims}d_backward": _divided_gradients(dims) for dims in (2, 3)},
    **{f"aten::adaptive_max_pool{dims}d_backward": _divided_gradients(dims, numbered=True) for dims in (2, 3)},
    "aten::_safe_softmax": lambda make: iter([Sample(make(2, 3), 1), Sample(make.transposed(2, 3), 0)]),
    "aten::scaled_dot_product_attention": _grouped_attention,
    "aten::_scaled_dot_product_attention_math": _grouped_attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _attention,
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _attention_gradients,
    "opdsl::softmax_product": _softmax_products,
    "opdsl::scaled_and_shifted": _channels(1, 2),
    "opdsl::centred_product": _channels(2, 1),
    "opdsl::gradient_through_statistics": _channels(2, 4),
    "aten::native_batch_norm": _batch_norms(),
    "aten::batch_norm": _batch_norms(False),
    "aten::instance_norm": _instance_norms,
    "aten::_batch_norm_impl_index": _batch_norms(False),
    "aten::_native_batch_norm_legit": _written_batch_norms,
    "aten::_native_batch_norm_legit.no_stats": _unwritten_batch_norms,
    "aten::_native_batch_norm_legit_no_training": _evaluated_batch_norms,
    "aten::native_batch_norm_backward": _batch_norm_gradients,
    "aten::batch_norm_update_stats": _batch_statistics,
    "aten::native_group_norm": _group_norms,
    "aten::native_group_norm_backward": _group_norm_gradients,
    "aten::group_norm": _group_norms_by_number,
    **{f"aten::{mode}_pad{dims}d": _padded(dims) for mode in ("reflection", "replication") for dims in (1, 2, 3)},
    **{
        f"aten::{mode}_pad{dims}d_backward": _padded_gradients(dims)
        for mode in ("reflection", "replication")
        for dims in (1, 2, 3)
    },
    "aten::pad": _margins,
    "aten::_pad_circular": _margins,
    "aten::_pad_enum": _numbered_margins,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
