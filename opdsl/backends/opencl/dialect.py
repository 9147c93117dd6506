"""OpenCL C: the types of elements and values, and how these become each other."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from opdsl.backends.c_printer import Dialect, loaded_kind
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

if TYPE_CHECKING:
    from opdsl.runtime.dtype import DType

__all__ = ["OPENCL", "VALUE_TYPES", "convert", "load", "prelude", "store"]

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
    """C with fixed widths; functions of float and double share their names."""

    types = VALUE_TYPES
    stored = MappingProxyType({"bool": "uchar", "float16": "half", "bfloat16": "ushort"})
    unsigned = ("uint", "ulong")
    suffixes = ("L", "UL")


OPENCL: Final = _OpenCL()


def load(array: str, place: str, dtype: DType, kind: ScalarType) -> str:
    """An element of an array, as a type."""
    element = {
        "bool": f"({array}[{place}] != 0)",
        "float16": f"vload_half({place}, {array})",
        "bfloat16": f"as_float((uint){array}[{place}] << 16)",
    }.get(dtype.name, f"{array}[{place}]")
    return convert(element, loaded_kind(dtype), kind)


def store(array: str, place: str, dtype: DType, value: str, kind: ScalarType) -> str:
    """The statement that writes a value."""
    made = convert(value, kind, loaded_kind(dtype))
    if dtype.name == "float16":
        return f"vstore_half_rte({made}, {place}, {array});"
    return f"{array}[{place}] = {f'to_bfloat16({made})' if dtype.name == 'bfloat16' else made};"


def convert(value: str, source: ScalarType, kind: ScalarType) -> str:
    """A value as another type, as arrays are converted."""
    if source is kind:
        return value
    if source.category == COMPLEX:
        if kind.category == COMPLEX:
            return f"{kind.value}_of_{source.value}({value})"
        if kind.category == BOOL:
            return f"bool_of_{source.value}({value})"
        return convert(f"({value}).real", source.real, kind)
    if kind.category == COMPLEX:
        return OPENCL.complex_value(kind, convert(value, source, kind.real), "0")
    if kind.category == BOOL:
        return f"({value} != 0)"
    if source.category == FLOAT and kind.category == INTEGER:
        return f"{kind.value}_of_{source.value}({value})"
    return OPENCL.cast(VALUE_TYPES[kind], value)


def prelude(*, doubles: bool) -> str:
    """What kernels stand on; ``doubles``: whether the device has float64."""
    floats = [ScalarType.FLOAT32, *([ScalarType.FLOAT64] if doubles else [])]
    complexes = [ScalarType.COMPLEX64, *([ScalarType.COMPLEX128] if doubles else [])]
    lines = ["#pragma OPENCL FP_CONTRACT OFF"]
    if doubles:
        lines.append("#pragma OPENCL EXTENSION cl_khr_fp64 : enable")
    lines += [f"typedef struct {{ {VALUE_TYPES[kind.real]} real, imag; }} {VALUE_TYPES[kind]};" for kind in complexes]
    for kind in complexes:
        own = VALUE_TYPES[kind]
        lines.append(
            f"static inline bool bool_of_{kind.value}({own} value) {{ return value.real != 0 || value.imag != 0; }}"
        )
        for other in complexes:
            if other is not kind:
                part = VALUE_TYPES[other.real]
                lines.append(
                    f"static inline {VALUE_TYPES[other]} {other.value}_of_{kind.value}({own} value) {{ "
                    f"return ({VALUE_TYPES[other]}){{({part})value.real, ({part})value.imag}}; }}"
                )
    for source in floats:
        lines += [_integer_of(kind, source) for kind in ScalarType if kind.category == INTEGER]
    return "\n".join([*lines, _BFLOAT16, _MARGINS])


def _integer_of(kind: ScalarType, source: ScalarType) -> str:
    """Floating point to integer as PyTorch does it on x86: by way of 64 or 32 bits, whose smallest number stands for
    what does not fit, and of which the low bits are taken.
    """
    own, given = VALUE_TYPES[kind], VALUE_TYPES[source]
    name = f"static inline {own} {kind.value}_of_{source.value}({given} value)"
    if kind is ScalarType.UINT64:
        high = "9223372036854775808.0" + ("f" if source is ScalarType.FLOAT32 else "")
        signed = f"int64_of_{source.value}"
        above = f"(ulong){signed}(value - {high}) ^ 1ul << 63"
        return f"{name} {{ return value >= {high} ? {above} : (ulong){signed}(value); }}"
    wide = kind.bits == 64 or (not kind.is_signed and kind.bits != 16)
    limit = ("9223372036854775808.0" if wide else "2147483648.0") + ("f" if source is ScalarType.FLOAT32 else "")
    least = "(-9223372036854775807L - 1)" if wide else "(-2147483647 - 1)"
    through = "long" if wide else "int"
    return f"{name} {{ return ({own})(value < {limit} && value > -{limit} ? ({through})value : {least}); }}"


_BFLOAT16 = """
static inline ushort to_bfloat16(float value) {
    const uint bits = as_uint(value);
    return (ushort)((value != value ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
"""

# Where margins lead that repeat what is inside; what is mirrored is mirrored as often as it takes.
_MARGINS = """
static inline long replicate(long place, long size) { return place < 0 ? 0 : place < size ? place : size - 1; }
static inline long reflect(long place, long size) {
    const long period = size > 1 ? 2 * (size - 1) : 1, found = (place < 0 ? -place : place) % period;
    return found < size ? found : period - found;
}
static inline long circular(long place, long size) {
    const long found = place % size;
    return found < 0 ? found + size : found;
}
static inline long wrap(long place, long size) { return place < 0 ? place + size : place; }
"""
