"""Tests that implementations select the arguments of an operator that they need, by name and in any order."""

from __future__ import annotations

import numpy as np
import pytest

import opdsl
from opdsl import Alias, Array, DispatchKeySet, Library, Out, Tensor, TensorOptions, errors
from opdsl.runtime import views

X = opdsl.tensor([3.0, 1.0, 2.0])


@pytest.fixture
def lib():
    with Library("parameters") as library:
        yield library


def thrice(operator, *arguments, **named):
    """Call an operator three times (by the slow path, making a plan, by the plan), and return the common result."""
    results = [operator(*arguments, **named) for _ in range(3)]
    assert all(np.array_equal(result.numpy(), results[0].numpy()) for result in results)
    return results[0].numpy().tolist()


def test_kernels_take_what_they_need(lib):
    @lib.op(inplace=True, out=True)
    def scaled(self: Tensor, other: Tensor, factor: float, *, power: int = 1, unused: str = "") -> Tensor: ...

    @scaled.kernel
    def scaled_kernel(power, factor, *, self):
        return self * factor**power

    assert thrice(scaled, X, X, 2.0, power=2) == [12.0, 4.0, 8.0]
    out = opdsl.empty(3)
    assert scaled(X, X, 2.0, out=out) is out
    assert out.numpy().tolist() == [6.0, 2.0, 4.0]


def test_kernels_that_take_the_key_set_and_options(lib):
    @lib.op
    def filled(size: list[int], value: float, *, options: TensorOptions) -> Tensor: ...

    @filled.kernel("CPU")
    def filled_kernel(keys: DispatchKeySet, options, size):
        return opdsl.full(size, float("CPU" in str(keys)), dtype=options.dtype)

    assert thrice(filled, [2], 7.0, dtype=opdsl.float64) == [1.0, 1.0]


def test_kernels_of_the_out_variant_too(lib):
    @lib.op(out=True)
    def doubled(self: Tensor, unused: int = 0) -> Tensor: ...

    @doubled.kernel
    def doubled_kernel(self, out):
        return opdsl.mul(self, 2, out=out)

    assert thrice(doubled, X) == [6.0, 2.0, 4.0]
    assert thrice(doubled, X, out=opdsl.empty(3)) == [6.0, 2.0, 4.0]


@pytest.mark.parametrize("compiled", [True, False])
def test_shape_functions_and_out_kernels(lib, compiled):
    @lib.op(out=Out(precomputed=("int size",)))
    def shifted(self: Tensor, unused: int, by: float) -> Tensor: ...

    @shifted.meta
    def shifted_meta(ctx, by, *, self):
        opdsl.check(by >= 0, "expected a shift upwards", got=by)
        ctx.set_output(0, self.shape, like=self)
        return {"size": self.shape[0]}

    @shifted.out_kernel("CPU", compiled=compiled)
    def shifted_cpu(size, by, self: Array | Tensor, out: Array | Tensor):
        for index in range(size):
            out[index] = self[index] + by

    assert thrice(shifted, X, 0, 1.0) == [4.0, 2.0, 3.0]
    assert thrice(shifted, X, 0, 1.0, out=opdsl.empty(3)) == [4.0, 2.0, 3.0]
    assert shifted.meta(X, 0, 1.0).shape == (3,)
    with pytest.raises(errors.OpdslError, match="expected a shift upwards"):
        shifted(X, 0, -1.0)


def test_a_shape_function_that_checks(lib):
    @lib.op
    def sloped(self: Tensor, unused: float, slope: float) -> Tensor: ...

    @sloped.formula
    def sloped_formula(self: Tensor, slope: float) -> Tensor:
        return self * slope

    @sloped.meta
    def sloped_meta(ctx, slope):
        opdsl.check(slope > 0, "expected a slope", got=slope)

    assert thrice(sloped, X, 0.0, 2.0) == [6.0, 2.0, 4.0]
    with pytest.raises(errors.OpdslError, match="expected a slope"):
        sloped(X, 1.0, 0.0)


def test_views_and_kernels_from_elsewhere(lib):
    @lib.op
    def front(self: Tensor[Alias("a")], unused: int, size: int) -> Tensor[Alias("a")]: ...

    @front.view_kernel
    def front_kernel(self, size):
        return views.narrow(self, 0, 0, size)

    @lib.op
    def behind(self: Tensor, unused: int, size: int) -> Tensor: ...

    lib.impl("behind", "CPU")(lambda size, self: self[size:])
    assert thrice(behind, X, 0, 1) == [1.0, 2.0]
    assert thrice(front, X, 0, 2) == [3.0, 1.0]


REFUSED = {
    "meta without context": ("meta", "def f_meta(self, n): ...", "'ctx' is missing"),
    "meta of others": ("meta", "def f_meta(ctx, m): ...", "'m' is no parameter"),
    "no output": ("out_kernel", "def f_cpu(self, n): ...", "'out' is missing"),
    "output first": ("out_kernel", "def f_cpu(out, self): ...", "another order"),
    "compiled by name": ("out_kernel", "def f_cpu(self, *, out): ...", "'out' is keyword-only"),
    "a default of its own": ("out_kernel", "def f_cpu(n=3, out=None): ...", "gives it none"),
}


@pytest.mark.parametrize(("what", "source", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_parameter_is_refused(lib, what, source, reason):
    @lib.op(out=True)
    def f(self: Tensor, n: int) -> Tensor: ...

    if what == "out_kernel":
        f.meta(lambda ctx, self: ctx.set_output(0, self.shape, like=self))
    namespace: dict[str, object] = {}
    exec(compile(source, "kernels.py", "exec"), namespace)
    name = "f_meta" if what == "meta" else "f_cpu"
    attach = f.meta if what == "meta" else f.out_kernel("CPU")
    with pytest.raises(errors.KernelSignatureError, match=reason):
        attach(namespace[name])


def test_one_kernel_of_operators_that_lack_arguments(lib):
    @lib.op
    def moved(self: Tensor) -> Tensor: ...

    @moved.overload("by")
    def moved_by(self: Tensor, step: float, *, times: int = 2) -> Tensor: ...

    def kernel(self, *, step=1.0, times=3):
        return self + step * times

    moved.kernel(kernel)
    moved_by.kernel(kernel)
    assert thrice(moved, X) == [6.0, 4.0, 5.0]
    assert thrice(moved_by, X, 10.0) == [23.0, 21.0, 22.0]


def test_one_shape_function_and_out_kernel_of_operators_that_lack_arguments(lib):
    @lib.op(out=True)
    def first(self: Tensor) -> Tensor: ...

    @first.overload("several", out=True)
    def first_several(self: Tensor, count: int) -> Tensor: ...

    def meta(ctx, self, *, count=1):
        ctx.set_output(0, (count,), like=self)

    def fill(self, out, *, count=1):
        out.copy_(self[:count])

    for operand in (first, first_several):
        operand.meta(meta)
        operand.out_kernel(fill)
    assert thrice(first, X) == [3.0] and thrice(first_several, X, 2) == [3.0, 1.0]


def test_one_formula_of_operators_that_lack_arguments(lib):
    @lib.op(kernel="CPU")
    def times(self: Tensor) -> Tensor:
        return self.detach() * 2

    @times.overload("factor", kernel="CPU")
    def times_factor(self: Tensor, factor: float) -> Tensor:
        return self.detach() * factor

    def formula(grad, *, factor=2.0):
        return grad * factor

    for operator, inputs in ((times, ()), (times_factor, (5.0,))):
        operator.derivative("self")(formula)
        x = opdsl.ones(1, requires_grad=True)
        (gradient,) = opdsl.autograd.grad([operator(x, *inputs)], [x])
        assert gradient.tolist() == [inputs[0] if inputs else 2.0]


def test_a_default_that_is_not_the_schemas_is_refused_for_what_is_no_option(lib):
    @lib.op
    def scaled(self: Tensor, factor: float) -> Tensor: ...

    with pytest.raises(errors.KernelSignatureError, match="'factr' is no parameter of the operator"):

        @scaled.kernel
        def scaled_kernel(self, factr=1.0):
            return self * factr


@pytest.mark.parametrize("factor", [2, True, np.int64(2), np.float32(2.0), opdsl.tensor(2)], ids=repr)
def test_a_float_is_one_whatever_number_is_given(lib, factor):
    @lib.op
    def scaled(self: Tensor, factor: float = 1.0) -> Tensor:
        return self * factor

    assert all(scaled(opdsl.tensor([1, 2]), factor).dtype is opdsl.float32 for _ in range(3))


def test_a_float_is_one_at_new_shapes(lib):
    @lib.op
    def scaled(self: Tensor, factor: float = 1.0) -> Tensor:
        return self * factor

    assert {scaled(opdsl.arange(n), n).dtype for n in range(1, 9)} == {opdsl.float32}
