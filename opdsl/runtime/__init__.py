"""Tensors without operators: dtypes, devices, geometries, views, memory sharing and printing.

The package contains no operator; the operator library installs methods by ``install_method``. Functions that have the
name of a module (``geometry``, ``tensor``, ``overlap``) are imported from that module.
May import: opdsl.errors.
"""

import copyreg

from opdsl.runtime.device import (
    Device,
    Layout,
    MemoryFormat,
    backends,
    channels_last,
    channels_last_3d,
    contiguous_format,
    cpu,
    meta,
    preserve_format,
    strided,
)
from opdsl.runtime.differentiable import forget_history
from opdsl.runtime.dtype import (
    ALIASES,
    ALL_DTYPES,
    Category,
    DType,
    bfloat16,
    bool_,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    long,
    short,
    to_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from opdsl.runtime.generator import (
    Generator,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from opdsl.runtime.geometry import Creation, TensorMeta, geometry_of
from opdsl.runtime.interchange import from_dlpack, from_numpy
from opdsl.runtime.methods import install_late_methods, install_method, is_installed, remove_method
from opdsl.runtime.overlap import (
    Overlap,
    has_internal_overlap,
    require_no_overlap,
    require_no_partial_overlap,
    require_writable,
    share_storage,
)
from opdsl.runtime.pickling import reduced
from opdsl.runtime.promotion import can_cast, number_dtype, number_kind, promote_types, result_type
from opdsl.runtime.storage import bump_version, storage_root, version_of
from opdsl.runtime.strides import contiguous_strides, strides_for, wrap_dimension
from opdsl.runtime.symbols import dynamic_size, making_sizes
from opdsl.runtime.tensor import Array, CPUTensor, CUDATensor, MetaArray, Tensor, wrap
from opdsl.runtime.values import host_array
from opdsl.runtime.viewing import become, make_view, storage_size, take_memory, view_of
from opdsl.runtime.views import View, infer_size

copyreg.pickle(Tensor, reduced)  # type: ignore[arg-type]  # whose stub has no tuples of other lengths

__all__ = [
    "ALIASES",
    "ALL_DTYPES",
    "Array",
    "CPUTensor",
    "CUDATensor",
    "Category",
    "Creation",
    "DType",
    "Device",
    "Generator",
    "Layout",
    "MemoryFormat",
    "MetaArray",
    "Overlap",
    "Tensor",
    "TensorMeta",
    "View",
    "backends",
    "become",
    "bfloat16",
    "bool_",
    "bump_version",
    "can_cast",
    "cdouble",
    "cfloat",
    "channels_last",
    "channels_last_3d",
    "complex64",
    "complex128",
    "contiguous_format",
    "contiguous_strides",
    "cpu",
    "default_generator",
    "double",
    "dynamic_size",
    "float8_e4m3fn",
    "float8_e5m2",
    "float16",
    "float32",
    "float64",
    "forget_history",
    "from_dlpack",
    "from_numpy",
    "geometry_of",
    "get_rng_state",
    "half",
    "has_internal_overlap",
    "host_array",
    "infer_size",
    "initial_seed",
    "install_late_methods",
    "install_method",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_installed",
    "long",
    "make_view",
    "making_sizes",
    "manual_seed",
    "meta",
    "number_dtype",
    "number_kind",
    "preserve_format",
    "promote_types",
    "remove_method",
    "require_no_overlap",
    "require_no_partial_overlap",
    "require_writable",
    "result_type",
    "seed",
    "set_rng_state",
    "share_storage",
    "short",
    "storage_root",
    "storage_size",
    "strided",
    "strides_for",
    "take_memory",
    "to_dtype",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "version_of",
    "view_of",
    "wrap",
    "wrap_dimension",
]
