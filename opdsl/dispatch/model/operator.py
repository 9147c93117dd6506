"""An operator: one overload, with its kernels by dispatch key."""

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
"""The tag of operators whose results may be views though no alias set says so."""


class Overloads(Dependency):
    """What holds all overloads of a name: a packet.

    module: whose declarations it holds.
    overloads: by their names.
    """

    __slots__ = ()

    name: str
    module: str
    overloads: dict[str, Operator]

    def operator_function(self, operator: Operator) -> FunctionType:
        """The function of one overload, with exactly its schema's parameters."""
        raise NotImplementedError


class Reached(NamedTuple):
    """What a call has reached in an operator's table.

    kernel: as it was registered.
    key: the key that it serves.
    keys: the key set of the call.
    is_composite: whether it is a body that calls other operators, which leaves to these what is to be done.
    """

    kernel: Kernel
    key: DispatchKey
    keys: KeySet
    is_composite: bool


# Does something around the kernel of a call, the second argument: gives a kernel that calls it, or the same.
Layer = Callable[["Operator", Kernel, Reached], Kernel]


class Operator:
    """One overload of a packet.

    Args:
        schema: its signature.
        fallbacks: the kernels that serve every operator of its registry.
        tags: PyTorch's tags, ``pointwise`` and the like.
        properties: what else its entry says, by the keys of native_functions.yaml.
        accepts_numbers: whether a Python number may stand for a tensor argument.
        may_alias: whether results may share memory with arguments though no alias set says so, as of some in PyTorch.
        is_bound: whether Python calls reach it; PyTorch hides ``add.Scalar`` and its kin.
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
        self.formula: Callable[..., Any] | None = None  # the function of operators that traces look into
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
        # What declares it, kept for the layers above: export, replacement of a declaration that is made again.
        self.declaration: object = None
        # Gives its function, when that is first made, what the layers above know of it.
        self.set_attributes: Callable[[FunctionType], object] | None = None
        # How its arguments get their gradients, for autograd.
        self.derivative: Any = None
        # How its calls may be cut, where that is declared (``opdsl.sharding``).
        self.sharding_rule: Any = None
        # What ``own_signature`` has found.
        self.own_signature: Any = None
        # Set when it is defined.
        self.packet: Overloads
        self.layers: tuple[Layer, ...] = ()
        self.registrations: dict[DispatchKey, list[Kernel]] = {}
        self.parameter_names = tuple([argument.python_name for argument in schema.arguments])
        kinds = map(kind_of, schema.arguments)
        named = zip(self.parameter_names, kinds, strict=True)
        self.dynamic_names = tuple([name for name, kind in named if kind is not Kind.VALUE])
        self._entries: dict[DispatchKey, Entry] = {}
        # Called when kernels change, for those that keep what they found here.
        self.watchers: list[Callable[[], object]] = []

    @property
    def function(self) -> FunctionType:
        """The function of this overload, ``opdsl.ops.aten.add.Tensor``."""
        return self.packet.operator_function(self)

    def named(self, result: object) -> object:
        """A result of several parts with their names."""
        return result if self.result_type is None or type(result) is not tuple else self.result_type(*result)

    def entry(self, key: DispatchKey) -> Entry:
        """The computed table's entry for a runtime key."""
        # Held here: what is computed while another thread registers a kernel must not land in the table made anew.
        entries = self._entries
        entry = entries.get(key)
        if entry is None:
            entry = entries[key] = compute(key, self.registrations, self.fallbacks)
        return entry

    def forget(self) -> None:
        """Compute the table anew: registrations or fallbacks have changed."""
        self._entries = {}
        for watch in tuple(self.watchers):
            watch()

    def key_set(self, arguments: Iterable[object], state: State) -> KeySet:
        """The keys of a call: those of every tensor among the arguments, and the guards'.

        A factory's come from its device, at BackendSelect; those of another operator without tensors are the CPU's.
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
        """The kernel that a call with these arguments reaches.

        Raises:
            MissingKernelError: the computed table has none for the call's key set.
        """
        return self.find_in(self.key_set(arguments, state))

    def find_in(self, keys: KeySet) -> Kernel:
        """The kernel of the highest key of a set that does not fall through.

        Raises:
            MissingKernelError: there is none, also when the module that declares it is complete.
        """
        key, kernel = self._highest(keys)
        if kernel is None and hasattr(self, "packet"):  # one that is in no registry has none
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
        """Whether a call with that key set runs a body that calls other operators (CompositeImplicitAutograd)."""
        key, _ = self._highest(keys)
        if key is BACKEND_SELECT:
            key = DispatchKey(BACKENDS[0])  # a body serves every device that a factory may be given
        return self.entry(key).reason in (Reason.MATH, Reason.NESTED)

    def _highest(self, keys: KeySet) -> tuple[DispatchKey, Kernel | None]:
        """The highest key of a set that does not fall through, Undefined if all do; and its kernel."""
        for key in keys.reachable():
            kernel = self.entry(key).kernel
            if not isinstance(kernel, Fallthrough):
                return key, kernel
        return RUNTIME_KEYS[0], self.entry(RUNTIME_KEYS[0]).kernel

    @property
    def kernel_keys(self) -> str:
        """The keys that have a kernel which computes, for messages; others hand calls on."""
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
        """Whether it returns one list of tensors."""
        returns = self.schema.returns
        return len(returns) == 1 and isinstance(returns[0].type, ListType)

    def __repr__(self) -> str:
        return f"<operator {self.schema}>"
