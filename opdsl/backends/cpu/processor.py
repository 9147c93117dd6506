"""Target processor of kernels: the one of this machine, a lower x86-64 level that ``OPDSL_CPU`` names, or another
machine's, for code that is compiled to be shipped.
"""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from contextvars import ContextVar

import attrs

from opdsl.backends.cpu.llvm import llvm
from opdsl.errors import ArgumentError
from opdsl.runtime.scopes import Setting

# The features that each x86-64 level adds to the levels before it, by LLVM's names.
_LEVELS = {
    "x86-64": ("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    "x86-64-v2": ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"),
    "x86-64-v4": ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}

# Features that every processor of an architecture has, even if LLVM does not list them.
_BASE = {"aarch64": frozenset({"neon"}), "arm64": frozenset({"neon"})}


@attrs.frozen
class Processor:
    """Name and features of a target processor, as LLVM takes them.

    name: LLVM's name of it.
    flags: features that are present or absent, beyond those that the name implies: ``+avx2,-sse4a``.
    features: LLVM's names of all present features that this package may use.
    is_limited: whether ``OPDSL_CPU`` chose it.
    """

    name: str
    flags: str
    features: frozenset[str]
    is_limited: bool

    @property
    def vector_bytes(self) -> int:
        """Return the vector width in bytes."""
        return 64 if "avx512f" in self.features else 32 if "avx2" in self.features else 16


@attrs.frozen
class Target:
    """Machine that code is compiled for, to be loaded by other processes.

    name: of the x86-64 level, or of the architecture.
    triple: LLVM's description of the machine.
    processor: the least processor that runs the code.
    """

    name: str
    triple: str
    processor: Processor

    @property
    def architecture(self) -> str:
        """Return the architecture, by Python's name for it."""
        return self.triple.partition("-")[0]


_target: ContextVar[Target | None] = ContextVar("_target", default=None)


def compiling_for(target: Target) -> Setting[Target]:
    """Return a context manager in which code is printed and compiled for another machine, and cannot be loaded."""
    return Setting(_target, target)


def compile_target() -> Target | None:
    """Return the machine that code is compiled for; None for this one."""
    return _target.get()


def target_named(name: str) -> Target:
    """Return the target with the name of an x86-64 level, or ``aarch64``.

    Raises:
        ArgumentError: there is no such target.
    """
    if name in _LEVELS:
        features = _features_of_level(name)
        return Target(name, "x86_64-unknown-linux-gnu", Processor(name, "", features, True))
    if name == "aarch64":
        return Target(name, "aarch64-unknown-linux-gnu", Processor("generic", "+neon", _BASE[name], True))
    raise ArgumentError(f"target: expected one of {', '.join([*_LEVELS, 'aarch64'])}, got {name!r}.")


def architecture() -> str:
    """Return the architecture that code is compiled for, by Python's name for it on Linux."""
    target = compile_target()
    machine = platform.machine() if target is None else target.architecture
    return {"arm64": "aarch64"}.get(machine, machine)


def processor() -> Processor:
    """Return the processor that kernels are compiled for.

    Raises:
        ArgumentError: ``OPDSL_CPU`` is not the name of a level, or this machine lacks a feature of that level.
    """
    target = compile_target()
    return _own_processor() if target is None else target.processor


@functools.cache
def _own_processor() -> Processor:
    """Return the processor that this process runs kernels on."""
    host = _host_features()
    features = frozenset(feature for feature, is_there in host.items() if is_there)
    features |= _BASE.get(platform.machine(), frozenset())
    level = os.environ.get("OPDSL_CPU", "")
    if level:
        return Processor(level, "", _level_features(level, features), True)
    flags = ",".join(f"{'+' if is_there else '-'}{feature}" for feature, is_there in sorted(host.items()))
    return Processor(llvm.get_host_cpu_name(), flags, features, False)


def _host_features() -> Mapping[str, bool]:
    """Return for each feature, by LLVM's name, whether this machine has it; empty if LLVM does not know."""
    try:
        host: Mapping[str, bool] = llvm.get_host_cpu_features()
    except RuntimeError:  # some releases fail on Apple's processors, whose name implies all features
        return {}
    return host


def _level_features(level: str, host: frozenset[str]) -> frozenset[str]:
    levels = list(_LEVELS) if platform.machine() in ("x86_64", "AMD64") else []
    if level not in levels:
        expected = f"one of {', '.join(levels)}" if levels else f"nothing (there are no levels of {platform.machine()})"
        raise ArgumentError(f"OPDSL_CPU: expected {expected}, got {level!r}.")
    needed = _features_of_level(level)
    missing = sorted(needed - host)
    if missing:
        raise ArgumentError(
            f"OPDSL_CPU: {level} needs {', '.join(missing)}, which this processor "
            f"({llvm.get_host_cpu_name()}) lacks. Name a lower level, or unset it."
        )
    return needed


def _features_of_level(level: str) -> frozenset[str]:
    """Return the features of an x86-64 level, those of lower levels included."""
    levels = list(_LEVELS)
    return frozenset(feature for known in levels[: levels.index(level) + 1] for feature in _LEVELS[known])
