"""Tests of attention by tiles on CUDA, on the emulated device and in random orders of threads, against PyTorch."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opdsl
import opdsl.nn.functional as F
from opdsl import Tensor
from opdsl.backends.cuda import cublas
from opdsl.backends.cuda.attention import attends, scheduled
from opdsl.backends.cuda.program import Program
from opdsl.kernels.calls import AttentionCall
from opdsl.runtime import DType
from opdsl.runtime.strides import contiguous_strides
from tests.emulation.driver import EmulatedDriver
from tests.emulation.libraries import needs_compiler
from tests.emulation.products import HostProducts
from tests.emulation.races import Races

torch = pytest.importorskip("torch")

pytestmark = needs_compiler

TOLERANCES = {"float32": 2e-6, "float64": 1e-14, "float16": 2e-3, "bfloat16": 2e-2}

# Batch, heads of queries, heads of keys, queries, keys, elements of a query, elements of a value.
SHAPES = [
    (1, 2, 2, 20, 37, 16, 16),
    (2, 4, 2, 70, 130, 24, 40),
    (1, 1, 1, 5, 70, 128, 128),
    (1, 1, 1, 17, 40, 256, 256),
    (1, 1, 1, 1, 1, 1, 1),
]
CASES = [
    *((shape, "float32") for shape in SHAPES),
    *((SHAPES[1], dtype) for dtype in TOLERANCES if dtype != "float32"),
    (SHAPES[3], "bfloat16"),
]
EMPTY = [
    (1, 2, 1, 33, 0, 8, 8),
    (1, 1, 1, 3, 5, 0, 4),
    (2, 1, 1, 0, 5, 4, 4),
    (0, 1, 1, 3, 5, 4, 4),
    (1, 1, 1, 3, 5, 4, 0),
]


def drawn(shape: tuple[int, ...], dtype: str) -> list[Any]:
    """Return random queries, keys and values of PyTorch."""
    batch, heads, groups, queries, keys, size, value_size = shape
    generator = torch.Generator().manual_seed(0)
    sizes = (heads, queries, size), (groups, keys, size), (groups, keys, value_size)
    return [torch.randn(batch, *rest, generator=generator).to(getattr(torch, dtype)) for rest in sizes]


MASKS: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda query, key: None,
    "causal": lambda query, key: None,
    "chosen": lambda query, key: torch.rand(query.shape[2], key.shape[2]) > 0.3,
    "added": lambda query, key: torch.randn(query.shape[0], 1, 1, key.shape[2]).to(query.dtype),
    "unseen": lambda query, key: torch.full((query.shape[2], key.shape[2]), -torch.inf, dtype=query.dtype),
}


def on_device(tensor: Any) -> Tensor:
    return opdsl.from_dlpack(tensor).to("cuda")


def compared(cuda: EmulatedDriver, tensors: list[Any], mask: str, **options: Any) -> tuple[Any, Any, list[int]]:
    """Return attention on the device and PyTorch's in float64, and how many kernels each call launches."""
    torch.manual_seed(1)
    own, bias = [on_device(heads) for heads in tensors], MASKS[mask](*tensors[:2])
    grouped = tensors[0].shape[1] != tensors[1].shape[1]
    options |= {"is_causal": mask == "causal", "enable_gqa": grouped}
    counts = []
    for _ in range(3):
        cuda.calls.clear()
        attended = F.scaled_dot_product_attention(*own, attn_mask=None if bias is None else on_device(bias), **options)
        counts.append(len(cuda.named("launch")))
    wide = bias if bias is None or bias.dtype is torch.bool else bias.double()
    expected = torch.nn.functional.scaled_dot_product_attention(
        *(heads.double() for heads in tensors), attn_mask=wide, **options
    )
    return torch.from_dlpack(attended.cpu()).double(), expected, counts


@pytest.mark.parametrize(("shape", "dtype"), CASES)
@pytest.mark.parametrize("mask", MASKS)
def test_attention_is_one_kernel(shape: tuple[int, ...], dtype: str, mask: str, cuda: EmulatedDriver) -> None:
    actual, expected, counts = compared(cuda, drawn(shape, dtype), mask)
    assert counts == [1] * 3
    torch.testing.assert_close(actual, expected, rtol=0, atol=TOLERANCES[dtype])


@pytest.mark.parametrize("mask", ["none", "causal", "chosen"])
@pytest.mark.parametrize("shape", EMPTY)
def test_attention_of_empty_tensors(shape: tuple[int, ...], mask: str, cuda: EmulatedDriver) -> None:
    actual, expected, counts = compared(cuda, drawn(shape, "float32"), mask)
    assert set(counts) == {int(actual.numel() > 0)}
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


def test_attention_of_strided_heads(cuda: EmulatedDriver) -> None:
    """Heads of one position are neighbors in memory, as those that a projection makes."""
    query, key, value = torch.randn(3, 2, 30, 4, 16, generator=torch.Generator().manual_seed(0)).transpose(2, 3)
    assert not query.is_contiguous()
    actual, expected, counts = compared(cuda, [query, key, value], "causal", scale=0.3)
    assert counts == [1] * 3
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_attention_of_numbers_that_are_not_finite(number: float, cuda: EmulatedDriver) -> None:
    tensors = drawn((1, 1, 1, 6, 80, 16, 16), "float32")
    tensors[0][0, 0, 2, 3] = number
    tensors[1][0, 0, 70, 5] = number
    actual, expected, _ = compared(cuda, tensors, "causal")
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6, equal_nan=True)


def test_attention_of_changing_lengths_has_one_kernel(cuda: EmulatedDriver) -> None:
    for length in (3, 40, 65, 66, 129):
        actual, expected, counts = compared(cuda, drawn((1, 2, 2, length, length + 1, 8, 8), "float32"), "causal")
        assert counts == [1] * 3
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-6)


def test_attention_stores_no_scores(cuda: EmulatedDriver) -> None:
    own = [on_device(heads) for heads in drawn((1, 1, 1, 300, 300, 4, 4), "float32")]
    opdsl.cuda.reset_peak_memory_stats()
    before = opdsl.cuda.memory_allocated()
    F.scaled_dot_product_attention(*own)
    assert opdsl.cuda.max_memory_allocated() - before < 300 * 300 * 4 // 4


@pytest.mark.parametrize("groups", [4, 2])
def test_attention_has_gradients(groups: int, cuda: EmulatedDriver) -> None:
    cublas.use(HostProducts(cuda))
    tensors = [heads.requires_grad_() for heads in drawn((2, 4, groups, 9, 9, 8, 8), "float32")]
    own = [on_device(heads.detach()).requires_grad_() for heads in tensors]
    try:
        F.scaled_dot_product_attention(*own, is_causal=True, enable_gqa=True).square().sum().backward()
    finally:
        cublas.use(None)
    torch.nn.functional.scaled_dot_product_attention(
        *tensors, is_causal=True, enable_gqa=True
    ).square().sum().backward()
    for one, other in zip(own, tensors, strict=True):
        assert one.grad is not None
        torch.testing.assert_close(torch.from_dlpack(one.grad.cpu()), other.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "size", "is_there"),
    [("bfloat16", 256, True), ("float32", 256, True), ("float64", 128, True), ("float32", 2048, False)],
)
def test_heads_that_have_tiles(dtype: str, size: int, is_there: bool) -> None:
    assert attends(getattr(opdsl, dtype), size, size) is is_there


# --------------------------------------------------------------------------------------------------------------- races

SEEDS = 20
# Number of runs of a sound kernel; an eighth unless OPDSL_TEST_FULL=1.
SOUND = 200 if os.environ.get("OPDSL_TEST_FULL") else 25

# Barriers whose removal is a race, by the end of the text before them.
FAULTS = {
    "scores are read before they are there": "(scores, queries, others);\n        ",
    "a tile is overwritten before it is read": "store(others[(key_place)], key_element);\n        }\n        ",
    "peaks are read before they are there": "store(peaks[(mask_at)], peak);\n        }\n        ",
    "sums are scaled by earlier factors": "store(factors[(total_row)], factor);\n        }\n        ",
}
BARRIER = "__syncthreads();"


def program_of(dtype: DType) -> Program:
    shapes = (1, 1, 1, 5, 16), (1, 1, 70, 16), (1, 1, 70, 16), (1, 1, 1, 5, 16)
    strides = [contiguous_strides(shape) for shape in shapes]
    return scheduled(AttentionCall(dtype, 1, 1, 1, 5, 70, 16, 16, *strides, None, (), False))


@pytest.fixture(scope="module")
def programs() -> dict[str, Program]:
    return {name: program_of(getattr(opdsl, name)) for name in ("float32", "bfloat16")}


@pytest.fixture(scope="module")
def races(programs: dict[str, Program]) -> Races:
    sources = {name: program.source.text for name, program in programs.items()}
    text = sources["float32"]
    for name, before in FAULTS.items():
        assert text.count(before + BARRIER) == 1, name
        sources[name.replace(" ", "_")] = text.replace(before + BARRIER, before)
    return Races(sources)


def stored(tensor: Any) -> np.ndarray:
    """Return the elements of a tensor as they are in memory; 16-bit floats as integers."""
    array: np.ndarray = (
        tensor.view(torch.int16).numpy().view(np.uint16) if tensor.element_size() == 2 else tensor.numpy()
    )
    return array


def outcome(races: Races, name: str, program: Program, dtype: str, seed: int) -> tuple[str, Any]:
    """Return a description of the fault that a seed shows, and the result."""
    tensors = drawn((1, 1, 1, 5, 70, 16, 16), dtype)
    operands = [*map(stored, tensors), 0.25, np.zeros_like(stored(tensors[0]))]
    problem, after = races.run(name, program, operands, seed)
    result = torch.from_numpy(after[-1].copy())
    return problem, result.view(tensors[0].dtype) if dtype == "bfloat16" else result


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_sound_kernel_gives_the_same_in_any_order(dtype: str, races: Races, programs: dict[str, Program]) -> None:
    expected = torch.nn.functional.scaled_dot_product_attention(*drawn((1, 1, 1, 5, 70, 16, 16), dtype))
    results = [outcome(races, dtype, programs[dtype], dtype, seed) for seed in range(SOUND)]
    assert {problem for problem, _ in results} == {""}
    torch.testing.assert_close(results[0][1].double(), expected.double(), rtol=0, atol=TOLERANCES[dtype])
    assert all(torch.equal(result, results[0][1]) for _, result in results)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_barrier_that_is_missing_is_found(fault: str, races: Races, programs: dict[str, Program]) -> None:
    program = programs["float32"]
    _, expected = outcome(races, "float32", program, "float32", 0)

    def is_found(seed: int) -> bool:
        problem, actual = outcome(races, fault.replace(" ", "_"), program, "float32", seed)
        return bool(problem) or not torch.equal(actual, expected)

    assert any(map(is_found, range(SEEDS)))
