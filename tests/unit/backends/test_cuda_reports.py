"""Tests of indices and divisors checked on the device: no call waits for the check, and the next synchronization
raises.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opdsl
from opdsl import Tensor
from opdsl.errors import DivisionError, PositionError
from tests.emulation.driver import EmulatedDriver

F = opdsl.nn.functional

WAITS = ("synchronize", "synchronize_stream", "synchronize_event")

CALLS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "embedding": lambda table, at: F.embedding(at, table),
    "gather": lambda table, at: table.gather(0, at.unsqueeze(1)),
    "scatter_add": lambda table, at: table.scatter_add(0, at.unsqueeze(1), table[:3, :1] + 0),
    "index": lambda table, at: table[at],
    "index_put": lambda table, at: table.index_put([at], table[:3] + 0),
    "index_select": lambda table, at: table.index_select(0, at),
    "index_add": lambda table, at: table.index_add(0, at, table[:3] + 0),
    "cross_entropy": lambda table, at: F.cross_entropy(table[:3], at),
    "nll_loss": lambda table, at: F.nll_loss(table[:3], at),
    "floor_divide": lambda table, at: at // (at + 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_nothing_waits_for_the_device(cuda: EmulatedDriver, name: str) -> None:
    table, at = opdsl.arange(20.0).view(5, 4), opdsl.tensor([0, 3, 1])
    there, places = table.cuda(), at.cuda()
    for _ in range(3):  # the first call, a call that makes a plan, and a call by the plan
        cuda.calls.clear()
        result = CALLS[name](there, places)
        assert [call.name for call in cuda.calls if call.name in WAITS] == []
        assert opdsl.allclose(result.cpu(), CALLS[name](table, at))


@pytest.mark.parametrize("name", [name for name in CALLS if name != "floor_divide"])
def test_who_waits_gets_the_error_once(cuda: EmulatedDriver, name: str) -> None:
    table, wrong = opdsl.arange(20.0).view(5, 4).cuda(), opdsl.tensor([0, 9, 1]).cuda()
    for _ in range(3):
        CALLS[name](table, wrong)
        with pytest.raises(PositionError, match=r"aten::\w+.* \(\w+\): index 9 is out of bounds .* with size \d"):
            opdsl.cuda.synchronize()
        opdsl.cuda.synchronize()
    assert table.cpu().tolist() == opdsl.arange(20.0).view(5, 4).tolist()


def test_a_negative_position_where_none_counts_from_the_end(cuda: EmulatedDriver) -> None:
    opdsl.ones(5, 4).cuda().gather(0, opdsl.tensor([[-1]]).cuda())
    with pytest.raises(PositionError, match="index -1 is out of bounds for dimension with size 5"):
        opdsl.cuda.synchronize()


def test_a_copy_to_the_host_raises(cuda: EmulatedDriver) -> None:
    result = opdsl.ones(5, 4).cuda()[opdsl.tensor([7]).cuda()]
    with pytest.raises(PositionError, match="index 7"):
        result.tolist()


def test_an_integer_divided_by_zero(cuda: EmulatedDriver) -> None:
    x = opdsl.tensor([1, 2]).cuda()
    x // opdsl.tensor([1, 0]).cuda()
    with pytest.raises(DivisionError, match="ZeroDivisionError: an integer is divided by 0"):
        opdsl.cuda.synchronize()


def test_there_is_nothing_to_index(cuda: EmulatedDriver) -> None:
    with pytest.raises((PositionError, opdsl.errors.ShapeError)):
        opdsl.ones(0, 4).cuda().index_select(0, opdsl.tensor([0]).cuda())


def test_graphs_check_indices_in_each_run(cuda: EmulatedDriver) -> None:
    table = opdsl.arange(20.0).view(5, 4).cuda()
    run = opdsl.cuda.graph(lambda at: F.embedding(at, table))
    assert run(opdsl.tensor([4]).cuda()).tolist() == [[16, 17, 18, 19]]
    run(opdsl.tensor([5]).cuda())
    with pytest.raises(PositionError, match="index 5"):
        opdsl.cuda.synchronize()
    assert run(opdsl.tensor([0]).cuda()).tolist() == [[0, 1, 2, 3]]
