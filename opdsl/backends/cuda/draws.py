"""Random numbers of graphs: what a capture has drawn, and kernels that get other numbers in each run.

Seed and place are parameters of kernels, so they would be those of the capture for ever. In one they are ``Drawn``: the
launcher notes the kernels that take them, and each run of the graph advances the generators and sets the parameters of
these kernels before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opdsl.backends.cuda.driver import Driver
from opdsl.runtime.generator import Generator

__all__ = ["Drawn", "Draws", "captured"]

_WORD, _LARGEST = 1 << 64, (1 << 63) - 1

Launch = tuple[int, tuple[int, int, int], tuple[int, int, int], int]


class Drawn(int):
    """A seed, or a place in the sequence of a generator, while it is captured.

    generator: whose.
    offset: places behind the first one of a run; None for the seed.
    """

    generator: Generator
    offset: int | None

    @classmethod
    def of(cls, value: int, generator: Generator, offset: int | None) -> Drawn:
        """The value that the capture has."""
        of = cls(value)
        of.generator, of.offset = generator, offset
        return of

    def in_run(self, starts: Mapping[Generator, tuple[int, int]]) -> int:
        """The value of a run, of seeds and first places of generators."""
        seed, place = starts[self.generator]
        if self.offset is None:
            return seed
        moved = (place + self.offset) % _WORD
        return moved if moved <= _LARGEST else moved - _WORD


class Draws:
    """What a captured function draws.

    Args:
        rehearses: whether it runs before it is captured: it draws then, and ``go_back`` undoes that.

    taken: how many blocks of each generator.
    """

    def __init__(self, *, rehearses: bool) -> None:
        self.rehearses = rehearses
        self.taken: dict[Generator, int] = {}
        self._before: dict[Generator, tuple[int, int]] = {}
        self._launches: list[Callable[[Driver, int, Mapping[Generator, tuple[int, int]]], None]] = []

    def advance(self, generator: Generator, count: int) -> tuple[int, int]:
        """What ``Generator.advance`` gives within the function."""
        if self.rehearses:
            self._before.setdefault(generator, generator.position())
            return generator.advanced(count)
        offset = self.taken.get(generator, 0)
        self.taken[generator] = offset + count
        seed, place = generator.advanced(0)
        return Drawn.of(seed, generator, None), Drawn.of(place, generator, offset)

    def go_back(self) -> None:
        """Put generators to where they were before the rehearsal."""
        for generator, position in self._before.items():
            generator.go_to(*position)

    def note(
        self,
        pack: Callable[[Sequence[int | float]], None],
        values: Sequence[Any],
        kernels: Sequence[tuple[int, Launch, int]],
    ) -> None:
        """Keep kernels that have been captured, if they take what was drawn.

        Args:
            pack: writes values into the parameters.
            values: of the capture.
            kernels: for each its node, how it is started, and the address of its parameters.
        """
        if not any(isinstance(value, Drawn) for value in values):
            return

        def renew(api: Driver, graph: int, starts: Mapping[Generator, tuple[int, int]]) -> None:
            pack([value.in_run(starts) if isinstance(value, Drawn) else value for value in values])
            for node, launch, parameters in kernels:
                api.set_parameters(graph, node, launch, parameters)

        self._launches.append(renew)

    def renew(self, api: Driver, graph: int) -> None:
        """Advance the generators, and have the next run of a graph take the numbers from there."""
        starts = {generator: generator.advance(count) for generator, count in self.taken.items()}
        for renew in self._launches:
            renew(api, graph, starts)


captured: dict[int, Draws] = {}
"""By the driver's numbers of streams: what is drawn while they are captured."""
