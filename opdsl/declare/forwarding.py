"""Operators that are a call of another one, variant by variant: aliases, and those with some arguments fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from opdsl.declare.adapting import parameter_names
from opdsl.declare.signature import is_declaration, location
from opdsl.dispatch import Operator, Packet
from opdsl.errors import DeclarationError, KernelSignatureError
from opdsl.generated import function_from_source
from opdsl.schema.model import python_name

if TYPE_CHECKING:
    from opdsl.declare.declaration import Declaration

F = TypeVar("F", bound=Callable[..., object])

_MARK = "__opdsl_forward__"


@attrs.frozen
class Forward:
    """A call of another operator.

    target: the declaration of what is called; what it is not given is its default.
    order: arguments of the operator that the target takes in the places of its first ones; others are handed on by
        name.
    arguments: the target's other arguments: constants, or functions of the operator's arguments, by name.
    result: which of the target's results are the operator's; None for all.
    unused: arguments of the operator that count for nothing.
    """

    target: Declaration
    order: tuple[str, ...] = ()
    arguments: Mapping[str, object] = {}
    result: int | tuple[int, ...] | None = None
    unused: tuple[str, ...] = ()

    def __call__(self, function: F) -> F:
        """Say it of a function that ``@op`` declares."""
        function.__dict__[_MARK] = self
        return function


def forward(
    target: Callable[..., object],
    /,
    *order: str,
    result: int | tuple[int, ...] | None = None,
    unused: Iterable[str] = (),
    **arguments: object,
) -> Callable[[F], F]:
    """Say, beneath ``@op``, that an operator is a call of another one: what ``f.forward`` says beneath a declaration.

    ``f.derivative(self=forward(g, ...))`` says it of a gradient, whose arguments are ``grad`` and what formulas take.

    Args:
        target: a declared operator.
        order: names of arguments of this one, which the other takes in the places of its first ones.
        result: which of the other's results are this one's: a number, or several; all by default.
        unused: arguments of this one that count for nothing.
        arguments: the other's arguments that this one does not have: constants, or functions of this one's arguments,
            by name.

    Returns:
        A decorator of a function without a body, a formula for ``f.derivative``, and the answer of a row in a table.

    Raises:
        DeclarationError: the target is no declared operator; ``@op`` raises what ``f.forward`` raises.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.forward(opdsl.aminmax, dim=lambda rows: 1 if rows else 0, result=1)
    ...     def largest(self: opdsl.Tensor, rows: bool = True) -> opdsl.Tensor:
    ...         '''The largest element of each row, or of each column.'''
    ...     largest(opdsl.tensor([[1.0, 3.0], [2.0, 0.0]]))
    tensor([3., 2.])
    """

    return Forward(declaration_behind(target), order, arguments, result, tuple(unused))


def declaration_behind(target: Any) -> Declaration:
    """The declaration of what is called.

    Raises:
        DeclarationError: it is no declared operator.
    """
    declaration: Declaration | None = getattr(getattr(target, "operator", None), "declaration", None)
    if declaration is None:
        raise DeclarationError(
            f"forward({target!r}): that is no declared operator. Name the function that @op has made, or write a body."
        )
    return declaration


def forward_of(function: FunctionType) -> Forward | None:
    """What a function is said to call; None without ``forward``.

    Raises:
        DeclarationError: it has a body, too.
    """
    call: Forward | None = function.__dict__.get(_MARK)
    if call is not None and not is_declaration(function):
        raise DeclarationError(
            f"{location(function)}: {function.__name__} is a call of {call.target.name}, and has a body. Remove one."
        )
    return call


def forwarding(
    function: FunctionType, operator: Operator, packet: Packet, target: Operator, call: Forward
) -> FunctionType:
    """The kernel of an operator that calls another one.

    Args:
        function: the declared function, for its place in tracebacks.
        operator: whose arguments the kernel takes.
        packet: of the target.
        target: the variant that is called.
        call: how.

    Returns:
        A Python function of the operator's arguments.

    Raises:
        KernelSignatureError: there is no argument or result of that name, or one of the target's arguments is given
            twice or not at all.
    """
    names = [argument.python_name for argument in operator.schema.arguments]
    namespace: dict[str, object] = {f"forwarded_{name}": value for name, value in call.arguments.items()}
    namespace["__name__"] = __name__  # it is ours, and calls nothing but the operator
    namespace["forwarded_to"] = packet.operator_function(target)
    called = f"forwarded_to({', '.join(_passed(function, operator, target, call))})"
    wanted = _results(call)
    if wanted:
        namespace["picked"], called = itemgetter(*wanted), f"picked({called})"
    name, code = python_name(operator.schema.name.base), function.__code__
    source = f"def {name}({', '.join(names)}):\n    return {called}\n"
    return function_from_source(name, source, namespace, location=(code.co_filename, code.co_firstlineno))


def _results(call: Forward) -> tuple[int, ...]:
    """The results that are picked; none where they are handed on as they are."""
    return call.result if isinstance(call.result, tuple) else () if call.result is None else (call.result,)


def _passed(function: FunctionType, operator: Operator, target: Operator, call: Forward) -> list[str]:
    """What a call gives for each argument, as Python writes it; see ``forwarding``."""
    outs = {one.python_name: own.python_name for one, own in zip(target.schema.out, operator.schema.out, strict=False)}
    taken = [argument.python_name for argument in target.schema.arguments]
    names = [argument.python_name for argument in operator.schema.arguments]
    placed = {**dict(zip(taken, call.order, strict=False)), **outs}
    reads = {name: parameter_names(value) for name, value in call.arguments.items() if isinstance(value, FunctionType)}
    read = [parameter for parameters in reads.values() for parameter in parameters]
    handed = {*placed.values(), *call.unused, *(text for text in read if text not in taken or text in call.arguments)}
    by_name = [name for name in names if name not in handed]
    texts = [*placed, *by_name, *call.arguments]
    needed = [argument.python_name for argument in target.schema.arguments if argument.default is None]
    unknown = [dim for dim in (*call.order, *read, *call.unused) if dim not in names]
    faults = (
        (call.order[len(taken) :], "it has fewer arguments than are in order, '{}' is too many"),
        (unknown, f"{operator.schema} has no argument '{{}}'"),
        ([text for text in texts if text not in taken], "it has no argument '{}'"),
        ([text for text in texts if texts.count(text) > 1], "its '{}' is given twice"),
        ([text for text in needed if text not in texts], "its '{}' is not given"),
        ([result for result in _results(call) if not 0 <= result < len(target.schema.returns)], "it has no result {}"),
    )
    fault = next((problem.format(texts[0]) for texts, problem in faults if texts), "")
    if fault:
        raise KernelSignatureError(
            f"{location(function)}: {operator.name} cannot be forwarded to {target.schema}: {fault}. Name arguments of "
            "both alike, give those of this one in the order of the other's, or write a body."
        )
    passed = [f"{name}={own}" for name, own in placed.items()] + [f"{name}={name}" for name in by_name]
    calls = {name: f"({', '.join(parameters)})" for name, parameters in reads.items()}
    return passed + [f"{name}=forwarded_{name}{calls.get(name, '')}" for name in call.arguments]


def renamed(function: FunctionType, name: str, module: str, names: Mapping[str, str] | None = None) -> FunctionType:
    """A declared function under another name, as if it stood in a module; ``names`` are those of parameters."""
    other, code = names or {}, function.__code__
    code = code.replace(co_varnames=tuple(other.get(name, name) for name in code.co_varnames))
    function_type = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    function_type.__kwdefaults__ = {
        other.get(key, key): value for key, value in (function.__kwdefaults__ or {}).items()
    }
    function_type.__annotations__ = {other.get(key, key): value for key, value in function.__annotations__.items()}
    function_type.__module__, function_type.__qualname__ = module, name
    return function_type
