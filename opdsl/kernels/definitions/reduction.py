"""Reductions: operators that reduce dimensions, from the scalar functions of a monoid.

``lift`` makes accumulators of an element, ``combine`` combines the accumulators of two sets of elements, ``finish``
makes results of the accumulators of all. Mean: lift ``x``, combine ``a + b``, finish ``a / count``. Argmax: lift
``(x, index)``, combine to the pair of the larger value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.errors import ArgumentError, DTypeError, KernelSignatureError
from opdsl.kernels.calls import Folding
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.definitions.cases import cases_of
from opdsl.kernels.definitions.late import LateList
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.monoid import not_neutral, refuse_rounding
from opdsl.kernels.definitions.reduction_dtypes import DTYPE_RULES, RESULT_RULES
from opdsl.kernels.definitions.reduction_functions import Fold, make_fold
from opdsl.kernels.definitions.structured import (
    Arguments,
    CompiledCall,
    Definition,
    PreparedCall,
)
from opdsl.kernels.functions import reduction
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dimensions import reduced_dimensions, reduced_shape, require_elements
from opdsl.kernels.iteration.dtypes import PRECISION, c_name, precision_of, require_computed
from opdsl.kernels.iteration.numbers import Number, convert
from opdsl.kernels.iteration.reduction_iterator import reduction_layout
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import Category, DType, float64, int64
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.promotion import result_type
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import pinned
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.parameters import Parameter, Role

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction


# Kinds of accumulators that do not depend on the folded dtype.
_OF_NO_VALUE = frozenset(("index", "truth"))


class Reducing(NamedTuple):
    """Call of a reduction: its functions, dimensions and dtypes.

    fold: the functions.
    dims: the dimensions that are reduced, ascending.
    value: the dtype of the elements that are reduced.
    results: the dtypes of the results.
    numbers: the numbers that ``finish`` gets, with their defaults filled in.
    places: positions of the arguments that are reduced.
    shape: the shape that these broadcast to.
    """

    fold: Fold
    dims: tuple[int, ...]
    value: DType
    results: tuple[DType, ...]
    numbers: tuple[Number, ...]
    places: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def number_dtypes(self) -> tuple[DType, ...]:
        """Return the computation dtypes of the numbers: that of real parts of the reduced dtype, or the numbers' own
        kinds.
        """
        if self.value.category >= Category.FLOAT:
            return (precision_of(self.value.to_real()),) * len(self.numbers)
        return tuple(int64 if isinstance(number, int) else float64 for number in self.numbers)

    @property
    def functions(self) -> Folding:
        """Return the typed functions."""
        return self.fold.folding(self.value, self.results, self.number_dtypes)

    @property
    def constants(self) -> tuple[Number, ...]:
        """Return the number arguments, converted to the dtypes that the kernel expects."""
        return tuple(convert(value, dtype) for value, dtype in zip(self.numbers, self.number_dtypes, strict=True))


class ReductionDefinition(Definition):
    """Definition of a reduction of tensors, which broadcast. ``dim``, ``keepdim``, ``dtype`` have PyTorch's meaning.

    Other number arguments are passed to ``finish``, after the accumulators and the number of elements, and to ``lift``.

    Args:
        schema: of the operator.
        name: its name, for messages.

    check: called as ``check(ctx, *arguments)`` before anything else; None for no checks.
    """

    __slots__ = ("_folds", "check", "label", "others")

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        super().__init__(schema, name)
        self.label = schema.name.functional_base
        special = ("dim", "keepdim", "dtype")
        self.others: tuple[Parameter, ...] = tuple(
            parameter for parameter in self.parameters if parameter.name not in special
        )
        self.check: Callable[..., object] | None = None
        self._folds = LateList[Fold]()

    @property
    def folds(self) -> list[Fold]:
        """Return the scalar functions, in the order in which they are tried."""
        return self._folds.values

    @folds.setter
    def folds(self, folds: list[Fold]) -> None:
        self._folds.values = folds

    def add_later(self, combine: FunctionType | ScalarFunction, **options: Any) -> None:
        """Add scalar functions that are read on first use, which raises the errors of ``add`` then."""
        self._folds.add_later(lambda: self._read(combine, **options))

    def add(self, combine: FunctionType | ScalarFunction, **options: Any) -> None:
        """Add scalar functions; see ``_read`` for the options."""
        self._folds.add(self._read(combine, **options))

    def _read(self, combine: FunctionType | ScalarFunction, **options: Any) -> list[Fold]:
        """Read scalar functions.

        Args:
            combine: the accumulators of some elements, then those of others -> those of all; associative.
            init: the accumulators of no elements; infinities denote the bounds of integers.
            lift: an element of each tensor, in the order of the schema -> accumulators; None if they are the element
                of the only tensor. Further parameters are the index of the element among those that are reduced, and
                number arguments by their names. An optional tensor is None in the cases that test it for None.
            finish: accumulators, number of elements, number arguments -> results; None if results are accumulators.
            promote: a key of ``DTYPE_RULES``; for several tensors the rule gets the dtype that theirs promote to.
            accumulators: for each a key of ``ACCUMULATOR_RULES``: ``value`` (the reduced dtype, float32 for 16-bit
                ones), ``real`` (that of its real part), ``double``, ``real_double``, ``index`` or ``truth``.
            results: for each a key of ``RESULT_RULES``; by default as the accumulators.
            when: values of other arguments for which the functions apply; they take no part in them. Strings that
                functions take by name and compare, and tests for None, need no ``when``: there is a fold for each case.
            in_order: whether ``combine`` is not commutative, so that it gets adjacent elements, the earlier ones first.
                By default it is so if ``lift`` takes the index.
            needs_elements: whether reducing no elements is an error.
            empty_is_all: whether ``dim=[]`` means all dimensions.

        Raises:
            ScalarFunctionError: a function contains an expression that no scalar graph can represent, or computes
                floating-point numbers from integers that would be rounded.
            KernelSignatureError: a function does not fit, or an option is unknown.
        """

        def refuse(problem: str) -> KernelSignatureError:
            return KernelSignatureError(f"{self.name}: the reduction does not fit {self.schema}: {problem}.")

        functions = (combine, options.get("lift"), options.get("finish"))
        condition = options.pop("when", None) or {}
        folds = []
        for values, known in cases_of(functions, self.schema):
            when = {**condition, **values}
            fold = make_fold(combine, self.others, self.results, refuse, when=when, known=known, **options)
            typings = (refuse_rounding(partial(self._typed, fold, dtype)) for dtype in (int64, float64))
            folding = next(filter(None, typings), None)
            if folding is not None and (fault := not_neutral(folding)):
                raise refuse(fault)
            folds.append(fold)
        return folds

    def _typed(self, fold: Fold, dtype: DType) -> Folding:
        """Specialize the functions of a fold for tensors of a dtype."""
        value_dtype = DTYPE_RULES[fold.promote](self.label, dtype, None, None)
        results = [RESULT_RULES[rule](value_dtype, dtype, None) for rule in fold.results]
        numbers = [float64 if number.role is Role.FLOAT else int64 for number in fold.numbers]
        return fold.folding(value_dtype, results, numbers)

    # ----------------------------------------------------------------------------------------------------- a call

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "reduction"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return tuple(function for fold in self.folds for function in fold.functions)

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        named = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        context = MetaContext(self.name, self.results, tensors, next(tensors_in(arguments)).device)
        if self.check is not None:
            self.check(context, *(arguments if is_traceable(self.check) else pinned(arguments)))
        fold = self._fold(named)
        places = tuple(at for at, parameter in enumerate(self.parameters) if parameter.name in fold.tensors)
        sources: list[Tensor] = [arguments[at] for at in places]
        device, common, whole = _together(sources)
        out = [tensor.dtype if tensor is not None else None for tensor in tensors] or [None] * self.results
        value_dtype = DTYPE_RULES[fold.promote](self.label, common, named.get("dtype"), out[0])
        if not _OF_NO_VALUE.issuperset(fold.accumulators):
            require_computed(value_dtype)
        dim = named.get("dim")
        if fold.needs_elements:
            require_elements(self.label, dim, whole)
        dims = reduced_dimensions(dim, whole, none_is_all=fold.empty_is_all)
        shape = reduced_shape(whole, dims, keepdim=bool(named.get("keepdim", False)))
        results = tuple(
            RESULT_RULES[rule](value_dtype, common, wanted) for rule, wanted in zip(fold.results, out, strict=True)
        )
        specs = tuple(OutputSpec(dtype, device, shape, contiguous_strides(shape)) for dtype in results)
        context.require_same(specs)
        numbers = tuple(self._number(fold, number, named[number.name]) for number in fold.numbers)
        return PreparedCall(specs, Reducing(fold, dims, value_dtype, results, numbers, places, whole))

    def _fold(self, named: dict[str, Any]) -> Fold:
        """Return the functions for a call, by the values of its arguments."""
        for fold in self.folds:
            is_meant = all(_is(named[name], value) for name, value in fold.when.items())
            if is_meant and all(named[name] is not None for name in fold.tensors):
                return fold
        absent = [name for fold in self.folds for name in fold.tensors if named[name] is None]
        if absent:
            raise ArgumentError(f"{absent[0]} is None, but the reduction reads it")
        chosen = {name: named[name] for fold in self.folds for name in fold.when}
        have = " or ".join(str(dict(fold.when)) for fold in self.folds)
        raise ArgumentError(f"there is no reduction for {chosen} (have {have})")

    def _number(self, fold: Fold, parameter: Parameter, value: Any) -> Number:
        """Return a number for the functions; for None, the default of its parameter."""
        number: Number | None = fold.default(parameter) if value is None else value
        if number is None:
            raise ArgumentError(f"{parameter.name} is None, and finish has no default for it")
        return number

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``."""
        if output.dtype is spec.dtype:
            return
        state: Reducing = prepared.state
        if state.fold.promote == "default" and spec.dtype is state.value:
            raise DTypeError(
                f"Expected the dtype for input and out to match, but got {spec.dtype.scalar_type} for input's dtype "
                f"and {output.dtype.scalar_type} for out's dtype."
            )
        raise DTypeError(
            f"Expected out tensor to have dtype {c_name(spec.dtype)}, but got {c_name(output.dtype)} instead"
        )

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``."""
        return aliased

    def compile_call(
        self, prepared: PreparedCall, arguments: Arguments, outputs: Sequence[TensorMeta], key: str, *, allocate: bool
    ) -> CompiledCall:
        """See ``Definition.compile_call``."""
        state: Reducing = prepared.state
        sources = [self.readable(state, arguments[at]) for at in state.places]
        compute = self._compile(state, [source.geometry for source in sources], outputs, allocate=allocate)
        return CompiledCall(compute, (*map(array_of, sources), *state.constants))

    def readable(self, state: Reducing, source: Tensor) -> Tensor:
        """Return an input in the dtype in which its elements are reduced."""
        if not _is_cast_first(source.dtype, state.value):
            return source
        from opdsl.kernels.primitives import copying

        return copying.cast(source, state.value)

    def _compile(
        self, state: Reducing, sources: Sequence[TensorMeta], outputs: Sequence[TensorMeta], *, allocate: bool
    ) -> Compiled:
        layout = reduction_layout(
            sources,
            state.dims,
            outputs,
            allocate=allocate,
            in_order=state.fold.with_index or state.fold.in_order,
            numbers=state.number_dtypes,
        )
        return compiler_for(outputs[0].device.type).compile(reduction(state.functions), layout)


def _together(sources: Sequence[Tensor]) -> tuple[Device, DType, tuple[int, ...]]:
    """Return the device of tensors, the dtype that theirs promote to, and the shape that they broadcast to."""
    if len(sources) == 1:
        return sources[0].device, sources[0].dtype, sources[0].shape
    shape = broadcast_all(source.shape for source in sources)
    return sources[0].device, result_type(sources), shape


def _is(value: object, wanted: object) -> bool:
    return value is None if wanted is None else not isinstance(value, Tensor) and value == wanted


def _is_cast_first(source: DType, value: DType) -> bool:
    """Return whether elements have to be rounded to 16 bits before they are reduced, which loading them does not do."""
    return value in PRECISION and source is not value
