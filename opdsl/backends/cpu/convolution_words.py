"""What the kernels of convolutions know of a call, and how they cut its results into bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opdsl.backends.cpu import builtin
from opdsl.backends.cpu.vector_text import Function


class Words(NamedTuple):
    """What a kernel reads of its plan, beside three of ``Dimension``.

    samples, groups: how many.
    channels, outputs: of a group, of what is read and of what is written.
    spreads: whether it is the transpose.
    is_biased: whether a bias lies among the operands.
    out_slot: bytes from the frame to the result's address.
    band: the dimension along which results are computed in bands.
    near: how many elements of planes are near enough to be read again and again.
    chunk: of how many channels there are planes at a time.
    x_sample, ...: elements between neighbours; of the weight as it is read, whose rows are what results have.
    """

    samples: int
    groups: int
    channels: int
    outputs: int
    spreads: int
    is_biased: int
    out_slot: int
    band: int
    near: int
    chunk: int
    x_sample: int
    x_channel: int
    w_group: int
    w_output: int
    w_channel: int
    out_sample: int
    out_channel: int


class Dimension(NamedTuple):
    """One of the three dimensions.

    size, out_size: of what is read, and of what is written.
    steps: from one window, or result, to the next.
    length, first, stride, dilation: of the windows.
    x_stride, w_stride, out_stride: elements between neighbours.
    """

    size: int
    out_size: int
    steps: int
    length: int
    first: int
    stride: int
    dilation: int
    x_stride: int
    w_stride: int
    out_stride: int


# What follows from these, for each dimension:
# step, phases, base: element i of plane r is that of what is read at base + i * step + r.
# shift: by how much windows reach beyond their first element, in elements of a plane.
# out_step, out_phases, out_base: step i of phase r is the result at out_base + i * out_step + r.
_DERIVED = ("step", "phases", "base", "shift", "out_step", "out_phases", "out_base")
_OF_DIMENSIONS = (*Dimension._fields, *_DERIVED)

DIMENSIONS = 3


class Known:
    """The words of ``known_words`` in memory: ``known.samples``, ``known.size[0]``."""

    def __init__(self, text: Function, block: str = "%known") -> None:
        for index, name in enumerate(Words._fields):
            self.__dict__[name] = text.word(block, index)
        for index, name in enumerate(_OF_DIMENSIONS, start=len(Words._fields)):
            places = [index + dim * len(_OF_DIMENSIONS) for dim in range(DIMENSIONS)]
            self.__dict__[name] = [text.word(block, each) for each in places]

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def known_words(text: Function) -> str:
    """The words of the plan in ``%frame``, and behind those of each dimension what follows from them; on the stack."""
    total = len(Words._fields) + DIMENSIONS * len(_OF_DIMENSIONS)
    text.line(f"  %plan = load ptr, ptr %frame\n  %known = alloca i64, i64 {total}, align 64")
    given = {name: text.word("%plan", builtin.HEADER + index) for index, name in enumerate(Words._fields)}
    for index, value in enumerate(given.values()):
        text.put("%known", index, value)
    spreads = text.is_("ne", given["spreads"], 0)
    for dim in range(DIMENSIONS):
        start = builtin.HEADER + len(Words._fields) + dim * len(Dimension._fields)
        values = {name: text.word("%plan", start + index) for index, name in enumerate(Dimension._fields)}
        stride, first = values["stride"], values["first"]
        reach = text.mul(text.sub(values["length"], 1), values["dilation"])
        shift = text.divide(reach, stride)
        skipped = text.divide(text.sub(0, first), stride)
        derived = {
            "step": (stride, 1),
            "phases": (text.smaller(stride, text.add(reach, 1)), 1),
            "base": (first, text.sub(skipped, shift)),
            "shift": (shift, shift),
            "out_step": (1, stride),
            "out_phases": (1, stride),
            "out_base": (0, text.add(text.mul(skipped, stride), first)),
        }
        values |= {name: text.choose(spreads, theirs, ours) for name, (ours, theirs) in derived.items()}
        start = len(Words._fields) + dim * len(_OF_DIMENSIONS)
        for index, name in enumerate(_OF_DIMENSIONS):
            text.put("%known", start + index, values[name])
    return "%known"


class Bands:
    """How results are cut into bands, and how large the planes of a band are.

    length: of the dimension that is cut; size: of a band, at most; plane: elements of a channel's planes.
    """

    def __init__(self, text: Function, known: Known) -> None:
        self.text, self.known = text, known
        self.is_cut = [text.is_("eq", known.band, dim) for dim in range(DIMENSIONS)]
        whole = [text.add(count, shift) for count, shift in zip(known.steps, known.shift, strict=True)]
        row = text.mul(*known.phases, *map(text.choose, self.is_cut, ["1"] * DIMENSIONS, whole))
        self.length = text.add(*map(text.choose, self.is_cut, known.steps, ["0"] * DIMENSIONS))
        rows = text.divide(known.near, text.mul(row, known.chunk))
        self.size = text.larger(1, text.smaller(self.length, rows))
        self.counts = [text.choose(cut, self.size, count) for cut, count in zip(self.is_cut, known.steps, strict=True)]
        self.extents = [text.add(count, shift) for count, shift in zip(self.counts, known.shift, strict=True)]
        self.plane = text.mul(*known.phases, *self.extents)

    def of(self, first: str, size: str) -> tuple[list[str], str]:
        """The counts of a band, and what functions take of it."""
        counts, parts = [], []
        for cut, count, extent in zip(self.is_cut, self.known.steps, self.extents, strict=True):
            counts.append(self.text.choose(cut, size, count))
            parts += [f"i64 {counts[-1]}, i64 {self.text.choose(cut, first, 0)}, i64 {extent}"]
        return counts, ", ".join(parts)


def split(text: Function, number: str, sizes: Sequence[str]) -> list[str]:
    """The row-major index of a number."""
    last = text.remainder(number, sizes[2])
    rest = text.divide(number, sizes[2])
    return [text.divide(rest, sizes[1]), text.remainder(rest, sizes[1]), last]


def joined(text: Function, index: Sequence[str], sizes: Sequence[str]) -> str:
    """The number of a row-major index."""
    return text.inner((text.inner((index[0], sizes[1]), (index[1], 1)), sizes[2]), (index[2], 1))
