"""CUDA devices, streams, events, memory and graphs: ``opdsl.cuda``, under the names of ``torch.cuda``.

Importing it starts nothing: the driver is loaded by the functions that need it. Without a driver, ``is_available``
returns False and everything else raises ``DeviceError``.
May import: backends/cuda and the layers below it.
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
    """Return a stream, for ``with stream(s):``, which makes the stream and its device current; ``with s:`` does the
    same.

    Args:
        stream: the stream.
    """
    return stream


# ------------------------------------------------------------------------------------------------------------- devices


def get_device_properties(device: Place = None) -> Properties:
    """Return name, compute capability, memory and number of multiprocessors of a device.

    Args:
        device: the device; None for the current one.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """
    return driver().properties(index_of(device))


def get_device_name(device: Place = None) -> str:
    """Return the name of a device, such as ``"NVIDIA H200"``.

    Args:
        device: the device; None for the current one.
    """
    return get_device_properties(device).name


def get_device_capability(device: Place = None) -> tuple[int, int]:
    """Return the compute capability of a device, such as ``(9, 0)``.

    Args:
        device: the device; None for the current one.
    """
    return get_device_properties(device).capability


# -------------------------------------------------------------------------------------------------------------- memory


def memory_stats(device: Place = None) -> dict[str, int]:
    """Return statistics of a device's memory, under the names that ``torch.cuda.memory_stats`` has.

    Args:
        device: the device; None for the current one.

    Returns:
        ``allocated_bytes`` and ``active_bytes`` of blocks that tensors hold, ``reserved_bytes`` of segments from the
        driver; ``allocation``, ``active`` and ``segment``, the numbers of these. Each of them for ``.all``, the
        ``.small_pool`` (blocks up to 1 MiB) and the ``.large_pool``, and for each the ``.current`` value, its
        ``.peak``, and the totals ``.allocated`` and ``.freed``. ``inactive_split_bytes.all.current`` is free memory
        that shares a segment with tensors; ``num_alloc_retries``, ``num_ooms``, ``num_device_alloc`` and
        ``num_device_free`` are counted from the beginning. A block that other streams use is active, and counted as
        allocated, until they are done.

    Raises:
        DeviceError: the device is not a CUDA device, or does not exist.
    """
    return cache_of(index_of(device)).statistics()


def memory_allocated(device: Place = None) -> int:
    """Return the bytes of memory that tensors hold on a device.

    Args:
        device: the device; None for the current one.
    """
    return memory_stats(device)["allocated_bytes.all.current"]


def max_memory_allocated(device: Place = None) -> int:
    """Return the most bytes that tensors have held on a device since ``reset_peak_memory_stats``.

    Args:
        device: the device; None for the current one.
    """
    return memory_stats(device)["allocated_bytes.all.peak"]


def memory_reserved(device: Place = None) -> int:
    """Return the bytes of memory that opdsl has allocated from the driver: memory of tensors and cached free memory.

    Args:
        device: the device; None for the current one.
    """
    return memory_stats(device)["reserved_bytes.all.current"]


def max_memory_reserved(device: Place = None) -> int:
    """Return the most bytes that opdsl has had allocated from the driver since ``reset_peak_memory_stats``.

    Args:
        device: the device; None for the current one.
    """
    return memory_stats(device)["reserved_bytes.all.peak"]


def reset_peak_memory_stats(device: Place = None) -> None:
    """Reset every ``peak`` of ``memory_stats`` to its current value.

    Args:
        device: the device; None for the current one.
    """
    cache_of(index_of(device)).reset_peaks()


def reset_accumulated_memory_stats(device: Place = None) -> None:
    """Reset the totals of ``memory_stats``: allocated and freed, retries and failures.

    Args:
        device: the device; None for the current one.
    """
    cache_of(index_of(device)).reset_totals()


def empty_cache() -> None:
    """Return cached free memory to the driver, on all devices and in the host's pinned memory.

    Memory of graphs is not returned.
    """
    for index in range(device_count()):
        cache_of(index).give_up()
    empty_host_cache()


def mem_get_info(device: Place = None) -> tuple[int, int]:
    """Return the free and the total bytes of a device's memory.

    Args:
        device: the device; None for the current one.
    """
    index = index_of(device)
    api = driver()
    api.activate(index)
    return api.memory_info()
