"""What a kernel is made of, for tables and messages."""

from __future__ import annotations

from types import FunctionType


class KernelInfo:
    """A kernel that names its kind and the Python functions that it is made of; ``str`` shows both."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """A word or two: ``pointwise``, ``view``."""
        raise NotImplementedError

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """The author's functions."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """``file:line`` of the first function; empty where there is none."""
        if not self.functions:
            return ""
        code = self.functions[0].__code__
        return f"{code.co_filename}:{code.co_firstlineno}"

    def __str__(self) -> str:
        names = dict.fromkeys(each.__name__ for each in self.functions)
        return f"{self.kind} {', '.join(names)}"
