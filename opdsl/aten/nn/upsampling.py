"""Operators that resize signals, images and volumes (``nn.functional.interpolate``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from opdsl import primitives
from opdsl.aten._shared.entries import GRAD_INPUT
from opdsl.aten.nn.interpolation import RESIZED, gradient_meta, numbers, resized_meta, wanted_size
from opdsl.declare import Operator, op
from opdsl.kernels import MetaContext
from opdsl.runtime import DType, Tensor, uint8
from opdsl.schema.vocabulary import Size, SymInt, SymIntList

Resizing = Operator[..., Tensor]
"""Operator that resizes the last dimensions of a tensor."""

SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
"""Argument names of the scale factors in PyTorch, keyed by the number of resized dimensions."""

NN: dict[str, Any] = {"python_module": "nn", "out": True}
NN_GRADIENT: dict[str, Any] = {"python_module": "nn", "out": GRAD_INPUT}
"""Options of ``op`` for gradient operators of ``torch.nn``."""

# -------------------------------------------------------------------------------------------- meta functions, overloads


def shape_of(name: str, mode: str, dims: int, taken: tuple[DType, ...]) -> Callable[..., dict[str, Any]]:
    """Return the meta function of a resizing operator; see ``complete``."""

    def shape(
        ctx: MetaContext,
        self: Tensor,
        output_size: Sequence[int],
        *,
        align_corners: bool = False,
        scales: float | None = None,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> dict[str, Any]:
        resized_meta(ctx, name, taken, self, output_size, dims)
        factors = {1: (scales,), 2: (scales_h, scales_w), 3: (scales_d, scales_h, scales_w)}[dims]
        return numbers(mode, self.shape[2:], output_size, factors, self.dtype, aligned=align_corners)

    return shape


def gradient_shape_of(name: str, mode: str, dims: int, taken: tuple[DType, ...]) -> Callable[..., dict[str, Any]]:
    """Return the meta function of a resizing operator's gradient; see ``complete``."""

    def gradient_shape(
        ctx: MetaContext,
        grad_output: Tensor,
        output_size: Sequence[int],
        input_size: Sequence[int],
        *,
        align_corners: bool = False,
        scales: float | None = None,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> dict[str, Any]:
        gradient_meta(ctx, name, taken, grad_output, output_size, input_size, dims)
        factors = {1: (scales,), 2: (scales_h, scales_w), 3: (scales_d, scales_h, scales_w)}[dims]
        return numbers(mode, input_size[2:], output_size, factors, grad_output.dtype, aligned=align_corners)

    return gradient_shape


def complete(
    resized: Resizing,
    gradient: Resizing,
    mode: str,
    dims: int,
    *,
    aligns: bool,
    taken: tuple[DType, ...] = (),
    is_core: bool = False,
) -> None:
    """Define the meta functions, the formula and the derivative of a resizing operator, and its overload for scale
    factors.

    Args:
        resized, gradient: the operator, and the operator of its gradient.
        mode: see ``numbers``.
        dims: the number of dimensions that are resized.
        aligns: whether the operator takes ``align_corners``.
        taken: the supported dtypes besides floating ones; gradients of interpolations support none of these.
        is_core: whether PyTorch tags the operator as one of its core.
    """
    name = resized.schema.name.base
    resized.meta(shape_of(name, mode, dims, taken))
    resized.sharding(rows=dims)
    interpolate = primitives.positions(RESIZED[dims], at=("...", *"ijk"[:dims]))

    @resized.formula
    def interpolated(self: Tensor) -> Tensor:
        return interpolate(self)

    gradient.meta(gradient_shape_of(name, mode, dims, taken if mode.startswith("nearest") else ()))
    gradient.adjoint(resized, "self")
    declare_by_factors(resized, name, dims, aligns=aligns, is_core=is_core)


def by_factors(
    resized: Resizing,
    dims: int,
    input: Tensor,
    output_size: Sequence[int] | None,
    scale_factors: Sequence[float] | None,
    *alignment: bool,
) -> Tensor:
    """Call a resizing operator with sizes, or with sizes computed from scale factors."""
    sizes, scales = wanted_size(input, output_size, scale_factors, dims)
    return resized(input, sizes, *alignment, **dict(zip(SCALES[dims], scales, strict=True)))


def declare_by_factors(resized: Resizing, name: str, dims: int, *, aligns: bool, is_core: bool = False) -> None:
    """Declare the overload of a resizing operator that takes either sizes or scale factors.

    Args:
        resized: the overload that takes sizes, and optional scale factors.
        name: the name of the packet.
        dims, aligns, is_core: see ``complete``.
    """
    options: dict[str, Any] = {"python_module": "nn"}
    if is_core:
        options["tags"] = "core"

    if aligns:

        @op(f"aten::{name}.vec", **options)
        def interpolated(
            input: Tensor, output_size: list[SymInt] | None, align_corners: bool, scale_factors: list[float] | None
        ) -> Tensor:
            """Resize the last dimensions by interpolation, to ``output_size`` or by ``scale_factors``."""
            return by_factors(resized, dims, input, output_size, scale_factors, align_corners)

    else:

        @op(f"aten::{name}.vec", **options)
        def copied(input: Tensor, output_size: list[SymInt] | None, scale_factors: list[float] | None) -> Tensor:
            """Resize the last dimensions by copying nearest elements, to ``output_size`` or by ``scale_factors``."""
            return by_factors(resized, dims, input, output_size, scale_factors)


# ----------------------------------------------------------------------------------------------------- nearest elements


def declare_nearest_1d(name: str, mode: str) -> Resizing:
    """Declare the resizing of signals (also of bytes) by copying the nearest elements, and its gradient; see
    ``complete``.
    """

    @op(f"aten::{name}", **NN)
    def resized(self: Tensor, output_size: Annotated[SymIntList, Size(1)], scales: float | None = None) -> Tensor:
        """Resize the last dimension to ``output_size`` by copying the nearest elements."""
        ...

    @op(f"aten::{name}_backward", **NN_GRADIENT)
    def gradient(
        grad_output: Tensor,
        output_size: Annotated[SymIntList, Size(1)],
        input_size: Annotated[SymIntList, Size(3)],
        scales: float | None = None,
    ) -> Tensor:
        """Return the gradient of the signals before resizing."""
        ...

    complete(resized, gradient, mode, 1, aligns=False, taken=(uint8,))
    return resized


def declare_nearest_2d(name: str, mode: str, *, is_core: bool = False) -> Resizing:
    """Declare the resizing of images (also of bytes) by copying the nearest elements, and its gradient; see
    ``complete``.
    """

    @op(f"aten::{name}", **NN)
    def resized(
        self: Tensor,
        output_size: Annotated[SymIntList, Size(2)],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Resize the last two dimensions to ``output_size`` by copying the nearest elements."""
        ...

    @op(f"aten::{name}_backward", **NN_GRADIENT)
    def gradient(
        grad_output: Tensor,
        output_size: Annotated[SymIntList, Size(2)],
        input_size: Annotated[SymIntList, Size(4)],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Return the gradient of the images before resizing."""
        ...

    complete(resized, gradient, mode, 2, aligns=False, taken=(uint8,), is_core=is_core)
    return resized


def declare_nearest_3d(name: str, mode: str) -> Resizing:
    """Declare the resizing of volumes (also of bytes) by copying the nearest elements, and its gradient; see
    ``complete``.
    """

    @op(f"aten::{name}", **NN)
    def resized(
        self: Tensor,
        output_size: Annotated[SymIntList, Size(3)],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Resize the last three dimensions to ``output_size`` by copying the nearest elements."""
        ...

    @op(f"aten::{name}_backward", **NN_GRADIENT)
    def gradient(
        grad_output: Tensor,
        output_size: Annotated[SymIntList, Size(3)],
        input_size: Annotated[SymIntList, Size(5)],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Return the gradient of the volumes before resizing."""
        ...

    complete(resized, gradient, mode, 3, aligns=False, taken=(uint8,))
    return resized


upsample_nearest1d = declare_nearest_1d("upsample_nearest1d", "nearest")
upsample_nearest2d = declare_nearest_2d("upsample_nearest2d", "nearest", is_core=True)
upsample_nearest3d = declare_nearest_3d("upsample_nearest3d", "nearest")
_upsample_nearest_exact1d = declare_nearest_1d("_upsample_nearest_exact1d", "nearest-exact")
_upsample_nearest_exact2d = declare_nearest_2d("_upsample_nearest_exact2d", "nearest-exact")
_upsample_nearest_exact3d = declare_nearest_3d("_upsample_nearest_exact3d", "nearest-exact")

# --------------------------------------------------------------------------------------------------------- interpolated


@op("aten::upsample_linear1d", **NN)
def upsample_linear1d(
    self: Tensor, output_size: Annotated[SymIntList, Size(1)], align_corners: bool, scales: float | None = None
) -> Tensor:
    """Resize the last dimension to ``output_size`` by linear interpolation."""
    ...


@op("aten::upsample_linear1d_backward", **NN_GRADIENT)
def upsample_linear1d_backward(
    grad_output: Tensor,
    output_size: Annotated[SymIntList, Size(1)],
    input_size: Annotated[SymIntList, Size(3)],
    align_corners: bool,
    scales: float | None = None,
) -> Tensor:
    """Return the gradient of the signals before resizing."""
    ...


complete(upsample_linear1d, upsample_linear1d_backward, "bilinear", 1, aligns=True)


def declare_interpolated_2d(name: str, mode: str, *, is_core: bool = False) -> Resizing:
    """Declare the resizing of images (also of bytes) by interpolation, and its gradient; see ``complete``."""

    @op(f"aten::{name}", **NN)
    def resized(
        self: Tensor,
        output_size: Annotated[SymIntList, Size(2)],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Resize the last two dimensions to ``output_size`` by interpolation."""
        ...

    @op(f"aten::{name}_backward", **NN_GRADIENT)
    def gradient(
        grad_output: Tensor,
        output_size: Annotated[SymIntList, Size(2)],
        input_size: Annotated[SymIntList, Size(4)],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """Return the gradient of the images before resizing."""
        ...

    complete(resized, gradient, mode, 2, aligns=True, taken=(uint8,), is_core=is_core)
    return resized


upsample_bilinear2d = declare_interpolated_2d("upsample_bilinear2d", "bilinear", is_core=True)
upsample_bicubic2d = declare_interpolated_2d("upsample_bicubic2d", "bicubic")


@op("aten::upsample_trilinear3d", **NN)
def upsample_trilinear3d(
    self: Tensor,
    output_size: Annotated[SymIntList, Size(3)],
    align_corners: bool,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    """Resize the last three dimensions to ``output_size`` by linear interpolation."""
    ...


@op("aten::upsample_trilinear3d_backward", **NN_GRADIENT)
def upsample_trilinear3d_backward(
    grad_output: Tensor,
    output_size: Annotated[SymIntList, Size(3)],
    input_size: Annotated[SymIntList, Size(5)],
    align_corners: bool,
    scales_d: float | None = None,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Tensor:
    """Return the gradient of the volumes before resizing."""
    ...


complete(upsample_trilinear3d, upsample_trilinear3d_backward, "bilinear", 3, aligns=True)
