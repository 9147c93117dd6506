"""Operators that give signals, images and volumes another size (``nn.functional.interpolate``)."""

from __future__ import annotations

from typing import Any

from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten.nn.interpolation import RESIZED, gradient_meta, numbers, resized_meta, wanted_size
from opdsl.declare import Library, Row
from opdsl.runtime import DType, Tensor, uint8

aten = Library("aten")

SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
"""What PyTorch calls the factors of so many dimensions."""


def declare(
    name: str, mode: str, dims: int, *, aligns: bool, taken: tuple[DType, ...] = (), is_core: bool = False
) -> Any:
    """Declare an operator that gives the last dimensions another size, and its gradient.

    Args:
        name: of the operator. mode: see ``numbers``. dims: how many dimensions get another size.
        aligns: whether it takes ``align_corners``.
        taken: of which kinds of numbers, besides floating ones; interpolated ones have no gradient of other kinds.
        is_core: whether PyTorch tags it as one of its core.
    """
    aligned = "bool align_corners, " if aligns else ""
    size = f"SymInt[{dims}] output_size"
    how = aligned + ", ".join(f"float? {each}=None" for each in SCALES[dims])

    def shape(ctx, self, output_size, *, align_corners=False, scales=None, scales_d=None, scales_h=None, scales_w=None):
        resized_meta(ctx, name, taken, self, output_size, dims)
        factors = {1: (scales,), 2: (scales_h, scales_w), 3: (scales_d, scales_h, scales_w)}[dims]
        return numbers(mode, self.shape[2:], output_size, factors, self.dtype, aligned=align_corners)

    def gradient_shape(
        ctx,
        grad_output,
        output_size,
        input_size,
        *,
        align_corners=False,
        scales=None,
        scales_d=None,
        scales_h=None,
        scales_w=None,
    ):
        gradient_meta(
            ctx, name, taken if mode.startswith("nearest") else (), grad_output, output_size, input_size, dims
        )
        factors = {1: (scales,), 2: (scales_h, scales_w), 3: (scales_d, scales_h, scales_w)}[dims]
        return numbers(mode, input_size[2:], output_size, factors, grad_output.dtype, aligned=align_corners)

    resized, gradient = aten.table(
        {
            f"{name}(Tensor self, {size}, {how}) -> Tensor": Row(
                "The last dimensions in another size.", meta=shape, out=True
            ),
            f"{name}_backward(Tensor grad_output, {size}, SymInt[{dims + 2}] input_size, {how}) -> Tensor": Row(
                "The gradient of what got another size.", meta=gradient_shape, out=GRAD_INPUT
            ),
        },
        python_module="nn",
    ).values()
    resized.sharding(rows=dims)
    resized.indexed(at=("...", *"ijk"[:dims]))(RESIZED[dims])
    gradient.adjoint(resized, "self")
    aten.table(by_factors(resized, name, dims, aligns=aligns, tags=("core",) if is_core else ()))
    return resized


def by_factors(resized: Any, name: str, dims: int, *, aligns: bool, **more: Any) -> dict[str, Row]:
    """The overload of an operator that takes sizes, or what sizes are multiplied with."""

    def answer(input, output_size, *rest):
        *alignment, scale_factors = rest
        sizes, scales = wanted_size(input, output_size, scale_factors, dims)
        made: Tensor = resized(input, sizes, *alignment, **dict(zip(SCALES[dims], scales, strict=True)))
        return made

    given = f"Tensor input, SymInt[]? output_size, {'bool align_corners, ' if aligns else ''}float[]? scale_factors"
    doc = "The same by sizes, or by what sizes are multiplied with."
    return {f"{name}.vec({given}) -> Tensor": Row(doc, answer, python_module="nn", autogen=f"{name}.vec_out", **more)}


def declare_nearest(name: str, mode: str, dims: int, *, is_core: bool = False) -> Any:
    """Declare a copy of elements, of bytes too."""
    return declare(name, mode, dims, aligns=False, taken=(uint8,), is_core=is_core)


upsample_nearest1d = declare_nearest("upsample_nearest1d", "nearest", 1)
upsample_nearest2d = declare_nearest("upsample_nearest2d", "nearest", 2, is_core=True)
upsample_nearest3d = declare_nearest("upsample_nearest3d", "nearest", 3)
_upsample_nearest_exact1d = declare_nearest("_upsample_nearest_exact1d", "nearest-exact", 1)
_upsample_nearest_exact2d = declare_nearest("_upsample_nearest_exact2d", "nearest-exact", 2)
_upsample_nearest_exact3d = declare_nearest("_upsample_nearest_exact3d", "nearest-exact", 3)
upsample_linear1d = declare("upsample_linear1d", "bilinear", 1, aligns=True)
upsample_bilinear2d = declare("upsample_bilinear2d", "bilinear", 2, aligns=True, taken=(uint8,), is_core=True)
upsample_bicubic2d = declare("upsample_bicubic2d", "bicubic", 2, aligns=True, taken=(uint8,))
upsample_trilinear3d = declare("upsample_trilinear3d", "bilinear", 3, aligns=True)
