"""Samples of aten's losses: probabilities between 0 and 1, valid class indices."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from opdsl.aten.nn.connectionist_losses import _ctc_loss
from opdsl.runtime import Tensor, float32, float64, from_numpy
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

Samples = Callable[[Maker], Iterator[Sample]]

_CLASSES = 3
_NO_CLASS = -100


def _classes(*shape: int) -> Tensor:
    classes = numpy.arange(numpy.prod(shape, dtype=int), dtype=numpy.int64).reshape(shape) % _CLASSES
    return from_numpy(classes)


def _probabilities(make: Maker, *shape: int) -> Tensor:
    return make(*shape).sigmoid() if make.dtype.is_floating_point else make(*shape)


def _weights(make: Maker, *shape: int) -> Tensor:
    return make(*shape).abs() + 1 if make.dtype.is_floating_point else make(*shape)


def _losses(*shape: int) -> Samples:
    """Return a function that makes samples of losses of log-probabilities, of shape (N, C) with further dimensions."""

    def samples(make: Maker) -> Iterator[Sample]:
        places = (shape[0], *shape[2:])
        yield Sample(make(*shape), _classes(*places), None, 1, _NO_CLASS)
        yield Sample(make(*shape), _classes(*places), _weights(make, _CLASSES), 0, 1)
        yield Sample(make.transposed(*shape), _classes(*places), None, 2, _NO_CLASS)

    return samples


def _targets(make: Maker) -> Iterator[Sample]:
    yield Sample(_classes(2, 5), _CLASSES, 1)
    yield Sample(_classes(7), _CLASSES, _NO_CLASS)


def _gradients(*shape: int) -> Samples:
    def samples(make: Maker) -> Iterator[Sample]:
        places = (shape[0], *shape[2:])
        total = make().new_full((), math.prod(places))  # the second gradient reads it as the sum of the weights
        yield Sample(make(), make(*shape), _classes(*places), None, 1, _NO_CLASS, total)
        yield Sample(make(*places), make(*shape), _classes(*places), _weights(make, _CLASSES), 0, 1, total)

    return samples


def _cross_entropy(make: Maker) -> Iterator[Sample]:
    for sample in _losses(4, _CLASSES)(make):
        yield sample
        yield Sample(*sample.positional, 0.1)
    yield Sample(make(4, _CLASSES), _probabilities(make, 4, _CLASSES), _weights(make, _CLASSES))


def _of_probabilities(make: Maker) -> Iterator[Sample]:
    for reduction in range(3):
        yield Sample(_probabilities(make, 3, 4), _probabilities(make, 3, 4), None, reduction)
    yield Sample(_probabilities(make, 3, 4), _probabilities(make, 3, 4), _weights(make, 4))


def _of_probabilities_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(), _probabilities(make, 3, 4), _probabilities(make, 3, 4))
    yield Sample(make(3, 4), _probabilities(make, 3, 4), _probabilities(make, 3, 4), _weights(make, 4), 0)


def _vectors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4))
    yield Sample(make(3, 1, 4), make(2, 1), 0)


def _signed_pairs(make: Maker) -> Iterator[Sample]:
    signs = from_numpy(numpy.asarray([1, -1, 1]))
    for reduction in range(3):
        yield Sample(make(3, 4), make(3, 4), signs, 0.25, reduction)
    yield Sample(make(4), make(4), from_numpy(numpy.asarray(-1)))


def _robust(make: Maker) -> Iterator[Sample]:
    for reduction in range(3):
        yield Sample(make(3, 4), make(3, 4), reduction, 2.0)
    yield Sample(make(3, 1, 4), make.transposed(2, 4), 0)


def _robust_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 4), make(3, 4), make(3, 4), 0, 2.0)
    yield Sample(make(), make(3, 4), make(3, 4), 1, 0.5)


def _right_classes(make: Maker) -> Iterator[Sample]:
    yield Sample(make(4, _CLASSES), _classes(4))
    yield Sample(make(4, _CLASSES), _classes(4), 2, 0.5, make(_CLASSES), 0)
    yield Sample(make(_CLASSES), _classes(1), reduction=2)


def _right_classes_gradients(make: Maker) -> Iterator[Sample]:
    yield Sample(make(), make(4, _CLASSES), _classes(4), 1, 1)
    yield Sample(make(4), make(4, _CLASSES), _classes(4), 2, 0.5, make(_CLASSES), 0)


def _labels(make: Maker) -> Iterator[Sample]:
    labels = from_numpy(numpy.asarray([[0, -1, 2], [2, 1, -1]]))
    for reduction in range(3):
        yield Sample(make(2, _CLASSES), labels, reduction)


def _labels_gradients(make: Maker) -> Iterator[Sample]:
    labels = from_numpy(numpy.asarray([[0, -1, 2], [2, 1, -1]]))
    yield Sample(make(2), make(2, _CLASSES), labels, 0, make(2, _CLASSES))


def _events(make: Maker) -> Iterator[Sample]:
    for log_input in (True, False):
        yield Sample(_weights(make, 3, 4), _weights(make, 3, 4), log_input, True, 1e-8, 1)


def _sequences(*, tensors: bool, backward: bool = False) -> Samples:
    """Return a function that makes samples of CTC losses: probabilities of labels at five times, of two sequences."""

    def samples(make: Maker) -> Iterator[Sample]:
        targets = from_numpy(numpy.array([[1, 2, 2], [3, 1, 0]]))
        lengths: tuple[Any, ...] = ([5, 4], [3, 2])
        scores = make(5, 2, 4)
        more: tuple[Any, ...] = ()
        if make.dtype.is_floating_point:
            scores = scores.log_softmax(-1)
        if backward:
            outputs = (
                _ctc_loss(scores, targets, *lengths) if make.dtype in (float32, float64) else (make(2), make(2, 5, 7))
            )
            more = (*outputs, 0)
        if tensors:
            lengths = tuple(from_numpy(numpy.array(length)) for length in lengths)
        yield Sample(*((make(2),) if backward else ()), scores, targets, *lengths, *more)

    return samples


TABLE: dict[str, Samples] = {
    **{f"aten::{base}": _sequences(tensors=False) for base in ("_ctc_loss", "ctc_loss.IntList")},
    **{f"aten::{base}.Tensor": _sequences(tensors=True) for base in ("_ctc_loss", "ctc_loss")},
    "aten::_ctc_loss_backward": _sequences(tensors=False, backward=True),
    "aten::_ctc_loss_backward.Tensor": _sequences(tensors=True, backward=True),
    "aten::cosine_similarity": _vectors,
    "aten::cosine_embedding_loss": _signed_pairs,
    "opdsl::class_places": _targets,
    "aten::nll_loss": _losses(4, _CLASSES),
    "aten::nll_loss_forward": _losses(4, _CLASSES),
    "aten::nll_loss_backward": _gradients(4, _CLASSES),
    "aten::nll_loss2d": _losses(2, _CLASSES, 2, 2),
    "aten::nll_loss2d_forward": _losses(2, _CLASSES, 2, 2),
    "aten::nll_loss2d_backward": _gradients(2, _CLASSES, 2, 2),
    "aten::nll_loss_nd": _losses(2, _CLASSES, 2),
    "aten::cross_entropy_loss": _cross_entropy,
    "aten::smooth_l1_loss": _robust,
    "aten::smooth_l1_loss_backward": _robust_gradients,
    "aten::huber_loss": _robust,
    "aten::huber_loss_backward": _robust_gradients,
    "aten::multi_margin_loss": _right_classes,
    "aten::multi_margin_loss_backward": _right_classes_gradients,
    "aten::multilabel_margin_loss": _labels,
    "aten::multilabel_margin_loss_forward": _labels,
    "aten::multilabel_margin_loss_backward": _labels_gradients,
    "aten::poisson_nll_loss": _events,
    "aten::binary_cross_entropy": _of_probabilities,
    "aten::binary_cross_entropy_backward": _of_probabilities_gradients,
}
