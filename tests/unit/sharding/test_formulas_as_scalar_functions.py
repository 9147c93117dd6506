"""Tests that formulas have the sharding rules of scalar functions with the same mathematics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Scalar, Tensor, formula, primitives
from opdsl.dispatch.binding.boxed import unbox
from opdsl.sharding.composites import ByItsCalls
from opdsl.sharding.operators import rule_of
from opdsl.sharding.rules import possible_cuts
from opdsl.testing import Sample, violations_of

OF_PIECES = 12

X, Y = opdsl.arange(12.0).reshape(3, 4) - 5.5, opdsl.arange(4.0) + 0.5


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("formula_cutting") as own:
        yield own


# ---------------------------------------------------------------------------------------- the same mathematics, twice


def sigmoid(self: Tensor) -> Tensor:
    return 1.0 / (1.0 + opdsl.exp(-self))


def sigmoid_of_products(self: Tensor) -> Tensor:
    return 1.0 / (1.0 + opdsl.exp(-1.0 * self))


def sigmoid_of_one(self: Tensor) -> Tensor:
    return opdsl.sigmoid(self)


def relu(self: Tensor) -> Tensor:
    return opdsl.clamp_min(self, 0)


def clamped(self: Tensor) -> Tensor:
    return opdsl.clamp(self, -1.0, 1.0)


def hard_sigmoid(self: Tensor) -> Tensor:
    return opdsl.clamp(self + 3.0, 0.0, 6.0) / 6.0


def square(self: Tensor) -> Tensor:
    return self * self


def silu(self: Tensor) -> Tensor:
    return self / (1.0 + opdsl.exp(-self))


def floored(self: Tensor) -> Tensor:
    return opdsl.exp(opdsl.floor(self))


def half_angle(self: Tensor) -> Tensor:
    return opdsl.tanh(0.5 * self) - 1.0


def magnitude(self: Tensor) -> Tensor:
    return abs(self)


def threefold(self: Tensor) -> Tensor:
    return -(self * 3.0) / 2.0


def celu(self: Tensor, number: Scalar) -> Tensor:
    return opdsl.expm1(self * (1.0 / number)) * number if self <= 0 else self


def celu_below(self: Tensor, number: Scalar) -> Tensor:
    return opdsl.expm1(self * (1.0 / number)) * number


def quotient_of_number(self: Tensor, number: Scalar) -> Tensor:
    return self * (1.0 / number)


def affine(self: Tensor, number: Scalar) -> Tensor:
    return self * number + 1.0


def exponential(self: Tensor, number: Scalar) -> Tensor:
    return opdsl.exp(self * number) - number


def difference(self: Tensor, other: Tensor) -> Tensor:
    return 2.0 * self - other


def product(self: Tensor, other: Tensor) -> Tensor:
    return self * other


def quotient(self: Tensor, other: Tensor) -> Tensor:
    return self / other


def larger(self: Tensor, other: Tensor) -> Tensor:
    return opdsl.maximum(self, other)


def smaller(self: Tensor, other: Tensor) -> Tensor:
    return opdsl.minimum(self, other) * -1.0


def between(self: Tensor, other: Tensor) -> Tensor:
    return self + 0.25 * (other - self)


def chosen(self: Tensor, other: Tensor) -> Tensor:
    return opdsl.where(other > 1.0, self, 0.0)


def choice(self: Tensor, other: Tensor) -> Tensor:
    return self * 2.0 if other > 1.0 else self * 3.0


UNARY: dict[Callable[..., Any], Callable[..., Any]] = {
    sigmoid: lambda x: 1.0 / (1.0 + math.exp(-x)),
    sigmoid_of_products: lambda x: 1.0 / (1.0 + math.exp(-x)),
    sigmoid_of_one: lambda x: 1.0 / (1.0 + math.exp(-x)),
    relu: lambda x: max(x, 0),
    clamped: lambda x: min(max(x, -1.0), 1.0),
    hard_sigmoid: lambda x: min(max(x + 3.0, 0.0), 6.0) / 6.0,
    square: lambda x: x * x,
    silu: lambda x: x / (1.0 + math.exp(-x)),
    floored: lambda x: math.exp(math.floor(x)),
    half_angle: lambda x: math.tanh(0.5 * x) - 1.0,
    magnitude: lambda x: abs(x),
    threefold: lambda x: -(x * 3.0) / 2.0,
}
OF_NUMBERS: dict[Callable[..., Any], Callable[..., Any]] = {
    celu: lambda x, a: math.expm1(x * (1.0 / a)) * a if x <= 0 else x,
    celu_below: lambda x, a: math.expm1(x * (1.0 / a)) * a,
    quotient_of_number: lambda x, a: x * (1.0 / a),
    affine: lambda x, a: x * a + 1.0,
    exponential: lambda x, a: math.exp(x * a) - a,
}
BINARY: dict[Callable[..., Any], Callable[..., Any]] = {
    difference: lambda x, y: 2.0 * x - y,
    product: lambda x, y: x * y,
    quotient: lambda x, y: x / y,
    larger: lambda x, y: max(x, y),
    smaller: lambda x, y: min(x, y) * -1.0,
    between: lambda x, y: x + 0.25 * (y - x),
    chosen: lambda x, y: x if y > 1.0 else 0.0,
    choice: lambda x, y: x * 2.0 if y > 1.0 else x * 3.0,
}
CASES = [
    *((function, (X,)) for function in UNARY),
    *((function, (X, number)) for function in OF_NUMBERS for number in (2.0, -0.5)),
    *((function, inputs) for function in BINARY for inputs in ((X, Y), (X.to(opdsl.float16), Y.to(opdsl.float16)))),
]


def scalar_operator(lib: Library, text: Callable[..., Any]) -> Any:
    """Declare an operator of the scalar function with the same mathematics as a formula."""
    name = f"{text.__name__}_of_scalars"
    loop = primitives.elements({**UNARY, **OF_NUMBERS, **BINARY}[text])
    if text in UNARY:

        @lib.op(name)
        @formula
        def unary(self: Tensor) -> Tensor:
            return loop(self)

        return unary
    if text in OF_NUMBERS:

        @lib.op(name)
        @formula
        def of_number(self: Tensor, number: Scalar) -> Tensor:
            return loop(self, number)

        return of_number

    @lib.op(name)
    @formula
    def binary(self: Tensor, other: Tensor) -> Tensor:
        return loop(self, other)

    return binary


def answers(function: Any, inputs: tuple[Any, ...]) -> tuple[str, list[str], set[str]]:
    rule, arguments = function.sharding(), unbox(function.operator, inputs, {})
    pending = {f"{passage.inputs} -> {passage.outputs}" for passage in rule.pending(arguments)}
    return str(rule), [str(possible_cut) for possible_cut in possible_cuts(rule, arguments)], pending


@pytest.mark.parametrize(("text", "inputs"), CASES, ids=lambda parameter: getattr(parameter, "__name__", ""))
def test_a_formula_is_cut_as_its_scalar_function(lib: Library, text: Any, inputs: tuple[Any, ...]) -> None:
    assert answers(lib.op(formula(text)), inputs) == answers(scalar_operator(lib, text), inputs)


@pytest.mark.parametrize(
    ("text", "inputs", "expected"),
    [
        (sigmoid, (X,), {"max -> max", "min -> min"}),
        (celu_below, (X, 2.0), {"max -> max", "min -> min"}),
        (quotient_of_number, (X, -2.0), {"sum -> sum", "avg -> avg", "max -> min", "min -> max"}),
        (affine, (X, -2.0), {"avg -> avg", "max -> min", "min -> max"}),
    ],
    ids=lambda parameter: getattr(parameter, "__name__", ""),
)
def test_what_goes_through_a_formula_uncombined(lib: Library, text: Any, inputs: Any, expected: set[str]) -> None:
    function = lib.op(formula(text))
    pending = function.sharding().pending(unbox(function.operator, inputs, {}))
    assert {f"{passage.inputs[0]} -> {passage.outputs[0]}" for passage in pending} == expected
    assert violations_of(function, [Sample(*inputs)], laws=[OF_PIECES]) == []


def test_a_formula_that_computes_with_sizes_is_cut_along_the_others(lib: Library) -> None:
    @lib.op
    @formula
    def share(self: Tensor) -> Tensor:
        return self / self.shape[-1]

    @lib.op
    @formula
    def share_of_vectors(self: Tensor) -> Tensor:
        return self / self.shape[0] if self.ndim == 1 else self * 2.0

    assert isinstance(rule_of(share.operator), ByItsCalls)
    assert answers(share, (X,))[1] == ["(0) -> (0)"]
    assert answers(share_of_vectors, (X,))[1] == ["(0) -> (0)", "(1) -> (1)"]
    assert answers(share_of_vectors, (Y,))[1] == []
    samples = [Sample(X), Sample(Y)]
    assert violations_of(share, samples, laws=[OF_PIECES]) == []
    assert violations_of(share_of_vectors, samples, laws=[OF_PIECES]) == []


# ------------------------------------------------------------------------------------------------- formulas that fold


def sum_of_squares(self: Tensor, dim: int) -> Tensor:
    return (self * self).sum(dim)


def mean_of_halves(self: Tensor, dim: int) -> Tensor:
    return (self * 0.5).mean(dim, keepdim=True) + 1.0


def largest_sigmoid(self: Tensor, dim: int) -> Tensor:
    return opdsl.sigmoid(self).amax(dim)


def negated_least(self: Tensor, dim: int) -> Tensor:
    return -self.amin(dim)


def product_of_halves(self: Tensor, dim: int) -> Tensor:
    return (self * 0.5).prod(dim)


def deviation(self: Tensor, dim: int) -> Tensor:
    return (self - self.mean(dim, keepdim=True)).square().mean(dim).sqrt()


def root_of_squares(self: Tensor, dim: int) -> Tensor:
    return (self * self).sum(dim).sqrt()


KEPT, FOLDED = "(1) -> (0)", "(0) -> (whole), combined"
FOLDS: dict[Callable[..., Any], tuple[list[str], set[str]]] = {
    sum_of_squares: ([KEPT, FOLDED], set()),
    mean_of_halves: (["(1) -> (1)", FOLDED], {"avg -> avg"}),
    largest_sigmoid: ([KEPT, FOLDED], {"max -> max"}),
    negated_least: ([KEPT, FOLDED], {"min -> max"}),
    product_of_halves: ([KEPT, FOLDED], set()),
    deviation: ([KEPT], set()),
    root_of_squares: ([KEPT], set()),
}


@pytest.mark.parametrize("text", FOLDS, ids=lambda function: function.__name__)
def test_what_a_formula_folds_is_left_to_combine(lib: Library, text: Any) -> None:
    function = lib.op(formula(text))
    expected, uncombined = FOLDS[text]
    _, actual, _ = answers(function, (X, 0))
    pending = function.sharding().pending(unbox(function.operator, (X, 0), {}))
    assert sorted(actual) == sorted(expected)
    assert {f"{passage.inputs[0]} -> {passage.outputs[0]}" for passage in pending} == uncombined
    assert violations_of(function, [Sample(X, 0), Sample(X, 1), Sample(X * 0.1, 0)], laws=[OF_PIECES]) == []


def test_a_contraction_is_cut_as_a_product(lib: Library) -> None:
    @lib.op
    @formula
    def contraction(self: Tensor, other: Tensor) -> Tensor:
        i, j, k = opdsl.dims(3)
        return (self[i, k] * other[k, j]).sum(k).order(i, j)

    inputs = X, opdsl.arange(20.0).reshape(4, 5)
    _, actual, pending = answers(contraction, inputs)
    _, wanted, wanted_pending = answers(opdsl.ops.aten.mm.default, inputs)
    assert sorted(actual) == sorted(cut.replace("summed", "combined") for cut in wanted)
    assert pending == wanted_pending
    assert violations_of(contraction, [Sample(*inputs)], laws=[OF_PIECES]) == []


def test_dimensions_that_a_formula_takes_away_are_not_left_to_combine(lib: Library) -> None:
    @lib.op
    @formula
    def squeezed(self: Tensor) -> Tensor:
        return self.squeeze().sum(0)

    assert answers(squeezed, (X,))[1] == []
