"""Dtype rules of reductions: for the reduced elements, the accumulators and the results."""

from __future__ import annotations

from collections.abc import Callable

from opdsl.dispatch.state import current
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime.dtype import Category, DType, bool_, complex128, float64, int64, uint8
from opdsl.runtime.promotion import can_cast


def same_dtype(operator: str, source: DType, requested: DType | None, output: DType | None) -> DType:
    """Return the requested dtype, or by default the input's own."""
    return requested or source


def _widened(operator: str, source: DType, requested: DType | None, output: DType | None) -> DType:
    return requested or output or (int64 if source.category <= Category.INT else source)


def _floating(operator: str, source: DType, requested: DType | None, output: DType | None) -> DType:
    wanted = requested or source
    if wanted.category < Category.FLOAT:
        what, kind = ("Input", source) if requested is None else ("Optional", requested)
        raise DTypeError(
            f"{operator}(): could not infer output dtype. {what} dtype must be either a floating point or complex "
            f"dtype. Got: {kind.scalar_type}"
        )
    # An output of another kind raises in its own check, which comes after that of the dimensions.
    return output if requested is None and output is not None and output.category >= Category.FLOAT else wanted


def _floating_input(operator: str, source: DType, requested: DType | None, output: DType | None) -> DType:
    if not (source.is_floating_point or source.is_complex):
        raise DTypeError("std and var only support floating point and complex dtypes")
    return requested or source


def _floats_alone(operator: str, source: DType, requested: DType | None, output: DType | None) -> DType:
    value = requested or source
    if value.category < Category.FLOAT:
        raise UnsupportedDTypeError(f"not implemented for '{value.scalar_type}'. Convert first: x.to(float32).")
    return value


def _computed(operator: str, source: DType, requested: DType | None, output: DType | None) -> DType:
    value = requested or source
    return value if value.category >= Category.FLOAT else current.get().default_dtype


DTYPE_RULES: dict[str, Callable[[str, DType, DType | None, DType | None], DType]] = {
    "default": same_dtype,
    "sum": _widened,
    "float": _floating,
    "floating_input": _floating_input,
    "floating": _floats_alone,
    "int_to_float": _computed,
}
"""Rules of ``promote=`` of a reduction: each returns the dtype in which elements are folded, from the operator's name,
the input's dtype, ``dtype=`` and the dtype of ``out=``.
"""


def _cast(wanted: DType, output: DType | None) -> DType:
    return output if output is not None and can_cast(wanted, output) else wanted


def _floating_output(value: DType, source: DType, output: DType | None) -> DType:
    return output if output is not None and output.category >= value.category >= Category.FLOAT else value


def _truth_dtype(value: DType, source: DType, output: DType | None) -> DType:
    # PyTorch's any and all return uint8 for uint8, its former bool, and write outputs of either dtype.
    if output in (bool_, uint8):
        return output
    return uint8 if source is uint8 else bool_


RESULT_RULES: dict[str, Callable[[DType, DType, DType | None], DType]] = {
    "value": lambda value, source, dtype: value,
    "real": lambda value, source, dtype: value.to_real(),
    "cast_real": lambda value, source, dtype: _cast(value.to_real(), dtype),
    "cast": lambda value, source, dtype: _cast(value, dtype),
    "floating": _floating_output,
    "index": lambda value, source, dtype: int64,
    "truth": _truth_dtype,
}
"""Rules for the dtype of a result, from the folded dtype, the input's and that of ``out=``. The result has the folded
dtype, that of its real part, any dtype to which it or its real part can be cast, a floating-point dtype, int64 for an
index, or bool.
"""


def _double(value: DType) -> DType:
    return complex128 if value.is_complex else float64


ACCUMULATOR_RULES: dict[str, Callable[[DType], DType]] = {
    "value": precision_of,
    "real": lambda value: precision_of(value.to_real()),
    "double": _double,
    "real_double": lambda value: float64,
    "index": lambda value: int64,
    "truth": lambda value: bool_,
}
"""Rules for the dtype of an accumulator, from the folded dtype."""
