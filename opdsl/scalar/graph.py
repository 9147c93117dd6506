"""Typed scalar graphs: the nodes that a scalar function computes for given types."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import ScalarType

__all__ = ["Loop", "Node", "Number", "TypedGraph", "constant_key", "show"]

Number: TypeAlias = bool | int | float | complex


class Node(NamedTuple):
    """Operation of a typed graph.

    op: a name in OPERATIONS, or "parameter", "constant", "cast", "loop", "item".
    arguments: positions of earlier nodes. Of a loop: whether there is a first iteration, then the parameters of its
        body; of an item (the final value of something that a loop carries): the loop.
    type: type of the result; of a loop bool.
    value: a parameter's name, a constant's number, a loop's ``Loop``, an item's index; None otherwise.
    """

    op: str
    arguments: tuple[int, ...]
    type: ScalarType
    value: Number | str | Loop | None = None


class Loop(NamedTuple):
    """Loop of a scalar graph.

    body: one iteration. Its parameters are the carried values, then the loop invariants; its results are whether there
        is another iteration, then the carried values for it.
    most: the largest number of iterations; None if the body ends the loop.
    """

    body: TypedGraph
    most: int | None

    @property
    def carried(self) -> tuple[ScalarType, ...]:
        """Return the types of the carried values."""
        return self.body.result_types[1:]


class TypedGraph:
    """Scalar function for given types: immutable nodes, each after its arguments, the parameters first.

    name: the function's name, which is shown.
    nodes: the nodes.
    results: positions of the results.
    parameters: name and type of each parameter, in order.
    result_types: the type of each result.
    """

    def __init__(self, name: str, nodes: tuple[Node, ...], results: tuple[int, ...]) -> None:
        self.name = name
        self.nodes = nodes
        self.results = results
        self.parameters = tuple([(str(node.value), node.type) for node in nodes if node.op == "parameter"])
        self.result_types = tuple([nodes[position].type for position in results])

    @property
    def fingerprint(self) -> str:
        """Return a stable hash of the computation; graphs that differ only in names have equal ones."""
        # functools.cached_property of Python 3.11 has a lock, which may be held forever in a forked process.
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
        return hash(self.__dict__.get("_fingerprint") or self.fingerprint)


def _fingerprint(graph: TypedGraph) -> str:
    import hashlib  # imported late: slow to import, and needed only for compilation

    rows = [
        f"{node.op}{node.arguments}{node.type.value}{constant_key(node.value) if node.op != 'parameter' else ''}"
        for node in graph.nodes
    ]
    text = f"{_revision()}\n" + "\n".join(rows) + f"\n{graph.results}"
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


@cache
def _revision() -> str:
    """Return a digest of the source of this package, so that cached code of former formulas is not used for edited
    ones.
    """
    import hashlib

    here = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted([*here.glob("*.py"), *(here / "mathematics").glob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def constant_key(value: object) -> str:
    """Return a node's value as a text that differs for different values, also for -0.0 and 0.0."""
    if isinstance(value, Loop):
        return f"{value.body.fingerprint}|{value.most}"
    if isinstance(value, complex):
        return f"{value.real.hex()}|{value.imag.hex()}"
    return value.hex() if isinstance(value, float) else repr(value)


def show(graph: TypedGraph) -> str:
    """Return the graph as text in the form of a program: one line for each node, with constants inserted.

    graph: the graph.
    Returns: several lines without a final newline.
    """
    names = _names(graph)
    parameters = ", ".join(f"{parameter}: {kind.value}" for parameter, kind in graph.parameters)
    results = ", ".join(kind.value for kind in graph.result_types)
    lines = [f"def {graph.name}({parameters}) -> {results}:"]
    for position, node in enumerate(graph.nodes):
        if isinstance(node.value, Loop):
            lines.extend(f"    {line}" for line in show(node.value.body).splitlines())
        if node.op not in ("parameter", "constant"):
            lines.append(f"    {names[position]}: {node.type.value} = {_expression(node, names)}")
    return "\n".join([*lines, "    return " + ", ".join(names[at] for at in graph.results)])


def _names(graph: TypedGraph) -> list[str]:
    taken = {parameter for parameter, _ in graph.parameters}
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
    if isinstance(node.value, Loop):
        most = "" if node.value.most is None else f", most={node.value.most}"
        return f"while({', '.join([node.value.body.name, *arguments])}{most})"
    if node.op == "item":
        return f"{arguments[0]}[{node.value}]"
    symbol = OPERATIONS[node.op].symbol
    if symbol.isidentifier():
        return f"{symbol}({', '.join(arguments)})"
    return f"{symbol}{arguments[0]}" if len(arguments) == 1 else f" {symbol} ".join(arguments)
