"""Copies of what views show: ``permute_copy`` of ``permute``, for every view operator that is no composite."""

from __future__ import annotations

from typing import Any

from opdsl.aten.shape import complex_views, slicing, splitting, transpositions, views
from opdsl.declare import Library, op
from opdsl.declare.generated import declare_generated_of
from opdsl.dispatch import Operator, registry
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import MemoryFormat, Tensor
from opdsl.schema import Alias, SchemaKind
from opdsl.schema.vocabulary import SymInt

lib = Library("aten")
NEW = "CompositeExplicitAutogradNonFunctional"
TOPICS = (views, transpositions, slicing, splitting, complex_views)


def viewing() -> list[Operator]:
    """The operators of the topics that return views of their argument and have kernels of their own."""
    files = {topic.__file__ for topic in TOPICS}
    return [
        operator
        for operator in registry
        if operator.schema.is_view
        and operator.schema.kind is SchemaKind.functional
        and operator.location.rpartition(":")[0] in files
        and not any(str(key) == "CompositeImplicitAutograd" for key in operator.registrations)
    ]


def copied(view: Tensor) -> Tensor:
    """The elements in memory of their own, in row-major order."""
    tensor: Tensor = view.clone(memory_format=MemoryFormat.contiguous_format)
    return tensor


def declare_copies() -> None:
    """Declare what copies of every view operator, and the ``out=`` variants, since Python's functions take them."""
    for operator in viewing():
        if operator.name == "aten::view":
            continue
        view: Any = registry.packets[operator.packet_name].operator_function(operator)
        view.view_copy()
    declare_generated_of(registry, [operator for operator in registry if "view_copy" in operator.tags])


@op("aten::view_copy", kernel=NEW, tags="view_copy", autogen="view_copy.out")
def view_copy(self: Tensor, size: list[SymInt]) -> Tensor:
    """A copy in another shape, also of what cannot be viewed so."""
    return copied(self.reshape(size))


declare_copies()


@lib.op("narrow_copy", variants="function, method", tags="view_copy")
def narrow_copy(self: Tensor, dim: int, start: SymInt, length: SymInt) -> Tensor:
    """A copy of the elements from ``start`` on along a dimension."""
    ...


narrow_copy.kernel("CPU")(lambda self, dim, start, length: copied(narrowed(self, dim, start, length)))


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
