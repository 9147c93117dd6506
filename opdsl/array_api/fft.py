"""Fourier transforms: the standard's extension ``fft``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from opdsl._attributes import aten
from opdsl.runtime import Device, DType, Tensor

Norm = Literal["backward", "ortho", "forward"]


class Transform(Protocol):
    """A transform along one axis."""

    def __call__(self, x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor: ...


class TransformOfAxes(Protocol):
    """A transform along several axes."""

    def __call__(
        self,
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: Norm = "backward",
    ) -> Tensor: ...


def _transform(name: str, doc: str) -> Transform:
    def function(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Tensor:
        return aten[f"fft_{name}"](x, n, axis, norm)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} of vectors along an axis, cut or filled with zeros to ``n`` elements."
    return function


def _transform_of_axes(name: str, doc: str) -> TransformOfAxes:
    def function(
        x: Tensor, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Norm = "backward"
    ) -> Tensor:
        return aten[f"fft_{name}"](x, s, axes, norm)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc} along axes (all by default), cut or filled with zeros to the sizes ``s``."
    return function


fft = _transform("fft", "The Fourier transform")
ifft = _transform("ifft", "The inverse Fourier transform")
rfft = _transform("rfft", "The first half of the Fourier transform, of real numbers")
irfft = _transform("irfft", "The inverse of ``rfft``,")
hfft = _transform("hfft", "The Fourier transform, given by its first half and so real,")
ihfft = _transform("ihfft", "The inverse of ``hfft``,")
fftn = _transform_of_axes("fftn", "The Fourier transform")
ifftn = _transform_of_axes("ifftn", "The inverse Fourier transform")
rfftn = _transform_of_axes("rfftn", "The first half of the Fourier transform of real numbers")
irfftn = _transform_of_axes("irfftn", "The inverse of ``rfftn``")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """The frequencies of the elements of ``fft``, for ``n`` samples at distance ``d``."""
    return aten.fft_fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """The frequencies of the elements of ``rfft``, for ``n`` samples at distance ``d``."""
    return aten.fft_rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The elements rolled so that frequency 0 stands in the middle."""
    return aten.fft_fftshift(x, [axes] if isinstance(axes, int) else axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of ``fftshift``."""
    return aten.fft_ifftshift(x, [axes] if isinstance(axes, int) else axes)
