"""Operators of the module ``opdsl.fft``: ``fft``, ``rfft``, ``irfft2``, ``fftfreq``, ``fftshift``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple

from opdsl.aten._shared.entries import documented
from opdsl.aten.create.factories import empty
from opdsl.aten.create.ranges import arange
from opdsl.aten.fft.kernels import BY_ROOT, BY_SIZE, NONE, _fft_c2c, _fft_c2r, _fft_r2c
from opdsl.aten.shape.rearranging import roll
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Out, op
from opdsl.dispatch import get_default_dtype
from opdsl.errors import DimensionError, DTypeError
from opdsl.kernels import check, write_out
from opdsl.runtime import Device, DType, Layout, Tensor, float32, float64, wrap_dimension
from opdsl.schema.vocabulary import IntList, Size, SymInt, SymIntList

Sizes = Sequence[int]


def listed(sizes: int | Sequence[int] | None) -> Sizes | None:
    """Return sizes or dimensions as a sequence; an int becomes a sequence of one."""
    return (sizes,) if isinstance(sizes, int) else sizes


# ------------------------------------------------------------------------------------------------------------ arguments


class Direction(NamedTuple):
    """Direction of a Fourier transform: forward or inverse.

    forward: whether the exponent is negative; by default the forward transform is not divided by the number of points.
    """

    forward: bool

    def normalization(self, norm: str | None) -> int:
        """Return the number for ``norm`` that the kernels take (``NONE``, ``BY_ROOT``, ``BY_SIZE``).

        Raises:
            ShapeError: unknown mode.
        """
        modes = {"backward": (BY_SIZE, NONE), "forward": (NONE, BY_SIZE), "ortho": (BY_ROOT, BY_ROOT)}
        check(norm is None or norm in modes, f'Invalid normalization mode: "{norm}"')
        return modes[norm or "backward"][self.forward]


def promoted(self: Tensor, *, to_complex: bool = False) -> Tensor:
    """Convert a tensor to a dtype that Fourier transforms support (``promote_tensor_fft``).

    Raises:
        DTypeError: the numbers have 16 bits.
    """
    dtype = self.dtype
    if not dtype.is_complex:
        dtype = dtype if dtype.is_floating_point else get_default_dtype()
        if dtype not in (float32, float64):
            raise DTypeError(f"Unsupported dtype {dtype.scalar_type}. Convert first: x.to(float32).")
    return self.to(dtype.to_complex() if to_complex else dtype)


def fitted(self: Tensor, dims: Sizes, sizes: Sizes) -> Tensor:
    """Trim dimensions of a tensor, or pad them with zeros at the end, to the given sizes (``resize_fft_input``)."""
    pads = [0] * (2 * self.ndim)
    for dim, size in zip(dims, sizes, strict=True):
        missing = size - self.shape[dim]
        if missing > 0:
            pads[2 * (self.ndim - 1 - dim) + 1] = missing
        elif missing:
            self = self.narrow(dim, 0, size)
    return constant_pad_nd(self, pads) if any(pads) else self


def place_of(self: Tensor, dim: int) -> int:
    """Return a dimension counted from the front. Raises DimensionError: the tensor has no such dimension."""
    if not self.ndim:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dimension(dim, self.ndim)


def require_points(size: int) -> None:
    """Check that a transform has at least one point. Raises ShapeError: it has none."""
    check(size >= 1, f"Invalid number of data points ({size}) specified")


class Region(NamedTuple):
    """Dimensions to transform, and the number of points of each."""

    dims: tuple[int, ...]
    sizes: tuple[int, ...]


def region_of(self: Tensor, s: Sizes | None, dim: Sizes | None) -> Region:
    """Return the dimensions and sizes that the arguments ``s`` and ``dim`` denote
    (``canonicalize_fft_shape_and_dim_args``).

    Raises:
        DimensionError: a dimension does not exist.
        ShapeError: the arguments do not fit each other or the tensor.
    """
    dims = None if dim is None else tuple(place_of(self, number) for number in dim)
    check(dims is None or len(set(dims)) == len(dims), "FFT dims must be unique")
    if s is None:
        dims = tuple(range(self.ndim)) if dims is None else dims
        sizes = tuple(self.shape[number] for number in dims)
    else:
        check(dims is None or len(dims) == len(s), "When given, dim and shape arguments must have the same length")
        check(len(s) <= self.ndim, f"Got shape with {len(s)} values but input tensor only has {self.ndim} dimensions.")
        dims = tuple(range(self.ndim - len(s), self.ndim)) if dims is None else dims
        sizes = tuple(self.shape[number] if size == -1 else size for number, size in zip(dims, s, strict=True))
    for size in sizes:
        check(size > 0, f"Invalid number of data points ({size}) specified")
    return Region(dims, sizes)


def region_of_half(name: str, self: Tensor, s: Sizes | None, dim: Sizes | None) -> tuple[Region, int]:
    """Return the dimensions and sizes to transform if the result is real and the input has only half of the
    frequencies.

    Returns:
        The dimensions and sizes of the input, and how many points the result has along the last dimension.

    Raises:
        DimensionError, ShapeError: see ``region_of``.
    """
    dims, sizes = region_of(self, s, dim)
    check(sizes, f"{name} must transform at least one axis")
    last = 2 * (self.shape[dims[-1]] - 1) if s is None or s[-1] == -1 else sizes[-1]
    require_points(last)
    return Region(dims, (*sizes[:-1], last // 2 + 1)), last


def require_real(name: str, self: Tensor) -> None:
    """Check that a tensor to transform is real. Raises DTypeError: it is not."""
    if self.is_complex():
        raise DTypeError(f"{name} expects a real input tensor, but got {self.dtype.scalar_type}")


# -------------------------------------------------------------------------------------------------------- one dimension


def full_line(name: str, direction: Direction, self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """Return the transform of a complex or real tensor along one dimension."""
    if not self.is_complex():
        return half_line(name, direction, self, n, dim, norm, onesided=False)
    taken, dimension = line_of(promoted(self), n, dim)
    return _fft_c2c(taken, (dimension,), direction.normalization(norm), direction.forward)


def line_of(self: Tensor, n: int | None, dim: int) -> tuple[Tensor, int]:
    """Return the tensor trimmed or padded to ``n`` points along a dimension, and that dimension counted from the front.

    Raises:
        DimensionError, ShapeError: there is no such dimension, or no point.
    """
    dimension = place_of(self, dim)
    require_points(self.shape[dimension] if n is None else n)
    return (self if n is None else fitted(self, (dimension,), (n,))), dimension


def half_line(
    name: str, direction: Direction, self: Tensor, n: int | None, dim: int, norm: str | None, onesided: bool = True
) -> Tensor:
    """Return the transform of a real tensor along one dimension; the inverse is the conjugate of the forward
    transform.
    """
    require_real(name, self)
    taken, dimension = line_of(promoted(self), n, dim)
    half = _fft_r2c(taken, (dimension,), direction.normalization(norm), onesided)
    return half if direction.forward else half.conj()


def real_line(name: str, direction: Direction, self: Tensor, n: int | None, dim: int, norm: str | None) -> Tensor:
    """Return the real transform along one dimension of a Hermitian-symmetric tensor, of which ``self`` is one half."""
    taken = promoted(self, to_complex=True)
    dimension = place_of(taken, dim)
    size = 2 * (taken.shape[dimension] - 1) if n is None else n
    require_points(size)
    if n is not None:
        taken = fitted(taken, (dimension,), (n // 2 + 1,))
    normalization = direction.normalization(norm)
    return _fft_c2r(taken.conj() if direction.forward else taken, (dimension,), normalization, size)


# --------------------------------------------------------------------------------------------------- several dimensions


def full_box(
    name: str, direction: Direction, self: Tensor, s: Sizes | None, dim: Sizes | None, norm: str | None
) -> Tensor:
    """Return the transform of a complex or real tensor along several dimensions."""
    region = region_of(self, s, dim)
    taken = promoted(fitted(self, *region), to_complex=True)
    return _fft_c2c(taken, region.dims, direction.normalization(norm), direction.forward)


def half_box(
    name: str, direction: Direction, self: Tensor, s: Sizes | None, dim: Sizes | None, norm: str | None
) -> Tensor:
    """Return the one-sided transform of a real tensor along several dimensions."""
    if self.is_complex():
        raise DTypeError(f"{name} expects a real-valued input tensor, but got {self.dtype.scalar_type}")
    region = region_of(self, s, dim)
    check(region.sizes, f"{name} must transform at least one axis")
    taken = fitted(promoted(self), *region)
    normalization = direction.normalization(norm)
    if direction.forward:
        return _fft_r2c(taken, region.dims, normalization, True)
    spectrum = _fft_r2c(taken, region.dims[-1:], normalization, True).conj()
    return _fft_c2c(spectrum, region.dims[:-1], normalization, False) if len(region.dims) > 1 else spectrum


def real_box(
    name: str, direction: Direction, self: Tensor, s: Sizes | None, dim: Sizes | None, norm: str | None
) -> Tensor:
    """Return the real transform along several dimensions of a Hermitian-symmetric tensor, of which ``self`` is one
    half.
    """
    region, last = region_of_half(name, self, s, dim)
    taken = promoted(fitted(self, *region), to_complex=True)
    normalization = direction.normalization(norm)
    if not direction.forward:
        return _fft_c2r(taken, region.dims, normalization, last)
    if len(region.dims) > 1:
        taken = _fft_c2c(taken, region.dims[:-1], normalization, True)
    return _fft_c2r(taken.conj(), region.dims[-1:], normalization, last)


# --------------------------------------------------------------------------------------------------------- declarations

Dims = Annotated[IntList, Size(1)]
SymSizes = Annotated[SymIntList, Size(1)]


ENTRY: dict[str, Any] = {"python_module": "fft", "variants": "function"}
"""Options of the operators of transforms."""

TRANSFORMED = Out(cast="kind", contiguous=True, **ENTRY)
"""Options of ``out=`` variants of transforms, whose dtype may have another precision."""


def declare_line(name: str, transform: Callable[..., Tensor], direction: Direction, text: str) -> None:
    """Declare the operator of a transform along one dimension.

    Args:
        name: of the function, ``"rfft"``.
        transform: computes the transform.
        direction: forward or inverse.
        text: the start of its docstring.
    """

    @op(f"aten::fft_{name}", out=TRANSFORMED, **ENTRY)
    @documented(f"{text} of ``n`` points along ``dim``.")
    def along_line(self: Tensor, n: SymInt | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        return transform(name, direction, self, n, dim, norm)


def declare_complex_line(name: str, transform: Callable[..., Tensor], text: str) -> None:
    """Declare the operator of an inverse transform along one dimension with a complex result: ``ifft`` or ``ihfft``.

    Its ``out=`` has the strides of PyTorch, which conjugates real input by a TensorIterator. For the arguments see
    ``declare_line``.
    """

    @op(f"aten::fft_{name}", out=TRANSFORMED, **ENTRY)
    @documented(f"{text} of ``n`` points along ``dim``.")
    def along_line(
        self: Tensor, n: SymInt | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        value = transform(name, BACK, self, n, dim, norm)
        if out is None:
            return value
        if not out.is_complex():
            raise DTypeError(f"{name} expects a complex output tensor, but got {out.dtype.scalar_type}")
        return write_out(f"aten::fft_{name}.out", out, value.to(out.dtype), contiguous=self.is_complex())


def declare_box(name: str, transform: Callable[..., Tensor], direction: Direction, text: str, **more: Any) -> None:
    """Declare two operators of a transform: along several dimensions, and along two, the last two by default.

    Args:
        name: of the function without the suffix ``n`` or ``2``, ``"rfft"``.
        transform: computes the transform.
        direction: forward or inverse.
        text: the start of the docstrings.
        more: further options of the functional operators.
    """

    def transformed_box(self: Tensor, s: Any, dim: Any, norm: str | None) -> Tensor:
        return transform(f"{name}n", direction, self, listed(s), listed(dim), norm)

    @op(f"aten::fft_{name}n", out=TRANSFORMED, **ENTRY, **more)
    @documented(f"{text} of ``s`` points along ``dim``, all or the last dimensions by default.")
    def along_dims(self: Tensor, s: SymSizes | None = None, dim: Dims | None = None, norm: str | None = None) -> Tensor:
        return transformed_box(self, s, dim, norm)

    @op(f"aten::fft_{name}2", out=TRANSFORMED, **ENTRY, **more)
    @documented(f"{text} of ``s`` points along two dimensions.")
    def along_two(
        self: Tensor,
        s: SymSizes | None = None,
        dim: Dims = [-2, -1],  # noqa: B006
        norm: str | None = None,
    ) -> Tensor:
        return transformed_box(self, s, dim, norm)


FORWARD, BACK = Direction(forward=True), Direction(forward=False)
DISCRETE = "Return the discrete Fourier transform"
INVERSE = "Return the inverse discrete Fourier transform"
HALF = "Return the first half of the Fourier transform of real signals"
SYMMETRIC = "Return the real-valued Fourier transform of Hermitian symmetric signals, given by their first halves,"

declare_line("fft", full_line, FORWARD, DISCRETE)
declare_complex_line("ifft", full_line, INVERSE)
declare_line("rfft", half_line, FORWARD, HALF)
declare_line("irfft", real_line, BACK, "Return the inverse of ``rfft``: real signals")
declare_line("hfft", real_line, FORWARD, SYMMETRIC)
declare_complex_line("ihfft", half_line, "Return the inverse of ``hfft``, applied to real signals")
declare_box("fft", full_box, FORWARD, DISCRETE)
declare_box("ifft", full_box, BACK, INVERSE)
declare_box("rfft", half_box, FORWARD, HALF)
declare_box("irfft", real_box, BACK, "Return the inverse of ``rfftn``: real signals")
declare_box("hfft", real_box, FORWARD, SYMMETRIC)
declare_box("ihfft", half_box, BACK, "Return the inverse of ``hfftn``, applied to real signals")

# ---------------------------------------------------------------------------------------------------------- frequencies


def declare_frequencies(name: str, count: Callable[[int], int], write: Callable[[int, Tensor], object]) -> None:
    """Declare a function that returns the frequencies at which a transform is sampled: ``fftfreq`` or ``rfftfreq``.

    Args:
        name: of the function.
        count: returns the number of frequencies for a number of points.
        write: resizes a tensor and writes the indices of the frequencies.
    """
    options: dict[str, Any] = {"python_module": "fft", "variants": "function"}

    @op(f"aten::fft_{name}", out=True, **options)
    def frequencies(
        n: int,
        d: float = 1.0,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | None = None,
        pin_memory: bool | None = None,
    ) -> Tensor:
        """Return the sample frequencies of a transform of ``n`` points at the distance ``d``, in the order of its
        results.
        """
        ...

    def fill(n: int, d: float, out: Tensor) -> Tensor:
        if not (out.is_floating_point() or out.is_complex()):
            raise DTypeError(f"{name} requires a floating point or complex dtype")
        write(n, out)
        return out.mul_(1.0 / (n * d)) if n * d else out.div_(n * d)

    @frequencies.kernel("CompositeExplicitAutograd")
    def frequencies_kernel(n, d, dtype, layout, device, pin_memory):
        chosen = get_default_dtype() if dtype is None else dtype
        return fill(n, d, empty([count(n)], dtype=chosen, layout=layout, device=device, pin_memory=pin_memory))


def write_all(n: int, out: Tensor) -> None:
    """Write the indices of the frequencies in the order of a transform, the negative ones last."""
    arange(0, n, out=out)
    arange(-(n // 2), 0, 1, out=out.narrow(0, (n + 1) // 2, n // 2))


declare_frequencies("fftfreq", lambda n: n, write_all)
declare_frequencies("rfftfreq", lambda n: n // 2 + 1, lambda n, out: arange(0, n // 2 + 1, out=out))

# --------------------------------------------------------------------------------------------------------------- shifts


def shifted(more: int, self: Tensor, dim: int | Sizes | None) -> Tensor:
    """Roll a tensor by half of each dimension: by ``(size + more) // 2``."""
    numbers = listed(dim)
    dims = tuple(range(self.ndim)) if numbers is None else tuple(place_of(self, number) for number in numbers)
    return roll(self, tuple((self.shape[number] + more) // 2 for number in dims), dims)


@op("aten::fft_fftshift", variants="function", python_module="fft")
def fft_fftshift(self: Tensor, dim: Dims | None = None) -> Tensor:
    """Roll the result of a transform so that frequency 0 is in the middle of each dimension."""
    return shifted(0, self, dim)


@op("aten::fft_ifftshift", variants="function", python_module="fft")
def fft_ifftshift(self: Tensor, dim: Dims | None = None) -> Tensor:
    """Undo ``fftshift``: roll frequency 0 from the middle of each dimension to its start."""
    return shifted(1, self, dim)
