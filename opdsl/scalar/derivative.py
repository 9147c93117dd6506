"""Differentiation of scalar functions: reverse mode over the untyped graph, which gives a scalar function again.

The result can be differentiated again, for higher orders. Where a function has a kink, the derivative is the mean of
those on both sides (``abs`` has 0 at 0; ``max`` gives each of two equal operands a half, as PyTorch's ``maximum``
does): then a smooth function that is written with kinks that cancel keeps its derivative there.

Conditions are kept with each gradient and are applied last, so that values of the side not taken (infinities times 0)
never reach the result. Complex gradients follow PyTorch's convention: the incoming one times the conjugate of the
derivative; for a real number only the real part of the incoming gradient counts.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

from opdsl.scalar.derivative_rules import RULES, WITHOUT_GRADIENT, Guard, Guarded, Guards
from opdsl.scalar.function import ScalarFunction
from opdsl.scalar.growing_graph import GrowingGraph

__all__ = ["differentiate"]

# Gradients of one node, by the conditions under which they count.
Gradients: TypeAlias = dict[Guards, int]

# If a node has more sets of conditions than this, they are merged at once.
_MOST_GUARDS = 8


def differentiate(
    function: ScalarFunction,
    wanted: Sequence[str],
    *,
    is_complex: bool = False,
    result: str = "",
    elements: Collection[str] | None = None,
    of_rows: Sequence[bool] | None = None,
) -> ScalarFunction:
    """Return the function that computes the gradients of parameters from those of the results.

    Args:
        function: the function to differentiate.
        wanted: names of parameters.
        is_complex: whether complex numbers occur; otherwise conjugates are left out.
        result: a name for the only result, if the gradients are to be computed from the result as far as possible.
        elements: of a row function, the parameters that differ from element to element. The derivative is a row
            function, too; a wanted parameter with one value for each row has one gradient for each row.
        of_rows: of a row function, for each result whether its gradient is one value for the whole row, or one for each
            element; by default one for the row if the result does not differ from element to element.

    Returns:
        A scalar function whose first parameters are the gradients of the results, ``grad`` or ``grad0``, ``grad1``,
        ...; then come those of the function's parameters that are needed, and the result, if it is. It returns a
        gradient for each name.

    Raises:
        ScalarFunctionError: an operation has no derivative; the message underlines it.

    >>> from opdsl.scalar import read
    >>> from opdsl.scalar.examples import smooth_relu
    >>> print(differentiate(read(smooth_relu), ["beta"]).parameters)
    ('grad', 'x', 'beta')
    """
    names = _gradient_names(function)
    builder = _Builder(function, is_complex=is_complex, elements=elements)
    for index, (name, position) in enumerate(zip(names, function.results, strict=True)):
        of_element = of_rows is not None and not of_rows[index]
        builder.send(position, {(): builder.add("parameter", value=name)}, of_element=of_element)
    for position in range(len(function.nodes) - 1, -1, -1):
        builder.visit(position)
    results = [builder.gradient_of(name) for name in wanted]
    return builder.finish(names, wanted, results, result)


def _gradient_names(function: ScalarFunction) -> list[str]:
    """Return names for the gradients of the results that are not names of parameters."""
    stem = "grad"
    while any(parameter.startswith(stem) for parameter in function.parameters):
        stem += "_"
    return [stem] if len(function.results) == 1 else [f"{stem}{at}" for at in range(len(function.results))]


class _Builder(GrowingGraph):
    """Builder of the graph of a derivative, with the gradients of the function's nodes.

    gradients: by node; for values that are one for each row, the gradients of the row.
    spread: gradients that elements send to values that are one for each row: their sum over the row counts.
    """

    def __init__(self, function: ScalarFunction, *, is_complex: bool, elements: Collection[str] | None) -> None:
        super().__init__(function, is_complex=is_complex, elements=elements)
        self.gradients: dict[int, Gradients] = {}
        self.spread: dict[int, Gradients] = {}
        self._depends = self._dependent()

    def _dependent(self) -> set[int]:
        """Return the nodes that depend on a parameter; others need no gradient."""
        dependent: set[int] = set()
        for at, node in enumerate(self.function.nodes):
            if node.op == "parameter" or any(operand in dependent for operand in node.arguments):
                dependent.add(at)
        return dependent

    # ------------------------------------------------------------------------------------------- gradients

    def gradient_of(self, name: str) -> int:
        """Return the gradient of a parameter."""
        position = self.parameter(name)
        return self.number(0) if position is None else self.collected(position)

    def send(self, position: int, gradients: Gradients, *, of_element: bool = False) -> None:
        """Add gradients to those of a node.

        Args:
            position: the node.
            gradients: the gradients to add.
            of_element: whether each element of a row sends its own.
        """
        if position not in self._depends:
            return
        spread = self.spread if of_element and position not in self.varies else self.gradients
        present = spread.setdefault(position, {})
        for guards, value in gradients.items():
            present[guards] = self.add("add", present[guards], value) if guards in present else value

    def visit(self, position: int) -> None:
        """Propagate a node's gradients to its arguments."""
        node = self.function.nodes[position]
        self.place = self.function.places[position]
        if position in self.spread:
            self.send(position, {(): self.add("row_sum", self.collected(position, self.spread))})
        gradients = self.gradients.get(position)
        if gradients is None or node.op == "parameter":
            return
        if len(gradients) > _MOST_GUARDS:
            gradients = self._merged(gradients)
        rule = RULES.get(node.op)
        if rule is None:
            if node.op in WITHOUT_GRADIENT:
                return
            error = self.function.underived()
            assert error is not None, "everything else has a rule"
            raise error
        for guards, gradient in gradients.items():
            sent = rule(self, gradient, node.arguments, position)
            for operand, number in zip(node.arguments, sent, strict=True):
                if isinstance(number, Guarded):
                    together = _together(guards, number.guards)
                    if together is not None:
                        self.send(operand, {together: number.value}, of_element=position in self.varies)
                elif number is not None:
                    self.send(operand, {guards: number}, of_element=position in self.varies)

    def collected(self, position: int, numbers: dict[int, Gradients] | None = None) -> int:
        """Return a node's gradient with its conditions applied; 0 if it has none."""
        return self._total((numbers or self.gradients).get(position, {}))

    def _total(self, gradients: Gradients) -> int:
        parts = [self._guarded(*pair) for pair in _paired(gradients)]
        if not parts:
            return self.number(0)
        total = parts[0]
        for part in parts[1:]:
            total = self.add("add", total, part)
        return total

    def _merged(self, gradients: Gradients) -> Gradients:
        """Merge the gradients of a node into fewer ones, keeping the conditions that all of them share."""
        first = next(iter(gradients))
        common = tuple(guard for guard in first if all(guard in guards for guards in gradients))
        sets = [
            ((*common, *(guard for guard in guards if guard not in common)), at) for guards, at in gradients.items()
        ]
        groups: dict[Guards, Gradients] = {}
        for length in range(max(map(len, gradients)) - 1, len(common) - 1, -1):
            groups = {}
            for guards, value in sets:
                groups.setdefault(guards[:length], {})[guards[length:]] = value
            if len(groups) <= _MOST_GUARDS:
                break
        return {guards: self._total(rest) for guards, rest in groups.items()}

    def _guarded(self, guards: Guards, value: int, otherwise: int | None) -> int:
        """Return ``value`` if all conditions hold, ``otherwise`` (or 0) if only the last one fails, 0 if an earlier one
        fails.
        """
        for at, guard in enumerate(reversed(guards)):
            other = otherwise if at == 0 and otherwise is not None else self.number(0)
            value = self.select(guard.condition, *((value, other) if guard.is_true else (other, value)))
        return value

    def _made_of(self, name: str) -> dict[int, int]:
        """Return replacements of nodes, by position, that let the derivative read the function's only result: the
        result's node becomes a parameter; for a result ``number / x``, ``x`` becomes ``number / result``.
        """
        (at,) = self.function.results
        node = self.nodes[at]
        if not node.arguments:
            return {}
        result = self.add("parameter", value=name)
        divided = self.value(node.arguments[0]) if node.op == "divide" else None
        if divided is None:
            return {at: result}
        return {at: result, node.arguments[1]: self.add("divide", self.number(divided), result)}

    def finish(
        self, gradients: Sequence[str], wanted: Sequence[str], results: Sequence[int], result: str
    ) -> ScalarFunction:
        """Return the function of the given results, without nodes that they do not need."""
        instead = self._made_of(result) if result else {}
        needed = {instead.get(at, at) for at in results}
        for at in range(len(self.nodes) - 1, -1, -1):
            if at in needed:
                needed.update(instead.get(operand, operand) for operand in self.nodes[at].arguments)
        # Nodes computed from the result were added last; move them in front of the nodes that use them.
        shared = needed.intersection(instead.values())
        ahead = sorted({*shared, *(operand for at in shared for operand in self.nodes[at].arguments)})
        needed.update(ahead)
        kept = tuple(name for name in (*self.function.parameters, result) if self.parameter(name) in needed)
        heads = [*(self.add("parameter", value=name) for name in gradients), *ahead]
        order = [*heads, *(at for at in range(len(self.nodes)) if at in needed and at not in heads)]
        places = {at: new for new, at in enumerate(order)}
        nodes = [self.nodes[at] for at in order]
        return ScalarFunction(
            f"{self.function.name}_derivative_{'_'.join(wanted)}",
            (*gradients, *kept),
            {},
            tuple(
                node._replace(arguments=tuple(places[instead.get(operand, operand)] for operand in node.arguments))
                for node in nodes
            ),
            tuple(self.places[at] for at in order),
            tuple(places[instead.get(at, at)] for at in results),
            self.function.source,
        )


def _together(guards: Guards, others: Guards) -> Guards | None:
    """Return the conditions of both gradients, each once; None if they contradict each other."""
    if any(Guard(guard.condition, not guard.is_true) in guards for guard in others):
        return None
    return (*guards, *(guard for guard in others if guard not in guards))


def _paired(gradients: Gradients) -> list[tuple[Guards, int, int | None]]:
    """Return conditions with gradients; two gradients that differ only in whether the last condition holds become one
    choice.
    """
    rest = dict(gradients)
    paired: list[tuple[Guards, int, int | None]] = []
    while rest:
        guards, value = next(iter(rest.items()))
        del rest[guards]
        otherwise = None
        if guards:
            last = guards[-1]
            otherwise = rest.pop((*guards[:-1], Guard(last.condition, not last.is_true)), None)
        paired.append((guards, value, otherwise))
    return paired
