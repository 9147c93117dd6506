"""Plans of an operator's calls: a form is lowered for several sizes, until each call of it has a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs

from opdsl.dispatch import KeySet, Operator
from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.errors import OpdslError
from opdsl.runtime import Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.dtype import ALL_DTYPES, DType
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.storage import storage_root
from opdsl.schema import SchemaKind
from opdsl.shipping.forms import Form, patterns
from opdsl.shipping.gradients import Backward, backward_of, result_name
from opdsl.shipping.runtime.keys import FLOAT, NUMBERS, SCALAR, TENSOR, TENSORS, VALUE, tensor_key, value_key
from opdsl.shipping.samples import Call, bound, parameters_of
from opdsl.shipping.tracing import Kernels, NotShippedError, Plan, Shapes, trace, trace_shapes

__all__ = ["Function", "Gradient", "ShippedOperator", "Shipping", "add_forms", "cover", "merged", "ship", "sources"]

_DTYPES = {dtype.name: dtype for dtype in ALL_DTYPES}

_CPU, _META = KeySet("CPU"), KeySet("Meta")

# The most plans that are specialized for speed.
_MOST_SPECIAL = 4

# A call with more plans probably has one for each size.
_MOST = 32

P = TypeVar("P", bound=Plan)

Key: TypeAlias = tuple[str, ...]


@attrs.define
class Function:
    """Function that a package calls: an operator, or a formula of its derivative.

    name: shown in errors.
    parameters: name and kind of each.
    plans: the plans for each key of a call.
    shapes: the functions for each key that compute the sizes of results.
    writes: the positions of the arguments that it writes, one for each result; empty if it returns new tensors.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    plans: dict[Key, list[str]] = attrs.Factory(dict)
    shapes: dict[Key, list[str]] = attrs.Factory(dict)
    writes: tuple[int, ...] = ()


@attrs.frozen
class Gradient:
    """Gradients of an operator's arguments.

    names: the arguments that have gradients.
    results: the positions of the results whose gradients are taken.
    reads: the arguments and results that the function takes after these.
    function: computes the gradients.
    """

    names: tuple[str, ...]
    results: tuple[int, ...]
    reads: tuple[str, ...]
    function: Function


@attrs.frozen
class ShippedOperator:
    """Operator of a package.

    operator: the declared one.
    function: its plans.
    gradient: its backward pass; None if it has none that can be shipped.
    forms: the forms that are compiled, as text.
    functional: the operator that computes the same without writing its arguments; itself unless it writes them.
    """

    operator: Operator
    function: Function
    gradient: Gradient | None
    forms: tuple[str, ...]
    functional: Operator


def ship(operator: Operator, forms: Sequence[Form], kernels: Kernels, *, is_named: bool = True) -> ShippedOperator:
    """Compile an operator for forms of calls.

    Args:
        operator: a functional one.
        forms: of calls.
        kernels: gets the kernels.
        is_named: whether a form for which the operator raises an error is refused; else it is left out.

    Raises:
        NotShippedError: it cannot run without opdsl.
        OptionError: a form does not fit the operator.
        OpdslError: the operator raises it for a form.
    """
    if operator.schema.kind is not SchemaKind.functional:
        raise NotShippedError("it writes its arguments")
    if not forms:
        raise NotShippedError("no form of its calls is named")
    shipping = Shipping(operator, kernels)
    shipped = add_forms(shipping, forms, is_named=is_named)
    gradient = shipping.gradient
    is_empty = gradient is None or not gradient.function.plans
    return ShippedOperator(operator, shipping.function, None if is_empty else gradient, shipped, operator)


def add_forms(shipping: Shipping, forms: Sequence[Form], *, is_named: bool) -> tuple[str, ...]:
    """Add the plans of forms, and return those that are compiled, as text.

    Args:
        shipping: gets the plans.
        forms: of calls.
        is_named: see ``ship``.

    Raises:
        NotShippedError, OptionError, OpdslError: see ``ship``.
    """
    shipped: list[str] = []
    for form in forms:
        values = bound(shipping.operator, form)
        try:
            for pattern in patterns(form.names):
                shipping.add(Call(values, pattern))
        except OpdslError as error:
            if is_named:
                raise
            if form is forms[-1] and not shipped:
                raise NotShippedError(str(error).splitlines()[0]) from error
        else:
            shipped.append(str(form))
    return tuple(shipped)


def key_of(kinds: Sequence[str], values: Sequence[Any]) -> Key:
    """Return the key of a call, as the run time computes it."""
    return tuple(_key(kind, value) for kind, value in zip(kinds, values, strict=True))


def _key(kind: str, value: Any) -> str:
    if isinstance(value, TensorMeta):
        order = None if value.is_contiguous() else value.form.order
        return tensor_key(value.dtype.name, value.shape, order)
    if isinstance(value, list) and kind == TENSORS:
        return f"[{', '.join(_key(TENSOR, element) for element in value)}]"
    if kind in (FLOAT, SCALAR) and isinstance(value, NUMBERS):
        return type(value).__name__
    return value_key(value.name if isinstance(value, DType) else value)


# ---------------------------------------------------------------------------------------------------------------- plans


class Shipping:
    """Plans of one operator, as they are made.

    function: the operator.
    gradient: its backward pass; None as long as there is none.
    """

    def __init__(self, operator: Operator, kernels: Kernels) -> None:
        self.operator, self.kernels = operator, kernels
        self.function = Function(operator.name, parameters_of(operator))
        self.gradient: Gradient | None = None
        self._plans_made: dict[tuple[str, Key], tuple[list[Plan], list[Plan]]] = {}
        self.known_shapes: list[Shapes] = []
        self._names = [name for name, _ in self.function.parameters]
        self._kinds = [kind_of(argument) for argument in operator.schema.arguments]

    def add(self, call: Call) -> None:
        """Add the plans of a call's form, and of its gradient."""
        general = call.general()
        try:
            key, plans = self.plans_of(self.function, call.special(), general, lambda _: self._run, self._kinds)
            shapes = self.known_shapes = cover([], general, self.layouts_of)
        except OpdslError:
            if not call.is_special:
                raise
            return  # the call is an error with a size of 0 or 1
        self.function.plans[key] = sources(plans)
        self.function.shapes[key] = merged(self.function.shapes.get(key, ()), sources(shapes))
        try:
            self._add_gradient(call.special(), general)
        except (NotShippedError, OpdslError):
            return  # a call that needs a gradient says that there is none

    def _run(self, *arguments: Any) -> Any:
        return self.operator.find_in(_CPU)(*arguments)

    def layouts_of(self, values: Sequence[Any]) -> Shapes:
        """Trace the function that computes the layouts of results."""
        run = self.operator.find_in(_META)
        return trace_shapes(self.operator.name, lambda *arguments: run(*arguments), self._names, values, self._kinds)

    def plans_of(
        self,
        function: Function,
        special: Sequence[tuple[Any, ...]],
        general: Sequence[tuple[Any, ...]],
        run_for: Callable[[tuple[Any, ...]], Callable[..., Any]],
        kinds: Sequence[Kind],
    ) -> tuple[Key, list[Plan]]:
        """Return the key of a form, and its plans: those that are specialized for some sizes, then those for all.

        Plans of former calls with the key are among them: numbers may take another branch of the operator.
        """
        names = [name for name, _ in function.parameters]
        key = key_of([kind for _, kind in function.parameters], general[0])
        fast, slow = self._plans_made.setdefault((function.name, key), ([], []))

        def plan(values: tuple[Any, ...], *, is_general: bool) -> Plan:
            run = run_for(values)
            writes = bool(function.writes)
            return trace(function.name, run, names, values, kinds, self.kernels, is_general=is_general, writes=writes)

        cover(fast, special, lambda values: plan(values, is_general=False), _MOST_SPECIAL)
        cover(slow, general, lambda values: plan(values, is_general=True))
        return key, [*fast, *slow]

    def _add_gradient(self, special: Sequence[tuple[Any, ...]], general: Sequence[tuple[Any, ...]]) -> None:
        """Add the plans of the backward pass of calls.

        Raises:
            NotShippedError: there is none.
        """
        backward = backward_of(self.operator, general[0])
        if backward is None:
            raise NotShippedError("it has no derivative")
        if self.gradient is None:
            self.gradient = self._new_gradient(backward)
        gradient = self.gradient
        originals: dict[int, tuple[Any, ...]] = {}

        def inputs_of(values: tuple[Any, ...]) -> tuple[Any, ...]:
            named = dict(zip(self._names, values, strict=True))
            named |= {result_name(at): result for at, result in enumerate(self.results(values))}
            incoming = [named[result_name(at)] for at in gradient.results]
            inputs = (*incoming, *[named[name] for name in gradient.reads], self._form(values))
            originals[id(inputs)] = values
            return inputs

        def run_for(inputs: tuple[Any, ...]) -> Callable[..., Any]:
            return self._backward_run(gradient, originals[id(inputs)])

        fast, all_sizes = list(map(inputs_of, special)), list(map(inputs_of, general))
        kinds = dict(zip(self._names, self._kinds, strict=True))
        own = [*[Kind.TENSOR] * len(gradient.results), *(kinds.get(name, Kind.TENSOR) for name in gradient.reads)]
        own.append(Kind.VALUE)
        key, plans = self.plans_of(gradient.function, fast, all_sizes, run_for, own)
        gradient.function.plans[key] = sources(plans)
        gradient.function.shapes[key] = [plans[0].shapes]

    def _new_gradient(self, backward: Backward) -> Gradient:
        """Return the gradient of an operator, without plans. A number is a constant of its plans, unless a float."""
        kinds = {name: VALUE if kind == SCALAR else kind for name, kind in self.function.parameters}
        results = [result_name(at) for at in range(len(self.operator.schema.returns))]
        reads = [name for name, kind in kinds.items() if kind != TENSOR or name in backward.reads]
        reads += [name for name in results if name in backward.reads]
        incoming = [(f"gradient{at}", TENSOR) for at in backward.results]
        own = [(name, kinds.get(name, TENSOR)) for name in reads]
        # Forms may differ in tensors that the backward pass does not read.
        function = Function(f"the gradient of {self.operator.name}", (*incoming, *own, ("form", VALUE)))
        return Gradient(backward.names, backward.results, tuple(reads), function)

    def _backward_run(self, gradient: Gradient, values: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the backward pass of calls with certain sizes.

        Raises:
            NotShippedError: it is of another kind than that of other sizes.
        """
        backward = backward_of(self.operator, values)
        if backward is None or backward.names != gradient.names or not backward.reads <= {*gradient.reads}:
            raise NotShippedError("its derivative depends on sizes")
        count = len(gradient.results)

        def run(*inputs: Any) -> Any:
            results = backward.run(inputs[:count], dict(zip(gradient.reads, inputs[count:-1], strict=True)))
            # An operator of torch returns new tensors.
            roots = [storage_root(tensor) for tensor in tensors_in(inputs)]

            def is_shared(result: Tensor) -> bool:
                return any(storage_root(result) is root for root in roots)

            return tuple(result.clone() if is_shared(result) else result for result in results)

        return run

    def _form(self, values: Sequence[Any]) -> str:
        """Return the form of a call as text, whatever the layouts of its tensors."""
        packed = [geometry(one.dtype, cpu, one.shape) if isinstance(one, TensorMeta) else one for one in values]
        return ", ".join(key_of([kind for _, kind in self.function.parameters], packed))

    def results(self, values: Sequence[Any]) -> list[TensorMeta]:
        """Return the geometries of the results of a call."""
        plan = next((plan for plan in self.known_shapes if plan.accepts(*values)), None)
        if plan is None:
            plan = self.layouts_of(values)
            self.known_shapes = [plan]
        return [geometry(_DTYPES[dtype], cpu, shape, strides) for shape, dtype, strides in plan.layouts(*values)]


def sources(plans: Sequence[Plan]) -> list[str]:
    """Return the sources of plans, each once."""
    return list(dict.fromkeys(plan.text for plan in plans))


def merged(known: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the sources of two lists, each once."""
    return list(dict.fromkeys((*known, *texts)))


def cover(
    plans: list[P], samples: Sequence[tuple[Any, ...]], make: Callable[[tuple[Any, ...]], P], most: int = _MOST
) -> list[P]:
    """Add plans to a list until each sample's arguments satisfy the conditions of one, and return the list.

    Args:
        plans: the list.
        samples: the arguments of calls.
        make: traces a call.
        most: how many plans are added.
    """
    most += len(plans)
    for values in samples:
        if len(plans) < most and not any(plan.accepts(*values) for plan in plans):
            plans.append(make(values))
    return plans
