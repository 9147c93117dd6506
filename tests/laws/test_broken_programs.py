"""Tests of graph breaks: up to the first read of elements a function is a program, the rest runs uncompiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl


def halved(x: Any, y: Any) -> Any:
    """Branch on elements."""
    z = (x * 2 + y).tanh()
    w = z * z
    if w.sum() > 3.0:
        return w / 2
    return z - w


def scaled(x: Any, y: Any) -> Any:
    """Read an element by ``item``."""
    z = (x - y).exp()
    largest = (z + 1).amax().item()
    return z / largest


def in_a_test(x: Any, y: Any) -> Any:
    """Compute everything in the statement that reads an element."""
    return float((x * y).exp().sum()) + 1.0


def with_sizes(x: Any, y: Any) -> Any:
    """Use sizes and constants before and after a read of elements."""
    count, name = x.shape[0], "sum"
    z = (x * y).sigmoid() + count
    while z.sum() > 100.0:
        z = z / 2
    return getattr(z, name)() * count


def branching(x: Any, y: Any, *more: Any, factor: float = 2.0) -> Any:
    """Accept arguments of all kinds, and assign to one."""
    x = x * factor + y
    for addend in more:
        x = x + addend
    assert (x.exp() > 0).all()
    return x * factor


FUNCTIONS: tuple[Callable[..., Any], ...] = (halved, scaled, in_a_test, with_sizes, branching)


def drawn(*shape: int, seed: int = 0) -> Any:
    return opdsl.from_numpy(numpy.random.default_rng(seed).random(size=shape))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_function_that_looks_at_elements_gives_what_it_gives(function: Callable[..., Any]) -> None:
    compiled = opdsl.compile(function)
    for size in (3, 3, 3, 9, 4, 1, 3):
        computed, wanted = (variant(drawn(size), drawn(size, seed=1)) for variant in (compiled, function))
        numpy.testing.assert_allclose(numpy.asarray(computed), numpy.asarray(wanted), rtol=1e-13)
    explanation = compiled.explain()
    assert explanation.reasons == ()
    assert len(explanation.breaks) == 1
    assert all(any(step.parts for step in program.steps) for program in explanation.programs)


def test_the_line_of_the_graph_break_is_reported() -> None:
    compiled = opdsl.compile(halved)
    compiled(drawn(3), drawn(3))
    said = str(compiled.explain())
    assert "runs uncompiled from here on: test_broken_programs.py:" in said
    assert "if w.sum() > 3.0:" in said


def test_gradients_flow_through_both_parts() -> None:
    compiled = opdsl.compile(halved)
    for size in (3, 3, 9):
        gradients = []
        for function in (compiled, halved):
            tensors = [drawn(size, seed=at).requires_grad_() for at in range(2)]
            function(*tensors).square().sum().backward()
            gradients.append([leaf.grad.numpy() for leaf in tensors])
        numpy.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-12)


def test_more_arguments_are_handed_on() -> None:
    compiled = opdsl.compile(branching)
    for factor in (2.0, 3.0, 2.0):
        inputs = [drawn(4, seed=at) for at in range(4)]
        computed, wanted = (variant(*inputs, factor=factor) for variant in (compiled, branching))
        numpy.testing.assert_allclose(computed.numpy(), wanted.numpy(), rtol=1e-13)


def test_closures_methods_and_lambdas_are_cut_too() -> None:
    weight = drawn(3, seed=5)

    class Model:
        def __init__(self) -> None:
            self.scale = 3.0

        def call(self, x: Any) -> Any:
            y = (x * weight).exp() * self.scale
            return y if y.sum() > 5.0 else -y

    model = Model()
    for function in (model.call, lambda x: 2.0 * x if (x * weight).exp().sum() > 3.5 else -x):
        compiled = opdsl.compile(function)
        for seed in range(4):
            assert compiled(drawn(3, seed=seed)).tolist() == function(drawn(3, seed=seed)).tolist()
        assert compiled.explain().breaks
        assert compiled.explain().programs


def test_errors_after_the_cut_show_the_functions_own_lines() -> None:
    def failing(x: Any) -> Any:
        y = x.exp() * 2
        if y.sum() > 0:
            raise ValueError("here")
        return y

    compiled = opdsl.compile(failing)
    for _ in range(3):
        with pytest.raises(ValueError, match="here") as caught:
            compiled(drawn(3))
        last = caught.traceback[-1]
        assert last.path.name == "test_broken_programs.py"
        assert 'raise ValueError("here")' in str(last.statement)


def early(x: Any, y: Any) -> Any:
    """Return before the read of elements for some sizes."""
    if x.shape[0] == 2:
        return x
    z = x.exp()
    return z if z.sum() > 0 else y


def unset(x: Any, y: Any) -> Any:
    """Leave a variable unset that the code after the graph break reads."""
    for _ in range(x.shape[0]):
        z = x.exp()
    return z if y.sum() > 0 else y


def with_an_object(x: Any, y: Any) -> Any:
    """Create an object that a program cannot return."""
    numbers = {1, 2}
    z = x.exp()
    return z if z.sum() > 0 else numbers


def views_alone(x: Any, y: Any) -> Any:
    """Compute only views before the read of elements."""
    z = x[1:]
    return y if z[0].item() > 0 else z


@pytest.mark.parametrize(
    "function", [early, unset, with_an_object, views_alone], ids=lambda function: function.__name__
)
def test_what_cannot_be_cut_runs_as_it_is(function: Callable[..., Any]) -> None:
    compiled = opdsl.compile(function)
    for _ in range(3):
        assert compiled(drawn(3), drawn(3)).tolist() == function(drawn(3), drawn(3)).tolist()
    assert compiled.explain().reasons


def test_whole_numbers_that_are_sizes_need_no_new_program() -> None:
    @opdsl.compile
    def grown(x: Any, count: int) -> Any:
        return opdsl.zeros(count, x.shape[0], dtype=x.dtype) + x.exp() * 2

    for count in (2, 3, 5, 9, 4, 3, 7):
        assert grown(drawn(3), count).shape == (count, 3)
        numpy.testing.assert_array_equal(grown(drawn(3), count).numpy()[-1], (drawn(3).exp() * 2).numpy())
    assert len(grown.explain().programs) == 2
    assert grown(drawn(3), 1).shape == (1, 3)
    assert grown(drawn(3), 0).shape == (0, 3)


def test_whole_numbers_that_choose_what_is_done_are_options() -> None:
    @opdsl.compile
    def repeated(x: Any, count: int) -> Any:
        for _ in range(count):
            x = x * 0.5 + 1
        return x

    for count in (2, 3, 5, 3, 2, 5):
        wanted = drawn(3).numpy()
        for _ in range(count):
            wanted = wanted * 0.5 + 1
        numpy.testing.assert_allclose(repeated(drawn(3), count).numpy(), wanted)


def test_gradients_of_whole_numbers_that_are_sizes() -> None:
    compiled = opdsl.compile(lambda x, count: (x.exp().expand(count, 3) * count).sum())
    for count in (2, 3, 4, 4):
        x = drawn(3).requires_grad_()
        compiled(x, count).backward()
        numpy.testing.assert_allclose(x.grad.numpy(), drawn(3).exp().numpy() * count**2, rtol=1e-13)


def test_gradients_may_be_asked_for_within() -> None:
    weight = drawn(3, seed=1).requires_grad_()

    def penalised(x: Any) -> Any:
        y = (x * weight).exp()
        by_x, by_weight = opdsl.autograd.grad(y.sum(), [x, weight])
        (by_result,) = opdsl.autograd.grad((y * y).sum(), [y])
        return ((x * weight).exp() * by_x * 2).sum(), by_weight.tanh() + by_result

    compiled = opdsl.compile(penalised)
    for seed in (0, 0, 2):
        sides = []
        for function in (compiled, penalised):
            x = drawn(3, seed=seed).requires_grad_()
            loss, other = function(x)
            loss.backward()
            sides.append([loss.detach().numpy(), other.numpy(), x.grad.numpy()])
        for one, wanted in zip(*sides, strict=True):
            numpy.testing.assert_allclose(one, wanted, rtol=1e-12)
    assert compiled.explain().reasons == ()
    assert len(compiled.explain().programs) == 1


def test_names_of_the_parts_may_be_the_functions_own() -> None:
    def function(x: Any, kept_before: float) -> Any:
        looked_at = x * 3
        if x.sum() > 0:
            return looked_at + kept_before
        return looked_at - kept_before

    compiled = opdsl.compile(function)
    for number, wanted in ((1.0, 5.0), (-1.0, -5.0), (2.0, 8.0)):
        assert compiled(opdsl.tensor([number]), 2.0).tolist() == [wanted]
