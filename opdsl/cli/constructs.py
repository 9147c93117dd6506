"""Command option ``opdsl list --constructs``: counts the constructs that operators are declared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opdsl.cli.expressions import is_expression
from opdsl.cli.output import Row
from opdsl.declare import forwarding
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator
from opdsl.kernels.definitions.view_kernel import ViewKernel
from opdsl.primitives import LOOPS

PURE = ("formula", *LOOPS.values(), "view", "forward", "overload")
"""Constructs that declare the result of an operator, but not the way to compute it."""

EXPRESSION = "expression"
"""Name of the construct for a body that consists of one expression of operators."""

HEADER = ("construct", "declarations", "share")
STYLES = ("bold", "cyan", "")


class Use(NamedTuple):
    """Number of declarations that use a construct, and their share of all."""

    construct: str
    declarations: int
    share: float

    def row(self) -> Row:
        """Return the cells of the construct's table row."""
        return self.construct, str(self.declarations), f"{self.share:.1%}"


def constructs(operators: Iterable[Operator]) -> list[Use]:
    """Count how many declarations use each construct. Derived variants and list operators are not counted separately.

    Args:
        operators: some of one registry.
    """
    declared = {operator.declaration: None for operator in operators if isinstance(operator.declaration, Declaration)}
    counted = [declaration for declaration in declared if not is_derived(declaration)]
    counter = Counter(construct(declaration) for declaration in counted)
    rows = [(name, counter[name]) for name in (*PURE, *sorted(counter.keys() - set(PURE)))]
    pure = sum(counter[name] for name in PURE)
    rows += [("pure", pure), ("pure, with expressions", pure + counter[EXPRESSION]), ("all", len(counted))]
    return [Use(name, count, count / max(1, len(counted))) for name, count in rows]


def is_derived(declaration: Declaration) -> bool:
    """Return whether a declaration is generated (``autogen``) or a list operator, whose body is opdsl's own."""
    bodies = [function.__globals__.get("body") for function in declaration.attached.values()]
    return any(getattr(body, "__module__", "").startswith("opdsl.declare.") for body in bodies)


def construct(declaration: Declaration) -> str:
    """Return the construct of a declaration: ``formula``, a loop, a decorator, ``overload``, ``forward`` ..."""
    if any("overload_body" in function.__globals__ for function in declaration.attached.values()):
        return "overload"  # an overload of an operator whose body computes it
    if declaration.main.formula is not None or any(scalar is not None for *_, scalar in declaration.formulas):
        return "formula"
    if declaration.kind is not None:
        return LOOPS.get(declaration.kind.name, declaration.kind.name)
    if any(isinstance(kernel, ViewKernel) for kernel in _kernels(declaration)):
        return "view"
    ways = {what.partition(" ")[0]: value for what, value in declaration.attached.items()}
    if any(function.__globals__.get("__name__") == forwarding.__name__ for function in declaration.attached.values()):
        return "forward"
    python = [function for what, function in ways.items() if what in ("kernel", "body")]
    if python and "out_kernel" not in ways and all(map(is_expression, python)):
        return EXPRESSION
    return next((name for name in ("out_kernel", "kernel", "body") if name in ways), "kernels elsewhere")


def _kernels(declaration: Declaration) -> Iterator[object]:
    for kernels in declaration.main.registrations.values():
        yield from kernels
