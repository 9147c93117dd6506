"""Nodes made inline: what a recorded pointwise call of known geometries does beside its kernel, as lines of its plan.

There is no Python frame but the plan's own between the caller and the compiled kernel, and the node's backward pass is
as direct. Every other recorded call runs its recorder before and after what is lowered beneath.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opdsl.autograd.derivative import Formula
from opdsl.autograd.graph import Node, Recipe, changed, edge_of, next_sequence
from opdsl.autograd.recorder import Recorder
from opdsl.dispatch.plans.code import code_of
from opdsl.runtime import Tensor, TensorMeta, version_of
from opdsl.runtime.lowering import Lowering
from opdsl.runtime.plan_call import Plan

__all__ = ["direct_formula", "node_lines"]


def direct_formula(recorder: Recorder, arguments: tuple[Any, ...]) -> Formula | None:
    """The formula of a call whose node can be made inline; None of others.

    Args:
        recorder: of the call.
        arguments: of the call.
    """
    if recorder.formulas is None or len(recorder.formulas) != 1 or recorder.kept_results or recorder.kept_forms:
        return None
    (formula,) = recorder.formulas
    several = len(recorder.results) != 1 or recorder.written or recorder.is_view
    if formula.direct is None or several or any(index is not None for _, index in recorder.edges):
        return None
    return None if any(isinstance(each, tuple) for each in arguments) else formula


class Saved(NamedTuple):
    """An argument that the backward pass reads.

    name: of the argument.
    version: the expression of the version of its memory; None for what is no tensor.
    """

    name: str
    version: str | None


def node_lines(
    operator: str, recorder: Recorder, formula: Formula, arguments: tuple[Any, ...], form: TensorMeta
) -> Callable[[Sequence[str], str, Lowering], list[str]]:
    """What prints the lines that make the node of a call.

    Args:
        operator: its name.
        recorder, formula: of the call.
        arguments: of the call.
        form: the geometry of the result.

    Returns:
        A function of the expressions of the arguments and of the result, and of what records.
    """
    values = dict(zip(recorder.arguments, arguments, strict=True))
    saved = [_saved(name, values[name]) for name in recorder.arguments if name in formula.reads]
    recipe = Recipe(operator, _backward(operator, formula, saved), (form,))

    def lines(texts: Sequence[str], result: str, noted: Lowering) -> list[str]:
        constant, node = noted.constant, noted.name("node")
        named = dict(zip(recorder.arguments, texts, strict=True))
        tensors = [each.name for each in saved if each.version is not None]
        kept = [named[each.name] for each in saved]
        kept += [_version(named[name], values[name], constant) for name in tensors]
        edges = [_edge(texts[at], arguments[at], constant) for at, _ in recorder.edges]
        return [
            f"{node} = {constant(Node)}()",
            f"{node}.recipe = {constant(recipe)}",
            f"{node}.edges = ({', '.join(edges)},)",
            f"{node}.saved = ({''.join(f'{each}, ' for each in kept)})",
            f"{node}.sequence = {constant(next_sequence)}()",
            f"{result}.autograd = {node}",
        ]

    return lines


def _saved(name: str, value: Any) -> Saved:
    if not isinstance(value, Tensor):
        return Saved(name, None)
    return Saved(name, f"node_version({name})" if value._base is not None else f"{name}._writes")


def _version(text: str, value: Tensor, constant: Callable[[object], str]) -> str:
    return f"{constant(version_of)}({text})" if value._base is not None else f"{text}._writes"


def _edge(text: str, value: Tensor, constant: Callable[[object], str]) -> str:
    return f"{constant(edge_of)}({text})" if value.geometry.is_view else f"{text}.autograd"


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
