"""Registry of overrides: kernels of native DSLs that take precedence over an operator's own, if a condition holds.

The names and their meaning are those of ``torch._native.registry``. In addition, any namespace can be overridden, a
disabled DSL stays disabled after a reorder, a faulty order function raises an error, and an operator that is declared
again keeps its overrides.

Environment: ``OPDSL_DISABLE_NATIVE_DSLS=1`` disables all overrides, ``OPDSL_NATIVE_SKIP_VERSION_CHECK=1`` accepts DSLs
of any version, ``OPDSL_NATIVE_ORDER_FUNCTION=package.module.function`` orders the overrides of each operator and key.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable

from opdsl.dispatch.keys import PER_BACKEND, DispatchKey, KeySet
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.registry import Registry, registry
from opdsl.dispatch.overrides.native_dsl import is_switched_on, unavailable_reason
from opdsl.dispatch.overrides.override_kernel import Override, OverrideKernel, require_fitting, wants_keys
from opdsl.dispatch.table import Reason, compute
from opdsl.errors import DispatchKeyError, DuplicateOperatorError, OptionError

Names = str | Iterable[str] | None
Place = tuple[str, DispatchKey]
OrderFunction = Callable[[str, str, list[Override]], list[Override]]


class Overrides:
    """Table of the overrides of a registry's operators, by operator and dispatch key."""

    def __init__(self, target: Registry) -> None:
        self.registry = target
        self._graphs: dict[Place, list[Override]] = {}
        self._routers: dict[Place, OverrideKernel] = {}
        self._ordered: set[Place] = set()
        self._disabled_dsls: set[str] = set()
        self._disabled_symbols: set[str] = set()
        self._disabled_keys: set[DispatchKey] = set()
        target.watchers.append(self.follow)

    def register(
        self,
        backend: str,
        lib_symbol: str,
        op_symbol: str,
        dispatch_key: str | DispatchKey,
        cond: Callable[..., object] | None,
        impl: Callable[..., object],
        *,
        allow_multiple_override: bool = False,
        unconditional_override: bool = False,
    ) -> Override:
        """See ``register_op_override``."""
        operator = self.registry.operator(f"{lib_symbol}::{op_symbol}")
        key = _require_key(operator, dispatch_key)
        if cond is None and not unconditional_override:
            raise OptionError(
                f"{operator.name}: an override needs a condition. Pass cond=, or unconditional_override=True to serve "
                "every call."
            )
        if cond is not None:
            require_fitting(cond, operator, "condition")
        require_fitting(impl, operator, "implementation", skip=int(wants_keys(impl)))
        place = (operator.name, key)
        with self.registry.lock:
            graph = self._graphs.get(place, [])
            if graph and not allow_multiple_override:
                raise DuplicateOperatorError(
                    f"{operator.name}: {graph[0]} is registered there already. Pass allow_multiple_override=True to "
                    "add another, which is tried after it."
                )
            self._require_overridable(operator, key)
            override = Override(backend, operator.name, key, cond, impl)
            self._graphs[place] = [*graph, override]
            self._ordered.discard(place)
            self._refresh(place)
        return override

    def _require_overridable(self, operator: Operator, key: DispatchKey) -> None:
        router = self._routers.get((operator.name, key))
        own = {
            at: [kernel for kernel in kernels if kernel is not router] for at, kernels in operator.registrations.items()
        }
        entry = compute(key, {at: kernels for at, kernels in own.items() if kernels}, operator.fallbacks)
        if entry.reason is Reason.MATH:
            raise DispatchKeyError(
                f"{operator.name} has only a CompositeImplicitAutograd kernel: its gradient follows from the operators "
                f"that it calls, and an override at {key} would remove it. Override those operators."
            )

    def _refresh(self, place: Place) -> None:
        """Install or remove the override kernel of an operator and key, as its overrides require, and drop plans."""
        name, key = place
        operator = self.registry.operators.get(name)
        router = self._routers.get(place)
        wanted = any(self.is_enabled(override) for override in self._graphs.get(place, ()))
        if router is not None and wanted and operator is router.operator:
            router.forget()
            self.registry.changed(operator)
            return
        if router is not None:
            del self._routers[place]
            self.registry.deregister(router.operator, key, router)
        if operator is not None and wanted:
            router = self._routers[place] = OverrideKernel(
                operator, key, lambda: self._in_force(place), self.registry.lock
            )
            self.registry.register(operator, key, router)

    def follow(self, operator: Operator) -> None:
        """Install the overrides of an operator that was declared (again)."""
        for index in tuple(self._graphs):
            if index[0] == operator.name:
                self._refresh(index)

    def is_enabled(self, override: Override) -> bool:
        """Return whether neither the override's DSL, its operator nor its key is disabled."""
        return not (
            override.dsl_name in self._disabled_dsls
            or override.op_symbol in self._disabled_symbols
            or override.dispatch_key in self._disabled_keys
        )

    def _in_force(self, place: Place) -> list[Override]:
        """Return the overrides that calls try, in order: enabled ones of available DSLs."""
        if is_switched_on("OPDSL_DISABLE_NATIVE_DSLS"):
            return []
        order = os.environ.get("OPDSL_NATIVE_ORDER_FUNCTION")
        if order and place not in self._ordered:
            self._graphs[place] = _ordered(_imported(order), place, self._graphs[place])
            self._ordered.add(place)
        enabled = [override for override in self._graphs.get(place, ()) if self.is_enabled(override)]
        reasons = {name: unavailable_reason(name) for name in {override.dsl_name for override in enabled}}
        return [override for override in enabled if reasons[override.dsl_name] is None]

    def switch(self, dsl_names: Names, op_symbols: Names, dispatch_keys: Names, *, on: bool) -> None:
        """Disable or enable overrides; see ``deregister_op_overrides`` and ``reenable_op_overrides``."""
        keys = {DispatchKey(text) for text in _several(dispatch_keys)}
        symbols = {_qualified(text) for text in _several(op_symbols)}
        with self.registry.lock:
            for disabled, names in (
                (self._disabled_dsls, set(_several(dsl_names))),
                (self._disabled_symbols, symbols),
            ):
                disabled.difference_update(names) if on else disabled.update(names)
            self._disabled_keys = self._disabled_keys - keys if on else self._disabled_keys | keys
            for index in self._graphs:
                self._refresh(index)

    def reorder(self, function: OrderFunction) -> None:
        """See ``reorder_graphs_from_user_function``."""
        with self.registry.lock:
            ordered_graphs = {index: _ordered(function, index, graph) for index, graph in self._graphs.items()}
            self._graphs.update(ordered_graphs)
            self._ordered.update(ordered_graphs)
            for index in ordered_graphs:
                self._refresh(index)

    def remove(self, override: Override) -> None:
        """Remove one override permanently."""
        place = (override.op_symbol, override.dispatch_key)
        with self.registry.lock:
            rest = [other for other in self._graphs.get(place, ()) if other is not override]
            self._graphs[place] = rest
            self._refresh(place)
            if not rest:
                del self._graphs[place]

    def all(self) -> list[Override]:
        """Return all overrides; those of one operator and key in the order in which calls try them."""
        return [override for graph in tuple(self._graphs.values()) for override in graph]

    def kernel_beneath(self, operator: Operator, key: DispatchKey, keys: KeySet) -> Kernel:
        """Return the kernel that the overrides of an operator and key take precedence over, for a key set."""
        router = self._routers.get((operator.name, key))
        return operator.find_in(keys) if router is None else router.for_call(operator, keys).beneath()


def _require_key(operator: Operator, text: str | DispatchKey) -> DispatchKey:
    """Return the dispatch key for a name if it is a backend's own key.

    Raises:
        DispatchKeyError: it is Meta, an alias key, or not a backend's key.
    """
    key = DispatchKey(text)
    functionality = key.functionality in PER_BACKEND and key.functionality != "AutogradFunctionality"
    if not key.is_runtime or not functionality or key.backend == "Meta":
        raise DispatchKeyError(
            f"{operator.name}: no override can be registered at {key}: shapes and gradients cannot be overridden. Name "
            'a backend: "CPU" or "CUDA".'
        )
    return key


def _several(names: Iterable[str] | str | None) -> tuple[str, ...]:
    if names is None:
        return ()
    return (names,) if isinstance(names, str | DispatchKey) else tuple(names)


def _qualified(name: str) -> str:
    return name if "::" in name else f"aten::{name}"


def _imported(path: str) -> OrderFunction:
    """Import the function that ``OPDSL_NATIVE_ORDER_FUNCTION`` names.

    Raises:
        OptionError: it cannot be imported, or is no function.
    """
    module, _, attribute = path.rpartition(".")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise OptionError(
            f"OPDSL_NATIVE_ORDER_FUNCTION={path} cannot be imported: {error}. Name it as package.module.function."
        ) from error
    if not callable(function):
        raise OptionError(f"OPDSL_NATIVE_ORDER_FUNCTION={path} is no function (got {function!r}).")
    ordering: OrderFunction = function
    return ordering


def _ordered(function: OrderFunction, place: Place, graph: list[Override]) -> list[Override]:
    """Return overrides as sorted by an order function.

    Raises:
        OptionError: the function returned something other than a list of these overrides.
    """
    name, key = place
    ordered = function(name, str(key), list(graph))
    if not isinstance(ordered, list) or sorted(map(id, ordered)) != sorted(map(id, graph)):
        raise OptionError(
            f"the order function returned {ordered!r} for {name} at {key}, not a list of the {len(graph)} overrides "
            "that it got. Return them all; opdsl.deregister_op_overrides disables some."
        )
    return ordered


overrides = Overrides(registry)

# ---------------------------------------------------------------------------------------------- the names of PyTorch


def register_op_override(
    backend: str,
    lib_symbol: str,
    op_symbol: str,
    dispatch_key: str | DispatchKey,
    cond: Callable[..., object] | None,
    impl: Callable[..., object],
    *,
    allow_multiple_override: bool = False,
    unconditional_override: bool = False,
) -> Override:
    """Register an override: an implementation that serves the calls for which a condition holds.

    Overrides are tried in the order of their registration. If no condition holds, the operator's own kernel runs. An
    error that a condition raises is raised by the call.

    Args:
        backend: the name of the DSL; one of ``known_dsls()``, or a label of your own.
        lib_symbol: the namespace, ``"aten"``.
        op_symbol: the operator in it, ``"add.Tensor"``.
        dispatch_key: a backend's key, ``"CPU"``.
        cond: takes the schema's arguments, positional ones by position, the others by name.
        impl: takes the same arguments; if its first parameter is ``dispatch_keys``, the call's key set comes first, for
            ``override_fallback(...)``.
        allow_multiple_override: whether the operator and key may have other overrides.
        unconditional_override: whether ``cond`` may be None, so that the override serves every call.

    Returns:
        The override.

    Raises:
        UnknownOperatorError: there is no such operator.
        DispatchKeyError: the key is not a backend's, or the operator has only a CompositeImplicitAutograd kernel.
        DuplicateOperatorError: the operator and key have an override, and ``allow_multiple_override`` is not given.
        KernelSignatureError: the condition or the implementation does not fit the schema.
        OptionError: there is no condition.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.formula
    ...     def fourfold(self: opdsl.Tensor) -> opdsl.Tensor:
    ...         return 4.0 * self
    ...     def of_vectors(dispatch_keys, self):
    ...         return opdsl.override_fallback("example::fourfold", "CPU")(dispatch_keys, self) + 100.0
    ...     opdsl.register_op_override("mine", "example", "fourfold", "CPU", lambda self: self.ndim == 1, of_vectors)
    ...     opdsl.get_dsl_operations("mine"), fourfold(opdsl.tensor(3.0)), fourfold(opdsl.tensor([3.0]))
    ...     opdsl.deregister_op_overrides(disable_dsl_names="mine")
    ...     opdsl.list_op_overrides(enabled_only=True), fourfold(opdsl.tensor([3.0]))
    ...     opdsl.reenable_op_overrides(enable_dsl_names="mine")
    ...     opdsl.reorder_graphs_from_user_function(lambda name, key, overrides: overrides[::-1])
    ...     fourfold(opdsl.tensor([3.0]))
    <override of_vectors of example::fourfold at CPU by mine>
    (['example::fourfold'], tensor(12.), tensor([112.]))
    ([], tensor([12.]))
    tensor([112.])
    """
    return overrides.register(
        backend,
        lib_symbol,
        op_symbol,
        dispatch_key,
        cond,
        impl,
        allow_multiple_override=allow_multiple_override,
        unconditional_override=unconditional_override,
    )


def deregister_op_overrides(
    *, disable_dsl_names: Names = None, disable_op_symbols: Names = None, disable_dispatch_keys: Names = None
) -> None:
    """Disable overrides by DSL, operator (``add.Tensor``, ``mylib::f``) or key, until reenabled; later ones too.

    ``register_op_override`` has an example.

    Args:
        disable_dsl_names: names of DSLs, one or several.
        disable_op_symbols: names of operators.
        disable_dispatch_keys: dispatch keys.
    """
    overrides.switch(disable_dsl_names, disable_op_symbols, disable_dispatch_keys, on=False)


def reenable_op_overrides(
    *, enable_dsl_names: Names = None, enable_op_symbols: Names = None, enable_dispatch_keys: Names = None
) -> None:
    """Enable overrides again that ``deregister_op_overrides`` disabled under these names.

    ``register_op_override`` has an example.

    Args:
        enable_dsl_names: names of DSLs, one or several.
        enable_op_symbols: names of operators.
        enable_dispatch_keys: dispatch keys.
    """
    overrides.switch(enable_dsl_names, enable_op_symbols, enable_dispatch_keys, on=True)


def reorder_graphs_from_user_function(function: OrderFunction) -> None:
    """Sort the overrides of each operator and key by a function; disabled overrides stay disabled.

    ``register_op_override`` has an example.

    Args:
        function: takes the operator's name, the key and the list of overrides; returns them in their new order.

    Raises:
        OptionError: the function returned something else; nothing is changed then.
    """
    overrides.reorder(function)


def get_dsl_operations(dsl_name: str) -> list[str]:
    """Return the sorted names of the operators that a DSL overrides.

    ``register_op_override`` has an example.

    Args:
        dsl_name: the name of the DSL, such as ``numba``.
    """
    return sorted({op_override.op_symbol for op_override in list_op_overrides() if op_override.dsl_name == dsl_name})


def list_op_overrides(*, enabled_only: bool = False) -> list[Override]:
    """Return all registered overrides, in the order in which calls try them.

    ``register_op_override`` has an example.

    Args:
        enabled_only: whether to leave out disabled overrides.
    """
    return [override for override in overrides.all() if not enabled_only or overrides.is_enabled(override)]


def override_fallback(op_symbol: str, dispatch_key: str | DispatchKey) -> Callable[..., object]:
    """Return the kernel that an operator's overrides take precedence over, for implementations to call.

    ``register_op_override`` has an example.

    Args:
        op_symbol: ``"add.Tensor"``, or with its namespace.
        dispatch_key: the key of the overrides.

    Returns:
        A function of the call's ``dispatch_keys`` and all the schema's arguments, by position or by name.
    """
    operator = registry.operator(op_symbol)
    key = DispatchKey(dispatch_key)
    names = [argument.python_name for argument in operator.schema.arguments]

    def fallback(dispatch_keys: KeySet, *positional: object, **named: object) -> object:
        rest = tuple(named[name] for name in names[len(positional) :])
        return overrides.kernel_beneath(operator, key, dispatch_keys)(*positional, *rest)

    return fallback


__all__ = [
    "Override",
    "Overrides",
    "deregister_op_overrides",
    "get_dsl_operations",
    "list_op_overrides",
    "override_fallback",
    "overrides",
    "reenable_op_overrides",
    "register_op_override",
    "reorder_graphs_from_user_function",
]
