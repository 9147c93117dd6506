"""Derivatives of pointwise operators, derived from their scalar functions.

All gradients of a call are computed by one derived operator: pointwise again, one fused loop, compiled by the same
backends, with its own derivative. The engine sums over broadcast dimensions and casts promoted dtypes back.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from opdsl.autograd.derivative import Formula, summed_to, whole_gradients
from opdsl.autograd.derived_operators import defined, free_name, known_operator, shown
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.runtime.dtype import Category
from opdsl.runtime.forking import held_across_fork
from opdsl.scalar import ScalarFunction
from opdsl.scalar.derivative import differentiate
from opdsl.schema import FunctionSchema, parse_schema
from opdsl.schema.implementation import result_names

__all__ = ["PointwiseDerivative"]

_lock = held_across_fork(threading.RLock())

_Run = Callable[[tuple[Any, ...], Mapping[str, Any], tuple[bool, ...]], Sequence[Any]]

# The name of the only result in formulas.
RESULT = "result"


class Differentiated(NamedTuple):
    """Scalar function of a definition, with its derivative.

    formula: of the definition.
    function: computes the gradients of the wanted arguments.
    """

    formula: Any
    function: ScalarFunction

    @property
    def result(self) -> str:
        """Return the name of the result among the derivative's parameters, if it is one."""
        return free_name(RESULT, self.formula.function.parameters)

    @property
    def reads_result(self) -> bool:
        """Return whether the derivative reads the result."""
        return self.result in self.function.parameters


class PointwiseDerivative:
    """Derivative of a pointwise operator.

    Args:
        definition: the operator's.
        results: indices of the results whose gradients it takes; all by default.
    """

    def __init__(self, definition: PointwiseDefinition, results: Sequence[int] | None = None) -> None:
        self.definition = definition
        self.results = tuple(range(definition.results) if results is None else results)
        self.non_differentiable = definition.without_gradient
        self.name = definition.name
        self._of_some: dict[tuple[int, ...], PointwiseDerivative] = {}
        self._formulas: dict[tuple[tuple[str, ...], bool], tuple[Formula, ...]] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula]:
        """See ``Derivative``.

        Raises:
            ScalarFunctionError: an operation of the scalar function has no derivative.
        """
        key = (tuple(required), is_complex)
        with _lock:
            formulas = self._formulas.get(key)
            if formulas is None:
                formulas = self._formulas[key] = (self._formula(key[0], is_complex),)
            return formulas

    def source(self, required: Sequence[str] | None = None) -> str:
        """Return the text of the derivative's scalar functions."""
        names = tuple(required or self._tensor_names())
        return "\n\n".join(shown(differentiated.function) for differentiated in self._differentiated(names, False))

    def _tensor_names(self) -> list[str]:
        return [parameter.name for parameter in self.definition.parameters if parameter.role.name == "TENSOR"]

    def _differentiated(self, wanted: tuple[str, ...], is_complex: bool) -> list[Differentiated]:
        """Return the derivative of each scalar function; its own parameter names are those of the schema.

        Derivatives are expressed by the result if no more tensors have to be saved for that: arguments may then be
        written. As in PyTorch, the derivative of a quotient does not read the quotient, which may be written.
        """
        of_arguments = self._made(wanted, is_complex)
        names = {parameter.name for parameter in self.definition.parameters}
        if RESULT in names or result_names(self.definition.schema) != (RESULT,) or any(map(_is_quotient, of_arguments)):
            return of_arguments
        of_result = self._made(wanted, is_complex, of_result=True)
        is_read = any(differentiated.reads_result for differentiated in of_result)
        return of_result if is_read and self._kept(of_result) <= self._kept(of_arguments) else of_arguments

    def _made(self, wanted: tuple[str, ...], is_complex: bool, *, of_result: bool = False) -> list[Differentiated]:
        differentiated = []
        for formula in self.definition.formulas:
            if formula.dtypes is not None and all(dtype.category < Category.FLOAT for dtype in formula.dtypes):
                continue  # integers have no gradients
            if any(name in formula.when for name in wanted):
                continue  # it applies to calls where a wanted argument is None
            names = [self.definition.parameters[at].name for at in formula.places]
            renamed = dict(zip(names, formula.function.parameters, strict=True))
            present = [renamed[name] for name in wanted if name in renamed]
            result = free_name(RESULT, formula.function.parameters) if of_result else ""
            some = formula.function.of_results(self.results)
            function = differentiate(some, present, is_complex=is_complex, result=result)
            differentiated.append(Differentiated(formula, function))
        return differentiated

    def _kept(self, differentiated: Sequence[Differentiated]) -> int:
        """Return how many tensors have to be saved for gradients."""
        reads_result = any(derived.reads_result for derived in differentiated)
        return len(self._needed(differentiated).intersection(self._tensor_names())) + reads_result

    def _needed(self, differentiated: Sequence[Differentiated]) -> set[str]:
        """Return the arguments that the derivatives read."""
        parameters = self.definition.parameters
        needed = {name for derived in differentiated for name in derived.formula.when}
        for formula, function in differentiated:
            own = dict(zip(formula.function.parameters, formula.places, strict=True))
            needed |= {parameters[own[name]].name for name in function.parameters if name in own}
        return needed

    def _formula(self, wanted: tuple[str, ...], is_complex: bool) -> Formula:
        differentiated = self._differentiated(wanted, is_complex)
        passes = {name for name in wanted if all(_passes(self, derived, name, wanted) for derived in differentiated)}
        computed = tuple(name for name in wanted if name not in passes)
        if not computed:
            return Formula(wanted, _pass_on, (), frozenset(), False, True, (_pass_on, (), ()))
        operator, names = self._operator(computed, self._differentiated(computed, is_complex))
        of_result = RESULT in names and all(parameter.name != RESULT for parameter in self.definition.parameters)
        run = _runner(operator, names, wanted, computed)
        if len(computed) > 1:
            run = self._one_by_one(
                run, wanted, computed, partial(self._made, is_complex=is_complex, of_result=of_result)
            )
        if len(self.results) == 1:
            return Formula(wanted, run, names, frozenset(), False, True, (operator, names, computed))
        run = self._of_defined(run, wanted, is_complex)
        return Formula(wanted, run, names, frozenset(), takes_all=True, is_traceable=True, takes_undefined=True)

    def _of_defined(self, of_all: _Run, wanted: tuple[str, ...], is_complex: bool) -> _Run:
        """Return a function that computes gradients from the defined ones among those of several results."""

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            defined = tuple(at for at, gradient in zip(self.results, gradients, strict=True) if gradient is not None)
            if defined == self.results:
                return of_all(gradients, values, asked)
            with _lock:
                derivative = self._of_some.setdefault(defined, PointwiseDerivative(self.definition, defined))
            (formula,) = derivative.formulas(wanted, is_complex=is_complex)
            return formula.run(tuple(gradient for gradient in gradients if gradient is not None), values, asked)

        return run

    def _one_by_one(
        self,
        together: _Run,
        wanted: tuple[str, ...],
        computed: tuple[str, ...],
        function: Callable[[tuple[str, ...]], list[Differentiated]],
    ) -> _Run:
        """Return a function that computes the gradients of broadcast arguments, which are summed, one after the other.

        Each is as large as the results until it is summed, so only one at a time takes that memory.
        """

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            shape = next(gradient.shape for gradient in gradients if gradient is not None)
            apart = [name for name in computed if name in values and values[name].shape != shape]
            if len(apart) < 2 or whole_gradients.get():
                return together(gradients, values, asked)
            sent = dict.fromkeys(wanted, gradients[0])
            for names in [(name,) for name in apart] + [tuple(name for name in computed if name not in apart)]:
                if names:
                    operator, reads = self._operator(names, function(names))
                    outputs = _runner(operator, reads, names, names)(gradients, values, ())
                    shapes = [values[name].shape if name in apart else shape for name in names]
                    sent |= dict(zip(names, map(summed_to, outputs, shapes), strict=True))
                    del outputs
            return [sent[name] for name in wanted]

        return run

    def _operator(
        self, wanted: tuple[str, ...], differentiated: Sequence[Differentiated]
    ) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the operator of the gradients, and the arguments and results that it takes after the results'
        gradients.
        """
        needed = self._needed(differentiated)
        names = tuple(parameter.name for parameter in self.definition.parameters if parameter.name in needed)
        names += (RESULT,) if any(derived.reads_result for derived in differentiated) else ()
        gradients = [f"grad{at}" for at in self.results] if len(self.results) > 1 else ["grad"]
        gradients = [free_name(gradient, names) for gradient in gradients]
        schema = parse_schema(self._schema_text(wanted, gradients, names, differentiated))
        known = known_operator(schema)
        if known is not None:
            return known, names
        definition = PointwiseDefinition(schema, self.name)
        for derived in differentiated:
            self._add(definition, derived, gradients, names)
        return defined(schema, definition, self.name, accepts_numbers=True), names

    def _schema_text(
        self,
        wanted: Sequence[str],
        gradients: Sequence[str],
        names: Sequence[str],
        differentiated: Sequence[Differentiated],
    ) -> str:
        types = {argument.python_name: str(argument.type) for argument in self.definition.schema.arguments}
        # The derived operator has its own result, so the original's result needs another name.
        output = free_name("output", names)
        arguments = [f"Tensor {gradient}" for gradient in gradients]
        arguments += [f"{types[name]} {name}" if name != RESULT else f"Tensor {output}" for name in names]
        returns = ", ".join(["Tensor"] * len(wanted))
        base = self.definition.schema.name
        stem = f"{base.base.strip('_')}_{base.overload}".strip("_")
        rest = f"({', '.join(arguments)}) -> {returns if len(wanted) == 1 else f'({returns})'}"
        return f"derived::{stem}_gradient_{self._digest(rest, differentiated)}{rest}"

    def _digest(self, rest: str, differentiated: Sequence[Differentiated]) -> str:
        """Return a hash of the computation of gradients for the operator's name, the same in every process.

        Programs that PyTorch has compiled and keeps on disk call gradients by name.
        """
        import hashlib  # a slow import

        parameters = self.definition.parameters
        rows = [
            (
                [parameters[at].name for at in formula.places],
                sorted(formula.configuration.exempt),
                sorted(formula.wrapped),
                sorted(dtype.name for dtype in formula.dtypes or ()),
                sorted(formula.when.items()),
                (function.parameters, function.nodes, function.results),
            )
            for formula, function in differentiated
        ]
        return hashlib.blake2b(repr((self.name, rest, rows)).encode(), digest_size=6).hexdigest()

    def _add(
        self,
        definition: PointwiseDefinition,
        differentiated: Differentiated,
        gradients: Sequence[str],
        names: Sequence[str],
    ) -> None:
        """Add a differentiated function to the definition of the gradients, with the options of the original."""
        formula, function = differentiated
        parameters = self.definition.parameters
        own = [parameters[at].name for at in formula.places]
        renamed = {RESULT: differentiated.result, **dict(zip(own, formula.function.parameters, strict=True))}
        taken = [name for name in names if name in renamed]
        heads = function.parameters[: len(gradients)]
        widened = ScalarFunction(
            function.name,
            (*heads, *(renamed[name] for name in taken)),
            {},
            function.nodes,
            function.places,
            function.results,
            function.source,
        )
        exempt = [own[at] for at in formula.configuration.exempt if own[at] in taken]
        wrapped = [parameters[at].name for at in formula.wrapped if parameters[at].name in taken]
        dtypes = sorted(dtype.name for dtype in formula.dtypes or ())
        definition.add(widened, keep=exempt, wrapped=wrapped, when=formula.when, dtypes=dtypes)


def _is_quotient(differentiated: Differentiated) -> bool:
    """Return whether a result is a quotient whose numerator is not constant."""
    function = differentiated.formula.function
    nodes = [function.nodes[at] for at in function.results]
    return any(node.op == "divide" and function.nodes[node.arguments[0]].op != "constant" for node in nodes)


def _passes(derivative: PointwiseDerivative, differentiated: Differentiated, name: str, wanted: Sequence[str]) -> bool:
    """Return whether a gradient is that of the only result, unchanged."""
    parameters = derivative.definition.parameters
    taken = {parameters[at].name for at in differentiated.formula.places}
    present = [parameter for parameter in wanted if parameter in taken]
    if name not in present or len(derivative.results) > 1:
        return False
    node = differentiated.function.nodes[differentiated.function.results[present.index(name)]]
    return node.op == "parameter" and node.value == differentiated.function.parameters[0]


def _pass_on(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
    return gradients * len(asked)


def _runner(
    operator: Callable[..., Any], names: tuple[str, ...], wanted: tuple[str, ...], computed: tuple[str, ...]
) -> Callable[..., Any]:
    """Return a function from the gradients of the results to those of the wanted arguments."""

    def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
        outputs = operator(*gradients, *[values[name] for name in names])
        results = iter(outputs if len(computed) > 1 else (outputs,))
        return [next(results) if name in computed else gradients[0] for name in wanted]

    return run
