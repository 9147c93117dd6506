"""A row function that reads its row elsewhere, for tests of backends: neighbours in pairs are turned by an angle."""

from __future__ import annotations

import functools
import math

import numpy as np

import opdsl
from opdsl import Device, Library, Tensor
from opdsl.declare import Operator
from opdsl.errors import PositionError
from opdsl.scalar.intrinsics import row_index, row_mean


@functools.cache
def turned() -> Operator[..., Tensor]:
    """The operator; it is declared by the first test that wants it, so that no other meets it."""
    lib = Library("turning")

    @lib.op
    def turned(self: Tensor, angle: float, step: int = 1) -> Tensor:
        """Rows of mean square 1, turned."""
        ...

    @turned.meta
    def turned_meta(ctx, self):
        ctx.set_output(0, self.shape, like=self)
        return (self.ndim - 1,)

    @turned.row(promote="floating")
    def turned_row(self, angle, step):
        i = row_index(self)
        other = self[i + step - 2 * step * (i % 2)]
        scale = math.sqrt(row_mean(self * self))
        return (self * math.cos(angle) + (other if i % 2 == 1 else -other) * math.sin(angle)) / scale

    return turned


def faults(device: Device | str) -> list[str]:
    """What a backend computes otherwise than NumPy, of values and gradients, or does not refuse."""
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    rows = x / np.sqrt((x * x).mean(1, keepdims=True))
    other = np.stack((-rows[:, 1::2], rows[:, ::2]), -1).reshape(3, 6)
    expected = rows * math.cos(0.5) + other * math.sin(0.5)
    there, here = (opdsl.tensor(x).to(each).requires_grad_() for each in (device, "cpu"))
    found = turned()(there, 0.5)
    weight = opdsl.arange(18.0).reshape(3, 6)
    (found * weight.to(device)).sum().backward()
    (turned()(here, 0.5) * weight).sum().backward()
    wrong = [] if np.allclose(found.detach().cpu().numpy(), expected, atol=1e-5) else ["values"]
    wrong += [] if np.allclose(there.grad.cpu().numpy(), here.grad.numpy(), atol=1e-4) else ["gradients"]
    try:
        turned()(there, 0.5, 6).cpu()
    except PositionError:
        return wrong
    return [*wrong, "bounds"]
