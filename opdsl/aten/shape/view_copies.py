"""Operators that copy views, such as ``permute_copy`` for ``permute``: one for every view operator that is not
composite.
"""

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
    """Return the view operators of the modules in ``TOPICS`` that have their own kernels."""
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
    """Return a contiguous copy of a view."""
    copy: Tensor = view.clone(memory_format=MemoryFormat.contiguous_format)
    return copy


def declare_copies() -> None:
    """Declare the ``_copy`` operator of every view operator, and its ``out=`` variant."""
    for operator in viewing():
        if operator.name == "aten::view":
            continue
        view: Any = registry.packets[operator.packet_name].operator_function(operator)
        view.view_copy()
    declare_generated_of(registry, [operator for operator in registry if "view_copy" in operator.tags])


@op("aten::view_copy", kernel=NEW, tags="view_copy")
def view_copy(self: Tensor, size: list[SymInt]) -> Tensor:
    """Return a copy in another shape, even if a view of that shape is impossible."""
    return copied(self.reshape(size))


declare_copies()


@lib.op("narrow_copy", variants="function, method", tags="view_copy")
def narrow_copy(self: Tensor, dim: int, start: SymInt, length: SymInt) -> Tensor:
    """Return a copy of ``length`` elements of a dimension, from index ``start`` on."""
    ...


narrow_copy.kernel("CPU")(lambda self, dim, start, length: copied(narrowed(self, dim, start, length)))


@narrow_copy.kernel("CompositeExplicitAutogradNonFunctional")
def narrow_copy_kernel(self, dim, start, length):
    return copied(self.narrow(dim, start, length))


def narrowed(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return the view that ``narrow_copy`` copies on the CPU, where PyTorch has a separate error for dimensions out of
    range.

    Raises:
        ShapeError: there is no such dimension, if ``dim`` counts from the front. See ``narrow`` for others.
    """
    check(self.ndim == 0 or dim < self.ndim, "narrow_copy(): expected dim < self.ndim", dim=dim, ndim=self.ndim)
    return self.narrow(dim, start, length)


@narrow_copy.overload("out", kernel=True)
def narrow_copy_out(
    self: Tensor, dim: int, start: SymInt, length: SymInt, *, out: Tensor[Alias("a", write=True)]
) -> Tensor[Alias("a", write=True)]:
    """Write the result of ``narrow_copy`` into ``out``."""
    if out.dtype is not self.dtype:
        raise DTypeError(f"narrow_copy(): expected out to have dtype {self.dtype} of self, but got {out.dtype}")
    viewed = narrowed(self, dim, start, length)
    out.resize_(viewed.shape)  # like PyTorch, without a warning
    return out.copy_(viewed)
