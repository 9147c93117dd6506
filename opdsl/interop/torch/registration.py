"""Registration of operators in torch, and their removal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from threading import RLock
from typing import Any

import attrs

from opdsl.declare.library import Library
from opdsl.dispatch import Operator
from opdsl.errors import ArgumentError, DeclarationError, UnknownOperatorError
from opdsl.interop.torch import digests, inductor
from opdsl.interop.torch.autocast import Autocast, check
from opdsl.interop.torch.bridge import Bridge
from opdsl.interop.torch.definition import find
from opdsl.interop.torch.kernels import CPU
from opdsl.interop.torch.states import refuse_scopes
from opdsl.interop.torch.variants import ViewBridge, WritingBridge
from opdsl.runtime.forking import held_across_fork
from opdsl.schema import FunctionSchema

__all__ = ["bridge_of", "deregister", "register"]

_lock = held_across_fork(RLock())
_bridges: dict[Operator, Bridge] = {}
# For each registered operator the further ones that it needs in torch: derivatives, and callees of composites.
_helpers: dict[Operator, list[Operator]] = {}
# Operators that the user has registered, by name.
_asked_for: dict[str, Operator] = {}


def register(what: Any, *, fuses: bool = True, autocast: str = "derived") -> tuple[str, ...]:
    """Register operators in torch; see ``opdsl.interop.torch.register``."""
    rule = check(autocast)
    with _lock:
        operators = list(_operators(what))
        for operator in operators:
            _check(operator)
        wanted = [operator for operator in operators if not _stays(operator, fuses=fuses, autocast=rule)]
        present = [_asked_for[operator.name] for operator in wanted if operator.name in _asked_for]
        replaced = {operator: _bridges[operator] for operator in present}
        done: list[Operator] = []
        try:
            for operator in replaced:
                _close(operator)
            # Functional ones first: in-place and out= operators call them.
            for operator in sorted(wanted, key=lambda operator: operator.schema.is_mutable):
                _register_declared(operator, fuses=fuses, autocast=rule)
                done.append(operator)
        except BaseException:
            for operator in done:
                _close(operator)
            for operator, bridge in replaced.items():
                _register(operator, bridge)
            raise
        return tuple(operator.name for operator in operators)


def _register_declared(operator: Operator, *, fuses: bool, autocast: Autocast) -> None:
    """Register a declared operator in torch, until its library is closed or it is declared again."""
    _close(operator)  # torch may have it under a private name
    bridge = _bridge(operator, operator.schema, owner=operator)
    bridge.fuses, bridge.autocast = fuses, autocast
    _register(operator, bridge)
    library = getattr(operator.declaration, "library", None)
    if library is not None:
        library.undo(partial(_close, operator))
        if _follow not in library.registry.followers:
            library.registry.followers.append(_follow)


def _stays(operator: Operator, *, fuses: bool, autocast: Autocast) -> bool:
    """Return whether torch has an operator already with its current code and options, so that it can be kept."""
    bridge = _bridges.get(operator)
    if bridge is None or not bridge.is_asked_for or not bridge.is_as_declared:
        return False
    if (bridge.fuses, bridge.autocast) != (fuses, autocast):
        return False
    noted = digests.noted(operator.name)
    return noted is None or noted == digests.digest_of(operator)


def _follow(operator: Operator) -> None:
    """Replace a registered operator after it was declared again, or after its kernels changed their kind."""
    if operator.name not in _asked_for:
        return
    with _lock:
        present = _asked_for.get(operator.name)
        if present is None or (present is operator and _bridges[present].is_as_declared):
            return
        bridge = _bridges[present]
        if present is operator:
            bridge.renew()
            return
        declaration: Any = present.declaration
        for variant in declaration.operators.values():
            now = declaration.library.registry.operators.get(variant.name)
            _close(variant)  # also if the variant does not exist any more
            if now is not None and now is not variant:
                _register_declared(now, fuses=bridge.fuses, autocast=bridge.autocast)


def deregister(what: Any) -> None:
    """Remove operators from torch; see ``opdsl.interop.torch.deregister``."""
    with _lock:
        # By name: an operator that was declared again since is another object.
        names = {operator.name for operator in _operators(what)}
        operators = [bridge for bridge in _bridges if bridge.name in names and _bridges[bridge].is_asked_for]
        if not operators:
            raise UnknownOperatorError(f"nothing of {what!r} is registered in torch.")
        for operator in operators:
            _close(operator)


def bridge_of(operator: Operator) -> Bridge | None:
    """Return the registration of an operator in torch, or None."""
    return _bridges.get(operator)


def _operators(what: Any) -> Iterator[Operator]:
    """Yield the operators of a library, or all overloads and variants of a declared function."""
    if isinstance(what, Library):
        operators = [operator for operator in what.registry if operator.name.startswith(f"{what.namespace}::")]
        if not operators:
            raise UnknownOperatorError(f"{what!r} declares no operators. Declare them first, with @lib.op.")
        yield from operators
        return
    operator = getattr(what, "operator", None)
    if not isinstance(operator, Operator):
        raise ArgumentError(
            f"register takes a Library or a declared operator (got {type(what).__name__}). Pass the result of @op or "
            "Library(...)."
        )
    seen: dict[Operator, None] = {}
    for overload in operator.packet.overloads.values():
        functions = getattr(overload.declaration, "functions", {})
        seen.update(dict.fromkeys(function.operator for function in functions.values()))
        seen[overload] = None
    yield from seen


def _check(operator: Operator) -> None:
    """Refuse an operator that torch cannot have.

    Raises:
        DeclarationError: the operator is in namespace ``aten``, or its body enters a scope that torch has no
            counterpart of.
    """
    schema = operator.schema
    if schema.name.namespace is None:
        raise DeclarationError(
            f"{schema.name.qualified} is torch's own: operators of aten are overridden there, not defined. Declare "
            'yours in another namespace, Library("mylib").'
        )
    kernel = operator.entry(next(iter(CPU.reachable()))).kernel
    if kernel is not None and operator.is_composite(CPU):
        refuse_scopes(operator.name, kernel.functions)


def _bridge(operator: Operator, schema: FunctionSchema, *, owner: Operator) -> Bridge:
    """Build the bridge of an operator, without registering it."""
    define = _Define(owner)
    if schema.is_mutable:
        return WritingBridge(operator, schema, define, _functional(operator))
    return (ViewBridge if schema.is_view else Bridge)(operator, schema, define)


def _register(operator: Operator, bridge: Bridge) -> None:
    bridge.register()
    _bridges[operator] = bridge
    if bridge.is_asked_for:
        _asked_for[operator.name] = operator


class _Define:
    """Callback that defines further operators in torch, which a registered operator needs.

    Args:
        owner: the registered operator.
    """

    def __init__(self, owner: Operator) -> None:
        self.owner = owner

    def __call__(self, operator: Operator) -> Callable[..., Any]:
        """Return the torch operator for an operator that is called on torch tensors, defining it under a private name
        if needed.
        """
        with _lock:
            known = None if operator in _bridges or operator.name.startswith("derived::") else find(operator.schema)
            return self._bridge(operator) if known is None else known

    def beneath(self, operator: Operator) -> Callable[..., Any]:
        """Return the function that runs a derivative operator below autograd."""
        with _lock:
            return self._bridge(operator).run_beneath

    def _bridge(self, operator: Operator) -> Bridge:
        bridge = _bridges.get(operator)
        if bridge is not None:
            return bridge
        namespace = self.owner.schema.name.namespace
        operator_name = attrs.evolve(operator.schema.name, namespace=namespace, base=f"_{operator.schema.name.base}")
        schema = attrs.evolve(operator.schema, name=operator_name)
        helper = _bridge(operator, schema, owner=self.owner)
        helper.fuses = self.owner not in _bridges or _bridges[self.owner].fuses
        helper.is_asked_for = False
        if self.owner in _bridges:  # otherwise an autograd node calls that has outlived the registration
            _register(operator, helper)
            if helper.fuses:  # now, since the first call comes too late for a graph that is being traced
                inductor.offer(helper)
            _helpers.setdefault(self.owner, []).append(operator)
        return helper


def _functional(operator: Operator) -> Bridge | None:
    """Return the bridge of the functional variant of a mutable operator, or None."""
    signature = str(operator.schema.signature())
    for key, bridge in _bridges.items():
        if str(key.schema.signature()) == signature and not key.schema.is_mutable and _are_variants(key, operator):
            return bridge
    return None


def _are_variants(functional: Operator, operator: Operator) -> bool:
    operator_name, other = functional.schema.name, operator.schema.name
    return operator_name.namespace == other.namespace and _base(operator_name.base) == _base(other.base)


def _base(base: str) -> str:
    return base.removesuffix("_")


def _close(operator: Operator) -> None:
    """Remove an operator from torch, if it is registered, and the operators that were defined because of it."""
    with _lock:
        for helper in tuple(_helpers.pop(operator, ())):
            _close(helper)
        bridge = _bridges.pop(operator, None)
        if bridge is None:
            return
        if _asked_for.get(operator.name) is operator:
            del _asked_for[operator.name]
        for others in _helpers.values():
            if operator in others:
                others.remove(operator)
        bridge.close()
