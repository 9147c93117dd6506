"""Tests of the source texts of generated functions, which tracebacks show."""

from __future__ import annotations

import gc
import linecache

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
