"""Operators that give signals, images and volumes another size (``nn.functional.interpolate``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opdsl.aten.nn.interpolation import RESIZED, gradient_meta, numbers, resized_meta, wanted_size
from opdsl.declare import Library, Out, Row, op
from opdsl.generated import function_from_source
from opdsl.kernels import MetaContext
from opdsl.runtime import DType, Tensor, uint8
from opdsl.schema.vocabulary import SymInt, SymInts

SCALES = {1: ("scales",), 2: ("scales_h", "scales_w"), 3: ("scales_d", "scales_h", "scales_w")}
"""What PyTorch calls the factors of so many dimensions."""


def spelled(name: str, parameters: str, body: str, doc: str = "", **known: Any) -> Callable[..., Any]:
    """A function with the parameters of an operator: their names depend on how many dimensions it has."""
    text = f"def {name}({parameters}) -> Tensor:\n    {doc!r}\n    {body}\n"
    names = {"__name__": __name__, "Tensor": Tensor, "SymInts": SymInts, "SymInt": SymInt, **known}
    return function_from_source(name, text, names)


def declare(
    name: str, mode: str, dims: int, *, aligns: bool, taken: tuple[DType, ...] = (), is_core: bool = False
) -> Any:
    """Declare an operator that gives the last dimensions another size, and its gradient.

    Args:
        name: of the operator. mode: see ``numbers``. dims: how many dimensions get another size.
        aligns: whether it takes ``align_corners``.
        taken: of which kinds of numbers, besides floating ones.
        is_core: whether PyTorch tags it as one of its core.
    """
    scales = SCALES[dims]
    factors = ", ".join(scales)
    given = f"align_corners, {factors}" if aligns else factors
    aligned = "align_corners" if aligns else "False"
    typed = ("align_corners: bool, " if aligns else "") + ", ".join(f"{each}: float | None = None" for each in scales)
    size = f"output_size: SymInts[{dims}]"

    def shape(
        ctx: MetaContext, self: Tensor, output_size: Sequence[int], align_corners: bool, *factors: float | None
    ) -> dict[str, Any]:
        resized_meta(ctx, name, taken, self, output_size, dims)
        return numbers(mode, self.shape[2:], output_size, factors, self.dtype, aligned=align_corners)

    def gradient_shape(
        ctx: MetaContext,
        grad: Tensor,
        output_size: Sequence[int],
        input_size: Sequence[int],
        align_corners: bool,
        *factors: float | None,
    ) -> dict[str, Any]:
        gradient_meta(ctx, name, taken, grad, output_size, input_size, dims)
        return numbers(mode, input_size[2:], output_size, factors, grad.dtype, aligned=align_corners)

    resized: Any = op(f"aten::{name}", python_module="nn", out=True)(
        spelled("resized", f"self: Tensor, {size}, {typed}", "", "The last dimensions in another size.")
    )
    resized.meta(
        spelled(
            "resized_shape",
            f"ctx, self, output_size, {given}",
            f"return shape(ctx, self, output_size, {aligned}, {factors})",
            shape=shape,
        )
    )
    resized.sharding(rows=dims)
    resized.indexed(at=("...", *"ijk"[:dims]))(RESIZED[dims])

    gradient: Any = op(
        f"aten::{name}_backward", python_module="nn", out=Out(f"{name}_backward.grad_input", args=("grad_input",))
    )(
        spelled(
            "gradient",
            f"grad_output: Tensor, {size}, input_size: SymInts[{dims + 2}], {typed}",
            "",
            "The gradient of what got another size.",
        )
    )
    gradient.meta(
        spelled(
            "gradient_shape",
            f"ctx, grad_output, output_size, input_size, {given}",
            f"return shape(ctx, grad_output, output_size, input_size, {aligned}, {factors})",
            shape=gradient_shape,
        )
    )
    gradient.adjoint(resized, "self")
    Library("aten").table(by_factors(resized, name, dims, aligns=aligns, tags=("core",) if is_core else ()))
    return resized


def by_factors(resized: Any, name: str, dims: int, *, aligns: bool, **more: Any) -> dict[str, Row]:
    """The overload of an operator that takes sizes, or what sizes are multiplied with."""

    def answer(input: Tensor, output_size: Any, *rest: Any) -> Tensor:
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
upsample_bilinear2d = declare("upsample_bilinear2d", "bilinear", 2, aligns=True, is_core=True)
upsample_bicubic2d = declare("upsample_bicubic2d", "bicubic", 2, aligns=True)
upsample_trilinear3d = declare("upsample_trilinear3d", "bilinear", 3, aligns=True)
