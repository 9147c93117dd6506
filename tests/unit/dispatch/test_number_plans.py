"""Tests that plans distinguish numbers more strictly than equality: ``1``, ``1.0`` and ``True``; ``0.0`` and
``-0.0``.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import opdsl
from opdsl import DispatchMode, Ints, Library, Tensor, formula, primitives
from opdsl.dispatch.binding.arguments import mixed_key, value_key
from opdsl.errors import ShapeError

pytestmark = pytest.mark.usefixtures("plans_at_once")

ZEROS = [0, False, 0.0, -0.0, 0j, -0j]
NUMBERS = st.sampled_from([*ZEROS, 1, -1, True, 1.0, 1 + 0j, 1 - 0j, math.inf, math.nan, -math.nan])
VALUES = st.recursive(NUMBERS | st.sampled_from([None, "", "0", "1"]), lambda children: st.lists(children, max_size=3))


def written(value):
    """Return a text of a value that represents each bit of its numbers."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(written, value))}]"
    if isinstance(value, complex):
        return f"({written(value.real)}, {written(value.imag)})"
    return f"{value.hex()} {math.copysign(1, value)}" if isinstance(value, float) else repr(value)


@given(VALUES, VALUES)
@example([0.0], [-0.0])
@example([math.nan], [float("nan")])
@example([1], [True])
@example(True, [True])
@example([[1]], [[1.0]])
def test_keys_are_equal_where_values_are_the_same(first, second):
    same = written(first) == written(second)
    assert (value_key(first) == value_key(second)) is same
    if same:
        assert hash(value_key(first)) == hash(value_key(second))


@given(VALUES)
def test_a_tuple_has_the_key_of_a_list(value):
    frozen = tuple(value) if isinstance(value, list) else value
    assert value_key(frozen) == value_key(value)


def test_a_tensor_a_list_and_a_number_have_keys_of_their_own():
    one, two = opdsl.ones(1), opdsl.ones(2)
    assert mixed_key(two) is two.geometry
    assert mixed_key([one, two]) == mixed_key((one, two)) == (one.geometry, two.geometry)
    assert mixed_key([None, two]) == (None, two.geometry)
    for value in (2, 2.0, "sum", None, [2, 3], (2.0,), []):
        assert mixed_key(value) == value_key(value)


def test_an_argument_may_be_a_tensor_or_a_list_of_them():
    one, two = opdsl.tensor(1.0), opdsl.ones(2)
    for _ in range(2):
        assert opdsl.atleast_2d(two).shape == (1, 2)
        assert [tensor.shape for tensor in opdsl.atleast_2d([one, two])] == [(1, 1), (1, 2)]
        assert [tensor.shape for tensor in opdsl.atleast_2d([two, two])] == [(1, 2), (1, 2)]
    with Library("mixed") as library:

        @library.op
        def count(values: list[Tensor | None]) -> int: ...

        @count.kernel("CompositeExplicitAutograd")
        def count_tensors(values):
            return sum(value is not None for value in values)

        @count.overload("number")
        def count_number(values: int) -> int: ...

        @count_number.kernel("CompositeExplicitAutograd")
        def count_itself(values):
            return values

        for _ in range(2):
            assert [count(case) for case in ([one, None], [one, two], [None, two, two], 7, 8)] == [1, 2, 2, 7, 8]


def sign_by_kernel(f):
    f.kernel("CPU")(lambda self, s: opdsl.tensor([math.copysign(1.0, s)]))


def sign_by_elements(f):
    signs = primitives.elements(lambda self, s: math.copysign(self, s))

    @f.formula
    def formula_of_elements(self: Tensor, s: float) -> Tensor:
        return signs(self, s)


def sign_by_formula(f):
    @f.formula
    def text(self: Tensor, s: float) -> Tensor:
        return opdsl.copysign(self, s)


def sign_by_check(f):
    @f.meta
    def meta(ctx, self, s):
        opdsl.check(math.copysign(1.0, s) > 0, "negative")

    @f.formula
    def text(self: Tensor, s: float) -> Tensor:
        return self + s


def sign_by_meta(f):
    @f.meta
    def meta(ctx, self, s):
        ctx.set_output(0, (1 if math.copysign(1.0, s) > 0 else 2,), like=self)

    @f.out_kernel("CPU", compiled=False)
    def kernel(self, s, out):
        out.fill_(math.copysign(1.0, s))


def sign_by_out_kernel(f):
    @f.meta
    def meta(ctx, self, s):
        ctx.set_output(0, self.shape, like=self)

    @f.out_kernel("CPU")
    def kernel(self, s, out):
        out[0] = math.copysign(1.0, s)


def sign_by_reduction(f):
    def finish(total, count, s):
        return math.copysign(total, s)

    sums = primitives.fold(lambda a, b: a + b, init=0, finish=finish, promote="floating")

    @f.formula
    def folded(self, s):
        return sums(self, s)


def sign_by_row(f):
    @f.meta
    def meta(ctx, self, s):
        ctx.set_output(0, self.shape, like=self)
        return (0,)

    signed = primitives.rows(lambda self, s: math.copysign(self, s), promote="floating")

    @f.formula
    def row(self, s):
        return signed(self, s)


@pytest.mark.parametrize(
    "attach",
    [
        sign_by_kernel,
        sign_by_elements,
        sign_by_formula,
        sign_by_check,
        sign_by_meta,
        sign_by_out_kernel,
        sign_by_reduction,
        sign_by_row,
    ],
)
@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_plan_for_one_zero_does_not_serve_the_other(attach, first):
    with Library("zeros") as lib:

        @lib.op
        def f(self: Tensor, s: float) -> Tensor: ...

        attach(f)
        x = opdsl.tensor([1.0])

        def outcome(s):
            try:
                return written(f(x, s).tolist())
            except ShapeError as error:
                return str(error)

        fresh = {}
        for s in (0.0, -0.0):
            opdsl.registry.packets["zeros::f"].forget()
            fresh[str(s)] = outcome(s)
        assert fresh["0.0"] != fresh["-0.0"]
        opdsl.registry.packets["zeros::f"].forget()
        for s in (first, first, -first, -first, first):
            assert outcome(s) == fresh[str(s)]


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_a_list_for_one_zero_does_not_serve_the_other(first):
    with Library("zeros") as lib:

        @lib.op
        def f(self: Tensor, s: list[float]) -> Tensor: ...

        @f.kernel("CPU")
        def kernel(self, s):
            return opdsl.tensor([math.copysign(1.0, number) for number in s])

        for s in (first, first, -first, first):
            assert f(opdsl.ones(1), [s]).item() == math.copysign(1.0, s)


def fold_from(lib, init):
    sums = primitives.fold(lambda a, b: a + b, init=init)

    @lib.op("fold_up" if math.copysign(1.0, init) > 0 else "fold_down")
    @formula
    def fold(self: Tensor, dim: Ints[1] | None = None) -> Tensor:
        return sums(self, dim)

    return fold


def scan_from(lib, init):
    sums = primitives.scan(lambda a, b: a + b, init=init)

    @lib.op("scan_up" if math.copysign(1.0, init) > 0 else "scan_down")
    @formula
    def scan(self: Tensor, dim: int) -> Tensor:
        return sums(self, dim)

    return scan


def test_folds_from_either_zero_are_two_kernels():
    with Library("zeros") as lib:
        for init in (0.0, -0.0):
            fold, scan = fold_from(lib, init), scan_from(lib, init)
            assert written(fold(opdsl.empty(0)).item()) == written(init)
            assert written(scan(opdsl.tensor([-0.0]), 0).item()) == written(init + -0.0)


def test_a_mode_is_handed_the_zero_that_was_given():
    seen = []

    class Watch(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            seen.append(args[1:])
            return operator(*args, **kwargs)

    with Library("zeros") as lib:

        @lib.op
        def f(self: Tensor, s: float = 0.0) -> Tensor: ...

        sign_by_formula(f)
        x = opdsl.ones(1)
        with Watch():
            assert f(x, -0.0).item() == -1.0
    assert written(seen[0]) == "[-0x0.0p+0 -1.0]"
