"""Tests of dispatch modes: the calls that they receive, their order, and the results that they may return."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import pytest

import opdsl
from opdsl import Alias, DispatchMode, Library, Tensor, formula
from opdsl.dispatch.state import current
from opdsl.errors import KernelError

pytestmark = pytest.mark.usefixtures("plans_at_once")


class Seen(DispatchMode):
    """Mode that records the operators that it receives, with their arguments."""

    def __init__(self, *, before_decomposition: bool = False) -> None:
        self.before_decomposition = before_decomposition
        self.names: list[str] = []
        self.calls: list[tuple[tuple[object, ...], dict[str, object]]] = []

    def dispatch(self, operator: FunctionType, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        self.names.append(str(operator.schema.name))
        self.calls.append((args, kwargs))
        return operator(*args, **kwargs)


@pytest.fixture(scope="module")
def own() -> Iterator[Any]:
    """Yield a library's operators: a composite, a view, a pointwise operator and a Python kernel."""
    with Library("testmodes") as lib:

        @lib.op(variants="function, method", inplace=True, out=True)
        @formula
        def testmodes_shift(self: Tensor, by: float = 1.0) -> Tensor:
            return self + by

        @lib.op(inplace=True, out=True)
        def affine(self: Tensor, weight: Tensor) -> Tensor:
            return self @ weight.t() + 1

        @lib.op
        def first_column(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]:
            return self.t()[0].unsqueeze(0)

        @lib.op
        def doubled(self: Tensor) -> Tensor: ...

        @doubled.kernel("CPU")
        def doubled_kernel(self):
            return self + self

        class Functions:
            shift, composite, view, kernel = testmodes_shift, affine, first_column, doubled

        yield Functions


def square() -> Tensor:
    return opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])


# Calls, each with the operators that the program calls and those that remain after decomposition of composites.
CALLS: tuple[tuple[Callable[[Tensor, Any], object], list[str], list[str]], ...] = (
    (lambda x, own: opdsl.add(x, x), ["add.Tensor"], ["add.Tensor"]),
    (lambda x, own: x + x, ["add.Tensor"], ["add.Tensor"]),
    (lambda x, own: x + 1, ["add.Tensor"], ["add.Tensor"]),
    (lambda x, own: 1 - x, ["rsub.Scalar"], ["rsub.Scalar"]),
    (lambda x, own: 1 / x, ["reciprocal", "mul.Tensor"], ["reciprocal", "mul.Tensor"]),
    (lambda x, own: x < 2, ["lt.Scalar"], ["lt.Scalar"]),
    (lambda x, own: -x, ["neg"], ["neg"]),
    (lambda x, own: x.add_(1), ["add_.Tensor"], ["add_.Tensor"]),
    (lambda x, own: x.__iadd__(x), ["add_.Tensor"], ["add_.Tensor"]),
    (lambda x, own: opdsl.add(x, x, out=x), ["add.out"], ["add.out"]),
    (lambda x, own: x.sum(), ["sum"], ["sum"]),
    (lambda x, own: x.sum(1), ["sum.dim_IntList"], ["sum.dim_IntList"]),
    (lambda x, own: x.t(), ["t"], ["t"]),
    (lambda x, own: x.view(4), ["view"], ["view"]),
    (lambda x, own: x.t_(), ["t_"], ["t_"]),
    (lambda x, own: x @ x, ["matmul"], ["mm"]),
    (lambda x, own: x.reshape(4), ["reshape"], ["view"]),
    (lambda x, own: x.t().reshape(4), ["t", "reshape"], ["t", "clone", "_unsafe_view"]),
    (lambda x, own: opdsl.ones(2), ["ones"], ["ones"]),
    (lambda x, own: opdsl.empty((2,), dtype=opdsl.int8), ["empty.memory_format"], ["empty.memory_format"]),
    (lambda x, own: opdsl.full((2,), 7), ["full"], ["full"]),
    (lambda x, own: opdsl.cat([x, x]), ["cat"], ["cat"]),
    (lambda x, own: x.unbind(), ["unbind.int"], ["unbind.int"]),
    (lambda x, own: list(x), ["unbind.int"], ["unbind.int"]),
    (lambda x, own: x[0], ["select.int"], ["select.int"]),
    (lambda x, own: x[:, 1:], ["slice.Tensor"], ["slice.Tensor"]),
    (lambda x, own: x[None], ["unsqueeze"], ["unsqueeze"]),
    (lambda x, own: x.__setitem__(0, 5.0), ["select.int", "fill_.Scalar"], ["select.int", "fill_.Scalar"]),
    (lambda x, own: x.clone(), ["clone"], ["clone"]),
    (lambda x, own: own.shift(x), ["testmodes::testmodes_shift"], ["testmodes::testmodes_shift"]),
    (lambda x, own: x.testmodes_shift(2.0), ["testmodes::testmodes_shift"], ["testmodes::testmodes_shift"]),
    (lambda x, own: own.shift(x, out=x), ["testmodes::testmodes_shift.out"], ["testmodes::testmodes_shift.out"]),
    (lambda x, own: own.kernel(x), ["testmodes::doubled"], ["testmodes::doubled"]),
    (lambda x, own: own.composite(x, x), ["testmodes::affine"], ["t", "mm", "add.Tensor"]),
    # Variants derived from a body stay one operator, because the operators that they call do not state their writes.
    (lambda x, own: own.composite(x, x, out=x), ["testmodes::affine.out"], ["testmodes::affine.out"]),
    (lambda x, own: own.composite.variants["inplace"](x, x), ["testmodes::affine_"], ["testmodes::affine_"]),
    (lambda x, own: own.view(x), ["testmodes::first_column"], ["t", "select.int", "unsqueeze"]),
)  # fmt: skip


@pytest.mark.parametrize("place", range(len(CALLS)))
@pytest.mark.parametrize("before", [True, False])
def test_what_a_mode_sees(place: int, before: bool, own: Any) -> None:
    call, program, leaves = CALLS[place]
    x, y = square(), square()
    expected = call(x, own)
    mode = Seen(before_decomposition=before)
    with mode:
        actual = call(y, own)
    assert mode.names == (program if before else leaves)
    assert repr(actual) == repr(expected)
    assert repr(y) == repr(x)


def test_a_call_that_was_planned_comes_to_a_mode() -> None:
    x = square()
    x + x
    x + x
    with Seen() as mode:
        x + x
    assert mode.names == ["add.Tensor"]


def test_calls_are_planned_again_after_a_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    x = square()
    with Seen():
        x + x
    x + x
    monkeypatch.setattr(opdsl.dispatch.Operator, "find", None)
    assert (x + x).tolist() == [[2.0, 4.0], [6.0, 8.0]]


def test_views_within_a_mode_are_views(own: Any) -> None:
    x = square()
    with Seen():
        own.view(x).add_(10)
        x.reshape(4)[3] = 0
    assert x.tolist() == [[11.0, 2.0], [13.0, 0.0]]


def test_inference_mode_takes_composites_apart_too() -> None:
    x = square()
    with opdsl.inference_mode(), Seen() as mode:
        x @ x
    assert mode.names == ["mm"]


# ------------------------------------------------------------------------------------------------------------ arguments


def arguments_of(call: Callable[[], object]) -> tuple[tuple[object, ...], dict[str, object]]:
    with Seen(before_decomposition=True) as mode:
        call()
    return mode.calls[-1]


def test_what_is_at_its_default_is_left_out() -> None:
    x = square()
    args, kwargs = arguments_of(lambda: opdsl.add(x, x, alpha=1))
    assert args[0] is x and args[1] is x and len(args) == 2
    assert kwargs == {}


def test_a_number_that_equals_the_default_but_is_of_another_kind_is_handed() -> None:
    x = square()
    assert arguments_of(lambda: opdsl.add(x, x, alpha=1.0))[1] == {"alpha": 1.0}


def test_positions_before_one_that_is_given_are_handed() -> None:
    x = square()
    assert arguments_of(lambda: opdsl.sum(x, None, True))[0][1:] == (None, True)


def test_numbers_that_stand_for_tensors_stay_numbers() -> None:
    assert arguments_of(lambda: square() + 2)[0][1] == 2


def test_an_output_is_handed_by_name() -> None:
    x = square()
    assert arguments_of(lambda: opdsl.neg(x, out=x))[1]["out"] is x


def test_options_of_factories_are_handed_by_name() -> None:
    assert arguments_of(lambda: opdsl.ones(2, dtype=opdsl.int8)) == (((2,),), {"dtype": opdsl.int8})


def test_the_operator_is_the_function_of_the_overload() -> None:
    operators = []

    class Keep(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            operators.append(operator)
            return operator(*args, **kwargs)

    with Keep():
        square() + 1
    assert operators == [opdsl.ops.aten.add.Tensor]


# ------------------------------------------------------------------------------------------------ nesting, re-entrancy


class Named(DispatchMode):
    """Mode that records the operators that it receives in a list shared with other modes."""

    def __init__(self, name: str, notes: list[str], *, before_decomposition: bool = False) -> None:
        self.name, self.notes, self.before_decomposition = name, notes, before_decomposition

    def dispatch(self, operator, args, kwargs):
        self.notes.append(f"{self.name} {operator.__name__}")
        return operator(*args, **kwargs)


def test_the_innermost_mode_comes_first() -> None:
    notes: list[str] = []
    with Named("outer", notes), Named("inner", notes):
        square().neg()
    assert notes == ["inner neg", "outer neg"]


def test_a_mode_is_off_within_its_own_hook() -> None:
    class Twice(Seen):
        def dispatch(self, operator, args, kwargs):
            super().dispatch(operator, args, kwargs)
            return super().dispatch(operator, args, kwargs)

    with Twice() as mode:
        square().neg()
    assert mode.names == ["neg", "neg"]


def test_a_mode_of_a_hook_comes_to_what_the_hook_calls() -> None:
    inner = Seen()

    class Outer(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            with inner:
                return operator(*args, **kwargs)

    with Outer():
        square() @ square()
    assert inner.names == ["mm"]


def test_a_mode_that_does_not_call_the_operator_hides_it_from_outer_ones() -> None:
    class Zero(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            return opdsl.zeros(1)

    with Seen() as outer, Zero():
        assert (-square()).tolist() == [0.0]
    assert outer.names == ["zeros"]


def test_modes_before_decomposition_come_first_wherever_they_are_entered() -> None:
    for outer in (True, False):
        notes: list[str] = []
        first = Named("first", notes, before_decomposition=outer)
        second = Named("second", notes, before_decomposition=not outer)
        with first, second:
            square() @ square()
        early, late = ("first", "second") if outer else ("second", "first")
        assert notes == [f"{early} matmul", f"{late} mm"]


def test_one_mode_can_be_entered_twice() -> None:
    with Seen() as mode, mode:
        square().neg()
    assert mode.names == ["neg", "neg"]


def test_a_mode_is_off_after_its_block_and_after_an_error() -> None:
    mode = Seen()
    with pytest.raises(ZeroDivisionError), mode:
        1 / 0  # noqa: B018
    square().neg()
    assert mode.names == []


def test_what_a_hook_raises_passes_through_and_the_mode_stays() -> None:
    class Refuses(Seen):
        def dispatch(self, operator, args, kwargs):
            self.names.append(operator.__name__)
            raise LookupError("no")

    x = square()
    with Refuses() as mode:
        for _ in range(2):
            with pytest.raises(LookupError):
                x.neg()
    assert mode.names == ["neg", "neg"]
    assert current.get().plans


def test_a_mode_decorates_functions() -> None:
    mode = Seen()

    @mode
    def work() -> Tensor:
        return -square()

    work()
    square().neg()
    assert mode.names == ["neg"]


# ------------------------------------------------------------------------------------------------------------- results


def test_a_mode_replaces_results() -> None:
    class Halved(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            return operator(*args, **kwargs) * 0.5

    with Halved():
        assert (square() + 1).tolist() == [[1.0, 1.5], [2.0, 2.5]]


def test_what_the_schema_does_not_say_is_refused() -> None:
    class Forgets(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            operator(*args, **kwargs)

    x = square()
    with Forgets(), pytest.raises(KernelError, match=r"aten::neg: the mode Forgets returned NoneType.*a Tensor"):
        x.neg()


def test_an_in_place_operator_returns_its_argument_whatever_a_mode_returns() -> None:
    class Forgets(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            operator(*args, **kwargs)

    x = square()
    with Forgets():
        assert x.neg_() is x


# ---------------------------------------------------------------------------------------------------- threads and tasks


def test_other_threads_are_not_intercepted() -> None:
    x = square()
    with Seen() as mode:
        thread = threading.Thread(target=lambda: -x)
        thread.start()
        thread.join()
    assert mode.names == []


def test_tasks_have_modes_of_their_own() -> None:
    async def work(mode: Seen, call: Callable[[Tensor], Tensor]) -> None:
        x = square()
        with mode:
            await asyncio.sleep(0)
            call(x)
            await asyncio.sleep(0)
            call(x)

    async def both() -> tuple[list[str], list[str]]:
        one, two = Seen(), Seen()
        await asyncio.gather(work(one, lambda x: -x), work(two, lambda x: x.exp()))
        return one.names, two.names

    assert asyncio.run(both()) == (["neg"] * 2, ["exp"] * 2)


def test_a_task_inherits_the_modes_of_the_one_that_starts_it() -> None:
    async def work() -> None:
        square().neg()

    async def start(mode: Seen) -> None:
        with mode:
            await asyncio.create_task(work())

    mode = Seen()
    asyncio.run(start(mode))
    assert mode.names == ["neg"]


# ----------------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("before", [True, False])
def test_gradients_are_those_without_a_mode_and_it_sees_their_operators(before: bool) -> None:
    with Library("testmodegradients") as lib:

        @lib.op
        @formula
        def cube(self: Tensor) -> Tensor:
            return self * self * self

        @lib.op
        def ninth(self: Tensor) -> Tensor:
            return cube(cube(self))

        x = opdsl.full((2,), 2.0, requires_grad=True)
        with Seen(before_decomposition=before) as mode:
            computed = ninth(x)
            forward = list(mode.names)
            computed.backward(opdsl.full((2,), 1.0))
        assert forward == (["testmodegradients::ninth"] if before else ["testmodegradients::cube"] * 2)
        assert len([name for name in mode.names if "gradient" in name and name not in forward]) == 2
        assert x.grad.tolist() == [9 * 2.0**8] * 2


def test_a_mode_after_decomposition_is_below_autograd() -> None:
    class Doubles(DispatchMode):
        def dispatch(self, operator, args, kwargs):
            result = operator(*args, **kwargs)
            return result + result

    with Library("testmodebelow") as lib:

        @lib.op
        @formula
        def scaled(self: Tensor) -> Tensor:
            return 3.0 * self

        x = opdsl.full((2,), 1.0, requires_grad=True)
        with Doubles():
            computed = scaled(x)
        computed.backward(opdsl.full((2,), 1.0))
        # The result is the mode's; the gradient is the operator's.
        assert (computed.tolist(), x.grad.tolist()) == ([6.0, 6.0], [3.0, 3.0])
