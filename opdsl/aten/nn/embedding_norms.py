"""Operator ``embedding_renorm_``, which limits the norm of rows of an embedding table."""

from __future__ import annotations

from opdsl.aten._shared.checks import require_floating
from opdsl.aten._shared.index_tensors import BOTH, as_int64, require_inside
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.reduce.norms import linalg_vector_norm
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, require_no_overlap, require_writable
from opdsl.schema import Alias


@op("aten::embedding_renorm_", kernel=True)
def embedding_renorm_(
    self: Tensor[Alias("a", write=True)], indices: Tensor, max_norm: float, norm_type: float
) -> Tensor[Alias("a", write=True)]:
    """Scale the rows of a table at ``indices`` whose norm exceeds ``max_norm`` down to that norm, in place."""
    require_floating("embedding_renorm", self)
    check(self.ndim == 2, "embedding_renorm_: expected a table of two dimensions", got=self.shape)
    if indices.dtype not in BOTH:
        raise DTypeError(f"embedding_renorm_: expected indices of int32 or int64, got {indices.dtype.scalar_type}")
    require_writable(self, "aten::embedding_renorm_")
    require_no_overlap(self, indices, "aten::embedding_renorm_")
    numbers = as_int64(indices).reshape((-1,))
    require_inside(numbers, self.shape[0], 0)
    named = numbers.new_zeros((self.shape[0],), dtype=bool_).index_fill(0, numbers, True)
    norms = linalg_vector_norm(self, norm_type, (1,))
    scale = where(named.logical_and(norms > max_norm), max_norm / (norms + 1e-7), 1.0)
    return self.mul_(scale.unsqueeze(1))
