"""Tests of decorators with wrong arguments: errors say what to write, nothing stays attached, and a second try
works.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.dispatch import registry
from opdsl.errors import DuplicateOperatorError, KernelError, KernelSignatureError, OpdslError
from opdsl.primitives import LOOPS


def scaled(self, beta):
    return self * beta


def added(a, b):
    return a + b


def generating(self, beta):
    yield self


async def suspending(self, beta):
    return self


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("misuse") as lib:
        yield lib


def declare(library: Library) -> Any:
    @library.op(inplace=True, out=True)
    def f(self: Tensor, beta: float = 1.0) -> Tensor: ...

    return f


def snapshot() -> dict[str, Any]:
    return {
        operator.name: {key: tuple(kernels) for key, kernels in operator.registrations.items()} for operator in registry
    }


DECORATORS: dict[str, Callable[[Any, Any], object]] = {
    "formula": lambda f, what: f.formula(dtypes="floating")(what),
    "kernel": lambda f, what: f.kernel("CPU")(what),
    "out_kernel": lambda f, what: f.out_kernel("CPU")(what),
    "view_kernel": lambda f, what: f.view_kernel("CPU")(what),
    "out_variant": lambda f, what: f.out_variant()(what),
    "inplace_variant": lambda f, what: f.inplace_variant()(what),
}
WRONG = {
    "None": None,
    "number": 3,
    "class": Library,
    "partial": functools.partial(scaled, beta=2),
    "builtin": len,
    "method": "x".join,
    "generator": generating,
    "async": suspending,
    "others": lambda other: other,
    "any": lambda *inputs: inputs[0],
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("decorator", DECORATORS)
def test_wrong_things_leave_nothing_behind(library: Library, decorator: str, wrong: str) -> None:
    f = declare(library)
    before = snapshot()
    with pytest.raises(OpdslError):
        DECORATORS[decorator](f, WRONG[wrong])
    assert snapshot() == before
    assert f.formula(scaled) is scaled  # a formula can still be attached
    assert f(opdsl.ones([2]), 3.0).tolist() == [3, 3]


@pytest.mark.parametrize(
    "options",
    [
        {"promote": "other"},
        {"promote": ["default"]},
        {"promote": None},
        {"keep": 3},
        {"keep": (3,)},
        {"keep": "gamma"},
        {"when": 3},
        {"when": {"gamma": 1}},
    ],
    ids=str,
)
def test_wrong_options_of_elements(library: Library, options: dict[str, Any]) -> None:
    f, loop = declare(library), primitives.elements(scaled, **options)
    with pytest.raises(KernelSignatureError, match="misuse::f"):
        f.formula(lambda self, beta: loop(self, beta))
    f.formula(scaled)


@pytest.mark.parametrize(
    "options",
    [{}, {"init": (0, 1)}, {"init": 0, "nope": 1}, {"init": 0, "accumulators": 3}, {"init": 0, "promote": 3}],
    ids=str,
)
def test_wrong_options_of_reduction(library: Library, options: dict[str, Any]) -> None:
    loop, sums = primitives.fold(added, **options), primitives.fold(added, init=0)

    @library.op
    def total(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor: ...

    with pytest.raises(KernelSignatureError, match="misuse::total"):

        @total.formula
        def wrong(self: Tensor, dim: list[int] | None, keepdim: bool) -> Tensor:
            return loop(self, dim, keepdim)

    @total.formula
    def right(self: Tensor, dim: list[int] | None, keepdim: bool) -> Tensor:
        return sums(self, dim, keepdim)

    assert total(opdsl.ones([2])).item() == 2


def test_parameters_may_have_any_name(library: Library) -> None:
    """Parameters may have names that the generated function uses itself."""

    @library.op(inplace=True, out=True)
    @formula
    def f(self: Tensor, plan: float, slow: float, Tensor: float = 2.0, default_plan: float = 1.0) -> Tensor:
        return self * plan + slow + Tensor + default_plan

    x = opdsl.ones([2])
    assert [f(x, 3.0, 6.0).tolist() for _ in range(2)] == [[12, 12]] * 2
    assert [f(x, 3.0, 6.0, default_plan=0.0, out=opdsl.empty([2])).tolist() for _ in range(2)] == [[11, 11]] * 2


def test_lists_may_be_spread_beside_parameters_of_any_name(library: Library) -> None:
    @library.op(variants="function, method")
    def plans(self: Tensor, state: list[int]) -> Tensor:
        return self.view(state)

    assert [plans(opdsl.ones([2]), [1, 2]).shape for _ in range(2)] == [(1, 2)] * 2


@pytest.mark.parametrize("options", [{"like": 3}, {"dtype": "x"}, {"dtype": opdsl.float32, "device": 3}], ids=str)
def test_set_output_is_given_nonsense(library: Library, options: dict[str, Any]) -> None:
    @library.op
    def f(self: Tensor) -> Tensor: ...

    @f.meta
    def f_meta(ctx, self):
        ctx.set_output(0, self.shape, **options)

    @f.out_kernel("CPU", compiled=False)
    def f_cpu(self, out):
        pass

    with pytest.raises(KernelError, match="misuse::f: output 0 has"):
        f(opdsl.ones([2]))


def test_a_view_kernel_returns_no_view(library: Library) -> None:
    @library.op
    def f(self: Tensor[opdsl.Alias("a")]) -> Tensor[opdsl.Alias("a")]: ...

    @f.view_kernel("CPU")
    def f_view(self):
        return 3

    with pytest.raises(KernelError, match="f_view returned int"):
        f(opdsl.ones([2]))


# ----------------------------------------------------------------------------------------- several implementations


def attach_meta(f, **options):
    def meta(ctx, self, dim):
        ctx.set_output(0, self.shape, like=self)
        return (0,)

    (f.meta(**options) if options else f.meta)(meta)


def attach_row(f):
    same = primitives.rows(lambda self: self)

    @f.formula
    def row(self: Tensor) -> Tensor:
        return same(self)


def attach_out_kernel(f):
    @f.out_kernel("CPU")
    def kernel(self, dim, out):
        out[...] = self


def attach_fold(f):
    sums = primitives.fold(added, init=0)

    @f.formula
    def folded(self: Tensor, dim: int) -> Tensor:
        return sums(self, dim)


def attach_scan(f):
    sums = primitives.scan(added, init=0)
    f.formula(lambda self, dim: sums(self, dim))


def attach_elements(f):
    same = primitives.elements(lambda self, dim: self)
    f.formula(lambda self, dim: same(self, dim))


WAYS = {
    "pointwise": attach_elements,
    "reduction": attach_fold,
    "scan": attach_scan,
    "meta": attach_meta,
    "row": attach_row,
    "out_kernel": attach_out_kernel,
}
LOOPED = {"pointwise": "<lambda>", "reduction": "added", "scan": "added", "row": "<lambda>"}
PAIRS = [
    *itertools.permutations(("pointwise", "reduction", "scan"), 2),
    *itertools.permutations(("row", "out_kernel"), 2),
    *itertools.product(("row", "out_kernel"), ("pointwise", "reduction")),
    *(("scan", "meta"), ("meta", "scan")),
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_a_second_way_to_be_computed_is_refused(library, first, second):
    @library.op
    def f(self: Tensor, dim: int) -> Tensor: ...

    if first in ("row", "out_kernel"):
        attach_meta(f)
    WAYS[first](f)
    before = {key: list(kernels) for key, kernels in f.operator.registrations.items()}
    with pytest.raises((DuplicateOperatorError, KernelSignatureError)) as caught:
        WAYS[second](f)
    assert {key: list(kernels) for key, kernels in f.operator.registrations.items()} == before
    if second != "out_kernel":
        one, other = (
            f"primitives.{LOOPS[operand]}({LOOPED[operand]})" if operand in LOOPS else f"@f.{operand}"
            for operand in (second, first)
        )
        assert f"{one} cannot be combined with {other}, which is attached at {__file__}" in str(caught.value)


@pytest.mark.parametrize("way", ["reduction", "row", "out_kernel"])
def test_numbers_that_a_shape_function_does_not_read_are_for_pointwise_operators(library, way):
    @library.op
    def f(self: Tensor, dim: int) -> Tensor: ...

    attach_meta(f, reads_numbers=False)
    wanted = rf"primitives.{LOOPS[way]}\({LOOPED[way]}\)" if way in LOOPS else f"@f.{way}"
    with pytest.raises(KernelSignatureError, match=rf"reads_numbers=False .* not to {wanted}"):
        WAYS[way](f)

    @library.op
    def g(self: Tensor, dim: int) -> Tensor: ...

    WAYS["reduction"](g)
    with pytest.raises(KernelSignatureError, match=r"reads_numbers=False .* not to primitives.fold\(added\)"):
        attach_meta(g, reads_numbers=False)


@pytest.mark.parametrize("options", [{}, {"reads_numbers": False}])
def test_a_check_stands_beside_a_pointwise_function_in_either_order(library, options):
    for attach in ((attach_meta, WAYS["pointwise"]), (WAYS["pointwise"], attach_meta)):

        @library.op(f"f{attach[0] is attach_meta}")
        def f(self: Tensor, dim: int) -> Tensor: ...

        for decorator in attach:
            decorator(f, **options) if decorator is attach_meta else decorator(f)
        assert f(opdsl.ones(2), 0).tolist() == [1.0, 1.0]


SAME, NEGATIVE = primitives.elements(lambda x: x), primitives.elements(lambda x: -x)


def test_an_argument_that_is_no_number_chooses_the_function(library):
    @library.op
    def f(self: Tensor, mode: str = "a") -> Tensor: ...

    with pytest.raises(KernelSignatureError, match=r"'mode' is no number. Choose .* when=\{'mode': \.\.\.\}"):
        f.formula(lambda self: SAME(self))
    f.formula(when={"mode": "a"})(lambda self: NEGATIVE(self))
    assert f(opdsl.ones(1), "a").item() == -1.0


@pytest.mark.parametrize(("name", "meant"), [("GPU", "CUDA"), ("cpu", "CPU"), ("Cuda", "CUDA"), ("host", "CPU")])
def test_another_name_of_a_key_is_suggested(name, meant):
    with pytest.raises(OpdslError, match=rf"no dispatch key '{name}'. Did you mean {meant}\?"):
        opdsl.DispatchKey(name)


@pytest.mark.parametrize("kind", [list, tuple])
def test_one_output_is_no_list_of_one(kind):
    x = opdsl.ones(1)
    with pytest.raises(OpdslError, match=f"argument 'out' must be Tensor, not {kind.__name__}"):
        opdsl.add(x, x, out=kind([x]))
    assert x.item() == 1.0


class Bound:
    """Class with a method, which is no function to attach."""

    def method(self, one: Any) -> Any:
        return one


@pytest.mark.parametrize(
    "body",
    [
        lambda: 1,
        lambda self: self,
        lambda self, other, third: self,
        lambda self, *, other: self,
        Bound().method,
        functools.partial(lambda self, other: self, 1, 2),
        math.sin,
        opdsl.exp,
        3,
        "text",
    ],
    ids=lambda body: getattr(body, "__name__", type(body).__name__),
)
@pytest.mark.parametrize("key", ["CompositeImplicitAutograd", "CPU"])
def test_bodies_that_do_not_take_the_arguments_are_refused_where_they_are_defined(body: Any, key: str) -> None:
    with Library("misused_bodies") as lib:
        with pytest.raises(KernelSignatureError, match=r"test_misuse\.py:\d+: misused_bodies::f: the body"):
            lib.define("f(Tensor self, Tensor other) -> Tensor", body, key=key)
        assert "misused_bodies::f" not in lib.registry.operators
        operator = lib.define(
            "f(Tensor self, Tensor other) -> Tensor", lambda self, other, third=2: self + other * third
        )
        assert operator(opdsl.ones(1), opdsl.ones(1)).tolist() == [3.0]


def test_bodies_that_numba_has_compiled_take_no_tensors() -> None:
    numba = pytest.importorskip("numba")
    with (
        Library("misused_bodies") as lib,
        pytest.raises(KernelSignatureError, match=r"compiled by numba.*Attach the function that numba wraps"),
    ):
        lib.define("f(Tensor self, Tensor other) -> Tensor", numba.njit(lambda self, other: self))
