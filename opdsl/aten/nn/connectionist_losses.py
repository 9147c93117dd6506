"""Connectionist temporal classification (CTC): the likelihood of label sequences, summed over all alignments in time.

A. Graves et al., Connectionist temporal classification (ICML 2006): sums over all paths, forward (alpha) and
backward (beta), in logarithms; as in ATen/native/LossCTC.cpp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from opdsl.aten._shared.index_tensors import BOTH, as_int64, require_inside
from opdsl.aten.create.ranges import arange
from opdsl.aten.nn.losses import reduced
from opdsl.aten.pointwise.comparison import where
from opdsl.aten.shape.stacking import stack
from opdsl.declare import forward, op
from opdsl.errors import DTypeError, UnsupportedDTypeError
from opdsl.kernels import check, step
from opdsl.runtime import Tensor, cpu, float32, float64, int64
from opdsl.schema.vocabulary import Reduction

Array = numpy.ndarray[Any, Any]

# --------------------------------------------------------------------------------------------------------- checks


def check_batch(
    log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
) -> tuple[int, int, int]:
    """Check the arguments of a CTC loss; return the numbers of positions (labels and blanks), time steps and sequences.

    Raises:
        ShapeError, DTypeError, UnsupportedDTypeError, PositionError: labels or lengths do not fit the probabilities.
    """
    if log_probs.dtype not in (float32, float64):
        raise UnsupportedDTypeError(f"\"ctc_loss_cpu\" not implemented for '{log_probs.dtype.scalar_type}'")
    if targets.dtype not in BOTH:
        raise DTypeError(f"ctc_loss: Expected targets of int32 or int64, got {targets.dtype.scalar_type}")
    check(log_probs.ndim == 3, "ctc_loss: Expected log_probs of shape (times, batch, labels)", got=log_probs.shape)
    check(log_probs.numel() > 0, "log_probs tensor must not be empty", got=log_probs.shape)
    times, batch, labels = log_probs.shape
    check(0 <= blank < labels, f"blank must be in label range, from 0 to {labels - 1}", got=blank)
    check(len(input_lengths) == batch, f"input_lengths must be of size batch_size {batch}", got=input_lengths)
    check(len(target_lengths) == batch, f"target_lengths must be of size batch_size {batch}", got=target_lengths)
    for name, lengths, most in (("input_lengths", input_lengths, times), ("target_lengths", target_lengths, math.inf)):
        check(
            all(0 <= number <= most for number in lengths),
            f"ctc_loss: Expected {name} to have values from 0 to {most}, but got {list(lengths)}",
        )
    longest = max(target_lengths)
    if targets.ndim == 1:
        check(
            targets.shape[0] == sum(target_lengths),
            f"ctc_loss: Expected targets of {sum(target_lengths)} labels in a vector",
            got=targets.shape,
        )
    else:
        check(
            targets.ndim == 2 and targets.shape[0] == batch and targets.shape[1] >= longest,
            f"ctc_loss: Expected targets of shape [{batch}, at least {longest}], or a vector",
            got=targets.shape,
        )
        is_padding = arange(targets.shape[1], device=targets.device) >= on_device(target_lengths, targets).unsqueeze(1)
        targets = targets.masked_fill(is_padding, 0)
    require_inside(as_int64(targets), labels, 0)
    return 2 * longest + 1, times, batch


def on_device(numbers: Sequence[int], like: Tensor) -> Tensor:
    """Return integers as an int64 tensor on the device of ``like``."""
    return stack([like.new_full((), number, dtype=int64) for number in numbers])


# ---------------------------------------------------------------------------------------------------- paths in NumPy


def with_blanks(targets: Array, lengths: Sequence[int], count: int, blank: int) -> Array:
    """Return the labels of each sequence with a blank before, between and after them."""
    blanks = numpy.full((len(lengths), count), blank, numpy.int64)
    begin = 0
    for row, length in enumerate(lengths):
        labels = targets[begin : begin + length] if targets.ndim == 1 else targets[row, :length]
        blanks[row, 1 : 2 * length : 2] = labels
        begin += length
    return blanks


def log_sum(*terms: Array) -> Array:
    """Return the logarithm of the sum of ``exp(term)`` over the terms, -inf where all terms are -inf."""
    with numpy.errstate(divide="ignore", invalid="ignore"):
        most = numpy.maximum.reduce(terms)
        most = numpy.where(numpy.isneginf(most), 0.0, most)
        log: Array = numpy.log(sum(numpy.exp(term - most) for term in terms)) + most
    return log


def moved(values: Array, by: int) -> Array:
    """Shift values by ``by`` positions along the last dimension, to the end if positive, and fill with -inf."""
    shifted = numpy.full_like(values, -numpy.inf)
    size = values.shape[-1]
    if by > 0:
        shifted[..., by:] = values[..., : max(size - by, 0)]
    else:
        shifted[..., : max(size + by, 0)] = values[..., -by:]
    return shifted


def paths(emitted: Array, symbols: Array, lengths: Sequence[int], times: Sequence[int], *, back: bool) -> Array:
    """Return the log-probabilities of all paths that lead to each time step and position, or from there to the end.

    Args:
        emitted: the log-probabilities of the positions' symbols, (times, batch, positions).
        symbols: the label or blank at each position, (batch, positions).
        lengths: the number of labels of each sequence.
        times: the number of time steps of each sequence that count.
        back: whether paths lead from each time step and position to the end.
    """
    likelihoods = numpy.full_like(emitted, -numpy.inf)
    count, batch, positions = emitted.shape
    ends, last = 2 * numpy.asarray(lengths)[:, None], numpy.asarray(times)[:, None] - 1
    at = numpy.arange(positions)
    is_within = at <= ends
    # A path may skip the blank between two different labels.
    differs = numpy.zeros((batch, positions), bool)
    differs[:, 2:] = symbols[:, 2:] != symbols[:, :-2]
    leaps = numpy.where(numpy.roll(differs, -2, 1) if back else differs, 0.0, -numpy.inf)
    begins = ((at >= ends - 1) if back else (at <= 1)) & is_within
    side = -1 if back else 1
    present = numpy.full((batch, positions), -numpy.inf, emitted.dtype)
    for time in range(count)[::side]:
        onward = log_sum(present, moved(present, side), moved(present, 2 * side) + leaps)
        starts = time == last if back else numpy.full((batch, 1), time == 0)
        here = numpy.where(starts, numpy.where(begins, 0.0, -numpy.inf), onward) + emitted[time]
        present = numpy.where(is_within & (time <= last), here, -numpy.inf).astype(emitted.dtype)
        likelihoods[time] = present
    return likelihoods


@step
def write_paths(
    log_probs: Array,
    targets: Array,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    blank: int,
    losses: Array,
    log_alpha: Array,
) -> None:
    symbols = with_blanks(targets, target_lengths, log_alpha.shape[2], blank)
    rows = numpy.arange(len(symbols))
    likelihoods = paths(log_probs[:, rows[:, None], symbols], symbols, target_lengths, input_lengths, back=False)
    log_alpha[...] = likelihoods.transpose(1, 0, 2)
    times, ends = numpy.asarray(input_lengths), 2 * numpy.asarray(target_lengths)
    end = likelihoods[numpy.maximum(times - 1, 0), rows]
    before = numpy.where(ends > 0, end[rows, numpy.maximum(ends - 1, 0)], -numpy.inf)
    nothing = numpy.where(ends == 0, 0.0, numpy.inf)
    losses[...] = numpy.where(times == 0, nothing, -log_sum(end[rows, ends], before))


@step
def write_gradient(
    grad: Array,
    log_probs: Array,
    targets: Array,
    input_lengths: tuple[int, ...],
    target_lengths: tuple[int, ...],
    losses: Array,
    log_alpha: Array,
    blank: int,
    zero_infinity: bool,
    out: Array,
) -> None:
    symbols = with_blanks(targets, target_lengths, log_alpha.shape[2], blank)
    rows = numpy.arange(len(symbols))
    wide = log_probs.astype(numpy.float64)
    beta = paths(wide[:, rows[:, None], symbols], symbols, target_lengths, input_lengths, back=True)
    with numpy.errstate(all="ignore"):
        is_within = numpy.arange(symbols.shape[1]) <= 2 * numpy.asarray(target_lengths)[:, None]
        both = numpy.where(is_within, log_alpha.transpose(1, 0, 2) + beta, -numpy.inf)
        most = both.max(2, keepdims=True)
        most = numpy.where(numpy.isneginf(most), 0.0, most)
        sums = numpy.zeros_like(wide)
        places: Any = (slice(None), rows[:, None], symbols)
        numpy.add.at(sums, places, numpy.exp(both - most))
        through = numpy.exp(numpy.log(sums) + most + losses[:, None] - wide)
        gradient = (numpy.exp(wide) - through) * grad[:, None]
    counts = numpy.arange(len(wide))[:, None] < numpy.asarray(input_lengths)
    if zero_infinity:
        counts = counts & ~numpy.isposinf(losses)
    out[...] = numpy.where(counts[:, :, None], gradient, 0.0)


# ------------------------------------------------------------------------------------------------------------ operators


@op("aten::_ctc_loss", kernel=True, tags="dynamic_output_shape")
def _ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the loss of each sequence, and the log-probabilities of all paths up to each time step and position."""
    positions, times, batch = check_batch(log_probs, targets, input_lengths, target_lengths, blank)
    kind, device = log_probs.dtype, cpu if log_probs.is_cuda else log_probs.device
    losses = log_probs.new_empty((batch,), device=device)
    log_alpha = log_probs.new_empty((batch, times, positions), device=device)
    if not log_probs.is_meta:
        lengths = tuple(input_lengths), tuple(target_lengths)
        write_paths(log_probs.to(cpu), targets.to(cpu), *lengths, blank, losses, log_alpha)
    return losses.to(log_probs.device, kind), log_alpha.to(log_probs.device, kind)


def numbers(lengths: Tensor, name: str) -> list[int]:
    """Return the elements of a tensor of lengths as a list.

    Raises:
        DTypeError: the tensor is neither int32 nor int64.
    """
    if lengths.dtype not in BOTH:
        raise DTypeError(f"ctc_loss: {name} must be integral, got {lengths.dtype.scalar_type}")
    counts: list[int] = lengths.reshape((-1,)).tolist()
    return counts


@op("aten::_ctc_loss.Tensor", kernel=True, tags="dynamic_output_shape")
def ctc_loss_of_tensors(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:
    """Compute ``_ctc_loss`` with lengths in tensors."""
    times, counts = numbers(input_lengths, "input_lengths"), numbers(target_lengths, "target_lengths")
    return _ctc_loss(log_probs, targets, times, counts, blank, zero_infinity)


# The gradient operator's names for the results.
SAVED: dict[str, Any] = {"neg_log_likelihood": lambda result0: result0, "log_alpha": lambda result1: result1}


@op("aten::_ctc_loss_backward", kernel=True)
def _ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    """Return the gradient of ``_ctc_loss`` with respect to the logits of which ``log_probs`` is the ``log_softmax``."""
    positions, times, batch = check_batch(log_probs, targets, input_lengths, target_lengths, blank)
    expected = (("grad", grad, (batch,)), ("neg_log_likelihood", neg_log_likelihood, (batch,)))
    for name, tensor, shape in (*expected, ("log_alpha", log_alpha, (batch, times, positions))):
        check(tensor.shape == shape, f"_ctc_loss_backward: expected {name} of shape {list(shape)}", got=tensor.shape)
        if tensor.dtype is not log_probs.dtype:
            raise DTypeError(f"_ctc_loss_backward: expected {name} to have dtype {log_probs.dtype}, got {tensor.dtype}")
    gradient = log_probs.new_empty(log_probs.shape, device=cpu if log_probs.is_cuda else log_probs.device)
    if not log_probs.is_meta:
        lengths = tuple(input_lengths), tuple(target_lengths)
        known = neg_log_likelihood.to(cpu), log_alpha.to(cpu)
        write_gradient(
            grad.to(cpu), log_probs.to(cpu), targets.to(cpu), *lengths, *known, blank, zero_infinity, gradient
        )
    return gradient.to(log_probs.device)


_ctc_loss.derivative(log_probs=forward(_ctc_loss_backward, **SAVED))


@op("aten::_ctc_loss_backward.Tensor", kernel=True)
def ctc_loss_backward_of_tensors(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    neg_log_likelihood: Tensor,
    log_alpha: Tensor,
    blank: int,
    zero_infinity: bool = False,
) -> Tensor:
    """Compute ``_ctc_loss_backward`` with lengths in tensors."""
    if log_probs.is_meta:
        return log_probs.new_empty(log_probs.shape)
    times, counts = numbers(input_lengths, "input_lengths"), numbers(target_lengths, "target_lengths")
    return _ctc_loss_backward(
        grad, log_probs, targets, times, counts, neg_log_likelihood, log_alpha, blank, zero_infinity
    )


ctc_loss_of_tensors.derivative(log_probs=forward(ctc_loss_backward_of_tensors, **SAVED))


def finished(losses: Tensor, counts: Tensor, reduction: int, zero_infinity: bool, *, is_batch: bool) -> Tensor:
    """Reduce CTC losses; for the mean, each loss is divided by its number of labels first."""
    if zero_infinity:
        losses = where(losses == math.inf, 0.0, losses)
    if reduction == Reduction.Mean:
        losses = losses / counts.reshape((-1,)).to(losses.dtype).clamp(min=1)
    loss = reduced(losses, reduction)
    return loss if is_batch or reduction in (Reduction.Mean, Reduction.Sum) else loss.squeeze(0)


@op("aten::ctc_loss.IntList")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int = 0,
    reduction: int = Reduction.Mean,
    zero_infinity: bool = False,
) -> Tensor:
    """Return the negative log-likelihood of label sequences, summed over all alignments of labels and time steps.

    Args:
        log_probs: log-probabilities of the labels at each time step, (times, batch, labels), or without a batch.
        targets: (batch, labels), padded, or a vector of the labels of all sequences, one sequence after another.
        input_lengths: the number of time steps of each sequence that count.
        target_lengths: the number of labels of each sequence.
        blank: the label that denotes no label.
        reduction: 0 for a loss per sequence, 1 for the mean of losses per label, 2 for the sum.
        zero_infinity: whether the loss and the gradient are 0 for sequences with too many labels for their time steps.
    """
    batch = log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1)
    losses = _ctc_loss(batch, targets.to(int64), input_lengths, target_lengths, blank, zero_infinity)[0]
    return finished(losses, on_device(target_lengths, losses), reduction, zero_infinity, is_batch=log_probs.ndim == 3)


@op("aten::ctc_loss.Tensor")
def ctc_loss_tensor(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: int = Reduction.Mean,
    zero_infinity: bool = False,
) -> Tensor:
    """Compute ``ctc_loss`` with lengths in tensors."""
    batch = log_probs if log_probs.ndim == 3 else log_probs.unsqueeze(1)
    losses = ctc_loss_of_tensors(batch, targets.to(int64), input_lengths, target_lengths, blank, zero_infinity)[0]
    return finished(losses, target_lengths, reduction, zero_infinity, is_batch=log_probs.ndim == 3)
