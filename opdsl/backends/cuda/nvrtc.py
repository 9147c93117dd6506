"""Compilation of CUDA C++ to CUBIN for an architecture by NVRTC, with a disk cache. Needs neither a GPU nor a driver.

A CUBIN from the cache is loaded without NVRTC: nothing of NVIDIA's is imported then.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opdsl.backends import cache
from opdsl.errors import KernelCompileError, MissingDependencyError
from opdsl.runtime.dumping import dump
from opdsl.runtime.events import timed

if TYPE_CHECKING:
    from opdsl.backends.cuda.program import Source

__all__ = ["Statistics", "architectures", "compile_cubin", "environment"]

_STANDARD = "c++17"


class Statistics:
    """Counts of the CUBINs that this process compiled, and loaded from disk."""

    compiled = 0
    loaded = 0


def compile_cubin(source: Source, architecture: str) -> bytes:
    """Return the CUBIN of a source, from the disk cache or compiled and stored there.

    Args:
        source: the translation unit.
        architecture: of the GPU, as NVRTC spells it (``sm_90``).

    Raises:
        MissingDependencyError: it has to be compiled, and cuda-python or NVRTC is not installed.
        KernelCompileError: NVRTC rejects it; the message has NVRTC's log.
    """
    dump(f"{architecture} {source.fingerprint}", ".cu", lambda: source.text)
    key = f"cubin {environment()} {_STANDARD} {architecture} {source.contracts}\n{source.fingerprint}"
    stored = cache.load(key)
    if stored is not None:
        Statistics.loaded += 1
        return stored
    Statistics.compiled += 1
    with timed("compile", f"{architecture} {source.fingerprint.partition(chr(10))[0][:60]}"):
        compiled = _compiled(source, architecture)
    cache.store(key, compiled)
    return compiled


def architectures() -> tuple[str, ...]:
    """Return the architectures that NVRTC compiles for, ascending.

    Raises:
        MissingDependencyError: cuda-python or NVRTC is not installed.
    """
    _, numbers = _call(_library(), "nvrtcGetSupportedArchs")
    return tuple(f"sm_{number}" for number in numbers)


def _library() -> Any:
    """Return cuda-python's NVRTC bindings, loading NVRTC.

    Raises:
        MissingDependencyError: cuda-python or NVRTC itself is not installed.
    """
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()  # loads the library; if that is missing, errors of several kinds are possible
    except Exception as error:
        raise MissingDependencyError(
            f'CUDA kernels need NVRTC, which cannot be loaded ({error}). Install it: pip install "opdsl[cuda]"'
        ) from error
    return nvrtc


def _call(nvrtc: Any, name: str, *arguments: Any) -> Any:
    """Call a function of NVRTC, and return all its results, beginning with the status, which is success."""
    results = getattr(nvrtc, name)(*arguments)
    if results[0]:
        raise KernelCompileError(f"{name} of NVRTC failed: {results[0].name}")
    return results


def _compiled(source: Source, architecture: str) -> bytes:
    nvrtc = _library()
    options = [f"--gpu-architecture={architecture}", f"--std={_STANDARD}", f"--fmad={str(source.contracts).lower()}"]
    _, program = _call(nvrtc, "nvrtcCreateProgram", source.text.encode(), b"kernels.cu", 0, [], [])
    try:
        status = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])[0]
        if status:
            log = _content(nvrtc, "nvrtcGetProgramLog", program).decode(errors="replace").rstrip("\0").rstrip()
            raise KernelCompileError(f"NVRTC cannot compile a kernel for {architecture}: {status.name}\n{log}")
        return _content(nvrtc, "nvrtcGetCUBIN", program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _content(nvrtc: Any, name: str, program: Any) -> bytes:
    """Query the size of an output of NVRTC, and return its bytes."""
    _, size = _call(nvrtc, f"{name}Size", program)
    content = bytearray(b" " * size)
    _call(nvrtc, name, program, content)
    return bytes(content)


@functools.cache
def environment() -> str:
    """Return a text of all that CUBINs depend on besides source, options and architecture: NVRTC's version, the
    printers' source.
    """
    return f"source {_source_digest()}, NVRTC {version()}"


@functools.cache
def version() -> str:
    """Return the version of NVRTC from its wheel, which is found without loading it, or else from the library.

    The environment variable ``OPDSL_NVRTC_VERSION`` overrides it with the version that has filled a shipped cache,
    since these CUBINs do not depend on the software of the machine on which they run.
    """
    told = os.environ.get("OPDSL_NVRTC_VERSION")
    if told:
        return told
    try:
        return importlib.metadata.version("nvidia-cuda-nvrtc")
    except importlib.metadata.PackageNotFoundError:
        return _library_version()


def _library_version() -> str:
    try:
        _, major, minor = _call(_library(), "nvrtcVersion")
    except MissingDependencyError:  # without NVRTC its version is unknown, so that no cached CUBIN matches
        return "none"
    return f"{major}.{minor}"


def _source_digest() -> str:
    """Return a digest of this package's source and of the shared printers, so that an edited printer never uses cached
    code of the former one.
    """
    digest = hashlib.sha256()
    package = Path(__file__).parent
    for path in sorted([*package.iterdir(), *package.parent.glob("*_printer.py")]):
        if path.suffix in (".py", ".cuh"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
