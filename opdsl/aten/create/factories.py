"""Operators that create tensors of a given size: ``empty``, ``full``, ``zeros``, ``ones`` and ``scalar_tensor``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opdsl.aten._shared.everywhere import EVERYWHERE
from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import OptionError
from opdsl.kernels import check, fill_, new_tensor, resize
from opdsl.kernels.iteration.numbers import to_element
from opdsl.runtime import (
    Device,
    DType,
    Layout,
    MemoryFormat,
    Tensor,
    bool_,
    bump_version,
    complex64,
    complex128,
    float64,
    int64,
    strides_for,
)
from opdsl.runtime.geometry import geometry
from opdsl.schema import Alias
from opdsl.schema.vocabulary import Scalar, SymInt, TensorOptions


@op("aten::empty.memory_format", kernel=EVERYWHERE, tags="core")
def empty(size: list[SymInt], *, options: TensorOptions, memory_format: MemoryFormat | None = None) -> Tensor:
    """Return an uninitialized tensor of the given size."""
    check_size(size)
    require_strided(options.layout)
    strides = strides_for(size, memory_format or MemoryFormat.contiguous_format)
    form = geometry(options.dtype or get_default_dtype(), options.device or Device("cpu"), tuple(size), strides)
    return new_tensor(form, pinned=bool(options.pin_memory))


def check_size(size: Sequence[int]) -> None:
    """Check that no size is negative. Raises ShapeError: a size is."""
    negative = next((number for number in size if number < 0), 0)
    check(negative == 0, f"Trying to create tensor with negative dimension {negative}: {list(size)}")


def require_strided(layout: Layout | None) -> None:
    """Check that a requested layout is strided, as sparse tensors do not exist.

    Raises:
        OptionError: the layout is not strided.
    """
    if layout not in (None, Layout.strided):
        raise OptionError(f"the layout {layout} is not supported; opdsl has strided tensors only. Omit layout=")


def give_size(out: Tensor, size: tuple[int, ...]) -> None:
    """Resize an ``out`` tensor as ``Tensor.resize_`` does, without the resize warning that other operators give."""
    if out.shape != size:
        resize(out, size)


@empty.overload("out")
def empty_out(
    size: list[SymInt], *, memory_format: MemoryFormat | None = None, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Resize ``out`` to the given size, without setting its elements."""
    check_size(size)
    give_size(out, tuple(size))
    bump_version(out)
    return out


def of_size(size: Sequence[int], options: TensorOptions, out: Tensor | None) -> Tensor:
    """Return ``out`` resized to ``size``, or a new uninitialized tensor of that size if ``out`` is None."""
    if out is None:
        return empty(size, **options)
    check_size(size)
    give_size(out, tuple(size))
    return out


def dtype_of_number(value: complex) -> DType:
    """Return the dtype of a tensor that is created from a Python number: bool, int64, or the default dtype or its
    complex one.
    """
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    default = get_default_dtype()
    if isinstance(value, float):
        return default
    return complex128 if default is float64 else complex64


FILLED: dict[str, Any] = {"kernel": "CompositeExplicitAutograd", "out": True}


@op("aten::full", tags="core", **FILLED)
def full(size: list[SymInt], fill_value: Scalar, *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
    """Return a tensor of the given size with every element set to ``fill_value``."""
    if out is not None:
        to_element(fill_value, out.dtype, math.prod(size))  # raises before anything is changed
    chosen = options.replace(dtype=options.dtype or dtype_of_number(fill_value))
    return fill_(of_size(size, chosen, out), fill_value)


@op("aten::zeros", **FILLED)
def zeros(size: list[SymInt], *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
    """Return a tensor of zeros of the given size."""
    return fill_(of_size(size, options, out), 0)


@op("aten::ones", **FILLED)
def ones(size: list[SymInt], *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
    """Return a tensor of ones of the given size."""
    return fill_(of_size(size, options, out), 1)


@op("aten::scalar_tensor", kernel="CompositeExplicitAutograd", tags="core")
def scalar_tensor(s: Scalar, *, options: TensorOptions) -> Tensor:
    """Return a zero-dim tensor that holds a number, of the default dtype if ``options`` names none."""
    return fill_(empty([], **options), s)
