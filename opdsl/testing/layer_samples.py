"""Samples of aten operators used in layers: convolution kernels, recurrent cells, normalization, attention, fake
quantization.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy

from opdsl.runtime import Tensor, bool_, float8_e4m3fn, float32, float64, from_numpy, int8, int32, int64, uint8
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]


# --------------------------------------------------------------------------------------------------------- convolutions


def _kernels(dims: int, *rest: object, channels: int = 2, turned: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        weight = (2, 3) if turned else (2 * (2 // channels) + 1 * (channels == 2), channels)
        outputs = weight[1] if turned else weight[0]
        yield Sample(make(2, 2, *(5,) * dims), make(*weight, *(3,) * dims), (3,) * dims, make(outputs), *rest)

    return samples


def _kernel_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 3, 3), make(2, 2, 5, 5), make(3, 2, 3, 3), (3, 3), (2, 2), (1, 1), (True, True, True))


def _in_time(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2, 3), make(2, 3, 4), make(4), 1)


def _in_time_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(6, 2, 4), make(5, 2, 3), make(2, 3, 4), make(4), 1)


# ------------------------------------------------------------------------------------------------- recurrent networks


def _cells(gates: int, *, memory: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        hidden = [make(2, 4), make(2, 4)] if memory else make(2, 4)
        weights = make(4 * gates, 3), make(4 * gates, 4)
        yield Sample(make(2, 3), hidden, *weights)
        yield Sample(make(2, 3), hidden, *weights, make(4 * gates), make(4 * gates))

    return samples


def _layers(gates: int, *, memory: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for directions, biases in ((1, True), (2, False)):
            state = make(2 * directions, 2, 4)
            params = [
                param
                for size in (3, 4 * directions)
                for _ in range(directions)
                for param in (
                    make(4 * gates, size),
                    make(4 * gates, 4),
                    *((make(4 * gates), make(4 * gates)) if biases else ()),
                )
            ]
            tensors = [state, make(2 * directions, 2, 4)] if memory else state
            yield Sample(make(2, 2, 3), tensors, params, biases, 2, 0.0, False, directions == 2, directions == 1)

    return samples


def _gates(count: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        gates = make(2, 3 * count), make(2, 3 * count)
        yield Sample(*gates, make(2, 3))
        yield Sample(*gates, make(2, 3), make(3 * count), make(3 * count))

    return samples


def _lstm_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), None, make(2, 3), make(2, 3), make(2, 12), True)
    yield Sample(None, make(2, 3), make(2, 3), make(2, 3), make(2, 12), False)


def _lstm_gradients_of_gates(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 3), make(2, 12), make(2, 12), make(12), make(12), make(2, 3), make(2, 3))
    yield Sample(make(2, 3), None, make(2, 12), make(2, 12), None, None, make(2, 3), make(2, 3))


def _gru_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 15), True)
    yield Sample(make(2, 3), make(2, 15), False)


def _gru_gradients_of_gates(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(2, 9), make(2, 9), make(2, 3), make(9), make(9))
    yield Sample(make(2, 3), make(2, 9), make(2, 9), make(2, 3), None, None)


# -------------------------------------------------------------------------------------------------- batch normalization


def _positive(make: Maker, *shape: int) -> Tensor:
    result = make(*shape)
    return result if result.dtype is bool_ else result * result + 1


def _statistics(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), 1e-5)


def _normalised(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), make(3), make(3), make(3), _positive(make, 3), 1e-5)


def _reduced(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), make(4, 3, 2), make(3), _positive(make, 3), make(3), True, True, True)


def _elements(make: Maker) -> Iterator[Sample]:
    counts = make(2).new_ones((2,), dtype=int32) * 4
    yield Sample(make(4, 3, 2), make(4, 3, 2), make(3), _positive(make, 3), make(3), make(3), make(3), counts)


def _running(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), make(3), make(3), make(3), _positive(make, 3), 0.1, 1e-5)


def _indexed_gradients(make: Maker) -> Iterator[Sample]:
    reserved = make(2).new_zeros((0,), dtype=uint8)
    running = make(3), _positive(make, 3)
    yield Sample(
        0, make(4, 3, 2), make(4, 3, 2), make(3), *running, make(3), make(3), False, 1e-5, (True, True, True), reserved
    )


def _gathered(count: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        counts = make(2).new_ones((2,), dtype=int32) * 4 if count is None else count
        statistics = make(4, 3, 2), make(2, 3), _positive(make, 2, 3)
        yield Sample(*statistics, None, None, 0.1, 1e-5, counts)

    return samples


def _update_gradients(make: Maker) -> Iterator[Sample]:
    reserved = make(2).new_zeros((0,), dtype=uint8)
    running = make(3), _positive(make, 3)
    tensors = make(4, 3, 2), make(4, 3, 2), make(3), *running, make(3), make(3)
    yield Sample(*tensors, False, 1e-5, (True, True, True), reserved)


def _stored(*training: bool) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        reserved = () if training else (make(0).new_zeros((1,), dtype=uint8),)
        running = make(3), _positive(make, 3)
        yield Sample(
            make(4, 3, 2),
            make(3),
            make(3),
            *running,
            *training,
            0.1,
            1e-5,
            out=(*(make(0) for _ in range(3)), *reserved),
        )

    return samples


def _all_gradients(make: Maker) -> Iterator[Sample]:
    tensors = make(2, 3, 3, 3), make(2, 2, 5, 5), make(3, 2, 3, 3)
    yield Sample(*tensors, (3, 3), (2, 2), (1, 1), out=(make(0), make(0), make(0)))


def _root_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4), make(2, 3, 4), (4,), _positive(make, 2, 3, 1), make(4), (True, True))
    yield Sample(make(3, 4), make(3, 4), (3, 4), _positive(make, 1, 1), None, (True, False))


# ------------------------------------------------------------------------------ masks, packed and padded sequences


def _hidden(make: Maker, *shape: int) -> Tensor:
    """Return a mask that does not cover any row completely."""
    hidden = make(*shape, dtype=bool_)
    hidden[..., 0] = False
    return hidden


def _masked_rows(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _hidden(make, 3, 4))
    yield Sample(make(2, 2, 3, 3), _hidden(make, 3, 3), 3, 0)
    yield Sample(make(2, 2, 3, 3), _hidden(make, 2, 3), None, 1)


def _masked_row_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), _hidden(make, 3, 4))


def _sizes(make: Maker, *sizes: int) -> Tensor:
    return from_numpy(numpy.array(sizes))


def _unpacked(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, 3, 2), _sizes(make, 4, 2, 1), False)
    yield Sample(make(2, 3), _sizes(make, 2, 2), True)


def _packed(make: Maker) -> Iterator[Sample]:
    yield Sample(make(7, 2), _sizes(make, 3, 2, 1, 1), True, 2, 6)
    yield Sample(make(4), _sizes(make, 2, 2), False, 0, 0)


def _packed_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(7, 2), (5, 3, 2), _sizes(make, 3, 2, 1, 1), False)
    yield Sample(make(4), (2, 2), _sizes(make, 2, 2), True)


def _packed_layers(gates: int, *, memory: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for sample in _layers(gates, memory=memory)(make):
            _, *rest = sample.positional
            yield Sample(make(4, 3), _sizes(make, 2, 1, 1), *rest[:-1])

    return samples


def _jagged(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2), [_sizes(make, 0, 2, 5)], (4,), 2.0)
    yield Sample(make(5), [_sizes(make, 0, 2, 2, 5)], (2,))


def _padded_rows(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 2), [_sizes(make, 0, 2, 5)])
    yield Sample(make(2, 2), [_sizes(make, 0, 2, 3)], 3)


# ------------------------------------------------------------------------------------------------------- attention


def _heads(make: Maker) -> tuple[Tensor, ...]:
    return make(2, 2, 3, 4), make(2, 2, 5, 4), make(2, 2, 5, 4)


def _attended(make: Maker) -> Iterator[Sample]:
    yield Sample(*_heads(make))
    yield Sample(*_heads(make), 0.0, True, scale=0.7)


def _attended_with_bias(*rest: object) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(*_heads(make), None, *rest)
        yield Sample(*_heads(make), make(2, 1, 3, 5), *rest, 0.0, True)

    return samples


def _attention_gradients(make: Maker, order: str) -> Iterator[Sample]:
    none = make(0).new_zeros((0,), dtype=int32)
    grad, out, sums = make(2, 2, 3, 4), make(2, 2, 3, 4), make(2, 2, 3)
    query, key, value = _heads(make)
    if make.dtype is not bool_:
        sums = (query @ key.transpose(-2, -1) / 2).abs().sum(-1) + 1
    bias, mask = make(2, 1, 3, 5) if make.dtype is bool_ else make(2, 1, 3, 5) * 0, (True, True, False, True)
    if order == "flash":
        yield Sample(grad, query, key, value, out, sums, none, none, 3, 5, 0.0, True, none, none)
    elif order == "efficient":
        yield Sample(grad, query, key, value, bias, out, sums, none, none, 0.0, mask)
    else:
        yield Sample(grad, query, key, value, bias, mask, out, sums, none, none, 3, 5, 0.0, False, none, none)


def _projections(make: Maker) -> tuple[object, ...]:
    return 4, 2, make(12, 4), make(12), make(4, 4), make(4)


def _of_several_heads(make: Maker) -> Iterator[Sample]:
    tensors = make(2, 3, 4), make(2, 3, 4), make(2, 3, 4)
    yield Sample(*tensors, *_projections(make))


def _of_masked_heads(make: Maker) -> Iterator[Sample]:
    yield from _of_several_heads(make)
    tensors = make(2, 3, 4), make(2, 3, 4), make(2, 3, 4)
    yield Sample(*tensors, *_projections(make), _hidden(make, 3, 3), False, True, 0)


def _encoded(make: Maker) -> Iterator[Sample]:
    norms = make(4), make(4), make(4), make(4)
    for flag in (False, True):
        rest = make(5, 4), make(5), make(4, 5), make(4)
        yield Sample(make(2, 3, 4), *_projections(make), flag, not flag, 1e-5, *norms, *rest)


# ------------------------------------------------------------------------------------------------- mixed precision


def _scaled_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 4), make(2)], _number(make, 0.0), _number(make, 0.5))
    yield Sample([make(3), _number(make, math.inf)], _number(make, 0.0), _number(make, 1.0))


def _scales(make: Maker) -> Iterator[Sample]:
    for number, steps in ((0.0, 1), (0.0, 0), (1.0, 1)):
        yield Sample(_number(make, 256.0), _number(make, steps, int32), _number(make, number), 2.0, 0.5, 2)


# ------------------------------------------------------------------------------------------------ convolutions


def _convolved(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 5), make(3, 2, 3), make(3), (1,), (1,), (1,), False, (0,), 1)


def _convolution_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 5), make(2, 2, 5), make(3, 2, 3), (1,), (1,), (1,), False, (0,), 1, (True, True, True))


def _second_gradients(make: Maker) -> Iterator[Sample]:
    tensors = make(2, 3, 5), make(3, 2, 3), make(2, 2, 5)
    values = (1,), (1,), (1,), False, (0,), 1
    yield Sample(make(2, 2, 5), make(3, 2, 3), make(3), *tensors, *values, (True, True, True))
    yield Sample(make(2, 2, 5), None, None, *tensors, *values, (True, False, True))


# ---------------------------------------------------------------------------------------------------- fake quantization


def _number(make: Maker, value: float, dtype: object = float32) -> Tensor:
    return make(1).new_full((1,), value, dtype=dtype)


def _quantised(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.25, 2, -4, 7)


def _quantised_by_tensors(*enabled: bool) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for flag in enabled or (None,):
            more = () if flag is None else (_number(make, float(flag)),)
            yield Sample(make(3, 4), _number(make, 0.25), _number(make, 2, int32), *more, -4, 7)

    return samples


def _channels(make: Maker, value: float, dtype: object = float32) -> Tensor:
    return make(1).new_full((4,), value, dtype=dtype)


def _quantised_channels(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _channels(make, 0.25), _channels(make, 2, int32), 1, -4, 7)


def _learned(*before: str, channels: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        function = _channels if channels else _number
        places = (1,) if channels else ()
        tensors = [make(3, 4) for _ in before]
        numbers = function(make, 0.25, make.dtype), function(make, 2, make.dtype)
        yield Sample(*tensors, make(3, 4), *numbers, *places, -4, 7, 0.5)

    return samples


def _masked(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4, dtype=bool_))


# ---------------------------------------------------------------------------------------------------------- assertions


def _true(make: Maker) -> Tensor:
    return make(1).new_ones((1,), dtype=make.dtype)


def _bools(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4, dtype=bool_))
    yield Sample(make(0, dtype=bool_))


def _form(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make.transposed(3, 4), (3, 4), (1, 3), make.dtype)


def _observed(make: Maker) -> Iterator[Sample]:
    for shape, rows, symmetric in (((3, 4), False, True), ((3, 2, 4), True, False)):
        count = shape[0] if rows else 1
        states = [make(1).new_full((count,), number, dtype=float32) for number in (-1.0, 2.0, 0.1)]
        switches = (_number(make, 1, int64), _number(make, 1, int64))
        zeros = make(1).new_zeros((count,), dtype=int32)
        yield Sample(make(*shape), *switches, *states, zeros, 0.25, -8, 7, 0, rows, symmetric)


# ------------------------------------------------------------------------------------------------ parts of layers


def _sums(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(4))
    yield Sample(make.transposed(3, 4), make(3, 4), alpha=2)


def _sums_with_numbers(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 1, 2)


def _weights(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 1), 0)
    yield Sample(make(2, 3, 4), make(1, 1, 4), 2)


def _weight_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 1), _positive(make, 3, 1), 0)


def _affine(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 2, 3), (2, 1, 3, 4), True)
    yield Sample(make(2, 3, 4), (2, 1, 2, 3, 1), False)


def _affine_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3, 4, 2), (2, 1, 3, 4), False)


def _sequences(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3, 2), make(1, 2)])
    yield Sample([make(2), make(4)], True, 1.0, "left")


def _chunked(make: Maker) -> Iterator[Sample]:
    yield Sample([make(5, 2), make(3)], 0, 2)
    yield Sample([make(2, 3, 4), make(2, 5)], 1, 3)


def _three(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), make(3, 4), make(2, 4), (2,), (0,), (1,), (1,))


def _diagonal(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 2)
    yield Sample(make(7, 2), 1, True)
    yield Sample(make(3, 3, 3), 1)


def _int8_products(make: Maker) -> Iterator[Sample]:
    yield Sample(make(17, 16, dtype=int8), make(16, 8, dtype=int8))


def _scaled_products(make: Maker) -> Iterator[Sample]:
    scale = make(1, dtype=float32)
    yield Sample(make(3, 4).to(float8_e4m3fn), make(4, 5).to(float8_e4m3fn), scale, scale, out_dtype=float32)


def _wide_products(*shapes: tuple[int, ...]) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(*(make(*shape) for shape in shapes), float64 if make.dtype is float32 else make.dtype)

    return samples


TABLE: dict[str, Samples] = {
    "aten::_add_relu.Tensor": _sums,
    "aten::_add_relu.Scalar": _sums_with_numbers,
    "aten::native_channel_shuffle": lambda make: iter([Sample(make(2, 6, 3), 3)]),
    **{f"aten::_weight_norm{end}": _weights for end in ("", "_interface")},
    **{f"aten::_weight_norm_{kind}_backward": _weight_gradients for kind in ("interface", "differentiable")},
    "aten::affine_grid_generator": _affine,
    "aten::affine_grid_generator_backward": _affine_gradients,
    "aten::pad_sequence": _sequences,
    "aten::flatten_dense_tensors": lambda make: iter([Sample([make(3, 2), make.transposed(3, 4)])]),
    "aten::_trilinear": _three,
    "aten::_transform_bias_rescale_qkv": lambda make: iter([Sample(make(2, 3, 12), make(12), 2)]),
    "aten::_chunk_cat": _chunked,
    "aten::_stack": lambda make: iter([Sample([make(3, 2), make(3, 2)], 1)]),
    "aten::fill_diagonal_": _diagonal,
    "aten::_int_mm": _int8_products,
    "aten::_scaled_mm": _scaled_products,
    "aten::mm.dtype": _wide_products((2, 3), (3, 4)),
    "aten::bmm.dtype": _wide_products((2, 2, 3), (2, 3, 4)),
    "aten::addmm.dtype": _wide_products((4,), (2, 3), (3, 4)),
    "aten::baddbmm.dtype": _wide_products((4,), (2, 2, 3), (2, 3, 4)),
    "aten::_aminmax": lambda make: iter([Sample(make(3, 4)), Sample(make.transposed(3, 4))]),
    "aten::_aminmax.dim": lambda make: iter([Sample(make(3, 4), 1), Sample(make.transposed(3, 4), 0, True)]),
    **{f"aten::_is_{kind}_true": _bools for kind in ("all", "any")},
    "aten::_assert_async": lambda make: iter([Sample(_true(make))]),
    "aten::_assert_async.msg": lambda make: iter([Sample(_true(make), "not true")]),
    "aten::_functional_assert_async.msg": lambda make: iter([Sample(_true(make), "not true", make(2))]),
    "aten::_assert_scalar": lambda make: iter([Sample(1, "not true")]),
    "aten::_functional_assert_scalar": lambda make: iter([Sample(1, "not true", make(2))]),
    "aten::_assert_tensor_metadata": _form,
    "aten::_print": lambda make: iter([Sample("")]),
    **{f"aten::sym_constrain_range{end}": lambda make: iter([Sample(3, min=1)]) for end in ("", "_for_size")},
    **{
        f"aten::_functional_sym_constrain_range{end}": lambda make: iter([Sample(3, 1, 4, make(2))])
        for end in ("", "_for_size")
    },
    **{f"aten::{base}": _kernels(2, (2, 2), (1, 1)) for base in ("thnn_conv2d", "_slow_conv2d_forward")},
    "aten::_slow_conv2d_backward.output_mask": _kernel_gradients,
    **{f"aten::{base}": _kernels(3, (2, 2, 2), (1, 1, 1)) for base in ("slow_conv3d", "slow_conv3d_forward")},
    **{f"aten::slow_conv_dilated{n}d": _kernels(n, (1,) * n, (1,) * n, (2,) * n) for n in (2, 3)},
    **{
        f"aten::slow_conv_transpose{n}d": _kernels(n, (2,) * n, (1,) * n, (1,) * n, (1,) * n, turned=True)
        for n in (2, 3)
    },
    "aten::_conv_depthwise2d": _kernels(2, (2, 2), (1, 1), (1, 1), channels=1),
    "aten::conv_depthwise3d": _kernels(3, (2,) * 3, (1,) * 3, (1,) * 3, channels=1),
    "aten::conv_tbc": _in_time,
    "aten::conv_tbc_backward": _in_time_gradients,
    "aten::lstm_cell": _cells(4, memory=True),
    "aten::gru_cell": _cells(3),
    **{f"aten::rnn_{activation}_cell": _cells(1) for activation in ("tanh", "relu")},
    "aten::lstm.input": _layers(4, memory=True),
    "aten::gru.input": _layers(3),
    **{f"aten::rnn_{activation}.input": _layers(1) for activation in ("tanh", "relu")},
    "aten::_thnn_fused_lstm_cell": _gates(4),
    "aten::_thnn_fused_gru_cell": _gates(3),
    **{f"aten::_thnn_fused_lstm_cell_backward{end}": _lstm_gradients for end in ("", "_impl")},
    "aten::_thnn_differentiable_lstm_cell_backward": _lstm_gradients_of_gates,
    "aten::_thnn_fused_gru_cell_backward": _gru_gradients,
    "aten::_thnn_differentiable_gru_cell_backward": _gru_gradients_of_gates,
    "aten::batch_norm_stats": _statistics,
    "aten::batch_norm_gather_stats": _gathered(4),
    "aten::batch_norm_gather_stats_with_counts": _gathered(None),
    "aten::_native_batch_norm_legit.out": _stored(True),
    "aten::_batch_norm_with_update.out": _stored(),
    "aten::_slow_conv2d_backward.grad_input": _all_gradients,
    "aten::batch_norm_backward": _update_gradients,
    "aten::_fused_rms_norm_backward": _root_gradients,
    "aten::_scaled_dot_product_flash_attention": _attended,
    "aten::_scaled_dot_product_fused_attention_overrideable": _attended_with_bias(),
    "aten::_scaled_dot_product_efficient_attention": _attended_with_bias(True),
    "aten::_scaled_dot_product_flash_attention_backward": lambda make: _attention_gradients(make, "flash"),
    "aten::_scaled_dot_product_efficient_attention_backward": lambda make: _attention_gradients(make, "efficient"),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": lambda make: _attention_gradients(make, ""),
    "aten::_triton_scaled_dot_attention": lambda make: iter([Sample(*_heads(make))]),
    "aten::_fused_sdp_choice": lambda make: iter([Sample(*_heads(make)), Sample(*_heads(make), None, 0.5)]),
    "aten::_native_multi_head_attention": _of_masked_heads,
    "aten::_triton_multi_head_attention": _of_several_heads,
    "aten::_transformer_encoder_layer_fwd": _encoded,
    "aten::_masked_softmax": _masked_rows,
    "aten::_masked_softmax_backward": _masked_row_gradients,
    "aten::_pack_padded_sequence": _unpacked,
    "aten::_pad_packed_sequence": _packed,
    "aten::_pack_padded_sequence_backward": _packed_gradients,
    "aten::lstm.data": _packed_layers(4, memory=True),
    "aten::gru.data": _packed_layers(3),
    **{f"aten::rnn_{activation}.data": _packed_layers(1) for activation in ("tanh", "relu")},
    "aten::_jagged_to_padded_dense_forward": _jagged,
    "aten::_padded_dense_to_jagged_forward": _padded_rows,
    "aten::_amp_foreach_non_finite_check_and_unscale_": _scaled_gradients,
    "aten::_amp_update_scale_": _scales,
    "aten::_saturate_weight_to_fp16": lambda make: iter([Sample(make(3, 4) * 1e5)]),
    "aten::convolution_overrideable": _convolved,
    "aten::convolution_backward_overrideable": _convolution_gradients,
    "aten::_convolution_double_backward": _second_gradients,
    "aten::native_norm.ScalarOpt_dim_dtype": lambda make: iter([Sample(make(3, 4), 3, (0,), True, None)]),
    "aten::batch_norm_elemt": _normalised,
    "aten::batch_norm_backward_reduce": _reduced,
    "aten::batch_norm_backward_elemt": _elements,
    **{f"aten::_batch_norm_{variant}_update": _running for variant in ("with", "no")},
    "aten::_batch_norm_impl_index_backward": _indexed_gradients,
    **{f"aten::fake_quantize_per_tensor_affine{end}": _quantised for end in ("", "_cachemask")},
    "aten::fake_quantize_per_tensor_affine.tensor_qparams": _quantised_by_tensors(),
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _quantised_by_tensors(True, False),
    **{f"aten::fake_quantize_per_channel_affine{end}": _quantised_channels for end in ("", "_cachemask")},
    **{f"aten::fake_quantize_per_{unit}_affine_cachemask_backward": _masked for unit in ("tensor", "channel")},
    **dict.fromkeys(("aten::_fused_moving_avg_obs_fq_helper", "aten::fused_moving_avg_obs_fake_quant"), _observed),
    "aten::_fake_quantize_learnable_per_tensor_affine": _learned(),
    "aten::_fake_quantize_learnable_per_tensor_affine_backward": _learned("grad"),
    "aten::_fake_quantize_learnable_per_channel_affine": _learned(channels=True),
    "aten::_fake_quantize_learnable_per_channel_affine_backward": _learned("grad", channels=True),
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
