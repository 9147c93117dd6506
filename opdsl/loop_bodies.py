"""Loops over scalar functions, which are the whole body of many operators of the library.

A formula that calls one with the operator's arguments is compiled as that loop, without tracing::

    sums = primitives.scan(lambda a, b: a + b, init=0, promote="sum")

    @lib.op
    @formula
    def sums_so_far(self: Tensor, dim: int) -> Tensor:
        return sums(self, dim)

Scalar functions take and return numbers. They are analyzed once, when the operator is declared: comparisons of strings
and with None are decided before the loop, and global names have the values of that time. They may call ``math``,
``min``, ``max``, ``abs``, ``round``, casts, ``opdsl.scalar.intrinsics`` and each other. Users should write formulas
(docs/constructs.md); only loops can choose the dtypes of computation and accumulators.
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
"""Names of the functions of this module that make a loop, by its kind."""


class Unread:
    """Stand-in for a tensor while the body of a formula is called to find the primitives that it calls.

    Any other operation of a body is refused; such a body is analyzed from its source text.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise TypeError("a body that chooses is read from its text")

    def __eq__(self, other: object) -> bool:
        raise TypeError("a body that compares is read from its text")


class Parameter(Unread):
    """Stand-in for a parameter of a formula.

    Args:
        at: its index.
    """

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


class LoopCall(Unread):
    """Record of a loop call in the body of a formula.

    Args:
        loop: the called loop.
        operands: positional arguments.
        named: keyword arguments.
    """

    __slots__ = ("loop", "named", "operands")

    def __init__(self, loop: Loop, operands: tuple[object, ...], named: dict[str, object]) -> None:
        self.loop = loop
        self.operands = operands
        self.named = named


class Loop:
    """Loop over a scalar function, which is the whole body of an operator.

    Its operands are the operator's arguments, in order. Dtypes or argument values that need a different loop have a
    separate formula (``f.formula(dtypes=..., when=...)``).

    Args:
        kind: a key of ``opdsl.schema.kinds.KINDS``.
        function: the scalar function.
        options: of the kind.
        keys: the backends that it is for; by default all that compile.

    Raises:
        FormulaError: ``function`` is not callable.
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
        """Return a record of the call, while a formula is being analyzed; also for several results, see
        ``typing.cast``.

        Raises:
            FormulaError: it is called with tensors or numbers instead.
        """
        if not any(isinstance(operand, Unread) for operand in (*operands, *named.values())):
            raise FormulaError(
                f"{self!r} has to be the whole body of a formula, and cannot be called with tensors. Call the operator "
                "instead; in a formula, name the loop, and call it with the parameters: return loop(self, other)."
            )
        return cast("Tensor", LoopCall(self, operands, named))


class Elements(TypedDict, total=False):
    """Options of ``elements``.

    promote: the dtype of the computation and of the result. ``default``: the operands' common dtype, as in PyTorch;
        ``int_to_float``: the same, but integers are converted to the default dtype; ``bool``: the result is boolean;
        ``complex_to_real``: the result of complex operands is real.
    keep: names of arguments that are not part of promotion and keep their dtype.
    wrapped: names of number arguments that are part of promotion like Python numbers next to tensors.
    promoting: names of number arguments that are part of promotion and have to fit the dtype.
    rounded: names of numbers that are rounded to 16 bits if the loop computes in 16 bits.
    nonzero: names of arguments that are divisors: an integer 0 among them raises an error.
    dtypes: the kinds of dtypes (``bool``, ``integer``, ``floating``, ``complex``) and the dtypes that the function is
        meant for, after promotion; all of them by default.
    cast: the dtypes that ``out=`` tensors may have: ``same``, ``safe`` or ``any``; PyTorch's rule by default.
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
    """Return a loop that computes each element of the result from the elements of the operands at the same index.

    Args:
        function: takes the operator's arguments by position, as numbers; returns the element of the result, or a tuple.
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
    """Options of ``fold``; ``init`` is required.

    init: the initial accumulators, which are the result for no elements.
    lift: computes accumulators from an element of each tensor, and from the operator's numbers and the index of the
        element, by name; by default the element is the accumulator.
    finish: computes results from accumulators, the number of elements and the operator's numbers, by name.
    promote: the dtype that is folded. ``default``: that of the elements, or of the argument ``dtype`` if there is one,
        as with all others; ``sum``: int64 for integers; ``int_to_float``: the default dtype for integers; ``floating``:
        dtypes that are neither floating-point nor complex are refused; ``float``: the same, but ``out=`` may have
        another dtype; ``floating_input``: elements of such dtypes are refused, regardless of ``dtype``.
    accumulators: the type of each: a ``value`` (in the precision of the fold), a ``real`` part of one, ``double`` or
        ``real_double`` (in double precision), an ``index`` (int64) or a ``truth`` value.
    results: the type of each result: a ``value``, a ``real`` part, ``cast`` or ``cast_real`` (the same in any dtype of
        ``out=`` that it can be cast to), ``floating``, an ``index`` or a ``truth`` value; by default the types of the
        accumulators.
    in_order: whether the result depends on the order of combining; determined automatically by default.
    needs_elements: whether a row without elements is refused.
    empty_is_all: whether an empty list of dimensions (``dim=[]``) means all dimensions.
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
    """Return a loop that reduces the dimensions ``dim``, or all dimensions if the operator has no such argument.

    Args:
        combine: merges the accumulators of two parts.
        options: see ``Fold``.
    """
    return Loop("reduction", combine, dict(options))


class Scan(TypedDict, total=False):
    """Options of ``scan``; ``init`` is required.

    init: the initial accumulators; infinities denote the bounds of integer dtypes.
    lift: computes accumulators from an element, or from an element and its index; by default the element is the
        accumulator.
    finish: computes results from accumulators; by default they are the results.
    promote: see ``Elements``; also ``sum``: int64 for integers, and ``floating``: integers are refused.
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
    """Return a loop that scans the dimension ``dim``: an inclusive prefix reduction, with a result for each element.

    Args:
        combine: merges the accumulators so far with those of an element; or takes the carry, then tensors and numbers
            of the operator by name, and returns the next carry, step by step.
        keys: the backends that it is for; by default all that compile.
        options: see ``Scan``.
    """
    return Loop("scan", combine, dict(options), keys)


class Rows(TypedDict, total=False):
    """Options of ``rows``.

    promote: ``default``: tensors keep their dtype, and a function that would round floating-point results to integers
        is refused. ``int_to_float``: integers are converted to the default dtype, also in outputs that have the dtype
        of an input. ``floating``: integers are refused.
    """

    promote: str


def rows(element: Scalar, /, **options: Unpack[Rows]) -> Loop:
    """Return a loop that computes each element from the row that contains it, along dimensions from the shape function.

    Args:
        element: takes tensors and numbers of the operator by name, and reduces the row by functions of
            ``opdsl.scalar.intrinsics``. Reads at computed indices of a row need a formula over dims instead.
        options: see ``Rows``.
    """
    return Loop("row", element, dict(options))


class Positions(TypedDict, total=False):
    """Options of ``positions``; ``at`` is required.

    at: the index names of the result, one for each of its dimensions; ``"..."`` first for leading dimensions.
    over: the index names of the fold.
    fold: ``sum``, ``max`` or ``min`` of the function's values. An operator with one more result also returns the index
        of the largest or smallest value, counted in row-major order of the folded indices.
    margin: the value of out-of-bounds reads: a number, ``replicate``, ``reflect``, ``circular``, or ``skip``, which
        leaves that iteration of the fold out; a dict by tensor. Without it all reads have to be within bounds.
    finish: computes results from the folded value, and from indices of the result and numbers by name.
    """

    at: Names
    over: Names
    fold: str | None
    margin: object
    finish: Scalar | None


def positions(element: Scalar, /, **options: Unpack[Positions]) -> Loop:
    """Return a loop that computes each element from its indices, and reads tensors at computed indices.

    The range of an index is the size of a dimension that is read at exactly that index; other ranges, and further
    numbers, come from the dict that the shape function returns.

    Args:
        element: takes indices, tensors and numbers by name: ``self[n, i + 1]`` is an element, ``self.shape[0]`` a size.
        options: see ``Positions``.
    """
    return Loop("indexed", element, dict(options))


class Draw(TypedDict, total=False):
    """Options of ``draw``.

    from_zero: names of random numbers that may be 0, in [0, 1).
    """

    from_zero: Names


def draw(element: Scalar, /, **options: Unpack[Draw]) -> Loop:
    """Return a loop that fills ``self`` with random numbers; a seed gives the same numbers on all backends.

    Args:
        element: takes one or two random numbers, in (0, 1) and with names that no argument has, then arguments by name,
            and numbers of the dict that the shape function returns.
        options: see ``Draw``.
    """
    return Loop("random", element, dict(options))
