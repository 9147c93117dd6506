"""Tests of overloads that accept a number in place of a tensor, with all variants and formulas of the tensor's
operator.
"""

from __future__ import annotations

import pytest

import opdsl
from opdsl import Library, Out, Tensor, errors
from opdsl.testing import Sample, check_op

X = opdsl.tensor([2.0, 3.0])


@pytest.fixture
def lib():
    with Library("numbered") as library:
        yield library


def declared(lib):
    @lib.op("scaled.Tensor", inplace=True, out=True)
    def scaled(self: Tensor, other: Tensor, *, power: int = 1) -> Tensor:
        """``self * other ** power``"""
        ...

    @scaled.meta(reads_numbers=False)
    def scaled_meta(ctx, power):
        opdsl.check(power > 0, "expected a positive power", got=power)

    scaled.formula(dtypes="integer")(lambda self, other, power: self * other)
    scaled.formula(dtypes="floating")(lambda self, other, power: self * other**power)
    return scaled


def test_it_computes_as_the_operator_does(lib):
    scaled = declared(lib)
    number = scaled.number_overload("other", inplace=True, out=Out("scaled.Scalar_out"))
    first = scaled.number_overload("self", "Scalar_self")
    assert str(number.schema) == "numbered::scaled.Scalar(Tensor self, Scalar other, *, int power=1) -> Tensor"
    assert [scaled(X, 3, power=2).tolist() for _ in range(3)] == [[18.0, 27.0]] * 3
    assert first(3, X, power=2).tolist() == [12.0, 27.0]
    assert scaled(opdsl.tensor([2]), 3, power=2).tolist() == [6]
    assert scaled(opdsl.tensor([2]), 1.5).dtype is opdsl.float32
    with pytest.raises(errors.OpdslError, match="expected a positive power"):
        number(X, 3, power=0)
    check_op(number, [Sample(X, 3.0, power=2), Sample(X, 2)])


def test_formulas_are_shared_where_there_is_a_tensor(lib):
    scaled = declared(lib)
    scaled.derivative(self=lambda grad: grad * 100, other=lambda grad: grad * 1000)
    number = scaled.number_overload("other")
    x = opdsl.tensor([1.0], requires_grad=True)
    assert opdsl.autograd.grad([number(x, 2.0)], [x])[0].tolist() == [100.0]


def test_what_does_not_fit_is_refused(lib):
    scaled = declared(lib)
    with pytest.raises(errors.KernelSignatureError, match="'power' is none of its tensors, self, other"):
        scaled.number_overload("power")

    @lib.op
    def plain(self: Tensor, other: Tensor) -> Tensor:
        return self + other

    with pytest.raises(errors.KernelSignatureError, match="Write @formula above the body"):
        plain.number_overload("other")
    assert [operator for operator in lib.registry.operators if operator.startswith("numbered::plain")] == [
        "numbered::plain"
    ]


def test_formulas_are_shared_for_their_dtypes(lib):
    @lib.op("mixed.Tensor")
    def mixed(self: Tensor, other: Tensor) -> Tensor: ...

    @mixed.formula(dtypes="integer")
    def of_integers(self, other):
        return self * other

    @mixed.formula(dtypes="floating")
    def of_floats(self, other):
        return self if self > other else self**other

    mixed.number_overload("other")
    assert mixed(opdsl.tensor([2]), 3).tolist() == [6]
    assert mixed(X, 3.0).tolist() == [8.0, 27.0]
    assert mixed(X, 2.5).tolist() == pytest.approx([2.0**2.5, 3.0])
