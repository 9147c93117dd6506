"""Plans of kernels that only call other operators: the plans of these, one after the other, without the Python between.

Only an author knows that a body calls the same operators whenever its tensors have the same geometries, so the body
says it: ``traceable``. It is run once more while every call that it makes is noted with its plan. A plan comes of that
only if everything is accounted for: every tensor is an argument or the result of a noted call, and every noted call has
a plan. It is for the Python numbers of the call, others have plans of their own. Where the geometry of a result is not
certain, it looks at it before it uses it, and hands the call to the kernel if it is another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from opdsl.dispatch.arguments import Kind, kind_of
from opdsl.dispatch.code import code_of
from opdsl.dispatch.differentiation import OperatorAutograd
from opdsl.dispatch.forms import FormPlans, lower
from opdsl.dispatch.inplace_or_view import TrackedViews
from opdsl.dispatch.plan_holders import holders
from opdsl.dispatch.specialised import by_numbers
from opdsl.dispatch.state import PLAN_LIMIT, Guard, current
from opdsl.dispatch.warning import unheard
from opdsl.runtime import Tensor, cpu
from opdsl.runtime.forking import registering
from opdsl.runtime.generator import rehearsed
from opdsl.runtime.scopes import Setting

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
    """The calls that a function makes, as the lines of another one.

    Args:
        kernel: the function; it takes the calls for which what was noted does not hold.
        arguments: of the call that is noted, in its order.
        are_values: for each of them whether it is the same in every call.
    """

    def __init__(self, kernel: Kernel, arguments: Sequence[object], are_values: Sequence[bool]) -> None:
        self.names: dict[int, str] = {}
        self.held: list[object] = []  # so that each identity stays its own
        self.lines: list[str] = []
        self.namespace: dict[str, object] = {}
        self.packets: dict[Packet, int] = {}
        self.is_complete = True
        self.fixes_geometries = True
        self.guards: dict[str, str] = {}  # of results, by what stands for them, that are not used yet
        self.parameters: list[str] = []
        self.numbers: dict[str, object] = {}
        complete = [
            self.constant(value) if is_value else self._taken_in(value)
            for value, is_value in zip(arguments, are_values, strict=True)
        ]
        self.namespace["kernel"] = kernel
        self.slow = f"return kernel({', '.join(complete)})"

    def run(self, kernel: Kernel, arguments: Sequence[object]) -> Plan | None:
        """Note what a function calls; the plan of that, for these numbers."""
        with Setting(_trace, self), _TRACING, rehearsed():
            result = kernel(*arguments)
        return self._plan(result)

    def _taken_in(self, value: object) -> str:
        """Note an argument of the kernel; the expression that hands it on."""
        name = f"given{len(self.parameters)}"
        self.parameters.append(name)
        if isinstance(value, Tensor):
            self._name(value, name)
        elif isinstance(value, (list, tuple)):
            for place, each in enumerate(value):
                self._name(each, f"{name}[{place}]")
            return f"tuple({name})"
        elif value is not None:
            self.numbers[name] = value  # where it goes cannot be seen, so the plan is for this one alone
        return name

    def _name(self, value: object, name: str) -> None:
        self.names[id(value)] = name
        self.held.append(value)

    def constant(self, value: object) -> str:
        """The expression of a value that every call has."""
        name = f"constant{len(self.namespace)}"
        self.namespace[name] = value
        if isinstance(value, Tensor):
            self._name(value, name)
        return name

    def note(
        self, operator: Operator, plan: Plan | None, arguments: tuple[object, ...], result: object, *, is_fixed: bool
    ) -> None:
        """Take one call in; without a plan the trace is of no use any more.

        Args:
            is_fixed: whether the plan's results always have these geometries; where not, it is looked at them before
                they are used.
        """
        results = result if isinstance(result, (list, tuple)) else (result,)
        if plan is None or not all(isinstance(each, Tensor) for each in results):
            self.is_complete = False
            return
        handed = [
            self.source(value)
            for argument, value in zip(operator.schema.arguments, arguments, strict=True)
            if kind_of(argument) is not Kind.VALUE
        ]
        for used in self._unsure(handed):
            self.lines.append(self.guards.pop(used))
        name = f"result{len(self.lines)}"
        self.lines.append(f"{name} = {self.constant(plan)}({', '.join(handed)})")
        if not is_fixed:
            forms = self.constant([each.geometry for each in results])
            made = f"[{name}.geometry]" if results == (result,) else f"[each.geometry for each in {name}]"
            self.guards[name] = f"if {made} != {forms}: {self.slow}"
        for place, each in enumerate(results):
            self._name(each, name if result is each else f"{name}[{place}]")

    def _unsure(self, sources: Sequence[str]) -> list[str]:
        """What stands in expressions for results that may have other geometries."""
        return [name for name in self.guards if any(re.search(rf"\b{name}\b", each) for each in sources)]

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
        return self.constant(value)

    def _plan(self, result: object) -> Plan | None:
        """The function of what was noted, for these numbers; None if not all of it is accounted for."""
        returned = self.source(result)
        self.fixes_geometries = not self._unsure([returned])
        if not self.is_complete:
            return None
        parameters = ", ".join(self.parameters)
        only = re.fullmatch(rf"result0 = (\w+)\({re.escape(parameters)}\)", "".join(self.lines))
        if only is not None and returned == "result0":
            made = self.namespace[only[1]]
        else:
            lines = [f"def traced({parameters}):", *self.lines, f"return {returned}"]
            exec(code_of("\n    ".join(lines) + "\n", "trace"), self.namespace)
            made = self.namespace["traced"]
        return made if callable(made) else None

    def complete(self) -> Plan:
        """The kernel as a function of what a plan is handed."""
        text = f"def complete({', '.join(self.parameters)}):\n    {self.slow}\n"
        exec(code_of(text, "trace"), self.namespace)
        made = self.namespace["complete"]
        assert callable(made)
        return made


_trace: ContextVar[Trace | None] = ContextVar("opdsl_trace", default=None)
_TRACING = Guard(lambda state: state.change(tracing=True), keep=True)
_NOT_TRACING = Guard(lambda state: state.change(tracing=False), keep=True)


def note_write() -> None:
    """Say that memory is written which no call of an operator accounts for; a trace is of no use any more then."""
    if current.get().tracing:
        noted = _trace.get()
        assert noted is not None, "a state that traces has a trace"
        noted.is_complete = False


def trace(operator: Operator, kernel: Kernel, arguments: tuple[object, ...]) -> tuple[Plan | None, dict[Packet, int]]:
    """Run a kernel once more, if it is traceable, and make a plan of what it calls.

    Returns:
        The plan, or None where there is none; and the packets that it is made of, each with its generation.
    """
    own, plan = _traced(operator, kernel, arguments)
    if own is None or plan is None:
        return None, {}
    places = [place for place, each in enumerate(operator.schema.arguments) if kind_of(each) is not Kind.VALUE]
    packets = own.packets
    # Not the tensors of this call, which a plan would keep alive.
    same = [None if place in places else value for place, value in enumerate(arguments)]

    def again(*given: object) -> Plan | None:
        values = list(same)
        for place, value in zip(places, given, strict=True):
            values[place] = tuple(value) if isinstance(value, list) else value
        other, made = _traced(operator, kernel, tuple(values))
        # Callers know of the packets of the first plan alone, and drop both when one of these changes.
        return made if other is not None and other.packets.items() <= packets.items() else None

    return by_numbers(own.parameters, own.numbers, plan, again, own.complete()), packets


def _traced(
    operator: Operator, kernel: Kernel, arguments: tuple[object, ...]
) -> tuple[Trace, Plan | None] | tuple[None, None]:
    """What a kernel calls, if it is traceable, and the plan of these calls for these numbers."""
    kernel = _beneath(kernel, arguments)
    body = kernel.kernel if isinstance(kernel, TrackedViews) else kernel
    if operator.schema.is_mutable or not is_traceable(getattr(body, "function", None)):
        return None, None
    own = Trace(kernel, arguments, [kind_of(each) is Kind.VALUE for each in operator.schema.arguments])
    with unheard():
        if isinstance(kernel, TrackedViews):
            return own, kernel.marking(own.run(kernel.kernel, arguments), arguments)
        return own, own.run(kernel, arguments)


def traced(function: Plan, arguments: Sequence[object], are_values: Sequence[bool]) -> Plan | None:
    """A plan of a function that is no operator and only calls operators, as ``traceable`` has it.

    Args:
        arguments: of a call.
        are_values: for each of them whether it is the same in every call; the plan is handed the others.
    """
    return Trace(function, arguments, are_values).run(function, arguments)


class FunctionPlans:
    """Plans of a function that is no operator and only calls operators, as ``traceable`` has it.

    plans: by the state and whatever the caller tells calls apart by, which has to hold the geometries of all tensors.
    """

    def __init__(self) -> None:
        self.plans: dict[tuple[object, ...], Plan] = {}
        self.forms: dict[tuple[object, ...], Plan] = {}
        self.known_forms: dict[tuple[object, ...], FormPlans] = {}

    def lowered(
        self,
        key: tuple[object, ...],
        function: Plan,
        names: Sequence[str],
        arguments: Sequence[object],
        tensors: Sequence[Tensor],
    ) -> bool:
        """Whether a call of a function that no plan has served is lowered now.

        Args:
            key: where its form's plans are kept; its first part is the state.
            function: of the arguments.
            names: of the arguments, as parameters of the plan.
            arguments: of the call: tensors, numbers that may be sizes, slices, and tuples of these.
            tensors: those among them.
        """
        state = current.get()
        if (
            not state.plans
            or state.recording
            or state.modes
            or any(each.geometry.device is not cpu for each in tensors)
        ):
            return False
        form = self.known_forms.get(key)
        if form is None:
            with registering:
                if len(self.known_forms) >= PLAN_LIMIT:
                    self.forms.clear()
                    self.known_forms.clear()
                form = self.known_forms[key] = FormPlans(key)
                holders.add(self)
        if form.is_hot:
            form.is_hot = False
            return False
        form.misses += 1
        if not form.wants_lowering:
            return False
        call = [(name, None, value, {Kind.TENSOR}, True) for name, value in zip(names, arguments, strict=True)]
        try:
            plan, made_of = lower(function.__name__, lambda given, _: function(*given), form, names, call)
        except Exception as error:  # whatever stands in the way of symbols: such calls keep the plans that they have
            form.reason = f"{type(error).__name__}: {error}"
            return False
        with registering:
            if any(packet.generation != each for packet, each in made_of.items()):
                return False
            for packet in made_of:
                packet.dependents.add(self)
            form.variants.append(plan)
            self.forms[key] = plan if len(form.variants) == 1 else form
        return True

    def learn(
        self, key: tuple[object, ...], function: Plan, arguments: Sequence[object], constants: Sequence[Tensor] = ()
    ) -> object:
        """Call a function, and keep a plan of calls with this key.

        Args:
            key: where the plan is kept; its first part is the state.
            function: of the arguments, which may be tensors.
            arguments: of the call.
            constants: tensors that it uses in every call.
        """
        result = function(*arguments)
        state = current.get()
        if state.plans and not state.recording:
            own = Trace(function, (*arguments, *constants), (*(False for _ in arguments), *(True for _ in constants)))
            own.slow = f"return kernel({', '.join(own.parameters)})"
            plan = own.run(function, arguments) or function
            with registering:
                if all(packet.generation == each for packet, each in own.packets.items()):
                    if len(self.plans) >= PLAN_LIMIT:
                        self.plans.clear()
                    self.plans[key] = plan
                    holders.add(self)
                    for packet in own.packets:
                        packet.dependents.add(self)
        return result

    def forget(self) -> None:
        """Drop all plans: a kernel has changed."""
        with registering:
            self.plans.clear()
            self.forms.clear()
            self.known_forms.clear()


def run_traced(operator: Operator, kernel: Kernel, arguments: tuple[object, ...]) -> object:
    """Run a kernel that a traced one calls, and note it."""
    noted = _trace.get()
    assert noted is not None, "a state that traces has a trace"
    noted.packets.setdefault(operator.packet, operator.packet.generation)
    before = list(_geometries(arguments))
    plan: Plan | None = None
    is_fixed = True
    with _NOT_TRACING:
        result = kernel(*arguments)
        if before == list(_geometries(arguments)):
            kernel = _beneath(kernel, arguments)
            own, plan = _traced(operator, kernel, arguments)  # its numbers are those of the kernel that calls it
            if own is not None and plan is not None:
                noted.packets.update(own.packets)
                is_fixed = own.fixes_geometries
            planner: Any = kernel
            if plan is None and hasattr(planner, "plan"):
                plan = planner.plan(arguments)
                is_fixed = getattr(planner, "fixes_geometries", False)
    noted.note(operator, plan, arguments, result, is_fixed=is_fixed)
    return result


def _beneath(kernel: Kernel, arguments: tuple[object, ...]) -> Kernel:
    """The kernel that a call runs beneath autograd, or what records it there."""
    return kernel.beneath(arguments) if isinstance(kernel, OperatorAutograd) else kernel


def _geometries(arguments: tuple[object, ...]) -> Iterator[object]:
    for value in arguments:
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Tensor):
                yield each.geometry


__all__ = ["FunctionPlans", "is_traceable", "note_write", "run_traced", "trace", "traceable", "traced"]
