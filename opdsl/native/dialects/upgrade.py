"""Functions that detect the dialect of an older text, rewrite it into today's form, and load it."""

from __future__ import annotations

from collections.abc import Container, Iterable

import attrs

from opdsl.collecting import without_collecting
from opdsl.errors import SchemaError
from opdsl.native.dialects.detection import dialect_of_drafts, oldest_thing
from opdsl.native.dialects.dialect import DETECT, TODAY, Dialect, dialect_of
from opdsl.native.dialects.draft import Change, Draft
from opdsl.native.dialects.edits import Rewriting, moved_back
from opdsl.native.dialects.keys import rewrite_keys, write_default_variants
from opdsl.native.dialects.options import spread_options
from opdsl.native.dialects.overloads import name_overloads
from opdsl.native.dialects.signature import parse_signature
from opdsl.native.dialects.spellings import respell
from opdsl.native.dialects.today import mend
from opdsl.native.dialects.writes import annotate
from opdsl.native.entry import NativeFunction
from opdsl.native.known import TAGS
from opdsl.native.load import entries_of, error_of, read_today
from opdsl.native.nodes import read_nodes
from opdsl.native.retired import CPP, RETIRED_DISPATCH_KEYS, RETIRED_KEYS, RETIRED_TYPES
from opdsl.native.rules import check_text
from opdsl.native.source import Fault, Mapping, Node, Scalar, Sequence, Source
from opdsl.native.values import Reading

UNNAMED_OVERLOADS = "1.3.1"
"""Last release in which overloads had no names."""


@attrs.frozen
class Upgrade:
    """Text rewritten into today's form, with its changes and remaining faults.

    dialect: the form that the text had.
    text: the rewritten text.
    changes: the changes, with locations in the original text.
    source: the rewritten text, with the name used in faults.
    faults: violations of today's rules in it, which a person has to fix.

    >>> from opdsl.native import detect, upgrade
    >>> upgrade("- func: relu(Tensor self) -> Tensor").faults
    ()
    """

    dialect: Dialect
    text: str
    changes: tuple[Change, ...]
    source: Source
    faults: tuple[Fault, ...]

    @property
    def needs_person(self) -> bool:
        """Return whether anything is left for a person to do."""
        return bool(self.faults) or any(change.needs_person for change in self.changes)


@without_collecting()
def upgrade(
    text: str,
    *,
    file: str = "<string>",
    to: str | None = None,
    dialect: str = DETECT,
    tags: Container[str] = TAGS,
) -> Upgrade:
    r"""Rewrite the text of a native_functions.yaml of any age into today's form.

    Comments and the order of entries are kept, and entries in today's form are not changed.

    file: the name used in locations of the original text.
    to: the name used in locations of the rewritten text; ``file`` by default.
    dialect: the release of PyTorch that the file belongs to, or ``detect``.
    tags: the tags that entries may carry.

    Raises NativeYamlError for invalid YAML, DialectError if there is no such release.

    Args:
        text: of the file.

    Returns:
        The text in today's form, the changes, and the remaining faults.

    >>> done = upgrade("- func: abs_out(Tensor result, Tensor self) -> Tensor")
    >>> print(done.text, done.dialect, sep="\n")
    - func: abs.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
    PyTorch 0.4 to 0.4.1
    """
    work = _Work(text, file, dialect)
    faults, source = check_text(work.text, file=to or file, tags=tags)
    return Upgrade(work.dialect, work.text, tuple(work.changes), source, tuple(faults))


def detect(text: str, *, file: str = "<string>") -> tuple[Dialect, Change | None]:
    """Return the dialect of a text, and the change of its oldest feature, which determines the dialect.

    Raises NativeYamlError for invalid YAML.

    Args:
        text: of a native_functions.yaml.
        file: the name used in locations.

    >>> from opdsl.native import detect, upgrade
    >>> dialect, change = detect("- func: relu(Tensor self) -> Tensor")
    >>> dialect.last is None, change is None
    (True, True)
    """
    drafts = _drafts(Source(file, text), read_nodes(Source(file, text)))
    _rewrite(drafts)
    return dialect_of_drafts(drafts), oldest_thing(drafts)


@without_collecting()
def load_older(
    text: str, *, file: str = "<string>", dialect: str = DETECT, tags: Container[str] = TAGS
) -> tuple[NativeFunction, ...]:
    """Return the entries of a text of any age in today's form; their locations refer to the given text.

    Rules between entries, and rules of readable schemas, are left to ``check``. Former types without a replacement are
    kept.

    Raises NativeYamlError if entries cannot be read, DialectError if there is no such release.
    """
    work = _Work(text, file, dialect)
    if work.dialect is TODAY:
        return read_today(text, file=file, tags=tags)
    source = Source(file, text)
    document = read_nodes(Source(file, work.text))
    for rewriting in reversed(work.rewritings):
        document = None if document is None else moved_back(document, rewriting)
    reading = OlderReading(source, tags)
    entries = entries_of(reading, document)
    if reading.faults:
        raise error_of(source, reading.faults)
    for entry in entries:
        if entry.origin is not None and entry.origin.mapping.start.index in work.rewritten:
            entry.origin.was_rewritten()
    return entries


class OlderReading(Reading):
    """State of reading an older text: accepts former features, and leaves violated rules to ``check``."""

    __slots__ = ()

    def __init__(self, source: Source, tags: Container[str]) -> None:
        super().__init__(source, tags)
        self.former_types = frozenset(RETIRED_TYPES)

    def fault(self, rule: str, message: str, node: Node, start: int = 0, end: int | None = None) -> None:
        """Record a fault, unless it is about a former feature."""
        names = [part.strip() for part in node.text.split(",")] if isinstance(node, Scalar) else []
        if not any(name in RETIRED_KEYS or name in RETIRED_DISPATCH_KEYS for name in names):
            super().fault(rule, message, node, start, end)

    def violation(self, rule: str, message: str, node: Node, start: int, end: int) -> None:
        """Do nothing: a readable schema that violates a rule is accepted."""


class _Work:
    """Conversion of a text to today's form, step by step.

    rewritten: the start indices of entries that were changed.
    """

    def __init__(self, text: str, file: str, dialect: str) -> None:
        source = Source(file, text)
        drafts = _drafts(source, read_nodes(source))
        _rewrite(drafts)
        self.dialect = dialect_of_drafts(drafts) if dialect == DETECT else dialect_of(dialect)
        if self.dialect.has_unnamed_overloads:
            name_overloads(drafts, UNNAMED_OVERLOADS)
        if self.dialect.is_method_by_default:
            for draft in drafts:
                write_default_variants(draft)
        _note_spaces(drafts)
        first = Rewriting(text, [edit for draft in drafts for edit in draft.edits()])
        self.rewritings = [first]
        self.rewritten = {draft.mapping.start.index for draft in drafts if draft.changes}
        self.changes = [change for draft in drafts for change in draft.changes.values()]
        if self.dialect is not TODAY:
            self._mend(file)
        self.text = self.rewritings[-1].after
        self.changes.sort(key=lambda change: change.location[1:])

    def _mend(self, file: str) -> None:
        """Add the values that today's rules require to the text that the first step produced."""
        first = self.rewritings[0]
        source = Source(file, first.after)
        document = read_nodes(source)
        drafts = {id(draft.mapping): draft for draft in _drafts(source, document)}
        entries = entries_of(OlderReading(source, TAGS), document)
        pairs = [(drafts.get(id(entry.origin.mapping)), entry) for entry in entries if entry.origin is not None]
        mend([(draft, entry) for draft, entry in pairs if draft is not None])
        self.rewritings.append(Rewriting(first.after, [edit for draft in drafts.values() for edit in draft.edits()]))
        for draft in drafts.values():
            if draft.changes:
                begin = draft.mapping.start.index
                self.rewritten.add(first.place_before(begin))
                place = first.location_before(file, begin)
                self.changes += [attrs.evolve(change, location=place) for change in draft.changes.values()]


def _drafts(source: Source, document: Node | None) -> list[Draft]:
    """Return the entries of a document, with their schemas parsed where possible."""
    drafts = []
    items = document.items if isinstance(document, Sequence) else []
    is_flow = isinstance(document, Sequence) and source.text.startswith("[", document.start.index)
    for node in items:
        if isinstance(node, Mapping):
            is_braced = source.text.startswith("{", node.start.index)
            if is_braced or not is_flow:
                drafts.append(_draft(source, node, is_braced))
    return drafts


def _draft(source: Source, node: Mapping, is_flow: bool) -> Draft:
    draft = Draft(source, node, is_flow)
    for key, value in node.pairs:
        if value is not draft.nodes[key.text]:
            draft.note(f"the key {key.text} was given twice, and the last one counted", CPP, at=key)
    func = draft.func
    if func is not None:
        try:
            draft.signature = parse_signature(func.text)
        except SchemaError:
            draft.signature = None
    return draft


def _rewrite(drafts: Iterable[Draft]) -> None:
    """Rewrite each entry by itself."""
    for draft in drafts:
        rewrite_keys(draft)
        signature = draft.signature
        if signature is not None:
            spread_options(draft)
            respell(draft)
            _say_returns(draft)
            annotate(draft)


def _say_returns(draft: Draft) -> None:
    signature, func = draft.signature, draft.func
    assert signature is not None and func is not None, "asked of entries whose schema could be read"
    if signature.returns is None:
        signature.returns = []
        draft.note("returns that were not said are -> () today", "0.4.1")
    elif not signature.returns and func.text.rstrip().endswith("void"):
        draft.note("-> void is -> () today", "1.3.1")


def _note_spaces(drafts: Iterable[Draft]) -> None:
    """Record changes for schemas that differ from today's form only in spaces."""
    for draft in drafts:
        signature, func = draft.signature, draft.func
        if signature is not None and func is not None and str(signature) != func.text and not draft.changes:
            draft.note("spaces and parentheses stand as the schema grammar has them")
