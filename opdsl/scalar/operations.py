"""Table of the operations of scalar graphs, one record each.

All other properties of an operation (how it is evaluated, simplified, lowered, printed, differentiated) are in tables
keyed by the operation's name, next to the code that uses them.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from opdsl.scalar.formats import NARROW

__all__ = ["LIBM", "OF_ROWS", "OPERATIONS", "ROW_FOLDS", "ROW_VALUES", "Operation"]


class Operation(NamedTuple):
    """Operation of scalar graphs.

    name: the key in all tables.
    arity: the number of arguments.
    rule: how the result is typed (see ``specialise``).
    symbol: how it is shown: an infix operator, or a function's name.
    """

    name: str
    arity: int
    rule: str
    symbol: str


def _table(*rows: tuple[str, int, str, str]) -> dict[str, Operation]:
    return {row[0]: Operation(*row) for row in rows}


OPERATIONS: Final[dict[str, Operation]] = _table(
    # arithmetic: promoted operands, result of the same type
    ("add", 2, "arithmetic", "+"),
    ("subtract", 2, "arithmetic", "-"),
    ("multiply", 2, "arithmetic", "*"),
    ("floor_divide", 2, "arithmetic", "//"),
    ("remainder", 2, "arithmetic", "%"),
    ("fmod", 2, "arithmetic", "fmod"),
    ("maximum", 2, "extremum", "max"),
    ("minimum", 2, "extremum", "min"),
    ("fma", 3, "arithmetic", "fma"),
    ("negative", 1, "arithmetic", "-"),
    ("absolute", 1, "absolute", "abs"),
    ("conjugate", 1, "conjugate", "conjugate"),
    ("divide", 2, "floating", "/"),
    ("trunc_divide", 2, "trunc_divide", "trunc_divide"),
    ("power", 2, "power", "**"),
    # comparison: promoted operands, bool
    ("equal", 2, "comparison", "=="),
    ("not_equal", 2, "comparison", "!="),
    ("less", 2, "comparison", "<"),
    ("less_equal", 2, "comparison", "<="),
    ("greater", 2, "comparison", ">"),
    ("greater_equal", 2, "comparison", ">="),
    # bits
    ("bitwise_and", 2, "bitwise", "&"),
    ("bitwise_or", 2, "bitwise", "|"),
    ("bitwise_xor", 2, "bitwise", "^"),
    ("invert", 1, "bitwise", "~"),
    ("shift_left", 2, "shift", "<<"),
    ("shift_right", 2, "shift", ">>"),
    # selection and truth
    ("select", 3, "select", "select"),
    ("truth", 1, "truth", "truth"),
    ("logical_and", 2, "logical", "and"),
    ("logical_or", 2, "logical", "or"),
    ("logical_not", 1, "logical_not", "not"),
    ("isnan", 1, "predicate", "isnan"),
    ("isinf", 1, "predicate", "isinf"),
    ("isfinite", 1, "predicate", "isfinite"),
    # complex numbers: their parts, and construction from parts
    ("real", 1, "part", "real"),
    ("imag", 1, "part", "imag"),
    ("complex", 2, "complex", "complex"),
    # conversion
    ("to_bool", 1, "truth", "bool"),
    ("to_integer", 1, "to_integer", "int"),
    ("to_floating", 1, "to_floating", "float"),
    ("to_double", 1, "to_double", "double"),
    ("convert", 1, "convert", "convert"),
    # rounding: keeps the type, as PyTorch does
    ("floor", 1, "rounding", "floor"),
    ("ceil", 1, "rounding", "ceil"),
    ("trunc", 1, "rounding", "trunc"),
    ("round", 1, "rounding", "round"),
    # mathematics: operands become floating point
    *((operation, 1, "floating", operation) for operation in (
        "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan",
        "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "gamma", "lgamma", "cbrt",
    )),
    *((operation, 2, "floating", operation) for operation in ("atan2", "hypot", "copysign", "ieee_remainder")),
    # operations that depend on the dtype that operands are stored in; those named after a 16-bit dtype compute in
    # float32
    ("rounded", 1, "rounded", "rounded"),
    ("largest", 1, "largest", "largest"),
    ("nextafter", 2, "neighbour", "nextafter"),
    *((f"round_{name}", 1, "lowered", f"round_{name}") for name in NARROW),
    *((f"nextafter_{name}", 2, "lowered", f"nextafter_{name}") for name in ("float16", "bfloat16")),
    # over all elements of a row, in row definitions only (see ``rows``)
    ("row_sum", 1, "row", "row_sum"),
    ("row_mean", 1, "row_mean", "row_mean"),
    ("row_max", 1, "row", "row_max"),
    ("row_min", 1, "row", "row_min"),
    ("row_count", 1, "row_count", "row_count"),
    ("row_index", 1, "row_index", "row_index"),
    # only in lowered graphs: shift amounts and divisors are in range, `quotient` truncates integers, `rare` is a select
    # (condition, slow, fast) whose condition seldom holds
    ("rare", 3, "lowered", "rare"),
    ("bits", 1, "lowered", "bits"),
    ("from_bits", 1, "lowered", "from_bits"),
    ("bits_left", 2, "lowered", "bits_left"),
    ("bits_right", 2, "lowered", "bits_right"),
    ("bits_right_logical", 2, "lowered", "bits_right_logical"),
    ("quotient", 2, "lowered", "quotient"),
    # instructions of graphics processors, in graphs that are lowered for results of 16 bits
    ("approximate_exp2", 1, "lowered", "approximate_exp2"),
    ("approximate_divide", 2, "lowered", "approximate_divide"),
)  # fmt: skip

# Operations whose derivative cannot be expressed by scalar operations.
WITHOUT_DERIVATIVE: Final[frozenset[str]] = frozenset({"gamma", "lgamma", "loop"})

# Folds over a row.
ROW_FOLDS: Final[frozenset[str]] = frozenset({"row_sum", "row_mean", "row_max", "row_min"})

# Operations with one result for a whole row.
ROW_VALUES: Final[frozenset[str]] = ROW_FOLDS | {"row_count"}

# Operations that occur only in row functions.
OF_ROWS: Final[frozenset[str]] = ROW_VALUES | {"row_index"}

# The name of each operation in the C math library; the name of the float32 function ends in "f".
LIBM: Final[dict[str, str]] = {
    operation: operation
    for operation in (
        "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh",
        "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "lgamma", "cbrt", "atan2", "hypot", "nextafter",
    )
} | {"gamma": "tgamma", "power": "pow", "ieee_remainder": "remainder"}  # fmt: skip
