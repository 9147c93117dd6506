"""Profiler ``opdsl.profile``: a context manager that collects the times of calls, plans and compiles."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter
from types import TracebackType
from typing import Any

from opdsl.dispatch import record_calls
from opdsl.errors import OptionError
from opdsl.profiling.averages import Averages
from opdsl.profiling.entries import Entry
from opdsl.profiling.trace import trace
from opdsl.runtime.events import Event, listening

__all__ = ["Profile", "profile"]


class Profile:
    """Profile of the operator calls, plans and compiles within a ``with`` block.

    Calls are collected in the thread or task that enters the block, and in others that enter ``thread()``. Plans and
    compiles are collected in all threads. Calls run the same plans as without a profile. If ``torch.profiler`` runs,
    too, it gets a span for each call.

    Args:
        path: file to which the trace is written at the end; None for no trace.
        memory: whether to record the memory in use after each call.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, memory: bool = False) -> None:
        self.path = path
        self.memory = memory
        self._entries: list[Entry] = []
        self._threads: dict[int, str] = {}
        self._origin = 0.0
        self._stack: ExitStack | None = None

    def __enter__(self) -> Profile:
        """Start collecting, after clearing earlier entries.

        Raises:
            OptionError: the profile is active already.
        """
        if self._stack is not None:
            raise OptionError("profile: this profile is active already. Use another one for the inner block.")
        self._entries, self._threads = [], {}
        self._origin = perf_counter()
        with ExitStack() as stack:
            stack.enter_context(listening(self._note))
            stack.enter_context(self.thread())
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop collecting, and write the trace if a path was given."""
        stack, self._stack = self._stack, None
        if stack is not None:
            stack.close()
        if self.path is not None:
            self.export_chrome_trace(self.path)

    @contextmanager
    def thread(self) -> Iterator[None]:
        """Return a context manager that collects the calls of another thread, to be entered there."""
        with record_calls(self._call, _span_opener()):
            self._name_thread()
            yield

    def key_averages(self, *, group_by_input_shape: bool = False) -> Averages:
        """Return averages by name, whose ``table()`` formats them.

        Args:
            group_by_input_shape: whether calls with different shapes are averaged separately.
        """
        return Averages.of(self.entries(), by_shapes=group_by_input_shape)

    def entries(self) -> tuple[Entry, ...]:
        """Return all entries, in the order of their ends."""
        return tuple(self._entries)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace file for ui.perfetto.dev and chrome://tracing.

        Args:
            path: of the file, which is replaced.
        """
        document = trace(self.entries(), self._origin, os.getpid(), self._threads)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)

    def _call(self, function: Any, geometries: tuple[Any, ...], seconds: float, nested: float) -> None:
        """Add an entry for a call that has just ended."""
        start = perf_counter() - seconds
        shapes = tuple(map(_shape_text, geometries))
        memory = _memory_in_use() if self.memory else ()
        thread = threading.get_ident()
        self._entries.append(Entry("call", function.operator.name, start, seconds, thread, shapes, memory))

    def _note(self, event: Event) -> None:
        self._name_thread()
        self._entries.append(Entry(event.kind, event.name, event.start, event.seconds, event.thread))

    def _name_thread(self) -> None:
        self._threads.setdefault(threading.get_ident(), threading.current_thread().name)


def profile(path: str | os.PathLike[str] | None = None, *, memory: bool = False) -> Profile:
    """Create a profile, a context manager for the code to be measured.

    Args:
        path: file to which a trace for ui.perfetto.dev is written at the end; None for no trace.
        memory: whether to record the memory in use after each call.

    >>> import opdsl
    >>> x = opdsl.ones(3, 4)
    >>> with opdsl.profile() as profile:
    ...     y = x.exp() + x
    >>> [(average.name, average.count) for average in profile.key_averages() if "::" in average.name[:6]]
    [('aten::exp', 1), ('aten::add.Tensor', 1)]
    """
    return Profile(path, memory=memory)


def _shape_text(geometry: Any) -> str:
    if geometry is None:
        return "None"
    if isinstance(geometry, tuple):
        return f"[{', '.join(map(_shape_text, geometry))}]"
    return f"{geometry.dtype.name}[{', '.join(map(str, geometry.shape))}]"


def _memory_in_use() -> tuple[tuple[str, int], ...]:
    """Return the bytes that tensors occupy, for each backend in use."""
    host, driver = sys.modules.get("opdsl.backends.cpu.memory"), sys.modules.get("opdsl.backends.cuda.driver")
    used = [] if host is None else [("cpu", host.memory_stats()["in_use"])]
    if driver is not None and driver.installed() is not None:
        used.append(("cuda", importlib.import_module("opdsl.cuda").memory_allocated()))
    return tuple(used)


def _span_opener() -> Any:
    """Return the function that opens spans of ``torch.profiler``; None if torch is not imported."""
    if "torch" not in sys.modules:
        return None
    return importlib.import_module("opdsl.interop.torch.spans").open_span
