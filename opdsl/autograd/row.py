"""Derivatives of row definitions and of reductions, derived from their scalar functions.

All gradients of a call are computed by one derived row operator: the gradient of a value of the row as a whole is the
sum of those that its elements send back, which is a reduction again. So it is one kernel, on every backend, and has a
its own derivative. A reduction by sums, maxima or minima is a row function with one result for each row.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.derivative import Formula
from opdsl.autograd.derived_operators import defined, free_name, known_operator, shown
from opdsl.dispatch.plans.traceable import traceable
from opdsl.kernels.definitions.row import RowDefinition, differs_in_row
from opdsl.kernels.definitions.structured import PreparedCall
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.outputs import tensor_over
from opdsl.runtime import Tensor
from opdsl.runtime.device import meta as META
from opdsl.runtime.forking import held_across_fork
from opdsl.scalar import ScalarFunction
from opdsl.scalar.derivative import differentiate
from opdsl.scalar.growing_graph import varying
from opdsl.scalar.untyped import UntypedNode
from opdsl.schema import FunctionSchema, parse_schema

__all__ = ["RowDerivative", "RowGradient", "row_gradient"]

_lock = held_across_fork(threading.RLock())


class RowGradient(NamedTuple):
    """Derived operator that computes the gradients of a row function.

    run: takes the gradients of the results, the parameters ``names``, and the dimensions of a row.
    names: the parameters that it takes.
    of_rows: for each result whether its gradient is passed for the row as a whole, of size 1 along it; others are
        expanded to the shape of all elements.
    carries_shape: whether a tensor of the shape of all elements follows the gradients, as no gradient has it.
    of_elements: for each gradient that it returns whether it has the shape of all elements, and not of rows.
    """

    run: Callable[..., Any]
    names: tuple[str, ...]
    of_rows: tuple[bool, ...]
    carries_shape: bool
    of_elements: tuple[bool, ...]

    def __call__(
        self, gradients: Sequence[Tensor], values: Mapping[str, Any], shape: tuple[int, ...], dims: Sequence[int]
    ) -> list[Tensor]:
        """Return the gradients: each has the shape of all elements, or size 1 along the rows.

        Args:
            gradients: of the results; those of a row as a whole have size 1 along it.
            values: the function's arguments by name.
            shape: of all elements.
            dims: of a row.
        """
        heads = [
            gradient if of_row or gradient.shape == shape else gradient.expand(shape)
            for gradient, of_row in zip(gradients, self.of_rows, strict=True)
        ]
        if self.carries_shape:
            heads.append(gradients[0].detach().expand(shape))
        results = self.run(*heads, *(values[name] for name in self.names), list(dims))
        several = results if len(self.of_elements) > 1 else (results,)
        return [
            gradient.expand(shape) if of_element and gradient.shape != shape else gradient
            for gradient, of_element in zip(several, self.of_elements, strict=True)
        ]


class Variation(NamedTuple):
    """Variation of tensors and results within the rows of a call.

    elements: the parameters that differ from element to element.
    of_rows: for each result whether a row has only one of it.
    """

    elements: tuple[str, ...]
    of_rows: tuple[bool, ...]


def row_gradient(
    function: ScalarFunction,
    wanted: Sequence[str],
    tensors: Sequence[str],
    types: Mapping[str, str],
    name: str,
    variation: Variation | None = None,
) -> RowGradient:
    """Return the operator of the gradients of a row function, defining it on first use.

    Args:
        function: the function.
        wanted: the parameters whose gradients are needed.
        tensors: the parameters that are tensors.
        types: schema types of the other parameters.
        name: of the operator whose function it is.
        variation: of the call; by default all tensors differ from element to element, and results are of rows where
            they depend on elements through reductions alone.

    Raises:
        ScalarFunctionError: an operation has no derivative.
    """
    elements = tuple(tensors) if variation is None else variation.elements
    given_of_rows = None if variation is None else variation.of_rows
    derived = differentiate(function, wanted, elements=elements, of_rows=given_of_rows)
    heads = derived.parameters[: len(function.results)]
    names = derived.parameters[len(heads) :]
    # If all tensors differ within a row, so do their gradients, and each element gets its share of a row's gradient.
    # Otherwise a row's gradient is one number, which must be counted once.
    is_mixed = len(elements) < len(tensors)
    of_rows = given_of_rows if is_mixed and given_of_rows is not None else (False,) * len(heads)
    varying_heads = tuple(head for head, of_row in zip(heads, of_rows, strict=True) if not of_row)
    carries_shape = not varying_heads
    if carries_shape:
        carrier = free_name("space", derived.parameters)
        derived = _with_unread(derived, len(heads), carrier)
        heads = (*heads, carrier)
        varying_heads = (carrier,)
    row = free_name("row", derived.parameters)
    arguments = [f"Tensor {head}" for head in heads]
    arguments += [f"{'Tensor' if name in tensors else types[name]} {name}" for name in names]
    returns = "Tensor" if len(wanted) == 1 else f"({', '.join(['Tensor'] * len(wanted))})"
    signature = f"({', '.join([*arguments, f'int[] {row}'])}) -> {returns}"
    differing = (*varying_heads, *elements)
    described = repr((name, signature, derived.nodes, derived.results, differing)).encode()
    stem = name.partition("::")[2].replace(".", "_").strip("_")
    digest = hashlib.blake2b(described, digest_size=6).hexdigest()
    schema = parse_schema(f"derived::{stem}_gradient_{digest}{signature}")
    with _lock:
        run = known_operator(schema) or _define(schema, derived, differing, wanted, name)
    of_elements = tuple(name in elements for name in wanted)
    return RowGradient(run, names, of_rows, carries_shape, of_elements)


def _with_unread(function: ScalarFunction, at: int, name: str) -> ScalarFunction:
    """Return the function with an additional parameter that it does not read."""
    parameters = (*function.parameters[:at], name, *function.parameters[at:])
    nodes = (*function.nodes, UntypedNode("parameter", (), name))
    places = (*function.places, function.places[0])
    return ScalarFunction(function.name, parameters, {}, nodes, places, function.results, function.source)


def _define(
    schema: FunctionSchema, derived: ScalarFunction, elements: Sequence[str], wanted: Sequence[str], name: str
) -> Callable[..., Any]:
    varies = varying(derived, elements)
    of_rows = [at not in varies for at in derived.results]
    places = {argument.name: index for index, argument in enumerate(schema.positional)}
    likes = [places.get(text, 0) for text in wanted]

    @traceable
    def meta(ctx: Any, *arguments: Any) -> Sequence[int]:
        *operands, dims = arguments
        shape = broadcast_all(operand.shape for operand in operands if isinstance(operand, Tensor))
        row = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        for index, (of_row, like) in enumerate(zip(of_rows, likes, strict=True)):
            ctx.set_output(index, row if of_row else shape, like=operands[like])
        return tuple(dims)

    definition = RowDefinition(schema, name)
    definition.add(derived, meta=meta, promote="floating")
    return defined(schema, definition, name, accepts_numbers=False)


def _shape_of(value: Any) -> Any:
    """Replace a tensor by a meta tensor with its shape and dtype; return other values unchanged."""
    return tensor_over(None, value.geometry.replace(device=META)) if isinstance(value, Tensor) else value


class RowDerivative:
    """Derivative of a row operator.

    Args:
        definition: the operator's.
    """

    def __init__(self, definition: RowDefinition) -> None:
        self.definition = definition
        self.non_differentiable = definition.without_gradient
        self.names = tuple(parameter.name for parameter in definition.parameters)
        self.tensors = tuple(parameter.name for parameter in definition.parameters if parameter.role.name == "TENSOR")
        self.types = {
            argument.python_name: str(argument.type).removesuffix("?") for argument in definition.schema.arguments
        }
        self._gradients: dict[tuple[Any, ...], RowGradient] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula]:
        """See ``Derivative``.

        Raises:
            ScalarFunctionError: an operation of the scalar function has no derivative.
        """
        wanted = tuple(required)
        needed = self._needed(wanted)

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            return self._run(wanted, gradients, values, asked)

        forms = frozenset(self.tensors) - frozenset(needed)
        several = len(self.definition.schema.returns) > 1
        return (Formula(wanted, run, self.names, forms, several, is_traceable=True, takes_undefined=several),)

    def source(self, required: Sequence[str] | None = None) -> str:
        """Return the text of the derivative's scalar function."""
        function = self.definition.scalar_function()
        wanted = [parameter for parameter in required or self.tensors if parameter in function.parameters]
        return shown(differentiate(function, wanted, elements=self.tensors))

    def _needed(self, wanted: Sequence[str]) -> set[str]:
        """Return the parameters that gradients may read, whatever differs within rows in a call."""
        function = self.definition.scalar_function()
        names = [name for name in wanted if name in function.parameters]
        either = [differentiate(function, names, elements=elements) for elements in (self.tensors, ())]
        return {name for derived in either for name in derived.parameters[len(function.results) :]}

    def _gradient(
        self,
        wanted: tuple[str, ...],
        present: tuple[str, ...],
        variation: Variation | None,
        defined: tuple[int, ...],
    ) -> RowGradient:
        key = (wanted, present, variation, defined)
        with _lock:
            gradient = self._gradients.get(key)
            if gradient is None:
                function = self.definition.scalar_function(present).of_results(defined)
                tensors = tuple(name for name in self.tensors if name in present)
                gradient = row_gradient(function, wanted, tensors, self.types, self.definition.name, variation)
                self._gradients[key] = gradient
            return gradient

    def _run(
        self, names: tuple[str, ...], gradients: Sequence[Any], values: Mapping[str, Any], asked: Sequence[bool]
    ) -> list[Any]:
        # Meta tensors: the call has checked indices already, and in PyTorch their values may not be available.
        prepared = self.definition.prepare(tuple(_shape_of(values[name]) for name in self.names), ())
        state = prepared.state
        present = tuple(self.names[at] for at in state.places)
        wanted = tuple(name for name, is_asked in zip(names, asked, strict=True) if is_asked and name in present)
        defined = tuple(at for at, gradient in enumerate(gradients) if gradient is not None)
        seeds = [gradients[at] for at in defined]
        variation = self._variation(present, values, prepared, defined)
        tensors: list[Any] = []
        if wanted:
            gradient = self._gradient(wanted, present, variation, defined)
            tensors = gradient(seeds, values, state.shape, state.dims)
        by_name = dict(zip(wanted, tensors, strict=True))
        return [by_name.get(name) for name in names]

    def _variation(
        self, present: Sequence[str], values: Mapping[str, Any], prepared: PreparedCall, defined: Sequence[int]
    ) -> Variation | None:
        """Return the variation within the rows of a call; None if rows have one element."""
        shape, dims = prepared.state.shape, prepared.state.dims
        if not differs_in_row(shape, shape, dims):
            return None
        tensors = [name for name in self.tensors if name in present]
        elements = tuple(name for name in tensors if differs_in_row(values[name].shape, shape, dims))
        shapes = [prepared.specs[at].shape for at in defined]
        return Variation(elements, tuple(not differs_in_row(result, shape, dims) for result in shapes))
