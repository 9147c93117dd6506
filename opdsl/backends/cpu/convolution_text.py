"""LLVM text of convolutions: products of matrices whose right factor is read where it lies, through tables of offsets.

Sizes and strides come with the plan, three dimensions of them. A convolution ``correlates``: windows slide over its
input; or it ``spreads``, the transpose. Both come to the same sums. What the windows show is made once as planes with
their margins (``prepare``): one for each residue of the stride, so that windows side by side
show elements side by side.
A result is then a sum, over channels and elements of the window, of a number of the weight times a plane moved by an
offset; results of which nothing is asked, between the rows of a plane, are computed along and dropped (``finish``). A
spreading convolution has one such sum for each residue of its results instead.

The gradient of the weight is the sum over all windows of a gradient, across outputs, times an element of a plane.
"""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.backends.cpu.convolution_words import Bands, Known, joined, known_words, split
from opdsl.backends.cpu.nests import Loop
from opdsl.backends.cpu.plane_text import finish_ir, prepare_ir, tables_ir, turn_ir
from opdsl.backends.cpu.storage import MEMORY
from opdsl.backends.cpu.tile_text import tiles_ir
from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, When, While, declarations

SYMBOLS = ("correlate", "weigh")


def module_ir(machine: Machine) -> str:
    """The module: ``correlate`` and ``weigh``, which are loops of plans over units of their results."""
    parts = [tiles_ir(machine), prepare_ir(machine), finish_ir(machine), tables_ir(), turn_ir(machine)]
    return "\n".join([*parts, _correlate(machine), _weigh(machine), declarations(machine), ATTRIBUTES])


class Room:
    """One block of memory, parts of which are handed out; sizes in elements of 8 bytes at most."""

    def __init__(self, text: Function) -> None:
        self.text = text
        self.parts: list[tuple[str, str]] = []

    def take(self, parts: Sequence[str]) -> list[str]:
        """The addresses of parts, sizes in bytes; each on a line of the cache."""
        text = self.text
        starts, total = [], "0"
        for size in parts:
            starts.append(total)
            total = text.add(total, text.value(f"and i64 {text.add(size, 127)}, -64"))
        self.block = block = text.value(f"call ptr @malloc(i64 {text.add(total, 64)})")
        with When(text, "nothing", text.value(f"icmp eq ptr {block}, null")):
            text.line("  call void @llvm.trap()")
        number = text.value(f"ptrtoint ptr {block} to i64")
        line = text.at(block, text.value(f"and i64 {text.sub(0, number)}, 63"), "i8")
        return [text.at(line, start, "i8") for start in starts]

    def free(self) -> None:
        """Give it back."""
        self.text.call("free", f"ptr {self.block}")


def _operand(text: Function, slot: object) -> str:
    return text.value(f"load ptr, ptr {text.at('%frame', slot, 'i8')}")


def _bytes(text: Function, count: str, *slack: int) -> str:
    """Bytes of so many elements."""
    return text.mul(text.add(count, *slack), MEMORY[text.machine.dtype].itemsize)


def _correlate(machine: Machine) -> str:
    """Bands [begin, end) of the results, counted through groups and samples."""
    text = Function(machine, "void @correlate(ptr %frame, i64 %begin, i64 %end)")
    known = Known(text, known_words(text))
    x, w, out = _operand(text, 16), _operand(text, 32), _operand(text, known.out_slot)
    is_biased = text.is_("ne", known.is_biased, 0)
    bias = text.value(f"select i1 {is_biased}, ptr {_operand(text, text.choose(is_biased, 48, 16))}, ptr null")
    bands = Bands(text, known)
    terms = text.mul(known.channels, *known.length)
    phases = text.mul(*known.out_phases)
    pitch = text.add(text.mul(bands.counts[0], bands.extents[1], bands.extents[2]), machine.widest)
    height = machine.shapes[0].rows
    room = Room(text)
    eight = [text.mul(text.add(each, 1), 8) for each in (terms, terms, phases, known.outputs)]
    planes_size = _bytes(text, text.mul(known.channels, bands.plane), 2 * machine.widest)
    ka, kb, starts, rows, planes, sums = room.take([*eight, planes_size, _bytes(text, text.mul(pitch, height))])
    extents = ", ".join(f"i64 {each}" for each in bands.extents)
    text.call(
        "tables",
        "ptr %known",
        f"i64 {known.channels}",
        f"i64 {bands.plane}",
        f"{extents}",
        f"ptr {ka}",
        f"ptr {kb}",
        f"ptr {starts}",
    )
    slack = text.at(planes, text.mul(known.channels, bands.plane))
    _clear(text, "slack", slack, str(2 * machine.widest))
    text.line("  %at = alloca i64\n  store i64 %begin, ptr %at")
    with While(text, "bands", "%at", "%end") as at:
        first, rest = text.remainder(at, bands.length), text.divide(at, bands.length)
        group, sample = text.remainder(rest, known.groups), text.divide(rest, known.groups)
        size = text.smaller(bands.size, text.smaller(text.sub(bands.length, first), text.sub("%end", at)))
        counts, given = bands.of(first, size)
        inputs, outputs = text.mul(group, known.channels), text.mul(group, known.outputs)
        source = text.at(x, text.inner((sample, known.x_sample), (inputs, known.x_channel)))
        text.call(
            "prepare",
            "ptr %known",
            f"ptr {source}",
            f"ptr {planes}",
            f"i64 {known.channels}",
            f"i64 {bands.plane}",
            f"{given}",
        )
        weight = text.at(w, text.mul(group, known.w_group))
        with Loop(text, "row", "0", known.outputs) as row:
            place = text.at(weight, text.mul(row.counter, known.w_output))
            text.line(f"  store ptr {place}, ptr {text.at(rows, row.counter, 'ptr')}")
        flat = text.mul(text.sub(counts[0], 1), bands.extents[1])
        flat = text.mul(text.add(flat, text.sub(counts[1], 1)), bands.extents[2])
        width = text.add(flat, counts[2])
        with Loop(text, "phase", "0", phases) as phase:
            first = text.word(starts, phase.counter)
            count = text.sub(text.word(starts, text.add(phase.counter, 1)), first)
            asked = ", ".join(f"i64 {each}" for each in split(text, phase.counter, known.out_phases))
            with Loop(text, "o", "0", known.outputs, height) as o:
                high = text.smaller(height, text.sub(known.outputs, o.counter))
                text.call(
                    "tiles",
                    f"ptr {rows}",
                    f"i64 {o.counter}",
                    f"i64 {high}",
                    f"ptr {text.at(ka, first, 'i64')}",
                    f"ptr {text.at(kb, first, 'i64')}",
                    f"i64 {count}",
                    f"ptr {planes}",
                    f"i64 {width}",
                    f"ptr {sums}",
                    f"i64 {pitch}",
                    "i1 false",
                    "i1 true",
                )
                channel = text.add(outputs, o.counter)
                target = text.at(out, text.inner((sample, known.out_sample), (channel, known.out_channel)))
                added = text.value(f"select i1 {is_biased}, ptr {text.at(bias, channel)}, ptr null")
                text.call(
                    "finish",
                    "ptr %known",
                    f"ptr {sums}",
                    f"i64 {pitch}",
                    f"i64 {high}",
                    f"ptr {target}",
                    f"ptr {added}",
                    f"{given}",
                    f"{asked}",
                )
        text.line(f"  store i64 {text.add(at, size)}, ptr %at")
    room.free()
    return text.end()


def _clear(text: Function, name: str, place: str, count: str) -> None:
    """Zeros, in whole vectors."""
    with Loop(text, name, "0", count, text.machine.lanes) as j:
        text.line(f"  store {text.machine.vector} zeroinitializer, ptr {text.at(place, j.counter)}, align 4")


def _weigh(machine: Machine) -> str:
    """The gradients of a weight for channels [begin, end) of the input, counted through the groups.

    The operands are the gradients of the results and the input, then the result.
    """
    text = Function(machine, "void @weigh(ptr %frame, i64 %begin, i64 %end)")
    known = Known(text, known_words(text))
    grad, x, out = _operand(text, 16), _operand(text, 32), _operand(text, known.out_slot)
    bands = Bands(text, known)
    window = text.mul(*known.length)
    terms = text.mul(known.chunk, window)
    windows = text.mul(*bands.counts)
    pitch = text.value(f"and i64 {text.add(known.outputs, machine.lanes - 1)}, {-machine.lanes}")
    whole = text.mul(text.smaller(known.channels, text.sub("%end", "%begin")), window)
    room = Room(text)
    eight = [text.mul(text.add(each, 1), 8) for each in (terms, terms, "1", terms, windows, windows)]
    sizes = [
        _bytes(text, text.mul(known.chunk, bands.plane), 2 * machine.widest),
        _bytes(text, text.mul(pitch, windows), machine.widest),
        _bytes(text, text.mul(pitch, whole), machine.widest),
    ]
    unused, kb, starts, rows, at_window, at_gradient, planes, turned, sums = room.take([*eight, *sizes])
    extents = ", ".join(f"i64 {each}" for each in bands.extents)
    text.call(
        "tables",
        "ptr %known",
        f"i64 {known.chunk}",
        f"i64 {bands.plane}",
        f"{extents}",
        f"ptr {unused}",
        f"ptr {kb}",
        f"ptr {starts}",
    )
    with Loop(text, "row", "0", terms) as row:
        place = text.at(planes, text.word(kb, row.counter))
        text.line(f"  store ptr {place}, ptr {text.at(rows, row.counter, 'ptr')}")
    with Loop(text, "window", "0", windows) as each:
        index = split(text, each.counter, bands.counts)
        text.put(at_window, each.counter, joined(text, index, bands.extents))
        text.put(at_gradient, each.counter, text.mul(each.counter, pitch))
    count_of_bands = text.divide(text.add(bands.length, text.sub(bands.size, 1)), bands.size)
    first_group, last = text.divide("%begin", known.channels), text.sub("%end", 1)
    with Loop(text, "group", first_group, text.add(text.divide(last, known.channels), 1)) as group:
        before = text.mul(group.counter, known.channels)
        low = text.larger(text.sub("%begin", before), 0)
        high = text.smaller(text.sub("%end", before), known.channels)
        outputs = text.mul(group.counter, known.outputs)
        with Loop(text, "sample", "0", known.samples) as sample, Loop(text, "band", "0", count_of_bands) as band:
            first = text.mul(band.counter, bands.size)
            counts, given = bands.of(first, text.smaller(bands.size, text.sub(bands.length, first)))
            results = text.at(grad, text.inner((sample.counter, known.out_sample), (outputs, known.out_channel)))
            text.call("turn", "ptr %known", f"ptr {results}", f"ptr {turned}", f"i64 {pitch}", f"{given}")
            adds = text.is_("ne", text.add(sample.counter, band.counter), 0)
            shown = text.mul(*counts)
            with Loop(
                text, "chunk", "0", text.divide(text.add(text.sub(high, low), text.sub(known.chunk, 1)), known.chunk)
            ) as chunk:
                done = text.mul(chunk.counter, known.chunk)
                channel = text.add(low, done)
                channels = text.smaller(known.chunk, text.sub(high, channel))
                place = text.inner((sample.counter, known.x_sample), (text.add(before, channel), known.x_channel))
                text.call(
                    "prepare",
                    "ptr %known",
                    f"ptr {text.at(x, place)}",
                    f"ptr {planes}",
                    f"i64 {channels}",
                    f"i64 {bands.plane}",
                    f"{given}",
                )
                text.call(
                    "tiles",
                    f"ptr {rows}",
                    "i64 0",
                    f"i64 {text.mul(channels, window)}",
                    f"ptr {at_window}",
                    f"ptr {at_gradient}",
                    f"i64 {shown}",
                    f"ptr {turned}",
                    f"i64 {pitch}",
                    f"ptr {text.at(sums, text.mul(done, window, pitch))}",
                    f"i64 {pitch}",
                    f"i1 {adds}",
                    "i1 false",
                )
        with Loop(text, "c", low, high) as c, Loop(text, "t", "0", window) as t:
            element = split(text, t.counter, known.length)
            steps = zip(element, known.w_stride, strict=True)
            target = text.inner((group.counter, known.w_group), (c.counter, known.w_channel), *steps)
            source = text.mul(text.inner((text.sub(c.counter, low), window), (t.counter, 1)), pitch)
            with Loop(text, "o", "0", known.outputs) as o:
                value = text.value(f"load {machine.element}, ptr {text.at(sums, text.add(source, o.counter))}")
                place = text.at(out, text.add(target, text.mul(o.counter, known.w_output)))
                text.line(f"  store {machine.element} {value}, ptr {place}")
    room.free()
    return text.end()
