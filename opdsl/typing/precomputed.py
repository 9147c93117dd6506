"""What declarations say of their out-kernels: ``precomputed`` values in place of arguments, and beside them.

Like what ``calls`` reads, this stands in decorators, which mypy's cache does not keep: symbols of the module say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mypy.nodes import Decorator, DictExpr, Expression, ListExpr, Statement, StrExpr, TupleExpr

from opdsl.errors import SchemaError
from opdsl.schema import parse_argument
from opdsl.typing.syntax import is_declaring, options_of

_PREFIX = "_opdsl_precomputed"

Precomputed = tuple[tuple[str, ...], ...]
"""Of each line the argument that is replaced, "" for what is added; then the names of what out-kernels get."""


def precomputed_in(block: Iterable[Statement]) -> Iterator[tuple[str, Precomputed]]:
    """The operators that a block declares, by the names of their functions, each with what it precomputes."""
    for statement in block:
        if isinstance(statement, Decorator):
            for decorator in filter(is_declaring, statement.original_decorators):
                yield statement.func.name, tuple(_lines(_written(decorator)))


def symbols_in(block: Iterable[Statement]) -> Iterator[str]:
    """The names of the symbols that say it."""
    for name, lines in precomputed_in(block):
        if lines:
            yield f"{_PREFIX} {name} {' '.join(','.join(line) for line in lines)}"


def precomputed_of(name: str, symbols: Iterable[str]) -> Precomputed:
    """What an operator of another module precomputes.

    Args:
        name: of its function.
        symbols: of its module.
    """
    for symbol in symbols:
        if symbol.startswith(f"{_PREFIX} {name} "):
            return tuple(tuple(line.split(",")) for line in symbol.split()[2:])
    return ()


def out_kernel_names(arguments: Iterable[str], precomputed: Precomputed) -> Iterator[str]:
    """What out-kernels have for parameters before their outputs."""
    replaced = {line[0]: line[1:] for line in precomputed if line[0]}
    for name in arguments:
        yield from replaced.get(name, (name,))
    for line in precomputed:
        if not line[0]:
            yield from line[1:]


def _written(decorator: Expression) -> Expression | None:
    """The value of ``precomputed=``, of the declaration itself or of its ``out=Out(...)``."""
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
    """The names of arguments in schema text; those that cannot be read are a fault of the declaration."""
    for part in declared.split(","):
        try:
            yield parse_argument(part.strip()).python_name
        except SchemaError:
            continue


__all__ = ["Precomputed", "out_kernel_names", "precomputed_in", "precomputed_of", "symbols_in"]
