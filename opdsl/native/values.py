"""Readers of the values of an entry's keys, which record faults with their locations."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache
from typing import TypeVar

from opdsl.errors import SchemaError
from opdsl.native.entry import (
    MOST_KERNEL_NAMESPACES,
    DeviceCheck,
    DispatchEntry,
    Kernel,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
)
from opdsl.native.known import DISPATCH_KEYS, DTYPE_CLASSES, DTYPES, TAGS
from opdsl.native.retired import former_dispatch_key, former_type
from opdsl.native.source import Fault, Mapping, Node, Scalar, Sequence, Source, fault_at
from opdsl.schema import Argument, OperatorName, Precomputed, examine_schema, parse_argument, parse_operator_name

MOST_FAULTS = 10_000
"""Number of faults after which no more are recorded: the file is of another kind."""

MOST_GUESSES = 100
LONGEST_GUESS = 64
"""Longest name, and above it the largest number of faults, for which a similar known name is searched; the search is
slow.
"""

BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
"""Texts that YAML 1.1 reads as booleans, as torchgen's loader does."""

NOT_TEXT = (
    r"~|null|Null|NULL||[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)(?::[0-5]?[0-9])*|[-+]?0x[0-9a-fA-F_]+"
    r"|[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|=|<<"
)
"""Pattern of unquoted text that YAML 1.1 reads as a number, a date, null and the like. Source: yaml.resolver."""

USUAL_VARIANTS = {
    "function": frozenset((Variant.function,)),
    "method": frozenset((Variant.method,)),
    "function, method": frozenset((Variant.function, Variant.method)),
}
"""Values of ``variants`` in nearly all entries."""

Member = TypeVar("Member", bound=enum.Enum)


class Reading:
    """State of reading a file: the source, the allowed tags, and the faults.

    former_types: former types of schemas that are accepted.
    unread: number of values that could not be read.
    """

    __slots__ = ("faults", "former_types", "source", "tags", "unread")

    def __init__(self, source: Source, tags: Container[str]) -> None:
        self.source = source
        self.tags = tags
        self.former_types: Container[str] = ()
        self.faults: list[Fault] = []
        self.unread = 0

    def fault(self, rule: str, message: str, node: Node, start: int = 0, end: int | None = None) -> None:
        """Record a value that cannot be read, at a node or at a part of its text."""
        self.unread += 1
        self._note(rule, message, node, start, end)

    def violation(self, rule: str, message: str, node: Node, start: int, end: int) -> None:
        """Record a rule that a readable schema violates."""
        self._note(rule, message, node, start, end)

    def _note(self, rule: str, message: str, node: Node, start: int, end: int | None) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault_at(self.source, rule, message, node, start, end))


# -------------------------------------------------------------------------------------------------- values of one kind


def _text(reading: Reading, node: Node, rule: str = "INV-17") -> str | None:
    """Return the text of a scalar that YAML reads as text."""
    if not isinstance(node, Scalar):
        reading.fault(rule, "expected text", node)
        return None
    if not node.quoted and (node.text in BOOLEANS or _not_text().fullmatch(node.text)):
        what = "nothing" if not node.text else f"{node.text}, which YAML does not read as text: quote it"
        reading.fault(rule, f"expected text (got {what})", node)
        return None
    return node.text


def _boolean(reading: Reading, node: Node) -> bool | None:
    """Read ``True`` or ``False``, not quoted."""
    boolean = BOOLEANS.get(node.text) if isinstance(node, Scalar) and not node.quoted else None
    if boolean is None:
        reading.fault("INV-17", "expected True or False", node)
    return boolean


def _member(choices: type[Member], rule: str) -> Callable[[Reading, Node], Member | None]:
    """Return a reader of an enumeration's members by name."""

    def read(reading: Reading, node: Node) -> Member | None:
        text = _text(reading, node, rule)
        if text is None or text in choices.__members__:
            return None if text is None else choices[text]
        reading.fault(rule, f"expected {' or '.join(choices.__members__)} (got {text})", node)
        return None

    return read


def _pieces(text: str, separator: str) -> Iterator[tuple[int, str]]:
    """Yield the pieces between separators, stripped of spaces, with the index at which each begins."""
    position = 0
    for piece in text.split(separator):
        yield position + len(piece) - len(piece.lstrip()), piece.strip()
        position += len(piece) + len(separator)


def _hold_spelling(reading: Reading, rule: str, node: Node, text: str, spelled: str) -> None:
    """Record a text that torchgen, which splits at ``", "``, would split differently."""
    if text != spelled:
        reading.violation(rule, f"spaces and commas stand as torchgen wants them: {spelled}", node, 0, len(text))


def _texts(reading: Reading, node: Node, rule: str = "INV-17") -> list[tuple[str, Node]]:
    """Return a list of texts, or a single one, each with its node."""
    items = node.items if isinstance(node, Sequence) else [node]
    return [(text, item) for item in items if (text := _text(reading, item, rule)) is not None]


# ---------------------------------------------------------------------------------------------------- values by key


def _schema(reading: Reading, node: Node) -> object:
    text = _text(reading, node)
    if text is None:
        return None
    try:
        schema, violations = examine_schema(text, reading.former_types)
    except SchemaError as error:
        message = str(error).split(" [", 1)[0].split("\n", 1)[0]
        message = former_type(text[error.start : error.end]) or message
        reading.fault(error.rule, message, node, error.start, error.end)
        return None
    for violation in violations:
        reading.violation(violation.rule, f"{schema.name}: {violation.message}", node, *violation.span(schema))
    return schema


def _variants(reading: Reading, node: Node) -> frozenset[Variant] | None:
    known = USUAL_VARIANTS.get(node.text) if isinstance(node, Scalar) else None
    if known is not None:
        return known
    text = _text(reading, node, "INV-18")
    if text is None:
        return None
    variants = set()
    names = [variant for _, variant in _pieces(text, ",")]
    for start, name in _pieces(text, ","):
        if name in Variant.__members__:
            variants.add(Variant[name])
        else:
            message = f"expected variants from function, method (got {name or 'nothing'})"
            reading.fault("INV-18", message, node, start, start + len(name))
    _hold_spelling(reading, "INV-18", node, text, ", ".join(names))
    return frozenset(variants)


def _tags(reading: Reading, node: Node) -> tuple[str, ...]:
    texts: list[str] = []
    for tag, item in _texts(reading, node, "INV-22"):
        if tag not in reading.tags:
            reading.fault("INV-22", f"{tag} is no known tag{meant(reading, tag, TAGS)}", item)
        elif tag in texts:
            reading.fault("INV-22", f"the tag {tag} is given twice", item)
        else:
            texts.append(tag)
    return tuple(texts)


def _dispatch(reading: Reading, node: Node) -> tuple[DispatchEntry, ...] | None:
    if not isinstance(node, Mapping):
        reading.fault("INV-26", "expected dispatch keys with a kernel each", node)
        return None
    lines: list[DispatchEntry] = []
    seen: set[str] = set()
    for key, value in node.pairs:
        names = _dispatch_keys(reading, key, seen)
        kernel = _kernel(reading, value)
        if kernel is not None:
            lines.append(DispatchEntry(names, kernel))
    return tuple(lines)


def _dispatch_keys(reading: Reading, key: Scalar, seen: set[str]) -> tuple[str, ...]:
    """Read the keys of one line; ``seen`` has the keys of earlier lines."""
    if key.text in DISPATCH_KEYS and key.text not in seen:
        seen.add(key.text)
        return (key.text,)
    names = []
    for start, name in _pieces(key.text, ","):
        if name not in DISPATCH_KEYS:
            hint = former_dispatch_key(name) or meant(reading, name, DISPATCH_KEYS)
            message = f"{name or 'nothing'} is no dispatch key that takes a kernel here{hint}"
            reading.fault("INV-26", message, key, start, start + len(name))
        elif name in seen:
            message = f"{name} has a kernel already, and the last one would win"
            reading.fault("INV-26", message, key, start, start + len(name))
        seen.add(name)
        names.append(name)
    return tuple(names)


def _kernel(reading: Reading, node: Node) -> Kernel | None:
    text = _text(reading, node, "INV-26")
    if text is None:
        return None
    if text.isascii() and text.isidentifier():
        return Kernel(text)
    namespace, _, name = text.rpartition("::")
    if not all(part.isascii() and part.isidentifier() for part in text.split("::")):
        reading.fault("INV-26", f"{text} is no name of a kernel", node)
        return None
    if namespace.count("::") >= MOST_KERNEL_NAMESPACES:
        reading.fault("INV-26", f"a kernel is at most {MOST_KERNEL_NAMESPACES} namespaces deep", node)
    return Kernel(name, namespace)


def _operator_names(reading: Reading, node: Node) -> tuple[OperatorName, ...]:
    text = _text(reading, node)
    if text is None:
        return ()
    names = [_operator_name(reading, node, name, start) for start, name in _pieces(text, ",")]
    return tuple(name for name in names if name is not None)


def _operator_name(reading: Reading, node: Node, text: str, start: int) -> OperatorName | None:
    try:
        return parse_operator_name(text)
    except SchemaError as error:
        message = str(error).split(" [", 1)[0]
        reading.fault(error.rule, message, node, start + error.start, start + max(error.end, error.start + 1))
        return None


def _delegate(reading: Reading, node: Node) -> OperatorName | None:
    text = _text(reading, node, "INV-31")
    if text is None:
        return None
    if "::" in text:
        reading.fault("INV-31", "a delegate is in the namespace of its entry: leave the namespace out", node)
        return None
    return _operator_name(reading, node, text, 0)


def _inherits(reading: Reading, node: Node) -> str | None:
    text = _text(reading, node, "INV-31")
    if text is not None and "::" in text:
        reading.fault("INV-31", "the class is in the namespace at::meta: leave the namespace out", node)
    return text


def _arguments(reading: Reading, node: Node, text: str, start: int) -> tuple[Argument, ...]:
    """Read arguments separated by commas."""
    arguments = []
    for offset, piece in _pieces(text, ","):
        first = start + offset
        try:
            argument = parse_argument(piece)
        except SchemaError as error:
            message = str(error).split(" [", 1)[0]
            reading.fault("INV-32", message, node, first + error.start, first + max(error.end, error.start + 1))
            continue
        if argument.name.upper() == argument.name:
            message = f"{argument.name} is all upper case, which generated code keeps for its own"
            reading.fault("INV-32", message, node, first, first + len(piece))
        arguments.append(argument)
    return tuple(arguments)


def _precomputed(reading: Reading, node: Node) -> Precomputed | None:
    if not isinstance(node, Sequence):
        reading.fault("INV-32", "expected a list of 'argument -> type name, type name'", node)
        return None
    replaced: list[tuple[str, tuple[Argument, ...]]] = []
    added: tuple[Argument, ...] = ()
    lines = _texts(reading, node, "INV-32")
    for index, (text, item) in enumerate(lines):
        name, arrow, arguments = text.partition(" -> ")
        if arrow:
            if not (name.isascii() and name.isidentifier()):
                reading.fault("INV-32", f"{name!r} is no name of an argument", item, 0, len(name))
            elif name in dict(replaced):
                reading.fault("INV-32", f"{name} is replaced already, and the last line would win", item, 0, len(name))
            replacements = _arguments(reading, item, arguments, len(name) + len(arrow))
            if len(replacements) == arguments.count(",") + 1:
                _hold_spelling(reading, "INV-32", item, text, f"{name} -> {', '.join(map(str, replacements))}")
            replaced.append((name, replacements))
        elif index == len(lines) - 1:
            added = _arguments(reading, item, text, 0)
        else:
            reading.fault("INV-32", "only the last line may add arguments without replacing one", item)
    return Precomputed(tuple(replaced), added) if lines else None


def _ufunc(reading: Reading, node: Node) -> tuple[UfuncInnerLoop, ...]:
    pairs = node.pairs if isinstance(node, Mapping) else [(None, node)]
    loops = []
    for key, value in pairs:
        if key is not None and key.text not in UfuncKey.__members__:
            reading.fault("INV-33", f"{key.text} is none of {', '.join(UfuncKey.__members__)}", key)
            continue
        loop = _inner_loop(reading, value, UfuncKey.Generic if key is None else UfuncKey[key.text])
        if loop is not None:
            loops.append(loop)
    if len({loop.key for loop in loops}) < len(loops):
        reading.fault("INV-33", "a key is given twice", node)
    return tuple(loops)


def _inner_loop(reading: Reading, node: Node, key: UfuncKey) -> UfuncInnerLoop | None:
    """Read the text of a ufunc loop, ``name (dtype, dtype)``."""
    text = _text(reading, node, "INV-33")
    if text is None:
        return None
    name, _, listed = text.partition(" ")
    if not (listed.startswith("(") and listed.endswith(")") and name.isascii() and name.isidentifier()):
        reading.fault("INV-33", "expected a name and its dtypes, like 'add (Bool, Half)'", node)
        return None
    dtypes = tuple(dtype for _, dtype in _pieces(listed[1:-1], ","))
    _hold_spelling(reading, "INV-33", node, text, f"{name} ({', '.join(dtypes)})")
    for start, dtype in _pieces(listed[1:-1], ","):
        if dtype not in DTYPES and dtype not in DTYPE_CLASSES:
            first = len(name) + 2 + start
            reading.fault("INV-33", f"{dtype or 'nothing'} is no dtype", node, first, first + len(dtype))
    return UfuncInnerLoop(key, name, dtypes)


def _names(reading: Reading, node: Node) -> tuple[str, ...] | None:
    if not isinstance(node, Sequence):
        reading.fault("INV-34", "expected a list of argument names", node)
        return None
    return tuple(text for text, _ in _texts(reading, node, "INV-34"))


READERS: dict[str, Callable[[Reading, Node], object]] = {
    "func": _schema,
    "variants": _variants,
    "tags": _tags,
    "dispatch": _dispatch,
    "device_check": _member(DeviceCheck, "INV-20"),
    "device_guard": _boolean,
    "python_module": _text,
    "autogen": _operator_names,
    "structured": _boolean,
    "structured_delegate": _delegate,
    "structured_inherits": _inherits,
    "precomputed": _precomputed,
    "ufunc_inner_loop": _ufunc,
    "cpp_no_default_args": _names,
    "manual_cpp_binding": _boolean,
    "manual_kernel_registration": _boolean,
    "category_override": _text,
    "use_const_ref_for_mutable_tensors": _boolean,
}
"""Keys of an entry (INV-17), each with the function that reads its value."""

FIELDS = {"func": "schema", "structured_inherits": "inherits", "ufunc_inner_loop": "ufunc"}
"""Field names of the keys whose field has another name."""


@cache
def _not_text() -> re.Pattern[str]:
    return re.compile(NOT_TEXT)


def meant(reading: Reading, name: str, known: Iterable[str]) -> str:
    """Return a hint with the most similar known name, as part of a message; an empty string if no name is similar."""
    import difflib

    if len(reading.faults) > MOST_GUESSES or len(name) > LONGEST_GUESS:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {close[0]}?" if close else ""
