"""Creation of declarations from functions or schemas: builds the operators with their variants, and registers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any, NamedTuple

import attrs

from opdsl.declare.declaration import Declaration
from opdsl.declare.formulas import is_formula
from opdsl.declare.forwarding import Forward, forward_of, renamed
from opdsl.declare.kernels import attach_body, attach_forward
from opdsl.declare.options import Inplace, Out, normalised
from opdsl.declare.outputs import OUT, takes_out
from opdsl.declare.scope import Scope
from opdsl.declare.signature import is_declaration, location, schema_of
from opdsl.declare.variants import inplace_base, inplace_schema, out_overload, out_schema
from opdsl.dispatch import Operator, Registry
from opdsl.errors import DeclarationError, DuplicateOperatorError, KernelSignatureError, SchemaError
from opdsl.schema import BaseType, FunctionSchema, OperatorName, SchemaKind, check, parse_operator_name
from opdsl.schema.invariants import check_relations
from opdsl.schema.model import python_name
from opdsl.schema.vocabulary import Scalar

# Options that a derived variant inherits from the functional entry.
_INHERITED = ("device_check", "device_guard", "python_module", "structured_inherits", "category_override")

# The tag of in-place operators that change how a tensor views its memory.
_INPLACE_VIEW = "inplace_view"

# Options of the operator itself, which are no properties of its entry.
_OWN = ("accepts_numbers", "is_bound", "may_alias")


def declared(
    scope: Scope, function: object, name: str | None, options: Mapping[str, Any], names: Mapping[str, object]
) -> Declaration:
    """Declare an operator from a function's signature. A body becomes its composite kernel.

    Args:
        scope: where the operator is defined.
        function: the decorated function.
        name: the operator's name; that of the function by default.
        options: options of ``op``.
        names: local names that annotations may use.

    Raises:
        DeclarationError: the signature, a name or an option is wrong.
        DuplicateOperatorError: the name is taken.
    """
    checked = require_declaration(function)
    own = (OUT,) if options.get("out") and takes_out(checked) else ()
    schema = schema_of(checked, _name(scope, checked, name), names, without=own)
    return declared_with_body(scope, checked, schema, options)


def declared_variant(
    declaration: Declaration,
    variant: str,
    function: object,
    name: str | None,
    options: Mapping[str, Any],
    names: Mapping[str, object],
) -> Declaration:
    """Declare a variant of an operator that is written by hand, for example its in-place form.

    Raises:
        DuplicateOperatorError: the variant is derived, or written, already.
        DeclarationError: the signature is no such variant of the declaration's operator.
    """
    checked, scope = require_declaration(function), declaration.library
    if declaration.functions.get(variant) is not None:
        raise DuplicateOperatorError(
            f"{location(checked)}: {declaration.name} has an {variant} variant already: it is declared or derived "
            f"at {location(declaration.function)}. Keep one: drop {variant}= there, or this declaration."
        )
    relative = name or _variant_name(declaration, variant)
    full = relative if "::" in relative else f"{declaration.name.partition('::')[0]}::{relative}"
    schema = schema_of(checked, _name(scope, checked, full), names)
    if schema.kind.value != variant or str(schema.signature()) != str(declaration.main.schema.signature()):
        raise DeclarationError(
            f"{location(checked)}: {schema} is no {variant} variant of {declaration.main.schema}. Their arguments and "
            'returns must be the same, except for the annotation of written tensors: Tensor[Alias("a", write=True)].'
        )
    return declared_with_body(scope, checked, schema, options)


def declared_alias(declaration: Declaration, name: str, module: str, options: Mapping[str, Any]) -> Declaration:
    """Declare another name of an operator: for each variant a composite operator that calls the original one.

    Args:
        declaration: of the original operator.
        name: the other name, ``"aten::arccos"``; the overload name is the operator's.
        module: name of the module that declares it.
        options: options of ``op``; variants and binding are the operator's by default. ``names`` maps the operator's
            argument names to other ones.

    Raises:
        DuplicateOperatorError: the name is taken.
    """
    main, base, rest = declaration.main, name.rpartition("::")[2], dict(options)
    names: Mapping[str, str] = rest.pop("names", {})
    function = renamed(declaration.function, base, module, names)
    function.__doc__ = f"Another name of ``{main.schema.name.base}``: {declaration.function.__doc__ or ''}"
    positional, keyword_only = (
        tuple(attrs.evolve(argument, name=names.get(argument.name, argument.name)) for argument in part)
        for part in (main.schema.positional, main.schema.keyword_only)
    )
    order = tuple(argument.python_name for argument in (*positional, *keyword_only))
    own_name = attrs.evolve(_name(declaration.library, function, name), overload=main.schema.name.overload)
    operators = {key: operator for key, operator in declaration.operators.items() if operator is not main}
    derived: dict[str, object] = {}
    if "inplace" in operators:
        variants = operators["inplace"].properties["variants"]
        derived["inplace"] = Inplace(_with_overload(inplace_base(base), operators["inplace"]), variants=variants)
    if "out" in operators:
        own: Any = declaration.out
        named = _with_overload(base, operators["out"])
        derived["out"] = Out(named, cast=own.cast, contiguous=own.contiguous, apart=own.apart)
    inherited = {
        "variants": main.properties["variants"],
        "accepts_numbers": main.accepts_numbers,
        "is_bound": main.is_bound,
    }
    keys = _body_keys(f"{location(function)}: {base}", rest.pop("kernel", False))
    schema = attrs.evolve(main.schema, name=own_name, positional=positional, keyword_only=keyword_only)
    alias = declaration_of(declaration.library, function, schema, {**inherited, **derived, **rest})
    attach_forward(alias, Forward(declaration, order), keys)
    return alias


def declared_number_overload(
    declaration: Declaration, argument: str, name: str, options: Mapping[str, Any]
) -> Declaration:
    """Declare an overload that takes a number instead of one of an operator's tensors.

    Args:
        declaration: of the operator that takes tensors.
        argument: name of the tensor that the number replaces.
        name: overload name.
        options: options of ``op``.

    Raises:
        KernelSignatureError: there is no such tensor.
        DuplicateOperatorError: there is such an overload.
    """
    schema, function = declaration.main.schema, declaration.function
    base = declaration.name.partition(".")[0]
    arguments = {
        parameter.python_name: parameter for parameter in schema.arguments if parameter.type is BaseType.Tensor
    }
    if argument not in arguments:
        raise KernelSignatureError(
            f"{location(function)}: {declaration.name}: {argument!r} is none of its tensors, {', '.join(arguments)}. "
            "Name the tensor that a number replaces."
        )
    number = attrs.evolve(arguments[argument], type=BaseType.Scalar)
    positional, keyword_only = (
        tuple(number if candidate is arguments[argument] else candidate for candidate in part)
        for part in (schema.positional, schema.keyword_only)
    )
    own = renamed(function, f"{python_name(schema.name.base)}_{name}", function.__module__)
    own.__annotations__ = {**function.__annotations__, argument: Scalar}
    own.__doc__ = function.__doc__
    own_name = _name(declaration.library, own, f"{base}.{name}" if name else base)
    changed = attrs.evolve(schema, name=own_name, positional=positional, keyword_only=keyword_only)
    return declaration_of(declaration.library, own, changed, options)


def declaration_of(
    scope: Scope, function: FunctionType, schema: FunctionSchema, options: Mapping[str, Any]
) -> Declaration:
    """Create a declaration from a schema: define its operator and the variants that the options request, or none on
    errors.
    """
    where = f"{location(function)}: {function.__name__}"
    registry = scope.registry
    rest = {**options, **registry.entry_options(schema.name.qualified)}
    inplace, out = (_variant_option(where, option, rest.pop(option, False), kind) for option, kind in _VARIANTS.items())
    is_said = "structured" in rest
    structured = rest.pop("structured", True)
    if structured and is_said and schema.kind is SchemaKind.out:
        rest["structured"] = True  # a property of the entry itself, since no variant is derived from an out= operator
    own = {option: rest.pop(option) for option in _OWN if option in rest}
    entries = {
        entry.variant: entry for entry in _entries(where, schema, normalised(rest, where), inplace, out, registry)
    }
    _check_variants(where, {variant: entry.schema for variant, entry in entries.items()})
    operators = {
        variant: Operator(
            entry.schema,
            scope.registry.fallbacks,
            tags=entry.properties.get("tags", ()),
            properties={key: value for key, value in entry.properties.items() if key != "tags"},
            **own,
            location=location(function),
        )
        for variant, entry in entries.items()
    }
    declaration = Declaration(
        scope,
        function,
        operators,
        structured=structured,
        out=out if isinstance(out, Out) else Out(),
        untagged=frozenset(variant for variant, entry in entries.items() if "tags" not in entry.properties),
    )
    _define_all(declaration)
    return declaration


class _Entry(NamedTuple):
    """Operator to be defined: its variant name, its schema, and its native_functions.yaml properties."""

    variant: str
    schema: FunctionSchema
    properties: dict[str, Any]


def _entries(
    where: str,
    schema: FunctionSchema,
    properties: dict[str, Any],
    inplace: bool | Inplace,
    out: bool | Out,
    registry: Registry,
) -> Iterator[_Entry]:
    """Yield the entry of the declared operator, then those of its derived in-place and ``out=`` variants."""
    yield _Entry(_variant_of(schema), schema, properties)
    inherited = {key: value for key, value in properties.items() if key in _INHERITED}
    if "tags" in properties:
        # `core` marks only the functional operators of PyTorch's core set, so variants do not inherit it.
        inherited["tags"] = tuple(tag for tag in properties["tags"] if tag != "core")
    if inplace:
        how = inplace if isinstance(inplace, Inplace) else Inplace()
        tags = {"tags": (_INPLACE_VIEW,)} if schema.is_view else {}
        derived = inplace_schema(schema, how)
        own = {**inherited, **tags, "variants": properties["variants"], **how.options}
        yield _Entry("inplace", derived, normalised({**own, **registry.entry_options(derived.name.qualified)}, where))
    if out:
        how_out = out if isinstance(out, Out) else Out()
        derived = out_schema(schema, how_out)
        own = {**inherited, **how_out.options, **registry.entry_options(derived.name.qualified)}
        yield _Entry("out", derived, normalised(own, where))


def declared_with_body(
    scope: Scope, function: FunctionType, schema: FunctionSchema, options: Mapping[str, Any]
) -> Declaration:
    """Declare an operator and attach its body, if it has one, under the keys that the option ``kernel`` names.

    Raises:
        DeclarationError: the option is wrong, or there is no body.
    """
    rest = dict(options)
    where, kernel = f"{location(function)}: {function.__name__}", rest.pop("kernel", False)
    keys = _body_keys(where, kernel)
    call, has_body = forward_of(function), not is_declaration(function)
    if keys is not None and not has_body and call is None:
        raise DeclarationError(
            f"{where}: kernel={kernel!r} makes the body a kernel, but the function has no body. Write one, or attach a "
            f"function: @{function.__name__}.kernel."
        )
    if is_formula(function):
        return _declared_formula(scope, function, schema, options)
    declaration = declaration_of(scope, function, schema, rest)
    if call is not None:
        attach_forward(declaration, call, keys)
    elif has_body:
        attach_body(declaration, keys)
    return declaration


def _declared_formula(
    scope: Scope, function: FunctionType, schema: FunctionSchema, options: Mapping[str, Any]
) -> Declaration:
    """Declare the operator of a formula; its kernels are attached after its variants have functions.

    Raises:
        DeclarationError: there is no body, or the option ``kernel``.
    """
    where = f"{location(function)}: {function.__name__}"
    if is_declaration(function):
        raise DeclarationError(f"{where}: a formula needs a body. Write one, or remove @formula.")
    if options.get("kernel"):
        raise DeclarationError(
            f"{where}: kernel= makes a body a kernel, but a formula is compiled. Remove one of them."
        )
    return declaration_of(scope, function, schema, {key: value for key, value in options.items() if key != "kernel"})


def _body_keys(where: str, kernel: object) -> tuple[str, ...] | None:
    """Return the dispatch keys that a body is registered for: empty for all backends, None for a composite."""
    if isinstance(kernel, bool):
        return () if kernel else None
    keys = (kernel,) if isinstance(kernel, str) else kernel
    if not isinstance(keys, (tuple, list)) or not keys or not all(isinstance(key, str) for key in keys):
        raise DeclarationError(
            f"{where}: kernel={kernel!r} is neither True nor dispatch keys. Write kernel=True if the body is the "
            'kernel of all backends, or kernel="CPU".'
        )
    return tuple(keys)


def _define_all(declaration: Declaration) -> None:
    """Register the operators of a declaration; those of an earlier run of the same code are replaced."""
    scope = declaration.library
    for operator in declaration.operators.values():
        _make_room(scope, operator, declaration.function)
    for operator in declaration.operators.values():
        operator.declaration = declaration
        scope.registry.define(operator, declaration.function.__module__)
        scope.undo(partial(scope.registry.remove, operator))
    for operator in declaration.operators.values():
        scope.registry.tell_followers(operator)


def _make_room(scope: Scope, operator: Operator, function: FunctionType) -> None:
    present = scope.registry.operators.get(operator.name)
    before = None if present is None else present.declaration
    if isinstance(before, Declaration) and _is_same_place(before.function, function):
        for earlier in before.operators.values():
            scope.registry.remove(earlier)


def _is_same_place(before: FunctionType, now: FunctionType) -> bool:
    """Return whether two functions are one declaration executed twice: a notebook cell run again or a module
    reloaded.
    """
    if (before.__module__, before.__qualname__) != (now.__module__, now.__qualname__):
        return False
    one, two = before.__code__, now.__code__
    return one.co_filename != two.co_filename or one.co_firstlineno == two.co_firstlineno


# ------------------------------------------------------------------------------------------------------------- options


_VARIANTS: Mapping[str, type] = {"inplace": Inplace, "out": Out}


def _variant_option(where: str, name: str, value: Any, options: type) -> Any:
    if not isinstance(value, (bool, options)):
        raise DeclarationError(
            f"{where}: {name}={value!r} is neither True nor False nor {options.__name__}(...). Write {name}=True, or "
            f"{name}={options.__name__}(...) for other options than the default ones."
        )
    return value


def _check_variants(where: str, schemas: Mapping[str, FunctionSchema]) -> None:
    """Check the schemas of derived variants against the schema invariants and each other.

    Raises:
        DeclarationError: a name that was given makes no schema, or is that of another variant.
    """
    for index, (variant, schema) in enumerate(schemas.items()):
        violations = check(schema) if index else check_relations(schema)
        if violations:
            raise DeclarationError(f"{where}: the {variant} variant {schema}: {violations[0].message}")
        if variant in _VARIANTS and schema.kind.value != variant:
            raise DeclarationError(
                f"{where}: {schema} is no {variant} variant by its name. In-place names end in an underscore."
            )
    names = [schema.name.qualified for schema in schemas.values()]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise DeclarationError(f"{where}: two variants have the name {repeated}. Give one of them another.")


def require_declaration(function: object) -> FunctionType:
    """Return the object that ``op`` decorates if it is a function, else raise an error.

    Raises:
        DeclarationError: it is something else.
    """
    if not isinstance(function, FunctionType):
        raise DeclarationError(f"@op decorates a function, not {type(function).__name__}. Write `@op` above a `def`.")
    return function


# --------------------------------------------------------------------------------------------------------------- names


def _name(scope: Scope, function: FunctionType, text: str | None) -> OperatorName:
    try:
        operator_name = parse_operator_name(text or function.__name__)
    except SchemaError as error:
        raise DeclarationError(f"{location(function)}: {error}") from error
    namespace = operator_name.namespace or scope.namespace
    return OperatorName(None if namespace == "aten" else namespace, operator_name.base, operator_name.overload)


def _variant_name(declaration: Declaration, variant: str) -> str:
    schema = declaration.main.schema
    if variant == "inplace":
        return str(attrs.evolve(schema.name, namespace=None, base=inplace_base(schema.name.base)))
    return str(attrs.evolve(schema.name, namespace=None, overload=out_overload(schema.name.overload)))


def _with_overload(base: str, operator: Operator) -> str:
    """Return a base name with the overload name of an operator appended."""
    overload = operator.schema.name.overload
    return f"{base}.{overload}" if overload else base


def _variant_of(schema: FunctionSchema) -> str:
    kind = schema.kind
    return kind.value if kind.value in _VARIANTS else "functional"
