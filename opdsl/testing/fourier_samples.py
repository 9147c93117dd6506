"""Samples of Fourier transforms, whose kernels require real or complex numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from opdsl.runtime import Tensor, float16
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample


def _complexes(make: Maker) -> Iterator[Sample]:
    yield Sample(_complex(make(3, 4)), (1,), 0, True)
    yield Sample(_complex(make.transposed(2, 3, 4)), (0, 2), 2, False)
    yield Sample(_complex(make(2, 3)), (), 1, True)


def _complex(tensor: Tensor) -> Tensor:
    """Convert a tensor to complex numbers with imaginary parts; return it unchanged if it is float16 or not
    floating.
    """
    if tensor.is_complex() or not tensor.is_floating_point() or tensor.dtype is float16:
        return tensor
    return tensor.to(tensor.dtype.to_complex()) * (1 + 0.5j)


def _reals(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 5), (1,), 0, True)
    yield Sample(make.transposed(2, 3, 4), (2, 0), 2, True)
    yield Sample(make(3, 4), (0, 1), 1, False)


def _halves(make: Maker) -> Iterator[Sample]:
    yield Sample(_complex(make(3, 3)), (1,), 0, 4)
    yield Sample(_complex(make.transposed(3, 2, 4)), (1, 0), 2, 5)


def _frequencies(make: Maker) -> Iterator[Sample]:
    yield Sample(5)
    yield Sample(4, 0.5)


def _signals(make: Maker) -> Iterator[Sample]:
    yield Sample(make(12), 4, return_complex=True)
    yield Sample(make(2, 12), 6, 3, 4, make(4), normalized=True, return_complex=True)


def _uncentered_signals(make: Maker) -> Iterator[Sample]:
    yield Sample(make(12), 4, 1, 4, None, False, None, True)
    yield Sample(make(2, 12), 6, 3, 4, make(4), True, None, True, True)


def _spectra(make: Maker) -> Iterator[Sample]:
    yield Sample(_complex(make(3, 5)), 4)
    yield Sample(_complex(make.transposed(2, 4, 5)), 6, 2, center=False, normalized=True)


TABLE: dict[str, Callable[[Maker], Iterator[Sample]]] = {
    "aten::_fft_c2c": _complexes,
    "aten::_fft_r2c": _reals,
    "aten::_fft_c2r": _halves,
    "aten::stft": _uncentered_signals,
    "aten::stft.center": _signals,
    "aten::istft": _spectra,
    "aten::fft_fftfreq": _frequencies,
    "aten::fft_rfftfreq": _frequencies,
}
"""Sample functions by operator name; a name without an overload denotes the empty overload only."""
