"""Tests of identical calls between state changes: every call follows the current state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as some

import opdsl
from opdsl import DispatchKeySet, DispatchMode, Library, Tensor

KEY = "TESTING_ONLY_GenericMode"

lib = Library("testtoggles")


@lib.op(out=True)
def shift(self: Tensor, by: float = 1.0) -> Tensor: ...


@shift.kernel("CPU")
def shift_kernel(self, by):
    return self + by


@lib.op
def shift_twice(self: Tensor) -> Tensor:
    return shift(shift(self))


class Model:
    """Reference model of the calls' results, computed without operators."""

    def __init__(self) -> None:
        self.kernels = [1.0]  # the factors of the registered kernels, the newest last
        self.modes = 0
        self.keys = 0
        self.default = [opdsl.float32]
        self.grad = [True]

    def shift(self, value: float, by: float) -> float:
        # A mode multiplies the result by 3, the kernel at the key by 5, each kernel by its own factor. Calls of a mode
        # are dispatched from the start, and so reach the key again.
        at_key = 5.0 ** (self.modes + 1) if self.keys else 1.0
        return (value + by) * self.kernels[-1] * at_key * 3.0**self.modes


class Triples(DispatchMode):
    """Mode that multiplies the results of ``shift`` by 3, without calling an operator that a mode would receive."""

    def dispatch(self, operator, args, kwargs):
        result = operator(*args, **kwargs)
        if operator.__name__ != "shift":
            return result
        with opdsl.exclude_keys("Python", KEY):
            return result.mul_(3.0) if "out" in kwargs else result * 3.0


@contextmanager
def newer_kernel(model: Model, factor: float) -> Iterator[None]:
    with Library("testtoggles") as newer:

        @newer.impl("testtoggles::shift", "CPU")
        def shift_newer(self, by):
            return (self + by) * factor

        model.kernels.append(factor)
        try:
            yield
        finally:
            model.kernels.pop()


@contextmanager
def included(model: Model, factor: float) -> Iterator[None]:
    model.keys += 1
    with opdsl.include_keys(KEY):
        yield
    model.keys -= 1


@contextmanager
def mode(model: Model, factor: float) -> Iterator[None]:
    model.modes += 1
    with Triples():
        yield
    model.modes -= 1


@contextmanager
def default_dtype(model: Model, factor: float) -> Iterator[None]:
    before = opdsl.get_default_dtype()
    model.default.append(opdsl.float64 if before is opdsl.float32 else opdsl.float32)
    opdsl.set_default_dtype(model.default[-1])
    yield
    opdsl.set_default_dtype(before)
    model.default.pop()


def _guard(make: Callable[[], AbstractContextManager[Any]], grad: bool) -> Callable[..., AbstractContextManager[None]]:
    @contextmanager
    def guard(model: Model, factor: float) -> Iterator[None]:
        model.grad.append(grad)
        with make():
            yield
        model.grad.pop()

    return guard


SCOPES: dict[str, Callable[[Model, float], AbstractContextManager[None]]] = {
    "kernel": newer_kernel,
    "key": included,
    "mode": mode,
    "dtype": default_dtype,
    "no_grad": _guard(opdsl.no_grad, False),
    "enable_grad": _guard(opdsl.enable_grad, True),
    "recording": _guard(lambda: opdsl.record_calls(lambda *call: None), True),
}


@contextmanager
def kernel_at_the_key() -> Iterator[None]:
    with Library("testtoggles") as own:
        own.fallback(KEY)(opdsl.fallthrough_kernel)

        @own.impl("testtoggles::shift", KEY)
        def shift_at_key(keys: DispatchKeySet, self, by):
            result = shift.redispatch(keys & DispatchKeySet.below(KEY), self, by)
            with opdsl.exclude_keys("Python", KEY):
                return result * 5.0

        yield


def check(model: Model) -> None:
    """Check identical calls of every kind against the model."""
    x = opdsl.tensor([1.0], dtype=opdsl.float64)
    with opdsl.exclude_keys("Python", KEY):
        one = opdsl.ones(1, dtype=opdsl.int64)
        assert (one + 0.5).dtype is model.default[-1]
    assert shift(x).tolist() == [model.shift(1.0, 1.0)]
    assert shift(x, 2.0).tolist() == [model.shift(1.0, 2.0)]
    assert shift(x, 2).tolist() == [model.shift(1.0, 2)]
    assert shift_twice(x).tolist() == [model.shift(model.shift(1.0, 1.0), 1.0)]


def walk(steps: list[str | None]) -> None:
    """Enter the scope of each step, or leave the newest scope for None, and check calls after each step."""
    model = Model()
    stack: list[ExitStack] = []
    with kernel_at_the_key():
        try:
            check(model)
            for index, step in enumerate(steps):
                if step is not None:
                    stack.append(ExitStack())
                    stack[-1].enter_context(SCOPES[step](model, 2.0 + index))
                elif stack:
                    stack.pop().close()
                check(model)
                check(model)
        finally:
            while stack:
                stack.pop().close()
        check(model)


steps = some.lists(some.sampled_from([*SCOPES, None]), max_size=8)


@settings(max_examples=25)
@given(steps=steps)
def test_calls_follow_the_state(steps: list[str | None]) -> None:
    walk(steps)


def test_calls_of_threads_follow_their_own_state() -> None:
    """Calls in several threads follow the shared registrations, and the modes, keys and default dtype of their own
    thread.
    """
    own = [["mode", "dtype", None, "key"], ["no_grad", "key", "key", None], ["recording", "mode", "mode"], ["dtype"]]
    faults: list[BaseException] = []

    def run(steps: list[str | None]) -> None:
        try:
            for _ in range(3):
                model = Model()
                with ExitStack() as stack:
                    for step in filter(None, steps):
                        stack.enter_context(SCOPES[step](model, 1.0))
                        check(model)
                check(model)
        except BaseException as fault:
            faults.append(fault)

    with kernel_at_the_key():
        threads = [threading.Thread(target=run, args=(steps,)) for steps in own * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []


def test_calls_of_tasks_follow_their_own_state() -> None:
    async def run(steps: list[str]) -> None:
        model = Model()
        with ExitStack() as stack:
            for step in steps:
                stack.enter_context(SCOPES[step](model, 1.0))
                await asyncio.sleep(0)
                check(model)
                await asyncio.sleep(0)
                check(model)

    async def all_of_them() -> None:
        own = (["mode", "dtype"], ["key", "no_grad", "key"], ["recording", "mode", "mode"], ["dtype", "key"])
        await asyncio.gather(*map(run, own))

    with kernel_at_the_key():
        asyncio.run(all_of_them())


def test_an_output_that_is_the_input_and_one_that_is_not() -> None:
    x, out = opdsl.ones(2), opdsl.zeros(2)
    for _ in range(2):
        assert shift(x, out=out) is out
        assert (x.tolist(), out.tolist()) == ([1.0, 1.0], [2.0, 2.0])
        assert shift(out, out=out).tolist() == [3.0, 3.0]
