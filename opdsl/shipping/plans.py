"""Plans of an operator's calls: a form is lowered for several sizes, until each call of it has a plan."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import attrs

from opdsl.dispatch import KeySet, Operator
from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.errors import OpdslError, OptionError
from opdsl.runtime import Tensor
from opdsl.runtime.device import cpu
from opdsl.runtime.dtype import ALL_DTYPES, DType
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.storage import storage_root
from opdsl.schema import Argument, SchemaKind
from opdsl.schema.types import BaseType, ListType, OptionalType, Type
from opdsl.shipping.forms import Form, TensorForm, patterns
from opdsl.shipping.gradients import Backward, backward_of, result_name
from opdsl.shipping.runtime.keys import FLOAT, NUMBERS, SCALAR, TENSOR, TENSORS, VALUE, tensor_key, value_key
from opdsl.shipping.tracing import Kernels, NotShippedError, Plan, Shapes, trace, trace_shapes

__all__ = ["Function", "Gradient", "ShippedOperator", "ship"]

_DTYPES = {dtype.name: dtype for dtype in ALL_DTYPES}

_CPU, _META = KeySet("CPU"), KeySet("Meta")

# Sizes for which plans are made that are specialized for speed; and the most of these.
_SPECIAL = (20, 300, 3, 5000)
_MOST_SPECIAL = 4

# A call with more plans probably has one for each size.
_MOST = 32

P = TypeVar("P", bound=Plan)

Key: TypeAlias = tuple[str, ...]

# Sizes for which there has to be a plan, by the number of named sizes: in each octave one, or fewer.
_OCTAVES = tuple(3 << octave for octave in range(20))
_GENERAL = {1: _OCTAVES, 2: _OCTAVES, 3: _OCTAVES[::2], 4: _OCTAVES[::4]}
_GENERAL_OF_MANY = (3, 200)


@attrs.define
class Function:
    """Function that a package calls: an operator, or a formula of its derivative.

    name: shown in errors.
    parameters: name and kind of each.
    plans: the plans for each key of a call.
    shapes: the functions for each key that compute the sizes of results.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    plans: dict[Key, list[str]] = attrs.Factory(dict)
    shapes: dict[Key, list[str]] = attrs.Factory(dict)


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
    """

    operator: Operator
    function: Function
    gradient: Gradient | None
    forms: tuple[str, ...]


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
    shipping = _Shipping(operator, kernels)
    shipped: list[str] = []
    for form in forms:
        values = bound(operator, form)
        try:
            for pattern in patterns(form.names):
                shipping.add(_Call(values, pattern))
        except OpdslError as error:
            if is_named:
                raise
            if form is forms[-1] and not shipped:
                raise NotShippedError(str(error).splitlines()[0]) from error
        else:
            shipped.append(str(form))
    gradient = shipping.gradient
    is_empty = gradient is None or not gradient.function.plans
    return ShippedOperator(operator, shipping.function, None if is_empty else gradient, tuple(shipped))


def parameters_of(operator: Operator) -> tuple[tuple[str, str], ...]:
    """Return the name and kind of each parameter of an operator."""
    return tuple((argument.python_name, _kind(argument)) for argument in operator.schema.arguments)


def _kind(argument: Argument) -> str:
    kind = kind_of(argument)
    if kind is Kind.NUMBER:
        element: Type = argument.type
        while isinstance(element, (OptionalType, ListType)):
            element = element.element
        return FLOAT if element is BaseType.float else SCALAR
    return {Kind.TENSOR: TENSOR, Kind.TENSORS: TENSORS, Kind.VALUE: VALUE}[kind]


# -------------------------------------------------------------------------------------------------- arguments of a form


@attrs.frozen
class _Call:
    """Calls of a form in which certain sizes are 0 or 1.

    values: the arguments; tensors as forms.
    pattern: those sizes; None for the others.
    """

    values: tuple[Any, ...]
    pattern: Mapping[str, int | None]

    @property
    def is_special(self) -> bool:
        """Return whether a size is 0 or 1."""
        return any(size is not None for size in self.pattern.values())

    def special(self) -> list[tuple[Any, ...]]:
        """Return the arguments of calls for which specialized plans are made; none if a size is 0 or 1."""
        return [] if self.is_special else list(self._samples(_SPECIAL))

    def general(self) -> list[tuple[Any, ...]]:
        """Return the arguments of calls with small and large sizes, for which there has to be a plan."""
        return list(self._samples(_GENERAL.get(len(self._free), _GENERAL_OF_MANY)))

    @property
    def _free(self) -> list[str]:
        return [name for name, size in self.pattern.items() if size is None]

    def _samples(self, sizes: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of calls with all combinations of sizes; those with different names differ."""
        for combination in itertools.product(sizes, repeat=len(self._free)):
            chosen = {name: size + at for at, (name, size) in enumerate(zip(self._free, combination, strict=True))}
            yield self.arguments({**self.pattern, **chosen})

    def arguments(self, sizes: Mapping[str, int | None]) -> tuple[Any, ...]:
        """Return the arguments of the call with these sizes, tensors as geometries."""
        return tuple(_with_sizes(value, sizes) for value in self.values)


def _with_sizes(value: Any, sizes: Mapping[str, int | None]) -> Any:
    if isinstance(value, list):
        return [_with_sizes(element, sizes) for element in value]
    if not isinstance(value, TensorForm):
        return value
    shape = tuple(size if isinstance(size, int) else sizes[size] or 0 for size in value.sizes)
    return geometry(value.dtype, cpu, shape, _strides(shape, value.order))


def _strides(shape: tuple[int, ...], order: Sequence[int] | None) -> tuple[int, ...] | None:
    """Return the strides of a tensor without gaps; None for those of row-major order."""
    if order is None or any(size < 2 for size in shape):
        return None
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def bound(operator: Operator, form: Form) -> tuple[Any, ...]:
    """Return the values of all parameters of an operator for a form.

    Raises:
        OptionError: the form does not fit.
    """
    arguments = operator.schema.arguments
    names = [argument.python_name for argument in arguments]
    extra = [name for name in form.named if name not in names[len(form.positional) :]]
    if len(form.positional) > len(names) or extra:
        raise OptionError(f"{operator.name}: ({form}) does not fit {operator.schema}.")
    passed = dict(zip(names, form.positional, strict=False)) | dict(form.named)
    missing = [
        argument.python_name
        for argument in arguments
        if argument.python_name not in passed and argument.default is None
    ]
    if missing:
        raise OptionError(f"{operator.name}: ({form}) lacks {missing[0]}: {operator.schema}.")
    return tuple(
        _valued(argument, passed[argument.python_name] if argument.python_name in passed else default_of(argument))
        for argument in arguments
    )


def default_of(argument: Argument) -> Any:
    """Return the default of an argument as callers pass it."""
    return None if argument.default is None else argument.default.value


def _valued(argument: Argument, value: Any) -> Any:
    """Return a number in the type that the run time passes it in."""
    is_number = isinstance(value, NUMBERS)
    return float(value) if _kind(argument) == FLOAT and is_number and not isinstance(value, complex) else value


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


class _Shipping:
    """Plans of one operator, as they are made.

    function: the operator.
    gradient: its backward pass; None as long as there is none.
    """

    def __init__(self, operator: Operator, kernels: Kernels) -> None:
        self.operator, self.kernels = operator, kernels
        self.function = Function(operator.name, parameters_of(operator))
        self.gradient: Gradient | None = None
        self._plans_made: dict[tuple[str, Key], tuple[list[Plan], list[Plan]]] = {}
        self._known_shapes: list[Shapes] = []
        self._names = [name for name, _ in self.function.parameters]
        self._kinds = [kind_of(argument) for argument in operator.schema.arguments]

    def add(self, call: _Call) -> None:
        """Add the plans of a call's form, and of its gradient."""
        general = call.general()
        try:
            key, plans = self._plans(self.function, call.special(), general, lambda _: self._run, self._kinds)
            shapes = self._known_shapes = _cover([], general, self._shapes)
        except OpdslError:
            if not call.is_special:
                raise
            return  # the call is an error with a size of 0 or 1
        self.function.plans[key] = _texts(plans)
        self.function.shapes[key] = _merged(self.function.shapes.get(key, ()), _texts(shapes))
        try:
            self._add_gradient(call.special(), general)
        except (NotShippedError, OpdslError):
            return  # a call that needs a gradient says that there is none

    def _run(self, *arguments: Any) -> Any:
        return self.operator.find_in(_CPU)(*arguments)

    def _shapes(self, values: Sequence[Any]) -> Shapes:
        run = self.operator.find_in(_META)
        return trace_shapes(self.operator.name, lambda *arguments: run(*arguments), self._names, values, self._kinds)

    def _plans(
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
            return trace(function.name, run, names, values, kinds, self.kernels, is_general=is_general)

        _cover(fast, special, lambda values: plan(values, is_general=False), _MOST_SPECIAL)
        _cover(slow, general, lambda values: plan(values, is_general=True))
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
            named |= {result_name(at): result for at, result in enumerate(self._results(values))}
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
        key, plans = self._plans(gradient.function, fast, all_sizes, run_for, own)
        gradient.function.plans[key] = _texts(plans)
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

    def _results(self, values: Sequence[Any]) -> list[TensorMeta]:
        """Return the geometries of the results of a call."""
        plan = next((plan for plan in self._known_shapes if plan.accepts(*values)), None)
        if plan is None:
            plan = self._shapes(values)
            self._known_shapes = [plan]
        return [geometry(_DTYPES[dtype], cpu, shape, strides) for shape, dtype, strides in plan.layouts(*values)]


def _texts(plans: Sequence[Plan]) -> list[str]:
    """Return the sources of plans, each once."""
    return list(dict.fromkeys(plan.text for plan in plans))


def _merged(known: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the sources of two lists, each once."""
    return list(dict.fromkeys((*known, *texts)))


def _cover(
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
