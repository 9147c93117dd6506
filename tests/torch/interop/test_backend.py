"""Tests that models train under ``torch.compile(backend="opdsl")`` as they do without a compiler."""

from __future__ import annotations

import copy
import gc
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional

from opdsl.interop.torch import backend, compiled_graphs, pieces


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make graphs without a program raise an error, since torch would run them and no test would notice."""

    def lost(module: torch.fx.GraphModule) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            raise AssertionError(f"no program serves {module.code}")

        return call

    make = pieces.Piece.__init__

    def init(self: pieces.Piece, module: torch.fx.GraphModule) -> None:
        make(self, module)
        del self._modules["inner"]
        self.__dict__["inner"] = lost(module)

    monkeypatch.setattr(pieces.Piece, "__init__", init)
    torch.manual_seed(0)
    gc.collect()
    yield
    torch._dynamo.reset()


class Gpt(torch.nn.Module):
    """GPT with tied weights and causal attention."""

    def __init__(self, width: int = 16, vocabulary: int = 17) -> None:
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(16, width)
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(width) for _ in range(2)])
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.inner = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(approximate="tanh"), torch.nn.Linear(4 * width, width)
        )
        self.head = torch.nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """See ``torch.nn.Module``."""
        batch, length = tokens.shape
        x = self.tokens(tokens) + self.places(torch.arange(length))
        q, k, v = (part.view(batch, length, 4, -1).transpose(1, 2) for part in self.qkv(self.norms[0](x)).split(16, 2))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(x.shape))
        return self.head(x + self.inner(self.norms[1](x)))


class Cells(torch.nn.Module):
    """Recurrent network of an LSTM cell and a GRU cell."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.gru = torch.nn.LSTMCell(4, 8), torch.nn.GRUCell(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See ``torch.nn.Module``."""
        h = c = g = x.new_zeros(x.shape[1], 8)
        for step in x:
            h, c = self.lstm(step, (h, c))
            g = self.gru(h, g)
        return g


class Writing(torch.nn.Module):
    """Module that writes in place: to its result, to a view of the result, and to its buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(4))
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """See ``torch.nn.Module``."""
        x = x * self.scale
        x[:, 1:3].mul_(2.0)
        self.total.add_(x.detach().sum(0))
        self.count += 1
        y = x.t()
        y[0] = y[1]
        return y + self.total[:, None]


def convolutional() -> torch.nn.Module:
    nn = torch.nn
    blocks = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 8, 3)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))


# A model, and batches of several sizes: at the second size dynamo makes sizes dynamic.
MODELS: dict[str, tuple[Callable[[], torch.nn.Module], list[torch.Tensor]]] = {
    "perceptron in bfloat16": (
        lambda: torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).bfloat16(),
        [torch.rand(5, 8).bfloat16()],
    ),
    "convolutions": (convolutional, [torch.rand(5, 3, 16, 16), torch.rand(7, 3, 16, 16)]),
    "transformer": (Gpt, [torch.randint(0, 17, size) for size in ((2, 8), (3, 9), (5, 11), (1, 11))]),
    "recurrent cells": (Cells, [torch.rand(4, 3, 4)]),
    "writes": (Writing, [torch.rand(3, 4), torch.rand(5, 4), torch.rand(7, 4)]),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_trains_as_it_does_without_a_compiler(name: str) -> None:
    make, batches = MODELS[name]
    model = make()
    other = copy.deepcopy(model)
    compiled = torch.compile(model, backend=backend)
    for batch in batches:
        losses = []
        for call, owner in ((compiled, model), (other, other)):
            output = call(batch)
            loss = output.float().square().mean()
            loss.backward()
            with torch.no_grad():
                for parameter in owner.parameters():
                    parameter.sub_(parameter.grad, alpha=0.1)
                    parameter.grad = None
            losses.append((output.detach(), loss.detach()))
        torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-5)
    tolerance = {"rtol": 1e-2, "atol": 1e-3} if "bfloat16" in name else {"rtol": 1e-3, "atol": 1e-5}
    torch.testing.assert_close(model.state_dict(), other.state_dict(), **tolerance)
    assert {compiled_graph.kind for compiled_graph in compiled_graphs()} == {"forward", "backward"}
    assert all(compiled_graph.programs for compiled_graph in compiled_graphs())


@torch.library.custom_op("backend_test::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    """Return the transposed copy; an operator that only torch has."""
    return x.t().clone()


@turned.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[::-1])


def test_what_torch_runs_is_named_and_draws_what_torch_draws() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x.exp() * 2) + turned(x.tanh() + 1)

    compiled = torch.compile(function, backend=backend)
    x = torch.rand(4, 4)
    both = []
    for variant in (compiled, function):
        torch.manual_seed(1)
        both.append(variant(x))
    torch.testing.assert_close(*both)
    (graph,) = compiled_graphs()
    assert graph.kind == "inference"
    assert {*graph.left} == {"aten::native_dropout", "backend_test::turned"}
    assert "torch runs aten::native_dropout: it draws torch's random numbers" in str(graph)


def test_where_elements_decide_torch_runs_one_operator_and_not_the_graph() -> None:
    def function(x: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = torch.ops.aten._unique2(places)[0]
        return x.exp().sum(0), torch.bincount(places) + 1, x.tanh() * 2 + rows.sum()

    inputs = torch.rand(3, 5), torch.tensor([2, 0, 2])
    torch.testing.assert_close(torch.compile(function, backend=backend)(*inputs), function(*inputs))
    assert compiled_graphs()
    assert all("aten::exp" not in compiled_graph.left for compiled_graph in compiled_graphs())


def test_results_that_are_arguments_and_views_of_them() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        return x, x[1:], y, y.t(), y.t()[0], x.t().contiguous() + 1

    x = torch.rand(3, 4)
    computed = torch.compile(function, backend=backend)(x)
    torch.testing.assert_close(computed, function(x))
    assert [view.stride() for view in computed] == [view.stride() for view in function(x)]
    assert computed[1].data_ptr() == x[1:].data_ptr()
    assert computed[3].data_ptr() == computed[2].data_ptr()


@pytest.mark.parametrize("strides", ["transposed", "expanded", "offset"])
def test_layouts_of_arguments(strides: str) -> None:
    whole = torch.rand(6, 5)
    x = {"transposed": whole.t(), "expanded": whole[0].expand(5, 5), "offset": whole[1:, 2:]}[strides]
    compiled = torch.compile(lambda x: (x + 1).softmax(-1) @ x.t().float(), backend=backend)
    torch.testing.assert_close(compiled(x), (x + 1).softmax(-1) @ x.t())


def test_errors_are_torchs_own() -> None:
    compiled = torch.compile(lambda x, table: functional.embedding(x, table) * 2, backend=backend)
    with pytest.raises((IndexError, AssertionError)):
        compiled(torch.tensor([7]), torch.rand(3, 2))


def test_the_backend_has_an_entry_point() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    points = tomllib.loads(text)["project"]["entry-points"]
    assert points["torch_dynamo_backends"] == {"opdsl": "opdsl.interop.torch:backend"}
