"""Sharding rule of an operator: the declared one, or the one that its kernel implies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opdsl.dispatch.binding.boxed import box
from opdsl.dispatch.keys import DispatchKey
from opdsl.dispatch.model.operator import Operator
from opdsl.kernels.definitions.cases import CasesDefinition
from opdsl.kernels.definitions.python_kernel import PythonKernel
from opdsl.kernels.definitions.structured import StructuredKernel
from opdsl.kernels.definitions.view_kernel import ViewKernel
from opdsl.sharding.composites import ByItsCalls
from opdsl.sharding.rules import AllButRows, AnyDimension, Carrying, Folding, Moved, Rule, Whole

__all__ = ["in_order", "rule_of", "rule_of_results"]

_CPU, _META = DispatchKey("CPU"), DispatchKey("Meta")

# The rule of handwritten kernels, which may read any element.
_UNKNOWN = Whole("its kernel does not declare the elements that it reads")

_BY_KIND: dict[str, Callable[[Any], Rule]] = {
    "pointwise": lambda definition: AnyDimension(definition.results, definition),
    "reduction": Folding,
    "row": AllButRows,
    "scan": Carrying,
    "recurrence": AllButRows,
}


def rule_of(operator: Operator) -> Rule:
    """Return the sharding rule of an operator.

    A declared rule has precedence over the rule that its kernel implies.
    """
    if operator.sharding_rule is not None:
        declared: Rule = operator.sharding_rule
        return declared
    kernel = operator.entry(_CPU).kernel
    if isinstance(kernel, StructuredKernel):
        return _defined(operator, kernel) if kernel.variant == "functional" else Whole("it writes its arguments")
    if isinstance(kernel, ViewKernel):
        return Moved(kernel.function)
    if isinstance(kernel, PythonKernel) and _is_same(kernel, operator.entry(_META).kernel):
        return ByItsCalls(operator, rule_of, folds=operator.formula is not None)
    return _UNKNOWN


def rule_of_results(operator: Operator) -> Rule:
    """Return the sharding rule of an operator by its computation: an in-place or ``out=`` variant has its functional
    one's.
    """
    kernel = operator.entry(_CPU).kernel
    if operator.sharding_rule is None and isinstance(kernel, StructuredKernel):
        return _defined(operator, kernel)
    return rule_of(operator)


def _defined(operator: Operator, kernel: StructuredKernel) -> Rule:
    definition: Any = kernel.definition
    if definition.kind == "formula" and not definition.is_whole:  # its text shows dependence on sizes
        return ByItsCalls(operator, rule_of, definition.text)
    function = AllButRows if isinstance(definition, CasesDefinition) else _BY_KIND.get(definition.kind)
    return _UNKNOWN if function is None else function(kernel.definition)


def _is_same(kernel: PythonKernel, other: object) -> bool:
    return isinstance(other, PythonKernel) and other.function is kernel.function


def in_order(operator: Operator) -> Callable[..., Any]:
    """Return an operator's function in a form that takes the arguments in the order of its schema, all positional."""

    def call(*arguments: Any) -> Any:
        positional, named = box(operator, arguments)
        return operator.function(*positional, **named)

    return call
