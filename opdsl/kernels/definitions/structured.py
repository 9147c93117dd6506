"""Structured kernels: a functional, an in-place and an ``out=`` kernel from one definition of an operator.

A ``Definition`` computes the properties of its outputs and fills them. ``StructuredKernel`` does the rest for one
variant: it allocates, checks and resizes outputs, runs the definition, copies temporaries back and bumps versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import OpdslError, ShapeError
from opdsl.kernels.compiler import Compiled
from opdsl.kernels.outputs import (
    OutputSpec,
    Target,
    array_of,
    as_resized,
    check_device,
    check_written,
    named,
    new_tensor,
    restored_on_error,
    tensor_over,
)
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.names import check_names
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.kinds import KINDS
from opdsl.schema.parameters import Parameter, parameters_of

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

Arguments = tuple[Any, ...]


class OperatorLike(Protocol):
    """Protocol of the operator that a kernel is made for."""

    @property
    def name(self) -> str:
        """Return the qualified name, for messages."""

    @property
    def schema(self) -> FunctionSchema:
        """Return the variant's schema."""


class PreparedCall(NamedTuple):
    """Output specifications of a call, computed before anything is allocated.

    specs: of each output.
    state: data of the definition's own, for ``compile_call``.
    """

    specs: tuple[OutputSpec, ...]
    state: Any


class CompiledCall(NamedTuple):
    """Compiled kernel with its inputs, ready to run.

    compute: called with ``values`` and the outputs that it does not allocate; returns those that it does.
    values: arrays and numbers.
    handed: converts a given output to the argument of ``compute``.
    """

    compute: Compiled
    values: tuple[Any, ...]
    handed: Callable[[Tensor], Any] = array_of


class Definition:
    """Base class of definitions of structured operators, shared by all variants. Subclasses implement the methods that
    raise.

    schema: of the variant that was declared.
    name: of the operator, for messages.
    parameters: the arguments that are no outputs.
    results: how many outputs there are.
    derivative: the derivative that autograd has derived from it; None before.
    without_gradient: names of arguments that get no gradient from the derived derivative.
    """

    __slots__ = ("__weakref__", "derivative", "name", "parameters", "results", "schema", "without_gradient")

    # Whether its kernels need a backend with a compiler.
    is_compiled = True

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        self.schema = schema
        self.name = name
        self.parameters: tuple[Parameter, ...] = parameters_of(schema)
        self.results = len(schema.returns)
        self.derivative: Any = None
        self.without_gradient: frozenset[str] = frozenset()

    def kernel(self, variant: str, operator: OperatorLike, key: str) -> StructuredKernel:
        """Return the kernel of a variant.

        Args:
            variant: ``functional``, ``inplace`` or ``out``.
            operator: the variant's operator.
            key: the backend that the kernel is for: ``CPU``, ``Meta``.
        """
        return StructuredKernel(self, variant, operator, key)

    @property
    def kind(self) -> str:
        """Return the kind of the definition's kernels, in a word."""
        raise NotImplementedError

    @property
    def decorator(self) -> str:
        """Return the name of the decorator that declares definitions of this kind."""
        return self.kind

    @property
    def derived_by(self) -> str:
        """Return the class (``module:Class``) that derives gradients from it; empty where none are derived."""
        kind = KINDS.get(self.decorator)
        return "" if kind is None else kind.derivative

    @property
    def may_resize_inputs(self) -> bool:
        """Return whether an output that is resized may be an input, too."""
        return True

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """Return the author's functions in the kernel of a backend."""
        raise NotImplementedError

    def latest(self) -> Sequence[ScalarFunction]:
        """Return the scalar functions that were added last, from which gradients are derived."""
        return ()

    def part_of_kernels(self, state: Any) -> Any:
        """Return the state of a call as fused kernels take it; None if the call cannot be fused.

        Args:
            state: of a prepared call.
        """
        return state

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """Compute the specifications of a call's outputs.

        Args:
            arguments: of ``parameters``.
            tensors: the outputs that are given; empty for a functional call.
        """
        raise NotImplementedError

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """Raise if the dtype (or, in place, the shape) of a given output does not fit."""
        raise NotImplementedError

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """Return whether the kernel cannot fill a given output directly. ``aliased``: an input is the same memory."""
        raise NotImplementedError

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """Return the compiled kernel of a call and its inputs; no output is written yet.

        Args:
            prepared: the result of ``prepare``.
            arguments: of ``parameters``.
            outputs: the geometry of each output.
            key: the backend.
            allocate: whether the kernel allocates the outputs.
        """
        raise NotImplementedError


class StructuredKernel(Kernel):
    """Kernel of one variant of a structured operator; the dispatcher calls it with arguments in the schema's order."""

    __slots__ = ("definition", "key", "name", "names", "schema", "variant", "written")

    def __init__(self, definition: Definition, variant: str, operator: OperatorLike, key: str) -> None:
        self.definition = definition
        self.variant = variant
        self.key = key
        self.name = operator.name
        self.schema = operator.schema
        self.names = tuple(argument.python_name for argument in self.schema.arguments)
        self.written = tuple(self.names.index(written.python_name) for written in self.schema.written_arguments)

    @property
    def kind(self) -> str:
        """See ``Kernel``."""
        return self.definition.kind

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Kernel``."""
        return self.definition.functions(self.key)

    @property
    def is_inplace(self) -> bool:
        """Return whether the output is one of the inputs."""
        return self.variant == "inplace"

    def __call__(self, *arguments: Any) -> object:
        """Run the operator.

        Raises:
            OpdslError: an argument does not fit; nothing has been changed then.
        """
        try:
            if self._is_beyond(arguments):
                from opdsl.kernels.primitives.host import through_host

                return through_host(self, arguments, [arguments[index] for index in self.written])
            return self._run(arguments)
        except OpdslError as error:
            raise _named(error, self.name) from error.__cause__

    def _is_beyond(self, arguments: Arguments) -> bool:
        """Return whether a tensor is on a backend without a compiler, which this kernel needs, so that it runs on the
        host.
        """
        if not (self.definition.is_compiled or self.key == "CPU"):
            return False
        from opdsl.kernels.primitives.host import is_beyond

        return any(map(is_beyond, tensors_in(arguments)))

    def _run(self, arguments: Arguments) -> object:
        outs = tuple([arguments[index] for index in self.written])
        inputs = arguments[: len(self.definition.parameters)]
        prepared = self.definition.prepare(inputs, outs)
        results = self._write(prepared, inputs, outs) if outs else self._make(prepared, inputs)
        return results[0] if len(results) == 1 else tuple(results)

    def _make(self, prepared: PreparedCall, inputs: Arguments) -> list[Tensor]:
        """Compute into new outputs."""
        forms = [spec.geometry for spec in prepared.specs]
        if forms[0].device.type == "meta":
            return [named(new_tensor(spec.geometry), spec) for spec in prepared.specs]
        bound = self.definition.compile_call(prepared, inputs, forms, self.key, allocate=True)
        arrays = bound.compute(*bound.values)
        pairs = zip(arrays if len(forms) > 1 else (arrays,), forms, prepared.specs, strict=True)
        return [named(tensor_over(array, form), spec) for array, form, spec in pairs]

    def _write(self, prepared: PreparedCall, inputs: Arguments, arguments: Arguments) -> list[Tensor]:
        """Compute into given outputs, which are resized if their shape differs; errors are raised before the resize."""
        targets = self.targets(prepared, inputs, arguments)
        forms = [target.form for target in targets]
        if forms[0].device.type == "meta":
            return [target.finish(target.working(), _leave) for target in targets]
        if any(target.resizes for target in targets):
            inputs = _before_resize(inputs, targets)
            prepared = prepared._replace(state=_before_resize(prepared.state, targets))
        bound = self.definition.compile_call(prepared, inputs, forms, self.key, allocate=False)
        with restored_on_error(arguments):
            outputs = [target.working() for target in targets]
            bound.compute(*bound.values, *map(bound.handed, outputs))
            return [target.finish(working, _copy) for target, working in zip(targets, outputs, strict=True)]

    def targets(self, prepared: PreparedCall, inputs: Arguments, arguments: Arguments) -> list[Target]:
        """Check the given outputs, and return how each of them is filled; nothing is changed yet."""
        read = list(tensors_in(inputs))
        targets = []
        for index, (spec, output) in enumerate(zip(prepared.specs, arguments, strict=True)):
            aliased = check_written(output, read, arguments[:index])
            if output.shape != spec.shape:
                others = [source for source in read if source is not output]
                check_written(as_resized(output, spec.shape, spec.strides), others, arguments[:index])
            if not self.definition.may_resize_inputs:
                _check_input_keeps_shape(output, spec, read)
            self.definition.check_given(prepared, spec, output, inplace=self.is_inplace)
            check_device(output, spec)
            if spec.names is not None:
                check_names(output, spec.names)
            proxy = self.definition.needs_proxy(prepared, spec, output, aliased=aliased)
            targets.append(Target(output, spec, proxy))
        return targets


def _named(error: OpdslError, name: str) -> OpdslError:
    """Prepend the operator's name to an error, and return it."""
    text = str(error)
    if not text.startswith(name):
        error.args = (f"{name}: {text}",)
    return error


def _check_input_keeps_shape(output: Tensor, spec: OutputSpec, read: Sequence[Tensor]) -> None:
    """Raise if an output that is also read would be resized (``TensorIteratorBase::mark_resize_outputs``).

    Raises:
        ShapeError: the output is an input and has another shape than the result.
    """
    if output.shape != spec.shape and any(source is output for source in read):
        raise ShapeError(f"output with shape {list(output.shape)} doesn't match the broadcast shape {list(spec.shape)}")


def _leave(target: Tensor, source: Tensor) -> None:
    """Do nothing: meta tensors have no elements to copy."""


def _copy(target: Tensor, source: Tensor) -> None:
    from opdsl.kernels.primitives.copying import copy_elements

    copy_elements(target, source)


def _before_resize(value: Any, targets: Sequence[Target]) -> Any:
    """Replace an input that will be resized as an output by a tensor with its current geometry."""
    if isinstance(value, tuple):
        kept = [_before_resize(element, targets) for element in value]
        return type(value)(*kept) if hasattr(value, "_fields") else tuple(kept)
    if not any(target.resizes and target.out is value for target in targets):
        return value
    return tensor_over(array_of(value), value.geometry)
