"""Matrix products by the compilers of backends."""

from __future__ import annotations

from opdsl.kernels.calls import MatrixLayout, ProductCall
from opdsl.kernels.compiler import Compiled, abilities, compiler_for, has_compiler, multiplies
from opdsl.kernels.iteration.dtypes import PRECISION
from opdsl.kernels.outputs import array_of, new_tensor
from opdsl.kernels.primitives.copying import cast, copy_
from opdsl.kernels.primitives.host import is_beyond, through_host
from opdsl.runtime.device import Device, meta
from opdsl.runtime.dtype import float32
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import made_once
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor

# Dtypes whose products are computed in float32 on backends without such products.
_COMPUTED_IN_FLOAT32 = frozenset(PRECISION)


def multiply(first: Tensor, second: Tensor, out: Tensor, alpha: complex = 1, beta: complex = 0) -> None:
    """Compute ``alpha * (first @ second) + beta * out`` into ``out``; with ``beta=0``, ``out`` is not read.

    Args:
        first: ``(rows, inner)`` or ``(batch, rows, inner)``.
        second: ``(inner, columns)`` or ``(batch, inner, columns)``, or a vector ``(inner,)``; of the same dtype.
        out: ``(rows, columns)``, ``(batch, rows, columns)`` or, for a vector, ``(rows,)``; in other memory, of the same
            dtype. If the backend ``multiplies_16_bits``, it may be float32 for factors of 16 bits.
        alpha, beta: numbers that the dtype can represent.
    """
    if is_beyond(out):
        through_host(multiply, (first, second, out, alpha, beta), [out])
        return
    if out.dtype in _COMPUTED_IN_FLOAT32 and not _multiplies(first.geometry, second.geometry, out.geometry):
        if not first.is_contiguous() and _multiplies(contiguous(first), second.geometry, out.geometry):
            rows = new_tensor(contiguous(first))
            copy_(rows, first)
            multiply(rows, second, out, alpha, beta)
            return
        wide = new_tensor(geometry(float32, out.device, out.shape, contiguous_strides(out.shape)))
        if beta != 0:
            copy_(wide, out)
        multiply(cast(first, float32), cast(second, float32), wide, alpha, beta)
        copy_(out, wide)
        return
    if out.geometry.numel and out.geometry.device is not meta:
        compiled = product_loop(first.geometry, second.geometry, out.geometry)
        compiled(array_of(first), array_of(second), alpha, beta, array_of(out))


def multiplies_16_bits(device: Device) -> bool:
    """Return whether a device computes products of 16-bit matrices itself, with float32 sums."""
    return device is not meta and has_compiler(device.type) and abilities(device.type).multiplies


def contiguous(tensor: Tensor) -> TensorMeta:
    """Return a tensor's geometry with contiguous strides."""
    return tensor.geometry.replace(strides=contiguous_strides(tensor.shape))


def _multiplies(first: TensorMeta, second: TensorMeta, out: TensorMeta) -> bool:
    """Return whether a backend computes a product of narrow matrices directly."""
    return out.device is not meta and multiplies(_product_call(first, second, out), out.device.type)


@made_once(4096)
def product_loop(first: TensorMeta, second: TensorMeta, out: TensorMeta) -> Compiled:
    """Return the compiled kernel of ``multiply``, called with the factors' arrays, ``alpha``, ``beta`` and the array of
    ``out``.
    """
    return compiler_for(out.device.type).product(_product_call(first, second, out))


def _product_call(first: TensorMeta, second: TensorMeta, out: TensorMeta) -> ProductCall:
    rows, inner = first.shape[-2:]
    batch = out.shape[0] if out.ndim == 3 else 1
    columns = 1 if second.ndim == 1 else second.shape[-1]
    result_type = None if out.dtype is first.dtype else out.dtype
    layouts = _layout(first), _layout(second), _layout(out)
    return ProductCall(first.dtype, batch, rows, inner, columns, *layouts, result_type)


def _layout(form: TensorMeta) -> MatrixLayout:
    row, column = form.strides[-2:] if form.ndim > 1 else (*form.strides, 1)
    return MatrixLayout(form.strides[0] if form.ndim == 3 else 0, row, column)
