"""Names for unnamed overloads: operators with one name that differed only in their arguments.

An overload is named after the arguments that the others do not have: ``sum.dim``, ``add.Scalar``. An in-place operator
has the overload name of its functional variant, and an out variant has it with ``_out`` appended. The names do not
depend on the order of the file, and existing names are kept.
"""

from __future__ import annotations

from collections.abc import Iterable

from opdsl.native.dialects.draft import Draft
from opdsl.native.dialects.signature import Parameter, Signature
from opdsl.schema import OperatorName

WORDS = {"int[]": "IntList", "Tensor[]": "TensorList", "float[]": "FloatList", "Dimname[]": "names"}
"""Words for list types in the names of overloads."""

OPTIONS = ("dtype", "layout", "device", "pin_memory")

Key = tuple[tuple[str, str], ...]


def name_overloads(drafts: Iterable[Draft], last: str) -> None:
    """Name overloads in all packets where the names of operators are not unique.

    last: the last release of PyTorch that had overloads without names.
    """
    packets: dict[str, list[Draft]] = {}
    for draft in drafts:
        if draft.signature is not None:
            packets.setdefault(_functional_base(draft.signature), []).append(draft)
    for members in packets.values():
        names = [
            (member.signature.name, member.signature.overload) for member in members if member.signature is not None
        ]
        if len(set(names)) < len(names) or _has_unnamed_out(members):
            _name_packet(members, last)


def _has_unnamed_out(members: list[Draft]) -> bool:
    return any(
        member.signature is not None and member.signature.out and not member.signature.overload for member in members
    )


class Taken:
    """Set of names in use, as (name, overload) pairs."""

    def __init__(self, signatures: Iterable[Signature] = ()) -> None:
        self._pairs = {(signature.name, signature.overload) for signature in signatures}
        self._numbers: dict[tuple[str, str], int] = {}

    def __contains__(self, pair: tuple[str, str]) -> bool:
        return pair in self._pairs

    def take(self, name: str, overload: str) -> str:
        """Reserve an overload name and return it, with a number appended if it is in use already."""
        joined, number = overload, self._numbers.get((name, overload), 1)
        while (name, joined) in self._pairs:
            number += 1
            joined = _joined(overload, str(number))
        self._numbers[name, overload] = number
        self._pairs.add((name, joined))
        return joined


def _name_packet(members: list[Draft], last: str) -> None:
    """Name the overloads of one packet."""
    kinds: dict[str, list[Signature]] = {"": [], "inplace": [], "out": []}
    drafts: dict[int, Draft] = {}
    for draft in members:
        if draft.signature is not None:
            drafts[id(draft.signature)] = draft
            kinds[_kind(draft.signature)].append(draft.signature)
    taken = Taken(signature for signatures in kinds.values() for signature in signatures if signature.is_named)
    chosen = _names(kinds[""], taken)
    by_arguments = {_key(signature): chosen[id(signature)] for signature in reversed(kinds[""])}
    for kind, suffix in (("inplace", ""), ("out", "out")):
        named = _names([signature for signature in kinds[kind] if _key(signature) not in by_arguments], Taken())
        for signature in kinds[kind]:
            name = by_arguments.get(_key(signature), named.get(id(signature), ""))
            chosen[id(signature)] = (
                signature.overload if signature.is_named else taken.take(signature.name, _joined(name, suffix))
            )
    for signature in (one for signatures in kinds.values() for one in signatures):
        _rename(drafts[id(signature)], signature, chosen[id(signature)], last)


def _rename(draft: Draft, signature: Signature, overload: str, last: str) -> None:
    if overload != signature.overload:
        signature.overload = overload
        draft.note(f"an overload of {signature.name} without a name of its own is {signature.name}.{overload}", last)


def _names(signatures: list[Signature], taken: Taken) -> dict[int, str]:
    """Return names for unnamed overloads, by the arguments that distinguish them from the others."""
    keys = [_key(signature) for signature in signatures]
    common = set(keys[0]).intersection(*keys) if keys else set()
    types: dict[str, set[str]] = {}
    for name, type in (pair for key in keys for pair in key):
        types.setdefault(name, set()).add(type)
    words = {
        id(signature): [_word(*pair, types) for pair in key if pair not in common]
        for signature, key in zip(signatures, keys, strict=True)
    }
    overloads = {id(signature): signature.overload for signature in signatures}
    for signature in sorted(signatures, key=lambda one: (len(words[id(one)]), words[id(one)], str(one))):
        if not signature.is_named:
            listed = words[id(signature)]
            names = ["_".join(listed[:count]) for count in range(min(1, len(listed)), len(listed) + 1)]
            names += [_joined(names[-1], OPTIONS[0])] if _has_options(signature) else []
            name = next((one for one in names if (signature.name, one) not in taken), names[-1])
            overloads[id(signature)] = taken.take(signature.name, name)
    return overloads


def _word(name: str, type: str, types: dict[str, set[str]]) -> str:
    """Return the part of an overload name for an argument: its type if others have another type for it, else its
    name.
    """
    if len(types[name]) == 1:
        return name
    plain = type.rstrip("?")
    unsized = f"{plain[: plain.find('[')]}[]" if plain.endswith("]") else plain
    return WORDS.get(unsized, "".join(character for character in plain if character.isalnum()))


def _joined(first: str, second: str) -> str:
    return "_".join(text for text in (first, second) if text)


def _key(signature: Signature) -> Key:
    """Return the arguments that distinguish overloads: all but out arguments and TensorOptions."""
    return tuple(
        (parameter.name, parameter.type) for parameter in signature.arguments if not _is_shared(parameter, signature)
    )


def _is_shared(parameter: Parameter, signature: Signature) -> bool:
    is_option = parameter.name in OPTIONS and _has_options(signature)
    return is_option or (parameter.is_written and parameter in signature.keyword_only)


def _has_options(signature: Signature) -> bool:
    return set(OPTIONS) <= {parameter.name for parameter in signature.keyword_only}


def _kind(signature: Signature) -> str:
    if OperatorName(None, signature.name).is_inplace:
        return "inplace"
    return "out" if signature.out else ""


def _functional_base(signature: Signature) -> str:
    return OperatorName(None, signature.name).functional_base
