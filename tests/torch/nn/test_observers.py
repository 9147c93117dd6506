"""Tests of fake quantization by moving averages, compared with PyTorch's: results and written statistics."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
import torch

import opdsl
from tests.torch.twins import differences, of

STATES = {"first": (math.inf, -math.inf), "later": (-1.0, 1.5)}


def arguments(values: torch.Tensor, state: str, *, observes: bool, rounds: bool, per_row: bool) -> list[Any]:
    count = values.shape[0] if per_row else 1
    low, high = (torch.full((count,), bound) for bound in STATES[state])
    switches = torch.tensor([int(observes)]), torch.tensor([int(rounds)])
    return [values, *switches, low, high, torch.full((count,), 0.1), torch.full((count,), 3, dtype=torch.int32), 0.1]


@pytest.mark.parametrize(("low", "high"), [(0, 255), (-128, 127)])
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("state", STATES)
def test_results_and_statistics_are_pytorchs(
    state: str, *, per_row: bool, symmetric: bool, low: int, high: int
) -> None:
    torch.manual_seed(0)
    wrong = []
    for observes, rounds, shift, scale in itertools.product(
        (True, False), (True, False), (0.0, 3.0, -3.0), (2.0, 1e-4)
    ):
        values = torch.randn(3, 2, 4) * scale + shift * scale
        inputs = arguments(values, state, observes=observes, rounds=rounds, per_row=per_row)
        rest = (low, high, 0, per_row, symmetric)
        own = of(inputs)
        expected = torch.ops.aten._fused_moving_avg_obs_fq_helper(*inputs, *rest)
        actual = opdsl.ops.aten._fused_moving_avg_obs_fq_helper(*own, *rest)
        wrong += differences([*actual, *own[3:7]], [*expected, *inputs[3:7]])
    assert wrong == []


def test_numbers_within_bounds_alone_have_gradients() -> None:
    inputs = arguments(torch.tensor([-3.0, 0.5, 9.0]), "later", observes=False, rounds=True, per_row=False)
    own = of(inputs)
    for values in (own[0], inputs[0]):
        values.requires_grad_()
    opdsl.ops.aten.fused_moving_avg_obs_fake_quant(*own, -8, 7, 0).sum().backward()
    torch.fused_moving_avg_obs_fake_quant(*inputs, -8, 7, 0).sum().backward()
    assert own[0].grad.tolist() == inputs[0].grad.tolist()
