"""Kernel that runs an operator's overrides at one dispatch key, and the kernel below them if no condition holds.

Its plans test the conditions on every call, since these see the tensors, and have everything else as constants: one
generated function of the tensors and numbers, which ends with the plan of the kernel below.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from types import CodeType
from typing import NamedTuple

from opdsl.dispatch.binding.results import checked_result, written_values
from opdsl.dispatch.fitting import is_jitted, takes
from opdsl.dispatch.keys import DispatchKey, KeySet
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.plans.lowered import lower_kernel
from opdsl.dispatch.table import compute
from opdsl.errors import KernelSignatureError, MissingKernelError
from opdsl.generated import function_from_source
from opdsl.runtime import Tensor, bump_version
from opdsl.runtime.plan_call import Plan


class Override:
    """Registered override: an implementation of an operator, with the condition under which it is used.

    dsl_name: the DSL that it belongs to.
    op_symbol: the qualified name of the operator.
    dispatch_key: the key at which it is registered.
    cond: returns whether the override serves a call; None for every call.
    impl: computes the result.
    """

    __slots__ = ("cond", "dispatch_key", "dsl_name", "impl", "op_symbol")

    def __init__(
        self,
        dsl_name: str,
        op_symbol: str,
        dispatch_key: DispatchKey,
        cond: Callable[..., object] | None,
        impl: Callable[..., object],
    ) -> None:
        self.dsl_name = dsl_name
        self.op_symbol = op_symbol
        self.dispatch_key = dispatch_key
        self.cond = cond
        self.impl = impl

    @property
    def unconditional_override(self) -> bool:
        """Return whether the override serves every call."""
        return self.cond is None

    def __repr__(self) -> str:
        function_name = getattr(self.impl, "__qualname__", repr(self.impl))
        return f"<override {function_name} of {self.op_symbol} at {self.dispatch_key} by {self.dsl_name}>"


class Step(NamedTuple):
    """Override in the list that an ``OverrideKernel`` tries in order; a ``condition`` of None matches every call."""

    condition: Callable[..., object] | None
    implementation: Callable[..., object]
    wants_keys: bool


def wants_keys(implementation: object) -> bool:
    """Return whether an implementation's first parameter is ``dispatch_keys``."""
    code = getattr(implementation, "__code__", None)
    return code is not None and code.co_argcount > 0 and code.co_varnames[0] == "dispatch_keys"


def require_fitting(function: object, operator: Operator, role: str, *, skip: int = 0) -> None:
    """Check that a condition or an implementation accepts the arguments of the operator's schema.

    Args:
        function: a callable; if its parameters are unknown, it is accepted.
        operator: the operator, whose positional arguments are passed by position, the others by name.
        role: the use of the function, for the message.
        skip: the number of parameters before those of the schema.

    Raises:
        KernelSignatureError: the function cannot take these arguments.
    """
    if not callable(function):
        raise KernelSignatureError(f"{operator.name}: the {role} is no function (got {function!r}). Pass a callable.")
    if is_jitted(function):
        raise KernelSignatureError(
            f"{operator.name}: the {role} {_name(function)} is compiled by numba, which takes arrays and no tensors. "
            f"Pass opdsl.backends.dsl.numba_dsl.compiled({_name(function)})."
        )
    schema = operator.schema
    by_place, by_name = (
        schema.positional,
        sorted(argument.python_name for argument in schema.arguments[len(schema.positional) :]),
    )
    if not takes(function, skip + len(by_place), by_name):
        before = ["dispatch_keys"] * skip + [argument.python_name for argument in by_place]
        wanted = ", ".join([*before, *(["*", *by_name] if by_name else [])])
        code = getattr(function, "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}: " if isinstance(code, CodeType) else ""
        raise KernelSignatureError(
            f"{where}{operator.name}: the {role} {_name(function)} does not accept the arguments of {schema}. Write: "
            f"def {_name(function)}({wanted})."
        )


def _name(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))


class OverrideKernel(Kernel):
    """Kernel that runs the overrides of an operator at one dispatch key.

    Args:
        operator: the operator that is overridden.
        key: the dispatch key.
        choose: returns the active overrides, in the order in which they are tried.
        lock: the lock that is held while overrides change.
    """

    # Conditions have to see the tensors of each call.
    sees_calls = True
    stays_first = True

    __slots__ = ("_keys", "_origin", "_steps", "choose", "key", "lock", "operator")

    def __init__(
        self,
        operator: Operator,
        key: DispatchKey,
        choose: Callable[[], list[Override]],
        lock: AbstractContextManager[bool],
    ) -> None:
        self.operator = operator
        self.lock = lock
        self.key = key
        self.choose = choose
        self._origin = self
        self._steps: tuple[Step, ...] | None = None
        self._keys = KeySet(key)

    def forget(self) -> None:
        """Drop the cached list of overrides, since they have changed."""
        self._steps = None

    def for_call(self, operator: Operator, keys: KeySet) -> OverrideKernel:
        """Return the kernel for calls with a key set."""
        bound = OverrideKernel(self.operator, self.key, self.choose, self.lock)
        bound._origin, bound._steps, bound._keys = self, self.steps, keys
        return bound

    @property
    def overrides(self) -> list[Override]:
        """Return the active overrides."""
        return self.choose()

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return the overrides in the order in which they are tried; the first call computes the order, and imports
        DSLs.
        """
        steps = self._steps
        if steps is None:
            with self.lock:
                steps = self._steps = tuple(
                    Step(override.cond, override.impl, wants_keys(override.impl)) for override in self.choose()
                )
        return steps

    def beneath(self) -> Kernel:
        """Return the kernel that the overrides take precedence over.

        Raises:
            MissingKernelError: no kernel is registered.
        """
        registrations = dict(self.operator.registrations)
        kernels = registrations.pop(self.key, [])
        older = kernels[kernels.index(self._origin) + 1 :] if self._origin in kernels else kernels
        if older:
            registrations[self.key] = older
        kernel = compute(self.key, registrations, self.operator.fallbacks).kernel
        if kernel is None:
            raise MissingKernelError(
                f"{self.operator.name}: no override matches these arguments, and there is no {self.key} kernel to fall "
                "back to. Pass unconditional_override=True, or register a kernel."
            )
        return kernel.for_call(self.operator, self._keys)

    def __call__(self, *arguments: object) -> object:
        """Run the first override whose condition holds, otherwise the kernel below the overrides."""
        count = len(self.operator.schema.positional)
        by_place = arguments[:count]
        names = [argument.python_name for argument in self.operator.schema.arguments[count:]]
        named = dict(zip(names, arguments[count:], strict=True))
        for step in self.steps:
            if step.condition is None or step.condition(*by_place, **named):
                first = (self._keys,) if step.wants_keys else ()
                return self._finish(step, step.implementation(*first, *by_place, **named), arguments)
        return self.beneath()(*arguments)

    def _finish(self, step: Step, result: object, arguments: tuple[object, ...]) -> object:
        """Check an implementation's result against the schema and return it; count the writes of its outputs."""
        schema = self.operator.schema
        for value in written_values(schema, arguments):
            for element in value if isinstance(value, tuple) else (value,):
                if isinstance(element, Tensor):
                    bump_version(element)

        def describe() -> str:
            function_name = getattr(step.implementation, "__qualname__", repr(step.implementation))
            return f"{self.operator.name}: the override {function_name}"

        return checked_result(schema, arguments, result, describe)

    def plan(self, arguments: tuple[object, ...]) -> Plan:
        """Return a function of the dynamic arguments that tests the conditions, and else runs the plan below."""
        names = [argument.python_name for argument in self.operator.schema.arguments]
        dynamic = self.operator.dynamic_names
        constants = {
            f"constant_{name}": value for name, value in zip(names, arguments, strict=True) if name not in dynamic
        }
        sources = [name if name in dynamic else f"constant_{name}" for name in names]
        count = len(self.operator.schema.positional)
        passed = [source if index < count else f"{names[index]}={source}" for index, source in enumerate(sources)]
        namespace: dict[str, object] = {"override_keys": self._keys, **constants}
        lines = [f"def override_plan({', '.join(dynamic)}):"]
        for index, step in enumerate(self.steps):
            lines += self._lines(index, step, passed, sources, namespace)
            if step.condition is None:
                break
        else:
            lines.append(f"    return override_rest({', '.join(dynamic)})")
            namespace["override_rest"] = self._rest(sources, arguments, namespace)
        source = "\n".join(lines) + "\n"
        return function_from_source("override_plan", source, namespace, title=f"overrides of {self.operator.name}")

    def _lines(
        self, place: int, step: Step, passed: list[str], sources: list[str], namespace: dict[str, object]
    ) -> list[str]:
        """Return the lines of one override in a plan."""
        namespace[f"override_{place}"] = step.implementation
        handed = ", ".join(["override_keys"] * step.wants_keys + passed)
        call = f"override_{place}({handed})"
        if self.operator.schema.written_arguments:
            namespace["override_finish"], namespace[f"override_step_{place}"] = self._finish, step
            call = f"override_finish(override_step_{place}, {call}, ({', '.join(sources)},))"
        if step.condition is None:
            return [f"    return {call}"]
        namespace[f"override_if_{place}"] = step.condition
        return [f"    if override_if_{place}({', '.join(passed)}):", f"        return {call}"]

    def _rest(self, sources: list[str], arguments: tuple[object, ...], namespace: dict[str, object]) -> Plan:
        """Return the function that runs if no condition holds: the kernel below, lowered at its first call."""
        dynamic = self.operator.dynamic_names
        places = {name: index for index, name in enumerate(dynamic)}
        spots = [places.get(source) for source in sources]

        def rest(*dynamic: object) -> object:
            full = tuple(value if spot is None else dynamic[spot] for spot, value in zip(spots, arguments, strict=True))
            kernel = self.beneath()
            before = _geometries(full)
            result = kernel(*full)
            # A call that resized its output does not show the geometries of the next call.
            if _geometries(full) == before:
                namespace["override_rest"] = lower_kernel(self.operator, kernel, full)
            return result

        return rest

    def __str__(self) -> str:
        return f"overrides of {self.operator.name} at {self.key}"


def _geometries(arguments: tuple[object, ...]) -> list[object]:
    return [argument.geometry for argument in arguments if isinstance(argument, Tensor)]


__all__ = ["Override", "OverrideKernel", "Step", "require_fitting", "wants_keys"]
