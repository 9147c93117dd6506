"""Tests of plans as built-in functions of tensors: ownership, fallbacks, and refused arguments."""

from __future__ import annotations

import gc
import sys
import weakref

import numpy
import pytest

from opdsl.backends.cpu import tensors
from opdsl.runtime import Tensor, cpu, float32, from_numpy
from opdsl.runtime.geometry import geometry
from opdsl.runtime.plan_call import PlanCall, PlanOperand

pytestmark = pytest.mark.usefixtures("plans_at_once")

FORM = geometry(float32, cpu, (3,), (1,))
SELF = PlanOperand(0, is_array=True)


def tensor_of(*values):
    return from_numpy(numpy.array(values, numpy.float32))


def refuse(*arguments):
    raise AssertionError("the slow road is not needed")


def plan(kernel, operands=(SELF,), *, arguments=1, slow=refuse, converts=False):
    return tensors.plan(kernel, PlanCall("op", arguments, tuple(operands), FORM, converts), slow)


def test_the_result_is_a_finished_tensor():
    doubled = plan(lambda array: array * 2)(tensor_of(1, 2, 3))
    assert type(doubled) is Tensor
    assert (doubled.tolist(), doubled.geometry, doubled._version, doubled._base) == ([2, 4, 6], FORM, 0, None)
    assert not hasattr(doubled, "autograd")


def test_operands_come_in_the_kernels_order():
    seen = []

    def kernel(*values):
        seen.extend(values)
        return numpy.zeros(3, numpy.float32)

    x = tensor_of(1, 2, 3)
    operands = [PlanOperand(1), SELF, PlanOperand(None, value="constant"), PlanOperand(0)]
    plan(kernel, operands, arguments=2)(x, 2.5)
    assert seen[0] == 2.5 and seen[1] is x.array and seen[2] == "constant" and seen[3] is x


def test_nothing_is_leaked():
    compute = plan(lambda array: array + 1)
    x = tensor_of(1, 2, 3)
    before = [sys.getrefcount(referent) for referent in (x, x.array, FORM, None)]
    for _ in range(2000):
        compute(x)
    after = [sys.getrefcount(referent) for referent in (x, x.array, FORM, None)]
    assert after[:3] == before[:3] and abs(after[3] - before[3]) < 100


def test_the_result_and_the_plan_can_be_collected():
    compute = plan(lambda array: array + 1)
    output = compute(tensor_of(1, 2, 3))
    output.autograd = output  # a cycle that the garbage collector has to find
    gone = weakref.ref(output)
    del output, compute
    gc.collect()
    assert gone() is None


def test_errors_of_the_kernel_pass_through():
    def kernel(array):
        raise ValueError("from the kernel")

    with pytest.raises(ValueError, match="from the kernel"):
        plan(kernel)(tensor_of(1, 2, 3))


def test_a_number_that_does_not_fit_takes_the_slow_road():
    def kernel(array):
        raise OverflowError

    x = tensor_of(1, 2, 3)
    assert plan(kernel, slow=lambda *arguments: arguments, converts=True)(x) == (x,)
    with pytest.raises(OverflowError):
        plan(kernel, slow=lambda *arguments: arguments)(x)


@pytest.mark.parametrize("argument", [3, numpy.zeros(3, numpy.float32), Tensor()], ids=["int", "array", "unfinished"])
def test_what_is_no_tensor_with_an_array_takes_the_slow_road(argument):
    assert plan(refuse, slow=lambda *arguments: arguments)(argument) == (argument,)


def test_the_number_of_arguments_is_checked():
    with pytest.raises(TypeError):
        plan(refuse)()
    with pytest.raises(TypeError):
        plan(refuse)(tensor_of(1), tensor_of(1))


def test_an_array_lives_while_the_kernel_has_it():
    x = tensor_of(1, 2, 3)

    def kernel(array):
        del x.array  # as another thread might do
        return array + 1

    assert plan(kernel)(x).tolist() == [2, 3, 4]


def test_a_view_keeps_its_base():
    base = tensor_of(1, 2, 3)
    part = geometry(float32, cpu, (2,), (1,), is_view=True)
    once = tensors.view_function(base.geometry, part, 1)(base)
    twice = tensors.view_function(part, geometry(float32, cpu, (), (), is_view=True), 1)(once)
    assert (once.tolist(), twice.item()) == ([2, 3], 3)
    assert once._base is base and twice._base is base
    assert numpy.shares_memory(twice.array, base.array)


@pytest.mark.parametrize("argument", [3, numpy.zeros(3, numpy.float32), Tensor()], ids=["int", "array", "unfinished"])
def test_views_of_something_else_are_refused(argument):
    with pytest.raises(TypeError):
        tensors.view_function(FORM, FORM, 0)(argument)


def test_views_leak_nothing():
    x = tensor_of(1, 2, 3)
    view = tensors.view_function(x.geometry, geometry(float32, cpu, (3,), (1,), is_view=True), 0)
    before = [sys.getrefcount(referent) for referent in (x, x.array, x.array.dtype)]
    for _ in range(2000):
        view(x)
    assert [sys.getrefcount(referent) for referent in (x, x.array, x.array.dtype)] == before
