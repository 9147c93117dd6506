"""Short-time Fourier transform of overlapping windows of a signal (``stft``) and its inverse (``istft``)."""

from __future__ import annotations

from opdsl.aten.create.ranges import arange
from opdsl.aten.fft.kernels import BY_ROOT, BY_SIZE, NONE, _fft_c2c, _fft_c2r, _fft_r2c
from opdsl.aten.nn.padding import pad
from opdsl.aten.pointwise.arithmetic import mul
from opdsl.aten.reduce.closeness import equal
from opdsl.aten.shape.complex_views import view_as_real
from opdsl.aten.shape.view_scatters import constant_pad_nd
from opdsl.declare import Overload, op
from opdsl.errors import DeviceError
from opdsl.kernels import check
from opdsl.runtime import Tensor


def require_one_device(name: str, self: Tensor, window: Tensor | None) -> None:
    """Check that the signal and the window are on one device. Raises DeviceError: they are not."""
    if window is not None and window.device != self.device:
        raise DeviceError(
            f"{name} input and window must be on the same device but got self on {self.device} and window on "
            f"{window.device}"
        )


def centered(window: Tensor, size: int) -> Tensor:
    """Pad a window with zeros on both sides to ``size`` points."""
    left = (size - len(window)) // 2
    return constant_pad_nd(window, (left, size - len(window) - left)) if len(window) < size else window


@op(
    "aten::stft.center",
    variants="function, method",
    overloads={
        "": Overload(
            "Return the short-time Fourier transform, as ``stft`` with ``center=False``.",
            fixed={"center": False, "pad_mode": "constant"},
        )
    },
)
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Return the short-time Fourier transform: the transforms of windows that slide over signals.

    Args:
        self: signals of shape (length) or (batch, length).
        n_fft: how many points each transform has.
        hop_length: the distance between starts of successive windows; a quarter of ``n_fft`` by default.
        win_length: the length of the window; ``n_fft`` by default.
        window: factors of the points in a window; ones by default.
        center: whether windows are centered at multiples of ``hop_length``; the signal is then padded on both sides.
        pad_mode: how ``center`` pads the signal, see ``pad``.
        normalized: whether results are divided by the root of ``n_fft``.
        onesided: whether results have only the ``n_fft // 2 + 1`` frequencies that determine the others; the default
            for real signals.
        return_complex: whether results are complex, or pairs of real numbers.
        align_to_window: whether a window shorter than ``n_fft`` begins at the first point. Only without ``center``.

    Returns:
        (batch, frequencies, windows), without ``batch`` for one signal, with a last dimension of 2 for pairs.

    Raises:
        ShapeError, DeviceError: the arguments do not fit each other.
    """
    require_one_device("stft", self, window)
    check(not center or align_to_window is None, "stft align_to_window should only be set when center = false.")
    hop = n_fft >> 2 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    is_complex = self.is_complex() or (window is not None and window.is_complex())
    check(
        return_complex is not None or is_complex,
        "stft requires the return_complex parameter be given for real inputs, and will further require that "
        "return_complex=True in a future PyTorch release.",
    )
    check(self.is_floating_point() or self.is_complex(), "stft: expected a tensor of floating point or complex values")
    check(self.ndim in (1, 2), "stft: expected a 1D or 2D tensor", got=self.shape)
    signals = self if self.ndim == 2 else self.unsqueeze(0)
    if center:
        signals = pad(signals.unsqueeze(0), (n_fft // 2, n_fft // 2), pad_mode).squeeze(0)
    points = signals.shape[1]
    check(0 < n_fft <= points, f"stft: expected 0 < n_fft < {points}, but got n_fft={n_fft}")
    check(hop > 0, f"stft: expected hop_length > 0, but got hop_length={hop}")
    check(0 < length <= n_fft, f"stft: expected 0 < win_length <= n_fft, but got win_length={length}")
    check(
        window is None or tuple(window.shape) == (length,),
        f"stft: expected a 1D window tensor of size equal to win_length={length}, but got window with size "
        f"{None if window is None else list(window.shape)}",
    )
    if window is None and length < n_fft:
        window = self.new_ones((length,))
    span = n_fft
    if align_to_window:
        span, margin = length, (n_fft - length) // 2
        signals = constant_pad_nd(signals, (margin, margin))
    along, step = signals.strides
    count = 1 + (points - span) // hop
    pieces = signals.as_strided((len(signals), count, n_fft), (along, hop * step, step))
    if window is not None:
        pieces = mul(pieces, centered(window, n_fft))
    spectra = transformed(pieces, normalized, onesided).transpose(1, 2)
    spectra = spectra.squeeze(0) if self.ndim == 1 else spectra
    return spectra if (is_complex if return_complex is None else return_complex) else view_as_real(spectra)


def transformed(pieces: Tensor, normalized: bool, onesided: bool | None) -> Tensor:
    """Return the Fourier transforms of windows along their last dimension.

    Raises:
        ShapeError: one-sided results are requested of complex windows.
    """
    norm = BY_ROOT if normalized else NONE
    if not pieces.is_complex():
        return _fft_r2c(pieces, (2,), norm, onesided is None or onesided)
    check(not onesided, "Cannot have onesided output if window or input is complex")
    return _fft_c2c(pieces, (2,), norm, True)


@op("aten::istft", variants="function, method")
def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """Return the signals whose short-time Fourier transform is ``self``, by overlap-add.

    The inverse transforms are multiplied by the window and summed, then divided by the sum of the squared windows.

    Args:
        self: complex (batch, frequencies, windows) or (frequencies, windows).
        n_fft, hop_length, win_length, window, center, normalized: the arguments of the call of ``stft``.
        onesided: whether ``self`` has only the ``n_fft // 2 + 1`` frequencies that determine the others; by default
            inferred from their number.
        length: of the signals, which are padded with zeros at the end if necessary.
        return_complex: whether the signals are complex.

    Raises:
        ShapeError, DeviceError: the arguments do not fit each other, or the windows leave out a point.
    """
    require_one_device("istft", self, window)
    hop = n_fft >> 2 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    check(
        self.is_complex(),
        "istft requires a complex-valued input tensor matching the output from stft with return_complex=True.",
    )
    check(self.numel() > 0, "istft: input tensor cannot be empty.")
    check(self.ndim in (2, 3), f"istft: expected a tensor with 3 or 4 dimensions, but got {self.ndim + 1}")
    frequencies, count = self.shape[-2:]
    is_half = frequencies != n_fft if onesided is None else onesided
    wanted = n_fft // 2 + 1 if is_half else n_fft
    check(
        frequencies == wanted,
        f"istft: expected the frequency dimension (3rd to the last) of the input tensor to be {wanted} for "
        f"n_fft={n_fft} and onesided={is_half}, but got {frequencies}",
    )
    check(0 < hop <= width, "istft: expected 0 < hop_length <= win_length", got=(hop, width))
    check(0 < width <= n_fft, "istft: expected 0 < win_length <= n_fft", got=(width, n_fft))
    check(
        window is None or tuple(window.shape) == (width,),
        "istft: Invalid window shape. window has to be 1D and length of `win_length`",
    )
    check(
        return_complex or window is None or not window.is_complex(),
        "Complex windows are incompatible with return_complex=False",
    )
    check(not (return_complex and is_half), "Cannot have onesided output if window or input is complex")
    taper = self.new_ones((width,), dtype=self.dtype.to_real()) if window is None else window
    factors = centered(taper, n_fft)
    spectra = (self if self.ndim == 3 else self.unsqueeze(0)).transpose(1, 2)
    norm = BY_ROOT if normalized else BY_SIZE
    if return_complex:
        pieces = _fft_c2c(spectra, (2,), norm, False)
    else:
        pieces = _fft_c2r(spectra.narrow(2, 0, n_fft // 2 + 1), (2,), norm, n_fft)
    signals, weights = overlapped(pieces * factors, hop), overlapped((factors * factors).expand((1, count, n_fft)), hop)
    total = signals.shape[1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - start
    signals, weights = (whole[:, start : max(end, start)] for whole in (signals, weights))
    if weights.numel() and weights.device.type != "meta":
        is_covered = weights.abs() >= 1e-11
        check(equal(is_covered, is_covered.new_ones(is_covered.shape)), "istft: window overlap add min: 1")
    signals = signals / weights
    signals = signals if self.ndim == 3 else signals.squeeze(0)
    return constant_pad_nd(signals, (0, end - total)) if end > total else signals


def overlapped(pieces: Tensor, hop: int) -> Tensor:
    """Add up windows, (batch, count, width), each of which begins ``hop`` points after the one before it."""
    batch, count, width = pieces.shape
    places = arange(count, device=pieces.device).unsqueeze(1) * hop + arange(width, device=pieces.device)
    whole = pieces.new_zeros((batch, width + hop * (count - 1)))
    return whole.index_add(1, places.reshape((-1,)), pieces.reshape((batch, -1)))
