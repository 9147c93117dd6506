"""Tests that ``torch.profiler`` shows operators of opdsl, called by torch or on tensors of opdsl."""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register

lib = Library("profiled_here")


@lib.op
@formula
def doubled_for_profiles(self: Tensor) -> Tensor:
    return self * 2


def test_a_registered_operator_has_its_name() -> None:
    register(lib)
    x = torch.ones(10)
    call = torch.ops.profiled_here.doubled_for_profiles
    for _ in range(4):  # until a plan serves the call
        call(x)
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            call(x)
    counts = {average.key: average.count for average in profiler.key_averages()}
    assert counts["profiled_here::doubled_for_profiles"] == 3


def test_calls_on_tensors_of_opdsl_have_spans() -> None:
    x = opdsl.ones(3)
    with profile(activities=[ProfilerActivity.CPU]) as profiler, opdsl.profile():
        x.exp()
        x.exp()
    assert {average.key: average.count for average in profiler.key_averages()} == {"aten::exp": 2}


def test_without_a_profiler_of_torch_there_are_no_spans() -> None:
    x = opdsl.ones(3)
    with opdsl.profile() as own:
        x.exp()
    assert [average.name for average in own.key_averages()][-1] == "aten::exp"
