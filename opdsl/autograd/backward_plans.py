"""Plans of backward passes: a node's formula is lowered for the geometries of its gradients, or for their forms.

The formula is traced once on recording tensors, together with the sums over broadcast dimensions, and printed as one
function. Under ``create_graph``, and for a formula that does more than call operators, it runs without a plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from opdsl.autograd.derivative import consumed
from opdsl.autograd.engine import fitted
from opdsl.autograd.graph import Gradient, Node, Output, changed
from opdsl.autograd.recorder import Recorder
from opdsl.autograd.saving import is_shared, with_history, without_elements
from opdsl.dispatch.binding.arguments import SIZES_FROM, Kind
from opdsl.dispatch.guards import below_autograd
from opdsl.dispatch.plans.form_table import FormTable
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.lowered import Given, lower_call, lower_form
from opdsl.dispatch.plans.lowering_errors import refusals_only
from opdsl.dispatch.plans.plan_holders import Dependencies, publish
from opdsl.dispatch.plans.policy import Next
from opdsl.dispatch.plans.sequencing import ReusingEmitter
from opdsl.dispatch.state import PLAN_LIMIT, State, current
from opdsl.generated import function_from_source
from opdsl.runtime import Tensor, TensorMeta, version_of
from opdsl.runtime.dumping import dump
from opdsl.runtime.forking import registering
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.symbol import NotLoweredError

__all__ = ["Argument", "BackwardPlans", "Constant", "Parameter"]


class Constant(NamedTuple):
    """Argument of a formula that is the same for all nodes with a recipe, so that it is not saved."""

    value: Any


class Parameter(NamedTuple):
    """Argument of a formula that a node has saved.

    number: its position among the saved values.
    name: the argument's.
    """

    number: int
    name: str


# Kinds of saved values that cannot be written.
_WITHOUT_VERSION = ("number", "size", "meta")

# A tuple represents the elements of a list argument.
Argument: TypeAlias = "Constant | Parameter | tuple[Argument, ...]"


class BackwardPlans:
    """Cache of plans for the backward pass of nodes that share a recipe.

    Args:
        recorder: made the nodes.
        reads: the values that formulas read, by name.
        saved: the kinds of saved values: ``tensor``, ``shared`` (a tensor whose memory is another's), ``number``,
            ``size``, ``meta`` (of a tensor that is not kept itself) or ``result`` with its position; and whether it is
            a result that requires grad.
        targets: shapes and dtypes of the arguments that gradients go to.
        results: those of the results; None if they are that of the gradient.
        is_exact: whether plans are for exact geometries of gradients, as the nodes are; otherwise for their forms.
        otherwise: for plans of nodes that are freed, which overwrite saved values: the function that runs the nodes
            if the memory of these is shared.

    backward, consume, keeps_tensors: of the nodes' ``Recipe``.
    """

    generation = 0

    def __init__(
        self,
        recorder: Recorder,
        reads: Mapping[str, Argument],
        saved: Sequence[tuple[str, bool]],
        targets: Sequence[Argument],
        results: Sequence[Argument | None],
        *,
        is_exact: bool,
        otherwise: Plan | None = None,
    ) -> None:
        self.recorder = recorder
        self.reads = reads
        self.saved = saved
        self.targets = targets
        self.results = results
        self.name = f"backward of {recorder.name}"
        self.is_exact = is_exact
        self.forms = FormTable(self.name, self, patience=0)
        self.plans: dict[State, dict[object, Plan]] = {} if is_exact else self.forms.plans
        self.keeps_tensors = any(kind not in _WITHOUT_VERSION for kind, _ in saved)
        self.is_planned = all(formula.is_traceable for formula in recorder.formulas or ())
        self.gradients = [f"gradient{index}" for index in range(len(results))]
        self.values = [f"value{index}" for index in range(len(saved))]
        self.otherwise = otherwise
        numbers = {name: read.number for name, read in reads.items() if isinstance(read, Parameter)}
        # A value that is saved for two arguments must not be overwritten for one of them.
        alone = {name for name, number in numbers.items() if [*numbers.values()].count(number) == 1}
        names = sorted(alone.intersection(recorder.consumed))
        self.consumed = {name: numbers[name] for name in names if saved[numbers[name]][0] in ("tensor", "shared")}
        self.backward: Plan = self._compiled()
        self.consume: Plan | None = None
        if otherwise is None and self.consumed:
            freeing = BackwardPlans(
                recorder, reads, saved, targets, results, is_exact=is_exact, otherwise=self.backward
            )
            self.consume = freeing.backward

    def _compiled(self) -> Plan:
        """Generate the function that nodes run: it unpacks saved values, checks their versions, and calls the plan."""
        names: list[str] = []
        checks: list[str] = []
        namespace: dict[str, Any] = {"plans": self.plans, "state": current.get, "version_of": version_of}
        namespace |= {"changed": changed, "learn": self.learn, "GUARD_FAILED": GUARD_FAILED}
        namespace |= {"is_shared": is_shared, "otherwise": self.otherwise}
        for (kind, _), value, name in zip(self.saved, self.values, self._names(), strict=True):
            names.append(value)
            if kind in _WITHOUT_VERSION:
                continue
            names.append(f"{value}_version")
            version = f"version_of({value})" if kind.startswith("shared") else f"{value}._writes"
            checks += [
                f"    if {version} != {value}_version:",
                f"        raise changed(node, {name!r}, {value}, {value}_version)",
            ]
        checks += self._lines_of_unshared()
        lines = ["def backward(node, gradients):"]
        if names:
            lines.append(f"    {', '.join(names)}, = node.saved")
        text, values = ", ".join([*self.gradients, *self.values]), "".join(f"{value}, " for value in self.values)
        key, left = self._key(), f"return learn(node, gradients, ({values}))"
        lines += [
            *checks,
            f"    {', '.join(self.gradients)}, = gradients",
            "    try:",
            f"        plan = plans[state()][{key}]",
            "    except (KeyError, AttributeError):",
            f"        {left}",
            f"    sent = plan({text})",
            *([] if self.is_exact else ["    if sent is GUARD_FAILED:", f"        {left}"]),
            "    return (sent,)" if len(self.targets) == 1 else "    return sent",
            f"def key({text}):",
            f"    return {key}",
        ]
        compiled = function_from_source("backward", "\n".join(lines) + "\n", namespace, title=self.name)
        self._key_of: Callable[..., object] = namespace["key"]
        return compiled

    def _lines_of_unshared(self) -> list[str]:
        """Return the lines that fall back to ``otherwise`` if the memory of a saved value to overwrite is shared."""
        if self.otherwise is None:
            return []
        lines: list[str] = []
        for number in self.consumed.values():
            lines += [f"    if is_shared({self.values[number]}):", "        return otherwise(node, gradients)"]
        return [*lines, "    node.saved = None"]  # a second pass, even after an error, would read overwritten values

    def _key(self) -> str:
        """Return the expression of a plan's key: the geometries, or the forms, of gradients and saved tensors.

        A single result always has a gradient. The memory of results cannot be replaced, so they are not part of exact
        keys.
        """
        ending = "" if self.is_exact else ".form"
        parts = [f"{gradient}.geometry{ending}" for gradient in self.gradients]
        if len(parts) > 1:
            parts = [f"None if {name} is None else {part}" for name, part in zip(self.gradients, parts, strict=True)]
        for (kind, _), value in zip(self.saved, self.values, strict=True):
            if kind in ("tensor", "shared"):
                parts.append(f"{value}.geometry{ending}")
            elif not self.is_exact and kind != "number":
                forms = {"size": f"max(-{SIZES_FROM}, min({value}, {SIZES_FROM}))", "meta": f"{value}.form"}
                parts.append(forms.get(kind, f"{value}.geometry.form"))
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    def _names(self) -> list[str]:
        """Return the argument names of saved values, for messages."""
        texts: dict[int, str] = {}

        def walk(argument: Argument) -> None:
            if isinstance(argument, Parameter):
                texts.setdefault(argument.number, argument.name)
            elif not isinstance(argument, Constant):
                for part in argument:
                    walk(part)

        for read in self.reads.values():
            walk(read)
        return [texts.get(index, "") for index in range(len(self.saved))]

    # ------------------------------------------------------------------------------------------------------- running

    def compute(self, gradients: Sequence[Gradient], saved: Sequence[Any]) -> list[Gradient]:
        """Compute the gradients of the arguments from those of the results and the saved values."""
        values = {name: _filled_in(read, saved) for name, read in self.reads.items()}
        forms = [
            gradient if result is None else _filled_in(result, saved)
            for result, gradient in zip(self.results, gradients, strict=True)
        ]
        token = consumed.set(frozenset(self.consumed) if self.otherwise is not None else frozenset())
        try:
            sent = self.recorder.gradients(gradients, forms, values)
        finally:
            consumed.reset(token)
        return [
            fitted(gradient, _filled_in(form, saved)) if isinstance(gradient, Tensor) else gradient
            for gradient, form in zip(sent, self.targets, strict=True)
        ]

    def learn(self, node: Node, gradients: Sequence[Gradient], saved: tuple[Any, ...]) -> Sequence[Gradient]:
        """Run the formulas, or lower them to a plan and run that, on a cache miss."""
        if all(gradient is None for gradient in gradients):
            return (None,) * len(self.targets)
        state = current.get()
        if state.grad_mode or not self.is_planned or not state.plans or state.recording:
            return self.compute(gradients, self._with_history(node, saved) if state.grad_mode else saved)
        plan = (self._lowered if self.is_exact else self._form_plan)(state, gradients, saved)
        sent = plan(*gradients, *saved)
        if sent is GUARD_FAILED:
            return self.compute(gradients, saved)
        return (sent,) if len(self.targets) == 1 else sent

    def _with_history(self, node: Node, saved: Sequence[Any]) -> list[Any]:
        """Return the saved values, with results reattached to the node, for gradients of gradients."""
        history = list(saved)
        for index, (kind, is_followed) in enumerate(self.saved):
            if is_followed:
                place = int(kind.rpartition(" ")[2])
                history[index] = with_history(history[index], node if place == 0 else Output(node, place))
        return history

    # ------------------------------------------------------------------------------------------------------ lowering

    def _run(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run the function that a plan is lowered from."""
        count = len(self.gradients)
        sent = self.compute(positional[:count], positional[count:])
        return sent[0] if len(sent) == 1 else tuple(sent)

    def _run_below(self, positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
        with below_autograd():
            return self._run(positional, named)

    def _given(self, gradients: Sequence[Gradient], saved: Sequence[Any]) -> list[Given]:
        """Describe the arguments of a plan for lowering."""
        call = [Given(name, None, value, set()) for name, value in zip(self.gradients, gradients, strict=True)]
        for name, (kind, _), value in zip(self.values, self.saved, saved, strict=True):
            is_size = kind == "size" and not self.is_exact
            call.append(Given(name, None, value, set() if is_size else {Kind.NUMBER}, SIZES_FROM if is_size else None))
        return call

    def _form_plan(self, state: State, gradients: Sequence[Gradient], saved: Sequence[Any]) -> Plan:
        """Return the plans of a call's form, after lowering one more for this call if there may be another."""
        form = self.forms.find(state, self._key_of(*gradients, *saved))
        if form.decide() is Next.FORM:
            call = self._given(gradients, saved)
            names = [argument.text for argument in call]
            self.forms.lower(
                state,
                form,
                lambda: lower_form(self.name, self._run_below, None, names, call),
                lambda: self.compute(gradients, saved),
            )
        return form

    def _lowered(self, state: State, gradients: Sequence[Gradient], saved: Sequence[Any]) -> Plan:
        """Lower a call to a new plan; if that fails, return a plan that runs the formulas directly."""
        call = self._given(gradients, saved)
        made_of: Dependencies = {}
        try:
            names = [argument.text for argument in call]
            with refusals_only(self.name, lambda: self.compute(gradients, saved)):
                plan, made_of = lower_call(
                    self.name, self._run_below, self._run, names, call, [], printer=ReusingEmitter
                )
        except NotLoweredError as error:
            reason = f"# {self.name} is not lowered. {type(error).__name__}: {error}\n"
            dump(f"not lowered {self.name}", ".py", lambda: reason)
            plan = _spread(self._run)
        key = self._key_of(*gradients, *saved)
        publish(self, made_of, lambda: self._keep(state, key, plan))
        return plan

    def _keep(self, state: State, key: object, plan: Plan) -> None:
        plans = self.plans.setdefault(state, {})
        if len(plans) >= PLAN_LIMIT:
            plans.clear()
        plans[key] = plan

    def forget(self) -> None:
        """Drop all plans, as a kernel has changed."""
        with registering:
            self.plans.clear()
            self.forms.clear()


def _spread(run: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Plan:
    def plan(*positional: Any) -> Any:
        return run(positional, {})

    return plan


def _filled_in(argument: Argument, saved: Sequence[Any]) -> Any:
    """Return an argument's value for a formula, from the saved values."""
    if isinstance(argument, Constant):
        return argument.value
    if isinstance(argument, Parameter):
        value = saved[argument.number]
        return without_elements(value) if isinstance(value, TensorMeta) else value
    return tuple(_filled_in(constant, saved) for constant in argument)
