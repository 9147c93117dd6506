"""Digests of operators' code, which become part of the keys of torch's compile caches.

torch caches compiled graphs on disk by the names of the operators in them. The contents depend on the code of these
operators as well: schemas, bodies, scalar functions, derivatives, shape functions, and all that these read and call. A
digest of all this is set as the tag that is part of each cache key.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import pickle
import sys
import types
import uuid
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from threading import RLock
from typing import Any

import numpy
import torch

from opdsl.backends.cpu.fingerprint import FunctionText
from opdsl.declare.library import Library
from opdsl.dispatch import Operator, registry
from opdsl.dispatch.state import DEFAULT_STATE, Guard
from opdsl.primitives import Loop
from opdsl.runtime import Device, DType, Layout, MemoryFormat, Tensor
from opdsl.runtime.forking import held_across_fork

__all__ = ["digest_of", "names_in", "note", "noted", "withdraw"]

# Types whose repr is their text.
_TOLD = (
    *(DType, Device, Layout, MemoryFormat, range, slice, torch._ops.OpOverload, torch._ops.OpOverloadPacket),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format),
)
# Packages whose code is represented by their versions.
_VERSIONED = ("opdsl", "torch", "numpy", "numba", "scipy")
# Text of objects that cannot be represented: unique to this process, so that no cache entry of another one matches.
_UNTOLD = uuid.uuid4().hex
_MARK = "|opdsl "


class OperatorText(FunctionText):
    """Generator of a text that represents operators with all code that they read and call, to be hashed."""

    def __init__(self) -> None:
        super().__init__()
        # opdsl's own packets are represented by its version.
        self._packets = [
            packet for packet in tuple(registry.packets.values()) if "::" in packet.name and not _is_aten(packet.name)
        ]

    def operator(self, operator: Operator) -> Iterator[str]:
        """Yield the text of an operator and of the objects with which it was declared."""
        if _is_aten(operator.name):
            yield operator.name
            return
        again = self.again(operator)
        if again:
            yield again
            return
        yield f"operator {operator.schema} {operator.tags}"
        yield from self.value(operator.properties)
        declaration: Any = operator.declaration
        if declaration is not None:
            yield from self.value(declaration.function)
            yield from self.value(declaration.attached)
            yield from self.value(declaration.formulas)
        for key, kernels in sorted(operator.registrations.items(), key=lambda pair: str(pair[0])):
            for kernel in kernels:
                yield f"kernel {key} {type(kernel).__name__} {kernel.kind}"
                yield from self.value(kernel.functions)
        yield from self.value(getattr(operator.derivative, "declared", ()))

    def function(self, function: types.FunctionType) -> Iterator[str]:
        """See ``FunctionText``: also covers objects that the function reads from modules, and operators whose names it
        contains.
        """
        called = getattr(function, "operator", None)
        if isinstance(called, Operator):
            for overload in called.packet.overloads.values():
                yield from self.operator(overload)
            return
        if _is_versioned(function.__module__):
            if _is_generated(function):  # for a declaration, of which it has the constants and the functions
                yield from super().function(function)
                return
            yield f"function {function.__module__}.{function.__qualname__}"
            for cell in function.__closure__ or ():  # the arguments of a decorator or transform
                if isinstance(cell.cell_contents, types.FunctionType | int | float | str):
                    yield from self.value(cell.cell_contents)
            return
        yield from super().function(function)
        names = _all_names(function.__code__)
        for module in _modules(function, names):
            for name in sorted(names & vars(module).keys()):
                yield f"{module.__name__}.{name}"
                yield from self.value(vars(module)[name])
        yield from _files(function)
        names = names | _all_texts(function.__code__)
        for packet in self._packets:
            if packet.name.rpartition("::")[2] in names:
                for overload in packet.overloads.values():
                    yield from self.operator(overload)

    def module(self, module: types.ModuleType) -> Iterator[str]:
        """See ``FunctionText``: yields the name only; the attributes that functions read are covered with the
        functions.
        """
        yield f"module {module.__name__}"

    def value(self, value: Any) -> Iterator[str]:
        """See ``FunctionText``: also covers the members of classes that belong to no versioned package."""
        if isinstance(value, type) and not _is_versioned(value.__module__):
            yield from self._class(value)
        else:
            yield from super().value(value)

    def other(self, value: object) -> Iterator[str]:
        """See ``FunctionText``: yields a text that is unique to this process for an object that cannot be
        represented.
        """
        wrapped = getattr(value, "__wrapped__", None)
        if isinstance(value, _TOLD):
            yield f"{type(value).__qualname__} {value!r}"
        elif isinstance(value, Guard):
            yield f"guard {value.state_within(DEFAULT_STATE)!r}"
        elif isinstance(value, Library):
            yield repr(value)
        elif isinstance(value, Operator):
            yield from self.operator(value)
        elif isinstance(value, Tensor | torch.Tensor):
            yield from _tensor(value)
        elif isinstance(value, types.MappingProxyType):
            yield from self.value(dict(value))
        elif isinstance(value, Loop):
            yield f"loop {value.kind} {value.keys}"
            yield from self.value((value.function, value.options))
        elif isinstance(value, functools.partial):
            yield from self.value((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            yield from self.value((value.__func__, value.__self__))
        elif isinstance(wrapped, types.FunctionType):
            yield from self.value(wrapped)
        else:
            yield from self._object(value)

    def _object(self, value: object) -> Iterator[str]:
        """Yield the class and the attributes of an object."""
        kind = type(value)
        if _is_versioned(kind.__module__):
            try:
                yield f"{kind.__module__}.{kind.__qualname__} {pickle.dumps(value).hex()}"
            except Exception:  # not picklable, for any reason
                yield _UNTOLD
            return
        again = self.again(value)
        if again:
            yield again
            return
        yield from self._class(kind)
        slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ()) if hasattr(value, name)]
        yield from self.value({**getattr(value, "__dict__", {}), **{slot: getattr(value, slot) for slot in slots}})

    def _class(self, kind: type) -> Iterator[str]:
        """Yield the members of a class and of its bases."""
        yield f"class {kind.__module__}.{kind.__qualname__}"
        if _is_versioned(kind.__module__) or self.again(kind):
            return
        for base in kind.__bases__:
            yield from self._class(base)
        for name, member in vars(kind).items():
            content = getattr(member, "__func__", getattr(member, "fget", member))
            if isinstance(content, types.FunctionType) or not (name.startswith("__") or _is_slot(content)):
                yield name
                yield from self.value(content)


def _is_slot(value: object) -> bool:
    return isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType)


def _is_generated(function: types.FunctionType) -> bool:
    """Return whether a function was executed from text, in a namespace of its own."""
    module = sys.modules.get(str(function.__module__))
    return module is None or function.__globals__ is not vars(module)


def _tensor(value: Tensor | torch.Tensor) -> Iterator[str]:
    """Yield the text of a tensor that a function reads, including a hash of its elements."""
    yield f"tensor {value.dtype} {tuple(value.shape)} {value.device}"
    if isinstance(value, Tensor):
        array: Any = value.array if value.is_cpu else None
    else:
        is_memory = value.device.type == "cpu" and type(value) in (torch.Tensor, torch.nn.Parameter)
        array = value.detach().contiguous().flatten().view(torch.uint8).numpy() if is_memory else None
    yield _UNTOLD if array is None else hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest()


def _is_aten(name: str) -> bool:
    return "::" not in name or name.startswith(("aten::", "prims::"))


def _is_versioned(module: object) -> bool:
    """Return whether a module belongs to a package (or to Python) whose version represents its code."""
    top = str(module).partition(".")[0]
    return top in _VERSIONED or (top in sys.stdlib_module_names and top != "__main__")


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of a function and of the functions in it."""
    yield code
    for nested in code.co_consts:
        if isinstance(nested, types.CodeType):
            yield from _codes(nested)


def _all_names(code: types.CodeType) -> set[str]:
    return {name for part in _codes(code) for name in part.co_names}


def _all_texts(code: types.CodeType) -> set[str]:
    """Return the strings in code, which ``getattr`` may take for names."""
    return {constant for part in _codes(code) for constant in part.co_consts if isinstance(constant, str)}


def _modules(function: types.FunctionType, names: set[str]) -> list[types.ModuleType]:
    """Return the modules that a function reads, as a global or by an import in it, without those of versioned
    packages.
    """
    read = [value for name, value in sorted(function.__globals__.items()) if name in names]
    read += [sys.modules.get(name) for name in _imported(function)]
    return [value for value in read if isinstance(value, types.ModuleType) and not _is_versioned(value.__name__)]


def _imported(function: types.FunctionType) -> list[str]:
    """Return the names of the modules that a function itself imports; of a relative import in its package."""
    package = str(function.__globals__.get("__package__") or "")
    instructions = [part for code in _codes(function.__code__) for part in dis.get_instructions(code)]
    names = {str(part.argval) for part in instructions if part.opname == "IMPORT_NAME"}
    return sorted(name for text in names for name in (text, f"{package}.{text}".strip(".")) if name)


def _files(function: types.FunctionType) -> Iterator[str]:
    """Yield digests of the files of modules that a function imports, and that nothing has imported yet."""
    for name in _imported(function):
        if name in sys.modules or _is_versioned(name):
            continue
        spec = _found_without_import(name)
        if spec is not None and spec.origin is not None and Path(spec.origin).is_file():
            yield f"file of {name} {hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()}"


def _found_without_import(name: str) -> ModuleSpec | None:
    """Return where the path has a module, without importing the packages around it; None if it has none."""
    parts = name.split(".")
    folders: Sequence[str] | None = None
    spec: ModuleSpec | None = None
    for count in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:count]), folders)
        if spec is None:
            return None
        folders = spec.submodule_search_locations
    return spec


def _versions() -> str:
    return f"{sys.version} {[getattr(sys.modules.get(text), '__version__', '') for text in _VERSIONED]}"


def digest_of(operator: Operator) -> str:
    """Return a digest of the code of an operator and its callees; equal digests mean equal code in any process."""
    text = "\n".join([_versions(), *OperatorText().operator(operator)])
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def names_in(operator: Operator) -> frozenset[str]:
    """Return all names in the code of an operator and its callees."""
    text = OperatorText()
    for _ in text.operator(operator):
        pass
    return frozenset(text.names)


_noted: dict[str, str] = {}
_lock = held_across_fork(RLock())


def note(operator: Operator, name: str) -> None:
    """Add the digest of an operator to torch's cache keys; called when the operator may become part of a graph.

    Args:
        operator: the operator.
        name: its name in torch.
    """
    digest = digest_of(operator)
    with _lock:
        if _noted.get(name) != digest:
            _noted[name] = digest
            _set_tag()


def noted(name: str) -> str | None:
    """Return the digest of an operator that is part of the cache keys, or None."""
    return _noted.get(name)


def withdraw(name: str) -> None:
    """Remove the digest of an operator from torch's cache keys, when the operator is removed from torch."""
    with _lock:
        if _noted.pop(name, None) is not None:
            _set_tag()


def _set_tag() -> None:
    digest = hashlib.blake2b(repr(sorted(_noted.items())).encode(), digest_size=8).hexdigest()
    tag = str(torch.compiler.config.cache_key_tag).partition(_MARK)[0]
    torch.compiler.config.cache_key_tag = f"{tag}{_MARK}{digest}" if _noted else tag
