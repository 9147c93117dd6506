"""The printed part of reductions and scans: a structure with the scalar functions of a monoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, number_type, stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import Folding, OperandSpec, Scanning
    from opdsl.scalar.graph import Number, TypedGraph
    from opdsl.scalar.types import ScalarType

__all__ = ["fingerprint", "finished", "fold_structure", "monoid_members"]


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
    numbers: Sequence[ScalarType],
    finish: Sequence[str],
    *,
    with_index: bool,
    lifted_numbers: Sequence[int] = (),
) -> str:
    """The structure ``Fold`` and the functions that it calls.

    Args:
        folding: the monoid.
        source: the input.
        outputs: in the order of the results.
        numbers: the types in which numbers of the call are computed.
        finish: members that make results of accumulators and store them.
        with_index: whether ``lift`` takes the index.
        lifted_numbers: which numbers it takes.
    """
    from opdsl.backends.cuda.printer import function_source

    graphs = {"lift": folding.lift, "combine": folding.combine, "finish": folding.finish}
    lines = [
        *(function_source(graph, f"{name}_function") for name, graph in graphs.items()),
        "struct Fold {",
        *monoid_members(folding.init, folding.combine, "combine_function"),
        *(f"    {number_type(kind)} number{at};" for at, kind in enumerate(numbers)),
        *(f"    {stored_type(spec.dtype)}* output{at};" for at, spec in enumerate(outputs)),
        f"    static constexpr int operands = {1 + len(outputs)};",
        *_lift(folding, source, [(numbers[at], at) for at in lifted_numbers], with_index=with_index),
        *finish,
        "};",
    ]
    return "\n".join(lines)


def _lift(
    folding: Folding | Scanning, source: OperandSpec, numbers: Sequence[tuple[ScalarType, int]], *, with_index: bool
) -> list[str]:
    given = [
        f"convert<{VALUE_TYPES[folding.lift.parameters[0][1]]}>(element)",
        *(["index"] if with_index else []),
        *(f"convert<{VALUE_TYPES[kind]}>(number{at})" for kind, at in numbers),
        *(f"made.a{at}" for at in range(len(folding.init))),
    ]
    return [
        f"    __device__ Accumulators lift({loaded_type(source.dtype)} element, long long index) const {{",
        "        Accumulators made;",
        f"        lift_function({', '.join(given)});",
        "        return made;",
        "    }",
    ]


def finished(
    folding: Folding | Scanning,
    found: str,
    further: Sequence[str],
    outputs: Sequence[OperandSpec],
    places: Sequence[str],
) -> list[str]:
    """The statements that make results of accumulators and store them.

    Args:
        found: how the accumulators are spelled.
        further: other arguments of ``finish``.
        outputs: in the order of the results.
        places: how each one's element is spelled.
    """
    results = [f"result{at}" for at in range(len(outputs))]
    given = [*(f"{found}.a{at}" for at in range(len(folding.init))), *further, *results]
    return [
        *(f"{VALUE_TYPES[kind]} result{at};" for at, kind in enumerate(folding.finish.result_types)),
        f"finish_function({', '.join(given)});",
        *(
            f"store({index}, convert<{loaded_type(spec.dtype)}>({result}));"
            for spec, index, result in zip(outputs, places, results, strict=True)
        ),
    ]
