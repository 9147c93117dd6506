"""LLVM just-in-time compiler: turns LLVM IR into addresses of machine code, through the disk cache.

Object code refers to the functions that it calls by name; they are bound when it is loaded. On a cache hit no IR is
printed or optimized: the caller's fingerprint identifies the IR.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from opdsl.backends import cache
from opdsl.backends.cpu.llvm import llvm, llvmlite
from opdsl.backends.cpu.processor import processor
from opdsl.backends.quick import is_quick
from opdsl.collecting import without_collecting
from opdsl.runtime.dumping import dump
from opdsl.runtime.events import timed
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.permanent import kept_forever

_NO_IMPORTS: Mapping[str, int] = {}

_LONGEST_TITLE = 60

# Functions of compiler-rt that LLVM calls, which a process may lack, and their replacements in machine/halves.py.
_OF_HALVES = {"__truncdfhf2": "half_of_double", "__truncsfhf2": "half_of_float", "__extendhfsf2": "float_of_half"}

# The function that unbounded loops call to poll for signals, and the variable that they read; see machine/signals.py.
POLL, STOPPED = "kernel_poll", "kernel_stopped"

# The passes for entry code, which save more time than they take, and those for quick compiles, which speed up emission.
_SIMPLIFIED = (
    "always_inliner",
    "sroa",
    "instruction_combine",
    "simplify_cfg",
    "new_gvn",
    "simplify_cfg",
    "global_dead_code_eliminate",
)
_INLINED = ("always_inliner", "global_dead_code_eliminate", "sroa")

provided: dict[str, Callable[[], int]] = {}
"""Functions that return the addresses of symbols, by name; modules above this one define and register them for object
code.
"""


class Statistics:
    """Counters of the modules that this process compiled, and of those that it loaded from disk."""

    compiled = 0
    loaded = 0


class Code:
    """Machine code in memory and the addresses of its symbols, which are valid as long as this object lives."""

    __slots__ = ("_addresses", "_tracker")

    def __init__(self, tracker: Any, symbols: Sequence[str]) -> None:
        self._tracker = tracker
        self._addresses = {symbol: int(tracker[symbol]) for symbol in symbols}

    def address(self, symbol: str) -> int:
        """Return the address of an exported symbol.

        Raises:
            KeyError: the symbol was not among the exported ones.
        """
        return self._addresses[symbol]


def compile_ir(
    fingerprint: str,
    make_ir: Callable[[], str],
    symbols: Sequence[str],
    imports: Mapping[str, int] = _NO_IMPORTS,
    *,
    has_long_loops: bool = True,
    is_entry: bool = False,
    title: str = "",
) -> Code:
    """Return machine code for a module of LLVM IR, from the disk cache or compiled and stored there.

    Args:
        fingerprint: text that determines the module; two modules never share one. Versions, the processor and the
            source of this package are added to it here.
        make_ir: returns the module's LLVM IR; called only if the disk has no code for the fingerprint.
        symbols: the names that the module exports.
        imports: addresses of names that the module uses; those of the C library need not be given.
        has_long_loops: whether loops are worth vectorizing and unrolling; loops over a few operands or dimensions get
            slower by it, and take long to compile.
        is_entry: whether it is code that calls of kernels go through, which more than a few passes make no faster.
        title: a name for logs and profiles; by default the first line of the fingerprint.

    Returns:
        The code, with an address for each of the symbols.
    """
    key = f"{environment()}{', quick' * is_quick()}\n{fingerprint}"
    make_ir = functools.cache(make_ir)
    if not is_entry:  # entry code is shared by all kernels, so it is not dumped with one
        dump(fingerprint.partition("\n")[0], ".ll", make_ir)
    stored = cache.load(key)
    if stored is not None:
        Statistics.loaded += 1
        return load_object(stored, symbols, imports)
    Statistics.compiled += 1
    with timed("compile", title or fingerprint.partition("\n")[0][:_LONGEST_TITLE]):
        with without_collecting():  # nearly all objects that printing creates stay alive
            text = make_ir()
        compiled = compile_object(text, has_long_loops=has_long_loops, is_entry=is_entry)
    cache.store(key, compiled)
    return load_object(compiled, symbols, imports)


def compile_object(text: str, *, has_long_loops: bool = True, is_entry: bool = False) -> bytes:
    """Compile a module of LLVM IR to object code, optimized for the processor that ``processor`` returns.

    ``OPDSL_QUICK_COMPILE=1`` in the environment has LLVM inline functions, and skips all other optimizations.

    Args:
        text: the module.
        has_long_loops, is_entry: as for ``compile_ir``.

    Raises:
        RuntimeError: the text is no valid module, which is a bug in its printer.
    """
    quick = is_quick()
    machine = _machine(0 if quick else 1 if is_entry else 3)
    optimise = _passes(_INLINED if quick else _SIMPLIFIED) if quick or is_entry else _optimiser(has_long_loops)
    with _lock:
        emitted: bytes = machine.emit_object(_optimised(text, optimise))
        return emitted


def assembly(text: str) -> str:
    """Return the assembly of the object code that ``compile_object`` emits, for reading.

    Args:
        text: the module.

    Raises:
        RuntimeError: the text is no valid module.
    """
    machine, optimise = _machine(3), _optimiser(True)
    with _lock:
        emitted: str = machine.emit_assembly(_optimised(text, optimise))
        return emitted


def _optimised(text: str, optimise: Callable[[Any], None]) -> Any:
    module = llvm.parse_assembly(text)
    module.verify()
    optimise(module)
    return module


def _passes(names: Sequence[str]) -> Callable[[Any], None]:
    """Return a function that runs the named llvmlite passes on a module."""
    machine, tuning = _machine(3), _tuning(False)

    def optimise(module: Any) -> None:
        passes = llvm.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, llvm.create_pass_builder(machine, tuning))

    return optimise


def _optimiser(has_long_loops: bool) -> Callable[[Any], None]:
    """Return a function that runs LLVM's default optimization pipeline on a module."""
    machine, tuning = _machine(3), _tuning(has_long_loops)

    def optimise(module: Any) -> None:
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)

    return optimise


def load_object(content: bytes, symbols: Sequence[str], imports: Mapping[str, int] = _NO_IMPORTS) -> Code:
    """Link object code into the process, and bind the names that it uses.

    Raises:
        RuntimeError: it uses a name that neither ``imports`` nor the process defines.
    """
    used = {name: _halves().address(ours) for name, ours in _OF_HALVES.items() if name.encode() in content}
    used |= {
        name: address()
        for name, address in provided.items()
        if name.encode() in content and name not in symbols and name not in imports
    }
    jit = _jit()
    with _lock:
        library = llvm.JITLibraryBuilder().add_object_img(content).add_current_process()
        for name, address in {**used, **imports}.items():
            library.import_symbol(name, address)
        for name in symbols:
            library.export_symbol(name)
        return Code(library.link(jit, f"opdsl{next(_numbers)}"), symbols)


@kept_forever
def _halves() -> Code:
    from opdsl.backends.cpu.machine import halves
    from opdsl.backends.cpu.machine.text import module_text

    symbols = tuple(_OF_HALVES.values())
    return compile_ir("conversions of halves", lambda: module_text([halves]), symbols, has_long_loops=False)


@functools.cache
def environment() -> str:
    """Return the part of cache keys that all modules share: versions, the processor, and a digest of the source of the
    printers.
    """
    versions = f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, llvm.llvm_version_info))}"
    target = processor()
    return f"source {_source_digest()}, {versions}, {llvm.get_process_triple()}, {target.name} {target.flags}"


def has_feature(name: str) -> bool:
    """Return whether the target processor has a feature, by LLVM's name for it (``avx512f``)."""
    return name in processor().features


def vector_bytes() -> int:
    """Return the vector width, in bytes, of the processor that kernels are compiled for."""
    return processor().vector_bytes


def _source_digest() -> str:
    """Return a digest of this package's source, so that an edited printer never gets code of the former version from
    the cache.
    """
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@kept_forever
def _initialise() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _new_machine(opt: int = 3) -> Any:
    _initialise()
    target, chosen = llvm.Target.from_triple(llvm.get_process_triple()), processor()
    return target.create_target_machine(opt=opt, jit=True, cpu=chosen.name, features=chosen.flags)


@kept_forever
def _machine(opt: int) -> Any:
    return _new_machine(opt)


@kept_forever
def _jit() -> Any:
    # JITLink places the sections of an object next to each other. LLVM's older loader may place them farther apart than
    # ARM instructions can address, and then aborts.
    return llvm.create_lljit_compiler(_new_machine(), use_jit_link=True)


@kept_forever
def _tuning(has_long_loops: bool) -> Any:
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = has_long_loops
    options.loop_unrolling = has_long_loops
    return options


_lock = held_across_fork(threading.RLock())
_numbers = itertools.count()

# llvmlite's own lock, which numba takes without taking ours.
held_across_fork(llvm.ffi.lib._lock._lock)
