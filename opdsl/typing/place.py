"""Where a type is missing: one parameter, or the result, of an implementation."""

from __future__ import annotations

import json

import attrs
from mypy.types import RawExpressionType, UnboundType

from opdsl.typing.syntax import local_name


@attrs.frozen
class Place:
    """One missing annotation. It is written as a type, so that what mypy keeps of a file says everything.

    operator: the dotted name before the decorator: ``smooth_relu`` of ``@smooth_relu.meta``.
    is_whole: whether that name is all that stands before it; ``smooth_relu`` of ``smooth_relu.variants["out"]`` is not.
    decorator: ``meta``, ``kernel``, ...
    handed: what stands for a tensor: ``Tensor``, ``Array`` for what numba compiles, ``Any`` where that is not known.
    function: the name of the implementation.
    parameters: its parameters that an operator fills.
    parameter: the one whose type is missing; "" for the result.
    returns_value: whether it returns anything.
    reports: whether faults of the whole signature are reported here; one place of each function does.
    """

    operator: str
    is_whole: bool
    decorator: str
    handed: str
    function: str
    parameters: tuple[str, ...]
    parameter: str
    returns_value: bool
    reports: bool

    def annotation(self, line: int, column: int) -> UnboundType:
        """The place as a type that is not analysed yet."""
        text = json.dumps(attrs.asdict(self))
        written = RawExpressionType(text, "builtins.str", line=line, column=column)
        return UnboundType(local_name("Received"), [written], line=line, column=column)

    @staticmethod
    def of(annotation: UnboundType) -> Place | None:
        """What ``annotation`` wrote; None for anything else."""
        written = annotation.args[0] if annotation.args else None
        if not isinstance(written, RawExpressionType) or not isinstance(written.literal_value, str):
            return None
        values = json.loads(written.literal_value)
        return Place(**{**values, "parameters": tuple(values["parameters"])})
