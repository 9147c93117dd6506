"""Memory format of elements: printers of LLVM IR that loads, stores and converts one value.

A value has a scalar type (``bool``, ``int32``, ``float32`` ...), as in ``opdsl.scalar``. The narrow floating-point
dtypes exist in memory only: they are loaded as float32. A complex number is a struct of two floats. A bool is an i8
that is 0 or 1 in registers; in memory any nonzero byte counts as true.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from opdsl.scalar.formats import NARROW, FloatFormat
from opdsl.scalar.types import INTEGER, ScalarType


class Memory(NamedTuple):
    """Memory format of a dtype: its LLVM type, its size in bytes, and the scalar type as which it is loaded."""

    llvm: str
    itemsize: int
    value: str


_INTEGERS = {str(kind): kind for kind in ScalarType if kind.category == INTEGER}

MEMORY: dict[str, Memory] = {
    "bool": Memory("i8", 1, "bool"),
    **{name: Memory(f"i{kind.bits}", kind.bits // 8, name) for name, kind in _INTEGERS.items()},
    "float16": Memory("half", 2, "float32"),
    **{name: Memory(f"i{form.bits}", form.bits // 8, "float32") for name, form in NARROW.items() if name != "float16"},
    "float32": Memory("float", 4, "float32"),
    "float64": Memory("double", 8, "float64"),
    "complex64": Memory("{ float, float }", 8, "complex64"),
    "complex128": Memory("{ double, double }", 16, "complex128"),
}

# The LLVM type of a value in a register, and at the boundary of a printed scalar function.
REGISTER: dict[str, str] = {
    "bool": "i8",
    **{name: f"i{kind.bits}" for name, kind in _INTEGERS.items()},
    "float32": "float",
    "float64": "double",
    "complex64": "{ float, float }",
    "complex128": "{ double, double }",
}

# The type of the real and imaginary parts of a complex number.
PART = {"complex64": "float32", "complex128": "float64"}

_BITS = {"bool": 8, "float32": 32, "float64": 64, **{name: kind.bits for name, kind in _INTEGERS.items()}}
_FLOATS = ("float32", "float64")
_UNSIGNED = ("bool", *(name for name, kind in _INTEGERS.items() if not kind.is_signed))

# Floats are converted to integers through int32, or int64 for these types, as PyTorch does it on x86. A value out of
# range becomes the smallest integer of that width, and the low bits of the result are kept.
_BY_WAY_OF_64_BITS = ("uint8", "uint32", "int64", "uint64")

DECLARATIONS = {
    "declare float @llvm.fabs.f32(float)",
    "declare double @llvm.fabs.f64(double)",
}


class Text:
    """Lines of one LLVM function, and a counter that names its values.

    stored: the stored bits of values that were loaded as integers, of bfloat16 and float8; a value that is only copied
        need not be rounded again. The dtype is part of the key.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.stored: dict[tuple[str, str], str] = {}
        self._count = 0

    def line(self, text: str) -> None:
        """Append a line of text."""
        self.lines.append(text)

    def value(self, instruction: str) -> str:
        """Append an instruction, and return the name of its result."""
        self._count += 1
        register = f"%v{self._count}"
        self.lines.append(f"  {register} = {instruction}")
        return register

    def __str__(self) -> str:
        return "\n".join(filter(None, self.lines))


def load(text: Text, dtype: str, pointer: str, suffix: str = "") -> str:
    """Emit the load of an element.

    Args:
        text: the lines of the function.
        dtype: of the element; a key of ``MEMORY``.
        pointer: its address.
        suffix: metadata of the instruction, such as ``, !llvm.access.group !0``.

    Returns:
        The name of a value of the type ``MEMORY[dtype].value``.
    """
    if dtype in PART:
        return load_pair(text, dtype, pointer, f", align 1{suffix}")
    # Alignment 1: arrays from outside need not be aligned, and unaligned loads cost nothing extra.
    raw = text.value(f"load {MEMORY[dtype].llvm}, ptr {pointer}, align 1{suffix}")
    if dtype == "bool":
        return text.value(f"zext i1 {text.value(f'icmp ne i8 {raw}, 0')} to i8")
    if dtype == "float16":
        return text.value(f"fpext half {raw} to float")
    if dtype in NARROW:
        value = _widened(text, NARROW[dtype], raw)
        text.stored[value, dtype] = raw
        return value
    return raw


def store(text: Text, dtype: str, pointer: str, value: str, suffix: str = "") -> None:
    """Emit the store of a value of the type ``MEMORY[dtype].value`` as an element."""
    if dtype in PART:
        store_pair(text, dtype, pointer, value, f", align 1{suffix}")
        return
    if dtype == "float16":
        value = text.value(f"fptrunc float {value} to half")
    elif dtype in NARROW:
        value = text.stored.get((value, dtype)) or _narrowed(text, NARROW[dtype], value)
    text.line(f"  store {MEMORY[dtype].llvm} {value}, ptr {pointer}, align 1{suffix}")


def load_pair(text: Text, kind: str, pointer: str, suffix: str) -> str:
    """Emit the load of a complex number by parts, which LLVM can vectorize, unlike the load of a struct."""
    places = _part_places(text, kind, pointer)
    return pair(text, kind, [text.value(f"load {REGISTER[PART[kind]]}, ptr {index}{suffix}") for index in places])


def store_pair(text: Text, kind: str, pointer: str, value: str, suffix: str) -> None:
    """Emit the store of a complex number by parts."""
    for part, index in zip(parts(text, kind, value), _part_places(text, kind, pointer), strict=True):
        text.line(f"  store {REGISTER[PART[kind]]} {part}, ptr {index}{suffix}")


def _part_places(text: Text, kind: str, pointer: str) -> list[str]:
    return [pointer, text.value(f"getelementptr {REGISTER[PART[kind]]}, ptr {pointer}, i64 1")]


def pair(text: Text, kind: str, values: Sequence[str]) -> str:
    """Emit the construction of a complex number from its real and imaginary part."""
    whole, part = REGISTER[kind], REGISTER[PART[kind]]
    first = text.value(f"insertvalue {whole} poison, {part} {values[0]}, 0")
    return text.value(f"insertvalue {whole} {first}, {part} {values[1]}, 1")


def parts(text: Text, kind: str, value: str) -> list[str]:
    """Emit the extraction of the real and the imaginary part of a complex number."""
    return [text.value(f"extractvalue {REGISTER[kind]} {value}, {k}") for k in range(2)]


def _widened(text: Text, form: FloatFormat, raw: str) -> str:
    """Emit the conversion of stored bits to float32.

    The fields of exponent and fraction move to those of float32; the different bias is a factor, a power of two, which
    makes denormal numbers right, too. For 8 bits the number between is a float16, whose denormals no mode flushes.
    """
    if not form.rebias:
        shifted = text.value(f"shl i32 {text.value(f'zext i{form.bits} {raw} to i32')}, {form.dropped_bits}")
        return text.value(f"bitcast i32 {shifted} to float")
    wide = text.value(f"zext i8 {raw} to i16")
    magnitude = text.value(f"and i16 {wide}, 127")
    fields = text.value(f"shl i16 {magnitude}, {_HALF.fraction_bits - form.fraction_bits}")
    sign = text.value(f"shl i16 {text.value(f'and i16 {wide}, 128')}, 8")
    half = text.value(f"bitcast i16 {text.value(f'or i16 {fields}, {sign}')} to half")
    value = text.value(f"fpext half {half} to float")
    if form.has_infinity:
        return value
    scaled = text.value(f"fmul float {value}, {_constant(2.0 ** (_HALF.bias - form.bias))}")
    is_nan = text.value(f"icmp eq i16 {magnitude}, {form.nan}")
    return text.value(f"select i1 {is_nan}, float 0x7FF8000000000000, float {scaled}")


_HALF = NARROW["float16"]


def _constant(value: float) -> str:
    """Return a constant of LLVM's float type, which is written as the bits of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _narrowed(text: Text, form: FloatFormat, value: str) -> str:
    """Emit the rounding of a float32 to stored bits, to nearest with ties to even; a NaN becomes a quiet NaN."""
    bits = text.value(f"bitcast float {value} to i32")
    dropped = form.dropped_bits
    lowest_kept = text.value(f"and i32 {text.value(f'lshr i32 {bits}, {dropped}')}, 1")
    is_nan = text.value(f"fcmp uno float {value}, 0.0")
    if not form.rebias:
        rounded = text.value(f"add i32 {text.value(f'add i32 {bits}, {(1 << dropped - 1) - 1}')}, {lowest_kept}")
        chosen = text.value(f"select i1 {is_nan}, i32 {text.value(f'or i32 {bits}, 4194304')}, i32 {rounded}")
        return text.value(f"trunc i32 {text.value(f'lshr i32 {chosen}, {dropped}')} to i{form.bits}")
    magnitude = text.value(f"and i32 {bits}, 2147483647")
    offset = (1 << dropped - 1) - 1 - form.rebias
    rounded = text.value(f"add i32 {text.value(f'add i32 {magnitude}, {offset}')}, {lowest_kept}")
    normal = text.value(f"lshr i32 {rounded}, {dropped}")
    is_above = text.value(f"icmp ugt i32 {normal}, {form.infinite}")
    bounded = text.value(f"select i1 {is_above}, i32 {form.infinite}, i32 {normal}")
    absolute = text.value(f"call float @llvm.fabs.f32(float {value})")
    shifted = text.value(f"bitcast float {text.value(f'fadd float {absolute}, {_constant(form.shift)}')} to i32")
    denormal = text.value(f"sub i32 {shifted}, {struct.unpack('<i', struct.pack('<f', form.shift))[0]}")
    is_denormal = text.value(f"fcmp olt float {absolute}, {_constant(form.smallest_normal)}")
    number = text.value(f"select i1 {is_denormal}, i32 {denormal}, i32 {bounded}")
    chosen = text.value(f"select i1 {is_nan}, i32 {form.nan}, i32 {number}")
    sign = text.value(f"shl i32 {text.value(f'lshr i32 {bits}, 31')}, {form.bits - 1}")
    return text.value(f"trunc i32 {text.value(f'or i32 {chosen}, {sign}')} to i{form.bits}")


def convert(text: Text, value: str, source: str, target: str) -> str:
    """Emit the conversion of a value to another scalar type as PyTorch's ``to`` does it, defined for every input."""
    if source == target:
        return value
    if source in PART or target in PART:
        return _convert_complex(text, value, source, target)
    kinds = (source in _FLOATS, target in _FLOATS)
    if target == "bool":
        return _to_bool(text, value, source)
    return _CONVERSIONS[kinds](text, value, source, target)


def _convert_complex(text: Text, value: str, source: str, target: str) -> str:
    """Emit a conversion from or to a complex type: a real number gets the imaginary part 0, and a conversion to a real
    type drops it.
    """
    kind = PART.get(source, source)
    texts = parts(text, source, value) if source in PART else [value]
    if target == "bool":
        flags = [_to_bool(text, part, kind) for part in texts]
        return text.value(f"or i8 {flags[0]}, {flags[1]}")
    if target not in PART:
        return convert(text, texts[0], kind, target)
    converted = [convert(text, part, kind, PART[target]) for part in texts]
    return pair(text, target, [*converted, "0.0"][:2])


def _to_bool(text: Text, value: str, source: str) -> str:
    test = (
        f"fcmp une {REGISTER[source]} {value}, 0.0" if source in _FLOATS else f"icmp ne {REGISTER[source]} {value}, 0"
    )
    return text.value(f"zext i1 {text.value(test)} to i8")


def _between_integers(text: Text, value: str, source: str, target: str) -> str:
    if _BITS[source] == _BITS[target]:
        return value
    widen = "zext" if source in _UNSIGNED else "sext"
    instruction = "trunc" if _BITS[source] > _BITS[target] else widen
    return text.value(f"{instruction} {REGISTER[source]} {value} to {REGISTER[target]}")


def _to_float(text: Text, value: str, source: str, target: str) -> str:
    instruction = "uitofp" if source in _UNSIGNED else "sitofp"
    return text.value(f"{instruction} {REGISTER[source]} {value} to {REGISTER[target]}")


def _between_floats(text: Text, value: str, source: str, target: str) -> str:
    instruction = "fpext" if target == "float64" else "fptrunc"
    return text.value(f"{instruction} {REGISTER[source]} {value} to {REGISTER[target]}")


def _to_integer(text: Text, value: str, source: str, target: str) -> str:
    if target == "uint64":
        return _to_unsigned(text, value, source)
    width = 64 if target in _BY_WAY_OF_64_BITS else 32
    return _between_integers(text, _to_signed(text, value, source, width), f"int{width}", target)


def _to_unsigned(text: Text, value: str, source: str) -> str:
    """Emit a conversion of a float to uint64, which subtracts 2**63 from larger numbers first and adds it to the
    result.
    """
    register = REGISTER[source]
    is_high = text.value(f"fcmp oge {register} {value}, 0x43E0000000000000")
    rest = text.value(f"fsub {register} {value}, 0x43E0000000000000")
    low = text.value(f"select i1 {is_high}, {register} {rest}, {register} {value}")
    high = text.value(f"select i1 {is_high}, i64 {-(1 << 63)}, i64 0")
    return text.value(f"xor i64 {_to_signed(text, low, source, 64)}, {high}")


def _to_signed(text: Text, value: str, source: str, width: int) -> str:
    register = REGISTER[source]
    limit = f"0x{'43E' if width == 64 else '41E'}0000000000000"  # 2**63, 2**31
    magnitude = text.value(f"call {register} @llvm.fabs.f{_BITS[source]}({register} {value})")
    fits = text.value(f"fcmp olt {register} {magnitude}, {limit}")
    whole = text.value(f"fptosi {register} {value} to i{width}")
    # The conversion of a value out of range is poison, which the select discards; a freeze would not be enough.
    return text.value(f"select i1 {fits}, i{width} {whole}, i{width} {-(1 << width - 1)}")


_CONVERSIONS = {
    (False, False): _between_integers,
    (False, True): _to_float,
    (True, False): _to_integer,
    (True, True): _between_floats,
}
