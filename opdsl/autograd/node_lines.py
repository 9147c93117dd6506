"""Lines of a plan that make the node of a recorded call.

Plans make nodes inline: between the caller and the kernels there is only the plan's Python frame, and the node's
backward pass is a plan as well (``backward_plans``). A plan for a form does not know sizes, so that its nodes save
tensor metas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from weakref import ref

from opdsl.autograd.backward_plans import Argument, BackwardPlans, Constant, Parameter
from opdsl.autograd.graph import Node, Output, Recipe, edge_of, next_sequence
from opdsl.autograd.recorder import Recorder
from opdsl.autograd.saving import keep_result, without_elements
from opdsl.autograd.views import ViewNode, check_writable, set_history
from opdsl.dispatch.binding.arguments import value_key
from opdsl.dispatch.state import PLAN_LIMIT
from opdsl.runtime import Tensor, version_of
from opdsl.runtime.lowering import Lowering, is_lowered
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import Symbol

__all__ = ["NodeLines"]

Text = Callable[[Any], str]


class Saved(NamedTuple):
    """Value of a call that a node saves.

    value: an argument or a result.
    place: position of a result; None for an argument.
    is_meta: whether only the tensor meta is saved, without elements.
    """

    value: Any
    place: int | None
    is_meta: bool


class NodeLines:
    """Builder of the plan's lines that make the node of a call.

    Args:
        recorder: of the call.
        arguments: of the call, as tracers.
        is_exact: whether the plan is for the exact geometries of the call.
    """

    def __init__(self, recorder: Recorder, arguments: Sequence[Any], *, is_exact: bool) -> None:
        self.recorder = recorder
        self.arguments = arguments
        self.is_exact = is_exact
        self.results: Sequence[Any] = ()
        self.followed: Sequence[int] = ()
        self.saved: list[Saved] = []
        self.edges: list[str] = []
        self.versions: list[str] = []
        values = dict(zip(recorder.arguments, arguments, strict=True))
        self.reads = {name: self._argument(name, values[name]) for name in recorder.kept}
        self.targets = [self._meta(self._target(*edge), None) for edge in recorder.edges]
        # Tensors that are no views and do not yet require grad may always be written.
        written = tensors_in(tuple([values[name] for name in recorder.written]))
        self.checked = [tensor for tensor in written if tensor.geometry.requires_grad or tensor._base is not None]

    def has_given(self, results: Sequence[Any], followed: Sequence[int]) -> None:
        """Set the results of the call, and the positions of those that require grad.

        Raises:
            TypeError: an argument cannot be part of a cache key.
        """
        self.results = results
        self.followed = followed
        recorder = self.recorder
        for index in recorder.kept_results:
            self.reads[recorder.results[index]] = self._result(recorder.results[index], index)
        # A single result always has a gradient, which has its shape.
        forms = [self._meta(result, index) if len(results) > 1 else None for index, result in enumerate(results)]
        self.plans = self._plans(forms)

    # ------------------------------------------------------------------------------------------------ saved values

    def _argument(self, name: str, value: Any) -> Argument:
        """Return the description by which the backward pass finds a forward argument: a saved value, or a constant.
        Saves the argument if necessary.
        """
        if isinstance(value, Tensor):
            if name in self.recorder.kept_forms:
                return self._meta(value, None)
            # A written argument is saved as a clone of its old value, with history for gradients of gradients.
            return self._kept(name, value.clone() if name in self.recorder.written else value, None)
        if type(value) is Symbol:
            return self._kept(name, value, None)
        if isinstance(value, (tuple, list)) and any(isinstance(part, Tensor) or is_lowered(part) for part in value):
            return tuple(self._argument(name, part) for part in value)
        return Constant(value)

    def _result(self, name: str, index: int) -> Argument:
        value = self.results[index]
        if not isinstance(value, Tensor):
            return Constant(value)
        return self._meta(value, index) if name in self.recorder.kept_forms else self._kept(name, value, index)

    def _meta(self, value: Any, place: int | None) -> Argument:
        """Return the description by which the backward pass finds the shape and dtype of a tensor: a constant if all
        sizes are known, else a saved value.
        """
        if not isinstance(value, Tensor):
            return Constant(None)
        if not self.is_exact:
            return self._kept("", value, place, is_meta=True)
        return Constant(without_elements(value.geometry))

    def _kept(self, name: str, value: Any, place: int | None, *, is_meta: bool = False) -> Parameter:
        for index, saved in enumerate(self.saved):
            # A saved tensor also provides its meta.
            if saved.value is value and saved.place == place and (is_meta or not saved.is_meta):
                return Parameter(index, name)
        self.saved.append(Saved(value, place, is_meta))
        return Parameter(len(self.saved) - 1, name)

    def _plans(self, forms: Sequence[Argument | None]) -> BackwardPlans:
        """Return the plans of the backward pass for nodes of this kind, cached in the recorder."""
        seen: list[Any] = []
        key = (self.is_exact, *(_key(argument, seen, self.is_exact) for argument in (*self.arguments, *self.results)))
        known = self.recorder.plans
        plans = known.get(key)
        if plans is None:
            if len(known) >= PLAN_LIMIT:
                known.clear()
            saved = [_described(saved) for saved in self.saved]
            plans = known[key] = BackwardPlans(
                self.recorder, self.reads, saved, self.targets, forms, is_exact=self.is_exact
            )
        return plans

    # --------------------------------------------------------------------------------------------------------- lines

    def before(self, text: Text, noted: Lowering) -> list[str]:
        """Return the lines to run before a tensor is written: they check that it may be, and read versions and edges.

        Args:
            text: returns the expression of a value of the call.
            noted: the recorder of the plan.
        """
        check = noted.constant(check_writable)
        lines = [f"{check}({text(tensor)})" for tensor in self.checked]

        def named(prefix: str, expression: str) -> str:
            variable = noted.name(prefix)
            lines.append(f"{variable} = {expression}")
            return variable

        self.versions = [named("version", version) if version else "" for version in self._versions(text, noted)]
        self.edges = [named("edge", self._edge(*edge, text, noted)) for edge in self.recorder.edges]
        return lines

    def after(self, text: Text, noted: Lowering) -> list[str]:
        """Return the lines that make the node, to run after the kernel; see ``before``."""
        constant, node = noted.constant, noted.name("node")
        results = {index: text(self.results[index]) for index in self.followed}
        saved: list[str] = []
        lines: list[str] = []
        versions = self.versions or self._versions(text, noted)
        for entry, version in zip(self.saved, versions, strict=True):
            parts, before = self._saved_parts(entry, version, text, noted)
            saved += parts
            lines += before
        edges = self.edges or [self._edge(*edge, text, noted) for edge in self.recorder.edges]
        kind: type[Node] = Node
        rest: list[str] = []
        if self.recorder.is_view:
            kind, rest = ViewNode, self._view_lines(node, edges[0], text, constant)
        lines += [
            f"{node} = {constant(kind)}()",
            f"{node}.recipe = {self._recipe(results, constant)}",
            f"{node}.edges = ({', '.join(edges)},)",
            *rest,
            f"{node}.saved = ({''.join(f'{name}, ' for name in saved)})",
            f"{node}.sequence = {constant(next_sequence)}()",
        ]
        if self.recorder.written:
            noted.edges.clear()  # edges of views of a written tensor have changed
        for index in self.followed:
            value, result = self.results[index], results[index]
            if self._is_rewritten(value):
                own = self.recorder.writes_own_edge
                lines.append(f"{constant(set_history)}({result}, {node}, has_own_edge={own})")
                continue
            lines.append(f"{result}.autograd = {node if index == 0 else f'{constant(Output)}({node}, {index})'}")
            noted.edges[id(value)] = f"{result}.autograd" if index else node
        return lines

    def _recipe(self, results: Mapping[int, str], constant: Callable[[object], str]) -> str:
        """Return the expression of the node's recipe, given the expressions of the results."""
        name, run, count = self.recorder.name, self.plans.backward, len(self.results)
        keeps, consume = self.plans.keeps_tensors, self.plans.consume
        if self.is_exact:
            metas = tuple(self.results[index].geometry if index in results else None for index in range(count))
            return constant(Recipe(name, run, metas, keeps, consume))
        shown = "".join(f"{results[index]}.geometry, " if index in results else "None, " for index in range(count))
        last = "" if consume is None else f", {constant(consume)}"
        return f"{constant(Recipe)}({name!r}, {constant(run)}, ({shown}), {keeps}{last})"

    def _is_rewritten(self, result: Any) -> bool:
        """Return whether a result is a written argument, whose history has to be replaced."""
        names = zip(self.recorder.arguments, self.arguments, strict=True)
        name = next((name for name, value in names if value is result and name in self.recorder.written), None)
        # For a tensor that is no view, setting the edge replaces its history.
        return name is not None and (result.geometry.is_tracked_view or not self.recorder.required.get(name))

    def _target(self, at: int, index: int | None) -> Tensor:
        """Return the argument, or the element of a list argument, whose gradient an edge takes."""
        target: Tensor = self.arguments[at] if index is None else self.arguments[at][index]
        return target

    def _edge(self, at: int, index: int | None, text: Text, noted: Lowering) -> str:
        value = self._target(at, index)
        known = noted.edges.get(id(value))
        if known is not None:
            return known
        source = text(value)
        return f"{noted.constant(edge_of)}({source})" if value.geometry.is_view else f"{source}.autograd"

    def _view_lines(self, node: str, edge: str, text: Text, constant: Callable[[object], str]) -> list[str]:
        """Return the lines that set the additional attributes of a view's node, as ``view_node`` does."""
        viewed = self.arguments[self.recorder.edges[0][0]]
        owner, history = text(viewed), edge
        if viewed.geometry.is_tracked_view:
            owner = f"{owner}._base"
            history = f"{constant(getattr)}({owner}, 'autograd', None)"
        return [f"{node}.owner = {constant(ref)}({owner})", f"{node}.history = {history}"]

    def _versions(self, text: Text, noted: Lowering) -> list[str]:
        """Return for each saved value the expression of its version; empty for values without one, and for results."""
        versions = []
        for value, place, is_meta in self.saved:
            if place is not None or is_meta or not isinstance(value, Tensor):
                versions.append("")
                continue
            source = text(value)
            is_shared = value._base is not None
            versions.append(f"{noted.constant(version_of)}({source})" if is_shared else f"{source}._writes")
        return versions

    def _saved_parts(self, saved: Saved, version: str, text: Text, noted: Lowering) -> tuple[list[str], list[str]]:
        """Return the expressions of a saved value, and the lines to run before them."""
        value, constant = saved.value, noted.constant
        if not isinstance(value, Tensor):
            return [noted.source(value)], []
        source = text(value)
        if saved.is_meta:
            return [f"{source}.geometry"], []
        if saved.place is None:
            return [source, version], []
        bare = noted.name("bare")
        if not _has_own_memory(value):
            return [bare, f"{constant(version_of)}({bare})"], [
                f"{bare} = {constant(keep_result)}({source}, {saved.place}).tensor"
            ]
        form = value.geometry.replace(requires_grad=False)
        meta = constant(form)
        if not self.is_exact:
            meta = f"{constant(form.table)}({source}.geometry.shape, {source}.geometry.strides)"
        lines = [
            f"{bare} = {constant(Tensor)}()",
            f"{bare}.array = {source}.array",
            f"{bare}.geometry = {meta}",
            f"{bare}._writes = 0",
            f"{bare}._base = None",
            f"{source}.kept = {bare}",
        ]
        return [bare, "0"], lines


def _has_own_memory(result: Tensor) -> bool:
    """Return whether a result is not a view, so that it has its own version counter."""
    return result._base is None and not result.geometry.is_view and not result.is_meta


def _described(saved: Saved) -> tuple[str, bool]:
    """Return the kind of a saved value for ``BackwardPlans``, and whether it is a result that requires grad."""
    value = saved.value
    if not isinstance(value, Tensor):
        return ("size" if type(value.example) is int else "number"), False
    if saved.is_meta:
        return "meta", False
    if saved.place is not None:
        kind = "result" if _has_own_memory(value) else "shared result"
        return f"{kind} {saved.place}", value.geometry.requires_grad
    return "shared" if value._base is not None else "tensor", False


def _key(value: Any, seen: list[Any], is_exact: bool) -> object:
    """Return the cache key of a value: geometry, number type or value, and which earlier value is the same object."""
    if isinstance(value, Tensor):
        form = value.geometry
        return form if is_exact else (form.table, form.ndim), value._base is None, _number(value, seen)
    if type(value) is Symbol:
        return Symbol, type(value.example), _number(value, seen)
    if isinstance(value, (tuple, list)):
        return tuple(_key(member, seen, is_exact) for member in value)
    return value_key(value)


def _number(value: Any, seen: list[Any]) -> int:
    """Return the index of a value among those seen so far, to which it is appended if it is new."""
    number = next((index for index, seen_value in enumerate(seen) if seen_value is value), len(seen))
    if number == len(seen):
        seen.append(value)
    return number
