"""Structured kernels: a functional, an in-place and an ``out=`` kernel from one definition of shapes and contents.

A ``Definition`` says what its outputs are and fills them. ``StructuredKernel`` does the rest for one variant: it makes,
checks and resizes outputs, runs the definition, copies proxies back and counts versions.
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
    """What a kernel asks of the operator that it is for."""

    @property
    def name(self) -> str:
        """The qualified name, for messages."""

    @property
    def schema(self) -> FunctionSchema:
        """The variant's schema."""


class PreparedCall(NamedTuple):
    """What a definition makes of a call before anything is allocated.

    specs: what each output has to be.
    state: whatever the definition wants to see again.
    """

    specs: tuple[OutputSpec, ...]
    state: Any


class CompiledCall(NamedTuple):
    """A compiled kernel and its inputs.

    compute: called with ``values`` and the outputs that it does not make; returns those that it does.
    values: arrays and numbers.
    handed: from a given output to what ``compute`` takes for it.
    """

    compute: Compiled
    values: tuple[Any, ...]
    handed: Callable[[Tensor], Any] = array_of


class Definition:
    """What the variants of a structured operator have in common. Subclasses implement the methods that raise.

    schema: of the variant that was declared.
    name: of the operator, for messages.
    parameters: the arguments that are no outputs.
    results: how many outputs there are.
    derivative: what autograd has derived of it, once it has.
    """

    __slots__ = ("__weakref__", "derivative", "name", "parameters", "results", "schema")

    # Whether a backend has to compile for it.
    is_compiled = True

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        self.schema = schema
        self.name = name
        self.parameters: tuple[Parameter, ...] = parameters_of(schema)
        self.results = len(schema.returns)
        self.derivative: Any = None

    def kernel(self, variant: str, operator: OperatorLike, key: str) -> StructuredKernel:
        """The kernel of a variant.

        Args:
            variant: ``functional``, ``inplace`` or ``out``.
            operator: the variant's operator.
            key: the backend that the kernel is for: ``CPU``, ``Meta``.
        """
        return StructuredKernel(self, variant, operator, key)

    @property
    def kind(self) -> str:
        """What kind of kernels it makes, in a word."""
        raise NotImplementedError

    @property
    def decorator(self) -> str:
        """The name of the decorator that it is declared with."""
        return self.kind

    @property
    def derived_by(self) -> str:
        """The class (``module:Class``) that derives gradients of it; empty where none are derived."""
        kind = KINDS.get(self.decorator)
        return "" if kind is None else kind.derivative

    @property
    def may_resize_inputs(self) -> bool:
        """Whether an output that is resized may be an input, too."""
        return True

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """The author's functions in the kernel of a backend."""
        raise NotImplementedError

    def latest(self) -> Sequence[ScalarFunction]:
        """The scalar functions that were added last, of which gradients are derived."""
        return ()

    def part_of_kernels(self, state: Any) -> Any:
        """Return the state of a call as kernels of several steps take it; None where the call is a kernel of its own.

        Args:
            state: of a prepared call.
        """
        return state

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """What the outputs of a call have to be.

        Args:
            arguments: of ``parameters``.
            tensors: the outputs that are given; empty for a functional call.
        """
        raise NotImplementedError

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """Refuse an output whose dtype (or, in place, shape) does not fit."""
        raise NotImplementedError

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """Whether the kernel cannot fill a given output itself. ``aliased``: an input is the same memory."""
        raise NotImplementedError

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """The compiled kernel of a call and what it is called with; nothing is written yet.

        Args:
            outputs: the geometry of each output.
            key: the backend.
            allocate: whether the kernel makes the outputs.
        """
        raise NotImplementedError


class StructuredKernel(Kernel):
    """One variant of a structured operator, as the dispatcher calls it: with schema-ordered arguments."""

    __slots__ = ("definition", "key", "name", "names", "schema", "variant", "written")

    def __init__(self, definition: Definition, variant: str, operator: OperatorLike, key: str) -> None:
        self.definition = definition
        self.variant = variant
        self.key = key
        self.name = operator.name
        self.schema = operator.schema
        self.names = tuple(argument.python_name for argument in self.schema.arguments)
        self.written = tuple(self.names.index(argument.python_name) for argument in self.schema.written_arguments)

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
        """Whether the output is one of the inputs."""
        return self.variant == "inplace"

    def __call__(self, *arguments: Any) -> object:
        """Run the operator.

        Raises:
            OpdslError: what was given does not fit; nothing has been changed then.
        """
        try:
            if self._is_beyond(arguments):
                from opdsl.kernels.primitives.host import through_host

                return through_host(self, arguments, [arguments[index] for index in self.written])
            return self._run(arguments)
        except OpdslError as error:
            raise _named(error, self.name) from error.__cause__

    def _is_beyond(self, arguments: Arguments) -> bool:
        """Whether it is called on a backend for which nothing can be compiled: it is the CPU's, or every backend's."""
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
        """New outputs."""
        forms = [spec.geometry for spec in prepared.specs]
        if forms[0].device.type == "meta":
            return [named(new_tensor(spec.geometry), spec) for spec in prepared.specs]
        bound = self.definition.compile_call(prepared, inputs, forms, self.key, allocate=True)
        arrays = bound.compute(*bound.values)
        pairs = zip(arrays if len(forms) > 1 else (arrays,), forms, prepared.specs, strict=True)
        return [named(tensor_over(array, form), spec) for array, form, spec in pairs]

    def _write(self, prepared: PreparedCall, inputs: Arguments, arguments: Arguments) -> list[Tensor]:
        """Given outputs, resized where they have another shape. Whatever can fail does so before that."""
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
        """What becomes of each given output; nothing is changed yet."""
        read = list(tensors_in(inputs))
        targets = []
        for index, (spec, output) in enumerate(zip(prepared.specs, arguments, strict=True)):
            aliased = check_written(output, read, arguments[:index])
            if output.shape != spec.shape:
                others = [tensor for tensor in read if tensor is not output]
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
    """The error with the operator's name in front."""
    text = str(error)
    if not text.startswith(name):
        error.args = (f"{name}: {text}",)
    return error


def _check_input_keeps_shape(output: Tensor, spec: OutputSpec, read: Sequence[Tensor]) -> None:
    """Refuses to resize an output that is also read (``TensorIteratorBase::mark_resize_outputs``).

    Raises:
        ShapeError: the output is an input and has another shape than the result.
    """
    if output.shape != spec.shape and any(tensor is output for tensor in read):
        raise ShapeError(f"output with shape {list(output.shape)} doesn't match the broadcast shape {list(spec.shape)}")


def _leave(target: Tensor, source: Tensor) -> None:
    """Copies nothing: meta tensors have no elements."""


def _copy(target: Tensor, source: Tensor) -> None:
    from opdsl.kernels.primitives.copying import copy_elements

    copy_elements(target, source)


def _before_resize(value: Any, targets: Sequence[Target]) -> Any:
    """An input as it is now, where it will be resized as an output."""
    if isinstance(value, tuple):
        kept = [_before_resize(element, targets) for element in value]
        return type(value)(*kept) if hasattr(value, "_fields") else tuple(kept)
    if not any(target.resizes and target.out is value for target in targets):
        return value
    return tensor_over(array_of(value), value.geometry)
