"""Conversion of alias annotations: writes that only a name implied, shorthands, and misplaced annotations."""

from __future__ import annotations

from opdsl.native.dialects.draft import Draft
from opdsl.native.dialects.signature import Parameter, Signature
from opdsl.native.retired import CPP
from opdsl.schema import OperatorName

OUT = "_out"
TENSOR = "Tensor"
SHORTHAND = "Tensor!"

RESULT = "result"
"""Former name of out arguments, alone or followed by a number; it is ``out`` today."""


def annotate(draft: Draft) -> None:
    """Rewrite an entry's annotations to today's form."""
    signature = draft.signature
    assert signature is not None, "asked of entries whose schema could be read"
    _move_behind_tensor(draft, signature)
    _spell_shorthand(draft, signature)
    if signature.name.endswith(OUT) and not signature.overload and not signature.out:
        _move_out_arguments(draft, signature)
    elif OperatorName(None, signature.name).is_inplace:
        _annotate_self(draft, signature)


def _move_behind_tensor(draft: Draft, signature: Signature) -> None:
    """Record that ``Tensor?(a!)`` becomes ``Tensor(a!)?``, which parsing has done already."""
    text = draft.func.text if draft.func is not None else ""
    for parameter in signature.parameters:
        if (
            parameter.alias is not None
            and parameter.tail
            and f"{parameter.type}(" in text[parameter.start : parameter.end]
        ):
            draft.note(
                f"{parameter.type}({parameter.alias}) is {parameter.base}({parameter.alias}){parameter.tail} today",
                "1.3.1",
            )


def _spell_shorthand(draft: Draft, signature: Signature) -> None:
    """Replace ``Tensor!`` by its own alias set; a returned one belongs to the out argument, or to a written
    argument.
    """
    arguments = [parameter for parameter in signature.arguments if parameter.base == SHORTHAND]
    if not arguments:
        return
    for argument, letter in zip(arguments, signature.free_letters(), strict=False):
        argument.base, argument.alias = TENSOR, f"{letter}!"
        draft.note(f"Tensor! {argument.name} is {TENSOR}({argument.alias}) {argument.name} today", "2.12.1")
    returned = [parameter for parameter in signature.returns or () if parameter.base == SHORTHAND]
    written = sorted(arguments, key=lambda parameter: parameter not in signature.out)
    for value, argument in zip(returned, written, strict=False):
        value.base, value.alias = TENSOR, argument.alias


def _annotate_self(draft: Draft, signature: Signature) -> None:
    """Annotate ``self`` and the return of an in-place operator such as ``abs_(Tensor self) -> Tensor``."""
    own = next((argument for argument in signature.positional if argument.name == "self"), None)
    if own is None or own.alias is not None or own.base != TENSOR:
        return
    own.alias = f"{signature.free_letters()[0]}!"
    for parameter in (signature.returns or [])[:1]:
        if parameter.alias is None and parameter.type == own.type:
            parameter.alias = own.alias
    draft.note(f"the name {signature.name} tells that self is written: {own}", CPP)


def _move_out_arguments(draft: Draft, signature: Signature) -> None:
    """Convert ``abs_out(Tensor result, Tensor self) -> Tensor`` to an overload of ``abs`` whose out arguments come
    last.
    """
    returns = signature.returns or []
    out = signature.positional[: len(returns)]
    if not out or len(out) < len(returns) or any(parameter.base != TENSOR for parameter in (*out, *returns)):
        return
    former = f"{signature.name}({', '.join(map(str, out))}, ...)"
    del signature.positional[: len(returns)]
    for argument, value, letter in zip(out, returns, signature.free_letters(), strict=False):
        argument.alias = value.alias = f"{letter}!"
        _name_out(argument, signature)
    signature.keyword_only += out
    signature.name = signature.name.removesuffix(OUT)
    signature.overload = "out"
    draft.note(f"{former} is {signature.name}.out(..., *, {', '.join(map(str, out))}) today", CPP)
    if draft.has("variants") and draft.text("variants") != "function":
        draft.put("variants", "function")


def _name_out(argument: Parameter, signature: Signature) -> None:
    """Rename ``result`` and ``result0`` to ``out`` and ``out0``, unless another argument has that name."""
    number = argument.name.removeprefix(RESULT)
    name = f"out{number}"
    is_by_rule = argument.name == f"{RESULT}{number}" and (not number or number.isdigit())
    if is_by_rule and all(parameter.name != name for parameter in signature.arguments):
        argument.name = name
