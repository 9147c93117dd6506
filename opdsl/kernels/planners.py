"""Plans of Python kernels that make, or write, one tensor in a way that is known: unset, filled with a number, copied.

Such a kernel names its planner with ``planned``. Its plan needs the geometry of its result alone, which is that of what
it writes, or which the kernel tells by making one on meta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import numpy

from opdsl.dispatch.specialised import by_numbers
from opdsl.dispatch.tracing import traced
from opdsl.kernels.compiler import Compiled, has_compiler
from opdsl.kernels.dtypes import precision_of
from opdsl.kernels.indexed import filling_plan, noting
from opdsl.kernels.numbers import Number, to_element
from opdsl.kernels.outputs import tensor_over
from opdsl.kernels.plans import Plan, PlanSource, make_plan
from opdsl.kernels.primitives import copy_loop, fill_loop
from opdsl.runtime.device import Device, backends, cpu, meta
from opdsl.runtime.dtype import bool_, float32, float64, int64
from opdsl.runtime.generator import Generator, generator_for
from opdsl.runtime.geometry import Geometry
from opdsl.runtime.tensor import Tensor

F = TypeVar("F", bound=Callable[..., object])

_PLANNER = "__opdsl_planner__"


class Planned(NamedTuple):
    """A call for which a plan is made.

    name: of the operator.
    names: of the schema's arguments.
    parameters: those of them that the plan is handed.
    arguments: of the call that has been made.
    made: the geometry of its result.
    slow: does what the plan does, without it.
    kernel: the function that the plan is for.
    target: the name of the argument that it writes, which is its result; None where that is a new tensor.
    """

    name: str
    names: tuple[str, ...]
    parameters: tuple[str, ...]
    arguments: tuple[Any, ...]
    made: Geometry
    slow: Plan
    kernel: Callable[..., object]
    target: str | None = None

    def plan(
        self,
        values: tuple[str, ...],
        compute: Callable[..., Any],
        *constants: object,
        guards: tuple[str, ...] = (),
        converts: bool = False,
    ) -> Plan:
        """A plan that wraps the array that a function makes of these expressions, or has it write that of the target.

        Args:
            values: expressions of the plan's parameters, and of the constants as ``plan_constants[i]``.
            compute: gets their values, and the target's array behind them.
            guards: expressions; where one is true the kernel itself takes the call.
            converts: whether an OverflowError of the function means that a number does not fit.
        """
        source = PlanSource(self.name, self.parameters, values, guards, converts=converts)
        if self.target is not None:
            views = frozenset((self.target,) if self.made.is_view else ())
            source = source._replace(values=(*values, f"{self.target}.array"), targets=(self.target,), views=views)
        return make_plan(source, compute, (self.made,), self.slow, constants)

    @property
    def is_new(self) -> bool:
        """Whether the result is a new tensor."""
        return self.target is None

    def overlaps(self, other: str, form: Geometry) -> str:
        """The guard that is true where an argument may share memory with the target."""
        pairs = ((self.target, self.made), (other, form))
        roots = [f"plan_root({name})" if each.is_view else name for name, each in pairs]
        return f"{roots[0]} is {roots[1]}"


Planner = Callable[[Planned], Plan | None]


class Planning(NamedTuple):
    """How the plans of a kernel are made.

    planner: makes one.
    by_numbers: whether a plan is for the Python numbers of a call, too.
    """

    planner: Planner
    by_numbers: bool


# What arguments of these names are while a kernel is asked what it makes.
_ON_META: dict[str, object] = {"device": meta, "pin_memory": None, "generator": None}


def geometry_made(kernel: Callable[..., object], names: Sequence[str], arguments: Sequence[object]) -> Geometry | None:
    """The geometry of the tensor that a kernel makes, found on meta: a second one would take memory, and time.

    Args:
        kernel: takes the arguments by place.
        names: of the arguments.
        arguments: of a call that has been made.

    Returns:
        None where it makes something else.
    """
    named = dict(zip(names, arguments, strict=True))
    first = next((each.device for each in arguments if isinstance(each, Tensor)), cpu)
    made = kernel(*(_ON_META.get(name, _without_memory(value)) for name, value in named.items()))
    device = named.get("device") or first
    return made.geometry.replace(device=device) if isinstance(made, Tensor) and isinstance(device, Device) else None


def _without_memory(value: object) -> object:
    if not isinstance(value, Tensor):
        return value
    return tensor_over(None, value.geometry.replace(device=meta, is_view=False))


def planned(planner: Planner, *, by_numbers: bool = False) -> Callable[[F], F]:
    """Say how the plans of a Python kernel are made: ``@f.kernel("CPU")`` above ``@planned(copies)``.

    Args:
        by_numbers: whether a plan is for the Python numbers of the call alone that it is made for.
    """

    def note(function: F) -> F:
        function.__dict__[_PLANNER] = Planning(planner, by_numbers)
        return function

    return note


def planner_of(function: object) -> Planning | None:
    """How the plans of a kernel's function are made, if it says so."""
    found: Planning | None = getattr(function, "__dict__", {}).get(_PLANNER)
    return found


def plan_of(
    planning: Planning, call: Planned, again: Callable[[tuple[Any, ...]], Planned | None] | None = None
) -> Plan | None:
    """The plan of a call.

    Args:
        again: the call with other arguments, the same but for numbers; by default it makes the same geometry.
    """
    first = planning.planner(call)
    if first is None or not planning.by_numbers:
        return first
    values = dict(zip(call.names, call.arguments, strict=True))
    numbers = {name: values[name] for name in call.parameters if isinstance(values[name], (int, float, complex))}
    # Not the tensors of this call, which a plan would keep alive.
    values |= dict.fromkeys(call.parameters)
    without = call._replace(arguments=())

    def make(*given: object) -> Plan | None:
        arguments = tuple((values | dict(zip(without.parameters, given, strict=True))).values())
        other = without._replace(arguments=arguments) if again is None else again(arguments)
        return None if other is None else planning.planner(other)

    return by_numbers(call.parameters, numbers, first, make, call.slow)


def allocates(call: Planned) -> Plan | None:
    """The planner of a kernel that makes a tensor whose elements are not set."""
    maker = getattr(backends.memory(call.made.device), "maker", None)
    if maker is None or _is_pinned(call):
        return None
    return call.plan((), maker(call.made.shape, call.made.strides, call.made.dtype, call.made.device))


def fills_with(value: Number) -> Planner:
    """The planner of a kernel that makes every element of a tensor the same."""

    def planner(call: Planned) -> Plan | None:
        if not _is_looped(call.made) or call.made.dtype.is_complex or _is_pinned(call):
            return None
        number = to_element(value, call.made.dtype, call.made.numel)
        return call.plan(("plan_constants[0]",), fill_loop(call.made, allocate=call.is_new), number)

    return planner


def fills(call: Planned) -> Plan | None:
    """The planner of a kernel that makes every element of a tensor the number that is its only one."""
    places = [place for place, each in enumerate(call.arguments) if type(each) in (bool, int, float)]
    name = next((call.names[place] for place in places if call.names[place] in call.parameters), "")
    if not name or not _is_looped(call.made) or _is_pinned(call):
        return None
    number = number_taken(call, name)
    if number is None:
        return None
    return call.plan((number[0],), fill_loop(call.made, allocate=call.is_new), guards=number[1], converts=True)


def number_taken(call: Planned, name: str) -> tuple[str, tuple[str, ...]] | None:
    """How a plan hands a Python number to a loop over the result's dtype.

    Args:
        name: of the argument.

    Returns:
        The expression, and the guards that hold where a loop would not take it as it should; the loop raises
        OverflowError where a dtype does not hold an int. None where it has to be converted by rules of its own.
    """
    kind, dtype = type(call.arguments[call.names.index(name)]), call.made.dtype
    if name not in call.parameters or (kind, dtype) not in _KEPT:
        return None
    guards = () if dtype is not float32 else (f"{_LARGEST} < abs({name}) < 1e999",)
    return (f"float({name})" if kind is int and dtype is not int64 else name), guards


def copies(call: Planned) -> Plan | None:
    """The planner of a kernel that makes a tensor of the elements of another, broadcast and cast."""
    name, source = next(
        (
            (name, each)
            for name, each in zip(call.names, call.arguments, strict=True)
            if isinstance(each, Tensor) and name != call.target
        ),
        ("", None),
    )
    if source is None or source.device is not call.made.device or not _is_looped(call.made) or _is_pinned(call):
        return None
    dtypes = (source.dtype, call.made.dtype)
    # A loop over complex numbers, or over those that it computes in another precision, does not move bits.
    moves = dtypes[0] is not dtypes[1] or precision_of(dtypes[0]) is dtypes[0]
    if any(each.is_complex for each in dtypes) or not moves:
        return None
    loop: Compiled = copy_loop(call.made, source.geometry, allocate=call.is_new)
    guards = () if call.is_new else (call.overlaps(name, source.geometry),)
    return call.plan((f"{name}.array",), loop, guards=guards)


def fills_by_index(call: Planned) -> Plan | None:
    """The planner of a kernel that sets elements by their index, at random or not, and does nothing else.

    A tensor that is no ``self`` may decide by its elements what is set, so that there is no plan.
    """
    named = dict(zip(call.names, call.arguments, strict=True))
    others = any(isinstance(each, Tensor) and name not in ("self", call.target) for name, each in named.items())
    if others or not _is_looped(call.made) or _is_pinned(call):
        return None
    with noting() as noted:
        result = call.kernel(*(_ON_META.get(name, _without_memory(value)) for name, value in named.items()))
    if len(noted) != 1 or noted[0].target is not result or noted[0].target.shape != call.made.shape:
        return None
    (filled,) = noted
    generator = (
        generator_for(call.made.device, cast("Generator | None", named.get("generator"))) if filled.is_random else None
    )
    fill = filling_plan(call.made, filled, generator, allocate=call.is_new)
    return None if fill is None else call.plan((), fill)


def composes(function: Callable[..., Any]) -> Planner:
    """The planner of an out-kernel that copies what a function gives, which takes the same and only calls operators.

    The function is as ``traceable`` has it.
    """

    def planner(call: Planned) -> Plan | None:
        if not call.is_new or call.made.numel == 0:
            return None
        made = function(*call.arguments)
        first = made[0] if isinstance(made, tuple) else made
        if (first.shape, first.stride()) != (call.made.shape, call.made.strides) or first.geometry.is_view:
            return None
        return traced(function, call.arguments, [name not in call.parameters for name in call.names])

    return planner


# The kinds of numbers that a compiled loop takes for a dtype, maybe as floats, or refuses.
_KEPT = {(bool, bool_), (int, int64), *((kind, dtype) for kind in (int, float) for dtype in (float32, float64))}
_LARGEST = float(numpy.finfo(numpy.float32).max)


def _is_pinned(call: Planned) -> bool:
    """Whether page-locked memory is asked for, which plans do not make."""
    return any(name == "pin_memory" and value for name, value in zip(call.names, call.arguments, strict=True))


def _is_looped(form: Geometry) -> bool:
    return form.numel > 0 and form.device is not meta and has_compiler(form.device.type)


__all__ = [
    "Planned",
    "Planner",
    "allocates",
    "composes",
    "copies",
    "fills",
    "fills_by_index",
    "fills_with",
    "number_taken",
    "plan_of",
    "planned",
    "planner_of",
]
