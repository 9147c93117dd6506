"""Tests of operators that draw random numbers, in torch: seeds and generators of torch apply, also under ``vmap``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import opdsl
from opdsl import Alias, Generator, Library, Tensor, formula, primitives
from opdsl.errors import TorchError
from opdsl.interop.torch import deregister, register


def weibull_element(u: Any, scale: Any) -> Any:
    return scale * (-math.log(u)) ** 2


ELEMENTS = primitives.draw(weibull_element)


def declare(lib: Library) -> None:
    @lib.op(inplace=True)
    @formula
    def weibull(self: Tensor, scale: float = 1, *, generator: Generator | None = None) -> Tensor:
        return scale * (-opdsl.log(1 - opdsl.rand_like(self, generator=generator))) ** 2

    @lib.op(functional=True)
    def filled_(
        self: Tensor[Alias("a", write=True)], scale: float = 1, *, generator: Generator | None = None
    ) -> Tensor[Alias("a", write=True)]: ...

    @filled_.formula
    def filled_elements(self: Tensor, scale: float, generator: Generator | None) -> Tensor:
        return ELEMENTS(self, scale, generator)

    @lib.op
    def noisy(self: Tensor, generator: Generator | None = None) -> Tensor: ...

    @noisy.kernel("CPU")
    def noisy_kernel(self, generator):
        return self + opdsl.rand(self.shape, dtype=self.dtype, generator=generator)

    @noisy.kernel("Meta")
    def noisy_meta(self, generator):
        return opdsl.empty_like(self)

    @lib.op
    def noisy_body(self: Tensor, generator: Generator | None = None) -> Tensor:
        return self + opdsl.rand(self.shape, dtype=self.dtype, generator=generator)

    @lib.op
    def plain(self: Tensor) -> Tensor: ...

    @plain.kernel("CPU", "Meta")
    def plain_kernel(self):
        return self * 2


@pytest.fixture(scope="module", autouse=True)
def ops() -> Iterator[Any]:
    library = Library("random_operators")
    declare(library)
    register(library)
    yield torch.ops.random_operators
    deregister(library)
    library.close()


Call = Callable[..., torch.Tensor]

CALLS: dict[str, Callable[[Any], Call]] = {
    "formula": lambda ops: ops.weibull,
    "formula in place": lambda ops: lambda x, **named: ops.weibull_(x.clone(), **named),
    "functional": lambda ops: ops.filled,
    "in place": lambda ops: lambda x, **named: ops.filled_(x.clone(), **named),
    "kernel": lambda ops: ops.noisy,
    "body": lambda ops: ops.noisy_body,
}


@pytest.fixture(params=CALLS)
def draw(ops, request) -> Call:
    return CALLS[request.param](ops)


def twice(call: Callable[[], torch.Tensor], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return call(), call()


def test_seeds_of_torch_tell_which_numbers_come(draw):
    x = torch.zeros(4)
    for grad in (False, True):
        leaf = x.clone().requires_grad_(grad)
        first, second = twice(lambda inputs=leaf: draw(inputs))
        again, _ = twice(lambda inputs=leaf: draw(inputs))
        other, _ = twice(lambda inputs=leaf: draw(inputs), seed=1)
        assert torch.equal(first, again)
        assert not torch.equal(first, second) and not torch.equal(first, other)
    opdsl.manual_seed(5)
    torch.manual_seed(0)
    with torch.random.fork_rng():
        forked = draw(x)
    assert torch.equal(forked, draw(x))


def test_seeds_of_opdsl_are_its_own(ops):
    """Drawing in torch does not advance opdsl's generator, and drawing in opdsl does not advance torch's."""
    opdsl.manual_seed(3)
    expected = opdsl.rand(2).tolist()
    opdsl.manual_seed(3)
    torch.manual_seed(0)
    ops.weibull(torch.zeros(2))
    ops.filled(torch.zeros(2))
    ops.noisy(torch.zeros(2))
    assert opdsl.rand(2).tolist() == expected


@pytest.mark.parametrize("make", [torch.Generator, opdsl.Generator])
def test_generators_of_both(draw, make):
    x = torch.zeros(4)
    torch.manual_seed(0)
    generator = make().manual_seed(7)
    first, second = draw(x, generator=generator), draw(x, generator=generator)
    again = draw(x, generator=make().manual_seed(7))
    assert torch.equal(first, again) and not torch.equal(first, second)
    state = torch.get_rng_state()
    torch.manual_seed(0)
    assert torch.equal(state, torch.get_rng_state())  # the default generator has not been used


def test_bodies_draw_of_sizes_that_are_symbols(ops):
    drawn = torch.compile(ops.noisy_body, fullgraph=True, backend="aot_eager", dynamic=True)
    for size in (3, 5):
        result = drawn(torch.zeros(size, 4))
        assert result.shape == (size, 4)
        assert result.min() >= 0 and result.max() < 1 and result.unique().numel() > size


@pytest.mark.parametrize("name", ["weibull", "filled"])
def test_numbers_are_distributed_as_declared(ops, name):
    """Numbers have Weibull's distribution of shape 1/2: the mean is 2, the median log(2)**2."""
    torch.manual_seed(0)
    drawn = getattr(ops, name)(torch.zeros(20000, dtype=torch.float64))
    assert abs(drawn.mean() - 2) < 0.15
    assert abs(drawn.median() - math.log(2) ** 2) < 0.03


@pytest.mark.parametrize("is_batched", [True, False])
def test_vmap_draws_as_torch_does(draw, is_batched):
    def call(y: torch.Tensor) -> torch.Tensor:
        return draw(y if is_batched else torch.zeros(5)) + y * 0

    x = torch.zeros(3, 5)
    torch.manual_seed(0)
    with pytest.raises(RuntimeError, match="vmap: called random operation while in randomness error mode"):
        torch.vmap(call, randomness="error")(x)
    same = torch.vmap(call, randomness="same")(x)
    assert torch.equal(same[0], same[1]) and torch.equal(same[0], same[2])
    assert len(set(same[0].tolist())) == 5
    assert not torch.equal(same, torch.vmap(call, randomness="same")(x))


@pytest.mark.parametrize("is_batched", [True, False])
@pytest.mark.parametrize("name", ["formula", "functional", "kernel", "body"])
def test_vmap_draws_different_numbers(ops, name, is_batched):
    draw, x = CALLS[name](ops), torch.zeros(3, 5)
    mapped = torch.vmap(lambda y: draw(y if is_batched else torch.zeros(5)) + y, randomness="different")(x)
    assert len(set(mapped.flatten().tolist())) == 15


@pytest.mark.parametrize("name", ["weibull", "filled"])
def test_vmap_within_vmap(ops, name):
    def rows(x: torch.Tensor, outer: str, inner: str) -> torch.Tensor:
        return torch.vmap(torch.vmap(getattr(ops, name), randomness=inner), randomness=outer)(x)

    x = torch.zeros(2, 3, 4)
    ways = (("different", "different"), ("different", "same"), ("same", "same"))
    assert [len(set(rows(x, *way).flatten().tolist())) for way in ways] == [24, 8, 4]


def test_an_argument_in_place_that_is_no_batch(ops):
    """In-place draws to a tensor without batch dimension raise under ``vmap``, as ``uniform_`` of torch does."""
    x, y = torch.zeros(5), torch.zeros(3, 5)
    for call in (ops.weibull_, ops.filled_, lambda x: x.uniform_()):
        with pytest.raises(RuntimeError):
            torch.vmap(lambda y, call=call: call(x) + y, randomness="different")(y)


def test_what_draws_nothing_needs_no_randomness(ops):
    torch.testing.assert_close(torch.vmap(ops.plain)(torch.ones(3, 2)), 2 * torch.ones(3, 2))
    x = torch.ones(2)
    torch.testing.assert_close(torch.vmap(lambda y: ops.plain(x) + y)(torch.ones(3, 2)), 3 * torch.ones(3, 2))


def test_gradients_are_zeros(ops):
    for call in (ops.filled, lambda x: ops.filled_(x * 1), lambda x: ops.weibull_(x * 1)):
        x = torch.zeros(3, requires_grad=True)
        (gradient,) = torch.autograd.grad(call(x).sum(), x)
        assert gradient.tolist() == [0, 0, 0]
    x = opdsl.zeros(3, requires_grad=True)
    (ours,) = opdsl.autograd.grad(opdsl.ops.random_operators.filled(x).sum(), x)
    assert ours.tolist() == [0, 0, 0]


def test_a_formula_that_reads_no_elements_has_no_gradients(ops):
    """A formula that reads only the shape of a tensor has no gradients, as ``torch.rand_like``."""
    assert not ops.weibull(torch.zeros(3, requires_grad=True)).requires_grad
    assert not opdsl.ops.random_operators.weibull(opdsl.zeros(3, requires_grad=True)).requires_grad


def test_tags(ops):
    for overload in (ops.weibull.default, ops.weibull_.default, ops.filled.default, ops.filled_.default):
        assert torch.Tag.nondeterministic_seeded in overload.tags
    assert opdsl.ops.random_operators.weibull.tags == ("nondeterministic_seeded",)
    assert opdsl.ops.random_operators.filled.tags == ("generated", "nondeterministic_seeded")


@pytest.mark.parametrize("name", ["weibull", "filled"])
def test_compiled_calls_draw_anew(ops, name):
    draw = getattr(ops, name)
    call = torch.compile(lambda x: draw(x) - draw(x), backend="aot_eager", fullgraph=True)
    assert call(torch.zeros(8)).abs().min() > 0
    first, second = twice(lambda: call(torch.zeros(8)))
    assert not torch.equal(first, second) and torch.equal(first, twice(lambda: call(torch.zeros(8)))[0])


def test_an_error_says_which_operator(ops):
    with pytest.raises(TorchError, match="random_operators::filled"):
        torch.vmap(ops.filled)(torch.zeros(2))
