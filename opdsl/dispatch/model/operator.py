"""Operator class: one overload, with its kernels by dispatch key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, NamedTuple

from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.dispatch.binding.return_types import result_type
from opdsl.dispatch.keys import BACKEND_SELECT, BACKENDS, RUNTIME_KEYS, DispatchKey, KeySet, backend_key_set
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.plans.plan_holders import Dependency
from opdsl.dispatch.state import State
from opdsl.dispatch.table import Entry, Fallthrough, Reason, compute
from opdsl.errors import MissingKernelError
from opdsl.runtime import Device, Tensor, backends
from opdsl.runtime.importing import wait_for_module
from opdsl.schema import FunctionSchema, ListType

MAY_BE_VIEW = "maybe_aliasing_or_mutating"
"""Tag of operators whose results may be views although their schema has no alias set."""


class Overloads(Dependency):
    """Base class of packets: holds all overloads of a name.

    module: the module whose declarations it holds.
    overloads: the overloads by name.
    """

    __slots__ = ()

    name: str
    module: str
    overloads: dict[str, Operator]

    def operator_function(self, operator: Operator) -> FunctionType:
        """Return the function of one overload, which has exactly its schema's parameters."""
        raise NotImplementedError


class Reached(NamedTuple):
    """Kernel that a call has reached in an operator's table, with the keys by which the call was dispatched.

    kernel: the kernel as it was registered.
    key: the key that it serves.
    keys: the key set of the call.
    is_composite: whether it is a body that calls other operators, to which it leaves checks and guards.
    """

    kernel: Kernel
    key: DispatchKey
    keys: KeySet
    is_composite: bool


# Wraps the kernel of a call (the second argument) in another kernel, or returns it unchanged.
Layer = Callable[["Operator", Kernel, Reached], Kernel]


class Operator:
    """Operator: one overload of a packet, with its schema, kernels and computed table.

    Args:
        schema: its schema.
        fallbacks: the kernels that serve every operator of its registry.
        tags: PyTorch's tags, such as ``pointwise``.
        properties: the other properties of its entry, by the keys of native_functions.yaml.
        accepts_numbers: whether a Python number is accepted for a tensor argument.
        may_alias: whether results may share memory with arguments although no alias set says so, as for some operators
            of PyTorch.
        is_bound: whether calls of the packet's function reach it; PyTorch hides ``add.Scalar`` and similar overloads.
        location: ``file:line`` of the declaration, for messages.
    """

    __slots__ = (
        "__weakref__",
        "_entries",
        "accepts_numbers",
        "declaration",
        "derivative",
        "dynamic_names",
        "fallbacks",
        "formula",
        "is_bound",
        "layers",
        "location",
        "may_alias",
        "name",
        "own_signature",
        "packet",
        "packet_name",
        "parameter_names",
        "properties",
        "registrations",
        "result_type",
        "schema",
        "set_attributes",
        "sharding_rule",
        "tags",
        "watchers",
    )

    def __init__(
        self,
        schema: FunctionSchema,
        fallbacks: Mapping[DispatchKey, Kernel],
        *,
        tags: Iterable[str] = (),
        properties: Mapping[str, object] | None = None,
        accepts_numbers: bool = False,
        is_bound: bool = True,
        may_alias: bool = False,
        location: str = "",
    ) -> None:
        self.formula: Callable[..., Any] | None = None  # the function of an operator whose formula traces inline
        self.schema = schema
        self.fallbacks = fallbacks
        self.name = schema.name.qualified
        self.result_type = result_type(schema)
        self.packet_name = self.name.partition(".")[0]
        self.tags = tuple(tags)
        self.properties: dict[str, object] = dict(properties or {})
        self.accepts_numbers = accepts_numbers
        self.is_bound = is_bound
        self.may_alias = may_alias or MAY_BE_VIEW in self.tags
        self.location = location
        # The declaration, for modules above: export, and replacement if the operator is declared again.
        self.declaration: object = None
        # Sets attributes of the operator's function when it is first made; installed by modules above.
        self.set_attributes: Callable[[FunctionType], object] | None = None
        # The derivative formulas of its arguments, for autograd.
        self.derivative: Any = None
        # How calls may be sharded, if that is declared (``opdsl.sharding``).
        self.sharding_rule: Any = None
        # Cache of ``own_signature``.
        self.own_signature: Any = None
        # Set when the operator is defined.
        self.packet: Overloads
        self.layers: tuple[Layer, ...] = ()
        self.registrations: dict[DispatchKey, list[Kernel]] = {}
        self.parameter_names = tuple([argument.python_name for argument in schema.arguments])
        kinds = map(kind_of, schema.arguments)
        named = zip(self.parameter_names, kinds, strict=True)
        self.dynamic_names = tuple([name for name, kind in named if kind is not Kind.VALUE])
        self._entries: dict[DispatchKey, Entry] = {}
        # Called when kernels change, for objects that cache kernels of this operator.
        self.watchers: list[Callable[[], object]] = []

    @property
    def function(self) -> FunctionType:
        """Return the function of this overload, ``opdsl.ops.aten.add.Tensor``."""
        return self.packet.operator_function(self)

    def named(self, result: object) -> object:
        """Return a result with several parts as the operator's named tuple; other results unchanged."""
        return result if self.result_type is None or type(result) is not tuple else self.result_type(*result)

    def entry(self, key: DispatchKey) -> Entry:
        """Return the entry of a runtime key in the computed table."""
        # A local reference: an entry computed while another thread registers a kernel must not get into the new table.
        entries = self._entries
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = compute(key, self.registrations, self.fallbacks)
        return entry

    def forget(self) -> None:
        """Drop the computed table, since registrations or fallbacks have changed, and notify the watchers."""
        self._entries = {}
        for watch in tuple(self.watchers):
            watch()

    def key_set(self, arguments: Iterable[object], state: State) -> KeySet:
        """Return the key set of a call: the keys of all tensor arguments and those included by guards.

        A factory gets its backend's key from its device, at BackendSelect; other calls without tensors get the CPU's
        keys.
        """
        bits = state.include.bits
        seen = False
        for value in arguments:
            for element in value if isinstance(value, tuple) else (value,):
                if isinstance(element, Tensor):
                    form = element.geometry
                    bits |= backend_key_set(form.backend, form.is_inference, form.is_conj, form.is_neg).bits
                    seen = True
        if not seen and BACKEND_SELECT not in self.registrations:
            bits |= self._keys_without_tensors(arguments).bits
        return KeySet.of_bits(bits) - state.exclude

    def _keys_without_tensors(self, arguments: Iterable[object]) -> KeySet:
        device = next((argument for argument in arguments if isinstance(argument, Device)), Device("cpu"))
        return backend_key_set(backends.key_of(device.type))

    def find(self, arguments: Iterable[object], state: State) -> Kernel:
        """Return the kernel that a call with these arguments reaches.

        Raises:
            MissingKernelError: the computed table has no kernel for the call's key set.
        """
        return self.find_in(self.key_set(arguments, state))

    def find_in(self, keys: KeySet) -> Kernel:
        """Return the kernel of the highest key of a set that does not fall through, wrapped in its layers.

        Raises:
            MissingKernelError: no kernel is registered, even after the import of the module that declares it is
                complete.
        """
        key, kernel = self._highest(keys)
        if kernel is None and hasattr(self, "packet"):  # an operator in no registry has no packet
            wait_for_module(self.packet.module)
            key, kernel = self._highest(keys)
        if kernel is None:
            raise MissingKernelError(self._missing(keys))
        layered = kernel.for_call(self, keys)
        reached = Reached(kernel, key, keys, self.entry(key).reason in (Reason.MATH, Reason.NESTED))
        for layer in self.layers:
            layered = layer(self, layered, reached)
        return layered

    def is_composite(self, keys: KeySet) -> bool:
        """Return whether a call with a key set runs a body that calls other operators (CompositeImplicitAutograd)."""
        key, _ = self._highest(keys)
        if key is BACKEND_SELECT:
            key = DispatchKey(BACKENDS[0])  # a factory's composite body serves every device
        return self.entry(key).reason in (Reason.MATH, Reason.NESTED)

    def _highest(self, keys: KeySet) -> tuple[DispatchKey, Kernel | None]:
        """Return the highest key of a set that does not fall through (Undefined if all do), and its kernel."""
        for key in keys.reachable():
            kernel = self.entry(key).kernel
            if not isinstance(kernel, Fallthrough):
                return key, kernel
        return RUNTIME_KEYS[0], self.entry(RUNTIME_KEYS[0]).kernel

    @property
    def kernel_keys(self) -> str:
        """Return the keys that have a kernel which computes, for messages; kernels of other keys redispatch."""
        keys = [
            str(registration)
            for registration in self.registrations
            if registration.is_alias or registration.backend is not None
        ]
        return ", ".join(keys) or "none"

    def _missing(self, keys: KeySet) -> str:
        wanted = next(
            (str(key) for key in keys.reachable() if not isinstance(self.entry(key).kernel, Fallthrough)), "Undefined"
        )
        short = self.name.removeprefix("aten::")
        packet, _, overload = short.partition("::")[2].partition(".") if "::" in short else short.partition(".")
        handle = f"{packet}.{overload}" if overload else packet
        have = f"no {wanted} kernel (have {self.kernel_keys})"
        return f'{self.name}: {have}. Register one with @{handle}.kernel("{wanted}").'

    @property
    def returns_list(self) -> bool:
        """Return whether the operator returns one list of tensors."""
        returns = self.schema.returns
        return len(returns) == 1 and isinstance(returns[0].type, ListType)

    def __repr__(self) -> str:
        return f"<operator {self.schema}>"
