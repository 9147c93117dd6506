"""The typed scalar graph: what a scalar function computes for given types."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import ScalarType

__all__ = ["Node", "Number", "TypedGraph", "constant_key", "show"]

Number: TypeAlias = bool | int | float | complex


class Node(NamedTuple):
    """One operation.

    op: a name in OPERATIONS, or "parameter", "constant", "cast".
    arguments: positions of earlier nodes.
    type: type of the result.
    value: a parameter's name, a constant's number; None otherwise.
    """

    op: str
    arguments: tuple[int, ...]
    type: ScalarType
    value: Number | str | None = None


class TypedGraph:
    """A scalar function for given types: immutable nodes, each after its arguments, the parameters first.

    name: the function's name, for showing; nodes; results: positions of the results.
    """

    def __init__(self, name: str, nodes: tuple[Node, ...], results: tuple[int, ...]) -> None:
        self.name = name
        self.nodes = nodes
        self.results = results

    @property
    def parameters(self) -> tuple[tuple[str, ScalarType], ...]:
        """Name and type of each parameter, in order."""
        return tuple((str(node.value), node.type) for node in self.nodes if node.op == "parameter")

    @property
    def result_types(self) -> tuple[ScalarType, ...]:
        """Type of each result."""
        return tuple(self.nodes[position].type for position in self.results)

    @property
    def fingerprint(self) -> str:
        """A stable hash of what is computed: equal graphs have it in common whatever their names are."""
        # functools.cached_property of Python 3.11 has a lock, which a forked process may find held.
        known: str | None = self.__dict__.get("_fingerprint")
        if known is None:
            known = self.__dict__["_fingerprint"] = _fingerprint(self)
        return known

    def __str__(self) -> str:
        return show(self)

    def __repr__(self) -> str:
        return f"<TypedGraph {self.name}: {len(self.nodes)} nodes>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedGraph) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def _fingerprint(graph: TypedGraph) -> str:
    import hashlib  # heavy; wanted first when something is compiled

    rows = [
        f"{node.op}{node.arguments}{node.type.value}{constant_key(node.value) if node.op == 'constant' else ''}"
        for node in graph.nodes
    ]
    text = f"{_revision()}\n" + "\n".join(rows) + f"\n{graph.results}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def _revision() -> str:
    """A digest of the source that makes and lowers graphs: code of former formulas is not taken for the present."""
    import hashlib

    here = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted([*here.glob("*.py"), *(here / "mathematics").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def constant_key(value: Number | str | None) -> str:
    """A constant as text that tells apart what is different, -0.0 from 0.0 too."""
    if isinstance(value, complex):
        return f"{value.real.hex()}|{value.imag.hex()}"
    return value.hex() if isinstance(value, float) else repr(value)


def show(graph: TypedGraph) -> str:
    """The graph as a program: one line for each node, constants in place.

    graph: what to show.
    Returns: several lines without a final newline.
    """
    names = _names(graph)
    parameters = ", ".join(f"{name}: {kind.value}" for name, kind in graph.parameters)
    results = ", ".join(kind.value for kind in graph.result_types)
    lines = [f"def {graph.name}({parameters}) -> {results}:"]
    for position, node in enumerate(graph.nodes):
        if node.op not in ("parameter", "constant"):
            lines.append(f"    {names[position]}: {node.type.value} = {_expression(node, names)}")
    return "\n".join([*lines, "    return " + ", ".join(names[at] for at in graph.results)])


def _names(graph: TypedGraph) -> list[str]:
    taken = {name for name, _ in graph.parameters}
    names: list[str] = []
    count = 0
    for node in graph.nodes:
        if node.op in ("parameter", "constant"):
            names.append(str(node.value))
            continue
        while f"t{count}" in taken:
            count += 1
        names.append(f"t{count}")
        count += 1
    return names


def _expression(node: Node, names: list[str]) -> str:
    arguments = [names[at] for at in node.arguments]
    if node.op == "cast":
        return f"{node.type.value}({arguments[0]})"
    if node.op == "select":
        return f"{arguments[1]} if {arguments[0]} else {arguments[2]}"
    symbol = OPERATIONS[node.op].symbol
    if symbol.isidentifier():
        return f"{symbol}({', '.join(arguments)})"
    return f"{symbol}{arguments[0]}" if len(arguments) == 1 else f" {symbol} ".join(arguments)
