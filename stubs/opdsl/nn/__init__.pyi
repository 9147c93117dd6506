# Written by `opdsl stubs` from the declarations; not to be edited.
# A static method may have a parameter `self`: schemas have one.
# pyright: reportSelfClsParameterName=false
"""Networks: ``opdsl.nn.functional`` under PyTorch's names, and the operators whose entries say ``python_module: nn``.

``opdsl.nn.<name>`` is the operator itself, with the arguments of its schema. May import: everything below.
"""

import opdsl._operators as _operators
import opdsl.nn.functional as _functional

functional = _functional
_conv_depthwise2d: _operators._packet__conv_depthwise2d
_pad_circular: _operators._packet__pad_circular
_pad_enum: _operators._packet__pad_enum
_upsample_nearest_exact1d: _operators._packet__upsample_nearest_exact1d
_upsample_nearest_exact2d: _operators._packet__upsample_nearest_exact2d
_upsample_nearest_exact3d: _operators._packet__upsample_nearest_exact3d
adaptive_avg_pool2d: _operators._packet_adaptive_avg_pool2d
adaptive_avg_pool3d: _operators._packet_adaptive_avg_pool3d
adaptive_max_pool2d: _operators._packet_adaptive_max_pool2d
adaptive_max_pool3d: _operators._packet_adaptive_max_pool3d
avg_pool2d: _operators._packet_avg_pool2d
avg_pool3d: _operators._packet_avg_pool3d
binary_cross_entropy: _operators._packet_binary_cross_entropy
col2im: _operators._packet_col2im
conv_depthwise3d: _operators._packet_conv_depthwise3d
cross_entropy_loss: _operators._packet_cross_entropy_loss
elu: _operators._packet_elu
elu_: _operators._packet_elu_
flatten_dense_tensors: _operators._packet_flatten_dense_tensors
gelu: _operators._packet_gelu
gelu_: _operators._packet_gelu_
glu: _operators._packet_glu
hardsigmoid: _operators._packet_hardsigmoid
hardsigmoid_: _operators._packet_hardsigmoid_
hardswish: _operators._packet_hardswish
hardswish_: _operators._packet_hardswish_
hardtanh: _operators._packet_hardtanh
hardtanh_: _operators._packet_hardtanh_
huber_loss: _operators._packet_huber_loss
im2col: _operators._packet_im2col
l1_loss: _operators._packet_l1_loss
leaky_relu: _operators._packet_leaky_relu
leaky_relu_: _operators._packet_leaky_relu_
linear: _operators._packet_linear
log_sigmoid: _operators._packet_log_sigmoid
max_pool2d_with_indices: _operators._packet_max_pool2d_with_indices
max_pool3d_with_indices: _operators._packet_max_pool3d_with_indices
mish: _operators._packet_mish
mish_: _operators._packet_mish_
mse_loss: _operators._packet_mse_loss
multi_margin_loss: _operators._packet_multi_margin_loss
multilabel_margin_loss: _operators._packet_multilabel_margin_loss
nll_loss: _operators._packet_nll_loss
nll_loss2d: _operators._packet_nll_loss2d
nll_loss_nd: _operators._packet_nll_loss_nd
one_hot: _operators._packet_one_hot
pad: _operators._packet_pad
pad_sequence: _operators._packet_pad_sequence
reflection_pad1d: _operators._packet_reflection_pad1d
reflection_pad2d: _operators._packet_reflection_pad2d
reflection_pad3d: _operators._packet_reflection_pad3d
relu6: _operators._packet_relu6
relu6_: _operators._packet_relu6_
replication_pad1d: _operators._packet_replication_pad1d
replication_pad2d: _operators._packet_replication_pad2d
replication_pad3d: _operators._packet_replication_pad3d
rrelu_with_noise: _operators._packet_rrelu_with_noise
rrelu_with_noise_: _operators._packet_rrelu_with_noise_
scaled_dot_product_attention: _operators._packet_scaled_dot_product_attention
silu: _operators._packet_silu
silu_: _operators._packet_silu_
slow_conv3d: _operators._packet_slow_conv3d
slow_conv_dilated2d: _operators._packet_slow_conv_dilated2d
slow_conv_dilated3d: _operators._packet_slow_conv_dilated3d
slow_conv_transpose2d: _operators._packet_slow_conv_transpose2d
slow_conv_transpose3d: _operators._packet_slow_conv_transpose3d
smooth_l1_loss: _operators._packet_smooth_l1_loss
soft_margin_loss: _operators._packet_soft_margin_loss
softplus: _operators._packet_softplus
softshrink: _operators._packet_softshrink
thnn_conv2d: _operators._packet_thnn_conv2d
upsample_bicubic2d: _operators._packet_upsample_bicubic2d
upsample_bilinear2d: _operators._packet_upsample_bilinear2d
upsample_linear1d: _operators._packet_upsample_linear1d
upsample_nearest1d: _operators._packet_upsample_nearest1d
upsample_nearest2d: _operators._packet_upsample_nearest2d
upsample_nearest3d: _operators._packet_upsample_nearest3d
upsample_trilinear3d: _operators._packet_upsample_trilinear3d
