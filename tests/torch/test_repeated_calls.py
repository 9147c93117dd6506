"""Tests that the first call, without a plan, and later ones, with a plan, agree, whatever changes between calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations, product
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as some

import opdsl
from tests.torch.twins import Twins, assert_agree, assert_fails, differences, of
from tests.torch.values import layouts, ordinary


@pytest.fixture(autouse=True)
def _no_plans() -> None:
    """Clear all plans before every test, so that its own calls create them."""
    opdsl.add  # noqa: B018  loads the operators
    for packet in opdsl.registry.packets.values():
        packet.forget()


def in_every_order(call: Callable[[Any, Any], Any], choices: list[Any]) -> None:
    """Call with several choices, in every order of up to three, each twice, and compare with PyTorch."""
    expected = [call(torch, choice) for choice in choices]
    for order in permutations(range(len(choices)), min(3, len(choices))):
        for packet in opdsl.registry.packets.values():
            packet.forget()
        for index in (*order, *order):
            assert_agree(call(opdsl, Twins().of(choices[index])), expected[index])


@pytest.mark.parametrize("name", ["add", "mul", "div", "eq"])
def test_kinds_of_numbers(name: str) -> None:
    x = torch.arange(4)
    in_every_order(lambda lib, number: getattr(lib, name)(x if lib is torch else of(x), number), [2, 2.0, True, 0, 0.0])


@pytest.mark.parametrize("name", ["add", "sub"])
def test_kinds_of_keyword_numbers(name: str) -> None:
    x = torch.arange(4.0)
    in_every_order(
        lambda lib, number: getattr(lib, name)(*((x, x) if lib is torch else (of(x), of(x))), alpha=number),
        [1, 1.0, 2, 2.5],
    )


def test_kinds_of_fill_values() -> None:
    in_every_order(lambda lib, value: lib.full((2,), value), [1, 1.0, True, 0, False, 0.0])


def test_tensors_and_numbers_in_one_place() -> None:
    x = torch.arange(4.0)
    choices = [2, 2.5, torch.tensor(2.0), torch.tensor([2.0]), torch.arange(4), numpy.float32(2.5)]
    in_every_order(lambda lib, other: lib.add(x if lib is torch else of(x), other), choices)


def test_shapes() -> None:
    choices = [ordinary(torch.float32, shape) for shape in ((3,), (3, 1), (1, 3), (), (0, 3))]
    in_every_order(lambda lib, x: lib.add(x, x), choices)


def test_layouts() -> None:
    choices = [layouts()[name] for name in ("contiguous", "transposed", "channels_last", "sliced", "expanded")]
    in_every_order(lambda lib, x: lib.mul(x, x), choices)


def test_dtypes() -> None:
    choices = [torch.ones(3, dtype=dtype) for dtype in (torch.float32, torch.int64, torch.bool, torch.float16)]
    in_every_order(lambda lib, x: lib.add(x, x), choices)


def test_views_and_owners_of_one_geometry() -> None:
    base = torch.arange(12.0)
    in_every_order(lambda lib, x: lib.neg(x), [base[:4], base[8:], torch.ones(4), base[4:8]])


def test_options() -> None:
    x = ordinary(torch.float32, (3, 4))
    choices = [{}, {"dim": 0}, {"dim": 0, "keepdim": True}, {"dim": (0, 1)}, {"dim": None}, {"dtype": torch.float64}]
    in_every_order(lambda lib, named: lib.sum(x if lib is torch else of(x), **named), choices)


def test_positions_and_names() -> None:
    x = ordinary(torch.float32, (3, 4))
    for call in (
        lambda lib, value: lib.transpose(value, 0, 1),
        lambda lib, value: lib.transpose(value, dim0=0, dim1=1),
        lambda lib, value: lib.transpose(value, 0, dim1=1),
        lambda lib, value: lib.transpose(dim0=0, dim1=1, self=value) if lib is opdsl else value.t(),
        lambda lib, value: value.transpose(0, 1),
    ):
        for _ in range(2):
            assert_agree(call(opdsl, of(x)), call(torch, x))


def test_true_is_no_dimension_even_after_one_was() -> None:
    x = opdsl.full((2, 3), 1.0)
    assert opdsl.unsqueeze(x, 1).shape == (2, 1, 3)
    with pytest.raises(TypeError):
        opdsl.unsqueeze(x, True)
    with pytest.raises(TypeError):
        opdsl.unsqueeze(x, 1.0)


def test_lists_and_tuples_of_ints() -> None:
    x = ordinary(torch.float32, (2, 3))
    for size in ([3, 2], (3, 2), torch.Size([3, 2]), [numpy.int64(3), 2], [3, 2]):
        assert_agree(of(x).view(tuple(size) if isinstance(size, torch.Size) else size), x.view(3, 2))
    with pytest.raises(TypeError):
        of(x).view([3.0, 2.0])
    with pytest.raises(TypeError):
        of(x).view(3.0, 2.0)


def test_signed_zeros_of_numbers() -> None:
    x = opdsl.full((2,), 1.0)
    for number, expected in ((0.0, [0.0, 0.0]), (-0.0, [-0.0, -0.0]), (0.0, [0.0, 0.0])):
        assert str(opdsl.mul(x, number).tolist()) == str(expected)


def test_default_dtypes() -> None:
    x = torch.arange(3)
    before = torch.get_default_dtype()
    try:
        for dtype in (torch.float32, torch.float64, torch.float32, torch.float16):
            torch.set_default_dtype(dtype)
            opdsl.set_default_dtype(of(dtype))
            for call in (lambda lib, y: lib.exp(y), lambda lib, y: lib.add(y, 0.5), lambda lib, y: lib.full((2,), 0.5)):
                for _ in range(2):
                    assert differences(call(opdsl, of(x)), call(torch, x)) == []
    finally:
        torch.set_default_dtype(before)
        opdsl.set_default_dtype(of(before))


def test_outputs_given_and_not() -> None:
    x = ordinary(torch.float32, (3,))
    expected, own = x + 1, of(x)
    for _ in range(2):
        assert_agree(opdsl.add(own, 1), expected)
        assert_agree(opdsl.add(own, 1, out=opdsl.empty(3)), expected)
        assert_agree(opdsl.add(own, 1, out=opdsl.empty(0)), expected)
        assert_agree(opdsl.add(own, 1, out=opdsl.empty((3,), dtype=opdsl.float64)), expected.double())


def test_an_output_that_is_an_input_and_one_that_is_not() -> None:
    for _ in range(2):
        x, y = opdsl.full((3,), 1.0), opdsl.full((3,), 1.0)
        assert opdsl.add(x, y, out=y).tolist() == [2.0] * 3
        assert opdsl.add(x, y, out=opdsl.empty(3)).tolist() == [3.0] * 3
        assert opdsl.add(x, x, out=x).tolist() == [2.0] * 3


def test_a_wrong_call_between_two_right_ones() -> None:
    x, y = ordinary(torch.float32, (3, 4)), ordinary(torch.float32, (5,))
    for _ in range(3):
        assert_agree(opdsl.add(of(x), of(x)), x + x)
        assert_fails(lambda: opdsl.add(of(x), of(y)), RuntimeError())


def test_numbers_that_do_not_fit_after_ones_that_did() -> None:
    x = opdsl.full((2,), 1, dtype=opdsl.int8)
    assert opdsl.add(x, x, alpha=100).tolist() == [101, 101]
    assert opdsl.add(x, x, alpha=100).tolist() == [101, 101]
    with pytest.raises(RuntimeError, match="without overflow"):
        opdsl.add(x, x, alpha=1000)
    assert opdsl.add(x, x, alpha=-100).tolist() == [-99, -99]


def test_special_methods() -> None:
    x, y = ordinary(torch.float32, (3,)), ordinary(torch.float32, (3,), 1)
    for call in (
        lambda a, b: a + b,
        lambda a, b: 2 - a,
        lambda a, b: a * 2.5,
        lambda a, b: 3 / a,
        lambda a, b: a == b,
        lambda a, b: a > 0,
        lambda a, b: -a,
        lambda a, b: a.__iadd__(b),
    ):
        for _ in range(2):
            assert_agree(call(of(x), of(y)), call(x.clone(), y), tolerance=1e-6)


@pytest.fixture(scope="module")
def calls() -> Iterator[list[Callable[[Any, Any], Any]]]:
    """Return calls of a tensor of shape (3, 4), some of them views and some in place."""
    numbers = (2, 2.5, True)
    yield [
        *(lambda lib, x, n=n: lib.add(x, n) for n in numbers),
        *(lambda lib, x, n=n: x * n for n in numbers),
        *(lambda lib, x, d=d: lib.sum(x, d) for d in (0, 1, (0, 1))),
        *(lambda lib, x, d=d: x.transpose(0, 1).add(d) for d in numbers),
        lambda lib, x: x.add_(x.clone()),
        lambda lib, x: x.t().neg_(),
        lambda lib, x: lib.cat((x, x), 1),
        lambda lib, x: lib.where(lib.gt(x, 0), x, 0.5),
        lambda lib, x: x.unsqueeze(0).mul_(0.5),
        lambda lib, x: x.t() @ x,
        lambda lib, x: lib.amax(x, -1, True),
    ]


@settings(max_examples=80)
@given(order=some.lists(some.integers(0, 18), min_size=2, max_size=12), layout=some.sampled_from((0, 1, 2)))
def test_any_order_of_calls(calls: list[Callable[[Any, Any], Any]], order: list[int], layout: int) -> None:
    x = (
        ordinary(torch.float32, (3, 4)),
        ordinary(torch.float32, (4, 3)).t(),
        ordinary(torch.float32, (6, 8))[::2, ::2],
    )[layout]
    own = Twins().of(x)
    for index in order:
        expected = calls[index](torch, x)
        assert_agree(calls[index](opdsl, own), expected, tolerance=1e-5)
    assert_agree(own, x, tolerance=1e-5)


@pytest.mark.parametrize(("first", "second"), list(product(("float32", "int64", "bool"), repeat=2)))
def test_dtypes_as_arguments(first: str, second: str) -> None:
    x = torch.tensor([0.5, 2.0])
    for name in (first, second, first):
        assert_agree(of(x).to(getattr(opdsl, name)), x.to(getattr(torch, name)))
        assert_agree(opdsl.full((2,), 1, dtype=getattr(opdsl, name)), torch.full((2,), 1, dtype=getattr(torch, name)))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_numbers_before_the_tensor(name: str) -> None:
    choices = [
        (number, tensor)
        for number in (2, 2.5, True)
        for tensor in (torch.arange(3.0), torch.arange(3), torch.arange(3.0)[:2])
    ][:6]
    in_every_order(lambda lib, pair: getattr(lib, name)(pair[0], pair[1]), choices)


def test_a_number_before_the_tensor_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(3)
    opdsl.mul(2, x)
    opdsl.mul(2, x)
    monkeypatch.setattr(opdsl.dispatch.Operator, "find", None)
    assert opdsl.mul(3, x).tolist() == [3.0] * 3


def test_names_of_arguments() -> None:
    x = ordinary(torch.float32, (3, 4))
    choices = [{"dim": 0}, {"axis": 0}, {"axis": 1, "keepdims": True}, {"dim": 1, "keepdims": True}, {"axis": (0, 1)}]
    in_every_order(lambda lib, named: lib.sum(input=x if lib is torch else of(x), **named), choices)


def test_a_call_by_other_names_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    x = opdsl.ones(3, 2)
    opdsl.sum(x, dim=0)
    opdsl.sum(x, dim=0)
    monkeypatch.setattr(opdsl.dispatch.Operator, "find", None)
    assert opdsl.sum(input=x, axis=0).tolist() == [3.0, 3.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x: lib.sum(x, dim=0, axis=1),
        lambda lib, x: lib.add(x, x, input=x),
        lambda lib, x: lib.add(x, x2=x, other=x),
        lambda lib, x: lib.add(x),
        lambda lib, x: lib.add(),
        lambda lib, x: lib.add(x, x, unknown=1),
        lambda lib, x: x.sum(unknown=1),
        lambda lib, x: x.add(input=x),
        lambda lib, x: x.view(axis=2),
    ],
)
def test_names_that_are_given_twice_or_not_known(call: Callable[[Any, Any], Any]) -> None:
    x = torch.ones(2)
    for lib, value in ((torch, x), (opdsl, of(x))):
        with pytest.raises(TypeError):
            call(lib, value)


CHECKED = {
    "bernoulli": (lambda x: opdsl.bernoulli(x), [0.5, 1.5]),
    "multinomial": (lambda x: opdsl.multinomial(x, 1), [0.5, -1.0]),
    "multinomial of nothing": (lambda x: opdsl.multinomial(x, 1), [0.0, 0.0]),
    "normal": (lambda x: opdsl.normal(0.0, x), [0.5, -1.0]),
    "binary_cross_entropy": (lambda x: opdsl.nn.binary_cross_entropy(x, x), [0.5, 1.5]),
}


@pytest.mark.parametrize("name", list(CHECKED))
def test_elements_that_a_kernel_refuses_after_ones_that_it_took(name: str) -> None:
    call, wrong = CHECKED[name]
    for values in ([0.5, 1.0], wrong, [0.5, 1.0], [0.25, 1.0], wrong, [0.5, 1.0]) * 2:
        sample = opdsl.tensor(values)
        if values is wrong:
            assert_fails(lambda: call(sample), RuntimeError("they are refused"))  # noqa: B023
        else:
            assert call(sample).isfinite().all()


def test_nonzero_of_varying_counts() -> None:
    for values in ([0.0, 2.0, -0.0], [0.0, 0.0, 0.0], [1.0, numpy.nan, 3.0], [0.0, 1.0, 0.0]):
        for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
            for shape in ((3,), (3, 1), (1, 3, 1)):
                sample = torch.tensor(values).nan_to_num(4).to(dtype).reshape(shape)
                for _ in range(3):
                    assert_agree(opdsl.nonzero(of(sample)), torch.nonzero(sample))


def test_linspace_and_arange_of_other_numbers() -> None:
    for start, end, steps in ((0, 1, 5), (0.1, 0.7, 7), (3, -3, 5), (1e-3, 1e30, 4), (0.0, 1.0, 1), (2.5, 2.5, 3)):
        for dtype in (torch.float32, torch.float64):
            for _ in range(3):
                result = opdsl.linspace(start, end, steps, dtype=of(dtype))
                assert_agree(result, torch.linspace(start, end, steps, dtype=dtype))
    for start, end, step in ((0.0, 1.0, 0.25), (0.5, 3.0, 0.7), (1.0, 0.0, -0.3), (0.0, 10.0, 3.3)):
        for _ in range(3):
            assert_agree(opdsl.arange(start, end, step), torch.arange(start, end, step))


@pytest.mark.parametrize(
    "name", ["relu_", "sigmoid_", "tanh_", "exp_", "sqrt_", "reciprocal_", "rsqrt_", "neg_", "abs_", "sin_", "square_"]
)
def test_gradients_of_repeated_writes_in_place(name: str) -> None:
    def gradient(lib: Any, size: int) -> list[float]:
        x = lib.arange(1, size + 1, dtype=lib.float64).requires_grad_()
        y = x * 0.5
        getattr(y, name)()
        (y * y).sum().backward()
        return list(x.grad.tolist())

    for size in (3, 3, 3, 4, 5, 6, 7):
        assert gradient(opdsl, size) == pytest.approx(gradient(torch, size), rel=1e-14)


def test_what_is_saved_between_two_writes_knows_which_it_was() -> None:
    with opdsl.Library("testwrites") as lib:

        @lib.op
        @opdsl.traceable
        def written_twice(self: opdsl.Tensor) -> opdsl.Tensor:
            squares = self * self
            squares.relu_()
            squared = squares * squares
            squares.add_(1)
            return squared

        for _ in range(3):
            with pytest.raises(opdsl.errors.SavedTensorChangedError):
                written_twice(opdsl.ones(3, requires_grad=True)).sum().backward()
