"""Extension ``fft`` of the array API: Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from opdsl._attributes import aten
from opdsl.runtime import Device, DType, Tensor

Norm = Literal["backward", "ortho", "forward"]


class Transform(Protocol):
    """Transform along one axis."""

    def __call__(self, x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor: ...


class TransformOfAxes(Protocol):
    """Transform along several axes."""

    def __call__(
        self,
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Norm = "backward",
    ) -> Tensor: ...


def _transform(name: str, doc: str, text: str, printed: str) -> Transform:
    """Build a transform along one axis from its name, its description, and an example for its docstring."""

    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
        return aten[f"fft_{name}"](x, n, axis, norm)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} along an axis.

Args:
    x: the vectors.
    n: the number of points, to which the vectors are cut or padded with zeros; by default their length. For ``irfft``
        and ``hfft`` the length of the result; by default ``2 * (length - 1)``.
    axis: the axis of the vectors.
    norm: which transforms are divided by the number of elements: inverse ones for ``"backward"``, others for
        ``"forward"``; for ``"ortho"``, both are divided by its square root.

>>> from opdsl import array_api as xp
>>> xp.fft.{name}(xp.asarray({text})).real
{printed}
"""
    return function


def _transform_of_axes(name: str, doc: str, text: str, printed: str) -> TransformOfAxes:
    """Build a transform along several axes, see ``_transform``."""

    def function(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
    ) -> Tensor:
        return aten[f"fft_{name}"](x, s, axes, norm)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{doc} along axes.

Args:
    x: the tensor.
    s: the numbers of points along the axes, to which the tensor is cut or padded with zeros; by default its sizes.
        For ``irfftn`` the sizes of the result.
    axes: the axes of the transform; for None the last axes, one for each size of ``s``, or all axes without ``s``.
    norm: see ``fft``.

>>> from opdsl import array_api as xp
>>> xp.fft.{name}(xp.asarray({text})).real
{printed}
"""
    return function


fft = _transform("fft", "Return the Fourier transform of vectors", "[1.0, 0.0, -1.0, 0.0]", "tensor([0., 2., 0., 2.])")
ifft = _transform(
    "ifft", "Return the inverse Fourier transform of vectors", "[4.0, 0.0, 0.0, 0.0]", "tensor([1., 1., 1., 1.])"
)
rfft = _transform(
    "rfft",
    "Return the first half of the Fourier transform of real vectors",
    "[1.0, 0.0, -1.0, 0.0]",
    "tensor([0., 2., 0.])",
)
irfft = _transform(
    "irfft", "Apply the inverse of ``rfft`` to vectors", "[4.0 + 0j, 0j, 0j]", "tensor([1., 1., 1., 1.])"
)
hfft = _transform(
    "hfft",
    "Return the real-valued Fourier transform of Hermitian symmetric vectors, given by their first halves,",
    "[1.0 + 0j, 0j, 0j]",
    "tensor([1., 1., 1., 1.])",
)
ihfft = _transform("ihfft", "Apply the inverse of ``hfft`` to vectors", "[4.0, 0.0, 0.0, 0.0]", "tensor([1., 1., 1.])")
fftn = _transform_of_axes(
    "fftn",
    "Return the Fourier transform of a tensor",
    "[[1.0, 0.0], [0.0, 0.0]]",
    "tensor([[1., 1.],\n        [1., 1.]])",
)
ifftn = _transform_of_axes(
    "ifftn",
    "Return the inverse Fourier transform of a tensor",
    "[[4.0, 0.0], [0.0, 0.0]]",
    "tensor([[1., 1.],\n        [1., 1.]])",
)
rfftn = _transform_of_axes(
    "rfftn",
    "Return the first half of the Fourier transform of a real tensor",
    "[[1.0, 0.0], [0.0, 0.0]]",
    "tensor([[1., 1.],\n        [1., 1.]])",
)
irfftn = _transform_of_axes(
    "irfftn",
    "Apply the inverse of ``rfftn`` to a tensor",
    "[[4.0 + 0j, 0j], [0j, 0j]]",
    "tensor([[1., 1.],\n        [1., 1.]])",
)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return the frequencies that belong to the elements of ``fft``, for ``n`` samples at distance ``d``.

    Args:
        n: the number of samples.
        d: their distance.
        dtype: of the frequencies; the default dtype by default.
        device: of the result; the CPU by default.

    >>> from opdsl import array_api as xp
    >>> xp.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    return aten.fft_fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """Return the frequencies that belong to the elements of ``rfft``, for ``n`` samples at distance ``d``.

    Args:
        n, d, dtype, device: see ``fftfreq``.

    >>> from opdsl import array_api as xp
    >>> xp.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    return aten.fft_rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements rolled so that frequency 0 is in the middle.

    Args:
        x: the result of ``fft`` or ``fftfreq``.
        axes: the axes; all for None.

    >>> from opdsl import array_api as xp
    >>> xp.fft.fftshift(xp.fft.fftfreq(4))
    tensor([-0.5000, -0.2500,  0.0000,  0.2500])
    """
    return aten.fft_fftshift(x, [axes] if isinstance(axes, int) else axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return the elements rolled back, as the inverse of ``fftshift``.

    Args:
        x: the result of ``fftshift``.
        axes: the axes; all for None.

    >>> from opdsl import array_api as xp
    >>> xp.fft.ifftshift(xp.asarray([-2, -1, 0, 1]))
    tensor([ 0,  1, -2, -1])
    """
    return aten.fft_ifftshift(x, [axes] if isinstance(axes, int) else axes)
