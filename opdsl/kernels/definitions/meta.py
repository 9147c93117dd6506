"""Context in which a shape function declares the outputs of its operator."""

from __future__ import annotations

from collections.abc import Sequence

from opdsl.errors import KernelError
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.device import Device, MemoryFormat
from opdsl.runtime.dtype import DType
from opdsl.runtime.names import Names
from opdsl.runtime.strides import contiguous_strides, strides_for, to_size
from opdsl.runtime.tensor import Tensor


class MetaContext:
    """Context of a shape function, its first argument, on which it calls ``set_output`` once for each output.

    Args:
        operator: its name, for messages.
        count: how many outputs there are.
        tensors: the outputs that the caller passed, ``self`` of an in-place call.
        device: the default device of outputs.
    """

    __slots__ = ("_count", "_device", "_given", "_operator", "_promises")

    def __init__(self, operator: str, count: int, tensors: Sequence[Tensor | None], device: Device) -> None:
        self._operator = operator
        self._count = count
        self._given = tensors
        self._device = device
        self._promises: dict[int, OutputSpec] = {}

    def set_output(
        self,
        index: int,
        sizes: Sequence[int],
        strides: Sequence[int] | None = None,
        *,
        like: Tensor | None = None,
        dtype: DType | None = None,
        device: Device | None = None,
        memory_format: MemoryFormat | None = None,
        names: Sequence[str | None] | None = None,
    ) -> None:
        """Declare shape, dtype, device and strides of an output (RFC-0005).

        With ``strides`` or ``memory_format`` the kernel gets exactly these, whatever an ``out=`` has. Without, a new
        output is contiguous and a given one keeps its own.

        Args:
            index: which output.
            sizes: its shape.
            strides: in elements.
            like: a tensor of the same dtype and device.
            dtype, device: of the output, if they differ from those of ``like`` or there is no ``like``.
            memory_format: the order of the dimensions; ``preserve_format`` is that of ``like``.
            names: of the dimensions, None for one that has none; the result gets them.

        Raises:
            KernelError: there is no such output, it is set already, or its dtype or sizes are invalid.
        """
        shape = self._checked_shape(index, sizes)
        self._check_kinds(index, like=(like, Tensor), dtype=(dtype, DType), device=(device, Device))
        kind = dtype or (like.dtype if like is not None else None)
        if kind is None:
            raise self._error(f"output {index} has no dtype", "Give like= or dtype=")
        place = device or (like.device if like is not None else self._device)
        if strides is not None and memory_format is not None:
            raise self._error(f"output {index} has both strides and memory_format", "Give one of them")
        exact = self._strides(index, shape, strides, memory_format, like)
        self._promises[index] = OutputSpec(
            kind, place, shape, exact or contiguous_strides(shape), exact is not None, self._names(index, shape, names)
        )

    def maybe_get_output(self, index: int = 0) -> Tensor | None:
        """Return the output that the caller passed (``self`` of an in-place call); None if a new one is allocated.

        Raises:
            KernelError: there is no such output.
        """
        self._check_index(index)
        return self._given[index] if self._given else None

    @property
    def common(self) -> DType | None:
        """Return the dtype that operands are cast to, and outputs from; None if they are not cast."""
        return None

    def operands(self, arguments: tuple[object, ...]) -> tuple[object, ...]:
        """Return the values that out-kernels get for the arguments; subclasses may prepare them."""
        return arguments

    def _names(self, index: int, shape: tuple[int, ...], names: Sequence[str | None] | None) -> Names | None:
        if names is None or not any(names):
            return None
        texts = tuple(names)
        known = [text for text in texts if text is not None]
        if len(texts) != len(shape) or len(set(known)) < len(known):
            raise self._error(
                f"output {index} of shape {shape} has the names {texts}", "Give one name or None for each dimension"
            )
        return texts

    def specs(self, meta: str) -> tuple[OutputSpec, ...]:
        """Return the output specifications that the shape function has set, in order.

        Raises:
            KernelError: an output has not been set.
        """
        for index in range(self._count):
            if index not in self._promises:
                raise self._error(
                    f"the shape function {meta} has not set output {index} of {self._count}",
                    f"Call ctx.set_output({index}, sizes, like=...)",
                )
        return tuple(self._promises[index] for index in range(self._count))

    def require_same(self, specs: Sequence[OutputSpec]) -> None:
        """Check the outputs that a shape function has set, if any, against those that the scalar functions give.

        Args:
            specs: of the outputs.

        Raises:
            KernelError: they differ.
        """
        for index, promised in self._promises.items():
            spec = specs[index]
            strides = promised.strides if promised.exact else spec.strides
            if (*promised[:3], strides, promised.names) != (*spec[:3], spec.strides, spec.names):
                raise self._error(
                    f"the shape function sets output {index} to {_told(promised)}, but the scalar functions return "
                    f"{_told(spec)}",
                    "With scalar functions it only checks: remove set_output, or write an .out_kernel",
                )

    def _check_kinds(self, index: int, **options: tuple[object, type]) -> None:
        for option, (value, kind) in options.items():
            if value is not None and not isinstance(value, kind):
                raise self._error(f"output {index} has {option}={value!r}", f"Give a {kind.__name__}")

    def _checked_shape(self, index: int, sizes: Sequence[int]) -> tuple[int, ...]:
        self._check_index(index)
        if index in self._promises:
            raise self._error(f"output {index} is set twice", "Set each output once")
        try:
            shape = tuple(to_size(size) for size in sizes)
        except TypeError:
            raise self._error(f"output {index} has sizes {sizes!r}", "Sizes are ints") from None
        if any(size < 0 for size in shape):
            raise self._error(f"output {index} has a negative size: {shape}", "check() the arguments first")
        return shape

    def _check_index(self, index: int) -> None:
        if not 0 <= index < self._count:
            raise self._error(f"there is no output {index}", f"The operator has {self._count}, counted from 0")

    def _strides(
        self,
        index: int,
        shape: tuple[int, ...],
        strides: Sequence[int] | None,
        memory_format: MemoryFormat | None,
        like: Tensor | None,
    ) -> tuple[int, ...] | None:
        """Return the strides that the shape function requires; None if it requires none."""
        if memory_format is MemoryFormat.preserve_format and like is not None:
            same = like.shape == shape and like.geometry.is_non_overlapping_and_dense()
            return like.strides if same else contiguous_strides(shape)
        if memory_format is not None:
            return strides_for(shape, memory_format)
        if strides is None:
            return None
        try:
            exact = tuple(to_size(stride) for stride in strides)
        except TypeError:
            raise self._error(f"output {index} has strides {strides!r}", "Strides are ints") from None
        if len(exact) != len(shape) or any(stride < 0 for stride in exact):
            raise self._error(
                f"output {index} of shape {shape} has strides {exact}",
                "Give one stride that is not negative for each size",
            )
        return exact

    def _error(self, problem: str, remedy: str) -> KernelError:
        return KernelError(f"{self._operator}: {problem}. {remedy}.")


def _told(spec: OutputSpec) -> str:
    """Describe an output specification in a few words, for a message."""
    more = f", strides {spec.strides}" if spec.exact else ""
    names = f", names {spec.names}" if spec.names is not None else ""
    return f"{spec.dtype.name} of shape {spec.shape} on {spec.device}{more}{names}"
