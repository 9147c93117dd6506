"""Kernels as host functions: g++ compiles their C++ in place of NVRTC.

Several sources are compiled into one library, since most of the time is spent on their common headers. Libraries are
stored in the kernel cache, each under a digest of everything that it is compiled from.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import math
import os
import re
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import opdsl.backends.cuda
from opdsl.backends import cache
from opdsl.backends.cuda.program import Source

__all__ = ["ENTRY", "MISSING", "Started", "build", "is_built", "kernel", "needs_compiler"]

# The reason why nothing can be compiled, or None.
MISSING = None if shutil.which("g++") else "needs g++ (apt-get install g++), which compiles what CUDA devices would run"
needs_compiler = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))

# Contraction is off, as by --fmad=false for NVRTC. Shared memory is a static variable of each library, separate from
# those of the same name in other libraries (no "unique" symbols).
_OPTIONS = (
    "-std=c++17",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fno-gnu-unique",
    "-U_FORTIFY_SOURCE",
    "-fPIC",
    "-w",
)
# Kernels run on little data but are many to compile, so they are not optimized.
_KERNELS = (*_OPTIONS, "-O0", "-fvisibility=hidden")
_GRID = (*_OPTIONS, "-O2")
_LINKED = ("-shared", "-s", "-Wl,-z,noseparate-code")

_HERE = Path(__file__).parent
# Ordered so that each follows the headers that it needs.
_HEADERS = ("prelude", "neighbours", "team", "reduce", "row", "atomics", "products")
ENTRY = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\(')
_WAITS = re.compile(r"__sync|__shfl")

Sizes: TypeAlias = tuple[int, int, int]

_libraries: dict[str, ctypes.CDLL] = {}


def kernel(source: Source, entry: str) -> int:
    """Return the address of a kernel's ``emulated::Kernel``, after compiling its source if necessary."""
    unit = _unit(source)
    if not is_built(source):
        build([source])
    return ctypes.addressof(ctypes.c_char.in_dll(_libraries[unit], f"{unit}_{entry}"))


def is_built(source: Source) -> bool:
    """Return whether a source has been compiled, by this process or in the kernel cache."""
    unit = _unit(source)
    if unit not in _libraries:
        name = cache.load(f"emulated unit {unit}")
        content = name and cache.load(f"emulated library {name.decode()}")
        if name and content:
            _libraries[unit] = _loaded(name.decode(), content)
    return unit in _libraries


def build(sources: Iterable[Source]) -> None:
    """Compile those of the sources that are not built yet, all into one library."""
    units = {_unit(source): source for source in sources if not is_built(source)}
    if not units:
        return
    name = _digest(*units)
    content = _compiled("\n".join(_text(unit, source) for unit, source in units.items()), _KERNELS, _precompiled())
    cache.store(f"emulated library {name}", content)
    library = _loaded(name, content)
    for unit in units:
        cache.store(f"emulated unit {unit}", name.encode())
        _libraries[unit] = library


@functools.cache
def grid() -> Any:
    """Return the library that runs kernels, see ``grid.cpp``."""
    text = (_HERE / "grid.cpp").read_text()
    name = _digest(text)
    content = cache.load(f"emulated grid {name}")
    if content is None:
        content = _compiled(text, _GRID)
        cache.store(f"emulated grid {name}", content)
    # RTLD_GLOBAL lets kernels of all libraries find the grid's functions.
    library = _opened(name, content, ctypes.RTLD_GLOBAL)
    library.emulated_hold.restype = ctypes.c_void_p
    return library


class Started:
    """Launched kernel, with a copy of its parameters at the time of the launch.

    Args:
        kernel: address from ``kernel``.
        blocks, threads: sizes of the grid and of a block.
        parameters: the address of an array of the addresses of its parameters.
    """

    def __init__(self, kernel: int, blocks: Sizes, threads: Sizes, parameters: int) -> None:
        assert math.prod(threads) <= 1024 and min(*blocks, *threads) > 0 and max(blocks[1:]) < 1 << 16
        self.kernel = ctypes.c_void_p(kernel)
        self.sizes = (ctypes.c_uint * 3)(*blocks), (ctypes.c_uint * 3)(*threads)
        self.parameters = ctypes.c_void_p(grid().emulated_hold(self.kernel, ctypes.c_void_p(parameters)))
        weakref.finalize(self, grid().emulated_release, self.parameters)

    def run(self) -> None:
        """Run the kernel to its end."""
        grid().emulated_launch(self.kernel, *self.sizes, self.parameters)


# ------------------------------------------------------------------------------------------------------------- sources


@functools.lru_cache(maxsize=4096)
def _unit(source: Source) -> str:
    """Return the name of the translation unit for a source."""
    return "unit" + _digest(source.body(), *source.headers)


def _text(unit: str, source: Source) -> str:
    """Return a source in a C++ namespace, followed by the descriptions of its kernels."""
    body = source.body()
    waits = str("team" in source.headers or bool(_WAITS.search(body))).lower()
    entries = [
        f'extern "C" __attribute__((visibility("default"))) const emulated::Kernel {unit}_{name} = {{\n'
        f"    emulated::Entry<{unit}::{name}>::run, emulated::Entry<{unit}::{name}>::sizes, {waits}, emulated::touch}};"
        for name in dict.fromkeys(ENTRY.findall(body))
    ]
    inner = body.replace('extern "C" ', "")
    return "\n".join([f"namespace {unit} {{", inner, "}", *entries])


@functools.cache
def _digest(*texts: str) -> str:
    """Return a digest of texts and of everything that all libraries are compiled from."""
    digest = hashlib.sha256()
    for text in (*texts, *_KERNELS, *_GRID, *_LINKED, _beginning()):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest()[:24]


@functools.cache
def _beginning() -> str:
    """Return the text of the headers that all kernels include."""
    package = Path(opdsl.backends.cuda.__file__).parent
    return "\n".join(
        [(_HERE / "grid.h").read_text(), *((package / f"{header}.cuh").read_text() for header in _HEADERS)]
    )


# ----------------------------------------------------------------------------------------------------------- compiling


@functools.cache
def _folder() -> Path:
    """Return a temporary folder that exists until the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="opdsl-emulation-")
    _kept.append(folder)
    return Path(folder.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def _precompiled() -> Path:
    """Precompile the common header of kernels, and return its path, next to which g++ finds the result."""
    header = _folder() / f"kernels-{os.getpid()}.h"
    header.write_text(_beginning())
    _run("g++", *_KERNELS, "-x", "c++-header", str(header), "-o", f"{header}.gch")
    return header


def _compiled(text: str, options: Iterable[str], header: Path | None = None) -> bytes:
    """Compile a translation unit, and return the content of its library."""
    place = _folder() / f"made-{os.getpid()}"
    source, suffix = place.with_suffix(".cpp"), place.with_suffix(".so")
    source.write_text(text)
    included = ["-I", str(_HERE)] if header is None else ["-include", str(header)]
    _run("g++", *options, *_LINKED, *included, str(source), "-o", str(suffix))
    return suffix.read_bytes()


def _run(*command: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stderr[:4000]


def _loaded(name: str, content: bytes) -> ctypes.CDLL:
    """Load the library of kernels with a name and content."""
    grid()
    return _opened(name, content, ctypes.RTLD_LOCAL)


@functools.cache
def _opened(name: str, content: bytes, mode: int) -> ctypes.CDLL:
    path = _folder() / f"{name}-{os.getpid()}.so"
    path.write_bytes(content)
    opened = ctypes.CDLL(str(path), mode)
    path.unlink()
    return opened
