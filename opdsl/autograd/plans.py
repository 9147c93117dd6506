"""Plans of recorded calls: what a call of known geometries still has to do, as generated source.

A pointwise call of tensors has a plan that makes its node inline: no Python frame but its own between the caller and
the compiled kernel, and the node's backward pass is as direct. Every other call has one that does what the complete
road does, without binding and dispatching anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.derivative import Formula
from opdsl.autograd.graph import Node, Recipe, changed, edge_of, next_sequence
from opdsl.autograd.recorder import Recorder, has_gradients
from opdsl.dispatch import Operator
from opdsl.dispatch.code import code_of
from opdsl.dispatch.guards import below_autograd
from opdsl.runtime import Geometry, Tensor, version_of

__all__ = ["recording_plan"]

Plan = Callable[..., Any]

# Kernels that call no operator, so that what runs beneath autograd needs no guard.
_CALLS_NOTHING = ("pointwise", "reduction", "view")


def recording_plan(
    operator: Operator, recorder: Recorder, beneath: Any, arguments: tuple[Any, ...], check: Plan
) -> Plan | None:
    """A plan for calls with the geometries and values of one that has been made.

    Args:
        operator, recorder, beneath: of the call; the kernel below autograd.
        arguments: of the call.
        check: refuses arguments that must not be written.

    Returns:
        A function of the dynamic arguments.
    """
    make = getattr(beneath, "plan", None)
    inner = None if make is None or recorder.written else make(arguments)
    direct = _direct_formula(recorder, arguments)
    if inner is not None and direct is not None and getattr(beneath, "kind", None) == "pointwise":
        form = _result_form(inner, operator, arguments)
        # What has no gradients, as a comparison has none, is not recorded, and is the plan beneath.
        return _inline(operator, recorder, direct, inner, arguments, form) if has_gradients(form) else inner
    return _general(operator, recorder, beneath, inner, arguments, check)


def _direct_formula(recorder: Recorder, arguments: tuple[Any, ...]) -> Formula | None:
    """The formula of a call whose node can be made inline."""
    if recorder.formulas is None or len(recorder.formulas) != 1 or recorder.kept_results or recorder.kept_forms:
        return None
    (formula,) = recorder.formulas
    several = len(recorder.results) != 1 or recorder.written or recorder.is_view
    if formula.direct is None or several or any(place is not None for _, place in recorder.edges):
        return None
    return None if any(isinstance(each, tuple) for each in arguments) else formula


# ------------------------------------------------------------------------------------------------------------- general


def _general(
    operator: Operator, recorder: Recorder, beneath: Any, inner: Plan | None, arguments: tuple[Any, ...], check: Plan
) -> Plan:
    """The complete road from the kernel on."""
    names = recorder.arguments
    dynamic = operator.dynamic_names
    spots = [dynamic.index(name) if name in dynamic else None for name in names]
    # Not the tensors of this call, which a plan would keep alive.
    values = [value if at is None else None for at, value in zip(spots, arguments, strict=True)]
    guarded = getattr(beneath, "kind", None) not in _CALLS_NOTHING
    guard = below_autograd()

    def plan(*given: Any) -> Any:
        full = tuple(value if at is None else given[at] for at, value in zip(spots, values, strict=True))
        if recorder.written:
            check(full)
        edges, saved = recorder.before(full)
        if guarded:
            with guard:
                results = beneath(*full) if inner is None else inner(*given)
        else:
            results = beneath(*full) if inner is None else inner(*given)
        return recorder.after(full, results, edges, saved)

    return plan


# -------------------------------------------------------------------------------------------------------------- inline


class Saved(NamedTuple):
    """An argument that the backward pass reads.

    name: of the argument.
    version: the expression of the version of its memory; None for what is no tensor.
    """

    name: str
    version: str | None


def _inline(
    operator: Operator, recorder: Recorder, formula: Formula, inner: Plan, arguments: tuple[Any, ...], form: Geometry
) -> Plan:
    """One function that runs the kernel and makes the node.

    form: the geometry of the recorded result.
    """
    values = dict(zip(recorder.arguments, arguments, strict=True))
    saved = [_saved(name, values[name]) for name in recorder.arguments if name in formula.reads]
    constants = {name: value for name, value in values.items() if name not in operator.dynamic_names}
    kept = [name if name not in constants else f"constant_{name}" for name, _ in saved]
    kept += [each.version for each in saved if each.version is not None]
    edges = [_edge(recorder.arguments[at], arguments[at]) for at, _ in recorder.edges]
    lines = [
        f"def recorded({', '.join(operator.dynamic_names)}):",
        f"    node_result = node_inner({', '.join(operator.dynamic_names)})",
        "    node = node_make()",
        "    node.recipe = node_recipe",
        f"    node.edges = ({', '.join(edges)},)",
        f"    node.saved = ({''.join(f'{each}, ' for each in kept)})",
        "    node.sequence = node_next()",
        "    node_result.autograd = node",
        "    node_result.geometry = node_form",
        "    return node_result",
    ]
    recipe = Recipe(operator.name, _backward(operator.name, formula, saved), (form,))
    namespace = {
        "node_inner": inner,
        "node_make": Node,
        "node_recipe": recipe,
        "node_next": next_sequence,
        "node_form": form,
        "node_edge": edge_of,
        "node_version": version_of,
        **{f"constant_{name}": value for name, value in constants.items()},
    }
    return _function(lines, "recorded", namespace)


def _result_form(inner: Plan, operator: Operator, arguments: tuple[Any, ...]) -> Geometry:
    """The geometry of a recorded result: plans make results of one geometry."""
    values = dict(zip((each.python_name for each in operator.schema.arguments), arguments, strict=True))
    result: Tensor = inner(*[values[name] for name in operator.dynamic_names])
    form = result.geometry
    return form.replace(requires_grad=True) if has_gradients(form) else form


def _saved(name: str, value: Any) -> Saved:
    if not isinstance(value, Tensor):
        return Saved(name, None)
    return Saved(name, f"node_version({name})" if value._base is not None else f"{name}._writes")


def _edge(name: str, value: Tensor) -> str:
    return f"node_edge({name})" if value.geometry.is_view else f"{name}.autograd"


def _backward(operator: str, formula: Formula, saved: Sequence[Saved]) -> Plan:
    """The backward pass of inline nodes."""
    assert formula.direct is not None, "chosen for having one"
    function, reads, computed = formula.direct
    tensors = [each for each in saved if each.version is not None]
    names = [each.name for each in saved] + [f"{each.name}_version" for each in tensors]
    lines = ["def backward(node, node_gradients):"]
    if names:
        lines.append(f"    ({', '.join(names)},) = node.saved")
    for each in tensors:
        lines += [
            f"    if {each.version} != {each.name}_version:",
            f"        raise node_changed(node, {each.name!r}, {each.name}, {each.name}_version)",
        ]
    call = f"node_function({', '.join(['node_gradients[0]', *reads])})"
    if not computed:
        lines.append(f"    return node_gradients * {len(formula.names)}")
    elif formula.names == computed:
        lines.append(f"    return {call}" if len(computed) > 1 else f"    return ({call},)")
    else:
        lines.append(
            f"    {''.join(f'{name}_gradient, ' for name in computed)} = {call if len(computed) > 1 else f'({call},)'}"
        )
        parts = [f"{name}_gradient" if name in computed else "node_gradients[0]" for name in formula.names]
        lines.append(f"    return ({', '.join(parts)},)")
    namespace = {"node_function": function, "node_changed": changed, "node_version": version_of}
    return _function(lines, "backward", namespace)


def _function(lines: Sequence[str], name: str, namespace: dict[str, Any]) -> Plan:
    """A function of generated source."""
    exec(code_of("\n".join(lines) + "\n", f"autograd {name}"), namespace)
    made: Plan = namespace[name]
    return made
