"""Packet class: all overloads of a name, and the functions that call them."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

from opdsl.dispatch.binding.factories import needs_backend_select
from opdsl.dispatch.binding.signature import Signature, own_signature, sort_signatures
from opdsl.dispatch.keys import BACKEND_SELECT
from opdsl.dispatch.layers.backend_select import BackendSelect
from opdsl.dispatch.layers.stack import LAYERS
from opdsl.dispatch.model.lazy_function import LazyFunction
from opdsl.dispatch.model.operator import Operator, Overloads
from opdsl.dispatch.plans.call_cache import CallCache
from opdsl.errors import UnknownOperatorError
from opdsl.runtime import remove_method
from opdsl.schema import GENERATED, SchemaKind

Select = Callable[[Operator], bool]


def _is_out(operator: Operator) -> bool:
    return operator.schema.kind is SchemaKind.out


def has_method(operator: Operator) -> bool:
    """Return whether an operator can be called by the packet's method."""
    return operator.is_bound and "method" in str(operator.properties.get("variants", ""))


def _has_function(operator: Operator) -> bool:
    """Return whether an operator can be called by the packet's function.

    Functions of aten reach the same overloads as PyTorch's, which exclude generated ones except copies of views
    (``should_generate_py_binding``); `opdsl.ops` has the others.
    """
    if not operator.is_bound or "view_copy" in operator.tags:
        return operator.is_bound
    if GENERATED in operator.tags:
        return False
    generates = getattr(operator.declaration, "generates", None)
    return generates is None or not (operator.name.startswith("aten::") and generates(operator))


def found_by_name(function: FunctionType, name: str, module: str | None, overload: str = "") -> FunctionType:
    """Set the module and qualified name by which pickle finds a function of an operator, and return the function.

    Args:
        function: the function of a packet or an overload.
        name: the qualified name of the packet.
        module: the module that declares it; None if unknown.
        overload: the name of the overload; empty for the packet's function.
    """
    namespace, _, base = name.partition("::")
    home = (
        ":" + module.replace(".", ":") if module and namespace != "aten" else "ops"
    )  # code that is run from a string may have no module
    path = filter(None, (home, namespace, base, overload))
    function.__module__, function.__qualname__ = "opdsl.by_name", ".".join(path)
    return function


def pair(operators: list[Operator], *, skip_self: bool = False, with_out: bool = True) -> list[Signature]:
    """Return the signatures of a packet in the order in which calls try them, with ``out=`` partners (INV-39)."""
    partners = (
        {str(operator.schema.signature()): operator for operator in operators if _is_out(operator)} if with_out else {}
    )
    signatures = []
    for operator in operators:
        if not _is_out(operator):
            partner = partners.pop(str(operator.schema.signature()), None)
            signatures.append(Signature(operator, partner, skip_self=skip_self))
    signatures += [Signature(None, partner, skip_self=skip_self) for partner in partners.values()]
    return sort_signatures(signatures)


def make_call_cache(
    name: str,
    signatures: list[Signature],
    namespace: dict[str, object],
    *,
    is_method: bool,
    not_implemented: bool,
    takes_aliases: bool,
) -> CallCache:
    """Make the call cache of a packet's signatures, with another one for their ``out=`` forms if there are any."""
    outs = [signature for signature in signatures if signature.out is not None]
    has_out = outs and any(signature.operator for signature in signatures)

    def make_out() -> CallCache:
        own = {"__name__": namespace["__name__"]}
        return CallCache(name, outs, own, required_out=True, parameters_of=signatures)

    return CallCache(
        name,
        signatures,
        namespace,
        out=make_out if has_out else None,
        is_method=is_method,
        returns_not_implemented=not_implemented,
        takes_aliases=takes_aliases,
    )


class Packet(Overloads):
    """Packet: all overloads of one name.

    function: the function over the overloads that Python exposes.
    method: the function that is installed as a method of Tensor, if there is one.
    """

    __slots__ = (
        "_operator_functions",
        "function",
        "lazy_functions",
        "main",
        "method",
        "module",
        "name",
        "overloads",
    )

    def __init__(self, name: str, module: str) -> None:
        super().__init__()
        self.name = name
        self.module = module
        self.overloads: dict[str, Operator] = {}
        self.lazy_functions: list[LazyFunction] = []
        self.method: LazyFunction | None = None
        self._operator_functions: dict[str, LazyFunction] = {}
        self.main = self.lazy_function(_has_function)
        self.function: FunctionType = found_by_name(self.main.function, name, module)

    def __repr__(self) -> str:
        return f"<packet {self.name}: {'; '.join(str(operator.schema) for operator in tuple(self.overloads.values()))}>"

    @property
    def base(self) -> str:
        """Return the name without its namespace."""
        return self.name.partition("::")[2]

    def lazy_function(
        self, select: Select, *, is_method: bool = False, name: str | None = None, not_implemented: bool = False
    ) -> LazyFunction:
        """Make a function over the selected overloads, which is updated when the packet changes.

        Args:
            select: selects the overloads.
            is_method: whether it becomes a method: without ``out``, and with lists of ints that may be spread.
            name: the name of the function, if it is not the packet's.
            not_implemented: whether a call that fits no overload returns ``NotImplemented``.
        """

        def make(namespace: dict[str, object]) -> CallCache:
            signatures = self.signatures(select, is_method=is_method)
            return make_call_cache(
                name or self.base,
                signatures,
                namespace,
                is_method=is_method,
                not_implemented=not_implemented,
                # Operators outside of aten only accept the names of their schema, like PyTorch's custom operators.
                takes_aliases=self.name.startswith("aten::") and not not_implemented,
            )

        lazy_function = LazyFunction(name or self.base, self.module, make)
        self.lazy_functions.append(lazy_function)
        return lazy_function

    def signatures(self, select: Select = _has_function, *, is_method: bool = False) -> list[Signature]:
        """Return the signatures of the selected overloads, in the order in which a call tries them.

        Args:
            select: selects the overloads; by default those of the packet's own function.
            is_method: whether the function is a method, which has no ``out``.

        Raises:
            UnknownOperatorError: the packet has no overload any more.
        """
        overloads = tuple(self.overloads.values())
        # A packet without any exposed overload can still be called in `opdsl.ops`.
        chosen = [overload for overload in overloads if select(overload)] or list(overloads)
        if not chosen:
            raise UnknownOperatorError(
                f"{self.name}: no operator of that name is declared any more; its library has removed it. Declare it "
                "again, or keep the library open."
            )
        return pair(chosen, skip_self=is_method, with_out=not is_method)

    def operator_function(self, operator: Operator) -> FunctionType:
        """Return the function of one overload, which has exactly its schema's parameters."""
        lazy_function = self._operator_functions.get(operator.schema.name.overload)
        if lazy_function is None:
            lazy_function = self._operator_functions[operator.schema.name.overload] = self._operator_function(operator)
        return lazy_function.function

    def build(self, operator: Operator) -> None:
        """Generate the function of one overload now rather than at its first call."""
        self.operator_function(operator)
        self._operator_functions[operator.schema.name.overload].build()

    def _operator_function(self, operator: Operator) -> LazyFunction:
        def make(namespace: dict[str, object]) -> CallCache:
            if operator.schema.name.overload not in self.overloads:
                raise UnknownOperatorError(f"{operator.name} is not declared any more; its library has removed it.")
            return CallCache(self.base, [own_signature(operator)], namespace, required_out=_is_out(operator))

        lazy_function = LazyFunction(self.base, self.module, make)
        found_by_name(lazy_function.function, self.name, self.module, operator.schema.name.overload or "default")
        # The attributes that modes and fallbacks read; a declaration may add more.
        lazy_function.function.__dict__.update(schema=operator.schema, tags=operator.tags, operator=operator)
        if operator.set_attributes is not None:
            operator.set_attributes(lazy_function.function)
        self.lazy_functions.append(lazy_function)
        return lazy_function

    def add(self, operator: Operator) -> None:
        """Add an overload."""
        operator.packet = self
        operator.layers = LAYERS
        if needs_backend_select(operator.schema):
            operator.registrations.setdefault(BACKEND_SELECT, [BackendSelect(operator)])
        self.overloads[operator.schema.name.overload] = operator
        self.change()

    def remove(self, operator: Operator) -> None:
        """Remove an overload, and the method if no overload needs it any more."""
        overload = operator.schema.name.overload
        self.overloads.pop(overload, None)
        lazy_function = self._operator_functions.pop(overload, None)
        if lazy_function is not None:
            lazy_function.change()
            self.lazy_functions.remove(lazy_function)
        if self.method is not None and not any(map(has_method, self.overloads.values())):
            self.lazy_functions.remove(self.method)
            self.method = None
            remove_method(self.base)
        self.change()

    def change(self) -> None:
        """Invalidate the code of every function, so that it is generated again at the next call."""
        for lazy_function in tuple(self.lazy_functions):
            lazy_function.change()

    def forget(self) -> None:
        """Drop all plans of this packet, and plans of other packets that depend on it, since a kernel has changed."""
        super().forget()
        for lazy_function in tuple(self.lazy_functions):
            lazy_function.forget()
