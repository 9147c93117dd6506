"""Several results stored in given tensors: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.errors import DTypeError
from opdsl.kernels import check_storable, copy_, resize_output
from opdsl.runtime import Tensor, bump_version


def store_results(
    name: str, outs: Sequence[Tensor], tensors: Sequence[Tensor], written: Sequence[tuple[Tensor, Tensor]] = ()
) -> tuple[Tensor, ...]:
    """Store results in tensors that are resized where they have other shapes.

    Args:
        name: of the operator.
        outs: what they are stored in.
        tensors: the results.
        written: further tensors with what becomes of them.

    Raises:
        DTypeError: a tensor has another dtype than the result; nothing is stored then.
        ReadOnlyError, OverlapError: one cannot be written.
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
