"""Scans: operators that return the accumulated value at each element along a dimension (as ``cumsum``).

As in a reduction, ``lift`` makes accumulators of an element and ``combine`` combines the accumulators of two sets of
elements; ``finish`` makes results of the accumulators at each element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple

from opdsl.errors import KernelSignatureError, ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import Layout, Scanning
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.definitions.monoid import fits, initial, not_neutral, read_function, refuse_rounding, typed
from opdsl.kernels.definitions.reduction_dtypes import ACCUMULATOR_RULES, DTYPE_RULES
from opdsl.kernels.definitions.rowwise import Rowwise, RowwiseDefinition
from opdsl.kernels.definitions.structured import Arguments, PreparedCall
from opdsl.kernels.functions import scan
from opdsl.kernels.iteration.dtypes import PRECISION, precision_of, require_computed
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.dtype import ALL_DTYPES, Category, DType, bool_, complex64, complex128, float32, float64, int64
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.strides import contiguous_strides, wrap_dimension
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import text_names

if TYPE_CHECKING:
    from opdsl.scalar import ScalarFunction

Init = bool | int | float | tuple[bool | int | float, ...]

_WIDER = {float32: float64, complex64: complex128}


def _wide(value: DType) -> DType:
    """Return the accumulation dtype of PyTorch's CPU kernels (``at::acc_type``)."""
    if value is bool_:
        raise UnsupportedDTypeError("not implemented for 'Bool'. Convert to a number type first: x.to(int64).")
    return int64 if value.category is Category.INT else _WIDER.get(value, precision_of(value))


def _always(dtype: DType, value: DType) -> DType:
    """Return the first dtype, ignoring the scanned one."""
    return dtype


PROMOTIONS = {name: DTYPE_RULES[name] for name in ("default", "sum", "floating", "int_to_float")}
"""Rules of ``promote=`` of a scan: each returns the scanned dtype from the input's dtype, ``dtype=`` and the dtype of
``out=``.
"""

ACCUMULATORS: dict[str, Callable[[DType], DType]] = {
    **ACCUMULATOR_RULES,
    "wide": _wide,
    **{dtype.name: partial(_always, precision_of(dtype)) for dtype in ALL_DTYPES},
}
"""Rules for the dtype of an accumulator, from the scanned dtype; ``wide`` is float64 for float32, and the name of a
dtype selects its accumulator dtype.
"""

RESULTS: dict[str, Callable[[DType], DType]] = {
    "value": lambda value: value,
    "index": lambda value: int64,
    "truth": lambda value: bool_,
    **{dtype.name: partial(_always, dtype) for dtype in ALL_DTYPES},
}
"""Rules for the dtype of a result, from the scanned dtype; the name of a dtype selects it."""


class _Functions(NamedTuple):
    """Scalar functions of an associative scan, and keys for the dtypes of their accumulators and results."""

    init: tuple[bool | int | float, ...]
    lift: ScalarFunction | None
    combine: ScalarFunction
    finish: ScalarFunction | None
    accumulators: tuple[str, ...]
    results: tuple[str, ...]


class Steps(NamedTuple):
    """Step function of a recurrence, which carries values from element to element.

    init: the carried values before the first element.
    function: carried values, then tensors and numbers by name -> new carried values, then results.
    accumulators: for each carried value a key of ``ACCUMULATORS``.
    results: for each a key of ``RESULTS``, or ``carried`` and a key of ``ACCUMULATORS``.
    is_reverse: whether it begins with the last element.
    """

    init: tuple[bool | int | float, ...]
    function: ScalarFunction
    accumulators: tuple[str, ...]
    results: tuple[str, ...]
    is_reverse: bool = False

    @property
    def carried(self) -> tuple[str, ...]:
        """Return the names of the parameters that are carried."""
        return self.function.parameters[: len(self.init)]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the parameters that are arguments of the operator."""
        return self.function.parameters[len(self.init) :]


class ScanDefinition(RowwiseDefinition):
    """Definition of a scan of the schema's first argument along ``dim``; ``dtype`` has PyTorch's meaning.

    Args:
        schema: of the operator.
        name: its name, for messages.
    """

    __slots__ = ("_functions", "label", "rule")

    reads_before_writing = True
    _functions: _Functions

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        super().__init__(schema, name)
        self.label = schema.name.functional_base
        self.rule = PROMOTIONS["default"]

    def add(
        self,
        combine: FunctionType | ScalarFunction,
        *,
        init: Init,
        lift: FunctionType | ScalarFunction | None = None,
        finish: FunctionType | ScalarFunction | None = None,
        promote: str = "default",
        accumulators: Iterable[str] = ("value",),
        results: Iterable[str] = ("value",),
        known: Mapping[str, object] | None = None,
    ) -> None:
        """Set the scalar functions.

        Args:
            combine: the accumulators of some elements, then those of later ones -> those of all; associative.
            init: the accumulators of no elements; infinities denote the bounds of integers.
            lift: an element, or an element and its index -> accumulators; None if they are the element itself.
            finish: accumulators -> results; None if results are accumulators.
            promote: a key of ``PROMOTIONS``.
            accumulators: for each a key of ``ACCUMULATORS``.
            results: for each ``value``, ``index`` or ``truth``.
            known: constants for arguments, with which the functions are read.

        Raises:
            ScalarFunctionError: a function contains an expression that no scalar graph can represent, or computes
                floating-point numbers from integers that would be rounded.
            KernelSignatureError: a function does not fit, or an option is unknown.
        """
        functions = _Functions(
            init if isinstance(init, tuple) else (init,),
            None if lift is None else read_function(lift, known),
            read_function(combine, known),
            None if finish is None else read_function(finish, known),
            tuple(accumulators),
            tuple(results),
        )
        self._check(functions, promote, known or ())
        self._functions = functions
        self.rule = PROMOTIONS[promote]
        typings = (refuse_rounding(partial(self._typed, dtype)) for dtype in (int64, float64))
        scanning = next(filter(None, typings), None)
        if scanning is not None and (fault := not_neutral(scanning)):
            raise KernelSignatureError(f"{self.name}: the scan does not fit {self.schema}: {fault}.")

    def _typed(self, dtype: DType) -> Scanning:
        """Specialize the functions for tensors of a dtype."""
        return self.scanning(self.rule(self.label, dtype, None, None))

    def _check(self, functions: _Functions, promote: str, known: Iterable[str]) -> None:
        count = len(functions.accumulators)
        lift, finish = functions.lift, functions.finish
        names = {parameter.name for parameter in self.parameters}
        tensors = ", ".join(parameter.name for parameter in self.parameters if parameter.name != "dim")
        demands = (
            ("dim" in names, "a scan has an argument dim: int"),
            (
                names <= {self.parameters[0].name, "dim", "dtype", *text_names(self.schema), *known},
                "a scan that combines has no arguments besides dim and dtype. Write one that takes others step by "
                f"step: def step(carried, {tensors})",
            ),
            (promote in PROMOTIONS, f"promote={promote!r} is unknown; use one of {', '.join(PROMOTIONS)}"),
            (set(functions.accumulators) <= set(ACCUMULATORS), f"accumulators are {', '.join(ACCUMULATORS)}"),
            (set(functions.results) <= set(RESULTS), f"results are {', '.join(RESULTS)}"),
            (len(functions.init) == count, f"init has {len(functions.init)} values for {count} accumulators"),
            (
                len(functions.results) == self.results,
                f"there are {len(functions.results)} results for {self.results} returns",
            ),
            (fits(functions.combine, 2 * count, count), f"combine takes {2 * count} accumulators and returns {count}"),
            (count == 1 or lift is not None, "several accumulators need a lift"),
            (lift is None or len(lift.parameters) in (1, 2), "lift takes an element, or an element and its index"),
            (lift is None or len(lift.results) == count, f"lift returns {count} accumulators"),
            (
                finish is None or fits(finish, count, self.results),
                f"finish takes {count} accumulators and returns {self.results} results",
            ),
            (finish is not None or count == self.results, "accumulators are no results: a finish is needed"),
        )
        for holds, demand in demands:
            if not holds:
                raise KernelSignatureError(f"{self.name}: the scan does not fit {self.schema}: {demand}.")

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "scan"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        functions = (self._functions.lift, self._functions.combine, self._functions.finish)
        return tuple(function.source.function for function in functions if function is not None)

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        source: Tensor = arguments[0]
        named = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)}
        dim = wrap_dimension(named["dim"], source.ndim)
        out = tensors[0].dtype if tensors and tensors[0] is not None else None
        value_dtype = self.rule(self.label, source.dtype, named.get("dtype"), out)
        require_computed(value_dtype)
        self.scanning(value_dtype)  # raises for unsupported dtypes, even for empty tensors
        specs = tuple(
            OutputSpec(RESULTS[rule](value_dtype), source.device, source.shape, contiguous_strides(source.shape))
            for rule in self._functions.results
        )
        dims = (dim,) if source.ndim else ()
        cast = value_dtype if value_dtype in PRECISION else None
        return PreparedCall(specs, Rowwise(source.shape, dims, (0,), value_dtype, cast, value_dtype, self))

    def compile(self, state: Rowwise, inputs: Sequence[TensorMeta | DType], layout: Layout, device: str) -> Compiled:
        """See ``RowwiseDefinition.compile_call``."""
        return compiler_for(device).compile(scan(self.scanning(state.details)), layout)

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        functions = self._functions
        return tuple(
            function for function in (functions.lift, functions.combine, functions.finish) if function is not None
        )

    dim = "dim"

    @property
    def steps(self) -> Steps | None:
        """Return the scan as a recurrence, step by step; None if ``lift`` takes the index of an element."""
        from opdsl.scalar.composing import Composer

        functions = self._functions
        if functions.lift is not None and len(functions.lift.parameters) > 1:
            return None
        name = self.parameters[0].name
        carried = tuple(f"carried{at}_of_{name}" for at in range(len(functions.init)))
        graph = Composer(functions.combine.source)
        before = [graph.parameter(text) for text in carried]
        after = graph.call(functions.combine, [*before, *graph.call(functions.lift, [graph.parameter(name)])])
        results = graph.call(functions.finish, after)
        function = graph.finish(functions.combine.name, (*carried, name), [*after, *results])
        return Steps(functions.init, function, functions.accumulators, functions.results)

    def scanning(self, value: DType) -> Scanning:
        """Return the functions typed for a scanned dtype.

        Raises:
            UnsupportedDTypeError: an operation does not exist for it.
        """
        functions = self._functions
        accumulators = [ACCUMULATORS[accumulator](value).name for accumulator in functions.accumulators]
        results = [precision_of(RESULTS[rule](value)).name for rule in functions.results]
        try:
            return Scanning(
                tuple(initial(number, kind) for number, kind in zip(functions.init, accumulators, strict=True)),
                typed(functions.lift, [precision_of(value).name, "int64"], accumulators),
                typed(functions.combine, accumulators * 2, accumulators),
                typed(functions.finish, accumulators, results),
            )
        except ScalarFunctionError as error:
            raise UnsupportedDTypeError(f"not implemented for '{value.scalar_type}': {error}") from error
