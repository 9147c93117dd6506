"""Function objects that keep their identity while their code is generated and replaced.

Users keep references to the functions of operators and packets, so these stay the same objects when overloads are
added. The source is generated when a function is first called, to keep the import of hundreds of operators fast.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import FunctionType

from opdsl.dispatch.plans.call_cache import CallCache
from opdsl.dispatch.plans.lazy_string import LazyString
from opdsl.runtime.forking import registering

# A thread that is suspended during a call continues with the globals of the code that it runs. The globals of this
# many later builds are kept for it.
BUILDS_KEPT = 32


def _stub(*positional: object, **named: object) -> object:
    return build()(*positional, **named)  # type: ignore[name-defined]  # noqa: F821  found in the lazy_function's own namespace


class LazyFunction:
    """Function of a packet, an operator or a method, whose code is generated at the first call.

    Args:
        name: the function's name.
        module: the function's module, for help and pickling.
        make: makes the call cache from the current declarations. It takes the namespace for the generated function.
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
        """Generate the function's code unless it is up to date, and return the function."""
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
        """Return the generated source of the function."""
        with registering:
            self.build()
            assert self.cache is not None, "nothing changes while this thread holds the lock"
            return self.cache.source

    def change(self) -> None:
        """Invalidate the function's code, since its overloads have changed: it is generated again at the next call."""
        with registering:
            self.cache = None
            self.function.__code__ = _stub.__code__
            self.function.__defaults__ = None
            self.function.__kwdefaults__ = None

    def forget(self) -> None:
        """Drop the function's plans, since a kernel has changed."""
        cache = self.cache
        if cache is not None:
            cache.forget()
