"""``range``: numbers at equal distances up to and including the end."""

from __future__ import annotations

from opdsl.aten.create.factories import empty, give_size
from opdsl.aten.create.ranges import fill_range, require_range, steps_between
from opdsl.declare import Overload, op
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


@op(
    "aten::range.step",
    kernel="CompositeExplicitAutograd",
    overloads={"": Overload("Numbers from ``start`` to ``end``, 1 apart.", fixed={"step": 1})},
)
def inclusive_range(start: Scalar, end: Scalar, step: Scalar = 1, *, options: TensorOptions) -> Tensor:
    """Numbers from ``start`` to ``end``, which is among them where steps lead to it; of the default dtype."""
    chosen = options.dtype or get_default_dtype()
    count = size_of(start, end, step, chosen)
    return fill_range(empty([count], **options.replace(dtype=chosen)), start, step)


@inclusive_range.overload(
    "out",
    kernel=True,
    overloads={"out_": Overload(fixed={"step": 1}, kernel="CompositeExplicitAutograd"), "out": Overload()},
    cpp_no_default_args=["step"],
)
def inclusive_range_out(
    start: Scalar, end: Scalar, step: Scalar = 1, *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Writes the numbers into ``out``, which is resized if it has another number of elements."""
    count = size_of(start, end, step, out.dtype)
    if out.numel() != count:
        give_size(out, (count,))
    return fill_range(out, start, step)
