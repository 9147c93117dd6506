"""CUDA devices, streams, events, memory and graphs: ``opdsl.cuda``, under the names of ``torch.cuda``.

Importing it starts nothing: the driver is loaded by what needs it. Where there is none, ``is_available`` says so and
everything else raises ``DeviceError``.
May import: backends/cuda and what stands below it.
"""

from __future__ import annotations

from opdsl.backends.cuda.allocator import cache_of
from opdsl.backends.cuda.devices import current_device, device, device_count, index_of, is_available, set_device
from opdsl.backends.cuda.driver import Properties, driver
from opdsl.backends.cuda.graphs import Graph, graph
from opdsl.backends.cuda.host import empty_cache as empty_host_cache
from opdsl.backends.cuda.streams import Event, Stream, current_stream, default_stream, synchronize
from opdsl.runtime.device import Device
from opdsl.runtime.interchange import from_cuda_array

__all__ = [
    "Event",
    "Graph",
    "Properties",
    "Stream",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "empty_cache",
    "from_cuda_array",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "graph",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "stream",
    "synchronize",
]

Place = Device | str | int | None


def stream(stream: Stream) -> Stream:
    """``with stream(s):`` makes a stream the current one, and its device too; the same as ``with s:``.

    Args:
        stream: which one.
    """
    return stream


# ------------------------------------------------------------------------------------------------------------- devices


def get_device_properties(device: Place = None) -> Properties:
    """Name, compute capability, memory and multiprocessors of a device, the current one by default.

    Args:
        device: which one; the current one for None.

    Raises:
        DeviceError: it is no CUDA device, or is not there.
    """
    return driver().properties(index_of(device))


def get_device_name(device: Place = None) -> str:
    """What the device is called, ``"NVIDIA H200"``.

    Args:
        device: which one; the current one for None.
    """
    return get_device_properties(device).name


def get_device_capability(device: Place = None) -> tuple[int, int]:
    """Compute capability of a device, ``(9, 0)``.

    Args:
        device: which one; the current one for None.
    """
    return get_device_properties(device).capability


# -------------------------------------------------------------------------------------------------------------- memory


def memory_stats(device: Place = None) -> dict[str, int]:
    """Return statistics of a device's memory, under the names that ``torch.cuda.memory_stats`` has.

    Args:
        device: which one; the current one for None.

    Returns:
        ``allocated_bytes`` and ``active_bytes`` of blocks that tensors hold, ``reserved_bytes`` of segments that the
        driver has handed out; ``allocation``, ``active`` and ``segment``, how many these are. Each of them ``.all``,
        of the ``.small_pool`` (blocks to 1 MiB) and the ``.large_pool``, and of each what is ``.current``, its
        ``.peak``, and all that has been ``.allocated`` and ``.freed``. ``inactive_split_bytes.all.current`` is free
        but shares a segment with tensors; ``num_alloc_retries``, ``num_ooms``, ``num_device_alloc`` and
        ``num_device_free`` are counted from the beginning. A block that other streams use is active until they are
        done, and allocated too.

    Raises:
        DeviceError: it is no CUDA device, or is not there.
    """
    return cache_of(index_of(device)).statistics()


def memory_allocated(device: Place = None) -> int:
    """Bytes of memory that tensors hold on a device.

    Args:
        device: which one; the current one for None.
    """
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Place = None) -> int:
    """The most bytes that tensors have held on a device, since ``reset_peak_memory_stats``.

    Args:
        device: which one; the current one for None.
    """
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Place = None) -> int:
    """Bytes of memory that opdsl has of the driver: what tensors hold, and what waits for the next one.

    Args:
        device: which one; the current one for None.
    """
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Place = None) -> int:
    """The most bytes that opdsl has had of the driver, since ``reset_peak_memory_stats``.

    Args:
        device: which one; the current one for None.
    """
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Place = None) -> None:
    """Count every ``peak`` of ``memory_stats`` from here on.

    Args:
        device: which one; the current one for None.
    """
    cache_of(index_of(device)).reset_peaks()


def reset_accumulated_memory_stats(device: Place = None) -> None:
    """Count what ``memory_stats`` has allocated and freed, retries and failures, from here on.

    Args:
        device: which one; the current one for None.
    """
    cache_of(index_of(device)).reset_totals()


def empty_cache() -> None:
    """Give memory that waits for the next tensor back to the driver, on all devices and in the host's pinned memory.

    What graphs use stays with them.
    """
    for index in range(device_count()):
        cache_of(index).give_up()
    empty_host_cache()


def mem_get_info(device: Place = None) -> tuple[int, int]:
    """Bytes that are free on a device, and all that it has.

    Args:
        device: which one; the current one for None.
    """
    index = index_of(device)
    api = driver()
    api.activate(index)
    return api.memory_info()
