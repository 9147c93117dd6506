"""Random numbers: Philox4x32-10 as scalar functions of a seed and a counter, and tensors that are filled with them.

Element ``k`` of a tensor, in row-major order, is a function of ``place + k``, mostly of the block at that position of
the generator's sequence. So it depends neither on threads nor on strides, nor on the tensor that it is drawn for, and
every backend that compiles scalar graphs computes the same bits.

Sources: J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011); distributions as in
ATen/core/TransformationHelper.h.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from typing import Any

from opdsl.errors import DeviceError, ShardingError, UnsupportedDTypeError
from opdsl.kernels.compiler import abilities, has_compiler
from opdsl.kernels.outputs import check_written, new_tensor
from opdsl.kernels.primitives.copying import cast, real_and_imaginary
from opdsl.kernels.primitives.host import is_beyond
from opdsl.kernels.primitives.indexed import ROW, fill_by_index, fill_together, in_single_precision, together
from opdsl.runtime.device import meta
from opdsl.runtime.dtype import ALL_DTYPES, Category, DType, bfloat16, bool_, float16, float32, float64
from opdsl.runtime.generator import Generator, generator_for
from opdsl.runtime.geometry import geometry
from opdsl.runtime.lowering import lowering
from opdsl.runtime.storage import bump_version
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import NotLoweredError
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.viewing import make_view

# -------------------------------------------------------------------------------------------------------- the sequence

_MASK = 0xFFFFFFFF
_ROUNDS = 10


def philox(a: Any, b: Any, c: Any, d: Any, k: Any, m: Any) -> Any:
    """Return a block of four random 32-bit words from the counter (a, b, c, d) and the key (k, m), which are 32-bit
    words.
    """
    for _ in range(_ROUNDS):
        one = a * 0xD2511F53
        two = c * 0xCD9E8D57
        a, b, c, d = ((two >> 32) & _MASK) ^ b ^ k, two & _MASK, ((one >> 32) & _MASK) ^ d ^ m, one & _MASK
        k, m = (k + 0x9E3779B9) & _MASK, (m + 0xBB67AE85) & _MASK
    return a, b, c, d


def block(place: Any, seed: Any) -> Any:
    """Return the block of four 32-bit words at a position of a seed's sequence; both arguments count as 64 bits."""
    return philox(place & _MASK, (place >> 32) & _MASK, 0, 0, seed & _MASK, (seed >> 32) & _MASK)


def unit(high: Any, low: Any) -> Any:
    """Convert two 32-bit words to a number from [0, 1), a multiple of 2**-53."""
    return float((high << 21) ^ (low >> 11)) * 2.0**-53


def inner(high: Any, low: Any) -> Any:
    """Convert two 32-bit words to a number from (0, 1), an odd multiple of 2**-53."""
    return (float((high << 20) ^ (low >> 12)) + 0.5) * 2.0**-52


# -------------------------------------------------------------------------------------------------------- distributions
# Each takes a counter as two summands and the seed, then its parameters.


def uniform(row: Any, column: Any, seed: Any, low: Any, high: Any, shift: Any, step: Any) -> Any:
    """Return a uniform random number from [low, high), with the 53 - ``shift`` binary digits of which ``step`` is the
    last one, so that no number is rounded up.
    """
    a, b, _, _ = block(row + column, seed)
    return low + (high - low) * (float(((a << 21) ^ (b >> 11)) >> shift) * step)


@in_single_precision
def uniform_single(row: Any, column: Any, seed: Any, low: Any, high: Any, shift: Any, step: Any) -> Any:
    """Return a uniform random number for float32 and narrower dtypes, with 32 - ``shift`` binary digits."""
    a, _, _, _ = block(row + column, seed)
    return low + (high - low) * (float(a >> shift) * step)


def normal(row: Any, column: Any, seed: Any, mean: Any, std: Any) -> Any:
    """Return a normal random number (G. Box and M. Muller, A note on the generation of random normal deviates,
    1958).
    """
    a, b, c, d = block(row + column, seed)
    return mean + std * (math.sqrt(-2.0 * math.log(inner(a, b))) * math.cos(2.0 * math.pi * unit(c, d)))


_RUN_BITS = ROW.bit_length() - 3  # bits of the index within a run, a quarter of a row


@in_single_precision
def normal_single(row: Any, column: Any, seed: Any, mean: Any, std: Any) -> Any:
    """Return a normal random number for float32 and narrower dtypes, from 32-bit words.

    Four runs of each row of elements share their blocks: a pair of words gives two normal numbers, a cosine and a sine.
    """
    index = row + column
    run = (index >> _RUN_BITS) & 3
    a, b, c, d = block(index & ~(3 << _RUN_BITS), seed)
    second = run > 1
    turns = _turns(d if second else c) - (0.25 if (run & 1) == 1 else 0.0)
    return mean + std * (_radius(b if second else a) * _cosine(turns))


@together(normal_single, runs=4)
@in_single_precision
def four_normal_single(row: Any, column: Any, seed: Any, mean: Any, std: Any) -> Any:
    """Return the normal random numbers of all four runs at once, see ``normal_single``."""
    a, b, c, d = block(row + column, seed)
    one, two = _radius(a), _radius(b)
    first, second = _turns(c), _turns(d)
    return (
        mean + std * (one * _cosine(first)),
        mean + std * (one * _cosine(first - 0.25)),
        mean + std * (two * _cosine(second)),
        mean + std * (two * _cosine(second - 0.25)),
    )


def _radius(word: Any) -> Any:
    return math.sqrt(-2.0 * math.log((float(word) + 0.5) * 2.0**-32))


def _turns(word: Any) -> Any:
    """Convert a 32-bit word to an angle in full rotations, from -1/2 to 1/2."""
    return float(word) * 2.0**-32 - 0.5


def _cosine(turns: Any) -> Any:
    """Return the cosine of an angle in full rotations, from -3/4 to 1/2, as 1 - 2 sin(angle / 2)**2, without a slow
    path.
    """
    near = turns + 1.0 if turns < -0.5 else turns
    square = near * near
    sine = -0.0070283038552 * square + 0.0820503502015
    sine = sine * square - 0.599252186532
    sine = sine * square + 2.55016331794
    sine = sine * square - 5.16771276459
    sine = (sine * square + 3.14159265354) * near
    return 1.0 - 2.0 * sine * sine


def integer(row: Any, column: Any, seed: Any, low: Any, count: Any) -> Any:
    """Return one of ``count`` integers from ``low`` on; at most 2**63 - 1 of them."""
    a, b, _, _ = block(row + column, seed)
    return low + (((a & 0x7FFFFFFF) << 32) ^ b) % count


def small_integer(row: Any, column: Any, seed: Any, low: Any, count: Any) -> Any:
    """Return one of ``count`` < 2**31 integers from ``low`` on: the upper half of a product, without division."""
    a, b, _, _ = block(row + column, seed)
    return low + ((a * count + ((b * count) >> 32)) >> 32)


def wide_integer(row: Any, column: Any, seed: Any, low: Any, count: Any) -> Any:
    """Return one of 2**63 to 2**64 integers from ``low`` on; ``count`` counts as 64 bits: 0 denotes 2**64."""
    a, b, _, _ = block(row + column, seed)
    m, n = (count >> 32) & _MASK, count & _MASK
    # The upper half of the 128-bit product; a remainder would be biased towards small integers.
    one, two = a * n, b * m
    carry = (((b * n) >> 32) & _MASK) + (one & _MASK) + (two & _MASK)
    scaled = a * m + ((one >> 32) & _MASK) + ((two >> 32) & _MASK) + (carry >> 32)
    return low + (scaled if count != 0 else (a << 32) ^ b)


def dropped(row: Any, column: Any, seed: Any, element: Any, limit: Any, scale: Any) -> Any:
    """Return an element times ``scale``, or times 0, and whether it is kept: if 53 random bits are below ``limit``."""
    a, b, _, _ = block(row + column, seed)
    kept = ((a << 21) ^ (b >> 11)) < limit
    return element * (scale if kept else 0.0), kept


@in_single_precision
def dropped_single(row: Any, column: Any, seed: Any, element: Any, limit: Any, scale: Any) -> Any:
    """``dropped`` for float32 and narrower dtypes."""
    return dropped(row, column, seed, element, limit, scale)


# ------------------------------------------------------------------------------------------------------- filled tensors

DIGITS = {float16: 11, bfloat16: 8, float32: 24, float64: 53} | {
    dtype: 8 * dtype.itemsize - dtype.is_signed for dtype in ALL_DTYPES if dtype.category is Category.INT
}
"""Number of binary digits of a dtype's numbers, without sign and exponent."""


class Window:
    """Context manager in which a random fill of a tensor produces one block of a larger tensor's random numbers, as
    shards need them.

    Args:
        seed, place: of the random numbers of the first larger tensor; those of the next one follow.
        shape: of the larger tensors.
        starts: index of the first element of the block in them.

    taken: how many random numbers the larger tensors have used so far; meta tensors count as larger tensors.
    """

    def __init__(self, seed: int, place: int, shape: Sequence[int], starts: Sequence[int]) -> None:
        self.seed = seed
        self.place = place
        self.shape = tuple(shape)
        self.starts = tuple(starts)
        self.taken = 0
        self._token: Token[Window | None] | None = None

    def __enter__(self) -> Window:
        self._token = _window.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._token is not None:
            _window.reset(self._token)

    def fill(self, target: Tensor, distribution: Callable[..., Any], numbers: Sequence[Any]) -> None:
        """Fill a block with its part of the random numbers of a larger tensor.

        Raises:
            ShardingError: it is no block of a larger tensor.
        """
        shape = self.shape + (2,) * (target.ndim - len(self.shape))  # real and imaginary parts
        if len(shape) != target.ndim or any(size > most for size, most in zip(target.shape, shape, strict=True)):
            raise ShardingError(f"random numbers of shape {target.shape} are drawn for a block of {self.shape}")
        steps = contiguous_strides(shape)
        starts = self.starts + (0,) * (len(shape) - len(self.starts))
        before = self.place + self.taken + sum(map(operator.mul, starts, steps))
        # Elements that are contiguous in the larger tensor are filled in one call.
        cut = max((at for at, size in enumerate(shape) if target.shape[at] != size), default=0)
        for index in itertools.product(*map(range, target.shape[:cut])):
            place = before + sum(map(operator.mul, index, steps))
            elements = [_at(number, index) if isinstance(number, Tensor) else number for number in numbers]
            fill_by_index(
                _at(target, index), distribution, (self.seed, *elements), (place + _HALF) % (2 * _HALF) - _HALF
            )
        self.taken += math.prod(shape)


_HALF = 1 << 63
_window: ContextVar[Window | None] = ContextVar("window", default=None)


def _at(tensor: Tensor, index: tuple[int, ...]) -> Tensor:
    offset = tensor.storage_offset() + sum(map(operator.mul, index, tensor.strides))
    return make_view(tensor, tensor.shape[len(index) :], tensor.strides[len(index) :], offset)


def fill_random_(
    target: Tensor,
    distribution: Callable[..., Any],
    numbers: Sequence[int | float | Tensor],
    generator: Generator | None,
) -> Tensor:
    """Fill a tensor with random numbers.

    Args:
        target: of any shape and strides; of a complex tensor, real and imaginary parts are filled alike.
        distribution: a scalar function of this module.
        numbers: its arguments after counter and seed: int for int64, float for float64, or a tensor of the target's
            shape, with one number for each element of the target.
        generator: None for the default one of the target's device.

    Returns:
        ``target``.

    Raises:
        DeviceError: the generator is for another device.
        OverlapError: elements of the target share memory.
    """
    source = generator_for(target.device, generator)
    elsewhere = next(
        (number for number in numbers if isinstance(number, Tensor) and number.device is not target.device), None
    )
    if elsewhere is not None:
        raise DeviceError(
            f"Expected all tensors to be on the same device, but found at least two devices, {target.device} and "
            f"{elsewhere.device}!"
        )
    window = _window.get()
    if window is not None and lowering.get() is not None:
        raise NotLoweredError("random numbers of a block")
    if target.device is meta:
        check_written(target, [number for number in numbers if isinstance(number, Tensor)], [])
        bump_version(target)
        if window is not None:
            window.taken += target.geometry.numel * (1 + target.dtype.is_complex)
        return target
    parts = real_and_imaginary(target) if target.dtype.is_complex else target
    rates = [cast(number, float64) if isinstance(number, Tensor) else number for number in numbers]
    if window is not None:
        window.fill(parts, distribution, rates)
        return target
    seed, place = source.advance(parts.geometry.numel)
    fill_by_index(parts, distribution, (seed, *rates), place)
    return target


def drop_randomly(input: Tensor, keep: float, scale: float) -> tuple[Tensor, Tensor] | None:
    """Multiply random elements by ``scale``, others by 0, in one kernel; return the result, and a mask of those kept.

    The mask is what ``fill_random_`` would draw for it. Return None, with nothing drawn, where several kernels are
    needed: for a backend whose kernels do not generate indices, and for a block of a larger tensor.

    Args:
        input: a contiguous tensor of floating-point numbers, of at least one element.
        keep: the probability of each element to be kept.
        scale: the factor.
    """
    form, device = input.geometry, input.device
    counts = device is not meta and has_compiler(device.type) and abilities(device.type).counts
    if not counts or _window.get() is not None or is_beyond(input):
        return None
    outputs = [new_tensor(geometry(dtype, device, form.shape, form.strides)) for dtype in (input.dtype, bool_)]
    seed, place = generator_for(device, None).advance(form.numel)
    limit = math.ceil(math.ldexp(keep, 53))  # a number of 53 bits is below keep * 2**53 if and only if below this
    function = dropped if input.dtype is float64 else dropped_single
    fill_together(outputs, function, (seed, input, limit, scale), place)
    return outputs[0], outputs[1]


def digits_of(dtype: DType, name: str) -> int:
    """Return the number of binary digits of a real floating-point dtype (its precision).

    Raises:
        UnsupportedDTypeError: the dtype is not a real floating-point one.
    """
    if not dtype.is_floating_point or dtype.is_stored_only:
        raise UnsupportedDTypeError(f"\"{name}\" not implemented for '{dtype.scalar_type}'")
    return DIGITS[dtype]
