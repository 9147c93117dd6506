"""OpenCL C as a dialect of the C printer: types of elements and values, and conversions between them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opdsl.backends.c_printer import Dialect, conversions, loaded_kind
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.runtime.dtype import DType

__all__ = ["OPENCL", "VALUE_TYPES", "load", "prelude", "store"]

VALUE_TYPES: Final = {
    ScalarType.BOOL: "bool",
    ScalarType.UINT8: "uchar",
    ScalarType.INT8: "char",
    ScalarType.INT16: "short",
    ScalarType.INT32: "int",
    ScalarType.INT64: "long",
    ScalarType.UINT16: "ushort",
    ScalarType.UINT32: "uint",
    ScalarType.UINT64: "ulong",
    ScalarType.FLOAT32: "float",
    ScalarType.FLOAT64: "double",
    ScalarType.COMPLEX64: "Complex64",
    ScalarType.COMPLEX128: "Complex128",
}


class _OpenCL(Dialect):
    """Printer dialect for OpenCL C: types have fixed widths, and functions of float and double share their names."""

    types = VALUE_TYPES
    stored = MappingProxyType({"bool": "uchar", "float16": "half", "bfloat16": "ushort"})
    unsigned = ("uint", "ulong")
    suffixes = ("L", "UL")


OPENCL: Final = _OpenCL()


def load(array: str, place: str, dtype: DType, kind: ScalarType) -> str:
    """Return the OpenCL expression that loads an array element, converted to a scalar type."""
    element = {
        "bool": f"({array}[{place}] != 0)",
        "float16": f"vload_half({place}, {array})",
        "bfloat16": f"as_float((uint){array}[{place}] << 16)",
    }.get(dtype.name, f"{array}[{place}]")
    return OPENCL.converted(element, loaded_kind(dtype), kind)


def store(array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
    """Return the OpenCL statement that stores a value in an array element, converted to the array's dtype."""
    converted = OPENCL.converted(value, kind, loaded_kind(dtype))
    if dtype.name == "float16":
        return f"vstore_half_rte({converted}, {place}, {array});"
    return f"{array}[{place}] = {f'to_bfloat16({converted})' if dtype.name == 'bfloat16' else converted};"


def prelude(*, doubles: bool) -> str:
    """Return the declarations that every kernel needs; ``doubles`` says whether the device has float64."""
    floats = [ScalarType.FLOAT32, *([ScalarType.FLOAT64] if doubles else [])]
    complexes = [ScalarType.COMPLEX64, *([ScalarType.COMPLEX128] if doubles else [])]
    lines = ["#pragma OPENCL FP_CONTRACT OFF"]
    if doubles:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    lines += [f"typedef struct {{ {VALUE_TYPES[kind.real]} real, imag; }} {VALUE_TYPES[kind]};" for kind in complexes]
    return "\n".join([*lines, *conversions(OPENCL, floats), _BFLOAT16])


_BFLOAT16 = """
static inline ushort to_bfloat16(float value) {
    const uint bits = as_uint(value);
    return (ushort)((value != value ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
"""
