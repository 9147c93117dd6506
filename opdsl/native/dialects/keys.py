"""Conversion of an entry's keys to today's form: variants, kernels without a dispatch key, and former keys."""

from __future__ import annotations

from opdsl.native.dialects.draft import Draft
from opdsl.native.dialects.options import BASES
from opdsl.native.dialects.signature import Parameter
from opdsl.native.known import COMPOSITE_EXPLICIT
from opdsl.native.retired import CPP, RENAMED_DISPATCH_KEYS, RETIRED_DISPATCH_KEYS, RETIRED_KEYS
from opdsl.native.source import Mapping, Scalar, Sequence

BOTH = "function, method"


def rewrite_keys(draft: Draft) -> None:
    """Rewrite an entry's keys to today's form, after its ``func`` has been parsed."""
    _take_returns(draft)
    _take_defaults(draft)
    _join_variants(draft)
    _rewrite_dispatch(draft)
    for key, retired in RETIRED_KEYS.items():
        if draft.has(key) and key != "python_default_init":
            draft.drop(key)
            if key != "return":
                draft.note(
                    f"{key} is dropped: it {retired}",
                    retired.until or None,
                    at=draft.nodes[key],
                    needs_person=retired.is_lost,
                )


def write_default_variants(draft: Draft) -> None:
    """Write ``variants`` into an entry without it, which was a method as well in this dialect."""
    signature = draft.signature
    if signature is not None and not draft.has("variants") and signature.has_self and not signature.out:
        draft.put("variants", BOTH)
        draft.note("an entry without variants was a function and a method: variants: function, method", "0.4.1")


def _take_returns(draft: Draft) -> None:
    """Move ``return: [{type: Tensor, name: grid}]`` into ``func``, replacing the returns there."""
    node, signature = draft.nodes.get("return"), draft.signature
    if not isinstance(node, Sequence) or signature is None:
        return
    parameters = []
    for item in node.items:
        values = {key.text: value for key, value in item.pairs} if isinstance(item, Mapping) else {}
        type, name = values.get("type"), values.get("name")
        if not isinstance(type, Scalar) or not isinstance(name, Scalar | None):
            return
        parameters.append(Parameter(type.text, "", None, "" if name is None else name.text))
    signature.returns = parameters
    written = str(signature).rpartition(" -> ")[2]
    draft.note(f"the key return belongs into func: -> {written}", "0.4.1", at=node)


def _take_defaults(draft: Draft) -> None:
    """Move ``python_default_init: {p: 2}``, a default that C++ does not have, into ``func`` and
    ``cpp_no_default_args``.
    """
    node, signature = draft.nodes.get("python_default_init"), draft.signature
    if not isinstance(node, Mapping) or signature is None:
        return
    taken: list[str] = []
    for index, (key, value) in enumerate(node.pairs):
        parameter = next((argument for argument in signature.arguments if argument.name == key.text), None)
        text = value.text if isinstance(value, Scalar) else ""
        if parameter is not None and _take_default(draft, parameter, text):
            taken.append(key.text)
            if len(node.pairs) > 1:
                draft.drop_pair(node, index)
    if len(taken) == len(node.pairs):
        draft.drop("python_default_init")
    options = {argument.name for argument in signature.arguments if argument.base in BASES}
    values = [name for name in taken if name not in options]
    if values:
        draft.put("cpp_no_default_args", f"[{', '.join(values)}]")


def _take_default(draft: Draft, argument: Parameter, text: str) -> bool:
    """Write one default into the schema, if it is a literal and all arguments after it have defaults."""
    signature = draft.signature
    assert signature is not None, "asked of entries whose schema could be read"
    if argument.base in BASES and text == "self.type()":
        argument.default = "{}"
        draft.note(f"the default {text} of {argument.name} is that of self, which None says", CPP)
        return True
    index = signature.arguments.index(argument)
    behind = signature.positional[index + 1 :]
    is_value = text in ("true", "false", "True", "False") or text.lstrip("-").replace(".", "0", 1).isdigit()
    if not is_value or any(parameter.default is None for parameter in behind):
        return False
    argument.default = text
    draft.note(f"a default of python_default_init belongs into func: {argument}, and into cpp_no_default_args", CPP)
    return True


def _join_variants(draft: Draft) -> None:
    """Convert a list of ``variants`` to one text; an empty list means a function."""
    node = draft.nodes.get("variants")
    if not isinstance(node, Sequence):
        return
    names = [item.text for item in node.items if isinstance(item, Scalar)]
    written = ", ".join(sorted(names)) or "function"
    draft.put("variants", written)
    draft.note(f"variants are one text: variants: {written}", "0.4.1", at=node)


def _rewrite_dispatch(draft: Draft) -> None:
    node = draft.nodes.get("dispatch")
    if isinstance(node, Scalar) and node.text:
        draft.put("dispatch", draft.block(COMPOSITE_EXPLICIT, node.text))
        draft.note(f"{node.text} was the kernel of every backend: {COMPOSITE_EXPLICIT}: {node.text}", CPP, at=node)
    elif isinstance(node, Mapping):
        kept = [key for key, _ in node.pairs if not _is_retired(key)]
        for index, (key, _) in enumerate(node.pairs):
            _rewrite_dispatch_keys(draft, node, index, key, is_only=not kept)


def _is_retired(key: Scalar) -> bool:
    return all(part.strip() in RETIRED_DISPATCH_KEYS for part in key.text.split(","))


def _rewrite_dispatch_keys(draft: Draft, node: Mapping, index: int, key: Scalar, *, is_only: bool) -> None:
    """Rename the keys in one line of ``dispatch`` to today's names, and remove former ones."""
    names = [part.strip() for part in key.text.split(",")]
    kept = []
    for name in names:
        new, until = RENAMED_DISPATCH_KEYS.get(name, (name, ""))
        retired = RETIRED_DISPATCH_KEYS.get(name)
        if retired is not None and not is_only:
            message = f"the kernel of {name} is dropped: that key {retired}"
            draft.note(message, retired.until or None, at=key, needs_person=retired.is_lost)
            continue
        if until:
            draft.note(f"the dispatch key {name} is {new} today", until, at=key)
        kept.append(new)
    if not kept:
        draft.drop_pair(node, index)
    elif kept != names:
        draft.replace(key.start.index, key.end.index, ", ".join(kept))
