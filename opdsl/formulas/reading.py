"""Tracing of formulas: the function runs once on recording tensors for each form of the arguments."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import Any

import attrs
import numpy

from opdsl.dispatch import Operator, current
from opdsl.dispatch.plans.lowered import recording
from opdsl.dispatch.state import DEFAULT_STATE
from opdsl.errors import ArgumentError, DimError, FormulaError, OpdslError, TraceError
from opdsl.formulas.control import error_at, is_element, is_of_formula
from opdsl.formulas.elements import element_function, names_of
from opdsl.formulas.forms import (
    ElementFunction,
    Form,
    NotElementwiseError,
    RandomNumbersError,
    Reading,
    is_leaf,
    leaves_of,
    pinned,
)
from opdsl.formulas.rewriting import is_rewritten
from opdsl.formulas.text import FormulaText
from opdsl.kernels.definitions.structured import Definition, StructuredKernel
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.programs.branches import Conditions, MaskedBranch, conditions, dims_repeated, masked_branch
from opdsl.programs.leaves import LEAF, RESERVED, Leaves
from opdsl.programs.program import Program
from opdsl.programs.steps import WORDS, Expression, counted, operator_named
from opdsl.programs.tracer import Tracer
from opdsl.runtime import DType, Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.lowering import Lowering, watching_layout
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import NotLoweredError, is_symbol
from opdsl.runtime.symbols import is_symbolic, symbolic_kind
from opdsl.scalar.source import FunctionSource
from opdsl.scalar.untyped import Place
from opdsl.schema import Argument, BaseType, ListType, OptionalType

__all__ = ["forms_of", "likely_argument", "read_elements", "sample_tensor", "traced_formula"]


def read_elements(
    text: FormulaText, form: Form, arguments: Sequence[Any], *, is_whole: bool = False, results: int | None = None
) -> Reading:
    """Trace an elementwise formula for a form, and return its scalar function with guards.

    Args:
        text: the formula.
        form: of the arguments.
        arguments: of a call; the values of their numbers decide guards.
        is_whole: whether results may depend on no tensor.
        results: number of tensors that the schema returns; None for any number.

    Raises:
        NotElementwiseError: it does more than compute each element from the elements at the same index.
        RandomNumbersError: it draws random numbers.
        FormulaError: the source contains code that no kernel can be compiled from.
        OpdslError: an operator that it calls refuses its arguments.
    """
    if any(isinstance(member, Tensor) for value in arguments if isinstance(value, (tuple, list)) for member in value):
        raise NotElementwiseError("a list of tensors")
    source, of_sizes = text.source_for(arguments), False
    has_unnamed = any(size in (0, 1) for form in forms_of(arguments) for size in form.shape)
    for make in (_sample_forms, forms_of):
        try:
            program, places = traced_formula(text, source, form, arguments, make(arguments))
        except (FormulaError, NotElementwiseError):
            raise
        except OpdslError:
            if make is forms_of:
                raise
            of_sizes, has_unnamed = True, True  # other sizes than those of the call are refused
            continue
        if any(step.is_random for step in program.steps):
            raise RandomNumbersError("random numbers")
        elements = element_function(program, source, places, is_whole=is_whole)
        if results not in (None, len(elements.dtypes)):
            problem = f"it returns {counted(len(elements.dtypes), 'tensor')}, and {results} are declared"
            raise _refusal(source, source.tree, problem, "Return as many as its annotation says.")
        numbers = {input.name for input in program.inputs if input.kind is not None}
        computed = {size for size, _ in program.sizes}
        asked = names_of(program, elements.numbers)
        # A size that is 0 or 1 in the call has no name, but selects the computation if larger ones do.
        of_sizes = (
            (of_sizes and has_unnamed)
            or bool(asked - numbers - computed)
            or any(names_of(program.replace(guards=(size,)), ()) - numbers - computed for _, size in program.sizes)
        )
        if not of_sizes:
            break
    return Reading(elements, _asking(program, elements, of_sizes=of_sizes), of_sizes)


def _asking(program: Program, elements: ElementFunction, *, of_sizes: bool) -> Callable[..., Any] | None:
    """Build the function that runs before the kernel of a traced formula: it checks the guards for a call, and computes
    the numbers that the kernel takes. Return None if there are no guards, also on shapes, and no numbers.
    """
    if not (of_sizes or program.guards or elements.numbers):
        return None
    inputs = program.inputs
    if not of_sizes:
        inputs = tuple(attrs.evolve(input, shape=(), strides=None) for input in inputs)
    outputs = tuple(Expression(number.text) for number in elements.numbers)
    return Program(f"{program.name}_numbers", inputs, (), outputs, program.guards, program.sizes).function


def _sample_forms(arguments: Sequence[Any]) -> list[TensorMeta]:
    """Return geometries with arbitrary sizes (they broadcast, and none is 1), to trace a formula independently of its
    sizes.
    """
    tensors = [input for input in arguments if isinstance(input, Tensor)]
    rank = max((tensor.ndim for tensor in tensors), default=0)
    sizes = tuple(range(3, 3 + 2 * rank, 2))[::-1]
    return [geometry(tensor.dtype, cpu, sizes[rank - tensor.ndim :]) for tensor in tensors]


def forms_of(arguments: Sequence[Any]) -> list[TensorMeta]:
    """Return the geometries of the tensors among the arguments of a call, with example values for symbolic sizes."""

    def known(sizes: Sequence[Any]) -> tuple[int, ...]:
        return tuple(map(_example, sizes))

    return [
        geometry(leaf.dtype, leaf.device, known(leaf.geometry.shape), known(leaf.geometry.strides))
        for leaf in leaves_of(arguments)
        if isinstance(leaf, Tensor)
    ]


class _FormulaTracer(Tracer):
    """Tracer that records source locations of steps, and ignores user overrides of operators.

    Args:
        recorder, leaves: see ``Tracer``.
        masks: whether calls under a condition get operands masked with 0, so that gradients flow only where it holds;
            used for programs, whose steps are differentiated one by one.

    places: locations of the steps: first and last line, first and last column.
    """

    def __init__(self, recorder: Lowering, leaves: Leaves, *, masks: bool) -> None:
        super().__init__(recorder, leaves)
        self.masks = masks
        self.numbers = {spec.name for spec in self.specs if spec.kind is not None}
        self.places: list[tuple[int, int, int, int] | None] = []

    def _integer(self, name: str, value: int) -> Any:
        return self.recorder.size(name, value, None)

    def noted(self, operator: Any, args: Any, kwargs: Any, function: Callable[..., Any]) -> object:
        """See ``Tracer``; results of calls under ``no_grad`` are detached."""
        result = self._noted(operator, args, kwargs, function)
        return result if current.get().grad_mode else self._detached(result)

    def _detached(self, result: Any) -> Any:
        if isinstance(result, (tuple, list)):
            return getattr(result, "_make", type(result))(map(self._detached, result))
        if not isinstance(result, Tensor) or not (result.dtype.is_floating_point or result.dtype.is_complex):
            return result
        detach = operator_named("aten::detach").function
        return super().noted(detach, (result,), {}, detach)

    def _noted(self, operator: Any, args: Any, kwargs: Any, function: Callable[..., Any]) -> object:
        branch = masked_branch.get() if self.masks else None
        if branch is None:
            return super().noted(operator, args, kwargs, function)
        called: Operator = operator.operator
        original_args = args
        if branch.takes(called, [args, list(kwargs.values())]):
            nothing: MaskedBranch | None = None
            with Setting(conditions, ()), Setting(masked_branch, nothing):
                args = self._all_masked(args, branch.conditions())
                result = super().noted(operator, args, kwargs, function)
        else:
            result = super().noted(operator, args, kwargs, function)
        branch.gives(called, original_args, result)
        return result

    def _all_masked(self, args: tuple[Any, ...], under: Conditions) -> tuple[Any, ...]:
        """Return operands that are 0 where a condition does not hold; integers, which have no gradients, are
        unchanged.
        """
        whole = broadcast_all(arg.shape for arg in args if isinstance(arg, Tensor))
        for condition, outcome in under:
            if isinstance(condition, Tensor):  # conditions over dims are applied to values over dims
                holds, is_asked = self._fitted(condition, outcome, whole)
                args = tuple([self._masked(arg, holds, is_asked) for arg in args])
        return args

    def _fitted(self, condition: Tensor, outcome: bool, shape: Sequence[int]) -> tuple[Tensor, bool]:
        """Reduce a condition by ``any`` over dimensions that a shape lacks, so that it broadcasts to the shape."""
        extra, repeated = dims_repeated(condition.shape, shape)
        if not extra and not repeated:
            return condition, outcome
        negated, any_ = operator_named("aten::logical_not").function, operator_named("aten::any.dims").function
        holds: Any = condition if outcome else super().noted(negated, (condition,), {}, negated)
        for dims, keepdim in ((repeated, True), (extra, False)):
            if dims:
                holds = super().noted(any_, (holds, dims), {"keepdim": keepdim}, any_)
        return holds, True

    def _masked(self, value: Any, condition: Tensor, outcome: bool) -> Any:
        if not isinstance(value, Tensor) or not (value.dtype.is_floating_point or value.dtype.is_complex):
            return value
        full, where = operator_named("aten::full").function, operator_named("aten::where.self").function
        options = {"dtype": value.dtype, "device": value.device}
        zero = super().noted(full, ((), 0.0), options, full)
        sides = (value, zero) if outcome else (zero, value)
        return super().noted(where, (condition, *sides), {}, where)

    def _asked_by_calls(self, before: dict[str, bool], after: dict[str, bool]) -> dict[str, bool]:
        """Return the guards to keep after a call: also those on numbers, since ``dim=1`` is another kernel than
        ``dim=0``.
        """
        own = {text: outcome for text, outcome in after.items() if not self.numbers.isdisjoint(WORDS.findall(text))}
        return {**before, **own}

    def definition_of(self, operator: Operator) -> Definition | None:
        """See ``Tracer``; returns the declared definition even if an override replaces it."""
        known = tuple(operator.registrations.values())
        definitions = (
            kernel.definition for kernels in known for kernel in kernels if isinstance(kernel, StructuredKernel)
        )
        return super().definition_of(operator) or next(definitions, None)

    def _note(self, operator: Any, args: Any, kwargs: Any, result: Any, call: Any) -> None:
        super()._note(operator, args, kwargs, result, call)
        del self.places[len(self.steps) - 1 :]
        self.places.append(_place_of_caller())


def _place_of_caller() -> tuple[int, int, int, int] | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_rewritten(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return None
    first, last, start, end = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    return first or 1, last or 1, start or 0, end or 0


def traced_formula(
    text: Callable[..., Any],
    source: FunctionSource,
    form: Form,
    arguments: Sequence[Any],
    forms: Sequence[TensorMeta],
    *,
    is_masked: bool = False,
) -> tuple[Program, Callable[[int], Place]]:
    """Run a formula on tensors that record its calls.

    Args:
        text: a function of the arguments.
        source: its source.
        form, arguments: see ``read_elements``.
        forms: geometries of the tensors among the arguments.
        is_masked: whether calls under a condition get operands masked with 0.

    Returns:
        The program of recorded steps, and a function that returns the source location of each step.

    Raises:
        FormulaError: it does something that no kernel can do.
    """
    names: list[str] = []
    values: list[Any] = []
    geometries = iter(forms)

    def taken(value: Any, name: str) -> Any:
        if not is_leaf(value):
            return pinned(value)
        names.append(f"{name}_" if name in RESERVED else name)
        values.append(sample_tensor(next(geometries)) if isinstance(value, Tensor) else _example(value))
        return LEAF

    structure: list[Any] = []
    for name, value in zip(form.names, arguments, strict=True):
        if isinstance(value, (tuple, list)):
            parts = [taken(v, f"{name}_{at}") if isinstance(v, Tensor) else pinned(v) for at, v in enumerate(value)]
            structure.append(type(value)(parts))
        else:
            structure.append(taken(value, name))
    leaves = Leaves(tuple(names), tuple(values), (tuple(structure), {}))
    state = DEFAULT_STATE.change(default_dtype=form.default)
    nothing: MaskedBranch | None = None
    with (
        Setting(current, state),
        Setting(conditions, ()),
        Setting(masked_branch, nothing),
        _tracing(source, leaves, is_masked) as tracer,
    ):
        outputs = tracer.run(text, leaves)
        _check_returned(source, outputs)
        program = tracer.program(source.name, tracer.specs, outputs)
    places = [_place(source, place) for place in tracer.places]
    for step, place in zip(program.steps, places, strict=True):
        if step.writes:
            problem = f"{step.name} writes to its argument, which a formula must not do"
            raise _refusal(source, place.node, problem, "Call the operator that returns a new tensor.")
    return program, places.__getitem__


def _check_returned(source: FunctionSource, outputs: Any) -> None:
    """Raise an error if a formula returned anything but tensors.

    Raises:
        FormulaError: a result is no tensor, or varies along dims.
    """
    for output in outputs if isinstance(outputs, (tuple, list)) else (outputs,):
        if is_element(output) and not isinstance(output, Tensor):
            problem = f"it returns a tensor that varies along dims: {', '.join(sorted(d.name for d in output.depends))}"
            raise _refusal(source, source.tree, problem, "Order them: value.order(..., i).")
        if not isinstance(output, Tensor):
            problem = f"it returns {'nothing' if output is None else repr(output)}, not a tensor"
            raise _refusal(source, source.tree, problem, "Return tensors that are computed from the arguments.")


def _refusal(source: FunctionSource, node: ast.AST, problem: str, remedy: str) -> FormulaError:
    return FormulaError(str(source.error(node, problem, remedy)).replace("scalar function", "formula", 1))


@contextmanager
def _tracing(source: FunctionSource, leaves: Leaves, masks: bool) -> Iterator[_FormulaTracer]:
    recorder = Lowering(leaves.names)
    recorder.compiles = False
    with recording(recorder), nullcontext() if masks else watching_layout(recorder, _refuse_layout):
        try:
            yield _FormulaTracer(recorder, leaves, masks=masks)
        except (NotLoweredError, TraceError) as error:
            raise error_at(error, str(error).rstrip("."), _REMEDY) from error
        except RecursionError as error:
            raise error_at(error, "it calls itself", "Write a loop: a formula has no recursion.") from None
        except NameError as error:
            if not is_of_formula(error):
                raise
            raise error_at(error, str(error), "Names in a formula have to be defined when it is declared.") from error
        except DimError as error:
            raise DimError(str(error_at(error, str(error), "")).rstrip("\n")) from error


def _refuse_layout() -> None:
    """Raise an error if a formula, or a function that it calls, asks for the layout of a tensor.

    Raises:
        NotElementwiseError: it does. Operators of the library only choose between equal results.
    """
    asking = sys._getframe(3)  # around the tensor's method
    if not str(asking.f_globals.get("__name__")).startswith("opdsl."):
        raise NotElementwiseError("the layout of a tensor selects what is computed")


_REMEDY = (
    "A formula only calls operators on its arguments; code that reads elements or writes to tensors can be a body of "
    "@op."
)


def likely_argument(argument: Argument, dtype: DType, rank: int) -> Any:
    """Return an argument value for tracing a formula when it is declared: its default, or a typical value of its type.

    Args:
        argument: of the schema.
        dtype, rank: of tensors.

    Raises:
        ArgumentError: there is no likely value for its type.
    """
    kind = argument.type
    if argument.default is not None:
        default = argument.default.value
        if default is None or isinstance(default, (bool, int, float, str, tuple)):
            return default
    elif isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, ListType) and kind.base is BaseType.Tensor:
        return (sample_tensor(geometry(dtype, cpu, (3,) * rank)),) * (kind.size or 2)
    if kind is BaseType.Tensor:
        return sample_tensor(geometry(dtype, cpu, (3,) * rank))
    if kind in _LIKELY:
        return _LIKELY[kind]
    raise ArgumentError(f"nothing is likely for {argument}")


_LIKELY: Mapping[Any, Any] = {
    BaseType.float: 1.5,
    BaseType.Scalar: 1.5,
    BaseType.int: 2,
    BaseType.SymInt: 2,
    BaseType.bool: False,
    ListType(BaseType.int): (0,),
    ListType(BaseType.int, 1): (0,),
}


def sample_tensor(form: TensorMeta) -> Tensor:
    """Return a tensor of a given geometry that takes no memory, to trace formulas with."""
    prepare()
    sample = Tensor()
    sample.geometry = form
    sample.array = numpy.broadcast_to(numpy.zeros((), form.dtype.numpy), form.shape)
    sample._writes, sample._base = 0, None
    return sample


def _example(value: Any) -> Any:
    """Return the example value of a symbolic number of opdsl or PyTorch; other values unchanged."""
    if is_symbol(value):
        return value.example
    if not is_symbolic(value):
        return value
    known = getattr(getattr(value, "node", None), "hint", None)
    return symbolic_kind(value)(value) if known is None else known  # type: ignore[misc]  # int or float


def _place(source: FunctionSource, where: tuple[int, int, int, int] | None) -> Place:
    """Return a location in the source of a formula, given lines and columns of its file."""
    if where is None:
        return Place(source, source.tree)
    first, last, start, end = where
    node = ast.Name("_", ast.Load())
    node.lineno, node.end_lineno = first - source.first_line + 1, last - source.first_line + 1
    node.col_offset, node.end_col_offset = start - source.indent, end - source.indent
    return Place(source, node)
