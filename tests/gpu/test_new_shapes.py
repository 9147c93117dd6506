"""Tests of CUDA calls whose shapes are new, against PyTorch on the CPU: plans for forms compute them."""

from __future__ import annotations

import numpy
import pytest

import opdsl
from opdsl.dispatch.plans.policy import lowered_at_once
from tests.torch.test_new_shapes import CALLS, hold_against_pytorch

SIZES = (5, 9, 2, 1, 0, 7)


# Neither PyTorch nor opdsl has products of integers on CUDA.
@pytest.mark.parametrize("name", [call for call in CALLS if call != "products of integers"])
def test_every_size_gives_what_pytorch_gives(name: str) -> None:
    hold_against_pytorch(name, SIZES, "cuda")


def test_one_plan_serves_all_sizes() -> None:
    with lowered_at_once():
        for n in range(2, 12):
            opdsl.sinh(opdsl.ones(n, 3, device="cuda"))
    forms = opdsl.sinh.__globals__["forms"]
    assert [len(plans) for plans in forms.values() if plans] == [1]


def test_gradients_of_sizes_that_have_not_come_before() -> None:
    with lowered_at_once():
        for n in (4, 7):
            x = opdsl.ones(n, 3, device="cuda", requires_grad=True)
            (x[:, 1:] * opdsl.ones(3, 2, device="cuda").t()[:1, 0]).exp().sum().backward()
            assert x.grad is not None
            wanted = [[0.0, numpy.e, numpy.e]] * n
            numpy.testing.assert_allclose(x.grad.cpu().numpy(), wanted, rtol=1e-6)


def test_a_form_belongs_to_its_device() -> None:
    with lowered_at_once():
        for n in (3, 4):
            for index in range(opdsl.cuda.device_count()):
                doubled = opdsl.ones(n, device=f"cuda:{index}") * 2
                assert (str(doubled.device), doubled.tolist()) == (f"cuda:{index}", [2.0] * n)
