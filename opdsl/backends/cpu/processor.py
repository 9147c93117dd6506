"""The processor that kernels are compiled for: this machine's, or a level of it that ``OPDSL_CPU`` names."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping

import attrs

from opdsl.backends.cpu.llvm import llvm
from opdsl.errors import ArgumentError

# Levels of x86-64, by LLVM's names of processors: each has the features of those before it, and these.
_LEVELS = {
    "x86-64": ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}

# What every processor of an architecture has, whether the system says so or not.
_BASE = {"aarch64": frozenset({"neon"}), "arm64": frozenset({"neon"})}


@attrs.frozen
class Processor:
    """Name and features of a processor, as LLVM takes them.

    name: LLVM's name of it.
    flags: the features that are there, and those that are not, beside what the name says: ``+avx2,-sse4a``.
    features: LLVM's names of all that are there, as far as anything here asks for them.
    is_limited: whether ``OPDSL_CPU`` chose it.
    """

    name: str
    flags: str
    features: frozenset[str]
    is_limited: bool

    @property
    def vector_bytes(self) -> int:
        """Bytes of a vector."""
        return 64 if "avx512f" in self.features else 32 if "avx2" in self.features else 16


@functools.cache
def processor() -> Processor:
    """Return the processor that this process compiles kernels for.

    Raises:
        ArgumentError: ``OPDSL_CPU`` is no level, or needs what this machine lacks.
    """
    host = _host_features()
    features = frozenset(name for name, is_there in host.items() if is_there)
    features |= _BASE.get(platform.machine(), frozenset())
    level = os.environ.get("OPDSL_CPU", "")
    if level:
        return Processor(level, "", _level_features(level, features), True)
    flags = ",".join(f"{'+' if is_there else '-'}{name}" for name, is_there in sorted(host.items()))
    return Processor(llvm.get_host_cpu_name(), flags, features, False)


def _host_features() -> Mapping[str, bool]:
    """LLVM's names of features, and whether this machine's processor has them; nothing where LLVM cannot tell."""
    try:
        host: Mapping[str, bool] = llvm.get_host_cpu_features()
    except RuntimeError:  # some releases on Apple's processors, whose name alone says what there is
        return {}
    return host


def _level_features(level: str, host: frozenset[str]) -> frozenset[str]:
    levels = list(_LEVELS) if platform.machine() in ("x86_64", "AMD64") else []
    if level not in levels:
        expected = f"one of {', '.join(levels)}" if levels else f"nothing (there are no levels of {platform.machine()})"
        raise ArgumentError(f"OPDSL_CPU: expected {expected}, got {level!r}.")
    needed = frozenset(name for known in levels[: levels.index(level) + 1] for name in _LEVELS[known])
    missing = sorted(needed - host)
    if missing:
        raise ArgumentError(
            f"OPDSL_CPU: {level} needs {', '.join(missing)}, which this processor "
            f"({llvm.get_host_cpu_name()}) lacks. Name a lower level, or unset it."
        )
    return needed
