"""Random orders."""

from __future__ import annotations

from opdsl.aten.create.factories import empty, give_size
from opdsl.aten.create.random_integers import SEEDED
from opdsl.aten.index.sorting import first_places_along
from opdsl.declare import Overload, op
from opdsl.errors import UnsupportedDTypeError
from opdsl.kernels import check
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.primitives import random as distributions
from opdsl.runtime import Device, DType, Generator, Layout, Tensor, bool_, int64
from opdsl.schema import Alias
from opdsl.schema.vocabulary import SymInt


@op(
    "aten::randperm.generator",
    kernel="CompositeExplicitAutograd",
    overloads={
        "": Overload(
            "The integers below ``n`` in a random order, every order being as likely as the others.",
            fixed={"generator": None},
            tags=("core", "nondeterministic_seeded"),
        ),
        "generator": Overload(),
    },
    **SEEDED,
)
def randperm(
    n: SymInt,
    *,
    generator: Generator | None,
    dtype: DType | None = int64,
    layout: Layout | None = None,
    device: Device | None = None,
    pin_memory: bool | None = None,
) -> Tensor:
    """The integers below ``n`` in a random order of a given generator."""
    made = empty([n], dtype=dtype, layout=layout, device=device, pin_memory=pin_memory)
    return randperm_out(n, generator=generator, out=made)


@randperm.overload(
    "generator_out",
    kernel=True,
    overloads={
        "out": Overload(
            "``randperm`` into a given tensor.", fixed={"generator": None}, kernel="CompositeExplicitAutograd"
        ),
        "generator_out": Overload(),
    },
    **SEEDED,
)
def randperm_out(
    n: SymInt, *, generator: Generator | None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """``randperm`` of a given generator into a given tensor."""
    dtype = out.dtype
    check(n >= 0, f"n must be non-negative, got{n}")
    if dtype.is_complex or dtype is bool_:
        raise UnsupportedDTypeError(f"\"randperm\" not implemented for '{dtype.scalar_type}'")
    if n > 0:
        convert(n, dtype)
    if dtype.is_floating_point:
        limit = (1 << distributions.DIGITS[dtype]) + 1
        check(n <= limit, f"n cannot be greater than {limit} for {dtype.scalar_type} type.")
    give_size(out, (n,))
    if out.is_meta:
        return out
    # Sorting distinct random keys orders their places at random; of equal keys among 2**63 there are hardly any.
    keys = empty([n], dtype=int64, device=out.device).random_(generator=generator)
    return out.copy_(first_places_along(keys, n, 0))
