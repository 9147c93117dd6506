"""Derivatives of elementwise formulas: the formula is traced and differentiated backward, which gives a formula again.

The operators that a formula calls have their own derivatives, registered or derived. A call under a condition
contributes only where the condition holds.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from opdsl.autograd.derivative import Formula, reaching, summed_to, whole_gradients
from opdsl.autograd.derived_operators import defined, free_name, known_operator
from opdsl.dispatch import DispatchKey
from opdsl.errors import OpdslError
from opdsl.formulas.definition import FormulaDefinition
from opdsl.formulas.following import FollowedText, GradientText
from opdsl.formulas.forms import NotElementwiseError
from opdsl.formulas.showing import kernels_of
from opdsl.runtime import DType, Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.geometry import geometry
from opdsl.runtime.lowering import lowering
from opdsl.schema import FunctionSchema, parse_schema

__all__ = ["FormulaDerivative"]

_lock = held_across_fork(threading.RLock())


class FormulaDerivative:
    """Derivative of an elementwise formula.

    Args:
        definition: the operator's definition.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: FormulaDefinition) -> None:
        self.definition = definition
        self._formulas: dict[tuple[str, ...], tuple[Formula, ...]] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``; all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula]:
        """See ``Derivative``."""
        wanted = tuple(required)
        known = self._formulas.get(wanted)
        if known is None:
            formulas = (self._formula(wanted),)
            with _lock:
                known = self._formulas.setdefault(wanted, formulas)
        return known

    def source(self, required: Sequence[str] | None = None) -> str:
        """Return the scalar functions of the derivative as text."""
        wanted = tuple(
            required or [parameter.name for parameter in self.definition.parameters if parameter.role.name == "TENSOR"]
        )
        operator: Any = self._operator(wanted)[0]
        _definition_of(operator).try_forms()
        return "\n\n".join(text for _, text in list(kernels_of(operator.operator))[:1])

    def _formula(self, wanted: tuple[str, ...]) -> Formula:
        operator, names = self._operator(wanted)
        several = self.definition.results > 1

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            present = next(gradient for gradient in gradients if gradient is not None)
            apart = [name for name in wanted if values[name].shape != present.shape]
            if len(apart) > 1 and not whole_gradients.get():
                return self._one_by_one(wanted, apart, gradients, values)
            computed = operator(*gradients, *[_with_elements(values[name], present) for name in names])
            results = computed if len(wanted) > 1 else (computed,)
            return [reaching(result, values[name]) for result, name in zip(results, wanted, strict=True)]

        direct = None if several else (operator, names, wanted)
        unread = partial(self._unread, _definition_of(operator)) if wanted else None
        return Formula(
            wanted,
            run,
            names,
            frozenset(),
            takes_all=several,
            is_traceable=True,
            direct=direct,
            may_be_narrow=True,
            unread=unread,
            takes_undefined=several,
        )

    def _one_by_one(
        self, wanted: tuple[str, ...], apart: Sequence[str], gradients: tuple[Any, ...], values: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Compute the gradients of arguments that were broadcast one after the other, summing each before the next.

        Each has the size of the results until it is summed, so that only one at a time takes memory.
        """
        sent: dict[str, Any] = {}
        for names in [(name,) for name in apart] + [tuple(name for name in wanted if name not in apart)]:
            if names:
                computed = self.formulas(names)[0].run(gradients, values, ())
                sums = (summed_to(gradient, values[name].shape) for name, gradient in zip(names, computed, strict=True))
                sent |= dict(zip(names, sums, strict=True))
                del computed, sums
        return [sent[name] for name in wanted]

    def _unread(self, gradient: FormulaDefinition, values: Mapping[str, Any]) -> frozenset[str]:
        """Return the tensors whose elements the gradients do not read; see ``Formula.unread``.

        Args:
            gradient: definition of the gradient operator.
            values: the arguments of a call, by name.
        """
        names = [parameter.name for parameter in self.definition.parameters]
        arguments = [_of_rank(values[name]) for name in names]
        try:
            reading, _ = self.definition.read(arguments)
            elements = reading.elements
            tensors = [value for name, value in zip(names, arguments, strict=True) if name in elements.tensors]
            rank = max(tensor.ndim for tensor in [*tensors, *_leading(self.definition, arguments)])
            gradient_samples = [_gradient_sample(dtype, rank) for dtype in elements.dtypes]
            gradients, _ = gradient.read([*gradient_samples, *arguments])
        except (OpdslError, NotElementwiseError):  # the call or its backward pass reports it
            return frozenset()
        if reading.reads_sizes or gradients.reads_sizes:
            return frozenset()
        present = {name for name, value in zip(names, arguments, strict=True) if isinstance(value, Tensor)}
        return frozenset(present.difference(gradients.elements.tensors))

    def _operator(self, wanted: tuple[str, ...]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the operator that computes the gradients, and the arguments that it takes after the results'
        gradients.
        """
        names = tuple(parameter.name for parameter in self.definition.parameters)
        for count in itertools.count():
            schema = parse_schema(self._schema_text(wanted, names, count))
            known: Any = known_operator(schema)
            if known is None:
                break
            if known.operator.formula.functions == self.definition.text.functions:
                return known, names  # a definition of the same name may call functions that have changed
        run = GradientText(self.definition.text, names, wanted, self.definition.results)
        text = FollowedText(run)
        # Arguments that no result depends on must not affect the shape, so it follows from the gradients.
        results = self.definition.results
        definition = FormulaDefinition(schema, self.definition.name, text, is_whole=True, leading=results)
        definition.reads_sizes = self.definition.reads_sizes
        handle: Any = defined(schema, definition, self.definition.name, accepts_numbers=True)
        handle.operator.formula = handle.operator.formula or text
        return handle, names

    def _schema_text(self, wanted: tuple[str, ...], names: tuple[str, ...], count: int) -> str:
        """Return the schema of the gradient operator, named by a hash; ``count`` makes the names of equal formulas
        differ.
        """
        own = self.definition.schema
        types = {argument.python_name: str(argument.type) for argument in own.arguments}
        results = self.definition.results
        gradients = [free_name(f"grad{at}" if results > 1 else "grad", names) for at in range(results)]
        # The gradient of a result that is unused or not differentiable is None.
        kind = "Tensor?" if results > 1 else "Tensor"
        arguments = [f"{kind} {gradient}" for gradient in gradients] + [f"{types[name]} {name}" for name in names]
        returns = ", ".join(["Tensor"] * len(wanted))
        rest = f"({', '.join(arguments)}) -> {returns if len(wanted) == 1 else f'({returns})'}"
        stem = f"{own.name.base.strip('_')}_{own.name.overload}".strip("_")
        text = self.definition.text
        order = text.run.order if isinstance(text.run, GradientText) else 0
        # The name must be equal in every process: programs that PyTorch stores on disk call gradients by name.
        described = repr((self.definition.name, wanted, rest, text.described, order, count))
        return f"derived::{stem}_gradient_{hashlib.blake2b(described.encode(), digest_size=6).hexdigest()}{rest}"


def _definition_of(operator: Any) -> FormulaDefinition:
    definition: FormulaDefinition = operator.operator.entry(DispatchKey("CPU")).kernel.definition
    return definition


def _with_elements(value: Any, gradient: Any) -> Any:
    """Replace a tensor that was saved without elements by zeros, since modes and checks may read them.

    In a plan nothing reads them. ``gradient`` gives the device.
    """
    if not isinstance(value, Tensor) or hasattr(value, "array") or value.is_meta or lowering.get() is not None:
        return value
    return gradient.new_zeros((), dtype=value.dtype).expand(value.shape)


def _leading(definition: FormulaDefinition, arguments: Sequence[Any]) -> list[Tensor]:
    """Return the tensors among the arguments that determine the shape of results even if their elements are not
    read.
    """
    leading = arguments[: definition.leading] if definition.is_whole else ()
    return [input for input in leading if isinstance(input, Tensor)]


def _of_rank(value: Any) -> Any:
    """Return a sample tensor without memory of the same dtype and rank as a tensor; other values unchanged."""
    return _sample(value.dtype, value.ndim) if isinstance(value, Tensor) else value


def _gradient_sample(dtype: DType, rank: int) -> Tensor | None:
    return _sample(dtype, rank) if dtype.is_floating_point or dtype.is_complex else None


def _sample(dtype: DType, rank: int) -> Tensor:
    from opdsl.formulas.reading import sample_tensor  # imports the tracer

    return sample_tensor(geometry(dtype, cpu, (3,) * rank))
