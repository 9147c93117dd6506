"""Program of ``test_sharding.py``, which checks registered operators on DTensors in several processes.

Run it as ``python sharded.py FOLDER 2 4``. Every process creates the same whole tensors, and compares the results that
it computes from shards with those of the whole tensors. The number of sent bytes is compared with that of aten's
operators.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor, init_device_mesh
from torch.utils._python_dispatch import TorchDispatchMode

import opdsl
from opdsl import Alias, Library, Tensor, formula
from opdsl.interop.torch import register

lib = Library("sharded")


@lib.op(inplace=True, out=True)
@formula
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    z = beta * self
    return (opdsl.maximum(z, opdsl.tensor(0.0)) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@lib.op(inplace=True)
@formula
def scaled_sum(self: Tensor, other: Tensor, factor: float = 2.0) -> Tensor:
    return factor * (self + other)


@lib.op
@formula
def total(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    return self.sum(dim, keepdim)


@total.derivative("self")
def total_gradient(grad: Tensor, self: Tensor, dim: list[int] | None, keepdim: bool) -> Tensor:
    kept = grad if keepdim or dim is None else grad.unsqueeze(dim[0])
    return kept.expand(self.shape)


@lib.op
@formula
def average(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    return self.mean(dim, keepdim)


@lib.op
@formula
def largest(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
    return self.amax(dim or [], keepdim)


@lib.op
@formula
def row_softmax(self: Tensor, dim: int) -> Tensor:
    exponential = (self - self.amax(dim, True)).exp()
    return exponential / exponential.sum(dim, True)


@lib.op
@formula
def row_softmax_back(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return (grad - (grad * result).sum(dim, True)) * result


@row_softmax.derivative("self")
def row_softmax_gradient(grad: Tensor, result: Tensor, dim: int) -> Tensor:
    return row_softmax_back(grad, result, dim)


@lib.op
def affine(self: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Compute ``smooth_relu(self @ weight + bias)``; a composite, which is sharded as the operators that it calls."""
    return smooth_relu(self @ weight + bias)


@lib.op
def centred(self: Tensor) -> Tensor:
    return self - total(self, [0], True) / self.shape[0]


@lib.op
@formula
def scaled_by(self: Tensor, *, scale: Tensor, beta: float = 1.0) -> Tensor:
    return self * scale + beta


@lib.op
@formula
def extremes(self: Tensor, *, other: Tensor) -> tuple[Tensor, Tensor]:
    return opdsl.maximum(self, other), opdsl.minimum(self, other)


@lib.op
def accumulate(source: Tensor, total: Tensor[Alias("a", write=True)]) -> None: ...


@accumulate.kernel("CPU", "Meta")
def accumulate_kernel(source: Tensor, total: Tensor) -> None:
    total.add_(source.sum([0]))


@lib.op
def accumulate_pieces(source: Tensor, total: Tensor[Alias("a", write=True)]) -> None: ...


@accumulate_pieces.kernel("CPU")
def accumulate_pieces_kernel(source: Tensor, total: Tensor) -> None:
    total.add_(source * 3)


accumulate_pieces.sharding(elementwise=True)


@lib.op
def accumulate_body(source: Tensor, total: Tensor[Alias("a", write=True)]) -> None:
    total.add_(source * 3)


class Traffic(TorchDispatchMode):
    """Torch dispatch mode that counts the bytes passed to collectives."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if any(issubclass(type_, DTensor) for type_ in types):
            return NotImplemented
        if function.namespace == "_c10d_functional" and "wait" not in function._opname:
            self.bytes += args[0].nbytes
        return function(*args, **(kwargs or {}))


SUM = Partial("sum")
S0, S1, R = Shard(0), Shard(1), Replicate()
X = torch.linspace(-2.0, 2.0, 48, dtype=torch.float64).reshape(8, 6)
UNEVEN = torch.linspace(-3.0, 2.0, 42, dtype=torch.float64).reshape(7, 6)
W = torch.linspace(-1.0, 1.0, 24, dtype=torch.float64).reshape(6, 4)
B = torch.linspace(0.0, 1.0, 4, dtype=torch.float64)

Call = Callable[..., torch.Tensor]


def softplus(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.softplus(x, threshold=1e9)


def cases() -> dict[str, tuple[Call, Call, list[tuple[torch.Tensor, Any]]]]:
    """Return the calls, the equivalent calls of aten, and the arguments with their placements, by name."""
    own: Any = torch.ops.sharded
    calls: dict[str, tuple[Call, Call, list[tuple[torch.Tensor, Any]]]] = {}
    for x, shape, placements in ((X, "even", (S0, S1, R)), (UNEVEN, "uneven", (S0,))):
        for placement in placements:
            name = f"{shape} {placement}"
            calls |= {
                f"pointwise {name}": (own.smooth_relu, softplus, [(x, placement)]),
                f"sum {name}": (lambda x: own.total(x, [0]), lambda x: x.sum(0), [(x, placement)]),
                f"sum of all {name}": (own.total, torch.sum, [(x, placement)]),
                f"mean {name}": (lambda x: own.average(x, [0]), lambda x: x.mean(0), [(x, placement)]),
                f"softmax {name}": (lambda x: own.row_softmax(x, 1), lambda x: x.softmax(1), [(x, placement)]),
                f"a body {name}": (own.centred, lambda x: x - x.sum(0, True) / x.shape[0], [(x, placement)]),
            }
    calls |= {
        "largest": (lambda x: own.largest(x, [0]), lambda x: x.amax(0), [(X, S0)]),
        "keyword tensors": (
            lambda x, y: own.scaled_by(x, scale=y),
            lambda x, y: x * y + 1.0,
            [(X, S0), (X + 2.0, S1)],
        ),
        "keyword tensors, broadcast": (
            lambda x, y: own.scaled_by(x, scale=y, beta=2.0),
            lambda x, y: x * y + 2.0,
            [(UNEVEN, S0), (UNEVEN[0] + 2.0, S0)],
        ),
        "keyword tensors, summands": (
            lambda x, y: own.scaled_by(x, scale=y),
            lambda x, y: x * y + 1.0,
            [(X, SUM), (X + 2.0, SUM)],
        ),
        "keyword tensors, two results": (
            lambda x, y: torch.stack(own.extremes(x, other=y)).sum(0),
            lambda x, y: torch.stack((torch.maximum(x, y), torch.minimum(x, y))).sum(0),
            [(X, S0), (X.flip(0), SUM)],
        ),
        "summands": (own.scaled_sum, lambda x, y: (x + y) * 2.0, [(X, SUM), (X + 1.0, SUM)]),
        "summands of a sum": (lambda x: own.total(x, [1]), lambda x: x.sum(1), [(X, SUM)]),
        "a summand and a whole": (own.scaled_sum, lambda x, y: (x + y) * 2.0, [(X, SUM), (X + 1.0, R)]),
        "columns of weights": (own.affine, lambda x, w, b: softplus(x @ w + b), [(X, R), (W, S1), (B, S0)]),
        "rows of weights": (own.affine, lambda x, w, b: softplus(x @ w + b), [(X, S1), (W, S0), (B, R)]),
        "rows of data": (own.affine, lambda x, w, b: softplus(x @ w + b), [(X, S0), (W, R), (B, R)]),
    }
    return calls


def placed(tensor: torch.Tensor, placement: Any, mesh: Any) -> DTensor:
    """Distribute a whole tensor; for partial sums the first process has the whole, the others zeros."""
    if placement == SUM:
        own = tensor if mesh.get_local_rank() == 0 else torch.zeros_like(tensor)
        return DTensor.from_local(own.clone(), mesh, [SUM])
    return distribute_tensor(tensor.clone(), mesh, [placement])


def run(function: Call, tensors: list[tuple[torch.Tensor, Any]], mesh: Any, *, backward: bool) -> tuple[Any, ...]:
    """Return the bytes that are sent forward and backward, the whole result and the whole gradients."""
    inputs = [placed(tensor, placement, mesh).requires_grad_(backward) for tensor, placement in tensors]
    with Traffic() as forward:
        computed = function(*inputs)
        whole = computed.full_tensor()
    if not backward:
        return forward.bytes, 0, whole.detach(), []
    with Traffic() as back:
        computed.sin().sum().full_tensor().backward()
        gradients = [input.grad.full_tensor() for input in inputs]
    return forward.bytes, back.bytes, whole.detach(), gradients


def check(mesh: Any) -> None:
    """Check that every case has the results of the whole tensors, and sends no more than aten's operators."""
    own: Any = torch.ops.sharded
    for name, (ours, theirs, tensors) in cases().items():
        backward = name != "largest" and not name.startswith("mean")
        wholes = [tensor.clone().requires_grad_(backward) for tensor, _ in tensors]
        expected = theirs(*wholes)
        sent = run(ours, tensors, mesh, backward=backward)
        torch.testing.assert_close(sent[2], expected.detach(), msg=lambda text, name=name: f"{name}: {text}")
        if backward:
            expected.sin().sum().backward()
            for gradient, whole in zip(sent[3], wholes, strict=True):
                torch.testing.assert_close(
                    gradient, whole.grad, msg=lambda text, name=name: f"{name}, backward: {text}"
                )
        theirs_sent = run(theirs, tensors, mesh, backward=backward)
        assert sent[:2] <= theirs_sent[:2], f"{name}: {sent[:2]} bytes, aten {theirs_sent[:2]}"
    check_writes(own, mesh)


def check_writes(own: Any, mesh: Any) -> None:
    """Check that in-place and ``out=`` variants write the local shards, and send nothing."""
    for placement in (S0, S1):
        x = placed(X, placement, mesh)
        with Traffic() as traffic:
            assert own.smooth_relu_(x) is x
            out = torch.empty_like(x)
            own.smooth_relu.out(placed(X, placement, mesh), out=out)
            own.scaled_sum_(placed(X, SUM, mesh), placed(X, SUM, mesh))
        assert traffic.bytes == 0 and x.placements == (placement,)
        torch.testing.assert_close(x.full_tensor(), softplus(X))
        torch.testing.assert_close(out.full_tensor(), softplus(X))
    for here, there in itertools.product((S0, S1, R, SUM), repeat=2):
        column = X[0].contiguous()
        total = placed(column, S0 if here == S1 else here, mesh)
        own.accumulate(placed(X, there, mesh), total)
        torch.testing.assert_close(total.full_tensor(), column + X.sum(0), msg=f"accumulate {here} {there}")
        assert total.placements == (S0 if here == S1 else here,)
        for call in (own.accumulate_pieces, own.accumulate_body):
            if call is own.accumulate_body and here != there:
                continue  # aten's own add_ decides which placements it accepts
            total = placed(X, here, mesh)
            call(placed(X, there, mesh), total)
            torch.testing.assert_close(total.full_tensor(), X * 4, msg=f"{call} {here} {there}")
    recorded = placed(X, S0, mesh).requires_grad_()
    written = own.smooth_relu_(recorded * 1.0)
    written.sum().full_tensor().backward()
    torch.testing.assert_close(recorded.grad.full_tensor(), torch.sigmoid(X))
    with torch.inference_mode():
        result = own.affine(placed(X, S1, mesh), placed(W, S0, mesh), placed(B, R, mesh))
        torch.testing.assert_close(result.full_tensor(), softplus(X @ W + B))


def process(rank: int, count: int, store: str) -> None:
    """Join the process group as one of ``count`` processes and run the checks."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=count)
    try:
        check(init_device_mesh("cpu", (count,)))
    finally:
        dist.destroy_process_group()


def main() -> None:
    """Run the checks once for each number of processes."""
    torch.set_num_threads(1)
    register(lib)
    for count in map(int, sys.argv[2:]):
        mp.start_processes(process, (count, os.path.join(sys.argv[1], f"store{count}")), count, start_method="fork")
    print("done")


if __name__ == "__main__":
    main()
