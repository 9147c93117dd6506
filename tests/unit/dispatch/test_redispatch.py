"""Tests of redispatch with a key set, fallthrough, and boxed fallbacks that serve every operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import DispatchKeySet, Library, Tensor
from opdsl.errors import (
    ArgumentError,
    DispatchKeyError,
    DuplicateOperatorError,
    KernelError,
    KernelSignatureError,
    MissingKernelError,
)

KEY = "TESTING_ONLY_GenericMode"
BELOW = DispatchKeySet.below(KEY)


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("testredispatch") as library:
        yield library


def ones() -> Tensor:
    return opdsl.ones(2)


# ---------------------------------------------------------------------------------------------------------- redispatch


def test_redispatch_reaches_the_kernel_of_the_key_set() -> None:
    assert opdsl.ops.aten.add.Tensor.redispatch(DispatchKeySet("CPU"), ones(), ones(), alpha=3).tolist() == [4.0, 4.0]


def test_redispatch_of_an_out_variant() -> None:
    out = ones()
    assert opdsl.ops.aten.add.out.redispatch(DispatchKeySet("CPU"), ones(), ones(), out=out) is out
    assert opdsl.ops.aten.add.Tensor.redispatch(DispatchKeySet("CPU"), ones(), out, out=out).tolist() == [3.0, 3.0]


def test_redispatch_knows_no_guards() -> None:
    x = ones()
    with opdsl.include_keys("AutogradXLA"), opdsl.exclude_keys("Dense"):
        result = opdsl.ops.aten.neg.default.redispatch(DispatchKeySet("CPU"), x)
    assert result.tolist() == [-1.0, -1.0]


def test_redispatch_to_keys_without_a_kernel_is_refused() -> None:
    with pytest.raises(MissingKernelError, match=r"aten::neg: no XLA kernel"):
        opdsl.ops.aten.neg.default.redispatch(DispatchKeySet("XLA"), ones())


def test_redispatch_takes_a_key_set_first() -> None:
    with pytest.raises(ArgumentError, match=r"aten::neg: redispatch takes a key set first, not Tensor"):
        opdsl.ops.aten.neg.default.redispatch(ones())


def test_redispatch_checks_its_arguments() -> None:
    with pytest.raises(ArgumentError):
        opdsl.ops.aten.neg.default.redispatch(DispatchKeySet("CPU"), "one")


def test_a_kernel_hands_its_call_on(lib: Library) -> None:
    @lib.impl("aten::neg", "AutogradCPU")
    def neg_autograd(keys: DispatchKeySet, self):
        return opdsl.ops.aten.neg.default.redispatch(keys & DispatchKeySet.below("AutogradCPU"), self) * 10

    assert (-ones()).tolist() == [-10.0, -10.0]
    assert (-ones()).tolist() == [-10.0, -10.0]
    lib.close()
    assert (-ones()).tolist() == [-1.0, -1.0]


def test_modes_come_after_a_kernel_that_hands_its_call_on(lib: Library) -> None:
    notes: list[str] = []

    class Note(opdsl.DispatchMode):
        def dispatch(self, operator, args, kwargs):
            notes.append("mode")
            return operator(*args, **kwargs)

    @lib.impl("aten::neg", "AutocastCPU")
    def neg_autocast(keys: DispatchKeySet, self):
        notes.append("autocast")
        return opdsl.ops.aten.neg.default.redispatch(keys & DispatchKeySet.below("AutocastCPU"), self)

    x = ones()
    state_with_autocast = opdsl.dispatch.state.Guard(lambda state: state.change(exclude=DispatchKeySet()))
    with Note(), state_with_autocast:
        x.neg()
    # The mode's own call is dispatched from the start.
    assert notes == ["autocast", "mode", "autocast"]


# ---------------------------------------------------------------------------------------------------- boxed fallbacks


def note_calls(lib: Library, notes: list[Any]) -> None:
    @lib.fallback(KEY)
    def note(keys: DispatchKeySet, operator, args, kwargs):
        notes.append((str(operator.schema.name), len(args), sorted(kwargs)))
        return operator.redispatch(keys & BELOW, *args, **kwargs)


def test_a_fallback_serves_every_operator(lib: Library) -> None:
    notes: list[Any] = []
    note_calls(lib, notes)
    x = ones()
    x + x
    assert notes == []
    with opdsl.include_keys(KEY):
        opdsl.add(x, 1, alpha=2)
        opdsl.add(x, x, out=x)
        x.view(2).mul_(2)
        opdsl.empty(2, dtype=opdsl.int8)
    assert notes == [
        ("add.Tensor", 2, ["alpha"]),
        ("add.out", 2, ["out"]),
        ("view", 2, []),
        ("mul_.Tensor", 2, []),
        ("empty.memory_format", 1, ["dtype"]),
    ]


def test_the_newest_fallback_serves_and_taking_it_back_restores_the_one_before(lib: Library) -> None:
    first: list[Any] = []
    second: list[Any] = []
    note_calls(lib, first)
    x = ones()
    with opdsl.include_keys(KEY):
        with Library("testredispatch") as other:
            note_calls(other, second)
            x.neg()
        assert len(second) == 1
        x.neg()
    assert len(second) == 1
    assert len(first) == 1


def test_a_second_fallback_of_one_library_is_refused(lib: Library) -> None:
    def first(operator, args, kwargs):
        return operator.redispatch(DispatchKeySet("CPU"), *args, **kwargs)

    def second(operator, args, kwargs):
        raise AssertionError("it is refused")

    lib.fallback(KEY)(first)
    with pytest.raises(DuplicateOperatorError, match=rf'fallback\("{KEY}"\): this library has .*first there already'):
        lib.fallback("PrivateUse3", KEY)(second)
    with opdsl.include_keys(KEY):
        assert (-ones()).tolist() == [-1.0, -1.0]
    lib.fallback("PrivateUse3")(second)  # the refused registration has left nothing


def test_without_a_fallback_the_key_is_missing() -> None:
    with opdsl.include_keys(KEY), pytest.raises(MissingKernelError, match=KEY):
        ones()


def test_an_operators_own_kernel_goes_before_the_fallback(lib: Library) -> None:
    notes: list[Any] = []
    note_calls(lib, notes)

    @lib.impl("aten::neg", KEY)
    def neg_own(self):
        return "own"  # the call fails before the result is checked against the schema

    x = ones()
    with opdsl.include_keys(KEY), pytest.raises(KernelError, match=r"neg_own .* returned str"):
        x.neg()
    assert notes == []


def test_fallthrough_as_fallback_and_as_kernel(lib: Library) -> None:
    lib.fallback(KEY)(opdsl.fallthrough_kernel)
    with opdsl.include_keys(KEY):
        assert (-ones()).tolist() == [-1.0, -1.0]
    lib.close()
    lib.impl("aten::neg", KEY)(opdsl.fallthrough_kernel)
    x = ones()
    with opdsl.include_keys(KEY):
        assert (-x).tolist() == [-1.0, -1.0]
        with pytest.raises(MissingKernelError):
            x.exp()


def test_a_fallback_at_a_backend_serves_operators_without_a_kernel(lib: Library) -> None:
    @lib.fallback("XLA")
    def on_the_cpu(operator, args, kwargs):
        return operator(*args, **kwargs) * 2

    assert opdsl.ops.aten.neg.default.redispatch(DispatchKeySet("XLA"), ones()).tolist() == [-2.0, -2.0]
    table = opdsl.ops.aten.neg.default.dispatch_table()
    assert str(table["XLA"]).endswith("on_the_cpu [backend fallback]")


def test_an_operator_declared_later_has_the_fallback(lib: Library) -> None:
    notes: list[Any] = []
    note_calls(lib, notes)

    @lib.op
    def later(self: Tensor) -> Tensor:
        return -self

    x = ones()
    with opdsl.include_keys(KEY):
        later(x)
    assert [name for name, *_ in notes] == ["testredispatch::later", "neg"]


def test_a_result_that_does_not_fit_is_refused(lib: Library) -> None:
    @lib.fallback(KEY)
    def forgets(operator, args, kwargs):
        return None

    x = ones()
    with opdsl.include_keys(KEY), pytest.raises(KernelError, match=r"aten::neg: the fallback .*forgets returned None"):
        x.neg()


def test_a_fallback_of_other_parameters_is_refused(lib: Library) -> None:
    with pytest.raises(KernelSignatureError, match=r"Write: def f\(operator, args, kwargs\)"):

        @lib.fallback(KEY)
        def f(operator, *args):
            return None


@pytest.mark.parametrize(
    ("keys", "message"),
    [((), "names no dispatch key"), (["Autograd"], "alias key"), (["Sparse"], "once per backend")],
)
def test_keys_that_no_fallback_can_have(lib: Library, keys: list[str], message: str) -> None:
    def f(operator, args, kwargs):
        return None

    with pytest.raises(DispatchKeyError, match=message):
        lib.fallback(*keys)(f)
