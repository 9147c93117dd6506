"""Mixed-precision training with scaled losses: unscaling of gradients, and updates of the scale."""

from __future__ import annotations

from opdsl.aten._shared.results import store_results
from opdsl.aten.pointwise.comparison import where
from opdsl.declare import op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor, float32, int32
from opdsl.schema import Alias


def require_one(name: str, **numbers: Tensor) -> None:
    """Check that tensors hold one float32 element each.

    Raises:
        ShapeError, DTypeError: a tensor does not.
    """
    for key, value in numbers.items():
        check(value.numel() == 1, f"{name}: {key} must be a 1-element tensor.", got=value.shape)
        if value.dtype is not float32:
            raise DTypeError(f"{name}: {key} must be a float tensor, not {value.dtype}.")


@op("aten::_amp_foreach_non_finite_check_and_unscale_", kernel=True)
def _amp_foreach_non_finite_check_and_unscale_(
    self: list[Tensor[Alias("a", write=True)]],
    found_inf: Tensor[Alias("b", write=True)],
    inv_scale: Tensor,
) -> None:
    """Multiply tensors by ``inv_scale`` in place, and write 1 to ``found_inf`` if an element is not finite."""
    operator = "_amp_foreach_non_finite_check_and_unscale_"
    require_one(operator, found_inf=found_inf, inv_scale=inv_scale)
    for gradient in self:
        if not gradient.dtype.is_floating_point:
            raise DTypeError(f"{operator}: expected tensors of floating numbers, not {gradient.dtype}.")
    tensors = [(scaled * inv_scale.view(())).to(scaled.dtype) for scaled in self]
    wrong = found_inf
    for gradient in self:
        wrong = where(gradient.isfinite().all(), wrong, 1.0)
    store_results(operator, (), (), [*zip(self, tensors, strict=True), (found_inf, wrong)])


@op("aten::_amp_update_scale_", kernel=True)
def _amp_update_scale_(
    self: Tensor[Alias("a", write=True)],
    growth_tracker: Tensor[Alias("b", write=True)],
    found_inf: Tensor,
    scale_growth_factor: float,
    scale_backoff_factor: float,
    growth_interval: int,
) -> Tensor[Alias("a", write=True)]:
    """Reduce the scale of losses after an overflow, or increase it after ``growth_interval`` steps without one.

    Args:
        self: the scale.
        growth_tracker: int32, the number of steps without an overflow since the last change.
        found_inf: not 0 if there was an overflow.
        scale_growth_factor, scale_backoff_factor: the factors by which the scale grows or falls.
        growth_interval: the number of steps after which the scale grows.
    """
    operator = "_amp_update_scale_"
    require_one(operator, current_scale=self, found_inf=found_inf)
    check(
        growth_tracker.numel() == 1, f"{operator}: growth_tracker must be a 1-element tensor.", got=growth_tracker.shape
    )
    if growth_tracker.dtype is not int32:
        raise DTypeError(f"{operator}: growth_tracker must be an int tensor, not {growth_tracker.dtype}.")
    scale, steps, is_wrong = self.view(()), growth_tracker.view(()) + 1, found_inf.view(()) != 0
    is_due = steps == growth_interval
    grown = scale * scale_growth_factor
    grown = where(is_due.logical_and(grown.isfinite()), grown, scale)
    output = where(is_wrong, scale * scale_backoff_factor, grown).to(float32)
    counted = where(is_wrong.logical_or(is_due), 0, steps).to(int32)
    store_results(
        operator, (), (), [(self, output.expand(self.shape)), (growth_tracker, counted.expand(growth_tracker.shape))]
    )
    return self


@op("aten::_saturate_weight_to_fp16")
def _saturate_weight_to_fp16(weight: Tensor) -> Tensor:
    """Return a float32 matrix clamped to the range of float16."""
    check(weight.ndim == 2, "_saturate_weight_to_fp16: expected a matrix", got=weight.shape)
    if weight.dtype is not float32:
        raise DTypeError(f"_saturate_weight_to_fp16: expected a tensor of float32, not {weight.dtype}.")
    return weight.clamp(-65504.0, 65504.0)
