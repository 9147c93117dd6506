"""Machine code of a package: the library for this processor, and the steps of plans that run it."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

Bounds: TypeAlias = tuple[int, int]

# The flags that Linux lists for processors of each x86-64 level, beyond those of the level before it.
_LEVELS = {
    "x86-64-v2": ("cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"),
    "x86-64-v3": ("abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}

_WORD = 8
_MOST_THREADS = 256


class UnsupportedProcessorError(ImportError):
    """Raised when a package has no code for this machine's processor."""


class Entry(NamedTuple):
    """Step of a plan, as a table of the package holds it.

    words: the template of the kernel's plan; see ``opdsl.backends.cpu.machine.forms``.
    patches: pairs of the index of a word and that of the size that it gets.
    pointers: pairs of the index of a word and that of the word whose address it gets.
    symbols: pairs of the index of a word and the name of the function whose address it gets.
    sizes: how many sizes there are; they are the first arguments.
    inputs: for each input ``a`` (array), ``f`` (float), ``t`` (truth), ``c`` (complex), ``w`` (64 bits), or the bounds
        of an integer.
    outputs: how many arrays are written; they are the last arguments.
    """

    words: tuple[int, ...]
    patches: tuple[Bounds, ...]
    pointers: tuple[Bounds, ...]
    symbols: tuple[tuple[int, str], ...]
    sizes: int
    inputs: tuple[str | Bounds, ...]
    outputs: int


def levels_here() -> list[str]:
    """Return the names of the targets whose code this machine runs, the best one first."""
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    if machine != "x86_64":
        return [machine]
    flags = _flags()
    levels: list[str] = []
    for level, needed in _LEVELS.items():
        if not flags.issuperset(needed):
            break
        levels.insert(0, level)
    most = os.environ.get("OPDSL_CPU", "")
    return [level for level in [*levels, "x86-64"] if not most or level <= most]


def _flags() -> frozenset[str]:
    """Return the features of this processor, by Linux's names."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), ()))


class Library:
    """Shared library with the kernels of a package, loaded when it is first used.

    Args:
        name: of the package, for errors.
        folder: that has a library for each target.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder
        self._loaded: ctypes.PyDLL | None = None
        self._lock = threading.RLock()

    @property
    def level(self) -> str:
        """Return the name of the target whose code runs here.

        Raises:
            UnsupportedProcessorError: there is no code for this processor.
        """
        suits = [level for level in levels_here() if (self.folder / f"{level}.so").exists()]
        if not suits:
            have = ", ".join(sorted(path.stem for path in self.folder.glob("*.so")))
            raise UnsupportedProcessorError(
                f"{self.name} has code for {have}, and this processor runs {', '.join(levels_here())}. "
                "Build it with `opdsl build --target`."
            )
        return suits[0]

    def load(self) -> ctypes.PyDLL:
        """Return the library, loading it and setting its number of threads at the first use."""
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    # Kernels release the GIL themselves, for work that is large enough.
                    library = ctypes.PyDLL(str(self.folder / f"{self.level}.so"))
                    _begin(library)
                    self._loaded = library
        return self._loaded

    def address(self, symbol: str) -> int:
        """Return the address of a function."""
        return ctypes.cast(getattr(self.load(), symbol), ctypes.c_void_p).value or 0


def _begin(library: ctypes.PyDLL) -> None:
    """Initialize a library that was loaded, once."""
    library.signals_begin()
    processors = _processors()
    asked = os.environ.get("OPDSL_NUM_THREADS", "")
    threads = min(int(asked), _MOST_THREADS) if asked.isdecimal() and int(asked) else processors
    library.pool_set_threads(ctypes.c_int64(threads))
    library.pool_set_processors(ctypes.c_int64(processors))
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: library.pool_reset())
    if "torch" in sys.modules:
        _share_threads(library)


def _share_threads(library: ctypes.PyDLL) -> None:
    """Let a library use the threads of PyTorch's OpenMP runtime, so that the two do not compete."""
    process = ctypes.CDLL(None)
    names = ("GOMP_parallel", "omp_get_max_threads", "omp_get_thread_num")
    if all(hasattr(process, name) for name in names):
        library.pool_use_openmp(*(ctypes.cast(getattr(process, name), ctypes.c_void_p) for name in names))


def _processors() -> int:
    """Return how many processors the process may use, limited by its affinity and its container's CPU quota."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
        usable = min(usable, -(-int(limit) // int(period)))
    except (OSError, ValueError):  # no such file, or "max"
        pass
    return max(1, min(usable, _MOST_THREADS))


class Step:
    """Function that runs a kernel on arrays: it takes sizes, inputs and outputs, and returns the outputs.

    Args:
        library: that has the kernel.
        entry: of the package's table.
        address: returns the address of an array's first element.
    """

    __slots__ = ("_address", "_entry", "_form", "_frame", "_library", "_memory", "_run", "_sizes")

    def __init__(self, library: Library, entry: Entry, address: Callable[[Any], int]) -> None:
        self._library, self._entry, self._address = library, entry, address
        self._frame = struct.Struct("=16x" + "".join(map(_slot, entry.inputs)) + "q8x" * entry.outputs + "16x")
        self._memory, self._sizes = ctypes.c_char * self._frame.size, ctypes.c_int64 * max(entry.sizes, 1)
        self._run: Any = None

    def _load(self) -> None:
        """Write the template to memory, with the addresses of the functions that it refers to."""
        entry = self._entry
        words = list(entry.words)
        for at, symbol in entry.symbols:
            words[at] = self._library.address(symbol)
        lists = [_words(words), _words(_flat(entry.patches)), _words(_flat(entry.pointers))]
        template, patches, pointers = map(ctypes.addressof, lists)
        counts = (entry.sizes, len(entry.patches), patches, len(entry.pointers), pointers)
        form: Any = _words([len(words), template, *counts])
        form.lists = lists  # which live as long, also if another thread loads the step at the same time
        self._form = form
        run = self._library.load().shipped_run
        run.restype = ctypes.c_bool
        self._run = run

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel.

        Raises:
            OverflowError: a number does not fit the kernel's dtype.
        """
        if self._run is None:
            self._load()
        sizes, address = self._entry.sizes, self._address
        slots: list[Any] = []
        at = sizes
        for kind in self._entry.inputs:
            if kind == "a":
                slots.append(address(arguments[at]))
            else:
                slots += _number(kind, arguments[at])
            at += 1
        outputs = arguments[at:]
        slots += map(address, outputs)
        frame = self._memory()
        self._frame.pack_into(frame, 0, *slots)
        # A keyboard interrupt while the kernel runs is raised here.
        self._run(self._form, self._sizes(*arguments[:sizes]), frame)
        return outputs[0] if len(outputs) == 1 else outputs


def _slot(kind: str | Bounds) -> str:
    """Return the format of an input in a frame, 16 bytes."""
    return {"f": "d8x", "c": "dd", "w": "Q8x"}.get(kind, "q8x") if isinstance(kind, str) else "q8x"


def _number(kind: str | Bounds, value: Any) -> list[Any]:
    """Return the values by which a frame holds a number."""
    if kind == "f":
        return [float(value)]
    if kind == "c":
        number = complex(value)
        return [number.real, number.imag]
    if kind == "t":
        return [int(bool(value))]
    if kind == "w":
        return [int(value) % (1 << 64)]
    if not kind[0] <= value <= kind[1]:
        raise OverflowError(f"the number {value} does not fit the kernel's dtype")
    return [int(value)]


def _words(values: Sequence[int]) -> ctypes.Array[ctypes.c_int64]:
    """Return an array of 64-bit words in memory."""
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def _flat(pairs: Sequence[Bounds]) -> list[int]:
    """Return pairs as a list of words."""
    return [word for pair in pairs for word in pair]
