"""Plans: the shortest functions that still do all of a call's work, as generated source.

A plan is made once for the geometries of a call. It gets the call's tensors and numbers, runs a compiled kernel on
their arrays and wraps the result. What it cannot decide beforehand (memory shared with an output, numbers out of
range) it tests, and hands the call back to the kernel itself.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opdsl.kernels.calls import PlanCall, PlanOperand
from opdsl.kernels.compiler import compiler_for, has_compiler
from opdsl.runtime.geometry import Geometry
from opdsl.runtime.roots import bump_version, storage_root
from opdsl.runtime.tensor import Tensor

Plan = Callable[..., object]


class PlanSource(NamedTuple):
    """What the source of a plan depends on.

    name: of the operator, for tracebacks.
    parameters: the names of what the plan is handed.
    values: the expressions that the compiled kernel is called with; None where nothing is computed (meta).
    guards: expressions; where one is true the kernel itself takes the call.
    targets: the names of the written parameters; empty for a plan that makes ``results`` new tensors.
    views: of the targets, those whose version is counted by their base.
    results: the number of results.
    converts: whether the compiled kernel converts numbers, which can fail.
    """

    name: str
    parameters: tuple[str, ...]
    values: tuple[str, ...] | None
    guards: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    views: frozenset[str] = frozenset()
    results: int = 1
    converts: bool = False


def make_plan(
    source: PlanSource,
    compute: Callable[..., Any] | None,
    geometries: Sequence[Geometry],
    slow: Callable[..., object],
    constants: Sequence[object] = (),
) -> Plan:
    """The plan of a source.

    Args:
        source: how it reads.
        compute: the compiled kernel.
        geometries: of the results, where they are new.
        slow: takes the plan's arguments when a guard is true.
        constants: what ``plan_constants[i]`` in the source's expressions means.
    """
    call = None if compute is None else _native_call(source, geometries, constants)
    if call is not None and has_compiler(call.result.device.type):
        native = getattr(compiler_for(call.result.device.type), "plan", None)
        if native is not None:
            made: Plan = native(compute, call, slow)
            return made
    plan: Plan = _factory(source)(Tensor, compute, tuple(geometries), slow, tuple(constants))
    return plan


def _native_call(source: PlanSource, geometries: Sequence[Geometry], constants: Sequence[object]) -> PlanCall | None:
    """The source as what a backend can make a native function of: no guards, one result, plain operands."""
    if source.values is None or source.guards or source.targets or source.results != 1:
        return None
    known = {f"plan_constants[{place}]": PlanOperand(None, False, value) for place, value in enumerate(constants)}
    for place, name in enumerate(source.parameters):
        known[name] = PlanOperand(place)
        known[f"{name}.array"] = PlanOperand(place, is_array=True)
    operands = [known.get(value) for value in source.values]
    complete = tuple(each for each in operands if each is not None)
    if len(complete) < len(operands):
        return None
    return PlanCall(source.name, len(source.parameters), complete, geometries[0], source.converts)


def number_guard(name: str, value: object, constants: list[object]) -> str:
    """The guard of a plan that holds for one value of a number alone; ``0.0`` and ``-0.0`` are two.

    Args:
        name: of the plan's parameter.
        value: what the plan was made for; another call has a number of the same type.
        constants: of the plan; the guard's is added.
    """
    is_told_by_text = isinstance(value, complex) or (isinstance(value, float) and value == 0)
    constants.append(repr(value) if is_told_by_text else value)
    return f"{f'repr({name})' if is_told_by_text else name} != plan_constants[{len(constants) - 1}]"


@lru_cache(maxsize=1024)
def _factory(source: PlanSource) -> Callable[..., Plan]:
    """The compiled ``make`` function; equal sources share it."""
    text = plan_text(source)
    filename = f"<opdsl plan {source.name} {abs(hash(source)):x}>"
    namespace: dict[str, Any] = {"plan_bump": bump_version, "plan_root": storage_root}
    exec(compile(text, filename, "exec"), namespace)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    make: Callable[..., Plan] = namespace["make"]
    return make


def plan_text(source: PlanSource) -> str:
    """The source of the factory of a plan."""
    handed = ", ".join(source.parameters)
    geometries = "".join(f"plan_geometry{place}, " for place in range(0 if source.targets else source.results))
    lines = ["def make(plan_tensor, plan_compute, plan_geometries, plan_slow, plan_constants):"]
    if geometries:
        lines.append(f"    ({geometries}) = plan_geometries")
    lines.append(f"    def plan({handed}):")
    if source.guards:
        lines += [f"        if {' or '.join(source.guards)}:", f"            return plan_slow({handed})"]
    lines += [f"        {line}" for line in _call(source, handed)]
    lines += [f"        {line}" for line in (_written(source) if source.targets else _made(source))]
    return "\n".join([*lines, "    return plan", ""])


def _call(source: PlanSource, handed: str) -> list[str]:
    if source.values is None:
        return []
    call = f"plan_compute({', '.join(source.values)})"
    if not source.targets:
        call = ", ".join(f"plan_array{place}" for place in range(source.results)) + f" = {call}"
    if not source.converts:
        return [call]
    # An OverflowError says that a number does not fit; nothing has been written then.
    return ["try:", f"    {call}", "except OverflowError:", f"    return plan_slow({handed})"]


def _made(source: PlanSource) -> list[str]:
    lines = []
    for place in range(source.results):
        lines.append(f"plan_result{place} = plan_tensor()")
        if source.values is not None:
            lines.append(f"plan_result{place}.array = plan_array{place}")
        lines += [
            f"plan_result{place}.geometry = plan_geometry{place}",
            f"plan_result{place}._writes = 0",
            f"plan_result{place}._base = None",
        ]
    return [*lines, "return " + ", ".join(f"plan_result{place}" for place in range(source.results))]


def _written(source: PlanSource) -> list[str]:
    counts = [f"plan_bump({name})" if name in source.views else f"{name}._writes += 1" for name in source.targets]
    return [*counts, "return " + ", ".join(source.targets)]
