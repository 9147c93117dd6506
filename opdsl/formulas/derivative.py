"""Derivatives of formulas: the text is run, and what it called is followed back. What comes out is a formula again.

The operators that a formula calls bring their own derivatives, registered or derived. What is called under a condition
counts only where that holds.
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
    """The derivative of a formula of elements.

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: FormulaDefinition) -> None:
        self.definition = definition
        self._formulas: dict[tuple[str, ...], tuple[Formula, ...]] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all of them."""
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
        """Return the derivative's scalar functions, to read."""
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
        return Formula(wanted, run, names, frozenset(), several, True, direct, may_be_narrow=True, unread=unread)

    def _one_by_one(
        self, wanted: tuple[str, ...], apart: Sequence[str], gradients: tuple[Any, ...], values: Mapping[str, Any]
    ) -> Sequence[Any]:
        """Compute gradients that are summed, of arguments that were broadcast, one after the other.

        Each is as large as the results until it is summed, so that no more than one takes memory at a time.
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
        """Return the tensors of which the gradients read no element; see ``Formula.unread``.

        Args:
            gradient: of the operator of the gradients.
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
        except (OpdslError, NotElementwiseError):  # the call or its backward pass says so
            return frozenset()
        if reading.reads_sizes or gradients.reads_sizes:
            return frozenset()
        present = {name for name, value in zip(names, arguments, strict=True) if isinstance(value, Tensor)}
        return frozenset(present.difference(gradients.elements.tensors))

    def _operator(self, wanted: tuple[str, ...]) -> tuple[Callable[..., Any], tuple[str, ...]]:
        """Return the operator of the gradients, and the arguments that it takes after those of the results."""
        names = tuple(parameter.name for parameter in self.definition.parameters)
        for count in itertools.count():
            schema = parse_schema(self._schema_text(wanted, names, count))
            known: Any = known_operator(schema)
            if known is None:
                break
            if known.operator.formula.functions == self.definition.text.functions:
                return known, names  # other formulas of the name may call what has changed since
        run = GradientText(self.definition.text, names, wanted, self.definition.results)
        text = FollowedText(run)
        # An argument that no result is computed of has no part in their shape.
        results = self.definition.results
        definition = FormulaDefinition(schema, self.definition.name, text, is_whole=True, leading=results)
        definition.reads_sizes = self.definition.reads_sizes
        handle: Any = defined(schema, definition, self.definition.name, accepts_numbers=True)
        handle.operator.formula = handle.operator.formula or text
        return handle, names

    def _schema_text(self, wanted: tuple[str, ...], names: tuple[str, ...], count: int) -> str:
        """Return the schema of the gradients; ``count`` operators have the same text of a formula."""
        own = self.definition.schema
        types = {argument.python_name: str(argument.type) for argument in own.arguments}
        results = self.definition.results
        gradients = [free_name(f"grad{at}" if results > 1 else "grad", names) for at in range(results)]
        # Results that nothing reads, or that have no gradients, have none.
        kind = "Tensor?" if results > 1 else "Tensor"
        arguments = [f"{kind} {gradient}" for gradient in gradients] + [f"{types[name]} {name}" for name in names]
        returns = ", ".join(["Tensor"] * len(wanted))
        rest = f"({', '.join(arguments)}) -> {returns if len(wanted) == 1 else f'({returns})'}"
        stem = f"{own.name.base.strip('_')}_{own.name.overload}".strip("_")
        text = self.definition.text
        order = text.run.order if isinstance(text.run, GradientText) else 0
        # Programs that PyTorch keeps on disk call gradients by name: it is the same in every process.
        described = repr((self.definition.name, wanted, rest, text.described, order, count))
        return f"derived::{stem}_gradient_{hashlib.blake2b(described.encode(), digest_size=6).hexdigest()}{rest}"


def _definition_of(operator: Any) -> FormulaDefinition:
    definition: FormulaDefinition = operator.operator.entry(DispatchKey("CPU")).kernel.definition
    return definition


def _with_elements(value: Any, gradient: Any) -> Any:
    """Return zeros in the place of a tensor that was kept without elements: modes and checks may look at them.

    In a plan nothing reads them. ``gradient`` is where the tensor was.
    """
    if not isinstance(value, Tensor) or hasattr(value, "array") or value.is_meta or lowering.get() is not None:
        return value
    return gradient.new_zeros((), dtype=value.dtype).expand(value.shape)


def _leading(definition: FormulaDefinition, arguments: Sequence[Any]) -> list[Tensor]:
    """Return the tensors that are part of the shape of results, whatever these are computed of."""
    leading = arguments[: definition.leading] if definition.is_whole else ()
    return [argument for argument in leading if isinstance(argument, Tensor)]


def _of_rank(value: Any) -> Any:
    """Return a tensor like one of which a form is known."""
    return _sample(value.dtype, value.ndim) if isinstance(value, Tensor) else value


def _gradient_sample(dtype: DType, rank: int) -> Tensor | None:
    return _sample(dtype, rank) if dtype.is_floating_point or dtype.is_complex else None


def _sample(dtype: DType, rank: int) -> Tensor:
    from opdsl.formulas.reading import sample_tensor  # traces

    return sample_tensor(geometry(dtype, cpu, (3,) * rank))
