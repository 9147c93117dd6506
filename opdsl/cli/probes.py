"""Probes of ``opdsl doctor``. They avoid imports; a module is imported only if no other probe shows whether it
works.
"""

from __future__ import annotations

import ctypes
import importlib
import platform
import sys
from collections.abc import Callable, Mapping
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import attrs

from opdsl.dispatch.overrides.native_dsl import dsl_version, is_switched_on, known_dsls, unavailable_reason
from opdsl.dispatch.overrides.overriding import list_op_overrides
from opdsl.errors import ArgumentError
from opdsl.runtime.device import backends

_NEEDED = ("attrs", "numpy", "scipy", "numba", "llvmlite", "typeguard", "threadpoolctl", "PyYAML", "click", "rich")

# Package -> the extra of opdsl that installs it, and its purpose.
_OPTIONAL = {
    "torch": ("torch", "registration into PyTorch, torch tensors without a copy"),
    "ml_dtypes": ("dev", "bfloat16 arrays in NumPy"),
    "dask": ("dask", "operators on chunked arrays"),
}
_OPENCL = {
    "pyopencl": ("opencl", "OpenCL devices"),
}
_CUDA = {
    "cuda-bindings": ("cuda", "the CUDA driver's functions"),
    "nvidia-cuda-nvrtc": ("cuda", "the CUDA C++ compiler"),
}

# LLVM's names of features that decide the vector width and the number formats of kernels.
_TELLING_FEATURES = (
    "sse4.2", "avx2", "fma", "f16c", "avx512f", "avx512vl", "avx512bf16", "avx512fp16", "amx-bf16",
    "neon", "sve", "sve2", "bf16", "fullfp16",
)  # fmt: skip

_MYPY_PLUGIN = "opdsl.typing.mypy_plugin"
_MYPY_FILES = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")


class Mark(Enum):
    """State of a finding, in its printed form."""

    OK = "OK"
    MISSING = "missing"
    OFF = "off"


@attrs.frozen
class Finding:
    """Result of one probe.

    subject: its name.
    mark: its state.
    detail: its version, or its purpose.
    remedy: how to fix a problem; empty without a problem.
    is_needed: whether opdsl does not work without it.
    """

    subject: str
    mark: Mark
    detail: str
    remedy: str = ""
    is_needed: bool = False


def findings() -> dict[str, list[Finding]]:
    """Run all probes, and return their findings by group."""
    return {
        f"opdsl {package_version('opdsl') or 'of unknown version'}": [_python(), *map(_needed, _NEEDED)],
        "CPU": [_guarded(probe, subject) for subject, probe in _CPU_PROBES.items()],
        "CUDA": [*_optional(_CUDA), cuda_driver()],
        "OpenCL": [*_optional(_OPENCL), *opencl_devices()],
        "backends": [_backend(kind) for kind in backends.device_types()],
        "native DSLs": [*map(_native_dsl, known_dsls()), _overrides()],
        "beside": [*_optional(_OPTIONAL), mypy_plugin()],
    }


def package_version(package: str) -> str | None:
    """Return the version of an installed package, or None, without importing it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# ------------------------------------------------------------------------------------------------------------ packages


def _python() -> Finding:
    detail = f"{platform.python_version()}, {sys.executable}, {platform.system()} {platform.machine()}"
    return Finding("Python", Mark.OK, detail, is_needed=True)


def _needed(package: str) -> Finding:
    text = package_version(package)
    if text is None:
        return Finding(package, Mark.MISSING, "not installed", f"Install it: pip install {package}", is_needed=True)
    return Finding(package, Mark.OK, text, is_needed=True)


def _optional(packages: Mapping[str, tuple[str, str]]) -> list[Finding]:
    return [_extra(package, *details) for package, details in packages.items()]


def _extra(package: str, extra: str, purpose: str) -> Finding:
    text = package_version(package)
    if text is None:
        command = f'pip install "opdsl[{extra}]"' if extra != "dev" else f"pip install {package}"
        return Finding(package, Mark.MISSING, f"optional, for {purpose}", f"Install it: {command}")
    return Finding(package, Mark.OK, text)


# ----------------------------------------------------------------------------------------------------------------- CPU


def _guarded(probe: Callable[[str], Finding], subject: str) -> Finding:
    """Run a probe; return a finding for a compiler that is missing or does not load."""
    try:
        return probe(subject)
    except (ImportError, OSError) as error:
        detail = f"cannot be loaded ({type(error).__name__}: {error})"
        return Finding(subject, Mark.MISSING, detail, "Install it anew: pip install --force-reinstall numba llvmlite")


def _llvm(subject: str) -> Finding:
    from opdsl.backends.cpu.llvm import llvm
    from opdsl.backends.cpu.processor import processor

    number = ".".join(map(str, llvm.llvm_version_info))
    try:
        target = processor()
    except ArgumentError as error:
        return Finding(subject, Mark.OFF, f"{number}, without a processor to compile for", str(error).removesuffix("."))
    features = " ".join(name for name in _TELLING_FEATURES if name in target.features)
    chosen = ", by OPDSL_CPU" if target.is_limited else ""
    return Finding(subject, Mark.OK, f"{number}, for {target.name}{chosen}: {features or 'no vector features'}")


def _libraries(subject: str) -> Finding:
    """Return the library that computes products, factorizations and Fourier transforms."""
    from opdsl.backends.cpu import mkl

    if mkl.mkl() is not None:
        return Finding(subject, Mark.OK, f"oneMKL {mkl.version()}: matrix products, LAPACK, Fourier transforms")
    scipy = package_version("scipy")
    detail = f"SciPy {scipy or '(not installed)'}: matrix products, LAPACK, Fourier transforms"
    has_wheels = platform.system() == "Linux" and platform.machine() == "x86_64"
    reason = f"; oneMKL is {mkl.problem()}" if has_wheels or mkl.path() else ""
    remedy = 'Faster on Intel: pip install "opdsl[mkl]"' if has_wheels and mkl.path() is None else ""
    return Finding(subject, Mark.OK if scipy else Mark.MISSING, detail + reason, remedy)


def _threads(subject: str) -> Finding:
    from opdsl.backends.cpu import pool

    return Finding(subject, Mark.OK, f"{pool.get_num_threads()}, for large arrays")


def _kernel_cache(subject: str) -> Finding:
    from opdsl.backends import cache

    problem = cache.problem()
    if problem is not None:
        remedy = (
            "Use a directory of your own: export OPDSL_CACHE_DIR=..."
            if cache.is_enabled()
            else "Turn it on: unset OPDSL_CACHE"
        )
        return Finding(subject, Mark.OFF, problem.removesuffix("."), remedy)
    location = cache.location()
    count = sum(1 for path in location.iterdir() if path.is_file())
    return Finding(subject, Mark.OK, f"{count} files, {size_text(cache.size())}, in {location}")


def _block_cache(subject: str) -> Finding:
    from opdsl.backends.cpu import memory

    stats = memory.memory_stats()
    held = f"{size_text(stats['in_use'])} in use, {size_text(stats['cached'])} of {size_text(stats['limit'])} kept"
    return Finding(subject, Mark.OK, f"arrays from {size_text(memory.LARGE)} on; {held} for the next ones")


_CPU_PROBES: Mapping[str, Callable[[str], Finding]] = {
    "LLVM": _llvm,
    "libraries": _libraries,
    "threads": _threads,
    "kernel cache": _kernel_cache,
    "block cache": _block_cache,
}


def size_text(count: int) -> str:
    """Format a number of bytes.

    >>> size_text(512), size_text(1536), size_text(1 << 30)
    ('512 B', '1.5 KiB', '1.0 GiB')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


# ---------------------------------------------------------------------------------------------------------------- CUDA


def cuda_driver() -> Finding:
    """Return whether the CUDA driver's library is installed, and its version.

    Only ``cuda.pathfinder`` is imported, and the driver is not initialized.
    """
    if not _is_importable("cuda.pathfinder"):
        return Finding(
            "CUDA driver",
            Mark.MISSING,
            "not looked for without the package cuda-pathfinder",
            'Install it: pip install "opdsl[cuda]"',
        )
    pathfinder = importlib.import_module("cuda.pathfinder")
    try:
        loaded = pathfinder.load_nvidia_dynamic_lib("cuda")
    except RuntimeError:  # DynamicLibNotFoundError
        remedy = "Install NVIDIA's driver, or go to a machine that has a GPU"
        return Finding("CUDA driver", Mark.MISSING, "no driver library on this machine", remedy)
    return Finding("CUDA driver", Mark.OK, f"CUDA {_driver_version(loaded.abs_path)}, {loaded.abs_path}")


def _is_importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # the parent package is missing, or is not a package
        return False


def _driver_version(library: str) -> str:
    """Return the newest CUDA version that a driver supports, without initializing it."""
    number = ctypes.c_int()
    ctypes.CDLL(library).cuDriverGetVersion(ctypes.byref(number))
    return f"{number.value // 1000}.{number.value % 1000 // 10}"


# -------------------------------------------------------------------------------------------------------------- OpenCL


def opencl_devices() -> list[Finding]:
    """Return the devices of OpenCL drivers."""
    if not _is_importable("pyopencl"):
        return []
    from opdsl.backends.opencl.devices import device_names, problem

    texts = device_names()
    if not texts:
        remedy = 'Install a driver: that of the GPU, or pip install "opdsl[opencl]" for one that runs on any CPU'
        return [Finding("OpenCL driver", Mark.MISSING, "no device on this machine", remedy)]
    return [
        Finding(f"opencl:{index}", Mark.OFF if problem(index) else Mark.OK, name, problem(index))
        for index, name in enumerate(texts)
    ]


# -------------------------------------------------------------------------------------------- backends and native DSLs


def _backend(device_type: str) -> Finding:
    """Return the finding for a device type and the package that implements it, without importing the package."""
    module, key = backends.entry(device_type)
    package = backends.package_of(device_type)
    if not backends.has(device_type, "memory"):
        remedy = f"Install {package} anew" if package else 'Use device="cpu"'
        return Finding(device_type, Mark.MISSING, f"{key}, but there is no module {module}.memory", remedy)
    return Finding(device_type, Mark.OK, ", ".join(filter(None, (key, module, package))))


def _native_dsl(name: str) -> Finding:
    """Return the finding for a DSL in which overrides can be written."""
    reason = unavailable_reason(name)
    if reason is not None:
        detail, _, remedy = reason.removesuffix(".").partition(". ")
        return Finding(name, Mark.MISSING, f"optional, for overrides: {detail}", remedy)
    return Finding(name, Mark.OK, dsl_version(name) or "of unknown version")


def _overrides() -> Finding:
    """Return the finding for registered overrides."""
    known = list_op_overrides()
    detail = f"{len(known)} registered, {len(list_op_overrides(enabled_only=True))} enabled"
    if is_switched_on("OPDSL_DISABLE_NATIVE_DSLS"):
        return Finding("overrides", Mark.OFF, detail, "Turn them on: unset OPDSL_DISABLE_NATIVE_DSLS")
    return Finding("overrides", Mark.OK, detail)


# ---------------------------------------------------------------------------------------------------------------- mypy


def mypy_plugin() -> Finding:
    """Return whether mypy is installed, and a configuration in this directory names the plugin."""
    text = package_version("mypy")
    if text is None:
        return Finding(
            "mypy plugin", Mark.MISSING, "optional, for checking declarations", "Install it: pip install mypy"
        )
    configured = next((file for file in _MYPY_FILES if _names_plugin(Path(file))), None)
    if configured is None:
        remedy = f"Write under [mypy] in mypy.ini: plugins = {_MYPY_PLUGIN}"
        return Finding("mypy plugin", Mark.OFF, f"mypy {text}; no configuration here names the plugin", remedy)
    return Finding("mypy plugin", Mark.OK, f"mypy {text}, named in {configured}")


def _names_plugin(file: Path) -> bool:
    return file.is_file() and _MYPY_PLUGIN in file.read_text(encoding="utf-8", errors="replace")
