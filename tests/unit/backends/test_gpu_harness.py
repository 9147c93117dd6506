"""How ``tests/gpu`` is run: nothing passes in place of a card, and a test that breaks one is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import opdsl
from opdsl.errors import DriverError
from tests.gpu import conftest


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
