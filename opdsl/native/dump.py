"""Writer of native_functions.yaml.

An entry that was read and not changed is written with its original text and comments; any other one in the format of
PyTorch's own file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache

from opdsl.native.entry import (
    Delegate,
    DeviceCheck,
    NativeFunction,
    Structured,
    UfuncKey,
    Variant,
)
from opdsl.native.source import Node, Origin, Scalar, Sequence, Source
from opdsl.native.values import BOOLEANS, NOT_TEXT
from opdsl.schema import Argument

PLAIN_TEXT = r"[A-Za-z0-9_](?:[^\n:#\x00-\x1f\x7f-\uffff]|:(?! |$)|(?<! )#)*(?<![ :])"
"""Pattern of text that YAML reads back unchanged without quotes; ASCII only, to be safe."""

PLAIN_ITEM = r"[A-Za-z0-9_][A-Za-z0-9_.]*"
"""Pattern of text inside ``[...]`` that YAML reads back unchanged without quotes."""

FUNCTION_ONLY = frozenset((Variant.function,))


def dumps(entries: Iterable[NativeFunction], *, verbatim: bool = True) -> str:
    """Format entries as YAML text. ``loads`` of it returns equal values, and so does torchgen's parser.

    verbatim: whether unchanged entries are written with their original text, and comments above changed ones are kept;
        otherwise all are written in the canonical form, without comments.

    Args:
        entries: read from a text, or constructed.

    >>> from opdsl.native import loads
    >>> print(dumps(loads("[{func: 'relu(Tensor self) -> Tensor', variants: 'function, method'}]")), end="")
    - func: relu(Tensor self) -> Tensor
      variants: function, method
    """
    chunks: list[str] = []
    layouts: dict[int, Layout] = {}
    for entry in entries:
        origin = entry.origin
        leading, body = "\n" if chunks else "", None
        if verbatim and origin is not None:
            layout = layouts.setdefault(id(origin.source), Layout(origin.source))
            if layout.holds_lines_of(origin):
                leading, body = layout.above(origin), layout.own(origin) if origin.is_of(entry) else None
        chunks.append(leading + (printed(entry) if body is None else body))
    return "".join(chunks) or "[]\n"


def printed(entry: NativeFunction) -> str:
    """Format one entry in the canonical form, with a line for each key that differs from its default."""
    lines = [f"- func: {plain_or_quoted(str(entry.schema))}"]
    for write in WRITERS:
        lines += [f"  {line}" for line in write(entry)]
    return "\n".join(lines) + "\n"


class Layout:
    """Assignment of the lines of a source to entries: the lines of an entry, and the comments above it."""

    def __init__(self, source: Source) -> None:
        self.text = source.text
        self.entries = source.entries
        self.places = {id(mapping): index for index, mapping in enumerate(source.entries)}

    def holds_lines_of(self, origin: Origin) -> bool:
        """Return whether an entry has its own lines, as in a block list, so that other entries can be inserted before
        it.
        """
        return self.text.startswith("-", self._line_start(origin.mapping))

    def above(self, origin: Origin) -> str:
        """Return the empty lines and comments between an entry and the previous one."""
        place = self.places[id(origin.mapping)]
        start = self._content_end(place - 1) if place > 0 else 0
        lines = self.text[start : self._line_start(origin.mapping)].splitlines(keepends=True)
        return "".join(line for line in lines if line.lstrip()[:1] in ("", "#"))

    def own(self, origin: Origin) -> str:
        """Return the lines of an entry."""
        place = self.places[id(origin.mapping)]
        text = self.text[self._line_start(origin.mapping) : self._content_end(place)]
        if place == len(self.entries) - 1:
            text = _without_markers(text)
        return text if text.endswith("\n") else text + "\n"

    def _line_start(self, node: Node) -> int:
        return self.text.rfind("\n", 0, node.start.index) + 1

    def _content_end(self, place: int) -> int:
        """Return the end of an entry's last line and the indented comments directly below; the end of the text for the
        last entry.
        """
        if place == len(self.entries) - 1:
            return len(self.text)
        position = _after_line(self.text, _last_index(self.entries[place], self.text))
        while self.text[position : position + 1] in (" ", "\t"):
            following = _after_line(self.text, position)
            if not self.text[position:following].lstrip().startswith("#"):
                break
            position = following
        return position


def _after_line(text: str, index: int) -> int:
    """Return the index at which the line after the one with the given index begins."""
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _last_index(node: Node, text: str) -> int:
    """Return the index of a node's last character. libyaml ends a block only where the next one begins, after all
    comments.
    """
    if isinstance(node, Scalar) or text[node.start.index : node.start.index + 1] in ("[", "{"):
        return max(node.start.index, node.end.index - 1)
    inside = node.items[-1] if isinstance(node, Sequence) else node.pairs[-1][1]
    return _last_index(inside, text)


def _without_markers(text: str) -> str:
    """Remove YAML directives and document markers from text between entries, since they are valid only once in
    a file.
    """
    if not any(mark in text for mark in ("---", "...", "%")):
        return text
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(("---", "...", "%")))


# ------------------------------------------------------------------------------------------------------ keys in order


def _variants(entry: NativeFunction) -> Iterator[str]:
    if entry.variants != FUNCTION_ONLY:
        names = [variant.name for variant in Variant if variant in entry.variants]
        yield f"variants: {', '.join(names)}"


def _structure(entry: NativeFunction) -> Iterator[str]:
    structure = entry.structure
    if isinstance(structure, Delegate):
        yield f"structured_delegate: {plain_or_quoted(str(structure.to))}"
    elif isinstance(structure, Structured):
        yield "structured: True"
        if structure.inherits is not None:
            yield f"structured_inherits: {plain_or_quoted(structure.inherits)}"


def _precomputed(entry: NativeFunction) -> Iterator[str]:
    if not isinstance(entry.structure, Structured) or entry.structure.precomputed is None:
        return
    yield "precomputed:"
    for name, arguments in entry.structure.precomputed.replaced:
        yield f"- {plain_or_quoted(f'{name} -> {_listed(arguments)}')}"
    if entry.structure.precomputed.added:
        yield f"- {plain_or_quoted(_listed(entry.structure.precomputed.added))}"


def _listed(arguments: Iterable[Argument]) -> str:
    return ", ".join(map(str, arguments))


def _ufunc(entry: NativeFunction) -> Iterator[str]:
    loops = entry.structure.ufunc if isinstance(entry.structure, Structured) else ()
    if [loop.key for loop in loops] == [UfuncKey.Generic]:
        yield f"ufunc_inner_loop: {plain_or_quoted(str(loops[0]))}"
    elif loops:
        yield "ufunc_inner_loop:"
        for loop in loops:
            yield f"  {loop.key.name}: {plain_or_quoted(str(loop))}"


def _dispatch(entry: NativeFunction) -> Iterator[str]:
    if entry.dispatch is None:
        return
    yield "dispatch:" if entry.dispatch else "dispatch: {}"
    for line in entry.dispatch:
        yield f"  {', '.join(line.keys)}: {plain_or_quoted(str(line.kernel))}"


def _device(entry: NativeFunction) -> Iterator[str]:
    if entry.device_check is not DeviceCheck.ExactSame:
        yield f"device_check: {entry.device_check.name}"
    if not entry.device_guard:
        yield "device_guard: False"


def _tags(entry: NativeFunction) -> Iterator[str]:
    if len(entry.tags) == 1:
        yield f"tags: {plain_or_quoted(entry.tags[0])}"
    elif entry.tags:
        yield f"tags: {_flow(entry.tags)}"


def _autogen(entry: NativeFunction) -> Iterator[str]:
    if entry.autogen:
        yield f"autogen: {plain_or_quoted(', '.join(map(str, entry.autogen)))}"


def _binding(entry: NativeFunction) -> Iterator[str]:
    if entry.python_module is not None:
        yield f"python_module: {plain_or_quoted(entry.python_module)}"
    if entry.category_override is not None:
        yield f"category_override: {plain_or_quoted(entry.category_override)}"
    if entry.cpp_no_default_args:
        yield f"cpp_no_default_args: {_flow(entry.cpp_no_default_args)}"
    for key in ("manual_cpp_binding", "manual_kernel_registration", "use_const_ref_for_mutable_tensors"):
        if getattr(entry, key):
            yield f"{key}: True"


WRITERS: tuple[Callable[[NativeFunction], Iterator[str]], ...] = (
    _binding,
    _device,
    _variants,
    _structure,
    _precomputed,
    _ufunc,
    _dispatch,
    _autogen,
    _tags,
)


# ------------------------------------------------------------------------------------------------------------- scalars


def plain_or_quoted(text: str) -> str:
    """Format text as a YAML scalar, in double quotes if necessary.

    >>> plain_or_quoted("a: b"), plain_or_quoted("no"), plain_or_quoted("add.out")
    ('"a: b"', '"no"', 'add.out')
    """
    if text not in BOOLEANS and _compiled(PLAIN_TEXT).fullmatch(text) and not _compiled(NOT_TEXT).fullmatch(text):
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _flow(texts: Iterable[str]) -> str:
    """Format texts as a list on one line."""
    safe = _compiled(PLAIN_ITEM)
    items = [plain_or_quoted(text) if safe.fullmatch(text) else f'"{"".join(map(_escaped, text))}"' for text in texts]
    return f"[{', '.join(items)}]"


def _escaped(character: str) -> str:
    """Return the escape sequence of a character inside double quotes, or the character itself."""
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    if character.isprintable() and not 0xD800 <= code <= 0xDFFF:
        return character
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
