"""Tests of compiling LLVM text to addresses, through the disk cache."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from opdsl.backends.cpu import engine

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
