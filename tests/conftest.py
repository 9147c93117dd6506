"""Fixtures of all tests: an emulated CUDA device (see ``tests/emulation/driver.py``), settings of Hypothesis and of
garbage collection.

Property tests draw the same examples in each run, so that a failing one can be repeated and a change is judged by its
effect: ``OPDSL_TEST_FULL=1`` (``make full``) draws others each time.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.emulation.driver import EmulatedDriver


with contextlib.suppress(ImportError):  # Machines with a GPU may lack it, and the tests there need none.
    from hypothesis import HealthCheck, settings

    # Examples have no deadline, since the first of them may import parts of PyTorch and compile kernels.
    settings.register_profile(
        "opdsl",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize="OPDSL_TEST_FULL" not in os.environ,
    )
    settings.load_profile("opdsl")


# Without this, a first compile of over a second would be reported on stderr, which tests check.
os.environ.setdefault("OPDSL_LOG", "")


def pytest_collection() -> None:
    """Turn off garbage collection while tests are collected, since their objects stay alive."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude all objects so far from garbage collection: scanning them repeatedly took a tenth of the time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000, 10, 50)


# Number of days after which every test has once run with fully optimized kernels.
_OPTIMISED = 30


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Compile optimized kernels in a few tests, each day in others, although ``make test`` turns optimization off."""
    from tests.by_date import is_its_turn

    if not is_its_turn(zlib.crc32(item.nodeid.encode()), _OPTIMISED):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPDSL_QUICK_COMPILE", raising=False)
        yield


# Number of tests after which plans are dropped within a module as well: some modules have thousands of tests.
_MOST_TESTS = 500

_done = 0


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Drop plans, garbage and cached memory after the last test of a module, and exempt the remaining objects from
    later collections.

    Plans keep compiled kernels alive, and writes to tensors without history search all existing plans. The memory of
    large tensors is cached, up to a gigabyte, and so much memory makes each fork slower.
    """
    global _done
    _done += 1
    if nextitem is not None and (nextitem.path != item.path or _done >= _MOST_TESTS):
        _done = 0
        if "opdsl.dispatch.plans.plan_holders" in sys.modules:
            sys.modules["opdsl.dispatch.plans.plan_holders"].forget_plans()
        gc.collect()
        gc.freeze()
        _free_memory()


def _free_memory() -> None:
    """Return the memory of dead tensors and kernels to the system: opdsl's cache of it, and the C library's."""
    if "opdsl.backends.cpu.memory" in sys.modules:
        sys.modules["opdsl.backends.cpu.memory"].empty_cache()
    with contextlib.suppress(AttributeError):  # only the GNU C library has it
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture(scope="session")
def emulated_driver() -> EmulatedDriver:
    """Return the emulated driver that all tests share, because plans keep the kernels that they have loaded."""
    from tests.emulation.driver import EmulatedDriver
    from tests.emulation.libraries import MISSING

    if MISSING is not None:
        pytest.skip(MISSING)
    return EmulatedDriver(device_count=2)


@pytest.fixture
def cuda(emulated_driver: EmulatedDriver) -> Iterator[EmulatedDriver]:
    """Install the emulated driver, with nothing recorded and no memory in use."""
    with emulated_driver.installed():
        yield emulated_driver


@pytest.fixture
def plans_at_once() -> Iterator[None]:
    """Make a plan in the first call of each operator already, so that the second call of a test runs by the plan."""
    from opdsl.dispatch.plans.policy import planned_at_once

    with planned_at_once():
        yield


def pytest_configure() -> None:
    """Set the date of this run, which the processes that run tests inherit."""
    from tests.by_date import today

    today()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to repeat this run, and which checks it could not make."""
    from opdsl.backends.cuda.devices import is_available
    from tests.by_date import DATE, today

    terminalreporter.write_line(f"{DATE}={today()} chose what takes turns, see tests/by_date.py")
    if not is_available():
        terminalreporter.write_line("law 6 (CUDA agrees with the CPU) has not been tried: there is no CUDA device")
