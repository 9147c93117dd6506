"""Loops of matrix products."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.kernels.loops.making import Loops, Maker, around, identity, pairwise, places
from opdsl.kernels.loops.model import Compute, Fold, Load, Store
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.types import BOOL, ScalarType

if TYPE_CHECKING:
    from opdsl.kernels.calls import MatrixLayout, ProductCall
    from opdsl.scalar.graph import TypedGraph

__all__ = ["matrix_product"]


def matrix_product(call: ProductCall, kind: ScalarType, *, reads_out: bool) -> Loops:
    """Build the loops of ``Compiler.product``.

    Args:
        call: sizes and memory layout of the matrices.
        kind: the computation type.
        reads_out: whether ``beta`` is not 0.
    """
    from opdsl.kernels.calls import OperandSpec

    maker = Maker("product")
    batch, row, column = maker.ranges("i", (call.batch, call.rows, call.columns))
    (inner,) = maker.ranges("k", (call.inner,))

    def spec(form: MatrixLayout) -> OperandSpec:
        return OperandSpec(call.dtype, tuple(number * call.dtype.itemsize for number in form))

    first = maker.array("a", spec(call.first), (batch, row, inner))
    second = maker.array("b", spec(call.second), (batch, inner, column))
    alpha, beta = maker.number("alpha", kind), maker.number("beta", kind)
    out = maker.array("out", spec(call.out), (batch, row, column))
    is_bool = kind.category == BOOL
    fold = Fold(
        ("sum",),
        (0,),
        pairwise(("bitwise_or" if is_bool else "add",), (kind,)),
        (inner,),
        (
            Load("x", first, places((batch, row, inner)), kind),
            Load("y", second, places((batch, inner, column)), kind),
            Compute(("xy",), pairwise(("bitwise_and" if is_bool else "multiply",), (kind,)), ("x", "y")),
        ),
        ("xy",),
    )
    index = places((batch, row, column))
    there = (Load("there", out, index, kind),) if reads_out else ()
    operands = ("sum", "alpha", *(("there", "beta") if reads_out else ()))
    compute = Compute(("made",), _scaled(kind, reads_out), operands)
    assert alpha and beta
    return maker.finish(around((batch, row, column), [fold, *there, compute, Store(out, index, "made")]))


@functools.cache
def _scaled(kind: ScalarType, reads_out: bool) -> TypedGraph:
    """Build the graph: a sum, alpha and, if ``reads_out``, the old output, beta -> sum * alpha (+ output * beta)."""
    if kind.category == BOOL:
        return identity((kind,) * (4 if reads_out else 2))
    builder = GraphBuilder()
    names = ("total", "alpha", "there", "beta")[: 4 if reads_out else 2]
    parameters = [builder.parameter(name, kind) for name in names]
    terms = [
        builder.node("multiply", (parameters[at], parameters[at + 1]), kind) for at in range(0, len(parameters), 2)
    ]
    reduce = functools.reduce(lambda one, other: builder.node("add", (one, other), kind), terms)
    return builder.finish("scaled", [reduce])
