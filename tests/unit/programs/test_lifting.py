"""Tests of folds whose elements are computed in the same kernel: they agree with separate steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.programs import Program
from opdsl.programs.compiled import PASSES, optimised
from opdsl.programs.lifting import with_lifted_folds

FLOATS = (opdsl.float32, opdsl.float64, opdsl.float16, opdsl.bfloat16)
DTYPES = (*FLOATS, opdsl.int64, opdsl.int32, opdsl.uint8, opdsl.bool, opdsl.complex64)


def shared(x: Any, y: Any) -> Any:
    product = x * y
    return (product * product + product).sum()


FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: (x * y).sum(),
    "sum of squares": lambda x, y: ((x - y) ** 2).sum(),
    "mean": lambda x, y: ((x - y) ** 2).mean(),
    "rows": lambda x, y: (x * y).sum(1),
    "rows that stay": lambda x, y: (x * y).sum(1, keepdim=True),
    "columns": lambda x, y: (x * y + y).sum(0),
    "mean of columns": lambda x, y: (x * y + 0.5).mean(0),
    "all that stay": lambda x, y: (x * 3 + y).abs().sum((0, 1), keepdim=True),
    "another dtype": lambda x, y: (x * y).sum(dtype=opdsl.float64),
    "how many": lambda x, y: (x > y).sum(),
    "not zero": lambda x, y: opdsl.count_nonzero(x * y),
    "not zero in rows": lambda x, y: opdsl.count_nonzero(x * y, 1),
    "numbers alone": lambda x, y: (x / y).nansum(),
    "any": lambda x, y: (x * y).any(),
    "all": lambda x, y: (x == y).all(),
    "product": lambda x, y: (x * y + 1).prod(),
    "largest": lambda x, y: (x * y).amax(),
    "smallest of columns": lambda x, y: (x * 3 + y).amin(0, keepdim=True),
    "largest of rows and where": lambda x, y: (x * y).max(1),
    "where the largest is": lambda x, y: (x * y).argmax(),
    "read twice": shared,
    "condition": lambda x, y: opdsl.where(x != y, x, x * y).sum(),
}


def drawn(shape: tuple[int, ...], seed: int, dtype: Any) -> Any:
    is_signed = dtype.is_floating_point or dtype.is_complex or dtype.is_signed
    values = numpy.random.default_rng(seed).integers(-3 if is_signed else 0, 4, shape).astype(numpy.float64)
    return opdsl.from_numpy(numpy.asarray(values * (0.375 if dtype.is_floating_point else 1))).to(dtype)


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the results of a call, or the type and text of its error."""
    try:
        inputs = function(*arguments)
    except Exception as error:
        return type(error), str(error)
    return [
        (input.dtype, input.shape, input.stride(), input)
        for input in ((inputs,) if opdsl.is_tensor(inputs) else inputs)
    ]


def assert_alike(result: Any, wanted: Any, dtype: Any) -> None:
    if isinstance(wanted, tuple):
        assert result == wanted
        return
    for one, other in zip(result, wanted, strict=True):
        assert one[:3] == other[:3]
        inputs, expected = (operand[3].to(opdsl.complex128).numpy() for operand in (one, other))
        tolerance = 1e-2 if dtype.itemsize == 2 and dtype.is_floating_point else 1e-5
        numpy.testing.assert_allclose(inputs, expected, rtol=tolerance, atol=tolerance / 10)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_a_fold_of_computed_elements_is_one_step(name: str, dtype: Any) -> None:
    function = FOLDS[name]
    for shape in ((3, 4), (0, 4)):
        x, y = drawn(shape, 1, dtype), drawn(shape, 2, dtype)
        wanted = outcome(function, x, y)
        compiled = opdsl.compile(function)
        assert_alike(outcome(compiled, x, y), wanted, dtype)
        programs = compiled.explain().programs
        assert isinstance(wanted, tuple) or [len(program.steps) for program in programs] == [1]


@pytest.mark.parametrize("dtype", [opdsl.float16, opdsl.bfloat16], ids=str)
def test_steps_in_16_bits_round_as_they_do_apart(dtype: Any) -> None:
    def function(x: Any, y: Any) -> Any:
        return ((x * y + 1.3).tanh() / 3 - y).amax(1)

    x, y = (opdsl.rand(40, 30).to(dtype) for _ in range(2))
    assert opdsl.compile(function)(x, y).tolist() == function(x, y).tolist()


def test_integers_wrap_after_each_step() -> None:
    def function(x: Any) -> Any:
        return (x * 3 + 100).sum()

    x = opdsl.tensor([[100, 50, 90], [7, -128, 127]], dtype=opdsl.int8)
    assert opdsl.compile(function)(x).item() == function(x).item()


def test_large_folds_are_as_exact_as_those_of_what_is_stored() -> None:
    x, y = (numpy.random.default_rng(seed).random((300, 1001), dtype=numpy.float32) for seed in (1, 2))
    for one, other in ((x, y), (x.T, y.T), (x[:, ::2], y[:, ::2]), (x, y[:1]), (x[:, :1], y)):
        wanted = ((one.astype(numpy.float64) - other) ** 2).mean()
        computed = opdsl.compile(FOLDS["mean"])(opdsl.from_numpy(one), opdsl.from_numpy(other))
        numpy.testing.assert_allclose(computed.item(), wanted, rtol=3e-7)


def test_tensors_broadcast_and_need_not_be_contiguous() -> None:
    for x, y in (
        (drawn((3, 4), 1, opdsl.float32), drawn((4,), 2, opdsl.float32)),
        (drawn((3, 1), 1, opdsl.float32), drawn((1, 4), 2, opdsl.float32)),
        (drawn((4, 3), 1, opdsl.float32).t(), drawn((3, 8), 2, opdsl.float32)[:, ::2]),
        (drawn((3, 4), 1, opdsl.float32), drawn((), 2, opdsl.float32)),
    ):
        for name in ("sum", "rows", "columns", "where the largest is"):
            assert_alike(outcome(opdsl.compile(FOLDS[name]), x, y), outcome(FOLDS[name], x, y), opdsl.float32)


def test_one_program_serves_all_sizes() -> None:
    compiled = opdsl.compile(FOLDS["mean"])
    for size in range(2, 9):
        x, y = drawn((size, size + 1), 1, opdsl.float32), drawn((size, size + 1), 2, opdsl.float32)
        numpy.testing.assert_allclose(compiled(x, y).item(), FOLDS["mean"](x, y).item(), rtol=1e-6)
    assert len(compiled.explain().programs) == 1


def test_numbers_of_a_call_are_handed_on() -> None:
    compiled = opdsl.compile(lambda x, factor: (x * factor + 1).sum(0))
    x = drawn((3, 4), 1, opdsl.float32)
    for factor in (0.5, 2.25):
        assert compiled(x, factor).tolist() == (x * factor + 1).sum(0).tolist()
    assert [len(program.steps) for program in compiled.explain().programs] == [1]


def parts(function: Callable[..., Any], *arguments: Any) -> list[int]:
    program: Program = optimised(opdsl.trace(function, *arguments), PASSES)
    return [len(step.parts) or 1 for step in program.steps]


def test_elements_that_something_else_reads_are_stored() -> None:
    def both(x: Any) -> Any:
        y = x * 2
        return y, y.prod()

    assert parts(both, opdsl.ones(3)) == [1, 1]


def test_steps_of_fewer_elements_are_computed_once() -> None:
    assert parts(lambda x, y: (x.exp() * y).prod(), opdsl.ones(4), opdsl.ones(3, 4)) == [1, 2]


def test_steps_are_not_moved_across_a_write() -> None:
    def writing(x: Any) -> Any:
        y = x * 2
        x.add_(1)
        return y.prod()

    assert parts(writing, opdsl.ones(3)) == [1, 1, 1]
    assert opdsl.compile(writing)(opdsl.ones(3)).item() == 8


def test_divisions_of_integers_stay_apart() -> None:
    def divided(x: Any, y: Any) -> Any:
        return (x % y).sum()

    x = opdsl.tensor([5, 7])
    assert parts(divided, x, x) == [1, 1]
    with pytest.raises(ZeroDivisionError):
        opdsl.compile(divided)(x, opdsl.tensor([2, 0]))


def test_a_program_of_folds_is_saved_by_its_steps(tmp_path: Any) -> None:
    x, y = drawn((3, 4), 1, opdsl.float32), drawn((3, 4), 2, opdsl.float32)
    program = with_lifted_folds(opdsl.trace(FOLDS["mean"], x, y))
    program.save(tmp_path / "mean.json")
    loaded = Program.load(tmp_path / "mean.json")
    assert len(program.steps) == 1 and len(loaded.steps) == 3
    assert loaded(x, y).item() == pytest.approx(program(x, y).item())


def test_a_training_step_is_compiled() -> None:
    def step(weight: Any, x: Any, y: Any) -> Any:
        loss = ((x @ weight - y) ** 2).mean()
        (gradient,) = opdsl.autograd.grad(loss, [weight])
        return loss.detach(), gradient

    x, y = drawn((5, 3), 1, opdsl.float32), drawn((5, 2), 2, opdsl.float32)
    weights = [drawn((3, 2), 3, opdsl.float32).requires_grad_() for _ in range(2)]
    results = [function(weight, x, y) for function, weight in zip((step, opdsl.compile(step)), weights, strict=True)]
    for one, other in zip(*results, strict=True):
        numpy.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


def test_gradients_are_those_of_the_steps() -> None:
    def loss(x: Any) -> Any:
        return (x * x.exp()).sum()

    for function in (loss, opdsl.compile(loss)):
        x = opdsl.tensor([0.5, -1.0], requires_grad=True)
        (first,) = opdsl.autograd.grad(function(x), [x], create_graph=True)
        (second,) = opdsl.autograd.grad(first.sum(), [x])
        values = x.detach().numpy()
        numpy.testing.assert_allclose(first.detach().numpy(), (1 + values) * numpy.exp(values), rtol=1e-5)
        numpy.testing.assert_allclose(second.numpy(), (2 + values) * numpy.exp(values), rtol=1e-5)
