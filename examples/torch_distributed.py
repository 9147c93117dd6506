"""Training on several processes: a model with declared operators, whose data and weights are sharded.

Nothing in this file says how the operators are sharded: that follows from their declarations, forward and backward. The
losses are those of training in one process.

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
    """Subtract the mean from each row, so rows cannot be split among processes."""
    return self - self.mean(-1, keepdim=True)


@centred.derivative("self")
def centred_derivative(grad: Tensor) -> Tensor:
    return centred(grad)


class Model(nn.Module):
    """Network of two linear layers, one of which gates the other, and an output layer."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.value = nn.Linear(size, hidden, bias=False, dtype=torch.float64)
        self.gate = nn.Linear(size, hidden, bias=False, dtype=torch.float64)
        self.bias = nn.Parameter(torch.zeros(hidden, dtype=torch.float64))
        self.out = nn.Linear(hidden, 3, bias=False, dtype=torch.float64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute predictions, ``(N, 3)``, from inputs, ``(N, size)``."""
        own: Any = torch.ops.distributed_training
        x = own.centred(x)
        result: torch.Tensor = self.out(own.gated(self.value(x), self.gate(x), self.bias))
        return result


# A weight of nn.Linear has a row for each output feature.
TENSOR_PARALLEL: Mapping[str, Placement] = {
    "value.weight": Shard(0),
    "gate.weight": Shard(0),
    "bias": Shard(0),
    "out.weight": Shard(1),
}


def in_pieces(model: nn.Module, mesh: Any, weights: Sequence[Mapping[str, Placement]]) -> None:
    """Distribute the parameters of a model over the processes of a mesh, in place.

    Args:
        model: the model, whose parameters become DTensors.
        mesh: the device mesh.
        weights: for each dimension of the mesh the placements of parameters by name; others are replicated.
    """
    for name, parameter in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        placements = [weight.get(name, Replicate()) for weight in weights]
        distributed = distribute_tensor(parameter.detach(), mesh, placements)
        setattr(model.get_submodule(owner), last, nn.Parameter(distributed))


def train(model: nn.Module, x: torch.Tensor, y: torch.Tensor, steps: int) -> list[float]:
    """Train the model and return the loss of each step."""
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
    """Return a model and data that are equal in every process."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(64, 8, dtype=torch.float64, generator=draw)
    y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs(), x.sum(1)], 1)
    torch.manual_seed(1)
    return Model(8, 16), x, y


def process(rank: int, count: int, store: str, steps: int) -> None:
    """Run one of the processes: train in each way of sharding, and compare the losses with those of one process."""
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
    """Parse the command line and start the processes."""
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
