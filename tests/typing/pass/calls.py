"""Correct calls of opdsl's functions, methods and packets; plain mypy and pyright check them by the stubs."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import numpy

import opdsl
from opdsl import Operator, Tensor

x = opdsl.tensor([[4.0, 1.0], [2.0, 3.0]])
n = opdsl.tensor([[4, 1], [2, 3]])

# Functions: positional and keyword arguments, numbers for tensors, out=, sizes as a list and as separate arguments.
opdsl.add(x, 2)
opdsl.add(2, x)
opdsl.add(self=x, other=x, alpha=0.5, out=opdsl.empty(2, 2))
opdsl.eq(x, 1)
opdsl.where(x > 2, x, 0.0)
opdsl.pow(2, x)
opdsl.pow(x, 2)
opdsl.zeros(2, 3, dtype=opdsl.int32, device="cpu")
opdsl.zeros([2, 3], requires_grad=False)
opdsl.empty((2, 3), memory_format=opdsl.contiguous_format)
opdsl.full((2,), 1.5)
opdsl.arange(5)
opdsl.arange(1, 5, 2, dtype=opdsl.float64)
opdsl.sum(x)
opdsl.sum(x, 0)
opdsl.sum(x, [0, 1], keepdim=True)
opdsl.mean(x, dim=(0, 1), dtype=opdsl.float64)
opdsl.softmax(x, -1)
opdsl.std(x, unbiased=False)
opdsl.std(x, 0, unbiased=False)
opdsl.cat([x, x], dim=1)
opdsl.stack((x, x))
values, indices = opdsl.max(x, 1)
opdsl.max(x, x)
opdsl.sort(x, descending=True).indices.tolist()
opdsl.topk(x, 1, out=(opdsl.empty(0), opdsl.empty(0, dtype=opdsl.int64)))
opdsl.nn.gelu(x, approximate="tanh")
opdsl.nn.functional.gelu(x)
opdsl.tensor([1.0, 2.0], dtype=opdsl.float64, requires_grad=True)
opdsl.as_tensor(numpy.zeros(3))
opdsl.from_numpy(numpy.zeros(3))
opdsl.nonzero(x, as_tuple=True)[0].tolist()
opdsl.block_diag(x, x)
opdsl.broadcast_tensors(x, x[0])[0].tolist()
opdsl.autograd.functional.hessian(lambda y: (y * y).sum(), opdsl.ones(2))
opdsl.manual_seed(0)

# Methods, properties and Python's operators.
x.view(4)
x.view(2, 2)
x.view([2, 2])
x.reshape(-1)
x.permute(1, 0)
x.to(opdsl.float64).to("cpu").to(n, copy=True)
x.float().int().bool().long().half()
x.add_(1).mul_(0.5).clamp_(min=0)
x.sum().item()
x.amax(0, keepdim=True)
x.size(0) + x.stride()[0] + x.dim() + x.numel() + len(x)
x.T.mT.real.numpy().sum()
x[0][..., None]
x[x > 1]
x[:, 1:] = 0
x[[0, 1]], x[(0, 1)], x[numpy.array([0])], x[numpy.int64(1)], x[range(1), None, ::2]
x[n > 1] = opdsl.tensor(1.0)
(x + 1 - x * 2) / (2 - x) @ x
(1 / (x + 1)) ** 2 // 3 % 4
-x + (+x) + abs(x)
~n & 1 | n ^ 3
n << 1 >> 1
x += 1
x *= x
float(x.sum()), bool(x.sum() > 0), int(n.sum())
[row.tolist() for row in x]
copy.deepcopy(x), pickle.dumps(x)
x.requires_grad_().exp().sum().backward()
assert x.grad is not None
x.grad.shape[0] + x.grad.ndim

# Packets and overloads: their schema, their variants, their decorators.
opdsl.ops.aten.add(n, 2)
opdsl.ops.aten.add.Tensor(n, n, alpha=2)
opdsl.ops.aten.add.out(n, n, out=n)
opdsl.ops.aten.max.dim(n, 0, keepdim=True).values.tolist()
opdsl.ops.aten.exp.default(n).tolist()
str(opdsl.exp.schema)
opdsl.exp.variants["inplace"](opdsl.ones(2))
opdsl.ops.aten.add.Tensor.dispatch_table()
list(opdsl.exp.meta(n).shape)

# Functions as values.
functions: list[Callable[[Tensor], Tensor]] = [opdsl.exp, opdsl.ops.aten.exp.default]
operator: Operator[..., Tensor] = opdsl.exp
[function(n) for function in functions]
operator(n)
