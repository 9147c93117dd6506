"""Conversion of dispatch state between opdsl and torch: default dtype, grad mode and inference mode."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache
from types import CodeType, FunctionType

import torch

from opdsl.dispatch import KeySet, State, current, inference_mode
from opdsl.dispatch.state import DEFAULT_STATE, Guard
from opdsl.errors import DeclarationError, UnsupportedModeError
from opdsl.interop.torch.tensors import DTYPES
from opdsl.runtime import DType

__all__ = ["is_as_in_torch", "refuse_scopes", "state_of_body", "state_of_call", "state_of_python", "within_torch"]

# Keys that modes include; modes are compared separately.
_OF_MODES = KeySet("Python", "PreDispatch")


def state_of_call() -> State:
    """Return the state for a call of compiled code: the current one with torch's default dtype."""
    state, default = current.get(), DTYPES[torch.get_default_dtype()]
    return state if state.default_dtype is default else state.change(default_dtype=default)


def state_of_python() -> State:
    """Return the state for a call of opdsl's Python code: the current one with torch's grad mode, inference mode and
    default dtype.
    """
    state = current.get()
    modes = DTYPES[torch.get_default_dtype()], torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    if (state.default_dtype, state.grad_mode, state.inference_mode) == modes:
        return state
    return _as_in_torch(*modes).state_within(state)


def state_of_body() -> State:
    """Return the state in which a body runs on torch tensors: without the modes and key guards around the call."""
    return _WITHOUT_MODES.state_within(state_of_python())


@lru_cache(maxsize=64)
def _as_in_torch(default_dtype: DType, grad_mode: bool, is_inference: bool) -> Guard:
    def change(state: State) -> State:
        if state.inference_mode is not is_inference:
            state = inference_mode(is_inference).state_within(state)
        return state.change(default_dtype=default_dtype, grad_mode=grad_mode)

    return Guard(change, keep=True)


def _without_modes(state: State) -> State:
    return state.change(modes=(), devices=(), include=_plain(state).include, exclude=_plain(state).exclude)


_WITHOUT_MODES = Guard(_without_modes, keep=True)


def _plain(state: State) -> State:
    """Return the default state, in inference mode if the given state is."""
    return inference_mode().state_within(DEFAULT_STATE) if state.inference_mode else DEFAULT_STATE


def is_as_in_torch(state: State) -> bool:
    """Return whether torch's grad mode, inference mode and default dtype equal those of a state, and it sets nothing
    else.
    """
    return (
        state.grad_mode is torch.is_grad_enabled()
        and state.inference_mode is torch.is_inference_mode_enabled()
        and state.default_dtype is DTYPES[torch.get_default_dtype()]
        and _is_plain(state)
    )


@lru_cache(maxsize=256)
def _is_plain(state: State) -> bool:
    """Return whether a state only sets modes that torch has as well."""
    plain = _plain(state)
    has_keys = state.exclude == plain.exclude and state.include - _OF_MODES == plain.include
    return has_keys and not (state.devices or state.modes)


def within_torch(name: str, state: State) -> AbstractContextManager[object]:
    """Return a context manager that sets torch's modes for a call that a body makes in a state.

    Args:
        name: of the operator that is called.
        state: of the call.

    Raises:
        UnsupportedModeError: the body has set something that torch has no counterpart of.
    """
    _require_known(name, state)
    stack = ExitStack()
    if state.inference_mode is not torch.is_inference_mode_enabled():
        stack.enter_context(torch.inference_mode(state.inference_mode))
    stack.enter_context(torch.set_grad_enabled(state.grad_mode))
    for device in state.devices:
        stack.enter_context(torch.cuda.device(device.index))
    return stack


def _require_known(name: str, state: State) -> None:
    plain = _plain(state)
    if state.modes:
        raise UnsupportedModeError(
            f"{name} is called by a body within the mode {type(state.modes[-1]).__name__}, which sees calls below "
            "autograd: on PyTorch's tensors PyTorch's autograd runs. Set before_decomposition = True in it, or enter "
            "it around the call from PyTorch."
        )
    if state.default_dtype is not DTYPES[torch.get_default_dtype()]:
        raise UnsupportedModeError(
            f"{name} is called by a body that sets the default dtype ({state.default_dtype}), which in PyTorch is the "
            "process's and not the body's. Pass dtype= where the body creates tensors."
        )
    if state.exclude != plain.exclude or state.include - _OF_MODES != plain.include:
        raise UnsupportedModeError(
            f"{name} is called by a body within include_keys, exclude_keys or below_autograd: on PyTorch's tensors "
            "PyTorch's dispatcher runs, which knows nothing of these. Use opdsl.no_grad to leave gradients out."
        )


# Guards that a body on torch's tensors cannot enter.
_REFUSED = ("below_autograd", "exclude_keys", "include_keys", "set_default_dtype")


def refuse_scopes(name: str, functions: Sequence[FunctionType]) -> None:
    """Refuse a body that enters a scope that torch has no counterpart of. Callees are checked when they are called.

    Args:
        name: of the operator.
        functions: its bodies.

    Raises:
        DeclarationError: a body enters such a scope.
    """
    for function in functions:
        refused = [text for text in _REFUSED if text in _names(function.__code__)]
        if refused:
            raise DeclarationError(
                f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}: {name} cannot be registered in "
                f"PyTorch: its body uses {refused[0]}, and on PyTorch's tensors PyTorch's dispatcher runs, which knows "
                "nothing of it. Leave gradients out with opdsl.no_grad, pass dtype= where the body creates tensors, or "
                'declare the body as a kernel: @op(kernel="CPU").'
            )


def _names(code: CodeType) -> set[str]:
    return set(code.co_names).union(*(_names(nested) for nested in code.co_consts if isinstance(nested, CodeType)))
