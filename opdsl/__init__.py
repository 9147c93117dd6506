"""Library opdsl: declare a tensor operator once, in typed Python.

Importing the package loads tensors only. The language (``op``, ``Library``, annotations), the operator library and
everything else are loaded on first access: ``opdsl.op``, ``opdsl.add``, ``opdsl.ops``, ``opdsl.native``.
"""

from __future__ import annotations

import importlib
import sys as _sys
from typing import TYPE_CHECKING, Any

# Imported first, and from here: deeper in nested imports, calls inside NumPy's modules would cross the end of a chunk
# of CPython's frame stack, and each would allocate and free a chunk, which doubles the time of the import.
import numpy as numpy

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
    bfloat16,
    channels_last,
    channels_last_3d,
    complex64,
    complex128,
    contiguous_format,
    default_generator,
    dynamic_size,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
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
    uint16,
    uint32,
    uint64,
)
from opdsl.runtime import bool_ as bool
from opdsl.runtime.differentiable import autograd_comes_from as _autograd_comes_from
from opdsl.runtime.init_hooks import before_first_tensor as _before_first_tensor

if TYPE_CHECKING:
    from math import e as e
    from math import inf as inf
    from math import nan as nan
    from math import pi as pi

    from opdsl import array_api as array_api
    from opdsl import autograd as autograd
    from opdsl import cuda as cuda
    from opdsl import errors as errors
    from opdsl import native as native
    from opdsl import nn as nn
    from opdsl import notebook as notebook
    from opdsl import primitives as primitives
    from opdsl import testing as testing
    from opdsl.aten.create.construction import as_tensor as as_tensor
    from opdsl.aten.create.construction import asarray as asarray
    from opdsl.aten.create.construction import from_dlpack as from_dlpack
    from opdsl.aten.create.construction import tensor as tensor
    from opdsl.aten.index.masking import nonzero as nonzero
    from opdsl.aten.linalg.norms import norm as norm
    from opdsl.aten.python.functional import cdist as cdist
    from opdsl.aten.python.functional import meshgrid as meshgrid
    from opdsl.aten.python.functions import atleast_1d as atleast_1d
    from opdsl.aten.python.functions import atleast_2d as atleast_2d
    from opdsl.aten.python.functions import atleast_3d as atleast_3d
    from opdsl.aten.python.functions import broadcast_shapes as broadcast_shapes
    from opdsl.aten.python.functions import cartesian_prod as cartesian_prod
    from opdsl.aten.python.functions import einsum as einsum
    from opdsl.aten.python.functions import frombuffer as frombuffer
    from opdsl.aten.python.functions import get_device as get_device
    from opdsl.aten.python.functions import is_complex as is_complex
    from opdsl.aten.python.functions import is_floating_point as is_floating_point
    from opdsl.aten.python.functions import is_inference as is_inference
    from opdsl.aten.python.functions import is_signed as is_signed
    from opdsl.aten.python.functions import is_tensor as is_tensor
    from opdsl.aten.python.functions import numel as numel
    from opdsl.aten.python.functions import tensordot as tensordot
    from opdsl.aten.python.functions import unique as unique
    from opdsl.aten.python.functions import unique_consecutive as unique_consecutive
    from opdsl.aten.python.functions import unravel_index as unravel_index
    from opdsl.aten.python.vmap import vmap as vmap
    from opdsl.aten.shape.stacking import block_diag as block_diag
    from opdsl.aten.shape.views import broadcast_tensors as broadcast_tensors
    from opdsl.backends.cache import set_kernel_cache as set_kernel_cache
    from opdsl.backends.cpu.pool import get_num_threads as get_num_threads
    from opdsl.backends.cpu.pool import set_num_threads as set_num_threads
    from opdsl.declare import Inplace as Inplace
    from opdsl.declare import Library as Library
    from opdsl.declare import Operator as Operator
    from opdsl.declare import Out as Out
    from opdsl.declare import Overload as Overload
    from opdsl.declare import formula as formula
    from opdsl.declare import forward as forward
    from opdsl.declare import op as op
    from opdsl.dispatch import FALLTHROUGH as fallthrough_kernel
    from opdsl.dispatch import DispatchKey as DispatchKey
    from opdsl.dispatch import DispatchMode as DispatchMode
    from opdsl.dispatch import DispatchTable as DispatchTable
    from opdsl.dispatch import KeySet as DispatchKeySet
    from opdsl.dispatch import Operators
    from opdsl.dispatch import checked as checked
    from opdsl.dispatch import enable_grad as enable_grad
    from opdsl.dispatch import exclude_keys as exclude_keys
    from opdsl.dispatch import get_default_dtype as get_default_dtype
    from opdsl.dispatch import include_keys as include_keys
    from opdsl.dispatch import inference_mode as inference_mode
    from opdsl.dispatch import is_grad_enabled as is_grad_enabled
    from opdsl.dispatch import is_inference_mode_enabled as is_inference_mode_enabled
    from opdsl.dispatch import no_grad as no_grad
    from opdsl.dispatch import record_calls as record_calls
    from opdsl.dispatch import registry as registry
    from opdsl.dispatch import set_default_dtype as set_default_dtype
    from opdsl.dispatch import set_grad_enabled as set_grad_enabled
    from opdsl.dispatch import traceable as traceable
    from opdsl.dispatch.model.bindings import PythonModule
    from opdsl.dispatch.overrides.native_dsl import known_dsls as known_dsls
    from opdsl.dispatch.overrides.native_dsl import register_dsl as register_dsl
    from opdsl.dispatch.overrides.native_dsl import unavailable_reason as unavailable_reason
    from opdsl.dispatch.overrides.overriding import deregister_op_overrides as deregister_op_overrides
    from opdsl.dispatch.overrides.overriding import get_dsl_operations as get_dsl_operations
    from opdsl.dispatch.overrides.overriding import list_op_overrides as list_op_overrides
    from opdsl.dispatch.overrides.overriding import override_fallback as override_fallback
    from opdsl.dispatch.overrides.overriding import reenable_op_overrides as reenable_op_overrides
    from opdsl.dispatch.overrides.overriding import register_op_override as register_op_override
    from opdsl.dispatch.overrides.overriding import (
        reorder_graphs_from_user_function as reorder_graphs_from_user_function,
    )
    from opdsl.dispatch.overrides.safe_kernel import get_kernel as get_kernel
    from opdsl.formulas.debugging import debug as debug
    from opdsl.formulas.dims import Dim as Dim
    from opdsl.formulas.dims import dim as dim
    from opdsl.formulas.dims import dims as dims
    from opdsl.formulas.scans import fold as fold
    from opdsl.formulas.scans import scan as scan
    from opdsl.kernels import check as check
    from opdsl.profiling import profile as profile
    from opdsl.programs import Program as Program
    from opdsl.programs import compile as compile
    from opdsl.programs import trace as trace
    from opdsl.runtime import Device as device
    from opdsl.runtime import DType as dtype
    from opdsl.runtime import Layout as layout
    from opdsl.runtime import MemoryFormat as memory_format
    from opdsl.runtime import cdouble as cdouble
    from opdsl.runtime import cfloat as cfloat
    from opdsl.runtime import double as double
    from opdsl.runtime import half as half
    from opdsl.runtime import long as long
    from opdsl.runtime import short as short
    from opdsl.runtime.limits import finfo as finfo
    from opdsl.runtime.limits import iinfo as iinfo
    from opdsl.runtime.representation import set_printoptions as set_printoptions
    from opdsl.runtime.saving import load as load
    from opdsl.runtime.saving import save as save
    from opdsl.schema import Alias as Alias
    from opdsl.schema import parse_schema as parse_schema
    from opdsl.schema.vocabulary import Bools as Bools
    from opdsl.schema.vocabulary import DeviceIndex as DeviceIndex
    from opdsl.schema.vocabulary import GraphModule as GraphModule
    from opdsl.schema.vocabulary import IntList as IntList
    from opdsl.schema.vocabulary import Ints as Ints
    from opdsl.schema.vocabulary import Name as Name
    from opdsl.schema.vocabulary import QScheme as QScheme
    from opdsl.schema.vocabulary import Reduction as Reduction
    from opdsl.schema.vocabulary import Scalar as Scalar
    from opdsl.schema.vocabulary import Size as Size
    from opdsl.schema.vocabulary import Storage as Storage
    from opdsl.schema.vocabulary import Stream as Stream
    from opdsl.schema.vocabulary import SymBool as SymBool
    from opdsl.schema.vocabulary import SymInt as SymInt
    from opdsl.schema.vocabulary import SymInts as SymInts
    from opdsl.schema.vocabulary import TensorOptions as TensorOptions

    float: DType
    int: DType
    ops: Operators
    fft: PythonModule
    linalg: PythonModule
    nested: PythonModule
    sparse: PythonModule
    special: PythonModule

__version__ = "0.1.0"

_autograd_comes_from(lambda: importlib.import_module("opdsl.autograd.tensors"))

# At an interactive prompt; `python -i` defines `sys.ps1` only with the first prompt.
if hasattr(_sys, "ps1") or _sys.flags.interactive:
    from opdsl.runtime.prompt import show_schemas as _show_schemas

    _show_schemas()

# Operators are methods of tensors, so they are loaded before the first tensor exists.
_before_first_tensor(lambda: importlib.import_module("opdsl.aten").prepare_tensor)
_before_first_tensor(lambda: importlib.import_module("opdsl.backends.cache").keep_code_of_functions)


if TYPE_CHECKING:

    def __getattr__(name: str) -> Operator[..., Tensor]:
        """Return an operator for any other name, for type checkers; most operators return one tensor."""
else:

    def __getattr__(name: str) -> Any:
        """Return an attribute that is loaded on first access: the language, the operators of aten, submodules."""
        if name.startswith("__"):
            raise AttributeError(f"module 'opdsl' has no attribute {name!r}")
        return importlib.import_module("opdsl._attributes").attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *importlib.import_module("opdsl._attributes").names()})


__all__ = [
    "Alias",
    "Array",
    "Bools",
    "CPUTensor",
    "CUDATensor",
    "DType",
    "Device",
    "DeviceIndex",
    "Dim",
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
    "Overload",
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
    "device",
    "dim",
    "dims",
    "dtype",
    "dynamic_size",
    "enable_grad",
    "exclude_keys",
    "fallthrough_kernel",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "fold",
    "forward",
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
    "layout",
    "manual_seed",
    "memory_format",
    "no_grad",
    "op",
    "ops",
    "parse_schema",
    "preserve_format",
    "record_calls",
    "registry",
    "scan",
    "seed",
    "set_default_dtype",
    "set_grad_enabled",
    "set_rng_state",
    "strided",
    "traceable",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]
