"""Pending reductions through operators: a sum commutes with linear operators, a maximum with monotonic ones.

Pieces may hold summands of a tensor instead of parts of it (``Partial`` in DTensor). If an operator's scalar function
is linear in the tensor, it can be applied to each summand, and the results are summands, too: no reduction is needed
before. This follows from scalar graphs, as derivatives do.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from attrs import frozen

from opdsl.scalar.formats import NARROW
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT

if TYPE_CHECKING:
    from opdsl.scalar.graph import Node, TypedGraph

# Names of pending reductions; ``avg`` is the sum over pieces, divided by the number of pieces.
REDUCTIONS = ("sum", "avg", "max", "min")
_OPPOSITE = {"max": "min", "min": "max"}

# The most tensors for which all subsets are tried; for more, only single tensors and all.
_MOST_TENSORS = 4


@frozen
class Pending:
    """Pending reductions of a call's tensors, and the pending reductions of its results that follow.

    inputs, outputs: the reduction of each; None for a tensor that is not pending.
    """

    inputs: tuple[str | None, ...]
    outputs: tuple[str | None, ...]


def pending_through(
    graph: TypedGraph, places: Sequence[int | None], count: int, numbers: Mapping[int, float]
) -> Iterator[Pending]:
    """Yield the pending reductions of a scalar function's tensors that it commutes with.

    Args:
        graph: the function.
        places: for each of its parameters the tensor's position; None for a number.
        count: how many tensors there are.
        numbers: the values of parameters that are known.
    """
    for tensors in subsets(count):
        chosen = {at for at, place in enumerate(places) if place in tensors}
        for reduction in REDUCTIONS:
            results = through(graph, chosen, reduction, numbers)
            if results is not None:
                yield Pending(tuple(reduction if at in tensors else None for at in range(count)), results)


def subsets(count: int) -> Iterator[Collection[int]]:
    """Yield the sets of tensor positions that are tried together; for many tensors only single ones and all."""
    sizes = range(1, count + 1) if count <= _MOST_TENSORS else (1, count)
    return itertools.chain.from_iterable(itertools.combinations(range(count), size) for size in sizes)


def through(
    graph: TypedGraph, chosen: Collection[int], reduction: str, numbers: Mapping[int, float]
) -> tuple[str | None, ...] | None:
    """Return the pending reductions of results for pending parameters; None if these have to be reduced first.

    Args:
        graph: a scalar function.
        chosen: the parameters that are pending.
        reduction: their pending reduction.
        numbers: the known values of other parameters.
    """
    parameters = [at for at, node in enumerate(graph.nodes) if node.op == "parameter"]
    pending = {parameters[number] for number in chosen}
    if reduction in _OPPOSITE:
        return _ordered(graph, pending, reduction, {parameters[at]: value for at, value in numbers.items()})
    degrees = _degrees(graph, pending)
    wanted = (_LINEAR,) if reduction == "sum" else (_LINEAR, _AFFINE)
    is_exact = reduction == "sum" or all(graph.nodes[at].type.category >= FLOAT for at in graph.results)
    fits = all(degrees[at] in wanted for at in graph.results)
    return (reduction,) * len(graph.results) if fits and is_exact else None


# ------------------------------------------------------------------------------------------------------- linear in it

# Operations that round numbers to 16-bit dtypes.
_ROUNDING = tuple(f"round_{name}" for name in NARROW)

# Degrees of a value in the pending values: equal for all pieces, a sum over pieces, or such a sum plus a constant.
_CONSTANT, _LINEAR, _AFFINE, _OTHER = "constant", "linear", "affine", "other"


def _degrees(graph: TypedGraph, pending: Collection[int]) -> list[str]:
    degrees: list[str] = []
    for at, node in enumerate(graph.nodes):
        texts = [degrees[operand] for operand in node.arguments]
        if at in pending:
            degrees.append(_LINEAR)
        elif all(text == _CONSTANT for text in texts):
            degrees.append(_CONSTANT)
        else:
            degrees.append(_degree(graph, node, texts))
    return degrees


def _degree(graph: TypedGraph, node: Node, texts: list[str]) -> str:
    if node.op in ("negative", "conjugate", "real", "imag"):
        return texts[0]
    if node.op in ("cast", "to_floating", *_ROUNDING):
        return texts[0] if _keeps(graph, node) else _OTHER
    if node.op in ("add", "subtract"):
        return _added(graph, node, texts)
    if node.op == "multiply" and _CONSTANT in texts:
        return texts[0] if texts[1] == _CONSTANT else texts[1]
    if node.op == "divide" and texts[1] == _CONSTANT:
        return texts[0]
    if node.op == "fma" and _CONSTANT in texts[:2]:
        product = texts[0] if texts[1] == _CONSTANT else texts[1]
        return product if _is_zero(graph, node.arguments[2]) else _sum_of([product, texts[2]])
    if node.op in ("select", "rare") and texts[0] == _CONSTANT:
        return _added(graph, node, texts[1:])
    return _OTHER


def _added(graph: TypedGraph, node: Node, texts: list[str]) -> str:
    """Return the degree of a sum of two nodes, or of a choice between them; a constant zero does not count."""
    places = node.arguments[-2:]
    return _sum_of([text for at, text in zip(places, texts, strict=True) if not _is_zero(graph, at)])


def _is_zero(graph: TypedGraph, at: int) -> bool:
    node = graph.nodes[_uncast(graph)(at)]
    return node.op == "constant" and node.value == 0


def _sum_of(texts: Sequence[str]) -> str:
    kinds = set(texts)
    return _OTHER if _OTHER in kinds else kinds.pop() if len(kinds) == 1 else _AFFINE


def _keeps(graph: TypedGraph, node: Node) -> bool:
    """Return whether a cast changes numbers by no more than rounding."""
    before, after = graph.nodes[node.arguments[0]].type, node.type
    return after.category >= before.category and after.category != BOOL


# ------------------------------------------------------------------------------------------------------- grows with it

# Functions that increase monotonically and are defined for all numbers.
_GROWING = frozenset((
    *("exp", "exp2", "expm1", "sinh", "tanh", "asinh", "atan", "erf", "cbrt"),
    *("floor", "ceil", "trunc", "round", "rounded", "to_floating", "real", *_ROUNDING),
))  # fmt: skip
_FALLING = frozenset(("negative", "erfc"))
_POSITIVE = frozenset(("exp", "exp2", "cosh", "absolute", "erfc", "sqrt"))


class _Order(NamedTuple):
    """Monotonicity of a node's value in pending values.

    reduction: its pending reduction; None if it is the same for all pieces.
    owners: the pending parameters that it depends on; with several, it is pending only if their own reduction combines
        them.
    sign: 1 where it is never negative, -1 where it is never positive, 0 where neither is known.
    """

    reduction: str | None
    owners: frozenset[int]
    sign: int


def _ordered(
    graph: TypedGraph, pending: Collection[int], reduction: str, numbers: Mapping[int, float]
) -> tuple[str | None, ...] | None:
    orders: list[_Order | None] = []
    for at, node in enumerate(graph.nodes):
        operand_orders = [orders[operand] for operand in node.arguments]
        known = [order for order in operand_orders if order is not None]
        if node.type.category == COMPLEX:
            orders.append(None)
        elif at in pending:
            orders.append(_Order(reduction, frozenset((at,)), 0))
        elif len(known) < len(operand_orders):
            orders.append(None)
        else:
            value = node.value if node.op == "constant" else numbers.get(at, 0)
            own = (value > 0) - (value < 0) if isinstance(value, (bool, int, float)) else 0
            orders.append(_follow(graph, node, known, own))
    results = [orders[at] for at in graph.results]
    # A result that depends on no pending value is not pending, although others are.
    if any(result is None for result in results) or not any(
        result is not None and result.reduction for result in results
    ):
        return None
    return tuple(result.reduction for result in results if result is not None)


def _follow(graph: TypedGraph, node: Node, orders: list[_Order], own: int) -> _Order | None:
    """Return the monotonicity of a node from that of its operands; None if it is unknown."""
    sign = own or _sign(node, orders)
    followed = [order for order in orders if order.reduction is not None]
    if not followed:
        return _Order(None, frozenset(), sign)
    first = orders[0]
    if node.op == "cast":
        return first if _keeps(graph, node) else None
    if node.op in _GROWING:
        return first._replace(sign=sign)
    if node.op in _FALLING:
        return first._replace(reduction=_flipped(first.reduction), sign=sign)
    directions = _directions(node.op, orders)
    if directions is None:
        return None
    turned = {
        order.reduction if direction > 0 else _flipped(order.reduction)
        for order, direction in zip(orders, directions, strict=True)
        if order.reduction is not None
    }
    owners = frozenset().union(*(order.owners for order in followed))
    (reduction, *others) = turned
    combines = _COMBINING.get(node.op) == reduction
    return (
        None if others or (len(owners) > 1 and len(followed) > 1 and not combines) else _Order(reduction, owners, sign)
    )


_COMBINING = {"maximum": "max", "minimum": "min"}


def _directions(op: str, orders: list[_Order]) -> tuple[int, ...] | None:
    """Return for each operand 1 where the result increases with it, -1 where it decreases; None if that is unknown."""
    if op in ("add", "maximum", "minimum"):
        return 1, 1
    if op == "subtract":
        return 1, -1
    if op in ("multiply", "fma"):
        signs = orders[1].sign, orders[0].sign
        is_known = all(sign or order.reduction is None for sign, order in zip(signs, orders[:2], strict=True))
        return None if not is_known else signs if op == "multiply" else (*signs, 1)
    if op == "divide" and orders[1].sign:
        if orders[1].reduction is None:
            return orders[1].sign, 1
        # Requires that the sign of the numerator is known; the divisor never changes its sign.
        return (orders[1].sign, -orders[0].sign) if orders[0].sign else None
    if op in ("select", "rare") and orders[0].reduction is None:
        return 1, 1, 1
    return None


def _flipped(reduction: str | None) -> str | None:
    return None if reduction is None else _OPPOSITE[reduction]


def _sign(node: Node, orders: list[_Order]) -> int:
    """Return 1 if a node's value is never negative, -1 if it is never positive, else 0."""
    signs = [order.sign for order in orders]
    if node.op in _POSITIVE:
        return 1
    if node.op == "negative":
        return -signs[0]
    if node.op in ("cast", "to_floating", "rounded", *_ROUNDING):
        return signs[0]
    if node.op == "fma":
        return signs[2] if signs[0] * signs[1] == signs[2] else 0
    if node.op in ("add", "maximum", "minimum") and signs[0] == signs[1]:
        return signs[0]
    if node.op == "maximum" and 1 in signs:
        return 1
    if node.op == "minimum" and -1 in signs:
        return -1
    return signs[0] * signs[1] if node.op in ("multiply", "divide") else 0


# --------------------------------------------------------------------------------------------------------- reductions

# For bools a sum means any, and a product all.
_NAMES: Mapping[str, str] = {
    "add": "sum",
    "maximum": "max",
    "minimum": "min",
    "multiply": "product",
    **dict.fromkeys(("bitwise_or", "logical_or"), "sum"),
    **dict.fromkeys(("bitwise_and", "logical_and"), "product"),
}
_ON_TRUTH = frozenset(("bitwise_or", "logical_or", "bitwise_and", "logical_and"))


def reduction_of(combine: TypedGraph, finish: TypedGraph) -> str | None:
    """Return the name of a reduction whose results can be combined as its accumulators are, or None.

    Args:
        combine: the scalar graph from two accumulators to one.
        finish: the scalar graph from an accumulator and the number of elements to a result.
    """
    if len(combine.results) != 1 or len(finish.results) != 1:
        return None
    combined = combine.nodes[combine.results[0]]
    name = _NAMES.get(combined.op)
    if combined.op in _ON_TRUTH and combined.type.category != BOOL:
        return None
    if name is None or sorted(map(_uncast(combine), combined.arguments)) != [0, 1]:
        return None
    at = _uncast(finish)(finish.results[0])
    if at == 0 and finish.nodes[finish.results[0]].type == finish.nodes[0].type:
        return name
    divided = finish.nodes[at]
    is_mean = divided.op == "divide" and [*map(_uncast(finish), divided.arguments)] == [0, 1]
    return "avg" if is_mean and name == "sum" else None


def _uncast(graph: TypedGraph) -> Callable[[int], int]:
    """Return a function from a node to the node below its casts."""

    def place(at: int) -> int:
        while graph.nodes[at].op in ("cast", "to_floating", *_ROUNDING):
            (at,) = graph.nodes[at].arguments
        return at

    return place
