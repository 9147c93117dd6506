"""Tests of running ``tests/gpu``: without a required GPU no test passes, and a test that breaks the device is named."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import opdsl
from opdsl.backends.cuda import cublas, nvrtc
from opdsl.errors import DriverError
from tests.emulation.driver import EmulatedDriver
from tests.emulation.products import HostProducts
from tests.gpu import card, conftest, first, kernels, pack, rehearse


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


def test_the_first_checks_of_a_card_pass(cuda: EmulatedDriver, capsys: pytest.CaptureFixture[str]) -> None:
    cublas.use(HostProducts(cuda))
    try:
        assert card.main() == 0
    finally:
        cublas.use(None)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.endswith("passed")] == [
        "graph_memory passed",
        "positions passed",
        "products passed",
    ]
    assert lines[-1] == "card: Fake GPU 0, sm_90, 0 GiB"


def test_steps_of_a_first_run_do_not_stop_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    python = sys.executable
    steps = [
        first.Step("card", 60, (python, "-c", "print('card: A card'); raise SystemExit(1)")),
        first.Step("fails", 60, (python, "-c", "print('before'); raise SystemExit(3)")),
        first.Step("hangs", 0.5, (python, "-c", "import time; print('begun', flush=True); time.sleep(60)")),
        first.Step("missing", 60, ("no-such-program",)),
        first.Step("last", 60, (python, "-c", "print('a | b')")),
    ]
    assert first.main(120, steps, tmp_path) == 4
    rows = [line.split(" | ") for line in (tmp_path / "table.md").read_text().splitlines()[4:]]
    assert [row[1] for row in rows] == ["failed (1)", "failed (3)", "timed out", "not there", "passed"]
    assert (tmp_path / "table.md").read_text().startswith("# First run on A card")
    assert (tmp_path / "fails.log").read_text() == "before\n"
    assert "last: a | b" in capsys.readouterr().out


def test_every_step_has_a_time_and_what_it_runs() -> None:
    assert len({step.name for step in first.STEPS}) == len(first.STEPS)
    for step in first.STEPS:
        assert 0 < step.seconds <= 600
        scripts = [word for word in step.command if word.endswith(".py")]
        assert scripts and all((first.ROOT / script).exists() for script in scripts)
    assert first.SECONDS < 600


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_rehearsal_finds_what_stops_a_first_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "")  # so that monkeypatch restores it
    name = "import opdsl; print('card:', opdsl.cuda.get_device_name())"
    steps = [
        first.Step("card", 120, (sys.executable, "-c", name)),
        first.Step("hangs", 0.5, (sys.executable, "-c", "import time; time.sleep(60)")),
    ]
    assert rehearse.main(240, steps, tmp_path) == 0
    table = (tmp_path / "table.md").read_text()
    assert table.startswith("# First run on NVIDIA stand-in\n")
    missing = first.Step("missing", 1, ())
    assert rehearse.problems([*steps, missing], tmp_path, 1.0, 100.0) == [
        "missing has no row or no log",
        "all steps took 100 of 1 seconds",
    ]


def test_a_pack_has_cubins_and_wheels_which_the_steps_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, place, release = tmp_path / "made", tmp_path / "place", nvrtc.version.__wrapped__()
    (folder / pack.CACHE).mkdir(parents=True)
    (folder / pack.WHEELS).mkdir()
    place.mkdir()
    elf = b"\x7fELF" + bytes(14)
    (folder / pack.CACHE / "kernel.object").write_bytes(bytes(84) + elf + (190).to_bytes(2, "little"))
    (folder / pack.CACHE / "loop.object").write_bytes(bytes(84) + elf + (62).to_bytes(2, "little"))
    for name in ("nowhere_to_be_found", "numpy"):
        (folder / pack.WHEELS / f"{name}-1.0-py3-none-any.whl").write_bytes(b"")
    assert pack.pack(folder, tmp_path / "pack.tar.xz") == 1

    monkeypatch.setattr(first, "PACK", tmp_path / "pack.tar.xz")
    for variable in ("OPDSL_CACHE_DIR", "OPDSL_NVRTC_VERSION"):
        monkeypatch.setenv(variable, "")  # so that monkeypatch restores it
        monkeypatch.delenv(variable)
    monkeypatch.setenv("PYTHONPATH", "mine")
    (place / pack.NVRTC).write_text("of an older pack")
    first.unpack(place)
    assert [path.name for path in (place / pack.CACHE).iterdir()] == ["kernel.object"]
    assert os.environ["OPDSL_CACHE_DIR"] == str(place / pack.CACHE)
    assert os.environ["OPDSL_NVRTC_VERSION"] == release
    wheels = os.environ["PYTHONPATH"].split(os.pathsep)
    assert [Path(wheel).name.split("-")[0] for wheel in wheels] == ["nowhere_to_be_found", "mine"]


def test_the_release_of_nvrtc_is_that_of_the_pack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_NVRTC_VERSION", "13.0.1")
    assert nvrtc.version.__wrapped__() == "13.0.1"


def test_a_dry_run_compiles_what_a_script_launches(tmp_path: Path) -> None:
    pytest.importorskip("cuda.bindings.nvrtc", reason="needs the extra cuda")
    script = tmp_path / "script.py"
    script.write_text("import opdsl\nx = opdsl.ones(8, device='cuda')\nfor _ in range(4):\n    x = x + x\n")
    assert pack.compile_for("sm_90", str(script), tmp_path, 120) == 0
    (tmp_path / pack.WHEELS).mkdir()
    assert pack.pack(tmp_path, tmp_path / "pack.tar.xz") >= 2
    script.write_text("import time\ntime.sleep(60)\n")
    assert pack.compile_for("sm_90", str(script), tmp_path, 0.1) == -1


def test_the_kernels_that_are_run_first_are_those_of_operators() -> None:
    opdsl.add  # noqa: B018  loads the operators
    assert {f"aten::{name}" for name in kernels.OPERATORS} <= {operator.name for operator in opdsl.registry}


@pytest.mark.parametrize("is_required", [True, False])
def test_failures_on_a_card_are_printed_at_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], is_required: bool
) -> None:
    monkeypatch.setattr(conftest, "IS_REQUIRED", is_required)
    for outcome in ("passed", "failed"):
        report = pytest.TestReport("a::test", ("a", 1, ""), {}, outcome, "a trace\nwrong", "call")  # type: ignore[arg-type]
        conftest.pytest_runtest_logreport(report)
    assert capfd.readouterr().out == "\nFAILED a::test: wrong\n" * is_required
