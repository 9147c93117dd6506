"""Correct operators with every kind of implementation, all without annotations; the module also runs."""

from __future__ import annotations

import math

import opdsl
from opdsl import Alias, Array, DispatchKeySet, Ints, Library, Overload, Scalar, Tensor, TensorOptions, check, formula

lib = Library("typing_operators")


@lib.op(variants="function", inplace=True, out=True)
@formula
def smooth(self: Tensor, beta: float = 1.0) -> Tensor:
    return opdsl.log1p(opdsl.exp(beta * self)) / beta


@smooth.overload("Tensor")
def smooth_tensor(self: Tensor, beta: Tensor) -> Tensor:
    return smooth(self * beta) / beta


@lib.op(out=True)
def repeat1d(self: Tensor, size: Ints[1], scale: float | None = None) -> Tensor: ...


@repeat1d.meta
def repeat1d_meta(ctx, size, self):
    check(self.ndim == 1, "expected a vector", got=self.shape)
    ctx.set_output(0, (size[0],), like=self)


@repeat1d.out_kernel("CPU")
def repeat1d_cpu(self: Array, out: Array) -> None:
    for i in range(out.shape[0]):
        out[i] = self[i % self.shape[0]]


@lib.op
def scaled(self: Tensor, factors: list[float], *, other: Tensor | None = None, power: Scalar = 1) -> Tensor: ...


@scaled.meta
def scaled_meta(ctx, self, factors, other, power):
    ctx.set_output(0, self.shape, like=self)


@scaled.out_kernel("CPU", compiled=False)
def scaled_cpu(factors, self, out):
    out.array[...] = self.numpy() * math.prod(factors)


@lib.op
@formula
def average(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
    return self.mean(dim, keepdim)


@lib.op
def first_half(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...


@first_half.kernel("CPU", "CUDA")
def first_half_kernel(self):
    return self.narrow(0, 0, self.shape[0] // 2)


@lib.op
def reversed_dimensions(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...


@reversed_dimensions.view_kernel("CompositeExplicitAutograd")
def reversed_dimensions_view(self):
    return self._replace(shape=self.shape[::-1], strides=self.strides[::-1])


@lib.op
def split_rows(tensors: list[Tensor], pair: Ints[2]) -> list[Tensor]: ...


@split_rows.kernel("CPU")
def split_rows_kernel(keys: DispatchKeySet, tensors, pair):
    return (*tensors, tensors[pair[0]], tensors[pair[1]])


@lib.op
def filled(size: list[int], *, options: TensorOptions) -> Tensor: ...


@filled.kernel("CPU")
def filled_kernel(size):
    return opdsl.from_numpy(opdsl.ones(size).numpy())


@lib.op(accepts_numbers=True)
@formula
def distance(self: Tensor, other: Tensor) -> Tensor:
    return opdsl.sub(self, other).abs()


@lib.op
def excess(self: Tensor, other: Tensor) -> Tensor: ...


def excess_formula(self, other):
    return (self - other).clamp_min(0)


excess.formula(dtypes=("integer", "floating"))(excess_formula)


@lib.op
def shortage(self: Tensor, other: Tensor) -> Tensor: ...


def shortage_formula(other, self):
    return (other - self).clamp_min(0)


shortage.formula(shortage_formula)


@lib.op
def positive(self: Tensor) -> Tensor:
    """Return the positive part; this body is a kernel whose types mypy checks."""
    return opdsl.relu(self)


@positive.out_variant()
def positive_out(self: Tensor, *, out: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...


@positive_out.kernel("CompositeExplicitAutograd")
def positive_out_kernel(self, out):
    out.copy_(positive(self))


def nested() -> None:
    """Declare and implement an operator inside a function."""

    @lib.op
    def inner(self: Tensor) -> Tensor: ...

    @inner.kernel("CPU")
    def inner_kernel(self):
        return self.clone()


x = opdsl.ones((4,))
assert smooth(x, 2.0).shape == smooth(x, x).shape == (4,)
assert repeat1d(x, 6).shape == repeat1d(x, [6]).shape == repeat1d(x, size=(6,)).shape == (6,)
assert scaled(x, (2.0, 3.0)).tolist() == [6.0] * 4
assert average(x).item() == average(x, [0]).item() == 1.0
assert first_half(x).shape == (2,)
assert reversed_dimensions(opdsl.ones((2, 3))).shape == (3, 2)
assert len(split_rows((x, x), (0, 1))) == len(split_rows([x, x], 1)) == 4
assert filled(x.shape).shape == (4,)
assert distance(x, 3).tolist() == distance(3.0, x).tolist() == [2.0] * 4
assert excess(x, x + 3).tolist() == [0.0] * 4
assert shortage(x, x + 3).tolist() == [3.0] * 4
assert positive(-x).tolist() == positive.variants["out"](-x, out=opdsl.empty((4,))).tolist() == [0.0] * 4
assert (opdsl.add(x, x, alpha=2) - opdsl.ops.aten.add.Tensor(x, x)).tolist() == [1.0] * 4
assert str(smooth.schema).startswith("typing_operators::smooth")
nested()


@lib.op
@formula
def lower_of(self: Tensor, other: Tensor) -> Tensor:
    return self if self < other else other


lower_of_number = lower_of.number_overload("other")
lower_of(opdsl.ones(2), 1)
lower_of(opdsl.ones(2), opdsl.ones(2))


@lib.op(
    "typing_operators::steps.from",
    kernel=True,
    overloads={"": Overload("From 0 on.", fixed={"start": 0})},
)
def steps(start: Scalar, count: int, *, options: TensorOptions) -> Tensor:
    """Return ``count`` numbers with step 1."""
    return start + opdsl.arange(count, **options)


assert steps(2, dtype=opdsl.int64).tolist() == [0, 1]
assert steps(3, 2).tolist() == [3, 4]
