"""Smoke test of a few seconds: declare, call, inspect and export operators. Needs no PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

import opdsl
from opdsl import Alias, Array, Ints, Library, Scalar, Tensor, check, formula


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("tiny") as library:
        yield library


def test_aten() -> None:
    x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert (x + 1).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert opdsl.mul(x, x, out=opdsl.empty(2, 2)).tolist() == [[1.0, 4.0], [9.0, 16.0]]
    assert x.t().add_(1).tolist() == [[2.0, 4.0], [3.0, 5.0]]
    assert x.sum().item() == 14.0
    assert (x @ x).tolist() == [[16.0, 21.0], [28.0, 37.0]]
    assert opdsl.cat((x, x), 1).shape == (2, 4)
    assert opdsl.where(x > 3, x, 0).tolist() == [[0.0, 0.0], [4.0, 5.0]]


def test_numpy_shares_memory() -> None:
    array = numpy.arange(4.0)
    opdsl.from_numpy(array).mul_(2)
    assert array.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_a_pointwise_operator_and_its_variants(lib: Library) -> None:
    @lib.op(variants="function, method", inplace=True, out=True)
    @formula
    def tiny_softplus(self: Tensor, beta: float = 1.0) -> Tensor:
        """``log(1 + exp(beta * self)) / beta``"""
        z = beta * self
        return (opdsl.clamp_min(z, 0.0) + opdsl.log1p(opdsl.exp(-abs(z)))) / beta

    x = opdsl.tensor([-1.0, 0.0, 2.0])
    expected = numpy.logaddexp(0, numpy.array([-1.0, 0.0, 2.0]))
    for actual in (
        tiny_softplus(x),
        x.tiny_softplus(),
        tiny_softplus(x, out=opdsl.empty(3)),
        tiny_softplus(opdsl.tensor([-1, 0, 2])),
        x.clone().tiny_softplus_(),
    ):
        numpy.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6)
    assert str(tiny_softplus.schema) == "tiny::tiny_softplus(Tensor self, float beta=1.0) -> Tensor"
    assert tiny_softplus.meta(x).device.type == "meta"
    opdsl.testing.check_op(tiny_softplus)


def test_a_structured_operator(lib: Library) -> None:
    @lib.op(out=True)
    def tiny_upsample(self: Tensor, output_size: Ints[1]) -> Tensor: ...

    @tiny_upsample.meta
    def tiny_upsample_meta(ctx, self, output_size):
        check(self.ndim == 1, "expected a vector", got=self.shape)
        ctx.set_output(0, (output_size[0],), like=self)

    @tiny_upsample.out_kernel("CPU")
    def tiny_upsample_cpu(self: Array, output_size, out: Array) -> None:
        for index in range(len(out)):
            out[index] = self[index * len(self) // len(out)]

    assert tiny_upsample(opdsl.tensor([1.0, 2.0]), 4).tolist() == [1.0, 1.0, 2.0, 2.0]
    with pytest.raises(RuntimeError, match=r"expected a vector \(got=\(1, 1\)\)"):
        tiny_upsample(opdsl.zeros(1, 1), 4)


def test_a_composite_a_view_and_an_overload(lib: Library) -> None:
    @lib.op
    def tiny_scale(self: Tensor, factor: Scalar) -> Tensor:
        return self * factor

    @tiny_scale.overload("Tensor")
    def tiny_scale_tensor(self: Tensor, factor: Tensor) -> Tensor:
        return self * factor + 1

    @lib.op
    def tiny_half(self: Tensor[Alias("a")]) -> Tensor[Alias("a")]: ...

    @tiny_half.kernel("CPU", "Meta")
    def tiny_half_kernel(self):
        return self.narrow(0, 0, self.shape[0] // 2)

    x = opdsl.tensor([1.0, 2.0])
    assert tiny_scale(x, 3).tolist() == [3.0, 6.0]
    assert tiny_scale(x, x).tolist() == [2.0, 5.0]
    tiny_half(x).add_(1)
    assert x.tolist() == [2.0, 2.0]
    assert tiny_half.dispatch_table()["CPU"]


def test_export(lib: Library) -> None:
    @lib.op("tiny::twice", out=True)
    @formula
    def twice(self: Tensor) -> Tensor:
        return 2 * self

    from opdsl.declare.export import export

    text = opdsl.native.dumps(export(opdsl.registry, ["tiny"]))
    assert "func: tiny::twice(Tensor self) -> Tensor" in text
    assert [str(load.schema) for load in opdsl.native.loads(text)] == [
        "tiny::twice(Tensor self) -> Tensor",
        "tiny::twice.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
    ]
