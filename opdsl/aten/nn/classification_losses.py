"""Negative log likelihood loss and cross entropy.

The rules are those of ATen/native/LossNLL.cpp and LossNLL2d.cpp. One kernel serves vectors, rows and images: the
classes have a separate dimension, and elements whose class is ignored have weight 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten._shared.index_tensors import outside
from opdsl.aten.create.like_factories import zeros_like
from opdsl.aten.nn.losses import reduced
from opdsl.aten.nn.normalization import log_softmax
from opdsl.declare import Library, Operator, Out, formula, forward, op, traceable
from opdsl.errors import DTypeError, OptionError, PositionError, ShapeError, UnsupportedDTypeError
from opdsl.kernels import check, copy_, fill_
from opdsl.kernels.primitives.classes import write_class_loss
from opdsl.runtime import Category, Tensor, int64, uint8
from opdsl.schema.vocabulary import Name, Reduction, SymInt

lib = Library("opdsl")


# --------------------------------------------------------------------------------------------------------------- checks


def check_vectors(self: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Check that ``target`` has a class for each row of ``self``, and ``weight`` a number for each class.

    Raises:
        ShapeError, OptionError, DTypeError: the arguments do not fit.
    """
    check(self.ndim in (1, 2), "input tensor should be 1D or 2D")
    check(target.ndim <= 1, "0D or 1D target tensor expected, multi-target not supported")
    if self.ndim == 1 and target.ndim == 1 and target.shape[0] != 1:
        raise OptionError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
    fits = self.ndim == 1 or (target.ndim == 1 and self.shape[0] == target.shape[0])
    check(fits, f"size mismatch (got input: {list(self.shape)}, target: {list(target.shape)})")
    classes = self.shape[-1]
    check(
        weight is None or (weight.ndim == 1 and weight.shape[0] == classes),
        f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
        f"shape: {None if weight is None else list(weight.shape)}",
    )
    check_dtypes(self, target, weight)


def check_images(self: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Check that ``target`` has a class for each pixel of each image, and ``weight`` a number for each class.

    Raises:
        ShapeError, DTypeError: the arguments do not fit.
    """
    check(
        target.ndim == 3,
        f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}",
    )
    check(
        self.ndim == 4,
        f"only batches of spatial inputs supported (4D tensors), but got input of dimension: {self.ndim}",
    )
    check(
        weight is None or weight.numel() == self.shape[1],
        "weight tensor should be defined either for all or no classes",
    )
    fits = (self.shape[0], *self.shape[2:]) == target.shape
    check(fits, f"size mismatch (got input: {list(self.shape)} , target: {list(target.shape)}")
    check_dtypes(self, target, weight)


def check_dtypes(self: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Check that ``self`` is floating, ``target`` int64 or uint8, and ``weight`` of the dtype of ``self``.

    Raises:
        DTypeError, UnsupportedDTypeError: they are not.
    """
    if self.dtype.category is not Category.FLOAT:
        raise UnsupportedDTypeError(f"\"nll_loss_out_frame\" not implemented for '{self.dtype.scalar_type}'")
    if target.dtype not in (int64, uint8):
        raise DTypeError(f"expected target dtype to be Long or Byte, but got {target.dtype.scalar_type}")
    if weight is not None and weight.dtype is not self.dtype:
        raise DTypeError(f"expected scalar type {self.dtype.scalar_type} but found {weight.dtype.scalar_type}")


# ---------------------------------------------------------------------------------------------------------- computation


class Classes(NamedTuple):
    """Class index and weight of each element, with size 1 in the dimension of ``self`` that holds the classes.

    places: the indices of the classes, 0 for ignored ones.
    weights: the weights of the classes, 0 for ignored ones.
    """

    places: Tensor
    weights: Tensor


@lib.op(kernel=True, variants="function")
def class_places(target: Tensor, classes: int, ignore_index: int) -> Tensor:
    """Return class indices with 0 in place of ``ignore_index``, after checking that they are in bounds.

    target: the class indices, int64. classes: the number of classes. ignore_index: the class to ignore.
    """
    places = target.where(target != ignore_index, 0)
    wrong = outside(places, classes)
    if wrong is not None:
        raise PositionError(f"Target {wrong} is out of bounds.")
    return places


@lib.op(variants="function")
@formula
def class_loss(taken: Tensor, weight: Tensor) -> Tensor:
    """``-taken * weight`` for the log-probability ``taken`` of an element's class, or 0 where the weight is 0."""
    return -(taken * weight) if weight != 0 else 0 * weight


def classes_of(self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Classes:
    """Return the class index and the weight of each element of a target.

    Raises:
        PositionError: a class index is out of bounds.
    """
    dim = min(1, self.ndim - 1)
    classes = (target.reshape((1,)) if self.ndim == 1 else target.unsqueeze(dim)).to(int64)
    places, counts = class_places(classes, self.shape[dim], ignore_index), classes != ignore_index
    if weight is None:
        return Classes(places, counts.to(self.dtype))
    weights = weight.reshape((-1,)).index_select(0, places.reshape((-1,))).view(places.shape)
    return Classes(places, weights.where(counts, 0))


def write_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    output: Tensor,
    total_weight: Tensor,
) -> None:
    """Write the loss to ``output``, and the sum of the weights to ``total_weight``, or 0 if there is no reduction."""
    dim, is_one = min(1, self.ndim - 1), reduction in (Reduction.Mean, Reduction.Sum) or self.ndim == 1
    is_mean = reduction == Reduction.Mean
    if is_one and write_class_loss(self, target, weight, ignore_index, is_mean, output, total_weight):
        return
    places, weights = classes_of(self, target, weight, ignore_index)
    losses = class_loss(self.gather(dim, places), weights)
    if is_one:
        total, loss = weights.sum(), losses.sum()
        copy_(output, loss / total if is_mean else loss)
        copy_(total_weight, total)
    else:
        copy_(output, losses.reshape(target.shape))
        fill_(total_weight, 0)


def write_gradient(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
    grad_input: Tensor,
) -> None:
    """Write the gradient of the loss to ``grad_input``: for each element, nonzero at its own class only."""
    dim = min(1, self.ndim - 1)
    places, weights = classes_of(self, target, weight, ignore_index)
    gradient = grad_output.unsqueeze(dim) if grad_output.ndim and self.ndim > 1 else grad_output.reshape(())
    if reduction == Reduction.Mean:
        gradient = gradient / total_weight
    slopes = (-(weights * gradient)).where(weights != 0, 0)
    fill_(grad_input, 0)
    grad_input.scatter_(dim, places, slopes)


def check_gradient(grad_output: Tensor, shape: tuple[int, ...], total_weight: Tensor) -> None:
    """Check that ``grad_output`` has the shape of the loss, and ``total_weight`` one element.

    Raises:
        ShapeError: one of them has another shape.
    """
    check(
        total_weight.numel() == 1,
        f"expected total_weight to be a single element tensor, got: {list(total_weight.shape)} "
        f"({total_weight.numel()} elements)",
    )
    if shape:
        fits = grad_output.shape == shape
        check(fits, f"Expected a tensor of dimension {len(shape)} and size {list(shape)}", got=grad_output.shape)
    else:
        check(
            grad_output.ndim <= 1 and grad_output.numel() == 1,
            f"Expected a single element grad_output tensor, but got: {list(grad_output.shape)}",
        )


# ----------------------------------------------------------------------------------------------------------- operators


Check = Callable[[Tensor, Tensor, Tensor | None], None]
"""Function that raises if log-probabilities, classes and weights do not fit each other."""


def shape_of(self: Tensor, target: Tensor, reduction: int) -> tuple[int, ...]:
    """Return the shape of a loss."""
    return () if self.ndim == 1 or reduction in (Reduction.Mean, Reduction.Sum) else target.shape


def declare_forward(name: str, check_input: Check) -> Operator[..., tuple[Tensor, Tensor]]:
    """Declare the operator that computes a loss and the sum of the weights; see ``declare_loss``."""
    both = Out(".output", args=("output", "total_weight"), named=False)

    @op(f"aten::{name}_forward", python_module="nn", out=both)
    def losses(
        self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: SymInt
    ) -> tuple[Annotated[Tensor, Name("output")], Annotated[Tensor, Name("total_weight")]]:
        """Return the weighted negative of ``self`` at each target class, reduced, and the sum of the weights."""
        ...

    @losses.meta
    def losses_meta(ctx, self, target, weight, reduction):
        check_input(self, target, weight)
        ctx.set_output(0, shape_of(self, target, reduction), like=self)
        ctx.set_output(1, (), like=self)

    losses.out_kernel(write_loss)
    return losses


def declare_backward(name: str, check_input: Check) -> Operator[..., Tensor]:
    """Declare the operator that computes a loss's gradient; see ``declare_loss``."""

    @op(f"aten::{name}_backward", python_module="nn", out=GRAD_INPUT)
    def backward(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: SymInt,
        total_weight: Tensor,
    ) -> Tensor:
        """Return the gradient of the forward operator with respect to ``self``."""
        ...

    @backward.meta
    def backward_meta(ctx, grad_output, self, target, weight, reduction, total_weight):
        check_input(self, target, weight)
        check_gradient(grad_output, shape_of(self, target, reduction), total_weight)
        ctx.set_output(0, self.shape, like=self)

    backward.out_kernel(write_gradient)
    return backward


def declare_loss(name: str, check_input: Check) -> Operator[..., Tensor]:
    """Declare a loss operator, the forward operator that computes it, and the operator of its gradient.

    Args:
        name: the loss operator's name.
        check_input: the function that checks log-probabilities, classes and weights.

    Returns:
        The operator of the loss.
    """
    losses = declare_forward(name, check_input)
    backward = declare_backward(name, check_input)

    @op(f"aten::{name}", python_module="nn", out=True)
    @forward(losses, result=0)
    def loss(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: SymInt = -100,
    ) -> Tensor:
        """Return the negative of ``self``, log-probabilities, at each target class, weighted and reduced."""

    losses.derivative(self=backward)
    backward.derivative(grad_output=loss, self=lambda grad: zeros_like(grad))
    return loss


nll_loss = declare_loss("nll_loss", check_vectors)
nll_loss2d = declare_loss("nll_loss2d", check_images)


# ------------------------------------------------------------------------------------------------------ any dimensions


@op("aten::nll_loss_nd", python_module="nn")
@traceable
def nll_loss_nd(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = Reduction.Mean,
    ignore_index: SymInt = -100,
) -> Tensor:
    """Compute ``nll_loss`` for inputs with any number of dimensions after the classes."""
    if self.ndim < 1:
        raise OptionError(f"Expected 1 or more dimensions (got {self.ndim})")
    if self.ndim != 1 and self.shape[:1] != target.shape[:1]:
        raise OptionError(
            f"Expected input batch_size ({self.shape[0]}) to match target batch_size ({(*target.shape, 0)[0]})."
        )
    if self.ndim <= 2:
        return nll_loss(self, target, weight, reduction, ignore_index)
    if self.ndim == 4:
        return nll_loss2d(self, target, weight, reduction, ignore_index)
    wanted = (self.shape[0], *self.shape[2:])
    if target.shape != wanted:
        raise ShapeError(f"Expected target size {list(wanted)}, got {list(target.shape)}")
    flat = self.reshape((*self.shape[:2], 1, -1 if self.numel() else 0))
    places = target.reshape((target.shape[0], 1, -1 if target.numel() else 0))
    loss = nll_loss2d(flat, places, weight, reduction, ignore_index)
    return loss if reduction in (Reduction.Mean, Reduction.Sum) else loss.view(wanted)


@op("aten::cross_entropy_loss", python_module="nn")
@traceable
def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = Reduction.Mean,
    ignore_index: SymInt = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """Compute ``nll_loss`` of ``log_softmax(self)``, or the cross entropy with a target of probabilities shaped as
    ``self``.
    """
    dim = min(1, self.ndim - 1)
    logarithms = log_softmax(self, dim, self.dtype)
    if self.shape == target.shape:
        if not target.dtype.is_floating_point:
            raise DTypeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_type}"
            )
        check(ignore_index < 0, "ignore_index is not supported for floating point target")
        return probability_loss(logarithms, target, weight, reduction, label_smoothing)
    if label_smoothing > 0:
        return smoothed_loss(logarithms, target, weight, reduction, ignore_index, label_smoothing)
    return nll_loss_nd(logarithms, target, weight, reduction, ignore_index)


def standing(weight: Tensor, logarithms: Tensor, dim: int) -> Tensor:
    """Reshape a vector of class weights to broadcast to ``logarithms``, whose dimension ``dim`` holds the classes."""
    return weight.view(tuple(weight.numel() if index == dim else 1 for index in range(logarithms.ndim)))


def check_smoothing(label_smoothing: float) -> None:
    """Check that ``label_smoothing`` is between 0 and 1.

    Raises:
        ShapeError: ``label_smoothing`` is not.
    """
    inside = 0 <= label_smoothing <= 1
    check(inside, f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")


def probability_loss(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float
) -> Tensor:
    """Compute cross entropy with a target of class probabilities (``cross_entropy_loss_prob_target``)."""
    dim = min(1, logarithms.ndim - 1)
    classes = logarithms.size(dim)
    check(
        weight is None or (weight.ndim == 1 and weight.numel() == classes),
        f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
        f"weight tensor of shape: {None if weight is None else list(weight.shape)}",
    )
    if label_smoothing > 0:
        check_smoothing(label_smoothing)
        target = target * (1 - label_smoothing) + label_smoothing / classes
    products = logarithms * target
    if weight is not None:
        products = products * standing(weight, logarithms, dim)
    if reduction == Reduction.Mean:
        return -products.sum() / (logarithms.numel() // classes if classes else 0)
    return -products.sum() if reduction == Reduction.Sum else -products.sum([dim])


def smoothed_loss(
    logarithms: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Tensor:
    """Compute cross entropy with class indices and label smoothing (``cross_entropy_loss_label_smoothing``)."""
    check_smoothing(label_smoothing)
    dim = min(1, logarithms.ndim - 1)
    classes = logarithms.size(dim)
    exact: Tensor = nll_loss_nd(logarithms, target, weight, reduction, ignore_index)
    weighted = logarithms if weight is None else logarithms * standing(weight, logarithms, dim)
    is_ignored = target == ignore_index
    smooth = -weighted.sum([dim]).masked_fill(is_ignored, 0)
    if reduction == Reduction.Mean:
        if weight is None:
            smooth = smooth.sum() / is_ignored.logical_not().sum()
        else:
            places = target.masked_fill(is_ignored, 0).flatten()
            counted = weight.gather(0, places).masked_fill(is_ignored.flatten(), 0)
            smooth = smooth.sum() / counted.sum()
    else:
        smooth = reduced(smooth, reduction)
    return (1 - label_smoothing) * exact + smooth * (label_smoothing / classes)
