"""Author kernels: kernels that users write as Python functions over arrays and numbers, compiled by numba and cached.

A cached kernel is loaded without numba. Inside the kernel arrays are numba arrays (indexing in any number of
dimensions, ``.shape``, slices), with layout ``C`` where the call says that they are contiguous. Numbers are int64,
float64, bool or complex128, lists are tuples, None is None. Arrays of float16 and bfloat16 appear as float32: they are
copied into temporary arrays before the call, and the outputs are copied back afterwards, rounding to the nearest.
Division by zero gives what IEEE and NumPy say (numba's ``error_model="numpy"``).
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import importlib.util
import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from opdsl.backends import cache
from opdsl.backends.cpu import builtin, engine
from opdsl.backends.cpu.author_code import Compiled, signature_text
from opdsl.backends.cpu.builtin import Input, Kernel, Table
from opdsl.backends.cpu.fingerprint import fingerprint
from opdsl.backends.cpu.machine.author import AuthorPlan
from opdsl.backends.cpu.machine.call import NOTHING
from opdsl.backends.cpu.machine.language import words
from opdsl.backends.quick import is_quick
from opdsl.dispatch.state import current
from opdsl.errors import BoundsError, KernelError, MissingDependencyError, NumberError
from opdsl.kernels.calls import ArraySpec
from opdsl.runtime.lowering import Noted, sizes_are_symbols
from opdsl.runtime.scopes import Setting
from opdsl.scalar.formats import NARROW
from opdsl.scalar.narrow_values import narrow, widen

if TYPE_CHECKING:
    from opdsl.kernels.calls import AuthorCall

_NOTHING = Input(NOTHING)
_NUMBERS: dict[Any, Input] = {
    bool: builtin.TRUTH,
    int: builtin.integer(),
    float: builtin.FLOAT,
    complex: builtin.COMPLEX,
    None: _NOTHING,
    type(None): _NOTHING,
}

_NEEDS_NUMBA = "CPU kernels in Python need numba, which cannot be imported. Install it: pip install numba"


# Whether kernels that are looked up in this context check every index.
_checks_bounds = ContextVar("_checks_bounds", default=os.environ.get("OPDSL_BOUNDS_CHECK", "0") not in ("", "0"))


def checked_bounds() -> Setting[bool]:
    """Return a context manager in which kernels that are looked up check every index and raise ``BoundsError``.

    ``OPDSL_BOUNDS_CHECK=1`` in the environment does that for a whole process, and ``checked()`` for its calls. Kernels
    that a plan has looked up before stay unchecked.
    """
    return Setting(_checks_bounds, True)


def _is_checking_bounds() -> bool:
    return _checks_bounds.get() or current.get().checking


def _is_interpreting() -> bool:
    """Return whether kernels run as plain Python, for debuggers, as numba's ``NUMBA_DISABLE_JIT`` says."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Loaded(NamedTuple):
    """Author kernel in memory: its code, the address to call, and the addresses of its numba environment variables."""

    code: engine.Code
    entry: int
    environments: tuple[int, ...]


def author(function: FunctionType, call: AuthorCall) -> Kernel:
    """Compile an author kernel for the types of a call, or find it in the cache.

    Args:
        function: the kernel; a function that ``numba.njit`` has wrapped is unwrapped.
        call: the types of its arguments.

    Returns:
        A function of the call's inputs and outputs that returns None. It trusts that arrays have the dtypes, numbers
        of dimensions and layouts of the call. An exception in the kernel is raised as KernelError, with the author's
        exception as its cause.

    Raises:
        KernelCompileError: numba refuses the kernel; its error is the cause.
    """
    function = getattr(function, "py_func", function)
    interpreted = _interpreted(function, call) if _is_interpreting() else _author(function, call, _is_checking_bounds())
    return Noted(interpreted, []) if sizes_are_symbols() else interpreted  # sizes come from the arrays


@functools.lru_cache(maxsize=1024)
def _author(function: FunctionType, call: AuthorCall, checks_bounds: bool) -> Kernel:
    arguments = (*call.inputs, *call.outputs)
    loaded = _load_or_compile(function, arguments, checks_bounds)
    leaves = list(_leaves(arguments))
    kernel = _builtin(function, loaded, [_input(leaf) for leaf in leaves])
    if any(isinstance(leaf, ArraySpec) and leaf.dtype.name in NARROW for leaf in leaves):
        written = {len(leaves) - 1 - k for k in range(len(call.outputs))}
        kernel = _with_temporaries(kernel, leaves, written)
    if any(type(argument) in (tuple, list) or argument is str for argument in arguments):
        return _with_flat_arguments(kernel, function)
    return kernel


def _load_or_compile(function: FunctionType, arguments: Sequence[Any], checks_bounds: bool) -> Loaded:
    stamp = fingerprint(function)
    checked = " with bounds checked" if checks_bounds else ""
    location = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"  # part of error messages
    environment = f"{engine.environment()}{', quick' * is_quick()}\n{_numba_stamp()}"
    key = f"{environment}\nauthor{checked} {location} {stamp} {signature_text(arguments)}"
    stored = None if stamp is None else _stored(key)
    if stored is None:
        compiler = _compiler()
        with compiler.global_compiler_lock:  # numba's own lock; another thread may have compiled the kernel
            stored = None if stamp is None else _stored(key)
            if stored is None:
                engine.Statistics.compiled += 1
                stored, is_portable = compiler.compile_author(function, arguments, checks_bounds)
                if stamp is not None and is_portable:
                    cache.store(key, stored.pack())
    return _load(stored)


def _stored(key: str) -> Compiled | None:
    """Return a kernel from the disk cache, or None."""
    packed = cache.load(key)
    if packed is None:
        return None
    engine.Statistics.loaded += 1
    return Compiled.unpack(packed)


def _compiler() -> ModuleType:
    """Import and return the module that needs numba.

    Raises:
        MissingDependencyError: numba is not installed.
    """
    try:
        return importlib.import_module("opdsl.backends.cpu.author_compiler")
    except ImportError as error:
        raise MissingDependencyError(_NEEDS_NUMBA) from error


def _load(compiled: Compiled) -> Loaded:
    imports = {}
    if compiled.needs:
        imports = _compiler().helper_addresses(compiled.needs)
    code = engine.load_object(compiled.content, [compiled.symbol, *compiled.environments], imports)
    return Loaded(
        code, code.address(compiled.symbol), tuple(code.address(environment) for environment in compiled.environments)
    )


@functools.cache
def _numba_stamp() -> str:
    """Return the text of numba's version file, without importing numba."""
    try:
        spec = importlib.util.find_spec("numba")
    except ImportError as error:
        raise MissingDependencyError(_NEEDS_NUMBA) from error
    if spec is None or spec.origin is None:
        raise MissingDependencyError(_NEEDS_NUMBA)
    return (Path(spec.origin).parent / "_version.py").read_text()


def _leaves(arguments: Sequence[Any]) -> Iterator[Any]:
    """Yield the argument types with tuples flattened, one for each slot of a frame; a string has two slots."""
    for spec in arguments:
        if type(spec) is tuple:
            yield from _leaves(spec)
        elif spec is str:
            yield from (int, int)
        else:
            yield spec


def _input(leaf: Any) -> Input:
    return builtin.ARRAY if isinstance(leaf, ArraySpec) else _NUMBERS[leaf]


def _builtin(function: FunctionType, loaded: Loaded, inputs: Sequence[Input]) -> Kernel:
    function_name = f"{function.__module__}.{function.__qualname__}"
    report = functools.partial(_raise, function_name, loaded.environments)
    table = Table([word for input in inputs for word in input])
    header: list[int | Table] = words(
        AuthorPlan, kernel=loaded.entry, arguments=len(inputs), inputs=table, reporter=id(report)
    )
    return builtin.builtin_over(function.__qualname__, "author_call", header, [loaded.code, report])


def _raise(name: str, environments: Sequence[int], address: int | None) -> None:
    """Raise the error of a failed kernel, read from the description at ``address``."""
    if not address:
        raise KernelError(f"{name}: the kernel failed without saying why.")
    error, line = _compiler().exception_at(address, environments)
    raise _described(f"{name} ({line})" if line else name, error, checks_bounds=_is_checking_bounds()) from error


def _described(name: str, error: BaseException, *, checks_bounds: bool) -> KernelError | BoundsError:
    if isinstance(error, IndexError) and checks_bounds:
        return BoundsError(
            f"{name}: the kernel reads or writes outside of an array ({error}). Compare its indices with the shapes of "
            "the arrays: without this check, the kernel would use other memory."
        )
    return KernelError(f"{name}: {type(error).__name__}: {error}")


def _interpreted(function: FunctionType, call: AuthorCall) -> Kernel:
    """Return the kernel as a plain Python function of NumPy arrays; 16-bit floats are converted to float32 for it."""
    specs = (*call.inputs, *call.outputs)

    def run(*arguments: Any) -> None:
        handed = [_widened(spec, value) for spec, value in zip(specs, arguments, strict=True)]
        try:
            function(*handed)
        except Exception as error:
            raise _described(f"{function.__module__}.{function.__qualname__}", error, checks_bounds=True) from error
        for spec, value, argument in zip(
            specs[len(call.inputs) :], handed[len(call.inputs) :], arguments[len(call.inputs) :], strict=True
        ):
            if value is not argument:
                _narrow(spec.dtype.name, value, argument)

    return run


def _widened(spec: Any, value: Any) -> Any:
    if type(spec) is tuple:
        return tuple(_widened(element_spec, one) for element_spec, one in zip(spec, value, strict=True))
    return _widen(spec.dtype.name, value) if isinstance(spec, ArraySpec) and spec.dtype.name in NARROW else value


def _with_flat_arguments(kernel: Kernel, function: FunctionType) -> Kernel:
    """Wrap a kernel so that tuples, lists and strings among the arguments are flattened into its slots."""

    def call(*arguments: Any) -> None:
        flat: list[Any] = []
        held: list[object] = []
        _flatten(arguments, flat, held, function)
        kernel(*flat)

    return call


def _flatten(arguments: Sequence[Any], flat: list[Any], held: list[object], function: FunctionType) -> None:
    for argument in arguments:
        if isinstance(argument, tuple | list):
            _flatten(argument, flat, held, function)
        elif isinstance(argument, str):
            if not argument.isascii():
                raise NumberError(
                    f"{function.__qualname__}: a string argument of a kernel must be ASCII, got {argument!r}."
                )
            buffer = ctypes.create_string_buffer(argument.encode())
            held.append(buffer)
            flat += (ctypes.addressof(buffer), len(argument))
        else:
            flat.append(argument)


def _with_temporaries(kernel: Kernel, leaves: Sequence[Any], written: set[int]) -> Kernel:
    """Wrap a kernel so that 16-bit float arrays are copied to float32 before it runs, and the written ones back
    afterwards.
    """
    dtypes = {k: leaf.dtype.name for k, leaf in enumerate(leaves) if isinstance(leaf, ArraySpec)}
    narrowed = {k: name for k, name in dtypes.items() if name in NARROW}

    def call(*arguments: Any) -> None:
        replaced = list(arguments)
        for k, name in narrowed.items():
            replaced[k] = _widen(name, arguments[k])
        kernel(*replaced)
        for k in written & narrowed.keys():
            _narrow(narrowed[k], replaced[k], arguments[k])

    return call


def _widen(name: str, array: numpy.ndarray[Any, Any]) -> numpy.ndarray[Any, Any]:
    """Return the elements of a narrow dtype as a new contiguous array of float32."""
    if name == "float16":
        return array.astype(numpy.float32, order="C")
    return numpy.ascontiguousarray(widen(array, name)).reshape(array.shape)


def _narrow(name: str, values: numpy.ndarray[Any, Any], target: numpy.ndarray[Any, Any]) -> None:
    """Round float32 values to elements of a narrow dtype in another array."""
    with numpy.errstate(all="ignore"):
        target[...] = values if name == "float16" else narrow(values, name)
