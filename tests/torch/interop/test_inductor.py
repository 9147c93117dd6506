"""Tests that inductor fuses registered pointwise operators and reductions with neighboring operators."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch._inductor import decomposition
from torch._inductor.utils import run_and_get_code

import opdsl
from opdsl import Ints, Library, Tensor, formula
from opdsl.interop.torch import deregister, inductor, register, registration
from tests.torch.interop.bridge import SAMPLES, make, operator, registered


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


def taken_apart(name: str, args: Any, kwargs: Any) -> Any:
    bridge = registration.bridge_of(opdsl.registry.operator(f"interop::{name}"))
    assert bridge is not None
    return inductor._decomposed(bridge, *args, **kwargs)


NAMES = ["smooth_relu", "blend", "scaled_add", "from_polar", "is_larger", "energy"]


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_for_an_operator_gives_what_it_gives(ops, name):
    for args, kwargs in SAMPLES[name]():
        actual, wanted = taken_apart(name, args, kwargs), operator(ops, name)(*args, **kwargs)
        torch.testing.assert_close(actual, wanted)
        for one, other in zip(
            *(output if isinstance(output, tuple) else (output,) for output in (actual, wanted)), strict=True
        ):
            assert one.stride() == other.stride()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int64", "uint8", "bool"])
@pytest.mark.parametrize("name", NAMES)
def test_of_other_dtypes(ops, name, dtype):
    x = (4 * make(3, 4)).to(getattr(torch, dtype))
    args = (x, x.flip(0)) if name in ("scaled_add", "from_polar", "is_larger") else (x,)
    args = (x, x.flip(0), x.flip(1)) if name == "blend" else args
    try:
        wanted = operator(ops, name)(*args)
    except Exception as error:  # both reject the same calls
        with pytest.raises(type(error)):
            taken_apart(name, args, {})
        return
    actual = taken_apart(name, args, {})
    if actual is NotImplemented:  # the operator is not decomposed
        assert (name, dtype) == ("energy", "bool")
    else:
        torch.testing.assert_close(actual, wanted)


def test_a_formula_with_a_derivative_fuses_as_its_calls_do():
    with Library("inductor_formulas") as library:

        @library.op
        @formula
        def leaky(self: Tensor, slope: float = 0.5) -> Tensor:
            return self + 1 if self > 0 else slope * self - 1

        @library.op
        @formula
        def energy(self: Tensor, other: Tensor) -> Tensor:
            return (self * other - self).sum(-1)

        energy.derivative(self=lambda grad, other: 2 * grad.unsqueeze(-1) * (other - 1))  # wrong on purpose
        register(library)
        ops = torch.ops.inductor_formulas

        def fusing(x, y):
            return ops.energy(ops.leaky(x * 2), y) + 1

        x, y = make(6, 8, dtype=torch.float32), make(8, dtype=torch.float32)
        computed, (code,) = run_and_get_code(torch.compile(fusing), x, y)
        torch.testing.assert_close(computed, fusing(x, y))
        assert len(re.findall(r'extern "C"', code)) == 1 and "inductor_formulas." not in code
        x.requires_grad_()
        (actual,) = torch.autograd.grad(torch.compile(lambda x: ops.energy(x, y).sum())(x), x)
        torch.testing.assert_close(actual, (2 * (y - 1)).expand(6, 8))


def test_it_is_one_kernel_and_operators_that_stay_whole_are_called():
    with Library("inductor_fusing") as library:

        @library.op
        @formula
        def softplus(self: Tensor, beta: float = 1.0) -> Tensor:
            z = beta * self
            return (opdsl.maximum(z, opdsl.tensor(0.0)) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta

        @library.op
        @formula
        def power(self: Tensor, dim: Ints[1] | None = None, keepdim: bool = False) -> Tensor:
            return (self * self + self).sum(dim, keepdim)

        @library.op
        @formula
        def whole(self: Tensor) -> Tensor:
            return self + self.to(opdsl.int64)  # saturates, unlike aten

        def fusing(x, y):
            return torch.ops.inductor_fusing.power(torch.ops.inductor_fusing.softplus(x * 2 + y, 0.5) - y, [1])

        def mixed(x, y):
            return torch.ops.inductor_fusing.whole(fusing(x, y)) + 1

        x, y = make(6, 8, dtype=torch.float32), make(8, dtype=torch.float32)
        register(library)
        tag = torch.compiler.config.cache_key_tag
        computed, (code,) = run_and_get_code(torch.compile(mixed), x, y)
        torch.testing.assert_close(computed, mixed(x, y))
        assert len(re.findall(r'extern "C"', code)) == 2  # a kernel before and one after the called operator
        assert set(re.findall(r"inductor_fusing\.(\w+)", code)) == {"whole"}
        x.requires_grad_()
        smooth = torch.ops.inductor_fusing.softplus
        (actual,) = torch.autograd.grad(torch.compile(lambda x: smooth(x).sum())(x), x)
        torch.testing.assert_close(actual, torch.sigmoid(x.detach()))
        # Graphs that other processes compiled for operators of these names are not reused.
        assert torch.compiler.config.cache_key_tag != tag
        deregister(library)
        assert torch.compiler.config.cache_key_tag == tag

        register(library, fuses=False)
        torch.compile(lambda x: smooth(x * 2) + 1, backend="eager", fullgraph=True)(y)
        assert smooth.default not in decomposition.decompositions
        deregister(library)


def test_operators_that_were_traced_before_inductor_is_imported_are_decomposed() -> None:
    program = """
import sys, torch
from torch._subclasses import FakeTensorMode
from tests.torch.interop.bridge import registered
with registered() as ops:
    with FakeTensorMode():
        ops.smooth_relu(torch.ones(3))
    assert "torch._inductor.lowering" not in sys.modules, "this test needs a process without inductor"
    import torch._inductor.lowering
    print(ops.smooth_relu.default in torch._inductor.decomposition.decompositions)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
