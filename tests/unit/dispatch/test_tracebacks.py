"""Tracebacks of calls show the user's lines, and of ours the operators that they call."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch.plans.tracebacks import shorten
from opdsl.errors import OpdslError, ShapeError


def names(call: Callable[[], object], error: type[BaseException] = OpdslError) -> list[str]:
    """The functions in the traceback of what a call raises, the outermost first."""
    with pytest.raises(error) as caught:
        call()
    return [each.name for each in traceback.extract_tb(caught.value.__traceback__)][1:]


X, Y = opdsl.ones(2), opdsl.ones(3)

CALLS: dict[str, Callable[[], object]] = {
    "add": lambda: opdsl.add(X, Y),
    "add_": lambda: X.add_(Y),
    "view": lambda: X.view(5),
    "softmax": lambda: opdsl.softmax(X, 9),
    "matmul": lambda: opdsl.matmul(X, Y),
    "cat": lambda: opdsl.cat([X, "no tensor"]),
    "sum": lambda: opdsl.sum(X, unknown=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_frame_of_ours_is_shown(name: str) -> None:
    names(CALLS[name])  # the first call of a function generates it
    assert names(CALLS[name]) == ["<lambda>", name]


def test_all_frames_are_shown_where_the_environment_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_TRACEBACK", "full")
    assert len(names(CALLS["add"])) > 5


def test_frames_of_the_user_stay() -> None:
    with Library("tracebacks") as lib:

        @lib.op
        def total(self: Tensor, other: Tensor) -> Tensor:
            return helped(self, other)

        def helped(x: Tensor, y: Tensor) -> Tensor:
            return opdsl.add(x, y)

        assert names(lambda: total(X, Y), ShapeError)[-4:] == ["total", "total", "helped", "add"]


def test_errors_of_python_kernels_show_the_kernel() -> None:
    with Library("tracebacks") as lib:

        @lib.op
        def broken(self: Tensor) -> Tensor: ...

        @broken.kernel("CPU")
        def broken_cpu(self):
            raise ZeroDivisionError

        assert names(lambda: broken(X), ZeroDivisionError)[-2:] == ["broken", "broken_cpu"]


def test_an_error_of_a_planned_call_is_short() -> None:
    x, index = opdsl.ones(4), opdsl.tensor([1, 2])
    for _ in range(3):
        opdsl.index_select(x, 0, index)
    bad = opdsl.tensor([1, 9])
    assert names(lambda: opdsl.index_select(x, 0, bad)) == ["<lambda>", "index_select"]


def test_errors_that_are_ours_to_mend_show_everything() -> None:
    namespace: dict[str, Callable[[], None]] = {}
    text = "def fail():\n    raise AssertionError\ndef call():\n    fail()\n"
    exec(compile(text, opdsl.__file__, "exec"), namespace)
    with pytest.raises(AssertionError) as caught:
        namespace["call"]()
    shorten(caught.value)
    assert [each.name for each in traceback.extract_tb(caught.value.__traceback__)][1:] == ["call", "fail"]
