"""Random numbers of continuous distributions."""

from __future__ import annotations

import math
from typing import Annotated, Any

from opdsl.aten.create.factories import empty, give_size
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.create.like_factories import empty_like
from opdsl.declare import Overload, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, fill_random_
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.kernels.iteration.numbers import LARGEST
from opdsl.kernels.primitives import random as distributions
from opdsl.runtime import Generator, MemoryFormat, Tensor, bool_, float64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Name, SymInt, TensorOptions

# What the entries say alike, and those that fill a tensor.
SEEDED: dict[str, Any] = {"tags": "nondeterministic_seeded"}
FILL: dict[str, Any] = {"variants": "method", "device_check": "NoCheck", **SEEDED}

# ----------------------------------------------------------------------------------------------- uniform, normal, ...


@op("aten::uniform_", autogen="uniform, uniform.out", variants="method")
def uniform_(
    self: Tensor[Alias("a", write=True)],
    from_: Annotated[float, Name("from")] = 0,
    to: float = 1,
    *,
    generator: Generator | None = None,
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with numbers from ``from`` up to, but not including, ``to``, each as likely as the others."""
    ...


@uniform_.random(from_zero="u")
def uniform(u, from_, to, digits):
    # Of as many binary digits as the dtype has, so that none is rounded up to 1.
    return from_ + (to - from_) * (math.floor(u * digits) / digits)


@uniform_.meta
def uniform_meta(ctx, self, from_, to):
    real = self.dtype.to_real()
    digits = distributions.digits_of(real, "check_uniform_bounds")
    largest = LARGEST.get(real.name, math.inf)
    name = c_name(real)
    check(-largest <= from_ <= largest, f"from is out of bounds for {name}")
    check(-largest <= to <= largest, f"to is out of bounds for {name}")
    check(from_ <= to, f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    check(
        to - from_ <= largest,
        f"uniform_ expects to-from <= std::numeric_limits<{real.scalar_type}>::max(), but found to={to} and "
        f"from={from_} which result in to-from to exceed the limit",
    )
    return {"digits": 2.0**digits}


@op("aten::normal_", kernel=True, autogen="normal.out", **FILL)
def normal_(
    self: Tensor[Alias("a", write=True)], mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with normally distributed numbers; of complex ones both parts are, with ``std / sqrt(2)``."""
    check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    distributions.digits_of(self.dtype.to_real(), "normal_kernel_cpu")
    if self.dtype.is_complex:
        std /= math.sqrt(2)
    real = self.dtype.to_real()
    distribution = distributions.normal if real is float64 else distributions.normal_single
    return fill_random_(self, distribution, (float(mean), float(std)), generator)


normal_.derivative("self")(zero_derivative)


def require_continuous(tensor: Tensor, name: str, dtype: str) -> None:
    """That a tensor is real and floating point.

    Raises:
        DTypeError: it is not.
    """
    if not tensor.dtype.is_floating_point:
        raise DTypeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {dtype}"
        )


@op("aten::log_normal_", autogen="log_normal, log_normal.out", variants="method")
def log_normal_(
    self: Tensor[Alias("a", write=True)], mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with numbers whose logarithm is normally distributed."""
    ...


@log_normal_.random(from_zero="turns")
def log_normal(u, turns, mean, std):
    return math.exp(mean + std * (math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * turns)))


@log_normal_.meta
def log_normal_meta(ctx, self, std):
    check(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    distributions.digits_of(self.dtype, "log_normal_cpu")


@op("aten::exponential_", autogen="exponential, exponential.out", variants="method")
def exponential_(
    self: Tensor[Alias("a", write=True)], lambd: float = 1, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with exponentially distributed numbers of the rate ``lambd``; none is 0."""
    ...


@exponential_.random
def exponential(u, lambd):
    return -math.log(u) / lambd


@exponential_.meta
def exponential_meta(ctx, self, lambd):
    require_continuous(self, "Exponential", self.dtype.scalar_type)
    check(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")


@op("aten::cauchy_", autogen="cauchy, cauchy.out", variants="method")
def cauchy_(
    self: Tensor[Alias("a", write=True)], median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with Cauchy distributed numbers."""
    ...


@cauchy_.random
def cauchy(u, median, sigma):
    return median + sigma * math.tan(math.pi * (u - 0.5))


@cauchy_.meta
def cauchy_meta(ctx, self, sigma):
    check(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    require_continuous(self, "Cauchy", c_name(self.dtype))


@op("aten::geometric_", autogen="geometric, geometric.out", variants="method")
def geometric_(
    self: Tensor[Alias("a", write=True)], p: float, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fills the tensor with numbers of trials up to the first that succeeds with the probability ``p``."""
    ...


@geometric_.random
def geometric(u, p):
    return math.ceil(math.log(u) / math.log1p(-p))


@geometric_.meta
def geometric_meta(ctx, self, p):
    check(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    if self.dtype.is_complex or self.dtype is bool_:
        raise UnsupportedDTypeError(f"\"geometric_cpu\" not implemented for '{self.dtype.scalar_type}'")


# -------------------------------------------------------------------------------------------------------- rand, randn


@op(
    "aten::rand.generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload("Numbers from [0, 1).", fixed={"generator": None}, tags=("core", "nondeterministic_seeded")),
        "generator": Overload(),
    },
    **SEEDED,
)
def rand(size: list[SymInt], *, generator: Generator | None, options: TensorOptions) -> Tensor:
    """Numbers from [0, 1), of a given generator."""
    return empty(size, **options).uniform_(generator=generator)


@rand.overload(
    "generator_out",
    overloads={
        "out": Overload(
            "Gives ``out`` the size and fills it with numbers from [0, 1).",
            fixed={"generator": None},
            kernel="CompositeExplicitAutograd",
        ),
        "generator_out": Overload(),
    },
    **SEEDED,
)
def rand_out(
    size: list[SymInt], *, generator: Generator | None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Gives ``out`` the size and fills it with numbers from [0, 1), of a given generator."""
    give_size(out, tuple(size))
    return out.uniform_(generator=generator)


@op(
    "aten::rand_like.generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "Numbers from [0, 1), in the form of a tensor.", fixed={"generator": None}, autogen="rand_like.out"
        ),
        "generator": Overload(),
    },
    autogen="rand_like.generator_out",
    **SEEDED,
)
def rand_like(
    self: Tensor, *, generator: Generator | None, options: TensorOptions, memory_format: MemoryFormat | None = None
) -> Tensor:
    """Numbers from [0, 1), of a given generator, in the form of a tensor."""
    return empty_like(self, **options, memory_format=memory_format).uniform_(generator=generator)


rand_like.sharding(elementwise=True)
rand_like.non_differentiable("self")


@op(
    "aten::randn.generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "Normally distributed numbers.", fixed={"generator": None}, tags=("core", "nondeterministic_seeded")
        ),
        "generator": Overload(),
    },
    **SEEDED,
)
def randn(size: list[SymInt], *, generator: Generator | None, options: TensorOptions) -> Tensor:
    """Normally distributed numbers, of a given generator."""
    return empty(size, **options).normal_(generator=generator)


@randn.overload(
    "generator_out",
    overloads={
        "out": Overload(
            "Gives ``out`` the size and fills it with normally distributed numbers.", fixed={"generator": None}
        ),
        "generator_out": Overload(),
    },
    **SEEDED,
)
def randn_out(
    size: list[SymInt], *, generator: Generator | None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Gives ``out`` the size and fills it with normally distributed numbers, of a given generator."""
    give_size(out, tuple(size))
    return out.normal_(generator=generator)


@op(
    "aten::randn_like.generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "Normally distributed numbers, in the form of a tensor.",
            fixed={"generator": None},
            autogen="randn_like.out",
        ),
        "generator": Overload(),
    },
    autogen="randn_like.generator_out",
    **SEEDED,
)
def randn_like(
    self: Tensor, *, generator: Generator | None, options: TensorOptions, memory_format: MemoryFormat | None = None
) -> Tensor:
    """Normally distributed numbers, of a given generator, in the form of a tensor."""
    return empty_like(self, **options, memory_format=memory_format).normal_(generator=generator)


randn_like.sharding(elementwise=True)
randn_like.non_differentiable("self")
