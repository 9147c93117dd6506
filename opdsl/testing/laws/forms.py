"""Law 11: a call and its gradients are equal with the plan for its shape class, for new sizes, and without any plan."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from opdsl.dispatch import checked
from opdsl.dispatch.plans.policy import lowered_at_once
from opdsl.errors import OpdslError
from opdsl.runtime import Tensor, contiguous_strides, version_of
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import Content, contents, tensors_in
from opdsl.runtime.viewing import make_view
from opdsl.schema import SchemaKind
from opdsl.testing.laws.gradients import Call, random_state_kept
from opdsl.testing.laws.variants import UNINITIALISED
from opdsl.testing.sample import Sample
from opdsl.testing.samples import REFUSALS
from opdsl.testing.subject import Subject

# Increase of sizes over those that a plan was made for.
_GROWTH = 3
_SAMPLES = 2
# Errors that only checked calls raise, for a kernel that violates its schema.
_OF_OTHER_LAWS = ("KernelError", "LawError")


class Outcome(NamedTuple):
    """Observable outcome of a call.

    error: the class of the error that it raised, or empty.
    results, arguments: their contents after the call.
    views: for each result whether it is a view.
    versions: version counters of the arguments.
    """

    error: str
    results: list[Content]
    arguments: list[Content]
    views: list[bool]
    versions: list[int]


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    operator = subject.operator
    is_random = "nondeterministic_seeded" in operator.tags
    if is_random or operator.schema.name.base in UNINITIALISED or not _is_on_the_cpu(subject):
        return
    operator.packet.forget()
    with lowered_at_once(), random_state_kept():
        for sample in subject.samples[:_SAMPLES]:
            _outcome(sample, subject.function)
            places = _followed(subject, sample)
            for case in (sample, grown(sample, _GROWTH)):
                outcome = _outcome(case, subject.function)
                with checked():
                    wanted = _outcome(case, subject.function)
                if wanted.error in _OF_OTHER_LAWS:
                    continue
                for what, one, other in zip(Outcome._fields, outcome, wanted, strict=True):
                    if one != other:
                        yield f"{case}: {what} by the plan of the form are {one}, without it {other}"
                planned = _gradients(subject, case, places)
                with checked():
                    alone = _gradients(subject, case, places)
                if planned != alone:
                    yield f"{case}: gradients by the plan of the form are {planned}, without it {alone}"
    operator.packet.forget()


def _is_on_the_cpu(subject: Subject) -> bool:
    return all(tensor.is_cpu for sample in subject.samples for tensor in sample.tensors())


def _outcome(sample: Sample, function: Callable[..., Any]) -> Outcome:
    own = sample.copy()
    error, results = "", []
    try:
        results = list(tensors_in(own.call(function)))
    except OpdslError as raised:
        error = type(raised).__name__
    arguments = own.tensors()
    return Outcome(
        error,
        contents(results),
        contents(arguments),
        [result.geometry.is_view for result in results],
        [version_of(input) for input in arguments],
    )


def _followed(subject: Subject, sample: Sample) -> list[int]:
    """Return the indices of the tensors that get gradients; all of them if finding out raises an error."""
    if subject.operator.schema.kind not in (SchemaKind.functional, SchemaKind.inplace):
        return []
    call = Call(subject, sample)
    try:
        return call.followed_places() if call.is_taken() else []
    except OpdslError:
        return list(range(len(call.tensors)))


def _gradients(subject: Subject, sample: Sample, places: list[int]) -> list[Content] | str:
    """Return the gradients of tensors of a call in double precision, or the class of the error that it raised."""
    call = Call(subject, sample)
    try:
        leaves = call.leaves(*places)
        results = call.results(*leaves) if places else []
        return contents(call.gradients(leaves, results)) if any(result.requires_grad for result in results) else []
    except (OpdslError, *REFUSALS) as raised:
        return type(raised).__name__


def grown(sample: Sample, by: int) -> Sample:
    """Return the call with larger sizes: sizes of at least two, and integer arguments equal to such a size, are
    increased.
    """
    sizes = {size for tensor in sample.tensors() for size in tensor.shape if size > 1}
    known: dict[int, Tensor] = {}

    def larger(value: Any) -> Any:
        if isinstance(value, Tensor):
            return known.setdefault(id(value), _larger(value, by))
        if isinstance(value, (list, tuple)):
            return type(value)(larger(element) for element in value)
        if type(value) is int and value in sizes:
            return value + by
        return copy.deepcopy(value)

    return Sample(*map(larger, sample.positional), **{name: larger(value) for name, value in sample.named.items()})


def _larger(original: Tensor, by: int) -> Tensor:
    """Return a tensor with larger dimensions, which repeats the elements, with the same order of strides."""
    array = original.detach().array
    order = sorted(range(original.ndim), key=lambda dim: -original.strides[dim])
    shape = tuple(size + by if size > 1 else size for size in original.shape)
    taken = array[numpy.ix_(*(numpy.arange(size) % old for size, old in zip(shape, original.shape, strict=True)))]
    laid = numpy.ascontiguousarray(taken.transpose(order))
    larger = Tensor()
    larger.array, larger._writes, larger._base = laid, 0, None
    larger.geometry = geometry(original.dtype, original.device, laid.shape, contiguous_strides(laid.shape))
    if order == list(range(original.ndim)):
        return larger
    back = [order.index(dim) for dim in range(original.ndim)]
    return make_view(larger, shape, tuple(larger.strides[index] for index in back))
