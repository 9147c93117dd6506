"""Functions to be attached to a declaration, with the options of the decorators that attach them."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.declare.declaration import Declaration, as_written
from opdsl.declare.implementations import Attached, dispatch_keys
from opdsl.dispatch import DispatchKey
from opdsl.errors import KernelSignatureError
from opdsl.schema.kinds import Function, Kind, Option

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

ALL_BACKENDS = tuple(DispatchKey(name) for name in ("CPU", "CUDA", "Meta"))
"""Backends for which a function is attached if its decorator names none."""

_ON_ELEMENTS = frozenset(("dynamic_output_shape", "data_dependent_output"))


class Attachment:
    """Function to be attached to a declaration, with its decorator and options.

    declaration: the declaration to attach to.
    kind: record of the decorator.
    function: the decorated function.
    texts: positional arguments of the decorator: dispatch keys or argument names.
    options: checked options of the decorator.
    scalar: the scalar function that ``function`` computes, if it is no scalar function itself.
    """

    __slots__ = ("declaration", "function", "kind", "options", "scalar", "texts")

    def __init__(
        self,
        declaration: Declaration,
        kind: Kind,
        function: FunctionType,
        texts: tuple[str, ...],
        options: Mapping[str, Any],
        scalar: ScalarFunction | None = None,
    ) -> None:
        self.declaration = declaration
        self.kind = kind
        self.function = function
        self.texts = texts
        self.options = options
        self.scalar = scalar

    @property
    def decorator(self) -> str:
        """Return the decorator as written in source: ``@f.kernel``, ``primitives.elements(scaled)``."""
        return as_written(self.declaration.function.__name__, self.kind, self.function)

    def checks(self, function: FunctionType | None = None) -> Attached:
        """Return a checker of the signature of the decorated function, or of a function in its options."""
        main = self.declaration.main
        written = f"{self.decorator}:" if self.kind.function is Function.NUMBERS else self.decorator
        return Attached(function or self.function, main.name, written, main.schema)

    def keys(self) -> list[DispatchKey]:
        """Return the dispatch keys given to the decorator, without duplicates; empty if the function is for all
        backends.

        Raises:
            DispatchKeyError: there is no such key.
        """
        return list(dict.fromkeys(dispatch_keys(self.texts, self.function, self.declaration.main)))

    def keys_or_all(self) -> list[DispatchKey]:
        """Return the dispatch keys given to the decorator, by default those of all backends; without Meta if result
        shapes are data-dependent.
        """
        needs_elements = not _ON_ELEMENTS.isdisjoint(self.declaration.main.tags)
        return self.keys() or [backend for backend in ALL_BACKENDS if not (needs_elements and backend.name == "Meta")]


def options_of(kind: Kind, written: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Return the checked options of a decorator, normalized: a single text as a tuple of one, lists as tuples.

    Args:
        kind: record of the decorator, which lists its options.
        written: the options as given.
        where: prefix of error messages.

    Raises:
        KernelSignatureError: an option is unknown, missing or of a wrong type.
    """
    known = kind.options
    unknown = [text for text in written if text not in known]
    missing = [key for key, option in known.items() if option.required and key not in written]
    if unknown or missing:
        problem = f"has no option {unknown[0]!r}" if unknown else f"needs {missing[0]}=, {known[missing[0]].required}"
        raise KernelSignatureError(f"{where} {problem}. It takes {', '.join(known) or 'none'}.")
    return {option: _option(f"{where}({option}=", known[option], value) for option, value in written.items()}


def _option(where: str, option: Option, value: Any) -> Any:
    """Return the checked value of an option, with a list of texts as a tuple."""
    if value is None and option.is_optional:
        return value
    values: Any = (value,) if option.is_listed and isinstance(value, str) else value
    fits = isinstance(values, option.type)
    if not fits:
        raise KernelSignatureError(f"{where}{values!r}) is no {option.type.__name__}")
    if not option.is_listed:
        return values
    return tuple([_text(where, text) for text in values])


def _text(where: str, value: object) -> str:
    if not isinstance(value, str):
        raise KernelSignatureError(f"{where}{value!r}) is no str")
    return value
