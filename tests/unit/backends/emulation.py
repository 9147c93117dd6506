"""Runs printed CUDA C++ on the CPU: g++ compiles it with CUDA's names defined away, a loop stands for the grid.

Blocks and threads run one after the other, so it is for kernels whose threads do not talk to each other.
"""

from __future__ import annotations

import ctypes
import math
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opdsl.backends.cuda.pointwise_source import THREADS, Pointwise, layout, pointwise_source, prelude
from opdsl.kernels.calls import PointwiseCall
from opdsl.scalar import TypedGraph

HEADER = """
#include <math.h>
#include <string.h>
#include <utility>
#define __device__
#define __global__
#define __launch_bounds__(threads)
struct Index { unsigned x; };
static Index blockIdx, blockDim, threadIdx;
static inline unsigned __umulhi(unsigned first, unsigned second) {
    return static_cast<unsigned>(static_cast<unsigned long long>(first) * second >> 32);
}
template <typename... Given, size_t... at>
static void run_grid(
    void (*kernel)(Given...), std::index_sequence<at...>, unsigned blocks, unsigned threads, void** given) {
    blockDim.x = threads;
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) {
            kernel(*static_cast<std::remove_const_t<Given>*>(given[at])...);
        }
    }
}
template <typename... Given>
static void launch(void (*kernel)(Given...), unsigned blocks, unsigned threads, void** given) {
    run_grid(kernel, std::index_sequence_for<Given...>(), blocks, threads, given);
}
"""

# Contraction is off, as --fmad=false is for NVRTC; shifts and overflows that C++ leaves open would end the process.
OPTIONS = ("-std=c++17", "-O1", "-ffp-contract=off", "-Wno-unknown-pragmas", "-shared", "-fPIC")


def compiled(text: str) -> ctypes.CDLL:
    """A translation unit as a library."""
    with tempfile.TemporaryDirectory(prefix="opdsl-emulation-") as folder:
        source, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
        source.write_text(HEADER + text)
        run = subprocess.run(["g++", *OPTIONS, source, "-o", library], capture_output=True, text=True, timeout=600)
        assert run.returncode == 0, run.stderr[:4000]
        return ctypes.CDLL(str(library))


class Emulation:
    """Kernels of one translation unit.

    Args:
        wanted: by name, what to print each kernel of.
    """

    def __init__(self, wanted: Mapping[str, tuple[TypedGraph, PointwiseCall]]) -> None:
        self.printed: dict[str, Pointwise] = {
            name: pointwise_source(graph, call, name) for name, (graph, call) in wanted.items()
        }
        kernels = [f"{name}_{kind}" for name in wanted for kind in ("vectors", "strided")]
        launchers = [
            f'extern "C" void launch_{each}(unsigned blocks, unsigned threads, void** given) '
            f"{{ launch({each}, blocks, threads, given); }}"
            for each in kernels
        ]
        sources = [each.source for each in self.printed.values()]
        self.library = compiled("\n".join([prelude(), *sources, *launchers]))

    def strided(self, name: str, operands: Sequence[Any], call: PointwiseCall) -> None:
        """Run the general kernel on arrays and numbers, the outputs last."""
        count = math.prod(call.sizes)
        structure = ctypes.create_string_buffer(layout(call))
        self._launch(f"{name}_strided", count, operands, [structure, ctypes.c_longlong(count)])

    def vectors(self, name: str, operands: Sequence[Any], call: PointwiseCall) -> None:
        """Run the kernel for contiguous and aligned arrays."""
        count = math.prod(call.sizes)
        threads = -(-count // self.printed[name].elements)
        self._launch(f"{name}_vectors", threads, operands, [ctypes.c_longlong(count)])

    def _launch(self, kernel: str, threads: int, operands: Sequence[Any], further: Sequence[Any]) -> None:
        given = [_parameter(each) for each in operands] + list(further)
        addresses = (ctypes.c_void_p * len(given))(*map(ctypes.addressof, given))
        self.library[f"launch_{kernel}"](-(-threads // THREADS), THREADS, addresses)


def _parameter(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ctypes.c_void_p(value.__array_interface__["data"][0])
    if isinstance(value, complex):
        return (ctypes.c_double * 2)(value.real, value.imag)
    return ctypes.c_double(value) if isinstance(value, float) else ctypes.c_longlong(int(value))
