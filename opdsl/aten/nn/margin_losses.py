"""Margin losses, which depend on how far the scores of right classes exceed those of wrong classes.

The rules are those of ATen/native/LossMultiMargin.cpp and LossMultiLabelMargin.cpp.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten.create.ranges import arange
from opdsl.aten.nn.losses import reduced
from opdsl.declare import Out, forward, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, range_of
from opdsl.runtime import Tensor, float32, float64, int64
from opdsl.schema.vocabulary import Name, Reduction, Scalar


def check_scores(name: str, self: Tensor) -> tuple[int, int]:
    """Check a tensor of scores; return the number of its rows and the number of classes.

    Raises:
        ShapeError, UnsupportedDTypeError: the shape or the dtype is not supported.
    """
    check(
        self.ndim <= 2 and (self.ndim == 0 or self.shape[-1] != 0),
        f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(self.shape)}",
    )
    if self.dtype not in (float32, float64):
        raise UnsupportedDTypeError(
            f"\"{name}\" not implemented for '{self.dtype.scalar_type}'. Convert first: x.to(float32)."
        )
    return self.shape[0] if self.ndim == 2 else 1, self.shape[-1] if self.ndim else 1


def require_long(target: Tensor) -> None:
    """Check that a target is int64.

    Raises:
        DTypeError: the target has another dtype.
    """
    if target.dtype is not int64:
        raise DTypeError(f"expected scalar type Long but found {target.dtype.scalar_type}")


def check_classes(target: Tensor, least: int, classes: int) -> None:
    """Check that every element of a target is at least ``least`` (0, or -1 for no class) and less than ``classes``.

    Raises:
        ShapeError: an element is out of range.
    """
    numbers = None if target.is_meta else range_of(target)
    check(numbers is None or (numbers[0] >= least and numbers[1] < classes), "target out of range")


# ---------------------------------------------------------------------------------------------------- multi_margin_loss


def multi_margin_meta(self: Tensor, target: Tensor, p: Scalar, weight: Tensor | None, name: str) -> tuple[int, int]:
    """Check the arguments of ``multi_margin_loss`` or of its gradient; return the numbers of rows and classes."""
    rows, classes = check_scores(name, self)
    check(p in (1, 2), "only p == 1 and p == 2 supported")
    check(
        target.ndim <= 1 and target.numel() == rows,
        f"inconsistent target size, expected {rows} but got {list(target.shape)}",
    )
    check(
        weight is None or (weight.ndim <= 1 and weight.numel() == classes),
        f"inconsistent weight size, expected {classes} but got {list(weight.shape) if weight is not None else None}",
    )
    require_long(target)
    return rows, classes


class Excess(NamedTuple):
    """Margin violations, (rows, classes): how far scores of wrong classes exceed the right one's score less the margin.

    excess: the violations, 0 for classes without one and for the right class.
    target: the right classes, a column.
    factor: the weight of each row.
    """

    excess: Tensor
    target: Tensor
    factor: Tensor | float


def excess_of(self: Tensor, target: Tensor, margin: complex, weight: Tensor | None) -> Excess:
    """Compute by how much the scores of wrong classes violate the margin to the right class's score."""
    classes = self.shape[-1] if self.ndim else 1
    scores, places = self.reshape((-1, classes)), target.reshape((-1, 1))
    check_classes(target, 0, classes)
    excess = (margin - scores.gather(1, places) + scores).clamp_min(0)
    is_right = places == arange(0, classes, device=self.device)
    factor = 1.0 if weight is None else weight.reshape((-1,)).index_select(0, places.reshape((-1,))).unsqueeze(1)
    return Excess(excess.masked_fill(is_right, 0), places, factor)


def multi_margin_loss_meta(ctx, self, target, p, weight, reduction):
    rows, _ = multi_margin_meta(self, target, p, weight, "multi_margin_loss")
    shape = (rows,) if reduction not in (Reduction.Mean, Reduction.Sum) and target.ndim else ()
    ctx.set_output(0, shape, like=self)


def multi_margin(self, target, p, margin, weight, reduction, out):
    if self.numel() == 0:
        return
    excess = excess_of(self, target, margin, weight)
    losses = (excess.excess.pow(p) * excess.factor).sum([1]) / excess.excess.shape[1]
    copy_(out, reduced(losses, reduction).reshape(out.shape))


def multi_margin_gradient_meta(ctx, self, target, p, weight):
    multi_margin_meta(self, target, p, weight, "multi_margin_loss_backward")
    ctx.set_output(0, self.shape, like=self)


def multi_margin_gradient(grad_output, self, target, p, margin, weight, reduction, grad_input):
    if self.numel() == 0:
        return
    excess = excess_of(self, target, margin, weight)
    rows, classes = excess.excess.shape
    slopes = (excess.excess > 0).to(self.dtype) if p == 1 else excess.excess * 2
    slopes = slopes * excess.factor * grad_output.reshape((-1, 1)) / (classes * (rows if reduction == 1 else 1))
    slopes = slopes.scatter(1, excess.target, -slopes.sum([1], True))
    copy_(grad_input, slopes.reshape(self.shape))


# ----------------------------------------------------------------------------------------------- multilabel_margin_loss


def check_labels(name: str, self: Tensor, target: Tensor) -> int:
    """Check the arguments of ``multilabel_margin_loss`` or of its gradient; return the number of rows.

    Raises:
        ShapeError, DTypeError, UnsupportedDTypeError: scores and target do not fit.
    """
    rows, classes = check_scores(name, self)
    fits = target.shape == (rows, classes) if self.ndim == 2 else target.ndim <= 1 and target.numel() == classes
    check(fits, f"inconsistent target size: {list(target.shape)} for input of size: {list(self.shape)}")
    require_long(target)
    return rows


class Labels(NamedTuple):
    """Right classes of each row, those before the first -1, and the margin violations of wrong classes.

    places: (rows, classes), the right classes, 0 after the last.
    counts: (rows, classes), 1 where ``places`` holds a class, 0 after the last.
    is_target: (rows, classes), 1 at each right class, 0 elsewhere.
    excess: (rows, right class, class), 1 less the lead over a wrong class, 0 where that is negative.
    """

    places: Tensor
    counts: Tensor
    is_target: Tensor
    excess: Tensor


def labels_of(self: Tensor, target: Tensor) -> Labels:
    """Return the right classes of each row, and by how much wrong classes violate the margin."""
    classes = self.shape[-1] if self.ndim else 1
    scores, target = self.reshape((-1, classes)), target.reshape((-1, classes))
    check_classes(target, -1, classes)
    counts = (target >= 0).to(int64).cumprod(1)
    places = target * counts
    is_target = (scores.new_zeros(scores.shape).scatter_add(1, places, counts.to(self.dtype)) > 0).to(self.dtype)
    excess = (1 - scores.gather(1, places).unsqueeze(2) + scores.unsqueeze(1)).clamp_min(0)
    return Labels(places, counts, is_target, excess * counts.unsqueeze(2) * (1 - is_target).unsqueeze(1))


def multilabel_margin_meta(ctx, self, target, reduction):
    rows = check_labels("multilabel_margin_loss_forward_out_frame", self, target)
    is_single = reduction in (Reduction.Mean, Reduction.Sum) or target.ndim <= 1
    ctx.set_output(0, () if is_single else (rows,), like=self)
    ctx.set_output(1, target.shape, like=self)


def multilabel_margin(self, target, reduction, output, is_target):
    if self.numel() == 0:
        return
    labels = labels_of(self, target)
    losses = labels.excess.sum([1, 2]) / labels.excess.shape[2]
    copy_(output, reduced(losses, reduction).reshape(output.shape))
    copy_(is_target, labels.is_target.reshape(target.shape))


def multilabel_margin_gradient_meta(ctx, self, target, is_target):
    check_labels("multilabel_margin_loss_backward_out_frame", self, target)
    check(
        is_target.shape == target.shape,
        f"inconsistent is_target size: {list(is_target.shape)} for target of size: {list(target.shape)}",
    )
    ctx.set_output(0, self.shape, like=self)


def multilabel_margin_gradient(grad_output, self, target, reduction, grad_input):
    if self.numel() == 0:
        return
    labels = labels_of(self, target)
    rows, classes = labels.places.shape
    nearer = (labels.excess > 0).to(self.dtype)
    slopes = nearer.sum([1]).scatter_add(1, labels.places, -nearer.sum([2]))
    share = grad_output.reshape((-1, 1)) / (classes * (rows if reduction == 1 else 1))
    copy_(grad_input, (slopes * share).reshape(self.shape))


# ------------------------------------------------------------------------------------------------------------ operators


@op("aten::multi_margin_loss", out=True, python_module="nn")
def multi_margin_loss(
    self: Tensor,
    target: Tensor,
    p: Scalar = 1,
    margin: Scalar = 1,
    weight: Tensor | None = None,
    reduction: int = Reduction.Mean,
) -> Tensor:
    """Return the sum over wrong classes of ``max(0, margin - self[target] + self[class]) ** p``, divided by the number
    of classes.
    """
    ...


multi_margin_loss.meta(multi_margin_loss_meta)
multi_margin_loss.out_kernel(multi_margin)


@op("aten::multi_margin_loss_backward", out=GRAD_INPUT, python_module="nn")
def _of_multi_margin(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    p: Scalar,
    margin: Scalar,
    weight: Tensor | None = None,
    reduction: int = Reduction.Mean,
) -> Tensor:
    """Return the gradient of ``multi_margin_loss`` with respect to ``self``."""
    ...


_of_multi_margin.meta(multi_margin_gradient_meta)
_of_multi_margin.out_kernel(multi_margin_gradient)


@op(
    "aten::multilabel_margin_loss_forward",
    out=Out(".output", args=("output", "is_target"), named=False),
    python_module="nn",
)
def _forward(
    self: Tensor, target: Tensor, reduction: int
) -> tuple[Annotated[Tensor, Name("output")], Annotated[Tensor, Name("is_target")]]:
    """Compute ``multilabel_margin_loss``; return the loss, and a mask with 1 at the right classes."""
    ...


_forward.meta(multilabel_margin_meta)
_forward.out_kernel(multilabel_margin)


@op("aten::multilabel_margin_loss_backward", out=GRAD_INPUT, python_module="nn")
def _of_multilabel_margin(
    grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor
) -> Tensor:
    """Return the gradient of ``multilabel_margin_loss_forward`` with respect to ``self``."""
    ...


_of_multilabel_margin.meta(multilabel_margin_gradient_meta)
_of_multilabel_margin.out_kernel(multilabel_margin_gradient)
multi_margin_loss.derivative(self=_of_multi_margin)
_forward.derivative(self=_of_multilabel_margin)


@op("aten::multilabel_margin_loss", python_module="nn", out=True)
@forward(_forward, result=0)
def multilabel_margin_loss(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
    """Return the sum over right and wrong classes of ``max(0, 1 - self[right] + self[wrong])``, divided by the number
    of classes.

    target: int64, the right classes of each row, with -1 after the last.
    """
