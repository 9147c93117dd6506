"""Fused operator for a PyTorch model, declared in opdsl: a gated linear unit with a bias and a bounded gate.

Run it with ``python examples/torch_custom_op.py``. The seven lines of the declaration are all that has to be written.
"""

from __future__ import annotations

import time
from typing import Any

import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register

lib = Library("gated")


# ------------------------------------------------------------------------------------------------- the declaration


@lib.op(inplace=True, out=True, tags=["pointwise"])
@formula
def unit(self: Tensor, gate: Tensor, bias: Tensor, limit: float = 6.0) -> Tensor:
    """``self * swish(min(gate + bias, limit))``"""
    z = opdsl.clamp_max(gate + bias, limit)
    return self * z / (1.0 + opdsl.exp(-z))


register(lib)  # torch.ops.gated.unit: kernel, shapes, gradients of every order, vmap; unit_ and unit.out as well


# ------------------------------------------------------------------------------------------------- the model


class GatedUnit(torch.nn.Module):
    """Network of two linear layers, one of which gates the other, and an output layer."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.value = torch.nn.Linear(size, hidden)
        self.gate = torch.nn.Linear(size, hidden, bias=False)
        self.bias = torch.nn.Parameter(torch.zeros(hidden))
        self.out = torch.nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute predictions, ``(N, 1)``, from inputs, ``(N, size)``."""
        hidden: torch.Tensor = torch.ops.gated.unit(self.value(x), self.gate(x), self.bias)
        result: torch.Tensor = self.out(hidden)
        return result


def train(model: Any, x: torch.Tensor, y: torch.Tensor, steps: int) -> float:
    """Train the model and return the last mean squared error."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss = torch.tensor(0.0)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return loss.item()


# ----------------------------------------------------------------------------------- hand-written operator, to compare


@torch.library.custom_op("gated::by_hand", mutates_args=())
def by_hand(value: torch.Tensor, gate: torch.Tensor, bias: torch.Tensor, limit: float = 6.0) -> torch.Tensor:
    """Compute the same function as ``unit``, by torch's own operators, for comparison."""
    z = torch.clamp(gate + bias, max=limit)
    return value * torch.nn.functional.silu(z)


def microseconds(call: Any, *values: torch.Tensor, rounds: int = 300) -> float:
    """Return the time of a call in microseconds: the minimum of several measurements."""

    def once() -> float:
        started = time.perf_counter()
        for _ in range(rounds):
            call(*values)
        return (time.perf_counter() - started) / rounds * 1e6

    return min(once() for _ in range(7))


# ------------------------------------------------------------------------------------------------- the program


def derived() -> list[tuple[str, str]]:
    """Return rows of a table: the schemas, kernels and derivatives that torch got from the declaration."""
    packets: tuple[Any, ...] = (torch.ops.gated.unit, torch.ops.gated.unit_)
    overloads = [getattr(packet, overload) for packet in packets for overload in packet.overloads()]
    rows = [("operator", str(overload._schema).partition("::")[2]) for overload in overloads]
    keys = ("CPU", "Meta", "AutogradCPU", "FuncTorchBatched")
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    rows.append(("kernels for", ", ".join(key for key in keys if has("gated::unit", key))))
    op_names = sorted(torch._C._dispatch_get_all_op_names())
    return rows + [("derivative", op_name) for op_name in op_names if op_name.startswith("gated::_unit_gradient")]


def main() -> None:
    """Train, differentiate, compile and export the model, and measure the operator."""
    torch.manual_seed(0)
    x = torch.randn(256, 4)
    y = torch.sin(x.sum(1, keepdim=True)) * x[:, :1]
    model = GatedUnit(4, 32)
    print(f"trained: mean squared error {train(model, x, y, steps=150):.4f} (the variance is {y.var().item():.4f})")

    small = [torch.randn(3, 2, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    unit = torch.ops.gated.unit
    right = torch.autograd.gradcheck(unit, small, check_forward_ad=True) and torch.autograd.gradgradcheck(unit, small)
    print(f"gradients agree with finite differences: {right}")

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager", dynamic=True)
    close = all(torch.allclose(compiled(x[:count]), model(x[:count]), atol=1e-5) for count in (256, 100))
    print(f"compiled whole, for any batch: {close}")

    batch = {"x": {0: torch.export.Dim("batch")}}
    exported = torch.export.export(model, (x,), dynamic_shapes=batch)
    print(f"exported: {[str(node.target) for node in exported.graph.nodes if 'gated' in str(node.target)]}")

    print("\nwhat was derived")
    for kind, what in derived():
        print(f"   {kind:<12} {what}")

    print("\na call with 4 elements, microseconds")
    values = [torch.randn(4) for _ in range(3)]
    ours, theirs = microseconds(unit, *values), microseconds(by_hand, *values)
    print(f"   opdsl {ours:.1f}, torch.library.custom_op {theirs:.1f}: {ours / theirs:.2f}x")
    large = [torch.randn(1 << 20) for _ in range(3)]
    ours, theirs = microseconds(unit, *large, rounds=3), microseconds(by_hand, *large, rounds=3)
    print(f"with 1M elements\n   opdsl {ours:.0f}, torch.library.custom_op {theirs:.0f}: {ours / theirs:.2f}x")


if __name__ == "__main__":
    main()
