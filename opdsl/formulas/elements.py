"""Conversion of a traced formula that computes element by element into one scalar function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from opdsl.formulas.forms import ElementFunction, NotElementwiseError, NumberParameter
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.numbers import convert, wrap
from opdsl.programs.branches import COPIES
from opdsl.programs.element_nodes import ElementNodes
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Result, Step, names_in
from opdsl.runtime import DType, Tensor
from opdsl.scalar import ScalarFunction
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place

__all__ = ["element_function", "names_of"]

# Operators that fill a tensor with one number, and that number; the shape is handled separately.
_CONSTANTS: Mapping[str, int] = {
    "aten::zeros": 0, "aten::zeros_like": 0, "aten::new_zeros": 0,
    "aten::ones": 1, "aten::ones_like": 1, "aten::new_ones": 1,
}  # fmt: skip
_FILLED: Mapping[str, int] = {"aten::full": 1, "aten::full_like": 1, "aten::new_full": 2, "aten::scalar_tensor": 0}
# Views that compute each element from the element at the same index.
_MAPS: Mapping[str, str] = {"aten::_conj": "conjugate", "aten::_neg_view": "negative"}
_PARTS = ("real", "imag")


def element_function(
    program: Program, source: FunctionSource, place_of: Callable[[int], Place], *, is_whole: bool = False
) -> ElementFunction:
    """Return the scalar function that an elementwise formula computes, given its traced steps.

    Args:
        program: the traced formula.
        source: source of the formula.
        place_of: source location of each step.
        is_whole: whether results may depend on no tensor.

    Raises:
        NotElementwiseError: a step folds, reads at other indices or changes the shape.
    """
    composer = _Composer(program, source, is_whole=is_whole)
    for index, step in enumerate(program.steps):
        composer.place = place_of(index)
        composer.step(step)
    outputs = program.outputs if isinstance(program.outputs, tuple) else (program.outputs,)
    return composer.finish(outputs, is_whole=is_whole)


class _Composer(ElementNodes):
    """Builder of a scalar function's nodes, one step of the formula after another.

    known: node of the value of each name.
    pairs: node of the complex numbers of which a name holds the real and imaginary parts.
    depends: the arguments that each node is computed from.
    is_whole: whether the formula computes gradients.
    """

    def __init__(self, program: Program, source: FunctionSource, *, is_whole: bool = False) -> None:
        super().__init__(Place(source, source.tree))
        self.program = program
        self.is_whole = is_whole
        self.source = source
        self.depends: list[frozenset[str]] = []
        self.known: dict[str, int] = {}
        self.pairs: dict[str, int] = {}
        self.dtypes: dict[str, DType] = {}
        self.numbers: dict[NumberParameter, int] = {}
        self.inputs = {input.name: input for input in program.inputs if input.kind is None}
        for input in self.inputs.values():
            assert input.dtype is not None, "the dtype of a tensor"
            self.dtypes[input.name] = input.dtype
            self.known[input.name] = self.add("parameter", value=input.name, of=frozenset({input.name}))

    def add(self, op: str, *arguments: int, value: Any = None, of: frozenset[str] = frozenset()) -> int:
        """Add a node and return its index."""
        self.depends.append(of.union(*[self.depends[at] for at in arguments]))
        return super().add(op, *arguments, value=value)

    # ------------------------------------------------------------------------------------------------- steps

    def step(self, step: Step) -> None:
        """Add the nodes of a traced step to the scalar function.

        Raises:
            NotElementwiseError: the step does more than compute elements.
        """
        result = step.results[0] if step.results else None
        base = step.name.partition(".")[0]
        if step.call is not None and isinstance(step.call.definition, PointwiseDefinition) and not step.is_random:
            numbers = self.call(step.call.operands, step.call.arguments, step.call.definition, step.call.state)
        elif result is None or step.writes or len(step.results) > 1:
            raise NotElementwiseError(step.name)
        elif base == "aten::view_as_real" and step.operands[0].text in self.known:
            self.pairs[result.name] = self.known[step.operands[0].text]
            return
        elif base == "aten::select" and step.operands[0].text in self.pairs:
            numbers = [self.part(step, result)]
        elif base in _MAPS and step.operands[0].text in self.known:
            numbers = [self.add(_MAPS[base], self.known[step.operands[0].text])]
        elif base in _CONSTANTS:
            numbers = [self.constant(_CONSTANTS[base], step, result)]
        elif base in _FILLED:
            numbers = [self.filled(step, result)]
        elif base in COPIES and isinstance(step.operands[0], Expression):
            numbers = [self.copied(step.operands[0].text, result.dtype)]
        else:
            raise NotElementwiseError(step.name)
        for output, position in zip(step.results, numbers, strict=True):
            if output is not None:
                self.known[output.name], self.dtypes[output.name] = position, output.dtype

    def operand(self, operand: Any, value: Any, dtype: DType, wraps: bool) -> int:
        """Add an operand, converted to the dtype that a step computes in."""
        if isinstance(operand, Expression) and operand.text in self.known:
            return self.converted(self.known[operand.text], dtype)
        if isinstance(operand, Expression) and not isinstance(value, Tensor):
            return self.number(NumberParameter(operand.text, dtype, wraps))
        if isinstance(operand, (bool, int, float, complex)):
            number = (wrap if wraps else convert)(operand, dtype)
            return self.converted(self.add("constant", value=number), dtype)
        raise NotElementwiseError("a tensor from elsewhere" if isinstance(value, Tensor) else repr(operand))

    def number(self, parameter: NumberParameter) -> int:
        """Return the node of a number parameter, adding it at first use."""
        if parameter not in self.numbers:
            self.numbers[parameter] = self.add("parameter", value=f"number{len(self.numbers)}")
        return self.numbers[parameter]

    def constant(self, number: Any, step: Step, result: Result) -> int:
        """Add the constant of a step that fills a tensor; the tensor has no dimensions, or the shape of an argument
        (``zeros_like``).
        """
        of = frozenset[str]()
        if result.shape:
            like = step.operands[0] if step.operands and isinstance(step.operands[0], Expression) else None
            if like is None or like.text not in self.known or "like" not in step.name:
                raise NotElementwiseError(f"{step.name} of a shape")
            of = self.depends[self.known[like.text]]
        return self.converted(self.add("constant", value=number, of=of), result.dtype, rounds=True)

    def filled(self, step: Step, result: Result) -> int:
        at = _FILLED[step.name.partition(".")[0]]
        number = step.operands[at] if at < len(step.operands) else next(iter(step.options.values()))
        if result.shape or isinstance(number, Expression):
            if result.shape and "like" not in step.name:
                if self.is_whole and number == 0:  # the zero gradient of an unused argument, which broadcasts
                    return self.converted(self.add("constant", value=number), result.dtype, rounds=True)
                raise NotElementwiseError(f"{step.name} of a shape")
            of = self.depends[self.known[step.operands[0].text]] if result.shape else frozenset[str]()
            known = self.operand(number, None, precision_of(result.dtype), False)
            position = self.converted(known, result.dtype, rounds=True)
            self.depends[position] |= of
            return position
        return self.constant(number, step, result)

    def part(self, step: Step, result: Result) -> int:
        """Add the real or imaginary part of complex numbers, selected along the last dimension of ``view_as_real``."""
        name, dim, index = step.operands
        if dim not in (-1, len(result.shape)) or index not in (0, 1):
            raise NotElementwiseError(step.name)
        return self.add(_PARTS[index], self.pairs[name.text])

    def copied(self, name: str, dtype: DType) -> int:
        if name not in self.known:
            raise NotElementwiseError("a tensor from elsewhere")
        is_same = self.dtypes[name] is dtype
        return self.known[name] if is_same else self.converted(self.known[name], dtype, rounds=True)

    # ------------------------------------------------------------------------------------------------ results

    def finish(self, outputs: Sequence[Any], *, is_whole: bool) -> ElementFunction:
        """Return the element function of the results, with the arguments that it reads."""
        positions: list[int] = []
        dtypes: list[DType] = []
        for output in outputs:
            if not isinstance(output, Expression) or output.text not in self.known:
                raise NotElementwiseError("a result that is no tensor made here")
            positions.append(self.known[output.text])
            dtypes.append(self.dtypes[output.text])
        checked = [at for at in self.divided if not self.is_constant(at)]
        needed = self._needed([*positions, *checked])
        of = frozenset[str]().union(*[self.depends[at] for at in (*positions, *checked)])
        tensors = tuple(name for name in self.inputs if name in of)
        if not tensors and not is_whole:
            raise NotElementwiseError("results of no tensor")
        used = [(parameter, at) for parameter, at in self.numbers.items() if at in needed]
        names = (*tensors, *[str(self.nodes[at].value) for _, at in used])
        result, *divisors = [self._function(names, numbers) for numbers in (positions, *[[at] for at in checked])]
        return ElementFunction(
            result,
            tensors,
            tuple(parameter for parameter, _ in used),
            tuple(dtypes),
            tuple(self.depends[at] for at in positions),
            tuple(divisors),
        )

    def _needed(self, positions: Sequence[int]) -> set[int]:
        needed = set(positions)
        for at in range(len(self.nodes) - 1, -1, -1):
            if at in needed:
                needed.update(self.nodes[at].arguments)
        return needed

    def _function(self, parameters: tuple[str, ...], positions: Sequence[int]) -> ScalarFunction:
        """Return the scalar function whose results are the given nodes, leaving out nodes that they do not need."""
        order = sorted(self._needed(positions))
        places = {at: index for index, at in enumerate(order)}
        nodes = [self.nodes[at]._replace(arguments=tuple(places[k] for k in self.nodes[at].arguments)) for at in order]
        return ScalarFunction(
            self.source.name,
            parameters,
            {},
            tuple(nodes),
            tuple(self.places[at] for at in order),
            tuple(places[at] for at in positions),
            self.source,
        )


def names_of(program: Program, numbers: Sequence[NumberParameter]) -> frozenset[str]:
    """Return the names of arguments and sizes that a call reads to check guards and to compute the numbers of its
    kernel.
    """
    texts = (*program.guards, *[number.text for number in numbers])
    words = names_in(tuple(Expression(text) for text in texts))
    return frozenset(word for word in words if not iskeyword(word))
