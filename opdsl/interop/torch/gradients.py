"""Derivatives of operators in torch: an ``autograd.Function`` that runs opdsl's operator and its derivative formulas.

The derivative formulas of a pointwise operator form a further operator, which is also defined in torch, with a
its own derivative. Declared derivative formulas run on torch tensors (``decomposition``). So higher-order gradients
exist, and are compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from opdsl.autograd.derivative import Formula, reaching
from opdsl.autograd.kernel import derivative_of
from opdsl.autograd.pointwise import PointwiseDerivative
from opdsl.dispatch import Operator
from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.errors import MissingDerivativeError, ScalarFunctionError
from opdsl.interop.torch import native
from opdsl.interop.torch.calls import is_watched
from opdsl.interop.torch.decomposition import Define, on_torch
from opdsl.interop.torch.lists import Lengths, fold, listed, spread
from opdsl.interop.torch.unread import UnreadTensors, unread_tensors
from opdsl.schema import ListType
from opdsl.schema.implementation import differentiable_names, is_differentiable, result_names

if TYPE_CHECKING:
    from opdsl.interop.torch.graphs import Graphs

__all__ = ["Gradients"]

Call = Callable[..., Any]


class Step(NamedTuple):
    """Derivative formula in executable form: computes the gradients of some arguments.

    names: of these arguments.
    run: ``run(gradients, values, asked)`` on torch tensors, as ``Formula.run``.
    takes_all: see ``Formula.takes_all``.
    """

    names: tuple[str, ...]
    run: Callable[[tuple[Any, ...], Mapping[str, Any], tuple[bool, ...]], Sequence[Any]]
    takes_all: bool


class Recipe(NamedTuple):
    """Plan for the backward pass of a call: which values are saved, and how gradients are computed from them.

    wanted: the names of arguments that need gradients.
    steps: the derivative formulas; None if there is no derivative.
    tensors, results, others: the indices of tensor arguments, results and other arguments that the formulas read.
    reads: the names of all of these.
    dropped: the indices of results that are not differentiable.
    is_complex: whether complex numbers take part.
    short: fast path, where one operator takes the first result's gradient and the saved tensors: a function of these
        that calls the operator and returns everything that ``Function.backward`` returns.
    reason: why there are no steps.
    unread: replaces saved tensors whose elements are not read by zeros; None if all are read.
    takes_undefined: whether the formulas take None for gradients of results that nothing uses, instead of zeros.
    """

    wanted: tuple[str, ...]
    steps: tuple[Step, ...] | None
    tensors: tuple[int, ...] = ()
    results: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    reads: tuple[str, ...] = ()
    dropped: tuple[int, ...] = ()
    is_complex: bool = False
    short: Callable[[Any, Sequence[Any]], tuple[Any, ...]] | None = None
    reason: str = ""
    unread: UnreadTensors | None = None
    takes_undefined: bool = False


class Gradients:
    """Derivative of one operator in torch, computed by an ``autograd.Function``.

    Args:
        operator: functional.
        beneath: runs it below autograd.
        define: callback that defines an operator in torch if torch does not have it yet.

    function: its ``autograd.Function``.
    """

    def __init__(self, operator: Operator, beneath: Call, define: Define) -> None:
        self.operator = operator
        self.beneath = beneath
        self.define = define
        schema = operator.schema
        self.names = tuple(argument.python_name for argument in schema.arguments)
        self.kinds = tuple(map(kind_of, schema.arguments))
        self.plain = [at for at, argument in enumerate(schema.arguments) if str(argument.type) == "Tensor"]
        self.optional = [
            at for at, argument in enumerate(schema.arguments) if str(argument.type) in ("Tensor?", "Scalar", "Scalar?")
        ]
        self.has_lists = any(
            isinstance(argument.type, ListType) and is_differentiable(argument) for argument in schema.arguments
        )
        self.result_names = result_names(schema)
        self.returns_list = operator.returns_list
        self._recipes: dict[tuple[Any, ...], Recipe] = {}
        self.function = _function(self)
        # Function.apply would pass calls within functorch transforms to functorch, as the dispatcher has done already.
        self._apply: Call = cast("Any", super(torch.autograd.Function, self.function)).apply

    def apply(self, *values: Any) -> Any:
        """Run the operator on its arguments, in the order of the schema, and record the call for autograd."""
        lengths, flat = listed(values) if self.has_lists else (None, values)
        if not torch._C._are_functorch_transforms_active():
            results = self._apply(lengths, None, *flat)
        else:
            with enable_single_level_autograd_function():
                results = self._apply(lengths, torch.is_grad_enabled(), *flat)
        return list(results) if self.returns_list else results

    def recipe_of(self, needed: tuple[Any, ...], values: Sequence[Any]) -> Recipe:
        """Return the plan for the backward pass of a call with the given values; see ``recipe``."""
        for at in self.plain:
            if values[at].is_complex():
                return self.recipe(needed, True)
        for at in self.optional:
            if _is_complex(values[at]):
                return self.recipe(needed, True)
        if self.has_lists:
            return self.recipe(needed, any(tensor.is_complex() for tensor in _flat(values)))
        return self._recipes.get((needed, False)) or self.recipe(needed, False)

    def recipe(self, needed: tuple[Any, ...], is_complex: bool) -> Recipe:
        """Return the plan for the backward pass; ``needed`` says for each argument whether it needs a gradient."""
        key = (needed, is_complex) if not self.has_lists else (tuple(map(_any, needed)), is_complex)
        recipe = self._recipes.get(key)
        if recipe is None:
            recipe = self._recipe(key[0], is_complex)
            if recipe.steps is not None:  # a derivative may be attached later
                self._recipes[key] = recipe
        return recipe

    def _recipe(self, needed: tuple[Any, ...], is_complex: bool) -> Recipe:
        derivative = derivative_of(self.operator)
        without = frozenset() if derivative is None else derivative.non_differentiable
        candidates = differentiable_names(self.operator.schema)
        wanted = tuple(
            name
            for name, need in zip(self.names, needed, strict=True)
            if need and name in candidates and name not in without
        )
        if derivative is None:
            return Recipe(wanted, None, is_complex=is_complex)
        try:
            formulas = derivative.formulas(wanted, is_complex=is_complex)
        except ScalarFunctionError as error:
            return Recipe(wanted, None, is_complex=is_complex, reason=f" {error}")
        if formulas is None:
            return Recipe(wanted, None, is_complex=is_complex)
        read = {name for formula in formulas for name in formula.reads}
        arguments = [at for at, name in enumerate(self.names) if name in read]
        tensors = tuple(at for at in arguments if at in self.plain)
        others = tuple(at for at in arguments if at not in self.plain)
        results = tuple(at for at, name in enumerate(self.result_names) if name in read)
        names = [*(self.names[at] for at in tensors), *(self.result_names[at] for at in results)]
        is_short = len(formulas) == 1 and not (is_complex or others or self.has_lists)
        flags = derivative.differentiable_results(self.operator.schema)
        return Recipe(
            wanted,
            tuple(self._step(formula) for formula in formulas),
            tensors,
            results,
            others,
            (*names, *(self.names[at] for at in others)),
            tuple(at for at, flag in enumerate(flags) if not flag),
            is_complex,
            self._short(formulas[0], names) if is_short else None,
            unread=unread_tensors(self.names, tensors, formulas),
            takes_undefined=all(formula.takes_undefined for formula in formulas),
        )

    def _step(self, formula: Formula) -> Step:
        direct = formula.direct
        run = self._run_python(formula) if direct is None else self._run_direct(formula, *direct)
        return Step(formula.names, run, formula.takes_all)

    def _run_direct(self, formula: Formula, function: Any, reads: tuple[str, ...], computed: tuple[str, ...]) -> Any:
        """Return a function that evaluates a formula consisting of one operator by calling the torch operator
        directly.
        """
        names = formula.names
        if not computed:
            return lambda gradients, values, asked: gradients * len(names)
        target = self.define(function.operator)

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            answer = target(gradients[0], *[values[name] for name in reads])
            results = iter(answer if len(computed) > 1 else (answer,))
            listed = [next(results) if name in computed else gradients[0] for name in names]
            if formula.may_be_narrow:
                return [reaching(gradient, values[name]) for gradient, name in zip(listed, names, strict=True)]
            return listed

        return run

    def _short(self, formula: Formula, kept: Sequence[str]) -> Callable[[Any, Sequence[Any]], tuple[Any, ...]] | None:
        """Return the function for ``Recipe.short``, or None; ``kept`` are the names of the saved tensors."""
        direct: Any = formula.direct
        if direct is None or not direct[2]:
            return None
        function, reads, computed = direct
        recorded, beneath = self.define(function.operator), self.define.beneath(function.operator)
        order = [kept.index(name) for name in reads]
        # For each value that backward returns the index of a result or of the gradient. The first two are no arguments.
        unchanged = len(computed)
        chosen = {name: computed.index(name) if name in computed else unchanged for name in formula.names}
        places = (None, None, *map(chosen.get, self.names))
        widened = [kept.index(name) for name in computed] if formula.may_be_narrow else []

        def run(gradient: Any, saved: Sequence[Any]) -> tuple[Any, ...]:
            target = recorded if torch.is_grad_enabled() or forward_ad._current_level >= 0 else beneath
            answer = target(gradient, *[saved[at] for at in order])
            listed = (*answer, gradient) if unchanged > 1 else (answer, gradient)
            if widened:
                listed = (*[reaching(part, saved[at]) for part, at in zip(listed, widened, strict=False)], gradient)
            return tuple([None if at is None else listed[at] for at in places])

        return run

    def _run_python(self, formula: Formula) -> Any:
        has_plans = formula.is_traceable and native.code() is not None
        # Keyed by which gradients of results are defined, and which gradients are wanted.
        kept: dict[tuple[tuple[bool, ...], tuple[bool, ...]], Graphs] = {}

        def plans(defined: tuple[bool, ...], asked: tuple[bool, ...]) -> Graphs:
            from opdsl.interop.torch.graphs import Graphs

            known = dict(zip(self.names, self.kinds, strict=True))
            kinds = [Kind.TENSOR] * sum(defined) + [known.get(name, Kind.VALUE) for name in formula.reads]
            name = f"derivative of {self.operator.name}"
            function = _computing(formula, defined, asked)
            return kept.setdefault((defined, asked), Graphs(name, function, kinds, self.define))

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            defined = tuple(gradient is not None for gradient in gradients)
            present = [gradient for gradient in gradients if gradient is not None]
            inputs = [*present, *[values[name] for name in formula.reads]]
            decompose = partial(on_torch, _computing(formula, defined, asked), inputs, self.define)
            if not has_plans or is_watched():
                return tuple(decompose())
            graphs = kept.get((defined, asked)) or plans(defined, asked)
            return tuple(graphs.answer(inputs, decompose))

        return run

    def backward(self, recipe: Recipe, gradients: tuple[Any, ...], values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the gradients of the wanted arguments, by name."""
        if recipe.steps is None:
            raise MissingDerivativeError(
                f"derivative for {self.operator.name} is not implemented (of {', '.join(recipe.wanted)}). Declare it "
                f'with @{self.operator.schema.name.base}.derivative("{recipe.wanted[0]}"), or call it under '
                f"torch.no_grad().{recipe.reason}"
            )
        by_name: dict[str, Any] = {}
        if all(gradient is None for gradient in gradients):
            return by_name
        for step in recipe.steps:
            asked = tuple(name in recipe.wanted for name in step.names)
            by_name.update(zip(step.names, step.run(gradients, values, asked), strict=True))
        return by_name

    def forward_derivative(
        self, values: Mapping[str, Any], results: Sequence[Any], optional_tangents: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """Return the tangents of the results, for forward-mode differentiation.

        Args:
            values: arguments and results by name.
            results: of the call.
            optional_tangents: the tangents of the arguments by name, None for those without one.
        """
        tangents = {name: value for name, value in optional_tangents.items() if _any(value)}
        is_complex = any(torch.is_complex(result) for result in (*_flat(values.values()), *results))
        if isinstance(derivative_of(self.operator), PointwiseDerivative) and len(results) == 1 and not is_complex:
            # The Jacobian of a pointwise operator is diagonal, so the backward formula also maps tangents forward.
            parts = [self._pointwise_tangent(name, values, tangent) for name, tangent in tangents.items()]
            total = parts[0] if len(parts) == 1 else sum(parts[1:], parts[0])
            return (total.to(results[0].dtype).expand_as(results[0]),)
        recipe = self.recipe(tuple(name in tangents for name in self.names), is_complex)
        kept = [at for at in range(len(results)) if at not in recipe.dropped]
        followed = [at for at in kept if results[at].is_floating_point() or results[at].is_complex()]

        from torch._functorch.eager_transforms import enable_inplace_requires_grad  # slow to import

        # The backward formula is linear in the gradients, so its transpose maps tangents forward.
        with torch.enable_grad(), enable_inplace_requires_grad(True):
            seeds = {at: torch.zeros_like(results[at]).requires_grad_() for at in followed}
            by_name = self.backward(recipe, tuple(map(seeds.get, range(len(results)))), values)
            pairs = [pair for name in tangents for pair in _pairs(by_name[name], values[name], tangents[name])]
            pulled = [(_like(gradient, value), tangent) for gradient, value, tangent in pairs]
            reached, directions = zip(*[pair for pair in pulled if pair[0].requires_grad], strict=True)
            pushed = torch.autograd.grad(
                reached, list(seeds.values()), directions, create_graph=True, materialize_grads=True
            )
        complete = dict(zip(followed, pushed, strict=True))
        return tuple(map(complete.get, range(len(results))))

    def _pointwise_tangent(self, name: str, values: Mapping[str, Any], tangent: Any) -> Any:
        recipe = self.recipe(tuple(text == name for text in self.names), False)
        return self.backward(recipe, (tangent,), values)[name]


def _computing(formula: Formula, defined: tuple[bool, ...], asked: tuple[bool, ...]) -> Callable[..., Any]:
    """Return a derivative formula as a function of the defined gradients of results, followed by the values that it
    reads.
    """

    def compute(*inputs: Any) -> Any:
        present = iter(inputs)
        gradients = tuple(next(present) if is_defined else None for is_defined in defined)
        return tuple(formula.run(gradients, dict(zip(formula.reads, present, strict=True)), asked))

    return compute


def _any(value: Any) -> bool:
    """Return whether a value, or an element of a list, is neither None nor False."""
    if isinstance(value, list | tuple):
        return any(map(_any, value))
    return value is not None and value is not False


def _flat(values: Iterable[Any]) -> list[Any]:
    """Return the tensors among values, including those in lists."""
    flat = [element for value in values for element in (value if isinstance(value, list) else (value,))]
    return [element for element in flat if isinstance(element, torch.Tensor)]


def _pairs(gradient: Any, value: Any, tangent: Any) -> list[tuple[Any, Any, Any]]:
    """Return (gradient, tensor, tangent) for each tensor of an argument that has a tangent."""
    if not isinstance(value, list):
        return [(gradient, value, tangent)]
    gradients = [None] * len(value) if gradient is None else gradient
    return [triple for triple in zip(gradients, value, tangent, strict=True) if triple[2] is not None]


def _like(gradient: Any, input: Any) -> Any:
    """Convert a gradient to the shape and dtype of its argument, as the autograd engine does."""
    if gradient is None:
        return torch.zeros_like(input)
    gradient = gradient if gradient.shape == input.shape else gradient.sum_to_size(input.shape)
    if gradient.dtype is not input.dtype:
        gradient = (gradient.real if gradient.is_complex() and not input.is_complex() else gradient).to(input.dtype)
    return gradient


def _function(gradients: Gradients) -> type[torch.autograd.Function]:
    """Build the ``autograd.Function`` of an operator.

    Its inputs are: the lengths of the list arguments of the operator, or None if there are none; whether grad mode is
    on within a functorch transform, or None outside of one; and the arguments with their lists flattened, since torch
    does not record tensors in lists.
    """
    beneath, recipe_of = gradients.beneath, gradients.recipe_of

    class Recorded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, lengths: Lengths, grad_mode: bool | None, *flat: Any) -> Any:
            values = flat if lengths is None else fold(lengths, flat)
            result = beneath(*values) if grad_mode is None else _below_transform(beneath, grad_mode, values)
            if isinstance(result, list):
                result = tuple(result)  # torch does not record tensors in lists
            needed = ctx.needs_input_grad[2:]
            recipe = recipe_of(needed if lengths is None else fold(lengths, needed), values)
            if recipe.takes_undefined:
                ctx.set_materialize_grads(False)
            results = result if isinstance(result, tuple) else (result,)
            follows_complex = recipe.is_complex or results[0].is_complex()
            ctx.how = recipe, lengths, [not _is_complex(value) for value in flat] if follows_complex else None
            if forward_ad._current_level >= 0:
                ctx.values, ctx.results = values, results
            if recipe.dropped:
                ctx.mark_non_differentiable(*[results[at] for at in recipe.dropped])
            kept = [values[at] for at in recipe.tensors]
            if recipe.unread is not None:
                kept = recipe.unread.replaced(kept, values)
            if recipe.results:
                kept += [results[at] for at in recipe.results]
            if recipe.others:
                ctx.lists, others = listed([values[at] for at in recipe.others])
                ctx.others = [None if isinstance(value, torch.Tensor) else (value,) for value in others]
                kept += [value for value in others if isinstance(value, torch.Tensor)]
            ctx.save_for_backward(*kept)
            return result

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            recipe, lengths, real = ctx.how
            kept: Sequence[Any] = ctx.saved_tensors
            if recipe.short is not None and real is None:
                return recipe.short(grads[0], kept)
            if recipe.others:
                rest = iter(kept[len(recipe.tensors) + len(recipe.results) :])
                others = [next(rest) if boxed is None else boxed[0] for boxed in ctx.others]
                kept = [*kept[: len(recipe.tensors) + len(recipe.results)], *fold(ctx.lists, others)]
            by_name = gradients.backward(recipe, grads, dict(zip(recipe.reads, kept, strict=True)))
            flat = spread(lengths, [by_name.get(name) for name in gradients.names])
            return (None, None, *(flat if real is None else map(_real_part, flat, real)))

        @staticmethod
        def jvp(ctx: Any, _: None, __: None, *flat: Any) -> Any:
            values, results = ctx.values, ctx.results
            del ctx.values, ctx.results
            tangents = dict(zip(gradients.names, fold(ctx.how[1], flat), strict=True))
            named_results = [list(results)] if gradients.returns_list else results
            named = dict(zip((*gradients.names, *gradients.result_names), (*values, *named_results), strict=True))
            # The tangents of this level are arguments; those of outer levels are recorded.
            with forward_ad._set_fwd_grad_enabled(True):
                primal = {name: _primal(value) for name, value in named.items()}
                forward_derivative = gradients.forward_derivative(
                    primal, [_primal(result) for result in results], tangents
                )
            return forward_derivative if len(forward_derivative) > 1 else forward_derivative[0]

    Recorded.__name__ = Recorded.__qualname__ = gradients.operator.schema.name.base
    return Recorded


def _is_complex(value: object) -> bool:
    return value.is_complex() if isinstance(value, torch.Tensor) else isinstance(value, complex)


def _real_part(gradient: Any, is_real: bool) -> Any:
    """Return the gradient of an argument, its real part if the argument is real (``handle_r_to_c`` in
    FunctionsManual.cpp).
    """
    return gradient.real if is_real and _is_complex(gradient) else gradient


def _primal(value: Any) -> Any:
    """Return a value without its tangent at the current level."""
    if isinstance(value, list | tuple):
        return type(value)(map(_primal, value))
    if not isinstance(value, torch.Tensor):
        return value
    return forward_ad.unpack_dual(value).primal  # type: ignore[no-untyped-call]


def _below_transform(beneath: Call, grad_mode: bool, values: Sequence[Any]) -> Any:
    """Run an operator such that outer transforms record it, although ``Function.forward`` has turned recording off."""
    with torch.set_grad_enabled(grad_mode), forward_ad._set_fwd_grad_enabled(True):
        return beneath(*values)
