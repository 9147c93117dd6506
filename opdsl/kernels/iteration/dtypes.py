"""Dtypes of a pointwise loop: what it is computed in, what it returns, and what may be written where."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from opdsl.errors import DTypeError
from opdsl.runtime.dtype import ALL_DTYPES, Category, DType, bfloat16, bool_, float16, float32
from opdsl.runtime.promotion import can_cast

PRECISION = {float16: float32, bfloat16: float32}


def precision_of(dtype: DType) -> DType:
    """The dtype that arithmetic of a dtype is done in: float32 for the 16-bit ones (``at::opmath_type``)."""
    return PRECISION.get(dtype, dtype)


class OutputCast(Enum):
    """Which dtypes an output that is given may have, beside the one of the result."""

    SAME = "only the result's own"
    SAFE = "those that the result can be cast to"
    ANY = "all"


class Promotion(NamedTuple):
    """One kind of ``promote=``.

    floating: whether integers and bools are computed in the default dtype.
    boolean: whether the result is bool.
    real: whether the result of a complex computation is real.
    """

    floating: bool = False
    boolean: bool = False
    real: bool = False

    def common(self, dtype: DType, default: DType) -> DType:
        """What operands of a promoted dtype are computed in."""
        return default if self.floating and dtype.category <= Category.INT else dtype

    def result(self, common: DType) -> DType:
        """The dtype of the result of a computation in ``common``."""
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
    """Holds the dtype of a given output against the result's.

    Raises:
        DTypeError: the rule forbids it; the texts are PyTorch's.
    """
    if cast is OutputCast.SAFE and not can_cast(result, output):
        raise DTypeError(
            f"result type {result.scalar_type} can't be cast to the desired output type {output.scalar_type}"
        )
    if cast is OutputCast.SAME and output is not result:
        raise DTypeError(f"Found dtype {output.scalar_type} but expected {result.scalar_type}")


_KINDS = {"bool": Category.BOOL, "integer": Category.INT, "floating": Category.FLOAT, "complex": Category.COMPLEX}


def dtypes_named(names: Iterable[str]) -> frozenset[DType]:
    """The dtypes of kinds: ``bool``, ``integer``, ``floating``, ``complex``; other names are those of dtypes.

    Raises:
        ValueError: there is no such kind or dtype.

    >>> sorted(dtype.name for dtype in dtypes_named(["complex", "bfloat16"]))
    ['bfloat16', 'complex128', 'complex64']
    """
    known = {dtype.name: dtype for dtype in ALL_DTYPES}
    dtypes: set[DType] = set()
    for name in names:
        if name in _KINDS:
            dtypes |= {dtype for dtype in ALL_DTYPES if dtype.category is _KINDS[name]}
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
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


def c_name(dtype: DType) -> str:
    """What PyTorch's messages call an element type in C++."""
    return _C_NAMES[dtype.name]
