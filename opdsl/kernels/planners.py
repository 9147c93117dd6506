"""Plans of Python kernels that make one tensor in a way that is known: unset, filled with a number, copied.

Such a kernel names its planner with ``planned``. Its plan needs the geometry of its result alone, which the kernel
tells by making one on meta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy

from opdsl.kernels.compiler import Compiled
from opdsl.kernels.dtypes import precision_of
from opdsl.kernels.numbers import Number, to_element
from opdsl.kernels.outputs import tensor_over
from opdsl.kernels.plans import Plan, PlanSource, make_plan
from opdsl.kernels.primitives import copy_loop, fill_loop
from opdsl.runtime.device import Device, backends, cpu, meta
from opdsl.runtime.dtype import bool_, float32, float64, int64
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
    """

    name: str
    names: tuple[str, ...]
    parameters: tuple[str, ...]
    arguments: tuple[Any, ...]
    made: Geometry
    slow: Plan

    def plan(self, values: tuple[str, ...], compute: Callable[..., Any], *constants: object) -> Plan:
        """A plan that wraps what a function makes of these expressions."""
        return make_plan(PlanSource(self.name, self.parameters, values), compute, (self.made,), self.slow, constants)


Planner = Callable[[Planned], Plan | None]


# What arguments of these names are while a kernel is asked what it makes.
_ON_META: dict[str, object] = {"device": meta, "pin_memory": None}


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


def planned(planner: Planner) -> Callable[[F], F]:
    """Say how the plans of a Python kernel are made: ``@f.kernel("CPU")`` above ``@planned(copies)``."""

    def note(function: F) -> F:
        function.__dict__[_PLANNER] = planner
        return function

    return note


def planner_of(function: object) -> Planner | None:
    """The planner that a kernel's function names."""
    found: Planner | None = getattr(function, "__dict__", {}).get(_PLANNER)
    return found


def allocates(call: Planned) -> Plan | None:
    """The planner of a kernel that makes a tensor whose elements are not set."""
    maker = getattr(backends.memory(call.made.device), "maker", None)
    if maker is None or _is_pinned(call):
        return None
    return call.plan((), maker(call.made.shape, call.made.strides, call.made.dtype, call.made.device))


def fills_with(value: Number) -> Planner:
    """The planner of a kernel that makes a tensor with every element the same."""

    def planner(call: Planned) -> Plan | None:
        if not _is_looped(call.made) or call.made.dtype.is_complex or _is_pinned(call):
            return None
        number = to_element(value, call.made.dtype, call.made.numel)
        return call.plan(("plan_constants[0]",), fill_loop(call.made, allocate=True), number)

    return planner


def fills(call: Planned) -> Plan | None:
    """The planner of a kernel that makes a tensor with every element the number ``fill_value``, of the dtype of it."""
    kind = type(call.arguments[call.names.index("fill_value")])
    if not _is_looped(call.made) or _is_pinned(call) or (kind, call.made.dtype) not in _KEPT:
        return None
    guards = () if call.made.dtype is not float32 else (f"not {-_LARGEST} <= fill_value <= {_LARGEST}",)
    source = PlanSource(call.name, call.parameters, ("fill_value",), guards, converts=True)
    return make_plan(source, fill_loop(call.made, allocate=True), (call.made,), call.slow)


def copies(call: Planned) -> Plan | None:
    """The planner of a kernel that makes a tensor with the elements of the one that it is given, maybe cast."""
    source = next((each for each in call.arguments if isinstance(each, Tensor)), None)
    if source is None or source.device is not call.made.device or not _is_looped(call.made) or _is_pinned(call):
        return None
    dtypes = (source.dtype, call.made.dtype)
    # A loop over complex numbers, or over those that it computes in another precision, does not move bits.
    moves = dtypes[0] is not dtypes[1] or precision_of(dtypes[0]) is dtypes[0]
    if any(each.is_complex for each in dtypes) or not moves:
        return None
    loop: Compiled = copy_loop(call.made, source.geometry, allocate=True)
    return call.plan((f"{call.parameters[0]}.array",), loop)


# The kinds of numbers that a compiled loop takes for a dtype as they are, or refuses.
_KEPT = {(bool, bool_), (int, int64), (float, float32), (float, float64)}
_LARGEST = float(numpy.finfo(numpy.float32).max)


def _is_pinned(call: Planned) -> bool:
    """Whether page-locked memory is asked for, which plans do not make."""
    return any(name == "pin_memory" and value for name, value in zip(call.names, call.arguments, strict=True))


def _is_looped(form: Geometry) -> bool:
    return form.device is cpu and form.numel > 0


__all__ = ["Planned", "Planner", "allocates", "copies", "fills", "fills_with", "planned", "planner_of"]
