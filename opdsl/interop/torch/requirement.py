"""Which PyTorch the bridge works with, and the one sentence that it says of another."""

from __future__ import annotations

import sys

from opdsl.errors import MissingDependencyError

OLDEST = (2, 11)
"""The oldest version that serves: older ones lack tags and checks that registration relies on."""

TESTED = "2.13.0"


def require_torch() -> None:
    """See that a PyTorch is installed which the bridge works with.

    Raises:
        MissingDependencyError: there is none, or it is too old; the message holds the command that mends it.
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
    """The version of torch, which is not imported for that; None where there is none."""
    loaded = sys.modules.get("torch")
    if loaded is not None:
        return str(loaded.__version__)
    from importlib.metadata import PackageNotFoundError, version  # which reads files

    try:
        return version("torch")
    except PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version: ``2.13.0+cpu`` is (2, 13, 0), ``2.14.0a0`` (2, 14)."""
    parts = version.partition("+")[0].split(".")
    count = next((at for at, part in enumerate(parts) if not part.isdigit()), len(parts))
    return tuple(map(int, parts[:count]))
