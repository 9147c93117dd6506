"""Operators that give signals, images and volumes another size (``nn.functional.interpolate``)."""

from __future__ import annotations

from typing import Any

from opdsl.aten.nn.interpolation import (
    Interpolation,
    cubic,
    dimensions_of,
    gradient_meta,
    linear,
    nearest,
    nearest_exact,
    resized_meta,
    wanted_size,
    write_gradient,
    write_resized,
)
from opdsl.declare import Out, op
from opdsl.runtime import Tensor, uint8
from opdsl.schema.vocabulary import SymInt, SymInts

# What an operator of so many dimensions declares. The parameters of a kernel are those of the schema, by name: each
# number of dimensions has its own.


def declare_nearest1d(how: Interpolation, *, is_core: bool = False) -> Any:
    """Declare a copy of elements over a dimension, and its gradient."""

    @op(f"aten::{how.name}", python_module="nn", out=True)
    def resized(
        self: Tensor,
        output_size: SymInts[1],
        scales: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size, elements taken over."""
        ...

    @resized.meta
    def resized_shape(ctx, self, output_size, scales):
        resized_meta(ctx, how, self, output_size, 1)

    resized.sharding(rows=1)

    @resized.out_kernel("CPU", "CUDA", compiled=False)
    def resized_kernel(self, output_size, scales, out):
        write_resized(how, self, dimensions_of(self.shape[2:], output_size, (scales,), False), out)

    @op(
        f"aten::{how.name}_backward",
        python_module="nn",
        out=Out(f"{how.name}_backward.grad_input", args=("grad_input",)),
    )
    def gradient(
        grad_output: Tensor,
        output_size: SymInts[1],
        input_size: SymInts[3],
        scales: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
        ...

    @gradient.meta
    def gradient_shape(ctx, grad_output, output_size, input_size, scales):
        gradient_meta(ctx, how, grad_output, output_size, input_size, 1)

    @gradient.out_kernel("CPU", "CUDA", compiled=False)
    def gradient_kernel(grad_output, output_size, input_size, scales, grad_input):
        dimensions = dimensions_of(input_size[2:], output_size, (scales,), False)
        write_gradient(how, grad_output, dimensions, grad_input)

    @resized.derivative("self")
    def resized_derivative(grad, self, output_size, scales):
        return gradient(grad, output_size, self.shape, scales)

    @gradient.derivative("grad_output")
    def gradient_derivative(grad, output_size, scales):
        return resized(grad, output_size, scales=scales)

    @resized.overload("vec", python_module="nn", autogen=f"{how.name}.vec_out", tags=("core",) if is_core else ())
    def resized_by_factors(
        input: Tensor, output_size: list[SymInt] | None, scale_factors: list[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
        sizes, scales = wanted_size(input, output_size, scale_factors, 1)
        return resized(input, sizes, scales=scales[0])

    return resized


def declare_nearest2d(how: Interpolation, *, is_core: bool = False) -> Any:
    """Declare a copy of elements over two dimensions, and its gradient."""

    @op(f"aten::{how.name}", python_module="nn", out=True)
    def resized(
        self: Tensor,
        output_size: SymInts[2],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size, elements taken over."""
        ...

    @resized.meta
    def resized_shape(ctx, self, output_size, scales_h, scales_w):
        resized_meta(ctx, how, self, output_size, 2)

    resized.sharding(rows=2)

    @resized.out_kernel("CPU", "CUDA", compiled=False)
    def resized_kernel(self, output_size, scales_h, scales_w, out):
        write_resized(how, self, dimensions_of(self.shape[2:], output_size, (scales_h, scales_w), False), out)

    @op(
        f"aten::{how.name}_backward",
        python_module="nn",
        out=Out(f"{how.name}_backward.grad_input", args=("grad_input",)),
    )
    def gradient(
        grad_output: Tensor,
        output_size: SymInts[2],
        input_size: SymInts[4],
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
        ...

    @gradient.meta
    def gradient_shape(ctx, grad_output, output_size, input_size, scales_h, scales_w):
        gradient_meta(ctx, how, grad_output, output_size, input_size, 2)

    @gradient.out_kernel("CPU", "CUDA", compiled=False)
    def gradient_kernel(grad_output, output_size, input_size, scales_h, scales_w, grad_input):
        dimensions = dimensions_of(input_size[2:], output_size, (scales_h, scales_w), False)
        write_gradient(how, grad_output, dimensions, grad_input)

    @resized.derivative("self")
    def resized_derivative(grad, self, output_size, scales_h, scales_w):
        return gradient(grad, output_size, self.shape, scales_h, scales_w)

    @gradient.derivative("grad_output")
    def gradient_derivative(grad, output_size, scales_h, scales_w):
        return resized(grad, output_size, scales_h=scales_h, scales_w=scales_w)

    @resized.overload("vec", python_module="nn", autogen=f"{how.name}.vec_out", tags=("core",) if is_core else ())
    def resized_by_factors(
        input: Tensor, output_size: list[SymInt] | None, scale_factors: list[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
        sizes, scales = wanted_size(input, output_size, scale_factors, 2)
        return resized(input, sizes, scales_h=scales[0], scales_w=scales[1])

    return resized


def declare_nearest3d(how: Interpolation, *, is_core: bool = False) -> Any:
    """Declare a copy of elements over three dimensions, and its gradient."""

    @op(f"aten::{how.name}", python_module="nn", out=True)
    def resized(
        self: Tensor,
        output_size: SymInts[3],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size, elements taken over."""
        ...

    @resized.meta
    def resized_shape(ctx, self, output_size, scales_d, scales_h, scales_w):
        resized_meta(ctx, how, self, output_size, 3)

    resized.sharding(rows=3)

    @resized.out_kernel("CPU", "CUDA", compiled=False)
    def resized_kernel(self, output_size, scales_d, scales_h, scales_w, out):
        write_resized(how, self, dimensions_of(self.shape[2:], output_size, (scales_d, scales_h, scales_w), False), out)

    @op(
        f"aten::{how.name}_backward",
        python_module="nn",
        out=Out(f"{how.name}_backward.grad_input", args=("grad_input",)),
    )
    def gradient(
        grad_output: Tensor,
        output_size: SymInts[3],
        input_size: SymInts[5],
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
        ...

    @gradient.meta
    def gradient_shape(ctx, grad_output, output_size, input_size, scales_d, scales_h, scales_w):
        gradient_meta(ctx, how, grad_output, output_size, input_size, 3)

    @gradient.out_kernel("CPU", "CUDA", compiled=False)
    def gradient_kernel(grad_output, output_size, input_size, scales_d, scales_h, scales_w, grad_input):
        dimensions = dimensions_of(input_size[2:], output_size, (scales_d, scales_h, scales_w), False)
        write_gradient(how, grad_output, dimensions, grad_input)

    @resized.derivative("self")
    def resized_derivative(grad, self, output_size, scales_d, scales_h, scales_w):
        return gradient(grad, output_size, self.shape, scales_d, scales_h, scales_w)

    @gradient.derivative("grad_output")
    def gradient_derivative(grad, output_size, scales_d, scales_h, scales_w):
        return resized(grad, output_size, scales_d=scales_d, scales_h=scales_h, scales_w=scales_w)

    @resized.overload("vec", python_module="nn", autogen=f"{how.name}.vec_out", tags=("core",) if is_core else ())
    def resized_by_factors(
        input: Tensor, output_size: list[SymInt] | None, scale_factors: list[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
        sizes, scales = wanted_size(input, output_size, scale_factors, 3)
        return resized(input, sizes, scales_d=scales[0], scales_h=scales[1], scales_w=scales[2])

    return resized


def declare_linear1d(how: Interpolation, *, is_core: bool = False) -> Any:
    """Declare an interpolation over a dimension, and its gradient."""

    @op(f"aten::{how.name}", python_module="nn", out=True)
    def resized(
        self: Tensor,
        output_size: SymInts[1],
        align_corners: bool,
        scales: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size, interpolated."""
        ...

    @resized.meta
    def resized_shape(ctx, self, output_size, align_corners, scales):
        resized_meta(ctx, how, self, output_size, 1)

    resized.sharding(rows=1)

    @resized.out_kernel("CPU", "CUDA", compiled=False)
    def resized_kernel(self, output_size, align_corners, scales, out):
        write_resized(how, self, dimensions_of(self.shape[2:], output_size, (scales,), align_corners), out)

    @op(
        f"aten::{how.name}_backward",
        python_module="nn",
        out=Out(f"{how.name}_backward.grad_input", args=("grad_input",)),
    )
    def gradient(
        grad_output: Tensor,
        output_size: SymInts[1],
        input_size: SymInts[3],
        align_corners: bool,
        scales: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
        ...

    @gradient.meta
    def gradient_shape(ctx, grad_output, output_size, input_size, align_corners, scales):
        gradient_meta(ctx, how, grad_output, output_size, input_size, 1)

    @gradient.out_kernel("CPU", "CUDA", compiled=False)
    def gradient_kernel(grad_output, output_size, input_size, align_corners, scales, grad_input):
        dimensions = dimensions_of(input_size[2:], output_size, (scales,), align_corners)
        write_gradient(how, grad_output, dimensions, grad_input)

    @resized.derivative("self")
    def resized_derivative(grad, self, output_size, align_corners, scales):
        return gradient(grad, output_size, self.shape, align_corners, scales)

    @gradient.derivative("grad_output")
    def gradient_derivative(grad, output_size, align_corners, scales):
        return resized(grad, output_size, align_corners, scales=scales)

    @resized.overload("vec", python_module="nn", autogen=f"{how.name}.vec_out", tags=("core",) if is_core else ())
    def resized_by_factors(
        input: Tensor, output_size: list[SymInt] | None, align_corners: bool, scale_factors: list[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
        sizes, scales = wanted_size(input, output_size, scale_factors, 1)
        return resized(input, sizes, align_corners, scales=scales[0])

    return resized


def declare_linear2d(how: Interpolation, *, is_core: bool = False) -> Any:
    """Declare an interpolation over two dimensions, and its gradient."""

    @op(f"aten::{how.name}", python_module="nn", out=True)
    def resized(
        self: Tensor,
        output_size: SymInts[2],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size, interpolated."""
        ...

    @resized.meta
    def resized_shape(ctx, self, output_size, align_corners, scales_h, scales_w):
        resized_meta(ctx, how, self, output_size, 2)

    resized.sharding(rows=2)

    @resized.out_kernel("CPU", "CUDA", compiled=False)
    def resized_kernel(self, output_size, align_corners, scales_h, scales_w, out):
        write_resized(how, self, dimensions_of(self.shape[2:], output_size, (scales_h, scales_w), align_corners), out)

    @op(
        f"aten::{how.name}_backward",
        python_module="nn",
        out=Out(f"{how.name}_backward.grad_input", args=("grad_input",)),
    )
    def gradient(
        grad_output: Tensor,
        output_size: SymInts[2],
        input_size: SymInts[4],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
        ...

    @gradient.meta
    def gradient_shape(ctx, grad_output, output_size, input_size, align_corners, scales_h, scales_w):
        gradient_meta(ctx, how, grad_output, output_size, input_size, 2)

    @gradient.out_kernel("CPU", "CUDA", compiled=False)
    def gradient_kernel(grad_output, output_size, input_size, align_corners, scales_h, scales_w, grad_input):
        dimensions = dimensions_of(input_size[2:], output_size, (scales_h, scales_w), align_corners)
        write_gradient(how, grad_output, dimensions, grad_input)

    @resized.derivative("self")
    def resized_derivative(grad, self, output_size, align_corners, scales_h, scales_w):
        return gradient(grad, output_size, self.shape, align_corners, scales_h, scales_w)

    @gradient.derivative("grad_output")
    def gradient_derivative(grad, output_size, align_corners, scales_h, scales_w):
        return resized(grad, output_size, align_corners, scales_h=scales_h, scales_w=scales_w)

    @resized.overload("vec", python_module="nn", autogen=f"{how.name}.vec_out", tags=("core",) if is_core else ())
    def resized_by_factors(
        input: Tensor, output_size: list[SymInt] | None, align_corners: bool, scale_factors: list[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
        sizes, scales = wanted_size(input, output_size, scale_factors, 2)
        return resized(input, sizes, align_corners, scales_h=scales[0], scales_w=scales[1])

    return resized


def declare_linear3d(how: Interpolation, *, is_core: bool = False) -> Any:
    """Declare an interpolation over three dimensions, and its gradient."""

    @op(f"aten::{how.name}", python_module="nn", out=True)
    def resized(
        self: Tensor,
        output_size: SymInts[3],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The last dimensions in another size, interpolated."""
        ...

    @resized.meta
    def resized_shape(ctx, self, output_size, align_corners, scales_d, scales_h, scales_w):
        resized_meta(ctx, how, self, output_size, 3)

    resized.sharding(rows=3)

    @resized.out_kernel("CPU", "CUDA", compiled=False)
    def resized_kernel(self, output_size, align_corners, scales_d, scales_h, scales_w, out):
        write_resized(
            how, self, dimensions_of(self.shape[2:], output_size, (scales_d, scales_h, scales_w), align_corners), out
        )

    @op(
        f"aten::{how.name}_backward",
        python_module="nn",
        out=Out(f"{how.name}_backward.grad_input", args=("grad_input",)),
    )
    def gradient(
        grad_output: Tensor,
        output_size: SymInts[3],
        input_size: SymInts[5],
        align_corners: bool,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Tensor:
        """The gradient of what got another size."""
        ...

    @gradient.meta
    def gradient_shape(ctx, grad_output, output_size, input_size, align_corners, scales_d, scales_h, scales_w):
        gradient_meta(ctx, how, grad_output, output_size, input_size, 3)

    @gradient.out_kernel("CPU", "CUDA", compiled=False)
    def gradient_kernel(grad_output, output_size, input_size, align_corners, scales_d, scales_h, scales_w, grad_input):
        dimensions = dimensions_of(input_size[2:], output_size, (scales_d, scales_h, scales_w), align_corners)
        write_gradient(how, grad_output, dimensions, grad_input)

    @resized.derivative("self")
    def resized_derivative(grad, self, output_size, align_corners, scales_d, scales_h, scales_w):
        return gradient(grad, output_size, self.shape, align_corners, scales_d, scales_h, scales_w)

    @gradient.derivative("grad_output")
    def gradient_derivative(grad, output_size, align_corners, scales_d, scales_h, scales_w):
        return resized(grad, output_size, align_corners, scales_d=scales_d, scales_h=scales_h, scales_w=scales_w)

    @resized.overload("vec", python_module="nn", autogen=f"{how.name}.vec_out", tags=("core",) if is_core else ())
    def resized_by_factors(
        input: Tensor, output_size: list[SymInt] | None, align_corners: bool, scale_factors: list[float] | None
    ) -> Tensor:
        """The same by sizes, or by what sizes are multiplied with."""
        sizes, scales = wanted_size(input, output_size, scale_factors, 3)
        return resized(input, sizes, align_corners, scales_d=scales[0], scales_h=scales[1], scales_w=scales[2])

    return resized


upsample_nearest1d = declare_nearest1d(Interpolation("upsample_nearest1d", nearest, (uint8,)))
upsample_nearest2d = declare_nearest2d(Interpolation("upsample_nearest2d", nearest, (uint8,)), is_core=True)
upsample_nearest3d = declare_nearest3d(Interpolation("upsample_nearest3d", nearest, (uint8,)))
_upsample_nearest_exact1d = declare_nearest1d(Interpolation("_upsample_nearest_exact1d", nearest_exact, (uint8,)))
_upsample_nearest_exact2d = declare_nearest2d(Interpolation("_upsample_nearest_exact2d", nearest_exact, (uint8,)))
_upsample_nearest_exact3d = declare_nearest3d(Interpolation("_upsample_nearest_exact3d", nearest_exact, (uint8,)))
upsample_linear1d = declare_linear1d(Interpolation("upsample_linear1d", linear))
upsample_bilinear2d = declare_linear2d(Interpolation("upsample_bilinear2d", linear), is_core=True)
upsample_bicubic2d = declare_linear2d(Interpolation("upsample_bicubic2d", cubic))
upsample_trilinear3d = declare_linear3d(Interpolation("upsample_trilinear3d", linear))
