"""Adjoints of indexed functions: the gradient of each tensor that a function reads, from the gradients of its
results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opdsl.scalar.derivative import differentiate
from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.graph import constant_key
from opdsl.scalar.indexed import MARGINS, PLACE, SKIP, Access, IndexedFunction, Margin
from opdsl.scalar.untyped import Place, UntypedNode

__all__ = ["adjoint", "unfinished"]


class _Nodes:
    """Untyped graph that is built from nodes of other graphs, sharing equal nodes."""

    def __init__(self) -> None:
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self._known: dict[object, int] = {}

    def add(self, op: str, arguments: tuple[int, ...], value: Any, place: Place) -> int:
        """Add a node, or find an equal one; return its position."""
        key = (op, arguments, type(value), constant_key(value))
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(UntypedNode(op, arguments, value))
            self.places.append(place)
        return self._known[key]

    def parameter(self, name: str, place: Place) -> int:
        """Add a parameter node, and return its position."""
        return self.add("parameter", (), name, place)

    def copied(self, function: ScalarFunction, numbers: Mapping[str, int]) -> list[int]:
        """Copy all nodes of a function, replacing the parameters named in ``numbers`` by existing nodes; return the new
        positions.
        """
        copied: list[int] = []
        for node, place in zip(function.nodes, function.places, strict=True):
            if node.op == "parameter" and node.value in numbers:
                copied.append(numbers[str(node.value)])
            else:
                copied.append(self.add(node.op, tuple(copied[at] for at in node.arguments), node.value, place))
        return copied

    def function(self, like: ScalarFunction, parameters: Sequence[str], results: Sequence[int]) -> ScalarFunction:
        """Return a scalar function of the nodes of this graph."""
        return ScalarFunction(
            f"{like.name}_adjoint",
            tuple(parameters),
            {},
            tuple(self.nodes),
            tuple(self.places),
            tuple(results),
            like.source,
        )


def range_name(index: str) -> str:
    """Return the name of the parameter that holds the size of an index's range."""
    return f"{index}.range"


def adjoint(
    indexed: IndexedFunction, wanted: str, grads: Sequence[str], *, is_complex: bool = False, is_whole: bool = True
) -> IndexedFunction:
    """Return the function that computes the gradient of one tensor from the gradients of the results.

    Each value that was read sends its gradient to the element it was read from. If all reads are at indices alone, the
    gradient is a sum over the other indices; otherwise the values are added at the elements that were read.

    Args:
        indexed: its ``finish`` function, if any, has to be linear in the folded values.
        wanted: the tensor.
        grads: names of the gradients of the results; there is one result if values are added at positions.
        is_complex: whether complex numbers occur.
        is_whole: whether the indices at which the tensor is read cover all of its elements.

    Returns:
        A function that reads the gradients of the results, and those tensors that it needs; for folds to the largest or
        smallest value also ``place``, where that was found.

    Raises:
        ScalarFunctionError: an operation has no derivative; the message underlines it.
    """
    function, nodes = indexed.function, _Nodes()
    place = function.places[0]
    at = [nodes.parameter(index, place) for index in indexed.at]
    over, numbers, found_at, seeding = indexed.over, {}, [], []
    if indexed.fold in ("max", "min"):
        found_at.append(Access(PLACE, PLACE, tuple(at), indexed.leads, None))
        numbers, over = _found(nodes, indexed.over, nodes.parameter(PLACE, place), place), ()
    positions = nodes.copied(function, numbers)
    reads = [read._replace(positions=tuple(positions[at] for at in read.positions)) for read in indexed.reads]
    writes = [write._replace(positions=tuple(positions[at] for at in write.positions)) for write in indexed.writes]
    targets = [read for read in reads if read.array == wanted]
    derivative = differentiate(function, [target.name for target in targets], is_complex=is_complex)
    heads = derivative.parameters[: len(function.results)]
    count = len(heads) if indexed.finish is None else len(indexed.finish.results)
    seeded = [f"{grads[0 if writes else k]}@seed{k}" for k in range(count)]
    given_back = [nodes.parameter(text, place) for text in seeded]
    if indexed.finish is not None:
        given_back = _before_finish(nodes, indexed.finish, len(heads), given_back, is_complex=is_complex)
    seeds = dict(zip(heads, given_back, strict=True))
    if writes:
        seeding += [
            Access(name, grads[0], write.positions, write.leads, _read_margin(write.margin))
            for name, write in zip(seeded, writes, strict=True)
        ]
    else:
        seeding += [Access(name, grads[k], tuple(at), indexed.leads, None) for k, name in enumerate(seeded)]
    copied = nodes.copied(derivative, {**numbers, **seeds})
    sent = [copied[at] for at in derivative.results]
    needed = {str(derivative.nodes[at].value) for at in _parameters_of(derivative)}
    needed |= _needed_by(nodes, [position for access in (*reads, *found_at, *seeding) for position in access.positions])
    kept = [read for read in reads if read.name in needed or read.margin == SKIP]
    read = (*found_at, *kept, *seeding)  # reads that give positions come before the reads that use them
    used = sorted(
        _needed_by(nodes, [*sent, *(position for access in (*read, *targets) for position in access.positions)])
    )
    taken = {access.name for access in (*reads, *read)}
    names = [*indexed.at, *over, *(text for text in used if text not in taken), *(access.name for access in read)]
    own = _own_indices(nodes, targets, (*indexed.at, *over), indexed.leads)
    rest = tuple([name for name in (*indexed.at, *over) if name not in (own or ())])
    if own is not None and is_whole and (own == indexed.at or _is_fold(nodes, read, own, rest)):
        total = sent[0]
        for number in sent[1:]:
            total = nodes.add("add", (total, number), None, place)
        gradient = nodes.function(function, names, [total])
        return IndexedFunction(gradient, own, indexed.leads, rest, read, (), "sum" if rest else "")
    gradient = nodes.function(function, names, sent)
    written = tuple(target._replace(array="out", margin=_written_margin(target.margin)) for target in targets)
    return IndexedFunction(gradient, indexed.at, indexed.leads, over, read, written)


def _own_indices(
    nodes: _Nodes, targets: Sequence[Access], indices: Sequence[str], leads: bool
) -> tuple[str, ...] | None:
    """Return the indices at which all reads of a tensor are, one for each dimension; None if they are at other
    positions.

    Args:
        nodes: the graph of the positions.
        targets: the reads.
        indices: the indices of the function.
        leads: whether the function has leading dimensions.
    """
    # With padding some positions may be out of bounds.
    if (
        len(
            {(target.positions, target.leads, target.margin) for target in targets}
            | {(targets[0].positions, leads, None)}
        )
        > 1
    ):
        return None
    own = [nodes.nodes[at] for at in targets[0].positions]
    names = tuple(
        [
            str(untyped_node.value)
            for untyped_node in own
            if untyped_node.op == "parameter" and untyped_node.value in indices
        ]
    )
    return names if len(names) == len(own) == len(set(names)) else None


def _is_fold(nodes: _Nodes, reads: Sequence[Access], own: Sequence[str], rest: Sequence[str]) -> bool:
    """Return whether a fold is as fast as adding at positions, which checks the bounds for padding only once.

    That is so if one loop, along the last index of the result or the last folded one, passes through whole rows of all
    padded tensors.
    """
    limited = [read for read in reads if read.margin is not None and read.positions]
    known = {read.name: read for read in reads}

    def depends(node: int, index: str) -> bool:
        names = _needed_by(nodes, [node])
        looked = [at for name in names if name in known for at in known[name].positions]
        return index in names or any(depends(at, index) for at in looked)

    def passes(index: str) -> bool:
        def is_index(node: int) -> bool:
            return bool(nodes.nodes[node].op == "parameter" and nodes.nodes[node].value == index)

        return all(
            is_index(access.positions[-1]) and not any(depends(at, index) for at in access.positions[:-1])
            for access in limited
        )

    return not limited or any(passes(index) for index in (*own[-1:], *rest[-1:]))


def _before_finish(
    nodes: _Nodes, finish: ScalarFunction, count: int, grads: Sequence[int], *, is_complex: bool
) -> list[int]:
    """Return the gradients of the folded values, from those of the results of ``finish``.

    Raises:
        ScalarFunctionError: they depend on the folded values.
    """
    result = finish.nodes[finish.results[0]]
    if result.op == "trunc_divide" and finish.nodes[result.arguments[0]].value == finish.parameters[0]:
        # A truncated division is linear except for the rounding, so it is applied to gradients as it is to values.
        copied = nodes.copied(finish, dict(zip(finish.parameters, grads, strict=False)))
        return [copied[finish.results[0]]]
    derivative = differentiate(finish, finish.parameters[:count], is_complex=is_complex)
    for name in finish.parameters[:count]:
        if name in derivative.parameters:
            problem = f"the gradient depends on {name!r}, which is not saved"
            raise finish.source.error(finish.source.tree, problem, "Use a linear finish, or omit adjoint=.")
    copied = nodes.copied(derivative, dict(zip(derivative.parameters, grads, strict=False)))
    return [copied[result] for result in derivative.results]


def _found(nodes: _Nodes, over: Sequence[str], place: int, where: Place) -> dict[str, int]:
    """Unravel a row-major position into nodes for the folded indices, by name."""
    numbers = {}
    rest = place
    for index in reversed(over):
        size = nodes.parameter(range_name(index), where)
        numbers[index] = nodes.add("remainder", (rest, size), None, where)
        rest = nodes.add("floor_divide", (rest, size), None, where)
    return numbers


def _parameters_of(function: ScalarFunction) -> list[int]:
    """Return the positions of the parameters that a function's results depend on."""
    numbers: set[int] = set()
    waiting = list(function.results)
    while waiting:
        node = waiting.pop()
        if node not in numbers:
            numbers.add(node)
            waiting.extend(function.nodes[node].arguments)
    return [number for number in numbers if function.nodes[number].op == "parameter"]


def _needed_by(nodes: _Nodes, results: Sequence[int]) -> set[str]:
    """Return the names of the parameters that some nodes depend on."""
    numbers: set[int] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in numbers:
            numbers.add(node)
            waiting.extend(nodes.nodes[node].arguments)
    return {str(nodes.nodes[number].value) for number in numbers if nodes.nodes[number].op == "parameter"}


def _written_margin(margin: Margin) -> Margin:
    """Return the padding for adding to elements: where a read gives a constant outside, nothing is added."""
    return margin if margin is None or margin in MARGINS else SKIP


def _read_margin(margin: Margin) -> Margin:
    return 0 if margin == SKIP else margin


def unfinished(indexed: IndexedFunction, grads: Sequence[str], *, is_complex: bool = False) -> IndexedFunction:
    """Return the function that computes the gradients of the folded values from those of the results of ``finish``.

    Args:
        indexed: an indexed function with ``finish``.
        grads: names of the gradients of the results.
        is_complex: whether complex numbers occur.

    Returns:
        A function that reads these gradients and, if it needs them, the folded values, ``folded0`` ...
    """
    finish = indexed.finish
    assert finish is not None, "there is something that finishes"
    place, count = finish.places[0], len(indexed.function.results)
    values = finish.parameters[:count]
    derivative = differentiate(finish, values, is_complex=is_complex)
    heads = derivative.parameters[: len(finish.results)]
    nodes = _Nodes()
    at = tuple(nodes.parameter(index, place) for index in indexed.at)
    seeds = {name: nodes.parameter(f"{grads[k]}@", place) for k, name in enumerate(heads)}
    folded = {
        name: nodes.parameter(f"folded{k}@", place) for k, name in enumerate(values) if name in derivative.parameters
    }
    copied = nodes.copied(derivative, {**seeds, **folded})
    reads = [Access(f"{grads[k]}@", grads[k], at, indexed.leads, None) for k in range(len(heads))]
    reads += [
        Access(f"folded{k}@", f"folded{k}", at, indexed.leads, None) for k, name in enumerate(values) if name in folded
    ]
    sent = [copied[result] for result in derivative.results]
    read = [read.name for read in reads]
    numbers = sorted(_needed_by(nodes, sent) - {*indexed.at, *read})
    function = nodes.function(finish, [*indexed.at, *numbers, *read], sent)
    return IndexedFunction(function, indexed.at, indexed.leads, (), tuple(reads))
