"""Kernel and layout of a call of an indexed definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.errors import ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import Layout, NewArray, OperandSpec
from opdsl.kernels.compiler import Compiled
from opdsl.kernels.definitions.indexed_kernels import LEADING, IndexedForm, kernel_of_form
from opdsl.kernels.definitions.monoid import require_exact
from opdsl.kernels.iteration.coalescing import coalesce
from opdsl.kernels.iteration.dtypes import precision_of
from opdsl.kernels.iteration.strides import steps
from opdsl.kernels.kernel import Access, Kernel
from opdsl.kernels.outputs import OutputSpec, array_of
from opdsl.runtime.dtype import Category, DType, to_dtype
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.tensor import Tensor

if TYPE_CHECKING:
    from opdsl.scalar.indexed import IndexedFunction


class Resolved(NamedTuple):
    """Call of an indexed definition, with all values that follow from its sizes and arguments.

    function: the function to compute.
    tensors: those that it reads, by name.
    numbers: by name.
    ranges: the sizes of the ranges of all indices.
    leading: the sizes of the leading dimensions.
    specs: of the outputs.
    """

    function: IndexedFunction
    tensors: dict[str, Tensor]
    numbers: dict[str, Any]
    ranges: dict[str, int]
    leading: tuple[int, ...]
    specs: tuple[OutputSpec, ...]


def types_of(indexed: IndexedFunction, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]) -> dict[str, str]:
    """Return the types of numbers and of elements that are read, by name."""
    types = {read.name: precision_of(tensors[read.array].dtype).name for read in indexed.reads}
    floating = floating_of(tensors).name
    return {**{number: floating if is_float(numbers.get(number)) else "int64" for number in indexed.numbers}, **types}


def floating_of(tensors: Mapping[str, Tensor]) -> DType:
    """Return the dtype in which noninteger numbers are computed."""
    kinds = [tensor.dtype for tensor in tensors.values() if tensor.dtype.category is Category.FLOAT]
    return precision_of(kinds[0]) if kinds else to_dtype("float32")


def is_float(value: Any) -> bool:
    """Return whether a number is a float."""
    return isinstance(value, float)


def numbers_of(resolved: Resolved) -> tuple[list[str], list[str]]:
    """Return the names of the integers and of the other numbers of a call."""
    names = resolved.function.numbers
    others = [name for name in names if is_float(resolved.numbers[name])]
    return [name for name in names if name not in others], others


def kernel_of(
    resolved: Resolved, outputs: Sequence[TensorMeta], words: Sequence[str], numbers: Sequence[str]
) -> Kernel:
    """Return the kernel of a call, specialized for its dtypes.

    Raises:
        UnsupportedDTypeError: an operation does not exist for these dtypes.
    """
    indexed = resolved.function
    types = types_of(indexed, resolved.tensors, resolved.numbers)
    wanted = [precision_of(output.dtype).name for output in outputs][: len(outputs) - indexed.with_place]
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
    accesses: list[Access] = []
    leads: dict[str, bool] = {}
    first = 0
    for access in (*indexed.reads, *indexed.writes):
        name = f"a{indexed.arrays.index(access.array)}" if len(accesses) < len(indexed.reads) else "out0"
        accesses.append(Access(name, tuple(range(first, first + len(access.positions))), access.margin))
        leads[name] = access.leads
        first += len(access.positions)
    form = IndexedForm(
        graph,
        finish,
        (len(indexed.at), len(indexed.over), len(words), len(numbers)),
        tuple(accesses[: len(indexed.reads)]),
        tuple(accesses[len(indexed.reads) :]),
        tuple(name for name, is_led in leads.items() if is_led),
        indexed.fold,
        indexed.with_place,
    )
    return kernel_of_form(form)


def layout_of(
    resolved: Resolved, kernel: Kernel, outputs: Sequence[TensorMeta], words: Sequence[str], *, allocate: bool
) -> Layout:
    """Return the sizes and strides of the operands of a call."""
    indexed, leading = resolved.function, resolved.leading
    forms = [*(resolved.tensors[array].geometry for array in indexed.arrays), *outputs]
    arrays = [operand for operand in kernel.operands if operand.name not in kernel.numbers]
    splits = [
        _split(form, operand.dims or len(indexed.at) if LEADING.name in operand.ranges else None, leading)
        for form, operand in zip(forms, arrays, strict=True)
    ]
    sizes, stepping = coalesce(leading[::-1], [split.leading[::-1] for split in splits])
    specs = [
        OperandSpec(form.dtype, (*(steps_of if LEADING.name in operand.ranges else ()), *split.own))
        for form, operand, steps_of, split in zip(forms, arrays, stepping, splits, strict=True)
    ]
    dims = [split.sizes if operand.dims else () for operand, split in zip(arrays, splits, strict=True)]
    read, numbers = len(indexed.arrays), len(kernel.numbers)
    precision = floating_of(resolved.tensors)
    return Layout(
        (sizes, *((resolved.ranges[index],) for index in indexed.indices)),
        (*specs[:read], *[OperandSpec(precision, None)] * numbers),
        tuple(specs[read:]),
        tuple(NewArray(output.shape, output.strides) if allocate else None for output in outputs),
        (*dims[:read], *[()] * numbers, *dims[read:]),
        tuple(
            int(number) if isinstance(number, bool) else number for number in (resolved.numbers[name] for name in words)
        ),
    )


class _Split(NamedTuple):
    """Memory layout of an operand: strides in bytes along leading and own dimensions, and the sizes of its own
    dimensions.
    """

    leading: tuple[int, ...]
    own: tuple[int, ...]
    sizes: tuple[int, ...]


def _split(form: TensorMeta, own: int | None, leading: tuple[int, ...]) -> _Split:
    """Split the strides of an operand into leading and ``own`` dimensions; ``own`` is None for an operand without
    leading ones.
    """
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
    """Return the typed ``finish`` function, whose parameters are values, indices of the result, and numbers."""
    from opdsl.scalar.function import ScalarFunction

    finish = indexed.finish
    assert finish is not None, "there is one"
    names = (*finish.parameters[: len(values)], *indexed.at, *numbers)
    whole = ScalarFunction(finish.name, names, {}, finish.nodes, finish.places, finish.results, finish.source)
    texts = {**types, **dict.fromkeys(indexed.at, "int64"), **dict(zip(names, values, strict=False))}
    require_exact(whole, texts, wanted)
    return whole.specialise(texts, results=wanted)


def sums_of(form: TensorMeta) -> TensorMeta:
    """Return the geometry of the memory in which an output's sums accumulate: its own, or for 16-bit dtypes a float32
    temporary, rounded once.
    """
    precision = precision_of(form.dtype)
    if precision is form.dtype:
        return form
    strides = form.strides if form.is_non_overlapping_and_dense() else None
    return geometry(precision, form.device, form.shape, strides)


def adding(compiled: Compiled, form: TensorMeta | None, sums: TensorMeta) -> Compiled:
    """Wrap a scatter-add kernel so that it zeroes its output first.

    Args:
        compiled: the kernel.
        form: geometry of the output to allocate; None if it is given.
        sums: geometry of the memory that the kernel adds to, see ``sums_of``.
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
