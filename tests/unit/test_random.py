"""Tests of random numbers: the generator against published vectors, distributions against theory, seeds and states."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.kernels.primitives.random import block, philox

COUNT = 200_000


def seeded(seed: int = 0) -> opdsl.Generator:
    return opdsl.Generator().manual_seed(seed)


# The known answers of Random123 1.09 (kat_vectors, "philox4x32 10").
VECTORS = [
    ((0,) * 4, (0,) * 2, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), VECTORS)
def test_philox_gives_the_published_words(counter: Any, key: Any, words: Any) -> None:
    assert philox(*counter, *key) == words


def test_the_compiled_sequence_is_that_of_the_scalar_function() -> None:
    actual = opdsl.rand(5000, dtype=opdsl.float64, generator=seeded(7)).tolist()
    wanted = []
    for index in range(5000):
        high, low, _, _ = block(index, 7)
        wanted.append(((high << 21) ^ (low >> 11)) * 2.0**-53)
    assert actual == wanted


def box_and_muller(index: int) -> tuple[float, float]:
    """Return the radius and the angle for an index: 4,096 indices are four runs, and two runs share two words of a
    block.
    """
    run = index >> 10 & 3
    words = block(index & ~(3 << 10), 7)
    return math.sqrt(-2 * math.log((words[run // 2] + 0.5) / 2**32)), words[2 + run // 2] / 2**32 - 0.5 - run % 2 / 4


def test_normal_numbers_of_float32_are_those_of_box_and_muller() -> None:
    result = opdsl.empty(20_000).normal_(3.0, 2.0, generator=seeded(7)).numpy()
    radius, turns = numpy.array([box_and_muller(index) for index in range(len(result))]).T
    numpy.testing.assert_allclose(result, 3 + 2 * radius * numpy.cos(2 * math.pi * turns), rtol=0, atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 1023, 4096, 5000])
def test_normal_numbers_made_together_are_those_made_alone(count: int) -> None:
    """Normal numbers of one large call equal those of many small calls bit for bit, wherever a row begins."""
    one, two = seeded(), seeded()
    alone = [opdsl.randn(700, generator=one).tolist() for _ in range(30)]
    first = opdsl.randn(count, generator=two).tolist()
    rest = opdsl.randn(21_000 - count, generator=two).tolist()
    assert first + rest == [number for part in alone for number in part]


@pytest.mark.parametrize("count", [1, 4095, 4096, 4097, 3 * 4096 + 5])
def test_a_tensor_has_the_numbers_that_two_parts_of_it_have(count: int) -> None:
    one, two = seeded(), seeded()
    whole = opdsl.rand(count + 10, generator=one).tolist()
    assert opdsl.rand(10, generator=two).tolist() + opdsl.rand(count, generator=two).tolist() == whole


def test_the_sequence_goes_on_beyond_32_bits() -> None:
    generator = seeded()
    generator.advance((1 << 32) - 2)
    high, low, _, _ = block((1 << 32) + 1, 0)
    assert (
        opdsl.rand(4, dtype=opdsl.float64, generator=generator).tolist()[3] == ((high << 21) ^ (low >> 11)) * 2.0**-53
    )


def test_strides_do_not_matter() -> None:
    dense = opdsl.empty(3, 5).normal_(generator=seeded())
    strided = opdsl.empty(5, 3).t().normal_(generator=seeded())
    assert strided.tolist() == dense.tolist()


# A function that fills a tensor, and the distribution function.
CONTINUOUS: dict[str, tuple[Callable[[Any, opdsl.Generator], Any], Callable[[Any], Any]]] = {
    "uniform": (lambda x, g: x.uniform_(-2, 3, generator=g), lambda x: (x + 2) / 5),
    "normal": (
        lambda x, g: x.normal_(1, 2, generator=g),
        lambda x: numpy.array([0.5 * math.erfc(-(number - 1) / 2 / math.sqrt(2)) for number in x]),
    ),
    "exponential": (lambda x, g: x.exponential_(2, generator=g), lambda x: 1 - numpy.exp(-2 * x)),
    "cauchy": (lambda x, g: x.cauchy_(1, 2, generator=g), lambda x: numpy.arctan((x - 1) / 2) / math.pi + 0.5),
    "log_normal": (
        lambda x, g: x.log_normal_(0, 1, generator=g),
        lambda x: numpy.array([0.5 * math.erfc(-math.log(number) / math.sqrt(2)) for number in x]),
    ),
}


@pytest.mark.parametrize("dtype", [opdsl.float32, opdsl.float64], ids=str)
@pytest.mark.parametrize("name", CONTINUOUS)
def test_kolmogorov_smirnov(name: str, dtype: opdsl.DType) -> None:
    fill, distribution = CONTINUOUS[name]
    values = numpy.sort(fill(opdsl.empty(COUNT, dtype=dtype), seeded(11)).numpy().astype(float))
    steps = numpy.arange(COUNT + 1) / COUNT
    cumulated = distribution(values)
    distance = max((cumulated - steps[:-1]).max(), (steps[1:] - cumulated).max())
    # One in a thousand sequences of this length exceeds 1.95 / sqrt(n).
    assert distance < 1.95 / math.sqrt(COUNT)


def test_neighbours_are_not_correlated() -> None:
    values = opdsl.randn(COUNT, dtype=opdsl.float64, generator=seeded(5)).numpy()
    for lag in (1, 2, 4, 4096):
        assert abs(numpy.mean(values[:-lag] * values[lag:])) < 4 / math.sqrt(COUNT)


def test_the_parts_of_complex_normal_numbers_share_the_variance() -> None:
    values = opdsl.randn(COUNT, dtype=opdsl.complex128, generator=seeded(5)).numpy()
    assert abs(values.real.var() - 0.5) < 0.01
    assert abs(values.imag.var() - 0.5) < 0.01
    assert abs(numpy.mean(values.real * values.imag)) < 0.01


@pytest.mark.parametrize("count", [2, 10, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40])
def test_integers_are_equally_likely(count: int) -> None:
    values = opdsl.randint(-3, count - 3, (COUNT,), generator=seeded(1)).numpy()
    assert values.min() >= -3
    assert values.max() < count - 3
    cells = min(count, 10)
    result = numpy.bincount((values + 3) * cells // count, minlength=cells)
    chi_square = ((result - COUNT / cells) ** 2 / (COUNT / cells)).sum()
    assert chi_square < cells + 5 * math.sqrt(2 * cells)


def test_integers_of_all_64_bits() -> None:
    values = opdsl.empty(COUNT, dtype=opdsl.int64).random_(-(2**63), None, generator=seeded(1)).numpy()
    assert abs((values < 0).mean() - 0.5) < 0.01
    assert abs((values % 2).mean() - 0.5) < 0.01
    bits = [((values >> bit) & 1).mean() for bit in range(64)]
    assert max(abs(bit - 0.5) for bit in bits) < 0.01


def test_integers_of_more_than_63_bits() -> None:
    low, high = -(2**62), 2**63 - 1
    values = opdsl.randint(low, high, (COUNT,), generator=seeded(1)).numpy()
    assert values.min() >= low
    assert abs((values < 0).mean() - 1 / 3) < 0.01


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
def test_bernoulli(p: float) -> None:
    values = opdsl.empty(COUNT).bernoulli_(p, generator=seeded())
    assert abs(values.numpy().mean() - p) < 0.005


def test_bernoulli_of_a_tensor_of_probabilities() -> None:
    p = opdsl.tensor([[0.0, 0.5, 1.0]]).expand(COUNT, 3)
    result = opdsl.ops.aten.bernoulli(p, generator=seeded()).numpy().mean(axis=0)
    assert numpy.abs(result - [0, 0.5, 1]).max() < 0.005


def test_geometric() -> None:
    values = opdsl.empty(COUNT, dtype=opdsl.int64).geometric_(0.25, generator=seeded()).numpy()
    assert values.min() == 1
    assert abs(values.mean() - 4) < 0.05
    assert abs((values == 1).mean() - 0.25) < 0.005


def test_random_permutations_are_equally_likely() -> None:
    generator = seeded()
    orders = [tuple(opdsl.randperm(3, generator=generator).tolist()) for _ in range(1200)]
    assert sorted(set(orders)) == [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    assert all(150 < orders.count(order) < 250 for order in set(orders))


def test_dropout_keeps_the_mean() -> None:
    opdsl.manual_seed(0)
    values = opdsl.ops.aten.dropout(opdsl.ones(COUNT), 0.75, True).numpy()
    assert set(values.tolist()) == {0.0, 4.0}
    assert abs(values.mean() - 1) < 0.02


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    opdsl.manual_seed(0)
    values = opdsl.ops.aten.alpha_dropout(opdsl.randn(COUNT), 0.3, True).numpy()
    assert abs(values.mean()) < 0.02
    assert abs(values.var() - 1) < 0.02


def test_native_dropout_tells_its_mask() -> None:
    output, mask = opdsl.ops.aten.native_dropout(opdsl.ones(1000), 0.5, True)
    assert (output.numpy() == 2 * mask.numpy()).all()


def test_multinomial_draws_with_the_given_probabilities() -> None:
    weights = opdsl.tensor([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    drawn = opdsl.ops.aten.multinomial(weights, COUNT, True, generator=seeded()).numpy()
    assert abs((drawn[0] == 2).mean() - 0.75) < 0.01
    assert abs((drawn[1] == 1).mean() - 0.5) < 0.01
    assert set(drawn[0].tolist()) == {0, 2}


def test_multinomial_without_replacement_draws_each_once() -> None:
    drawn = opdsl.ops.aten.multinomial(opdsl.tensor([1.0, 2.0, 3.0, 0.0]), 3, generator=seeded())
    assert sorted(drawn.tolist()) == [0, 1, 2]


# ------------------------------------------------------------------------------------------------- seeds and states


def test_a_seed_begins_the_same_sequence() -> None:
    opdsl.manual_seed(3)
    first = opdsl.rand(4).tolist()
    opdsl.manual_seed(3)
    assert opdsl.rand(4).tolist() == first
    assert opdsl.initial_seed() == 3


def test_a_state_is_taken_up_again() -> None:
    generator = seeded(9)
    opdsl.rand(5, generator=generator)
    state = generator.get_state()
    first = opdsl.randn(4, generator=generator).tolist()
    assert opdsl.randn(4, generator=opdsl.Generator().set_state(state)).tolist() == first


def test_a_given_generator_leaves_the_default_one_alone() -> None:
    before = opdsl.get_rng_state().tolist()
    opdsl.rand(3, generator=seeded())
    assert opdsl.get_rng_state().tolist() == before


def test_a_generator_of_another_device_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        opdsl.rand(3, generator=opdsl.Generator("cuda"))


@pytest.mark.parametrize("state", [None, opdsl.tensor([1.0]), opdsl.zeros(3, dtype=opdsl.uint8)], ids=str)
def test_a_state_that_is_none(state: Any) -> None:
    with pytest.raises(RuntimeError, match="16 bytes"):
        opdsl.Generator().set_state(state)


def test_threads_get_different_numbers() -> None:
    generator = seeded()
    result: list[Any] = []
    threads = [
        threading.Thread(
            target=lambda: result.extend(opdsl.rand(1000, dtype=opdsl.float64, generator=generator).tolist())
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result) == sorted(opdsl.rand(4000, dtype=opdsl.float64, generator=seeded()).tolist())


def test_the_number_of_threads_does_not_matter() -> None:
    from opdsl.backends.cpu import pool

    before = opdsl.randn(300_000, generator=seeded()).numpy()
    count = pool.get_num_threads()
    try:
        pool.set_num_threads(1)
        alone = opdsl.randn(300_000, generator=seeded()).numpy()
    finally:
        pool.set_num_threads(count)
    assert (alone == before).all()
