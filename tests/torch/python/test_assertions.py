"""Assertions of tensors: the texts of their errors, against PyTorch."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import ShapeError


def texts(module: Any, kind: type[Exception], message: str) -> list[str]:
    """Return the error texts of assertions that do not hold."""
    aten, zero = module.ops.aten, module.zeros(1)
    calls = (
        lambda: aten._assert_async.default(zero),
        lambda: aten._assert_async.msg(zero, message),
        lambda: aten._functional_assert_async.msg(zero, message, zero),
    )
    caught = []
    for call in calls:
        with pytest.raises(kind) as error:
            call()
        caught.append(str(error.value))
    return caught


@pytest.mark.parametrize("message", ["expected a positive size", ""])
def test_errors_have_the_text_that_is_passed(message: str) -> None:
    ours = [text.partition(": ")[2] for text in texts(opdsl, ShapeError, message)]
    assert ours == texts(torch, RuntimeError, message)
