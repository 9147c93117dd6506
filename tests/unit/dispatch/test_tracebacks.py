"""Tests of tracebacks of calls: they show the user's lines, and of opdsl only the called operators."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.errors import OpdslError, ShapeError
from opdsl.tracebacks import shorten


def names(call: Callable[[], object], error: type[BaseException] = OpdslError) -> list[str]:
    """Return the names of the functions in the traceback of a call's error, outermost first."""
    with pytest.raises(error) as caught:
        call()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:]


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
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][1:] == ["call", "fail"]


# Mistakes in declarations at the top level of a user's module.
MISTAKES = {
    "an annotation that is not there": '@lib.op\ndef f(self: "Tenso") -> Tensor: ...',
    "an annotation that is no type": "@lib.op\ndef f(self: dict) -> Tensor: ...",
    "no result": "@lib.op\ndef f(self: Tensor): ...",
    "an unknown option": "@lib.op(inplac=True)\ndef f(self: Tensor) -> Tensor: ...",
    "a name twice": "@lib.op\ndef g(self: Tensor) -> Tensor: ...\n" * 2,
    "other parameters": "@f.formula\ndef s(x, y):\n    return x",
    "parameters of a loop": "loop = opdsl.primitives.elements(lambda x, y: x)\nf.formula(lambda self: loop(self))",
    "a call of what there is not": "@f.formula\ndef s(self):\n    return open(self)",
    "a call in a loop": "loop = opdsl.primitives.elements(lambda x: open(x))\nf.formula(lambda self: loop(self))",
    "options of a loop": "loop = opdsl.primitives.fold(lambda a: a)\n@f.formula\ndef s(self):\n    return loop(self)",
    "a meta function": "@f.meta\ndef s(ctx, a, b):\n    return a",
    "a derivative": '@f.derivative("selff")\ndef s(grad, self):\n    return grad',
    "a dispatch key": '@f.kernel("CPUU")\ndef s(self):\n    return self',
    "a variant": "@f.inplace_variant()\ndef f_(self: Tensor) -> Tensor: ...",
    "an overload": '@f.overload("")\ndef s(self: Tensor) -> Tensor: ...',
    "an alias": 'f.alias("no name")',
    "a copy of no view": "f.view_copy()",
    "a formula": "@lib.op\n@opdsl.formula\ndef f2(self: Tensor) -> Tensor:\n    import os\n    return os.nothing",
    "a schema": 'lib.define("f(Tenso x) -> Tensor", None)',
    "a kernel of a library": '@lib.impl("f", "CPU")\ndef s(self, other):\n    return self',
    "a schema alone": 'opdsl.parse_schema("f(Tenso x) -> Tensor")',
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_declaration_shows_two_frames_of_ours_at_most(mistake: str) -> None:
    with Library("tracebacks") as lib:
        names_of_module = {"lib": lib, "opdsl": opdsl, "Tensor": Tensor, "__name__": "mistakes"}
        text = f"@lib.op\ndef f(self: Tensor) -> Tensor: ...\n{MISTAKES[mistake]}\n"
        lines = text.splitlines(keepends=True)
        linecache.cache["<mistake>"] = (len(text), None, lines, "<mistake>")  # decorators read the source
        try:
            with pytest.raises(OpdslError) as caught:
                exec(compile(text, "<mistake>", "exec"), names_of_module)
        finally:
            del linecache.cache["<mistake>"]
    own = str(Path(opdsl.__file__).parent)
    chain = [caught.value, caught.value.__cause__]
    if not caught.value.__suppress_context__:
        chain.append(caught.value.__context__)
    frames = [frame for error in chain if error for frame in traceback.extract_tb(error.__traceback__)]
    assert 1 <= sum(frame.filename.startswith(own) for frame in frames) <= 2
