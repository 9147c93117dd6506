"""Functions of the array API that change the shape of tensors, or join tensors."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl._attributes import aten
from opdsl.array_api.data_types import result_type
from opdsl.errors import OptionError
from opdsl.runtime import Tensor, int64, wrap_dimension

Axes = int | tuple[int, ...]
Tensors = Sequence[Tensor]


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """Return views of the tensors, expanded to their common shape.

    Args:
        arrays: of shapes that broadcast.

    >>> from opdsl import array_api as xp
    >>> [each.shape for each in xp.broadcast_arrays(xp.ones((2, 1)), xp.ones(3))]
    [(2, 3), (2, 3)]
    """
    return list(aten.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return a view of another shape, in which elements repeat.

    Args:
        x: the tensor.
        shape: the new shape; its last sizes equal those of ``x`` that are not 1.

    >>> from opdsl import array_api as xp
    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])
    """
    return aten.broadcast_to(x, shape)


def _of_one_dtype(arrays: Tensors) -> list[Tensor]:
    dtype = result_type(*arrays)
    return [array.to(dtype) for array in arrays]


def concat(arrays: Tensors, /, *, axis: int | None = 0) -> Tensor:
    """Return the tensors concatenated along an axis; flattened first if ``axis`` is None.

    Args:
        arrays: of equal sizes along the other axes; their dtypes are promoted.
        axis: the axis of concatenation.

    >>> from opdsl import array_api as xp
    >>> xp.concat([xp.asarray([1, 2]), xp.asarray([3])])
    tensor([1, 2, 3])
    """
    same = _of_one_dtype(arrays)
    return aten.cat([array.flatten() for array in same]) if axis is None else aten.cat(same, axis)


def stack(arrays: Tensors, /, *, axis: int = 0) -> Tensor:
    """Return the tensors concatenated along a new axis.

    Args:
        arrays: of one shape; their dtypes are promoted.
        axis: the index of the new axis in the result.

    >>> from opdsl import array_api as xp
    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    return aten.stack(_of_one_dtype(arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the slices along an axis.

    Args:
        x: the tensor.
        axis: the axis that is split.

    >>> from opdsl import array_api as xp
    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
    """
    return tuple(x.unbind(axis))


def expand_dims(x: Tensor, /, axis: int) -> Tensor:
    """Return a view with a new axis of size 1.

    Args:
        x: the tensor.
        axis: the index of the new axis in the result.

    >>> from opdsl import array_api as xp
    >>> xp.expand_dims(xp.asarray([1, 2]), -1).shape
    (2, 1)
    """
    return x.unsqueeze(axis)


def squeeze(x: Tensor, /, axis: Axes) -> Tensor:
    """Return a view without some axes of size 1.

    Args:
        x: the tensor.
        axis: the axis or axes.

    Raises:
        OptionError: an axis has another size; it is a ValueError.

    >>> from opdsl import array_api as xp
    >>> xp.squeeze(xp.ones((1, 2, 1)), 0).shape
    (2, 1)
    """
    axes = axis if isinstance(axis, tuple) else (axis,)
    for number in axes:
        if x.shape[wrap_dimension(number, x.ndim)] != 1:
            raise OptionError(f"squeeze: axis {number} of shape {x.shape} is not of size 1")
    return x.squeeze(axes)


def flip(x: Tensor, /, *, axis: Axes | None = None) -> Tensor:
    """Return the elements in reverse order along some axes, or all.

    Args:
        x: the tensor.
        axis: the axes; all for None.

    >>> from opdsl import array_api as xp
    >>> xp.flip(xp.asarray([1, 2, 3]))
    tensor([3, 2, 1])
    """
    axes = tuple(range(x.ndim)) if axis is None else axis
    return aten.flip(x, axes if isinstance(axes, tuple) else (axes,))


def moveaxis(x: Tensor, source: Axes, destination: Axes, /) -> Tensor:
    """Return a view with axes moved to other positions.

    Args:
        x: the tensor.
        source: the axes to move.
        destination: the index of each in the result; the other axes keep their order.

    >>> from opdsl import array_api as xp
    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    return x.movedim(source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return a view with the axes in another order.

    Args:
        x: the tensor.
        axes: for each axis of the result the corresponding axis of ``x``.

    >>> from opdsl import array_api as xp
    >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return x.permute(axes)


def repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return a tensor in which each element, or slice along an axis, is repeated.

    Args:
        x: the tensor.
        repeats: the number of repetitions, for all or for each.
        axis: of the slices; None flattens the tensor first.

    >>> from opdsl import array_api as xp
    >>> xp.repeat(xp.asarray([1, 2]), xp.asarray([1, 3]))
    tensor([1, 2, 2, 2])
    """
    return aten.repeat_interleave(x, repeats.to(int64) if isinstance(repeats, Tensor) else repeats, axis)


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape.

    Args:
        x: the tensor.
        shape: the new shape; one size may be -1.
        copy: True always copies, False never does, None only if necessary.

    Raises:
        OptionError: ``copy=False``, and no view has that shape; it is a ValueError.

    >>> from opdsl import array_api as xp
    >>> xp.reshape(xp.arange(4), (2, -1))
    tensor([[0, 1],
            [2, 3]])
    """
    output = x.reshape(shape)
    if copy is False and x.numel() and output.data_ptr() != x.data_ptr():
        raise OptionError(f"shape {x.shape} with strides {x.strides} becomes {shape} by a copy only (got copy=False)")
    return output.clone() if copy else output


def roll(x: Tensor, /, shift: Axes, *, axis: Axes | None = None) -> Tensor:
    """Return the elements shifted along axes; those that are shifted out at one end enter at the other.

    Args:
        x: the tensor.
        shift: the number of positions, for each axis.
        axis: the axes; None shifts the flattened tensor.

    >>> from opdsl import array_api as xp
    >>> xp.roll(xp.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    return aten.roll(x, shift) if axis is None else aten.roll(x, shift, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Return the whole tensor repeated along each axis.

    Args:
        x: the tensor.
        repetitions: the number of repetitions along each axis; there may be more axes than in ``x``.

    >>> from opdsl import array_api as xp
    >>> xp.tile(xp.asarray([1, 2]), (2, 1))
    tensor([[1, 2],
            [1, 2]])
    """
    return aten.tile(x, repetitions)
