"""Gradients of samplers of images and volumes, which PyTorch declares as separate operators."""

from __future__ import annotations

from typing import Annotated, Any

from opdsl.aten._shared.entries import documented
from opdsl.aten.nn.grid_sampling import MODES, PADDINGS, check_grid, grid_sampler_2d, grid_sampler_3d
from opdsl.declare import forward, op
from opdsl.errors import DTypeError
from opdsl.kernels import check
from opdsl.runtime import Tensor
from opdsl.schema.vocabulary import BoolList, Size

SAMPLERS = {2: grid_sampler_2d, 3: grid_sampler_3d}


def declare(dims: int, wanted: str) -> Any:
    """Declare the operator of a sampler's gradient with respect to one of its tensors.

    Args:
        dims: the number of dimensions of the images.
        wanted: ``input`` or ``grid``.
    """
    base_name = f"grid_sampler_{dims}d"

    @op(f"opdsl::{base_name}_gradient_of_{wanted}")
    def gradient(
        grad_output: Tensor,
        input: Tensor,
        grid: Tensor,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
    ) -> Tensor:
        """Return the gradient of a sampler with respect to one of its tensors, the images or the points."""
        ...

    @gradient.meta
    def gradient_meta(ctx, grad_output, input, grid, interpolation_mode, padding_mode, align_corners):
        check_grid(f"{base_name}_backward", input, grid, interpolation_mode, padding_mode, dims)
        shape = (*input.shape[:2], *grid.shape[1:-1])
        grad = grad_output
        check(
            grad.shape == shape, f"{base_name}_backward(): expected grad_output of shape {list(shape)}", got=grad.shape
        )
        if grad.dtype is not input.dtype:
            raise DTypeError(
                f"{base_name}_backward(): expected grad_output to have dtype {input.dtype}, got {grad.dtype}"
            )
        of = input if wanted == "input" else grid
        ctx.set_output(0, of.shape, like=of)
        return {"mode": MODES[interpolation_mode], "outside": PADDINGS[padding_mode]}

    gradient.adjoint(SAMPLERS[dims], wanted)
    return gradient


GRADIENTS = {(dims, wanted): declare(dims, wanted) for dims in (2, 3) for wanted in ("input", "grid")}


def gradients(dims: int, arguments: tuple[Any, ...], output_mask: Any) -> tuple[Any, Any]:
    """Return the gradients of a sampler's images and points, None for those that ``output_mask`` does not select."""
    of_input, of_grid = output_mask
    return (
        GRADIENTS[dims, "input"](*arguments) if of_input else None,
        GRADIENTS[dims, "grid"](*arguments) if of_grid else None,
    )


def declare_backward(dims: int, what: str) -> Any:
    """Declare PyTorch's operator of a sampler's gradients with respect to both of its tensors.

    Args:
        dims: the number of dimensions of the images.
        what: the word for the images in the docstring.
    """

    @op(f"aten::grid_sampler_{dims}d_backward")
    @documented(f"Return the gradients of sampled {what}: of the {what} and of the points, as ``output_mask`` selects.")
    def backward(
        grad_output: Tensor,
        input: Tensor,
        grid: Tensor,
        interpolation_mode: int,
        padding_mode: int,
        align_corners: bool,
        output_mask: Annotated[BoolList, Size(2)],
    ) -> tuple[Tensor, Tensor]:
        arguments = (grad_output, input, grid, interpolation_mode, padding_mode, align_corners)
        return gradients(dims, arguments, output_mask)

    return backward


grid_sampler_2d_backward = declare_backward(2, "images")
declare_backward(3, "volumes")

_grid_sampler_2d_cpu_fallback = grid_sampler_2d.alias("aten::_grid_sampler_2d_cpu_fallback")


@op("aten::_grid_sampler_2d_cpu_fallback_backward")
@forward(grid_sampler_2d_backward, output_mask=(True, True))
def _grid_sampler_2d_cpu_fallback_backward(
    grad_output: Tensor, input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> tuple[Tensor, Tensor]:
    """Return the gradients of ``grid_sampler_2d`` with respect to images and points."""
