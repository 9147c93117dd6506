"""Formulas as traceable functions with their source."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import Any, NamedTuple

from opdsl.declare.signature import location
from opdsl.dispatch.state import current
from opdsl.errors import KernelSignatureError, UnsupportedDTypeError
from opdsl.formulas.forms import leaves_of
from opdsl.formulas.source import formula_source
from opdsl.kernels.iteration.dtypes import dtypes_named
from opdsl.runtime.dtype import ALL_DTYPES, DType
from opdsl.runtime.promotion import result_type
from opdsl.runtime.tensor import Tensor
from opdsl.scalar.source import FunctionSource

__all__ = ["FormulaText", "Trial", "current_text", "promoted_dtype", "text_being_read"]

_reading: ContextVar[tuple[FormulaText, ...]] = ContextVar("formulas_being_read", default=())


class Trial(NamedTuple):
    """Dtypes and argument values for which a formula is traced at declaration, to report errors early.

    dtypes: of the tensors.
    when: arguments by name; others get likely values.
    """

    dtypes: frozenset[DType]
    when: Mapping[str, object]


class FormulaText:
    """Formula: a traceable function of operators, with its source.

    Args:
        function: the user's function.
        run: the function to trace; by default ``function`` with its control flow rewritten.
        source: source that errors underline; that of the function by default.
        dtypes: kinds (``floating``) or names of dtypes that are accepted after promotion of the tensors; all if empty.
        names: names of the arguments that it is called with, of which the function takes those that it has parameters
            for; by default exactly its parameters.

    Raises:
        KernelSignatureError: there is no such kind or dtype.
    """

    def __init__(
        self,
        function: FunctionType,
        run: Callable[..., Any] | None = None,
        source: FunctionSource | None = None,
        *,
        dtypes: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> None:
        self.function = function
        self._handed = tuple(names)
        self.names = tuple(dtypes)
        try:
            self.dtypes = dtypes_named(dtypes) or frozenset(ALL_DTYPES)
        except ValueError as error:
            named = f"formula {function.__name__}: dtypes={self.names!r}"
            raise KernelSignatureError(f"{location(function)}: {named}: {error}.") from error
        self._run = run
        self._source = source

    @property
    def run(self) -> Callable[..., Any]:
        """Return the function to trace: the user's function with its control flow rewritten.

        Raises:
            FormulaError: the source contains code that a formula cannot contain, or cannot be read.
        """
        if self._run is None:
            # Rewritten functions call these hooks.
            import opdsl.formulas.control  # noqa: F401
            from opdsl.formulas.rewriting import rewritten

            self._run = rewritten(self.function)
        return self._run

    @property
    def source(self) -> FunctionSource:
        """Return the source, which errors underline.

        Raises:
            FormulaError: it cannot be read.
        """
        if self._source is None:
            self._source = formula_source(self.function)
        return self._source

    @property
    def described(self) -> str:
        """Return a text that is equal for equal formulas, in every process."""
        return ast.dump(self.source.tree)

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """Return the user functions that the formula consists of."""
        return (self.function,)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Return the dtypes and argument values for which the formula is traced at declaration."""
        return (Trial(self.dtypes, {}),)

    def source_for(self, arguments: Sequence[Any]) -> FunctionSource:
        """Return the source that errors underline in a call with some arguments."""
        return self.source

    def __call__(self, *arguments: Any) -> Any:
        """Run the formula operator by operator, on tensors of any kind.

        Raises:
            FormulaError: it calls itself.
            UnsupportedDTypeError: it does not accept the dtype that its tensors are promoted to.
        """
        self._check_dtype(arguments)
        if self in _reading.get():
            from opdsl.formulas.underlining import error_here

            raise error_here(f"{self.source.name} calls itself", "Write a loop: a formula has no recursion.")
        token = _reading.set((*_reading.get(), self))
        try:
            return self._call(*arguments)
        finally:
            _reading.reset(token)

    def _check_dtype(self, arguments: Sequence[Any]) -> None:
        common = promoted_dtype(arguments) if self.names else None
        if common is not None and common not in self.dtypes:
            raise UnsupportedDTypeError(
                f"{self.function.__name__}: not implemented for '{common.scalar_type}' ({common.name}): it takes "
                f"{', '.join(self.names)}. Convert the tensors with .to(dtype)."
            )

    def _call(self, *arguments: Any) -> Any:
        """Call the function with the arguments that it has parameters for, keyword-only ones by name."""
        run, code = self.run, self.function.__code__
        own = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not isinstance(run, FunctionType) or not (self._handed or code.co_kwonlyargcount):
            return run(*arguments)
        named = dict(zip(self._handed or own, arguments, strict=True))
        positional = [named[name] for name in own[: code.co_argcount]]
        return run(*positional, **{name: named[name] for name in own[code.co_argcount :]})


def promoted_dtype(arguments: Sequence[Any]) -> DType | None:
    """Return the dtype that the tensors among arguments, also in lists, are promoted to; None without tensors."""
    tensors = [leaf.geometry for leaf in leaves_of(arguments) if isinstance(leaf, Tensor)]
    return result_type(tensors, current.get().default_dtype) if tensors else None


def current_text() -> FormulaText:
    """Return the formula that is running; it is an error to call this outside of formulas."""
    text = text_being_read()
    assert text is not None, "hooks run within formulas"
    return text


def text_being_read() -> FormulaText | None:
    """Return the formula that is running; None outside of formulas."""
    texts = _reading.get()
    return texts[-1] if texts else None
