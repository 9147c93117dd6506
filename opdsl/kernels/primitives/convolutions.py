"""Convolutions by the compilers of backends that support them."""

from __future__ import annotations

from opdsl.kernels.calls import ConvolutionCall, WindowSpec
from opdsl.kernels.compiler import Compiled, abilities, compiler_for, has_compiler
from opdsl.kernels.outputs import array_of
from opdsl.runtime.device import meta
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import made_once
from opdsl.runtime.tensor import Tensor


def convolves_16_bits(tensor: Tensor) -> bool:
    """Return whether a tensor has 16-bit floats, and its device convolves them itself, with float32 sums."""
    device, dtype = tensor.device, tensor.dtype
    if device is meta or not (dtype.is_floating_point and dtype.itemsize == 2) or not has_compiler(device.type):
        return False
    return abilities(device.type).convolves_16_bits


def slide(
    kind: str,
    images: Tensor,
    weight: Tensor,
    results: Tensor,
    windows: tuple[WindowSpec, ...],
    groups: int,
    bias: Tensor | None = None,
) -> bool:
    """Compute a convolution or one of its gradients, if the backend can compile it, and return whether it did.

    Args:
        kind: ``correlate`` writes the results, ``spread`` the images, ``weigh`` the weight, each from the other two;
            see ``ConvolutionCall``.
        images: (batch, channels, sizes); of a floating-point dtype, with elements, like the others. Only those that
            ``convolves_16_bits`` accepts have 16 bits.
        weight: (outputs, channels of a group, lengths).
        results: (batch, outputs, counts).
        windows: over the images.
        groups: of channels and outputs.
        bias: a number for each channel of the output, which is not the weight; contiguous.
    """
    device = images.device
    if device is meta or not has_compiler(device.type):
        return device is meta
    forms = (images.geometry, weight.geometry, results.geometry)
    compiled = _compiled(kind, *forms, windows, groups, bias is not None)
    if compiled is None:
        return False
    operands = {"correlate": (images, weight, results), "spread": (results, weight, images)}
    read, other, written = operands.get(kind, (results, images, weight))
    tensors = (read, other, written) if bias is None else (read, other, bias, written)
    compiled(*map(array_of, tensors))
    return True


@made_once(1024)
def _compiled(
    kind: str,
    images: TensorMeta,
    weight: TensorMeta,
    results: TensorMeta,
    windows: tuple[WindowSpec, ...],
    groups: int,
    is_biased: bool,
) -> Compiled | None:
    """Return the compiled loop of ``slide``, called with the arrays it reads, a bias, and the output; None if the
    backend has none.
    """
    if not abilities(images.device.type).convolution:
        return None
    call = ConvolutionCall(
        kind=kind,
        dtype=images.dtype,
        samples=images.shape[0],
        groups=groups,
        channels=images.shape[1] // groups,
        outputs=results.shape[1] // groups,
        windows=windows,
        images=images.strides,
        weight=weight.strides,
        results=results.strides,
        is_biased=is_biased,
    )
    return compiler_for(images.device.type).convolution(call)
