"""Conversion of former spellings of types and defaults to today's."""

from __future__ import annotations

from opdsl.native.dialects.draft import Draft
from opdsl.native.dialects.signature import Parameter
from opdsl.native.retired import CPP, FORMER_TYPES

ARRAY = "std::array<"

VALUES = {
    "true": ("True", CPP),
    "false": ("False", CPP),
    "nullptr": ("None", CPP),
    "nullopt": ("None", CPP),
    "c10::nullopt": ("None", "1.3.1"),
    "at::nullopt": ("None", CPP),
    "Reduction::None": ("0", CPP),
    "Reduction::Mean": ("Mean", CPP),
    "Reduction::ElementwiseMean": ("Mean", CPP),
    "Reduction::Sum": ("Sum", CPP),
    "MemoryFormat::Contiguous": ("contiguous_format", "1.3.1"),
    "MemoryFormat::Preserve": ("preserve_format", "1.3.1"),
}
"""Former defaults, each with its spelling today and the last release that had it."""

DTYPE = "at::k"
"""Prefix of dtype names in former defaults: ``at::kLong`` is ``long`` today."""

DTYPES = {
    **{name: name.lower() for name in ("Byte", "Char", "Short", "Int", "Long", "Half", "Float", "Double", "Bool")},
    "BFloat16": "bfloat16",
    "ComplexFloat": "complex_float",
    "ComplexDouble": "complex_double",
}


def respell(draft: Draft) -> None:
    """Rewrite the types and defaults of an entry to today's spelling."""
    assert draft.signature is not None, "asked of entries whose schema could be read"
    for parameter in draft.signature.parameters:
        respell_type(draft, parameter)
        if parameter.default is not None:
            respell_default(draft, parameter)


def respell_type(draft: Draft, parameter: Parameter) -> None:
    """Rewrite a type to today's spelling: ``IntList[2]`` becomes ``int[2]``."""
    base = parameter.base
    if base.startswith(ARRAY) and base.endswith(">"):
        element, _, size = base[len(ARRAY) : -1].partition(",")
        parameter.base, parameter.tail = element, f"[{size}]{parameter.tail}"
        draft.note(f"{base} is {parameter.type} today", CPP)
    elif base in FORMER_TYPES:
        former, (parameter.base, behind, until) = parameter.type, FORMER_TYPES[base]
        has_size = behind == "[]" and parameter.tail.startswith("[")
        is_repeated = behind == "?" and parameter.tail.startswith("?")
        parameter.tail = parameter.tail if has_size or is_repeated else behind + parameter.tail
        draft.note(f"{former} is {parameter.type} today", until)


def respell_default(draft: Draft, parameter: Parameter) -> None:
    """Rewrite a default to today's spelling: ``{0,1}`` becomes ``[0,1]``, and ``{}`` becomes ``None``, or ``[]`` for
    lists.
    """
    former = parameter.default
    assert former is not None, "asked of parameters with a default"
    until: str | None = CPP
    if former == "{}":
        parameter.default = "[]" if parameter.tail.endswith("]") else "None"
    elif former.startswith("{") and former.endswith("}"):
        elements = [part.strip() for part in former[1:-1].split(",")]
        parameter.default = f"[{','.join(elements)}]"
    elif former in VALUES:
        parameter.default, until = VALUES[former]
    elif former.lower() in ("true", "false") and former not in ("True", "False"):
        parameter.default = former.capitalize()
    elif former.startswith(DTYPE) and former[len(DTYPE) :] in DTYPES:
        parameter.default = DTYPES[former[len(DTYPE) :]]
    if parameter.default == "None" and not parameter.tail.endswith("?"):
        before = parameter.type
        parameter.tail += "?"
        draft.note(f"{before} {parameter.name} may be None, so it is {parameter.type} today", until)
    if parameter.default != former:
        draft.note(f"the default {former} is {parameter.default} today", until)
