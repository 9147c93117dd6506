"""Tests that errors underline the faulty text and name a remedy."""

import math

import pytest

from opdsl.errors import ScalarFunctionError
from opdsl.scalar import read


def loops(x):
    while x > 0:
        x = x - 1
    return x


def unknown_name(x):
    return x + no_such_name  # noqa: F821


def unknown_call(x):
    return print(x)


def indexing(x):
    return x[0]


def no_return(x):  # noqa: RET503
    if x > 0:
        return x


def some_paths(x):
    if x > 0:
        y = 1.0
    return y


def shapes_differ(x):
    if x > 0:
        return 1.0, 2.0
    return x


def recursive(x):
    return recursive(x - 1)


def constant_raises(x):
    return x + 1 / 0


def star(*x):
    return x


def comprehension(x):
    return sum([x for _ in range(3)])


def assigns_attribute(x):
    math.pi = x
    return x


def wrong_arguments(x):
    return math.sqrt(x, x)


def wrong_call(x):
    return unknown_name(x, x)


PROBLEMS = {
    loops: ("x > 0", "the number of iterations of this loop is unbounded"),
    unknown_name: ("no_such_name", "the name 'no_such_name' is not defined"),
    unknown_call: ("print(x)", "it cannot call print"),
    indexing: ("x[0]", "cannot index"),
    no_return: ("if x > 0:", "not every path returns"),
    some_paths: ("y", "'y' cannot be used here: it is assigned on some paths only"),
    shapes_differ: ("return x", "on another"),
    recursive: ("def recursive(x):", "it calls itself"),
    constant_raises: ("1 / 0", "ZeroDivisionError"),
    star: ("x", "star parameters"),
    comprehension: ("[x for _ in range(3)]", "list comprehension"),
    assigns_attribute: ("math.pi", "cannot be assigned"),
    wrong_arguments: ("math.sqrt(x, x)", "takes 1 arguments"),
    wrong_call: ("unknown_name(x, x)", "TypeError"),
}


@pytest.mark.parametrize("function", PROBLEMS, ids=lambda function: function.__name__)
def test_error_underlines_the_text(function):
    text, problem = PROBLEMS[function]
    with pytest.raises(ScalarFunctionError) as caught:
        read(function)
    first, source, underline, *_ = str(caught.value).splitlines()
    assert first.startswith(f"{__file__}:")
    assert problem in first
    start = underline.index("^") - underline.count("~")
    assert source[start : underline.index("^") + 1] == text


def test_error_names_a_remedy():
    with pytest.raises(ScalarFunctionError, match=r"\.out_kernel"):
        read(unknown_call)


@pytest.mark.parametrize("outside", [[1.0, 2.0], {"a": 1.0}, object()])
def test_a_closure_value_must_be_a_number(outside: object) -> None:
    for function in (lambda x: x * outside, lambda x: max(x, outside), lambda x: outside if x > 0 else x):
        with pytest.raises(ScalarFunctionError, match="are read once, when it is declared") as caught:
            read(function)
        assert "is not a number" in str(caught.value)


def test_source_that_cannot_be_read():
    names: dict[str, object] = {}
    exec("def function(x):\n    return x", names)
    with pytest.raises(ScalarFunctionError, match="source text cannot be read"):
        read(names["function"])


def test_what_is_no_function():
    with pytest.raises(ScalarFunctionError, match="got <built-in function sin>"):
        read(math.sin)


def test_errors_of_types_underline_the_text():
    def difference(x, y):
        return (x > 0) - (y > 0)

    with pytest.raises(ScalarFunctionError, match=r"for \(x: int8, y: float32\), `-` of bools") as caught:
        read(difference).specialise({"x": "int8", "y": "float32"})
    assert "(x > 0) - (y > 0)" in str(caught.value)


def test_missing_type():
    with pytest.raises(ScalarFunctionError, match="no type is given for y"):
        read(lambda x, y: x + y).specialise({"x": "int8"})
