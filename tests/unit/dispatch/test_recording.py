"""Tests of recording calls for profilers."""

from __future__ import annotations

import threading
import time

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch import Operator
from opdsl.dispatch.state import current
from opdsl.errors import ShapeError

Notes = list[tuple[str, tuple[object, ...], float, float]]


def recording(notes: Notes) -> opdsl.record_calls:
    return opdsl.record_calls(lambda *record: notes.append((str(record[0].schema.name), *record[1:])))


def test_every_call_is_reported_planned_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(2, 3)
    notes: Notes = []
    with recording(notes):
        opdsl.add(x, x)
        opdsl.add(x, x)
    monkeypatch.setattr(Operator, "find", None)  # plans do not look up kernels
    with recording(notes):
        opdsl.add(x, x)
    assert [(name, geometries) for name, geometries, *_ in notes] == [("add.Tensor", (x.geometry, x.geometry))] * 3


def test_calls_within_composites_are_reported_before_it_until_it_has_a_plan() -> None:
    with Library("testrecording") as lib:

        @lib.op
        @opdsl.traceable
        def twice(self: Tensor) -> Tensor:
            return self + self

        x = opdsl.ones(2, 2)
        notes: Notes = []
        with recording(notes):
            for _ in range(3):
                twice(x)
        assert [name for name, *_ in notes] == ["add.Tensor", *["testrecording::twice"] * 3]
        assert 0 == notes[0][3] < notes[0][2] == notes[1][3] < notes[1][2]
        assert [nested for *_, nested in notes[2:]] == [0.0, 0.0]


def test_times_of_inner_calls_are_separate_from_the_callers() -> None:
    with Library("testrecording") as lib:

        @lib.op
        def slow(self: Tensor) -> Tensor:
            self.neg()
            time.sleep(0.02)
            return self.neg().abs()

        x = opdsl.ones(2)
        for _ in range(3):
            notes: Notes = []
            with recording(notes):
                slow(x)
            *inner, (name, _, seconds, nested) = notes
            assert (name, [callee for callee, *_ in inner]) == ("testrecording::slow", ["neg", "neg", "abs"])
            assert nested == pytest.approx(sum(duration for *_, duration, _ in inner))
            assert 0.02 <= seconds - nested < 2


def test_recorded_calls_run_the_plans_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = opdsl.ones(2, 3), opdsl.ones(2, 3, requires_grad=True)
    calls = [lambda: opdsl.add(x, x), lambda: x.neg(), lambda: y * 2.0, lambda: y.view(3, 2), lambda: x @ x.t()]
    for n in (4, 5, 6, 7):
        opdsl.add(opdsl.ones(n, 3), opdsl.ones(n, 3))
    for call in (*calls, *calls):
        call()
    monkeypatch.setattr(Operator, "find", None)
    notes: Notes = []
    z = opdsl.ones(8, 3)
    with recording(notes):
        for call in (*calls, *calls):
            call()
        opdsl.add(z, z)  # runs by a plan for its form
    expected = ["add.Tensor", "neg", "mul.Tensor", "view", "t", "matmul"]
    assert [name for name, *_ in notes] == [*expected, *expected, "add.Tensor"]


def test_another_plan_of_a_form_is_heard_of() -> None:
    notes: Notes = []
    sizes = [(3, 4), (5, 4), (6, 7), (8, 8), (9, 9), (10, 11), (12, 12), (300, 300), (400, 300)]
    for n in range(2, 6):  # until there is a plan for the form: calls within a composite are reported, too
        opdsl.ones(n, 2)
    with recording(notes):
        for n, m in sizes:
            opdsl.add(opdsl.ones(n, m), opdsl.ones(n, m))
    assert [name for name, *_ in notes] == ["ones", "ones", "add.Tensor"] * len(sizes)


def test_geometries_of_lists_and_of_outputs_before_the_call() -> None:
    x, out = opdsl.ones(2), opdsl.empty(0)
    before = out.geometry
    notes: Notes = []
    with recording(notes):
        opdsl.cat([x, x], out=out)
    assert notes[0][1] == ((x.geometry, x.geometry), before)


def test_the_time_is_that_of_the_kernel() -> None:
    with Library("testrecording") as lib:

        @lib.op
        def waits(self: Tensor) -> Tensor: ...

        @waits.kernel("CPU")
        def waits_kernel(self):
            time.sleep(0.02)
            return self

        x = opdsl.ones(2)
        for _ in range(2):
            notes: Notes = []
            with recording(notes):
                waits(x)
            assert 0.02 <= notes[0][2] < 2


def test_a_call_that_fails_is_reported() -> None:
    notes: Notes = []
    x, y = opdsl.ones(2), opdsl.ones(3)
    with recording(notes), pytest.raises(ShapeError):
        opdsl.add(x, y)
    assert [name for name, *_ in notes] == ["add.Tensor"]


def test_what_a_hook_calls_is_not_reported() -> None:
    notes: list[str] = []

    def hook(operator: object, geometries: object, seconds: float, nested: float) -> None:
        opdsl.ones(2)
        notes.append("reported")

    x = opdsl.ones(2)
    with opdsl.record_calls(hook):
        x.neg()
    assert notes == ["reported"]


def test_a_hook_may_record_what_it_calls() -> None:
    inner: Notes = []

    def hook(*_: object) -> None:
        with recording(inner):
            x.neg()

    x = opdsl.ones(2)
    with opdsl.record_calls(hook):
        x.abs()
    assert [name for name, *_ in inner] == ["neg"]


def test_nested_recordings_all_hear_of_a_call() -> None:
    outer: Notes = []
    inner: Notes = []
    x = opdsl.ones(2)
    with recording(outer):
        with recording(inner):
            x.neg()
        x.neg()
    assert (len(outer), len(inner)) == (2, 1)


def test_recording_and_modes() -> None:
    notes: Notes = []
    x = opdsl.ones(2)
    with opdsl.DispatchMode(), recording(notes):
        x.neg()
    assert [name for name, *_ in notes] == ["neg", "neg"]  # the mode's call, within the program's


def test_other_threads_are_not_recorded() -> None:
    notes: Notes = []
    with recording(notes):
        thread = threading.Thread(target=lambda: opdsl.ones(2))
        thread.start()
        thread.join()
    assert notes == []


def test_recordings_share_one_state() -> None:
    with recording([]):
        first = current.get()
    with recording([]):
        assert current.get() is first
