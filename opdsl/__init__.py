"""opdsl: declare a tensor operator once, in typed Python.

The language (``op``, ``Library``, ``Tensor``, annotations, ``check``) is here at once. The operator library and
everything else is loaded when it is first asked for: ``opdsl.add``, ``opdsl.ops``, ``opdsl.native``.
"""

from __future__ import annotations

import builtins as _builtins
import importlib
from typing import TYPE_CHECKING, Any

# First and from here: where imports are nested deeper, calls inside NumPy's modules meet the end of a block of
# CPython's frame stack, and each of them allocates and frees one, which makes its import twice as long.
import numpy as numpy

from opdsl.declare import Inplace, Library, Operator, Out, op
from opdsl.dispatch import FALLTHROUGH as fallthrough_kernel
from opdsl.dispatch import (
    DispatchKey,
    DispatchMode,
    DispatchTable,
    Operators,
    checked,
    enable_grad,
    exclude_keys,
    get_default_dtype,
    include_keys,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    record_calls,
    set_default_dtype,
    set_grad_enabled,
    traceable,
)
from opdsl.dispatch import KeySet as DispatchKeySet
from opdsl.dispatch import Registry as _Registry
from opdsl.dispatch import registry as _registry
from opdsl.dispatch.bindings import PYTHON_MODULES, PythonModule, module_of
from opdsl.dispatch.packet import Packet
from opdsl.errors import UnknownOperatorError
from opdsl.runtime import (
    Array,
    CPUTensor,
    CUDATensor,
    Device,
    DType,
    Generator,
    Layout,
    MemoryFormat,
    Tensor,
    autograd_comes_from,
    before_first_tensor,
    bfloat16,
    channels_last,
    channels_last_3d,
    complex64,
    complex128,
    contiguous_format,
    default_generator,
    dynamic_size,
    float16,
    float32,
    float64,
    from_dlpack,
    from_numpy,
    get_rng_state,
    initial_seed,
    int8,
    int16,
    int32,
    int64,
    manual_seed,
    preserve_format,
    seed,
    set_rng_state,
    strided,
    uint8,
)
from opdsl.runtime import bool_ as bool
from opdsl.schema import Alias, parse_schema
from opdsl.schema.vocabulary import (
    Bools,
    DeviceIndex,
    GraphModule,
    IntList,
    Ints,
    Name,
    QScheme,
    Reduction,
    Scalar,
    Size,
    Storage,
    Stream,
    SymBool,
    SymInt,
    SymInts,
    TensorOptions,
)

if TYPE_CHECKING:
    from opdsl import autograd as autograd
    from opdsl import cuda as cuda
    from opdsl import errors as errors
    from opdsl import native as native
    from opdsl import testing as testing
    from opdsl.aten.construction import as_tensor as as_tensor
    from opdsl.aten.construction import tensor as tensor
    from opdsl.aten.masking import nonzero as nonzero
    from opdsl.aten.stacking import block_diag as block_diag
    from opdsl.aten.views import broadcast_tensors as broadcast_tensors
    from opdsl.backends.cache import set_kernel_cache as set_kernel_cache
    from opdsl.backends.cpu.pool import get_num_threads as get_num_threads
    from opdsl.backends.cpu.pool import set_num_threads as set_num_threads
    from opdsl.dispatch import registry as registry
    from opdsl.dispatch.native_dsl import known_dsls as known_dsls
    from opdsl.dispatch.native_dsl import register_dsl as register_dsl
    from opdsl.dispatch.native_dsl import unavailable_reason as unavailable_reason
    from opdsl.dispatch.overrides import deregister_op_overrides as deregister_op_overrides
    from opdsl.dispatch.overrides import get_dsl_operations as get_dsl_operations
    from opdsl.dispatch.overrides import list_op_overrides as list_op_overrides
    from opdsl.dispatch.overrides import override_fallback as override_fallback
    from opdsl.dispatch.overrides import reenable_op_overrides as reenable_op_overrides
    from opdsl.dispatch.overrides import register_op_override as register_op_override
    from opdsl.dispatch.overrides import reorder_graphs_from_user_function as reorder_graphs_from_user_function
    from opdsl.dispatch.safe_kernel import get_kernel as get_kernel
    from opdsl.kernels import check as check

    fft: PythonModule
    linalg: PythonModule
    nested: PythonModule
    nn: PythonModule
    sparse: PythonModule
    special: PythonModule

__version__ = "0.1.0"


def _load_aten() -> None:
    importlib.import_module("opdsl.aten").load()


def _declare_generated(registry: _Registry, namespace: str) -> None:
    importlib.import_module("opdsl.declare.generated").declare_generated(registry, namespace)


ops = Operators(_registry, {"aten": _load_aten}, _declare_generated)


def _prepare_tensor() -> None:
    importlib.import_module("opdsl.aten").prepare_tensor()


autograd_comes_from(lambda: importlib.import_module("opdsl.autograd.tensors"))

# The operators are a tensor's methods.
before_first_tensor(_prepare_tensor)

_SUBMODULES = frozenset(("autograd", "cuda", "native", "testing"))

# Names of modules that few programs need, by module.
_LAZY = {
    "deregister_op_overrides": "opdsl.dispatch.overrides",
    "get_dsl_operations": "opdsl.dispatch.overrides",
    "get_kernel": "opdsl.dispatch.safe_kernel",
    "known_dsls": "opdsl.dispatch.native_dsl",
    "list_op_overrides": "opdsl.dispatch.overrides",
    "override_fallback": "opdsl.dispatch.overrides",
    "reenable_op_overrides": "opdsl.dispatch.overrides",
    "register_dsl": "opdsl.dispatch.native_dsl",
    "register_op_override": "opdsl.dispatch.overrides",
    "reorder_graphs_from_user_function": "opdsl.dispatch.overrides",
    "set_kernel_cache": "opdsl.backends.cache",
    "unavailable_reason": "opdsl.dispatch.native_dsl",
}


# Functions that take what no schema says, as PyTorch's do, or that are no operators, by module.
_BY_HAND = {
    "block_diag": "opdsl.aten.stacking",
    "broadcast_tensors": "opdsl.aten.views",
    "get_num_threads": "opdsl.backends.cpu.pool",
    "nonzero": "opdsl.aten.masking",
    "set_num_threads": "opdsl.backends.cpu.pool",
    "as_tensor": "opdsl.aten.construction",
    "tensor": "opdsl.aten.construction",
}


def _attribute(name: str) -> Any:
    """Operators of the aten namespace by their name, and submodules, on first use."""
    if name in _SUBMODULES:
        return importlib.import_module(f"opdsl.{name}")
    if name == "check":
        return importlib.import_module("opdsl.kernels").check
    if name.startswith("__"):
        raise AttributeError(f"module 'opdsl' has no attribute {name!r}")
    if name == "registry" or name in _LAZY:
        ops.aten  # noqa: B018  whoever looks at operators, or overrides them, wants all of them
        return getattr(importlib.import_module(_LAZY.get(name, "opdsl.dispatch")), name)
    value: Any
    if name in PYTHON_MODULES:
        value = _python_module(name)
    else:
        value = getattr(importlib.import_module(_BY_HAND[name]), name) if name in _BY_HAND else _function(name)
    globals()[name] = value
    return value


if TYPE_CHECKING:

    def __getattr__(name: str) -> Operator[..., Tensor]:
        """Every other name is taken for an operator, and most return one tensor."""
else:
    __getattr__ = _attribute


def _function(name: str) -> Any:
    """The function of a packet of aten, if PyTorch has it in the package itself."""
    importlib.import_module("opdsl.aten").load_packet(name)
    packet = _registry.packets.get(f"aten::{name}")
    if packet is None:
        raise UnknownOperatorError(f"module 'opdsl' has no attribute {name!r}. `opdsl list` shows every operator.")
    module = module_of(packet)
    if module is not None:
        short = name.removeprefix(f"{module}_")
        raise UnknownOperatorError(f"module 'opdsl' has no attribute {name!r}: as in PyTorch it is {module}.{short}.")
    return packet.main.build()


def _find_packet(name: str) -> Packet | None:
    """The packet of a name of aten, loaded if the library has it."""
    aten = importlib.import_module("opdsl.aten")
    if name in aten.PACKETS:
        aten.load_packet(name)
    return _registry.packets.get(f"aten::{name}")


def _aten_names() -> list[str]:
    _load_aten()
    return [name.removeprefix("aten::") for name in tuple(_registry.packets) if name.startswith("aten::")]


def _python_module(name: str) -> PythonModule:
    return PythonModule(name, _find_packet, _aten_names)


def _is_function(name: str) -> _builtins.bool:
    try:
        return module_of(_registry.packets[f"aten::{name}"]) is None
    except UnknownOperatorError:
        return False


def __dir__() -> list[str]:
    functions = {name for name in _aten_names() if _is_function(name)}
    others = {*_SUBMODULES, *_LAZY, *_BY_HAND, *PYTHON_MODULES, "registry", "check"}
    return sorted(globals().keys() | others | functions)


__all__ = [
    "Alias",
    "Array",
    "Bools",
    "CPUTensor",
    "CUDATensor",
    "DType",
    "Device",
    "DeviceIndex",
    "DispatchKey",
    "DispatchKeySet",
    "DispatchMode",
    "DispatchTable",
    "Generator",
    "GraphModule",
    "Inplace",
    "IntList",
    "Ints",
    "Layout",
    "Library",
    "MemoryFormat",
    "Name",
    "Operator",
    "Out",
    "QScheme",
    "Reduction",
    "Scalar",
    "Size",
    "Storage",
    "Stream",
    "SymBool",
    "SymInt",
    "SymInts",
    "Tensor",
    "TensorOptions",
    "bfloat16",
    "bool",
    "channels_last",
    "channels_last_3d",
    "check",
    "checked",
    "complex64",
    "complex128",
    "contiguous_format",
    "default_generator",
    "dynamic_size",
    "enable_grad",
    "exclude_keys",
    "fallthrough_kernel",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "get_default_dtype",
    "get_rng_state",
    "include_keys",
    "inference_mode",
    "initial_seed",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "manual_seed",
    "no_grad",
    "op",
    "ops",
    "parse_schema",
    "preserve_format",
    "record_calls",
    "registry",
    "seed",
    "set_default_dtype",
    "set_grad_enabled",
    "set_rng_state",
    "strided",
    "traceable",
    "uint8",
]
