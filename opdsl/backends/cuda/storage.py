"""The C++ types of elements, values and Python numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opdsl.scalar.types import FLOAT, ScalarType

if TYPE_CHECKING:
    from opdsl.runtime.dtype import DType

__all__ = ["VALUE_TYPES", "loaded_type", "number_type", "stored_type"]

# The C++ type of a value, inside a function and at its boundary.
VALUE_TYPES: Final = {
    ScalarType.BOOL: "bool",
    ScalarType.UINT8: "unsigned char",
    ScalarType.INT8: "signed char",
    ScalarType.INT16: "short",
    ScalarType.INT32: "int",
    ScalarType.INT64: "long long",
    ScalarType.UINT16: "unsigned short",
    ScalarType.UINT32: "unsigned",
    ScalarType.UINT64: "unsigned long long",
    ScalarType.FLOAT32: "float",
    ScalarType.FLOAT64: "double",
    ScalarType.COMPLEX64: "Complex<float>",
    ScalarType.COMPLEX128: "Complex<double>",
}

# How elements lie in memory, where that is not as they are computed.
_STORED_TYPES: Final = {"bool": "StoredBool", "float16": "Half", "bfloat16": "BFloat16"}

# Python numbers come as these, whatever they are computed in, as they do on the CPU.
_NUMBER_TYPES: Final = {
    ScalarType.UINT64: "unsigned long long",
    ScalarType.BOOL: "long long",
    ScalarType.COMPLEX64: "Complex<double>",
    ScalarType.COMPLEX128: "Complex<double>",
}


def stored_type(dtype: DType) -> str:
    """The type of an array's elements."""
    return _STORED_TYPES.get(dtype.name) or VALUE_TYPES[ScalarType(dtype.name)]


def loaded_type(dtype: DType) -> str:
    """The type that loading an element gives; 16-bit floating point exists in memory only."""
    return "float" if dtype.name in ("float16", "bfloat16") else VALUE_TYPES[ScalarType(dtype.name)]


def number_type(kind: ScalarType) -> str:
    """The type in which a Python number is handed over."""
    return _NUMBER_TYPES.get(kind, "double" if kind.category == FLOAT else "long long")
