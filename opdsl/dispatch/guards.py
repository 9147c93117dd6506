"""Guards that change the dispatcher state: grad mode, inference mode, included and excluded keys, default dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, overload

from opdsl.dispatch.keys import AUTOGRAD_KEYS, DispatchKey, KeySet
from opdsl.dispatch.state import Guard, State, change_for_good, current
from opdsl.errors import DTypeError
from opdsl.runtime import values
from opdsl.runtime.dtype import DType

P = ParamSpec("P")
R = TypeVar("R")


def _without_grad(state: State) -> State:
    return state.change(grad_mode=False)


def _with_grad(state: State) -> State:
    return state.change(grad_mode=True)


@overload
def no_grad() -> Guard: ...
@overload
def no_grad(function: Callable[P, R]) -> Callable[P, R]: ...
def no_grad(function: Callable[P, R] | None = None) -> Guard | Callable[P, R]:
    """Disable gradient recording: ``with no_grad():``, ``@no_grad()`` or ``@no_grad``.

    Args:
        function: a function, generator or coroutine function to decorate.

    Returns:
        A guard of this thread or task, to enter or to decorate with; the decorated function, if one is given.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """
    guard = Guard(_without_grad, keep=True)
    return guard if function is None else guard(function)


@overload
def enable_grad() -> Guard: ...
@overload
def enable_grad(function: Callable[P, R]) -> Callable[P, R]: ...
def enable_grad(function: Callable[P, R] | None = None) -> Guard | Callable[P, R]:
    """Enable gradient recording, also within ``no_grad``: ``with enable_grad():`` or ``@enable_grad``.

    Args:
        function: see ``no_grad``.

    Returns:
        A guard, or the decorated function, like ``no_grad``.

    >>> with no_grad(), enable_grad():
    ...     is_grad_enabled()
    True
    """
    guard = Guard(_with_grad, keep=True)
    return guard if function is None else guard(function)


def set_grad_enabled(mode: bool) -> Guard:
    """Return ``enable_grad()`` or ``no_grad()``, by the argument; unlike PyTorch's, it has no effect until entered.

    Args:
        mode: whether autograd records.

    Returns:
        A guard, to enter or to decorate with.

    >>> with set_grad_enabled(False):
    ...     is_grad_enabled()
    False
    """
    return Guard(_with_grad if mode else _without_grad, keep=True)


_ADINPLACE_OR_VIEW = KeySet("ADInplaceOrView")


def _inference(state: State) -> State:
    return state.change(
        include=state.include - _ADINPLACE_OR_VIEW,
        exclude=state.exclude | AUTOGRAD_KEYS,
        grad_mode=False,
        inference_mode=True,
    )


def _no_inference(state: State) -> State:
    return state.change(
        include=state.include | _ADINPLACE_OR_VIEW,
        exclude=state.exclude - AUTOGRAD_KEYS,
        grad_mode=True,
        inference_mode=False,
    )


@overload
def inference_mode(mode: bool = True) -> Guard: ...
@overload
def inference_mode(mode: Callable[P, R]) -> Callable[P, R]: ...
def inference_mode(mode: bool | Callable[P, R] = True) -> Guard | Callable[P, R]:
    """Disable autograd and view tracking altogether, as c10's InferenceMode guard; ``False`` enables them again.

    Args:
        mode: whether autograd and view tracking are off; or a function to decorate.

    Returns:
        A guard, or the decorated function, like ``no_grad``.

    >>> import opdsl
    >>> with inference_mode():
    ...     (opdsl.ones(2, requires_grad=True) * 2).requires_grad
    False
    """
    if callable(mode):
        return Guard(_inference, keep=True)(mode)
    return Guard(_inference if mode else _no_inference, keep=True)


def include_keys(*keys: DispatchKey | str) -> Guard:
    """Add dispatch keys to the key set of every call within the guard.

    Args:
        keys: dispatch keys, or their names.

    Returns:
        A guard of this thread or task, to enter or to decorate with.

    Raises:
        DispatchKeyError: a name is no dispatch key, or is an alias key.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     def kind(self: opdsl.Tensor) -> str: ...
    ...     _ = kind.kernel("CPU")(lambda self: "plain")
    ...     _ = kind.kernel("PrivateUse1")(lambda self: "private")
    ...     with include_keys("PrivateUse1"):
    ...         kind(opdsl.ones(2))
    'private'
    """
    added = KeySet(*keys)
    return Guard(lambda state: state.change(include=state.include | added))


def exclude_keys(*keys: DispatchKey | str) -> Guard:
    """Remove dispatch keys from every call's key set; a functionality is removed for all backends.

    Args:
        keys: dispatch keys, or their names.

    Returns:
        A guard of this thread or task, to enter or to decorate with.

    Raises:
        DispatchKeyError: a name is no dispatch key, or is an alias key.

    >>> import opdsl
    >>> with exclude_keys("AutogradCPU"):
    ...     (opdsl.ones(2, requires_grad=True) * 2).requires_grad
    False
    """
    added = KeySet(*keys)
    return Guard(lambda state: state.change(exclude=state.exclude | added))


def below_autograd() -> Guard:
    """Dispatch calls below autograd, as autograd's own kernels do (c10's AutoDispatchBelowADInplaceOrView)."""
    return Guard(_below_autograd, keep=True)


def _below_autograd(state: State) -> State:
    return state.change(exclude=state.exclude | AUTOGRAD_KEYS | _ADINPLACE_OR_VIEW)


# ---------------------------------------------------------------------------------------------------------------- reads


def is_grad_enabled() -> bool:
    """Return whether gradient recording is enabled.

    >>> import opdsl
    >>> with opdsl.no_grad():
    ...     opdsl.is_grad_enabled()
    False
    """
    return current.get().grad_mode


def is_followed() -> bool:
    """Return whether autograd would record a call made now: grad mode is on, and no kernel below autograd runs."""
    state = current.get()
    return state.grad_mode and not state.exclude & AUTOGRAD_KEYS


values.ask_autograd(is_followed)


def is_inference_mode_enabled() -> bool:
    """Return whether ``inference_mode`` is on.

    >>> import opdsl
    >>> with opdsl.inference_mode():
    ...     opdsl.is_inference_mode_enabled()
    True
    """
    return current.get().inference_mode


def get_default_dtype() -> DType:
    """Return the dtype of floating-point results that no argument determines; float32 unless it was set.

    >>> import opdsl
    >>> opdsl.get_default_dtype()
    opdsl.float32
    """
    return current.get().default_dtype


def set_default_dtype(dtype: DType) -> None:
    """Set the default dtype of this thread or task, until it is set again.

    Args:
        dtype: a real floating-point dtype.

    Raises:
        DTypeError: the argument is no such dtype.

    >>> import opdsl
    >>> opdsl.set_default_dtype(opdsl.float64)
    >>> opdsl.tensor([0.5]).dtype
    opdsl.float64
    >>> opdsl.set_default_dtype(opdsl.float32)
    """
    if not isinstance(dtype, DType) or not dtype.is_floating_point:
        raise DTypeError(f"the default dtype must be a floating-point dtype such as opdsl.float64 (got {dtype!r}).")
    change_for_good(default_dtype=dtype)


__all__ = [
    "below_autograd",
    "enable_grad",
    "exclude_keys",
    "get_default_dtype",
    "include_keys",
    "inference_mode",
    "is_followed",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_default_dtype",
    "set_grad_enabled",
]
