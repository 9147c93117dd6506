"""Check of a call's memory effects (writes and shared memory) against the alias sets of its operator's schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.runtime import Tensor, share_storage, version_of
from opdsl.runtime.snapshot import contents, tensors_in
from opdsl.schema import Alias, Argument
from opdsl.schema.violation import Part, argument_part, return_part

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator


class Effect(NamedTuple):
    """Memory effect that the schema does not declare.

    part: the argument or the return that it concerns.
    text: a description.
    """

    part: Part
    text: str


class Effects:
    """Snapshot of a call's arguments before it, to find writes and shared memory that the schema does not declare.

    Args:
        operator: the operator that is called.
        values: its arguments, in the order of the schema; None for missing ones.

    written: the names of the arguments that have changed.
    shared: pairs of an argument and the index of a result that share memory.
    """

    __slots__ = ("_before", "_operator", "_values", "_versions", "shared", "written")

    def __init__(self, operator: Operator, values: Sequence[Any]) -> None:
        self._operator = operator
        self._values = list(zip(operator.schema.arguments, values, strict=True))
        self._before = [contents(value) for value in values]
        self._versions = [_versions(value) for value in values]
        self.written: set[str] = set()
        self.shared: set[tuple[str, int]] = set()

    def faults(self, result: object) -> Iterator[Effect]:
        """Yield the memory effects of the call that the schema does not declare.

        Args:
            result: the result of the call.
        """
        returns = self._operator.schema.returns
        results = tuple(result) if len(returns) > 1 and isinstance(result, (tuple, list)) else (result,)
        for index, (argument, value) in enumerate(self._values):
            if value is not None:
                yield from self._written(index, argument, value)
                yield from self._shared(index, argument, value, results)
        yield from self._shared_results(results)

    def _written(self, place: int, argument: Argument, value: Any) -> Iterator[Effect]:
        changed = contents(value) != self._before[place]
        counted = _versions(value) != self._versions[place]
        if changed:
            self.written.add(argument.python_name)
        if not argument.is_written and (changed or counted) and not self._is_part_of_written(value):
            how = "is changed" if changed else "counts a new version"
            yield Effect(argument_part(place), f"{argument.name} {how}, but is not declared as written: {argument}")
        if changed and not counted and argument.is_written and not changes_itself(self._operator):
            yield Effect(argument_part(place), f"{argument.name} is changed, but its version was not increased")

    def _is_part_of_written(self, value: Any) -> bool:
        """Return whether an argument shares memory with one that is written, as both arguments of ``x.add_(x)`` do."""
        written = [
            tensor for argument, operand in self._values if argument.is_written for tensor in tensors_in(operand)
        ]
        return any(share_storage(one, other) for one in tensors_in(value) for other in written)

    def _shared(self, place: int, argument: Argument, value: Any, results: tuple[Any, ...]) -> Iterator[Effect]:
        for at, (declared, returned) in enumerate(zip(self._operator.schema.returns, results, strict=False)):
            if _share(value, returned):
                self.shared.add((argument.python_name, at))
                if not self._operator.may_alias and not self._is_declared(argument, value, declared.alias):
                    text = f"result {at} shares the memory of {argument.name}, but no alias set says so"
                    yield Effect(return_part(at), text)
            own = argument.is_written and argument.alias == declared.alias and isinstance(value, Tensor)
            if own and returned is not value:
                yield Effect(return_part(at), f"result {at} is declared to be {argument.name}, but is another tensor")

    def _shared_results(self, results: tuple[Any, ...]) -> Iterator[Effect]:
        returns = self._operator.schema.returns
        for at, one in enumerate(results):
            for before, other in enumerate(results[:at]):
                declared = self._operator.may_alias or may_share(returns[before].alias, returns[at].alias)
                if not declared and _share(one, other) and not self._comes_from_written(one):
                    yield Effect(return_part(at), f"results {before} and {at} share memory, but no alias set says so")

    def _comes_from_written(self, result: Any) -> bool:
        """Return whether a result is a written argument, several of which may share memory."""
        return any(argument.is_written and result is value for argument, value in self._values)

    def _is_declared(self, argument: Argument, value: Any, result: Alias | None) -> bool:
        """Return whether alias sets allow a result to share the memory of an argument, or of another argument in that
        memory.
        """
        return any(
            may_share(other.alias, result) and (other is argument or _share(value, operand))
            for other, operand in self._values
        )


def changes_itself(operator: Operator) -> bool:
    """Return whether an operator changes a tensor's geometry or history (``t_``, ``retain_grad``), not elements."""
    return "inplace_view" in operator.tags or bool(operator.properties.get("manual_cpp_binding"))


def may_share(first: Alias | None, second: Alias | None) -> bool:
    """Return whether alias sets allow an argument and a result to share memory."""
    if first is None or second is None:
        return False
    sets = {*first.before, *first.after}
    return "*" in sets or bool(sets & {*second.before, *second.after, "*"})


def _share(value: Any, returned: Any) -> bool:
    return any(
        share_storage(one, other)
        for one in tensors_in(value)
        for other in tensors_in(returned)
        if one.numel() and other.numel() and not one.is_meta
    )


def _versions(value: object) -> list[int]:
    return [version_of(tensor) for tensor in tensors_in(value)]
