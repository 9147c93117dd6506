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
from opdsl.backends.cpu.loops import Loop
from opdsl.backends.cpu.plane_text import finish_ir, prepare_ir, tables_ir
from opdsl.backends.cpu.storage import MEMORY
from opdsl.backends.cpu.tile_text import dots_ir, tiles_ir
from opdsl.backends.cpu.turn_text import turn_ir
from opdsl.backends.cpu.vector_text import ATTRIBUTES, Function, Machine, When, While, declarations

SYMBOLS = ("correlate", "weigh")

# What a row of a window's element costs in the gradient of a weight, for a vector of windows and an output, and for a
# window and a vector of outputs. The smaller sum of costs decides; both were timed on a grid of sizes.
_COST_OF_A_DOT, _COST_IN_A_TILE = 16, 11


def module_ir(machine: Machine) -> str:
    """The module: ``correlate`` and ``weigh``, which are loops of plans over units of their results."""
    printed = (tiles_ir, dots_ir, prepare_ir, finish_ir, turn_ir, _correlate, _weigh, declarations)
    return "\n".join([*(each(machine) for each in printed), tables_ir(), ATTRIBUTES])


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


def operand(text: Function, slot: object) -> str:
    return text.value(f"load ptr, ptr {text.at('%frame', slot, 'i8')}")


def sizes_in_bytes(text: Function, count: str, *slack: int) -> str:
    """Bytes of so many elements."""
    return text.mul(text.add(count, *slack), MEMORY[text.machine.dtype].itemsize)


def _correlate(machine: Machine) -> str:
    """Bands [begin, end) of the results, counted through groups and samples."""
    text = Function(machine, "void @correlate(ptr %frame, i64 %begin, i64 %end)")
    known = Known(text, known_words(text))
    x, w, out = operand(text, 16), operand(text, 32), operand(text, known.out_slot)
    is_biased = text.is_("ne", known.is_biased, 0)
    bias = text.value(f"select i1 {is_biased}, ptr {operand(text, text.choose(is_biased, 48, 16))}, ptr null")
    bands = Bands(text, known)
    terms = text.mul(known.channels, *known.length)
    phases = text.mul(*known.out_phases)
    pitch = text.add(text.mul(bands.counts[0], bands.extents[1], bands.extents[2]), machine.widest)
    height = machine.shapes[0].rows
    room = Room(text)
    eight = [text.mul(text.add(each, 1), 8) for each in (terms, terms, phases, known.outputs)]
    planes_size = sizes_in_bytes(text, text.mul(known.channels, bands.plane), 2 * machine.widest)
    ka, kb, starts, rows, planes, sums = room.take([*eight, planes_size, sizes_in_bytes(text, text.mul(pitch, height))])
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
            address = text.at(weight, text.mul(row.counter, known.w_output))
            text.line(f"  store ptr {address}, ptr {text.at(rows, row.counter, 'ptr')}")
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
    grad, x, out = operand(text, 16), operand(text, 32), operand(text, known.out_slot)
    bands = Bands(text, known)
    window = text.mul(*known.length)
    terms = text.mul(known.chunk, window)
    windows = text.mul(*bands.counts)
    pitch = text.value(f"and i64 {text.add(known.outputs, machine.lanes - 1)}, {-machine.lanes}")
    whole = text.mul(text.smaller(known.channels, text.sub("%end", "%begin")), window)
    room = Room(text)
    eight = [text.mul(text.add(each, 1), 8) for each in (terms, terms, "1", terms, windows, windows)]
    sizes = [
        sizes_in_bytes(text, text.mul(known.chunk, bands.plane), 2 * machine.widest),
        sizes_in_bytes(text, text.mul(pitch, windows), machine.widest),
        sizes_in_bytes(text, text.mul(pitch, whole), machine.widest),
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
    count_of_bands = text.ceiling(bands.length, bands.size)
    wide = bands.counts[2]
    folded = text.mul(known.outputs, text.ceiling(wide, machine.lanes), _COST_OF_A_DOT)
    tiled = text.mul(text.ceiling(known.outputs, machine.lanes), wide, _COST_IN_A_TILE)
    folds = text.value(f"and i1 {text.is_('ult', folded, tiled)}, {text.is_('eq', known.out_stride[2], 1)}")
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
            with When(text, "tiled", text.value(f"xor i1 {folds}, true")):
                _turn_results(text, known, results, turned, pitch, counts, first, bands)
            adds = text.is_("ne", text.add(sample.counter, band.counter), 0)
            shown = text.mul(*counts)
            with Loop(text, "chunk", "0", text.ceiling(text.sub(high, low), known.chunk)) as chunk:
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
                height = text.mul(channels, window)
                target = text.at(sums, text.mul(done, window, pitch))
                text.line(f"  br i1 {folds}, label %folding, label %tiling\ntiling:")
                text.call(
                    "tiles",
                    f"ptr {rows}",
                    "i64 0",
                    f"i64 {height}",
                    f"ptr {at_window}",
                    f"ptr {at_gradient}",
                    f"i64 {shown}",
                    f"ptr {turned}",
                    f"i64 {pitch}",
                    f"ptr {target}",
                    f"i64 {pitch}",
                    f"i1 {adds}",
                    "i1 false",
                )
                text.line("  br label %summed\nfolding:")
                begins = [text.choose(cut, first, 0) for cut in bands.is_cut]
                start = text.at(results, text.inner(*zip(begins, known.out_stride, strict=True)))
                with Loop(text, "folded", "0", known.outputs) as o:
                    text.call(
                        "dots",
                        f"ptr {rows}",
                        f"i64 {height}",
                        f"ptr {text.at(start, text.mul(o.counter, known.out_channel))}",
                        *(f"i64 {each}" for each in (*counts, *known.out_stride[:2], *bands.extents[1:])),
                        f"ptr {text.at(target, o.counter)}",
                        f"i64 {pitch}",
                        f"i1 {adds}",
                    )
                text.line("  br label %summed\nsummed:")
        target = text.at(out, text.inner((group.counter, known.w_group), (low, known.w_channel)))
        _write_weight(text, known, sums, pitch, target, text.sub(high, low))
    room.free()
    return text.end()


def _turn_results(
    text: Function, known: Known, results: str, turned: str, pitch: str, counts: list[str], first: str, bands: Bands
) -> None:
    """Lay the results of a band out with their outputs side by side: a row of ``pitch`` for each, zeros behind."""
    strides = known.out_stride
    begins = [text.choose(cut, first, 0) for cut in bands.is_cut]
    start = text.at(results, text.inner(*zip(begins, strides, strict=True)))
    # Rows without gaps are one.
    is_one = [text.is_("eq", strides[0], text.mul(counts[1], counts[2])), text.is_("eq", strides[1], counts[2])]
    is_one = [
        text.value(f"or i1 {each}, {text.is_('eq', count, 1)}") for each, count in zip(is_one, counts, strict=False)
    ]
    dense = text.value(f"and i1 {is_one[0]}, {is_one[1]}")
    whole = text.mul(*counts)
    length = text.choose(dense, whole, counts[2])
    with Loop(text, "line", "0", text.choose(dense, 1, text.mul(counts[0], counts[1]))) as line:
        index = (text.divide(line.counter, counts[1]), text.remainder(line.counter, counts[1]))
        source = text.at(start, text.inner(*zip(index, strides, strict=False)))
        target = text.at(turned, text.mul(line.counter, counts[2], pitch))
        text.call(
            "turn",
            f"ptr {source}",
            f"i64 {known.out_channel}",
            f"i64 {strides[2]}",
            f"i64 {known.outputs}",
            f"i64 {length}",
            f"ptr {target}",
            f"i64 {pitch}",
            f"i64 {pitch}",
        )


def _write_weight(text: Function, known: Known, sums: str, pitch: str, target: str, channels: str) -> None:
    """Write sums, a row for each element of a channel's window, to where the weight of channels lies."""
    window = text.mul(*known.length)
    dense = text.is_("eq", known.w_channel, window)
    step = "1"
    for length, stride in reversed(list(zip(known.length, known.w_stride, strict=True))):
        fits = text.value(f"or i1 {text.is_('eq', stride, step)}, {text.is_('eq', length, 1)}")
        dense = text.value(f"and i1 {dense}, {fits}")
        step = text.mul(step, length)
    text.line(f"  br i1 {dense}, label %together, label %apart\ntogether:")
    rows = text.mul(channels, window)
    given = [f"ptr {sums}", f"i64 {pitch}", "i64 1", f"i64 {rows}"]
    text.call("turn", *given, f"i64 {known.outputs}", f"ptr {target}", f"i64 {known.w_output}", f"i64 {rows}")
    text.line("  br label %written\napart:")
    with Loop(text, "t", "0", window) as t:
        steps = zip(split(text, t.counter, known.length), known.w_stride, strict=True)
        element = text.at(target, text.inner(*steps))
        source = text.at(sums, text.mul(t.counter, pitch))
        text.line(f"  br i1 {text.is_('eq', known.w_channel, 1)}, label %across, label %single\nacross:")
        given = [f"ptr {source}", f"i64 {text.mul(window, pitch)}", "i64 1", f"i64 {channels}", f"i64 {known.outputs}"]
        text.call("turn", *given, f"ptr {element}", f"i64 {known.w_output}", f"i64 {channels}")
        text.line("  br label %laid\nsingle:")
        with Loop(text, "c", "0", channels) as c, Loop(text, "o", "0", known.outputs) as o:
            read = text.at(source, text.inner((c.counter, text.mul(window, pitch)), (o.counter, 1)))
            value = text.value(f"load {text.machine.element}, ptr {read}")
            address = text.at(element, text.inner((c.counter, known.w_channel), (o.counter, known.w_output)))
            text.line(f"  store {text.machine.element} {value}, ptr {address}")
        text.line("  br label %laid\nlaid:")
    text.line("  br label %written\nwritten:")
