"""Profiling hooks: report the time of every operator call."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from threading import get_ident
from time import perf_counter
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.state import Guard, Scope, State
from opdsl.generated import function_from_source
from opdsl.runtime import Tensor

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

__all__ = ["record_calls", "recorded"]

Hook = Callable[[Any, tuple[Any, ...], float, float], object]

Open = Callable[[str], Callable[[], object]]
"""Function that is called with the operator's name when a call begins, and returns a function to call at its end."""


class _Recording:
    """State of the profiling hooks in one thread.

    hooks: the functions that calls are reported to.
    opens: the functions that are called when a call begins.
    nested: the seconds spent in reported calls that the running call has made.
    is_reporting: whether a hook is running, whose own calls are not reported.
    thread: the thread's identifier; another thread that continues with this context has its own recording.
    """

    __slots__ = ("hooks", "is_reporting", "nested", "opens", "thread")

    def __init__(self, hooks: tuple[Hook, ...], opens: tuple[Open, ...] = ()) -> None:
        self.hooks = hooks
        self.opens = opens
        self.nested = 0.0
        self.is_reporting = not hooks
        self.thread = get_ident()

    def in_this_thread(self) -> _Recording:
        """Return a new recording with the same hooks for the current thread, and make it the current one."""
        this_thread = _Recording(self.hooks, self.opens)
        _recording.set(this_thread)
        return this_thread


_NOBODY = _Recording(())

# Not part of the dispatcher state, so that all recordings share their plans.
_recording: ContextVar[_Recording] = ContextVar("opdsl_recording", default=_NOBODY)


class record_calls(Scope):
    """Report every operator call in this thread or task to a hook while this scope is entered.

    Calls run the same plans as without it, so the times are those of an unrecorded program, up to some tenths of a
    microsecond. Unrecorded calls do not test whether there is a hook.

    A composite is one call once it has a plan, as its plan calls no operator. Before that, the calls that it makes are
    reported too, before the composite.

    Args:
        hook: called at the end of each call, also of one that fails; inner calls come before the call that makes them.
            It is called with
            the function of the overload (``opdsl.ops.aten.add.Tensor``),
            the geometries of the tensors among its arguments, those of a list of tensors as a tuple,
            the seconds that the call took, including all calls it made,
            and the seconds of the reported calls among these, so that the difference is the call's own time.
            Calls that the hook itself makes are not reported.
        open: called with the operator's name at the begin of each call; returns a function that is called at its end.

    >>> import opdsl
    >>> x = opdsl.ones(2, 3)
    >>> def hook(operator, geometries, seconds, nested):
    ...     print(operator.schema.name, geometries[0].shape, nested > 0)
    >>> with opdsl.record_calls(hook):
    ...     y = x.t() @ x
    t (2, 3) False
    mm (3, 2) False
    matmul (3, 2) True
    """

    __slots__ = ("hook", "open")

    def __init__(self, hook: Hook, open: Open | None = None) -> None:
        self.hook = hook
        self.open = open

    def state_within(self, before: State) -> State:
        """See ``Scope``."""
        return _RECORDING.state_within(before)

    def changes(self) -> tuple[tuple[ContextVar[Any], Any], ...]:
        """See ``runtime.scopes``."""
        outer = _recording.get()
        hooks, opens = ((), ()) if outer.is_reporting else (outer.hooks, outer.opens)
        opens = opens if self.open is None else (*opens, self.open)
        return (*super().changes(), (_recording, _Recording((*hooks, self.hook), opens)))


_RECORDING = Guard(lambda state: state.change(recording=True), keep=True)

# The wrapper of a recorded kernel. Geometries are read before the call, which may resize its outputs.
_REPORTING = """\
def call({parameters}):
    now = recording()
    if now.is_reporting:
        return run({parameters})
    if now.thread != get_ident():
        now = now.in_this_thread()
    geometries = ({geometries})
    before, now.nested = now.nested, 0.0
    closes = [open(operator.operator.name) for open in now.opens] if now.opens else ()
    result, start = None, clock()
    try:
        result = run({parameters})
        return result
    finally:
        seconds = clock() - start
        nested = now.nested
        now.nested = before + seconds
        for close in reversed(closes):
            close()
        if result is not GUARD_FAILED:
            now.is_reporting = True
            try:
                for hook in now.hooks:
                    hook(operator, geometries, seconds, nested)
            finally:
                now.is_reporting = False
"""


def recorded(operator: Operator, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any]:
    """Wrap a kernel or a plan so that each call is reported to the profiling hooks.

    Args:
        operator: the operator that is called.
        kernel: the kernel or plan.
        arguments: the arguments of one call; those of all other calls have the same types.
    """
    parts = [_geometries(f"given{index}", argument) for index, argument in enumerate(arguments)]
    parameters = ", ".join(f"given{index}" for index in range(len(arguments)))
    text = _REPORTING.format(parameters=parameters, geometries="".join(f"{part}, " for part in parts if part))
    names = {
        "run": kernel,
        "operator": operator.function,
        "recording": _recording.get,
        "get_ident": get_ident,
        "clock": perf_counter,
        "GUARD_FAILED": GUARD_FAILED,
    }
    return function_from_source("call", text, names, title="recorded call")


def _geometries(name: str, value: object) -> str:
    """Return the expression of a tensor's geometry, of a list's as a tuple; empty for values without tensors."""
    if isinstance(value, Tensor):
        return f"{name}.geometry"
    if not isinstance(value, (list, tuple)) or not any(isinstance(element, Tensor) for element in value):
        return ""
    parts = [_geometries(f"{name}[{index}]", element) or "None" for index, element in enumerate(value)]
    return f"({''.join(f'{part}, ' for part in parts)})"
