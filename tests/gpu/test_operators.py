"""Tests of CUDA operators that law 6 does not cover: subscripts, CPU tensors mixed with CUDA tensors, gradients.

The expected results are those of the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Tensor
from opdsl.errors import DeviceError, MissingKernelError
from tests.unit.kernels import turning

Move = Callable[[Tensor], Tensor]

ROWS = [2, 0, 2]
OVERLAPPING = ((3, 3), (1, 1))


def written(x: Tensor, index: Any, value: Any) -> Tensor:
    """Return a copy of a tensor with a value written at an index."""
    copy = x.clone()
    copy[index] = value
    return copy


CASES: dict[str, Callable[[Tensor, Move], Tensor]] = {
    "a list of positions": lambda x, to: x[ROWS],
    "a list of bools": lambda x, to: x[[True, False, True, False]],
    "an array of NumPy's": lambda x, to: x[:, np.array(ROWS)],
    "positions of the CPU": lambda x, to: x[opdsl.tensor(ROWS)],
    "positions of both": lambda x, to: x[opdsl.tensor(ROWS), to(opdsl.tensor(ROWS))],
    "a mask of the CPU": lambda x, to: x[opdsl.tensor([True, False, True, False])],
    "True": lambda x, to: x[True],
    "writing to a list": lambda x, to: written(x, ROWS, 5.0),
    "writing to positions of the CPU": lambda x, to: written(x, opdsl.tensor(ROWS), to(opdsl.ones(6))),
    "writing a number of the CPU": lambda x, to: written(x, to(opdsl.tensor(ROWS)), opdsl.tensor(9.0)),
    "writing a number of the CPU where a mask holds": lambda x, to: written(x, x > 3, opdsl.tensor(9.0)),
    "writing a tensor of the CPU to a slice": lambda x, to: written(x, slice(1, 3), opdsl.ones(6)),
    "index_put of a number of the CPU": lambda x, to: x.index_put([to(opdsl.tensor(ROWS))], opdsl.tensor(1.0), True),
    "a number of the CPU first": lambda x, to: opdsl.tensor(2.0) - x,
    "where with a number of the CPU": lambda x, to: opdsl.where(x > 2, x, opdsl.tensor(0.0)),
    "masked_fill with a number of the CPU": lambda x, to: x.masked_fill(x > 2, opdsl.tensor(1.0)),
    "copy_ of a tensor of the CPU": lambda x, to: x.clone().copy_(opdsl.ones(6)),
    "flip of columns": lambda x, to: x.t().flip([0]),
}


def test_rows_that_read_elsewhere() -> None:
    assert turning.faults("cuda") == []


@pytest.mark.parametrize("name", CASES)
def test_a_call_agrees_with_the_cpu(name: str) -> None:
    x = opdsl.arange(24.0).reshape(4, 6)
    expected = CASES[name](x, lambda tensor: tensor)
    actual = CASES[name](x.cuda(), lambda tensor: tensor.cuda())
    assert actual.is_cuda and actual.strides == expected.strides
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x[opdsl.tensor([0]).cuda()],
        lambda x: x.cuda().index_put([opdsl.tensor([0]).cuda()], opdsl.ones(6)),
        lambda x: x.cuda() + x,
        lambda x: opdsl.cat([x.cuda(), x]),
    ],
)
def test_tensors_of_two_devices_are_refused_as_by_pytorch(call: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(DeviceError):
        call(opdsl.ones((4, 6)))


GRADIENTS: dict[str, Callable[[Tensor], Tensor]] = {
    "expand": lambda x: x.unsqueeze(0).expand(3, 4, 6),
    "unfold": lambda x: x.unfold(1, 3, 1),
    "as_strided": lambda x: x.as_strided(*OVERLAPPING),
    "subscript": lambda x: x[[0, 0, 1]],
    "matmul": lambda x: x @ x.t(),
    "softmax": lambda x: x.softmax(1),
    "cumprod": lambda x: x.cumprod(1),
    "sort": lambda x: x.sort(1, True)[0],
    "max": lambda x: x.max(1)[0],
    "prod": lambda x: x.prod(1),
    "scatter_reduce": lambda x: x.scatter_reduce(0, (x > 5).long(), x, "mean"),
    "flip": lambda x: x.flip([1]),
    "layer_norm": lambda x: opdsl.layer_norm(x, [6]),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_agree_with_the_cpu(name: str) -> None:
    def gradient(x: Tensor) -> Tensor:
        x.requires_grad_()
        y = GRADIENTS[name](x)
        (y * (y.detach() * 0.1 + 1)).sum().backward()
        assert x.grad is not None and x.grad.device == x.device
        return x.grad

    values = (opdsl.arange(24.0).reshape(4, 6) * 0.25 + 1).double()
    np.testing.assert_allclose(
        gradient(values.cuda()).cpu().numpy(), gradient(values.clone()).numpy(), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("function", [opdsl.linalg.qr, opdsl.linalg.inv, opdsl.linalg.eigvals, opdsl.cholesky_inverse])
def test_there_is_no_linear_algebra(function: Callable[[Tensor], object]) -> None:
    with pytest.raises(MissingKernelError, match=r"aten::\w+: there is no linear algebra on cuda \(have cpu\)"):
        function(opdsl.eye(2).cuda())


def test_there_are_no_fourier_transforms() -> None:
    out = opdsl.empty(0, dtype=opdsl.complex64).cuda()
    with pytest.raises(MissingKernelError, match=r"_fft_r2c.*: there are no Fourier transforms on cuda \(have cpu\)"):
        opdsl.ops.aten._fft_r2c.out(opdsl.ones(4).cuda(), [0], 0, True, out=out)
    assert out.shape == (0,)
