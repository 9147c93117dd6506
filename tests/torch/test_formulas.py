"""Tests of formulas, compared with PyTorch: law 14 on random texts, and registered formulas in a running PyTorch."""

from __future__ import annotations

import itertools
import linecache
import re
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import DTypeError, FormulaError
from opdsl.interop.torch import register

lib = Library("formulas_in_torch")


@lib.op(inplace=True, out=True)
@formula
def hinge_formula(self: Tensor, beta: float = 1.0) -> Tensor:
    z = beta * self
    return (opdsl.clamp_min(z, 0.0) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta


@lib.op
@formula
def elu_formula(self: Tensor, alpha: float = 1.0) -> Tensor:
    if self > 0:
        return self
    return alpha * (opdsl.exp(self) - 1)


@lib.op
@formula
def softmax_formula(self: Tensor, dim: int) -> Tensor:
    e = opdsl.exp(self - self.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


@lib.op
@formula
def normalized(self: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    scale = opdsl.rsqrt(self.square().mean(-1, keepdim=True) + eps)
    return self * scale * weight, scale


@lib.op
@formula
def per_size(self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    h = self * weight + 3
    return h / self.shape[-1], opdsl.sin(h)


@lib.op(inplace=True)
@formula
def shares_formula(self: Tensor) -> Tensor:
    return self / self.sum(0, keepdim=True)


shares_formula.derivative(self=lambda grad: grad * 10.0)


@lib.op(inplace=True)
@formula
def doubled_shares(self: Tensor) -> Tensor:
    return shares_formula(self) + self.sum(0)


@pytest.fixture(scope="module", autouse=True)
def registered():
    register(lib)


def tensors(dtype=torch.float32, rows=3):
    torch.manual_seed(0)
    return torch.randn(rows, 4, dtype=dtype, requires_grad=True), torch.randn(4, dtype=dtype, requires_grad=True)


CALLS = {
    "hinge_formula": lambda op, x, w: op(x, 0.5),
    "elu_formula": lambda op, x, w: op(x, 0.5),
    "softmax_formula": lambda op, x, w: op(x, -1),
    "normalized": lambda op, x, w: op(x, w),
    "per_size": lambda op, x, w: op(x, w),
}


def listed(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", CALLS)
def test_opcheck(name):
    x, w = tensors()
    arguments = {"hinge_formula": (x, 0.5), "elu_formula": (x, 0.5), "softmax_formula": (x, -1)}.get(name, (x, w))
    torch.library.opcheck(getattr(torch.ops.formulas_in_torch, name).default, arguments)


@pytest.mark.parametrize("name", CALLS)
def test_gradients_of_both_orders(name):
    call, op = CALLS[name], getattr(torch.ops.formulas_in_torch, name)
    inputs = tensors(torch.float64)
    assert torch.autograd.gradcheck(lambda x, w: call(op, x, w), inputs)
    assert torch.autograd.gradgradcheck(lambda x, w: call(op, x, w), inputs)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_compiled(name, dynamic):
    torch._dynamo.reset()
    call, op = CALLS[name], getattr(torch.ops.formulas_in_torch, name)
    compiled = torch.compile(lambda x, w: call(op, x, w), fullgraph=True, dynamic=dynamic)
    for rows in (3, 5):
        x, w = tensors(rows=rows)
        computed, expected = listed(compiled(x, w)), listed(call(op, x, w))
        torch.testing.assert_close(computed, expected)
        gradients = [
            torch.autograd.grad(sum(result.sum() for result in results), x)[0] for results in (computed, expected)
        ]
        torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("name", CALLS)
def test_vmap(name):
    call, op = CALLS[name], getattr(torch.ops.formulas_in_torch, name)
    x, w = torch.randn(2, 3, 4), torch.randn(4)
    mapped = torch.vmap(lambda sample: call(op, sample, w))(x)
    expected = [call(op, sample, w) for sample in x]
    for index, batched in enumerate(listed(mapped)):
        torch.testing.assert_close(batched, torch.stack([listed(one)[index] for one in expected]))


# ------------------------------------------------------------------------------------------------------------- law 14


@dataclass(frozen=True)
class Text:
    """Expression in the language and in PyTorch, where conditions on elements become ``where``."""

    formula: str
    torch: str


UNARY = ("exp", "sin", "tanh", "abs", "neg", "square", "sigmoid", "floor", "log1p")
BINARY = ("+", "-", "*")
LEAVES = st.sampled_from([Text(name, name) for name in ("x", "y", "x", "y", "n", "2", "0.5")])


def of_tensors(text):
    """Return a text that contains a tensor, so that functions and comparisons apply to tensors."""
    return Text(f"(x * 0 + {text.formula})", f"(x * 0 + {text.torch})")


def texts(inner):
    one, two = inner, inner

    def unary(name, a):
        a = of_tensors(a)
        return Text(f"opdsl.{name}({a.formula})", f"torch.{name}({a.torch})")

    def choice(a, b, c):
        c = of_tensors(c)
        return Text(
            f"({a.formula} if {c.formula} > 0 else {of_tensors(b).formula})",
            f"torch.where({c.torch} > 0, {a.torch}, {of_tensors(b).torch})",
        )

    def compared(a, b):
        a = of_tensors(a)
        return Text(f"(({a.formula} < {b.formula}) * y)", f"(({a.torch} < {b.torch}) * y)")

    def combined(a, sign, b):
        return Text(f"({a.formula} {sign} {b.formula})", f"({a.torch} {sign} {b.torch})")

    def larger(a, b):
        a, b = of_tensors(a), of_tensors(b)
        return Text(f"max({a.formula}, {b.formula})", f"torch.maximum({a.torch}, {b.torch})")

    return st.one_of(
        st.builds(unary, st.sampled_from(UNARY), one),
        st.builds(combined, one, st.sampled_from(BINARY), two),
        st.builds(choice, one, two, inner),
        st.builds(compared, one, two),
        st.builds(larger, one, two),
    )


EXPRESSIONS = st.recursive(LEAVES, texts, max_leaves=8).map(of_tensors)

counter = itertools.count()


def function_of(source, namespace):
    """Return the function of a source text, with a file in the line cache as users' functions have one."""
    name = f"<random formula {next(counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)
    return namespace["f"]


def pair(text):
    ours = function_of(
        f"def f(x: Tensor, y: Tensor, n: float = 1.5) -> Tensor:\n    return {text.formula}\n",
        {"Tensor": Tensor, "opdsl": opdsl},
    )
    return ours, function_of(f"def f(x, y, n=1.5):\n    return {text.torch}\n", {"torch": torch})


DTYPES = [
    (torch.float32, torch.float32),
    (torch.int64, torch.float32),
    (torch.int32, torch.int64),
    (torch.float64,) * 2,
]
SHAPES = [((2, 3), (3,)), ((), (2,)), ((1, 3), (2, 1)), ((0, 2), (2,))]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS, st.sampled_from(DTYPES), st.sampled_from(SHAPES), st.randoms(use_true_random=False))
def test_random_texts_are_what_pytorch_gives(text, dtypes, shapes, random):
    ours, theirs = pair(text)
    generator = torch.Generator().manual_seed(random.randrange(1 << 30))
    x, y = (
        (torch.randn(shape, generator=generator) * 3).to(dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    expected = theirs(x, y)
    wide = theirs(*[operand.double() if operand.dtype.is_floating_point else operand for operand in (x, y)])
    with Library(f"random_formula_{next(counter)}") as local:
        actual = local.op(formula(ours))(opdsl.from_dlpack(x), opdsl.from_dlpack(y))
        assert (str(actual.dtype).partition(".")[2], tuple(actual.shape)) == (
            str(expected.dtype).partition(".")[2],
            tuple(expected.shape),
        )
        if expected.dtype.is_floating_point:
            limit = {"atol": 1e-4, "rtol": 2e-5} if expected.dtype is torch.float32 else {"atol": 1e-12, "rtol": 1e-12}
            finite = np.abs(wide.numpy()) < 1e30
            assert np.allclose(actual.numpy()[finite], wide.numpy()[finite], equal_nan=True, **limit)
        else:
            assert np.array_equal(actual.numpy(), expected.numpy())


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(EXPRESSIONS, st.randoms(use_true_random=False))
def test_gradients_of_random_texts_are_what_pytorch_gives(text, random):
    ours, theirs = pair(text)
    generator = torch.Generator().manual_seed(random.randrange(1 << 30))
    x, y = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((2, 3), (3,)))
    leaves = [operand.clone().requires_grad_() for operand in (x, y)]
    theirs(*leaves).sum().backward()
    with Library(f"random_formula_{next(counter)}") as local:
        own = [opdsl.from_dlpack(operand.clone()).requires_grad_() for operand in (x, y)]
        local.op(formula(ours))(*own).sum().backward()
    for mine, leaf in zip(own, leaves, strict=True):
        expected = np.zeros(leaf.shape) if leaf.grad is None else leaf.grad.numpy()
        gradient = np.zeros(leaf.shape) if mine.grad is None else mine.grad.numpy()
        assert np.allclose(gradient, expected, rtol=1e-9, atol=1e-12, equal_nan=True)


def test_opcheck_of_what_ends_within_its_memory():
    with Library("formulas_of_last_states") as local:

        @local.op
        @formula
        def last_sum(x: Tensor) -> Tensor:
            return x.cumsum(0)[-1]

        register(local)
        torch.library.opcheck(torch.ops.formulas_of_last_states.last_sum.default, (torch.ones(4),))


def test_vmap_of_results_of_which_one_reads_no_batch():
    with Library("formulas_of_several_results") as local:

        @local.op
        @formula
        def stepped(x: Tensor, momentum: Tensor) -> tuple[Tensor, Tensor]:
            return x - momentum, 2 * momentum

        register(local)
        x, momentum = torch.arange(6.0).view(2, 3), torch.ones(3)
        batch = torch.vmap(torch.ops.formulas_of_several_results.stepped, (0, None))(x, momentum)
        wanted = torch.vmap(lambda x, momentum: (x - momentum, 2 * momentum), (0, None))(x, momentum)
    torch.testing.assert_close(batch, wanted)


@pytest.mark.parametrize("call", [torch.sigmoid, torch.nn.functional.silu])
def test_functions_of_pytorch_name_those_of_formulas(call):
    def foreign(self: Tensor) -> Tensor:
        return call(self)

    with Library("formulas_of_torch") as local, pytest.raises(FormulaError, match=rf"opdsl.*\.{call.__name__}\(x\)"):
        local.op(formula(foreign))


@pytest.mark.parametrize(("name", "wanted"), [("shares_formula", 10.0), ("doubled_shares", 13.0)])
def test_a_folding_formula_has_its_own_derivative(name, wanted):
    op = getattr(torch.ops.formulas_in_torch, name)
    in_place = getattr(torch.ops.formulas_in_torch, f"{name}_")
    calls = {"call": op, "in place": lambda x: in_place(x * 1.0)}
    calls |= {
        f"{key}, dynamic={dynamic}": torch.compile(call, backend="aot_eager", dynamic=dynamic)
        for key, call in calls.items()
        for dynamic in (False, True)
    }
    for call in calls.values():
        for rows in (3, 5):
            x = torch.arange(1.0, rows + 1.0, requires_grad=True)
            (gradient,) = torch.autograd.grad(call(x).sum(), [x])
            assert torch.allclose(gradient, torch.full((rows,), wanted + (rows - 3) * (name == "doubled_shares")))
    torch.library.opcheck(op.default, (torch.arange(1.0, 4.0, requires_grad=True),))
    torch.library.opcheck(in_place.default, (torch.arange(1.0, 4.0),))
    mapped = torch.func.vmap(torch.func.grad(lambda x: op(x).sum()))(torch.ones(2, 3))
    assert torch.allclose(mapped, torch.full((2, 3), wanted))


@lib.op(out=True)
@formula(dtypes="floating")
def silu_formula(self: Tensor) -> Tensor:
    return self / (1.0 + opdsl.exp(-self))


@lib.op(out=True)
@formula
def sigmoid_formula(self: Tensor) -> Tensor:
    return 1.0 / (1.0 + opdsl.exp(-1.0 * self))


@lib.op(out=True)
@formula(dtypes=("bool", "integer", "floating"))
def deg2rad_formula(self: Tensor) -> Tensor:
    return self * (np.pi / 180)


@lib.op(out=True)
@formula(dtypes="floating")
def silu_backward_formula(grad_output: Tensor, self: Tensor) -> Tensor:
    sigmoid = 1.0 / (1.0 + opdsl.exp(-self))
    return grad_output * sigmoid * (1.0 + self * (1.0 - sigmoid))


@pytest.mark.parametrize("result", ["float16", "float32", "float64", "int64", "complex64"])
@pytest.mark.parametrize("own_dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["silu", "sigmoid", "deg2rad", "silu_backward"])
def test_outputs_take_the_dtypes_that_pytorch_takes(name: str, own_dtype: str, result: str) -> None:
    theirs, ours = getattr(torch.ops.aten, name), getattr(opdsl.ops.formulas_in_torch, f"{name}_formula")
    count = 2 if name.endswith("backward") else 1
    x = torch.linspace(-2, 2, 5, dtype=torch.float64).to(getattr(torch, own_dtype))
    out = torch.empty(5, dtype=getattr(torch, result))
    own = opdsl.empty(5, dtype=getattr(opdsl, result))
    try:
        if count == 2:
            theirs.grad_input(x, x, grad_input=out)
        else:
            theirs.out(x, out=out)
    except RuntimeError as error:
        with pytest.raises(DTypeError, match=re.escape(str(error).partition("\n")[0])):
            ours(*[opdsl.from_numpy(x.numpy())] * count, out=own)
        return
    ours(*[opdsl.from_numpy(x.numpy())] * count, out=own)
    assert np.allclose(own.numpy(), out.numpy(), rtol=1e-3)


@lib.op
@formula
def median_of_three(self: Tensor) -> Tensor:
    i = opdsl.dims(1)
    x = self.outside("reflect")
    before, here, behind = x[..., i - 1], self[..., i], x[..., i + 1]
    return max(min(before, here), min(max(before, here), behind)).order(..., i)


class Medians(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.ops.formulas_in_torch.median_of_three(x)
        return result


def test_exported_formulas_call_builtins_by_elements() -> None:
    """Exported formulas with ``max`` and ``min`` work, which ``torch.export`` replaces by its own functions."""
    x = torch.tensor([[3.0, 1.0, 2.0, 5.0, 4.0]])
    exported = torch.export.export(Medians(), (x,))
    assert exported.module()(x).tolist() == [[1.0, 2.0, 2.0, 4.0, 5.0]]
