"""Loops whose condition depends on elements: each is an operator whose kernel runs the iterations of each element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from opdsl.autograd.derived_operators import defined
from opdsl.dispatch.state import current
from opdsl.errors import FormulaError, ScalarFunctionError
from opdsl.formulas.control import Unbound, error_here, is_element, truth
from opdsl.formulas.definition import FormulaDefinition, formula_of_elements
from opdsl.formulas.forms import ElementFunction, NotElementwiseError, Reading, form_of
from opdsl.formulas.reading import read_elements, sample_tensor
from opdsl.formulas.text import FormulaText, current_text
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.runtime import DType, Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.dtype import Category, bool_, complex64, complex128, float64, int64
from opdsl.runtime.geometry import geometry
from opdsl.runtime.promotion import promote_types
from opdsl.runtime.symbol import is_symbol
from opdsl.scalar import ScalarFunction
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place, UntypedLoop, UntypedNode
from opdsl.schema import FunctionSchema, parse_schema

__all__ = ["Nodes", "as_tensor", "element_loop", "wider"]

# Limit for iterations of dtype widening; there are fewer widening dtypes, so more means no convergence.
_MOST_WIDENINGS = 8


class _Loop(NamedTuple):
    """Data-dependent loop: its condition and body, and how their arguments are split into tensors and constants.

    test, turn: condition and body; both take the carried values, then the loop-invariant ones.
    carried, kept: number of carried and of loop-invariant tensors.
    hosts: loop-invariant values that are no tensors, with their indices after the carried ones.
    numbers: indices of the carried values that begin as Python numbers.
    """

    test: Callable[..., Any]
    turn: Callable[..., tuple[Any, ...]]
    carried: int
    kept: int
    hosts: tuple[tuple[int, Any], ...]
    numbers: frozenset[int]

    def arguments(self, tensors: Sequence[Any]) -> list[Any]:
        """Return the arguments for the condition and body of the loop, given tensors for its carried and loop-invariant
        values.
        """
        hosts, rest = dict(self.hosts), iter(tensors[self.carried :])
        count = self.kept + len(hosts)
        return [*tensors[: self.carried], *[hosts[at] if at in hosts else next(rest) for at in range(count)]]


def element_loop(
    test: Callable[..., Any],
    turn: Callable[..., tuple[Any, ...]],
    carried: Sequence[Any],
    kept: Sequence[Any],
    names: Sequence[str],
) -> tuple[Any, ...]:
    """Run a loop in which each element has its own number of iterations.

    Args:
        test, turn: condition and body; both take ``carried``, then ``kept``, and the body returns new carried values.
        carried, kept: values of the variables that the body assigns, and of those that it only reads.
        names: names of these variables.

    Returns:
        The carried values of each element after its last iteration.

    Raises:
        FormulaError: a carried value is no number, or an iteration does more than compute elements.
    """
    tensors = [_carried(value, name) for value, name in zip(carried, names, strict=False)]
    stays = [as_tensor(value, (*carried, *kept)) if is_symbol(value) else value for value in kept]
    hosts = tuple((at, stay) for at, stay in enumerate(stays) if not is_element(stay))
    stays = [stay for stay in stays if is_element(stay)]
    numbers = frozenset(at for at, value in enumerate(carried) if not is_element(value))
    loop = _Loop(test, turn, len(tensors), len(stays), hosts, numbers)
    operator = _operator(loop, current_text())
    outputs = operator(*tensors, *stays)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _not_zero(test: ElementFunction) -> tuple[UntypedNode, ...]:
    """Return the nodes of ``x`` if a loop condition is ``x != 0``, so that divisions by ``x`` are safe; else empty."""
    nodes, at = test.function.nodes, test.function.results[0]
    while nodes[at].op in ("convert", "truth", "to_bool"):
        at = nodes[at].arguments[0]
    if nodes[at].op != "not_equal":
        return ()
    one, other = nodes[at].arguments
    zero = _held(test.function, other)[-1:]
    return _held(test.function, one) if zero and zero[0].op == "constant" and zero[0].value == 0 else ()


def _held(function: ScalarFunction, at: int) -> tuple[UntypedNode, ...]:
    """Return the node of a parameter or constant, preceded by a conversion of it if there is one; empty for other
    nodes.
    """
    nodes = function.nodes
    above = (nodes[at]._replace(arguments=()),) if nodes[at].op == "convert" else ()
    node = nodes[nodes[at].arguments[0]] if above else nodes[at]
    return (*above, node) if node.op in ("parameter", "constant") else ()


def _carried(value: Any, name: str) -> Tensor:
    if is_element(value):
        return value  # type: ignore[no-any-return]
    if isinstance(value, Unbound) or not isinstance(value, (bool, int, float, complex)):
        raise error_here(
            f"a loop whose condition depends on elements assigns {name}, which is {value!r} before it",
            f"Assign {name} a number or a tensor before the loop.",
        )
    return as_tensor(value)


def as_tensor(value: Any, beside: Iterable[Any] | None = None) -> Tensor:
    """Return a number as a tensor without dimensions, in a dtype that loses no precision.

    Args:
        value: the number.
        beside: other operands: a float combined with integers gets the default dtype, unless an operand has a wider
            one.
    """
    from opdsl.aten.create.factories import full

    dtype = next(dtype for kind, dtype in _DTYPES if isinstance(value, kind))
    if beside is not None and dtype.category >= Category.FLOAT:
        known, default = {operand.dtype for operand in beside if is_element(operand)}, current.get().default_dtype
        is_higher = not known or any(known_dtype.category < dtype.category for known_dtype in known)
        if is_higher and {float64, complex128}.isdisjoint({*known, default}):
            dtype = default if dtype is float64 else complex64
    return full((), value, dtype=dtype)


_DTYPES = ((bool, bool_), (int, int64), (float, float64), (complex, complex128))


def _operator(loop: _Loop, text: FormulaText) -> Callable[..., Any]:
    """Define and return the operator of a loop."""
    count = loop.carried
    arguments = ", ".join(f"Tensor x{at}" for at in range(count + loop.kept))
    returns = ", ".join(["Tensor"] * count)
    schema = parse_schema(f"formula::loop_{next(_numbers)}({arguments}) -> {returns if count == 1 else f'({returns})'}")
    definition = _LoopDefinition(schema, f"a loop of {text.source.name}", text, loop)
    return defined(schema, definition, definition.name, accepts_numbers=False)


_numbers = itertools.count()


class _LoopDefinition(FormulaDefinition):
    """Definition of the operator of a data-dependent loop, whose scalar function contains the loop."""

    __slots__ = ("loop",)

    def __init__(self, schema: FunctionSchema, name: str, text: FormulaText, loop: _Loop) -> None:
        super().__init__(schema, name, text, is_whole=True)
        self.loop = loop

    @property
    def derived_by(self) -> str:
        """See ``Definition.derived_by``."""
        return "opdsl.formulas.loops:LoopDerivative"

    def read(self, arguments: Sequence[Any]) -> tuple[Reading, tuple[Any, ...]]:
        """See ``FormulaDefinition.read``."""
        names = tuple(parameter.name for parameter in self.parameters)
        form = form_of(names, arguments, current.get().default_dtype)
        known = self._readings.get(form)
        if known is None:
            reading = Reading(self._elements(arguments), None, reads_sizes=False)
            with self._lock:
                known = self._readings.setdefault(form, (reading,))
                self.formulas = [*self.formulas, formula_of_elements(self, reading.elements)]
        return known[0], ()

    def _elements(self, arguments: Sequence[Tensor]) -> ElementFunction:
        """Return the element function of the loop, once the dtypes and ranks of the carried values have converged."""
        count, default = self.loop.carried, current.get().default_dtype
        names = [parameter.name for parameter in self.parameters]
        dtypes, ranks = [operand.dtype for operand in arguments], [operand.ndim for operand in arguments]
        for _ in range(_MOST_WIDENINGS):
            forms = [geometry(dtype, cpu, _shape(rank)) for dtype, rank in zip(dtypes, ranks, strict=True)]
            samples = list(map(sample_tensor, forms))
            turn = self._part(self.loop.turn, samples, is_test=False)
            deeper = [
                max([rank, *(ranks[names.index(name)] for name in of)])
                for rank, of in zip(ranks, turn.reads, strict=False)
            ]
            widened = [
                wider(dtype, after, default, is_weak=at in self.loop.numbers and rank == 0)
                for at, (dtype, after, rank) in enumerate(zip(dtypes, turn.dtypes, ranks, strict=False))
            ]
            if (widened, deeper) == (dtypes[:count], ranks[:count]):
                test = self._part(self.loop.test, samples, is_test=True)
                guarded = _not_zero(test)
                divided = [_held(divisor, divisor.results[0]) for divisor in turn.divisors]
                if test.divisors or any(not untyped_nodes or untyped_nodes != guarded for untyped_nodes in divided):
                    raise FormulaError(
                        f"{self.name}: an iteration divides integers by elements that may be 0. End the loop by that "
                        "condition (while x != 0), or convert them: x.to(opdsl.float64)."
                    )
                return self._looped(turn, test, widened)
            dtypes[:count], ranks[:count] = widened, deeper
        raise FormulaError(
            f"{self.name}: the dtype of a carried value changes with each iteration. Convert it: x.to(opdsl.float32)."
        )

    def _part(self, function: Callable[..., Any], samples: Sequence[Tensor], *, is_test: bool) -> ElementFunction:
        """Trace the condition or the body into an element function of the operator's arguments."""
        loop = self.loop

        def run(*tensors: Any) -> Any:
            returned = function(*loop.arguments(tensors))
            values = (truth(returned),) if is_test else returned
            return tuple([value if is_element(value) else as_tensor(value) for value in values])

        names = tuple(parameter.name for parameter in self.parameters)
        form = form_of(names, samples, current.get().default_dtype)
        text = FormulaText(self.text.function, run, self.text.source)
        try:
            reading = read_elements(text, form, samples, is_whole=True)
        except NotElementwiseError as error:
            raise FormulaError(
                f"{self.name}: an iteration is not elementwise ({error}). Reduce before the loop, or after it."
            ) from error
        if reading.ask is not None:
            raise FormulaError(
                f"{self.name}: an iteration reads numbers that are only known in a call. Read them before the loop."
            )
        return reading.elements

    def _looped(self, turn: ElementFunction, test: ElementFunction, dtypes: Sequence[DType]) -> ElementFunction:
        source, count = self.text.source, self.loop.carried
        names = [parameter.name for parameter in self.parameters]
        body = Nodes(source)
        carried = {name: body.add("parameter", value=name) for name in names}
        after = body.inline(turn, carried)
        after = [body.converted(at, dtype) for at, dtype in zip(after, dtypes, strict=True)]
        (more,) = body.inline(test, {**carried, **dict(zip(names, after, strict=False))})
        turned = UntypedLoop(tuple(body.nodes), tuple(body.places), (more, *after), tuple(names), None)
        nodes = Nodes(source)
        numbers = {name: nodes.add("parameter", value=name) for name in names}
        begin = [nodes.converted(numbers[name], dtype) for name, dtype in zip(names, dtypes, strict=False)]
        (first,) = nodes.inline(test, {**numbers, **dict(zip(names, begin, strict=False))})
        stays = [numbers[name] for name in names[count:]]
        loop = nodes.add("loop", first, *begin, *stays, value=turned)
        results = tuple(nodes.add("item", loop, value=at) for at in range(count))
        function = ScalarFunction(
            source.name, tuple(names), {}, tuple(nodes.nodes), tuple(nodes.places), results, source
        )
        of = frozenset(names)
        return ElementFunction(function, tuple(names), (), tuple(dtypes), (of,) * count, ())


class LoopDerivative:
    """Derivative of a data-dependent loop: such loops have none, and requesting it raises an error.

    Args:
        definition: the loop's definition.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: FormulaDefinition) -> None:
        self.definition = definition

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``; all results count as differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> NoReturn:
        """See ``Derivative``.

        Raises:
            ScalarFunctionError: always; it names the declaration that is needed.
        """
        raise ScalarFunctionError(
            f"It is {self.definition.name}, a loop whose condition depends on elements: it has no derivative. Declare "
            f"that of the operator (@{self.definition.text.source.name}.derivative), or detach the tensors that the "
            "loop reads."
        )


def wider(before: DType, after: DType, default: DType, *, is_weak: bool) -> DType:
    """Return the dtype in which a loop or scan carries a value after an iteration returned another dtype.

    Args:
        before: dtype in which it is carried so far.
        after: dtype that an iteration returned.
        default: the default dtype.
        is_weak: whether it began as a Python number, which takes part in promotion only by its kind.
    """
    if not is_weak or before is after:
        return promote_types(before, after)
    if after.category >= before.category:
        return after
    return {Category.FLOAT: default, Category.COMPLEX: default.to_complex()}.get(before.category, before)


def _shape(rank: int) -> tuple[int, ...]:
    return tuple(range(3, 3 + 2 * rank, 2))[::-1]


class Nodes:
    """Builder of untyped nodes of a scalar function.

    Args:
        source: source of the function.
    """

    def __init__(self, source: FunctionSource) -> None:
        self.nodes: list[UntypedNode] = []
        self.places: list[Place] = []
        self.place = Place(source, source.tree)

    def add(self, op: str, *arguments: int, value: Any = None, place: Place | None = None) -> int:
        """Add a node and return its index."""
        self.nodes.append(UntypedNode(op, arguments, value))
        self.places.append(place or self.place)
        return len(self.nodes) - 1

    def converted(self, position: int, dtype: DType) -> int:
        """Add a conversion to the precision in which a dtype is computed."""
        return self.add("convert", position, value=precision_of(dtype).name)

    def inline(self, elements: ElementFunction, numbers: Mapping[str, int]) -> list[int]:
        """Copy the nodes of an element function, with its parameters replaced by given nodes; return its result
        nodes.
        """
        moved: list[int] = []
        for node, place in zip(elements.function.nodes, elements.function.places, strict=True):
            if node.op == "parameter":
                moved.append(numbers[str(node.value)])
            else:
                arguments = [moved[at] for at in node.arguments]
                moved.append(self.add(node.op, *arguments, value=node.value, place=place))
        return [moved[at] for at in elements.function.results]
