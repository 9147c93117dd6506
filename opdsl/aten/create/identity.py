"""Matrices with ones on the diagonal."""

from __future__ import annotations

from opdsl.aten.create.factories import give_size, zeros
from opdsl.declare import Overload, op, traceable
from opdsl.kernels import check, fill_
from opdsl.runtime import Tensor, make_view
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt, TensorOptions


def require_rows_and_columns(n: int, m: int) -> None:
    """That there are not less than none.

    Raises:
        ShapeError: there are.
    """
    check(n >= 0, f"n must be greater or equal to 0, got {n}")
    check(m >= 0, f"m must be greater or equal to 0, got {m}")


def with_ones(n: int, m: int, options: TensorOptions) -> Tensor:
    """A new matrix with ones on its diagonal."""
    require_rows_and_columns(n, m)
    made = zeros((n, m), **options)
    made.diagonal().fill_(1)
    return made


@op(
    "aten::eye.m",
    kernel="CompositeExplicitAutograd",
    overloads={"": Overload("The unit matrix.", fixed={"m": None}), "m": Overload()},
)
@traceable
def eye(n: SymInt, m: SymInt, *, options: TensorOptions) -> Tensor:
    """A matrix of ``n`` rows and ``m`` columns with ones on its diagonal and zeros elsewhere."""
    return with_ones(n, n if m is None else m, options)


def write_ones(out: Tensor, n: int, m: int) -> Tensor:
    """``with_ones`` into a given tensor."""
    require_rows_and_columns(n, m)
    give_size(out, (n, m))
    fill_(out, 0)
    if out.device.type != "meta":
        fill_(make_view(out, (min(n, m),), (sum(out.stride()),)), 1)
    return out


@eye.overload(
    "m_out",
    kernel=True,
    overloads={"out": Overload("The unit matrix into a given tensor.", fixed={"m": None}), "m_out": Overload()},
)
def eye_out(n: SymInt, m: SymInt, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]:
    """``eye`` into a given tensor."""
    return write_ones(out, n, n if m is None else m)
