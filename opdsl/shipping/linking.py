"""Shared libraries of kernels: LLVM compiles one object for a target, and the system's linker links it."""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from opdsl.backends.cpu import engine, native
from opdsl.backends.cpu.processor import Target
from opdsl.errors import MissingDependencyError
from opdsl.shipping.tracing import Kernels

__all__ = ["find_linker", "shared_library"]

# Names of Python's functions stay undefined: the interpreter that loads the library has them.
_OPTIONS = ("-shared", "--gc-sections", "--strip-all", "--hash-style=gnu", "-z", "noexecstack", "-z", "relro")


def find_linker(target: Target) -> str:
    """Return the path of a linker for a target.

    Raises:
        MissingDependencyError: there is none.
    """
    is_here = platform.machine() == target.architecture
    names = [f"{target.architecture}-linux-gnu-ld", "ld.lld", *["ld"] * is_here]
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    package = "binutils" if is_here else f"binutils-{target.architecture}-linux-gnu"
    raise MissingDependencyError(
        f"Code for {target.name} is linked by one of {', '.join(names)}, and none is installed. "
        f"Install one: apt-get install {package}, or apt-get install lld."
    )


def shared_library(kernels: Kernels, target: Target) -> bytes:
    """Compile kernels, and what they share, for a target, and return the shared library.

    Raises:
        MissingDependencyError: there is no linker for the target.
    """
    linker = find_linker(target)
    compiled = engine.linked(target, [native.shipped_code(), *kernels.sources.values()])
    with tempfile.TemporaryDirectory(prefix="opdsl-build-") as folder:
        source, result = Path(folder) / "kernels.o", Path(folder) / "kernels.so"
        source.write_bytes(compiled)
        subprocess.run([linker, *_OPTIONS, "-o", str(result), str(source)], check=True, capture_output=True)
        return result.read_bytes()
