"""Tests of plans: they run repeated calls, and never a different call."""

from __future__ import annotations

import threading

import pytest

import opdsl
from opdsl import Library, Tensor, registry
from opdsl.dispatch import Operator
from opdsl.dispatch.keys import DispatchKey


@pytest.fixture
def lib():
    with Library("planned") as library:
        yield library


@pytest.fixture
def doubled(lib):
    @lib.op(out=True)
    def f(self: Tensor) -> Tensor: ...

    f.kernel("CPU")(lambda self: self + self)
    return f


def override(lib, function, kernel):
    """Register a newer CPU kernel of an operator in a separate library, and return the library."""
    from opdsl.kernels.definitions.python_kernel import PythonKernel

    other = Library("planned_overrides")
    operator = function.operator
    plain = PythonKernel(kernel, operator.schema, operator.name, bumps_version=False)
    other.register(operator, DispatchKey("CPU"), plain)
    return other


def test_the_first_call_makes_no_plan_and_the_second_takes_one(doubled):
    x = opdsl.tensor([1.0])
    doubled(x)
    assert registry.packets["planned::f"].main.cache.stored == 0
    assert doubled(x).item() == 2.0
    assert registry.packets["planned::f"].main.cache.stored == 1
    assert doubled(x).item() == 2.0


def test_registration_between_two_calls_changes_the_second(lib, doubled):
    x = opdsl.tensor([1.0])
    before = doubled(x).item()
    other = override(lib, doubled, lambda self: self * 5)
    during = doubled(x).item()
    other.close()
    assert (before, during, doubled(x).item()) == (2.0, 5.0, 2.0)


def test_the_first_call_with_an_output_takes_self_by_name(doubled):
    out = opdsl.empty(2)
    assert doubled(self=opdsl.ones(2), out=out) is out
    assert out.tolist() == [2.0, 2.0]


def test_registration_changes_out_calls_too():
    x, out = opdsl.tensor([1.0]), opdsl.empty(1)
    packet = registry.packets["aten::exp"]
    packet.forget()
    for _ in range(2):
        opdsl.exp(x, out=out)
    assert packet.main.cache.out.stored == 1
    packet.forget()
    assert packet.main.cache.out.stored == 0


def test_several_outputs_have_plans():
    x = opdsl.tensor([[1, 3, 2]])
    values, indices = (opdsl.empty(1, dtype=opdsl.int64) for _ in range(2))
    out = opdsl.ops.aten.max.dim_max
    for _ in range(2):
        opdsl.max(x, 1, out=(values, indices))
    calls = []
    operator = out.operator
    original = type(operator).find
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(operator), "find", lambda *inputs: calls.append(inputs) or original(*inputs))
        result = opdsl.max(opdsl.tensor([[7, 8, 9]]), 1, out=(values, indices))
    assert (values.tolist(), indices.tolist(), calls) == ([9], [2], [])
    assert result[0] is values and result[1] is indices


def test_outputs_that_are_one_tensor_are_refused_after_plans_were_made():
    x, values = opdsl.tensor([[1, 3, 2]]), opdsl.zeros(1, dtype=opdsl.int64)
    for _ in range(2):
        opdsl.max(x, 1, out=(values, opdsl.zeros(1, dtype=opdsl.int64)))
    with pytest.raises(RuntimeError):
        opdsl.max(x, 1, out=(values, values))


@pytest.mark.parametrize(
    ("number", "dtype"), [(2, opdsl.int32), (2.0, opdsl.float32), (True, opdsl.int32), (2, opdsl.int32)]
)
def test_the_kind_of_a_number_is_in_the_key(number, dtype):
    x = opdsl.tensor([1], dtype=opdsl.int32)
    opdsl.add(x, 1), opdsl.add(x, 1.0), opdsl.add(x, True)
    assert opdsl.add(x, number).dtype is dtype


def test_the_default_dtype_is_in_the_key():
    x = opdsl.tensor([1])
    before = opdsl.get_default_dtype()
    opdsl.add(x, 0.5)
    try:
        opdsl.set_default_dtype(opdsl.float64)
        assert opdsl.add(x, 0.5).dtype is opdsl.float64
    finally:
        opdsl.set_default_dtype(before)
    assert opdsl.add(x, 0.5).dtype is opdsl.float32


@pytest.mark.parametrize("wrong", [(2.0, 2), (True, 4), ("2", 2)])
def test_sizes_of_another_type_do_not_find_the_plan(wrong):
    x = opdsl.zeros(4)
    x.view(2, 2), x.view(1, 4)
    with pytest.raises(opdsl.errors.ArgumentError):
        x.view(*wrong)


def test_dimensions_of_another_type_do_not_find_the_plan():
    x = opdsl.zeros(2, 2)
    opdsl.sum(x, 1)
    with pytest.raises(opdsl.errors.ArgumentError):
        opdsl.sum(x, 1.0)


def test_a_view_of_the_written_tensor_is_read_before_it_is_written():
    base = opdsl.tensor([1.0, 2.0, 3.0])
    fresh = opdsl.tensor([5.0, 6.0])
    head = base[:2]
    head.add_(fresh), head.add_(fresh)
    with pytest.raises(opdsl.errors.OverlapError):
        head.add_(base[1:])


def test_threads_that_call_while_kernels_change_see_one_of_them(lib, doubled):
    x = opdsl.tensor([1.0])
    seen: set[float] = set()
    stop = threading.Event()

    def call():
        while not stop.is_set():
            seen.add(doubled(x).item())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        override(lib, doubled, lambda self: self * 5).close()
    stop.set()
    for thread in threads:
        thread.join()
    assert seen <= {2.0, 5.0}
    assert doubled(x).item() == 2.0


def test_new_shapes_do_not_grow_the_plans_without_bound(monkeypatch):
    from opdsl.dispatch.plans import call_cache

    monkeypatch.setattr(call_cache, "PLAN_LIMIT", 8)
    for size in range(1, 30):
        opdsl.neg(opdsl.zeros(size))
    assert registry.packets["aten::neg"].main.cache.stored <= 8


def test_a_traceback_shows_the_generated_source(doubled):
    import traceback

    try:
        doubled(3)
    except opdsl.errors.ArgumentError as error:
        lines = traceback.format_exception(error)
    assert any("return slow(" in line for line in lines)


def test_parameters_may_have_the_names_that_the_generated_function_uses(lib):
    @lib.op
    def f(
        self: Tensor, plans: Tensor, state: float, type: int, slow: int = 1, plan: int = 2, number: int = 3
    ) -> Tensor:
        return self + plans * state * type * slow * plan * number

    x = opdsl.tensor([1.0])
    assert [f(x, x, 2.0, 3).item(), f(x, x, 2.0, 3, number=1).item(), f(x, plans=x, state=2.0, type=1).item()] == [
        37,
        13,
        13,
    ]
    assert [f(x, x, 2.0, 3).item(), f(x, x, 2.0, 3, number=1).item(), f(x, plans=x, state=2.0, type=1).item()] == [
        37,
        13,
        13,
    ]


def test_a_function_whose_library_is_closed_says_so():
    with Library("closed") as lib:

        @lib.op(out=True)
        def f(self: Tensor) -> Tensor:
            return self

        f(opdsl.tensor([1.0]))
        out = f.variants["out"]
    with pytest.raises(opdsl.errors.UnknownOperatorError, match="closed::f: no operator of that name"):
        f(opdsl.tensor([1.0]))
    with pytest.raises(opdsl.errors.UnknownOperatorError, match=r"closed::f\.out is not declared any more"):
        out(opdsl.tensor([1.0]), out=opdsl.empty(1))


def test_an_authors_exception_keeps_its_class_and_names_the_operators_planned_or_not():
    with Library("testnotes") as lib:

        @lib.op
        def inner(self: Tensor) -> Tensor: ...

        @inner.kernel("CPU")
        def inner_kernel(self):
            if fails:
                raise LookupError("mine")
            return self

        @lib.op
        def outer(self: Tensor) -> Tensor:
            return inner(self)

        x = opdsl.ones(2)
        for planned in (False, True):
            fails = False
            if planned:
                outer(x)
            fails = True
            with pytest.raises(LookupError, match="mine") as caught:
                outer(x)
            assert caught.value.__notes__ == [
                "raised in a kernel of testnotes::inner",
                "raised in a kernel of testnotes::outer",
            ]


def test_an_error_of_ours_names_the_operator_planned_or_not():
    with Library("testnames") as lib:

        @lib.op
        def picky(self: Tensor) -> Tensor: ...

        @picky.kernel("CPU")
        def picky_kernel(self):
            opdsl.check(not fails, "no more")
            return self

        x = opdsl.ones(2)
        for planned in (False, True):
            fails = False
            if planned:
                picky(x)
            fails = True
            with pytest.raises(RuntimeError, match=r"^testnames::picky: no more"):
                picky(x)


def test_lists_with_none_beside_tensors_have_plans_of_their_own(lib):
    @lib.op("first.list")
    def first(self: list[Tensor | None]) -> Tensor:
        return next(tensor for tensor in self if tensor is not None) * len(self)

    @first.overload("one")
    def first_one(self: Tensor) -> Tensor:
        return self * 10

    for size in (2, 3, 4):
        x = opdsl.ones(size)
        for inputs, factor in (([None, x], 2), ([x], 1), (x, 10), ([x, None, None], 3)):
            assert first(inputs).tolist() == [factor] * size


def test_a_tensor_of_a_bool_is_no_size():
    for call in (lambda x, at: x.select(0, at), lambda x, at: x.view(at, 3), lambda x, at: opdsl.zeros((at,))):
        with pytest.raises(opdsl.errors.ArgumentError):
            call(opdsl.ones(3), opdsl.tensor(True))
    assert opdsl.ones(3).select(0, opdsl.tensor(1)).item() == 1


def test_lists_where_a_tensor_may_be_have_plans_of_their_own(plans_at_once) -> None:
    with Library("listed") as lib:

        @lib.op
        def total(values: list[Tensor | None]) -> Tensor:
            return sum((value.sum() for value in values if value is not None), opdsl.zeros(()))

        @total.overload("one")
        def total_of_one(values: Tensor) -> Tensor:
            return values.sum()

        for _ in range(3):
            for size in (2, 5):
                x = opdsl.ones(size)
                assert [total(case).item() for case in (x, [x], [x, x], [x, None], [None, x])] == [
                    size * count for count in (1, 1, 2, 1, 1)
                ]


@pytest.mark.parametrize("name", ["plans", "slow", "path", "form_path", "state"])
def test_an_operator_may_have_a_name_of_ours(lib, monkeypatch, name):
    names = {"Tensor": Tensor}
    exec(f"def {name}(self: Tensor) -> Tensor: return self.neg()", names)
    called = lib.op(names[name])
    x = opdsl.ones(2)
    for _ in range(2):
        assert called(x).tolist() == [-1.0, -1.0]
    monkeypatch.setattr(Operator, "find", None)  # plans do not look up kernels
    assert called(x).tolist() == [-1.0, -1.0]
