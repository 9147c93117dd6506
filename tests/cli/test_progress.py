"""Tests of the progress bar of long commands."""

from __future__ import annotations

import io
import sys
import time

import pytest

from opdsl.cli.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_long_work_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with progress("counting sheep", 2, patience=0.0) as advance:
        time.sleep(0.3)
        advance()
        time.sleep(0.3)
    assert "counting sheep" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with progress("counting sheep"):
        pass
    assert "counting sheep" not in terminal.getvalue()


def test_a_pipe_gets_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("counting sheep", 2, patience=0.0) as advance:
        advance()
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_failing_work_removes_its_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch)
    with pytest.raises(ValueError, match="black"), progress("counting sheep", patience=0.0):
        time.sleep(0.2)
        raise ValueError("a black one")
    written = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == written
