"""Tests of functions that author kernels call: they are compiled into the kernel, and behave as in Python."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import numpy
import pytest

from opdsl.backends import cache
from opdsl.backends.cpu import author as authors
from opdsl.backends.cpu.author import author
from opdsl.errors import KernelError
from opdsl.kernels.calls import ArraySpec, AuthorCall
from opdsl.runtime.dtype import float64

F64 = ArraySpec(float64, 1, "C")


@pytest.fixture(params=["0", "1"], ids=["as users", "quick"])
def fresh(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Provide an empty kernel cache, with and without optimization."""
    monkeypatch.setenv("OPDSL_QUICK_COMPILE", request.param)
    monkeypatch.setattr(authors, "_author", authors._author.__wrapped__)
    cache.set_kernel_cache(tmp_path)
    yield
    cache.set_kernel_cache(None)


def reciprocal(value: Any, place: Any) -> Any:
    if value == 0:
        raise ZeroDivisionError("zero at", place)
    return 1 / value


def falling(value: Any, depth: Any) -> Any:
    for step in range(depth):
        value *= value - step
    return value


def smoothed(values: Any, place: Any) -> Any:
    window = numpy.zeros(3)
    for offset in range(3):
        at = min(max(place + offset - 1, 0), values.shape[0] - 1)
        window[offset] = reciprocal(values[at], at)
    return window.sum() + reciprocal(values[place], place)


def combined(values: Any, out: Any) -> None:
    ordered = numpy.sort(values)
    for place in range(values.shape[0]):
        out[place] = smoothed(values, place) + falling(ordered[place], 3) + math.erf(values[place])


def test_what_functions_of_functions_compute(fresh: None) -> None:
    values, out, expected = numpy.array([3.0, -1.5, 0.25, 8.0]), numpy.empty(4), numpy.empty(4)
    combined(values, expected)
    author(combined, AuthorCall((F64,), (F64,)))(values, out)
    numpy.testing.assert_allclose(out, expected, rtol=1e-14)


def test_what_they_raise_has_its_values_and_its_line(fresh: None) -> None:
    kernel = author(combined, AuthorCall((F64,), (F64,)))
    with pytest.raises(KernelError, match=r"test_author_linking\.py:\d+: raise ZeroDivisionError") as caught:
        kernel(numpy.array([1.0, 2.0, 0.0]), numpy.empty(3))
    assert isinstance(caught.value.__cause__, ZeroDivisionError) and caught.value.__cause__.args == ("zero at", 2)


def test_no_code_of_their_own_is_made(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    added = []
    codegen = numba.core.registry.cpu_target.target_context.codegen()
    add = codegen._add_module
    monkeypatch.setattr(codegen, "_add_module", lambda module: (added.append(module.name), add(module))[1])
    author(combined, AuthorCall((F64,), (F64,)))
    assert [name for name in added if any(word in name for word in ("reciprocal", "falling", "smoothed"))] == []
