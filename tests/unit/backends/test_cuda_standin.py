"""Tests of the real cuda-python on a stand-in for the driver, which checks contexts, handles, sizes and captures."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from opdsl.backends.cuda.driver import Driver
from tests.emulation.standin import needs_standin, run, standin

pytest.importorskip("cuda.bindings.driver", reason="needs the extra cuda")
pytestmark = needs_standin


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return standin(tmp_path_factory.mktemp("standin"))


METHODS = """
import ctypes
from opdsl.backends.cuda.driver import Driver, driver

called = set()
for name in [name for name in vars(Driver) if not name.startswith("_")]:
    method = getattr(Driver, name)
    if callable(method):
        def wrapped(self, *given, _name=name, _method=method, **named):
            called.add(_name)
            return _method(self, *given, **named)
        setattr(Driver, name, wrapped)

api = driver()
assert (api.device_count, api.properties(1).name) == (2, "NVIDIA stand-in")
for index in (1, 0):
    api.activate(index)
other, stream = api.create_stream(), api.create_stream(-1)
free, total = api.memory_info()
address, second = api.allocate(512, stream), api.allocate(1, 0)
assert free - api.memory_info()[0] == 513 and api.device_of(address + 511) == 0
host = api.allocate_host(512)
content = (ctypes.c_char * 512).from_address(host)
content[:] = bytes(range(256)) * 2
api.copy(address, host, 512, stream)
ctypes.memset(host, 0, 512)
api.copy(host, address, 512, stream)
assert content[:] == bytes(range(256)) * 2
api.activate(1)
there = api.allocate(512, 0)
api.copy_peer(there, 1, address, 0, 512, 0)
api.free(there, 0)
api.trim(1)
api.activate(0)
api.synchronize_stream(stream)
api.synchronize()
assert api.is_stream_done(stream)
start, end, plain = api.create_event(timing=True), api.create_event(timing=True), api.create_event(timing=False)
for event in (start, end, plain):
    api.record_event(event, stream)
api.wait_event(0, plain)
api.synchronize_event(end)
assert api.is_event_done(end) and api.elapsed(start, end) == 1.5
for event in (start, end, plain):
    api.destroy_event(event)
module = api.load(b"\\x7fELF" + bytes(64))
function = api.function(module, "kernel", 100 << 10)
parameters = (ctypes.c_void_p * 1)()
api.launch(function, (1, 2, 3), (4, 5, 6), 100 << 10, stream, ctypes.addressof(parameters))
entries, context = api.entries(), ctypes.c_void_p()
ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(entries.context)(ctypes.addressof(context))
assert context.value == api.context(0) and entries.launch
try:
    api.launch_failed(700)
except Exception as error:
    assert "ILLEGAL_ADDRESS" in str(error)
assert api.capture_of(stream) == api.capture_of(0) == (0, 0)
api.begin_capture(stream)
capture, graph = api.capture_of(stream)
lifetime = api.lifetime_of(graph)
with api.relaxed():
    api.synchronize_stream(other)
    aside = api.create_event(timing=False)
    api.record_event(aside, other)
    assert api.is_event_done(aside)
api.launch(function, (1, 1, 1), (32, 1, 1), 0, stream, ctypes.addressof(parameters))
node = api.last_node(stream)
executable = api.end_capture(stream)
api.set_parameters(executable, node, (function, (1, 1, 1), (32, 1, 1), 0), ctypes.addressof(parameters))
assert capture and executable and not lifetime.is_over()
api.launch_graph(executable, 0)
api.destroy_graph(executable)
assert lifetime.is_over() and lifetime.is_over()
api.free(address, stream)
api.free(second, 0)
api.free_host(host)
api.destroy_stream(stream)
library = ctypes.CDLL("libcuda.so.1")
assert (library.standin_launches(), library.standin_violations()) == (3, 0)
print(*sorted(called))
"""


def test_every_method_calls_the_driver_as_it_wants_to_be(library: Path) -> None:
    public = {name for name, _ in inspect.getmembers(Driver, inspect.isfunction) if not name.startswith("_")}
    assert set(run(library, METHODS, devices=2).split()) == public


WRONG = """
import pytest
from opdsl.backends.cuda.driver import Driver, driver
from opdsl.errors import DriverError, OutOfMemoryError

api = driver()
with pytest.raises(DriverError, match="INVALID_CONTEXT"):
    api.allocate(512, 0)
api.activate(0)
for call in (lambda: api.allocate(0, 0), lambda: api.allocate_host(0), lambda: api.free(512, 0)):
    with pytest.raises(DriverError, match="INVALID_VALUE"):
        call()
with pytest.raises(OutOfMemoryError):
    api.allocate(1 << 40, 0)
stream = api.create_stream()
api.begin_capture(stream)
with pytest.raises(DriverError, match="CAPTURE_UNSUPPORTED"):
    api.synchronize_stream(stream)
assert api.end_capture(stream) == 0
event = api.create_event(timing=False)
api.record_event(event, 0)
api.begin_capture(stream)
with pytest.raises(DriverError, match="CAPTURE_ISOLATION"):
    api.wait_event(stream, event)
assert api.end_capture(stream) == 0
api.destroy_stream(stream)
with pytest.raises(DriverError, match="INVALID_HANDLE"):
    api.synchronize_stream(stream)
print("done")
"""


def test_what_is_wrong_is_refused(library: Path) -> None:
    assert run(library, WRONG) == "done\n"


TENSORS = """
import ctypes, gc, threading
import opdsl
from opdsl.errors import DriverError, OutOfMemoryError

weight = opdsl.ones(64, device="cuda")
streams = [opdsl.cuda.Stream() for _ in range(3)]

def work(k):
    with streams[k]:
        for _ in range(20):
            x = opdsl.empty(64, device="cuda") + weight
            x.to("cpu", non_blocking=True)

threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert opdsl.empty(0).pin_memory().is_pinned()
run = opdsl.cuda.graph(lambda x: (x + weight) * opdsl.rand_like(x))
for _ in range(3):
    run(weight)
opdsl.cuda.empty_cache()
try:
    opdsl.cuda.graph(lambda x: x * x.sum().item())(weight)
except DriverError as error:
    assert "waited for the device" in str(error)
try:
    opdsl.empty(1 << 40, device="cuda")
except OutOfMemoryError:
    pass
foreign = opdsl.cuda.Stream()
theirs = opdsl.cuda.Stream.of(foreign.cuda_stream)
api = opdsl.backends.cuda.driver.driver()
from cuda.bindings import driver as bindings
opdsl.cuda.synchronize()
status, = bindings.cuStreamBeginCapture(theirs.handle, bindings.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
assert not status
with theirs:
    y = (weight + 1) * weight
del y
gc.collect()
status, graph = bindings.cuStreamEndCapture(theirs.handle)
assert not status and int(graph)
bindings.cuGraphDestroy(graph)
capsule = weight.__dlpack__(stream=1, max_version=(1, 0))
holder = type("Holder", (), {"__dlpack__": lambda self, **named: capsule, "__dlpack_device__": lambda self: (2, 0)})()
taken = opdsl.from_dlpack(holder) + 1
del taken, holder, capsule
run = None
gc.collect()
opdsl.cuda.empty_cache()
library = ctypes.CDLL("libcuda.so.1")
library.standin_fail(700)
try:
    opdsl.cuda.synchronize()
    print("no error")
except DriverError as error:
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error)
library.standin_fail(0)
print(library.standin_violations(), "violations")
"""


@pytest.mark.parametrize("pools", [1, 0])
def test_tensors_streams_and_graphs(library: Path, pools: int) -> None:
    assert run(library, TENSORS, pools=pools) == "0 violations\n"
