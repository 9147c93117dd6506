# Written by `opdsl stubs` from the declarations; not to be edited.
# A static method may have a parameter `self`: schemas have one.
# pyright: reportSelfClsParameterName=false
"""The operators of aten, packets as classes. There is no such module at run time."""

from builtins import float as _float, int as _int
from collections.abc import Callable, Sequence, Sequence as _Sequence
from opdsl.declare.operator import Operator
from opdsl.dispatch.model.namespaces import Operators
from opdsl.runtime.device import Device, Layout, MemoryFormat
from opdsl.runtime.dtype import DType, int64
from opdsl.runtime.generator import Generator
from opdsl.runtime.tensor import Tensor, Tensor as _Tensor
from opdsl.schema.vocabulary import Reduction, Scalar, Scalar as _Scalar, Stream
from typing import NamedTuple, ParamSpec, Protocol, TypeVar, overload

_P = ParamSpec("_P")
_R = TypeVar("_R")

def _operator(function: Callable[_P, _R]) -> Operator[_P, _R]: ...

class _results__fake_quantize_per_tensor_affine_cachemask_tensor_qparams(NamedTuple):
    output: Tensor
    mask: Tensor

class _results__fused_adagrad(NamedTuple):
    self_out: list[Tensor]
    grads_out: list[Tensor]
    state_sums_out: list[Tensor]

class _results__fused_adagrad_2(NamedTuple):
    self_out: list[Tensor]
    grads_out: list[Tensor]
    state_sums_out: list[Tensor]
    state_steps_out: list[Tensor]

class _results__fused_adam(NamedTuple):
    self_out: list[Tensor]
    grads_out: list[Tensor]
    exp_avgs_out: list[Tensor]
    exp_avg_sqs_out: list[Tensor]
    max_exp_avg_sqs_out: list[Tensor]

class _results__fused_adamw(NamedTuple):
    self_out: list[Tensor]
    grads_out: list[Tensor]
    exp_avgs_out: list[Tensor]
    exp_avg_sqs_out: list[Tensor]
    max_exp_avg_sqs_out: list[Tensor]

class _results__fused_sgd(NamedTuple):
    self_out: list[Tensor]
    grads_out: list[Tensor]
    momentum_buffer_list_out: list[Tensor]

class _results__linalg_det(NamedTuple):
    result: Tensor
    LU: Tensor
    pivots: Tensor

class _results__linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _results__linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor
    LU: Tensor
    pivots: Tensor

class _results__linalg_solve_ex(NamedTuple):
    result: Tensor
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _results__linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _results__lu_with_info(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _results__scaled_dot_product_flash_attention_for_cpu(NamedTuple):
    output: Tensor
    logsumexp: Tensor

class _results__scaled_dot_product_flash_attention_for_cpu_backward(NamedTuple):
    grad_query: Tensor
    grad_key: Tensor
    grad_value: Tensor

class _results__slow_conv2d_backward(NamedTuple):
    grad_input: Tensor
    grad_weight: Tensor
    grad_bias: Tensor

class _results_aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class _results_cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_fake_quantize_per_channel_affine_cachemask(NamedTuple):
    output: Tensor
    mask: Tensor

class _results_fake_quantize_per_tensor_affine_cachemask(NamedTuple):
    output: Tensor
    mask: Tensor

class _results_frexp(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _results_histogram(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _results_kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_linalg_cholesky_ex(NamedTuple):
    L: Tensor
    info: Tensor

class _results_linalg_eigh(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _results_linalg_inv_ex(NamedTuple):
    inverse: Tensor
    info: Tensor

class _results_linalg_lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _results_linalg_lu_factor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class _results_linalg_lu_factor_ex(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _results_linalg_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class _results_linalg_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _results_linalg_solve_ex(NamedTuple):
    result: Tensor
    info: Tensor

class _results_linalg_svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _results_log_sigmoid_forward(NamedTuple):
    output: Tensor
    buffer: Tensor

class _results_lu_unpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _results_max(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_median(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_min(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_mode(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_multilabel_margin_loss_forward(NamedTuple):
    output: Tensor
    is_target: Tensor

class _results_nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_nll_loss2d_forward(NamedTuple):
    output: Tensor
    total_weight: Tensor

class _results_nll_loss_forward(NamedTuple):
    output: Tensor
    total_weight: Tensor

class _results_qr(NamedTuple):
    Q: Tensor
    R: Tensor

class _results_slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _results_sort(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_topk(NamedTuple):
    values: Tensor
    indices: Tensor

class _results_triangular_solve(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _packet___and__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_and``: ``self & other``; of bools whether both hold."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_and_number``: ``self & other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_and``: ``self & other``; of bools whether both hold."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_and_number``: ``self & other`` for a number."""

class _packet___iand__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_and``: ``self & other``; of bools whether both hold."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_and_number``: ``self & other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_and``: ``self & other``; of bools whether both hold."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_and_number``: ``self & other`` for a number."""

class _packet___ilshift__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``"""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self << other`` for a number."""

class _packet___ior__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_or``: ``self | other``; of bools whether one holds."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_or_number``: ``self | other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_or``: ``self | other``; of bools whether one holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_or_number``: ``self | other`` for a number."""

class _packet___irshift__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``"""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self >> other`` for a number."""

class _packet___ixor__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; of bools whether one of them holds."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_xor_number``: ``self ^ other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; of bools whether one of them holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_xor_number``: ``self ^ other`` for a number."""

class _packet___lshift__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``"""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor: ...

class _packet___or__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_or``: ``self | other``; of bools whether one holds."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_or_number``: ``self | other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_or``: ``self | other``; of bools whether one holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_or_number``: ``self | other`` for a number."""

class _packet___rshift__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``"""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor: ...

class _packet___xor__(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; of bools whether one of them holds."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_xor_number``: ``self ^ other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; of bools whether one of them holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``bitwise_xor_number``: ``self ^ other`` for a number."""

class _packet__adaptive_avg_pool2d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows as ``output_size`` says."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows as ``output_size`` says."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The means of as many windows as ``output_size`` says."""

class _packet__adaptive_avg_pool2d_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, self: Tensor, *, out: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""

class _packet__adaptive_avg_pool3d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows as ``output_size`` says."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows as ``output_size`` says."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The means of as many windows as ``output_size`` says."""

class _packet__adaptive_avg_pool3d_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, self: Tensor, *, out: Tensor) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""

class _packet__add_relu(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1, out: _Tensor | None = None) -> _Tensor:
        """``relu(self + alpha * other)``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)`` with a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)``."""
    @_operator
    @staticmethod
    def out(self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1, out: _Tensor) -> _Tensor:
        """``relu(self + alpha * other)``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)`` with a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, alpha: _Scalar = 1, *, out: _Tensor) -> _Tensor: ...

class _packet__add_relu_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)`` with a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``relu(self + alpha * other)`` with a number."""

class _packet__aminmax(Operator[..., tuple[Tensor, Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> tuple[Tensor, Tensor]:
        """The smallest and the largest element."""
    @overload
    def __call__(cls, self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """The smallest and the largest elements along a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> tuple[Tensor, Tensor]:
        """The smallest and the largest element."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        """The smallest and the largest elements along a dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out0: Tensor, out1: Tensor) -> tuple[Tensor, Tensor]: ...
    @_operator
    @staticmethod
    def dim_out(
        self: Tensor, dim: int, keepdim: bool = False, *, out0: Tensor, out1: Tensor
    ) -> tuple[Tensor, Tensor]: ...

class _packet__assert_async(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> None:
        """Raise an error unless the only element is true."""
    @overload
    def __call__(cls, self: Tensor, assert_msg: str) -> None:
        """Raise an error with a text of one's own unless the only element is true."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> None:
        """Raise an error unless the only element is true."""
    @_operator
    @staticmethod
    def msg(self: Tensor, assert_msg: str) -> None:
        """Raise an error with a text of one's own unless the only element is true."""

class _packet__assert_scalar(Operator[..., None], Protocol):
    def __call__(cls, self: Scalar, assert_msg: str) -> None:
        """Raise an error unless a number is true."""
    @_operator
    @staticmethod
    def default(self: Scalar, assert_msg: str) -> None:
        """Raise an error unless a number is true."""

class _packet__assert_tensor_metadata(Operator[..., None], Protocol):
    def __call__(
        cls,
        a: Tensor,
        size: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        dtype: DType | None = None,
        *,
        device: Device | str | int | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Raise an error unless a tensor has the sizes, strides, dtype, device and layout that are given."""
    @_operator
    @staticmethod
    def default(
        a: Tensor,
        size: Sequence[int] | None = None,
        stride: Sequence[int] | None = None,
        dtype: DType | None = None,
        *,
        device: Device | str | int | None = None,
        layout: Layout | None = None,
    ) -> None:
        """Raise an error unless a tensor has the sizes, strides, dtype, device and layout that are given."""

class _packet__batch_norm_impl_index(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor, int]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
        """``native_batch_norm``, then memory of a backend's own and the number of the backend: 0, for ours."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, int]:
        """``native_batch_norm``, then memory of a backend's own and the number of the backend: 0, for ours."""

class _packet__batch_norm_impl_index_backward(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        impl_index: int,
        input: Tensor,
        grad_output: Tensor,
        weight: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        save_mean: Tensor | None,
        save_var_transform: Tensor | None,
        train: bool,
        eps: float,
        output_mask: bool | Sequence[bool],
        reservedSpace: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_batch_norm_impl_index``, those that ``output_mask`` asks for."""
    @_operator
    @staticmethod
    def default(
        impl_index: int,
        input: Tensor,
        grad_output: Tensor,
        weight: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        save_mean: Tensor | None,
        save_var_transform: Tensor | None,
        train: bool,
        eps: float,
        output_mask: bool | Sequence[bool],
        reservedSpace: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_batch_norm_impl_index``, those that ``output_mask`` asks for."""

class _packet__batch_norm_no_update(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``native_batch_norm`` with the running statistics, and memory of a backend's own: nothing, for ours."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``native_batch_norm`` with the running statistics, and memory of a backend's own: nothing, for ours."""
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        eps: float,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
        out3: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...

class _packet__batch_norm_with_update(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``native_batch_norm`` in training, and memory of a backend's own: nothing, for ours."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``native_batch_norm`` in training, and memory of a backend's own: nothing, for ours."""

class _packet__cast_Byte(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in uint8."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in uint8."""

class _packet__cast_Char(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int8."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int8."""

class _packet__cast_Double(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in float64."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in float64."""

class _packet__cast_Float(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in float32."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in float32."""

class _packet__cast_Half(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in float16."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in float16."""

class _packet__cast_Int(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int32."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int32."""

class _packet__cast_Long(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int64."""

class _packet__cast_Short(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int16."""
    @_operator
    @staticmethod
    def default(self: Tensor, non_blocking: bool = False) -> Tensor:
        """A copy in int16."""

class _packet__cdist_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
        """The gradient of the first vectors of ``cdist``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
        """The gradient of the first vectors of ``cdist``."""
    @_operator
    @staticmethod
    def out(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor, *, out: Tensor) -> Tensor: ...

class _packet__cdist_forward(Operator[..., Tensor], Protocol):
    def __call__(cls, x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
        """``cdist`` without a derivative of its own for products of matrices."""
    @_operator
    @staticmethod
    def default(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
        """``cdist`` without a derivative of its own for products of matrices."""
    @_operator
    @staticmethod
    def out(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None, *, out: Tensor) -> Tensor: ...

class _packet__cholesky_solve_helper(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, A: Tensor, upper: bool) -> Tensor:
        """``cholesky_solve`` of batches of one shape."""
    @_operator
    @staticmethod
    def default(self: Tensor, A: Tensor, upper: bool) -> Tensor:
        """``cholesky_solve`` of batches of one shape."""
    @_operator
    @staticmethod
    def out(self: Tensor, A: Tensor, upper: bool, *, out: Tensor) -> Tensor: ...

class _packet__chunk_cat(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], dim: int, num_chunks: int, *, out: Tensor | None = None) -> Tensor:
        """Tensors cut into so many chunks along a dimension, padded with zeros where they are too short, and joined."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor], dim: int, num_chunks: int) -> Tensor:
        """Tensors cut into so many chunks along a dimension, padded with zeros where they are too short, and joined."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], dim: int, num_chunks: int, *, out: Tensor) -> Tensor:
        """Tensors cut into so many chunks along a dimension, padded with zeros where they are too short, and joined."""

class _packet__conj_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The conjugates, in memory of their own."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The conjugates, in memory of their own."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet__conj_physical(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The conjugate complex numbers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The conjugate complex numbers."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The conjugate complex numbers."""

class _packet__conv_depthwise2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv2d`` of each channel for itself."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
    ) -> Tensor:
        """``conv2d`` of each channel for itself."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        *,
        out: Tensor,
    ) -> Tensor:
        """``conv2d`` of each channel for itself."""

class _packet__convolution(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        benchmark: bool,
        deterministic: bool,
        cudnn_enabled: bool,
    ) -> Tensor:
        """``_convolution`` without its last argument."""
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        benchmark: bool,
        deterministic: bool,
        cudnn_enabled: bool,
        allow_tf32: bool,
    ) -> Tensor:
        """``convolution``; the last four arguments are for kernels of cuDNN."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        benchmark: bool,
        deterministic: bool,
        cudnn_enabled: bool,
        allow_tf32: bool,
    ) -> Tensor:
        """``convolution``; the last four arguments are for kernels of cuDNN."""
    @_operator
    @staticmethod
    def deprecated(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        benchmark: bool,
        deterministic: bool,
        cudnn_enabled: bool,
    ) -> Tensor:
        """``_convolution`` without its last argument."""
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        benchmark: bool,
        deterministic: bool,
        cudnn_enabled: bool,
        allow_tf32: bool,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__convolution_mode(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: str,
        dilation: Sequence[int],
        groups: int,
    ) -> Tensor:
        """``convolution`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: str,
        dilation: Sequence[int],
        groups: int,
    ) -> Tensor:
        """``convolution`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""

class _packet__cummax_helper(Operator[..., None], Protocol):
    def __call__(cls, self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        """``cummax`` into given tensors."""
    @_operator
    @staticmethod
    def default(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        """``cummax`` into given tensors."""

class _packet__cummin_helper(Operator[..., None], Protocol):
    def __call__(cls, self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        """``cummin`` into given tensors."""
    @_operator
    @staticmethod
    def default(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        """``cummin`` into given tensors."""

class _packet__debug_has_internal_overlap(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """Whether elements lie in one place: 0 for no, 1 for yes."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """Whether elements lie in one place: 0 for no, 1 for yes."""

class _packet__dim_arange(Operator[..., Tensor], Protocol):
    def __call__(cls, like: Tensor, dim: int) -> Tensor:
        """The positions along a dimension."""
    @_operator
    @staticmethod
    def default(like: Tensor, dim: int) -> Tensor:
        """The positions along a dimension."""

class _packet__embedding_bag(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums, means or maxima over bags of rows of a table.

        Args:
            weight: the table.
            indices: the numbers of rows, those of one bag after those of another.
            offsets: where each bag begins.
            scale_grad_by_freq: whether gradients of rows are divided by how often they occur.
            mode: 0 for sums, 1 for means, 2 for maxima.
            sparse: what PyTorch's gradient is; ours is a whole table.
            per_sample_weights: what rows are multiplied by.
            include_last_offset: whether the last offset is the end of the last bag.
            padding_idx: the number of a row that does not count.

        Returns:
            The bags; and for the gradient the bag of each index, the sizes of bags and the rows that maxima are of.
        """
    @_operator
    @staticmethod
    def default(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums, means or maxima over bags of rows of a table.

        Args:
            weight: the table.
            indices: the numbers of rows, those of one bag after those of another.
            offsets: where each bag begins.
            scale_grad_by_freq: whether gradients of rows are divided by how often they occur.
            mode: 0 for sums, 1 for means, 2 for maxima.
            sparse: what PyTorch's gradient is; ours is a whole table.
            per_sample_weights: what rows are multiplied by.
            include_last_offset: whether the last offset is the end of the last bag.
            padding_idx: the number of a row that does not count.

        Returns:
            The bags; and for the gradient the bag of each index, the sizes of bags and the rows that maxima are of.
        """
    @_operator
    @staticmethod
    def out(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
        out3: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...

class _packet__embedding_bag_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad: Tensor,
        indices: Tensor,
        offsets: Tensor,
        offset2bag: Tensor,
        bag_size: Tensor,
        maximum_indices: Tensor,
        num_weights: int,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample_weights: Tensor | None,
        padding_idx: int = -1,
    ) -> Tensor:
        """The gradient of ``_embedding_bag``'s table, which is never sparse here."""
    @_operator
    @staticmethod
    def default(
        grad: Tensor,
        indices: Tensor,
        offsets: Tensor,
        offset2bag: Tensor,
        bag_size: Tensor,
        maximum_indices: Tensor,
        num_weights: int,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample_weights: Tensor | None,
        padding_idx: int = -1,
    ) -> Tensor:
        """The gradient of ``_embedding_bag``'s table, which is never sparse here."""

class _packet__embedding_bag_dense_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad: Tensor,
        indices: Tensor,
        offset2bag: Tensor,
        bag_size: Tensor,
        maximum_indices: Tensor,
        num_weights: int,
        scale_grad_by_freq: bool,
        mode: int,
        per_sample_weights: Tensor | None,
        padding_idx: int = -1,
    ) -> Tensor:
        """The gradient of ``_embedding_bag``'s table."""
    @_operator
    @staticmethod
    def default(
        grad: Tensor,
        indices: Tensor,
        offset2bag: Tensor,
        bag_size: Tensor,
        maximum_indices: Tensor,
        num_weights: int,
        scale_grad_by_freq: bool,
        mode: int,
        per_sample_weights: Tensor | None,
        padding_idx: int = -1,
    ) -> Tensor:
        """The gradient of ``_embedding_bag``'s table."""
    @_operator
    @staticmethod
    def out(
        grad: Tensor,
        indices: Tensor,
        offset2bag: Tensor,
        bag_size: Tensor,
        maximum_indices: Tensor,
        num_weights: int,
        scale_grad_by_freq: bool,
        mode: int,
        per_sample_weights: Tensor | None,
        padding_idx: int = -1,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__embedding_bag_forward_only(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``_embedding_bag`` where no gradient will be asked for."""
    @_operator
    @staticmethod
    def default(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """``_embedding_bag`` where no gradient will be asked for."""
    @_operator
    @staticmethod
    def out(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int = -1,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
        out3: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...

class _packet__embedding_bag_per_sample_weights_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad: Tensor,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        offset2bag: Tensor,
        mode: int,
        padding_idx: int = -1,
    ) -> Tensor:
        """The gradient of what ``_embedding_bag`` multiplies rows by."""
    @_operator
    @staticmethod
    def default(
        grad: Tensor,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        offset2bag: Tensor,
        mode: int,
        padding_idx: int = -1,
    ) -> Tensor:
        """The gradient of what ``_embedding_bag`` multiplies rows by."""
    @_operator
    @staticmethod
    def out(
        grad: Tensor,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        offset2bag: Tensor,
        mode: int,
        padding_idx: int = -1,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__euclidean_dist(Operator[..., Tensor], Protocol):
    def __call__(cls, x1: Tensor, x2: Tensor) -> Tensor:
        """The Euclidean distances of all pairs of vectors, from their scalar products."""
    @_operator
    @staticmethod
    def default(x1: Tensor, x2: Tensor) -> Tensor:
        """The Euclidean distances of all pairs of vectors, from their scalar products."""
    @_operator
    @staticmethod
    def out(x1: Tensor, x2: Tensor, *, out: Tensor) -> Tensor: ...

class _packet__fake_quantize_learnable_per_channel_affine(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
    ) -> Tensor:
        """``fake_quantize_per_channel_affine`` by scales and zero points that are learned."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
    ) -> Tensor:
        """``fake_quantize_per_channel_affine`` by scales and zero points that are learned."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__fake_quantize_learnable_per_channel_affine_backward(
    Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol
):
    def __call__(
        cls,
        grad: Tensor,
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_fake_quantize_learnable_per_channel_affine``: of input, scales and zero points."""
    @_operator
    @staticmethod
    def default(
        grad: Tensor,
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_fake_quantize_learnable_per_channel_affine``: of input, scales and zero points."""

class _packet__fake_quantize_learnable_per_tensor_affine(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
    ) -> Tensor:
        """``fake_quantize_per_tensor_affine`` by a scale and a zero point that are learned."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, grad_factor: float = 1.0
    ) -> Tensor:
        """``fake_quantize_per_tensor_affine`` by a scale and a zero point that are learned."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__fake_quantize_learnable_per_tensor_affine_backward(
    Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol
):
    def __call__(
        cls,
        grad: Tensor,
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_fake_quantize_learnable_per_tensor_affine``: of the input, the scale and the zero point."""
    @_operator
    @staticmethod
    def default(
        grad: Tensor,
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        quant_min: int,
        quant_max: int,
        grad_factor: float = 1.0,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_fake_quantize_learnable_per_tensor_affine``: of the input, the scale and the zero point."""

class _packet__fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    Operator[..., _results__fake_quantize_per_tensor_affine_cachemask_tensor_qparams], Protocol
):
    def __call__(
        cls, self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: int, quant_max: int
    ) -> _results__fake_quantize_per_tensor_affine_cachemask_tensor_qparams:
        """``fake_quantize_per_tensor_affine_cachemask`` by a scale and a zero point in tensors, if it is enabled."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, scale: Tensor, zero_point: Tensor, fake_quant_enabled: Tensor, quant_min: int, quant_max: int
    ) -> _results__fake_quantize_per_tensor_affine_cachemask_tensor_qparams:
        """``fake_quantize_per_tensor_affine_cachemask`` by a scale and a zero point in tensors, if it is enabled."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        fake_quant_enabled: Tensor,
        quant_min: int,
        quant_max: int,
        *,
        out0: Tensor,
        out1: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

class _packet__fft_c2c(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: Sequence[int], normalization: int, forward: bool, *, out: Tensor | None = None
    ) -> Tensor:
        """The Fourier transform of complex numbers along dimensions, or its inverse.

        Args:
            self: complex.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            forward: whether the exponent is negative.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
        """The Fourier transform of complex numbers along dimensions, or its inverse.

        Args:
            self: complex.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            forward: whether the exponent is negative.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, dim: Sequence[int], normalization: int, forward: bool, *, out: Tensor) -> Tensor:
        """The Fourier transform of complex numbers along dimensions, or its inverse.

        Args:
            self: complex.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            forward: whether the exponent is negative.
        """

class _packet__fft_c2r(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int, *, out: Tensor | None = None
    ) -> Tensor:
        """The inverse Fourier transform of what has real numbers as its result.

        Args:
            self: complex; the last of the dimensions ends where the rest follows by symmetry.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            last_dim_size: how many points the result has along the last of the dimensions.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
        """The inverse Fourier transform of what has real numbers as its result.

        Args:
            self: complex; the last of the dimensions ends where the rest follows by symmetry.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            last_dim_size: how many points the result has along the last of the dimensions.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int, *, out: Tensor) -> Tensor:
        """The inverse Fourier transform of what has real numbers as its result.

        Args:
            self: complex; the last of the dimensions ends where the rest follows by symmetry.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            last_dim_size: how many points the result has along the last of the dimensions.
        """

class _packet__fft_r2c(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: Sequence[int], normalization: int, onesided: bool, *, out: Tensor | None = None
    ) -> Tensor:
        """The Fourier transform of real numbers along dimensions.

        Args:
            self: float32 or float64.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            onesided: whether the last of the dimensions ends where the rest follows by symmetry.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
        """The Fourier transform of real numbers along dimensions.

        Args:
            self: float32 or float64.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            onesided: whether the last of the dimensions ends where the rest follows by symmetry.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool, *, out: Tensor) -> Tensor:
        """The Fourier transform of real numbers along dimensions.

        Args:
            self: float32 or float64.
            dim: the dimensions, none of them negative.
            normalization: what the result is divided by, see ``NONE``.
            onesided: whether the last of the dimensions ends where the rest follows by symmetry.
        """

class _packet__foreach_abs(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_abs_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_acos(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_acos_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_add(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalar: _Scalar) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: _Tensor, *, alpha: _Scalar = 1) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: Sequence[_Tensor], *, alpha: _Scalar = 1) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[_Tensor], other: Sequence[_Tensor], *, alpha: _Scalar = 1) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[_Tensor], scalar: _Scalar) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Tensor(self: Sequence[_Tensor], other: _Tensor, *, alpha: _Scalar = 1) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def List_out(
        self: Sequence[_Tensor], other: Sequence[_Tensor], *, alpha: _Scalar = 1, out: Sequence[_Tensor]
    ) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[_Tensor], scalar: _Scalar, *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[_Tensor], scalars: Sequence[_Scalar], *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Tensor_out(self: Sequence[_Tensor], other: _Tensor, *, alpha: _Scalar = 1, out: Sequence[_Tensor]) -> None: ...

class _packet__foreach_add_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: _Tensor, *, alpha: _Scalar = 1) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: Sequence[_Tensor], *, alpha: _Scalar = 1) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[_Tensor], other: Sequence[_Tensor], *, alpha: _Scalar = 1) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[_Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @_operator
    @staticmethod
    def Tensor(self: Sequence[_Tensor], other: _Tensor, *, alpha: _Scalar = 1) -> None: ...

class _packet__foreach_addcdiv(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> list[_Tensor]: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> list[_Tensor]: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Tensor(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar_out(
        self: Sequence[_Tensor],
        tensor1: Sequence[_Tensor],
        tensor2: Sequence[_Tensor],
        value: _Scalar = 1,
        *,
        out: Sequence[_Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(
        self: Sequence[_Tensor],
        tensor1: Sequence[_Tensor],
        tensor2: Sequence[_Tensor],
        scalars: Sequence[_Scalar],
        *,
        out: Sequence[_Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def Tensor_out(
        self: Sequence[_Tensor],
        tensor1: Sequence[_Tensor],
        tensor2: Sequence[_Tensor],
        scalars: _Tensor,
        *,
        out: Sequence[_Tensor],
    ) -> None: ...

class _packet__foreach_addcdiv_(Operator[..., None], Protocol):
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> None: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> None: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> None: ...
    @_operator
    @staticmethod
    def Scalar(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> None: ...
    @_operator
    @staticmethod
    def Tensor(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> None: ...

class _packet__foreach_addcmul(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> list[_Tensor]: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> list[_Tensor]: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Tensor(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar_out(
        self: Sequence[_Tensor],
        tensor1: Sequence[_Tensor],
        tensor2: Sequence[_Tensor],
        value: _Scalar = 1,
        *,
        out: Sequence[_Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(
        self: Sequence[_Tensor],
        tensor1: Sequence[_Tensor],
        tensor2: Sequence[_Tensor],
        scalars: Sequence[_Scalar],
        *,
        out: Sequence[_Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def Tensor_out(
        self: Sequence[_Tensor],
        tensor1: Sequence[_Tensor],
        tensor2: Sequence[_Tensor],
        scalars: _Tensor,
        *,
        out: Sequence[_Tensor],
    ) -> None: ...

class _packet__foreach_addcmul_(Operator[..., None], Protocol):
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> None: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> None: ...
    @overload
    def __call__(
        cls, self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> None: ...
    @_operator
    @staticmethod
    def Scalar(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], value: _Scalar = 1
    ) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: Sequence[_Scalar]
    ) -> None: ...
    @_operator
    @staticmethod
    def Tensor(
        self: Sequence[_Tensor], tensor1: Sequence[_Tensor], tensor2: Sequence[_Tensor], scalars: _Tensor
    ) -> None: ...

class _packet__foreach_asin(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_asin_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_atan(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_atan_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_ceil(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_ceil_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_clamp_max(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[Tensor], other: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[Tensor], scalar: _Scalar, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[Tensor], scalars: Sequence[_Scalar], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_clamp_max_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...

class _packet__foreach_clamp_min(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[Tensor], other: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[Tensor], scalar: _Scalar, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[Tensor], scalars: Sequence[_Scalar], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_clamp_min_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...

class _packet__foreach_clone(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor], *, memory_format: MemoryFormat | None = None) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor], *, memory_format: MemoryFormat | None = None) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, memory_format: MemoryFormat | None = None, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_copy(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(
        self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False, *, out: Sequence[Tensor]
    ) -> None: ...

class _packet__foreach_copy_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None: ...

class _packet__foreach_cos(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_cos_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_cosh(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_cosh_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_div(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: _Tensor) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalar: _Scalar) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: Sequence[_Tensor]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[_Tensor], other: Sequence[_Tensor]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[_Tensor], scalar: _Scalar) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Tensor(self: Sequence[_Tensor], other: _Tensor) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[_Tensor], other: Sequence[_Tensor], *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[_Tensor], scalar: _Scalar, *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[_Tensor], scalars: Sequence[_Scalar], *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Tensor_out(self: Sequence[_Tensor], other: _Tensor, *, out: Sequence[_Tensor]) -> None: ...

class _packet__foreach_div_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: _Tensor) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[_Tensor], other: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[_Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @_operator
    @staticmethod
    def Tensor(self: Sequence[_Tensor], other: _Tensor) -> None: ...

class _packet__foreach_erf(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_erf_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_erfc(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_erfc_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_exp(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_exp_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_expm1(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_expm1_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_floor(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_floor_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_frac(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_frac_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_lerp(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(
        cls, self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Scalar]
    ) -> list[Tensor]: ...
    @overload
    def __call__(
        cls, self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(
        self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor], *, out: Sequence[Tensor]
    ) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(
        self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar, *, out: Sequence[Tensor]
    ) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(
        self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Scalar], *, out: Sequence[Tensor]
    ) -> None: ...

class _packet__foreach_lerp_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], tensors1: Sequence[Tensor], weights: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Sequence[_Scalar]) -> None: ...

class _packet__foreach_lgamma(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_lgamma_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_log(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_log10(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_log10_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_log1p(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_log1p_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_log2(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_log2_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_log_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_max(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_maximum(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[Tensor], other: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[Tensor], scalar: _Scalar, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[Tensor], scalars: Sequence[_Scalar], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_maximum_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...

class _packet__foreach_minimum(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[Tensor], other: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[Tensor], scalar: _Scalar, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[Tensor], scalars: Sequence[_Scalar], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_minimum_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...

class _packet__foreach_mm(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor], mat2: Sequence[Tensor]) -> list[Tensor]: ...

class _packet__foreach_mul(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: _Tensor) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalar: _Scalar) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: Sequence[_Tensor]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[_Tensor], other: Sequence[_Tensor]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[_Tensor], scalar: _Scalar) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Tensor(self: Sequence[_Tensor], other: _Tensor) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[_Tensor], other: Sequence[_Tensor], *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[_Tensor], scalar: _Scalar, *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[_Tensor], scalars: Sequence[_Scalar], *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Tensor_out(self: Sequence[_Tensor], other: _Tensor, *, out: Sequence[_Tensor]) -> None: ...

class _packet__foreach_mul_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: _Tensor) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[_Tensor], other: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[_Tensor], other: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[_Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[_Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @_operator
    @staticmethod
    def Tensor(self: Sequence[_Tensor], other: _Tensor) -> None: ...

class _packet__foreach_neg(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_neg_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_norm(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor], ord: _Scalar = 2, dtype: DType | None = None) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], ord: _Scalar = 2, dtype: DType | None = None) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar_out(
        self: Sequence[Tensor], ord: _Scalar = 2, dtype: DType | None = None, *, out: Sequence[Tensor]
    ) -> None: ...

class _packet__foreach_pow(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: _Scalar, exponent: Sequence[Tensor]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], exponent: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], exponent: Sequence[_Scalar]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], exponent: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], exponent: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], exponent: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], exponent: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarAndTensor(self: _Scalar, exponent: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(self: Sequence[Tensor], exponent: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[Tensor], exponent: _Scalar, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[Tensor], exponent: Sequence[_Scalar], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_pow_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], exponent: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], exponent: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], exponent: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], exponent: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], exponent: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], exponent: Sequence[_Scalar]) -> None: ...

class _packet__foreach_powsum(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor], ord: _Scalar = 2, dtype: DType | None = None) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], ord: _Scalar = 2, dtype: DType | None = None) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar_out(
        self: Sequence[Tensor], ord: _Scalar = 2, dtype: DType | None = None, *, out: Sequence[Tensor]
    ) -> None: ...

class _packet__foreach_reciprocal(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_reciprocal_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_round(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_round_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_rsqrt(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_rsqrt_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_sigmoid(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_sigmoid_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_sign(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_sign_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_sin(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_sin_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_sinh(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_sinh_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_sqrt(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_sqrt_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_sub(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = 1) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = 1) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def List_out(
        self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = 1, out: Sequence[Tensor]
    ) -> None: ...
    @_operator
    @staticmethod
    def Scalar_out(self: Sequence[Tensor], scalar: _Scalar, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def ScalarList_out(self: Sequence[Tensor], scalars: Sequence[_Scalar], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_sub_(Operator[..., None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = 1) -> None: ...
    @_operator
    @staticmethod
    def List(self: Sequence[Tensor], other: Sequence[Tensor], *, alpha: _Scalar = 1) -> None: ...
    @_operator
    @staticmethod
    def Scalar(self: Sequence[Tensor], scalar: _Scalar) -> None: ...
    @_operator
    @staticmethod
    def ScalarList(self: Sequence[Tensor], scalars: Sequence[_Scalar]) -> None: ...

class _packet__foreach_tan(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_tan_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_tanh(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_tanh_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_trunc(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_trunc_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__foreach_zero(Operator[..., list[Tensor] | None], Protocol):
    @overload
    def __call__(cls, self: Sequence[Tensor]) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Sequence[Tensor], *, out: Sequence[Tensor]) -> None: ...

class _packet__foreach_zero_(Operator[..., None], Protocol):
    def __call__(cls, self: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Sequence[Tensor]) -> None: ...

class _packet__functional_assert_async(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
        """``_assert_async``, and a copy of a tensor that stands for the order of such steps."""
    @_operator
    @staticmethod
    def msg(self: Tensor, assert_msg: str, dep_token: Tensor) -> Tensor:
        """``_assert_async``, and a copy of a tensor that stands for the order of such steps."""

class _packet__functional_assert_scalar(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Scalar, assert_msg: str, dep_token: Tensor) -> Tensor:
        """``_assert_scalar``, and a copy of a tensor that stands for the order of such steps."""
    @_operator
    @staticmethod
    def default(self: Scalar, assert_msg: str, dep_token: Tensor) -> Tensor:
        """``_assert_scalar``, and a copy of a tensor that stands for the order of such steps."""

class _packet__functional_sym_constrain_range(Operator[..., Tensor], Protocol):
    def __call__(cls, size: Scalar, min: int | None, max: int | None, dep_token: Tensor) -> Tensor:
        """``sym_constrain_range``, and a copy of a tensor that stands for the order of such steps."""
    @_operator
    @staticmethod
    def default(size: Scalar, min: int | None, max: int | None, dep_token: Tensor) -> Tensor:
        """``sym_constrain_range``, and a copy of a tensor that stands for the order of such steps."""

class _packet__functional_sym_constrain_range_for_size(Operator[..., Tensor], Protocol):
    def __call__(cls, size: Scalar, min: int | None, max: int | None, dep_token: Tensor) -> Tensor:
        """``sym_constrain_range_for_size``, and a copy of a tensor that stands for the order of such steps."""
    @_operator
    @staticmethod
    def default(size: Scalar, min: int | None, max: int | None, dep_token: Tensor) -> Tensor:
        """``sym_constrain_range_for_size``, and a copy of a tensor that stands for the order of such steps."""

class _packet__fused_adagrad(Operator[..., _results__fused_adagrad | None | _results__fused_adagrad_2], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adagrad: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adagrad_2: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adagrad_2: ...
    @_operator
    @staticmethod
    def out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adagrad: ...
    @_operator
    @staticmethod
    def tensor_lr_out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...

class _packet__fused_adagrad_(Operator[..., None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        state_sums: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        lr_decay: float,
        weight_decay: float,
        eps: float,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...

class _packet__fused_adam(Operator[..., _results__fused_adam | None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adam: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adam: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adam: ...
    @_operator
    @staticmethod
    def out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adam: ...
    @_operator
    @staticmethod
    def tensor_lr_out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...

class _packet__fused_adam_(Operator[..., None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...

class _packet__fused_adamw(Operator[..., _results__fused_adamw | None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adamw: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adamw: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adamw: ...
    @_operator
    @staticmethod
    def out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_adamw: ...
    @_operator
    @staticmethod
    def tensor_lr_out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...

class _packet__fused_adamw_(Operator[..., None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: float,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        exp_avgs: Sequence[Tensor],
        exp_avg_sqs: Sequence[Tensor],
        max_exp_avg_sqs: Sequence[Tensor],
        state_steps: Sequence[Tensor],
        *,
        lr: Tensor,
        beta1: float,
        beta2: float,
        weight_decay: float,
        eps: float,
        amsgrad: bool,
        maximize: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...

class _packet__fused_rms_norm(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
    ) -> tuple[Tensor, Tensor]:
        """The last dimensions divided by the root of their mean square, times ``weight``; and 1 / that root."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, eps: float | None
    ) -> tuple[Tensor, Tensor]:
        """The last dimensions divided by the root of their mean square, times ``weight``; and 1 / that root."""

class _packet__fused_sgd(Operator[..., _results__fused_sgd | None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: Tensor,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_sgd: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: Tensor,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: float,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_sgd: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: float,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: float,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_sgd: ...
    @_operator
    @staticmethod
    def out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: float,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: Tensor,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> _results__fused_sgd: ...
    @_operator
    @staticmethod
    def tensor_lr_out(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: Tensor,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
        out: Sequence[Tensor],
    ) -> None: ...

class _packet__fused_sgd_(Operator[..., None], Protocol):
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: Tensor,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @overload
    def __call__(
        cls,
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: float,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def default(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: float,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...
    @_operator
    @staticmethod
    def tensor_lr(
        self: Sequence[Tensor],
        grads: Sequence[Tensor],
        momentum_buffer_list: Sequence[Tensor],
        *,
        weight_decay: float,
        momentum: float,
        lr: Tensor,
        dampening: float,
        nesterov: bool,
        maximize: bool,
        is_first_step: bool,
        grad_scale: Tensor | None = None,
        found_inf: Tensor | None = None,
    ) -> None: ...

class _packet__has_compatible_shallow_copy_type(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor, from_: Tensor) -> bool:
        """Whether one tensor may take the place of another: they are of one kind."""
    @_operator
    @staticmethod
    def default(self: Tensor, from_: Tensor) -> bool:
        """Whether one tensor may take the place of another: they are of one kind."""

class _packet__has_same_storage_numel(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> bool:
        """Whether the memory of two tensors holds as many elements."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> bool:
        """Whether the memory of two tensors holds as many elements."""

class _packet__index_put_impl(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: bool = False,
        unsafe: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False, unsafe: bool = False
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: bool = False,
        unsafe: bool = False,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__index_put_impl_(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        indices: Sequence[Tensor | None],
        values: Tensor,
        accumulate: bool = False,
        unsafe: bool = False,
    ) -> Tensor:
        """Writes, or adds, values where index tensors lead."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False, unsafe: bool = False
    ) -> Tensor:
        """Writes, or adds, values where index tensors lead."""

class _packet__int_mm(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of matrices of int8, as int32."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat2: Tensor) -> Tensor:
        """The product of matrices of int8, as int32."""
    @_operator
    @staticmethod
    def out(self: Tensor, mat2: Tensor, *, out: Tensor) -> Tensor:
        """The product of matrices of int8, as int32."""

class _packet__is_all_true(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Whether all elements are true."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Whether all elements are true."""

class _packet__is_any_true(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Whether an element is true."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Whether an element is true."""

class _packet__is_zerotensor(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """False: no tensor of this kind stands for zeros without memory."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """False: no tensor of this kind stands for zeros without memory."""

class _packet__lazy_clone(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """A copy; PyTorch's is not made before one of the two is written."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """A copy; PyTorch's is not made before one of the two is written."""

class _packet__linalg_check_errors(Operator[..., None], Protocol):
    def __call__(cls, info: Tensor, api_name: str, *, is_matrix: bool) -> None:
        """Raise what LAPACK has said of a matrix, see ``raise_failure``."""
    @_operator
    @staticmethod
    def default(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
        """Raise what LAPACK has said of a matrix, see ``raise_failure``."""

class _packet__linalg_det(Operator[..., _results__linalg_det], Protocol):
    def __call__(
        cls, A: Tensor, *, out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results__linalg_det:
        """The determinants of matrices, (..., n, n), and their factors."""
    @_operator
    @staticmethod
    def default(A: Tensor) -> _results__linalg_det:
        """The determinants of matrices, (..., n, n), and their factors."""
    @_operator
    @staticmethod
    def result(A: Tensor, *, result: Tensor, LU: Tensor, pivots: Tensor) -> _results__linalg_det:
        """The determinants of matrices, (..., n, n), and their factors."""

class _packet__linalg_eigh(Operator[..., _results__linalg_eigh], Protocol):
    def __call__(
        cls,
        A: Tensor,
        UPLO: str = "L",
        compute_v: bool = True,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results__linalg_eigh:
        """The eigenvalues and vectors of Hermitian matrices.

        Args:
            A: (..., n, n), of which one triangle is read.
            UPLO: which one: "L" or "U".
            compute_v: whether vectors are asked for; otherwise they are empty.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, UPLO: str = "L", compute_v: bool = True) -> _results__linalg_eigh:
        """The eigenvalues and vectors of Hermitian matrices.

        Args:
            A: (..., n, n), of which one triangle is read.
            UPLO: which one: "L" or "U".
            compute_v: whether vectors are asked for; otherwise they are empty.
        """
    @_operator
    @staticmethod
    def eigenvalues(
        A: Tensor, UPLO: str = "L", compute_v: bool = True, *, eigenvalues: Tensor, eigenvectors: Tensor
    ) -> _results__linalg_eigh:
        """The eigenvalues and vectors of Hermitian matrices.

        Args:
            A: (..., n, n), of which one triangle is read.
            UPLO: which one: "L" or "U".
            compute_v: whether vectors are asked for; otherwise they are empty.
        """

class _packet__linalg_slogdet(Operator[..., _results__linalg_slogdet], Protocol):
    def __call__(
        cls, A: Tensor, *, out: tuple[Tensor, Tensor, Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results__linalg_slogdet:
        """The signs of matrices' determinants, the logarithms of their magnitudes, and the factors."""
    @_operator
    @staticmethod
    def default(A: Tensor) -> _results__linalg_slogdet:
        """The signs of matrices' determinants, the logarithms of their magnitudes, and the factors."""
    @_operator
    @staticmethod
    def sign(A: Tensor, *, sign: Tensor, logabsdet: Tensor, LU: Tensor, pivots: Tensor) -> _results__linalg_slogdet:
        """The signs of matrices' determinants, the logarithms of their magnitudes, and the factors."""

class _packet__linalg_solve_ex(Operator[..., _results__linalg_solve_ex], Protocol):
    def __call__(
        cls,
        A: Tensor,
        B: Tensor,
        *,
        left: bool = True,
        check_errors: bool = False,
        out: tuple[Tensor, Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results__linalg_solve_ex:
        """The solution of ``A X = B``, or ``X A = B``.

        Args:
            A: (..., n, n).
            B: (..., n, k), (..., k, n) where ``A`` stands to the right, or vectors: (n) or (..., n).
            left: whether ``A`` stands to the left.
            check_errors: whether a singular matrix is an error.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> _results__linalg_solve_ex:
        """The solution of ``A X = B``, or ``X A = B``.

        Args:
            A: (..., n, n).
            B: (..., n, k), (..., k, n) where ``A`` stands to the right, or vectors: (n) or (..., n).
            left: whether ``A`` stands to the left.
            check_errors: whether a singular matrix is an error.
        """
    @_operator
    @staticmethod
    def result(
        A: Tensor,
        B: Tensor,
        *,
        left: bool = True,
        check_errors: bool = False,
        result: Tensor,
        LU: Tensor,
        pivots: Tensor,
        info: Tensor,
    ) -> _results__linalg_solve_ex:
        """The solution of ``A X = B``, or ``X A = B``.

        Args:
            A: (..., n, n).
            B: (..., n, k), (..., k, n) where ``A`` stands to the right, or vectors: (n) or (..., n).
            left: whether ``A`` stands to the left.
            check_errors: whether a singular matrix is an error.
        """

class _packet__linalg_svd(Operator[..., _results__linalg_svd], Protocol):
    def __call__(
        cls,
        A: Tensor,
        full_matrices: bool = False,
        compute_uv: bool = True,
        *,
        driver: str | None = None,
        out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results__linalg_svd:
        """The singular values and vectors of matrices.

        Args:
            A: (..., m, n).
            full_matrices: whether all left and right vectors are asked for, or as many as there are values.
            compute_uv: whether vectors are asked for; otherwise they are empty.
            driver: None: it is a choice of CUDA's.
        """
    @_operator
    @staticmethod
    def default(
        A: Tensor, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
    ) -> _results__linalg_svd:
        """The singular values and vectors of matrices.

        Args:
            A: (..., m, n).
            full_matrices: whether all left and right vectors are asked for, or as many as there are values.
            compute_uv: whether vectors are asked for; otherwise they are empty.
            driver: None: it is a choice of CUDA's.
        """
    @_operator
    @staticmethod
    def U(
        A: Tensor,
        full_matrices: bool = False,
        compute_uv: bool = True,
        *,
        driver: str | None = None,
        U: Tensor,
        S: Tensor,
        Vh: Tensor,
    ) -> _results__linalg_svd:
        """The singular values and vectors of matrices.

        Args:
            A: (..., m, n).
            full_matrices: whether all left and right vectors are asked for, or as many as there are values.
            compute_uv: whether vectors are asked for; otherwise they are empty.
            driver: None: it is a choice of CUDA's.
        """

class _packet__local_scalar_dense(Operator[..., Scalar], Protocol):
    def __call__(cls, self: Tensor) -> Scalar:
        """The only element, as a number of Python."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Scalar:
        """The only element, as a number of Python."""

class _packet__log_softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, half_to_float: bool, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of ``softmax``."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
        """The logarithm of ``softmax``."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, half_to_float: bool, *, out: Tensor) -> Tensor:
        """The logarithm of ``softmax``."""

class _packet__log_softmax_backward_data(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of ``log_softmax``'s input, from that of its output and the output."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
        """The gradient of ``log_softmax``'s input, from that of its output and the output."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, *, out: Tensor) -> Tensor:
        """The gradient of ``log_softmax``'s input, from that of its output and the output."""

class _packet__logcumsumexp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, out: Tensor) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""

class _packet__lu_with_info(Operator[..., _results__lu_with_info], Protocol):
    def __call__(cls, self: Tensor, pivot: bool = True, check_errors: bool = True) -> _results__lu_with_info:
        """An older name of ``linalg.lu_factor_ex``."""
    @_operator
    @staticmethod
    def default(self: Tensor, pivot: bool = True, check_errors: bool = True) -> _results__lu_with_info:
        """An older name of ``linalg.lu_factor_ex``."""

class _packet__make_dep_token(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor that stands for the order of steps without results."""
    @_operator
    @staticmethod
    def default(
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A tensor that stands for the order of steps without results."""

class _packet__masked_scale(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mask: Tensor, scale: float) -> Tensor:
        """The elements where a mask is 1, times a number."""
    @_operator
    @staticmethod
    def default(self: Tensor, mask: Tensor, scale: float) -> Tensor:
        """The elements where a mask is 1, times a number."""
    @_operator
    @staticmethod
    def out(self: Tensor, mask: Tensor, scale: float, *, out: Tensor) -> Tensor: ...

class _packet__native_batch_norm_legit(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm``, whose schema says that it writes the running statistics."""
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        *,
        out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm`` without running statistics."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm``, whose schema says that it writes the running statistics."""
    @_operator
    @staticmethod
    def no_stats(
        input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm`` without running statistics."""
    @_operator
    @staticmethod
    def no_stats_out(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        *,
        out: Tensor,
        save_mean: Tensor,
        save_invstd: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm`` without running statistics."""

class _packet__native_batch_norm_legit_no_training(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm`` with the running statistics."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``native_batch_norm`` with the running statistics."""
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor,
        running_var: Tensor,
        momentum: float,
        eps: float,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet__neg_view_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The negatives, in memory of their own."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The negatives, in memory of their own."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet__nnpack_available(Operator[..., bool], Protocol):
    def __call__(cls) -> bool:
        """False: no kernel of this library is there."""
    @_operator
    @staticmethod
    def default() -> bool:
        """False: no kernel of this library is there."""

class _packet__pad_circular(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, pad: Sequence[int]) -> Tensor:
        """All dimensions behind channels with margins that go on at the other end; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, pad: Sequence[int]) -> Tensor:
        """All dimensions behind channels with margins that go on at the other end; negative ones cut."""

class _packet__pad_enum(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, pad: Sequence[int], mode: int, value: float | None = None) -> Tensor:
        """``pad``, the mode given by its number."""
    @_operator
    @staticmethod
    def default(self: Tensor, pad: Sequence[int], mode: int, value: float | None = None) -> Tensor:
        """``pad``, the mode given by its number."""

class _packet__pdist_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
        """The gradient of the rows of ``pdist``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
        """The gradient of the rows of ``pdist``."""
    @_operator
    @staticmethod
    def out(grad: Tensor, self: Tensor, p: float, pdist: Tensor, *, out: Tensor) -> Tensor: ...

class _packet__pdist_forward(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float = 2) -> Tensor:
        """``pdist`` of contiguous rows."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float = 2) -> Tensor:
        """``pdist`` of contiguous rows."""
    @_operator
    @staticmethod
    def out(self: Tensor, p: float = 2, *, out: Tensor) -> Tensor: ...

class _packet__pin_memory(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, device: Device | str | int | None = None) -> Tensor:
        """A copy in page-locked memory of the host."""
    @_operator
    @staticmethod
    def default(self: Tensor, device: Device | str | int | None = None) -> Tensor:
        """A copy in page-locked memory of the host."""
    @_operator
    @staticmethod
    def out(self: Tensor, device: Device | str | int | None = None, *, out: Tensor) -> Tensor: ...

class _packet__prelu_kernel(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, weight: Tensor) -> Tensor:
        """``self``, times ``weight`` where it is not positive."""
    @_operator
    @staticmethod
    def default(self: Tensor, weight: Tensor) -> Tensor:
        """``self``, times ``weight`` where it is not positive."""

class _packet__prelu_kernel_backward(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of ``_prelu_kernel``, before they are summed where it broadcast."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of ``_prelu_kernel``, before they are summed where it broadcast."""

class _packet__print(Operator[..., None], Protocol):
    def __call__(cls, s: str) -> None:
        """Print a text."""
    @_operator
    @staticmethod
    def default(s: str) -> None:
        """Print a text."""

class _packet__reshape_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, size: Sequence[int]) -> Tensor:
        """A copy with other sizes."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int]) -> Tensor:
        """A copy with other sizes."""

class _packet__safe_softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
        """``softmax``, and zeros where all elements are -inf."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
        """``softmax``, and zeros where all elements are -inf."""

class _packet__scaled_dot_product_attention_math(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        dropout_mask: Tensor | None = None,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Attention by whole matrices: the means of values, and the weights.

        Args:
            query, key, value, attn_mask, is_causal, scale, enable_gqa: see ``scaled_dot_product_attention``.
            dropout_p: the share of weights that are dropped.
            dropout_mask: which of them stay, if that is known.
        """
    @_operator
    @staticmethod
    def default(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        dropout_mask: Tensor | None = None,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """Attention by whole matrices: the means of values, and the weights.

        Args:
            query, key, value, attn_mask, is_causal, scale, enable_gqa: see ``scaled_dot_product_attention``.
            dropout_p: the share of weights that are dropped.
            dropout_mask: which of them stay, if that is known.
        """

class _packet__scaled_dot_product_flash_attention_for_cpu(
    Operator[..., _results__scaled_dot_product_flash_attention_for_cpu], Protocol
):
    def __call__(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        attn_mask: Tensor | None = None,
        scale: float | None = None,
    ) -> _results__scaled_dot_product_flash_attention_for_cpu:
        """Attention by tiles, and the logarithms of the sums of weights.

        Args:
            query, key, value: (batch, heads, length, size).
            dropout_p: 0.
            is_causal: whether a query sees keys up to its own position alone.
            attn_mask: what is added to scores, or which of them count.
            scale: of scores; by default 1 / the root of the size.
        """
    @_operator
    @staticmethod
    def default(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        attn_mask: Tensor | None = None,
        scale: float | None = None,
    ) -> _results__scaled_dot_product_flash_attention_for_cpu:
        """Attention by tiles, and the logarithms of the sums of weights.

        Args:
            query, key, value: (batch, heads, length, size).
            dropout_p: 0.
            is_causal: whether a query sees keys up to its own position alone.
            attn_mask: what is added to scores, or which of them count.
            scale: of scores; by default 1 / the root of the size.
        """

class _packet__scaled_dot_product_flash_attention_for_cpu_backward(
    Operator[..., _results__scaled_dot_product_flash_attention_for_cpu_backward], Protocol
):
    def __call__(
        cls,
        grad_out: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        out: Tensor,
        logsumexp: Tensor,
        dropout_p: float,
        is_causal: bool,
        *,
        attn_mask: Tensor | None = None,
        scale: float | None = None,
    ) -> _results__scaled_dot_product_flash_attention_for_cpu_backward:
        """The gradients of queries, keys and values, whose weights are computed again, a tile at a time."""
    @_operator
    @staticmethod
    def default(
        grad_out: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        out: Tensor,
        logsumexp: Tensor,
        dropout_p: float,
        is_causal: bool,
        *,
        attn_mask: Tensor | None = None,
        scale: float | None = None,
    ) -> _results__scaled_dot_product_flash_attention_for_cpu_backward:
        """The gradients of queries, keys and values, whose weights are computed again, a tile at a time."""

class _packet__slow_conv2d_backward(Operator[..., _results__slow_conv2d_backward], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        output_mask: bool | Sequence[bool],
    ) -> _results__slow_conv2d_backward:
        """The gradients of ``_slow_conv2d_forward``, those that ``output_mask`` asks for."""
    @_operator
    @staticmethod
    def output_mask(
        grad_output: Tensor,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        output_mask: bool | Sequence[bool],
    ) -> _results__slow_conv2d_backward:
        """The gradients of ``_slow_conv2d_forward``, those that ``output_mask`` asks for."""
    @_operator
    @staticmethod
    def output_mask_out(
        grad_output: Tensor,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        output_mask: bool | Sequence[bool],
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet__slow_conv2d_forward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv2d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
    ) -> Tensor:
        """``conv2d``."""
    @_operator
    @staticmethod
    def output(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        *,
        output: Tensor,
    ) -> Tensor:
        """``conv2d``."""

class _packet__softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, half_to_float: bool, *, out: Tensor | None = None) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension, without overflow."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, half_to_float: bool, *, out: Tensor) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension, without overflow."""

class _packet__softmax_backward_data(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of ``softmax``'s input, from that of its output and the output."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
        """The gradient of ``softmax``'s input, from that of its output and the output."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``softmax``'s input, from that of its output and the output."""

class _packet__stack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
        """``stack``."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        """``stack``."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor) -> Tensor:
        """``stack``."""

class _packet__thnn_differentiable_gru_cell_backward(
    Operator[..., tuple[Tensor, Tensor, Tensor, Tensor, Tensor]], Protocol
):
    def __call__(
        cls,
        grad_hy: Tensor,
        input_gates: Tensor,
        hidden_gates: Tensor,
        hx: Tensor,
        input_bias: Tensor | None,
        hidden_bias: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """``_thnn_fused_gru_cell_backward`` from the gates themselves, so that it has gradients."""
    @_operator
    @staticmethod
    def default(
        grad_hy: Tensor,
        input_gates: Tensor,
        hidden_gates: Tensor,
        hx: Tensor,
        input_bias: Tensor | None,
        hidden_bias: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """``_thnn_fused_gru_cell_backward`` from the gates themselves, so that it has gradients."""

class _packet__thnn_differentiable_lstm_cell_backward(
    Operator[..., tuple[Tensor, Tensor, Tensor, Tensor, Tensor]], Protocol
):
    def __call__(
        cls,
        grad_hy: Tensor | None,
        grad_cy: Tensor | None,
        input_gates: Tensor,
        hidden_gates: Tensor,
        input_bias: Tensor | None,
        hidden_bias: Tensor | None,
        cx: Tensor,
        cy: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """``_thnn_fused_lstm_cell_backward`` from the gates themselves, so that it has gradients."""
    @_operator
    @staticmethod
    def default(
        grad_hy: Tensor | None,
        grad_cy: Tensor | None,
        input_gates: Tensor,
        hidden_gates: Tensor,
        input_bias: Tensor | None,
        hidden_bias: Tensor | None,
        cx: Tensor,
        cy: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """``_thnn_fused_lstm_cell_backward`` from the gates themselves, so that it has gradients."""

class _packet__thnn_fused_gru_cell(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input_gates: Tensor,
        hidden_gates: Tensor,
        hx: Tensor,
        input_bias: Tensor | None = None,
        hidden_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """``gru_cell`` from its gates: the state, and what the gates came to."""
    @_operator
    @staticmethod
    def default(
        input_gates: Tensor,
        hidden_gates: Tensor,
        hx: Tensor,
        input_bias: Tensor | None = None,
        hidden_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """``gru_cell`` from its gates: the state, and what the gates came to."""
    @_operator
    @staticmethod
    def out(
        input_gates: Tensor,
        hidden_gates: Tensor,
        hx: Tensor,
        input_bias: Tensor | None = None,
        hidden_bias: Tensor | None = None,
        *,
        out0: Tensor,
        out1: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

class _packet__thnn_fused_gru_cell_backward(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, grad_hy: Tensor, workspace: Tensor, has_bias: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The gradients of ``_thnn_fused_gru_cell``: of both gates, the state and, where there are some, both biases."""
    @_operator
    @staticmethod
    def default(grad_hy: Tensor, workspace: Tensor, has_bias: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The gradients of ``_thnn_fused_gru_cell``: of both gates, the state and, where there are some, both biases."""
    @_operator
    @staticmethod
    def out(
        grad_hy: Tensor,
        workspace: Tensor,
        has_bias: bool,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
        out3: Tensor,
        out4: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]: ...

class _packet__thnn_fused_lstm_cell(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input_gates: Tensor,
        hidden_gates: Tensor,
        cx: Tensor,
        input_bias: Tensor | None = None,
        hidden_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``lstm_cell`` from its gates: the state, the memory, and what the gates came to."""
    @_operator
    @staticmethod
    def default(
        input_gates: Tensor,
        hidden_gates: Tensor,
        cx: Tensor,
        input_bias: Tensor | None = None,
        hidden_bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """``lstm_cell`` from its gates: the state, the memory, and what the gates came to."""
    @_operator
    @staticmethod
    def out(
        input_gates: Tensor,
        hidden_gates: Tensor,
        cx: Tensor,
        input_bias: Tensor | None = None,
        hidden_bias: Tensor | None = None,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet__thnn_fused_lstm_cell_backward(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The gradients of ``_thnn_fused_lstm_cell``: of both gates, the memory and both biases."""
    @_operator
    @staticmethod
    def default(
        grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """The gradients of ``_thnn_fused_lstm_cell``: of both gates, the memory and both biases."""

class _packet__thnn_fused_lstm_cell_backward_impl(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_thnn_fused_lstm_cell``: of the gates, the memory and, where there is one, a bias."""
    @_operator
    @staticmethod
    def default(
        grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``_thnn_fused_lstm_cell``: of the gates, the memory and, where there is one, a bias."""
    @_operator
    @staticmethod
    def out(
        grad_hy: Tensor | None,
        grad_cy: Tensor | None,
        cx: Tensor,
        cy: Tensor,
        workspace: Tensor,
        has_bias: bool,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet__to_copy(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        non_blocking: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A copy of another dtype, on another device, in another order of the dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        non_blocking: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A copy of another dtype, on another device, in another order of the dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, *, non_blocking: bool = False, memory_format: MemoryFormat | None = None, out: Tensor
    ) -> Tensor: ...

class _packet__transform_bias_rescale_qkv(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(cls, qkv: Tensor, qkv_bias: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of attention from one projection, its bias added, queries scaled, for each head."""
    @_operator
    @staticmethod
    def default(qkv: Tensor, qkv_bias: Tensor, num_heads: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of attention from one projection, its bias added, queries scaled, for each head."""
    @_operator
    @staticmethod
    def out(
        qkv: Tensor, qkv_bias: Tensor, num_heads: int, *, out0: Tensor, out1: Tensor, out2: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet__trilinear(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        i1: Tensor,
        i2: Tensor,
        i3: Tensor,
        expand1: Sequence[int],
        expand2: Sequence[int],
        expand3: Sequence[int],
        sumdim: Sequence[int],
        unroll_dim: int = 1,
    ) -> Tensor:
        """The products of three tensors, each with new dimensions, summed over some."""
    @_operator
    @staticmethod
    def default(
        i1: Tensor,
        i2: Tensor,
        i3: Tensor,
        expand1: Sequence[int],
        expand2: Sequence[int],
        expand3: Sequence[int],
        sumdim: Sequence[int],
        unroll_dim: int = 1,
    ) -> Tensor:
        """The products of three tensors, each with new dimensions, summed over some."""
    @_operator
    @staticmethod
    def out(
        i1: Tensor,
        i2: Tensor,
        i3: Tensor,
        expand1: Sequence[int],
        expand2: Sequence[int],
        expand3: Sequence[int],
        sumdim: Sequence[int],
        unroll_dim: int = 1,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet__unique(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(cls, self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
        """The distinct elements in order, and where each element is among them."""
    @_operator
    @staticmethod
    def default(self: Tensor, sorted: bool = True, return_inverse: bool = False) -> tuple[Tensor, Tensor]:
        """The distinct elements in order, and where each element is among them."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, sorted: bool = True, return_inverse: bool = False, *, out0: Tensor, out1: Tensor
    ) -> tuple[Tensor, Tensor]: ...

class _packet__unique2(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct elements in order, where each element is among them, and how often they are there."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct elements in order, where each element is among them, and how often they are there."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet__unsafe_index(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, indices: Sequence[_Tensor | None]) -> _Tensor:
        """``index`` by positions that are known to be good; here they are looked at all the same."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, indices: Sequence[_Tensor | None]) -> _Tensor:
        """``index`` by positions that are known to be good; here they are looked at all the same."""

class _packet__unsafe_index_put(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
    ) -> Tensor:
        """``index_put`` by positions that are known to be good; here they are looked at all the same."""
    @_operator
    @staticmethod
    def default(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
        """``index_put`` by positions that are known to be good; here they are looked at all the same."""

class _packet__unsafe_view(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, size: Sequence[int]) -> Tensor:
        """``view`` of a tensor that nothing else refers to: the result counts as new."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int]) -> Tensor:
        """``view`` of a tensor that nothing else refers to: the result counts as new."""
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet__upsample_nearest_exact1d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls, self: Tensor, output_size: int | Sequence[int], scales: float | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int], scales: float | None = None) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], scales: float | None = None, *, out: Tensor) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet__upsample_nearest_exact1d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet__upsample_nearest_exact2d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, output_size: int | Sequence[int], scales_h: float | None = None, scales_w: float | None = None
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet__upsample_nearest_exact2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet__upsample_nearest_exact3d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        output_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet__upsample_nearest_exact3d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet__use_cudnn_ctc_loss(Operator[..., bool], Protocol):
    @overload
    def __call__(
        cls,
        log_probs: _Tensor,
        targets: _Tensor,
        input_lengths: Sequence[int],
        target_lengths: Sequence[int],
        blank: int,
    ) -> bool:
        """False: no kernel of this library is there."""
    @overload
    def __call__(
        cls, log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor, target_lengths: _Tensor, blank: int
    ) -> bool: ...
    @_operator
    @staticmethod
    def default(
        log_probs: _Tensor, targets: _Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
    ) -> bool:
        """False: no kernel of this library is there."""
    @_operator
    @staticmethod
    def Tensor(
        log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor, target_lengths: _Tensor, blank: int
    ) -> bool:
        """False: no kernel of this library is there."""

class _packet__use_cudnn_rnn_flatten_weight(Operator[..., bool], Protocol):
    def __call__(cls) -> bool:
        """False: no kernel of this library is there."""
    @_operator
    @staticmethod
    def default() -> bool:
        """False: no kernel of this library is there."""

class _packet__use_miopen_ctc_loss(Operator[..., bool], Protocol):
    @overload
    def __call__(
        cls,
        log_probs: _Tensor,
        targets: _Tensor,
        input_lengths: Sequence[int],
        target_lengths: Sequence[int],
        blank: int,
    ) -> bool:
        """False: no kernel of this library is there."""
    @overload
    def __call__(
        cls, log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor, target_lengths: _Tensor, blank: int
    ) -> bool: ...
    @_operator
    @staticmethod
    def default(
        log_probs: _Tensor, targets: _Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int
    ) -> bool:
        """False: no kernel of this library is there."""
    @_operator
    @staticmethod
    def Tensor(
        log_probs: _Tensor, targets: _Tensor, input_lengths: _Tensor, target_lengths: _Tensor, blank: int
    ) -> bool:
        """False: no kernel of this library is there."""

class _packet__version(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """How often the memory was written in place."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """How often the memory was written in place."""

class _packet__weight_norm(Operator[..., Tensor], Protocol):
    def __call__(cls, v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
        """Weights of the directions of ``v`` and the magnitudes ``g``, one for each position along ``dim``."""
    @_operator
    @staticmethod
    def default(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
        """Weights of the directions of ``v`` and the magnitudes ``g``, one for each position along ``dim``."""

class _packet__weight_norm_differentiable_backward(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls, grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
    ) -> tuple[Tensor, Tensor]:
        """The gradients of ``_weight_norm_interface``: of ``v`` and ``g``."""
    @_operator
    @staticmethod
    def default(
        grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
    ) -> tuple[Tensor, Tensor]:
        """The gradients of ``_weight_norm_interface``: of ``v`` and ``g``."""

class _packet__weight_norm_interface(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(cls, v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
        """``_weight_norm``, and the norms of ``v``."""
    @_operator
    @staticmethod
    def default(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
        """``_weight_norm``, and the norms of ``v``."""
    @_operator
    @staticmethod
    def out(v: Tensor, g: Tensor, dim: int = 0, *, out0: Tensor, out1: Tensor) -> tuple[Tensor, Tensor]: ...

class _packet__weight_norm_interface_backward(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls, grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
    ) -> tuple[Tensor, Tensor]:
        """``_weight_norm_differentiable_backward``."""
    @_operator
    @staticmethod
    def default(
        grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int
    ) -> tuple[Tensor, Tensor]:
        """``_weight_norm_differentiable_backward``."""
    @_operator
    @staticmethod
    def out(
        grad_w: Tensor, saved_v: Tensor, saved_g: Tensor, saved_norms: Tensor, dim: int, *, out0: Tensor, out1: Tensor
    ) -> tuple[Tensor, Tensor]: ...

class _packet_abs(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""

class _packet_abs_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""

class _packet_absolute(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``abs_tensor``: The magnitude of every element; of complex numbers a real one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``abs_tensor``: The magnitude of every element; of complex numbers a real one."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``abs_tensor``: The magnitude of every element; of complex numbers a real one."""

class _packet_absolute_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``abs_tensor``: The magnitude of every element; of complex numbers a real one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``abs_tensor``: The magnitude of every element; of complex numbers a real one."""

class _packet_acos(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""

class _packet_acos_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""

class _packet_acosh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""

class _packet_acosh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""

class _packet_adaptive_avg_pool1d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows of signals as are asked for; see ``adaptive_avg_pool2d``."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows of signals as are asked for; see ``adaptive_avg_pool2d``."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_adaptive_avg_pool2d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, output_size: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The means of as many windows of images as are asked for.

        Args:
            self: (channels, height, width), with or without a batch before them.
            output_size: how many windows there are along each dimension; they overlap where it does not divide it.

        >>> import opdsl
        >>> opdsl.nn.adaptive_avg_pool2d(opdsl.tensor([[[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]]]), (1, 2))
        tensor([[[2.5000, 5.0000]]])
        """
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows of images as are asked for.

        Args:
            self: (channels, height, width), with or without a batch before them.
            output_size: how many windows there are along each dimension; they overlap where it does not divide it.

        >>> import opdsl
        >>> opdsl.nn.adaptive_avg_pool2d(opdsl.tensor([[[1.0, 2.0, 6.0], [3.0, 4.0, 8.0]]]), (1, 2))
        tensor([[[2.5000, 5.0000]]])
        """
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor) -> Tensor:
        """``adaptive_avg_pool2d`` into a given tensor."""

class _packet_adaptive_avg_pool3d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, output_size: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The means of as many windows of volumes as are asked for; see ``adaptive_avg_pool2d``."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> Tensor:
        """The means of as many windows of volumes as are asked for; see ``adaptive_avg_pool2d``."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor) -> Tensor:
        """``adaptive_avg_pool3d`` into a given tensor."""

class _packet_adaptive_max_pool1d(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(cls, self: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows of signals as are asked for, and where they are."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows of signals as are asked for, and where they are."""

class _packet_adaptive_max_pool2d(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, output_size: int | Sequence[int], *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as ``output_size`` says, and their numbers in what is divided."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as ``output_size`` says, and their numbers in what is divided."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as ``output_size`` says, and their numbers in what is divided."""

class _packet_adaptive_max_pool2d_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, indices: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, indices: Tensor, *, grad_input: Tensor) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""

class _packet_adaptive_max_pool3d(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, output_size: int | Sequence[int], *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as ``output_size`` says, and their numbers in what is divided."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int]) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as ``output_size`` says, and their numbers in what is divided."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], *, out: Tensor, indices: Tensor) -> tuple[Tensor, Tensor]:
        """The largest elements of as many windows as ``output_size`` says, and their numbers in what is divided."""

class _packet_adaptive_max_pool3d_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, indices: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, indices: Tensor) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, indices: Tensor, *, grad_input: Tensor) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""

class _packet_add(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1, out: _Tensor | None = None
    ) -> _Tensor:
        """``self + alpha * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """``self + alpha * other``"""
    @_operator
    @staticmethod
    def out(
        self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1, out: _Tensor | _Scalar
    ) -> _Tensor:
        """``self + alpha * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``self + alpha * other`` for a number; a Python call reaches ``add.Tensor`` instead."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, alpha: _Scalar = 1, *, out: _Tensor) -> _Tensor: ...

class _packet_add_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """``self + alpha * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """``self + alpha * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``self + alpha * other`` for a number; a Python call reaches ``add.Tensor`` instead."""

class _packet_addbmm(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: Scalar = 1,
        alpha: Scalar = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """``beta * self`` and ``alpha`` times the sum of the products of a batch."""
    @_operator
    @staticmethod
    def default(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self`` and ``alpha`` times the sum of the products of a batch."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor
    ) -> Tensor:
        """``addbmm`` into a given tensor."""

class _packet_addbmm_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``addbmm`` into ``self``."""
    @_operator
    @staticmethod
    def default(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``addbmm`` into ``self``."""

class _packet_addcdiv(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor | None = None
    ) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    @_operator
    @staticmethod
    def default(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    @_operator
    @staticmethod
    def out(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor) -> Tensor:
        """``self + value * tensor1 / tensor2``"""

class _packet_addcdiv_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    @_operator
    @staticmethod
    def default(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""

class _packet_addcmul(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor | None = None
    ) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    @_operator
    @staticmethod
    def default(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    @_operator
    @staticmethod
    def out(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1, out: Tensor) -> Tensor:
        """``self + value * tensor1 * tensor2``"""

class _packet_addcmul_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    @_operator
    @staticmethod
    def default(self: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""

class _packet_addmm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None
    ) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        mat1: Tensor,
        mat2: Tensor,
        out_dtype: DType,
        *,
        beta: Scalar = 1,
        alpha: Scalar = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """``addmm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""
    @_operator
    @staticmethod
    def out(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""
    @_operator
    @staticmethod
    def dtype(
        self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: DType, *, beta: Scalar = 1, alpha: Scalar = 1
    ) -> Tensor:
        """``addmm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def dtype_out(
        self: Tensor, mat1: Tensor, mat2: Tensor, out_dtype: DType, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor
    ) -> Tensor:
        """``addmm``, computed and given in ``out_dtype``."""

class _packet_addmm_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""

class _packet_addmv(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor | None = None
    ) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    @_operator
    @staticmethod
    def out(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""

class _packet_addmv_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""

class _packet_adjoint(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Every matrix of a batch transposed and conjugated."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Every matrix of a batch transposed and conjugated."""

class _packet_affine_grid_generator(Operator[..., Tensor], Protocol):
    def __call__(cls, theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
        """The places that pixels of images of a size are taken from by affine maps, (batch, ..., dimensions)."""
    @_operator
    @staticmethod
    def default(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
        """The places that pixels of images of a size are taken from by affine maps, (batch, ..., dimensions)."""
    @_operator
    @staticmethod
    def out(theta: Tensor, size: Sequence[int], align_corners: bool, *, out: Tensor) -> Tensor: ...

class _packet_affine_grid_generator_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
        """The gradient of ``affine_grid_generator``'s maps."""
    @_operator
    @staticmethod
    def default(grad: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
        """The gradient of ``affine_grid_generator``'s maps."""

class _packet_alias(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """A view of everything."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """A view of everything."""

class _packet_alias_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_all(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Whether all elements along dimensions, along all for ``dim=None``, are not zero."""
    @overload
    def __call__(cls, self: Tensor, dim: int, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
        """Whether all elements along a dimension are not zero; a bool, or uint8 for uint8."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
        """Whether all elements along a dimension are not zero; a bool, or uint8 for uint8."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """Whether all elements along a dimension are not zero; a bool, or uint8 for uint8."""
    @_operator
    @staticmethod
    def dims(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Whether all elements along dimensions, along all for ``dim=None``, are not zero."""
    @_operator
    @staticmethod
    def dims_out(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """Whether all elements along dimensions, along all for ``dim=None``, are not zero."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Whether all elements are not zero."""
    @_operator
    @staticmethod
    def all_out(self: Tensor, *, out: Tensor) -> Tensor:
        """Whether all elements are not zero."""

class _packet_allclose(Operator[..., bool], Protocol):
    def __call__(
        cls, self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> bool:
        """Whether all elements are close (``isclose``)."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
        """Whether all elements are close (``isclose``)."""

class _packet_alpha_dropout(Operator[..., Tensor], Protocol):
    def __call__(cls, input: Tensor, p: float, train: bool) -> Tensor:
        """Dropout that keeps mean and variance of standardised input, as networks with SELU need it."""
    @_operator
    @staticmethod
    def default(input: Tensor, p: float, train: bool) -> Tensor:
        """Dropout that keeps mean and variance of standardised input, as networks with SELU need it."""

class _packet_alpha_dropout_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float, train: bool) -> Tensor:
        """``alpha_dropout`` in place."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float, train: bool) -> Tensor:
        """``alpha_dropout`` in place."""

class _packet_amax(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The largest element along dimensions, along all for none given; NaN where there is one."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False) -> Tensor:
        """The largest element along dimensions, along all for none given; NaN where there is one."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The largest element along dimensions, along all for none given; NaN where there is one."""

class _packet_amin(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The smallest element along dimensions, along all for none given; NaN where there is one."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False) -> Tensor:
        """The smallest element along dimensions, along all for none given; NaN where there is one."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | Sequence[int] = (), keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The smallest element along dimensions, along all for none given; NaN where there is one."""

class _packet_aminmax(Operator[..., _results_aminmax], Protocol):
    def __call__(
        cls,
        self: Tensor,
        *,
        dim: int | None = None,
        keepdim: bool = False,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_aminmax:
        """The smallest and the largest element along a dimension, or of all."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, dim: int | None = None, keepdim: bool = False) -> _results_aminmax:
        """The smallest and the largest element along a dimension, or of all."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, *, dim: int | None = None, keepdim: bool = False, min: Tensor, max: Tensor
    ) -> _results_aminmax:
        """The smallest and the largest element along a dimension, or of all."""

class _packet_angle(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The angle of every complex number; of real ones 0, or pi where they are negative."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The angle of every complex number; of real ones 0, or pi where they are negative."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The angle of every complex number; of real ones 0, or pi where they are negative."""

class _packet_any(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Whether any element along dimensions, along all for ``dim=None``, is not zero."""
    @overload
    def __call__(cls, self: Tensor, dim: int, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
        """Whether any element along a dimension is not zero; a bool, or uint8 for uint8."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> Tensor:
        """Whether any element along a dimension is not zero; a bool, or uint8 for uint8."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """Whether any element along a dimension is not zero; a bool, or uint8 for uint8."""
    @_operator
    @staticmethod
    def dims(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False) -> Tensor:
        """Whether any element along dimensions, along all for ``dim=None``, is not zero."""
    @_operator
    @staticmethod
    def dims_out(self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """Whether any element along dimensions, along all for ``dim=None``, is not zero."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Whether any element is not zero."""
    @_operator
    @staticmethod
    def all_out(self: Tensor, *, out: Tensor) -> Tensor:
        """Whether any element is not zero."""

class _packet_arange(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        end: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Numbers from 0 up to, but not including, ``end``."""
    @overload
    def __call__(
        cls,
        start: Scalar,
        end: Scalar,
        step: Scalar = 1,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Numbers from ``start`` up to, but not including, ``end``; int64 where all are integers and no dtype is given."""
    @_operator
    @staticmethod
    def start_step(
        start: Scalar,
        end: Scalar,
        step: Scalar = 1,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Numbers from ``start`` up to, but not including, ``end``; int64 where all are integers and no dtype is given."""
    @_operator
    @staticmethod
    def start(
        start: Scalar,
        end: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Numbers from ``start`` up to, but not including, ``end``."""
    @_operator
    @staticmethod
    def default(
        end: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Numbers from 0 up to, but not including, ``end``."""
    @_operator
    @staticmethod
    def out(end: Scalar, *, out: Tensor) -> Tensor:
        """Writes the numbers from 0 up to ``end`` into ``out``, which is resized if it has another number of elements."""
    @_operator
    @staticmethod
    def start_out(start: Scalar, end: Scalar, step: Scalar = 1, *, out: Tensor) -> Tensor:
        """Writes the numbers into ``out``, which is resized if it has another number of elements."""

class _packet_arccos(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""

class _packet_arccos_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""

class _packet_arccosh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""

class _packet_arccosh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""

class _packet_arcsin(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""

class _packet_arcsin_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""

class _packet_arcsinh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""

class _packet_arcsinh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""

class _packet_arctan(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""

class _packet_arctan2(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""

class _packet_arctan2_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""

class _packet_arctan_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""

class _packet_arctanh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""

class _packet_arctanh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""

class _packet_argmax(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The position of the largest element along a dimension, or among all in row-major order; of several the first."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The position of the largest element along a dimension, or among all in row-major order; of several the first."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The position of the largest element along a dimension, or among all in row-major order; of several the first."""

class _packet_argmin(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The position of the smallest element along a dimension, or among all in row-major order; of several the first."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        """The position of the smallest element along a dimension, or among all in row-major order; of several the first."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The position of the smallest element along a dimension, or among all in row-major order; of several the first."""

class _packet_argsort(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False, out: Tensor | None = None
    ) -> Tensor:
        """The indices of the elements along a dimension in order, equal ones in theirs."""
    @overload
    def __call__(cls, self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
        """The indices of the elements along a dimension in order."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
        """The indices of the elements along a dimension in order."""
    @_operator
    @staticmethod
    def stable(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False) -> Tensor:
        """The indices of the elements along a dimension in order, equal ones in theirs."""
    @_operator
    @staticmethod
    def stable_out(self: Tensor, *, stable: bool, dim: int = -1, descending: bool = False, out: Tensor) -> Tensor:
        """The indices of the elements along a dimension in order, equal ones in theirs."""

class _packet_argwhere(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``nonzero``, by NumPy's name."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``nonzero``, by NumPy's name."""

class _packet_as_strided(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Tensor:
        """Any shape, strides and offset inside the storage."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
        """Any shape, strides and offset inside the storage."""

class _packet_as_strided_(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Tensor:
        """Any shape, strides and offset inside the storage, given to the tensor itself."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
        """Any shape, strides and offset inside the storage, given to the tensor itself."""

class _packet_as_strided_copy(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None, *, out: Tensor
    ) -> Tensor: ...

class _packet_as_strided_scatter(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Tensor:
        """``self`` with what ``as_strided`` shows of it replaced."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
    ) -> Tensor:
        """``self`` with what ``as_strided`` shows of it replaced."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        src: Tensor,
        size: Sequence[int],
        stride: Sequence[int],
        storage_offset: int | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """``self`` with what ``as_strided`` shows of it replaced."""

class _packet_asin(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""

class _packet_asin_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""

class _packet_asinh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The inverse hyperbolic sine of every element."""

class _packet_asinh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The inverse hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse hyperbolic sine of every element."""

class _packet_atan(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""

class _packet_atan2(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""

class _packet_atan2_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""

class _packet_atan_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""

class _packet_atanh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""

class _packet_atanh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""

class _packet_atleast_1d(Operator[..., Tensor | list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor with at least one dimension."""
    @overload
    def __call__(cls, tensors: _Sequence[Tensor]) -> list[Tensor]:
        """Every tensor with at least one dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor with at least one dimension."""
    @_operator
    @staticmethod
    def Sequence(tensors: _Sequence[Tensor]) -> list[Tensor]:
        """Every tensor with at least one dimension."""

class _packet_atleast_2d(Operator[..., Tensor | list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor with at least two dimensions."""
    @overload
    def __call__(cls, tensors: _Sequence[Tensor]) -> list[Tensor]:
        """Every tensor with at least two dimensions."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor with at least two dimensions."""
    @_operator
    @staticmethod
    def Sequence(tensors: _Sequence[Tensor]) -> list[Tensor]:
        """Every tensor with at least two dimensions."""

class _packet_atleast_3d(Operator[..., Tensor | list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor with at least three dimensions."""
    @overload
    def __call__(cls, tensors: _Sequence[Tensor]) -> list[Tensor]:
        """Every tensor with at least three dimensions."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor with at least three dimensions."""
    @_operator
    @staticmethod
    def Sequence(tensors: _Sequence[Tensor]) -> list[Tensor]:
        """Every tensor with at least three dimensions."""

class _packet_avg_pool1d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        """The mean of each window of signals; ``count_include_pad`` says whether the zeros of the margin count."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> Tensor:
        """The mean of each window of signals; ``count_include_pad`` says whether the zeros of the margin count."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_avg_pool2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """

class _packet_avg_pool2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""

class _packet_avg_pool3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The mean of each window.

        count_include_pad: whether the zeros of the margin count. divisor_override: what sums are divided by instead.
        """

class _packet_avg_pool3d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what was averaged: of each element, its share of the windows that it is in."""

class _packet_baddbmm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: Scalar = 1,
        alpha: Scalar = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        batch1: Tensor,
        batch2: Tensor,
        out_dtype: DType,
        *,
        beta: Scalar = 1,
        alpha: Scalar = 1,
        out: Tensor | None = None,
    ) -> Tensor:
        """``baddbmm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def default(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, out: Tensor
    ) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    @_operator
    @staticmethod
    def dtype(
        self: Tensor, batch1: Tensor, batch2: Tensor, out_dtype: DType, *, beta: Scalar = 1, alpha: Scalar = 1
    ) -> Tensor:
        """``baddbmm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def dtype_out(
        self: Tensor,
        batch1: Tensor,
        batch2: Tensor,
        out_dtype: DType,
        *,
        beta: Scalar = 1,
        alpha: Scalar = 1,
        out: Tensor,
    ) -> Tensor:
        """``baddbmm``, computed and given in ``out_dtype``."""

class _packet_baddbmm_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    @_operator
    @staticmethod
    def default(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""

class _packet_bartlett_window(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic(
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(window_length: int, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_out(window_length: int, periodic: bool, *, out: Tensor) -> Tensor: ...

class _packet_batch_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> Tensor:
        """Each channel brought to mean 0 and variance 1, times ``weight`` plus ``bias``; see ``native_batch_norm``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> Tensor:
        """Each channel brought to mean 0 and variance 1, times ``weight`` plus ``bias``; see ``native_batch_norm``."""

class _packet_batch_norm_backward_elemt(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        sum_dy: Tensor,
        sum_dy_xmu: Tensor,
        count: Tensor,
    ) -> Tensor:
        """The gradient of the input, from sums over all devices and the numbers of elements on each."""
    @_operator
    @staticmethod
    def default(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        sum_dy: Tensor,
        sum_dy_xmu: Tensor,
        count: Tensor,
    ) -> Tensor:
        """The gradient of the input, from sums over all devices and the numbers of elements on each."""
    @_operator
    @staticmethod
    def out(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        sum_dy: Tensor,
        sum_dy_xmu: Tensor,
        count: Tensor,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_batch_norm_backward_reduce(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        input_g: bool,
        weight_g: bool,
        bias_g: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums of gradients over each channel, also of these times what lies above the mean; then the gradients
        of weight and bias.
        """
    @_operator
    @staticmethod
    def default(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        input_g: bool,
        weight_g: bool,
        bias_g: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Sums of gradients over each channel, also of these times what lies above the mean; then the gradients
        of weight and bias.
        """
    @_operator
    @staticmethod
    def out(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        invstd: Tensor,
        weight: Tensor | None,
        input_g: bool,
        weight_g: bool,
        bias_g: bool,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
        out3: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...

class _packet_batch_norm_elemt(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        invstd: Tensor,
        eps: float,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Each channel less its mean, times 1 / deviation and ``weight``, plus ``bias``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, invstd: Tensor, eps: float
    ) -> Tensor:
        """Each channel less its mean, times 1 / deviation and ``weight``, plus ``bias``."""
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        mean: Tensor,
        invstd: Tensor,
        eps: float,
        *,
        out: Tensor,
    ) -> Tensor:
        """Each channel less its mean, times 1 / deviation and ``weight``, plus ``bias``."""

class _packet_batch_norm_stats(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(cls, input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        """The mean and 1 / deviation of each channel."""
    @_operator
    @staticmethod
    def default(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        """The mean and 1 / deviation of each channel."""
    @_operator
    @staticmethod
    def out(input: Tensor, eps: float, *, out0: Tensor, out1: Tensor) -> tuple[Tensor, Tensor]: ...

class _packet_batch_norm_update_stats(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls, input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
    ) -> tuple[Tensor, Tensor]:
        """The mean and the biased variance of each channel, towards which running ones are moved."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
    ) -> tuple[Tensor, Tensor]:
        """The mean and the biased variance of each channel, towards which running ones are moved."""
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        momentum: float,
        *,
        out0: Tensor,
        out1: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

class _packet_bernoulli(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, *, generator: Generator | None = None, out: _Tensor | None = None) -> _Tensor:
        """1 where a trial with the probability of the element succeeds, 0 elsewhere."""
    @overload
    def __call__(cls, self: _Tensor, p: float, *, generator: Generator | None = None) -> _Tensor:
        """1 where a trial with the probability ``p`` succeeds, 0 elsewhere, in the form of a tensor."""
    @_operator
    @staticmethod
    def default(self: _Tensor, *, generator: Generator | None = None) -> _Tensor:
        """1 where a trial with the probability of the element succeeds, 0 elsewhere."""
    @_operator
    @staticmethod
    def out(self: _Tensor, *, generator: Generator | None = None, out: _Tensor) -> _Tensor:
        """``bernoulli`` into a given tensor."""
    @_operator
    @staticmethod
    def p(self: _Tensor, p: float, *, generator: Generator | None = None) -> _Tensor:
        """1 where a trial with the probability ``p`` succeeds, 0 elsewhere, in the form of a tensor."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, p: _Tensor, *, generator: Generator | None = None) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, p: _Tensor, *, generator: Generator | None = None, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def float_out(self: _Tensor, p: float = 0.5, *, generator: Generator | None = None, out: _Tensor) -> _Tensor: ...

class _packet_bernoulli_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, p: _Tensor, *, generator: Generator | None = None) -> _Tensor:
        """Fills the tensor with 1 where a trial with the probability of ``p``'s element succeeds, with 0 elsewhere."""
    @overload
    def __call__(cls, self: _Tensor, p: _float = 0.5, *, generator: Generator | None = None) -> _Tensor:
        """Fills the tensor with 1 where a trial with the probability ``p`` succeeds, with 0 elsewhere."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, p: _Tensor, *, generator: Generator | None = None) -> _Tensor:
        """Fills the tensor with 1 where a trial with the probability of ``p``'s element succeeds, with 0 elsewhere."""
    @_operator
    @staticmethod
    def float(self: _Tensor, p: _float = 0.5, *, generator: Generator | None = None) -> _Tensor:
        """Fills the tensor with 1 where a trial with the probability ``p`` succeeds, with 0 elsewhere."""

class _packet_bilinear(Operator[..., Tensor], Protocol):
    def __call__(cls, input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """``input1 @ weight[k] @ input2 + bias[k]`` for each k, of vectors along the last dimensions.

        input1: (..., N). input2: (..., M). weight: (K, N, M). bias: (K,).
        """
    @_operator
    @staticmethod
    def default(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """``input1 @ weight[k] @ input2 + bias[k]`` for each k, of vectors along the last dimensions.

        input1: (..., N). input2: (..., M). weight: (K, N, M). bias: (K,).
        """

class _packet_binary_cross_entropy(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``-(target * log(self) + (1 - target) * log(1 - self))``, no logarithm below -100."""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean) -> Tensor:
        """``-(target * log(self) + (1 - target) * log(1 - self))``, no logarithm below -100."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean, *, out: Tensor
    ) -> Tensor:
        """``-(target * log(self) + (1 - target) * log(1 - self))``, no logarithm below -100."""

class _packet_binary_cross_entropy_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``binary_cross_entropy``."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = Reduction.Mean
    ) -> Tensor:
        """The gradient of ``binary_cross_entropy``."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of ``binary_cross_entropy``."""

class _packet_binary_cross_entropy_with_logits(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
    ) -> Tensor:
        """``-(target * log(sigmoid(self)) + (1 - target) * log(1 - sigmoid(self)))``, exact for large ``abs(self)``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
    ) -> Tensor:
        """``-(target * log(sigmoid(self)) + (1 - target) * log(1 - sigmoid(self)))``, exact for large ``abs(self)``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        pos_weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_bincount(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
        """How often each number from 0 on is among integers, or the sum of the weights where it is.

        Args:
            self: a vector of integers that are not negative.
            weights: one for each of them; the sums are float32 for float32 weights, else float64.
            minlength: the least length of the result, which otherwise ends with the largest integer.

        >>> import opdsl
        >>> opdsl.bincount(opdsl.tensor([1, 3, 1]))
        tensor([0, 2, 0, 1])
        """
    @_operator
    @staticmethod
    def default(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
        """How often each number from 0 on is among integers, or the sum of the weights where it is.

        Args:
            self: a vector of integers that are not negative.
            weights: one for each of them; the sums are float32 for float32 weights, else float64.
            minlength: the least length of the result, which otherwise ends with the largest integer.

        >>> import opdsl
        >>> opdsl.bincount(opdsl.tensor([1, 3, 1]))
        tensor([0, 2, 0, 1])
        """
    @_operator
    @staticmethod
    def out(self: Tensor, weights: Tensor | None = None, minlength: int = 0, *, out: Tensor) -> Tensor: ...

class _packet_bitwise_and(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self & other``; of bools whether both hold."""
    @overload
    def __call__(cls, self: _Scalar, other: _Tensor) -> _Tensor:
        """``self & other`` for a number before the tensor."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self & other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self & other``; of bools whether both hold."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self & other``; of bools whether both hold."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self & other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """``self & other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_Tensor(self: _Scalar, other: _Tensor) -> _Tensor:
        """``self & other`` for a number before the tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(self: _Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self & other`` for a number before the tensor."""

class _packet_bitwise_and_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self & other``; of bools whether both hold."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self & other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self & other``; of bools whether both hold."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self & other`` for a number."""

class _packet_bitwise_left_shift(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @overload
    def __call__(cls, self: Scalar, other: _Tensor) -> _Tensor:
        """``self << other`` for a number before the tensor."""
    @overload
    def __call__(cls, self: _Tensor, other: Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @_operator
    @staticmethod
    def Tensor_Scalar(self: _Tensor, other: Scalar) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(self: _Tensor, other: Scalar, *, out: _Tensor) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_Tensor(self: Scalar, other: _Tensor) -> _Tensor:
        """``self << other`` for a number before the tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(self: Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self << other`` for a number before the tensor."""

class _packet_bitwise_left_shift_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @overload
    def __call__(cls, self: _Tensor, other: Scalar) -> _Tensor:
        """``self << other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @_operator
    @staticmethod
    def Tensor_Scalar(self: _Tensor, other: Scalar) -> _Tensor:
        """``self << other`` for a number."""

class _packet_bitwise_not(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``~self``; of bools the opposite."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``~self``; of bools the opposite."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``~self``; of bools the opposite."""

class _packet_bitwise_not_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``~self``; of bools the opposite."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``~self``; of bools the opposite."""

class _packet_bitwise_or(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self | other``; of bools whether one holds."""
    @overload
    def __call__(cls, self: _Scalar, other: _Tensor) -> _Tensor:
        """``self | other`` for a number before the tensor."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self | other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self | other``; of bools whether one holds."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self | other``; of bools whether one holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self | other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """``self | other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_Tensor(self: _Scalar, other: _Tensor) -> _Tensor:
        """``self | other`` for a number before the tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(self: _Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self | other`` for a number before the tensor."""

class _packet_bitwise_or_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self | other``; of bools whether one holds."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self | other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self | other``; of bools whether one holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self | other`` for a number."""

class _packet_bitwise_right_shift(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @overload
    def __call__(cls, self: Scalar, other: _Tensor) -> _Tensor:
        """``self >> other`` for a number before the tensor."""
    @overload
    def __call__(cls, self: _Tensor, other: Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @_operator
    @staticmethod
    def Tensor_Scalar(self: _Tensor, other: Scalar) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(self: _Tensor, other: Scalar, *, out: _Tensor) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_Tensor(self: Scalar, other: _Tensor) -> _Tensor:
        """``self >> other`` for a number before the tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(self: Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self >> other`` for a number before the tensor."""

class _packet_bitwise_right_shift_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @overload
    def __call__(cls, self: _Tensor, other: Scalar) -> _Tensor:
        """``self >> other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @_operator
    @staticmethod
    def Tensor_Scalar(self: _Tensor, other: Scalar) -> _Tensor:
        """``self >> other`` for a number."""

class _packet_bitwise_xor(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @overload
    def __call__(cls, self: _Scalar, other: _Tensor) -> _Tensor:
        """``self ^ other`` for a number before the tensor."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self ^ other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self ^ other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """``self ^ other`` for a number."""
    @_operator
    @staticmethod
    def Scalar_Tensor(self: _Scalar, other: _Tensor) -> _Tensor:
        """``self ^ other`` for a number before the tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(self: _Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self ^ other`` for a number before the tensor."""

class _packet_bitwise_xor_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """``self ^ other`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self ^ other`` for a number."""

class _packet_blackman_window(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic(
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(window_length: int, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_out(window_length: int, periodic: bool, *, out: Tensor) -> Tensor: ...

class _packet_block_diag(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor]) -> Tensor:
        """The tensors as blocks along the diagonal of a matrix of zeros."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The tensors as blocks along the diagonal of a matrix of zeros."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor: ...

class _packet_bmm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of two batches of matrices."""
    @overload
    def __call__(cls, self: Tensor, mat2: Tensor, out_dtype: DType, *, out: Tensor | None = None) -> Tensor:
        """``bmm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices."""
    @_operator
    @staticmethod
    def out(self: Tensor, mat2: Tensor, *, out: Tensor) -> Tensor:
        """The products of two batches of matrices."""
    @_operator
    @staticmethod
    def dtype(self: Tensor, mat2: Tensor, out_dtype: DType) -> Tensor:
        """``bmm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def dtype_out(self: Tensor, mat2: Tensor, out_dtype: DType, *, out: Tensor) -> Tensor:
        """``bmm``, computed and given in ``out_dtype``."""

class _packet_broadcast_tensors(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Every tensor expanded to the shape to which all of them broadcast."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> list[Tensor]:
        """Every tensor expanded to the shape to which all of them broadcast."""

class _packet_broadcast_to(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, size: Sequence[int]) -> Tensor:
        """``expand``, by NumPy's name."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int]) -> Tensor:
        """``expand``, by NumPy's name."""

class _packet_bucketize(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: _Tensor,
        boundaries: _Tensor,
        *,
        out_int32: bool = False,
        right: bool = False,
        out: _Tensor | None = None,
    ) -> _Tensor:
        """Between which of sorted boundaries numbers lie, counted from 0; at one, behind it if ``right``."""
    @overload
    def __call__(cls, self: _Scalar, boundaries: _Tensor, *, out_int32: bool = False, right: bool = False) -> _Tensor:
        """Between which of sorted boundaries a number lies."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, boundaries: _Tensor, *, out_int32: bool = False, right: bool = False) -> _Tensor:
        """Between which of sorted boundaries numbers lie, counted from 0; at one, behind it if ``right``."""
    @_operator
    @staticmethod
    def Tensor_out(
        self: _Tensor, boundaries: _Tensor, *, out_int32: bool = False, right: bool = False, out: _Tensor
    ) -> _Tensor:
        """Between which of sorted boundaries numbers lie, counted from 0; at one, behind it if ``right``."""
    @_operator
    @staticmethod
    def Scalar(self: _Scalar, boundaries: _Tensor, *, out_int32: bool = False, right: bool = False) -> _Tensor:
        """Between which of sorted boundaries a number lies."""
    @_operator
    @staticmethod
    def Scalar_out(
        self: _Scalar, boundaries: _Tensor, *, out_int32: bool = False, right: bool = False, out: _Tensor
    ) -> _Tensor: ...

class _packet_can_cast(Operator[..., bool], Protocol):
    def __call__(cls, from_: DType, to: DType) -> bool:
        """Whether numbers of one dtype may be written into a tensor of another."""
    @_operator
    @staticmethod
    def default(from_: DType, to: DType) -> bool:
        """Whether numbers of one dtype may be written into a tensor of another."""

class _packet_cartesian_prod(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor]) -> Tensor:
        """All combinations of one element of each vector, a row each; a single vector as it is."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """All combinations of one element of each vector, a row each; a single vector as it is."""

class _packet_cat(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
        """The tensors one after another along a dimension."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        """The tensors one after another along a dimension."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor) -> Tensor:
        """The tensors one after another along a dimension."""

class _packet_cauchy(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        median: float = 0,
        sigma: float = 1,
        *,
        generator: Generator | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_cauchy_(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None
    ) -> Tensor:
        """Fills the tensor with Cauchy distributed numbers."""
    @_operator
    @staticmethod
    def default(self: Tensor, median: float = 0, sigma: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with Cauchy distributed numbers."""

class _packet_cdist(Operator[..., Tensor], Protocol):
    def __call__(cls, x1: Tensor, x2: Tensor, p: float = 2, compute_mode: int | None = None) -> Tensor:
        """The distances of all pairs of rows of two matrices.

        Args:
            x1: floating-point numbers (..., P, M).
            x2: (..., R, M); what stands before broadcasts.
            p: which norm of differences: 0 and more, inf.
            compute_mode: of Euclidean distances: 1 from scalar products, which is fast, 2 from differences, which is
                exact; 0 or None decides by the number of rows.

        Returns:
            (..., P, R).
        """
    @_operator
    @staticmethod
    def default(x1: Tensor, x2: Tensor, p: float = 2, compute_mode: int | None = None) -> Tensor:
        """The distances of all pairs of rows of two matrices.

        Args:
            x1: floating-point numbers (..., P, M).
            x2: (..., R, M); what stands before broadcasts.
            p: which norm of differences: 0 and more, inf.
            compute_mode: of Euclidean distances: 1 from scalar products, which is fast, 2 from differences, which is
                exact; 0 or None decides by the number of rows.

        Returns:
            (..., P, R).
        """

class _packet_ceil(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The least integer that is not below each element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The least integer that is not below each element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The least integer that is not below each element."""

class _packet_ceil_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The least integer that is not below each element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The least integer that is not below each element."""

class _packet_celu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, alpha: Scalar = 1.0) -> Tensor:
        """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""
    @_operator
    @staticmethod
    def default(self: Tensor, alpha: Scalar = 1.0) -> Tensor:
        """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, alpha: Scalar = 1.0, *, out: Tensor) -> Tensor:
        """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""

class _packet_celu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, alpha: Scalar = 1.0) -> Tensor:
        """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""
    @_operator
    @staticmethod
    def default(self: Tensor, alpha: Scalar = 1.0) -> Tensor:
        """``max(self, 0) + min(alpha * (exp(self / alpha) - 1), 0)``"""

class _packet_chain_matmul(Operator[..., Tensor], Protocol):
    def __call__(cls, matrices: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """The product of several matrices, in the order that takes the fewest multiplications."""
    @_operator
    @staticmethod
    def default(matrices: Sequence[Tensor]) -> Tensor:
        """The product of several matrices, in the order that takes the fewest multiplications."""
    @_operator
    @staticmethod
    def out(matrices: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """The product of several matrices, in the order that takes the fewest multiplications."""

class _packet_channel_shuffle(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, groups: int) -> Tensor:
        """The channels of all groups in turns: the first of each group, then the second ones, and so on."""
    @_operator
    @staticmethod
    def default(self: Tensor, groups: int) -> Tensor:
        """The channels of all groups in turns: the first of each group, then the second ones, and so on."""
    @_operator
    @staticmethod
    def out(self: Tensor, groups: int, *, out: Tensor) -> Tensor: ...

class _packet_cholesky(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The older name of ``linalg.cholesky``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, upper: bool = False) -> Tensor:
        """The older name of ``linalg.cholesky``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, upper: bool = False, *, out: Tensor) -> Tensor:
        """The older name of ``linalg.cholesky``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """

class _packet_cholesky_inverse(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the matrix that has the factor ``self``, of which one triangle is read."""
    @_operator
    @staticmethod
    def default(self: Tensor, upper: bool = False) -> Tensor:
        """The inverse of the matrix that has the factor ``self``, of which one triangle is read."""
    @_operator
    @staticmethod
    def out(self: Tensor, upper: bool = False, *, out: Tensor) -> Tensor:
        """The inverse of the matrix that has the factor ``self``, of which one triangle is read."""

class _packet_cholesky_solve(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The solution ``X`` of ``L @ L.mH @ X = self``.

        Args:
            self: (..., n, k).
            input2: ``L``, or for ``upper`` its adjoint: (..., n, n), of which one triangle is read.
            upper: see above.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, input2: Tensor, upper: bool = False) -> Tensor:
        """The solution ``X`` of ``L @ L.mH @ X = self``.

        Args:
            self: (..., n, k).
            input2: ``L``, or for ``upper`` its adjoint: (..., n, n), of which one triangle is read.
            upper: see above.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor) -> Tensor:
        """The solution ``X`` of ``L @ L.mH @ X = self``.

        Args:
            self: (..., n, k).
            input2: ``L``, or for ``upper`` its adjoint: (..., n, n), of which one triangle is read.
            upper: see above.
        """

class _packet_chunk(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
        """A dimension in so many parts of one size; the last may be smaller, or there are fewer."""
    @_operator
    @staticmethod
    def default(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
        """A dimension in so many parts of one size; the last may be smaller, or there are fewer."""

class _packet_clamp(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None, *, out: _Tensor | None = None
    ) -> _Tensor:
        """Every element, or the bound that it lies beyond, each its own."""
    @overload
    def __call__(
        cls, self: _Tensor, min: Scalar | None = None, max: Scalar | None = None, *, out: _Tensor | None = None
    ) -> _Tensor:
        """Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def default(self: _Tensor, min: Scalar | None = None, max: Scalar | None = None) -> _Tensor:
        """Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def out(self: _Tensor, min: Scalar | None = None, max: Scalar | None = None, *, out: _Tensor) -> _Tensor:
        """Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor:
        """Every element, or the bound that it lies beyond, each its own."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None, *, out: _Tensor) -> _Tensor:
        """Every element, or the bound that it lies beyond, each its own."""

class _packet_clamp_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor:
        """Every element, or the bound that it lies beyond, each its own."""
    @overload
    def __call__(cls, self: _Tensor, min: Scalar | None = None, max: Scalar | None = None) -> _Tensor:
        """Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def default(self: _Tensor, min: Scalar | None = None, max: Scalar | None = None) -> _Tensor:
        """Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor:
        """Every element, or the bound that it lies beyond, each its own."""

class _packet_clamp_max(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, max: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Every element, or its bound where that is smaller."""
    @overload
    def __call__(cls, self: _Tensor, max: Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Every element, or the bound where that is smaller."""
    @_operator
    @staticmethod
    def default(self: _Tensor, max: Scalar) -> _Tensor:
        """Every element, or the bound where that is smaller."""
    @_operator
    @staticmethod
    def out(self: _Tensor, max: Scalar, *, out: _Tensor) -> _Tensor:
        """Every element, or the bound where that is smaller."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, max: _Tensor) -> _Tensor:
        """Every element, or its bound where that is smaller."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, max: _Tensor, *, out: _Tensor) -> _Tensor:
        """Every element, or its bound where that is smaller."""

class _packet_clamp_max_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, max: _Tensor) -> _Tensor:
        """Every element, or its bound where that is smaller."""
    @overload
    def __call__(cls, self: _Tensor, max: Scalar) -> _Tensor:
        """Every element, or the bound where that is smaller."""
    @_operator
    @staticmethod
    def default(self: _Tensor, max: Scalar) -> _Tensor:
        """Every element, or the bound where that is smaller."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, max: _Tensor) -> _Tensor:
        """Every element, or its bound where that is smaller."""

class _packet_clamp_min(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, min: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Every element, or its bound where that is larger."""
    @overload
    def __call__(cls, self: _Tensor, min: Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Every element, or the bound where that is larger."""
    @_operator
    @staticmethod
    def default(self: _Tensor, min: Scalar) -> _Tensor:
        """Every element, or the bound where that is larger."""
    @_operator
    @staticmethod
    def out(self: _Tensor, min: Scalar, *, out: _Tensor) -> _Tensor:
        """Every element, or the bound where that is larger."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, min: _Tensor) -> _Tensor:
        """Every element, or its bound where that is larger."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, min: _Tensor, *, out: _Tensor) -> _Tensor:
        """Every element, or its bound where that is larger."""

class _packet_clamp_min_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, min: _Tensor) -> _Tensor:
        """Every element, or its bound where that is larger."""
    @overload
    def __call__(cls, self: _Tensor, min: Scalar) -> _Tensor:
        """Every element, or the bound where that is larger."""
    @_operator
    @staticmethod
    def default(self: _Tensor, min: Scalar) -> _Tensor:
        """Every element, or the bound where that is larger."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, min: _Tensor) -> _Tensor:
        """Every element, or its bound where that is larger."""

class _packet_clip(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None, *, out: _Tensor | None = None
    ) -> _Tensor:
        """Another name of ``clamp_tensors``: Every element, or the bound that it lies beyond, each its own."""
    @overload
    def __call__(
        cls, self: _Tensor, min: Scalar | None = None, max: Scalar | None = None, *, out: _Tensor | None = None
    ) -> _Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def default(self: _Tensor, min: Scalar | None = None, max: Scalar | None = None) -> _Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def out(self: _Tensor, min: Scalar | None = None, max: Scalar | None = None, *, out: _Tensor) -> _Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor:
        """Another name of ``clamp_tensors``: Every element, or the bound that it lies beyond, each its own."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None, *, out: _Tensor) -> _Tensor:
        """Another name of ``clamp_tensors``: Every element, or the bound that it lies beyond, each its own."""

class _packet_clip_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor:
        """Another name of ``clamp_tensors``: Every element, or the bound that it lies beyond, each its own."""
    @overload
    def __call__(cls, self: _Tensor, min: Scalar | None = None, max: Scalar | None = None) -> _Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def default(self: _Tensor, min: Scalar | None = None, max: Scalar | None = None) -> _Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, min: _Tensor | None = None, max: _Tensor | None = None) -> _Tensor:
        """Another name of ``clamp_tensors``: Every element, or the bound that it lies beyond, each its own."""

class _packet_clone(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """A copy with memory of its own."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """A copy with memory of its own."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...

class _packet_col2im(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The transpose of ``im2col``: images of which each element is the sum of its places in columns."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
    ) -> Tensor:
        """The transpose of ``im2col``: images of which each element is the sum of its places in columns."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
        *,
        out: Tensor,
    ) -> Tensor:
        """The transpose of ``im2col``: images of which each element is the sum of its places in columns."""

class _packet_column_stack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """The tensors side by side, vectors as columns."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The tensors side by side, vectors as columns."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """The tensors side by side, vectors as columns."""

class _packet_combinations(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
        """All combinations of ``r`` elements of a vector, a row each, in the order of their positions."""
    @_operator
    @staticmethod
    def default(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
        """All combinations of ``r`` elements of a vector, a row each, in the order of their positions."""

class _packet_complex(Operator[..., Tensor], Protocol):
    def __call__(cls, real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``real + 1j * imag``, float32 or float64 both."""
    @_operator
    @staticmethod
    def default(real: Tensor, imag: Tensor) -> Tensor:
        """``real + 1j * imag``, float32 or float64 both."""
    @_operator
    @staticmethod
    def out(real: Tensor, imag: Tensor, *, out: Tensor) -> Tensor:
        """``real + 1j * imag``, float32 or float64 both."""

class _packet_concat(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``cat``: The tensors one after another along a dimension."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        """Another name of ``cat``: The tensors one after another along a dimension."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor) -> Tensor:
        """Another name of ``cat``: The tensors one after another along a dimension."""

class _packet_concatenate(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``cat``: The tensors one after another along a dimension."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        """Another name of ``cat``: The tensors one after another along a dimension."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor) -> Tensor:
        """Another name of ``cat``: The tensors one after another along a dimension."""

class _packet_conj(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The conjugate complex numbers, computed at once; real numbers are their own."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The conjugate complex numbers, computed at once; real numbers are their own."""

class _packet_conj_physical(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The conjugate complex numbers; real numbers are their own."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The conjugate complex numbers; real numbers are their own."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The conjugate complex numbers; real numbers are their own."""

class _packet_conj_physical_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``conj_physical`` in place."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``conj_physical`` in place."""

class _packet_constant_pad_nd(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, pad: Sequence[int], value: Scalar = 0) -> Tensor:
        """The tensor inside of a margin of a number.

        ``pad`` has the margins before and after, from the last dimension on; negative ones cut elements off.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, pad: Sequence[int], value: Scalar = 0) -> Tensor:
        """The tensor inside of a margin of a number.

        ``pad`` has the margins before and after, from the last dimension on; negative ones cut elements off.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, pad: Sequence[int], value: Scalar = 0, *, out: Tensor) -> Tensor:
        """The tensor inside of a margin of a number.

        ``pad`` has the margins before and after, from the last dimension on; negative ones cut elements off.
        """

class _packet_contiguous(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> Tensor:
        """The tensor itself if its elements lie in that order, a copy in which they do otherwise."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> Tensor:
        """The tensor itself if its elements lie in that order, a copy in which they do otherwise."""

class _packet_conv1d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """A convolution of signals, (channels, length), with or without a batch; see ``convolution``."""
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """``conv1d`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """A convolution of signals, (channels, length), with or without a batch; see ``convolution``."""
    @_operator
    @staticmethod
    def padding(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """``conv1d`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""

class _packet_conv2d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """A convolution of images, (channels, height, width), with or without a batch; see ``convolution``."""
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """``conv2d`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """A convolution of images, (channels, height, width), with or without a batch; see ``convolution``."""
    @_operator
    @staticmethod
    def padding(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """``conv2d`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""

class _packet_conv3d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """A convolution of volumes, (channels, depth, height, width), with or without a batch; see ``convolution``."""
    @overload
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """``conv3d`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """A convolution of volumes, (channels, depth, height, width), with or without a batch; see ``convolution``."""
    @_operator
    @staticmethod
    def padding(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: str = "valid",
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
    ) -> Tensor:
        """``conv3d`` with padding ``valid``, none, or ``same``, so that the result has the size of the input."""

class _packet_conv_depthwise3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
    ) -> Tensor:
        """``conv3d`` of each channel for itself."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
    ) -> Tensor:
        """``conv3d`` of each channel for itself."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_conv_tbc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
        """``conv1d`` of sequences laid out as (time, batch, channels), with a weight of (length, channels, outputs)."""
    @_operator
    @staticmethod
    def default(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
        """``conv1d`` of sequences laid out as (time, batch, channels), with a weight of (length, channels, outputs)."""
    @_operator
    @staticmethod
    def out(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0, *, out: Tensor) -> Tensor: ...

class _packet_conv_tbc_backward(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``conv_tbc``."""
    @_operator
    @staticmethod
    def default(self: Tensor, input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``conv_tbc``."""

class _packet_conv_transpose1d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """A transposed convolution of signals, (channels, length), with or without a batch; see ``convolution``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """A transposed convolution of signals, (channels, length), with or without a batch; see ``convolution``."""

class _packet_conv_transpose2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """A transposed convolution of images, (channels, height, width), with or without a batch; see ``convolution``."""
    @_operator
    @staticmethod
    def input(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """A transposed convolution of images, (channels, height, width), with or without a batch; see ``convolution``."""

class _packet_conv_transpose3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """A transposed convolution of volumes, (channels, depth, height, width), or batches; see ``convolution``."""
    @_operator
    @staticmethod
    def input(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """A transposed convolution of volumes, (channels, depth, height, width), or batches; see ``convolution``."""

class _packet_convolution(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
    ) -> Tensor:
        """The products of a weight with windows that slide over signals, images or volumes; or what is their transpose.

        Args:
            input: (batch, channels, ...).
            weight: (outputs, channels / groups, ...); (channels, outputs / groups, ...) of a transposed convolution.
            bias: (outputs,), added to the results.
            stride: between windows.
            padding: the margin of zeros; what is cut off the result of a transposed convolution.
            dilation: between the elements of a window.
            transposed: whether it is the transpose, as gradients are.
            output_padding: by how much the result of a transposed convolution is larger behind.
            groups: of channels and outputs; each convolves by itself.
        """
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
    ) -> Tensor:
        """The products of a weight with windows that slide over signals, images or volumes; or what is their transpose.

        Args:
            input: (batch, channels, ...).
            weight: (outputs, channels / groups, ...); (channels, outputs / groups, ...) of a transposed convolution.
            bias: (outputs,), added to the results.
            stride: between windows.
            padding: the margin of zeros; what is cut off the result of a transposed convolution.
            dilation: between the elements of a window.
            transposed: whether it is the transpose, as gradients are.
            output_padding: by how much the result of a transposed convolution is larger behind.
            groups: of channels and outputs; each convolves by itself.
        """
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_convolution_backward(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        input: Tensor,
        weight: Tensor,
        bias_sizes: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``convolution``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        input: Tensor,
        weight: Tensor,
        bias_sizes: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``convolution``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def out(
        grad_output: Tensor,
        input: Tensor,
        weight: Tensor,
        bias_sizes: Sequence[int] | None,
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        transposed: bool,
        output_padding: Sequence[int],
        groups: int,
        output_mask: bool | Sequence[bool],
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
        """``src`` broadcast to the shape and converted to the dtype of ``self``."""
    @_operator
    @staticmethod
    def default(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
        """``src`` broadcast to the shape and converted to the dtype of ``self``."""
    @_operator
    @staticmethod
    def out(self: Tensor, src: Tensor, non_blocking: bool = False, *, out: Tensor) -> Tensor: ...

class _packet_copy_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
        """Writes another tensor's elements, broadcast and converted, into this one."""
    @_operator
    @staticmethod
    def default(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
        """Writes another tensor's elements, broadcast and converted, into this one."""

class _packet_copysign(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """The magnitude of ``self`` with the sign of a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @_operator
    @staticmethod
    def out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """The magnitude of ``self`` with the sign of a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """The magnitude of ``self`` with the sign of a number."""

class _packet_copysign_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """The magnitude of ``self`` with the sign of a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """The magnitude of ``self`` with the sign of a number."""

class _packet_corrcoef(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The correlation coefficients of variables, one a row, from their observations, one a column."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The correlation coefficients of variables, one a row, from their observations, one a column."""

class _packet_cos(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The cosine of every element, an angle in radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The cosine of every element, an angle in radians."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The cosine of every element, an angle in radians."""

class _packet_cos_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The cosine of every element, an angle in radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The cosine of every element, an angle in radians."""

class _packet_cosh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic cosine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The hyperbolic cosine of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The hyperbolic cosine of every element."""

class _packet_cosh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The hyperbolic cosine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The hyperbolic cosine of every element."""

class _packet_cosine_embedding_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = Reduction.Mean
    ) -> Tensor:
        """``1 - cos`` of the angle where ``target`` is 1, ``max(0, cos - margin)`` where it is -1."""
    @_operator
    @staticmethod
    def default(
        input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = Reduction.Mean
    ) -> Tensor:
        """``1 - cos`` of the angle where ``target`` is 1, ``max(0, cos - margin)`` where it is -1."""

class _packet_cosine_similarity(Operator[..., Tensor], Protocol):
    def __call__(cls, x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
        """The cosine of the angle between vectors along a dimension; norms below ``eps`` count as ``eps``."""
    @_operator
    @staticmethod
    def default(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08) -> Tensor:
        """The cosine of the angle between vectors along a dimension; norms below ``eps`` count as ``eps``."""

class _packet_count_nonzero(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dim: int | None = None) -> Tensor:
        """How many elements along a dimension, or of all, are not zero."""
    @overload
    def __call__(cls, self: Tensor, dim: Sequence[int]) -> Tensor:
        """How many elements along dimensions are not zero."""
    @_operator
    @staticmethod
    def dim_IntList(self: Tensor, dim: Sequence[int]) -> Tensor:
        """How many elements along dimensions are not zero."""
    @_operator
    @staticmethod
    def dim_IntList_out(self: Tensor, dim: Sequence[int], *, out: Tensor) -> Tensor:
        """How many elements along dimensions are not zero."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | None = None) -> Tensor:
        """How many elements along a dimension, or of all, are not zero."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | None = None, *, out: Tensor) -> Tensor:
        """How many elements along a dimension, or of all, are not zero."""

class _packet_cov(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
    ) -> Tensor:
        """The covariance matrix of variables, one a row, from their observations, one a column.

        Args:
            self: the observations; a vector is one variable.
            correction: what the number of observations is lessened by.
            fweights: how often each observation is there.
            aweights: how much each observation counts.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
    ) -> Tensor:
        """The covariance matrix of variables, one a row, from their observations, one a column.

        Args:
            self: the observations; a vector is one variable.
            correction: what the number of observations is lessened by.
            fweights: how often each observation is there.
            aweights: how much each observation counts.
        """

class _packet_cross(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
        """The cross products of vectors of three elements along a dimension, the first one of that size for None."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
        """The cross products of vectors of three elements along a dimension, the first one of that size for None."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor) -> Tensor:
        """The cross products of vectors of three elements along a dimension, the first one of that size for None."""

class _packet_cross_entropy_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """``nll_loss`` of ``log_softmax(self)``; of a target of the same shape, the sum over its probabilities."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """``nll_loss`` of ``log_softmax(self)``; of a target of the same shape, the sum over its probabilities."""

class _packet_cudnn_is_acceptable(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """False: no kernel of this library is there."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """False: no kernel of this library is there."""

class _packet_cummax(Operator[..., _results_cummax], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_cummax:
        """The largest element so far, NaN from the first one on, and the index of the last that equals it."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> _results_cummax:
        """The largest element so far, NaN from the first one on, and the index of the last that equals it."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, values: Tensor, indices: Tensor) -> _results_cummax:
        """The largest element so far, NaN from the first one on, and the index of the last that equals it."""

class _packet_cummaxmin_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
        """The gradient of ``cummax`` and ``cummin``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, input: Tensor, indices: Tensor, dim: int) -> Tensor:
        """The gradient of ``cummax`` and ``cummin``."""

class _packet_cummin(Operator[..., _results_cummin], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_cummin:
        """The smallest element so far, NaN from the first one on, and the index of the last that equals it."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> _results_cummin:
        """The smallest element so far, NaN from the first one on, and the index of the last that equals it."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, values: Tensor, indices: Tensor) -> _results_cummin:
        """The smallest element so far, NaN from the first one on, and the index of the last that equals it."""

class _packet_cumprod(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""

class _packet_cumprod_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""

class _packet_cumsum(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, dtype: DType | None = None, out: Tensor) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""

class _packet_cumsum_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""

class _packet_cumulative_trapezoid(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
        """The integrals up to each sample but the first, by the trapezoidal rule, of samples ``y`` at points ``x``."""
    @overload
    def __call__(cls, y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
        """The integrals up to each sample but the first, of samples that lie ``dx`` apart."""
    @_operator
    @staticmethod
    def x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
        """The integrals up to each sample but the first, by the trapezoidal rule, of samples ``y`` at points ``x``."""
    @_operator
    @staticmethod
    def dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
        """The integrals up to each sample but the first, of samples that lie ``dx`` apart."""

class _packet_deg2rad(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Degrees as radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Degrees as radians."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Degrees as radians."""

class _packet_deg2rad_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Degrees as radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Degrees as radians."""

class _packet_det(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``linalg.det``."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``linalg.det``."""

class _packet_detach(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """A view of everything that autograd does not follow."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """A view of everything that autograd does not follow."""

class _packet_detach_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Has autograd no longer follow the tensor: it becomes a leaf."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Has autograd no longer follow the tensor: it becomes a leaf."""

class _packet_detach_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_diag(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
        """A matrix with a vector as its diagonal, or the diagonal of a matrix."""
    @_operator
    @staticmethod
    def default(self: Tensor, diagonal: int = 0) -> Tensor:
        """A matrix with a vector as its diagonal, or the diagonal of a matrix."""
    @_operator
    @staticmethod
    def out(self: Tensor, diagonal: int = 0, *, out: Tensor) -> Tensor:
        """A matrix with a vector as its diagonal, or the diagonal of a matrix."""

class _packet_diag_embed(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
        """Matrices of zeros, with the last dimension as their diagonals."""
    @_operator
    @staticmethod
    def default(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
        """Matrices of zeros, with the last dimension as their diagonals."""
    @_operator
    @staticmethod
    def out(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1, *, out: Tensor) -> Tensor:
        """Matrices of zeros, with the last dimension as their diagonals."""

class _packet_diagflat(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, offset: int = 0) -> Tensor:
        """A matrix with all elements as its diagonal."""
    @_operator
    @staticmethod
    def default(self: Tensor, offset: int = 0) -> Tensor:
        """A matrix with all elements as its diagonal."""

class _packet_diagonal(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """A diagonal of two dimensions, as a last dimension in their place."""
    @_operator
    @staticmethod
    def default(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """A diagonal of two dimensions, as a last dimension in their place."""

class _packet_diagonal_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Tensor:
        """The gradient of ``diagonal``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int) -> Tensor:
        """The gradient of ``diagonal``."""
    @_operator
    @staticmethod
    def out(
        grad_output: Tensor, input_sizes: Sequence[int], offset: int, dim1: int, dim2: int, *, out: Tensor
    ) -> Tensor: ...

class _packet_diagonal_copy(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor) -> Tensor: ...

class _packet_diagonal_scatter(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """``self`` with a diagonal replaced."""
    @_operator
    @staticmethod
    def default(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
        """``self`` with a diagonal replaced."""
    @_operator
    @staticmethod
    def out(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Tensor) -> Tensor:
        """``self`` with a diagonal replaced."""

class _packet_diff(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        n: int = 1,
        dim: int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The differences of neighbours along a dimension, ``n`` times; of bools whether they differ.

        prepend, append: what is put before and behind ``self`` first.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
    ) -> Tensor:
        """The differences of neighbours along a dimension, ``n`` times; of bools whether they differ.

        prepend, append: what is put before and behind ``self`` first.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        n: int = 1,
        dim: int = -1,
        prepend: Tensor | None = None,
        append: Tensor | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The differences of neighbours along a dimension, ``n`` times; of bools whether they differ.

        prepend, append: what is put before and behind ``self`` first.
        """

class _packet_digamma(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""

class _packet_digamma_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""

class _packet_dim(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """How many dimensions there are."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """How many dimensions there are."""

class _packet_dist(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
        """The norm of the difference."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor, p: Scalar = 2) -> Tensor:
        """The norm of the difference."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, p: Scalar = 2, *, out: Tensor) -> Tensor: ...

class _packet_div(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __call__(
        cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None, out: _Tensor | None = None
    ) -> _Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def out(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | _Scalar) -> _Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Tensor_mode(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def out_mode(
        self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None, out: _Tensor | _Scalar
    ) -> _Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""
    @_operator
    @staticmethod
    def Scalar_mode(self: _Tensor, other: _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """``self / other`` for a number, rounded; a Python call reaches ``div.Tensor_mode`` instead."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def Scalar_mode_out(self: _Tensor, other: _Scalar, *, rounding_mode: str | None, out: _Tensor) -> _Tensor: ...

class _packet_div_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Tensor_mode(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""
    @_operator
    @staticmethod
    def Scalar_mode(self: _Tensor, other: _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """``self / other`` for a number, rounded; a Python call reaches ``div.Tensor_mode`` instead."""

class _packet_divide(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __call__(
        cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None, out: _Tensor | None = None
    ) -> _Tensor:
        """Another name of ``div_mode``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def out(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``div_number``: ``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""
    @_operator
    @staticmethod
    def Tensor_mode(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """Another name of ``div_mode``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def out_mode(
        self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None, out: _Tensor | _Scalar
    ) -> _Tensor:
        """Another name of ``div_mode``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Scalar_mode(self: _Tensor, other: _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """Another name of ``div_number_mode``: ``self / other`` for a number, rounded; a Python call reaches ``div.Tensor_mode`` instead."""

class _packet_divide_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """Another name of ``div_mode``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``div_number``: ``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""
    @_operator
    @staticmethod
    def Tensor_mode(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """Another name of ``div_mode``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @_operator
    @staticmethod
    def Scalar_mode(self: _Tensor, other: _Scalar, *, rounding_mode: str | None) -> _Tensor:
        """Another name of ``div_number_mode``: ``self / other`` for a number, rounded; a Python call reaches ``div.Tensor_mode`` instead."""

class _packet_dot(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sum of the products of two vectors' elements."""
    @_operator
    @staticmethod
    def default(self: Tensor, tensor: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements."""
    @_operator
    @staticmethod
    def out(self: Tensor, tensor: Tensor, *, out: Tensor) -> Tensor:
        """The sum of the products of two vectors' elements."""

class _packet_dropout(Operator[..., Tensor], Protocol):
    def __call__(cls, input: Tensor, p: float, train: bool) -> Tensor:
        """Zeros for elements with the probability ``p``, the others divided by ``1 - p``; ``input`` if not training."""
    @_operator
    @staticmethod
    def default(input: Tensor, p: float, train: bool) -> Tensor:
        """Zeros for elements with the probability ``p``, the others divided by ``1 - p``; ``input`` if not training."""

class _packet_dropout_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float, train: bool) -> Tensor:
        """``dropout`` in place."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float, train: bool) -> Tensor:
        """``dropout`` in place."""

class _packet_dsplit(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor, sections: _int) -> list[Tensor]:
        """Parts of one size, along the third dimension."""
    @overload
    def __call__(cls, self: Tensor, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, along the third dimension."""
    @_operator
    @staticmethod
    def int(self: Tensor, sections: _int) -> list[Tensor]:
        """Parts of one size, along the third dimension."""
    @_operator
    @staticmethod
    def array(self: Tensor, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, along the third dimension."""

class _packet_dstack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """The tensors along the third dimension."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The tensors along the third dimension."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """The tensors along the third dimension."""

class _packet_einsum(Operator[..., Tensor], Protocol):
    def __call__(cls, equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
        """The sums of products that an equation tells, whose labels name the operands' dimensions.

        Args:
            equation: the labels of each operand's dimensions, letters, with commas between; behind ``->`` those of the
                result. What is not in the result is summed over. ``...`` stands for any dimensions, which broadcast.
            tensors: the operands.
            path: the places of the two operands that are contracted next, one pair after another; what comes of them is
                put behind the others. The first two without it.

        >>> import opdsl
        >>> opdsl.einsum("ij,j->i", [opdsl.tensor([[1, 2], [3, 4]]), opdsl.tensor([1, 10])])
        tensor([21, 43])
        """
    @_operator
    @staticmethod
    def default(equation: str, tensors: Sequence[Tensor], *, path: Sequence[int] | None = None) -> Tensor:
        """The sums of products that an equation tells, whose labels name the operands' dimensions.

        Args:
            equation: the labels of each operand's dimensions, letters, with commas between; behind ``->`` those of the
                result. What is not in the result is summed over. ``...`` stands for any dimensions, which broadcast.
            tensors: the operands.
            path: the places of the two operands that are contracted next, one pair after another; what comes of them is
                put behind the others. The first two without it.

        >>> import opdsl
        >>> opdsl.einsum("ij,j->i", [opdsl.tensor([[1, 2], [3, 4]]), opdsl.tensor([1, 10])])
        tensor([21, 43])
        """

class _packet_elu(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1, *, out: Tensor | None = None
    ) -> Tensor:
        """``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""
    @_operator
    @staticmethod
    def default(self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Tensor:
        """``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""
    @_operator
    @staticmethod
    def out(self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1, *, out: Tensor) -> Tensor:
        """``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""

class _packet_elu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Tensor:
        """``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""
    @_operator
    @staticmethod
    def default(self: Tensor, alpha: Scalar = 1, scale: Scalar = 1, input_scale: Scalar = 1) -> Tensor:
        """``scale * self``; of negative elements ``scale * alpha * (exp(input_scale * self) - 1)``."""

class _packet_elu_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        alpha: Scalar,
        scale: Scalar,
        input_scale: Scalar,
        is_result: bool,
        self_or_result: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``elu``, of what it was given or, where ``is_result``, of what it gave."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor, alpha: Scalar, scale: Scalar, input_scale: Scalar, is_result: bool, self_or_result: Tensor
    ) -> Tensor:
        """The gradient of ``elu``, of what it was given or, where ``is_result``, of what it gave."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        alpha: Scalar,
        scale: Scalar,
        input_scale: Scalar,
        is_result: bool,
        self_or_result: Tensor,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of ``elu``, of what it was given or, where ``is_result``, of what it gave."""

class _packet_embedding(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        weight: Tensor,
        indices: Tensor,
        padding_idx: int = -1,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Tensor:
        """The rows of ``weight`` with the numbers ``indices``; the other arguments say what the gradient is."""
    @_operator
    @staticmethod
    def default(
        weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
    ) -> Tensor:
        """The rows of ``weight`` with the numbers ``indices``; the other arguments say what the gradient is."""
    @_operator
    @staticmethod
    def out(
        weight: Tensor,
        indices: Tensor,
        padding_idx: int = -1,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_embedding_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
    ) -> Tensor:
        """The gradient of ``embedding``'s table."""
    @_operator
    @staticmethod
    def default(
        grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
    ) -> Tensor:
        """The gradient of ``embedding``'s table."""

class _packet_embedding_bag(Operator[..., tuple[Tensor, Tensor, Tensor, Tensor]], Protocol):
    @overload
    def __call__(
        cls,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample_weights: Tensor | None,
        include_last_offset: bool,
        padding_idx: int | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See ``_embedding_bag``; None for no padding, and numbers below 0 count from the end."""
    @overload
    def __call__(
        cls,
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See ``_embedding_bag``."""
    @_operator
    @staticmethod
    def default(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool = False,
        mode: int = 0,
        sparse: bool = False,
        per_sample_weights: Tensor | None = None,
        include_last_offset: bool = False,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See ``_embedding_bag``."""
    @_operator
    @staticmethod
    def padding_idx(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample_weights: Tensor | None,
        include_last_offset: bool,
        padding_idx: int | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See ``_embedding_bag``; None for no padding, and numbers below 0 count from the end."""

class _packet_embedding_dense_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Tensor:
        """The gradient of ``embedding``'s table; rows that are padding, or that the table has not, get none."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
    ) -> Tensor:
        """The gradient of ``embedding``'s table; rows that are padding, or that the table has not, get none."""
    @_operator
    @staticmethod
    def out(
        grad_output: Tensor,
        indices: Tensor,
        num_weights: int,
        padding_idx: int,
        scale_grad_by_freq: bool,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_empty(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """A tensor whose elements are not set."""
    @overload
    def __call__(
        cls,
        *size: int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def memory_format(
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A tensor whose elements are not set."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor:
        """Gives ``out`` the size."""

class _packet_empty_like(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of the shape, dtype and memory order of another, whose elements are not set."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A tensor of the shape, dtype and memory order of another, whose elements are not set."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...

class _packet_empty_permuted(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        size: Sequence[int],
        physical_layout: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A dense tensor whose dimensions lie in a given order, outermost first, and whose elements are not set."""
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        physical_layout: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A dense tensor whose dimensions lie in a given order, outermost first, and whose elements are not set."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], physical_layout: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_empty_strided(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        size: Sequence[int],
        stride: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of given strides, in elements, whose elements are not set."""
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        stride: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of given strides, in elements, whose elements are not set."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], stride: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_eq(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is equal to ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is equal to a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is equal to ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is equal to ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is equal to a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is equal to a number."""

class _packet_eq_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is equal to ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is equal to a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is equal to ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is equal to a number."""

class _packet_equal(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> bool:
        """Whether two tensors have one shape and the same elements."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> bool:
        """Whether two tensors have one shape and the same elements."""

class _packet_erf(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The error function of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The error function of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The error function of every element."""

class _packet_erf_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The error function of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The error function of every element."""

class _packet_erfc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""

class _packet_erfc_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""

class _packet_erfinv(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""

class _packet_erfinv_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""

class _packet_exp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The exponential of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The exponential of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The exponential of every element."""

class _packet_exp2(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """2 to the power of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """2 to the power of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """2 to the power of every element."""

class _packet_exp2_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """2 to the power of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """2 to the power of every element."""

class _packet_exp_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The exponential of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The exponential of every element."""

class _packet_expand(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
        """Dimensions of size 1, and new ones in front, repeated without a copy."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor:
        """Dimensions of size 1, and new ones in front, repeated without a copy."""

class _packet_expand_as(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """``expand`` to the shape of another tensor."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``expand`` to the shape of another tensor."""

class _packet_expand_copy(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, size: Sequence[int], *, implicit: bool = False, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int], *, implicit: bool = False) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, implicit: bool = False, out: Tensor) -> Tensor: ...

class _packet_expm1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``exp(self) - 1``, exact near 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``exp(self) - 1``, exact near 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``exp(self) - 1``, exact near 0."""

class _packet_expm1_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``exp(self) - 1``, exact near 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``exp(self) - 1``, exact near 0."""

class _packet_exponential(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, lambd: float = 1, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, lambd: float = 1, *, generator: Generator | None = None, out: Tensor) -> Tensor: ...

class _packet_exponential_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with exponentially distributed numbers of the rate ``lambd``; none is 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, lambd: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with exponentially distributed numbers of the rate ``lambd``; none is 0."""

class _packet_eye(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        n: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The unit matrix."""
    @overload
    def __call__(
        cls,
        n: int,
        m: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """A matrix of ``n`` rows and ``m`` columns with ones on its diagonal and zeros elsewhere."""
    @_operator
    @staticmethod
    def default(
        n: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The unit matrix."""
    @_operator
    @staticmethod
    def m(
        n: int,
        m: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A matrix of ``n`` rows and ``m`` columns with ones on its diagonal and zeros elsewhere."""
    @_operator
    @staticmethod
    def out(n: int, *, out: Tensor) -> Tensor:
        """The unit matrix into a given tensor."""
    @_operator
    @staticmethod
    def m_out(n: int, m: int, *, out: Tensor) -> Tensor:
        """``eye`` into a given tensor."""

class _packet_fake_quantize_per_channel_affine(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
    ) -> Tensor:
        """``fake_quantize_per_channel_affine_cachemask`` without its mask."""
    @_operator
    @staticmethod
    def default(self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int) -> Tensor:
        """``fake_quantize_per_channel_affine_cachemask`` without its mask."""

class _packet_fake_quantize_per_channel_affine_cachemask(
    Operator[..., _results_fake_quantize_per_channel_affine_cachemask], Protocol
):
    def __call__(
        cls, self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
    ) -> _results_fake_quantize_per_channel_affine_cachemask:
        """``fake_quantize_per_tensor_affine_cachemask`` with a scale and a zero point for each channel."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
    ) -> _results_fake_quantize_per_channel_affine_cachemask:
        """``fake_quantize_per_tensor_affine_cachemask`` with a scale and a zero point for each channel."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        scale: Tensor,
        zero_point: Tensor,
        axis: int,
        quant_min: int,
        quant_max: int,
        *,
        out0: Tensor,
        out1: Tensor,
    ) -> tuple[Tensor, Tensor]: ...

class _packet_fake_quantize_per_channel_affine_cachemask_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, mask: Tensor) -> Tensor:
        """The gradient of ``fake_quantize_per_channel_affine_cachemask``: what lies out of bounds has none."""
    @_operator
    @staticmethod
    def default(grad: Tensor, mask: Tensor) -> Tensor:
        """The gradient of ``fake_quantize_per_channel_affine_cachemask``: what lies out of bounds has none."""

class _packet_fake_quantize_per_tensor_affine(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
        """``fake_quantize_per_tensor_affine`` by a scale and a zero point in tensors."""
    @overload
    def __call__(cls, self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
        """``fake_quantize_per_tensor_affine_cachemask`` without its mask."""
    @_operator
    @staticmethod
    def default(self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int) -> Tensor:
        """``fake_quantize_per_tensor_affine_cachemask`` without its mask."""
    @_operator
    @staticmethod
    def tensor_qparams(self: Tensor, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int) -> Tensor:
        """``fake_quantize_per_tensor_affine`` by a scale and a zero point in tensors."""

class _packet_fake_quantize_per_tensor_affine_cachemask(
    Operator[..., _results_fake_quantize_per_tensor_affine_cachemask], Protocol
):
    def __call__(
        cls, self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
    ) -> _results_fake_quantize_per_tensor_affine_cachemask:
        """Numbers rounded to what integers from ``quant_min`` to ``quant_max`` can hold, and where they lie within them."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int
    ) -> _results_fake_quantize_per_tensor_affine_cachemask:
        """Numbers rounded to what integers from ``quant_min`` to ``quant_max`` can hold, and where they lie within them."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, scale: float, zero_point: int, quant_min: int, quant_max: int, *, out0: Tensor, out1: Tensor
    ) -> tuple[Tensor, Tensor]: ...

class _packet_fake_quantize_per_tensor_affine_cachemask_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, mask: Tensor) -> Tensor:
        """The gradient of ``fake_quantize_per_tensor_affine_cachemask``: what lies out of bounds has none."""
    @_operator
    @staticmethod
    def default(grad: Tensor, mask: Tensor) -> Tensor:
        """The gradient of ``fake_quantize_per_tensor_affine_cachemask``: what lies out of bounds has none."""

class _packet_feature_alpha_dropout(Operator[..., Tensor], Protocol):
    def __call__(cls, input: Tensor, p: float, train: bool) -> Tensor:
        """``alpha_dropout`` of whole features, the second dimension."""
    @_operator
    @staticmethod
    def default(input: Tensor, p: float, train: bool) -> Tensor:
        """``alpha_dropout`` of whole features, the second dimension."""

class _packet_feature_alpha_dropout_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float, train: bool) -> Tensor:
        """``feature_alpha_dropout`` in place."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float, train: bool) -> Tensor:
        """``feature_alpha_dropout`` in place."""

class _packet_feature_dropout(Operator[..., Tensor], Protocol):
    def __call__(cls, input: Tensor, p: float, train: bool) -> Tensor:
        """``dropout`` of whole features, the second dimension."""
    @_operator
    @staticmethod
    def default(input: Tensor, p: float, train: bool) -> Tensor:
        """``dropout`` of whole features, the second dimension."""

class _packet_feature_dropout_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float, train: bool) -> Tensor:
        """``feature_dropout`` in place."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float, train: bool) -> Tensor:
        """``feature_dropout`` in place."""

class _packet_fft_fft(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The discrete Fourier transform of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """The discrete Fourier transform of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor) -> Tensor:
        """The discrete Fourier transform of ``n`` points along ``dim``."""

class _packet_fft_fft2(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The discrete Fourier transform of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        """The discrete Fourier transform of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The discrete Fourier transform of ``s`` points along two dimensions."""

class _packet_fft_fftfreq(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        n: int,
        d: float = 1.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The frequencies that a transform of ``n`` points, ``d`` apart, tells apart, in the order of its results."""
    @_operator
    @staticmethod
    def default(
        n: int,
        d: float = 1.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The frequencies that a transform of ``n`` points, ``d`` apart, tells apart, in the order of its results."""
    @_operator
    @staticmethod
    def out(n: int, d: float = 1.0, *, out: Tensor) -> Tensor:
        """The frequencies that a transform of ``n`` points, ``d`` apart, tells apart, in the order of its results."""

class _packet_fft_fftn(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The discrete Fourier transform of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The discrete Fourier transform of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The discrete Fourier transform of ``s`` points along ``dim``, all or the last dimensions by default."""

class _packet_fft_fftshift(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
        """What ``fft`` gives, with the frequency 0 in the middle of each dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
        """What ``fft`` gives, with the frequency 0 in the middle of each dimension."""

class _packet_fft_hfft(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``n`` points along ``dim``."""

class _packet_fft_hfft2(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``s`` points along two dimensions."""

class _packet_fft_hfftn(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The transform, which is real, of half a symmetric signal of ``s`` points along ``dim``, all or the last dimensions by default."""

class _packet_fft_ifft(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """The inverse discrete Fourier transform of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor) -> Tensor:
        """The inverse discrete Fourier transform of ``n`` points along ``dim``."""

class _packet_fft_ifft2(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``s`` points along two dimensions."""

class _packet_fft_ifftn(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The inverse discrete Fourier transform of ``s`` points along ``dim``, all or the last dimensions by default."""

class _packet_fft_ifftshift(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
        """The inverse of ``fftshift``."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
        """The inverse of ``fftshift``."""

class _packet_fft_ihfft(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The inverse of ``hfft`` of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """The inverse of ``hfft`` of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor) -> Tensor:
        """The inverse of ``hfft`` of ``n`` points along ``dim``."""

class _packet_fft_ihfft2(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The inverse of ``hfftn`` of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        """The inverse of ``hfftn`` of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The inverse of ``hfftn`` of ``s`` points along two dimensions."""

class _packet_fft_ihfftn(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The inverse of ``hfftn`` of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The inverse of ``hfftn`` of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The inverse of ``hfftn`` of ``s`` points along ``dim``, all or the last dimensions by default."""

class _packet_fft_irfft(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The inverse of ``rfft`` of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """The inverse of ``rfft`` of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor) -> Tensor:
        """The inverse of ``rfft`` of ``n`` points along ``dim``."""

class _packet_fft_irfft2(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The inverse of ``rfftn`` of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        """The inverse of ``rfftn`` of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The inverse of ``rfftn`` of ``s`` points along two dimensions."""

class _packet_fft_irfftn(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The inverse of ``rfftn`` of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The inverse of ``rfftn`` of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The inverse of ``rfftn`` of ``s`` points along ``dim``, all or the last dimensions by default."""

class _packet_fft_rfft(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        """The half that says all of the transform of real numbers of ``n`` points along ``dim``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor) -> Tensor:
        """The half that says all of the transform of real numbers of ``n`` points along ``dim``."""

class _packet_fft_rfft2(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, s: int | Sequence[int] | None = None, dim: int | Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``s`` points along two dimensions."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] = (-2, -1),
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``s`` points along two dimensions."""

class _packet_fft_rfftfreq(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        n: int,
        d: float = 1.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The frequencies that a transform of ``n`` points, ``d`` apart, tells apart, in the order of its results."""
    @_operator
    @staticmethod
    def default(
        n: int,
        d: float = 1.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The frequencies that a transform of ``n`` points, ``d`` apart, tells apart, in the order of its results."""
    @_operator
    @staticmethod
    def out(n: int, d: float = 1.0, *, out: Tensor) -> Tensor:
        """The frequencies that a transform of ``n`` points, ``d`` apart, tells apart, in the order of its results."""

class _packet_fft_rfftn(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``s`` points along ``dim``, all or the last dimensions by default."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        s: int | Sequence[int] | None = None,
        dim: int | Sequence[int] | None = None,
        norm: str | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The half that says all of the transform of real numbers of ``s`` points along ``dim``, all or the last dimensions by default."""

class _packet_fill(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, value: _Tensor) -> _Tensor:
        """A tensor in the form of ``self``, every element being that of a zero-dim tensor."""
    @overload
    def __call__(cls, self: _Tensor, value: _Scalar) -> _Tensor:
        """A tensor in the form of ``self`` with every element the same."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, value: _Scalar) -> _Tensor:
        """A tensor in the form of ``self`` with every element the same."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, value: _Tensor) -> _Tensor:
        """A tensor in the form of ``self``, every element being that of a zero-dim tensor."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, value: _Scalar, *, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, value: _Tensor, *, out: _Tensor) -> _Tensor: ...

class _packet_fill_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, value: _Tensor) -> _Tensor:
        """Writes the element of a zero-dim tensor into every element."""
    @overload
    def __call__(cls, self: _Tensor, value: _Scalar) -> _Tensor:
        """Writes a number into every element."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, value: _Scalar) -> _Tensor:
        """Writes a number into every element."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, value: _Tensor) -> _Tensor:
        """Writes the element of a zero-dim tensor into every element."""

class _packet_fill_diagonal_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, fill_value: Scalar, wrap: bool = False) -> Tensor:
        """Fills the diagonal of a matrix, or of a cube; of a tall matrix also those below, if they wrap."""
    @_operator
    @staticmethod
    def default(self: Tensor, fill_value: Scalar, wrap: bool = False) -> Tensor:
        """Fills the diagonal of a matrix, or of a cube; of a tall matrix also those below, if they wrap."""

class _packet_fix(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""

class _packet_fix_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""

class _packet_flatten(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The dimensions from one to another as one."""
    @_operator
    @staticmethod
    def using_ints(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        """The dimensions from one to another as one."""

class _packet_flatten_dense_tensors(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor]) -> Tensor:
        """The elements of several tensors in one vector."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The elements of several tensors in one vector."""

class _packet_flip(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dims: Sequence[int]) -> Tensor:
        """Some dimensions the other way round."""
    @_operator
    @staticmethod
    def default(self: Tensor, dims: Sequence[int]) -> Tensor:
        """Some dimensions the other way round."""
    @_operator
    @staticmethod
    def out(self: Tensor, dims: Sequence[int], *, out: Tensor) -> Tensor:
        """Some dimensions the other way round."""

class _packet_fliplr(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The columns of a matrix from right to left."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The columns of a matrix from right to left."""

class _packet_flipud(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The rows of a matrix from the last to the first."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The rows of a matrix from the last to the first."""

class _packet_float_power(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self ** exponent`` in double precision."""
    @overload
    def __call__(cls, self: _Scalar, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self ** exponent`` in double precision, for a number as base."""
    @overload
    def __call__(cls, self: Tensor, exponent: _Scalar, *, out: Tensor | None = None) -> Tensor:
        """``self ** exponent`` in double precision, for a number."""
    @_operator
    @staticmethod
    def Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
        """``self ** exponent`` in double precision."""
    @_operator
    @staticmethod
    def Tensor_Tensor_out(self: Tensor, exponent: Tensor, *, out: Tensor) -> Tensor:
        """``self ** exponent`` in double precision."""
    @_operator
    @staticmethod
    def Tensor_Scalar(self: Tensor, exponent: _Scalar) -> Tensor:
        """``self ** exponent`` in double precision, for a number."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(self: Tensor, exponent: _Scalar, *, out: Tensor) -> Tensor:
        """``self ** exponent`` in double precision, for a number."""
    @_operator
    @staticmethod
    def Scalar(self: _Scalar, exponent: Tensor) -> Tensor:
        """``self ** exponent`` in double precision, for a number as base."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Scalar, exponent: Tensor, *, out: Tensor) -> Tensor:
        """``self ** exponent`` in double precision, for a number as base."""

class _packet_float_power_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, exponent: _Tensor) -> _Tensor:
        """``float_power`` in place, of a double tensor."""
    @overload
    def __call__(cls, self: _Tensor, exponent: _Scalar) -> _Tensor:
        """``float_power`` of a number in place, of a double tensor."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, exponent: _Tensor) -> _Tensor:
        """``float_power`` in place, of a double tensor."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, exponent: _Scalar) -> _Tensor:
        """``float_power`` of a number in place, of a double tensor."""

class _packet_floor(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The largest integer that is not above each element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The largest integer that is not above each element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The largest integer that is not above each element."""

class _packet_floor_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The largest integer that is not above each element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The largest integer that is not above each element."""

class _packet_floor_divide(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor | _Scalar, other: Tensor | _Scalar, *, out: Tensor | None = None) -> Tensor:
        """``self / other``, rounded down."""
    @_operator
    @staticmethod
    def default(self: Tensor | _Scalar, other: Tensor | _Scalar) -> Tensor:
        """``self / other``, rounded down."""
    @_operator
    @staticmethod
    def out(self: Tensor | _Scalar, other: Tensor | _Scalar, *, out: Tensor | _Scalar) -> Tensor:
        """``self / other``, rounded down."""
    @_operator
    @staticmethod
    def Scalar(self: Tensor, other: _Scalar) -> Tensor:
        """``self / other`` for a number, rounded down; a Python call reaches ``floor_divide`` instead."""
    @_operator
    @staticmethod
    def Scalar_out(self: Tensor, other: _Scalar, *, out: Tensor) -> Tensor: ...

class _packet_floor_divide_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """``self / other``, rounded down."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """``self / other``, rounded down."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self / other`` for a number, rounded down; a Python call reaches ``floor_divide`` instead."""

class _packet_fmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements; beside NaN the other one."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The larger of two elements; beside NaN the other one."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The larger of two elements; beside NaN the other one."""

class _packet_fmin(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements; beside NaN the other one."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The smaller of two elements; beside NaN the other one."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The smaller of two elements; beside NaN the other one."""

class _packet_fmod(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """What dividing by a number towards zero leaves."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """What dividing by a number towards zero leaves."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """What dividing by a number towards zero leaves."""

class _packet_fmod_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """What dividing by a number towards zero leaves."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """What dividing by a number towards zero leaves."""

class _packet_frac(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The fraction of every element, with its sign."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The fraction of every element, with its sign."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The fraction of every element, with its sign."""

class _packet_frac_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The fraction of every element, with its sign."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The fraction of every element, with its sign."""

class _packet_frexp(Operator[..., _results_frexp], Protocol):
    def __call__(cls, self: _Tensor, *, out: tuple[_Tensor, _Tensor] | list[_Tensor] | None = None) -> _results_frexp:
        """Mantissas from 1/2 to 1 and exponents of which ``self`` is ``mantissa * 2**exponent``."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor) -> _results_frexp:
        """Mantissas from 1/2 to 1 and exponents of which ``self`` is ``mantissa * 2**exponent``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, *, mantissa: _Tensor, exponent: _Tensor) -> _results_frexp:
        """Mantissas from 1/2 to 1 and exponents of which ``self`` is ``mantissa * 2**exponent``."""

class _packet_frobenius_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The root of the sum of squares along dimensions."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
        """The root of the sum of squares along dimensions."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The root of the sum of squares along dimensions."""

class _packet_full(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        size: Sequence[int],
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """A tensor with every element the same."""
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor with every element the same."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], fill_value: Scalar, *, out: Tensor) -> Tensor:
        """Gives ``out`` the size and sets every element."""

class _packet_full_like(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor in the form of another with every element the same."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A tensor in the form of another with every element the same."""
    @_operator
    @staticmethod
    def out(self: Tensor, fill_value: Scalar, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...

class _packet_gather(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None
    ) -> Tensor:
        """For each element of ``index`` the element of ``self`` at that position of a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
        """For each element of ``index`` the element of ``self`` at that position of a dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor) -> Tensor:
        """For each element of ``index`` the element of ``self`` at that position of a dimension."""

class _packet_gather_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
        """The gradient of ``gather``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, self: Tensor, dim: int, index: Tensor, sparse_grad: bool) -> Tensor:
        """The gradient of ``gather``."""

class _packet_gcd(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The greatest common divisor."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The greatest common divisor."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The greatest common divisor."""

class _packet_gcd_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The greatest common divisor."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The greatest common divisor."""

class _packet_ge(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is at least ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is at least a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is at least ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is at least ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is at least a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is at least a number."""

class _packet_ge_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is at least ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is at least a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is at least ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is at least a number."""

class _packet_gelu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, approximate: str = "none", out: Tensor | None = None) -> Tensor:
        """``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, approximate: str = "none") -> Tensor:
        """``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, approximate: str = "none", out: Tensor) -> Tensor:
        """``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that."""

class _packet_gelu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, approximate: str = "none") -> Tensor:
        """``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, approximate: str = "none") -> Tensor:
        """``self`` times the probability that a normal variable is less; ``"tanh"`` approximates that."""

class _packet_gelu_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, *, approximate: str = "none", out: Tensor | None = None
    ) -> Tensor:
        """The gradient of ``gelu``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, *, approximate: str = "none") -> Tensor:
        """The gradient of ``gelu``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, *, approximate: str = "none", grad_input: Tensor) -> Tensor:
        """The gradient of ``gelu``."""

class _packet_geometric(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, p: float, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, p: float, *, generator: Generator | None = None, out: Tensor) -> Tensor: ...

class _packet_geometric_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers of trials up to the first that succeeds with the probability ``p``."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers of trials up to the first that succeeds with the probability ``p``."""

class _packet_ger(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``outer``: The products of each element of one vector with each of another."""
    @_operator
    @staticmethod
    def default(self: Tensor, vec2: Tensor) -> Tensor:
        """Another name of ``outer``: The products of each element of one vector with each of another."""
    @_operator
    @staticmethod
    def out(self: Tensor, vec2: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``outer``: The products of each element of one vector with each of another."""

class _packet_get_device(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """The number of the device; -1 for the CPU."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """The number of the device; -1 for the CPU."""

class _packet_glu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int = -1, *, out: Tensor | None = None) -> Tensor:
        """The first half of a dimension times the sigmoid of the second (Dauphin et al., 2017)."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int = -1) -> Tensor:
        """The first half of a dimension times the sigmoid of the second (Dauphin et al., 2017)."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int = -1, *, out: Tensor) -> Tensor:
        """The first half of a dimension times the sigmoid of the second (Dauphin et al., 2017)."""

class _packet_glu_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
        """The gradient of ``glu``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
        """The gradient of ``glu``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, dim: int, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``glu``."""

class _packet_glu_backward_jvp(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
        """How ``glu_backward`` changes with its arguments."""
    @_operator
    @staticmethod
    def default(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
        """How ``glu_backward`` changes with its arguments."""
    @_operator
    @staticmethod
    def out(
        grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int, *, out: Tensor
    ) -> Tensor: ...

class _packet_glu_jvp(Operator[..., Tensor], Protocol):
    def __call__(cls, glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
        """How ``glu`` changes with its argument."""
    @_operator
    @staticmethod
    def default(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
        """How ``glu`` changes with its argument."""
    @_operator
    @staticmethod
    def out(glu: Tensor, x: Tensor, dx: Tensor, dim: int, *, out: Tensor) -> Tensor: ...

class _packet_greater(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``gt``: Where ``self`` is greater than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``gt_number``: Where ``self`` is greater than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``gt``: Where ``self`` is greater than ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Another name of ``gt``: Where ``self`` is greater than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``gt_number``: Where ``self`` is greater than a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Another name of ``gt_number``: Where ``self`` is greater than a number."""

class _packet_greater_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``gt``: Where ``self`` is greater than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``gt_number``: Where ``self`` is greater than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``gt``: Where ``self`` is greater than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``gt_number``: Where ``self`` is greater than a number."""

class _packet_greater_equal(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``ge``: Where ``self`` is at least ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``ge_number``: Where ``self`` is at least a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``ge``: Where ``self`` is at least ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Another name of ``ge``: Where ``self`` is at least ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``ge_number``: Where ``self`` is at least a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Another name of ``ge_number``: Where ``self`` is at least a number."""

class _packet_greater_equal_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``ge``: Where ``self`` is at least ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``ge_number``: Where ``self`` is at least a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``ge``: Where ``self`` is at least ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``ge_number``: Where ``self`` is at least a number."""

class _packet_grid_sampler(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor:
        """Images or volumes at points from -1 to 1, whose last coordinate is that of the first dimension.

        Args:
            input: (batch, channels, height, width), or with a depth before the height.
            grid: (batch, ..., 2 or 3), of the same dtype.
            interpolation_mode: 0 between elements, 1 the nearest, 2 by cubic convolution, of images.
            padding_mode: what lies outside: 0 for zeros, 1 for the elements at the border, 2 for their reflection.
            align_corners: whether -1 and 1 are the centres of the elements at the corners, rather than their outer edges.
        """
    @_operator
    @staticmethod
    def default(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        """Images or volumes at points from -1 to 1, whose last coordinate is that of the first dimension.

        Args:
            input: (batch, channels, height, width), or with a depth before the height.
            grid: (batch, ..., 2 or 3), of the same dtype.
            interpolation_mode: 0 between elements, 1 the nearest, 2 by cubic convolution, of images.
            padding_mode: what lies outside: 0 for zeros, 1 for the elements at the border, 2 for their reflection.
            align_corners: whether -1 and 1 are the centres of the elements at the corners, rather than their outer edges.
        """

class _packet_grid_sampler_2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor:
        """Images (batch, channels, height, width) at points (x, y) from -1 to 1."""
    @_operator
    @staticmethod
    def default(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        """Images (batch, channels, height, width) at points (x, y) from -1 to 1."""
    @_operator
    @staticmethod
    def out(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, *, out: Tensor
    ) -> Tensor: ...

class _packet_grid_sampler_3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
    ) -> Tensor:
        """Volumes (batch, channels, depth, height, width) at points (x, y, z) from -1 to 1."""
    @_operator
    @staticmethod
    def default(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
        """Volumes (batch, channels, depth, height, width) at points (x, y, z) from -1 to 1."""
    @_operator
    @staticmethod
    def out(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, *, out: Tensor
    ) -> Tensor: ...

class _packet_group_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        num_groups: int,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-05,
        cudnn_enabled: bool = True,
    ) -> Tensor:
        """Each group of channels brought to mean 0 and variance 1, times ``weight`` plus ``bias``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        num_groups: int,
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-05,
        cudnn_enabled: bool = True,
    ) -> Tensor:
        """Each group of channels brought to mean 0 and variance 1, times ``weight`` plus ``bias``."""

class _packet_gru(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Layers of gated recurrent units over sequences: what they give, and their last states."""
    @_operator
    @staticmethod
    def input(
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Layers of gated recurrent units over sequences: what they give, and their last states."""

class _packet_gru_cell(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        """The next state of a gated recurrent unit (Cho et al. 2014)."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        """The next state of a gated recurrent unit (Cho et al. 2014)."""

class _packet_gt(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is greater than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is greater than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is greater than ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is greater than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is greater than a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is greater than a number."""

class _packet_gt_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is greater than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is greater than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is greater than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is greater than a number."""

class _packet_hamming_window(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        alpha: float,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A window of one cosine about another mean."""
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        alpha: float,
        beta: float,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A window of one cosine about another mean, and of another height."""
    @_operator
    @staticmethod
    def default(
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic(
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_alpha(
        window_length: int,
        periodic: bool,
        alpha: float,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A window of one cosine about another mean."""
    @_operator
    @staticmethod
    def periodic_alpha_beta(
        window_length: int,
        periodic: bool,
        alpha: float,
        beta: float,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A window of one cosine about another mean, and of another height."""
    @_operator
    @staticmethod
    def out(window_length: int, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_out(window_length: int, periodic: bool, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_alpha_out(window_length: int, periodic: bool, alpha: float, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_alpha_beta_out(
        window_length: int, periodic: bool, alpha: float, beta: float, *, out: Tensor
    ) -> Tensor: ...

class _packet_hann_window(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic(
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(window_length: int, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_out(window_length: int, periodic: bool, *, out: Tensor) -> Tensor: ...

class _packet_hardshrink(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, lambd: Scalar = 0.5, *, out: Tensor | None = None) -> Tensor:
        """0 where the magnitude is at most ``lambd``."""
    @_operator
    @staticmethod
    def default(self: Tensor, lambd: Scalar = 0.5) -> Tensor:
        """0 where the magnitude is at most ``lambd``."""
    @_operator
    @staticmethod
    def out(self: Tensor, lambd: Scalar = 0.5, *, out: Tensor) -> Tensor:
        """0 where the magnitude is at most ``lambd``."""

class _packet_hardshrink_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_out: Tensor, self: Tensor, lambd: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``grad_out`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    @_operator
    @staticmethod
    def default(grad_out: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
        """``grad_out`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    @_operator
    @staticmethod
    def grad_input(grad_out: Tensor, self: Tensor, lambd: Scalar, *, grad_input: Tensor) -> Tensor:
        """``grad_out`` where the magnitude is larger than ``lambd``, 0 elsewhere."""

class _packet_hardsigmoid(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self / 6 + 1 / 2`` between 0 and 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self / 6 + 1 / 2`` between 0 and 1."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``self / 6 + 1 / 2`` between 0 and 1."""

class _packet_hardsigmoid_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self / 6 + 1 / 2`` between 0 and 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self / 6 + 1 / 2`` between 0 and 1."""

class _packet_hardsigmoid_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The gradient of ``hardsigmoid``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``hardsigmoid``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``hardsigmoid``."""

class _packet_hardswish(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self * hardsigmoid(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self * hardsigmoid(self)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``self * hardsigmoid(self)``"""

class _packet_hardswish_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self * hardsigmoid(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self * hardsigmoid(self)``"""

class _packet_hardswish_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``hardswish``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``hardswish``."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, self: Tensor, *, out: Tensor) -> Tensor:
        """The gradient of ``hardswish``."""

class _packet_hardtanh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1, *, out: Tensor | None = None) -> Tensor:
        """``self`` between two bounds."""
    @_operator
    @staticmethod
    def default(self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Tensor:
        """``self`` between two bounds."""
    @_operator
    @staticmethod
    def out(self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1, *, out: Tensor) -> Tensor:
        """``self`` between two bounds."""

class _packet_hardtanh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Tensor:
        """``self`` between two bounds."""
    @_operator
    @staticmethod
    def default(self: Tensor, min_val: Scalar = -1, max_val: Scalar = 1) -> Tensor:
        """``self`` between two bounds."""

class _packet_hardtanh_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar, *, out: Tensor | None = None
    ) -> Tensor:
        """``grad_output`` where ``self`` is between two bounds, 0 elsewhere."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar) -> Tensor:
        """``grad_output`` where ``self`` is between two bounds, 0 elsewhere."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor, self: Tensor, min_val: Scalar, max_val: Scalar, *, grad_input: Tensor
    ) -> Tensor:
        """``grad_output`` where ``self`` is between two bounds, 0 elsewhere."""

class _packet_heaviside(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, values: Tensor) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, values: Tensor, *, out: Tensor) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""

class _packet_heaviside_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, values: Tensor) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, values: Tensor) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""

class _packet_hinge_embedding_loss(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = Reduction.Mean) -> Tensor:
        """``self`` where ``target`` is 1, ``max(0, margin - self)`` where it is -1."""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = Reduction.Mean) -> Tensor:
        """``self`` where ``target`` is 1, ``max(0, margin - self)`` where it is -1."""

class _packet_histc(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0, *, out: Tensor | None = None
    ) -> Tensor:
        """How many elements lie in each of so many bins between ``min`` and ``max``, of the elements' dtype.

        Args:
            self: floating-point numbers, of any shape; what lies outside is not counted.
            bins: how many, all of one width.
            min, max: the outer edges; the smallest and the largest element if they are equal.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0) -> Tensor:
        """How many elements lie in each of so many bins between ``min`` and ``max``, of the elements' dtype.

        Args:
            self: floating-point numbers, of any shape; what lies outside is not counted.
            bins: how many, all of one width.
            min, max: the outer edges; the smallest and the largest element if they are equal.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, bins: int = 100, min: Scalar = 0, max: Scalar = 0, *, out: Tensor) -> Tensor:
        """How many elements lie in each of so many bins between ``min`` and ``max``, of the elements' dtype.

        Args:
            self: floating-point numbers, of any shape; what lies outside is not counted.
            bins: how many, all of one width.
            min, max: the outer edges; the smallest and the largest element if they are equal.
        """

class _packet_histogram(Operator[..., _results_histogram], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        bins: Tensor,
        *,
        weight: Tensor | None = None,
        density: bool = False,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_histogram:
        """How many elements lie between neighbouring edges, or the sum of their weights.

        Args:
            self: float32 or float64, of any shape; what lies outside of all edges is not counted.
            bins: the edges in ascending order, of the same dtype.
            weight: one for each element, of the same dtype.
            density: whether the counts are divided by their sum and the lengths, so that the whole area is 1.
        """
    @overload
    def __call__(
        cls,
        self: Tensor,
        bins: int = 100,
        *,
        range: Sequence[float] | None = None,
        weight: Tensor | None = None,
        density: bool = False,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_histogram:
        """``histogram`` of so many bins of one width, from the smallest to the largest element or over ``range``."""
    @_operator
    @staticmethod
    def bins_tensor(
        self: Tensor, bins: Tensor, *, weight: Tensor | None = None, density: bool = False
    ) -> _results_histogram:
        """How many elements lie between neighbouring edges, or the sum of their weights.

        Args:
            self: float32 or float64, of any shape; what lies outside of all edges is not counted.
            bins: the edges in ascending order, of the same dtype.
            weight: one for each element, of the same dtype.
            density: whether the counts are divided by their sum and the lengths, so that the whole area is 1.
        """
    @_operator
    @staticmethod
    def bins_tensor_out(
        self: Tensor,
        bins: Tensor,
        *,
        weight: Tensor | None = None,
        density: bool = False,
        hist: Tensor,
        bin_edges: Tensor,
    ) -> _results_histogram:
        """How many elements lie between neighbouring edges, or the sum of their weights.

        Args:
            self: float32 or float64, of any shape; what lies outside of all edges is not counted.
            bins: the edges in ascending order, of the same dtype.
            weight: one for each element, of the same dtype.
            density: whether the counts are divided by their sum and the lengths, so that the whole area is 1.
        """
    @_operator
    @staticmethod
    def bin_ct(
        self: Tensor,
        bins: int = 100,
        *,
        range: Sequence[float] | None = None,
        weight: Tensor | None = None,
        density: bool = False,
    ) -> _results_histogram:
        """``histogram`` of so many bins of one width, from the smallest to the largest element or over ``range``."""
    @_operator
    @staticmethod
    def bin_ct_out(
        self: Tensor,
        bins: int = 100,
        *,
        range: Sequence[float] | None = None,
        weight: Tensor | None = None,
        density: bool = False,
        hist: Tensor,
        bin_edges: Tensor,
    ) -> _results_histogram:
        """``histogram`` of so many bins of one width, from the smallest to the largest element or over ``range``."""

class _packet_hsplit(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor, sections: _int) -> list[Tensor]:
        """Parts of one size, side by side."""
    @overload
    def __call__(cls, self: Tensor, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, side by side."""
    @_operator
    @staticmethod
    def int(self: Tensor, sections: _int) -> list[Tensor]:
        """Parts of one size, side by side."""
    @_operator
    @staticmethod
    def array(self: Tensor, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, side by side."""

class _packet_hstack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """The tensors side by side."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The tensors side by side."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """The tensors side by side."""

class _packet_huber_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        reduction: int = Reduction.Mean,
        delta: float = 1.0,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Half the square of a difference below ``delta``; beyond it ``delta`` times the difference less half of it."""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, delta: float = 1.0) -> Tensor:
        """Half the square of a difference below ``delta``; beyond it ``delta`` times the difference less half of it."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, target: Tensor, reduction: int = Reduction.Mean, delta: float = 1.0, *, out: Tensor
    ) -> Tensor:
        """Half the square of a difference below ``delta``; beyond it ``delta`` times the difference less half of it."""

class _packet_huber_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        reduction: int,
        delta: float,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``huber_loss``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor:
        """The gradient of ``huber_loss``."""
    @_operator
    @staticmethod
    def out(
        grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, delta: float, *, grad_input: Tensor
    ) -> Tensor:
        """The gradient of ``huber_loss``."""

class _packet_hypot(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""

class _packet_hypot_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""

class _packet_i0(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""

class _packet_i0_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""

class _packet_igamma(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""

class _packet_igamma_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""

class _packet_igammac(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""

class _packet_igammac_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""

class _packet_im2col(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """What windows show of images, a column each: (batch, channels * elements, windows)."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
    ) -> Tensor:
        """What windows show of images, a column each: (batch, channels * elements, windows)."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int],
        padding: int | Sequence[int],
        stride: int | Sequence[int],
        *,
        out: Tensor,
    ) -> Tensor:
        """What windows show of images, a column each: (batch, channels * elements, windows)."""

class _packet_imag(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The imaginary parts of complex numbers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The imaginary parts of complex numbers."""

class _packet_index(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, indices: Sequence[_Tensor | None], *, out: _Tensor | None = None) -> _Tensor:
        """The elements where index tensors lead, one for each dimension; None leaves a dimension whole."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, indices: Sequence[_Tensor | None]) -> _Tensor:
        """The elements where index tensors lead, one for each dimension; None leaves a dimension whole."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, indices: Sequence[_Tensor | None], *, out: _Tensor) -> _Tensor:
        """The elements where index tensors lead, one for each dimension; None leaves a dimension whole."""

class _packet_index_add(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1, out: Tensor | None = None
    ) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1, out: Tensor) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""

class _packet_index_add_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""

class _packet_index_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""

class _packet_index_copy_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""

class _packet_index_fill(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
        """``self`` with a zero-dim tensor written at the positions of a dimension that ``index`` tells."""
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def int_Scalar(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def int_Tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
        """``self`` with a zero-dim tensor written at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def int_Scalar_out(self: Tensor, dim: int, index: Tensor, value: Scalar, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def int_Tensor_out(self: Tensor, dim: int, index: Tensor, value: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_index_fill_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
        """Writes a zero-dim tensor at the positions of a dimension that ``index`` tells."""
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """Writes a number at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def int_Scalar(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """Writes a number at the positions of a dimension that ``index`` tells."""
    @_operator
    @staticmethod
    def int_Tensor(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor:
        """Writes a zero-dim tensor at the positions of a dimension that ``index`` tells."""

class _packet_index_put(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
    ) -> Tensor:
        """``self`` with values written, or added, where index tensors lead."""
    @_operator
    @staticmethod
    def default(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
        """``self`` with values written, or added, where index tensors lead."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False, *, out: Tensor
    ) -> Tensor: ...

class _packet_index_put_(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
    ) -> Tensor:
        """Writes, or adds, values where index tensors lead."""
    @_operator
    @staticmethod
    def default(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
        """Writes, or adds, values where index tensors lead."""

class _packet_index_select(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The positions of a dimension that ``index`` tells, one after another."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor) -> Tensor:
        """The positions of a dimension that ``index`` tells, one after another."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, index: Tensor, *, out: Tensor) -> Tensor:
        """The positions of a dimension that ``index`` tells, one after another."""

class _packet_index_select_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, self_sizes: Sequence[int], dim: int, index: Tensor) -> Tensor:
        """The gradient of ``index_select``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, self_sizes: Sequence[int], dim: int, index: Tensor) -> Tensor:
        """The gradient of ``index_select``."""

class _packet_infinitely_differentiable_gelu_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``gelu``, made of operators that have gradients of every order."""
    @_operator
    @staticmethod
    def default(grad: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``gelu``, made of operators that have gradients of every order."""

class _packet_inner(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The scalar products of all vectors along the last dimensions; of a zero-dim tensor plain products."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The scalar products of all vectors along the last dimensions; of a zero-dim tensor plain products."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``inner`` into a given tensor."""

class _packet_instance_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        use_input_stats: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> Tensor:
        """``batch_norm`` of each sample by itself; running statistics become the means of what samples gave."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        use_input_stats: bool,
        momentum: float,
        eps: float,
        cudnn_enabled: bool,
    ) -> Tensor:
        """``batch_norm`` of each sample by itself; running statistics become the means of what samples gave."""

class _packet_inverse(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``linalg.inv``."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``linalg.inv``."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``linalg.inv``."""

class _packet_is_complex(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether the elements are complex numbers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the elements are complex numbers."""

class _packet_is_conj(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Always False: no conjugation is ever put off."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Always False: no conjugation is ever put off."""

class _packet_is_contiguous(Operator[..., bool], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> bool:
        """Whether the elements lie in memory row by row, without gaps."""
    @overload
    def __call__(cls, self: Tensor, memory_format: MemoryFormat) -> bool:
        """Whether the elements lie in memory without gaps, in the order of a format."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the elements lie in memory row by row, without gaps."""
    @_operator
    @staticmethod
    def memory_format(self: Tensor, memory_format: MemoryFormat) -> bool:
        """Whether the elements lie in memory without gaps, in the order of a format."""

class _packet_is_distributed(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """False: no tensor of this kind lies on several machines."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """False: no tensor of this kind lies on several machines."""

class _packet_is_floating_point(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether the elements are real floating-point numbers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the elements are real floating-point numbers."""

class _packet_is_inference(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether the tensor was made in inference mode."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the tensor was made in inference mode."""

class _packet_is_leaf(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether no recorded call has made the tensor."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether no recorded call has made the tensor."""

class _packet_is_neg(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Always False: no negation is ever put off."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Always False: no negation is ever put off."""

class _packet_is_nonzero(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether the one element of a tensor is not zero."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the one element of a tensor is not zero."""

class _packet_is_pinned(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor, device: Device | str | int | None = None) -> bool:
        """Whether the tensor lies in page-locked memory of the host, which devices read and write on their own."""
    @_operator
    @staticmethod
    def default(self: Tensor, device: Device | str | int | None = None) -> bool:
        """Whether the tensor lies in page-locked memory of the host, which devices read and write on their own."""

class _packet_is_same_size(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> bool:
        """Whether two tensors have one shape."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> bool:
        """Whether two tensors have one shape."""

class _packet_is_signed(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether the elements may be negative."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the elements may be negative."""

class _packet_is_vulkan_available(Operator[..., bool], Protocol):
    def __call__(cls) -> bool:
        """False: no kernel of this backend is there."""
    @_operator
    @staticmethod
    def default() -> bool:
        """False: no kernel of this backend is there."""

class _packet_isclose(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Tensor:
        """Whether ``abs(self - other) <= atol + rtol * abs(other)``; infinities are close to equal ones alone."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
    ) -> Tensor:
        """Whether ``abs(self - other) <= atol + rtol * abs(other)``; infinities are close to equal ones alone."""

class _packet_isfinite(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Where an element is neither infinite nor NaN; of a complex number, both of its parts."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is neither infinite nor NaN; of a complex number, both of its parts."""

class _packet_isin(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        elements: Tensor,
        test_elements: Tensor,
        *,
        assume_unique: bool = False,
        invert: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Which elements are among others; those that are not if ``invert``. NaN is among none."""
    @overload
    def __call__(
        cls,
        element: Scalar,
        test_elements: Tensor,
        *,
        assume_unique: bool = False,
        invert: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Whether a number is among others."""
    @overload
    def __call__(
        cls,
        elements: Tensor,
        test_element: Scalar,
        *,
        assume_unique: bool = False,
        invert: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Which elements equal a number; those that do not if ``invert``."""
    @_operator
    @staticmethod
    def Tensor_Tensor(
        elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
    ) -> Tensor:
        """Which elements are among others; those that are not if ``invert``. NaN is among none."""
    @_operator
    @staticmethod
    def Tensor_Tensor_out(
        elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False, out: Tensor
    ) -> Tensor:
        """Which elements are among others; those that are not if ``invert``. NaN is among none."""
    @_operator
    @staticmethod
    def Tensor_Scalar(
        elements: Tensor, test_element: Scalar, *, assume_unique: bool = False, invert: bool = False
    ) -> Tensor:
        """Which elements equal a number; those that do not if ``invert``."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(
        elements: Tensor, test_element: Scalar, *, assume_unique: bool = False, invert: bool = False, out: Tensor
    ) -> Tensor:
        """Which elements equal a number; those that do not if ``invert``."""
    @_operator
    @staticmethod
    def Scalar_Tensor(
        element: Scalar, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False
    ) -> Tensor:
        """Whether a number is among others."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(
        element: Scalar, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False, out: Tensor
    ) -> Tensor:
        """Whether a number is among others."""

class _packet_isinf(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Where an element is infinite; of a complex number, one of its parts."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is infinite; of a complex number, one of its parts."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Where an element is infinite; of a complex number, one of its parts."""

class _packet_isnan(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Where an element is NaN; of a complex number, one of its parts."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is NaN; of a complex number, one of its parts."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Where an element is NaN; of a complex number, one of its parts."""

class _packet_isneginf(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Where an element is negative infinity."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is negative infinity."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Where an element is negative infinity."""

class _packet_isposinf(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Where an element is positive infinity."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is positive infinity."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Where an element is positive infinity."""

class _packet_isreal(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Where the imaginary part of an element is 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where the imaginary part of an element is 0."""

class _packet_istft(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        center: bool = True,
        normalized: bool = False,
        onesided: bool | None = None,
        length: int | None = None,
        return_complex: bool = False,
    ) -> Tensor:
        """The signals of which ``stft`` gave the transforms: the windows' sum, divided by that of the squared windows.

        Args:
            self: complex (batch, frequencies, windows) or (frequencies, windows).
            n_fft, hop_length, win_length, window, center, normalized: what ``stft`` was given.
            onesided: whether the frequencies end where the rest follows by symmetry; what their number says by default.
            length: of the signals; what is missing at the end becomes 0.
            return_complex: whether the signals are complex.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other, or the windows leave out a point.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        center: bool = True,
        normalized: bool = False,
        onesided: bool | None = None,
        length: int | None = None,
        return_complex: bool = False,
    ) -> Tensor:
        """The signals of which ``stft`` gave the transforms: the windows' sum, divided by that of the squared windows.

        Args:
            self: complex (batch, frequencies, windows) or (frequencies, windows).
            n_fft, hop_length, win_length, window, center, normalized: what ``stft`` was given.
            onesided: whether the frequencies end where the rest follows by symmetry; what their number says by default.
            length: of the signals; what is missing at the end becomes 0.
            return_complex: whether the signals are complex.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other, or the windows leave out a point.
        """

class _packet_item(Operator[..., Scalar], Protocol):
    def __call__(cls, self: Tensor) -> Scalar:
        """The only element, as a number of Python."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Scalar:
        """The only element, as a number of Python."""

class _packet_kaiser_window(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        window_length: int,
        periodic: bool,
        beta: float,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A Kaiser window that is as narrow as ``beta`` says."""
    @_operator
    @staticmethod
    def default(
        window_length: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic(
        window_length: int,
        periodic: bool,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def beta(
        window_length: int,
        periodic: bool,
        beta: float,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A Kaiser window that is as narrow as ``beta`` says."""
    @_operator
    @staticmethod
    def out(window_length: int, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def periodic_out(window_length: int, periodic: bool, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def beta_out(window_length: int, periodic: bool, beta: float, *, out: Tensor) -> Tensor: ...

class _packet_kl_div(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, log_target: bool = False
    ) -> Tensor:
        """``target * (log(target) - self)``, the divergence of ``exp(self)`` from ``target``; 0 where ``target`` is."""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, log_target: bool = False) -> Tensor:
        """``target * (log(target) - self)``, the divergence of ``exp(self)`` from ``target``; 0 where ``target`` is."""

class _packet_kron(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Kronecker product: each element of one tensor times the whole other one, as blocks."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The Kronecker product: each element of one tensor times the whole other one, as blocks."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The Kronecker product: each element of one tensor times the whole other one, as blocks."""

class _packet_kthvalue(Operator[..., _results_kthvalue], Protocol):
    def __call__(
        cls,
        self: Tensor,
        k: int,
        dim: int = -1,
        keepdim: bool = False,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_kthvalue:
        """The k-th smallest element along a dimension, counted from 1, and its index."""
    @_operator
    @staticmethod
    def default(self: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> _results_kthvalue:
        """The k-th smallest element along a dimension, counted from 1, and its index."""
    @_operator
    @staticmethod
    def values(
        self: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, values: Tensor, indices: Tensor
    ) -> _results_kthvalue:
        """The k-th smallest element along a dimension, counted from 1, and its index."""

class _packet_l1_loss(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
        """``abs(self - target)``"""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
        """``abs(self - target)``"""

class _packet_layer_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-05,
        cudnn_enable: bool = True,
    ) -> Tensor:
        """The last dimensions brought to mean 0 and variance 1, times ``weight`` plus ``bias``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        normalized_shape: Sequence[int],
        weight: Tensor | None = None,
        bias: Tensor | None = None,
        eps: float = 1e-05,
        cudnn_enable: bool = True,
    ) -> Tensor:
        """The last dimensions brought to mean 0 and variance 1, times ``weight`` plus ``bias``."""

class _packet_lcm(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The least common multiple; 0 where an element is 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The least common multiple; 0 where an element is 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The least common multiple; 0 where an element is 0."""

class _packet_lcm_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The least common multiple; 0 where an element is 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The least common multiple; 0 where an element is 0."""

class _packet_ldexp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self * 2**other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self * 2**other``"""
    @_operator
    @staticmethod
    def out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self * 2**other``"""

class _packet_ldexp_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """``ldexp`` in place."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``ldexp`` in place."""

class _packet_le(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is at most ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is at most a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is at most ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is at most ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is at most a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is at most a number."""

class _packet_le_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is at most ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is at most a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is at most ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is at most a number."""

class _packet_leaky_relu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, negative_slope: Scalar = 0.01, *, out: Tensor | None = None) -> Tensor:
        """``self``, times ``negative_slope`` where it is negative."""
    @_operator
    @staticmethod
    def default(self: Tensor, negative_slope: Scalar = 0.01) -> Tensor:
        """``self``, times ``negative_slope`` where it is negative."""
    @_operator
    @staticmethod
    def out(self: Tensor, negative_slope: Scalar = 0.01, *, out: Tensor) -> Tensor:
        """``self``, times ``negative_slope`` where it is negative."""

class _packet_leaky_relu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, negative_slope: Scalar = 0.01) -> Tensor:
        """``self``, times ``negative_slope`` where it is negative."""
    @_operator
    @staticmethod
    def default(self: Tensor, negative_slope: Scalar = 0.01) -> Tensor:
        """``self``, times ``negative_slope`` where it is negative."""

class _packet_leaky_relu_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        negative_slope: Scalar,
        self_is_result: bool,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``grad_output``, times ``negative_slope`` where ``self`` is not positive."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool) -> Tensor:
        """``grad_output``, times ``negative_slope`` where ``self`` is not positive."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor, self: Tensor, negative_slope: Scalar, self_is_result: bool, *, grad_input: Tensor
    ) -> Tensor:
        """``grad_output``, times ``negative_slope`` where ``self`` is not positive."""

class _packet_lerp(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, end: _Tensor, weight: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""
    @overload
    def __call__(cls, self: _Tensor, end: _Tensor, weight: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, end: _Tensor, weight: _Scalar) -> _Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, end: _Tensor, weight: _Scalar, *, out: _Tensor) -> _Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, end: _Tensor, weight: _Tensor) -> _Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, end: _Tensor, weight: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""

class _packet_lerp_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, end: _Tensor, weight: _Tensor) -> _Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""
    @overload
    def __call__(cls, self: _Tensor, end: _Tensor, weight: _Scalar) -> _Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, end: _Tensor, weight: _Scalar) -> _Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, end: _Tensor, weight: _Tensor) -> _Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""

class _packet_less(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``lt``: Where ``self`` is less than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``lt_number``: Where ``self`` is less than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``lt``: Where ``self`` is less than ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Another name of ``lt``: Where ``self`` is less than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``lt_number``: Where ``self`` is less than a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Another name of ``lt_number``: Where ``self`` is less than a number."""

class _packet_less_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``lt``: Where ``self`` is less than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``lt_number``: Where ``self`` is less than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``lt``: Where ``self`` is less than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``lt_number``: Where ``self`` is less than a number."""

class _packet_less_equal(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``le``: Where ``self`` is at most ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``le_number``: Where ``self`` is at most a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``le``: Where ``self`` is at most ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Another name of ``le``: Where ``self`` is at most ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``le_number``: Where ``self`` is at most a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Another name of ``le_number``: Where ``self`` is at most a number."""

class _packet_less_equal_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``le``: Where ``self`` is at most ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``le_number``: Where ``self`` is at most a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``le``: Where ``self`` is at most ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``le_number``: Where ``self`` is at most a number."""

class _packet_lgamma(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the gamma function's magnitude."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm of the gamma function's magnitude."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The logarithm of the gamma function's magnitude."""

class _packet_lgamma_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The logarithm of the gamma function's magnitude."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm of the gamma function's magnitude."""

class _packet_lift(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor itself, which transforms take as one of theirs."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor itself, which transforms take as one of theirs."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_lift_fresh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor itself: where a transform follows new tensors, it begins to follow this one here."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor itself: where a transform follows new tensors, it begins to follow this one here."""

class _packet_lift_fresh_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_linalg__powsum(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        ord: Scalar = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The sum of the magnitudes' ``ord``-th powers."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        ord: Scalar = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The sum of the magnitudes' ``ord``-th powers."""

class _packet_linalg_cholesky(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
        """The lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, *, upper: bool = False) -> Tensor:
        """The lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, *, upper: bool = False, out: Tensor) -> Tensor:
        """The lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """

class _packet_linalg_cholesky_ex(Operator[..., _results_linalg_cholesky_ex], Protocol):
    def __call__(
        cls,
        self: Tensor,
        *,
        upper: bool = False,
        check_errors: bool = False,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_linalg_cholesky_ex:
        """The lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH``.

        Args:
            self: (..., n, n) Hermitian, of which one triangle is read.
            upper: whether it is the upper one, and the factor too.
            check_errors: whether a matrix that is not positive definite is an error.

        Returns:
            The factors, and int32 (...), see ``CheckedFactor``.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> _results_linalg_cholesky_ex:
        """The lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH``.

        Args:
            self: (..., n, n) Hermitian, of which one triangle is read.
            upper: whether it is the upper one, and the factor too.
            check_errors: whether a matrix that is not positive definite is an error.

        Returns:
            The factors, and int32 (...), see ``CheckedFactor``.
        """
    @_operator
    @staticmethod
    def L(
        self: Tensor, *, upper: bool = False, check_errors: bool = False, L: Tensor, info: Tensor
    ) -> _results_linalg_cholesky_ex:
        """The lower triangular ``L`` with ``L @ L.mH == self``, or ``L.mH``.

        Args:
            self: (..., n, n) Hermitian, of which one triangle is read.
            upper: whether it is the upper one, and the factor too.
            check_errors: whether a matrix that is not positive definite is an error.

        Returns:
            The factors, and int32 (...), see ``CheckedFactor``.
        """

class _packet_linalg_cond(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, p: Scalar | None = None, *, out: Tensor | None = None) -> Tensor:
        """The condition numbers of matrices: a norm times that of the inverse, for 2 the quotient of singular values."""
    @overload
    def __call__(cls, self: Tensor, p: str, *, out: Tensor | None = None) -> Tensor:
        """The condition numbers of matrices by the norm "fro" or "nuc"."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: Scalar | None = None) -> Tensor:
        """The condition numbers of matrices: a norm times that of the inverse, for 2 the quotient of singular values."""
    @_operator
    @staticmethod
    def out(self: Tensor, p: Scalar | None = None, *, out: Tensor) -> Tensor:
        """The condition numbers of matrices: a norm times that of the inverse, for 2 the quotient of singular values."""
    @_operator
    @staticmethod
    def p_str(self: Tensor, p: str) -> Tensor:
        """The condition numbers of matrices by the norm "fro" or "nuc"."""
    @_operator
    @staticmethod
    def p_str_out(self: Tensor, p: str, *, out: Tensor) -> Tensor:
        """The condition numbers of matrices by the norm "fro" or "nuc"."""

class _packet_linalg_cross(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
        """The cross products of vectors of three elements along a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
        """The cross products of vectors of three elements along a dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, dim: int = -1, out: Tensor) -> Tensor:
        """The cross products of vectors of three elements along a dimension."""

class _packet_linalg_det(Operator[..., Tensor], Protocol):
    def __call__(cls, A: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The determinants of matrices, (..., n, n)."""
    @_operator
    @staticmethod
    def default(A: Tensor) -> Tensor:
        """The determinants of matrices, (..., n, n)."""
    @_operator
    @staticmethod
    def out(A: Tensor, *, out: Tensor) -> Tensor:
        """The determinants of matrices, (..., n, n)."""

class _packet_linalg_diagonal(Operator[..., Tensor], Protocol):
    def __call__(cls, A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
        """A view of diagonals, those of matrices by default."""
    @_operator
    @staticmethod
    def default(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
        """A view of diagonals, those of matrices by default."""

class _packet_linalg_eigh(Operator[..., _results_linalg_eigh], Protocol):
    def __call__(
        cls, self: Tensor, UPLO: str = "L", *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_linalg_eigh:
        """The eigenvalues of Hermitian matrices, the smallest first, and their vectors as columns."""
    @_operator
    @staticmethod
    def default(self: Tensor, UPLO: str = "L") -> _results_linalg_eigh:
        """The eigenvalues of Hermitian matrices, the smallest first, and their vectors as columns."""
    @_operator
    @staticmethod
    def eigvals(self: Tensor, UPLO: str = "L", *, eigvals: Tensor, eigvecs: Tensor) -> _results_linalg_eigh:
        """The eigenvalues of Hermitian matrices, the smallest first, and their vectors as columns."""

class _packet_linalg_eigvalsh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
        """The eigenvalues of Hermitian matrices, the smallest first."""
    @_operator
    @staticmethod
    def default(self: Tensor, UPLO: str = "L") -> Tensor:
        """The eigenvalues of Hermitian matrices, the smallest first."""
    @_operator
    @staticmethod
    def out(self: Tensor, UPLO: str = "L", *, out: Tensor) -> Tensor:
        """The eigenvalues of Hermitian matrices, the smallest first."""

class _packet_linalg_inv(Operator[..., Tensor], Protocol):
    def __call__(cls, A: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The inverses of matrices.

        Raises:
            LinearAlgebraError: one is singular.
        """
    @_operator
    @staticmethod
    def default(A: Tensor) -> Tensor:
        """The inverses of matrices.

        Raises:
            LinearAlgebraError: one is singular.
        """
    @_operator
    @staticmethod
    def out(A: Tensor, *, out: Tensor) -> Tensor:
        """The inverses of matrices.

        Raises:
            LinearAlgebraError: one is singular.
        """

class _packet_linalg_inv_ex(Operator[..., _results_linalg_inv_ex], Protocol):
    def __call__(
        cls, A: Tensor, *, check_errors: bool = False, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_linalg_inv_ex:
        """The inverses of matrices, (..., n, n).

        Args:
            A: the matrices.
            check_errors: whether a singular one is an error.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, *, check_errors: bool = False) -> _results_linalg_inv_ex:
        """The inverses of matrices, (..., n, n).

        Args:
            A: the matrices.
            check_errors: whether a singular one is an error.
        """
    @_operator
    @staticmethod
    def inverse(A: Tensor, *, check_errors: bool = False, inverse: Tensor, info: Tensor) -> _results_linalg_inv_ex:
        """The inverses of matrices, (..., n, n).

        Args:
            A: the matrices.
            check_errors: whether a singular one is an error.
        """

class _packet_linalg_lu(Operator[..., _results_linalg_lu], Protocol):
    def __call__(
        cls, A: Tensor, *, pivot: bool = True, out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_linalg_lu:
        """The permutation and the factors of matrices: ``A = P @ L @ U``."""
    @_operator
    @staticmethod
    def default(A: Tensor, *, pivot: bool = True) -> _results_linalg_lu:
        """The permutation and the factors of matrices: ``A = P @ L @ U``."""
    @_operator
    @staticmethod
    def out(A: Tensor, *, pivot: bool = True, P: Tensor, L: Tensor, U: Tensor) -> _results_linalg_lu:
        """The permutation and the factors of matrices: ``A = P @ L @ U``."""

class _packet_linalg_lu_factor(Operator[..., _results_linalg_lu_factor], Protocol):
    def __call__(
        cls, A: Tensor, *, pivot: bool = True, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_linalg_lu_factor:
        """The factors of matrices in one matrix, and the rows that were exchanged.

        Raises:
            LinearAlgebraError: a 0 is in the diagonal of U.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, *, pivot: bool = True) -> _results_linalg_lu_factor:
        """The factors of matrices in one matrix, and the rows that were exchanged.

        Raises:
            LinearAlgebraError: a 0 is in the diagonal of U.
        """
    @_operator
    @staticmethod
    def out(A: Tensor, *, pivot: bool = True, LU: Tensor, pivots: Tensor) -> _results_linalg_lu_factor:
        """The factors of matrices in one matrix, and the rows that were exchanged.

        Raises:
            LinearAlgebraError: a 0 is in the diagonal of U.
        """

class _packet_linalg_lu_factor_ex(Operator[..., _results_linalg_lu_factor_ex], Protocol):
    def __call__(
        cls,
        A: Tensor,
        *,
        pivot: bool = True,
        check_errors: bool = False,
        out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_linalg_lu_factor_ex:
        """The factors of matrices, with rows exchanged so that the largest elements become pivots.

        Args:
            A: (..., m, n).
            pivot: True: there is no factorization without pivots on the CPU.
            check_errors: whether a 0 in the diagonal of U is an error.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> _results_linalg_lu_factor_ex:
        """The factors of matrices, with rows exchanged so that the largest elements become pivots.

        Args:
            A: (..., m, n).
            pivot: True: there is no factorization without pivots on the CPU.
            check_errors: whether a 0 in the diagonal of U is an error.
        """
    @_operator
    @staticmethod
    def out(
        A: Tensor, *, pivot: bool = True, check_errors: bool = False, LU: Tensor, pivots: Tensor, info: Tensor
    ) -> _results_linalg_lu_factor_ex:
        """The factors of matrices, with rows exchanged so that the largest elements become pivots.

        Args:
            A: (..., m, n).
            pivot: True: there is no factorization without pivots on the CPU.
            check_errors: whether a 0 in the diagonal of U is an error.
        """

class _packet_linalg_lu_solve(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        LU: Tensor,
        pivots: Tensor,
        B: Tensor,
        *,
        left: bool = True,
        adjoint: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, by the factors of ``A``.

        Args:
            LU, pivots: of ``linalg.lu_factor``.
            B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
            left: whether ``A`` stands to the left.
            adjoint: whether its adjoint is meant.
        """
    @_operator
    @staticmethod
    def default(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, by the factors of ``A``.

        Args:
            LU, pivots: of ``linalg.lu_factor``.
            B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
            left: whether ``A`` stands to the left.
            adjoint: whether its adjoint is meant.
        """
    @_operator
    @staticmethod
    def out(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, by the factors of ``A``.

        Args:
            LU, pivots: of ``linalg.lu_factor``.
            B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
            left: whether ``A`` stands to the left.
            adjoint: whether its adjoint is meant.
        """

class _packet_linalg_matmul(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``matmul``."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``matmul``."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``matmul``."""

class _packet_linalg_matrix_exp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The exponentials of square matrices: ``1 + A + A @ A / 2 + ...``."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The exponentials of square matrices: ``1 + A + A @ A / 2 + ...``."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_linalg_matrix_norm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        ord: Scalar,
        dim: Sequence[int] = (-2, -1),
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The norm of matrices that ``ord`` names.

        2 is the largest singular value, 1 the largest sum of magnitudes in a
        column, ``inf`` in a row; negative ones are the smallest.
        """
    @overload
    def __call__(
        cls,
        self: Tensor,
        ord: str = "fro",
        dim: Sequence[int] = (-2, -1),
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The norm of matrices that ``ord`` names: "fro", the root of the sum of squares, or "nuc", the sum of the singular
        values.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor, ord: Scalar, dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: DType | None = None
    ) -> Tensor:
        """The norm of matrices that ``ord`` names.

        2 is the largest singular value, 1 the largest sum of magnitudes in a
        column, ``inf`` in a row; negative ones are the smallest.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        ord: Scalar,
        dim: Sequence[int] = (-2, -1),
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """The norm of matrices that ``ord`` names.

        2 is the largest singular value, 1 the largest sum of magnitudes in a
        column, ``inf`` in a row; negative ones are the smallest.
        """
    @_operator
    @staticmethod
    def str_ord(
        self: Tensor,
        ord: str = "fro",
        dim: Sequence[int] = (-2, -1),
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The norm of matrices that ``ord`` names: "fro", the root of the sum of squares, or "nuc", the sum of the singular
        values.
        """
    @_operator
    @staticmethod
    def str_ord_out(
        self: Tensor,
        ord: str = "fro",
        dim: Sequence[int] = (-2, -1),
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """The norm of matrices that ``ord`` names: "fro", the root of the sum of squares, or "nuc", the sum of the singular
        values.
        """

class _packet_linalg_matrix_power(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
        """The ``n``-th power of square matrices; of their inverses for a negative ``n``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int) -> Tensor:
        """The ``n``-th power of square matrices; of their inverses for a negative ``n``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int, *, out: Tensor) -> Tensor: ...

class _packet_linalg_matrix_rank(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        *,
        atol: Tensor | None = None,
        rtol: Tensor | None = None,
        hermitian: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The ranks of matrices, see ``linalg.pinv``."""
    @overload
    def __call__(cls, input: Tensor, tol: Tensor, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The ranks of matrices, whose singular values count as 0 up to ``tol``, for each."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        hermitian: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The ranks of matrices, with the same tolerances for all."""
    @overload
    def __call__(cls, self: Tensor, tol: float, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The ranks of matrices, whose singular values count as 0 up to ``tol``."""
    @_operator
    @staticmethod
    def atol_rtol_tensor(
        input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
    ) -> Tensor:
        """The ranks of matrices, see ``linalg.pinv``."""
    @_operator
    @staticmethod
    def atol_rtol_tensor_out(
        input: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False, out: Tensor
    ) -> Tensor:
        """The ranks of matrices, see ``linalg.pinv``."""
    @_operator
    @staticmethod
    def atol_rtol_float(
        self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
    ) -> Tensor:
        """The ranks of matrices, with the same tolerances for all."""
    @_operator
    @staticmethod
    def atol_rtol_float_out(
        self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False, out: Tensor
    ) -> Tensor:
        """The ranks of matrices, with the same tolerances for all."""
    @_operator
    @staticmethod
    def default(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
        """The ranks of matrices, whose singular values count as 0 up to ``tol``."""
    @_operator
    @staticmethod
    def out(self: Tensor, tol: float, hermitian: bool = False, *, out: Tensor) -> Tensor:
        """The ranks of matrices, whose singular values count as 0 up to ``tol``."""
    @_operator
    @staticmethod
    def tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
        """The ranks of matrices, whose singular values count as 0 up to ``tol``, for each."""
    @_operator
    @staticmethod
    def out_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False, *, out: Tensor) -> Tensor:
        """The ranks of matrices, whose singular values count as 0 up to ``tol``, for each."""

class _packet_linalg_multi_dot(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """The product of several matrices, in the order that takes the fewest multiplications.

        Args:
            tensors: matrices; the first one and the last one may be vectors.
        """
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The product of several matrices, in the order that takes the fewest multiplications.

        Args:
            tensors: matrices; the first one and the last one may be vectors.
        """
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """The product of several matrices, in the order that takes the fewest multiplications.

        Args:
            tensors: matrices; the first one and the last one may be vectors.
        """

class _packet_linalg_norm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        ord: Scalar | None = None,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The norm of vectors or of matrices.

        ``linalg.matrix_norm`` of two dimensions, ``linalg.vector_norm`` of one; the root of the sum of all squares if
        neither ``ord`` nor ``dim`` is given.
        """
    @overload
    def __call__(
        cls,
        self: Tensor,
        ord: str,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """``linalg.matrix_norm`` of the order "fro" or "nuc"."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        ord: Scalar | None = None,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The norm of vectors or of matrices.

        ``linalg.matrix_norm`` of two dimensions, ``linalg.vector_norm`` of one; the root of the sum of all squares if
        neither ``ord`` nor ``dim`` is given.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        ord: Scalar | None = None,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """The norm of vectors or of matrices.

        ``linalg.matrix_norm`` of two dimensions, ``linalg.vector_norm`` of one; the root of the sum of all squares if
        neither ``ord`` nor ``dim`` is given.
        """
    @_operator
    @staticmethod
    def ord_str(
        self: Tensor,
        ord: str,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """``linalg.matrix_norm`` of the order "fro" or "nuc"."""
    @_operator
    @staticmethod
    def ord_str_out(
        self: Tensor,
        ord: str,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """``linalg.matrix_norm`` of the order "fro" or "nuc"."""

class _packet_linalg_pinv(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        atol: Tensor | None = None,
        rtol: Tensor | None = None,
        hermitian: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The pseudo-inverses of matrices (Moore and Penrose).

        Args:
            self: (..., m, n).
            atol, rtol: a singular value counts as 0 up to ``max(atol, rtol * the largest one)``, for each matrix.
            hermitian: whether the matrices are, so that eigenvalues do.
        """
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        atol: float | None = None,
        rtol: float | None = None,
        hermitian: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The pseudo-inverses of matrices, with the same tolerances for all."""
    @overload
    def __call__(cls, self: Tensor, rcond: Tensor, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor:
        """``linalg.pinv`` with a tolerance for each matrix, as a part of its largest singular value."""
    @overload
    def __call__(cls, self: Tensor, rcond: float, hermitian: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The pseudo-inverses of matrices, whose singular values count as 0 up to this part of the largest one."""
    @_operator
    @staticmethod
    def atol_rtol_tensor(
        self: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
    ) -> Tensor:
        """The pseudo-inverses of matrices (Moore and Penrose).

        Args:
            self: (..., m, n).
            atol, rtol: a singular value counts as 0 up to ``max(atol, rtol * the largest one)``, for each matrix.
            hermitian: whether the matrices are, so that eigenvalues do.
        """
    @_operator
    @staticmethod
    def atol_rtol_tensor_out(
        self: Tensor, *, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False, out: Tensor
    ) -> Tensor:
        """The pseudo-inverses of matrices (Moore and Penrose).

        Args:
            self: (..., m, n).
            atol, rtol: a singular value counts as 0 up to ``max(atol, rtol * the largest one)``, for each matrix.
            hermitian: whether the matrices are, so that eigenvalues do.
        """
    @_operator
    @staticmethod
    def atol_rtol_float(
        self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
    ) -> Tensor:
        """The pseudo-inverses of matrices, with the same tolerances for all."""
    @_operator
    @staticmethod
    def atol_rtol_float_out(
        self: Tensor, *, atol: float | None = None, rtol: float | None = None, hermitian: bool = False, out: Tensor
    ) -> Tensor:
        """The pseudo-inverses of matrices, with the same tolerances for all."""
    @_operator
    @staticmethod
    def default(self: Tensor, rcond: float, hermitian: bool = False) -> Tensor:
        """The pseudo-inverses of matrices, whose singular values count as 0 up to this part of the largest one."""
    @_operator
    @staticmethod
    def out(self: Tensor, rcond: float, hermitian: bool = False, *, out: Tensor) -> Tensor:
        """The pseudo-inverses of matrices, whose singular values count as 0 up to this part of the largest one."""
    @_operator
    @staticmethod
    def rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
        """``linalg.pinv`` with a tolerance for each matrix, as a part of its largest singular value."""
    @_operator
    @staticmethod
    def out_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False, *, out: Tensor) -> Tensor:
        """``linalg.pinv`` with a tolerance for each matrix, as a part of its largest singular value."""

class _packet_linalg_qr(Operator[..., _results_linalg_qr], Protocol):
    def __call__(
        cls, A: Tensor, mode: str = "reduced", *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_linalg_qr:
        """The factors of matrices: ``A = Q @ R``.

        Args:
            A: (..., m, n).
            mode: "reduced": Q has min(m, n) columns; "complete": m; "r": it is empty.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, mode: str = "reduced") -> _results_linalg_qr:
        """The factors of matrices: ``A = Q @ R``.

        Args:
            A: (..., m, n).
            mode: "reduced": Q has min(m, n) columns; "complete": m; "r": it is empty.
        """
    @_operator
    @staticmethod
    def out(A: Tensor, mode: str = "reduced", *, Q: Tensor, R: Tensor) -> _results_linalg_qr:
        """The factors of matrices: ``A = Q @ R``.

        Args:
            A: (..., m, n).
            mode: "reduced": Q has min(m, n) columns; "complete": m; "r": it is empty.
        """

class _packet_linalg_slogdet(Operator[..., _results_linalg_slogdet], Protocol):
    def __call__(cls, A: Tensor, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None) -> _results_linalg_slogdet:
        """The signs of matrices' determinants, and the logarithms of their magnitudes; for a singular one 0 and -inf."""
    @_operator
    @staticmethod
    def default(A: Tensor) -> _results_linalg_slogdet:
        """The signs of matrices' determinants, and the logarithms of their magnitudes; for a singular one 0 and -inf."""
    @_operator
    @staticmethod
    def out(A: Tensor, *, sign: Tensor, logabsdet: Tensor) -> _results_linalg_slogdet:
        """The signs of matrices' determinants, and the logarithms of their magnitudes; for a singular one 0 and -inf."""

class _packet_linalg_solve(Operator[..., Tensor], Protocol):
    def __call__(cls, A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, see ``linalg.solve_ex``.

        Raises:
            LinearAlgebraError: a matrix is singular.
        """
    @_operator
    @staticmethod
    def default(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, see ``linalg.solve_ex``.

        Raises:
            LinearAlgebraError: a matrix is singular.
        """
    @_operator
    @staticmethod
    def out(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, see ``linalg.solve_ex``.

        Raises:
            LinearAlgebraError: a matrix is singular.
        """

class _packet_linalg_solve_ex(Operator[..., _results_linalg_solve_ex], Protocol):
    def __call__(
        cls,
        A: Tensor,
        B: Tensor,
        *,
        left: bool = True,
        check_errors: bool = False,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_linalg_solve_ex:
        """``linalg.solve``, which says of each matrix whether it is singular."""
    @_operator
    @staticmethod
    def default(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> _results_linalg_solve_ex:
        """``linalg.solve``, which says of each matrix whether it is singular."""
    @_operator
    @staticmethod
    def out(
        A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, result: Tensor, info: Tensor
    ) -> _results_linalg_solve_ex:
        """``linalg.solve``, which says of each matrix whether it is singular."""

class _packet_linalg_solve_triangular(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        B: Tensor,
        *,
        upper: bool,
        left: bool = True,
        unitriangular: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, for a triangular ``A``.

        Args:
            self: ``A``, (..., n, n), of which one triangle is read.
            B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
            upper: whether the upper triangle of ``A`` counts.
            left: whether ``A`` stands to the left.
            unitriangular: whether its diagonal counts as ones.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, for a triangular ``A``.

        Args:
            self: ``A``, (..., n, n), of which one triangle is read.
            B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
            upper: whether the upper triangle of ``A`` counts.
            left: whether ``A`` stands to the left.
            unitriangular: whether its diagonal counts as ones.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor
    ) -> Tensor:
        """The solution of ``A X = B``, or ``X A = B``, for a triangular ``A``.

        Args:
            self: ``A``, (..., n, n), of which one triangle is read.
            B: (..., n, k), or (..., k, n) where ``A`` stands to the right.
            upper: whether the upper triangle of ``A`` counts.
            left: whether ``A`` stands to the left.
            unitriangular: whether its diagonal counts as ones.
        """

class _packet_linalg_svd(Operator[..., _results_linalg_svd], Protocol):
    def __call__(
        cls,
        A: Tensor,
        full_matrices: bool = True,
        *,
        driver: str | None = None,
        out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_linalg_svd:
        """The singular values and vectors of matrices: ``A = U @ diag(S) @ Vh``."""
    @_operator
    @staticmethod
    def default(A: Tensor, full_matrices: bool = True, *, driver: str | None = None) -> _results_linalg_svd:
        """The singular values and vectors of matrices: ``A = U @ diag(S) @ Vh``."""
    @_operator
    @staticmethod
    def U(
        A: Tensor, full_matrices: bool = True, *, driver: str | None = None, U: Tensor, S: Tensor, Vh: Tensor
    ) -> _results_linalg_svd:
        """The singular values and vectors of matrices: ``A = U @ diag(S) @ Vh``."""

class _packet_linalg_svdvals(Operator[..., Tensor], Protocol):
    def __call__(cls, A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
        """The singular values of matrices, the largest first."""
    @_operator
    @staticmethod
    def default(A: Tensor, *, driver: str | None = None) -> Tensor:
        """The singular values of matrices, the largest first."""
    @_operator
    @staticmethod
    def out(A: Tensor, *, driver: str | None = None, out: Tensor) -> Tensor:
        """The singular values of matrices, the largest first."""

class _packet_linalg_tensorinv(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
        """The inverse of a tensor as a map from its last dimensions to its first ``ind``."""
    @_operator
    @staticmethod
    def default(self: Tensor, ind: int = 2) -> Tensor:
        """The inverse of a tensor as a map from its last dimensions to its first ``ind``."""
    @_operator
    @staticmethod
    def out(self: Tensor, ind: int = 2, *, out: Tensor) -> Tensor:
        """The inverse of a tensor as a map from its last dimensions to its first ``ind``."""

class _packet_linalg_tensorsolve(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The tensor whose product with ``self``, summed over the last dimensions, is ``other``.

        Args:
            self: its first dimensions are those of ``other``.
            other: any.
            dims: dimensions of ``self`` that are moved to its end first.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor, dims: Sequence[int] | None = None) -> Tensor:
        """The tensor whose product with ``self``, summed over the last dimensions, is ``other``.

        Args:
            self: its first dimensions are those of ``other``.
            other: any.
            dims: dimensions of ``self`` that are moved to its end first.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, dims: Sequence[int] | None = None, *, out: Tensor) -> Tensor:
        """The tensor whose product with ``self``, summed over the last dimensions, is ``other``.

        Args:
            self: its first dimensions are those of ``other``.
            other: any.
            dims: dimensions of ``self`` that are moved to its end first.
        """

class _packet_linalg_vander(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, *, N: int | None = None) -> Tensor:
        """The Vandermonde matrices of vectors along the last dimension: powers from 0 to ``N - 1``."""
    @_operator
    @staticmethod
    def default(x: Tensor, *, N: int | None = None) -> Tensor:
        """The Vandermonde matrices of vectors along the last dimension: powers from 0 to ``N - 1``."""

class _packet_linalg_vecdot(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
        """The scalar products of vectors along a dimension, the first ones conjugated."""
    @_operator
    @staticmethod
    def default(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
        """The scalar products of vectors along a dimension, the first ones conjugated."""
    @_operator
    @staticmethod
    def out(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor) -> Tensor:
        """The scalar products of vectors along a dimension, the first ones conjugated."""

class _packet_linalg_vector_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        ord: Scalar = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The norm of vectors along dimensions: the ``ord``-th root of the sum of the magnitudes' ``ord``-th powers, the
        largest magnitude for ``inf``, the smallest for ``-inf``, the number of elements that are not zero for 0.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        ord: Scalar = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
    ) -> Tensor:
        """The norm of vectors along dimensions: the ``ord``-th root of the sum of the magnitudes' ``ord``-th powers, the
        largest magnitude for ``inf``, the smallest for ``-inf``, the number of elements that are not zero for 0.
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        ord: Scalar = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """The norm of vectors along dimensions: the ``ord``-th root of the sum of the magnitudes' ``ord``-th powers, the
        largest magnitude for ``inf``, the smallest for ``-inf``, the number of elements that are not zero for 0.
        """

class _packet_linear(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """``input @ weight.T + bias``."""
    @_operator
    @staticmethod
    def default(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """``input @ weight.T + bias``."""
    @_operator
    @staticmethod
    def out(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor) -> Tensor:
        """``linear`` into a given tensor."""

class _packet_linspace(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        start: Tensor,
        end: Tensor,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``linspace`` between zero-dim tensors."""
    @overload
    def __call__(
        cls,
        start: Scalar,
        end: Tensor,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``linspace`` to a zero-dim tensor."""
    @overload
    def __call__(
        cls,
        start: Tensor,
        end: Scalar,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``linspace`` from a zero-dim tensor."""
    @overload
    def __call__(
        cls,
        start: Scalar,
        end: Scalar,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``steps`` numbers at equal distances from ``start`` to ``end``, both among them."""
    @_operator
    @staticmethod
    def default(
        start: Scalar,
        end: Scalar,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``steps`` numbers at equal distances from ``start`` to ``end``, both among them."""
    @_operator
    @staticmethod
    def Tensor_Tensor(
        start: Tensor,
        end: Tensor,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``linspace`` between zero-dim tensors."""
    @_operator
    @staticmethod
    def Tensor_Scalar(
        start: Tensor,
        end: Scalar,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``linspace`` from a zero-dim tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor(
        start: Scalar,
        end: Tensor,
        steps: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``linspace`` to a zero-dim tensor."""
    @_operator
    @staticmethod
    def out(start: Scalar, end: Scalar, steps: int, *, out: Tensor) -> Tensor:
        """``linspace`` into a given tensor."""
    @_operator
    @staticmethod
    def Tensor_Tensor_out(start: Tensor, end: Tensor, steps: int, *, out: Tensor) -> Tensor:
        """``linspace`` between zero-dim tensors into a given tensor."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(start: Tensor, end: Scalar, steps: int, *, out: Tensor) -> Tensor:
        """``linspace`` from a zero-dim tensor into a given tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(start: Scalar, end: Tensor, steps: int, *, out: Tensor) -> Tensor:
        """``linspace`` to a zero-dim tensor into a given tensor."""

class _packet_log(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""

class _packet_log10(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""

class _packet_log10_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""

class _packet_log1p(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``log(1 + self)``, exact near 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``log(1 + self)``, exact near 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``log(1 + self)``, exact near 0."""

class _packet_log1p_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``log(1 + self)``, exact near 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``log(1 + self)``, exact near 0."""

class _packet_log2(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""

class _packet_log2_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""

class _packet_log_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""

class _packet_log_normal(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        mean: float = 1,
        std: float = 2,
        *,
        generator: Generator | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_log_normal_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers whose logarithm is normally distributed."""
    @_operator
    @staticmethod
    def default(self: Tensor, mean: float = 1, std: float = 2, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers whose logarithm is normally distributed."""

class _packet_log_sigmoid(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``log(sigmoid(self))``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``log(sigmoid(self))``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``log(sigmoid(self))``"""

class _packet_log_sigmoid_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, buffer: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The gradient of ``log_sigmoid``; ``buffer`` is ``exp(-abs(self))``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, buffer: Tensor) -> Tensor:
        """The gradient of ``log_sigmoid``; ``buffer`` is ``exp(-abs(self))``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, buffer: Tensor, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``log_sigmoid``; ``buffer`` is ``exp(-abs(self))``."""

class _packet_log_sigmoid_forward(Operator[..., _results_log_sigmoid_forward | tuple[Tensor, Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> _results_log_sigmoid_forward:
        """``log(sigmoid(self))``, and ``exp(-abs(self))``, which its gradient is made of."""
    @overload
    def __call__(cls, self: Tensor, *, out: tuple[Tensor, Tensor] | list[Tensor]) -> tuple[Tensor, Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> _results_log_sigmoid_forward:
        """``log(sigmoid(self))``, and ``exp(-abs(self))``, which its gradient is made of."""
    @_operator
    @staticmethod
    def output(self: Tensor, *, output: Tensor, buffer: Tensor) -> tuple[Tensor, Tensor]:
        """``log(sigmoid(self))``, and ``exp(-abs(self))``, which its gradient is made of."""

class _packet_log_softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of ``softmax``; ``dtype`` is what ``self`` is cast to before."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int, dtype: DType | None = None) -> Tensor:
        """The logarithm of ``softmax``; ``dtype`` is what ``self`` is cast to before."""
    @_operator
    @staticmethod
    def int_out(self: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor) -> Tensor:
        """The logarithm of ``softmax``; ``dtype`` is what ``self`` is cast to before."""

class _packet_logaddexp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``log(exp(self) + exp(other))``, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``log(exp(self) + exp(other))``, without overflow."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``log(exp(self) + exp(other))``, without overflow."""

class _packet_logaddexp2(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``log2(2**self + 2**other)``, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``log2(2**self + 2**other)``, without overflow."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``log2(2**self + 2**other)``, without overflow."""

class _packet_logcumsumexp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, out: Tensor) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""

class _packet_logdet(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The logarithms of matrices' determinants; NaN for negative ones of real matrices."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithms of matrices' determinants; NaN for negative ones of real matrices."""

class _packet_logical_and(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Where both elements are true: not 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Where both elements are true: not 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Where both elements are true: not 0."""

class _packet_logical_and_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """Where both elements are true: not 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Where both elements are true: not 0."""

class _packet_logical_not(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Where an element is 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Where an element is 0."""

class _packet_logical_not_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Where an element is 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Where an element is 0."""

class _packet_logical_or(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Where an element is true: not 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Where an element is true: not 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Where an element is true: not 0."""

class _packet_logical_or_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """Where an element is true: not 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Where an element is true: not 0."""

class _packet_logical_xor(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Where one element is true and the other is not."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Where one element is true and the other is not."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Where one element is true and the other is not."""

class _packet_logical_xor_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """Where one element is true and the other is not."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Where one element is true and the other is not."""

class _packet_logit(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    @_operator
    @staticmethod
    def default(self: Tensor, eps: float | None = None) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    @_operator
    @staticmethod
    def out(self: Tensor, eps: float | None = None, *, out: Tensor) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""

class _packet_logit_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, eps: float | None = None) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    @_operator
    @staticmethod
    def default(self: Tensor, eps: float | None = None) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""

class _packet_logit_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, eps: float | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """``grad_output / (self * (1 - self))``; 0 beyond ``eps`` and ``1 - eps``, NaN beyond 0 and 1 without it."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, eps: float | None = None) -> Tensor:
        """``grad_output / (self * (1 - self))``; 0 beyond ``eps`` and ``1 - eps``, NaN beyond 0 and 1 without it."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, eps: float | None = None, *, grad_input: Tensor) -> Tensor:
        """``grad_output / (self * (1 - self))``; 0 beyond ``eps`` and ``1 - eps``, NaN beyond 0 and 1 without it."""

class _packet_logspace(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        start: Tensor,
        end: Tensor,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``logspace`` between zero-dim tensors."""
    @overload
    def __call__(
        cls,
        start: Scalar,
        end: Tensor,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``logspace`` to a zero-dim tensor."""
    @overload
    def __call__(
        cls,
        start: Tensor,
        end: Scalar,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``logspace`` from a zero-dim tensor."""
    @overload
    def __call__(
        cls,
        start: Scalar,
        end: Scalar,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """``base`` to the powers of ``linspace``."""
    @_operator
    @staticmethod
    def default(
        start: Scalar,
        end: Scalar,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``base`` to the powers of ``linspace``."""
    @_operator
    @staticmethod
    def Tensor_Tensor(
        start: Tensor,
        end: Tensor,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``logspace`` between zero-dim tensors."""
    @_operator
    @staticmethod
    def Tensor_Scalar(
        start: Tensor,
        end: Scalar,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``logspace`` from a zero-dim tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor(
        start: Scalar,
        end: Tensor,
        steps: int,
        base: float = 10.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """``logspace`` to a zero-dim tensor."""
    @_operator
    @staticmethod
    def out(start: Scalar, end: Scalar, steps: int, base: float = 10.0, *, out: Tensor) -> Tensor:
        """``logspace`` into a given tensor."""
    @_operator
    @staticmethod
    def Tensor_Tensor_out(start: Tensor, end: Tensor, steps: int, base: float = 10.0, *, out: Tensor) -> Tensor:
        """``logspace`` between zero-dim tensors into a given tensor."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(start: Tensor, end: Scalar, steps: int, base: float = 10.0, *, out: Tensor) -> Tensor:
        """``logspace`` from a zero-dim tensor into a given tensor."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(start: Scalar, end: Tensor, steps: int, base: float = 10.0, *, out: Tensor) -> Tensor:
        """``logspace`` to a zero-dim tensor into a given tensor."""

class _packet_logsumexp(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
        """``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor) -> Tensor:
        """``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""

class _packet_lstm(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Sequence[Tensor],
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Layers of long short-term memories over sequences: what they give, and their last states and memories."""
    @_operator
    @staticmethod
    def input(
        input: Tensor,
        hx: Sequence[Tensor],
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Layers of long short-term memories over sequences: what they give, and their last states and memories."""

class _packet_lstm_cell(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Sequence[Tensor],
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The next state and memory of a long short-term memory (Hochreiter and Schmidhuber 1997)."""
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        hx: Sequence[Tensor],
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The next state and memory of a long short-term memory (Hochreiter and Schmidhuber 1997)."""

class _packet_lt(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is less than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is less than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is less than ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is less than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is less than a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is less than a number."""

class _packet_lt_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is less than ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is less than a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is less than ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is less than a number."""

class _packet_lu_solve(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
        """An older name of ``linalg.lu_solve``."""
    @_operator
    @staticmethod
    def default(self: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """An older name of ``linalg.lu_solve``."""
    @_operator
    @staticmethod
    def out(self: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor) -> Tensor:
        """An older name of ``linalg.lu_solve``."""

class _packet_lu_unpack(Operator[..., _results_lu_unpack], Protocol):
    def __call__(
        cls,
        LU_data: Tensor,
        LU_pivots: Tensor,
        unpack_data: bool = True,
        unpack_pivots: bool = True,
        *,
        out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_lu_unpack:
        """The permutation and the factors that ``linalg.lu_factor`` has put into one matrix.

        Args:
            LU_data: (..., m, n).
            LU_pivots: int32 (..., min(m, n)).
            unpack_data: whether the factors are asked for; otherwise they are empty.
            unpack_pivots: whether the permutation is.
        """
    @_operator
    @staticmethod
    def default(
        LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True
    ) -> _results_lu_unpack:
        """The permutation and the factors that ``linalg.lu_factor`` has put into one matrix.

        Args:
            LU_data: (..., m, n).
            LU_pivots: int32 (..., min(m, n)).
            unpack_data: whether the factors are asked for; otherwise they are empty.
            unpack_pivots: whether the permutation is.
        """
    @_operator
    @staticmethod
    def out(
        LU_data: Tensor,
        LU_pivots: Tensor,
        unpack_data: bool = True,
        unpack_pivots: bool = True,
        *,
        P: Tensor,
        L: Tensor,
        U: Tensor,
    ) -> _results_lu_unpack:
        """The permutation and the factors that ``linalg.lu_factor`` has put into one matrix.

        Args:
            LU_data: (..., m, n).
            LU_pivots: int32 (..., min(m, n)).
            unpack_data: whether the factors are asked for; otherwise they are empty.
            unpack_pivots: whether the permutation is.
        """

class _packet_mH(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``x.mH``: every matrix of a batch transposed and conjugated."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``x.mH``: every matrix of a batch transposed and conjugated."""

class _packet_mT(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``x.mT``: every matrix of a batch transposed."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``x.mT``: every matrix of a batch transposed."""

class _packet_margin_ranking_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = Reduction.Mean
    ) -> Tensor:
        """``max(0, margin - target * (input1 - input2))``"""
    @_operator
    @staticmethod
    def default(
        input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = Reduction.Mean
    ) -> Tensor:
        """``max(0, margin - target * (input1 - input2))``"""

class _packet_masked_fill(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, mask: _Tensor, value: _Tensor) -> _Tensor:
        """``self`` with a zero-dim tensor where a mask holds."""
    @overload
    def __call__(cls, self: _Tensor, mask: _Tensor, value: _Scalar) -> _Tensor:
        """``self`` with a number where a mask holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, mask: _Tensor, value: _Scalar) -> _Tensor:
        """``self`` with a number where a mask holds."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, mask: _Tensor, value: _Tensor) -> _Tensor:
        """``self`` with a zero-dim tensor where a mask holds."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, mask: _Tensor, value: _Scalar, *, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, mask: _Tensor, value: _Tensor, *, out: _Tensor) -> _Tensor: ...

class _packet_masked_fill_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, mask: _Tensor, value: _Tensor) -> _Tensor:
        """Writes a zero-dim tensor where a mask holds."""
    @overload
    def __call__(cls, self: _Tensor, mask: _Tensor, value: _Scalar) -> _Tensor:
        """Writes a number where a mask holds."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, mask: _Tensor, value: _Scalar) -> _Tensor:
        """Writes a number where a mask holds."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, mask: _Tensor, value: _Tensor) -> _Tensor:
        """Writes a zero-dim tensor where a mask holds."""

class _packet_masked_scatter(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        """``self`` with the elements of ``source``, one after another, where a mask holds."""
    @_operator
    @staticmethod
    def default(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        """``self`` with the elements of ``source``, one after another, where a mask holds."""
    @_operator
    @staticmethod
    def out(self: Tensor, mask: Tensor, source: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_masked_scatter_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        """Writes the elements of ``source``, one after another, where a mask holds."""
    @_operator
    @staticmethod
    def default(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
        """Writes the elements of ``source``, one after another, where a mask holds."""

class _packet_masked_scatter_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
        """The gradient of ``masked_scatter``'s source."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
        """The gradient of ``masked_scatter``'s source."""

class _packet_masked_select(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements where a mask holds, in row-major order."""
    @_operator
    @staticmethod
    def default(self: Tensor, mask: Tensor) -> Tensor:
        """The elements where a mask holds, in row-major order."""
    @_operator
    @staticmethod
    def out(self: Tensor, mask: Tensor, *, out: Tensor) -> Tensor:
        """The elements where a mask holds, in row-major order."""

class _packet_masked_select_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
        """The gradient of ``masked_select``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, input: Tensor, mask: Tensor) -> Tensor:
        """The gradient of ``masked_select``."""

class _packet_matmul(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The matrix product, with vectors and broadcast batches as ``numpy.matmul`` has them."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The matrix product, with vectors and broadcast batches as ``numpy.matmul`` has them."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The matrix product, with vectors and broadcast batches as ``numpy.matmul`` has them."""

class _packet_matrix_H(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``x.H``: a matrix transposed and conjugated."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``x.H``: a matrix transposed and conjugated."""

class _packet_matrix_exp(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``linalg.matrix_exp``."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``linalg.matrix_exp``."""

class _packet_matrix_exp_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, grad: Tensor) -> Tensor:
        """The gradient of ``matrix_exp``."""
    @_operator
    @staticmethod
    def default(self: Tensor, grad: Tensor) -> Tensor:
        """The gradient of ``matrix_exp``."""

class _packet_matrix_power(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
        """``linalg.matrix_power``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int) -> Tensor:
        """``linalg.matrix_power``."""
    @_operator
    @staticmethod
    def out(self: Tensor, n: int, *, out: Tensor) -> Tensor: ...

class _packet_max(Operator[..., Tensor | _results_max], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The largest of all elements."""
    @overload
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements, as ``maximum``."""
    @overload
    def __call__(
        cls, self: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_max:
        """The largest elements along a dimension and their positions, of several equal ones the first."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> _results_max:
        """The largest elements along a dimension and their positions, of several equal ones the first."""
    @_operator
    @staticmethod
    def dim_max(self: Tensor, dim: int, keepdim: bool = False, *, max: Tensor, max_values: Tensor) -> _results_max:
        """The largest elements along a dimension and their positions, of several equal ones the first."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The largest of all elements."""
    @_operator
    @staticmethod
    def unary_out(self: Tensor, *, out: Tensor) -> Tensor:
        """The largest of all elements."""
    @_operator
    @staticmethod
    def other(self: Tensor, other: Tensor) -> Tensor:
        """The larger of two elements, as ``maximum``."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The larger of two elements, as ``maximum``."""

class _packet_max_pool1d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window of signals; see ``max_pool2d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window of signals; see ``max_pool2d``."""

class _packet_max_pool1d_with_indices(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window of signals, and where it is; see ``max_pool2d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window of signals, and where it is; see ``max_pool2d``."""

class _packet_max_pool2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window of images.

        Args:
            self: (channels, height, width), with or without a batch before them.
            kernel_size: of the windows; one number stands for both.
            stride: between windows; their size by default.
            padding: the margin, of what is smaller than every number.
            dilation: between the elements of a window.
            ceil_mode: whether windows that reach out of the margin count, if they begin inside of it.

        >>> import opdsl
        >>> opdsl.max_pool2d(opdsl.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), 2, 1)
        tensor([[[5., 6.]]])
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window of images.

        Args:
            self: (channels, height, width), with or without a batch before them.
            kernel_size: of the windows; one number stands for both.
            stride: between windows; their size by default.
            padding: the margin, of what is smaller than every number.
            dilation: between the elements of a window.
            ceil_mode: whether windows that reach out of the margin count, if they begin inside of it.

        >>> import opdsl
        >>> opdsl.max_pool2d(opdsl.tensor([[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]), 2, 1)
        tensor([[[5., 6.]]])
        """

class _packet_max_pool2d_with_indices(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        *,
        out: Tensor,
        indices: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""

class _packet_max_pool2d_with_indices_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
    ) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""

class _packet_max_pool3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window of volumes; see ``max_pool2d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> Tensor:
        """The largest element of each window of volumes; see ``max_pool2d``."""

class _packet_max_pool3d_with_indices(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        ceil_mode: bool = False,
        *,
        out: Tensor,
        indices: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The largest element of each window, and its number in the dimensions that are slid over."""

class _packet_max_pool3d_with_indices_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
    ) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        dilation: int | Sequence[int],
        ceil_mode: bool,
        indices: Tensor,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what was pooled: that of each largest element at its place."""

class _packet_maximum(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The larger of two elements; NaN if either is NaN."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The larger of two elements; NaN if either is NaN."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The larger of two elements; NaN if either is NaN."""

class _packet_mean(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, dtype: DType | None = None, out: Tensor | None = None) -> Tensor:
        """The mean of all elements."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean along dimensions, along all for ``dim=None``."""
    @_operator
    @staticmethod
    def dim(
        self: Tensor, dim: int | Sequence[int] | None, keepdim: bool = False, *, dtype: DType | None = None
    ) -> Tensor:
        """The mean along dimensions, along all for ``dim=None``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, dim: int | Sequence[int] | None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor
    ) -> Tensor:
        """The mean along dimensions, along all for ``dim=None``."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, dtype: DType | None = None) -> Tensor:
        """The mean of all elements."""
    @_operator
    @staticmethod
    def dtype_out(self: Tensor, *, dtype: DType | None = None, out: Tensor) -> Tensor:
        """The mean of all elements."""

class _packet_median(Operator[..., Tensor | _results_median], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor: ...
    @overload
    def __call__(
        cls, self: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_median: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> _results_median: ...
    @_operator
    @staticmethod
    def dim_values(
        self: Tensor, dim: int, keepdim: bool = False, *, values: Tensor, indices: Tensor
    ) -> _results_median: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_meshgrid(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The coordinates of all points of a grid: one tensor for each vector, which lies along its own dimension."""
    @overload
    def __call__(cls, tensors: Sequence[Tensor], *, indexing: str) -> list[Tensor]:
        """``meshgrid`` whose first two dimensions are rows and columns (``ij``), or the other way round (``xy``)."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> list[Tensor]:
        """The coordinates of all points of a grid: one tensor for each vector, which lies along its own dimension."""
    @_operator
    @staticmethod
    def indexing(tensors: Sequence[Tensor], *, indexing: str) -> list[Tensor]:
        """``meshgrid`` whose first two dimensions are rows and columns (``ij``), or the other way round (``xy``)."""

class _packet_min(Operator[..., Tensor | _results_min], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smallest of all elements."""
    @overload
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements, as ``minimum``."""
    @overload
    def __call__(
        cls, self: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_min:
        """The smallest elements along a dimension and their positions, of several equal ones the first."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> _results_min:
        """The smallest elements along a dimension and their positions, of several equal ones the first."""
    @_operator
    @staticmethod
    def dim_min(self: Tensor, dim: int, keepdim: bool = False, *, min: Tensor, min_indices: Tensor) -> _results_min:
        """The smallest elements along a dimension and their positions, of several equal ones the first."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The smallest of all elements."""
    @_operator
    @staticmethod
    def unary_out(self: Tensor, *, out: Tensor) -> Tensor:
        """The smallest of all elements."""
    @_operator
    @staticmethod
    def other(self: Tensor, other: Tensor) -> Tensor:
        """The smaller of two elements, as ``minimum``."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The smaller of two elements, as ``minimum``."""

class _packet_minimum(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The smaller of two elements; NaN if either is NaN."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The smaller of two elements; NaN if either is NaN."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The smaller of two elements; NaN if either is NaN."""

class _packet_mish(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self * tanh(log(1 + exp(self)))``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self * tanh(log(1 + exp(self)))``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``self * tanh(log(1 + exp(self)))``"""

class _packet_mish_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self * tanh(log(1 + exp(self)))``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self * tanh(log(1 + exp(self)))``"""

class _packet_mish_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``mish``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``mish``."""

class _packet_mm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of two matrices."""
    @overload
    def __call__(cls, self: Tensor, mat2: Tensor, out_dtype: DType, *, out: Tensor | None = None) -> Tensor:
        """``mm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def default(self: Tensor, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    @_operator
    @staticmethod
    def out(self: Tensor, mat2: Tensor, *, out: Tensor) -> Tensor:
        """The product of two matrices."""
    @_operator
    @staticmethod
    def dtype(self: Tensor, mat2: Tensor, out_dtype: DType) -> Tensor:
        """``mm``, computed and given in ``out_dtype``."""
    @_operator
    @staticmethod
    def dtype_out(self: Tensor, mat2: Tensor, out_dtype: DType, *, out: Tensor) -> Tensor:
        """``mm``, computed and given in ``out_dtype``."""

class _packet_mode(Operator[..., _results_mode], Protocol):
    def __call__(
        cls,
        self: Tensor,
        dim: int = -1,
        keepdim: bool = False,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_mode:
        """The element that is most often along a dimension, the least of several, and where one of them stands."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int = -1, keepdim: bool = False) -> _results_mode:
        """The element that is most often along a dimension, the least of several, and where one of them stands."""
    @_operator
    @staticmethod
    def values(self: Tensor, dim: int = -1, keepdim: bool = False, *, values: Tensor, indices: Tensor) -> _results_mode:
        """The element that is most often along a dimension, the least of several, and where one of them stands."""

class _packet_moveaxis(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, source: _int, destination: _int) -> Tensor:
        """``movedim`` of one dimension, by NumPy's name."""
    @overload
    def __call__(cls, self: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """``movedim``, by NumPy's name."""
    @_operator
    @staticmethod
    def intlist(self: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """``movedim``, by NumPy's name."""
    @_operator
    @staticmethod
    def int(self: Tensor, source: _int, destination: _int) -> Tensor:
        """``movedim`` of one dimension, by NumPy's name."""

class _packet_movedim(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, source: _int, destination: _int) -> Tensor:
        """One dimension at another place."""
    @overload
    def __call__(cls, self: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """Dimensions at other places; those that are not named keep their order."""
    @_operator
    @staticmethod
    def intlist(self: Tensor, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """Dimensions at other places; those that are not named keep their order."""
    @_operator
    @staticmethod
    def int(self: Tensor, source: _int, destination: _int) -> Tensor:
        """One dimension at another place."""

class _packet_mse_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor | None = None
    ) -> Tensor:
        """``(self - target) ** 2``"""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
        """``(self - target) ** 2``"""
    @_operator
    @staticmethod
    def out(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor) -> Tensor:
        """``(self - target) ** 2``"""

class _packet_mse_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of ``mse_loss``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
        """The gradient of ``mse_loss``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``mse_loss``."""

class _packet_msort(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements along the first dimension in order."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The elements along the first dimension in order."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The elements along the first dimension in order."""

class _packet_mul(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """``self * other``"""
    @_operator
    @staticmethod
    def out(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | _Scalar) -> _Tensor:
        """``self * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self * other`` for a number; a Python call reaches ``mul.Tensor`` instead."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor: ...

class _packet_mul_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """``self * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """``self * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """``self * other`` for a number; a Python call reaches ``mul.Tensor`` instead."""

class _packet_multi_margin_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        p: Scalar = 1,
        margin: Scalar = 1,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean over the classes of ``max(0, margin - self[target] + self[class]) ** p``, without the right one."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        target: Tensor,
        p: Scalar = 1,
        margin: Scalar = 1,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
    ) -> Tensor:
        """The mean over the classes of ``max(0, margin - self[target] + self[class]) ** p``, without the right one."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        target: Tensor,
        p: Scalar = 1,
        margin: Scalar = 1,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        out: Tensor,
    ) -> Tensor:
        """The mean over the classes of ``max(0, margin - self[target] + self[class]) ** p``, without the right one."""

class _packet_multi_margin_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        p: Scalar,
        margin: Scalar,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``multi_margin_loss``."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        p: Scalar,
        margin: Scalar,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
    ) -> Tensor:
        """The gradient of ``multi_margin_loss``."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        p: Scalar,
        margin: Scalar,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of ``multi_margin_loss``."""

class _packet_multilabel_margin_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor | None = None
    ) -> Tensor:
        """The mean over the classes of ``max(0, 1 - self[right] + self[wrong])``, summed over the right ones of a row.

        target: int64, the right classes of each row, with -1 behind the last.
        """
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
        """The mean over the classes of ``max(0, 1 - self[right] + self[wrong])``, summed over the right ones of a row.

        target: int64, the right classes of each row, with -1 behind the last.
        """
    @_operator
    @staticmethod
    def out(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor) -> Tensor:
        """The mean over the classes of ``max(0, 1 - self[right] + self[wrong])``, summed over the right ones of a row.

        target: int64, the right classes of each row, with -1 behind the last.
        """

class _packet_multilabel_margin_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        reduction: int,
        is_target: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``multilabel_margin_loss_forward``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor) -> Tensor:
        """The gradient of ``multilabel_margin_loss_forward``."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, is_target: Tensor, *, grad_input: Tensor
    ) -> Tensor:
        """The gradient of ``multilabel_margin_loss_forward``."""

class _packet_multilabel_margin_loss_forward(
    Operator[..., _results_multilabel_margin_loss_forward | tuple[Tensor, Tensor]], Protocol
):
    @overload
    def __call__(cls, self: Tensor, target: Tensor, reduction: int) -> _results_multilabel_margin_loss_forward:
        """``multilabel_margin_loss``, and where the right classes are."""
    @overload
    def __call__(
        cls, self: Tensor, target: Tensor, reduction: int, *, out: tuple[Tensor, Tensor] | list[Tensor]
    ) -> tuple[Tensor, Tensor]: ...
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int) -> _results_multilabel_margin_loss_forward:
        """``multilabel_margin_loss``, and where the right classes are."""
    @_operator
    @staticmethod
    def output(
        self: Tensor, target: Tensor, reduction: int, *, output: Tensor, is_target: Tensor
    ) -> tuple[Tensor, Tensor]:
        """``multilabel_margin_loss``, and where the right classes are."""

class _packet_multinomial(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        num_samples: int,
        replacement: bool = False,
        *,
        generator: Generator | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Indices drawn with the probabilities that a row of ``self`` is proportional to, for each row."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Indices drawn with the probabilities that a row of ``self`` is proportional to, for each row."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None, out: Tensor
    ) -> Tensor:
        """``multinomial`` into a given tensor."""

class _packet_multiply(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``mul``: ``self * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``mul``: ``self * other``"""
    @_operator
    @staticmethod
    def out(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``mul``: ``self * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``mul_number``: ``self * other`` for a number; a Python call reaches ``mul.Tensor`` instead."""

class _packet_multiply_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``mul``: ``self * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``mul``: ``self * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``mul_number``: ``self * other`` for a number; a Python call reaches ``mul.Tensor`` instead."""

class _packet_mv(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The product of a matrix and a vector."""
    @_operator
    @staticmethod
    def default(self: Tensor, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    @_operator
    @staticmethod
    def out(self: Tensor, vec: Tensor, *, out: Tensor) -> Tensor:
        """The product of a matrix and a vector."""

class _packet_mvlgamma(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the gamma function of ``p`` variables."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: int) -> Tensor:
        """The logarithm of the gamma function of ``p`` variables."""
    @_operator
    @staticmethod
    def out(self: Tensor, p: int, *, out: Tensor) -> Tensor:
        """The logarithm of the gamma function of ``p`` variables."""

class _packet_mvlgamma_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: int) -> Tensor:
        """``mvlgamma``, written into ``self``."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: int) -> Tensor:
        """``mvlgamma``, written into ``self``."""

class _packet_nan_to_num(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        nan: float | None = None,
        posinf: float | None = None,
        neginf: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None, *, out: Tensor
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""

class _packet_nan_to_num_(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""

class _packet_nanmean(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The mean along dimensions of all elements but NaN."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
    ) -> Tensor:
        """The mean along dimensions of all elements but NaN."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """The mean of all elements but NaN into a given tensor."""

class _packet_nanmedian(Operator[..., Tensor | _results_nanmedian], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor: ...
    @overload
    def __call__(
        cls, self: Tensor, dim: int, keepdim: bool = False, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_nanmedian: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int, keepdim: bool = False) -> _results_nanmedian: ...
    @_operator
    @staticmethod
    def dim_values(
        self: Tensor, dim: int, keepdim: bool = False, *, values: Tensor, indices: Tensor
    ) -> _results_nanmedian: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_nanquantile(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        q: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        self: Tensor,
        q: float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        q: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def scalar(
        self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def scalar_out(
        self: Tensor,
        q: float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor,
    ) -> Tensor: ...

class _packet_nansum(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The sum along dimensions of all elements but NaN."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, dim: int | Sequence[int] | None = None, keepdim: bool = False, *, dtype: DType | None = None
    ) -> Tensor:
        """The sum along dimensions of all elements but NaN."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor,
    ) -> Tensor:
        """The sum along dimensions of all elements but NaN."""

class _packet_narrow(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, dim: int, start: _Tensor, length: int) -> _Tensor:
        """``narrow`` whose start is a zero-dim tensor of integers."""
    @overload
    def __call__(cls, self: _Tensor, dim: int, start: int, length: int) -> _Tensor:
        """``length`` positions of a dimension, beginning with ``start``."""
    @_operator
    @staticmethod
    def default(self: _Tensor, dim: int, start: int, length: int) -> _Tensor:
        """``length`` positions of a dimension, beginning with ``start``."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, dim: int, start: _Tensor, length: int) -> _Tensor:
        """``narrow`` whose start is a zero-dim tensor of integers."""

class _packet_narrow_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None) -> Tensor:
        """A copy of the elements from ``start`` on along a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, start: int, length: int) -> Tensor:
        """A copy of the elements from ``start`` on along a dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, start: int, length: int, *, out: Tensor) -> Tensor:
        """``narrow_copy`` into a given tensor."""

class _packet_native_batch_norm(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        *,
        out: tuple[Tensor, Tensor, Tensor] | list[Tensor] | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each channel brought to mean 0 and variance 1, times ``weight`` plus ``bias``.

        Args:
            input: (batch, channels, ...).
            weight, bias: of each channel.
            running_mean, running_var: of each channel; when training they move towards the batch's by ``momentum``,
                otherwise they are what is used.
            training: whether the batch's own statistics are used.
            momentum: see above.
            eps: what is added to variances.

        Returns:
            The result; the mean and 1 / deviation of each channel when training, nothing otherwise.
        """
    @_operator
    @staticmethod
    def default(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each channel brought to mean 0 and variance 1, times ``weight`` plus ``bias``.

        Args:
            input: (batch, channels, ...).
            weight, bias: of each channel.
            running_mean, running_var: of each channel; when training they move towards the batch's by ``momentum``,
                otherwise they are what is used.
            training: whether the batch's own statistics are used.
            momentum: see above.
            eps: what is added to variances.

        Returns:
            The result; the mean and 1 / deviation of each channel when training, nothing otherwise.
        """
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        momentum: float,
        eps: float,
        *,
        out: Tensor,
        save_mean: Tensor,
        save_invstd: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each channel brought to mean 0 and variance 1, times ``weight`` plus ``bias``.

        Args:
            input: (batch, channels, ...).
            weight, bias: of each channel.
            running_mean, running_var: of each channel; when training they move towards the batch's by ``momentum``,
                otherwise they are what is used.
            training: whether the batch's own statistics are used.
            momentum: see above.
            eps: what is added to variances.

        Returns:
            The result; the mean and 1 / deviation of each channel when training, nothing otherwise.
        """

class _packet_native_batch_norm_backward(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        grad_out: Tensor,
        input: Tensor,
        weight: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        save_mean: Tensor | None,
        save_invstd: Tensor | None,
        train: bool,
        eps: float,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``native_batch_norm``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def default(
        grad_out: Tensor,
        input: Tensor,
        weight: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        save_mean: Tensor | None,
        save_invstd: Tensor | None,
        train: bool,
        eps: float,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``native_batch_norm``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def out(
        grad_out: Tensor,
        input: Tensor,
        weight: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        save_mean: Tensor | None,
        save_invstd: Tensor | None,
        train: bool,
        eps: float,
        output_mask: bool | Sequence[bool],
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_native_channel_shuffle(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, groups: int) -> Tensor:
        """``channel_shuffle``."""
    @_operator
    @staticmethod
    def default(self: Tensor, groups: int) -> Tensor:
        """``channel_shuffle``."""

class _packet_native_dropout(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(cls, input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
        """``dropout`` and the mask of what stays."""
    @_operator
    @staticmethod
    def default(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
        """``dropout`` and the mask of what stays."""
    @_operator
    @staticmethod
    def out(input: Tensor, p: float, train: bool | None, *, out0: Tensor, out1: Tensor) -> tuple[Tensor, Tensor]: ...

class _packet_native_dropout_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
        """The gradient of ``native_dropout``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, mask: Tensor, scale: float) -> Tensor:
        """The gradient of ``native_dropout``."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, mask: Tensor, scale: float, *, out: Tensor) -> Tensor: ...

class _packet_native_group_norm(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each group of channels brought to mean 0 and variance 1, times ``weight`` plus ``bias``.

        Args:
            input: (N, C, ...).
            weight, bias: of each channel.
            N, C, HxW: the batch, the channels, and the elements of one.
            group: how many groups there are.
            eps: what is added to variances.

        Returns:
            The result; the mean and 1 / deviation of each group, (N, group).
        """
    @_operator
    @staticmethod
    def default(
        input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each group of channels brought to mean 0 and variance 1, times ``weight`` plus ``bias``.

        Args:
            input: (N, C, ...).
            weight, bias: of each channel.
            N, C, HxW: the batch, the channels, and the elements of one.
            group: how many groups there are.
            eps: what is added to variances.

        Returns:
            The result; the mean and 1 / deviation of each group, (N, group).
        """
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        N: int,
        C: int,
        HxW: int,
        group: int,
        eps: float,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Each group of channels brought to mean 0 and variance 1, times ``weight`` plus ``bias``.

        Args:
            input: (N, C, ...).
            weight, bias: of each channel.
            N, C, HxW: the batch, the channels, and the elements of one.
            group: how many groups there are.
            eps: what is added to variances.

        Returns:
            The result; the mean and 1 / deviation of each group, (N, group).
        """

class _packet_native_group_norm_backward(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        N: int,
        C: int,
        HxW: int,
        group: int,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``native_group_norm``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def default(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        N: int,
        C: int,
        HxW: int,
        group: int,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``native_group_norm``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def out(
        grad_out: Tensor,
        input: Tensor,
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        N: int,
        C: int,
        HxW: int,
        group: int,
        output_mask: bool | Sequence[bool],
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_native_layer_norm(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The last dimensions brought to mean 0 and variance 1, times ``weight`` plus ``bias``; mean and 1 / deviation."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The last dimensions brought to mean 0 and variance 1, times ``weight`` plus ``bias``; mean and 1 / deviation."""
    @_operator
    @staticmethod
    def out(
        input: Tensor,
        normalized_shape: Sequence[int],
        weight: Tensor | None,
        bias: Tensor | None,
        eps: float,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The last dimensions brought to mean 0 and variance 1, times ``weight`` plus ``bias``; mean and 1 / deviation."""

class _packet_native_layer_norm_backward(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        grad_out: Tensor,
        input: Tensor,
        normalized_shape: Sequence[int],
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``native_layer_norm``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def default(
        grad_out: Tensor,
        input: Tensor,
        normalized_shape: Sequence[int],
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        output_mask: bool | Sequence[bool],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The gradients of ``native_layer_norm``'s input, weight and bias, those that the mask asks for."""
    @_operator
    @staticmethod
    def out(
        grad_out: Tensor,
        input: Tensor,
        normalized_shape: Sequence[int],
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        output_mask: bool | Sequence[bool],
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_ne(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is different from ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Where ``self`` is different from a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is different from ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is different from ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is different from a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Where ``self`` is different from a number."""

class _packet_ne_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is different from ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is different from a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Where ``self`` is different from ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Where ``self`` is different from a number."""

class _packet_neg(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``-self``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``-self``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``-self``"""

class _packet_neg_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``-self``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``-self``"""

class _packet_negative(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``neg``: ``-self``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``neg``: ``-self``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``neg``: ``-self``"""

class _packet_negative_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Another name of ``neg``: ``-self``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``neg``: ``-self``"""

class _packet_new_empty(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of the dtype and device of another, of a size, whose elements are not set."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of the dtype and device of another, of a size, whose elements are not set."""
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_new_empty_strided(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        size: Sequence[int],
        stride: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of the dtype and device of another, of a size and strides, whose elements are not set."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        size: Sequence[int],
        stride: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of the dtype and device of another, of a size and strides, whose elements are not set."""
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], stride: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_new_full(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        size: Sequence[int],
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of the dtype and device of another, of a size, with every element the same."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        size: Sequence[int],
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of the dtype and device of another, of a size, with every element the same."""
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], fill_value: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_new_ones(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of ones of the dtype and device of another, of a size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of ones of the dtype and device of another, of a size."""
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_new_zeros(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of zeros of the dtype and device of another, of a size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of zeros of the dtype and device of another, of a size."""
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_nextafter(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The number after every element of ``self`` in the direction of ``other``."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The number after every element of ``self`` in the direction of ``other``."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The number after every element of ``self`` in the direction of ``other``."""

class _packet_nextafter_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The number after every element of ``self`` in the direction of ``other``."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The number after every element of ``self`` in the direction of ``other``."""

class _packet_nll_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The negative of what ``self``, logarithms of probabilities, has for each row's class."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
    ) -> Tensor:
        """The negative of what ``self``, logarithms of probabilities, has for each row's class."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
        *,
        out: Tensor,
    ) -> Tensor:
        """The negative of what ``self``, logarithms of probabilities, has for each row's class."""

class _packet_nll_loss2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``nll_loss`` of every place of images."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
    ) -> Tensor:
        """``nll_loss`` of every place of images."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
        *,
        out: Tensor,
    ) -> Tensor:
        """``nll_loss`` of every place of images."""

class _packet_nll_loss2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        total_weight: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``nll_loss2d_forward``."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        total_weight: Tensor,
    ) -> Tensor:
        """The gradient of ``nll_loss2d_forward``."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        total_weight: Tensor,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of ``nll_loss2d_forward``."""

class _packet_nll_loss2d_forward(Operator[..., _results_nll_loss2d_forward | tuple[Tensor, Tensor]], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
    ) -> _results_nll_loss2d_forward:
        """``nll_loss_forward`` of every place of images."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor],
    ) -> tuple[Tensor, Tensor]: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
    ) -> _results_nll_loss2d_forward:
        """``nll_loss_forward`` of every place of images."""
    @_operator
    @staticmethod
    def output(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        *,
        output: Tensor,
        total_weight: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """``nll_loss_forward`` of every place of images."""

class _packet_nll_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        total_weight: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``nll_loss_forward``."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        total_weight: Tensor,
    ) -> Tensor:
        """The gradient of ``nll_loss_forward``."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        total_weight: Tensor,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of ``nll_loss_forward``."""

class _packet_nll_loss_forward(Operator[..., _results_nll_loss_forward | tuple[Tensor, Tensor]], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
    ) -> _results_nll_loss_forward:
        """The negative of what ``self`` has for each row's class, weighted; of the mean also the sum of the weights."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor],
    ) -> tuple[Tensor, Tensor]: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
    ) -> _results_nll_loss_forward:
        """The negative of what ``self`` has for each row's class, weighted; of the mean also the sum of the weights."""
    @_operator
    @staticmethod
    def output(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
        *,
        output: Tensor,
        total_weight: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The negative of what ``self`` has for each row's class, weighted; of the mean also the sum of the weights."""

class _packet_nll_loss_nd(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
    ) -> Tensor:
        """``nll_loss`` with any number of dimensions behind the classes."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        target: Tensor,
        weight: Tensor | None = None,
        reduction: int = Reduction.Mean,
        ignore_index: int = -100,
    ) -> Tensor:
        """``nll_loss`` with any number of dimensions behind the classes."""

class _packet_nonzero(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The indices of the elements that are not zero, one row for each."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The indices of the elements that are not zero, one row for each."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The indices of the elements that are not zero, one row for each."""

class _packet_nonzero_numpy(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Tensor) -> list[Tensor]:
        """The indices of the elements that are not zero, one tensor for each dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> list[Tensor]:
        """The indices of the elements that are not zero, one tensor for each dimension."""

class _packet_norm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, p: _Scalar = 2) -> Tensor:
        """The norm of all elements."""
    @overload
    def __call__(cls, self: Tensor, p: _Scalar | None, *, dtype: DType) -> Tensor:
        """The norm of all elements, which become ``dtype`` first."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        p: _Scalar | None,
        dim: int | Sequence[int],
        keepdim: bool,
        *,
        dtype: DType,
        out: Tensor | None = None,
    ) -> Tensor:
        """The norm of vectors along dimensions, whose elements become ``dtype`` first."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        p: _Scalar | None,
        dim: int | Sequence[int],
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The norm of vectors along dimensions, along all for none given: ``linalg_vector_norm``, with 2 for None."""
    @_operator
    @staticmethod
    def ScalarOpt_dim(self: Tensor, p: _Scalar | None, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
        """The norm of vectors along dimensions, along all for none given: ``linalg_vector_norm``, with 2 for None."""
    @_operator
    @staticmethod
    def out(self: Tensor, p: _Scalar | None, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The norm of vectors along dimensions, along all for none given: ``linalg_vector_norm``, with 2 for None."""
    @_operator
    @staticmethod
    def ScalarOpt_dim_dtype(
        self: Tensor, p: _Scalar | None, dim: int | Sequence[int], keepdim: bool, *, dtype: DType
    ) -> Tensor:
        """The norm of vectors along dimensions, whose elements become ``dtype`` first."""
    @_operator
    @staticmethod
    def dtype_out(
        self: Tensor, p: _Scalar | None, dim: int | Sequence[int], keepdim: bool, *, dtype: DType, out: Tensor
    ) -> Tensor:
        """The norm of vectors along dimensions, whose elements become ``dtype`` first."""
    @_operator
    @staticmethod
    def Scalar(self: Tensor, p: _Scalar = 2) -> Tensor:
        """The norm of all elements."""
    @_operator
    @staticmethod
    def Scalar_out(self: Tensor, p: _Scalar = 2, *, out: Tensor) -> Tensor:
        """The norm of all elements."""
    @_operator
    @staticmethod
    def ScalarOpt_dtype(self: Tensor, p: _Scalar | None, *, dtype: DType) -> Tensor:
        """The norm of all elements, which become ``dtype`` first."""
    @_operator
    @staticmethod
    def ScalarOpt_dtype_out(self: Tensor, p: _Scalar | None, *, dtype: DType, out: Tensor) -> Tensor:
        """The norm of all elements, which become ``dtype`` first."""

class _packet_norm_except_dim(Operator[..., Tensor], Protocol):
    def __call__(cls, v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
        """The norms of all that belongs to each position along a dimension; of everything for -1."""
    @_operator
    @staticmethod
    def default(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
        """The norms of all that belongs to each position along a dimension; of everything for -1."""

class _packet_normal(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor:
        """Normally distributed numbers with means and standard deviations of their own."""
    @overload
    def __call__(
        cls, mean: Tensor, std: float = 1, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor:
        """Normally distributed numbers around the elements of a tensor."""
    @overload
    def __call__(
        cls, mean: float, std: Tensor, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor:
        """Normally distributed numbers with the elements of a tensor as standard deviations."""
    @overload
    def __call__(
        cls,
        mean: float,
        std: float,
        size: Sequence[int],
        *,
        generator: Generator | None = None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Normally distributed numbers of a size."""
    @_operator
    @staticmethod
    def Tensor_float(mean: Tensor, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Normally distributed numbers around the elements of a tensor."""
    @_operator
    @staticmethod
    def Tensor_float_out(mean: Tensor, std: float = 1, *, generator: Generator | None = None, out: Tensor) -> Tensor:
        """Fills ``out`` with normally distributed numbers around the elements of a tensor."""
    @_operator
    @staticmethod
    def float_Tensor(mean: float, std: Tensor, *, generator: Generator | None = None) -> Tensor:
        """Normally distributed numbers with the elements of a tensor as standard deviations."""
    @_operator
    @staticmethod
    def float_Tensor_out(mean: float, std: Tensor, *, generator: Generator | None = None, out: Tensor) -> Tensor:
        """Fills ``out`` with normally distributed numbers, the elements of a tensor being the standard deviations."""
    @_operator
    @staticmethod
    def Tensor_Tensor(mean: Tensor, std: Tensor, *, generator: Generator | None = None) -> Tensor:
        """Normally distributed numbers with means and standard deviations of their own."""
    @_operator
    @staticmethod
    def Tensor_Tensor_out(mean: Tensor, std: Tensor, *, generator: Generator | None = None, out: Tensor) -> Tensor:
        """Fills ``out`` with normally distributed numbers with means and standard deviations of their own."""
    @_operator
    @staticmethod
    def float_float(
        mean: float,
        std: float,
        size: Sequence[int],
        *,
        generator: Generator | None = None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Normally distributed numbers of a size."""
    @_operator
    @staticmethod
    def float_float_out(
        mean: float, std: float, size: Sequence[int], *, generator: Generator | None = None, out: Tensor
    ) -> Tensor:
        """Gives ``out`` the size and fills it with normally distributed numbers."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_normal_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with normally distributed numbers; of complex ones both parts are, with ``std / sqrt(2)``."""
    @_operator
    @staticmethod
    def default(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with normally distributed numbers; of complex ones both parts are, with ``std / sqrt(2)``."""

class _packet_normal_functional(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Normally distributed numbers, in the form of a tensor."""
    @_operator
    @staticmethod
    def default(self: Tensor, mean: float = 0, std: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Normally distributed numbers, in the form of a tensor."""

class _packet_not_equal(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``ne``: Where ``self`` is different from ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``ne_number``: Where ``self`` is different from a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``ne``: Where ``self`` is different from ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """Another name of ``ne``: Where ``self`` is different from ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``ne_number``: Where ``self`` is different from a number."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """Another name of ``ne_number``: Where ``self`` is different from a number."""

class _packet_not_equal_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``ne``: Where ``self`` is different from ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``ne_number``: Where ``self`` is different from a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """Another name of ``ne``: Where ``self`` is different from ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``ne_number``: Where ``self`` is different from a number."""

class _packet_nuclear_norm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """The sum of the singular values of matrices in two dimensions."""
    @overload
    def __call__(cls, self: Tensor, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
        """The sum of the singular values of matrices."""
    @_operator
    @staticmethod
    def default(self: Tensor, keepdim: bool = False) -> Tensor:
        """The sum of the singular values of matrices."""
    @_operator
    @staticmethod
    def out(self: Tensor, keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The sum of the singular values of matrices."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
        """The sum of the singular values of matrices in two dimensions."""
    @_operator
    @staticmethod
    def dim_out(self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor) -> Tensor:
        """The sum of the singular values of matrices in two dimensions."""

class _packet_numel(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """How many elements there are."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """How many elements there are."""

class _packet_numpy_T(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``x.T``: all dimensions the other way round."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``x.T``: all dimensions the other way round."""

class _packet_one_hot(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, num_classes: int = -1) -> Tensor:
        """A row for each number, 1 at that position and 0 elsewhere; as long as the largest number asks for by default."""
    @_operator
    @staticmethod
    def default(self: Tensor, num_classes: int = -1) -> Tensor:
        """A row for each number, 1 at that position and 0 elsewhere; as long as the largest number asks for by default."""

class _packet_ones(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """A tensor of ones."""
    @overload
    def __call__(
        cls,
        *size: int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of ones."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], *, out: Tensor) -> Tensor:
        """Gives ``out`` the size and sets every element to 1."""

class _packet_ones_like(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of ones in the form of another."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A tensor of ones in the form of another."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...

class _packet_outer(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The products of each element of one vector with each of another."""
    @_operator
    @staticmethod
    def default(self: Tensor, vec2: Tensor) -> Tensor:
        """The products of each element of one vector with each of another."""
    @_operator
    @staticmethod
    def out(self: Tensor, vec2: Tensor, *, out: Tensor) -> Tensor:
        """The products of each element of one vector with each of another."""

class _packet_output_nr(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """Which result of its call the tensor is."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """Which result of its call the tensor is."""

class _packet_pad(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
        """The tensor with margins: of a number, or of its own elements.

        Args:
            self: with as many dimensions as ``pad`` says; for other modes than ``constant`` with channels and perhaps a
                batch before them.
            pad: the margins before and after, from the last dimension on; negative ones cut elements off.
            mode: ``constant``, ``reflect``, ``replicate`` or ``circular``.
            value: of the margins, for ``constant``.

        >>> import opdsl
        >>> opdsl.nn.pad(opdsl.tensor([[1, 2, 3]]), [2, 1], mode="reflect")
        tensor([[3, 2, 1, 2, 3, 2]])
        """
    @_operator
    @staticmethod
    def default(self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
        """The tensor with margins: of a number, or of its own elements.

        Args:
            self: with as many dimensions as ``pad`` says; for other modes than ``constant`` with channels and perhaps a
                batch before them.
            pad: the margins before and after, from the last dimension on; negative ones cut elements off.
            mode: ``constant``, ``reflect``, ``replicate`` or ``circular``.
            value: of the margins, for ``constant``.

        >>> import opdsl
        >>> opdsl.nn.pad(opdsl.tensor([[1, 2, 3]]), [2, 1], mode="reflect")
        tensor([[3, 2, 1, 2, 3, 2]])
        """

class _packet_pad_sequence(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        sequences: Sequence[Tensor],
        batch_first: bool = False,
        padding_value: float = 0.0,
        padding_side: str = "right",
    ) -> Tensor:
        """Sequences of several lengths as one tensor, padded to the longest."""
    @_operator
    @staticmethod
    def default(
        sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
    ) -> Tensor:
        """Sequences of several lengths as one tensor, padded to the longest."""

class _packet_pairwise_distance(Operator[..., Tensor], Protocol):
    def __call__(cls, x1: Tensor, x2: Tensor, p: float = 2, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
        """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension."""
    @_operator
    @staticmethod
    def default(x1: Tensor, x2: Tensor, p: float = 2, eps: float = 1e-06, keepdim: bool = False) -> Tensor:
        """The ``p``-norm of ``x1 - x2 + eps`` along the last dimension."""

class _packet_pdist(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: float = 2) -> Tensor:
        """The distances of each row of a matrix to all rows behind it."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: float = 2) -> Tensor:
        """The distances of each row of a matrix to all rows behind it."""

class _packet_permute(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dims: Sequence[int]) -> Tensor:
        """The dimensions in another order."""
    @_operator
    @staticmethod
    def default(self: Tensor, dims: Sequence[int]) -> Tensor:
        """The dimensions in another order."""

class _packet_permute_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dims: Sequence[int], *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, dims: Sequence[int]) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, dims: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_pin_memory(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, device: Device | str | int | None = None) -> Tensor:
        """The tensor itself if it lies in page-locked memory, a copy that does otherwise."""
    @_operator
    @staticmethod
    def default(self: Tensor, device: Device | str | int | None = None) -> Tensor:
        """The tensor itself if it lies in page-locked memory, a copy that does otherwise."""

class _packet_pinverse(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, rcond: float = 1e-15) -> Tensor:
        """The pseudo-inverses of matrices."""
    @_operator
    @staticmethod
    def default(self: Tensor, rcond: float = 1e-15) -> Tensor:
        """The pseudo-inverses of matrices."""

class _packet_pixel_shuffle(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, upscale_factor: int) -> Tensor:
        """Images (..., C * r * r, H, W) as larger ones of fewer channels (..., C, H * r, W * r)."""
    @_operator
    @staticmethod
    def default(self: Tensor, upscale_factor: int) -> Tensor:
        """Images (..., C * r * r, H, W) as larger ones of fewer channels (..., C, H * r, W * r)."""
    @_operator
    @staticmethod
    def out(self: Tensor, upscale_factor: int, *, out: Tensor) -> Tensor: ...

class _packet_pixel_unshuffle(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, downscale_factor: int) -> Tensor:
        """Images (..., C, H * r, W * r) as smaller ones of more channels (..., C * r * r, H, W)."""
    @_operator
    @staticmethod
    def default(self: Tensor, downscale_factor: int) -> Tensor:
        """Images (..., C, H * r, W * r) as smaller ones of more channels (..., C * r * r, H, W)."""
    @_operator
    @staticmethod
    def out(self: Tensor, downscale_factor: int, *, out: Tensor) -> Tensor: ...

class _packet_poisson_nll_loss(Operator[..., Tensor], Protocol):
    def __call__(cls, input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
        """The negative logarithm of the probability of ``target`` events where ``input`` are expected.

        Args:
            input: the expected numbers, or their logarithms.
            target: the numbers.
            log_input: whether ``input`` are logarithms.
            full: whether the logarithm of the factorial, by Stirling's formula, is added where ``target`` is above 1.
            eps: keeps logarithms finite.
            reduction: see ``Reduction``.
        """
    @_operator
    @staticmethod
    def default(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
        """The negative logarithm of the probability of ``target`` events where ``input`` are expected.

        Args:
            input: the expected numbers, or their logarithms.
            target: the numbers.
            log_input: whether ``input`` are logarithms.
            full: whether the logarithm of the factorial, by Stirling's formula, is added where ``target`` is above 1.
            eps: keeps logarithms finite.
            reduction: see ``Reduction``.
        """

class _packet_polar(Operator[..., Tensor], Protocol):
    def __call__(cls, abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``abs * exp(1j * angle)``, float32 or float64 both."""
    @_operator
    @staticmethod
    def default(abs: Tensor, angle: Tensor) -> Tensor:
        """``abs * exp(1j * angle)``, float32 or float64 both."""
    @_operator
    @staticmethod
    def out(abs: Tensor, angle: Tensor, *, out: Tensor) -> Tensor:
        """``abs * exp(1j * angle)``, float32 or float64 both."""

class _packet_polygamma(Operator[..., Tensor], Protocol):
    def __call__(cls, n: int, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The derivative of ``digamma``, taken ``n`` times."""
    @_operator
    @staticmethod
    def default(n: int, self: Tensor) -> Tensor:
        """The derivative of ``digamma``, taken ``n`` times."""
    @_operator
    @staticmethod
    def out(n: int, self: Tensor, *, out: Tensor) -> Tensor:
        """The derivative of ``digamma``, taken ``n`` times."""

class _packet_polygamma_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, n: int) -> Tensor:
        """``polygamma``, written into ``self``."""
    @_operator
    @staticmethod
    def default(self: Tensor, n: int) -> Tensor:
        """``polygamma``, written into ``self``."""

class _packet_positive(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self`` itself."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self`` itself."""

class _packet_pow(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @overload
    def __call__(cls, self: _Scalar, exponent: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self ** exponent`` for a number as base."""
    @overload
    def __call__(cls, self: Tensor, exponent: _Scalar, *, out: Tensor | None = None) -> Tensor:
        """``self ** exponent`` for a number."""
    @_operator
    @staticmethod
    def Tensor_Tensor(self: Tensor, exponent: Tensor) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @_operator
    @staticmethod
    def Tensor_Tensor_out(self: Tensor, exponent: Tensor, *, out: Tensor) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @_operator
    @staticmethod
    def Tensor_Scalar(self: Tensor, exponent: _Scalar) -> Tensor:
        """``self ** exponent`` for a number."""
    @_operator
    @staticmethod
    def Tensor_Scalar_out(self: Tensor, exponent: _Scalar, *, out: Tensor) -> Tensor:
        """``self ** exponent`` for a number."""
    @_operator
    @staticmethod
    def Scalar(self: _Scalar, exponent: Tensor) -> Tensor:
        """``self ** exponent`` for a number as base."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Scalar, exponent: Tensor, *, out: Tensor) -> Tensor:
        """``self ** exponent`` for a number as base."""

class _packet_pow_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, exponent: _Tensor) -> _Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @overload
    def __call__(cls, self: _Tensor, exponent: _Scalar) -> _Tensor:
        """``self ** exponent`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, exponent: _Tensor) -> _Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, exponent: _Scalar) -> _Tensor:
        """``self ** exponent`` for a number."""

class _packet_prelu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, weight: Tensor) -> Tensor:
        """``self``, times a learned weight where it is negative: one for all, or one for each channel (He et al., 2015)."""
    @_operator
    @staticmethod
    def default(self: Tensor, weight: Tensor) -> Tensor:
        """``self``, times a learned weight where it is negative: one for all, or one for each channel (He et al., 2015)."""

class _packet_prod(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, dtype: DType | None = None) -> Tensor:
        """The product of all elements."""
    @overload
    def __call__(
        cls, self: Tensor, dim: int, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor | None = None
    ) -> Tensor:
        """The product along a dimension; integers are multiplied as int64."""
    @_operator
    @staticmethod
    def dim_int(self: Tensor, dim: int, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
        """The product along a dimension; integers are multiplied as int64."""
    @_operator
    @staticmethod
    def int_out(self: Tensor, dim: int, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor) -> Tensor:
        """The product along a dimension; integers are multiplied as int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, dtype: DType | None = None) -> Tensor:
        """The product of all elements."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, dtype: DType | None = None, out: Tensor) -> Tensor:
        """The product of all elements."""

class _packet_promote_types(Operator[..., DType], Protocol):
    def __call__(cls, type1: DType, type2: DType) -> DType:
        """The smallest dtype that holds what both hold."""
    @_operator
    @staticmethod
    def default(type1: DType, type2: DType) -> DType:
        """The smallest dtype that holds what both hold."""

class _packet_put(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """``self`` with values written, or added, at positions among all elements."""
    @_operator
    @staticmethod
    def default(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """``self`` with values written, or added, at positions among all elements."""
    @_operator
    @staticmethod
    def out(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False, *, out: Tensor) -> Tensor: ...

class _packet_put_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """Writes, or adds, values at positions among all elements."""
    @_operator
    @staticmethod
    def default(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
        """Writes, or adds, values at positions among all elements."""

class _packet_qr(Operator[..., _results_qr], Protocol):
    def __call__(
        cls, self: Tensor, some: bool = True, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None
    ) -> _results_qr:
        """An older name of ``linalg.qr``."""
    @_operator
    @staticmethod
    def default(self: Tensor, some: bool = True) -> _results_qr:
        """An older name of ``linalg.qr``."""
    @_operator
    @staticmethod
    def Q(self: Tensor, some: bool = True, *, Q: Tensor, R: Tensor) -> _results_qr:
        """An older name of ``linalg.qr``."""

class _packet_quantile(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        q: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        self: Tensor,
        q: float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor, q: Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        q: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def scalar(
        self: Tensor, q: float, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def scalar_out(
        self: Tensor,
        q: float,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
        out: Tensor,
    ) -> Tensor: ...

class _packet_rad2deg(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Radians as degrees."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Radians as degrees."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Radians as degrees."""

class _packet_rad2deg_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Radians as degrees."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Radians as degrees."""

class _packet_rand(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Numbers from [0, 1), of a given generator."""
    @overload
    def __call__(
        cls,
        *size: int,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Numbers from [0, 1)."""
    @overload
    def __call__(
        cls,
        *size: int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Numbers from [0, 1)."""
    @_operator
    @staticmethod
    def generator(
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Numbers from [0, 1), of a given generator."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], *, out: Tensor) -> Tensor:
        """Gives ``out`` the size and fills it with numbers from [0, 1)."""
    @_operator
    @staticmethod
    def generator_out(size: Sequence[int], *, generator: Generator | None, out: Tensor) -> Tensor:
        """Gives ``out`` the size and fills it with numbers from [0, 1), of a given generator."""

class _packet_rand_like(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """Numbers from [0, 1), of a given generator, in the form of a tensor."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """Numbers from [0, 1), in the form of a tensor."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """Numbers from [0, 1), in the form of a tensor."""
    @_operator
    @staticmethod
    def generator(
        self: Tensor,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """Numbers from [0, 1), of a given generator, in the form of a tensor."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def generator_out(
        self: Tensor, *, generator: Generator | None, memory_format: MemoryFormat | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_randint(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        high: int,
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Integers from 0 up to, but not including, ``high``, of a given generator."""
    @overload
    def __call__(
        cls,
        high: int,
        size: Sequence[int],
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Integers from 0 up to, but not including, ``high``."""
    @overload
    def __call__(
        cls,
        low: int,
        high: int,
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Integers from ``low`` up to, but not including, ``high``, of a given generator."""
    @overload
    def __call__(
        cls,
        low: int,
        high: int,
        size: Sequence[int],
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Integers from ``low`` up to, but not including, ``high``."""
    @_operator
    @staticmethod
    def default(
        high: int,
        size: Sequence[int],
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Integers from 0 up to, but not including, ``high``."""
    @_operator
    @staticmethod
    def generator(
        high: int,
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Integers from 0 up to, but not including, ``high``, of a given generator."""
    @_operator
    @staticmethod
    def low(
        low: int,
        high: int,
        size: Sequence[int],
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Integers from ``low`` up to, but not including, ``high``."""
    @_operator
    @staticmethod
    def low_generator(
        low: int,
        high: int,
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Integers from ``low`` up to, but not including, ``high``, of a given generator."""
    @_operator
    @staticmethod
    def out(high: int, size: Sequence[int], *, out: Tensor) -> Tensor:
        """``randint`` into a given tensor."""
    @_operator
    @staticmethod
    def generator_out(high: int, size: Sequence[int], *, generator: Generator | None, out: Tensor) -> Tensor:
        """``randint`` of a given generator into a given tensor."""
    @_operator
    @staticmethod
    def low_out(low: int, high: int, size: Sequence[int], *, out: Tensor) -> Tensor:
        """``randint`` from ``low`` into a given tensor."""
    @_operator
    @staticmethod
    def low_generator_out(
        low: int, high: int, size: Sequence[int], *, generator: Generator | None, out: Tensor
    ) -> Tensor:
        """``randint`` from ``low``, of a given generator, into a given tensor."""

class _packet_randint_like(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: _Tensor,
        low: int,
        high: int,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> _Tensor:
        """Integers from ``low`` up to ``high``, of a given generator, in the form of a tensor."""
    @overload
    def __call__(
        cls,
        self: _Tensor,
        low: int,
        high: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> _Tensor:
        """Integers from ``low`` up to, but not including, ``high``, in the form of a tensor."""
    @overload
    def __call__(
        cls,
        self: _Tensor,
        high: _Tensor,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> _Tensor:
        """``randint_like`` up to the element of a zero-dim tensor, of a given generator."""
    @overload
    def __call__(
        cls,
        self: _Tensor,
        high: _Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> _Tensor:
        """``randint_like`` up to the element of a zero-dim tensor."""
    @overload
    def __call__(
        cls,
        self: _Tensor,
        high: int,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> _Tensor:
        """Integers from 0 up to ``high``, of a given generator, in the form of a tensor."""
    @overload
    def __call__(
        cls,
        self: _Tensor,
        high: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> _Tensor:
        """Integers from 0 up to, but not including, ``high``, in the form of a tensor."""
    @_operator
    @staticmethod
    def default(
        self: _Tensor,
        high: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> _Tensor:
        """Integers from 0 up to, but not including, ``high``, in the form of a tensor."""
    @_operator
    @staticmethod
    def generator(
        self: _Tensor,
        high: int,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> _Tensor:
        """Integers from 0 up to ``high``, of a given generator, in the form of a tensor."""
    @_operator
    @staticmethod
    def Tensor(
        self: _Tensor,
        high: _Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> _Tensor:
        """``randint_like`` up to the element of a zero-dim tensor."""
    @_operator
    @staticmethod
    def Tensor_generator(
        self: _Tensor,
        high: _Tensor,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> _Tensor:
        """``randint_like`` up to the element of a zero-dim tensor, of a given generator."""
    @_operator
    @staticmethod
    def low_dtype(
        self: _Tensor,
        low: int,
        high: int,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> _Tensor:
        """Integers from ``low`` up to, but not including, ``high``, in the form of a tensor."""
    @_operator
    @staticmethod
    def low_generator_dtype(
        self: _Tensor,
        low: int,
        high: int,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> _Tensor:
        """Integers from ``low`` up to ``high``, of a given generator, in the form of a tensor."""
    @_operator
    @staticmethod
    def out(self: _Tensor, high: int, *, memory_format: MemoryFormat | None = None, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def generator_out(
        self: _Tensor,
        high: int,
        *,
        generator: Generator | None,
        memory_format: MemoryFormat | None = None,
        out: _Tensor,
    ) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor_out(
        self: _Tensor, high: _Tensor, *, memory_format: MemoryFormat | None = None, out: _Tensor
    ) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor_generator_out(
        self: _Tensor,
        high: _Tensor,
        *,
        generator: Generator | None,
        memory_format: MemoryFormat | None = None,
        out: _Tensor,
    ) -> _Tensor: ...
    @_operator
    @staticmethod
    def low_dtype_out(
        self: _Tensor, low: int, high: int, *, memory_format: MemoryFormat | None = None, out: _Tensor
    ) -> _Tensor: ...
    @_operator
    @staticmethod
    def low_generator_dtype_out(
        self: _Tensor,
        low: int,
        high: int,
        *,
        generator: Generator | None,
        memory_format: MemoryFormat | None = None,
        out: _Tensor,
    ) -> _Tensor: ...

class _packet_randn(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Normally distributed numbers, of a given generator."""
    @overload
    def __call__(
        cls,
        *size: int,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """Normally distributed numbers."""
    @overload
    def __call__(
        cls,
        *size: int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Normally distributed numbers."""
    @_operator
    @staticmethod
    def generator(
        size: Sequence[int],
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Normally distributed numbers, of a given generator."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], *, out: Tensor) -> Tensor:
        """Gives ``out`` the size and fills it with normally distributed numbers."""
    @_operator
    @staticmethod
    def generator_out(size: Sequence[int], *, generator: Generator | None, out: Tensor) -> Tensor:
        """Gives ``out`` the size and fills it with normally distributed numbers, of a given generator."""

class _packet_randn_like(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """Normally distributed numbers, of a given generator, in the form of a tensor."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """Normally distributed numbers, in the form of a tensor."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """Normally distributed numbers, in the form of a tensor."""
    @_operator
    @staticmethod
    def generator(
        self: Tensor,
        *,
        generator: Generator | None,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """Normally distributed numbers, of a given generator, in the form of a tensor."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def generator_out(
        self: Tensor, *, generator: Generator | None, memory_format: MemoryFormat | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_random(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, generator: Generator | None = None, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(
        cls, self: Tensor, from_: int, to: int | None, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    @overload
    def __call__(
        cls, self: Tensor, to: int, *, generator: Generator | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, generator: Generator | None = None, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def from_out(
        self: Tensor, from_: int, to: int | None, *, generator: Generator | None = None, out: Tensor
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def to(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def to_out(self: Tensor, to: int, *, generator: Generator | None = None, out: Tensor) -> Tensor: ...

class _packet_random_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from 0 to the largest that its dtype holds without gaps below."""
    @overload
    def __call__(cls, self: Tensor, from_: int, to: int | None, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from ``from`` up to, but not including, ``to``."""
    @overload
    def __call__(cls, self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from 0 up to, but not including, ``to``."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from 0 to the largest that its dtype holds without gaps below."""
    @_operator
    @staticmethod
    def to(self: Tensor, to: int, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from 0 up to, but not including, ``to``."""

class _packet_randperm(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        n: int,
        *,
        generator: Generator | None,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The integers below ``n`` in a random order of a given generator."""
    @overload
    def __call__(
        cls,
        n: int,
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The integers below ``n`` in a random order, every order being as likely as the others."""
    @_operator
    @staticmethod
    def default(
        n: int,
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The integers below ``n`` in a random order, every order being as likely as the others."""
    @_operator
    @staticmethod
    def generator(
        n: int,
        *,
        generator: Generator | None,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The integers below ``n`` in a random order of a given generator."""
    @_operator
    @staticmethod
    def out(n: int, *, out: Tensor) -> Tensor:
        """``randperm`` into a given tensor."""
    @_operator
    @staticmethod
    def generator_out(n: int, *, generator: Generator | None, out: Tensor) -> Tensor:
        """``randperm`` of a given generator into a given tensor."""

class _packet_ravel(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """One dimension: a view of a contiguous tensor, a copy of others."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """One dimension: a view of a contiguous tensor, a copy of others."""

class _packet_real(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The real parts; real numbers are their own."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The real parts; real numbers are their own."""

class _packet_reciprocal(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``1 / self``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 / self``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``1 / self``"""

class _packet_reciprocal_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``1 / self``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 / self``"""

class _packet_record_stream(Operator[..., None], Protocol):
    def __call__(cls, self: Tensor, s: Stream) -> None:
        """Keeps the tensor's memory, when it is freed, until a stream has done what is queued on it then."""
    @_operator
    @staticmethod
    def default(self: Tensor, s: Stream) -> None:
        """Keeps the tensor's memory, when it is freed, until a stream has done what is queued on it then."""

class _packet_reflection_pad1d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def out(self: Tensor, padding: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""

class _packet_reflection_pad1d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, grad_input: Tensor) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""

class _packet_reflection_pad2d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def out(self: Tensor, padding: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""

class _packet_reflection_pad2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, grad_input: Tensor) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""

class _packet_reflection_pad3d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def out(self: Tensor, padding: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""

class _packet_reflection_pad3d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, grad_input: Tensor) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""

class _packet_relu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``max(self, 0)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``max(self, 0)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``max(self, 0)``"""

class _packet_relu6(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self`` between 0 and 6."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self`` between 0 and 6."""

class _packet_relu6_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self`` between 0 and 6."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self`` between 0 and 6."""

class _packet_relu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``max(self, 0)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``max(self, 0)``"""

class _packet_remainder(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @overload
    def __call__(cls, self: _Scalar, other: _Tensor) -> _Tensor:
        """What dividing a number leaves."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """What dividing by a number leaves."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """What dividing by a number leaves."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, *, out: _Tensor) -> _Tensor:
        """What dividing by a number leaves."""
    @_operator
    @staticmethod
    def Scalar_Tensor(self: _Scalar, other: _Tensor) -> _Tensor:
        """What dividing a number leaves."""
    @_operator
    @staticmethod
    def Scalar_Tensor_out(self: _Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """What dividing a number leaves."""

class _packet_remainder_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar) -> _Tensor:
        """What dividing by a number leaves."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """What dividing by a number leaves."""

class _packet_renorm(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: Scalar, dim: int, maxnorm: Scalar, *, out: Tensor | None = None) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""
    @_operator
    @staticmethod
    def out(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar, *, out: Tensor) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""

class _packet_renorm_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: Scalar, dim: int, maxnorm: Scalar) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""

class _packet_repeat(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, repeats: Sequence[int]) -> Tensor:
        """The tensor side by side with itself, so many times along each dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, repeats: Sequence[int]) -> Tensor:
        """The tensor side by side with itself, so many times along each dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, repeats: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_repeat_interleave(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, repeats: _Tensor, *, output_size: int | None = None) -> _Tensor:
        """Every position as often as ``repeats`` says."""
    @overload
    def __call__(
        cls, self: _Tensor, repeats: _Tensor, dim: int | None = None, *, output_size: int | None = None
    ) -> _Tensor:
        """Every position of a dimension as often as ``repeats`` says, one after another."""
    @overload
    def __call__(
        cls, self: _Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
    ) -> _Tensor:
        """Every position of a dimension so many times, one after another."""
    @_operator
    @staticmethod
    def Tensor(repeats: _Tensor, *, output_size: int | None = None) -> _Tensor:
        """Every position as often as ``repeats`` says."""
    @_operator
    @staticmethod
    def Tensor_out(repeats: _Tensor, *, output_size: int | None = None, out: _Tensor) -> _Tensor:
        """Every position as often as ``repeats`` says."""
    @_operator
    @staticmethod
    def self_Tensor(
        self: _Tensor, repeats: _Tensor, dim: int | None = None, *, output_size: int | None = None
    ) -> _Tensor:
        """Every position of a dimension as often as ``repeats`` says, one after another."""
    @_operator
    @staticmethod
    def self_int(self: _Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None) -> _Tensor:
        """Every position of a dimension so many times, one after another."""

class _packet_replication_pad1d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def out(self: Tensor, padding: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""

class _packet_replication_pad1d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, grad_input: Tensor) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""

class _packet_replication_pad2d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def out(self: Tensor, padding: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""

class _packet_replication_pad2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, grad_input: Tensor) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""

class _packet_replication_pad3d(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def default(self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""
    @_operator
    @staticmethod
    def out(self: Tensor, padding: int | Sequence[int], *, out: Tensor) -> Tensor:
        """The last dimensions with margins, from the last one on, that repeat elements within; negative ones cut."""

class _packet_replication_pad3d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, padding: int | Sequence[int]) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, padding: int | Sequence[int], *, grad_input: Tensor) -> Tensor:
        """The gradient of what was padded: each element's own, and those of its copies in the margins."""

class _packet_reshape(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, shape: Sequence[int]) -> Tensor:
        """Another shape of the same elements: a view where strides can show it, a copy elsewhere."""
    @_operator
    @staticmethod
    def default(self: Tensor, shape: Sequence[int]) -> Tensor:
        """Another shape of the same elements: a view where strides can show it, a copy elsewhere."""

class _packet_reshape_as(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The shape of another tensor: a view where strides can show it, a copy elsewhere."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The shape of another tensor: a view where strides can show it, a copy elsewhere."""

class _packet_resize(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, size: Sequence[int], *, memory_format: MemoryFormat | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int], *, memory_format: MemoryFormat | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...

class _packet_resize_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, size: Sequence[int], *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Gives the tensor another size, in place; new elements are not set."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int], *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Gives the tensor another size, in place; new elements are not set."""

class _packet_resize_as(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor | None = None
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_resize_as_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Gives the tensor the size of another, in place."""
    @_operator
    @staticmethod
    def default(self: Tensor, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Gives the tensor the size of another, in place."""

class _packet_resolve_conj(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor itself: no conjugation is ever put off."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor itself: no conjugation is ever put off."""

class _packet_resolve_neg(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The tensor itself: no negation is ever put off."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tensor itself: no negation is ever put off."""

class _packet_result_type(Operator[..., DType], Protocol):
    @overload
    def __call__(cls, tensor: _Tensor, other: _Tensor) -> DType:
        """The dtype that an operation on both computes in."""
    @overload
    def __call__(cls, scalar: _Scalar, tensor: _Tensor) -> DType:
        """The dtype that an operation on a number and a tensor computes in."""
    @overload
    def __call__(cls, tensor: _Tensor, other: _Scalar) -> DType:
        """The dtype that an operation on a tensor and a number computes in."""
    @overload
    def __call__(cls, scalar1: _Scalar, scalar2: _Scalar) -> DType:
        """The dtype that an operation on two numbers computes in."""
    @_operator
    @staticmethod
    def Tensor(tensor: _Tensor, other: _Tensor) -> DType:
        """The dtype that an operation on both computes in."""
    @_operator
    @staticmethod
    def Scalar(tensor: _Tensor, other: _Scalar) -> DType:
        """The dtype that an operation on a tensor and a number computes in."""
    @_operator
    @staticmethod
    def Scalar_Tensor(scalar: _Scalar, tensor: _Tensor) -> DType:
        """The dtype that an operation on a number and a tensor computes in."""
    @_operator
    @staticmethod
    def Scalar_Scalar(scalar1: _Scalar, scalar2: _Scalar) -> DType:
        """The dtype that an operation on two numbers computes in."""

class _packet_retains_grad(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor) -> bool:
        """Whether the tensor keeps its gradient though it is no leaf."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> bool:
        """Whether the tensor keeps its gradient though it is no leaf."""

class _packet_rms_norm(Operator[..., Tensor], Protocol):
    def __call__(
        cls, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
    ) -> Tensor:
        """The last dimensions divided by the root of their mean square, times ``weight``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
    ) -> Tensor:
        """The last dimensions divided by the root of their mean square, times ``weight``."""

class _packet_rnn_relu(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Layers of an Elman network whose function is ``relu`` over sequences: what they give, and their last states."""
    @_operator
    @staticmethod
    def input(
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Layers of an Elman network whose function is ``relu`` over sequences: what they give, and their last states."""

class _packet_rnn_relu_cell(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        """The next state of an Elman network whose function is ``relu``."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        """The next state of an Elman network whose function is ``relu``."""

class _packet_rnn_tanh(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Layers of an Elman network over sequences: what they give, and their last states."""
    @_operator
    @staticmethod
    def input(
        input: Tensor,
        hx: Tensor,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, Tensor]:
        """Layers of an Elman network over sequences: what they give, and their last states."""

class _packet_rnn_tanh_cell(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        """The next state of an Elman network."""
    @_operator
    @staticmethod
    def default(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        """The next state of an Elman network."""

class _packet_roll(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
        """Elements moved along dimensions; what leaves at the end comes in at the beginning."""
    @_operator
    @staticmethod
    def default(self: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = ()) -> Tensor:
        """Elements moved along dimensions; what leaves at the end comes in at the beginning."""
    @_operator
    @staticmethod
    def out(self: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] = (), *, out: Tensor) -> Tensor:
        """Elements moved along dimensions; what leaves at the end comes in at the beginning."""

class _packet_rot90(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
        """A plane turned by ``k`` right angles, from the first of its dimensions towards the second."""
    @_operator
    @staticmethod
    def default(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
        """A plane turned by ``k`` right angles, from the first of its dimensions towards the second."""
    @_operator
    @staticmethod
    def out(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1), *, out: Tensor) -> Tensor:
        """A plane turned by ``k`` right angles, from the first of its dimensions towards the second."""

class _packet_round(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @overload
    def __call__(cls, self: Tensor, *, decimals: int, out: Tensor | None = None) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @_operator
    @staticmethod
    def decimals(self: Tensor, *, decimals: int) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""
    @_operator
    @staticmethod
    def decimals_out(self: Tensor, *, decimals: int, out: Tensor) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""

class _packet_round_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @overload
    def __call__(cls, self: Tensor, *, decimals: int) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @_operator
    @staticmethod
    def decimals(self: Tensor, *, decimals: int) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""

class _packet_row_stack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """Another name of ``vstack``: The tensors one below the other."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """Another name of ``vstack``: The tensors one below the other."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """Another name of ``vstack``: The tensors one below the other."""

class _packet_rrelu(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``self``, times a slope where it is negative: drawn for each element, or the mean of both bounds."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``self``, times a slope where it is negative: drawn for each element, or the mean of both bounds."""

class _packet_rrelu_(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``rrelu`` in place."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``rrelu`` in place."""

class _packet_rrelu_with_noise(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``self``, times a slope that is drawn where it is negative; the slopes go into ``noise`` (Xu et al., 2015)."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``self``, times a slope that is drawn where it is negative; the slopes go into ``noise`` (Xu et al., 2015)."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """``rrelu_with_noise`` into a given tensor."""

class _packet_rrelu_with_noise_(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``rrelu_with_noise`` in place."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> Tensor:
        """``rrelu_with_noise`` in place."""

class _packet_rrelu_with_noise_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        noise: Tensor,
        lower: Scalar,
        upper: Scalar,
        training: bool,
        self_is_result: bool,
    ) -> Tensor:
        """The gradient of ``rrelu_with_noise``."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        self: Tensor,
        noise: Tensor,
        lower: Scalar,
        upper: Scalar,
        training: bool,
        self_is_result: bool,
    ) -> Tensor:
        """The gradient of ``rrelu_with_noise``."""
    @_operator
    @staticmethod
    def out(
        grad_output: Tensor,
        self: Tensor,
        noise: Tensor,
        lower: Scalar,
        upper: Scalar,
        training: bool,
        self_is_result: bool,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_rrelu_with_noise_functional(Operator[..., tuple[Tensor, Tensor]], Protocol):
    def __call__(
        cls,
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> tuple[Tensor, Tensor]: ...
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        noise: Tensor,
        lower: Scalar = 0.125,
        upper: Scalar = 0.3333333333333333,
        training: bool = False,
        generator: Generator | None = None,
    ) -> tuple[Tensor, Tensor]: ...

class _packet_rsqrt(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``1 / sqrt(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 / sqrt(self)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``1 / sqrt(self)``"""

class _packet_rsqrt_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``1 / sqrt(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 / sqrt(self)``"""

class _packet_rsub(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """``other - alpha * self``"""
    @overload
    def __call__(cls, self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``other - alpha * self`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1) -> _Tensor:
        """``other - alpha * self``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``other - alpha * self`` for a number."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, other: _Tensor, *, alpha: _Scalar = 1, out: _Tensor) -> _Tensor: ...
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, alpha: _Scalar = 1, *, out: _Tensor) -> _Tensor: ...

class _packet_scalar_tensor(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        s: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A number as a zero-dim tensor, of the default dtype if none is given."""
    @_operator
    @staticmethod
    def default(
        s: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A number as a zero-dim tensor, of the default dtype if none is given."""
    @_operator
    @staticmethod
    def out(s: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_scaled_dot_product_attention(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """The means of values, weighted by the softmax of the products of queries and keys.

        Args:
            query, key, value: (..., heads, length, size).
            attn_mask: what is added to scores, or which of them count.
            dropout_p: the share of weights that are dropped.
            is_causal: whether a query sees keys up to its own position alone.
            scale: of scores; by default 1 / the root of the size.
            enable_gqa: whether keys and values may have fewer heads, each for a group of those of queries.
        """
    @_operator
    @staticmethod
    def default(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """The means of values, weighted by the softmax of the products of queries and keys.

        Args:
            query, key, value: (..., heads, length, size).
            attn_mask: what is added to scores, or which of them count.
            dropout_p: the share of weights that are dropped.
            is_causal: whether a query sees keys up to its own position alone.
            scale: of scores; by default 1 / the root of the size.
            enable_gqa: whether keys and values may have fewer heads, each for a group of those of queries.
        """

class _packet_scatter(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @overload
    def __call__(
        cls, self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str, out: Tensor | None = None
    ) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @overload
    def __call__(
        cls, self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str, out: Tensor | None = None
    ) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""
    @_operator
    @staticmethod
    def src(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @_operator
    @staticmethod
    def src_out(self: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @_operator
    @staticmethod
    def value(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @_operator
    @staticmethod
    def value_out(self: Tensor, dim: int, index: Tensor, value: Scalar, *, out: Tensor) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @_operator
    @staticmethod
    def reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @_operator
    @staticmethod
    def reduce_out(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str, out: Tensor) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @_operator
    @staticmethod
    def value_reduce(self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""
    @_operator
    @staticmethod
    def value_reduce_out(self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str, out: Tensor) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""

class _packet_scatter_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @overload
    def __call__(cls, self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""
    @_operator
    @staticmethod
    def src(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @_operator
    @staticmethod
    def value(self: Tensor, dim: int, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @_operator
    @staticmethod
    def reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @_operator
    @staticmethod
    def value_reduce(self: Tensor, dim: int, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""

class _packet_scatter_add(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""

class _packet_scatter_add_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""

class _packet_scatter_reduce(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        dim: int,
        index: Tensor,
        src: Tensor,
        reduce: str,
        *,
        include_self: bool = True,
        out: Tensor | None = None,
    ) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """
    @_operator
    @staticmethod
    def two(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """
    @_operator
    @staticmethod
    def two_out(
        self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True, out: Tensor
    ) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """

class _packet_scatter_reduce_(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
    ) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """
    @_operator
    @staticmethod
    def two(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """

class _packet_searchsorted(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        sorted_sequence: _Tensor,
        self: _Tensor,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: _Tensor | None = None,
        out: _Tensor | None = None,
    ) -> _Tensor:
        """Where to insert numbers into sorted ones, so that these stay sorted.

        Args:
            sorted_sequence: sorted along its last dimension; a vector, or one row for each row of ``self``.
            self: the numbers.
            out_int32: whether positions are int32.
            right: whether a number is inserted behind those that equal it.
            side: ``left`` or ``right``, another way to say it.
            sorter: positions that sort ``sorted_sequence``, which then need not be.

        >>> import opdsl
        >>> opdsl.searchsorted(opdsl.tensor([1, 3, 5]), opdsl.tensor([3, 6]))
        tensor([1, 3])
        """
    @overload
    def __call__(
        cls,
        sorted_sequence: _Tensor,
        self: _Scalar,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: _Tensor | None = None,
        out: _Tensor | None = None,
    ) -> _Tensor:
        """Where to insert a number into sorted ones."""
    @_operator
    @staticmethod
    def Tensor(
        sorted_sequence: _Tensor,
        self: _Tensor,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: _Tensor | None = None,
    ) -> _Tensor:
        """Where to insert numbers into sorted ones, so that these stay sorted.

        Args:
            sorted_sequence: sorted along its last dimension; a vector, or one row for each row of ``self``.
            self: the numbers.
            out_int32: whether positions are int32.
            right: whether a number is inserted behind those that equal it.
            side: ``left`` or ``right``, another way to say it.
            sorter: positions that sort ``sorted_sequence``, which then need not be.

        >>> import opdsl
        >>> opdsl.searchsorted(opdsl.tensor([1, 3, 5]), opdsl.tensor([3, 6]))
        tensor([1, 3])
        """
    @_operator
    @staticmethod
    def Tensor_out(
        sorted_sequence: _Tensor,
        self: _Tensor,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: _Tensor | None = None,
        out: _Tensor,
    ) -> _Tensor:
        """Where to insert numbers into sorted ones, so that these stay sorted.

        Args:
            sorted_sequence: sorted along its last dimension; a vector, or one row for each row of ``self``.
            self: the numbers.
            out_int32: whether positions are int32.
            right: whether a number is inserted behind those that equal it.
            side: ``left`` or ``right``, another way to say it.
            sorter: positions that sort ``sorted_sequence``, which then need not be.

        >>> import opdsl
        >>> opdsl.searchsorted(opdsl.tensor([1, 3, 5]), opdsl.tensor([3, 6]))
        tensor([1, 3])
        """
    @_operator
    @staticmethod
    def Scalar(
        sorted_sequence: _Tensor,
        self: _Scalar,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: _Tensor | None = None,
    ) -> _Tensor:
        """Where to insert a number into sorted ones."""
    @_operator
    @staticmethod
    def Scalar_out(
        sorted_sequence: _Tensor,
        self: _Scalar,
        *,
        out_int32: bool = False,
        right: bool = False,
        side: str | None = None,
        sorter: _Tensor | None = None,
        out: _Tensor,
    ) -> _Tensor:
        """Where to insert a number into sorted ones."""

class _packet_select(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: _int, index: _int) -> Tensor:
        """One position of a dimension, which disappears."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int, index: _int) -> Tensor:
        """One position of a dimension, which disappears."""

class _packet_select_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Tensor:
        """The gradient of ``select``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int) -> Tensor:
        """The gradient of ``select``."""
    @_operator
    @staticmethod
    def out(grad_output: Tensor, input_sizes: Sequence[int], dim: int, index: int, *, out: Tensor) -> Tensor: ...

class _packet_select_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: _int, index: _int, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int, index: _int) -> Tensor: ...
    @_operator
    @staticmethod
    def int_out(self: Tensor, dim: _int, index: _int, *, out: Tensor) -> Tensor: ...

class _packet_select_scatter(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
        """``self`` with one position of a dimension replaced."""
    @_operator
    @staticmethod
    def default(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
        """``self`` with one position of a dimension replaced."""
    @_operator
    @staticmethod
    def out(self: Tensor, src: Tensor, dim: int, index: int, *, out: Tensor) -> Tensor:
        """``self`` with one position of a dimension replaced."""

class _packet_selu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``elu`` with the numbers that keep mean and variance (Klambauer et al., 2017)."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``elu`` with the numbers that keep mean and variance (Klambauer et al., 2017)."""

class _packet_selu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``elu`` with the numbers that keep mean and variance (Klambauer et al., 2017)."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``elu`` with the numbers that keep mean and variance (Klambauer et al., 2017)."""

class _packet_sgn(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""

class _packet_sgn_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""

class _packet_sigmoid(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``1 / (1 + exp(-self))``"""

class _packet_sigmoid_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``1 / (1 + exp(-self))``"""

class _packet_sigmoid_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, output: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``grad_output * output * (1 - output)``"""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, output: Tensor) -> Tensor:
        """``grad_output * output * (1 - output)``"""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, output: Tensor, *, grad_input: Tensor) -> Tensor:
        """``grad_output * output * (1 - output)``"""

class _packet_sign(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""

class _packet_sign_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""

class _packet_signbit(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Whether the sign of every element is set; -0.0 has one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Whether the sign of every element is set; -0.0 has one."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Whether the sign of every element is set; -0.0 has one."""

class _packet_silu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self * sigmoid(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self * sigmoid(self)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``self * sigmoid(self)``"""

class _packet_silu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self * sigmoid(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self * sigmoid(self)``"""

class _packet_silu_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The gradient of ``silu``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor) -> Tensor:
        """The gradient of ``silu``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``silu``."""

class _packet_sin(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The sine of every element, an angle in radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The sine of every element, an angle in radians."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The sine of every element, an angle in radians."""

class _packet_sin_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The sine of every element, an angle in radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The sine of every element, an angle in radians."""

class _packet_sinc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""

class _packet_sinc_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""

class _packet_sinh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The hyperbolic sine of every element."""

class _packet_sinh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The hyperbolic sine of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The hyperbolic sine of every element."""

class _packet_size(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor, dim: _int) -> _int:
        """How many positions a dimension has."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int) -> _int:
        """How many positions a dimension has."""

class _packet_slice(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: _Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> _Tensor:
        """The positions ``start:end:step`` of a dimension."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> _Tensor:
        """The positions ``start:end:step`` of a dimension."""

class _packet_slice_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int
    ) -> Tensor:
        """The gradient of ``slice``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int) -> Tensor:
        """The gradient of ``slice``."""
    @_operator
    @staticmethod
    def out(
        grad_output: Tensor, input_sizes: Sequence[int], dim: int, start: int, end: int, step: int, *, out: Tensor
    ) -> Tensor: ...

class _packet_slice_copy(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: _Tensor,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
        *,
        out: _Tensor | None = None,
    ) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor(
        self: _Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> _Tensor: ...
    @_operator
    @staticmethod
    def Tensor_out(
        self: _Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: _Tensor
    ) -> _Tensor: ...

class _packet_slice_scatter(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        src: Tensor,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``self`` with a slice of it replaced."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
    ) -> Tensor:
        """``self`` with a slice of it replaced."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        src: Tensor,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
        *,
        out: Tensor,
    ) -> Tensor:
        """``self`` with a slice of it replaced."""

class _packet_slogdet(Operator[..., _results_slogdet], Protocol):
    def __call__(cls, self: Tensor, *, out: tuple[Tensor, Tensor] | list[Tensor] | None = None) -> _results_slogdet:
        """Another name of ``linalg.slogdet``."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> _results_slogdet:
        """Another name of ``linalg.slogdet``."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, sign: Tensor, logabsdet: Tensor) -> _results_slogdet:
        """Another name of ``linalg.slogdet``."""

class _packet_slow_conv3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv3d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
    ) -> Tensor:
        """``conv3d``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        *,
        out: Tensor,
    ) -> Tensor:
        """``conv3d``."""

class _packet_slow_conv3d_forward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv3d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
    ) -> Tensor:
        """``conv3d``."""
    @_operator
    @staticmethod
    def output(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None,
        stride: int | Sequence[int],
        padding: int | Sequence[int],
        *,
        output: Tensor,
    ) -> Tensor:
        """``conv3d``."""

class _packet_slow_conv_dilated2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """``conv2d`` with a dilation."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """``conv2d`` with a dilation."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_slow_conv_dilated3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """``conv3d`` with a dilation."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """``conv3d`` with a dilation."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_slow_conv_transpose2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv_transpose2d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """``conv_transpose2d``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        out: Tensor,
    ) -> Tensor:
        """``conv_transpose2d``."""

class _packet_slow_conv_transpose3d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv_transpose3d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
    ) -> Tensor:
        """``conv_transpose3d``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        *,
        out: Tensor,
    ) -> Tensor:
        """``conv_transpose3d``."""

class _packet_smooth_l1_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        target: Tensor,
        reduction: int = Reduction.Mean,
        beta: float = 1.0,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """Half the square of a difference by ``beta`` where that is below ``beta``, else the difference less half of it."""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, beta: float = 1.0) -> Tensor:
        """Half the square of a difference by ``beta`` where that is below ``beta``, else the difference less half of it."""
    @_operator
    @staticmethod
    def out(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, beta: float = 1.0, *, out: Tensor) -> Tensor:
        """Half the square of a difference by ``beta`` where that is below ``beta``, else the difference less half of it."""

class _packet_smooth_l1_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        self: Tensor,
        target: Tensor,
        reduction: int,
        beta: float,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of ``smooth_l1_loss``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor:
        """The gradient of ``smooth_l1_loss``."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, beta: float, *, grad_input: Tensor
    ) -> Tensor:
        """The gradient of ``smooth_l1_loss``."""

class _packet_soft_margin_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor | None = None
    ) -> Tensor:
        """``log(1 + exp(-target * self))``, of targets 1 and -1."""
    @_operator
    @staticmethod
    def default(self: Tensor, target: Tensor, reduction: int = Reduction.Mean) -> Tensor:
        """``log(1 + exp(-target * self))``, of targets 1 and -1."""
    @_operator
    @staticmethod
    def out(self: Tensor, target: Tensor, reduction: int = Reduction.Mean, *, out: Tensor) -> Tensor:
        """``log(1 + exp(-target * self))``, of targets 1 and -1."""

class _packet_soft_margin_loss_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of ``soft_margin_loss``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int) -> Tensor:
        """The gradient of ``soft_margin_loss``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, target: Tensor, reduction: int, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``soft_margin_loss``."""

class _packet_softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension; ``dtype`` is what ``self`` is cast to before."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int, dtype: DType | None = None) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension; ``dtype`` is what ``self`` is cast to before."""
    @_operator
    @staticmethod
    def int_out(self: Tensor, dim: _int, dtype: DType | None = None, *, out: Tensor) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension; ``dtype`` is what ``self`` is cast to before."""

class _packet_softplus(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, beta: Scalar = 1, threshold: Scalar = 20, *, out: Tensor | None = None) -> Tensor:
        """``log(1 + exp(beta * self)) / beta``; ``self`` where ``beta * self`` is larger than the threshold."""
    @_operator
    @staticmethod
    def default(self: Tensor, beta: Scalar = 1, threshold: Scalar = 20) -> Tensor:
        """``log(1 + exp(beta * self)) / beta``; ``self`` where ``beta * self`` is larger than the threshold."""
    @_operator
    @staticmethod
    def out(self: Tensor, beta: Scalar = 1, threshold: Scalar = 20, *, out: Tensor) -> Tensor:
        """``log(1 + exp(beta * self)) / beta``; ``self`` where ``beta * self`` is larger than the threshold."""

class _packet_softplus_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls, grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar, *, out: Tensor | None = None
    ) -> Tensor:
        """The gradient of ``softplus``."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar) -> Tensor:
        """The gradient of ``softplus``."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, beta: Scalar, threshold: Scalar, *, grad_input: Tensor) -> Tensor:
        """The gradient of ``softplus``."""

class _packet_softshrink(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, lambd: Scalar = 0.5, *, out: Tensor | None = None) -> Tensor:
        """``self``, moved by ``lambd`` towards 0."""
    @_operator
    @staticmethod
    def default(self: Tensor, lambd: Scalar = 0.5) -> Tensor:
        """``self``, moved by ``lambd`` towards 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, lambd: Scalar = 0.5, *, out: Tensor) -> Tensor:
        """``self``, moved by ``lambd`` towards 0."""

class _packet_softshrink_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, lambd: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``grad_output`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, lambd: Scalar) -> Tensor:
        """``grad_output`` where the magnitude is larger than ``lambd``, 0 elsewhere."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, lambd: Scalar, *, grad_input: Tensor) -> Tensor:
        """``grad_output`` where the magnitude is larger than ``lambd``, 0 elsewhere."""

class _packet_sort(Operator[..., _results_sort], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        stable: bool | None,
        dim: int = -1,
        descending: bool = False,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_sort:
        """``sort`` that leaves equal elements in their order, unless ``stable=False``."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int = -1,
        descending: bool = False,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_sort:
        """The elements along a dimension in order, and their indices; NaN is the largest."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int = -1, descending: bool = False) -> _results_sort:
        """The elements along a dimension in order, and their indices; NaN is the largest."""
    @_operator
    @staticmethod
    def values(
        self: Tensor, dim: int = -1, descending: bool = False, *, values: Tensor, indices: Tensor
    ) -> _results_sort:
        """The elements along a dimension in order, and their indices; NaN is the largest."""
    @_operator
    @staticmethod
    def stable(self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> _results_sort:
        """``sort`` that leaves equal elements in their order, unless ``stable=False``."""
    @_operator
    @staticmethod
    def values_stable(
        self: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False, values: Tensor, indices: Tensor
    ) -> _results_sort:
        """``sort`` that leaves equal elements in their order, unless ``stable=False``."""

class _packet_special_airy_ai(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Airy's function Ai."""
    @_operator
    @staticmethod
    def default(x: Tensor) -> Tensor:
        """Airy's function Ai."""
    @_operator
    @staticmethod
    def out(x: Tensor, *, out: Tensor) -> Tensor:
        """Airy's function Ai."""

class _packet_special_bessel_j0(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The Bessel function of the first kind, of order 0."""

class _packet_special_bessel_j1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Bessel function of the first kind, of order 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The Bessel function of the first kind, of order 1."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The Bessel function of the first kind, of order 1."""

class _packet_special_bessel_y0(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Bessel function of the second kind, of order 0; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The Bessel function of the second kind, of order 0; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The Bessel function of the second kind, of order 0; NaN below 0."""

class _packet_special_bessel_y1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The Bessel function of the second kind, of order 1; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The Bessel function of the second kind, of order 1; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The Bessel function of the second kind, of order 1; NaN below 0."""

class _packet_special_chebyshev_polynomial_t(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_chebyshev_polynomial_u(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_chebyshev_polynomial_v(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_chebyshev_polynomial_w(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_digamma(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``digamma``: The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``digamma``: The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``digamma``: The derivative of ``lgamma``; NaN at negative integers."""

class _packet_special_entr(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``-self * log(self)``; 0 at 0, minus infinity below."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``-self * log(self)``; 0 at 0, minus infinity below."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``-self * log(self)``; 0 at 0, minus infinity below."""

class _packet_special_erf(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``erf``: The error function of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``erf``: The error function of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``erf``: The error function of every element."""

class _packet_special_erfc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``erfc``: ``1 - erf(self)``, exact where that is small."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``erfc``: ``1 - erf(self)``, exact where that is small."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``erfc``: ``1 - erf(self)``, exact where that is small."""

class _packet_special_erfcx(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``exp(self * self) * erfc(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``exp(self * self) * erfc(self)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``exp(self * self) * erfc(self)``"""

class _packet_special_erfinv(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``erfinv``: The inverse of the error function; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``erfinv``: The inverse of the error function; NaN outside of [-1, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``erfinv``: The inverse of the error function; NaN outside of [-1, 1]."""

class _packet_special_exp2(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``exp2``: 2 to the power of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``exp2``: 2 to the power of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``exp2``: 2 to the power of every element."""

class _packet_special_expit(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``sigmoid``: ``1 / (1 + exp(-self))``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``sigmoid``: ``1 / (1 + exp(-self))``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``sigmoid``: ``1 / (1 + exp(-self))``"""

class _packet_special_expm1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``expm1``: ``exp(self) - 1``, exact near 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``expm1``: ``exp(self) - 1``, exact near 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``expm1``: ``exp(self) - 1``, exact near 0."""

class _packet_special_gammainc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``igamma``: The lower incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Another name of ``igamma``: The lower incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``igamma``: The lower incomplete gamma function of order ``self``, over the gamma function."""

class _packet_special_gammaincc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``igammac``: The upper incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Another name of ``igammac``: The upper incomplete gamma function of order ``self``, over the gamma function."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``igammac``: The upper incomplete gamma function of order ``self``, over the gamma function."""

class _packet_special_gammaln(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``lgamma``: The logarithm of the gamma function's magnitude."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``lgamma``: The logarithm of the gamma function's magnitude."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``lgamma``: The logarithm of the gamma function's magnitude."""

class _packet_special_hermite_polynomial_h(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_hermite_polynomial_he(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_i0(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``i0``: The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``i0``: The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``i0``: The modified Bessel function of the first kind, of order 0."""

class _packet_special_i0e(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``exp(-abs(self)) * i0(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``exp(-abs(self)) * i0(self)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``exp(-abs(self)) * i0(self)``"""

class _packet_special_i1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""

class _packet_special_i1e(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``exp(-abs(self)) * special_i1(self)``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``exp(-abs(self)) * special_i1(self)``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``exp(-abs(self)) * special_i1(self)``"""

class _packet_special_laguerre_polynomial_l(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_legendre_polynomial_p(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_log1p(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``log1p``: ``log(1 + self)``, exact near 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``log1p``: ``log(1 + self)``, exact near 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``log1p``: ``log(1 + self)``, exact near 0."""

class _packet_special_log_ndtr(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The logarithm of the area below the standard normal curve, up to every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The logarithm of the area below the standard normal curve, up to every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The logarithm of the area below the standard normal curve, up to every element."""

class _packet_special_log_softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """``log_softmax``."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
        """``log_softmax``."""

class _packet_special_logit(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``logit``: ``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    @_operator
    @staticmethod
    def default(self: Tensor, eps: float | None = None) -> Tensor:
        """Another name of ``logit``: ``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    @_operator
    @staticmethod
    def out(self: Tensor, eps: float | None = None, *, out: Tensor) -> Tensor:
        """Another name of ``logit``: ``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""

class _packet_special_logsumexp(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Another name of ``logsumexp``: ``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int | Sequence[int], keepdim: bool = False) -> Tensor:
        """Another name of ``logsumexp``: ``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor) -> Tensor:
        """Another name of ``logsumexp``: ``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""

class _packet_special_modified_bessel_i0(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""

class _packet_special_modified_bessel_i1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The modified Bessel function of the first kind, of order 1."""

class _packet_special_modified_bessel_k0(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the second kind, of order 0; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the second kind, of order 0; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The modified Bessel function of the second kind, of order 0; NaN below 0."""

class _packet_special_modified_bessel_k1(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The modified Bessel function of the second kind, of order 1; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The modified Bessel function of the second kind, of order 1; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The modified Bessel function of the second kind, of order 1; NaN below 0."""

class _packet_special_multigammaln(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, p: int, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``mvlgamma``: The logarithm of the gamma function of ``p`` variables."""
    @_operator
    @staticmethod
    def default(self: Tensor, p: int) -> Tensor:
        """Another name of ``mvlgamma``: The logarithm of the gamma function of ``p`` variables."""
    @_operator
    @staticmethod
    def out(self: Tensor, p: int, *, out: Tensor) -> Tensor:
        """Another name of ``mvlgamma``: The logarithm of the gamma function of ``p`` variables."""

class _packet_special_ndtr(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The area below the standard normal curve, up to every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The area below the standard normal curve, up to every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The area below the standard normal curve, up to every element."""

class _packet_special_ndtri(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Up to where the area below the standard normal curve is that of every element; NaN outside of [0, 1]."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Up to where the area below the standard normal curve is that of every element; NaN outside of [0, 1]."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Up to where the area below the standard normal curve is that of every element; NaN outside of [0, 1]."""

class _packet_special_polygamma(Operator[..., Tensor], Protocol):
    def __call__(cls, n: int, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``polygamma``: The derivative of ``digamma``, taken ``n`` times."""
    @_operator
    @staticmethod
    def default(n: int, self: Tensor) -> Tensor:
        """Another name of ``polygamma``: The derivative of ``digamma``, taken ``n`` times."""
    @_operator
    @staticmethod
    def out(n: int, self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``polygamma``: The derivative of ``digamma``, taken ``n`` times."""

class _packet_special_psi(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``digamma``: The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``digamma``: The derivative of ``lgamma``; NaN at negative integers."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``digamma``: The derivative of ``lgamma``; NaN at negative integers."""

class _packet_special_round(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, decimals: int = 0, out: Tensor | None = None) -> Tensor:
        """Every element rounded to a number of decimals."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, decimals: int = 0) -> Tensor:
        """Every element rounded to a number of decimals."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, decimals: int = 0, out: Tensor) -> Tensor:
        """Every element rounded to a number of decimals."""

class _packet_special_scaled_modified_bessel_k0(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``exp(x) * special_modified_bessel_k0(x)``"""
    @_operator
    @staticmethod
    def default(x: Tensor) -> Tensor:
        """``exp(x) * special_modified_bessel_k0(x)``"""
    @_operator
    @staticmethod
    def out(x: Tensor, *, out: Tensor) -> Tensor:
        """``exp(x) * special_modified_bessel_k0(x)``"""

class _packet_special_scaled_modified_bessel_k1(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``exp(x) * special_modified_bessel_k1(x)``"""
    @_operator
    @staticmethod
    def default(x: Tensor) -> Tensor:
        """``exp(x) * special_modified_bessel_k1(x)``"""
    @_operator
    @staticmethod
    def out(x: Tensor, *, out: Tensor) -> Tensor:
        """``exp(x) * special_modified_bessel_k1(x)``"""

class _packet_special_shifted_chebyshev_polynomial_t(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_shifted_chebyshev_polynomial_u(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_shifted_chebyshev_polynomial_v(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_shifted_chebyshev_polynomial_w(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Scalar, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, x: Tensor, n: Scalar, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(x: Tensor, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(x: Tensor, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar(x: Scalar, n: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def x_scalar_out(x: Scalar, n: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar(x: Tensor, n: Scalar) -> Tensor: ...
    @_operator
    @staticmethod
    def n_scalar_out(x: Tensor, n: Scalar, *, out: Tensor) -> Tensor: ...

class _packet_special_sinc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Another name of ``sinc``: ``sin(pi * self) / (pi * self)``; 1 for 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Another name of ``sinc``: ``sin(pi * self) / (pi * self)``; 1 for 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Another name of ``sinc``: ``sin(pi * self) / (pi * self)``; 1 for 0."""

class _packet_special_softmax(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
        """``softmax``."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
        """``softmax``."""

class _packet_special_spherical_bessel_j0(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``sin(x) / x``; 1 for 0."""
    @_operator
    @staticmethod
    def default(x: Tensor) -> Tensor:
        """``sin(x) / x``; 1 for 0."""
    @_operator
    @staticmethod
    def out(x: Tensor, *, out: Tensor) -> Tensor:
        """``sin(x) / x``; 1 for 0."""

class _packet_special_xlog1py(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self * log(1 + other)``; 0 where ``self`` is 0."""
    @overload
    def __call__(cls, self: Scalar, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self * log(1 + other)`` for a number as factor."""
    @overload
    def __call__(cls, self: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``self * log(1 + other)`` for a number."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``self * log(1 + other)``; 0 where ``self`` is 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``self * log(1 + other)``; 0 where ``self`` is 0."""
    @_operator
    @staticmethod
    def self_scalar(self: Scalar, other: Tensor) -> Tensor:
        """``self * log(1 + other)`` for a number as factor."""
    @_operator
    @staticmethod
    def self_scalar_out(self: Scalar, other: Tensor, *, out: Tensor) -> Tensor:
        """``self * log(1 + other)`` for a number as factor."""
    @_operator
    @staticmethod
    def other_scalar(self: Tensor, other: Scalar) -> Tensor:
        """``self * log(1 + other)`` for a number."""
    @_operator
    @staticmethod
    def other_scalar_out(self: Tensor, other: Scalar, *, out: Tensor) -> Tensor:
        """``self * log(1 + other)`` for a number."""

class _packet_special_xlogy(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``xlogy``."""
    @overload
    def __call__(cls, self: Scalar, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``xlogy`` for a number as factor."""
    @overload
    def __call__(cls, self: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``xlogy`` for a number."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """``xlogy``."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``xlogy``."""
    @_operator
    @staticmethod
    def self_scalar(self: Scalar, other: Tensor) -> Tensor:
        """``xlogy`` for a number as factor."""
    @_operator
    @staticmethod
    def self_scalar_out(self: Scalar, other: Tensor, *, out: Tensor) -> Tensor:
        """``xlogy`` for a number as factor."""
    @_operator
    @staticmethod
    def other_scalar(self: Tensor, other: Scalar) -> Tensor:
        """``xlogy`` for a number."""
    @_operator
    @staticmethod
    def other_scalar_out(self: Tensor, other: Scalar, *, out: Tensor) -> Tensor:
        """``xlogy`` for a number."""

class _packet_special_zeta(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Hurwitz' zeta function: the sum of ``(other + k) ** -self`` over k = 0, 1, 2, ..."""
    @overload
    def __call__(cls, self: Scalar, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Hurwitz' zeta function with a number as exponent."""
    @overload
    def __call__(cls, self: Tensor, other: Scalar, *, out: Tensor | None = None) -> Tensor:
        """Hurwitz' zeta function with a number to begin at."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """Hurwitz' zeta function: the sum of ``(other + k) ** -self`` over k = 0, 1, 2, ..."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """Hurwitz' zeta function: the sum of ``(other + k) ** -self`` over k = 0, 1, 2, ..."""
    @_operator
    @staticmethod
    def self_scalar(self: Scalar, other: Tensor) -> Tensor:
        """Hurwitz' zeta function with a number as exponent."""
    @_operator
    @staticmethod
    def self_scalar_out(self: Scalar, other: Tensor, *, out: Tensor) -> Tensor:
        """Hurwitz' zeta function with a number as exponent."""
    @_operator
    @staticmethod
    def other_scalar(self: Tensor, other: Scalar) -> Tensor:
        """Hurwitz' zeta function with a number to begin at."""
    @_operator
    @staticmethod
    def other_scalar_out(self: Tensor, other: Scalar, *, out: Tensor) -> Tensor:
        """Hurwitz' zeta function with a number to begin at."""

class _packet_split(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: _Tensor, split_size: int, dim: int = 0) -> list[_Tensor]:
        """Parts of ``split_size`` positions of a dimension; the last may be smaller."""
    @overload
    def __call__(cls, self: _Tensor, split_size: Sequence[int], dim: int = 0) -> list[_Tensor]:
        """Parts of a dimension, each of its size."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, split_size: int, dim: int = 0) -> list[_Tensor]:
        """Parts of ``split_size`` positions of a dimension; the last may be smaller."""
    @_operator
    @staticmethod
    def sizes(self: _Tensor, split_size: Sequence[int], dim: int = 0) -> list[_Tensor]:
        """Parts of a dimension, each of its size."""

class _packet_split_copy(Operator[..., list[Tensor] | None], Protocol):
    @overload
    def __call__(cls, self: _Tensor, split_size: int, dim: int = 0) -> list[_Tensor]: ...
    @overload
    def __call__(cls, self: _Tensor, split_size: int, dim: int = 0, *, out: Sequence[_Tensor]) -> None: ...
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, split_size: int, dim: int = 0) -> list[_Tensor]: ...
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, split_size: int, dim: int = 0, *, out: Sequence[_Tensor]) -> None: ...

class _packet_split_with_sizes(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
        """Parts of a dimension, each of its size."""
    @_operator
    @staticmethod
    def default(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
        """Parts of a dimension, each of its size."""

class _packet_split_with_sizes_copy(Operator[..., list[Tensor] | None], Protocol):
    @overload
    def __call__(cls, self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def default(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def out(self: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor]) -> None: ...

class _packet_sqrt(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The square root of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The square root of every element; NaN below 0."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The square root of every element; NaN below 0."""

class _packet_sqrt_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The square root of every element; NaN below 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The square root of every element; NaN below 0."""

class _packet_square(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self ** 2``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self ** 2``"""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """``self ** 2``"""

class _packet_square_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """``self ** 2``"""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """``self ** 2``"""

class _packet_squeeze(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor:
        """Without the dimensions of size 1."""
    @overload
    def __call__(cls, self: Tensor, dim: int) -> Tensor:
        """Without a dimension, if its size is 1."""
    @overload
    def __call__(cls, self: Tensor, dim: Sequence[int]) -> Tensor:
        """Without those of the dimensions whose size is 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Without the dimensions of size 1."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int) -> Tensor:
        """Without a dimension, if its size is 1."""
    @_operator
    @staticmethod
    def dims(self: Tensor, dim: Sequence[int]) -> Tensor:
        """Without those of the dimensions whose size is 1."""

class _packet_squeeze_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor) -> Tensor:
        """Drops the dimensions of size 1."""
    @overload
    def __call__(cls, self: Tensor, dim: int) -> Tensor:
        """Drops a dimension, if its size is 1."""
    @overload
    def __call__(cls, self: Tensor, dim: Sequence[int]) -> Tensor:
        """Drops those of the dimensions whose size is 1."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Drops the dimensions of size 1."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int) -> Tensor:
        """Drops a dimension, if its size is 1."""
    @_operator
    @staticmethod
    def dims(self: Tensor, dim: Sequence[int]) -> Tensor:
        """Drops those of the dimensions whose size is 1."""

class _packet_squeeze_copy(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, self: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, self: Tensor, dim: Sequence[int], *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int) -> Tensor: ...
    @_operator
    @staticmethod
    def dims(self: Tensor, dim: Sequence[int]) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def dim_out(self: Tensor, dim: int, *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def dims_out(self: Tensor, dim: Sequence[int], *, out: Tensor) -> Tensor: ...

class _packet_stack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
        """The tensors one after another along a new dimension."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
        """The tensors one after another along a new dimension."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor) -> Tensor:
        """The tensors one after another along a new dimension."""

class _packet_std(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The standard deviation along dimensions, of a sample if ``unbiased``."""
    @overload
    def __call__(cls, self: Tensor, unbiased: bool = True) -> Tensor:
        """The standard deviation of all elements, of a sample if ``unbiased``."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The square root of the variance along dimensions."""
    @_operator
    @staticmethod
    def correction(
        self: Tensor, dim: int | Sequence[int] | None = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> Tensor:
        """The square root of the variance along dimensions."""
    @_operator
    @staticmethod
    def correction_out(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
        out: Tensor,
    ) -> Tensor:
        """The square root of the variance along dimensions."""
    @_operator
    @staticmethod
    def default(self: Tensor, unbiased: bool = True) -> Tensor:
        """The standard deviation of all elements, of a sample if ``unbiased``."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
        """The standard deviation along dimensions, of a sample if ``unbiased``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False, *, out: Tensor
    ) -> Tensor:
        """The standard deviation along dimensions, of a sample if ``unbiased``."""

class _packet_std_mean(Operator[..., tuple[Tensor, Tensor]], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean along dimensions, of a sample if ``unbiased``."""
    @overload
    def __call__(cls, self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean of all elements, of a sample if ``unbiased``."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean along dimensions."""
    @_operator
    @staticmethod
    def correction(
        self: Tensor, dim: int | Sequence[int] | None = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean along dimensions."""
    @_operator
    @staticmethod
    def correction_out(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
        out0: Tensor,
        out1: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean along dimensions."""
    @_operator
    @staticmethod
    def default(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean of all elements, of a sample if ``unbiased``."""
    @_operator
    @staticmethod
    def dim(
        self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The standard deviation and the mean along dimensions, of a sample if ``unbiased``."""

class _packet_stft(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ) -> Tensor:
        """The Fourier transforms of windows that slide over signals.

        Args:
            self: (length) or (batch, length).
            n_fft: how many points are transformed at a time.
            hop_length: from one to the next; a quarter of ``n_fft`` by default.
            win_length: the length of the window, ``n_fft`` by default.
            window: what the points are multiplied by, ones by default.
            center: whether the first window's middle is the first point; the signal is continued on both sides then.
            pad_mode: how, see ``pad``.
            normalized: whether results are divided by the root of ``n_fft``.
            onesided: whether they end where the rest follows by symmetry, which is the default for real numbers.
            return_complex: whether they are complex, or pairs of real numbers.
            align_to_window: whether windows shorter than ``n_fft`` begin at the first point. Only without ``center``.

        Returns:
            (batch, frequencies, windows), without ``batch`` for one signal, with a last dimension of 2 for pairs.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other.
        """
    @overload
    def __call__(
        cls,
        self: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ) -> Tensor:
        """``stft`` without ``center``."""
    @_operator
    @staticmethod
    def center(
        self: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        center: bool = True,
        pad_mode: str = "reflect",
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ) -> Tensor:
        """The Fourier transforms of windows that slide over signals.

        Args:
            self: (length) or (batch, length).
            n_fft: how many points are transformed at a time.
            hop_length: from one to the next; a quarter of ``n_fft`` by default.
            win_length: the length of the window, ``n_fft`` by default.
            window: what the points are multiplied by, ones by default.
            center: whether the first window's middle is the first point; the signal is continued on both sides then.
            pad_mode: how, see ``pad``.
            normalized: whether results are divided by the root of ``n_fft``.
            onesided: whether they end where the rest follows by symmetry, which is the default for real numbers.
            return_complex: whether they are complex, or pairs of real numbers.
            align_to_window: whether windows shorter than ``n_fft`` begin at the first point. Only without ``center``.

        Returns:
            (batch, frequencies, windows), without ``batch`` for one signal, with a last dimension of 2 for pairs.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other.
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        n_fft: int,
        hop_length: int | None = None,
        win_length: int | None = None,
        window: Tensor | None = None,
        normalized: bool = False,
        onesided: bool | None = None,
        return_complex: bool | None = None,
        align_to_window: bool | None = None,
    ) -> Tensor:
        """``stft`` without ``center``."""

class _packet_storage_offset(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """How many elements of its memory lie before the first one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """How many elements of its memory lie before the first one."""

class _packet_stride(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor, dim: _int) -> _int:
        """How far apart in memory neighbours along a dimension lie."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int) -> _int:
        """How far apart in memory neighbours along a dimension lie."""

class _packet_sub(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1, out: _Tensor | None = None
    ) -> _Tensor:
        """``self - alpha * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """``self - alpha * other``"""
    @_operator
    @staticmethod
    def out(
        self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1, out: _Tensor | _Scalar
    ) -> _Tensor:
        """``self - alpha * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``self - alpha * other`` for a number; a Python call reaches ``sub.Tensor`` instead."""
    @_operator
    @staticmethod
    def Scalar_out(self: _Tensor, other: _Scalar, alpha: _Scalar = 1, *, out: _Tensor) -> _Tensor: ...

class _packet_sub_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """``self - alpha * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """``self - alpha * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """``self - alpha * other`` for a number; a Python call reaches ``sub.Tensor`` instead."""

class _packet_subtract(Operator[..., Tensor], Protocol):
    def __call__(
        cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1, out: _Tensor | None = None
    ) -> _Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    @_operator
    @staticmethod
    def out(
        self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1, out: _Tensor | _Scalar
    ) -> _Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """Another name of ``sub_number``: ``self - alpha * other`` for a number; a Python call reaches ``sub.Tensor`` instead."""

class _packet_subtract_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, alpha: _Scalar = 1) -> _Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar, alpha: _Scalar = 1) -> _Tensor:
        """Another name of ``sub_number``: ``self - alpha * other`` for a number; a Python call reaches ``sub.Tensor`` instead."""

class _packet_sum(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, *, dtype: DType | None = None) -> Tensor:
        """The sum of all elements."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None,
        keepdim: bool = False,
        *,
        dtype: DType | None = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """The sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    @_operator
    @staticmethod
    def dim_IntList(
        self: Tensor, dim: int | Sequence[int] | None, keepdim: bool = False, *, dtype: DType | None = None
    ) -> Tensor:
        """The sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    @_operator
    @staticmethod
    def IntList_out(
        self: Tensor, dim: int | Sequence[int] | None, keepdim: bool = False, *, dtype: DType | None = None, out: Tensor
    ) -> Tensor:
        """The sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    @_operator
    @staticmethod
    def default(self: Tensor, *, dtype: DType | None = None) -> Tensor:
        """The sum of all elements."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, dtype: DType | None = None, out: Tensor) -> Tensor: ...

class _packet_sum_to_size(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, size: Sequence[int]) -> Tensor:
        """The sums over the dimensions along which a tensor of that shape would be broadcast; itself without any."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int]) -> Tensor:
        """The sums over the dimensions along which a tensor of that shape would be broadcast; itself without any."""

class _packet_swapaxes(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, axis0: int, axis1: int) -> Tensor:
        """``transpose``, by NumPy's name."""
    @_operator
    @staticmethod
    def default(self: Tensor, axis0: int, axis1: int) -> Tensor:
        """``transpose``, by NumPy's name."""

class _packet_swapaxes_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, axis0: int, axis1: int) -> Tensor:
        """``transpose_``, by NumPy's name."""
    @_operator
    @staticmethod
    def default(self: Tensor, axis0: int, axis1: int) -> Tensor:
        """``transpose_``, by NumPy's name."""

class _packet_swapdims(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim0: int, dim1: int) -> Tensor:
        """``transpose``, by another name."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim0: int, dim1: int) -> Tensor:
        """``transpose``, by another name."""

class _packet_swapdims_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim0: int, dim1: int) -> Tensor:
        """``transpose_``, by another name."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim0: int, dim1: int) -> Tensor:
        """``transpose_``, by another name."""

class _packet_sym_constrain_range(Operator[..., None], Protocol):
    def __call__(cls, size: Scalar, *, min: int | None = None, max: int | None = None) -> None:
        """Raise an error unless a number lies between two others."""
    @_operator
    @staticmethod
    def default(size: Scalar, *, min: int | None = None, max: int | None = None) -> None:
        """Raise an error unless a number lies between two others."""

class _packet_sym_constrain_range_for_size(Operator[..., None], Protocol):
    def __call__(cls, size: Scalar, *, min: int | None = None, max: int | None = None) -> None:
        """``sym_constrain_range`` of what is a size: not below 0."""
    @_operator
    @staticmethod
    def default(size: Scalar, *, min: int | None = None, max: int | None = None) -> None:
        """``sym_constrain_range`` of what is a size: not below 0."""

class _packet_sym_is_contiguous(Operator[..., bool], Protocol):
    def __call__(cls, self: Tensor, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> bool:
        """Whether the elements lie in memory without gaps, in the order of a format."""
    @_operator
    @staticmethod
    def default(self: Tensor, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> bool:
        """Whether the elements lie in memory without gaps, in the order of a format."""

class _packet_sym_numel(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """How many elements there are."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """How many elements there are."""

class _packet_sym_size(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor, dim: _int) -> _int:
        """How many positions a dimension has."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int) -> _int:
        """How many positions a dimension has."""

class _packet_sym_storage_offset(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor) -> int:
        """How many elements of its memory lie before the first one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> int:
        """How many elements of its memory lie before the first one."""

class _packet_sym_stride(Operator[..., int], Protocol):
    def __call__(cls, self: Tensor, dim: _int) -> _int:
        """How far apart in memory neighbours along a dimension lie."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int) -> _int:
        """How far apart in memory neighbours along a dimension lie."""

class _packet_t(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The transpose of a matrix; vectors and numbers stay as they are."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The transpose of a matrix; vectors and numbers stay as they are."""

class _packet_t_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Transposes a matrix by changing its strides."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Transposes a matrix by changing its strides."""

class _packet_t_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_take(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The elements at positions among all elements, which are counted in row-major order."""
    @_operator
    @staticmethod
    def default(self: Tensor, index: Tensor) -> Tensor:
        """The elements at positions among all elements, which are counted in row-major order."""
    @_operator
    @staticmethod
    def out(self: Tensor, index: Tensor, *, out: Tensor) -> Tensor:
        """The elements at positions among all elements, which are counted in row-major order."""

class _packet_take_along_dim(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
        """``gather`` with broadcasting, among all elements without a dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
        """``gather`` with broadcasting, among all elements without a dimension."""
    @_operator
    @staticmethod
    def out(self: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor) -> Tensor:
        """``gather`` with broadcasting, among all elements without a dimension."""

class _packet_tan(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The tangent of every element, an angle in radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tangent of every element, an angle in radians."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The tangent of every element, an angle in radians."""

class _packet_tan_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The tangent of every element, an angle in radians."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The tangent of every element, an angle in radians."""

class _packet_tanh(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The hyperbolic tangent of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The hyperbolic tangent of every element."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The hyperbolic tangent of every element."""

class _packet_tanh_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The hyperbolic tangent of every element."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The hyperbolic tangent of every element."""

class _packet_tanh_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, output: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``grad_output * (1 - output**2)``"""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, output: Tensor) -> Tensor:
        """``grad_output * (1 - output**2)``"""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, output: Tensor, *, grad_input: Tensor) -> Tensor:
        """``grad_output * (1 - output**2)``"""

class _packet_tensor_split(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor, indices: Sequence[int], dim: int = 0) -> list[Tensor]:
        """The parts of a dimension between positions."""
    @overload
    def __call__(cls, self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> list[Tensor]:
        """``tensor_split`` by a tensor: a number of parts, or positions."""
    @overload
    def __call__(cls, self: Tensor, sections: int, dim: int = 0) -> list[Tensor]:
        """A dimension in so many parts, of sizes that differ by one at most."""
    @_operator
    @staticmethod
    def sections(self: Tensor, sections: int, dim: int = 0) -> list[Tensor]:
        """A dimension in so many parts, of sizes that differ by one at most."""
    @_operator
    @staticmethod
    def indices(self: Tensor, indices: Sequence[int], dim: int = 0) -> list[Tensor]:
        """The parts of a dimension between positions."""
    @_operator
    @staticmethod
    def tensor_indices_or_sections(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> list[Tensor]:
        """``tensor_split`` by a tensor: a number of parts, or positions."""

class _packet_tensordot(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        other: Tensor,
        dims_self: Sequence[int],
        dims_other: Sequence[int],
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The sums of products over dimensions of one tensor and as many of another; the other dimensions stay."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
        """The sums of products over dimensions of one tensor and as many of another; the other dimensions stay."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int], *, out: Tensor) -> Tensor:
        """The sums of products over dimensions of one tensor and as many of another; the other dimensions stay."""

class _packet_thnn_conv2d(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """``conv2d``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
    ) -> Tensor:
        """``conv2d``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        weight: Tensor,
        kernel_size: int | Sequence[int],
        bias: Tensor | None = None,
        stride: int | Sequence[int] = 1,
        padding: int | Sequence[int] = 0,
        *,
        out: Tensor,
    ) -> Tensor:
        """``conv2d``."""

class _packet_threshold(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, threshold: Scalar, value: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``value`` where ``self`` is no larger than a threshold."""
    @_operator
    @staticmethod
    def default(self: Tensor, threshold: Scalar, value: Scalar) -> Tensor:
        """``value`` where ``self`` is no larger than a threshold."""
    @_operator
    @staticmethod
    def out(self: Tensor, threshold: Scalar, value: Scalar, *, out: Tensor) -> Tensor:
        """``value`` where ``self`` is no larger than a threshold."""

class _packet_threshold_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, threshold: Scalar, value: Scalar) -> Tensor:
        """``value`` where ``self`` is no larger than a threshold."""
    @_operator
    @staticmethod
    def default(self: Tensor, threshold: Scalar, value: Scalar) -> Tensor:
        """``value`` where ``self`` is no larger than a threshold."""

class _packet_threshold_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_output: Tensor, self: Tensor, threshold: Scalar, *, out: Tensor | None = None) -> Tensor:
        """``grad_output`` where ``self`` is larger than the threshold, 0 elsewhere."""
    @_operator
    @staticmethod
    def default(grad_output: Tensor, self: Tensor, threshold: Scalar) -> Tensor:
        """``grad_output`` where ``self`` is larger than the threshold, 0 elsewhere."""
    @_operator
    @staticmethod
    def grad_input(grad_output: Tensor, self: Tensor, threshold: Scalar, *, grad_input: Tensor) -> Tensor:
        """``grad_output`` where ``self`` is larger than the threshold, 0 elsewhere."""

class _packet_tile(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dims: Sequence[int]) -> Tensor:
        """``repeat``; dimensions that are not named stay as they are."""
    @_operator
    @staticmethod
    def default(self: Tensor, dims: Sequence[int]) -> Tensor:
        """``repeat``; dimensions that are not named stay as they are."""

class _packet_to(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if it is what is asked for, a converted copy otherwise."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        device: Device | str | int,
        dtype: DType,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if it has that dtype and device and no copy is asked for, a converted copy otherwise."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dtype: DType,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if it has that dtype and no copy is asked for, a converted copy otherwise."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        other: Tensor,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if ``other`` has its dtype and device, a converted copy otherwise."""
    @_operator
    @staticmethod
    def dtype_layout(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if it is what is asked for, a converted copy otherwise."""
    @_operator
    @staticmethod
    def device(
        self: Tensor,
        device: Device | str | int,
        dtype: DType,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if it has that dtype and device and no copy is asked for, a converted copy otherwise."""
    @_operator
    @staticmethod
    def dtype(
        self: Tensor,
        dtype: DType,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if it has that dtype and no copy is asked for, a converted copy otherwise."""
    @_operator
    @staticmethod
    def other(
        self: Tensor,
        other: Tensor,
        non_blocking: bool = False,
        copy: bool = False,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """The tensor itself if ``other`` has its dtype and device, a converted copy otherwise."""

class _packet_topk(Operator[..., _results_topk], Protocol):
    def __call__(
        cls,
        self: Tensor,
        k: int,
        dim: int = -1,
        largest: bool = True,
        sorted: bool = True,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_topk:
        """The largest (or smallest) elements along a dimension, the largest first, and their indices."""
    @_operator
    @staticmethod
    def default(self: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> _results_topk:
        """The largest (or smallest) elements along a dimension, the largest first, and their indices."""
    @_operator
    @staticmethod
    def values(
        self: Tensor,
        k: int,
        dim: int = -1,
        largest: bool = True,
        sorted: bool = True,
        *,
        values: Tensor,
        indices: Tensor,
    ) -> _results_topk:
        """The largest (or smallest) elements along a dimension, the largest first, and their indices."""

class _packet_trace(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The sum of a matrix' diagonal."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The sum of a matrix' diagonal."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """The sum of a matrix' diagonal."""

class _packet_trace_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, sizes: Sequence[int]) -> Tensor:
        """The gradient of ``trace``."""
    @_operator
    @staticmethod
    def default(grad: Tensor, sizes: Sequence[int]) -> Tensor:
        """The gradient of ``trace``."""

class _packet_transpose(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions change places."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions change places."""

class _packet_transpose_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim0: int, dim1: int) -> Tensor:
        """Two dimensions change places, by changing the strides."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim0: int, dim1: int) -> Tensor:
        """Two dimensions change places, by changing the strides."""

class _packet_transpose_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def int(self: Tensor, dim0: _int, dim1: _int) -> Tensor: ...
    @_operator
    @staticmethod
    def int_out(self: Tensor, dim0: _int, dim1: _int, *, out: Tensor) -> Tensor: ...

class _packet_trapezoid(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
        """The integral along a dimension by the trapezoidal rule, of samples ``y`` at points ``x``."""
    @overload
    def __call__(cls, y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
        """The integral along a dimension by the trapezoidal rule, of samples that lie ``dx`` apart."""
    @_operator
    @staticmethod
    def x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
        """The integral along a dimension by the trapezoidal rule, of samples ``y`` at points ``x``."""
    @_operator
    @staticmethod
    def dx(y: Tensor, *, dx: Scalar = 1, dim: int = -1) -> Tensor:
        """The integral along a dimension by the trapezoidal rule, of samples that lie ``dx`` apart."""

class _packet_trapz(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, y: Tensor, *, dx: float = 1, dim: int = -1) -> Tensor:
        """An older name of ``trapezoid``."""
    @overload
    def __call__(cls, y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor: ...
    @_operator
    @staticmethod
    def x(y: Tensor, x: Tensor, *, dim: int = -1) -> Tensor:
        """An older name of ``trapezoid``."""
    @_operator
    @staticmethod
    def dx(y: Tensor, *, dx: float = 1, dim: int = -1) -> Tensor:
        """An older name of ``trapezoid``."""

class _packet_triangular_solve(Operator[..., _results_triangular_solve], Protocol):
    def __call__(
        cls,
        self: Tensor,
        A: Tensor,
        upper: bool = True,
        transpose: bool = False,
        unitriangular: bool = False,
        *,
        out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
    ) -> _results_triangular_solve:
        """The solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Use ``linalg.solve_triangular``."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
    ) -> _results_triangular_solve:
        """The solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Use ``linalg.solve_triangular``."""
    @_operator
    @staticmethod
    def X(
        self: Tensor,
        A: Tensor,
        upper: bool = True,
        transpose: bool = False,
        unitriangular: bool = False,
        *,
        X: Tensor,
        M: Tensor,
    ) -> _results_triangular_solve:
        """The solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Use ``linalg.solve_triangular``."""

class _packet_tril(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""
    @_operator
    @staticmethod
    def default(self: Tensor, diagonal: int = 0) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""
    @_operator
    @staticmethod
    def out(self: Tensor, diagonal: int = 0, *, out: Tensor) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""

class _packet_tril_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, diagonal: int = 0) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""
    @_operator
    @staticmethod
    def default(self: Tensor, diagonal: int = 0) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""

class _packet_tril_indices(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """The rows and the columns of the elements of a lower triangle."""
    @_operator
    @staticmethod
    def default(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The rows and the columns of the elements of a lower triangle."""
    @_operator
    @staticmethod
    def out(row: int, col: int, offset: int = 0, *, out: Tensor) -> Tensor:
        """The rows and the columns of the elements of a lower triangle."""

class _packet_triplet_margin_loss(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        anchor: Tensor,
        positive: Tensor,
        negative: Tensor,
        margin: float = 1.0,
        p: float = 2,
        eps: float = 1e-06,
        swap: bool = False,
        reduction: int = Reduction.Mean,
    ) -> Tensor:
        """``max(0, margin + distance(anchor, positive) - distance(anchor, negative))``, of ``p``-norms of vectors.

        swap: whether the distance of positive and negative ones counts where that is smaller.
        """
    @_operator
    @staticmethod
    def default(
        anchor: Tensor,
        positive: Tensor,
        negative: Tensor,
        margin: float = 1.0,
        p: float = 2,
        eps: float = 1e-06,
        swap: bool = False,
        reduction: int = Reduction.Mean,
    ) -> Tensor:
        """``max(0, margin + distance(anchor, positive) - distance(anchor, negative))``, of ``p``-norms of vectors.

        swap: whether the distance of positive and negative ones counts where that is smaller.
        """

class _packet_triu(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""
    @_operator
    @staticmethod
    def default(self: Tensor, diagonal: int = 0) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""
    @_operator
    @staticmethod
    def out(self: Tensor, diagonal: int = 0, *, out: Tensor) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""

class _packet_triu_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, diagonal: int = 0) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""
    @_operator
    @staticmethod
    def default(self: Tensor, diagonal: int = 0) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""

class _packet_triu_indices(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """The rows and the columns of the elements of an upper triangle."""
    @_operator
    @staticmethod
    def default(
        row: int,
        col: int,
        offset: int = 0,
        *,
        dtype: DType | None = int64,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """The rows and the columns of the elements of an upper triangle."""
    @_operator
    @staticmethod
    def out(row: int, col: int, offset: int = 0, *, out: Tensor) -> Tensor:
        """The rows and the columns of the elements of an upper triangle."""

class _packet_true_divide(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def out(self: _Tensor | _Scalar, other: _Tensor | _Scalar, *, out: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``div_number``: ``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""

class _packet_true_divide_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: _Tensor, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor | _Scalar, other: _Tensor | _Scalar) -> _Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @_operator
    @staticmethod
    def Scalar(self: _Tensor, other: _Scalar) -> _Tensor:
        """Another name of ``div_number``: ``self / other`` for a number; a Python call reaches ``div.Tensor`` instead."""

class _packet_trunc(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Every element without its fraction."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Every element without its fraction."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor:
        """Every element without its fraction."""

class _packet_trunc_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Every element without its fraction."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Every element without its fraction."""

class _packet_type_as(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The tensor in the dtype, and on the device, of another one."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The tensor in the dtype, and on the device, of another one."""

class _packet_unbind(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Tensor, dim: _int = 0) -> list[Tensor]:
        """Every position of a dimension as a tensor of its own."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int = 0) -> list[Tensor]:
        """Every position of a dimension as a tensor of its own."""

class _packet_unbind_copy(Operator[..., list[Tensor] | None], Protocol):
    @overload
    def __call__(cls, self: Tensor, dim: _int = 0) -> list[Tensor]: ...
    @overload
    def __call__(cls, self: Tensor, dim: _int = 0, *, out: Sequence[Tensor]) -> None: ...
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int = 0) -> list[Tensor]: ...
    @_operator
    @staticmethod
    def int_out(self: Tensor, dim: _int = 0, *, out: Sequence[Tensor]) -> None: ...

class _packet_unflatten(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """One dimension as several."""
    @_operator
    @staticmethod
    def int(self: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor:
        """One dimension as several."""

class _packet_unfold(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dimension: int, size: int, step: int) -> Tensor:
        """Windows of ``size`` positions, ``step`` apart, the window as a new last dimension."""
    @_operator
    @staticmethod
    def default(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
        """Windows of ``size`` positions, ``step`` apart, the window as a new last dimension."""

class _packet_unfold_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Tensor:
        """The gradient of ``unfold``: what lies in several windows gets the sum."""
    @_operator
    @staticmethod
    def default(grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int) -> Tensor:
        """The gradient of ``unfold``: what lies in several windows gets the sum."""
    @_operator
    @staticmethod
    def out(grad_in: Tensor, input_sizes: Sequence[int], dim: int, size: int, step: int, *, out: Tensor) -> Tensor: ...

class _packet_unfold_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dimension: int, size: int, step: int, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, dimension: int, size: int, step: int) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, dimension: int, size: int, step: int, *, out: Tensor) -> Tensor: ...

class _packet_uniform(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        from_: float = 0,
        to: float = 1,
        *,
        generator: Generator | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def out(
        self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None, out: Tensor
    ) -> Tensor: ...

class _packet_uniform_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers from ``from`` up to, but not including, ``to``, each as likely as the others."""
    @_operator
    @staticmethod
    def default(self: Tensor, from_: float = 0, to: float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers from ``from`` up to, but not including, ``to``, each as likely as the others."""

class _packet_unique_consecutive(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The first of each run of equal elements, or of slices along a dimension; the run of each, and the lengths.

        >>> import opdsl
        >>> opdsl.ops.aten.unique_consecutive(opdsl.tensor([2, 2, 1, 2]), return_counts=True)
        (tensor([2, 1, 2]), tensor([], dtype=opdsl.int64), tensor([2, 1, 1]))
        """
    @_operator
    @staticmethod
    def default(
        self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The first of each run of equal elements, or of slices along a dimension; the run of each, and the lengths.

        >>> import opdsl
        >>> opdsl.ops.aten.unique_consecutive(opdsl.tensor([2, 2, 1, 2]), return_counts=True)
        (tensor([2, 1, 2]), tensor([], dtype=opdsl.int64), tensor([2, 1, 1]))
        """
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        return_inverse: bool = False,
        return_counts: bool = False,
        dim: int | None = None,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_unique_dim(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct slices along a dimension in order, which of them each slice is, and how often they are there."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, dim: int, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The distinct slices along a dimension in order, which of them each slice is, and how often they are there."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        dim: int,
        sorted: bool = True,
        return_inverse: bool = False,
        return_counts: bool = False,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_unique_dim_consecutive(Operator[..., tuple[Tensor, Tensor, Tensor]], Protocol):
    def __call__(
        cls, self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The first of each run of equal slices along a dimension, the run of each slice, and the lengths of runs."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, dim: int, return_inverse: bool = False, return_counts: bool = False
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The first of each run of equal slices along a dimension, the run of each slice, and the lengths of runs."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        dim: int,
        return_inverse: bool = False,
        return_counts: bool = False,
        *,
        out0: Tensor,
        out1: Tensor,
        out2: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]: ...

class _packet_unsafe_chunk(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
        """``chunk`` for callers that write one part at most."""
    @_operator
    @staticmethod
    def default(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
        """``chunk`` for callers that write one part at most."""

class _packet_unsafe_split(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: _Tensor, split_size: int, dim: int = 0) -> list[_Tensor]:
        """``split`` for callers that write one part at most: autograd does not know that the parts are views."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, split_size: int, dim: int = 0) -> list[_Tensor]:
        """``split`` for callers that write one part at most: autograd does not know that the parts are views."""
    @_operator
    @staticmethod
    def Tensor_out(self: _Tensor, split_size: int, dim: int = 0, *, out: Sequence[_Tensor]) -> None: ...

class _packet_unsafe_split_with_sizes(Operator[..., list[Tensor]], Protocol):
    def __call__(cls, self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
        """``split_with_sizes`` for callers that write one part at most."""
    @_operator
    @staticmethod
    def default(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
        """``split_with_sizes`` for callers that write one part at most."""
    @_operator
    @staticmethod
    def out(self: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Sequence[Tensor]) -> None: ...

class _packet_unsqueeze(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int) -> Tensor:
        """A dimension of size 1 more."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> Tensor:
        """A dimension of size 1 more."""

class _packet_unsqueeze_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int) -> Tensor:
        """Takes in a dimension of size 1."""
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> Tensor:
        """Takes in a dimension of size 1."""

class _packet_unsqueeze_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, dim: int) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, dim: int, *, out: Tensor) -> Tensor: ...

class _packet_upsample_bicubic2d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(
        input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet_upsample_bicubic2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_upsample_bilinear2d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(
        input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @_operator
    @staticmethod
    def vec_out(
        input: Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
        *,
        out: Tensor,
    ) -> Tensor: ...

class _packet_upsample_bilinear2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_upsample_linear1d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, output_size: int | Sequence[int], align_corners: bool, scales: float | None = None
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, output_size: int | Sequence[int], align_corners: bool, scales: float | None = None, *, out: Tensor
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(
        input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet_upsample_linear1d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_upsample_nearest1d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls, self: Tensor, output_size: int | Sequence[int], scales: float | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(self: Tensor, output_size: int | Sequence[int], scales: float | None = None) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(self: Tensor, output_size: int | Sequence[int], scales: float | None = None, *, out: Tensor) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet_upsample_nearest1d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_upsample_nearest2d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor, output_size: int | Sequence[int], scales_h: float | None = None, scales_w: float | None = None
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @_operator
    @staticmethod
    def vec_out(
        input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None, *, out: Tensor
    ) -> Tensor: ...

class _packet_upsample_nearest2d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_upsample_nearest3d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls, input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        output_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet_upsample_nearest3d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_upsample_trilinear3d(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        input: Tensor,
        output_size: Sequence[int] | None,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def out(
        self: Tensor,
        output_size: int | Sequence[int],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor,
    ) -> Tensor:
        """The last dimensions in another size."""
    @_operator
    @staticmethod
    def vec(
        input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""

class _packet_upsample_trilinear3d_backward(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def default(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
    @_operator
    @staticmethod
    def grad_input(
        grad_output: Tensor,
        output_size: int | Sequence[int],
        input_size: int | Sequence[int],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        *,
        grad_input: Tensor,
    ) -> Tensor:
        """The gradient of what got another size."""

class _packet_value_selecting_reduction_backward(Operator[..., Tensor], Protocol):
    def __call__(cls, grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool) -> Tensor:
        """The gradient of what takes one element along a dimension, as ``max`` and ``median`` do."""
    @_operator
    @staticmethod
    def default(grad: Tensor, dim: int, indices: Tensor, sizes: Sequence[int], keepdim: bool) -> Tensor:
        """The gradient of what takes one element along a dimension, as ``max`` and ``median`` do."""

class _packet_vander(Operator[..., Tensor], Protocol):
    def __call__(cls, x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
        """The Vandermonde matrix: powers of each element of a vector along a row, the highest first."""
    @_operator
    @staticmethod
    def default(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
        """The Vandermonde matrix: powers of each element of a vector along a row, the highest first."""

class _packet_var(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        """The variance along dimensions, of a sample if ``unbiased``."""
    @overload
    def __call__(cls, self: Tensor, unbiased: bool = True) -> Tensor:
        """The variance of all elements, of a sample if ``unbiased``."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """The sum of squared deviations from the mean along dimensions, divided by the number of elements less
        ``correction`` (1 where None is given).
        """
    @_operator
    @staticmethod
    def correction(
        self: Tensor, dim: int | Sequence[int] | None = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> Tensor:
        """The sum of squared deviations from the mean along dimensions, divided by the number of elements less
        ``correction`` (1 where None is given).
        """
    @_operator
    @staticmethod
    def correction_out(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
        out: Tensor,
    ) -> Tensor:
        """The sum of squared deviations from the mean along dimensions, divided by the number of elements less
        ``correction`` (1 where None is given).
        """
    @_operator
    @staticmethod
    def default(self: Tensor, unbiased: bool = True) -> Tensor:
        """The variance of all elements, of a sample if ``unbiased``."""
    @_operator
    @staticmethod
    def dim(self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False) -> Tensor:
        """The variance along dimensions, of a sample if ``unbiased``."""
    @_operator
    @staticmethod
    def out(
        self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False, *, out: Tensor
    ) -> Tensor:
        """The variance along dimensions, of a sample if ``unbiased``."""

class _packet_var_mean(Operator[..., tuple[Tensor, Tensor]], Protocol):
    @overload
    def __call__(
        cls, self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The variance and the mean along dimensions, of a sample if ``unbiased``."""
    @overload
    def __call__(cls, self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
        """The variance and the mean of all elements, of a sample if ``unbiased``."""
    @overload
    def __call__(
        cls,
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The variance and the mean along dimensions."""
    @_operator
    @staticmethod
    def correction(
        self: Tensor, dim: int | Sequence[int] | None = None, *, correction: Scalar | None = None, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The variance and the mean along dimensions."""
    @_operator
    @staticmethod
    def correction_out(
        self: Tensor,
        dim: int | Sequence[int] | None = None,
        *,
        correction: Scalar | None = None,
        keepdim: bool = False,
        out0: Tensor,
        out1: Tensor,
    ) -> tuple[Tensor, Tensor]:
        """The variance and the mean along dimensions."""
    @_operator
    @staticmethod
    def default(self: Tensor, unbiased: bool = True) -> tuple[Tensor, Tensor]:
        """The variance and the mean of all elements, of a sample if ``unbiased``."""
    @_operator
    @staticmethod
    def dim(
        self: Tensor, dim: int | Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
    ) -> tuple[Tensor, Tensor]:
        """The variance and the mean along dimensions, of a sample if ``unbiased``."""

class _packet_vdot(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """The scalar product of two vectors, the first of them conjugated."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The scalar product of two vectors, the first of them conjugated."""
    @_operator
    @staticmethod
    def out(self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """The scalar product of two vectors, the first of them conjugated."""

class _packet_view(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dtype: DType) -> Tensor:
        """The same bytes as elements of another dtype."""
    @overload
    def __call__(cls, self: Tensor, size: Sequence[int]) -> Tensor:
        """Another shape of the same elements, where strides can show it."""
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int]) -> Tensor:
        """Another shape of the same elements, where strides can show it."""
    @_operator
    @staticmethod
    def dtype(self: Tensor, dtype: DType) -> Tensor:
        """The same bytes as elements of another dtype."""

class _packet_view_as(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, other: Tensor) -> Tensor:
        """The shape of another tensor, where strides can show it."""
    @_operator
    @staticmethod
    def default(self: Tensor, other: Tensor) -> Tensor:
        """The shape of another tensor, where strides can show it."""

class _packet_view_as_complex(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """The two real numbers of the last dimension as a complex one."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """The two real numbers of the last dimension as a complex one."""

class _packet_view_as_complex_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_view_as_real(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Every complex number as a last dimension of two real ones."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Every complex number as a last dimension of two real ones."""

class _packet_view_as_real_copy(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_view_copy(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: Tensor, dtype: DType, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    def __call__(cls, self: Tensor, size: Sequence[int], *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor, size: Sequence[int]) -> Tensor: ...
    @_operator
    @staticmethod
    def dtype(self: Tensor, dtype: DType) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, size: Sequence[int], *, out: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def dtype_out(self: Tensor, dtype: DType, *, out: Tensor) -> Tensor: ...

class _packet_vsplit(Operator[..., list[Tensor]], Protocol):
    @overload
    def __call__(cls, self: Tensor, sections: _int) -> list[Tensor]:
        """Parts of one size, one below the other."""
    @overload
    def __call__(cls, self: Tensor, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, one below the other."""
    @_operator
    @staticmethod
    def int(self: Tensor, sections: _int) -> list[Tensor]:
        """Parts of one size, one below the other."""
    @_operator
    @staticmethod
    def array(self: Tensor, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, one below the other."""

class _packet_vstack(Operator[..., Tensor], Protocol):
    def __call__(cls, tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
        """The tensors one below the other."""
    @_operator
    @staticmethod
    def default(tensors: Sequence[Tensor]) -> Tensor:
        """The tensors one below the other."""
    @_operator
    @staticmethod
    def out(tensors: Sequence[Tensor], *, out: Tensor) -> Tensor:
        """The tensors one below the other."""

class _packet_where(Operator[..., list[Tensor] | Tensor], Protocol):
    @overload
    def __call__(cls, condition: Tensor) -> list[Tensor]:
        """The indices of the elements that hold, one tensor for each dimension."""
    @overload
    def __call__(cls, condition: Tensor, self: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        """``self`` where the condition holds, ``other`` elsewhere."""
    @overload
    def __call__(cls, condition: Tensor, self: _Scalar, other: Tensor) -> Tensor:
        """``where`` with a number where the condition holds."""
    @overload
    def __call__(cls, condition: Tensor, self: Tensor, other: _Scalar) -> Tensor:
        """``where`` with a number where the condition does not hold."""
    @overload
    def __call__(cls, condition: Tensor, self: _Scalar, other: _Scalar) -> Tensor:
        """``where`` of two numbers."""
    @_operator
    @staticmethod
    def self(condition: Tensor, self: Tensor, other: Tensor) -> Tensor:
        """``self`` where the condition holds, ``other`` elsewhere."""
    @_operator
    @staticmethod
    def self_out(condition: Tensor, self: Tensor, other: Tensor, *, out: Tensor) -> Tensor:
        """``self`` where the condition holds, ``other`` elsewhere."""
    @_operator
    @staticmethod
    def ScalarSelf(condition: Tensor, self: _Scalar, other: Tensor) -> Tensor:
        """``where`` with a number where the condition holds."""
    @_operator
    @staticmethod
    def ScalarOther(condition: Tensor, self: Tensor, other: _Scalar) -> Tensor:
        """``where`` with a number where the condition does not hold."""
    @_operator
    @staticmethod
    def Scalar(condition: Tensor, self: _Scalar, other: _Scalar) -> Tensor:
        """``where`` of two numbers."""
    @_operator
    @staticmethod
    def default(condition: Tensor) -> list[Tensor]:
        """The indices of the elements that hold, one tensor for each dimension."""

class _packet_xlogy(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @overload
    def __call__(cls, self: Scalar, other: _Tensor, *, out: _Tensor | None = None) -> _Tensor:
        """``self * log(other)`` for a number as factor."""
    @overload
    def __call__(cls, self: _Tensor, other: Scalar, *, out: _Tensor | None = None) -> _Tensor:
        """``self * log(other)`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @_operator
    @staticmethod
    def OutTensor(self: _Tensor, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @_operator
    @staticmethod
    def Scalar_Self(self: Scalar, other: _Tensor) -> _Tensor:
        """``self * log(other)`` for a number as factor."""
    @_operator
    @staticmethod
    def OutScalar_Self(self: Scalar, other: _Tensor, *, out: _Tensor) -> _Tensor:
        """``self * log(other)`` for a number as factor."""
    @_operator
    @staticmethod
    def Scalar_Other(self: _Tensor, other: Scalar) -> _Tensor:
        """``self * log(other)`` for a number."""
    @_operator
    @staticmethod
    def OutScalar_Other(self: _Tensor, other: Scalar, *, out: _Tensor) -> _Tensor:
        """``self * log(other)`` for a number."""

class _packet_xlogy_(Operator[..., Tensor], Protocol):
    @overload
    def __call__(cls, self: _Tensor, other: _Tensor) -> _Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @overload
    def __call__(cls, self: _Tensor, other: Scalar) -> _Tensor:
        """``self * log(other)`` for a number."""
    @_operator
    @staticmethod
    def Tensor(self: _Tensor, other: _Tensor) -> _Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @_operator
    @staticmethod
    def Scalar_Other(self: _Tensor, other: Scalar) -> _Tensor:
        """``self * log(other)`` for a number."""

class _packet_zero(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor: ...
    @_operator
    @staticmethod
    def out(self: Tensor, *, out: Tensor) -> Tensor: ...

class _packet_zero_(Operator[..., Tensor], Protocol):
    def __call__(cls, self: Tensor) -> Tensor:
        """Sets every element to 0."""
    @_operator
    @staticmethod
    def default(self: Tensor) -> Tensor:
        """Sets every element to 0."""

class _packet_zeros(Operator[..., Tensor], Protocol):
    @overload
    def __call__(
        cls,
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        """A tensor of zeros."""
    @overload
    def __call__(
        cls,
        *size: int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @_operator
    @staticmethod
    def default(
        size: Sequence[int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """A tensor of zeros."""
    @_operator
    @staticmethod
    def out(size: Sequence[int], *, out: Tensor) -> Tensor:
        """Gives ``out`` the size and sets every element to 0."""

class _packet_zeros_like(Operator[..., Tensor], Protocol):
    def __call__(
        cls,
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of zeros in the form of another."""
    @_operator
    @staticmethod
    def default(
        self: Tensor,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | int | None = None,
        pin_memory: bool | None = None,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor:
        """A tensor of zeros in the form of another."""
    @_operator
    @staticmethod
    def out(self: Tensor, *, memory_format: MemoryFormat | None = None, out: Tensor) -> Tensor: ...

__and__: _packet___and__
__lshift__: _packet___lshift__
__or__: _packet___or__
__rshift__: _packet___rshift__
__xor__: _packet___xor__
_adaptive_avg_pool2d: _packet__adaptive_avg_pool2d
_adaptive_avg_pool3d: _packet__adaptive_avg_pool3d
_add_relu: _packet__add_relu
_add_relu_: _packet__add_relu_
_aminmax: _packet__aminmax
_assert_async: _packet__assert_async
_assert_scalar: _packet__assert_scalar
_assert_tensor_metadata: _packet__assert_tensor_metadata
_batch_norm_impl_index: _packet__batch_norm_impl_index
_cast_Byte: _packet__cast_Byte
_cast_Char: _packet__cast_Char
_cast_Double: _packet__cast_Double
_cast_Float: _packet__cast_Float
_cast_Half: _packet__cast_Half
_cast_Int: _packet__cast_Int
_cast_Long: _packet__cast_Long
_cast_Short: _packet__cast_Short
_chunk_cat: _packet__chunk_cat
_conj_copy: _packet__conj_copy
_conj_physical: _packet__conj_physical
_convolution: _packet__convolution
_convolution_mode: _packet__convolution_mode
_cummax_helper: _packet__cummax_helper
_cummin_helper: _packet__cummin_helper
_debug_has_internal_overlap: _packet__debug_has_internal_overlap
_dim_arange: _packet__dim_arange
_embedding_bag: _packet__embedding_bag
_embedding_bag_forward_only: _packet__embedding_bag_forward_only
_euclidean_dist: _packet__euclidean_dist
_fake_quantize_learnable_per_channel_affine: _packet__fake_quantize_learnable_per_channel_affine
_fake_quantize_learnable_per_tensor_affine: _packet__fake_quantize_learnable_per_tensor_affine
_fake_quantize_per_tensor_affine_cachemask_tensor_qparams: (
    _packet__fake_quantize_per_tensor_affine_cachemask_tensor_qparams
)
_fft_c2c: _packet__fft_c2c
_fft_c2r: _packet__fft_c2r
_fft_r2c: _packet__fft_r2c
_foreach_abs: _packet__foreach_abs
_foreach_abs_: _packet__foreach_abs_
_foreach_acos: _packet__foreach_acos
_foreach_acos_: _packet__foreach_acos_
_foreach_add: _packet__foreach_add
_foreach_add_: _packet__foreach_add_
_foreach_addcdiv: _packet__foreach_addcdiv
_foreach_addcdiv_: _packet__foreach_addcdiv_
_foreach_addcmul: _packet__foreach_addcmul
_foreach_addcmul_: _packet__foreach_addcmul_
_foreach_asin: _packet__foreach_asin
_foreach_asin_: _packet__foreach_asin_
_foreach_atan: _packet__foreach_atan
_foreach_atan_: _packet__foreach_atan_
_foreach_ceil: _packet__foreach_ceil
_foreach_ceil_: _packet__foreach_ceil_
_foreach_clamp_max: _packet__foreach_clamp_max
_foreach_clamp_max_: _packet__foreach_clamp_max_
_foreach_clamp_min: _packet__foreach_clamp_min
_foreach_clamp_min_: _packet__foreach_clamp_min_
_foreach_clone: _packet__foreach_clone
_foreach_copy_: _packet__foreach_copy_
_foreach_cos: _packet__foreach_cos
_foreach_cos_: _packet__foreach_cos_
_foreach_cosh: _packet__foreach_cosh
_foreach_cosh_: _packet__foreach_cosh_
_foreach_div: _packet__foreach_div
_foreach_div_: _packet__foreach_div_
_foreach_erf: _packet__foreach_erf
_foreach_erf_: _packet__foreach_erf_
_foreach_erfc: _packet__foreach_erfc
_foreach_erfc_: _packet__foreach_erfc_
_foreach_exp: _packet__foreach_exp
_foreach_exp_: _packet__foreach_exp_
_foreach_expm1: _packet__foreach_expm1
_foreach_expm1_: _packet__foreach_expm1_
_foreach_floor: _packet__foreach_floor
_foreach_floor_: _packet__foreach_floor_
_foreach_frac: _packet__foreach_frac
_foreach_frac_: _packet__foreach_frac_
_foreach_lerp: _packet__foreach_lerp
_foreach_lerp_: _packet__foreach_lerp_
_foreach_lgamma: _packet__foreach_lgamma
_foreach_lgamma_: _packet__foreach_lgamma_
_foreach_log: _packet__foreach_log
_foreach_log10: _packet__foreach_log10
_foreach_log10_: _packet__foreach_log10_
_foreach_log1p: _packet__foreach_log1p
_foreach_log1p_: _packet__foreach_log1p_
_foreach_log2: _packet__foreach_log2
_foreach_log2_: _packet__foreach_log2_
_foreach_log_: _packet__foreach_log_
_foreach_max: _packet__foreach_max
_foreach_maximum: _packet__foreach_maximum
_foreach_maximum_: _packet__foreach_maximum_
_foreach_minimum: _packet__foreach_minimum
_foreach_minimum_: _packet__foreach_minimum_
_foreach_mm: _packet__foreach_mm
_foreach_mul: _packet__foreach_mul
_foreach_mul_: _packet__foreach_mul_
_foreach_neg: _packet__foreach_neg
_foreach_neg_: _packet__foreach_neg_
_foreach_norm: _packet__foreach_norm
_foreach_pow: _packet__foreach_pow
_foreach_pow_: _packet__foreach_pow_
_foreach_powsum: _packet__foreach_powsum
_foreach_reciprocal: _packet__foreach_reciprocal
_foreach_reciprocal_: _packet__foreach_reciprocal_
_foreach_round: _packet__foreach_round
_foreach_round_: _packet__foreach_round_
_foreach_rsqrt: _packet__foreach_rsqrt
_foreach_rsqrt_: _packet__foreach_rsqrt_
_foreach_sigmoid: _packet__foreach_sigmoid
_foreach_sigmoid_: _packet__foreach_sigmoid_
_foreach_sign: _packet__foreach_sign
_foreach_sign_: _packet__foreach_sign_
_foreach_sin: _packet__foreach_sin
_foreach_sin_: _packet__foreach_sin_
_foreach_sinh: _packet__foreach_sinh
_foreach_sinh_: _packet__foreach_sinh_
_foreach_sqrt: _packet__foreach_sqrt
_foreach_sqrt_: _packet__foreach_sqrt_
_foreach_sub: _packet__foreach_sub
_foreach_sub_: _packet__foreach_sub_
_foreach_tan: _packet__foreach_tan
_foreach_tan_: _packet__foreach_tan_
_foreach_tanh: _packet__foreach_tanh
_foreach_tanh_: _packet__foreach_tanh_
_foreach_trunc: _packet__foreach_trunc
_foreach_trunc_: _packet__foreach_trunc_
_foreach_zero_: _packet__foreach_zero_
_functional_assert_async: _packet__functional_assert_async
_functional_assert_scalar: _packet__functional_assert_scalar
_functional_sym_constrain_range: _packet__functional_sym_constrain_range
_functional_sym_constrain_range_for_size: _packet__functional_sym_constrain_range_for_size
_fused_adagrad_: _packet__fused_adagrad_
_fused_adam_: _packet__fused_adam_
_fused_adamw_: _packet__fused_adamw_
_fused_rms_norm: _packet__fused_rms_norm
_fused_sgd_: _packet__fused_sgd_
_has_compatible_shallow_copy_type: _packet__has_compatible_shallow_copy_type
_index_put_impl_: _packet__index_put_impl_
_int_mm: _packet__int_mm
_is_all_true: _packet__is_all_true
_is_any_true: _packet__is_any_true
_is_zerotensor: _packet__is_zerotensor
_lazy_clone: _packet__lazy_clone
_linalg_check_errors: _packet__linalg_check_errors
_linalg_det: _packet__linalg_det
_linalg_eigh: _packet__linalg_eigh
_linalg_slogdet: _packet__linalg_slogdet
_linalg_solve_ex: _packet__linalg_solve_ex
_linalg_svd: _packet__linalg_svd
_log_softmax: _packet__log_softmax
_log_softmax_backward_data: _packet__log_softmax_backward_data
_logcumsumexp: _packet__logcumsumexp
_lu_with_info: _packet__lu_with_info
_make_dep_token: _packet__make_dep_token
_masked_scale: _packet__masked_scale
_native_batch_norm_legit: _packet__native_batch_norm_legit
_native_batch_norm_legit_no_training: _packet__native_batch_norm_legit_no_training
_neg_view_copy: _packet__neg_view_copy
_nnpack_available: _packet__nnpack_available
_pin_memory: _packet__pin_memory
_prelu_kernel: _packet__prelu_kernel
_print: _packet__print
_safe_softmax: _packet__safe_softmax
_scaled_dot_product_attention_math: _packet__scaled_dot_product_attention_math
_scaled_dot_product_flash_attention_for_cpu: _packet__scaled_dot_product_flash_attention_for_cpu
_softmax: _packet__softmax
_softmax_backward_data: _packet__softmax_backward_data
_stack: _packet__stack
_transform_bias_rescale_qkv: _packet__transform_bias_rescale_qkv
_trilinear: _packet__trilinear
_unique: _packet__unique
_unique2: _packet__unique2
_unsafe_index: _packet__unsafe_index
_unsafe_index_put: _packet__unsafe_index_put
_use_cudnn_ctc_loss: _packet__use_cudnn_ctc_loss
_use_cudnn_rnn_flatten_weight: _packet__use_cudnn_rnn_flatten_weight
_use_miopen_ctc_loss: _packet__use_miopen_ctc_loss
_weight_norm: _packet__weight_norm
_weight_norm_interface: _packet__weight_norm_interface
abs: _packet_abs
abs_: _packet_abs_
absolute: _packet_absolute
acos: _packet_acos
acos_: _packet_acos_
acosh: _packet_acosh
acosh_: _packet_acosh_
adaptive_avg_pool1d: _packet_adaptive_avg_pool1d
adaptive_max_pool1d: _packet_adaptive_max_pool1d
add: _packet_add
addbmm: _packet_addbmm
addcdiv: _packet_addcdiv
addcmul: _packet_addcmul
addmm: _packet_addmm
addmv: _packet_addmv
addmv_: _packet_addmv_
adjoint: _packet_adjoint
affine_grid_generator: _packet_affine_grid_generator
alias_copy: _packet_alias_copy
all: _packet_all
allclose: _packet_allclose
alpha_dropout: _packet_alpha_dropout
alpha_dropout_: _packet_alpha_dropout_
amax: _packet_amax
amin: _packet_amin
aminmax: _packet_aminmax
angle: _packet_angle
any: _packet_any
arange: _packet_arange
arccos: _packet_arccos
arccos_: _packet_arccos_
arccosh: _packet_arccosh
arccosh_: _packet_arccosh_
arcsin: _packet_arcsin
arcsin_: _packet_arcsin_
arcsinh: _packet_arcsinh
arcsinh_: _packet_arcsinh_
arctan: _packet_arctan
arctan2: _packet_arctan2
arctan_: _packet_arctan_
arctanh: _packet_arctanh
arctanh_: _packet_arctanh_
argmax: _packet_argmax
argmin: _packet_argmin
argsort: _packet_argsort
argwhere: _packet_argwhere
as_strided: _packet_as_strided
as_strided_: _packet_as_strided_
as_strided_copy: _packet_as_strided_copy
as_strided_scatter: _packet_as_strided_scatter
asin: _packet_asin
asin_: _packet_asin_
asinh: _packet_asinh
asinh_: _packet_asinh_
atan: _packet_atan
atan2: _packet_atan2
atan_: _packet_atan_
atanh: _packet_atanh
atanh_: _packet_atanh_
atleast_1d: _packet_atleast_1d
atleast_2d: _packet_atleast_2d
atleast_3d: _packet_atleast_3d
avg_pool1d: _packet_avg_pool1d
baddbmm: _packet_baddbmm
bartlett_window: _packet_bartlett_window
batch_norm: _packet_batch_norm
batch_norm_backward_elemt: _packet_batch_norm_backward_elemt
batch_norm_backward_reduce: _packet_batch_norm_backward_reduce
batch_norm_elemt: _packet_batch_norm_elemt
batch_norm_stats: _packet_batch_norm_stats
batch_norm_update_stats: _packet_batch_norm_update_stats
bernoulli: _packet_bernoulli
bilinear: _packet_bilinear
binary_cross_entropy_with_logits: _packet_binary_cross_entropy_with_logits
bincount: _packet_bincount
bitwise_and: _packet_bitwise_and
bitwise_left_shift: _packet_bitwise_left_shift
bitwise_not: _packet_bitwise_not
bitwise_or: _packet_bitwise_or
bitwise_right_shift: _packet_bitwise_right_shift
bitwise_xor: _packet_bitwise_xor
blackman_window: _packet_blackman_window
block_diag: _packet_block_diag
bmm: _packet_bmm
broadcast_tensors: _packet_broadcast_tensors
broadcast_to: _packet_broadcast_to
bucketize: _packet_bucketize
can_cast: _packet_can_cast
cartesian_prod: _packet_cartesian_prod
cat: _packet_cat
cdist: _packet_cdist
ceil: _packet_ceil
ceil_: _packet_ceil_
celu: _packet_celu
celu_: _packet_celu_
chain_matmul: _packet_chain_matmul
channel_shuffle: _packet_channel_shuffle
cholesky: _packet_cholesky
cholesky_inverse: _packet_cholesky_inverse
cholesky_solve: _packet_cholesky_solve
chunk: _packet_chunk
clamp: _packet_clamp
clamp_: _packet_clamp_
clamp_max: _packet_clamp_max
clamp_max_: _packet_clamp_max_
clamp_min: _packet_clamp_min
clamp_min_: _packet_clamp_min_
clip: _packet_clip
clip_: _packet_clip_
clone: _packet_clone
column_stack: _packet_column_stack
combinations: _packet_combinations
complex: _packet_complex
concat: _packet_concat
concatenate: _packet_concatenate
conj: _packet_conj
conj_physical: _packet_conj_physical
conj_physical_: _packet_conj_physical_
constant_pad_nd: _packet_constant_pad_nd
conv1d: _packet_conv1d
conv2d: _packet_conv2d
conv3d: _packet_conv3d
conv_tbc: _packet_conv_tbc
conv_transpose1d: _packet_conv_transpose1d
conv_transpose2d: _packet_conv_transpose2d
conv_transpose3d: _packet_conv_transpose3d
convolution: _packet_convolution
copysign: _packet_copysign
corrcoef: _packet_corrcoef
cos: _packet_cos
cos_: _packet_cos_
cosh: _packet_cosh
cosh_: _packet_cosh_
cosine_embedding_loss: _packet_cosine_embedding_loss
cosine_similarity: _packet_cosine_similarity
count_nonzero: _packet_count_nonzero
cov: _packet_cov
cross: _packet_cross
cudnn_is_acceptable: _packet_cudnn_is_acceptable
cummax: _packet_cummax
cummin: _packet_cummin
cumprod: _packet_cumprod
cumsum: _packet_cumsum
cumulative_trapezoid: _packet_cumulative_trapezoid
deg2rad: _packet_deg2rad
deg2rad_: _packet_deg2rad_
det: _packet_det
detach: _packet_detach
detach_: _packet_detach_
detach_copy: _packet_detach_copy
diag: _packet_diag
diag_embed: _packet_diag_embed
diagflat: _packet_diagflat
diagonal: _packet_diagonal
diagonal_copy: _packet_diagonal_copy
diagonal_scatter: _packet_diagonal_scatter
diff: _packet_diff
digamma: _packet_digamma
dist: _packet_dist
div: _packet_div
divide: _packet_divide
dot: _packet_dot
dropout: _packet_dropout
dropout_: _packet_dropout_
dsplit: _packet_dsplit
dstack: _packet_dstack
einsum: _packet_einsum
embedding: _packet_embedding
embedding_bag: _packet_embedding_bag
empty: _packet_empty
empty_like: _packet_empty_like
empty_permuted: _packet_empty_permuted
empty_strided: _packet_empty_strided
eq: _packet_eq
equal: _packet_equal
erf: _packet_erf
erf_: _packet_erf_
erfc: _packet_erfc
erfc_: _packet_erfc_
erfinv: _packet_erfinv
exp: _packet_exp
exp2: _packet_exp2
exp2_: _packet_exp2_
exp_: _packet_exp_
expand_copy: _packet_expand_copy
expm1: _packet_expm1
expm1_: _packet_expm1_
eye: _packet_eye
fake_quantize_per_channel_affine: _packet_fake_quantize_per_channel_affine
fake_quantize_per_tensor_affine: _packet_fake_quantize_per_tensor_affine
feature_alpha_dropout: _packet_feature_alpha_dropout
feature_alpha_dropout_: _packet_feature_alpha_dropout_
feature_dropout: _packet_feature_dropout
feature_dropout_: _packet_feature_dropout_
fill: _packet_fill
fill_: _packet_fill_
fix: _packet_fix
fix_: _packet_fix_
flatten: _packet_flatten
flip: _packet_flip
fliplr: _packet_fliplr
flipud: _packet_flipud
float_power: _packet_float_power
floor: _packet_floor
floor_: _packet_floor_
floor_divide: _packet_floor_divide
fmax: _packet_fmax
fmin: _packet_fmin
fmod: _packet_fmod
frac: _packet_frac
frac_: _packet_frac_
frexp: _packet_frexp
frobenius_norm: _packet_frobenius_norm
full: _packet_full
full_like: _packet_full_like
gather: _packet_gather
gcd: _packet_gcd
gcd_: _packet_gcd_
ge: _packet_ge
ger: _packet_ger
greater: _packet_greater
greater_equal: _packet_greater_equal
grid_sampler: _packet_grid_sampler
grid_sampler_2d: _packet_grid_sampler_2d
grid_sampler_3d: _packet_grid_sampler_3d
group_norm: _packet_group_norm
gru: _packet_gru
gru_cell: _packet_gru_cell
gt: _packet_gt
hamming_window: _packet_hamming_window
hann_window: _packet_hann_window
hardshrink: _packet_hardshrink
heaviside: _packet_heaviside
hinge_embedding_loss: _packet_hinge_embedding_loss
histc: _packet_histc
histogram: _packet_histogram
hsplit: _packet_hsplit
hstack: _packet_hstack
hypot: _packet_hypot
i0: _packet_i0
i0_: _packet_i0_
igamma: _packet_igamma
igammac: _packet_igammac
imag: _packet_imag
index_add: _packet_index_add
index_copy: _packet_index_copy
index_fill: _packet_index_fill
index_put: _packet_index_put
index_put_: _packet_index_put_
index_select: _packet_index_select
inner: _packet_inner
instance_norm: _packet_instance_norm
inverse: _packet_inverse
is_complex: _packet_is_complex
is_conj: _packet_is_conj
is_distributed: _packet_is_distributed
is_floating_point: _packet_is_floating_point
is_inference: _packet_is_inference
is_neg: _packet_is_neg
is_nonzero: _packet_is_nonzero
is_same_size: _packet_is_same_size
is_signed: _packet_is_signed
is_vulkan_available: _packet_is_vulkan_available
isclose: _packet_isclose
isfinite: _packet_isfinite
isin: _packet_isin
isinf: _packet_isinf
isnan: _packet_isnan
isneginf: _packet_isneginf
isposinf: _packet_isposinf
isreal: _packet_isreal
istft: _packet_istft
kaiser_window: _packet_kaiser_window
kl_div: _packet_kl_div
kron: _packet_kron
kthvalue: _packet_kthvalue
layer_norm: _packet_layer_norm
lcm: _packet_lcm
lcm_: _packet_lcm_
ldexp: _packet_ldexp
ldexp_: _packet_ldexp_
le: _packet_le
lerp: _packet_lerp
less: _packet_less
less_equal: _packet_less_equal
lgamma: _packet_lgamma
linspace: _packet_linspace
log: _packet_log
log10: _packet_log10
log10_: _packet_log10_
log1p: _packet_log1p
log1p_: _packet_log1p_
log2: _packet_log2
log2_: _packet_log2_
log_: _packet_log_
log_softmax: _packet_log_softmax
logaddexp: _packet_logaddexp
logaddexp2: _packet_logaddexp2
logcumsumexp: _packet_logcumsumexp
logdet: _packet_logdet
logical_and: _packet_logical_and
logical_not: _packet_logical_not
logical_or: _packet_logical_or
logical_xor: _packet_logical_xor
logit: _packet_logit
logit_: _packet_logit_
logspace: _packet_logspace
logsumexp: _packet_logsumexp
lstm: _packet_lstm
lstm_cell: _packet_lstm_cell
lt: _packet_lt
lu_solve: _packet_lu_solve
lu_unpack: _packet_lu_unpack
margin_ranking_loss: _packet_margin_ranking_loss
masked_fill: _packet_masked_fill
masked_scatter: _packet_masked_scatter
masked_select: _packet_masked_select
matmul: _packet_matmul
matrix_exp: _packet_matrix_exp
matrix_power: _packet_matrix_power
max: _packet_max
max_pool1d: _packet_max_pool1d
max_pool1d_with_indices: _packet_max_pool1d_with_indices
max_pool2d: _packet_max_pool2d
max_pool3d: _packet_max_pool3d
maximum: _packet_maximum
mean: _packet_mean
median: _packet_median
meshgrid: _packet_meshgrid
min: _packet_min
minimum: _packet_minimum
mm: _packet_mm
mode: _packet_mode
moveaxis: _packet_moveaxis
movedim: _packet_movedim
msort: _packet_msort
mul: _packet_mul
multinomial: _packet_multinomial
multiply: _packet_multiply
mv: _packet_mv
mvlgamma: _packet_mvlgamma
nan_to_num: _packet_nan_to_num
nan_to_num_: _packet_nan_to_num_
nanmean: _packet_nanmean
nanmedian: _packet_nanmedian
nanquantile: _packet_nanquantile
nansum: _packet_nansum
narrow: _packet_narrow
narrow_copy: _packet_narrow_copy
native_batch_norm: _packet_native_batch_norm
native_channel_shuffle: _packet_native_channel_shuffle
native_dropout: _packet_native_dropout
native_group_norm: _packet_native_group_norm
native_layer_norm: _packet_native_layer_norm
ne: _packet_ne
neg: _packet_neg
neg_: _packet_neg_
negative: _packet_negative
negative_: _packet_negative_
nextafter: _packet_nextafter
nonzero: _packet_nonzero
norm: _packet_norm
norm_except_dim: _packet_norm_except_dim
normal: _packet_normal
not_equal: _packet_not_equal
nuclear_norm: _packet_nuclear_norm
ones: _packet_ones
ones_like: _packet_ones_like
outer: _packet_outer
pairwise_distance: _packet_pairwise_distance
pdist: _packet_pdist
permute: _packet_permute
permute_copy: _packet_permute_copy
pinverse: _packet_pinverse
pixel_shuffle: _packet_pixel_shuffle
pixel_unshuffle: _packet_pixel_unshuffle
poisson_nll_loss: _packet_poisson_nll_loss
polar: _packet_polar
polygamma: _packet_polygamma
positive: _packet_positive
pow: _packet_pow
prelu: _packet_prelu
prod: _packet_prod
promote_types: _packet_promote_types
put: _packet_put
qr: _packet_qr
quantile: _packet_quantile
rad2deg: _packet_rad2deg
rad2deg_: _packet_rad2deg_
rand: _packet_rand
rand_like: _packet_rand_like
randint: _packet_randint
randint_like: _packet_randint_like
randn: _packet_randn
randn_like: _packet_randn_like
randperm: _packet_randperm
ravel: _packet_ravel
real: _packet_real
reciprocal: _packet_reciprocal
reciprocal_: _packet_reciprocal_
relu: _packet_relu
relu_: _packet_relu_
remainder: _packet_remainder
renorm: _packet_renorm
repeat_interleave: _packet_repeat_interleave
reshape: _packet_reshape
resize_as_: _packet_resize_as_
resolve_conj: _packet_resolve_conj
resolve_neg: _packet_resolve_neg
result_type: _packet_result_type
rms_norm: _packet_rms_norm
rnn_relu: _packet_rnn_relu
rnn_relu_cell: _packet_rnn_relu_cell
rnn_tanh: _packet_rnn_tanh
rnn_tanh_cell: _packet_rnn_tanh_cell
roll: _packet_roll
rot90: _packet_rot90
round: _packet_round
round_: _packet_round_
row_stack: _packet_row_stack
rrelu: _packet_rrelu
rrelu_: _packet_rrelu_
rsqrt: _packet_rsqrt
rsqrt_: _packet_rsqrt_
rsub: _packet_rsub
scalar_tensor: _packet_scalar_tensor
scatter: _packet_scatter
scatter_add: _packet_scatter_add
scatter_reduce: _packet_scatter_reduce
searchsorted: _packet_searchsorted
select: _packet_select
select_copy: _packet_select_copy
select_scatter: _packet_select_scatter
selu: _packet_selu
selu_: _packet_selu_
sgn: _packet_sgn
sigmoid: _packet_sigmoid
sigmoid_: _packet_sigmoid_
sign: _packet_sign
signbit: _packet_signbit
sin: _packet_sin
sin_: _packet_sin_
sinc: _packet_sinc
sinc_: _packet_sinc_
sinh: _packet_sinh
sinh_: _packet_sinh_
slice_copy: _packet_slice_copy
slice_scatter: _packet_slice_scatter
slogdet: _packet_slogdet
softmax: _packet_softmax
sort: _packet_sort
split: _packet_split
split_copy: _packet_split_copy
split_with_sizes: _packet_split_with_sizes
split_with_sizes_copy: _packet_split_with_sizes_copy
sqrt: _packet_sqrt
sqrt_: _packet_sqrt_
square: _packet_square
square_: _packet_square_
squeeze: _packet_squeeze
squeeze_copy: _packet_squeeze_copy
stack: _packet_stack
std: _packet_std
std_mean: _packet_std_mean
stft: _packet_stft
sub: _packet_sub
subtract: _packet_subtract
sum: _packet_sum
swapaxes: _packet_swapaxes
swapdims: _packet_swapdims
sym_constrain_range: _packet_sym_constrain_range
sym_constrain_range_for_size: _packet_sym_constrain_range_for_size
t: _packet_t
t_copy: _packet_t_copy
take: _packet_take
take_along_dim: _packet_take_along_dim
tan: _packet_tan
tan_: _packet_tan_
tanh: _packet_tanh
tanh_: _packet_tanh_
tensor_split: _packet_tensor_split
tensordot: _packet_tensordot
threshold: _packet_threshold
threshold_: _packet_threshold_
tile: _packet_tile
topk: _packet_topk
trace: _packet_trace
transpose: _packet_transpose
transpose_copy: _packet_transpose_copy
trapezoid: _packet_trapezoid
trapz: _packet_trapz
triangular_solve: _packet_triangular_solve
tril: _packet_tril
tril_indices: _packet_tril_indices
triplet_margin_loss: _packet_triplet_margin_loss
triu: _packet_triu
triu_indices: _packet_triu_indices
true_divide: _packet_true_divide
trunc: _packet_trunc
trunc_: _packet_trunc_
unbind: _packet_unbind
unbind_copy: _packet_unbind_copy
unflatten: _packet_unflatten
unfold_copy: _packet_unfold_copy
unique_consecutive: _packet_unique_consecutive
unsafe_chunk: _packet_unsafe_chunk
unsafe_split: _packet_unsafe_split
unsafe_split_with_sizes: _packet_unsafe_split_with_sizes
unsqueeze: _packet_unsqueeze
unsqueeze_copy: _packet_unsqueeze_copy
vander: _packet_vander
var: _packet_var
var_mean: _packet_var_mean
vdot: _packet_vdot
view_as_complex: _packet_view_as_complex
view_as_complex_copy: _packet_view_as_complex_copy
view_as_real: _packet_view_as_real
view_as_real_copy: _packet_view_as_real_copy
view_copy: _packet_view_copy
vsplit: _packet_vsplit
vstack: _packet_vstack
where: _packet_where
xlogy: _packet_xlogy
xlogy_: _packet_xlogy_
zero_: _packet_zero_
zeros: _packet_zeros
zeros_like: _packet_zeros_like

class _module_fft:
    fft: _packet_fft_fft
    fft2: _packet_fft_fft2
    fft_fft: _packet_fft_fft
    fft_fft2: _packet_fft_fft2
    fft_fftfreq: _packet_fft_fftfreq
    fft_fftn: _packet_fft_fftn
    fft_fftshift: _packet_fft_fftshift
    fft_hfft: _packet_fft_hfft
    fft_hfft2: _packet_fft_hfft2
    fft_hfftn: _packet_fft_hfftn
    fft_ifft: _packet_fft_ifft
    fft_ifft2: _packet_fft_ifft2
    fft_ifftn: _packet_fft_ifftn
    fft_ifftshift: _packet_fft_ifftshift
    fft_ihfft: _packet_fft_ihfft
    fft_ihfft2: _packet_fft_ihfft2
    fft_ihfftn: _packet_fft_ihfftn
    fft_irfft: _packet_fft_irfft
    fft_irfft2: _packet_fft_irfft2
    fft_irfftn: _packet_fft_irfftn
    fft_rfft: _packet_fft_rfft
    fft_rfft2: _packet_fft_rfft2
    fft_rfftfreq: _packet_fft_rfftfreq
    fft_rfftn: _packet_fft_rfftn
    fftfreq: _packet_fft_fftfreq
    fftn: _packet_fft_fftn
    fftshift: _packet_fft_fftshift
    hfft: _packet_fft_hfft
    hfft2: _packet_fft_hfft2
    hfftn: _packet_fft_hfftn
    ifft: _packet_fft_ifft
    ifft2: _packet_fft_ifft2
    ifftn: _packet_fft_ifftn
    ifftshift: _packet_fft_ifftshift
    ihfft: _packet_fft_ihfft
    ihfft2: _packet_fft_ihfft2
    ihfftn: _packet_fft_ihfftn
    irfft: _packet_fft_irfft
    irfft2: _packet_fft_irfft2
    irfftn: _packet_fft_irfftn
    rfft: _packet_fft_rfft
    rfft2: _packet_fft_rfft2
    rfftfreq: _packet_fft_rfftfreq
    rfftn: _packet_fft_rfftn

fft: _module_fft

class _module_linalg:
    _powsum: _packet_linalg__powsum
    cholesky: _packet_linalg_cholesky
    cholesky_ex: _packet_linalg_cholesky_ex
    cond: _packet_linalg_cond
    cross: _packet_linalg_cross
    det: _packet_linalg_det
    diagonal: _packet_linalg_diagonal
    eigh: _packet_linalg_eigh
    eigvalsh: _packet_linalg_eigvalsh
    inv: _packet_linalg_inv
    inv_ex: _packet_linalg_inv_ex
    linalg__powsum: _packet_linalg__powsum
    linalg_cholesky: _packet_linalg_cholesky
    linalg_cholesky_ex: _packet_linalg_cholesky_ex
    linalg_cond: _packet_linalg_cond
    linalg_cross: _packet_linalg_cross
    linalg_det: _packet_linalg_det
    linalg_diagonal: _packet_linalg_diagonal
    linalg_eigh: _packet_linalg_eigh
    linalg_eigvalsh: _packet_linalg_eigvalsh
    linalg_inv: _packet_linalg_inv
    linalg_inv_ex: _packet_linalg_inv_ex
    linalg_lu: _packet_linalg_lu
    linalg_lu_factor: _packet_linalg_lu_factor
    linalg_lu_factor_ex: _packet_linalg_lu_factor_ex
    linalg_lu_solve: _packet_linalg_lu_solve
    linalg_matmul: _packet_linalg_matmul
    linalg_matrix_exp: _packet_linalg_matrix_exp
    linalg_matrix_norm: _packet_linalg_matrix_norm
    linalg_matrix_power: _packet_linalg_matrix_power
    linalg_matrix_rank: _packet_linalg_matrix_rank
    linalg_multi_dot: _packet_linalg_multi_dot
    linalg_norm: _packet_linalg_norm
    linalg_pinv: _packet_linalg_pinv
    linalg_qr: _packet_linalg_qr
    linalg_slogdet: _packet_linalg_slogdet
    linalg_solve: _packet_linalg_solve
    linalg_solve_ex: _packet_linalg_solve_ex
    linalg_solve_triangular: _packet_linalg_solve_triangular
    linalg_svd: _packet_linalg_svd
    linalg_svdvals: _packet_linalg_svdvals
    linalg_tensorinv: _packet_linalg_tensorinv
    linalg_tensorsolve: _packet_linalg_tensorsolve
    linalg_vander: _packet_linalg_vander
    linalg_vecdot: _packet_linalg_vecdot
    linalg_vector_norm: _packet_linalg_vector_norm
    lu: _packet_linalg_lu
    lu_factor: _packet_linalg_lu_factor
    lu_factor_ex: _packet_linalg_lu_factor_ex
    lu_solve: _packet_linalg_lu_solve
    matmul: _packet_linalg_matmul
    matrix_exp: _packet_linalg_matrix_exp
    matrix_norm: _packet_linalg_matrix_norm
    matrix_power: _packet_linalg_matrix_power
    matrix_rank: _packet_linalg_matrix_rank
    multi_dot: _packet_linalg_multi_dot
    norm: _packet_linalg_norm
    pinv: _packet_linalg_pinv
    qr: _packet_linalg_qr
    slogdet: _packet_linalg_slogdet
    solve: _packet_linalg_solve
    solve_ex: _packet_linalg_solve_ex
    solve_triangular: _packet_linalg_solve_triangular
    svd: _packet_linalg_svd
    svdvals: _packet_linalg_svdvals
    tensorinv: _packet_linalg_tensorinv
    tensorsolve: _packet_linalg_tensorsolve
    vander: _packet_linalg_vander
    vecdot: _packet_linalg_vecdot
    vector_norm: _packet_linalg_vector_norm

linalg: _module_linalg

class _module_nested: ...

nested: _module_nested

class _module_sparse: ...

sparse: _module_sparse

class _module_special:
    airy_ai: _packet_special_airy_ai
    bessel_j0: _packet_special_bessel_j0
    bessel_j1: _packet_special_bessel_j1
    bessel_y0: _packet_special_bessel_y0
    bessel_y1: _packet_special_bessel_y1
    chebyshev_polynomial_t: _packet_special_chebyshev_polynomial_t
    chebyshev_polynomial_u: _packet_special_chebyshev_polynomial_u
    chebyshev_polynomial_v: _packet_special_chebyshev_polynomial_v
    chebyshev_polynomial_w: _packet_special_chebyshev_polynomial_w
    digamma: _packet_special_digamma
    entr: _packet_special_entr
    erf: _packet_special_erf
    erfc: _packet_special_erfc
    erfcx: _packet_special_erfcx
    erfinv: _packet_special_erfinv
    exp2: _packet_special_exp2
    expit: _packet_special_expit
    expm1: _packet_special_expm1
    gammainc: _packet_special_gammainc
    gammaincc: _packet_special_gammaincc
    gammaln: _packet_special_gammaln
    hermite_polynomial_h: _packet_special_hermite_polynomial_h
    hermite_polynomial_he: _packet_special_hermite_polynomial_he
    i0: _packet_special_i0
    i0e: _packet_special_i0e
    i1: _packet_special_i1
    i1e: _packet_special_i1e
    laguerre_polynomial_l: _packet_special_laguerre_polynomial_l
    legendre_polynomial_p: _packet_special_legendre_polynomial_p
    log1p: _packet_special_log1p
    log_ndtr: _packet_special_log_ndtr
    log_softmax: _packet_special_log_softmax
    logit: _packet_special_logit
    logsumexp: _packet_special_logsumexp
    modified_bessel_i0: _packet_special_modified_bessel_i0
    modified_bessel_i1: _packet_special_modified_bessel_i1
    modified_bessel_k0: _packet_special_modified_bessel_k0
    modified_bessel_k1: _packet_special_modified_bessel_k1
    multigammaln: _packet_special_multigammaln
    ndtr: _packet_special_ndtr
    ndtri: _packet_special_ndtri
    polygamma: _packet_special_polygamma
    psi: _packet_special_psi
    round: _packet_special_round
    scaled_modified_bessel_k0: _packet_special_scaled_modified_bessel_k0
    scaled_modified_bessel_k1: _packet_special_scaled_modified_bessel_k1
    shifted_chebyshev_polynomial_t: _packet_special_shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u: _packet_special_shifted_chebyshev_polynomial_u
    shifted_chebyshev_polynomial_v: _packet_special_shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w: _packet_special_shifted_chebyshev_polynomial_w
    sinc: _packet_special_sinc
    softmax: _packet_special_softmax
    special_airy_ai: _packet_special_airy_ai
    special_bessel_j0: _packet_special_bessel_j0
    special_bessel_j1: _packet_special_bessel_j1
    special_bessel_y0: _packet_special_bessel_y0
    special_bessel_y1: _packet_special_bessel_y1
    special_chebyshev_polynomial_t: _packet_special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u: _packet_special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v: _packet_special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w: _packet_special_chebyshev_polynomial_w
    special_digamma: _packet_special_digamma
    special_entr: _packet_special_entr
    special_erf: _packet_special_erf
    special_erfc: _packet_special_erfc
    special_erfcx: _packet_special_erfcx
    special_erfinv: _packet_special_erfinv
    special_exp2: _packet_special_exp2
    special_expit: _packet_special_expit
    special_expm1: _packet_special_expm1
    special_gammainc: _packet_special_gammainc
    special_gammaincc: _packet_special_gammaincc
    special_gammaln: _packet_special_gammaln
    special_hermite_polynomial_h: _packet_special_hermite_polynomial_h
    special_hermite_polynomial_he: _packet_special_hermite_polynomial_he
    special_i0: _packet_special_i0
    special_i0e: _packet_special_i0e
    special_i1: _packet_special_i1
    special_i1e: _packet_special_i1e
    special_laguerre_polynomial_l: _packet_special_laguerre_polynomial_l
    special_legendre_polynomial_p: _packet_special_legendre_polynomial_p
    special_log1p: _packet_special_log1p
    special_log_ndtr: _packet_special_log_ndtr
    special_log_softmax: _packet_special_log_softmax
    special_logit: _packet_special_logit
    special_logsumexp: _packet_special_logsumexp
    special_modified_bessel_i0: _packet_special_modified_bessel_i0
    special_modified_bessel_i1: _packet_special_modified_bessel_i1
    special_modified_bessel_k0: _packet_special_modified_bessel_k0
    special_modified_bessel_k1: _packet_special_modified_bessel_k1
    special_multigammaln: _packet_special_multigammaln
    special_ndtr: _packet_special_ndtr
    special_ndtri: _packet_special_ndtri
    special_polygamma: _packet_special_polygamma
    special_psi: _packet_special_psi
    special_round: _packet_special_round
    special_scaled_modified_bessel_k0: _packet_special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1: _packet_special_scaled_modified_bessel_k1
    special_shifted_chebyshev_polynomial_t: _packet_special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u: _packet_special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v: _packet_special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w: _packet_special_shifted_chebyshev_polynomial_w
    special_sinc: _packet_special_sinc
    special_softmax: _packet_special_softmax
    special_spherical_bessel_j0: _packet_special_spherical_bessel_j0
    special_xlog1py: _packet_special_xlog1py
    special_xlogy: _packet_special_xlogy
    special_zeta: _packet_special_zeta
    spherical_bessel_j0: _packet_special_spherical_bessel_j0
    xlog1py: _packet_special_xlog1py
    xlogy: _packet_special_xlogy
    zeta: _packet_special_zeta

special: _module_special

class _namespace_aten:
    __and__: _packet___and__
    __iand__: _packet___iand__
    __ilshift__: _packet___ilshift__
    __ior__: _packet___ior__
    __irshift__: _packet___irshift__
    __ixor__: _packet___ixor__
    __lshift__: _packet___lshift__
    __or__: _packet___or__
    __rshift__: _packet___rshift__
    __xor__: _packet___xor__
    _adaptive_avg_pool2d: _packet__adaptive_avg_pool2d
    _adaptive_avg_pool2d_backward: _packet__adaptive_avg_pool2d_backward
    _adaptive_avg_pool3d: _packet__adaptive_avg_pool3d
    _adaptive_avg_pool3d_backward: _packet__adaptive_avg_pool3d_backward
    _add_relu: _packet__add_relu
    _add_relu_: _packet__add_relu_
    _aminmax: _packet__aminmax
    _assert_async: _packet__assert_async
    _assert_scalar: _packet__assert_scalar
    _assert_tensor_metadata: _packet__assert_tensor_metadata
    _batch_norm_impl_index: _packet__batch_norm_impl_index
    _batch_norm_impl_index_backward: _packet__batch_norm_impl_index_backward
    _batch_norm_no_update: _packet__batch_norm_no_update
    _batch_norm_with_update: _packet__batch_norm_with_update
    _cast_Byte: _packet__cast_Byte
    _cast_Char: _packet__cast_Char
    _cast_Double: _packet__cast_Double
    _cast_Float: _packet__cast_Float
    _cast_Half: _packet__cast_Half
    _cast_Int: _packet__cast_Int
    _cast_Long: _packet__cast_Long
    _cast_Short: _packet__cast_Short
    _cdist_backward: _packet__cdist_backward
    _cdist_forward: _packet__cdist_forward
    _cholesky_solve_helper: _packet__cholesky_solve_helper
    _chunk_cat: _packet__chunk_cat
    _conj_copy: _packet__conj_copy
    _conj_physical: _packet__conj_physical
    _conv_depthwise2d: _packet__conv_depthwise2d
    _convolution: _packet__convolution
    _convolution_mode: _packet__convolution_mode
    _cummax_helper: _packet__cummax_helper
    _cummin_helper: _packet__cummin_helper
    _debug_has_internal_overlap: _packet__debug_has_internal_overlap
    _dim_arange: _packet__dim_arange
    _embedding_bag: _packet__embedding_bag
    _embedding_bag_backward: _packet__embedding_bag_backward
    _embedding_bag_dense_backward: _packet__embedding_bag_dense_backward
    _embedding_bag_forward_only: _packet__embedding_bag_forward_only
    _embedding_bag_per_sample_weights_backward: _packet__embedding_bag_per_sample_weights_backward
    _euclidean_dist: _packet__euclidean_dist
    _fake_quantize_learnable_per_channel_affine: _packet__fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_channel_affine_backward: _packet__fake_quantize_learnable_per_channel_affine_backward
    _fake_quantize_learnable_per_tensor_affine: _packet__fake_quantize_learnable_per_tensor_affine
    _fake_quantize_learnable_per_tensor_affine_backward: _packet__fake_quantize_learnable_per_tensor_affine_backward
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams: (
        _packet__fake_quantize_per_tensor_affine_cachemask_tensor_qparams
    )
    _fft_c2c: _packet__fft_c2c
    _fft_c2r: _packet__fft_c2r
    _fft_r2c: _packet__fft_r2c
    _foreach_abs: _packet__foreach_abs
    _foreach_abs_: _packet__foreach_abs_
    _foreach_acos: _packet__foreach_acos
    _foreach_acos_: _packet__foreach_acos_
    _foreach_add: _packet__foreach_add
    _foreach_add_: _packet__foreach_add_
    _foreach_addcdiv: _packet__foreach_addcdiv
    _foreach_addcdiv_: _packet__foreach_addcdiv_
    _foreach_addcmul: _packet__foreach_addcmul
    _foreach_addcmul_: _packet__foreach_addcmul_
    _foreach_asin: _packet__foreach_asin
    _foreach_asin_: _packet__foreach_asin_
    _foreach_atan: _packet__foreach_atan
    _foreach_atan_: _packet__foreach_atan_
    _foreach_ceil: _packet__foreach_ceil
    _foreach_ceil_: _packet__foreach_ceil_
    _foreach_clamp_max: _packet__foreach_clamp_max
    _foreach_clamp_max_: _packet__foreach_clamp_max_
    _foreach_clamp_min: _packet__foreach_clamp_min
    _foreach_clamp_min_: _packet__foreach_clamp_min_
    _foreach_clone: _packet__foreach_clone
    _foreach_copy: _packet__foreach_copy
    _foreach_copy_: _packet__foreach_copy_
    _foreach_cos: _packet__foreach_cos
    _foreach_cos_: _packet__foreach_cos_
    _foreach_cosh: _packet__foreach_cosh
    _foreach_cosh_: _packet__foreach_cosh_
    _foreach_div: _packet__foreach_div
    _foreach_div_: _packet__foreach_div_
    _foreach_erf: _packet__foreach_erf
    _foreach_erf_: _packet__foreach_erf_
    _foreach_erfc: _packet__foreach_erfc
    _foreach_erfc_: _packet__foreach_erfc_
    _foreach_exp: _packet__foreach_exp
    _foreach_exp_: _packet__foreach_exp_
    _foreach_expm1: _packet__foreach_expm1
    _foreach_expm1_: _packet__foreach_expm1_
    _foreach_floor: _packet__foreach_floor
    _foreach_floor_: _packet__foreach_floor_
    _foreach_frac: _packet__foreach_frac
    _foreach_frac_: _packet__foreach_frac_
    _foreach_lerp: _packet__foreach_lerp
    _foreach_lerp_: _packet__foreach_lerp_
    _foreach_lgamma: _packet__foreach_lgamma
    _foreach_lgamma_: _packet__foreach_lgamma_
    _foreach_log: _packet__foreach_log
    _foreach_log10: _packet__foreach_log10
    _foreach_log10_: _packet__foreach_log10_
    _foreach_log1p: _packet__foreach_log1p
    _foreach_log1p_: _packet__foreach_log1p_
    _foreach_log2: _packet__foreach_log2
    _foreach_log2_: _packet__foreach_log2_
    _foreach_log_: _packet__foreach_log_
    _foreach_max: _packet__foreach_max
    _foreach_maximum: _packet__foreach_maximum
    _foreach_maximum_: _packet__foreach_maximum_
    _foreach_minimum: _packet__foreach_minimum
    _foreach_minimum_: _packet__foreach_minimum_
    _foreach_mm: _packet__foreach_mm
    _foreach_mul: _packet__foreach_mul
    _foreach_mul_: _packet__foreach_mul_
    _foreach_neg: _packet__foreach_neg
    _foreach_neg_: _packet__foreach_neg_
    _foreach_norm: _packet__foreach_norm
    _foreach_pow: _packet__foreach_pow
    _foreach_pow_: _packet__foreach_pow_
    _foreach_powsum: _packet__foreach_powsum
    _foreach_reciprocal: _packet__foreach_reciprocal
    _foreach_reciprocal_: _packet__foreach_reciprocal_
    _foreach_round: _packet__foreach_round
    _foreach_round_: _packet__foreach_round_
    _foreach_rsqrt: _packet__foreach_rsqrt
    _foreach_rsqrt_: _packet__foreach_rsqrt_
    _foreach_sigmoid: _packet__foreach_sigmoid
    _foreach_sigmoid_: _packet__foreach_sigmoid_
    _foreach_sign: _packet__foreach_sign
    _foreach_sign_: _packet__foreach_sign_
    _foreach_sin: _packet__foreach_sin
    _foreach_sin_: _packet__foreach_sin_
    _foreach_sinh: _packet__foreach_sinh
    _foreach_sinh_: _packet__foreach_sinh_
    _foreach_sqrt: _packet__foreach_sqrt
    _foreach_sqrt_: _packet__foreach_sqrt_
    _foreach_sub: _packet__foreach_sub
    _foreach_sub_: _packet__foreach_sub_
    _foreach_tan: _packet__foreach_tan
    _foreach_tan_: _packet__foreach_tan_
    _foreach_tanh: _packet__foreach_tanh
    _foreach_tanh_: _packet__foreach_tanh_
    _foreach_trunc: _packet__foreach_trunc
    _foreach_trunc_: _packet__foreach_trunc_
    _foreach_zero: _packet__foreach_zero
    _foreach_zero_: _packet__foreach_zero_
    _functional_assert_async: _packet__functional_assert_async
    _functional_assert_scalar: _packet__functional_assert_scalar
    _functional_sym_constrain_range: _packet__functional_sym_constrain_range
    _functional_sym_constrain_range_for_size: _packet__functional_sym_constrain_range_for_size
    _fused_adagrad: _packet__fused_adagrad
    _fused_adagrad_: _packet__fused_adagrad_
    _fused_adam: _packet__fused_adam
    _fused_adam_: _packet__fused_adam_
    _fused_adamw: _packet__fused_adamw
    _fused_adamw_: _packet__fused_adamw_
    _fused_rms_norm: _packet__fused_rms_norm
    _fused_sgd: _packet__fused_sgd
    _fused_sgd_: _packet__fused_sgd_
    _has_compatible_shallow_copy_type: _packet__has_compatible_shallow_copy_type
    _has_same_storage_numel: _packet__has_same_storage_numel
    _index_put_impl: _packet__index_put_impl
    _index_put_impl_: _packet__index_put_impl_
    _int_mm: _packet__int_mm
    _is_all_true: _packet__is_all_true
    _is_any_true: _packet__is_any_true
    _is_zerotensor: _packet__is_zerotensor
    _lazy_clone: _packet__lazy_clone
    _linalg_check_errors: _packet__linalg_check_errors
    _linalg_det: _packet__linalg_det
    _linalg_eigh: _packet__linalg_eigh
    _linalg_slogdet: _packet__linalg_slogdet
    _linalg_solve_ex: _packet__linalg_solve_ex
    _linalg_svd: _packet__linalg_svd
    _local_scalar_dense: _packet__local_scalar_dense
    _log_softmax: _packet__log_softmax
    _log_softmax_backward_data: _packet__log_softmax_backward_data
    _logcumsumexp: _packet__logcumsumexp
    _lu_with_info: _packet__lu_with_info
    _make_dep_token: _packet__make_dep_token
    _masked_scale: _packet__masked_scale
    _native_batch_norm_legit: _packet__native_batch_norm_legit
    _native_batch_norm_legit_no_training: _packet__native_batch_norm_legit_no_training
    _neg_view_copy: _packet__neg_view_copy
    _nnpack_available: _packet__nnpack_available
    _pad_circular: _packet__pad_circular
    _pad_enum: _packet__pad_enum
    _pdist_backward: _packet__pdist_backward
    _pdist_forward: _packet__pdist_forward
    _pin_memory: _packet__pin_memory
    _prelu_kernel: _packet__prelu_kernel
    _prelu_kernel_backward: _packet__prelu_kernel_backward
    _print: _packet__print
    _reshape_copy: _packet__reshape_copy
    _safe_softmax: _packet__safe_softmax
    _scaled_dot_product_attention_math: _packet__scaled_dot_product_attention_math
    _scaled_dot_product_flash_attention_for_cpu: _packet__scaled_dot_product_flash_attention_for_cpu
    _scaled_dot_product_flash_attention_for_cpu_backward: _packet__scaled_dot_product_flash_attention_for_cpu_backward
    _slow_conv2d_backward: _packet__slow_conv2d_backward
    _slow_conv2d_forward: _packet__slow_conv2d_forward
    _softmax: _packet__softmax
    _softmax_backward_data: _packet__softmax_backward_data
    _stack: _packet__stack
    _thnn_differentiable_gru_cell_backward: _packet__thnn_differentiable_gru_cell_backward
    _thnn_differentiable_lstm_cell_backward: _packet__thnn_differentiable_lstm_cell_backward
    _thnn_fused_gru_cell: _packet__thnn_fused_gru_cell
    _thnn_fused_gru_cell_backward: _packet__thnn_fused_gru_cell_backward
    _thnn_fused_lstm_cell: _packet__thnn_fused_lstm_cell
    _thnn_fused_lstm_cell_backward: _packet__thnn_fused_lstm_cell_backward
    _thnn_fused_lstm_cell_backward_impl: _packet__thnn_fused_lstm_cell_backward_impl
    _to_copy: _packet__to_copy
    _transform_bias_rescale_qkv: _packet__transform_bias_rescale_qkv
    _trilinear: _packet__trilinear
    _unique: _packet__unique
    _unique2: _packet__unique2
    _unsafe_index: _packet__unsafe_index
    _unsafe_index_put: _packet__unsafe_index_put
    _unsafe_view: _packet__unsafe_view
    _upsample_nearest_exact1d: _packet__upsample_nearest_exact1d
    _upsample_nearest_exact1d_backward: _packet__upsample_nearest_exact1d_backward
    _upsample_nearest_exact2d: _packet__upsample_nearest_exact2d
    _upsample_nearest_exact2d_backward: _packet__upsample_nearest_exact2d_backward
    _upsample_nearest_exact3d: _packet__upsample_nearest_exact3d
    _upsample_nearest_exact3d_backward: _packet__upsample_nearest_exact3d_backward
    _use_cudnn_ctc_loss: _packet__use_cudnn_ctc_loss
    _use_cudnn_rnn_flatten_weight: _packet__use_cudnn_rnn_flatten_weight
    _use_miopen_ctc_loss: _packet__use_miopen_ctc_loss
    _version: _packet__version
    _weight_norm: _packet__weight_norm
    _weight_norm_differentiable_backward: _packet__weight_norm_differentiable_backward
    _weight_norm_interface: _packet__weight_norm_interface
    _weight_norm_interface_backward: _packet__weight_norm_interface_backward
    abs: _packet_abs
    abs_: _packet_abs_
    absolute: _packet_absolute
    absolute_: _packet_absolute_
    acos: _packet_acos
    acos_: _packet_acos_
    acosh: _packet_acosh
    acosh_: _packet_acosh_
    adaptive_avg_pool1d: _packet_adaptive_avg_pool1d
    adaptive_avg_pool2d: _packet_adaptive_avg_pool2d
    adaptive_avg_pool3d: _packet_adaptive_avg_pool3d
    adaptive_max_pool1d: _packet_adaptive_max_pool1d
    adaptive_max_pool2d: _packet_adaptive_max_pool2d
    adaptive_max_pool2d_backward: _packet_adaptive_max_pool2d_backward
    adaptive_max_pool3d: _packet_adaptive_max_pool3d
    adaptive_max_pool3d_backward: _packet_adaptive_max_pool3d_backward
    add: _packet_add
    add_: _packet_add_
    addbmm: _packet_addbmm
    addbmm_: _packet_addbmm_
    addcdiv: _packet_addcdiv
    addcdiv_: _packet_addcdiv_
    addcmul: _packet_addcmul
    addcmul_: _packet_addcmul_
    addmm: _packet_addmm
    addmm_: _packet_addmm_
    addmv: _packet_addmv
    addmv_: _packet_addmv_
    adjoint: _packet_adjoint
    affine_grid_generator: _packet_affine_grid_generator
    affine_grid_generator_backward: _packet_affine_grid_generator_backward
    alias: _packet_alias
    alias_copy: _packet_alias_copy
    all: _packet_all
    allclose: _packet_allclose
    alpha_dropout: _packet_alpha_dropout
    alpha_dropout_: _packet_alpha_dropout_
    amax: _packet_amax
    amin: _packet_amin
    aminmax: _packet_aminmax
    angle: _packet_angle
    any: _packet_any
    arange: _packet_arange
    arccos: _packet_arccos
    arccos_: _packet_arccos_
    arccosh: _packet_arccosh
    arccosh_: _packet_arccosh_
    arcsin: _packet_arcsin
    arcsin_: _packet_arcsin_
    arcsinh: _packet_arcsinh
    arcsinh_: _packet_arcsinh_
    arctan: _packet_arctan
    arctan2: _packet_arctan2
    arctan2_: _packet_arctan2_
    arctan_: _packet_arctan_
    arctanh: _packet_arctanh
    arctanh_: _packet_arctanh_
    argmax: _packet_argmax
    argmin: _packet_argmin
    argsort: _packet_argsort
    argwhere: _packet_argwhere
    as_strided: _packet_as_strided
    as_strided_: _packet_as_strided_
    as_strided_copy: _packet_as_strided_copy
    as_strided_scatter: _packet_as_strided_scatter
    asin: _packet_asin
    asin_: _packet_asin_
    asinh: _packet_asinh
    asinh_: _packet_asinh_
    atan: _packet_atan
    atan2: _packet_atan2
    atan2_: _packet_atan2_
    atan_: _packet_atan_
    atanh: _packet_atanh
    atanh_: _packet_atanh_
    atleast_1d: _packet_atleast_1d
    atleast_2d: _packet_atleast_2d
    atleast_3d: _packet_atleast_3d
    avg_pool1d: _packet_avg_pool1d
    avg_pool2d: _packet_avg_pool2d
    avg_pool2d_backward: _packet_avg_pool2d_backward
    avg_pool3d: _packet_avg_pool3d
    avg_pool3d_backward: _packet_avg_pool3d_backward
    baddbmm: _packet_baddbmm
    baddbmm_: _packet_baddbmm_
    bartlett_window: _packet_bartlett_window
    batch_norm: _packet_batch_norm
    batch_norm_backward_elemt: _packet_batch_norm_backward_elemt
    batch_norm_backward_reduce: _packet_batch_norm_backward_reduce
    batch_norm_elemt: _packet_batch_norm_elemt
    batch_norm_stats: _packet_batch_norm_stats
    batch_norm_update_stats: _packet_batch_norm_update_stats
    bernoulli: _packet_bernoulli
    bernoulli_: _packet_bernoulli_
    bilinear: _packet_bilinear
    binary_cross_entropy: _packet_binary_cross_entropy
    binary_cross_entropy_backward: _packet_binary_cross_entropy_backward
    binary_cross_entropy_with_logits: _packet_binary_cross_entropy_with_logits
    bincount: _packet_bincount
    bitwise_and: _packet_bitwise_and
    bitwise_and_: _packet_bitwise_and_
    bitwise_left_shift: _packet_bitwise_left_shift
    bitwise_left_shift_: _packet_bitwise_left_shift_
    bitwise_not: _packet_bitwise_not
    bitwise_not_: _packet_bitwise_not_
    bitwise_or: _packet_bitwise_or
    bitwise_or_: _packet_bitwise_or_
    bitwise_right_shift: _packet_bitwise_right_shift
    bitwise_right_shift_: _packet_bitwise_right_shift_
    bitwise_xor: _packet_bitwise_xor
    bitwise_xor_: _packet_bitwise_xor_
    blackman_window: _packet_blackman_window
    block_diag: _packet_block_diag
    bmm: _packet_bmm
    broadcast_tensors: _packet_broadcast_tensors
    broadcast_to: _packet_broadcast_to
    bucketize: _packet_bucketize
    can_cast: _packet_can_cast
    cartesian_prod: _packet_cartesian_prod
    cat: _packet_cat
    cauchy: _packet_cauchy
    cauchy_: _packet_cauchy_
    cdist: _packet_cdist
    ceil: _packet_ceil
    ceil_: _packet_ceil_
    celu: _packet_celu
    celu_: _packet_celu_
    chain_matmul: _packet_chain_matmul
    channel_shuffle: _packet_channel_shuffle
    cholesky: _packet_cholesky
    cholesky_inverse: _packet_cholesky_inverse
    cholesky_solve: _packet_cholesky_solve
    chunk: _packet_chunk
    clamp: _packet_clamp
    clamp_: _packet_clamp_
    clamp_max: _packet_clamp_max
    clamp_max_: _packet_clamp_max_
    clamp_min: _packet_clamp_min
    clamp_min_: _packet_clamp_min_
    clip: _packet_clip
    clip_: _packet_clip_
    clone: _packet_clone
    col2im: _packet_col2im
    column_stack: _packet_column_stack
    combinations: _packet_combinations
    complex: _packet_complex
    concat: _packet_concat
    concatenate: _packet_concatenate
    conj: _packet_conj
    conj_physical: _packet_conj_physical
    conj_physical_: _packet_conj_physical_
    constant_pad_nd: _packet_constant_pad_nd
    contiguous: _packet_contiguous
    conv1d: _packet_conv1d
    conv2d: _packet_conv2d
    conv3d: _packet_conv3d
    conv_depthwise3d: _packet_conv_depthwise3d
    conv_tbc: _packet_conv_tbc
    conv_tbc_backward: _packet_conv_tbc_backward
    conv_transpose1d: _packet_conv_transpose1d
    conv_transpose2d: _packet_conv_transpose2d
    conv_transpose3d: _packet_conv_transpose3d
    convolution: _packet_convolution
    convolution_backward: _packet_convolution_backward
    copy: _packet_copy
    copy_: _packet_copy_
    copysign: _packet_copysign
    copysign_: _packet_copysign_
    corrcoef: _packet_corrcoef
    cos: _packet_cos
    cos_: _packet_cos_
    cosh: _packet_cosh
    cosh_: _packet_cosh_
    cosine_embedding_loss: _packet_cosine_embedding_loss
    cosine_similarity: _packet_cosine_similarity
    count_nonzero: _packet_count_nonzero
    cov: _packet_cov
    cross: _packet_cross
    cross_entropy_loss: _packet_cross_entropy_loss
    cudnn_is_acceptable: _packet_cudnn_is_acceptable
    cummax: _packet_cummax
    cummaxmin_backward: _packet_cummaxmin_backward
    cummin: _packet_cummin
    cumprod: _packet_cumprod
    cumprod_: _packet_cumprod_
    cumsum: _packet_cumsum
    cumsum_: _packet_cumsum_
    cumulative_trapezoid: _packet_cumulative_trapezoid
    deg2rad: _packet_deg2rad
    deg2rad_: _packet_deg2rad_
    det: _packet_det
    detach: _packet_detach
    detach_: _packet_detach_
    detach_copy: _packet_detach_copy
    diag: _packet_diag
    diag_embed: _packet_diag_embed
    diagflat: _packet_diagflat
    diagonal: _packet_diagonal
    diagonal_backward: _packet_diagonal_backward
    diagonal_copy: _packet_diagonal_copy
    diagonal_scatter: _packet_diagonal_scatter
    diff: _packet_diff
    digamma: _packet_digamma
    digamma_: _packet_digamma_
    dim: _packet_dim
    dist: _packet_dist
    div: _packet_div
    div_: _packet_div_
    divide: _packet_divide
    divide_: _packet_divide_
    dot: _packet_dot
    dropout: _packet_dropout
    dropout_: _packet_dropout_
    dsplit: _packet_dsplit
    dstack: _packet_dstack
    einsum: _packet_einsum
    elu: _packet_elu
    elu_: _packet_elu_
    elu_backward: _packet_elu_backward
    embedding: _packet_embedding
    embedding_backward: _packet_embedding_backward
    embedding_bag: _packet_embedding_bag
    embedding_dense_backward: _packet_embedding_dense_backward
    empty: _packet_empty
    empty_like: _packet_empty_like
    empty_permuted: _packet_empty_permuted
    empty_strided: _packet_empty_strided
    eq: _packet_eq
    eq_: _packet_eq_
    equal: _packet_equal
    erf: _packet_erf
    erf_: _packet_erf_
    erfc: _packet_erfc
    erfc_: _packet_erfc_
    erfinv: _packet_erfinv
    erfinv_: _packet_erfinv_
    exp: _packet_exp
    exp2: _packet_exp2
    exp2_: _packet_exp2_
    exp_: _packet_exp_
    expand: _packet_expand
    expand_as: _packet_expand_as
    expand_copy: _packet_expand_copy
    expm1: _packet_expm1
    expm1_: _packet_expm1_
    exponential: _packet_exponential
    exponential_: _packet_exponential_
    eye: _packet_eye
    fake_quantize_per_channel_affine: _packet_fake_quantize_per_channel_affine
    fake_quantize_per_channel_affine_cachemask: _packet_fake_quantize_per_channel_affine_cachemask
    fake_quantize_per_channel_affine_cachemask_backward: _packet_fake_quantize_per_channel_affine_cachemask_backward
    fake_quantize_per_tensor_affine: _packet_fake_quantize_per_tensor_affine
    fake_quantize_per_tensor_affine_cachemask: _packet_fake_quantize_per_tensor_affine_cachemask
    fake_quantize_per_tensor_affine_cachemask_backward: _packet_fake_quantize_per_tensor_affine_cachemask_backward
    feature_alpha_dropout: _packet_feature_alpha_dropout
    feature_alpha_dropout_: _packet_feature_alpha_dropout_
    feature_dropout: _packet_feature_dropout
    feature_dropout_: _packet_feature_dropout_
    fft_fft: _packet_fft_fft
    fft_fft2: _packet_fft_fft2
    fft_fftfreq: _packet_fft_fftfreq
    fft_fftn: _packet_fft_fftn
    fft_fftshift: _packet_fft_fftshift
    fft_hfft: _packet_fft_hfft
    fft_hfft2: _packet_fft_hfft2
    fft_hfftn: _packet_fft_hfftn
    fft_ifft: _packet_fft_ifft
    fft_ifft2: _packet_fft_ifft2
    fft_ifftn: _packet_fft_ifftn
    fft_ifftshift: _packet_fft_ifftshift
    fft_ihfft: _packet_fft_ihfft
    fft_ihfft2: _packet_fft_ihfft2
    fft_ihfftn: _packet_fft_ihfftn
    fft_irfft: _packet_fft_irfft
    fft_irfft2: _packet_fft_irfft2
    fft_irfftn: _packet_fft_irfftn
    fft_rfft: _packet_fft_rfft
    fft_rfft2: _packet_fft_rfft2
    fft_rfftfreq: _packet_fft_rfftfreq
    fft_rfftn: _packet_fft_rfftn
    fill: _packet_fill
    fill_: _packet_fill_
    fill_diagonal_: _packet_fill_diagonal_
    fix: _packet_fix
    fix_: _packet_fix_
    flatten: _packet_flatten
    flatten_dense_tensors: _packet_flatten_dense_tensors
    flip: _packet_flip
    fliplr: _packet_fliplr
    flipud: _packet_flipud
    float_power: _packet_float_power
    float_power_: _packet_float_power_
    floor: _packet_floor
    floor_: _packet_floor_
    floor_divide: _packet_floor_divide
    floor_divide_: _packet_floor_divide_
    fmax: _packet_fmax
    fmin: _packet_fmin
    fmod: _packet_fmod
    fmod_: _packet_fmod_
    frac: _packet_frac
    frac_: _packet_frac_
    frexp: _packet_frexp
    frobenius_norm: _packet_frobenius_norm
    full: _packet_full
    full_like: _packet_full_like
    gather: _packet_gather
    gather_backward: _packet_gather_backward
    gcd: _packet_gcd
    gcd_: _packet_gcd_
    ge: _packet_ge
    ge_: _packet_ge_
    gelu: _packet_gelu
    gelu_: _packet_gelu_
    gelu_backward: _packet_gelu_backward
    geometric: _packet_geometric
    geometric_: _packet_geometric_
    ger: _packet_ger
    get_device: _packet_get_device
    glu: _packet_glu
    glu_backward: _packet_glu_backward
    glu_backward_jvp: _packet_glu_backward_jvp
    glu_jvp: _packet_glu_jvp
    greater: _packet_greater
    greater_: _packet_greater_
    greater_equal: _packet_greater_equal
    greater_equal_: _packet_greater_equal_
    grid_sampler: _packet_grid_sampler
    grid_sampler_2d: _packet_grid_sampler_2d
    grid_sampler_3d: _packet_grid_sampler_3d
    group_norm: _packet_group_norm
    gru: _packet_gru
    gru_cell: _packet_gru_cell
    gt: _packet_gt
    gt_: _packet_gt_
    hamming_window: _packet_hamming_window
    hann_window: _packet_hann_window
    hardshrink: _packet_hardshrink
    hardshrink_backward: _packet_hardshrink_backward
    hardsigmoid: _packet_hardsigmoid
    hardsigmoid_: _packet_hardsigmoid_
    hardsigmoid_backward: _packet_hardsigmoid_backward
    hardswish: _packet_hardswish
    hardswish_: _packet_hardswish_
    hardswish_backward: _packet_hardswish_backward
    hardtanh: _packet_hardtanh
    hardtanh_: _packet_hardtanh_
    hardtanh_backward: _packet_hardtanh_backward
    heaviside: _packet_heaviside
    heaviside_: _packet_heaviside_
    hinge_embedding_loss: _packet_hinge_embedding_loss
    histc: _packet_histc
    histogram: _packet_histogram
    hsplit: _packet_hsplit
    hstack: _packet_hstack
    huber_loss: _packet_huber_loss
    huber_loss_backward: _packet_huber_loss_backward
    hypot: _packet_hypot
    hypot_: _packet_hypot_
    i0: _packet_i0
    i0_: _packet_i0_
    igamma: _packet_igamma
    igamma_: _packet_igamma_
    igammac: _packet_igammac
    igammac_: _packet_igammac_
    im2col: _packet_im2col
    imag: _packet_imag
    index: _packet_index
    index_add: _packet_index_add
    index_add_: _packet_index_add_
    index_copy: _packet_index_copy
    index_copy_: _packet_index_copy_
    index_fill: _packet_index_fill
    index_fill_: _packet_index_fill_
    index_put: _packet_index_put
    index_put_: _packet_index_put_
    index_select: _packet_index_select
    index_select_backward: _packet_index_select_backward
    infinitely_differentiable_gelu_backward: _packet_infinitely_differentiable_gelu_backward
    inner: _packet_inner
    instance_norm: _packet_instance_norm
    inverse: _packet_inverse
    is_complex: _packet_is_complex
    is_conj: _packet_is_conj
    is_contiguous: _packet_is_contiguous
    is_distributed: _packet_is_distributed
    is_floating_point: _packet_is_floating_point
    is_inference: _packet_is_inference
    is_leaf: _packet_is_leaf
    is_neg: _packet_is_neg
    is_nonzero: _packet_is_nonzero
    is_pinned: _packet_is_pinned
    is_same_size: _packet_is_same_size
    is_signed: _packet_is_signed
    is_vulkan_available: _packet_is_vulkan_available
    isclose: _packet_isclose
    isfinite: _packet_isfinite
    isin: _packet_isin
    isinf: _packet_isinf
    isnan: _packet_isnan
    isneginf: _packet_isneginf
    isposinf: _packet_isposinf
    isreal: _packet_isreal
    istft: _packet_istft
    item: _packet_item
    kaiser_window: _packet_kaiser_window
    kl_div: _packet_kl_div
    kron: _packet_kron
    kthvalue: _packet_kthvalue
    l1_loss: _packet_l1_loss
    layer_norm: _packet_layer_norm
    lcm: _packet_lcm
    lcm_: _packet_lcm_
    ldexp: _packet_ldexp
    ldexp_: _packet_ldexp_
    le: _packet_le
    le_: _packet_le_
    leaky_relu: _packet_leaky_relu
    leaky_relu_: _packet_leaky_relu_
    leaky_relu_backward: _packet_leaky_relu_backward
    lerp: _packet_lerp
    lerp_: _packet_lerp_
    less: _packet_less
    less_: _packet_less_
    less_equal: _packet_less_equal
    less_equal_: _packet_less_equal_
    lgamma: _packet_lgamma
    lgamma_: _packet_lgamma_
    lift: _packet_lift
    lift_fresh: _packet_lift_fresh
    lift_fresh_copy: _packet_lift_fresh_copy
    linalg__powsum: _packet_linalg__powsum
    linalg_cholesky: _packet_linalg_cholesky
    linalg_cholesky_ex: _packet_linalg_cholesky_ex
    linalg_cond: _packet_linalg_cond
    linalg_cross: _packet_linalg_cross
    linalg_det: _packet_linalg_det
    linalg_diagonal: _packet_linalg_diagonal
    linalg_eigh: _packet_linalg_eigh
    linalg_eigvalsh: _packet_linalg_eigvalsh
    linalg_inv: _packet_linalg_inv
    linalg_inv_ex: _packet_linalg_inv_ex
    linalg_lu: _packet_linalg_lu
    linalg_lu_factor: _packet_linalg_lu_factor
    linalg_lu_factor_ex: _packet_linalg_lu_factor_ex
    linalg_lu_solve: _packet_linalg_lu_solve
    linalg_matmul: _packet_linalg_matmul
    linalg_matrix_exp: _packet_linalg_matrix_exp
    linalg_matrix_norm: _packet_linalg_matrix_norm
    linalg_matrix_power: _packet_linalg_matrix_power
    linalg_matrix_rank: _packet_linalg_matrix_rank
    linalg_multi_dot: _packet_linalg_multi_dot
    linalg_norm: _packet_linalg_norm
    linalg_pinv: _packet_linalg_pinv
    linalg_qr: _packet_linalg_qr
    linalg_slogdet: _packet_linalg_slogdet
    linalg_solve: _packet_linalg_solve
    linalg_solve_ex: _packet_linalg_solve_ex
    linalg_solve_triangular: _packet_linalg_solve_triangular
    linalg_svd: _packet_linalg_svd
    linalg_svdvals: _packet_linalg_svdvals
    linalg_tensorinv: _packet_linalg_tensorinv
    linalg_tensorsolve: _packet_linalg_tensorsolve
    linalg_vander: _packet_linalg_vander
    linalg_vecdot: _packet_linalg_vecdot
    linalg_vector_norm: _packet_linalg_vector_norm
    linear: _packet_linear
    linspace: _packet_linspace
    log: _packet_log
    log10: _packet_log10
    log10_: _packet_log10_
    log1p: _packet_log1p
    log1p_: _packet_log1p_
    log2: _packet_log2
    log2_: _packet_log2_
    log_: _packet_log_
    log_normal: _packet_log_normal
    log_normal_: _packet_log_normal_
    log_sigmoid: _packet_log_sigmoid
    log_sigmoid_backward: _packet_log_sigmoid_backward
    log_sigmoid_forward: _packet_log_sigmoid_forward
    log_softmax: _packet_log_softmax
    logaddexp: _packet_logaddexp
    logaddexp2: _packet_logaddexp2
    logcumsumexp: _packet_logcumsumexp
    logdet: _packet_logdet
    logical_and: _packet_logical_and
    logical_and_: _packet_logical_and_
    logical_not: _packet_logical_not
    logical_not_: _packet_logical_not_
    logical_or: _packet_logical_or
    logical_or_: _packet_logical_or_
    logical_xor: _packet_logical_xor
    logical_xor_: _packet_logical_xor_
    logit: _packet_logit
    logit_: _packet_logit_
    logit_backward: _packet_logit_backward
    logspace: _packet_logspace
    logsumexp: _packet_logsumexp
    lstm: _packet_lstm
    lstm_cell: _packet_lstm_cell
    lt: _packet_lt
    lt_: _packet_lt_
    lu_solve: _packet_lu_solve
    lu_unpack: _packet_lu_unpack
    mH: _packet_mH
    mT: _packet_mT
    margin_ranking_loss: _packet_margin_ranking_loss
    masked_fill: _packet_masked_fill
    masked_fill_: _packet_masked_fill_
    masked_scatter: _packet_masked_scatter
    masked_scatter_: _packet_masked_scatter_
    masked_scatter_backward: _packet_masked_scatter_backward
    masked_select: _packet_masked_select
    masked_select_backward: _packet_masked_select_backward
    matmul: _packet_matmul
    matrix_H: _packet_matrix_H
    matrix_exp: _packet_matrix_exp
    matrix_exp_backward: _packet_matrix_exp_backward
    matrix_power: _packet_matrix_power
    max: _packet_max
    max_pool1d: _packet_max_pool1d
    max_pool1d_with_indices: _packet_max_pool1d_with_indices
    max_pool2d: _packet_max_pool2d
    max_pool2d_with_indices: _packet_max_pool2d_with_indices
    max_pool2d_with_indices_backward: _packet_max_pool2d_with_indices_backward
    max_pool3d: _packet_max_pool3d
    max_pool3d_with_indices: _packet_max_pool3d_with_indices
    max_pool3d_with_indices_backward: _packet_max_pool3d_with_indices_backward
    maximum: _packet_maximum
    mean: _packet_mean
    median: _packet_median
    meshgrid: _packet_meshgrid
    min: _packet_min
    minimum: _packet_minimum
    mish: _packet_mish
    mish_: _packet_mish_
    mish_backward: _packet_mish_backward
    mm: _packet_mm
    mode: _packet_mode
    moveaxis: _packet_moveaxis
    movedim: _packet_movedim
    mse_loss: _packet_mse_loss
    mse_loss_backward: _packet_mse_loss_backward
    msort: _packet_msort
    mul: _packet_mul
    mul_: _packet_mul_
    multi_margin_loss: _packet_multi_margin_loss
    multi_margin_loss_backward: _packet_multi_margin_loss_backward
    multilabel_margin_loss: _packet_multilabel_margin_loss
    multilabel_margin_loss_backward: _packet_multilabel_margin_loss_backward
    multilabel_margin_loss_forward: _packet_multilabel_margin_loss_forward
    multinomial: _packet_multinomial
    multiply: _packet_multiply
    multiply_: _packet_multiply_
    mv: _packet_mv
    mvlgamma: _packet_mvlgamma
    mvlgamma_: _packet_mvlgamma_
    nan_to_num: _packet_nan_to_num
    nan_to_num_: _packet_nan_to_num_
    nanmean: _packet_nanmean
    nanmedian: _packet_nanmedian
    nanquantile: _packet_nanquantile
    nansum: _packet_nansum
    narrow: _packet_narrow
    narrow_copy: _packet_narrow_copy
    native_batch_norm: _packet_native_batch_norm
    native_batch_norm_backward: _packet_native_batch_norm_backward
    native_channel_shuffle: _packet_native_channel_shuffle
    native_dropout: _packet_native_dropout
    native_dropout_backward: _packet_native_dropout_backward
    native_group_norm: _packet_native_group_norm
    native_group_norm_backward: _packet_native_group_norm_backward
    native_layer_norm: _packet_native_layer_norm
    native_layer_norm_backward: _packet_native_layer_norm_backward
    ne: _packet_ne
    ne_: _packet_ne_
    neg: _packet_neg
    neg_: _packet_neg_
    negative: _packet_negative
    negative_: _packet_negative_
    new_empty: _packet_new_empty
    new_empty_strided: _packet_new_empty_strided
    new_full: _packet_new_full
    new_ones: _packet_new_ones
    new_zeros: _packet_new_zeros
    nextafter: _packet_nextafter
    nextafter_: _packet_nextafter_
    nll_loss: _packet_nll_loss
    nll_loss2d: _packet_nll_loss2d
    nll_loss2d_backward: _packet_nll_loss2d_backward
    nll_loss2d_forward: _packet_nll_loss2d_forward
    nll_loss_backward: _packet_nll_loss_backward
    nll_loss_forward: _packet_nll_loss_forward
    nll_loss_nd: _packet_nll_loss_nd
    nonzero: _packet_nonzero
    nonzero_numpy: _packet_nonzero_numpy
    norm: _packet_norm
    norm_except_dim: _packet_norm_except_dim
    normal: _packet_normal
    normal_: _packet_normal_
    normal_functional: _packet_normal_functional
    not_equal: _packet_not_equal
    not_equal_: _packet_not_equal_
    nuclear_norm: _packet_nuclear_norm
    numel: _packet_numel
    numpy_T: _packet_numpy_T
    one_hot: _packet_one_hot
    ones: _packet_ones
    ones_like: _packet_ones_like
    outer: _packet_outer
    output_nr: _packet_output_nr
    pad: _packet_pad
    pad_sequence: _packet_pad_sequence
    pairwise_distance: _packet_pairwise_distance
    pdist: _packet_pdist
    permute: _packet_permute
    permute_copy: _packet_permute_copy
    pin_memory: _packet_pin_memory
    pinverse: _packet_pinverse
    pixel_shuffle: _packet_pixel_shuffle
    pixel_unshuffle: _packet_pixel_unshuffle
    poisson_nll_loss: _packet_poisson_nll_loss
    polar: _packet_polar
    polygamma: _packet_polygamma
    polygamma_: _packet_polygamma_
    positive: _packet_positive
    pow: _packet_pow
    pow_: _packet_pow_
    prelu: _packet_prelu
    prod: _packet_prod
    promote_types: _packet_promote_types
    put: _packet_put
    put_: _packet_put_
    qr: _packet_qr
    quantile: _packet_quantile
    rad2deg: _packet_rad2deg
    rad2deg_: _packet_rad2deg_
    rand: _packet_rand
    rand_like: _packet_rand_like
    randint: _packet_randint
    randint_like: _packet_randint_like
    randn: _packet_randn
    randn_like: _packet_randn_like
    random: _packet_random
    random_: _packet_random_
    randperm: _packet_randperm
    ravel: _packet_ravel
    real: _packet_real
    reciprocal: _packet_reciprocal
    reciprocal_: _packet_reciprocal_
    record_stream: _packet_record_stream
    reflection_pad1d: _packet_reflection_pad1d
    reflection_pad1d_backward: _packet_reflection_pad1d_backward
    reflection_pad2d: _packet_reflection_pad2d
    reflection_pad2d_backward: _packet_reflection_pad2d_backward
    reflection_pad3d: _packet_reflection_pad3d
    reflection_pad3d_backward: _packet_reflection_pad3d_backward
    relu: _packet_relu
    relu6: _packet_relu6
    relu6_: _packet_relu6_
    relu_: _packet_relu_
    remainder: _packet_remainder
    remainder_: _packet_remainder_
    renorm: _packet_renorm
    renorm_: _packet_renorm_
    repeat: _packet_repeat
    repeat_interleave: _packet_repeat_interleave
    replication_pad1d: _packet_replication_pad1d
    replication_pad1d_backward: _packet_replication_pad1d_backward
    replication_pad2d: _packet_replication_pad2d
    replication_pad2d_backward: _packet_replication_pad2d_backward
    replication_pad3d: _packet_replication_pad3d
    replication_pad3d_backward: _packet_replication_pad3d_backward
    reshape: _packet_reshape
    reshape_as: _packet_reshape_as
    resize: _packet_resize
    resize_: _packet_resize_
    resize_as: _packet_resize_as
    resize_as_: _packet_resize_as_
    resolve_conj: _packet_resolve_conj
    resolve_neg: _packet_resolve_neg
    result_type: _packet_result_type
    retains_grad: _packet_retains_grad
    rms_norm: _packet_rms_norm
    rnn_relu: _packet_rnn_relu
    rnn_relu_cell: _packet_rnn_relu_cell
    rnn_tanh: _packet_rnn_tanh
    rnn_tanh_cell: _packet_rnn_tanh_cell
    roll: _packet_roll
    rot90: _packet_rot90
    round: _packet_round
    round_: _packet_round_
    row_stack: _packet_row_stack
    rrelu: _packet_rrelu
    rrelu_: _packet_rrelu_
    rrelu_with_noise: _packet_rrelu_with_noise
    rrelu_with_noise_: _packet_rrelu_with_noise_
    rrelu_with_noise_backward: _packet_rrelu_with_noise_backward
    rrelu_with_noise_functional: _packet_rrelu_with_noise_functional
    rsqrt: _packet_rsqrt
    rsqrt_: _packet_rsqrt_
    rsub: _packet_rsub
    scalar_tensor: _packet_scalar_tensor
    scaled_dot_product_attention: _packet_scaled_dot_product_attention
    scatter: _packet_scatter
    scatter_: _packet_scatter_
    scatter_add: _packet_scatter_add
    scatter_add_: _packet_scatter_add_
    scatter_reduce: _packet_scatter_reduce
    scatter_reduce_: _packet_scatter_reduce_
    searchsorted: _packet_searchsorted
    select: _packet_select
    select_backward: _packet_select_backward
    select_copy: _packet_select_copy
    select_scatter: _packet_select_scatter
    selu: _packet_selu
    selu_: _packet_selu_
    sgn: _packet_sgn
    sgn_: _packet_sgn_
    sigmoid: _packet_sigmoid
    sigmoid_: _packet_sigmoid_
    sigmoid_backward: _packet_sigmoid_backward
    sign: _packet_sign
    sign_: _packet_sign_
    signbit: _packet_signbit
    silu: _packet_silu
    silu_: _packet_silu_
    silu_backward: _packet_silu_backward
    sin: _packet_sin
    sin_: _packet_sin_
    sinc: _packet_sinc
    sinc_: _packet_sinc_
    sinh: _packet_sinh
    sinh_: _packet_sinh_
    size: _packet_size
    slice: _packet_slice
    slice_backward: _packet_slice_backward
    slice_copy: _packet_slice_copy
    slice_scatter: _packet_slice_scatter
    slogdet: _packet_slogdet
    slow_conv3d: _packet_slow_conv3d
    slow_conv3d_forward: _packet_slow_conv3d_forward
    slow_conv_dilated2d: _packet_slow_conv_dilated2d
    slow_conv_dilated3d: _packet_slow_conv_dilated3d
    slow_conv_transpose2d: _packet_slow_conv_transpose2d
    slow_conv_transpose3d: _packet_slow_conv_transpose3d
    smooth_l1_loss: _packet_smooth_l1_loss
    smooth_l1_loss_backward: _packet_smooth_l1_loss_backward
    soft_margin_loss: _packet_soft_margin_loss
    soft_margin_loss_backward: _packet_soft_margin_loss_backward
    softmax: _packet_softmax
    softplus: _packet_softplus
    softplus_backward: _packet_softplus_backward
    softshrink: _packet_softshrink
    softshrink_backward: _packet_softshrink_backward
    sort: _packet_sort
    special_airy_ai: _packet_special_airy_ai
    special_bessel_j0: _packet_special_bessel_j0
    special_bessel_j1: _packet_special_bessel_j1
    special_bessel_y0: _packet_special_bessel_y0
    special_bessel_y1: _packet_special_bessel_y1
    special_chebyshev_polynomial_t: _packet_special_chebyshev_polynomial_t
    special_chebyshev_polynomial_u: _packet_special_chebyshev_polynomial_u
    special_chebyshev_polynomial_v: _packet_special_chebyshev_polynomial_v
    special_chebyshev_polynomial_w: _packet_special_chebyshev_polynomial_w
    special_digamma: _packet_special_digamma
    special_entr: _packet_special_entr
    special_erf: _packet_special_erf
    special_erfc: _packet_special_erfc
    special_erfcx: _packet_special_erfcx
    special_erfinv: _packet_special_erfinv
    special_exp2: _packet_special_exp2
    special_expit: _packet_special_expit
    special_expm1: _packet_special_expm1
    special_gammainc: _packet_special_gammainc
    special_gammaincc: _packet_special_gammaincc
    special_gammaln: _packet_special_gammaln
    special_hermite_polynomial_h: _packet_special_hermite_polynomial_h
    special_hermite_polynomial_he: _packet_special_hermite_polynomial_he
    special_i0: _packet_special_i0
    special_i0e: _packet_special_i0e
    special_i1: _packet_special_i1
    special_i1e: _packet_special_i1e
    special_laguerre_polynomial_l: _packet_special_laguerre_polynomial_l
    special_legendre_polynomial_p: _packet_special_legendre_polynomial_p
    special_log1p: _packet_special_log1p
    special_log_ndtr: _packet_special_log_ndtr
    special_log_softmax: _packet_special_log_softmax
    special_logit: _packet_special_logit
    special_logsumexp: _packet_special_logsumexp
    special_modified_bessel_i0: _packet_special_modified_bessel_i0
    special_modified_bessel_i1: _packet_special_modified_bessel_i1
    special_modified_bessel_k0: _packet_special_modified_bessel_k0
    special_modified_bessel_k1: _packet_special_modified_bessel_k1
    special_multigammaln: _packet_special_multigammaln
    special_ndtr: _packet_special_ndtr
    special_ndtri: _packet_special_ndtri
    special_polygamma: _packet_special_polygamma
    special_psi: _packet_special_psi
    special_round: _packet_special_round
    special_scaled_modified_bessel_k0: _packet_special_scaled_modified_bessel_k0
    special_scaled_modified_bessel_k1: _packet_special_scaled_modified_bessel_k1
    special_shifted_chebyshev_polynomial_t: _packet_special_shifted_chebyshev_polynomial_t
    special_shifted_chebyshev_polynomial_u: _packet_special_shifted_chebyshev_polynomial_u
    special_shifted_chebyshev_polynomial_v: _packet_special_shifted_chebyshev_polynomial_v
    special_shifted_chebyshev_polynomial_w: _packet_special_shifted_chebyshev_polynomial_w
    special_sinc: _packet_special_sinc
    special_softmax: _packet_special_softmax
    special_spherical_bessel_j0: _packet_special_spherical_bessel_j0
    special_xlog1py: _packet_special_xlog1py
    special_xlogy: _packet_special_xlogy
    special_zeta: _packet_special_zeta
    split: _packet_split
    split_copy: _packet_split_copy
    split_with_sizes: _packet_split_with_sizes
    split_with_sizes_copy: _packet_split_with_sizes_copy
    sqrt: _packet_sqrt
    sqrt_: _packet_sqrt_
    square: _packet_square
    square_: _packet_square_
    squeeze: _packet_squeeze
    squeeze_: _packet_squeeze_
    squeeze_copy: _packet_squeeze_copy
    stack: _packet_stack
    std: _packet_std
    std_mean: _packet_std_mean
    stft: _packet_stft
    storage_offset: _packet_storage_offset
    stride: _packet_stride
    sub: _packet_sub
    sub_: _packet_sub_
    subtract: _packet_subtract
    subtract_: _packet_subtract_
    sum: _packet_sum
    sum_to_size: _packet_sum_to_size
    swapaxes: _packet_swapaxes
    swapaxes_: _packet_swapaxes_
    swapdims: _packet_swapdims
    swapdims_: _packet_swapdims_
    sym_constrain_range: _packet_sym_constrain_range
    sym_constrain_range_for_size: _packet_sym_constrain_range_for_size
    sym_is_contiguous: _packet_sym_is_contiguous
    sym_numel: _packet_sym_numel
    sym_size: _packet_sym_size
    sym_storage_offset: _packet_sym_storage_offset
    sym_stride: _packet_sym_stride
    t: _packet_t
    t_: _packet_t_
    t_copy: _packet_t_copy
    take: _packet_take
    take_along_dim: _packet_take_along_dim
    tan: _packet_tan
    tan_: _packet_tan_
    tanh: _packet_tanh
    tanh_: _packet_tanh_
    tanh_backward: _packet_tanh_backward
    tensor_split: _packet_tensor_split
    tensordot: _packet_tensordot
    thnn_conv2d: _packet_thnn_conv2d
    threshold: _packet_threshold
    threshold_: _packet_threshold_
    threshold_backward: _packet_threshold_backward
    tile: _packet_tile
    to: _packet_to
    topk: _packet_topk
    trace: _packet_trace
    trace_backward: _packet_trace_backward
    transpose: _packet_transpose
    transpose_: _packet_transpose_
    transpose_copy: _packet_transpose_copy
    trapezoid: _packet_trapezoid
    trapz: _packet_trapz
    triangular_solve: _packet_triangular_solve
    tril: _packet_tril
    tril_: _packet_tril_
    tril_indices: _packet_tril_indices
    triplet_margin_loss: _packet_triplet_margin_loss
    triu: _packet_triu
    triu_: _packet_triu_
    triu_indices: _packet_triu_indices
    true_divide: _packet_true_divide
    true_divide_: _packet_true_divide_
    trunc: _packet_trunc
    trunc_: _packet_trunc_
    type_as: _packet_type_as
    unbind: _packet_unbind
    unbind_copy: _packet_unbind_copy
    unflatten: _packet_unflatten
    unfold: _packet_unfold
    unfold_backward: _packet_unfold_backward
    unfold_copy: _packet_unfold_copy
    uniform: _packet_uniform
    uniform_: _packet_uniform_
    unique_consecutive: _packet_unique_consecutive
    unique_dim: _packet_unique_dim
    unique_dim_consecutive: _packet_unique_dim_consecutive
    unsafe_chunk: _packet_unsafe_chunk
    unsafe_split: _packet_unsafe_split
    unsafe_split_with_sizes: _packet_unsafe_split_with_sizes
    unsqueeze: _packet_unsqueeze
    unsqueeze_: _packet_unsqueeze_
    unsqueeze_copy: _packet_unsqueeze_copy
    upsample_bicubic2d: _packet_upsample_bicubic2d
    upsample_bicubic2d_backward: _packet_upsample_bicubic2d_backward
    upsample_bilinear2d: _packet_upsample_bilinear2d
    upsample_bilinear2d_backward: _packet_upsample_bilinear2d_backward
    upsample_linear1d: _packet_upsample_linear1d
    upsample_linear1d_backward: _packet_upsample_linear1d_backward
    upsample_nearest1d: _packet_upsample_nearest1d
    upsample_nearest1d_backward: _packet_upsample_nearest1d_backward
    upsample_nearest2d: _packet_upsample_nearest2d
    upsample_nearest2d_backward: _packet_upsample_nearest2d_backward
    upsample_nearest3d: _packet_upsample_nearest3d
    upsample_nearest3d_backward: _packet_upsample_nearest3d_backward
    upsample_trilinear3d: _packet_upsample_trilinear3d
    upsample_trilinear3d_backward: _packet_upsample_trilinear3d_backward
    value_selecting_reduction_backward: _packet_value_selecting_reduction_backward
    vander: _packet_vander
    var: _packet_var
    var_mean: _packet_var_mean
    vdot: _packet_vdot
    view: _packet_view
    view_as: _packet_view_as
    view_as_complex: _packet_view_as_complex
    view_as_complex_copy: _packet_view_as_complex_copy
    view_as_real: _packet_view_as_real
    view_as_real_copy: _packet_view_as_real_copy
    view_copy: _packet_view_copy
    vsplit: _packet_vsplit
    vstack: _packet_vstack
    where: _packet_where
    xlogy: _packet_xlogy
    xlogy_: _packet_xlogy_
    zero: _packet_zero
    zero_: _packet_zero_
    zeros: _packet_zeros
    zeros_like: _packet_zeros_like

class _Operators(Operators):
    aten: _namespace_aten

ops: _Operators
