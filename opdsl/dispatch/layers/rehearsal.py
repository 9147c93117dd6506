"""Layer for operators that write several tensors: a dry run detects errors before anything is written.

Each element of a list is checked only by the kernel that writes it, after the elements before it have been written. So
a call without a plan is first made on symbolic tensors.
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

# Lists may be long, and the recorded steps do not become a plan.
_MOST_STEPS = 1 << 20


def rehearsed(operator: Operator, kernel: Kernel, reached: Reached) -> Kernel:
    """Wrap the kernel of an operator that writes several tensors so that a dry run precedes it."""
    schema = operator.schema
    state = current.get()
    if state.lowering or state.modes or schema.kind not in (SchemaKind.inplace, SchemaKind.mutable):
        return kernel
    written = schema.written_arguments
    writes_several = len(written) > 1 or isinstance(written[0].type, ListType)
    return Rehearsed(operator, kernel) if writes_several else kernel


class Rehearsed(Around):
    """Kernel wrapper that writes nothing if the call raises an error, by a dry run."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> object:
        """Make a dry run unless an equal call has passed before, and run the kernel.

        Raises:
            OpdslError: the kernel's error; nothing has been written then.
        """
        key = _key(self.operator, arguments)
        if key is None or key not in _passed:
            rehearse(self.kernel, arguments)
            if key is not None:
                if len(_passed) >= PLAN_LIMIT:
                    _passed.clear()
                _passed.add(key)
        return self.kernel(*arguments)


# Keys of calls whose dry run raised nothing: equal calls need no dry run.
_passed: set[tuple[object, ...]] = set()


def _key(operator: Operator, arguments: Sequence[object]) -> tuple[object, ...] | None:
    """Return a key of all that decides whether a call raises; None if tensors share memory or require grad."""
    tensors = list(tensors_in(arguments))
    roots = {id(storage_root(tensor)) for tensor in tensors}
    if len(roots) < len(tensors) or any(tensor.geometry.requires_grad for tensor in tensors):
        return None
    others = repr(list(_others(arguments)))
    return (operator, current.get(), others, *[tensor.geometry for tensor in tensors])


def _others(value: object) -> Iterator[object]:
    """Yield the values in an argument that are no tensors, and the lengths of lists."""
    if isinstance(value, (list, tuple)):
        yield len(value)
        for element in value:
            yield from _others(element)
    elif not isinstance(value, Tensor):
        yield value


def rehearse(run: Callable[..., object], arguments: Sequence[object]) -> None:
    """Make a dry run of a call on symbolic tensors, which raises the call's errors and writes nothing.

    A call that cannot be lowered is checked only up to the step that cannot be.

    Args:
        run: makes the call, with positional arguments.
        arguments: the arguments of the call.
    """
    recorder = _Rehearsal(is_exact=True, most_steps=_MOST_STEPS)
    with recording(recorder), suppress(NotLoweredError):
        run(*_StandIns(recorder).taken(arguments))


class _Rehearsal(Lowering):
    """Recorder for dry runs, whose record is dropped, so that it does not look for steps to join."""

    def allocates(self, *_: object) -> bool:
        """Return False, so that no allocation is joined with the step that fills it."""
        return False


class _StandIns(Inputs):
    """Symbolic arguments for a dry run; views share memory as they do in the call."""

    def taken(self, arguments: Sequence[object]) -> tuple[Any, ...]:
        """Return the symbolic counterparts of the arguments."""
        bases: dict[int, Tensor] = {}
        for tensor in sorted(tensors_in(arguments), key=lambda tensor: tensor._base is not None):
            output = self._tensor(tensor, self.recorder.name("tensor"), is_fixed=True)
            self.recorder.originals[id(output)] = tensor
            if output._base is not None:
                root = id(storage_root(tensor))
                output._base = self.seen.get(root) or bases.setdefault(root, output._base)
        call = [Given("argument", None, value, set()) for value in arguments]
        return self.taken_in(call)[0]
