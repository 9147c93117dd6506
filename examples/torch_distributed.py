"""Training on several processes: a model with declared operators, its data and its weights in pieces.

Nothing here says how the operators are cut: that follows from their declarations, forward and backward. Losses are
those of one process.

    python examples/torch_distributed.py [--processes 2 4]
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_tensor
from torch.multiprocessing.spawn import start_processes

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register

lib = Library("distributed_training")


@lib.op
@formula
def gated(self: Tensor, gate: Tensor, bias: Tensor) -> Tensor:
    """``self * swish(gate + bias)``"""
    z = gate + bias
    return self * z / (1.0 + opdsl.exp(-z))


@lib.op
@formula
def centred(self: Tensor) -> Tensor:
    """Rows whose mean is 0: a row is what cannot be cut."""
    return self - self.mean(-1, keepdim=True)


@centred.derivative("self")
def centred_derivative(grad: Tensor) -> Tensor:
    return centred(grad)


class Model(nn.Module):
    """Two linear maps, of which one gates the other, and one that joins them."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.value = nn.Linear(size, hidden, bias=False, dtype=torch.float64)
        self.gate = nn.Linear(size, hidden, bias=False, dtype=torch.float64)
        self.bias = nn.Parameter(torch.zeros(hidden, dtype=torch.float64))
        self.out = nn.Linear(hidden, 3, bias=False, dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(N, size) -> (N, 3)"""
        own: Any = torch.ops.distributed_training
        x = own.centred(x)
        result: torch.Tensor = self.out(own.gated(self.value(x), self.gate(x), self.bias))
        return result


# A weight of nn.Linear has a row for each number that comes out.
TENSOR_PARALLEL: Mapping[str, Placement] = {
    "value.weight": Shard(0),
    "gate.weight": Shard(0),
    "bias": Shard(0),
    "out.weight": Shard(1),
}


def in_pieces(model: nn.Module, mesh: Any, weights: Sequence[Mapping[str, Placement]]) -> None:
    """Let the processes of a mesh share a model.

    Args:
        model: whose parameters become DTensors.
        mesh: of processes.
        weights: for each dimension of the mesh the placements of parameters; those that are not named are everywhere.
    """
    for name, parameter in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        placements = [weight.get(name, Replicate()) for weight in weights]
        distributed = distribute_tensor(parameter.detach(), mesh, placements)
        setattr(model.get_submodule(owner), last, nn.Parameter(distributed))


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> list[float]:
    """The losses of some steps."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.5)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.full_tensor() if isinstance(loss, DTensor) else loss))
    return losses


def example() -> tuple[Model, torch.Tensor, torch.Tensor]:
    """The same model and data in every process."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(64, 8, dtype=torch.float64, generator=draw)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs(), x.sum(1)], 1)
    torch.manual_seed(1)
    return Model(8, 16), x, y


def process(rank: int, count: int, store: str, steps: int) -> None:
    """One of several processes."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=count)
    expected = train(*example(), steps)
    ways: dict[str, tuple[tuple[int, ...], list[Mapping[str, Placement]], list[Placement]]] = {
        "data": ((count,), [{}], [Shard(0)]),
        "tensors": ((count,), [TENSOR_PARALLEL], [Replicate()]),
    }
    if count > 2:
        ways["data and tensors"] = (2, count // 2), [{}, TENSOR_PARALLEL], [Shard(0), Replicate()]
    for name, (shape, weights, data) in ways.items():
        mesh = init_device_mesh("cpu", shape)
        model, x, y = example()
        in_pieces(model, mesh, weights)
        losses = train(model, distribute_tensor(x, mesh, data), distribute_tensor(y, mesh, data), steps)
        if rank == 0:
            agree = all(math.isclose(*pair, rel_tol=1e-9) for pair in zip(losses, expected, strict=True))
            print(f"{count} processes, {name} in pieces: loss {losses[0]:.4f} -> {losses[-1]:.4f}, ", end="")
            print(f"as in one process: {agree}", flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--steps", type=int, default=20)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    register(lib)
    start: Any = start_processes
    with tempfile.TemporaryDirectory() as folder:
        for count in chosen.processes:
            arguments = count, str(Path(folder) / f"store{count}"), chosen.steps
            start(process, arguments, count, start_method="fork")


if __name__ == "__main__":
    main()
