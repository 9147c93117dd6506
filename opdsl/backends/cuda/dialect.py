"""CUDA C++ as a dialect of the C printer; printed code needs ``prelude.cuh``, and is compiled without FMA
contraction.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from opdsl.backends.c_printer import Dialect
from opdsl.scalar.formats import NARROW
from opdsl.scalar.types import BOOL, COMPLEX, FLOAT, INTEGER, ScalarType

__all__ = ["CUDA", "VALUE_TYPES", "number_kind", "number_type"]

# The C++ type of a value, both inside functions and as a parameter or result.
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

# Types in which Python numbers are passed, whatever type they are computed in; the CPU backend does the same.
_WIDEST: Final = {
    BOOL: ScalarType.INT64,
    INTEGER: ScalarType.INT64,
    FLOAT: ScalarType.FLOAT64,
    COMPLEX: ScalarType.COMPLEX128,
}


_FLOAT8: Final = {
    name: f"Float8<{form.fraction_bits}, {form.bias}, {str(form.has_infinity).lower()}>"
    for name, form in NARROW.items()
    if form.bits == 8
}


class _CudaCpp(Dialect):
    """Printer dialect for CUDA C++, which has references and templates."""

    types = VALUE_TYPES
    stored = MappingProxyType({**_FLOAT8, "bool": "StoredBool", "float16": "Half", "bfloat16": "BFloat16"})
    unsigned = ("unsigned", "unsigned long long")
    suffixes = ("LL", "ULL")
    single = "f"
    reference = "&"
    target = ""
    passed = ""

    def head(self, *, inlined: bool) -> str:
        """See ``Dialect``."""
        return f"__device__ {'inline' if inlined else '__noinline__'}"

    def same_bits(self, kind: ScalarType, text: str) -> str:
        """See ``Dialect``."""
        return f"same_bits<{self.types[kind]}>({text})"

    def complex_value(self, kind: ScalarType, real: str, imag: str) -> str:
        """See ``Dialect``."""
        return f"{self.types[kind]}{{{real}, {imag}}}"


CUDA: Final = _CudaCpp()


def number_kind(kind: ScalarType) -> ScalarType:
    """Return the scalar type in which a Python number is passed to a kernel that computes in the type ``kind``."""
    return kind if kind is ScalarType.UINT64 else _WIDEST[kind.category]


def number_type(kind: ScalarType) -> str:
    """Return the C++ name of the type in which a Python number is passed to a kernel that computes in the type
    ``kind``.
    """
    return VALUE_TYPES[number_kind(kind)]
