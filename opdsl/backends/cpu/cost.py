"""Cost model of scalar functions on the CPU, in units of one addition."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from opdsl.backends.cpu.storage import PART
from opdsl.kernels.kernel import Fold
from opdsl.runtime.symbol import computed
from opdsl.scalar.graph import Loop

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel
    from opdsl.scalar.graph import Node, TypedGraph

# The cost of an operation in a vectorized loop, in additions; others cost 1.
_COSTS = {
    **dict.fromkeys(("divide", "sqrt", "floor_divide", "remainder", "fmod", "quotient"), 2),
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tanh", "hypot"), 4),
    **dict.fromkeys(("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh"), 5),
    **dict.fromkeys(("power", "erf", "erfc", "gamma", "lgamma", "cbrt", "ieee_remainder", "nextafter"), 15),
    **dict.fromkeys(("parameter", "constant"), 0),
}

# The assumed number of iterations of a loop.
_TURNS = 8

# The costs, in additions, from which a second thread pays off, which may have to wait for a processor (10 µs), and from
# which each further thread does (3 µs).
PARALLEL_FROM = 131_072
SHARE_OF_A_THREAD = 32_768


def grain_of(cost: int, elements: int, unit: int) -> int:
    """Return the number of elements that is worth a separate thread, or 0 if all of them are too few for two threads.

    Args:
        cost: of all elements, in additions.
        elements: that are divided among threads.
        unit: how many are taken together.
    """
    grain: int = computed(_GRAIN, _grain, {"max": max}, cost=cost, elements=elements, unit=unit)
    return grain


_GRAIN = f"{{max}}({{unit}}, {SHARE_OF_A_THREAD} * {{elements}} // {{cost}}) if {{cost}} >= {PARALLEL_FROM} else 0"


def _grain(*, cost: int, elements: int, unit: int) -> int:
    return max(unit, SHARE_OF_A_THREAD * elements // cost) if cost >= PARALLEL_FROM else 0


@functools.lru_cache(maxsize=4096)
def graph_cost(graph: TypedGraph) -> int:
    """Return the cost of a scalar function for one element; operations on complex numbers count twice."""
    return max(1, sum(node_cost(node) for node in graph.nodes))


@functools.lru_cache(maxsize=4096)
def kernel_cost(kernel: Kernel) -> int:
    """Return the cost of a kernel for one iteration of all its ranges."""
    graphs = (loop.combine if isinstance(loop, Fold) else loop.step for loop in kernel.loops)
    return graph_cost(kernel.graph) + sum(map(graph_cost, graphs))


def node_cost(node: Node) -> int:
    """Return the cost of one operation."""
    if isinstance(node.value, Loop):
        return graph_cost(node.value.body) * min(node.value.most or _TURNS, _TURNS)
    return _COSTS.get(node.op, 1) * (1 + (node.type in PART))


def is_costly(graph: TypedGraph) -> bool:
    """Return whether a scalar function contains an operation at least as expensive as an exponential."""
    return any(node_cost(node) >= _COSTS["exp"] for node in graph.nodes)
