"""Signatures of packet calls: the first declaration's, and those that are added to it.

These are the signatures of overloads, ``out=`` if there is such a variant, and a list of ints passed as separate
arguments. They follow from decorators, which mypy's cache does not keep; so they are also encoded in the names of
symbols of the module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs
from mypy.checker import TypeChecker
from mypy.nodes import (
    ARG_NAMED_OPT,
    ARG_POS,
    ARG_STAR,
    AssignmentStmt,
    CallExpr,
    Decorator,
    DictExpr,
    Expression,
    MemberExpr,
    NameExpr,
    RefExpr,
    Statement,
    StrExpr,
)
from mypy.plugin import MethodSigContext
from mypy.types import (
    CallableType,
    FunctionLike,
    Instance,
    NoneType,
    Overloaded,
    TupleType,
    Type,
    UnionType,
    get_proper_type,
)

from opdsl.typing.annotations import LISTS
from opdsl.typing.syntax import blocks, called, is_declaring

OPERATOR = "opdsl.declare.operator.Operator"
_PREFIX = "_opdsl_calls"
# Prefix of the argument of an overload that takes a number for it.
_NUMBER = "number:"
# Prefix of the arguments that an overload of a table lacks.
_LACKING = "lacking:"

SignatureHook = Callable[[MethodSigContext], FunctionLike]


@attrs.frozen
class Calls:
    """Description of the ways to call a packet.

    name: of the function that its first declaration defines.
    has_out: whether ``out=`` may be passed.
    overloads: the names of the functions that declare its other overloads, or how these differ.
    """

    name: str
    has_out: bool
    overloads: tuple[str, ...]

    @property
    def symbol(self) -> str:
        """Return the description encoded as the name of a symbol."""
        return f"{_PREFIX} {self.name} {'out' if self.has_out else '-'} {' '.join(self.overloads)}"

    @staticmethod
    def of(symbol: str) -> Calls:
        """Decode the name of a symbol."""
        _, name, out, *overloads = symbol.split()
        return Calls(name, out == "out", tuple(overloads))


def calls_in(block: Iterable[Statement]) -> Iterator[Calls]:
    """Yield the ways to call the packets that a block declares, if they differ from the signature of the first
    declaration.
    """
    overloads: dict[str, list[str]] = {}
    with_out: dict[str, bool] = {}
    for statement in block:
        if isinstance(statement, AssignmentStmt):
            packet, parameter = _number_overload(statement.rvalue)
            if packet:
                overloads.setdefault(packet, []).append(_NUMBER + parameter)
        if not isinstance(statement, Decorator):
            continue
        for decorator in filter(is_declaring, statement.original_decorators):
            name, kind, packet = statement.func.name, *_kind(decorator)
            overloads.setdefault(name, []).extend(_table(decorator))
            with_out[name] = with_out.get(name, False) or _has_out(decorator)
            if kind == "overload":
                overloads.setdefault(packet, []).append(name)
            elif kind == "out_variant":
                with_out[packet] = True
    for name, others in overloads.items():
        if others or with_out.get(name):
            yield Calls(name, with_out.get(name, False), tuple(others))


def _kind(decorator: Expression) -> tuple[str, str]:
    """Return the last name of a decorator, and the name before it if there is exactly one."""
    callee = called(decorator)
    if not isinstance(callee, MemberExpr):
        return "op", ""
    return callee.name, callee.expr.name if isinstance(callee.expr, NameExpr) else ""


def _number_overload(value: Expression) -> tuple[str, str]:
    """Return the packet and the argument of ``f.number_overload("other")``; empty texts for other expressions."""
    callee = value.callee if isinstance(value, CallExpr) else None
    if not isinstance(callee, MemberExpr) or callee.name != "number_overload" or not isinstance(value, CallExpr):
        return "", ""
    first = value.args[0] if value.args else None
    if not isinstance(callee.expr, NameExpr) or not isinstance(first, StrExpr):
        return "", ""
    return callee.expr.name, first.value


def _option(call: Expression, name: str) -> Expression | None:
    return dict(zip(call.arg_names, call.args, strict=True)).get(name) if isinstance(call, CallExpr) else None


def _table(decorator: Expression) -> Iterator[str]:
    """Yield the arguments that overloads lack, according to ``overloads={"name": Overload(fixed={...})}``."""
    for _, expression in _items(_option(decorator, "overloads")):
        lacks = ",".join(name for name, _ in _items(_option(expression, "fixed")))
        if lacks:
            yield f"{_LACKING}{lacks}"


def _items(value: Expression | None) -> Iterator[tuple[str, Expression]]:
    """Yield the items of a dict literal, by name."""
    for key, item in value.items if isinstance(value, DictExpr) else ():
        if isinstance(key, StrExpr):
            yield key.value, item


def _has_out(decorator: Expression) -> bool:
    value = _option(decorator, "out")
    return value is not None and not (isinstance(value, NameExpr) and value.name == "False")


# -------------------------------------------------------------------------------------------- when calls are checked


def call(context: MethodSigContext) -> FunctionLike:
    """Return the signatures of a packet call, one for each overload and form."""
    first = context.default_signature
    expression = context.context
    if not isinstance(expression, CallExpr) or not isinstance(expression.callee, RefExpr):
        return first
    node = expression.callee.node
    if not isinstance(node, Decorator) or not isinstance(context.api, TypeChecker):
        return first
    items = [form for signature, calls in _signatures(node, first, context.api) for form in _forms(signature, calls)]
    return items[0] if len(items) == 1 else Overloaded(items)


def _signatures(
    packet: Decorator, first: CallableType, checker: TypeChecker
) -> Iterator[tuple[CallableType, Calls | None]]:
    known = _known(packet, checker)
    own = known.get(packet.name)
    declared = {} if own is None else _declared(packet, checker)
    yield from _derived(first, own, checker)
    for name in () if own is None else own.overloads:
        other = declared.get(name)
        if other is not None and isinstance(other.func.type, CallableType):
            yield from _derived(other.func.type.copy_modified(name=first.name), known.get(name), checker)


def _derived(
    signature: CallableType, calls: Calls | None, checker: TypeChecker
) -> Iterator[tuple[CallableType, Calls | None]]:
    """Yield a signature, and those of overloads derived from its declaration."""
    yield signature, calls
    for overload in () if calls is None else calls.overloads:
        if overload.startswith(_NUMBER):
            yield _with_number(signature, overload.removeprefix(_NUMBER), checker), calls
        elif overload.startswith(_LACKING):
            yield _without(signature, overload.removeprefix(_LACKING).split(",")), calls


def _without(signature: CallableType, names: Sequence[str]) -> CallableType:
    """Return a signature without some arguments."""
    kept = [index for index, name in enumerate(signature.arg_names) if name not in names]
    return signature.copy_modified(
        arg_types=[signature.arg_types[index] for index in kept],
        arg_kinds=[signature.arg_kinds[index] for index in kept],
        arg_names=[signature.arg_names[index] for index in kept],
    )


def _with_number(signature: CallableType, parameter: str, checker: TypeChecker) -> CallableType:
    """Return a signature with a number in place of a tensor."""
    number = checker.named_type("builtins.complex")  # int and float are promoted to it
    pairs = zip(signature.arg_names, signature.arg_types, strict=True)
    return signature.copy_modified(arg_types=[number if name == parameter else kind for name, kind in pairs])


def _known(packet: Decorator, checker: TypeChecker) -> dict[str, Calls]:
    """Return the call descriptions of the packets declared in the same module or function as this one."""
    if _is_local(packet):
        groups: Iterable[Calls] = calls_in(_block_of(packet, checker))
    else:
        module = checker.modules.get(packet.fullname.rpartition(".")[0])
        groups = [] if module is None else [Calls.of(name) for name in module.names if name.startswith(_PREFIX)]
    return {calls.name: calls for calls in groups}


def _declared(packet: Decorator, checker: TypeChecker) -> dict[str, Decorator]:
    """Return the decorated functions in the module or function that declares a packet."""
    if _is_local(packet):
        return {
            statement.name: statement for statement in _block_of(packet, checker) if isinstance(statement, Decorator)
        }
    names = checker.modules[packet.fullname.rpartition(".")[0]].names
    return {name: symbol.node for name, symbol in names.items() if isinstance(symbol.node, Decorator)}


def _is_local(packet: Decorator) -> bool:
    """Return whether a packet is declared inside a function."""
    return "." not in packet.fullname


def _block_of(packet: Decorator, checker: TypeChecker) -> list[Statement]:
    return next((block for block in blocks(checker.tree.defs) if any(statement is packet for statement in block)), [])


def _forms(signature: CallableType, calls: Calls | None) -> Iterator[CallableType]:
    """Yield a signature with ``out=`` if allowed, and its form with a list of ints passed as separate arguments."""
    full = _with_out(signature) if calls is not None and calls.has_out else signature
    yield full
    positional = [index for index, kind in enumerate(full.arg_kinds) if kind.is_positional()]
    if len(positional) == 1 and full.arg_kinds[positional[0]] == ARG_POS:
        kind = get_proper_type(full.arg_types[positional[0]])
        if isinstance(kind, Instance) and kind.type.fullname in LISTS and _is_int(kind.args[0]):
            types = [kind.args[0], *full.arg_types[1:]]
            yield full.copy_modified(
                arg_types=types, arg_kinds=[ARG_STAR, *full.arg_kinds[1:]], arg_names=[None, *full.arg_names[1:]]
            )


def _is_int(kind: Type) -> bool:
    proper = get_proper_type(kind)
    return isinstance(proper, Instance) and proper.type.fullname == "builtins.int"


def _with_out(signature: CallableType) -> CallableType:
    """Return a signature with ``out=``, which takes a tensor or a plain tuple of tensors."""
    if "out" in signature.arg_names:
        return signature  # the declared function has the parameter itself
    result = get_proper_type(signature.ret_type)
    if isinstance(result, TupleType):
        result = TupleType(result.items, _plain_tuple(result))
    return signature.copy_modified(
        arg_types=[*signature.arg_types, UnionType.make_union([result, NoneType()])],
        arg_kinds=[*signature.arg_kinds, ARG_NAMED_OPT],
        arg_names=[*signature.arg_names, "out"],
    )


def _plain_tuple(named: TupleType) -> Instance:
    """Return the type ``tuple`` that a NamedTuple derives from."""
    bases = [base for base in named.partial_fallback.type.mro if base.fullname == "builtins.tuple"]
    return Instance(bases[0], [UnionType.make_union(named.items)])


HOOKS: dict[str, SignatureHook] = {f"{OPERATOR}.__call__": call}
"""Hooks for methods whose signatures depend on the object that they are called on, by full name."""
