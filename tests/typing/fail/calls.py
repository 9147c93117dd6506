"""Wrong calls of opdsl's functions, methods and packets; each ignored line has an error of the code in its comment."""

# ruff: noqa: B015, B018

from __future__ import annotations

import opdsl
from opdsl import Tensor


def functions(x: Tensor) -> None:
    opdsl.exp("a")  # type: ignore[arg-type]
    opdsl.exp(1.0)  # type: ignore[arg-type]
    opdsl.exp()  # type: ignore[call-arg]
    opdsl.exp(x, x)  # type: ignore[call-arg]
    opdsl.exp(x, out=1)  # type: ignore[arg-type]
    opdsl.add(x, "a")  # type: ignore[arg-type]
    opdsl.add(x, x, 2)  # type: ignore[call-arg]
    opdsl.add(x, x, alpha="2")  # type: ignore[arg-type]
    opdsl.add(x, x, beta=2)  # type: ignore[call-arg]
    opdsl.max(x, "a")  # type: ignore[arg-type]
    opdsl.max(x, 0, out=x)  # type: ignore[call-overload]
    opdsl.zeros("a")  # type: ignore[arg-type]
    opdsl.zeros(2, dtype="float32")  # type: ignore[call-overload]
    opdsl.cat(x)  # type: ignore[arg-type]
    opdsl.softmax(x)  # type: ignore[call-arg]
    opdsl.flaot32  # type: ignore[attr-defined]
    opdsl.tanh_backward(x, x)  # type: ignore[attr-defined]
    opdsl.nn.exp(x)  # type: ignore[attr-defined]
    number: int = opdsl.exp(x)  # type: ignore[assignment]
    opdsl.max(x, 0).nothing  # type: ignore[attr-defined]
    print(number)


def methods(x: Tensor) -> None:
    x.ad(x)  # type: ignore[attr-defined]
    x.add()  # type: ignore[call-arg]
    x.add("a")  # type: ignore[arg-type]
    x.view("a")  # type: ignore[arg-type]
    x.to(1.5)  # type: ignore[call-overload]
    x.sum(0, keep=True)  # type: ignore[call-overload]
    x.shape = (1,)  # type: ignore[misc]
    x.clone().nothing = 1  # type: ignore[attr-defined]
    x + "a"  # type: ignore[operator]
    "a" - x  # type: ignore[operator]
    x @ 1  # type: ignore[operator]
    x < "a"  # type: ignore[operator]
    x["a"]  # type: ignore[index]
    x[0] = "a"  # type: ignore[assignment]
    x.float(1)  # type: ignore[arg-type]


def packets(x: Tensor) -> None:
    opdsl.ops.aten.nothing  # type: ignore[attr-defined]
    opdsl.ops.aten.add.nothing  # type: ignore[attr-defined]
    opdsl.ops.aten.add.Tensor(x)  # type: ignore[call-arg]
    opdsl.ops.aten.add.Tensor(x, "a")  # type: ignore[arg-type]
    opdsl.ops.aten.add.out(x, x)  # type: ignore[call-arg]
    opdsl.ops.aten.max.dim(x, "a")  # type: ignore[arg-type]
    opdsl.exp.kernel(1)  # type: ignore[call-overload]
    opdsl.exp.shema  # type: ignore[attr-defined]
