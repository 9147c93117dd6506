"""Attributes of ``opdsl`` that are loaded on first access: the language, operators of aten, submodules."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any

from opdsl.dispatch import Operators, registry
from opdsl.dispatch.model.bindings import PYTHON_MODULES, PythonModule, module_of
from opdsl.dispatch.model.namespaces import Complete, load_namespace
from opdsl.dispatch.model.packet import Packet
from opdsl.errors import UnknownOperatorError
from opdsl.runtime import Tensor
from opdsl.runtime.close_names import suggestion
from opdsl.schema import OperatorName

_SUBMODULES = frozenset(("array_api", "autograd", "cuda", "native", "nn", "notebook", "primitives", "testing"))

# Not part of the public interface, but available as attributes without an import.
_LAYERS = frozenset(("declare", "dispatch", "schema"))

# The language, by module.
_LANGUAGE = {
    "opdsl.declare": "Inplace Library Operator Out Overload formula forward op",
    "opdsl.dispatch": (
        "DispatchKey DispatchMode DispatchTable checked enable_grad exclude_keys get_default_dtype include_keys "
        "inference_mode is_grad_enabled is_inference_mode_enabled no_grad record_calls set_default_dtype "
        "set_grad_enabled traceable"
    ),
    "opdsl.formulas.debugging": "debug",
    "opdsl.formulas.dims": "Dim dim dims",
    "opdsl.formulas.scans": "fold scan",
    "opdsl.kernels": "check",
    "opdsl.profiling": "profile",
    "opdsl.programs": "Program compile trace",
    "opdsl.runtime": "cdouble cfloat double half long short",
    "opdsl.runtime.limits": "finfo iinfo",
    "opdsl.runtime.representation": "set_printoptions",
    "opdsl.runtime.saving": "load save",
    "math": "e inf nan pi",
    "opdsl.schema": "Alias parse_schema",
    "opdsl.schema.vocabulary": (
        "Bools DeviceIndex GraphModule IntList Ints Name QScheme Reduction Scalar Size Storage Stream SymBool SymInt "
        "SymInts TensorOptions"
    ),
}

# Functions whose arguments no schema can express, as in PyTorch, or that are not operators, by module.
_BY_HAND = {
    "opdsl.aten.python.functions": (
        "atleast_1d atleast_2d atleast_3d broadcast_shapes cartesian_prod einsum frombuffer get_device is_complex "
        "is_floating_point is_inference is_signed is_tensor numel tensordot unique unique_consecutive unravel_index"
    ),
    "opdsl.aten.python.functional": "cdist meshgrid",
    "opdsl.aten.linalg.norms": "norm",
    "opdsl.aten.create.construction": "as_tensor asarray from_dlpack tensor",
    "opdsl.aten.python.vmap": "vmap",
    "opdsl.aten.index.masking": "nonzero",
    "opdsl.aten.shape.stacking": "block_diag",
    "opdsl.aten.shape.views": "broadcast_tensors",
    "opdsl.backends.cache": "set_kernel_cache",
    "opdsl.backends.cpu.pool": "get_num_threads set_num_threads",
}

# Names that work on registered operators, so that all operators of aten are loaded with them, by module.
_OF_OPERATORS = {
    "opdsl.dispatch": "registry",
    "opdsl.dispatch.overrides.native_dsl": "known_dsls register_dsl unavailable_reason",
    "opdsl.dispatch.overrides.overriding": (
        "deregister_op_overrides get_dsl_operations list_op_overrides override_fallback reenable_op_overrides "
        "register_op_override reorder_graphs_from_user_function"
    ),
    "opdsl.dispatch.overrides.safe_kernel": "get_kernel",
}

_RENAMED = {
    "DispatchKeySet": ("opdsl.dispatch", "KeySet"),
    "device": ("opdsl.runtime", "Device"),
    "dtype": ("opdsl.runtime", "DType"),
    "fallthrough_kernel": ("opdsl.dispatch", "FALLTHROUGH"),
    "float": ("opdsl.runtime", "float32"),
    "int": ("opdsl.runtime", "int32"),
    "layout": ("opdsl.runtime", "Layout"),
    "memory_format": ("opdsl.runtime", "MemoryFormat"),
}


def _homes(table: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return for each name its module, and its name there."""
    return {name: (module, name) for module, names in table.items() for name in names.split()}


_HOMES = _homes(_LANGUAGE) | _homes(_BY_HAND) | _RENAMED
_HOMES_OF_OPERATORS = _homes(_OF_OPERATORS)


def attribute(name: str) -> Any:
    """Return the value of an attribute of the package.

    Raises:
        UnknownOperatorError: there is no such operator; the error is an AttributeError as well.
    """
    if name in _SUBMODULES or name in _LAYERS:
        return importlib.import_module(f"opdsl.{name}")
    importing = sys.modules.get(f"opdsl.{name}")  # ``import opdsl.name.module as module`` reads it meanwhile
    if importing is not None:
        return importing
    if name in _HOMES_OF_OPERATORS:
        load_namespace(ops, "aten")
        return _given(*_HOMES_OF_OPERATORS[name])
    value: Any
    if name == "ops":
        value = ops
    elif name in PYTHON_MODULES:
        value = python_module(name)
    else:
        value = _given(*_HOMES[name]) if name in _HOMES else _function(name)
    return vars(sys.modules["opdsl"]).setdefault(name, value)


def python_module(name: str) -> PythonModule:
    """Return an object with the functions of aten whose entries have a ``python_module``, such as ``"nn"`` or
    ``"linalg"``.
    """
    return PythonModule(name, _find_packet, _aten_names, _listed_names)


class Functions:
    """Object with all functions of aten as attributes, by the names of their schemas; loaded on first access."""

    def __getattr__(self, name: str) -> Callable[..., Tensor]:
        if name in _HOMES:
            function: Callable[..., Tensor] = _given(*_HOMES[name])
        else:
            packet = None if name.startswith("__") else _find_packet(name)
            if packet is None:
                raise UnknownOperatorError(f"aten has no function {name!r}. {_hint(name, _HOMES)}")
            function = packet.main.build()
        setattr(self, name, function)
        return function

    def __getitem__(self, name: str) -> Callable[..., Tensor]:
        reader: Callable[..., Tensor] = getattr(self, name)
        return reader


aten = Functions()


def names() -> set[str]:
    """Return the names that ``attribute`` accepts, including the functions of aten that PyTorch has in the package
    itself.
    """
    functions = {name for name in _aten_names() if not name.startswith("__") and _is_function(name)}
    return functions | {"ops", *_SUBMODULES, *PYTHON_MODULES, *_HOMES, *_HOMES_OF_OPERATORS}


def _given(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


# ----------------------------------------------------------------------------------------------------------- operators


def _load_aten() -> None:
    importlib.import_module("opdsl.aten").load()


def _load(name: str | None) -> bool:
    """Load the operators of a packet of aten, or all of aten; return whether all were loaded."""
    aten = importlib.import_module("opdsl.aten")
    if name is not None and name in aten.PACKETS:
        root = OperatorName(None, name).root
        for text in (name, root, f"{root}_", f"__{root}__", f"__i{root}__"):  # overloads are generated from variants
            if text in aten.PACKETS:
                aten.load_packet(text)
        return False
    if name is not None and name.startswith("__"):  # Python looks up special attributes
        return False
    aten.load()
    return True


def _declaring_generated() -> Complete:
    declare: Complete = importlib.import_module("opdsl.declare.generated").declare_generated_of
    return declare


ops = Operators(registry, {"aten": _load}, _declaring_generated)


def _function(name: str) -> Any:
    """Return the function of a packet of aten, if PyTorch has it in the package itself."""
    packet = _find_packet(name)
    if packet is None:
        hint = _hint(
            name, {*_SUBMODULES, *PYTHON_MODULES, *_HOMES, *_HOMES_OF_OPERATORS, "ops", *vars(sys.modules["opdsl"])}
        )
        raise UnknownOperatorError(f"module 'opdsl' has no attribute {name!r}. {hint}")
    module = module_of(packet)
    if module is not None:
        short = name.removeprefix(f"{module}_")
        raise UnknownOperatorError(f"module 'opdsl' has no attribute {name!r}: as in PyTorch it is {module}.{short}.")
    return packet.main.build()


def _hint(name: str, others: Iterable[str]) -> str:
    """Return a suggestion for a misspelled name: an operator of aten, or one of the other names."""
    catalog = importlib.import_module("opdsl.aten").PACKETS
    return suggestion(name, (*catalog, *others), "`opdsl list` shows every operator.")


def _find_packet(name: str) -> Packet | None:
    """Return the packet of aten with a name, loading it if necessary, or None."""
    aten = importlib.import_module("opdsl.aten")
    if name in aten.PACKETS:
        aten.load_packet(name)
    return registry.packets.get(f"aten::{name}")


def _listed_names() -> list[str]:
    """Return the names of aten's packets, loaded or not."""
    registered = [packet.removeprefix("aten::") for packet in tuple(registry.packets) if packet.startswith("aten::")]
    return [*dict.fromkeys((*importlib.import_module("opdsl.aten").PACKETS, *registered))]


def _aten_names() -> list[str]:
    _load_aten()
    return [packet.removeprefix("aten::") for packet in tuple(registry.packets) if packet.startswith("aten::")]


def _is_function(name: str) -> bool:
    try:
        return module_of(registry.packets[f"aten::{name}"]) is None
    except UnknownOperatorError:
        return False
