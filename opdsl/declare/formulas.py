"""The decorator ``formula``: marks a function whose body ``op`` compiles into kernels and never runs as Python."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, TypeVar, overload

from opdsl.errors import DeclarationError

if TYPE_CHECKING:
    from opdsl.declare.attachment import Attachment
    from opdsl.declare.declaration import Declaration

__all__ = ["attach_case", "attach_formula", "dtypes_of", "formula", "is_formula", "share_formula"]

F = TypeVar("F", bound=Callable[..., object])

_MARK = "__opdsl_formula__"


@overload
def formula(function: F) -> F: ...


@overload
def formula(*, dtypes: str | Sequence[str]) -> Callable[[F], F]: ...


def formula(function: F | None = None, *, dtypes: str | Sequence[str] = ()) -> F | Callable[[F], F]:
    """Declare that a function's body is a formula: it is compiled into kernels and never run as Python.

    The body is operator code: shapes, broadcasting, type promotion and errors are those of the operators that it calls.
    The conditions of ``if``, ``and``, ``or``, ``not``, conditional expressions and ``while`` may be elements of
    tensors. Write ``@op`` above ``@formula``.

    Args:
        function: takes tensors, numbers, texts and None, as its annotations say, and returns tensors.
        dtypes: dtypes that the operator accepts after promotion of its tensors: kinds (``"bool"``, ``"integer"``,
            ``"floating"``, ``"complex"``) or names of dtypes. If empty, all that the called operators accept.

    Returns:
        The function unchanged. Other formulas may call it: it is then inlined into their kernels.

    Raises:
        DeclarationError: it is no Python function, or already an operator.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.formula
    ...     def leaky(self: opdsl.Tensor, slope: float = 0.5) -> opdsl.Tensor:
    ...         return self if self > 0 else slope * self
    ...     leaky(opdsl.tensor([-2.0, 3.0]))
    tensor([-1.,  3.])
    """
    names = (dtypes,) if isinstance(dtypes, str) else tuple(dtypes)

    def mark(function: F) -> F:
        if not isinstance(function, FunctionType):
            raise DeclarationError(
                f"@formula decorates a function, not {type(function).__name__}. Write @op, and @formula below it."
            )
        if "operator" in function.__dict__:
            raise DeclarationError(
                f"@formula is above @op, so that the body of {function.__name__} has become an operator already. "
                "Write @op, and @formula below it."
            )
        function.__dict__[_MARK] = names
        return function

    return mark if function is None else mark(function)


def is_formula(function: FunctionType) -> bool:
    """Return whether a function's body is a formula."""
    return _MARK in function.__dict__


def dtypes_of(function: FunctionType) -> tuple[str, ...]:
    """Return the dtype kinds and names that a formula is restricted to; empty for all."""
    names: tuple[str, ...] = function.__dict__[_MARK]
    return names


def attach_formula(declaration: Declaration) -> None:
    """Compile and attach the kernels of a declaration whose body is a formula.

    Raises:
        FormulaError: the source contains code that no kernel can be compiled from.
    """
    # opdsl.formulas is in a higher layer, since it traces, and is imported when the first formula is declared.
    importlib.import_module("opdsl.formulas.attaching").attach_formula(declaration)


def share_formula(declaration: Declaration, other: Declaration) -> None:
    """Attach the kernels compiled from another operator's formulas to an overload of it.

    Raises:
        FormulaError: its argument types do not fit the source of a formula.
    """
    importlib.import_module("opdsl.formulas.attaching").share_formula(declaration, other)


def attach_case(attachment: Attachment) -> None:
    """Attach a formula for some dtypes or values of arguments.

    Raises:
        FormulaError: the source contains code that no kernel can be compiled from.
        KernelSignatureError: its parameters or options do not fit.
        DuplicateOperatorError: the operator is computed in another way, or by another formula for the same arguments.
    """
    importlib.import_module("opdsl.formulas.attaching").attach_case(attachment)
