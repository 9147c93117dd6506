"""Index of a program's tensors: the step that computes each, its readers, and its sizes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from opdsl.programs.passes import Memory
from opdsl.programs.program import Program
from opdsl.programs.sizes import SizeSyntaxError, computed, read
from opdsl.programs.steps import Expression, Size, Step, names_in, sizes_of
from opdsl.runtime import Device, DType, Tensor
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import NotLoweredError, Symbol, example_value, is_symbol, least

__all__ = ["Sources", "order_of"]


class Sources:
    """Index of the tensors of a program: makers, readers, shapes and sizes, for the fusion of indexed kernels.

    makers: the step that computes each tensor, by name.
    shapes, dtypes, devices: of each tensor, by name.
    symbols: symbolic or known value of each expression of sizes.
    readers: the steps that read each tensor; None is among them if it is returned.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.makers: dict[str, Step] = {}
        self.shapes: dict[str, tuple[Size, ...]] = {input.name: input.shape for input in program.inputs}
        self.dtypes: dict[str, DType | None] = {input.name: input.dtype for input in program.inputs}
        self.devices: dict[str, Device | None] = {input.name: input.device for input in program.inputs}
        self.symbols: dict[str, Any] = {}
        self.readers: dict[str, list[Step | None]] = defaultdict(list)
        memory = Memory(program)
        for name, constant in program.constants.items():
            self.shapes[name], self.dtypes[name] = sizes_of(constant.shape), constant.dtype
            self.devices[name] = constant.device
        for step in program.steps:
            is_plain = not (step.writes or step.is_random or memory.of(step.reads | step.result_names) & memory.written)
            for result in step.results:
                if result is not None:
                    self.shapes[result.name], self.dtypes[result.name] = result.shape, result.dtype
                    self.devices[result.name] = result.device
                    if is_plain:
                        self.makers[result.name] = step
            for name in step.reads:
                self.readers[name].append(step)
            self.symbols |= {symbol.text: symbol for symbol in _symbols_of(step)}
        for name in names_in(program.outputs):
            self.readers[name].append(None)
        self._add_symbols_of_inputs()
        for name, text in program.sizes:
            if name not in self.symbols and (size := self.size(text)) is not None:
                self.symbols[name] = size

    def is_not_negative(self, name: str) -> bool:
        """Return whether an index tensor is known to have no negative elements: a step has replaced them by a size,
        which is out of bounds.
        """
        step = self.makers.get(name)
        if step is None or step.name != "aten::where.self":
            return False
        test, size = (self.makers.get(operand.text) for operand in step.operands[:2] if isinstance(operand, Expression))
        if test is None or test.name != "aten::lt.Scalar" or test.operands != (step.operands[2], 0):
            return False
        return size is not None and size.name == "aten::full" and self._is_size(size.operands[1])

    def _is_size(self, value: Any) -> bool:
        known = self.size(value.text) if isinstance(value, Expression) else value
        return (type(known) is int or is_symbol(known)) and (least(known) or -1) >= 0

    def size(self, text: str) -> Any:
        """Return the value of an expression of sizes: a symbol or an integer; None if unknown."""
        if text not in self.symbols:
            try:
                self.symbols[text] = computed(read(text), self.symbols)
            except (KeyError, SizeSyntaxError, NotLoweredError):
                return None
        return self.symbols[text]

    def _add_symbols_of_inputs(self) -> None:
        """Add symbols for sizes of inputs that no step uses."""
        owner = next((symbol.owner for symbol in self.symbols.values()), None)
        example = self.program.example or {}
        for name in {size for input in self.program.inputs for size in input.shape if isinstance(size, str)}:
            if owner is not None and name not in self.symbols and name in owner.bounds and name in example:
                self.symbols[name] = Symbol(owner, example[name], {(name,): 1})


def _symbols_of(step: Step) -> Iterator[Symbol]:
    """Yield the symbolic sizes and numbers among the arguments of a step."""
    for value in step.call.arguments if step.call is not None else ():
        parts = value.shape if isinstance(value, Tensor) else value if isinstance(value, (tuple, list)) else (value,)
        yield from (part for part in parts if type(part) is Symbol)


def order_of(root: Step) -> tuple[int, ...] | None:
    """Return the dimensions of a step's result in the order of its memory layout, outermost first; None if it has
    gaps.
    """
    call = root.call
    assert call is not None, "it is structured"
    (spec,) = call.definition.prepare(call.arguments, ()).specs
    strides = [example_value(stride) for stride in spec.strides]
    sizes = [example_value(size) for size in spec.shape]
    dims = range(len(sizes))
    for order in (tuple(dims), tuple(sorted(dims, key=lambda dim: (-strides[dim], sizes[dim] != 1)))):
        dense = contiguous_strides(tuple(sizes[dim] for dim in order))
        if all(sizes[dim] == 1 or strides[dim] == stride for dim, stride in zip(order, dense, strict=True)):
            return order
    return None
