"""Matrices with ones on the diagonal."""

from __future__ import annotations

from opdsl.aten.create.factories import give_size, zeros
from opdsl.declare import op, traceable
from opdsl.kernels import check, fill_
from opdsl.runtime import Tensor, make_view
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt, TensorOptions


@op("aten::eye")
def eye(
    n: SymInt,
    *,
    options: TensorOptions,
) -> Tensor:
    """The unit matrix."""
    ...


def require_rows_and_columns(n: int, m: int) -> None:
    """That there are not less than none.

    Raises:
        ShapeError: there are.
    """
    check(n >= 0, f"n must be greater or equal to 0, got {n}")
    check(m >= 0, f"m must be greater or equal to 0, got {m}")


@eye.kernel("CompositeExplicitAutograd")
@traceable
def eye_kernel(n, dtype, layout, device, pin_memory):
    return eye_rows_kernel(n, n, dtype, layout, device, pin_memory)


@eye.overload("m")
def eye_rows(
    n: SymInt,
    m: SymInt,
    *,
    options: TensorOptions,
) -> Tensor:
    """A matrix of ``n`` rows and ``m`` columns with ones on its diagonal and zeros elsewhere."""
    ...


@eye_rows.kernel("CompositeExplicitAutograd")
@traceable
def eye_rows_kernel(n, m, dtype, layout, device, pin_memory):
    require_rows_and_columns(n, m)
    made = zeros((n, m), dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    made.diagonal().fill_(1)
    return made


@eye.overload("out", kernel=True)
def eye_out(n: SymInt, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """The unit matrix into a given tensor."""
    return eye_rows_out_kernel(n, n, out)


@eye.overload("m_out")
def eye_rows_out(n: SymInt, m: SymInt, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """``eye`` into a given tensor."""
    ...


@eye_rows_out.kernel
def eye_rows_out_kernel(n, m, out):
    require_rows_and_columns(n, m)
    give_size(out, (n, m))
    fill_(out, 0)
    if out.device.type != "meta":
        fill_(make_view(out, (min(n, m),), (sum(out.stride()),)), 1)
    return out
