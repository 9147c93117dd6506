"""On-disk cache of object code, and of the code of generated Python functions, shared by all processes of a user.

Native code that is loaded runs with the user's rights, so a file is trusted only when no other user could have written
it: the directory and the file belong to the user, neither is writable for others, neither is a link, and the checks
are made on the opened descriptors. A digest of the contents finds truncated and damaged files. A file that fails a
check is treated as absent, and its code is compiled again.

``OPDSL_CACHE_DIR`` moves the directory, ``OPDSL_CACHE=0`` turns it off; ``set_kernel_cache`` does both for a process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from opdsl.generated import keep_code
from opdsl.runtime.scopes import Setting

_MAGIC = b"opdsl object code 1\n"
_DIGEST_SIZE = 32
_HEADER_SIZE = len(_MAGIC) + 2 * _DIGEST_SIZE
_SUFFIX = ".object"
_LARGEST_FILE = 64 << 20
_SIZE_LIMIT = 1 << 30  # all kernels of aten, for the CPU and three GPU architectures, take half of it
_STORES_BETWEEN_TRIMS = 512
_BLOCK = 512  # the unit of st_blocks
_SECONDS_OF_A_DAY = 86_400
_ABANDONED_AFTER_SECONDS = 3_600
_WRITABLE_FOR_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_chosen: Path | bool | None = None
_used: ContextVar[set[str] | None] = ContextVar("_used", default=None)


def set_kernel_cache(place: str | os.PathLike[str] | bool | None) -> None:
    """Choose where this process keeps compiled kernels, overriding the environment variables.

    Args:
        place: a directory, which need not exist; False for no cache; None or True to follow the environment again.

    >>> import opdsl
    >>> opdsl.set_kernel_cache(None)
    """
    global _chosen
    _chosen = place if isinstance(place, bool) or place is None else Path(place).absolute()


def names_used() -> Setting[set[str]]:
    """Return a context manager that collects the names of the cache files that are loaded or stored inside."""
    return Setting(_used, set())


def _note(name: str) -> None:
    names = _used.get()
    if names is not None:
        names.add(name)


def holds(name: str) -> bool:
    """Return whether the cache has a file of this name, one that ``names_used`` has collected."""
    try:
        with _directory(create=False) as directory:
            return stat.S_ISREG(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
    except OSError:
        return False


def location() -> Path:
    """Return the cache directory, which need not exist yet."""
    if isinstance(_chosen, Path):
        return _chosen
    chosen = os.environ.get("OPDSL_CACHE_DIR")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "opdsl" / "objects"


def is_enabled() -> bool:
    """Return whether the cache may be used, as set by ``set_kernel_cache`` or else by the environment."""
    if _chosen is False or isinstance(_chosen, Path):
        return _chosen is not False
    return os.environ.get("OPDSL_CACHE", "1") != "0"


def problem() -> str | None:
    """Return a sentence that says why no object code is kept on disk, or None if it is kept."""
    if not is_enabled():
        how = "set_kernel_cache(False)" if _chosen is False else "OPDSL_CACHE=0"
        return f"The kernel cache is turned off by {how}."
    if not _SUPPORTED:
        return "The kernel cache needs directory descriptors, which this platform does not have."
    try:
        with _directory(create=True) as directory:
            if not os.access(".", os.W_OK, dir_fd=directory):
                return f"The kernel cache {location()} is not writable."
    except OSError as error:
        return f"The kernel cache {location()} cannot be used: {error.strerror or error}."
    return None


def load(key: str) -> bytes | None:
    """Return the payload stored under a key, or None if no stored file can be trusted."""
    payload = _load(key)
    if payload is not None:
        _note(_file_name(key))
    return payload


def _load(key: str) -> bytes | None:
    if not (is_enabled() and _SUPPORTED):
        return None
    try:
        with _directory(create=False) as directory:
            content = _read(_file_name(key), directory)
    except OSError:
        return None
    payload = content[_HEADER_SIZE:]
    return payload if content[:_HEADER_SIZE] == _header(key, payload) else None


def store(key: str, payload: bytes) -> bool:
    """Store a payload under a key, replacing a former one atomically.

    Returns:
        Whether it was stored; a directory that cannot be written or trusted is no error.
    """
    if not _store(key, payload):
        return False
    _note(_file_name(key))
    return True


def _store(key: str, payload: bytes) -> bool:
    if not (is_enabled() and _SUPPORTED):
        return False
    try:
        with _directory(create=True) as directory:
            _replace(_file_name(key), _header(key, payload) + payload, directory)
            # Trim at random: most processes store only a few files, and listing the whole directory is slow.
            if int.from_bytes(os.urandom(4)) % _STORES_BETWEEN_TRIMS == 0:
                _trim(directory, _SIZE_LIMIT)
    except OSError:
        return False
    return True


def keep_code_of_functions() -> None:
    """Keep the code of generated functions in this cache, too.

    ``names_used`` does not collect these files: the code of a file that is missing is compiled again.
    """
    keep_code(_load, _store)


def size() -> int:
    """Return the total size of the stored files in bytes."""
    try:
        with _directory(create=False) as directory:
            return sum(details.st_size for _, details in _files(directory))
    except OSError:
        return 0


def clear() -> int:
    """Remove all stored files.

    Returns:
        How many were removed.
    """
    removed = 0
    try:
        with _directory(create=False) as directory:
            for file_name, _ in _files(directory):
                os.unlink(file_name, dir_fd=directory)
                removed += 1
    except OSError:
        pass
    return removed


_SUPPORTED = hasattr(os, "O_NOFOLLOW") and os.open in os.supports_dir_fd and hasattr(os, "geteuid")


def _file_name(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest() + _SUFFIX


def _header(key: str, payload: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(key.encode()).digest() + hashlib.sha256(payload).digest()


@contextlib.contextmanager
def _directory(*, create: bool) -> Iterator[int]:
    """Open the cache directory, check that only the user can write to it, and yield its descriptor."""
    path = location()
    if create:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _refuse_foreign(os.fstat(descriptor))
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_foreign(details: os.stat_result) -> None:
    if details.st_uid != os.geteuid():
        raise PermissionError(f"it belongs to user {details.st_uid}, not to {os.geteuid()}")
    if details.st_mode & _WRITABLE_FOR_OTHERS:
        raise PermissionError(
            f"other users can write to it (mode {stat.S_IMODE(details.st_mode):o}); chmod go-w fixes this"
        )


def _read(name: str, directory: int) -> bytes:
    descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, dir_fd=directory)
    with open(descriptor, "rb", buffering=0) as file:
        details = os.fstat(descriptor)
        _refuse_foreign(details)
        if not stat.S_ISREG(details.st_mode) or details.st_size > _LARGEST_FILE:
            raise OSError("no regular file of a sensible size")
        if time.time() - details.st_mtime > _SECONDS_OF_A_DAY:
            os.utime(descriptor)  # marks the file as recently used for _trim
        return file.readall()


def _replace(name: str, content: bytes, directory: int) -> None:
    temporary = f".{os.urandom(8).hex()}{_SUFFIX}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(temporary, flags, 0o600, dir_fd=directory), "wb") as file:
            file.write(content)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def _files(directory: int) -> list[tuple[str, os.stat_result]]:
    files = []
    for file_name in os.listdir(directory):
        if file_name.endswith(_SUFFIX):
            with contextlib.suppress(OSError):  # another process may just have removed it
                files.append((file_name, os.stat(file_name, dir_fd=directory, follow_symlinks=False)))
    return files


def _taken(details: os.stat_result) -> int:
    """Return the bytes of disk space that a file occupies; small files occupy a whole block."""
    return max(details.st_size, details.st_blocks * _BLOCK)


def _trim(directory: int, limit: int) -> None:
    """Remove files that a crash left half-written, and if the limit is exceeded the least recently used ones until a
    quarter of it is free.
    """
    files = sorted(_files(directory), key=lambda entry: entry[1].st_mtime)
    total = sum(_taken(details) for _, details in files)
    goal = limit * 3 // 4 if total > limit else limit
    now = time.time()
    for file_name, details in files:
        abandoned = file_name.startswith(".") and now - details.st_mtime > _ABANDONED_AFTER_SECONDS
        if abandoned or total > goal:
            with contextlib.suppress(OSError):
                os.unlink(file_name, dir_fd=directory)
            total -= _taken(details)
