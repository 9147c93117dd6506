"""Pass that fuses reductions with the pointwise steps that only they read, so that the elements need no memory.

The fused step is an operator with a kernel on every backend. It computes each element as the separate steps do, with
the same rounding, and folds as the fold does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opdsl.autograd.derived_operators import defined, known_operator
from opdsl.dispatch import Operator
from opdsl.kernels.calls import Folding
from opdsl.kernels.definitions.lifted import Lifted, LiftedDefinition
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.reduction import Reducing, ReductionDefinition
from opdsl.kernels.iteration.dtypes import PRECISION, precision_of
from opdsl.programs.arranging import BY_ROWS
from opdsl.programs.memory import Memory
from opdsl.programs.program import Program
from opdsl.programs.steps import Call, Expression, Step, names_in
from opdsl.runtime import DType, Tensor
from opdsl.runtime.dtype import Category
from opdsl.scalar import ScalarFunction
from opdsl.scalar.builder import GraphBuilder
from opdsl.scalar.graph import TypedGraph
from opdsl.scalar.types import ScalarType
from opdsl.scalar.untyped import UntypedNode
from opdsl.schema import parse_schema

__all__ = ["with_lifted_folds"]

# The same limits as for other fused steps.
_MOST_NODES = 256
_MOST_OPERANDS = 24


def with_lifted_folds(program: Program) -> Program:
    """Fuse each reduction (fold) with the pointwise steps that only it reads.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x, y: (x * y).sum(), opdsl.ones(3), opdsl.ones(3))
    >>> len(program.steps), len(with_lifted_folds(program).steps)
    (2, 1)
    """
    steps = _rows_apart(program.steps)
    lifting = _Lifting(program, steps)
    replaced: dict[int, Step | None] = {}
    for place, step in enumerate(steps):
        rows = lifting.rows(place)
        before = lifting.before(place, rows) if _is_fold(step) else []
        parts = [part for at in before for part in steps[at].parts or (steps[at],)]
        lifted = _lifted(parts, () if rows is None else (steps[rows],), step) if before else None
        if lifted is not None:
            taken = before if rows is None else [*before, rows]
            replaced |= {**dict.fromkeys(taken), place: lifted}
    generator = (replaced.get(place, step) for place, step in enumerate(steps))
    return program.replace(steps=tuple(step for step in generator if step is not None)) if replaced else program


class _Lifting:
    """Analysis of the data dependencies between the steps of a program.

    Args:
        program: the program.
        steps: its steps, in order.
    """

    def __init__(self, program: Program, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.makers = {name: place for place, step in enumerate(steps) for name in step.result_names}
        self.readers: dict[str, set[int]] = {name: {-1} for name in names_in(program.outputs)}
        for place, step in enumerate(steps):
            for read in step.reads:
                self.readers.setdefault(read, set()).add(place)
        memory = Memory(program)
        self.is_still = [not memory.of(step.reads | step.result_names) & memory.written for step in steps]

    def rows(self, place: int) -> int | None:
        """Return the index of the row reduction whose result a full reduction reduces further, if only that reads it;
        else None.
        """
        fold = self.steps[place]
        source = _source(fold) if _is_fold(fold) else ""
        at = self.makers.get(source, place)
        step = self.steps[at]
        is_of_rows = step.name == BY_ROWS.get(fold.name) and _is_fold(step) and step.operands[1:] == ((-1,), True)
        return at if is_of_rows and not step.options and self.readers[source] == {place} else None

    def before(self, place: int, rows: int | None) -> list[int]:
        """Return the indices of the pointwise steps that only a fold reads, directly or through each other.

        Args:
            place: index of the fold.
            rows: index of the step that folds rows for it.
        """
        first = place if rows is None else rows
        name = _source(self.steps[first])
        taken: set[int] = set()
        waiting = [name]
        while waiting:
            text = waiting.pop()
            at = self.makers.get(text, first)
            if at in taken or at == first or not self.readers[text] <= taken | {first}:
                continue
            step = self.steps[at]
            if self.is_still[at] and _is_pointwise(step) and _shape(step) == _shape(self.steps[self.makers[name]]):
                taken.add(at)
                waiting = sorted(set().union(*(self.steps[one].reads for one in taken)) & self.makers.keys())
        return sorted(taken)


def _source(fold: Step) -> str:
    """Return the name of the tensor that a fold reads."""
    assert fold.call is not None, "a fold"
    return str(fold.call.operands[fold.call.state.places[0]].text)


def _shape(step: Step) -> Any:
    return step.results[0] and step.results[0].shape


def _rows_apart(steps: Sequence[Step]) -> list[Step]:
    """Split fused row steps that only return one reduction into their parts, so that they can be fused as
    reductions.
    """
    split_steps: list[Step] = []
    folded: set[str] = set()
    for step in steps:
        if step.result_names and step.result_names <= folded:
            continue  # the fold already has the final shape
        fold = step.parts[-1] if step.parts else step
        is_fold_alone = len(step.parts) > 1 and _is_fold(fold) and all(map(_is_pointwise, step.parts[:-1]))
        if is_fold_alone and step.result_names <= {name + end for name in fold.result_names for end in ("", "_kept")}:
            split_steps += step.parts
            folded |= fold.result_names
        else:
            split_steps.append(step)
    return split_steps


def _is_fold(step: Step) -> bool:
    """Return whether a step reduces one tensor, without number parameters."""
    call = step.call
    if call is None or type(call.definition) is not ReductionDefinition or step.parts:
        return False
    state: Reducing = call.state
    if len(state.places) != 1 or state.fold.numbers or any(result is None for result in step.results):
        return False
    source = call.arguments[state.places[0]]
    is_rounded_first = state.value in PRECISION and source.dtype is not state.value
    return not is_rounded_first and isinstance(call.operands[state.places[0]], Expression)


def _is_pointwise(step: Step) -> bool:
    """Return whether a step computes one result by a scalar function that raises no errors."""
    if step.parts:
        return len(step.results) == 1 and all(map(_is_pointwise, step.parts))
    call = step.call
    if call is None or not isinstance(call.definition, PointwiseDefinition) or len(step.results) != 1:
        return False
    iteration, formula = call.state.iteration, call.state.formula
    raises = bool(formula.divisors) and iteration.common.category is Category.INT
    if raises or call.state.numbers or step.results[0] is None:
        return False
    operands = [(call.operands[at], call.arguments[at]) for at in formula.places]
    return all(_is_taken(operand, value, call, index) for index, (operand, value) in enumerate(operands))


def _is_taken(operand: Any, value: Any, call: Call, index: int) -> bool:
    """Return whether an operand of a pointwise step can be an operand of a fused reduction."""
    iteration = call.state.iteration
    if isinstance(value, Tensor):
        return value.device == iteration.device and iteration.casts[index] is None
    if isinstance(operand, Expression):
        kind = iteration.parameters[index]
        return type(operand) is Expression and kind.is_floating_point and iteration.casts[index] is None
    return isinstance(value if operand is None else operand, (bool, int, float, complex))


def _lifted(steps: Sequence[Step], rows: tuple[Step, ...], fold: Step) -> Step | None:
    """Return the fold fused with the steps that compute its elements; None if it would be too large.

    Args:
        steps: the steps that compute the elements.
        rows: the step that folds rows of them first, if any.
        fold: the fold of all.
    """
    assert fold.call is not None, "a fold"
    elements = _Elements(steps)
    state: Reducing = fold.call.state
    if not elements.tensors or len(elements.tensors) + len(elements.numbers) > _MOST_OPERANDS:
        return None
    folding = elements.folding(state.functions, _source((*rows, fold)[0]))
    if len(folding.lift.nodes) > _MOST_NODES:
        return None
    named = {
        parameter.name: value
        for parameter, value in zip(fold.call.definition.parameters, fold.call.arguments, strict=True)
    }
    dim = named.get("dim")
    lifted = Lifted(
        fold.call.definition.label,  # type: ignore[attr-defined]
        state,
        folding,
        tuple(dim) if isinstance(dim, (tuple, list)) else dim,
        bool(named.get("keepdim", False)),
        tuple(elements.numbers.values()),
    )
    operator = _operator(lifted, [*steps, fold], elements)
    return Step(operator, elements.operands, {}, fold.results, parts=(*steps, *rows, fold))


class _Elements:
    """Typed scalar functions of pointwise steps, composed into one.

    tensors, numbers: dtypes of the operands from outside, by expression.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = steps
        self.tensors: dict[str, DType] = {}
        self.numbers: dict[str, DType] = {}
        computed: set[str] = set()
        for step in steps:
            assert step.call is not None, "a pointwise step"
            state = step.call.state
            for at, kind in zip(state.formula.places, state.iteration.parameters, strict=True):
                operand, value = step.call.operands[at], step.call.arguments[at]
                if isinstance(operand, Expression) and operand.text not in computed:
                    is_tensor = isinstance(value, Tensor)
                    (self.tensors if is_tensor else self.numbers)[operand.text] = value.dtype if is_tensor else kind
            computed |= step.result_names

    @property
    def operands(self) -> tuple[Expression, ...]:
        """Return the operands of the fused step."""
        return tuple(map(Expression, (*self.tensors, *self.numbers)))

    def folding(self, folding: Folding, source: str) -> Folding:
        """Return the functions of the fused reduction: its element function is composed with the steps.

        Args:
            folding: the functions of the fold itself.
            source: the name of the tensor that it folds.
        """
        builder = GraphBuilder()
        names = self._parameters(builder, self.tensors, "x")
        index = [builder.parameter("index", ScalarType.INT64)] if folding.with_index else []
        names |= self._parameters(builder, self.numbers, "number")
        for step in self.steps:
            (result,) = step.result_names
            names[result] = _computed(builder, step, names)
        lift = folding.lift
        numbers = [builder.cast(names[source], lift.parameters[0][1]), *index]
        positions = builder.inline(lift, numbers)
        whole = builder.finish(lift.name, [positions[at] for at in lift.results])
        finish = self._finish(folding.finish)
        return folding._replace(lift=whole, finish=finish, lifted_numbers=tuple(range(len(self.numbers))))

    def _finish(self, finish: TypedGraph) -> TypedGraph:
        """Return the function applied to the reduced value, with the number parameters of the steps added."""
        builder = GraphBuilder()
        parameters = [builder.parameter(name, kind) for name, kind in finish.parameters]
        self._parameters(builder, self.numbers, "number")
        positions = builder.inline(finish, parameters)
        return builder.finish(finish.name, [positions[at] for at in finish.results])

    @staticmethod
    def _parameters(builder: GraphBuilder, dtypes: Mapping[str, DType], stem: str) -> dict[str, int]:
        kinds = [(text, ScalarType(precision_of(dtype).name)) for text, dtype in dtypes.items()]
        return {text: builder.parameter(f"{stem}{at}", kind) for at, (text, kind) in enumerate(kinds)}


def _computed(builder: GraphBuilder, step: Step, names: Mapping[str, int]) -> int:
    """Add the nodes of a pointwise step to a graph; return that of its result, rounded to the result's dtype."""
    assert step.call is not None and isinstance(step.call.definition, PointwiseDefinition), "a pointwise step"
    call, definition = step.call, step.call.definition
    function, iteration = call.state.formula.function, call.state.iteration
    known: dict[str, Any] = {}
    numbers: list[int] = []
    for index, (name, at) in enumerate(zip(function.parameters, call.state.formula.places, strict=True)):
        operand = call.operands[at]
        if isinstance(operand, Expression):
            numbers.append(builder.cast(names[operand.text], ScalarType(iteration.parameters[index].name)))
        else:
            known[name] = definition.constant(call.state, index, call.arguments[at] if operand is None else operand)
    kinds = zip(function.parameters, iteration.parameters, strict=True)
    graph = definition.graph(
        call.state._replace(
            formula=call.state.formula._replace(function=_with(function, known)),
            iteration=iteration._replace(parameters=tuple(kind for name, kind in kinds if name not in known)),
        )
    )
    positions = builder.inline(graph, numbers)
    position = positions[graph.results[0]]
    if iteration.result not in PRECISION:
        return position
    return builder.node(f"round_{iteration.result.name}", (position,), ScalarType.FLOAT32)


def _with(function: ScalarFunction, known: Mapping[str, Any]) -> ScalarFunction:
    """Return a copy of a scalar function with some parameters replaced by constants."""
    if not known:
        return function
    nodes = tuple(
        UntypedNode("constant", (), known[str(node.value)]) if node.op == "parameter" and node.value in known else node
        for node in function.nodes
    )
    rest = tuple(parameter for parameter in function.parameters if parameter not in known)
    return ScalarFunction(function.name, rest, {}, nodes, function.places, function.results, function.source)


def _operator(lifted: Lifted, steps: Iterable[Step], elements: _Elements) -> Operator:
    """Return the operator of a fused reduction, defining it unless one with equal functions exists."""
    folding, state = lifted.folding, lifted.state
    graphs = [typed_graph.fingerprint for typed_graph in (folding.lift, folding.combine, folding.finish)]
    kinds = [str(tensor) for tensor in (*elements.tensors.values(), *elements.numbers.values(), *state.results)]
    options = (folding.init, folding.with_index, folding.in_order, lifted.label, lifted.dim, state.dims, lifted.keepdim)
    described = repr((graphs, kinds, len(elements.tensors), options))
    digest = hashlib.blake2b(described.encode(), digest_size=8).hexdigest()
    names = (step.name.partition("::")[2].partition(".")[0].strip("_") for step in steps)
    operator_name = f"fused::{'_'.join(dict.fromkeys(names))[:48].strip('_')}_{digest}"
    arguments = [f"Tensor x{at}" for at in range(len(elements.tensors))]
    arguments += [f"float number{at}" for at in range(len(elements.numbers))]
    returns = "Tensor" if len(state.results) == 1 else f"({', '.join(['Tensor'] * len(state.results))})"
    schema = parse_schema(f"{operator_name}({', '.join(arguments)}) -> {returns}")
    function: Any = known_operator(schema)
    if function is None:
        definition = LiftedDefinition(schema, schema.name.qualified, lifted)
        function = defined(schema, definition, schema.name.qualified, accepts_numbers=False)
    operator: Operator = function.operator
    return operator
