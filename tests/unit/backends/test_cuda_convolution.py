"""Tests of convolutions as implicit products on CUDA: by the interpreter, on the emulated device and in random orders
of threads, against PyTorch.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import pytest

import opdsl
import opdsl.nn.functional as F
from opdsl import Tensor
from opdsl.backends.cuda.convolution import scheduled
from opdsl.backends.cuda.program import Program
from opdsl.kernels.calls import ConvolutionCall, WindowSpec
from opdsl.kernels.loops.checking import check_program
from opdsl.kernels.loops.convolutions import Tiling, correlation
from opdsl.kernels.loops.interpreter import interpret
from opdsl.runtime import bfloat16, float32
from opdsl.runtime.strides import contiguous_strides
from tests.emulation.driver import EmulatedDriver
from tests.emulation.libraries import needs_compiler
from tests.emulation.races import Races

torch = pytest.importorskip("torch")

TOLERANCES = {"float32": 1e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}


class Case(NamedTuple):
    """Convolution: shapes of images and of the weight without its channels, and options."""

    images: tuple[int, ...]
    outputs: int
    lengths: tuple[int, ...]
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1
    is_biased: bool = True

    @property
    def options(self) -> dict[str, int]:
        """Return the options."""
        return {name: getattr(self, name) for name in ("stride", "padding", "dilation", "groups")}


CASES = {
    "plain": Case((2, 4, 9, 11), 6, (3, 2)),
    "strided": Case((2, 4, 9, 11), 6, (3, 2), stride=2, padding=1, is_biased=False),
    "groups": Case((1, 4, 9, 11), 6, (3, 2), padding=2, dilation=2, groups=2),
    "tiles": Case((1, 20, 9, 12), 70, (3, 3), padding=1),
    "points": Case((2, 40, 5, 5), 20, (1, 1)),
    "signals": Case((2, 3, 30), 5, (4,), stride=2, padding=1),
    "volumes": Case((1, 2, 5, 6, 7), 4, (2, 3, 2), padding=1, groups=2),
    "depthwise": Case((1, 8, 7, 7), 8, (3, 3), padding=1, groups=8, is_biased=False),
    "one": Case((1, 1, 1, 1), 1, (1, 1)),
    "only padding": Case((1, 2, 2, 2), 3, (2, 2), padding=3, dilation=3),
}


def drawn(case: Case, dtype: str) -> list[Any]:
    """Return random images, a weight and a bias or None, of PyTorch."""
    generator = torch.Generator().manual_seed(0)
    shapes = [case.images, (case.outputs, case.images[1] // case.groups, *case.lengths), (case.outputs,)]
    tensors = [torch.randn(shape, generator=generator).to(getattr(torch, dtype)) for shape in shapes]
    return tensors if case.is_biased else [*tensors[:2], None]


def on_device(tensor: Any) -> Tensor | None:
    return None if tensor is None else opdsl.from_dlpack(tensor).to("cuda")


def expected_of(case: Case, tensors: list[Any]) -> Any:
    """Return PyTorch's convolution in float64."""
    function = getattr(torch.nn.functional, f"conv{len(case.lengths)}d")
    return function(*(heads if heads is None else heads.double() for heads in tensors), **case.options)


@needs_compiler
@pytest.mark.parametrize(
    ("name", "dtype"), [*((name, "float32") for name in CASES), *(("tiles", dtype) for dtype in TOLERANCES),
                        ("groups", "bfloat16"), ("signals", "float16"), ("volumes", "bfloat16")]
)  # fmt: skip
def test_a_convolution_is_one_kernel(name: str, dtype: str, cuda: EmulatedDriver) -> None:
    case = CASES[name]
    tensors = drawn(case, dtype)
    own = list(map(on_device, tensors))
    function, expected = getattr(F, f"conv{len(case.lengths)}d"), expected_of(case, tensors)
    for _ in range(3):
        cuda.calls.clear()
        actual = function(*own, **case.options)
        assert len(cuda.named("launch")) == 1
        atol = TOLERANCES[dtype] * expected.abs().max().item()
        torch.testing.assert_close(torch.from_dlpack(actual.cpu()).double(), expected, rtol=0, atol=atol)


@needs_compiler
def test_images_with_channels_last(cuda: EmulatedDriver) -> None:
    tensors = drawn(CASES["tiles"], "float32")
    own = [on_device(tensors[0].contiguous(memory_format=torch.channels_last)), *map(on_device, tensors[1:])]
    convolved = F.conv2d(*own, padding=1)
    assert convolved.is_contiguous(memory_format=opdsl.channels_last)
    expected = expected_of(CASES["tiles"], tensors)
    torch.testing.assert_close(torch.from_dlpack(convolved.cpu()).double(), expected, rtol=0, atol=1e-4)


@needs_compiler
def test_images_of_changing_sizes_have_one_kernel(cuda: EmulatedDriver) -> None:
    weight, bias = (on_device(tensor) for tensor in drawn(CASES["plain"], "float32")[1:])
    for height in (3, 9, 20, 21):
        case = CASES["plain"]._replace(images=(2, 4, height, 13))
        tensors = drawn(case, "float32")
        tensors[1:] = drawn(CASES["plain"], "float32")[1:]
        for _ in range(2):
            cuda.calls.clear()
            convolved = F.conv2d(on_device(tensors[0]), weight, bias)
            assert len(cuda.named("launch")) == 1
        expected = expected_of(case, tensors)
        torch.testing.assert_close(torch.from_dlpack(convolved.cpu()).double(), expected, rtol=0, atol=1e-4)


def call_of(case: Case, dtype: opdsl.DType) -> ConvolutionCall:
    """Return the call of a backend's compiler for contiguous operands."""
    windows = tuple(
        WindowSpec(size, (size + 2 * case.padding - case.dilation * (length - 1) - 1) // case.stride + 1, length,
                   -case.padding, case.stride, case.dilation)
        for size, length in zip(case.images[2:], case.lengths, strict=True)
    )  # fmt: skip
    channels, outputs = case.images[1] // case.groups, case.outputs // case.groups
    results = (case.images[0], case.outputs, *(window.windows for window in windows))
    strides = map(contiguous_strides, (case.images, (case.outputs, channels, *case.lengths), results))
    sizes = (case.images[0], case.groups, channels, outputs, windows)
    return ConvolutionCall("correlate", dtype, *sizes, *strides, case.is_biased)


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_loops_of_a_convolution(name: str, is_large: bool) -> None:
    case = CASES[name]
    tensors, call = drawn(case, "float32"), call_of(case, float32)
    loops = correlation(call, Tiling(16, 16, 16, is_large))
    check_program(loops.program)
    expected = expected_of(case, tensors)
    out = np.empty(expected.numel(), np.float32)
    operands = [tensor.numpy().reshape(-1) for tensor in tensors if tensor is not None]
    interpret(loops.program, [*operands, out], [word for word in loops.words if isinstance(word, int)])
    np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=0, atol=5e-5)


# --------------------------------------------------------------------------------------------------------------- races

SEEDS = 20
# Number of runs of a sound kernel; an eighth unless OPDSL_TEST_FULL=1.
SOUND = 200 if os.environ.get("OPDSL_TEST_FULL") else 25

SMALL = Case((1, 3, 4, 5), 5, (3, 3), padding=1)
BARRIER = "__syncthreads();"

# Barriers whose removal is a race, by the end of the text before them.
FAULTS = {
    "elements_late": "store(elements1[(inner_at)], ((int)(element1)));\n        }\n        ",
    "windows_late": "store(right[(image_slot_place)], image_value);\n        }\n        ",
    "sums_late": "(sums, left, right);\n        ",
}


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {dtype.name: scheduled(call_of(SMALL, dtype)) for dtype in (float32, bfloat16)}


@pytest.fixture(scope="module")
def races(programs: dict[str, Program]) -> Races:
    sources = {name: program.source.text for name, program in programs.items()}
    text = sources["float32"]
    for name, before in FAULTS.items():
        assert text.count(before + BARRIER) == 1, name
        sources[name] = text.replace(before + BARRIER, before)
    return Races(sources)


def outcome(races: Races, name: str, program: Program, dtype: str, seed: int) -> tuple[str, np.ndarray]:
    """Return a description of the fault that a seed shows, and the stored results."""
    tensors = drawn(SMALL, dtype)
    arrays = [tensor.view(torch.int16).numpy().view(np.uint16) if dtype == "bfloat16" else tensor.numpy()
              for tensor in tensors]  # fmt: skip
    problem, after = races.run(name, program, [*arrays, np.zeros((1, 5, 4, 5), arrays[0].dtype)], seed)
    return problem, after[-1].copy()


@needs_compiler
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_sound_kernel_gives_the_same_in_any_order(dtype: str, races: Races, programs: dict[str, Program]) -> None:
    results = [outcome(races, dtype, programs[dtype], dtype, seed) for seed in range(SOUND)]
    assert {problem for problem, _ in results} == {""}
    assert all(np.array_equal(result, results[0][1]) for _, result in results)
    if dtype == "float32":
        np.testing.assert_allclose(results[0][1], expected_of(SMALL, drawn(SMALL, dtype)), rtol=0, atol=5e-6)


@needs_compiler
@pytest.mark.parametrize("fault", FAULTS)
def test_a_barrier_that_is_missing_is_found(fault: str, races: Races, programs: dict[str, Program]) -> None:
    program = programs["float32"]
    _, expected = outcome(races, "float32", program, "float32", 0)

    def is_found(seed: int) -> bool:
        problem, actual = outcome(races, fault, program, "float32", seed)
        return bool(problem) or not np.array_equal(actual, expected)

    assert any(map(is_found, range(SEEDS)))
