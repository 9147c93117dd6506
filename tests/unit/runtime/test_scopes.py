"""Tests of scopes: changes made on entry are undone wherever the block or the scope itself is interrupted."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack
from contextvars import Context, ContextVar, copy_context
from types import FrameType
from typing import Any

import pytest

import opdsl
from opdsl.autograd.forward import dual_level
from opdsl.backends import cache
from opdsl.backends.cpu.author import checked_bounds
from opdsl.dispatch import Registry, declaring_into, state
from opdsl.dispatch.guards import below_autograd
from opdsl.runtime import forking, scopes, symbols

# Python reports an interrupt during a finalizer and does not raise it.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

GUARDS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "no_grad": opdsl.no_grad,
    "enable_grad": opdsl.enable_grad,
    "set_grad_enabled": lambda: opdsl.set_grad_enabled(False),
    "inference_mode": opdsl.inference_mode,
    "include_keys": lambda: opdsl.include_keys("Python"),
    "exclude_keys": lambda: opdsl.exclude_keys("AutogradCPU"),
    "below_autograd": below_autograd,
    "checked": opdsl.checked,
    "record_calls": lambda: opdsl.record_calls(print),
    "DispatchMode": opdsl.DispatchMode,
    "dual_level": dual_level,
    "making_sizes": lambda: symbols.making_sizes(lambda least, most: least),
    "checked_bounds": checked_bounds,
    "names_used": cache.names_used,
    "declaring_into": lambda: declaring_into(Registry()),
}


def variables() -> dict[Any, Any]:
    """Return all context variables of opdsl whose value is not their default."""
    own = {key: value for key, value in copy_context().items() if key.name.startswith(("opdsl", "_"))}
    own.pop(scopes._prepared, None)
    nothing_set = Context()
    return {key: value for key, value in own.items() if value is not nothing_set.run(key.get)}


class Interrupt:
    """Trace function that raises KeyboardInterrupt at one instruction of a block, counted from its beginning.

    It counts the instructions of the block itself and of the functions of scopes and of the dispatcher that it runs:
    the first instruction of a function is where the interpreter checks for signals in a call. While a lock is held it
    raises nothing: the interrupt would come between instructions where the interpreter checks for no signals, and
    Python would not release the lock.
    """

    MODULES = (__name__, "opdsl.runtime.scopes", "opdsl.autograd.forward", "opdsl.dispatch")

    def __init__(self, at: int) -> None:
        self.left = at
        self.raised = False

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        """Raise the interrupt if the instruction of this event is the chosen one, and keep tracing."""
        if not frame.f_globals.get("__name__", "").startswith(self.MODULES):
            return None
        frame.f_trace_opcodes = True
        if event in ("call", "line", "opcode") and not self.raised:
            if self.left > 0:
                self.left -= 1
            elif not any(map(_is_held, forking._locks)):
                self.raised = True
                raise KeyboardInterrupt
        return self


def _is_held(lock: Any) -> bool:
    return bool(lock._is_owned() if hasattr(lock, "_is_owned") else lock.locked())


def interrupted(block: Callable[[], object], at: int) -> bool:
    """Run a block with an interrupt at an instruction, and return whether the block reaches that instruction."""
    interrupt = Interrupt(at)
    before = sys.gettrace()
    try:
        sys.settrace(interrupt)
        block()
    except KeyboardInterrupt:
        # The traceback stays alive until here, as a notebook keeps the last one.
        pass
    finally:
        sys.settrace(before)
    return interrupt.raised


def assert_undone_wherever_interrupted(block: Callable[[], object]) -> None:
    block()  # fills caches
    before = variables()
    at = 0
    while interrupted(block, at):
        assert variables() == before, f"interrupted at instruction {at}"
        at += 1
    assert at > 10
    assert variables() == before


@pytest.mark.parametrize("make", GUARDS.values(), ids=GUARDS)
def test_left_wherever_it_is_interrupted(make: Callable[[], AbstractContextManager[Any]]) -> None:
    guard = make()

    def block() -> None:
        with guard:
            len("a body")

    assert_undone_wherever_interrupted(block)


def test_nested_guards_are_left_wherever_they_are_interrupted() -> None:
    mode = opdsl.DispatchMode()

    def block() -> None:
        with opdsl.no_grad(), mode, opdsl.enable_grad():
            len("a body")

    assert_undone_wherever_interrupted(block)


def test_the_traceback_may_be_held() -> None:
    """Scopes are left even if the traceback of an interrupt is kept, as notebooks keep the last one."""
    before, held, at = variables(), [], 0
    guard = opdsl.no_grad()

    def block() -> None:
        with guard:
            pass

    block()
    while True:
        interrupt = Interrupt(at)
        try:
            sys.settrace(interrupt)
            block()
        except KeyboardInterrupt as error:
            held.append(error)
        finally:
            sys.settrace(None)
        if not interrupt.raised:
            break
        assert variables() == before, f"interrupted at instruction {at}"
        at += 1
    assert len(held) == at
    held.clear()
    assert variables() == before


def test_a_decorated_function_and_generator_leave_it_wherever_they_are_interrupted() -> None:
    @opdsl.no_grad
    def function() -> bool:
        return opdsl.is_grad_enabled()

    @opdsl.no_grad
    def steps() -> Generator[bool]:
        yield opdsl.is_grad_enabled()
        yield opdsl.is_grad_enabled()

    assert_undone_wherever_interrupted(lambda: (function(), list(steps())))


def test_an_interrupted_trace_leaves_calls_working() -> None:
    """An interrupt while a call makes its plan, which runs the body a second time, leaves no changes."""
    with opdsl.Library("interrupted") as lib:

        @lib.op
        @opdsl.traceable
        def twice(self: opdsl.Tensor) -> opdsl.Tensor:
            return self + self

        sizes = iter(range(1, 1_000_000))
        twice(opdsl.ones(next(sizes), 1))
        before = variables()
        at = 0
        while interrupted(lambda: twice(opdsl.ones(next(sizes), 1)), at):
            assert variables() == before, f"interrupted at instruction {at}"
            at += 499  # a call runs some 10,000 instructions
        assert at > 5000
        assert twice(opdsl.ones(2)).tolist() == [2.0, 2.0]


def test_nothing_is_left_of_scopes_that_are_not_entered() -> None:
    guard = opdsl.no_grad()
    before = variables()
    assert hasattr(guard, "__exit__")
    held = guard.__exit__
    del held
    assert variables() == before

    class Failing(state.Scope):
        def state_within(self, before: state.State) -> state.State:
            raise LookupError

    with pytest.raises(LookupError), Failing():
        pass
    assert variables() == before


def test_entered_and_left_by_hand_and_by_an_exit_stack() -> None:
    guard = opdsl.no_grad()
    before = variables()
    guard.__enter__()
    with guard, ExitStack() as stack:
        stack.enter_context(guard)
        assert not opdsl.is_grad_enabled()
    assert not opdsl.is_grad_enabled()
    guard.__exit__(None, None, None)
    assert variables() == before


def test_scopes_left_in_another_order_undo_what_each_has_changed() -> None:
    first: ContextVar[int] = ContextVar("first", default=0)
    second: ContextVar[int] = ContextVar("second", default=0)
    one, other = ExitStack(), ExitStack()
    one.enter_context(scopes.Setting(first, 1))
    other.enter_context(scopes.Setting(second, 1))
    one.close()
    assert (first.get(), second.get()) == (0, 1)
    other.close()
    assert (first.get(), second.get()) == (0, 0)


def test_a_generator_that_is_dropped_within_leaves_it() -> None:
    def steps() -> Generator[None]:
        with opdsl.no_grad():
            yield

    before = variables()
    generator = steps()
    next(generator)
    assert not opdsl.is_grad_enabled()
    del generator
    assert variables() == before


def test_entering_leaves_no_garbage() -> None:
    guard = opdsl.no_grad()
    gc.collect()
    gc.disable()
    try:
        for _ in range(100):
            with guard:
                pass
        assert gc.collect(0) == 0  # generation 0 only: older garbage may have left more garbage
    finally:
        gc.enable()


def test_a_setting_gives_its_value() -> None:
    names: set[str] = set()
    with scopes.Setting(cache._used, names) as entered:
        assert entered is names is cache._used.get()
    assert cache._used.get() is None
