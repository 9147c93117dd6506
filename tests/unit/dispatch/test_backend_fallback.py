"""Tests of a backend with memory and a fallback: every operator reaches the fallback, and computes the CPU's
results.
"""

from __future__ import annotations

import os
import warnings
from itertools import islice

import pytest

import opdsl
from opdsl import DispatchKeySet, Library, Tensor
from opdsl.declare.declaration import Declaration
from opdsl.errors import MissingKernelError
from opdsl.testing.laws.devices import disagreements
from opdsl.testing.samples import samples_of
from opdsl.testing.subject import Subject
from tests.unit.dispatch import host_backend
from tests.unit.dispatch.host_backend import KEY

DEVICE = host_backend.install()

opdsl.add  # noqa: B018  loads the operators

# Other tests of this process may have declared operators, for which no sample can be made.
OPERATORS = [
    operator
    for operator in opdsl.registry
    if isinstance(operator.declaration, Declaration)
    and operator.declaration.main is operator
    and operator.declaration.function.__module__.startswith("opdsl.")
]
CHOSEN = OPERATORS if "OPDSL_TEST_FULL" in os.environ else OPERATORS[::16]


@pytest.fixture
def redispatching():
    """Register the fallback of the README, which redispatches to the CPU."""
    with Library("testfallback") as lib:

        @lib.fallback(KEY)
        def on_the_cpu(keys: DispatchKeySet, operator, args, kwargs):
            return operator.redispatch(DispatchKeySet("CPU"), *args, **kwargs)

        yield lib


@pytest.fixture
def called():
    """Register a fallback that computes on CPU copies, and yield the list of the operators that it was called for."""
    names: list[str] = []

    def host(value):
        return value.cpu() if isinstance(value, Tensor) else [*map(host, value)] if isinstance(value, tuple) else value

    with Library("testfallback") as lib:

        @lib.fallback(KEY)
        def on_copies(operator, args, kwargs):
            names.append(operator.operator.name)
            result = operator(*map(host, args), **{name: host(value) for name, value in kwargs.items()})
            if "out" in kwargs:
                return kwargs["out"].resize_(result.shape).copy_(result)
            if operator.operator.schema.is_mutable:
                return args[0].copy_(result)
            return tuple(output.to(DEVICE) for output in result) if isinstance(result, tuple) else result.to(DEVICE)

        yield names


def there(*values) -> Tensor:
    return opdsl.tensor(list(values)).to(DEVICE)


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("aten::add.Tensor", lambda x: x + 1, [4.0, 2.0, 3.0]),
        ("aten::add_.Tensor", lambda x: x.add_(1), [4.0, 2.0, 3.0]),
        ("aten::add.out", lambda x: opdsl.add(x, x, out=opdsl.empty(0, device=DEVICE)), [6.0, 2.0, 4.0]),
        ("aten::mm", lambda x: (x[None] @ x[:, None])[0], [14.0]),
        ("aten::sum.dim_IntList", lambda x: x.sum(0, keepdim=True), [6.0]),
        ("aten::_softmax", lambda x: (x - x).softmax(0) * 3, [1.0, 1.0, 1.0]),
        ("aten::cat", lambda x: opdsl.cat([x, x[:1]]), [3.0, 1.0, 2.0, 3.0]),
        ("aten::sort.stable", lambda x: x.sort(stable=True)[0], [1.0, 2.0, 3.0]),
        ("aten::index_select", lambda x: x.index_select(0, there(2, 0)), [2.0, 3.0]),
        ("aten::native_layer_norm", lambda x: opdsl.native_layer_norm(x, [3], None, None, 0.0)[1], [2.0]),
    ],
)
def test_a_structured_operator_reaches_the_fallback_as_it_is_called(called, name, call, expected):
    x = there(3.0, 1.0, 2.0)
    for _ in range(2):
        actual = call(x.clone())
        assert (str(actual.device), actual.tolist()) == (host_backend.DEVICE, pytest.approx(expected))
    assert called.count(name) >= 2


def test_an_out_kernel_of_the_backend_goes_before_the_fallback(called):
    with Library("testfallbackown") as own:

        @own.impl("aten::add.out", KEY)
        def add_out(self, other, alpha, out):
            return out.fill_(7)

        assert (there(1.0) + there(2.0)).tolist() == [7.0]
    assert "aten::add.Tensor" not in called


@pytest.mark.parametrize("key", ["PrivateUse3", "ADInplaceOrView", "AutogradCPU"])
def test_a_fallback_that_is_taken_back_leaves_what_was_there(key):
    before = dict(opdsl.registry.fallbacks)
    for _ in range(2):
        with Library("testfallback") as lib:
            lib.fallback(key)(lambda operator, args, kwargs: None)
            assert opdsl.registry.fallbacks != before
        assert opdsl.registry.fallbacks == before


def test_gradients_are_computed_where_the_operators_are(called):
    x = there(0.5, 1.0).requires_grad_()
    (x.exp() * x).sum().backward()
    assert x.grad.tolist() == pytest.approx((x.detach().cpu().exp() * (x.detach().cpu() + 1)).tolist())
    assert not any(name.startswith("derived::") for name in called)


def test_without_a_fallback_kernels_for_every_backend_run_on_the_host():
    assert opdsl.arange(3, device=DEVICE).tolist() == [0, 1, 2]
    assert [output.tolist() for output in there(1.0, 3.0, 2.0).cummax(0)] == [[1.0, 3.0, 3.0], [0, 1, 1]]
    with pytest.raises(MissingKernelError, match=f"no {KEY} kernel"):
        there(1.0) + 1


def test_every_operator_gives_what_the_cpu_gives(redispatching):
    problems = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for operator in CHOSEN:
            faults = list(disagreements(Subject(operator, list(islice(samples_of(operator), 2))), DEVICE))
            # Operators that call a device's library have a kernel for all devices, which takes precedence over a
            # fallback.
            faults = [fault for fault in faults if "there is no linear algebra" not in fault]
            if faults:
                problems[operator.name] = faults
    assert problems == {}
