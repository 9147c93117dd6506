"""Loops of reductions, scans, recurrences and matrix products."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.kernels.loops.making import Loops, Maker, around, identity, pairwise, places, product
from opdsl.kernels.loops.model import Compute, Fold, Load, Range, Scan, Statement, Store
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.types import BOOL, ScalarType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opdsl.kernels.calls import (
        Folding,
        MatrixLayout,
        OperandSpec,
        ProductCall,
        Recurring,
        ReductionCall,
        RowCall,
        Scanning,
    )
    from opdsl.scalar.graph import TypedGraph

__all__ = ["matrix_product", "recurrence", "reduction", "scan"]


def reduction(folding: Folding, call: ReductionCall) -> Loops:
    """Build the loops of ``Compiler.reduction``.

    Args:
        folding: the monoid.
        call: sizes and strides of the operands.
    """
    maker = Maker("reduction")
    kept, folded = maker.ranges("i", call.kept), maker.ranges("j", call.reduced)
    count, elements = len(folding.init), (*kept, *folded)
    sources = [maker.array(f"a{k}", spec, elements) for k, spec in enumerate(call.inputs)]
    kinds = [scalar_type for _, scalar_type in folding.finish.parameters[count + 1 :]]
    numbers = [maker.number(f"x{k}", kind) for k, kind in enumerate(kinds)]
    arguments = [f"element{k}" for k in range(len(sources))]
    body: list[Statement] = [
        Load(name, source, places(elements), kind)
        for name, source, (_, kind) in zip(arguments, sources, folding.lift.parameters, strict=False)
    ]
    if folding.with_index:
        steps = [product(call.reduced[k + 1 :]) for k in range(len(call.reduced))]
        arguments.append(maker.linear("index", folded, steps, None, ScalarType.INT64, body))
    arguments += [numbers[at] for at in folding.lifted_numbers]
    values, texts = tuple(f"v{k}" for k in range(count)), tuple(f"acc{k}" for k in range(count))
    body.append(Compute(values, folding.lift, tuple(arguments)))
    fold = Fold(texts, folding.init, folding.combine, folded, tuple(body), values, in_order=folding.in_order)
    total = maker.size("count", product(call.reduced))
    results = tuple(f"y{k}" for k in range(len(call.outputs)))
    finish = Compute(results, folding.finish, (*texts, total, *numbers))
    stores = _stores(maker, call.outputs, results, kept)
    return maker.finish(around(kept, [fold, finish, *stores]))


def scan(scanning: Scanning, call: RowCall) -> Loops:
    """Build the loops of ``Compiler.scan``.

    Args:
        scanning: the monoid.
        call: sizes and strides of the operands.
    """
    maker = Maker("scan")
    kept, (along,) = maker.ranges("i", call.kept), maker.ranges("j", (call.length,))
    count = len(scanning.init)
    source = maker.array("a", call.inputs[0], (*kept, along))
    values, texts = tuple(f"v{k}" for k in range(count)), tuple(f"acc{k}" for k in range(count))
    lifted = ("element", along[0])[: len(scanning.lift.parameters)]
    body = (
        Load("element", source, places((*kept, along)), scanning.lift.parameters[0][1]),
        Compute(values, scanning.lift, lifted),
    )
    results = tuple(f"y{k}" for k in range(len(call.outputs)))
    stores = _stores(maker, call.outputs, results, (*kept, along))
    after = (Compute(results, scanning.finish, texts), *stores)
    return maker.finish(
        around(kept, [Scan(texts, scanning.init, scanning.combine, along, body, values, (), after, True)])
    )


def recurrence(recurring: Recurring, call: RowCall) -> Loops:
    """Build the loops of ``Compiler.recurrence``.

    Args:
        recurring: the step function.
        call: sizes and strides of the operands.
    """
    maker = Maker("recurrence")
    kept, (along,) = maker.ranges("i", call.kept), maker.ranges("j", (call.length,))
    count = len(recurring.init)
    kinds = [kind for _, kind in recurring.step.parameters[count:]]
    body: list[Statement] = []
    values = []
    for k, (spec, kind) in enumerate(zip(call.inputs, kinds, strict=True)):
        values.append(f"x{k}")
        if spec.strides is None:
            maker.number(f"x{k}", kind)
        else:
            source = maker.array(f"a{k}", spec, (*kept, along))
            body.append(Load(f"x{k}", source, places((*kept, along)), kind))
    carried = tuple(f"carried{k}" for k in range(count))
    results = tuple(f"y{k}" for k in range(len(call.outputs)))
    after = tuple(_stores(maker, call.outputs, results, (*kept, along)))
    step = Scan(
        carried,
        recurring.init,
        recurring.step,
        along,
        tuple(body),
        tuple(values),
        results,
        after,
        False,
        recurring.is_reverse,
    )
    return maker.finish(around(kept, [step]))


def _stores(
    maker: Maker, specs: Sequence[OperandSpec], values: Sequence[str], ranges: Sequence[Range]
) -> list[Statement]:
    return [
        Store(maker.array(f"out{k}", spec, ranges), places(ranges), value)
        for k, (spec, value) in enumerate(zip(specs, values, strict=True))
    ]


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
