"""Padding of tensors by a constant or by their own elements: reflected, replicated or circular."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from opdsl import primitives
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Library, Out, op
from opdsl.errors import DTypeError, UnsupportedDTypeError, UnsupportedModeError
from opdsl.kernels import check
from opdsl.runtime import Category, MemoryFormat, Tensor, bool_
from opdsl.schema.vocabulary import Size, SymInt, SymIntList

lib = Library("opdsl")

Shape = tuple[int, ...]
Pad = tuple[int, ...]

MODES = ("reflect", "replicate", "circular", "constant")
"""Padding modes; the argument ``mode`` of ``_pad_enum`` is an index into this tuple (``padding_mode`` in
ATen/PadNd.h).
"""


def margins_of(ndim: int, pad: Pad) -> dict[int, tuple[int, int]]:
    """Return the padding before and after each padded dimension, as a dict; ``pad`` starts with the last dimension."""
    return {ndim - 1 - index // 2: (pad[index], pad[index + 1]) for index in range(0, len(pad), 2)}


# --------------------------------------------------------------------------------------------------------------- checks


def check_padded_input(self: Tensor, dims: int, pad: Pad) -> None:
    """Check that a tensor has ``dims`` dimensions to pad, channels and perhaps a batch (``check_valid_input``).

    Raises:
        ShapeError: the tensor does not, or ``pad`` does not have two numbers for each dimension.
    """
    check(len(pad) == 2 * dims, f"padding size is expected to be {2 * dims}, but got: {len(pad)}")
    features = self.shape[self.ndim - dims - 1 :]
    check(
        self.ndim in (dims + 1, dims + 2) and 0 not in features,
        f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero "
        f"dimensions for input, but got: {list(self.shape)}",
    )


def check_reflected(self: Tensor, dims: int, pad: Pad) -> None:
    """Check that reflected padding is smaller than the dimension that it reflects.

    Raises:
        ShapeError: the padding of a dimension is not.
    """
    for index, (dim, (before, after)) in enumerate(margins_of(self.ndim, pad).items()):
        check(
            before < self.shape[dim] and after < self.shape[dim],
            f"Argument #{4 + 2 * index}: Padding size should be less than the corresponding input dimension, but got: "
            f"padding ({before}, {after}) at dimension {dim} of input {list(self.shape)}",
        )


def check_anything(self: Tensor, dims: int, pad: Pad) -> None:
    """Accept any padding, since elements can be replicated any number of times."""


def padded_shape(self: Tensor, dims: int, pad: Pad) -> Shape:
    """Return the shape of a tensor after padding its last ``dims`` dimensions.

    Raises:
        ShapeError: a size is negative, or all padded dimensions are empty.
    """
    shape = list(self.shape)
    for dim, (before, after) in margins_of(self.ndim, pad).items():
        shape[dim] += before + after
    inner, wanted = self.shape[-dims:], shape[-dims:]
    names = "DHW"[-dims:]
    check(
        any(size >= 1 for size in wanted) and min(wanted) >= 0,
        f"input ({sizes_text(names, inner)}) is too small. Calculated output {sizes_text(names, tuple(wanted))}",
    )
    return tuple(shape)


def sizes_text(names: str, sizes: Shape) -> str:
    """Format sizes with the names of their dimensions."""
    return " ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))


# ---------------------------------------------------------------------------------------------- reflection, replication


def shifted_1(self: Any, padding: Any, i: int) -> Any:
    return self[..., i - padding[0]]


def shifted_2(self: Any, padding: Any, i: int, j: int) -> Any:
    return self[..., i - padding[2], j - padding[0]]


def shifted_3(self: Any, padding: Any, i: int, j: int, k: int) -> Any:
    return self[..., i - padding[4], j - padding[2], k - padding[0]]


SHIFTED: dict[int, Callable[..., Any]] = {1: shifted_1, 2: shifted_2, 3: shifted_3}
"""Functions that return an element of the padded tensor, keyed by the number of padded last dimensions."""


def declare(
    name: str,
    dims: int,
    margin: str,
    check_margins: Callable[[Tensor, int, Pad], None],
    *,
    is_core: bool,
) -> Callable[..., Tensor]:
    """Declare the operator that pads the last ``dims`` dimensions, and the operator of its gradient; return the first.

    Args:
        name: ``reflection`` or ``replication``.
        dims: the number of dimensions that are padded.
        margin: the kind of padding, see ``primitives.positions``.
        check_margins: the function that checks the size of the padding.
        is_core: whether PyTorch tags the operator as one of its core.
    """
    own = f"{name}_pad{dims}d"

    @op(f"aten::{own}", python_module="nn", tags=("core",) if is_core else (), out=Out(tags=()))
    def pad(self: Tensor, padding: Annotated[SymIntList, Size(2 * dims)]) -> Tensor:
        """Pad the last dimensions with copies of their elements (negative numbers cut); ``padding`` starts with the
        last one.
        """
        ...

    @pad.meta
    def pad_meta(ctx, self, padding):
        check_padded_input(self, dims, padding)
        check_margins(self, dims, padding)
        shape = padded_shape(self, dims, padding)
        if self.dtype is bool_:
            raise UnsupportedDTypeError(f"\"{own}\" not implemented for 'Bool'. Convert first: x.to(uint8).")
        ctx.set_output(0, shape, like=self, memory_format=format_with_batch(self, dims))

    pad.sharding(rows=dims)
    shift = primitives.positions(SHIFTED[dims], at=("...", *"ijk"[:dims]), margin=margin)

    @pad.formula
    def shifted(self: Tensor, padding: list[SymInt]) -> Tensor:
        return shift(self, padding)

    @op(
        f"aten::{own}_backward",
        python_module="nn",
        out=Out(f"{own}_backward.grad_input", args=("grad_input",)),
    )
    def pad_backward(grad_output: Tensor, self: Tensor, padding: Annotated[SymIntList, Size(2 * dims)]) -> Tensor:
        """Return the gradient of the input: each element's gradient plus those of its copies in the padding."""
        ...

    @pad_backward.meta
    def pad_backward_meta(ctx, grad_output, self, padding):
        check_padded_input(self, dims, padding)
        check_margins(self, dims, padding)
        shape = padded_shape(self, dims, padding)
        check(
            grad_output.shape == shape,
            f"grad_output shape unexpected. Expected: {list(shape)}, Got: {list(grad_output.shape)}",
        )
        require_gradients(f"{own}_backward", grad_output, self)
        ctx.set_output(0, self.shape, like=self, memory_format=format_with_batch(self, dims))

    pad_backward.sharding(rows=dims)
    pad_backward.adjoint(pad, "self")
    return pad


def format_with_batch(tensor: Tensor, dims: int) -> MemoryFormat:
    """Return the memory format of a padded result: the tensor's own, or contiguous if there is no batch dimension."""
    if tensor.ndim != dims + 2:
        return MemoryFormat.contiguous_format
    return tensor.geometry.suggested_memory_format()


def require_gradients(operator: str, grad: Tensor, self: Tensor) -> None:
    """Check that a gradient is floating or complex, and has the dtype of ``self``.

    Raises:
        UnsupportedDTypeError: the gradient is of integers or bools.
        DTypeError: the dtypes differ.
    """
    if grad.dtype.category < Category.FLOAT:
        raise UnsupportedDTypeError(
            f"\"{operator}\" not implemented for '{grad.dtype.scalar_type}'. Convert first: x.to(float32)."
        )
    if self.dtype is not grad.dtype:
        raise DTypeError(f"expected scalar type {grad.dtype.scalar_type} but found {self.dtype.scalar_type}")


PADDINGS = {
    ("reflect", 1): declare("reflection", 1, "reflect", check_reflected, is_core=True),
    ("reflect", 2): declare("reflection", 2, "reflect", check_reflected, is_core=True),
    ("reflect", 3): declare("reflection", 3, "reflect", check_reflected, is_core=True),
    ("replicate", 1): declare("replication", 1, "replicate", check_anything, is_core=False),
    ("replicate", 2): declare("replication", 2, "replicate", check_anything, is_core=True),
    ("replicate", 3): declare("replication", 3, "replicate", check_anything, is_core=True),
}


# ------------------------------------------------------------------------------------------------------ circular, any


def declare_circular(dims: int) -> Callable[..., Tensor]:
    """Declare the operator that pads the last ``dims`` dimensions circularly."""

    @lib.op(f"opdsl::circular_pad{dims}d")
    def pad(self: Tensor, padding: Annotated[SymIntList, Size(2 * dims)]) -> Tensor:
        """Pad the last dimensions circularly, with elements from their opposite ends; ``padding`` starts with the last
        dimension.
        """
        ...

    @pad.meta
    def pad_meta(ctx, self, padding):
        check(
            self.ndim >= dims and len(padding) == 2 * dims,
            f"expected a tensor of {dims} dimensions or more and {2 * dims} margins, but got {list(self.shape)} and "
            f"{list(padding)}",
        )
        for dim, margins in margins_of(self.ndim, padding).items():
            check(
                min(margins) >= 0 and max(margins) <= self.shape[dim],
                f"margins that go on at the other end have from 0 to {self.shape[dim]} elements at dimension {dim}, "
                f"but got {margins}",
            )
        ctx.set_output(0, padded_shape(self, dims, padding), like=self)

    pad.sharding(rows=dims)
    shift = primitives.positions(SHIFTED[dims], at=("...", *"ijk"[:dims]), margin="circular")

    @pad.formula
    def shifted(self: Tensor, padding: list[SymInt]) -> Tensor:
        return shift(self, padding)

    return pad


CIRCULAR = {dims: declare_circular(dims) for dims in SHIFTED}


def wrap(self: Tensor, pad: Pad) -> Tensor:
    """Pad the last dimensions circularly, any number of them.

    Of more than three dimensions, the last three are padded first, and then flattened to one that is not padded.
    """
    if len(pad) <= 6:
        return CIRCULAR[len(pad) // 2](self, pad)
    inner = CIRCULAR[3](self, pad[:6])
    output = wrap(inner.flatten(-3), (0, 0, *pad[6:]))
    return output.view((*output.shape[:-1], *inner.shape[-3:]))


@op("aten::_pad_circular", python_module="nn")
def _pad_circular(self: Tensor, pad: list[SymInt]) -> Tensor:
    """Pad all dimensions after the channels circularly; negative padding cuts elements off."""
    dims = len(pad) // 2
    check(
        self.ndim in (dims + 1, dims + 2),
        "Invalid padding size, expected 1 or 2 non-padded dimensions, which would be equivalent to padding of length "
        f"{2 * self.ndim - 2} or {2 * self.ndim - 4} respectively but got {len(pad)}",
    )
    margins = margins_of(self.ndim, tuple(pad[: 2 * dims]))
    for dim, (before, after) in margins.items():
        size = self.shape[dim]
        check(before <= size and after <= size, "Padding value causes wrapping around more than once.")
        check(size + before + after >= 0, "Negative padding value is resulting in an empty dimension")
    for dim, (before, after) in margins.items():
        first, last = max(-before, 0), self.shape[dim] - max(-after, 0)
        self = self.narrow(dim, first, last - first)
    wrapped = tuple(max(number, 0) for number in pad[: 2 * dims])
    return wrap(self, wrapped) if any(wrapped) else self.clone(memory_format=MemoryFormat.contiguous_format)


@op("aten::_pad_enum", python_module="nn")
def _pad_enum(self: Tensor, pad: list[SymInt], mode: int, value: float | None = None) -> Tensor:
    """Compute ``pad`` with the mode as a number, an index into ``MODES``."""
    check(len(pad) % 2 == 0, "Padding length must be divisible by 2")
    check(
        len(pad) <= 2 * self.ndim,
        "Padding length should be less than or equal to two times the input dimension but got padding length "
        f"{len(pad)} and input of dimension {self.ndim}",
    )
    if not 0 <= mode < len(MODES):
        known = ", ".join(f"{number} ({name})" for number, name in enumerate(MODES))
        raise UnsupportedModeError(f"Unrecognised padding mode {mode}. There are: {known}.")
    name = MODES[mode]
    if name == "constant":
        return constant_pad_nd(self, pad, 0.0 if value is None else value)
    check(not value, f'Padding mode "{name}" doesn\'t take in value argument')
    dims = len(pad) // 2
    if dims not in (1, 2, 3) or self.ndim not in (dims + 1, dims + 2):
        raise UnsupportedModeError(
            f"Padding size {len(pad)} is not supported for {self.ndim}D input tensor. Pad the last 1, 2 or 3 "
            "dimensions after the channels, with or without a batch, or use the mode constant."
        )
    return _pad_circular(self, pad) if name == "circular" else PADDINGS[name, dims](self, pad)


@op("aten::pad", python_module="nn")
def pad(self: Tensor, pad: list[SymInt], mode: str = "constant", value: float | None = None) -> Tensor:
    """Return a tensor padded with a number or with its own elements.

    Args:
        self: a tensor with at least as many dimensions as ``pad`` has pairs; other modes than ``constant`` need
            channels, and perhaps a batch, in front of the padded dimensions.
        pad: the padding before and after, from the last dimension on; negative padding cuts elements off.
        mode: ``constant``, ``reflect``, ``replicate`` or ``circular``.
        value: the padding's value, for ``constant``.

    >>> import opdsl
    >>> opdsl.nn.pad(opdsl.tensor([[1, 2, 3]]), [2, 1], mode="reflect")
    tensor([[3, 2, 1, 2, 3, 2]])
    """
    if mode not in MODES:
        raise UnsupportedModeError(f"Unrecognised padding mode {mode}. There are: {', '.join(MODES)}.")
    return _pad_enum(self, pad, MODES.index(mode), value)
