"""Views as maps of places: where in its source a view finds the element at a place.

A place is a node for each dimension; a node is a position in a graph that is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.programs.steps import Size, Step

__all__ = ["Grid", "MappedView", "NoMapError", "Place", "broadcast_place", "is_mapped", "source_place"]

Place = tuple[int, ...]


class NoMapError(Exception):
    """An element's place in the source of a step does not follow from its own by the rules that are here."""


class Grid(NamedTuple):
    """Makers of nodes, for maps of places.

    number: a node that is a whole number, or a size as a program has it.
    add: a node that is the sum of two.
    multiply: a node that is the product of two.
    """

    number: Callable[[Any], int]
    add: Callable[[int, int], int]
    multiply: Callable[[int, int], int]


class MappedView(NamedTuple):
    """A view that a step makes.

    step: the call.
    shape, source: the sizes of the view, and of what it shows.
    """

    step: Step
    shape: tuple[Size, ...]
    source: tuple[Size, ...]

    def argument(self, at: int, name: str, default: Any = None) -> Any:
        """Return an argument of the call, by its place in the schema or by its name."""
        operands = self.step.operands
        return operands[at] if at < len(operands) else self.step.options.get(name, default)

    def dim(self, at: int, rank: int) -> int:
        """Return an argument that is a dimension, counted from the first of so many."""
        return self.counted(self.argument(at, "dim", 0), rank)

    def counted(self, dim: object, rank: int) -> int:
        """Return a dimension, counted from the first of so many."""
        if not isinstance(dim, int):  # a call decides it
            raise NoMapError(self.step.name)
        return dim % rank


def is_mapped(step: Step) -> bool:
    """Return whether a step is a view whose elements have places by the rules that are here."""
    return step.name in _MAPS and len(step.results) == 1 and step.results[0] is not None


def source_place(view: MappedView, place: Place, grid: Grid) -> Place:
    """Return where in its source a view finds the element at a place.

    Raises:
        NoMapError: that does not follow: a view has other sizes than 1 in another order.
    """
    return _MAPS[view.step.name](view, place, grid)


def broadcast_place(place: Place, source: Sequence[Size], grid: Grid) -> Place:
    """Return where an operand that broadcasts is read for an element of a result.

    A size that is not 1 is that of the result: a program whose sizes decide which it is has asked for that.

    Args:
        place: of the element.
        source: the sizes of the operand.
        grid: makes nodes.
    """
    behind = len(place) - len(source)
    pairs = zip(source, place[behind:], strict=True)
    return tuple(grid.number(0) if size == 1 else node for size, node in pairs)


def _same(view: MappedView, place: Place, grid: Grid) -> Place:
    return place


def _unsqueezed(view: MappedView, place: Place, grid: Grid) -> Place:
    at = view.dim(1, len(view.shape))
    return (*place[:at], *place[at + 1 :])


def _permuted(view: MappedView, place: Place, grid: Grid) -> Place:
    order = [view.counted(dim, len(place)) for dim in view.argument(1, "dims")]
    return tuple(node for _, node in sorted(zip(order, place, strict=True)))


def _transposed(view: MappedView, place: Place, grid: Grid) -> Place:
    rank = len(place)
    first, second = (-2, -1) if view.step.name == "aten::t" else (view.argument(1, "dim0"), view.argument(2, "dim1"))
    if rank < 2:
        return place
    order, one, other = list(place), view.counted(first, rank), view.counted(second, rank)
    order[one], order[other] = order[other], order[one]
    return tuple(order)


def _expanded(view: MappedView, place: Place, grid: Grid) -> Place:
    return broadcast_place(place, view.source, grid)


def _reshaped(view: MappedView, place: Place, grid: Grid) -> Place:
    """Sizes of 1 come and go; others stay, in their order."""
    own = [node for node, size in zip(place, view.shape, strict=True) if size != 1]
    if [size for size in view.shape if size != 1] != [size for size in view.source if size != 1]:
        raise NoMapError(view.step.name)
    return tuple(grid.number(0) if size == 1 else own.pop(0) for size in view.source)


def _moved(view: MappedView, place: Place, grid: Grid, at: int, start: Any, step: Any) -> Place:
    """A dimension that begins elsewhere, and goes on in steps."""
    if not (start is None or isinstance(start, int)) or not isinstance(step, int) or step < 1:
        raise NoMapError(view.step.name)
    node = place[at] if step == 1 else grid.multiply(place[at], grid.number(step))
    first = start or 0
    if first < 0:
        node = grid.add(node, grid.number(view.source[at]))
    moved = grid.add(node, grid.number(first)) if first else node
    return (*place[:at], moved, *place[at + 1 :])


def _narrowed(view: MappedView, place: Place, grid: Grid) -> Place:
    return _moved(view, place, grid, view.dim(1, len(place)), view.argument(2, "start"), 1)


def _sliced(view: MappedView, place: Place, grid: Grid) -> Place:
    start, step = view.argument(2, "start"), view.argument(4, "step", 1)
    return _moved(view, place, grid, view.dim(1, len(place)), start, step)


def _selected(view: MappedView, place: Place, grid: Grid) -> Place:
    at, index = view.dim(1, len(view.source)), view.argument(2, "index")
    whole = (*place[:at], grid.number(0), *place[at:])
    return _moved(view, whole, grid, at, index, 1)


_MAPS: Mapping[str, Callable[[MappedView, Place, Grid], Place]] = {
    "aten::alias": _same, "aten::detach": _same,
    "aten::unsqueeze": _unsqueezed, "aten::permute": _permuted,
    "aten::transpose.int": _transposed, "aten::t": _transposed,
    "aten::expand": _expanded, "aten::view": _reshaped, "aten::_unsafe_view": _reshaped,
    "aten::squeeze": _reshaped, "aten::squeeze.dim": _reshaped, "aten::squeeze.dims": _reshaped,
    "aten::narrow": _narrowed, "aten::slice.Tensor": _sliced, "aten::select.int": _selected,
}  # fmt: skip
