"""Row definitions: operators that compute each row from its elements, sums, means and extrema.

Softmax, the norms and their derivatives are of this kind. The author writes one scalar function, which takes an element
and may reduce the row: ``row_sum(x)``, ``row_mean(x)``, ``row_max(x)``, ``row_min(x)`` of ``opdsl.scalar.intrinsics``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, reduce
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.errors import (
    KernelError,
    KernelSignatureError,
    RoundedResultError,
    ScalarFunctionError,
    UnsupportedDTypeError,
)
from opdsl.kernels.calls import Layout
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.monoid import in_order, require_exact
from opdsl.kernels.definitions.reduction_dtypes import DTYPE_RULES
from opdsl.kernels.definitions.rowwise import Rowwise, RowwiseDefinition
from opdsl.kernels.definitions.structured import Arguments, PreparedCall
from opdsl.kernels.functions import rows
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dtypes import precision_of, require_computed
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.dtype import Category, DType
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.promotion import promote_types
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import pinned
from opdsl.runtime.tensor import Tensor
from opdsl.schema.implementation import row_fault
from opdsl.schema.parameters import Role

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph


class RowDefinition(RowwiseDefinition):
    """Definition of an operator by a shape function and a row function.

    Args:
        schema: of the operator.
        name: its name, for messages.
    """

    __slots__ = ("function", "known", "meta", "promote")

    def add(
        self,
        function: FunctionType | ScalarFunction,
        *,
        meta: Callable[..., object],
        promote: str = "default",
        known: Mapping[str, object] | None = None,
    ) -> None:
        """Set the row function.

        Args:
            function: takes some of the operator's tensors and numbers, by name. Parameters for optional tensors and
                numbers have a default, which replaces None. Of several results, those that depend on elements
                only through reductions are results of the row as a whole.
            meta: the shape function, called as ``meta(ctx, *arguments)``. It sets the outputs and returns the
                dimensions of a row: adjacent, ascending. Tensors broadcast to the shape of the largest of them, which
                outputs have, too; outputs for the row as a whole have size 1 along it.
            promote: ``default``: tensors keep their dtypes. ``int_to_float``: integers are cast to the default dtype,
                which outputs for integer tensors then have too if their results are floating-point. ``floating``:
                integers raise.
            known: constants for arguments, with which the function is read.

        Raises:
            ScalarFunctionError: the function contains an expression that no scalar graph can represent, or computes
                floating-point numbers from integers that would be rounded.
            KernelSignatureError: it does not fit the schema, or ``promote`` is unknown.
        """
        self.meta = meta
        self.function = function
        self.promote = promote
        self.known = tuple((known or {}).items())
        self._check(self.scalar_function())

    def _check(self, function: ScalarFunction) -> None:
        if self.promote not in _PROMOTIONS:
            raise KernelSignatureError(
                f"{self.name}: promote={self.promote!r} of the row function {function.name} is unknown. Use one of "
                f"{', '.join(_PROMOTIONS)}."
            )
        fault = row_fault(self.schema, function.parameters)
        if fault is not None:
            raise KernelSignatureError(
                f"{self.name}: the row function {function.name} does not fit: {fault.problem}. {fault.remedy}."
            )
        if len(function.results) != self.results:
            raise KernelSignatureError(
                f"{self.name}: the row function {function.name} returns {len(function.results)} values for "
                f"{self.results} results. Return one for each."
            )
        if self.promote == "default":
            self._require_exact(function)

    def _require_exact(self, function: ScalarFunction) -> None:
        """Raise if results for integer tensors would be rounded, as outputs with an input's dtype are integers then."""
        roles = {parameter.name: parameter.role for parameter in self.parameters}
        types = {
            parameter: "float64" if roles[parameter] is Role.FLOAT else "int64" for parameter in function.parameters
        }
        try:
            require_exact(function, types, ("int64",) * self.results)
        except RoundedResultError:
            raise
        except ScalarFunctionError:  # an operation is missing for integers; calls with integers raise that
            return

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "row"

    def scalar_function(self, parameters: tuple[str, ...] | None = None) -> ScalarFunction:
        """Read the row function as a scalar function of the given parameters only; all other parameters have their
        defaults.
        """
        return _read(self.function, parameters, self.known)

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        return (self.scalar_function(),)

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        function = self.function
        return (function if isinstance(function, FunctionType) else function.source.function,)

    def prepare(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        tensors = list(tensors_in(arguments))
        context = MetaContext(self.name, self.results, outs, tensors[0].device)
        returned = self.meta(context, *(arguments if is_traceable(self.meta) else pinned(arguments)))
        names = {parameter.name: index for index, parameter in enumerate(self.parameters)}
        wanted = [names[name] for name in self.scalar_function().parameters if arguments[names[name]] is not None]
        arrays = [index for index in wanted if isinstance(arguments[index], Tensor)]
        shape = broadcast_all(arguments[index].shape for index in arrays)
        dims = self._dims(returned, shape)
        specs = context.specs(self.meta.__name__)
        self._check_shapes(specs, shape, dims)
        shapes = {self.parameters[index].name: arguments[index].shape for index in arrays}
        self._check_results(specs, shapes, shape, dims)
        places = (*arrays, *(index for index in wanted if index not in arrays))
        value_dtype, cast = self._value(reduce(promote_types, (arguments[index].dtype for index in arrays)))
        require_computed(value_dtype)
        if cast is not None:
            specs = self._of_floats(specs, [self.parameters[index].name for index in places], precision_of(value_dtype))
        return PreparedCall(specs, Rowwise(shape, dims, places, precision_of(value_dtype), cast, specs, self))

    def _value(self, common: DType) -> tuple[DType, DType | None]:
        """Return the dtype in which rows are computed, and the dtype that tensors are cast to before, or None."""
        if common.category >= Category.FLOAT or self.promote == "default":
            return common, None
        value_dtype = DTYPE_RULES[self.promote](self.name, common, None, None)
        return value_dtype, value_dtype

    def _of_floats(self, specs: Sequence[OutputSpec], names: Sequence[str], value: DType) -> tuple[OutputSpec, ...]:
        """Return the output specifications of a call whose integer tensors are computed as floating-point numbers."""
        graph = self.scalar_function(tuple(names)).specialise(dict.fromkeys(names, value.name))
        return tuple(
            spec._replace(dtype=value) if kind.value == value.name and spec.dtype.category < Category.FLOAT else spec
            for spec, kind in zip(specs, graph.result_types, strict=True)
        )

    def _dims(self, returned: object, shape: tuple[int, ...]) -> tuple[int, ...]:
        dims = tuple(returned) if isinstance(returned, (tuple, list, range)) else None
        if dims is None or not all(isinstance(dim, int) and 0 <= dim < len(shape) for dim in dims):
            raise self._error(f"returned {returned!r}", "Return the dimensions of a row, as a tuple of ints from 0")
        if any(second != first + 1 for first, second in itertools.pairwise(dims)):
            raise self._error(f"returned {dims}", "The dimensions of a row have to be adjacent, in ascending order")
        return dims

    def _check_shapes(self, specs: Sequence[OutputSpec], shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
        row = tuple(1 if dim in dims else size for dim, size in enumerate(shape))
        for index, spec in enumerate(specs):
            if spec.shape not in (shape, row):
                problem = f"set output {index} to shape {spec.shape}"
                raise self._error(problem, f"Rows of {shape} along {dims} have results of that shape, or of {row}")

    def _check_results(
        self,
        specs: Sequence[OutputSpec],
        tensors: Mapping[str, tuple[int, ...]],
        shape: tuple[int, ...],
        dims: tuple[int, ...],
    ) -> None:
        """Raise if a result differs within a row but its output has only one element for the row.

        Args:
            specs: of the outputs.
            tensors: shapes of tensors by parameter.
            shape: of all elements.
            dims: of a row.
        """
        from opdsl.scalar.growing_graph import varying

        single = [index for index, spec in enumerate(specs) if not differs_in_row(spec.shape, shape, dims)]
        if not single or not differs_in_row(shape, shape, dims):
            return
        function = self.scalar_function()
        varies = varying(function, [name for name, own in tensors.items() if differs_in_row(own, shape, dims)])
        for index in single:
            if function.results[index] in varies:
                problem = f"set output {index} to shape {specs[index].shape}"
                raise self._error(
                    f"{problem}, but its values from {function.name} differ within rows of {shape} along {dims}",
                    f"Use row_sum or another fold, read operands of size 1 along the row, or set the shape {shape}",
                )

    def _error(self, problem: str, remedy: str) -> KernelError:
        return KernelError(f"{self.name}: the shape function {self.meta.__name__} {problem}. {remedy}.")

    def compile(self, state: Rowwise, inputs: Sequence[TensorMeta | DType], layout: Layout, device: str) -> Compiled:
        """See ``RowwiseDefinition.compile_call``."""
        return compiler_for(device).compile(*rows(self.graph(state, inputs), layout))

    def graph(self, state: Rowwise, inputs: Sequence[TensorMeta | DType]) -> TypedGraph:
        """Return the typed row function of a call.

        Raises:
            UnsupportedDTypeError: an operation does not exist for these dtypes.
        """
        names = tuple(self.parameters[index].name for index in state.places)
        function = in_order(self.scalar_function(names), names)
        kinds = [precision_of(input.dtype if isinstance(input, TensorMeta) else input) for input in inputs]
        results = [precision_of(detail.dtype).name for detail in state.details]
        types = {name: kind.name for name, kind in zip(names, kinds, strict=True)}
        try:
            require_exact(function, types, results)
            return function.specialise(types, results=results)
        except ScalarFunctionError as error:
            raise UnsupportedDTypeError(f"not implemented for '{kinds[0].scalar_type}': {error}") from error


_PROMOTIONS = ("default", "int_to_float", "floating")


@lru_cache(maxsize=512)
def _read(
    function: FunctionType | ScalarFunction, parameters: tuple[str, ...] | None, known: tuple[tuple[str, object], ...]
) -> ScalarFunction:
    """Read a row function as a scalar function of the given parameters only; all other parameters have their
    defaults.
    """
    from opdsl.scalar import ScalarFunction, read

    if isinstance(function, ScalarFunction):
        return function
    scalar_function: ScalarFunction = cast(Any, read)(function, parameters=parameters, constants=dict(known), rows=True)
    return scalar_function


def differs_in_row(own: Sequence[int], shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Return whether elements of a tensor may differ within a row, as its size along the row is not 1.

    Args:
        own: its shape.
        shape: of all elements.
        dims: of a row.
    """
    missing = len(shape) - len(own)
    return any(dim >= missing and own[dim - missing] != 1 for dim in dims)
