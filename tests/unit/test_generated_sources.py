"""Tests of the source texts of generated functions, which tracebacks show."""

from __future__ import annotations

import gc
import linecache
import marshal
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from opdsl import generated

TEXT = "def answer():\n    return 42\n"


def test_a_text_is_known_while_its_function_lives() -> None:
    function = generated.function_from_source("answer", TEXT, {}, title="a function that lives")
    generated._code.cache_clear()
    gc.collect()
    assert linecache.getline(function.__code__.co_filename, 2) == "    return 42\n"


def test_a_text_goes_with_its_function() -> None:
    name = generated.function_from_source("answer", TEXT, {}, title="a function that goes").__code__.co_filename
    generated._code.cache_clear()
    gc.collect()
    assert name not in linecache.cache


def test_a_text_that_is_compiled_again_stays() -> None:
    first = generated.function_from_source("answer", TEXT, {}, title="a function made twice")
    generated._code.cache_clear()
    second = generated.function_from_source("answer", TEXT, {}, title="a function made twice")
    del first
    gc.collect()
    assert linecache.getline(second.__code__.co_filename, 2) == "    return 42\n"


def kept(source: str, store: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the function ``answer`` of a source whose code is kept in a store."""
    monkeypatch.setattr(generated, "_kept", None)
    generated.keep_code(store.get, store.__setitem__)
    generated._code.cache_clear()
    return generated.function_from_source("answer", source, {}, title="kept")


LONG_TEXT = TEXT + "".join(f"\n\ndef unused{index}():\n    return {index}\n" for index in range(40))


def test_the_code_of_a_long_text_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, bytes] = {}
    assert kept(LONG_TEXT, store, monkeypatch)() == 42
    (key,) = store
    store[key] = marshal.dumps(compile(LONG_TEXT.replace("42", "43"), "", "exec"))
    assert kept(LONG_TEXT, store, monkeypatch)() == 43


def test_the_code_of_another_text_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, bytes] = {}
    kept(LONG_TEXT, store, monkeypatch)
    assert kept(LONG_TEXT.replace("42", "43"), store, monkeypatch)() == 43


def test_the_code_of_a_short_text_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, bytes] = {}
    kept(TEXT, store, monkeypatch)
    assert store == {}


def test_a_traceback_shows_the_text_of_loaded_code(monkeypatch: pytest.MonkeyPatch) -> None:
    store: dict[str, bytes] = {}
    source = LONG_TEXT.replace("return 42", "return 1 / 0")
    kept(source, store, monkeypatch)
    with pytest.raises(ZeroDivisionError) as raised:
        kept(source, store, monkeypatch)()
    assert "return 1 / 0" in "".join(traceback.format_exception(raised.value))


COUNTING = """
import builtins, opdsl

compiled, texts = builtins.compile, []

def counting(source, name, *rest, **named):
    texts.append(source)
    return compiled(source, name, *rest, **named)

builtins.compile = counting
opdsl.add(opdsl.ones(2), opdsl.ones(2))
print(sum(isinstance(text, str) and text.startswith("def add(") and len(text) > 1000 for text in texts))
"""


def test_code_is_kept_with_kernels_on_disk(tmp_path: Path) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", COUNTING],
            env=os.environ | {"OPDSL_CACHE_DIR": str(tmp_path / "cache"), "OPDSL_CACHE": "1"},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        for _ in range(2)
    ]
    assert [run.stdout.split()[-1] == "0" for run in runs] == [False, True]
