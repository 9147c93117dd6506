"""Checks that the annotations of implementations agree with the types of the arguments and results of their
operator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

from opdsl.runtime import Array, CPUTensor, CUDATensor, Tensor
from opdsl.schema import BaseType, ListType, OptionalType, Return, Type
from opdsl.schema.base_types import PYTHON_TYPES
from opdsl.schema.signature import UNIONS

_REFINED: dict[str, type] = {"CPU": CPUTensor, "CUDA": CUDATensor}


def tensor_at(key: str) -> type:
    """Return the tensor class that kernels of a dispatch key get: ``CPUTensor``, ``CUDATensor`` or ``Tensor``."""
    return _REFINED.get(key, Tensor)


def parameter_fault(annotations: Mapping[str, Any], kinds: Mapping[str, Type], tensor: type) -> str:
    """Return a message about the first parameter whose annotation does not accept its argument; empty if all do.

    Args:
        annotations: annotations by parameter name.
        kinds: schema types of the arguments that are passed, by parameter name.
        tensor: the class that represents a tensor in this implementation.
    """
    for parameter, kind in kinds.items():
        if parameter in annotations and not takes(annotations[parameter], kind, tensor):
            return f"'{parameter}' is annotated {shown(annotations[parameter])}, but gets {_handed(kind, tensor)}"
    return ""


def number_fault(annotations: Mapping[str, Any]) -> str:
    """Return a message about the first annotation of a scalar function that is no number type; empty if all are. The
    result may be a tuple of numbers.
    """
    numbers = (BaseType.bool, BaseType.int, BaseType.float, BaseType.Scalar)
    for name, annotation in annotations.items():
        parts = get_args(annotation) if name == "return" and get_origin(annotation) is tuple else (annotation,)
        for part in parts:
            if not any(takes(part, kind, Tensor) for kind in numbers):
                what = "it returns" if name == "return" else f"'{name}' is annotated"
                return f"{what} {shown(annotation)}, but a scalar function computes with numbers"
    return ""


def result_fault(annotations: Mapping[str, Any], returns: Sequence[Return], *, writes: bool = False) -> str:
    """Return a message if the return annotation does not fit the operator's results; empty if it fits or is missing.

    Args:
        annotations: annotations by parameter name, ``return`` included if there is one.
        returns: the returns of the schema.
        writes: whether None may be returned, since the results are written into arguments.
    """
    if "return" not in annotations:
        return ""
    annotation = annotations["return"]
    wanted = ", ".join(str(returned.type) for returned in returns) or "nothing"
    fits = (writes and annotation in (None, type(None))) or _may_be_returns(
        annotation, [returned.type for returned in returns]
    )
    return "" if fits else f"it returns {shown(annotation)}, but the schema returns {wanted}"


def _may_be_returns(annotation: Any, kinds: Sequence[Type]) -> bool:
    if annotation in (Any, object):
        return True
    if not kinds:
        return annotation in (None, type(None))
    if len(kinds) == 1:
        return _may_be(annotation, kinds[0])
    if get_origin(annotation) is tuple:
        parts = get_args(annotation)
        if Ellipsis in parts:
            return _may_be(parts[0], kinds[0])
        return len(parts) == len(kinds) and all(map(_may_be, parts, kinds))
    return not isinstance(annotation, type) or issubclass(annotation, tuple)


def _may_be(annotation: Any, kind: Type) -> bool:
    """Return whether some value of a schema type has the annotated type."""
    if any(_takes_one(annotation, atom, Tensor) for atom in _atoms(kind)):
        return True
    return isinstance(annotation, type) and any(
        atom is BaseType.Tensor and issubclass(annotation, Tensor) for atom in _atoms(kind)
    )


def takes(annotation: Any, kind: Type, tensor: type) -> bool:
    """Return whether every value of a schema type has the annotated type; annotations other than plain types always
    pass.

    Args:
        annotation: the evaluated annotation.
        kind: the schema type.
        tensor: the class that represents a tensor.
    """
    return all(_takes_one(annotation, atom, tensor) for atom in _atoms(kind))


def _atoms(kind: Type) -> Iterator[object]:
    """Yield the alternatives of a schema type: None for an optional, and the base or list type."""
    if isinstance(kind, OptionalType):
        yield None
        yield from _atoms(kind.element)
    else:
        yield kind


def _takes_one(annotation: Any, atom: object, tensor_type: type) -> bool:
    if annotation in (Any, object):
        return True
    if annotation in (None, type(None)):
        return atom is None
    origin = get_origin(annotation)
    if origin is Annotated:
        return _takes_one(annotation.__origin__, atom, tensor_type)
    if origin in UNIONS:
        return any(_takes_one(arg, atom, tensor_type) for arg in get_args(annotation))
    if isinstance(atom, ListType):
        return _takes_list(annotation, origin, atom, tensor_type)
    written = origin or annotation
    if not isinstance(written, type) or getattr(written, "_is_protocol", False):
        return True
    if atom is BaseType.Tensor:
        return issubclass(tensor_type, written)
    numbers = PYTHON_TYPES[atom].numbers if isinstance(atom, BaseType) else ()
    if numbers:
        return annotation in numbers
    return getattr(written, "__schema_type__", None) == str(atom)


def _takes_list(annotation: Any, origin: object, atom: ListType, tensor_type: type) -> bool:
    """Return whether the annotation of a list argument is valid: lists are passed as tuples, but ``list`` is allowed
    too.
    """
    if isinstance(annotation, type) and origin is None:
        return annotation in (list, tuple) or issubclass(tuple, annotation)
    if not isinstance(origin, type):
        return True
    if origin is not list and not issubclass(tuple, origin):
        return False
    return all(arg is Ellipsis or takes(arg, atom.element, tensor_type) for arg in get_args(annotation))


def as_compiled(kind: Type) -> Type:
    """Return the type that a compiled kernel gets for an argument of a schema type: a dtype becomes its name."""
    if isinstance(kind, OptionalType):
        return OptionalType(as_compiled(kind.element))
    return BaseType.str if kind is BaseType.ScalarType else kind


def _handed(kind: Type, tensor_type: type) -> str:
    return str(kind).replace("Tensor", "Array" if tensor_type is Array else tensor_type.__name__)


def shown(annotation: Any) -> str:
    """Return the text of an annotation for messages, roughly as its author wrote it."""
    return annotation.__name__ if isinstance(annotation, type) and get_origin(annotation) is None else str(annotation)
