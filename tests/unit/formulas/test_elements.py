"""Tests of pointwise formulas: one kernel, with the shapes, dtypes and errors of the operators that the text calls."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Scalar, Tensor, formula
from opdsl.errors import DivisionError, FormulaError, KernelSignatureError, ShapeError, UnsupportedDTypeError
from opdsl.formulas.definition import FormulaDefinition
from opdsl.testing import check_op

lib = Library("formula_elements")


@lib.op(variants="function, method", inplace=True, out=True)
@formula
def smooth_hinge(self: Tensor, beta: float = 1.0) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, without overflow."""
    z = beta * self
    return (opdsl.clamp_min(z, 0.0) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@lib.op
@formula
def soft_relu(self: Tensor) -> Tensor:
    return opdsl.maximum(self, opdsl.tensor(0.0)) + opdsl.log1p(opdsl.exp(-abs(self)))


@lib.op
@formula
def mixed(self: Tensor, other: Tensor) -> Tensor:
    return (self > 0) * other + self


@lib.op
@formula
def both_results(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    return self + other, self > other


@lib.op
@formula
def scaled(self: Tensor, mode: str = "double", by: Tensor | None = None) -> Tensor:
    if by is not None:
        return self * by
    opdsl.check(mode in ("double", "half"), "mode is double or half", got=mode)
    return self * 2 if mode == "double" else self / 2


@lib.op
@formula
def per_row(self: Tensor) -> Tensor:
    opdsl.check(self.ndim > 0, "expected a dimension", got=self.ndim)
    return self / self.shape[-1]


@lib.op
@formula
def quotient(self: Tensor, other: Tensor) -> Tensor:
    return self // (other - 1)


@lib.op
@formula
def shifted(self: Tensor, by: Scalar) -> Tensor:
    return self + by


@lib.op
@formula
def stepped(self: Tensor, slope: float) -> Tensor:
    return self * slope if slope > 1 else self - (1 / slope)


def kernels(operator: object) -> FormulaDefinition:
    definition = operator.operator.entry(opdsl.DispatchKey("CPU")).kernel.definition  # type: ignore[attr-defined]
    assert isinstance(definition, FormulaDefinition)
    return definition


def test_values_are_those_of_the_text():
    x = np.array([[-1.0, 0.0], [2.0, 30.0]])
    expected = [[math.log1p(math.exp(0.5 * number)) / 0.5 for number in row] for row in x]
    assert np.allclose(smooth_hinge(opdsl.tensor(x), 0.5).numpy(), expected, rtol=1e-15)


def test_variants_are_derived():
    x = opdsl.tensor([-1.0, 2.0])
    expected = smooth_hinge(x, 2.0)
    out = opdsl.empty(0)
    smooth_hinge(x, 2.0, out=out)
    assert x.clone().smooth_hinge_(2.0).tolist() == out.tolist() == x.smooth_hinge(2.0).tolist() == expected.tolist()


def test_integers_become_floating_where_the_operators_say_so():
    assert smooth_hinge(opdsl.tensor([1, 2])).dtype is opdsl.float32


def test_a_number_is_a_parameter_and_no_new_kernel():
    x = opdsl.ones(3)
    before = len(kernels(shifted).formulas)
    for number in (0.5, 1.5, 2.5):
        shifted(x, number)
    assert len(kernels(shifted).formulas) <= before + 1


def test_a_test_of_a_number_guards_on_its_truth():
    x = opdsl.tensor([1.0, 2.0])
    results = [stepped(x, slope).tolist() for slope in (2.0, 0.5, 3.0, 0.25)]
    assert results == [[2.0, 4.0], [-1.0, 0.0], [3.0, 6.0], [-3.0, -2.0]]


def test_host_arithmetic_is_pythons():
    with pytest.raises(ZeroDivisionError):
        stepped(opdsl.ones(2), 0.0)


@pytest.mark.parametrize("dtype", [opdsl.float32, opdsl.int64, opdsl.float16])
def test_dtypes_are_promoted_step_by_step(dtype):
    x, y = opdsl.tensor([1.5, -2.0]), opdsl.tensor([3, 4]).to(dtype)
    assert mixed(x, y).tolist() == [4.5, -2.0]
    assert mixed(y, x).dtype is opdsl.promote_types(dtype, opdsl.float32)


def test_results_have_dtypes_of_their_own():
    total, larger = both_results(opdsl.tensor([1, 5]), opdsl.tensor([2.0, 3.0]))
    assert (total.dtype, larger.dtype, larger.tolist()) == (opdsl.float32, opdsl.bool, [False, True])


def test_results_of_several_shapes_are_refused():
    with Library("formula_shapes") as local:

        @local.op
        @formula
        def apart(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
            return self + other, self * 2

        assert apart(opdsl.ones(2), opdsl.ones(2))[1].shape == (2,)
        with pytest.raises(ShapeError, match="all results of an elementwise formula have the same shape"):
            apart(opdsl.ones(2), opdsl.ones(3, 2))


def test_texts_and_none_choose_branches():
    x = opdsl.tensor([2.0])
    assert [scaled(x).item(), scaled(x, "half").item(), scaled(x, by=opdsl.tensor([5.0])).item()] == [4.0, 1.0, 10.0]


def test_checks_of_the_text_are_its_errors():
    with pytest.raises(ShapeError, match="mode is double or half"):
        scaled(opdsl.ones(2), "third")


def test_sizes_are_numbers_of_the_call():
    assert per_row(opdsl.ones(2, 4)).tolist() == [[0.25] * 4] * 2
    assert per_row(opdsl.ones(2, 8)).tolist() == [[0.125] * 8] * 2
    assert per_row(opdsl.ones(1)).tolist() == [1.0]


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ShapeError, match="size of tensor a"):
        mixed(opdsl.ones(2, 3), opdsl.ones(4))


def test_integer_divisors_that_are_computed_are_looked_at():
    assert quotient(opdsl.tensor([7, -7]), opdsl.tensor([3, 3])).tolist() == [3, -4]
    with pytest.raises(DivisionError):
        quotient(opdsl.tensor([7, 7]), opdsl.tensor([3, 1]))


def test_strides_follow_the_operands():
    assert smooth_hinge(opdsl.rand(4, 3).t()).stride() == (1, 3)


def test_arguments_are_values():
    with Library("formula_values") as local:

        @local.op
        @formula
        def added(self: Tensor) -> Tensor:
            self += 1
            return self

        x = opdsl.ones(2)
        assert (added(x).tolist(), x.tolist()) == ([2.0, 2.0], [1.0, 1.0])


def test_formulas_call_formulas_and_helpers():
    with Library("formula_calls") as local:

        def positive(x):
            return x if x > 0 else 0.0

        @local.op
        @formula
        def outer(self: Tensor) -> Tensor:
            return smooth_hinge(positive(self), 2.0) * opdsl.nn.functional.gelu(self)

        x = opdsl.tensor([-1.0, 0.5])
        expected = smooth_hinge(x.clamp_min(0.0), 2.0) * opdsl.nn.functional.gelu(x)
        assert np.allclose(outer(x).numpy(), expected.numpy(), rtol=1e-6)
        assert "outer" in str(kernels(outer).formulas[0].function)


@pytest.mark.parametrize(
    "operator", [smooth_hinge, mixed, both_results, per_row, stepped], ids=lambda operator: operator.__name__
)
def test_laws(operator):
    check_op(operator)


def test_a_body_is_needed():
    with Library("formula_bodies") as local, pytest.raises(opdsl.errors.DeclarationError, match="needs a body"):

        @local.op
        @formula
        def nothing(self: Tensor) -> Tensor: ...


def test_what_writes_is_no_formula():
    with Library("formula_writes") as local, pytest.raises(FormulaError, match="writes or aliases"):

        @local.op
        @formula
        def grown_(self: Tensor[opdsl.Alias("a", write=True)]) -> Tensor[opdsl.Alias("a", write=True)]:
            return self + 1


def test_a_meta_checks_a_formula():
    with Library("formula_meta") as local:

        @local.op
        @formula
        def of_vectors(self: Tensor) -> Tensor:
            return self * 2

        @of_vectors.meta
        def of_vectors_meta(ctx, self):
            opdsl.check(self.ndim == 1, "expected a vector", got=self.shape)

        assert of_vectors(opdsl.ones(2)).tolist() == [2.0, 2.0]
        with pytest.raises(ShapeError, match="expected a vector"):
            of_vectors(opdsl.ones(2, 2))


def folded(self):
    return self.sum(-1)


def drawn(self):
    return self + opdsl.rand_like(self)


def turned(self):
    i, j = opdsl.dims(2)
    return self[j, i].order(i, j)


@pytest.mark.parametrize("is_first", [False, True])
@pytest.mark.parametrize("body", [folded, drawn, turned])
def test_a_meta_beside_a_formula_that_would_not_call_it_is_refused(body, is_first):
    with Library("formula_meta") as local:

        @local.op
        def f(self: Tensor) -> Tensor: ...

        def f_meta(ctx, self):
            ctx.set_output(0, self.shape[:-1], dtype=opdsl.float64, like=self)

        with pytest.raises(KernelSignatureError, match=r"f: a shape function has no effect beside a formula that"):
            for attach, function in ((f.meta, f_meta), (f.formula, body))[:: 1 if is_first else -1]:
                attach(function)


def test_arguments_that_take_a_name_alone():
    with Library("formula_keyword_only") as local:

        @local.op
        @formula
        def shifted(self: Tensor, *, by: float = 1.0, up: bool = True) -> Tensor:
            return self + by if up else self - by

        x = opdsl.tensor([1.0, 2.0])
        assert shifted(x).tolist() == [2.0, 3.0]
        assert shifted(x, by=0.5, up=False).tolist() == [0.5, 1.5]


def test_parts_of_complex_numbers_are_elements():
    with Library("formula_complex_parts") as local:

        @local.op
        @formula
        def turned(self: Tensor) -> Tensor:
            return opdsl.complex(-self.imag, self.conj().real)

        z = np.array([1 + 2j, 3 - 1j])
        assert turned(opdsl.from_numpy(z)).tolist() == (z * 1j).tolist()


def test_a_number_is_rounded_to_the_dtype_of_16_bit_elements():
    with Library("formula_narrow_number") as local:

        @local.op
        @formula
        def floored(self: Tensor, low: Scalar = 0) -> Tensor:
            return self if self > low else low

        x = opdsl.tensor([1.0, -2.0], dtype=opdsl.bfloat16)
        # 0.3 is 0.30078125 in bfloat16
        assert floored(x, 0.3).tolist() == [1.0, 0.30078125]


def test_dtypes_that_a_formula_does_not_take_are_refused():
    with Library("formula_dtypes") as local:

        @local.op(out=True)
        @formula(dtypes=("floating", "complex"))
        def halved(self: Tensor) -> Tensor:
            return self / 2

        assert halved(opdsl.tensor([1.0])).tolist() == [0.5]
        with pytest.raises(UnsupportedDTypeError, match="not implemented for 'Long'"):
            halved(opdsl.tensor([1]))


def test_dtypes_are_looked_at_where_a_formula_folds_or_is_called_by_another():
    with Library("formula_dtypes_elsewhere") as local:

        @local.op
        @formula(dtypes="integer")
        def folded(self: Tensor) -> Tensor:
            return self - self.sum()

        @local.op
        @formula(dtypes="complex")
        def turned(self: Tensor) -> Tensor:
            return self * 1j

        @local.op
        @formula
        def outer(self: Tensor) -> Tensor:
            return folded(self) + 1

        assert folded(opdsl.tensor([1, 2])).tolist() == [-2, -1]
        assert turned(opdsl.tensor([1 + 1j])).tolist() == [-1 + 1j]
        for function in (folded, turned, outer):
            with pytest.raises(
                UnsupportedDTypeError, match=r"not implemented for 'Float' .*: it takes (integer|complex)"
            ):
                function(opdsl.tensor([1.0]))


def test_unknown_dtypes_are_refused_where_a_formula_is_declared():
    with Library("formula_unknown_dtypes") as local, pytest.raises(KernelSignatureError, match="neither a dtype nor"):

        @local.op
        @formula(dtypes="float")
        def halved(self: Tensor) -> Tensor:
            return self / 2


def test_a_tensor_of_one_number_is_a_number_of_the_kernel() -> None:
    """A computation with a tensor of one number is fused and rounded once, as one pointwise operator."""
    x = opdsl.tensor([-0.5, 0.0, 1.0], dtype=opdsl.bfloat16, requires_grad=True)
    computed = soft_relu(x)
    exact = np.logaddexp(0, [-0.5, 0.0, 1.0])
    assert computed.tolist() == opdsl.tensor(exact, dtype=opdsl.bfloat16).tolist()
    computed.sum().backward()
    assert x.grad is not None
    assert x.grad[1].item() == 0.5
    assert soft_relu.tags == ("pointwise",)
    assert soft_relu(opdsl.tensor([1, 2])).dtype is opdsl.float32


@lib.op
@formula
def angle_of(self: Tensor, by: Scalar) -> Tensor:
    return opdsl.atan2(opdsl.tensor(by), self)


@pytest.mark.parametrize("by", [2, 2.5, True])
def test_a_tensor_of_a_number_of_the_call(by: float) -> None:
    result = angle_of(opdsl.tensor([1, -1]), by)
    assert result.dtype is opdsl.float32
    np.testing.assert_allclose(result.numpy(), np.arctan2([by, by], [1, -1]), rtol=1e-6)


def test_gradients_of_third_order_are_those_of_the_calls() -> None:
    @lib.op
    @formula
    def from_polar(radius: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
        return radius * opdsl.cos(angle), radius * opdsl.sin(angle)

    def third(call: Any) -> list[list[float]]:
        x = opdsl.tensor([0.5, 1.0, 2.0], dtype=opdsl.float64, requires_grad=True)
        y = opdsl.tensor([[0.1, 0.2, 0.3], [1.0, 2.0, 3.0]], dtype=opdsl.float64, requires_grad=True)
        first, second = call(x, y)
        grad = [first.sum() + (second * second).sum()]
        for _ in range(3):
            grad = list(
                opdsl.autograd.grad([sum((gradient * gradient).sum() for gradient in grad)], [x, y], create_graph=True)
            )
        return [gradient.detach().reshape(-1).tolist() for gradient in grad]

    by_calls = third(lambda radius, angle: (radius * opdsl.cos(angle), radius * opdsl.sin(angle)))
    for one, other in zip(third(from_polar), by_calls, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


@lib.op
@formula
def symmetrized(self: Tensor) -> Tensor:
    return (self + self.mT) / 2


def test_operators_that_only_equal_sizes_suit() -> None:
    """No other sizes than those of the call are tried in its place."""
    for size in (1, 2, 5):
        x = np.random.default_rng(size).normal(size=(size, size))
        np.testing.assert_allclose(symmetrized(opdsl.from_numpy(x)).numpy(), (x + x.T) / 2)
    x = np.arange(3.0)[None]
    np.testing.assert_allclose(symmetrized(opdsl.from_numpy(x)).numpy(), (x + x.T) / 2)
    with pytest.raises(ShapeError, match=r"size of tensor a \(5\) must match the size of tensor b \(4\)"):
        symmetrized(opdsl.ones(4, 5))


def doubled_where_dense(x: Tensor) -> Tensor:
    return x * 2 if x.is_contiguous() else x * 3


def test_the_layout_of_an_argument_selects_what_is_computed() -> None:
    @lib.op
    @formula
    def asking(self: Tensor) -> Tensor:
        return self * 2 if self.is_contiguous() else self * 3

    @lib.op
    @formula
    def asking_by_calls(self: Tensor) -> Tensor:
        return asking(self) + doubled_where_dense(self + 0)

    @lib.op
    @formula
    def asking_strides(self: Tensor) -> Tensor:
        return self * (2 if self.stride(0) > self.stride(1) else 3)

    dense = opdsl.ones(2, 3)
    for _ in range(3):
        assert asking(dense).tolist() == [[2.0] * 3] * 2
        assert asking(dense.t()).tolist() == [[3.0] * 2] * 3
        assert asking(opdsl.ones(2, 6)[:, ::2]).tolist() == [[3.0] * 3] * 2
        assert asking_by_calls(dense).tolist() == [[4.0] * 3] * 2
        assert asking_by_calls(dense.t()).tolist() == [[6.0] * 2] * 3
        assert asking_strides(dense.t()).tolist() == [[3.0] * 2] * 3
