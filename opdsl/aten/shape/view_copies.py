"""Copies of what views show: ``permute_copy`` of ``permute``, for every view operator that is no composite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from opdsl.aten.shape import complex_views, slicing, splitting, transpositions, views
from opdsl.declare import Library
from opdsl.declare.generated import declare_generated_of
from opdsl.dispatch import Operator, registry
from opdsl.errors import DTypeError
from opdsl.kernels import check, check_storable, resize_output
from opdsl.native.generated import out_schema
from opdsl.runtime import MemoryFormat, Tensor
from opdsl.schema import Alias, FunctionSchema, SchemaKind
from opdsl.schema.vocabulary import SymInt

lib = Library("aten")
TOPICS = (views, transpositions, slicing, splitting, complex_views)


def viewing() -> list[Operator]:
    """The operators of the topics that return views of their argument and have kernels of their own."""
    files = {each.__file__ for each in TOPICS}
    return [
        each
        for each in registry
        if each.schema.is_view
        and each.schema.kind is SchemaKind.functional
        and each.location.rpartition(":")[0] in files
        and not any(str(key) == "CompositeImplicitAutograd" for key in each.registrations)
    ]


def copy_schema(schema: FunctionSchema) -> FunctionSchema:
    """The schema without aliases, its name ending in ``_copy``."""
    plain = schema.signature(keep_return_names=True)
    return attrs.evolve(plain, name=attrs.evolve(schema.name, base=f"{schema.name.base}_copy"))


def copy_of(view: Callable[..., Any]) -> Callable[..., Any]:
    """Calls the view operator and copies what it returns."""

    def body(*given: object, **named: object) -> Any:
        result = view(*given, **named)
        return copied(result) if isinstance(result, Tensor) else [copied(each) for each in result]

    return body


def copied(view: Tensor) -> Tensor:
    """The elements in memory of their own, in row-major order."""
    made: Tensor = view.clone(memory_format=MemoryFormat.contiguous_format)
    return made


def copy_viewed(self: Tensor, size: tuple[int, ...]) -> Tensor:
    """``view_copy``: of what cannot be viewed, too."""
    return copied(self.reshape(size))


def store(copies: Callable[..., Any]) -> Callable[..., None]:
    """Copies the results of an operator that returns a list into the tensors of a given one."""

    def body(*given: object, out: list[Tensor], **named: object) -> None:
        made = copies(*given, **named)
        check(len(made) == len(out), f"expected {len(made)} tensors in out, but got {len(out)}")
        check_storable(zip(out, made, strict=True))
        for target, value in zip(out, made, strict=True):
            resize_output(target, value.shape)
            target.copy_(value)

    return body


OWN: dict[str, Callable[..., Any]] = {"aten::view": copy_viewed}


def declare_copies() -> None:
    """Declare the copying operator of every view operator; of those that return lists with an ``out=`` variant."""
    for operator in viewing():
        schema = copy_schema(operator.schema)
        out = out_schema(schema)
        view = registry.packets[operator.packet_name].operator_function(operator)
        options: dict[str, Any] = {} if operator.returns_list else {"autogen": f"{out.name.base}.{out.name.overload}"}
        copies = lib.define(
            schema,
            OWN.get(operator.name) or copy_of(view),
            key="CompositeExplicitAutogradNonFunctional",
            tags="view_copy",
            **options,
        )
        if operator.returns_list:
            lib.define(out, store(copies), key="CompositeExplicitAutograd")


def declare_outputs() -> None:
    """Declare the ``out=`` variants at once, since Python's functions of copies take them, unlike of others."""
    declare_generated_of(registry, [each for each in registry if "view_copy" in each.tags])


declare_copies()
declare_outputs()

# -------------------------------------------------------------------------------------------------------- narrow_copy


@lib.op("narrow_copy", variants="function, method", tags="view_copy")
def narrow_copy(self: Tensor, dim: int, start: SymInt, length: SymInt) -> Tensor:
    """A copy of the elements from ``start`` on along a dimension."""
    ...


@narrow_copy.kernel("CPU")
def narrow_copy_cpu(self, dim, start, length):
    return copied(narrowed(self, dim, start, length))


@narrow_copy.kernel("CompositeExplicitAutogradNonFunctional")
def narrow_copy_kernel(self, dim, start, length):
    return copied(self.narrow(dim, start, length))


def narrowed(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """The elements that are copied on the CPU, where PyTorch has an error of its own for dimensions beyond the last.

    Raises:
        ShapeError: there is no such dimension, ``dim`` counting from the front. See ``narrow`` for others.
    """
    check(self.ndim == 0 or dim < self.ndim, "narrow_copy(): expected dim < self.ndim", dim=dim, ndim=self.ndim)
    return self.narrow(dim, start, length)


@narrow_copy.overload("out", kernel=True)
def narrow_copy_out(
    self: Tensor, dim: int, start: SymInt, length: SymInt, *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """``narrow_copy`` into a given tensor."""
    if out.dtype is not self.dtype:
        raise DTypeError(f"narrow_copy(): expected out to have dtype {self.dtype} of self, but got {out.dtype}")
    viewed = narrowed(self, dim, start, length)
    out.resize_(viewed.shape)  # as PyTorch does: without a warning
    return out.copy_(viewed)
