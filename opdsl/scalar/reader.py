"""Tracer of Python scalar functions: runs a function's syntax tree on symbols, and records a graph.

Values that are known while tracing (literals, constants of the module and the closure, loop counters) stay Python
values, and Python computes with them; values that depend on a parameter become nodes. For a branch on a known value
only the side taken is traced; for a branch on a parameter both are, and the results are selected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opdsl.scalar.calls import parameter_defaults, parameter_names, plain_function
from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.operations import OF_ROWS
from opdsl.scalar.source import FunctionSource, function_source
from opdsl.scalar.statements import run_function
from opdsl.scalar.symbols import Choice, Graph, Optional, describe, is_value
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode

__all__ = ["read"]


def read(
    function: Callable[..., Any],
    *,
    parameters: Sequence[str] | None = None,
    constants: Mapping[str, object] | None = None,
    rows: bool = False,
    optional: Mapping[str, Choice] | None = None,
) -> ScalarFunction:
    """Trace a Python scalar function once, and return its untyped graph.

    function: a function (or lambda) in the scalar subset of Python, or an earlier result of ``read``.
    parameters: the parameters that stay parameters; the others need a default, which becomes a constant. All by
        default.
    constants: values for parameters that are known when tracing (a mode as a string, say); they stop being parameters.
    rows: whether the function may fold rows with ``row_sum`` and the like.
    optional: parameters that may be None, each with the ``Choice`` that records comparisons with None.
    Returns: the untyped graph; type it with ``specialise``.
    Raises: ScalarFunctionError, pointing at the text, for everything that a scalar graph cannot contain.

    >>> from opdsl.scalar.examples import smooth_relu
    >>> print(read(smooth_relu).specialise({"x": "float32", "beta": "float32"}))
    def smooth_relu(x: float32, beta: float32) -> float32:
        t0: float32 = beta * x
        t1: float32 = max(t0, 0.0)
        t2: float32 = abs(t0)
        t3: float32 = -t2
        t4: float32 = exp(t3)
        t5: float32 = log1p(t4)
        t6: float32 = t1 + t5
        t7: float32 = t6 / beta
        return t7
    """
    if isinstance(function, ScalarFunction) and parameters is None and constants is None:
        return function
    source = function_source(plain_function(function) or function)
    known = dict(constants or {})
    names = parameter_names(source)
    _check_names(source, names, [*(parameters or ()), *known])
    defaults = parameter_defaults(source.function)
    kept = tuple(name for name in (parameters or names) if name not in known)
    graph = Graph(has_rows=rows)
    values: dict[str, Any] = {}
    for name in kept:
        number = graph.parameter(name, Place(source, source.tree))
        values[name] = Optional(number, optional[name]) if optional and name in optional else number
    for name in names:
        if name not in values:
            values[name] = known[name] if name in known else _default(source, defaults, name)
    results = _results(graph, source, run_function(graph, source, values, 0))
    _check_folds(graph.nodes, graph.places, "Write a formula, which folds: x.sum(dim)." if not rows else None)
    defaults = {name: value for name, value in defaults.items() if name in kept}
    return ScalarFunction(source.name, kept, defaults, tuple(graph.nodes), tuple(graph.places), results, source)


def _check_names(source: FunctionSource, names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            raise source.error(source.tree, f"it has no parameter {name!r}", f"It has: {', '.join(names)}.")


def _check_folds(nodes: Sequence[UntypedNode], places: Sequence[Place], advice: str | None) -> None:
    """Raise an error for folds outside of row functions or inside a loop; ``advice`` is None if folds are
    allowed.
    """
    for node, index in zip(nodes, places, strict=True):
        if isinstance(node.value, UntypedLoop):
            _check_folds(node.value.nodes, node.value.places, advice or "Fold before the loop.")
        if node.op in OF_ROWS and advice is not None:
            problem = f"{node.op} folds a row, but this function gets single elements"
            raise index.source.error(index.node, problem, advice)


def _default(source: FunctionSource, defaults: Mapping[str, object], name: str) -> object:
    if name not in defaults:
        raise source.error(
            source.tree.args, f"parameter {name!r} needs a value or a default here", "Give it a default."
        )
    return defaults[name]


def _results(graph: Graph, source: FunctionSource, returned: Any) -> tuple[int, ...]:
    values = returned if isinstance(returned, tuple) else (returned,)
    place = Place(source, source.tree)
    for value in values:
        if not is_value(value):
            raise source.error(
                place.node, f"it returns {describe(value)}, not a number", "Return a number, or several."
            )
    if not values:
        raise source.error(place.node, "it returns nothing", "Return a number, or several.")
    return tuple(graph.position(value, place) for value in values)
