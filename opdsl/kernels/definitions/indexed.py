"""Indexed definitions: an element of the result as a function of its index, which reads tensors at index expressions.

Pooling, padding, stencils, gathering and direct convolution are of this kind. The author writes one scalar function of
indices, and declares which of these are reduced, and the padding of tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.errors import DTypeError, KernelError, KernelSignatureError, ScalarFunctionError
from opdsl.kernels.checks import check
from opdsl.kernels.compiler import compiler_for
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, Definition, PreparedCall
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.dtypes import c_name, precision_of
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.kernels.structure import scatters
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import pinned
from opdsl.runtime.symbols import is_symbolic
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import indexed_fault
from opdsl.schema.parameters import Role
from opdsl.schema.types import ListType, OptionalType

if TYPE_CHECKING:
    from opdsl.scalar.function import ScalarFunction
    from opdsl.scalar.indexed import Access, IndexedFunction, Margin

from opdsl.kernels.definitions.indexed_bounds import require_inside
from opdsl.kernels.definitions.indexed_calls import (
    Resolved,
    adding,
    floating_of,
    kernel_of,
    layout_of,
    numbers_of,
    sums_of,
    types_of,
)


class IndexedDefinition(Definition):
    """Definition of an operator by a scalar function of indices.

    Args:
        schema: of the operator.
        name: its name, for messages.
    """

    __slots__ = (
        "_read",
        "at",
        "finish",
        "fold",
        "function",
        "gives_turns",
        "margin",
        "meta",
        "names",
        "over",
        "values",
        "with_place",
    )

    # Whether indices are checked: for derived functions the call of the original has done so.
    is_checked = True

    def __init__(self, schema: FunctionSchema, name: str) -> None:
        super().__init__(schema, name)
        self.fold, self.values, self.with_place, self.gives_turns = "", 0, False, False
        self.finish: FunctionType | None = None
        self._read: dict[object, IndexedFunction] = {}

    def add(
        self,
        function: FunctionType,
        *,
        meta: Callable[..., object] | None = None,
        at: Sequence[str],
        over: Sequence[str] = (),
        fold: str | None = None,
        margin: Any = None,
        finish: FunctionType | None = None,
    ) -> None:
        """Set the function of indices, with its options.

        Args:
            function: takes indices, tensors and numbers by name; reads tensors at indices.
            meta: the shape function, called as ``meta(ctx, *arguments)``; it sets the outputs and returns a dict of the
                ranges of indices and further numbers, by name. Without one these follow from the sizes of tensors.
            at: the indices of the result, one for each dimension; ``...`` first for leading dimensions.
            over: the indices that are reduced. fold: ``sum``, ``max`` or ``min``.
            margin: the padding of tensors, for indices out of bounds: a number, ``replicate``, ``reflect``,
                ``circular``, ``skip`` (left out of the fold), or a dict of these by tensor. Other tensors must be read
                in bounds.
            finish: from reduced values, and from indices and numbers by name, to results.

        Raises:
            ScalarFunctionError: the function contains an expression that no scalar graph can represent.
            KernelSignatureError: it does not fit the schema, or an option is unknown.
        """
        self.function, self.meta, self.finish = function, meta, finish
        self.at, self.over, self.fold, self.margin = tuple(at), tuple(over), fold or "", margin
        self.names, self.values = _parameters(function), 0
        self._check()

    def _check(self) -> None:
        """Check the function and its options against the schema at declaration time."""
        from opdsl.scalar.indexed import EXTREMA, FOLDS, MARGINS, SKIP

        fault = indexed_fault(self.schema, self.names, (*self.at, *self.over), has_meta=self.meta is not None)
        if fault is not None:
            raise self._unfit(f"{fault.problem}. {fault.remedy}")
        if bool(self.over) != bool(self.fold) or (self.fold and self.fold not in FOLDS):
            raise self._unfit(f"over={self.over!r} and fold={self.fold!r}: fold is one of {', '.join(FOLDS)}")
        for margin in self._margins().values():
            if isinstance(margin, str) and margin not in (*MARGINS, SKIP):
                raise self._unfit(f"margin={margin!r}: there are numbers, {', '.join((*MARGINS, SKIP))}")
            if margin == SKIP and not self.fold:
                raise self._unfit('margin="skip" leaves elements out of a fold, but nothing is folded')
        indexed = self._declared()
        if indexed is None:
            self.values, self.with_place = self.results, False
            return
        self.values = values = indexed.folded
        number = len(indexed.function.results)
        if self.finish is not None:
            self.names = tuple(dict.fromkeys((*self.names, *_parameters(self.finish)[values:])))
            self._read.clear()
            indexed = self.read(self.declared_signature())
        results = len(indexed.finish.results) if indexed.finish is not None else values
        self.with_place = self.fold in EXTREMA and self.results == results + 1
        self.gives_turns = self.with_place and number == values
        if number > values + self.with_place:
            raise self._unfit(f"it returns {number} values. A fold by {self.fold} takes one, and perhaps its index")
        if results + self.with_place != self.results:
            raise self._unfit(f"it gives {results} values for {self.results} results")
        self._read.clear()  # cached functions have the old with_place
        types = dict.fromkeys((*indexed.numbers, *(read.name for read in indexed.reads)), "int64")
        roles = {parameter.name: parameter.role for parameter in self.parameters}
        types |= {number: "float64" for number in indexed.numbers if roles.get(number) in (Role.FLOAT, Role.SCALAR)}
        indexed.require_whole_positions(types)
        if self.meta is None:
            self._require_ranges(indexed)

    def _declared(self) -> IndexedFunction | None:
        """Return the function as far as the declaration determines it; None if reading it needs values that the shape
        function returns in a call.
        """
        from opdsl.scalar.indexed import EXTREMA

        known = {*(parameter.name for parameter in self.parameters), *self.at, *self.over}
        try:
            return self.read(self.declared_signature())
        except ScalarFunctionError:
            if self.finish is not None or self.fold in EXTREMA or known.issuperset(self.names):
                raise
            return None

    def _require_ranges(self, indexed: IndexedFunction) -> None:
        """Check that the range of each index follows from a tensor's size."""
        from opdsl.scalar.source import function_source

        source = function_source(self.function)
        written = {arg.arg: arg for arg in (*source.tree.args.args, *source.tree.args.kwonlyargs)}
        followed = {name for name, _, _ in _bare(indexed)}
        for index in indexed.indices:
            if index not in followed:
                raise source.error(
                    written[index],
                    f"the range of {index!r} is unknown",
                    f"Read a tensor at {index} alone, or return {{{index!r}: ...}} from @f.meta.",
                )

    def _unfit(self, problem: str) -> KernelSignatureError:
        return KernelSignatureError(
            f"{self.name}: the indexed function {self.function.__name__} does not fit: {problem}."
        )

    def _margins(self) -> dict[str, Margin]:
        """Return the padding of each tensor."""
        names = [parameter.name for parameter in self.parameters if parameter.role is Role.TENSOR]
        margin = self.margin if isinstance(self.margin, Mapping) else dict.fromkeys(names, self.margin)
        for name in margin:
            if name not in names:
                raise self._unfit(f"margin= names {name!r}, which is no tensor of {self.schema}")
        return {name: margin.get(name) for name in names}

    def declared_signature(self) -> tuple[tuple[str, str, Any], ...]:
        """Return the kinds of the arguments as far as the schema determines them, without a call."""
        roles = {parameter.name: parameter.role for parameter in self.parameters}
        signature = []
        for name in self.names:
            role = roles.get(name)
            if role is Role.TENSOR:
                signature.append((name, "tensor", None))
            elif name not in (*self.at, *self.over):
                signature.append((name, *self._declared_kind(name, role)))
        return tuple(signature)

    def _declared_kind(self, name: str, role: Role | None) -> tuple[str, Any]:
        from opdsl.scalar.indexed import ANY, STATED

        if role is None:
            return "number", STATED
        if role is not Role.VALUE:
            return ("constant", False) if role is Role.BOOL else ("number", None)

        argument = next(argument for argument in self.schema.arguments if argument.python_name == name)
        kind = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
        if isinstance(kind, ListType):
            return "number", ANY if kind.size is None else kind.size
        return "constant", argument.default if isinstance(argument.default, str) else None

    def read(self, signature: tuple[tuple[str, str, Any], ...]) -> IndexedFunction:
        """Return the function for given kinds of its arguments: tensors, numbers, or constants.

        Args:
            signature: name, kind and detail of each: ``tensor``; ``number`` and how many; ``constant`` and the value.
        """
        replace = self._read.get(signature)
        if replace is None:
            from opdsl.scalar.indexed import read_indexed

            margins = self._margins()
            replace = self._read[signature] = read_indexed(
                self.function,
                self.at,
                self.over,
                tensors={parameter: margins[parameter] for parameter, kind, _ in signature if kind == "tensor"},
                numbers={parameter: detail for parameter, kind, detail in signature if kind == "number"},
                constants={parameter: detail for parameter, kind, detail in signature if kind == "constant"},
                fold=self.fold,
                finish=self.finish if self.values else None,  # their number is known after the first read
            )._replace(with_place=self.with_place)
        return replace

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "indexed"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return (self.function,)

    def arrays(self, arguments: Arguments) -> tuple[str, ...]:
        """Return the names of the tensors that a call reads."""
        return self.resolved(arguments, ()).function.arrays

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        indexed = self._declared()
        if indexed is None:
            return ()
        function = indexed.function
        return (indexed.values_only(function.parameters), *([] if indexed.finish is None else [indexed.finish]))

    # ------------------------------------------------------------------------------------------------- preparation

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        resolved = self.resolved(arguments, tensors)
        if self.is_checked:
            require_inside(resolved)
        return PreparedCall(resolved.specs, resolved)

    def resolved(self, arguments: Arguments, outs: Sequence[Tensor | None]) -> Resolved:
        """Compute ranges, shapes, numbers and output specifications of a call."""
        tensors = [tensor for tensor in tensors_in(arguments) if isinstance(tensor, Tensor)]
        context = MetaContext(self.name, self.results, outs, tensors[0].device)
        stated = self._stated(context, arguments)
        values = {parameter.name: value for parameter, value in zip(self.parameters, arguments, strict=True)} | stated
        indexed = self.read(self._signature(values))
        bound = {array: values[array] for array in indexed.arrays}
        for read in indexed.reads:
            self._require_dimensions(read, bound[read.array])
        inferred = self._inferred(indexed, bound)
        if self.meta is None:
            leading, ranges = self._leading(indexed, bound), inferred
            shape = (*leading, *(ranges[index] for index in indexed.at))
            numbers = {number: number_of(number, values, bound, ranges) for number in indexed.numbers}
            specs = self._stored(self._specs(indexed, bound, shape, numbers), bound)
        else:
            specs = context.specs(self.meta.__name__)
            shape = specs[0].shape
            count = len(shape) - len(indexed.at)
            if count < 0 or (count and not indexed.leads) or any(spec.shape != shape for spec in specs):
                raise self._error(f"set outputs of shape {shape}", f"The result has the indices {', '.join(self.at)}")
            leading = shape[:count]
            ranges = dict(zip(indexed.at, shape[count:], strict=True))
            for name in indexed.over:
                size = stated.get(name, inferred.get(name))
                if size is None:
                    raise self._error(f"does not return the range of {name!r}", f"Return {{{name!r}: ...}} from it")
                ranges[name] = size
        numbers = {number: number_of(number, values, bound, ranges) for number in indexed.numbers}
        return Resolved(indexed, bound, numbers, ranges, leading, specs)

    def accumulated(self, indexed: IndexedFunction, ranges: Mapping[str, Any], dtype: DType) -> IndexedFunction:
        """Return the function to compute for a function of this definition, or one derived from it; a hook to change
        accumulation.

        Args:
            indexed: the function.
            ranges: the size of each index's range.
            dtype: of the result.
        """
        return indexed

    def _signature(self, values: Mapping[str, Any]) -> tuple[tuple[str, str, Any], ...]:
        """Return the kinds of the arguments, and of the values that the shape function returned, for ``read``."""
        signature = []
        for name in self.names:
            if name in values:
                signature.append((name, *_kind(values[name])))
            elif name not in (*self.at, *self.over):
                raise self._error(f"does not return {name!r}", f"Return {{{name!r}: ...}} from it")
        return tuple(signature)

    def _stated(self, context: MetaContext, arguments: Arguments) -> dict[str, Any]:
        """Return the values that the shape function returns besides setting the outputs."""
        if self.meta is None:
            return {}
        returned = self.meta(context, *(arguments if is_traceable(self.meta) else pinned(arguments)))
        if returned is None:
            return {}
        if not isinstance(returned, Mapping):
            raise self._error(f"returned {returned!r}", "Return a dict of ranges and numbers, by name")
        return dict(returned)

    def _require_dimensions(self, access: Access, tensor: Tensor) -> None:
        wanted = len(access.positions)
        check(
            tensor.ndim == wanted or (access.leads and tensor.ndim > wanted),
            f"expected {access.array} with {wanted}{' or more' if access.leads else ''} dimensions, got {tensor.shape}",
        )

    def _inferred(self, indexed: IndexedFunction, tensors: Mapping[str, Tensor]) -> dict[str, int]:
        """Return the ranges of indices that index tensors unchanged: the sizes of the dimensions, which have to
        agree.
        """
        inferred: dict[str, int] = {}
        for name, access, dimension in _bare(indexed):
            source = tensors[access.array]
            size = source.shape[source.ndim - len(access.positions) + dimension]
            if self.meta is None:
                check(
                    inferred.setdefault(name, size) == size,
                    f"expected sizes that agree along {name!r}: {access.array} has {size}, "
                    f"another one {inferred[name]}",
                )
            elif name not in inferred:
                inferred[name] = size
        return inferred

    def _leading(self, indexed: IndexedFunction, tensors: Mapping[str, Tensor]) -> tuple[int, ...]:
        shapes = {read.array: len(read.positions) for read in indexed.reads if read.leads}
        return broadcast_all(tensors[name].shape[: tensors[name].ndim - count] for name, count in shapes.items())

    def _specs(
        self,
        indexed: IndexedFunction,
        tensors: Mapping[str, Tensor],
        shape: tuple[int, ...],
        numbers: Mapping[str, Any],
    ) -> tuple[OutputSpec, ...]:
        """Return output specifications with the dtypes in which results are computed."""
        device = next(iter(tensors.values())).device
        types = types_of(indexed, tensors, numbers)
        kinds = [str(kind) for kind in indexed.value_types(types)][: indexed.folded]
        if indexed.finish is not None:
            texts = dict(zip(indexed.finish.parameters, kinds, strict=False))
            known = {**types, **dict.fromkeys(indexed.at, "int64"), **texts}
            kinds = [str(kind) for kind in indexed.finish.specialise(known).result_types]
        kinds += ["int64"] * indexed.with_place
        strides = contiguous_strides(shape)
        return tuple(OutputSpec(to_dtype(kind), device, shape, strides, False, None) for kind in kinds)

    def _stored(self, specs: Sequence[OutputSpec], tensors: Mapping[str, Tensor]) -> tuple[OutputSpec, ...]:
        """Replace computation dtypes of outputs by storage dtypes: float32 becomes float16 if a tensor operand is
        float16.
        """
        stored = {precision_of(tensor.dtype): tensor.dtype for tensor in reversed(list(tensors.values()))}
        return tuple(spec._replace(dtype=stored.get(spec.dtype, spec.dtype)) for spec in specs)

    def _error(self, problem: str, remedy: str) -> KernelError:
        function_name = "" if self.meta is None else f" {self.meta.__name__}"
        return KernelError(f"{self.name}: the shape function{function_name} {problem}. {remedy}.")

    # ------------------------------------------------------------------------------------------------------- running

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``."""
        if output.dtype is not spec.dtype:
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
        resolved: Resolved = prepared.state
        words, numbers = numbers_of(resolved)
        kernel = kernel_of(resolved, outputs, words, numbers)
        adds = scatters(kernel)
        sums = tuple(map(sums_of, outputs)) if adds else outputs
        layout = layout_of(resolved, kernel, sums, words, allocate=allocate and not adds)
        compiled = compiler_for(outputs[0].device.type).compile(kernel, layout)
        precision = floating_of(resolved.tensors)
        values = [array_of(resolved.tensors[array]) for array in resolved.function.arrays]
        values += [convert(resolved.numbers[name], precision) for name in numbers]
        if not adds:
            return CompiledCall(compiled, tuple(values))
        computed = adding(compiled, outputs[0] if allocate else None, sums[0])
        return CompiledCall(computed, tuple(values), handed=lambda tensor: tensor)


def _bare(indexed: IndexedFunction) -> Iterator[tuple[str, Access, int]]:
    """Yield the indices that index tensors unchanged, with the read and the dimension of the tensor."""
    for access in indexed.reads:
        for dimension, node in enumerate(access.positions):
            written = indexed.function.nodes[node]
            if written.op == "parameter" and written.value in indexed.indices:
                yield str(written.value), access, dimension


def _kind(value: Any) -> tuple[str, Any]:
    """Return the kind and detail of an argument, see ``IndexedDefinition.read``."""
    if isinstance(value, Tensor):
        return "tensor", None
    if isinstance(value, bool):
        return "constant", value
    if isinstance(value, (int, float)) or is_symbolic(value):
        return "number", None
    if isinstance(value, (tuple, list)) and all(
        isinstance(element, (int, float)) or is_symbolic(element) for element in value
    ):
        return "number", len(value)
    return "constant", tuple(value) if isinstance(value, list) else value


def number_of(name: str, values: Mapping[str, Any], tensors: Mapping[str, Any], ranges: Mapping[str, int]) -> Any:
    """Return the number that a parameter names: an argument, an element of a list argument, or the size of a dimension
    or range.
    """
    if name in values:
        return values[name]
    stem, _, rest = name.rpartition("[")
    if stem.endswith(".shape"):
        return tensors[stem.removesuffix(".shape")].shape[int(rest[:-1])]
    if name.endswith(".range"):
        return ranges[name.removesuffix(".range")]
    return values[stem][int(rest[:-1])]


def _parameters(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
