"""Vectors, for kernels that are written for a processor's registers. Whoever prints a module says what its elements
are, and how many a vector has (``given``).
"""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeAlias

from opdsl.backends.cpu.machine.language import Pointer, instruction, internal

# What functions that compute with whole vectors are told: registers are used as wide as they are.
ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'

LANES = 1
"""Elements of a vector."""

SIZE = 4
"""Bytes of an element."""


class _Lanes:
    """What arithmetic is done with."""

    def __add__(self, other: Self) -> Self:
        raise NotImplementedError

    def __mul__(self, other: Self) -> Self:
        raise NotImplementedError

    def __and__(self, other: Self) -> Self:
        raise NotImplementedError


class Real(_Lanes):
    """An element."""


class Vector(_Lanes):
    """As many elements as a vector has lanes."""


class Mask(_Lanes):
    """Some of the lanes."""


Reals: TypeAlias = Pointer[Real]
_WIDTHS = {"half": 2, "float": 4, "double": 8}


def given(element: str, lanes: int, **others: Any) -> dict[str, Any]:
    """What names of vectors stand for, for ``module_text``.

    Args:
        element: LLVM's type of elements.
        lanes: of a vector.
        others: what other names stand for.
    """
    real = Annotated[Real, element]
    size = _WIDTHS[element]
    return {
        "LANES": lanes,
        "SIZE": size,
        "Real": real,
        "Reals": Pointer[real],
        "Vector": Annotated[Vector, f"<{lanes} x {element}>"],
        "Mask": Annotated[Mask, f"<{lanes} x i1>"],
        "SUFFIX": f"v{lanes}f{8 * size}",
        "COUNTED": ", ".join(f"i32 {lane}" for lane in range(lanes)),
        **others,
    }


@instruction("fptrunc double {0} to {Real}")
def rounded(value: float) -> Real:
    """The nearest element of a vector."""
    raise NotImplementedError


@instruction("load {Vector}, ptr {0}, align {SIZE}")
def load(place: Reals) -> Vector:
    """The elements from a place on."""
    raise NotImplementedError


@instruction("store {Vector} {1}, ptr {0}, align {SIZE}")
def store(place: Reals, values: Vector) -> None:
    """Write elements from a place on."""


@instruction("call {Vector} @llvm.masked.load.{SUFFIX}.p0(ptr {0}, i32 {SIZE}, {Mask} {1}, {Vector} zeroinitializer)")
def load_some(place: Reals, mask: Mask) -> Vector:
    """The elements of lanes in a mask, and zeros."""
    raise NotImplementedError


@instruction("call void @llvm.masked.store.{SUFFIX}.p0({Vector} {1}, ptr {0}, i32 {SIZE}, {Mask} {2})")
def store_some(place: Reals, values: Vector, mask: Mask) -> None:
    """Write the lanes in a mask."""


@instruction("fadd {Vector} zeroinitializer, zeroinitializer")
def zeros() -> Vector:
    """Zeros in all lanes."""
    raise NotImplementedError


@instruction("""{t} = insertelement {Vector} poison, {Real} {0}, i64 0
shufflevector {Vector} {t}, {Vector} poison, <{LANES} x i32> zeroinitializer""")
def spread(value: Real) -> Vector:
    """An element in all lanes."""
    raise NotImplementedError


@instruction("call {Vector} @llvm.fmuladd.{SUFFIX}({Vector} {0}, {Vector} {1}, {Vector} {2})")
def fma(first: Vector, second: Vector, third: Vector) -> Vector:
    """The product of two and the sum with a third."""
    raise NotImplementedError


@instruction("call reassoc {Real} @llvm.vector.reduce.fadd.{SUFFIX}({Real} -0.0, {Vector} {0})")
def sum_of_lanes(values: Vector) -> Real:
    """The sum over the lanes."""
    raise NotImplementedError


@instruction("shufflevector {Vector} {0}, {Vector} {1}, {2}")
def shuffle(first: Vector, second: Vector, lanes: tuple[int, ...]) -> Vector:
    """Lanes of two vectors, those of the second counted behind those of the first."""
    raise NotImplementedError


@instruction("""{t}count = trunc i64 {0} to i32
{t}first = insertelement <{LANES} x i32> poison, i32 {t}count, i64 0
{t}counts = shufflevector <{LANES} x i32> {t}first, <{LANES} x i32> poison, <{LANES} x i32> zeroinitializer
icmp slt <{LANES} x i32> <{COUNTED}>, {t}counts""")
def _first_lanes(count: int) -> Mask:
    raise NotImplementedError


@internal("alwaysinline")
def first_lanes(count: int) -> Mask:
    """So many lanes, from the first one on; none of less than 1, and all of more than there are."""
    return _first_lanes(max(min(count, LANES), 0))


@instruction("select i1 {0}, {Mask} {1}, {Mask} zeroinitializer")
def where(condition: bool, mask: Mask) -> Mask:
    """A mask if a condition holds, no lanes otherwise."""
    raise NotImplementedError
