"""Samples of an operator: from a table for aten operators that restrict shapes or values, otherwise from the schema."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import opdsl.testing.algebra_samples as algebra_samples
import opdsl.testing.aten_samples as aten_samples
import opdsl.testing.factory_samples as factory_samples
import opdsl.testing.fourier_samples as fourier_samples
import opdsl.testing.index_samples as index_samples
import opdsl.testing.layer_samples as layer_samples
import opdsl.testing.list_samples as list_samples
import opdsl.testing.loss_samples as loss_samples
import opdsl.testing.matrix_samples as matrix_samples
import opdsl.testing.memory_samples as memory_samples
import opdsl.testing.network_samples as network_samples
import opdsl.testing.order_samples as order_samples
import opdsl.testing.placing_samples as placing_samples
import opdsl.testing.row_samples as row_samples
import opdsl.testing.special_samples as special_samples
import opdsl.testing.statistic_samples as statistic_samples
import opdsl.testing.view_samples as view_samples
from opdsl.dispatch import Operator, registry
from opdsl.errors import (
    ArgumentError,
    DeviceError,
    DimensionError,
    DimError,
    DTypeError,
    NumberError,
    OptionError,
    ShapeError,
    TorchError,
)
from opdsl.runtime import DType, Tensor, float32
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import GENERATED, Argument, ListType, OptionalType, SchemaKind
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample

_TOPICS = (
    list_samples,
    algebra_samples,
    aten_samples,
    view_samples,
    index_samples,
    layer_samples,
    placing_samples,
    memory_samples,
    factory_samples,
    fourier_samples,
    row_samples,
    network_samples,
    order_samples,
    loss_samples,
    matrix_samples,
    special_samples,
    statistic_samples,
)
TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    name: make for topic in _TOPICS for name, make in topic.TABLE.items()
}

# Errors by which an operator may refuse a sample that was not made for it.
REFUSALS = (
    ShapeError,
    DimensionError,
    DimError,
    DTypeError,
    ArgumentError,
    NumberError,
    OptionError,
    DeviceError,
    TorchError,
)


def samples_of(operator: Operator, dtype: DType = float32) -> Iterator[Sample]:
    """Yield samples of an operator, from the table if it has some for its name, else made from its schema.

    Args:
        operator: any; ``function.operator`` of a declared function.
        dtype: of the tensors.

    Returns:
        Samples, new ones each time.

    >>> import opdsl
    >>> from opdsl.testing import samples_of
    >>> next(samples_of(opdsl.exp.operator, opdsl.float64))
    (float64[3, 4])
    """
    make = Maker(dtype)
    if operator.schema.name.base.startswith("_foreach_"):
        return (_into_outputs(operator, sample, make) for sample in list_samples.lists(operator.schema, make))
    known = TABLE.get(operator.name)
    if known is not None:
        return known(make)
    functional = _functional(operator)
    if functional is not None and functional.name in TABLE:
        return (_into_outputs(operator, sample, make) for sample in TABLE[functional.name](make))
    return _of_base(operator, make) if GENERATED in operator.tags else from_schema(operator, make)


def _functional(operator: Operator) -> Operator | None:
    """Return the functional variant of an ``out=`` or in-place operator; None for another operator, or without such a
    variant.
    """
    kind = operator.schema.kind
    if kind not in (SchemaKind.out, SchemaKind.inplace):
        return None
    packet = operator.packet_name.removesuffix("_" if kind is SchemaKind.inplace else "")
    beside = (
        candidate for candidate in registry if candidate.packet_name == packet and not candidate.schema.is_mutable
    )
    return next((candidate for candidate in beside if _form(candidate) == _form(operator)), None)


def _form(operator: Operator) -> tuple[object, ...]:
    """Return the signature and defaults of an operator, which are equal for operators that accept the same calls."""
    return operator.schema.signature(), *(argument.default for argument in operator.schema.positional)


def _of_base(operator: Operator, make: Maker) -> Iterator[Sample]:
    """Yield samples of a generated operator: those of the operator that it is generated from, with an output if it
    takes one.
    """
    signature = operator.schema.signature()
    for base in registry:
        known = TABLE.get(base.name)
        if known is not None and GENERATED not in base.tags and base.schema.signature() == signature:
            yield from (_into_outputs(operator, sample, make) for sample in known(make))
            return
    yield from from_schema(operator, make)


def _into_outputs(operator: Operator, sample: Sample, make: Maker) -> Sample:
    """Convert a sample of a functional operator for a variant: drop options that an output determines, add empty
    outputs.
    """
    taken = {argument.python_name for argument in operator.schema.arguments}
    named = {name: value for name, value in sample.named.items() if name in taken}
    return Sample(*sample.positional, **named, **_outputs(operator, sample, make))


def _outputs(operator: Operator, sample: Sample, make: Maker) -> dict[str, object]:
    """Return the ``out`` argument for a sample: an empty output, a tuple of them, or nothing, with the dtypes of the
    results.
    """
    count = len(operator.schema.out)
    functional = _functional(operator) if count else None
    results: list[Tensor] = []
    if functional is not None:
        try:
            function = registry.packets[functional.packet_name].operator_function(functional)
            returned = sample.copy().call(function)
            results = list(tensors_in(returned[0] if isinstance(returned, tuple) and count == 1 else returned))
        except REFUSALS:
            pass  # The operator under test raises the error itself.
    if count and isinstance(operator.schema.out[0].type, ListType):
        return {operator.schema.out[0].python_name: [make(0, dtype=result.dtype) for result in results]}
    dtypes = [result.dtype for result in results] if len(results) == count else [make.dtype] * count
    outs = tuple(make(0, dtype=dtype) for dtype in dtypes)
    return {"out": outs[0] if count == 1 else outs} if outs else {}


# Makers of tensor arguments with different shapes; the last ones need broadcasting.
_SHAPES: Sequence[Callable[[Maker, int], Tensor]] = (
    lambda make, place: make(3, 4),
    lambda make, place: make.transposed(3, 4) if place == 0 else make(3, 4),
    lambda make, place: make.strided(3, 4),
    lambda make, place: make(2, 3, 4),
    lambda make, place: make(5),
    lambda make, place: make(0, 4),
    lambda make, place: make(),
    lambda make, place: make(3, 4) if place == 0 else make(4),
    lambda make, place: make(3, 1) if place == 0 else make(1, 4),
)


def from_schema(operator: Operator, make: Maker) -> Iterator[Sample]:
    """Yield a sample for each shape, with and without optional arguments, without those that differ from an earlier one
    in the elements alone. The operator need not accept all of them.
    """
    described: set[str] = set()
    for form, complete in itertools.product(_SHAPES, (False, True)):
        sample = _inputs(operator, make, form, complete)
        if sample is not None and repr(sample) not in described:
            described.add(repr(sample))
            yield Sample(*sample.positional, **sample.named, **_outputs(operator, sample, make))


def _inputs(operator: Operator, make: Maker, form: Callable[[Maker, int], Tensor], complete: bool) -> Sample | None:
    positional: list[object] = []
    named: dict[str, object] = {}
    for index, argument in enumerate((*operator.schema.positional, *operator.schema.keyword_only)):
        if argument.default is not None and not complete:
            continue
        value = _value(argument, make, partial(form, make, index))
        if value is None and argument.default is not None:
            continue
        if argument in operator.schema.keyword_only or len(positional) < index:
            named[argument.python_name] = value
        else:
            positional.append(value)
    return Sample(*positional, **named)


def _value(argument: Argument, make: Maker, make_tensor: Callable[[], Tensor]) -> object:
    """Return a value for an argument of a schema; None if its type is not supported."""
    kind = argument.type
    if isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, ListType):
        if str(kind.element).startswith("Tensor"):
            return [make_tensor(), make_tensor()]
        values: dict[str, object] = {"int": 1, "SymInt": 1, "float": 0.5, "bool": True, "Scalar": 2}
        element = values.get(str(kind.element))
        return None if element is None else [element] * (kind.size or 1)
    makers: dict[str, Callable[[], object]] = {
        "Tensor": make_tensor,
        "Scalar": lambda: 2,
        "float": lambda: 0.5,
        "int": lambda: 1,
        "SymInt": lambda: 1,
        "bool": lambda: True,
        "ScalarType": lambda: make.dtype,
    }
    return makers.get(str(kind), lambda: None)()


def fitting(samples: Iterator[Sample], call: Callable[..., Any], *, wanted: float = math.inf) -> list[Sample]:
    """Return the samples that a function accepts.

    Raises:
        OptionError: it accepts none of them; the message has every reason, the last one is the cause.
    """
    accepted: list[Sample] = []
    refused: list[Exception] = []
    for sample in samples:
        try:
            sample.copy().call(call)
        except REFUSALS as error:
            refused.append(error)
            continue
        accepted.append(sample)
        if len(accepted) >= wanted:
            break
    if not accepted:
        reasons = "; ".join(dict.fromkeys(map(str, refused)))
        raise OptionError(
            f"no sample that was made fits ({reasons}). Give some: samples=[opdsl.testing.Sample(x, 2), ...]."
        ) from (refused[-1] if refused else None)
    return accepted
