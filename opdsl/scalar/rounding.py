"""Which results of a scalar function would be rounded where integers are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import FLOAT, INTEGER, ScalarType
from opdsl.scalar.untyped import UntypedLoop, UntypedNode

__all__ = ["rounded_results"]

# The rules of operations whose results are whole, always or where their operands are.
_WHOLE: Final = frozenset(
    ("comparison", "bitwise", "shift", "truth", "logical", "logical_not", "predicate", "to_integer", "rounding")
)
_WHOLE_OF_WHOLE: Final = frozenset(("arithmetic", "extremum", "absolute", "trunc_divide", "select", "row"))


def rounded_results(function: ScalarFunction, types: Mapping[str, str], wanted: Sequence[str]) -> list[int]:
    """The results that are floating-point numbers with a fraction, and are to be integers.

    Args:
        function: the function.
        types: of its parameters.
        wanted: what its results become.

    Returns:
        Their places among the results.

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
    """For each node whether it is a whole number; a literal takes the type of what it stands beside, but is one.

    Args:
        nodes: of a function or of a loop's turn.
        parameters: which of its parameters are whole.
    """
    whole: list[bool] = []
    for node in nodes:
        operands = [whole[at] for at in node.arguments]
        if node.op == "constant":
            whole.append(isinstance(node.value, int))
        elif node.op == "parameter":
            whole.append(parameters[str(node.value)])
        elif isinstance(node.value, UntypedLoop):
            whole.append(False)  # items alone read it
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
    """For each value that a loop carries whether it is whole after any number of turns."""
    count = len(loop.results) - 1
    carried, same = list(operands[:count]), operands[count:]
    while True:
        whole = _whole_nodes(loop.nodes, dict(zip(loop.parameters, [*carried, *same], strict=True)))
        following = [flag and whole[at] for flag, at in zip(carried, loop.results[1:], strict=True)]
        if following == carried:
            return carried
        carried = following
