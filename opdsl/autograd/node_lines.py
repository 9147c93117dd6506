"""Nodes made by lines of plans: what a recorded call of known geometries does beside its kernel.

There is no Python frame but the plan's own between the caller and the kernels, and the node's backward pass is a plan
as well (``backward_plans``). Calls that write, and those whose shapes are new, run their recorder before and after what
is lowered beneath.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from weakref import ref

from opdsl.autograd.backward_plans import Argument, BackwardPlans, Constant, Parameter
from opdsl.autograd.graph import Node, Output, Recipe, edge_of, next_sequence
from opdsl.autograd.recorder import Recorder
from opdsl.autograd.saving import Form, keep_result
from opdsl.autograd.views import ViewNode
from opdsl.dispatch.binding.arguments import value_key
from opdsl.dispatch.state import PLAN_LIMIT
from opdsl.runtime import Tensor, version_of
from opdsl.runtime.lowering import Lowering, is_lowered
from opdsl.runtime.symbol import Symbol

__all__ = ["NodeLines"]

Text = Callable[[Any], str]


class Saved(NamedTuple):
    """What a node keeps of a call.

    value: an argument or a result.
    place: of a result; None for an argument.
    """

    value: Any
    place: int | None


class NodeLines:
    """The lines that make the node of a call.

    Args:
        recorder: of the call.
        arguments, results: of the call, as what records knows them; the results already require grad.
        followed: which of the results do.

    Raises:
        TypeError: an argument cannot be told from others by a key.
    """

    def __init__(
        self, recorder: Recorder, arguments: Sequence[Any], results: Sequence[Any], followed: Sequence[int]
    ) -> None:
        self.recorder = recorder
        self.arguments = arguments
        self.results = results
        self.followed = followed
        self.saved: list[Saved] = []
        values = dict(zip(recorder.arguments, arguments, strict=True))
        reads = {name: self._argument(name, values[name]) for name in recorder.kept}
        for index in recorder.kept_results:
            reads[recorder.results[index]] = self._result(recorder.results[index], index)
        self.recipe = self._recipe(reads)

    # ------------------------------------------------------------------------------------------------------- recipes

    def _argument(self, name: str, value: Any) -> Argument:
        """Where the backward pass finds an argument, which is saved if it has to be."""
        if isinstance(value, Tensor):
            return Constant(Form(value.geometry)) if name in self.recorder.kept_forms else self._kept(name, value, None)
        if type(value) is Symbol:
            return self._kept(name, value, None)
        if isinstance(value, (tuple, list)) and any(isinstance(each, Tensor) or is_lowered(each) for each in value):
            return tuple(self._argument(name, each) for each in value)
        return Constant(value)

    def _result(self, name: str, index: int) -> Argument:
        value = self.results[index]
        if not isinstance(value, Tensor):
            return Constant(value)
        return Constant(Form(value.geometry)) if name in self.recorder.kept_forms else self._kept(name, value, index)

    def _kept(self, name: str, value: Any, place: int | None) -> Parameter:
        for index, each in enumerate(self.saved):
            if each.value is value:
                return Parameter(index, name)
        self.saved.append(Saved(value, place))
        return Parameter(len(self.saved) - 1, name)

    def _recipe(self, reads: dict[str, Argument]) -> Recipe:
        """What the nodes of all calls have in common that are like this one."""
        recorder = self.recorder
        seen: list[Any] = []
        key = tuple(_key(each, seen) for each in (*self.arguments, *self.results))
        found = recorder.recipes.get(key)
        if found is None:
            targets = [self._target(*each) for each in recorder.edges]
            forms = tuple(each.geometry if isinstance(each, Tensor) else None for each in self.results)
            plans = BackwardPlans(
                recorder,
                reads,
                [_described(each) for each in self.saved],
                tuple(each.geometry for each in targets),
                forms,
            )
            if len(recorder.recipes) >= PLAN_LIMIT:
                recorder.recipes.clear()
            found = recorder.recipes[key] = Recipe(recorder.name, plans.backward, forms)
        return found

    # --------------------------------------------------------------------------------------------------------- lines

    def __call__(self, text: Text, noted: Lowering) -> list[str]:
        """The lines.

        Args:
            text: the expression of a value of the call.
            noted: what records.
        """
        constant, node = noted.constant, noted.name("node")
        results = [text(self.results[index]) for index in self.followed]
        saved: list[str] = []
        lines: list[str] = []
        for each in self.saved:
            parts, before = self._saved_parts(each, text, noted)
            saved += parts
            lines += before
        edges = [self._edge(*each, text, noted) for each in self.recorder.edges]
        kind: type[Node] = Node
        rest: list[str] = []
        if self.recorder.is_view:
            kind, rest = ViewNode, self._view_lines(node, edges[0], text, constant)
        lines += [
            f"{node} = {constant(kind)}()",
            f"{node}.recipe = {constant(self.recipe)}",
            f"{node}.edges = ({', '.join(edges)},)",
            *rest,
            f"{node}.saved = ({''.join(f'{each}, ' for each in saved)})",
            f"{node}.sequence = {constant(next_sequence)}()",
        ]
        for index, result in zip(self.followed, results, strict=True):
            lines.append(f"{result}.autograd = {node if index == 0 else f'{constant(Output)}({node}, {index})'}")
            noted.edges[id(self.results[index])] = f"{result}.autograd" if index else node
        return lines

    def _target(self, at: int, index: int | None) -> Tensor:
        """The argument, or the element of one, that an edge is of."""
        found: Tensor = self.arguments[at] if index is None else self.arguments[at][index]
        return found

    def _edge(self, at: int, index: int | None, text: Text, noted: Lowering) -> str:
        value = self._target(at, index)
        known = noted.edges.get(id(value))
        if known is not None:
            return known
        source = text(value)
        return f"{noted.constant(edge_of)}({source})" if value.geometry.is_view else f"{source}.autograd"

    def _view_lines(self, node: str, edge: str, text: Text, constant: Callable[[object], str]) -> list[str]:
        """What the node of a view knows beside, as ``view_node`` has it."""
        viewed = self.arguments[self.recorder.edges[0][0]]
        owner, history = text(viewed), edge
        if viewed.geometry.is_tracked_view:
            owner = f"{owner}._base"
            history = f"{constant(getattr)}({owner}, 'autograd', None)"
        return [f"{node}.owner = {constant(ref)}({owner})", f"{node}.history = {history}"]

    def _saved_parts(self, saved: Saved, text: Text, noted: Lowering) -> tuple[list[str], list[str]]:
        """The expressions of what is kept, and the lines before them."""
        value, constant = saved.value, noted.constant
        if not isinstance(value, Tensor):
            return [noted.source(value)], []
        source = text(value)
        if saved.place is None:
            version = f"{constant(version_of)}({source})" if value._base is not None else f"{source}._writes"
            return [source, version], []
        bare = noted.name("bare")
        if value._base is not None or value.geometry.is_view or value.is_meta:
            lines = [f"{bare} = {constant(keep_result)}({source}, {saved.place}).tensor"]
        else:
            lines = [
                f"{bare} = {constant(Tensor)}()",
                f"{bare}.array = {source}.array",
                f"{bare}.geometry = {constant(value.geometry.replace(requires_grad=False))}",
                f"{bare}._writes = 0",
                f"{bare}._base = None",
            ]
        return [bare, f"{constant(version_of)}({source})", f"{constant(ref)}({source})"], lines


def _described(saved: Saved) -> tuple[str, bool]:
    """What is saved of a value, and whether it is a result that is followed itself."""
    value = saved.value
    if not isinstance(value, Tensor):
        return "number", False
    if saved.place is not None:
        return f"result {saved.place}", value.geometry.requires_grad
    return "shared" if value._base is not None else "tensor", False


def _key(value: Any, seen: list[Any]) -> object:
    """What tells calls apart: geometries, types of numbers, values of others, and what is the same tensor."""
    if isinstance(value, Tensor):
        same = next((index for index, each in enumerate(seen) if each is value), len(seen))
        if same == len(seen):
            seen.append(value)
        return value.geometry, value._base is None, same
    if type(value) is Symbol:
        seen.append(value)
        return Symbol, type(value.example)
    if isinstance(value, (tuple, list)):
        return tuple(_key(each, seen) for each in value)
    return value_key(value)
