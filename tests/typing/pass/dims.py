"""Correct formulas over dims with plain annotations: values over dims are typed as tensors."""

from __future__ import annotations

import opdsl
from opdsl import Dim, Library, Tensor, dims

lib = Library("typed_dims")


@lib.op
def distances(self: Tensor, other: Tensor) -> Tensor:
    """Compute the distance of each point of ``self`` from each point of ``other``."""
    i, j, k = dims(3)
    return (self[..., i, k] - other[..., j, k]).square().sum(k).sqrt().order(..., i, j)


def convolution(x: Tensor, weight: Tensor) -> Tensor:
    n, c, o, u = dims(4)
    i = opdsl.dim(x.shape[-1])
    return (x.outside(0.0)[n, c, i * 1 + u - 1] * weight[o, c, u]).sum((c, u)).order(n, o, i)


def folds(x: Tensor) -> list[Tensor]:
    b, h, w = dims(3)
    value = x[b, ..., h, w]
    return [
        value.mean((h, ...)).order(b, w),
        value.amax([h, w]).order(b, ...),
        value.sum(...).order(b, h, w),
        value.softmax(h).order(b, h, w, ...),
        value.argmax((h, w)).order(b, ...),
        value.max(dim=h).values.order(..., b, w),
        opdsl.sum(value, (b, h)).order(w, ...),
        opdsl.logsumexp(value, dim=w).order(..., (b, h)),
    ]


def values(x: Tensor, ids: Tensor) -> list[Tensor]:
    i = opdsl.dims(1)
    u = opdsl.dim(range(3))
    size: int = u.size
    near = x.outside({-1: "replicate"})[i, u - 1]
    chosen = opdsl.where(u < size - 1, opdsl.exp(near), near.order(u)[ids[i]])
    scaled = 2 * u + 1 - u / 2 + u.to(x.dtype) + opdsl.exp(u)
    return [(chosen * scaled).sum(u).order(i), (-u % 2).order(u), (u**2 >= i).order(i, u)]


def sized() -> tuple[Dim, Dim]:
    h, w = dims(2, [3, None])
    return h, w


assert distances(opdsl.ones(2, 3), opdsl.ones(4, 3)).shape == (2, 4)
assert convolution(opdsl.ones(1, 2, 5), opdsl.ones(3, 2, 3)).shape == (1, 3, 5)
assert len(folds(opdsl.ones(2, 3, 4, 5))) == 8
assert len(values(opdsl.ones(2, 3), opdsl.tensor([0, 2]))) == 3


def scans(x: Tensor, decay: Tensor, start: Tensor) -> list[Tensor]:
    t, c = dims(2)
    h = opdsl.scan(lambda h, a, b: a * h + b, 0.0, decay[t, c], x[t, c], along=t, reverse=True)

    def least_two(carry: tuple[Tensor, Tensor], value: Tensor) -> tuple[Tensor, Tensor]:
        first, second = carry
        return opdsl.minimum(first, value), opdsl.minimum(second, opdsl.maximum(first, value))

    first, second = opdsl.fold(least_two, (opdsl.inf, start[c]), x[t, c], over=t)
    total = opdsl.fold(lambda s, value: s * 0.5 + value, start, x, over=0)
    return [h.order(t, c), first.order(c), second.order(c), total]


assert len(scans(opdsl.ones(3, 2), opdsl.ones(3, 2), opdsl.ones(2))) == 4


def scattered(x: Tensor, ids: Tensor) -> Tensor:
    i, j = dims(2)
    return opdsl.scatter(opdsl.zeros(4, 2), (ids[i], j), x[i, j], reduce="sum")


assert scattered(opdsl.ones(3, 2), opdsl.tensor([0, 3, 3])).shape == (4, 2)
