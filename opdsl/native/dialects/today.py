"""Additions that only today's rules require and that follow from the entry: missing tags, kernels and ``autogen``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from opdsl.native.dialects.draft import Draft
from opdsl.native.entry import NativeFunction
from opdsl.native.generated import variants_made
from opdsl.native.known import COMPOSITE_EXPLICIT
from opdsl.native.rules.breach import EntryRule
from opdsl.native.rules.corpus import Corpus
from opdsl.native.rules.entries import SEEDED, inv_20_foreach, inv_21, inv_24, inv_28, inv_29
from opdsl.native.rules.generation import inv_53
from opdsl.native.rules.variants import inv_42
from opdsl.schema import OperatorName

Mend = Callable[[Draft, NativeFunction], None]


def _tag(draft: Draft, entry: NativeFunction) -> None:
    tags = (*entry.tags, SEEDED)
    draft.put("tags", SEEDED if len(tags) == 1 else f"[{', '.join(tags)}]")


def _kernel(draft: Draft, entry: NativeFunction) -> None:
    draft.put("dispatch", draft.block(COMPOSITE_EXPLICIT, str(entry.default_kernel)))


def _no_check(draft: Draft, entry: NativeFunction) -> None:
    draft.put("device_check", "NoCheck")


def _no_const_reference(draft: Draft, entry: NativeFunction) -> None:
    draft.drop("use_const_ref_for_mutable_tensors")


def _default_kernel(draft: Draft, entry: NativeFunction) -> None:
    if entry.kernels == dict.fromkeys(entry.kernels, entry.default_kernel):
        draft.drop("dispatch")


MENDS: tuple[tuple[EntryRule, Mend], ...] = (
    (inv_24, _tag),
    (inv_29, _kernel),
    (inv_20_foreach, _no_check),
    (inv_21, _no_const_reference),
)
"""Rules that determine the missing text, each with the function that writes it."""

MENDS_OF_DISPATCH: tuple[tuple[EntryRule, Mend], ...] = ((inv_28, _default_kernel),)


def mend(pairs: list[tuple[Draft, NativeFunction]]) -> None:
    """Write the keys and values that the rules require into entries."""
    for draft, entry in pairs:
        for rule, write in (*MENDS, *(MENDS_OF_DISPATCH if entry.dispatch is not None else ())):
            for breach in rule(entry):
                write(draft, entry)
                draft.note(f"{breach.message}: written")
    _generate_variants(pairs)


def _generate_variants(pairs: list[tuple[Draft, NativeFunction]]) -> None:
    """Write ``autogen`` for mutable entries without functional variant, and where names of generated operators
    changed.
    """
    corpus = Corpus(tuple(entry for _, entry in pairs))
    drafts = {id(entry): draft for draft, entry in pairs}
    lone = {breach.place.node.start.index for breach in inv_53(corpus)}
    misnamed = {breach.place.node.start.index for breach in inv_42(corpus)}
    for entry in corpus.entries:
        draft = drafts[id(entry)]
        places = {node.start.index for node in (draft.func, draft.nodes.get("autogen")) if node is not None}
        if not places & (lone | misnamed):
            continue
        names = list(_generated_names(entry, corpus))
        if names and not any(name.qualified in corpus.by_name for name in names):
            listed = ", ".join(map(str, names))
            draft.put("autogen", draft.scalar(listed))
            draft.note(f"{entry.name} writes, so variants that do not are generated: autogen: {listed}")


def _generated_names(entry: NativeFunction, corpus: Corpus) -> Iterator[OperatorName]:
    """Yield the names that ``autogen`` would generate."""
    variants = corpus.set_of.get(id(entry))
    asking = attrs.evolve(entry, autogen=(OperatorName(None, entry.name.functional_base, "out"),))
    if variants is not None and variants.kinds.get(entry.kind) is entry:
        yield from (function.name for function in variants_made({**variants.kinds, entry.kind: asking}))
