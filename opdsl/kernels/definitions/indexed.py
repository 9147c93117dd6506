"""Indexed definitions: an element of the result as a function of its place, which reads tensors at index expressions.

Pooling, padding, stencils, gathering and direct convolution are of this kind. The author writes one scalar function of
indices; which of these are folded, and what lies outside of a tensor, is said beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.errors import DTypeError, KernelError, KernelSignatureError, ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import IndexedAccess, IndexedCall, IndexedLoop, NewArray, OperandSpec
from opdsl.kernels.checks import check
from opdsl.kernels.compiler import Compiled, compiler_for
from opdsl.kernels.definitions.meta import MetaContext
from opdsl.kernels.definitions.monoid import require_exact
from opdsl.kernels.definitions.structured import Arguments, CompiledCall, Definition, PreparedCall
from opdsl.kernels.iteration.broadcasting import broadcast_all
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.dtypes import c_name, precision_of
from opdsl.kernels.iteration.numbers import convert
from opdsl.kernels.iteration.strides import steps
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.runtime.dtype import Category, DType, int64, to_dtype
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import is_symbol, largest, pinned, smallest
from opdsl.runtime.tensor import Tensor
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import indexed_fault
from opdsl.schema.parameters import Role
from opdsl.schema.types import ListType, OptionalType

if TYPE_CHECKING:
    from opdsl.scalar.function import ScalarFunction
    from opdsl.scalar.indexed import Access, IndexedFunction, Margin

LEADING = "..."
"""What stands for the dimensions before those that have indices."""


class Resolved(NamedTuple):
    """A call with all that follows from sizes and arguments.

    function: what is computed.
    tensors: what is read, by name.
    numbers: by name.
    ranges: of all indices.
    leading: the sizes of the leading dimensions.
    specs: of the outputs.
    """

    function: IndexedFunction
    tensors: dict[str, Tensor]
    numbers: dict[str, Any]
    ranges: dict[str, int]
    leading: tuple[int, ...]
    specs: tuple[OutputSpec, ...]


class IndexedDefinition(Definition):
    """An operator of a function of places.

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

    # Whether positions are looked at: those of derived functions have been, in the call that they are derived of.
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
        """Take the function of places.

        Args:
            function: takes indices, tensors and numbers by name; reads tensors at places.
            meta: the shape function, called as ``meta(ctx, *arguments)``; it sets the outputs and returns a dict of the
                ranges of indices and further numbers, by name. Without one these follow from the sizes of tensors.
            at: the indices of the result, one for each dimension; ``...`` first for those before them.
            over: the indices that are folded. fold: ``sum``, ``max`` or ``min``.
            margin: what lies outside of tensors: a number, ``replicate``, ``reflect``, ``circular``, ``skip`` (left out
                of the fold), or a dict of these by tensor. Nothing may lie outside of others.
            finish: from what is folded, and from indices and numbers by name, to results.

        Raises:
            ScalarFunctionError: the function holds what it cannot.
            KernelSignatureError: it does not fit the schema, or an option is unknown.
        """
        self.function, self.meta, self.finish = function, meta, finish
        self.at, self.over, self.fold, self.margin = tuple(at), tuple(over), fold or "", margin
        self.names, self.values = _parameters(function), 0
        self._check()

    def _check(self) -> None:
        """Refuse at declaration what no call could mend."""
        from opdsl.scalar.indexed import EXTREMA, FOLDS, MARGINS, SKIP

        fault = indexed_fault(self.schema, self.names, (*self.at, *self.over), has_meta=self.meta is not None)
        if fault is not None:
            raise self._unfit(f"{fault.problem}. {fault.remedy}")
        if bool(self.over) != bool(self.fold) or (self.fold and self.fold not in FOLDS):
            raise self._unfit(f"over={self.over!r} and fold={self.fold!r}: fold is one of {', '.join(FOLDS)}")
        for each in self._margins().values():
            if isinstance(each, str) and each not in (*MARGINS, SKIP):
                raise self._unfit(f"margin={each!r}: there are numbers, {', '.join((*MARGINS, SKIP))}")
            if each == SKIP and not self.fold:
                raise self._unfit('margin="skip" leaves elements out of a fold, and there is none')
        indexed = self._declared()
        if indexed is None:
            self.values, self.with_place = self.results, False
            return
        self.values = values = indexed.folded
        given = len(indexed.function.results)
        if self.finish is not None:
            self.names = tuple(dict.fromkeys((*self.names, *_parameters(self.finish)[values:])))
            self._read.clear()
            indexed = self.read(self.declared_signature())
        results = len(indexed.finish.results) if indexed.finish is not None else values
        self.with_place = self.fold in EXTREMA and self.results == results + 1
        self.gives_turns = self.with_place and given == values
        if given > values + self.with_place:
            raise self._unfit(f"it returns {given} values. A fold by {self.fold} takes one, and perhaps its place")
        if results + self.with_place != self.results:
            raise self._unfit(f"it gives {results} values for {self.results} results")
        self._read.clear()  # what has been read did not know of places yet
        types = dict.fromkeys((*indexed.numbers, *(read.name for read in indexed.reads)), "int64")
        roles = {each.name: each.role for each in self.parameters}
        types |= {each: "float64" for each in indexed.numbers if roles.get(each) in (Role.FLOAT, Role.SCALAR)}
        indexed.require_whole_positions(types)
        if self.meta is None:
            self._require_ranges(indexed)

    def _declared(self) -> IndexedFunction | None:
        """The function, from what is known when it is declared; None where it takes what the shape function says, which
        may be no number, and cannot be read without it.
        """
        from opdsl.scalar.indexed import EXTREMA

        known = {*(each.name for each in self.parameters), *self.at, *self.over}
        try:
            return self.read(self.declared_signature())
        except ScalarFunctionError:
            if self.finish is not None or self.fold in EXTREMA or known.issuperset(self.names):
                raise
            return None

    def _require_ranges(self, indexed: IndexedFunction) -> None:
        """That the range of each index follows from a tensor's size."""
        from opdsl.scalar.source import function_source

        source = function_source(self.function)
        written = {each.arg: each for each in (*source.tree.args.args, *source.tree.args.kwonlyargs)}
        followed = {name for name, _, _ in _bare(indexed)}
        for name in indexed.indices:
            if name not in followed:
                raise source.error(
                    written[name],
                    f"the range of {name!r} follows from nothing",
                    f"Read a tensor at {name} alone, or return {{{name!r}: ...}} from @f.meta.",
                )

    def _unfit(self, problem: str) -> KernelSignatureError:
        return KernelSignatureError(
            f"{self.name}: the indexed function {self.function.__name__} does not fit: {problem}."
        )

    def _margins(self) -> dict[str, Margin]:
        """What lies outside of each tensor."""
        names = [each.name for each in self.parameters if each.role is Role.TENSOR]
        given = self.margin if isinstance(self.margin, Mapping) else dict.fromkeys(names, self.margin)
        for name in given:
            if name not in names:
                raise self._unfit(f"margin= names {name!r}, which is no tensor of {self.schema}")
        return {name: given.get(name) for name in names}

    def declared_signature(self) -> tuple[tuple[str, str, Any], ...]:
        """What arguments are when nothing has been given."""
        roles = {each.name: each.role for each in self.parameters}
        found = []
        for name in self.names:
            role = roles.get(name)
            if role is Role.TENSOR:
                found.append((name, "tensor", None))
            elif name not in (*self.at, *self.over):
                found.append((name, *self._declared_kind(name, role)))
        return tuple(found)

    def _declared_kind(self, name: str, role: Role | None) -> tuple[str, Any]:
        from opdsl.scalar.indexed import ANY, STATED

        if role is None:
            return "number", STATED
        if role is not Role.VALUE:
            return ("constant", False) if role is Role.BOOL else ("number", None)

        argument = next(each for each in self.schema.arguments if each.python_name == name)
        kind = argument.type.element if isinstance(argument.type, OptionalType) else argument.type
        if isinstance(kind, ListType):
            return "number", ANY if kind.size is None else kind.size
        return "constant", argument.default if isinstance(argument.default, str) else None

    def read(self, signature: tuple[tuple[str, str, Any], ...]) -> IndexedFunction:
        """The function for what arguments are: tensors, numbers, or known.

        Args:
            signature: name, kind and detail of each: ``tensor``; ``number`` and how many; ``constant`` and the value.
        """
        found = self._read.get(signature)
        if found is None:
            from opdsl.scalar.indexed import read_indexed

            margins = self._margins()
            found = self._read[signature] = read_indexed(
                self.function,
                self.at,
                self.over,
                tensors={name: margins[name] for name, kind, _ in signature if kind == "tensor"},
                numbers={name: detail for name, kind, detail in signature if kind == "number"},
                constants={name: detail for name, kind, detail in signature if kind == "constant"},
                fold=self.fold,
                finish=self.finish if self.values else None,  # how many these are is known when it has been read once
            )._replace(with_place=self.with_place)
        return found

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return "indexed"

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return (self.function,)

    def arrays(self, arguments: Arguments) -> tuple[str, ...]:
        """The tensors that are read in a call."""
        return self.resolved(arguments, ()).function.arrays

    def latest(self) -> Sequence[ScalarFunction]:
        """See ``Definition.latest``."""
        indexed = self._declared()
        if indexed is None:
            return ()
        function = indexed.function
        return (indexed.values_only(function.parameters), *([] if indexed.finish is None else [indexed.finish]))

    # ------------------------------------------------------------------------------------------------ what follows

    def prepare(self, arguments: Arguments, given: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        resolved = self.resolved(arguments, given)
        if self.is_checked:
            self._require_inside(resolved)
        return PreparedCall(resolved.specs, resolved)

    def resolved(self, arguments: Arguments, given: Sequence[Tensor | None]) -> Resolved:
        """What follows from the arguments of a call."""
        tensors = [each for each in tensors_in(arguments) if isinstance(each, Tensor)]
        context = MetaContext(self.name, self.results, given, tensors[0].device)
        stated = self._stated(context, arguments)
        values = {each.name: value for each, value in zip(self.parameters, arguments, strict=True)} | stated
        indexed = self.read(self._signature(values))
        bound = {each: values[each] for each in indexed.arrays}
        for each in indexed.reads:
            self._require_dimensions(each, bound[each.array])
        inferred = self._inferred(indexed, bound)
        if self.meta is None:
            leading, ranges = self._leading(indexed, bound), inferred
            shape = (*leading, *(ranges[name] for name in indexed.at))
            numbers = {name: number_of(name, values, bound, ranges) for name in indexed.numbers}
            specs = self._stored(self._specs(indexed, bound, shape, numbers), bound)
        else:
            specs = context.specs(self.meta.__name__)
            shape = specs[0].shape
            count = len(shape) - len(indexed.at)
            if count < 0 or (count and not indexed.leads) or any(each.shape != shape for each in specs):
                raise self._error(f"set outputs of shape {shape}", f"The result has the indices {', '.join(self.at)}")
            leading = shape[:count]
            ranges = dict(zip(indexed.at, shape[count:], strict=True))
            for name in indexed.over:
                found = stated.get(name, inferred.get(name))
                if found is None:
                    raise self._error(f"does not say the range of {name!r}", f"Return {{{name!r}: ...}} from it")
                ranges[name] = found
        numbers = {name: number_of(name, values, bound, ranges) for name in indexed.numbers}
        return Resolved(indexed, bound, numbers, ranges, leading, specs)

    def _signature(self, values: Mapping[str, Any]) -> tuple[tuple[str, str, Any], ...]:
        """What arguments, and what the shape function says, are to the function, see ``read``."""
        found = []
        for name in self.names:
            if name in values:
                found.append((name, *_kind(values[name])))
            elif name not in (*self.at, *self.over):
                raise self._error(f"does not say what {name!r} is", f"Return {{{name!r}: ...}} from it")
        return tuple(found)

    def _stated(self, context: MetaContext, arguments: Arguments) -> dict[str, Any]:
        """What the shape function says beside the outputs."""
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
        """The ranges of indices that are positions of tensors by themselves: the sizes there, which agree."""
        found: dict[str, int] = {}
        for name, access, dimension in _bare(indexed):
            tensor = tensors[access.array]
            size = tensor.shape[tensor.ndim - len(access.positions) + dimension]
            if self.meta is None:
                check(
                    found.setdefault(name, size) == size,
                    f"expected sizes that agree along {name!r}: {access.array} has {size}, another one {found[name]}",
                )
            elif name not in found:
                found[name] = size
        return found

    def _leading(self, indexed: IndexedFunction, tensors: Mapping[str, Tensor]) -> tuple[int, ...]:
        shapes = {each.array: len(each.positions) for each in indexed.reads if each.leads}
        return broadcast_all(tensors[name].shape[: tensors[name].ndim - count] for name, count in shapes.items())

    def _specs(
        self,
        indexed: IndexedFunction,
        tensors: Mapping[str, Tensor],
        shape: tuple[int, ...],
        numbers: Mapping[str, Any],
    ) -> tuple[OutputSpec, ...]:
        """Outputs of the dtypes that results are computed in."""
        device = next(iter(tensors.values())).device
        types = self._types(indexed, tensors, numbers)
        kinds = [str(each) for each in indexed.value_types(types)][: indexed.folded]
        if indexed.finish is not None:
            given = dict(zip(indexed.finish.parameters, kinds, strict=False))
            known = {**types, **dict.fromkeys(indexed.at, "int64"), **given}
            kinds = [str(each) for each in indexed.finish.specialise(known).result_types]
        kinds += ["int64"] * indexed.with_place
        strides = contiguous_strides(shape)
        return tuple(OutputSpec(to_dtype(kind), device, shape, strides, False, None) for kind in kinds)

    def _stored(self, specs: Sequence[OutputSpec], tensors: Mapping[str, Tensor]) -> tuple[OutputSpec, ...]:
        """Outputs in the dtype of a tensor that is computed in theirs."""
        stored = {precision_of(each.dtype): each.dtype for each in reversed(list(tensors.values()))}
        return tuple(each._replace(dtype=stored.get(each.dtype, each.dtype)) for each in specs)

    def _types(
        self, indexed: IndexedFunction, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]
    ) -> dict[str, str]:
        """The types of numbers and of what is read."""
        types = {each.name: precision_of(tensors[each.array].dtype).name for each in indexed.reads}
        floating = self._floating(tensors).name
        return {**{name: floating if _is_float(numbers.get(name)) else "int64" for name in indexed.numbers}, **types}

    def _floating(self, tensors: Mapping[str, Tensor]) -> DType:
        """The dtype that other numbers are computed in."""
        kinds = [each.dtype for each in tensors.values() if each.dtype.category is Category.FLOAT]
        return precision_of(kinds[0]) if kinds else to_dtype("float32")

    def _error(self, problem: str, remedy: str) -> KernelError:
        name = "" if self.meta is None else f" {self.meta.__name__}"
        return KernelError(f"{self.name}: the shape function{name} {problem}. {remedy}.")

    def _require_inside(self, resolved: Resolved) -> None:
        """That nothing is read outside of tensors that have no margin, and that there is what margins repeat.

        Raises:
            ShapeError: positions lead outside. PositionError: those in a tensor do.
        """
        from opdsl.scalar.indexed import MARGINS
        from opdsl.scalar.intervals import Interval, intervals

        indexed, ranges = resolved.function, resolved.ranges
        sizes = (*resolved.leading, *ranges.values())
        if any(size == 0 for size in sizes):
            return
        known = {name: Interval(0, size - 1) for name, size in ranges.items()}
        known |= {name: Interval(each, each) for name, each in resolved.numbers.items()}
        found = intervals(indexed.function, known, smallest, largest)
        for each in indexed.reads:
            tensor = resolved.tensors[each.array]
            own = tensor.shape[tensor.ndim - len(each.positions) :]
            for dimension, (node, size) in enumerate(zip(each.positions, own, strict=True)):
                if each.margin in MARGINS:
                    check(size > 0, f"a margin repeats elements of {each.array}, which has none: {tensor.shape}")
                elif each.margin is None:
                    self._require_position(resolved, each, node, found, dimension, size)

    def _require_position(
        self, resolved: Resolved, access: Access, node: int, found: Sequence[Any], dimension: int, size: int
    ) -> None:
        from opdsl.scalar.intervals import Interval, intervals

        low, high = found[node]
        if low is not None and high is not None and low >= 0 and high < size:
            return
        indexed = resolved.function
        reads = {each.name: each for each in indexed.reads}
        written = indexed.function.nodes[node]
        source, index = indexed.function.places[node]
        if written.op == "parameter" and written.value in reads:
            _require_positions(resolved.tensors[reads[str(written.value)].array], size, access.array, dimension)
            return
        needed = _reads_of(indexed, node)
        if needed and (low is None or high is None):
            known = {name: Interval(0, end - 1) for name, end in resolved.ranges.items()}
            known |= {name: Interval(each, each) for name, each in resolved.numbers.items()}
            for name in needed:
                tensor = resolved.tensors[reads[name].array]
                if tensor.is_meta:
                    return
                if tensor.dtype.category < Category.FLOAT:
                    known[name] = Interval(*_range_of(tensor))
            low, high = intervals(indexed.function, known, smallest, largest)[node]
        if low is not None and high is not None and low >= 0 and high < size:
            return
        where = f"from {low} to {high}" if low is not None and high is not None else "at places that nothing bounds"
        problem = f"{access.array} is read {where} along its dimension {dimension} of size {size}"
        advice = f"Say what lies outside: margin={{{access.array!r}: 0}}; or keep the position inside by min and max."
        check(False, str(source.error(index, problem, advice)))

    # --------------------------------------------------------------------------------------------------- what is run

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
        words, numbers = self._numbers(resolved)
        loop = self._loop(resolved, outputs, words, numbers)
        adds = bool(loop.writes)
        sums = tuple(map(_sums_of, outputs)) if adds else outputs
        call = self._call(resolved, loop, sums, words, allocate=allocate and not adds)
        compiled = compiler_for(outputs[0].device.type).indexed(loop, call)
        precision = self._floating(resolved.tensors)
        values = [array_of(resolved.tensors[name]) for name in resolved.function.arrays]
        values += [convert(resolved.numbers[name], precision) for name in numbers]
        if not adds:
            return CompiledCall(compiled, tuple(values))
        computed = _adding(compiled, outputs[0] if allocate else None, sums[0])
        return CompiledCall(computed, tuple(values), handed=lambda each: each)

    def _numbers(self, resolved: Resolved) -> tuple[list[str], list[str]]:
        """The names of whole numbers, and of others."""
        names = resolved.function.numbers
        others = [name for name in names if _is_float(resolved.numbers[name])]
        return [name for name in names if name not in others], others

    def _loop(
        self, resolved: Resolved, outputs: Sequence[TensorMeta], words: Sequence[str], numbers: Sequence[str]
    ) -> IndexedLoop:
        """The typed function of a call.

        Raises:
            UnsupportedDTypeError: an operation does not exist for these dtypes.
        """
        indexed = resolved.function
        types = self._types(indexed, resolved.tensors, resolved.numbers)
        wanted = [precision_of(each.dtype).name for each in outputs][: len(outputs) - indexed.with_place]
        try:
            places = ["int64"] * (len(indexed.function.results) - indexed.folded)
            if indexed.finish is None:
                values = [*wanted * (len(indexed.function.results) if indexed.writes else 1), *places]
                kinds = {**types, **dict.fromkeys(indexed.indices, "int64")}
                require_exact(indexed.values_only(kinds), kinds, values)
                finish = None
            else:
                values = [*map(str, indexed.value_types(types)[: indexed.folded]), *places]
                finish = _typed_finish(indexed, types, [*words, *numbers], values[: indexed.folded], wanted)
            graph = indexed.typed(types, [*words, *numbers], values)
        except ScalarFunctionError as error:
            kind = next(iter(resolved.tensors.values())).dtype.scalar_type
            raise UnsupportedDTypeError(f"not implemented for '{kind}': {error}") from error
        reads: list[IndexedAccess] = []
        first = 0
        for each in (*indexed.reads, *indexed.writes):
            array = indexed.arrays.index(each.array) if len(reads) < len(indexed.reads) else 0
            reads.append(IndexedAccess(array, first, len(each.positions), each.leads, each.margin))
            first += len(each.positions)
        count = len(indexed.reads)
        return IndexedLoop(
            graph,
            len(indexed.at),
            len(indexed.over),
            len(words),
            len(numbers),
            tuple(reads[:count]),
            tuple(reads[count:]),
            indexed.fold,
            indexed.with_place,
            finish,
        )

    def _call(
        self,
        resolved: Resolved,
        loop: IndexedLoop,
        outputs: Sequence[TensorMeta],
        words: Sequence[str],
        *,
        allocate: bool,
    ) -> IndexedCall:
        """Where the operands of a call lie."""
        indexed, leading = resolved.function, resolved.leading
        own = {each.array: len(each.positions) if each.leads else None for each in indexed.reads}
        arrays = [resolved.tensors[name].geometry for name in indexed.arrays]
        counts = [own[name] for name in indexed.arrays]
        written = loop.writes[0].dims if loop.writes else len(indexed.at)
        split = [_split(form, count, leading) for form, count in zip(arrays, counts, strict=True)]
        made = [_split(form, written, leading) for form in outputs]
        sizes, stepping = coalesce(leading[::-1], [each.leading[::-1] for each in (*split, *made)])
        specs = [
            OperandSpec(form.dtype, (*steps_of, *each.own))
            for form, steps_of, each in zip((*arrays, *outputs), stepping, (*split, *made), strict=True)
        ]
        precision = self._floating(resolved.tensors)
        return IndexedCall(
            sizes,
            tuple(resolved.ranges[name] for name in indexed.indices),
            tuple(int(each) if isinstance(each, bool) else each for each in (resolved.numbers[name] for name in words)),
            (*specs[: len(arrays)], *[OperandSpec(precision, None)] * loop.numbers),
            tuple(each.sizes for each in split),
            tuple(specs[len(arrays) :]),
            made[0].sizes if loop.writes else (),
            tuple(NewArray(each.shape, each.strides) if allocate else None for each in outputs),
        )


class _Split(NamedTuple):
    """How an operand lies: strides in bytes along leading and own dimensions, and the sizes of these."""

    leading: tuple[int, ...]
    own: tuple[int, ...]
    sizes: tuple[int, ...]


def _split(form: TensorMeta, own: int | None, leading: tuple[int, ...]) -> _Split:
    """``own``: how many dimensions an operand has behind the leading ones; None where it has no leading ones."""
    first = 0 if own is None else form.ndim - own
    strides = steps(form, form.shape)
    if own is None:
        return _Split((0,) * len(leading), strides, form.shape)
    missing = len(leading) - first
    led = [
        0 if size == 1 and wanted != 1 else stride
        for stride, size, wanted in zip(strides[:first], form.shape[:first], leading[missing:], strict=True)
    ]
    return _Split((*(0,) * missing, *led), strides[first:], form.shape[first:])


def _typed_finish(
    indexed: IndexedFunction,
    types: Mapping[str, str],
    numbers: Sequence[str],
    values: Sequence[str],
    wanted: Sequence[str],
) -> Any:
    """The function that finishes, typed: values, indices of the result, numbers."""
    from opdsl.scalar.function import ScalarFunction

    finish = indexed.finish
    assert finish is not None, "there is one"
    names = (*finish.parameters[: len(values)], *indexed.at, *numbers)
    whole = ScalarFunction(finish.name, names, {}, finish.nodes, finish.places, finish.results, finish.source)
    given = {**types, **dict.fromkeys(indexed.at, "int64"), **dict(zip(names, values, strict=False))}
    require_exact(whole, given, wanted)
    return whole.specialise(given, results=wanted)


def _sums_of(form: TensorMeta) -> TensorMeta:
    """Where what is added up for an output lies: in the output; of 16 bits in memory of its own, rounded once."""
    precision = precision_of(form.dtype)
    if precision is form.dtype:
        return form
    strides = form.strides if form.is_non_overlapping_and_dense() else None
    return geometry(precision, form.device, form.shape, strides)


def _adding(compiled: Compiled, form: TensorMeta | None, sums: TensorMeta) -> Compiled:
    """What adds to an output that it sets to 0 before; one that it makes, where there is a form.

    sums: of what the kernel adds to, see ``_sums_of``.
    """
    from opdsl.kernels.outputs import new_tensor
    from opdsl.kernels.primitives.copying import copy_elements, fill_

    def compute(*values: Any) -> Any:
        *operands, target = (*values, new_tensor(form)) if form is not None else values
        total = target if sums.dtype is target.dtype else new_tensor(sums)
        fill_(total, 0)
        compiled(*operands, array_of(total))
        if total is not target:
            copy_elements(target, total)
        return array_of(target)

    return compute


def _bare(indexed: IndexedFunction) -> Iterator[tuple[str, Access, int]]:
    """The indices that are positions by themselves: of which read, and of which of its dimensions."""
    for access in indexed.reads:
        for dimension, node in enumerate(access.positions):
            written = indexed.function.nodes[node]
            if written.op == "parameter" and written.value in indexed.indices:
                yield str(written.value), access, dimension


def _reads_of(indexed: IndexedFunction, node: int) -> list[str]:
    """What a node depends on that is read."""
    reads = {each.name for each in indexed.reads}
    found: set[int] = set()
    waiting = [node]
    while waiting:
        position = waiting.pop()
        if position not in found:
            found.add(position)
            waiting.extend(indexed.function.nodes[position].arguments)
    nodes = indexed.function.nodes
    return [str(nodes[each].value) for each in found if nodes[each].op == "parameter" and nodes[each].value in reads]


def _require_positions(index: Tensor, size: int, array: str, dimension: int) -> None:
    """That every element of a tensor is a position."""
    from opdsl.errors import PositionError
    from opdsl.kernels.primitives.indirect import known_inside, range_of

    if index.is_meta:
        return
    wide = _as_int64(index)
    found = None if known_inside(wide, 0, size) else range_of(wide)
    if found is not None and (found[0] < 0 or found[1] >= size):
        wrong = found[0] if found[0] < 0 else found[1]
        raise PositionError(
            f"index {wrong} is out of bounds for dimension {dimension} of {array}, which has size {size}"
        )


def _range_of(index: Tensor) -> tuple[int | None, int | None]:
    from opdsl.kernels.primitives.indirect import range_of

    return range_of(_as_int64(index)) or (None, None)


def _as_int64(index: Tensor) -> Tensor:
    from opdsl.kernels.primitives.copying import cast

    return index if index.dtype is int64 else cast(index, int64)


def _kind(value: Any) -> tuple[str, Any]:
    """What an argument is to the function, see ``IndexedDefinition.read``."""
    if isinstance(value, Tensor):
        return "tensor", None
    if isinstance(value, bool):
        return "constant", value
    if isinstance(value, (int, float)) or is_symbol(value):
        return "number", None
    if isinstance(value, (tuple, list)) and all(isinstance(each, (int, float)) or is_symbol(each) for each in value):
        return "number", len(value)
    return "constant", tuple(value) if isinstance(value, list) else value


def _is_float(value: Any) -> bool:
    return isinstance(value, float)


def number_of(name: str, values: Mapping[str, Any], tensors: Mapping[str, Any], ranges: Mapping[str, int]) -> Any:
    """The number that a parameter stands for: an argument, one of a list of them, or the size of a dimension."""
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
