"""Definitions of operators that are elementwise formulas: everything that the formula calls becomes one kernel."""

from __future__ import annotations

import ast
import importlib
import itertools
import threading
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

from opdsl.collecting import without_collecting
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.state import current
from opdsl.errors import ArgumentError, FormulaError, OpdslError, ScalarFunctionError, ShapeError, UnsupportedDTypeError
from opdsl.formulas.forms import ElementFunction, Form, NotElementwiseError, RandomNumbersError, Reading, form_of
from opdsl.formulas.text import FormulaText, Trial
from opdsl.kernels.compiler import Compiled, compile_elements
from opdsl.kernels.definitions.divisors import check_divisor
from opdsl.kernels.definitions.pointwise import Formula, PointwiseDefinition
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, PreparedCall
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dtypes import PROMOTIONS, OutputCast, precision_of
from opdsl.kernels.iteration.numbers import convert, is_left_to_kernel, wrap
from opdsl.kernels.iteration.strides import output_strides
from opdsl.kernels.iteration.tensor_iterator import (
    Configuration,
    Iteration,
    common_device,
    pointwise_layout,
)
from opdsl.kernels.outputs import OutputSpec, array_of, tensor_over
from opdsl.runtime.dtype import ALL_DTYPES, Category, DType, bool_, float32, int64
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import made_once
from opdsl.runtime.tensor import Tensor
from opdsl.schema import Argument, BaseType, FunctionSchema, ListType, OptionalType

if TYPE_CHECKING:
    from opdsl.kernels.calls import Layout
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph

__all__ = ["FormulaDefinition", "formula_of_elements"]

# Number of readings to keep per form; they differ in the outcomes of guards on numbers and sizes.
_MOST_READINGS = 64

_LIKELY_DTYPES = (float32, int64, bool_)
_LIKELY_RANKS = (2, 1, 3, 4, 0)


class FormulaCall(NamedTuple):
    """Prepared call of a formula.

    formula: its scalar function, and the indices of the arguments that are tensors it reads.
    iteration: shape, strides, device and dtypes of the loop.
    default: the default dtype.
    dtypes: dtypes of the results.
    numbers: values of the kernel's number parameters.
    elements: the element function of the reading.
    """

    formula: Formula
    iteration: Iteration
    default: DType
    dtypes: tuple[DType, ...]
    numbers: tuple[Any, ...]
    elements: ElementFunction


class FormulaDefinition(PointwiseDefinition):
    """Definition of an operator that is an elementwise formula.

    Args:
        schema: of the operator.
        name: its name, for messages.
        text: the formula, a function of the arguments in the order of the schema.
        is_whole: whether every result has the broadcast shape of all tensors, also if it is computed from some of them.
        leading: number of first arguments whose tensors determine that shape; all by default.

    reads_sizes: whether it computes with sizes, so that it must not be applied to slices of operands separately.
    """

    __slots__ = ("_lock", "_readings", "_results", "is_whole", "leading", "reads_sizes", "text")

    def __init__(
        self,
        schema: FunctionSchema,
        name: str,
        text: FormulaText,
        *,
        is_whole: bool = False,
        leading: int | None = None,
    ) -> None:
        super().__init__(schema, name)
        self.text: FormulaText = text
        self.is_whole = is_whole
        self.leading = leading
        self.reads_sizes = False
        self._lock = held_across_fork(threading.Lock())
        self._readings: dict[Form, tuple[Reading, ...]] = {}
        returns = schema.returns
        self._results = None if returns and isinstance(returns[0].type, ListType) else len(returns)

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "formula" if self.reads_sizes else "pointwise"

    @property
    def decorator(self) -> str:
        """See ``Definition.decorator``; all that holds for pointwise operators holds for elementwise formulas."""
        return "pointwise"

    @property
    def derived_by(self) -> str:
        """See ``Definition.derived_by``."""
        return "opdsl.formulas.derivative:FormulaDerivative"

    @property
    def readings(self) -> Mapping[Form, tuple[Reading, ...]]:
        """Return the cached readings of the formula by form, for inspection."""
        return self._readings

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return self.text.functions

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``; empty, since a missing derivative is only reported when one is requested."""
        return ()

    def read(self, arguments: Sequence[Any]) -> tuple[Reading, tuple[Any, ...]]:
        """Return the traced formula (reading) for the given arguments, from the cache if possible, and the numbers of
        its kernel.

        Raises:
            FormulaError: the source contains code that no kernel can be compiled from.
            NotElementwiseError: for these arguments it does more than compute elements.
        """
        names = tuple(parameter.name for parameter in self.parameters)
        form = form_of(names, arguments, current.get().default_dtype)
        for known in self._readings.get(form, ()):
            numbers = known.numbers(arguments)
            if numbers is not GUARD_FAILED:
                return known, numbers
        # No lock is held, since the user's function runs. The tracer is imported when the first formula is read.
        with without_collecting():
            reader = importlib.import_module("opdsl.formulas.reading")
            reading: Reading = reader.read_elements(
                self.text, form, arguments, is_whole=self.is_whole, results=self._results
            )
        numbers = reading.numbers(arguments)
        assert numbers is not GUARD_FAILED, "a reading serves the arguments that it was made for"
        with self._lock:
            self._readings[form] = (*self._readings.get(form, ())[-_MOST_READINGS:], reading)
            self.reads_sizes |= reading.reads_sizes
            self.formulas = [*self.formulas[-_MOST_READINGS:], formula_of_elements(self, reading.elements)]
        return reading, numbers

    def shaping(self, arguments: Sequence[Any]) -> frozenset[int]:
        """See ``PointwiseDefinition.shaping``; returns the indices of the arguments that are read elementwise, and the
        first ``leading`` ones.

        Raises:
            FormulaError, NotElementwiseError: see ``read``.
        """
        tensors = self.read(arguments)[0].elements.tensors
        places = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        return frozenset(places[name] for name in tensors).union(range(self.leading or 0))

    def try_forms(self) -> Reading | None:
        """Trace the formula for likely arguments when it is declared; return None if its operators refuse all of them.

        Raises:
            FormulaError: the source contains code that no kernel can be compiled from.
            NotElementwiseError: it does more than compute elements. RandomNumbersError: it draws random numbers.
        """
        readings, faults = [], list[NotElementwiseError]()
        for trial in self.text.trials:
            try:
                readings.append(self._try(trial))
            except NotElementwiseError as error:
                faults.append(error)
        if faults:
            raise next((fault for fault in faults if isinstance(fault, RandomNumbersError)), faults[0])
        return None if None in readings else readings[0]

    def _try(self, trial: Trial) -> Reading | None:
        """Trace the formula for likely arguments of one trial; see ``try_forms``."""
        from opdsl.formulas.control import error_at
        from opdsl.formulas.reading import likely_argument

        mistake: Exception | None = None
        taken = [likely_dtype for likely_dtype in (*_LIKELY_DTYPES, *ALL_DTYPES) if likely_dtype in trial.dtypes]
        for dtype, rank in itertools.product(taken[: len(_LIKELY_DTYPES)], _LIKELY_RANKS):
            try:
                arguments = [
                    trial.when[argument.python_name]
                    if argument.python_name in trial.when
                    else likely_argument(argument, dtype, rank)
                    for argument in self.schema.arguments
                ]
                reading = self.read(arguments)[0]
                if rank < 2 and _has_ellipsis(self.text.source_for(arguments).tree):
                    raise NotElementwiseError("what `...` stands for may be dimensions of some tensors alone")
                self._try_options(arguments, dtype, rank)
                return reading
            except (FormulaError, NotElementwiseError):
                raise
            except OpdslError:  # these arguments do not suit the formula; a call reports that
                mistake = None
            except Exception as error:  # nor do these, for example with too few dimensions
                mistake = mistake or error
        if isinstance(mistake, (AttributeError, TypeError)):
            raise error_at(mistake, str(mistake), "This holds for tensors of any dtype and shape.") from mistake
        return None

    def _try_options(self, arguments: Sequence[Any], dtype: DType, rank: int) -> None:
        """Trace the formula for other values of arguments that select the computation, changing one argument at a
        time.

        Args:
            arguments: arguments for which it has been traced.
            dtype, rank: of the tensors among them.

        Raises:
            NotElementwiseError: for one of these values it does more than compute elements.
        """
        for at, argument in enumerate(self.schema.arguments):
            for option in _options_of(argument, self.text.source_for(arguments).tree, dtype, rank):
                changed = [*arguments[:at], option, *arguments[at + 1 :]]
                try:
                    self.read(changed)
                except NotElementwiseError:
                    raise
                except Exception:  # the option is refused, which a call with it reports
                    continue

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        context = self.ask_check(arguments, tensors)
        try:
            reading, numbers = self.read(arguments)
        except NotElementwiseError as error:
            raise FormulaError(
                f"{self.name}: it is elementwise for some arguments, but not for these ({error}). Declare separate "
                "operators."
            ) from error
        elements = reading.elements
        named = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        operands = {name: named[name].geometry for name in elements.tensors}
        if self.is_whole:
            leading = tuple(argument.geometry for argument in arguments[: self.leading] if isinstance(argument, Tensor))
            shape = broadcast_all(meta.shape for meta in leading)
            known = (*leading, *operands.values())
        else:
            known = tuple(operands.values())
            shape = _common_shape(operands, elements.reads)
        iteration = Iteration(
            shape,
            elements.dtypes[0],
            elements.dtypes[0],
            output_strides(shape, known),
            common_device(known),
            (
                *[precision_of(operand.dtype) for operand in operands.values()],
                *[number.dtype for number in elements.numbers],
            ),
            (None,) * len(elements.function.parameters),
            self._cast_of_results(arguments, elements),
        )
        formula = formula_of_elements(self, elements)
        state = FormulaCall(formula, iteration, current.get().default_dtype, elements.dtypes, numbers, elements)
        specs = tuple([OutputSpec(dtype, iteration.device, shape, iteration.strides) for dtype in elements.dtypes])
        if context is not None:
            context.require_same(specs)
        return PreparedCall(specs, state)

    def _cast_of_results(self, arguments: Sequence[Any], elements: ElementFunction) -> OutputCast:
        """Return the cast rule of ``out=``: as in PyTorch, no cast is allowed for an operator of one float tensor that
        keeps its dtype.
        """
        tensors = [input for input in arguments if isinstance(input, Tensor)]
        keeps = len(tensors) == 1 and all(dtype is tensors[0].dtype for dtype in elements.dtypes)
        is_of_floats = bool(self.text.names) and all(dtype.category > Category.INT for dtype in self.text.dtypes)
        return OutputCast.SAME if keeps and is_of_floats else OutputCast.SAFE

    def part_of_kernels(self, state: FormulaCall) -> FormulaCall | None:
        """See ``Definition.part_of_kernels``; None if divisors have to be checked or numbers computed, which fused
        kernels cannot.
        """
        places = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        elements = state.elements
        if elements.divisors or any(number.text not in places for number in elements.numbers):
            return None
        own = (*state.formula.places, *[places[number.text] for number in elements.numbers])
        return state._replace(formula=state.formula._replace(places=own))

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        state: FormulaCall = prepared.state
        elements, iteration = state.elements, state.iteration
        named = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        inputs: list[TensorMeta | DType] = []
        values: list[Any] = []
        for name, dtype in zip(elements.tensors, iteration.parameters, strict=False):
            tensor = named[name]
            is_here = tensor.device is iteration.device
            inputs.append(tensor.geometry if is_here else dtype)
            values.append(array_of(tensor) if is_here else tensor.item())
        for parameter, number in zip(elements.numbers, state.numbers, strict=True):
            inputs.append(parameter.dtype)
            is_kept = is_left_to_kernel(number, parameter.dtype, may_overflow=parameter.wraps)
            values.append(number if is_kept else (wrap if parameter.wraps else convert)(number, parameter.dtype))
        for divisor in elements.divisors if 0 not in iteration.shape else ():
            check_divisor(_computed(divisor, state, inputs, values))
        layout = pointwise_layout(iteration.shape, inputs, outputs, allocate=allocate)
        return CompiledCall(_compiled(iteration.device.type, self.graph(state), layout), tuple(values))

    def refuses_numbers(self, state: Any) -> bool:
        """See ``PointwiseDefinition.refuses_numbers``."""
        return bool(state.elements.divisors)

    def graph(self, state: Any) -> TypedGraph:
        """See ``PointwiseDefinition.graph``."""
        return _typed(state.elements.function, state, [precision_of(dtype).name for dtype in state.dtypes])


def _options_of(argument: Argument, tree: ast.AST, dtype: DType, rank: int) -> list[Any]:
    """Return further values of an argument that may take another path: the other bool, texts in the source, a non-None
    value.
    """
    from opdsl.formulas.reading import likely_argument

    kind = argument.type
    if kind is BaseType.bool:
        return [not likely_argument(argument, dtype, rank)]
    if kind is BaseType.str:
        constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        return sorted({constant for constant in constants if isinstance(constant, str)})
    if not isinstance(kind, OptionalType):
        return []
    if kind.element in (BaseType.int, BaseType.SymInt):
        return [0]  # valid as a dimension and as a number
    try:
        return [likely_argument(attrs.evolve(argument, default=None), dtype, rank)]
    except ArgumentError:
        return []


def _has_ellipsis(tree: ast.AST) -> bool:
    """Return whether a formula indexes leading dimensions by an ellipsis, as in ``x[..., i]``."""
    return any(isinstance(node, ast.Constant) and node.value is Ellipsis for node in ast.walk(tree))


def _common_shape(operands: Mapping[str, TensorMeta], reads: Sequence[frozenset[str]]) -> tuple[int, ...]:
    """Return the common shape of all results.

    Args:
        operands: geometries of the tensors that are read.
        reads: for each result, the names of the tensors it is computed from.

    Raises:
        ShapeError: operands do not broadcast, or results have different shapes.
    """
    shape = broadcast_all(operand.shape for operand in operands.values())
    for of in reads:
        own = broadcast_all(operand.shape for name, operand in operands.items() if name in of)
        if own != shape:
            raise ShapeError(
                f"results have shapes {list(own)} and {list(shape)}: all results of an elementwise formula have the "
                "same shape. Return them from separate formulas."
            )
    return shape


def formula_of_elements(definition: FormulaDefinition, elements: ElementFunction) -> Formula:
    """Convert a traced elementwise formula into the record by which pointwise operators describe their scalar
    function.
    """
    places = {parameter.name: index for index, parameter in enumerate(definition.parameters)}
    count = len(elements.tensors)
    configuration = Configuration(PROMOTIONS["default"], frozenset(range(count)), frozenset(), len(elements.dtypes))
    own = tuple(places[name] for name in elements.tensors)
    return Formula(elements.function, configuration, {}, own, frozenset(), frozenset(), None, ())


def _typed(function: ScalarFunction, state: FormulaCall, results: Sequence[str] | None) -> TypedGraph:
    types = {
        parameter: dtype.name for parameter, dtype in zip(function.parameters, state.iteration.parameters, strict=True)
    }
    try:
        return function.specialise(types, results=results, default_float=precision_of(state.default).name)
    except ScalarFunctionError as error:
        raise UnsupportedDTypeError(str(error)) from error


def _computed(
    function: ScalarFunction, state: FormulaCall, inputs: Sequence[TensorMeta | DType], values: Sequence[Any]
) -> Tensor:
    """Compute a scalar function for the operands of a call, used to check integer divisors for 0."""
    graph = _typed(function, state, None)
    dtype = next(dtype for dtype in ALL_DTYPES if dtype.name == graph.result_types[0].value)
    iteration = state.iteration
    output_meta = geometry(dtype, iteration.device, iteration.shape)
    layout = pointwise_layout(iteration.shape, inputs, [output_meta], allocate=True)
    return tensor_over(_compiled(iteration.device.type, graph, layout)(*values), output_meta)


@made_once(1024)
def _compiled(device_type: str, graph: TypedGraph, layout: Layout) -> Compiled:
    """Return the compiled kernel of a typed graph, cached so that the first call and the plan made from it share it."""
    return compile_elements(device_type, graph, layout)
