"""Fusion of gathers, views and pointwise steps into one function from the indices of an element to its value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.iteration.numbers import convert, wrap
from opdsl.programs.branches import COPIES
from opdsl.programs.element_nodes import ElementNodes
from opdsl.programs.place_maps import Grid, MappedView, broadcast_place, is_mapped, source_place
from opdsl.programs.place_operators import PlacedKernel, operator_of
from opdsl.programs.place_proofs import are_inside, unclamped
from opdsl.programs.place_sources import Sources, order_of
from opdsl.programs.steps import Expression, Result, Size, Step, operator_named, sizes_of
from opdsl.runtime import DType, Tensor, bool_, contiguous_format, float32, float64, int8, int16, int32, int64, uint8
from opdsl.runtime.symbol import example_value, is_symbol, least
from opdsl.scalar import ScalarFunction, read
from opdsl.scalar.indexed import Access, IndexedFunction

__all__ = ["FLOATS", "GATHER", "MOVING", "SUM", "NotPlacedError", "Output", "PlaceGroup", "is_copy"]

FLOATS = (float32, float64)
_DTYPES = frozenset((*FLOATS, bool_, int8, int16, int32, int64, uint8))
GATHER = "aten::index.Tensor"
SUM = "aten::sum.dim_IntList"
_CONSTANTS: Mapping[str, float] = {"aten::zeros": 0, "aten::ones": 1}

# Schema types of number parameters.
_NUMBERS: Mapping[type, str] = {int: "SymInt", float: "float"}

# Views that permute dimensions, across which pointwise steps are not fused.
MOVING = ("aten::permute", "aten::transpose.int", "aten::t")

# Larger functions would exceed the registers of any machine and compile slowly.
_MOST_NODES = 256
_MOST_READS = 16

# Cheap operations: recomputed for each read if that saves writing a tensor larger than its operands.
_CHEAP = frozenset(
    (
        "parameter", "constant", "convert", "add", "subtract", "multiply", "negative", "absolute", "minimum", "maximum",
        "select", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
        "logical_not", "truth", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "floor_divide", "remainder",
        "to_bool", "to_integer", "to_floating", "isnan", "fma", "rounded",
    )
)  # fmt: skip


class NotPlacedError(Exception):
    """Raised when a step cannot be expressed as a function of the indices of its elements."""


def is_copy(step: Step) -> bool:
    """Return whether a step copies elements into row-major order, as matrix products need them."""
    return step.name == "aten::clone" and step.options.get("memory_format") is contiguous_format


class Output(NamedTuple):
    """Index space of a fused kernel.

    sizes: size of each index.
    folded: the indices that are summed.
    """

    sizes: dict[str, Size]
    folded: tuple[str, ...]


class PlaceGroup(ElementNodes):
    """Fusion of a step with the steps that compute its operands into an indexed kernel, which computes an element from
    its indices.

    steps: the fused steps.
    reads: accesses of the kernel, by tensor and indices.
    positions: computed indices of gathers with the sizes that they index, which must be proven in bounds.
    looked_at: index tensors that each call checks for bounds, with the size and the dimension that they index.
    """

    def __init__(self, known: Sources, root: Step, result: Result) -> None:
        source = read(_itself)
        super().__init__(source.places[0])
        self.source = source.source
        self.known = known
        self.root, self.result = root, result
        self.steps: dict[int, Step] = {}
        self.positions: list[tuple[int, Any]] = []
        self.looked_at: dict[tuple[str, int | str, int], None] = {}
        self.reads: dict[tuple[str, tuple[int, ...]], Access] = {}
        self.tensors: dict[str, str] = {}
        self.numbers: dict[str, tuple[str, Any]] = {}
        self.memo: dict[tuple[str, tuple[int, ...]], int] = {}
        self.constants: dict[tuple[type, str], int] = {}
        self.grid = Grid(self.number, self._sum, self._product)
        self._around: tuple[tuple[int, ...], Step] = ((), root)
        self.output = self.find_output()
        self.value = self.find_value()

    # --------------------------------------------------------------------------------------------------- the result

    def find_output(self) -> Output:
        """Return the sizes of the result's indices, and those that are summed."""
        if self.root.name != SUM:
            sizes = {f"i{dim}": size for dim, size in enumerate(self.result.shape)}
            return Output(sizes, ())
        assert self.root.call is not None, "it folds"
        source, keeps = self.root.call.arguments[0], len(self.result.shape)
        dims, shape = self.root.call.state.dims, sizes_of(source.shape)
        if keeps == len(shape) or self.root.call.state.dims == () or source.dtype is not self.result.dtype:
            raise NotPlacedError
        sizes = {f"i{dim}": size for dim, size in enumerate(shape) if dim not in dims}
        folded = tuple(f"j{dim}" for dim in dims)
        return Output(sizes | {f"j{dim}": shape[dim] for dim in dims}, folded)

    def find_value(self) -> int:
        """Add the nodes that compute an element of the result, or an element that is summed for it, and return the
        last.
        """
        self.steps[id(self.root)] = self.root
        indices = {size: self.add("parameter", value=size) for size in self.output.sizes}
        if is_copy(self.root):
            return self.element(self.root.operands[0].text, tuple(indices.values()), self.root)
        if self.root.name != SUM:
            return self._pointwise(self.root, tuple(indices.values()))
        assert self.root.call is not None, "it folds"
        operand, rank = self.root.call.operands[0], len(indices)
        place = tuple(indices.get(f"i{dim}", indices.get(f"j{dim}", -1)) for dim in range(rank))
        return self.element(operand.text, place, self.root)

    # ---------------------------------------------------------------------------------------------------- elements

    def element(self, name: str, place: tuple[int, ...], reader: Step) -> int:
        """Add the node of a tensor's element at given indices, by recomputation or by a read, and return it.

        Args:
            name: of the tensor.
            place: a node for each dimension.
            reader: the step that reads it.
        """
        key = (name, place)
        if key not in self.memo:
            step = self.known.makers.get(name)
            is_within = step is not None and self._is_within(step, name, reader)
            self.memo[key] = (
                self._made(step, name, place) if step is not None and is_within else self._read(name, place)
            )
            if len(self.nodes) > _MOST_NODES:
                raise NotPlacedError
        return self.memo[key]

    def _is_within(self, step: Step, name: str, reader: Step) -> bool:
        """Return whether a step is fused into the kernel, and its result not read from memory."""
        if is_mapped(step) or step.name in ("aten::arange", "aten::full", *_CONSTANTS):
            return True
        if self.known.dtypes[name] not in _DTYPES:
            return False
        readers = self.known.readers[name]
        is_own = all(other is not None and (id(other) in self.steps or other is reader) for other in readers)
        if step.name == GATHER:
            return is_own
        if step.name in COPIES:
            return True
        if step.call is None or not isinstance(step.call.definition, PointwiseDefinition) or len(step.results) != 1:
            return False
        is_cheap = all(node.op in _CHEAP for node in step.call.state.formula.function.nodes)
        return is_cheap or (is_own and self._has_all_elements(self.known.shapes[name]))

    def _has_all_elements(self, shape: tuple[Size, ...]) -> bool:
        """Return whether a tensor has one element for each iteration of the kernel, so that none is computed twice."""
        own, whole = ([str(size) for size in sizes if size != 1] for sizes in (shape, self.output.sizes.values()))
        return sorted(own) == sorted(whole)

    def _made(self, step: Step, name: str, place: tuple[int, ...]) -> int:
        """Add the nodes that recompute an element of a step's result from the step's operands."""
        shapes = self.known.shapes
        if is_mapped(step):
            source = step.operands[0].text
            view = MappedView(step, shapes[name], shapes[source])
            self.steps[id(step)] = step
            return self.element(source, source_place(view, place, self.grid), step)
        self.steps[id(step)] = step
        dtype = self.known.dtypes[name]
        assert dtype is not None, "of a tensor"
        if step.name == GATHER:
            return self._gathered(step, place)
        if step.name in COPIES:
            source = step.operands[0].text
            return self.converted(self.element(source, place, step), dtype)
        if step.name == "aten::arange":
            if len(step.operands) != 1 or dtype is not int64:
                raise NotPlacedError
            return place[0]
        if step.name == "aten::full":
            return self.operand(step.operands[1], step.operands[1], dtype, True)
        if step.name in _CONSTANTS:
            return self.operand(_CONSTANTS[step.name], None, dtype, True)
        return self._pointwise(step, place)

    def _pointwise(self, step: Step, place: tuple[int, ...]) -> int:
        call = step.call
        assert call is not None, "it is pointwise"
        kinds = {argument.dtype for argument in call.arguments if isinstance(argument, Tensor)} | set(call.state.dtypes)
        if not kinds <= _DTYPES or (kinds & set(FLOATS)) - {self.result.dtype}:
            raise NotPlacedError
        before, self._around = self._around, (place, step)
        try:
            assert isinstance(call.definition, PointwiseDefinition), "asked before"
            return self.call(call.operands, call.arguments, call.definition, call.state)[0]
        finally:
            self._around = before

    def operand(self, operand: Any, value: Any, dtype: DType, wraps: bool) -> int:
        """See ``ElementNodes.operand``."""
        if isinstance(operand, Expression) and operand.text in self.known.shapes:
            place, step = self._around
            source = self.known.shapes[operand.text]
            if isinstance(value, Tensor) and value.dtype not in _DTYPES:
                raise NotPlacedError
            there = broadcast_place(place, source, self.grid)
            return self.converted(self.element(operand.text, there, step), dtype)
        if isinstance(operand, Expression) and (is_symbol(value) or value is operand):
            return self.converted(self.number(operand.text), dtype)
        if isinstance(operand, (bool, int, float)):
            return self.converted(self._constant((wrap if wraps else convert)(operand, dtype)), dtype)
        raise NotPlacedError

    def _gathered(self, step: Step, place: tuple[int, ...]) -> int:
        """Add the nodes that recompute an element of a gather, read at indices that other tensors contain."""
        source, indices = step.operands[0].text, step.operands[1]
        sizes = self.known.shapes[source]
        indices = (*indices, *[None] * (len(sizes) - len(indices)))
        at = [dim for dim, index in enumerate(indices) if index is not None]
        own = [self.known.shapes[indices[dim].text] for dim in at]
        rank = len(place) - (len(sizes) - len(at))
        first = at[0] if at == list(range(at[0], at[0] + len(at))) else 0
        there = place[first : first + rank]
        rest, extents = iter((*place[:first], *place[first + rank :])), self._extents(sizes)
        numbers = []
        for dim, index in enumerate(indices):
            if index is None:
                numbers.append(next(rest))
                continue
            if self.known.dtypes[index.text] is not int64:
                raise NotPlacedError
            where = broadcast_place(there, own[at.index(dim)], self.grid)
            if self.known.is_not_negative(index.text):
                numbers.append(self.look_at(index.text, where, sizes[dim], dim))
            else:
                numbers.append(self.element(index.text, where, step))
                self.positions.append((numbers[-1], extents[dim]))
        return self.element(source, tuple(numbers), step)

    def look_at(self, name: str, place: tuple[int, ...], size: Size, dim: int) -> int:
        """Add a read of an index tensor, of which each call of the kernel checks that all its elements are in
        bounds.
        """
        if (name, place) not in self.reads:
            self.memo[name, place] = self._read(name, place)
        self.number(size)
        extent = self.numbers[size][0] if isinstance(size, str) else size
        self.looked_at[self.tensors[name], extent, dim] = None
        return self.memo[name, place]

    def _read(self, name: str, place: tuple[int, ...]) -> int:
        """Add a read of an element from a tensor in memory."""
        is_here = self.known.devices[name] == self.result.device
        if not is_here or self.known.dtypes[name] not in _DTYPES or len(self.reads) >= _MOST_READS:
            raise NotPlacedError
        array = self.tensors.setdefault(name, f"x{len(self.tensors)}")
        inside = self._unclamped(name, place)
        margin = None if inside is None else "replicate"
        access = Access(f"{array}@{len(self.reads)}", array, inside or place, False, margin)
        self.reads[name, place] = access
        return self.add("parameter", value=access.name)

    def _unclamped(self, name: str, place: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return indices with their clamping removed, for a read that pads its tensor by replication; None if none is
        clamped.

        Kernels handle padded borders in separate loops, so that the interior needs no clamping.
        """
        numbers = dict(self.numbers.values())
        sizes = self._extents(self.known.shapes[name])
        pairs = zip(place, sizes, strict=True)
        unclamped_nodes = [None if size is None else unclamped(self.nodes, node, size, numbers) for node, size in pairs]
        if all(number is None for number in unclamped_nodes):
            return None
        return tuple(node if number is None else number for node, number in zip(place, unclamped_nodes, strict=True))

    # ----------------------------------------------------------------------------------------------- whole numbers

    def _constant(self, value: Any) -> int:
        key = (type(value), repr(value))  # repr distinguishes 0.0 from -0.0
        if key not in self.constants:
            self.constants[key] = self.add("constant", value=value)
        return self.constants[key]

    def number(self, value: Any) -> int:
        """Return the node of an integer, or of a size or number of the program."""
        if not isinstance(value, str):
            return self.converted(self._constant(value), int64)  # else it would have the dtype of elements
        if value not in self.numbers:
            symbol = self.known.size(value)
            if type(example_value(symbol)) not in _NUMBERS:
                raise NotPlacedError
            name = f"n{len(self.numbers)}"
            self.numbers[value] = name, symbol
            self.constants[str, value] = self.add("parameter", value=name)
        return self.constants[str, value]

    def _sum(self, one: int, other: int) -> int:
        return self.add("add", one, other)

    def _product(self, one: int, other: int) -> int:
        return self.add("multiply", one, other)

    # ------------------------------------------------------------------------------------------------- the operator

    def is_gain(self) -> bool:
        """Return whether fusion saves writing or copying a tensor."""
        if self.positions or self.looked_at or (self.root.call is not None and self._joins_what_views_divide()):
            return True
        shape, folded = set(self.output.sizes), set(self.output.folded)
        indices = {at: str(node.value) for at, node in enumerate(self.nodes) if node.op == "parameter"}
        reads = [{indices.get(node) for node in access.positions} for access in self.reads.values()]
        is_product = any(texts & folded and not texts >= shape - folded for texts in reads)
        return len(self.steps) > 1 and bool(folded) and (is_product or not any(texts >= shape for texts in reads))

    def _joins_what_views_divide(self) -> bool:
        """Return whether a full-size tensor is computed and then read with its dimensions permuted."""
        moved = [step for step in self.steps.values() if step.name in MOVING]
        makers = [self.known.makers.get(step.operands[0].text) for step in moved]
        return any(
            maker is not None
            and id(maker) in self.steps
            and not maker.is_view
            and maker.call is not None
            and self._has_all_elements(self.known.shapes[step.operands[0].text])
            for step, maker in zip(moved, makers, strict=True)
        )

    def as_steps(self) -> tuple[Step, ...]:
        """Return the step of the kernel, and one that permutes its result if the memory layout requires another order.

        Raises:
            NotPlacedError: indices may be out of bounds, or the result has gaps.
        """
        function, ranges = self.proven()
        order = order_of(self.root) if self.root.call is not None else tuple(range(len(self.result.shape)))
        if order is None:
            raise NotPlacedError
        folded = self.output.folded
        names = [name for name in ranges if name not in folded]
        at, fold = tuple(names[dim] for dim in order), "sum" if folded else ""
        indexed = IndexedFunction(function, at, False, folded, tuple(self.reads.values()), (), fold)
        if order == tuple(range(len(order))):
            return (self.as_step(indexed, ranges, self.result),)
        result = Result(
            f"{self.result.name}_laid",
            self.result.dtype,
            tuple(self.result.shape[dim] for dim in order),
            self.result.device,
        )
        back = tuple(order.index(dim) for dim in range(len(order)))
        moved = Step(operator_named("aten::permute"), (Expression(result.name), back), {}, (self.result,))
        return self.as_step(indexed, ranges, result), moved

    def proven(self) -> tuple[ScalarFunction, dict[str, int | str]]:
        """Return the kernel's function and the ranges of its indices, after proving that all computed indices are in
        bounds.

        Raises:
            NotPlacedError: indices may be out of bounds, or nothing is read.
        """
        if not self.reads or not any(self.known.dtypes[name] is self.result.dtype for name in self.tensors):
            raise NotPlacedError
        ranges: dict[str, int | str] = {}
        extents: dict[str, Any] = {}
        for index, size in self.output.sizes.items():
            self.number(size)
            ranges[index], extents[index] = self.numbers[size] if isinstance(size, str) else (size, size)
        numbers = {name: number for name, number in self.numbers.values() if type(example_value(number)) is int}
        function = self._function()
        is_inside = are_inside(function, self.positions, extents, numbers)
        if not is_inside or not all(map(self._is_no_zero, self.divided)):
            raise NotPlacedError
        return function, ranges

    def as_step(
        self,
        indexed: IndexedFunction,
        ranges: Mapping[str, int | str],
        result: Result,
        written: tuple[int | str, ...] = (),
    ) -> Step:
        """Return the step that calls the fused kernel.

        Args:
            indexed: the function.
            ranges: ranges of its indices.
            result: result of the step.
            written: sizes of the result if the function adds at computed indices.
        """
        kinds = [str(self.known.dtypes[name]) for name in self.tensors]
        arguments = [f"Tensor {array}" for array in self.tensors.values()]
        arguments += [f"{_NUMBERS[type(example_value(number))]} {name}" for name, number in self.numbers.values()]
        kernel = PlacedKernel(indexed, ranges, self.result.dtype, [*self.looked_at], written)
        parts = tuple(step for step in self.known.program.steps if id(step) in self.steps)
        operands = (*map(Expression, self.tensors), *map(Expression, self.numbers))
        return Step(operator_of(kernel, arguments, kinds), operands, {}, (result,), parts=parts)

    def _is_no_zero(self, node: int) -> bool:
        """Return whether a divisor is a constant other than 0, or a size that surely is not 0."""
        while self.nodes[node].op == "convert":
            (node,) = self.nodes[node].arguments
        symbol = dict(self.numbers.values()).get(str(self.nodes[node].value))
        return self.is_constant(node) if symbol is None else (least(symbol) or 0) > 0

    def _extents(self, shape: tuple[Size, ...]) -> tuple[Any, ...]:
        return tuple(self.known.size(size) if isinstance(size, str) else size for size in shape)

    def _function(self) -> ScalarFunction:
        names = (*self.output.sizes, *[name for name, _ in self.numbers.values()])
        parameters = (*names, *[access.name for access in self.reads.values()])
        return ScalarFunction(
            self._name, parameters, {}, tuple(self.nodes), tuple(self.places), (self.value,), self.source
        )

    @property
    def _name(self) -> str:
        steps = [step for step in self.steps.values() if not step.is_view]
        names = (step.name.partition("::")[2].partition(".")[0].strip("_") for step in reversed(steps))
        return "_".join(dict.fromkeys(names))[:48].strip("_")


def _itself(x: float) -> float:
    """Return ``x``; a placeholder source for nodes that come from no source line."""
    return x
