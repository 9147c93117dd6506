"""Dispatcher state: all that a call depends on besides its arguments (guards, modes, default dtype and others).

It is one interned ``State`` in one context variable, so that plans are looked up by the identity of a single object,
and each thread and async task has its own. A new thread starts with the default state, whatever the starting thread has
set; this includes the default dtype, which PyTorch keeps per process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast
from weakref import WeakValueDictionary

from opdsl.dispatch.keys import AUTOCAST_KEYS, KeySet
from opdsl.runtime import scopes
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import DType, float32
from opdsl.runtime.forking import held_across_fork

P = ParamSpec("P")
R = TypeVar("R")

# inspect.CO_GENERATOR and similar flags; inspect itself is slow to import.
_GENERATOR = 0x20
_COROUTINE = 0x80
_ASYNC_GENERATOR = 0x200

PLAN_LIMIT = 4096  # most plans of one function, so that ever new shapes do not need unbounded memory


class State:
    """Dispatcher state; there is one object of each combination, so it is compared and hashed by identity.

    include: keys that are added to every call's key set.
    exclude: keys that are removed from every call's key set.
    grad_mode: whether autograd records.
    inference_mode: whether new tensors are inference tensors.
    modes: the dispatch modes that intercept calls, innermost last.
    recording: whether every call is reported to profilers (``record_calls``).
    lowering: whether calls are traced on symbolic arguments, to be lowered to a plan.
    checking: whether every call is checked against schemas and annotations.
    default_dtype: the dtype of floating-point results that no argument determines.
    devices: the current devices of device types, except those whose index is 0.
    plans: whether calls may be served by plans: not under modes that must see each call, and not with checks.
    unrecorded: the same state without recording.
    known: the states that guards without arguments change this one to, so that ``no_grad`` needs no look-up by value.
    """

    __slots__ = (
        "__weakref__",
        "checking",
        "default_dtype",
        "devices",
        "exclude",
        "grad_mode",
        "include",
        "inference_mode",
        "known",
        "lowering",
        "modes",
        "plans",
        "recording",
        "unrecorded",
    )

    include: KeySet
    exclude: KeySet
    grad_mode: bool
    inference_mode: bool
    modes: tuple[object, ...]
    recording: bool
    lowering: bool
    checking: bool
    default_dtype: DType
    devices: tuple[Device, ...]
    plans: bool
    unrecorded: State
    known: dict[Callable[[State], State], State]

    def change(
        self,
        *,
        include: KeySet | None = None,
        exclude: KeySet | None = None,
        grad_mode: bool | None = None,
        inference_mode: bool | None = None,
        modes: tuple[object, ...] | None = None,
        recording: bool | None = None,
        default_dtype: DType | None = None,
        devices: tuple[Device, ...] | None = None,
        checking: bool | None = None,
        lowering: bool | None = None,
    ) -> State:
        """Return the state that equals this one except for the given attributes."""
        return state_of(
            self.include if include is None else include,
            self.exclude if exclude is None else exclude,
            self.grad_mode if grad_mode is None else grad_mode,
            self.inference_mode if inference_mode is None else inference_mode,
            self.modes if modes is None else modes,
            self.recording if recording is None else recording,
            self.default_dtype if default_dtype is None else default_dtype,
            self.devices if devices is None else devices,
            self.checking if checking is None else checking,
            self.lowering if lowering is None else lowering,
        )

    def __repr__(self) -> str:
        names = ("include", "exclude", "grad_mode", "inference_mode", "modes", "recording", "default_dtype")
        parts = [f"{field}={getattr(self, field)!r}" for field in (*names, "devices", "checking")]
        return f"State({', '.join(parts)})"


# A state lives as long as it is current or a call cache has plans for it, so the table needs no bound.
_states: WeakValueDictionary[tuple[object, ...], State] = WeakValueDictionary()
# reentrant, since a finalizer that runs while the lock is held may use guards itself
_states_lock = held_across_fork(threading.RLock())


def state_of(
    include: KeySet,
    exclude: KeySet,
    grad_mode: bool,
    inference_mode: bool,
    modes: tuple[object, ...],
    recording: bool,
    default_dtype: DType,
    devices: tuple[Device, ...] = (),
    checking: bool = False,
    lowering: bool = False,
) -> State:
    """Return the unique state with the given attributes; modes are compared by identity."""
    flags = (grad_mode, inference_mode, recording, checking, lowering)
    key = (include.bits, exclude.bits, flags, tuple(map(id, modes)), default_dtype, devices)
    with _states_lock:
        state = _states.get(key)
        if state is None:
            state = _states[key] = State()
            state.include = include
            state.exclude = exclude
            state.grad_mode = grad_mode
            state.inference_mode = inference_mode
            # held by the state, so that no other object gets their ids while the state is in the table
            state.modes = modes
            state.recording = recording
            state.checking = checking
            state.lowering = lowering
            state.default_dtype = default_dtype
            state.devices = devices
            keeping = all(getattr(mode, "keeps_plans", False) for mode in modes)
            state.plans = keeping and not (checking or lowering)
            state.unrecorded = state.change(recording=False) if recording else state
            state.known = {}
        return state


DEFAULT_STATE = state_of(
    include=KeySet("BackendSelect", "ADInplaceOrView", "Common"),
    exclude=AUTOCAST_KEYS,
    grad_mode=True,
    inference_mode=False,
    modes=(),
    recording=False,
    default_dtype=float32,
    checking=os.environ.get("OPDSL_CHECKED", "0") not in ("", "0"),
)
"""State in which every thread starts: c10's default included and excluded sets, and the key Common."""

current: ContextVar[State] = ContextVar("opdsl_state", default=DEFAULT_STATE)
"""State of this thread and task; callers use ``current.get``."""


class Scope(scopes.Scope):
    """Context manager that changes the dispatcher state while it is entered; as a decorator, during each call.

    The body of a decorated generator function or coroutine function runs with the change.
    """

    __slots__ = ()

    def state_within(self, before: State) -> State:
        """Return the state inside of the scope, given the state outside."""
        raise NotImplementedError

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``runtime.scopes``."""
        return ((current, self.state_within(current.get())),)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function so that each call of it runs within this scope."""
        code = getattr(function, "__code__", None)
        flags: int = 0 if code is None else code.co_flags
        for flag, wrapper in _WRAPPERS.items():
            if flags & flag:
                return cast("Callable[P, R]", wrapper(self, function))

        @wraps(function)
        def within(*args: P.args, **kwargs: P.kwargs) -> R:
            with self:
                return function(*args, **kwargs)

        return within


class Guard(Scope):
    """Scope that changes the state by a function.

    Args:
        change: returns the new state for the current one.
        keep: whether states cache the result of ``change``; only for functions that live as long as their module.
    """

    __slots__ = ("_change", "_keep")

    def __init__(self, change: Callable[[State], State], *, keep: bool = False) -> None:
        self._change = change
        self._keep = keep

    def state_within(self, before: State) -> State:
        """See ``Scope``."""
        after = before.known.get(self._change)
        if after is None:
            after = self._change(before)
            if self._keep:
                before.known[self._change] = after
        return after


def _within_coroutine(guard: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def within(*args: object, **kwargs: object) -> object:
        with guard:
            return await function(*args, **kwargs)

    return within


def _within_generator(guard: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a generator function so that the guard is entered for each step, and left while the consumer's code runs."""

    @wraps(function)
    def within(*args: object, **kwargs: object) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        step = partial(generator.send, None)
        while True:
            try:
                with guard:
                    value = step()
            except StopIteration as stop:
                return stop.value
            try:
                step = partial(generator.send, (yield value))
            except GeneratorExit:
                with guard:
                    generator.close()
                raise
            except BaseException as error:
                step = partial(generator.throw, error)

    return within


def _within_async_generator(guard: Scope, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap an asynchronous generator function so that the guard is entered for each step only."""

    @wraps(function)
    async def within(*args: object, **kwargs: object) -> AsyncGenerator[Any, Any]:
        generator = function(*args, **kwargs)
        step = partial(generator.asend, None)
        while True:
            try:
                with guard:
                    value = await step()
            except StopAsyncIteration:
                return
            try:
                step = partial(generator.asend, (yield value))
            except GeneratorExit:
                with guard:
                    await generator.aclose()
                raise
            except BaseException as error:
                step = partial(generator.athrow, error)

    return within


_WRAPPERS = {
    _GENERATOR: _within_generator,
    _COROUTINE: _within_coroutine,
    _ASYNC_GENERATOR: _within_async_generator,
}


def change_for_good(**changes: Any) -> None:
    """Change the state permanently, including the states that currently entered scopes will restore."""
    scopes.change_what_scopes_restore(current, lambda state: state.change(**changes))
    current.set(current.get().change(**changes))


__all__ = ["DEFAULT_STATE", "Guard", "Scope", "State", "change_for_good", "current", "state_of"]
