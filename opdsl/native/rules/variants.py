"""Rules INV-35 to INV-45, about the entries that are variants of one operator."""

from __future__ import annotations

from collections.abc import Iterator

from opdsl.native.entry import Delegate, NativeFunction, Structured
from opdsl.native.generated import is_exempt, is_left_alone
from opdsl.native.known import (
    COMPOSITE_IMPLICIT,
    COMPOSITE_IMPLICIT_NESTED,
    INPLACE_VIEWS_WITHOUT_BASE,
    LONE_OUT,
)
from opdsl.native.rules.breach import Breach, dispatch_key, item, name, part, value
from opdsl.native.rules.corpus import Corpus, CorpusRule, Variants
from opdsl.schema import GENERATED, OperatorName, SchemaKind


def inv_35(corpus: Corpus) -> Iterator[Breach]:
    """Check that each operator is declared once, so that it has one kernel for a dispatch key."""
    for entry, first in corpus.twins:
        yield Breach(f"{entry.name} is declared twice", name(entry), (name(first),))


def inv_36(corpus: Corpus) -> Iterator[Breach]:
    """Check that the entry that another delegates to exists and is structured."""
    for entry in corpus.entries:
        if not isinstance(entry.structure, Delegate):
            continue
        target = delegate_of(corpus, entry)
        place = value(entry, "structured_delegate")
        if target is None:
            yield Breach(f"{entry.name} delegates to {entry.structure.to}, which is not there", place)
        elif not isinstance(target.structure, Structured):
            message = f"{entry.name} delegates to {target.name}, which is not structured: add structured: True there"
            yield Breach(message, place, (name(target),))


def delegate_of(corpus: Corpus, entry: NativeFunction) -> NativeFunction | None:
    """Return the entry that another delegates to, in the same namespace, or None."""
    assert isinstance(entry.structure, Delegate), "asked of delegates only"
    return corpus.by_name.get(qualified(entry, entry.structure.to))


def qualified(entry: NativeFunction, other: OperatorName) -> str:
    """Return the qualified name of an operator that an entry refers to without a namespace."""
    return OperatorName(entry.name.namespace, other.base, other.overload).qualified


def inv_38(corpus: Corpus) -> Iterator[Breach]:
    """Check that an operator tagged ``inplace_view`` is in-place, and that the view itself exists."""
    for entry in corpus.entries:
        if "inplace_view" not in entry.tags or entry.name.base in INPLACE_VIEWS_WITHOUT_BASE:
            continue
        place = item(entry, "inplace_view", "tags")
        if not entry.name.is_inplace:
            yield Breach(f"{entry.name} is tagged inplace_view, so its name ends in an underscore", place)
            continue
        base = OperatorName(entry.name.namespace, entry.name.functional_base)
        if base.packet not in corpus.packets:
            yield Breach(f"{entry.name} is tagged inplace_view, but there is no {base} that gives the view", place)


def inv_39(corpus: Corpus) -> Iterator[Breach]:
    """Check that no two entries have the same signature and kind."""
    for entry, first in corpus.clashes:
        message = f"{entry.name} and {first.name} have one signature and are of one kind, {entry.kind}"
        yield Breach(message, name(entry), (name(first),))


def inv_40_functional(corpus: Corpus) -> Iterator[Breach]:
    """Check that several variants of an operator include the functional one."""
    for variants in corpus.sets.values():
        kinds = variants.kinds
        if (
            SchemaKind.functional in kinds
            or len(kinds) + len(variants.generated) < 2
            or variants.get(SchemaKind.functional) is not None
        ):
            continue
        first, *others = variants.members
        listed = " and ".join(str(member.name) for member in variants.members)
        message = f"{listed} are variants of one operator, whose functional variant is not there"
        yield Breach(message, name(first), tuple(name(function) for function in others))


def inv_40_namespaces(corpus: Corpus) -> Iterator[Breach]:
    """Check that the variants of one operator are in one namespace."""
    bare: dict[tuple[str, str], Variants] = {}
    if len({entry.name.namespace for entry in corpus.entries}) < 2:
        return
    for signature, variants in corpus.sets.items():
        text = str(signature)
        key = signature.name.base, text[text.index("(") :]
        other = bare.setdefault(key, variants)
        if other is variants or other.kinds.keys() & variants.kinds.keys():
            continue
        here, there = variants.members[0], other.members[0]
        message = f"{here.name} and {there.name} are variants of one operator in two namespaces"
        yield Breach(message, name(here), (name(there),))


def inv_40_structured(corpus: Corpus) -> Iterator[Breach]:
    """Check that all variants of an operator are structured, or none is."""
    for variants in corpus.sets.values():
        out = variants.get(SchemaKind.out)
        if out is None or variants.get(SchemaKind.functional) is None:
            continue
        is_structured = isinstance(out.structure, Structured)
        for member in (*variants.members, *variants.generated):
            if member is out or member.is_structured == is_structured or member.kind is SchemaKind.scratch:
                continue
            if member in variants.generated:
                yield Breach(
                    f"{out.name} is structured, so {member.name} needs an entry that delegates to it", name(out)
                )
            elif is_structured:
                message = f"{out.name} is structured, so {member.name} delegates to it: structured_delegate: {out.name}"
                yield Breach(message, name(member), (name(out),))
            elif isinstance(member.structure, Structured):
                yield Breach(f"{member.name} is structured, but {out.name} is not", name(member), (name(out),))
            else:
                message = f"{member.name} is a delegate, but its out variant {out.name} is not structured"
                yield Breach(message, name(member), (name(out),))


def inv_40_mutable(corpus: Corpus) -> Iterator[Breach]:
    """Check that the functional variant of a mutable operator is called ``x_functional``."""
    for variants in corpus.sets.values():
        mutable, functional = variants.kinds.get(SchemaKind.mutable), variants.kinds.get(SchemaKind.functional)
        if mutable is None or functional is None or variants.get(SchemaKind.out) is None:
            continue
        if not functional.name.is_functional_variant:
            message = f"the functional variant of {mutable.name} is called {mutable.name.base}_functional"
            yield Breach(message, name(functional), (name(mutable),))


def inv_41_composite(corpus: Corpus) -> Iterator[Breach]:
    """Check that a structured entry has no composite kernel."""
    for entry in corpus.entries:
        if not isinstance(entry.structure, Structured) or not entry.dispatch:
            continue
        for key in (COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED):
            if key in entry.kernels:
                yield Breach(f"{entry.name} is structured, so it has no {key} kernel", dispatch_key(entry, key))


def inv_41_delegates(corpus: Corpus) -> Iterator[Breach]:
    """Check that the variants of a structured operator delegate to its own out variant."""
    for entry in corpus.entries:
        target = delegate_of(corpus, entry) if isinstance(entry.structure, Delegate) else None
        variants = corpus.set_of.get(id(entry))
        if target is None or variants is None or not isinstance(target.structure, Structured):
            continue
        out = variants.kinds.get(SchemaKind.out)
        if out is target:
            continue
        message = f"{entry.name} delegates to {target.name}, whose signature is another"
        if out is not None:
            message = f"{entry.name} delegates to {target.name}, but its own out variant is {out.name}"
        yield Breach(message, value(entry, "structured_delegate"), (name(target if out is None else out),))


def inv_42(corpus: Corpus) -> Iterator[Breach]:
    """Check that ``autogen`` names exactly the operators that are generated."""
    for variants in corpus.sets.values():
        if not variants.is_group:
            continue
        names = [_bare(function.name) for function in variants.generated]
        named = [_bare(operator) for entry in variants.members for operator in entry.autogen]
        wrong = [
            (entry, operator)
            for entry in variants.members
            for operator in entry.autogen
            if _bare(operator) not in names
        ]
        for entry, operator in wrong:
            listed = ", ".join(names) or "nothing"
            message = f"{operator} is not generated beside {entry.name}; what is generated is {listed}"
            yield Breach(message, part(entry, str(operator), "autogen"))
        missing = [text for text in names if text not in named]
        if missing and not wrong:
            base = next((member for member in variants.members if member.autogen), variants.members[0])
            message = f"{' and '.join(missing)} would be generated beside {base.name}: add autogen: {', '.join(names)}"
            yield Breach(message, value(base, "autogen"))


def _bare(name: OperatorName) -> str:
    return f"{name.base}.{name.overload}" if name.overload else name.base


def inv_43(corpus: Corpus) -> Iterator[Breach]:
    """Check that ``autogen`` is given only where something is generated; composite operators may have it, as in
    PyTorch.
    """
    for variants in corpus.sets.values():
        if variants.generated or not any(member.autogen for member in variants.members):
            continue
        if variants.is_group and not is_exempt(variants.kinds):
            continue
        if all(COMPOSITE_IMPLICIT in member.kernels for member in variants.members):
            continue
        for entry in variants.members:
            if entry.autogen:
                yield Breach(f"nothing is generated beside {entry.name}: {_reason(variants)}", value(entry, "autogen"))


def _reason(variants: Variants) -> str:
    view = next((member for member in variants.members if member.is_view), None)
    if view is not None:
        return f"{view.name} is a view"
    if all(member.manual_cpp_binding for member in variants.members):
        return "it is bound by hand"
    return "it has no result to write to an out argument, or autogen names no out variant"


def inv_44(corpus: Corpus) -> Iterator[Breach]:
    """Check that an out variant has another variant."""
    for variants in corpus.sets.values():
        if variants.kinds.keys() != {SchemaKind.out} or is_exempt(variants.kinds):
            continue
        [entry] = variants.members
        if str(entry.name) not in LONE_OUT and is_left_alone(variants.kinds):
            message = f"{entry.name} has no other variant: none has the same arguments and returns"
            near = [function for function in corpus.packets.get(entry.name.packet, ()) if function is not entry]
            functional = [function for function in near if function.kind is SchemaKind.functional][:1]
            yield Breach(message, name(entry), tuple(name(function) for function in functional))


def inv_45_tag(corpus: Corpus) -> Iterator[Breach]:
    """Check that an entry is not tagged as generated."""
    for entry in corpus.entries:
        if GENERATED in entry.tags:
            message = f"{entry.name} has an entry, so it is not {GENERATED}: drop the tag"
            yield Breach(message, item(entry, GENERATED, "tags"))


def inv_45_name(corpus: Corpus) -> Iterator[Breach]:
    """Check that the names of generated operators are not taken."""
    for variants in corpus.sets.values():
        for function in variants.generated:
            taken = corpus.by_name.get(function.name.qualified)
            if taken is not None:
                message = f"{function.name} is generated beside {variants.members[0].name}, but has an entry"
                yield Breach(message, name(variants.members[0]), (name(taken),))


VARIANT_RULES: tuple[CorpusRule, ...] = (
    inv_35,
    inv_36,
    inv_38,
    inv_39,
    inv_40_functional,
    inv_40_namespaces,
    inv_40_structured,
    inv_40_mutable,
    inv_41_composite,
    inv_41_delegates,
    inv_42,
    inv_43,
    inv_44,
    inv_45_tag,
    inv_45_name,
)
"""Rules about the variants of one operator."""
