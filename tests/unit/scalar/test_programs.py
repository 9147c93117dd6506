"""Tests of random scalar programs: the graph, its lowering and the compiled code agree with NumPy running the same
text.
"""

import itertools
import linecache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.scalar import evaluate, lower, read
from tests.unit.scalar.harness import Compiled

LEAVES = st.sampled_from(["x", "y", "2.0", "0.5", "-1.25", "1e3"])
COUNTER = itertools.count()


def infix(parts):
    return f"({parts[0]} {parts[1]} {parts[2]})"


def call(parts):
    return f"{parts[0]}({', '.join(parts[1:])})"


def choice(parts):
    return "({} if {} {} {} else {})".format(*parts)


def grow(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(infix),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(call),
        st.tuples(st.sampled_from(["abs", "-"]), inner).map(call),
        st.tuples(inner, inner, st.sampled_from(["<", "<=", "==", "!=", ">", ">="]), inner, inner).map(choice),
    )


EXPRESSIONS = st.recursive(LEAVES, grow, max_leaves=12)
PAIRS = list(itertools.product([0.0, -0.0, 1.5, -2.0, np.inf, np.nan, 1e-3], repeat=2))
X, Y = np.array(PAIRS).T.copy()


def function_of(text):
    """Return the function of a text that ``linecache`` knows, as of a notebook's cell."""
    name = f"<program {next(COUNTER)}>"
    source = f"def program(x, y):\n    return {text}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, object] = {}
    exec(compile(source, name, "exec"), names)
    return names["program"]


def larger(a, b):
    return np.float64(a) if a != a or a > b else np.float64(b)


def smaller(a, b):
    return np.float64(a) if a != a or a < b else np.float64(b)


def run_numpy(text, x, y):
    names = {"min": smaller, "max": larger}
    code = compile(text, "expected", "eval")
    with np.errstate(all="ignore"):
        try:
            return [float(eval(code, names, {"x": a, "y": b})) for a, b in zip(x, y, strict=True)]
        except ZeroDivisionError:  # a division of literals
            return None


@settings(max_examples=60)
@given(text=EXPRESSIONS)
def test_programs(text):
    expected = run_numpy(text, X, Y)
    if expected is None:
        return
    graph = read(function_of(text)).specialise({"x": "float64", "y": "float64"}, results=["float64"])
    values = {"x": X, "y": Y}
    (actual,) = evaluate(graph, values)
    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(evaluate(lower(graph), values)[0], actual)
    compiled = Compiled(graph)(X, Y)
    np.testing.assert_array_equal(compiled, actual)
    number = ~np.isnan(actual)
    np.testing.assert_array_equal(np.signbit(compiled)[number], np.signbit(actual)[number])
