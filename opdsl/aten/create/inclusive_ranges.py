"""``range``: numbers at equal distances up to and including the end."""

from __future__ import annotations

from opdsl.aten.create.factories import empty, give_size
from opdsl.aten.create.ranges import fill_range, require_range, steps_between
from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.kernels import check
from opdsl.kernels.iteration.numbers import convert
from opdsl.runtime import DType, Tensor, float64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar, TensorOptions


def size_of(start: complex, end: complex, step: complex, dtype: DType) -> int:
    """How many elements a range with its end has.

    Raises:
        UnsupportedDTypeError, ShapeError: there is no such range.
    """
    require_range(dtype, "range_cpu")
    begin, finish, stride = (convert(each, float64) for each in (start, end, step))
    check(stride != 0, "step must be nonzero")
    count = int(steps_between(begin, finish, stride, start, end)) + 1
    check(0 <= count < 1 << 63, "invalid size, possible overflow?")
    return count


@op("aten::range.step")
def range_by_steps(start: Scalar, end: Scalar, step: Scalar = 1, *, options: TensorOptions) -> Tensor:
    """Numbers from ``start`` to ``end``, which is among them where steps lead to it; of the default dtype."""
    ...


@range_by_steps.kernel("CompositeExplicitAutograd")
def range_by_steps_kernel(start, end, step, dtype, layout, device, pin_memory):
    chosen = dtype or get_default_dtype()
    count = size_of(start, end, step, chosen)
    made = empty([count], dtype=chosen, layout=layout, device=device, pin_memory=pin_memory)
    return fill_range(made, start, step)


@range_by_steps.overload("")
def inclusive_range(start: Scalar, end: Scalar, *, options: TensorOptions) -> Tensor:
    """Numbers from ``start`` to ``end``, 1 apart."""
    ...


@inclusive_range.kernel("CompositeExplicitAutograd")
def inclusive_range_kernel(start, end, dtype, layout, device, pin_memory):
    return range_by_steps_kernel(start, end, 1, dtype, layout, device, pin_memory)


@range_by_steps.overload("out_", kernel="CompositeExplicitAutograd")
def range_into(start: Scalar, end: Scalar, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """Writes the numbers into ``out``, which is resized if it has another number of elements."""
    return range_by_steps_into_kernel(start, end, 1, out)


@range_by_steps.overload("out", cpp_no_default_args=["step"])
def range_by_steps_into(
    start: Scalar, end: Scalar, step: Scalar = 1, *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Writes the numbers into ``out``, which is resized if it has another number of elements."""
    ...


@range_by_steps_into.kernel
def range_by_steps_into_kernel(start, end, step, out):
    count = size_of(start, end, step, out.dtype)
    if out.numel() != count:
        give_size(out, (count,))
    return fill_range(out, start, step)
