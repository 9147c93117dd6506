"""Plans of kernels that only call other operators: the plans of these, one after the other, without the Python between.

Only an author knows that a body calls the same operators whenever its tensors have the same geometries, so the body
says it: ``traceable``. It is run once more while every call that it makes is noted with its plan. A plan comes of that
only if everything is accounted for: every tensor is an argument or the result of a noted call, every noted call has a
plan whose results always have the same geometries, and no Python number of the call is involved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from opdsl.dispatch.arguments import Kind, kind_of
from opdsl.dispatch.differentiation import OperatorAutograd
from opdsl.dispatch.state import Guard
from opdsl.runtime import Tensor

if TYPE_CHECKING:
    from opdsl.dispatch.operator import Kernel, Operator
    from opdsl.dispatch.packet import Packet

Plan = Callable[..., object]
F = TypeVar("F", bound=Callable[..., object])

_TRACEABLE = "__opdsl_traceable__"


def traceable(function: F) -> F:
    """Promise that a body or a Python kernel only calls operators, the same ones for the same geometries.

    The operator's plan is then made of theirs, and calls cost what these cost. What the function does beside calling
    operators must depend on the geometries of its tensors, on its options and on the default dtype alone: not on
    elements, on variables outside of it or on chance.

    >>> import opdsl
    >>> with opdsl.Library("example") as lib:
    ...     @lib.op
    ...     @opdsl.traceable
    ...     def columns(self: opdsl.Tensor) -> opdsl.Tensor:
    ...         return self.t().reshape(-1)
    ...     columns(opdsl.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 2, 4])
    """
    function.__dict__[_TRACEABLE] = True
    return function


def is_traceable(function: object) -> bool:
    """Whether a function is promised to be ``traceable``."""
    return _TRACEABLE in getattr(function, "__dict__", ())


class Trace:
    """The calls that a kernel makes, as the lines of a function.

    Args:
        operator: whose kernel it is.
        arguments: in the order of its schema.
    """

    def __init__(self, operator: Operator, arguments: tuple[object, ...]) -> None:
        self.names: dict[int, str] = {}
        self.held: list[object] = []  # so that each identity stays its own
        self.lines: list[str] = []
        self.plans: dict[str, Plan] = {}
        self.constants: dict[str, object] = {}
        self.packets: dict[Packet, int] = {}
        self.is_complete = True
        self.parameters: list[str] = []
        for argument, value in zip(operator.schema.arguments, arguments, strict=True):
            if kind_of(argument) is not Kind.VALUE:
                self._take_in(f"given{len(self.parameters)}", value)

    def _take_in(self, name: str, value: object) -> None:
        self.parameters.append(name)
        if isinstance(value, Tensor):
            self._name(value, name)
        elif isinstance(value, (list, tuple)):
            for place, each in enumerate(value):
                self._name(each, f"{name}[{place}]")
        elif value is not None:
            self.is_complete = False  # where a number goes cannot be seen

    def _name(self, value: object, name: str) -> None:
        self.names[id(value)] = name
        self.held.append(value)

    def note(self, operator: Operator, plan: Plan | None, arguments: tuple[object, ...], result: object) -> None:
        """Take one call in; without a plan the trace is of no use any more."""
        results = result if isinstance(result, (list, tuple)) else (result,)
        if plan is None or not all(isinstance(each, Tensor) for each in results):
            self.is_complete = False
            return
        number = len(self.lines)
        self.plans[f"plan{number}"] = plan
        handed = [
            self.source(value)
            for argument, value in zip(operator.schema.arguments, arguments, strict=True)
            if kind_of(argument) is not Kind.VALUE
        ]
        self.lines.append(f"result{number} = plan{number}({', '.join(handed)})")
        for place, each in enumerate(results):
            self._name(each, f"result{number}" if result is each else f"result{number}[{place}]")

    def source(self, value: object) -> str:
        """The expression of an argument or a result."""
        if isinstance(value, (list, tuple)) and any(isinstance(each, Tensor) for each in value):
            parts = "".join(f"{self.source(each)}, " for each in value)
            return f"[{parts}]" if isinstance(value, list) else f"({parts})"
        if isinstance(value, Tensor):
            known = self.names.get(id(value))
            if known is None:
                self.is_complete = False
            return known or "None"
        name = f"constant{len(self.constants)}"
        self.constants[name] = value
        return name

    def plan(self, result: object) -> Plan | None:
        """The function of what was noted; None if not all of it is accounted for."""
        returned = self.source(result)
        if not self.is_complete or not self.lines:
            return None
        parameters = ", ".join(self.parameters)
        if self.lines == [f"result0 = plan0({parameters})"] and returned == "result0":
            return self.plans["plan0"]
        namespace: dict[str, object] = {**self.plans, **self.constants}
        lines = [f"def traced({parameters}):", *self.lines, f"return {returned}"]
        exec("\n    ".join(lines) + "\n", namespace)
        made = namespace["traced"]
        return made if callable(made) else None


_trace: ContextVar[Trace | None] = ContextVar("opdsl_trace", default=None)
_TRACING = Guard(lambda state: state.change(tracing=True), keep=True)
_NOT_TRACING = Guard(lambda state: state.change(tracing=False), keep=True)


def trace(operator: Operator, kernel: Kernel, arguments: tuple[object, ...]) -> tuple[Plan | None, dict[Packet, int]]:
    """Run a kernel once more, if it is traceable, and make a plan of what it calls.

    Returns:
        The plan, or None where there is none; and the packets that it is made of, each with its generation.
    """
    kernel = _beneath(kernel, arguments)
    if operator.schema.is_mutable or not is_traceable(getattr(kernel, "function", None)):
        return None, {}
    own = Trace(operator, arguments)
    if not own.is_complete:
        return None, {}
    token = _trace.set(own)
    try:
        with _TRACING:
            result = kernel(*arguments)
    finally:
        _trace.reset(token)
    return own.plan(result), own.packets


def run_traced(operator: Operator, kernel: Kernel, arguments: tuple[object, ...]) -> object:
    """Run a kernel that a traced one calls, and note it."""
    noted = _trace.get()
    assert noted is not None, "a state that traces has a trace"
    noted.packets.setdefault(operator.packet, operator.packet.generation)
    before = list(_geometries(arguments))
    plan: Plan | None = None
    with _NOT_TRACING:
        result = kernel(*arguments)
        if before == list(_geometries(arguments)):
            kernel = _beneath(kernel, arguments)
            plan, packets = trace(operator, kernel, arguments)
            noted.packets.update(packets)
            planner: Any = kernel
            if plan is None and getattr(planner, "fixes_geometries", False):
                plan = planner.plan(arguments)
    noted.note(operator, plan, arguments, result)
    return result


def _beneath(kernel: Kernel, arguments: tuple[object, ...]) -> Kernel:
    """The kernel that a call runs beneath autograd, or what records it there."""
    return kernel.beneath(arguments) if isinstance(kernel, OperatorAutograd) else kernel


def _geometries(arguments: tuple[object, ...]) -> Iterator[object]:
    for value in arguments:
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Tensor):
                yield each.geometry


__all__ = ["is_traceable", "run_traced", "trace", "traceable"]
