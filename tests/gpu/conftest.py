"""A CUDA device for what is here: a real one where there is any, else an emulated one, which needs g++.

On the emulated device everything runs on the host, kernel by kernel from the source that NVRTC gets, and late
(``tests/emulation/driver.py``); products of matrices are NumPy's instead of cuBLAS's. Nothing is skipped but what says
why.

``OPDSL_REQUIRE_GPU=1`` has everything fail where no card is touched. On a card each test waits for the device, and has
``OPDSL_TEST_SECONDS`` (120): an illegal address fails whatever comes after it in the process, so the worker ends with
the name of the test, and xdist starts another one.
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
    """Nothing passes in place of a card that is wanted."""
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
    """Each test answers for what it has queued, within its time."""
    if not IS_REAL:
        yield
        return
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    wait_for_device(request.node.nodeid)
    faulthandler.cancel_dump_traceback_later()


def wait_for_device(test: str) -> None:
    """End the process with the name of a test where that has failed: the context is of no use any more."""
    try:
        opdsl.cuda.synchronize()
    except DriverError as error:
        os.write(2, f"{test}: {error}\n".encode())
        os._exit(1)


@pytest.fixture(scope="module", autouse=True)
def emulated(request: pytest.FixtureRequest) -> Iterator[EmulatedDriver | None]:
    """The driver of the emulated device; None on a real one."""
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
    """So many elements that a GPU is still at work on them when the next call is made."""
    return 1 << 22 if emulated is None else 5000


@pytest.fixture
def complete(emulated: EmulatedDriver | None) -> Callable[[Sequence[Callable[[], T]]], list[T | Exception]]:
    """Calls functions, with all their kernels compiled together where that takes time: what they return or raise."""
    return emulated.complete if emulated is not None else lambda runs: list(map(outcome_of, runs))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Tell of a failure at once where a card is wanted: whoever has it for minutes may end the run before its end."""
    if IS_REQUIRED and report.failed:
        reason = str(report.longrepr).strip().splitlines()
        os.write(1, f"\nFAILED {report.nodeid}: {reason[-1] if reason else ''}\n".encode())
