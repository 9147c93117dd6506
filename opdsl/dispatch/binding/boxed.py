"""Boxed calls: fallbacks that serve every operator take the operator, a tuple of arguments and a dict of keywords.

Arguments at their default are left out, as in PyTorch's calls of Python fallbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NoReturn

from opdsl.dispatch.binding.arguments import value_key
from opdsl.dispatch.binding.results import checked_result
from opdsl.dispatch.binding.signature import bind, own_signature
from opdsl.dispatch.keys import KeySet
from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import MissingKernelError

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

Boxed = Callable[..., object]
Arguments = tuple[tuple[object, ...], dict[str, object]]


def box(operator: Operator, arguments: tuple[object, ...]) -> Arguments:
    """Convert schema-ordered arguments to the positional and keyword arguments of the operator's function.

    Args:
        operator: the operator that is called.
        arguments: the converted arguments, in the order of its schema.

    Returns:
        The positional and the keyword arguments, without those at their default; several outputs are one tuple.
    """
    signature = own_signature(operator)
    values = dict(zip((argument.python_name for argument in operator.schema.arguments), arguments, strict=True))
    positional: list[object] = []
    named: dict[str, object] = {}
    kept = 0
    for parameter in signature.parameters:
        if parameter.name not in values:
            continue  # requires_grad= is handled by the caller
        value = values[parameter.name]
        at_default = _is_same(value, parameter.default)
        if not parameter.keyword_only:
            positional.append(value)
            kept = kept if at_default else len(positional)
        elif not at_default:
            named[parameter.name] = value
    if signature.out_names:
        outs = tuple(values[out_name] for out_name in signature.out_names)
        named["out"] = outs[0] if len(outs) == 1 else outs
    return tuple(positional[:kept]), named


def _is_same(value: object, default: object) -> bool:
    """Return whether a value equals the default; ``1.0`` and ``True`` are not ``1``, and ``-0.0`` is not ``0.0``."""
    if value is default:
        return True
    is_equal = type(value) is type(default) and isinstance(value, (int, float, str, tuple)) and value == default
    return is_equal and value_key(value) == value_key(default)


def unbox(operator: Operator, positional: tuple[object, ...], named: Mapping[str, object]) -> tuple[object, ...]:
    """Return the arguments of a call of an operator's function in the order of its schema, checked and converted.

    Raises:
        ArgumentError: the arguments do not fit the schema.
    """
    return bind(operator.schema.name.base, (own_signature(operator),), positional, named).arguments


class PerCallKernel(Kernel):
    """Kernel that serves every operator: ``for_call`` returns the kernel for one operator and one key set."""

    __slots__ = ()

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """See ``Kernel``."""
        raise NotImplementedError

    def __call__(self, *arguments: object) -> NoReturn:
        """Raise an error: without an operator, the kernel cannot be called.

        Raises:
            MissingKernelError: always.
        """
        raise MissingKernelError(f"{self} serves every operator; the dispatcher calls it for one of them.")


class BoxedKernel(PerCallKernel):
    """Kernel that serves every operator at a dispatch key by one Python function: a backend's fallback.

    Args:
        function: takes the operator's function, the positional and the keyword arguments; with ``wants_key_set`` the
            call's key set comes first. Returns the results that the operator's schema declares.
        wants_key_set: whether the function takes the key set as its first argument.
    """

    # The function must see each call, since it may do anything.
    sees_calls = True

    __slots__ = ("function", "wants_key_set")

    def __init__(self, function: Boxed, *, wants_key_set: bool = False) -> None:
        self.function = function
        self.wants_key_set = wants_key_set

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """See ``Kernel``."""
        return _BoxedCall(self, operator, keys)

    def __str__(self) -> str:
        function_name = getattr(self.function, "__qualname__", None)
        return function_name if isinstance(function_name, str) else repr(self.function)


class _BoxedCall(Kernel):
    """Fallback bound to one operator and one key set."""

    __slots__ = ("fallback", "keys", "operator")

    def __init__(self, fallback: BoxedKernel, operator: Operator, keys: KeySet) -> None:
        self.fallback = fallback
        self.operator = operator
        self.keys = keys

    def __call__(self, *arguments: object) -> object:
        operator, fallback = self.operator, self.fallback
        positional, named = box(operator, arguments)
        first = (self.keys,) if fallback.wants_key_set else ()
        result = fallback.function(*first, operator.function, positional, named)
        return checked_result(operator.schema, arguments, result, lambda: f"{operator.name}: the fallback {fallback}")


__all__ = ["BoxedKernel", "PerCallKernel", "box", "unbox"]
