"""Operators that create arithmetic and geometric sequences: ``arange``, ``range``, ``linspace``, ``logspace``."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from opdsl.aten._shared.checks import is_ordered, require_kernel
from opdsl.aten.create.factories import empty, give_size, of_size, scalar_tensor
from opdsl.aten.pointwise.arithmetic import add, mul, sub
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.pointwise.division import div
from opdsl.declare import Out, Overload, op
from opdsl.dispatch import get_default_dtype
from opdsl.dispatch.warning import warn
from opdsl.errors import DTypeError, OptionError, ShapeError
from opdsl.kernels import check, fill_, fill_by_index
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import (
    Device,
    DType,
    Tensor,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int64,
)
from opdsl.runtime.lowering import deferred
from opdsl.runtime.symbols import symbolic_kind
from opdsl.scalar.intrinsics import fma
from opdsl.schema.vocabulary import Scalar, TensorOptions


def ranging(start: complex, step: complex, count: int, options: TensorOptions, out: Tensor | None) -> Tensor:
    """Return ``count`` numbers ``start + step * i``, in a new tensor or in ``out``, which is resized if its size
    differs.
    """
    output = out if out is not None and out.numel() == count else of_size((count,), options, out)
    return fill_range(output, start, step)


@op(
    "aten::arange.start_step",
    kernel="CompositeExplicitAutograd",
    overloads={
        "start": Overload(
            "Return numbers from ``start`` up to, but not including, ``end``, in steps of 1.",
            fixed={"step": 1, "out": None},
            tags=(),
        ),
        "": Overload(
            "Return numbers from 0 up to, but not including, ``end``, in steps of 1.",
            fixed={"start": 0, "step": 1},
            tags=(),
            out=True,
        ),
    },
    tags="core",
    out=Out("arange.start_out"),
)
def arange(
    start: Scalar, end: Scalar, step: Scalar = 1, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return numbers from ``start`` up to, but not including, ``end``; int64 if all are integers and no dtype is
    given.
    """
    are_integers = all(isinstance(number, int) or symbolic_kind(number) is int for number in (start, end, step))
    chosen = options.dtype or (int64 if are_integers else get_default_dtype())
    count = arange_size(start, end, step, chosen)
    if out is not None and out.numel() not in (0, count):
        warn(
            f"The number of elements in the out tensor of shape {list(out.shape)} is {out.numel()} which does not "
            f"match the computed number of elements {count}. Note that this may occur as a result of rounding error. "
            f"The out tensor will be resized to a tensor of shape ({count},)."
        )
    return ranging(start, step, count, options.replace(dtype=chosen), out)


def arange_element(row: Any, column: Any, start: Any, step: Any) -> Any:
    return start + step * (row + column)


def fill_range(out: Tensor, start: complex, step: complex) -> Tensor:
    """Fill ``out`` with the numbers ``start + step * i``."""
    dtype = int64 if not out.dtype.is_floating_point else float64
    return fill_by_index(out, arange_element, (convert(start, dtype), convert(step, dtype)))


def arange_size(start: complex, end: complex, step: complex, dtype: DType) -> int:
    """Return how many elements ``arange`` has for a dtype.

    Raises:
        UnsupportedDTypeError, OptionError, ShapeError: the dtype, the step or the bounds do not fit.
    """
    require_kernel(is_ordered(dtype), "arange_cpu", dtype)
    begin, finish = (convert(number, float64) for number in (start, end))
    stepping = convert(step, float64)
    kind = int64 if not dtype.is_floating_point else float64
    first, last, stride = (convert(number, kind) for number in (start, end, step))
    steps = steps_between(begin, finish, stepping, start, end)
    count = arange_count(first, last, stride) if dtype is int64 else math.ceil(steps)
    check(0 <= count < 1 << 63, "invalid size, possible overflow?")
    return count


@deferred
def steps_between(begin: float, finish: float, step: float, start: complex, end: complex) -> float:
    """Return the number of steps between two numbers, as a float; errors show the numbers as given: ``start`` and
    ``end``.

    Raises:
        ShapeError: a bound is not finite, the step is 0, or it leads away from the end.
    """
    if not (step > 0 or step < 0):
        raise ShapeError("step must be nonzero")
    if not (-math.inf < begin < math.inf and -math.inf < finish < math.inf):
        raise ShapeError(f"unsupported range: {start} -> {end}")
    if not (finish >= begin if step > 0 else finish <= begin):
        raise ShapeError("upper bound and lower bound inconsistent with step sign")
    return (finish - begin) / step


def arange_count(start: int, end: int, step: int) -> int:
    """Return how many elements a range of int64 numbers has.

    Raises:
        OptionError: ``step`` has become 0.
        ShapeError: an intermediate number does not fit in int64.
    """
    if step == 0:
        raise OptionError("step must be nonzero")
    span = end - start + step - (1 if step > 0 else -1)
    check(-(1 << 63) <= span < 1 << 63, "invalid size, possible overflow?")
    return abs(span) // abs(step)


# --------------------------------------------------------------------------------------------------- linspace, logspace


def inferred_dtype(start: complex, end: complex, dtype: DType | None, name: str) -> DType | None:
    """Return the dtype of a range: ``dtype``, or the default complex dtype if a bound is complex and no dtype is given.

    Raises:
        DTypeError: a real dtype is given with a complex bound.
    """
    if not (isinstance(start, complex) or isinstance(end, complex)):
        return dtype
    inferred = complex128 if get_default_dtype() is float64 else complex64
    if dtype is not None and not dtype.is_complex:
        raise DTypeError(
            f"{name}: inferred dtype {inferred.scalar_type} can't be safely cast to passed dtype {dtype.scalar_type}"
        )
    return dtype or inferred


def number_of(value: Tensor | complex, name: str, which: str) -> complex:
    """Return the bound of a range as a number, reading it from a zero-dim tensor.

    Raises:
        ShapeError: the tensor has dimensions.
    """
    if not isinstance(value, Tensor):
        return value
    check(
        value.ndim == 0,
        f"{name} only supports 0-dimensional start and end tensors, but got {which} with {value.ndim} dimension(s).",
    )
    # The element of a meta tensor is unknown, and the shape and dtype of the range do not depend on it.
    number: complex = 0j if value.is_meta and value.dtype.is_complex else 0 if value.is_meta else value.item()
    return number


def _meta_device(*ends: Tensor | complex) -> Device | None:
    """Return the meta device if a bound of a range is a meta tensor, else None."""
    return next((end.device for end in ends if isinstance(end, Tensor) and end.is_meta), None)


def space(out: Tensor, start: Tensor | complex, end: Tensor | complex, steps: int, base: float | None = None) -> Tensor:
    """Fill ``out`` with the numbers of ``linspace``, or with those of ``logspace`` if there is a base, and
    return it.
    """
    operator = "linspace" if base is None else "logspace"
    first, last = number_of(start, operator, "start"), number_of(end, operator, "end")
    check(steps >= 0, "number of steps must be non-negative")
    if out.numel() != steps:
        give_size(out, (steps,))
    if steps == 1 and base is None:
        return fill_(out, first)
    if steps == 0:
        return out
    require_kernel(out.dtype is not bool_, f"{operator}_cpu", out.dtype)
    begin, finish = (convert(number, out.dtype) for number in (first, last))
    if steps == 1:
        finish = begin
    if base is None and out.dtype in (float16, bfloat16):
        return out.copy_(_halves_of_line(begin, finish, steps, out.dtype, out.device).view(out.shape))
    if not out.dtype.is_complex and (base is not None or not out.dtype.is_floating_point):
        begin, finish = begin * 1.0, finish * 1.0  # like `float`, which would make plans specialize on the values
    step = (finish - begin) / max(steps - 1, 1)
    if out.dtype is float32 and base is None:
        step = _in_float32(step)
    if base is None:
        complete = linspace_complex if out.dtype.is_complex else linspace_element
        return fill_by_index(out, complete, (begin, finish, step, steps))
    is_complex = out.dtype.is_complex
    numbers = [complex(number) if is_complex else number * 1.0 for number in (begin, finish, step, base)]
    return fill_by_index(out, logspace_element, (*numbers[:3], steps, numbers[3]))


@deferred
def _in_float32(number: float) -> float:
    """Return a number rounded to float32."""
    return ctypes.c_float(number).value


def _halves_of_line(start: float, end: float, steps: int, dtype: DType, device: Device) -> Tensor:
    """Return ``linspace`` in float16 or bfloat16, rounded after every operation as in PyTorch."""
    first, last, count = (
        scalar_tensor(number, dtype=dtype, device=device) for number in (start, end, max(steps - 1, 1))
    )
    step = div(sub(last, first), count)
    index = arange(0, steps, device=device)
    forward = add(mul(index.to(dtype), step), first)
    backward = sub(last, mul(sub(steps - 1, index).to(dtype), step))
    return where(index < steps // 2, forward, backward)


def linspace_element(row: Any, column: Any, start: Any, end: Any, step: Any, steps: Any) -> Any:
    # Each half is computed from its own end, so that both ends are exact.
    index = row + column
    return fma(step, index, start) if index < steps // 2 else fma(-step, steps - index - 1, end)


def linspace_complex(row: Any, column: Any, start: Any, end: Any, step: Any, steps: Any) -> Any:
    index = row + column
    return start + step * index if index < steps // 2 else end - step * (steps - index - 1)


def logspace_element(row: Any, column: Any, start: Any, end: Any, step: Any, steps: Any, base: Any) -> Any:
    return base ** linspace_complex(row, column, start, end, step, steps)


OF_NUMBERS: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "out": True}
"""Options of ranges between two numbers."""

OF_TENSORS: dict[str, Any] = {
    "kernel": "CompositeExplicitAutograd",
    "category_override": "factory",
    "out": True,
}
"""Options of ranges with one or two zero-dim tensors as ends."""


def spaced(
    name: str,
    start: Tensor | complex,
    end: Tensor | complex,
    steps: int,
    options: TensorOptions,
    base: float | None,
    out: Tensor | None,
) -> Tensor:
    """Return the numbers of ``linspace``, or of ``logspace`` if there is a base, in a new tensor or in ``out``."""
    if out is not None:
        return space(out, start, end, steps, base)
    first, last = number_of(start, name, "start"), number_of(end, name, "end")
    dtype = inferred_dtype(first, last, options.dtype, f"torch.{name}()")
    device = options.device or _meta_device(start, end)
    check(steps >= 0, "number of steps must be non-negative")
    return space(empty([steps], **options.replace(dtype=dtype, device=device)), first, last, steps, base)


@op("aten::linspace", **OF_NUMBERS)
def linspace(start: Scalar, end: Scalar, steps: int, *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
    """Return ``steps`` evenly spaced numbers from ``start`` to ``end``, both included."""
    return spaced("linspace", start, end, steps, options, None, out)


@linspace.overload("Tensor_Tensor", **OF_TENSORS)
def linspace_between_tensors(
    start: Tensor, end: Tensor, steps: int, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return ``linspace`` whose start and end are zero-dim tensors."""
    return spaced("linspace", start, end, steps, options, None, out)


@linspace.overload("Tensor_Scalar", **OF_TENSORS)
def linspace_from_tensor(
    start: Tensor, end: Scalar, steps: int, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return ``linspace`` whose start is a zero-dim tensor."""
    return spaced("linspace", start, end, steps, options, None, out)


@linspace.overload("Scalar_Tensor", **OF_TENSORS)
def linspace_to_tensor(
    start: Scalar, end: Tensor, steps: int, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return ``linspace`` whose end is a zero-dim tensor."""
    return spaced("linspace", start, end, steps, options, None, out)


@op("aten::logspace", **OF_NUMBERS)
def logspace(
    start: Scalar, end: Scalar, steps: int, base: float = 10.0, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """``base ** linspace(start, end, steps)``"""
    return spaced("logspace", start, end, steps, options, base, out)


@logspace.overload("Tensor_Tensor", **OF_TENSORS)
def logspace_between_tensors(
    start: Tensor, end: Tensor, steps: int, base: float = 10.0, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return ``logspace`` whose start and end are zero-dim tensors."""
    return spaced("logspace", start, end, steps, options, base, out)


@logspace.overload("Tensor_Scalar", **OF_TENSORS)
def logspace_from_tensor(
    start: Tensor, end: Scalar, steps: int, base: float = 10.0, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return ``logspace`` whose start is a zero-dim tensor."""
    return spaced("logspace", start, end, steps, options, base, out)


@logspace.overload("Scalar_Tensor", **OF_TENSORS)
def logspace_to_tensor(
    start: Scalar, end: Tensor, steps: int, base: float = 10.0, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return ``logspace`` whose end is a zero-dim tensor."""
    return spaced("logspace", start, end, steps, options, base, out)


for _ends in (linspace_between_tensors, logspace_between_tensors):
    _ends.non_differentiable("start", "end")
for _start in (linspace_from_tensor, logspace_from_tensor):
    _start.non_differentiable("start")
for _end in (linspace_to_tensor, logspace_to_tensor):
    _end.non_differentiable("end")


# ---------------------------------------------------------------------------------------------------------------- range


def size_of(start: complex, end: complex, step: complex, dtype: DType) -> int:
    """Return how many elements ``range`` has, its end included.

    Raises:
        UnsupportedDTypeError, ShapeError: the dtype, the step or the bounds do not fit.
    """
    require_kernel(is_ordered(dtype), "range_cpu", dtype)
    begin, finish, stride = (convert(number, float64) for number in (start, end, step))
    check(stride != 0, "step must be nonzero")
    count = int(steps_between(begin, finish, stride, start, end)) + 1
    check(0 <= count < 1 << 63, "invalid size, possible overflow?")
    return count


@op(
    "aten::range.step",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "Return numbers from ``start`` up to and including ``end``, in steps of 1.",
            fixed={"step": 1},
            out=Out("range.out_"),
        )
    },
    out=Out("range.out"),
)
def inclusive_range(
    start: Scalar, end: Scalar, step: Scalar = 1, *, options: TensorOptions, out: Tensor | None = None
) -> Tensor:
    """Return numbers from ``start`` in steps of ``step`` to ``end``, which is included if a step reaches it; of the
    default dtype if none is given.
    """
    chosen = options.dtype or get_default_dtype()
    return ranging(start, step, size_of(start, end, step, chosen), options.replace(dtype=chosen), out)
