"""What a call depends on besides its arguments: guards, grad mode, modes, the default dtype.

All of it is one interned ``State`` in one context variable, so that a caller finds its plans by the identity of a
single object, and threads and async tasks each have their own. A new thread starts from the default state, whatever
the one that starts it has set; so does the default dtype, which PyTorch keeps per process.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from functools import partial, wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar, cast, overload
from weakref import WeakValueDictionary

from opdsl.dispatch.keys import AUTOCAST_KEYS, AUTOGRAD_KEYS, DispatchKey, KeySet
from opdsl.errors import DTypeError
from opdsl.runtime.dtype import DType, float32

P = ParamSpec("P")
R = TypeVar("R")

# inspect.CO_GENERATOR and so on; inspect itself is slow to import.
_GENERATOR = 0x20
_COROUTINE = 0x80
_ASYNC_GENERATOR = 0x200


class State:
    """One combination of everything below; there is one object of each, so it is compared and hashed by identity.

    include: keys that every call's key set gets.
    exclude: keys that every call's key set loses.
    grad_mode: whether autograd records.
    inference_mode: whether tensors made are inference tensors.
    modes: what intercepts every call, innermost last.
    default_dtype: of floating-point results that no argument decides.
    plans: whether calls may be answered from a plan; a mode wants to see each of them.
    known: what the guards without arguments make of this state, so that ``no_grad`` costs no look-up by value.
    """

    __slots__ = (
        "__weakref__",
        "default_dtype",
        "exclude",
        "grad_mode",
        "include",
        "inference_mode",
        "known",
        "modes",
        "plans",
    )

    include: KeySet
    exclude: KeySet
    grad_mode: bool
    inference_mode: bool
    modes: tuple[object, ...]
    default_dtype: DType
    plans: bool
    known: dict[Callable[[State], State], State]

    def change(
        self,
        *,
        include: KeySet | None = None,
        exclude: KeySet | None = None,
        grad_mode: bool | None = None,
        inference_mode: bool | None = None,
        modes: tuple[object, ...] | None = None,
        default_dtype: DType | None = None,
    ) -> State:
        """The state that differs from this one in what is given."""
        return state_of(
            self.include if include is None else include,
            self.exclude if exclude is None else exclude,
            self.grad_mode if grad_mode is None else grad_mode,
            self.inference_mode if inference_mode is None else inference_mode,
            self.modes if modes is None else modes,
            self.default_dtype if default_dtype is None else default_dtype,
        )

    def __repr__(self) -> str:
        names = ("include", "exclude", "grad_mode", "inference_mode", "modes", "default_dtype")
        parts = [f"{name}={getattr(self, name)!r}" for name in names]
        return f"State({', '.join(parts)})"


# A state lives as long as it is current somewhere or a caller has plans for it, so the table needs no bound of its own.
_states: WeakValueDictionary[tuple[object, ...], State] = WeakValueDictionary()
_states_lock = threading.RLock()  # a finaliser that runs within it may use guards itself


def state_of(
    include: KeySet,
    exclude: KeySet,
    grad_mode: bool,
    inference_mode: bool,
    modes: tuple[object, ...],
    default_dtype: DType,
) -> State:
    """The one state of this combination. Modes are told apart by identity."""
    key = (include.bits, exclude.bits, grad_mode, inference_mode, tuple(map(id, modes)), default_dtype)
    with _states_lock:
        state = _states.get(key)
        if state is None:
            state = _states[key] = State()
            state.include = include
            state.exclude = exclude
            state.grad_mode = grad_mode
            state.inference_mode = inference_mode
            state.modes = modes  # held by the state, so their ids stay theirs as long as it is in the table
            state.default_dtype = default_dtype
            state.plans = not modes
            state.known = {}
        return state


DEFAULT_STATE = state_of(
    include=KeySet("BackendSelect", "ADInplaceOrView", "Common"),
    exclude=AUTOCAST_KEYS,
    grad_mode=True,
    inference_mode=False,
    modes=(),
    default_dtype=float32,
)
"""Where every thread starts (c10's default included and excluded sets, and our Common key)."""

current: ContextVar[State] = ContextVar("opdsl_state", default=DEFAULT_STATE)
"""The state of this thread and task; ``current.get`` is what callers use."""

# The guards entered in this context with the states before them. Kept here and not in the guard, because threads and
# tasks may enter the same guard object at once.
_entered: ContextVar[tuple[tuple[Guard, State], ...]] = ContextVar("opdsl_entered", default=())


class Guard:
    """A context manager that changes the state while it is entered; as a decorator, during each call.

    It may be entered again while it is entered, and from several threads and tasks at once. A decorated generator
    function or coroutine function has the change while its body runs.

    Args:
        change: what it makes of the state.
        keep: whether the states keep what it makes of them; for functions that live as long as their module.
    """

    __slots__ = ("_change", "_keep")

    def __init__(self, change: Callable[[State], State], *, keep: bool = False) -> None:
        self._change = change
        self._keep = keep

    def __enter__(self) -> Guard:
        before = current.get()
        after = before.known.get(self._change)
        if after is None:
            after = self._change(before)
            if self._keep:
                before.known[self._change] = after
        _entered.set((*_entered.get(), (self, before)))
        current.set(after)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        stack = _entered.get()
        place = len(stack) - 1
        while place >= 0 and stack[place][0] is not self:
            place -= 1  # guards that generators hold may be left in another order than they were entered
        if place >= 0:
            _entered.set(stack[:place] + stack[place + 1 :])
            current.set(stack[place][1])

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


def _within_coroutine(guard: Guard, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    async def within(*args: object, **kwargs: object) -> object:
        with guard:
            return await function(*args, **kwargs)

    return within


def _within_generator(guard: Guard, function: Callable[..., Any]) -> Callable[..., Any]:
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


def _within_async_generator(guard: Guard, function: Callable[..., Any]) -> Callable[..., Any]:
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


# -------------------------------------------------------------------------------------------------------------- guards


def _without_grad(state: State) -> State:
    return state.change(grad_mode=False)


def _with_grad(state: State) -> State:
    return state.change(grad_mode=True)


@overload
def no_grad() -> Guard: ...
@overload
def no_grad(function: Callable[P, R]) -> Callable[P, R]: ...
def no_grad(function: Callable[P, R] | None = None) -> Guard | Callable[P, R]:
    """Autograd records nothing: ``with no_grad():``, ``@no_grad()`` or ``@no_grad``.

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
    """Autograd records, also within ``no_grad``: ``with enable_grad():``, ``@enable_grad()`` or ``@enable_grad``."""
    guard = Guard(_with_grad, keep=True)
    return guard if function is None else guard(function)


def set_grad_enabled(mode: bool) -> Guard:
    """``enable_grad()`` or ``no_grad()``, as the argument says; unlike PyTorch's, without effect until entered."""
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
    """Autograd and view tracking are off altogether (c10's InferenceMode guard); ``False`` turns them on again."""
    if callable(mode):
        return Guard(_inference, keep=True)(mode)
    return Guard(_inference if mode else _no_inference, keep=True)


def include_keys(*keys: DispatchKey | str) -> Guard:
    """Every call's key set gets these keys.

    Raises:
        DispatchKeyError: one is no key, or an alias key.
    """
    added = KeySet(*keys)
    return Guard(lambda state: state.change(include=state.include | added))


def exclude_keys(*keys: DispatchKey | str) -> Guard:
    """Every call's key set loses these keys; a functionality (``"AutogradFunctionality"``) stands for all backends.

    Raises:
        DispatchKeyError: one is no key, or an alias key.
    """
    added = KeySet(*keys)
    return Guard(lambda state: state.change(exclude=state.exclude | added))


def below_autograd() -> Guard:
    """Calls go below autograd: what autograd's own kernels call within (c10's AutoDispatchBelowADInplaceOrView)."""
    return Guard(_below_autograd, keep=True)


def _below_autograd(state: State) -> State:
    return state.change(exclude=state.exclude | AUTOGRAD_KEYS | _ADINPLACE_OR_VIEW)


def with_mode(mode: object) -> Guard:
    """The mode is the innermost one of those that intercept calls."""
    return Guard(lambda state: state.change(modes=(*state.modes, mode)))


# ---------------------------------------------------------------------------------------------------------------- reads


def is_grad_enabled() -> bool:
    """Whether autograd records."""
    return current.get().grad_mode


def is_inference_mode_enabled() -> bool:
    """Whether ``inference_mode`` is on."""
    return current.get().inference_mode


def get_default_dtype() -> DType:
    """The dtype of floating-point results that no argument decides; float32 unless it was set."""
    return current.get().default_dtype


def set_default_dtype(dtype: DType) -> None:
    """Set the default dtype of this thread or task, until it is set again.

    Args:
        dtype: a real floating-point dtype.

    Raises:
        DTypeError: it is not one.
    """
    if not isinstance(dtype, DType) or not dtype.is_floating_point:
        raise DTypeError(f"the default dtype must be a floating-point dtype such as opdsl.float64 (got {dtype!r}).")
    # The guards that are entered now restore what they have changed, not the default dtype.
    _entered.set(tuple((guard, state.change(default_dtype=dtype)) for guard, state in _entered.get()))
    current.set(current.get().change(default_dtype=dtype))


__all__ = [
    "DEFAULT_STATE",
    "Guard",
    "State",
    "below_autograd",
    "current",
    "enable_grad",
    "exclude_keys",
    "get_default_dtype",
    "include_keys",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "set_default_dtype",
    "set_grad_enabled",
    "state_of",
    "with_mode",
]
