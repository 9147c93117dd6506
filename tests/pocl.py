"""Patch of PoCL's wheel, so that tests of the OpenCL backend run on processors newer than its LLVM.

The wheel's LLVM is of 2022. It names a later processor ``generic``, which PoCL's own Clang refuses. The patch replaces
that name by a level of the architecture that all processors of CI support.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
from importlib.util import find_spec
from pathlib import Path

INSTALLED = find_spec("pyopencl") is not None
"""Flag for whether pyopencl is installed, which the extra ``dev`` does: without it nothing is tested."""

_LEVEL = ctypes.create_string_buffer(b"x86-64-v3")


def name_processor() -> None:
    """Patch PoCL to name a processor level that it supports in place of a processor that it does not know."""
    spec = find_spec("pyopencl")
    assert spec is not None and spec.origin is not None, "it is installed"
    libraries = sorted((Path(spec.origin).parent / ".libs").glob("libpocl-*.so"))
    if not libraries or platform.machine() != "x86_64":
        return
    import pyopencl  # noqa: F401  loads its libraries

    library = ctypes.CDLL(str(libraries[0]))
    named = library.pocl_get_llvm_cpu_name
    named.restype = ctypes.c_char_p
    if named() != b"generic":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    copy = ctypes.cast(libc.strdup, ctypes.c_void_p).value
    address = ctypes.cast(named, ctypes.c_void_p).value
    assert address is not None and copy is not None, "both have been found"
    # mov rdi, the name; mov rax, strdup; jmp rax: the caller frees the copy
    name = struct.pack("<Q", ctypes.addressof(_LEVEL))
    code = b"\x48\xbf" + name + b"\x48\xb8" + struct.pack("<Q", copy) + b"\xff\xe0"
    page = address & -mmap.PAGESIZE
    size = address + len(code) - page
    executable = mmap.PROT_READ | mmap.PROT_EXEC
    assert libc.mprotect(ctypes.c_void_p(page), size, executable | mmap.PROT_WRITE) == 0, "the page may be written"
    ctypes.memmove(address, code, len(code))
    libc.mprotect(ctypes.c_void_p(page), size, executable)
