"""Tests of ``opdsl.debug``: scalar functions and formulas print with positions, while kernels print nothing."""

from __future__ import annotations

import math

import pytest

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import ScalarFunctionError

lib = Library("printing_here")


def grown_scalar(x, rate):
    z = rate * x
    if z > 1:
        print("big", z, 1 / (x - x))
    return math.exp(z)


GROWN = primitives.elements(grown_scalar, promote="int_to_float")


@lib.op(inplace=True, out=True)
@formula
def grown_with_prints(self: Tensor, rate: float = 1.0) -> Tensor:
    return GROWN(self, rate)


@lib.op
@formula
def scaled_with_prints(self: Tensor, other: Tensor) -> Tensor:
    z = opdsl.exp(self) * other
    if z > 3:
        print("z", z, sep="=")
    return z


@lib.op
@formula
def softmax_with_prints(self: Tensor) -> Tensor:
    largest = opdsl.amax(self, -1, keepdim=True)
    print("largest", largest)
    e = opdsl.exp(self - largest)
    return e / e.sum(-1, keepdim=True)


@lib.op
def calls_what_prints(self: Tensor) -> Tensor:
    return grown_with_prints(self, 2.0) + 1


X = opdsl.tensor([[0.5, 2.0], [1.0, 3.0]])


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_kernels_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert grown_with_prints(X).allclose(opdsl.exp(X))
    assert scaled_with_prints(X, X).allclose(opdsl.exp(X) * X)
    assert softmax_with_prints(X).allclose(opdsl.softmax(X, -1))
    assert lines(capsys) == []


def test_a_scalar_function_prints_where_its_branch_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    with opdsl.debug():
        result = grown_with_prints(X)
    # Division by zero has the same result as in a kernel.
    assert lines(capsys) == [
        "printing_here::grown_with_prints[0, 1]: big 2.0 inf",
        "printing_here::grown_with_prints[1, 1]: big 3.0 inf",
    ]
    assert result.allclose(opdsl.exp(X))


def test_numbers_and_names_are_those_of_the_call(capsys: pytest.CaptureFixture[str]) -> None:
    with opdsl.debug():
        grown_with_prints(opdsl.tensor([1, 0]), rate=4.0)
    assert lines(capsys) == ["printing_here::grown_with_prints[0]: big 4.0 inf"]


def test_variants_print_before_they_write(capsys: pytest.CaptureFixture[str]) -> None:
    x, out = opdsl.tensor([2.0]), opdsl.empty(1)
    with opdsl.debug():
        grown_with_prints(x, out=out)
        x.copy_(x)
        grown_with_prints.variants["inplace"](x)
    assert [line.partition("[")[2] for line in lines(capsys)] == ["0]: big 2.0 inf", "0]: big 2.0 inf"]
    assert x.allclose(out) and out.item() == pytest.approx(math.exp(2), rel=1e-6)


def test_a_formula_of_elements_prints_with_the_position_of_what_is_broadcast(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with opdsl.debug():
        scaled_with_prints(opdsl.zeros(2, 1), opdsl.tensor([1.0, 4.0]))
    assert lines(capsys) == [
        "printing_here::scaled_with_prints[0, 1]: z=4.0",
        "printing_here::scaled_with_prints[1, 1]: z=4.0",
    ]


def test_a_formula_that_folds_prints_each_element_of_a_tensor(capsys: pytest.CaptureFixture[str]) -> None:
    with opdsl.debug():
        softmax_with_prints(X)
    assert lines(capsys) == [
        "printing_here::softmax_with_prints[0, 0]: largest 2.0",
        "printing_here::softmax_with_prints[1, 0]: largest 3.0",
    ]


def test_what_a_body_calls_prints(capsys: pytest.CaptureFixture[str]) -> None:
    with opdsl.debug():
        calls_what_prints(opdsl.tensor([2.0]))
    assert lines(capsys) == ["printing_here::grown_with_prints[0]: big 4.0 inf"]


def test_gradients_are_what_they_are_without(capsys: pytest.CaptureFixture[str]) -> None:
    x = X.clone().requires_grad_()
    with opdsl.debug():
        scaled_with_prints(x, X).sum().backward()
    assert x.grad is not None and x.grad.allclose(opdsl.exp(X) * X)


def test_printing_ends_with_the_scope(capsys: pytest.CaptureFixture[str]) -> None:
    @opdsl.debug()
    def within() -> None:
        grown_with_prints(opdsl.tensor([2.0]))

    within()
    grown_with_prints(opdsl.tensor([2.0]))
    assert len(lines(capsys)) == 1


def test_a_name_of_ones_own_is_no_print() -> None:
    def wrong_scalar(x):
        print = abs
        print(x)
        return x

    loop = primitives.elements(wrong_scalar)
    with Library("printing_here_too") as other, pytest.raises(ScalarFunctionError, match="no effect"):

        @other.op
        @formula
        def wrong_print(self: Tensor) -> Tensor:
            return loop(self)


def test_the_formula_that_is_for_the_arguments_prints(capsys: pytest.CaptureFixture[str]) -> None:
    with Library("printing_choices") as local:

        @local.op(inplace=True)
        @formula
        def f(self: Tensor, mode: str = "a") -> Tensor:
            print("body", self)
            return self + 1

        @f.formula(when={"mode": "b"})
        def f_b(self: Tensor) -> Tensor:
            print("b", self)
            return self + 2

        with opdsl.debug():
            f(opdsl.tensor([1.0]))
            f(opdsl.tensor([2.0]), "b")
            f.variants["inplace"](opdsl.tensor([3.0]), "b")
    name = "printing_choices::f"
    assert capsys.readouterr().out.splitlines() == [f"{name}[0]: body 1.0", f"{name}[0]: b 2.0", f"{name}_[0]: b 3.0"]
