"""Tests that models exported by PyTorch and run as programs return PyTorch's results, also for dynamic sizes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import attrs
import numpy
import pytest
import torch

import opdsl
from opdsl.errors import ProgramError
from opdsl.interop.torch import from_fx

BATCH = torch.export.Dim("batch", min=2, max=64)


class Block(torch.nn.Module):
    """Transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(16, 4, batch_first=True)
        self.norms = torch.nn.ModuleList([torch.nn.LayerNorm(16), torch.nn.LayerNorm(16)])
        self.inner = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.Linear(32, 16))

    def forward(self, x: Any) -> Any:
        """See ``torch.nn.Module``."""
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.inner(self.norms[1](x))


class Residual(torch.nn.Module):
    """Small ResNet."""

    def __init__(self) -> None:
        super().__init__()
        conv, norm = torch.nn.Conv2d, torch.nn.BatchNorm2d
        self.stem = torch.nn.Sequential(conv(3, 8, 7, 2, 3), norm(8), torch.nn.ReLU(), torch.nn.MaxPool2d(3, 2, 1))
        self.block = torch.nn.Sequential(conv(8, 8, 3, 1, 1), norm(8), torch.nn.ReLU(), conv(8, 8, 3, 1, 1), norm(8))
        self.head = torch.nn.Linear(8, 10)

    def forward(self, x: Any) -> Any:
        """See ``torch.nn.Module``."""
        x = self.stem(x)
        x = torch.relu(x + self.block(x))
        return self.head(torch.nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(torch.nn.Module):
    """LSTM over embedded tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = torch.nn.Embedding(20, 8), torch.nn.LSTM(8, 16, batch_first=True)

    def forward(self, x: Any) -> Any:
        """See ``torch.nn.Module``."""
        return self.lstm(self.embedding(x))[0][:, -1]


def exported(model: Any, *arguments: Any, dynamic: bool = True) -> Any:
    sizes = tuple({0: BATCH} for _ in arguments) if dynamic else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(model.eval(), arguments, dynamic_shapes=sizes).run_decompositions()


CASES = {
    "perceptron": (lambda: torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Tanh()), lambda n: torch.rand(n, 8)),
    "transformer": (Block, lambda n: torch.rand(n, 7, 16)),
    "resnet": (Residual, lambda n: torch.rand(n, 3, 16, 16)),
    "lstm": (Recurrent, lambda n: torch.randint(0, 20, (n, 6))),
}


@pytest.mark.parametrize("name", CASES)
def test_an_exported_model_gives_what_torch_gives(name: str) -> None:
    torch.manual_seed(0)
    make, arguments = CASES[name]
    model = make()
    program = from_fx(exported(model, arguments(3)))
    compiled = opdsl.compile(program)
    for size in (3, 5, 2):
        values = arguments(size)
        with torch.no_grad(), opdsl.no_grad():
            wanted = model(values).numpy()
            ours = opdsl.from_numpy(values.numpy())
            numpy.testing.assert_allclose(program(ours).numpy(), wanted, rtol=1e-5, atol=1e-6)
            numpy.testing.assert_allclose(compiled(ours).numpy(), wanted, rtol=1e-5, atol=1e-6)
    assert compiled.explain().reasons == ()


def test_weights_share_the_memory_of_torchs() -> None:
    model = torch.nn.Linear(2, 1, bias=False)
    program = from_fx(exported(model, torch.ones(2, 2)))
    with torch.no_grad():
        model.weight.fill_(3.0)
    with opdsl.no_grad():
        assert program(opdsl.ones(2, 2)).tolist() == [[6.0], [6.0]]


@torch.library.custom_op("exported_test::turned", mutates_args=())
def turned(x: torch.Tensor) -> torch.Tensor:
    """Return the transposed copy; an operator that only torch has."""
    return x.t().clone()


@turned.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(x.shape[::-1])


def test_what_is_not_here_is_named() -> None:
    class Special(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            """See ``torch.nn.Module``."""
            return turned(x)

    with pytest.raises(ProgramError, match="calls operators that opdsl lacks: exported_test::turned"):
        from_fx(exported(Special(), torch.ones(2, 2), dynamic=False))


def test_an_exported_program_is_saved_and_read(tmp_path: Path) -> None:
    class Cut(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return torch.cat([x[: x.shape[0] // 2], y]).view(-1, 2)[::3], x.nonzero().sum(0)

    rows = {0: torch.export.Dim.AUTO}
    inputs = torch.ones(8, 4), torch.ones(6, 4)
    program = from_fx(torch.export.export(Cut(), inputs, dynamic_shapes={"x": rows, "y": rows}))
    program.save(tmp_path / "program.json")
    loaded = opdsl.Program.load(tmp_path / "program.json")
    assert loaded == program
    for one, other in zip(
        loaded(opdsl.ones(13, 4), opdsl.ones(3, 4)), Cut()(torch.ones(13, 4), torch.ones(3, 4)), strict=True
    ):
        assert one.tolist() == other.tolist()


def test_names_and_expressions_of_a_graph_are_checked() -> None:
    graph = opdsl.trace(lambda x: x[: x.shape[0] // 2], opdsl.ones(6)).to_fx()
    (guard,) = [node for node in graph.graph.nodes if node.op == "placeholder"]
    guard.meta["opdsl"] = attrs.evolve(guard.meta["opdsl"], shape=("open('x', 'w')",))
    with pytest.raises(ProgramError, match="is called, which is none of"):
        from_fx(graph)
