"""Conversion of ``TensorOptions options`` and ``Type dtype`` to the four keyword-only arguments of today."""

from __future__ import annotations

from opdsl.native.dialects.draft import Draft
from opdsl.native.dialects.signature import Parameter, Signature
from opdsl.native.retired import CPP

BASES = ("TensorOptions", "Type")

ARGUMENTS = (("ScalarType", "dtype"), ("Layout", "layout"), ("Device", "device"), ("bool", "pin_memory"))


def spread_options(draft: Draft) -> None:
    """Replace options by the arguments that they denote."""
    signature = draft.signature
    assert signature is not None, "asked of entries whose schema could be read"
    for options in [parameter for parameter in signature.arguments if parameter.base in BASES and not parameter.tail]:
        _place(signature, options, _spread(options))
        until = "0.4.1" if options.base == "Type" else CPP
        draft.note(f"{options} is dtype, layout, device and pin_memory today, all keyword-only", until)


def _spread(options: Parameter) -> list[Parameter]:
    """Return the four arguments; they are required if the options were."""
    tail: str
    values: tuple[str | None, ...]
    if options.default is None:
        tail, values = "", (None, None, None, "False")
    else:
        dtype = "None" if options.default in ("{}", "None") else options.default
        tail, values = "?", (dtype, "None", "None", "None")
    return [Parameter(type, tail, None, name, value) for (type, name), value in zip(ARGUMENTS, values, strict=True)]


def _place(signature: Signature, options: Parameter, spread: list[Parameter]) -> None:
    """Replace an argument by keyword-only ones; positional arguments after it become keyword-only, too, if all have
    defaults.
    """
    if options in signature.keyword_only:
        place = _index(signature.keyword_only, options)
        signature.keyword_only[place : place + 1] = spread
        return
    place = _index(signature.positional, options)
    behind = signature.positional[place + 1 :]
    stay = [] if all(parameter.default is not None for parameter in behind) else behind
    follow = [] if stay else behind
    signature.positional[place:] = stay
    signature.keyword_only[:0] = [*spread, *follow]


def _index(parameters: list[Parameter], one: Parameter) -> int:
    return next(index for index, parameter in enumerate(parameters) if parameter is one)
