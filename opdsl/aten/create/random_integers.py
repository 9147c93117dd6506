"""Operators that draw random integers (``random_``, ``randint``) and random permutations (``randperm``)."""

from __future__ import annotations

import math
from typing import Annotated, Any

from opdsl.aten._shared.checks import is_ordered, require_kernel
from opdsl.aten.create.factories import empty, give_size, of_size
from opdsl.aten.create.filling import zero_derivative
from opdsl.aten.create.like_factories import empty_like
from opdsl.aten.index.sorting import first_places_along
from opdsl.declare import Out, Overload, op
from opdsl.errors import DTypeError
from opdsl.kernels import check, fill_random_
from opdsl.kernels.iteration.dtypes import c_name
from opdsl.kernels.iteration.numbers import BOUNDS, LARGEST, convert
from opdsl.kernels.primitives import random as distributions
from opdsl.runtime import Device, DType, Generator, Layout, MemoryFormat, Tensor, bool_, int64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Name, SymInt, TensorOptions

FILL: dict[str, Any] = {"variants": "method", "tags": "nondeterministic_seeded"}
_LARGEST = (1 << 63) - 1


@op(
    "aten::random_.from",
    kernel=True,
    overloads={
        "": Overload(
            "Fill the tensor with random integers from 0 to the largest up to which its dtype holds all integers.",
            fixed={"from_": 0, "to": None},
        ),
        "from": Overload(),
    },
    **FILL,
)
def random_(
    self: Tensor[Alias("a", write=True)],
    from_: Annotated[int, Name("from")],
    to: int | None,
    *,
    generator: Generator | None = None,
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with random integers from ``from`` up to, but not including, ``to``."""
    return fill_between(self, from_, to, generator)


@random_.overload("to", kernel=True, **FILL)
def random_to_(
    self: Tensor[Alias("a", write=True)], to: int, *, generator: Generator | None = None
) -> Tensor[Alias("a", write=True)]:
    """Fill the tensor with random integers from 0 up to, but not including, ``to``."""
    return fill_between(self, 0, to, generator)


for _fill in (random_, random_to_):
    _fill.derivative("self")(zero_derivative)


def fill_between(self: Tensor, from_: int, to: int | None, generator: Generator | None) -> Tensor:
    """Fill a tensor with random integers from ``from_`` up to, but not including, ``to``.

    If ``to`` is None, the range ends with the integer that ``highest`` returns for the tensor's dtype.

    Raises:
        ShapeError: no integer is in the range.
    """
    if to is not None:
        check(from_ < to, f"random_ expects 'from' to be less than 'to', but got from={from_} >= to={to}")
        return fill_integers(self, from_, to - 1, generator)
    last = highest(self.dtype)
    check(from_ <= last, f"random_ expects 'from' to be less than or equal to 'to_inc', but got {from_} > {last}")
    return fill_integers(self, from_, last, generator)


def highest(dtype: DType) -> int:
    """Return the largest integer up to which a dtype holds all integers.

    Raises:
        UnsupportedDTypeError: the dtype is complex.
    """
    require_kernel(not dtype.is_complex, "random_kernel_cpu", dtype)
    if dtype is bool_:
        return 1
    return int(BOUNDS[dtype.name][1]) if dtype.name in BOUNDS else 1 << distributions.DIGITS[dtype]


def fill_integers(target: Tensor, low: int, last: int, generator: Generator | None) -> Tensor:
    """Fill a tensor with random integers from ``low`` to ``last``, both included.

    Raises:
        DTypeError: the dtype is complex.
        ShapeError: the dtype does not hold the integers.
    """
    dtype = target.dtype
    if dtype.is_complex:
        raise DTypeError("check_random_bounds handles only integral, floating-point and boolean types")
    largest: float = LARGEST.get(dtype.name, math.inf)
    least, most = (0, 1) if dtype is bool_ else BOUNDS.get(dtype.name, (-largest, largest))
    check(least <= low <= most, f"from is out of bounds for {c_name(dtype)}")
    check(least <= last <= most, f"to - 1 is out of bounds for {c_name(dtype)}")
    count = last - low + 1
    if count <= _LARGEST:
        distribution = distributions.integer if count >= 1 << 31 else distributions.small_integer
        return fill_random_(target, distribution, (low, count), generator)
    signed = (count + (1 << 63)) % (1 << 64) - (1 << 63)
    return fill_random_(target, distributions.wide_integer, (low, signed), generator)


@op(
    "aten::randint.low_generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "Return random integers from 0 up to, but not including, ``high``.", fixed={"low": 0, "generator": None}
        ),
        "generator": Overload(
            "Return random integers from 0 up to, but not including, ``high``, drawn from ``generator``.",
            fixed={"low": 0},
        ),
        "low": Overload(
            "Return random integers from ``low`` up to, but not including, ``high``.", fixed={"generator": None}
        ),
        "low_generator": Overload(),
    },
    out=Out(tags="nondeterministic_seeded"),
    tags="nondeterministic_seeded",
)
def randint(
    low: SymInt,
    high: SymInt,
    size: list[SymInt],
    *,
    generator: Generator | None,
    dtype: DType | None = int64,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a tensor of random integers from ``low`` up to, but not including, ``high``, drawn from ``generator``."""
    options = TensorOptions(dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return fill_between(of_size(size, options, out), low, high, generator)


def filled_like(
    self: Tensor,
    low: int,
    high: int,
    generator: Generator | None,
    options: TensorOptions,
    memory_format: MemoryFormat | None,
) -> Tensor:
    """Return random integers from ``low`` up to, but not including, ``high``, in a new tensor with the shape, dtype and
    device of ``self`` unless ``options`` say otherwise.
    """
    return fill_between(empty_like(self, **options, memory_format=memory_format), low, high, generator)


LIKE: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "tags": "nondeterministic_seeded"}
"""Options of all overloads of ``randint_like``."""


@op(
    "aten::randint_like.generator",
    overloads={
        "": Overload(
            "Return random integers from 0 up to, but not including, ``high``, in a tensor like ``self``.",
            fixed={"generator": None},
        ),
        "generator": Overload(),
    },
    **LIKE,
)
def randint_like(
    self: Tensor,
    high: SymInt,
    *,
    generator: Generator | None,
    options: TensorOptions,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return random integers from 0 up to, but not including, ``high``, drawn from ``generator``, in a tensor like
    ``self``.
    """
    return filled_like(self, 0, high, generator, options, memory_format)


@randint_like.overload(
    "Tensor_generator",
    overloads={
        "Tensor": Overload(
            "Return random integers from 0 up to, but not including, the element of the zero-dim tensor ``high``, in a "
            "tensor like ``self``.",
            fixed={"generator": None},
        ),
        "Tensor_generator": Overload(),
    },
    **LIKE,
)
def randint_like_below_tensor(
    self: Tensor,
    high: Tensor,
    *,
    generator: Generator | None,
    options: TensorOptions,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return random integers from 0 up to, but not including, the element of the zero-dim tensor ``high``, drawn from
    ``generator``, in a tensor like ``self``.
    """
    return filled_like(self, 0, int_of(high), generator, options, memory_format)


@randint_like.overload(
    "low_generator_dtype",
    overloads={
        "low_dtype": Overload(
            "Return random integers from ``low`` up to, but not including, ``high``, in a tensor like ``self``.",
            fixed={"generator": None},
        ),
        "low_generator_dtype": Overload(),
    },
    **LIKE,
)
def randint_like_between(
    self: Tensor,
    low: SymInt,
    high: SymInt,
    *,
    generator: Generator | None,
    options: TensorOptions,
    memory_format: MemoryFormat | None = None,
) -> Tensor:
    """Return random integers from ``low`` up to, but not including, ``high``, drawn from ``generator``, in a tensor
    like ``self``.
    """
    return filled_like(self, low, high, generator, options, memory_format)


for _like in (randint_like, randint_like_below_tensor, randint_like_between):
    _like.sharding(elementwise=True)
    _like.non_differentiable("self")
randint_like_below_tensor.non_differentiable("high")


def int_of(high: Tensor) -> int:
    """Return the only element of a CPU tensor as an int. For a meta tensor, whose element is unknown, return 1.

    Raises:
        ShapeError: the tensor has another number of elements, or is on another device.
    """
    check(high.numel() == 1 and high.device.type in ("cpu", "meta"), "high must be a scalar tensor and on CPU")
    if high.is_meta:
        return 1  # the element of a meta tensor is unknown
    number: int = convert(high.item(), int64)
    return number


@op(
    "aten::randperm.generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "Return the integers from 0 up to, but not including, ``n`` in a random order, all equally likely.",
            fixed={"generator": None},
            tags=("core", "nondeterministic_seeded"),
            out=True,
        ),
        "generator": Overload(),
    },
    out=True,
    tags="nondeterministic_seeded",
)
def randperm(
    n: SymInt,
    *,
    generator: Generator | None,
    dtype: DType | None = int64,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return a random permutation of the integers from 0 to ``n - 1``, drawn from ``generator``."""
    form = empty([], dtype=dtype, layout=layout, device=device, pin_memory=pin_memory) if out is None else out
    check(n >= 0, f"n must be non-negative, got{n}")
    require_kernel(is_ordered(form.dtype), "randperm", form.dtype)
    if n > 0:
        convert(n, form.dtype)
    if form.dtype.is_floating_point:
        limit = (1 << distributions.DIGITS[form.dtype]) + 1
        check(n <= limit, f"n cannot be greater than {limit} for {form.dtype.scalar_type} type.")
    output = form.new_empty((n,), pin_memory=pin_memory) if out is None else out
    give_size(output, (n,))
    if output.is_meta:
        return output
    # Sorting random keys of 63 bits gives a random permutation: equal keys are very unlikely.
    keys = empty([n], dtype=int64, device=output.device).random_(generator=generator)
    return output.copy_(first_places_along(keys, n, 0))
