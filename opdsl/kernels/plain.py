"""Kernels that are plain Python: tensors in, results out, under any dispatch key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from opdsl.dispatch.results import checked_result, written_values
from opdsl.dispatch.state import current
from opdsl.dispatch.tracing import is_traceable
from opdsl.kernels.described import Described
from opdsl.kernels.outputs import restored_on_error
from opdsl.kernels.planners import Planned, geometry_made, plan_of, planner_of
from opdsl.runtime import Tensor, bump_version, version_of
from opdsl.runtime.contents import tensors_in
from opdsl.runtime.lowering import NotLoweredError
from opdsl.schema import Argument, FunctionSchema

Plan = Callable[..., object]


class PlainKernel(Described):
    """A Python function as a kernel.

    Args:
        function: takes the schema's parameters, its keyword-only ones by name or by place, as it declares them.
        schema: the operator's.
        operator: its qualified name, for messages.
        dynamic: the names of the arguments that a plan is handed.
        bumps_version: whether the function writes memory itself, so that written arguments get a new version; a
            composite body does not, the operators that it calls do.
    """

    __slots__ = ("_keywords", "bumps_version", "dynamic", "function", "key_set", "operator", "schema", "wants_key_set")

    def __init__(
        self,
        function: FunctionType,
        schema: FunctionSchema,
        operator: str,
        dynamic: tuple[str, ...],
        *,
        bumps_version: bool,
        wants_key_set: bool = False,
    ) -> None:
        self.function = function
        self.schema = schema
        self.operator = operator
        self.dynamic = dynamic
        self.bumps_version = bumps_version and bool(schema.written_arguments)
        self.wants_key_set = wants_key_set
        self.key_set: tuple[object, ...] = ()
        code = function.__code__
        keyword_only = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        self._keywords = frozenset(keyword_only)

    def for_call(self, operator: object, keys: object) -> PlainKernel:
        """The kernel for a call with that key set, which the function receives first if it asks for it."""
        if not self.wants_key_set:
            return self
        bound = object.__new__(PlainKernel)
        for name in self.__slots__:
            setattr(bound, name, getattr(self, name))
        bound.key_set = (keys,)
        return bound

    def __call__(self, *arguments: object) -> object:
        """Run the function, hold its result against the schema, and count what it writes.

        Raises:
            KernelError: the result is not what the schema says.
        """
        if not self.bumps_version:
            return self.run(*arguments)
        written = list(tensors_in(written_values(self.schema, arguments)))
        before = [version_of(each) for each in written]
        result = self.run(*arguments)
        for each, version in zip(written, before, strict=True):
            bump_version(each, version)
        return result

    def run(self, *arguments: object) -> object:
        """Run the function for one that counts versions itself.

        Raises:
            KernelError: the result is not what the schema says.
        """
        if current.get().lowering and not _is_promised(self.function):
            raise NotLoweredError(f"{self.function.__name__}, which may do more than call operators")
        positional: list[object] = []
        named: dict[str, object] = {}
        for argument, value in zip(self.schema.arguments, arguments, strict=True):
            if argument.python_name in self._keywords:
                named[argument.python_name] = value
            else:
                positional.append(value)
        written = tensors_in(written_values(self.schema, arguments)) if self.schema.written_arguments else ()
        with restored_on_error(written):
            result = self.function(*self.key_set, *positional, **named)
        return checked_result(self.schema, arguments, result, self._describe)

    def _describe(self) -> str:
        code = self.function.__code__
        return f"{self.operator}: the kernel {self.function.__name__} ({code.co_filename}:{code.co_firstlineno})"

    @property
    def kind(self) -> str:
        """See ``Described``."""
        return "function"

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Described``."""
        return (self.function,)

    def plan(self, arguments: tuple[object, ...]) -> Plan | None:
        """The function itself, or what its planner makes of it."""
        if self.key_set:
            return None
        plan = self._own_plan(arguments)
        # Recorders are told of what the function calls, planned or not.
        planning = None if current.get().recording else planner_of(self.function)
        if planning is None or plan is None:
            return plan

        def planned_call(values: tuple[object, ...]) -> Planned | None:
            return self._planned_call(values, plan)

        call = planned_call(arguments)
        return plan if call is None else plan_of(planning, call, planned_call) or plan

    def _planned_call(self, arguments: tuple[object, ...], slow: Plan) -> Planned | None:
        """A call as a planner sees it; None where its result is no tensor whose geometry is known."""
        names = tuple(each.python_name for each in self.schema.arguments)
        written = [name for name, each in zip(names, self.schema.arguments, strict=True) if _is_written(each)]
        target = dict(zip(names, arguments, strict=True))[written[0]] if len(written) == 1 else None
        if written:
            made = target.geometry if isinstance(target, Tensor) else None
        else:
            made = geometry_made(self.function, names, arguments)
        if made is None:
            return None
        own = written[0] if written else None
        return Planned(self.operator, names, self.dynamic, arguments, made, slow, self.function, own)

    @property
    def fixes_geometries(self) -> bool:
        """Whether what a plan gives always has the same geometry."""
        return planner_of(self.function) is not None

    def _own_plan(self, arguments: tuple[object, ...]) -> Plan | None:
        """The function itself, with what is constant filled in."""
        names = [each.python_name for each in self.schema.arguments]
        if self.bumps_version or not _returns_itself(self.schema):
            return self._complete_plan(names, arguments)
        if tuple(names) == self.dynamic and not self._keywords and _returns_itself(self.schema):
            return self.function
        constants = {
            f"constant_{name}": value for name, value in zip(names, arguments, strict=True) if name not in self.dynamic
        }
        passed = [
            f"{name}={_source(name, constants)}" if name in self._keywords else _source(name, constants)
            for name in names
        ]
        namespace: dict[str, object] = {"function": self.function, **constants}
        exec(f"def plan({', '.join(self.dynamic)}):\n    return function({', '.join(passed)})\n", namespace)
        made = namespace["plan"]
        return made if callable(made) else None

    def _complete_plan(self, names: Sequence[str], arguments: tuple[object, ...]) -> Plan:
        """The kernel with all that it does beside calling its function; what is constant in a plan is filled in."""
        constants = {
            f"constant_{name}": value for name, value in zip(names, arguments, strict=True) if name not in self.dynamic
        }
        namespace: dict[str, Any] = {"kernel": self.__call__, **constants}
        passed = ", ".join(_source(name, constants) for name in names)
        exec(f"def plan({', '.join(self.dynamic)}):\n    return kernel({passed})\n", namespace)
        plan: Plan = namespace["plan"]
        return plan


def _is_promised(function: FunctionType) -> bool:
    """Whether what a function does depends on geometries and options alone: it says so, or it is one of ours."""
    return is_traceable(function) or (function.__module__ or "").startswith("opdsl.")


def _source(name: str, constants: dict[str, object]) -> str:
    constant = f"constant_{name}"
    return constant if constant in constants else name


def _is_written(argument: Argument) -> bool:
    return argument.alias is not None and argument.alias.write


def _returns_itself(schema: FunctionSchema) -> bool:
    """Whether the function's result needs no mending: it returns nothing of what it writes."""
    return not any(each.alias is not None and each.alias.write for each in schema.returns)
