"""Which results of a scalar function would be rounded where integers are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.operations import OPERATIONS
from opdsl.scalar.types import FLOAT, INTEGER, ScalarType

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
    found = [index for index, (kind, to) in pairs if kind.category >= FLOAT and ScalarType(to).category == INTEGER]
    whole = _whole_nodes(function, types) if found else []
    return [index for index in found if not whole[function.results[index]]]


def _whole_nodes(function: ScalarFunction, types: Mapping[str, str]) -> list[bool]:
    """For each node whether it is a whole number; a literal takes the type of what it stands beside, but is one."""
    whole: list[bool] = []
    for node in function.nodes:
        if node.op == "constant":
            whole.append(isinstance(node.value, int))
        elif node.op == "parameter":
            whole.append(ScalarType(types[str(node.value)]).category <= INTEGER)
        else:
            rule = OPERATIONS[node.op].rule
            operands = node.arguments[1:] if rule == "select" else node.arguments
            whole.append(rule in _WHOLE or (rule in _WHOLE_OF_WHOLE and all(whole[at] for at in operands)))
    return whole
