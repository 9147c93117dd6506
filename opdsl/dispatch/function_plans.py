"""Plans of functions that are no operators and only call operators: subscripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opdsl.dispatch.forms import FormPlans
from opdsl.dispatch.lowered import Given, lower_call, lower_form
from opdsl.dispatch.plan_holders import holders
from opdsl.dispatch.state import PLAN_LIMIT, current
from opdsl.runtime import Tensor, cpu
from opdsl.runtime.forking import registering

__all__ = ["FunctionPlans"]

Plan = Callable[..., object]


class FunctionPlans:
    """Plans of a function that is no operator and only calls operators, as ``traceable`` has it.

    plans: by the state and whatever the caller tells calls apart by, which has to hold the geometries of all tensors.
    forms: the plans of forms, by the state and whatever the caller tells forms apart by.
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
        return form.wants_lowering and self._lower_form(form, function, names, arguments)

    def _lower_form(self, form: FormPlans, function: Plan, names: Sequence[str], arguments: Sequence[object]) -> bool:
        """Whether there is a plan now that serves calls of a form."""
        call = [Given(name, None, value, set(), True) for name, value in zip(names, arguments, strict=True)]
        try:
            plan, made_of = lower_form(function.__name__, lambda given, _: function(*given), form, names, call)
        except Exception as error:  # whatever stands in the way of symbols: such calls keep the plans that they have
            form.reason = f"{type(error).__name__}: {error}"
            return False
        with registering:
            if any(packet.generation != each for packet, each in made_of.items()):
                return False
            for packet in made_of:
                packet.dependents.add(self)
            form.variants.append(plan)
            self.forms[form.key] = plan if len(form.variants) == 1 else form
        return True

    def learn(
        self,
        key: tuple[object, ...],
        form_key: tuple[object, ...],
        function: Plan,
        names: Sequence[str],
        arguments: Sequence[object],
        constants: Sequence[Tensor],
    ) -> object:
        """Call a function, and keep a plan of calls with this key.

        Args:
            key: where the plan is kept; its first part is the state.
            form_key: where the plans of the form are.
            function, names, arguments: see ``lowered``.
            constants: the tensors among the arguments that every call with this key has.
        """
        result = function(*arguments)
        state = current.get()
        if state.plans and not state.recording:
            call = [Given(name, None, value, set(), False, True) for name, value in zip(names, arguments, strict=True)]

            def run(given: tuple[object, ...], named: dict[str, object]) -> object:
                return function(*given)

            try:
                plan, made_of = lower_call(function.__name__, run, run, names, call, [], constants)
            except Exception:  # whatever stands in the way: the function itself serves as its plan
                form = self.known_forms.get(form_key)
                if form is not None and (form.variants or self._lower_form(form, function, names, arguments)):
                    form.keeps_no_others()
                    return result
                plan, made_of = function, {}
            with registering:
                if all(packet.generation == each for packet, each in made_of.items()):
                    if len(self.plans) >= PLAN_LIMIT:
                        self.plans.clear()
                    self.plans[key] = plan
                    holders.add(self)
                    for packet in made_of:
                        packet.dependents.add(self)
        return result

    def forget(self) -> None:
        """Drop all plans: a kernel has changed."""
        with registering:
            self.plans.clear()
            self.forms.clear()
            self.known_forms.clear()
