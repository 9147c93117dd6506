"""Tests of overrides by native DSLs: conditions, order, switches, and fallbacks."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy
import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.backends.dsl import numba_dsl
from opdsl.cli import probes
from opdsl.dispatch.overrides import native_dsl
from opdsl.dispatch.overrides.overriding import Override, overrides
from opdsl.errors import (
    DeclarationError,
    DispatchKeyError,
    DuplicateOperatorError,
    KernelError,
    KernelSignatureError,
    OptionError,
    RequiresGradError,
)
from opdsl.interop.torch import dsl as torch_dsl

pytestmark = pytest.mark.usefixtures("plans_at_once")

DSL = "testdsl"


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    for op_override in opdsl.list_op_overrides():
        overrides.remove(op_override)
    opdsl.reenable_op_overrides(
        enable_dsl_names=[DSL, "second", "numba"], enable_op_symbols=["mul.Tensor"], enable_dispatch_keys=["CPU"]
    )


@pytest.fixture
def one() -> Tensor:
    return opdsl.tensor([3.0])


def is_vector(self: Tensor, other: Tensor) -> bool:
    return self.ndim == 1


def seven(self: Tensor, other: Tensor) -> Tensor:
    return self - self + 7.0


def eight(self: Tensor, other: Tensor) -> Tensor:
    return self - self + 8.0


def override(cond: Any = is_vector, impl: Any = seven, dsl: str = DSL, **options: Any) -> Override:
    return opdsl.register_op_override(dsl, "aten", "mul.Tensor", "CPU", cond, impl, **options)


def product(one: Tensor) -> float:
    """Return the sum of ``one * one``, after checking that a call and a call by its plan agree."""
    first, second = opdsl.mul(one, one).sum().item(), opdsl.mul(one, one).sum().item()
    assert first == second
    return float(first)  # type: ignore[arg-type]


def test_a_matching_condition_serves_the_call(one: Tensor) -> None:
    override()
    assert product(one) == 7.0


def test_no_match_runs_the_kernel_that_was_there(one: Tensor) -> None:
    override()
    assert product(one.view(1, 1)) == 9.0


def test_a_condition_is_asked_on_every_call(one: Tensor) -> None:
    override(lambda self, other: self.item() > 2.0)
    assert product(one) == 7.0
    one.copy_(opdsl.tensor([1.0]))
    assert product(one) == 1.0
    one.copy_(opdsl.tensor([4.0]))
    assert product(one) == 7.0


def test_plans_from_before_the_registration_are_dropped(one: Tensor) -> None:
    assert product(one) == 9.0
    override()
    assert product(one) == 7.0


def test_the_first_matching_condition_wins(one: Tensor) -> None:
    override(lambda self, other: False)
    override(impl=eight, allow_multiple_override=True)
    override(impl=seven, allow_multiple_override=True)
    assert product(one) == 8.0


def test_an_override_is_no_kernel_that_another_could_be_put_over() -> None:
    with Library("overridden_alone") as lib:

        @lib.op
        def twice(self: Tensor) -> Tensor:
            return self + self

        def register(**options: Any) -> Override:
            return opdsl.register_op_override(
                DSL, "overridden_alone", "twice", "CPU", lambda self: True, lambda self: self * 2, **options
            )

        with Library("kernels_beside") as other:
            other.impl("overridden_alone::twice", "CPU")(lambda self: self * 2)
            first = register()
        with pytest.raises(DispatchKeyError, match="only a CompositeImplicitAutograd kernel"):
            register(allow_multiple_override=True)
        overrides.remove(first)


def test_a_second_override_needs_permission() -> None:
    override()
    with pytest.raises(DuplicateOperatorError, match="allow_multiple_override=True"):
        override()


def test_an_unconditional_override_needs_no_condition(one: Tensor) -> None:
    override(None, unconditional_override=True)
    assert product(one) == 7.0


def test_without_a_condition_it_must_say_so() -> None:
    with pytest.raises(OptionError, match="unconditional_override=True"):
        override(None)


def test_what_a_condition_raises_is_the_calls_error(one: Tensor) -> None:
    def broken(self: Tensor, other: Tensor) -> bool:
        raise ZeroDivisionError

    override(broken)
    with pytest.raises(ZeroDivisionError):
        opdsl.mul(one, one)


def test_dispatch_keys_are_received_and_handed_to_the_fallback(one: Tensor) -> None:
    fallback = opdsl.override_fallback("mul.Tensor", "CPU")

    def doubled(dispatch_keys: opdsl.DispatchKeySet, self: Tensor, other: Tensor) -> Any:
        assert "CPU" in dispatch_keys
        return opdsl.add(fallback(dispatch_keys, self, other), fallback(dispatch_keys, self, other))

    override(is_vector, doubled)
    assert opdsl.mul(one, one).item() == 18.0


def test_composite_operators_are_refused() -> None:
    with Library("testoverrides") as library:

        @library.op
        def twice(self: Tensor) -> Tensor:
            return self + self

        with pytest.raises(DispatchKeyError, match="only a CompositeImplicitAutograd kernel"):
            opdsl.register_op_override(DSL, "testoverrides", "twice", "CPU", lambda self: True, lambda self: self)


@pytest.mark.parametrize("key", ["Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd", "AutogradCPU"])
def test_keys_that_are_no_backends_own_are_refused(key: str) -> None:
    with pytest.raises(DispatchKeyError, match="no override can be registered at"):
        opdsl.register_op_override(DSL, "aten", "mul.Tensor", key, is_vector, seven)


def test_signatures_are_held_against_the_schema() -> None:
    with pytest.raises(KernelSignatureError, match=r"def <lambda>\(self, other\)"):
        override(lambda self: True)
    with pytest.raises(KernelSignatureError, match="the implementation"):
        override(is_vector, lambda self, other, third: self)


def test_functions_of_any_arguments_fit(one: Tensor) -> None:
    override(lambda *args, **kwargs: True, lambda *args, **kwargs: seven(*args))
    assert product(one) == 7.0


def test_a_result_that_the_schema_does_not_have_is_refused(one: Tensor) -> None:
    override(is_vector, lambda self, other: 3.0)
    with pytest.raises(KernelError, match="returned float"):
        opdsl.mul(one, one)


def test_an_override_of_an_in_place_operator_bumps_the_version(one: Tensor) -> None:
    def write(self: Tensor, other: Tensor) -> None:
        self.numpy()[...] = 5.0

    opdsl.register_op_override(DSL, "aten", "mul_.Tensor", "CPU", lambda self, other: True, write)
    for _ in range(2):
        before = one._version
        assert one.mul_(one) is one
        assert (one.item(), one._version) == (5.0, before + 1)


@pytest.mark.parametrize(
    "names",
    [{"dsl_names": DSL}, {"op_symbols": "mul.Tensor"}, {"op_symbols": ["aten::mul.Tensor"]}, {"dispatch_keys": "CPU"}],
)
def test_overrides_are_disabled_and_enabled_again(one: Tensor, names: dict[str, Any]) -> None:
    override()
    assert product(one) == 7.0
    opdsl.deregister_op_overrides(**{f"disable_{name}": value for name, value in names.items()})
    assert product(one) == 9.0
    opdsl.reenable_op_overrides(**{f"enable_{name}": value for name, value in names.items()})
    assert product(one) == 7.0


def test_a_disabled_dsl_stays_disabled_after_a_reorder(one: Tensor) -> None:
    override()
    override(impl=eight, dsl="second", allow_multiple_override=True)
    opdsl.deregister_op_overrides(disable_dsl_names=DSL)
    opdsl.reorder_graphs_from_user_function(lambda name, key, graph: graph[::-1])
    opdsl.reorder_graphs_from_user_function(lambda name, key, graph: graph[::-1])
    assert product(one) == 8.0


def test_a_user_orders_overrides(one: Tensor) -> None:
    override()
    override(impl=eight, dsl="second", allow_multiple_override=True)
    assert product(one) == 7.0
    opdsl.reorder_graphs_from_user_function(lambda name, key, graph: graph[::-1])
    assert product(one) == 8.0


def test_an_order_function_that_loses_overrides_changes_nothing(one: Tensor) -> None:
    override()
    with pytest.raises(OptionError, match="Return them all"):
        opdsl.reorder_graphs_from_user_function(lambda name, key, graph: [])
    assert product(one) == 7.0


def test_overrides_are_listed() -> None:
    registered = override()
    assert opdsl.list_op_overrides() == [registered]
    assert opdsl.get_dsl_operations(DSL) == ["aten::mul.Tensor"]
    opdsl.deregister_op_overrides(disable_dsl_names=DSL)
    assert opdsl.list_op_overrides(enabled_only=True) == []


def test_an_operator_that_is_declared_again_keeps_its_overrides(one: Tensor) -> None:
    for _ in range(2):
        with Library("testoverrides") as library:

            @library.op
            def same(self: Tensor) -> Tensor: ...

            @same.kernel("CPU")
            def same_cpu(self: Tensor) -> Tensor:
                return self

            if not opdsl.list_op_overrides():
                opdsl.register_op_override(
                    DSL, "testoverrides", "same", "CPU", lambda self: True, lambda self: self + 1.0
                )
            assert same(one).item() == 4.0


def test_an_unavailable_dsl_falls_back_and_says_why(one: Tensor) -> None:
    override(dsl="numba-cuda")
    assert product(one) == 9.0
    reason = opdsl.unavailable_reason("numba-cuda")
    assert reason is not None
    assert "pip install 'numba-cuda>=" in reason or "GPU" in reason


def test_a_numba_kernel_overrides_an_operator(one: Tensor) -> None:
    def product_plus_one(self: Any, other: Any) -> Any:
        return self * other + 1.0

    numba_dsl.register_op_override("aten", "mul.Tensor", "CPU", is_vector, numba_dsl.compiled(product_plus_one))
    assert opdsl.mul(one, one).numpy().tolist() == [10.0]
    numba_dsl.deregister_op_overrides()
    assert product(one) == 9.0


def test_a_function_that_numba_has_compiled_overrides_an_operator(one: Tensor) -> None:
    @numba.njit
    def product_plus_two(self: Any, other: Any) -> Any:
        return self * other + 2.0

    numba_dsl.register_op_override("aten", "mul.Tensor", "CPU", is_vector, product_plus_two)
    assert opdsl.mul(one, one).numpy().tolist() == [11.0]
    numba_dsl.deregister_op_overrides()
    opdsl.register_op_override(
        "mine",
        "aten",
        "mul.Tensor",
        "CPU",
        is_vector,
        numba_dsl.compiled(product_plus_two),
        allow_multiple_override=True,
    )
    assert opdsl.mul(one, one).numpy().tolist() == [11.0]


@pytest.mark.parametrize(
    ("implementation", "message"),
    [
        (numba.njit(lambda self, other: self), r"compiled by numba.*Pass opdsl.backends.dsl.numba_dsl.compiled\("),
        (math.sin, r"sin does not accept the arguments of .*. Write: def sin\(self, other\)"),
        (functools.partial(lambda one, self: self, 1), "does not accept the arguments of"),
        (str.upper, "does not accept the arguments of"),
    ],
)
def test_implementations_that_take_something_else(implementation: Any, message: str) -> None:
    with pytest.raises(KernelSignatureError, match=message):
        opdsl.register_op_override("mine", "aten", "mul.Tensor", "CPU", is_vector, implementation)


def test_what_numba_does_not_compile_is_refused() -> None:
    with pytest.raises(KernelSignatureError, match="numba compiles Python functions"):
        numba_dsl.compiled(numpy.add)


def in_a_process(program: str, **environment: str) -> str:
    process = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout.strip()


PROGRAM = """
import sys, opdsl
assert "opdsl.dispatch.overrides.overriding" not in sys.modules
for name, shift in (("numba", 1.0), ("numba", 2.0)):
    opdsl.register_op_override(name, "aten", "mul.Tensor", "CPU", lambda self, other: True,
                               lambda self, other, shift=shift: self + shift, allow_multiple_override=True)
assert "opdsl.backends.dsl.numba_dsl" not in sys.modules
x = opdsl.tensor([3.0])
print(opdsl.mul(x, x).item(), "numba" in sys.modules, "opdsl.backends.dsl.numba_dsl" in sys.modules)
"""


def test_a_dsl_is_imported_by_the_first_call_and_its_package_is_not() -> None:
    assert in_a_process(PROGRAM) == "4.0 False True"


def test_the_environment_turns_all_off() -> None:
    assert in_a_process(PROGRAM, OPDSL_DISABLE_NATIVE_DSLS="1") == "9.0 False False"


def test_the_environment_names_an_order_function(tmp_path: Any) -> None:
    (tmp_path / "my_order.py").write_text("def newest_first(name, key, graph):\n    return graph[::-1]\n")
    result = in_a_process(PROGRAM, OPDSL_NATIVE_ORDER_FUNCTION="my_order.newest_first", PYTHONPATH=str(tmp_path))
    assert result == "5.0 False True"


def test_an_old_version_is_refused_unless_the_check_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = native_dsl.missing_reason("numba", "numba", "numba", (999,))
    assert sentence is not None
    assert sentence.startswith("the native DSL numba needs numba 999 or newer, and 0.")
    monkeypatch.setenv("OPDSL_NATIVE_SKIP_VERSION_CHECK", "1")
    assert native_dsl.missing_reason("numba", "numba", "numba", (999,)) is None


def test_probes_and_plans_work_in_a_forked_process(one: Tensor) -> None:
    override(dsl="numba")
    assert product(one) == 7.0
    child = os.fork()
    if child == 0:
        os._exit(int(opdsl.unavailable_reason("numba") is not None or product(one) != 7.0))
    assert os.waitpid(child, 0)[1] == 0


def test_a_dsl_that_lacks_a_part_is_refused() -> None:
    with pytest.raises(DeclarationError, match="lacks runtime_available, runtime_version"):
        opdsl.register_dsl("incomplete", os)


def broken_dsls(tmp_path: Path) -> dict[str, Any]:
    """Return modules of DSLs, each of which fails in another way; modules given by name fail when they are imported."""

    def fail() -> bool:
        raise ZeroDivisionError("this DSL is broken")

    def module(**parts: Any) -> ModuleType:
        module = ModuleType("broken_dsl")
        usual = {"runtime_available": lambda: False, "runtime_version": fail}
        registering = dict.fromkeys(("register_op_override", "deregister_op_overrides"), fail)
        vars(module).update({**usual, **registering, **parts})
        return module

    (tmp_path / "dsl_that_raises.py").write_text("raise ValueError('not today')\n")
    (tmp_path / "dsl_without_parts.py").write_text("")
    return {
        "asked": module(runtime_available=fail),
        "explaining": module(unavailable_reason=fail),
        "imported": "dsl_that_raises",
        "missing": "dsl_that_is_not_there",
        "incomplete": "dsl_without_parts",
    }


SAID = {
    "asked": "ZeroDivisionError: this DSL is broken",
    "explaining": "ZeroDivisionError: this DSL is broken",
    "imported": "ValueError: not today",
    "missing": "No module named 'dsl_that_is_not_there'",
    "incomplete": "lacks runtime_available",
}


@pytest.mark.parametrize("kind", SAID)
def test_a_broken_dsl_is_unavailable_and_says_why(
    kind: str, one: Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(native_dsl, "_modules", {**native_dsl._modules})
    opdsl.register_dsl("broken", broken_dsls(tmp_path)[kind])
    override(dsl="broken")
    assert product(one) == 9.0
    reason = opdsl.unavailable_reason("broken")
    assert reason is not None
    assert SAID[kind] in reason
    findings = {finding.subject: finding for finding in probes.findings()["native DSLs"]}
    assert SAID[kind] in str(findings["broken"])


def test_a_version_that_a_dsl_cannot_say_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = broken_dsls(tmp_path)["asked"]
    module.runtime_available = lambda: True
    monkeypatch.setattr(native_dsl, "_modules", {**native_dsl._modules})
    opdsl.register_dsl("broken", module)
    assert "of unknown version" in str(
        {finding.subject: finding for finding in probes.findings()["native DSLs"]}["broken"]
    )


@pytest.mark.parametrize("dsl", ["numba", "torch"])
def test_an_override_serves_tensors_that_require_grad(dsl: str) -> None:
    compiled = numba_dsl.compiled(times) if dsl == "numba" else torch_dsl.computed(times)
    override(lambda self, other: True, compiled, dsl)
    x, y = (opdsl.tensor(numbers, requires_grad=True) for numbers in ([1.0, 2.0], [3.0, 5.0]))
    for count in (1, 2):
        product = x * y
        assert product.tolist() == [3.0, 10.0]
        product.sum().backward()
        assert (x.grad / count).tolist() == [3.0, 5.0]
        assert (y.grad / count).tolist() == [1.0, 2.0]
        with opdsl.no_grad():
            assert (x * y).tolist() == [3.0, 10.0]
        with opdsl.inference_mode():
            assert (x * y).tolist() == [3.0, 10.0]


def times(one: Any, other: Any) -> Any:
    return one * other


def test_a_kernel_below_autograd_reads_tensors_that_require_grad() -> None:
    with Library("overrides_sorting") as lib:

        @lib.op
        def sorted_numbers(self: Tensor) -> Tensor: ...

        @sorted_numbers.kernel("CPU")
        def sorted_numbers_cpu(self):
            return opdsl.from_numpy(numpy.sort(self.numpy())) + opdsl.from_dlpack(self) * 0

        @sorted_numbers.derivative("self")
        def sorted_numbers_derivative(grad, self):
            return opdsl.empty_like(grad).scatter(0, self.detach().argsort(), grad)

        @lib.op
        def doubled(self: Tensor) -> Tensor:
            return opdsl.from_numpy(self.numpy() * 2)

        x = opdsl.tensor([3.0, 1.0], requires_grad=True)
        for count in (1, 2):
            y = sorted_numbers(x)
            assert y.tolist() == [1.0, 3.0]
            (y * opdsl.tensor([1.0, 2.0])).sum().backward()
            assert (x.grad / count).tolist() == [2.0, 1.0]
        with pytest.raises(RequiresGradError, match=r"Can't call numpy\(\)"):
            doubled(x)
        with opdsl.no_grad():
            assert doubled(x).tolist() == [6.0, 2.0]
