"""Modes: Python code that sees every operator that is called, and may answer in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from opdsl.dispatch.binding.boxed import PerCallKernel, box
from opdsl.dispatch.binding.results import checked_result
from opdsl.dispatch.keys import DispatchKey, KeySet
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.state import Guard, Scope, State, current

if TYPE_CHECKING:
    from opdsl.dispatch.model.operator import Operator

PYTHON = DispatchKey("Python")
PRE_DISPATCH = DispatchKey("PreDispatch")


class DispatchMode(Scope):
    """Intercepts every operator that is called while the mode is entered, in this thread or task.

    Subclass it and write ``dispatch``. That runs with this mode off, so that what it calls is not intercepted again;
    the modes entered before it are on, and see the call when ``dispatch`` calls the operator. The innermost mode is
    asked first.

    before_decomposition: False, and the mode sees the operators that composites call, but not the composites; True,
        and it sees the operators that the program calls, but not what their bodies call. Modes before decomposition
        come before those after it.
    keeps_plans: whether callers keep what ``plan`` gives.
    is_lowered: whether it may answer calls that are lowered, on tensors that stand for those of all such calls.

    A mode is a context manager, and a decorator of functions.

    >>> import opdsl
    >>> class Log(opdsl.DispatchMode):
    ...     def dispatch(self, operator, args, kwargs):
    ...         print(operator.schema.name, len(args), kwargs)
    ...         return operator(*args, **kwargs)
    >>> with Log():
    ...     y = 1 - opdsl.ones(2).add(3, alpha=2)
    ones 1 {}
    add.Tensor 2 {'alpha': 2}
    rsub.Scalar 2 {}
    """

    before_decomposition: bool = False
    keeps_plans: bool = False
    is_lowered: bool = False

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """What a call is answered with; override it.

        Args:
            operator: the function of the overload that is called, ``opdsl.ops.aten.add.Tensor``, with its ``schema``,
                ``tags`` and ``variants``.
            args: the positional arguments, converted: lists are tuples, Python numbers that stand for tensors stay
                numbers.
            kwargs: the keyword arguments, ``out=`` among them.
                Of both, what is at its default is left out.

        Returns:
            What the schema says; an operator that writes an argument may return None for it.
        """
        return operator(*args, **kwargs)

    def backward(self, tensors: Sequence[Any], gradients: Sequence[Any] | None) -> bool:
        """Do a backward pass that accumulates into leaves, in place of autograd; override it.

        Args:
            tensors: where it begins.
            gradients: theirs; None for those of single numbers.

        Returns:
            Whether it is done.
        """
        return False

    def gradients_of(
        self, outputs: Sequence[Any], inputs: Sequence[Any], gradients: Sequence[Any] | None
    ) -> Sequence[Any] | None:
        """Give the gradients of outputs with respect to inputs, in place of autograd; override it.

        Args:
            outputs: what is differentiated.
            inputs: with respect to what.
            gradients: those of outputs; None for those of single numbers.

        Returns:
            One for each input, None for one that no output depends on; None where autograd is to do it.
        """
        return None

    def before_gradient_is_used(self, tensor: Any, *, is_set: bool) -> None:
        """Learn that the program reads or sets the gradient of a tensor; override it.

        Args:
            tensor: whose ``grad`` it is.
            is_set: whether it is set; read otherwise.
        """

    def plan(self, operator: Any, arguments: tuple[Any, ...]) -> Callable[..., object] | None:
        """What answers further calls like one that ``dispatch`` has answered; None, and it is asked each time.

        Args:
            operator: see ``dispatch``.
            arguments: all of them, in the order of the schema.

        Returns:
            A function of those arguments of which a plan does not know the value: tensors, lists of them, and numbers.
            It runs with this mode off, for calls whose tensors have the same geometries, and whose other arguments are
            the same.
        """
        return None

    @property
    def dispatch_key(self) -> DispatchKey:
        """The key at which calls come to this mode."""
        return PRE_DISPATCH if self.before_decomposition else PYTHON

    def state_within(self, before: State) -> State:
        """See ``Scope``."""
        return before.change(modes=(*before.modes, self), include=before.include | KeySet(self.dispatch_key))


def _innermost(state: State, key: DispatchKey) -> DispatchMode | None:
    """The mode that a call comes to at a key."""
    for mode in reversed(state.modes):
        if isinstance(mode, DispatchMode) and mode.dispatch_key is key:
            return mode
    return None


def _without_innermost(key: DispatchKey, state: State) -> State:
    """The state without the innermost mode of a key, and without the key if that was the last one."""
    mode = _innermost(state, key)
    index = max((index for index, candidate in enumerate(state.modes) if candidate is mode), default=len(state.modes))
    less = state.change(modes=state.modes[:index] + state.modes[index + 1 :])
    return less if _innermost(less, key) else less.change(include=less.include - KeySet(key))


class _ModeCall(Kernel):
    """What a mode makes of the calls of one operator.

    Args:
        mode, operator: these.
        outside: takes the mode off.
    """

    __slots__ = ("mode", "operator", "outside")

    def __init__(self, mode: DispatchMode, operator: Operator, outside: Guard) -> None:
        self.mode = mode
        self.operator = operator
        self.outside = outside

    def __call__(self, *arguments: object) -> object:
        positional, named = box(self.operator, arguments)
        with self.outside:
            result = self.mode.dispatch(self.operator.function, positional, named)
        who = f"{self.operator.name}: the mode {type(self.mode).__name__}"
        return checked_result(self.operator.schema, arguments, result, lambda: who)

    def plan(self, arguments: tuple[object, ...]) -> Callable[..., object] | None:
        """The mode's plan, which runs with the mode off."""
        function = self.mode.plan(self.operator.function, arguments)
        if function is None:
            return None
        plan, without = function, self.outside.state_within(current.get())

        def run(*dynamic: object) -> object:
            before = current.get()
            try:  # signals are looked for after a call of a built-in function, so the state is set within
                current.set(without)
                return plan(*dynamic)
            finally:
                current.set(before)

        return run


class ModeKernel(PerCallKernel):
    """The fallback of a key at which calls come to modes."""

    __slots__ = ("_outside", "key")

    def __init__(self, key: DispatchKey) -> None:
        self.key = key
        self._outside = Guard(partial(_without_innermost, key), keep=True)

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """The mode; the kernel beneath where there is none for the key, or a body has to be taken apart first."""
        below = keys & KeySet.below(self.key)
        mode = _innermost(current.get(), self.key)
        if mode is None or (self.key is PYTHON and operator.is_composite(below)):
            return operator.find_in(below)
        return _ModeCall(mode, operator, self._outside)

    @property
    def sees_calls(self) -> bool:
        """Whether no plan may be made of what it does: unless the mode says otherwise."""
        mode = _innermost(current.get(), self.key)
        return mode is not None and not mode.is_lowered

    def __str__(self) -> str:
        return "modes"


def mode_fallbacks() -> dict[DispatchKey, Kernel]:
    """The fallbacks that hand calls to modes."""
    return {key: ModeKernel(key) for key in (PYTHON, PRE_DISPATCH)}


__all__ = ["DispatchMode", "ModeKernel", "mode_fallbacks"]
