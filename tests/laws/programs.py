"""Generator of random programs, as text that both PyTorch and opdsl run."""

from __future__ import annotations

import random
from typing import NamedTuple

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
NUMBERS = ("0", "1", "-1", "2", "3", "True", "False", "0.5", "-2.5", "float('nan')", "float('inf')", "300")
LARGE_NUMBERS = ("2**31", "2**40", "1e39", "2**63", "-2**63", "numpy.float32(1.5)", "numpy.int64(3)")
UNARY = ("neg", "reciprocal", "exp", "log", "tanh", "sigmoid", "relu")
ARITHMETIC = ("add", "sub", "mul", "div")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
SYMBOLS = ("+", "-", "*", "/", "==", "!=", "<", "<=", ">", ">=", "@")
AUGMENTED = ("iadd", "isub", "imul", "itruediv")
REDUCTIONS = ("sum", "mean", "amax")


class Step(NamedTuple):
    """Assignment in a program: ``target = expression``."""

    target: str
    expression: str

    def __str__(self) -> str:
        return f"{self.target} = {self.expression}"


class Generator:
    """Random generator of the steps of one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def steps(self, length: int) -> list[Step]:
        """Return steps that create a few tensors and views of them, followed by random calls."""
        world_names: list[str] = []
        steps: list[Step] = []
        dtypes = [*self.random.choices(DTYPES, k=2), "float32"]
        shape = [self.random.choice((0, 1, 2, 2, 3, 3, 4)) for _ in range(self.random.randint(0, 4))]
        for _ in range(3):
            own = [size if self.random.random() < 0.8 else 1 for size in shape]
            own = own[self.random.choice((0, 0, 0, 1)) :]
            expression = f"values({self.random.choice(dtypes)!r}, {tuple(own)!r}, {self.random.randint(0, 99)})"
            steps.append(self._name(expression, world_names))
        steps.append(self._name(f"values({self.random.choice(dtypes)!r}, (12,), 7)", world_names))
        steps.append(self._name(f"strided({world_names[-1]}, {self._window()})", world_names))
        while len(steps) < length:
            make = self.random.choice(_KINDS)
            steps.append(self._name(make(self, world_names), world_names))
        return steps

    def _name(self, expression: str, names: list[str]) -> Step:
        self.count += 1
        names.append(f"t{self.count}")
        return Step(names[-1], expression)

    def _window(self) -> str:
        sizes = tuple(self.random.choice((1, 2, 3)) for _ in range(self.random.randint(1, 2)))
        strides = tuple(self.random.choice((0, 1, 2, 3)) for _ in sizes)
        return f"{sizes}, {strides}, {self.random.randint(0, 2)}"

    def tensor(self, names: list[str]) -> str:
        return self.random.choice(names[-8:] if self.random.random() < 0.5 else names)

    def number(self) -> str:
        return self.random.choice((*NUMBERS, *LARGE_NUMBERS))

    def either(self, names: list[str]) -> str:
        return self.tensor(names) if self.random.random() < 0.6 else self.number()

    def dtype(self) -> str:
        return f"lib.{self.random.choice(DTYPES)}"

    def dim(self) -> int:
        return self.random.choice((-3, -2, -1, -1, 0, 0, 1, 1, 2, 5))

    def out(self, names: list[str]) -> str:
        """Return the text of a random ``out=`` argument: none, a tensor of the pool, or an empty tensor."""
        chosen = self.random.random()
        if chosen < 0.55:
            return ""
        if chosen < 0.85:
            return f", out={self.tensor(names)}"
        return f", out=lib.zeros({self.random.choice(('(0,)', '(2, 0)', '()'))}, dtype={self.dtype()})"


def _unary(make: Generator, names: list[str]) -> str:
    name, x = make.random.choice(UNARY), make.tensor(names)
    out = "" if name == "relu" else make.out(names)  # Python cannot call relu.out
    forms = (f"lib.{name}({x}{out})", f"{x}.{name}()", f"{x}.{name}_()")
    return make.random.choice(forms)


def _binary(make: Generator, names: list[str]) -> str:
    name = make.random.choice((*ARITHMETIC, *COMPARISONS, "maximum"))
    x, y = make.tensor(names), make.either(names)
    more = ""
    if name in ("add", "sub") and make.random.random() < 0.4:
        more = f", alpha={make.random.choice(('2', '-1', '0.5', 'True', '0'))}"
    if name == "div" and make.random.random() < 0.4:
        more = f", rounding_mode={make.random.choice((None, 'floor', 'trunc', 'other'))!r}"
    forms = [f"lib.{name}({x}, {y}{more}{make.out(names)})", f"{x}.{name}({y}{more})"]
    if name != "maximum":
        forms.append(f"{x}.{name}_({y}{more})")
    return make.random.choice(forms)


def _symbol(make: Generator, names: list[str]) -> str:
    pair = [make.tensor(names), make.either(names)]
    make.random.shuffle(pair)
    if make.random.random() < 0.3:
        return f"operator.{make.random.choice(AUGMENTED)}({make.tensor(names)}, {make.either(names)})"
    return f"{pair[0]} {make.random.choice(SYMBOLS)} {pair[1]}"


def _where(make: Generator, names: list[str]) -> str:
    condition = f"({make.tensor(names)} > {make.random.choice(('0', '1'))})"
    if make.random.random() < 0.2:
        condition = make.tensor(names)
    return f"lib.where({condition}, {make.either(names)}, {make.either(names)}{make.out(names)})"


def _reduction(make: Generator, names: list[str]) -> str:
    name, x = make.random.choice(REDUCTIONS), make.tensor(names)
    dims = make.random.choice((f"{make.dim()}", f"({make.dim()}, {make.dim()})", "()", "None", "[0]"))
    keep = make.random.choice(("", ", True", ", keepdim=True"))
    dtype = f", dtype={make.dtype()}" if name != "amax" and make.random.random() < 0.3 else ""
    if make.random.random() < 0.25:
        return f"lib.{name}({x}{dtype})"
    return f"lib.{name}({x}, {dims}{keep}{dtype}{make.out(names)})"


def _product(make: Generator, names: list[str]) -> str:
    name = make.random.choice(("mm", "bmm", "matmul"))
    x, y = make.tensor(names), make.tensor(names)
    y = make.random.choice((y, f"{x}.t()", f"{x}.transpose(-1, -2)"))
    return f"lib.{name}({x}, {y}{make.out(names)})"


def _cat(make: Generator, names: list[str]) -> str:
    parts = [make.tensor(names) for _ in range(make.random.randint(0, 3))]
    if make.random.random() < 0.5:
        parts = parts[:1] * 2
    return f"lib.cat([{', '.join(parts)}], {make.dim()}{make.out(names)})"


def _view(make: Generator, names: list[str]) -> str:
    x, dim, other = make.tensor(names), make.dim(), make.dim()
    bound = make.random.choice((-2, -1, 0, 1, 2, 9))
    sizes = make.random.choice(("-1", "(-1,)", "2, -1", "(1, -1)", "(3, 4)", "(2, 6)", "()", "(0, -1)"))
    forms = (
        f"{x}.t()",
        f"{x}.t_()",
        f"{x}.transpose({dim}, {other})",
        f"{x}.transpose_({dim}, {other})",
        f"{x}.permute({make.random.choice(('1, 0', '(0, 1)', '-1, 0', '0', '(2, 0, 1)', '(2, 1, 0, 3)'))})",
        f"{x}.view({sizes})",
        f"{x}.view({make.dtype()})",
        f"{x}.reshape({sizes})",
        f"{x}.narrow({dim}, {bound}, {make.random.choice((-1, 0, 1, 2))})",
        f"{x}.select({dim}, {bound})",
        f"{x}.expand({make.random.choice(('-1', '2, -1', '(3, -1, -1)', '2', '-1, 3', '(2, 3)', '(0,)'))})",
        f"{x}.unsqueeze({dim})",
        f"{x}.squeeze()",
        f"{x}.squeeze({dim})",
        f"{x}.squeeze(({dim}, {other}))",
        f"{x}.unbind({dim})",
    )
    return make.random.choice(forms)


_PARTS = ("0", "-1", "1", "5", ":", "1:", "::2", ":-1", "-2:", "2:1", "None")
_RARE_PARTS = ("...", "lib", "0.5", "::-1", "::0", "None")


def _subscript(make: Generator, names: list[str]) -> str:
    parts = make.random.choices(_PARTS, k=make.random.randint(1, 3))
    if make.random.random() < 0.2:
        parts = [make.random.choice(_RARE_PARTS)]
    x = make.tensor(names)
    if make.random.random() < 0.5:
        return f"{x}[{', '.join(parts)}]"
    index = ", ".join(_as_value(part) for part in parts)
    return f"setitem({x}, ({index},), {_plain(make.either(names))})"


def _plain(value: str) -> str:
    """Return a number's text, or 2 for numbers that PyTorch cannot assign to a subscript: NumPy's, and ints beyond 64
    bits.
    """
    return "2" if value.startswith("numpy") or "2**63" in value else value


def _as_value(part: str) -> str:
    if ":" not in part:
        return part
    bounds = [bound or "None" for bound in part.split(":")]
    return f"slice({', '.join(bounds)})"


def _copy(make: Generator, names: list[str]) -> str:
    x = make.tensor(names)
    forms = (
        f"{x}.copy_({make.tensor(names)})",
        f"{x}.to({make.dtype()})",
        f"{x}.clone()",
        f"{x}.contiguous()",
        f"lib.nonzero({x})",
        f"lib.full({make.random.choice(('(2, 3)', '()', '(0,)'))}, {make.number()}, dtype={make.dtype()})",
        f"lib.full((2,), {make.number()})",
        f"lib.full((2, 3), {make.number()}, out={x})",
        f"lib.tensor([{make.number()}, {make.number()}])",
    )
    return make.random.choice(forms)


# How often each kind of step is made.
_WEIGHTS = {_unary: 1, _binary: 3, _symbol: 1, _where: 1, _reduction: 2, _product: 1, _cat: 1} | {
    _view: 3,
    _subscript: 2,
    _copy: 1,
}
_KINDS = tuple(kind for kind, weight in _WEIGHTS.items() for _ in range(weight))
