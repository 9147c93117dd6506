"""Tests of values over dims, compared with PyTorch's ``functorch.dim`` on random expressions.

Intentional differences have their own tests: promotion (dims count as dimensions), ``...`` in ``order``, and size 1,
which broadcasts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import functorch.dim
import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.library import opcheck

import opdsl
from opdsl.errors import DimError
from opdsl.interop.torch import register

NAMES = "ijk"
UNARY: tuple[Callable[[Any], Any], ...] = (
    lambda x: -x,
    lambda x: x.exp(),
    lambda x: x.square(),
    lambda x: x.tanh() + 1,
    lambda x: 2.0 - x,
    lambda x: x / 2,
    lambda x: x.abs().sqrt(),
    lambda x: x.clamp(-0.5, 0.5),
)
BINARY: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / (y * y + 1),
    lambda x, y: x.maximum(y),
)
FOLDS = ("sum", "mean", "amax", "amin", "prod", "logsumexp")
KEEPING = ("softmax", "cumsum", "log_softmax")


@st.composite
def expressions(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Any]]:
    """Return sizes of dims, and steps: reads over some dims, operators, folds over one dim."""
    sizes = tuple(draw(st.sampled_from([1, 2, 3])) for _ in NAMES)
    steps: list[Any] = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["unary", "binary", "fold", "keep"]))
        names = draw(st.permutations(NAMES))[: draw(st.integers(1, 3))]
        bare = draw(st.sampled_from([0, 2]))
        choice = draw(st.integers(0, 7))
        steps.append((kind, names, bare, choice))
    return sizes, steps


def run(library: Any, make: Callable[[numpy.ndarray[Any, Any]], Any], sizes: tuple[int, ...], steps: list[Any]) -> Any:
    """Return the result of the steps, ordered, as an array."""
    named = dict(zip(NAMES, library.dims(3, list(sizes)), strict=True))
    random = numpy.random.default_rng(3)

    def read(names: list[str], positional: int) -> Any:
        shape = tuple(sizes[NAMES.index(name)] for name in names) + (positional,) * bool(positional)
        return make(random.standard_normal(shape))[tuple(named[name] for name in names)]

    value, varies = read(list(NAMES), 2), set(NAMES)
    for kind, names, positional, choice in steps:
        if kind == "unary":
            value = UNARY[choice % len(UNARY)](value)
        elif kind == "binary":
            value = BINARY[choice % len(BINARY)](value, read(names, positional))
            varies |= set(names)
        elif names[0] in varies and kind == "fold" and len(varies) > 1:
            value = getattr(value, FOLDS[choice % len(FOLDS)])(named[names[0]])
            varies.remove(names[0])
        elif names[0] in varies and kind == "keep":
            dim, name = named[names[0]], KEEPING[choice % len(KEEPING)]
            # functorch accepts dims only in folds.
            value = getattr(value, name)(dim) if library is opdsl else getattr(value.order(dim), name)(0)[dim]
    placed = sorted(varies)
    # functorch puts positional dimensions last.
    ellipsis = [...] if library is opdsl else []
    return value.order(*(named[name] for name in placed), *ellipsis)


@settings(deadline=None)
@given(expressions())
def test_random_expressions(drawn: tuple[tuple[int, ...], list[Any]]) -> None:
    sizes, steps = drawn
    ours = run(opdsl, opdsl.from_numpy, sizes, steps)
    theirs = run(functorch.dim, torch.from_numpy, sizes, steps)
    assert ours.shape == tuple(theirs.shape)
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=30)
@given(expressions())
def test_gradients_of_random_expressions(drawn: tuple[tuple[int, ...], list[Any]]) -> None:
    sizes, steps = drawn
    leaves: dict[Any, list[Any]] = {opdsl: [], torch: []}

    def leaf(library: Any, array: numpy.ndarray[Any, Any]) -> Any:
        leaves[library].append(library.from_numpy(array).requires_grad_())
        return leaves[library][-1]

    run(opdsl, lambda array: leaf(opdsl, array), sizes, steps).sum().backward()
    run(functorch.dim, lambda array: leaf(torch, array), sizes, steps).sum().backward()
    for ours, theirs in zip(leaves[opdsl], leaves[torch], strict=True):
        if theirs.grad is not None:
            wanted = theirs.grad.numpy()
            numpy.testing.assert_allclose(ours.grad.numpy(), wanted, rtol=1e-8, atol=1e-8, equal_nan=True)


def both(text: str, **arrays: numpy.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Return the values of an expression in opdsl and in functorch; ``i, j, k`` are dims."""
    results = []
    for library, dims in ((opdsl, opdsl.dims), (torch, functorch.dim.dims)):
        i, j, k = dims(3)
        scope = {"i": i, "j": j, "k": k} | {name: library.from_numpy(array) for name, array in arrays.items()}
        results.append(eval(text, {"library": library}, scope))
    return results[0], results[1]


X, Y = (numpy.random.default_rng(seed).standard_normal((3, 4)).astype("f4") for seed in (1, 2))
SQUARE = numpy.random.default_rng(4).standard_normal((3, 3)).astype("f4")


@pytest.mark.parametrize(
    "text",
    [
        "x[i, j].order(j, i)",
        "x[i, j].order((i, j))",
        "x[i, j].sum((i, j))",
        "x[i].sum(0).order(i)",
        "x[i].sum(-1).order(i)",
        "s[i, i].order(i)",
        "x[i, j].max(i)[0].order(j)",
        "(x[i, k] * y[j, k]).sum(k).order(i, j)",
        "x[i].matmul(y[j]).order(i, j)",
        "(x[i, j] * i + j).order(i, j)",
        "x[i, j].order(i)[0].order(j)",
        "x[i, library.tensor([1, 2])].sum(0).order(i)",
        "x[i, j].argmax(j).order(i)",
        "x[i, j].std(j).order(i)",
    ],
)
def test_the_same_text_gives_the_same(text: str) -> None:
    ours, theirs = both(text, x=X, y=Y, s=SQUARE)
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=1e-6)
    assert str(ours.dtype).removeprefix("opdsl.") == str(theirs.dtype).removeprefix("torch.")


@pytest.mark.parametrize("text", ["x[i, j].sum(k)", "x[i, j].sum(i, keepdim=True)", "s[i, j] + x[j, k]", "x[i, j, k]"])
def test_what_is_refused_there_is_refused_here(text: str) -> None:
    i, j, k = functorch.dim.dims(3)
    with pytest.raises(Exception, match=r".+"):
        eval(text, {}, {"i": i, "j": j, "k": k, "x": torch.from_numpy(X), "s": torch.ones(3, 2)})
    i, j, k = opdsl.dims(3)
    with pytest.raises((DimError, opdsl.errors.DimensionError)):
        eval(text, {}, {"i": i, "j": j, "k": k, "x": opdsl.from_numpy(X), "s": opdsl.ones(3, 2)})


def test_promotion_differs_on_purpose() -> None:
    """A float32 vector and a 0-d float64 tensor promote to float32, in PyTorch and over dims in opdsl, not in
    functorch.
    """
    i = opdsl.dim()
    ours = opdsl.ones(3)[i] * opdsl.tensor(2.0, dtype=opdsl.float64)
    assert ours.dtype is opdsl.float32
    assert (torch.ones(3) * torch.tensor(2.0, dtype=torch.float64)).dtype is torch.float32
    j = functorch.dim.dims(1)
    assert (torch.ones(3)[j] * torch.tensor(2.0, dtype=torch.float64)).dtype is torch.float64


def test_order_names_positional_dimensions_on_purpose() -> None:
    j = functorch.dim.dims(1)
    assert torch.ones(3, 4)[j].order(j).shape == (3, 4)
    i = opdsl.dim()
    with pytest.raises(DimError, match=r"\.\.\. is missing"):
        opdsl.ones(3, 4)[i].order(i)
    assert opdsl.ones(3, 4)[i].order(..., i).shape == (4, 3)


def test_bodies_with_dims_serve_torch() -> None:
    """Bodies with dims can be traced by torch, where sizes are symbols and indices of dims (arange) have symbolic
    sizes.
    """
    with opdsl.Library("torch_dims") as lib:

        @lib.op
        def convolution(x: opdsl.Tensor, weight: opdsl.Tensor) -> opdsl.Tensor:
            """Compute a convolution with zeros outside."""
            n, c, o, u = opdsl.dims(4)
            i = opdsl.dim(x.shape[-1])
            return (x.outside(0.0)[n, c, i + u - 1] * weight[o, c, u]).sum((c, u)).order(n, o, i)

        register(lib)
        function = torch.ops.torch_dims.convolution.default
        compiled = torch.compile(lambda x, w: function(x, w) * 2, dynamic=True, backend="aot_eager")
        weight = torch.randn(4, 3, 3, dtype=torch.float64)
        for size in (6, 8, 9):
            x = torch.randn(2, 3, size, dtype=torch.float64, requires_grad=True)
            wanted = 2 * torch.nn.functional.conv1d(x, weight, padding=1)
            torch.testing.assert_close(compiled(x, weight), wanted)
            grads = [torch.autograd.grad(y.square().sum(), x)[0] for y in (compiled(x, weight), wanted)]
            torch.testing.assert_close(*grads)
        opcheck(function, (x.detach().requires_grad_(), weight))


@pytest.mark.parametrize("requires_grad", [False, True])
def test_mistakes_in_a_registered_formula_are_underlined_with_and_without_gradients(requires_grad: bool) -> None:
    with opdsl.Library("dims_underlined") as lib:

        @lib.op
        @opdsl.formula
        def windows(x: opdsl.Tensor, weight: opdsl.Tensor) -> opdsl.Tensor:
            t, u = opdsl.dims(2)
            y = (x.outside(0.0)[t + u - 1] * weight[u]).sum(u)
            return (y * opdsl.sigmoid(y)).order(t)

        register(lib)
        message = r"(?s)formula windows: the size of t is unknown.*order\(t\)\n.*~\^"
        x = torch.ones(4, requires_grad=requires_grad)
        with pytest.raises(DimError, match=message) as caught:
            torch.ops.dims_underlined.windows(x, torch.ones(2))
        assert str(caught.value).count("formula windows") == 1


def test_casts_before_a_product_of_integers_keep_it_from_wrapping() -> None:
    x = torch.full((2, 8), 100, dtype=torch.int8)
    ours = opdsl.from_numpy(x.numpy().copy())
    i, k, j = opdsl.dims(3)
    product = (ours[i, k].to(opdsl.int32) * ours[j, k].to(opdsl.int32)).sum(k).order(i, j)
    expected = (x[:, None].to(torch.int32) * x.to(torch.int32)).sum(2)
    assert product.tolist() == expected.tolist()
    assert product.dtype.name == str(expected.dtype).removeprefix("torch.")
