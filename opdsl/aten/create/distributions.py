"""Operators that draw random numbers: ``uniform_``, ``normal_`` and other continuous ones, ``rand``, ``randn``,
``bernoulli``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Annotated, Any

from opdsl import primitives
from opdsl.aten._shared.checks import is_ordered, require_kernel
from opdsl.aten._shared.entries import documented
from opdsl.aten.create.factories import empty, of_size
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.create.like_factories import empty_like
from opdsl.aten.pointwise.comparison import ge_number, le_number
from opdsl.declare import Out, op, traceable
from opdsl.errors import DTypeError
from opdsl.kernels import check, copy_, fill_random_, holds, resize_output
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.kernels.iteration.numbers import LARGEST, floating
from opdsl.kernels.primitives import random as distributions
from opdsl.runtime import Generator, MemoryFormat, Tensor, float64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Name, SymInt, TensorOptions

# Options of all operators of this module, and of those that fill a tensor.
FILL: dict[str, Any] = {"variants": "method", "tags": "nondeterministic_seeded"}

# ------------------------------------------------------------------------------------------------- uniform, normal, ...


@op("aten::uniform_", kernel=True, **FILL)
def uniform_(
    self: Tensor[Alias("a", write=True)],
    from_: Annotated[float, Name("from")] = 0,
    to: float = 1,
    *,
    generator: Generator | None = None,
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with uniformly distributed numbers from ``from`` up to, but not including, ``to``."""
    real = self.dtype.to_real()
    digits = distributions.digits_of(real, "check_uniform_bounds")
    largest = LARGEST.get(real.name, sys.float_info.max)
    name = c_name(real)
    check(-largest <= from_ <= largest, f"from is out of bounds for {name}")
    check(-largest <= to <= largest, f"to is out of bounds for {name}")
    check(from_ <= to, f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    check(
        to - from_ <= largest,
        f"uniform_ expects to-from <= std::numeric_limits<{real.scalar_type}>::max(), but found to={to} and "
        f"from={from_} which result in to-from to exceed the limit",
    )
    distribution = distributions.uniform if real is float64 else distributions.uniform_single
    bits = 53 if real is float64 else 32
    return fill_random_(self, distribution, (floating(from_), floating(to), bits - digits, 2.0**-digits), generator)


uniform_.derivative("self")(zero_derivative)


@op("aten::normal_", kernel=True, **FILL)
def normal_(
    self: Tensor[Alias("a", write=True)], mean: float = 0, std: float = 1, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with normally distributed numbers. Real and imaginary parts of complex ones have ``std /
    sqrt(2)`` each.
    """
    check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
    distributions.digits_of(self.dtype.to_real(), "normal_kernel_cpu")
    if self.dtype.is_complex:
        std /= math.sqrt(2)
    real = self.dtype.to_real()
    distribution = distributions.normal if real is float64 else distributions.normal_single
    return fill_random_(self, distribution, (floating(mean), floating(std)), generator)


normal_.derivative("self")(zero_derivative)


def require_continuous(tensor: Tensor, name: str, dtype: str) -> None:
    """Check that a tensor's dtype is real and floating-point. Raises DTypeError: it is not."""
    if not tensor.dtype.is_floating_point:
        raise DTypeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {dtype}"
        )


@op("aten::log_normal_", variants="method")
def log_normal_(
    self: Tensor[Alias("a", write=True)], mean: float = 1, std: float = 2, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with numbers whose logarithms are normally distributed with ``mean`` and ``std``."""
    ...


def log_normal_element(u: Any, turns: Any, mean: Any, std: Any) -> Any:
    return math.exp(mean + std * (math.sqrt(-2.0 * math.log(u)) * math.cos(2.0 * math.pi * turns)))


log_normal_numbers = primitives.draw(log_normal_element, from_zero="turns")


@log_normal_.formula
def log_normal(self: Tensor, mean: float, std: float, generator: Generator | None) -> Tensor:
    return log_normal_numbers(self, mean, std, generator)


@log_normal_.meta
def log_normal_meta(ctx, self, std):
    check(std > 0, f"log_normal_ expects std > 0.0, but found std={std}")
    distributions.digits_of(self.dtype, "log_normal_cpu")


@op("aten::exponential_", variants="method")
def exponential_(
    self: Tensor[Alias("a", write=True)], lambd: float = 1, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with exponentially distributed numbers of the rate ``lambd``; none is 0."""
    ...


def exponential_element(u: Any, lambd: Any) -> Any:
    return -math.log(u) / lambd


exponential_numbers = primitives.draw(exponential_element)


@exponential_.formula
def exponential(self: Tensor, lambd: float, generator: Generator | None) -> Tensor:
    return exponential_numbers(self, lambd, generator)


@exponential_.meta
def exponential_meta(ctx, self, lambd):
    require_continuous(self, "Exponential", self.dtype.scalar_type)
    check(lambd > 0, f"exponential_ expects lambda > 0.0, but found lambda={lambd}")


@op("aten::cauchy_", variants="method")
def cauchy_(
    self: Tensor[Alias("a", write=True)], median: float = 0, sigma: float = 1, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with numbers of the Cauchy distribution with ``median`` and the half width ``sigma``."""
    ...


def cauchy_element(u: Any, median: Any, sigma: Any) -> Any:
    return median + sigma * math.tan(math.pi * (u - 0.5))


cauchy_numbers = primitives.draw(cauchy_element)


@cauchy_.formula
def cauchy(self: Tensor, median: float, sigma: float, generator: Generator | None) -> Tensor:
    return cauchy_numbers(self, median, sigma, generator)


@cauchy_.meta
def cauchy_meta(ctx, self, sigma):
    check(sigma > 0, f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    require_continuous(self, "Cauchy", c_name(self.dtype))


@op("aten::geometric_", variants="method")
def geometric_(
    self: Tensor[Alias("a", write=True)], p: float, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with counts of trials up to the first success, each trial succeeding with the probability
    ``p``.
    """
    ...


def geometric_element(u: Any, p: Any) -> Any:
    return math.ceil(math.log(u) / math.log1p(-p))


geometric_numbers = primitives.draw(geometric_element)


@geometric_.formula
def geometric(self: Tensor, p: float, generator: Generator | None) -> Tensor:
    return geometric_numbers(self, p, generator)


@geometric_.meta
def geometric_meta(ctx, self, p):
    check(0 < p < 1, f"geometric_ expects p to be in (0, 1), but got p={p}")
    require_kernel(is_ordered(self.dtype), "geometric_cpu", self.dtype)


# ---------------------------------------------------------------------------------------------------------- rand, randn


def declare_numbers(name: str, text: str, distribution: str) -> Any:
    """Declare the operators ``name`` and ``name_like``, each with and without a generator, which return random numbers.

    Args:
        name: of the packet of operators, ``"rand"``.
        text: describes the numbers; the docstrings of the operators begin with it.
        distribution: name of the method that fills a tensor with such numbers, ``"uniform_"``.

    Returns:
        The operator that takes a size and no generator.
    """

    entry: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "tags": "nondeterministic_seeded"}
    word = f"{text}, drawn from ``generator``"

    def filled(tensor: Tensor, generator: Generator | None) -> Tensor:
        fill: Callable[..., Tensor] = getattr(tensor, distribution)
        return fill(generator=generator)

    @op(
        f"aten::{name}",
        **{**entry, "tags": ("core", "nondeterministic_seeded"), "out": Out(tags="nondeterministic_seeded")},
    )
    @documented(f"{text}.")
    def of_given_size(size: list[SymInt], *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
        return filled(of_size(size, options, out), None)

    @op(f"aten::{name}.generator", out=Out(tags="nondeterministic_seeded"), **entry)
    @documented(f"{word}.")
    def of_generator(
        size: list[SymInt], *, generator: Generator | None, options: TensorOptions, out: Tensor | None = None
    ) -> Tensor:
        return filled(of_size(size, options, out), generator)

    @op(f"aten::{name}_like", **entry)
    @documented(f"{text}, in a tensor like ``self``.")
    def like(self: Tensor, *, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
        return filled(empty_like(self, memory_format=memory_format, **options), None)

    @op(f"aten::{name}_like.generator", **entry)
    @documented(f"{word}, in a tensor like ``self``.")
    def like_of_generator(
        self: Tensor,
        *,
        generator: Generator | None,
        options: TensorOptions,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        return filled(empty_like(self, memory_format=memory_format, **options), generator)

    for operator in (like, like_of_generator):
        operator.sharding(elementwise=True)
        operator.non_differentiable("self")
    return of_given_size


rand = declare_numbers("rand", "Return uniformly distributed random numbers from [0, 1)", "uniform_")
declare_numbers("randn", "Return random numbers from the standard normal distribution", "normal_")


# --------------------------------------------------------------------------------------------------------------- normal


def all_hold(mask: Tensor) -> bool:
    return mask.device.type == "meta" or holds(mask.all())


def normals(
    mean: Tensor | float, std: Tensor | float, *, generator: Generator | None, out: Tensor | None = None
) -> Tensor:
    """Return normally distributed numbers whose means, standard deviations or both are the elements of tensors.

    Raises:
        ShapeError: a standard deviation is negative.
        DTypeError: the standard deviations are complex.
    """
    tensors = [moment for moment in (mean, std) if isinstance(moment, Tensor)]
    form = tensors[0] if out is None else out
    if not isinstance(std, Tensor):
        output = empty(tensors[0].shape, dtype=form.dtype, device=form.device) if out is None else empty_like(out)
        check(std >= 0, f"normal expects std >= 0.0, but found std {std}")
        sample: Tensor = output.normal_(0, std, generator=generator).add_(mean)
        return sample if out is None else copy_(out, sample)
    output = empty(broadcast_all(tensor.shape for tensor in tensors), dtype=form.dtype, device=form.device)
    if std.dtype.is_complex:
        raise DTypeError("normal expects standard deviation to be non-complex")
    check(all_hold(ge_number(std, 0)), "normal expects all elements of std >= 0.0")
    sample = output.normal_(0, 1, generator=generator).mul_(std).add_(mean)
    if out is None:
        return sample
    resize_output(out, sample.shape)
    return copy_(out, sample)


WRITTEN = Out(tags="nondeterministic_seeded")
NORMAL: dict[str, Any] = {"kernel": True, "tags": "nondeterministic_seeded"}


@op("aten::normal.Tensor_float", out=WRITTEN, **NORMAL)
def normal_tensor_float(
    mean: Tensor, std: float = 1, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Return normally distributed numbers whose means are the elements of ``mean``, all with the standard deviation
    ``std``.
    """
    return normals(mean, std, generator=generator, out=out)


@op("aten::normal.float_Tensor", out=WRITTEN, **NORMAL)
def normal_float_tensor(
    mean: float, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Return normally distributed numbers with the mean ``mean``, whose standard deviations are the elements of
    ``std``.
    """
    return normals(mean, std, generator=generator, out=out)


@op("aten::normal.Tensor_Tensor", out=WRITTEN, **NORMAL)
def normal_tensor_tensor(
    mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """Return normally distributed numbers whose means and standard deviations are the elements of ``mean`` and
    ``std``.
    """
    return normals(mean, std, generator=generator, out=out)


@op("aten::normal.float_float", **{**NORMAL, "kernel": "CompositeExplicitAutograd", "out": WRITTEN})
def normal_float_float(
    mean: float,
    std: float,
    size: list[SymInt],
    *,
    generator: Generator | None = None,
    options: TensorOptions,
    out: Tensor | None = None,
) -> Tensor:
    """Return a tensor of the given size with normally distributed numbers."""
    return of_size(size, options, out).normal_(mean, std, generator=generator)


@op("aten::normal_functional", **{**NORMAL, "kernel": "CompositeExplicitAutograd"})
def normal_functional(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
    """Return normally distributed numbers in a new tensor with the shape, dtype and device of ``self``."""
    return empty_like(self).normal_(mean, std, generator=generator)


for _normal, _tensors in (
    (normal_tensor_float, ("mean",)),
    (normal_float_tensor, ("std",)),
    (normal_tensor_tensor, ("std", "mean")),
    (normal_functional, ("self",)),
):
    for _tensor in _tensors:
        _normal.derivative(_tensor)(zero_derivative)
for _normal in (normal_tensor_float, normal_functional):
    _normal.sharding(elementwise=True)


# ------------------------------------------------------------------------------------------------------------ bernoulli


@op("aten::bernoulli_.Tensor", variants="method")
def bernoulli_(
    self: Tensor[Alias("a", write=True)], p: Tensor, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with 1 where a trial with the probability in that element of ``p`` succeeds, and with 0
    elsewhere.
    """
    ...


def succeeds(u: Any, p: Any) -> Any:
    return u < p


tosses = primitives.draw(succeeds, from_zero="u")


@bernoulli_.formula
def bernoulli_of_tensor(self: Tensor, p: Tensor, generator: Generator | None) -> Tensor:
    return tosses(self, p, generator)


@bernoulli_.meta
def bernoulli_meta(ctx, self, p):
    for fits, checked in ((not self.dtype.is_complex, self), (p.dtype.is_floating_point, p)):
        require_kernel(fits, "bernoulli_tensor_cpu_p_", checked.dtype)
    p.expand(self.shape)
    check(
        all_hold(ge_number(p, 0)) and all_hold(le_number(p, 1)),
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.",
    )


@bernoulli_.overload("float", variants="method")
def bernoulli_float_(
    self: Tensor[Alias("a", write=True)], p: float = 0.5, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with 1 where a trial with the probability ``p`` succeeds, and with 0 elsewhere."""
    ...


@bernoulli_float_.formula
def bernoulli_of_number(self: Tensor, p: float, generator: Generator | None) -> Tensor:
    return tosses(self, p, generator)


@bernoulli_float_.meta
def bernoulli_float_meta(ctx, self, p):
    check(0 <= p <= 1, f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    require_kernel(not self.dtype.is_complex, "bernoulli_scalar_cpu_", self.dtype)


@op(
    "aten::bernoulli",
    kernel="CompositeExplicitAutograd",
    variants="function, method",
    out=Out(tags="nondeterministic_seeded"),
    tags="nondeterministic_seeded",
)
@traceable
def bernoulli(self: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor:
    """Return 1 where a trial with the probability in that element of ``self`` succeeds, and 0 elsewhere."""
    output = empty_like(self) if out is None else of_size(self.shape, TensorOptions(), out)
    return output.bernoulli_(self, generator=generator)


bernoulli.sharding(elementwise=True)
bernoulli.derivative("self")(zero_derivative)


@bernoulli.overload(
    "p", kernel="CompositeExplicitAutogradNonFunctional", variants="function, method", tags="nondeterministic_seeded"
)
def bernoulli_p(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Return 1 where a trial with the probability ``p`` succeeds and 0 elsewhere, in a new tensor like ``self``."""
    return empty_like(self).bernoulli_(p, generator=generator)


bernoulli_p.sharding(elementwise=True)
bernoulli_p.derivative("self")(zero_derivative)
