"""Derivatives of scalar functions: reverse mode over the untyped graph, giving a scalar function again.

What one gives can be differentiated again, for higher orders. Where a function has a kink, the derivative is the mean
of those on both sides (``abs`` has 0 at 0; ``max`` gives each of two equal operands a half, as PyTorch's ``maximum``
does): then a smooth function that is written with kinks that cancel keeps its derivative there.

Conditions are carried beside each gradient and are applied last, so that what the side not taken would give (infinities
times 0) never reaches the result. Complex gradients follow PyTorch's convention: the incoming one times the conjugate
of the derivative; of a real number only the real part of what comes in counts.
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

# Beyond so many sets of conditions at one node they are applied at once.
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
    """The gradients of parameters, from those of the results.

    Args:
        function: what is differentiated.
        wanted: names of parameters.
        is_complex: whether complex numbers take part; otherwise conjugates are left out.
        result: a name for the only result, where the gradients are to be made of that as far as it goes.
        elements: of a row function, the parameters that differ from element to element. What comes back is a row
            function, too; the gradients of wanted parameters that a row has one of are those of the row.
        of_rows: of a row function, for each result whether the gradient given for it is that of a row as a whole, or
            each element has its own; by default the former for results that do not differ from element to element.

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
    """Names for the gradients of the results that no parameter has."""
    stem = "grad"
    while any(parameter.startswith(stem) for parameter in function.parameters):
        stem += "_"
    return [stem] if len(function.results) == 1 else [f"{stem}{at}" for at in range(len(function.results))]


class _Builder(GrowingGraph):
    """The graph of a derivative, and the gradients of the function's nodes.

    gradients: by node; of what a row has one of, those of the row.
    spread: what elements send to what their row has one of: the gradient is the sum.
    """

    def __init__(self, function: ScalarFunction, *, is_complex: bool, elements: Collection[str] | None) -> None:
        super().__init__(function, is_complex=is_complex, elements=elements)
        self.gradients: dict[int, Gradients] = {}
        self.spread: dict[int, Gradients] = {}
        self._depends = self._dependent()

    def _dependent(self) -> set[int]:
        """The nodes that depend on a parameter; others need no gradient."""
        dependent: set[int] = set()
        for at, node in enumerate(self.function.nodes):
            if node.op == "parameter" or any(argument in dependent for argument in node.arguments):
                dependent.add(at)
        return dependent

    # ------------------------------------------------------------------------------------------- gradients

    def gradient_of(self, name: str) -> int:
        """The gradient of a parameter."""
        position = self.parameter(name)
        return self.number(0) if position is None else self.collected(position)

    def send(self, position: int, gradients: Gradients, *, of_element: bool = False) -> None:
        """Add to a node's gradients.

        Args:
            position: the node.
            gradients: what is added.
            of_element: whether each element of a row sends its own.
        """
        if position not in self._depends:
            return
        spread = self.spread if of_element and position not in self.varies else self.gradients
        present = spread.setdefault(position, {})
        for guards, value in gradients.items():
            present[guards] = self.add("add", present[guards], value) if guards in present else value

    def visit(self, position: int) -> None:
        """Hand a node's gradients on to its arguments."""
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
            for argument, number in zip(node.arguments, sent, strict=True):
                if isinstance(number, Guarded):
                    together = _together(guards, number.guards)
                    if together is not None:
                        self.send(argument, {together: number.value}, of_element=position in self.varies)
                elif number is not None:
                    self.send(argument, {guards: number}, of_element=position in self.varies)

    def collected(self, position: int, numbers: dict[int, Gradients] | None = None) -> int:
        """A node's gradient, its conditions applied; 0 where there is none."""
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
        """Return fewer gradients: what they have in common of conditions goes on to guard what follows."""
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
        """``value`` where the last condition holds, ``otherwise`` where it does not, 0 where an earlier one fails."""
        for at, guard in enumerate(reversed(guards)):
            other = otherwise if at == 0 and otherwise is not None else self.number(0)
            value = self.select(guard.condition, *((value, other) if guard.is_true else (other, value)))
        return value

    def _made_of(self, name: str) -> dict[int, int]:
        """What can be made of the only result, by its position: that itself, and what a number was divided by."""
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
        """The function of the results, without what they do not need."""
        instead = self._made_of(result) if result else {}
        needed = {instead.get(at, at) for at in results}
        for at in range(len(self.nodes) - 1, -1, -1):
            if at in needed:
                needed.update(instead.get(argument, argument) for argument in self.nodes[at].arguments)
        # What is made of the result was added last, and stands before what uses it.
        shared = needed.intersection(instead.values())
        ahead = sorted({*shared, *(argument for at in shared for argument in self.nodes[at].arguments)})
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
                node._replace(arguments=tuple(places[instead.get(argument, argument)] for argument in node.arguments))
                for node in nodes
            ),
            tuple(self.places[at] for at in order),
            tuple(places[instead.get(at, at)] for at in results),
            self.function.source,
        )


def _together(guards: Guards, others: Guards) -> Guards | None:
    """Return the conditions of both, each once; None where they never hold together."""
    if any(Guard(guard.condition, not guard.is_true) in guards for guard in others):
        return None
    return (*guards, *(guard for guard in others if guard not in guards))


def _paired(gradients: Gradients) -> list[tuple[Guards, int, int | None]]:
    """Conditions and gradients; two that differ in whether the last condition holds are one choice."""
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
