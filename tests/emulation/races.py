"""Runner of CUDA programs in random orders of their threads and blocks, from the sources of their kernels, see
``races.cpp``.

Variants of a source, each with a planted fault, are compiled together, in separate namespaces.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opdsl.backends import cache
from opdsl.backends.cuda.program import Address, Argument, Constant, Number, Program, Scratch
from tests.emulation import libraries

__all__ = ["Arena", "Races"]

_HERE = Path(__file__).parent
_OPTIONS = ("-std=c++17", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-gnu-unique", "-U_FORTIFY_SOURCE",
            "-fPIC", "-w", "-fvisibility=hidden", "-DRACES")  # fmt: skip
# Unused bytes between operands.
_GAP = 512


class Arena(NamedTuple):
    """Emulated device memory: arrays in it, surrounded by random bytes of a seed, which also fill unwritten memory."""

    memory: np.ndarray
    arrays: list[Any]
    ranges: list[tuple[int, int]]

    @classmethod
    def of(cls, operands: Sequence[Any], scratch: int, seed: int) -> Arena:
        """Return an arena with copies of arrays at equally aligned addresses; numbers are passed on unchanged."""
        sizes = [extent(operand) for operand in operands if isinstance(operand, np.ndarray)]
        memory = np.random.default_rng(seed).integers(0, 256, sum(sizes) + scratch + _GAP * (len(sizes) + 4), np.uint8)
        at, base = _GAP, memory.__array_interface__["data"][0]
        arrays: list[Any] = []
        ranges = []
        for operand in operands:
            if isinstance(operand, np.ndarray):
                at += -(base + at) % 256 + operand.__array_interface__["data"][0] % 64
                array: np.ndarray = np.ndarray(operand.shape, operand.dtype, memory, at, operand.strides)
                array[...] = operand
                arrays.append(array)
                ranges.append((base + at, base + at + extent(operand)))
                at += extent(operand) + _GAP
            else:
                arrays.append(operand)
        at += -(base + at) % 256
        ranges.append((base + at, base + at + scratch))
        return cls(memory, arrays, ranges)

    @property
    def scratch(self) -> int:
        """Return the address of the scratch memory."""
        return self.ranges[-1][0]


def extent(array: np.ndarray) -> int:
    """Return the number of bytes from the first to the last element of an array without negative strides."""
    reach = sum((size - 1) * step for size, step in zip(array.shape, array.strides, strict=True))
    return reach + array.itemsize if array.size else 0


class Races:
    """Compiled kernels that run in random orders of threads, to detect data races.

    Args:
        sources: texts of CUDA C++ by name.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        parts = ['#include "grid.h"']
        for name, text in sources.items():
            entries = [
                f'extern "C" __attribute__((visibility("default"))) const emulated::Kernel {name}_{entry} = {{\n'
                f"    emulated::Entry<{name}::{entry}>::run, emulated::Entry<{name}::{entry}>::sizes, true, "
                "emulated::touch};"
                for entry in dict.fromkeys(libraries.ENTRY.findall(text))
            ]
            inner = text.replace('extern "C" ', "")
            parts += [f"namespace {name} {{", inner, "}", *entries]
        self._library = _loaded("\n".join(parts))
        self._library.emulated_race.restype = ctypes.c_char_p

    def run(self, name: str, program: Program, operands: Sequence[Any], seed: int) -> tuple[str, list[Any]]:
        """Run a program's launches with the kernels of the named source, in an order that a seed determines.

        Returns:
            A description of the fault ("" if none was detected), and the operands afterwards.
        """
        arena = Arena.of(operands, program.scratch, seed)
        addresses = [array.__array_interface__["data"][0] for array in arena.arrays if isinstance(array, np.ndarray)]
        ends = (ctypes.c_void_p * (2 * len(arena.ranges)))(*(end for both in arena.ranges for end in both))
        for launch in program.variant(addresses).launches:
            parameters = [_parameter(argument, arena) for argument in launch.arguments]
            addressed = (ctypes.c_void_p * max(1, len(parameters)))(*map(ctypes.addressof, parameters))
            problem = self._library.emulated_race(
                ctypes.byref(ctypes.c_char.in_dll(self._library, f"{name}_{launch.entry}")),
                (ctypes.c_uint * 3)(*launch.grid),
                (ctypes.c_uint * 3)(*launch.block),
                addressed,
                ctypes.c_uint(seed),
                ctypes.c_void_p(arena.memory.__array_interface__["data"][0]),
                ctypes.c_size_t(arena.memory.nbytes),
                ends,
                ctypes.c_size_t(len(arena.ranges)),
            ).decode()
            if problem:
                return problem, arena.arrays
        return "", arena.arrays


def _parameter(argument: Argument, arena: Arena) -> Any:
    match argument:
        case Address(operand):
            return ctypes.c_void_p(arena.arrays[operand].__array_interface__["data"][0])
        case Scratch(offset):
            return ctypes.c_void_p(arena.scratch + offset)
        case Constant(content):
            return ctypes.create_string_buffer(content, len(content))
        case Number(operand):
            value, kind = arena.arrays[operand], argument.c_type
            if kind == "Complex<double>":
                return (ctypes.c_double * 2)(complex(value).real, complex(value).imag)
            return ctypes.c_double(value) if kind == "double" else ctypes.c_longlong(int(value))


def _loaded(text: str) -> ctypes.CDLL:
    """Load the library of kernels and grid, compiling it unless the cache holds it."""
    grid = (_HERE / "races.cpp").read_text()
    key = "emulated races " + "\n".join([*_OPTIONS, grid, (_HERE / "grid.h").read_text(), text])
    content = cache.load(key)
    with tempfile.TemporaryDirectory(prefix="opdsl-races-") as name:
        folder = Path(name)
        library = folder / "races.so"
        if content is None:
            (folder / "kernels.cpp").write_text(text)
            _run("-O0", "-fsanitize=thread", "-c", str(folder / "kernels.cpp"), "-o", str(folder / "kernels.o"))
            _run("-O1", "-c", str(_HERE / "races.cpp"), "-o", str(folder / "grid.o"))
            linked = ("-shared", "-Wl,-Bsymbolic", "-pthread")
            _run(*linked, str(folder / "kernels.o"), str(folder / "grid.o"), "-o", str(library))
            content = library.read_bytes()
            cache.store(key, content)
        library.write_bytes(content)
        return ctypes.CDLL(str(library))


def _run(*arguments: str) -> None:
    run = subprocess.run(["g++", *_OPTIONS, "-I", str(_HERE), *arguments], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, re.sub(r"\s+\n", "\n", run.stderr)[:4000]
