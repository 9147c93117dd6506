"""Adjoints of functions of places: what each tensor that is read gets of the gradients of results."""

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
    """An untyped graph that is made of others."""

    def __init__(self) -> None:
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self._known: dict[object, int] = {}

    def add(self, op: str, arguments: tuple[int, ...], value: Any, place: Place) -> int:
        """A node, or the equal one that is there."""
        key = (op, arguments, type(value), constant_key(value))
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(UntypedNode(op, arguments, value))
            self.places.append(place)
        return self._known[key]

    def parameter(self, name: str, place: Place) -> int:
        """A parameter."""
        return self.add("parameter", (), name, place)

    def copied(self, function: ScalarFunction, numbers: Mapping[str, int]) -> list[int]:
        """All nodes of a function; ``numbers`` stands for parameters by name. Returns where each stands."""
        copied: list[int] = []
        for node, place in zip(function.nodes, function.places, strict=True):
            if node.op == "parameter" and node.value in numbers:
                copied.append(numbers[str(node.value)])
            else:
                copied.append(self.add(node.op, tuple(copied[at] for at in node.arguments), node.value, place))
        return copied

    def function(self, like: ScalarFunction, parameters: Sequence[str], results: Sequence[int]) -> ScalarFunction:
        """The function of these nodes."""
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
    """Return the name of the range of an index among the numbers."""
    return f"{index}.range"


def adjoint(
    indexed: IndexedFunction, wanted: str, grads: Sequence[str], *, is_complex: bool = False, is_whole: bool = True
) -> IndexedFunction:
    """The function of the gradient of one tensor that is read.

    What a value was read from gets what the value's gradient makes of it: where each element is read at indices alone,
    as a sum over the other indices, elsewhere by adding at the places that were read.

    Args:
        indexed: what finishes it, if anything, is linear in what was folded.
        wanted: the tensor.
        grads: what the gradients of the results are called; there is one result where values are added at positions.
        is_complex: whether complex numbers take part.
        is_whole: whether the indices that the tensor is read at go through all of its places.

    Returns:
        A function that reads the gradients of the results, beside what it needs of the tensors; where
        the largest or smallest values were taken, ``place`` as well.

    Raises:
        ScalarFunctionError: an operation has no derivative; the message underlines it.
    """
    function, nodes = indexed.function, _Nodes()
    place = function.places[0]
    at = [nodes.parameter(name, place) for name in indexed.at]
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
    read = (*found_at, *kept, *seeding)  # what positions are read from comes before these
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
    """Return the indices that all reads of a tensor are at, one for each dimension; None where they are at others.

    Args:
        nodes: that positions are among.
        targets: the reads.
        indices: that there are.
        leads: whether the function has leading dimensions.
    """
    # With a margin there may be places outside of the tensor.
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
    """Return whether a fold goes no slower than adding at places does, which tests where margins begin but once.

    It does where one loop, along the last index of the result or the last one that is folded, passes through whole rows
    of all tensors with margins.
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
    """The gradients of what was folded, from those of the results.

    Raises:
        ScalarFunctionError: they depend on what was folded.
    """
    result = finish.nodes[finish.results[0]]
    if result.op == "trunc_divide" and finish.nodes[result.arguments[0]].value == finish.parameters[0]:
        # Whole numbers: linear but for what is rounded, so it makes of gradients what it makes of values.
        copied = nodes.copied(finish, dict(zip(finish.parameters, grads, strict=False)))
        return [copied[finish.results[0]]]
    derivative = differentiate(finish, finish.parameters[:count], is_complex=is_complex)
    for name in finish.parameters[:count]:
        if name in derivative.parameters:
            problem = f"the gradient depends on {name!r}, which is not kept"
            raise finish.source.error(finish.source.tree, problem, "Finish by what is linear, or without adjoint=.")
    copied = nodes.copied(derivative, dict(zip(derivative.parameters, grads, strict=False)))
    return [copied[result] for result in derivative.results]


def _found(nodes: _Nodes, over: Sequence[str], place: int, where: Place) -> dict[str, int]:
    """The folded indices of a place among them, counted in row-major order."""
    numbers = {}
    rest = place
    for index in reversed(over):
        size = nodes.parameter(range_name(index), where)
        numbers[index] = nodes.add("remainder", (rest, size), None, where)
        rest = nodes.add("floor_divide", (rest, size), None, where)
    return numbers


def _parameters_of(function: ScalarFunction) -> list[int]:
    """The parameters that a function's results depend on."""
    numbers: set[int] = set()
    waiting = list(function.results)
    while waiting:
        node = waiting.pop()
        if node not in numbers:
            numbers.add(node)
            waiting.extend(function.nodes[node].arguments)
    return [number for number in numbers if function.nodes[number].op == "parameter"]


def _needed_by(nodes: _Nodes, results: Sequence[int]) -> set[str]:
    """The parameters that some nodes depend on."""
    numbers: set[int] = set()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in numbers:
            numbers.add(node)
            waiting.extend(nodes.nodes[node].arguments)
    return {str(nodes.nodes[number].value) for number in numbers if nodes.nodes[number].op == "parameter"}


def _written_margin(margin: Margin) -> Margin:
    """Return the margin of an addition: a constant outside is no element, and gets nothing."""
    return margin if margin is None or margin in MARGINS else SKIP


def _read_margin(margin: Margin) -> Margin:
    return 0 if margin == SKIP else margin


def unfinished(indexed: IndexedFunction, grads: Sequence[str], *, is_complex: bool = False) -> IndexedFunction:
    """The function of the gradients of what is folded, from those of what finishes it.

    Args:
        indexed: with ``finish``.
        grads: what the gradients of the results are called.
        is_complex: whether complex numbers take part.

    Returns:
        A function that reads these and, where it needs them, the folded values, ``folded0`` ...
    """
    finish = indexed.finish
    assert finish is not None, "there is something that finishes"
    place, count = finish.places[0], len(indexed.function.results)
    values = finish.parameters[:count]
    derivative = differentiate(finish, values, is_complex=is_complex)
    heads = derivative.parameters[: len(finish.results)]
    nodes = _Nodes()
    at = tuple(nodes.parameter(name, place) for name in indexed.at)
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
