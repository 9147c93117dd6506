"""Conversions between half and float or double, which LLVM otherwise calls from a runtime library that may be missing.

From double they are needed everywhere, from and to float on processors without an instruction. They use integers, since
LLVM's own conversion instructions would call these functions again. All round to the nearest, ties to even; a NaN keeps
the upper bits of its payload and becomes quiet.
"""

from __future__ import annotations

from opdsl.backends.cpu.machine.language import Float32, Half, Int16, Int32, exported, instruction, internal

_INFINITE = 0x7F800000
_QUIET = 0x00400000
_SMALLEST = 0x38800000  # 2^-14, the smallest half that is not denormal
_BIAS = 112 << 23  # the difference of the exponent biases of float and half


@instruction("bitcast float {0} to i32")
def bits_of(value: Float32) -> Int32:
    """Return the bits of a float as a signed integer."""
    raise NotImplementedError


@instruction("bitcast i32 {0} to float")
def float_of(bits: Int32) -> Float32:
    """Return the float with the given bits."""
    raise NotImplementedError


@instruction("bitcast half {0} to i16")
def bits_of_half(value: Half) -> Int16:
    """Return the bits of a half as a signed integer."""
    raise NotImplementedError


@instruction("bitcast i16 {0} to half")
def half_of(bits: Int16) -> Half:
    """Return the half with the given bits."""
    raise NotImplementedError


@instruction("fadd float {0}, {1}")
def add_floats(one: Float32, two: Float32) -> Float32:
    """Return the sum of floats."""
    raise NotImplementedError


@instruction("fsub float {0}, {1}")
def subtract_floats(one: Float32, two: Float32) -> Float32:
    """Return the difference of floats."""
    raise NotImplementedError


@instruction("fptrunc double {0} to float")
def narrowed(value: float) -> Float32:
    """Return the nearest float of a double."""
    raise NotImplementedError


@instruction("fpext float {0} to double")
def double_of(value: Float32) -> float:
    """Return a float converted to double, which is exact."""
    raise NotImplementedError


@instruction("call double @llvm.fabs.f64(double {0})")
def magnitude_of(value: float) -> float:
    """Return the absolute value of a double."""
    raise NotImplementedError


@internal("alwaysinline")
def rounded_to_half(bits: int) -> Half:
    """Return the half nearest to the float with the given bits."""
    magnitude = bits & 0x7FFFFFFF
    half = 0x7C00
    if magnitude > _INFINITE:
        half = (magnitude >> 13) & 0x3FF | 0x7E00
    elif magnitude < _SMALLEST:
        # A float 0.5 has the last bit of a denormal half as its own last bit, so that the float addition rounds.
        one_half = float_of(0x3F000000)
        half = bits_of(add_floats(float_of(magnitude), one_half)) - 0x3F000000
    elif magnitude < 0x47800000:  # 2^16; smaller numbers that round to it give infinity
        # Add half a unit of the last kept bit, less 1 if that bit is even (ties to even); change the exponent's bias.
        half = (magnitude - _BIAS + 0xFFF + ((magnitude >> 13) & 1)) >> 13
    return half_of(half | (bits >> 16) & 0x8000)


@exported
def half_of_float(value: Float32) -> Half:
    """Return the half nearest to a float."""
    return rounded_to_half(bits_of(value))


@exported
def half_of_double(value: float) -> Half:
    """Return the half nearest to a double.

    The double is rounded to odd as a float first, its last bit saying whether it was inexact, so that it is rounded to
    nearest only once.
    """
    near = narrowed(value)
    bits = bits_of(near)
    exact = magnitude_of(value)
    magnitude = magnitude_of(double_of(near))
    if magnitude > exact:
        bits = (bits - 1) | 1
    elif magnitude < exact:
        bits = bits | 1
    return rounded_to_half(bits)


@exported
def float_of_half(value: Half) -> Float32:
    """Return a half converted to float, which is exact."""
    bits = bits_of_half(value)
    magnitude = (bits & 0x7FFF) << 13
    whole = magnitude + _BIAS
    if magnitude > 0x7C00 << 13:
        whole = magnitude | _INFINITE | _QUIET
    elif magnitude == 0x7C00 << 13:
        whole = _INFINITE
    elif magnitude < 0x400 << 13:
        # A denormal half: its bits are put into a float with the exponent of 2^-14, from which 2^-14 is subtracted.
        small = subtract_floats(float_of(magnitude | _SMALLEST), float_of(_SMALLEST))
        whole = bits_of(small)
    return float_of(whole | (bits & 0x8000) << 16)
