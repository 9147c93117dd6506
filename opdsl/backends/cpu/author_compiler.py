"""Part of author kernels that needs numba: compiling a kernel, and reading the errors that it raises.

numba compiles an entry function of one integer, the address of a frame. The entry builds the kernel's arguments from
the frame and calls the kernel. ``machine/author.py`` fills the frame with addresses of ndarray objects, and numbers.
"""
# mypy: disable-error-code="no-untyped-call, no-untyped-def"
# numba's extension interface has no types.

from __future__ import annotations

import ctypes
import linecache
import re
from collections.abc import Iterator, Sequence
from os.path import abspath
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import Environment
from numba.core.errors import NumbaError
from numba.extending import intrinsic
from numba.np import arrayobj

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.author_code import Compiled, signature_text
from opdsl.backends.cpu.author_integers import mixture_in
from opdsl.backends.cpu.author_linking import LinkedCompiler
from opdsl.backends.cpu.machine.language import fields
from opdsl.backends.cpu.machine.objects import Array
from opdsl.backends.cpu.processor import processor
from opdsl.backends.quick import is_quick
from opdsl.errors import KernelCompileError
from opdsl.kernels.calls import ArraySpec
from opdsl.runtime.events import timed
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.permanent import kept_forever
from opdsl.scalar.formats import NARROW

if processor().is_limited:
    vars(numba.config).update(CPU_NAME=processor().name, CPU_FEATURES=processor().flags)

_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}
# Functions with less bytecode than this are inlined: a call costs as much as the body of one that swaps two numbers.
_INLINED_BELOW = 1000
_SLOT_SIZE = 16
_POINTER = ir.IntType(8).as_pointer()
_INT64 = ir.IntType(64)
_HELPERS = ("NRT_", "numba_", "_numba", "Numba")
_TUPLES: Any = types.BaseTuple
_ENVIRONMENT = "_ZN08NumbaEnv"
_SEEN_AS = {**dict.fromkeys(NARROW, "float32"), "bool": "boolean"}
_NUMBERS = {
    bool: types.boolean,
    int: types.int64,
    float: types.float64,
    complex: types.complex128,
    str: types.unicode_type,
}


def compile_author(
    function: FunctionType, arguments: Sequence[Any], checks_bounds: bool = False
) -> tuple[Compiled, bool]:
    """Compile a kernel for the types of its arguments; with ``checks_bounds`` it raises on an index out of bounds.

    Returns:
        The code, and whether other processes may use it (they may not if it contains addresses of this one).

    Raises:
        KernelCompileError: numba refuses the kernel; numba's error is the cause.
    """
    dispatchers: dict[FunctionType, Any] = {}
    kinds = [_numba_type(spec) for spec in arguments]
    quick = is_quick()
    compiler = LinkedCompiler if quick else Compiler
    entry = numba.njit(pipeline_class=compiler, **_OPTIONS)(_entry(function, kinds, checks_bounds, dispatchers))
    try:
        with timed("compile", f"numba {function.__name__}"):
            entry.compile((types.intp,))
    except NumbaError as error:
        raise KernelCompileError(_refusal(function, arguments, error)) from error
    _require_integers(arguments, dispatchers)
    (overload,) = entry.overloads.values()
    library = overload.library
    library._ensure_finalized()
    content = engine.compile_object(str(library._final_module)) if quick else library._get_compiled_object()
    compiled = Compiled(content, overload.fndesc.llvm_func_name, _needs(library), _environments(library))
    return compiled, not library.has_dynamic_globals


def helper_addresses(names: Sequence[str]) -> dict[str, int]:
    """Return the addresses of numba's runtime helpers, by name."""
    from numba.core.registry import cpu_target
    from numba.core.runtime.nrt import rtsys

    with global_compiler_lock:  # numba's registries are not thread-safe
        rtsys.initialize(cpu_target.target_context)
        cpu_target.target_context.refresh()
    return {name: int(llvm.address_of_symbol(name)) for name in names}


def exception_at(address: int, environments: Sequence[int]) -> tuple[BaseException, str]:
    """Return the exception that compiled code describes at an address, and the source line that raised it, if known.

    environments: addresses of the variables that hold numba's environment object, which the code needs to create Python
        objects from native values.

    numba's description is ``{pickled, its size, values, function from values to a tuple, number of values}``; the last
    three are set if arguments of the exception are only known when it is raised.
    """
    from numba.core.serialize import loads, runtime_build_excinfo_struct

    description = _ExceptionDescription.from_address(address)
    pickled = ctypes.string_at(description.pickled, description.size)
    if description.count:
        for place in environments:
            ctypes.c_void_p.from_address(place).value = id(_environment())
        unwrap = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)(description.unwrap)
        kind, arguments, place = runtime_build_excinfo_struct(pickled, unwrap(description.values))
    else:
        kind, arguments, place = loads(pickled)
    error = kind(*arguments) if kind is not None else RuntimeError("re-raised without an exception")
    assert isinstance(error, BaseException)
    return error, "" if place is None else _line(place[1], place[2])


@kept_forever
def _environment() -> Environment:
    return Environment({})


class _ExceptionDescription(ctypes.Structure):
    _fields_ = [
        ("pickled", ctypes.c_void_p),
        ("size", ctypes.c_int32),
        ("values", ctypes.c_void_p),
        ("unwrap", ctypes.c_void_p),
        ("count", ctypes.c_int32),
    ]
    pickled: int
    size: int
    values: int
    unwrap: int
    count: int


def _refusal(function: FunctionType, arguments: Sequence[Any], error: NumbaError) -> str:
    code = function.__code__
    # Frames are listed from the innermost out; the generated entry has no source lines, and is skipped.
    named = [(path, int(number)) for file, number in _PLACES.findall(str(error)) for path in (abspath(file), file)]
    lines = (_line(file, number) for file, number in named if linecache.getline(file, number))
    location = next(lines, f"{code.co_filename}:{code.co_firstlineno}")
    reason = " ".join(str(error).split("\n\n")[0].split())
    return (
        f"{function.__module__}.{function.__qualname__} ({location}): numba cannot compile the kernel for "
        f"({signature_text(arguments)}): {reason}"
    )


_PLACES = re.compile(r'File "([^"]+)", line (\d+)')


def _line(file: str, number: int) -> str:
    """Return the location and the text of a source line, for messages."""
    text = linecache.getline(file, number).strip()
    return f"{file}:{number}: {text}" if text else f"{file}:{number}"


def _needs(library: Any) -> tuple[str, ...]:
    """Return the names of numba's runtime helpers that the code calls."""
    module = library._final_module
    names = {function.name for function in (*module.functions, *module.global_variables) if function.is_declaration}
    return tuple(sorted(name for name in names if name.startswith(_HELPERS)))


def _environments(library: Any) -> tuple[str, ...]:
    """Return the names of the variables that must hold a numba environment; numba's own loader would set them."""
    variables = library._final_module.global_variables
    return tuple(sorted(variable.name for variable in variables if variable.name.startswith(_ENVIRONMENT)))


def _numba_type(spec: Any) -> Any:
    if isinstance(spec, ArraySpec):
        name = spec.dtype.name
        return types.Array(getattr(types, _SEEN_AS.get(name, name)), spec.ndim, spec.layout)  # type: ignore[call-overload]
    if isinstance(spec, tuple):
        return types.Tuple([_numba_type(element) for element in spec])
    return types.none if spec is None else _NUMBERS.get(spec, types.none)


def _dispatcher(
    function: FunctionType, checks_bounds: bool, dispatchers: dict[FunctionType, Any], *, is_called: bool = True
) -> Any:
    """Return a numba dispatcher of a function whose called plain functions are replaced by dispatchers too."""
    names = dict(function.__globals__)
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__, copy.__module__, copy.__qualname__ = (
        function.__kwdefaults__,
        function.__module__,
        function.__qualname__,
    )
    is_small = is_called and len(function.__code__.co_code) < _INLINED_BELOW
    options = {**_OPTIONS, "boundscheck": checks_bounds, "forceinline": is_small}
    dispatcher = dispatchers[function] = numba.njit(pipeline_class=LinkedCompiler, **options)(copy)
    for name in function.__code__.co_names:
        called = names.get(name)
        if isinstance(called, FunctionType):
            names[name] = (
                dispatchers[called] if called in dispatchers else _dispatcher(called, checks_bounds, dispatchers)
            )
    return dispatcher


def _require_integers(arguments: Sequence[Any], dispatchers: dict[FunctionType, Any]) -> None:
    """Check that numba computes all uint64 expressions of a kernel exactly.

    Raises:
        KernelCompileError: numba computes one as another type.
    """
    for function, dispatcher in dispatchers.items():
        for overload in dispatcher.overloads.values():
            mixture = mixture_in(overload.type_annotation)
            if mixture is not None:
                line = _line(function.__code__.co_filename, mixture.line)
                raise KernelCompileError(
                    f"{function.__module__}.{function.__qualname__} ({line}): the kernel for "
                    f"({signature_text(arguments)}) is not exact: {mixture.what} by numba. Convert the signed integer "
                    "first: numpy.uint64(1)."
                )


def _entry(
    function: FunctionType,
    argument_types: Sequence[Any],
    checks_bounds: bool,
    dispatchers: dict[FunctionType, Any],
) -> Any:
    unpack = _unpacker(types.Tuple(list(argument_types)))
    kernel = _dispatcher(function, checks_bounds, dispatchers, is_called=False)

    def entry(frame):
        kernel(*unpack(frame))
        return 0

    return entry


def _unpacker(tuple_type: Any) -> Any:
    """Return a numba intrinsic that builds the tuple of the kernel's arguments from the address of a frame."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        frame = builder.inttoptr(arguments[0], _POINTER)
        slots = (cgutils.pointer_add(builder, frame, _SLOT_SIZE * k) for k in range(1 << 20))
        return _build(context, builder, tuple_type, slots)

    @intrinsic
    def unpack(typing_context, frame):
        return tuple_type(types.intp), generate

    return unpack


def _build(context: Any, builder: Any, kind: Any, slots: Iterator[Any]) -> Any:
    """Emit a value of a numba type that is read from the next slots of the frame."""
    if isinstance(kind, _TUPLES):
        parts = [_build(context, builder, member, slots) for member in tuple(kind)]
        return context.make_tuple(builder, kind, parts)
    if kind == types.unicode_type:
        return _text(context, builder, next(slots), next(slots))
    slot = next(slots)
    if isinstance(kind, types.Array):
        return _array(context, builder, kind, _load(builder, slot, _POINTER))
    if kind == types.none:
        return context.get_dummy_value()
    if kind == types.boolean:
        return builder.trunc(_load(builder, slot, _INT64), ir.IntType(1))
    if kind == types.complex128:
        return _load(builder, slot, context.get_value_type(kind))
    return _load(builder, slot, context.get_value_type(kind))


def _load(builder: Any, address: Any, kind: ir.Type) -> Any:
    return builder.load(builder.bitcast(address, kind.as_pointer()))


def _array(context: Any, builder: Any, kind: Any, item: Any) -> Any:
    """Emit a numba array over the memory of an ndarray object, whose fields are part of NumPy's stable binary
    interface.
    """

    def field(name: str, llvm_type: ir.Type) -> Any:
        return _load(builder, cgutils.pointer_add(builder, item, fields(Array)[name].offset), llvm_type)

    shape = field("shape", _INT64.as_pointer())
    strides = field("strides", _INT64.as_pointer())

    def dimension(k: int, of: Any) -> Any:
        return builder.load(builder.gep(of, [_INT64(k)]))

    array = arrayobj.make_array(kind)(context, builder)
    element = context.get_data_type(kind.dtype)
    arrayobj.populate_array(
        array,
        data=field("data", element.as_pointer()),
        shape=[dimension(k, shape) for k in range(kind.ndim)],
        strides=[dimension(k, strides) for k in range(kind.ndim)],
        itemsize=context.get_constant(types.intp, context.get_abi_sizeof(element)),
        meminfo=None,
        parent=None,
    )
    return array._getvalue()


def _text(context: Any, builder: Any, address: Any, length: Any) -> Any:
    """Emit a numba string over ASCII bytes."""
    text = cgutils.create_struct_proxy(types.unicode_type)(context, builder)
    text.data = _load(builder, address, _POINTER)
    text.length = _load(builder, length, _INT64)
    text.kind = ir.Constant(ir.IntType(32), 1)
    text.is_ascii = ir.Constant(ir.IntType(32), 1)
    text.hash = context.get_constant(types.intp, -1)
    text.meminfo = cgutils.get_null_value(text.meminfo.type)
    text.parent = cgutils.get_null_value(text.parent.type)
    return text._getvalue()


# A child forked while another thread holds the lock would deadlock.
held_across_fork(global_compiler_lock._lock)
