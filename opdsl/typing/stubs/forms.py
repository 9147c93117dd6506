"""Overloads of a function in stubs, one for each way to call it, in an order that type checkers accept.

At run time a packet tries its overloads in the order of ``opdsl.dispatch.binding.signature``. Type checkers require a
narrower overload before a wider one, and no unreachable overload.
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
    """Parameter of a function in a stub.

    name: of the parameter.
    type: the alternatives that it accepts.
    default: the expression of its default; None if it is required.
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
    """Overload of a function in a stub.

    parameters: in order.
    result: the annotation of its return value.
    doc: its documentation.
    """

    parameters: tuple[Parameter, ...]
    result: str
    doc: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the parameters, by which a call may pass them."""
        return frozenset(parameter.name for parameter in self.parameters)

    def written(self) -> list[str]:
        """Return the parameters as text, with ``*`` before the first keyword-only one."""
        texts = [str(parameter) for parameter in self.parameters]
        kinds = [parameter.kind for parameter in self.parameters]
        if KEYWORD in kinds and not any(name.startswith("*") for name in texts[: kinds.index(KEYWORD) + 1]):
            texts.insert(kinds.index(KEYWORD), "*")
        return texts


def schema_form(operator: Operator, result_of: ResultOf) -> Form:
    """Return the overload for an operator's schema, as the operator's own function takes it."""
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
    """Return the overloads of a packet's function, with ``out=`` if there is an operator for it."""
    return ordered([form for signature in signatures for form in _forms(signature, result_of, skip_self=False)])


def method_forms(signatures: Iterable[Signature], result_of: ResultOf) -> list[Form]:
    """Return the overloads of a packet's Tensor method, without the parameter ``self``."""
    return ordered([form for signature in signatures for form in _forms(signature, result_of, skip_self=True)])


def documentation(operator: Operator) -> str | None:
    """Return the docstring of an operator's declaration, or None."""
    text: str | None = getattr(getattr(operator.declaration, "function", None), "__doc__", None)
    # The docstring of a derived operator is its schema.
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
    # A parameter that is not in the schema, such as requires_grad of factories, has its default here.
    written = defaults.get(bound.name, None if bound.default is MISSING else repr(bound.default))
    return Parameter(bound.name, taken(bound.type, accepts_number=bound.accepts_number, name=bound.name), written, kind)


def _outputs(schema: FunctionSchema, *, optional: bool) -> Alternatives:
    """Return the type of ``out=``: a tensor, or a tuple or list with one tensor per result."""
    none = ("None",) if optional else ()
    if len(schema.out) == 1:
        return ("Sequence[Tensor]" if isinstance(schema.out[0].type, ListType) else "Tensor", *none)
    return (f"tuple[{', '.join(['Tensor'] * len(schema.out))}]", "list[Tensor]", *none)


def _spread(parameters: Sequence[Parameter], place: int) -> Iterable[Parameter]:
    """Yield the parameters with a list of ints replaced by variadic arguments, as in ``x.view(2, 3)``."""
    for position, parameter in enumerate(parameters):
        if position == place:
            yield Parameter(parameter.name, ("int",), None, SPREAD)
        else:
            yield parameter if position < place else attrs.evolve(parameter, kind=KEYWORD)


# ---------------------------------------------------------------------------------------------------------- overloads


def ordered(forms: Sequence[Form]) -> list[Form]:
    """Remove overloads that another one makes redundant, and sort the others so that narrower ones come first."""
    kept: list[Form] = []
    for index, form in enumerate(forms):
        others = [
            other
            for position, other in enumerate(forms)
            if position != index and other.result == form.result and form.names <= other.names and covers(other, form)
        ]
        # The first of two forms that accept the same calls is kept.
        if not any(not covers(form, other) or forms.index(other) < index for other in others):
            kept.append(form)
    result: list[Form] = []
    while kept:
        free = [form for form in kept if not any(other is not form and covers(form, other) for other in kept)]
        # Two that accept the same calls and return different types cannot be ordered: keep the order of the runtime.
        result.append((free or kept)[0])
        kept.remove(result[-1])
    return result


def covers(wide: Form, narrow: Form) -> bool:
    """Return whether one overload accepts every call that another one accepts, ignoring the names of positional
    parameters.
    """
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
