"""Text of tensors: the same as PyTorch prints (torch/_tensor_str.py), with ``opdsl.`` for ``torch.``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy

from opdsl.errors import OptionError
from opdsl.runtime.dtype import DType, bool_, float32, int64
from opdsl.runtime.tensor_base import TensorBase
from opdsl.runtime.values import host_array
from opdsl.scalar.narrow_values import widen

_PREFIX = "tensor("


class PrintOptions(NamedTuple):
    """Options for printing tensors; see ``set_printoptions``."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}

_options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: Literal["default", "short", "full"] | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed from now on, in this process.

    Args:
        precision: the number of digits after the point.
        threshold: for tensors with more elements, only the ends of long dimensions are printed.
        edgeitems: the number of elements at these ends.
        linewidth: the largest length of a line.
        profile: ``"default"``, ``"short"`` or ``"full"``, which reset all options; the other arguments change them.
        sci_mode: whether numbers are written with exponents; None, which every call without it sets, decides by their
            sizes.

    Raises:
        OptionError: there is no such profile, or a number is negative; it is a ValueError. Nothing is changed then.

    >>> import opdsl
    >>> opdsl.set_printoptions(precision=2)
    >>> opdsl.tensor([1.12345])
    tensor([1.12])
    >>> opdsl.set_printoptions(profile="default")
    """
    global _options
    if profile is not None and profile not in _PROFILES:
        raise OptionError(f"set_printoptions: no profile {profile!r}. Use one of: {', '.join(_PROFILES)}.")
    numbers = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changed: dict[str, Any] = {option: value for option, value in numbers.items() if value is not None}
    for name, value in changed.items():
        if not (isinstance(value, (int, float)) and value >= 0):
            raise OptionError(f"set_printoptions: {name} has to be a number that is not negative (got {value!r})")
    _options = (_options if profile is None else _PROFILES[profile])._replace(**changed, sci_mode=sci_mode)


_Values = numpy.ndarray[Any, Any]


def representation(tensor: TensorBase, default_dtype: DType = float32, suffixes: Sequence[str] = ()) -> str:
    """Return the text of a tensor.

    Args:
        tensor: any tensor; elements on other devices are copied to the host.
        default_dtype: the floating-point dtype that is not shown.
        suffixes: further parts of the text, such as ``grad_fn=<AddBackward0>``.
    """
    form = tensor.geometry
    device = form.device
    ends = [] if device.type == "cpu" else [f"device='{device}'"]
    if device.type == "meta":
        text = "..."
        ends.append(f"size={form.shape}")
    elif form.numel == 0:
        text = "[]"
        if form.ndim != 1:
            ends.append(f"size={form.shape}")
    else:
        if not _options.edgeitems:
            ends.append(f"size={form.shape}")
        text = format_values(host_values(tensor))
    empty = device.type == "meta" or form.numel == 0
    if form.dtype is not default_dtype and (empty or not _needs_no_mention(form.dtype, default_dtype)):
        ends.append(f"dtype={form.dtype!r}")
    ends.extend(suffixes)
    if form.requires_grad and not any(suffix.startswith("grad_fn=") for suffix in suffixes):
        ends.append("requires_grad=True")
    return _join_suffixes(_PREFIX + text, ends)


def host_values(tensor: TensorBase) -> _Values:
    """Return the elements of a tensor as an array on the host, of float32 if NumPy lacks the dtype; memory is shared if
    possible.
    """
    array = host_array(tensor)
    dtype = tensor.geometry.dtype
    return widen(array, dtype.name) if dtype.is_encoded else array


def _needs_no_mention(dtype: DType, default_dtype: DType) -> bool:
    return dtype in (int64, bool_, default_dtype.to_complex() if default_dtype.itemsize >= 4 else None) or (
        dtype.name == "complex64" and default_dtype.itemsize < 4
    )


def _join_suffixes(text: str, suffixes: Sequence[str]) -> str:
    parts = [text]
    last_line = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if last_line + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * len(_PREFIX) + suffix)
            last_line = len(_PREFIX) + len(suffix)
        else:
            parts.append(", " + suffix)
            last_line += len(suffix) + 2
    return "".join(parts) + ")"


class _Number:
    """Format of real numbers, in which all numbers of an array have the same width."""

    def __init__(self, values: _Values) -> None:
        self.floating = values.dtype.kind == "f"
        self.whole = True
        self.scientific = False
        self.width = 1
        if self.floating:
            self._measure(values[numpy.isfinite(values) & (values != 0)])
        else:
            self.width = max((len(str(value)) for value in values.reshape(-1).tolist()), default=1)

    def _measure(self, values: _Values) -> None:
        if values.size == 0:
            return
        magnitudes = numpy.abs(values)
        least, most = float(magnitudes.min()), float(magnitudes.max())
        self.whole = bool((values == numpy.ceil(values)).all())
        asked = _options.sci_mode
        self.scientific = most / least > 1000.0 or most > 1.0e8 or least < 1.0e-4 if asked is None else asked
        dot = 1 if self.whole and not self.scientific else 0
        self.width = max(self.width, dot + max(len(self._digits(value)) for value in values.tolist()))

    def _digits(self, value: float) -> str:
        if self.scientific:
            return f"{value:.{_options.precision}e}"
        return f"{value:.0f}" if self.whole else f"{value:.{_options.precision}f}"

    def format(self, value: bool | int | float) -> str:
        """Return a number as text, padded with blanks on the left."""
        if not self.floating:
            return str(value).rjust(self.width)
        digits = self._digits(value)
        if self.whole and not self.scientific and math.isfinite(value):
            digits += "."
        return digits.rjust(self.width)


class _Complex:
    """Format of complex numbers, with a format for each part."""

    def __init__(self, values: _Values) -> None:
        self.real = _Number(values.real)
        self.imaginary = _Number(values.imag)
        self.width = self.real.width + self.imaginary.width + 1

    def format(self, value: complex) -> str:
        """Return a complex number as ``real+imaginaryj``, or with the sign of a negative imaginary part."""
        imaginary = self.imaginary.format(value.imag).lstrip() + "j"
        plus = "" if imaginary[0] in "+-" else "+"
        return self.real.format(value.real) + plus + imaginary


def format_values(array: _Values, indent: int = len(_PREFIX)) -> str:
    """Return the text of an array with at least one element, in nested brackets.

    Args:
        array: bool, integer, floating-point or complex elements.
        indent: the number of characters before the first bracket.

    >>> print(format_values(numpy.array([[1.0, 2.5], [3.0, -4.0]]), indent=0))
    [[ 1.0000,  2.5000],
     [ 3.0000, -4.0000]]
    """
    summarize = array.size > _options.threshold
    shown = _edges(array) if summarize else array
    number = _number(shown)
    if array.ndim == 0:
        return number.format(array.item())
    return _format_rows(array, indent, summarize, number)


def number_format(values: _Values) -> Callable[[Any], str]:
    """Return a function that formats the elements of an array, all with the same width."""
    return _number(values).format


def _number(values: _Values) -> _Number | _Complex:
    return _Complex(values) if values.dtype.kind == "c" else _Number(values)


def _edges(array: _Values) -> _Values:
    """Return the part of an array that is printed if only the ends of long dimensions are."""
    for dim, size in enumerate(array.shape):
        if size > 2 * _options.edgeitems:
            array = numpy.take(array, [*range(_options.edgeitems), *range(-_options.edgeitems, 0)], axis=dim)
    return array


def _format_rows(array: _Values, indent: int, summarize: bool, number: _Number | _Complex) -> str:
    if array.ndim == 1:
        return _format_row(array, indent, summarize, number)
    cut = summarize and array.shape[0] > 2 * _options.edgeitems
    rows = (*array[: _options.edgeitems], *array[array.shape[0] - _options.edgeitems :]) if cut else tuple(array)
    texts = [_format_rows(row, indent + 1, summarize, number) for row in rows]
    if cut:
        texts.insert(_options.edgeitems, "...")
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(texts) + "]"


def _format_row(array: _Values, indent: int, summarize: bool, number: _Number | _Complex) -> str:
    per_line = max(1, (_options.linewidth - indent) // (number.width + 2))
    if summarize and not _options.edgeitems:
        texts = ["..."]
    elif summarize and array.shape[0] > 2 * _options.edgeitems:
        first, last = array[: _options.edgeitems].tolist(), array[array.shape[0] - _options.edgeitems :].tolist()
        texts = [*map(number.format, first), " ...", *map(number.format, last)]
    else:
        texts = list(map(number.format, array.tolist()))
    lines = [", ".join(texts[start : start + per_line]) for start in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
