"""How ``tests/gpu`` is run: nothing passes in place of a card, and a test that breaks one is named."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import opdsl
from opdsl.backends.cuda import cublas
from opdsl.errors import DriverError
from tests.emulation.driver import EmulatedDriver
from tests.emulation.products import HostProducts
from tests.gpu import card, conftest, first


@pytest.mark.skipif(conftest.IS_REAL, reason="there is a GPU")
@pytest.mark.parametrize("is_required", [True, False])
def test_a_card_that_is_required_has_to_be_there(monkeypatch: pytest.MonkeyPatch, is_required: bool) -> None:
    monkeypatch.setattr(conftest, "IS_REQUIRED", is_required)
    if not is_required:
        conftest.pytest_collection_modifyitems([])
        return
    with pytest.raises(pytest.UsageError, match=r"OPDSL_REQUIRE_GPU=1, but no GPU can be used: device 'cuda'"):
        conftest.pytest_collection_modifyitems([])


def raises() -> None:
    raise DriverError("cuCtxSynchronize failed: an illegal memory access was encountered")


@pytest.mark.parametrize(("synchronize", "status"), [(raises, [1]), (lambda: None, [])])
def test_a_worker_ends_with_the_test_that_broke_its_device(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    synchronize: Callable[[], None],
    status: list[int],
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(opdsl.cuda, "synchronize", synchronize)
    monkeypatch.setattr("os._exit", ended.append)
    conftest.wait_for_device("test_this")
    assert ended == status
    assert ("test_this: cuCtxSynchronize failed" in capfd.readouterr().err) == bool(status)


def test_what_a_card_is_asked_first(cuda: EmulatedDriver, capsys: pytest.CaptureFixture[str]) -> None:
    cublas.use(HostProducts(cuda))
    try:
        card.main()
    finally:
        cublas.use(None)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("passed")] == [
        "graph_memory passed",
        "positions passed",
        "products passed",
    ]
    assert lines[-1] == "Fake GPU 0, sm_90, 0 GiB"


def test_steps_of_a_first_run_do_not_stop_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = sys.executable
    steps = [
        first.Step("card", 60, (python, "-c", "print('A card')")),
        first.Step("fails", 60, (python, "-c", "print('before'); raise SystemExit(3)")),
        first.Step("hangs", 0.5, (python, "-c", "import time; print('begun', flush=True); time.sleep(60)")),
        first.Step("missing", 60, ("no-such-program",)),
        first.Step("last", 60, (python, "-c", "print('a | b')")),
    ]
    assert first.main(120, steps, tmp_path) == 3
    rows = [line.split(" | ") for line in (tmp_path / "table.md").read_text().splitlines()[4:]]
    assert [row[1] for row in rows] == ["passed", "failed (3)", "timed out", "not there", "passed"]
    assert (tmp_path / "table.md").read_text().startswith("# First run on A card")
    assert (tmp_path / "fails.log").read_text() == "before\n"
    assert "last: a | b" in capsys.readouterr().out
