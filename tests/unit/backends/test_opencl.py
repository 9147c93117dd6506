"""Tests of the OpenCL backend on PoCL: operators, memory, errors, and its kernels against the interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import opdsl
from opdsl.backends.opencl.arrays import Block
from opdsl.backends.opencl.devices import Opened, library, opened
from opdsl.errors import DeviceError, MissingKernelError, OutOfMemoryError
from opdsl.kernels.libraries import Fourier, LinearAlgebra, _library
from opdsl.kernels.loops import schedules
from opdsl.kernels.loops.interpreter import interpret
from opdsl.kernels.loops.making import Loops
from opdsl.kernels.loops.model import Program
from opdsl.runtime import Device
from opdsl.runtime.dtype import int64
from opdsl.runtime.memory import device_memory
from tests.pocl import INSTALLED, name_processor
from tests.unit.kernels import turning
from tests.unit.kernels.loop_programs import Drawn, drawn_programs
from tests.unit.kernels.sibling_law import faults_there, problems

pytestmark = pytest.mark.skipif(not INSTALLED, reason="pyopencl is not installed (it is one of the extra dev)")


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    name_processor()
    yield Device("opencl:0")


# ------------------------------------------------------------------------------------------------------------ operators

# One operator for each kind of loop, compared with the CPU; test_loops.py compares loops with the interpreter.
OPERATORS = (
    "add.Tensor", "exp", "angle", "arange.start", "uniform_", "_to_copy", "sum.dim_IntList", "argmax", "_softmax",
    "native_layer_norm", "cumsum", "cummax", "gather", "index_add", "reflection_pad1d", "mm", "sort.stable",
)  # fmt: skip


@pytest.fixture
def guarded(device: Device, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Append guard bytes to every buffer, and check after the test that no kernel wrote them."""
    guard = np.full(512, 0xA5, np.uint8)
    buffers: list[tuple[Any, int]] = []
    queue, copy, make = opened(0).queue, library().enqueue_copy, Block.__init__

    def init(self: Block, device: Opened, size: int) -> None:
        make(self, device, size + guard.size)
        self.size = size
        copy(queue, self.buffer, guard, dst_offset=size, is_blocking=True)
        buffers.append((self.buffer, size))

    monkeypatch.setattr(Block, "__init__", init)
    yield
    result = np.empty_like(guard)
    for buffer, size in buffers:
        copy(queue, result, buffer, src_offset=size, is_blocking=True)
        assert (result == guard).all(), f"bytes behind a buffer of {size} are written"


# In native_group_norm_backward PoCL let all work items of a group write, including those after the end of a row.
@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("name", (*OPERATORS, "native_group_norm_backward"))
def test_an_operator_gives_what_the_cpu_gives(name: str, device: Device) -> None:
    assert problems(name, device, most=2) == []


@pytest.mark.parametrize("name", ["mul.Tensor", "sum.dim_IntList", "tril", "copy_"])
def test_laws_hold_there(name: str, device: Device) -> None:
    assert faults_there(name, device, most=2) == []


@pytest.mark.usefixtures("guarded")
def test_rows_that_read_elsewhere(device: Device) -> None:
    assert turning.faults(device) == []


def test_gradients(device: Device) -> None:
    points = opdsl.linspace(0.1, 1.0, 6).reshape(2, 3)
    grads = []
    for side in (points, points.to(device)):
        leaf = side.requires_grad_()
        (leaf.softmax(1) * leaf.cumsum(0)).exp().sum().backward()
        grads.append(leaf.grad.cpu().numpy())
    np.testing.assert_allclose(*grads, rtol=1e-6)


def test_many_rows_and_long_ones_are_cut_differently_and_give_the_same(device: Device) -> None:
    """Many short rows (a work item each) and few long ones (a work group each) compute the same as the CPU."""
    for shape in ((3, 1000), (1000, 3)):
        rows = opdsl.linspace(-1.0, 1.0, 3000, dtype=opdsl.float64).reshape(shape)
        y = rows.to(device)
        for one, other in ((rows.sum(1), y.sum(1)), (rows.softmax(1), y.softmax(1)), (rows.cumsum(1), y.cumsum(1))):
            np.testing.assert_allclose(other.cpu().numpy(), one.numpy(), rtol=1e-12, atol=1e-12)
        assert np.array_equal(rows.argmax(1).numpy(), y.argmax(1).cpu().numpy())


def test_long_sums_keep_their_digits(device: Device) -> None:
    ones = opdsl.full((1 << 20,), 0.1, device=device)
    assert ones.sum().item() == pytest.approx(104857.6, rel=1e-6)


# ---------------------------------------------------------------------------------------------------- memory, errors


def test_copies_keep_elements_and_strides(device: Device) -> None:
    x = opdsl.arange(24, dtype=opdsl.int16).reshape(2, 3, 4)
    there = x.to(device)
    for view in (there, there.transpose(0, 2), there[:, ::2], there[1, 1:, 2], there.expand(2, 2, 3, 4)):
        again = view.clone()
        assert np.array_equal(again.cpu().numpy(), view.cpu().numpy())
    assert np.array_equal(there[:, ::2].cpu().numpy(), x[:, ::2].numpy())
    assert opdsl.empty((0, 3), device=device).cpu().shape == (0, 3)


def test_copies_leave_what_lies_between_elements(device: Device) -> None:
    x, y = (opdsl.full((4, 6), number, device=device) for number in (1.0, 2.0))
    x[:, ::3].copy_(y[:, ::3])
    assert x.cpu().numpy().tolist() == [[2.0, 1.0, 1.0] * 2] * 4


def test_views_of_another_dtype(device: Device) -> None:
    there = opdsl.arange(24, dtype=opdsl.int16).reshape(2, 3, 4).to(device)
    assert there.view(opdsl.uint8).shape == (2, 3, 8) and there.to(device) is there


def test_views_share_memory(device: Device) -> None:
    x = opdsl.zeros((3, 4), device=device)
    x.t()[1].fill_(7.0)
    assert x.cpu().numpy()[:, 1].tolist() == [7.0] * 3 and x[1:].data_ptr() - x.data_ptr() == 16
    assert x._version == 1


def test_a_queue_is_waited_for(device: Device) -> None:
    x = opdsl.ones((1 << 20,), device=device)
    for _ in range(4):
        x = x + x
    device_memory(device).synchronize(device)
    assert x[-1].item() == 16.0


def test_errors_say_what_is_wrong(device: Device) -> None:
    with pytest.raises(DeviceError, match="there is no device opencl:99"):
        opdsl.zeros(3, device="opencl:99")
    with pytest.raises(DeviceError, match="same device"):
        opdsl.ones(3) + opdsl.ones(3, device=device)
    with pytest.raises(OutOfMemoryError, match="opencl:0 has no"):
        opdsl.empty((1 << 45,), device=device)
    with pytest.raises(MissingKernelError, match=r"x\.cpu\(\)|is no kernel for OpenCL"):
        opdsl.ops.aten.histogram(opdsl.ones(3, device=device))


LIBRARIES: dict[str, Callable[[opdsl.Tensor], Any]] = {
    "_fft_r2c": opdsl.fft.rfft,
    "cholesky_inverse": opdsl.cholesky_inverse,
    "linalg_inv_ex": opdsl.linalg.inv,
    "linalg_lu": opdsl.linalg.lu,
    "linalg_qr": opdsl.linalg.qr,
    "linalg_ldl_factor_ex": lambda x: opdsl.ops.aten.linalg_ldl_solve(*opdsl.ops.aten.linalg_ldl_factor(x), x),
    "linalg_lstsq": lambda x: opdsl.linalg.lstsq(x, x),
    "_linalg_det": opdsl.linalg.det,
    "_linalg_svd": opdsl.linalg.svdvals,
    "triangular_solve": lambda x: opdsl.triangular_solve(x, x),
}


def positive(device: Device | str) -> opdsl.Tensor:
    """Return a positive definite matrix."""
    return opdsl.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.0], [0.5, 0.0, 2.0]], device=device)


@pytest.mark.parametrize("name", LIBRARIES)
def test_it_has_no_libraries(name: str, device: Device) -> None:
    with pytest.raises(MissingKernelError, match=rf"aten::{name}.*: there .* on opencl \(have cpu\).*x\.cpu\(\)"):
        LIBRARIES[name](positive(device))


def test_outputs_are_as_they_were_where_it_has_no_libraries(device: Device) -> None:
    out = opdsl.empty(0, dtype=opdsl.complex64, device=device)
    with pytest.raises(MissingKernelError, match="Fourier"):
        opdsl.ops.aten._fft_r2c.out(opdsl.ones(4, device=device), [0], 0, True, out=out)
    assert out.shape == (0,)


def on_host(function: Callable[..., None]) -> Callable[..., None]:
    """Wrap a CPU library's function so that it runs on host copies and writes results back."""

    def run(*arguments: Any) -> None:
        copies = [argument.cpu() if isinstance(argument, opdsl.Tensor) else argument for argument in arguments]
        function(*copies)
        for argument, copy in zip(arguments, copies, strict=True):
            if isinstance(argument, opdsl.Tensor) and 0 not in argument.strides:
                argument.copy_(copy)

    return run


@pytest.fixture
def libraries(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install linear algebra and Fourier transforms for the OpenCL backend, as a backend could provide them."""
    for part, protocol in (("fourier", Fourier), ("linear_algebra", LinearAlgebra)):
        result = import_module(f"opdsl.backends.cpu.{part}")
        module_type = ModuleType(part)
        for name in [var for var in vars(protocol) if not var.startswith("_")]:
            setattr(module_type, name, on_host(getattr(result, name)))
        monkeypatch.setitem(sys.modules, f"opdsl.backends.opencl.{part}", module_type)
    _library.cache_clear()
    yield
    _library.cache_clear()


@pytest.mark.usefixtures("libraries")
@pytest.mark.parametrize("name", LIBRARIES)
def test_operators_run_where_a_backend_brings_the_libraries(name: str, device: Device) -> None:
    expected, actual = (LIBRARIES[name](positive(side)) for side in ("cpu", device))
    pairs = zip(
        *([operand] if isinstance(operand, opdsl.Tensor) else operand for operand in (expected, actual)), strict=True
    )
    for one, other in pairs:
        assert (other.device, other.strides) == (device, one.strides)
        np.testing.assert_allclose(other.cpu().numpy(), one.numpy(), rtol=1e-6)


def test_nobody_who_does_not_use_it_loads_pyopencl() -> None:
    code = "import opdsl, sys; opdsl.ones(3).exp().sum(); assert 'pyopencl' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


FOLDS: dict[str, Callable[[opdsl.Tensor], opdsl.Tensor]] = {
    "sum": lambda x: x.sum(),
    "mean of rows": lambda x: x.mean([1]),
    "sum of columns": lambda x: x.t().contiguous().sum([0]),
    "var": lambda x: x.var(),
    "argmax": lambda x: (x * 4).round().argmax(),
    "any": lambda x: (x > 0.9999).any(),
    "softmax": lambda x: opdsl.softmax(x, 1),
    "dot product": lambda x: x[0] @ x[1],
}


@pytest.mark.parametrize("name", FOLDS)
def test_few_points_fold_many_turns_in_parts(device: Device, name: str) -> None:
    values = np.random.default_rng(5).random((2, 3 * (1 << 15) + 5), np.float32)
    x = opdsl.from_numpy(values)
    actual, expected = FOLDS[name](x.to(device)).cpu().numpy(), FOLDS[name](x).numpy()
    np.testing.assert_allclose(actual, expected, rtol=1e-5)


def test_the_doctor_finds_it(device: Device) -> None:
    from opdsl.cli.probes import findings

    result = {finding.subject: finding for finding in findings()["OpenCL"]}
    assert result["pyopencl"].mark.value == "OK" and result["opencl:0"].mark.value == "OK"


# ------------------------------------------------------------------------------------------------------------ printer


@settings(max_examples=8)
@given(drawn=drawn_programs())
def test_the_printer_does_what_the_oracle_does(drawn: Drawn) -> None:
    name_processor()
    for change in SCHEDULES:
        _hold_against_oracle(drawn, change(drawn.program))


SCHEDULES: tuple[Callable[[Program], Program], ...] = (lambda program: schedules.shared(program, 8),)


def _hold_against_oracle(drawn: Drawn, program: Program) -> None:
    from opdsl.backends.opencl.launcher import run_program

    memory = device_memory(Device("opencl:0"))
    there = [memory.from_host(array, Device("opencl:0"), int64) for array in drawn.arrays]
    arguments = tuple(range(len(program.parameters)))
    run_program(Loops(program, tuple(drawn.words), arguments), 0, [*there, *drawn.numbers], program)
    expected: list[Any] = [array.copy() for array in drawn.arrays]
    interpret(program, [*expected, *drawn.numbers], drawn.words)
    for one, other in zip(there, expected, strict=True):
        np.testing.assert_array_equal(memory.to_host(one), other)
