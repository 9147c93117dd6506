"""The printed part of scans and rows: structures with the scalar functions of a monoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opdsl.backends.cuda.storage import VALUE_TYPES, loaded_type, stored_type

if TYPE_CHECKING:
    from opdsl.kernels.calls import OperandSpec, Scanning
    from opdsl.scalar.graph import Number, TypedGraph

__all__ = ["fingerprint", "finished", "fold_structure", "monoid_members"]


def fingerprint(scanning: Scanning) -> str:
    """What determines the printed functions."""
    graphs = (scanning.lift, scanning.combine, scanning.finish)
    # Graphs of different types may start from equal numbers, which are printed by type.
    init = " ".join(f"{type(each).__name__}:{each!r}" for each in scanning.init)
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
    scanning: Scanning, source: OperandSpec, outputs: Sequence[OperandSpec], finish: Sequence[str]
) -> str:
    """The structure ``Fold`` and the functions that it calls.

    Args:
        scanning: the monoid.
        source: the input.
        outputs: in the order of the results.
        finish: members that make results of accumulators and store them.
    """
    from opdsl.backends.cuda.printer import function_source

    graphs = {"lift": scanning.lift, "combine": scanning.combine, "finish": scanning.finish}
    given = [
        f"convert<{VALUE_TYPES[scanning.lift.parameters[0][1]]}>(element)",
        *["index"][: len(scanning.lift.parameters) - 1],
        *(f"made.a{at}" for at in range(len(scanning.init))),
    ]
    lines = [
        *(function_source(graph, f"{name}_function") for name, graph in graphs.items()),
        "struct Fold {",
        *monoid_members(scanning.init, scanning.combine, "combine_function"),
        *(f"    {stored_type(spec.dtype)}* output{at};" for at, spec in enumerate(outputs)),
        f"    static constexpr int operands = {1 + len(outputs)};",
        f"    __device__ Accumulators lift({loaded_type(source.dtype)} element, long long index) const {{",
        "        Accumulators made;",
        f"        lift_function({', '.join(given)});",
        "        return made;",
        "    }",
        *finish,
        "};",
    ]
    return "\n".join(lines)


def finished(scanning: Scanning, found: str, outputs: Sequence[OperandSpec], places: Sequence[str]) -> list[str]:
    """The statements that make results of accumulators and store them.

    Args:
        scanning: the monoid.
        found: how the accumulators are spelled.
        outputs: in the order of the results.
        places: how each one's element is spelled.
    """
    results = [f"result{at}" for at in range(len(outputs))]
    given = [*(f"{found}.a{at}" for at in range(len(scanning.init))), *results]
    return [
        *(f"{VALUE_TYPES[kind]} result{at};" for at, kind in enumerate(scanning.finish.result_types)),
        f"finish_function({', '.join(given)});",
        *(
            f"store({index}, convert<{loaded_type(spec.dtype)}>({result}));"
            for spec, index, result in zip(outputs, places, results, strict=True)
        ),
    ]
