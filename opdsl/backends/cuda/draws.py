"""Random numbers in CUDA graphs: a record of the numbers that a capture draws, so that each run of the graph draws
other numbers.

The seed and the offset of a random generator are kernel parameters, so a captured graph would repeat those of its
capture. During a capture they are ``Drawn`` numbers: the launcher records the kernels that take them, and before each
run of the graph the generators are advanced and the parameters of these kernels are updated.
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
    """Seed or offset of a random generator during a capture: an int that knows which generator it is from.

    generator: the generator.
    offset: the distance from the generator's offset at the beginning of a run; None for the seed.
    """

    generator: Generator
    offset: int | None

    @classmethod
    def of(cls, value: int, generator: Generator, offset: int | None) -> Drawn:
        """Return a ``Drawn`` number that has the given value in the capture."""
        of = cls(value)
        of.generator, of.offset = generator, offset
        return of

    def in_run(self, starts: Mapping[Generator, tuple[int, int]]) -> int:
        """Return the number's value in one run of the graph, given the seed and first offset of each generator."""
        seed, place = starts[self.generator]
        if self.offset is None:
            return seed
        moved = (place + self.offset) % _WORD
        return moved if moved <= _LARGEST else moved - _WORD


class Draws:
    """Record of the random numbers that a captured function draws.

    Args:
        rehearses: whether this is the uncaptured run before the capture: its draws are undone by ``go_back``.

    taken: how many blocks of random numbers the function draws from each generator.
    """

    def __init__(self, *, rehearses: bool) -> None:
        self.rehearses = rehearses
        self.taken: dict[Generator, int] = {}
        self._before: dict[Generator, tuple[int, int]] = {}
        self._launches: list[Callable[[Driver, int, Mapping[Generator, tuple[int, int]]], None]] = []

    def advance(self, generator: Generator, count: int) -> tuple[int, int]:
        """Return a generator's seed and offset for ``count`` blocks; takes the place of ``Generator.advance`` in the
        function.
        """
        if self.rehearses:
            self._before.setdefault(generator, generator.position())
            return generator.advanced(count)
        offset = self.taken.get(generator, 0)
        self.taken[generator] = offset + count
        seed, place = generator.advanced(0)
        return Drawn.of(seed, generator, None), Drawn.of(place, generator, offset)

    def go_back(self) -> None:
        """Reset the generators to where they were before the rehearsal."""
        for generator, position in self._before.items():
            generator.go_to(*position)

    def note(
        self,
        pack: Callable[[Sequence[int | float]], None],
        values: Sequence[Any],
        kernels: Sequence[tuple[int, Launch, int]],
    ) -> None:
        """Record captured kernels whose parameters depend on random draws; ignore others.

        Args:
            pack: writes values into the parameters.
            values: the parameter values of the capture.
            kernels: for each kernel its graph node, how it is launched, and the address of its parameters.
        """
        if not any(isinstance(value, Drawn) for value in values):
            return

        def renew(api: Driver, graph: int, starts: Mapping[Generator, tuple[int, int]]) -> None:
            pack([value.in_run(starts) if isinstance(value, Drawn) else value for value in values])
            for node, launch, parameters in kernels:
                api.set_parameters(graph, node, launch, parameters)

        self._launches.append(renew)

    def renew(self, api: Driver, graph: int) -> None:
        """Advance the generators, and update the kernel parameters so that the next run of a graph draws new
        numbers.
        """
        starts = {generator: generator.advance(count) for generator, count in self.taken.items()}
        for renew in self._launches:
            renew(api, graph, starts)


captured: dict[int, Draws] = {}
"""Records of the random numbers drawn during captures, by the driver's numbers of the captured streams."""
