"""Fusion of a scatter with the computation of its values, so that values are added without being stored."""

from __future__ import annotations

from opdsl.programs.place_groups import FLOATS, NotPlacedError, Output, PlaceGroup
from opdsl.programs.place_maps import is_mapped
from opdsl.programs.place_sources import Sources
from opdsl.programs.steps import Expression, Size, Step
from opdsl.runtime import int64
from opdsl.scalar.indexed import Access, IndexedFunction

__all__ = ["SCATTER", "ScatterGroup", "is_scatter"]

SCATTER = "aten::index_add"
_ZEROS = ("aten::zeros", "aten::new_zeros", "aten::zeros_like")


def is_scatter(known: Sources, step: Step) -> bool:
    """Return whether a step adds rows to zeros on the CPU, where kernels add in the order of indices."""
    if step.name != SCATTER or len(step.operands) != 4 or step.options.get("alpha", 1) != 1:
        return False
    base, dim, index, source = step.operands
    if not isinstance(dim, int) or not all(isinstance(operand, Expression) for operand in (base, index, source)):
        return False
    device = known.devices[base.text]
    is_plain = known.dtypes[index.text] is int64 and known.dtypes[source.text] in FLOATS
    return is_plain and device is not None and device.type == "cpu" and _is_zero(known, base.text)


def _is_zero(known: Sources, name: str) -> bool:
    """Return whether a tensor is known to contain only zeros."""
    step = known.makers.get(name)
    while step is not None and is_mapped(step):
        step = known.makers.get(step.operands[0].text)
    return step is not None and step.name in _ZEROS


class ScatterGroup(PlaceGroup):
    """Fusion of a scatter with the steps that compute its values, as a function of the indices of a value.

    target: indices at which a value is added, a node for each dimension of the result.
    """

    target: tuple[int, ...] = ()

    def find_output(self) -> Output:
        """See ``PlaceGroup``; returns the indices of values, without those of size 1."""
        shape = self.known.shapes[self.root.operands[3].text]
        return Output({f"i{dim}": size for dim, size in enumerate(shape) if size != 1}, ())

    def find_value(self) -> int:
        """See ``PlaceGroup``."""
        self.steps[id(self.root)] = self.root
        _, dim, index, source = self.root.operands
        shape = self.known.shapes[source.text]
        if not shape or not self.output.sizes:
            raise NotPlacedError
        names = {at: self.add("parameter", value=name) for at, name in enumerate(f"i{at}" for at in range(len(shape)))
                 if name in self.output.sizes}  # fmt: skip
        place = tuple([names[at] if at in names else self.number(0) for at in range(len(shape))])
        value = self.element(source.text, place, self.root)
        along = dim % len(shape)
        position = self.look_at(index.text, (place[along],), self.result.shape[along], along)
        self.target = (*place[:along], position, *place[along + 1 :])
        return value

    def is_gain(self) -> bool:
        """See ``PlaceGroup``; a gain if the values are computed by fused steps."""
        return any(not step.is_view and step is not self.root for step in self.steps.values())

    def as_steps(self) -> tuple[Step, ...]:
        """See ``PlaceGroup``."""
        function, ranges = self.proven()
        writes = (Access("out", "out", self.target, False, None),)
        indexed = IndexedFunction(function, tuple(ranges), False, (), tuple(self.reads.values()), writes)
        return (self.as_step(indexed, ranges, self.result, tuple(map(self._size, self.result.shape))),)

    def _size(self, size: Size) -> int | str:
        """Return a size as a number, or as the name of the argument that has it."""
        self.number(size)
        return self.numbers[size][0] if isinstance(size, str) else size
