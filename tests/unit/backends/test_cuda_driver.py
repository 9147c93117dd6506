"""Tests of calls of the driver, against the signatures in the installed cuda-python."""

from __future__ import annotations

import ctypes
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from opdsl.backends.cuda import driver
from opdsl.backends.cuda.driver import Driver
from opdsl.errors import DeviceError, DriverError, MissingDependencyError, OutOfMemoryError

real = pytest.importorskip("cuda.bindings.driver")

# The results of functions in addition to their status; functions that are not listed have none.
RESULTS: dict[str, tuple[Any, ...]] = {
    "cuDeviceGetCount": (2,),
    "cuDeviceGetName": (b"A card\0\0",),
    "cuMemGetInfo": (1, 2),
    "cuEventElapsedTime": (1.5,),
    "cuStreamGetCaptureInfo": (real.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_ACTIVE, 11, 12, [13], [], 1),
    "cuThreadExchangeStreamCaptureMode": (real.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL,),
    **dict.fromkeys(
        [
            "cuCtxGetCurrent",
            "cuDeviceGet",
            "cuDeviceGetAttribute",
            "cuDeviceGetDefaultMemPool",
            "cuMemAlloc",
            "cuUserObjectCreate",
            "cuDevicePrimaryCtxRetain",
            "cuDeviceTotalMem",
            "cuEventCreate",
            "cuGraphInstantiate",
            "cuMemAllocAsync",
            "cuMemHostAlloc",
            "cuModuleGetFunction",
            "cuModuleLoadData",
            "cuPointerGetAttribute",
            "cuStreamCreateWithPriority",
            "cuStreamEndCapture",
        ],
        (7,),
    ),
}


class Api:
    """Fake of cuda-python's functions without a driver, which checks arguments against the real signatures."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.status: dict[str, Any] = {}
        self.results = dict(RESULTS)

    def __getattr__(self, name: str) -> Any:
        there = getattr(real, name)
        if not name.startswith("cu") or isinstance(there, type):
            return there

        def call(*inputs: Any) -> tuple[Any, ...]:
            first = (there.__doc__ or "").splitlines()[0]
            parameters = [part for part in re.sub(r"^\w+\(|\)$", "", first).split(", ") if part]
            assert len(inputs) == len(parameters), f"{first} got {inputs}"
            self.calls.append((name, inputs))
            if name.startswith("cuGetError"):
                return 0, inputs[0].name.encode()
            return self.status.get(name, real.CUresult.CUDA_SUCCESS), *self.results.get(name, ())

        return call


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    bindings = Api()
    monkeypatch.setattr(driver, "_bindings", lambda: bindings)
    c = ctypes.CDLL(None)
    monkeypatch.setattr(driver, "_library", lambda: SimpleNamespace(cuLaunchKernel=c.abs, cuCtxGetCurrent=c.labs))
    return bindings


def failed(driver: Driver) -> None:
    with suppress(DriverError):
        driver.launch_failed(700)


USES: dict[str, Callable[[Driver], object]] = {
    "activate": lambda driver: driver.activate(1),
    "properties": lambda driver: driver.properties(0),
    "memory_info": lambda driver: driver.memory_info(),
    "allocate": lambda driver: driver.allocate(512, 0),
    "free": lambda driver: driver.free(4096, 0),
    "allocate_host": lambda driver: driver.allocate_host(512),
    "free_host": lambda driver: driver.free_host(4096),
    "copy": lambda driver: driver.copy(1, 2, 3, 0),
    "copy_peer": lambda driver: (driver.activate(0), driver.activate(1), driver.copy_peer(1, 0, 2, 1, 3, 0)),
    "device_of": lambda driver: driver.device_of(4096),
    "create_stream": lambda driver: driver.create_stream(-1),
    "destroy_stream": lambda driver: driver.destroy_stream(7),
    "synchronize_stream": lambda driver: driver.synchronize_stream(7),
    "is_stream_done": lambda driver: driver.is_stream_done(7),
    "synchronize": lambda driver: driver.synchronize(),
    "create_event": lambda driver: (driver.create_event(timing=True), driver.create_event(timing=False)),
    "destroy_event": lambda driver: driver.destroy_event(7),
    "record_event": lambda driver: driver.record_event(7, 0),
    "wait_event": lambda driver: driver.wait_event(0, 7),
    "synchronize_event": lambda driver: driver.synchronize_event(7),
    "is_event_done": lambda driver: driver.is_event_done(7),
    "elapsed": lambda driver: driver.elapsed(7, 8),
    "load": lambda driver: driver.load(b"\x7fELF"),
    "function": lambda driver: (driver.function(7, "kernel", 0), driver.function(7, "kernel", 100 << 10)),
    "launch": lambda driver: driver.launch(7, (1, 2, 3), (4, 5, 6), 0, 0, 4096),
    "entries": lambda driver: driver.entries(),
    "context": lambda driver: (driver.activate(1), driver.context(1)),
    "launch_failed": lambda driver: failed(driver),
    "begin_capture": lambda driver: driver.begin_capture(7),
    "end_capture": lambda driver: driver.end_capture(7),
    "capture_of": lambda driver: driver.capture_of(7),
    "relaxed": lambda driver: driver.relaxed().__enter__(),
    "lifetime_of": lambda driver: driver.lifetime_of(7),
    "trim": lambda driver: driver.trim(0),
    "launch_graph": lambda driver: driver.launch_graph(7, 0),
    "destroy_graph": lambda driver: driver.destroy_graph(driver.end_capture(7)),
    "last_node": lambda driver: driver.last_node(7),
    "set_parameters": lambda driver: driver.set_parameters(7, 8, (9, (1, 2, 3), (4, 5, 6), 0), 4096),
}


@pytest.mark.parametrize("method", USES)
def test_functions_get_as_many_arguments_as_they_take(api: Api, method: str) -> None:
    USES[method](Driver())
    assert len(api.calls) > 1


def test_every_method_is_tried() -> None:
    public = [name for name, _ in inspect.getmembers(Driver, inspect.isfunction) if not name.startswith("_")]
    assert set(public) == set(USES)


def test_entries_are_the_addresses_of_the_drivers_functions(api: Api) -> None:
    loaded, c = Driver(), ctypes.CDLL(None)
    loaded.activate(1)
    entries = loaded.entries()
    assert entries is not None and loaded.context(1) == 7
    assert entries[:2] == tuple(ctypes.cast(function, ctypes.c_void_p).value for function in (c.abs, c.labs))


def test_a_launch_by_machine_code_that_failed(api: Api) -> None:
    with pytest.raises(DriverError, match=r"cuLaunchKernel failed: .*CUDA_ERROR_ILLEGAL_ADDRESS"):
        Driver().launch_failed(700)


def test_properties_are_read(api: Api) -> None:
    result = Driver().properties(0)
    assert (result.name, result.capability, result.architecture) == ("A card", (7, 7), "sm_77")


def test_much_shared_memory_is_asked_for(api: Api) -> None:
    Driver().function(7, "kernel", 100 << 10)
    assert [inputs[2] for name, inputs in api.calls if name == "cuFuncSetAttribute"] == [100 << 10]


def test_devices_without_memory_pools(api: Api) -> None:
    api.results["cuDeviceGetAttribute"] = (0,)
    driver = Driver()
    api.calls.clear()
    driver.free(driver.allocate(512, 9), 9)
    driver.trim(0)
    assert [name for name, _ in api.calls] == ["cuMemAlloc", "cuStreamSynchronize", "cuMemFree"]


def test_what_is_freed_stays_with_the_driver(api: Api) -> None:
    Driver().activate(0)
    (inputs,) = [inputs for name, inputs in api.calls if name == "cuMemPoolSetAttribute"]
    assert (inputs[1].name, int(inputs[2])) == ("CU_MEMPOOL_ATTR_RELEASE_THRESHOLD", 2**64 - 1)


def test_a_stream_that_is_not_captured(api: Api) -> None:
    status = real.CUstreamCaptureStatus.CU_STREAM_CAPTURE_STATUS_NONE
    api.results["cuStreamGetCaptureInfo"] = (status, 0, 0, [], [], 0)
    assert Driver().capture_of(7) == (0, 0)


def test_captures_are_left_in_peace(api: Api) -> None:
    with Driver().relaxed():
        pass
    modes = [inputs[0].name for name, inputs in api.calls if name == "cuThreadExchangeStreamCaptureMode"]
    assert modes == ["CU_STREAM_CAPTURE_MODE_RELAXED", "CU_STREAM_CAPTURE_MODE_GLOBAL"]


def test_a_stream_that_is_not_done(api: Api) -> None:
    api.status["cuStreamQuery"] = real.CUresult.CUDA_ERROR_NOT_READY
    assert Driver().is_stream_done(7) is False


def test_a_failed_capture_has_no_graph(api: Api) -> None:
    api.status["cuStreamEndCapture"] = real.CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    assert Driver().end_capture(7) == 0


def test_out_of_memory_is_an_error_of_its_own(api: Api) -> None:
    api.status["cuMemAllocAsync"] = real.CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(OutOfMemoryError, match=r"cuMemAllocAsync: .*CUDA_ERROR_OUT_OF_MEMORY"):
        Driver().allocate(1 << 40, 0)


def test_other_failures_name_the_call_and_the_error(api: Api) -> None:
    api.status["cuLaunchKernel"] = real.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(DriverError, match=r"cuLaunchKernel failed: .*CUDA_ERROR_INVALID_VALUE.*CUDA_LAUNCH_BLOCKING"):
        USES["launch"](Driver())


def test_a_driver_without_a_gpu(api: Api) -> None:
    api.status["cuInit"] = real.CUresult.CUDA_ERROR_NO_DEVICE
    with pytest.raises(DeviceError, match=r"the driver found no GPU .*CUDA_ERROR_NO_DEVICE.*nvidia-smi"):
        Driver()


def test_a_driver_without_cuda_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(driver, "_library", lambda: ctypes.CDLL(None))
    monkeypatch.setattr(driver.importlib, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"pip install 'opdsl\[cuda\]'"):
        Driver()
