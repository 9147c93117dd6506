"""Reader and checker of derivatives.yaml, which declares derivative formulas for the inputs of operators.

Formulas are C++ and remain text; only the names in them are analyzed. Source of the rules: PyTorch's
``load_derivatives.py``, and the formulas that it accepts.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from os import PathLike, fspath

import attrs

from opdsl.native.entry import NativeFunction
from opdsl.native.generated import generated
from opdsl.native.known import COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED
from opdsl.native.load import error_of, read_file
from opdsl.native.nodes import read_nodes
from opdsl.native.source import Fault, Location, Node, Scalar, Sequence, Source, fault_at
from opdsl.native.source import Mapping as MappingNode
from opdsl.native.values import BOOLEANS
from opdsl.schema import BaseType, FunctionSchema, Type

DEFAULT_KEY = "Default"
"""Key of formulas for which derivatives.yaml names no dispatch key."""

BACKENDS = (
    "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta NestedTensor Other"
)
AUTOGRAD_KEYS = frozenset(f"Autograd{backend}" for backend in BACKENDS.split())

RESERVED_ARGUMENTS = ("grad_input_mask", "result")
"""Names that have another meaning in formulas, so no argument of an operator with formulas may have them."""

NAME = r"(?<![A-Za-z0-9_.>]){}(?![A-Za-z0-9_])"
NAMED_GRADIENT = r"(?<![A-Za-z0-9_.>:])grad_[A-Za-z0-9_]+(?![A-Za-z0-9_(<])"
GRADIENT_INDEX = r"(?<![A-Za-z0-9_])grads\[(\d+)\]"
BRACKETS = {")": "(", "]": "[", "}": "{"}

QUOTED = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'
"""Pattern of a quoted text, up to the end of the formula if the quotes are not closed."""

ASIDE = rf"{QUOTED}|/\*.*?(?:\*/|\Z)"
"""Pattern of quoted texts and comments, which are not code."""

BARE_NAME = r"(?<![A-Za-z0-9_.:>])[a-z_][A-Za-z0-9_]*(?![A-Za-z0-9_>]|\s*(?:\(|::|<))"
"""Pattern of a name that denotes a value: no function, no member, no type, and no constant like ``M_PI`` or
``kMessage``.
"""

CONSTANT = r"k[A-Z]\w*"

LAMBDA = "]("
"""Text that only formulas with C++ lambdas contain; their parameters and local names are not checked."""

WORDS = frozenset(("true", "false", "nullptr", "grad", "grads", "grad_input_mask", "result", "retain_variables", "i"))
"""Names that formulas may use in addition to arguments and results; ``i`` is an element's index, for lists of
Tensors.

Source: ``gen_autograd_functions.py``.
"""


class FormulaKind(enum.Enum):
    """Kind of a derivative formula."""

    backward = "backward"
    forward = "forward"
    auto_linear = "auto_linear"
    auto_element_wise = "auto_element_wise"
    non_differentiable = "non_differentiable"
    not_implemented = "not_implemented"


@attrs.frozen
class Formula:
    r"""Derivative formula, with the names that it is for.

    names: the arguments whose gradients a backward formula computes; the results whose tangents a forward one computes.
    text: as written.
    kind: gradient, tangent, or declared absence of a derivative.

    >>> from opdsl.native import loads, read_derivatives
    >>> entries = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: relu")
    >>> text = "- name: relu(Tensor self) -> Tensor\n  self: grad * (result > 0)"
    >>> derivatives, _, _ = read_derivatives(text, entries)
    >>> derivatives[0].formulas["Default"][0].text
    'grad * (result > 0)'
    """

    names: tuple[str, ...]
    text: str
    kind: FormulaKind

    @property
    def is_forward(self) -> bool:
        """Return whether the formula computes tangents of results."""
        return self.kind in (FormulaKind.forward, FormulaKind.auto_linear, FormulaKind.auto_element_wise)


@attrs.frozen
class Derivative:
    r"""Derivative formulas of one operator.

    schema: the operator's.
    formulas: by dispatch key; ``Default`` if no key is named.
    output_differentiability: for each result whether it has a gradient, or a C++ condition for the only one; None if
        all have.
    location: of the entry in the file.

    >>> from opdsl.native import loads, read_derivatives
    >>> entries = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: relu")
    >>> text = "- name: relu(Tensor self) -> Tensor\n  self: grad * (result > 0)"
    >>> derivatives, _, _ = read_derivatives(text, entries)
    >>> derivatives[0].differentiable
    ('self',)
    """

    schema: FunctionSchema
    formulas: Mapping[str, tuple[Formula, ...]]
    output_differentiability: tuple[bool, ...] | str | None
    location: Location = attrs.field(eq=False)

    @property
    def differentiable(self) -> tuple[str, ...]:
        """Return the arguments that have a gradient formula under any key."""
        names = (
            name
            for formulas in self.formulas.values()
            for formula in formulas
            if not formula.is_forward and formula.kind is not FormulaKind.non_differentiable
            for name in formula.names
        )
        return tuple(dict.fromkeys(names))


def load_derivatives(path: str | PathLike[str], entries: Iterable[NativeFunction]) -> tuple[Derivative, ...]:
    r"""Read a file like PyTorch's derivatives.yaml.

    entries: the operators that the derivatives are for; generated ones are included.

    Raises NativeYamlError with all faults, each with its location; OSError if the file cannot be read.

    Args:
        path: the file.

    Returns:
        The derivatives.

    >>> from opdsl.native import loads, read_derivatives
    >>> entries = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: relu")
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
    ...     _ = file.write("- name: relu(Tensor self) -> Tensor\n  self: grad * (result > 0)")
    ...     file.flush()
    ...     from opdsl.native import load_derivatives
    ...     str(load_derivatives(file.name, entries)[0].schema)
    'relu(Tensor self) -> Tensor'
    """
    derivatives, faults, source = read_derivatives(read_file(path), entries, file=fspath(path))
    if faults:
        raise error_of(source, faults)
    return derivatives


def read_derivatives(
    text: str,
    entries: Iterable[NativeFunction],
    *,
    file: str = "<string>",
    is_unread: Callable[[str], bool] = lambda schema: False,
) -> tuple[tuple[Derivative, ...], list[Fault], Source]:
    r"""Return the derivatives of a text, their faults, and the source to show the faults in.

    is_unread: returns whether the entry of a schema, or of a variant of it, could not be read; its derivatives are
        not checked then.

    Raises NativeYamlError for invalid YAML.

    Args:
        text: of a derivatives.yaml.
        entries: the operators that the derivatives are for; generated ones are included.
        file: the name used in locations.

    >>> from opdsl.native import loads, read_derivatives
    >>> entries = loads("- func: relu(Tensor self) -> Tensor\n  dispatch:\n    CPU: relu")
    >>> text = "- name: relu(Tensor self) -> Tensor\n  other: grad"
    >>> [fault.message for fault in read_derivatives(text, entries)[1]]
    ['relu has no argument or result other']
    """
    listed = tuple(entries)
    source = Source(file, text)
    document = read_nodes(source)
    reader = Reader(source, {str(function.schema): function for function in (*listed, *generated(listed))}, is_unread)
    if document is not None and not isinstance(document, Sequence):
        reader.fault("derivative", "the file is a list of entries, each beginning with '- name:'", document)
    items = document.items if isinstance(document, Sequence) else []
    derivatives = [derivative for derivative in map(reader.derivative, items) if derivative is not None]
    return tuple(derivatives), sorted(reader.faults, key=lambda fault: fault.start), source


class Reader:
    """Reader of the entries of derivatives.yaml, which collects faults."""

    def __init__(self, source: Source, known: Mapping[str, NativeFunction], is_unread: Callable[[str], bool]) -> None:
        self.source = source
        self.known = known
        self.is_unread = is_unread
        self.seen: dict[str, Node] = {}
        self.faults: list[Fault] = []

    def fault(self, rule: str, message: str, node: Node, start: int = 0, end: int | None = None) -> None:
        """Record a fault of a node."""
        self.faults.append(fault_at(self.source, rule, message, node, start, end))

    def derivative(self, node: Node) -> Derivative | None:
        """Read one entry; return None if it belongs to no operator."""
        if not isinstance(node, MappingNode):
            self.fault("derivative", "an entry is a mapping that begins with 'name:'", node)
            return None
        values = self._values(node)
        name = values.pop("name", None)
        entry = self._entry(node, name)
        outputs = values.pop("output_differentiability", None)
        by_key = values.pop("dispatch", None)
        if entry is None or name is None:
            return None
        differentiability = None if outputs is None else self._differentiability(entry, outputs)
        formulas = {DEFAULT_KEY: self._formulas(entry, node, ("name", "output_differentiability", "dispatch"))}
        if by_key is not None:
            formulas = dict(self._by_key(entry, by_key))
        derivative = Derivative(entry.schema, formulas, differentiability, self._location(node))
        self._check_composite(derivative, entry, name)
        return derivative

    def _location(self, node: Node) -> Location:
        return Location(self.source.file, node.start.line + 1, node.start.column + 1)

    def _values(self, node: MappingNode) -> dict[str, Node]:
        values: dict[str, Node] = {}
        for key, value in node.pairs:
            if key.text in values:
                self.fault("one-formula", f"{key.text} is given twice, and the last one would win", key)
            values[key.text] = value
        return values

    def _entry(self, node: Node, name: Node | None) -> NativeFunction | None:
        """Return the operator that an entry belongs to."""
        if not isinstance(name, Scalar):
            self.fault("derivative-name", "an entry needs 'name:' with the schema of an operator", name or node)
            return None
        if self.is_unread(name.text):
            return None
        entry = self.known.get(name.text)
        if entry is None:
            operator = name.text.partition("(")[0]
            near = next((text for text in self.known if text.partition("(")[0] == operator), None)
            hint = f": {operator} is {near}" if near else ""
            self.fault("derivative-name", f"no operator has this schema{hint}", name)
        elif name.text in self.seen:
            message = f"{entry.name} has derivatives already, in line {self.seen[name.text].start.line + 1}"
            self.fault("one-entry", message, name)
        else:
            self.seen[name.text] = name
        for argument in entry.schema.arguments if entry is not None else ():
            if argument.name in RESERVED_ARGUMENTS:
                self.fault("derivative-name", f"{argument.name} means something else in formulas", name)
        return entry

    def _differentiability(self, entry: NativeFunction, node: Node) -> tuple[bool, ...] | str | None:
        """Read ``output_differentiability``: ``[True, False]``, or a condition for a single result."""
        items = node.items if isinstance(node, Sequence) else None
        texts = [element.text for element in items or () if isinstance(element, Scalar)]
        if items is None or len(texts) != len(items) or not texts:
            self.fault("output-differentiability", "expected a list of True and False, one for each result", node)
            return None
        count = len(entry.schema.returns)
        if all(text in BOOLEANS for text in texts):
            if len(texts) > count:
                message = f"{entry.name} gives {count} results, and {len(texts)} are named"
                self.fault("output-differentiability", message, node)
            return tuple(BOOLEANS[text] for text in texts)
        if len(texts) > 1:
            self.fault("output-differentiability", "a condition stands for the only result, by itself", node)
        return texts[0]

    def _by_key(self, entry: NativeFunction, node: Node) -> Iterator[tuple[str, tuple[Formula, ...]]]:
        """Read ``dispatch``, which has formulas for several dispatch keys."""
        if not isinstance(node, MappingNode):
            self.fault("derivative-key", "expected dispatch keys with formulas each", node)
            return
        for key, value in node.pairs:
            if key.text != DEFAULT_KEY and key.text not in AUTOGRAD_KEYS:
                self.fault("derivative-key", f"{key.text} is neither {DEFAULT_KEY} nor an Autograd key", key)
            if isinstance(value, MappingNode):
                self._values(value)
                yield key.text, self._formulas(entry, value, ())
            else:
                self.fault("derivative-key", "expected formulas", value)

    def _formulas(self, entry: NativeFunction, node: MappingNode, other: tuple[str, ...]) -> tuple[Formula, ...]:
        """Read the formulas in a mapping, whose keys are the names that they are for."""
        formulas: list[Formula] = []
        for key, value in node.pairs:
            if key.text in other:
                continue
            if not isinstance(value, Scalar):
                self.fault("derivative", "a formula is text", value)
                continue
            names = tuple(part.strip() for part in key.text.split(","))
            formula = Formula(names, value.text, _kind(entry.schema, names, value.text))
            for rule, check in FORMULA_RULES.items():
                for message in check(entry.schema, formula):
                    self.fault(rule, message, value if rule in RULES_OF_TEXTS else key)
            if any(name in formula.names for formula in formulas for name in names):
                self.fault("one-formula", f"{key.text} has a formula already", key)
            formulas.append(formula)
        for message in _gradient_use(entry.schema, formulas):
            self.fault("gradients", f"{entry.name}: {message}", node)
        return tuple(formulas)

    def _check_composite(self, derivative: Derivative, entry: NativeFunction, name: Node) -> None:
        """Check INV-56: a composite operator has no derivatives, since it has those of the operators that it calls."""
        composite = entry.kernels.keys() and entry.kernels.keys() <= {COMPOSITE_IMPLICIT, COMPOSITE_IMPLICIT_NESTED}
        if composite and not entry.is_structured and derivative.differentiable:
            message = f"{entry.name} has derivatives, so it needs a kernel that is not CompositeImplicitAutograd"
            self.fault("INV-56", message, name)


def _kind(schema: FunctionSchema, names: tuple[str, ...], text: str) -> FormulaKind:
    """Return the kind of a formula. Formulas for names that are no argument are forward formulas."""
    stripped = text.strip().lower()
    if names[0] not in [argument.name for argument in schema.arguments]:
        forward = (FormulaKind.auto_linear, FormulaKind.auto_element_wise)
        return next((formula_kind for formula_kind in forward if formula_kind.value == stripped), FormulaKind.forward)
    if stripped == FormulaKind.non_differentiable.value:
        return FormulaKind.non_differentiable
    return (
        FormulaKind.not_implemented
        if stripped.startswith(("not_implemented(", "not_implemented_list("))
        else FormulaKind.backward
    )


# --------------------------------------------------------------------------------------------------- rules of formulas


def _named(schema: FunctionSchema, formula: Formula) -> Iterator[str]:
    """Check that a formula is for an argument or a result."""
    arguments = {argument.name for argument in schema.arguments}
    results = {"result", *(returned.name for returned in schema.returns if returned.name is not None)}
    results |= {f"result{index}" for index in range(len(schema.returns))}
    for name in formula.names:
        if name not in (results if formula.is_forward else arguments):
            yield f"{schema.name} has no {'argument or result' if formula.is_forward else 'argument'} {name}"
        elif name in arguments and name in {returned.name for returned in schema.returns} and not formula.is_forward:
            yield f"{name} is an argument and a result of {schema.name}, so a formula for it is of two kinds"


def _differentiable(schema: FunctionSchema, formula: Formula) -> Iterator[str]:
    """Check that gradients are only declared for Tensors."""
    if formula.is_forward or formula.kind is FormulaKind.non_differentiable:
        return
    types = {argument.name: argument.type for argument in schema.arguments}
    for name in formula.names:
        if name in types and not is_differentiable(types[name]):
            yield f"{name} is {types[name]}, and only Tensors have gradients"


def is_differentiable(type: Type) -> bool:
    """Return whether values of a type can have gradients: Tensors, lists of Tensors, and optional ones."""
    return BaseType.Tensor.value in str(type)


def _balanced(schema: FunctionSchema, formula: Formula) -> Iterator[str]:
    """Check that brackets are closed, ignoring those in quotes."""
    opened: list[str] = []
    for character in _compiled(QUOTED).sub('""', formula.text):
        if character in BRACKETS.values():
            opened.append(character)
        elif character in BRACKETS and (not opened or opened.pop() != BRACKETS[character]):
            yield f"{character} closes nothing"
            return
    if opened:
        yield f"{opened[-1]} is not closed"


def _named_gradients(schema: FunctionSchema, formula: Formula) -> Iterator[str]:
    """Check that each ``grad_x`` is the gradient of a result that is called x."""
    names = {f"grad_{returned.name}" for returned in schema.returns if returned.name is not None}
    names |= {argument.name for argument in schema.arguments} | {"grad_input_mask"}
    for word in dict.fromkeys(_compiled(NAMED_GRADIENT).findall(formula.text)):
        if not formula.is_forward and word not in names:
            yield f"{word} is the gradient of no result of {schema.name}"


def _indices(schema: FunctionSchema, formula: Formula) -> Iterator[str]:
    """Check that each ``grads[i]`` is the gradient of an existing result."""
    for index in _compiled(GRADIENT_INDEX).findall(formula.text):
        if len(index) > 4 or int(index) >= len(schema.returns):
            yield f"grads[{index[:9]}] is the gradient of no result: {schema.name} gives {len(schema.returns)}"


def _known_names(schema: FunctionSchema, formula: Formula) -> Iterator[str]:
    """Check that names are arguments, results, their primals or tangents (``x_p``, ``x_t``), or words of formulas."""
    if formula.kind not in (FormulaKind.backward, FormulaKind.forward) or LAMBDA in formula.text:
        return
    values = {argument.name for argument in schema.arguments}
    values |= {returned.name for returned in schema.returns if returned.name is not None}
    values |= {"result", *(f"result{index}" for index in range(len(schema.returns)))}
    values |= {f"original_{name}" for name in values}
    values |= {f"{name}_{part}" for name in values for part in "pt"}
    for word in dict.fromkeys(_compiled(BARE_NAME).findall(_compiled(ASIDE).sub(" ", formula.text))):
        is_gradient = word.startswith("grad_") and not formula.is_forward
        if word not in values | WORDS and not is_gradient and not _compiled(CONSTANT).fullmatch(word):
            yield f"{word} is no argument and no result of {schema.name}"


FORMULA_RULES: dict[str, Callable[[FunctionSchema, Formula], Iterator[str]]] = {
    "derivative-argument": _named,
    "differentiable": _differentiable,
    "brackets": _balanced,
    "named-gradients": _named_gradients,
    "gradient-index": _indices,
    "known-names": _known_names,
}
"""Rules about single formulas, by name."""

RULES_OF_TEXTS = frozenset(("brackets", "named-gradients", "gradient-index", "known-names"))
"""Rules about the text of a formula; the others are about the arguments that it is declared for."""


def _gradient_use(schema: FunctionSchema, formulas: list[Formula]) -> Iterator[str]:
    """Check that an entry uses only one of ``grad``, ``grads[i]`` and ``grad_x`` for the gradients of results."""
    texts = [formula.text for formula in formulas if formula.kind is FormulaKind.backward]
    grad = any(_compiled(NAME.format("grad")).search(text) for text in texts)
    grads = sum(len(_compiled(NAME.format("grads")).findall(text)) for text in texts)
    indices = [index for text in texts for index in _compiled(GRADIENT_INDEX).findall(text)]
    names = {f"grad_{returned.name}" for returned in schema.returns if returned.name is not None}
    named = any(name in _compiled(NAMED_GRADIENT).findall(text) for text in texts for name in names)
    if grad and grads:
        yield "grad and grads are mixed: write grads[0] for grad"
    if indices and len(indices) == grads and set(indices) == {"0"}:
        yield "only grads[0] is used: write grad if the first result alone has a gradient"
    if named and (grad or grads):
        yield "grad_x is mixed with grad or grads: name gradients in one way"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
