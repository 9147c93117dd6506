"""Base classes of the kernels in dispatch tables."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from opdsl.dispatch.keys import KeySet

__all__ = ["Around", "Kernel"]


class Kernel:
    """Base class of kernels, which are called with converted arguments in the order of the schema.

    A kernel returns the results that the schema declares. ``str`` is its name in tables and messages.
    """

    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def for_call(self, operator: Any, keys: KeySet) -> Kernel:
        """Return the kernel for calls of one operator with one key set; overridden by kernels that depend on these.

        Args:
            operator: the ``Operator``, whose class is defined in a module that imports this one.
            keys: the key set of the call.
        """
        return self

    def run(self, *arguments: Any) -> Any:
        """Run the kernel for a caller that updates the version counters of written tensors itself."""
        return self(*arguments)

    def plan(self, arguments: tuple[object, ...]) -> Callable[..., object] | None:
        """Return a function for further calls like one that was made; None to leave that to lowering.

        Args:
            arguments: the arguments of that call.

        Returns:
            A function of the arguments whose values a plan does not know: tensors, lists of them, and numbers.
        """
        return None

    @property
    def direct(self) -> Callable[..., object] | None:
        """Return the kernel's function if a call does nothing but run it, else None."""
        return None

    @property
    def sees_calls(self) -> bool:
        """Return whether the kernel must see each call, so that its calls are not lowered to plans."""
        return False

    @property
    def stays_first(self) -> bool:
        """Return whether the kernel keeps precedence over kernels that are registered later."""
        return False

    @property
    def hands_on(self) -> bool:
        """Return whether the kernel only redispatches to other kernels, which are checked themselves."""
        return False

    @property
    def kind(self) -> str:
        """Return the kind of kernel in a word or two, such as ``pointwise``; empty if it computes nothing itself."""
        return ""

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """Return the user's functions that the kernel consists of."""
        return ()

    @property
    def place(self) -> str:
        """Return ``file:line`` of the first function; empty if the kernel has no Python function."""
        if not self.functions:
            return ""
        code = self.functions[0].__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __str__(self) -> str:
        names = dict.fromkeys(function.__name__ for function in self.functions)
        return f"{self.kind} {', '.join(names)}"


class Around(Kernel):
    """Base class of kernel wrappers, which do something before or after the call of another kernel.

    A wrapper has the kind, functions and name of the wrapped kernel.

    operator: the operator that is called.
    kernel: the wrapped kernel.
    """

    __slots__ = ("kernel", "operator")

    def __init__(self, operator: Any, kernel: Kernel) -> None:
        self.operator = operator
        self.kernel = kernel

    @property
    def kind(self) -> str:
        """See ``Kernel``."""
        return self.kernel.kind

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Kernel``."""
        return self.kernel.functions

    def __str__(self) -> str:
        return str(self.kernel)
