"""Tests that repeated calls from torch return equal results with and without a plan."""

from __future__ import annotations

import math
import threading

import pytest
import torch

import opdsl
from opdsl import Library, Scalar, Tensor, formula, primitives
from opdsl.interop.torch import native, register
from tests.torch.interop.bridge import declare_loops


@pytest.fixture(scope="module")
def lib():
    with Library("interop_plans") as library:
        declare(library)
        register(library)
        yield library


@pytest.fixture(scope="module")
def ops(lib):
    return torch.ops.interop_plans


def declare(lib: Library) -> None:
    declare_loops(lib)

    @lib.op
    @formula
    def arc(self: Tensor, by: float) -> Tensor:
        return opdsl.atan2(opdsl.tensor(by), self)

    @lib.op(inplace=True)
    @formula
    def quotient(self: Tensor, other: Tensor) -> Tensor:
        return self // other

    sums = primitives.fold(lambda a, b: a + b, init=0, finish=lambda total, count, weight: total * weight)

    @lib.op(out=True)
    @formula
    def total(self: Tensor, dim: list[int], *, weight: Scalar = 1) -> Tensor:
        return sums(self, dim, weight=weight)


def twice(call, *arguments, **named):
    """Call twice and return the second result, which comes from a plan."""
    call(*arguments, **named)
    return call(*arguments, **named)


def test_torch_can_be_read_here():
    assert native.code() is not None


def test_a_plan_reads_the_memory_of_its_own_call(ops):
    for number in range(4):
        x = torch.full((3,), float(number))
        assert ops.scaled(x, x, 2.0).tolist() == [3.0 * number] * 3


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (2, 1, 4), (100, 1000)])
def test_shapes(ops, shape):
    x, y = torch.randn(shape), torch.randn(shape)
    torch.testing.assert_close(twice(ops.scaled, x, y, 0.5), x + 0.5 * y)


def test_strides_tell_plans_apart(ops):
    x, y = torch.randn(3, 3), torch.randn(3, 3)
    for one, other in ((x, y), (x.t(), y), (x, y.t()), (x.t(), y.t()), (x[:, :1], y), (x, y[0])):
        torch.testing.assert_close(twice(ops.scaled, one, other), one + other)
        assert ops.scaled(one, other).stride() == (one + other).stride()


def test_dtypes_tell_plans_apart(ops):
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int32):
        x = torch.ones(3).to(dtype)
        assert twice(ops.scaled, x, x).dtype is dtype


def test_numbers_tell_plans_apart(ops):
    x = torch.ones(2)
    for by in (1.0, 2.0, 1.0, -3.5, 2.0):
        assert twice(ops.scaled, x, x, by).tolist() == [1 + by] * 2


def test_signed_zeros_tell_plans_apart(ops):
    x = torch.tensor([-1.0])
    assert [twice(ops.arc, x, by).item() for by in (0.0, -0.0)] == [pytest.approx(math.pi), pytest.approx(-math.pi)]


def test_more_plans_than_are_kept(ops):
    for turn in range(2):
        for size in range(1, 80):
            x = torch.full((size,), float(turn))
            assert ops.scaled(x, x).tolist() == [2.0 * turn] * size


def test_the_default_dtype_tells_plans_of_integers_apart(ops):
    x = torch.arange(1, 4)
    dtypes = [twice(ops.arc, x, 1.0).dtype]
    torch.set_default_dtype(torch.float64)
    try:
        dtypes.append(ops.arc(x, 1.0).dtype)
    finally:
        torch.set_default_dtype(torch.float32)
    dtypes.append(ops.arc(x, 1.0).dtype)
    assert dtypes == [torch.float32, torch.float64, torch.float32]


def test_several_results(ops):
    x, y = torch.randn(4), torch.randn(4)
    difference, total = twice(ops.rotated, x, y)
    torch.testing.assert_close((difference, total), (x - y, x + y))


def test_a_reduction_with_lists_and_numbers(ops):
    x = torch.randn(2, 3, 4)
    for dims, weight in (([0], 1), ([1, 2], 3), ([0], 2.5)):
        torch.testing.assert_close(twice(ops.total, x, dims, weight=weight), weight * x.sum(dims))


def test_inplace_returns_its_argument_and_counts_versions(ops):
    x, y = torch.ones(3), torch.ones(3)
    returned = [ops.scaled_(x, y) for _ in range(3)]
    assert all(tensor is x for tensor in returned)
    assert (x.tolist(), x._version) == ([4.0] * 3, 3)


def test_inplace_in_inference_mode(ops):
    with torch.inference_mode():
        x, y = torch.ones(3), torch.ones(3)
        for _ in range(3):
            ops.scaled_(x, y)
    assert x.clone().tolist() == [4.0] * 3


def test_inplace_with_itself(ops):
    x = torch.ones(3)
    for _ in range(3):
        ops.scaled_(x, x)
    assert x.tolist() == [8.0] * 3


def test_inplace_with_overlapping_memory_is_refused_as_before(ops):
    memory = torch.arange(5.0)
    x, y = torch.ones(4), torch.ones(4)
    twice(ops.scaled_, x, y)
    with pytest.raises(RuntimeError, match="single memory location"):
        ops.scaled_(memory[:4], memory[1:])
    assert memory.tolist() == [0, 1, 2, 3, 4]


def test_interleaved_memory_is_no_overlap(ops):
    memory = torch.arange(8.0)
    twice(ops.scaled_, torch.ones(8)[::2], torch.ones(8)[::2])
    ops.scaled_(memory[::2], memory[1::2])
    assert memory.tolist() == [1, 1, 5, 3, 9, 5, 13, 7]


def test_out(ops):
    x, y, out = torch.randn(3), torch.randn(3), torch.empty(3)
    assert twice(ops.scaled, x, y, out=out) is out
    torch.testing.assert_close(out, x + y)


def test_out_over_an_input_of_a_reduction_is_refused_as_before(ops):
    memory = torch.ones(2, 3)
    twice(ops.total, torch.ones(2, 3), [0], out=torch.empty(3))
    with pytest.raises(RuntimeError, match="single memory location"):
        ops.total(memory, [0], out=memory[0])


def test_division_by_zero_is_seen_each_time(ops):
    x, y = torch.tensor([4, 6]), torch.tensor([2, 3])
    twice(ops.quotient, x, y)
    with pytest.raises(ZeroDivisionError):
        ops.quotient(x, torch.tensor([2, 0]))


def test_parameters_under_no_grad(ops):
    x, weight = torch.ones(3), torch.nn.Parameter(torch.ones(3))
    with torch.no_grad():
        assert not twice(ops.scaled, x, weight).requires_grad


def test_a_call_that_requires_grad_after_plans_were_made_is_recorded(ops):
    x = torch.ones(3)
    twice(ops.scaled, x, x)
    weight = torch.ones(3, requires_grad=True)
    ops.scaled(x, weight, 1.0).sum().backward()
    assert weight.grad.tolist() == [1.0] * 3


def test_forward_derivatives_after_plans_were_made(ops):
    x = torch.ones(3)
    twice(ops.scaled, x, x, 2.0)
    _, tangent = torch.func.jvp(lambda y: ops.scaled(x, y, 2.0), (x,), (x,))
    assert tangent.tolist() == [2.0] * 3


def test_modes_see_calls_after_plans_were_made(ops):
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class See(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3)
    twice(ops.scaled, x, x)
    with See():
        ops.scaled(x, x)
    assert seen == ["interop_plans.scaled.default"]


def test_negated_views_are_no_memory(ops):
    x = torch.tensor([1 + 2j, 3 + 4j])
    twice(ops.scaled, x.real.clone(), x.real.clone())
    negated = x.conj().imag
    torch.testing.assert_close(ops.scaled(negated, torch.zeros(2)), torch.tensor([-2.0, -4.0]))


def test_another_kernel_is_seen_after_plans_were_made(ops):
    x = torch.ones(3)
    twice(ops.scaled, x, x)
    with Library("interop_plans") as other:

        @other.impl("interop_plans::scaled", "CPU")
        def scaled(self, other, by):
            return self - by

        assert ops.scaled(x, x).tolist() == [0.0] * 3
    assert ops.scaled(x, x).tolist() == [2.0] * 3


def test_threads_share_plans(ops):
    faults = []

    def work(number: int) -> None:
        x = torch.full((50_000,), float(number))
        faults.extend(number for _ in range(50) if not torch.equal(ops.scaled(x, x, 2.0), 3 * x))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_results_and_arguments_are_freed(ops):
    import gc
    import weakref

    x = torch.ones(1000)
    references = [weakref.ref(x), weakref.ref(twice(ops.scaled, x, x))]
    del x
    gc.collect()
    assert [reference() for reference in references] == [None, None]
