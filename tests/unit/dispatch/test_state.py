"""Tests of the dispatch state: interning, guards, threads and tasks."""

from __future__ import annotations

import asyncio
import gc
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Generator
from weakref import ref

import pytest

from opdsl.dispatch.guards import (
    below_autograd,
    enable_grad,
    exclude_keys,
    get_default_dtype,
    include_keys,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_default_dtype,
    set_grad_enabled,
)
from opdsl.dispatch.keys import KeySet
from opdsl.dispatch.layers.modes import DispatchMode
from opdsl.dispatch.state import DEFAULT_STATE, Guard, State, current
from opdsl.errors import DispatchKeyError, DTypeError
from opdsl.runtime.dtype import DType, float32, float64, int64

pytestmark = pytest.mark.usefixtures("plans_at_once")


def in_thread(function: Callable[[], object]) -> object:
    """Run a function in a new thread, and return its result."""
    returned: list[object] = []
    thread = threading.Thread(target=lambda: returned.append(function()))
    thread.start()
    thread.join()
    return returned[0]


@pytest.fixture(autouse=True)
def _restored() -> Generator[None]:
    token = current.set(DEFAULT_STATE)
    yield
    current.reset(token)


# ----------------------------------------------------------------------------------------------------------- interning


@pytest.mark.parametrize(
    "guard",
    [
        no_grad,
        inference_mode,
        below_autograd,
        lambda: include_keys("Python"),
        lambda: exclude_keys("AutogradCPU"),
    ],
)
def test_the_same_change_gives_the_identical_state(guard: Callable[[], Guard]) -> None:
    with guard():
        first = current.get()
    with guard():
        assert current.get() is first


def test_opposite_guards_give_the_state_before() -> None:
    with no_grad(), enable_grad():
        assert current.get() is DEFAULT_STATE


def test_states_are_not_kept_for_nothing() -> None:
    with DispatchMode():
        state = ref(current.get())
    gc.collect()
    assert state() is None


def test_two_modes_are_different_states() -> None:
    one, two = DispatchMode(), DispatchMode()
    with one:
        first = current.get()
    with two:
        assert current.get() is not first


def test_states_are_the_same_objects_in_all_threads() -> None:
    def state_without_grad() -> State:
        with no_grad():
            return current.get()

    assert in_thread(state_without_grad) is state_without_grad()


def test_many_threads_agree_on_a_new_state() -> None:
    mode = DispatchMode()
    barrier = threading.Barrier(8)
    states: list[State] = []

    def enter() -> None:
        barrier.wait()
        with mode:
            states.append(current.get())

    threads = [threading.Thread(target=enter) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(state) for state in states}) == 1


# -------------------------------------------------------------------------------------------------------------- guards


def test_no_grad_ends_with_its_block() -> None:
    with no_grad():
        inside = is_grad_enabled()
    assert (inside, is_grad_enabled()) == (False, True)


def test_no_grad_ends_with_an_error() -> None:
    with pytest.raises(ZeroDivisionError), no_grad():
        1 / 0  # noqa: B018
    assert is_grad_enabled()


def test_enable_grad_within_no_grad() -> None:
    with no_grad(), enable_grad():
        assert is_grad_enabled()


@pytest.mark.parametrize("mode", [True, False])
def test_set_grad_enabled(mode: bool) -> None:
    with set_grad_enabled(mode):
        assert is_grad_enabled() is mode


def test_one_guard_is_entered_again_while_entered() -> None:
    guard = no_grad()
    with guard, enable_grad(), guard:
        pass
    assert current.get() is DEFAULT_STATE


def test_guards_left_in_the_order_they_were_entered() -> None:
    """Guards that are left in the order of entry, as by generators, restore the state in which each was entered."""
    first, second = no_grad(), include_keys("Python")
    first.__enter__()
    result = current.get()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert current.get() is result


def test_inference_mode_does_what_c10s_guard_does() -> None:
    """Inference mode changes the same keys as c10/core/InferenceMode.h, which torch._C._dispatch_tls_local_*_set()
    shows.
    """
    with inference_mode():
        state = current.get()
    assert (state.inference_mode, state.grad_mode) == (True, False)
    assert "ADInplaceOrView" not in state.include
    assert not (KeySet("AutogradCPU", "AutogradOther", "AutogradNestedTensor") - state.exclude)


def test_inference_mode_can_be_taken_back() -> None:
    with inference_mode(), inference_mode(False):
        assert current.get() is DEFAULT_STATE


def test_excluded_functionality_stands_for_all_backends() -> None:
    with exclude_keys("AutogradFunctionality"):
        assert list(KeySet("AutogradCUDA", "CUDA") - current.get().exclude) == list(KeySet("CUDA"))


def test_guards_refuse_an_unknown_key_before_they_are_entered() -> None:
    with pytest.raises(DispatchKeyError):
        exclude_keys("Sparkle")


def test_modes_stack() -> None:
    with DispatchMode() as outer, DispatchMode() as inner:
        assert current.get().modes == (outer, inner)


def test_a_mode_sees_every_call() -> None:
    with DispatchMode():
        assert not current.get().plans


# ---------------------------------------------------------------------------------------------------------- decorators


@pytest.mark.parametrize("decorate", [no_grad, no_grad(), inference_mode, inference_mode()])
def test_decorated_function_runs_within_the_guard(decorate: Callable[..., Callable[[], bool]]) -> None:
    assert (decorate(is_grad_enabled)(), is_grad_enabled()) == (False, True)


def test_decorated_function_keeps_its_name() -> None:
    @no_grad
    def shrink() -> None: ...

    assert shrink.__name__ == "shrink"


def test_decorated_generator_has_the_guard_in_its_own_steps_only() -> None:
    @no_grad
    def steps() -> Generator[bool]:
        yield is_grad_enabled()
        yield is_grad_enabled()

    assert [(inside, is_grad_enabled()) for inside in steps()] == [(False, True), (False, True)]


def test_decorated_generator_takes_values_and_errors_and_returns() -> None:
    @no_grad
    def steps() -> Generator[object, object, str]:
        got = yield "first"
        try:
            yield got
        except KeyError as error:
            yield error.args[0]
        return "end"

    generator = steps()
    assert (next(generator), generator.send("sent"), generator.throw(KeyError("thrown"))) == ("first", "sent", "thrown")
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


def test_closing_a_decorated_generator_closes_its_body() -> None:
    ended: list[bool] = []

    @no_grad
    def steps() -> Generator[None]:
        try:
            yield
        finally:
            ended.append(is_grad_enabled())

    generator = steps()
    next(generator)
    generator.close()
    assert ended == [False]


def test_decorated_coroutine_function_stays_one() -> None:
    @no_grad
    async def work() -> bool:
        await asyncio.sleep(0)
        return is_grad_enabled()

    assert inspect.iscoroutinefunction(work)
    assert asyncio.run(work()) is False


def test_decorated_async_generator_has_the_guard_in_its_own_steps_only() -> None:
    @no_grad
    async def steps() -> AsyncIterator[bool]:
        yield is_grad_enabled()
        yield is_grad_enabled()

    async def collect() -> list[tuple[bool, bool]]:
        return [(inside, is_grad_enabled()) async for inside in steps()]

    assert asyncio.run(collect()) == [(False, True), (False, True)]


# --------------------------------------------------------------------------------------------------- threads and tasks


def test_new_thread_starts_from_the_default_state() -> None:
    with no_grad():
        assert in_thread(current.get) is DEFAULT_STATE


def test_one_guard_serves_two_threads_at_once() -> None:
    guard = no_grad()
    with guard:
        assert in_thread(lambda: (guard.__enter__(), guard.__exit__(None, None, None), is_grad_enabled())[2]) is True
        assert not is_grad_enabled()
    assert is_grad_enabled()


def test_tasks_have_their_own_state() -> None:
    async def without(entered: asyncio.Event, looked: asyncio.Event) -> None:
        with no_grad():
            entered.set()
            await looked.wait()

    async def look() -> bool:
        entered, looked = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(without(entered, looked))
        await entered.wait()
        result = is_grad_enabled()
        looked.set()
        await task
        return result

    assert asyncio.run(look()) is True


def test_task_inherits_the_state_of_the_one_that_starts_it() -> None:
    async def grad_mode() -> bool:
        return is_grad_enabled()

    async def start() -> bool:
        with no_grad():
            task = asyncio.create_task(grad_mode())
        return await task

    assert asyncio.run(start()) is False


# ------------------------------------------------------------------------------------------------------- default dtype


def test_default_dtype_is_float32() -> None:
    assert get_default_dtype() is float32


def test_default_dtype_is_set() -> None:
    set_default_dtype(float64)
    assert get_default_dtype() is float64


@pytest.mark.parametrize("dtype", [int64, "float64"])
def test_default_dtype_is_a_floating_point_dtype(dtype: DType) -> None:
    with pytest.raises(DTypeError, match=r"floating-point dtype such as opdsl.float64 \(got"):
        set_default_dtype(dtype)


def test_default_dtype_survives_the_end_of_a_guard_that_began_before() -> None:
    """Leaving a guard does not reset a default dtype that was set within it, as in torch."""
    with no_grad():
        set_default_dtype(float64)
    assert (get_default_dtype(), is_grad_enabled()) == (float64, True)


def test_inference_mode_is_asked() -> None:
    with inference_mode():
        assert is_inference_mode_enabled()
