"""What values of the base types are in Python: a record for each, read by all who translate between the two.

These are the defaults of schemas, the checks of annotations, the mypy plugin, the stubs, the sources of declarations,
and kernels, by the roles that arguments have. How the dispatcher converts what callers give is beside it
(``opdsl.dispatch.binding.arguments``), where the classes of the runtime are.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from opdsl.schema.types import BaseType


class Role(Enum):
    """What an argument is to a kernel."""

    TENSOR = "a tensor, or a Python number in its place"
    TENSORS = "a list of tensors"
    SCALAR = "a number of type Scalar"
    FLOAT = "a number of type float"
    INT = "an int"
    BOOL = "a bool"
    VALUE = "anything else"


class PythonType(NamedTuple):
    """What a base type is in Python.

    name: in the annotations of declarations.
    module: where that name is defined; empty for what Python has.
    role: of an argument.
    defaults: the types of values that may be defaults; bool is no int here.
    symbols: the names that may be defaults.
    numbers: what an implementation may be annotated with for it (PEP 484's numeric tower); empty for a class.
    annotations: what callers may give; empty for the class itself.
    """

    name: str
    module: str = ""
    role: Role = Role.VALUE
    defaults: tuple[type, ...] = ()
    symbols: frozenset[str] = frozenset()
    numbers: tuple[type, ...] = ()
    annotations: tuple[str, ...] = ()

    @property
    def accepted(self) -> tuple[str, ...]:
        """What callers may give, as annotations; the first is what an operator returns."""
        return self.annotations or (self.name,)

    @property
    def fullname(self) -> str:
        """Of the class."""
        return f"{self.module or 'builtins'}.{self.name}"

    @property
    def is_of_runtime(self) -> bool:
        """Whether it is a class of the runtime, which a type checker's plugin does not load."""
        return self.module.startswith("opdsl.runtime.")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCALAR_TYPES = _words(
    "bool byte char short int long half float double bfloat16 complex_half complex_float complex_double "
    "uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex32 complex64 complex128 "
    "float8_e5m2 float8_e5m2fnuz float8_e4m3fn float8_e4m3fnuz float8_e8m0fnu float4_e2m1fn_x2 "
    "quint8 qint8 qint32 quint4x2 quint2x4"
)
_LAYOUTS = _words("strided sparse sparse_csr sparse_csc sparse_bsr sparse_bsc _mkldnn jagged")
_MEMORY_FORMATS = _words("contiguous_format preserve_format channels_last channels_last_3d")

_VOCABULARY = "opdsl.schema.vocabulary"
_DEVICE = "opdsl.runtime.device"

_BOOLS = (bool, int, float, complex)
_INTS = (int, float, complex)
_FLOATS = (float, complex)

PYTHON_TYPES: Mapping[BaseType, PythonType] = MappingProxyType(
    {
        BaseType.Tensor: PythonType("Tensor", "opdsl.runtime.tensor", Role.TENSOR),
        BaseType.int: PythonType("int", "", Role.INT, (int,), numbers=_INTS),
        BaseType.SymInt: PythonType("SymInt", _VOCABULARY, Role.INT, (int,), numbers=_INTS, annotations=("int",)),
        BaseType.DeviceIndex: PythonType(
            "DeviceIndex", _VOCABULARY, defaults=(int,), numbers=_INTS, annotations=("int",)
        ),
        BaseType.DimVector: PythonType("DimVector", _VOCABULARY, annotations=("Sequence[int]",)),
        BaseType.float: PythonType("float", "", Role.FLOAT, (int, float), numbers=_FLOATS),
        BaseType.bool: PythonType("bool", "", Role.BOOL, (bool,), numbers=_BOOLS),
        BaseType.SymBool: PythonType("SymBool", _VOCABULARY, Role.BOOL, (bool,), numbers=_BOOLS, annotations=("bool",)),
        # A kernel of real numbers alone may say float.
        BaseType.Scalar: PythonType("Scalar", _VOCABULARY, Role.SCALAR, (bool, int, float), numbers=_FLOATS),
        BaseType.str: PythonType("str", defaults=(str,), numbers=(str,)),
        BaseType.ScalarType: PythonType("DType", "opdsl.runtime.dtype", symbols=_SCALAR_TYPES),
        BaseType.Layout: PythonType("Layout", _DEVICE, symbols=_LAYOUTS),
        BaseType.Device: PythonType("Device", _DEVICE, defaults=(str,), annotations=("Device", "str", "int")),
        BaseType.MemoryFormat: PythonType("MemoryFormat", _DEVICE, symbols=_MEMORY_FORMATS),
        BaseType.Generator: PythonType("Generator", "opdsl.runtime.generator"),
        BaseType.QScheme: PythonType("QScheme", _VOCABULARY),
        BaseType.Storage: PythonType("Storage", _VOCABULARY),
        BaseType.Stream: PythonType("Stream", _VOCABULARY),
        BaseType.GraphModule: PythonType("GraphModule", _VOCABULARY),
    }
)
"""By base type."""
