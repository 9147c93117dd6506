"""A packet: all overloads of a name, and the functions that call them."""

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
    """Whether calls of the packet's method reach an operator."""
    return operator.is_bound and "method" in str(operator.properties.get("variants", ""))


def _has_function(operator: Operator) -> bool:
    """Whether calls of the packet's function reach an operator.

    Those of aten have PyTorch's functions, which reach nothing of what torchgen generates but copies of views
    (``should_generate_py_binding``); `opdsl.ops` has the rest.
    """
    if not operator.is_bound or "view_copy" in operator.tags:
        return operator.is_bound
    if GENERATED in operator.tags:
        return False
    generates = getattr(operator.declaration, "generates", None)
    return generates is None or not (operator.name.startswith("aten::") and generates(operator))


def found_by_name(function: FunctionType, name: str, module: str | None, overload: str = "") -> FunctionType:
    """Give a function of an operator the name by which pickle finds it.

    Args:
        function: of a packet or an overload.
        name: of the packet.
        module: that declares it; None where no name is known.
        overload: whose function it is; none for the packet's.
    """
    namespace, _, base = name.partition("::")
    home = (
        ":" + module.replace(".", ":") if module and namespace != "aten" else "ops"
    )  # text that is run may have no module
    path = filter(None, (home, namespace, base, overload))
    function.__module__, function.__qualname__ = "opdsl.by_name", ".".join(path)
    return function


def pair(operators: list[Operator], *, skip_self: bool = False, with_out: bool = True) -> list[Signature]:
    """The signatures of a packet in the order in which they are tried, each with its ``out=`` partner (INV-39)."""
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
    """The call cache of a packet's signatures, with that of their ``out=`` forms where there are any."""
    outs = [signature for signature in signatures if signature.out is not None]
    out: CallCache | None = None
    if outs and any(signature.operator for signature in signatures):
        out = CallCache(name, outs, {"__name__": namespace["__name__"]}, required_out=True, parameters_of=signatures)
    return CallCache(
        name,
        signatures,
        namespace,
        out=out,
        is_method=is_method,
        returns_not_implemented=not_implemented,
        takes_aliases=takes_aliases,
    )


class Packet(Overloads):
    """All overloads of one name.

    function: the function over every overload that Python reaches.
    method: the function that is installed on Tensor, if one is.
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
        """The name without its namespace."""
        return self.name.partition("::")[2]

    def lazy_function(
        self, select: Select, *, is_method: bool = False, name: str | None = None, not_implemented: bool = False
    ) -> LazyFunction:
        """A new function over the selected overloads, which follows the packet as it changes.

        Args:
            select: which overloads it reaches.
            is_method: whether it becomes a method: no ``out``, and lists of ints may be spread.
            name: of the function, if it is not the packet's.
            not_implemented: whether a call that fits nothing returns ``NotImplemented``.
        """

        def make(namespace: dict[str, object]) -> CallCache:
            signatures = self.signatures(select, is_method=is_method)
            return make_call_cache(
                name or self.base,
                signatures,
                namespace,
                is_method=is_method,
                not_implemented=not_implemented,
                # Operators of others have the names of their schema alone, as PyTorch's custom operators.
                takes_aliases=self.name.startswith("aten::") and not not_implemented,
            )

        lazy_function = LazyFunction(name or self.base, self.module, make)
        self.lazy_functions.append(lazy_function)
        return lazy_function

    def signatures(self, select: Select = _has_function, *, is_method: bool = False) -> list[Signature]:
        """What calls of a function over the selected overloads are tried against, in that order.

        Args:
            select: which overloads the function reaches; by default those of the packet's own.
            is_method: whether it is a method, which has no ``out``.

        Raises:
            UnknownOperatorError: the packet has no overload any more.
        """
        overloads = tuple(self.overloads.values())
        # A packet of which Python calls reach nothing is still found in `opdsl.ops`.
        chosen = [overload for overload in overloads if select(overload)] or list(overloads)
        if not chosen:
            raise UnknownOperatorError(
                f"{self.name}: no operator of that name is declared any more; its library has taken it back. "
                "Declare it again, or keep the library open."
            )
        return pair(chosen, skip_self=is_method, with_out=not is_method)

    def operator_function(self, operator: Operator) -> FunctionType:
        """The function of one overload, with exactly its schema's parameters."""
        lazy_function = self._operator_functions.get(operator.schema.name.overload)
        if lazy_function is None:
            lazy_function = self._operator_functions[operator.schema.name.overload] = self._operator_function(operator)
        return lazy_function.function

    def build(self, operator: Operator) -> None:
        """Generate the function of one overload now."""
        self.operator_function(operator)
        self._operator_functions[operator.schema.name.overload].build()

    def _operator_function(self, operator: Operator) -> LazyFunction:
        def make(namespace: dict[str, object]) -> CallCache:
            if operator.schema.name.overload not in self.overloads:
                raise UnknownOperatorError(f"{operator.name} is not declared any more; its library has taken it back.")
            return CallCache(self.base, [own_signature(operator)], namespace, required_out=_is_out(operator))

        lazy_function = LazyFunction(self.base, self.module, make)
        found_by_name(lazy_function.function, self.name, self.module, operator.schema.name.overload or "default")
        # What modes and fallbacks look at, also where no declaration adds more.
        lazy_function.function.__dict__.update(schema=operator.schema, tags=operator.tags, operator=operator)
        if operator.set_attributes is not None:
            operator.set_attributes(lazy_function.function)
        self.lazy_functions.append(lazy_function)
        return lazy_function

    def add(self, operator: Operator) -> None:
        """Take an overload in."""
        operator.packet = self
        operator.layers = LAYERS
        if needs_backend_select(operator.schema):
            operator.registrations.setdefault(BACKEND_SELECT, [BackendSelect(operator)])
        self.overloads[operator.schema.name.overload] = operator
        self.change()

    def remove(self, operator: Operator) -> None:
        """Take an overload out."""
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
        """Make every function anew when it is next called."""
        for lazy_function in tuple(self.lazy_functions):
            lazy_function.change()

    def forget(self) -> None:
        """Drop every plan: a kernel has changed. So are the plans of other packets that are made of this one's."""
        super().forget()
        for lazy_function in tuple(self.lazy_functions):
            lazy_function.forget()
