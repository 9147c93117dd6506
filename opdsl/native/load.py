"""native_functions.yaml to entries: every key read into a typed value, every fault collected with its place."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache
from os import PathLike, fspath
from typing import Any, TypeVar

from opdsl.collecting import without_collecting
from opdsl.errors import NativeYamlError, SchemaError
from opdsl.native.entry import (
    MOST_KERNEL_NAMESPACES,
    PLAIN,
    Delegate,
    DeviceCheck,
    DispatchEntry,
    Kernel,
    NativeFunction,
    Plain,
    Structured,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
)
from opdsl.native.known import DISPATCH_KEYS, DTYPE_CLASSES, DTYPES, TAGS
from opdsl.native.nodes import read_nodes
from opdsl.native.retired import former_dispatch_key, former_key, former_type
from opdsl.native.source import Fault, Location, Mapping, Node, Origin, Scalar, Sequence, Source, fault_at
from opdsl.schema import Argument, OperatorName, Precomputed, examine_schema, parse_argument, parse_operator_name

MOST_SHOWN = 50
"""How many faults an error's message shows; ``faults`` has all."""

MOST_FAULTS = 10_000
"""Reading stops after so many faults: the file is of another kind."""

STUB_KEYS = frozenset(("backend", "cpp_namespace", "supported", "full_codegen", "ir_gen"))
"""What stands in a backend's own file. Source: ``torchgen/gen_backend_stubs.py``."""

MOST_GUESSES = 100
LONGEST_GUESS = 64
"""For how many faults, and for names up to which length, the name that was meant is guessed: a guess takes long."""

BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
"""What YAML 1.1 reads as booleans, as torchgen's loader does."""

NOT_TEXT = (
    r"~|null|Null|NULL||[-+]?0b[01_]+|[-+]?0[0-7_]+|[-+]?(?:0|[1-9][0-9_]*)(?::[0-5]?[0-9])*|[-+]?0x[0-9a-fA-F_]+"
    r"|[-+]?(?:[0-9][0-9_]*)\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|[-+]?\.(?:inf|Inf|INF)"
    r"|\.(?:nan|NaN|NAN)|[0-9]{4}-[0-9]{2}-[0-9]{2}.*|=|<<"
)
"""What YAML 1.1 reads as numbers, dates, nothing and the like when it is not quoted. Source: yaml.resolver."""

USUAL_VARIANTS = {
    "function": frozenset((Variant.function,)),
    "method": frozenset((Variant.method,)),
    "function, method": frozenset((Variant.function, Variant.method)),
}
"""The spellings of ``variants`` in nearly all entries."""

Member = TypeVar("Member", bound=enum.Enum)


def read_file(path: str | PathLike[str]) -> str:
    """The text of a file in UTF-8. Raises NativeYamlError where it is something else."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        location = Location(fspath(path), line, 1)
        fault = Fault("YAML", "the file is not UTF-8 text", location, 0, 1)
        raise NativeYamlError(f"{location}: {fault.message} [YAML]", faults=(fault,)) from None


def read_today(text: str, *, file: str = "<string>", tags: Container[str] = TAGS) -> tuple[NativeFunction, ...]:
    """The entries of a text in today's form. Raises NativeYamlError with all faults, each with its place."""
    entries, faults, source = read_entries(text, file=file, tags=tags)
    if faults:
        raise error_of(source, faults)
    return entries


@without_collecting()
def read_entries(
    text: str, *, file: str = "<string>", tags: Container[str] = TAGS
) -> tuple[tuple[NativeFunction, ...], list[Fault], Source]:
    """The entries whose schemas can be read, the faults, and the source to show them in, for callers who go on."""
    source = Source(file, text)
    reading = Reading(source, tags)
    return entries_of(reading, read_nodes(source)), reading.faults, source


def entries_of(reading: Reading, document: Node | None) -> tuple[NativeFunction, ...]:
    """The entries of a document whose schemas can be read; faults go to ``reading``."""
    if document is None:
        return ()
    if not isinstance(document, Sequence):
        reading.fault(
            "INV-17", _other_file(document) or "the file is a list of entries, each beginning with '- func:'", document
        )
        return ()
    reading.source.entries = document.items
    entries = []
    for node in document.items:
        before = reading.unread
        entry = _entry(reading, node)
        if entry is not None:
            entries.append(entry)
        if reading.unread > before:
            reading.source.unread.append(node)
        if len(reading.faults) >= MOST_FAULTS:
            break
    return tuple(entries)


def _other_file(document: Node) -> str:
    """What a document without entries is, where it can be told."""
    keys = [key.text for key, _ in document.pairs] if isinstance(document, Mapping) else []
    found = [key for key in keys if key in STUB_KEYS]
    if not found:
        return ""
    return (
        f"this is a backend's stub file ({', '.join(found)}), which names operators that have their entries elsewhere: "
        "torchgen.gen_backend_stubs reads it, and there is nothing to check in it here"
    )


def error_of(source: Source, faults: list[Fault]) -> NativeYamlError:
    """The error that shows faults, in the order of the file."""
    ordered = sorted(faults, key=lambda fault: fault.start)
    shown = [fault.shown(source) for fault in ordered[:MOST_SHOWN]]
    if len(ordered) > MOST_SHOWN:
        shown.append(f"... and {len(ordered) - MOST_SHOWN} more")
    return NativeYamlError("\n".join(shown), faults=tuple(ordered))


class Reading:
    """What readers of values need: the source, the tags that may be used, and where faults go.

    former_types: types of schemas that are no more, and are read all the same.
    unread: how many values could not be read.
    """

    __slots__ = ("faults", "former_types", "source", "tags", "unread")

    def __init__(self, source: Source, tags: Container[str]) -> None:
        self.source = source
        self.tags = tags
        self.former_types: Container[str] = ()
        self.faults: list[Fault] = []
        self.unread = 0

    def fault(self, rule: str, message: str, node: Node, start: int = 0, end: int | None = None) -> None:
        """Notes at a node, or at a part of its text, what cannot be read."""
        self.unread += 1
        self._note(rule, message, node, start, end)

    def violation(self, rule: str, message: str, node: Node, start: int, end: int) -> None:
        """Notes a rule that a schema breaks which can be read."""
        self._note(rule, message, node, start, end)

    def _note(self, rule: str, message: str, node: Node, start: int, end: int | None) -> None:
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(fault_at(self.source, rule, message, node, start, end))


# ------------------------------------------------------------------------------------------------------------- entries


def _entry(reading: Reading, node: Node) -> NativeFunction | None:
    """One entry; None where its schema cannot be read."""
    if not isinstance(node, Mapping):
        reading.fault("INV-17", "an entry is a mapping that begins with 'func:'", node)
        return None
    values: dict[str, Any] = {}
    nodes: dict[str, Node] = {}
    unread = reading.unread
    for key, value in node.pairs:
        reader = READERS.get(key.text)
        if reader is None:
            reading.fault(
                "INV-17",
                f"{key.text!r} is no key of an entry{former_key(key.text) or _meant(reading, key.text, READERS)}",
                key,
            )
        elif key.text in nodes:
            reading.fault("INV-17", f"the key {key.text} is given twice", key)
        else:
            nodes[key.text] = value
            read = reader(reading, value)
            if read is not None:
                values[FIELDS.get(key.text, key.text)] = read
    is_whole = reading.unread == unread
    if "func" not in nodes and is_whole:
        reading.fault("INV-17", "an entry needs 'func:' with its schema", node)
    values["structure"] = _structure(reading, values, nodes, is_whole=is_whole)
    if "schema" not in values:
        return None
    origin = Origin(reading.source, node)
    entry = NativeFunction(**values, origin=origin)
    origin.belongs_to(entry)
    return entry


def _structure(
    reading: Reading, values: dict[str, Any], nodes: dict[str, Node], *, is_whole: bool
) -> Plain | Structured | Delegate:
    """What the keys about structured kernels say together (INV-30 to INV-33); ``structured`` is missed in an entry only
    that could be read as a whole."""
    structured = values.pop("structured", False)
    delegate = values.pop("structured_delegate", None)
    parts = {key: values.pop(key) for key in ("inherits", "precomputed", "ufunc") if key in values}
    if structured and delegate is not None:
        message = "an entry is structured or a delegate, not both"
        reading.fault("INV-31", message, nodes["structured_delegate"])
    if structured:
        return Structured(**parts)
    for key, rule in (("structured_inherits", "INV-30"), ("precomputed", "INV-30"), ("ufunc_inner_loop", "INV-33")):
        if key in nodes and is_whole:
            reading.fault(rule, f"{key} belongs to a structured entry: add 'structured: True'", nodes[key])
    return PLAIN if delegate is None else Delegate(delegate)


# -------------------------------------------------------------------------------------------------- values of one kind


def _text(reading: Reading, node: Node, rule: str = "INV-17") -> str | None:
    """Text that YAML reads as text."""
    if not isinstance(node, Scalar):
        reading.fault(rule, "expected text", node)
        return None
    if not node.quoted and (node.text in BOOLEANS or _not_text().fullmatch(node.text)):
        what = "nothing" if not node.text else f"{node.text}, which YAML does not read as text: quote it"
        reading.fault(rule, f"expected text (got {what})", node)
        return None
    return node.text


def _boolean(reading: Reading, node: Node) -> bool | None:
    """``True`` or ``False``, not quoted."""
    found = BOOLEANS.get(node.text) if isinstance(node, Scalar) and not node.quoted else None
    if found is None:
        reading.fault("INV-17", "expected True or False", node)
    return found


def _member(choices: type[Member], rule: str) -> Callable[[Reading, Node], Member | None]:
    """A reader of an enumeration's members by name."""

    def read(reading: Reading, node: Node) -> Member | None:
        text = _text(reading, node, rule)
        if text is None or text in choices.__members__:
            return None if text is None else choices[text]
        reading.fault(rule, f"expected {' or '.join(choices.__members__)} (got {text})", node)
        return None

    return read


def _pieces(text: str, separator: str) -> Iterator[tuple[int, str]]:
    """The pieces between separators, without spaces around them, and where each begins."""
    position = 0
    for piece in text.split(separator):
        yield position + len(piece) - len(piece.lstrip()), piece.strip()
        position += len(piece) + len(separator)


def _hold_spelling(reading: Reading, rule: str, node: Node, text: str, spelled: str) -> None:
    """Notes a text that torchgen, which looks for ``", "``, would take apart in another way."""
    if text != spelled:
        reading.violation(rule, f"spaces and commas stand as torchgen wants them: {spelled}", node, 0, len(text))


def _texts(reading: Reading, node: Node, rule: str = "INV-17") -> list[tuple[str, Node]]:
    """A list of texts, or a single one, each with its node."""
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
    found = set()
    names = [name for _, name in _pieces(text, ",")]
    for start, name in _pieces(text, ","):
        if name in Variant.__members__:
            found.add(Variant[name])
        else:
            message = f"expected variants from function, method (got {name or 'nothing'})"
            reading.fault("INV-18", message, node, start, start + len(name))
    _hold_spelling(reading, "INV-18", node, text, ", ".join(names))
    return frozenset(found)


def _tags(reading: Reading, node: Node) -> tuple[str, ...]:
    found: list[str] = []
    for tag, item in _texts(reading, node, "INV-22"):
        if tag not in reading.tags:
            reading.fault("INV-22", f"{tag} is no known tag{_meant(reading, tag, TAGS)}", item)
        elif tag in found:
            reading.fault("INV-22", f"the tag {tag} is given twice", item)
        else:
            found.append(tag)
    return tuple(found)


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
    """The keys of one line; ``seen`` are those of the lines before it."""
    if key.text in DISPATCH_KEYS and key.text not in seen:
        seen.add(key.text)
        return (key.text,)
    names = []
    for start, name in _pieces(key.text, ","):
        if name not in DISPATCH_KEYS:
            meant = former_dispatch_key(name) or _meant(reading, name, DISPATCH_KEYS)
            message = f"{name or 'nothing'} is no dispatch key that takes a kernel here{meant}"
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
    """Arguments between commas."""
    found = []
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
        found.append(argument)
    return tuple(found)


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
            made = _arguments(reading, item, arguments, len(name) + len(arrow))
            if len(made) == arguments.count(",") + 1:
                _hold_spelling(reading, "INV-32", item, text, f"{name} -> {', '.join(map(str, made))}")
            replaced.append((name, made))
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
    """``name (dtype, dtype)``"""
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
"""The keys of an entry (INV-17), each with the reader of its value."""

FIELDS = {"func": "schema", "structured_inherits": "inherits", "ufunc_inner_loop": "ufunc"}
"""Keys whose values go by another name."""


@cache
def _not_text() -> re.Pattern[str]:
    return re.compile(NOT_TEXT)


def _meant(reading: Reading, name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant, as part of a message."""
    import difflib

    if len(reading.faults) > MOST_GUESSES or len(name) > LONGEST_GUESS:
        return ""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f": did you mean {close[0]}?" if close else ""
