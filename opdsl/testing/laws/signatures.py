"""Law 8: the parameters of the generated function match the schema: names, order, kinds and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from opdsl.dispatch import Signature, registry
from opdsl.schema import SchemaKind
from opdsl.testing.subject import Subject

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_MISSING = inspect.Parameter.empty


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    packet = registry.packets[subject.operator.packet_name]
    packet.build(subject.operator)
    parameters = {
        name: parameter
        for name, parameter in inspect.signature(subject.function, follow_wrapped=False).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    }
    schema = subject.operator.schema
    is_out = schema.kind is SchemaKind.out
    declared = Signature(None, subject.operator) if is_out else Signature(subject.operator)
    # Outputs are passed together, as `out`, or by their own names.
    outputs = dict.fromkeys((*(out.python_name for out in schema.out), "out")) if is_out else ()
    names = [*(parameter.name for parameter in declared.parameters), *outputs]
    if list(parameters) != names:
        yield f"the function takes ({', '.join(parameters)}), the schema says ({', '.join(names)})"
        return
    # Factories take requires_grad, which is not in the schema.
    python_names = [argument.python_name for argument in (*schema.positional, *schema.keyword_only)]
    own = [
        parameter.name
        for parameter in declared.parameters
        if parameter.name != "requires_grad" or parameter.name in python_names
    ]
    if own != python_names:
        yield f"the function's order is ({', '.join(parameters)}), the schema is {schema}"
    for parameter in declared.parameters:
        shown = parameters[parameter.name]
        if shown.kind is inspect.Parameter.VAR_POSITIONAL or parameter.name not in own:  # variadic ints: view(2, 3)
            continue
        if shown.kind is not (_KEYWORD if parameter.keyword_only else _POSITIONAL):
            yield f"{parameter.name} is {shown.kind.description} in the function, the schema is {schema}"
        has_default = any(
            argument.python_name == parameter.name and argument.default is not None for argument in schema.arguments
        )
        if has_default is (shown.default is _MISSING):
            yield f"{parameter.name} has {'no' if has_default else 'a'} default in the function, the schema is {schema}"
        elif has_default and shown.default != parameter.default:
            yield f"{parameter.name} is {shown.default!r} by default, the schema is {schema}"
