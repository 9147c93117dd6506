"""NVRTC: from CUDA C++ to CUBIN for an architecture, through the disk cache. Neither a GPU nor a driver is needed.

A CUBIN that the cache holds is loaded without NVRTC: nothing of NVIDIA's is imported then.
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
    with timed("compile", f"{architecture} {source.fingerprint.partition(chr(10))[0][:60]}"):
        compiled = _compiled(source, architecture)
    cache.store(key, compiled)
    return compiled


def architectures() -> tuple[str, ...]:
    """What NVRTC compiles for, ascending.

    Raises:
        MissingDependencyError: NVRTC is not there.
    """
    _, numbers = _call(_library(), "nvrtcGetSupportedArchs")
    return tuple(f"sm_{number}" for number in numbers)


def _library() -> Any:
    """The functions of NVRTC as cuda-python has them.

    Raises:
        MissingDependencyError: cuda-python or NVRTC itself is not there.
    """
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()  # loads the library, whose absence has errors of several kinds
    except Exception as error:
        raise MissingDependencyError(
            f'CUDA kernels are compiled by NVRTC, which is not there ({error}). pip install "opdsl[cuda]" brings it.'
        ) from error
    return nvrtc


def _call(nvrtc: Any, name: str, *arguments: Any) -> Any:
    """A function of NVRTC: all of its results, the status first, which is success."""
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
    """What NVRTC writes into memory of so many bytes as it says before."""
    _, size = _call(nvrtc, f"{name}Size", program)
    content = bytearray(b" " * size)
    _call(nvrtc, name, program, content)
    return bytes(content)


@functools.cache
def environment() -> str:
    """What CUBINs depend on beside source, options and architecture: NVRTC, and the source of the printers."""
    return f"source {_source_digest()}, NVRTC {version()}"


@functools.cache
def version() -> str:
    """The version of NVRTC: of its wheel, which is found without loading it, or else what the library says.

    ``OPDSL_NVRTC_VERSION`` in the environment is that of the release which has compiled what is in the cache: CUBINs do
    not depend on what is installed where they run.
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
    except MissingDependencyError:  # what the cache holds is of no use
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
