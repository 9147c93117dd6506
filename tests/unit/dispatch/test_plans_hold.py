"""Tests that plans keep no tensors of the calls that they were made in alive."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import opdsl
from opdsl import Tensor
from opdsl.dispatch.plans import call_cache

CALLS: dict[str, tuple[Callable[..., Tensor], tuple[tuple[int, ...], ...]]] = {
    "linear": (opdsl.ops.aten.linear, ((3, 4), (5, 4))),
    "matmul": (opdsl.matmul, ((2, 3, 4), (4, 5))),
    "addmm": (opdsl.addmm, ((2, 2), (2, 2), (2, 2))),
    "conv2d": (opdsl.ops.aten.conv2d, ((1, 2, 5, 5), (3, 2, 3, 3))),
    "gelu": (opdsl.ops.aten.gelu, ((3, 3),)),
    "clamp": (opdsl.clamp, ((3,), (3,))),
    "where": (lambda x, y: opdsl.where(x > y, x, y), ((3, 3), (3, 3))),
    "cat": (lambda x, y: opdsl.cat([x, y]), ((2, 2), (2, 2))),
    "cumsum": (lambda x: x.cumsum(0), ((4,),)),
    "sort": (lambda x: x.sort()[0], ((5,),)),
    "norm": (lambda x: x.norm(), ((4,),)),
    "softmax": (lambda x: x.softmax(0), ((3, 4),)),
    "layer_norm": (lambda x: opdsl.ops.aten.layer_norm(x, [4]), ((3, 4),)),
    "subscript": (lambda x: x[0, 1:], ((3, 4),)),
    "assignment": (lambda x: x.clone().index_fill_(0, opdsl.tensor([1]), 2.0), ((3, 4),)),
}


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_tensors_of_the_first_calls_are_freed(name: str, requires_grad: bool) -> None:
    function, shapes = CALLS[name]

    def call() -> list[weakref.ref[Tensor]]:
        inputs = [opdsl.rand(*shape, requires_grad=requires_grad) for shape in shapes]
        computed = function(*inputs)
        if requires_grad:
            computed.sum().backward(create_graph=True)
        return [weakref.ref(tensor) for tensor in (*inputs, computed)]

    seen = [call() for _ in range(3)]
    gc.collect()
    assert [[reference() for reference in some] for some in seen] == [[None] * (len(shapes) + 1)] * 3


def test_a_call_that_cannot_be_lowered_is_not_lowered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered: list[str] = []
    lower = call_cache.lower_call

    def noted(name: str, *inputs: Any, **named: Any) -> Any:
        lowered.append(name)
        return lower(name, *inputs, **named)

    monkeypatch.setattr(call_cache, "lower_call", noted)
    for _ in range(8):
        opdsl.ones(7, 3).resize_((2, 2))
    assert lowered.count("resize_") == 1
