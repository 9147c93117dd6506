"""Tests of loops over scalar functions: primitives that are the whole body of an operator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Alias, Generator, Library, Tensor, formula, primitives
from opdsl.errors import FormulaError, KernelSignatureError
from opdsl.kernels import MetaContext
from opdsl.scalar.intrinsics import row_mean


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("test_loops") as library:
        yield library


def times_exponential(x: Any, factor: Any) -> Any:
    return math.exp(x) * factor


SCALED = primitives.elements(times_exponential, promote="int_to_float")
LENGTHS = primitives.fold(
    lambda a, b: a + b, init=0, lift=lambda x: x * x, finish=lambda total, count: math.sqrt(total), promote="float"
)
SUMS = primitives.scan(lambda a, b: a + b, init=0, promote="sum")
CENTRED = primitives.rows(lambda self: self - row_mean(self), promote="floating")
NEIGHBOURS = primitives.positions(lambda self, i: self[i - 1] + self[i + 1] + 0 * self[i], at="i", margin=0)
amax = primitives.fold(max, init=-math.inf)
WAITING = primitives.draw(lambda u, rate: -math.log(u) / rate)


def test_elements_are_promoted_by_the_option(lib: Library) -> None:
    @lib.op
    @formula
    def scaled(self: Tensor, factor: float = 2.0) -> Tensor:
        return SCALED(self, factor)

    assert scaled(opdsl.tensor([0, 0]), 3.0).tolist() == [3.0, 3.0]


def test_a_fold_takes_dimensions(lib: Library) -> None:
    @lib.op
    @formula
    def length(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
        return LENGTHS(self, dim, keepdim)

    assert length(opdsl.tensor([[3.0, 4.0]]), 1).tolist() == [5.0]


def test_a_scan_has_the_shape_of_its_input(lib: Library) -> None:
    @lib.op
    @formula
    def sums(self: Tensor, dim: int) -> Tensor:
        return SUMS(self, dim)

    assert sums(opdsl.tensor([1, 2, 3]), 0).tolist() == [1, 3, 6]


def test_rows_have_the_dimensions_that_the_shape_function_returns(lib: Library) -> None:
    @lib.op(out=True)
    def centred(self: Tensor, dim: int) -> Tensor: ...

    @centred.meta
    def centred_meta(ctx: MetaContext, self: Tensor, dim: int) -> tuple[int]:
        ctx.set_output(0, self.shape, like=self)
        return (dim,)

    @centred.formula
    def less_its_mean(self: Tensor) -> Tensor:
        return CENTRED(self)

    x = opdsl.tensor([[1.0, 3.0], [2.0, 6.0]], requires_grad=True)
    computed = centred(x, 1)
    assert computed.tolist() == [[-1.0, 1.0], [-2.0, 2.0]]
    computed[0, 0].backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[0.5, -0.5], [0.0, 0.0]]
    assert centred(x.detach(), 0, out=opdsl.empty(2, 2)).tolist() == [[-0.5, -1.5], [0.5, 1.5]]


def test_positions_read_elsewhere(lib: Library) -> None:
    @lib.op
    @formula
    def neighbours(self: Tensor) -> Tensor:
        return NEIGHBOURS(self)

    x = opdsl.tensor([1.0, 2.0, 4.0], requires_grad=True)
    computed = neighbours(x)
    assert computed.tolist() == [2.0, 5.0, 2.0]
    computed[1].backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 0.0, 1.0]


def test_a_draw_fills_what_it_is_given(lib: Library) -> None:
    @lib.op
    def waiting_(
        self: Tensor[Alias("a", write=True)], rate: float, *, generator: Generator | None = None
    ) -> Tensor[Alias("a", write=True)]: ...

    @waiting_.formula
    def waiting(self: Tensor, rate: float, generator: Generator | None) -> Tensor:
        return WAITING(self, rate, generator)

    x = opdsl.zeros(1000)
    waiting_(x, 4.0)
    assert 0.2 < float(x.mean()) < 0.3


def test_another_loop_is_for_other_arguments(lib: Library) -> None:
    @lib.op
    def bent(self: Tensor, factor: float, *, kind: str = "exp") -> Tensor: ...

    @bent.formula(when={"kind": "exp"})
    def exponential(self: Tensor, factor: float) -> Tensor:
        return SCALED(self, factor)

    plain = primitives.elements(lambda x, factor: x * factor)

    @bent.formula(when={"kind": "plain"})
    def multiplied(self: Tensor, factor: float) -> Tensor:
        return plain(self, factor)

    x = opdsl.zeros(1)
    assert (bent(x, 5.0).item(), bent(x, 5.0, kind="plain").item()) == (5.0, 0.0)


def test_operands_in_another_order_are_refused(lib: Library) -> None:
    with pytest.raises(FormulaError, match=r"have to be factor, self, in this order"):

        @lib.op
        @formula
        def turned(factor: float, self: Tensor) -> Tensor:
            return SCALED(self, factor)


def test_a_loop_is_no_function_of_tensors() -> None:
    with pytest.raises(
        FormulaError, match=r"cannot be called with tensors\. Call the operator instead; in a formula, name the loop"
    ):
        SCALED(opdsl.zeros(1), 2.0)


def test_a_formula_that_does_more_than_call_a_loop_is_refused(lib: Library) -> None:
    with pytest.raises(
        FormulaError, match=r"does more than call a loop of opdsl\.primitives, which has to be the whole body"
    ):

        @lib.op
        @formula
        def shifted(self: Tensor, factor: float = 2.0) -> Tensor:
            return SCALED(self, factor) + 1.0


def test_a_formula_that_hands_a_loop_to_an_operator_is_refused(lib: Library) -> None:
    with pytest.raises(
        FormulaError, match=r"does more than call a loop of opdsl\.primitives, which has to be the whole body"
    ):

        @lib.op
        @formula
        def doubled(self: Tensor, factor: float = 2.0) -> Tensor:
            return opdsl.exp(SCALED(self, factor))


def test_an_attribute_that_is_called_like_a_loop_is_none(lib: Library) -> None:
    assert isinstance(amax, primitives.Loop)

    @lib.op
    @formula
    def largest(self: Tensor) -> Tensor:
        return self.amax()

    assert largest(opdsl.tensor([1.0, 3.0])).item() == 3.0


def squared(x: Tensor) -> Tensor:
    return x * x


@pytest.mark.parametrize(
    ("loop", "message"),
    [
        (primitives.elements(squared), r"primitives\.elements\(squared\): squared\(x\) does not fit: 'x' is annotated"),
        (primitives.fold(max, init=0, lift=squared), r"primitives\.fold\(max\): squared\(x\) does not fit"),
        (primitives.rows(lambda self: self), r"primitives\.rows\(<lambda>\) needs a shape function"),
    ],
    ids=["elements", "lift", "rows"],
)
def test_messages_name_the_loop(lib: Library, loop: primitives.Loop, message: str) -> None:
    with pytest.raises(KernelSignatureError, match=message):

        @lib.op
        @formula
        def computed(self: Tensor) -> Tensor:
            return loop(self)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(FormulaError, match=r"primitives\.fold: expected a function of numbers, got 'sum'\."):
        primitives.fold("sum", init=0)  # type: ignore[arg-type]
