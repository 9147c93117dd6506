"""Dtypes of a pointwise loop: computation dtype, result dtype, and which output dtypes are allowed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.runtime.dtype import ALL_DTYPES, Category, DType, bool_, float32
from opdsl.runtime.promotion import can_cast
from opdsl.scalar.formats import NARROW

PRECISION = {dtype: float32 for dtype in ALL_DTYPES if dtype.name in NARROW}


def precision_of(dtype: DType) -> DType:
    """Return the dtype in which arithmetic on a dtype is done: float32 for narrower floats (``at::opmath_type``)."""
    return PRECISION.get(dtype, dtype)


class OutputCast(Enum):
    """Rule for the dtypes that an ``out=`` or in-place output may have besides the result's."""

    SAME = "only the result's own"
    SAFE = "those that the result can be cast to"
    ANY = "all"


class Promotion(NamedTuple):
    """Kind of type promotion, as ``promote=`` names it.

    floating: whether integers and bools are computed in the default dtype.
    boolean: whether the result is bool.
    real: whether the result of a complex computation is real.
    """

    floating: bool = False
    boolean: bool = False
    real: bool = False

    def common(self, dtype: DType, default: DType) -> DType:
        """Return the computation dtype for operands whose promoted dtype is ``dtype``."""
        return default if self.floating and dtype.category <= Category.INT else dtype

    def result(self, common: DType) -> DType:
        """Return the dtype of the result of a computation in ``common``."""
        if self.boolean:
            return bool_
        return common.to_real() if self.real else common


PROMOTIONS = {
    "default": Promotion(),
    "int_to_float": Promotion(floating=True),
    "bool": Promotion(boolean=True),
    "complex_to_real": Promotion(real=True),
}


def check_output_dtype(result: DType, output: DType, cast: OutputCast, common: DType) -> None:
    """Check the dtype of an ``out=`` or in-place output against the result's.

    Raises:
        DTypeError: the rule ``cast`` forbids it; the texts are PyTorch's.
    """
    if cast is OutputCast.SAFE and not can_cast(result, output):
        raise DTypeError(
            f"result type {result.scalar_type} can't be cast to the desired output type {output.scalar_type}"
        )
    if cast is OutputCast.SAME and output is not result:
        raise DTypeError(f"Found dtype {output.scalar_type} but expected {result.scalar_type}")


def require_computed(dtype: DType) -> None:
    """Check that operators compute in a dtype.

    Raises:
        UnsupportedDTypeError: the dtype is stored only.
    """
    if dtype.is_stored_only:
        raise UnsupportedDTypeError(f"not implemented for '{dtype.scalar_type}'. Convert first: x.to(float32).")


_KINDS = {
    **{
        name: frozenset(dtype for dtype in ALL_DTYPES if dtype.category is category and not dtype.is_stored_only)
        for name, category in (
            ("bool", Category.BOOL),
            ("integer", Category.INT),
            ("floating", Category.FLOAT),
            ("complex", Category.COMPLEX),
        )
    },
    "stored": frozenset(dtype for dtype in ALL_DTYPES if dtype.is_stored_only),
}


def dtypes_named(names: Iterable[str]) -> frozenset[DType]:
    """Return the dtypes of kinds (``bool``, ``integer``, ``floating``, ``complex``, ``stored`` for float8) and of dtype
    names.

    Raises:
        ValueError: there is no such kind or dtype.

    >>> sorted(dtype.name for dtype in dtypes_named(["complex", "bfloat16"]))
    ['bfloat16', 'complex128', 'complex64']
    """
    known = {dtype.name: dtype for dtype in ALL_DTYPES}
    dtypes: set[DType] = set()
    for name in names:
        if name in _KINDS:
            dtypes |= _KINDS[name]
        elif name in known:
            dtypes.add(known[name])
        else:
            raise ValueError(f"{name!r} is neither a dtype nor one of {', '.join(_KINDS)}")
    return frozenset(dtypes)


# ``caffe2::TypeMeta`` names of element types, which some of PyTorch's messages show.
_C_NAMES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    **{dtype.name: f"c10::{dtype.scalar_type}" for dtype in PRECISION},
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(dtype: DType) -> str:
    """Return the C++ name of an element type, as PyTorch's messages show it."""
    return _C_NAMES[dtype.name]
