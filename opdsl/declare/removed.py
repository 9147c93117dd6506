"""Decorators that ``@formula`` replaces: each raises an error that shows the formula to write."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from opdsl.declare.declaration import Declaration
from opdsl.declare.signature import location
from opdsl.errors import DeclarationError
from opdsl.tracebacks import without_own_frames

__all__ = ["Removed"]


class Removed:
    """Decorator that is no longer supported: its error shows the formula to write instead.

    Args:
        declaration: the declaration that it was used on.
        name: of the decorator: a key of ``opdsl.primitives.LOOPS``.
    """

    __slots__ = ("declaration", "name")

    def __init__(self, declaration: Declaration, name: str) -> None:
        self.declaration = declaration
        self.name = name

    def __call__(self, /, *decorated: object, **options: object) -> Any:
        """Raise the error that shows the formula to write; if only options are given, return a decorator that raises
        it.

        Raises:
            DeclarationError: always, with the formula to write.
        """
        function = next((value for value in decorated if isinstance(value, FunctionType)), None)
        if function is None and not any(callable(value) for value in decorated):
            return lambda later: self._refuse(later, options)
        return self._refuse(function, options)

    def _refuse(self, function: object, options: Mapping[str, object]) -> None:
        from opdsl.declare.formula_texts import formula_text

        declared = self.declaration.function
        place = location(function if isinstance(function, FunctionType) else declared)
        text = formula_text(self.declaration, self.name, function, options)
        with without_own_frames():
            raise DeclarationError(
                f"{place}: {self.declaration.name}: @{declared.__name__}.{self.name} is no longer supported. Write the "
                f"operator as a formula:\n\n{textwrap.indent(text, '    ')}\n\n"
                "docs/constructs.md has an example of each kind; dtypes=, when=: @f.formula(dtypes=..., when=...)."
            )
