"""Definitions of pointwise operators: one scalar function for every backend, dtype, memory layout and variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.dispatch.state import current
from opdsl.errors import (
    ArgumentError,
    KernelSignatureError,
    ScalarFunctionError,
    UnsupportedDTypeError,
)
from opdsl.kernels.compiler import Compiled, compile_elements
from opdsl.kernels.definitions.divisors import check_divisor
from opdsl.kernels.definitions.late import LateList
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, Definition, PreparedCall
from opdsl.kernels.iteration.dtypes import (
    PRECISION,
    PROMOTIONS,
    OutputCast,
    check_output_dtype,
    dtypes_named,
    precision_of,
    require_computed,
)
from opdsl.kernels.iteration.numbers import convert, is_left_to_kernel, round_to, wrap
from opdsl.kernels.iteration.tensor_iterator import (
    Configuration,
    Iteration,
    Number,
    NumberRole,
    Operand,
    iterate,
    pointwise_layout,
)
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import Category, DType, bool_
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import made_once
from opdsl.runtime.promotion import number_kind
from opdsl.runtime.symbol import pinned
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import optional_names, scalar_fault, text_names
from opdsl.schema.parameters import Role

if TYPE_CHECKING:
    from collections.abc import Callable

    from opdsl.kernels.calls import Layout
    from opdsl.scalar import ScalarFunction
    from opdsl.scalar.graph import TypedGraph

_NUMBER_ROLES = {
    Role.TENSOR: NumberRole.WRAPPED,
    Role.SCALAR: NumberRole.SCALAR,
    Role.FLOAT: NumberRole.FLOAT,
    Role.INT: NumberRole.INT,
    Role.BOOL: NumberRole.BOOL,
}


class Formula(NamedTuple):
    """Scalar function of a pointwise operator, with the conditions under which it applies.

    function: the scalar function.
    configuration: its dtype rules.
    when: values of other arguments for which it applies.
    places: the positions of its parameters among the operator's.
    wrapped: of these, the numbers that take part in promotion as tensors do, and wrap as elements do.
    promoting: of these, the numbers that take part in promotion and have to fit the dtype.
    dtypes: the computation dtypes for which it applies; None for all in which operators compute.
    divisors: the positions of its parameters that must not be 0 where they are integers.
    """

    function: ScalarFunction
    configuration: Configuration
    when: Mapping[str, object]
    places: tuple[int, ...]
    wrapped: frozenset[int]
    promoting: frozenset[int]
    dtypes: frozenset[DType] | None
    divisors: tuple[int, ...]

    def takes(self, common: DType) -> bool:
        """Return whether it applies to operands whose computation dtype is ``common``."""
        return not common.is_stored_only if self.dtypes is None else common in self.dtypes


class Elementwise(NamedTuple):
    """Call of a pointwise operator, with the formula that applies and its loop.

    formula: the one that applies.
    iteration: shape, dtypes and strides of the loop.
    default: the default dtype.
    dtypes: of the results.
    numbers: further arguments of the function, after those at the positions of the formula.
    """

    formula: Formula
    iteration: Iteration
    default: DType
    dtypes: tuple[DType, ...]
    numbers: tuple[Any, ...] = ()


class PointwiseDefinition(Definition):
    """Definition of a pointwise operator: scalar functions, and an optional shape function that checks arguments.

    Args:
        schema: of the operator.
        name: its name, for messages.

    check: called as ``check(ctx, *arguments)`` before anything else; None for no checks.
    formulas: in the order in which they are tried.
    truths: positions of results that are bool, whatever the dtype of the loop is.
    check_reads_numbers: whether the check reads values of Scalar and float arguments, and not only their types; a plan
        then holds for the same values only.
    """

    __slots__ = ("_formulas", "check", "check_reads_numbers", "truths")

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        super().__init__(schema, name)
        self.check: Callable[..., object] | None = None
        self.check_reads_numbers = True
        self.truths: frozenset[int] = frozenset()
        self._formulas = LateList[Formula]()

    @property
    def formulas(self) -> list[Formula]:
        """Return the scalar functions, in the order in which they are tried."""
        return self._formulas.values

    @formulas.setter
    def formulas(self, formulas: list[Formula]) -> None:
        self._formulas.values = formulas

    def add_later(self, function: FunctionType | ScalarFunction, **options: Any) -> None:
        """Add a scalar function that is read on first use, which raises the errors of ``add`` then."""

        def read() -> list[Formula]:
            alone = PointwiseDefinition(self.schema, self.name)
            alone.add(function, **options)
            return alone.formulas

        self._formulas.add_later(read)

    def add(
        self,
        function: FunctionType | ScalarFunction,
        *,
        promote: str = "default",
        keep: Iterable[str] = (),
        wrapped: Iterable[str] = (),
        promoting: Iterable[str] = (),
        rounded: Iterable[str] = (),
        nonzero: Iterable[str] = (),
        dtypes: Iterable[str] = (),
        when: Mapping[str, object] | None = None,
        cast: str | None = None,
    ) -> None:
        """Add a scalar function.

        Args:
            function: takes the operator's arguments by position; those in ``when`` it may take by name, or leave out.
                It may compare strings with constants, and optional arguments with None: there is a formula for each
                case.
            promote: a key of ``opdsl.kernels.iteration.dtypes.PROMOTIONS``.
            keep: names of arguments that take no part in promotion and keep their dtype.
            wrapped: names of number arguments that take part in promotion as Python numbers combined with tensors do,
                and wrap as elements do.
            promoting: names of number arguments that take part in promotion and have to fit the dtype.
            rounded: names of arguments that, where they are numbers, are rounded to 16 bits in a 16-bit loop; PyTorch
                takes others in full precision.
            nonzero: names of arguments that are divisors: an integer 0 among them raises, as in PyTorch.
            dtypes: the kinds of dtypes (``bool``, ``integer``, ``floating``, ``complex``) and the dtypes that the
                function supports, after promotion; none for all.
            when: values of other arguments for which the function applies.
            cast: which dtypes given outputs may have: ``same`` (the result's), ``safe`` (those that it can
                be cast to) or ``any``; None for PyTorch's rule.

        Raises:
            ScalarFunctionError: the function contains an expression that no scalar graph can represent.
            KernelSignatureError: it does not fit the schema, or an option is unknown.
        """
        named = {*(when or {}), *keep, *wrapped, *promoting, *rounded, *nonzero}
        options = (promote, keep, wrapped, promoting, rounded, nonzero, dtypes, cast)
        cases = self._cases(function, dict(when or {}), promote, named)
        self._formulas.add([self._formula(scalar, condition, *options) for condition, scalar in cases])

    def _cases(
        self, function: FunctionType | ScalarFunction, condition: dict[str, object], promote: str, named: set[str]
    ) -> list[tuple[dict[str, object], ScalarFunction]]:
        """Return the scalar functions of a function's cases, each with the argument values that select it."""
        from opdsl.scalar import ScalarFunction
        from opdsl.scalar.calls import parameter_names
        from opdsl.scalar.cases import read_cases
        from opdsl.scalar.source import function_source

        if isinstance(function, ScalarFunction):
            self._check_function(function.name, function.parameters, condition, promote, named, is_derived=True)
            self._check_results(function)
            return [(condition, function)]
        names = parameter_names(function_source(function))
        known = {name: value for name, value in condition.items() if name in names}
        own = [name for name in names if name not in known]
        self._check_function(function.__name__, own, condition, promote, named, is_derived=False)
        remaining = [parameter.name for parameter in self.parameters if parameter.name not in condition]
        renamed = dict(zip(own, remaining, strict=True))
        texts = [name for name in own if renamed[name] in text_names(self.schema)]
        optional = [name for name in own if renamed[name] in optional_names(self.schema) and name not in texts]
        cases = []
        for values, scalar in read_cases(function, texts, optional, known):
            self._check_results(scalar)
            cases.append(({**condition, **{renamed[name]: value for name, value in values.items()}}, scalar))
        return cases

    def _formula(
        self,
        scalar: ScalarFunction,
        condition: Mapping[str, object],
        promote: str,
        keep: Iterable[str],
        wrapped: Iterable[str],
        promoting: Iterable[str],
        rounded: Iterable[str],
        nonzero: Iterable[str],
        dtypes: Iterable[str],
        cast: str | None,
    ) -> Formula:
        """Return the formula of one scalar function."""
        left_out = {*condition, *text_names(self.schema)}
        parameters = [
            (index, parameter) for index, parameter in enumerate(self.parameters) if parameter.name not in left_out
        ]

        def places(names: Iterable[str]) -> tuple[int, ...]:
            chosen = set(names)
            return tuple(index for index, (_, parameter) in enumerate(parameters) if parameter.name in chosen)

        def operands(names: Iterable[str]) -> frozenset[int]:
            return frozenset(parameters[index][0] for index in places(names))

        exempt, narrow = frozenset(places(keep)), frozenset(places(rounded))
        return Formula(
            scalar,
            Configuration(PROMOTIONS[promote], exempt, narrow, self.results, self._cast_of(cast)),
            condition,
            tuple(index for index, _ in parameters),
            operands(wrapped),
            operands(promoting),
            self._dtypes(dtypes),
            places(nonzero),
        )

    def _cast_of(self, name: str | None) -> OutputCast | None:
        known = {output_cast.name.lower(): output_cast for output_cast in OutputCast}
        if name is None or name in known:
            return None if name is None else known[name]
        raise KernelSignatureError(f"{self.name}: cast={name!r} is none of {', '.join(known)}.")

    def _dtypes(self, names: Iterable[str]) -> frozenset[DType] | None:
        try:
            return dtypes_named(names) or None
        except ValueError as error:
            raise KernelSignatureError(f"{self.name}: dtypes={names!r}: {error}.") from error

    def _check_results(self, scalar: ScalarFunction) -> None:
        if len(scalar.results) != self.results:
            count = len(scalar.results)
            raise self._unfit(
                scalar.name, f"it returns {count} values for {self.results} results", "Return one for each"
            )

    def _unfit(self, name: str, problem: str, remedy: str) -> KernelSignatureError:
        return KernelSignatureError(f"{self.name}: the scalar function {name} does not fit: {problem}. {remedy}.")

    def _check_function(
        self,
        name: str,
        parameters: Sequence[str],
        condition: Mapping[str, object],
        promote: str,
        named: set[str],
        *,
        is_derived: bool,
    ) -> None:
        if promote not in PROMOTIONS:
            raise self._unfit(name, f"promote={promote!r} is unknown", f"Use one of {', '.join(PROMOTIONS)}")
        unknown = named - {parameter.name for parameter in self.parameters}
        if unknown:
            problem = f"{sorted(unknown)[0]!r} is no argument of {self.schema}"
            raise self._unfit(name, problem, "Name arguments of the schema")
        fault = scalar_fault(self.schema, parameters, condition, is_derived=is_derived)
        if fault is not None:
            raise self._unfit(name, *fault)

    # ---------------------------------------------------------------------------------------------------- a call

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "pointwise"

    @property
    def may_resize_inputs(self) -> bool:
        """See ``Definition.may_resize_inputs``."""
        return False

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``; empty for functions of integers, which have no gradients."""
        formulas = self._formulas.latest
        dtypes = formulas[0].dtypes
        is_discrete = bool(dtypes) and all(dtype.category <= Category.INT for dtype in dtypes or ())
        return () if is_discrete else tuple(formula.function for formula in formulas)

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return tuple(formula.function.source.function for formula in self.formulas)

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        context = self.ask_check(arguments, tensors)
        default = current.get().default_dtype
        formula, iteration = self._chosen(arguments, default)
        spec = OutputSpec(iteration.result, iteration.device, iteration.shape, iteration.strides)
        specs, dtypes = (spec,) * self.results, (iteration.result,) * self.results
        if self.truths:
            dtypes = tuple([bool_ if index in self.truths else dtype for index, dtype in enumerate(dtypes)])
            specs = tuple([spec._replace(dtype=dtype) for dtype in dtypes])
        if context is not None:
            context.require_same(specs)
        return PreparedCall(specs, Elementwise(formula, iteration, default, dtypes))

    def shaping(self, arguments: Arguments) -> frozenset[int] | None:
        """Return the positions of the tensors that the results' shape comes from; None for all tensors."""
        return None

    def ask_check(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> MetaContext | None:
        """Run the declaration's shape function, if there is one, and return its context; None without one."""
        if self.check is None:
            return None
        tensors = [input for input in arguments if isinstance(input, Tensor)]
        context = MetaContext(self.name, self.results, outs, tensors[0].device if tensors else Device("cpu"))
        known = pinned(arguments) if self.check_reads_numbers and not is_traceable(self.check) else arguments
        self.check(context, *known)
        return context

    def _chosen(self, arguments: Arguments, default: DType) -> tuple[Formula, Iteration]:
        """Return the formula that applies to the arguments and their dtypes, and its loop."""
        for formula in self._meant(arguments):
            operands = [self._operand(formula, index, arguments[index]) for index in formula.places]
            iteration = iterate(operands, formula.configuration, default)
            if formula.takes(iteration.common):
                return formula, iteration
        require_computed(iteration.common)
        raise UnsupportedDTypeError(f"not implemented for '{iteration.common.scalar_type}'")

    def _meant(self, arguments: Arguments) -> list[Formula]:
        """Return the formulas whose conditions (``when``) the argument values of a call meet; the caller takes the
        first one that supports the dtypes.
        """
        known = self.formulas
        if len(known) == 1 and not known[0].when:
            return known
        named = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        formulas = [
            formula
            for formula in known
            if not formula.when or all(_same(named[name], value) for name, value in formula.when.items())
        ]
        complete = [
            formula for formula in formulas if True not in [arguments[index] is None for index in formula.places]
        ]
        if formulas:
            return complete or formulas
        conditions = " or ".join(_condition(formula.when) for formula in self.formulas) or "nothing"
        chosen = {name: named[name] for formula in self.formulas for name in formula.when}
        raise ArgumentError(f"there is no scalar function for {_condition(chosen)} (have {conditions})")

    def _operand(self, formula: Formula, place: int, value: Any) -> Operand:
        if isinstance(value, Tensor):
            return value.geometry
        parameter = self.parameters[place]
        if value is None:
            raise ArgumentError(
                f"{parameter.name} is None, which the scalar function {formula.function.name} cannot take"
            )
        promotes = place in formula.wrapped or place in formula.promoting
        role = NumberRole.WRAPPED if promotes else _NUMBER_ROLES[parameter.role]
        return Number(_number_type(value), role)

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``; the error texts are TensorIterator's."""
        iteration = prepared.state.iteration
        check_output_dtype(spec.dtype, output.dtype, iteration.cast, iteration.common)

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``: true for a 16-bit result with an output of another dtype, as it is rounded
        first.
        """
        return spec.dtype in PRECISION and output.dtype is not spec.dtype

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        state: Elementwise = prepared.state
        values = [self._cast(state, index, arguments[at]) for index, at in enumerate(state.formula.places)]
        handed = tuple([self._value(state, index, value) for index, value in enumerate(values)])
        for index in self._checked_divisors(state):
            check_divisor(handed[index] if not isinstance(values[index], Tensor) else values[index])
        return CompiledCall(self._compile(state, values, outputs, allocate=allocate), handed)

    def _checked_divisors(self, state: Elementwise) -> tuple[int, ...]:
        """Return the positions of integer divisors, which must not be 0; () where no element is computed."""
        computes = state.iteration.common.category is Category.INT and 0 not in state.iteration.shape
        return state.formula.divisors if computes else ()

    def _cast(self, state: Elementwise, place: int, value: Any) -> Any:
        """Cast an operand to the dtype that it needs before the loop."""
        dtype = state.iteration.casts[place]
        if dtype is None:
            return value
        if not isinstance(value, Tensor):
            return round_to(float(value if self._wraps(state, place) else convert(value, dtype)), dtype)
        from opdsl.kernels.primitives.copying import cast

        return cast(value, dtype)

    def _value(self, state: Elementwise, place: int, value: Any) -> Any:
        """Return the value that the compiled kernel gets for an operand."""
        if isinstance(value, Tensor):
            return array_of(value) if value.device is state.iteration.device else value.item()
        dtype, at = state.iteration.parameters[place], state.formula.places[place]
        if is_left_to_kernel(value, dtype, may_overflow=at in state.formula.wrapped):
            return value
        return (wrap if self._wraps(state, place) else convert)(value, dtype)

    def _wraps(self, state: Elementwise, place: int) -> bool:
        """Return whether a number was passed for a tensor, so that it is converted without an overflow check."""
        at = state.formula.places[place]
        return self.parameters[at].role is Role.TENSOR or at in state.formula.wrapped

    def constant(self, state: Elementwise, place: int, value: Any) -> Any:
        """Return a number argument, converted to the dtype in which the scalar function computes."""
        return self._value(state, place, self._cast(state, place, value))

    def refuses_numbers(self, state: Elementwise) -> bool:
        """Return whether a call raises for some element values: an integer divisor of 0."""
        return bool(state.formula.divisors)

    def graph(self, state: Elementwise) -> TypedGraph:
        """Return the typed scalar graph of a call."""
        function, iteration = state.formula.function, state.iteration
        types = {
            parameter: dtype.name for parameter, dtype in zip(function.parameters, iteration.parameters, strict=True)
        }
        results = [precision_of(dtype).name for dtype in state.dtypes]
        try:
            return function.specialise(
                types,
                results=results,
                default_float=precision_of(state.default).name,
                storage=iteration.common.name if iteration.common in PRECISION else None,
            )
        except ScalarFunctionError as error:
            raise UnsupportedDTypeError(f"not implemented for '{iteration.common.scalar_type}': {error}") from error

    def _compile(
        self, state: Elementwise, values: Sequence[Any], outputs: Sequence[TensorMeta], *, allocate: bool
    ) -> Compiled:
        iteration = state.iteration
        inputs = [
            value.geometry
            if isinstance(value, Tensor) and value.device is iteration.device
            else iteration.parameters[index]
            for index, value in enumerate(values)
        ]
        layout = pointwise_layout(iteration.shape, inputs, outputs, allocate=allocate)
        return _compiled(iteration.device.type, self.graph(state), layout)


@made_once(1024)
def _compiled(device_type: str, graph: TypedGraph, layout: Layout) -> Compiled:
    """Return the compiled kernel, cached, so that a full call and the plan made from it share one."""
    return compile_elements(device_type, graph, layout)


def _same(value: object, wanted: object) -> bool:
    # ``__class__`` of a symbol is that of the number that it represents, unlike its type.
    return value.__class__ is wanted.__class__ and value == wanted


def _condition(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items()) or "everything"


def _number_type(value: Any) -> type:
    kind = number_kind(value)
    if kind is None:
        raise ArgumentError(f"a number is needed (got {type(value).__name__})")
    return kind
