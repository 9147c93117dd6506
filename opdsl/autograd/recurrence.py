"""Derivatives of scans and recurrences: recurrences again, in the opposite direction.

A carried value gets a gradient from the results at its element and from the carried value after it. So gradients
are carried from element to element, beginning with the last one, by the derivative of a step. That reads the carried
values before each element, which a first recurrence recomputes. Both recurrences have derivatives in the same way.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.constants import filled
from opdsl.autograd.derivative import Formula, consumed
from opdsl.autograd.derived_operators import defined, free_name, known_operator, shown
from opdsl.dispatch import DispatchKey, current
from opdsl.kernels import new_tensor
from opdsl.kernels.definitions.recurrence import RecurrenceDefinition
from opdsl.kernels.definitions.scan import ScanDefinition, Steps
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.runtime import ALL_DTYPES, Category, Tensor, TensorMeta, cpu
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.values import has_bits
from opdsl.scalar import ScalarFunction
from opdsl.scalar.derivative import differentiate
from opdsl.schema import FunctionSchema, parse_schema
from opdsl.schema.variants import out_schema

__all__ = ["RecurrenceDerivative"]

_lock = held_across_fork(threading.RLock())

_CPU = DispatchKey("CPU")

# Kinds of accumulators without gradients; gradients of others have the accumulator's dtype.
_WITHOUT_GRADIENT = frozenset(
    ("index", "truth", *(dtype.name for dtype in ALL_DTYPES if dtype.category < Category.FLOAT))
)


class _Backward(NamedTuple):
    """Operators of the backward pass of a recurrence.

    run: takes the gradients of the results, the carried values before each element, arguments, and the dimension.
    carried: positions of the carried values that it reads.
    names: the arguments that it takes.
    before: computes all carried values before each element; None if none of them is read.
    """

    run: Callable[..., Any]
    carried: tuple[int, ...]
    names: tuple[str, ...]
    before: Callable[..., Any] | None


class RecurrenceDerivative:
    """Derivative of a scan or a recurrence.

    Args:
        definition: the operator's.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, definition: RecurrenceDefinition | ScanDefinition) -> None:
        self.definition = definition
        self.steps = definition.steps
        self.names = tuple(parameter.name for parameter in definition.parameters)
        self.tensors = tuple(parameter.name for parameter in definition.parameters if parameter.role.name == "TENSOR")
        self.types = {argument.python_name: str(argument.type) for argument in definition.schema.arguments}
        self._made: dict[tuple[tuple[str, ...], bool], _Backward] = {}

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula] | None:
        """See ``Derivative``: returns None if ``lift`` takes the index of an element.

        Raises:
            ScalarFunctionError: an operation of a scalar function has no derivative.
        """
        if self.steps is None:
            return None
        wanted = tuple(required)
        backward = self._backward(wanted, is_complex)
        needed = self.steps.names if backward.before is not None else backward.names

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            return self._run(wanted, gradients, values, asked, is_complex)

        forms = frozenset(self.tensors) - frozenset(needed)
        # Tensors that are read only to recompute carried values, and not after that.
        consumes = tuple(name for name in self.tensors if name in needed and name not in backward.names)
        several = len(self.definition.schema.returns) > 1
        return (Formula(wanted, run, self.names, forms, several, is_traceable=True, consumes=consumes),)

    def source(self, required: Sequence[str] | None = None) -> str:
        """Return the text of a step's derivative."""
        if self.steps is None:
            return f"# {self.definition.name} takes the index of an element: no derivative."
        return shown(self._derived(tuple(required or self.tensors), is_complex=False))

    def _derived(self, wanted: tuple[str, ...], *, is_complex: bool) -> ScalarFunction:
        assert self.steps is not None, "formulas has looked"
        return differentiate(self.steps.function, (*self.steps.carried, *wanted), is_complex=is_complex)

    def _backward(self, wanted: tuple[str, ...], is_complex: bool) -> _Backward:
        key = (wanted, is_complex)
        with _lock:
            backward = self._made.get(key)
            if backward is None:
                backward = self._made[key] = self._make(wanted, is_complex=is_complex)
            return backward

    def _make(self, wanted: tuple[str, ...], *, is_complex: bool) -> _Backward:
        steps = self.steps
        assert steps is not None, "formulas has looked"
        derived = self._derived(wanted, is_complex=is_complex)
        heads = derived.parameters[: len(steps.function.results)]
        kept = derived.parameters[len(heads) :]
        count = len(steps.init)
        carried = tuple(at for at, name in enumerate(steps.carried) if name in kept)
        names = tuple(name for name in steps.names if name in kept)
        backward = Steps(
            (0.0,) * count,
            derived,
            tuple("value" if accumulator in _WITHOUT_GRADIENT else accumulator for accumulator in steps.accumulators),
            ("value",) * len(wanted),
            not steps.is_reverse,
        )
        tensors = [*heads[count:], *(steps.carried[at] for at in carried)]
        run = self._operator("gradient", backward, tensors, names)
        if not carried:
            return _Backward(run, carried, names, None)
        function = steps.function
        results = tuple(function.results[:count]) + tuple(_carried_nodes(steps))
        before = Steps(
            steps.init,
            ScalarFunction(
                function.name, function.parameters, {}, function.nodes, function.places, results, function.source
            ),
            steps.accumulators,
            tuple(f"carried {accumulator}" for accumulator in steps.accumulators),
            steps.is_reverse,
        )
        return _Backward(run, carried, names, self._operator("carried", before, (), steps.names))

    def _operator(self, what: str, steps: Steps, tensors: Sequence[str], names: Sequence[str]) -> Callable[..., Any]:
        """Return the derived operator of a recurrence.

        Args:
            what: part of its name.
            steps: the recurrence.
            tensors: further tensors that it takes.
            names: the arguments of the operator that it is derived from.
        """
        dim = free_name("dim", steps.function.parameters)
        arguments = [f"Tensor {parameter}" for parameter in tensors]
        arguments += [f"{self.types[name]} {name}" for name in names]
        results = ", ".join(["Tensor"] * len(steps.results))
        returns = results if len(steps.results) == 1 else f"({results})"
        signature = f"({', '.join([*arguments, f'int {dim}'])}) -> {returns}"
        function = steps.function
        described = (
            self.definition.name,
            signature,
            function.nodes,
            function.results,
            steps.init,
            steps.accumulators,
            steps.is_reverse,
        )
        digest = hashlib.blake2b(repr((*described, steps.results)).encode(), digest_size=6).hexdigest()
        stem = self.definition.name.partition("::")[2].replace(".", "_").strip("_")
        schema = parse_schema(f"derived::{stem}_{what}_{digest}{signature}")
        known = known_operator(schema)
        if known is not None:
            return known
        definition = RecurrenceDefinition(schema, self.definition.name, dim=dim, gradients=len(tensors))
        taken = (*steps.carried, *tensors, *names)
        definition.take(
            steps._replace(
                function=ScalarFunction(
                    function.name, taken, {}, function.nodes, function.places, function.results, function.source
                )
            ),
            "floating",
        )
        return defined(schema, definition, self.definition.name, accepts_numbers=False)

    def _run(
        self,
        names: tuple[str, ...],
        gradients: Sequence[Any],
        values: Mapping[str, Any],
        asked: Sequence[bool],
        is_complex: bool,
    ) -> list[Any]:
        wanted = tuple(name for name, is_asked in zip(names, asked, strict=True) if is_asked)
        known: Tensor = next(gradient for gradient in gradients if gradient is not None)
        tensors = [filled(known.geometry, 0) if gradient is None else gradient for gradient in gradients]
        backward = self._backward(wanted, is_complex)
        dim = values[self.definition.dim]
        before: list[Tensor] = []
        if backward.before is not None:
            assert self.steps is not None, "formulas has looked"
            arguments = (*(values[name] for name in self.steps.names), dim)
            free = [_bare(values[name]) for name in sorted(consumed.get())]
            is_free = _may_write(free, arguments)
            written_over = _written_over(backward.before, arguments, free) if is_free else backward.before(*arguments)
            several = (written_over,) if len(self.steps.init) == 1 else written_over
            before = [several[at] for at in backward.carried]
        read = (*tensors, *before, *(values[name] for name in backward.names), dim)
        outputs = _written_over(backward.run, read, before) if _may_write(before, read) else backward.run(*read)
        by_name = dict(zip(wanted, (outputs,) if len(wanted) == 1 else outputs, strict=True))
        return [by_name.get(name) for name in names]


def _bare(saved: Tensor) -> Tensor:
    """Return a tensor without history over the same memory."""
    bare = Tensor()
    bare.array = saved.array
    bare.geometry = saved.geometry.replace(requires_grad=False, is_view=False)
    bare._writes = 0
    bare._base = None
    return bare


def _may_write(tensors: Sequence[Tensor], arguments: Sequence[Any]) -> bool:
    """Return whether a kernel that is called without the dispatcher may overwrite tensors that are not shared.

    Args:
        tensors: the tensors.
        arguments: of the kernel, which takes them unconverted.
    """
    state = current.get()
    if not tensors or state.grad_mode or state.modes:
        return False
    operands = [input for input in arguments if isinstance(input, Tensor)]
    return all(tensor.device is cpu for tensor in tensors) and not any(map(has_bits, operands))


def _written_over(operator: Any, arguments: tuple[Any, ...], free: Sequence[Tensor]) -> Any:
    """Call the operator of a recurrence with its results in the memory of operands that are no longer needed.

    Args:
        operator: the function.
        arguments: of the call.
        free: the operands.
    """
    kernel: StructuredKernel = operator.operator.entry(_CPU).kernel
    unused = list(free)
    results: list[Tensor] = []
    for spec in kernel.definition.prepare(arguments, ()).specs:
        form = spec.geometry
        fitting = [at for at, buffer in enumerate(unused) if _lies_as(buffer.geometry, form)]
        results.append(unused.pop(fitting[0]) if fitting else new_tensor(form))
    variant = _OutVariant(operator.operator.name, out_schema(operator.operator.schema))
    return kernel.definition.kernel("out", variant, "CPU")(*arguments, *results)


def _lies_as(form: TensorMeta, other: TensorMeta) -> bool:
    """Return whether two geometries have the same dtype, shape and memory layout; strides of size-1 dimensions do not
    matter.
    """
    if form.dtype is not other.dtype or form.shape != other.shape:
        return False
    strides = zip(form.shape, form.strides, other.strides, strict=True)
    return all(one == another for size, one, another in strides if size != 1)


class _OutVariant(NamedTuple):
    """Name and schema of an ``out=`` variant that is no registered operator."""

    name: str
    schema: FunctionSchema


def _carried_nodes(steps: Steps) -> list[int]:
    """Return the nodes of a step's function that are the carried parameters."""
    positions = {node.value: at for at, node in enumerate(steps.function.nodes) if node.op == "parameter"}
    return [positions[name] for name in steps.carried]
