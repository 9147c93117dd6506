"""Stubs of packets as classes: their call signatures, and their overloads as attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from opdsl.dispatch import Operator, Packet
from opdsl.schema.model import python_name
from opdsl.typing.stubs.annotations import given, returned
from opdsl.typing.stubs.forms import Form, Parameter, ResultOf, function_forms, schema_form
from opdsl.typing.stubs.layout import Statement, class_of, function
from opdsl.typing.stubs.names import Names

# Name of the parameter for the packet itself: schemas use `self`, and mypy accepts no third name.
_PACKET = "cls"


def class_name(packet: Packet) -> str:
    """Return the name of the class for a packet of opdsl."""
    return f"_packet_{packet.base}"


def library_class_name(packet: Packet) -> str:
    """Return the name of the class for a library's packet, also for one in the namespace ``aten``."""
    return f"_packet_{packet.name.replace('::', '_')}"


class Results:
    """Table of the named tuple classes for results, by operator name and fields."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}

    def of(self, operator: Operator) -> str:
        """Return the annotation of an operator's return value: a named tuple for several results with names."""
        result_type = operator.result_type
        if result_type is None:
            return returned(operator.schema.returns)
        types = [given(result.type) for result in operator.schema.returns]
        fields = tuple(zip(result_type._fields, types, strict=True))  # type: ignore[attr-defined]  # of a named tuple
        key = (operator.schema.name.functional_base, fields)
        if key not in self._names:
            stem = f"_results_{key[0]}"
            taken = sum(base == key[0] for base, _ in self._names)
            self._names[key] = f"{stem}_{taken + 1}" if taken else stem
        return self._names[key]

    def classes(self, names: Names) -> list[Statement]:
        """Return the classes, ordered by name."""
        return [
            class_of(
                name,
                [names.use("NamedTuple")],
                [Statement("variable", (f"{field}: {names.use(type)}",)) for field, type in fields],
            )
            for (_, fields), name in sorted(self._names.items(), key=lambda item: item[1])
        ]


# Additional overloads of functions, for positions that vary along dims.
_OF_DIMS = {
    "scatter": (
        Form(
            (
                Parameter("self", ("Tensor",), None, "positional"),
                Parameter("positions", ("Sequence[int | Tensor | EllipsisType]",), None, "positional"),
                Parameter("src", ("Tensor", "Scalar"), None, "positional"),
                Parameter("reduce", ("str", "None"), "None", "keyword"),
            ),
            "Tensor",
            "Return ``self`` with values written to, or combined with, its elements at indices that vary along dims.",
        ),
    )
}


def packet_class(name: str, packet: Packet, names: Names, result_of: ResultOf) -> Statement:
    """Return the class of a packet: an Operator with call signatures, and a static method for each overload.

    An overload whose name is not valid in Python (``random_.from``) is left out, since no program can write it.
    """
    forms = [*function_forms(packet.signatures(), result_of), *_OF_DIMS.get(name.removeprefix("_packet_"), ())]
    operators = {overload or "default": operator for overload, operator in packet.overloads.items()}
    shown = {name: operator for name, operator in operators.items() if python_name(name) == name}
    result = " | ".join(dict.fromkeys(form.result for form in forms))
    body = [
        *overloaded("__call__", forms, names, shadowed=shown, first=_PACKET),
        *(_overload(name, schema_form(value, result_of), names, shown) for name, value in shown.items()),
    ]
    bases = [f"{names.use('Operator')}[..., {names.use(result)}]", names.use("Protocol")]
    return class_of(name, bases, body)


def overloaded(
    name: str, forms: Collection[Form], names: Names, *, shadowed: Collection[str] = (), first: str | None = None
) -> Iterable[Statement]:
    """Yield a function with one definition for each overload.

    Args:
        name: the function's name.
        forms: in the order in which they are to be tried.
        names: of the file.
        shadowed: the names that the enclosing class defines.
        first: the parameter for the object, if it is a method.
    """
    decorators = [names.use("overload", shadowed)] if len(forms) > 1 else []
    lead = [] if first is None else [first]
    doc: str | None = None
    for form in forms:
        parameters = [*lead, *(names.use_parameter(text, shadowed) for text in form.written())]
        # Leave out the docstring if it equals that of the previous overload.
        shown, doc = (None if form.doc == doc else form.doc), form.doc
        yield function(name, parameters, names.use(form.result, shadowed), shown, decorators=decorators, indent=1)


def _overload(name: str, form: Form, names: Names, shadowed: Collection[str]) -> Statement:
    parameters = [names.use_parameter(text, shadowed) for text in form.written()]
    decorators = (names.use("_operator"), names.use("staticmethod", shadowed))
    return function(name, parameters, names.use(form.result, shadowed), form.doc, decorators=decorators, indent=1)
