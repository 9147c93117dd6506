"""Check of the installed PyTorch version."""

from __future__ import annotations

import sys

from opdsl.errors import MissingDependencyError

OLDEST = (2, 11)
"""Oldest supported version of torch: older ones lack tags and checks that registration relies on."""

TESTED = "2.13.0"


def require_torch() -> None:
    """Check that a supported version of PyTorch is installed.

    Raises:
        MissingDependencyError: torch is not installed, or too old; the message contains the command that installs it.
    """
    oldest = ".".join(map(str, OLDEST))
    install = f'Install it: pip install "torch>={oldest}"'
    version = _version()
    if version is None:
        raise MissingDependencyError(
            f"opdsl.interop.torch needs PyTorch {oldest} or newer, and none is installed. {install}"
        )
    if _numbers(version) < OLDEST:
        raise MissingDependencyError(
            f"opdsl.interop.torch needs PyTorch {oldest} or newer (tested with {TESTED}; got {version}). {install}"
        )


def _version() -> str | None:
    """Return the version of torch without importing it; None if it is not installed."""
    loaded = sys.modules.get("torch")
    if loaded is not None:
        return str(loaded.__version__)
    from importlib.metadata import PackageNotFoundError, version  # slow: reads files

    try:
        return version("torch")
    except PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: ``2.13.0+cpu`` is (2, 13, 0), ``2.14.0a0`` (2, 14)."""
    parts = version.partition("+")[0].split(".")
    count = next((at for at, part in enumerate(parts) if not part.isdigit()), len(parts))
    return tuple(map(int, parts[:count]))
