"""A CUDA device for what is here: a real one where there is any, else an emulated one, which needs g++.

On the emulated device everything runs on the host, kernel by kernel from the source that NVRTC gets, and late
(``tests/emulation/driver.py``); products of matrices are NumPy's instead of cuBLAS's. Nothing is skipped but what says
why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import pytest

import opdsl
from opdsl.backends.cuda import cublas
from tests.emulation.driver import EmulatedDriver, outcome_of

T = TypeVar("T")

IS_REAL = opdsl.cuda.is_available()


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
