"""Further kinds of operators for torch: rows, scans, several results, optional arguments, complex and random
numbers.
"""

from __future__ import annotations

import cmath
import math
from typing import cast

import opdsl
from opdsl import (
    Alias,
    Array,
    Generator,
    Ints,
    Library,
    Out,
    Scalar,
    SymInts,
    Tensor,
    TensorOptions,
    check,
    formula,
    primitives,
)
from opdsl.scalar.intrinsics import row_max, row_sum


def declare_more(lib: Library) -> None:
    declare_rows(lib)
    declare_several(lib)
    declare_optional(lib)
    declare_others(lib)


def softmax_row(self):
    exponential = math.exp(self - row_max(self))
    return exponential / row_sum(exponential)


def declare_rows(lib: Library) -> None:
    @lib.op(inplace=True, out=True)
    def softmax(self: Tensor, dim: int) -> Tensor: ...

    @softmax.meta
    def softmax_meta(ctx, self, dim):
        ctx.set_output(0, self.shape, like=self)
        return (dim % self.ndim,) if self.ndim else ()

    shares = primitives.rows(softmax_row, promote="floating")

    @softmax.formula
    def softmax_formula(self: Tensor) -> Tensor:
        return shares(self)

    @softmax.derivative("self")
    def softmax_derivative(grad, result, dim):
        return (grad - (grad * result).sum([dim], True)) * result

    sums = primitives.scan(lambda one, other: one + other, init=0)

    @lib.op(inplace=True, out=True)
    @formula
    def running_sum(self: Tensor, dim: int) -> Tensor:
        return sums(self, dim)

    @running_sum.derivative("self")
    def running_sum_derivative(grad, dim):
        return running_sum(grad.flip([dim]), dim).flip([dim])

    largest = primitives.scan(
        lambda largest, place, x, index: (x, index) if x >= largest else (largest, place),
        init=(-math.inf, 0),
        lift=lambda x, index: (x, index),
        accumulators=("value", "index"),
        results=("value", "index"),
    )

    @lib.op(out=Out(args=("values", "indices")))
    @formula
    def running_largest(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        return cast("tuple[Tensor, Tensor]", largest(self, dim))

    @running_largest.derivative("self")
    def running_largest_derivative(grad, self, result1, dim):
        return grad.new_zeros(self.shape).scatter_add(dim, result1, grad)

    means = primitives.fold(
        lambda one, other: one + other, init=0, finish=lambda total, count: total / count, promote="int_to_float"
    )

    @lib.op(out=True)
    @formula
    def average(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
        return means(self, dim, keepdim)

    @average.derivative("self")
    def average_derivative(grad, self, dim, keepdim):
        count = 1
        for index in range(self.ndim) if dim is None else dim:
            count *= self.shape[index]
        if dim is not None and not keepdim:
            for axis in sorted(axis % self.ndim for axis in dim):
                grad = grad.unsqueeze(axis)
        return (grad / count).expand(self.shape)


def declare_several(lib: Library) -> None:
    @lib.op(out=True)
    def ordered(self: Tensor, other: Tensor) -> tuple[Tensor, Tensor]: ...

    @ordered.meta
    def ordered_meta(ctx, self, other):
        check(self.shape == other.shape, "expected tensors of one shape", got=other.shape)
        ctx.set_output(0, self.shape, like=self)
        ctx.set_output(1, self.shape, like=self)

    @ordered.out_kernel("CPU")
    def ordered_cpu(self: Array, other: Array, out0: Array, out1: Array) -> None:
        for at in range(self.shape[0]):
            out0[at] = min(self[at], other[at])
            out1[at] = max(self[at], other[at])

    @ordered.derivative("self", "other")
    def ordered_derivative(grads, self, other):
        is_less = (self < other).to(grads[0].dtype)
        return grads[0] * is_less + grads[1] * (1 - is_less), grads[0] * (1 - is_less) + grads[1] * is_less

    @lib.op(out=True)
    def bounds(self: Tensor) -> tuple[Tensor, Tensor]:
        return self.amin(), self.amax()

    @lib.op
    def products(xs: list[Tensor], ys: list[Tensor]) -> list[Tensor]: ...

    @products.kernel("CPU", "Meta")
    def products_kernel(xs, ys):
        return [x * y for x, y in zip(xs, ys, strict=True)]

    @products.derivative("xs", "ys")
    def products_derivative(grads, xs, ys):
        return (
            [grad * y for grad, y in zip(grads, ys, strict=True)],
            [grad * x for grad, x in zip(grads, xs, strict=True)],
        )

    @lib.op
    def exchange(one: Tensor[Alias("a", write=True)], other: Tensor[Alias("b", write=True)]) -> None: ...

    @exchange.kernel("CPU")
    def exchange_kernel(one, other):
        kept = one.clone()
        one.copy_(other)
        other.copy_(kept)

    @lib.op
    def pieces(self: Tensor[Alias("a", after="*")], chunks: int, dim: int = 0) -> list[Tensor[Alias("a")]]: ...

    @pieces.kernel("CPU")
    def pieces_kernel(self, chunks, dim):
        return list(self.chunk(chunks, dim))


def declare_optional(lib: Library) -> None:
    @lib.op
    def masked(self: Tensor, mask: Tensor | None = None, by: float | None = None) -> Tensor: ...

    @masked.kernel("CPU", "Meta")
    def masked_kernel(self, mask, by):
        out = self * (2.0 if by is None else by)
        return out if mask is None else out * mask

    @masked.derivative("self")
    def masked_derivative(grad, mask, by):
        return masked(grad, mask, by)

    @lib.op
    def joined(tensors: list[Tensor | None]) -> Tensor: ...

    @joined.kernel("CPU", "Meta")
    def joined_kernel(tensors):
        return opdsl.cat([tensor for tensor in tensors if tensor is not None])

    @joined.derivative("tensors")
    def joined_derivative(grad, tensors):
        parts = iter(grad.split([tensor.shape[0] for tensor in tensors if tensor is not None]))
        return [None if tensor is None else next(parts) for tensor in tensors]


EXPONENTIAL_TIMES = primitives.elements(lambda x, y: cmath.exp(x) * y * y)


def declare_others(lib: Library) -> None:
    @lib.op(inplace=True, out=True)
    def plus(self: Tensor, other: Tensor) -> Tensor: ...

    @plus.kernel("CPU", "Meta")
    def plus_kernel(self, other):
        return self + other

    @plus.derivative("self", "other")
    def plus_derivative(grad):
        return grad, grad

    @lib.op
    @formula
    def exponential_times(self: Tensor, other: Tensor) -> Tensor:
        return EXPONENTIAL_TIMES(self, other)

    @lib.op(out=True)
    @formula
    def magnitude(self: Tensor) -> Tensor:
        return abs(self)

    @lib.op
    def swish_of_sums(self: Tensor, other: Tensor) -> Tensor:
        sums = lib.registry.operator("interop::running_sum").function(self * other, 0)
        return sums * sums.sigmoid()

    @lib.op(tags=["nondeterministic_seeded"])
    def noise(self: Tensor, scale: float = 1.0, *, generator: Generator | None = None) -> Tensor: ...

    @noise.kernel("CPU", "Meta")
    def noise_kernel(self, scale, generator):
        return opdsl.randn_like(self) * scale + self

    @noise.derivative("self")
    def noise_derivative(grad):
        return grad

    @lib.op
    def filled(size: SymInts[1], value: Scalar, *, options: TensorOptions) -> Tensor: ...

    @filled.kernel("CPU")
    def filled_cpu(size, value, options):
        return opdsl.full(size, value, dtype=options.dtype)

    @filled.kernel("Meta")
    def filled_meta(size, value, options):
        return opdsl.full(size, value, dtype=options.dtype, device="meta")

    @lib.op(tags=["dynamic_output_shape"])
    def positives(self: Tensor) -> Tensor: ...

    @positives.kernel("CPU")
    def positives_cpu(self):
        return self.masked_select(self > 0)

    @positives.kernel("Meta")
    def positives_meta(self):
        return opdsl.empty((opdsl.dynamic_size(most=self.numel()),), dtype=self.dtype, device="meta")

    @positives.derivative("self")
    def positives_derivative(grad, self):
        return self.new_zeros(self.shape).masked_scatter(self > 0, grad)
