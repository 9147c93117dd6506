"""Vector types and instructions for handwritten kernels.

The caller of ``module_text`` chooses the element type and the number of lanes (``given``).
"""

from __future__ import annotations

from typing import Annotated, Any, Self, TypeAlias

from opdsl.backends.cpu.machine.language import Pointer, instruction, internal

# Attributes of functions that compute with whole vectors, so that LLVM uses the full register width.
ATTRIBUTES = 'nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512"'

LANES = 1
"""Number of elements in a vector."""

SIZE = 4
"""Size of an element in bytes."""


class _Lanes:
    """Base class of types with elementwise arithmetic."""

    def __add__(self, other: Self) -> Self:
        raise NotImplementedError

    def __mul__(self, other: Self) -> Self:
        raise NotImplementedError

    def __and__(self, other: Self) -> Self:
        raise NotImplementedError


class Real(_Lanes):
    """Element of a vector."""


class Vector(_Lanes):
    """Vector of ``LANES`` elements."""


class Mask(_Lanes):
    """Vector of bools, which selects lanes."""


Reals: TypeAlias = Pointer[Real]
_WIDTHS = {"half": 2, "float": 4, "double": 8}


def given(element: str, lanes: int, **others: Any) -> dict[str, Any]:
    """Return the names of vector types and constants with their values, for ``module_text``.

    Args:
        element: LLVM's type of elements.
        lanes: of a vector.
        others: the values of other names.
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
    """Round a double to an element."""
    raise NotImplementedError


@instruction("load {Vector}, ptr {0}, align {SIZE}")
def load(place: Reals) -> Vector:
    """Load consecutive elements."""
    raise NotImplementedError


@instruction("store {Vector} {1}, ptr {0}, align {SIZE}")
def store(place: Reals, values: Vector) -> None:
    """Store consecutive elements."""


@instruction("call {Vector} @llvm.masked.load.{SUFFIX}.p0(ptr {0}, i32 {SIZE}, {Mask} {1}, {Vector} zeroinitializer)")
def load_some(place: Reals, mask: Mask) -> Vector:
    """Load the elements of lanes in a mask, and zeros in the others."""
    raise NotImplementedError


@instruction("call void @llvm.masked.store.{SUFFIX}.p0({Vector} {1}, ptr {0}, i32 {SIZE}, {Mask} {2})")
def store_some(place: Reals, values: Vector, mask: Mask) -> None:
    """Store the lanes in a mask."""


@instruction("fadd {Vector} zeroinitializer, zeroinitializer")
def zeros() -> Vector:
    """Return zeros in all lanes."""
    raise NotImplementedError


@instruction("""{t} = insertelement {Vector} poison, {Real} {0}, i64 0
shufflevector {Vector} {t}, {Vector} poison, <{LANES} x i32> zeroinitializer""")
def spread(value: Real) -> Vector:
    """Broadcast an element to all lanes."""
    raise NotImplementedError


@instruction("call {Vector} @llvm.fmuladd.{SUFFIX}({Vector} {0}, {Vector} {1}, {Vector} {2})")
def fma(first: Vector, second: Vector, third: Vector) -> Vector:
    """Return the product of two vectors plus a third one."""
    raise NotImplementedError


@instruction("call reassoc {Real} @llvm.vector.reduce.fadd.{SUFFIX}({Real} -0.0, {Vector} {0})")
def sum_of_lanes(values: Vector) -> Real:
    """Return the sum of all lanes, in any order."""
    raise NotImplementedError


@instruction("shufflevector {Vector} {0}, {Vector} {1}, {2}")
def shuffle(first: Vector, second: Vector, lanes: tuple[int, ...]) -> Vector:
    """Return the given lanes of two vectors; lanes of the second one are numbered after those of the first."""
    raise NotImplementedError


@instruction("""{t}count = trunc i64 {0} to i32
{t}first = insertelement <{LANES} x i32> poison, i32 {t}count, i64 0
{t}counts = shufflevector <{LANES} x i32> {t}first, <{LANES} x i32> poison, <{LANES} x i32> zeroinitializer
icmp slt <{LANES} x i32> <{COUNTED}>, {t}counts""")
def _first_lanes(count: int) -> Mask:
    raise NotImplementedError


@internal("alwaysinline")
def first_lanes(count: int) -> Mask:
    """Return a mask of the first ``count`` lanes: none if it is negative, all if it exceeds their number."""
    return _first_lanes(max(min(count, LANES), 0))


@instruction("select i1 {0}, {Mask} {1}, {Mask} zeroinitializer")
def where(condition: bool, mask: Mask) -> Mask:
    """Return a mask if a condition holds, else an empty mask."""
    raise NotImplementedError
