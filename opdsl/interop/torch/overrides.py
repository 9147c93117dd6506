"""Native DSL ``opdsl`` for torch: kernels that override torch's own where a condition holds.

The module follows the protocol of ``torch._native`` (``DSLModuleProtocol`` in torch/_native/dsl_registry.py) and is
registered there as ``opdsl``; overrides go into torch's registry, so that torch's functions list, order, disable and
enable them. A torch with a different registry gets them through ``torch.library``. They are kernels for a backend's
key, below autograd, autocast and fake tensors, which remain torch's.

``TORCH_DISABLE_NATIVE_JIT=1`` disables them, ``TORCH_NATIVE_SKIP_VERSION_CHECK=1`` allows any version of torch, and
the function named in ``TORCH_PYTHON_NATIVE_USER_GRAPH_ORDER_FN`` orders them.

>>> import torch
>>> override("gelu")
('gelu',)
>>> torch.nn.functional.gelu(torch.ones(2))  # too small for the override's condition: torch's kernel runs
tensor([0.8413, 0.8413])
>>> deregister_op_overrides()
"""

from __future__ import annotations

import importlib.metadata
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from opdsl.dispatch import DispatchKey
from opdsl.dispatch.overrides.native_dsl import is_switched_on
from opdsl.errors import (
    DispatchKeyError,
    DuplicateOperatorError,
    MissingDependencyError,
    OptionError,
    UnknownOperatorError,
)
from opdsl.interop.torch.requirement import TESTED, require_torch
from opdsl.runtime.permanent import kept_forever

if TYPE_CHECKING:
    from torch._vendor.packaging.version import Version

    from opdsl.interop.torch.override_registry import OverrideRegistry

__all__ = ["deregister_op_overrides", "override", "register_op_override", "runtime_available", "runtime_version"]

NAME = "opdsl"

_log = logging.getLogger(__name__)


@kept_forever
def _registry() -> OverrideRegistry:
    """Return the registry of overrides, after registering opdsl with torch as a DSL."""
    from opdsl.interop.torch.override_registry import make_registry

    registry = make_registry()
    registry.make_known(NAME, cast(Any, sys.modules[__name__]))
    return registry


def unavailable_reason() -> str | None:
    """Return the reason why overrides are not used here, and how to fix that; None if they are used."""
    try:
        require_torch()
    except MissingDependencyError as error:
        return str(error)
    if is_switched_on("TORCH_DISABLE_NATIVE_JIT"):
        return "native DSLs are switched off. Unset TORCH_DISABLE_NATIVE_JIT."
    import torch
    from torch._vendor.packaging.version import Version

    version, tested = Version(torch.__version__), Version(TESTED)
    if version.release[:2] != tested.release[:2] and not is_switched_on("TORCH_NATIVE_SKIP_VERSION_CHECK"):
        return (
            f"overrides are tested with torch {TESTED} (got {version}). Set TORCH_NATIVE_SKIP_VERSION_CHECK=1 to use "
            "them nevertheless."
        )
    return None


def runtime_available() -> bool:
    """Return whether a supported version of torch is installed, without importing it.

    >>> import torch
    >>> from opdsl.interop.torch import overrides
    >>> overrides.runtime_available()
    True
    """
    try:
        require_torch()
    except MissingDependencyError:
        return False
    return True


def runtime_version() -> Version | None:
    """Return the version of opdsl; None if opdsl is not installed (but run from its source tree) or torch is not
    supported.

    >>> from opdsl.interop.torch import overrides
    >>> overrides.runtime_version() is None or overrides.runtime_version().release >= (0, 1)
    True
    """
    if not runtime_available():
        return None
    from torch._vendor.packaging.version import Version

    try:
        return Version(importlib.metadata.version("opdsl"))
    except importlib.metadata.PackageNotFoundError:
        return None


def register_op_override(
    lib_symbol: str,
    op_symbol: str,
    dispatch_key: str,
    cond: Callable[..., object] | None,
    impl: Callable[..., object],
    *,
    allow_multiple_override: bool = False,
    unconditional_override: bool = False,
) -> None:
    """Override the kernel of an aten operator for calls that satisfy a condition, with immediate effect.

    If no condition holds, the previous kernel runs. If native DSLs are disabled, or torch's version is untested,
    nothing is registered and a message is logged.

    Args:
        lib_symbol: ``"aten"``.
        op_symbol: the operator, ``"gelu"`` or ``"add.Tensor"``.
        dispatch_key: a backend's key, ``"CPU"``.
        cond: the condition, a function of the operator's arguments.
        impl: the implementation, a function of the same arguments that returns torch tensors as the operator does.
        allow_multiple_override: whether opdsl may already override the operator; the first condition that holds
            decides.
        unconditional_override: whether ``cond`` may be None, so that every call is overridden.

    Raises:
        OptionError: the library is not aten, or there is no condition.
        DispatchKeyError: the key is not that of a backend.
        UnknownOperatorError: torch has no such operator.
        DuplicateOperatorError: opdsl overrides the operator already, and ``allow_multiple_override`` is false.

    >>> import torch
    >>> from opdsl.interop.torch import overrides
    >>> overrides.register_op_override("aten", "cosh", "CPU", lambda x: x.ndim == 0, lambda x: torch.full_like(x, 7.0))
    >>> torch.cosh(torch.tensor(0.0)), torch.cosh(torch.tensor([0.0]))
    (tensor(7.), tensor([1.]))
    >>> overrides.deregister_op_overrides()
    """
    if lib_symbol != "aten":
        raise OptionError(f'only operators of aten can be overridden in torch (got {lib_symbol!r}). Pass "aten".')
    if cond is None and not unconditional_override:
        raise OptionError(
            f"aten::{op_symbol}: an override needs a condition. Pass cond=, or unconditional_override=True to serve "
            "every call."
        )
    _check_key(op_symbol, dispatch_key)
    reason = unavailable_reason()
    if reason is not None:
        _log.info("aten::%s is not overridden: %s", op_symbol, reason)
        return
    _check_operator(op_symbol, dispatch_key)
    if (op_symbol, dispatch_key) in _overridden() and not allow_multiple_override:
        raise DuplicateOperatorError(
            f"aten::{op_symbol} is overridden at {dispatch_key} already. Pass allow_multiple_override=True to add "
            "another, which is tried after it."
        )
    from opdsl.interop.torch.override_registry import Node

    _registry().add(Node(NAME, op_symbol, dispatch_key, cond or _always, impl))


def deregister_op_overrides() -> None:
    """Remove every override of opdsl, so that torch's own kernels run again.

    >>> import torch
    >>> from opdsl.interop.torch import overrides
    >>> overrides.deregister_op_overrides()
    """
    if runtime_available():
        _registry().remove(NAME)


def override(*operators: str) -> tuple[str, ...]:
    """Override torch's CPU kernels by those of opdsl where these are faster; see ``fused.FUSED``.

    They compute in float32 on contiguous tensors of a minimum size, on torch's memory.

    Args:
        operators: ``"gelu"``, ``"_softmax"`` (called by ``torch.softmax``), ...; all of the table by default.

    Returns:
        The operators that are overridden now; none if overrides are not used (see ``unavailable_reason``).

    Raises:
        UnknownOperatorError: the table has no such operator.
        OptionError, DispatchKeyError, DuplicateOperatorError: see ``register_op_override``.

    >>> import torch
    >>> from opdsl.interop.torch import overrides
    >>> overrides.override("gelu")
    ('gelu',)
    >>> overrides.deregister_op_overrides()
    """
    if unavailable_reason() is not None:
        return ()
    from opdsl.interop.torch.fused import FUSED

    for operator in operators:
        if operator not in FUSED:
            raise UnknownOperatorError(f"opdsl has no override of {operator!r}. It has {', '.join(FUSED)}.")
    wanted = operators or tuple(FUSED)
    present = _overridden()
    for text in wanted:
        if (text, "CPU") not in present:
            register_op_override("aten", text, "CPU", FUSED[text].condition, FUSED[text].implementation)
    return wanted


def _overridden() -> set[tuple[str, str]]:
    """Return the operators and keys that opdsl overrides."""
    return {(node.op_symbol, node.dispatch_key) for node in _registry().nodes(NAME)}


def _always(*args: object, **kwargs: object) -> bool:
    return True


def _check_key(op_symbol: str, dispatch_key: str) -> None:
    key = DispatchKey(dispatch_key)
    if key.backend in (None, "Meta") or key.functionality == "AutogradFunctionality":
        raise DispatchKeyError(
            f"aten::{op_symbol}: an override needs the dispatch key of a backend (got {dispatch_key}): autograd and "
            'meta kernels cannot be overridden. Pass "CPU".'
        )


def _check_operator(op_symbol: str, dispatch_key: str) -> None:
    import torch

    operator_name = f"aten::{op_symbol}"
    if operator_name not in torch._C._dispatch_get_all_op_names():
        raise UnknownOperatorError(
            f'torch has no operator {operator_name}. Name its overload, too, as in "add.Tensor".'
        )
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if not has_kernel(operator_name, dispatch_key) and has_kernel(operator_name, "CompositeImplicitAutograd"):
        raise DispatchKeyError(
            f"{operator_name} has only a CompositeImplicitAutograd kernel: its gradient follows from the operators "
            "that it calls. Override one of those."
        )


if runtime_available():
    _registry()
