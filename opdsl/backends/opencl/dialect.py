"""OpenCL C as a dialect of the C printer: types of elements and values, and conversions between them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opdsl.backends.c_printer import Dialect, conversions, loaded_kind
from opdsl.scalar.formats import NARROW
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


_FLOAT8: Final = {
    name: f"{form.fraction_bits}, {form.bias}, {int(form.has_infinity)}"
    for name, form in NARROW.items()
    if form.bits == 8
}
"""Arguments of the conversions of dtypes of 8 bits, by their names."""


class _OpenCL(Dialect):
    """Printer dialect for OpenCL C: types have fixed widths, and functions of float and double share their names."""

    types = VALUE_TYPES
    stored = MappingProxyType(
        {"bool": "uchar", **dict.fromkeys(_FLOAT8, "uchar"), "float16": "half", "bfloat16": "ushort"}
    )
    unsigned = ("uint", "ulong")
    suffixes = ("L", "UL")


OPENCL: Final = _OpenCL()


def load(array: str, place: str, dtype: DType, kind: ScalarType) -> str:
    """Return the OpenCL expression that loads an array element, converted to a scalar type."""
    element = {
        "bool": f"({array}[{place}] != 0)",
        "float16": f"vload_half({place}, {array})",
        "bfloat16": f"as_float((uint){array}[{place}] << 16)",
        **{name: f"of_float8({array}[{place}], {form})" for name, form in _FLOAT8.items()},
    }.get(dtype.name, f"{array}[{place}]")
    return OPENCL.converted(element, loaded_kind(dtype), kind)


def store(array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
    """Return the OpenCL statement that stores a value in an array element, converted to the array's dtype."""
    converted = OPENCL.converted(value, kind, loaded_kind(dtype))
    if dtype.name == "float16":
        return f"vstore_half_rte({converted}, {place}, {array});"
    element = {
        "bfloat16": f"to_bfloat16({converted})",
        **{name: f"to_float8({converted}, {form})" for name, form in _FLOAT8.items()},
    }.get(dtype.name, converted)
    return f"{array}[{place}] = {element};"


def prelude(*, doubles: bool) -> str:
    """Return the declarations that every kernel needs; ``doubles`` says whether the device has float64."""
    floats = [ScalarType.FLOAT32, *([ScalarType.FLOAT64] if doubles else [])]
    complexes = [ScalarType.COMPLEX64, *([ScalarType.COMPLEX128] if doubles else [])]
    lines = ["#pragma OPENCL FP_CONTRACT OFF"]
    if doubles:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    lines += [f"typedef struct {{ {VALUE_TYPES[kind.real]} real, imag; }} {VALUE_TYPES[kind]};" for kind in complexes]
    return "\n".join([*lines, *conversions(OPENCL, floats), _NARROW])


# The conversions of 8 bits take the format: digits of the fraction, bias, whether there are infinities.
_NARROW = """
static inline ushort to_bfloat16(float value) {
    const uint bits = as_uint(value);
    return (ushort)((value != value ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
static inline float of_float8(uchar bits, int digits, int bias, int infinities) {
    const uint sign = (uint)(bits & 0x80u) << 24, magnitude = bits & 0x7fu, one = 1u << digits;
    if (infinities ? magnitude >= 0x80u - one : magnitude == 0x7fu) {
        return as_float(sign | (infinities && magnitude == 0x80u - one ? 0x7f800000u : 0x7fc00000u));
    }
    if (magnitude < one) { // zero and the denormal numbers
        return copysign((float)magnitude * as_float((uint)(128 - bias - digits) << 23), as_float(sign | 0x3f800000u));
    }
    return as_float(sign | ((magnitude << (23 - digits)) + ((uint)(127 - bias) << 23)));
}
static inline uchar to_float8(float value, int digits, int bias, int infinities) {
    const uint bits = as_uint(value), sign = (bits >> 24) & 0x80u, magnitude = bits & 0x7fffffffu;
    const int dropped = 23 - digits;
    if (magnitude > 0x7f800000u) {
        return (uchar)(sign | 0x7fu);
    }
    if (magnitude < (uint)(128 - bias) << 23) { // the sum has the distance of denormal numbers
        const uint shift = (uint)(151 - bias - digits) << 23;
        return (uchar)(sign | (as_uint(as_float(magnitude) + as_float(shift)) - shift));
    }
    const uint rounded = magnitude + ((1u << (dropped - 1)) - 1u) + ((magnitude >> dropped) & 1u);
    const uint number = (rounded - ((uint)(127 - bias) << 23)) >> dropped;
    return (uchar)(sign | min(number, infinities ? 0x80u - (1u << digits) : 0x7eu));
}
"""
