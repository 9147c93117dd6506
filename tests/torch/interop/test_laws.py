"""Tests that registered operators meet torch's requirements: opcheck, gradients in both modes, transforms."""

from __future__ import annotations

import pytest
import torch

from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register
from tests.torch.interop.bridge import DIFFERENTIABLE, SAMPLES, cases, followed, make, operator, registered


@pytest.fixture(scope="module")
def ops():
    with registered() as namespace:
        yield namespace


def tensors_in(values):
    for value in values:
        yield from tensors_in(value) if isinstance(value, list) else [value] if isinstance(value, torch.Tensor) else []


def differentiable(ops, name, place, seed=None):
    """Return an operator as a function of the tensors of a sample, and these tensors."""
    args, kwargs = SAMPLES[name]()[place]
    args = [followed(arg) for arg in args]
    inputs = [tensor for tensor in tensors_in(args) if tensor.requires_grad]

    def call(*tensors):
        rest = iter(tensors)

        def filled(value):
            if isinstance(value, list):
                return [filled(element) for element in value]
            return next(rest) if isinstance(value, torch.Tensor) and value.requires_grad else value

        return operator(ops, name)(*[filled(arg) for arg in args], **kwargs)

    return call, inputs


GRADIENT_CASES = [
    (name, place)
    for name, place in cases(DIFFERENTIABLE)
    if any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors_in(SAMPLES[name]()[place][0]))
]


@pytest.mark.parametrize(("name", "place"), cases())
def test_opcheck(ops, name, place):
    args, kwargs = SAMPLES[name]()[place]
    torch.library.opcheck(operator(ops, name), args, kwargs)


@pytest.mark.parametrize(("name", "place"), GRADIENT_CASES)
def test_opcheck_with_gradients(ops, name, place):
    args, kwargs = SAMPLES[name]()[place]
    torch.library.opcheck(operator(ops, name), [followed(arg) for arg in args], kwargs)


@pytest.mark.parametrize(("name", "place"), GRADIENT_CASES)
def test_gradients_in_both_modes(ops, name, place):
    call, inputs = differentiable(ops, name, place)
    torch.autograd.gradcheck(call, inputs, check_forward_ad=True, check_batched_grad=True)


@pytest.mark.parametrize(("name", "place"), GRADIENT_CASES)
def test_gradients_of_gradients(ops, name, place):
    call, inputs = differentiable(ops, name, place)
    torch.autograd.gradgradcheck(call, inputs, check_fwd_over_rev=True)


@pytest.mark.parametrize("name", ["smooth_relu_", "affine_"])
def test_gradients_through_inplace_operators(ops, name):
    (x, *rest), kwargs = SAMPLES[name]()[0]
    call = operator(ops, name)
    torch.autograd.gradcheck(lambda x: call(x * 1, *rest, **kwargs), (followed(x),), check_forward_ad=True)
    torch.autograd.gradgradcheck(lambda x: call(x * 1, *rest, **kwargs), (followed(x),))


def test_gradients_through_views_that_are_written(ops):
    def call(x):
        y = x * 1
        ops.smooth_relu_(ops.first_half(y))
        return y

    torch.autograd.gradcheck(call, (make(4, 3, requires_grad=True),))


def test_writing_a_leaf_that_requires_grad_is_refused(ops):
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        ops.smooth_relu_(make(3, requires_grad=True))


def test_a_saved_tensor_that_was_written_is_refused(ops):
    x = make(3, requires_grad=True)
    y = x * 1
    z = ops.smooth_relu(y)
    ops.smooth_relu_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_missing_derivative_is_told_in_the_backward_pass(ops):
    y = ops.sorted_copy(make(3, requires_grad=True))
    with pytest.raises(NotImplementedError, match=r'sorted_copy is not implemented.*sorted_copy.derivative\("self"\)'):
        y.sum().backward()


def test_no_gradient_is_recorded_under_no_grad(ops):
    with torch.no_grad():
        assert not ops.smooth_relu(make(3, requires_grad=True)).requires_grad


def test_inference_mode(ops):
    x = make(4)
    with torch.inference_mode():
        y = ops.smooth_relu(x)
        ops.smooth_relu_(y)
    assert y.is_inference()
    torch.testing.assert_close(y.clone(), torch.nn.functional.softplus(torch.nn.functional.softplus(x)))


def test_autocast_casts_for_products_alone(ops):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.smooth_relu(torch.ones(3)).dtype is torch.float32
        assert ops.affine(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.bfloat16  # as torch's linear


def test_fake_tensors_have_the_shape_and_strides(ops):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        x = mode.from_tensor(make(3, 4).t())
        y = ops.smooth_relu(x)
    assert (y.shape, y.stride(), y.dtype) == ((4, 3), (1, 4), torch.float64)


def test_meta_tensors_have_the_shape(ops):
    assert ops.nearest(torch.empty(2, 3, 4, device="meta"), [6]).shape == (2, 3, 6)


def test_a_worker_process_of_a_data_loader_calls_it(ops):
    class Data(torch.utils.data.Dataset):
        def __len__(self):
            return 4

        def __getitem__(self, at):
            return ops.smooth_relu(torch.full((2,), float(at)))

    loaded = torch.cat(list(torch.utils.data.DataLoader(Data(), batch_size=2, num_workers=1)))
    expected = torch.nn.functional.softplus(torch.arange(4.0))
    torch.testing.assert_close(loaded, expected[:, None].expand(4, 2))


def test_vmap_of_a_pointwise_operator_broadcasts(ops):
    low, high, weight = make(5, 3), make(3, 5), make(5, seed=9)
    mapped = torch.vmap(ops.blend, in_dims=(0, 1, 0))(low, high, weight)
    expected = torch.stack([ops.blend(low[at], high[:, at], weight[at]) for at in range(5)])
    torch.testing.assert_close(mapped, expected)


def test_vmap_promotes_as_single_calls_do(ops):
    numbers, vectors = torch.arange(4, dtype=torch.float64), torch.ones(3)
    mapped = torch.vmap(ops.scaled_add, in_dims=(0, None))(numbers, vectors)
    assert mapped.dtype is ops.scaled_add(numbers[0], vectors).dtype is torch.float32


BATCHED = ("energy", "average", "softmax", "running_sum", "running_largest", "affine", "dropped", "bounds", "turned")


@pytest.fixture
def no_loops(monkeypatch):
    """Fail if an operator runs once for each element of a batch."""

    def loop(*inputs):
        raise AssertionError("it runs once for each element")

    monkeypatch.setattr("opdsl.interop.torch.batching.batched", loop)


@pytest.mark.parametrize(("name", "place"), [case for case in cases(BATCHED) if SAMPLES[case[0]]()[case[1]][0][0].ndim])
def test_vmap_of_rows_and_composites_is_one_call(ops, no_loops, name, place):
    (x, *rest), kwargs = SAMPLES[name]()[place]
    call = operator(ops, name)
    for dim in range(x.ndim + 1):
        batch = torch.stack([x, 2 * x, -x], dim=dim)
        mapped = torch.vmap(lambda sample: call(sample, *rest, **kwargs), in_dims=dim)(batch)
        single = [call(sample, *rest, **kwargs) for sample in batch.unbind(dim)]
        parts = zip(*single, strict=True) if isinstance(mapped, tuple) else [single]
        for one, others in zip(mapped if isinstance(mapped, tuple) else [mapped], parts, strict=True):
            torch.testing.assert_close(one, torch.stack(list(others)))


@pytest.mark.parametrize(("name", "place"), [("nearest", 0), ("plus", 1), ("softmax", 4), ("masked", 1)])
def test_vmap_of_other_operators_runs_each(ops, name, place):
    (x, *rest), kwargs = SAMPLES[name]()[place]
    call = operator(ops, name)
    batch = torch.stack([x, 2 * x, -x], dim=-1)
    mapped = torch.vmap(lambda sample: call(sample, *rest, **kwargs), in_dims=-1)(batch)
    torch.testing.assert_close(mapped, torch.stack([call(sample, *rest, **kwargs) for sample in batch.unbind(-1)]))


def test_a_declared_derivative_holds_within_batches_and_around_them(no_loops, monkeypatch):
    with Library("interop_batches") as library:

        @library.op
        @formula
        def energy(self: Tensor, other: Tensor) -> Tensor:
            return (self * other - self).sum(-1)

        energy.derivative(self=lambda grad, other: 5 * grad.unsqueeze(-1) * (other - 1))  # wrong on purpose
        register(library)
        call, x, y = torch.ops.interop_batches.energy, make(4, 3), make(4, 3)
        torch.testing.assert_close(torch.vmap(call, in_dims=1)(x, y), call(x.t(), y.t()))
        torch.testing.assert_close(torch.vmap(torch.func.grad(call))(x, y), 5 * (y - 1))
        monkeypatch.undo()  # differentiating around the batch runs the operator for each element
        around = torch.func.grad(lambda batch: torch.vmap(call)(batch, y).sum())(x)
        torch.testing.assert_close(around, 5 * (y - 1))
        nested = x.clone().requires_grad_()
        inner = torch.vmap(torch.vmap(call, in_dims=(0, None)), in_dims=(None, 0))
        (gradient,) = torch.autograd.grad(inner(nested, y).sum(), nested)
        torch.testing.assert_close(gradient, (5 * (y - 1)).sum(0).expand(4, 3))


def test_nested_vmap_is_one_call(ops, no_loops):
    x = make(2, 3, 4)
    mapped = torch.vmap(torch.vmap(lambda column: ops.softmax(column, 0)), in_dims=1)(x)
    torch.testing.assert_close(mapped, torch.softmax(x, 2).movedim(1, 0))


def test_vmap_of_gradients_is_one_call(ops, no_loops):
    x = make(3, 4)
    jacobian = torch.func.jacrev(lambda row: ops.softmax(row, 0))(x[0])
    expected = torch.autograd.functional.jacobian(lambda row: torch.softmax(row, 0), x[0])
    torch.testing.assert_close(jacobian, expected)


def test_vmap_of_a_list(ops):
    x, y = make(4, 3), make(3)
    mapped = torch.vmap(lambda x: ops.weighted([x, y], 2.0))(x)
    torch.testing.assert_close(mapped, 2 * (x + y))


def test_vmap_of_no_elements(ops):
    assert torch.vmap(lambda x: ops.nearest(x, [6]))(make(0, 2, 3, 4)).shape == (0, 2, 3, 6)


def test_vmap_of_inplace(ops):
    x = make(3, 4)
    expected = torch.nn.functional.softplus(x)
    torch.vmap(ops.smooth_relu_)(x)
    torch.testing.assert_close(x, expected)


def test_jvp(ops):
    x, tangent = make(4), make(4, seed=3)
    _, result = torch.func.jvp(ops.smooth_relu, (x,), (tangent,))
    torch.testing.assert_close(result, torch.sigmoid(x) * tangent)


def test_jvp_of_a_declared_derivative(ops):
    x, tangent = make(2, 3), make(2, 3, seed=3)
    _, result = torch.func.jvp(lambda x: ops.energy(x, [1]), (x,), (tangent,))
    torch.testing.assert_close(result, (2 * x * tangent).sum(1))


def test_hessian(ops):
    x = make(4)
    hessian = torch.func.hessian(lambda x: ops.smooth_relu(x).sum())(x)
    slope = torch.sigmoid(x)
    torch.testing.assert_close(hessian, torch.diag(slope * (1 - slope)))


def test_gradients_for_each_of_a_batch(ops):
    x = make(3, 4)
    slopes = torch.vmap(torch.func.grad(lambda x: ops.energy(ops.smooth_relu(x))))(x)
    softplus = torch.nn.functional.softplus
    torch.testing.assert_close(slopes, 2 * softplus(x) * torch.sigmoid(x))


def test_gradients_of_complex_numbers(ops):
    inputs = [make(2, 2, seed=seed, requires_grad=True) for seed in range(3)]
    torch.autograd.gradcheck(
        lambda *parts: ops.blend(*map(torch.view_as_complex, parts)), inputs, check_forward_ad=True
    )


def test_gradients_of_mixed_dtypes_have_the_dtypes_of_the_arguments(ops):
    x, y = torch.ones(3, requires_grad=True), torch.ones(3, dtype=torch.float64, requires_grad=True)
    ops.scaled_add(x, y, alpha=3).sum().backward()
    assert (x.grad.dtype, y.grad.dtype) == (torch.float32, torch.float64)
    assert y.grad.tolist() == [3, 3, 3]
