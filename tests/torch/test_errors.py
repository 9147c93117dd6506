"""Tests of wrong calls: opdsl raises where PyTorch does, with the same built-in class and the same topic."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import opdsl
from opdsl.errors import OpdslError
from tests.torch.twins import Twins

pytestmark = pytest.mark.usefixtures("plans_at_once")

# A call, and words that both messages contain. `lib` is torch or opdsl.
WRONG = {
    # shapes
    "lib.add(m23, m45)": "must match the size of tensor b",
    "lib.where(m23 > 0, m45, 1)": "must match the size",
    "m23.add_(v5)": "must match the size",
    "m23.add_(b223)": "doesn't match the broadcast shape",
    "m23.copy_(m45)": "",
    "lib.mm(m23, m23)": "mat1 and mat2 shapes cannot be multiplied",
    "lib.mm(v5, m23)": "must be a matrix",
    "lib.mm(m23, v5)": "must be a matrix",
    "lib.bmm(m23, m23)": "must be a 3D tensor",
    "m23.view(4)": "is invalid for input of size",
    "m23.view(-1, -1)": "only one dimension can be inferred",
    "m23.view(-2)": "invalid shape dimension",
    "m23.view(0, -1)": "is invalid for input of size",
    "e03.view(0, -1)": "cannot reshape tensor of 0 elements",
    "m23.t().view(6)": "view size is not compatible with input tensor's size and stride",
    "lib.reshape(m23, (4, 2))": "is invalid for input of size",
    "m23.view(lib.complex128)": "must be divisible by",
    "m23.expand(3, 3)": "must match the existing size",
    "m23.expand(3)": "must be greater or equal to the number of dimensions",
    "lib.t(b223)": "expects a tensor with <= 2 dimensions",
    "lib.permute(m23, (0,))": "number of dimensions",
    "lib.permute(m23, (0, 0))": "duplicate dims",
    "lib.narrow(m23, 0, 1, 5)": "exceeds dimension size",
    "lib.cat((m23, m45))": "Sizes of tensors must match except in dimension",
    "lib.cat((m23, v5))": "Tensors must have same number of dimensions",
    "lib.cat((z, z))": "zero-dimensional tensor",
    "lib.cat([])": "non-empty list",
    "lib.empty(-1)": "negative dimension",
    "lib.full((2, -3), 1)": "negative dimension",
    # sizes beyond any memory
    "lib.empty(2**40, 2**40)": "Storage size calculation overflowed",
    "lib.empty((2**40, 2**40), device='meta')": "Storage size calculation overflowed",
    "lib.empty(0, 2**62, 2**62)": "overflowed",
    "lib.empty_strided((2,), (2**62,))": "Storage size calculation overflowed",
    "lib.empty(2**50)": "memory",
    "lib.linspace(0, 1, 2**62)": "Storage size calculation overflowed",
    "lib.arange(2**62)": "Storage size calculation overflowed",
    "lib.arange(2, 2, float('nan'))": "step must be nonzero",
    "lib.arange(2, 3, 0)": "step must be nonzero",
    "lib.randperm(2**60)": "Storage size calculation overflowed",
    "lib.eye(2**33)": "overflow",
    "lib.tril_indices(2**31, 2**31)": "Storage size calculation overflowed",
    "lib.triu_indices(2**31, 2**31)": "Storage size calculation overflowed",
    "lib.fft.fftfreq(2**62)": "Storage size calculation overflowed",
    "lib.bartlett_window(2**62)": "Storage size calculation overflowed",
    "lib.rand(-1, out=e03)": "",
    "m23.resize_(2**61)": "Storage size calculation overflowed",
    "m23.repeat(2**60, 1)": "Storage size calculation overflowed",
    "m23.new_empty(2**62)": "Storage size calculation overflowed",
    "z.expand(2**33, 2**33)": "overflow",
    # shapes with a wrong number of dimensions
    "lib.tensordot(m23, z, ([-1], [0]))": "tensor has no dimensions",
    "lib.ops.aten.pad_sequence([z, z])": "",
    "lib.norm(e03, -1.0, 7)": "Dimension out of range",
    "lib.ops.aten.trace_backward(ints, [])": "expected matrix input",
    "lib.segment_reduce(z, 'sum', lengths=ints)": "",
    "lib.ops.aten.lstm_cell(m23, [], m23, m23)": "expects two hidden states",
    "lib.ops.aten.lstm.input(b223, [], [m23] * 4, True, 1, 0.0, False, False, True)": "expects two hidden states",
    "lib.ops.aten.embedding_bag.padding_idx(z, ints, ints, False, 0, False, None, False, 1)": "",
    "lib.ops.aten._slow_conv2d_backward.output_mask(b223, b223, z, [1, 1], [1, 1], [0, 0], [True] * 3)": "",
    "lib.ops.aten._embedding_bag_per_sample_weights_backward(m23, m23, ints[0], z, e03[0], 0)": "",
    "lib.ops.aten._reshape_from_tensor(m23, v5)": "expected",
    "lib.fused_moving_avg_obs_fake_quant("
    "m23, lib.ones(1), lib.ones(1), lib.ones(1), lib.ones(1), lib.ones(1), m45, 0.5, -8, 7, 0)": "",
    "(m23 > 0).scatter_reduce_(0, (m23 > 9).long(), m23 > 9, 'mean', include_self=False)": "not implemented for",
    "lib.ops.aten.rrelu_with_noise(z, m23, 0.1, 0.2, True)": "noise tensor shape must match self tensor shape",
    "lib.ops.aten.affine_grid_generator_backward(m23, [], False)": "",
    "lib.ops.aten._transform_bias_rescale_qkv(b223, v5, -1)": "",
    "lib.bilinear(v5, v5, m23, None)": "",
    "lib.bilinear(z, z, z, None)": "has no dimensions",
    "lib.ops.aten.linalg_cross(z, z)": "has no dimensions",
    "lib.ops.aten._pdist_forward(z)": "has no dimensions",
    "lib.ops.aten._pdist_backward(v5, v5, 2.0, v5)": "Dimension out of range",
    "lib.ops.aten.col2im(b223, [5], [2, 1], [1, 1], [0, 0], [1, 1])": "output_size equals to 2, but got size 1",
    "lib.ops.aten._pdist_forward(v5)": "Dimension out of range",
    "lib.ops.aten._cholesky_solve_helper(z, z, True)": "",
    "lib.ops.aten._pad_enum(m23, [1, 1], 77)": "",
    "lib.ops.aten._pad_enum(m23, [1], 0)": "divisible by 2",
    "lib.ops.aten.embedding_dense_backward(z, ints[0, 0], 3, -1, False)": "has no dimensions",
    "lib.ops.aten.upsample_nearest2d.vec(b223[None], [1], None)": "spatial",
    "lib.ops.aten.upsample_nearest2d.vec(b223[None], None, [1.0])": "spatial",
    "lib.ops.aten._upsample_nearest_exact1d.vec(b223, None, [1e300])": "without overflow",
    "lib.ops.aten._upsample_nearest_exact1d.vec(b223, None, [float('nan')])": "",
    "lib.ops.aten.hardtanh_(bytes3, 0, float('nan'))": "without overflow",
    "lib.ops.aten.stride.int(z, 0)": "has no dimensions",
    "lib.ops.aten.size.int(z, 0)": "has no dimensions",
    "lib.ops.aten.cross_entropy_loss(z, z)": "has no dimensions",
    "m23[0, 5]": "index 5 is out of bounds for dimension 1 with size 3",
    "b223[:, 0, 7]": "index 7 is out of bounds for dimension 2 with size 3",
    "m23.__setitem__(m23 > -9, lib.tensor([]))": "shape mismatch: value tensor of shape [0]",
    # written tensors keep their shape and elements
    "lib.ops.aten.rand.out([4], out=ints)": "",
    "lib.ops.aten.bernoulli.out(m23, out=lib.empty(0, dtype=lib.complex64))": "",
    "lib.ops.aten.randint.out(0, [4], out=v5)": "",
    "lib.ops.aten.detach_copy.out(m23, out=ints)": "dtype",
    "lib.ops.aten.mse_loss_backward.grad_input(flags, flags, flags, 1, grad_input=v5)": "",
    "lib.linalg.slogdet(m45 @ m45.t(), out=(z, ints))": "dtype",
    "lib.qr(m23, out=(m45, ints))": "",
    "lib.ops.aten.std_mean.correction_out(m23, None, out0=v5, out1=ints)": "dtype",
    "lib.normal(m23 + 0j, 1.0, out=d23)": "can't be cast",
    "lib.normal(m23, ints, out=ints)": "",
    # values
    "lib.ops.aten._native_batch_norm_legit(b223, None, None, v5[:2], z.view(1, 1, 1), True, 0.1, 1e-5)": "",
    "lib.baddbmm(b223 + 0j, b223[:, :, :2] + 0j, b223 + 0j, alpha=1e300j)": "without overflow",
    "lib.triu(m23, 2**63)": "Overflow when unpacking long long",
    "lib.triu(m23, -(10**30))": "Overflow when unpacking long long",
    "m23.select(0, 2**63)": "Overflow when unpacking long long",
    "m23.view(2**63)": "unpack",
    "lib.empty(2**64)": "unpack",
    "lib.randint(2**64, (2,))": "Overflow when unpacking long long",
    "lib.ops.aten.einsum('ab,cb,a', [m23, m23, v5[:2]], path=[0, 2, 0, 4])": "einsum",
    "lib.ops.aten.unsafe_split_with_sizes.out(m23, [1, 1], out=[m45])": "",
    "lib.norm(m23, 1j)": "non-complex",
    "lib.arange(5).tensor_split(2**62)": "",
    "ints.index_put_((lib.tensor([5]),), lib.ones(2, 2))": "shape mismatch: value tensor of shape [2, 2]",
    "ints.index_put_((lib.tensor([True]),), lib.ones(2))": "The shape of the mask [1] at index 0",
    # dimensions
    "lib.transpose(m23, 0, 2)": "Dimension out of range",
    "lib.select(m23, 5, 0)": "Dimension out of range",
    "lib.select(m23, 0, 2)": "out of range for tensor of size",
    "lib.select(z, 0, 0)": "cannot be applied to a 0-dim tensor",
    "lib.unsqueeze(m23, 4)": "Dimension out of range",
    "lib.unbind(z)": "has no dimensions",
    "lib.cat((m23, m23), 2)": "Dimension out of range",
    "lib.sum(m23, 2)": "Dimension out of range",
    "lib.sum(m23, (0, 0))": "appears multiple times",
    "lib.amax(e03)": "Expected reduction dim to be specified",
    "lib.amax(e03, 0)": "non-zero size",
    # dtypes
    "lib.sub(flags, flags)": "Subtraction, the `-` operator, with two bool tensors",
    "lib.sub(m23, flags)": "Subtraction, the `-` operator, with a bool tensor",
    "lib.neg(flags)": "Negation, the `-` operator, on a bool tensor",
    "lib.relu(flags)": "relu",
    "lib.mean(ints)": "could not infer output dtype",
    "lib.mean(m23, dtype=lib.int64)": "could not infer output dtype",
    "lib.mm(m23, d32)": "same dtype",
    "lib.mm(flags, flags.t())": "not implemented for",
    "ints.add_(1.5)": "can't be cast to the desired output type",
    "ints.div_(2)": "can't be cast to the desired output type",
    "lib.add(m23, 1, out=ints)": "can't be cast to the desired output type",
    "lib.neg(m23, out=d23)": "dtype",
    "lib.where(m23, m23, m23)": "condition",
    "lib.where(m23 > 0, m23, m23, out=d23)": "Expected out type",
    # numbers
    "lib.add(ints, 1, alpha=1.5)": "argument alpha must not be a floating point number",
    "lib.add(m23, 1, alpha=True)": "Boolean alpha only supported for Boolean results",
    "lib.full((2,), 300, dtype=lib.uint8)": "without overflow",
    "lib.div(m23, 2, rounding_mode='up')": "rounding_mode",
    "lib.add(m23, 2**70)": "",
    "lib.ops.aten._linalg_check_errors(m23 * 0 + 1j, 'none', is_matrix=True)": "",
    # devices
    "m23.index_fill(0, ints[0, :1].to('meta'), 1.0)": "",
    "m23.index_fill(0, ints[0, :1], z.to('meta'))": "",
    "m23.masked_fill(flags, z.to('meta'))": "",
    # memory
    "lib.add(wide[1:], 1, out=wide[:-1])": "single memory location",
    "m23[:1].expand(2, 3).add_(1)": "single memory location",
    # arguments
    "lib.add(m23)": "",
    "lib.add(m23, 'a')": "",
    "lib.add(m23, None)": "",
    "lib.add(m23, [1, 2])": "",
    "lib.add(m23, 1, 2, 3)": "",
    "lib.adaptive_max_pool1d(m23, 2, True)": "adaptive_max_pool1d() takes",
    "lib.add(m23, m23, beta=2)": "",
    "lib.exp(m23, out=3)": "",
    "lib.eq(m23, 'a')": "",
    "lib.where(True, m23, m23)": "",
    "lib.exp(3)": "must be Tensor, not int",
    "lib.maximum(m23, 3)": "must be Tensor, not int",
    "lib.transpose(m23, 0)": "",
    "lib.transpose(m23, 0, 1.5)": "",
    "lib.transpose(m23, 0, True)": "",
    "m23.view()": "",
    "m23.view('a')": "",
    "m23.view((1.5, 2))": "",
    "lib.reshape(m23)": "",
    "lib.cat(m23)": "",
    "lib.cat((m23, 1))": "",
    "lib.sum(m23, 'a')": "",
    "lib.sum(m23, 0.5)": "",
    "lib.empty('a')": "",
    "lib.full((2,))": "",
    "lib.full((2,), 'a')": "",
    "lib.empty((2,), dtype='float32')": "",
    "m23 + 'a'": "unsupported operand",
    "'a' * m23": "",
    "m23 @ 2": "",
    "bool(m23)": "more than one value is ambiguous",
    "m23.item()": "cannot be converted to Scalar",
    "int(m23)": "",
    "len(z)": "len() of a 0-d tensor",
}


def operands() -> dict[str, Any]:
    """Return the variables of the calls, as tensors of PyTorch."""
    return {
        "m23": torch.arange(6.0).view(2, 3),
        "m45": torch.ones(4, 5),
        "b223": torch.ones(2, 2, 3),
        "v5": torch.ones(5),
        "z": torch.tensor(1.0),
        "e03": torch.empty(0, 3),
        "d23": torch.ones(2, 3, dtype=torch.float64),
        "d32": torch.ones(3, 2, dtype=torch.float64),
        "ints": torch.ones(2, 3, dtype=torch.int64),
        "flags": torch.ones(2, 3, dtype=torch.bool),
        "wide": torch.ones(10),
        "bytes3": torch.ones(3, dtype=torch.uint8),
    }


def failure(call: str, names: dict[str, Any]) -> Exception:
    """Return the exception that a call raises."""
    try:
        result = eval(call, dict(names))
    except Exception as error:
        return error
    raise AssertionError(f"{call} gives {result!r}")


@pytest.mark.parametrize("call", WRONG)
def test_wrong_call(call: str) -> None:
    expected = failure(call, {"lib": torch, **operands()})
    names = {"lib": opdsl, **Twins().of(operands())}
    before = {name: (value.tolist(), value.shape) for name, value in names.items() if isinstance(value, opdsl.Tensor)}
    for _ in range(2):
        actual = failure(call, names)
        assert isinstance(actual, type(expected)), f"{actual!r} for {expected!r}"
        # Python itself rejects unknown names of arguments, and operands that no special method accepts.
        assert isinstance(actual, OpdslError) or type(actual) is TypeError
        for message in (str(expected), str(actual)):
            assert re.search(re.escape(WRONG[call]), message)
        assert {name: (names[name].tolist(), names[name].shape) for name in before} == before


@pytest.mark.parametrize("call", [call for call in WRONG if call.startswith("lib.") and WRONG[call]])
def test_message_names_the_operator(call: str) -> None:
    packet = call.removeprefix("lib.").partition("(")[0]
    message = str(failure(call, {"lib": opdsl, **Twins().of(operands())}))
    # A composite may leave it to the operators that it calls to raise.
    assert re.search(rf"\b{packet}\b|^aten::", message), message


# Calls that PyTorch accepts, that read out of bounds there, or that crash it.
OURS_ALONE = {
    "lib.conv1d(b223, b223, z.to('meta').expand(2))": "on the same device",
    "lib.ops.aten.floor_divide_.Tensor(2, lib.ones(()))": "must be Tensor, not int",
    "lib.ops.aten._fft_c2c(m23 + 0j, [0], 4, True)": "normalization",
    "lib.ops.aten.native_group_norm_backward(m23, m23, m23, m23, None, 2, 3, 1, 0, [True, True, True])": "num groups",
}


@pytest.mark.parametrize("call", OURS_ALONE)
def test_what_only_ours_refuses(call: str) -> None:
    error = failure(call, {"lib": opdsl, **Twins().of(operands())})
    assert isinstance(error, OpdslError) and OURS_ALONE[call] in str(error)


def test_infinite_matrices_do_not_keep_lapack_busy() -> None:
    inf = float("inf")
    matrix = opdsl.tensor([[48.4, 1.0, 66.4], [-29.6, -26.9, 115.4], [-inf, inf, -31.9]], dtype=opdsl.float64)
    with pytest.raises(opdsl.errors.LinearAlgebraError, match="contained non-finite values"):
        opdsl.ops.aten._linalg_svd(matrix)


def test_probabilities_elsewhere_are_refused() -> None:
    with pytest.raises(opdsl.errors.DeviceError, match="found at least two devices, cpu and meta"):
        opdsl.ones(3).bernoulli_(opdsl.ones(3, device="meta"))


def test_batch_normalization_of_a_vector_has_no_channels() -> None:
    x = opdsl.ones(3)
    with pytest.raises(opdsl.errors.DimensionError):
        opdsl.ops.aten.native_batch_norm_backward(x, x, None, None, None, x, x, True, 1e-5, [True, False, False])
