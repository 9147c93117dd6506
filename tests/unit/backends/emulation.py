"""CUDA programs on the host: their C++ compiled by g++, run by a grid and blocks that are emulated.

A thread of a block is a fiber of its own, which gives way where it waits for others: at ``__syncthreads`` and in
shuffles. Blocks run one after another.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opdsl.backends.cuda.program import Address, Argument, Constant, Launch, Number, Program, Scratch, Source, header

# Contraction is off, as --fmad=false is for NVRTC. Shared memory is a static variable of each library's own, whatever
# others have under the same name (no "unique" symbols).
OPTIONS = (
    "-std=c++17",
    "-O0",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-gnu-unique",
    "-U_FORTIFY_SOURCE",
    "-w",
)
GRID = Path(__file__).with_name("emulated_grid.h")


def compiled(text: str, folder: Path) -> ctypes.CDLL:
    """A translation unit as a library, kept in a folder under a digest of what it is made of."""
    digest = hashlib.sha256("\n".join([*OPTIONS, GRID.read_text(), text]).encode()).hexdigest()[:24]
    library = folder / f"emulation-{digest}.so"
    if not library.exists():
        source = folder / f"emulation-{digest}-{os.getpid()}.cpp"
        source.write_text(text)
        made = source.with_suffix(".so")
        command = ["g++", *OPTIONS, "-include", str(GRID), "-shared", "-fPIC", str(source), "-o", str(made)]
        run = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stderr[:4000]
        made.rename(library)
        source.unlink()
    return ctypes.CDLL(str(library))


class Emulation:
    """Programs, in one translation unit for all of them.

    Args:
        programs: what may be run; those that have a source in common are compiled once.
        folder: where libraries are kept.
    """

    def __init__(self, programs: Iterable[Program], folder: Path) -> None:
        sources = {each.source.fingerprint: each.source for each in programs}
        self.places = {fingerprint: place for place, fingerprint in enumerate(sources)}
        headers = dict.fromkeys(name for each in sources.values() for name in each.headers)
        entries = dict.fromkeys((each.source.fingerprint, name) for each in programs for name in _entries(each))
        text = [
            *map(header, headers),
            *(_unit(place, source) for place, source in enumerate(sources.values())),
            *(_launcher(self.places[each], name, together="team" in sources[each].headers) for each, name in entries),
        ]
        self.library = compiled("\n".join(text), folder)

    def run(self, program: Program, operands: Sequence[Any], variant: int | None = None) -> None:
        """Run a program.

        Args:
            operands: arrays and numbers, the outputs last.
            variant: which one; None for the one that the addresses ask for.
        """
        addresses = [_address(each) for each in operands if isinstance(each, np.ndarray)]
        chosen = program.variant(addresses) if variant is None else program.variants[variant]
        scratch = np.full(program.scratch + 256, 0xA5, np.uint8)
        base = -(-_address(scratch) // 256) * 256
        for launch in chosen.launches:
            self._launch(program, launch, operands, base)
        assert (scratch[base - _address(scratch) + program.scratch :] == 0xA5).all(), "scratch memory was exceeded"

    def _launch(self, program: Program, launch: Launch, operands: Sequence[Any], scratch: int) -> None:
        given = [_parameter(each, operands, scratch) for each in launch.arguments]
        addresses = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        grid, block = (ctypes.c_uint * 3)(*launch.grid), (ctypes.c_uint * 3)(*launch.block)
        assert math.prod(launch.block) <= 1024
        run = self.library[f"launch{self.places[program.source.fingerprint]}_{launch.entry}"]
        run(grid, block, ctypes.c_size_t(launch.shared), addresses)


def _entries(program: Program) -> list[str]:
    return [launch.entry for variant in program.variants for launch in variant.launches]


def _unit(place: int, source: Source) -> str:
    text = source.body().replace('extern "C" ', "")
    return f"namespace unit{place} {{\n{text}\n}}"


def _launcher(place: int, entry: str, *, together: bool) -> str:
    """A function of C that starts a kernel.

    together: whether its threads may wait for each other; those that are in no team never do.
    """
    called = f"emulated::launch(unit{place}::{entry}, grid, block, shared, {str(together).lower()}, given)"
    return (
        f'extern "C" void launch{place}_{entry}(const unsigned* grid, const unsigned* block, size_t shared, '
        f"void** given) {{ {called}; }}"
    )


def _address(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _parameter(argument: Argument, operands: Sequence[Any], scratch: int) -> Any:
    match argument:
        case Address(operand):
            return ctypes.c_void_p(_address(operands[operand]))
        case Scratch(offset):
            return ctypes.c_void_p(scratch + offset)
        case Constant(content):
            return ctypes.create_string_buffer(content, len(content))
        case Number(operand):
            value, kind = operands[operand], argument.c_type
            if kind == "Complex<double>":
                return (ctypes.c_double * 2)(complex(value).real, complex(value).imag)
            return ctypes.c_double(value) if kind == "double" else ctypes.c_longlong(int(value))
