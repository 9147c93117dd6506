"""Tests of options of pointwise operators: dtypes, promotion by numbers, divisors, outputs, functions chosen by
numbers.
"""

# mypy: disable-error-code="empty-body, no-untyped-def"

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

import opdsl
from opdsl import Library, Scalar, Tensor, formula, primitives
from opdsl.errors import DivisionError, DTypeError, KernelSignatureError, NumberError, UnsupportedDTypeError

pytestmark = pytest.mark.usefixtures("plans_at_once")


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("options") as library:
        yield library


def test_functions_are_chosen_by_dtype(lib: Library) -> None:
    @lib.op
    def kind(self: Tensor) -> Tensor: ...

    double, other = (
        primitives.elements(function) for function in (lambda self: self * 0 + 64, lambda self: self * 0 + 1)
    )

    @kind.formula(dtypes="float64")
    def kind_double(self: Tensor) -> Tensor:
        return double(self)

    @kind.formula(dtypes=("floating", "integer"))
    def kind_other(self: Tensor) -> Tensor:
        return other(self)

    assert kind(opdsl.tensor([5.0], dtype=opdsl.float64)).tolist() == [64.0]
    assert kind(opdsl.tensor([5.0])).tolist() == [1.0]
    assert kind(opdsl.tensor([5])).tolist() == [1]
    with pytest.raises(UnsupportedDTypeError, match="not implemented for 'Bool'"):
        kind(opdsl.tensor([True]))


def test_an_unknown_dtype_is_refused(lib: Library) -> None:
    itself = primitives.elements(lambda self: self, dtypes="real")
    with pytest.raises(KernelSignatureError, match="'real' is neither a dtype nor one of bool, integer"):

        @lib.op
        @formula
        def same(self: Tensor) -> Tensor:
            return itself(self)


def test_a_promoting_number_has_to_fit(lib: Library) -> None:
    smaller = primitives.elements(lambda self, bound: min(self, bound), promoting="bound")

    @lib.op
    @formula
    def least(self: Tensor, bound: Scalar) -> Tensor:
        return smaller(self, bound)

    small = opdsl.tensor([100], dtype=opdsl.int8)
    assert least(small, 2.5).dtype is opdsl.float32
    for _ in range(2):
        assert least(small, 7).tolist() == [7]
        with pytest.raises(NumberError):
            least(small, 300)


def test_a_divisor_is_looked_at_where_it_is_an_integer(lib: Library) -> None:
    remainder = primitives.elements(lambda self, divisor: self % divisor, nonzero="divisor")

    @lib.op(inplace=True)
    @formula
    def rest(self: Tensor, divisor: Tensor) -> Tensor:
        return remainder(self, divisor)

    x, zeros = opdsl.tensor([5, 7]), opdsl.tensor([2, 0])
    for _ in range(2):
        with pytest.raises(DivisionError, match="ZeroDivisionError"):
            rest.variants["inplace"](x, zeros)
    assert x.tolist() == [5, 7]
    assert math.isnan(rest(opdsl.tensor(5.0), opdsl.tensor(0.0)).item())


def test_an_output_may_have_what_cast_says(lib: Library) -> None:
    above = primitives.elements(lambda self: self > 0, promote="bool", cast="same")
    wrong = primitives.elements(lambda self: self > 0, promote="bool", cast="none")

    @lib.op(out=True)
    @formula
    def positive(self: Tensor) -> Tensor:
        return above(self)

    with pytest.raises(DTypeError):
        positive(opdsl.tensor([1.0]), out=opdsl.empty(1))
    with pytest.raises(KernelSignatureError, match="cast='none' is none of same, safe, any"):
        positive.formula(when={"self": 1})(lambda self: wrong(self))


def test_functions_are_chosen_by_the_value_of_a_number(lib: Library) -> None:
    @lib.op
    def named(self: Tensor, number: Scalar) -> Tensor: ...

    two = primitives.elements(lambda self: self * 0 - 1)
    other = primitives.elements(lambda self, number: self * 0 + number)

    @named.formula(when={"number": 2})
    def named_two(self: Tensor) -> Tensor:
        return two(self)

    @named.formula
    def named_other(self: Tensor, number: Scalar) -> Tensor:
        return other(self, number)

    x = opdsl.tensor([1, 1])
    for _ in range(3):  # by the slow path, then by a plan for each number
        assert [named(x, number).tolist()[0] for number in (2, 3, 2, 4)] == [-1, 3, -1, 4]


def test_a_function_may_take_the_value_that_chooses_it(lib: Library) -> None:
    @lib.op
    def shifted(self: Tensor, by: Scalar | None = None) -> Tensor: ...

    sums = primitives.elements(lambda self, by: self if by is None else self + by)

    def shifted_formula(self: Tensor, by: Scalar | None) -> Tensor:
        return sums(self, by)

    shifted.formula(when={"by": None})(shifted_formula)
    shifted.formula(shifted_formula)
    assert shifted(opdsl.tensor([1])).tolist() == [1]
    assert shifted(opdsl.tensor([1]), 2).tolist() == [3]
