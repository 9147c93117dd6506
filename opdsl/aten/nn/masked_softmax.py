"""Softmax over the elements that a mask does not exclude."""

from __future__ import annotations

import math

from opdsl.aten._shared.checks import require_floating
from opdsl.aten.nn.normalization import softmax
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, bool_, wrap_dimension


def spread_mask(self: Tensor, mask: Tensor, mask_type: int | None) -> Tensor:
    """Expand a mask to the shape of ``self``.

    Raises:
        DTypeError: the mask is not bool.
        ShapeError: the mask does not fit.
    """
    if mask.dtype is not bool_:
        raise DTypeError("Mask should be a boolean tensor")
    if self.ndim == 4 and mask.ndim == 2:
        check(mask_type is not None, "Mask Type should be defined")
        check(mask_type in (0, 1), "Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask) for a matrix")
        wanted = self.shape[2:] if mask_type == 0 else (self.shape[0], self.shape[3])
        check(mask.shape == wanted, f"the mask should have the shape {list(wanted)}", got=mask.shape)
        return (mask if mask_type == 0 else mask.unsqueeze(1).unsqueeze(1)).expand(self.shape)
    check(mask_type in (None, 0, 1, 2), "Mask Type should be 0 (src_mask), 1 (src_key_padding_mask), or 2")
    check(self.shape == mask.shape, "For mask_type == 2 mask shape should match input shape", got=mask.shape)
    return mask


@op("aten::_masked_softmax", kernel=True)
def _masked_softmax(self: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """Return the ``softmax`` of the elements where the mask is False, 0 elsewhere, and NaN where all are masked.

    Args:
        self: a tensor of any number of dimensions.
        mask: the mask, of the shape of ``self``; for (B, H, L, L) also (L, L) with ``mask_type=0``, (B, L) with 1.
        dim: the dimension to sum over; the last one by default.
        mask_type: see ``mask``; 2 for a mask of the shape of ``self``.
    """
    hidden = spread_mask(self, mask, mask_type)
    require_floating("masked_softmax", self)
    weights: Tensor = softmax(
        self.masked_fill(hidden, -math.inf), wrap_dimension(-1 if dim is None else dim, self.ndim)
    )
    return weights


@op("aten::_masked_softmax_backward")
def _masked_softmax_backward(grad_output: Tensor, output: Tensor, mask: Tensor, dim: int | None = None) -> Tensor:
    """Return the gradient of ``_masked_softmax`` with respect to ``self``; 0 where the mask is True."""
    if mask.dtype is not bool_:
        raise DTypeError("Mask should be a boolean tensor")
    check(grad_output.shape == mask.shape == output.shape, "Mask shape should match grad shape", got=mask.shape)
    dim = wrap_dimension(-1 if dim is None else dim, output.ndim)
    kept = output.masked_fill(mask, 0.0)
    return kept * (grad_output - (kept * grad_output).sum(dim, True))


_masked_softmax.derivative(
    self=lambda grad, self, mask, dim, mask_type, result: _masked_softmax_backward(
        grad, result, spread_mask(self, mask, mask_type), dim
    )
)
