"""NVRTC: from CUDA C++ to CUBIN for an architecture, through the disk cache. Neither a GPU nor a driver is needed.

A CUBIN that the cache holds is loaded without NVRTC: nothing of NVIDIA's is imported then.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
from pathlib import Path
from typing import TYPE_CHECKING

from opdsl.backends import cache
from opdsl.errors import KernelCompileError, MissingDependencyError
from opdsl.runtime.dumping import dump

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Source

__all__ = ["Statistics", "architectures", "compile_cubin", "environment"]

_STANDARD = "c++17"


class Statistics:
    """How many CUBINs this process compiled, and how many it loaded from disk."""

    compiled = 0
    loaded = 0


def compile_cubin(source: Source, architecture: str) -> bytes:
    """The CUBIN of a source, from the disk cache or compiled and stored there.

    Args:
        source: the translation unit.
        architecture: of the GPU, as NVRTC spells it (``sm_90``).

    Raises:
        MissingDependencyError: it has to be compiled, and what compiles it is not installed.
        KernelCompileError: NVRTC refuses it; the message has what NVRTC says.
    """
    dump(f"{architecture} {source.fingerprint}", ".cu", lambda: source.text)
    key = f"cubin {environment()} {_STANDARD} {architecture} {source.contracts}\n{source.fingerprint}"
    stored = cache.load(key)
    if stored is not None:
        Statistics.loaded += 1
        return stored
    Statistics.compiled += 1
    compiled = _compiled(source, architecture)
    cache.store(key, compiled)
    return compiled


def architectures() -> tuple[str, ...]:
    """What NVRTC compiles for, ascending.

    Raises:
        MissingDependencyError: NVRTC is not there.
    """
    try:
        from cuda.bindings import nvrtc

        _, found = nvrtc.nvrtcGetSupportedArchs()
    except Exception as error:  # what loads the library has errors of its own
        raise _missing(error) from error
    return tuple(f"sm_{each}" for each in found)


def _missing(error: Exception) -> MissingDependencyError:
    return MissingDependencyError(
        f'CUDA kernels are compiled by NVRTC, which is not there ({error}). pip install "opdsl[cuda]" brings it.'
    )


def _compiled(source: Source, architecture: str) -> bytes:
    try:
        from cuda.core import Program, ProgramOptions
    except ImportError as error:
        raise _missing(error) from error
    options = ProgramOptions(arch=architecture, std=_STANDARD, fma=source.contracts)
    try:
        # An ObjectCode must not be shown: without a driver its repr takes a lock and never gives it back.
        return bytes(Program(source.text, "c++", options).compile("cubin").code)
    except Exception as error:
        raise KernelCompileError(
            f"NVRTC cannot compile a kernel for {architecture}: {str(error).rstrip(chr(0)).rstrip()}"
        ) from error


@functools.cache
def environment() -> str:
    """What CUBINs depend on beside source, options and architecture: NVRTC, and the source of the printers."""
    return f"source {_source_digest()}, NVRTC {version()}"


@functools.cache
def version() -> str:
    """The version of NVRTC: of its wheel, which is found without loading it, or else what the library says."""
    try:
        return importlib.metadata.version("nvidia-cuda-nvrtc")
    except importlib.metadata.PackageNotFoundError:
        return _library_version()


def _library_version() -> str:
    try:
        from cuda.bindings import nvrtc

        _, major, minor = nvrtc.nvrtcVersion()
    except Exception:  # neither the package nor the library is there: what the cache holds is of no use
        return "none"
    return f"{major}.{minor}"


def _source_digest() -> str:
    """A digest of this package's source, and of the printers beside it, which others use as well: an edited printer
    never meets code of the former one.
    """
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for path in sorted([*package.iterdir(), *package.parent.glob("*_printer.py")]):
        if path.suffix in (".py", ".cuh"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
