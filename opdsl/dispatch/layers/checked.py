"""Checked mode: checks every call against the schema, and every kernel's results and writes against it as well.

The dispatcher state says whether calls are checked. Checked calls have no plans, so unchecked ones cost nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType, GenericAlias
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from opdsl.dispatch.layers.effects import Effects
from opdsl.dispatch.model.kernel import Around, Kernel
from opdsl.dispatch.state import Guard, State, current
from opdsl.errors import ArgumentError, KernelError
from opdsl.runtime import Device, DType, Generator, Layout, MemoryFormat, Tensor
from opdsl.schema import BaseType, FunctionSchema, ListType, OptionalType, Type
from opdsl.schema.faults import underlined
from opdsl.schema.implementation import OUTPUT_MASK, annotations_of
from opdsl.schema.violation import Part, argument_part, part_span, return_part

if TYPE_CHECKING:
    from opdsl.dispatch.binding.signature import Signature
    from opdsl.dispatch.model.operator import Operator, Reached

# Arguments that select results: if there are several, the other results may be undefined, which is None in Python.
_ASKING = frozenset((OUTPUT_MASK, "grad_input_mask", "has_bias", "input_bias", "mask"))

P = ParamSpec("P")
R = TypeVar("R")


def _with_checks(state: State) -> State:
    return state.change(checking=True)


@overload
def checked() -> Guard: ...
@overload
def checked(function: Callable[P, R]) -> Callable[P, R]: ...
def checked(function: Callable[P, R] | None = None) -> Guard | Callable[P, R]:
    """Check every call of this thread or task: ``with checked():``, ``@checked()`` or ``@checked``.

    - Arguments, and results of kernels, are checked against the schema and the annotations of kernels.
    - Writes and shared memory are checked against the alias sets.
    - Gradients have to be tensors of the shape of the tensor that they belong to.
    - The error of a wrong call shows the schemas with the argument that does not fit underlined.

    Checked calls make no plans, so they are slow; unchecked calls do not test whether checks are on.
    ``OPDSL_CHECKED=1`` in the environment checks a whole process.

    Args:
        function: the function that is decorated, if any.

    Returns:
        A scope, which can also decorate; or the decorated function.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib, opdsl.checked():
    ...     @lib.op
    ...     def doubled(self: opdsl.Tensor) -> opdsl.Tensor: ...
    ...     @doubled.kernel("CPU")
    ...     def doubled_cpu(self):
    ...         self.array *= 2
    ...         return self.clone()
    ...     try:
    ...         doubled(opdsl.ones(2))
    ...     except opdsl.errors.KernelError as error:
    ...         print(error)  # doctest: +ELLIPSIS
    example::doubled: the kernel function doubled_cpu...: self is changed, but is not declared as written: Tensor self
    example::doubled(Tensor self) -> Tensor
                     ~~~~~~~~~~^
    Declare the write in the schema, or write to a copy.
    """
    guard = Guard(_with_checks, keep=True)
    return guard if function is None else guard(function)


# ------------------------------------------------------------------------------------------------------------- kernels


class CheckedKernel(Around):
    """Kernel wrapper that checks arguments, results and memory effects of each call."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Run the kernel between the checks.

        Raises:
            ArgumentError: an argument does not fit the schema.
            KernelError: a result, a write or shared memory does not fit the schema.
        """
        self._check_arguments(arguments)
        effects = Effects(self.operator, arguments)
        result = self.kernel(*arguments)
        self._check_results(arguments, result)
        for part, text in effects.faults(result):
            raise self._kernel_error(text, part, "Declare the write in the schema, or write to a copy")
        return result

    def _check_arguments(self, arguments: tuple[object, ...]) -> None:
        schema, numbers = self.operator.schema, self.operator.accepts_numbers
        for index, (declared, value) in enumerate(zip(schema.arguments, arguments, strict=True)):
            if not _holds(value, python_type(declared.type, numbers)):
                raise ArgumentError(
                    f"{self.operator.name}: {declared.name} is {type(value).__name__}, but the schema has "
                    f"{declared.type}:\n{_marked(schema, argument_part(index))}\nPass that type."
                )

    def _check_results(self, arguments: tuple[object, ...], result: object) -> None:
        schema = self.operator.schema
        returns = schema.returns
        results = result if len(returns) > 1 and isinstance(result, (tuple, list)) else (result,)
        undefined: tuple[object, ...] = ()
        if len(returns) > 1 and any(argument.name in _ASKING for argument in schema.arguments):
            undefined = tuple(index for index, value in enumerate(results) if value is None)
        for index, (declared, value) in enumerate(zip(returns, results, strict=False)):
            if index not in undefined and not _holds(value, python_type(declared.type, False)):
                text = f"result {index} is {_described(value)}, but the schema has {declared.type}"
                raise self._kernel_error(text, return_part(index), "Return that type")
        # Only if the kernel is just a function is the kernel's result also the function's.
        is_annotated = self.kind == "function" and not undefined
        text = annotation_fault(self.functions[0], result) if is_annotated else ""
        if text:
            raise self._kernel_error(text, return_part(0), "Return that type, or change the annotation")

    def _kernel_error(self, text: str, part: Part, remedy: str) -> KernelError:
        who = f"the kernel {self}{f' ({self.place})' if self.place else ''}"
        return KernelError(f"{self.operator.name}: {who}: {text}\n{_marked(self.operator.schema, part)}\n{remedy}.")


def checked_kernel(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """Wrap a kernel so that its calls are checked, if checks are on and it does more than redispatch."""
    is_checked = isinstance(kernel, CheckedKernel) or kernel.hands_on
    if is_checked or not current.get().checking:
        return kernel
    return CheckedKernel(operator, kernel)


def annotation_fault(function: FunctionType, result: object) -> str:
    """Return a description of how a function's result differs from its annotation; empty if it fits or has none."""
    annotation = annotations_of(function).get("return")
    if annotation is None or _holds(result, annotation):
        return ""
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return f"{function.__name__} returned {_described(result)}, but is annotated {name}"


def require_annotated(operator: str, function: object, result: object) -> None:
    """Check the result of a shape function or a derivative against its annotation, if checks are on.

    Raises:
        KernelError: the result does not fit the annotation.
    """
    if current.get().checking and isinstance(function, FunctionType):
        fault = annotation_fault(function, result)
        if fault:
            code = function.__code__
            raise KernelError(
                f"{operator}: {fault} ({code.co_filename}:{code.co_firstlineno}). Return that type, or change the "
                "annotation."
            )


# ------------------------------------------------------------------------------------------------------------- calls


def with_marks(
    error: ArgumentError, signatures: Sequence[Signature], positional: tuple[object, ...], named: Mapping[str, object]
) -> ArgumentError:
    """Return an error with the schema of every overload added, the argument that does not fit underlined.

    Args:
        error: why the call fits none of the overloads.
        signatures: the signatures of the overloads.
        positional, named: the arguments of the call.
    """
    lines = [str(error)]
    for signature in signatures:
        operator = signature.operator or signature.out
        mismatch = signature.bind(positional, named)
        name = getattr(mismatch, "argument", "")
        if operator is None:
            continue
        schema = operator.schema
        places = [index for index, argument in enumerate(schema.arguments) if argument.python_name == name]
        lines.append(_marked(schema, argument_part(places[0])) if places else str(schema))
    return ArgumentError("\n".join(lines))


def _marked(schema: FunctionSchema, part: Part) -> str:
    """Return the text of a schema with one part underlined."""
    is_there = part.place < len(schema.arguments if part.kind == "argument" else schema.returns)
    return underlined(str(schema), *part_span(schema, part)) if is_there else str(schema)


# ------------------------------------------------------------------------------------------------------------- types

_NUMBER = bool | int | float | complex

_TYPES: dict[Type, Any] = {
    BaseType.Tensor: Tensor,
    BaseType.int: int,
    BaseType.SymInt: int,
    BaseType.DeviceIndex: int,
    BaseType.float: float,
    BaseType.bool: bool,
    BaseType.SymBool: bool,
    BaseType.str: str,
    BaseType.Scalar: _NUMBER,
    BaseType.ScalarType: DType,
    BaseType.Layout: Layout,
    BaseType.Device: Device,
    BaseType.MemoryFormat: MemoryFormat,
    BaseType.Generator: Generator,
}


@cache
def python_type(kind: Type, accepts_numbers: bool) -> Any:
    """Return the Python type of values of a schema type.

    Args:
        kind: the schema type.
        accepts_numbers: whether a number is accepted for a tensor.
    """
    if isinstance(kind, OptionalType):
        return python_type(kind.element, accepts_numbers) | None
    if isinstance(kind, ListType):
        element = python_type(kind.element, False)
        return GenericAlias(list, (element,)) | GenericAlias(tuple, (element, ...))
    if kind is BaseType.Tensor and accepts_numbers:
        return Tensor | _NUMBER
    return _TYPES.get(kind, object)


def _holds(value: object, annotation: Any) -> bool:
    """Return whether a value has the type of an annotation, including all elements of lists."""
    from typeguard import CollectionCheckStrategy, TypeCheckError, check_type

    try:
        check_type(value, annotation, collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS)
    except TypeCheckError:
        return False
    return True


def _described(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__} of {', '.join(type(element).__name__ for element in value) or 'nothing'}"
    return type(value).__name__


__all__ = ["CheckedKernel", "checked", "checked_kernel", "require_annotated", "with_marks"]
