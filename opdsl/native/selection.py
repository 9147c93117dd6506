"""Selective builds: reads PyTorch's selected_operators.yaml, and selects the entries that it needs.

Source of the format: ``torchgen/selective_build``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath

import attrs

from opdsl.errors import SchemaError
from opdsl.native.entry import Delegate, NativeFunction
from opdsl.native.generated import by_signature, variants_made
from opdsl.native.load import error_of, read_file
from opdsl.native.nodes import read_nodes
from opdsl.native.rules.views import copy_name, needs_copy
from opdsl.native.source import Mapping as MappingNode
from opdsl.native.source import Node, Scalar, Source
from opdsl.native.values import BOOLEANS, Reading
from opdsl.schema import OperatorName, parse_operator_name

RULE = "selection"
FLAGS = ("is_root_operator", "is_used_for_training", "include_all_overloads")
OPERATOR_KEYS = frozenset((*FLAGS, "name", "debug_info"))
KEYS = frozenset(
    (
        "include_all_non_op_selectives",
        "include_all_operators",
        "debug_info",
        "operators",
        "kernel_metadata",
        "et_kernel_metadata",
        "custom_classes",
        "build_features",
    )
)


@attrs.frozen
class SelectedOperator:
    """Options of one operator in a selection.

    is_root: whether models call it directly; others are called by operators.
    is_used_for_training: whether gradients are needed.
    include_all_overloads: whether a name without overload selects all overloads of the packet.

    >>> from opdsl.native import SelectedOperator, Selection, load_selection, loads, select
    >>> SelectedOperator(include_all_overloads=False).is_root
    True
    """

    is_root: bool = True
    is_used_for_training: bool = True
    include_all_overloads: bool = True


@attrs.frozen
class Selection:
    """Selection of the operators that a build contains.

    operators: by qualified name.
    include_all: whether it has all operators.

    >>> from opdsl.native import SelectedOperator, Selection, load_selection, loads, select
    >>> Selection({"aten::add": SelectedOperator()}).missing(loads("- func: relu(Tensor self) -> Tensor"))
    ('aten::add',)
    """

    operators: Mapping[str, SelectedOperator]
    include_all: bool = False

    def selects(self, name: OperatorName) -> bool:
        """Return whether an operator is selected, by its own name or by its packet.

        Args:
            name: the operator's name.

        >>> Selection({"aten::add": SelectedOperator()}).selects(parse_operator_name("add.Tensor"))
        True
        """
        if self.include_all or name.qualified in self.operators:
            return True
        packet = self.operators.get(name.packet)
        return packet is not None and packet.include_all_overloads

    def missing(self, entries: Iterable[NativeFunction]) -> tuple[str, ...]:
        """Return the selected names that neither an entry nor a generated operator has.

        Args:
            entries: all entries.
        """
        listed = tuple(entries)
        names = [function.name for function in listed]
        names += [function.name for kinds in by_signature(listed).values() for function in variants_made(kinds)]
        known = {name.qualified for name in names} | {name.packet for name in names}
        return tuple(operator for operator in self.operators if operator not in known)


def load_selection(path: str | PathLike[str]) -> Selection:
    r"""Read a file like PyTorch's selected_operators.yaml.

    Raises NativeYamlError with all faults, each with its location; OSError if the file cannot be read.

    Args:
        path: the file.

    Returns:
        The selection.

    >>> from opdsl.native import SelectedOperator, Selection, load_selection, loads, select
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("operators:\n  aten::relu:\n    is_root_operator: true")
    ...     file.flush()
    ...     list(load_selection(file.name).operators)
    ['aten::relu']
    """
    source = Source(fspath(path), read_file(path))
    document = read_nodes(source)
    reading = Reading(source, ())
    if not isinstance(document, MappingNode):
        if document is not None:
            reading.fault(RULE, "expected keys like 'operators:'", document)
        values: dict[str, Node] = {}
    else:
        values = _values(reading, document, KEYS)
    operators = values.get("operators")
    selected = _operators(reading, operators) if operators is not None else {}
    include_all = _flag(reading, values.get("include_all_operators"), default=False)
    if reading.faults:
        raise error_of(source, reading.faults)
    return Selection(selected, include_all)


def _values(reading: Reading, node: MappingNode, known: Iterable[str] | None) -> dict[str, Node]:
    """Return the values of a mapping by key, after checking that each key is known and given once."""
    values: dict[str, Node] = {}
    for key, value in node.pairs:
        if known is not None and key.text not in known:
            reading.fault(RULE, f"{key.text!r} is none of {', '.join(sorted(known))}", key)
        if key.text in values:
            reading.fault(RULE, f"{key.text} is given twice", key)
        values[key.text] = value
    return values


def _operators(reading: Reading, node: Node) -> dict[str, SelectedOperator]:
    if not isinstance(node, MappingNode):
        reading.fault(RULE, "expected operators by name", node)
        return {}
    operators = {}
    for (key, _), value in zip(node.pairs, _values(reading, node, None).values(), strict=False):
        try:
            operator_name = parse_operator_name(key.text)
        except SchemaError as error:
            reading.fault(RULE, str(error).split(" [", 1)[0], key)
            continue
        if not isinstance(value, MappingNode):
            reading.fault(RULE, f"expected {', '.join(FLAGS)}", value)
            continue
        values = _values(reading, value, OPERATOR_KEYS)
        flags = [_flag(reading, values.get(flag), default=True) for flag in FLAGS]
        operators[operator_name.qualified] = SelectedOperator(*flags)
    return operators


def _flag(reading: Reading, node: Node | None, *, default: bool) -> bool:
    if node is None:
        return default
    boolean = BOOLEANS.get(node.text) if isinstance(node, Scalar) and not node.quoted else None
    if boolean is None:
        reading.fault(RULE, "expected True or False", node)
    return default if boolean is None else boolean


def select(entries: Iterable[NativeFunction], selection: Selection) -> tuple[NativeFunction, ...]:
    r"""Return the entries that a selection requests, and those that they depend on, in the order of the file.

    An entry depends on the structured entry that it delegates to; a mutable one on its other variants; a generated
    operator on the entry that it is generated from; a view on its copying variant, and an in-place view on the view.

    Args:
        entries: all entries.
        selection: the selected operators.

    >>> from opdsl.native import SelectedOperator, Selection, load_selection, loads, select
    >>> entries = loads("- func: relu(Tensor self) -> Tensor\n- func: exp(Tensor self) -> Tensor")
    >>> [str(entry.name) for entry in select(entries, Selection({"aten::exp": SelectedOperator()}))]
    ['exp']
    """
    listed = tuple(entries)
    needs = _Needs(listed)
    wanted = [function for function in listed if selection.selects(function.name)]
    wanted += [base for base, names in needs.generated if any(selection.selects(name) for name in names)]
    numbers: set[int] = set()
    while wanted:
        entry = wanted.pop()
        if id(entry) not in numbers:
            numbers.add(id(entry))
            wanted += needs.of(entry)
    return tuple(function for function in listed if id(function) in numbers)


class _Needs:
    """Index of the dependencies between entries."""

    def __init__(self, entries: tuple[NativeFunction, ...]) -> None:
        self.by_name = {entry.name.qualified: entry for entry in entries}
        self.packets: dict[str, list[NativeFunction]] = {}
        self.variants: dict[int, list[NativeFunction]] = {}
        self.generated: list[tuple[NativeFunction, list[OperatorName]]] = []
        for entry in entries:
            self.packets.setdefault(entry.name.packet, []).append(entry)
        for kinds in by_signature(entries).values():
            members = list(kinds.values())
            for member in members:
                self.variants[id(member)] = members
            names = [function.name for function in variants_made(kinds)]
            if names:
                self.generated.append((members[0], names))

    def of(self, entry: NativeFunction) -> list[NativeFunction]:
        """Return the entries that an entry depends on."""
        needed = []
        if entry.is_structured or entry.schema.is_mutable or entry.autogen:
            needed += self.variants.get(id(entry), [])
        if isinstance(entry.structure, Delegate):
            to = entry.structure.to
            needed += self._named(OperatorName(entry.name.namespace, to.base, to.overload))
        if entry.is_view and entry.name.is_inplace:
            base = OperatorName(entry.name.namespace, entry.name.functional_base)
            needed += self.variants.get(id(entry), []) + self.packets.get(base.packet, [])
        if entry.is_view and needs_copy(entry):
            needed += self._named(copy_name(entry))
        return needed

    def _named(self, name: OperatorName) -> list[NativeFunction]:
        function = self.by_name.get(name.qualified)
        return [] if function is None else [function]
