"""The places at which a row function reads its row, which are the same for all of the row's elements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opdsl.kernels.checks import check
from opdsl.kernels.definitions.indexed_bounds import range_of_positions, require_positions
from opdsl.runtime.dtype import Category
from opdsl.runtime.symbol import largest, smallest
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

__all__ = [
    "differs_in_row",
    "parameters_of_places",
    "places_in",
    "require_in_row",
]

# float32 holds all whole numbers up to here.
_MOST_COUNTED = 1 << 24

_OVER_DIMS = "a formula over dims: x[n, places[n, i]]"


def differs_in_row(own: Sequence[int], shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Return whether a tensor may differ from element to element of a row.

    Args:
        own: its shape.
        shape: of all elements.
        dims: of a row.
    """
    missing = len(shape) - len(own)
    return any(dim >= missing and own[dim - missing] != 1 for dim in dims)


def places_in(function: ScalarFunction) -> tuple[int, ...]:
    """The nodes that read a row at a place, which is the same for all of its elements.

    Raises:
        ScalarFunctionError: a place is made of elements, so that it may differ within the row.
    """
    from opdsl.scalar.operations import OF_ROWS

    found = tuple(at for at, node in enumerate(function.nodes) if node.op == "row_at")
    for at in found:
        _, place = function.nodes[at].arguments
        if any(function.nodes[each].op in OF_ROWS - {"row_count"} for each in _reached(function, place)):
            source, written = function.places[at]
            problem = "this place is made of elements, and may differ within a row"
            raise source.error(written, problem, f"Write {_OVER_DIMS}.")
    return found


def parameters_of_places(function: ScalarFunction, found: Sequence[int]) -> list[str]:
    """What places are made of.

    Args:
        function: the row function.
        found: what ``places_in`` gives.
    """
    return [name for at in found for name in _parameters(function, function.nodes[at].arguments[1])]


def require_in_row(
    function: ScalarFunction,
    found: Sequence[int],
    values: Mapping[str, Any],
    shape: tuple[int, ...],
    dims: Sequence[int],
) -> None:
    """Refuse places that lie outside of rows, and those that differ within one.

    Args:
        function: the row function.
        found: what ``places_in`` gives.
        values: of its parameters.
        shape: of all elements.
        dims: of a row.

    Raises:
        ShapeError: a place does. PositionError: one in a tensor does.
    """
    from opdsl.scalar.intervals import COUNT, Interval, intervals

    if 0 in [size for dim, size in enumerate(shape) if dim not in dims]:
        return
    count = math.prod(shape[dim] for dim in dims)
    known = {name: Interval(each, each) for name, each in values.items() if not isinstance(each, Tensor)}
    known[COUNT] = Interval(count, count)
    for at in found:
        row, place = function.nodes[at].arguments
        source, node = function.places[at]
        tensors = {name: values[name] for name in _parameters(function, place) if isinstance(values[name], Tensor)}
        for name, tensor in tensors.items():
            problem = f"{name} of shape {tensor.shape} has other places within a row of {shape} along {tuple(dims)}"
            advice = f"Give one place for each row, of size 1 along it, or write {_OVER_DIMS}."
            check(not differs_in_row(tensor.shape, shape, dims), str(source.error(node, problem, advice)))
            integer = tensor.dtype.category in (Category.BOOL, Category.INT)
            check(integer, str(source.error(node, f"{name} is no tensor of integers", "Convert it first.")))
        if any(each.is_meta for each in tensors.values()):
            continue
        written = function.nodes[place]
        if written.op == "parameter" and tensors:
            array = str(function.nodes[row].value or "the row")
            missing = len(shape) - values[array].ndim if isinstance(values.get(array), Tensor) else 0
            require_positions(tensors[str(written.value)], count, array, dims[0] - missing if dims else 0)
            continue
        _require_counted(function, at, count)
        known |= {name: Interval(*range_of_positions(tensor)) for name, tensor in tensors.items()}
        low, high = intervals(function, known, smallest, largest)[place]
        if low is not None and high is not None and low >= 0 and high < count:
            continue
        where = "nothing bounds it" if low is None or high is None else f"it is read from {low} to {high}"
        problem = f"this place lies outside of a row of {count}: {where}"
        check(False, str(source.error(node, problem, "Keep it inside, by min and max.")))


def _require_counted(function: ScalarFunction, at: int, count: int) -> None:
    """Refuse rows of so many elements that their places cannot be computed in the dtype of the row, as numbers are.

    Raises:
        ShapeError: they cannot.
    """
    source, node = function.places[at]
    problem = f"this place is computed in the dtype of the row, of {count} elements, which holds no such numbers"
    check(count <= _MOST_COUNTED, str(source.error(node, problem, "Read at a tensor of integers.")))


def _reached(function: ScalarFunction, node: int) -> set[int]:
    """A node, and what it depends on."""
    found: set[int] = set()
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            # How many elements a row has is the same whatever is asked.
            waiting.extend(() if function.nodes[each].op == "row_count" else function.nodes[each].arguments)
    return found


def _parameters(function: ScalarFunction, node: int) -> list[str]:
    nodes = [function.nodes[each] for each in sorted(_reached(function, node))]
    return [str(each.value) for each in nodes if each.op == "parameter"]
