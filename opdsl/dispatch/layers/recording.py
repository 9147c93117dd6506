"""Recording: what every call took, reported to profilers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from time import perf_counter
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.state import Guard, Scope, State
from opdsl.runtime import Tensor

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

Hook = Callable[[Any, tuple[Any, ...], float], object]

# Not part of the state, so that one set of plans serves every recording.
_hooks: ContextVar[tuple[Hook, ...]] = ContextVar("opdsl_hooks", default=())


class record_calls(Scope):
    """Report every operator that is called in this thread or task while this is entered, also within composites.

    Calls are planned as they are without it, so what is measured is what a program without it takes, to some tenths
    of a microsecond. Where nothing records, calls test nothing for it.

    Args:
        hook: called at the end of each call, also of one that fails, inner calls before the one that they are made
            in, with
            the function of the overload (``opdsl.ops.aten.add.Tensor``),
            the geometries of the tensors among its arguments, of the elements of a list as a tuple,
            the seconds that its kernel took, with all that it called.
            What the hook calls itself is not recorded.

    >>> import opdsl
    >>> x = opdsl.ones(2, 3)
    >>> with opdsl.record_calls(lambda operator, geometries, seconds: print(operator.schema.name, geometries[0].shape)):
    ...     y = x.t() @ x
    t (2, 3)
    mm (3, 2)
    matmul (3, 2)
    """

    __slots__ = ("hook",)

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    def state_within(self, before: State) -> State:
        """See ``Scope``."""
        return _RECORDING.state_within(before)

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``runtime.scopes``."""
        return (*super().changes(), (_hooks, (*_hooks.get(), self.hook)))


_RECORDING = Guard(lambda state: state.change(recording=True), keep=True)


def recorded(operator: Operator, kernel: Callable[..., object]) -> Callable[..., object]:
    """A kernel, or a plan, that reports what each call took."""

    function: Any = None

    def call(*arguments: object) -> object:
        nonlocal function
        hooks = _hooks.get()
        if not hooks:  # a hook makes the call
            return kernel(*arguments)
        # Before the call, which may resize an output.
        geometries: list[object] = []
        for each in arguments:
            if type(each) is Tensor:
                geometries.append(each.geometry)
            elif isinstance(each, (Tensor, list, tuple)):
                geometries += _geometries(each)
        start = perf_counter()
        try:
            return kernel(*arguments)
        finally:
            seconds = perf_counter() - start
            function = function or operator.function
            _hooks.set(())
            try:
                for hook in hooks:
                    hook(function, tuple(geometries), seconds)
            finally:
                _hooks.set(hooks)

    return call


def _geometries(value: Tensor | Sequence[object]) -> list[object]:
    """The geometry of a tensor, those of a list of tensors as a tuple; nothing of a list without any."""
    if isinstance(value, Tensor):
        return [value.geometry]
    if not any(isinstance(each, Tensor) for each in value):
        return []
    return [tuple([each.geometry if isinstance(each, Tensor) else None for each in value])]


__all__ = ["record_calls", "recorded"]
