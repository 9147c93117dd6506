"""Dispatch modes: Python code that intercepts every operator call, and may compute the result itself."""

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
    """Context manager that intercepts every operator call while it is entered, in this thread or task.

    Subclass it and write ``dispatch``. That runs with this mode off, so that its own calls are not intercepted again;
    the modes entered before it are on, and see the call when ``dispatch`` calls the operator. The innermost mode is
    called first.

    before_decomposition: False: the mode sees the operators that composites call, but not the composites. True: it sees
        the operators that the program calls, but not those that their bodies call. Modes before decomposition come
        before those after it.
    keeps_plans: whether call caches store the plans that ``plan`` returns.
    is_lowered: whether it may handle calls that are being lowered, on symbolic tensors.

    A mode can also decorate functions.

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
        """Return the result of an intercepted call; override it.

        Args:
            operator: the function of the overload that is called, ``opdsl.ops.aten.add.Tensor``, with its ``schema``,
                ``tags`` and ``variants``.
            args: the positional arguments, converted: lists are tuples, Python numbers for tensors stay
                numbers.
            kwargs: the keyword arguments, ``out=`` among them. In both, arguments at their default are left out.

        Returns:
            The result that the schema declares; an operator that writes an argument may return None for it.
        """
        return operator(*args, **kwargs)

    def backward(self, tensors: Sequence[Any], gradients: Sequence[Any] | None) -> bool:
        """Do a backward pass that accumulates into leaves, in place of autograd; override it.

        Args:
            tensors: the tensors where the pass begins.
            gradients: their gradients; None for those of single numbers.

        Returns:
            Whether the pass was done.
        """
        return False

    def gradients_of(
        self, outputs: Sequence[Any], inputs: Sequence[Any], gradients: Sequence[Any] | None
    ) -> Sequence[Any] | None:
        """Return the gradients of outputs with respect to inputs, in place of autograd; override it.

        Args:
            outputs: the tensors that are differentiated.
            inputs: the tensors with respect to which they are differentiated.
            gradients: the gradients of the outputs; None for those of single numbers.

        Returns:
            One gradient for each input, None for one that no output depends on; None to leave the pass to autograd.
        """
        return None

    def before_gradient_is_used(self, tensor: Any, *, is_set: bool) -> None:
        """Do nothing; override this method to act before the program reads or sets the gradient of a tensor.

        Args:
            tensor: the tensor whose ``grad`` is used.
            is_set: whether it is set; otherwise it is read.
        """

    def plan(self, operator: Any, arguments: tuple[Any, ...]) -> Callable[..., object] | None:
        """Return a function that serves further calls like one that ``dispatch`` has handled, or None.

        Args:
            operator: see ``dispatch``.
            arguments: all arguments, in the order of the schema.

        Returns:
            A function of the arguments whose values a plan does not know: tensors, lists of them, and numbers. It runs
            with this mode off, for calls whose tensors have the same geometries, and whose other arguments are the
            same.
        """
        return None

    @property
    def dispatch_key(self) -> DispatchKey:
        """Return the key at which calls reach this mode."""
        return PRE_DISPATCH if self.before_decomposition else PYTHON

    def state_within(self, before: State) -> State:
        """See ``Scope``."""
        return before.change(modes=(*before.modes, self), include=before.include | KeySet(self.dispatch_key))


def _innermost(state: State, key: DispatchKey) -> DispatchMode | None:
    """Return the mode that a call reaches at a key, or None."""
    for mode in reversed(state.modes):
        if isinstance(mode, DispatchMode) and mode.dispatch_key is key:
            return mode
    return None


def _without_innermost(key: DispatchKey, state: State) -> State:
    """Return the state without the innermost mode of a key, and without the key if that was the last mode."""
    mode = _innermost(state, key)
    index = max((index for index, candidate in enumerate(state.modes) if candidate is mode), default=len(state.modes))
    less = state.change(modes=state.modes[:index] + state.modes[index + 1 :])
    return less if _innermost(less, key) else less.change(include=less.include - KeySet(key))


class _ModeCall(Kernel):
    """Kernel that passes the calls of one operator to a mode.

    Args:
        mode, operator: the mode and the operator.
        outside: the guard that turns the mode off.
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
        """Return the mode's plan, wrapped so that it runs with the mode off."""
        function = self.mode.plan(self.operator.function, arguments)
        if function is None:
            return None
        plan, without = function, self.outside.state_within(current.get())

        def run(*dynamic: object) -> object:
            before = current.get()
            try:  # set within try, since Python may raise a signal's exception right after a built-in function returns
                current.set(without)
                return plan(*dynamic)
            finally:
                current.set(before)

        return run


class ModeKernel(PerCallKernel):
    """Fallback of a key at which calls reach modes."""

    __slots__ = ("_outside", "key")

    def __init__(self, key: DispatchKey) -> None:
        self.key = key
        self._outside = Guard(partial(_without_innermost, key), keep=True)

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """Return the kernel of the innermost mode; the kernel below without a mode, or to decompose a composite."""
        below = keys & KeySet.below(self.key)
        mode = _innermost(current.get(), self.key)
        if mode is None or (self.key is PYTHON and operator.is_composite(below)):
            return operator.find_in(below)
        return _ModeCall(mode, operator, self._outside)

    @property
    def sees_calls(self) -> bool:
        """Return whether a mode is entered that does not allow its calls to be lowered to plans."""
        mode = _innermost(current.get(), self.key)
        return mode is not None and not mode.is_lowered

    def __str__(self) -> str:
        return "modes"


def mode_fallbacks() -> dict[DispatchKey, Kernel]:
    """Return the fallbacks that pass calls to modes."""
    return {key: ModeKernel(key) for key in (PYTHON, PRE_DISPATCH)}


__all__ = ["DispatchMode", "ModeKernel", "mode_fallbacks"]
