"""Random operands for TensorIterator: PyTorch tensors of many memory layouts, and their geometries in opdsl."""

from __future__ import annotations

import torch
from hypothesis import strategies

from opdsl.kernels.iteration.tensor_iterator import Number, NumberRole
from opdsl.runtime import cpu, to_dtype
from opdsl.runtime.geometry import TensorMeta, geometry

DTYPES = [getattr(torch, name) for name in ("bool", "uint8", "int16", "int64", "float16", "bfloat16", "float32")]


def form(tensor: torch.Tensor, device=cpu) -> TensorMeta:
    """Return the opdsl geometry of a PyTorch tensor."""
    return geometry(to_dtype(str(tensor.dtype)), device, tuple(tensor.shape), tensor.stride())


def operand(value: object) -> TensorMeta | Number:
    """Return a PyTorch tensor or Python number as an operand of TensorIterator."""
    return form(value) if isinstance(value, torch.Tensor) else Number(type(value), NumberRole.WRAPPED)


@strategies.composite
def tensors(draw, shape: tuple[int, ...], dtypes=DTYPES) -> torch.Tensor:
    """Draw a tensor that broadcasts to ``shape``: permuted, sliced, expanded, channels-last."""
    ndim = draw(strategies.integers(0, len(shape)))
    kept = [1 if draw(strategies.booleans()) and draw(strategies.booleans()) else size for size in shape]
    sizes = kept[len(shape) - ndim :]
    order = draw(strategies.permutations(range(ndim)))
    steps = draw(strategies.lists(strategies.sampled_from([1, 1, 1, 2]), min_size=ndim, max_size=ndim))
    stored = [sizes[dim] * steps[dim] for dim in order]
    base = torch.zeros(stored, dtype=draw(strategies.sampled_from(dtypes)))
    view = base.permute([order.index(dim) for dim in range(ndim)])
    for dim, step in enumerate(steps):
        view = view[(slice(None),) * dim + (slice(None, None, step),)]
    if draw(strategies.booleans()):
        view = view.expand(shape)
    return view


@strategies.composite
def operands(draw, count: int = 2, numbers: bool = True, dtypes=DTYPES) -> list[object]:
    """Draw operands that broadcast together: tensors and Python numbers, the first a tensor."""
    shape = tuple(draw(strategies.lists(strategies.sampled_from([0, 1, 2, 2, 3, 4]), min_size=0, max_size=5)))
    values: list[object] = [draw(tensors(shape, dtypes))]
    for _ in range(count - 1):
        if numbers and draw(strategies.integers(0, 4)) == 0:
            values.append(draw(strategies.sampled_from([True, 2, 2.5])))
        else:
            values.append(draw(tensors(shape, dtypes)))
    return values
