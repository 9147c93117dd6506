"""Law 4: an operator writes and aliases exactly what the alias sets of its schema declare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opdsl.dispatch.layers.effects import Effects, changes_itself, may_share
from opdsl.runtime import Tensor, bool_
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema import GENERATED
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject


class Seen:
    """Record of the effects observed in any sample.

    written: names of arguments that changed. shared: pairs of an argument's name and a result's index.
    """

    __slots__ = ("shared", "written")

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.shared: set[tuple[str, int]] = set()


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    seen = Seen()
    for sample in subject.samples:
        yield from (f"{sample}: {text}" for text in _check_one(subject, sample.copy(), seen))
    yield from _never_happened(subject, seen)


def _check_one(subject: Subject, sample: Sample, seen: Seen) -> Iterator[str]:
    arguments = _arguments(subject, sample)
    values = [arguments.get(argument.python_name) for argument in subject.operator.schema.arguments]
    effects = Effects(subject.operator, values)
    result = sample.call(subject.function)
    yield from (fault.text for fault in effects.faults(result))
    seen.written |= effects.written
    seen.shared |= effects.shared


def _arguments(subject: Subject, sample: Sample) -> dict[str, Any]:
    """Return the arguments of a sample by name."""
    schema, named = subject.operator.schema, dict[str, Any](sample.named)
    names = [argument.python_name for argument in schema.positional]
    # Generated operators are excluded: some of their outputs have no elements, so that they are not written.
    if isinstance(named.get("out"), tuple) and len(schema.out) > 1 and GENERATED not in subject.operator.tags:
        named |= dict(zip((out.python_name for out in schema.out), named["out"], strict=False))
    return {**dict(zip(names, sample.positional, strict=False)), **named}


def _never_happened(subject: Subject, seen: Seen) -> Iterator[str]:
    schema = subject.operator.schema
    if changes_itself(subject.operator):
        return
    arguments = [_arguments(subject, sample) for sample in subject.samples]
    for argument in schema.arguments:
        values = [by_name.get(argument.python_name) for by_name in arguments]
        if not any(isinstance(value, (Tensor, list, tuple)) for value in values):
            continue
        if schema.out and argument not in schema.out and GENERATED in subject.operator.tags:
            continue  # it calls the functional operator, which does not write its arguments
        # A tensor without elements cannot change, and a boolean may be written with its old value. An output can
        # still be resized.
        tensors = tensors_in(values)
        writable = argument in schema.out or any(tensor.numel() and tensor.dtype is not bool_ for tensor in tensors)
        if argument.is_written and writable and argument.python_name not in seen.written:
            yield f"{argument.name} is declared as written, but no sample changes it"
        for index, returned in enumerate(schema.returns):
            promised = not argument.is_written and may_share(argument.alias, returned.alias)
            if promised and (argument.python_name, index) not in seen.shared:
                yield f"result {index} is declared to share the memory of {argument.name}, but in no sample does"
