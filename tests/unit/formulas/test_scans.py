"""Tests of scans and folds with user-defined functions, against loops of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, dim, dims, formula
from opdsl.errors import DimError
from opdsl.runtime import storage_root
from opdsl.testing import gradcheck

lib = Library("formula_scans")


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(seed).standard_normal(shape))


def loop(step: Callable[..., Any], init: Any, *values: numpy.ndarray[Any, Any], reverse: bool = False) -> Any:
    """Return the carried values of a step function at each index of the first axis."""
    carried, turns = init, []
    for turn in range(len(values[0]))[:: -1 if reverse else 1]:
        carried = step(carried, *(value[turn] for value in values))
        turns.append(carried)
    turns = turns[:: -1 if reverse else 1]
    return tuple(map(numpy.stack, zip(*turns, strict=True))) if isinstance(init, tuple) else numpy.stack(turns)


def close(tensor: Tensor, wanted: Any) -> None:
    numpy.testing.assert_allclose(tensor.numpy(), wanted, rtol=1e-12, atol=1e-12)


@lib.op
@formula
def selective_scan_formula(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor) -> Tensor:
    """``h = exp(dt * A) * h + dt * B * x``, ``y = sum(C * h)`` over time: Mamba's state space."""
    t, c, n = dims(3)
    decay, drive = opdsl.exp(dt[..., t, c] * A[c, n]), dt[..., t, c] * B[..., t, n] * x[..., t, c]
    h = opdsl.scan(lambda h, a, b: a * h + b, 0.0, decay, drive, along=t)
    return (C[..., t, n] * h).sum(n).order(..., t, c)


def selective_arguments(batch: int, time: int, channels: int, states: int) -> list[Tensor]:
    shapes = [(batch, time, channels)] * 2 + [(channels, states)] + [(batch, time, states)] * 2
    return [numbers(*shape, seed=at) for at, shape in enumerate(shapes)]


@pytest.mark.parametrize("time", [1, 5])
def test_a_state_space_is_a_scan(time: int) -> None:
    x, dt, a, b, c = (input.numpy() for input in selective_arguments(2, time, 3, 4))
    h, wanted = numpy.zeros((2, 3, 4)), numpy.empty((2, time, 3))
    for t in range(time):
        h = numpy.exp(dt[:, t, :, None] * a) * h + dt[:, t, :, None] * b[:, t, None] * x[:, t, :, None]
        wanted[:, t] = (c[:, t, None] * h).sum(-1)
    close(selective_scan_formula(*selective_arguments(2, time, 3, 4)), wanted)


def test_a_state_space_has_gradients_of_both_orders() -> None:
    arguments = [input.requires_grad_() for input in selective_arguments(1, 3, 2, 2)]
    assert gradcheck(selective_scan_formula, tuple(arguments))


def test_a_state_space_is_one_recurrence() -> None:
    program = opdsl.trace(selective_scan_formula, *selective_arguments(2, 5, 3, 4))
    assert sum("scan" in step.name for step in program.steps) == 1


STEPS: tuple[Callable[..., Any], ...] = (
    lambda h, x: h * 0.5 + x,
    lambda h, x: h * x,
    lambda h, x: (h + x) * (h - x) / (1 + h * h),
)


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(STEPS), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.sampled_from([0.0, 2, None]))
def test_scans_are_loops(step: Callable[..., Any], time: int, width: int, reverse: bool, init: Any) -> None:
    t, c = dims(2)
    x, start = numbers(time, width), numbers(width, seed=1)
    given_start, plain = (start[c], start.numpy()) if init is None else (init, init)
    scanned = opdsl.scan(step, given_start, x[t, c], along=t, reverse=reverse)
    close(scanned.order(t, c), loop(step, plain, x.numpy(), reverse=reverse))
    whole = opdsl.scan(step, start if init is None else init, x, along=0, reverse=reverse)
    close(whole, loop(step, plain, x.numpy(), reverse=reverse))
    last = opdsl.fold(step, given_start, x[t, c], over=t)
    close(last.order(c), loop(step, plain, x.numpy())[-1])


def test_values_broadcast_by_name() -> None:
    t, a, b = dims(3)
    x, y, start = numbers(4, 2), numbers(4, 3, seed=1), numbers(3, seed=2)
    scanned = opdsl.scan(lambda h, x, y: h * x + y, start[b], x[t, a], y[t, b], along=t)
    wanted = loop(lambda h, x, y: h * x[:, None] + y, numpy.broadcast_to(start.numpy(), (2, 3)), x.numpy(), y.numpy())
    close(scanned.order(t, a, b), wanted)


def test_positional_dimensions_broadcast_from_the_last() -> None:
    x, y = numbers(3, 1, 4), numbers(5, 1, seed=1)
    scanned = opdsl.scan(lambda h, x, y: h * x + y, numbers(4, seed=2), x, y, along=-2)
    xs, ys = (numpy.broadcast_to(input.numpy(), (3, 5, 4)).swapaxes(0, 1) for input in (x, y))
    wanted = loop(lambda h, x, y: h * x + y, numbers(4, seed=2).numpy() + numpy.zeros((3, 4)), xs, ys)
    close(scanned, wanted.swapaxes(0, 1))


class Pair(NamedTuple):
    total: Tensor
    count: Tensor


def test_tuples_are_carried() -> None:
    t = dim()
    x = numbers(6)

    def step(carry: Pair, x: Tensor) -> Pair:
        return Pair(carry.total + x, carry.count + 1)

    scanned = opdsl.scan(step, Pair(opdsl.tensor(1.0), 0), x[t], along=t)  # type: ignore[arg-type]
    assert isinstance(scanned, Pair)
    close(scanned.total.order(t), 1 + numpy.cumsum(x.numpy()))
    assert scanned.count.order(t).tolist() == [1, 2, 3, 4, 5, 6]
    assert scanned.count.dtype is opdsl.int64


def test_the_dtype_is_that_to_which_steps_promote() -> None:
    t = dim()
    ids = opdsl.tensor([1, 2, 3])
    assert opdsl.scan(lambda h, x: h + x, 0, ids[t], along=t).dtype is opdsl.int64
    assert opdsl.scan(lambda h, x: h + x, 0.0, ids[t], along=t).dtype is opdsl.float32
    assert opdsl.scan(lambda h, x: h + x * 0.5, 0, ids[t], along=t).order(t).tolist() == [0.5, 1.5, 3.0]
    half = opdsl.tensor([1.0, 2.0], dtype=opdsl.float16)[dim()]
    assert opdsl.scan(lambda h, x: h + x, 0.0, half, along=half.dims[0]).dtype is opdsl.float16  # type: ignore[attr-defined]
    wide = opdsl.scan(lambda h, x: h + x, opdsl.zeros(1, dtype=opdsl.float64), opdsl.ones(3, 1), along=0)
    assert wide.dtype is opdsl.float64
    assert opdsl.scan(lambda h, x: h | (x > 2), False, ids[t], along=t).order(t).tolist() == [False, False, True]


@pytest.mark.parametrize(("init", "number"), [(0.0, 1.0), (0, 1.0), (0.0, 1)])
def test_numbers_that_steps_give_are_weak(init: float, number: float) -> None:
    assert opdsl.scan(lambda _, x: number, init, opdsl.ones(3), along=0).dtype is opdsl.float32


def test_steps_close_over_elements() -> None:
    t, c = dims(2)
    x, gate = numbers(3, 2), numbers(2, seed=1).requires_grad_()
    scanned = opdsl.scan(lambda h, x: h * gate[c].sigmoid() + x, 0.0, x[t, c], along=t)
    scale = 1 / (1 + numpy.exp(-gate.detach().numpy()))
    close(scanned.order(t, c).detach(), loop(lambda h, x: h * scale + x, numpy.zeros(2), x.numpy()))
    assert gradcheck(lambda x, gate: opdsl.scan(lambda h, x: h * gate + x, 0.0, x, along=0), (x.requires_grad_(), gate))


def test_a_step_may_fold() -> None:
    """A step may multiply the carried vector by a matrix, as a layer of a recurrent network does."""
    x, weight, start = numbers(4, 3), numbers(3, 3, seed=1), numbers(3, seed=2)

    def layer(x: Tensor, weight: Tensor, start: Tensor) -> Tensor:
        t, m, n = dims(3)

        def step(h: Tensor, x: Tensor) -> Tensor:
            return opdsl.tanh((weight[m, n] * h).sum(n).order(m)[n] + x)

        return opdsl.scan(step, start[n], x[t, n], along=t).order(t, n)

    w = weight.numpy()
    wanted = loop(lambda h, x: numpy.tanh(w @ h + x), start.numpy(), x.numpy())
    close(layer(x, weight, start), wanted)
    with Library("formula_scan_layers") as local:
        operator = local.op(formula(layer))
        close(operator(x, weight, start), wanted)
        assert gradcheck(operator, tuple(leaf.requires_grad_() for leaf in (x, weight, start)))


def test_initial_tensors_have_gradients() -> None:
    def run(x: Tensor, start: Tensor) -> Tensor:
        t, c = dims(2)
        return opdsl.scan(lambda h, x: h * x + h.sin(), start[c], x[t, c], along=t, reverse=True).order(t, c)

    assert gradcheck(run, (numbers(3, 2).requires_grad_(), numbers(2, seed=1).requires_grad_()))


def test_branches_guard_gradients() -> None:
    with Library("formula_scan_branches") as local:

        @local.op
        @formula
        def roots(x: Tensor) -> Tensor:
            """Return the sums of the square roots of positive elements."""
            return opdsl.scan(lambda h, x: h + x**0.5 if x > 0 else h, 0.0, x, along=0)

        x = opdsl.tensor([4.0, 0.0, -1.0, 9.0], dtype=opdsl.float64, requires_grad=True)
        assert roots(x).tolist() == [2.0, 2.0, 2.0, 5.0]
        roots(x).sum().backward()
        assert x.grad is not None
        close(x.grad, [1.0, 0.0, 0.0, 1 / 6])


@given(st.integers(1, 3), st.integers(1, 3))
def test_folds_run_over_several_dims_in_order(height: int, width: int) -> None:
    h, w, c = dims(3)
    x = numbers(height, width, 2)
    folded = opdsl.fold(lambda s, x: s * 0.5 + x, 1.0, x[h, w, c], over=(w, h))
    flat = x.numpy().swapaxes(0, 1).reshape(-1, 2)
    close(folded.order(c), loop(lambda s, x: s * 0.5 + x, numpy.ones(2), flat)[-1])


def test_nothing_to_fold_gives_init() -> None:
    t, c = dims(2)
    x, start = opdsl.ones(0, 2), opdsl.tensor([3.0, 4.0])
    assert opdsl.fold(lambda s, x: s + x, 7, x[t, c], over=t).order(c).tolist() == [7.0, 7.0]
    assert opdsl.fold(lambda s, x: s + x, start[c], x[t, c], over=t).order(c).tolist() == [3.0, 4.0]
    assert opdsl.scan(lambda s, x: s + x, start, x, along=0).shape == (0, 2)


@pytest.mark.parametrize("start", [0.1, -1e30, 1e300])
def test_numbers_begin_rounded_to_the_dtype(start: float) -> None:
    scanned = opdsl.scan(lambda h, x: h + x, start, opdsl.zeros(2), along=0)
    with numpy.errstate(over="ignore"):
        assert scanned.tolist() == [numpy.float32(start)] * 2


def test_skipped_turns_are_skipped() -> None:
    i, u = dims(2, [4, 3])
    x = numbers(4)
    folded = opdsl.fold(lambda s, x: s * 0.5 + x, 0.0, x.outside("skip")[i + u - 1], over=u).order(i)
    wanted = []
    for at in range(4):
        total = 0.0
        for number in x.numpy()[max(at - 1, 0) : at + 2]:
            total = total * 0.5 + number
        wanted.append(total)
    close(folded, wanted)


def test_turns_without_values() -> None:
    t = dim(5)
    assert opdsl.scan(lambda h: 2 * h, 1, along=t).order(t).tolist() == [2, 4, 8, 16, 32]
    assert opdsl.scan(lambda h, at: h + at, 0, t, along=t).order(t).tolist() == [0, 1, 3, 6, 10]


def test_vmap_and_forward_mode() -> None:
    def run(x: Tensor) -> Tensor:
        return opdsl.scan(lambda h, x: h * x + x, 1.0, x, along=0)

    x, tangent = numbers(4, 3), numbers(4, 3, seed=1)
    close(opdsl.vmap(run)(x), numpy.stack([run(row).numpy() for row in x]))
    _, pushed = opdsl.autograd.functional.jvp(run, (x,), (tangent,))
    step = 1e-6
    slope = (run(x + step * tangent) - run(x - step * tangent)) / (2 * step)
    numpy.testing.assert_allclose(pushed.numpy(), slope.numpy(), atol=1e-8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opdsl.scan(lambda h, a: h, 'x', x[t], along=t)", "init has to be a number"),
        ("opdsl.scan(lambda h, a: h, (), x[t], along=t)", "empty tuple"),
        ("opdsl.scan(lambda h, a: (h, h), 0.0, x[t], along=t)", "returns a tuple of 2"),
        ("opdsl.scan(lambda h, a: None, 0.0, x[t], along=t)", "returns NoneType"),
        ("opdsl.scan(lambda h, a: h + a, 0.0, [1, 2], along=t)", "values have to be tensors or numbers"),
        ("opdsl.scan(lambda h, a: h + a, x[t], x[t], along=t)", "init varies along"),
        ("opdsl.scan(lambda h, a: h + a, 0.0, x, along=1.5)", "expected a dim"),
        ("opdsl.fold(lambda h, a: h + a, 0.0, x[t], over=(t, t))", "several different dims"),
        ("opdsl.scan(lambda h, a: h + a, 0.0, x[t], along=t, reverse=1)", "True or False"),
        ("opdsl.scan(lambda h: h, 0.0, along=opdsl.dim())", "the size of .* is unknown"),
        ("opdsl.scan(lambda h, a: h + a, 0.0, x[0], along=-1)", "no value has a dimension"),
    ],
)
def test_mistakes_say_what_would_do(text: str, message: str) -> None:
    with pytest.raises(DimError, match=message):
        eval(text, {"opdsl": opdsl, "x": opdsl.ones(3), "t": dim()})


def test_mistakes_in_formulas_underline_the_text() -> None:
    with Library("formula_scan_mistakes") as local:

        @local.op
        @formula
        def wrong(x: Tensor) -> Tensor:
            t = dim()
            return opdsl.scan(lambda h, x: (h, x), 0.0, x[t], along=t).order(t)  # type: ignore[arg-type,return-value]

        with pytest.raises(DimError, match=r"returns a tuple of 2(?s:.*)~~\^"):
            wrong(opdsl.ones(3))


def test_one_step_has_its_own_gradient_in_each_direction() -> None:
    """Scans by the same step in both directions have different backward operators, although these are cached by
    computation.
    """
    x, decay = numbers(6, 2).requires_grad_(), numbers(6, 2, seed=1).requires_grad_()
    t, c = dims(2)
    for reverse in (False, True, False):

        def run(x: Tensor, a: Tensor, reverse: bool = reverse) -> Tensor:
            states = opdsl.scan(lambda h, a, x: opdsl.sin(a * h) - x, 0.25, a[t, c], x[t, c], along=t, reverse=reverse)
            return states.order(t, c)

        assert gradcheck(run, (x, decay))


def test_the_result_of_a_fold_keeps_no_states_of_other_turns() -> None:
    t, c = dims(2)
    x = numbers(500, 2)
    last = opdsl.fold(lambda h, x: h * 0.5 + x, 0.0, x[t, c], over=t).order(c)
    assert storage_root(last).array.nbytes == 2 * 8


@lib.op(out=True)
@formula
def averaged(self: Tensor, rate: float = 0.5) -> Tensor:
    t = opdsl.dim()
    return opdsl.scan(lambda h, x: rate * x + (1 - rate) * h, 0.0, self[..., t], along=t).order(..., t)


@pytest.mark.parametrize("shape", [(2, 3), (3, 1)])
def test_numbers_that_a_step_reads_are_of_no_device(shape: tuple[int, ...]) -> None:
    x = opdsl.ones(shape)
    shown = averaged(opdsl.empty(shape, device="meta"), 0.25)
    assert (shown.shape, shown.strides) == (shape, averaged(x, 0.25).strides) == (shape, averaged.meta(x).strides)


def test_a_float_beside_integers_makes_the_default_dtype() -> None:
    assert averaged(opdsl.tensor([1, 2]), 0.25).dtype is opdsl.float32
    assert averaged(opdsl.tensor([1, 2], dtype=opdsl.float64), 0.1).tolist() == [0.1, 0.1 * 2 + (1 - 0.1) * 0.1]


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float16", "float32", "float64"])
def test_numbers_of_calls_count_as_numbers(dtype: str) -> None:
    """Numbers that steps and loops close over, start from or receive are weak: 0.5 and integers give the
    default dtype.
    """

    @lib.op(f"numbers_beside_{dtype}")
    @formula
    def beside(self: Tensor, alpha: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        looped, k = self * alpha, 0
        while k < self:
            looped += self * alpha
            k += 1
        return (
            opdsl.scan(lambda h, x: h + alpha * x, 0, self, along=0),
            opdsl.scan(lambda h, x: h + x, alpha, self, along=0),
            opdsl.scan(lambda h, x, a: h + a * x, 0, self, alpha, along=0),
            looped,
        )

    x = opdsl.tensor([1, 2, 3]).to(getattr(opdsl, dtype))
    assert {output.dtype for output in beside(x, 0.5)} == {(x * 0.5).dtype}


@pytest.mark.parametrize("over_dims", [False, True])
def test_a_fold_of_nothing_is_the_number_that_it_starts_with(over_dims: bool) -> None:
    """Also after calls that have elements, whose program must not serve it, and for shapes alone."""

    @lib.op(f"folded_from_a_half_{over_dims}")
    @formula
    def folded(self: Tensor) -> Tensor:
        if over_dims:
            i, k = dims(2)
            return opdsl.fold(lambda total, x: total + x, 0.5, self[i, k], over=k).order(i)
        return opdsl.fold(lambda total, x: total + x, 0.5, self, over=-1)

    for shape, expected in (((2, 3), [3.5, 3.5]), ((2, 0), [0.5, 0.5]), ((2, 1), [1.5, 1.5]), ((0, 0), [])):
        x = opdsl.ones(shape)
        assert folded(x).tolist() == expected
        assert folded.meta(x).shape == folded(x.to("meta")).shape == shape[:1]
