"""Stub of ``Tensor``: the members in its source, and the methods that the operator library and user libraries add."""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import get_overloads

from opdsl.declare.source.expressions import quoted
from opdsl.dispatch import LazyFunction, Packet
from opdsl.dispatch.model.packet import has_method
from opdsl.runtime import Tensor
from opdsl.schema.model import python_name
from opdsl.typing.stubs.forms import KEYWORD, POSITIONAL, Form, Parameter, ResultOf, method_forms, ordered
from opdsl.typing.stubs.layout import Statement, class_of, function
from opdsl.typing.stubs.names import Names
from opdsl.typing.stubs.packets import overloaded
from opdsl.typing.stubs.sources import Source, plain

# Methods that object has with another result type: a comparison of tensors returns a tensor.
_OVERRIDES = ("__eq__", "__ne__")


class TensorMethods:
    """Writer of the class Tensor with its methods.

    Args:
        source: of the module of Tensor.
        packets: whose functions may be methods.
        result_of: returns the annotation of an operator's return value.
        names: of the file.
    """

    def __init__(self, source: Source, packets: Iterable[Packet], result_of: ResultOf, names: Names) -> None:
        self._source = source
        self._node = next(
            statement
            for statement in source.tree.body
            if isinstance(statement, ast.ClassDef) and statement.name == "Tensor"
        )
        own = {getattr(statement, "name", _target_of(statement)) for statement in self._node.body}
        self._by_hand = own.union(*(vars(kind) for kind in Tensor.__mro__[1:]))
        self._lazy_functions: dict[object, LazyFunction] = {
            lazy_function.function: lazy_function for one in packets for lazy_function in one.lazy_functions
        }
        self._packets = {packet.base: packet for packet in packets}
        self._result_of = result_of
        self._names = names
        self._members: dict[str, Callable[[frozenset[str]], Iterator[Statement]]] = {}

    def add_installed(self, name: str) -> None:
        """Add the member that is installed on Tensor under a name."""
        value = Tensor.__dict__[name]
        self._members[name] = lambda shadowed: self._installed(name, value, shadowed)

    def add_packet(self, packet: Packet) -> None:
        """Add the method of a packet, if it has one and Tensor's source does not define that name."""
        if packet.base in self._by_hand or python_name(packet.base) != packet.base:
            return
        if any(map(has_method, packet.overloads.values())):
            forms = method_forms(packet.signatures(has_method, is_method=True), self._result_of)
            self._members[packet.base] = lambda shadowed: self._method(packet.base, forms, shadowed)

    @property
    def methods(self) -> frozenset[str]:
        """Return the names that have been added."""
        return frozenset(self._members)

    def written(self) -> Statement:
        """Return the class: the members in its source, then the added methods in alphabetical order."""
        source, node = self._source, self._node
        present = {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
        shadowed = frozenset(self._members.keys() | present)
        kept = [
            statement
            for statement in node.body
            if getattr(statement, "name", _target_of(statement)) not in self._members
        ]
        own = ast.ClassDef(node.name, node.bases, node.keywords, kept, node.decorator_list)
        body = [_renamed(member, self._names, shadowed) for member in source.members(own)]
        for name in sorted(self._members):
            body += self._members[name](shadowed)
        bases = [source.annotation(base) for base in node.bases]
        return class_of(node.name, bases, body, ast.get_docstring(node))

    def _installed(self, name: str, value: object, shadowed: frozenset[str]) -> Iterator[Statement]:
        if isinstance(value, property):
            yield from self._property(name, value, shadowed)
            return
        assert isinstance(value, FunctionType), "what is installed is a function or a property"
        lazy_function = self._lazy_functions.get(value)
        if lazy_function is None:
            forms = [_declared(overload) for overload in get_overloads(value) or [value]]
            yield from self._method(name, forms, shadowed)
            return
        lazy_function.build()
        assert lazy_function.cache is not None, "built just now"
        forms = method_forms(lazy_function.cache.union.signatures, self._result_of)
        if name.startswith("__"):
            forms = ordered([operands for form in forms for operands in _operands(form)])
        yield from self._method(name, forms, shadowed)

    def _method(self, name: str, forms: list[Form], shadowed: frozenset[str]) -> Iterator[Statement]:
        if name not in _OVERRIDES:
            yield from overloaded(name, forms, self._names, shadowed=shadowed, first="self")
            return
        # object.__eq__ accepts any object, and so has an override; objects of other types are unequal to a tensor.
        anything = self._names.use("object", shadowed)
        returned = self._names.use("Tensor", shadowed)
        parameters = ["self", f"other: {anything}"]
        comment = "# type: ignore[override]"
        yield function(name, parameters, returned, forms[0].doc, indent=1, comment=comment)

    def _property(self, name: str, value: property, shadowed: frozenset[str]) -> Iterator[Statement]:
        assert value.fget is not None, "a property can be read"
        form = _declared(value.fget)
        decorator = self._names.use("property", shadowed)
        result = self._names.use(form.result, shadowed)
        yield function(name, ["self"], result, form.doc, decorators=[decorator], indent=1)
        if value.fset is not None:
            parameter = _declared(value.fset).parameters[0]
            parameters = ["self", self._names.use_parameter(str(parameter), shadowed)]
            none = self._names.use("None", shadowed)
            yield function(name, parameters, none, decorators=[f"{name}.setter"], indent=1)


def _declared(written: Callable[..., object]) -> Form:
    """Return the overload for a handwritten function, without its first parameter."""
    signature = inspect.signature(written)
    parameters = tuple(_parameter(parameter) for parameter in list(signature.parameters.values())[1:])
    return Form(parameters, plain(str(signature.return_annotation)), written.__doc__)


def _parameter(parameter: inspect.Parameter) -> Parameter:
    text = str(parameter)
    stars = text[: len(text) - len(text.lstrip("*"))]
    kind = KEYWORD if parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD) else POSITIONAL
    default = None if parameter.default is parameter.empty else _default(parameter.default)
    return Parameter(stars + parameter.name, (plain(str(parameter.annotation)),), default, kind)


def _default(value: object) -> str:
    """Format a value as an expression."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return quoted(value) if isinstance(value, str) else repr(value)


def _operands(form: Form) -> Iterator[Form]:
    """Yield the overload for a Python operator, which passes only operands; nothing if an option is required."""
    operands = tuple(parameter for parameter in form.parameters if parameter.kind == POSITIONAL)
    if all(parameter.default is not None for parameter in form.parameters[len(operands) :]):
        yield Form(operands, form.result, form.doc)


def _target_of(node: ast.stmt) -> str | None:
    target = getattr(node, "target", None) or next(iter(getattr(node, "targets", [])), None)
    return target.id if isinstance(target, ast.Name) else None


def _renamed(statement: Statement, names: Names, shadowed: frozenset[str]) -> Statement:
    """Return a statement of the source with builtins that methods shadow replaced by their imported names."""
    taken = shadowed & _SHADOWABLE
    lines = list(statement.lines)
    ends = next((place for place, line in enumerate(lines) if line.lstrip().startswith('"""')), len(lines))
    for place in range(ends):
        head, separator, rest = _split(lines[place])
        lines[place] = head + separator + names.use_builtins(rest, taken)
    return Statement(statement.kind, tuple(lines))


_SHADOWABLE = frozenset(("bool", "int", "float", "complex", "str", "tuple", "list", "dict", "object", "type"))


def _split(line: str) -> tuple[str, str, str]:
    """Split a line after the name that it defines, since a method's name is not a type."""
    if line.startswith(("def ", "@")):
        return line.partition("(")
    return "", "", line


__all__ = ["TensorMethods"]
