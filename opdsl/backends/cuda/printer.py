"""CUDA C++ as a dialect of C, for scalar graphs; what is printed stands on ``prelude.cuh``, without contraction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opdsl.backends import c_printer
from opdsl.backends.cuda.storage import VALUE_TYPES
from opdsl.scalar.types import ScalarType

if TYPE_CHECKING:
    from opdsl.scalar.graph import Number, TypedGraph

__all__ = ["CUDA", "constant_text", "function_source"]


class _CudaCpp(c_printer.Dialect):
    """C++ with references and templates."""

    types = VALUE_TYPES
    unsigned = ("unsigned", "unsigned long long")
    suffixes = ("LL", "ULL")
    single = "f"
    reference = "&"
    target = ""
    passed = ""

    def head(self, *, inlined: bool) -> str:
        """See ``Dialect``."""
        return f"__device__ {'inline' if inlined else '__noinline__'}"

    def cast(self, kind: str, text: str) -> str:
        """See ``Dialect``."""
        return f"static_cast<{kind}>({text})"

    def same_bits(self, kind: ScalarType, text: str) -> str:
        """See ``Dialect``."""
        return f"same_bits<{self.types[kind]}>({text})"

    def float_of_bits(self, kind: ScalarType, word: int) -> str:
        """See ``Dialect``."""
        return self.same_bits(kind, f"{word:#x}u{'' if kind is ScalarType.FLOAT32 else 'll'}")

    def complex_value(self, kind: ScalarType, real: str, imag: str) -> str:
        """See ``Dialect``."""
        return f"{{{real}, {imag}}}"

    def saturating(self, kind: str, source: str, text: str, low: str, high: str) -> str:
        """See ``Dialect``."""
        return f"saturating<{kind}>({text}, {low}, {high})"


CUDA = _CudaCpp()


def function_source(graph: TypedGraph, name: str) -> str:
    """A graph as CUDA C++, see ``c_printer.function_source``."""
    return c_printer.function_source(CUDA, graph, name)


def constant_text(value: Number, kind: ScalarType) -> str:
    """A number as CUDA C++, exactly."""
    return c_printer.constant_text(CUDA, value, kind)
