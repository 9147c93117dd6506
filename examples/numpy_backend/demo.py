"""Demonstration of a backend of five out-kernels; it needs opdsl and opdsl-numpy-device to be installed."""

from __future__ import annotations

from collections.abc import Callable

import opdsl
from opdsl import Library, Tensor

lib = Library("demo")


@lib.op
def dense(self: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return ``exp(self @ weight.T + bias)``; a composite, which runs on every device that has the operators it
    calls.
    """
    return (self @ weight.t() + bias).exp()


def main() -> None:
    """Create tensors on the device, compute with them, and copy them back."""
    x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]]).to("numpy_device")
    print("printed    ", str(x).replace("\n", "\n            "))
    print("functional ", (x + x).tolist())
    print("broadcast  ", (x * opdsl.tensor([10.0, 100.0], device="numpy_device")).tolist())
    print("number     ", (x * 2).tolist())
    print("promoted   ", (x + opdsl.tensor([1, 2], device="numpy_device")).dtype)

    y = x.clone()
    y += x
    print("in place   ", y.tolist())

    out = opdsl.empty((0,), device="numpy_device")
    opdsl.mm(x, x.t(), out=out)
    print("out=       ", out.tolist())
    print("reduced    ", x.sum(0).tolist(), x.sum().item())

    small = opdsl.zeros((2,), device="numpy_device")
    print("composite  ", dense(x * 0, x, small).tolist())
    print("views      ", x.t().reshape(4).tolist(), x[1].tolist())
    print("converted  ", x.long().cpu().tolist(), x.to("cpu").device)

    refused: list[Callable[[], Tensor]] = [
        lambda: opdsl.mm(x, x[:1]),
        lambda: x + opdsl.ones((2, 2)),
        lambda: opdsl.log(x),
    ]
    for call in refused:
        try:
            call()
        except RuntimeError as error:
            print("refused    ", error)


if __name__ == "__main__":
    main()
