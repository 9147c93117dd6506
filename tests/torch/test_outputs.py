"""Tests of ``out=`` and in-place calls: resizing, warnings, casts, overlapping memory, non-contiguous tensors."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import DTypeError, OpdslError, OverlapError, ShapeError
from opdsl.runtime import version_of
from tests.torch.twins import DTYPES, Twins, agree, agree_or_fail, assert_agree, differences, of
from tests.torch.values import layouts, ordinary

pytestmark = pytest.mark.usefixtures("plans_at_once")

# Calls with an output: the function, its arguments, and the shape of the result.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "add": (lambda lib, *a, **k: lib.add(*a, **k), (ordinary(torch.float32, (3, 4)), ordinary(torch.float32, (4,)))),
    "add_number": (lambda lib, *a, **k: lib.add(*a, **k), (ordinary(torch.float32, (3, 4)), 2)),
    "exp": (lambda lib, *a, **k: lib.exp(*a, **k), (ordinary(torch.float32, (3, 4)),)),
    "neg": (lambda lib, *a, **k: lib.neg(*a, **k), (ordinary(torch.float32, (3, 4)),)),
    "eq": (lambda lib, *a, **k: lib.eq(*a, **k), (ordinary(torch.float32, (3, 4)), 0)),
    "where": (lambda lib, c, *a, **k: lib.where(lib.gt(c, 0), *a, **k), (ordinary(torch.float32, (3, 4)),) * 3),
    "div_floor": (
        lambda lib, *a, **k: lib.div(*a, rounding_mode="floor", **k),
        (ordinary(torch.float32, (3, 4)), ordinary(torch.float32, (3, 4), 1)),
    ),
    "mm": (lambda lib, *a, **k: lib.mm(*a, **k), (ordinary(torch.float32, (3, 5)), ordinary(torch.float32, (5, 4)))),
    "cat": (lambda lib, *a, **k: lib.cat(a, **k), (ordinary(torch.float32, (1, 4)), ordinary(torch.float32, (2, 4)))),
    "sum": (lambda lib, *a, **k: lib.sum(*a, 1, **k), (ordinary(torch.float32, (3, 2, 4)),)),
    "amax": (lambda lib, *a, **k: lib.amax(*a, 1, **k), (ordinary(torch.float32, (3, 2, 4)),)),
    "full": (lambda lib, **k: lib.full((3, 4), 1.5, **k), ()),
    "empty": (lambda lib, **k: lib.empty((3, 4), **k), ()),
}
LOOSE = {"exp": 5e-7, "mm": 5e-6, "sum": 5e-6}
SHAPE = (3, 4)


# Calls of operators whose several outputs are written by other operators.
FORWARDED: dict[str, Callable[..., Any]] = {
    "log_sigmoid": lambda lib, x: lib.ops.aten.log_sigmoid.out(x, out=lib.empty(0)),
    "cummax": lambda lib, x: _running(lib, lib.ops.aten._cummax_helper, x),
    "cummin": lambda lib, x: _running(lib, lib.ops.aten._cummin_helper, x),
}


def _running(lib: Any, helper: Any, x: Any) -> Any:
    running = lib.zeros_like(x), lib.zeros_like(x, dtype=lib.int64)
    helper(x, *running, 1)
    return running


@pytest.mark.parametrize("name", FORWARDED)
def test_outputs_that_are_handed_on(name: str) -> None:
    agree_or_fail(FORWARDED[name], ordinary(torch.float32, (3, 40)), tolerance=5e-7 if name == "log_sigmoid" else 0)


def outputs(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Return tensors that a result of shape (3, 4) may be written to, by kind."""
    return {
        "right": torch.zeros(SHAPE, dtype=dtype),
        "transposed": torch.zeros((4, 3), dtype=dtype).t(),
        "strided": torch.zeros((6, 8), dtype=dtype)[::2, ::2],
        "offset": torch.zeros((5, 6), dtype=dtype)[1:4, 1:5],
        "empty": torch.empty(0, dtype=dtype),
        "empty_matrix": torch.empty((0, 4), dtype=dtype),
        "smaller": torch.zeros((2, 2), dtype=dtype),
        "larger": torch.zeros((7, 7), dtype=dtype),
        "transposed_larger": torch.zeros((7, 5), dtype=dtype).t(),
        "zero_dim": torch.zeros((), dtype=dtype),
    }


def with_warnings(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Return a call's result and its warnings about resizing."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [str(warning.message) for warning in caught if "resized" in str(warning.message)]


def _form(tensor: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return tuple(tensor.shape), tensor.stride()


def result_dtype(name: str) -> torch.dtype:
    return torch.bool if name == "eq" else torch.float32


@pytest.mark.parametrize("form", outputs(torch.float32), ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_outputs_of_every_form(name: str, form: str) -> None:
    call, operands = CALLS[name]
    expected_out = outputs(result_dtype(name))[form]
    twins, out = Twins().of((operands, outputs(result_dtype(name))[form]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, expected_warnings = with_warnings(lambda: call(torch, *operands, out=expected_out))
    assert expected is expected_out
    result, actual = with_warnings(lambda: call(opdsl, *twins, out=out))
    assert result is out
    assert [message[:80] for message in actual] == [expected_warning[:80] for expected_warning in expected_warnings]
    for _ in range(2):
        assert _form(out) == _form(expected)
        if name != "empty":
            assert_agree(out, expected, tolerance=LOOSE.get(name, 0.0))
        call(opdsl, *twins, out=out)


@pytest.mark.parametrize("name", ["add", "eq", "mm", "sum", "cat"])
def test_a_base_sees_what_is_written_into_its_view(name: str) -> None:
    call, operands = CALLS[name]
    base = torch.zeros((6, 8), dtype=result_dtype(name))
    twins, own = Twins().of((operands, base))
    call(torch, *operands, out=base[::2, ::2])
    for _ in range(2):
        call(opdsl, *twins, out=opdsl.runtime.make_view(own, (3, 4), (16, 2)))
        assert_agree(own, base, tolerance=LOOSE.get(name, 0.0))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [call for call in CALLS if call not in ("empty",)])
def test_dtypes_of_outputs(name: str, dtype: torch.dtype) -> None:
    call, operands = CALLS[name]
    values = [operand.abs() if isinstance(operand, torch.Tensor) else operand for operand in operands]
    wide = max(LOOSE.get(name, 0.0), 0.0)

    def run(lib: Any, out: Any, *rest: Any) -> Any:
        return call(lib, *rest, out=out)

    agree_or_fail(run, torch.zeros(SHAPE, dtype=dtype), *values, tolerance=wide)


@pytest.mark.parametrize("inputs", [torch.int64, torch.float16, torch.float64], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["add", "div", "maximum", "lt"])
def test_casts_of_results(name: str, dtype: torch.dtype, inputs: torch.dtype) -> None:
    x, y = ordinary(inputs, (3, 4)).abs(), ordinary(inputs, (3, 4), 1).abs() + 1
    agree_or_fail(lambda lib, o, a, b: getattr(lib, name)(a, b, out=o), torch.zeros(SHAPE, dtype=dtype), x, y)


# ------------------------------------------------------------------------------------------------------------ in place


# Functions that copy a sign, where LLVM merges the rounding of the result with the copy.
SIGNED: dict[str, Callable[..., Any]] = {
    "copysign": lambda lib, x, out: lib.copysign(x, -x, out=out),
    "tanh": lambda lib, x, out: lib.tanh(x, out=out),
    "asin": lambda lib, x, out: lib.asin(x, out=out),
    "expm1": lambda lib, x, out: lib.expm1(x, out=out),
    "erf": lambda lib, x, out: lib.erf(x, out=out),
}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", SIGNED)
def test_double_results_in_outputs_of_16_bits(name: str, dtype: torch.dtype) -> None:
    x = torch.cat([ordinary(torch.float64, (40,)), torch.tensor([0.0, -0.0, 1e-7, 7e4, -1e300], dtype=torch.float64)])
    agree(SIGNED[name], x, torch.empty(45, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("other", [torch.int64, torch.float32, torch.bool, 2, 2.5, True], ids=str)
@pytest.mark.parametrize("name", ["add_", "sub_", "mul_", "div_", "eq_", "lt_"])
def test_in_place_dtypes(name: str, other: Any, dtype: torch.dtype) -> None:
    operand = torch.full((4,), 2).to(other) if isinstance(other, torch.dtype) else other
    agree_or_fail(lambda lib, x, y: getattr(x, name)(y), torch.full((3, 4), 1024).to(dtype), operand)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["neg_", "exp_", "log_", "tanh_", "sigmoid_", "relu_", "reciprocal_"])
def test_in_place_of_one_operand(name: str, dtype: torch.dtype) -> None:
    agree_or_fail(lambda lib, x: getattr(x, name)(), torch.ones((3, 4), dtype=dtype), tolerance=None)


@pytest.mark.parametrize("layout", layouts(), ids=str)
def test_in_place_keeps_the_layout(layout: str) -> None:
    x, y = layouts()[layout], ordinary(torch.float32, (5,))
    agree_or_fail(lambda lib, a, b: a.mul_(b), x, y)


@pytest.mark.parametrize("shape", [(2, 3, 4), (4, 1), (1, 3, 4)], ids=str)
def test_in_place_never_grows(shape: tuple[int, ...]) -> None:
    agree_or_fail(lambda lib, x, y: x.add_(y), ordinary(torch.float32, (1, 4)), ordinary(torch.float32, shape))


def test_in_place_returns_its_tensor_and_counts_a_version() -> None:
    x = opdsl.full((3,), 1.0)
    before = version_of(x)
    for _ in range(3):
        assert x.add_(1) is x
    assert version_of(x) == before + 3


def test_a_view_counts_the_version_of_its_base() -> None:
    matrix = opdsl.full((4, 4), 1.0)
    before = version_of(matrix)
    for _ in range(3):
        matrix.t().add_(1)
    assert version_of(matrix) == before + 3


def test_out_counts_a_version() -> None:
    out = opdsl.full((3,), 1.0)
    before = version_of(out)
    for _ in range(3):
        opdsl.add(out, 1, out=out)
    assert version_of(out) == before + 3


# ------------------------------------------------------------------------------------------------------------- overlap


def overlapping(inputs: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return an input of shape (3, 4) and an output of the same shape, in one storage."""
    base = ordinary(torch.float32, (64,))
    x = base[:12].view(3, 4)
    chosen = {
        "same": base[:12].view(3, 4),
        "shifted": base[1:13].view(3, 4),
        "next": base[12:24].view(3, 4),
        "transposed": base[:12].view(4, 3).t() if inputs == "transposed" else x,
        "expanded": base[20:21].expand(3, 4),
    }
    return x, chosen[inputs]


@pytest.mark.parametrize("layout", ["same", "shifted", "next", "transposed", "expanded"])
@pytest.mark.parametrize("name", ["add", "exp", "eq", "cat"])
def test_outputs_in_the_memory_of_inputs(name: str, layout: str) -> None:
    calls: dict[str, Callable[..., Any]] = {
        "add": lambda lib, x, out: lib.add(x, x, out=out),
        "exp": lambda lib, x, out: lib.exp(x, out=out),
        "eq": lambda lib, x, out: lib.eq(x, 0, out=out),
        "cat": lambda lib, x, out: lib.cat((x,), out=out),
    }
    x, out = overlapping(layout)
    own, own_out = Twins().of((x, out))
    try:
        expected = calls[name](torch, x, out)
    except RuntimeError:
        for _ in range(2):
            with pytest.raises(OverlapError):
                calls[name](opdsl, own, own_out)
    else:
        assert_agree(calls[name](opdsl, own, own_out), expected, tolerance=1e-6)


DERIVED = {
    "fft_fft": lambda out: opdsl.fft.fft(opdsl.ones(2, 3), out=out),
    "fft_ifft": lambda out: opdsl.fft.ifft(opdsl.ones(2, 3, dtype=opdsl.complex64), out=out),
    "nanquantile": lambda out: opdsl.nanquantile(opdsl.ones(2, 3), 0.5, out=out),
}


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("what", ({"dtype": opdsl.bool}, {"device": "meta", "dtype": opdsl.complex64}))
def test_derived_outputs_that_are_refused_keep_their_shape(name: str, what: dict[str, Any]) -> None:
    out = opdsl.empty(5, 0, **what)
    with pytest.raises(OpdslError):
        DERIVED[name](out)
    assert out.shape == (5, 0)


def test_an_output_that_overlaps_once_it_is_resized_is_refused() -> None:
    """An output that overlaps the input only after resizing is rejected; PyTorch reads elements that it has written."""
    memory = opdsl.arange(10.0)
    for _ in range(2):
        with pytest.raises(OverlapError):
            opdsl.add(memory[0:4], 1, out=memory[2:2])
    assert memory.tolist() == list(range(10))


@pytest.mark.parametrize("layout", ["shifted", "transposed", "expanded"])
@pytest.mark.parametrize("name", ["mm", "sum"])
def test_outputs_that_pytorch_fills_with_garbage_are_refused(name: str, layout: str) -> None:
    """Products and sums reject outputs that overlap their inputs, which PyTorch does not check."""
    x, out = Twins().of(overlapping(layout))
    for _ in range(2):
        with pytest.raises(OverlapError):
            opdsl.mm(opdsl.full((3, 3), 1.0), x, out=out) if name == "mm" else opdsl.sum(x, [], True, out=out)


def test_an_input_that_is_the_output_is_read_before_it_is_resized() -> None:
    x = of(torch.arange(12.0))
    with pytest.warns(UserWarning, match="resized"):
        assert opdsl.sum(x, 0, out=x).item() == 66.0


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize(
    ("name", "shapes"), [("bmm", ((2, 3, 4), (2, 4, 5))), ("mm", ((3, 4), (4, 5))), ("mv", ((3, 4), (4,)))]
)
def test_products_read_an_input_before_it_is_resized(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    for _ in range(2):
        x, y = (opdsl.arange(math.prod(shape)).reshape(shape).clone() for shape in shapes)
        expected = getattr(opdsl, name)(x, y)
        assert getattr(opdsl, name)(x, y, out=x).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["add_", "copy_", "mul_"])
def test_in_place_from_shifted_memory_is_refused(name: str) -> None:
    base = torch.arange(10.0)
    own = of(base)
    x, y = base[1:], base[:-1]
    with pytest.raises(RuntimeError, match="single memory location"):
        getattr(x, name)(y)
    shown, source = (opdsl.runtime.make_view(own, (9,), (1,), start) for start in (1, 0))
    for _ in range(2):
        with pytest.raises(OverlapError, match="single memory location"):
            getattr(shown, name)(source)
    assert_agree(own, torch.arange(10.0))


def test_memory_that_is_shared_without_overlap_is_written() -> None:
    base = torch.arange(10.0)
    own = of(base)
    base[0::2].add_(base[1::2])
    opdsl.runtime.make_view(own, (5,), (2,), 0).add_(opdsl.runtime.make_view(own, (5,), (2,), 1))
    assert_agree(own, base)


def test_a_plan_sees_overlap_that_its_first_call_had_not() -> None:
    memory, other = opdsl.full((10,), 1.0), opdsl.full((10,), 1.0)

    def part(of_: opdsl.Tensor, start: int) -> opdsl.Tensor:
        return opdsl.runtime.make_view(of_, (9,), (1,), start)

    for _ in range(2):
        part(memory, 1).add_(part(other, 0))
    with pytest.raises(OverlapError):
        part(memory, 1).add_(part(memory, 0))
    part(memory, 0).add_(part(memory, 0))
    assert memory.tolist() == [2.0, *[6.0] * 8, 3.0]


def test_a_plan_sees_an_output_that_became_an_input() -> None:
    x, y = of(torch.eye(3)), opdsl.full((3, 3), 2.0)
    for out in (opdsl.empty((3, 3)), opdsl.empty((3, 3)), y):
        assert opdsl.mm(x, y, out=out).tolist() == [[2.0] * 3] * 3


# ------------------------------------------------------------------------------------------------- unchanged arguments


def test_a_refused_output_is_not_resized() -> None:
    out = opdsl.empty((2,), dtype=opdsl.int32)
    with pytest.raises(DTypeError):
        opdsl.add(opdsl.full((3,), 1.5), 1, out=out)
    assert out.shape == (2,)


def test_shapes_that_do_not_broadcast_leave_the_output() -> None:
    out = opdsl.full((2,), 7.0)
    with pytest.raises(ShapeError):
        opdsl.add(opdsl.full((3,), 1.0), opdsl.full((4,), 1.0), out=out)
    assert out.tolist() == [7.0, 7.0]


def test_an_output_on_another_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="device"):
        opdsl.add(opdsl.full((3,), 1.0), 1, out=opdsl.empty((3,), device="meta"))


def test_unplanned_and_planned_outputs_are_equal() -> None:
    x, y = ordinary(torch.float32, (3, 4)), ordinary(torch.float32, (3, 4), 1)
    expected = torch.add(x, y)
    for _ in range(3):
        assert differences(opdsl.add(of(x), of(y), out=opdsl.empty((3, 4))), expected) == []


COPIES: dict[str, tuple[Any, ...]] = {
    "alias_copy": (),
    "as_strided_copy": ((2, 2), (1, 4), 1),
    "detach_copy": (),
    "diagonal_copy": (),
    "expand_copy": ((2, 3, 4),),
    "permute_copy": ((1, 0),),
    "select_copy": (0, 1),
    "slice_copy": (0, 1),
    "squeeze_copy": (),
    "t_copy": (),
    "transpose_copy": (0, 1),
    "unfold_copy": (0, 2, 1),
    "unsqueeze_copy": (0,),
    "view_copy": ((12,),),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_views_into_outputs(name: str) -> None:
    both = []
    for lib in (torch, opdsl):
        out = lib.empty(0)
        assert getattr(lib, name)(lib.arange(12.0).reshape(3, 4), *COPIES[name], out=out) is out
        both.append((tuple(out.shape), tuple(out.stride()), out.tolist()))
    assert both[0] == both[1]


def test_one_warning_a_call() -> None:
    """A call warns once, although preparing a plan traces it again."""
    mask, values = torch.tensor([1, 0, 1], dtype=torch.uint8), torch.ones(3)
    calls: tuple[Callable[..., Any], ...] = (
        lambda x, m: x[m],
        lambda x, m: x.index_put((m,), x[:2]),
        lambda x, m: x.index_put_((m,), x[:2].clone()),
        lambda x, m: x.view(3, 1).expand(3, 3)[m, m],
        lambda x, m: x.clone().requires_grad_()[m].sum().backward(),
    )
    for call in calls:
        counts = []
        for x, m in ((values, mask), (Twins().of(values), Twins().of(mask))):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call(x, m)
            counts.append(len(caught))
        assert [warning.filename for warning in caught] == [__file__] * len(caught)
        assert counts[0] == counts[1] > 0
