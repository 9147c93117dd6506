"""Gradients of in-place variants whose operator has a body: the body is run again and differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from opdsl.autograd.derivative import Formula
from opdsl.autograd.passes import grad
from opdsl.dispatch import Operator, enable_grad
from opdsl.dispatch.binding.boxed import box
from opdsl.dispatch.state import current
from opdsl.runtime import Tensor
from opdsl.schema import FunctionSchema

__all__ = ["BodyDerivative", "derivative_of_body"]


@lru_cache(maxsize=256)
def derivative_of_body(functional: Operator) -> BodyDerivative:
    """Return the derivative of the in-place variant of an operator whose body calls operators."""
    return BodyDerivative(functional)


class BodyDerivative:
    """Derivative of an in-place variant by rerunning the functional operator's body with gradients enabled.

    A call of the variant is one node, so no intermediate value of the body has been saved. The written argument is
    saved with its old value.

    Args:
        functional: the functional operator, whose result the variant writes.
    """

    non_differentiable: frozenset[str] = frozenset()

    def __init__(self, functional: Operator) -> None:
        self.functional = functional

    def differentiable_results(self, schema: FunctionSchema) -> tuple[bool, ...]:
        """See ``Derivative``: all results are differentiable."""
        return (True,) * len(schema.returns)

    def formulas(self, required: Sequence[str], *, is_complex: bool = False) -> Sequence[Formula]:
        """See ``Derivative``."""
        wanted = tuple(required)
        names = tuple(argument.python_name for argument in self.functional.schema.arguments)

        def run(gradients: tuple[Any, ...], values: Mapping[str, Any], asked: tuple[bool, ...]) -> Sequence[Any]:
            return self._run(
                [name for name, is_asked in zip(wanted, asked, strict=True) if is_asked], wanted, gradients, values
            )

        return (Formula(wanted, run, names, frozenset(), takes_all=True),)

    def _run(
        self, asked: Sequence[str], wanted: Sequence[str], gradients: Sequence[Any], values: Mapping[str, Any]
    ) -> list[Any]:
        creates_graph = current.get().grad_mode
        with enable_grad():
            leaves = {name: _leaf(value, name in asked, creates_graph) for name, value in values.items()}
            positional, named = box(self.functional, tuple(leaves.values()))
            results = self.functional.function(*positional, **named)
            listed = results if isinstance(results, (tuple, list)) else (results,)
            pairs = [
                (result, gradient)
                for result, gradient in zip(listed, gradients, strict=True)
                if gradient is not None and result.requires_grad
            ]
            inputs = [leaf for name in asked for leaf in _tensors(leaves[name])]
            if not pairs:
                return [None] * len(wanted)
            outputs, seeds = zip(*pairs, strict=True)
            input_gradients = iter(grad(outputs, inputs, seeds, create_graph=creates_graph, allow_unused=True))
        named_gradients = {name: _as(leaves[name], input_gradients) for name in asked}
        return [named_gradients.get(name) for name in wanted]


def _leaf(value: Any, is_asked: bool, creates_graph: bool) -> Any:
    """Return an argument to rerun the body with: a detached leaf, or itself for gradients of gradients."""
    if isinstance(value, (tuple, list)):
        return type(value)([_leaf(element, is_asked, creates_graph) for element in value])
    if not isinstance(value, Tensor) or creates_graph:
        return value
    detached = value.detach()
    return detached.requires_grad_() if is_asked and value.requires_grad else detached


def _tensors(value: Any) -> list[Tensor]:
    listed = value if isinstance(value, (tuple, list)) else (value,)
    return [element for element in listed if isinstance(element, Tensor) and element.requires_grad]


def _as(value: Any, gradients: Any) -> Any:
    """Return gradients in the form of an argument: one, or a list."""
    if isinstance(value, (tuple, list)):
        return [next(gradients) if _tensors(element) else None for element in value]
    return next(gradients) if _tensors(value) else None
