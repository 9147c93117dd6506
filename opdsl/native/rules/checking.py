"""All rules over all entries, every fault in one pass."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from typing import TypeVar

from opdsl.errors import NativeYamlError, SchemaError
from opdsl.native.dump import dumps
from opdsl.native.entry import NativeFunction
from opdsl.native.known import TAGS
from opdsl.native.load import MOST_FAULTS, read_entries
from opdsl.native.rules.breach import EntryRule, fault_of, number
from opdsl.native.rules.corpus import Corpus
from opdsl.native.rules.entries import DISPATCH_RULES, ENTRY_RULES, STRUCTURED_RULES
from opdsl.native.rules.generation import (
    GENERATION_RULES,
    GENERATION_RULES_ACROSS,
    GENERATION_RULES_OF_DISPATCH,
    GENERATION_RULES_OF_STRUCTURED,
)
from opdsl.native.rules.variants import VARIANT_RULES
from opdsl.native.rules.views import VIEW_RULES
from opdsl.native.source import Fault, Mapping, Scalar, Source
from opdsl.schema import parse_operator_name

Rule = TypeVar("Rule", bound=Callable[..., object])


def numbered(*rules: Rule) -> tuple[tuple[str, Rule], ...]:
    """Rules with their numbers."""
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
"""The rules of an entry, by whether it has a dispatch table and whether it is structured or a delegate."""

ACROSS = numbered(*VARIANT_RULES, *VIEW_RULES, *GENERATION_RULES_ACROSS)


def check(entries: Iterable[NativeFunction]) -> list[Fault]:
    """The faults of entries that were read or made: what each breaks, and what they break together.

    Entries of one text are shown in it; others are shown as ``dumps`` writes them.

    >>> from opdsl.native import loads
    >>> [(fault.rule, fault.message) for fault in check(loads("- func: f(int x) -> int\\n  variants: method"))]
    [('INV-49', 'f has no argument self, so it is no method')]
    """
    listed = tuple(entries)
    sources = {None if each.origin is None else each.origin.source for each in listed}
    if len(sources) == 1:
        [source] = sources
        if source is not None and all(each.origin is not None and each.origin.is_of(each) for each in listed):
            return _faults(listed, source, frozenset())
    return check_text(dumps(listed, verbatim=False), file="<made>")[0]


def check_text(text: str, *, file: str = "<string>", tags: Container[str] = TAGS) -> tuple[list[Fault], Source]:
    """The faults of a text in the order of the text, and the source to show them in.

    A text that is no YAML has one fault, where it stops being YAML.
    """
    try:
        entries, faults, source = read_entries(text, file=file, tags=tags)
    except NativeYamlError as error:
        return [each for each in error.faults if isinstance(each, Fault)], Source(file, text)
    if len(faults) < MOST_FAULTS:
        faults += _faults(entries, source, unread_names(entries, source))
    return sorted(faults, key=lambda fault: fault.start), source


def _faults(entries: tuple[NativeFunction, ...], source: Source, unread: frozenset[str]) -> list[Fault]:
    found = [
        fault_of(source, rule, breach)
        for entry in entries
        for rule, broken in rules_of(entry)
        for breach in broken(entry)
    ]
    corpus = Corpus(entries, unread)
    for rule, broken_together in ACROSS:
        found += [fault_of(source, rule, breach) for breach in broken_together(corpus)]
    return sorted(found, key=lambda fault: fault.start)


def rules_of(entry: NativeFunction) -> tuple[tuple[str, EntryRule], ...]:
    """The rules that say something about an entry, with their numbers."""
    return RULES[entry.dispatch is not None, entry.is_structured]


def unread_names(entries: Iterable[NativeFunction], source: Source) -> frozenset[str]:
    """The names of entries whose schemas could not be read, where at least the name could be."""
    read = {id(entry.origin.mapping) for entry in entries if entry.origin is not None}
    found = set()
    for node in source.entries:
        if isinstance(node, Mapping) and id(node) not in read:
            texts = [value.text for key, value in node.pairs if key.text == "func" and isinstance(value, Scalar)]
            try:
                found |= {parse_operator_name(text.partition("(")[0]).qualified for text in texts}
            except SchemaError:
                continue
    return frozenset(found)
