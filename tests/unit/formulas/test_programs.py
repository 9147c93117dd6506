"""Tests of formulas that fold, which become programs of few kernels."""

from __future__ import annotations

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, dims, formula
from opdsl.errors import PositionError
from opdsl.testing import check_op, gradcheck

lib = Library("formula_programs")


@lib.op(out=True)
@formula
def softmax_formula(self: Tensor, dim: int) -> Tensor:
    """``exp(self) / sum(exp(self))`` along a dimension, without overflow."""
    e = opdsl.exp(self - self.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


@lib.op
@formula
def add_rms_norm(self: Tensor, residual: Tensor, weight: Tensor, eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Return the sum normalized by its root mean square along the last dimension, and the sum itself."""
    h = self + residual
    return h * opdsl.rsqrt(h.square().mean(-1, keepdim=True) + eps) * weight, h


@lib.op
@formula
def attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return softmax_formula(query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5, -1) @ value


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_is_that_of_numpy(dim):
    x = np.random.default_rng(0).normal(size=(3, 5))
    e = np.exp(x - x.max(dim, keepdims=True))
    assert np.allclose(softmax_formula(opdsl.tensor(x), dim).numpy(), e / e.sum(dim, keepdims=True), rtol=1e-14)


def test_softmax_is_one_kernel():
    softmax_formula(opdsl.rand(4, 6), -1)
    assert {
        len(program.steps) for programs in softmax_formula.operator.formula.readings.values() for program in programs
    } == {1}


def test_several_results_are_one_kernel():
    x, r, w = opdsl.rand(4, 6), opdsl.rand(4, 6), opdsl.rand(6)
    normed, total = add_rms_norm(x, r, w)
    h = x.numpy() + r.numpy()
    expected = h / np.sqrt((h * h).mean(-1, keepdims=True) + 1e-6) * w.numpy()
    assert np.allclose(normed.numpy(), expected, rtol=1e-5)
    assert np.array_equal(total.numpy(), h)


@lib.op
@formula
def squared_distance(self: Tensor, other: Tensor) -> Tensor:
    return ((self - other) ** 2).mean()


@pytest.mark.parametrize("dtype", [opdsl.float32, opdsl.bfloat16])
def test_a_fold_of_all_is_one_kernel_and_has_the_gradients_of_its_text(dtype):
    x, y = opdsl.rand(4, 6).to(dtype), opdsl.rand(6).to(dtype)
    result = squared_distance(x, y)
    assert np.allclose(result.item(), ((x.double() - y.double()) ** 2).mean().item(), rtol=3e-2)
    readings = squared_distance.operator.formula.readings.values()
    assert {len(program.steps) for programs in readings for program in programs} == {1}
    values = x.double().requires_grad_()
    assert gradcheck(squared_distance, (values, y.double()))
    (gradient,) = opdsl.autograd.grad(squared_distance(values, y.double()), [values])
    assert np.allclose(gradient.numpy(), (values.detach() - y.double()).numpy() / 12)
    squared_distance(x, y)
    with opdsl.no_grad():
        assert not squared_distance(values, y.double()).requires_grad


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (0, 4)])
def test_new_sizes_are_served(shape):
    assert softmax_formula(opdsl.rand(shape), 1).shape == shape


def test_formulas_that_fold_are_inlined():
    q, k, v = (opdsl.rand(2, 3, 4, dtype=opdsl.float64) for _ in range(3))
    scores = q.numpy() @ k.numpy().swapaxes(-2, -1) / 2.0
    e = np.exp(scores - scores.max(-1, keepdims=True))
    expected = e / e.sum(-1, keepdims=True) @ v.numpy()
    assert np.allclose(attention(q, k, v).numpy(), expected, rtol=1e-12)


def test_gradients():
    x, r, w = (opdsl.rand(shape, dtype=opdsl.float64, requires_grad=True) for shape in ((2, 3), (2, 3), (3,)))
    assert gradcheck(add_rms_norm, (x, r, w))


@pytest.mark.parametrize("operator", [softmax_formula, add_rms_norm], ids=lambda operator: operator.__name__)
def test_laws(operator):
    check_op(operator)


def test_results_are_memory_of_their_own():
    with Library("formula_memory") as local:

        @local.op
        @formula
        def shown(self: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            turned = self.t()
            return turned, self, turned

        x = opdsl.rand(2, 3)
        for _ in range(3):
            results = shown(x)
            assert len({result.data_ptr() for result in (x, *results)}) == 4
            assert np.array_equal(results[0].numpy(), x.numpy().T)


def test_lists_are_arguments():
    with Library("formula_lists") as local:

        @local.op
        @formula
        def joined(tensors: list[Tensor], by: float = 2.0) -> Tensor:
            return opdsl.cat(tensors) * by

        for count in (2, 3, 2):
            filled = [opdsl.full((2,), float(at)) for at in range(count)]
            assert joined(filled).tolist() == [2.0 * at for at in range(count) for _ in range(2)]


def test_programs_look_into_formulas():
    compiled = opdsl.trace(lambda x: softmax_formula(x, -1) * 2, opdsl.rand(2, 3))
    assert all(step.name.startswith("aten::") for step in compiled.steps)


def test_sizes_are_numbers_of_the_call():
    with Library("formula_sizes") as local:

        @local.op
        @formula
        def averaged(self: Tensor) -> Tensor:
            return self.sum(-1) / self.shape[-1] if self.shape[-1] > 2 else self.sum(-1)

        results = [averaged(opdsl.ones(2, size)).tolist() for size in (2, 3, 4, 2, 3)]
        assert results == [[2.0, 2.0], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0], [1.0, 1.0]]


@lib.op
@formula
def guarded_rows(self: Tensor) -> Tensor:
    total = self.cumsum(-1)
    return (opdsl.sqrt(total) if total > 0 else 0.0).cumsum(-1)


@lib.op
@formula
def guarded_pairs(x: Tensor, y: Tensor) -> Tensor:
    i, j = dims(2)
    d = x[i] - y[j]
    return (opdsl.sqrt(d) if d > 0 else -d * 2).sum(j).order(i)


@lib.op
@formula
def distances(self: Tensor, other: Tensor) -> Tensor:
    """Return the distance of each point of one set from each point of another."""
    i, j, k = dims(3)
    return (self[..., i, k] - other[..., j, k]).square().sum(k).sqrt().order(..., i, j)


@lib.op
@formula
def biased_product(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    i, j, k = dims(3)
    return opdsl.relu((x[i, k] * weight[j, k]).sum(k) + bias[j]).order(i, j)


@pytest.mark.parametrize("_", range(3))  # the first call, a call that is lowered, and a call by a plan
def test_conditions_guard_gradients_around_folds(_):
    x = opdsl.tensor([[0.0, 4.0, -5.0]], requires_grad=True)
    guarded_rows(x).sum().backward()
    assert x.grad.tolist() == [[0.5, 0.5, 0.0]]


def test_conditions_over_dims_guard_gradients():
    x = opdsl.arange(3.0, requires_grad=True)
    guarded_pairs(x, opdsl.arange(2.0)).sum().backward()
    assert np.allclose(x.grad.numpy(), [-4.0, -1.5, 0.5 / 2**0.5 + 0.5])


def test_dims_in_formulas():
    a, b = opdsl.rand(2, 3, 4), opdsl.rand(2, 5, 4)
    expected = np.sqrt(((a.numpy()[:, :, None] - b.numpy()[:, None]) ** 2).sum(-1))
    assert np.allclose(distances(a, b).numpy(), expected, rtol=1e-6)
    assert distances(opdsl.rand(3, 4), opdsl.rand(2, 4)).shape == (3, 2)


def test_a_sum_of_products_is_a_matrix_product():
    x, w, b = opdsl.rand(3, 4), opdsl.rand(5, 4), opdsl.rand(5)
    expected = np.maximum(x.numpy() @ w.numpy().T + b.numpy(), 0)
    assert np.allclose(biased_product(x, w, b).numpy(), expected, rtol=1e-6)
    (program,) = [program for programs in biased_product.operator.formula.readings.values() for program in programs]
    assert [step.name.partition("::")[0] for step in program.steps if not step.is_view] == ["aten", "fused"]


ORDER = opdsl.tensor([2, 0])


@lib.op
@formula
def some_rows(self: Tensor) -> Tensor:
    return opdsl.index_select(self, 0, ORDER) - self.gather(0, opdsl.tensor([[1, 0], [0, 1]]))


def test_positions_may_be_numbers_of_the_formula() -> None:
    for rows in (3, 3, 3, 3, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 2))
        np.testing.assert_array_equal(
            some_rows(opdsl.from_numpy(x)).numpy(), x[[2, 0]] - np.stack([x[[1, 0], [0, 1]], x[[0, 1], [0, 1]]])
        )
    with pytest.raises(PositionError, match="index 2 is out of bounds for dimension 0 with size 2"):
        some_rows(opdsl.ones(2, 2))


@lib.op
@formula
def scaled_by_constant_sum(self: Tensor) -> Tensor:
    with opdsl.no_grad():
        total = self.sum()
    return self * total


@lib.op
@formula
def scaled_by_constant_double(self: Tensor) -> Tensor:
    with opdsl.no_grad():
        double = 2 * self
    return self * double


@lib.op
@formula
def exponentials(self: Tensor) -> Tensor:
    with opdsl.no_grad():
        most, _ = self.max(-1, keepdim=True)
    return opdsl.exp(self - most)


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (scaled_by_constant_sum, lambda x: np.full(3, x.sum())),
        (scaled_by_constant_double, lambda x: 2 * x),
        (exponentials, lambda x: np.exp(x - x.max())),
    ],
)
def test_gradients_do_not_pass_through_what_is_computed_under_no_grad(function, wanted):
    x = np.array([0.5, 2.0, 1.0])
    leaf = opdsl.from_numpy(x).requires_grad_()
    function(leaf).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), wanted(x))
