"""TensorIterator: the loop nest of a pointwise operator, computed by pure functions from geometries and number types.

``iterate`` computes the properties of the result (shape, dtype, strides, device), ``pointwise_layout`` the sizes and
strides of the loop once the outputs are known. Both follow ATen/TensorIterator.cpp.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from opdsl.errors import DeviceError
from opdsl.kernels.calls import Layout, NewArray, OperandSpec
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.dtypes import PRECISION, OutputCast, Promotion, precision_of
from opdsl.kernels.iteration.strides import dense_strides, loop_order, output_strides, steps
from opdsl.runtime.device import Device, cpu
from opdsl.runtime.dtype import Category, DType, bool_, int64
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.promotion import result_type


class NumberRole(Enum):
    """Role of a Python number in a loop, which decides its conversion and promotion."""

    WRAPPED = "stands for a tensor: takes part in promotion"
    SCALAR = "a parameter of type Scalar: converted to the kernel's precision, with a check"
    FLOAT = "a parameter of type float"
    INT = "a parameter of type int"
    BOOL = "a parameter of type bool"


class Number(NamedTuple):
    """Python number as an operand: its type and its role, not its value."""

    type: type
    role: NumberRole


Operand = TensorMeta | Number


class Configuration(NamedTuple):
    """Dtype rules of a pointwise operator.

    promotion: from the operands' dtypes to the computation dtype, and to the result's.
    exempt: positions of operands that take no part in promotion and keep their own dtype.
    rounded: positions of numbers that are rounded to 16 bits in a 16-bit loop; others keep all their digits.
    outputs: how many there are.
    cast: which dtypes a given output may have; None for PyTorch's rule.
    """

    promotion: Promotion
    exempt: frozenset[int] = frozenset()
    rounded: frozenset[int] = frozenset()
    outputs: int = 1
    cast: OutputCast | None = None


class Iteration(NamedTuple):
    """Result properties and dtypes of one pointwise call, as ``iterate`` computes them.

    shape: the broadcast shape.
    common: the dtype that operands are promoted to.
    result: the dtype of new outputs.
    strides: of new outputs, in elements.
    device: of new outputs.
    parameters: for each operand the dtype of the scalar function's parameter.
    casts: for each operand the dtype that it has to be cast to beforehand, where conversion inside the loop would
        give another value than PyTorch's.
    cast: which dtypes given outputs may have.
    """

    shape: tuple[int, ...]
    common: DType
    result: DType
    strides: tuple[int, ...]
    device: Device
    parameters: tuple[DType, ...]
    casts: tuple[DType | None, ...]
    cast: OutputCast


def iterate(operands: Sequence[Operand], configuration: Configuration, default: DType) -> Iteration:
    """Compute shape, dtypes, strides and device of a pointwise operator's result from its operands.

    Args:
        operands: the geometry of each tensor, a ``Number`` for each Python number.
        configuration: the operator's dtype rules.
        default: the default dtype.

    Raises:
        ShapeError: shapes do not broadcast.
        DeviceError: the operands are on different devices.
    """
    tensors = [operand for operand in operands if isinstance(operand, TensorMeta)]
    shape = broadcast_all([tensor.shape for tensor in tensors])
    promoting = [
        operand for index, operand in enumerate(operands) if index not in configuration.exempt and _promotes(operand)
    ]
    common = configuration.promotion.common(common_dtype(promoting, default), default)
    exempt = [index in configuration.exempt for index in range(len(operands))]
    layout = [
        _layout(operand, None if keeps else common)
        for operand, keeps in zip(operands, exempt, strict=True)
        if _promotes(operand)
    ]
    return Iteration(
        shape,
        common,
        configuration.promotion.result(common),
        output_strides(shape, layout),
        common_device(tensors),
        tuple([_parameter(operand, common, default, keeps) for operand, keeps in zip(operands, exempt, strict=True)]),
        tuple([_cast(operand, common, configuration, index) for index, operand in enumerate(operands)]),
        configuration.cast or _default_cast(configuration.promotion, common, len(promoting)),
    )


_ZERO_DIM = geometry(int64, cpu, ())


def _layout(operand: Operand, common: DType | None) -> TensorMeta:
    """Return the geometry of an operand that decides strides: its own or, if it is promoted, that of PyTorch's promoted
    copy.
    """
    if isinstance(operand, Number):
        return _ZERO_DIM
    if common is None or operand.dtype is common or operand.is_non_overlapping_and_dense():
        return operand
    return operand.replace(strides=dense_strides(operand))


def _promotes(operand: Operand) -> bool:
    return isinstance(operand, TensorMeta) or operand.role is NumberRole.WRAPPED


def _default_cast(promotion: Promotion, common: DType, promoting: int) -> OutputCast:
    """Return PyTorch's rule for output dtypes: comparisons write any dtype, unary operators without promotion only
    their own.
    """
    if promotion.boolean:
        return OutputCast.ANY
    keeps = not promotion.floating and promotion.result(common) is common
    return OutputCast.SAME if promoting == 1 and keeps else OutputCast.SAFE


def common_dtype(operands: Iterable[Operand], default: DType) -> DType:
    """Return the dtype that tensors and wrapped numbers promote to.

    Args:
        operands: at least one.
        default: the default dtype, which Python floats have.
    """
    samples = [operand if isinstance(operand, TensorMeta) else _SAMPLES[operand.type] for operand in operands]
    dtypes = {sample.dtype if isinstance(sample, TensorMeta) else None for sample in samples}
    only = dtypes.pop() if len(dtypes) == 1 else None
    return result_type(samples, default) if only is None else only


_SAMPLES: dict[type, complex] = {bool: True, int: 1, float: 1.0, complex: 1j}


def _parameter(operand: Operand, common: DType, default: DType, exempt: bool) -> DType:
    """Return the dtype of the scalar function's parameter for an operand."""
    if isinstance(operand, TensorMeta):
        return precision_of(operand.dtype if exempt else common)
    return _NUMBER_RULES[operand.role](common, default)


def _int_parameter(common: DType, default: DType) -> DType:
    return int64 if common.category is Category.BOOL else precision_of(common)


def _float_parameter(common: DType, default: DType) -> DType:
    return default if common.category <= Category.INT else precision_of(common)


def _precise_parameter(common: DType, default: DType) -> DType:
    return precision_of(common)


def _bool_parameter(common: DType, default: DType) -> DType:
    return bool_


_NUMBER_RULES = {
    NumberRole.WRAPPED: _precise_parameter,
    NumberRole.SCALAR: _precise_parameter,
    NumberRole.FLOAT: _float_parameter,
    NumberRole.INT: _int_parameter,
    NumberRole.BOOL: _bool_parameter,
}


def _cast(operand: Operand, common: DType, configuration: Configuration, place: int) -> DType | None:
    """Return the 16-bit dtype that an operand is rounded to before the loop, where PyTorch rounds it too; the loop,
    which computes in float32, would otherwise read the operand in full precision.

    None if no cast is needed. PyTorch takes numbers and zero-dim tensors in full precision into most of arithmetic,
    but not into comparisons.
    """
    if place in configuration.exempt or common not in PRECISION:
        return None
    rounded = place in configuration.rounded or (configuration.promotion.boolean and _promotes(operand))
    if isinstance(operand, Number):
        return common if rounded else None
    return None if operand.dtype is common or (operand.ndim == 0 and not rounded) else common


def common_device(tensors: Sequence[TensorMeta]) -> Device:
    """Return the device of an operator's results: the device of all operands, except zero-dim CPU tensors combined with
    others.

    Raises:
        DeviceError: there are two.
    """
    device = next((tensor.device for tensor in tensors if tensor.device is not cpu), None)
    if device is None:
        return cpu
    for tensor in tensors:
        if tensor.device is not device and not (tensor.device is cpu and tensor.ndim == 0):
            raise DeviceError(
                "Expected all tensors to be on the same device, but found at least two devices, "
                f"{device} and {tensor.device}!"
            )
    return device


def pointwise_layout(
    shape: tuple[int, ...],
    inputs: Sequence[TensorMeta | DType],
    outputs: Sequence[TensorMeta],
    *,
    allocate: bool = False,
) -> Layout:
    """Return the layout of an elementwise kernel: coalesced sizes and strides of all operands.

    Args:
        shape: the broadcast shape.
        inputs: the geometry of each array that the kernel gets; the dtype of each number.
        outputs: the geometry of each output; its shape is ``shape``.
        allocate: whether the kernel allocates the outputs.
    """
    tensors = [*outputs, *[input for input in inputs if isinstance(input, TensorMeta)]]
    strides = [steps(tensor, shape) for tensor in tensors]
    order = loop_order(shape, strides)
    sizes, coalesced = coalesce([shape[dim] for dim in order], [[stride[dim] for dim in order] for stride in strides])
    rest = iter(coalesced)
    written = tuple([OperandSpec(output.dtype, next(rest)) for output in outputs])
    read = [
        OperandSpec(input.dtype, next(rest)) if isinstance(input, TensorMeta) else OperandSpec(input, None)
        for input in inputs
    ]
    new_arrays = tuple([NewArray(output.shape, output.strides) if allocate else None for output in outputs])
    return Layout((sizes,), tuple(read), written, new_arrays)
