"""Comparison of two sets of entries: the changes, and whether each breaks callers.

Source of the rules about schemas: PyTorch's ``FunctionSchema::isBackwardCompatibleWith``. Removing a function or
method, or moving it to another Python module, breaks callers, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from opdsl.native.entry import NativeFunction, Variant
from opdsl.native.source import Location
from opdsl.schema import Argument, BaseType, FunctionSchema, ListType, OptionalType, Return, Type
from opdsl.schema.model import typed

WIDER: dict[BaseType, tuple[BaseType, ...]] = {
    BaseType.int: (BaseType.SymInt, BaseType.Scalar),
    BaseType.SymInt: (BaseType.int, BaseType.Scalar),
    BaseType.float: (BaseType.Scalar,),
    BaseType.bool: (BaseType.SymBool,),
}
"""Types that accept all values of another type, keyed by the latter. ``int`` accepts the values of ``SymInt``, as a
known size where necessary.
"""

OTHER_KEYS = (
    "tags",
    "dispatch",
    "structure",
    "autogen",
    "device_check",
    "device_guard",
    "cpp_no_default_args",
    "manual_cpp_binding",
    "manual_kernel_registration",
    "category_override",
    "use_const_ref_for_mutable_tensors",
)
"""Keys of entries that callers do not see."""


@attrs.frozen
class Change:
    """Difference between an old and a new operator with the same name.

    operator: its qualified name.
    message: a description of the difference.
    breaks: whether a call that was valid before may be invalid now.
    location: of the new entry, or of the old one if it was removed.
    """

    operator: str
    message: str
    breaks: bool
    location: Location

    def __str__(self) -> str:
        return f"{self.location}: {self.operator}: {self.message}"


Difference = tuple[str, bool]
"""Description of a change, and whether it breaks callers."""


def compare(old: Iterable[NativeFunction], new: Iterable[NativeFunction]) -> list[Change]:
    """Return the changes from old to new entries: first those that break callers, each kind in the order of the
    entries.

    >>> from opdsl.native import loads
    >>> [(change.message, change.breaks) for change in compare(
    ...     loads("- func: f(Tensor self) -> Tensor"), loads("- func: f(Tensor self, int n) -> Tensor"))]
    [('the new argument int n has no default', True)]
    """
    before = {function.name.qualified: function for function in old}
    after = {function.name.qualified: function for function in new}
    changes = []
    for operator_name, entry in before.items():
        function = after.get(operator_name)
        differences = _gone(entry, after) if function is None else list(differences_of(entry, function))
        location = (function or entry).location("func")
        changes += [Change(operator_name, message, breaks, location) for message, breaks in differences]
    for operator_name, entry in after.items():
        if operator_name not in before:
            changes.append(Change(operator_name, f"is new: {entry.schema}", False, entry.location("func")))
    return sorted(changes, key=lambda change: not change.breaks)


def _gone(entry: NativeFunction, after: dict[str, NativeFunction]) -> list[Difference]:
    """Return the difference for a removed operator, with the name of an operator that may replace it."""
    same = [
        other.name
        for other in after.values()
        if other.name.base == entry.name.base and _nameless(other.schema) == _nameless(entry.schema)
    ]
    hint = f" It may be {same[0]} now: an overload's name is part of what callers write." if same else ""
    return [(f"is gone: {entry.schema}.{hint}", True)]


def _nameless(schema: FunctionSchema) -> str:
    return str(schema).partition("(")[2]


def differences_of(old: NativeFunction, new: NativeFunction) -> Iterator[Difference]:
    """Yield the differences between two entries."""
    yield from schema_differences(old.schema, new.schema)
    for variant in Variant:
        if variant in old.variants - new.variants:
            yield f"is no {variant.value} any more", True
        elif variant in new.variants - old.variants:
            yield f"is a {variant.value} too", False
    if old.python_module != new.python_module:
        yield f"moved from {_module(old.python_module)} to {_module(new.python_module)}", True
    for key in OTHER_KEYS:
        if getattr(old, key) != getattr(new, key):
            yield f"{'structured kernels' if key == 'structure' else key} changed", False


def _module(name: str | None) -> str:
    return "torch" if name is None else f"torch.{name}"


def schema_differences(old: FunctionSchema, new: FunctionSchema) -> Iterator[Difference]:
    """Yield the differences between two schemas, return by return and argument by argument."""
    yield from _return_differences(old.returns, new.returns)
    inputs = old.positional + old.keyword_only
    yield from _argument_differences(old, new, inputs, new.positional + new.keyword_only, "argument")
    yield from _argument_differences(old, new, old.out, new.out, "out argument")


def _return_differences(old: tuple[Return, ...], new: tuple[Return, ...]) -> Iterator[Difference]:
    if len(old) != len(new):
        yield f"gives {_count(new)}, and gave {_count(old)}", True
        return
    names = [returned.name for returned in old]
    for index, (before, after) in enumerate(zip(old, new, strict=True)):
        what = f"return {index}"
        if before.name != after.name:
            moved = after.name is not None and after.name in names
            yield (
                f"{what} is {after.name or 'nameless'} now, and was {before.name or 'nameless'}"
                + (": the returns are reordered" if moved else ""),
                True,
            )
        if before.type != after.type:
            yield f"{what} is {after.type} now, and was {before.type}", not takes_all_of(before.type, after.type)
        if before.alias != after.alias:
            yield _alias_change(what, before, after)


def _count(returns: tuple[Return, ...]) -> str:
    return "1 value" if len(returns) == 1 else f"{len(returns)} values"


def _argument_differences(
    old: FunctionSchema,
    new: FunctionSchema,
    before: tuple[Argument, ...],
    after: tuple[Argument, ...],
    what: str,
) -> Iterator[Difference]:
    """Yield the differences between two lists of arguments, compared by position, as positional calls require."""
    names = [argument.name for argument in after]
    for index, argument in enumerate(before):
        if argument.name not in names and (
            index >= len(after) or after[index].name in [argument.name for argument in before]
        ):
            yield f"the {what} {argument.name} is gone", True
        elif index >= len(after) or (argument.name in names and after[index].name != argument.name):
            yield f"the {what} {argument.name} has another place", True
        elif after[index].name != argument.name:
            yield f"the {what} {argument.name} is called {after[index].name} now", True
        else:
            yield from _changes_of(argument, after[index], old, new, what)
    known = {argument.name for argument in before}
    for index, argument in enumerate(after):
        is_renamed = index < len(before) and before[index].name not in names
        if argument.name in known or is_renamed:
            continue
        has_default = argument.default is not None
        yield f"the new {what} {argument} has {'a' if has_default else 'no'} default", not has_default


def _changes_of(
    before: Argument, after: Argument, old: FunctionSchema, new: FunctionSchema, what: str
) -> Iterator[Difference]:
    """Yield the differences of an argument that kept its name and position."""
    what = f"the {what} {after.name}"
    if before.type != after.type:
        yield f"{what} is {after.type} now, and was {before.type}", not takes_all_of(after.type, before.type)
    if before.alias != after.alias:
        yield _alias_change(what, before, after)
    if after in new.keyword_only and before in old.positional:
        yield f"{what} is keyword-only now", True
    elif after in new.positional and before in old.keyword_only:
        yield f"{what} may be given by position now", False
    if before.default is None and after.default is not None:
        yield f"{what} has the default {after.default} now", False
    elif before.default is not None and after.default is None:
        yield f"{what} has lost its default {before.default}", True
    elif before.default is not None and after.default is not None and before.default.value != after.default.value:
        yield f"{what} has the default {after.default} now, and had {before.default}", True


def _alias_change(what: str, before: Argument | Return, after: Argument | Return) -> Difference:
    return f"{what} is {typed(after.type, after.alias)} now, and was {typed(before.type, before.alias)}", True


def takes_all_of(type: Type, other: Type) -> bool:
    """Return whether every value of the type ``other`` is a value of the type ``type``.

    A list may be written to, so each element type has to accept the values of the other one.

    >>> takes_all_of(OptionalType(BaseType.int), BaseType.int), takes_all_of(BaseType.int, BaseType.Scalar)
    (True, False)
    >>> takes_all_of(ListType(BaseType.SymInt, 2), ListType(BaseType.int, 2))
    True
    """
    if type == other:
        return True
    if isinstance(type, OptionalType):
        return takes_all_of(type.element, other.element if isinstance(other, OptionalType) else other)
    if isinstance(type, ListType):
        return (
            isinstance(other, ListType)
            and type.size == other.size
            and takes_all_of(type.element, other.element)
            and takes_all_of(other.element, type.element)
        )
    return isinstance(other, BaseType) and type in WIDER.get(other, ())


def is_compatible(old: FunctionSchema, new: FunctionSchema) -> bool:
    """Return whether every call that fits an old schema fits the new one, by PyTorch's rules."""
    return not any(breaks for _, breaks in schema_differences(old, new))
