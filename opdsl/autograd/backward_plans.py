"""The backward pass of a node as a plan: a formula is lowered for the geometries of its gradients.

What the formula computes of gradients and of what was saved is run once on what records, with the sums over what was
broadcast, and printed as one function. Under ``create_graph``, and where a formula does more than call operators, it is
run as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from opdsl.autograd.engine import fitted
from opdsl.autograd.graph import Gradient, Node, Output, changed
from opdsl.autograd.recorder import Recorder
from opdsl.autograd.saving import with_history
from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.guards import below_autograd
from opdsl.dispatch.plans.lowered import Given, lower_call
from opdsl.dispatch.plans.plan_holders import Dependencies, holders
from opdsl.dispatch.state import PLAN_LIMIT, current
from opdsl.generated import function_from_source
from opdsl.runtime import Tensor, TensorMeta, version_of
from opdsl.runtime.dumping import dump
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan

__all__ = ["Argument", "BackwardPlans", "Constant", "Parameter"]


class Constant(NamedTuple):
    """An argument of which every such call has the value."""

    value: Any


class Parameter(NamedTuple):
    """An argument that a node has saved.

    number: of all that it keeps.
    name: the argument's.
    """

    number: int
    name: str


# The elements of a list are a tuple.
Argument: TypeAlias = "Constant | Parameter | tuple[Argument, ...]"


class BackwardPlans:
    """The plans of the backward pass of nodes that have a recipe in common.

    Args:
        recorder: made the nodes.
        reads: what formulas read, by name.
        saved: what nodes keep: ``tensor``, ``shared`` (a tensor whose memory is another's), ``number`` or
            ``result`` with its place; and whether it is a result that requires grad.
        targets: geometries of the arguments that gradients go to.
        results: geometries of the results.

    backward: ``Recipe.run`` of the nodes.
    """

    generation = 0

    def __init__(
        self,
        recorder: Recorder,
        reads: Mapping[str, Argument],
        saved: Sequence[tuple[str, bool]],
        targets: tuple[TensorMeta, ...],
        results: tuple[TensorMeta | None, ...],
    ) -> None:
        self.recorder = recorder
        self.reads = reads
        self.saved = saved
        self.targets = targets
        self.results = results
        self.plans: dict[object, Plan] = {}
        self.is_planned = all(each.is_traceable for each in recorder.formulas or ())
        self.gradients = [f"gradient{index}" for index in range(len(results))]
        self.values = [f"value{index}" for index in range(len(saved))]
        self.backward: Plan = self._compiled()

    def _compiled(self) -> Plan:
        """The function that nodes run: it unpacks what was saved, looks at versions, and calls the plan."""
        names: list[str] = []
        checks: list[str] = []
        namespace: dict[str, Any] = {"plans": self.plans, "state": current.get, "version_of": version_of}
        namespace |= {"changed": changed, "learn": self.learn, "getattr": getattr}
        for (kind, _), value, name in zip(self.saved, self.values, self._names(), strict=True):
            names.append(value)
            if kind == "number":
                continue
            names.append(f"{value}_version")
            version = f"{value}._writes" if kind == "tensor" else f"version_of({value})"
            watched = value
            if kind.startswith("result"):
                watched = f"{value}_result"
                names.append(f"{value}_original")
                checks.append(f"    {watched} = {value}_original()")
                version = f"{watched} is not None and version_of({watched})"
                checks.append(f"    if {watched} is not None and version_of({watched}) != {value}_version:")
            else:
                checks.append(f"    if {version} != {value}_version:")
            checks.append(f"        raise changed(node, {name!r}, {watched}, {value}_version)")
        lines = ["def backward(node, gradients):"]
        if names:
            lines.append(f"    {', '.join(names)}, = node.saved")
        lines += checks
        lines.append(f"    {', '.join(self.gradients)}, = gradients")
        forms = [f"{self.gradients[0]}.geometry"]
        if len(self.gradients) > 1:
            forms = [f"None if {each} is None else {each}.geometry" for each in self.gradients]
        given = ", ".join([*self.gradients, *self.values])
        one = len(self.targets) == 1
        lines += [
            "    try:",
            f"        plan = plans[state(), {', '.join(forms)}]",
            "    except (KeyError, AttributeError):",
            f"        return learn(node, gradients, ({''.join(f'{each}, ' for each in self.values)}))",
            f"    return (plan({given}),)" if one else f"    return plan({given})",
        ]
        source = "\n".join(lines) + "\n"
        return function_from_source("backward", source, namespace, title=f"backward of {self.recorder.name}")

    def _names(self) -> list[str]:
        """Of what is saved the names of arguments, for messages."""
        found: dict[int, str] = {}

        def walk(each: Argument) -> None:
            if isinstance(each, Parameter):
                found.setdefault(each.number, each.name)
            elif not isinstance(each, Constant):
                for part in each:
                    walk(part)

        for each in self.reads.values():
            walk(each)
        return [found[index] for index in range(len(self.saved))]

    # ------------------------------------------------------------------------------------------------------- running

    def compute(self, gradients: Sequence[Gradient], saved: Sequence[Any]) -> list[Gradient]:
        """The gradients of the arguments, from those of the results and what was saved."""
        values = {name: _filled_in(each, saved) for name, each in self.reads.items()}
        sent = self.recorder.gradients(gradients, self.results, values)
        return [
            fitted(each, form) if isinstance(each, Tensor) else each
            for each, form in zip(sent, self.targets, strict=True)
        ]

    def learn(self, node: Node, gradients: Sequence[Gradient], saved: tuple[Any, ...]) -> Sequence[Gradient]:
        """Run the formulas, or lower them and run the plan: the call has been made often enough to have one."""
        if all(each is None for each in gradients):
            return (None,) * len(self.targets)
        state = current.get()
        if state.grad_mode or not self.is_planned or not state.plans or state.recording:
            return self.compute(gradients, self._with_history(node, saved) if state.grad_mode else saved)
        key = (state, *(None if each is None else each.geometry for each in gradients))
        plan = self._lowered(key, gradients, saved)
        sent = plan(*gradients, *saved)
        return (sent,) if len(self.targets) == 1 else sent

    def _with_history(self, node: Node, saved: Sequence[Any]) -> list[Any]:
        """What was saved; results stand where they did, for gradients of gradients."""
        found = list(saved)
        for index, (kind, is_followed) in enumerate(self.saved):
            if is_followed:
                place = int(kind.rpartition(" ")[2])
                found[index] = with_history(found[index], node if place == 0 else Output(node, place))
        return found

    # ------------------------------------------------------------------------------------------------------ lowering

    def _run(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a plan does."""
        count = len(self.gradients)
        sent = self.compute(given[:count], given[count:])
        return sent[0] if len(sent) == 1 else tuple(sent)

    def _run_below(self, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with below_autograd():
            return self._run(given, named)

    def _lowered(self, key: object, gradients: Sequence[Gradient], saved: Sequence[Any]) -> Plan:
        """A new plan, which runs the formulas as they are where something stands in the way."""
        names = [*self.gradients, *self.values]
        kinds = {Kind.NUMBER}
        call = [Given(name, None, value, kinds, False) for name, value in zip(names, (*gradients, *saved), strict=True)]
        name = f"backward of {self.recorder.name}"
        made_of: Dependencies = {}
        try:
            plan, made_of = lower_call(name, self._run_below, self._run, names, call, [])
        except Exception as error:  # whatever stands in the way
            reason = f"# {name} is not lowered. {type(error).__name__}: {error}\n"
            dump(f"not lowered {name}", ".py", lambda: reason)
            plan = _spread(self._run)
        with registering:
            if all(packet.generation == each for packet, each in made_of.items()):
                if len(self.plans) >= PLAN_LIMIT:
                    self.plans.clear()
                self.plans[key] = plan
                holders.add(self)
                for packet in made_of:
                    packet.dependents.add(self)
        return plan

    def forget(self) -> None:
        """Drop all plans: a kernel has changed."""
        with registering:
            self.plans.clear()


def _spread(run: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Plan:
    def plan(*given: Any) -> Any:
        return run(given, {})

    return plan


def _filled_in(argument: Argument, saved: Sequence[Any]) -> Any:
    """An argument as formulas get it."""
    if isinstance(argument, Constant):
        return argument.value
    if isinstance(argument, Parameter):
        return saved[argument.number]
    return tuple(_filled_in(each, saved) for each in argument)
