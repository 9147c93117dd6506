"""Tests that the recorder sees every kernel, including those compiled earlier in the process."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opdsl
from opdsl import Tensor
from opdsl.autograd import grad
from tests.unit.backends.recording import KINDS, Recorder

ROWS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def slopes(x: Tensor) -> object:
    return grad([x.cumsum(1).sum()], [x])


CALLS: dict[str, Callable[[], object]] = {
    "pointwise": lambda: opdsl.tensor(ROWS).exp(),
    "reduction": lambda: opdsl.tensor(ROWS).sum([1]),
    "row": lambda: opdsl.softmax(opdsl.tensor(ROWS), 1),
    "scan": lambda: opdsl.tensor(ROWS).cumsum(1),
    "recurrence": lambda: slopes(opdsl.tensor(ROWS).requires_grad_()),
    "indirect": lambda: opdsl.tensor(ROWS).index_select(0, opdsl.tensor([1, 0])),
    "indexed": lambda: opdsl.nn.functional.pad(opdsl.tensor(ROWS), (1, 1), mode="reflect"),
}


@pytest.mark.parametrize("kind", CALLS)
def test_kernels_that_were_kept_are_recorded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):  # first calls cache a kernel, and so does the plan of later calls
        CALLS[kind]()
    recorder = Recorder([kind])
    with recorder.installed(monkeypatch):
        CALLS[kind]()
    assert [record.kind for record in recorder.records] == [kind]
    CALLS[kind]()
    assert len(recorder.records) == 1, "the recorder's kernels are forgotten, too"


def test_kernels_of_all_structures_are_recorded() -> None:
    assert {*CALLS} == {*KINDS.values(), "recurrence"}
