"""Random number generators: a seed, and a position in the sequence of that seed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar

from opdsl.errors import ConversionError, DeviceError, OptionError
from opdsl.runtime.device import Device, cpu
from opdsl.runtime.forking import held_across_fork
from opdsl.runtime.lowering import lowering

if TYPE_CHECKING:
    from opdsl.runtime.tensor import Tensor

DEFAULT_SEED = 67280421310721
"""Seed of default generators until ``manual_seed`` is called; PyTorch chooses one at random instead
(``c10::detail::getNonDeterministicRandom``).
"""

_WORD = 1 << 64
_LARGEST = (1 << 63) - 1
_lock = held_across_fork(threading.RLock())


# A function that returns the seed and position for draws from a default generator, in place of the generator's.
drawn_from: ContextVar[Callable[[Device], tuple[int, int]] | None] = ContextVar("opdsl_drawn_from", default=None)


class Generator:
    """Random number generator: a seed, and the number of blocks of its sequence that have been used.

    The numbers are a function of seed and position alone (Philox4x32-10), so they depend neither on the number of
    threads nor on the layout of the tensor that they fill. Thread-safe: concurrent callers get different numbers.

    Args:
        device: the device of the tensors that it fills.

    >>> import opdsl
    >>> generator = opdsl.Generator().manual_seed(3)
    >>> first = opdsl.rand(2, generator=generator)
    >>> opdsl.rand(2, generator=generator.manual_seed(3)).tolist() == first.tolist()
    True
    """

    __schema_type__: ClassVar[str] = "Generator"
    __slots__ = ("_place", "_seed", "device")

    def __init__(self, device: Device | str = "cpu") -> None:
        self.device = Device(device) if isinstance(device, str) else device
        self._seed = DEFAULT_SEED
        self._place = 0

    def manual_seed(self, seed: int) -> Generator:
        """Set the seed, and start its sequence.

        Args:
            seed: from -2**63 to 2**64 - 1; a negative one denotes its two's complement.

        Returns:
            The generator itself.

        Raises:
            ConversionError: the seed is no int.
            OptionError: the seed does not fit 64 bits.
        """
        if not isinstance(seed, int):
            raise ConversionError(f"manual_seed expected a long, but got {type(seed).__name__}")
        if not -_WORD // 2 <= seed < _WORD:
            raise OptionError(f"Overflow when unpacking long long: a seed has at most 64 bits (got {seed})")
        with _lock:
            self._seed, self._place = seed % _WORD, 0
        return self

    def seed(self) -> int:
        """Set a seed chosen by the operating system, start its sequence, and return the seed.

        Returns:
            The seed.
        """
        chosen = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """Return the current seed."""
        return self._seed

    def advance(self, count: int) -> tuple[int, int]:
        """Reserve ``count`` blocks of the sequence; return the seed and the position of the first block as int64.

        Args:
            count: the number of blocks of four numbers.

        Returns:
            The seed, and the position of the first block.
        """
        recorder = lowering.get()
        if recorder is not None:  # each call of a plan reserves its own blocks
            words: Any = [
                recorder.size(variable, 0, None) for variable in recorder.run(self.advance, (count,), ["word", "word"])
            ]
            return words[0], words[1]
        elsewhere = drawn_from.get()
        if elsewhere is not None and self is _defaults.get(self.device.type):
            return elsewhere(self.device)
        source = sources.get(self.device.type)
        drawing = source() if source is not None else None
        return self.advanced(count) if drawing is None else drawing(self, count)

    def advanced(self, count: int) -> tuple[int, int]:
        """Reserve blocks like ``advance``, but always from this generator, even while calls are captured.

        Args:
            count: the number of blocks.

        Returns:
            The seed, and the position of the first block.
        """
        with _lock:
            seed, place = self._seed, self._place
            self._place = (place + count) % _WORD
        return seed if seed <= _LARGEST else seed - _WORD, place if place <= _LARGEST else place - _WORD

    def position(self) -> tuple[int, int]:
        """Return the seed and the position in its sequence."""
        with _lock:
            return self._seed, self._place

    def go_to(self, seed: int, place: int) -> None:
        """Restore a seed and position.

        Args:
            seed, place: the values that ``position`` returned.
        """
        with _lock:
            self._seed, self._place = seed, place

    def get_state(self) -> Tensor:
        """Return the state as a uint8 tensor of 16 bytes: the seed and the position."""
        import numpy

        from opdsl.runtime.interchange import from_numpy

        words = numpy.array(self.position(), dtype="<u8")
        return from_numpy(words.view(numpy.uint8))

    def set_state(self, state: Tensor) -> Generator:
        """Restore a state that ``get_state`` has returned.

        Args:
            state: the state.

        Returns:
            The generator.

        Raises:
            ConversionError: the state is no such tensor.
        """
        content = bytes(getattr(state, "tolist", list)()) if _is_state(state) else b""
        if len(content) != 16:
            raise ConversionError("set_state expected what get_state gives, a contiguous uint8 tensor of 16 bytes")
        self.go_to(int.from_bytes(content[:8], "little"), int.from_bytes(content[8:], "little"))
        return self

    def clone_state(self) -> Generator:
        """Return a new generator with the same seed and position."""
        clone_state = Generator(self.device)
        clone_state.go_to(*self.position())
        return clone_state

    def __repr__(self) -> str:
        return f"<Generator on {self.device}, seed {self._seed}, {self._place} blocks used>"


def _is_state(state: object) -> bool:
    from opdsl.runtime.dtype import uint8
    from opdsl.runtime.tensor import Tensor

    return isinstance(state, Tensor) and state.dtype is uint8 and state.device is cpu and state.ndim == 1


sources: dict[str, Callable[[], Callable[[Generator, int], tuple[int, int]] | None]] = {}
"""Functions by device type: while calls are captured, each returns a function that replaces ``Generator.advance``, else
None.
"""

_defaults: dict[str, Generator] = {}
_seed_of_new = DEFAULT_SEED


def default_generator(device: Device = cpu) -> Generator:
    """Return the generator that is used by default; there is one for each type of device.

    Args:
        device: the device whose generator is returned.

    >>> import opdsl
    >>> opdsl.default_generator() is opdsl.manual_seed(7)
    True
    """
    with _lock:
        default = _defaults.get(device.type)
        if default is None:
            default = _defaults[device.type] = Generator(device).manual_seed(_seed_of_new)
        return default


def generator_for(device: Device, generator: Generator | None) -> Generator:
    """Return the generator of a call: the given one, or the default one of the device.

    Raises:
        DeviceError: the generator is for another type of device.
    """
    if generator is None:
        return default_generator(device)
    if generator.device.type != device.type:
        raise DeviceError(
            f"Expected a '{device.type}' device type for generator but found '{generator.device.type}'. "
            f'Make one with Generator("{device.type}").'
        )
    return generator


def manual_seed(seed: int) -> Generator:
    """Set the seed of the default generator of every device, including generators that are created later.

    Args:
        seed: see ``Generator.manual_seed``.

    Returns:
        The generator of the CPU.

    Raises:
        ConversionError, OptionError: see ``Generator.manual_seed``.

    >>> import opdsl
    >>> _ = opdsl.manual_seed(7)
    >>> first = opdsl.rand(3)
    >>> _ = opdsl.manual_seed(7)
    >>> opdsl.rand(3).tolist() == first.tolist()
    True
    """
    global _seed_of_new
    cpu_generator = default_generator().manual_seed(seed)
    with _lock:
        _seed_of_new = seed
        others = [default for default in _defaults.values() if default is not cpu_generator]
    for generator in others:
        generator.manual_seed(seed)
    return cpu_generator


def initial_seed() -> int:
    """Return the seed of the CPU's default generator.

    >>> import opdsl
    >>> _ = opdsl.manual_seed(7)
    >>> opdsl.initial_seed()
    7
    """
    return default_generator().initial_seed()


def seed() -> int:
    """Set the seed of the CPU's default generator to one chosen by the operating system, and return it.

    Returns:
        The seed.

    >>> import opdsl
    >>> opdsl.seed() == opdsl.initial_seed()
    True
    """
    return default_generator().seed()


def get_rng_state() -> Tensor:
    """Return the state of the CPU's default generator.

    >>> import opdsl
    >>> state = opdsl.get_rng_state()
    >>> first = opdsl.rand(3)
    >>> opdsl.set_rng_state(state)
    >>> opdsl.rand(3).tolist() == first.tolist()
    True
    """
    return default_generator().get_state()


def set_rng_state(state: Tensor) -> None:
    """Restore a state of the CPU's default generator that ``get_rng_state`` has returned.

    Args:
        state: the state.

    Raises:
        ConversionError, OptionError: the argument is no state; nothing is changed then.

    >>> import opdsl
    >>> opdsl.set_rng_state(opdsl.get_rng_state())
    """
    default_generator().set_state(state)
