"""Samples of aten operators on memory, autograd history and files, and their table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from opdsl.aten.create.construction import tensor
from opdsl.runtime import Device, Tensor, bool_, int32, int64
from opdsl.runtime.permanent import kept_forever
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def followed(make: Maker, *shape: int) -> Tensor:
    """Return a leaf that requires grad; of float32 where the dtype has no gradients."""
    has_gradients = make.dtype.is_floating_point or make.dtype.is_complex
    return (make(*shape) if has_gradients else make(*shape).float()).requires_grad_()


def _leaves(make: Maker) -> Iterator[Sample]:
    yield Sample(followed(make, 3))


def _shown(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4))
    yield Sample(make.transposed(3, 4))


def _starts(make: Maker) -> Iterator[Sample]:
    yield Sample(followed(make, 3), [], make(3).to(followed(make).dtype))


def _sources(*more: object) -> Callable[[Maker], Iterator[Sample]]:
    def samples(make: Maker) -> Iterator[Sample]:
        yield Sample(make(5), make.transposed(3, 4), *more)

    return samples


def _sizes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), tensor([2, -1]))
    yield Sample(make.transposed(3, 4), tensor([4, 3], dtype=int32))


def _outputs(make: Maker) -> Iterator[Sample]:
    yield Sample(make(2, 3), (3, 2), Device("cpu"))


def _several(make: Maker) -> Iterator[Sample]:
    yield Sample([make(3), make.transposed(3, 4)])


def _pruned(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), tensor([True, False, True], dtype=bool_), int32)
    yield Sample(make.transposed(3, 4), tensor([False, True, True], dtype=bool_), int64)


def _slices(make: Maker) -> Iterator[Sample]:
    whole = make(5, 4)
    yield Sample(whole.as_strided((2, 4), (4, 1), 4), whole, 0, 1, 3)


@kept_forever
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder of this process, since a file that another process rewrites must not be mapped."""
    return tempfile.TemporaryDirectory(prefix="opdsl-")


def _files(make: Maker) -> Iterator[Sample]:
    path = Path(_folder().name) / "sample"
    if not path.exists():
        path.write_bytes(bytes(range(48)) + bytes(64))
    yield Sample(str(path), False, 3, dtype=make.dtype)


def _autocast(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), True, True)
    yield Sample(make(3, 4), False, False)


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::set_.source_Tensor": _sources(),
    "aten::set_.source_Tensor_storage_offset": _sources(2, (2, 3), (3, 1)),
    "aten::is_set_to": _sources(),
    "aten::set_data": _sources(),
    "aten::data": _shown,
    "aten::retain_grad": _leaves,
    "aten::requires_grad_": _leaves,
    "aten::_backward": _starts,
    "aten::_shape_as_tensor": _shown,
    "aten::_reshape_from_tensor": _sizes,
    "aten::_resize_output_": _outputs,
    "aten::_to_cpu": _several,
    "aten::_autocast_to_full_precision": _autocast,
    "aten::_rowwise_prune": _pruned,
    "aten::slice_inverse": _slices,
    "aten::from_file": _files,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
