"""LLVM text of what convolutions do beside multiplying: planes of what windows show, results, tables of offsets."""

from __future__ import annotations

from opdsl.backends.cpu.convolution_words import DIMENSIONS, Known, joined, split
from opdsl.backends.cpu.loops import Loop
from opdsl.backends.cpu.storage import MEMORY
from opdsl.backends.cpu.vector_text import Function, Machine

BAND = ", ".join([f"i64 %n{dim}, i64 %q{dim}, i64 %e{dim}" for dim in range(DIMENSIONS)])


def prepare_ir(machine: Machine) -> str:
    """Make planes of channels: elements of the input a step apart, zeros where it has none.

    n: windows of the band along each dimension; q: the first one; e: how large planes are.
    """
    text = Function(
        machine, f"internal void @prepare(ptr %known, ptr %x, ptr %to, i64 %channels, i64 %plane, {BAND}) noinline"
    )
    known = Known(text)
    unit = text.is_("eq", text.mul(known.step[2], known.x_stride[2]), 1)
    size = text.mul("%e0", "%e1", "%e2")
    ends = [text.add(f"%n{dim}", known.shift[dim]) for dim in range(DIMENSIONS)]
    begins = [text.add(known.base[dim], text.mul(f"%q{dim}", known.step[dim])) for dim in range(DIMENSIONS)]
    text.line(f"  br i1 {_crosses(text, '%channels', known.x_channel, unit)}, label %crossing, label %plain\ncrossing:")
    _prepare_across(text, known, begins, ends)
    text.line("  ret void\nplain:")
    with Loop(text, "c", "0", "%channels") as c, Loop(text, "r0", "0", known.phases[0]) as r0:
        channel, target = text.mul(c.counter, known.x_channel), text.mul(c.counter, "%plane")
        with Loop(text, "r1", "0", known.phases[1]) as r1, Loop(text, "r2", "0", known.phases[2]) as r2:
            phase = text.inner(
                (text.inner((r0.counter, known.phases[1]), (r1.counter, 1)), known.phases[2]), (r2.counter, 1)
            )
            start = text.add(begins[2], r2.counter)
            with Loop(text, "i0", "0", ends[0]) as i0, Loop(text, "i1", "0", ends[1]) as i1:
                row = text.inner((i0.counter, "%e1"), (i1.counter, 1))
                address = text.at("%to", text.add(target, text.mul(phase, size), text.mul(row, "%e2")))
                s0 = text.add(begins[0], text.mul(i0.counter, known.step[0]), r0.counter)
                s1 = text.add(begins[1], text.mul(i1.counter, known.step[1]), r1.counter)
                inside = text.value(
                    f"and i1 {text.is_('ult', s0, known.size[0])}, {text.is_('ult', s1, known.size[1])}"
                )
                limit = text.choose(inside, known.size[2], 0)
                source = text.at(
                    "%x", text.add(channel, text.mul(s0, known.x_stride[0]), text.mul(s1, known.x_stride[1]))
                )
                _copy_row(text, address, source, start, ends[2], limit, known, unit)
    return text.end()


# Fewer channels side by side than this are not worth to be turned.
_FEWEST_TURNED = 4


def _crosses(text: Function, channels: str, stride: str, unit: str) -> str:
    """Whether channels lie side by side, and elements of a row do not."""
    several, near = text.is_("sge", channels, _FEWEST_TURNED), text.is_("eq", stride, 1)
    both = text.value(f"and i1 {several}, {near}")
    return text.value(f"and i1 {both}, {text.value(f'xor i1 {unit}, true')}")


def _within(text: Function, start: str, step: str, count: str, size: str, inside: str) -> tuple[str, str]:
    """Which of ``count`` places a step apart are within a size: the first, and how many; none unless ``inside``."""
    low = text.smaller(text.ceiling(text.larger(0, text.sub(0, start)), step), count)
    high = text.smaller(text.ceiling(text.larger(0, text.sub(size, start)), step), count)
    return low, text.choose(inside, text.larger(0, text.sub(high, low)), 0)


def _prepare_across(text: Function, known: Known, begins: list[str], ends: list[str]) -> None:
    """The planes of channels that lie side by side: all channels of a row at a time."""
    size = text.mul("%e0", "%e1", "%e2")
    loops = [Loop(text, f"across_r{dim}", "0", known.phases[dim]) for dim in range(DIMENSIONS)]
    with loops[0] as r0, loops[1] as r1, loops[2] as r2:
        phase = joined(text, [r0.counter, r1.counter, r2.counter], known.phases)
        start = text.add(begins[2], r2.counter)
        with Loop(text, "across_i0", "0", ends[0]) as i0, Loop(text, "across_i1", "0", ends[1]) as i1:
            row = text.mul(text.inner((i0.counter, "%e1"), (i1.counter, 1)), "%e2")
            address = text.at("%to", text.add(text.mul(phase, size), row))
            s0 = text.add(begins[0], text.mul(i0.counter, known.step[0]), r0.counter)
            s1 = text.add(begins[1], text.mul(i1.counter, known.step[1]), r1.counter)
            inside = text.value(f"and i1 {text.is_('ult', s0, known.size[0])}, {text.is_('ult', s1, known.size[1])}")
            low, count = _within(text, start, known.step[2], ends[2], known.size[2], inside)
            first = text.add(start, text.mul(low, known.step[2]))
            source = text.at("%x", text.inner(*zip((s0, s1, first), known.x_stride, strict=True)))
            with Loop(text, "across_c", "0", "%channels") as c, Loop(text, "across_j", "0", low) as j:
                margin = text.at(address, text.add(text.mul(c.counter, "%plane"), j.counter))
                text.line(f"  store {text.machine.element} 0.0, ptr {margin}")
            text.call(
                "turn",
                f"ptr {source}",
                f"i64 {text.mul(known.step[2], known.x_stride[2])}",
                "i64 1",
                f"i64 {count}",
                "i64 %channels",
                f"ptr {text.at(address, low)}",
                "i64 %plane",
                f"i64 {text.sub(ends[2], low)}",
            )


def _copy_row(
    text: Function, place: str, source: str, start: str, end: str, limit: str, known: Known, unit: str
) -> None:
    """Elements from a start on, with zeros outside of the limit. Up to a vector more than the row is written."""
    machine = text.machine
    align = f"align {MEMORY[machine.dtype].itemsize}"
    text.line(f"  br i1 {unit}, label %near, label %apart\nnear:")
    with Loop(text, "near_j", "0", end, machine.lanes) as j:
        first = text.add(start, j.counter)
        values = text.masked_load(text.at(source, first), text.below(text.lanes_from(first), limit))
        text.line(f"  store {machine.vector} {values}, ptr {text.at(place, j.counter)}, {align}")
    text.line("  br label %copied\napart:")
    second = text.value(f"and i1 {text.is_('eq', known.step[2], 2)}, {text.is_('eq', known.x_stride[2], 1)}")
    text.line(f"  br i1 {second}, label %alternate, label %far\nalternate:")
    with Loop(text, "alternate_j", "0", end, machine.lanes) as j:
        first = text.add(start, text.mul(j.counter, 2))
        starts = [first, text.add(first, machine.lanes)]
        parts = [text.masked_load(text.at(source, each), text.below(text.lanes_from(each), limit)) for each in starts]
        values = text.shuffle(parts[0], parts[1], range(0, 2 * machine.lanes, 2))
        text.line(f"  store {machine.vector} {values}, ptr {text.at(place, j.counter)}, {align}")
    text.line("  br label %copied\nfar:")
    with Loop(text, "far_j", "0", end, machine.lanes) as j:
        numbers = text.lanes_from(text.add(start, text.mul(j.counter, known.step[2])), known.step[2])
        mask = text.below(numbers, limit)
        places = text.addresses(source, numbers, known.x_stride[2])
        values = text.value(
            f"call {machine.vector} @llvm.masked.gather.{machine.suffix}.v{machine.lanes}p0(<{machine.lanes} x ptr> "
            f"{places}, i32 {machine.itemsize}, <{machine.lanes} x i1> {mask}, {machine.vector} zeroinitializer)"
        )
        text.line(f"  store {machine.vector} {values}, ptr {text.at(place, j.counter)}, {align}")
    text.line("  br label %copied\ncopied:")


def finish_ir(machine: Machine) -> str:
    """Write rows of sums to where their results lie, with a bias.

    n, q, e: see ``prepare_ir``; p: the phase of the results.
    """
    phases = ", ".join(f"i64 %p{dim}" for dim in range(DIMENSIONS))
    head = f"ptr %known, ptr %from, i64 %pitch, i64 %height, ptr %to, ptr %bias, {BAND}, {phases}"
    text = Function(machine, f"internal void @finish({head}) noinline")
    known = Known(text)
    vector, lanes, bytes_ = machine.vector, machine.lanes, MEMORY[machine.dtype].itemsize
    begins = [
        text.add(known.out_base[dim], text.mul(f"%q{dim}", known.out_step[dim]), f"%p{dim}")
        for dim in range(DIMENSIONS)
    ]
    unit = text.is_("eq", text.mul(known.out_step[2], known.out_stride[2]), 1)
    text.line(f"  br i1 {_crosses(text, '%height', known.out_channel, unit)}, label %crossing, label %plain\ncrossing:")
    _finish_across(text, known, begins)
    text.line("  ret void\nplain:")
    with Loop(text, "r", "0", "%height") as r:
        bias = _bias_of(text, r.counter)
        sums, results = text.at("%from", text.mul(r.counter, "%pitch")), text.mul(r.counter, known.out_channel)
        with Loop(text, "i0", "0", "%n0") as i0, Loop(text, "i1", "0", "%n1") as i1:
            s0 = text.add(begins[0], text.mul(i0.counter, known.out_step[0]))
            s1 = text.add(begins[1], text.mul(i1.counter, known.out_step[1]))
            inside = text.value(
                f"and i1 {text.is_('ult', s0, known.out_size[0])}, {text.is_('ult', s1, known.out_size[1])}"
            )
            limit = text.choose(inside, known.out_size[2], 0)
            source = text.at(sums, text.mul(text.inner((i0.counter, "%e1"), (i1.counter, 1)), "%e2"))
            target = text.at(
                "%to", text.add(results, text.mul(s0, known.out_stride[0]), text.mul(s1, known.out_stride[1]))
            )
            with Loop(text, "j", "0", "%n2", lanes) as j:
                read = text.value(f"load {vector}, ptr {text.at(source, j.counter)}, align {bytes_}")
                values = text.value(f"fadd {vector} {read}, {bias}")
                first = text.add(begins[2], text.mul(j.counter, known.out_step[2]))
                _store_results(text, target, first, j.counter, values, limit, known)
    return text.end()


def _bias_of(text: Function, row: str) -> str:
    """What is added to a row of sums, in all lanes."""
    element = text.machine.element
    biased = text.value("icmp ne ptr %bias, null")
    some = text.value(f"select i1 {biased}, ptr {text.at('%bias', row)}, ptr %from")
    read = text.value(f"load {element}, ptr {some}")
    return text.splat(text.value(f"select i1 {biased}, {element} {read}, {element} -0.0"))


def _finish_across(text: Function, known: Known, begins: list[str]) -> None:
    """The results of channels that lie side by side: those of all rows of sums at a place together."""
    vector, lanes, align = text.machine.vector, text.machine.lanes, f"align {text.machine.itemsize}"
    with Loop(text, "across_r", "0", "%height") as r:
        bias, row = _bias_of(text, r.counter), text.at("%from", text.mul(r.counter, "%pitch"))
        with Loop(text, "across_p", "0", text.mul("%n0", "%e1", "%e2"), lanes) as p:
            address = text.at(row, p.counter)
            read = text.value(f"load {vector}, ptr {address}, {align}")
            text.line(f"  store {vector} {text.value(f'fadd {vector} {read}, {bias}')}, ptr {address}, {align}")
    with Loop(text, "across_i0", "0", "%n0") as i0, Loop(text, "across_i1", "0", "%n1") as i1:
        s0 = text.add(begins[0], text.mul(i0.counter, known.out_step[0]))
        s1 = text.add(begins[1], text.mul(i1.counter, known.out_step[1]))
        inside = text.value(
            f"and i1 {text.is_('ult', s0, known.out_size[0])}, {text.is_('ult', s1, known.out_size[1])}"
        )
        low, count = _within(text, begins[2], known.out_step[2], "%n2", known.out_size[2], inside)
        first = text.add(begins[2], text.mul(low, known.out_step[2]))
        row = text.mul(text.inner((i0.counter, "%e1"), (i1.counter, 1)), "%e2")
        text.call(
            "turn",
            f"ptr {text.at('%from', text.add(row, low))}",
            "i64 %pitch",
            "i64 1",
            "i64 %height",
            f"i64 {count}",
            f"ptr {text.at('%to', text.inner(*zip((s0, s1, first), known.out_stride, strict=True)))}",
            f"i64 {text.mul(known.out_step[2], known.out_stride[2])}",
            "i64 %height",
        )


def _store_results(text: Function, target: str, first: str, done: str, values: str, limit: str, known: Known) -> None:
    """Store a vector of results, a step apart, as far as there are any.

    first: where the first one lies. done: results of the row before it. limit: of where they may lie.
    """
    machine, lanes = text.machine, text.machine.lanes
    unit = text.is_("eq", text.mul(known.out_step[2], known.out_stride[2]), 1)
    exists = text.below(text.lanes_from(done), "%n2")
    text.line(f"  br i1 {unit}, label %near, label %apart\nnear:")
    text.masked_store(values, text.at(target, first), text.both(text.below(text.lanes_from(first), limit), exists))
    text.line("  br label %stored\napart:")
    second = text.value(f"and i1 {text.is_('eq', known.out_step[2], 2)}, {text.is_('eq', known.out_stride[2], 1)}")
    text.line(f"  br i1 {second}, label %alternate, label %far\nalternate:")
    twice, end = text.mul(done, 2), text.mul("%n2", 2)
    even = "<" + ", ".join(f"i1 {'false' if lane % 2 else 'true'}" for lane in range(lanes)) + ">"
    for half in range(2):
        place = text.add(first, half * lanes)
        within = text.both(
            text.below(text.lanes_from(place), limit), text.below(text.lanes_from(text.add(twice, half * lanes)), end)
        )
        spread = text.shuffle(values, values, [(half * lanes + lane) // 2 for lane in range(lanes)])
        text.masked_store(spread, text.at(target, place), text.both(within, even))
    text.line("  br label %stored\nfar:")
    numbers = text.lanes_from(first, known.out_step[2])
    places = text.addresses(target, numbers, known.out_stride[2])
    mask = text.both(text.below(numbers, limit), exists)
    text.line(
        f"  call void @llvm.masked.scatter.{machine.suffix}.v{lanes}p0({machine.vector} {values}, <{lanes} x ptr> "
        f"{places}, i32 {machine.itemsize}, <{lanes} x i1> {mask})"
    )
    text.line("  br label %stored\nstored:")


def tables_ir() -> str:
    """Where the factors of a sum lie, phase by phase: in the weight (ka) and in the planes (kb).

    starts: where the part of each phase begins, and its end.
    """
    machine = Machine("float32", 1, ())
    extents = ", ".join(f"i64 %e{dim}" for dim in range(DIMENSIONS))
    text = Function(
        machine,
        f"internal void @tables(ptr %known, i64 %channels, i64 %plane, {extents}, ptr %ka, ptr %kb, ptr %starts) "
        "noinline",
    )
    known = Known(text)
    spreads = text.is_("ne", known.spreads, 0)
    phases = text.mul(*known.out_phases)
    size = text.mul("%e0", "%e1", "%e2")
    text.line("  %at = alloca i64\n  store i64 0, ptr %at")
    with Loop(text, "phase", "0", phases) as phase:
        text.put("%starts", phase.counter, text.value("load i64, ptr %at"))
        asked = split(text, phase.counter, known.out_phases)
        with (
            Loop(text, "c", "0", "%channels") as c,
            Loop(text, "t0", "0", known.length[0]) as t0,
            Loop(text, "t1", "0", known.length[1]) as t1,
            Loop(text, "t2", "0", known.length[2]) as t2,
        ):
            moved, residues, fits = [], [], "true"
            for dim, t in enumerate((t0, t1, t2)):
                reach = text.mul(t.counter, known.dilation[dim])
                residue, steps = text.remainder(reach, known.stride[dim]), text.divide(reach, known.stride[dim])
                moved.append(text.choose(spreads, text.sub(known.shift[dim], steps), steps))
                residues.append(text.choose(spreads, 0, residue))
                same = text.is_("eq", residue, asked[dim])
                fits = text.value(f"and i1 {fits}, {same}")
            plane = joined(text, residues, known.phases)
            flat = joined(text, moved, ["%e0", "%e1", "%e2"])
            taken = text.value("load i64, ptr %at")
            offset = text.add(text.mul(c.counter, "%plane"), text.mul(plane, size), flat)
            text.put("%kb", taken, offset)
            taps = zip((t0.counter, t1.counter, t2.counter), known.w_stride, strict=True)
            text.put("%ka", taken, text.inner((c.counter, known.w_channel), *taps))
            counts = text.value(f"select i1 {spreads}, i1 {fits}, i1 true")
            more = text.add(taken, text.value(f"zext i1 {counts} to i64"))
            text.line(f"  store i64 {more}, ptr %at")
    text.put("%starts", phases, text.value("load i64, ptr %at"))
    return text.end()
