"""Losses for classes and probability distributions. ``size_average`` and ``reduce`` are PyTorch's deprecated
arguments.
"""

from __future__ import annotations

from opdsl._attributes import aten
from opdsl.errors import OptionError
from opdsl.kernels import check
from opdsl.kernels.iteration.broadcasting import broadcast
from opdsl.nn.functional._common import code_of, reduction_of
from opdsl.nn.functional.linear import linear
from opdsl.runtime import Tensor


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative log probabilities of the target classes.

    Args:
        input: log probabilities, of shape (N, C, ...) or (C).
        target: the classes, of shape (N, ...) or ().
        weight: of the classes; a mean is divided by their sum.
        size_average, reduce, reduction: see ``l1_loss``.
        ignore_index: a target class that is ignored.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.nll_loss(opdsl.tensor([[-0.5, -1.0], [-2.0, -0.25]]), opdsl.tensor([0, 1]))
    tensor(0.3750)
    """
    return aten.nll_loss_nd(input, target, weight, code_of(reduction, size_average, reduce), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of target classes, or of their probabilities, and unnormalized log probabilities.

    Args:
        input: unnormalized log probabilities, of shape (N, C, ...) or (C).
        target: the classes, of shape (N, ...) or (); or their probabilities, of the shape of the input.
        weight, size_average, ignore_index, reduce, reduction: see ``nll_loss``.
        label_smoothing: the fraction of the targets that is distributed over all classes.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl
    >>> opdsl.nn.functional.cross_entropy(opdsl.zeros(2, 4), opdsl.tensor([0, 3]))
    tensor(1.3863)
    """
    code = code_of(reduction, size_average, reduce)
    return aten.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: None = None,
) -> Tensor:
    """Return ``cross_entropy`` of a linear map of the input; ``options`` for large vocabularies are not supported.

    Args:
        input: of shape (N, in) or (in).
        linear_weight, linear_bias: the linear map, of shapes (C, ..., in) and (C, ...).
        target, weight, reduction, label_smoothing: see ``cross_entropy``.
        ignore_index: a target class that is ignored; -100 for None.
        options: None.

    Raises:
        OptionError: ``options`` are given.
        ShapeError: the sizes do not fit.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.linear_cross_entropy(opdsl.zeros(2, 3), opdsl.ones(4, 3), opdsl.tensor([0, 3]))
    tensor(1.3863)
    """
    if options is not None:
        raise OptionError("linear_cross_entropy: options (computing in chunks) are not supported. Omit them.")
    _check_linear_map(input, linear_weight, linear_bias)
    is_index = not target.dtype.is_floating_point
    check(ignore_index is None or is_index, "ignore_index cannot be specified when target contains probabilities")
    classes, *inner, features = linear_weight.shape
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight.reshape(-1, features), bias).reshape(*input.shape[:-1], classes, *inner)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(
        logits, target, weight, ignore_index=ignored, reduction=reduction, label_smoothing=label_smoothing
    )


def _check_linear_map(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    """Check that the shapes of a linear map and the input fit."""
    form, operator = weight.shape, "linear_cross_entropy"
    check(input.ndim in (1, 2), f"{operator}: expected input with dimensionality 1 or 2, got {input.ndim}")
    check(len(form) >= 2, f"{operator}: expected linear_weight with dimensionality at least 2, got {len(form)}")
    check(
        input.shape[-1] == form[-1],
        f"{operator}: expected equal last dimensions of input and linear_weight, got {input.shape[-1]} and {form[-1]}",
    )
    check(input.ndim == 2 or len(form) == 2, f"{operator}: a weight of shape {form} needs a batch, got {input.shape}")
    if bias is not None:
        check(bias.shape == form[:-1], f"{operator}: expected linear_bias shape {form[:-1]}, got {bias.shape}")


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the cross entropy of probabilities and targets from 0 to 1.

    Args:
        input: probabilities.
        target: numbers from 0 to 1, of the same shape.
        weight: of the elements; may broadcast.
        size_average, reduce, reduction: see ``l1_loss``.

    Raises:
        OptionError: input and target have different shapes; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.binary_cross_entropy(opdsl.tensor([0.5, 0.25]), opdsl.tensor([1.0, 0.0]), reduction="none")
    tensor([0.6931, 0.2877])
    """
    code = code_of(reduction, size_average, reduce)
    if target.shape != input.shape:
        raise OptionError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. "
            "Please ensure they have the same size."
        )
    if weight is not None:
        weight = weight.expand(broadcast(target.shape, weight.shape))
    return aten.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return ``binary_cross_entropy`` of the sigmoid of the input, without overflow.

    Args:
        input: logits, to which the sigmoid is applied.
        target: numbers from 0 to 1, of the same shape.
        weight, size_average, reduce, reduction: see ``binary_cross_entropy``.
        pos_weight: the factor of the loss of positive targets.

    Raises:
        OptionError: input and target have different shapes; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.binary_cross_entropy_with_logits(opdsl.tensor([0.0, -100.0]), opdsl.tensor([1.0, 1.0]), reduction="none")
    tensor([  0.6931, 100.0000])
    """
    if target.shape != input.shape:
        raise OptionError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    code = code_of(reduction, size_average, reduce)
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Return the Kullback-Leibler divergence of log probabilities and probabilities (or their logarithms).

    ``reduction="batchmean"`` divides the sum by the first size, which is the divergence's definition.

    Args:
        input: log probabilities.
        target: probabilities, or their logarithms.
        size_average, reduce: see ``l1_loss``.
        reduction: ``"none"``, ``"batchmean"``, ``"mean"`` or ``"sum"``.
        log_target: whether the target consists of logarithms.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.kl_div(opdsl.tensor([[0.5, 0.5]]).log(), opdsl.tensor([[1.0, 0.0]]), reduction="batchmean")
    tensor(0.6931)
    """
    per_batch = size_average is None and reduce is None and reduction == "batchmean"
    code = code_of("sum" if per_batch else reduction, size_average, reduce)
    output = aten.kl_div(input, target, code, log_target=log_target)
    return output / input.shape[0] if per_batch and input.ndim else output


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Return the connectionist temporal classification loss.

    Args:
        log_probs: log probabilities, of shape (T, N, C) or (T, C).
        targets: classes, of shape (N, S), or all of them in one vector.
        input_lengths, target_lengths: the valid length of each sequence.
        blank: the class of the blank label.
        reduction: ``none``, ``sum``, or ``mean``, which divides each loss by the length of its target first.
        zero_infinity: whether the infinite losses of targets that are too long are replaced by 0.

    Raises:
        OptionError: there is no such reduction; it is a ValueError.

    >>> import opdsl, opdsl.nn.functional as F
    >>> F.ctc_loss(opdsl.full((2, 3), 1 / 3).log(), opdsl.tensor([1]), opdsl.tensor([2]), opdsl.tensor([1]))
    tensor(1.0986)
    """
    number = {"none": 0, "mean": 1, "sum": 2}[reduction_of(reduction)]
    lengths = aten.asarray(input_lengths), aten.asarray(target_lengths)
    return aten.ctc_loss(log_probs, targets, *lengths, blank, number, zero_infinity)
