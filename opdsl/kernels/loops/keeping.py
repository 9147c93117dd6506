"""Choice of the values that one loop over a range keeps in memory for a later loop over the same range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opdsl.kernels.kernel import Part, varying
from opdsl.scalar.operations import OPERATIONS

if TYPE_CHECKING:
    from opdsl.kernels.kernel import Kernel

__all__ = ["kept_nodes"]

# Operations that cost more than storing a value and loading it again.
_EXPENSIVE: Final = frozenset(
    {name for name, operation in OPERATIONS.items() if operation.rule == "floating"} - {"divide", "sqrt", "copysign"}
) | {"power", "loop"}


def kept_nodes(
    kernel: Kernel, over: str, bodies: Sequence[Sequence[int]], done: Mapping[int, int]
) -> list[tuple[int, ...]]:
    """Return, for each of several loops over a range, the nodes of the graph whose values it keeps for later ones.

    Args:
        kernel: the kernel.
        over: the range.
        bodies: for each loop, in order, the nodes that it computes.
        done: for folds that these loops compute, the position of the loop.
    """
    return _Choice(kernel, over, done).kept(bodies)


class _Choice:
    """Choice of kept values.

    first: for each node the position of the first loop in which it can be computed.
    costly: for each node whether it is expensive to compute from what is known before that loop.
    """

    def __init__(self, kernel: Kernel, over: str, done: Mapping[int, int]) -> None:
        self.nodes = kernel.graph.nodes
        self.varies = [over in ranges for ranges in varying(kernel)]
        self.first: list[int] = []
        self.costly: list[bool] = []
        for at, node in enumerate(self.nodes):
            source = kernel.sources[at] if node.op == "parameter" else None
            known = done.get(source.loop, -1) + 1 if isinstance(source, Part) else 0
            self.first.append(max((self.first[operand] for operand in node.arguments), default=known))
            costly = node.op in _EXPENSIVE or any(
                self.costly[operand] for operand in node.arguments if self.first[operand] == self.first[at]
            )
            self.costly.append(self.varies[at] and costly)

    def kept(self, bodies: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Return the nodes that each loop keeps."""
        needed: set[int] = set()
        for place in reversed(range(len(bodies))):
            self._need(bodies[place], place, needed, set())
        computed = [self._computed(body) for body in bodies]
        return [
            tuple(sorted(at for at in needed if self.first[at] == place and at in computed[place]))
            for place in range(len(bodies))
        ]

    def _need(self, wanted: Iterable[int], place: int, needed: set[int], seen: set[int]) -> None:
        """Add the expensive values of earlier loops that a loop needs for some nodes to ``needed``."""
        for at in wanted:
            if at in seen or not self.varies[at]:
                continue
            seen.add(at)
            if self.first[at] < place and self.costly[at]:
                needed.add(at)
            else:
                self._need(self.nodes[at].arguments, place, needed, seen)

    def _computed(self, wanted: Iterable[int]) -> set[int]:
        """Return the nodes that differ along the range and that some nodes depend on."""
        computed: set[int] = set()
        waiting = list(wanted)
        while waiting:
            at = waiting.pop()
            if at not in computed and self.varies[at]:
                computed.add(at)
                waiting.extend(self.nodes[at].arguments)
        return computed
