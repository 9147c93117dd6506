"""Writer of Chrome's trace format, which ui.perfetto.dev and chrome://tracing show.

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU describes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opdsl.profiling.entries import Entry

__all__ = ["trace"]

_MICROSECONDS = 1e6


def trace(entries: Iterable[Entry], origin: float, process: int, threads: Mapping[int, str]) -> dict[str, object]:
    """Build a trace document in Chrome's format from the entries of a profile.

    Args:
        entries: of a profile.
        origin: start time of the profile, by the clock of the entries.
        process: the process identifier.
        threads: the names of the threads, by identifier.
    """
    events: list[dict[str, object]] = [_named("process_name", process, 0, "opdsl")]
    events += [_named("thread_name", process, thread, name) for thread, name in threads.items()]
    in_use: dict[str, int] = {}
    for entry in sorted(entries, key=lambda entry: (entry.start, -entry.seconds)):
        start = (entry.start - origin) * _MICROSECONDS
        duration = entry.seconds * _MICROSECONDS
        place = {"pid": process, "tid": entry.thread}
        slice_ = {"ph": "X", "cat": entry.kind, "name": entry.name, "ts": start, "dur": duration, **place}
        events.append({**slice_, "args": {"shapes": list(entry.shapes)}} if entry.shapes else slice_)
        for device, size in entry.memory:
            if in_use.get(device) != size:
                in_use[device] = size
                counter = {"ph": "C", "name": f"memory of {device}", "ts": start + duration, **place}
                events.append({**counter, "args": {"bytes": size}})
    return {"traceEvents": events, "displayTimeUnit": "ns"}


def _named(what: str, process: int, thread: int, name: str) -> dict[str, object]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}
