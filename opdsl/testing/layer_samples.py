"""Samples of aten's operators that make up layers: kernels of convolutions, cells, fake quantisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.runtime import Tensor, bool_, float32, float64, int8, int32, uint8
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
    yield Sample(make(2, 3, 3, 3), make(2, 2, 5, 5), make(3, 2, 3, 3), (3, 3), (2, 2), (1, 1), (True, False, True))


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
                each
                for size in (3, 4 * directions)
                for _ in range(directions)
                for each in (
                    make(4 * gates, size),
                    make(4 * gates, 4),
                    *((make(4 * gates), make(4 * gates)) if biases else ()),
                )
            ]
            given = [state, make(2 * directions, 2, 4)] if memory else state
            yield Sample(make(2, 2, 3), given, params, biases, 2, 0.0, False, directions == 2, directions == 1)

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


# ----------------------------------------------------------------------------------------------- batch normalisation


def _positive(make: Maker, *shape: int) -> Tensor:
    found = make(*shape)
    return found if found.dtype is bool_ else found * found + 1


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


# -------------------------------------------------------------------------------------------------- fake quantisation


def _number(make: Maker, value: float, dtype: object = float32) -> Tensor:
    return make(1).new_full((1,), value, dtype=dtype)


def _quantised(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), 0.25, 2, -4, 7)


def _quantised_by_tensors(*enabled: bool) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        for each in enabled or (None,):
            more = () if each is None else (_number(make, float(each)),)
            yield Sample(make(3, 4), _number(make, 0.25), _number(make, 2, int32), *more, -4, 7)

    return samples


def _channels(make: Maker, value: float, dtype: object = float32) -> Tensor:
    return make(1).new_full((4,), value, dtype=dtype)


def _quantised_channels(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), _channels(make, 0.25), _channels(make, 2, int32), 1, -4, 7)


def _learned(*before: str, channels: bool = False) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        made = _channels if channels else _number
        places = (1,) if channels else ()
        given = [make(3, 4) for _ in before]
        numbers = made(make, 0.25, make.dtype), made(make, 2, make.dtype)
        yield Sample(*given, make(3, 4), *numbers, *places, -4, 7, 0.5)

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


def _wide_products(*shapes: tuple[int, ...]) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(*(make(*shape) for shape in shapes), float64 if make.dtype is float32 else make.dtype)

    return samples


TABLE: dict[str, Samples] = {
    "aten::_add_relu.Tensor": _sums,
    "aten::_add_relu.Scalar": _sums_with_numbers,
    "aten::native_channel_shuffle": lambda make: iter([Sample(make(2, 6, 3), 3)]),
    **{f"aten::_weight_norm{end}": _weights for end in ("", "_interface")},
    **{f"aten::_weight_norm_{each}_backward": _weight_gradients for each in ("interface", "differentiable")},
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
    "aten::mm.dtype": _wide_products((2, 3), (3, 4)),
    "aten::bmm.dtype": _wide_products((2, 2, 3), (2, 3, 4)),
    "aten::addmm.dtype": _wide_products((4,), (2, 3), (3, 4)),
    "aten::baddbmm.dtype": _wide_products((4,), (2, 2, 3), (2, 3, 4)),
    "aten::_aminmax": lambda make: iter([Sample(make(3, 4)), Sample(make.transposed(3, 4))]),
    "aten::_aminmax.dim": lambda make: iter([Sample(make(3, 4), 1), Sample(make.transposed(3, 4), 0, True)]),
    **{f"aten::_is_{name}_true": _bools for name in ("all", "any")},
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
    **{f"aten::{name}": _kernels(2, (2, 2), (1, 1)) for name in ("thnn_conv2d", "_slow_conv2d_forward")},
    "aten::_slow_conv2d_backward.output_mask": _kernel_gradients,
    **{f"aten::{name}": _kernels(3, (2, 2, 2), (1, 1, 1)) for name in ("slow_conv3d", "slow_conv3d_forward")},
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
    **{f"aten::rnn_{name}_cell": _cells(1) for name in ("tanh", "relu")},
    "aten::lstm.input": _layers(4, memory=True),
    "aten::gru.input": _layers(3),
    **{f"aten::rnn_{name}.input": _layers(1) for name in ("tanh", "relu")},
    "aten::_thnn_fused_lstm_cell": _gates(4),
    "aten::_thnn_fused_gru_cell": _gates(3),
    **{f"aten::_thnn_fused_lstm_cell_backward{end}": _lstm_gradients for end in ("", "_impl")},
    "aten::_thnn_differentiable_lstm_cell_backward": _lstm_gradients_of_gates,
    "aten::_thnn_fused_gru_cell_backward": _gru_gradients,
    "aten::_thnn_differentiable_gru_cell_backward": _gru_gradients_of_gates,
    "aten::batch_norm_stats": _statistics,
    "aten::batch_norm_elemt": _normalised,
    "aten::batch_norm_backward_reduce": _reduced,
    "aten::batch_norm_backward_elemt": _elements,
    **{f"aten::_batch_norm_{name}_update": _running for name in ("with", "no")},
    "aten::_batch_norm_impl_index_backward": _indexed_gradients,
    **{f"aten::fake_quantize_per_tensor_affine{end}": _quantised for end in ("", "_cachemask")},
    "aten::fake_quantize_per_tensor_affine.tensor_qparams": _quantised_by_tensors(),
    "aten::_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _quantised_by_tensors(True, False),
    **{f"aten::fake_quantize_per_channel_affine{end}": _quantised_channels for end in ("", "_cachemask")},
    **{f"aten::fake_quantize_per_{each}_affine_cachemask_backward": _masked for each in ("tensor", "channel")},
    "aten::_fake_quantize_learnable_per_tensor_affine": _learned(),
    "aten::_fake_quantize_learnable_per_tensor_affine_backward": _learned("grad"),
    "aten::_fake_quantize_learnable_per_channel_affine": _learned(channels=True),
    "aten::_fake_quantize_learnable_per_channel_affine_backward": _learned("grad", channels=True),
}
"""By an operator's name; one without an overload stands for the empty overload alone."""
