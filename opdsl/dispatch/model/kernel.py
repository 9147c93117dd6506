"""What dispatch tables hold: the protocol of kernels."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from opdsl.dispatch.keys import KeySet

__all__ = ["Around", "Kernel"]


class Kernel:
    """A kernel: called with converted arguments, in the order of the schema, it gives what the schema says.

    ``str`` shows it in tables and messages.
    """

    __slots__ = ()

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError

    def for_call(self, operator: Any, keys: KeySet) -> Kernel:
        """The kernel as a call with that key set runs it: of one that serves every operator, or asks for the keys.

        Args:
            operator: the ``Operator``, which holds kernels and is defined on top of them.
            keys: the key set of the call.
        """
        return self

    def run(self, *arguments: Any) -> Any:
        """Run it for a caller that counts the versions of what is written itself."""
        return self(*arguments)

    def plan(self, arguments: tuple[object, ...]) -> Callable[..., object] | None:
        """What serves further calls like one that has been made, where the kernel knows that better than lowering.

        Args:
            arguments: of that call.

        Returns:
            A function of the arguments of which a plan does not know the value: tensors, lists of them, and numbers.
        """
        return None

    @property
    def direct(self) -> Callable[..., object] | None:
        """The function, where running it is all that is to be done for a call like one that has been made."""
        return None

    @property
    def sees_calls(self) -> bool:
        """Whether it wants to see each call, so that no plan is made of what it does."""
        return False

    @property
    def stays_first(self) -> bool:
        """Whether kernels that are registered later come after it."""
        return False

    @property
    def hands_on(self) -> bool:
        """Whether it only hands calls on to other kernels, which are checked themselves."""
        return False

    @property
    def kind(self) -> str:
        """A word or two: ``pointwise``, ``view``; empty where it computes nothing itself."""
        return ""

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """The author's functions that it is made of."""
        return ()

    @property
    def place(self) -> str:
        """``file:line`` of the first function; empty where there is none."""
        if not self.functions:
            return ""
        code = self.functions[0].__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __str__(self) -> str:
        names = dict.fromkeys(function.__name__ for function in self.functions)
        return f"{self.kind} {', '.join(names)}"


class Around(Kernel):
    """A kernel that does something around another one, as which it shows itself.

    operator: which is called.
    kernel: its own.
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
