"""Tests of torch tensors whose storage does not match their shape: shrunk storages, conjugate and negative views."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import InterchangeError
from tests.torch.interop.bridge import registered, run_alone


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


def shrunk(left: int, *, requires_grad: bool = False) -> torch.Tensor:
    """Return four numbers whose storage has only ``left`` bytes, as under FSDP, which leaves none."""
    emptied = torch.ones(4, requires_grad=requires_grad)
    emptied.untyped_storage().resize_(left)
    return emptied


CALLS: dict[str, Callable[[Any, torch.Tensor], Any]] = {
    "pointwise": lambda ops, x: ops.smooth_relu(x),
    "second operand": lambda ops, x: ops.scaled_add(torch.ones(4), x),
    "keyword": lambda ops, x: ops.scaled_add(x, x, alpha=2),
    "in place": lambda ops, x: ops.smooth_relu_(x.detach()),
    "out": lambda ops, x: ops.smooth_relu(torch.ones(4), out=x.detach()),
    "kernel": lambda ops, x: ops.masked(x),
    "list": lambda ops, x: ops.joined([x, None]),
    "written by a kernel": lambda ops, x: ops.exchange(x.detach(), torch.ones(4)),
}


def check_shrunk() -> None:
    """Check that calls, with and without a plan, raise instead of reading or writing beyond the storage."""
    with registered() as ops:
        for call in CALLS.values():
            for requires_grad in (False, True):
                for _ in range(3):
                    for left in (0, 8, 15):
                        with pytest.raises(InterchangeError, match=f"needs a storage of 16 bytes .got one of {left}"):
                            call(ops, shrunk(left, requires_grad=requires_grad))
                    call(ops, torch.ones(4, requires_grad=requires_grad))
        full = torch.arange(8.0)
        half, nothing = full[4:], full[8:]
        for _ in range(2):
            torch.testing.assert_close(ops.smooth_relu(half), torch.nn.functional.softplus(half))
        full.untyped_storage().resize_(28)
        with pytest.raises(InterchangeError, match="needs a storage of 32 bytes"):
            ops.smooth_relu(half)
        assert ops.smooth_relu(nothing).shape == (0,)


def test_a_storage_that_is_too_small_is_refused() -> None:
    """Tensors whose storage is too small are rejected; the test has its own process, which could crash."""
    run_alone(__name__, "check_shrunk()")


def _imaginary(x: torch.Tensor) -> torch.Tensor:
    return x.conj().imag


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "conjugate": torch.Tensor.conj,
    "negative": lambda x: torch._neg_view(x),
    "both": lambda x: torch._neg_view(x.conj()),
    "negative and real": _imaginary,
}


@pytest.mark.parametrize("view", VIEWS)
def test_conjugate_and_negative_views_are_written(ops, view: str) -> None:
    """Writing to a conjugate or negative view stores elements such that the view has the written values."""
    for call in (
        lambda shown: ops.plus_(shown, torch.full((2,), 2.0)),
        lambda shown: ops.plus(shown, torch.full((2,), 2.0), out=shown),
        lambda shown: ops.exchange(shown, (shown + 2).resolve_conj().resolve_neg()),
    ):
        memory = torch.tensor([1 + 2j, 3 - 1j])
        expected = memory.clone()
        VIEWS[view](expected).add_(2)
        shown = VIEWS[view](memory)
        version = memory._version
        call(shown)
        torch.testing.assert_close(memory, expected, rtol=0, atol=0)
        assert memory._version > version


def test_both_written_arguments_may_be_conjugate_views(ops) -> None:
    one, other = torch.tensor([1 + 2j]), torch.tensor([3 - 1j])
    ops.exchange(one.conj(), other.conj())
    assert (one.tolist(), other.tolist()) == ([3 - 1j], [1 + 2j])
    ops.exchange(one.conj(), other)
    assert (one.tolist(), other.tolist()) == ([1 - 2j], [3 + 1j])


def test_a_conjugate_view_that_is_written_gives_gradients(ops) -> None:
    gradients = []
    for call in (lambda shown: ops.plus_(shown, shown), lambda shown: shown.add_(shown)):
        x = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
        memory = x * 1
        call(memory.conj())
        memory.abs().sum().backward()
        gradients.append(x.grad)
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("left", [0, 8, 15])
@pytest.mark.parametrize("take", [opdsl.from_dlpack, opdsl.tensor, opdsl.asarray, opdsl.array_api.from_dlpack])
def test_a_storage_that_is_too_small_is_not_shared(take: Callable[[Any], Any], left: int) -> None:
    with pytest.raises(InterchangeError, match=f"needs a storage of 16 bytes .got one of {left}"):
        take(shrunk(left))
    part = torch.arange(4.0)[2:]
    part.untyped_storage().resize_(12)
    with pytest.raises(InterchangeError, match=r"needs a storage of 16 bytes .got one of 12"):
        take(part)
    assert take(part[:0]).shape == (0,)
    assert take(part[:1]).tolist() == [2.0]


@pytest.mark.parametrize("way", ["set_", "data"])
def test_memory_that_is_shared_stays_when_torch_replaces_it(way: str) -> None:
    source = torch.full((1000,), 2.0)
    taken = opdsl.from_dlpack(source)
    address = source.data_ptr()
    if way == "set_":
        source.set_(torch.zeros(1000))
    else:
        source.data = torch.zeros(1000)
    others = [torch.full((1000,), 7.0) for _ in range(50)]
    assert all(other.data_ptr() != address for other in others), "the memory is still held"
    assert taken.tolist() == [2.0] * 1000
