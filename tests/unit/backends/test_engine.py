"""Tests of compiling LLVM text to addresses, through the disk cache."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.processor import architecture, compiling_for, target_named

TWICE = "define i64 @twice(i64 %x) {\n  %y = mul i64 %x, 2\n  ret i64 %y\n}"
USES_ANOTHER = "declare i64 @another(i64)\ndefine i64 @use(i64 %x) {\n  %y = call i64 @another(i64 %x)\n  ret i64 %y\n}"
NUMBER = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPDSL_CACHE", "1")


def call(code: engine.Code, symbol: str, number: int) -> int:
    return NUMBER(code.address(symbol))(number)


def never() -> str:
    raise AssertionError("printed although the disk has the code")


def test_compiled_code_runs() -> None:
    assert call(engine.compile_ir("test twice", lambda: TWICE, ["twice"]), "twice", 21) == 42


def test_second_time_prints_nothing() -> None:
    engine.compile_ir("test twice", lambda: TWICE, ["twice"])
    assert call(engine.compile_ir("test twice", never, ["twice"]), "twice", 4) == 8


def test_works_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE", "0")
    assert call(engine.compile_ir("test twice", lambda: TWICE, ["twice"]), "twice", 4) == 8


def test_code_that_is_made_quickly_is_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_QUICK_COMPILE", "1")
    assert call(engine.compile_ir("test twice", lambda: TWICE, ["twice"]), "twice", 21) == 42
    monkeypatch.setenv("OPDSL_QUICK_COMPILE", "0")
    printed: list[str] = []
    engine.compile_ir("test twice", lambda: printed.append(TWICE) or TWICE, ["twice"])
    assert printed == [TWICE]


def test_names_are_bound_when_loaded() -> None:
    triple = NUMBER(lambda x: 3 * x)
    address = ctypes.cast(triple, ctypes.c_void_p).value
    assert address is not None
    code = engine.compile_ir("test use", lambda: USES_ANOTHER, ["use"], {"another": address})
    assert call(code, "use", 5) == 15


def test_name_that_nobody_defines_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError):
        engine.compile_ir("test unbound", lambda: USES_ANOTHER, ["use"])


def test_text_that_is_no_module_is_an_error() -> None:
    with pytest.raises(RuntimeError):
        engine.compile_ir("test nonsense", lambda: "define nonsense", ["nonsense"])


def test_modules_are_linked_to_one_object_for_another_machine() -> None:
    first = "define i64 @run(i64 %x) {\n  ret i64 %x\n}\ndefine i64 @inner() {\n  ret i64 1\n}"
    second = "define i64 @run(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}"
    sources = [engine.Source(text, lambda text=text: text, False, True) for text in (first, second)]
    parts = [(source, {"run": f"kernel{place}"}) for place, source in enumerate(sources)]
    content = engine.linked(target_named("aarch64"), parts)
    assert content[:4] == b"\x7fELF"
    assert int.from_bytes(content[18:20], "little") == 183  # EM_AARCH64
    assert b"\0kernel0\0" in content and b"\0kernel1\0" in content and b"\0run\0" not in content


def test_code_is_printed_for_the_target() -> None:
    here = engine.vector_bytes()
    with compiling_for(target_named("x86-64-v4")):
        assert (engine.vector_bytes(), architecture()) == (64, "x86_64")
    with compiling_for(target_named("aarch64")):
        assert (engine.vector_bytes(), architecture(), engine.has_feature("neon")) == (16, "aarch64", True)
    assert engine.vector_bytes() == here
