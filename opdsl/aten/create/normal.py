"""Normal numbers whose mean and standard deviation may be tensors."""

from __future__ import annotations

from typing import Any

from opdsl.aten.create.factories import empty, give_size
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.create.like_factories import empty_like
from opdsl.aten.pointwise.comparison import ge
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check, copy_, holds, resize_output
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.runtime import Generator, Tensor
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt, TensorOptions

# What the entries of `normal` say alike.
NORMAL: dict[str, Any] = {"tags": "nondeterministic_seeded"}


def check_deviations(std: Tensor) -> None:
    if std.dtype.is_complex:
        raise DTypeError("normal expects standard deviation to be non-complex")
    check(all_hold(ge(std, 0)), "normal expects all elements of std >= 0.0")


def all_hold(mask: Tensor) -> bool:
    return mask.device.type == "meta" or holds(mask.all())


@op("aten::normal.Tensor_float", kernel=True, **NORMAL)
def normal(mean: Tensor, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed numbers around the elements of a tensor."""
    return around(mean, std, empty(mean.shape, dtype=mean.dtype, device=mean.device), generator)


normal.sharding(elementwise=True)


def around(mean: Tensor, std: float, made: Tensor, generator: Generator | None) -> Tensor:
    """Normal numbers around the elements of a tensor, in a new one."""
    check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    filled: Tensor = made.normal_(0, std, generator=generator).add_(mean)
    return filled


def spread(mean: Tensor | float, std: Tensor, made: Tensor, generator: Generator | None) -> Tensor:
    """Normal numbers whose standard deviations are the elements of a tensor, in a new one."""
    check_deviations(std)
    filled: Tensor = made.normal_(0, 1, generator=generator).mul_(std).add_(mean)
    return filled


normal.derivative("mean")(zero_derivative)


@normal.overload("Tensor_float_out", kernel=True, **NORMAL)
def normal_mean_out(
    mean: Tensor, std: float = 1, *, generator: Generator | None = None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Fills ``out`` with normally distributed numbers around the elements of a tensor."""
    return copy_(out, around(mean, std, empty_like(out), generator))


@normal.overload("float_Tensor", kernel=True, **NORMAL)
def normal_std(mean: float, std: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed numbers with the elements of a tensor as standard deviations."""
    return spread(mean, std, empty(std.shape, dtype=std.dtype, device=std.device), generator)


normal_std.derivative("std")(zero_derivative)


@normal.overload("float_Tensor_out", kernel=True, **NORMAL)
def normal_std_out(
    mean: float, std: Tensor, *, generator: Generator | None = None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Fills ``out`` with normally distributed numbers, the elements of a tensor being the standard deviations."""
    found = spread(mean, std, empty(std.shape, dtype=out.dtype, device=out.device), generator)
    resize_output(out, found.shape)
    return copy_(out, found)


@normal.overload("Tensor_Tensor", kernel=True, **NORMAL)
def normal_mean_std(mean: Tensor, std: Tensor, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed numbers with means and standard deviations of their own."""
    made = empty(broadcast(mean.shape, std.shape), dtype=mean.dtype, device=mean.device)
    return spread(mean, std, made, generator)


normal_mean_std.derivative("std")(zero_derivative)
normal_mean_std.derivative("mean")(zero_derivative)


@normal.overload("Tensor_Tensor_out", kernel=True, **NORMAL)
def normal_mean_std_out(
    mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Fills ``out`` with normally distributed numbers with means and standard deviations of their own."""
    made = empty(broadcast(mean.shape, std.shape), dtype=out.dtype, device=out.device)
    found = spread(mean, std, made, generator)
    resize_output(out, found.shape)
    return copy_(out, found)


@normal.overload("float_float", **NORMAL)
def normal_numbers(
    mean: float,
    std: float,
    size: list[SymInt],
    *,
    generator: Generator | None = None,
    options: TensorOptions,
) -> Tensor:
    """Normally distributed numbers of a size."""
    ...


@normal_numbers.kernel("CompositeExplicitAutograd")
def normal_numbers_kernel(mean, std, size, generator, dtype, layout, device, pin_memory):
    made = empty(size, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return made.normal_(mean, std, generator=generator)


@normal.overload("float_float_out", kernel="CompositeExplicitAutograd", **NORMAL)
def normal_numbers_out(
    mean: float,
    std: float,
    size: list[SymInt],
    *,
    generator: Generator | None = None,
    out: Tensor[Alias("a", write=True)],
) -> Tensor[Alias("a", write=True)]:
    """Gives ``out`` the size and fills it with normally distributed numbers."""
    give_size(out, tuple(size))
    return out.normal_(mean, std, generator=generator)


@op(
    "aten::normal_functional",
    kernel="CompositeExplicitAutograd",
    tags="nondeterministic_seeded",
    device_check="NoCheck",
)
def normal_functional(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Normally distributed numbers, in the form of a tensor."""
    return empty_like(self).normal_(mean, std, generator=generator)


normal_functional.sharding(elementwise=True)


normal_functional.derivative("self")(zero_derivative)
