"""What an operator hands to its implementations: the type of every place that ``implementations`` has marked.

The operator is looked up as any name is, so that it may be declared in another module. What is no operator gives types
to nothing, and mypy then says that annotations are missing. Scalar functions are generic over numbers: theirs is Any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mypy.nodes import Decorator, MypyFile, SymbolNode, Var
from mypy.plugin import AnalyzeTypeContext
from mypy.typeanal import TypeAnalyser
from mypy.types import (
    AnyType,
    CallableType,
    Instance,
    NoneType,
    Parameters,
    TupleType,
    Type,
    TypeOfAny,
    UnboundType,
    UnionType,
    flatten_nested_unions,
    get_proper_type,
)

from opdsl.typing.annotations import LISTS, TENSORS, TypeHook, named
from opdsl.typing.calls import OPERATOR
from opdsl.typing.place import Place
from opdsl.typing.syntax import RECEIVED, is_declaring, is_ours

META_CONTEXT = "opdsl.kernels.meta.MetaContext"
VIEW = "opdsl.runtime.views.View"
ARRAY = "opdsl.runtime.tensor.Array"
DTYPE = "opdsl.runtime.dtype.DType"


class Signature(NamedTuple):
    """What a declaration says, with analysed types; nothing of it where an operator is there but not its types."""

    names: tuple[str, ...] | None
    types: tuple[Type, ...] = ()
    result: Type | None = None

    def of(self, name: str) -> Type | None:
        """The type of a parameter; None where there is no such parameter."""
        return dict(zip(self.names or (), self.types, strict=True)).get(name)


UNSEEN = Signature(None)


def received(context: AnalyzeTypeContext) -> Type:
    """The type of a place."""
    place = Place.of(context.type)
    api = context.api
    if place is None or not isinstance(api, TypeAnalyser):
        return AnyType(TypeOfAny.from_error)
    signature = _operator(api, place, context)
    if signature is None:
        return AnyType(TypeOfAny.unannotated)
    expected = _expected(place, signature)
    if expected is not None and place.reports and not _fits(place, expected):
        api.fail(_misfit(place, expected), context.context)
    return TYPES[place.decorator](api, place, signature) or AnyType(TypeOfAny.explicit)


# ------------------------------------------------------------------------------------------------ finding the operator


def _operator(api: TypeAnalyser, place: Place, context: AnalyzeTypeContext) -> Signature | None:
    """The signature of a place's operator; None if what its name means is no operator of ours."""
    parts = place.operator.split(".")
    module = ""
    for count in range(1, len(parts) + 1):
        symbol = api.lookup_qualified(".".join(parts[:count]), context.context, suppress_errors=True)
        node = None if symbol is None else symbol.node
        if not isinstance(node, MypyFile):
            return _signature(node, module, is_whole=place.is_whole and count == len(parts))
        module = node.fullname
    return None


def _signature(node: SymbolNode | None, module: str, *, is_whole: bool) -> Signature | None:
    # `opdsl.add` comes from a module-level __getattr__: nothing more is known of it.
    unknown = UNSEEN if is_ours(module) or (isinstance(node, Var) and is_ours(node.fullname)) else None
    found = _signature_of_decorated(node) if isinstance(node, Decorator) else None
    if found is None and isinstance(node, (Decorator, Var)):
        kind = get_proper_type(node.type)
        found = _signature_of_instance(kind) if isinstance(kind, Instance) else None
    return unknown if found is None else found if is_whole else UNSEEN


def _signature_of_decorated(node: Decorator) -> Signature | None:
    """What stands below a decorator that declares; mypy's cache keeps no decorators, but the type of the result."""
    if not any(map(is_declaring, node.original_decorators)):
        return None
    declared = node.func.type
    return _signature_of_callable(declared, declared.ret_type) if isinstance(declared, CallableType) else UNSEEN


def _signature_of_instance(kind: Instance) -> Signature | None:
    if kind.type.fullname != OPERATOR:
        return UNSEEN if is_ours(kind.type.fullname) else None
    parameters, result = (get_proper_type(each) for each in kind.args)
    # `Operator[..., Tensor]` takes *args and **kwargs.
    if not isinstance(parameters, Parameters) or any(each.is_star() for each in parameters.arg_kinds):
        return UNSEEN
    return _signature_of_callable(parameters, result)


def _signature_of_callable(parameters: CallableType | Parameters, result: Type) -> Signature:
    # In a cycle of imports, the other module's functions may not be analysed yet.
    if any(isinstance(each, UnboundType) for each in (*parameters.arg_types, result)):
        return UNSEEN
    return Signature(tuple(name or "" for name in parameters.arg_names), tuple(parameters.arg_types), result)


# -------------------------------------------------------------------------------------------------- what is handed over


def _expected(place: Place, signature: Signature) -> tuple[str, ...] | None:
    """The parameters that an implementation has to have; None where they are free."""
    if signature.names is None or TYPES[place.decorator] in (_scalar, _derivative):
        return None
    if place.decorator == "meta":
        return (place.parameters[0] if place.parameters else "ctx", *signature.names)
    return signature.names


def _fits(place: Place, expected: tuple[str, ...]) -> bool:
    """Whether the parameters are the expected ones; precomputed values and outputs follow in out-kernels."""
    given = place.parameters
    return given[: len(expected)] == expected if place.decorator == "out_kernel" else given == expected


def _misfit(place: Place, expected: Sequence[str]) -> str:
    decorator = f"@{place.operator}.{place.decorator}"
    more = ", ..." if place.decorator == "out_kernel" else ""
    return (
        f"{decorator} {place.function}({', '.join(place.parameters)}) does not fit the declaration. "
        f"Write: def {place.function}({', '.join(expected)}{more})"
    )


def _scalar(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    return None


def _meta(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """The context and the arguments; what is returned are precomputed values."""
    if not place.parameter:
        return None if place.returns_value else NoneType()
    if place.parameter == place.parameters[0]:
        return named(api, META_CONTEXT)
    return _argument(api, place, signature)


def _out_kernel(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """The arguments, precomputed values of any type, and last the outputs, as many as there are returns."""
    if not place.parameter:
        return NoneType()
    declared = signature.of(place.parameter)
    result = get_proper_type(signature.result) if signature.result is not None else None
    if declared is not None or result is None:
        return _argument(api, place, signature)
    outputs = result.items if isinstance(result, TupleType) else [result]
    place_from_end = len(place.parameters) - place.parameters.index(place.parameter)
    return _handed_over(api, outputs[-place_from_end], place) if place_from_end <= len(outputs) else None


def _kernel(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """The arguments; a kernel that writes one of them need not return it."""
    if place.parameter:
        return _argument(api, place, signature)
    if not place.returns_value:
        return NoneType()
    return None if signature.result is None else _returned(api, signature.result)


def _view_kernel(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """From where the elements of the first argument lie to where those of the view lie."""
    if not place.parameter or place.parameter == place.parameters[0]:
        return named(api, VIEW)
    return _argument(api, place, signature)


def _derivative(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """The gradient of the first result, and any of the arguments."""
    if place.parameter == "grad":
        return named(api, TENSORS[0])
    return _argument(api, place, signature) if signature.of(place.parameter) is not None else None


TYPES: dict[str, Callable[[TypeAnalyser, Place, Signature], Type | None]] = {
    "pointwise": _scalar,
    "reduction": _scalar,
    "row": _scalar,
    "scan": _scalar,
    "meta": _meta,
    "out_kernel": _out_kernel,
    "kernel": _kernel,
    "view_kernel": _view_kernel,
    "derivative": _derivative,
}
"""The type of a place by the decorator that it stands below; None where every type is right."""


def _argument(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    declared = signature.of(place.parameter)
    return None if declared is None else _handed_over(api, declared, place)


def _handed_over(api: TypeAnalyser, declared: Type, place: Place) -> Type:
    """An argument as an implementation gets it: lists have become tuples, and what numba compiles gets arrays."""
    kind = get_proper_type(declared)
    if isinstance(kind, UnionType):
        return UnionType.make_union([_handed_over(api, each, place) for each in _without_elements(kind)])
    if not isinstance(kind, Instance):
        return kind
    fullname = kind.type.fullname
    if fullname in LISTS:
        return api.named_type("builtins.tuple", [_handed_over(api, kind.args[0], place)])
    if place.handed == "Tensor":
        return kind
    if fullname in TENSORS:
        return named(api, ARRAY) if place.handed == "Array" else AnyType(TypeOfAny.explicit)
    return named(api, "builtins.str") if fullname == DTYPE else kind


def _without_elements(union: UnionType) -> list[Type]:
    """The items of a union; of ``int | Sequence[int]``, where one int stands for a list, the list alone."""
    items = [get_proper_type(each) for each in flatten_nested_unions(union.items)]
    lists = [each for each in items if isinstance(each, Instance) and each.type.fullname in LISTS]
    elements = {get_proper_type(each.args[0]) for each in lists}
    return [each for each in items if each not in elements]


def _returned(api: TypeAnalyser, declared: Type) -> Type:
    """A result as a kernel may give it: any sequence for a list, a plain tuple for a named one."""
    kind = get_proper_type(declared)
    if isinstance(kind, TupleType):
        items = [_returned(api, each) for each in kind.items]
        return TupleType(items, api.named_type("builtins.tuple", [AnyType(TypeOfAny.special_form)]))
    if isinstance(kind, Instance) and kind.type.fullname == "builtins.list":
        return api.named_type("typing.Sequence", list(kind.args))
    return kind


HOOKS: dict[str, TypeHook] = {f"{RECEIVED}.Received": received}
"""How a place is read, by the full name of what it is written as."""
