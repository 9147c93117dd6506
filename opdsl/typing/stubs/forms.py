"""Forms of a call: one for each way in which a function may be called, in an order that type checkers accept.

A packet is tried overload by overload as ``opdsl.dispatch.binding.signature`` orders them. Type checkers want a
narrower overload before a wider one, and none that is never reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from opdsl.dispatch import Operator, Signature
from opdsl.dispatch.binding.arguments import MISSING
from opdsl.dispatch.binding.signature import Parameter as BoundParameter
from opdsl.schema import FunctionSchema, ListType
from opdsl.typing.stubs.annotations import Alternatives, default, is_within, taken, text

ResultOf = Callable[[Operator], str]

POSITIONAL, SPREAD, KEYWORD = "positional", "spread", "keyword"


@attrs.frozen
class Parameter:
    """One parameter of a stub.

    name: of the parameter.
    type: the alternatives that it takes.
    default: the expression of its default; None where it must be given.
    kind: ``positional``, ``spread`` for ``*name``, or ``keyword``.
    """

    name: str
    type: Alternatives
    default: str | None
    kind: str

    def __str__(self) -> str:
        star = "*" if self.kind == SPREAD else ""
        written = f"{star}{self.name}: {text(self.type)}"
        return written if self.default is None else f"{written} = {self.default}"


@attrs.frozen
class Form:
    """One way to call a function.

    parameters: in order.
    result: the annotation of what it returns.
    doc: its documentation.
    """

    parameters: tuple[Parameter, ...]
    result: str
    doc: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """The names of the parameters, by which a call may give them."""
        return frozenset(parameter.name for parameter in self.parameters)

    def written(self) -> list[str]:
        """The parameters as they are written, with the star before those that have to be named."""
        texts = [str(parameter) for parameter in self.parameters]
        kinds = [parameter.kind for parameter in self.parameters]
        if KEYWORD in kinds and not any(name.startswith("*") for name in texts[: kinds.index(KEYWORD) + 1]):
            texts.insert(kinds.index(KEYWORD), "*")
        return texts


def schema_form(operator: Operator, result_of: ResultOf) -> Form:
    """The form that an operator's schema says, as its own function takes it."""
    schema = operator.schema
    positional = {argument.name for argument in schema.positional}
    parameters = tuple(
        Parameter(
            argument.python_name,
            taken(argument.type, accepts_number=operator.accepts_numbers, name=argument.python_name),
            None if argument.default is None else default(argument),
            POSITIONAL if argument.name in positional else KEYWORD,
        )
        for argument in schema.arguments
    )
    return Form(parameters, result_of(operator), documentation(operator))


def function_forms(signatures: Iterable[Signature], result_of: ResultOf) -> list[Form]:
    """The forms of a packet's function: with ``out=`` where there is an operator for it."""
    return ordered([form for signature in signatures for form in _forms(signature, result_of, skip_self=False)])


def method_forms(signatures: Iterable[Signature], result_of: ResultOf) -> list[Form]:
    """The forms of a packet's method, without the tensor that it is a method of."""
    return ordered([form for signature in signatures for form in _forms(signature, result_of, skip_self=True)])


def documentation(operator: Operator) -> str | None:
    """The docstring of an operator's declaration, if it has one."""
    text: str | None = getattr(getattr(operator.declaration, "function", None), "__doc__", None)
    # What is derived has its schema for a text.
    return None if text == f"``{operator.schema}``" else text


def _forms(signature: Signature, result_of: ResultOf, *, skip_self: bool) -> Iterable[Form]:
    model = signature.operator or signature.out
    assert model is not None, "a signature stands for an operator"
    defaults = _defaults(model.schema)
    parameters = [_parameter(parameter, defaults) for parameter in signature.parameters[int(skip_self) :]]
    doc = documentation(model)
    result = None if signature.operator is None else result_of(signature.operator)
    variants: list[tuple[list[Parameter], str]] = []
    if signature.out is None:
        assert result is not None, "a signature without out= has an operator"
        variants.append((parameters, result))
    else:
        own = result_of(signature.out)
        is_same = own == result
        out = Parameter("out", _outputs(signature.out.schema, optional=is_same), "None" if is_same else None, KEYWORD)
        if result is not None and not is_same:
            variants.append((parameters, result))
        variants.append(([*parameters, out], own))
    place = None if signature.spread is None else signature.spread - int(skip_self)
    for form_parameters, result_text in variants:
        yield Form(tuple(form_parameters), result_text, doc)
        if place is not None:
            yield Form(tuple(_spread(form_parameters, place)), result_text, doc)


def _defaults(schema: FunctionSchema) -> dict[str, str]:
    return {argument.python_name: default(argument) for argument in schema.arguments if argument.default is not None}


def _parameter(bound: BoundParameter, defaults: dict[str, str]) -> Parameter:
    kind = KEYWORD if bound.keyword_only else POSITIONAL
    # What is in no schema, requires_grad of factories, has its default here alone.
    written = defaults.get(bound.name, None if bound.default is MISSING else repr(bound.default))
    return Parameter(bound.name, taken(bound.type, accepts_number=bound.accepts_number, name=bound.name), written, kind)


def _outputs(schema: FunctionSchema, *, optional: bool) -> Alternatives:
    """What ``out=`` takes: a tensor, or a tuple or list of as many as there are results."""
    none = ("None",) if optional else ()
    if len(schema.out) == 1:
        return ("Sequence[Tensor]" if isinstance(schema.out[0].type, ListType) else "Tensor", *none)
    return (f"tuple[{', '.join(['Tensor'] * len(schema.out))}]", "list[Tensor]", *none)


def _spread(parameters: Sequence[Parameter], place: int) -> Iterable[Parameter]:
    """The parameters with one list of ints spread over positional arguments: ``x.view(2, 3)``."""
    for position, parameter in enumerate(parameters):
        if position == place:
            yield Parameter(parameter.name, ("int",), None, SPREAD)
        else:
            yield parameter if position < place else attrs.evolve(parameter, kind=KEYWORD)


# ---------------------------------------------------------------------------------------------------------- overloads


def ordered(forms: Sequence[Form]) -> list[Form]:
    """Forms without those that another one makes superfluous, narrower ones first."""
    kept: list[Form] = []
    for index, form in enumerate(forms):
        others = [
            other
            for position, other in enumerate(forms)
            if position != index and other.result == form.result and form.names <= other.names and covers(other, form)
        ]
        # Of two that take the same, the first stays.
        if not any(not covers(form, other) or forms.index(other) < index for other in others):
            kept.append(form)
    result: list[Form] = []
    while kept:
        free = [form for form in kept if not any(other is not form and covers(form, other) for other in kept)]
        # Two that take the same and return different things have no right order: theirs is the runtime's.
        result.append((free or kept)[0])
        kept.remove(result[-1])
    return result


def covers(wide: Form, narrow: Form) -> bool:
    """Whether every call that one form takes is one that another takes, but for the names of what has a place."""
    if any(parameter.kind == SPREAD for parameter in (*wide.parameters, *narrow.parameters)):
        return wide.parameters == narrow.parameters
    named = {parameter.name: parameter for parameter in wide.parameters}
    places = [parameter for parameter in wide.parameters if parameter.kind == POSITIONAL]
    met: set[str] = set()
    for position, parameter in enumerate(narrow.parameters):
        if parameter.kind == POSITIONAL:
            partner = places[position] if position < len(places) else None
        else:
            partner = named.get(parameter.name)
        if partner is None or not is_within(parameter.type, partner.type):
            return False
        if parameter.default is not None and partner.default is None:
            return False
        met.add(partner.name)
    return all(parameter.default is not None for parameter in wide.parameters if parameter.name not in met)


__all__ = [
    "KEYWORD",
    "POSITIONAL",
    "SPREAD",
    "Form",
    "Parameter",
    "documentation",
    "function_forms",
    "method_forms",
    "ordered",
    "schema_form",
]
