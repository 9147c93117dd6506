"""Python counterparts of the base types of schemas: a record for each, used wherever types are translated.

The records are used for defaults of schemas, checks of annotations, the mypy plugin, stubs, the source of declarations,
and the roles of arguments in kernels. The dispatcher's conversion of arguments is separate
(``opdsl.dispatch.binding.arguments``), since it needs the classes of the runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from opdsl.schema.types import BaseType


class Role(Enum):
    """Role of an argument in kernels: tensor, list of tensors, kind of number, or other value."""

    TENSOR = "a tensor, or a Python number in its place"
    TENSORS = "a list of tensors"
    SCALAR = "a number of type Scalar"
    FLOAT = "a number of type float"
    INT = "an int"
    BOOL = "a bool"
    VALUE = "anything else"


class PythonType(NamedTuple):
    """Python counterpart of a base type.

    name: its name in the annotations of declarations.
    module: the module that defines the name; empty for built-in types.
    role: the role of an argument in kernels.
    defaults: the types of allowed default values; bool does not count as int here.
    symbols: the names that are allowed as defaults.
    numbers: the types that an implementation may be annotated with for it (PEP 484's numeric tower); empty for a class.
    annotations: the annotations of the values that callers may pass; empty for the class itself.
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
        """Return annotations of the values that callers may pass; the first is also that of an operator's result."""
        return self.annotations or (self.name,)

    @property
    def fullname(self) -> str:
        """Return the qualified name of the class."""
        return f"{self.module or 'builtins'}.{self.name}"

    @property
    def is_of_runtime(self) -> bool:
        """Return whether the type is a class of ``opdsl.runtime``, which the mypy plugin does not import."""
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
        # A kernel for real numbers only may annotate float.
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
"""Python counterparts of schema types, by base type."""
