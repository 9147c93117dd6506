"""Operators of every kind, registered in torch for tests, and samples of their arguments."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import numpy
import torch

import opdsl
from opdsl import Alias, Array, DType, Ints, Library, Scalar, Tensor, check, formula, primitives
from opdsl.interop.torch import deregister, register
from tests.torch.interop.kinds import declare_more

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


ROOT = Path(__file__).parents[3]


def run_alone(module: str, code: str) -> None:
    """Run code with the names of a test module in its own process, which may crash."""
    run = subprocess.run(
        [sys.executable, "-c", f"from {module} import *; {code}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert run.returncode == 0, run.stderr


@contextmanager
def registered() -> Iterator[Any]:
    """Register the operators of this module and yield them as ``torch.ops.interop``."""
    library = Library("interop")
    declare(library)
    try:
        register(library)
        yield torch.ops.interop
    finally:
        deregister(library)
        library.close()


def declare(lib: Library) -> None:
    declare_pointwise(lib)
    declare_structured(lib)
    declare_python(lib)
    declare_more(lib)


def smooth_relu_scalar(x: Any, beta: Any) -> Any:
    z = beta * x
    return (max(z, 0.0) + math.log1p(math.exp(-abs(z)))) / beta


SMOOTH_RELU = primitives.elements(smooth_relu_scalar, promote="int_to_float")
BLEND = primitives.elements(lambda low, high, weight: low + weight * (high - low))
SCALED_ADD = primitives.elements(lambda x, y, alpha: x + alpha * y)
FROM_POLAR = primitives.elements(
    lambda radius, angle: (radius * math.cos(angle), radius * math.sin(angle)), promote="int_to_float"
)
IS_LARGER = primitives.elements(lambda x, y: x > y, promote="bool")
SCALED = primitives.elements(lambda x, y, by: x + y * by)


def declare_pointwise(lib: Library) -> None:
    @lib.op(inplace=True, out=True)
    @formula
    def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
        return SMOOTH_RELU(self, beta)

    @lib.op
    @formula
    def blend(low: Tensor, high: Tensor, weight: Tensor) -> Tensor:
        return BLEND(low, high, weight)

    @lib.op(out=True)
    @formula
    def scaled_add(self: Tensor, other: Tensor, *, alpha: Scalar = 1) -> Tensor:
        return SCALED_ADD(self, other, alpha=alpha)

    @lib.op
    @formula
    def from_polar(radius: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
        return cast("tuple[Tensor, Tensor]", FROM_POLAR(radius, angle))

    @lib.op
    @formula
    def is_larger(self: Tensor, other: Tensor) -> Tensor:
        return IS_LARGER(self, other)


def declare_loops(lib: Library) -> Any:
    """Declare a formula with all variants, which is returned, and a formula with two results."""

    @lib.op(inplace=True, out=True)
    @formula
    def scaled(self: Tensor, other: Tensor, by: float = 1.0) -> Tensor:
        return SCALED(self, other, by)

    @lib.op
    @formula
    def rotated(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        return self - other, self + other

    return scaled


def declare_structured(lib: Library) -> None:
    @lib.op(out=True)
    def nearest(self: Tensor, output_size: Ints[1]) -> Tensor: ...

    @nearest.meta
    def nearest_meta(ctx, self, output_size):
        check(self.ndim == 3, "expected a (N, C, L) tensor", got=self.shape)
        ctx.set_output(0, (*self.shape[:2], output_size[0]), like=self)

    @nearest.out_kernel("CPU")
    def nearest_cpu(self: Array, output_size, out: Array) -> None:
        for n in range(out.shape[0]):
            for c in range(out.shape[1]):
                for at in range(out.shape[2]):
                    out[n, c, at] = self[n, c, at * self.shape[2] // out.shape[2]]

    @nearest.derivative("self")
    def nearest_derivative(grad, self):
        return grad.reshape(*self.shape, -1).sum([-1])

    @lib.op(out=True)
    @formula
    def energy(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
        return (self * self).sum(dim, keepdim, dtype=self.dtype)

    @energy.derivative("self")
    def energy_derivative(grad, self, dim, keepdim):
        if dim is not None and not keepdim:
            for axis in sorted(axis % self.ndim for axis in dim):
                grad = grad.unsqueeze(axis)
        return 2 * grad * self

    @lib.op
    def weighted(tensors: list[Tensor], by: float) -> Tensor: ...

    @weighted.kernel("CPU", "Meta")
    def weighted_kernel(tensors, by):
        total = tensors[0] * by
        for tensor in tensors[1:]:
            total = total + tensor * by
        return total

    @weighted.derivative("tensors")
    def weighted_derivative(grad, tensors, by):
        return [grad * by for _ in tensors]


def declare_python(lib: Library) -> None:
    @lib.op(inplace=True, out=True)
    def affine(self: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        out = self @ weight.t()
        return out if bias is None else opdsl.add(out, bias, alpha=2)

    @lib.op
    def dropped(self: Tensor, p: float) -> Tensor:
        return self if p == 0 else self.t() if p == 1 else self * (1 - p)

    @lib.op
    def first_half(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @first_half.kernel("CPU")
    def first_half_kernel(self):
        return self.narrow(0, 0, self.shape[0] // 2)

    @lib.op
    def turned(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @turned.view_kernel("CPU")
    def turned_view(self):
        return opdsl.runtime.View(self.shape[::-1], self.strides[::-1], self.offset)

    @lib.op
    def sorted_copy(self: Tensor) -> Tensor: ...

    @sorted_copy.kernel("CPU")
    def sorted_copy_cpu(self):
        return opdsl.from_numpy(numpy.sort(self.numpy(), axis=-1))

    @sorted_copy.kernel("Meta")
    def sorted_copy_meta(self):
        return opdsl.empty(self.shape, dtype=self.dtype, device="meta")

    @lib.op
    def halves(self: Tensor) -> list[Tensor]: ...

    @halves.kernel("CPU", "Meta")
    def halves_kernel(self):
        count = self.shape[0] // 2
        return [self[:count] * 1, self[count:] * 1]

    @halves.derivative("self")
    def halves_derivative(grads):
        return opdsl.cat(grads)

    @lib.op
    def rank(self: Tensor) -> int: ...

    @rank.kernel("CPU", "Meta")
    def rank_kernel(self):
        return self.ndim

    @lib.op
    def ramp(length: int, step: float = 1.0, *, dtype: DType | None = None) -> Tensor: ...

    @ramp.kernel("CPU")
    def ramp_cpu(length, step, dtype):
        return opdsl.arange(length, dtype=dtype or opdsl.float32) * step

    @ramp.kernel("Meta")
    def ramp_meta(length, step, dtype):
        return opdsl.empty((length,), dtype=dtype or opdsl.float32, device="meta")

    @lib.op
    def double_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    @double_.kernel("CPU")
    def double_cpu(self):
        return self.add_(self)


def make(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0, requires_grad: bool = False) -> torch.Tensor:
    """Return random numbers that are neither tied nor near kinks."""
    full = torch.complex128 if dtype.is_complex else torch.float64
    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed + len(shape)), dtype=full)
    return numbers.to(dtype).requires_grad_(requires_grad)


def empty(*shape: int) -> torch.Tensor:
    """Return an uninitialized tensor to write to."""
    return torch.empty(shape, dtype=torch.float64)


def sample(*values: Any, **named: Any) -> Arguments:
    return values, named


# Samples of arguments, by name in torch.
SAMPLES: dict[str, Callable[[], list[Arguments]]] = {
    "smooth_relu": lambda: [
        sample(make(3, 4)),
        sample(make(3, 4).t(), 0.5),
        sample(make(2, 3, 4, 5).to(memory_format=torch.channels_last), beta=2.0),
        sample(make(0, 3)),
        sample(make(6)[::2]),
        sample(torch.arange(4)),
    ],
    "smooth_relu_": lambda: [sample(make(3, 4)), sample(make(6)[::2], 0.5)],
    "smooth_relu.out": lambda: [sample(make(3, 4), 0.5, out=torch.empty(3, 4, dtype=torch.float64))],
    "blend": lambda: [sample(make(3, 1), make(1, 4), make(4)), sample(make(3), make(3), make())],
    "scaled_add": lambda: [sample(make(3), make(3)), sample(make(2, 3), make(3), alpha=2.5)],
    "from_polar": lambda: [sample(make(3), make(2, 3))],
    "is_larger": lambda: [sample(make(3), make(2, 3, seed=5))],
    "nearest": lambda: [sample(make(2, 3, 4), [8])],
    "nearest.out": lambda: [sample(make(2, 3, 4), [8], out=torch.empty(2, 3, 8, dtype=torch.float64))],
    "energy": lambda: [sample(make(2, 3)), sample(make(2, 3), [1]), sample(make(2, 3, 4), [0, -1], True)],
    "weighted": lambda: [sample([make(3), make(3, seed=1)], 0.5)],
    "affine": lambda: [sample(make(3, 4), make(5, 4)), sample(make(3, 4), make(5, 4), make(5))],
    "affine_": lambda: [sample(make(3, 3), make(3, 3, seed=1))],
    "affine.out": lambda: [sample(make(3, 4), make(5, 4), out=torch.empty(3, 5, dtype=torch.float64))],
    "dropped": lambda: [sample(make(2, 3), 0.0), sample(make(2, 3), 0.5), sample(make(2, 3), 1.0)],
    "first_half": lambda: [sample(make(4, 3)), sample(make(3, 4).t())],
    "turned": lambda: [sample(make(4, 3)), sample(make(8, 3)[2:])],
    "sorted_copy": lambda: [sample(make(2, 5))],
    "halves": lambda: [sample(make(4, 3)), sample(make(5))],
    "rank": lambda: [sample(make(4, 3))],
    "ramp": lambda: [sample(3), sample(4, 0.5, dtype=torch.float64)],
    "double_": lambda: [sample(make(4))],
    "softmax": lambda: [
        sample(make(3, 4), 1),
        sample(make(3, 4).t(), -1),
        sample(make(2, 3, 4), 0),
        sample(make(0, 4), 1),
        sample(make(), 0),
    ],
    "softmax_": lambda: [sample(make(3, 4), 1)],
    "softmax.out": lambda: [sample(make(3, 4), 1, out=empty(3, 4))],
    "running_sum": lambda: [sample(make(3, 4).t(), 0), sample(make(0, 3), 0), sample(make(), 0)],
    "running_sum_": lambda: [sample(make(3, 4), 1)],
    "running_sum.out": lambda: [sample(make(3, 4), 1, out=empty(3, 4))],
    "running_largest": lambda: [sample(make(3, 4), 1), sample(make(0, 4), 0)],
    "running_largest.out": lambda: [
        sample(make(3, 4), 1, values=empty(3, 4), indices=torch.empty(3, 4, dtype=torch.int64))
    ],
    "average": lambda: [sample(make(3, 4)), sample(make(3, 4), [0]), sample(make(2, 3, 4), [0, -1], True)],
    "ordered": lambda: [sample(make(3), make(3, seed=2))],
    "ordered.out": lambda: [sample(make(3), make(3, seed=2), out0=empty(3), out1=empty(3))],
    "bounds": lambda: [sample(make(3))],
    "bounds.out": lambda: [sample(make(3), out0=empty(), out1=empty())],
    "products": lambda: [sample([make(2), make(3)], [make(2, seed=4), make(3, seed=5)])],
    "exchange": lambda: [sample(make(3), make(3, seed=2))],
    "pieces": lambda: [sample(make(5, 2), 2), sample(make(4, 4).t(), 3, 1)],
    "masked": lambda: [sample(make(3)), sample(make(3), make(3, seed=4) > 0), sample(make(3), None, 0.5)],
    "joined": lambda: [sample([make(3), None, make(2)])],
    "plus": lambda: [
        sample(make(3), make(3, seed=3)),
        sample(make(2, 3).t(), make(3, 2)),
        sample(make(0), make(0)),
        sample(make(), make()),
    ],
    "plus_": lambda: [sample(make(3), make(3, seed=3))],
    "plus.out": lambda: [sample(make(3), make(3, seed=3), out=empty(3))],
    "exponential_times": lambda: [
        sample(make(3, dtype=torch.complex128), make(3, dtype=torch.complex128, seed=4)),
        sample(make(3, dtype=torch.complex128).conj(), make(3, seed=4)),
    ],
    "magnitude": lambda: [sample(make(3, dtype=torch.complex128)), sample(make(3))],
    "magnitude.out": lambda: [sample(make(3, dtype=torch.complex128), out=empty(3))],
    "swish_of_sums": lambda: [sample(make(3), make(3, seed=2))],
    "noise": lambda: [sample(make(3), 0.0)],
    "filled": lambda: [sample([2, 3], 1.5), sample([2], 3, dtype=torch.float64)],
    "positives": lambda: [sample(make(5))],
}

# Operators with derivatives.
DIFFERENTIABLE = (
    "smooth_relu",
    "blend",
    "scaled_add",
    "from_polar",
    "nearest",
    "energy",
    "weighted",
    "halves",
    "affine",
    "dropped",
    "first_half",
    "turned",
    "softmax",
    "running_sum",
    "running_largest",
    "average",
    "ordered",
    "bounds",
    "products",
    "pieces",
    "masked",
    "joined",
    "plus",
    "exponential_times",
    "magnitude",
    "swish_of_sums",
    "noise",
    "positives",
)


def operator(ops: Any, name: str) -> Any:
    """Return the overload for a name such as ``scaled.out``."""
    packet, _, overload = name.partition(".")
    return getattr(getattr(ops, packet), overload or "default")


def cases(names: Any = None) -> list[tuple[str, int]]:
    """Return every sample, as a name and an index."""
    chosen = SAMPLES if names is None else names
    return [(name, index) for name in chosen for index in range(len(SAMPLES[name]()))]


def followed(value: Any) -> Any:
    """Return a copy of a value whose tensors require grad, if their dtype allows it."""
    if isinstance(value, list):
        return [followed(element) for element in value]
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return value
    return value.detach().clone(memory_format=torch.preserve_format).requires_grad_()
