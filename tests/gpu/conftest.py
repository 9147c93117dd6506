"""Fixtures of the CUDA tests: they run on a real device where one is available, else on an emulated one, which needs
g++.

On the emulated device all kernels run on the host from the source that NVRTC gets, as late as their results allow
(``tests/emulation/driver.py``); NumPy computes products of matrices in place of cuBLAS. A skipped test states its
reason.

With ``OPDSL_REQUIRE_GPU=1`` all tests fail if there is no card. On a card each test waits for the device, for
``OPDSL_TEST_SECONDS`` (120) at most: after an illegal address all further calls in the process fail, so the worker ends
with the name of the test, and xdist starts another one.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pytest

import opdsl
from opdsl.backends.cuda import cublas
from opdsl.backends.cuda.driver import driver
from opdsl.errors import DeviceError, DriverError, MissingDependencyError
from tests.emulation.driver import EmulatedDriver, outcome_of

T = TypeVar("T")

IS_REAL = opdsl.cuda.is_available()
IS_REQUIRED = os.environ.get("OPDSL_REQUIRE_GPU") == "1"
SECONDS = float(os.environ.get("OPDSL_TEST_SECONDS", "120"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Raise an error if a GPU is required and none can be used, so that no test passes on the emulated device."""
    if not IS_REQUIRED or IS_REAL:
        return
    try:
        driver()
        reason = "the driver has no device"
    except (DeviceError, MissingDependencyError) as error:
        reason = str(error)
    raise pytest.UsageError(f"OPDSL_REQUIRE_GPU=1, but no GPU can be used: {reason}")


@pytest.fixture(autouse=True)
def waited_for(request: pytest.FixtureRequest) -> Iterator[None]:
    """Wait for the device after each test, so that errors and delays are those of the test that queued the work."""
    if not IS_REAL:
        yield
        return
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    wait_for_device(request.node.nodeid)
    faulthandler.cancel_dump_traceback_later()


def wait_for_device(test: str) -> None:
    """Wait for the device; on an error print the test's name and end the process, whose CUDA context is unusable."""
    try:
        opdsl.cuda.synchronize()
    except DriverError as error:
        os.write(2, f"{test}: {error}\n".encode())
        os._exit(1)


@pytest.fixture(scope="module", autouse=True)
def emulated(request: pytest.FixtureRequest) -> Iterator[EmulatedDriver | None]:
    """Install the emulated driver and yield it; yield None on a real device."""
    if IS_REAL:
        yield None
        return
    from tests.emulation.products import HostProducts

    driver: EmulatedDriver = request.getfixturevalue("emulated_driver")
    cublas.use(HostProducts(driver))
    with driver.installed():
        yield driver
    cublas.use(None)


@pytest.fixture
def large(emulated: EmulatedDriver | None) -> int:
    """Return a number of elements that keeps a GPU busy until the next call is made."""
    return 1 << 22 if emulated is None else 5000


@pytest.fixture
def complete(emulated: EmulatedDriver | None) -> Callable[[Sequence[Callable[[], T]]], list[T | Exception]]:
    """Return a function that calls functions, with missing kernels compiled together, and returns their results or
    errors.
    """
    return emulated.complete if emulated is not None else lambda runs: list(map(outcome_of, runs))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Print a failure at once if a GPU is required, because a run on a borrowed GPU may be stopped before its end."""
    if IS_REQUIRED and report.failed:
        reason = str(report.longrepr).strip().splitlines()
        os.write(1, f"\nFAILED {report.nodeid}: {reason[-1] if reason else ''}\n".encode())
