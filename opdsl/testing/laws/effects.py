"""Law 4: what is written and what shares memory is what the schema's alias sets say, and that does happen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from opdsl.runtime import Tensor, share_storage, version_of
from opdsl.schema import Alias, Argument, Return
from opdsl.testing.sample import Sample, contents, tensors_in
from opdsl.testing.subject import Subject

# Operators whose results may be views though PyTorch's schemas do not say so, beside those that are tagged.
_SILENT = frozenset(
    ("aten::_unsafe_view", "aten::broadcast_tensors", "aten::unsafe_split", "aten::unsafe_split_with_sizes")
)
_SILENT |= {"aten::type_as", *(f"aten::atleast_{count}d" for count in (1, 2, 3))}
_TAGGED = "maybe_aliasing_or_mutating"


class Seen:
    """What happened in at least one sample.

    written: names of arguments that changed. shared: pairs of an argument's name and a result's place.
    """

    __slots__ = ("shared", "written")

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.shared: set[tuple[str, int]] = set()


def check(subject: Subject) -> Iterator[str]:
    """See the module."""
    seen = Seen()
    for sample in subject.samples:
        yield from (f"{sample}: {each}" for each in _check_one(subject, sample.copy(), seen))
    yield from _never_happened(subject, seen)


def _check_one(subject: Subject, sample: Sample, seen: Seen) -> Iterator[str]:
    arguments = _arguments(subject, sample)
    before = {name: contents(value) for name, value in arguments.items()}
    versions = {name: [version_of(each) for each in tensors_in(value)] for name, value in arguments.items()}
    result = sample.call(subject.function)
    for argument in subject.operator.schema.arguments:
        value = arguments.get(argument.python_name)
        if value is None:
            continue
        counted = [version_of(each) for each in tensors_in(value)] != versions[argument.python_name]
        changed = contents(value) != before[argument.python_name]
        if changed:
            seen.written.add(argument.python_name)
        if changed and not argument.is_written:
            yield f"{argument.name} is changed, but is not declared as written: {argument}"
        if counted and not argument.is_written:
            yield f"{argument.name} counts a new version, but is not declared as written: {argument}"
        if changed and not counted and "inplace_view" not in subject.operator.tags:
            yield f"{argument.name} is changed, but counts no new version"
        yield from _check_sharing(subject, argument, value, result, seen)


def _check_sharing(subject: Subject, argument: Argument, value: Any, result: Any, seen: Seen) -> Iterator[str]:
    for place, (declared, returned) in enumerate(
        zip(subject.operator.schema.returns, _results(subject, result), strict=False)
    ):
        shares = any(
            share_storage(one, other)
            for one in tensors_in(value)
            for other in tensors_in(returned)
            if one.numel() and other.numel() and not one.is_meta
        )
        if not shares:
            continue
        seen.shared.add((argument.python_name, place))
        silent = _TAGGED in subject.operator.tags or subject.operator.packet_name in _SILENT
        if not silent and not _may_share(argument.alias, declared):
            yield f"result {place} shares the memory of {argument.name}, but no alias set says so"


def _may_share(alias: Alias | None, returned: Return) -> bool:
    if alias is None or returned.alias is None:
        return False
    sets = {*alias.before, *alias.after}
    return "*" in sets or bool(sets & {*returned.alias.before, *returned.alias.after, "*"})


def _results(subject: Subject, result: Any) -> tuple[Any, ...]:
    return tuple(result) if len(subject.operator.schema.returns) > 1 else (result,)


def _arguments(subject: Subject, sample: Sample) -> dict[str, Any]:
    """The arguments of a sample by their names."""
    names = [each.python_name for each in subject.operator.schema.positional]
    return {**dict(zip(names, sample.given, strict=False)), **sample.named}


def _never_happened(subject: Subject, seen: Seen) -> Iterator[str]:
    schema = subject.operator.schema
    given = [_arguments(subject, sample) for sample in subject.samples]
    for argument in schema.arguments:
        values = [each.get(argument.python_name) for each in given]
        if not any(isinstance(each, (Tensor, list, tuple)) for each in values):
            continue
        # Without elements there is nothing to write; an output may still be resized.
        writable = argument in schema.out or any(each.numel() for each in tensors_in(values))
        if argument.is_written and writable and argument.python_name not in seen.written:
            yield f"{argument.name} is declared as written, but no sample changes it"
        for place, returned in enumerate(schema.returns):
            promised = argument.alias is not None and returned.alias is not None and not argument.alias.write
            if promised and _may_share(argument.alias, returned) and (argument.python_name, place) not in seen.shared:
                yield f"result {place} is declared to share the memory of {argument.name}, but in no sample does"
