"""Application of all rules to all entries in one pass."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TypeVar

from opdsl.errors import NativeYamlError
from opdsl.native.dump import dumps
from opdsl.native.entry import NativeFunction
from opdsl.native.known import TAGS
from opdsl.native.load import read_entries
from opdsl.native.rules.breach import EntryRule, fault_of, number
from opdsl.native.rules.corpus import Corpus
from opdsl.native.rules.entries import (
    DISPATCH_RULES,
    ENTRY_RULES,
    STRUCTURED_RULES,
    inv_20_foreach,
    inv_24,
    inv_28,
    inv_29,
    inv_30_kernels,
)
from opdsl.native.rules.generation import (
    GENERATION_RULES,
    GENERATION_RULES_ACROSS,
    GENERATION_RULES_OF_DISPATCH,
    GENERATION_RULES_OF_STRUCTURED,
    inv_53,
)
from opdsl.native.rules.unread import Unread
from opdsl.native.rules.variants import (
    VARIANT_RULES,
    inv_36,
    inv_38,
    inv_40_functional,
    inv_40_structured,
    inv_42,
    inv_43,
    inv_44,
)
from opdsl.native.rules.views import VIEW_RULES, inv_46, inv_47_tag, inv_48_pair, inv_48_tag
from opdsl.native.source import Fault, Source
from opdsl.native.values import MOST_FAULTS

Rule = TypeVar("Rule", bound=Callable[..., object])


def numbered(*rules: Rule) -> tuple[tuple[str, Rule], ...]:
    """Return rules with their numbers."""
    return tuple((number(rule), rule) for rule in rules)


SINGLE = numbered(*ENTRY_RULES, *GENERATION_RULES)
DISPATCHED = numbered(*DISPATCH_RULES, *GENERATION_RULES_OF_DISPATCH)
STRUCTURED = numbered(*STRUCTURED_RULES, *GENERATION_RULES_OF_STRUCTURED)
RULES = {
    (False, False): SINGLE,
    (True, False): SINGLE + DISPATCHED,
    (False, True): SINGLE + STRUCTURED,
    (True, True): SINGLE + DISPATCHED + STRUCTURED,
}
"""Rules for an entry, keyed by whether it has a dispatch table and whether it is structured or a delegate."""

ACROSS = numbered(*VARIANT_RULES, *VIEW_RULES, *GENERATION_RULES_ACROSS)


CONCLUDING_FROM_ABSENCE = frozenset(
    (
        inv_20_foreach,
        inv_24,
        inv_28,
        inv_29,
        inv_30_kernels,
        inv_36,
        inv_38,
        inv_40_functional,
        inv_40_structured,
        inv_42,
        inv_43,
        inv_44,
        inv_46,
        inv_47_tag,
        inv_48_tag,
        inv_48_pair,
        inv_53,
    )
)
"""Rules that report something as missing. It may be present in an entry that could not be read, so these rules are not
applied to incompletely read entries and their variants.
"""


def check(entries: Iterable[NativeFunction]) -> list[Fault]:
    r"""Return the faults of entries, alone and in combination with each other.

    Faults of entries of one text have locations in it; those of others have locations in the output of ``dumps``.

    Args:
        entries: read from a text, or constructed.

    >>> from opdsl.native import loads
    >>> [(fault.rule, fault.message) for fault in check(loads("- func: f(int x) -> int\n  variants: method"))]
    [('INV-49', 'f has no argument self, so it is no method')]
    """
    listed = tuple(entries)
    sources = {None if function.origin is None else function.origin.source for function in listed}
    if len(sources) == 1:
        [source] = sources
        if source is not None and all(
            function.origin is not None and function.origin.is_of(function) for function in listed
        ):
            return _faults(listed, source)
    return check_text(dumps(listed, verbatim=False), file="<made>")[0]


def check_text(text: str, *, file: str = "<string>", tags: Container[str] = TAGS) -> tuple[list[Fault], Source]:
    r"""Return the faults of a text in order, and the source to show them in.

    A text that is not valid YAML has one fault, at the first invalid position.

    Args:
        text: of a native_functions.yaml.
        file: the name used in locations.
        tags: the tags that entries may carry.

    >>> from opdsl.native import check_text
    >>> faults, source = check_text("- func: f(int x) -> int\n  variants: method")
    >>> print(faults[0].shown(source))
    <string>:2:13: f has no argument self, so it is no method [INV-49]
      variants: method
                ~~~~~^
    """
    try:
        entries, faults, source = read_entries(text, file=file, tags=tags)
    except NativeYamlError as error:
        return [fault for fault in error.faults if isinstance(fault, Fault)], Source(file, text)
    if len(faults) < MOST_FAULTS:
        faults += _faults(entries, source)
    return sorted(faults, key=lambda fault: fault.start), source


def _faults(entries: tuple[NativeFunction, ...], source: Source) -> list[Fault]:
    unread = Unread(source)
    faults = [
        fault_of(source, rule, breach)
        for entry in entries
        for rule, broken in rules_of(entry)
        for breach in broken(entry)
        if not (broken in CONCLUDING_FROM_ABSENCE and unread.has(breach.place.node))
    ]
    corpus = Corpus(entries)
    for rule, broken_together in ACROSS:
        breaches = broken_together(corpus)
        if broken_together in CONCLUDING_FROM_ABSENCE:
            breaches = (breach for breach in breaches if not unread.has_kin_of(breach))
        faults += [fault_of(source, rule, breach) for breach in breaches]
    return sorted(faults, key=lambda fault: fault.start)


def rules_of(entry: NativeFunction) -> tuple[tuple[str, EntryRule], ...]:
    """Return the rules that apply to an entry, with their numbers."""
    return RULES[entry.dispatch is not None, entry.is_structured]
