"""Steps of scans as scalar functions, and the recurrence operators that are built from them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from types import CellType, FunctionType
from typing import Any, NamedTuple, cast

from opdsl.autograd.derived_operators import defined
from opdsl.dispatch.state import current
from opdsl.errors import DimError, FormulaError
from opdsl.formulas.control import is_element
from opdsl.formulas.dim_tensor import Dim
from opdsl.formulas.forms import ElementFunction, NotElementwiseError, form_of
from opdsl.formulas.loops import Nodes, as_tensor, wider
from opdsl.formulas.reading import read_elements, sample_tensor
from opdsl.formulas.text import FormulaText, text_being_read
from opdsl.kernels.definitions.recurrence import RecurrenceDefinition
from opdsl.kernels.definitions.scan import Steps
from opdsl.runtime import DType, Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.geometry import geometry
from opdsl.runtime.symbol import is_symbol
from opdsl.scalar import ScalarFunction
from opdsl.scalar.source import function_source
from opdsl.schema import parse_schema

__all__ = ["ElementStep", "Lifted", "Number", "Operand", "element_step", "lifted"]

# Limit for iterations of dtype widening; there are fewer widening dtypes, so more means no convergence.
_MOST_WIDENINGS = 8
# Rank of sample tensors: promotion only distinguishes tensors with and without dimensions.
_RANK = 1

Number = bool | int | float | complex


class Operand(NamedTuple):
    """Tensor of which each step of a scan reads one element.

    dtype: of its elements.
    is_scalar: whether it has no dimensions, and counts as a number in promotion.
    """

    dtype: DType
    is_scalar: bool

    @property
    def sample(self) -> Tensor:
        """Return a sample tensor of its dtype and rank, to trace functions with."""
        return sample_tensor(geometry(self.dtype, cpu, () if self.is_scalar else (3,) * _RANK))


class ElementStep(NamedTuple):
    """Elementwise step function of a scan.

    elements: takes the carried values (``carry0`` ...), then the operands (``x0`` ...).
    dtypes: of the carried values.
    operands: number of operands.
    """

    elements: ElementFunction
    dtypes: tuple[DType, ...]
    operands: int

    def recurrence(self, numbers: Sequence[Number | None], *, is_masked: bool, is_reverse: bool) -> Callable[..., Any]:
        """Define and return the operator that runs the whole scan in one kernel.

        Args:
            numbers: initial values; None for one that is a tensor.
            is_masked: whether a further operand is a mask of the steps to run.
            is_reverse: whether the last element is the first step.

        Returns:
            An operator that takes the operands, a mask of first steps and initial values if these are tensors, the
            mask, and the dimension.
        """
        function = self._function([value is None for value in numbers], is_masked=is_masked)
        kinds = tuple(dtype.name for dtype in self.dtypes)
        steps = Steps(tuple([_real(value) for value in numbers]), function, kinds, kinds, is_reverse)
        arguments = ", ".join([*(f"Tensor {name}" for name in steps.names), "int dim"])
        returns = ", ".join(["Tensor"] * len(kinds))
        signature = f"({arguments}) -> {returns if len(kinds) == 1 else f'({returns})'}"
        described = repr((signature, function.nodes, function.results, steps.init, kinds, is_reverse))
        digest = hashlib.blake2b(described.encode(), digest_size=8).hexdigest()
        definition = RecurrenceDefinition(parse_schema(f"formula::scan_{digest}{signature}"), "opdsl::scan")
        # The function itself contains conversions to the dtypes that it was traced for.
        definition.steps = steps
        return defined(definition.schema, definition, definition.name, accepts_numbers=False)

    def _function(self, from_tensors: Sequence[bool], *, is_masked: bool) -> ScalarFunction:
        """Return the scalar function of the step, extended by the selection of initial values and of skipped steps."""
        source = self.elements.function.source
        carried, operands = _names(len(self.dtypes), self.operands)
        initial = [f"init{at}" for at, is_tensor in enumerate(from_tensors) if is_tensor]
        others = [*(["first", *initial] if initial else []), *(["turn"] if is_masked else [])]
        nodes = Nodes(source)
        known = {name: nodes.add("parameter", value=name) for name in (*carried, *operands, *others)}
        before = dict(known)
        for at, (name, dtype) in enumerate(zip(carried, self.dtypes, strict=True)):
            if from_tensors[at]:
                start = nodes.converted(known[f"init{at}"], dtype)
                before[name] = nodes.add("select", known["first"], start, known[name])
        after = nodes.inline(self.elements, before)
        after = [nodes.converted(at, dtype) for at, dtype in zip(after, self.dtypes, strict=True)]
        if is_masked:
            after = [
                nodes.add("select", known["turn"], new, before[name]) for new, name in zip(after, carried, strict=True)
            ]
        return ScalarFunction(
            "scan",
            (*carried, *operands, *others),
            {},
            tuple(nodes.nodes),
            tuple(nodes.places),
            (*after, *after),
            source,
        )


def _names(carried: int, operands: int) -> tuple[list[str], list[str]]:
    return [f"carry{at}" for at in range(carried)], [f"x{at}" for at in range(operands)]


def _real(value: Number | None) -> bool | int | float:
    assert not isinstance(value, complex), "complex numbers are handed over as tensors"
    return 0 if value is None else value


def element_step(
    step: Callable[..., tuple[Any, ...]], carried: Sequence[Operand], operands: Sequence[Operand]
) -> ElementStep:
    """Trace the step function of a scan as an elementwise function.

    Args:
        step: takes the carried values, then the operands; returns new carried values.
        carried: the initial values; their dtypes are widened to those that steps return.
        operands: operands of each step.

    Raises:
        NotElementwiseError: it does more than compute elements, or divides integers by elements.
        FormulaError: the dtype of a carried value does not converge.
    """
    text = _text(step)
    names = tuple(name for listed in _names(len(carried), len(operands)) for name in listed)
    default = current.get().default_dtype
    state = list(carried)
    for _ in range(_MOST_WIDENINGS):
        samples = [operand.sample for operand in (*state, *operands)]
        try:
            reading = read_elements(text, form_of(names, samples, default), samples, is_whole=True)
        except DimError as error:  # the step works along dims, which samples lack
            raise NotElementwiseError("dims within a step") from error
        if reading.ask is not None or reading.elements.divisors:
            raise NotElementwiseError("a division of integers by elements")
        varying = {name for name, operand in zip(names, (*state, *operands), strict=True) if not operand.is_scalar}
        after = [
            Operand(wider(before.dtype, dtype, default, is_weak=before.is_scalar), not varies and before.is_scalar)
            for before, dtype, varies in zip(
                state, reading.elements.dtypes, _vary(reading.elements.function, varying), strict=True
            )
        ]
        if after == state:
            return ElementStep(reading.elements, tuple(operand.dtype for operand in state), len(operands))
        state = after
    raise FormulaError(
        "the dtype of a value that opdsl.scan carries changes with each step. Convert it in the step: "
        "x.to(opdsl.float32)."
    )


def _vary(function: ScalarFunction, varying: Collection[str]) -> list[bool]:
    """Return, for each result, whether it depends on one of the parameters ``varying``; a result that does not is
    promoted like a Python number.
    """
    known: list[bool] = []
    for node in function.nodes:
        known.append(node.value in varying if node.op == "parameter" else any(known[at] for at in node.arguments))
    return [known[at] for at in function.results]


def _text(step: Callable[..., tuple[Any, ...]]) -> FormulaText:
    """Wrap a step function as a formula; errors underline the enclosing formula, or the step itself."""

    def run(*tensors: Any) -> tuple[Any, ...]:
        return tuple([value if is_element(value) else as_tensor(value, ()) for value in step(*tensors)])

    outer = text_being_read()
    function = cast(FunctionType, run)
    return FormulaText(function, run, function_source(function) if outer is None else outer.source)


class Lifted(NamedTuple):
    """Result of lambda lifting: a function that takes the tensors it captured as leading parameters.

    function: the new function.
    elements: the captured tensors.
    works_along_dims: whether the function also captures dims, along which it may work.
    """

    function: Callable[..., Any]
    elements: list[Any]
    works_along_dims: bool


def lifted(function: Callable[..., Any], along: Collection[object]) -> Lifted:
    """Lift the tensors in a function's closure into leading parameters (lambda lifting).

    If the function captures dims, only values that vary along the dims of the scan are lifted, since they differ
    between steps.

    Args:
        function: the step function.
        along: dims or dimension of the scan; captured dims among them are lifted, as the index of the step.
    """
    cells = function.__closure__ if isinstance(function, FunctionType) else None
    if cells is None:
        return Lifted(function, [], False)
    inner, contents = cast(FunctionType, function), list(map(_content, cells))
    works_along_dims = any(isinstance(value, Dim) for value in contents)
    if works_along_dims:
        turning = {target for target in along if isinstance(target, Dim)}
        places = [at for at, value in enumerate(contents) if not turning.isdisjoint(getattr(value, "depends", ()))]
    else:
        places = [at for at, value in enumerate(contents) if is_element(value) or is_symbol(value)]

    def taking(*arguments: Any) -> Any:
        own = list(cells)
        for at, value in zip(places, arguments, strict=False):
            own[at] = CellType(value)
        function_type = FunctionType(inner.__code__, inner.__globals__, inner.__name__, inner.__defaults__, tuple(own))
        function_type.__kwdefaults__ = inner.__kwdefaults__
        return function_type(*arguments[len(places) :])

    return Lifted(taking, [contents[at] for at in places], works_along_dims)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable is not assigned yet
        return None
