"""Tests of operators without samples in op_db: results and gradients on opdsl's samples are compared with PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.runtime.snapshot import tensors_in
from opdsl.testing.samples import fitting, samples_of

# Operators that have CPU kernels in PyTorch.
NAMES = [
    "thnn_conv2d",
    "_slow_conv2d_forward",
    "_slow_conv2d_backward.output_mask",
    "slow_conv3d",
    "slow_conv3d_forward",
    "slow_conv_dilated2d",
    "slow_conv_dilated3d",
    "slow_conv_transpose2d",
    "slow_conv_transpose3d",
    "conv_tbc",
    "conv_tbc_backward",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "lstm.input",
    "gru.input",
    "rnn_tanh.input",
    "rnn_relu.input",
    "_thnn_differentiable_lstm_cell_backward",
    "_thnn_differentiable_gru_cell_backward",
    "_batch_norm_with_update",
    "_batch_norm_no_update",
    "_batch_norm_impl_index_backward",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine.tensor_qparams",
    "fake_quantize_per_tensor_affine_cachemask",
    "fake_quantize_per_tensor_affine_cachemask_backward",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_channel_affine_cachemask_backward",
    "_fake_quantize_learnable_per_tensor_affine",
    "_fake_quantize_learnable_per_tensor_affine_backward",
    "_fake_quantize_learnable_per_channel_affine",
    "_fake_quantize_learnable_per_channel_affine_backward",
    "_cast_Byte",
    "_cast_Char",
    "_cast_Short",
    "_cast_Int",
    "_cast_Long",
    "_cast_Half",
    "_cast_Float",
    "_cast_Double",
    *("frobenius_norm.dim", "nuclear_norm", "nuclear_norm.dim", "norm_except_dim", "linalg__powsum"),
    *("_add_relu.Tensor", "_add_relu.Scalar", "native_channel_shuffle", "_weight_norm", "_weight_norm_interface"),
    *("_weight_norm_interface_backward", "_weight_norm_differentiable_backward", "pad_sequence", "_aminmax"),
    *("affine_grid_generator", "affine_grid_generator_backward", "flatten_dense_tensors", "_trilinear", "_chunk_cat"),
    *("_transform_bias_rescale_qkv", "_stack", "_int_mm", "fill_diagonal_", "_aminmax.dim"),
    *("_neg_view_copy", "linalg_cond", "linalg_pinv.rcond_tensor", "linalg_matrix_rank.tol_tensor"),
    *("_masked_softmax", "_masked_softmax_backward", "_pack_padded_sequence", "_pack_padded_sequence_backward"),
    *("_pad_packed_sequence", "lstm.data", "gru.data", "rnn_tanh.data", "rnn_relu.data", "_saturate_weight_to_fp16"),
    *("_jagged_to_padded_dense_forward", "_padded_dense_to_jagged_forward", "_convolution_double_backward"),
    *("batch_norm_backward", "_native_batch_norm_legit_functional", "_amp_update_scale"),
    *("_native_multi_head_attention", "_transformer_encoder_layer_fwd"),
    *("_native_batch_norm_legit.out", "_slow_conv2d_backward.grad_input"),
    *("_compute_linear_combination", "_addmm_activation", "_grouped_mm", "_weight_int8pack_mm"),
    "_is_all_true",
    "_is_any_true",
    "_dim_arange",
    "_reshape_copy",
]


# Operators that have no gradients in PyTorch, or lose them; opdsl differentiates the operators that they call.
WITHOUT = {
    *("linalg__powsum", "_add_relu.Tensor", "_add_relu.Scalar", "native_channel_shuffle"),
    *("_weight_norm_interface_backward", "_aminmax", "_aminmax.dim", "_chunk_cat", "_transform_bias_rescale_qkv"),
    *("_stack", "linalg_cond", "linalg_pinv.rcond_tensor", "_amp_update_scale", "_compute_linear_combination"),
    *("_native_multi_head_attention", "_transformer_encoder_layer_fwd"),
    *("_addmm_activation", "_weight_int8pack_mm", "_saturate_weight_to_fp16", "_masked_softmax_backward"),
    *("_masked_softmax", "_padded_dense_to_jagged_forward", "_jagged_to_padded_dense_forward", "batch_norm_backward"),
    "_native_batch_norm_legit_functional",
}


def turned(value: Any) -> Any:
    """Return the PyTorch counterpart of a value of opdsl."""
    if isinstance(value, opdsl.Tensor):
        twin = torch.empty_strided(value.shape, value.stride(), dtype=getattr(torch, str(value.dtype).split(".")[-1]))
        return twin.copy_(torch.from_numpy(numpy.array(value.detach().numpy()))).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        return type(value)(map(turned, value))
    return getattr(torch, str(value).split(".")[-1]) if isinstance(value, opdsl.DType) else value


def operator_of(name: str) -> tuple[Any, Any, Any]:
    """Return opdsl's operator, its function and PyTorch's function."""
    operator = opdsl.registry.operator(name)
    base, _, overload = name.partition(".")
    theirs = getattr(getattr(torch.ops.aten, base), overload or "default")
    return operator, opdsl.registry.packets[operator.packet_name].operator_function(operator), theirs


def require_gradients(name: str, inputs: Any) -> None:
    """Let the floating-point tensors of a sample require grad: only the first one, or none, where PyTorch has no
    others.
    """
    tensors = [leaf for leaf in tensors_in(inputs) if leaf.dtype.is_floating_point]
    if name in WITHOUT or name.endswith(("affine_backward", "index_backward")):
        return
    for tensor in tensors[: 1 if name.startswith(("fake_quantize", "_fake_quantize_per", "_batch_norm")) else None]:
        tensor.requires_grad_().grad = None  # samples share tensors


def assert_agree(ours: Any, theirs: Any, name: str) -> None:
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        if one is None or two is None:
            assert two is None or not two.numel() or not two.any(), name
            continue
        assert str(one.dtype).split(".")[-1] == str(two.dtype).split(".")[-1] and one.shape == tuple(two.shape)
        bound = 1e-5 * max(1.0, float(two.detach().double().abs().max())) if two.numel() else 0  # sums in another order
        numpy.testing.assert_allclose(one.detach().numpy(), two.detach().numpy(), rtol=1e-5, atol=bound, err_msg=name)


def results(value: Any) -> list[Any]:
    return [value] if not isinstance(value, (list, tuple)) else [result for one in value for result in results(one)]


@pytest.mark.parametrize("name", NAMES)
def test_results_and_gradients(name: str) -> None:
    operator, ours, theirs = operator_of(name)
    warnings.simplefilter("ignore")
    writes = bool(operator.schema.written_arguments)
    for sample in fitting(samples_of(operator, opdsl.float32), ours):
        if not writes:
            require_gradients(name, (sample.positional, sample.named))
        inputs, named = turned(list(sample.positional)), {key: turned(value) for key, value in sample.named.items()}
        if isinstance(named.get("out"), tuple):
            named |= dict(zip((out.name for out in operator.schema.out), named.pop("out"), strict=True))
        actual, expected = results(sample.call(ours)), results(theirs(*inputs, **named))
        assert_agree(actual, expected, name)
        pairs = [
            (one, two)
            for one, two in zip(actual, expected, strict=True)
            if isinstance(one, opdsl.Tensor) and one.requires_grad and two is not None and two.requires_grad
        ]
        if pairs:
            sum((one * one).sum() for one, _ in pairs).backward()
            sum((two * two).sum() for _, two in pairs).backward()
            kept = list(tensors_in((sample.positional, sample.named)))
            their = [result for result in results([inputs, list(named.values())]) if isinstance(result, torch.Tensor)]
            grads = [(one.grad, two.grad) for one, two in zip(kept, their, strict=True) if two.grad is not None]
            assert_agree(*zip(*grads, strict=True), name)
