"""Tests of connectionist temporal classification, compared with PyTorch's: losses, paths and gradients."""

import pytest
import torch

import opdsl
from opdsl.errors import PositionError

# Number of times, number of labels, lengths of targets and of inputs, and whether targets are concatenated.
CASES = [
    (6, 5, [3, 2], [6, 5], False),
    (6, 5, [3, 2], [6, 5], True),
    (6, 5, [3, 0, 2], [6, 5, 0], False),
    (12, 4, [5, 4, 1, 0], [12, 11, 3, 0], True),
    (3, 5, [3, 2], [2, 3], False),
    (30, 3, [9, 12], [30, 28], False),
]


@pytest.mark.parametrize(("times", "labels", "counts", "lengths", "is_vector"), CASES)
def test_losses_and_gradients_are_pytorchs(times, labels, counts, lengths, is_vector) -> None:
    log_probs = torch.randn(times, len(counts), labels, dtype=torch.float64).log_softmax(-1)
    targets = torch.randint(1, labels, (len(counts), max(counts)))
    if is_vector:
        targets = torch.cat([row[:count] for row, count in zip(targets, counts, strict=True)])
    inputs = opdsl.from_dlpack(log_probs), opdsl.from_dlpack(targets)
    wanted = torch.ops.aten._ctc_loss(log_probs, targets, lengths, counts)
    actual = opdsl._ctc_loss(*inputs, lengths, counts)
    torch.testing.assert_close(torch.from_dlpack(actual[0]), wanted[0])
    gradient = torch.randn(len(counts), dtype=torch.float64)
    for is_zero in (False, True):
        theirs = torch.ops.aten._ctc_loss_backward(gradient, log_probs, targets, lengths, counts, *wanted, 0, is_zero)
        ours = opdsl.ops.aten._ctc_loss_backward(
            opdsl.from_dlpack(gradient), *inputs, lengths, counts, *actual, 0, is_zero
        )
        torch.testing.assert_close(torch.from_dlpack(ours), theirs, equal_nan=True)
        for reduction in (0, 1, 2):
            rest = 0, reduction, is_zero
            theirs = torch.ctc_loss(log_probs, targets, lengths, counts, *rest)
            ours = opdsl.ctc_loss(*inputs, lengths, counts, *rest)
            torch.testing.assert_close(torch.from_dlpack(ours), theirs)
            ours = opdsl.ctc_loss(*inputs, opdsl.tensor(lengths), opdsl.tensor(counts), *rest)
            torch.testing.assert_close(torch.from_dlpack(ours), theirs)


def test_labels_that_are_not_there_are_refused() -> None:
    log_probs = opdsl.full((2, 1, 3), 1 / 3).log()
    with pytest.raises(PositionError):
        opdsl.ctc_loss(log_probs, opdsl.tensor([[3]]), [2], [1])
    assert opdsl.ctc_loss(log_probs, opdsl.tensor([[1, 7]]), [2], [1]).item() == pytest.approx(1.0986, abs=1e-4)
