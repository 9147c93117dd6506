"""Reader of CUBIN (ELF) files: registers, stack and shared memory of kernels, and counts of their instructions."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

# Attributes of the section .nv.info, as cuobjdump and the tools of CuAssembler name them.
_REGISTER_COUNT, _STACK_SIZE = 0x2F, 0x12
_SIZED = 4

# Instructions have 128 bits from Volta on: the operation is in the low 9 bits, the form of its operands in the next 3,
# the size of the moved data in bits 73 to 75. NOP only fills up the code.
_LOAD, _STORE, _MUFU, _FCHK, _CALL, _NOP = 0x181, 0x186, 0x108, 0x102, 0x144, 0x118
_128_BITS = 6


class Resources(NamedTuple):
    """Resources of a kernel.

    registers: number per thread.
    stack: bytes per thread, which spilled registers use.
    shared: bytes per block, including those that the system reserves on newer architectures.
    loads, stores: numbers of instructions that move 128 bits.
    instructions: number of all instructions, those of slow paths included.
    functions: number of approximations by the special function unit (MUFU).
    divisions: number of exact divisions of floats (FCHK).
    calls: number of calls, such as of the slow path of an exact division.
    """

    registers: int
    stack: int
    shared: int
    loads: int
    stores: int
    instructions: int
    functions: int
    divisions: int
    calls: int


class _Section(NamedTuple):
    name: str
    kind: int
    offset: int
    size: int
    link: int


def resources(cubin: bytes) -> dict[str, Resources]:
    """Return the resources of the kernels in a CUBIN by name."""
    sections = _sections(cubin)
    content = {section.name: cubin[section.offset : section.offset + section.size] for section in sections}
    shared = {section.name: section.size for section in sections}
    registers = dict(_values(cubin, sections, _REGISTER_COUNT))
    stacks = dict(_values(cubin, sections, _STACK_SIZE))
    kernels = {}
    for name, code in content.items():
        kernel = name.removeprefix(".text.")
        if kernel != name:
            operations = list(_operations(code))
            counts = Counter(operation for operation, _ in operations)
            wide = Counter(operation for operation, size in operations if size == _128_BITS)
            kernels[kernel] = Resources(
                registers[kernel],
                stacks.get(kernel, 0),
                shared.get(f".nv.shared.{kernel}", 0),
                wide[_LOAD],
                wide[_STORE],
                counts.total() - counts[_NOP],
                *(counts[operation] for operation in (_MUFU, _FCHK, _CALL)),
            )
    return kernels


def _sections(cubin: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    raw = [struct.unpack_from("<IIQQQQII", cubin, table + size * at) for at in range(count)]
    texts = raw[names][4]
    return [
        _Section(_text(cubin, texts + name), kind, offset, length, link)
        for name, kind, _, _, offset, length, link, _ in raw
    ]


def _text(cubin: bytes, offset: int) -> str:
    return cubin[offset : cubin.index(b"\0", offset)].decode()


def _values(cubin: bytes, sections: list[_Section], wanted: int) -> Iterator[tuple[str, int]]:
    """Yield the values of an attribute of functions, each with the function's name."""
    by_name = {section.name: section for section in sections}
    symbols, info = by_name[".symtab"], by_name[".nv.info"]
    names = sections[symbols.link].offset
    at = info.offset
    while at < info.offset + info.size:
        form, attribute, size = struct.unpack_from("<BBH", cubin, at)
        at += 4
        if form == _SIZED:
            if attribute == wanted:
                symbol, value = struct.unpack_from("<II", cubin, at)
                (name,) = struct.unpack_from("<I", cubin, symbols.offset + 24 * symbol)
                yield _text(cubin, names + name), value
            at += size


def _operations(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield the operation of each instruction, and the field that is the size of what a load or store moves."""
    for low, high in struct.iter_unpack("<QQ", code[: len(code) // 16 * 16]):
        yield low & 0x1FF, high >> 9 & 7
