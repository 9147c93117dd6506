"""A CUDA device where there is none, see ``tests/emulation/driver.py``; garbage collection in large processes.

Property tests draw the same examples in each run, so that one which fails can be seen again and a change is judged by
what it changed: ``OPDSL_TEST_FULL=1`` (``make full``) draws others each time.
"""

from __future__ import annotations

import contextlib
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

    # The first call into a corner of PyTorch imports it, kernels are compiled: no example is given a time.
    settings.register_profile(
        "opdsl",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize="OPDSL_TEST_FULL" not in os.environ,
    )
    settings.load_profile("opdsl")


# A first compile that takes over a second would say so on stderr, which tests look at.
os.environ.setdefault("OPDSL_LOG", "")


def pytest_collection() -> None:
    """Tests and what they are made of are no garbage."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What there is by now stays until the end: looking through all of it again and again took a tenth of the time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(2000, 20, 50)


# After how many days every test has run with machine code as users get it, where others have theirs compiled quickly.
_OPTIMISED = 30


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Some tests optimise the kernels that they are first to call, each day others: ``make test`` optimises nothing."""
    from tests.by_date import is_its_turn

    if not is_its_turn(zlib.crc32(item.nodeid.encode()), _OPTIMISED):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPDSL_QUICK_COMPILE", raising=False)
        yield


# Tests of a module after which what they leave is dropped, too: some modules have thousands.
_MOST_TESTS = 500

_done = 0


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """So does what tests leave, kernels above all: tests that collect look at what they made alone.

    Their plans go: writes to tensors without history look through all that there is.
    """
    global _done
    _done += 1
    if nextitem is not None and (nextitem.path != item.path or _done >= _MOST_TESTS):
        _done = 0
        if "opdsl.dispatch.plans.plan_holders" in sys.modules:
            sys.modules["opdsl.dispatch.plans.plan_holders"].forget_plans()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def emulated_driver() -> EmulatedDriver:
    """One for all tests: plans keep the kernels that they have loaded."""
    from tests.emulation.driver import EmulatedDriver
    from tests.emulation.libraries import MISSING

    if MISSING is not None:
        pytest.skip(MISSING)
    return EmulatedDriver(device_count=2)


@pytest.fixture
def cuda(emulated_driver: EmulatedDriver) -> Iterator[EmulatedDriver]:
    """The driver in its place, with nothing recorded and no memory in use."""
    with emulated_driver.installed():
        yield emulated_driver


@pytest.fixture
def plans_at_once() -> Iterator[None]:
    """Each call has a plan from the first time on, so that a test of two calls sees the second served by it."""
    from opdsl.dispatch.plans.forms import planned_at_once

    with planned_at_once():
        yield


def pytest_configure() -> None:
    """The processes that run tests take the day of the one which starts them."""
    from tests.by_date import today

    today()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How this run can be repeated, and what it could not try."""
    from opdsl.backends.cuda.devices import is_available
    from tests.by_date import DATE, today

    terminalreporter.write_line(f"{DATE}={today()} chose what takes turns, see tests/by_date.py")
    if not is_available():
        terminalreporter.write_line("law 6 (CUDA agrees with the CPU) has not been tried: there is no CUDA device")
