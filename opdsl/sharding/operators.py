"""The rule of an operator: what is declared, or what its kernel says."""

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

# An author's kernel may read any element.
_UNKNOWN = Whole("nothing says what its kernel reads")

_BY_KIND: dict[str, Callable[[Any], Rule]] = {
    "pointwise": lambda definition: AnyDimension(definition.results, definition),
    "reduction": Folding,
    "row": AllButRows,
    "scan": Carrying,
    "recurrence": AllButRows,
}


def rule_of(operator: Operator) -> Rule:
    """How calls of an operator may be cut.

    What is declared comes first; then what its kernel is made of says it.
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
    """How an operator may be cut that may write what it computes: as the functional one that computes the same."""
    kernel = operator.entry(_CPU).kernel
    if operator.sharding_rule is None and isinstance(kernel, StructuredKernel):
        return _defined(operator, kernel)
    return rule_of(operator)


def _defined(operator: Operator, kernel: StructuredKernel) -> Rule:
    definition: Any = kernel.definition
    if definition.kind == "formula" and not definition.is_whole:  # what its text calls tells where sizes count
        return ByItsCalls(operator, rule_of, definition.text)
    function = AllButRows if isinstance(definition, CasesDefinition) else _BY_KIND.get(definition.kind)
    return _UNKNOWN if function is None else function(kernel.definition)


def _is_same(kernel: PythonKernel, other: object) -> bool:
    return isinstance(other, PythonKernel) and other.function is kernel.function


def in_order(operator: Operator) -> Callable[..., Any]:
    """An operator's function, called with the arguments in the order of its schema."""

    def call(*arguments: Any) -> Any:
        positional, named = box(operator, arguments)
        return operator.function(*positional, **named)

    return call
