"""Operators and kernels derived from a view operator: its in-place form, its copy (``_copy``), and its scatter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, cast

import attrs

from opdsl.declare.attachment import Attachment
from opdsl.declare.declaration import Declaration
from opdsl.declare.signature import location
from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import DeclarationError
from opdsl.generated import function_from_source
from opdsl.kernels import check, check_storable, clone, copy_, resize_output
from opdsl.runtime import MemoryFormat, Tensor, become, has_internal_overlap, view_of
from opdsl.runtime.views import required_storage
from opdsl.schema import Argument, BaseType, FunctionSchema
from opdsl.schema.kinds import KINDS


def turning(view: Kernel) -> FunctionType:
    """Build the in-place kernel of a view operator, which replaces the tensor's geometry by that of the view."""

    def turned(self: Tensor, *arguments: object) -> Tensor:
        shown: Any = view(self, *arguments)
        return become(self, view_of(shown))

    return cast("FunctionType", turned)


def require_view(declaration: Declaration, what: str) -> None:
    """Raise an error if an operator returns no view, so that ``what`` (a copy or scatter) cannot be derived from it.

    Raises:
        DeclarationError: the operator returns no view of its first argument.
    """
    schema = declaration.main.schema
    if not schema.is_view or schema.is_mutable:
        raise DeclarationError(
            f"{location(declaration.function)}: {declaration.name} has no {what}: it returns no view. Declare the "
            'argument whose memory a result shares: Tensor[Alias("a")].'
        )


# --------------------------------------------------------------------------------------------------------------- copies


def copy_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of ``name_copy`` for a view operator: without aliases."""
    plain = schema.signature(keep_return_names=True)
    return attrs.evolve(plain, name=attrs.evolve(schema.name, base=f"{schema.name.base}_copy"))


def copy_body(view: Callable[..., Any], *, is_list: bool = False) -> Callable[..., Any]:
    """Build the body of ``name_copy``: it calls the view operator, which may return a list, and copies its results."""

    def body(*arguments: object, **named: object) -> Any:
        result = view(*arguments, **named)
        if isinstance(result, Tensor):
            return copied(result)
        copies = [copied(part) for part in result]
        return copies if is_list else tuple(copies)

    return body


def copied(view: Tensor) -> Tensor:
    """Return a contiguous copy of a view."""
    copy: Tensor = view.clone(memory_format=MemoryFormat.contiguous_format)
    return copy


def store_body(copies: Callable[..., Any]) -> Callable[..., None]:
    """Build the ``out=`` body of an operator that returns a list: it copies the results into the given tensors."""

    def body(*arguments: object, out: list[Tensor], **named: object) -> None:
        results = copies(*arguments, **named)
        check(len(results) == len(out), f"expected {len(results)} tensors in out, but got {len(out)}")
        check_storable(zip(out, results, strict=True))
        for target, value in zip(out, results, strict=True):
            resize_output(target, value.shape)
            target.copy_(value)

    return body


# -------------------------------------------------------------------------------------------------------------- scatter


def scatter_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of a view's scatter operator: ``slice_scatter(Tensor self, Tensor src, ...)`` for
    ``slice.Tensor``.
    """
    plain = schema.signature(keep_return_names=True)
    first, *rest = plain.positional
    operator_name = attrs.evolve(schema.name, base=f"{schema.name.base}_scatter", overload="")
    return attrs.evolve(plain, name=operator_name, positional=(first, Argument("src", BaseType.Tensor), *rest))


def scatter_body(view: Callable[..., Any]) -> Callable[..., Tensor]:
    """Build the body of a scatter operator: it copies ``self`` and then copies ``src`` into the view of that copy."""

    def body(self: Tensor, src: Tensor, *arguments: object) -> Tensor:
        body = clone_with_strides(self)
        shown = view(body, *arguments)
        check(
            shown.shape == src.shape,
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(shown.shape)}",
        )
        copy_(shown, src)
        return body

    return body


def clone_with_strides(tensor: Tensor) -> Tensor:
    """Return a copy with the tensor's strides and storage offset (``clone_preserve_strides``)."""
    if has_internal_overlap(tensor.geometry):
        return clone(tensor)
    offset = tensor.storage_offset()
    extent = required_storage(tensor.shape, tensor.strides, offset)
    return clone(tensor.as_strided((extent,), (1,), 0)).as_strided(tensor.shape, tensor.strides, offset)


def scatter_formulas(scatter: Declaration, view: Callable[..., Any]) -> Iterator[Attachment]:
    """Yield the gradient formulas of a scatter operator: that of ``self`` is zero in the replaced part, that of ``src``
    is the view of ``grad``.
    """
    schema = scatter.main.schema
    text = "".join(f", {argument.python_name}" for argument in schema.positional[2:])
    namespace = {"own_scatter": scatter.functions["functional"], "own_view": view, "__name__": __name__}
    for name, taken, word in (
        ("self", "grad, src", "own_scatter(grad, grad.new_zeros(src.shape)"),
        ("src", "grad", "own_view(grad"),
    ):
        own = f"{schema.name.base}_{name}"
        source = f"def {own}({taken}{text}):\n    return {word}{text})\n"
        formula = function_from_source(own, source, dict(namespace), title=f"derivative of {scatter.name}")
        yield Attachment(scatter, KINDS["derivative"], formula, (name,), {})
