"""Operators that call another operator, variant by variant: aliases, and operators with some arguments fixed."""

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
    """Description of an operator as a call of another operator; also the decorator that ``@forward`` returns.

    target: declaration of the called operator; arguments that it is not given have their defaults.
    order: names of arguments that are passed as the target's first ones; others are passed by name.
    arguments: the target's further arguments: constants, or functions of the operator's arguments, by name.
    result: index or indices of the target's results to return; None for all.
    unused: arguments of the operator that are ignored.
    """

    target: Declaration
    order: tuple[str, ...] = ()
    arguments: Mapping[str, object] = {}
    result: int | tuple[int, ...] | None = None
    unused: tuple[str, ...] = ()

    def __call__(self, function: F) -> F:
        """Mark a function, so that ``@op`` declares its operator as this call."""
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
    """Declare, below ``@op``, that an operator is a call of another one; ``f.forward`` does so after a declaration.

    ``f.derivative(self=forward(g, ...))`` declares a gradient so; its arguments are ``grad`` and those that formulas
    take.

    Args:
        target: a declared operator.
        order: names of this operator's arguments, which the target takes as its first ones.
        result: index or indices of the target's results to return; all by default.
        unused: arguments of this operator that are ignored.
        arguments: the target's arguments that this operator does not have: constants, or functions of this operator's
            arguments, by name.

    Returns:
        A decorator of a function without a body; also a value for ``f.derivative``, or for a row of an operator table.

    Raises:
        DeclarationError: the target is no declared operator; ``@op`` raises the errors that ``f.forward`` raises.

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
    """Return the declaration of the operator that a function calls.

    Raises:
        DeclarationError: it is no declared operator.
    """
    declaration: Declaration | None = getattr(getattr(target, "operator", None), "declaration", None)
    if declaration is None:
        raise DeclarationError(
            f"forward({target!r}): this is no declared operator. Name a function that @op has declared, or write a "
            "body."
        )
    return declaration


def forward_of(function: FunctionType) -> Forward | None:
    """Return the call that ``@forward`` marked a function with; None without ``@forward``.

    Raises:
        DeclarationError: it has a body, too.
    """
    call: Forward | None = function.__dict__.get(_MARK)
    if call is not None and not is_declaration(function):
        raise DeclarationError(
            f"{location(function)}: {function.__name__} forwards to {call.target.name}, but also has a body. Remove "
            "one of them."
        )
    return call


def forwarding(
    function: FunctionType, operator: Operator, packet: Packet, target: Operator, call: Forward
) -> FunctionType:
    """Generate the kernel of an operator that calls another one.

    Args:
        function: the declared function, for its location in tracebacks.
        operator: the operator whose arguments the kernel takes.
        packet: packet of the target.
        target: the variant that is called.
        call: the arguments and results of the call.

    Returns:
        A Python function of the operator's arguments.

    Raises:
        KernelSignatureError: there is no argument or result of that name, or one of the target's arguments is given
            twice or not at all.
    """
    names = [argument.python_name for argument in operator.schema.arguments]
    namespace: dict[str, object] = {f"forwarded_{name}": value for name, value in call.arguments.items()}
    namespace["__name__"] = __name__  # counts as library code: it calls nothing but the operator
    namespace["forwarded_to"] = packet.operator_function(target)
    called = f"forwarded_to({', '.join(_passed(function, operator, target, call))})"
    wanted = _results(call)
    if wanted:
        namespace["picked"], called = itemgetter(*wanted), f"picked({called})"
    name, code = python_name(operator.schema.name.base), function.__code__
    source = f"def {name}({', '.join(names)}):\n    return {called}\n"
    return function_from_source(name, source, namespace, location=(code.co_filename, code.co_firstlineno))


def _results(call: Forward) -> tuple[int, ...]:
    """Return the indices of the target's results to return; empty for all."""
    return call.result if isinstance(call.result, tuple) else () if call.result is None else (call.result,)


def _passed(function: FunctionType, operator: Operator, target: Operator, call: Forward) -> list[str]:
    """Return the arguments with which a forwarding kernel calls its target, as Python source."""
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
        (call.order[len(taken) :], "it has fewer arguments than are passed: '{}' is too many"),
        (unknown, f"{operator.schema} has no argument '{{}}'"),
        ([text for text in texts if text not in taken], "it has no argument '{}'"),
        ([text for text in texts if texts.count(text) > 1], "its '{}' is given twice"),
        ([text for text in needed if text not in texts], "its '{}' is not given"),
        ([place for place in _results(call) if not 0 <= place < len(target.schema.returns)], "it has no result {}"),
    )
    fault = next((problem.format(texts[0]) for texts, problem in faults if texts), "")
    if fault:
        raise KernelSignatureError(
            f"{location(function)}: {operator.name} cannot be forwarded to {target.schema}: {fault}. Give the "
            "arguments of both the same names, pass them in the order of the other operator, or write a body."
        )
    passed = [f"{name}={own}" for name, own in placed.items()] + [f"{name}={name}" for name in by_name]
    calls = {name: f"({', '.join(parameters)})" for name, parameters in reads.items()}
    return passed + [f"{name}=forwarded_{name}{calls.get(name, '')}" for name in call.arguments]


def renamed(function: FunctionType, name: str, module: str, names: Mapping[str, str] | None = None) -> FunctionType:
    """Return a copy of a function with another name, module and parameter names."""
    other, code = names or {}, function.__code__
    code = code.replace(co_varnames=tuple(other.get(name, name) for name in code.co_varnames))
    function_type = FunctionType(code, function.__globals__, name, function.__defaults__, function.__closure__)
    function_type.__kwdefaults__ = {
        other.get(key, key): value for key, value in (function.__kwdefaults__ or {}).items()
    }
    function_type.__annotations__ = {other.get(key, key): value for key, value in function.__annotations__.items()}
    function_type.__module__, function_type.__qualname__ = module, name
    return function_type
