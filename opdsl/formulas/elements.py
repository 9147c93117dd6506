"""From the steps of a formula that computes element by element to one scalar function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from opdsl.formulas.forms import ElementFunction, NotElementwiseError, NumberParameter
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.iteration.dtypes import PRECISION, precision_of
from opdsl.kernels.iteration.numbers import convert, wrap
from opdsl.programs.program import Program
from opdsl.programs.reverse import COPIES
from opdsl.programs.steps import Expression, Result, Step, names_in
from opdsl.runtime import DType, Tensor
from opdsl.runtime.dtype import Category
from opdsl.scalar import ScalarFunction
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place, UntypedNode
from opdsl.schema.parameters import Role

__all__ = ["element_function", "names_of"]

# What gives elements that depend on no others: by name, the number that they are; the shape is another matter.
_CONSTANTS: Mapping[str, int] = {
    "aten::zeros": 0, "aten::zeros_like": 0, "aten::new_zeros": 0,
    "aten::ones": 1, "aten::ones_like": 1, "aten::new_ones": 1,
}  # fmt: skip
_FILLED: Mapping[str, int] = {"aten::full": 1, "aten::full_like": 1, "aten::new_full": 2, "aten::scalar_tensor": 0}
# Views whose elements are computed of those at the same place.
_MAPS: Mapping[str, str] = {"aten::_conj": "conjugate", "aten::_neg_view": "negative"}
_PARTS = ("real", "imag")
# What depends on the dtype that operands are stored in.
_OF_STORAGE = frozenset({"rounded", "largest", "nextafter", "trunc_divide"})


def element_function(
    program: Program, source: FunctionSource, place_of: Callable[[int], Place], *, is_whole: bool = False
) -> ElementFunction:
    """Return the scalar function that the steps of a formula come to.

    Args:
        program: what the formula did when it was traced.
        source: the text of the formula.
        place_of: where each step was written.
        is_whole: whether results may be computed of no tensor.

    Raises:
        NotElementwiseError: a step folds, reads elsewhere or makes another shape.
    """
    composer = _Composer(program, source)
    for index, step in enumerate(program.steps):
        composer.place = place_of(index)
        composer.step(step)
    outputs = program.outputs if isinstance(program.outputs, tuple) else (program.outputs,)
    return composer.finish(outputs, is_whole=is_whole)


class _Composer:
    """The nodes of a formula's steps, one after another.

    known: where the value of each name stands.
    pairs: where complex numbers stand that a name holds as pairs of their parts.
    depends: the arguments that each node is computed of.
    """

    def __init__(self, program: Program, source: FunctionSource) -> None:
        self.program = program
        self.source = source
        self.place = Place(source, source.tree)
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self.depends: list[frozenset[str]] = []
        self.known: dict[str, int] = {}
        self.pairs: dict[str, int] = {}
        self.dtypes: dict[str, DType] = {}
        self.numbers: dict[NumberParameter, int] = {}
        self.divided: list[int] = []
        self.inputs = {each.name: each for each in program.inputs if each.kind is None}
        for each in self.inputs.values():
            assert each.dtype is not None, "the dtype of a tensor"
            self.dtypes[each.name] = each.dtype
            self.known[each.name] = self.add("parameter", value=each.name, of=frozenset({each.name}))

    def add(self, op: str, *arguments: int, value: Any = None, of: frozenset[str] = frozenset()) -> int:
        """Add a node; its position."""
        self.nodes.append(UntypedNode(op, arguments, value))
        self.places.append(self.place)
        self.depends.append(of.union(*[self.depends[at] for at in arguments]))
        return len(self.nodes) - 1

    def converted(self, position: int, dtype: DType, *, rounds: bool = False) -> int:
        """Add a conversion to a dtype; those of 16 bits are computed in float32, and rounded where that is said."""
        return self.add("convert", position, value=(dtype if rounds else precision_of(dtype)).name)

    # ------------------------------------------------------------------------------------------------- steps

    def step(self, step: Step) -> None:
        """Add the nodes of a step.

        Raises:
            NotElementwiseError: it is more than a function of elements.
        """
        result = step.results[0] if step.results else None
        base = step.name.partition(".")[0]
        if step.call is not None and isinstance(step.call.definition, PointwiseDefinition) and not step.is_random:
            made = self.call(step.call.operands, step.call.arguments, step.call.definition, step.call.state)
        elif result is None or step.writes or len(step.results) > 1:
            raise NotElementwiseError(step.name)
        elif base == "aten::view_as_real" and step.operands[0].text in self.known:
            self.pairs[result.name] = self.known[step.operands[0].text]
            return
        elif base == "aten::select" and step.operands[0].text in self.pairs:
            made = [self.part(step, result)]
        elif base in _MAPS and step.operands[0].text in self.known:
            made = [self.add(_MAPS[base], self.known[step.operands[0].text])]
        elif base in _CONSTANTS:
            made = [self.constant(_CONSTANTS[base], step, result)]
        elif base in _FILLED:
            made = [self.filled(step, result)]
        elif base in COPIES and isinstance(step.operands[0], Expression):
            made = [self.copied(step.operands[0].text, result.dtype)]
        else:
            raise NotElementwiseError(step.name)
        for each, position in zip(step.results, made, strict=True):
            if each is not None:
                self.known[each.name], self.dtypes[each.name] = position, each.dtype

    def call(
        self, operands: Sequence[Any], arguments: Sequence[Any], definition: PointwiseDefinition, state: Any
    ) -> list[int]:
        """Add what a pointwise operator computes; its operands are promoted step by step, as eager calls do."""
        formula, iteration = state.formula, state.iteration
        function = formula.function
        given: dict[str, int] = {}
        pairs = zip(function.parameters, formula.places, iteration.parameters, strict=True)
        for name, at, dtype in pairs:
            wraps = definition.parameters[at].role is Role.TENSOR or at in formula.wrapped
            given[name] = self.operand(operands[at], arguments[at], dtype, wraps)
        if iteration.common.category is Category.INT:
            self.divided += [given[function.parameters[at]] for at in formula.divisors]
        storage = iteration.common.name if iteration.common in PRECISION else None
        moved: list[int] = []
        for node in function.nodes:
            if node.op == "parameter":
                moved.append(given[str(node.value)])
                continue
            value = storage if node.op in _OF_STORAGE and node.value is None else node.value
            moved.append(self.add(node.op, *[moved[at] for at in node.arguments], value=value))
        return [self.converted(moved[at], dtype) for at, dtype in zip(function.results, state.dtypes, strict=True)]

    def operand(self, operand: Any, value: Any, dtype: DType, wraps: bool) -> int:
        """Add an operand in the dtype that a step computes in."""
        if isinstance(operand, Expression) and operand.text in self.known:
            return self.converted(self.known[operand.text], dtype)
        if isinstance(operand, Expression) and not isinstance(value, Tensor):
            return self.number(NumberParameter(operand.text, dtype, wraps))
        if isinstance(operand, (bool, int, float, complex)):
            number = (wrap if wraps else convert)(operand, dtype)
            return self.converted(self.add("constant", value=number), dtype)
        raise NotElementwiseError("a tensor from elsewhere" if isinstance(value, Tensor) else repr(operand))

    def number(self, parameter: NumberParameter) -> int:
        """Add a number of the call."""
        if parameter not in self.numbers:
            self.numbers[parameter] = self.add("parameter", value=f"number{len(self.numbers)}")
        return self.numbers[parameter]

    def constant(self, number: Any, step: Step, result: Result) -> int:
        """Add what has the same elements everywhere: of no dimensions, or of those of an argument."""
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
                raise NotElementwiseError(f"{step.name} of a shape")
            of = self.depends[self.known[step.operands[0].text]] if result.shape else frozenset[str]()
            known = self.operand(number, None, precision_of(result.dtype), False)
            position = self.converted(known, result.dtype, rounds=True)
            self.depends[position] |= of
            return position
        return self.constant(number, step, result)

    def part(self, step: Step, result: Result) -> int:
        """Add a part of complex numbers, which is one of the last dimension of their pairs."""
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
        """Return the function of the results, of the arguments that it reads."""
        positions: list[int] = []
        dtypes: list[DType] = []
        for each in outputs:
            if not isinstance(each, Expression) or each.text not in self.known:
                raise NotElementwiseError("a result that is no tensor made here")
            positions.append(self.known[each.text])
            dtypes.append(self.dtypes[each.text])
        checked = [at for at in self.divided if not self._is_constant(at)]
        needed = self._needed([*positions, *checked])
        of = frozenset[str]().union(*[self.depends[at] for at in (*positions, *checked)])
        tensors = tuple(name for name in self.inputs if name in of)
        if not tensors and not is_whole:
            raise NotElementwiseError("results of no tensor")
        used = [(parameter, at) for parameter, at in self.numbers.items() if at in needed]
        names = (*tensors, *[str(self.nodes[at].value) for _, at in used])
        result, *divisors = [self._function(names, each) for each in (positions, *[[at] for at in checked])]
        return ElementFunction(
            result,
            tensors,
            tuple(parameter for parameter, _ in used),
            tuple(dtypes),
            tuple(self.depends[at] for at in positions),
            tuple(divisors),
        )

    def _is_constant(self, position: int) -> bool:
        node = self.nodes[position]
        if node.op == "convert":
            return self._is_constant(node.arguments[0])
        return node.op == "constant" and node.value != 0

    def _needed(self, positions: Sequence[int]) -> set[int]:
        needed = set(positions)
        for at in range(len(self.nodes) - 1, -1, -1):
            if at in needed:
                needed.update(self.nodes[at].arguments)
        return needed

    def _function(self, parameters: tuple[str, ...], positions: Sequence[int]) -> ScalarFunction:
        """Return the function of some values, without what they do not need."""
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
    """Return the names in what a call has to compute and to ask before its kernel runs."""
    texts = (*program.guards, *[each.text for each in numbers])
    words = names_in(tuple(Expression(each) for each in texts))
    return frozenset(word for word in words if not iskeyword(word))
