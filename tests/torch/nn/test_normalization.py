"""Tests of derivatives of normalizations, compared with PyTorch's kernels, and of their errors."""

from __future__ import annotations

import pytest
import torch

import opdsl
from tests.torch.twins import Twins, agree_or_fail, assert_agree


def ours(*tensors: torch.Tensor | None) -> list[opdsl.Tensor | None]:
    return [None if part is None else Twins().of(part) for part in tensors]


@pytest.mark.parametrize(
    ("dtype", "parameters"),
    [
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
        (torch.bfloat16, torch.bfloat16),
        (torch.bfloat16, torch.float32),
    ],
)
@pytest.mark.parametrize(("shape", "normalized"), [((5, 40), (40,)), ((2, 3, 4), (3, 4)), ((6,), (6,)), ((0, 3), (3,))])
def test_gradients_of_layer_norm(dtype, parameters, shape, normalized):
    torch.manual_seed(0)
    x, grad = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    weight, bias = torch.randn(normalized).to(parameters), torch.randn(normalized).to(parameters)
    _, mean, rstd = torch.native_layer_norm(x, normalized, weight, bias, 1e-5)
    wanted = torch.ops.aten.native_layer_norm_backward(
        grad, x, normalized, mean, rstd, weight, bias, [True, True, True]
    )
    g, i, m, r, w, b = ours(grad, x, mean, rstd, weight, bias)
    gradients = opdsl.ops.aten.native_layer_norm_backward(g, i, normalized, m, r, w, b, [True, True, True])
    tolerance = {torch.float32: 4e-6, torch.float64: 8e-15, torch.bfloat16: 2.4e-2}[dtype]
    assert_agree(gradients, wanted, tolerance=tolerance)


def test_only_the_gradients_that_are_asked_for():
    x = opdsl.tensor([[1.0, 2.0]])
    _, mean, rstd = opdsl.native_layer_norm(x, (2,), None, None, 1e-5)
    gradients = opdsl.ops.aten.native_layer_norm_backward(x, x, (2,), mean, rstd, None, None, [True, False, False])
    assert gradients[0].shape == (1, 2)
    assert gradients[1:] == (None, None)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gradients_of_softmax(dtype, dim):
    torch.manual_seed(0)
    x, grad = torch.randn(4, 30).to(dtype), torch.randn(4, 30).to(dtype)
    for name in ("_softmax", "_log_softmax"):
        output = getattr(torch, name)(x, dim, False)
        wanted = getattr(torch, f"{name}_backward_data")(grad, output, dim, dtype)
        actual = getattr(opdsl.ops.aten, f"{name}_backward_data")(*ours(grad, output), dim, ours(x)[0].dtype)
        assert_agree(actual, wanted, tolerance=2e-6 if dtype is torch.float32 else 1.6e-2)


@pytest.mark.parametrize("call", [
    lambda t, x: t.softmax(x.to(t.int64), 0),
    lambda t, x: t.softmax(x, 2),
    lambda t, x: t.log_softmax(x.to(t.complex64), 0),
    lambda t, x: t.layer_norm(x, ()),
    lambda t, x: t.layer_norm(x, (4,)),
    lambda t, x: t.layer_norm(x, (3,), x),
    lambda t, x: t.layer_norm(x, (3,), x[0].to(t.float64)),
    lambda t, x: t.layer_norm(x.to(t.bfloat16), (3,), x[0].to(t.float64)),
    lambda t, x: t.layer_norm(x.to(t.int64), (3,)),
    lambda t, x: t.rms_norm(x, (4,)),
    lambda t, x: t.rms_norm(x.to(t.int64), (3,)),
])  # fmt: skip
def test_what_does_not_fit_is_refused(call):
    agree_or_fail(call, torch.ones(2, 3))


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("has_weight", [True, False])
def test_the_gradient_of_batch_norm_has_gradients(train, has_weight):
    own = {"dtype": opdsl.float64}
    x, grad = (opdsl.randn((2, 3, 4), **own).requires_grad_() for _ in range(2))
    weight = (opdsl.randn((3,), **own).requires_grad_(),) if has_weight else ()
    running = opdsl.randn((3,), **own), opdsl.rand((3,), **own) + 1

    def backward(grad, x, *weight):
        saved = (None, None)
        if train:  # finite differences change the input, and so its statistics
            saved = opdsl.native_batch_norm(x.detach(), None, None, None, None, True, 0.1, 0.3)[1:]
        inputs = (*(weight or (None,)), *running, *saved, train, 0.3, (True, True, True))
        return opdsl.ops.aten.native_batch_norm_backward(grad, x, *inputs)

    assert opdsl.testing.gradcheck(backward, (grad, x, *weight))
