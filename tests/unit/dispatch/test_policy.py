"""Policy of plans, by simulation: how many calls of a stream of shapes take the slow path, whatever the stream is."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch.plans.call_cache import CallCache
from opdsl.dispatch.plans.policy import HOT_FROM, LOWERED_FROM, MOST_COUNTS, FormPolicy, Next

CALLS = 600

# Size of each call of a stream. Long cycles have more sizes than a form has counters.
STREAMS: dict[str, Callable[[int], int]] = {
    "repeating": lambda at: 7,
    "cycling": lambda at: 2 + at % 5,
    "long cycles": lambda at: 2 + at % 300,
    "random": lambda at: random.Random(at).randint(2, 10_000),
    "growing": lambda at: 2 + at,
    "bimodal": lambda at: 3 if random.Random(at).random() < 0.5 else 2 + at,
    "mostly one": lambda at: 2 + at if at % 10 == 0 else 5,
}


@pytest.fixture
def slow_calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record the name of each function whose call takes the slow path."""
    recorded: list[str] = []
    slow = CallCache._call_and_plan

    def noting(self: CallCache, missed: Any) -> object:
        recorded.append(self.name)
        return slow(self, missed)

    monkeypatch.setattr(CallCache, "_call_and_plan", noting)
    yield recorded


def library() -> Library:
    """Return a library whose operators no other test calls."""
    return Library(f"policy_{random.getrandbits(48)}")


@pytest.mark.parametrize("stream", STREAMS)
def test_few_calls_of_a_stream_take_the_slow_path(stream: str, slow_calls: list[str]) -> None:
    @library().op
    @opdsl.formula
    def halved(x: Tensor) -> Tensor:
        """Return the half of a tensor."""
        return x * 0.5

    sizes = [STREAMS[stream](at) for at in range(CALLS)]
    tensors = [opdsl.ones(size, 3) for size in sizes]
    slow_calls.clear()
    taken = []
    for tensor in tensors:
        before = slow_calls.count("halved")
        halved(tensor)
        taken.append(slow_calls.count("halved") - before)
    # The form is lowered once; after that, each size that repeats often gets one plan of its own, after two more calls.
    distinct = len({size for size in sizes if sizes.count(size) >= HOT_FROM})
    assert sum(taken) <= LOWERED_FROM + 2 + 3 * distinct
    assert sum(taken[CALLS // 2 :]) <= sum(taken[: CALLS // 2])


def test_the_first_misses_of_a_form_make_no_plan() -> None:
    policy = FormPolicy()
    decisions = []
    for _ in range(LOWERED_FROM + 1):
        decisions.append(policy.decide(repeats=lambda: 0))
        policy.misses += 1
    assert decisions == [Next.REMEMBER] * LOWERED_FROM + [Next.FORM]


def test_a_form_whose_plans_serve_one_count_each_waits_for_repeated_calls() -> None:
    policy = FormPolicy()
    policy.misses, policy.is_of_counts = LOWERED_FROM, True
    policy.variants = [lambda: None] * (MOST_COUNTS - 1)
    assert policy.decide() is Next.FORM
    policy.variants.append(lambda: None)
    assert policy.decide(repeats=lambda: HOT_FROM - 1) is Next.REMEMBER
    assert policy.decide(repeats=lambda: HOT_FROM) is Next.EXACT


@pytest.mark.parametrize("name", ["unbind", "chunk", "tensor_split"])
def test_few_plans_are_made_for_ever_new_numbers_of_results(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = []
    for method in ("_lower_form", "_lower_call"):
        lower = getattr(CallCache, method)

        def counting(self: CallCache, *rest: Any, lower: Callable[..., object] = lower, **named: Any) -> object:
            lowered.append(self.name)
            return lower(self, *rest, **named)

        monkeypatch.setattr(CallCache, method, counting)
    x = opdsl.ones(300, 2)
    for count in range(2, 80):
        parts = x[:count].unbind() if name == "unbind" else getattr(opdsl, name)(x, count)
        assert len(parts) <= count and sum(part.numel() for part in parts) == (count if name == "unbind" else 300) * 2
    assert lowered.count(name) <= MOST_COUNTS + 1


def test_a_repeated_count_has_a_plan_at_its_second_call(slow_calls: list[str]) -> None:
    x = opdsl.ones(7, 3, 2, 2, 2)  # a form that no other test has
    for _ in range(4):
        x.unbind()
    assert slow_calls.count("unbind") == 2


def test_a_form_without_patience_is_lowered_at_its_first_miss() -> None:
    assert FormPolicy(0).decide() is Next.FORM


def test_sizes_that_repeat_often_get_a_plan_of_their_own_once() -> None:
    policy = FormPolicy(0)
    policy.is_hot = True
    assert [policy.decide(), policy.decide()] == [Next.EXACT, Next.FORM]


def test_what_cannot_be_lowered_is_not_tried_again() -> None:
    policy = FormPolicy(0)
    policy.reason = "elements decide"
    assert policy.decide() is Next.EXACT


def test_calls_of_numbers_alone_wait_for_the_plan_of_their_form() -> None:
    assert FormPolicy().decide(has_tensors=lambda: False) is Next.RUN
