"""The kernel that stands for an operator's overrides at one dispatch key: conditions first, then what was there.

Its plans check the conditions on every call, since these see the tensors, and know everything else: one generated
function of the tensors and numbers, with the plan of the kernel beneath at its end.
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
    """One registered override.

    dsl_name: the DSL that it belongs to.
    op_symbol: the qualified name of the operator.
    dispatch_key: the key at which it stands.
    cond: tells whether it serves a call; None serves every call.
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
        """Whether it serves every call."""
        return self.cond is None

    def __repr__(self) -> str:
        name = getattr(self.impl, "__qualname__", repr(self.impl))
        return f"<override {name} of {self.op_symbol} at {self.dispatch_key} by {self.dsl_name}>"


class Step(NamedTuple):
    """One override as a router runs it; ``condition`` None matches every call."""

    condition: Callable[..., object] | None
    implementation: Callable[..., object]
    wants_keys: bool


def wants_keys(implementation: object) -> bool:
    """Whether an implementation takes ``dispatch_keys`` first."""
    code = getattr(implementation, "__code__", None)
    return code is not None and code.co_argcount > 0 and code.co_varnames[0] == "dispatch_keys"


def require_fitting(function: object, operator: Operator, role: str, *, skip: int = 0) -> None:
    """Hold a condition or an implementation against the schema: it must take what a call hands it.

    Args:
        function: a callable; one that does not tell what it takes is not looked at.
        operator: whose positional arguments it gets by place, the others by name.
        role: what it is, for the message.
        skip: how many parameters come before the schema's.

    Raises:
        KernelSignatureError: it cannot take these arguments.
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
            f"{where}{operator.name}: the {role} {_name(function)} does not take what {schema} hands it. "
            f"Write: def {_name(function)}({wanted})."
        )


def _name(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))


class OverrideKernel(Kernel):
    """The kernel of an operator's overrides at one key.

    Args:
        operator: which is overridden.
        key: the dispatch key.
        choose: gives the overrides that are in force, in their order.
        lock: held while they change.
        keys: the key set of the call, for implementations that ask for it.
    """

    # Conditions see the tensors of each call.
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
        """The overrides have changed."""
        self._steps = None

    def for_call(self, operator: Operator, keys: KeySet) -> OverrideKernel:
        """The router for a call with that key set."""
        bound = OverrideKernel(self.operator, self.key, self.choose, self.lock)
        bound._origin, bound._steps, bound._keys = self, self.steps, keys
        return bound

    @property
    def overrides(self) -> list[Override]:
        """Those in force."""
        return self.choose()

    @property
    def steps(self) -> tuple[Step, ...]:
        """What is tried, in order; made when a call first needs it, which is when DSL files are imported."""
        steps = self._steps
        if steps is None:
            with self.lock:
                steps = self._steps = tuple(
                    Step(override.cond, override.impl, wants_keys(override.impl)) for override in self.choose()
                )
        return steps

    def beneath(self) -> Kernel:
        """The kernel that the overrides stand before.

        Raises:
            MissingKernelError: there is none.
        """
        registrations = dict(self.operator.registrations)
        kernels = registrations.pop(self.key, [])
        older = kernels[kernels.index(self._origin) + 1 :] if self._origin in kernels else kernels
        if older:
            registrations[self.key] = older
        kernel = compute(self.key, registrations, self.operator.fallbacks).kernel
        if kernel is None:
            raise MissingKernelError(
                f"{self.operator.name}: no override matches these arguments, and there is no {self.key} kernel beneath "
                "them. Pass unconditional_override=True, or register a kernel."
            )
        return kernel.for_call(self.operator, self._keys)

    def __call__(self, *arguments: object) -> object:
        """The first override whose condition holds, otherwise the kernel beneath."""
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
        """The result of an implementation, which need not return what it wrote, held against the schema."""
        schema = self.operator.schema
        for value in written_values(schema, arguments):
            for element in value if isinstance(value, tuple) else (value,):
                if isinstance(element, Tensor):
                    bump_version(element)

        def describe() -> str:
            name = getattr(step.implementation, "__qualname__", repr(step.implementation))
            return f"{self.operator.name}: the override {name}"

        return checked_result(schema, arguments, result, describe)

    def plan(self, arguments: tuple[object, ...]) -> Plan:
        """A function of what is dynamic: the conditions, each on every call, then the plan beneath."""
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
        """The lines of one override in a plan."""
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
        """What runs when no condition holds: the kernel beneath, which is asked for its plan on the first such call."""
        dynamic = self.operator.dynamic_names
        places = {name: index for index, name in enumerate(dynamic)}
        spots = [places.get(source) for source in sources]

        def rest(*dynamic: object) -> object:
            full = tuple(value if spot is None else dynamic[spot] for spot, value in zip(spots, arguments, strict=True))
            kernel = self.beneath()
            before = _geometries(full)
            result = kernel(*full)
            # A call that resized its output says nothing about the next one.
            if _geometries(full) == before:
                namespace["override_rest"] = lower_kernel(self.operator, kernel, full)
            return result

        return rest

    def __str__(self) -> str:
        return f"overrides of {self.operator.name} at {self.key}"


def _geometries(arguments: tuple[object, ...]) -> list[object]:
    return [argument.geometry for argument in arguments if isinstance(argument, Tensor)]


__all__ = ["Override", "OverrideKernel", "Step", "require_fitting", "wants_keys"]
