"""Conversions from and to half that LLVM leaves to a runtime library, which a process need not have: from double
everywhere, from and to float on processors without an instruction for it. By integers, since an instruction of LLVM
for any of them would call these functions again. All round to the nearest, ties to even; a NaN keeps the upper bits
of its payload and becomes quiet.
"""

from __future__ import annotations

from opdsl.backends.cpu.machine.language import Float32, Half, Int16, Int32, exported, instruction, internal

_INFINITE = 0x7F800000
_QUIET = 0x00400000
_SMALLEST = 0x38800000  # 2^-14, the smallest half that is not denormal
_BIAS = 112 << 23  # between the exponents of float and half


@instruction("bitcast float {0} to i32")
def bits_of(value: Float32) -> Int32:
    """The bits of a float, with a sign."""
    raise NotImplementedError


@instruction("bitcast i32 {0} to float")
def float_of(bits: Int32) -> Float32:
    """A float of its bits."""
    raise NotImplementedError


@instruction("bitcast half {0} to i16")
def bits_of_half(value: Half) -> Int16:
    """The bits of a half, with a sign."""
    raise NotImplementedError


@instruction("bitcast i16 {0} to half")
def half_of(bits: Int16) -> Half:
    """A half of its bits."""
    raise NotImplementedError


@instruction("fadd float {0}, {1}")
def add_floats(one: Float32, two: Float32) -> Float32:
    """The sum of floats."""
    raise NotImplementedError


@instruction("fsub float {0}, {1}")
def subtract_floats(one: Float32, two: Float32) -> Float32:
    """The difference of floats."""
    raise NotImplementedError


@instruction("fptrunc double {0} to float")
def narrowed(value: float) -> Float32:
    """The nearest float."""
    raise NotImplementedError


@instruction("fpext float {0} to double")
def double_of(value: Float32) -> float:
    """The same number."""
    raise NotImplementedError


@instruction("call double @llvm.fabs.f64(double {0})")
def magnitude_of(value: float) -> float:
    """The number without its sign."""
    raise NotImplementedError


@internal("alwaysinline")
def rounded_to_half(bits: int) -> Half:
    """The half nearest to a float of these bits."""
    magnitude = bits & 0x7FFFFFFF
    half = 0x7C00
    if magnitude > _INFINITE:
        half = (magnitude >> 13) & 0x3FF | 0x7E00
    elif magnitude < _SMALLEST:
        # 0.5 has the last bit of the smallest half, so that the addition of floats rounds.
        one_half = float_of(0x3F000000)
        half = bits_of(add_floats(float_of(magnitude), one_half)) - 0x3F000000
    elif magnitude < 0x47800000:  # 2^16; what is rounded to it is infinite already
        # Half of the last bit kept is added, less 1 where that bit is even, and the exponent changes its bias.
        half = (magnitude - _BIAS + 0xFFF + ((magnitude >> 13) & 1)) >> 13
    return half_of(half | (bits >> 16) & 0x8000)


@exported
def half_of_float(value: Float32) -> Half:
    """The nearest half."""
    return rounded_to_half(bits_of(value))


@exported
def half_of_double(value: float) -> Half:
    """The float on the way is cut off, and its last bit says whether anything was: so it is rounded once."""
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
    """The same number."""
    bits = bits_of_half(value)
    magnitude = (bits & 0x7FFF) << 13
    whole = magnitude + _BIAS
    if magnitude > 0x7C00 << 13:
        whole = magnitude | _INFINITE | _QUIET
    elif magnitude == 0x7C00 << 13:
        whole = _INFINITE
    elif magnitude < 0x400 << 13:
        # As a float of the exponent of 2^-14, which is subtracted.
        small = subtract_floats(float_of(magnitude | _SMALLEST), float_of(_SMALLEST))
        whole = bits_of(small)
    return float_of(whole | (bits & 0x8000) << 16)
