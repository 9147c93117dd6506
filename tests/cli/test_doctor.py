"""Tests of ``opdsl doctor``: findings, marks and exit codes."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import llvmlite.binding
import numpy
import pytest
from click.testing import Result

from opdsl.backends import cache
from opdsl.backends.cpu import memory, pool
from opdsl.cli import probes
from opdsl.cli.probes import Mark
from opdsl.runtime.device import BackendEntry, BackendTable
from tests import pocl

Run = Callable[..., Result]


def row(result: Result, subject: str) -> str:
    """Return the mark of a subject and the text after its name."""
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines() if line.startswith("    ")]
    actual = next((mark, rest) for mark, rest in lines if f"{rest} ".startswith(f"{subject} "))
    return f"{actual[0]} {actual[1].removeprefix(subject).strip()}"


@pytest.fixture(scope="module", autouse=True)
def processor() -> None:
    """Set the processor name of PoCL before anything else, since PoCL reads it once per process."""
    if pocl.INSTALLED:
        pocl.name_processor()


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that hides an installed package from ``opdsl doctor``."""

    def hide(package: str) -> None:
        def version(name: str) -> str:
            if name == package:
                raise importlib.metadata.PackageNotFoundError(name)
            return importlib.metadata.version(name)

        monkeypatch.setattr(probes, "version", version)

    return hide


def test_a_complete_installation_exits_with_0(run: Run) -> None:
    assert run("doctor").exit_code == 0


def test_a_package_that_is_there_has_its_version(run: Run) -> None:
    assert row(run("doctor"), "numpy") == f"OK {numpy.__version__}"


def test_a_needed_package_that_is_missing_exits_with_1(run: Run, without: Callable[[str], None]) -> None:
    without("typeguard")
    assert run("doctor").exit_code == 1


def test_a_needed_package_that_is_missing_has_a_remedy(run: Run, without: Callable[[str], None]) -> None:
    without("typeguard")
    assert row(run("doctor"), "typeguard") == "missing not installed. Install it: pip install typeguard"


def test_an_optional_package_that_is_missing_exits_with_0(run: Run, without: Callable[[str], None]) -> None:
    without("torch")
    assert run("doctor").exit_code == 0


def test_an_optional_package_that_is_missing_has_a_remedy(run: Run, without: Callable[[str], None]) -> None:
    without("dask")
    result = row(run("doctor"), "dask")
    assert result.startswith("missing optional") and result.endswith('Install it: pip install "opdsl[dask]"')


def test_every_finding_that_is_not_ok_has_a_remedy() -> None:
    result = [finding for group in probes.findings().values() for finding in group]
    assert [finding.subject for finding in result if finding.mark is not Mark.OK and not finding.remedy] == []


def test_the_extras_are_those_of_the_project() -> None:
    provided = importlib.metadata.metadata("opdsl").get_all("Provides-Extra") or []
    named = {extra for extra, _ in (*probes._OPTIONAL.values(), *probes._CUDA.values())}
    assert named <= set(provided)


def test_what_is_needed_is_what_the_project_depends_on() -> None:
    required = importlib.metadata.requires("opdsl") or []
    always = {requirement.partition(">")[0].lower() for requirement in required if "extra ==" not in requirement}
    assert {package.lower() for package in probes._NEEDED} == always | {"llvmlite"}


# ----------------------------------------------------------------------------------------------------------------- CPU


def test_llvm_names_the_processor(run: Run) -> None:
    limited = os.environ.get("OPDSL_CPU")  # make machine-avx2
    wanted = f"{limited}, by OPDSL_CPU:" if limited else f"{llvmlite.binding.get_host_cpu_name()}:"
    assert f"for {wanted}" in row(run("doctor"), "LLVM")


def test_threads_are_those_of_the_pool(run: Run) -> None:
    assert row(run("doctor"), "threads").startswith(f"OK {pool.get_num_threads()},")


def test_the_kernel_cache_says_what_it_holds(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE_DIR", str(tmp_path / "objects"))
    cache.store("one", b"code")
    cache.store("two", b"code")
    assert row(run("doctor"), "kernel cache") == f"OK 2 files, {cache.size()} B, in {tmp_path}/objects"


def test_a_kernel_cache_that_is_turned_off_says_how_to_turn_it_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE", "0")
    result = row(run("doctor"), "kernel cache")
    assert result.startswith("off") and result.endswith("Turn it on: unset OPDSL_CACHE")


def test_a_kernel_cache_that_others_may_write_is_off(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects").chmod(0o777)
    monkeypatch.setenv("OPDSL_CACHE_DIR", str(tmp_path / "objects"))
    assert row(run("doctor"), "kernel cache").startswith("off")


def test_the_block_cache_says_its_limit(run: Run) -> None:
    limit = probes.size_text(memory.memory_stats()["limit"])
    assert f"of {limit} kept" in row(run("doctor"), "block cache")


def test_a_compiler_that_does_not_load_is_a_finding() -> None:
    def broken(subject: str) -> probes.Finding:
        raise OSError("libllvmlite.so: cannot open shared object file")

    assert probes._guarded(broken, "LLVM").mark is Mark.MISSING


# ---------------------------------------------------------------------------------------------------------------- CUDA


@pytest.fixture
def pathfinder(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Replace ``cuda.pathfinder`` by a module that finds no driver."""

    def load(name: str) -> Any:
        raise RuntimeError(f"Failure finding {name}")

    module = ModuleType("cuda.pathfinder")
    module.load_nvidia_dynamic_lib = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", module)
    monkeypatch.setattr(probes, "_is_importable", lambda name: name == "cuda.pathfinder")
    return module


def test_without_pathfinder_no_driver_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "_is_importable", lambda name: False)
    assert probes.cuda_driver().remedy == 'Install it: pip install "opdsl[cuda]"'


def test_a_driver_that_is_missing_is_a_finding(pathfinder: ModuleType) -> None:
    assert probes.cuda_driver().detail == "no driver library on this machine"


def test_a_driver_that_is_there_has_its_version(pathfinder: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = SimpleNamespace(abs_path="/usr/lib/libcuda.so.1")
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", lambda name: driver)
    monkeypatch.setattr(probes, "_driver_version", lambda library: "13.0")
    assert probes.cuda_driver().detail == "CUDA 13.0, /usr/lib/libcuda.so.1"


def test_a_driver_is_asked_for_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_version(place: Any) -> int:
        place._obj.value = 12040
        return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda library: SimpleNamespace(cuDriverGetVersion=get_version))
    assert probes._driver_version("libcuda.so.1") == "12.4"


# ---------------------------------------------------------------------------------------------------------------- mypy


def test_the_mypy_plugin_is_off_where_no_configuration_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert probes.mypy_plugin().mark is Mark.OFF


def test_the_mypy_plugin_is_found_in_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mypy.ini").write_text("[mypy]\nplugins = opdsl.typing.mypy_plugin\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert probes.mypy_plugin().mark is Mark.OK


# -------------------------------------------------------------------------------------------------------- cost, output


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Return the modules that are loaded after a process has collected all findings."""
    code = "import sys; from opdsl.cli.probes import findings; findings(); print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(printed.stdout.split())


@pytest.mark.parametrize("module", ["torch", "cuda.bindings", "dask", "ml_dtypes", "mypy", "yaml", "numba"])
def test_looking_does_not_import(imported: set[str], module: str) -> None:
    assert "opdsl.cli.probes" in imported
    assert module not in imported


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB")])
def test_sizes_are_readable(count: int, text: str) -> None:
    assert probes.size_text(count) == text


# -------------------------------------------------------------------------------------------- backends and native DSLs


def test_the_backends_are_named_with_their_keys(run: Run) -> None:
    assert row(run("doctor"), "meta") == "OK Meta, opdsl.backends.meta"


def test_a_backend_whose_package_is_gone_says_what_to_do(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {"cpu": BackendEntry("opdsl.backends.cpu", "CPU"), "gone": BackendEntry("gone_backend", "PrivateUse1")}
    monkeypatch.setattr(probes, "backends", BackendTable(entries))
    assert row(run("doctor"), "gone") == (
        'missing PrivateUse1, but there is no module gone_backend.memory. Use device="cpu"'
    )


def test_a_native_dsl_that_is_there_has_its_version(run: Run) -> None:
    assert row(run("doctor"), "numba").startswith("OK ")


def test_a_native_dsl_that_is_missing_says_why_and_how_to_install_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "the native DSL numba needs the package numba, which is not installed. Install it: pip install numba."
    monkeypatch.setattr(probes, "unavailable_reason", lambda name: reason)
    line = next(line for line in run("doctor").stdout.splitlines() if "optional, for overrides" in line)
    assert line.endswith(reason.removesuffix("."))


def test_overrides_are_counted(run: Run, noted_override: None) -> None:
    assert row(run("doctor"), "overrides") == "OK 1 registered, 1 enabled"


def test_overrides_that_are_all_off_say_what_turns_them_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_DISABLE_NATIVE_DSLS", "1")
    assert row(run("doctor"), "overrides").endswith("Turn them on: unset OPDSL_DISABLE_NATIVE_DSLS")
