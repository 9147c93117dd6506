"""Tests of the pass that turns a softmax between two products into attention, compared with the calls themselves."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.programs.attention import with_attention
from opdsl.programs.passes import without_unused_steps

Function = Callable[..., Any]

STEP = "opdsl::softmax_product"


def drawn(*shape: int) -> Tensor:
    return opdsl.from_numpy(numpy.random.default_rng(sum(shape)).standard_normal(shape).astype("float32"))


def heads(queries: int = 5, keys: int = 7) -> tuple[Tensor, Tensor, Tensor]:
    return drawn(2, 3, queries, 4), drawn(2, 3, keys, 4) * 1.5, drawn(2, 3, keys, 6)


def names(function: Function, *arguments: Any) -> list[str]:
    """Return the names of the steps that are no views, after the pass."""
    program = with_attention(without_unused_steps(opdsl.trace(function, *arguments)))
    return [step.name for step in program.steps if not step.is_view]


def compare(function: Function, *arguments: Any) -> None:
    program = opdsl.trace(function, *arguments)
    attended, wanted = with_attention(program)(*arguments), program(*arguments)
    numpy.testing.assert_allclose(attended.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


ATTENTION: dict[str, Function] = {
    "plain": lambda q, k, v: opdsl.softmax(q @ k.mT, -1) @ v,
    "divided": lambda q, k, v: opdsl.softmax(q @ k.transpose(2, 3) / math.sqrt(4), 3) @ v,
    "scaled twice": lambda q, k, v: opdsl.softmax(q @ k.mT * 0.5 / 3, -1) @ v,
    "scaled by the size": lambda q, k, v: opdsl.softmax(q @ k.mT * q.shape[-1] ** -0.5, -1) @ v,
    "queries scaled": lambda q, k, v: opdsl.softmax((q * 0.5) @ k.mT, -1) @ v,
    "einsum": lambda q, k, v: opdsl.einsum(
        "bhqk,bhkd->bhqd", opdsl.softmax(opdsl.einsum("bhqd,bhkd->bhqk", q, k), -1), v
    ),
    "heads last": lambda q, k, v: opdsl.einsum(
        "bhqk,bhkd->bqhd", opdsl.softmax(opdsl.einsum("bhqd,bhkd->bhqk", q, k), -1), v
    ),
    "divided by the root of the size": lambda q, k, v: opdsl.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v,
    "three dimensions": lambda q, k, v: opdsl.softmax(q[0] @ k[0].mT, -1) @ v[0],
    "one head": lambda q, k, v: opdsl.softmax(q[0, 0] @ k[0, 0].mT, -1) @ v[0, 0],
}

MASKED: dict[str, Function] = {
    "where": lambda q, k, v, m: opdsl.softmax(opdsl.where(m, q @ k.mT, -math.inf), -1) @ v,
    "filled": lambda q, k, v, m: opdsl.softmax((q @ k.mT / 2).masked_fill(~m, -math.inf), -1) @ v,
    "added": lambda q, k, v, m: opdsl.softmax(q @ k.mT * 0.5 + opdsl.where(m, 0.0, -1.0), -1) @ v,
    "keys alone": lambda q, k, v, m: opdsl.softmax(opdsl.where(m[0], q @ k.mT, -math.inf), -1) @ v,
    "queries alone": lambda q, k, v, m: opdsl.softmax(q @ k.mT + opdsl.where(m[:, 1:2], 0.0, -1.0), -1) @ v,
}

OTHERS: dict[str, Function] = {
    "over queries": lambda q, k, v: opdsl.softmax(q @ k.mT, -2) @ v,
    "over heads": lambda q, k, v: opdsl.softmax(q @ k.mT, 1) @ v,
    "weights returned": lambda q, k, v: (w := opdsl.softmax(q @ k.mT, -1), w @ v)[1] + w.sum(),
    "scores read twice": lambda q, k, v: (s := q @ k.mT, opdsl.softmax(s, -1) @ v)[1] + s.sum(),
    "no softmax of a product": lambda q, k, v: opdsl.softmax(k.mT, -1) @ v,
    "weights doubled": lambda q, k, v: (opdsl.softmax(q @ k.mT, -1) * 2) @ v,
    "scores squared": lambda q, k, v: opdsl.softmax((q @ k.mT) ** 2, -1) @ v,
    "scaled after the mask": lambda q, k, v: opdsl.softmax((q @ k.mT + v.new_ones(5, 7)) * 2, -1) @ v,
    "mask of heads": lambda q, k, v: opdsl.softmax(q @ k.mT + q.new_ones(3, 1, 1), -1) @ v,
    "transposed weights": lambda q, k, v: opdsl.softmax(q @ k.mT, -1).mT @ q,
}


@pytest.mark.parametrize("name", ATTENTION)
def test_scores_are_not_stored(name: str) -> None:
    steps = names(ATTENTION[name], *heads())
    assert STEP in steps
    assert "aten::_softmax" not in steps


@pytest.mark.parametrize("name", ATTENTION)
@pytest.mark.parametrize("lengths", [(5, 7), (1, 3), (100, 130)])
def test_values_agree_with_separate_calls(name: str, lengths: tuple[int, int]) -> None:
    compare(ATTENTION[name], *heads(*lengths))


def test_the_program_is_saved_and_loaded(tmp_path: Path) -> None:
    arguments = heads()
    program = with_attention(opdsl.trace(ATTENTION["divided by the root of the size"], *arguments))
    program.save(tmp_path / "program")
    loaded = opdsl.Program.load(tmp_path / "program")
    assert [step.name for step in loaded.steps] == [step.name for step in program.steps]
    numpy.testing.assert_array_equal(loaded(*arguments).numpy(), program(*arguments).numpy())


@pytest.mark.parametrize("name", MASKED)
def test_masks_of_queries_and_keys(name: str) -> None:
    mask = drawn(5, 7) > -0.5
    mask[:, :2] = True
    arguments = (*heads(), mask)
    assert STEP in names(MASKED[name], *arguments)
    compare(MASKED[name], *arguments)


@pytest.mark.parametrize("name", OTHERS)
def test_other_programs_stay(name: str) -> None:
    arguments = heads()
    assert STEP not in names(OTHERS[name], *arguments)
    compare(OTHERS[name], *arguments)


def test_queries_of_lower_precision_stay() -> None:
    arguments = [projection.to(opdsl.bfloat16) for projection in heads()]
    assert STEP not in names(ATTENTION["plain"], *arguments)


def test_a_query_whose_scores_are_all_masked_gets_nan() -> None:
    mask = opdsl.ones(5, 7, dtype=opdsl.bool)
    mask[1] = False
    computed = opdsl.compile(MASKED["where"])(*heads(), mask)
    assert computed.isnan().all(-1)[0, 0].tolist() == [False, True, False, False, False]


@pytest.mark.parametrize("name", ["where", "filled"])
@pytest.mark.parametrize("queries", [3, 5])
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_scores_that_a_mask_leaves_out_may_be_no_numbers(name: str, queries: int, number: float) -> None:
    q, k, v = heads(queries)
    k[..., 2, :] = number
    mask = drawn(queries, 7) > -0.5
    mask[:, 1:3] = opdsl.tensor([True, False])
    compare(MASKED[name], q, k, v, mask)
    mask[1, 2] = True
    attended = with_attention(opdsl.trace(MASKED[name], q, k, v, mask))(q, k, v, mask)
    assert attended.isnan().all(-1)[0, 0].tolist() == [query == 1 for query in range(queries)]


WRITING: dict[str, Function] = {
    "queries": lambda q, k, v, m: (w := opdsl.softmax(q @ k.mT, -1), q.zero_(), w @ v)[2],
    "keys": lambda q, k, v, m: (w := opdsl.softmax(q @ k.mT, -1), k.mul_(2), w @ v)[2],
    "a view of queries": lambda q, k, v, m: (r := q[:], w := opdsl.softmax(q @ k.mT, -1), r.zero_(), w @ v)[3],
    "mask": lambda q, k, v, m: (w := opdsl.softmax(q @ k.mT + m, -1), m.zero_(), w @ v)[2],
    "a filled tensor": lambda q, k, v, m: (
        f := opdsl.full((), -math.inf),
        f.zero_(),
        opdsl.softmax(opdsl.where(m > -0.5, q @ k.mT, f), -1) @ v,
    )[2],
}


@pytest.mark.parametrize("name", WRITING)
def test_operands_may_be_written_before_the_last_product(name: str) -> None:
    function = WRITING[name]
    arguments = (*(tensor[0, 0] for tensor in heads()), drawn(5, 7))
    wanted = function(*(tensor.clone() for tensor in arguments))
    computed = opdsl.compile(function)(*(tensor.clone() for tensor in arguments))
    numpy.testing.assert_allclose(computed.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_keys_may_be_written_before_attention() -> None:
    q, k, v = heads()
    assert STEP in names(lambda q, k, v: (k.mul_(2), opdsl.softmax(q @ k.mT, -1) @ v)[1], q, k, v)


@pytest.mark.parametrize(("queries", "keys"), [(1, 7), (5, 1), (1, 1)])
def test_masks_that_expand_the_scores(queries: int, keys: int) -> None:
    q, k, v, mask = drawn(queries, 4), drawn(keys, 4), drawn(7, 6), drawn(5, 7)
    compare(lambda q, k, v, m: opdsl.softmax(q @ k.mT + m, -1) @ v, q, k, v, mask)
    lowest = opdsl.full((5, 7), -math.inf)
    compare(lambda q, k, v, m: opdsl.softmax(opdsl.where(m, q @ k.mT, lowest), -1) @ v, q, k, v, mask[:1] > -0.5)


def test_scores_divided_by_the_number_0() -> None:
    q, k, v = heads()
    result = opdsl.compile(lambda q, k, v, number: opdsl.softmax(q @ k.mT / number, -1) @ v)(q, k, v, 0.0)
    assert bool(result.isnan().all())
    result = opdsl.compile(lambda q, k, v: opdsl.softmax(q @ k.mT / (k.shape[2] - 7), -1) @ v)(q, k, v)
    assert bool(result.isnan().all())


def test_a_formula_over_dims_is_one_step_and_has_gradients() -> None:
    with Library("attending") as lib:

        @lib.op
        @formula
        def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            """Means of values, weighted by the softmax of products."""
            i, j, d, e = dims(4)
            scores = (q[..., i, d] * k[..., j, d]).sum(d) * 0.5
            return (opdsl.softmax(scores, j) * v[..., j, e]).sum(j).order(..., i, e)

        q, k, v = heads()
        wanted = opdsl.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.5)
        numpy.testing.assert_allclose(attention(q, k, v).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
        q.requires_grad_()
        attention(q, k, v).sum().backward()
        gradient, q.grad = q.grad, None
        opdsl.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.5).sum().backward()
        assert gradient is not None and q.grad is not None
        numpy.testing.assert_allclose(gradient.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)


def test_no_scores_are_in_memory() -> None:
    q = opdsl.zeros(8, 2048, 8)
    program = with_attention(opdsl.trace(lambda q, k, v: opdsl.softmax(q @ k.mT, -1) @ v, q, q, q))
    shapes = [result.shape for step in program.steps for result in step.results if result is not None]
    assert not any(shape[-2:] == ("s2", "s2") for shape in shapes)
