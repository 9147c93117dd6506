"""Tests of operators with several formulas: ``f.formula(dtypes=..., when=...)``."""

from __future__ import annotations

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import (
    ArgumentError,
    DuplicateOperatorError,
    FormulaError,
    KernelSignatureError,
    UnsupportedDTypeError,
)
from opdsl.formulas.showing import kernels_of
from opdsl.testing import gradcheck

lib = Library("formula_choices")


@lib.op(inplace=True, out=True)
@formula
def halved(self: Tensor, mode: str = "exact") -> Tensor:
    return self / 2


@halved.formula(dtypes="integer")
def halved_integer(self):
    return self >> 1


@halved.formula(dtypes="floating", when={"mode": "squared"})
def halved_squared(self: Tensor, mode: str) -> Tensor:
    return self * self / 2


@lib.op
@formula
def distance(self: Tensor, other: Tensor, p: float = 2.0) -> Tensor:
    return (self - other).abs().pow(p).sum(-1).pow(1 / p)


@distance.formula(when={"p": 1})
def manhattan(self: Tensor, other: Tensor) -> Tensor:
    return (self - other).abs().sum(-1)


@distance.formula(when={"p": 2.0})
def euclidean(self: Tensor, other: Tensor) -> Tensor:
    return (self - other).square().sum(-1).sqrt()


@lib.op
def signed_root(self: Tensor, exact: bool = False) -> Tensor: ...


@signed_root.formula(dtypes=("floating", "integer"), when={"exact": False})
def root(self: Tensor) -> Tensor:
    return opdsl.sign(self) * opdsl.sqrt(self.abs())


def test_dtypes_and_options_choose():
    x = opdsl.tensor([3.0, 4.0])
    assert halved(x).tolist() == [1.5, 2.0]
    assert halved(x, "squared").tolist() == [4.5, 8.0]
    assert halved(opdsl.tensor([7, -7])).tolist() == [3, -4]
    assert halved(opdsl.tensor([7]), "squared").tolist() == [3]
    assert halved(opdsl.tensor([True])).tolist() == [0.5]
    assert halved(x.double(), "squared", out=opdsl.empty(0, dtype=opdsl.float64)).tolist() == [4.5, 8.0]
    assert halved.variants["inplace"](opdsl.tensor([7])).tolist() == [3]
    assert halved.meta(opdsl.empty(2, dtype=opdsl.int64)).dtype is opdsl.int64


@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_numbers_choose_in_calls_gradients_and_programs(p, rows):
    random = np.random.default_rng(0)
    a, b = random.normal(size=(rows, 4)), random.normal(size=(4,))
    wanted = (abs(a - b) ** p).sum(-1) ** (1 / p)
    x, y = opdsl.from_numpy(a).requires_grad_(), opdsl.from_numpy(b).requires_grad_()
    assert np.allclose(distance(x, y, p).detach().numpy(), wanted, rtol=1e-14)
    compiled = opdsl.compile(lambda x, y: distance(x, y, p) * 2)
    for _ in range(3):
        assert np.allclose(compiled(x, y).detach().numpy(), 2 * wanted, rtol=1e-14)
    if rows:
        assert gradcheck(lambda x, y: distance(x, y, p), (x, y))
    assert np.allclose(
        opdsl.vmap(lambda x: distance(x, y.detach(), p))(opdsl.from_numpy(np.stack([a, a]))).numpy(), wanted
    )


def test_derivatives_are_those_of_the_chosen_text():
    x = opdsl.tensor([3.0], requires_grad=True)
    for mode, first, second in (("exact", 0.5, None), ("squared", 3.0, 1.0)):
        (gradient,) = opdsl.autograd.grad(halved(x, mode).sum(), [x], create_graph=True)
        assert gradient.tolist() == [first]
        if second is not None:
            assert opdsl.autograd.grad(gradient.sum(), [x])[0].tolist() == [second]
    assert opdsl.autograd.functional.jvp(lambda x: halved(x, "squared"), (x.detach(),), (opdsl.ones(1),))[
        1
    ].tolist() == [3]


def test_a_formula_that_calls_it_is_one_kernel_of_the_chosen_text():
    with Library("formula_choices_outer") as local:

        @local.op
        @formula
        def outer(self: Tensor) -> Tensor:
            return halved(self, "squared") + 1

        assert outer(opdsl.tensor([2.0])).tolist() == [3.0]
        assert outer(opdsl.tensor([6])).tolist() == [4]
        assert {title.rpartition(": ")[2] for title, _ in kernels_of(outer.operator)} == {"1 kernel"}


def test_show_says_which_text_is_used():
    halved(opdsl.tensor([1.0]), "squared")
    halved(opdsl.tensor([1]))
    texts = dict(kernels_of(halved.operator))
    assert "def halved_squared" in texts["self: float32[*], mode: 'squared': 1 kernel"]
    assert "def halved_integer" in next(text for title, text in texts.items() if "self: int64[*]" in title)


def test_what_no_formula_is_for_is_an_error():
    assert np.allclose(signed_root(opdsl.tensor([-4.0, 9.0])).numpy(), [-2, 3])
    with pytest.raises(UnsupportedDTypeError, match=r"'ComplexFloat' .*root \(dtypes floating, integer, exact=False\)"):
        signed_root(opdsl.ones(1, dtype=opdsl.complex64))
    with pytest.raises(ArgumentError, match=r"no formula supports exact=True. Available: root"):
        signed_root(opdsl.ones(1), True)


def test_a_body_with_dtypes_of_its_own_leaves_the_others():
    with Library("formula_choices_local") as local:

        @local.op
        @formula(dtypes="floating")
        def f(self: Tensor) -> Tensor:
            return self * 0.5

        @f.formula(dtypes="integer")
        def f_integer(self: Tensor) -> Tensor:
            return self // 2

        assert (f(opdsl.tensor([3.0])).item(), f(opdsl.tensor([3])).item()) == (1.5, 1)
        with pytest.raises(UnsupportedDTypeError, match=r"f_integer \(dtypes integer\); the body \(dtypes floating\)"):
            f(opdsl.tensor([True]))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"dtypes": "int32"}, DuplicateOperatorError, r"same arguments: other \(dtypes int32\) and halved_integer"),
        ({"dtypes": "floating", "when": {"mode": "squared"}}, DuplicateOperatorError, "and halved_squared"),
        ({}, DuplicateOperatorError, r"other \(all arguments\) and halved_integer"),
        ({"when": {"mode": 3}}, KernelSignatureError, "'mode' is never 3. It is a quoted string"),
        ({"when": {"kind": "a"}}, KernelSignatureError, "'kind' is no argument. Name one of self, mode"),
        ({"when": {"mode": ("a",)}}, KernelSignatureError, "is no bool, number, text or None"),
        ({"dtypes": "whole"}, KernelSignatureError, "'whole' is neither a dtype nor one of bool"),
        ({"kept": 1}, KernelSignatureError, "has no option 'kept'. It takes dtypes, when"),
    ],
)
def test_mistakes_are_refused_where_they_stand(options, error, message):
    def other(self: Tensor) -> Tensor:
        return self

    with pytest.raises(error, match=message):
        halved.formula(**options)(other)
    assert halved(opdsl.tensor([7])).tolist() == [3]


def test_what_does_not_stand_beside_formulas_is_refused():
    with Library("formula_choices_mistakes") as local:

        @local.op
        def body(self: Tensor) -> Tensor:
            return self + 1

        with pytest.raises(
            DuplicateOperatorError, match=r"Write @formula above the body, or replace the body by `\.\.\.`"
        ):
            body.formula(lambda self: self)

        @local.op
        def scalar(self: Tensor) -> Tensor: ...

        loop = primitives.elements(lambda x: x + 1)
        scalar.formula(lambda self: loop(self))
        with pytest.raises(
            DuplicateOperatorError, match=r"@scalar.formula cannot be combined with primitives.elements"
        ):
            scalar.formula(lambda self: self)

        @local.op
        @formula(dtypes="floating")
        def shadowed(self: Tensor) -> Tensor:
            return self * 2

        with pytest.raises(DuplicateOperatorError, match="would never be used"):
            shadowed.formula(dtypes=("floating", "complex"))(lambda self: self)
        with pytest.raises(KernelSignatureError, match="'other' is no parameter of the operator"):
            shadowed.formula(dtypes="integer")(lambda other: other)
        with pytest.raises(FormulaError, match="elements are read"):
            shadowed.formula(dtypes="integer")(lambda self: self * self.item())
        with pytest.raises(UnsupportedDTypeError):
            shadowed(opdsl.tensor([1]))
        assert shadowed(opdsl.tensor([1.0])).tolist() == [2.0]


def test_a_case_that_folds_makes_a_program_of_an_operator_of_elements_after_calls():
    with Library("formula_choices_folding") as local:

        @local.op(inplace=True, out=True)
        @formula
        def f(self: Tensor) -> Tensor:
            return self + 1

        x = opdsl.tensor([1.0, 2.0], requires_grad=True)
        for _ in range(3):
            assert f(x).tolist() == [2.0, 3.0]
        assert f.tags == ("pointwise",)

        @f.formula(dtypes="float64")
        def f_folding(self: Tensor) -> Tensor:
            return self + self.sum()

        assert f.tags == ()
        for _ in range(3):
            assert f(x).tolist() == [2.0, 3.0]
            y = opdsl.tensor([1.0, 2.0], dtype=opdsl.float64, requires_grad=True)
            f(y).sum().backward()
            assert (f(y).tolist(), y.grad.tolist()) == ([4.0, 5.0], [3.0, 3.0])
