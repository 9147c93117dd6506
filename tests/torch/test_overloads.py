"""Tests of the overload that a Python call reaches, recorded in PyTorch by its profiler and in opdsl by a mode."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile

import opdsl
from opdsl import DispatchMode
from tests.torch.twins import Twins

BINARY = ("add", "sub", "mul", "div")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = ("neg", "exp", "log", "tanh", "sigmoid", "relu", "reciprocal")
REDUCTIONS = ("sum", "mean", "amax")

# Calls; `lib` is torch or opdsl; x, y float matrices, i integers, c bools, z zero-dim, out and flag (bool) outputs.
CALLS = (
    *(f"lib.{name}(x, {other})" for name in BINARY for other in ("y", "z", "2", "2.5", "n")),
    *(f"lib.{name}(x, other=2)" for name in BINARY),
    *(f"lib.greater(x, {other})" for other in ("y", "z", "2")),  # both overloads accept z: the first one is reached
    *(f"lib.{name}(x, y, out=out)" for name in BINARY),
    *(f"lib.{name}(x, 2, out=out)" for name in BINARY),
    *(f"x.{name}(y)" for name in BINARY),
    *(f"x.{name}(2)" for name in BINARY),
    *(f"x.{name}_(y)" for name in BINARY),
    *(f"x.{name}_(2)" for name in BINARY),
    *(f"lib.{name}({other}, x)" for name in BINARY for other in ("2", "2.5")),
    *(f"x {symbol} {other}" for symbol in "+-*/" for other in ("y", "2", "2.5")),
    *(f"{other} {symbol} x" for symbol in "+-*/" for other in ("2", "2.5")),
    *(f"x.__i{name}__(y)" for name in ("add", "sub", "mul", "truediv")),
    *(f"lib.{name}(x, True)" for name in ("add", "mul", "div")),
    "lib.mul(True, x)",
    "lib.add(x, y, alpha=2)",
    "lib.add(input=x, other=y)",
    "lib.add(x, x2=y)",
    "lib.mul(x1=x, x2=y, out=out)",
    "lib.sum(x, axis=1, keepdims=True)",
    "lib.sum(a=x, axis=(0, 1), out=out)",
    "x.sum(axis=1)",
    "x.squeeze(axis=0)",
    "lib.squeeze(input=x, axis=(0, 1))",
    "lib.sub(x, 3, alpha=2)",
    "lib.rsub(x, y)",
    "lib.rsub(x, 2)",
    "lib.rsub(x, 2, alpha=2)",
    "lib.div(x, y, rounding_mode='floor')",
    "lib.div(x, 2, rounding_mode='trunc')",
    "lib.div(x, 2, rounding_mode=None)",
    "lib.div(x, y, rounding_mode='floor', out=out)",
    "x.div_(y, rounding_mode='trunc')",
    "x.div_(2, rounding_mode='trunc')",
    *(f"lib.{name}(x, {other})" for name in COMPARISONS for other in ("y", "z", "2", "2.5", "True", "n")),
    *(f"lib.{name}(x, {other}, out=flag)" for name in COMPARISONS for other in ("y", "2")),
    *(f"x.{name}({other})" for name in COMPARISONS for other in ("y", "2")),
    *(f"x.{name}_({other})" for name in COMPARISONS for other in ("y", "2")),
    *(f"x {symbol} {other}" for symbol in ("==", "!=", "<", "<=", ">", ">=") for other in ("y", "2")),
    "2 < x",
    "2.5 == x",
    *(f"lib.{name}(x)" for name in UNARY),
    *(f"x.{name}()" for name in UNARY),
    *(f"x.{name}_()" for name in UNARY),
    *(f"lib.{name}(x, out=out)" for name in UNARY if name != "relu"),
    "-x",
    "lib.maximum(x, y)",
    "lib.maximum(x, y, out=out)",
    "x.maximum(y)",
    "lib.where(c)",
    "lib.where(c, x, y)",
    "lib.where(c, 1, x)",
    "lib.where(c, x, 1)",
    "lib.where(c, 1, 2)",
    "lib.where(c, x, y, out=out)",
    "lib.where(condition=c, self=1, other=y)",
    "x.where(c, y)",
    "x.where(c, other=y)",
    "x.where(condition=c, other=y)",
    "x.where(c, 1.5)",
    *(f"lib.{name}(x)" for name in REDUCTIONS),
    *(f"x.{name}()" for name in REDUCTIONS),
    *(f"lib.{name}(x, 0)" for name in REDUCTIONS),
    *(f"lib.{name}(x, (0, 1))" for name in REDUCTIONS),
    *(f"lib.{name}(x, [])" for name in REDUCTIONS),
    *(f"lib.{name}(x, dim=1, keepdim=True)" for name in REDUCTIONS),
    *(f"lib.{name}(x, 0, True)" for name in REDUCTIONS),
    *(f"lib.{name}(x, 0, out=out)" for name in REDUCTIONS),
    *(f"lib.{name}(x, None)" for name in ("sum", "mean")),
    *(f"lib.{name}(x, dtype=lib.float64)" for name in ("sum", "mean")),
    *(f"lib.{name}(x, 0, dtype=lib.float64)" for name in ("sum", "mean")),
    "lib.mm(x, y.t())",
    "x.mm(y.t())",
    "lib.mm(x, y.t(), out=out)",
    "lib.bmm(b, b)",
    "x @ y.t()",
    "lib.matmul(x, y.t())",
    "lib.matmul(x, y.t(), out=out)",
    "lib.t(x)",
    "x.t()",
    "x.t_()",
    "lib.transpose(x, 0, 1)",
    "x.transpose(0, -1)",
    "x.transpose_(0, 1)",
    "x.view(4, 3)",
    "x.view((4, 3))",
    "x.view([4, 3])",
    "x.view(-1)",
    "x.view(size=(12,))",
    "x.view(lib.int32)",
    "x.view(dtype=lib.int32)",
    "x.reshape(4, 3)",
    "x.reshape((4, 3))",
    "lib.reshape(x, (4, 3))",
    "lib.permute(x, (1, 0))",
    "x.permute(1, 0)",
    "x.permute((1, 0))",
    "lib.narrow(x, 0, 0, 1)",
    "x.select(0, 1)",
    "lib.select(x, 0, 1)",
    "x.expand(2, 3, 4)",
    "x.expand((2, 3, 4))",
    "lib.unsqueeze(x, 0)",
    "lib.squeeze(x)",
    "lib.squeeze(x, 0)",
    "lib.squeeze(x, (0, 1))",
    "x.squeeze(0)",
    "x.squeeze((0, 1))",
    "lib.unbind(x)",
    "lib.unbind(x, 1)",
    "x.unbind(1)",
    "lib.cat((x, y))",
    "lib.cat([x, y], 1)",
    "lib.cat((x, y), dim=1)",
    "lib.cat((x, y), out=out)",
    "lib.empty(2, 3)",
    "lib.empty((2, 3))",
    "lib.empty([2, 3])",
    "lib.empty(2, 3, dtype=lib.int64)",
    "lib.empty(2, 3, out=out)",
    "lib.empty((2, 3), out=out)",
    "lib.empty(size=(2, 3))",
    "lib.full((2, 3), 1)",
    "lib.full((2, 3), 1.5, dtype=lib.float64)",
    "lib.full((2, 3), 1, out=out)",
    "lib.full(size=(2,), fill_value=1)",
    "lib.zeros(2, 3)",
    "lib.zeros((2, 3))",
    "lib.ones(2)",
    "lib.clone(x)",
    "x.clone()",
    "x.t().contiguous()",
    "x.copy_(y)",
    "x.to(lib.float64)",
    "lib.nonzero(x)",
)


def operands() -> dict[str, Any]:
    """Return the variables of the calls, as tensors of PyTorch."""
    return {
        "x": torch.arange(12.0).reshape(3, 4),
        "y": torch.ones(3, 4),
        "z": torch.tensor(2.0),
        "c": torch.ones(3, 4, dtype=torch.bool),
        "b": torch.ones(2, 3, 3),
        "out": torch.empty(0),
        "flag": torch.empty(0, dtype=torch.bool),
    }


def reached_in_torch(call: str) -> str:
    """Return the first operator that PyTorch's dispatcher meets, for example ``aten::add.Tensor``."""
    names = {"lib": torch, "n": numpy.float64(2.5), **operands()}
    code = compile(call, call, "eval")
    settings = _ExperimentalConfig(capture_overload_names=True)
    with profile(activities=[ProfilerActivity.CPU], experimental_config=settings) as recorded:
        eval(code, names)
    first = _outermost(recorded)
    overload = first.overload_name()
    return f"{first.name()}.{overload}" if overload else first.name()


def _outermost(recorded: profile) -> Any:
    """Return the last operator that Python called directly; operators in arguments, such as ``y.t()``, come
    before it.
    """
    events = [event for event in recorded.profiler.kineto_results.events() if event.name().startswith("aten::")]
    ends: list[Any] = []
    for event in sorted(events, key=lambda event: event.start_ns()):
        if not ends or event.start_ns() >= ends[-1].start_ns() + ends[-1].duration_ns():
            ends.append(event)
    return ends[-1]


class Reached(DispatchMode):
    """Dispatch mode that records the operators that a program calls directly, in order."""

    before_decomposition = True

    def __init__(self) -> None:
        self.names: list[str] = []

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.names.append(operator.schema.name.qualified)
        return operator(*args, **kwargs)


@pytest.mark.parametrize("call", CALLS)
def test_call_reaches_torchs_overload(call: str) -> None:
    expected = reached_in_torch(call)
    values = Twins().of(operands())
    with Reached() as reached:
        eval(call, {"lib": opdsl, "n": numpy.float64(2.5), **values})
    assert reached.names[-1] == expected
