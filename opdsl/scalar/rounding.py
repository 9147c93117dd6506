"""Check for results of a scalar function that would lose a fraction if they were converted to integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import FLOAT, INTEGER, ScalarType
from opdsl.scalar.untyped import UntypedLoop, UntypedNode

__all__ = ["rounded_results"]

# The typing rules of operations whose results are integers: always, or if their operands are.
_WHOLE: Final = frozenset(
    ("comparison", "bitwise", "shift", "truth", "logical", "logical_not", "predicate", "to_integer", "rounding")
)
_WHOLE_OF_WHOLE: Final = frozenset(("arithmetic", "extremum", "absolute", "trunc_divide", "select", "row"))


def rounded_results(function: ScalarFunction, types: Mapping[str, str], wanted: Sequence[str]) -> list[int]:
    """Return the results that are floating-point numbers with a fraction, but are to become integers.

    Args:
        function: the function.
        types: types of its parameters.
        wanted: the types that its results are converted to.

    Returns:
        Their indices among the results.

    Raises:
        ScalarFunctionError: an operation does not exist for the types.
    """
    kinds = function.specialise(types).result_types
    pairs = enumerate(zip(kinds, wanted, strict=True))
    indexes = [index for index, (kind, to) in pairs if kind.category >= FLOAT and ScalarType(to).category == INTEGER]
    if not indexes:
        return []
    whole = _whole_nodes(function.nodes, {name: ScalarType(kind).category <= INTEGER for name, kind in types.items()})
    return [index for index in indexes if not whole[function.results[index]]]


def _whole_nodes(nodes: Sequence[UntypedNode], parameters: Mapping[str, bool]) -> list[bool]:
    """Return for each node whether its value is an integer, whatever its type; an integer literal may have a float
    type.

    Args:
        nodes: of a function or of a loop's iteration.
        parameters: for each parameter whether it is an integer.
    """
    whole: list[bool] = []
    for node in nodes:
        operands = [whole[at] for at in node.arguments]
        if node.op == "constant":
            whole.append(isinstance(node.value, int))
        elif node.op == "parameter":
            whole.append(parameters[str(node.value)])
        elif isinstance(node.value, UntypedLoop):
            whole.append(False)  # only items use a loop's result
        elif node.op == "item":
            loop, place = nodes[node.arguments[0]], node.value
            assert isinstance(loop.value, UntypedLoop) and isinstance(place, int), "items are of loops"
            whole.append(_whole_carried(loop.value, [whole[at] for at in loop.arguments[1:]])[place])
        else:
            rule = OPERATIONS[node.op].rule
            operands = operands[1:] if rule == "select" else operands
            whole.append(rule in _WHOLE or (rule in _WHOLE_OF_WHOLE and all(operands)))
    return whole


def _whole_carried(loop: UntypedLoop, operands: Sequence[bool]) -> list[bool]:
    """Return for each value that a loop carries whether it is an integer after any number of iterations."""
    count = len(loop.results) - 1
    carried, same = list(operands[:count]), operands[count:]
    while True:
        whole = _whole_nodes(loop.nodes, dict(zip(loop.parameters, [*carried, *same], strict=True)))
        following = [flag and whole[at] for flag, at in zip(carried, loop.results[1:], strict=True)]
        if following == carried:
            return carried
        carried = following
