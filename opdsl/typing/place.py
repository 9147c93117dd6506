"""Where an implementation meets its operator: one parameter, or the result, and what its text says of all of it."""

from __future__ import annotations

import json
from typing import Any

import attrs
from mypy.types import RawExpressionType, Type, UnboundType

from opdsl.typing.syntax import local_name


@attrs.frozen
class Place:
    """One parameter, or the result. It is written as a type, so that what mypy keeps of a file says everything.

    operator: the dotted name before the decorator: ``smooth_relu`` of ``@smooth_relu.meta``.
    is_whole: whether that name is all that stands before it; ``smooth_relu`` of ``smooth_relu.variants["out"]`` is not.
    decorator: ``meta``, ``kernel``, ...
    texts: what the decorator is given: dispatch keys, or the arguments of a derivative.
    handed: what stands for a tensor: the name of a class, ``Any`` where that is not known.
    function: the name of the implementation.
    parameters: its parameters that an operator fills.
    keyword_only: those of them that are keyword-only.
    defaulted: those that have a default.
    returned: the lengths of the tuples that stand behind its ``return``.
    returns_value: whether it returns anything.
    precomputed: what a shape function hands to out-kernels: what is replaced and by what, "" for what is added; None
        where the operator is declared elsewhere.
    made_by: the dotted name of the function whose result the operator is assigned from; "" where it is declared.
    parameter: the one that this is; "" for the result.
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
        """The decorator as it is written, without its arguments."""
        return f"@{self.operator}.{self.decorator}"

    def annotation(self, written: Type | None, line: int, column: int) -> UnboundType:
        """The place as a type that is not analysed yet.

        Args:
            written: the annotation that the function has there; None where it has none.
        """
        text = RawExpressionType(json.dumps(attrs.asdict(self)), "builtins.str", line=line, column=column)
        texts = [text] if written is None else [text, written]
        return UnboundType(local_name("Received"), texts, line=line, column=column)

    @staticmethod
    def of(annotation: UnboundType) -> Place | None:
        """What ``annotation`` wrote; None for anything else."""
        written = annotation.args[0] if annotation.args else None
        if not isinstance(written, RawExpressionType) or not isinstance(written.literal_value, str):
            return None
        return Place(**{name: _frozen(value) for name, value in json.loads(written.literal_value).items()})


def _frozen(value: Any) -> Any:
    """JSON's lists as tuples."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
