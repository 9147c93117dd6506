"""Index of all entries of a file by name, packet and signature, for rules that compare entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.native.entry import NativeFunction
from opdsl.native.generated import Kinds, variants_made
from opdsl.native.rules.breach import Breach
from opdsl.schema import FunctionSchema, SchemaKind


class Variants:
    """Entries with one signature, and the operators generated from them.

    kinds: the entries, by kind.
    generated: the generated operators.
    """

    __slots__ = ("generated", "kinds")

    def __init__(self, kinds: Kinds) -> None:
        self.kinds = kinds
        self.generated: tuple[NativeFunction, ...] = ()

    def get(self, kind: SchemaKind) -> NativeFunction | None:
        """Return the declared or generated operator of a kind, or None."""
        function = self.kinds.get(kind)
        return (
            next((function for function in self.generated if function.kind is kind), None)
            if function is None
            else function
        )

    @property
    def members(self) -> tuple[NativeFunction, ...]:
        """Return the entries, in the order of the file."""
        return tuple(self.kinds.values())

    @property
    def is_group(self) -> bool:
        """Return whether there are a functional and an out variant, which torchgen groups."""
        kinds = self.kinds
        if SchemaKind.functional in kinds and SchemaKind.out in kinds:
            return True
        return bool(self.generated) and None not in (self.get(SchemaKind.functional), self.get(SchemaKind.out))


class Corpus:
    """Index of the entries of a file.

    views: the entries that are views.
    clashes: entries with the signature and kind of an earlier one, paired with that one.
    twins: entries with the name of an earlier one, paired with that one.
    """

    def __init__(self, entries: tuple[NativeFunction, ...]) -> None:
        self.entries = entries
        self.clashes: list[tuple[NativeFunction, NativeFunction]] = []
        self.twins: list[tuple[NativeFunction, NativeFunction]] = []
        self.by_name: dict[str, NativeFunction] = {}
        self.views = [entry for entry in entries if entry.is_view]
        self.packets: dict[str, list[NativeFunction]] = {}
        self.sets: dict[FunctionSchema, Variants] = {}
        self.set_of: dict[int, Variants] = {}
        for entry in entries:
            self._add(entry)
        for variants in self.sets.values():
            variants.generated = variants_made(variants.kinds)

    def _add(self, entry: NativeFunction) -> None:
        first = self.by_name.setdefault(entry.name.qualified, entry)
        if first is not entry:
            self.twins.append((entry, first))
            return
        self.packets.setdefault(entry.name.packet, []).append(entry)
        variants = self.sets.setdefault(entry.schema.signature(), Variants({}))
        self.set_of[id(entry)] = variants
        first = variants.kinds.setdefault(entry.kind, entry)
        if first is not entry:
            self.clashes.append((entry, first))


CorpusRule = Callable[[Corpus], Iterator[Breach]]
