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
from typing import Any, NamedTuple

from opdsl.backends import cache
from opdsl.backends.cpu.llvm import llvm, llvmlite
from opdsl.backends.cpu.processor import Target, compile_target, compiling_for, processor
from opdsl.backends.quick import is_quick
from opdsl.collecting import without_collecting
from opdsl.runtime.dumping import dump
from opdsl.runtime.events import timed
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.permanent import kept_forever

_NO_IMPORTS: Mapping[str, int] = {}

_LONGEST_TITLE = 60

# Functions of compiler-rt that LLVM calls, which a process may lack, and their replacements in machine/halves.py.
OF_HALVES = {"__truncdfhf2": "half_of_double", "__truncsfhf2": "half_of_float", "__extendhfsf2": "float_of_half"}

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


class Source(NamedTuple):
    """Source of a module, from which it can be compiled for another machine.

    fingerprint, make_ir, has_long_loops, is_entry: see ``compile_ir``.
    """

    fingerprint: str
    make_ir: Callable[[], str]
    has_long_loops: bool
    is_entry: bool


class Code:
    """Machine code in memory and the addresses of its symbols, which are valid as long as this object lives.

    source: from which it was compiled; None if that is not known.
    """

    __slots__ = ("_addresses", "_tracker", "source")

    def __init__(self, tracker: Any, symbols: Sequence[str]) -> None:
        self._tracker = tracker
        self._addresses = {symbol: int(tracker[symbol]) for symbol in symbols}
        self.source: Source | None = None

    @property
    def symbols(self) -> Mapping[int, str]:
        """Return the exported symbols by their addresses."""
        return {address: symbol for symbol, address in self._addresses.items()}

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
    source = Source(fingerprint, make_ir, has_long_loops, is_entry)
    code = load_object(_object_of(source, title), symbols, imports)
    code.source = source
    return code


def _object_of(source: Source, title: str) -> bytes:
    """Return the object code of a module, from the disk cache or compiled and stored there."""
    fingerprint, make_ir, has_long_loops, is_entry = source
    key = f"{environment()}{', quick' * is_quick()}\n{fingerprint}"
    make_ir = functools.cache(make_ir)
    if not is_entry:  # entry code is shared by all kernels, so it is not dumped with one
        dump(fingerprint.partition("\n")[0], ".ll", make_ir)
    stored = cache.load(key)
    if stored is not None:
        Statistics.loaded += 1
        return stored
    Statistics.compiled += 1
    with timed("compile", title or fingerprint.partition("\n")[0][:_LONGEST_TITLE]):
        with without_collecting():  # nearly all objects that printing creates stay alive
            text = make_ir()
        compiled = compile_object(text, has_long_loops=has_long_loops, is_entry=is_entry)
    cache.store(key, compiled)
    return compiled


def compile_object(text: str, *, has_long_loops: bool = True, is_entry: bool = False) -> bytes:
    """Compile a module of LLVM IR to object code, optimized for the processor that ``processor`` returns.

    ``OPDSL_QUICK_COMPILE=1`` in the environment has LLVM inline functions, and skips all other optimizations.

    Args:
        text: the module.
        has_long_loops, is_entry: as for ``compile_ir``.

    Raises:
        RuntimeError: the text is no valid module, which is a bug in its printer.
    """
    machine = _machine(0 if is_quick() else 1 if is_entry else 3, compile_target())
    optimise = _optimiser_of(has_long_loops=has_long_loops, is_entry=is_entry)
    with _lock:
        emitted: bytes = machine.emit_object(_optimised(text, optimise))
        return emitted


def _optimiser_of(*, has_long_loops: bool, is_entry: bool) -> Callable[[Any], None]:
    """Return the function that optimizes a module, see ``compile_object``."""
    quick = is_quick()
    return _passes(_INLINED if quick else _SIMPLIFIED) if quick or is_entry else _optimiser(has_long_loops)


def linked(target: Target, parts: Sequence[tuple[Source, Mapping[str, str]]]) -> bytes:
    """Compile modules for a target to one position-independent object, which a linker makes a shared library.

    Args:
        target: of the compilation.
        parts: each module, and the names that its exported functions get. All its other functions become internal.
    """
    with compiling_for(target):
        machine = _machine(3, target)
        texts = [source.make_ir() for source, _ in parts]
        optimisers = [_optimiser_of(has_long_loops=part.has_long_loops, is_entry=part.is_entry) for part, _ in parts]
        with _lock:
            whole = llvm.parse_assembly("")
            for text, optimise, (_, names) in zip(texts, optimisers, parts, strict=True):
                module = _optimised(text, optimise)
                _rename(module, names)
                whole.link_in(module)
            emitted: bytes = machine.emit_object(whole)
            return emitted


def _rename(module: Any, names: Mapping[str, str]) -> None:
    """Give the exported functions of a module other names, and make all others internal."""
    for symbol in [*module.functions, *module.global_variables]:
        if symbol.is_declaration:
            continue
        if symbol.name in names:
            symbol.name = names[symbol.name]
        elif symbol.linkage is not llvm.Linkage.internal:
            symbol.linkage = llvm.Linkage.internal


def assembly(text: str) -> str:
    """Return the assembly of the object code that ``compile_object`` emits, for reading.

    Args:
        text: the module.

    Raises:
        RuntimeError: the text is no valid module.
    """
    machine, optimise = _machine(3, compile_target()), _optimiser(True)
    with _lock:
        emitted: str = machine.emit_assembly(_optimised(text, optimise))
        return emitted


def _optimised(text: str, optimise: Callable[[Any], None]) -> Any:
    module = llvm.parse_assembly(text)
    target = compile_target()
    if target is not None:
        module.triple, module.data_layout = target.triple, str(_machine(3, target).target_data)
    module.verify()
    optimise(module)
    return module


def _passes(names: Sequence[str]) -> Callable[[Any], None]:
    """Return a function that runs the named llvmlite passes on a module."""
    machine, tuning = _machine(3, compile_target()), _tuning(False)

    def optimise(module: Any) -> None:
        passes = llvm.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, llvm.create_pass_builder(machine, tuning))

    return optimise


def _optimiser(has_long_loops: bool) -> Callable[[Any], None]:
    """Return a function that runs LLVM's default optimization pipeline on a module."""
    machine, tuning = _machine(3, compile_target()), _tuning(has_long_loops)

    def optimise(module: Any) -> None:
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)

    return optimise


def load_object(content: bytes, symbols: Sequence[str], imports: Mapping[str, int] = _NO_IMPORTS) -> Code:
    """Link object code into the process, and bind the names that it uses.

    Raises:
        RuntimeError: it uses a name that neither ``imports`` nor the process defines.
    """
    used = {symbol: _halves().address(ours) for symbol, ours in OF_HALVES.items() if symbol.encode() in content}
    used |= {
        symbol: address()
        for symbol, address in provided.items()
        if symbol.encode() in content and symbol not in symbols and symbol not in imports
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

    symbols = tuple(OF_HALVES.values())
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
def _machine(opt: int, target: Target | None) -> Any:
    if target is None:
        return _new_machine(opt)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    chosen = target.processor
    return llvm.Target.from_triple(target.triple).create_target_machine(
        opt=opt, reloc="pic", codemodel="small", cpu=chosen.name, features=chosen.flags
    )


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
