"""What a call depends on besides its arguments: guards, grad mode, modes, recorders, the default dtype, the devices.

All of it is one interned ``State`` in one context variable, so that a caller finds its plans by the identity of a
single object, and threads and async tasks each have their own. A new thread starts from the default state, whatever
the one that starts it has set; so does the default dtype, which PyTorch keeps per process.
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

# inspect.CO_GENERATOR and so on; inspect itself is slow to import.
_GENERATOR = 0x20
_COROUTINE = 0x80
_ASYNC_GENERATOR = 0x200

PLAN_LIMIT = 4096  # plans of one function; a stream of ever new shapes must not grow without bound


class State:
    """One combination of everything below; there is one object of each, so it is compared and hashed by identity.

    include: keys that every call's key set gets.
    exclude: keys that every call's key set loses.
    grad_mode: whether autograd records.
    inference_mode: whether tensors made are inference tensors.
    modes: what intercepts every call, innermost last.
    recording: whether every call is reported to the recorders.
    lowering: whether calls are made on symbols, to be lowered for a form.
    checking: whether every call is held against schemas and annotations.
    default_dtype: of floating-point results that no argument decides.
    devices: those that are meant by their type alone, where that is not the first of the type.
    plans: whether calls may be answered from a plan; a mode wants to see each of them, and so do checks.
    unrecorded: the same without recording.
    known: what the guards without arguments make of this state, so that ``no_grad`` costs no look-up by value.
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
        """The state that differs from this one in what is given."""
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
        parts = [f"{name}={getattr(self, name)!r}" for name in (*names, "devices", "checking")]
        return f"State({', '.join(parts)})"


# A state lives as long as it is current somewhere or a caller has plans for it, so the table needs no bound of its own.
_states: WeakValueDictionary[tuple[object, ...], State] = WeakValueDictionary()
_states_lock = held_across_fork(threading.RLock())  # a finaliser that runs within it may use guards itself


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
    """The one state of this combination. Modes are told apart by identity."""
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
            state.modes = modes  # held by the state, so their ids stay theirs as long as it is in the table
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
"""Where every thread starts (c10's default included and excluded sets, and our Common key)."""

current: ContextVar[State] = ContextVar("opdsl_state", default=DEFAULT_STATE)
"""The state of this thread and task; ``current.get`` is what callers use."""


class Scope(scopes.Scope):
    """A context manager that changes the state while it is entered; as a decorator, during each call.

    A decorated generator function or coroutine function has the change while its body runs.
    """

    __slots__ = ()

    def state_within(self, before: State) -> State:
        """What it makes of the state that it is entered in."""
        raise NotImplementedError

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``runtime.scopes``."""
        return ((current, self.state_within(current.get())),)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """The function, each call of which runs within this guard."""
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
    """A scope made of a function.

    Args:
        change: what it makes of the state.
        keep: whether the states keep what it makes of them; for functions that live as long as their module.
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
    """Enters the guard for each step of the generator, and leaves it while the consumer's code runs."""

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
    """The same of an asynchronous generator."""

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
    """Change the state until it is changed again: what the scopes that are entered now restore has it too."""
    scopes.change_what_scopes_restore(current, lambda state: state.change(**changes))
    current.set(current.get().change(**changes))


__all__ = ["DEFAULT_STATE", "Guard", "Scope", "State", "change_for_good", "current", "state_of"]
