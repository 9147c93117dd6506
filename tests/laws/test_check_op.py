"""Tests that ``check_op`` reports violations of each law, and accepts correct operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Alias, Array, Library, Tensor, formula
from opdsl.errors import DeclarationError, LawError, OptionError
from opdsl.kernels import copy_
from opdsl.testing import Maker, Sample, check_op, samples_of, violations_of


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("law_tests") as lib:
        yield lib


def laws(function: object, **options: object) -> set[int]:
    """Return the numbers of the laws that an operator breaks."""
    return {violation.law for violation in violations_of(function, **options)}  # type: ignore[arg-type]


def test_a_right_operator(library: Library) -> None:
    @library.op(variants="function, method", inplace=True, out=True)
    @formula
    def law_scale(self: Tensor, factor: float = 2.0) -> Tensor:
        return self * factor

    check_op(law_scale, dtypes=[opdsl.float32, opdsl.float16, opdsl.float64])


def test_a_right_view(library: Library) -> None:
    @library.op
    def first_half(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @first_half.kernel("CPU", "Meta")
    def first_half_kernel(self):
        return self.narrow(0, 0, self.shape[0] // 2)

    check_op(first_half, [Sample(Maker(opdsl.float32)(4, 3))])


def test_a_right_composite(library: Library) -> None:
    @library.op
    def affine(self: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        out = self @ weight.t()
        return out if bias is None else out + bias

    make = Maker(opdsl.float32)
    check_op(affine, [Sample(make(2, 3), make(4, 3)), Sample(make(2, 3), make(4, 3), make(4))])


def test_variants_that_differ(library: Library) -> None:
    @library.op("double")
    def double(self: Tensor) -> Tensor: ...

    @double.kernel("CPU", "Meta")
    def double_kernel(self):
        return self * 2

    @double.inplace_variant()
    def double_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @double_.kernel("CPU", "Meta")
    def double_inplace_kernel(self):
        return self.mul_(3)

    double.non_differentiable("self")
    assert laws(double) == {2}


def test_a_kernel_that_is_not_repeatable(library: Library) -> None:
    seen: list[Tensor] = []

    @library.op
    def counted(self: Tensor) -> Tensor: ...

    @counted.kernel("CPU", "Meta")
    def counted_kernel(self):
        seen.append(self)
        return self + len(seen)

    counted.non_differentiable("self")
    assert laws(counted) == {2, 11}


@pytest.mark.parametrize("wrong", ["shape", "dtype", "strides"])
def test_meta_that_differs_from_the_kernel(library: Library, wrong: str) -> None:
    @library.op
    def law_meta(self: Tensor) -> Tensor: ...

    @law_meta.kernel("CPU")
    def law_meta_cpu(self):
        return self.clone()

    @law_meta.kernel("Meta")
    def law_meta_meta(self):
        choices = {
            "shape": lambda: self.unsqueeze(0).clone(),
            "dtype": lambda: self.to(opdsl.float64),
            "strides": lambda: self.t().clone(),
        }
        return choices[wrong]()

    law_meta.non_differentiable("self")
    assert laws(law_meta, samples=[Sample(Maker(opdsl.float32)(3, 3))]) == {3}


def test_no_meta(library: Library) -> None:
    @library.op
    def only_cpu(self: Tensor) -> Tensor: ...

    @only_cpu.kernel("CPU")
    def only_cpu_kernel(self):
        return self.clone()

    only_cpu.non_differentiable("self")
    assert laws(only_cpu) == {3}


def test_meta_that_takes_memory(library: Library) -> None:
    @library.op
    def heavy(self: Tensor) -> Tensor: ...

    @heavy.kernel("CPU", "Meta")
    def heavy_kernel(self):
        return opdsl.zeros(self.shape)

    assert laws(heavy, laws=[3]) == {3}


def test_an_argument_that_is_written_in_secret(library: Library) -> None:
    @library.op
    def secret(self: Tensor) -> Tensor: ...

    @secret.kernel("CPU", "Meta")
    def secret_kernel(self):
        self.add_(1)
        return self.clone()

    assert 4 in laws(secret)


def test_an_argument_that_is_returned_in_secret(library: Library) -> None:
    @library.op
    def itself(self: Tensor) -> Tensor: ...

    @itself.kernel("CPU", "Meta")
    def itself_kernel(self):
        return self

    itself.non_differentiable("self")
    assert laws(itself) == {4}


def test_an_alias_that_never_is(library: Library) -> None:
    @library.op
    def no_view(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @no_view.kernel("CPU", "Meta")
    def no_view_kernel(self):
        return self.clone()

    assert laws(no_view, laws=[4]) == {4}


def test_a_write_that_never_is(library: Library) -> None:
    @library.op
    def no_write_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @no_write_.kernel("CPU", "Meta")
    def no_write_kernel(self):
        return self

    no_write_.non_differentiable("self")
    assert laws(no_write_) == {4}


@pytest.fixture
def cubed(library: Library) -> Any:
    """Declare the cube of a tensor without a derivative, so that a test can attach any."""

    @library.op
    def cubed(self: Tensor) -> Tensor: ...

    @cubed.kernel("CPU", "Meta")
    def cubed_kernel(self):
        return self * self * self

    return cubed


def test_an_operator_without_any_derivative(cubed: Any) -> None:
    violations = violations_of(cubed)
    assert [violation.law for violation in violations] == [5]
    assert 'self has no derivative: declare one with .derivative("self")' in str(violations[0])
    cubed.non_differentiable("self")
    check_op(cubed)


def test_an_argument_without_derivative(library: Library) -> None:
    @library.op
    def law_scaled(self: Tensor, by: Tensor) -> Tensor: ...

    @law_scaled.kernel("CPU", "Meta")
    def law_scaled_kernel(self, by):
        return self * by

    law_scaled.derivative(self=lambda grad, by: grad * by)
    samples = [Sample(opdsl.rand(3), opdsl.rand(3))]
    (problem,) = violations_of(law_scaled, samples, laws=[5])
    assert problem.problem.startswith("by has no derivative")


def test_a_body_has_the_derivatives_of_what_it_calls(library: Library, cubed: Any) -> None:
    @library.op
    def law_body(self: Tensor) -> Tensor:
        return cubed(self) + 1

    check_op(law_body)


def test_counts_need_no_derivative(library: Library) -> None:
    @library.op
    def law_positive(self: Tensor) -> Tensor: ...

    @law_positive.kernel("CPU", "Meta")
    def law_positive_kernel(self):
        return self > 0

    check_op(law_positive)


@pytest.mark.parametrize("is_there", [False, True])
def test_a_law_that_cannot_be_tried_says_so(
    cubed: Any, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, is_there: bool
) -> None:
    monkeypatch.setattr("opdsl.backends.cuda.devices.is_available", lambda: is_there)
    monkeypatch.setattr("opdsl.testing.laws.devices.disagreements", lambda subject, device: iter(()))
    assert violations_of(cubed, laws=[6]) == []
    texts = [str(warning.message) for warning in recwarn]
    assert (
        texts == []
        if is_there
        else texts == ["law 6 (CUDA agrees with the CPU) has not been tried: there is no CUDA device"]
    )


def test_a_right_derivative(cubed: Any) -> None:
    @cubed.derivative("self")
    def cubed_derivative(grad, self):
        return grad * self * self * 3

    check_op(cubed)


def test_a_wrong_derivative(cubed: Any) -> None:
    @cubed.derivative("self")
    def cubed_derivative(grad, self):
        return grad * self * self * 2

    violations = violations_of(cubed)
    assert {violation.law for violation in violations} == {5}
    assert "with respect to self" in str(violations[0])


def test_a_derivative_that_has_no_second_one(cubed: Any) -> None:
    @cubed.derivative("self")
    def cubed_derivative(grad, self):
        return grad * (self * self * 3).detach()

    assert laws(cubed) == {5}


def test_a_derivative_that_forgets_the_conjugate(cubed: Any) -> None:
    @cubed.derivative("self")
    def cubed_derivative(grad, self):
        return grad * self * self * 3

    assert laws(cubed, dtypes=[opdsl.float64]) == set()
    assert laws(cubed, dtypes=[opdsl.complex64]) == {5}


def test_a_derivative_that_is_not_linear(cubed: Any) -> None:
    @cubed.derivative("self")
    def cubed_derivative(grad, self):
        return grad * grad * self * self * 3

    assert laws(cubed) == {5}


def test_a_derivative_that_depends_on_the_requested_gradients(library: Library) -> None:
    @library.op
    def law_product(self: Tensor, other: Tensor) -> Tensor: ...

    @law_product.kernel("CPU", "Meta")
    def law_product_kernel(self, other):
        return self * other

    @law_product.derivative("self", "other")
    def law_product_derivative(grad, self, other, output_mask):
        return grad * other, grad * self * (1 if all(output_mask) else 2)

    make = Maker(opdsl.float32)
    violations = violations_of(law_product, [Sample(make(3), make(3))])
    assert {violation.law for violation in violations} == {5}
    assert "other gets another gradient where it alone requires grad" in str(violations[0])


def test_an_undefined_gradient_that_is_no_zero(library: Library) -> None:
    @library.op
    def law_both(self: Tensor) -> tuple[Tensor, Tensor]: ...

    @law_both.kernel("CPU", "Meta")
    def law_both_kernel(self):
        return self * 2, self * 3

    seen: list[int] = []

    @law_both.derivative("self")
    def law_both_derivative(grads):
        seen.append(len(grads))
        return grads[0] * 2 + grads[1] * 3

    assert laws(law_both) == set()
    assert set(seen) == {2}


def test_a_random_operator_that_keeps_its_mask(library: Library) -> None:
    @library.op(tags="nondeterministic_seeded")
    def law_dropout(self: Tensor) -> Tensor:
        return self * opdsl.bernoulli(opdsl.full_like(self, 0.5))

    check_op(law_dropout)


def test_random_numbers_go_on_as_they_did(cubed: Any) -> None:
    opdsl.manual_seed(7)
    expected = opdsl.rand(3).tolist()
    opdsl.manual_seed(7)
    violations_of(cubed)
    assert opdsl.rand(3).tolist() == expected


def test_a_body_that_reads_elements(library: Library) -> None:
    @library.op
    def reads(self: Tensor) -> Tensor:
        return self * float(self.sum().item())

    assert 9 in laws(reads)


def test_a_body_that_writes_into_an_output(library: Library) -> None:
    @library.op
    def fills(self: Tensor) -> Tensor:
        return opdsl.add(self, 1, out=opdsl.empty(self.shape, dtype=self.dtype, device=self.device))

    assert 9 in laws(fills)


def test_a_body_that_changes_metadata(library: Library) -> None:
    @library.op
    def turns(self: Tensor) -> Tensor:
        return self.clone().t_()

    assert 9 in laws(turns)


def test_a_body_that_copies_is_warned(library: Library) -> None:
    @library.op
    def copies(self: Tensor) -> Tensor:
        return opdsl.zeros(self.shape, dtype=self.dtype, device=self.device).copy_(self)

    with pytest.warns(UserWarning, match="copy_"):
        check_op(copies)


def formula_faults(formula: Any, library: Library) -> list[str]:
    """Return the violations of law 9 by a formula for the gradient of a sum."""

    @library.op
    def law_sum(self: Tensor) -> Tensor: ...

    @law_sum.kernel("CPU", "Meta")
    def law_sum_kernel(self):
        return self.sum()

    law_sum.derivative("self")(formula)
    return [str(violation) for violation in violations_of(law_sum, laws=[9])]


def test_a_formula_that_calls_operators(library: Library) -> None:
    def formula(grad, self):
        return grad.expand(self.shape)

    assert formula_faults(formula, library) == []


def test_a_formula_that_reads_elements(library: Library) -> None:
    def formula(grad, self):
        return opdsl.full_like(self, float(grad.item()))

    assert "the derivative formula reads elements with Tensor.item" in formula_faults(formula, library)[0]


def test_a_formula_that_reads_elements_in_one_mode_only(library: Library) -> None:
    def formula(grad, self):
        if not opdsl.is_grad_enabled() and bool(grad == 0):
            return opdsl.zeros_like(self)
        return grad.expand(self.shape)

    assert "reads elements with Tensor.__bool__" in formula_faults(formula, library)[0]


def test_a_formula_that_writes_into_an_output(library: Library) -> None:
    def formula(grad, self):
        return opdsl.mul(self, 0, out=opdsl.empty_like(self)) + grad

    assert "the derivative formula calls aten::mul.out" in formula_faults(formula, library)[0]


def test_a_formula_that_resizes(library: Library) -> None:
    def formula(grad, self):
        return opdsl.empty(0).resize_(self.shape).fill_(0) + grad

    assert "the derivative formula calls aten::resize_" in formula_faults(formula, library)[0]


def test_a_formula_that_changes_metadata(library: Library) -> None:
    def formula(grad, self):
        return (grad + opdsl.zeros_like(self)).unsqueeze_(0).squeeze(0)

    assert (
        "the derivative formula calls aten::unsqueeze_, which changes metadata" in formula_faults(formula, library)[0]
    )


def test_a_formula_that_copies_is_warned(library: Library) -> None:
    def formula(grad, self):
        return opdsl.zeros_like(self).copy_(grad)

    with pytest.warns(UserWarning, match="the derivative formula calls copy_"):
        assert formula_faults(formula, library) == []


def test_an_out_variant_that_ignores_its_output_is_found(library: Library) -> None:
    @library.op
    def careless(self: Tensor) -> Tensor: ...

    @careless.kernel("CPU", "Meta")
    def careless_kernel(self):
        return self + 1

    @careless.out_variant()
    def careless_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @careless_out.kernel("CPU", "Meta")
    def careless_out_kernel(self, out):
        return out

    assert {2, 10} <= laws(careless)


def test_an_error_that_is_not_ours(library: Library) -> None:
    @library.op
    def fragile(self: Tensor) -> Tensor: ...

    @fragile.kernel("CPU", "Meta")
    def fragile_kernel(self):
        return self + 1

    @fragile.out_variant(device_check="NoCheck")
    def fragile_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @fragile_out.kernel("CPU", "Meta")
    def fragile_out_kernel(self, out):
        if out.is_meta is not self.is_meta:
            raise ValueError("elsewhere")
        return copy_(out, self + 1)

    violations = violations_of(fragile, laws=[10])
    assert [violation.law for violation in violations] == [10]
    assert "ValueError is no error of opdsl's" in str(violations[0])


def test_a_kernel_that_reads_out_of_bounds(library: Library) -> None:
    """Law 10 finds a kernel that reads the first element of an empty array, though the sample itself is not empty."""

    @library.op
    def doubled_first(self: Tensor) -> Tensor: ...

    @doubled_first.meta
    def doubled_first_meta(ctx, self):
        ctx.set_output(0, (1,), like=self)

    @doubled_first.out_kernel("CPU")
    def doubled_first_cpu(self: Array, out: Array) -> None:
        out[0] = 2 * self[0]

    violations = violations_of(doubled_first, [Sample(opdsl.ones(7))], laws=[10])
    assert len(violations) == 1
    assert "(float32[7]) with 0 for the size 7" in str(violations[0])
    assert "Segmentation fault" in str(violations[0])

    @library.op
    def first_or_nothing(self: Tensor) -> Tensor: ...

    first_or_nothing.meta(doubled_first_meta)

    @first_or_nothing.out_kernel("CPU")
    def first_or_nothing_cpu(self: Array, out: Array) -> None:
        out[0] = self[0] if self.shape[0] > 0 else 0

    assert violations_of(first_or_nothing, [Sample(opdsl.ones(7))], laws=[10]) == []


def test_the_message_names_operator_law_and_sample(library: Library) -> None:
    @library.op
    def alias(self: Tensor) -> Tensor: ...

    @alias.kernel("CPU", "Meta")
    def alias_kernel(self):
        return self

    with pytest.raises(LawError) as caught:
        check_op(alias)
    assert "law_tests::alias breaks the laws" in str(caught.value)
    assert "law 4 (kernels write and alias exactly the tensors that the schema declares)" in str(caught.value)
    assert "(float32[3, 4])" in str(caught.value)


def test_samples_that_do_not_fit(library: Library) -> None:
    @library.op
    def particular(self: Tensor) -> Tensor: ...

    @particular.kernel("CPU", "Meta")
    def particular_kernel(self):
        opdsl.check(self.ndim == 7, "expected seven dimensions", got=self.ndim)
        return self.clone()

    with pytest.raises(OptionError, match=r"expected seven dimensions.*samples=\[opdsl.testing.Sample"):
        check_op(particular)


def test_every_reason_why_samples_do_not_fit_is_told(library: Library) -> None:
    @library.op
    def demanding(self: Tensor) -> Tensor: ...

    @demanding.kernel("CPU", "Meta")
    def demanding_kernel(self):
        opdsl.check(self.ndim == 3, "expected three dimensions", got=self.ndim)
        opdsl.check(self.numel() == 0, "expected no elements", got=self.numel())
        return self.clone()

    with pytest.raises(OptionError, match=r"expected three dimensions.*expected no elements"):
        check_op(demanding)


@pytest.mark.parametrize("size, broken", [(0, set()), (3, {4})])
def test_what_has_no_elements_need_not_be_written(library: Library, size: int, broken: set[int]) -> None:
    @library.op
    def no_write_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @no_write_.kernel("CPU", "Meta")
    def no_write_kernel(self):
        return self

    assert laws(no_write_, samples=[Sample(Maker(opdsl.float32)(size))], laws=[4]) == broken


@pytest.mark.parametrize("dtype", [opdsl.int8, opdsl.bool, opdsl.bfloat16], ids=str)
def test_divisors_are_not_zero(dtype: opdsl.DType) -> None:
    values = Maker(dtype).nonzero(100)
    assert values.dtype is dtype and 0 not in values.tolist()


def test_what_is_no_operator() -> None:
    with pytest.raises(DeclarationError, match="@op"):
        check_op(print)


def test_samples_are_the_same_each_time() -> None:
    operator = opdsl.ops.aten.mm.default.operator
    one, two = (next(iter(samples_of(operator))).tensors()[0].tolist() for _ in range(2))
    assert one == two


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(OptionError, match=r"holds the arguments of a call, but got Tensor"):
        check_op(opdsl.exp, [opdsl.ones(2)])


def test_a_law_that_is_not_there_is_refused() -> None:
    with pytest.raises(OptionError, match=r"there is no law 99"):
        check_op(opdsl.exp, laws=[99])


def test_a_body_may_make_tensors_of_lists(library: Library) -> None:
    @library.op
    @opdsl.traceable
    def shifted(x: Tensor) -> Tensor:
        return x + x.new_tensor([1.0, 2.0])

    check_op(shifted, [Sample(opdsl.tensor([1.0, 2.0]))])
