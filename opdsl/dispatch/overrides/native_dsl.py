"""Native DSLs: registry of the languages that overrides may be written in, and probes whether they are available.

A DSL is one module with ``runtime_available``, ``runtime_version``, ``register_op_override`` and
``deregister_op_overrides``. The module is imported by the first call of an operator that has an override of the DSL;
its package, such as numba, is imported only by implementations. Probes only look for files: they import and start
nothing, so they are safe before a fork.
"""

from __future__ import annotations

import importlib
import os
from types import ModuleType
from typing import Protocol, cast

from opdsl.errors import DeclarationError, MissingDependencyError, OpdslError, OptionError

Version = tuple[int, ...]

_PARTS = ("runtime_available", "runtime_version", "register_op_override", "deregister_op_overrides")


class NativeDsl(Protocol):
    """Protocol of a DSL's module; it may also have ``unavailable_reason() -> str | None``."""

    def runtime_available(self) -> bool:
        """Return whether the DSL's package is installed in a supported version."""

    def runtime_version(self) -> Version | None:
        """Return the version of the DSL's package."""

    def register_op_override(
        self,
        lib_symbol: str,
        op_symbol: str,
        dispatch_key: str,
        cond: object,
        impl: object,
        *,
        allow_multiple_override: bool = False,
        unconditional_override: bool = False,
    ) -> object:
        """Register an override of this DSL; see ``opdsl.register_op_override``."""

    def deregister_op_overrides(self) -> None:
        """Disable every override of this DSL."""


# The modules by DSL name: an import path until the module is needed.
_modules: dict[str, str | ModuleType] = {
    "numba": "opdsl.backends.dsl.numba_dsl",
    "numba-cuda": "opdsl.backends.dsl.numba_cuda_dsl",
    "torch": "opdsl.interop.torch.dsl",
}


def register_dsl(name: str, module: str | ModuleType) -> None:
    """Register a native DSL by name.

    Args:
        name: the name under which its overrides are registered.
        module: its module, or the path from which it is imported on first use.

    Raises:
        DeclarationError: the name is empty, or the module lacks a required function.

    >>> import opdsl
    >>> import types
    >>> parts = "runtime_available", "runtime_version", "register_op_override", "deregister_op_overrides"
    >>> opdsl.register_dsl("example", types.SimpleNamespace(**dict.fromkeys(parts, lambda: True)))
    >>> "example" in opdsl.known_dsls()
    True
    """
    if not isinstance(name, str) or not name.strip():
        raise DeclarationError(f'register_dsl: a DSL has a name (got {name!r}). Write register_dsl("mydsl", module).')
    if not isinstance(module, str):
        _require_parts(name, module)
    _modules[name] = module


def _require_parts(name: str, module: ModuleType) -> None:
    missing = [part for part in _PARTS if not callable(getattr(module, part, None))]
    if missing:
        raise DeclarationError(
            f"the native DSL {name} ({module.__name__}) lacks {', '.join(missing)}. Define them in its module."
        )


def known_dsls() -> tuple[str, ...]:
    """Return the names of all registered DSLs, whether available or not.

    >>> import opdsl
    >>> "numba" in opdsl.known_dsls()
    True
    """
    return tuple(sorted(_modules))


def dsl_module(name: str) -> NativeDsl:
    """Return the module of a DSL, imported on first use.

    Raises:
        OptionError: there is no such DSL.
        MissingDependencyError: its module cannot be imported.
    """
    module = _modules.get(name)
    if module is None:
        raise OptionError(f"no native DSL {name!r} (have {', '.join(known_dsls())}). opdsl.register_dsl adds one.")
    if isinstance(module, str):
        try:
            loaded = importlib.import_module(module)
        except Exception as error:
            raise MissingDependencyError(
                f"the native DSL {name} cannot be imported from {module}: {_said(error)}."
            ) from error
        _require_parts(name, loaded)
        module = _modules[name] = loaded
    return cast(NativeDsl, module)


def unavailable_reason(name: str) -> str | None:
    """Return why a DSL's overrides are not used, and the remedy, in one sentence; None if they are used.

    A name without a module is a label that users give to their own overrides: it is always available. A DSL whose
    module fails to say whether it is available counts as unavailable.

    Args:
        name: the name of the DSL.

    Raises:
        OptionError, DeclarationError, MissingDependencyError: never; their texts are returned as reasons.

    >>> unavailable_reason("a label of mine") is None
    True
    """
    if name not in _modules:
        return None
    try:
        module = dsl_module(name)
        if module.runtime_available():
            return None
        explain = getattr(module, "unavailable_reason", None)
        reason = explain() if callable(explain) else None
    except OpdslError as error:
        return str(error)
    except Exception as error:
        return (
            f"the native DSL {name} raised an error when it checked whether it is available: {_said(error)}. Fix its "
            "module."
        )
    return reason or f"the native DSL {name} says that it is not available here."


def dsl_version(name: str) -> str | None:
    """Return the version of a DSL's package, ``"0.61.2"``; None if its module does not know it or fails."""
    try:
        version: object = dsl_module(name).runtime_version()
    except Exception:
        return None
    return ".".join(map(str, version)) if isinstance(version, tuple) else None if version is None else str(version)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


# ------------------------------------------------------------------------------------------------ probes for DSL files


def is_installed(module: str) -> bool:
    """Return whether a top-level module can be found, without importing it."""
    from importlib.util import find_spec

    try:
        return find_spec(module.partition(".")[0]) is not None
    except ValueError:  # a test or a stub put a module without a spec into sys.modules
        return False


def installed_version(package: str) -> Version | None:
    """Return the version of an installed distribution as numbers, ``(0, 61, 2)``; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, and only needed here

    try:
        text = version(package)
    except PackageNotFoundError:
        return None
    numbers: list[int] = []
    for part in text.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)


def missing_reason(name: str, module: str, package: str, at_least: Version) -> str | None:
    """Return an error message if a package is missing or too old, else None.

    ``OPDSL_NATIVE_SKIP_VERSION_CHECK=1`` accepts any version.
    """
    wanted = ".".join(map(str, at_least))
    install = f"Install it: pip install '{package}>={wanted}'."
    if not is_installed(module):
        return f"the native DSL {name} needs the package {package}, which is not installed. {install}"
    numbers = installed_version(package)
    if not is_switched_on("OPDSL_NATIVE_SKIP_VERSION_CHECK") and (numbers is None or numbers < at_least):
        have = "an unknown version" if numbers is None else ".".join(map(str, numbers))
        return f"the native DSL {name} needs {package} {wanted} or newer, and {have} is installed. {install}"
    return None


def is_switched_on(variable: str) -> bool:
    """Return whether an environment variable is set to ``1``."""
    return os.environ.get(variable, "0") == "1"


__all__ = [
    "NativeDsl",
    "Version",
    "dsl_module",
    "dsl_version",
    "installed_version",
    "is_installed",
    "is_switched_on",
    "known_dsls",
    "missing_reason",
    "register_dsl",
    "unavailable_reason",
]
