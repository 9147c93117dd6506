"""Recurrences: scans that carry values from element to element by an arbitrary function.

``h = a * h + b`` is one: the decorated function takes the carried values, then tensors and numbers of the operator by
name. While the ``combine`` of a scan is associative, so that the scan can be computed in chunks, a recurrence is
computed step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from types import FunctionType
from typing import TYPE_CHECKING

from opdsl.errors import KernelSignatureError, RoundedResultError, ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import Layout, Recurring
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.definitions.monoid import in_order, initial, read_function, require_exact
from opdsl.kernels.definitions.rowwise import Rowwise, RowwiseDefinition
from opdsl.kernels.definitions.scan import ACCUMULATORS, PROMOTIONS, RESULTS, Init, Steps
from opdsl.kernels.definitions.structured import Arguments, PreparedCall
from opdsl.kernels.functions import recurrence
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dtypes import precision_of, require_computed
from opdsl.kernels.iteration.strides import output_strides
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.dtype import Category, DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.promotion import promote_types
from opdsl.runtime.strides import wrap_dimension
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.parameters import NUMBERS, Role

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

_PROMOTIONS = ("default", "int_to_float", "floating")

# Dtypes of results; ``carried`` results have the dtype of the accumulator.
_RESULTS: dict[str, Callable[[DType], DType]] = {
    **RESULTS,
    **{f"carried {name}": rule for name, rule in ACCUMULATORS.items()},
}


class RecurrenceDefinition(RowwiseDefinition):
    """Definition of a recurrence along ``dim`` over tensors that broadcast, and numbers.

    Args:
        schema: of the operator.
        name: its name, for messages.
        dim: the name of the argument that is the dimension.
        gradients: how many operands, the first ones, are gradients of another recurrence's results; they count last for
            the memory layout of results.
    """

    __slots__ = ("dim", "gradients", "promote", "steps")

    reads_before_writing = True
    steps: Steps

    def __init__(self, schema: FunctionSchema, name: str, *, dim: str = "dim", gradients: int = 0) -> None:
        super().__init__(schema, name)
        self.dim = dim
        self.gradients = gradients
        self.promote = "default"

    def add(
        self,
        step: FunctionType | ScalarFunction,
        *,
        init: Init,
        finish: FunctionType | ScalarFunction | None = None,
        promote: str = "default",
        accumulators: Iterable[str] | None = None,
        results: Iterable[str] | None = None,
        known: Mapping[str, object] | None = None,
    ) -> None:
        """Set the scalar functions.

        Args:
            step: carried values, then tensors and numbers of the operator by name -> new carried values.
            init: the carried values before the first element.
            finish: new carried values, at each element -> results; None if the results are the carried values.
            promote: ``default``, ``int_to_float`` or ``floating``, as of rows.
            accumulators: for each carried value a key of ``ACCUMULATORS``; by default values.
            results: for each ``value``, ``index`` or ``truth``; by default values.
            known: constants for arguments, with which the functions are read.

        Raises:
            ScalarFunctionError: a function contains an expression that no scalar graph can represent, or computes
                floating-point numbers from integers that would be rounded.
            KernelSignatureError: a function does not fit, or an option is unknown.
        """
        stepping = read_function(step, known)
        finishing = None if finish is None else read_function(finish, known)
        first = init if isinstance(init, tuple) else (init,)
        kinds = ("value",) * len(first) if accumulators is None else tuple(accumulators)
        wanted = ("value",) * self.results if results is None else tuple(results)
        self._check(stepping, finishing, len(first), kinds, wanted, promote, known or ())
        self.take(Steps(first, _with_results(stepping, finishing), kinds, wanted), promote)

    def take(self, steps: Steps, promote: str) -> None:
        """Set a recurrence whose functions are known to fit."""
        self.steps, self.promote = steps, promote
        if promote == "default":
            self._require_exact()

    def _check(
        self,
        step: ScalarFunction,
        finish: ScalarFunction | None,
        count: int,
        accumulators: Sequence[str],
        results: Sequence[str],
        promote: str,
        known: Iterable[str],
    ) -> None:
        roles = {parameter.name: parameter.role for parameter in self.parameters}
        fit = {name for name, role in roles.items() if role is Role.TENSOR or role in NUMBERS} - {self.dim, *known}
        named = step.parameters[count:]
        lost = sorted(fit - set(named))
        demands = (
            (self.dim in roles, "a scan has an argument dim: int"),
            (promote in _PROMOTIONS, f"promote={promote!r} is unknown; use one of {', '.join(_PROMOTIONS)}"),
            (set(accumulators) <= set(ACCUMULATORS), f"accumulators are {', '.join(ACCUMULATORS)}"),
            (set(results) <= set(RESULTS), f"results are {', '.join(RESULTS)}"),
            (len(accumulators) == count, f"init has {count} values for {len(accumulators)} accumulators"),
            (
                not set(step.parameters[:count]) & set(roles),
                f"{step.name} takes the carried values first, under names that are no arguments",
            ),
            (
                set(named) <= fit,
                f"{step.name} takes the carried values ({count}), then tensors and numbers by name (of "
                f"{', '.join(sorted(fit))})",
            ),
            (not lost, f"{step.name} takes every tensor and number ({', '.join(lost)} is missing)"),
            (len(step.results) == count, f"{step.name} returns the new carried values ({count})"),
            (
                finish is None or (len(finish.parameters) == count and len(finish.results) == self.results),
                f"finish takes the new carried values ({count}) and returns {self.results} results",
            ),
            (finish is not None or count == self.results, "carried values are no results: a finish is needed"),
            (len(results) == self.results, f"there are {len(results)} results for {self.results} returns"),
        )
        for holds, demand in demands:
            if not holds:
                raise KernelSignatureError(f"{self.name}: the scan does not fit {self.schema}: {demand}.")

    def _require_exact(self) -> None:
        """Raise if results for integer tensors would be rounded."""
        roles = {parameter.name: parameter.role for parameter in self.parameters}
        types = {name: "float64" if roles[name] is Role.FLOAT else "int64" for name in self.steps.names}
        types |= dict.fromkeys(self.steps.carried, "int64")
        kinds = [*(rule for rule in self.steps.accumulators), *self.steps.results]
        wanted = ["int64" if kind in ("value", "index") else "float64" for kind in kinds]
        try:
            require_exact(self.steps.function, types, wanted)
        except RoundedResultError:
            raise
        except ScalarFunctionError:  # an operation is missing for integers; calls with integers raise that
            return

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "recurrence"

    @property
    def decorator(self) -> str:
        """See ``Definition.decorator``."""
        return "scan"

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        return (self.steps.function,)

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return (self.steps.function.source.function,)

    def prepare(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        names = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        places = [names[name] for name in self.steps.names]
        arrays = [index for index in places if isinstance(arguments[index], Tensor)]
        tensors: list[Tensor] = [arguments[index] for index in arrays]
        shape = broadcast_all(tensor.shape for tensor in tensors)
        dim = wrap_dimension(arguments[names[self.dim]], len(shape))
        common = reduce(promote_types, (tensor.dtype for tensor in tensors))
        value_dtype = PROMOTIONS[self.promote](self.name, common, None, None)
        require_computed(value_dtype)
        cast = value_dtype if value_dtype is not common and common.category < Category.FLOAT else None
        ordered = (*tensors[self.gradients :], *tensors[: self.gradients])
        # Zero-dim tensors do not influence strides, as formulas pass numbers as such tensors.
        strides = output_strides(shape, [tensor.geometry for tensor in ordered if tensor.ndim] or [tensors[0].geometry])
        specs = tuple(
            OutputSpec(_RESULTS[rule](value_dtype), tensors[0].device, shape, strides) for rule in self.steps.results
        )
        order = (*arrays, *(index for index in places if index not in arrays))
        return PreparedCall(
            specs, Rowwise(shape, (dim,) if shape else (), order, precision_of(value_dtype), cast, value_dtype, self)
        )

    def compile(self, state: Rowwise, inputs: Sequence[TensorMeta | DType], layout: Layout, device: str) -> Compiled:
        """See ``RowwiseDefinition.compile_call``."""
        value_dtype: DType = state.details
        steps = self.steps
        names = tuple(self.parameters[index].name for index in state.places)
        kinds = [precision_of(input.dtype if isinstance(input, TensorMeta) else input).name for input in inputs]
        carried = [ACCUMULATORS[accumulator](value_dtype).name for accumulator in steps.accumulators]
        results = [*carried, *(precision_of(_RESULTS[rule](value_dtype)).name for rule in steps.results)]
        function = in_order(steps.function, (*steps.carried, *names))
        types = {**dict(zip(steps.carried, carried, strict=True)), **dict(zip(names, kinds, strict=True))}
        try:
            require_exact(function, types, results)
            graph = function.specialise(types, results=results)
        except ScalarFunctionError as error:
            raise UnsupportedDTypeError(f"not implemented for '{value_dtype.scalar_type}': {error}") from error
        init = tuple(initial(number, kind) for number, kind in zip(steps.init, carried, strict=True))
        return compiler_for(device).compile(recurrence(Recurring(init, graph, steps.is_reverse), layout), layout)


def _with_results(step: ScalarFunction, finish: ScalarFunction | None) -> ScalarFunction:
    """Return a step function that returns the results of ``finish`` too."""
    from opdsl.scalar.composing import Composer

    graph = Composer(step.source)
    carried = graph.call(step, [graph.parameter(parameter) for parameter in step.parameters])
    return graph.finish(step.name, step.parameters, [*carried, *graph.call(finish, carried)])
