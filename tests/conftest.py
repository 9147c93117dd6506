"""A CUDA device where there is none, see ``tests/emulation/driver.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.emulation.driver import EmulatedDriver


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
