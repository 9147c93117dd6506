"""Scalar functions as read from Python: untyped graphs, which are typed for each combination of operand types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opdsl.errors import ScalarFunctionError
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.operations import OPERATIONS, WITHOUT_DERIVATIVE
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.specialise import specialise
from opdsl.scalar.types import ScalarType
from opdsl.scalar.untyped import Place, UntypedNode

__all__ = ["ScalarFunction"]


class ScalarFunction:
    """Scalar function that ``read`` has traced from Python: an untyped graph.

    name: the function's name.
    parameters: names of the parameters, in order.
    defaults: defaults of parameters; numbers (or None).
    nodes, places: the untyped graph, and the position of each node in the source text.
    results: positions of the results in the graph.
    source: the Python function's source.
    """

    def __init__(
        self,
        name: str,
        parameters: tuple[str, ...],
        defaults: Mapping[str, object],
        nodes: tuple[UntypedNode, ...],
        places: tuple[Place, ...],
        results: tuple[int, ...],
        source: FunctionSource,
    ) -> None:
        self.name = name
        self.parameters = parameters
        self.defaults = defaults
        self.nodes = nodes
        self.places = places
        self.results = results
        self.source = source
        self._graphs: dict[object, TypedGraph] = {}

    def specialise(
        self,
        types: Mapping[str, str],
        *,
        results: Sequence[str] | None = None,
        default_float: str = "float32",
        storage: str | None = None,
    ) -> TypedGraph:
        """Type the function for given operand types.

        types: a scalar type for each parameter (extra names are ignored).
        results: types to cast the results to; by default they keep the types that the operations give.
        default_float: the type that integers become where floating point is needed and no parameter has it.
        storage: ``float16`` or ``bfloat16`` if the operands of a float32 computation are stored in that type.
        Returns: the typed, simplified graph; the same object for the same types.
        Raises: ScalarFunctionError if an operation does not exist for the types, or a type is missing.
        """
        key = (tuple([types.get(name) for name in self.parameters]), tuple(results or ()), default_float, storage)
        graph = self._graphs.get(key)
        if graph is None:
            scalar_types = {name: ScalarType(kind) for name, kind in types.items()}
            graph = self._graphs[key] = specialise(self, scalar_types, results, ScalarType(default_float), storage)
        return graph

    def of_results(self, indices: Sequence[int]) -> ScalarFunction:
        """Return the function that computes only some of the results."""
        results = tuple(self.results[at] for at in indices)
        if results == self.results:
            return self
        return ScalarFunction(self.name, self.parameters, self.defaults, self.nodes, self.places, results, self.source)

    def underived(self) -> ScalarFunctionError | None:
        """Return an error that underlines the first operation without a derivative rule, or None if all have one."""
        for node, index in zip(self.nodes, self.places, strict=True):
            if node.op in WITHOUT_DERIVATIVE:
                return index.source.error(
                    index.node,
                    f"{_spoken(node.op)} has no derivative in the language",
                    'Declare one for the operator: @f.derivative("self").',
                )
        return None

    def __repr__(self) -> str:
        return f"<ScalarFunction {self.name}({', '.join(self.parameters)}): {len(self.nodes)} nodes>"


def _spoken(op: str) -> str:
    return (
        "a loop whose number of iterations is known only while it runs"
        if op == "loop"
        else f"`{OPERATIONS[op].symbol}`"
    )
