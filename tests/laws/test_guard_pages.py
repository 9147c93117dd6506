"""Tests of calls between guard pages (law 10) that are postponed, and made for several operators in one process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Array, Library, Tensor
from opdsl.testing import Sample, violations_of
from opdsl.testing.laws import guard_pages
from opdsl.testing.subject import Subject


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("guard_page_tests") as result:
        yield result


def meta_of_one(ctx: Any, self: Tensor) -> None:
    ctx.set_output(0, (1,), like=self)


def careless(library: Library) -> Any:
    """Return an operator that reads the first element of an array even if there is none."""

    @library.op
    def first(self: Tensor) -> Tensor: ...

    first.meta(meta_of_one)

    @first.out_kernel("CPU")
    def first_cpu(self: Array, out: Array) -> None:
        out[0] = self[0]

    return first


def careful(library: Library) -> Any:
    @library.op
    def first_or_nothing(self: Tensor) -> Tensor: ...

    first_or_nothing.meta(meta_of_one)

    @first_or_nothing.out_kernel("CPU")
    def first_or_nothing_cpu(self: Array, out: Array) -> None:
        out[0] = self[0] if self.shape[0] > 0 else 0

    return first_or_nothing


def postponed(*functions: Any) -> list[Subject]:
    """Return the operators whose calls law 10 has postponed, each with one sample."""
    subjects: list[Subject] = []
    with guard_pages.postponed(subjects):
        for function in functions:
            assert violations_of(function, [Sample(opdsl.ones(7))], laws=[10]) == []
    return subjects


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list of the processes that are forked."""
    processes: list[int] = []

    def counted(fork: Callable[[], int] = os.fork) -> int:
        process = fork()
        processes.append(process)
        return process

    monkeypatch.setattr(os, "fork", counted)
    return processes


def test_operators_share_a_process_up_to_a_call_that_ends_it(library: Library, forks: list[int]) -> None:
    one, other = careless(library), careful(library)
    subjects = postponed(other, one, other)
    assert (len(subjects), forks) == (3, [])
    ((name, text),) = guard_pages.violations_of_all(subjects)
    assert name == "guard_page_tests::first"
    assert text.startswith("(float32[7]) with 0 for the size 7, ") and text.endswith("Segmentation fault")
    assert len(forks) == 2


def test_an_operator_that_does_not_end_is_given_up_alone(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    @library.op
    def endless(self: Tensor) -> Tensor: ...

    @endless.kernel("CPU")
    def endless_kernel(self):
        while os.getpid() != here:
            pass
        return self + 1

    here = os.getpid()
    monkeypatch.setattr(guard_pages, "_SECONDS", 1)
    subjects = postponed(endless, careless(library))
    with pytest.warns(UserWarning, match=r"not been tried beside guard pages: \(float32\[7\]\), before a page"):
        ((name, _),) = guard_pages.violations_of_all(subjects)
    assert name == "guard_page_tests::first"
