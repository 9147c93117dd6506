"""Generator of random formulas: a seed determines a text, its arguments, and the equivalent computation in PyTorch."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import Any

import torch

from tests.laws import formula_nodes as nodes
from tests.laws.formula_nodes import AXES, BOOL, COMPLEX, INTEGER, RANK, REAL, Node, Scope, combined

DIMS = AXES[1:]

# Functions with finite slopes and small results, by the names that both libraries use.
FUNCTIONS = {
    REAL: ("sin", "tanh", "sigmoid", "abs", "cos", "atan", "relu", "erf"),
    COMPLEX: ("sin", "tanh", "conj", "sgn", "exp"),
    INTEGER: ("abs", "neg", "square", "bitwise_not"),
}
STEPS = {
    REAL: (
        "lambda h, a: 0.5 * h + a",
        "lambda h, a: opdsl.maximum(h, a)",
        "lambda h, a: opdsl.tanh(h + a)",
        "lambda h, a, b: opdsl.sigmoid(a) * h + b",
        "lambda c, a: (0.5 * c[0] + c[1] * a, opdsl.maximum(c[1], a))",
        "lambda c, a, b: (c[0] + opdsl.sin(a * c[1]), 0.5 * c[1] - b)",
    ),
    COMPLEX: ("lambda h, a: 0.5 * h + a", "lambda h, a, b: opdsl.tanh(a) * h + b"),
    INTEGER: (
        "lambda h, a: h + a",
        "lambda h, a: opdsl.minimum(h, a)",
        "lambda h, a, b: 3 * h - a * b",
        "lambda c, a: (c[0] ^ c[1], c[1] + a)",
    ),
}
FOLDS = {
    REAL: ("sum", "mean", "amax", "amin", "logsumexp", "var", "prod", "sum"),
    COMPLEX: ("sum", "mean", "prod"),
    INTEGER: ("sum", "amax", "amin", "prod"),
}
ALONG = {REAL: ("softmax", "log_softmax", "cumsum", "cumprod"), COMPLEX: ("cumsum",), INTEGER: ("cumsum", "cumprod")}
DTYPES = {
    REAL: (torch.float64, torch.float64, torch.float64, torch.float32, torch.float16, torch.bfloat16),
    COMPLEX: (torch.complex128, torch.complex64),
    INTEGER: (torch.int64, torch.int32, torch.int16),
}
SIZES = (3, 2, 4, 3, 2, 4, 3, 1, 0)


@dataclass
class Formula:
    """Random formula: its text, its arguments by name, and functions that compute its results in PyTorch."""

    text: str
    tensors: dict[str, torch.Tensor]
    numbers: dict[str, float | int]
    sizes: dict[str, int]
    # Functions that compute the results: ordered tensors and scatters.
    results: list[Any]
    locals: list[Node]
    seed: int

    def expected(self, tensors: dict[str, torch.Tensor]) -> tuple[list[torch.Tensor], dict[str, Any]]:
        """Compute the results in PyTorch, and return them with the magnitudes and roundings recorded on the way."""
        scope = Scope(tensors, self.sizes, self.numbers)
        for node in self.locals:
            node.value(scope)
        return [result(scope) for result in self.results], scope.seen


class Writer:
    """Random generator of one formula."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        pick = self.random.choice
        self.kind = pick((REAL, REAL, REAL, REAL, REAL, REAL, INTEGER, COMPLEX))
        self.batched = self.random.random() < 0.3
        self.rank = pick((0, 1, 2, 2, 2, 3))
        self.sizes = {axis: pick(SIZES) for axis in DIMS}
        self.dtype = pick(DTYPES[self.kind])
        self.declared: dict[str, tuple[str, tuple[str, ...]]] = {}
        self.tensors: dict[str, torch.Tensor] = {}
        self.numbers: dict[str, float | int] = {}
        self.locals: list[Node] = []
        self.lines: list[str] = []
        self._declare()

    # ------------------------------------------------------------------------------------------------------ arguments

    def _declare(self) -> None:
        """Choose the tensors of the formula, their dims and their sizes."""
        generator = torch.Generator().manual_seed(self.seed)
        for name in "xyz"[: self.random.choice((1, 2, 3))]:
            axes = tuple(self.random.sample(DIMS, self.random.choice((1, 2, 2, 3))))
            shape = [1 if self.random.random() < 0.08 else self.sizes[axis] for axis in axes]
            if self.batched and (name == "x" or self.random.random() < 0.5):
                shape.insert(0, 2)
            self.declared[name] = (self.kind, axes)
            self.tensors[name] = drawn(shape, self.dtype, generator)
        axes = tuple(self.random.sample(DIMS, 1))
        self.declared["ids"] = (INTEGER, axes)
        self.tensors["ids"] = torch.randint(0, 5, [self.sizes[axis] for axis in axes], generator=generator)
        if self.kind is REAL:
            self.numbers["n"] = self.random.choice((0.5, -1.25, 2.0))
        if self.kind is INTEGER:
            self.numbers["n"] = self.random.choice((2, -3, 7))

    # ---------------------------------------------------------------------------------------------------- expressions

    def leaf(self, axes: frozenset[str], kind: str) -> Node:
        """Return an expression without operands, such as a read of a tensor, that varies along some of the axes."""
        pick, fits = self.random.choice, []
        for name, (own, declared) in self.declared.items():
            if own == kind and name != "ids" and axes.issuperset(declared):
                fits.append((name, declared))
        if kind is INTEGER and (self.kind is not INTEGER or not fits):
            return self.whole(axes)
        if fits and self.random.random() < 0.7:
            name, declared = pick(fits)
            return nodes.read(name, kind, declared, self.batched, self.has_batch(name))
        name = pick([name for name, (own, _) in self.declared.items() if own == kind and name != "ids"])
        return self.computed(name, kind, axes)

    def has_batch(self, name: str) -> bool:
        """Return whether a tensor has a leading dimension in addition to its dims."""
        return self.tensors[name].ndim > len(self.declared[name][1])

    def whole(self, axes: frozenset[str]) -> Node:
        """Return an integer expression: the index along a dim, or an element of ``ids``."""
        own = self.declared["ids"][1]
        if axes.issuperset(own) and self.random.random() < 0.5:
            return nodes.read("ids", INTEGER, own, False, False)
        return (
            nodes.position(self.random.choice(sorted(axes)))
            if axes
            else nodes.read("ids", INTEGER, [nodes.number(0)], False, False)
        )

    def computed(self, name: str, kind: str, axes: frozenset[str]) -> Node:
        """Return a read of a tensor at computed indices, with a random out-of-bounds mode."""
        at: list[str | Node] = []
        outside = self.random.choice((0.0, "replicate", "circular", "reflect", 1.0))
        if kind is INTEGER:
            outside = {0.0: 0, 1.0: 7}.get(outside, outside)
        shape = self.tensors[name].shape
        declared = self.declared[name][1]
        for index, axis in enumerate(declared):
            size = shape[index - len(declared)]
            if not size:
                outside = 0 if kind is INTEGER else 0.0
            at.append(self.place(axis, axes))
        return nodes.read(name, kind, at, self.batched, self.has_batch(name), outside)

    def place(self, axis: str, axes: frozenset[str]) -> str | Node:
        """Return a random index: a dim, an expression of dims, or an element of ``ids``."""
        if axis in axes and self.random.random() < 0.4:
            return axis
        if not axes:
            return nodes.number(0)
        one = nodes.position(self.random.choice(sorted(axes)))
        ids = self.declared["ids"][1]
        kind = self.random.randrange(4 if axes.issuperset(ids) else 3)
        if kind == 0:
            shift = self.random.choice((1, 2, -1))
            return combined(f"{one.text} - {shift}".replace("- -", "+ "), INTEGER, (one,), lambda a: a - shift)
        if kind == 1:
            other = nodes.position(self.random.choice(sorted(axes)))
            return combined(f"{one.text} + 2 * {other.text} - 1", INTEGER, (one, other), lambda a, b: a + 2 * b - 1)
        if kind == 2:
            return combined(f"3 - {one.text}", INTEGER, (one,), lambda a: 3 - a)
        return nodes.read("ids", INTEGER, ids, False, False)

    def expression(self, axes: frozenset[str], depth: int, kind: str | None = None) -> Node:
        """Return a random expression that varies along some of the axes, with at most ``depth`` nested operators."""
        kind = kind or self.kind
        if depth <= 0 or self.random.random() < 0.1:
            usable = [node for node in self.locals if axes.issuperset(node.axes - {"..."}) and node.kind == kind]
            if usable and self.random.random() < 0.4:
                return self.random.choice(usable)
            return self.leaf(axes, kind)
        makers = [self.unary, self.binary, self.binary, self.choice, self.where, self.fold, self.fold, self.scan]
        makers += [self.along, self.elsewhere, self.cast]
        return self.random.choice(makers)(axes, depth - 1, kind)

    def unary(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        name = self.random.choice(FUNCTIONS[kind])
        operand = self.expression(axes, depth, kind)
        return combined(f"opdsl.{name}({operand.text})", kind, (operand,), getattr(torch, name))

    def binary(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        one = self.expression(axes, depth, kind)
        other = self.expression(axes, depth - 1, kind) if self.random.random() < 0.7 else self.constant(kind)
        sign = self.random.choice("+-*" if kind is COMPLEX else "+-*mM/")
        if sign in "mM" and other.is_tensor:
            name = "minimum" if sign == "m" else "maximum"
            return combined(f"opdsl.{name}({one.text}, {other.text})", kind, (one, other), getattr(torch, name))
        if sign == "/" and kind is REAL and other.is_tensor:
            text = f"({one.text} / (0.5 + {other.text} * {other.text}))"
            return combined(text, kind, (one, other), lambda a, b: a / (0.5 + b * b))
        if sign == "/" and kind is INTEGER:
            divisor = self.random.choice((3, -2, 5))
            sign = self.random.choice(("//", "%"))
            function = (lambda a: a // divisor) if sign == "//" else (lambda a: a % divisor)
            return combined(f"({one.text} {sign} {divisor})", kind, (one,), function)
        sign = sign if sign in "+-*" else "+"
        functions = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}
        return combined(f"({one.text} {sign} {other.text})", kind, (one, other), functions[sign])

    def constant(self, kind: str) -> Node:
        """Return a literal number or the numeric argument ``n``."""
        if kind == self.kind and "n" in self.numbers and self.random.random() < 0.4:
            return nodes.parameter("n", kind)
        values: dict[str, tuple[Any, ...]] = {REAL: (0.5, 2.0, 1.5), COMPLEX: (0.5j, 2j), INTEGER: (2, 3)}
        return nodes.number(self.random.choice(values[kind]))

    def condition(self, axes: frozenset[str]) -> Node:
        """Return a random comparison of values without rounding errors."""
        kind = REAL if self.kind is COMPLEX else self.kind
        one = self.leaf(axes, INTEGER if self.kind is COMPLEX else kind)
        sign = self.random.choice(("<", ">", "<=", ">=", "!="))
        bound = self.constant(one.kind) if self.random.random() < 0.7 else self.leaf(axes, one.kind)
        functions = {
            "<": lambda a, b: a < b,
            ">": lambda a, b: a > b,
            "<=": lambda a, b: a <= b,
            ">=": lambda a, b: a >= b,
            "!=": lambda a, b: a != b,
        }
        comparison = combined(f"({one.text} {sign} {bound.text})", BOOL, (one, bound), functions[sign], exact=True)
        if self.random.random() < 0.25:
            other = self.condition(axes)
            word = self.random.choice(("and", "or"))
            function = torch.logical_and if word == "and" else torch.logical_or
            return combined(f"({comparison.text} {word} {other.text})", BOOL, (comparison, other), function, exact=True)
        return comparison

    def choice(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        condition = self.condition(axes)
        one = self.expression(axes, depth, kind)
        if kind is REAL and self.random.random() < 0.4:
            operand = self.leaf(axes, kind)
            condition = combined(f"({operand.text} > 0)", BOOL, (operand,), lambda a: a > 0, exact=True)
            name = self.random.choice(("log", "sqrt", "rsqrt", "reciprocal"))
            one = nodes.singular(f"opdsl.{name}({operand.text})", getattr(torch, name), operand)
        other = self.expression(axes, depth, kind) if self.random.random() < 0.6 else self.constant(kind)
        if one.text == other.text:  # equal branches are one value, which does not vary along the condition's dims
            other = self.constant(kind)
        return nodes.chosen(condition, one, other)

    def where(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        condition = self.condition(axes)
        one, other = self.expression(axes, depth, kind), self.expression(axes, depth - 1, kind)
        text = f"opdsl.where({condition.text}, {one.text}, {other.text})"
        return combined(text, kind, (condition, one, other), torch.where)

    def fold(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        free = [axis for axis in DIMS if axis not in axes]
        if not free:
            return self.unary(axes, depth, kind)
        folded = self.random.sample(free, 2 if len(free) > 1 and self.random.random() < 0.2 else 1)
        operand = self.expression(axes.union(folded), depth, kind)
        for axis in folded:
            if axis not in operand.axes:
                operand = self.varying(operand, axis)
        name = self.random.choice(FOLDS[kind])
        if name == "prod" and len(folded) > 1:
            name = "sum"
        return nodes.fold(name, kind, operand, folded)

    def varying(self, operand: Node, axis: str) -> Node:
        """Return an expression of an operand and the index along a dim, which varies along that dim."""
        one = nodes.position(axis)
        if operand.kind is INTEGER:
            return combined(f"({operand.text} + {axis})", INTEGER, (operand, one), lambda a, b: a + b)
        other = self.random.choice((2, 3))
        text = f"opdsl.where(({axis} % {other}) == 0, {operand.text}, 0.5 * {operand.text})"
        return combined(text, operand.kind, (one, operand), lambda p, a: torch.where(p % other == 0, a, 0.5 * a))

    def along(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        if not axes:
            return self.unary(axes, depth, kind)
        axis = self.random.choice(sorted(axes))
        operand = self.expression(axes, depth, kind)
        operand = operand if axis in operand.axes else self.varying(operand, axis)
        return nodes.along(self.random.choice(ALONG[kind]), operand, axis)

    def scan(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        last = self.random.random() < 0.3
        free = [axis for axis in DIMS if (axis not in axes) == last]
        if not free:
            return self.binary(axes, depth, kind)
        axis, step = self.random.choice(free), self.random.choice(STEPS[kind])
        count = step.split(":")[0].count(",")
        values = [self.expression(axes | {axis}, depth - index, kind) for index in range(count)]
        values[0] = values[0] if axis in values[0].axes else self.varying(values[0], axis)
        values[1:] = [value if axis in value.axes else self.varying(value, axis) for value in values[1:]]
        zero = {REAL: 0.0, COMPLEX: 0.0, INTEGER: 0}[kind]
        starts = [nodes.number(zero) for _ in range(2 if "lambda c" in step else 1)]
        if self.random.random() < 0.3:
            starts[0] = self.expression(axes - {axis}, 0, kind)
        return nodes.scan(step, starts, values, axis, last, not last and self.random.random() < 0.3)

    def elsewhere(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        axis = self.random.choice(DIMS)
        size = self.sizes[axis]
        operand = self.expression(axes | {axis}, depth, kind)
        operand = operand if axis in operand.axes else self.varying(operand, axis)
        where = self.whole(axes) if size else nodes.number(0)
        if size and (where.text in DIMS or self.random.random() < 0.9):
            where = combined(f"{where.text} % {size}", INTEGER, (where,), lambda a: a % size)
        return nodes.elsewhere(operand, axis, where, self.batched)

    def cast(self, axes: frozenset[str], depth: int, kind: str) -> Node:
        if kind is COMPLEX:
            return self.binary(axes, depth, kind)
        names = ("float32", "float64") if kind is REAL else ("int64", "int32", "int16", "uint8")
        name = self.random.choice(names)
        operand = self.expression(axes, depth, kind)
        return combined(f"({operand.text}).to(opdsl.{name})", kind, (operand,), lambda a: a.to(getattr(torch, name)))

    # -------------------------------------------------------------------------------------------------------- the text

    def formula(self) -> Formula:
        """Return a complete random formula."""
        outer = frozenset(self.random.sample(DIMS, self.rank))
        used: list[Node] = []
        for index in range(self.random.choice((0, 1, 1, 2))):
            node = self.expression(outer, 2)
            self.locals.append(nodes.local(f"v{index}", node))
            self.lines.append(f"v{index} = {node.text}")
            used.append(node)
        texts, results = [], []
        for _ in range(self.random.choice((1, 1, 2))):
            node = self.expression(outer, 3)
            used.append(node)
            text, result = self.ordered(node)
            texts.append(text)
            results.append(result)
        if not self.batched and self.random.random() < 0.2:
            node, text, result = self.scattered(self.expression(outer, 2))
            used.append(node)
            texts.append(text)
            results.append(result)
        return self._whole(used, texts, results)

    def _whole(self, used: list[Node], texts: list[str], results: list[Any]) -> Formula:
        binds = frozenset[tuple[str, int, str]]().union(*(node.binds for node in used))
        names = sorted({axis for _, _, axis in binds})
        body, lines = " ".join([*self.lines, *(text if isinstance(text, str) else "" for text in texts)]), []
        for axis in names:
            told = {self.tensors[name].shape[dim] for name, dim, own in binds if own == axis and name}
            size = max(told, key=lambda n: (n != 1, n)) if told else self.sizes[axis]
            self.sizes[axis] = size
            known = told and (1 not in told or len(told) == 1) and _tells(body, axis)
            lines.append(f"{axis} = opdsl.dim({'' if known else size})")
        types = "tuple[" + ", ".join(["Tensor"] * len(results)) + "]" if len(results) > 1 else "Tensor"
        arguments = [f"{name}: Tensor" for name in self.tensors]
        arguments += [f"{name}: {type(value).__name__}" for name, value in self.numbers.items()]
        lines += [
            *self.lines,
            f"return {', '.join(text if isinstance(text, str) else text(self.sizes) for text in texts)}",
        ]
        text = f"def f({', '.join(arguments)}) -> {types}:\n" + "".join(f"    {line}\n" for line in lines)
        return Formula(text, self.tensors, self.numbers, self.sizes, results, self.locals, self.seed)

    def ordered(self, node: Node) -> tuple[str, Any]:
        """Return the text of a result with its dims in random order, and the function that computes it in PyTorch."""
        order = [axis for axis in DIMS if axis in node.axes]
        self.random.shuffle(order)
        has_batch = "..." in node.axes

        def result(scope: Scope) -> torch.Tensor:
            value = nodes.lifted(node.value(scope))
            for axis in order:
                value = nodes.spread(value, axis, scope)
            wanted = [0, *(AXES.index(axis) for axis in order)]
            rest = [dim for dim in range(RANK) if dim not in wanted]
            value = value.permute(*wanted, *rest).reshape([value.shape[dim] for dim in wanted])
            return value if has_batch else value[0]

        listed = [*(["..."] if has_batch else []), *order]
        return f"{nodes.called(node)}.order({', '.join(listed)})" if order else node.text, result

    def scattered(self, node: Node) -> tuple[Node, Any, Any]:
        """Return the node that a random scatter at ``ids`` adds up, a function for its text, and one that
        computes it.
        """
        own = self.declared["ids"][1][0]
        node = node if own in node.axes else self.varying(node, own)
        ids = nodes.read("ids", INTEGER, (own,), False, False)
        kept = [axis for axis in DIMS if axis in node.axes and axis != own]
        if kept and self.random.random() < 0.3:
            kept.pop()
        name, dtype = str(self.dtype).removeprefix("torch."), self.dtype
        node = combined(f"({node.text}).to(opdsl.{name})", node.kind, (node,), lambda a: _as(a, dtype))
        # PyTorch's gradients of amax and amin are NaN where the base alone has the extremum.
        is_sum = self.kind is COMPLEX or dtype is torch.float64
        reduce = self.random.choice(("sum",) if is_sum else ("sum", "sum", "amax", "amin"))
        node = replace(node, binds=node.binds | ids.binds)
        return (node, *nodes.scatter(node, ids, own, kept, 5, self.dtype, reduce))


def _as(value: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Convert a value to a dtype; while float64 is PyTorch's default dtype, floating-point values keep their dtype."""
    return value if torch.get_default_dtype() is torch.float64 and dtype.is_floating_point else value.to(dtype)


def _tells(text: str, axis: str) -> bool:
    """Return whether a dim first occurs in a text as an index of a tensor, which determines the dim's size."""
    first = re.search(rf"\b{axis}\b", text)
    before = "" if first is None else text[: first.start()]
    return re.search(r"(?<![.\w])(?:[xyz]|ids)\[(\.\.\., )?([ijkt], )*$", before) is not None


def drawn(shape: list[int], dtype: torch.dtype, generator: torch.Generator) -> torch.Tensor:
    """Return a tensor of small random elements."""
    if dtype.is_complex or dtype.is_floating_point:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return torch.randn(shape, generator=generator, dtype=wide).to(dtype)
    return torch.randint(-9, 10, shape, generator=generator).to(dtype)
