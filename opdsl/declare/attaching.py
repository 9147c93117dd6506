"""Decorators of a declared operator (``f.derivative``, ``f.kernel``), which check their options and attach
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType, MethodType
from typing import Any

from opdsl.declare.adapting import optional_names, without_optional
from opdsl.declare.attachment import Attachment, options_of
from opdsl.declare.declaration import Declaration
from opdsl.declare.derivatives import attach_derivative, attach_formulas, share_formulas
from opdsl.declare.formulas import attach_case
from opdsl.declare.gradient_calls import formula_of
from opdsl.declare.implementations import require_function
from opdsl.declare.kernels import attach_kernel, attach_view_kernel
from opdsl.declare.operator import Operator
from opdsl.declare.primitives import attach_loop
from opdsl.declare.structured import attach_meta, attach_out_kernel
from opdsl.errors import DispatchKeyError, KernelSignatureError
from opdsl.schema.implementation import result_names
from opdsl.schema.kinds import Function, Kind, Texts
from opdsl.tracebacks import without_own_frames


def _attach_formula(attachment: Attachment) -> None:
    """Attach a formula for some dtypes or argument values: as one loop over scalar functions if possible, else by
    tracing it.
    """
    if not attach_loop(attachment):
        attach_case(attachment)


PROCEDURES: Mapping[Function, Callable[[Attachment], None]] = {
    Function.CONTEXT: attach_meta,
    Function.OUTPUTS: attach_out_kernel,
    Function.TENSORS: attach_kernel,
    Function.FORMULA: _attach_formula,
    Function.VIEW: attach_view_kernel,
    Function.GRADIENTS: attach_derivative,
}
"""Functions that attach a decorated function to an operator, by the kind of function."""


class Decorator:
    """Decorator like ``f.derivative``: attaches the decorated function to a declaration and returns it unchanged.

    Args:
        declaration: the declaration to attach to.
        kind: record of the decorator.
    """

    __slots__ = ("declaration", "kind")

    def __init__(self, declaration: Declaration, kind: Kind) -> None:
        self.declaration = declaration
        self.kind = kind

    def __call__(self, /, *positional: Any, **options: Any) -> Any:
        """Attach the given functions, or return a decorator that attaches the decorated one.

        Raises:
            KernelSignatureError: the options are not those of the kind, or the function does not fit.
            DispatchKeyError: a positional argument is no dispatch key.
        """
        with without_own_frames():
            return self._attached(positional, options)

    def _attached(self, positional: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Attach the given functions, or return a decorator that attaches one; see ``__call__``."""
        formulas = self._formulas(positional, options)
        if formulas:
            return attach_formulas(self.declaration, self.kind, formulas, self._options(options))
        other = getattr(positional[0], "operator", None) if self.kind.texts is Texts.ARGUMENTS and positional else None
        if other is not None and not options and len(positional) == 1:
            return share_formulas(self.declaration, other.declaration, self.kind)
        takes_texts = self.kind.texts is not Texts.NONE
        if self.kind.texts is Texts.KEYS_OR_ALL and len(positional) == 1 and isinstance(positional[0], FunctionType):
            takes_texts = False  # a decorator without parentheses is for all backends
        texts = self._texts(positional) if takes_texts else ()
        checked = self._options(options)

        def attach(decorated: Any) -> Any:
            with without_own_frames():
                function = self._function(decorated)
                PROCEDURES[self.kind.function](Attachment(self.declaration, self.kind, function, texts, checked))
            return decorated

        function, *more = (None,) if takes_texts or not positional else positional
        if more:
            raise KernelSignatureError(f"{self._where} takes a function, and options by name.")
        return attach if function is None else attach(function)

    def __str__(self) -> str:
        return f"@{self.declaration.function.__name__}.{self.kind.name}"

    def __repr__(self) -> str:
        from inspect import signature

        return f"{self}{signature(self)}"

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        """Return the docstring that ``help`` shows: that of the method of ``Operator``."""
        return self.__wrapped__.__doc__

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """Return the method of ``Operator`` whose signature and docstring ``help`` and ``inspect`` show."""
        declared: Callable[..., Any] = getattr(Operator, self.kind.name)
        return MethodType(declared, self)

    @property
    def _where(self) -> str:
        return f"{self.declaration.name}: {self}"

    def _with_what_there_is(self, function: FunctionType) -> FunctionType:
        """Return a wrapper of the function without its optional parameters that the operator lacks; these keep their
        defaults.
        """
        schema, optional = self.declaration.main.schema, optional_names(function)
        handed = {argument.python_name: argument.default is not None for argument in schema.arguments}
        handed |= dict.fromkeys(result_names(schema), False) if self.kind.function is Function.GRADIENTS else {}
        is_shared = not all(handed.get(text) for text in optional)
        outputs = len(schema.returns) if self.kind.function is Function.OUTPUTS else 0
        return without_optional(function, handed, last=outputs) if is_shared else function

    def _formulas(self, positional: tuple[object, ...], options: dict[str, Any]) -> dict[str, FunctionType]:
        """Remove from the options the functions that are given by argument name, and return them."""
        if self.kind.texts is not Texts.ARGUMENTS or positional:
            return {}
        names = [option for option in options if option not in self.kind.options]
        return {name: self._function(options.pop(name)) for name in names}

    def _function(self, attached: object) -> FunctionType:
        """Return the function to attach for the argument of a decorator: a function, or an operator as a derivative
        formula.
        """
        formula = formula_of(self.declaration, attached) if self.kind.texts is Texts.ARGUMENTS else None
        return self._with_what_there_is(require_function(attached, str(self)[1:])) if formula is None else formula

    def _texts(self, positional: tuple[object, ...]) -> tuple[str, ...]:
        texts = tuple(text for text in positional if isinstance(text, str))
        if self.kind.texts is Texts.ARGUMENTS:
            if not texts or len(texts) < len(positional):
                raise KernelSignatureError(f'{self._where} names arguments. Write {self}("self") above the formula.')
        elif len(texts) < len(positional):
            raise DispatchKeyError(f'{self} takes dispatch keys. Write {self}("CPU").')
        return texts

    def _options(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return options_of(self.kind, options, self._where)
