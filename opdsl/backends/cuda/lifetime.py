"""Detection of when the driver destroys a graph of another library, without a call of Python from a driver thread.

The driver calls a destructor on its own thread, maybe when the interpreter has ended. So the destructor is libc's
``sem_post``, and Python polls the semaphore.
"""

from __future__ import annotations

import ctypes
import functools

__all__ = ["Lifetime"]

_SEMAPHORE_BYTES = 64  # enough for a sem_t, which has 32 on 64-bit Linux

# Semaphores that have not been posted yet are kept alive, since the driver holds their addresses.
_open: set[Lifetime] = set()


class Lifetime:
    """Flag that the driver sets when it destroys an object. It is never set if libc has no semaphores (Windows).

    address: the argument that the driver passes to the destructor.
    destructor: the address of the destructor function, or 0.
    """

    def __init__(self) -> None:
        self._semaphore = ctypes.create_string_buffer(_SEMAPHORE_BYTES)
        self.address = ctypes.addressof(self._semaphore)
        self.destructor = 0
        self._is_over = False
        library = _semaphores()
        if library is not None:
            library.sem_init(ctypes.c_void_p(self.address), 0, 0)
            self.destructor = ctypes.cast(library.sem_post, ctypes.c_void_p).value or 0
            _open.add(self)

    def is_over(self) -> bool:
        """Return whether the destructor has been called."""
        library = _semaphores()
        if not self._is_over and library is not None:
            self._is_over = library.sem_trywait(ctypes.c_void_p(self.address)) == 0
            if self._is_over:
                _open.discard(self)
        return self._is_over


@functools.cache
def _semaphores() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(None)
        library.sem_init, library.sem_post, library.sem_trywait  # noqa: B018  all of them are there
    except (AttributeError, OSError, TypeError):
        return None
    return library
