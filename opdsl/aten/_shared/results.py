"""Helper that stores several results in ``out`` tensors, after checking that all of them fit."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.errors import DTypeError
from opdsl.kernels import check_storable, copy_, resize_output
from opdsl.runtime import Tensor, bump_version


def store_results(
    name: str, outs: Sequence[Tensor], tensors: Sequence[Tensor], written: Sequence[tuple[Tensor, Tensor]] = ()
) -> tuple[Tensor, ...]:
    """Store results in the ``out`` tensors of a call, resizing those of another shape.

    Args:
        name: the operator's name, for error messages.
        outs: the tensors to store the results in.
        tensors: the results.
        written: further pairs of a tensor and the tensor that is copied into it.

    Raises:
        DTypeError: an ``out`` tensor has another dtype than its result; nothing is stored then.
        ReadOnlyError, OverlapError: a tensor cannot be written; nothing is stored then.
    """
    stores = list(zip(outs, tensors, strict=True))
    for out, value in stores:
        if out.dtype is not value.dtype:
            raise DTypeError(f"{name}: expected an output of {value.dtype}, but got {out.dtype}")
    check_storable([*stores, *written])
    for out, value in stores:
        resize_output(out, value.shape)
    for out, value in (*stores, *written):
        copy_(out, value)
        bump_version(out)
    return tuple(outs)
