"""Formula that reads rows at other indices, for tests of backends: it rotates pairs of neighbors by an angle."""

from __future__ import annotations

import functools
import math

import numpy as np

import opdsl
from opdsl import Device, Library, Tensor, formula
from opdsl.declare import Operator
from opdsl.errors import PositionError


@functools.cache
def turned() -> Operator[..., Tensor]:
    """Return the operator, declared by the first test that needs it, so that other tests do not see it."""
    lib = Library("turning")

    @lib.op
    @formula
    def turned(self: Tensor, angle: float, step: int = 1) -> Tensor:
        """Return rows normalized to mean square 1, with pairs of elements rotated."""
        i = opdsl.dim()
        x, is_second = self[..., i], i % 2 == 1
        other = self[..., i + step - 2 * step * (i % 2)]
        scale = opdsl.sqrt(x.square().mean(i))
        return ((x * math.cos(angle) + (other if is_second else -other) * math.sin(angle)) / scale).order(..., i)

    return turned


def faults(device: Device | str) -> list[str]:
    """Return the differences of a backend from NumPy in values and gradients, and indices that it does not refuse."""
    x = np.random.default_rng(0).normal(size=(3, 6)).astype(np.float32)
    rows = x / np.sqrt((x * x).mean(1, keepdims=True))
    other = np.stack((-rows[:, 1::2], rows[:, ::2]), -1).reshape(3, 6)
    expected = rows * math.cos(0.5) + other * math.sin(0.5)
    there, here = (opdsl.tensor(x).to(side).requires_grad_() for side in (device, "cpu"))
    actual = turned()(there, 0.5)
    weight = opdsl.arange(18.0).reshape(3, 6)
    (actual * weight.to(device)).sum().backward()
    (turned()(here, 0.5) * weight).sum().backward()
    wrong = [] if np.allclose(actual.detach().cpu().numpy(), expected, atol=1e-5) else ["values"]
    wrong += [] if np.allclose(there.grad.cpu().numpy(), here.grad.numpy(), atol=1e-4) else ["gradients"]
    try:
        turned()(there, 0.5, 6).cpu()
    except PositionError:
        return wrong
    return [*wrong, "bounds"]
