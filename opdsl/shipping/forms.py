"""Forms of calls as text: ``float32[n, d], beta=2.0``.

A form names the dtype and the sizes of each tensor, and gives other arguments as literals. A letter is any size, the
same one wherever it occurs; ``.order(1, 0)`` says which dimensions are outer in memory. Only the type of a number
matters.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from opdsl.errors import OptionError
from opdsl.runtime.dtype import ALL_DTYPES, DType

__all__ = ["MOST_DIMENSIONS", "Form", "TensorForm", "parse_form", "patterns"]

MOST_DIMENSIONS = 64
"""The most dimensions of a tensor, NumPy's limit."""

Size: TypeAlias = "str | int"

_DTYPES: Mapping[str, DType] = {dtype.name: dtype for dtype in ALL_DTYPES}

# The most sizes for which each combination of 0, 1 and larger ones is compiled.
_MOST_COMBINED = 3


@attrs.frozen
class TensorForm:
    """Layout of a tensor argument.

    dtype: of its elements.
    sizes: numbers, and names of sizes.
    order: the dimensions from the outermost to the innermost in memory; None for row-major order.
    """

    dtype: DType
    sizes: tuple[Size, ...]
    order: tuple[int, ...] | None = None

    def __str__(self) -> str:
        suffix = "" if self.order is None else f".order({', '.join(map(str, self.order))})"
        return f"{self.dtype.name}[{', '.join(map(str, self.sizes)) or '()'}]{suffix}"


@attrs.frozen
class Form:
    """Form of a call.

    positional, named: its arguments: a ``TensorForm``, a list of them, or a value.
    """

    positional: tuple[Any, ...]
    named: Mapping[str, Any]

    def __str__(self) -> str:
        parts = [*map(_text, self.positional), *(f"{name}={_text(value)}" for name, value in self.named.items())]
        return ", ".join(parts)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of sizes, in the order in which they occur."""
        tensors = tensors_in((*self.positional, *self.named.values()))
        return tuple(dict.fromkeys(size for tensor in tensors for size in tensor.sizes if isinstance(size, str)))


def tensors_in(values: Sequence[Any]) -> Iterator[TensorForm]:
    """Yield the tensors among arguments, and among those in lists."""
    for value in values:
        if isinstance(value, TensorForm):
            yield value
        elif isinstance(value, list):
            yield from tensors_in(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return value.name if isinstance(value, DType) else str(value) if isinstance(value, TensorForm) else repr(value)


def parse_form(text: str, where: str) -> Form:
    """Return the form that a text describes.

    Args:
        text: the arguments of a call.
        where: its place in the project, for errors.

    Raises:
        OptionError: the text is no form.

    >>> print(parse_form("float32[n, d], float32[d], dim=-1", "forms"))
    float32[n, d], float32[d], dim=-1
    """
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        # A text such as "x) + g(y" is one, too, as Python reads it.
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise SyntaxError
    except (SyntaxError, RecursionError, MemoryError):
        raise _refused(text, where, "it is no list of arguments") from None
    try:
        return Form(tuple(map(_value, call.args)), {_keyword(word): _value(word.value) for word in call.keywords})
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused(text, where, str(error)) from None


def _refused(text: str, where: str, reason: str) -> OptionError:
    return OptionError(f"{where}: {text!r} is no form of a call: {reason}. Write it like 'float32[n, d], dim=-1'.")


def _keyword(word: ast.keyword) -> str:
    if word.arg is None:
        raise ValueError("`**` is no argument")
    return word.arg


def _value(node: ast.expr) -> Any:
    """Return an argument of a form.

    Raises:
        ValueError: it is none.
    """
    if isinstance(node, ast.List):
        return [_value(element) for element in node.elts]
    if isinstance(node, ast.Subscript):
        return TensorForm(_dtype(node.value), _sizes(node.slice))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "order":
        form = _value(node.func.value)
        order = tuple(ast.literal_eval(argument) for argument in node.args)
        if not isinstance(form, TensorForm) or sorted(order) != list(range(len(form.sizes))):
            raise ValueError(f"{ast.unparse(node)} has to order the dimensions of a tensor")
        return attrs.evolve(form, order=None if order == tuple(sorted(order)) else order)
    if isinstance(node, ast.Name):
        return _dtype(node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise ValueError(f"{ast.unparse(node)} is neither a tensor nor a literal") from None


def _dtype(node: ast.expr) -> DType:
    type_name = ast.unparse(node)
    if type_name not in _DTYPES:
        raise ValueError(f"there is no dtype {type_name}")
    return _DTYPES[type_name]


def _sizes(node: ast.expr) -> tuple[Size, ...]:
    sizes: list[Size] = []
    if isinstance(node, ast.Tuple) and len(node.elts) > MOST_DIMENSIONS:
        raise ValueError(f"a tensor has at most {MOST_DIMENSIONS} dimensions, not {len(node.elts)}")
    for element in node.elts if isinstance(node, ast.Tuple) else [node]:
        if isinstance(element, ast.Name):
            sizes.append(element.id)
        elif isinstance(element, ast.Constant) and type(element.value) is int and element.value >= 0:
            sizes.append(element.value)
        else:
            raise ValueError(f"{ast.unparse(element)} is no size")
    return tuple(sizes)


def patterns(names: Sequence[str]) -> Iterator[Mapping[str, int | None]]:
    """Yield which of the named sizes are 0 or 1 in the calls of a form; None for larger ones.

    The first one has no such sizes. Many names are not combined: one size is 0 or 1 at a time.

    >>> [dict(pattern) for pattern in patterns(["n"])]
    [{'n': None}, {'n': 1}, {'n': 0}]
    """
    if len(names) > _MOST_COMBINED:
        yield dict.fromkeys(names)
        for name, size in itertools.product(names, (1, 0)):
            yield {**dict.fromkeys(names), name: size}
        return
    for sizes in itertools.product((None, 1, 0), repeat=len(names)):
        yield dict(zip(names, sizes, strict=True))
