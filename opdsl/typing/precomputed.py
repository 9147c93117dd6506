"""Precomputed values of declarations, which out-kernels receive in place of arguments or in addition to them.

As in ``calls``, this information is in decorators, which mypy's cache does not keep: it is encoded in symbol names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mypy.nodes import Decorator, DictExpr, Expression, ListExpr, Statement, StrExpr, TupleExpr

from opdsl.errors import SchemaError
from opdsl.schema import parse_argument
from opdsl.typing.syntax import is_declaring, options_of

_PREFIX = "_opdsl_precomputed"

Precomputed = tuple[tuple[str, ...], ...]
"""Lines of ``precomputed``: each has the replaced argument, or "" for an additional value, and the names that
out-kernels receive.
"""


def precomputed_in(block: Iterable[Statement]) -> Iterator[tuple[str, Precomputed]]:
    """Yield the names of functions that declare operators in a block, each with its precomputed values."""
    for statement in block:
        if isinstance(statement, Decorator):
            for decorator in filter(is_declaring, statement.original_decorators):
                yield statement.func.name, tuple(_lines(_written(decorator)))


def symbols_in(block: Iterable[Statement]) -> Iterator[str]:
    """Yield the names of symbols that encode the precomputed values of a block."""
    for name, lines in precomputed_in(block):
        if lines:
            yield f"{_PREFIX} {name} {' '.join(','.join(line) for line in lines)}"


def precomputed_of(name: str, symbols: Iterable[str]) -> Precomputed:
    """Return the precomputed values of an operator of another module.

    Args:
        name: of its function.
        symbols: the names of its module's symbols.
    """
    for symbol in symbols:
        if symbol.startswith(f"{_PREFIX} {name} "):
            return tuple(tuple(line.split(",")) for line in symbol.split()[2:])
    return ()


def out_kernel_names(arguments: Iterable[str], precomputed: Precomputed) -> Iterator[str]:
    """Yield the names of an out-kernel's parameters before its outputs."""
    replaced = {line[0]: line[1:] for line in precomputed if line[0]}
    for name in arguments:
        yield from replaced.get(name, (name,))
    for line in precomputed:
        if not line[0]:
            yield from line[1:]


def _written(decorator: Expression) -> Expression | None:
    """Return the value of ``precomputed=`` in the declaration, or in its ``out=Out(...)``."""
    options = options_of(decorator)
    return options.get("precomputed") or options_of(options.get("out", decorator)).get("precomputed")


def _lines(written: Expression | None) -> Iterator[tuple[str, ...]]:
    if isinstance(written, DictExpr):
        for key, value in written.items:
            names = value.items if isinstance(value, DictExpr) else []
            replaced = key.value if isinstance(key, StrExpr) else ""
            yield (replaced, *(name.value for name, _ in names if isinstance(name, StrExpr)))
        return
    items = written.items if isinstance(written, (TupleExpr, ListExpr)) else [written]
    for item in items:
        if isinstance(item, StrExpr):
            replaced, arrow, declared = item.value.rpartition("->")
            yield (replaced.strip() if arrow else "", *_names(declared))


def _names(declared: str) -> Iterator[str]:
    """Yield the names of arguments in schema text; unreadable ones are left to the checks of the declaration."""
    for part in declared.split(","):
        try:
            yield parse_argument(part.strip()).python_name
        except SchemaError:
            continue


__all__ = ["Precomputed", "out_kernel_names", "precomputed_in", "precomputed_of", "symbols_in"]
