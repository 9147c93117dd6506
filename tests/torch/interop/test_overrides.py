"""Tests of opdsl's kernels as overrides of torch's (``opdsl.interop.torch.overrides``), compared with torch's
results.
"""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn import functional

from opdsl.errors import DispatchKeyError, DuplicateOperatorError, OptionError, UnknownOperatorError
from opdsl.interop.torch import overrides
from opdsl.interop.torch.fused import FUSED
from opdsl.interop.torch.override_registry import LibraryRegistry, TorchRegistry

native = torch._native  # type: ignore[attr-defined]


@pytest.fixture(params=[TorchRegistry, LibraryRegistry])
def registry(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Provide a registry of overrides for each test, once torch's own and once opdsl's; it is empty before and
    after.
    """
    torch_registry = TorchRegistry(native) if request.param is TorchRegistry else LibraryRegistry()
    monkeypatch.setattr(overrides, "_registry", lambda: torch_registry)
    yield torch_registry
    overrides.deregister_op_overrides()


WIDE = (256, 4, 512)


class Case(NamedTuple):
    """Call that an override serves.

    operator: the overridden operator.
    call: calls it on a tensor.
    shape: the shape of the tensor, large enough for the override's condition.
    """

    operator: str
    call: Callable[[torch.Tensor], Any]
    shape: tuple[int, ...] = (64, 4, 512)


def parameters(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(x.shape[-1], generator=generator), torch.rand(x.shape[-1], generator=generator)


CASES = {
    "softmax": Case("_softmax", lambda x: torch.softmax(x, -1)),
    "softmax, dimension from the front": Case("_softmax", lambda x: torch.softmax(x, 2)),
    "log_softmax": Case("_log_softmax", lambda x: torch.log_softmax(x, -1)),
    "layer_norm": Case("native_layer_norm", lambda x: functional.layer_norm(x, x.shape[-1:], *parameters(x)), WIDE),
    "layer_norm without parameters": Case("native_layer_norm", lambda x: functional.layer_norm(x, x.shape[-2:]), WIDE),
    "layer_norm, all results": Case(
        "native_layer_norm", lambda x: torch.native_layer_norm(x, x.shape[-1:], parameters(x)[0], None, 1e-3), WIDE
    ),
    "gelu": Case("gelu", functional.gelu, (2048, 2048)),
    "gelu by tanh": Case("gelu", lambda x: functional.gelu(x, approximate="tanh")),
    "softplus": Case("softplus", lambda x: functional.softplus(x, 2.0, 3.0)),
    "softplus, defaults": Case("softplus", functional.softplus),
    "elu": Case("elu", lambda x: functional.elu(x, 0.5)),
    "selu": Case("elu", functional.selu),
    "mish": Case("mish", functional.mish),
    "channels_last": Case("tanh", lambda x: torch.tanh(x[:, :, None].contiguous())),
    **{name: Case(name, getattr(torch, name)) for name in ("atan", "erf", "exp", "expm1", "log1p", "sinh", "tanh")},
}


def sample(shape: tuple[int, ...]) -> torch.Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    x.view(-1)[:4] = torch.tensor([0.0, -0.0, 30.0, -0.75])
    return x


def served(case: Case, x: torch.Tensor) -> tuple[Any, int]:
    """Return the result of a call while its operator is overridden, and how often the override served it."""
    counted: list[Any] = []
    fused = FUSED[case.operator]

    def implementation(*inputs: Any, **named: Any) -> Any:
        counted.append(inputs)
        return fused.implementation(*inputs, **named)

    overrides.register_op_override("aten", case.operator, "CPU", fused.condition, implementation)
    return case.call(x), len(counted)


@pytest.mark.parametrize("name", CASES)
def test_an_override_computes_what_torch_computes(name: str, registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    x = sample(case.shape)
    expected = case.call(x)
    actual, count = served(case, x)
    torch.testing.assert_close(actual, expected, rtol=2e-6, atol=2e-6, equal_nan=True, check_stride=True)
    assert count == 1


def test_every_override_has_a_case() -> None:
    assert {case.operator for case in CASES.values()} == set(FUSED)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "layer_norm", "gelu by tanh", "tanh", "elu"])
def test_torchs_autograd_works_over_an_override(name: str, registry: Any) -> None:
    case = CASES[name]
    x, weight = sample(case.shape), sample(case.shape).sin()
    plain, overridden = x.clone().requires_grad_(), x.clone().requires_grad_()
    (case.call(plain) * weight).sum().backward()
    overrides.override(case.operator)
    (case.call(overridden) * weight).sum().backward()
    torch.testing.assert_close(overridden.grad, plain.grad, rtol=1e-5, atol=1e-5)


DECLINED: dict[str, tuple[str, Callable[[], Any]]] = {
    "another dtype": ("tanh", lambda: torch.tanh(sample((256, 512)).double())),
    "few elements": ("tanh", lambda: torch.tanh(torch.ones(4))),
    "no elements": ("tanh", lambda: torch.tanh(torch.ones(0, 5))),
    "strides": ("tanh", lambda: torch.tanh(sample((512, 256)).t())),
    "another dimension": ("_softmax", lambda: torch.softmax(sample((512, 256)), 0)),
    "converted": ("_softmax", lambda: torch.softmax(sample((512, 256)), 1, dtype=torch.float64)),
    "copied when written": ("tanh", lambda: torch.tanh(torch._lazy_clone(sample((512, 256))))),
    "parameters of another dtype": (
        "native_layer_norm",
        lambda: torch.native_layer_norm(sample((1024, 512)).bfloat16(), [512], torch.ones(512), torch.ones(512), 1e-5),
    ),
    "parameters with strides": (
        "native_layer_norm",
        lambda: functional.layer_norm(sample((1024, 512)), [512], torch.ones(1024)[::2], torch.ones(512)),
    ),
}


@pytest.mark.parametrize("name", DECLINED)
def test_what_no_condition_takes_goes_to_torch(name: str, registry: Any) -> None:
    operator, call = DECLINED[name]
    expected = call()

    def refuse(*inputs: Any, **named: Any) -> Any:
        raise AssertionError("the override serves")

    overrides.register_op_override("aten", operator, "CPU", FUSED[operator].condition, refuse)
    torch.testing.assert_close(call(), expected, rtol=0, atol=0)


def test_errors_of_arguments_are_torchs(registry: Any) -> None:
    overrides.override()
    with pytest.raises(RuntimeError, match="normalized_shape"):
        functional.layer_norm(sample((1024, 512)), [256])


def test_results_and_arguments_stay_resizable(registry: Any) -> None:
    overrides.override("tanh")
    x = sample((256, 256))
    y = torch.tanh(x)
    assert y.untyped_storage().resizable() and x.untyped_storage().resizable()


def test_an_override_serves_calls_of_another_shape_and_again(registry: Any) -> None:
    shapes = [(256, 256), (128, 512), (256, 256)]
    expected = [torch.softmax(sample(shape), -1) for shape in shapes]
    overrides.override("_softmax")
    torch.testing.assert_close([torch.softmax(sample(shape), -1) for shape in shapes], expected)


def test_inference_mode(registry: Any) -> None:
    overrides.override("tanh")
    with torch.inference_mode():
        assert torch.tanh(sample((256, 256))).is_inference()


def test_autocast_stays_above(registry: Any) -> None:
    seen: list[torch.dtype] = []

    def note(self: torch.Tensor, mat2: torch.Tensor) -> bool:
        seen.append(self.dtype)
        return False

    overrides.register_op_override("aten", "mm", "CPU", note, one)
    with torch.autocast("cpu"):
        torch.mm(torch.ones(2, 2), torch.ones(2, 2))
    assert seen == [torch.bfloat16]


# --------------------------------------------------------------------------------------------------------- registering


def one(*inputs: Any, **named: Any) -> torch.Tensor:
    return torch.ones(1)


def two(*inputs: Any, **named: Any) -> torch.Tensor:
    return torch.full((1,), 2.0)


def always(*inputs: Any, **named: Any) -> bool:
    return True


def test_deregistering_restores_torchs_kernels(registry: Any) -> None:
    x = sample((256, 256))
    before = torch.tanh(x)
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    overrides.deregister_op_overrides()
    torch.testing.assert_close(torch.tanh(x), before, rtol=0, atol=0)


def test_deregistered_overrides_stay_deregistered(registry: Any) -> None:
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    overrides.deregister_op_overrides()
    overrides.register_op_override("aten", "tanh", "CPU", always, two)
    assert torch.tanh(torch.zeros(3)).item() == 2


def test_deregistering_twice_does_nothing(registry: Any) -> None:
    overrides.deregister_op_overrides()
    overrides.deregister_op_overrides()
    assert torch.tanh(torch.zeros(1)).item() == 0


def test_the_first_condition_that_holds_serves(registry: Any) -> None:
    overrides.register_op_override("aten", "tanh", "CPU", lambda x: x.numel() == 2, one)
    overrides.register_op_override("aten", "tanh", "CPU", always, two, allow_multiple_override=True)
    assert [torch.tanh(torch.zeros(count))[0].item() for count in (2, 3)] == [1.0, 2.0]


def test_an_unconditional_override(registry: Any) -> None:
    overrides.register_op_override("aten", "tanh", "CPU", None, one, unconditional_override=True)
    assert torch.tanh(torch.zeros(3)).item() == 1


def test_what_a_condition_raises_is_the_calls_error(registry: Any) -> None:
    def fail(x: torch.Tensor) -> bool:
        raise ZeroDivisionError

    overrides.register_op_override("aten", "tanh", "CPU", fail, one)
    with pytest.raises(ZeroDivisionError):
        torch.tanh(torch.zeros(3))


def test_overloads_are_named(registry: Any) -> None:
    overrides.register_op_override("aten", "add.Tensor", "CPU", always, one)
    assert (torch.zeros(3) + torch.zeros(3)).item() == 1


def test_overriding_again_does_nothing(registry: Any) -> None:
    assert overrides.override("gelu") == overrides.override("gelu") == ("gelu",)
    assert len(registry.nodes("opdsl")) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("mylib", "tanh", "CPU", always, one), OptionError, "aten"),
        (("aten", "tanh", "CPU", None, one), OptionError, "unconditional_override"),
        (("aten", "tanh", "Meta", always, one), DispatchKeyError, "meta"),
        (("aten", "tanh", "AutogradCPU", always, one), DispatchKeyError, "autograd"),
        (("aten", "tanh", "CompositeImplicitAutograd", always, one), DispatchKeyError, "backend"),
        (("aten", "softmax.int", "CPU", always, one), DispatchKeyError, "the operators that it calls"),
        (("aten", "tanhh", "CPU", always, one), UnknownOperatorError, "aten::tanhh"),
        (("aten", "add", "CPU", always, one), UnknownOperatorError, "overload"),
    ],
)
def test_mistakes(arguments: Any, error: type[Exception], message: str, registry: Any) -> None:
    with pytest.raises(error, match=message):
        overrides.register_op_override(*arguments)


def test_a_second_override_is_asked_for(registry: Any) -> None:
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    with pytest.raises(DuplicateOperatorError, match="allow_multiple_override"):
        overrides.register_op_override("aten", "tanh", "CPU", always, two)


def test_an_unknown_operator_of_the_table() -> None:
    with pytest.raises(UnknownOperatorError, match="It has _softmax"):
        overrides.override("conv2d")


# --------------------------------------------------------------------------------------------- torch's registry


def test_torch_knows_the_dsl() -> None:
    assert native.dsl_registry.dsl_registry.is_dsl_available("opdsl")
    assert native.dsl_registry.dsl_registry.get_dsl_version("opdsl") == overrides.runtime_version()


def test_torch_lists_its_operators() -> None:
    overrides.override("gelu", "erf")
    assert native.registry.get_dsl_operations("opdsl") == ["erf", "gelu"]
    overrides.deregister_op_overrides()
    assert native.registry.get_dsl_operations("opdsl") == []


def test_torchs_functions_disable_and_enable_it() -> None:
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    native.registry.deregister_op_overrides(disable_dsl_names="opdsl")
    disabled = torch.tanh(torch.zeros(3))
    native.registry.reenable_op_overrides(enable_dsl_names="opdsl")
    enabled = torch.tanh(torch.zeros(3))
    overrides.deregister_op_overrides()
    assert (disabled.numel(), enabled.numel()) == (3, 1)


def test_a_disabled_operator_stays_disabled() -> None:
    native.registry.deregister_op_overrides(disable_op_symbols="tanh")
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    result = torch.tanh(torch.zeros(3))
    overrides.deregister_op_overrides()
    native.registry.reenable_op_overrides(enable_op_symbols="tanh")
    assert result.numel() == 3


def test_overrides_of_another_dsl_stay() -> None:
    native.registry.register_op_override("mine", "aten", "tanh", "CPU", always, two)
    native.registry.reenable_op_overrides(enable_dsl_names="mine")
    overrides.register_op_override("aten", "tanh", "CPU", always, one, allow_multiple_override=True)
    first = torch.tanh(torch.zeros(3)).item()
    overrides.deregister_op_overrides()
    second = torch.tanh(torch.zeros(3)).item()
    native.registry.deregister_op_overrides(disable_dsl_names="mine")
    assert (first, second, torch.tanh(torch.zeros(3)).numel()) == (2, 2, 3)


# ------------------------------------------------------------------------------------------------------- switches


def answer(statement: str, **environment: str) -> str:
    """Run a statement in a fresh process that has overridden tanh for every call, and return the output."""
    code = (
        "import torch; from opdsl.interop.torch import overrides\n"
        "overrides.register_op_override('aten', 'tanh', 'CPU', lambda x: True, lambda x: torch.ones(1))\n"
        f"print(({statement}))"
    )

    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    return run.stdout.strip()


def test_the_switch_of_torch_turns_overrides_off() -> None:
    statement = "torch.tanh(torch.zeros(3)).numel(), overrides.override('gelu')"
    assert answer(statement, TORCH_DISABLE_NATIVE_JIT="1") == "(3, ())"


def test_another_version_of_torch_is_taken_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    refused = overrides.unavailable_reason()
    monkeypatch.setenv("TORCH_NATIVE_SKIP_VERSION_CHECK", "1")
    assert ("2.99.0" in (refused or ""), overrides.unavailable_reason()) == (True, None)


def last_first(operator: str, key: str, graph: list[Any]) -> list[Any]:
    """Return the overrides in reverse order; an ordering function that an environment variable names."""
    return graph[::-1]


def test_the_users_order_is_obeyed(registry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_PYTHON_NATIVE_USER_GRAPH_ORDER_FN", f"{__name__}.last_first")
    native.get_user_ordering_fn.cache_clear()
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    overrides.register_op_override("aten", "tanh", "CPU", always, two, allow_multiple_override=True)
    result = torch.tanh(torch.zeros(3)).item()
    monkeypatch.undo()
    native.get_user_ordering_fn.cache_clear()
    assert result == 2


def test_without_torch_nothing_is_overridden(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(importlib.metadata, "version", absent)
    overrides.register_op_override("aten", "tanh", "CPU", always, one)
    overrides.deregister_op_overrides()
    answers = overrides.runtime_available(), overrides.runtime_version(), overrides.override()
    assert answers == (False, None, ())
    assert "pip install" in (overrides.unavailable_reason() or "")
