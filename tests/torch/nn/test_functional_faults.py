"""Tests that ``nn.functional`` rejects odd arguments by errors of opdsl, never by an IndexError or
ZeroDivisionError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
import opdsl.nn.functional as F
from opdsl.errors import OpdslError

SCALAR, VECTOR, PLANE, CUBE = opdsl.tensor(1.0), opdsl.ones(3), opdsl.ones(2, 3), opdsl.ones(2, 2, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: F.max_unpool1d(VECTOR, opdsl.zeros(3, dtype=opdsl.int64), 2),
        lambda: F.max_unpool2d(CUBE, opdsl.zeros(2, 2, 3, dtype=opdsl.int64), [2, 2, 2]),
        lambda: F.max_unpool2d(CUBE, opdsl.zeros(2, 2, 3, dtype=opdsl.int64), 2, output_size=4),
        lambda: F.fractional_max_pool2d(PLANE, 2, output_size=1),
        lambda: F.fractional_max_pool3d(SCALAR, 2, output_size=1),
        lambda: F.adaptive_avg_pool2d(VECTOR, (1, None)),
        lambda: F.adaptive_max_pool3d(CUBE, (1, None, 1)),
        lambda: F.embedding(opdsl.tensor([0]), SCALAR),
        lambda: F.embedding(opdsl.tensor([0]), SCALAR, padding_idx=0),
        lambda: F.batch_norm(SCALAR, None, None, training=True),
        lambda: F.group_norm(VECTOR, 1),
        lambda: F.grouped_mm(CUBE, VECTOR),
        lambda: F.grouped_mm(CUBE, VECTOR, offs=opdsl.tensor([1])),
        lambda: F.linear_cross_entropy(PLANE, VECTOR, opdsl.tensor([0, 1])),
        lambda: F.multi_head_attention_forward(
            CUBE, CUBE, CUBE, 3, 0, opdsl.ones(9, 3), None, None, None, False, 0.0, opdsl.ones(3, 3), None
        ),
        lambda: F.multi_head_attention_forward(
            CUBE, PLANE, CUBE, 3, 1, opdsl.ones(9, 3), None, None, None, False, 0.0, opdsl.ones(3, 3), None
        ),
        lambda: F.multilabel_soft_margin_loss(SCALAR, SCALAR),
        lambda: F.multi_margin_loss(PLANE, opdsl.tensor([0, 1]), p=3),
        lambda: F.scaled_dot_product_attention(PLANE, PLANE, PLANE, enable_gqa=True),
    ],
)
def test_odd_arguments_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(OpdslError):
        call()


def test_no_group_of_matrices_has_no_result() -> None:
    assert F.grouped_mm(PLANE, PLANE.t(), offs=opdsl.zeros(1, dtype=opdsl.int64)).shape == (1, 2, 2)


BOTH: dict[str, Callable[[Any], Any]] = {
    "one value in a group": lambda lib: lib.nn.functional.group_norm(lib.ones(1, 4, 1, 1), 4),
    "bags of a table that is none": lambda lib: lib.nn.functional.embedding_bag(
        lib.tensor([0, 1]), lib.ones(2, 2, 2), lib.tensor([0])
    ),
    "bags that begin nowhere": lambda lib: lib.nn.functional.embedding_bag(
        lib.tensor([0, 1]), lib.ones(2, 2), lib.tensor([[0]])
    ),
    "weights of another dtype": lambda lib: lib.nn.functional.embedding_bag(
        lib.tensor([0]), lib.ones(2, 2), lib.tensor([0]), mode="sum", per_sample_weights=lib.ones(1, dtype=lib.float64)
    ),
}


@pytest.mark.parametrize("name", BOTH)
def test_what_pytorch_refuses_is_refused_as_it_does(name: str) -> None:
    with pytest.raises((ValueError, RuntimeError)) as expected:
        BOTH[name](torch)
    with pytest.raises(expected.type):
        BOTH[name](opdsl)


@pytest.mark.parametrize("shape", [(0, 4), (1, 4)])
def test_groups_of_more_values(shape: tuple[int, ...]) -> None:
    assert F.group_norm(opdsl.ones(shape), 2).tolist() == torch.nn.functional.group_norm(torch.ones(shape), 2).tolist()
