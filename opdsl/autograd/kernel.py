"""Kernels that record: they run an operator's kernel below autograd, and attach a node to its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from opdsl.autograd.bodies import derivative_of_body
from opdsl.autograd.derivative import FunctionalDerivative
from opdsl.autograd.derived_operators import derivative_of_definition
from opdsl.autograd.node_lines import NodeLines
from opdsl.autograd.recorder import INPLACE_VIEW, Recorder, Requirements, requirements, requires_grad
from opdsl.autograd.views import check_writable
from opdsl.dispatch import Kernel, Operator, registry
from opdsl.dispatch.guards import below_autograd
from opdsl.dispatch.keys import COMPOSITE_KEY
from opdsl.errors import RequiresGradError
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.runtime import Tensor
from opdsl.runtime.lowering import Lines, Lowering, lowering
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import NotLoweredError
from opdsl.schema import GENERATED, SchemaKind
from opdsl.schema.implementation import differentiable_names

__all__ = ["check_written", "derivative_of", "overload_called_alike", "record", "recorder_of"]


def record(operator: Operator, beneath: Kernel, arguments: tuple[Any, ...]) -> RecordingKernel:
    """Return a recording kernel for a call some of whose tensors require grad.

    Args:
        operator: the operator of the call.
        beneath: its kernel below autograd.
        arguments: of the call, in the order of the schema.
    """
    return RecordingKernel(operator, beneath, arguments)


def recorder_of(operator: Operator, arguments: Sequence[Any], is_required: Callable[[Any], bool]) -> Recorder:
    """Return the recorder of calls like one, which makes their nodes and computes their gradients.

    Args:
        operator: the operator of the call.
        arguments: of the call, in the order of the schema.
        is_required: whether the gradient of a value among them is needed.
    """
    names = set(differentiable_names(operator.schema))
    indices = tuple(at for at, argument in enumerate(operator.schema.arguments) if argument.python_name in names)
    required = requirements(arguments, indices, is_required)
    return _recorder(operator, derivative_of(operator), required, indices, _is_complex(arguments))


@lru_cache(maxsize=4096)
def _recorder(
    operator: Operator, derivative: Any, required: Requirements, indices: tuple[int, ...], is_complex: bool
) -> Recorder:
    return Recorder(operator, derivative, required, indices, is_complex=is_complex)


def derivative_of(operator: Operator) -> Any:
    """Return the derivative of an operator: the declared one, or one derived from its definition or as a view; None for
    none.

    It does not depend on the implementation that computes a call: a mode, an override, or another library's kernel.
    """
    if operator.derivative is not None:
        return operator.derivative
    if GENERATED in operator.tags and operator.schema.kind is SchemaKind.functional:
        # A generated functional variant: of a mutable operator, of an in-place operator, or a copy of a view.
        mutable = overload_called_alike(operator, operator.schema.name.root)
        if mutable is not None and mutable.schema.kind is SchemaKind.mutable:
            derivative = derivative_of(mutable)
            if derivative is not None:
                operator.derivative = FunctionalDerivative(derivative, mutable.schema, operator.schema)
            return operator.derivative
        written = overload_called_alike(operator, f"{operator.schema.name.root}_")
        if written is not None:
            return derivative_of(written)
    registered = (kernel for kernels in tuple(operator.registrations.values()) for kernel in kernels)
    definitions = (kernel.definition for kernel in registered if isinstance(kernel, StructuredKernel))
    derived = next(
        (derivative for derivative in map(derivative_of_definition, definitions) if derivative is not None), None
    )
    if derived is not None:
        return derived
    if operator.schema.kind is SchemaKind.inplace:
        functional = overload_called_alike(operator, operator.schema.name.base.removesuffix("_"))
        if functional is not None and COMPOSITE_KEY in functional.registrations:
            return derivative_of_body(functional)
    viewing = _viewing(operator)
    if viewing is None:
        return None
    from opdsl.autograd.view_derivative import ViewDerivative

    operator.derivative = viewing.derivative or ViewDerivative(viewing)
    return operator.derivative


def _viewing(operator: Operator) -> Operator | None:
    """Return the view operator of an operator that is a view, copies a view, or turns its argument into one in place;
    else None.
    """
    if operator.schema.is_view and not operator.schema.is_mutable:
        return operator
    if not {"view_copy", INPLACE_VIEW}.intersection(operator.tags):
        return None
    called_alike = overload_called_alike(operator, operator.schema.signature(strip_view_copy=True).name.base)
    return called_alike if called_alike is not None and called_alike.schema.is_view else None


def overload_called_alike(operator: Operator, base: str) -> Operator | None:
    """Return the overload of another packet with an operator's signature, or None."""
    packet = registry.packets.get(f"{operator.schema.name.namespace or 'aten'}::{base}")
    wanted = operator.schema.signature(strip_view_copy=True)
    overloads = (
        () if packet is None else sorted(packet.overloads.values(), key=lambda operator: bool(operator.schema.out))
    )
    return next((overload for overload in overloads if overload.schema.signature(strip_view_copy=True) == wanted), None)


def _is_complex(arguments: Sequence[Any]) -> bool:
    """Return whether an argument is complex, a tensor or a Python number, so that gradients have to be conjugated."""
    return any(
        argument.dtype.is_complex if isinstance(argument, Tensor) else isinstance(argument, complex)
        for argument in arguments
    )


class RecordingKernel(Kernel):
    """Kernel that runs another one and records the call for autograd.

    Args:
        operator, beneath, arguments: see ``record``.
    """

    __slots__ = ("beneath", "operator", "recorder")

    def __init__(self, operator: Operator, beneath: Kernel, arguments: tuple[Any, ...]) -> None:
        self.operator = operator
        self.beneath = beneath
        self.recorder = recorder_of(operator, arguments, requires_grad).keeping(arguments)

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel and record the call.

        Raises:
            RequiresGradError: it writes a tensor that autograd does not allow to be written.
        """
        noted = lowering.get()
        if noted is not None:
            return self._lowered(noted, arguments)
        check_written(self.operator, arguments)
        edges, saved = self.recorder.before(arguments)
        with below_autograd():
            results = self.beneath(*arguments)
        return self.recorder.after(arguments, results, edges, saved)

    def _lowered(self, noted: Lowering, arguments: tuple[Any, ...]) -> Any:
        """Lower the kernel, with lines around it by which the plan records the call."""
        recorder = self.recorder
        if noted.originals:  # the real tensors, on which the plan's checks run now
            check_written(self.operator, tuple([noted.originals.get(id(argument)) for argument in arguments]))
        if self.operator.schema.out or recorder.is_inplace_view:
            raise NotLoweredError("a call that is refused, or gives an argument another geometry")
        for name, value in zip(recorder.arguments, arguments, strict=True):
            if name in recorder.kept and any(tensor.geometry.is_inference for tensor in tensors_in((value,))):
                raise NotLoweredError("an inference tensor cannot be saved")
        written = [value for name, value in zip(recorder.arguments, arguments, strict=True) if name in recorder.written]
        lines = NodeLines(recorder, arguments, is_exact=noted.is_exact)
        if written:
            noted.steps.append(Lines(lines.before))
        with below_autograd():
            results = self.beneath(*arguments)
        listed = list(results) if isinstance(results, (tuple, list)) else [results]
        if not written and any(output is value for output in listed for value in tensors_in(arguments)):
            raise NotLoweredError("an argument that is a result")
        followed = [
            index for index, output in enumerate(listed) if recorder.edges and recorder.has_gradient(index, output)
        ]
        for output in [listed[index] for index in followed if not listed[index].geometry.requires_grad]:
            # Views of a written argument require grad from here on, too.
            noted.followed += [value for value in tensors_in(arguments) if value is output]
            recorder.follow(output, arguments)
        # A call without differentiable results, such as a comparison, is not recorded.
        if followed:
            lines.has_given(listed, followed)
            noted.steps.append(Lines(lines.after))
        return results


def check_written(operator: Operator, arguments: tuple[Any, ...]) -> None:
    """Raise if a call to be recorded writes a tensor that must not be written under autograd.

    Raises:
        RequiresGradError: it writes an ``out=``, or a tensor in place whose gradient would be lost.
    """
    schema = operator.schema
    if schema.out:
        raise RequiresGradError(
            f"{operator.name}: functions with out=... arguments don't support automatic differentiation, but "
            "one of the arguments requires grad. Call it without out=, or under opdsl.no_grad()."
        )
    for declared, value in zip(schema.arguments, arguments, strict=True):
        if declared.alias is not None and declared.alias.write:
            for member in value if isinstance(value, tuple) else (value,):
                if isinstance(member, Tensor):
                    check_writable(member)
