"""The text of a formula: a function of operators, and where it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from opdsl.dispatch.state import current
from opdsl.errors import KernelSignatureError, UnsupportedDTypeError
from opdsl.kernels.iteration.dtypes import dtypes_named
from opdsl.runtime.dtype import ALL_DTYPES
from opdsl.runtime.promotion import result_type
from opdsl.runtime.tensor import Tensor
from opdsl.scalar.source import FunctionSource, function_source

__all__ = ["FormulaText", "current_text", "text_being_read"]

_reading: ContextVar[tuple[FormulaText, ...]] = ContextVar("formulas_being_read", default=())


class FormulaText:
    """A function of operators, and where it is written. Nothing is read before it is asked for.

    Args:
        function: as the user wrote it.
        run: what is traced; the rewritten function by default.
        source: the text that errors underline; that of the function by default.
        dtypes: that it takes, of what its tensors are promoted to: kinds (``floating``) or names; all of them if empty.

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
    ) -> None:
        self.function = function
        self._names = tuple(dtypes)
        try:
            self.dtypes = dtypes_named(dtypes) or frozenset(ALL_DTYPES)
        except ValueError as error:
            where = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
            named = f"formula {function.__name__}: dtypes={self._names!r}"
            raise KernelSignatureError(f"{where}: {named}: {error}.") from error
        self._run = run
        self._source = source

    @property
    def run(self) -> Callable[..., Any]:
        """The function that is traced.

        Raises:
            FormulaError: the text holds what a formula cannot, or cannot be read.
        """
        if self._run is None:
            # Whoever rewrites first has to have the hooks, too.
            import opdsl.formulas.control  # noqa: F401
            from opdsl.formulas.rewriting import rewritten

            self._run = rewritten(self.function)
        return self._run

    @property
    def source(self) -> FunctionSource:
        """The text that errors underline."""
        if self._source is None:
            self._source = function_source(self.function)
        return self._source

    def __call__(self, *arguments: Any) -> Any:
        """Run it call by call, on tensors of any kind.

        Raises:
            FormulaError: it calls itself.
            UnsupportedDTypeError: it is not for the dtype that its tensors are promoted to.
        """
        self._check_dtype(arguments)
        if self in _reading.get():
            from opdsl.formulas.control import error_here

            raise error_here(f"{self.source.name} calls itself", "Write a loop: a formula has no recursion.")
        token = _reading.set((*_reading.get(), self))
        try:
            return self._call(*arguments)
        finally:
            _reading.reset(token)

    def _check_dtype(self, arguments: Sequence[Any]) -> None:
        tensors = [each.geometry for each in arguments if isinstance(each, Tensor)]
        if not self._names or not tensors:
            return
        common = result_type(tensors, current.get().default_dtype)
        if common not in self.dtypes:
            raise UnsupportedDTypeError(
                f"{self.function.__name__}: not implemented for '{common.scalar_type}' ({common.name}): it takes "
                f"{', '.join(self._names)}. Convert the tensors with .to(dtype)."
            )

    def _call(self, *arguments: Any) -> Any:
        """Hand on arguments in the order of the signature, some of which take a name alone."""
        run, code = self.run, self.function.__code__
        if not isinstance(run, FunctionType) or not code.co_kwonlyargcount:
            return run(*arguments)
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        return run(*arguments[: code.co_argcount], **dict(zip(names, arguments[code.co_argcount :], strict=True)))


def current_text() -> FormulaText:
    """Return the formula that is being run."""
    text = text_being_read()
    assert text is not None, "hooks run within formulas"
    return text


def text_being_read() -> FormulaText | None:
    """Return the formula that is being run; None outside of formulas."""
    texts = _reading.get()
    return texts[-1] if texts else None
