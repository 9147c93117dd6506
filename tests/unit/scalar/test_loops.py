"""Tests of loops whose number of iterations depends on elements, against the same functions run by Python."""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, empty-body"

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import ScalarFunctionError
from opdsl.scalar import evaluate, lower, read
from opdsl.scalar.graph import Loop
from opdsl.scalar.intrinsics import double
from tests.emulation.driver import EmulatedDriver


def euclid(x, y):
    x, y = abs(x), abs(y)
    for _ in range(92):
        if y == 0:
            break
        x, y = y, math.fmod(x, y)
    return x


def exponential(x, y):
    total, term, k = 1.0, 1.0, 0
    while k < 200 and abs(term) > abs(total) * 1e-17:
        k += 1
        term = term * x / k
        total += term
    return total + y


def harmonic(x, y):
    total = 0.0
    for k in range(1, int(abs(x)) + 1):
        total += 1.0 / k
    return total * y


def descending(x, y):
    total = 0.0
    for k in range(int(x), -3, -2):
        total = total * 0.5 + k
    return total + y


def left_in_many_ways(x, y):
    total, last = 0.0, -1
    for k in range(40):
        if k % 3 == 0:
            continue
        total += k
        last = k
        if total > x:
            if y > 0:
                total = -total
                break
            continue
        if k > y + 20:
            break
        total += 0.25
    return total + last


def unrolled(x, y):
    total = 0.0
    for factor in (1.0, 2.0, 3.0, 5.0):
        if factor == 2.0:
            continue
        if factor > x:
            break
        total += factor * y
    return total


def nested(x, y):
    total = 0.0
    for i in range(int(abs(x))):
        k = i
        for _ in range(30):
            if k == 0:
                break
            total += y
            k //= 2
        if total > 20:
            break
    return total


def collatz(x, y):
    value, steps = int(abs(x)) + 1, 0
    for steps in range(1000):  # noqa: B007
        if value == 1:
            break
        value = value // 2 if value % 2 == 0 else 3 * value + 1
    return steps + y


def pairs(x, y):
    state = (x, (y, 1))
    for _ in range(12):
        if state[0] > 100.0:
            break
        state = (state[0] * 2.0 + 1.0, (state[1][0] - 0.5, state[1][1] + 1))
    return state[0] + state[1][0] * state[1][1]


def downwards(x, y):
    k = 10
    while -x < 0 < k and k != y:
        k -= 3
    return k + x


def returns_early(x, y):
    if x > 5.0:
        return y
    total = 0.0
    for k in range(100):
        total += x
        if total > k + y:
            break
    return total


def halved(x):
    for _ in range(60):
        if x < 1.0:
            break
        x = 0.5 * x
    return x


def piecewise(x, y):
    """Compute nested conditionals with costly branches, which share a subexpression."""
    shared = math.exp(-abs(x)) + math.sin(y)
    inner = halved(y + 100.0) if y > 5.0 else math.cos(y) * math.exp(y)
    return inner + shared if x < 4.0 else (halved(x) * shared if y > -3.0 else x)


def in_double(x, y):
    total = double(0.0)
    for k in range(20):
        if k > x:
            break
        total += double(x) / 3
    return total - y


FUNCTIONS: list[Callable[..., float]] = [
    euclid, exponential, harmonic, descending, left_in_many_ways, unrolled, nested, collatz, pairs, downwards,
    returns_early, piecewise, in_double,
]  # fmt: skip
X = np.concatenate([np.linspace(-9.5, 30.25, 53), [0.0, 1.0, 5.0]])
Y = np.concatenate([np.linspace(12.0, -7.0, 53), [0.0, 3.0, 7.0]])


@pytest.fixture(scope="module")
def lib() -> Iterator[Library]:
    with Library("loops_test") as library:
        yield library


def expected(function, *operands) -> np.ndarray:
    return np.array([float(function(*(scalar.item() for scalar in row))) for row in zip(*operands, strict=True)])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_backend_gives_what_python_gives(
    function: Callable[..., float], lib: Library, cuda: EmulatedDriver
) -> None:
    loop = primitives.elements(function, promote="int_to_float")
    warning = pytest.warns(UserWarning, match="has no derivative")
    with contextlib.nullcontext() if function is unrolled else warning:

        @lib.op(f"loops_test::{function.__name__}")
        @formula
        def declared(self: Tensor, other: Tensor) -> Tensor:
            return loop(self, other)

    want = expected(function, X, Y)
    lowered = lower(read(function).specialise({"x": "float64", "y": "float64"}))
    np.testing.assert_allclose(evaluate(lowered, {"x": X, "y": Y})[0], want, rtol=1e-14)
    x, y = opdsl.from_numpy(X), opdsl.from_numpy(Y)
    result = declared(x, y).numpy()
    np.testing.assert_allclose(result, want, rtol=1e-14)
    strided = opdsl.from_numpy(np.stack([X, Y], 1))
    np.testing.assert_array_equal(declared(strided[:, 0], strided[:, 1]).numpy(), result)
    np.testing.assert_array_equal(declared(x[:3], y[:3]).numpy(), result[:3])  # fewer elements than lanes
    on_cuda = declared(x.to("cuda"), y.to("cuda"))
    np.testing.assert_allclose(on_cuda.cpu().numpy(), want, rtol=1e-14)
    single = declared(x.to(opdsl.float32), y.to(opdsl.float32)).numpy()
    np.testing.assert_allclose(single, expected(function, X.astype("f"), Y.astype("f")), rtol=1e-4, atol=1e-4)


def test_complex_numbers_are_carried(lib: Library, cuda: EmulatedDriver) -> None:
    def turns(c):
        z, count = c * 0, 0
        for count in range(50):  # noqa: B007
            if abs(z) > 2.0:
                break
            z = z * z + c
        return z + count

    loop = primitives.elements(turns, promote="int_to_float")
    with pytest.warns(UserWarning, match="has no derivative"):

        @lib.op("loops_test::escape")
        @formula
        def escape(self: Tensor) -> Tensor:
            return loop(self)

    points = (np.linspace(-2, 0.5, 21) + 1j * np.linspace(-1, 1, 21)[:, None]).ravel()
    want = np.array([turns(point) for point in points.tolist()])
    starts = opdsl.from_numpy(points)
    for result in (escape(starts), escape(starts.to("cuda")).cpu()):
        np.testing.assert_allclose(result.numpy(), want, rtol=1e-9, atol=1e-9)


def test_integers_keep_their_dtype_and_count_in_64_bits() -> None:
    graph = read(euclid).specialise({"x": "int8", "y": "int8"})
    assert graph.result_types == ("int8",)
    assert evaluate(lower(graph), {"x": np.int8(12), "y": np.int8(-18)})[0] == 6

    def count(x):
        k = 0
        for _ in range(1000):
            if k == 300:
                break
            k += 1
        return k + x

    graph = read(count).specialise({"x": "int8"})
    assert evaluate(graph, {"x": np.int8(0)})[0] == 300


def test_elements_are_computed_in_place_and_in_any_number(lib: Library) -> None:
    """Loops run in place and for any number of elements, some of which need no iteration, and with overlapping
    operands.
    """

    def count(x, y):
        steps = 0.0
        for _ in range(80):
            if x <= y:
                break
            x *= 0.5
            steps += 1.0
        return steps if steps > 0.0 else -x

    loop = primitives.elements(count, promote="int_to_float")
    with pytest.warns(UserWarning, match="has no derivative"):

        @lib.op("loops_test::halvings", inplace=True, out=True)
        @formula
        def halvings(self: Tensor, other: Tensor) -> Tensor:
            return loop(self, other)

    values = np.random.default_rng(3).uniform(0, 40, 5003)
    values[::7] = np.nan
    want = expected(count, values, values[::-1])
    x, y = opdsl.from_numpy(values.copy()), opdsl.from_numpy(values[::-1].copy())
    for size in (1, 7, 8, 9, 1023, 1025, 5003):
        np.testing.assert_array_equal(halvings(x[:size], y[:size]).numpy(), want[:size])
    lib_inplace = halvings.variants["inplace"]
    lib_inplace(x, y)
    np.testing.assert_array_equal(x.numpy(), want)
    every_other = opdsl.from_numpy(np.repeat(values, 2))[::2]
    lib_inplace(every_other, y)
    np.testing.assert_array_equal(every_other.numpy(), want)


def test_costly_sides_of_choices_are_branches() -> None:
    """Costly branches of conditionals become loops of at most one iteration, which only elements that need them run."""
    graph = lower(read(piecewise).specialise({"x": "float32", "y": "float32"}))
    branches = [node.value for node in graph.nodes if isinstance(node.value, Loop)]
    assert [branch.most for branch in branches] == [1, 1]
    within = [node.value for branch in branches for node in branch.body.nodes if isinstance(node.value, Loop)]
    assert sorted(inner.most or 0 for inner in within) == [1, 1, 1]


def test_double_is_float64_in_all_precisions() -> None:
    graph = read(in_double).specialise({"x": "float32", "y": "float32"})
    assert graph.result_types == ("float64",)
    assert evaluate(graph, {"x": np.float32(0.1), "y": np.float32(0)})[0] == float(np.float32(0.1)) / 3


def test_a_limit_ends_what_would_not_end() -> None:
    def forever(x):
        k = 0
        for _ in range(20):
            if x != x + 1:
                k += 1
            if k > 50:
                break
        return k + x

    graph = read(forever).specialise({"x": "float64"})
    assert evaluate(lower(graph), {"x": 1.5})[0] == 21.5


def test_equal_functions_have_equal_fingerprints_and_others_do_not() -> None:
    def limited(turns):
        def function(x):
            for _ in range(turns):
                if x > 100.0:
                    break
                x = 2.0 * x
            return x

        return read(function).specialise({"x": "float32"}).fingerprint

    assert limited(10) == limited(10)
    assert limited(10) != limited(11)


# ------------------------------------------------------------------------------------------------------------- errors


def unbounded(x):
    while x > 0:
        x = x - 1
    return x


def endless(x):
    while True:
        if x > 3:
            break
        x += 1
    return x


def counter_that_may_stay(x):
    k = 0
    while k < 10:
        if x > k:
            continue
        k += 1
    return k


def counter_of_a_parameter(x):
    while x < 10:
        x += 1
    return x


def unknown_step(x):
    for k in range(0, 10, int(x)):
        x += k
    return x


def returns_within(x):
    for k in range(100):
        if k > x:
            break
        if x > 3:
            return k
    return x


def changes_form(x: Any) -> Any:
    result: Any = 0
    for _ in range(100):
        if x > 3:
            break
        result = (x, x)
    return result


def assigned_within_only(x):
    for k in range(100):
        if k > x:
            break
        inner = k
    return inner


def else_branch(x):
    while x > 0:
        x -= 1
    else:
        x = 0
    return x


PROBLEMS = {
    unbounded: ("x > 0", "the number of iterations of this loop is unbounded"),
    endless: ("True", "the number of iterations of this loop is unbounded"),
    counter_that_may_stay: ("k < 10", "the number of iterations of this loop is unbounded"),
    counter_of_a_parameter: ("x < 10", "the number of iterations of this loop is unbounded"),
    unknown_step: ("int(x)", "the step of a range must be known"),
    returns_within: ("return k", "cannot return"),
    changes_form: ("for _ in range", "'result' is another kind of value"),
    assigned_within_only: ("inner", "it is assigned in a loop that may have no iterations"),
    else_branch: ("x = 0", "else branch of a loop"),
}


@pytest.mark.parametrize("function", PROBLEMS)
def test_what_cannot_be_a_loop_is_refused(function: Callable[..., float]) -> None:
    shown, problem = PROBLEMS[function]
    with pytest.raises(ScalarFunctionError) as caught:
        read(function)
    message = str(caught.value)
    assert problem in message
    text, underline = message.splitlines()[1:3]
    assert text[len(underline) - len(underline.lstrip()) :].startswith(shown)


def test_rows_are_folded_outside_of_loops() -> None:
    from opdsl.scalar.intrinsics import row_sum

    def folding(x):
        for _ in range(100):
            if x > 3:
                break
            x = row_sum(x)
        return x

    with pytest.raises(ScalarFunctionError, match="Fold before the loop"):
        read(folding, rows=True)


def test_a_loop_has_no_derivative_of_its_own(lib: Library) -> None:
    def function(x):
        for _ in range(100):
            if x < 1.0:
                break
            x = 0.5 * x
        return x

    loop = primitives.elements(function, promote="int_to_float")
    with pytest.warns(UserWarning, match="a loop whose number of iterations is known only while it runs"):

        @lib.op("loops_test::halved")
        @formula
        def halved(self: Tensor) -> Tensor:
            return loop(self)

    x = opdsl.tensor([8.0, 0.5], requires_grad=True)
    with pytest.raises(opdsl.errors.OpdslError, match="has no derivative"):
        halved(x).sum().backward()
