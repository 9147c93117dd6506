"""CUDA streams and events, and the current stream of each device.

The current stream is read whenever work is queued, and belongs to a thread or task.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from opdsl.backends.cuda.devices import KIND, current_device, device, index_of
from opdsl.backends.cuda.draws import Draws
from opdsl.backends.cuda.driver import Driver, Lifetime, driver, installed
from opdsl.backends.cuda.finalization import drain, finalize_last, ordering
from opdsl.backends.cuda.pools import CapturePool, Pool
from opdsl.backends.cuda.reports import raise_reported
from opdsl.errors import DriverError, InterchangeError, OptionError
from opdsl.runtime import scopes
from opdsl.runtime.device import Device
from opdsl.runtime.generator import Generator, sources

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "default_stream",
    "stream_of",
    "synchronize",
]

ENDED: list[bool] = []
"""List that is not empty once the interpreter ends: remaining resources are then left to the driver. Destructors hold a
reference to it, because globals may be gone before they run.
"""

atexit.register(ENDED.append, True)


# ------------------------------------------------------------------------------------------------------------- streams


class Stream(scopes.Scope):
    """Queue of work on one device. ``with stream:`` makes the stream and its device the current ones.

    Args:
        device: the device; None for the current one.
        priority: lower numbers run first.

    index: index of the device.
    handle: the driver's number of the stream, 0 for the default stream.
    pool: free memory that may be used at once; empty where ``memory`` has to be called.
    capture: memory of a capture by opdsl, during the capture; else None.
    is_watched: whether another library knows the stream, and so may capture it.
    draws: record of the random numbers that a function draws while the stream is captured; else None.
    """

    __slots__ = (
        "__weakref__",
        "_captures",
        "_idle",
        "_is_own",
        "_keep",
        "_marker",
        "capture",
        "draws",
        "handle",
        "index",
        "is_watched",
        "pool",
    )
    __schema_type__: ClassVar[str] = "Stream"

    def __init__(self, device: Device | str | int | None = None, priority: int = 0) -> None:
        index = index_of(device)
        driver().activate(index)
        self._set(index, driver().create_stream(priority), is_own=True)

    def _set(self, index: int, handle: int, *, is_own: bool, keep: object = None) -> None:
        self.index = index
        self.handle = handle
        self.pool = Pool(index)
        self.capture: CapturePool | None = None
        self.is_watched = False
        self.draws: Draws | None = None
        self._idle = self.pool
        self._captures: dict[int, tuple[CapturePool, Lifetime]] = {}
        self._is_own = is_own
        self._keep = keep
        self._marker = 0
        if not is_own and handle:
            self.watch()

    @classmethod
    def of(cls, source: object, device: Device | str | int | None = None) -> Stream:
        """Wrap a stream that another library has created.

        Args:
            source: an object with ``__cuda_stream__`` (as of cuda.core or torch), or the driver's handle of it.
            device: the stream's device; None for the current one.

        Raises:
            InterchangeError: ``source`` is not a stream.
            DeviceError: the device is not a CUDA device, or does not exist.
        """
        protocol = getattr(source, "__cuda_stream__", None)
        handle = protocol()[1] if callable(protocol) else getattr(source, "cuda_stream", source)
        if isinstance(handle, bool) or not isinstance(handle, int):
            raise InterchangeError(f"a stream has __cuda_stream__, or is a number (got {type(source).__name__})")
        index = index_of(device)
        if handle == 0:
            return default_stream(index)
        known = _foreign.get((index, handle))
        if known is None:
            known = _foreign[index, handle] = _made(index, handle, keep=source)
            if not isinstance(source, int):
                _keep((index, handle), known)
        return known

    @property
    def device(self) -> Device:
        """Return the stream's device."""
        return Device(KIND, self.index)

    @property
    def cuda_stream(self) -> int:
        """Return the driver's number of the stream, under PyTorch's name."""
        self.watch()
        return self.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of cuda.core's stream protocol, and the driver's number of the stream."""
        self.watch()
        return 0, self.handle

    def watch(self) -> None:
        """Have every later allocation query the driver whether another library is capturing the stream."""
        if not self.is_watched and self.handle:
            self.is_watched = True
            self._idle, self.pool = self.pool, Pool(self.index)

    def captured(self) -> CapturePool | None:
        """Return the memory pool of the capture that the stream is in, by opdsl or another library; None if it is in
        none.
        """
        if self.capture is not None or not self.is_watched:
            return self.capture
        api = driver()
        capture, graph = api.capture_of(self.handle)
        if not capture:
            return None
        for ended in [key for key, (_, lifetime) in self._captures.items() if lifetime.is_over()]:
            del self._captures[ended]
        if capture not in self._captures:
            self._captures[capture] = CapturePool(self), api.lifetime_of(graph)
        return self._captures[capture][0]

    def is_captured(self) -> bool:
        """Return whether work that is queued on the stream now becomes part of a graph."""
        return self.capture is not None or (self.is_watched and driver().capture_of(self.handle)[0] != 0)

    def memory(self) -> Pool:
        """Return the pool that memory for work queued next is taken from: the capture's if the stream is captured."""
        if not self.is_watched:
            return self.pool
        captured = self.captured()
        return self._idle if captured is None else captured

    def give_back(self) -> bool:
        """Return the stream's free memory to the driver.

        Memory of a capture stays, and nothing is returned while the stream is being captured.

        Returns:
            Whether any memory was returned.
        """
        return not self.is_captured() and self._idle_memory().give_to_driver(driver(), self.handle) > 0

    def _idle_memory(self) -> Pool:
        return self._idle if self.is_watched else self.pool

    def synchronize(self) -> None:
        """Wait until all work queued on the stream is done, and raise errors that its kernels have reported."""
        api = driver()
        api.activate(self.index)
        api.synchronize_stream(self.handle)
        raise_reported()

    def query(self) -> bool:
        """Return whether all work queued on the stream is done."""
        api = driver()
        api.activate(self.index)
        return api.is_stream_done(self.handle)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event after the work that is queued on the stream, and return the event.

        Args:
            event: the event; None for a new one.

        Returns:
            The event.
        """
        recorded = Event() if event is None else event
        recorded.record(self)
        return recorded

    def wait_event(self, event: Event) -> None:
        """Make work that is queued on the stream from now on wait for an event.

        Args:
            event: the event.
        """
        event.wait(self)

    def wait_stream(self, other: Stream) -> None:
        """Make work that is queued on this stream from now on wait for the work that another stream has queued now.

        Args:
            other: the other stream.
        """
        if other is self:
            return
        api = driver()
        with ordering:
            if other.is_watched and other.is_captured():
                self.watch()  # waiting makes this stream a part of that capture
            api.activate(other.index)
            if not other._marker:
                other._marker = api.create_event(timing=False)
            api.record_event(other._marker, other.handle)
            api.activate(self.index)
            api.wait_event(self.handle, other._marker)

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``runtime.scopes``."""
        return (*device(self.index).changes(), (CURRENT, {**CURRENT.get(), self.index: self}))

    def __repr__(self) -> str:
        return f"<opdsl.cuda.Stream device=cuda:{self.index} handle={self.handle:#x}>"

    def __del__(self, ended: list[bool] = ENDED) -> None:
        api = None if ended else installed()
        if api is None or not hasattr(self, "_marker"):
            return
        finalize_last(2, self._destroy)

    def _destroy(self) -> None:
        api = driver()
        api.activate(self.index)
        self._idle_memory().give_to_driver(api, self.handle)
        if self._marker:
            api.destroy_event(self._marker)
        if self._is_own:
            api.destroy_stream(self.handle)


def _made(index: int, handle: int, *, keep: object = None) -> Stream:
    """Return a ``Stream`` for a driver's handle that opdsl does not own, and so does not destroy."""
    stream = object.__new__(Stream)
    stream._set(index, handle, is_own=False, keep=keep)
    return stream


# The current streams by device; default streams have no entry.
NO_STREAMS: Mapping[int, Stream] = MappingProxyType({})
CURRENT: ContextVar[Mapping[int, Stream]] = ContextVar("opdsl_cuda_streams", default=NO_STREAMS)

current_streams = CURRENT.get
"""Function that returns the current streams of this thread or task, by device; default streams may have no entry."""

defaults: dict[int, Stream] = {}
_foreign: WeakValueDictionary[tuple[int, int], Stream] = WeakValueDictionary()

# Streams of other libraries that were used last are kept, with their free memory; each keeps the other library's object
# alive, and so the driver's stream.
_KEPT = 64
_recent: dict[tuple[int, int], Stream] = {}


def _keep(key: tuple[int, int], stream: Stream) -> None:
    _recent[key] = stream
    while len(_recent) > _KEPT:
        del _recent[next(iter(_recent))]


def stream_of(index: int) -> Stream:
    """Return the current stream of a device, given by the index of a device that exists."""
    return CURRENT.get().get(index) or defaults.get(index) or default_stream(index)


def current_stream(device: Device | str | int | None = None) -> Stream:
    """Return the stream of a device that this thread or task queues work on.

    Args:
        device: the device; None for the current one.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """
    return stream_of(index_of(device))


def default_stream(device: Device | str | int | None = None) -> Stream:
    """Return a device's legacy default stream, which PyTorch uses too and which is current until another one is made
    current.

    Args:
        device: the device; None for the current one.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """
    index = device if isinstance(device, int) else index_of(device)
    default = defaults.get(index)
    if default is None:
        default = defaults.setdefault(index_of(index), _made(index, 0))
    return default


def _drawing() -> Callable[[Generator, int], tuple[int, int]] | None:
    """Return the function that advances random generators while the current stream is captured; None if it is not
    captured.

    Raises:
        DriverError: another library captures the stream, and its graph would repeat the same numbers.
    """
    stream = stream_of(current_device())
    if stream.draws is not None:
        return stream.draws.advance
    if stream.is_watched and stream.is_captured():
        raise DriverError(
            "random numbers of opdsl cannot be captured by another library: its graph would give the same ones in each "
            "run. Draw them before, or capture with opdsl.cuda.graph."
        )
    return None


sources[KIND] = _drawing


def forget() -> None:
    """Drop the cached streams, before tests replace the driver."""
    defaults.clear()
    _recent.clear()


def synchronize(device: Device | str | int | None = None) -> None:
    """Wait until all work queued on a device, on any stream, is done.

    Args:
        device: the device; None for the current one.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
        DriverError: some of the queued work has failed.
    """
    index = index_of(device)
    api = driver()
    api.activate(index)
    api.synchronize()
    drain()
    raise_reported()


# -------------------------------------------------------------------------------------------------------------- events


class Event:
    """Marker in a stream, which streams and the host can wait for, and between two of which time can be measured.

    Args:
        enable_timing: whether ``elapsed_time`` will be called.
    """

    __slots__ = ("_index", "enable_timing", "handle")

    def __init__(self, enable_timing: bool = False) -> None:
        self.enable_timing = enable_timing
        self.handle = 0
        self._index = 0

    def record(self, stream: Stream | None = None) -> None:
        """Record the event after the work that is queued on a stream.

        Args:
            stream: the stream; None for the current one.

        Raises:
            DeviceError: there is no CUDA device.
        """
        place = stream_of(index_of(None)) if stream is None else stream
        api = driver()
        api.activate(place.index)
        if self.handle and self._index != place.index:
            self._destroy(api)
        if not self.handle:
            self.handle, self._index = api.create_event(timing=self.enable_timing), place.index
        api.record_event(self.handle, place.handle)

    def wait(self, stream: Stream | None = None) -> None:
        """Make work that is queued on a stream from now on wait for the event; an event that was never recorded delays
        nothing.

        Args:
            stream: the stream; None for the current one.

        Raises:
            DeviceError: there is no CUDA device.
        """
        place = stream_of(index_of(None)) if stream is None else stream
        if self.handle:
            api = driver()
            api.activate(place.index)
            api.wait_event(place.handle, self.handle)

    def synchronize(self) -> None:
        """Wait on the host until the event is reached: all work queued before it is done."""
        if self.handle:
            api = driver()
            api.activate(self._index)
            api.synchronize_event(self.handle)
            raise_reported()

    def query(self) -> bool:
        """Return whether the event is reached: all work queued before it is done, or it was never recorded."""
        if not self.handle:
            return True
        api = driver()
        api.activate(self._index)
        return api.is_event_done(self.handle)

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds from this event to a later one; both have been reached.

        Args:
            end: the later event.

        Raises:
            OptionError: one of the events was made without ``enable_timing=True``, or has not been recorded.
        """
        if not (self.enable_timing and end.enable_timing and self.handle and end.handle):
            raise OptionError(
                "elapsed_time: both events have to be made with Event(enable_timing=True), and recorded before"
            )
        api = driver()
        api.activate(self._index)
        return api.elapsed(self.handle, end.handle)

    def _destroy(self, api: Driver) -> None:
        api.activate(self._index)
        api.destroy_event(self.handle)
        self.handle = 0

    def __del__(self, ended: list[bool] = ENDED) -> None:
        api = None if ended or not getattr(self, "handle", 0) else installed()
        if api is not None:
            self._destroy(api)
