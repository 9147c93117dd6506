"""Tensors whose memory is a file."""

from __future__ import annotations

from pathlib import Path

import numpy

from opdsl.aten.create.factories import empty
from opdsl.declare import op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import FileFormatError
from opdsl.kernels import check
from opdsl.runtime import Device, Tensor, wrap
from opdsl.schema.vocabulary import TensorOptions


@op("aten::from_file", dispatch="CPU", autogen="from_file.out")
def from_file(filename: str, shared: bool | None = None, size: int | None = 0, *, options: TensorOptions) -> Tensor:
    """A vector over the first bytes of a file.

    Args:
        filename: of the file.
        shared: whether writes reach the file, which is made, or made longer, as needed; otherwise they stay in the
            process, and the file must be there and long enough.
        size: how many elements.
        options: the dtype of elements.

    Raises:
        FileFormatError: the file cannot be opened, or is too short.
    """
    ...


@from_file.kernel("CPU")
def from_file_kernel(filename, shared, size, dtype):
    wanted, count = dtype or get_default_dtype(), size or 0
    check(count >= 0, f"from_file: expected a size that is not negative, got {count}")
    if not count:
        return empty((0,), dtype=wanted)
    path = Path(filename)
    try:
        if not shared and path.stat().st_size < count * wanted.itemsize:
            raise FileFormatError(
                f"from_file: {filename} has {path.stat().st_size} bytes, fewer than the {count * wanted.itemsize} of "
                f"{count} elements of {wanted}. Ask for fewer, or pass shared=True, which makes it longer."
            )
        if shared:
            path.touch()
        return wrap(numpy.memmap(path, wanted.numpy, "r+" if shared else "c", shape=(count,)), wanted)
    except OSError as error:
        raise FileFormatError(f"from_file: unable to open {filename}: {error.strerror}.") from error


@from_file.kernel("Meta")
def from_file_meta_kernel(size, dtype):
    return empty((size or 0,), dtype=dtype or get_default_dtype(), device=Device("meta"))
