"""Class ``Place``: a parameter or result of an implementation, with the facts that its source text contains."""

from __future__ import annotations

import json
from typing import Any

import attrs
from mypy.types import RawExpressionType, Type, UnboundType

from opdsl.typing.syntax import local_name


@attrs.frozen
class Place:
    """Parameter or result of an implementation, encoded in a type, since mypy's cache keeps types only.

    operator: the dotted name before the decorator: ``smooth_relu`` of ``@smooth_relu.meta``.
    is_whole: whether that name is the whole expression; ``smooth_relu`` of ``smooth_relu.variants["out"]`` is not.
    decorator: ``meta``, ``kernel``, ...
    texts: the text arguments of the decorator: dispatch keys, or the arguments of a derivative.
    handed: the name of the class that the implementation receives for a tensor; ``Any`` if it is unknown.
    function: the name of the implementation.
    parameters: its parameters that an operator fills.
    keyword_only: those of them that are keyword-only.
    defaulted: those that have a default.
    returned: the lengths of the tuples in its ``return`` statements.
    returns_value: whether it returns anything.
    precomputed: the values that a shape function passes to out-kernels: the replaced argument and its replacements, or
        "" and added values; None if the operator is declared elsewhere.
    made_by: the dotted name of the function whose result the operator is assigned from; "" if it is declared.
    parameter: the name of the parameter; "" for the result.
    """

    operator: str
    is_whole: bool
    decorator: str
    texts: tuple[str, ...]
    handed: str
    function: str
    parameters: tuple[str, ...]
    keyword_only: tuple[str, ...]
    defaulted: tuple[str, ...]
    returned: tuple[int, ...]
    returns_value: bool
    precomputed: tuple[tuple[str, ...], ...] | None
    made_by: str
    parameter: str = ""

    @property
    def attaching(self) -> str:
        """Return the decorator as written, without its arguments."""
        return f"@{self.operator}.{self.decorator}"

    def annotation(self, written: Type | None, line: int, column: int) -> UnboundType:
        """Encode the description as an unanalyzed type.

        Args:
            written: the annotation of the function there; None if it has none.
        """
        text = RawExpressionType(json.dumps(attrs.asdict(self)), "builtins.str", line=line, column=column)
        texts = [text] if written is None else [text, written]
        return UnboundType(local_name("Received"), texts, line=line, column=column)

    @staticmethod
    def of(annotation: UnboundType) -> Place | None:
        """Decode a type written by ``annotation``; return None for any other type."""
        written = annotation.args[0] if annotation.args else None
        if not isinstance(written, RawExpressionType) or not isinstance(written.literal_value, str):
            return None
        return Place(**{name: _frozen(value) for name, value in json.loads(written.literal_value).items()})


def _frozen(value: Any) -> Any:
    """Convert JSON lists to tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
