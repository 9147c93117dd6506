"""Dispatcher: dispatch keys, computed tables, guards, operators and packets, and the functions that users call.

``keys`` and ``table`` implement PyTorch's rules; ``state`` holds the state on which a call depends besides its
arguments; ``binding`` binds a call to a schema; ``plans`` generates the functions and caches plans; ``model`` holds
the declared operators. A kernel is only known as a callable that can make a plan. May import: errors, schema, runtime.
"""

from __future__ import annotations

from opdsl.dispatch.binding.boxed import BoxedKernel, unbox
from opdsl.dispatch.binding.signature import Signature, bind
from opdsl.dispatch.guards import (
    enable_grad,
    exclude_keys,
    get_default_dtype,
    include_keys,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_default_dtype,
    set_grad_enabled,
)
from opdsl.dispatch.keys import DispatchKey, KeySet
from opdsl.dispatch.layers.checked import checked
from opdsl.dispatch.layers.modes import DispatchMode
from opdsl.dispatch.layers.recording import record_calls
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.lazy_function import LazyFunction
from opdsl.dispatch.model.namespaces import Namespace, Operators
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.packet import Packet
from opdsl.dispatch.model.registry import Registry, declared_into, declaring_into, registry
from opdsl.dispatch.plans.call_cache import CallCache
from opdsl.dispatch.plans.traceable import traceable
from opdsl.dispatch.state import State, current
from opdsl.dispatch.table import FALLTHROUGH, DispatchTable, Entry, Reason

__all__ = [
    "FALLTHROUGH",
    "BoxedKernel",
    "CallCache",
    "DispatchKey",
    "DispatchMode",
    "DispatchTable",
    "Entry",
    "Kernel",
    "KeySet",
    "LazyFunction",
    "Namespace",
    "Operator",
    "Operators",
    "Packet",
    "Reason",
    "Registry",
    "Signature",
    "State",
    "bind",
    "checked",
    "current",
    "declared_into",
    "declaring_into",
    "enable_grad",
    "exclude_keys",
    "get_default_dtype",
    "include_keys",
    "inference_mode",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "no_grad",
    "record_calls",
    "registry",
    "set_default_dtype",
    "set_grad_enabled",
    "traceable",
    "unbox",
]
