"""Pooling, through the compilers of backends that have it."""

from __future__ import annotations

from opdsl.kernels.calls import PoolingCall, PoolSpec
from opdsl.kernels.compiler import Compiled, compiler_for, has_compiler
from opdsl.kernels.outputs import array_of
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import made_once
from opdsl.runtime.tensor import Tensor


def pool_windows(
    kind: str,
    images: Tensor,
    windows: tuple[PoolSpec, ...],
    results: Tensor,
    places: Tensor | None = None,
    divisor: int = 0,
) -> bool:
    """Writes results from images, or the other way round, on a backend that compiles this; whether it does.

    Args:
        kind: ``largest``, ``mean`` or ``share``, see ``PoolingCall``.
        images: (..., sizes), with one or two dimensions before those that are slid over.
        windows: of the last dimensions.
        results: (..., counts), of the same dtype.
        places: of the largest elements; int64, of the same shape.
        divisor: see ``PoolingCall``.
    """
    device = images.device
    if not has_compiler(device.type):
        return False
    numbers = results if places is None else places
    compiled = _compiled(kind, images.geometry, windows, results.geometry, numbers.geometry, divisor)
    if compiled is None:
        return False
    read, *written = (results, images) if kind == "share" else (images, results)
    operands = (read, *written) if places is None else (read, *written, places)
    compiled(*map(array_of, operands))
    return True


@made_once(1024)
def _compiled(
    kind: str,
    images: TensorMeta,
    windows: tuple[PoolSpec, ...],
    results: TensorMeta,
    places: TensorMeta,
    divisor: int,
) -> Compiled | None:
    """The loop of ``pool_windows``: what it reads, and what it writes; None where the backend has none."""
    make = getattr(compiler_for(images.device.type), "pooling", None)
    if make is None or results.dtype is not images.dtype:
        return None
    is_batch = images.ndim == len(windows) + 2
    call = PoolingCall(
        kind=kind,
        dtype=images.dtype,
        samples=images.shape[0] if is_batch else 1,
        channels=images.shape[1 if is_batch else 0],
        windows=windows,
        images=_strides(images, is_batch),
        results=_strides(results, is_batch),
        places=_strides(places, is_batch),
        divisor=divisor,
    )
    made: Compiled | None = make(call)
    return made


def _strides(form: TensorMeta, is_batch: bool) -> tuple[int, ...]:
    """Of (batch, channels, ...)."""
    return form.strides if is_batch else (0, *form.strides)
