"""The printed part of reductions and scans: a structure with the scalar functions of a monoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, number_type, stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, OperandSpec, Scanning
    from opdsl.scalar.graph import Number, TypedGraph
    from opdsl.scalar.types import ScalarType

__all__ = ["fingerprint", "fold_structure", "monoid_members"]


def fingerprint(folding: Folding | Scanning) -> str:
    """What determines the printed functions."""
    graphs = (folding.lift, folding.combine, folding.finish)
    # Graphs of different types may start from equal numbers, which are printed by type.
    init = " ".join(f"{type(each).__name__}:{each!r}" for each in folding.init)
    return f"{' '.join(graph.fingerprint for graph in graphs)} {init}"


def monoid_members(init: Sequence[Number], combine: TypedGraph, function: str) -> list[str]:
    """Accumulators, ``none`` and ``combine``, as members of a structure.

    Args:
        init: the accumulators of no elements.
        combine: the graph.
        function: the name of the printed function.
    """
    from opdsl.backends.cuda.printer import constant_text

    kinds = combine.result_types
    fields = [f"a{at}" for at in range(len(kinds))]
    values = ", ".join(constant_text(value, kind) for value, kind in zip(init, kinds, strict=True))
    given = [f"{side}.{field}" for side in ("first", "later") for field in fields]
    made = [f"made.{field}" for field in fields]
    declared = " ".join(f"{VALUE_TYPES[kind]} {field};" for kind, field in zip(kinds, fields, strict=True))
    return [
        "    struct Accumulators {",
        f"        {declared}",
        "    };",
        f"    static __device__ Accumulators none() {{ return {{{values}}}; }}",
        "    static __device__ Accumulators combine(const Accumulators& first, const Accumulators& later) {",
        "        Accumulators made;",
        f"        {function}({', '.join([*given, *made])});",
        "        return made;",
        "    }",
    ]


def fold_structure(
    folding: Folding | Scanning,
    source: OperandSpec,
    outputs: Sequence[OperandSpec],
    *,
    with_index: bool,
    with_count: bool,
    lifted_numbers: Sequence[int] = (),
) -> str:
    """The structure ``Fold`` and the functions that it calls.

    Args:
        folding: the monoid.
        source: the input.
        outputs: in the order of the results.
        with_index: whether ``lift`` takes the index.
        with_count: whether ``finish`` takes the number of elements, and numbers after it.
        lifted_numbers: which of these ``lift`` takes too.
    """
    from opdsl.backends.cuda.printer import function_source

    lift, combine, finish = folding.lift, folding.combine, folding.finish
    size = len(combine.result_types)
    numbers = [kind for _, kind in finish.parameters[size + 1 :]] if with_count else []
    lines = [
        *(function_source(each, f"{name}_function") for name, each in _named(folding)),
        "struct Fold {",
        *monoid_members(folding.init, combine, "combine_function"),
        *(f"    {number_type(kind)} number{at};" for at, kind in enumerate(numbers)),
        *(f"    {stored_type(spec.dtype)}* output{at};" for at, spec in enumerate(outputs)),
        f"    static constexpr int operands = {1 + len(outputs)};",
        *_lift(lift, source, size, [numbers[at] for at in lifted_numbers], lifted_numbers, with_index=with_index),
        *_finish(finish, outputs, size, numbers, with_count=with_count),
        "};",
    ]
    return "\n".join(lines)


def _named(folding: Folding | Scanning) -> tuple[tuple[str, TypedGraph], ...]:
    return ("lift", folding.lift), ("combine", folding.combine), ("finish", folding.finish)


def _lift(
    lift: TypedGraph,
    source: OperandSpec,
    size: int,
    kinds: Sequence[ScalarType],
    numbers: Sequence[int],
    *,
    with_index: bool,
) -> list[str]:
    given = [
        f"convert<{VALUE_TYPES[lift.parameters[0][1]]}>(element)",
        *(["index"] if with_index else []),
        *(f"convert<{VALUE_TYPES[kind]}>(number{at})" for kind, at in zip(kinds, numbers, strict=True)),
        *(f"made.a{at}" for at in range(size)),
    ]
    return [
        f"    __device__ Accumulators lift({loaded_type(source.dtype)} element, long long index) const {{",
        "        Accumulators made;",
        f"        lift_function({', '.join(given)});",
        "        return made;",
        "    }",
    ]


def _finish(
    finish: TypedGraph, outputs: Sequence[OperandSpec], size: int, numbers: Sequence[ScalarType], *, with_count: bool
) -> list[str]:
    results = [f"result{at}" for at in range(len(outputs))]
    given = [
        *(f"found.a{at}" for at in range(size)),
        *(["count"] if with_count else []),
        *(f"convert<{VALUE_TYPES[kind]}>(number{at})" for at, kind in enumerate(numbers)),
        *results,
    ]
    stores = [
        f"        store(element<{stored_type(spec.dtype)}>(output{at}, offsets[{at + 1}]), "
        f"convert<{loaded_type(spec.dtype)}>(result{at}));"
        for at, spec in enumerate(outputs)
    ]
    count = "long long count, " if with_count else ""
    return [
        f"    __device__ void finish(const Accumulators& found, {count}const long long* offsets) const {{",
        *(f"        {VALUE_TYPES[kind]} result{at};" for at, kind in enumerate(finish.result_types)),
        f"        finish_function({', '.join(given)});",
        *stores,
        "    }",
    ]
