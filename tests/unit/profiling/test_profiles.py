"""Tests of ``opdsl.profile``: the events that it collects, its table, and the trace that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import opdsl
from opdsl.errors import OptionError
from opdsl.profiling import Averages
from opdsl.profiling.entries import Entry, self_seconds
from opdsl.runtime.events import listening, timed
from tests.emulation.driver import EmulatedDriver

X = opdsl.ones(3, 4)


def counts(profile: opdsl.profile) -> dict[str, int]:
    return {average.name: average.count for average in profile.key_averages() if average.name.startswith("aten::")}


def test_every_call_is_counted() -> None:
    with opdsl.profile() as profile:
        for _ in range(3):
            X.exp() + X
    assert counts(profile) == {"aten::exp": 3, "aten::add.Tensor": 3}


def test_a_call_outside_is_not() -> None:
    with opdsl.profile() as profile:
        X.exp()
    X.exp()
    assert counts(profile) == {"aten::exp": 1}


def test_leaving_a_profile_restores_the_state() -> None:
    before = opdsl.dispatch.current.get()
    with opdsl.profile():
        assert opdsl.dispatch.current.get().recording
    assert opdsl.dispatch.current.get() is before


def test_the_time_of_a_call_is_that_of_its_clock() -> None:
    x = opdsl.ones(1000, 1000)
    x.exp()
    with opdsl.profile() as profile:
        start = time.perf_counter()
        x.exp()
        seconds = time.perf_counter() - start
    [entry] = [entry for entry in profile.entries() if entry.kind == "call"]
    assert 0 < entry.seconds <= seconds
    assert entry.shapes == ("float32[1000, 1000]",)


def test_self_time_is_what_the_inner_entries_leave() -> None:
    entries = [
        Entry("call", "first", 0.0, 1.0, 7),
        Entry("call", "inner", 2.0, 1.0, 7),
        Entry("call", "elsewhere", 2.5, 1.0, 8),
        Entry("compile", "kernel", 3.0, 0.5, 7),
        Entry("call", "outer", 1.5, 3.0, 7),
    ]
    assert self_seconds(entries) == [1.0, 1.0, 1.0, 0.5, 1.5]
    averages = {average.name: average for average in Averages.of(entries)}
    assert (averages["outer"].total_seconds, averages["outer"].self_seconds) == (3.0, 1.5)
    assert "compile: kernel" in averages


def test_the_table_has_the_columns_of_a_profiler() -> None:
    entries = [Entry("call", "f", 0.0, 0.5, 1), Entry("call", "f", 1.0, 1.5, 1), Entry("call", "g", 3.0, 2e-6, 1)]
    lines = Averages.of(entries).table().splitlines()
    assert lines[1].split("  ")[0] == "Name" and lines[1].split()[-4:] == ["Self", "Total", "Mean", "Calls"]
    assert lines[3].split() == ["f", "100.00%", "2.000s", "2.000s", "1.000s", "2"]
    assert lines[4].split() == ["g", "0.00%", "2.000us", "2.000us", "2.000us", "1"]
    assert lines[-1] == "Self time total: 2.000s"


def test_the_table_is_sorted_and_cut() -> None:
    entries = [Entry("call", name, float(k), 0.5, 1) for k, name in enumerate("bacc")]
    averages = Averages.of(entries)
    assert averages.table("count", row_limit=1).splitlines()[3].startswith("c")
    assert averages.table("name", row_limit=1).splitlines()[3].startswith("a")
    with pytest.raises(OptionError, match="no column 'size' to sort by"):
        averages.table("size")


def test_averages_by_shapes() -> None:
    with opdsl.profile() as profile:
        X.exp()
        opdsl.ones(5).exp()
    averages = [
        key_average
        for key_average in profile.key_averages(group_by_input_shape=True)
        if key_average.name == "aten::exp"
    ]
    assert sorted(average.shapes for average in averages) == [("float32[3, 4]",), ("float32[5]",)]


def test_memory_of_a_device_that_is_in_use(cuda: EmulatedDriver) -> None:
    with opdsl.profile(memory=True) as profile:
        on_device = X.cuda()
        on_device.exp()
    memory = dict(profile.entries()[-1].memory)
    assert memory["cuda"] >= 48


def test_memory_where_nothing_has_used_the_driver(tmp_path: Path) -> None:
    program = "import opdsl, opdsl.cuda\nwith opdsl.profile(memory=True): opdsl.ones(3).exp()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_trace_is_chromes(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    with opdsl.profile(path, memory=True):
        X.exp()
        with timed("compile", "a kernel"):
            pass
    events = json.loads(path.read_text())["traceEvents"]
    slices = {event["name"]: event for event in events if event["ph"] == "X"}
    assert slices["aten::exp"]["cat"] == "call" and slices["a kernel"]["cat"] == "compile"
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in slices.values())
    assert {event["args"]["name"] for event in events if event["ph"] == "M"} >= {"opdsl", "MainThread"}
    counters = [event for event in events if event["ph"] == "C"]
    assert counters and counters[0]["name"] == "memory of cpu" and counters[0]["args"]["bytes"] >= 0


def test_another_thread_joins() -> None:
    def work() -> None:
        X.exp()
        with profile.thread():
            X.sin()

    with opdsl.profile() as profile:
        thread = threading.Thread(target=work, name="worker of a test")
        thread.start()
        thread.join()
    assert counts(profile) == {"aten::sin": 1}
    assert profile.entries()[-1].thread != threading.get_ident()


def test_a_failed_call_is_collected() -> None:
    with opdsl.profile() as profile, pytest.raises(RuntimeError):
        X @ opdsl.ones(3, 4)
    assert any(name.startswith("aten::") for name in counts(profile))


def test_events_of_every_thread_are_heard() -> None:
    events = []

    def work() -> None:
        with timed("plan", "in a thread"):
            pass

    with listening(events.append):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    work()
    assert [(event.kind, event.name) for event in events] == [("plan", "in a thread")]


def test_a_profile_is_entered_once() -> None:
    with opdsl.profile() as profile, pytest.raises(OptionError, match="active already"):
        profile.__enter__()
    with profile:
        X.exp()
    assert counts(profile) == {"aten::exp": 1}


def test_profiles_lie_within_one_another() -> None:
    with opdsl.profile() as outer:
        with opdsl.profile() as inner:
            X.exp()
        X.sin()
    assert counts(inner) == {"aten::exp": 1}
    assert counts(outer) == {"aten::exp": 1, "aten::sin": 1}
