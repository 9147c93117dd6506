"""A CUDA driver for tests of the CUDA backend where there is none, see ``fake_driver``."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from opdsl.backends.cuda import allocator, driver, host, launcher, streams
from tests.unit.backends.fake_driver import FakeDriver


@pytest.fixture(scope="session")
def fake_driver(tmp_path_factory: pytest.TempPathFactory) -> FakeDriver:
    """One for all tests: plans keep the kernels that they have loaded."""
    return FakeDriver(tmp_path_factory.mktemp("fake-driver"), device_count=2)


@pytest.fixture
def cuda(fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeDriver]:
    """The driver in its place, with nothing recorded and no memory in use."""
    monkeypatch.setattr(launcher, "compile_cubin", fake_driver.compile)
    driver.use(fake_driver)  # type: ignore[arg-type]
    fake_driver.calls.clear()
    gc.freeze()  # only what the test makes is looked through afterwards, not all that the process holds
    yield fake_driver
    gc.collect()
    for forget in (streams.forget, allocator.forget, host.forget):
        forget()
    gc.collect()
    gc.unfreeze()
    driver.use(None)
