"""A function object that stays the same while what it does is made, and made again.

Users hold on to the functions of operators and packets, so these keep their identity when overloads are added. The
source is generated when the function is first needed: hundreds of operators must not cost an import.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import FunctionType

from opdsl.dispatch.plans.call_cache import CallCache
from opdsl.dispatch.plans.lazy_string import LazyString
from opdsl.runtime.forking import registering

# A thread that was interrupted within a call goes on with the names that it began with; so many changes of overloads
# would have to happen meanwhile.
BUILDS_KEPT = 32


def _stub(*positional: object, **named: object) -> object:
    return build()(*positional, **named)  # type: ignore[name-defined]  # noqa: F821  found in the lazy_function's own namespace


class LazyFunction:
    """The function of a packet, an operator or a method.

    Args:
        name: the function's name.
        module: the function's module, for help and pickling.
        make: makes the call cache, from what is declared at that moment. It is handed the namespace to live in.
    """

    __slots__ = ("builds", "cache", "function", "make", "namespace")

    def __init__(self, name: str, module: str, make: Callable[[dict[str, object]], CallCache]) -> None:
        self.make = make
        self.cache: CallCache | None = None
        self.builds: deque[frozenset[str]] = deque()
        self.namespace: dict[str, object] = {"__name__": module, "build": self.build}
        self.function = FunctionType(_stub.__code__, self.namespace, name)
        self.function.__module__ = module
        self.function.__qualname__ = name
        self.function.__dict__["source"] = LazyString(self.source)

    def build(self) -> FunctionType:
        """Generate the function's source if that was not done since the last change, and return the function."""
        with registering:
            if self.cache is None:
                cache = self.make(self.namespace)
                self.builds.append(cache.own_globals)
                if len(self.builds) > BUILDS_KEPT:
                    for name in self.builds.popleft():
                        del self.namespace[name]
                function = cache.function
                self.function.__defaults__ = function.__defaults__
                self.function.__kwdefaults__ = function.__kwdefaults__
                self.function.__code__ = function.__code__
                self.cache = cache
        return self.function

    def source(self) -> str:
        """The function's source, generated."""
        with registering:
            self.build()
            assert self.cache is not None, "nothing changes while this thread holds the lock"
            return self.cache.source

    def change(self) -> None:
        """What the function stands for has changed: its source is made again when it is next needed."""
        with registering:
            self.cache = None
            self.function.__code__ = _stub.__code__
            self.function.__defaults__ = None
            self.function.__kwdefaults__ = None

    def forget(self) -> None:
        """Drop the plans: a kernel has changed."""
        cache = self.cache
        if cache is not None:
            cache.forget()
