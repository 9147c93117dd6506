"""Tests of ``device_check`` and ``device_guard`` of entries, on a backend that records the current device."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import opdsl
from opdsl import Alias, Device, DType, Layout, Library, Tensor
from opdsl.errors import DeviceError
from tests.unit.dispatch import recorder


@pytest.fixture(autouse=True)
def lib() -> Iterator[Library]:
    recorder.install()
    with Library("testdevices") as library:
        recorder.events.clear()
        yield library


def on(index: int, *shape: int) -> Tensor:
    tensor = opdsl.empty(shape or (2,), device=f"recorder:{index}")
    recorder.events.clear()
    return tensor


def noting(result: object) -> object:
    recorder.events.append("kernel")
    return result


# ------------------------------------------------------------------------------------------------------- device_check


def test_tensors_on_two_devices_are_refused_in_the_words_of_pytorch(lib: Library) -> None:
    @lib.op
    def first(self: Tensor, other: Tensor) -> Tensor: ...

    @first.kernel("PrivateUse1")
    def first_kernel(self, other):
        return self.clone()

    expected = (
        "Expected all tensors to be on the same device, but found at least two devices, recorder:0 and recorder:1! "
        "(when checking argument other in method testdevices::first)"
    )
    with pytest.raises(DeviceError, match=re.escape(expected)):
        first(on(0), on(1))


def test_the_error_is_a_runtime_error_as_pytorchs() -> None:
    assert issubclass(DeviceError, RuntimeError)


@pytest.mark.parametrize("swapped", [False, True])
def test_meta_beside_the_cpu_is_refused(swapped: bool) -> None:
    pair = opdsl.ones((2, 2)), opdsl.ones((2, 2), device="meta")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        opdsl.mm(*(reversed(pair) if swapped else pair))


def test_no_check_passes_tensors_of_all_devices_to_the_kernel(lib: Library) -> None:
    @lib.op(device_check="NoCheck")
    def devices(self: Tensor, other: Tensor) -> Tensor: ...

    @devices.kernel("PrivateUse1")
    def devices_kernel(self, other):
        noting(recorder.events.append(f"{self.device} {other.device}"))
        return self

    devices(on(0), on(1))
    assert "recorder:0 recorder:1" in recorder.events


def test_a_cpu_tensor_without_dimensions_is_a_number(lib: Library) -> None:
    @lib.op
    def scaled(self: Tensor, other: Tensor) -> Tensor: ...

    @scaled.kernel("Meta")
    def scaled_kernel(self, other):
        return self

    there = opdsl.ones((2,), device="meta")
    assert scaled(there, opdsl.tensor(2.0)) is there


def test_a_meta_tensor_without_dimensions_is_none(lib: Library) -> None:
    @lib.op
    def scaled(self: Tensor, other: Tensor) -> Tensor: ...

    @scaled.kernel("Meta")
    def scaled_kernel(self, other):
        return self

    with pytest.raises(DeviceError):
        scaled(opdsl.ones((2,)), opdsl.ones((), device="meta"))


def test_every_tensor_of_a_list_is_looked_at(lib: Library) -> None:
    @lib.op
    def joined(tensors: list[Tensor]) -> Tensor: ...

    @joined.kernel("PrivateUse1")
    def joined_kernel(tensors):
        return tensors[0]

    with pytest.raises(DeviceError, match="checking argument tensors"):
        joined([on(0), on(0), on(1)])


def test_the_output_is_looked_at(lib: Library) -> None:
    @lib.op("testdevices::filled.out")
    def filled(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @filled.kernel("PrivateUse1")
    def filled_kernel(self, out):
        return out

    with pytest.raises(DeviceError, match="recorder:1 and recorder:0"):
        opdsl.ops.testdevices.filled.out(on(0), out=on(1))


def test_a_composite_kernel_leaves_the_check_to_what_it_calls(lib: Library) -> None:
    @lib.op
    def second(self: Tensor, other: Tensor) -> Tensor:
        return other

    there = on(1)
    assert second(on(0), there) is there


def test_a_refused_call_has_not_reached_the_kernel(lib: Library) -> None:
    @lib.op
    def first(self: Tensor, other: Tensor) -> Tensor: ...

    @first.kernel("PrivateUse1")
    def first_kernel(self, other):
        return noting(self)

    with pytest.raises(DeviceError):
        first(on(0), on(1))
    assert recorder.events == []


# ------------------------------------------------------------------------------------------------------- device_guard


def test_the_device_is_current_around_the_kernel(lib: Library) -> None:
    @lib.op
    def same(self: Tensor) -> Tensor: ...

    @same.kernel("PrivateUse1")
    def same_kernel(self):
        return noting(self)

    same(on(1))
    assert recorder.events[:3] == ["enter recorder:1", "kernel", "leave recorder:1"]


def test_a_planned_call_is_guarded_as_the_first_one(lib: Library) -> None:
    @lib.op
    def same(self: Tensor) -> Tensor: ...

    @same.kernel("PrivateUse1")
    def same_kernel(self):
        return noting(self)

    remote = on(1)
    same(remote)
    same(remote)
    recorder.events.clear()
    same(remote)
    assert recorder.events == ["enter recorder:1", "kernel", "leave recorder:1"]


def test_a_kernel_that_raises_leaves_its_device(lib: Library) -> None:
    @lib.op
    def failing(self: Tensor) -> Tensor: ...

    @failing.kernel("PrivateUse1")
    def failing_kernel(self):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing(on(0))
    assert recorder.events == ["enter recorder:0", "leave recorder:0"]


def test_without_device_guard_nothing_is_entered(lib: Library) -> None:
    @lib.op(device_guard=False)
    def same(self: Tensor) -> Tensor: ...

    @same.kernel("PrivateUse1")
    def same_kernel(self):
        return noting(self)

    same(on(0))
    assert recorder.events == ["kernel"]


def test_the_device_of_self_is_entered_at_any_position(lib: Library) -> None:
    @lib.op(device_check="NoCheck")
    def chosen(condition: Tensor, self: Tensor) -> Tensor: ...

    @chosen.kernel("PrivateUse1")
    def chosen_kernel(condition, self):
        return noting(self)

    chosen(on(0), on(1))
    assert recorder.events[0] == "enter recorder:1"


def test_the_output_decides_where_there_is_no_self(lib: Library) -> None:
    @lib.op("testdevices::filled.out", device_check="NoCheck")
    def filled(source: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @filled.kernel("PrivateUse1")
    def filled_kernel(source, out):
        return noting(out)

    opdsl.ops.testdevices.filled.out(on(0), out=on(1))
    assert recorder.events[0] == "enter recorder:1"


def test_a_factory_runs_on_the_device_that_it_is_given(lib: Library) -> None:
    @lib.op
    def made(
        size: list[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...

    @made.kernel("PrivateUse1")
    def made_kernel(size, dtype, layout, device, pin_memory):
        noting(None)
        return opdsl.ones(())

    made([2], device="recorder:3")
    assert recorder.events == ["enter recorder:3", "kernel", "leave recorder:3"]


def test_a_composite_kernel_is_not_guarded(lib: Library) -> None:
    @lib.op
    def same(self: Tensor) -> Tensor:
        return noting(self)

    same(on(0))
    assert recorder.events == ["kernel"]


def test_the_kernel_without_the_dispatcher_is_not_guarded(lib: Library) -> None:
    @lib.op
    def same(self: Tensor) -> Tensor: ...

    @same.kernel("PrivateUse1")
    def same_kernel(self):
        return noting(self)

    same.direct("PrivateUse1")(on(0))
    assert recorder.events == ["kernel"]
