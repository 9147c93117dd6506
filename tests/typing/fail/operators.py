"""Wrong calls and implementations of operators, which mypy with the plugin finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import opdsl
from opdsl import Ints, Library, Scalar, Tensor, TensorOptions

lib = Library("typing_fail_operators")


@lib.op(out=True)
def scaled(self: Tensor, factor: float = 1.0, *, power: Scalar = 1) -> Tensor: ...


@lib.op
def stacked(tensors: list[Tensor], size: Ints[2]) -> list[Tensor]: ...


@lib.op
def factory(size: list[int], *, options: TensorOptions) -> Tensor: ...


@lib.op
def overloaded(self: Tensor, n: int) -> Tensor: ...


@overloaded.overload("Tensor")
def overloaded_tensor(self: Tensor, n: Tensor) -> Tensor: ...


# -------------------------------------------------------------------------------------------------------------- calls


def calls(x: Tensor) -> None:
    scaled()  # type: ignore[call-arg]
    scaled(2)  # type: ignore[arg-type]
    scaled(x, 1.0, 2)  # type: ignore[call-arg]
    scaled(x, pow=2)  # type: ignore[call-arg]
    scaled(x, out=1)  # type: ignore[arg-type]
    scaled(x, 2).nothing = 1  # type: ignore[attr-defined]
    stacked(x, 2)  # type: ignore[arg-type]
    stacked([x], "2")  # type: ignore[arg-type]
    stacked([x], 2, out=x)  # type: ignore[call-arg]
    factory([1], dtype="float32")  # type: ignore[call-overload]
    factory("12")  # type: ignore[arg-type]
    overloaded(x, "n")  # type: ignore[call-overload]
    overloaded_tensor(x, 1)  # type: ignore[arg-type]
    number: int = overloaded(x, x)  # type: ignore[assignment]
    dtype: opdsl.DType = opdsl.flaot32  # type: ignore[attr-defined]
    print(number, dtype)


# ---------------------------------------------------------------------------------------------------- implementations


@scaled.meta
def scaled_meta(ctx, self, factor, power):
    ctx.set_outputs(0, self.shape)  # type: ignore[attr-defined]
    ctx.set_output(0, self.dtype)  # type: ignore[arg-type]


@scaled.out_kernel("CPU", compiled=False)
def scaled_cpu(self, factor, power, out):
    out.array[...] = factor.numpy()  # type: ignore[attr-defined]
    return out  # type: ignore[return-value]


@scaled.kernel("CUDA")
def scaled_cuda(self, factor, power):
    return factor  # type: ignore[return-value]


@scaled.kernel("CUDA")
def renamed(self, scale, power):  # type: ignore[misc]
    return self


@scaled.kernel("CUDA")
def too_many(self, factor, power, more):  # type: ignore[misc]
    return self


@scaled.meta
def without_context(self, factor, power):  # type: ignore[misc]
    pass


@scaled.out_kernel("CPU")
def without_outputs(self, factor):  # type: ignore[misc]
    pass


@stacked.kernel("CPU")
def stacked_kernel(tensors, size):
    tensors.append(size[0])  # type: ignore[attr-defined]
    return size  # type: ignore[return-value]


stacked_kernel(1, (1, 2))  # type: ignore[arg-type]


# ------------------------------------------------------------------------------- functions that are not implementations


class Registry:
    """Class that is not an operator but has decorators of equal names, which the plugin must ignore."""

    def kernel(self, *keys: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Return the function unchanged."""
        return lambda function: function

    def meta(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function unchanged."""
        return function


registry = Registry()
typed_registry: Registry = Registry()


@registry.kernel("CPU")
def other_kernel(x):  # type: ignore[no-untyped-def]
    return x


@typed_registry.meta
def other_meta(x):  # type: ignore[no-untyped-def]
    return x


@Registry().kernel("CPU")
def third_kernel(x: int):  # type: ignore[no-untyped-def]
    return x


@undefined.kernel("CPU")  # type: ignore[name-defined]  # noqa: F821
def nothing(x):  # type: ignore[no-untyped-def]
    return x


@scaled.direct("CPU")
def no_implementation(x):  # type: ignore[no-untyped-def]
    return x


def plain(x):  # type: ignore[no-untyped-def]
    return x
