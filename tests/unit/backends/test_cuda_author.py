"""Tests of out-kernels in CUDA C++: sources are read, checked against the schema, compiled by NVRTC and launched."""

# Kernels are wrong on purpose, and declarations have no bodies: mypy: disable-error-code="empty-body, no-untyped-def,
# no-untyped-call"

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.backends.cuda.author import check_source
from opdsl.errors import (
    DuplicateOperatorError,
    KernelCompileError,
    KernelError,
    KernelSignatureError,
    NumberError,
    UnsupportedDTypeError,
)
from opdsl.kernels.calls import ArraySpec
from opdsl.kernels.definitions.cuda_source import CudaSource, attached_source
from tests.emulation.driver import EmulatedDriver

ADD = """
extern "C" __global__ void add_number(const float* self, double number, float* out, long long out_numel) {
    const long long at = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (at < out_numel) {
        out[at] = self[at] + static_cast<float>(number);
    }
}
"""

GENERIC = ADD.replace("const float* self", "const self_t* self").replace("float* out", "out_t* out")

WRONG = """
extern "C" __global__ void add_number(const float* self, double number, float* out) {
    out[0] = self[0] + nubmer;
}
"""


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("testcudaauthor") as library:
        yield library


def per_element(tensors: Any, scalars: Any) -> tuple[Any, Any, int]:
    return (max(1, -(-tensors["out"].numel() // 256)),), (256,), 0


def declared(lib: Library, source: str, entry: str | None = "add_number", launch: Callable[..., Any] = per_element):
    @lib.op(out=True)
    def add_number(self: Tensor, number: float) -> Tensor: ...

    @add_number.meta
    def add_number_meta(ctx, self, number):
        ctx.set_output(0, self.shape, like=self)

    def add_number_launch(tensors, scalars):
        return launch(tensors, scalars)

    add_number.out_kernel("CUDA", source=source, entry=entry)(add_number_launch)
    return add_number


def scale_rows_of(lib: Library) -> Any:
    @lib.op(out=True)
    def scale_rows(self: Tensor, factors: Tensor) -> Tensor: ...

    @scale_rows.meta
    def scale_rows_meta(ctx, self, factors):
        ctx.set_output(0, self.shape, like=self)

    @scale_rows.out_kernel("CUDA", source="scale_rows.cu", entry="scale_rows")
    def scale_rows_cuda(tensors, scalars):
        return (-(-tensors["out"].numel() // 64),), (64,), 0

    return scale_rows


# ------------------------------------------------------------------------------------------------------------- running


def test_the_kernel_fills_the_output(cuda: EmulatedDriver, lib: Library) -> None:
    add_number = declared(lib, ADD)
    assert add_number(opdsl.arange(5.0).cuda(), 2.5).tolist() == [2.5, 3.5, 4.5, 5.5, 6.5]


def test_every_variant_runs_it(cuda: EmulatedDriver, lib: Library) -> None:
    add_number, x = declared(lib, ADD), opdsl.arange(3.0).cuda()
    out = opdsl.empty(0, device="cuda")
    assert add_number(x, 1.0, out=out) is out and out.tolist() == [1, 2, 3]
    for number in (1.0, 2.0, 3.0):
        assert add_number(x, number).tolist() == [number, number + 1, number + 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_a_source_serves_every_dtype(cuda: EmulatedDriver, lib: Library, dtype: str) -> None:
    source = GENERIC.replace("out[at] = self[at] + static_cast<float>(number)", "store(out[at], load(self[at]) + 1.0f)")
    scaled = declared(lib, source)(opdsl.tensor([1, 2], dtype=getattr(opdsl, dtype)).cuda(), 0.0)
    assert (scaled.tolist(), scaled.dtype.name) == ([2, 3], dtype)


def test_tensors_arrive_contiguous(cuda: EmulatedDriver, lib: Library) -> None:
    x = opdsl.arange(6.0).reshape(2, 3)
    assert declared(lib, ADD)(x.cuda().t(), 1.0).tolist() == (x.t() + 1).tolist()


def test_outputs_that_are_not_contiguous_are_filled(cuda: EmulatedDriver, lib: Library) -> None:
    out = opdsl.zeros((3, 2), device="cuda")
    declared(lib, ADD)(opdsl.ones((2, 3)).cuda(), 1.0, out=out.t())
    assert out.tolist() == [[2, 2]] * 3


def test_a_file_beside_the_module_takes_strides_and_sizes(cuda: EmulatedDriver, lib: Library) -> None:
    x, factors = opdsl.arange(6.0).reshape(2, 3), opdsl.tensor([1.0, 10.0, 100.0])
    scaled = scale_rows_of(lib)(x.cuda().t(), factors.cuda())
    assert scaled.tolist() == (x.t() * factors[:, None]).tolist()


def test_the_launch_function_is_asked_once_for_each_form(cuda: EmulatedDriver, lib: Library) -> None:
    asked = []

    def launch(tensors: Any, scalars: Any) -> tuple[Any, Any, int]:
        asked.append((tensors["self"].shape, scalars["number"]))
        return per_element(tensors, scalars)

    add_number = declared(lib, ADD, launch=launch)
    for shape in ((2,), (3,), (2,)):
        for _ in range(3):
            add_number(opdsl.ones(shape).cuda(), 1.0)
    assert sorted(set(asked)) == [((2,), 1.0), ((3,), 1.0)]
    assert len(asked) <= 2 * 3  # the slow path, and a plan for each of the two forms


def test_grid_and_block_arrive(cuda: EmulatedDriver, lib: Library) -> None:
    add_number = declared(lib, ADD, launch=lambda tensors, scalars: ((2, 1), 128, 64))
    cuda.calls.clear()
    add_number(opdsl.ones(200).cuda(), 1.0)
    assert cuda.named("launch")[0][1:4] == ((2, 1, 1), (128, 1, 1), 64)


def test_no_elements_launch_nothing(cuda: EmulatedDriver, lib: Library) -> None:
    assert declared(lib, ADD)(opdsl.empty((0, 3), device="cuda"), 1.0).shape == (0, 3)
    assert cuda.named("launch") == []


def test_elements_of_another_dtype_are_refused(cuda: EmulatedDriver, lib: Library) -> None:
    with pytest.raises(UnsupportedDTypeError, match=r"takes self as float, which is float32, and got float64.*self_t"):
        declared(lib, ADD)(opdsl.ones(2).double().cuda(), 1.0)


def test_a_launch_function_that_returns_something_else(cuda: EmulatedDriver, lib: Library) -> None:
    add_number = declared(lib, ADD, launch=lambda tensors, scalars: 256)
    with pytest.raises(KernelError, match=r"returned 256\. Return grid, block, shared"):
        add_number(opdsl.ones(2).cuda(), 1.0)


def test_a_size_that_is_too_large_for_its_type(cuda: EmulatedDriver, lib: Library) -> None:
    @lib.op(out=True)
    def taking(self: Tensor, count: int) -> Tensor: ...

    @taking.meta
    def taking_meta(ctx, self, count):
        ctx.set_output(0, self.shape, like=self)

    @taking.out_kernel("CUDA", source='extern "C" __global__ void taking_cuda(int count, float* out) {}')
    def taking_cuda(tensors, scalars):
        return 1, 1, 0

    with pytest.raises(NumberError, match="takes count as int, which cannot hold 4294967296"):
        taking(opdsl.ones(2).cuda(), 1 << 32)


def test_the_cpu_kernel_stands_beside_it(cuda: EmulatedDriver, lib: Library) -> None:
    add_number = declared(lib, ADD)

    @add_number.out_kernel("CPU", compiled=False)
    def add_number_cpu(self, number, out):
        out.copy_(self + number)

    x = opdsl.arange(3.0)
    assert add_number(x, 1.0).tolist() == add_number(x.cuda(), 1.0).tolist()


# --------------------------------------------------------------------------------------------------------------- NVRTC


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
def test_nvrtc_compiles_it(lib: Library, architecture: str) -> None:
    source = source_of(declared(lib, GENERIC))
    specs = {"self": ArraySpec(opdsl.float32, 1, "C"), "out": ArraySpec(opdsl.float32, 1, "C")}
    assert check_source(source, specs, architecture)[:4] == b"\x7fELF"


def source_of(operator: Any) -> CudaSource:
    result = attached_source(operator.operator.declaration.definition.kernels["CUDA"].function)
    assert result is not None
    return result


def test_nvrtcs_errors_show_the_authors_own_line(lib: Library) -> None:
    source = source_of(declared(lib, WRONG))
    specs = {"self": ArraySpec(opdsl.float32, 1, "C"), "out": ArraySpec(opdsl.float32, 1, "C")}
    with pytest.raises(KernelCompileError) as caught:
        check_source(source, specs)
    line = next(at for at, text in enumerate(Path(__file__).read_text().splitlines(), 1) if "nubmer;" in text)
    assert f"test_cuda_author.py:{line}: " in str(caught.value)
    assert 'identifier "nubmer" is undefined' in str(caught.value)
    assert "out[0] = self[0] + nubmer;" in str(caught.value)


# --------------------------------------------------------------------------------------------------------- declarations


SIGNATURES = {
    "no kernel": ("void f() {}", r"there is no kernel of that name \(have none\)"),
    "another name": ('extern "C" __global__ void f(float* out) {}', r"have f\)"),
    "not of C": ("__global__ void add_number(float* out) {}", r'Write extern "C"'),
    "no output": ('extern "C" __global__ void add_number(const float* self) {}', "does not take the output 'out'"),
    "unknown name": ('extern "C" __global__ void add_number(float* out, int count) {}', "'count' is no argument"),
    "number as int": ('extern "C" __global__ void add_number(float* out, int number) {}', "'number' is of type float"),
    "tensor as number": (
        'extern "C" __global__ void add_number(float* out, float self) {}',
        r"Take it as self_t\* self",
    ),
    "number as address": (
        'extern "C" __global__ void add_number(float* out, float* number) {}',
        "'number' is an address",
    ),
    "unknown elements": ('extern "C" __global__ void add_number(thing* out) {}', "'out' points to thing"),
    "size of a number": ('extern "C" __global__ void add_number(float* out, int number_numel) {}', "is no argument"),
    "size as float": ('extern "C" __global__ void add_number(float* out, float out_numel) {}', "is an integer"),
    "address of an address": (
        'extern "C" __global__ void add_number(float** out) {}',
        "is no supported parameter",
    ),
}


@pytest.mark.parametrize(("source", "message"), SIGNATURES.values(), ids=SIGNATURES.keys())
def test_parameters_are_held_against_the_schema(lib: Library, source: str, message: str) -> None:
    with pytest.raises(KernelSignatureError, match=message):
        declared(lib, source)


def test_the_error_names_operator_kernel_and_place(lib: Library) -> None:
    with pytest.raises(KernelSignatureError) as caught:
        declared(lib, SIGNATURES["number as int"][0])
    assert re.search(
        r"test_cuda_author\.py:\d+: testcudaauthor::add_number: the CUDA kernel add_number", str(caught.value)
    )


def test_comments_are_not_read(lib: Library) -> None:
    declared(lib, "// __global__ void add_number(thing* out) {}\n/* __global__ void add_number( */" + ADD)


def test_a_file_that_is_not_there(lib: Library) -> None:
    with pytest.raises(KernelSignatureError, match=r"'missing\.cu' cannot be read"):
        declared(lib, "missing.cu")


def test_it_is_for_cuda_alone(lib: Library) -> None:
    @lib.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    def launch(tensors, scalars):
        return 1, 1, 0

    with pytest.raises(KernelSignatureError, match=r'CUDA alone \(got CPU\). Write @f.out_kernel\("CUDA", source'):
        f.out_kernel("CPU", source=ADD)(launch)


def test_a_launch_function_takes_tensors_and_scalars(lib: Library) -> None:
    @lib.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    def launch(self, out):
        return 1, 1, 0

    def launch_of_one(tensors):
        return 1, 1, 0

    with pytest.raises(KernelSignatureError, match=r"Write: def launch_of_one\(tensors, scalars\)"):
        f.out_kernel("CUDA", source='extern "C" __global__ void launch_of_one(float* out) {}')(launch_of_one)


def test_a_second_one_is_a_mistake(lib: Library) -> None:
    add_number = declared(lib, ADD)

    def again(tensors, scalars):
        return 1, 1, 0

    with pytest.raises(DuplicateOperatorError, match="second out_kernel CUDA"):
        add_number.out_kernel("CUDA", source=ADD, entry="add_number")(again)


def test_python_alone_is_no_cuda_kernel(cuda: EmulatedDriver, lib: Library) -> None:
    @lib.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)

    @f.out_kernel("CUDA")
    def f_cuda(self, out):
        out[0] = 1

    with pytest.raises(KernelError, match=r"has no source. Write out_kernel\('CUDA', source=...\)"):
        f(opdsl.ones(2).cuda())
