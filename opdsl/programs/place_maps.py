"""Index maps of views: from the indices of an element in a view to its indices in the source.

Indices are a tuple with one node for each dimension; a node is an index into a graph that is being built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.programs.steps import Size, Step

__all__ = ["Grid", "MappedView", "NoMapError", "Place", "broadcast_place", "is_mapped", "source_place"]

Place = tuple[int, ...]


class NoMapError(Exception):
    """Raised when there is no rule that maps the indices of a step's elements to those of its source."""


class Grid(NamedTuple):
    """Functions that add index arithmetic to a graph.

    number: returns the node of an integer, or of a size of the program.
    add: returns the node of a sum.
    multiply: returns the node of a product.
    """

    number: Callable[[Any], int]
    add: Callable[[int, int], int]
    multiply: Callable[[int, int], int]


class MappedView(NamedTuple):
    """View step with its sizes, for index maps.

    step: the call.
    shape, source: the sizes of the view, and of its source.
    """

    step: Step
    shape: tuple[Size, ...]
    source: tuple[Size, ...]

    def argument(self, at: int, name: str, default: Any = None) -> Any:
        """Return an argument of the view's call, by its position or its name."""
        operands = self.step.operands
        return operands[at] if at < len(operands) else self.step.options.get(name, default)

    def dim(self, at: int, rank: int) -> int:
        """Return the argument ``dim`` of the view's call, counted from the first of ``rank`` dimensions."""
        return self.counted(self.argument(at, "dim", 0), rank)

    def counted(self, dim: object, rank: int) -> int:
        """Return a dimension number counted from the first of ``rank`` dimensions; an error if it is not constant."""
        if not isinstance(dim, int):  # it depends on the call
            raise NoMapError(self.step.name)
        return dim % rank


def is_mapped(step: Step) -> bool:
    """Return whether a step is a view for which there is an index map."""
    return step.name in _MAPS and len(step.results) == 1 and step.results[0] is not None


def source_place(view: MappedView, place: Place, grid: Grid) -> Place:
    """Map the indices of an element in a view to its indices in the source.

    Raises:
        NoMapError: there is no rule for the view, such as a reshape that merges dimensions.
    """
    return _MAPS[view.step.name](view, place, grid)


def broadcast_place(place: Place, source: Sequence[Size], grid: Grid) -> Place:
    """Map the indices of an element in a result to its indices in a broadcast operand.

    A size other than 1 is equal to that of the result; if sizes decide whether one is 1, the program has a guard on it.

    Args:
        place: indices of the element.
        source: the sizes of the operand.
        grid: creates nodes.
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
    """Map indices through a reshape that only adds or removes dimensions of size 1."""
    own = [node for node, size in zip(place, view.shape, strict=True) if size != 1]
    if [size for size in view.shape if size != 1] != [size for size in view.source if size != 1]:
        raise NoMapError(view.step.name)
    return tuple(grid.number(0) if size == 1 else own.pop(0) for size in view.source)


def _moved(view: MappedView, place: Place, grid: Grid, at: int, start: Any, step: Any) -> Place:
    """Map indices through a slice: an offset and a step along one dimension."""
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
