"""Recording calls for profilers."""

from __future__ import annotations

import threading
import time

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch import Operator
from opdsl.dispatch.state import current
from opdsl.errors import ShapeError

Notes = list[tuple[str, tuple[object, ...], float]]


def recording(notes: Notes) -> opdsl.record_calls:
    return opdsl.record_calls(lambda *record: notes.append((str(record[0].schema.name), *record[1:])))


def test_every_call_is_reported_planned_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(2, 3)
    notes: Notes = []
    with recording(notes):
        opdsl.add(x, x)
        opdsl.add(x, x)
    monkeypatch.setattr(Operator, "find", None)  # a plan does not look for a kernel
    with recording(notes):
        opdsl.add(x, x)
    assert [(name, geometries) for name, geometries, _ in notes] == [("add.Tensor", (x.geometry, x.geometry))] * 3


def test_calls_within_composites_are_reported_before_it() -> None:
    x = opdsl.ones(2, 2)
    for _ in range(3):
        notes: Notes = []
        with recording(notes):
            x @ x
        assert [name for name, *_ in notes] == ["mm", "matmul"]
        assert notes[0][2] <= notes[1][2]


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

    def hook(operator: object, geometries: object, seconds: float) -> None:
        opdsl.ones(2)
        notes.append("reported")

    x = opdsl.ones(2)
    with opdsl.record_calls(hook):
        x.neg()
    assert notes == ["reported"]


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
    assert [name for name, *_ in notes] == ["neg", "neg"]  # the mode's, within the program's


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
