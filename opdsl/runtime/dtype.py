"""Element types (dtypes) of tensors, and how elements are stored."""

from __future__ import annotations

import enum
from typing import ClassVar

import numpy

from opdsl.errors import DTypeError

NumpyDType = numpy.dtype[numpy.generic]
NumpyScalar = type[numpy.generic]


class Category(enum.IntEnum):
    """Kind of number, in the order of type promotion: bool, integer, floating point, complex."""

    BOOL = 0
    INT = 1
    FLOAT = 2
    COMPLEX = 3


class DType:
    """Element type of tensors; there is exactly one object of each, so compare with ``is``.

    name: PyTorch's name, ``float32``.
    schema_name: the name in schema defaults, ``float``.
    scalar_type: the name in ``c10::ScalarType``, ``Float``.
    code: the number in ``c10::ScalarType``.
    itemsize: the size of one element in bytes.
    category: bool, integer, floating point or complex.
    numpy: the NumPy dtype that stores it; bfloat16 and float8, which NumPy lacks, are stored as unsigned integers.
    safetensors: the name in files of that format; empty if it has none.
    dlpack: the number in DLPack's ``DLDataTypeCode``.

    >>> float32, float32.itemsize, float32.is_floating_point
    (opdsl.float32, 4, True)
    """

    __schema_type__: ClassVar[str] = "ScalarType"
    __slots__ = (
        "__weakref__",
        "category",
        "code",
        "dlpack",
        "itemsize",
        "name",
        "numpy",
        "safetensors",
        "scalar_type",
        "schema_name",
    )

    name: str
    schema_name: str
    scalar_type: str
    code: int
    itemsize: int
    category: Category
    numpy: NumpyDType
    safetensors: str
    dlpack: int

    def __init__(
        self,
        name: str,
        schema_name: str,
        scalar_type: str,
        code: int,
        itemsize: int,
        category: Category,
        numpy: NumpyDType,
        safetensors: str,
        dlpack: int | None = None,
    ) -> None:
        dlpack = _DLPACK[numpy.kind] if dlpack is None else dlpack
        arguments = locals()
        for slot in self.__slots__[1:]:
            object.__setattr__(self, slot, arguments[slot])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self!r} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self!r} cannot be changed")

    @property
    def __numpy_dtype__(self) -> NumpyDType:
        """Return the NumPy dtype, so that ``numpy.dtype(opdsl.float32)`` works; that of ml_dtypes for those that NumPy
        lacks.

        Raises:
            AttributeError: NumPy lacks it, and ml_dtypes is not installed.
        """
        if not self.is_encoded:
            return self.numpy
        try:
            import ml_dtypes
        except ImportError:
            raise AttributeError(f"NumPy has no {self.name}. Install ml_dtypes (pip install ml_dtypes)") from None
        numpy_dtype: NumpyDType = numpy.dtype(getattr(ml_dtypes, self.name))
        return numpy_dtype

    dtype = __numpy_dtype__  # the attribute that NumPy before 2.4 reads

    @property
    def type(self) -> NumpyScalar:
        """Return the type of NumPy's scalars of this dtype, which other libraries read; see ``__numpy_dtype__``."""
        return self.__numpy_dtype__.type

    @property
    def kind(self) -> str:
        """Return NumPy's letter for the kind of number, ``f`` for example; see ``__numpy_dtype__``."""
        return self.__numpy_dtype__.kind

    @property
    def is_floating_point(self) -> bool:
        """Return whether the dtype is a real floating-point type."""
        return self.category is Category.FLOAT

    @property
    def is_encoded(self) -> bool:
        """Return whether NumPy lacks the dtype, so that its elements are stored as unsigned integers."""
        return self.category is Category.FLOAT and self.numpy.kind == "u"

    @property
    def is_stored_only(self) -> bool:
        """Return whether operators do not compute in the dtype: float8 is stored, moved, compared and converted."""
        return self.is_encoded and self.itemsize == 1

    @property
    def is_complex(self) -> bool:
        """Return whether the dtype is a complex type."""
        return self.category is Category.COMPLEX

    @property
    def is_signed(self) -> bool:
        """Return whether the dtype can represent negative values (true for complex types too, as in PyTorch)."""
        return self.category > Category.INT or self.numpy.kind == "i"

    def to_real(self) -> DType:
        """Return the dtype of the real part: ``complex64`` -> ``float32``; any other dtype unchanged."""
        return _REAL_OF_COMPLEX.get(self, self)

    def to_complex(self) -> DType:
        """Return the complex dtype whose parts have this precision (for bfloat16, as in PyTorch, complex64).

        Raises:
            DTypeError: no such dtype exists: for integers, and for float16 since opdsl has no complex32.
        """
        if self.is_complex:
            return self
        dtype = _COMPLEX_OF_REAL.get(self)
        if dtype is None:
            raise DTypeError(f"{self!r} has no complex type. Convert to float32 or float64 first.")
        return dtype

    def __eq__(self, other: object) -> bool:
        """Compare like NumPy's dtypes, also with NumPy's and Python's number types: ``opdsl.float64 == float``."""
        if type(other) is DType:
            return self is other
        return _from_type(other) is self if isinstance(other, type) else NotImplemented

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"opdsl.{self.name}"

    def __reduce__(self) -> str:
        return _CONSTANT_NAMES.get(self.name, self.name)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: object) -> DType:
        return self


_CONSTANT_NAMES = {"bool": "bool_"}

# DLDataTypeCode, by the kind of NumPy's dtype.
_DLPACK = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}

bool_ = DType("bool", "bool", "Bool", 11, 1, Category.BOOL, numpy.dtype("?"), "BOOL")
uint8 = DType("uint8", "uint8", "Byte", 0, 1, Category.INT, numpy.dtype("u1"), "U8")
int8 = DType("int8", "int8", "Char", 1, 1, Category.INT, numpy.dtype("i1"), "I8")
int16 = DType("int16", "int16", "Short", 2, 2, Category.INT, numpy.dtype("i2"), "I16")
int32 = DType("int32", "int", "Int", 3, 4, Category.INT, numpy.dtype("i4"), "I32")
int64 = DType("int64", "long", "Long", 4, 8, Category.INT, numpy.dtype("i8"), "I64")
uint16 = DType("uint16", "uint16", "UInt16", 27, 2, Category.INT, numpy.dtype("u2"), "U16")
uint32 = DType("uint32", "uint32", "UInt32", 28, 4, Category.INT, numpy.dtype("u4"), "U32")
uint64 = DType("uint64", "uint64", "UInt64", 29, 8, Category.INT, numpy.dtype("u8"), "U64")
float16 = DType("float16", "half", "Half", 5, 2, Category.FLOAT, numpy.dtype("f2"), "F16")
bfloat16 = DType("bfloat16", "bfloat16", "BFloat16", 15, 2, Category.FLOAT, numpy.dtype("u2"), "BF16", 4)
float8_e5m2 = DType(
    "float8_e5m2", "float8_e5m2", "Float8_e5m2", 23, 1, Category.FLOAT, numpy.dtype("u1"), "F8_E5M2", 12
)
float8_e4m3fn = DType(
    "float8_e4m3fn", "float8_e4m3fn", "Float8_e4m3fn", 24, 1, Category.FLOAT, numpy.dtype("u1"), "F8_E4M3", 10
)
float32 = DType("float32", "float", "Float", 6, 4, Category.FLOAT, numpy.dtype("f4"), "F32")
float64 = DType("float64", "double", "Double", 7, 8, Category.FLOAT, numpy.dtype("f8"), "F64")
complex64 = DType("complex64", "cfloat", "ComplexFloat", 9, 8, Category.COMPLEX, numpy.dtype("c8"), "C64")
complex128 = DType("complex128", "cdouble", "ComplexDouble", 10, 16, Category.COMPLEX, numpy.dtype("c16"), "")

# PyTorch's alternative names. ``float``, ``int`` and ``bool`` would hide the built-ins here: they are only in ALIASES.
half = float16
double = float64
short = int16
long = int64
cfloat = complex64
cdouble = complex128

ALL_DTYPES: tuple[DType, ...] = (
    bool_,
    uint8,
    int8,
    int16,
    int32,
    int64,
    uint16,
    uint32,
    uint64,
    float16,
    bfloat16,
    float32,
    float64,
    complex64,
    complex128,
    float8_e5m2,
    float8_e4m3fn,
)

ALIASES: dict[str, DType] = {
    "float": float32,
    "double": float64,
    "half": float16,
    "short": int16,
    "int": int32,
    "long": int64,
    "cfloat": complex64,
    "cdouble": complex128,
}

_REAL_OF_COMPLEX = {complex64: float32, complex128: float64}
_COMPLEX_OF_REAL = {float64: complex128, float32: complex64, bfloat16: complex64}

_BY_NAME: dict[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES} | ALIASES
BY_NUMPY: dict[numpy.dtype[numpy.generic], DType] = {dtype.numpy: dtype for dtype in ALL_DTYPES if not dtype.is_encoded}
_ENCODED: dict[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES if dtype.is_encoded}
_BY_PYTHON_TYPE: dict[type, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def to_dtype(value: object) -> DType:
    """Return the DType that a name, a NumPy dtype or a Python number type denotes.

    Args:
        value: a DType; a name as PyTorch writes it (``"float32"``, ``"long"``, with or without the prefix ``opdsl.`` or
            ``torch.``); a NumPy dtype or scalar type; or ``bool``, ``int``, ``float``, ``complex``, which mean bool,
            int64, float64 and complex128 as in PyTorch.

    Returns:
        The unique object of that dtype.

    Raises:
        DTypeError: there is no such dtype.

    >>> to_dtype("long"), to_dtype(numpy.dtype("f4")), to_dtype(float)
    (opdsl.int64, opdsl.float32, opdsl.float64)
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str):
        dtype = _BY_NAME.get(value.removeprefix("opdsl.").removeprefix("torch."))
    elif isinstance(value, numpy.dtype):
        dtype = _from_numpy(value)
    elif isinstance(value, type):
        dtype = _from_type(value)
    else:
        dtype = None
    if dtype is None:
        known = ", ".join(dtype.name for dtype in ALL_DTYPES)
        raise DTypeError(f"no dtype for {value!r}. Use one of: {known}.")
    return dtype


def _from_numpy(value: numpy.dtype[numpy.generic]) -> DType | None:
    # Dtypes of another byte order do not equal the native ones, so they are not found.
    dtype = BY_NUMPY.get(value)
    if dtype is not None:
        return dtype
    # ml_dtypes registers its dtypes with NumPy as structured-like ones that are only known by their names.
    return _ENCODED.get(value.name)


def _from_type(value: type) -> DType | None:
    dtype = _BY_PYTHON_TYPE.get(value)
    if dtype is None and issubclass(value, numpy.generic):
        return _from_numpy(numpy.dtype(value))
    return dtype
