"""Loops over scalar functions: bodies of the library's operators that are nothing else.

A formula that calls one with the operator's arguments is that loop, and nothing of it is traced::

    sums = primitives.scan(lambda a, b: a + b, init=0, promote="sum")

    @lib.op
    @formula
    def sums_so_far(self: Tensor, dim: int) -> Tensor:
        return sums(self, dim)

Scalar functions take and give numbers. They are read once, when the operator is declared: texts that they compare, and
what may be None, are questions that are answered before the loop, names from outside are what they were then. They may
call ``math``, ``min``, ``max``, ``abs``, ``round``, casts, ``opdsl.scalar.intrinsics`` and each other. Whoever declares
operators writes formulas (docs/constructs.md); what only a loop can say is how accumulators and dtypes are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from opdsl.errors import FormulaError

if TYPE_CHECKING:
    from types import FunctionType

    from opdsl.runtime import Tensor

    Scalar = Callable[..., object]
    Names = str | Iterable[str]

__all__ = [
    "LOOPS",
    "Draw",
    "Elements",
    "Fold",
    "Loop",
    "LoopCall",
    "Parameter",
    "Positions",
    "Rows",
    "Scan",
    "Unread",
    "draw",
    "elements",
    "fold",
    "positions",
    "rows",
    "scan",
]


LOOPS = {
    "pointwise": "elements",
    "reduction": "fold",
    "scan": "scan",
    "row": "rows",
    "indexed": "positions",
    "random": "draw",
}
"""What makes a loop of a kind: a function of this module."""


class Unread:
    """Stand-in for a tensor while the body of a formula is called to see which primitives it calls.

    Whatever else a body does with it is refused: such a body is read from its text.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a body that chooses is read from its text")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a body that compares is read from its text")


class Parameter(Unread):
    """A parameter of a formula.

    Args:
        at: its position.
    """

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


class LoopCall(Unread):
    """A call of a loop in the body of a formula.

    Args:
        loop: what is called.
        operands: by position.
        named: by name.
    """

    __slots__ = ("loop", "named", "operands")

    def __init__(self, loop: Loop, operands: tuple[object, ...], named: dict[str, object]) -> None:
        self.loop = loop
        self.operands = operands
        self.named = named


class Loop:
    """A loop over scalar functions: the body of an operator that is nothing else.

    Its operands are the operator's arguments, in their order. What some dtypes or values of arguments need otherwise is
    another loop, in a formula of its own (``f.formula(dtypes=..., when=...)``).

    Args:
        kind: a key of ``opdsl.schema.kinds.KINDS``.
        function: the scalar function.
        options: of the kind.
        keys: the backends that it is for; all that compile, without any.

    Raises:
        FormulaError: the function is none.
    """

    __slots__ = ("function", "keys", "kind", "options")

    def __init__(self, kind: str, function: Any, options: dict[str, Any], keys: tuple[str, ...] = ()) -> None:
        if not callable(function):
            raise FormulaError(f"primitives.{LOOPS[kind]}: expected a function of numbers, got {function!r}.")
        self.kind = kind
        self.function: FunctionType = function
        self.options = options
        self.keys = keys

    def __repr__(self) -> str:
        return f"primitives.{LOOPS[self.kind]}({getattr(self.function, '__name__', repr(self.function))})"

    def __call__(self, /, *operands: object, **named: object) -> Tensor:
        """Return the call itself, to a formula that is being read; of several results as well, see ``typing.cast``.

        Raises:
            FormulaError: something else calls it.
        """
        if not any(isinstance(operand, Unread) for operand in (*operands, *named.values())):
            raise FormulaError(
                f"{self!r} is the whole body of a formula, and takes no tensors. Call the operator; in a formula, call "
                "the loop by a name of its own: return loop(self, other)."
            )
        return cast("Tensor", LoopCall(self, operands, named))


class Elements(TypedDict, total=False):
    """Options of ``elements``.

    promote: which dtype is computed in, and given. ``default``: that to which the operands promote, as PyTorch's;
        ``int_to_float``: the same, integers as the default dtype; ``bool``: truth values come out;
        ``complex_to_real``: of complex numbers real ones come out.
    keep: names of arguments that take no part in promotion and keep their dtype.
    wrapped: names of number arguments that take part in promotion as Python numbers beside tensors do.
    promoting: names of number arguments that take part in promotion and have to fit the dtype.
    rounded: names of numbers that a loop in 16 bits sees in 16 bits.
    nonzero: names of arguments that divide: an integer 0 among them raises.
    dtypes: the kinds of dtypes (``bool``, ``integer``, ``floating``, ``complex``) and the dtypes that the function is
        meant for, after promotion; all of them by default.
    cast: which dtypes outputs that are given may have: ``same``, ``safe`` or ``any``; PyTorch's rule by default.
    """

    promote: str
    keep: Names
    wrapped: Names
    promoting: Names
    rounded: Names
    nonzero: Names
    dtypes: Names
    cast: str | None


def elements(function: Scalar, /, **options: Unpack[Elements]) -> Loop:
    """Return a loop that computes each element from those at the same place.

    Args:
        function: takes the operator's arguments by place, as numbers; returns the element of the result, or a tuple.
        options: see ``Elements``.

    >>> import opdsl
    >>> ramp_elements = elements(lambda x, slope: max(0.0, min(1.0, slope * x)), promote="int_to_float")
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.formula
    ...     def ramp(self: opdsl.Tensor, slope: float = 1.0) -> opdsl.Tensor:
    ...         return ramp_elements(self, slope)
    ...     ramp(opdsl.tensor([-1, 0, 1]), 0.5)
    tensor([0.0000, 0.0000, 0.5000])
    """
    return Loop("pointwise", function, dict(options))


class Fold(TypedDict, total=False):
    """Options of ``fold``; ``init`` is one of them that has to be given.

    init: the accumulators of no elements.
    lift: makes accumulators of an element of each tensor, and of the operator's numbers and the index of the element,
        by name; the element is the accumulator by default.
    finish: makes results of accumulators, of the number of elements and of the operator's numbers, by name.
    promote: which dtype is folded. ``default``: that of the elements, or of the argument ``dtype`` if it has one, as
        with all others; ``sum``: integers as int64; ``int_to_float``: integers as the default dtype; ``floating``:
        dtypes that are neither floating-point nor complex are refused; ``float``: the same, and an ``out=`` may say
        another; ``floating_input``: elements of such dtypes are refused, whatever ``dtype`` says.
    accumulators: what each of them is: a ``value`` (in the precision of what is folded), a ``real`` part of one,
        ``double`` or ``real_double`` (in double precision), an ``index`` (int64) or a ``truth`` value.
    results: what each result is: a ``value``, a ``real`` part, ``cast`` or ``cast_real`` (the same in any dtype of
        ``out=`` that it can be cast to), ``floating``, an ``index`` or a ``truth`` value; what the accumulators are by
        default.
    in_order: whether combining depends on the order; found out by default.
    needs_elements: whether a row without elements is refused.
    empty_is_all: whether no dimensions (``dim=[]``) mean all.
    """

    init: object
    lift: Scalar
    finish: Scalar
    promote: str
    accumulators: Names
    results: Names | None
    in_order: bool | None
    needs_elements: bool
    empty_is_all: bool


def fold(combine: Scalar, /, **options: Unpack[Fold]) -> Loop:
    """Return a loop that folds the dimensions ``dim``, or all where the operator has no such argument.

    Args:
        combine: makes accumulators of those of two parts.
        options: see ``Fold``.
    """
    return Loop("reduction", combine, dict(options))


class Scan(TypedDict, total=False):
    """Options of ``scan``; ``init`` is one of them that has to be given.

    init: the accumulators of no elements; infinities stand for the bounds of integers.
    lift: makes accumulators of an element, or of an element and its index; the element is one by default.
    finish: makes results of accumulators; they are the results by default.
    promote: as of ``Elements``; ``sum`` for integers as int64, ``floating`` to refuse them.
    accumulators: for each ``value``, ``wide`` (a wider dtype) or ``index``.
    results: for each ``value``, ``index``, ``truth`` or the name of a dtype.
    """

    init: object
    lift: Scalar
    finish: Scalar
    promote: str
    accumulators: Names
    results: Names


def scan(combine: Scalar, /, *keys: str, **options: Unpack[Scan]) -> Loop:
    """Return a loop that folds the dimension ``dim``, with a result at each element.

    Args:
        combine: makes accumulators of those so far and of an element's; or takes what is carried from element to
            element, then tensors and numbers of the operator by name, and returns what is carried on, step by step.
        keys: the backends that it is for; all that compile, without any.
        options: see ``Scan``.
    """
    return Loop("scan", combine, dict(options), keys)


class Rows(TypedDict, total=False):
    """Options of ``rows``.

    promote: ``default``: tensors are taken as they are; a function that would round floating-point results of integers
        is refused. ``int_to_float``: integers are computed as the default dtype, which outputs like them have then.
        ``floating``: integers are refused.
    """

    promote: str


def rows(element: Scalar, /, **options: Unpack[Rows]) -> Loop:
    """Return a loop that computes each element from its row, whose dimensions the shape function returns.

    Args:
        element: takes tensors and numbers of the operator by name, and folds the row by functions of
            ``opdsl.scalar.intrinsics``. What reads a row at places is a formula over dims.
        options: see ``Rows``.
    """
    return Loop("row", element, dict(options))


class Positions(TypedDict, total=False):
    """Options of ``positions``; ``at`` is one of them that has to be given.

    at: the indices of the result, one for each of its dimensions; ``"..."`` first for others before them.
    over: the indices that are folded.
    fold: ``sum``, ``max`` or ``min`` of what the function gives for all of them. An operator with a result more gets
        the place of the largest or smallest value, counted in row-major order of the folded indices.
    margin: what is read outside of a tensor: a number, ``replicate``, ``reflect``, ``circular``, or ``skip``, by which
        a turn of the fold is left out; a dict by tensor. Without one nothing may lie outside.
    finish: from what is folded, then indices of the result and numbers by name, to results.
    """

    at: Names
    over: Names
    fold: str | None
    margin: object
    finish: Scalar | None


def positions(element: Scalar, /, **options: Unpack[Positions]) -> Loop:
    """Return a loop that computes each element from its place, and reads tensors at positions.

    The range of an index is the size of a dimension that is read at that index alone; others, and further numbers, are
    those of the dict that the shape function returns.

    Args:
        element: takes indices, tensors and numbers by name: ``self[n, i + 1]`` is an element, ``self.shape[0]`` a size.
        options: see ``Positions``.
    """
    return Loop("indexed", element, dict(options))


class Draw(TypedDict, total=False):
    """Options of ``draw``.

    from_zero: random numbers that may be 0: they lie in [0, 1).
    """

    from_zero: Names


def draw(element: Scalar, /, **options: Unpack[Draw]) -> Loop:
    """Return a loop that fills ``self`` with random numbers; the same seed gives the same on all backends.

    Args:
        element: takes one random number or two, in (0, 1) and of names that no argument has, then arguments by name,
            and numbers of the dict that the shape function returns.
        options: see ``Draw``.
    """
    return Loop("random", element, dict(options))
