"""OpenCL devices of this machine: each has a context, a queue that runs in order, and a memory pool."""

from __future__ import annotations

import atexit
import os
from functools import cache
from types import ModuleType
from typing import Any

import attrs

from opdsl.errors import DeviceError, MissingDependencyError
from opdsl.runtime.device import Device
from opdsl.runtime.permanent import kept_forever

__all__ = ["Opened", "available", "device_names", "index_of", "library", "opened", "problem"]


@attrs.frozen(eq=False)
class Opened:
    """OpenCL device with its context, queue and memory pool.

    index: its index. device, context, queue: objects of pyopencl. pool: allocates buffers.
    doubles: whether it has float64. exchanges_long: whether it has 64-bit atomics. is_cpu: whether work items run on
        the
    host's CPU.
    """

    index: int
    device: Any
    context: Any
    queue: Any
    pool: Any
    doubles: bool
    exchanges_long: bool
    is_cpu: bool

    @property
    def key(self) -> str:
        """Return a text that differs between devices for which different machine code is built."""
        device = self.device
        return f"{device.platform.name} {device.platform.version} {device.name} {device.driver_version}"


@cache
def library() -> ModuleType:
    """Import pyopencl on the first call, and return it.

    Raises:
        MissingDependencyError: pyopencl is not installed.
    """
    try:
        import pyopencl
        import pyopencl.tools
    except ImportError as error:
        raise MissingDependencyError(
            "device 'opencl' needs pyopencl, and a driver. Install them: pip install \"opdsl[opencl]\" (its PoCL "
            "runs on any CPU)."
        ) from error
    return pyopencl


@kept_forever
def _devices() -> tuple[Any, ...]:
    """Return all devices of all OpenCL drivers, GPUs first."""
    cl = library()
    try:
        devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    except cl.Error:  # there is no driver at all
        devices = []
    return tuple(sorted(devices, key=lambda device: not device.type & cl.device_type.GPU))


def available() -> bool:
    """Return whether pyopencl is installed and finds a device."""
    try:
        return bool(_devices())
    except MissingDependencyError:
        return False


def device_names() -> tuple[str, ...]:
    """Return the names of the devices, in the order of their indices."""
    return tuple(f"{device.name.strip()} ({device.platform.name})" for device in _devices())


def problem(index: int) -> str:
    """Return a known reason why a device cannot compile kernels, with its remedy; empty if none is known."""
    version = _devices()[index].version
    if "PoCL" in version and version.endswith("x86_64-unknown-linux-gnu-generic"):
        return "PoCL is older than this processor. Install a newer one, such as your system's pocl-opencl-icd"
    return ""


def index_of(device: Device) -> int:
    """Return the index of a device, 0 if it has none.

    Raises:
        MissingDependencyError: pyopencl is not installed.
        DeviceError: the device does not exist.
    """
    index = device.index or 0
    count = len(_devices())
    if index >= count:
        have = f"{count} OpenCL device{'s' if count != 1 else ''}"
        raise DeviceError(f"there is no device {device} (have {have}; `opdsl doctor` shows them)")
    return index


_OPENED: dict[int, Opened] = {}
_PROCESS = os.getpid()


def opened(index: int) -> Opened:
    """Return a device by its index, opening it on the first call.

    Raises:
        DeviceError: this process was forked from one that has opened devices, whose threads it does not have.
    """
    opened_device = _OPENED.get(index)
    if opened_device is None or os.getpid() != _PROCESS:
        opened_device = _open(index)
    return opened_device


def _open(index: int) -> Opened:
    if os.getpid() != _PROCESS:
        raise DeviceError(
            "device 'opencl' cannot be used in a forked process. Start new processes instead: "
            'multiprocessing.set_start_method("spawn").'
        )
    cl, device = library(), _devices()[index]
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    extensions = device.extensions.split()
    opened_device = Opened(
        index,
        device,
        context,
        queue,
        cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue)),
        "cl_khr_fp64" in extensions,
        "cl_khr_int64_base_atomics" in extensions,
        bool(device.type & cl.device_type.CPU),
    )
    atexit.register(_close, opened_device)
    return _OPENED.setdefault(index, opened_device)


def _close(device: Opened) -> None:
    """Wait for a device's queued work before the driver is unloaded, and free unused memory of its pool."""
    if os.getpid() == _PROCESS:
        device.queue.finish()
        device.pool.stop_holding()
