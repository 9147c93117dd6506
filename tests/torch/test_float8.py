"""Tests of float8: it is stored, moved, compared and converted as in PyTorch, and operators refuse to compute in it."""

from __future__ import annotations

import itertools
import math

import ml_dtypes
import numpy
import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import DTypeError, NumberError, ShapeError, UnsupportedDTypeError
from opdsl.interop.torch import deregister, register
from tests.emulation.driver import EmulatedDriver
from tests.emulation.libraries import needs_compiler
from tests.pocl import INSTALLED, name_processor

NAMES = ("float8_e4m3fn", "float8_e5m2")
OTHERS = ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64")

each_float8 = pytest.mark.parametrize("name", NAMES)


def bits(tensor: Tensor | torch.Tensor) -> list[int]:
    """Return the stored bits of a float8 tensor."""
    plain = tensor.cpu().contiguous().view(opdsl.uint8 if isinstance(tensor, Tensor) else torch.uint8)
    return plain.flatten().tolist()


def all_numbers(name: str) -> torch.Tensor:
    """Return all elements of a dtype."""
    return torch.arange(256, dtype=torch.int32).to(torch.uint8).view(getattr(torch, name))


def hard_numbers() -> torch.Tensor:
    """Return float32 numbers next to and halfway between all numbers of both dtypes, and special ones."""
    numbers = torch.cat([all_numbers(name).float() for name in NAMES]).abs()
    numbers = numbers[numbers.isfinite()].unique()
    middles = (numbers[1:] + numbers[:-1]) / 2
    known = torch.cat([numbers, middles, torch.tensor([464.0, 480.0, 61440.0, 1e6, 3e38, 1e-45, math.inf])])
    near = torch.cat([known, known.nextafter(torch.tensor(math.inf)), known.nextafter(torch.tensor(0.0))])
    return torch.cat([near, -near, torch.tensor([math.nan])])


@each_float8
def test_numbers_are_rounded_as_in_pytorch(name: str) -> None:
    numbers = hard_numbers()
    assert bits(opdsl.from_dlpack(numbers).to(getattr(opdsl, name))) == bits(numbers.to(getattr(torch, name)))


@each_float8
@pytest.mark.parametrize("other", OTHERS)
def test_all_elements_convert_as_in_pytorch(name: str, other: str) -> None:
    theirs = all_numbers(name)
    theirs = theirs[theirs.float().isfinite()] if "int" in other else theirs
    converted = opdsl.from_dlpack(theirs).to(getattr(opdsl, other))
    torch.testing.assert_close(
        torch.from_dlpack(converted), theirs.to(getattr(torch, other)), rtol=0, atol=0, equal_nan=True
    )


@each_float8
@pytest.mark.parametrize("other", OTHERS)
def test_other_dtypes_convert_as_in_pytorch(name: str, other: str) -> None:
    theirs = torch.tensor([0.0, 1.0, 2.5, 3.0, 100.0, 17.0]).to(getattr(torch, other))
    assert bits(opdsl.from_dlpack(theirs).to(getattr(opdsl, name))) == bits(theirs.to(getattr(torch, name)))


@each_float8
def test_numpy_rounds_alike(name: str) -> None:
    numbers = hard_numbers()
    numbers = numbers[numbers.abs() <= torch.finfo(getattr(torch, name)).max]
    expected = numbers.numpy().astype(getattr(ml_dtypes, name))
    assert bits(opdsl.tensor(numbers.tolist(), dtype=getattr(opdsl, name))) == expected.view("u1").tolist()


def require_pytorchs_rounding(name: str, device: str) -> None:
    """Check that a device converts to a dtype, and back, as PyTorch's CPU does."""
    rounded = opdsl.from_dlpack(hard_numbers()).to(device).to(getattr(opdsl, name))
    expected = hard_numbers().to(getattr(torch, name))
    assert bits(rounded) == bits(expected)
    back = torch.from_dlpack(rounded.float().cpu())
    torch.testing.assert_close(back, expected.float(), rtol=0, atol=0, equal_nan=True)


@each_float8
@pytest.mark.skipif(not INSTALLED, reason="pyopencl is not installed (it is one of the extra dev)")
def test_opencl_rounds_alike(name: str) -> None:
    name_processor()
    require_pytorchs_rounding(name, "opencl:0")


@needs_compiler
@each_float8
def test_emulated_cuda_rounds_alike(name: str) -> None:
    with EmulatedDriver(device_count=1).installed():
        require_pytorchs_rounding(name, "cuda")


@each_float8
def test_limits_are_pytorchs(name: str) -> None:
    mine, theirs = opdsl.finfo(getattr(opdsl, name)), torch.finfo(getattr(torch, name))
    for limit in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(mine, limit) == getattr(theirs, limit), limit


MOVED = {
    "cat": lambda of, x: of.cat([x, x]),
    "where": lambda of, x: of.where(x == x.roll(1, 0), x, x.roll(1, 1)),
    "index_select": lambda of, x: of.index_select(x, 0, of.tensor([2, 0])),
    "index": lambda of, x: x[of.tensor([1, 1]), 1:],
    "index_put": lambda of, x: x.clone().index_put_((of.tensor([1]),), x[:1]),
    "embedding": lambda of, x: of.nn.functional.embedding(of.tensor([2, 2, 1]), x),
    "pad": lambda of, x: of.nn.functional.pad(x, (1, 2)),
    "roll": lambda of, x: x.roll(1, 0),
    "repeat": lambda of, x: x.repeat(2, 1),
    "abs": lambda of, x: x.abs(),
    "transposed": lambda of, x: x.t().contiguous(),
    "fill": lambda of, x: of.full_like(x, 2.5),
    "product": lambda of, x: x @ x.t(),
}


@each_float8
@pytest.mark.parametrize("operator", MOVED)
def test_elements_are_moved_as_in_pytorch(name: str, operator: str) -> None:
    theirs = torch.tensor([[1.5, -2.0, 0.0], [3.0, 0.25, -0.0], [8.0, 1.0, -1.0]]).to(getattr(torch, name))
    expected = MOVED[operator](torch, theirs)
    assert bits(MOVED[operator](opdsl, opdsl.from_dlpack(theirs))) == bits(expected)


@each_float8
def test_comparisons_are_pytorchs(name: str) -> None:
    theirs = all_numbers(name)
    mine = opdsl.from_dlpack(theirs)
    other = theirs.roll(1)
    for compare in ("eq", "ne"):
        assert getattr(mine, compare)(opdsl.from_dlpack(other)).tolist() == getattr(theirs, compare)(other).tolist()
    assert mine.isnan().tolist() == theirs.isnan().tolist()


@each_float8
@pytest.mark.parametrize("call", ["x + x", "x * 2", "-x", "x < x", "x.sum()", "x.exp()", "x.cumsum(0)", "x.softmax(0)"])
def test_arithmetic_is_refused_as_in_pytorch(name: str, call: str) -> None:
    with pytest.raises(NotImplementedError):
        eval(call, {"x": torch.ones(2).to(getattr(torch, name))})
    with pytest.raises(UnsupportedDTypeError, match="Convert first"):
        eval(call, {"x": opdsl.ones(2, dtype=getattr(opdsl, name))})


@each_float8
@pytest.mark.parametrize("other", [*OTHERS, *NAMES])
def test_promotion_is_refused_as_in_pytorch(name: str, other: str) -> None:
    if other == name:
        assert opdsl.promote_types(getattr(opdsl, name), getattr(opdsl, other)) is getattr(opdsl, name)
        return
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        torch.promote_types(getattr(torch, name), getattr(torch, other))
    with pytest.raises(DTypeError, match="Promotion for Float8 Types is not supported"):
        opdsl.promote_types(getattr(opdsl, name), getattr(opdsl, other))


@each_float8
def test_a_number_that_is_too_large_is_refused(name: str) -> None:
    with pytest.raises(NumberError, match="without overflow"):
        opdsl.full((2,), 1e9, dtype=getattr(opdsl, name))


@each_float8
def test_text_and_numbers_are_pytorchs(name: str) -> None:
    theirs = torch.tensor([1.5, -2.0, 0.0]).to(getattr(torch, name))
    mine = opdsl.from_dlpack(theirs)
    assert repr(mine) == repr(theirs).replace("torch.", "opdsl.").replace(",\n      ", ",")
    assert mine.tolist() == theirs.tolist()


@each_float8
def test_memory_is_shared_with_pytorch_and_numpy(name: str) -> None:
    mine = opdsl.tensor([1.0, 2.0], dtype=getattr(opdsl, name))
    theirs = torch.from_dlpack(mine)
    assert (theirs.dtype, theirs.data_ptr()) == (getattr(torch, name), mine.data_ptr())
    assert mine.numpy().dtype == numpy.dtype(getattr(ml_dtypes, name))
    assert opdsl.asarray(mine.numpy()).dtype is mine.dtype


@each_float8
def test_files_keep_them(name: str, tmp_path) -> None:
    saved = opdsl.tensor([1.0, -3.5, math.nan], dtype=getattr(opdsl, name))
    opdsl.save({"x": saved}, tmp_path / "x.safetensors")
    read = opdsl.load(tmp_path / "x.safetensors")["x"]
    assert (read.dtype, bits(read)) == (saved.dtype, bits(saved))


SCALED = [
    pytest.param(*case, id="-".join(map(str, case)))
    for case in itertools.product(NAMES, NAMES, ("float32", "bfloat16", "float8_e4m3fn"), (False, True))
]


@pytest.mark.parametrize(("first", "second", "out", "by_rows"), SCALED)
def test_scaled_products_are_pytorchs(first: str, second: str, out: str, by_rows: bool) -> None:
    torch.manual_seed(0)
    a = torch.randn(4, 6).to(getattr(torch, first))
    b = torch.randn(5, 6).to(getattr(torch, second)).t()
    scales = (torch.rand(4, 1), torch.rand(1, 5)) if by_rows else (torch.tensor(2.0), torch.tensor([0.25]))
    bias = torch.randn(5)
    expected = torch._scaled_mm(a, b, *scales, bias=bias, out_dtype=getattr(torch, out)).float()
    operands = [opdsl.from_dlpack(operand) for operand in (a, b, *scales)]
    actual = opdsl.ops.aten._scaled_mm(*operands, bias=opdsl.from_dlpack(bias), out_dtype=getattr(opdsl, out))
    # A sum in another order may be rounded to the neighbor of the expected number.
    tolerance = {"float32": 1e-6, "bfloat16": 2**-7, "float8_e4m3fn": 2**-3}[out]
    torch.testing.assert_close(torch.from_dlpack(actual.float()), expected, rtol=tolerance, atol=1e-5)


ONE, BYTES = opdsl.ones(1), opdsl.float8_e4m3fn


@pytest.mark.parametrize(
    ("shapes", "more", "error", "problem"),
    [
        (((2, 3), (2, 3)), {}, ShapeError, r"cannot be multiplied \(2x3 and 2x3\)"),
        (((3,), (3, 2)), {}, ShapeError, "mat1 must be a matrix"),
        (((2, 3), (3, 2)), {"scale_a": opdsl.ones(2)}, ShapeError, r"scales must have one element each, or the shapes"),
        (((2, 3), (3, 2)), {"scale_b": opdsl.ones(1, dtype=opdsl.float64)}, DTypeError, "scales must be float32"),
        (((2, 3), (3, 2)), {"bias": opdsl.ones(3)}, ShapeError, "Bias must be size 2 but got 3"),
        (((2, 3), (3, 2)), {"mat2": opdsl.ones(3, 2)}, UnsupportedDTypeError, "the factors must be float8 .*Use mm"),
    ],
)
def test_wrong_factors_and_scales_are_refused(shapes, more, error, problem) -> None:
    first, second = (opdsl.ones(shape, dtype=BYTES) for shape in shapes)
    with pytest.raises(error, match=f"_scaled_mm: .*{problem}"):
        opdsl.ops.aten._scaled_mm(**{"self": first, "mat2": second, "scale_a": ONE, "scale_b": ONE, **more})


# ---------------------------------------------------------------------------------------------------------- formulas


@pytest.fixture(scope="module")
def quantizers():
    """Yield a library of operators that quantize, registered in PyTorch, too."""
    lib = Library("float8")

    @lib.op()
    @formula
    def fake_quantize(x: Tensor, scale: Tensor) -> Tensor:
        """Round to the numbers that float8 elements times a scale represent."""
        return (x / scale).to(opdsl.float8_e4m3fn).to(opdsl.float32) * scale

    @lib.op()
    @formula
    def quantize_rows(x: Tensor) -> tuple[Tensor, Tensor]:
        """Return rows divided by scales, so that the largest magnitude is float8's, and the scales."""
        scale = x.abs().amax(-1, keepdim=True) / 448.0
        return (x / scale).to(opdsl.float8_e4m3fn), scale

    @lib.op()
    @formula
    def dequantize(q: Tensor, scale: Tensor) -> Tensor:
        """Return the numbers that float8 elements times a scale represent."""
        return q.to(opdsl.float32) * scale

    @lib.op()
    @formula
    def careless(q: Tensor, scale: Tensor) -> Tensor:
        """Multiply float8 elements without converting them."""
        return q * scale

    register(lib)
    yield lib
    deregister(lib)
    lib.close()


X = torch.tensor([[0.3, -7.0, 100.0], [1e-3, 2.0, -0.7]])
SCALE = torch.tensor([0.5, 1.25, 2.0])


def fake(x: torch.Tensor) -> torch.Tensor:
    """Return what ``fake_quantize`` computes, by PyTorch."""
    return (x / SCALE).to(torch.float8_e4m3fn).to(torch.float32) * SCALE


def test_a_formula_rounds_between_its_steps(quantizers: Library) -> None:
    actual = opdsl.ops.float8.fake_quantize(opdsl.from_dlpack(X), opdsl.from_dlpack(SCALE))
    assert actual.tolist() == fake(X).tolist()


def test_a_formula_quantizes_by_rows(quantizers: Library) -> None:
    elements, scale = opdsl.ops.float8.quantize_rows(opdsl.from_dlpack(X))
    expected = X.abs().amax(-1, keepdim=True) / 448.0
    assert scale.tolist() == expected.tolist()
    assert bits(elements) == bits((X / expected).to(torch.float8_e4m3fn))


def test_a_formula_converts_what_it_reads(quantizers: Library) -> None:
    q = (X / SCALE).to(torch.float8_e4m3fn)
    actual = opdsl.ops.float8.dequantize(opdsl.from_dlpack(q), opdsl.from_dlpack(SCALE))
    assert actual.tolist() == (q.float() * SCALE).tolist()


def test_a_formula_that_does_not_convert_is_refused(quantizers: Library) -> None:
    q = opdsl.ones(3, dtype=opdsl.float8_e4m3fn)
    with pytest.raises(DTypeError, match=r"Promotion for Float8 Types .* Convert one first"):
        opdsl.ops.float8.careless(q, opdsl.ones(3))


def test_gradients_pass_as_in_pytorch(quantizers: Library) -> None:
    mine, theirs = opdsl.from_dlpack(X).clone().requires_grad_(), X.clone().requires_grad_()
    opdsl.ops.float8.fake_quantize(mine, opdsl.from_dlpack(SCALE)).square().sum().backward()
    fake(theirs).square().sum().backward()
    assert mine.grad.tolist() == theirs.grad.tolist()


@pytest.mark.parametrize("dynamic", [False, True])
def test_registered_operators_are_compiled_by_pytorch(quantizers: Library, dynamic: bool) -> None:
    def dequantized(x: torch.Tensor) -> torch.Tensor:
        elements, scale = torch.ops.float8.quantize_rows(x)
        return torch.ops.float8.dequantize(elements, scale)

    expected = X.abs().amax(-1, keepdim=True) / 448.0
    expected = (X / expected).to(torch.float8_e4m3fn).float() * expected
    assert torch.compile(dequantized, dynamic=dynamic, fullgraph=True)(X).tolist() == expected.tolist()


def test_compiled_programs_round_between_steps() -> None:
    def doubled(x: Tensor, scale: Tensor) -> Tensor:
        return (x / scale).to(opdsl.float8_e4m3fn).to(opdsl.float32) * scale * 2

    actual = opdsl.compile(doubled)(opdsl.from_dlpack(X), opdsl.from_dlpack(SCALE))
    assert actual.tolist() == (fake(X) * 2).tolist()
