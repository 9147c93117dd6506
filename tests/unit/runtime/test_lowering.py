"""Tests of symbolic sizes during lowering: the expressions and guards that they record, and comparisons that hold for
all sizes.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdsl.runtime.lowering import Lowering, SymbolicArray, deferred, lowering
from opdsl.runtime.symbol import NotLoweredError, Symbol, computed, largest, least, smallest

SIZES = st.integers(2, 60)
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": largest,
    "min": smallest,
}
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)

LEAVES = st.sampled_from(["a", "b", "c"]) | st.integers(-3, 9)
TREES = st.recursive(LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(OPERATIONS)), inner, inner), max_leaves=7)


def value(tree: Any, names: dict[str, Any]) -> Any:
    if isinstance(tree, str):
        return names[tree]
    if isinstance(tree, int):
        return tree
    sign, first, second = tree
    return OPERATIONS[sign](value(first, names), value(second, names))


def symbols(examples: dict[str, int]) -> tuple[Lowering, dict[str, Symbol]]:
    recorder = Lowering()
    return recorder, {name: recorder.size(name, example) for name, example in examples.items()}


class Scope(dict[str, Any]):
    """Values of the names in a record's expressions; shared parts are computed on first use."""

    def __init__(self, recorder: Lowering, names: dict[str, int]) -> None:
        super().__init__({**recorder.constants, **names})
        self.parts = {name: text for text, name in recorder.parts.items()}

    def __missing__(self, name: str) -> Any:
        if name not in self.parts:
            raise KeyError(name)  # one of Python's own
        return eval(self.parts[name], {}, self)


def holds(recorder: Lowering, names: dict[str, int]) -> bool:
    """Return whether other sizes satisfy all guards, checked in the order of a plan."""
    scope = Scope(recorder, names)
    return all(eval(text, {}, scope) is outcome for text, outcome in recorder.guards.items())


@given(TREES, st.tuples(SIZES, SIZES, SIZES), st.tuples(SIZES, SIZES, SIZES))
def test_an_expression_gives_for_other_sizes_what_python_does(tree: Any, first: Any, second: Any) -> None:
    recorder, names = symbols(dict(zip("abc", first, strict=True)))
    try:
        output = value(tree, names)
    except ZeroDivisionError:
        return
    others = dict(zip("abc", second, strict=True))
    if not holds(recorder, others):
        return
    try:
        wanted = value(tree, others)
    except ZeroDivisionError:
        return  # the expression raises it, too
    result = eval(output.text, {}, Scope(recorder, others)) if isinstance(output, Symbol) else output
    assert result == wanted


@given(TREES, TREES, st.tuples(SIZES, SIZES, SIZES), st.tuples(SIZES, SIZES, SIZES), st.sampled_from(COMPARISONS))
def test_a_comparison_without_a_guard_is_the_same_for_all_sizes(
    left: Any, right: Any, first: Any, second: Any, compare: Callable[[Any, Any], bool]
) -> None:
    recorder, names = symbols(dict(zip("abc", first, strict=True)))
    others = dict(zip("abc", second, strict=True))
    try:
        answer = compare(value(left, names), value(right, names))
        wanted = compare(value(left, others), value(right, others))
        if holds(recorder, others):
            assert answer == wanted
    except ZeroDivisionError:
        return


@given(TREES, st.tuples(SIZES, SIZES, SIZES), st.tuples(SIZES, SIZES, SIZES))
def test_nothing_is_less_than_its_least_value(tree: Any, first: Any, second: Any) -> None:
    _, names = symbols(dict(zip("abc", first, strict=True)))
    try:
        output = value(tree, names)
        wanted = value(tree, dict(zip("abc", second, strict=True)))
    except ZeroDivisionError:
        return
    bound = least(output) if isinstance(output, Symbol) else None
    assert bound is None or wanted >= bound


def test_sizes_of_two_or_more_settle_most_questions() -> None:
    recorder, names = symbols({"a": 5, "b": 7})
    a, b = names["a"], names["b"]
    assert (
        a != 0
        and a != 1
        and not a < 2
        and a * b > a
        and a * b - b > 0
        and a
        and b * a == a * b
        and (a * b) // b is not None
    )
    assert recorder.guards == {}


def test_the_largest_of_numbers_other_than_sizes_needs_guards() -> None:
    recorder = Lowering()
    number = recorder.number("x", 2.5)
    assert largest(number, 1.0) is number and smallest(number, 1.0) == 1.0
    assert recorder.guards


def chosen_number(*, a: int, b: int) -> int:
    """Return the value of the expression that the next test lowers."""
    return max(b, 1) if a >= 5 else 0


def test_what_an_expression_computes_needs_no_guard() -> None:
    recorder, names = symbols({"a": 5, "b": 7})
    chosen = computed("{most}({b}, 1) if {a} >= 5 else 0", chosen_number, {"most": max}, **names)
    assert [Scope(recorder, {"a": number, "b": 7})[chosen.text] for number in (5, 4)] == [7, 0]
    assert chosen.example == 7 and recorder.guards == {} and least(chosen) == 0


def test_what_is_computed_of_plain_numbers_is_one() -> None:
    assert computed("{a}", chosen_number, {}, a=5, b=7) == 7


def test_what_sizes_decide_becomes_a_guard() -> None:
    recorder, names = symbols({"a": 5, "b": 7})
    assert names["a"] != names["b"]
    assert recorder.guards == {"a == b": False}


def test_who_wants_the_number_itself_pins_it() -> None:
    recorder, names = symbols({"a": 3})
    assert list(range(names["a"])) == [0, 1, 2]
    assert recorder.guards == {"a == 3": True}


def test_an_exact_quotient_is_none_that_is_rounded() -> None:
    _, names = symbols({"a": 5, "b": 7})
    assert ((names["a"] * names["b"] * 4) // names["a"]).text == "(4 * b)"


@pytest.mark.parametrize("number", [2, 2.5, True, 1j])
def test_a_symbol_is_of_the_class_of_its_number(number: Any) -> None:
    assert isinstance(Lowering().number("x", number), type(number))


def test_a_deferred_function_runs_in_the_plan_even_where_its_result_is_not_used() -> None:
    recorder = Lowering()
    root = deferred(math.isqrt)
    root(recorder.size("x", 9))
    assert [step.function for step in recorder.steps] == [math.isqrt]  # type: ignore[union-attr]


def test_a_loop_that_does_not_end_is_not_lowered() -> None:
    recorder = Lowering()
    with pytest.raises(NotLoweredError, match="steps"):
        while True:
            recorder.run(math.isqrt, (9,), ["root"])
    size = recorder.size("s", 9)
    with pytest.raises(NotLoweredError, match="questions"):
        while size * size != 80:
            pass


def test_elements_of_a_symbolic_array_cannot_be_read() -> None:
    import numpy

    array = SymbolicArray("x", numpy.dtype("f4"))
    with pytest.raises(NotLoweredError):
        numpy.asarray(array)
    with pytest.raises(NotLoweredError):
        bool(array)


def test_nothing_is_lowered_by_default() -> None:
    assert lowering.get() is None


def test_what_cancels_hides_no_bound() -> None:
    _, names = symbols({"a": 5, "b": 7})
    a, b = names["a"], names["b"]
    assert (least(a * b - 2 * a), least(a * b - 3 * a)) == (0, None)  # sizes are at least 2


BITWISE = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)


@pytest.mark.parametrize("number", [6, True, 2.5, 1 + 2j])
def test_a_symbol_has_what_its_number_has(number: Any) -> None:
    recorder = Lowering()
    symbol = recorder.size("n", number, None) if type(number) is int else recorder.number("n", number)
    left_out = {"from_bytes", "fromhex"}  # methods of the classes
    names = {name for name in dir(number) if not name.startswith("_")} - left_out
    assert names - {name for name in dir(symbol) if hasattr(symbol, name)} == set()
    for name in names:
        wanted, actual = getattr(number, name), getattr(symbol, name)
        if callable(wanted):
            wanted, actual = (operand(2, "big") if name == "to_bytes" else operand() for operand in (wanted, actual))
        assert getattr(actual, "example", actual) == wanted, name
    for name in ("hex", "bit_length", "is_integer"):
        assert hasattr(symbol, name) is hasattr(number, name)


@pytest.mark.parametrize("function", BITWISE)
def test_bits_of_a_symbol_are_those_of_its_number(function: Callable[[Any, Any], Any]) -> None:
    recorder, names = symbols({"a": 13, "b": 3})
    a, b = names["a"], names["b"]
    assert function(a, b) == function(13, 3)
    assert function(a, 2) == function(13, 2)
    assert function(5, b) == function(5, 3)
    assert recorder.guards == {"a == 13": True, "b == 3": True}
    assert ~a == ~13
    with pytest.raises(TypeError):
        function(recorder.number("x", 1.5), 2)


@pytest.mark.parametrize("number", [7, 2.5, 3.5, -1.25])
def test_a_symbol_is_rounded_as_its_number(number: Any) -> None:
    recorder = Lowering()
    symbol = recorder.size("n", number) if type(number) is int else recorder.number("n", number)
    assert round(symbol) == round(number)
    assert round(symbol, 1) == round(number, 1)
