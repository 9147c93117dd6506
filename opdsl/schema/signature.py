"""Conversion of Python signatures to schemas: schema types of annotations, defaults, and returns."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple

from opdsl.errors import AnnotationError
from opdsl.schema.alias import Alias
from opdsl.schema.defaults import default_of, fits, takes
from opdsl.schema.invariants import check
from opdsl.schema.model import TENSOR_OPTIONS, Argument, Default, FunctionSchema, OperatorName, Return
from opdsl.schema.parser import parse_type
from opdsl.schema.types import ALIASABLE, BaseType, ListType, OptionalType, Type
from opdsl.schema.violation import violation_error
from opdsl.schema.vocabulary import Name, SchemaType, Size, TensorOptions


class _Missing:
    """Type of ``MISSING``, the default of a parameter that has none."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()

UNIONS = (typing.Union, types.UnionType)
"""Origins of ``Optional[X]`` and of ``X | None``."""

PYTHON_NAMES: dict[object, BaseType] = {
    int: BaseType.int,
    float: BaseType.float,
    bool: BaseType.bool,
    str: BaseType.str,
}

ADVICE: dict[object, str] = {
    complex: "a number that may be complex is Scalar",
    list: "a list names its elements: list[int], list[Tensor]",
    tuple: "a tuple names its elements, and denotes several returns: tuple[Tensor, Tensor]",
    dict: "a schema has no mappings: use separate parameters",
    set: "a schema has no sets: list[int], list[Tensor]",
    bytes: "a schema has no bytes: str",
    object: "a schema type is concrete: name one",
    Any: "a schema type is concrete: name one",
    Alias: 'Alias takes the alias sets: Tensor[Alias("a")]',
    Size: "Size takes a number and is written in Annotated[IntList, Size(2)]",
}
"""Advice for annotations that are no schema type: the annotation to write instead."""

_parse_type = lru_cache(maxsize=256)(parse_type)  # cached, since declarations repeat few types very often

KNOWN = (
    "Tensor, int, float, bool, str, Scalar, SymInt, SymBool, DType, Layout, Device, MemoryFormat, Generator, ..., "
    "lists like list[Tensor] and Ints[2], and each of them | None"
)


class ParameterSpec(NamedTuple):
    """Parameter of a declaration.

    annotation: the evaluated annotation.
    default: the Python value, or MISSING.
    """

    name: str
    annotation: object
    default: object = MISSING
    kind: Literal["positional", "keyword_only"] = "positional"


class Meaning(NamedTuple):
    """Translation of an annotation: the schema type, the alias of its Tensor, and a name that replaces the
    parameter's.
    """

    type: Type
    alias: Alias | None = None
    name: str | None = None


def type_of(annotation: object) -> Meaning:
    """Return the schema type that an annotation denotes.

    Raises AnnotationError, which shows the annotation and the allowed types.

    >>> str(type_of(list[int] | None).type)
    'int[]?'
    """
    meaning = _meaning(annotation)
    if meaning.alias is not None and meaning.type not in ALIASABLE:
        raise AnnotationError(f"{_shown(annotation)}: only Tensor, Tensor | None and list[Tensor] take an Alias")
    return meaning


def from_signature(name: OperatorName, parameters: Sequence[ParameterSpec], returns: object) -> FunctionSchema:
    """Return the schema of a declaration.

    name: the operator's full name.
    parameters: the parameters, in order; ``options: TensorOptions`` becomes four arguments, and keyword-only parameters
        that are written become out arguments.
    returns: the return annotation; None for ``-> ()``, a tuple or a NamedTuple for several returns.

    Raises AnnotationError for an annotation or a default without meaning, and SchemaError if the resulting schema
    breaks an invariant.
    """
    positional: list[Argument] = []
    keyword_only: list[Argument] = []
    out: list[Argument] = []
    for parameter in parameters:
        for argument in _arguments_of(name, parameter):
            if parameter.kind == "positional":
                positional.append(argument)
            elif argument.is_written:
                out.append(argument)
            elif out:
                raise AnnotationError(
                    f"{name}: parameter {argument.name} is not written, so it has to be before {out[0]}"
                )
            else:
                keyword_only.append(argument)
    try:
        values = tuple(_returns_of(returns))
    except AnnotationError as error:
        raise AnnotationError(f"{name}: the return annotation {error}") from None
    schema = FunctionSchema(name, tuple(positional), tuple(keyword_only), tuple(out), values)
    violations = check(schema)
    if violations:
        raise violation_error(schema, violations)
    return schema


# ---------------------------------------------------------------------------------------------------------- parameters


def _arguments_of(name: OperatorName, parameter: ParameterSpec) -> Iterable[Argument]:
    """Return the argument that a parameter denotes; four arguments for TensorOptions."""
    if parameter.annotation is TensorOptions:
        if parameter.kind != "keyword_only":
            raise AnnotationError(f"{name}: parameter {parameter.name}: TensorOptions is keyword-only, put it after *")
        return [Argument(option, OptionalType(type), Default("None", None)) for option, type in TENSOR_OPTIONS]
    try:
        type, alias, written_name = type_of(parameter.annotation)
        default = _default_of(parameter.default, type)
    except AnnotationError as error:
        raise AnnotationError(f"{name}: parameter {parameter.name}: {error}") from None
    return [Argument(written_name or parameter.name, type, default, alias)]


def _default_of(value: object, type: Type) -> Default | None:
    if value is MISSING:
        return None
    default = default_of(value)
    if not fits(default.value, type):
        raise AnnotationError(f"the default {value!r} is no value of {type}, which takes {takes(type)}")
    return default


# ------------------------------------------------------------------------------------------------------------- returns


def _returns_of(annotation: object) -> Iterable[Return]:
    """Return the returns that a return annotation denotes."""
    if annotation is None or annotation is type(None):
        return []
    if annotation is MISSING:
        raise AnnotationError("is missing: write -> Tensor, or -> None when nothing is returned")
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        return [_return_of(field, hint) for field, hint in _fields_of(annotation).items()]
    if typing.get_origin(annotation) is tuple:
        elements = typing.get_args(annotation)
        if Ellipsis not in elements:
            return [_return_of(None, element) for element in elements]
    return [_return_of(None, annotation)]


def _return_of(name: str | None, annotation: object) -> Return:
    type, alias, written_name = type_of(annotation)
    return Return(written_name or name, type, alias)


def _fields_of(named_tuple: type) -> dict[str, object]:
    """Return the fields of a NamedTuple with their evaluated annotations."""
    try:
        return typing.get_type_hints(named_tuple, include_extras=True)
    except NameError as error:
        message = f"{named_tuple.__name__}: {error}. Define what its fields name at the top of its module"
        raise AnnotationError(message) from error


# --------------------------------------------------------------------------------------------------------- annotations


def _meaning(annotation: object) -> Meaning:
    """Translate an annotation to a schema type, without checking that the type may have an alias."""
    declared = getattr(annotation, "__schema_type__", None) if isinstance(annotation, type) else None
    if isinstance(declared, str):
        return Meaning(_parse_type(declared))
    if isinstance(annotation, type) and annotation in PYTHON_NAMES:
        return Meaning(PYTHON_NAMES[annotation])
    if isinstance(annotation, (str, typing.ForwardRef)):
        raise AnnotationError(f"{_shown(annotation)} is text that names nothing known here")
    origin = typing.get_origin(annotation)
    reader = READERS.get(origin)
    if reader is not None:
        return reader(annotation)
    value = getattr(annotation, "__value__", None)
    if value is not None:
        return _meaning(value)
    raise AnnotationError(f"{_shown(annotation)} is no schema type{_advice(annotation, origin)}")


def _annotated(annotation: Any) -> Meaning:
    """Translate ``Annotated[...]``: translate the inner annotation, and apply the markers to it."""
    markers = annotation.__metadata__
    for marker in markers:
        if marker in (Alias, Size, Name):
            raise AnnotationError(f"{_shown(annotation)}: {marker.__name__} needs its argument in parentheses")
    written = next((marker for marker in markers if isinstance(marker, SchemaType)), None)
    inside = annotation.__origin__
    if written is not None:
        type, alias, name = Meaning(_parse_type(str(written.content)))
    elif typing.get_origin(inside) in UNIONS:
        type, alias, name = _union(inside, has_size=any(isinstance(marker, Size) for marker in markers))
    else:
        type, alias, name = _meaning(inside)
    for marker in markers:
        if isinstance(marker, Size):
            type = _sized(type, int(marker.content), annotation)
        elif isinstance(marker, Name):
            name = str(marker.content)
        elif isinstance(marker, Alias):
            if alias is not None:
                raise AnnotationError(f"{_shown(annotation)}: one Tensor takes one Alias")
            alias = marker
    return Meaning(type, alias, name)


def _sized(type: Type, size: int, annotation: object) -> Type:
    """Return a type whose list has the given size."""
    if isinstance(type, OptionalType):
        return OptionalType(_sized(type.element, size, annotation))
    if not isinstance(type, ListType) or type.size is not None:
        raise AnnotationError(f"{_shown(annotation)}: a Size belongs to a list, like Annotated[IntList, Size({size})]")
    return ListType(type.element, size)


def _union(annotation: object, has_size: bool = False) -> Meaning:
    """Translate ``X | None`` to an optional type, or ``X | Sequence[X]`` to a list type, which has to have a ``Size``
    marker.
    """
    members = [member for member in typing.get_args(annotation) if member is not type(None)]
    optional = len(members) < len(typing.get_args(annotation))
    pair = _list_of_pair(members)
    if pair is not None:
        if not has_size:
            raise AnnotationError(f"{_shown(annotation)}: one element or a list of them needs a Size, like Ints[2]")
        meaning = pair
    elif len(members) == 1:
        meaning = _meaning(members[0])
    else:
        advice = ": a number of any kind is Scalar" if set(members) <= {int, float, bool, complex} else ""
        raise AnnotationError(f"{_shown(annotation)} is several types{advice}; a parameter has one, or one | None")
    if not optional:
        return meaning
    if isinstance(meaning.type, OptionalType):
        return meaning
    return meaning._replace(type=OptionalType(meaning.type))


def _list_of_pair(members: list[object]) -> Meaning | None:
    """Translate ``X | Sequence[X]`` to a list type; return None for any other pair."""
    listed = [member for member in members if typing.get_origin(member) in (list, Sequence)]
    if len(listed) != 1 or len(members) != 2:
        return None
    one = next(member for member in members if member is not listed[0])
    meaning = _meaning(listed[0])
    matches = isinstance(meaning.type, ListType) and _meaning(one).type == meaning.type.element
    return meaning if matches else None


def _list(annotation: object) -> Meaning:
    """Translate ``list[X]`` or ``Sequence[X]`` to a list type; the alias of the element becomes that of the list."""
    type, alias, _ = _meaning(typing.get_args(annotation)[0])
    return Meaning(ListType(type), alias)


def _tuple(annotation: object) -> Meaning:
    """Translate ``tuple[X, ...]`` to a list type; raise an error for other tuples, which describe several returns."""
    elements = typing.get_args(annotation)
    if len(elements) == 2 and elements[1] is Ellipsis:
        return _list(annotation)
    raise AnnotationError(f"{_shown(annotation)}: a tuple denotes several returns; a parameter is a list, or sized")


READERS: dict[object, Callable[[Any], Meaning]] = {
    Annotated: _annotated,
    **dict.fromkeys(UNIONS, _union),
    list: _list,
    Sequence: _list,
    tuple: _tuple,
}
"""Functions that convert an annotation to a schema type, by the annotation's origin."""


def _advice(annotation: object, origin: object) -> str:
    for candidate in (annotation, origin):
        try:
            text = ADVICE.get(candidate)
        except TypeError:
            continue
        if text is not None:
            return f": {text}"
    if annotation is TensorOptions:
        return ": options: TensorOptions has to be a separate keyword-only parameter"
    return f". Known are {KNOWN}"


def _shown(annotation: object) -> str:
    """Return an annotation approximately as its author wrote it."""
    if isinstance(annotation, type) and not typing.get_args(annotation):
        return annotation.__name__
    if isinstance(annotation, typing.ForwardRef):
        return repr(annotation.__forward_arg__)
    return repr(annotation).replace("typing.", "").replace("collections.abc.", "")
