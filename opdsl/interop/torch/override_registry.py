"""Registries for overrides of torch's kernels: torch's own, or one with the same behavior on ``torch.library``."""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import torch

__all__ = ["LibraryRegistry", "Node", "OverrideRegistry", "TorchRegistry", "make_registry"]


class Node(NamedTuple):
    """Entry for one override. The names of the fields are those of torch's registry, since ordering functions read
    them.
    """

    dsl_name: str
    op_symbol: str
    dispatch_key: str
    cond_fn: Callable[..., object]
    impl_fn: Callable[..., object]


class OverrideRegistry(Protocol):
    """Protocol of both registries."""

    def add(self, node: Node) -> None:
        """Add an override after the existing ones for its operator and dispatch key, and activate it."""

    def remove(self, dsl_name: str) -> None:
        """Remove all overrides of a DSL."""

    def nodes(self, dsl_name: str) -> list[Node]:
        """Return the overrides of a DSL."""

    def make_known(self, dsl_name: str, module: Any) -> None:
        """Register a DSL with torch."""


def make_registry() -> OverrideRegistry:
    """Return torch's registry if this torch has the expected one; otherwise a registry on ``torch.library``."""
    try:
        native: Any = importlib.import_module("torch._native")
    except ImportError:
        return LibraryRegistry()
    needed = ("register_op_override", "reenable_op_overrides", "_apply_graph_transformation", "_graphs")
    if all(hasattr(native.registry, text) for text in needed):
        return TorchRegistry(native)
    return LibraryRegistry()


@contextmanager
def _quietly() -> Iterator[None]:
    """Return a context manager that suppresses torch's warning about a kernel that overrides another, which is intended
    here.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Warning only once for all operators", category=UserWarning)
        yield


class TorchRegistry:
    """Registry of overrides in torch itself (torch/_native/registry.py).

    Args:
        native: the module ``torch._native``.
    """

    def __init__(self, native: Any) -> None:
        self._native = native
        self._registry = native.registry
        self._lock = threading.Lock()

    def add(self, node: Node) -> None:
        """See ``OverrideRegistry``."""
        with self._lock, _quietly():
            self._registry.register_op_override(
                node.dsl_name, "aten", node.op_symbol, node.dispatch_key, node.cond_fn, node.impl_fn
            )
            # torch applies the user's ordering function at import only, so apply it to later overrides here.
            order = self._native.get_user_ordering_fn()
            if order is not None:
                self._registry._apply_graph_transformation(order, keys_to_process={(node.op_symbol, node.dispatch_key)})
            self._registry.reenable_op_overrides(enable_dsl_names=node.dsl_name)

    def remove(self, dsl_name: str) -> None:
        """See ``OverrideRegistry``."""
        with self._lock:
            self._registry.deregister_op_overrides(disable_dsl_names=dsl_name)
            # torch only disables them: delete them, so that they are not enabled again in addition to their
            # replacements.
            for graph in self._registry._graphs.values():
                graph[:] = [node for node in graph if node.dsl_name != dsl_name]

    def nodes(self, dsl_name: str) -> list[Node]:
        """See ``OverrideRegistry``."""
        return [
            Node(node.dsl_name, node.op_symbol, node.dispatch_key, node.cond_fn, node.impl_fn)
            for graph in self._registry._graphs.values()
            for node in graph
            if node.dsl_name == dsl_name
        ]

    def make_known(self, dsl_name: str, module: Any) -> None:
        """See ``OverrideRegistry``."""
        self._native.dsl_registry.dsl_registry.register_dsl(dsl_name, module)


class LibraryRegistry:
    """Registry of overrides on ``torch.library``, for a torch that lacks such a registry."""

    def __init__(self) -> None:
        self._graphs: dict[tuple[str, str], list[Node]] = {}
        self._libraries: dict[tuple[str, str], torch.library.Library] = {}
        self._lock = threading.Lock()

    def add(self, node: Node) -> None:
        """See ``OverrideRegistry``."""
        with self._lock:
            place = (node.op_symbol, node.dispatch_key)
            graph = [*self._graphs.get(place, ()), node]
            order = _user_order()
            self._graphs[place] = graph if order is None else order(*place, graph)
            self._install(place)

    def remove(self, dsl_name: str) -> None:
        """See ``OverrideRegistry``."""
        with self._lock:
            for place, graph in list(self._graphs.items()):
                self._graphs[place] = [node for node in graph if node.dsl_name != dsl_name]
                self._install(place)

    def nodes(self, dsl_name: str) -> list[Node]:
        """See ``OverrideRegistry``."""
        return [node for graph in self._graphs.values() for node in graph if node.dsl_name == dsl_name]

    def make_known(self, dsl_name: str, module: Any) -> None:
        """See ``OverrideRegistry``; does nothing, since this torch has no registry of DSLs."""

    def _install(self, place: tuple[str, str]) -> None:
        """Register a router for the overrides of an operator and key, or unregister it if there are none left."""
        present = self._libraries.pop(place, None)
        if present is not None:
            present._destroy()  # type: ignore[no-untyped-call]
        if not self._graphs[place]:
            del self._graphs[place]
            return
        operator, key = place
        beneath = torch.library.get_kernel(f"aten::{operator}", key)
        library: Any = torch.library.Library("aten", "IMPL", key)  # type: ignore[no-untyped-call]
        self._libraries[place] = library
        with _quietly():
            library.impl(operator, _router(tuple(self._graphs[place]), beneath), key, with_keyset=True)


def _router(nodes: tuple[Node, ...], beneath: Any) -> Callable[..., object]:
    def route(keys: Any, *positional: Any, **named: Any) -> object:
        for node in nodes:
            if node.cond_fn(*positional, **named):
                return node.impl_fn(*positional, **named)
        result: object = beneath.call_boxed(keys, *positional, **named)
        return result

    return route


def _user_order() -> Callable[[str, str, list[Node]], list[Node]] | None:
    """Return the function that orders overrides, as named in the user's environment, or None."""
    path = os.environ.get("TORCH_PYTHON_NATIVE_USER_GRAPH_ORDER_FN", "")
    module, _, attribute = path.rpartition(".")
    return getattr(importlib.import_module(module), attribute) if module else None
