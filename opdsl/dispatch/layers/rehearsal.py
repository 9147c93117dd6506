"""Operators that write several tensors are rehearsed: whatever refuses a call does so before anything is written.

Each element of a list is checked by the kernel that writes it, when those before it have been written. So a call that
no plan serves is made on what records alone first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.model.kernel import Around, Kernel
from opdsl.dispatch.plans.lowered import Given, Inputs, recording
from opdsl.dispatch.state import PLAN_LIMIT, current
from opdsl.runtime import Tensor
from opdsl.runtime.lowering import Lowering
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.storage import storage_root
from opdsl.runtime.symbol import NotLoweredError
from opdsl.schema import ListType, SchemaKind

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator, Reached

__all__ = ["rehearsed"]

# Lists may be long, and no plan is made of what is noted.
_MOST_STEPS = 1 << 20


def rehearsed(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """A layer: the kernel of an operator that writes several tensors, which is rehearsed before it is run."""
    schema = operator.schema
    state = current.get()
    if state.lowering or state.modes or schema.kind not in (SchemaKind.inplace, SchemaKind.mutable):
        return kernel
    written = schema.written_arguments
    writes_several = len(written) > 1 or isinstance(written[0].type, ListType)
    return Rehearsed(operator, kernel) if writes_several else kernel


class Rehearsed(Around):
    """A kernel that writes nothing where it refuses a call."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Check, and run the kernel.

        Raises:
            OpdslError: what the kernel raises; nothing has been written then.
        """
        key = _key(self.operator, arguments)
        if key is None or key not in _passed:
            rehearse(self.kernel, arguments)
            if key is not None:
                if len(_passed) >= PLAN_LIMIT:
                    _passed.clear()
                _passed.add(key)
        return self.kernel(*arguments)


# Calls that nothing has refused: further ones like them are not rehearsed.
_passed: set[tuple[object, ...]] = set()


def _key(operator: Operator, arguments: Sequence[object]) -> tuple[object, ...] | None:
    """What decides whether a call is refused; None where that is not told, as tensors share memory or get a history."""
    tensors = list(tensors_in(arguments))
    roots = {id(storage_root(tensor)) for tensor in tensors}
    if len(roots) < len(tensors) or any(tensor.geometry.requires_grad for tensor in tensors):
        return None
    others = repr(list(_others(arguments)))
    return (operator, current.get(), others, *[tensor.geometry for tensor in tensors])


def _others(value: object) -> Iterator[object]:
    """What is no tensor in an argument, with the lengths of lists."""
    if isinstance(value, (list, tuple)):
        yield len(value)
        for element in value:
            yield from _others(element)
    elif not isinstance(value, Tensor):
        yield value


def rehearse(run: Callable[..., object], arguments: Sequence[object]) -> None:
    """Make a call on what records alone: whatever refuses it raises, and nothing is written.

    Where a call cannot be lowered, it is not looked at from there on.

    Args:
        run: makes it, with arguments by place.
        arguments: of the call.
    """
    recorder = _Rehearsal(is_exact=True, most_steps=_MOST_STEPS)
    with recording(recorder), suppress(NotLoweredError):
        run(*_StandIns(recorder).taken(arguments))


class _Rehearsal(Lowering):
    """Records for nobody: what steps could be joined is not looked for."""

    def allocates(self, *_: object) -> bool:
        """No step is joined with another one."""
        return False


class _StandIns(Inputs):
    """The arguments of a call as what records, of which views share the memory that they share in the call."""

    def taken(self, arguments: Sequence[object]) -> tuple[Any, ...]:
        """What stands for arguments."""
        bases: dict[int, Tensor] = {}
        for tensor in sorted(tensors_in(arguments), key=lambda tensor: tensor._base is not None):
            output = self._tensor(tensor, self.recorder.name("tensor"), is_fixed=True)
            self.recorder.originals[id(output)] = tensor
            if output._base is not None:
                root = id(storage_root(tensor))
                output._base = self.seen.get(root) or bases.setdefault(root, output._base)
        call = [Given("argument", None, value, set()) for value in arguments]
        return self.taken_in(call)[0]
