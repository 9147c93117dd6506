"""Tests of TensorIterator: shape, strides and dtypes of results, with PyTorch as oracle."""

from __future__ import annotations

import numpy
import pytest
import torch
from hypothesis import given, settings

from opdsl.errors import DeviceError, ShapeError
from opdsl.kernels.iteration.broadcasting import broadcast, broadcast_all
from opdsl.kernels.iteration.dtypes import PROMOTIONS, OutputCast
from opdsl.kernels.iteration.strides import loop_order
from opdsl.kernels.iteration.tensor_iterator import Configuration, Number, NumberRole, iterate, pointwise_layout
from opdsl.runtime import bool_, cpu, float16, float32, float64, int32, int64, meta
from opdsl.runtime.geometry import geometry
from tests.unit.kernels.geometries import form, operand, operands

MANY = settings(max_examples=400)
DEFAULT = Configuration(PROMOTIONS["default"])


def run(values, promote="default", **more):
    return iterate([operand(value) for value in values], Configuration(PROMOTIONS[promote], **more), float32)


@MANY
@given(operands())
def test_binary_results_are_pytorchs(values):
    expected = torch.mul(*values)
    actual = run(values)
    assert (tuple(expected.shape), expected.stride()) == (actual.shape, actual.strides)
    assert str(expected.dtype) == f"torch.{actual.result.name}"


@MANY
@given(operands(count=3, numbers=False))
def test_ternary_strides_are_pytorchs(values):
    condition, first, second = _as_bool(values[0]), values[1], values[2]
    expected = torch.where(condition, first, second)
    actual = run([condition, first, second], exempt=frozenset([0]))
    assert (tuple(expected.shape), expected.stride()) == (actual.shape, actual.strides)
    assert str(expected.dtype) == f"torch.{actual.result.name}"


def _as_bool(tensor):
    """Return a bool tensor with the strides of another tensor."""
    size = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return torch.zeros(max(size, 1), dtype=torch.bool).as_strided(tensor.shape, tensor.stride())


@MANY
@given(operands(count=1))
def test_unary_strides_are_pytorchs(values):
    expected = torch.sigmoid(values[0])
    actual = run(values, "int_to_float")
    assert (expected.stride(), str(expected.dtype)) == (actual.strides, f"torch.{actual.result.name}")


@MANY
@given(operands())
def test_comparisons_are_bool_with_pytorchs_strides(values):
    expected = torch.eq(*values)
    actual = run(values, "bool")
    assert (expected.stride(), bool_) == (actual.strides, actual.result)


@pytest.mark.parametrize("memory_format", [torch.channels_last, torch.contiguous_format])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 1, 1), (2, 3, 1, 1), (0, 3, 4, 5)])
def test_channels_last_stays(memory_format, shape):
    x = torch.zeros(shape).to(memory_format=memory_format)
    for other in (x, torch.zeros(shape), torch.zeros(3, 1, 1), 2):
        assert torch.mul(x, other).stride() == run([x, other]).strides


def test_64_dimensions_are_one_loop():
    shape = (1,) * 60 + (2, 3, 1, 4)
    whole = geometry(float32, cpu, shape)
    assert pointwise_layout(shape, [whole, whole], [whole]).sizes == ((24,),)


def test_the_default_dtype_is_what_integers_become():
    configuration = Configuration(PROMOTIONS["int_to_float"])
    assert iterate([geometry(int32, cpu, (2,))], configuration, float64).result is float64


def test_exempt_operands_keep_their_dtype():
    operands = [geometry(bool_, cpu, (2,)), geometry(int32, cpu, (2,)), geometry(float16, cpu, (2,))]
    actual = iterate(operands, Configuration(PROMOTIONS["default"], frozenset([0])), float32)
    assert actual.parameters == (bool_, float32, float32)


@pytest.mark.parametrize(
    ("role", "kind", "dtype", "expected"),
    [
        (NumberRole.SCALAR, float, float16, float32),
        (NumberRole.SCALAR, int, int32, int32),
        (NumberRole.FLOAT, float, int32, float32),
        (NumberRole.FLOAT, float, float64, float64),
        (NumberRole.INT, int, bool_, int64),
        (NumberRole.INT, int, float64, float64),
        (NumberRole.BOOL, bool, float64, bool_),
    ],
)
def test_numbers_are_computed_in_the_precision_of_the_loop(role, kind, dtype, expected):
    actual = iterate([geometry(dtype, cpu, (2,)), Number(kind, role)], DEFAULT, float32)
    assert actual.parameters[1] is expected


def test_a_16_bit_loop_casts_wider_operands_first():
    operands = [geometry(float16, cpu, (2,)), geometry(int64, cpu, (2,)), geometry(float32, cpu, ())]
    assert iterate(operands, DEFAULT, float32).casts == (None, float16, None)


def test_a_16_bit_comparison_rounds_numbers_too():
    operands = [geometry(float16, cpu, (2,)), Number(float, NumberRole.WRAPPED)]
    assert iterate(operands, Configuration(PROMOTIONS["bool"]), float32).casts == (None, float16)


@pytest.mark.parametrize(
    ("promote", "count", "expected"),
    [("default", 1, OutputCast.SAME), ("default", 2, OutputCast.SAFE), ("int_to_float", 1, OutputCast.SAFE)],
)
def test_which_dtypes_an_output_may_have(promote, count, expected):
    operands = [geometry(float32, cpu, (2,))] * count
    assert iterate(operands, Configuration(PROMOTIONS[promote]), float32).cast is expected


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("shapes", [((3,), (2,)), ((2, 3), (2, 4)), ((2, 3), (4, 5)), ((5, 1, 4), (3, 3))])
def test_mismatched_shapes_raise_pytorchs_text(shapes):
    with pytest.raises(RuntimeError) as expected:
        torch.add(*map(torch.zeros, shapes))
    with pytest.raises(ShapeError) as actual:
        broadcast_all(shapes)
    assert str(expected.value) == str(actual.value)


def test_zero_sizes_broadcast():
    assert broadcast((1, 3), (0, 1)) == (0, 3)


def test_two_devices_are_refused():
    with pytest.raises(DeviceError, match="Expected all tensors to be on the same device"):
        iterate([geometry(float32, cpu, (2,)), geometry(float32, meta, (2,))], DEFAULT, float32)


def test_a_zero_dim_cpu_tensor_goes_with_any_device():
    operands = [geometry(float32, cpu, ()), geometry(float32, meta, (2,))]
    assert iterate(operands, DEFAULT, float32).device is meta


# --------------------------------------------------------------------------------------------------------------- loops


def visited(call, places):
    """Return the set of the operands' byte offsets that a loop visits, one tuple per iteration."""
    offsets = [numpy.zeros(1, int) for _ in places]
    for position, size in enumerate(call.sizes[0]):
        offsets = [
            (before[:, None] + numpy.arange(size) * place.strides[position]).reshape(-1)
            for before, place in zip(offsets, places, strict=True)
        ]
    return {tuple(row) for row in numpy.stack(offsets, 1).tolist()} if 0 not in call.sizes[0] else set()


@MANY
@given(operands(numbers=False))
def test_a_coalesced_loop_visits_every_element_once(values):
    forms = [form(value) for value in values]
    actual = iterate(forms, DEFAULT, float32)
    output = geometry(actual.result, cpu, actual.shape, actual.strides)
    layout = pointwise_layout(actual.shape, forms, [output])
    expected = set()
    broadcast_strides = [value.expand(actual.shape).stride() for value in values] + [actual.strides]
    sizes = [operand.dtype.itemsize for operand in (*forms, output)]
    for index in numpy.ndindex(*actual.shape):
        expected.add(
            tuple(
                sum(i * stride for i, stride in zip(index, strides, strict=True)) * size
                for strides, size in zip(broadcast_strides, sizes, strict=True)
            )
        )
    assert visited(layout, [*layout.inputs, *layout.outputs]) == expected


def test_contiguous_operands_coalesce_to_one_dimension():
    whole = geometry(float32, cpu, (2, 3, 4))
    assert pointwise_layout((2, 3, 4), [whole], [whole]).sizes == ((24,),)


def test_the_innermost_dimension_is_the_outputs():
    transposed = geometry(float32, cpu, (3, 4), (1, 3))
    layout = pointwise_layout((3, 4), [transposed], [geometry(float32, cpu, (3, 4))])
    assert (layout.sizes[0], layout.inputs[0].strides, layout.outputs[0].strides) == ((3, 4), (4, 12), (16, 4))


def test_empty_loops_have_size_zero():
    empty = geometry(float32, cpu, (3, 0, 2))
    assert pointwise_layout((3, 0, 2), [empty], [empty]).sizes == ((0,),)


def test_single_elements_have_no_dimensions():
    one = geometry(float32, cpu, (1, 1))
    assert pointwise_layout((1, 1), [one, float32], [one]).inputs[1].strides is None


def test_a_broadcast_dimension_does_not_change_the_order_of_others():
    values = torch.ones(4, 2).t().unsqueeze(1).expand(2, 3, 4)
    assert run([values]).strides == (values + 1).stride()


def test_only_what_is_a_tensor_to_the_loop_promotes():
    number = Number(float, NumberRole.FLOAT)
    assert iterate([geometry(int32, cpu, (2,)), number], DEFAULT, float32).common is int32
    apart = Configuration(PROMOTIONS["default"], frozenset([1]))
    assert iterate([geometry(int32, cpu, (2,)), geometry(float64, cpu, (2,))], apart, float32).common is int32


def test_broadcast_dimensions_do_not_decide_the_order():
    assert loop_order((2, 3), [(0, 4), (4, 8)]) == (0, 1)
