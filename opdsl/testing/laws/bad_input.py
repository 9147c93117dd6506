"""Law 10: invalid arguments raise an error of opdsl and change no argument; kernels stay within the bounds of their
arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opdsl.backends.cpu.author import checked_bounds
from opdsl.dispatch import DispatchKey, Signature, bind
from opdsl.errors import BoundsError, OpdslError
from opdsl.kernels import StructuredDefinition, StructuredKernel, new_tensor
from opdsl.runtime import Device, Tensor, make_view
from opdsl.runtime.snapshot import contents, tensors_in
from opdsl.schema import OptionalType
from opdsl.testing.laws import guard_pages
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject

# Value that is invalid for any type of a schema.
_NONSENSE = object()


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    for what, sample, function in _wrong(subject):
        before = [contents(value) for value in (*sample.positional, *sample.named.values())]
        try:
            sample.call(function)
        except OpdslError as error:
            yield from _message_faults(what, error)
        except TypeError as error:
            if "argument" not in str(error):
                yield f"{what}: a bare TypeError: {error}"
        except Exception as error:
            yield f"{what}: {type(error).__name__} is no error of opdsl's: {error}"
        else:
            yield f"{what}: nothing is raised"
        if [contents(value) for value in (*sample.positional, *sample.named.values())] != before:
            yield f"{what}: an argument is changed"
    yield from _outside(subject)
    yield from guard_pages.check(subject)


def _outside(subject: Subject) -> Iterator[str]:
    """Yield out-of-bounds accesses of an author's compiled kernel, by running it with bounds checks."""
    kernel = subject.operator.entry(DispatchKey("CPU")).kernel
    if not isinstance(kernel, StructuredKernel) or not isinstance(kernel.definition, StructuredDefinition):
        return
    own = kernel.definition.kernels.get("CPU")
    if own is None or not own.compiled or subject.operator.schema.out:
        return
    signature = Signature(subject.operator)
    for sample in map(Sample.copy, subject.samples):
        bound = bind(subject.operator.schema.name.base, (signature,), sample.positional, sample.named)
        try:
            with checked_bounds():
                kernel(*bound.arguments)
        except BoundsError as error:
            yield f"{sample}: {error}"


def _message_faults(what: str, error: OpdslError) -> Iterator[str]:
    if not str(error).strip():
        yield f"{what}: {type(error).__name__} says nothing"


def _wrong(subject: Subject) -> Iterator[tuple[str, Sample, Callable[..., Any]]]:
    """Yield calls that have to fail: a description of the mistake, the call, and the function to call."""
    first = subject.samples[0]
    function = subject.function
    positional = subject.operator.schema.positional
    for place, argument in enumerate(positional[: len(first.positional)]):
        sample = first.copy()
        arguments = list(sample.positional)
        arguments[place] = _NONSENSE
        yield f"an object() for {argument.name}", Sample(*arguments, **sample.named), function
        if not isinstance(argument.type, OptionalType) and argument.default is None:
            arguments = [None if at == place else value for at, value in enumerate(sample.positional)]
            yield f"None for {argument.name}", Sample(*arguments, **sample.named), function
    sample = first.copy()
    yield "an unknown keyword", Sample(*sample.positional, **sample.named, no_such_argument=1), function
    if Signature(subject.operator).spread is None:
        yield "too many arguments", Sample(*sample.positional, *(1,) * (len(positional) + 1), **sample.named), function
    if positional and positional[0].default is None:
        yield "no arguments", Sample(), function
    yield from _wrong_outputs(subject)


def _wrong_outputs(subject: Subject) -> Iterator[tuple[str, Sample, Callable[..., Any]]]:
    out = subject.variants.get("out")
    if out is None:
        return
    options = {argument.python_name for argument in subject.operator.schema.arguments} - {
        argument.python_name
        for argument in getattr(out, "schema").arguments  # noqa: B009
    }
    for sample in subject.samples:
        result = sample.copy().call(subject.function)
        if not isinstance(result, Tensor) or result.numel() < 2:
            continue
        call = sample.copy()
        named = {name: value for name, value in call.named.items() if name not in (*options, "out")}
        yield "an output that is no tensor", Sample(*call.positional, **named, out=_NONSENSE), out
        elsewhere = new_tensor(result.geometry.replace(device=Device("meta"), is_view=False))
        if any(not tensor.is_meta for tensor in tensors_in((*call.positional, *named.values()))):
            yield "an output on another device", Sample(*call.positional, **named, out=elsewhere), out
        one = new_tensor(result.geometry.replace(shape=(1,), strides=(1,), is_view=False))
        expanded = make_view(one, result.shape, (0,) * result.ndim)
        yield "an output of one element, expanded", Sample(*call.positional, **named, out=expanded), out
        return
