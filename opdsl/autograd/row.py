"""Derivatives of row definitions and of reductions, derived from their scalar functions.

The gradients that a call asks for are one row operator more: what a row has one of gets the sum of what its elements
send back, and that is a fold again. So it is one kernel, on every backend, and has a derivative of its own. A reduction
by sums and extrema is a row function whose results a row has one of.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.constants import filled
from opdsl.autograd.derivative import Formula
from opdsl.autograd.derived_operators import defined, free_name, known_operator, shown
from opdsl.dispatch.plans.traceable import traceable
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.runtime import Tensor
from opdsl.runtime.forking import held_across_fork
from opdsl.scalar import ScalarFunction
from opdsl.scalar.derivative import differentiate
from opdsl.scalar.growing_graph import varying
from opdsl.schema import FunctionSchema, parse_schema

__all__ = ["RowDerivative", "RowGradient", "row_gradient"]

_lock = held_across_fork(threading.RLock())


class RowGradient(NamedTuple):
    """The operator of gradients of a row function.

    run: takes the gradients of the results, what is named, and the dimensions of a row.
    names: the parameters that it takes.
    returns: how many gradients it gives.
    """

    run: Callable[..., Any]
    names: tuple[str, ...]
    returns: int

    def __call__(
        self, gradients: Sequence[Tensor], values: Mapping[str, Any], shape: tuple[int, ...], dims: Sequence[int]
    ) -> list[Tensor]:
        """The gradients, of the shape of all elements.

        Args:
            gradients: of the results; those of a row as a whole have size 1 along it.
            values: the function's arguments by name.
            shape: of all elements.
            dims: of a row.
        """
        whole = [each if each.shape == shape else each.expand(shape) for each in gradients]
        found = self.run(*whole, *(values[name] for name in self.names), list(dims))
        several = found if self.returns > 1 else (found,)
        return [each if each.shape == shape else each.expand(shape) for each in several]


def row_gradient(
    function: ScalarFunction, wanted: Sequence[str], tensors: Sequence[str], types: Mapping[str, str], name: str
) -> RowGradient:
    """The operator of the gradients of a row function.

    Args:
        function: the function.
        wanted: the parameters whose gradients are asked for.
        tensors: the parameters that differ from element to element.
        types: those of the other parameters, as schemas say them.
        name: of the operator whose function it is.

    Raises:
        ScalarFunctionError: an operation has no derivative.
    """
    derived = differentiate(function, wanted, elements=tensors)
    heads = derived.parameters[: len(function.results)]
    names = derived.parameters[len(heads) :]
    row = free_name("row", derived.parameters)
    arguments = [f"Tensor {each}" for each in heads]
    arguments += [f"{'Tensor' if each in tensors else types[each]} {each}" for each in names]
    returns = "Tensor" if len(wanted) == 1 else f"({', '.join(['Tensor'] * len(wanted))})"
    signature = f"({', '.join([*arguments, f'int[] {row}'])}) -> {returns}"
    described = repr((name, signature, derived.nodes, derived.results)).encode()
    stem = name.partition("::")[2].replace(".", "_").strip("_")
    digest = hashlib.blake2b(described, digest_size=6).hexdigest()
    schema = parse_schema(f"derived::{stem}_gradient_{digest}{signature}")
    with _lock:
        run = known_operator(schema) or _define(schema, derived, (*heads, *tensors), wanted, name)
    return RowGradient(run, names, len(wanted))


def _define(
    schema: FunctionSchema, derived: ScalarFunction, elements: Sequence[str], wanted: Sequence[str], name: str
) -> Callable[..., Any]:
    varies = varying(derived, elements)
    of_rows = [at not in varies for at in derived.results]
    places = {each.name: index for index, each in enumerate(schema.positional)}
    likes = [places.get(each, 0) for each in wanted]

    @traceable
    def meta(ctx: Any, *arguments: Any) -> Sequence[int]:
        *given, dims = arguments
        shape = broadcast_all(each.shape for each in given if isinstance(each, Tensor))
        row = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        for index, (of_row, like) in enumerate(zip(of_rows, likes, strict=True)):
            ctx.set_output(index, row if of_row else shape, like=given[like])
        return tuple(dims)

    definition = RowDefinition(schema, name)
    definition.add(derived, meta=meta, promote="floating")
    return defined(schema, definition, name, accepts_numbers=False)


class RowDerivative:
    """The derivative of a row operator.

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: RowDefinition) -> None:
        self.definition = definition
        self.names = tuple(each.name for each in definition.parameters)
        self.tensors = tuple(each.name for each in definition.parameters if each.role.name == "TENSOR")
        self.types = {each.python_name: str(each.type).removesuffix("?") for each in definition.schema.arguments}
        self._gradients: dict[tuple[tuple[str, ...], tuple[str, ...]], RowGradient] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all of them."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula]:
        """See ``Derivative``.

        Raises:
            ScalarFunctionError: an operation of the scalar function has no derivative.
        """
        wanted = tuple(required)
        read = self.definition.scalar_function().parameters
        needed = self._gradient(tuple(each for each in wanted if each in read), read).names

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            return self._run(wanted, gradients, values, asked)

        forms = frozenset(self.tensors) - frozenset(needed)
        return (Formula(wanted, run, self.names, forms, len(self.definition.schema.returns) > 1, is_traceable=True),)

    def source(self, required: Sequence[str] | None = None) -> str:
        """The derivative's scalar function, to read."""
        function = self.definition.scalar_function()
        wanted = [each for each in required or self.tensors if each in function.parameters]
        return shown(differentiate(function, wanted, elements=self.tensors))

    def _gradient(self, wanted: tuple[str, ...], present: tuple[str, ...]) -> RowGradient:
        key = (wanted, present)
        with _lock:
            found = self._gradients.get(key)
            if found is None:
                function = self.definition.scalar_function(present)
                found = row_gradient(function, wanted, self.tensors, self.types, self.definition.name)
                self._gradients[key] = found
            return found

    def _run(
        self, names: tuple[str, ...], gradients: Sequence[Any], values: Mapping[str, Any], asked: Sequence[bool]
    ) -> list[Any]:
        state = self.definition.prepare(tuple(values[name] for name in self.names), ()).state
        present = tuple(self.names[at] for at in state.places)
        wanted = tuple(name for name, is_asked in zip(names, asked, strict=True) if is_asked and name in present)
        known = next(each for each in gradients if each is not None)
        given = [filled(known.geometry, 0) if each is None else each for each in gradients]
        found = self._gradient(wanted, present)(given, values, state.shape, state.dims) if wanted else []
        by_name = dict(zip(wanted, found, strict=True))
        return [by_name.get(name) for name in names]
