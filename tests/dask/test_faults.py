"""Tests of workers that die, kernels that raise, and processes with different versions, on one shared cluster."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")
import dask
import dask.array as da
from distributed import Client, LocalCluster

from opdsl.errors import VersionError
from opdsl.interop.dask import blocks, lazy

X = np.arange(96.0).reshape(24, 4)


@pytest.fixture(scope="module")
def faulty() -> Iterator[ModuleType]:
    """Import the module of faulty operators as workers do, and remove it and its operators afterwards."""
    sys.path.insert(0, str(Path(__file__).parent))
    module = importlib.import_module("faulty")
    yield module
    module.lib.close()
    del sys.modules["faulty"]
    sys.path.remove(str(Path(__file__).parent))


@pytest.fixture(scope="module")
def client(faulty: ModuleType) -> Iterator[Client]:
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "20s", "distributed.worker.daemon": True}),
        LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, dashboard_address=None) as cluster,
        Client(cluster) as own,
    ):
        yield own


def test_a_worker_that_is_killed(faulty: Any, client: Client, tmp_path: Path) -> None:
    """The chunks of a killed worker are computed again, by the other worker or by a new one."""
    future = client.compute(lazy(faulty.doubled)(da.from_array(X, chunks=(1, 4)), str(tmp_path)))
    until = time.monotonic() + 30
    while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
    np.testing.assert_array_equal(future.result(timeout=60), X + X)


def test_a_kernel_that_raises(faulty: Any, client: Client) -> None:
    """An error in a kernel is raised to the caller, with notes that name the operator and the chunk."""
    x = X.copy()
    x[20] = -1.0
    with pytest.raises(ValueError, match="an element is negative") as raised:
        client.compute(lazy(faulty.positive)(da.from_array(x, chunks=(8, 2)))).result(timeout=60)
    assert any("raised for chunk (2, " in note and "faulty::positive" in note for note in raised.value.__notes__)


def test_other_versions(faulty: Any, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with another version of opdsl, or another declaration of the operator, raises an error instead of
    computing.
    """
    own = blocks.edition_of(faulty.squared.operator)
    for other, text in (
        (own._replace(opdsl="0.0.1"), r"the graph was made by opdsl 0\.0\.1, this process has opdsl"),
        (own._replace(declaration="another"), "declared in another way in this process"),
    ):
        monkeypatch.setattr("opdsl.interop.dask.graphs.edition_of", lambda operator, other=other: other)
        output: Any = lazy(faulty.squared)(da.from_array(X, chunks=(8, 2)))
        with pytest.raises(VersionError, match=text):
            client.compute(output).result(timeout=60)
    monkeypatch.undo()
    result = client.compute(lazy(faulty.squared)(da.from_array(X, chunks=(8, 2)))).result(timeout=60)
    np.testing.assert_array_equal(result, X * X)
