"""Tests of the disk cache of object code: it loads only complete files that no other user could have written."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

import opdsl
from opdsl.backends import cache


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPDSL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("OPDSL_CACHE", "1")
    return tmp_path / "cache"


def only_file(directory: Path) -> Path:
    (file,) = directory.iterdir()
    return file


def test_what_is_stored_is_loaded(directory: Path) -> None:
    assert cache.store("key", b"payload")
    assert cache.load("key") == b"payload"


def test_another_key_finds_nothing(directory: Path) -> None:
    cache.store("key", b"payload")
    assert cache.load("other") is None


def test_storing_again_replaces(directory: Path) -> None:
    cache.store("key", b"first")
    cache.store("key", b"second")
    assert cache.load("key") == b"second"


def test_directory_and_files_are_private(directory: Path) -> None:
    cache.store("key", b"payload")
    assert directory.stat().st_mode & 0o777 == 0o700
    assert only_file(directory).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: content[:-1] + b"\0", lambda content: b""]
)
def test_damaged_file_is_absent(directory: Path, damage: object) -> None:
    cache.store("key", b"payload")
    path = only_file(directory)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    assert cache.load("key") is None


def test_file_of_another_key_is_absent(directory: Path) -> None:
    cache.store("key", b"payload")
    content = only_file(directory).read_bytes()
    only_file(directory).unlink()
    cache.store("other", b"something")
    only_file(directory).write_bytes(content)
    assert cache.load("other") is None


@pytest.mark.parametrize("mode", [0o660, 0o602])
def test_file_that_others_may_write_is_absent(directory: Path, mode: int) -> None:
    cache.store("key", b"payload")
    only_file(directory).chmod(mode)
    assert cache.load("key") is None


def test_link_is_absent(directory: Path, tmp_path: Path) -> None:
    cache.store("key", b"payload")
    path = only_file(directory)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.load("key") is None


def test_fifo_does_not_block(directory: Path) -> None:
    cache.store("key", b"payload")
    path = only_file(directory)
    path.unlink()
    os.mkfifo(path, 0o600)
    assert cache.load("key") is None


def test_directory_that_others_may_write_is_not_used(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o777)
    assert not cache.store("key", b"payload")
    assert cache.load("key") is None
    assert "chmod go-w" in str(cache.problem())


def test_directory_of_another_user_is_not_used(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("key", b"payload")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert cache.load("key") is None
    assert "belongs to user" in str(cache.problem())


def test_linked_directory_is_not_used(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    directory.symlink_to(tmp_path / "real")
    assert not cache.store("key", b"payload")


def test_file_in_place_of_the_directory_is_said(directory: Path) -> None:
    directory.write_text("")
    assert not cache.store("key", b"payload")
    assert str(directory) in str(cache.problem())


def test_environment_turns_it_off(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPDSL_CACHE", "0")
    assert not cache.store("key", b"payload")
    assert "OPDSL_CACHE=0" in str(cache.problem())
    assert not directory.exists()


def test_usable_cache_has_no_problem(directory: Path) -> None:
    assert cache.problem() is None


def test_size_and_clear(directory: Path) -> None:
    cache.store("one", b"payload")
    cache.store("two", b"payload")
    assert cache.size() == sum(path.stat().st_size for path in directory.iterdir())
    assert cache.clear() == 2
    assert cache.size() == 0


def test_longest_unused_files_are_trimmed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_SIZE_LIMIT", 350_000)
    monkeypatch.setattr(cache, "_STORES_BETWEEN_TRIMS", 1)
    for age, key in enumerate(("new", "older", "oldest")):
        before = set(directory.iterdir()) if directory.exists() else set()
        cache.store(key, bytes(100_000))
        (path,) = set(directory.iterdir()) - before
        os.utime(path, (1e9 - age, 1e9 - age))
    cache.store("newest", bytes(100_000))
    assert [key for key in ("newest", "new", "older", "oldest") if cache.load(key)] == ["newest", "new"]


def test_left_over_temporary_files_are_trimmed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_STORES_BETWEEN_TRIMS", 1)
    cache.store("key", b"payload")
    left_over = directory / ".0123.object"
    left_over.write_bytes(b"half")
    os.utime(left_over, (1e9, 1e9))
    cache.store("other", b"payload")
    assert not left_over.exists()


def test_writers_at_once_leave_one_whole_file(directory: Path) -> None:
    payloads = [bytes([k]) * 50_000 for k in range(4)]
    threads = [threading.Thread(target=cache.store, args=("key", payload)) for payload in payloads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.load("key") in payloads
    assert len(list(directory.iterdir())) == 1


def test_a_process_moves_its_cache(tmp_path: Path) -> None:
    opdsl.set_kernel_cache(tmp_path / "moved")
    try:
        assert cache.location() == tmp_path / "moved"
        assert cache.store("key", b"payload")
        assert cache.load("key") == b"payload"
    finally:
        opdsl.set_kernel_cache(None)
    assert cache.location() != tmp_path / "moved"


def test_a_process_turns_its_cache_off(tmp_path: Path) -> None:
    opdsl.set_kernel_cache(False)
    try:
        assert not cache.store("key", b"payload")
        assert "set_kernel_cache(False)" in str(cache.problem())
    finally:
        opdsl.set_kernel_cache(None)


def test_names_used_are_recorded(tmp_path: Path) -> None:
    opdsl.set_kernel_cache(tmp_path / "moved")
    try:
        with cache.names_used() as names:
            cache.store("key", b"payload")
        assert len(names) == 1
        assert all(map(cache.holds, names))
        cache.clear()
        assert not any(map(cache.holds, names))
    finally:
        opdsl.set_kernel_cache(None)
