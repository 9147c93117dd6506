"""Reductions: an operator that folds dimensions, from the scalar functions of a monoid.

``lift`` makes accumulators of an element, ``combine`` makes those of all elements of those of some, ``finish`` makes
results of them. Mean: lift ``x``, combine ``a + b``, finish ``a / count``. Argmax: lift ``(x, index)``, combine the
pair of the larger value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from opdsl.errors import ArgumentError, DTypeError, KernelSignatureError, ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import Folding
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.dimensions import reduced_dimensions, reduced_shape, require_elements
from opdsl.kernels.dtypes import PRECISION, c_name, precision_of
from opdsl.kernels.numbers import BOUNDS, convert
from opdsl.kernels.outputs import Promise, array_of, resize
from opdsl.kernels.parameters import NUMBERS, Parameter
from opdsl.kernels.plans import Plan, PlanSource, make_plan
from opdsl.kernels.reduction_dtypes import ACCUMULATOR_RULES, DTYPE_RULES, RESULT_RULES, same_dtype
from opdsl.kernels.reduction_iterator import reduction_call
from opdsl.kernels.structured import (
    Arguments,
    Bound,
    Definition,
    PlannedCall,
    Prepared,
    StructuredKernel,
    overlap_guards,
    views_among,
)
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import Geometry, contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema, parse_schema

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph

Init = bool | int | float | tuple[bool | int | float, ...]


class Fold(NamedTuple):
    """The scalar functions of a reduction and what they are typed with.

    init, lift, combine, finish: see ``Folding``; None stands for the identity.
    accumulators, results: keys of the tables above.
    """

    init: tuple[bool | int | float, ...]
    lift: ScalarFunction | None
    combine: ScalarFunction
    finish: ScalarFunction | None
    accumulators: tuple[str, ...]
    results: tuple[str, ...]

    @property
    def uses_index(self) -> bool:
        """Whether elements are folded with their positions, so that their order matters."""
        return self.lift is not None and len(self.lift.parameters) == 2


class Reducing(NamedTuple):
    """What a call becomes: what is folded along which dimensions.

    dims: the dimensions, ascending.
    value: the dtype that is folded.
    numbers: the numbers that ``finish`` gets, with their defaults filled in.
    """

    dims: tuple[int, ...]
    value: DType
    numbers: tuple[Any, ...]


class ReductionDefinition(Definition):
    """A reduction: the schema's first argument is folded. ``dim``, ``keepdim``, ``dtype`` mean what they do in PyTorch.

    Other number arguments are handed to ``finish``, after the accumulators and the number of elements.

    Args:
        schema: of the operator.
        name: its name, for messages.
    """

    __slots__ = ("empty_is_all", "fold", "label", "needs_elements", "numbers", "rule")

    fold: Fold

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        super().__init__(schema, name)
        self.label = schema.name.functional_base
        special = ("dim", "keepdim", "dtype")
        self.numbers: tuple[Parameter, ...] = tuple(each for each in self.parameters[1:] if each.name not in special)
        self.rule = DTYPE_RULES["default"]
        self.needs_elements = False
        self.empty_is_all = True

    def define(
        self,
        combine: FunctionType | ScalarFunction,
        *,
        init: Init,
        lift: FunctionType | ScalarFunction | None = None,
        finish: FunctionType | ScalarFunction | None = None,
        promote: str = "default",
        accumulators: Iterable[str] = ("value",),
        results: Iterable[str] | None = None,
        needs_elements: bool = False,
        empty_is_all: bool = True,
    ) -> None:
        """Take the scalar functions.

        Args:
            combine: the accumulators of some elements, then those of later ones -> those of all; associative.
            init: the accumulators of no elements; infinities stand for the bounds of integers.
            lift: an element, or an element and its index -> accumulators; None where they are the element itself.
            finish: accumulators, number of elements, number arguments -> results; None where results are accumulators.
            promote: a key of ``DTYPE_RULES``.
            accumulators: for each, ``value`` (the folded dtype, float32 for 16-bit ones), ``index`` or ``truth``.
            results: for each, ``value``, ``index`` or ``truth``; by default as the accumulators.
            needs_elements: whether folding no elements is an error.
            empty_is_all: whether ``dim=[]`` means all dimensions.

        Raises:
            ScalarFunctionError: a function holds what a scalar graph cannot.
            KernelSignatureError: a function does not fit, or an option is unknown.
        """
        kinds = tuple(accumulators)
        fold = Fold(
            init if isinstance(init, tuple) else (init,),
            None if lift is None else _read(lift),
            _read(combine),
            None if finish is None else _read(finish),
            kinds,
            kinds if results is None else tuple(results),
        )
        self._check(fold, promote)
        self.fold = fold
        self.rule = DTYPE_RULES[promote]
        self.needs_elements = needs_elements
        self.empty_is_all = empty_is_all

    def _check(self, fold: Fold, promote: str) -> None:
        count = len(fold.accumulators)
        lift, finish = fold.lift, fold.finish
        demands = (
            (promote in DTYPE_RULES, f"promote={promote!r} is unknown; use one of {', '.join(DTYPE_RULES)}"),
            (set(fold.accumulators) <= set(ACCUMULATOR_RULES), f"accumulators are {', '.join(ACCUMULATOR_RULES)}"),
            (set(fold.results) <= set(RESULT_RULES), f"results are {', '.join(RESULT_RULES)}"),
            (len(fold.init) == count, f"init has {len(fold.init)} values for {count} accumulators"),
            (len(fold.results) == self.results, f"there are {len(fold.results)} results for {self.results} returns"),
            (_fits(fold.combine, 2 * count, count), f"combine takes {2 * count} accumulators and returns {count}"),
            (count == 1 or lift is not None, "several accumulators need a lift"),
            (lift is None or len(lift.parameters) in (1, 2), "lift takes an element, or an element and its index"),
            (lift is None or len(lift.results) == count, f"lift returns {count} accumulators"),
            (
                finish is None or _fits(finish, count + 1 + len(self.numbers), self.results),
                f"finish takes {count} accumulators, the number of elements and {len(self.numbers)} arguments, and "
                f"returns {self.results} results",
            ),
            (finish is not None or count == self.results, "accumulators are no results: a finish is needed"),
            (all(each.role in NUMBERS for each in self.numbers), "arguments beside dim, keepdim and dtype are numbers"),
        )
        for holds, demand in demands:
            if not holds:
                raise KernelSignatureError(f"{self.name}: the reduction does not fit {self.schema}: {demand}.")

    # ----------------------------------------------------------------------------------------------------- a call

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "reduction"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return tuple(
            each.source.function for each in (self.fold.lift, self.fold.combine, self.fold.finish) if each is not None
        )

    def prepare(self, arguments: Arguments, given: Sequence[Tensor | None]) -> Prepared:
        """See ``Definition.prepare``."""
        source: Tensor = arguments[0]
        named = {each.name: value for each, value in zip(self.parameters, arguments, strict=True)}
        out = given[0].dtype if given and given[0] is not None else None
        value = self.rule(self.label, source.dtype, named.get("dtype"), out)
        dim = named.get("dim")
        if self.needs_elements:
            require_elements(self.label, dim, source.shape)
        dims = reduced_dimensions(dim, source.shape, none_is_all=self.empty_is_all)
        shape = reduced_shape(source.shape, dims, keepdim=bool(named.get("keepdim", False)))
        promises = tuple(
            Promise(RESULT_RULES[each](value, source.dtype), source.device, shape, contiguous_strides(shape))
            for each in self.fold.results
        )
        return Prepared(promises, Reducing(dims, value, self._number_values(arguments)))

    def _number_values(self, arguments: Arguments) -> tuple[Any, ...]:
        """The numbers for ``finish``; for None what its parameter has as default."""
        values = []
        finish = self.fold.finish
        for place, parameter in enumerate(self.numbers):
            value = arguments[self.parameters.index(parameter)]
            if value is None and finish is not None:
                value = finish.defaults.get(finish.parameters[len(self.fold.accumulators) + 1 + place])
            if value is None:
                raise ArgumentError(f"{parameter.name} is None, and finish has no default for it")
            values.append(value)
        return tuple(values)

    def check_given(self, prepared: Prepared, promise: Promise, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``."""
        if output.dtype is promise.dtype:
            return
        if self.rule is same_dtype and promise.dtype is prepared.state.value:
            raise DTypeError(
                f"Expected the dtype for input and out to match, but got {promise.dtype.scalar_type} for input's dtype "
                f"and {output.dtype.scalar_type} for out's dtype."
            )
        raise DTypeError(
            f"Expected out tensor to have dtype {c_name(promise.dtype)}, but got {c_name(output.dtype)} instead"
        )

    def needs_proxy(self, prepared: Prepared, promise: Promise, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``."""
        return aliased

    def bind(
        self, prepared: Prepared, arguments: Arguments, outputs: Sequence[Geometry], key: str, *, allocate: bool
    ) -> Bound:
        """See ``Definition.bind``."""
        state: Reducing = prepared.state
        source: Tensor = arguments[0]
        numbers = [convert(value, precision_of(state.value)) for value in state.numbers]
        if _is_cast_first(source.dtype, state.value):
            from opdsl.kernels import primitives

            source = primitives.cast(source, state.value)
        compute = self._compile(state, source.geometry, outputs, allocate=allocate)
        return Bound(compute, (array_of(source), *numbers))

    def _compile(self, state: Reducing, source: Geometry, outputs: Sequence[Geometry], *, allocate: bool) -> Compiled:
        call = reduction_call(
            source,
            state.dims,
            outputs,
            allocate=allocate,
            in_order=self.fold.uses_index,
            numbers=(precision_of(state.value),) * len(state.numbers),
        )
        return compiler_for(source.device.type).reduction(self.folding(state.value, source.dtype), call)

    def folding(self, value: DType, source: DType) -> Folding:
        """The typed functions for a folded dtype.

        Raises:
            UnsupportedDTypeError: an operation does not exist for it.
        """
        fold = self.fold
        accumulators = [ACCUMULATOR_RULES[each](value).name for each in fold.accumulators]
        element = precision_of(value).name
        results = [precision_of(RESULT_RULES[each](value, source)).name for each in fold.results]
        number = [element] * len(self.numbers)
        init = tuple(_initial(each, kind) for each, kind in zip(fold.init, accumulators, strict=True))
        try:
            return Folding(
                init,
                _typed(fold.lift, [element, "int64"] if fold.uses_index else [element], accumulators),
                _typed(fold.combine, accumulators * 2, accumulators),
                _typed(fold.finish, [*accumulators, "int64", *number], results),
            )
        except ScalarFunctionError as error:
            raise UnsupportedDTypeError(f"not implemented for '{value.scalar_type}': {error}") from error

    # ------------------------------------------------------------------------------------------------------ a plan

    def plan(
        self, prepared: Prepared, arguments: Arguments, outputs: Sequence[Tensor], call: PlannedCall
    ) -> Plan | None:
        """See ``Definition.plan``."""
        state: Reducing = prepared.state
        source: Tensor = arguments[0]
        if _is_cast_first(source.dtype, state.value):
            return None
        geometries = [each.geometry for each in outputs or prepared.promises]
        runs = source.device.type != "meta"
        constants = [convert(value, precision_of(state.value)) for value in state.numbers]
        dynamic = [
            f"{parameter.name} != plan_constants[{place}]"
            for place, parameter in enumerate(self.numbers)
            if parameter.is_dynamic and arguments[self.parameters.index(parameter)] is not None
        ]
        values = (
            f"{self.parameters[0].name}.array",
            *(f"plan_constants[{place}]" for place in range(len(constants))),
            *(f"{name}.array" for name in call.targets),
        )
        plan_source = PlanSource(
            call.name,
            call.parameters,
            values if runs else None,
            (*overlap_guards(self.parameters, arguments, call, outputs, elementwise=False), *dynamic),
            call.targets,
            views_among(call.targets, outputs),
            self.results,
        )
        compute = self._compile(state, source.geometry, geometries, allocate=not outputs) if runs else None
        return make_plan(plan_source, compute, geometries, call.slow, constants)


def _is_cast_first(source: DType, value: DType) -> bool:
    """Whether elements are rounded to 16 bits before they are folded, which loading them does not do."""
    return value in PRECISION and source is not value


def _read(function: FunctionType | ScalarFunction) -> ScalarFunction:
    from opdsl.scalar import ScalarFunction, read

    return function if isinstance(function, ScalarFunction) else read(function)


def _fits(function: ScalarFunction, parameters: int, results: int) -> bool:
    return len(function.parameters) == parameters and len(function.results) == results


def _initial(value: bool | int | float, kind: str) -> bool | int | float:
    """An initial accumulator of a type: infinities are the bounds of integers."""
    if kind == "bool":
        return value > 0
    if kind not in BOUNDS:
        return value
    if isinstance(value, float) and math.isinf(value):
        return BOUNDS[kind][value > 0]
    return int(value)


def _typed(function: ScalarFunction | None, types: Sequence[str], results: Sequence[str]) -> TypedGraph:
    """A function typed by place; without one, the function that returns its first parameters."""
    if function is not None:
        return function.specialise(dict(zip(function.parameters, types, strict=False)), results=results)
    from opdsl.scalar.graph import Node, TypedGraph
    from opdsl.scalar.types import ScalarType

    parameters = [Node("parameter", (), ScalarType(kind), f"a{place}") for place, kind in enumerate(types)]
    casts = [Node("cast", (place,), ScalarType(kind)) for place, kind in enumerate(results) if kind != types[place]]
    places = iter(range(len(parameters), len(parameters) + len(casts)))
    chosen = tuple(place if kind == types[place] else next(places) for place, kind in enumerate(results))
    return TypedGraph("identity", (*parameters, *casts), chosen)


# --------------------------------------------------------------------------------------------------------------- sum_to


def sum_to(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The sum over what broadcasting a tensor of ``shape`` to the tensor's shape has added (``at::sum_to``).

    Args:
        tensor: of a shape that ``shape`` broadcasts to.
        shape: of the result.

    Returns:
        A tensor of the same dtype; ``tensor`` itself where nothing has been added.
    """
    if tensor.shape == shape:
        return tensor
    added = tensor.geometry.ndim - len(shape)
    dims = [*range(added), *(added + dim for dim, size in enumerate(shape) if size != tensor.shape[added + dim])]
    result = _sum()(tensor, dims, True)
    assert isinstance(result, Tensor), "a sum is one tensor"
    resize(result, shape)
    return result


class _SumTo(NamedTuple):
    """The operator that ``sum_to`` would be."""

    schema: FunctionSchema
    name: str


@cache
def _sum() -> StructuredKernel:
    schema = parse_schema("sum_to(Tensor self, int[1]? dim, bool keepdim) -> Tensor")
    definition = ReductionDefinition(schema, "sum_to")
    definition.define(cast(FunctionType, _plus), init=0, empty_is_all=False)
    return definition.kernel("functional", _SumTo(schema, "sum_to"), "CPU")


def _plus(a: Any, b: Any) -> Any:
    return a + b
