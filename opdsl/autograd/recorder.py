"""Recording of calls whose arguments require grad: nodes for their results, with edges and saved values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opdsl.autograd.constants import filled
from opdsl.autograd.derivative import Derivative, Formula, consumed
from opdsl.autograd.graph import Edge, Gradient, Node, Output, Recipe, edge_of, freed, make_node
from opdsl.autograd.saving import is_free, keep, keep_result, keeps_tensors, restore, without_elements
from opdsl.autograd.views import owner_of, set_history, view_node
from opdsl.errors import MissingDerivativeError, ScalarFunctionError
from opdsl.runtime import Creation, Tensor, TensorMeta, make_view, storage_root
from opdsl.runtime.snapshot import tensors_in
from opdsl.schema.implementation import result_names

if TYPE_CHECKING:
    from opdsl.dispatch import Operator

__all__ = ["Recorder", "requirements", "requires_grad"]

# The tag of operators that change the geometry of a tensor in place, and no element.
INPLACE_VIEW = "inplace_view"

# For each argument whether its gradient is needed; for a list argument, for each element.
Requirements = tuple[Any, ...]


def requirements(arguments: Sequence[Any], indices: Sequence[int], is_required: Callable[[Any], bool]) -> Requirements:
    """Return for each differentiable argument whether its gradient is needed; for a list argument, for each element.

    Args:
        arguments: of a call.
        indices: of the differentiable ones.
        is_required: whether the gradient of a value among them is needed.
    """
    generator = (arguments[at] for at in indices)
    return tuple(
        tuple(map(is_required, value)) if isinstance(value, tuple) else is_required(value) for value in generator
    )


def requires_grad(value: Any) -> bool:
    """Return whether a value is a tensor that requires grad."""
    return isinstance(value, Tensor) and value.geometry.requires_grad


class Recorder:
    """Factory of the nodes of calls in which the same arguments of an operator require grad.

    Args:
        operator: the functional one or a variant.
        derivative: None if the operator has none: the backward pass then raises.
        required: for each differentiable argument, see ``requirements``.
        indices: of the differentiable arguments.
        is_complex: whether an argument is complex.
    """

    def __init__(
        self,
        operator: Operator,
        derivative: Derivative | None,
        required: Requirements,
        indices: Sequence[int],
        *,
        is_complex: bool = False,
    ) -> None:
        self.operator = operator
        self.schema = schema = operator.schema
        self.name = operator.name
        self.arguments = tuple(argument.python_name for argument in schema.arguments)
        names = [self.arguments[at] for at in indices]
        self.required = dict(zip(names, required, strict=True))
        without = frozenset() if derivative is None else derivative.non_differentiable
        self.written = {written.python_name for written in schema.written_arguments}
        followed = [name for name in names if _any(self.required[name])]
        wanted = [name for name in followed if name not in without]
        # A written and returned argument gets a new history, even if no gradient goes to its old value.
        results = {returned.alias for returned in schema.returns}
        rewritten = {written.python_name for written in schema.written_arguments if written.alias in results}
        edges = [name for name in followed if name not in without or name in rewritten]
        self.edges = [(self.arguments.index(name), index) for name in edges for index in _places(self.required[name])]
        self.wanted = tuple(wanted)
        self.reason = ""
        self.formulas = self._formulas(derivative, wanted, is_complex)
        without_formula = (text for text in wanted if self._formulas(derivative, (text,), is_complex) is None)
        self.missing = tuple(without_formula) if self.formulas is None else ()
        self.results = result_names(schema)
        flags = (True,) * len(schema.returns) if derivative is None else derivative.differentiable_results(schema)
        self.differentiable = flags
        self.is_view = any(returned.alias is not None and not returned.alias.write for returned in schema.returns)
        self.is_inplace_view = INPLACE_VIEW in operator.tags
        reads = {name for formula in self.formulas or () for name in formula.reads}
        full = {name for formula in self.formulas or () for name in set(formula.reads) - formula.forms}
        self.kept_forms = frozenset(reads - full)
        self.consumed = self.formulas[0].consumes if self.formulas and len(self.formulas) == 1 else ()
        self.kept = tuple(name for name in self.arguments if name in reads)
        self.kept_results = tuple(at for at, name in enumerate(self.results) if name in reads)
        self.keeps_results = any(self.results[at] in full for at in self.kept_results)
        self.writes_own_edge = bool(self.edges) and self.edges[0][0] == 0 and self.arguments[0] in self.written
        # Backward plans of the nodes that plans make, see ``BackwardPlans``.
        self.plans: dict[object, Any] = {}
        self._keeping_less: dict[frozenset[str], Recorder] = {}

    def keeping(self, arguments: Sequence[Any]) -> Recorder:
        """Return a recorder whose nodes save no elements that the formulas do not read for the arguments of a call."""
        asking = [formula for formula in self.formulas or () if formula.unread is not None]
        if not asking:
            return self
        values = dict(zip(self.arguments, arguments, strict=True))
        full = {
            name
            for formula in self.formulas or ()
            for name in set(formula.reads) - formula.forms - formula.unread_for(values)
        }
        forms = frozenset(self.kept).difference(full)
        if forms == self.kept_forms:
            return self
        known = self._keeping_less.get(forms)
        if known is None:
            known = copy.copy(self)
            known.kept_forms, known.plans = forms, {}
            known = self._keeping_less.setdefault(forms, known)
        return known

    def _formulas(
        self, derivative: Derivative | None, wanted: Sequence[str], is_complex: bool
    ) -> Sequence[Formula] | None:
        """Return the formulas; None if there are none or none can be derived, for which the backward pass raises."""
        if derivative is None:
            return None
        try:
            return derivative.formulas(wanted, is_complex=is_complex)
        except ScalarFunctionError as error:
            self.reason = f" {error}"
            return None

    # --------------------------------------------------------------------------------------------------- forward

    def before(self, arguments: Sequence[Any]) -> tuple[tuple[Edge | None, ...], dict[str, Any]]:
        """Return the edges and the saved arguments, before the operator writes any of them."""
        edges = tuple(edge_of(arguments[at] if index is None else arguments[at][index]) for at, index in self.edges)
        values = dict(zip(self.arguments, arguments, strict=True))
        return edges, {name: self._kept(name, values[name]) for name in self.kept}

    def _kept(self, name: str, value: Any) -> Any:
        if name in self.kept_forms:
            return _forms(value)
        if name in self.written and isinstance(value, Tensor):
            return keep(value.clone())  # with its history, for gradients of gradients
        return keep(value)

    def after(
        self, arguments: Sequence[Any], results: Any, edges: tuple[Edge | None, ...], saved: dict[str, Any]
    ) -> Any:
        """Attach a node to the results.

        Args:
            arguments, results: of the call.
            edges, saved: the results of ``before``.

        Returns:
            The results.
        """
        listed = list(results) if isinstance(results, (tuple, list)) else [results]
        if not self.written and any(output is value for output in listed for value in arguments if value is not None):
            # A returned argument keeps its own history, so the result becomes another tensor over its memory.
            listed = [_another(output, arguments) for output in listed]
            results = type(results)(listed) if isinstance(results, (tuple, list)) else listed[0]
        tensors = [(index, output) for index, output in enumerate(listed) if self.has_gradient(index, output)]
        if not edges or not tensors:
            return results
        node = self._node(arguments, listed, edges, saved)
        if self.written and not self.is_inplace_view:
            for _, tensor in tensors:
                set_history(tensor, node, has_own_edge=self.writes_own_edge)
        else:
            for index, tensor in tensors:
                self.follow(tensor, arguments)
                tensor.autograd = node if index == 0 else Output(node, index)
        for index in self.kept_results:
            name = self.results[index]
            kept = listed[index]
            saved[name] = without_elements(kept.geometry) if name in self.kept_forms else keep_result(kept, index)
        return results

    def _node(
        self, arguments: Sequence[Any], listed: list[Any], edges: tuple[Edge | None, ...], saved: dict[str, Any]
    ) -> Node:
        forms = tuple(output.geometry if isinstance(output, Tensor) else None for output in listed)
        keeps = self.keeps_results or any(map(keeps_tensors, saved.values()))
        recipe = Recipe(self.name, self.backward, forms, keeps, self._freeing if self.consumed else None)
        edge = edges[0]
        if self.is_inplace_view and edge is not None and owner_of(arguments[0]) is not None:
            return view_node(recipe, edges, saved, arguments[0])
        if self.written or not self.is_view or edge is None:
            return make_node(recipe, edges, saved)
        return view_node(recipe, edges, saved, arguments[self.edges[0][0]])

    def follow(self, result: Tensor, arguments: Sequence[Any]) -> None:
        """Set a result to require grad; it is marked as no view if it shares memory with no argument."""
        form = result.geometry
        if form.is_tracked_view and not self.is_view:
            root = storage_root(result)
            if all(storage_root(tensor) is not root for tensor in tensors_in(tuple(arguments))):
                form = form.replace(creation=Creation.DETACHED)
        result.geometry = form.replace(requires_grad=True)

    def has_gradient(self, place: int, result: object) -> bool:
        """Return whether a result gets a node."""
        if not isinstance(result, Tensor):
            return False
        at = min(place, len(self.differentiable) - 1)
        return self.differentiable[at] and has_gradients(result)

    # -------------------------------------------------------------------------------------------------- backward

    def backward(self, node: Node, gradients: Sequence[Gradient]) -> Sequence[Gradient]:
        """Compute the gradients of the arguments from those of the results."""
        if all(gradient is None for gradient in gradients):
            return (None,) * len(self.edges)
        saved = node.saved
        if saved is None:
            raise freed(node)
        values = {name: restore(node, name, value) for name, value in saved.items()}
        return self.gradients(gradients, node.recipe.results, values)

    def _freeing(self, node: Node, gradients: Sequence[Gradient]) -> Sequence[Gradient]:
        """See ``backward``; for a node that is freed: formulas may overwrite saved values that are not shared."""
        saved = node.saved
        if saved is None or all(gradient is None for gradient in gradients):
            return self.backward(node, gradients)
        free = frozenset(name for name in self.consumed if is_free(saved.get(name)))
        values = {name: restore(node, name, value) for name, value in saved.items()}
        if free:
            node.saved = None  # a second pass, even after an error, would read overwritten values
        token = consumed.set(free)
        try:
            return self.gradients(gradients, node.recipe.results, values)
        finally:
            consumed.reset(token)

    def gradients(self, incoming: Sequence[Gradient], forms: Sequence[Any], values: dict[str, Any]) -> list[Gradient]:
        """Run the formulas, and return the gradient of each edge.

        Args:
            incoming: the gradients of the results.
            forms: objects with the shapes and dtypes of the results; None for a result that is no tensor.
            values: the values that the formulas read, by name.

        Raises:
            MissingDerivativeError: there are no formulas.
        """
        if self.formulas is None:
            raise MissingDerivativeError(
                f"derivative for {self.name} is not implemented (of {', '.join(self.missing)}). "
                f'Declare it with @{self.operator.schema.name.base}.derivative("{self.missing[0]}"), or call it under '
                f"opdsl.no_grad().{self.reason}"
            )
        by_name: dict[str, Any] = {}
        for formula in self.formulas:
            if not formula.takes_all and incoming[0] is None:
                continue
            fills = formula.takes_all and not formula.takes_undefined
            tensors = _all(incoming, forms) if fills else tuple(incoming)
            asked = tuple(name in self.wanted for name in formula.names)
            by_name.update(zip(formula.names, formula.run(tensors, values, asked), strict=True))
        return [
            by_name.get(self.arguments[at]) if index is None else _element(by_name.get(self.arguments[at]), index)
            for at, index in self.edges
        ]


def _all(gradients: Sequence[Gradient], forms: Sequence[TensorMeta | None]) -> tuple[Gradient, ...]:
    """Return the gradients of all results, zeros for undefined ones; None for results whose dtype has none."""
    return tuple(
        (filled(form, 0) if gradient is None else gradient) if form is not None and has_gradients(form) else None
        for form, gradient in zip(forms, gradients, strict=True)
    )


def has_gradients(form: Any) -> bool:
    """Return whether a tensor's or geometry's dtype has gradients: floating-point and complex ones do."""
    return form is not None and (form.dtype.is_floating_point or form.dtype.is_complex)


def _another(result: Any, arguments: Sequence[Any]) -> Any:
    """Return a new tensor over the memory of a result that is an argument; otherwise the result."""
    if not isinstance(result, Tensor) or all(argument is not result for argument in arguments):
        return result
    return make_view(result, result.shape, result.strides, 0)


def _any(required: bool | tuple[bool, ...]) -> bool:
    return any(required) if isinstance(required, tuple) else required


def _places(required: bool | tuple[bool, ...]) -> list[int | None]:
    if isinstance(required, tuple):
        return [index for index, flag in enumerate(required) if flag]
    return [None]


def _element(gradients: Any, place: int) -> Gradient:
    return None if gradients is None else gradients[place]


def _forms(value: Any) -> Any:
    if isinstance(value, Tensor):
        return without_elements(value.geometry)
    return tuple(map(_forms, value)) if isinstance(value, (tuple, list)) else value
