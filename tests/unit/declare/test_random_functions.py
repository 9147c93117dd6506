"""Tests of ``primitives.draw``: tensors filled by a function of random numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl import Alias, Generator, Library, Tensor, check, primitives
from opdsl.errors import KernelError, KernelSignatureError, ScalarFunctionError, ShapeError


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("drawn") as lib:
        yield lib


def seeded(seed: int) -> Any:
    return opdsl.Generator().manual_seed(seed)


def scaled_(library: Library, element: Any, **options: Any) -> Any:
    drawn = primitives.draw(element)

    @library.op("drawn::scaled_", **options)
    def scaled_(
        self: Tensor[Alias("a", write=True)], scale: float = 1, *, generator: Generator | None = None
    ) -> Tensor[Alias("a", write=True)]:
        """Fill a tensor with random numbers multiplied by ``scale``."""
        ...

    @scaled_.formula
    def scaled(self: Tensor, scale: float, generator: Generator | None) -> Tensor:
        return drawn(self, scale, generator)

    return scaled_


EVEN = primitives.draw(lambda u: u)


def first(u: Any, scale: Any) -> Any:
    return u * scale


def test_elements_are_computed_of_random_numbers(library: Library) -> None:
    numbers = scaled_(library, first)(opdsl.empty(2000, dtype=opdsl.float64), 4.0, generator=seeded(3))
    values = numbers.numpy()
    assert values.min() > 0 and values.max() < 4 and abs(values.mean() - 2) < 0.1


def test_two_random_numbers_are_independent(library: Library) -> None:
    def both(u: Any, v: Any, scale: Any) -> Any:
        return (u - 0.5) * (v - 0.5) * scale

    numbers = scaled_(library, both)(opdsl.empty(5000, dtype=opdsl.float64), generator=seeded(3)).numpy()
    assert abs(numbers.mean()) < 0.01 and abs(numbers.var() - 1 / 144) < 1e-3


def test_a_seed_gives_the_same_whatever_the_strides(library: Library) -> None:
    f = scaled_(library, first)
    one = f(opdsl.empty(3, 4), generator=seeded(7))
    other = f(opdsl.empty(4, 3).t(), generator=seeded(7))
    assert one.tolist() == other.tolist()


def test_numbers_go_on_where_they_ended(library: Library) -> None:
    f, source = scaled_(library, first), seeded(7)
    parts = [*f(opdsl.empty(2), generator=source).tolist(), *f(opdsl.empty(3), generator=source).tolist()]
    assert parts == f(opdsl.empty(5), generator=seeded(7)).tolist()


def test_a_tensor_gives_its_element(library: Library) -> None:
    @library.op
    def around_(
        self: Tensor[Alias("a", write=True)], mean: Tensor, *, generator: Generator | None = None
    ) -> Tensor[Alias("a", write=True)]: ...

    drawn = primitives.draw(lambda u, mean: mean + u / 1000)

    @around_.formula
    def around(self: Tensor, mean: Tensor, generator: Generator | None) -> Tensor:
        return drawn(self, mean, generator)

    numbers = around_(opdsl.empty(2, 2, dtype=opdsl.float64), opdsl.tensor([1.0, 2.0]), generator=seeded(1))
    assert numpy.allclose(numbers.numpy(), [[1, 2], [1, 2]], atol=1e-3)


def test_the_functional_operator_is_derived(library: Library) -> None:
    f = scaled_(library, first, functional=True)
    x = opdsl.zeros(4)
    numbers = opdsl.ops.drawn.scaled(x, generator=seeded(2))
    assert numbers.tolist() == f(opdsl.empty(4), generator=seeded(2)).tolist() and x.tolist() == [0, 0, 0, 0]


def test_meta_checks_before_anything_is_written(library: Library) -> None:
    f = scaled_(library, first)

    @f.meta
    def scaled_meta(ctx: Any, scale: float) -> None:
        check(scale > 0, "expected a positive scale", got=scale)

    x = opdsl.ones(3)
    with pytest.raises(ShapeError, match="expected a positive scale"):
        f(x, -1.0)
    assert x.tolist() == [1, 1, 1]


def test_meta_gives_further_numbers(library: Library) -> None:
    f = scaled_(library, lambda u, scale, shift: shift + 0 * u)
    f.meta(lambda ctx, self: {"shift": float(self.ndim)})
    assert f(opdsl.empty(2, 1)).tolist() == [[2], [2]]


def test_an_undefined_number_is_reported(library: Library) -> None:
    f = scaled_(library, lambda u, scale, shift: shift + u)
    with pytest.raises(KernelError, match=r"'shift' is unknown\. Return \{'shift': \.\.\.\} from @f\.meta"):
        f(opdsl.empty(2))


def test_the_gradient_is_zero(library: Library) -> None:
    x = opdsl.ones(3, requires_grad=True)
    y = x * 2
    scaled_(library, first)(y)
    y.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [0, 0, 0]


def test_the_operator_is_tagged(library: Library) -> None:
    assert scaled_(library, first).tags == ("nondeterministic_seeded",)


def test_meta_tensors_are_left_as_they_are(library: Library) -> None:
    assert scaled_(library, first)(opdsl.empty(2, device="meta")).shape == (2,)


def test_a_distribution_is_that_of_torch(library: Library) -> None:
    def laplace(u: Any, scale: Any) -> Any:
        return -scale * math.log(2 * (1 - u)) if u > 0.5 else scale * math.log(2 * u)

    numbers = scaled_(library, laplace)(opdsl.empty(20000, dtype=opdsl.float64), 2.0, generator=seeded(5)).numpy()
    wanted = torch.distributions.Laplace(0.0, 2.0)
    for share in (0.1, 0.4, 0.5, 0.9):
        assert abs(numpy.quantile(numbers, share) - wanted.icdf(torch.tensor(share)).item()) < 0.15


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        (lambda scale: scale, "it takes no random numbers"),
        (lambda u, v, w, scale: u, "it takes 3 random numbers"),
        (lambda u, self: u, "'self' is no number or tensor that it reads"),
        (lambda u, generator: u, "'generator' is no number or tensor that it reads"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(library: Library, element: Any, problem: str) -> None:
    with pytest.raises(KernelSignatureError, match=problem):
        scaled_(library, element)


def test_refuses_an_operator_that_fills_nothing(library: Library) -> None:
    @library.op
    def f(self: Tensor, *, generator: Generator | None = None) -> Tensor: ...

    with pytest.raises(KernelSignatureError, match=r"does not fill a tensor\. Declare it in place"):
        f.formula(lambda self: EVEN(self))


def test_refuses_an_operator_without_generator(library: Library) -> None:
    @library.op
    def f_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    with pytest.raises(KernelSignatureError, match="has no generator"):
        f_.formula(lambda self: EVEN(self))


def test_refuses_to_start_from_zero_what_is_no_random_number(library: Library) -> None:
    @library.op
    def f_(
        self: Tensor[Alias("a", write=True)], *, generator: Generator | None = None
    ) -> Tensor[Alias("a", write=True)]: ...

    drawn = primitives.draw(lambda u: u, from_zero="v")
    with pytest.raises(KernelSignatureError, match="from_zero= names 'v'"):
        f_.formula(lambda self: drawn(self))


def test_what_a_scalar_function_cannot_hold_is_underlined(library: Library) -> None:
    def element(u: Any, scale: Any) -> Any:
        return u.sum()

    with pytest.raises(ScalarFunctionError, match="~~~"):
        scaled_(library, element)
