"""Export of declarations as entries of native_functions.yaml.

The entries follow from the attached implementations: elementwise formulas and ``.meta`` give a structured ``out=``
entry with delegates, a Python kernel gives ``autogen`` for the derived ``out=``, a composite one entry per variant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from opdsl.declare.bases import precomputed_of
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator, Registry
from opdsl.native import (
    Delegate,
    DeviceCheck,
    DispatchEntry,
    Kernel,
    Location,
    NativeFunction,
    Plain,
    Structured,
    UfuncInnerLoop,
    UfuncKey,
    Variant,
)
from opdsl.native.known import COMPOSITE_IMPLICIT, DISPATCH_KEYS, UFUNC_KEYS
from opdsl.schema import GENERATED, OperatorName, parse_operator_name

# Dispatched by torchgen itself for structured operators, so their entries do not name it (INV-50).
_META = "Meta"
_NON_FUNCTIONAL = "CompositeExplicitAutogradNonFunctional"


def export(registry: Registry, namespaces: Iterable[str] | None = None) -> list[NativeFunction]:
    """Return the native_functions.yaml entries of a registry's operators, in the order of their declaration.

    Args:
        registry: the registry whose operators are exported.
        namespaces: namespaces to export; None for all.

    Returns:
        One entry for each operator that torchgen would not generate from another's ``autogen``.
    """
    wanted = None if namespaces is None else set(namespaces)
    return [
        entry_of(operator)
        for operator in registry
        if isinstance(operator.declaration, Declaration)
        and (wanted is None or operator.name.partition("::")[0] in wanted)
        and not is_generated(operator)
    ]


def is_generated(operator: Operator) -> bool:
    """Return whether torchgen generates the operator from another entry's ``autogen``, so that it has no entry."""
    declaration = _declaration(operator)
    if GENERATED in operator.tags:
        return True
    return declaration.generates(operator)


def entry_of(operator: Operator) -> NativeFunction:
    """Return the native_functions.yaml entry of an operator."""
    properties = operator.properties
    declaration = _declaration(operator)
    file, _, line = operator.location.rpartition(":")
    return NativeFunction(
        operator.schema,
        variants=frozenset(Variant(part) for part in str(properties["variants"]).split(", ")),
        dispatch=_dispatch(operator),
        tags=operator.tags,
        structure=_structure(operator),
        autogen=_autogen(operator, declaration),
        device_check=DeviceCheck(properties.get("device_check", "ExactSame")),
        device_guard=bool(properties.get("device_guard", True)),
        python_module=_text(properties.get("python_module")),
        cpp_no_default_args=tuple(_listed(properties.get("cpp_no_default_args"))),
        manual_cpp_binding=bool(properties.get("manual_cpp_binding", False)),
        manual_kernel_registration=bool(properties.get("manual_kernel_registration", False)),
        category_override=_text(properties.get("category_override")),
        use_const_ref_for_mutable_tensors=bool(properties.get("use_const_ref_for_mutable_tensors", False)),
        declared_at=Location(file, int(line), 1),
    )


def _declaration(operator: Operator) -> Declaration:
    assert isinstance(operator.declaration, Declaration), "every exported operator has been declared"
    return operator.declaration


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _class_name(value: object) -> str | None:
    return value.__name__ if isinstance(value, type) else _text(value)


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(entry) for entry in value]


# ---------------------------------------------------------------------------------------------------------- structure


def _is_structured(declaration: Declaration) -> bool:
    """Return whether the declaration is a structured group, which needs an ``out=`` entry."""
    return declaration.is_structured


def _structure(operator: Operator) -> Plain | Structured | Delegate:
    declaration = _declaration(operator)
    delegate = operator.properties.get("structured_delegate")
    if delegate is not None:
        return Delegate(parse_operator_name(str(delegate)))
    if not _is_structured(declaration):
        return Plain()
    out = declaration.operators["out"]
    if operator is not out:
        # A delegate is looked up among the entries in the same namespace (INV-31).
        return Delegate(OperatorName(None, out.schema.name.base, out.schema.name.overload))
    properties = operator.properties
    inner = properties.get("ufunc_inner_loop", {})
    assert isinstance(inner, Mapping), "checked by EntryOptions' users"
    return Structured(
        _class_name(properties.get("structured_inherits")),
        precomputed_of(properties.get("precomputed")),
        tuple(_inner_loop(UfuncKey(key), text) for key, text in inner.items()),
    )


def _inner_loop(key: UfuncKey, text: str | tuple[str, Iterable[str]]) -> UfuncInnerLoop:
    """Parse an entry of ``ufunc_inner_loop``, for example ``add (Bool, Half)``."""
    if isinstance(text, tuple):
        return UfuncInnerLoop(key, text[0], tuple(text[1]))
    name, _, dtypes = text.partition("(")
    return UfuncInnerLoop(key, name.strip(), tuple(part.strip() for part in dtypes.rstrip(" )").split(",")))


# ----------------------------------------------------------------------------------------------------------- dispatch


def _dispatch(operator: Operator) -> tuple[DispatchEntry, ...] | None:
    """Return the dispatch table of an entry; None if it is delegated, registered apart, or composite by default
    (INV-28, INV-29).
    """
    declaration = _declaration(operator)
    if operator.properties.get("manual_kernel_registration"):
        return None
    dispatch = operator.properties.get("dispatch", ())
    if dispatch is None:
        return None
    if isinstance(dispatch, str):
        dispatch = {dispatch: kernel_name(operator.schema.name)}
    if isinstance(dispatch, Mapping):
        return tuple(
            DispatchEntry(tuple(part.strip() for part in keys.split(",")), _kernel(name))
            for keys, name in dispatch.items()
        )
    keys = [str(key) for key in operator.registrations if str(key) in DISPATCH_KEYS]
    if _is_structured(declaration):
        if operator is not declaration.operators["out"]:
            return None
        generated = UFUNC_KEYS if operator.properties.get("ufunc_inner_loop") else ()
        keys = [key for key in keys if key != _META and key not in generated]
    elif declaration.definition is not None and (declaration.kind is None or declaration.kind.is_structured):
        keys = [key for key in keys if key not in (_META, _NON_FUNCTIONAL)]
    if not keys or keys == [COMPOSITE_IMPLICIT]:
        return None
    return (DispatchEntry(tuple(keys), Kernel(kernel_name(operator.schema.name))),)


def _kernel(name: str) -> Kernel:
    """Parse the C++ name of a kernel, which may have a namespace."""
    namespace, _, base = name.rpartition("::")
    return Kernel(base, namespace)


def kernel_name(name: OperatorName) -> str:
    """Return the C++ kernel name of an operator: its base and overload."""
    return f"{name.base}_{name.overload}" if name.overload else name.base


def _autogen(operator: Operator, declaration: Declaration) -> tuple[OperatorName, ...]:
    """Return the operators that torchgen generates from this entry: the declared ones, and a derived ``out=``
    (INV-43).
    """
    names = [parse_operator_name(text.strip()) for text in _split(operator.properties.get("autogen"))]
    out = declaration.operators.get("out")
    base = declaration.operators.get("inplace") or declaration.operators.get("functional")
    if out is not None and operator is base and is_generated(out):
        names.append(OperatorName(None, out.schema.name.base, out.schema.name.overload))
    return tuple(names)


def _split(value: object) -> list[str]:
    return [] if value is None else str(value).split(",")
