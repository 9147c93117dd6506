"""Types of the parameters and results of implementations, whose annotations ``implementations`` has replaced by encoded
``Place`` values.

The operator is looked up like any name, so it may be declared in another module. If it is not an operator, no types are
set, and mypy reports missing annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from attrs import evolve
from mypy.messages import format_type_bare
from mypy.nodes import Decorator, FuncDef, MypyFile, SymbolNode, Var
from mypy.plugin import AnalyzeTypeContext
from mypy.semanal import SemanticAnalyzer
from mypy.subtypes import is_subtype
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

from opdsl.schema import ListType
from opdsl.schema.implementation import OUTPUT_MASK, result_names
from opdsl.schema.kinds import KINDS, Function
from opdsl.typing.annotations import LISTS, TENSOR_MODULE, TENSORS, TypeHook, named
from opdsl.typing.calls import OPERATOR
from opdsl.typing.faults import Declared, misfit, options_name
from opdsl.typing.place import Place
from opdsl.typing.precomputed import precomputed_of
from opdsl.typing.schemas import schema_of
from opdsl.typing.syntax import RECEIVED, is_declaring, is_ours

META_CONTEXT = "opdsl.kernels.definitions.meta.MetaContext"
VIEW = "opdsl.runtime.views.View"
ARRAY = "opdsl.runtime.tensor.Array"
DTYPE = "opdsl.runtime.dtype.DType"
OPTIONS_CLASS = "opdsl.schema.vocabulary.TensorOptions"


class Signature(NamedTuple):
    """Signature of a declaration with analyzed types; without contents if the operator's types are unknown."""

    declared: Declared | None
    types: Mapping[str, Type] = MappingProxyType({})
    result: Type | None = None


UNSEEN = Signature(None)


def received(context: AnalyzeTypeContext) -> Type:
    """Return the type of a parameter or result: the written annotation, or else the type that the operator passes or
    expects.
    """
    place = Place.of(context.type)
    api = context.api
    if place is None or not isinstance(api, TypeAnalyser):
        return AnyType(TypeOfAny.from_error)
    written = api.analyze_type(context.type.args[1]) if len(context.type.args) > 1 else None
    signature = _operator(api, place, context)
    if signature is None:
        return AnyType(TypeOfAny.unannotated) if written is None else written
    fault = "" if signature.declared is None else misfit(place, signature.declared)
    if fault and not place.parameter:
        api.fail(fault, context.context)
    expected = None if fault else _type(api, place, signature)
    if written is None:
        return AnyType(TypeOfAny.explicit) if expected is None else expected
    problem = "" if fault else disagreement(api, place, signature, written)
    if problem:
        assert signature.declared is not None, "it has types"
        about = f"{place.attaching} {place.function}"
        api.fail(f"{about}: {problem}. The declaration is {signature.declared.schema}", context.context)
    return written


# ------------------------------------------------------------------------------------------------ finding the operator


def _operator(api: TypeAnalyser, place: Place, context: AnalyzeTypeContext) -> Signature | None:
    """Return the signature of the operator that a ``Place`` belongs to; None if the name does not refer to an operator
    of opdsl.
    """
    parts = place.operator.split(".")
    module = ""
    for count in range(1, len(parts) + 1):
        symbol = api.lookup_qualified(".".join(parts[:count]), context.context, suppress_errors=True)
        node = None if symbol is None else symbol.node
        if not isinstance(node, MypyFile):
            return _signature(api, place, node, module, is_whole=place.is_whole and count == len(parts))
        module = node.fullname
    return None


def _signature(
    api: TypeAnalyser, place: Place, node: SymbolNode | None, module: str, *, is_whole: bool
) -> Signature | None:
    # `opdsl.add` comes from a module-level __getattr__, so that its type is unknown.
    unknown = UNSEEN if is_ours(module) or (isinstance(node, Var) and is_ours(node.fullname)) else None
    if not isinstance(node, (Decorator, Var)):
        return unknown
    if isinstance(node, Var) and node.type is None and _makes_operator(api, place.made_by):
        return UNSEEN  # its signature is known only when types are checked
    callable_type = _callable_of(node)
    if isinstance(callable_type, Signature):
        return callable_type if is_whole else UNSEEN
    if callable_type is None:
        return unknown
    if not is_whole or any(
        isinstance(part, UnboundType) for part in (*callable_type.arg_types, callable_type.ret_type)
    ):
        return UNSEEN  # a variant, or an operator of an import cycle whose functions are not analyzed yet
    names = [arg_name or "" for arg_name in callable_type.arg_names]
    schema = schema_of(node.name, names, callable_type.arg_kinds, callable_type.arg_types, callable_type.ret_type)
    precomputed = place.precomputed
    if precomputed is None:
        precomputed = precomputed_of(node.name, _symbols_beside(api, node))
    return Signature(
        Declared(schema, precomputed), dict(zip(names, callable_type.arg_types, strict=True)), callable_type.ret_type
    )


# Methods of libraries and of operators that return an operator.
_MAKING = ("define", "alias", "view_copy", "view_scatter", "number_overload")


def _makes_operator(api: TypeAnalyser, path: str) -> bool:
    """Return whether a function, by its dotted name, is annotated to return an operator; methods are recognized by
    name.
    """
    if path.rpartition(".")[2] in _MAKING:
        return True
    symbol = api.lookup_qualified(path, UnboundType(path), suppress_errors=True) if path else None
    kind = symbol.node.type if symbol is not None and isinstance(symbol.node, FuncDef) else None
    result = kind.ret_type if isinstance(kind, CallableType) else None
    if isinstance(result, UnboundType):  # of this module, not analyzed yet
        return result.name.rpartition(".")[2] == OPERATOR.rpartition(".")[2]
    return isinstance(result, Instance) and result.type.fullname == OPERATOR


def _symbols_beside(api: TypeAnalyser, node: SymbolNode) -> Iterable[str]:
    """Return the names of symbols in the module that declares an operator."""
    modules = api.api.modules if isinstance(api.api, SemanticAnalyzer) else {}
    module = modules.get(node.fullname.rpartition(".")[0])
    return () if module is None else module.names


def _callable_of(node: Decorator | Var) -> CallableType | Signature | None:
    """Return the CallableType of an operator; ``UNSEEN`` if it is unresolved, None if the node is not an operator.

    An operator is recognized by a declaring decorator, or by the type of the result, since mypy's cache keeps no
    decorators.
    """
    if isinstance(node, Decorator) and any(map(is_declaring, node.original_decorators)):
        declared = node.func.type
        return declared if isinstance(declared, CallableType) else UNSEEN
    kind = get_proper_type(node.type)
    if not isinstance(kind, Instance):
        return None
    if kind.type.fullname != OPERATOR:
        return UNSEEN if is_ours(kind.type.fullname) else None
    parameters, result = (get_proper_type(arg) for arg in kind.args)
    # `Operator[..., Tensor]` takes *args and **kwargs.
    if not isinstance(parameters, Parameters) or any(arg_kind.is_star() for arg_kind in parameters.arg_kinds):
        return UNSEEN
    return CallableType(parameters.arg_types, parameters.arg_kinds, parameters.arg_names, result, kind)


# --------------------------------------------------------------------------------------------------- received arguments


def _meta(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type of a parameter of a shape function: the context, or an argument; results are precomputed
    values.
    """
    if not place.parameter:
        return None if place.returns_value else NoneType()
    if place.parameter == place.parameters[0]:
        return named(api, META_CONTEXT)
    return _argument(api, place, signature)


def _out_kernel(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type of a parameter of an out-kernel: arguments, then precomputed values of any type, then the
    outputs.
    """
    if not place.parameter:
        return NoneType()
    declared = signature.types.get(place.parameter)
    result = get_proper_type(signature.result) if signature.result is not None else None
    if declared is not None or result is None:
        return _argument(api, place, signature)
    outputs = _items(result)
    place_from_end = len(place.parameters) - place.parameters.index(place.parameter)
    return _handed_over(api, outputs[-place_from_end], place) if place_from_end <= len(outputs) else None


def _kernel(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type of a kernel's parameter or result, which a kernel that writes an argument may omit."""
    if place.parameter:
        return _argument(api, place, signature)
    if not place.returns_value:
        return NoneType()
    return None if signature.result is None else _returned(api, signature.result)


def _view_kernel(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type of a parameter or result of a view kernel, which maps the View of the first argument to the View
    of the result.
    """
    if not place.parameter or place.parameter == place.parameters[0]:
        return named(api, VIEW)
    return _argument(api, place, signature)


def _derivative(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type of a parameter or result of a derivative: gradients of results, arguments and results by name, or
    gradients of arguments.
    """
    tensor = named(api, TENSORS[0])
    if not place.parameter:
        return _gradients(api, place, signature)
    if place.parameter == "grad":
        return tensor
    if place.parameter in ("grads", OUTPUT_MASK):
        element = tensor if place.parameter == "grads" else api.named_type("builtins.bool", [])
        return api.named_type("builtins.tuple", [element])
    if place.parameter in signature.types or signature.declared is None or signature.result is None:
        return _argument(api, place, signature)
    results = dict(zip(result_names(signature.declared.schema), _items(signature.result), strict=True))
    return _handed_over(api, results[place.parameter], place)


def _gradients(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type of a derivative's result: for each argument an optional tensor, or a sequence of them for a
    list.
    """
    if not place.returns_value or signature.declared is None:
        return None
    one = UnionType.make_union([named(api, TENSORS[0]), NoneType()])
    several = UnionType.make_union([api.named_type("typing.Sequence", [one]), NoneType()])
    lists = {
        argument.python_name for argument in signature.declared.schema.arguments if isinstance(argument.type, ListType)
    }
    gradients = [several if name in lists else one for name in place.texts]
    if len(gradients) == 1:
        return gradients[0]
    return TupleType(gradients, api.named_type("builtins.tuple", [AnyType(TypeOfAny.special_form)]))


TYPES: dict[Function, Callable[[TypeAnalyser, Place, Signature], Type | None]] = {
    Function.CONTEXT: _meta,
    Function.OUTPUTS: _out_kernel,
    Function.TENSORS: _kernel,
    Function.FORMULA: _kernel,
    Function.VIEW: _view_kernel,
    Function.GRADIENTS: _derivative,
}
"""Functions that return the type of a parameter or result, by kind of implementation; None accepts every type."""


def _type(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    return TYPES[KINDS[place.decorator].function](api, place, signature)


def _argument(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    declared = signature.types.get(place.parameter)
    if declared is not None:
        return _handed_over(api, declared, place)
    schema = None if signature.declared is None else signature.declared.schema
    is_options = schema is not None and place.parameter == options_name(place, schema)
    return named(api, OPTIONS_CLASS) if is_options and place.parameter else None


def _items(result: Type) -> Sequence[Type]:
    """Return the types of the single results."""
    kind = get_proper_type(result)
    if isinstance(kind, NoneType):
        return []
    return kind.items if isinstance(kind, TupleType) else [kind]


def _handed_over(api: TypeAnalyser, declared: Type, place: Place, tensor_name: str = "Tensor") -> Type:
    """Return the type of an argument as an implementation receives it: tuples for lists, and arrays if numba compiles
    it.

    Args:
        tensor_name: the class of tensors, if the implementation receives tensors.
    """
    kind = get_proper_type(declared)
    if isinstance(kind, UnionType):
        return UnionType.make_union(
            [_handed_over(api, without_element, place, tensor_name) for without_element in _without_elements(kind)]
        )
    if not isinstance(kind, Instance):
        return kind
    fullname = kind.type.fullname
    if fullname in LISTS:
        return api.named_type("builtins.tuple", [_handed_over(api, kind.args[0], place, tensor_name)])
    if place.handed.endswith("Tensor"):
        return named(api, f"{TENSOR_MODULE}.{tensor_name}") if fullname in TENSORS else kind
    if fullname in TENSORS:
        return named(api, ARRAY) if place.handed == "Array" else AnyType(TypeOfAny.explicit)
    return named(api, "builtins.str") if fullname == DTYPE else kind


def _without_elements(union: UnionType) -> list[Type]:
    """Return the items of a union. Of ``int | Sequence[int]``, where an int is accepted for a list, only the list is
    kept.
    """
    items = [get_proper_type(nested_union) for nested_union in flatten_nested_unions(union.items)]
    lists = [item for item in items if isinstance(item, Instance) and item.type.fullname in LISTS]
    elements = {get_proper_type(instance.args[0]) for instance in lists}
    return [item for item in items if item not in elements]


def _returned(api: TypeAnalyser, declared: Type) -> Type:
    """Return the type that a kernel may return for a result: any sequence for a list, a plain tuple for a named
    tuple.
    """
    kind = get_proper_type(declared)
    if isinstance(kind, TupleType):
        items = [_returned(api, item) for item in kind.items]
        return TupleType(items, api.named_type("builtins.tuple", [AnyType(TypeOfAny.special_form)]))
    if isinstance(kind, Instance) and kind.type.fullname == "builtins.list":
        return api.named_type("typing.Sequence", list(kind.args))
    return kind


# ---------------------------------------------------------------------------------------------------------- annotations


def disagreement(api: TypeAnalyser, place: Place, signature: Signature, written: Type) -> str:
    """Return an error message about a written annotation that differs from the expected type; empty if it is
    compatible.
    """
    if signature.declared is None or not _is_complete(written):
        return ""
    shown = format_type_bare(written, api.options)
    function = KINDS[place.decorator].function
    if not place.parameter:
        expected = _result(api, place, signature)
        if expected is None or is_subtype(written, expected):
            return ""
        return f"it returns {shown}, but the schema returns {format_type_bare(expected, api.options)}"
    handed = _type(api, evolve(place, parameter=place.parameter), signature)
    declared = signature.types.get(place.parameter)
    if declared is not None and function is Function.TENSORS:
        handed = _handed_over(api, declared, place, place.handed)
    if handed is None or is_subtype(_as_real(api, handed, written), _as_sequence(api, written)):
        return ""
    return f"'{place.parameter}' is annotated {shown}, but gets {format_type_bare(handed, api.options)}"


def _result(api: TypeAnalyser, place: Place, signature: Signature) -> Type | None:
    """Return the type that an implementation may be annotated to return."""
    if KINDS[place.decorator].function is not Function.TENSORS or signature.result is None:
        return _type(api, evolve(place, parameter="", returns_value=True), signature)
    return UnionType.make_union([_returned(api, signature.result), NoneType()])


def _as_real(api: TypeAnalyser, handed: Type, written: Type) -> Type:
    """Return ``float`` in place of a Scalar if a kernel is annotated to take only real numbers."""
    kind = get_proper_type(written)
    is_real = isinstance(kind, Instance) and kind.type.fullname == "builtins.float"
    items = flatten_nested_unions([handed])
    is_scalar = any(isinstance(item, Instance) and item.type.fullname == "builtins.complex" for item in items)
    return kind if is_real and is_scalar else handed


def _as_sequence(api: TypeAnalyser, written: Type) -> Type:
    """Return an annotation with ``list``, as schemas write it, replaced by Sequence."""
    kind = get_proper_type(written)
    if isinstance(kind, UnionType):
        return UnionType.make_union([_as_sequence(api, item) for item in kind.items])
    if isinstance(kind, Instance) and kind.type.fullname == "builtins.list":
        return api.named_type("typing.Sequence", [_as_sequence(api, arg) for arg in kind.args])
    return kind


def _is_complete(kind: Type) -> bool:
    """Return whether all classes in a type have been analyzed, which may not be so in an import cycle."""
    proper = get_proper_type(kind)
    if isinstance(proper, (UnionType, TupleType)):
        return all(map(_is_complete, proper.items))
    if isinstance(proper, Instance):
        return bool(proper.type.mro) and all(map(_is_complete, proper.args))
    return isinstance(proper, (AnyType, NoneType))


HOOKS: dict[str, TypeHook] = {f"{RECEIVED}.Received": received}
"""Hook that computes the type of a parameter or result from its encoded ``Place``, by full name."""
