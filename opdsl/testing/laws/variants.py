"""Law 2: the functional, in-place, ``out=`` and method variants, the packet's function and a second call agree bit for
bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opdsl.dispatch import registry
from opdsl.errors import OpdslError
from opdsl.kernels import new_tensor
from opdsl.runtime import Tensor, contiguous_strides
from opdsl.runtime.geometry import geometry
from opdsl.runtime.snapshot import Content, contents, tensors_in
from opdsl.testing.sample import Sample, difference
from opdsl.testing.subject import Subject

# Operators whose results have uninitialized elements.
UNINITIALISED = frozenset(
    (
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "new_empty",
        "new_empty_strided",
        "resize",
        "resize_",
        "resize_as",
        "resize_as_",
        "_resize_output",
        "_resize_output_",
    )
)


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    if subject.operator.schema.is_mutable or "nondeterministic_seeded" in subject.operator.tags:
        return
    uninitialised = subject.operator.schema.name.base in UNINITIALISED
    for sample in subject.samples:
        result = sample.copy().call(subject.function)
        wanted = contents(result)
        for name, call in _roads(subject, sample, result):
            try:
                actual = contents(call())
            except OpdslError as error:
                yield f"{name} of {sample} raises {type(error).__name__}: {error}"
                continue
            if not uninitialised:
                yield from (f"{name} of {sample}: {text}" for text in _differences(actual, wanted))


def _differences(actual: list[Content], wanted: list[Content]) -> Iterator[str]:
    if len(actual) != len(wanted):
        yield f"{len(actual)} results instead of {len(wanted)}"
        return
    yield from filter(None, map(difference, actual, wanted))


def _roads(subject: Subject, sample: Sample, result: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield every other way to compute the same result: a name and a function without arguments."""
    function, method = subject.function, subject.method
    yield "a second call", lambda: sample.copy().call(function)
    if subject.operator.is_bound and "function" in str(subject.operator.properties.get("variants", "")):
        packet = registry.packets[subject.operator.packet_name].function
        yield "the packet's function", lambda: sample.copy().call(packet)
    place = _place_of_self(subject)
    if method and place is not None and place < len(sample.positional):
        yield "the method", lambda: _call_method(method, sample.copy(), place)
    inplace, out = subject.variants.get("inplace"), subject.variants.get("out")
    if inplace is not None and _fits_in_place(sample, result):
        yield "the in-place variant", lambda: sample.copy().call(inplace)
    if out is not None and all(isinstance(element, Tensor) for element in _several(result)):
        named = _without_options(sample, out)
        for what, output in _outputs(result):
            yield f"out= ({what})", partial(_call_out, named, out, output)


def _call_out(sample: Sample, function: Any, output: Any) -> Any:
    return sample.copy().call(function, out=output)


def _place_of_self(subject: Subject) -> int | None:
    names = [argument.name for argument in subject.operator.schema.positional]
    return names.index("self") if "self" in names else None


def _call_method(name: str, sample: Sample, place: int) -> Any:
    positional = list(sample.positional)
    receiver = positional.pop(place)
    return getattr(receiver, name)(*positional, **sample.named)


def _fits_in_place(sample: Sample, result: Any) -> bool:
    target = sample.positional[0] if sample.positional else None
    if not isinstance(target, Tensor) or not isinstance(result, Tensor):
        return False
    # An in-place result keeps the argument's strides, so it equals the result bit for bit only if strides are equal.
    return (target.dtype, target.shape, target.strides) == (result.dtype, result.shape, result.strides)


def _several(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _without_options(sample: Sample, out: Any) -> Sample:
    """Return the sample without arguments that an output determines: dtype, layout, device."""
    taken = {argument.python_name for argument in out.schema.arguments}
    return Sample(*sample.positional, **{name: value for name, value in sample.named.items() if name in taken})


def _outputs(result: Any) -> Iterator[tuple[str, Any]]:
    """Yield new outputs with the result's geometry, and empty ones that the operator has to resize."""
    tensors = list(tensors_in(result))
    alike = [new_tensor(tensor.geometry.replace(is_view=False)) for tensor in tensors]
    yield "of the same form", alike[0] if isinstance(result, Tensor) else tuple(alike)
    if all(tensor.strides == contiguous_strides(tensor.shape) for tensor in tensors):
        empty = [new_tensor(geometry(tensor.dtype, tensor.device, (0,), (1,))) for tensor in tensors]
        yield "empty", empty[0] if isinstance(result, Tensor) else tuple(empty)
