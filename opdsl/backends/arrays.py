"""Arrays in device memory: a memory block, the address of the first element, shape, strides and dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opdsl.errors import KernelError
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import DType
from opdsl.runtime.storage import base_for_view
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.views import required_storage

if TYPE_CHECKING:
    from opdsl.runtime.geometry import TensorMeta

__all__ = ["NOTHING", "DeviceArray", "address", "copy_elements", "elements", "extent", "over", "view", "viewer"]


class _Nothing:
    """Memory block of arrays without elements: it has no address and no stream to synchronize with."""

    address = 0
    size = 0
    stream = None
    cache = None
    buffer = None


NOTHING = _Nothing()


class DeviceArray:
    """Strided array in the memory of a device, the counterpart of a NumPy array.

    There is no ``__init__``: the code that creates an instance (``over``, compiled plans) sets every field.

    block: the memory, an object with an address and a size in bytes; ``NOTHING`` if the array has no elements.
    address: of the first element; 0 if there are no elements.
    index: of the device.
    shape: sizes.
    strides: in bytes.
    dtype: of the elements.
    """

    __slots__ = ("address", "block", "dtype", "index", "shape", "strides")

    address: int
    block: Any
    dtype: DType
    index: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        place = f"device {self.index}, {self.address:#x}"
        return f"DeviceArray({self.dtype.name}, {self.shape}, strides={self.strides}, {place})"


def over(
    block: Any, address: int, index: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType
) -> DeviceArray:
    """Create a ``DeviceArray`` over existing memory; the strides are in bytes."""
    array = DeviceArray()
    array.block = block
    array.address = address
    array.index = index
    array.shape = shape
    array.strides = strides
    array.dtype = dtype
    return array


def view(
    array: DeviceArray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType
) -> DeviceArray:
    """Return a view of an array, which shares its memory block, with another shape, strides, offset and dtype.

    Args:
        array: whose block is shared.
        shape: of the result.
        strides, offset: in elements of ``dtype``; the offset counts from the first element of ``array``.
        dtype: as which the bytes are interpreted; nothing is converted.

    Raises:
        KernelError: the view would leave the block.
    """
    steps = tuple(stride * dtype.itemsize for stride in strides)
    size = required_storage(shape, strides) * dtype.itemsize
    if size == 0:
        return over(NOTHING, 0, array.index, shape, steps, dtype)
    first, block = array.address + offset * dtype.itemsize, array.block
    if first < block.address or first + size > block.address + block.size:
        raise KernelError(
            f"a view of shape {shape} and strides {strides} at byte {first - block.address} leaves its storage of "
            f"{block.size} bytes"
        )
    return over(block, first, array.index, shape, steps, dtype)


def viewer(source: TensorMeta, view: TensorMeta, offset: int) -> Callable[[Tensor], Tensor]:
    """Return a function that creates a fixed view of any tensor with a given geometry, without a bounds check.

    Args:
        source: the geometry of the tensors.
        view: the geometry of the views.
        offset: elements from the first one of the tensor to the first one of the view.
    """
    size = view.dtype.itemsize
    begin, shape = offset * size, view.shape
    steps = tuple(stride * size for stride in view.strides)
    dtype, has_elements = view.dtype, view.numel > 0

    def make(tensor: Tensor) -> Tensor:
        array: DeviceArray = tensor.array
        output = Tensor()
        output.array = over(
            array.block if has_elements else NOTHING,
            array.address + begin if has_elements else 0,
            array.index,
            shape,
            steps,
            dtype,
        )
        output.geometry = view
        output._writes = 0
        output._base = base_for_view(tensor)
        return output

    return make


def address(array: DeviceArray) -> int:
    """Return the address of the first element, or 0 if the array has no elements."""
    return array.address


def extent(array: Any) -> int:
    """Return the bytes from the first element to the end of the last one, of a device array or a NumPy array."""
    itemsize: int = array.dtype.itemsize
    return required_storage(array.shape, array.strides) - 1 + itemsize if 0 not in array.shape else 0


def elements(array: Any) -> tuple[int, ...]:
    """Return the strides of a device array or a NumPy array in elements instead of bytes."""
    return tuple(step // array.dtype.itemsize for step in array.strides)


def copy_elements(source: DeviceArray, target: DeviceArray, device_type: str) -> None:
    """Copy the elements of an array into another one of equal shape and dtype, by a kernel of the device."""
    from opdsl.kernels.outputs import tensor_over
    from opdsl.kernels.primitives import copying
    from opdsl.runtime.geometry import geometry

    def tensor(array: DeviceArray) -> Any:
        device = Device(device_type, array.index)
        return tensor_over(array, geometry(array.dtype, device, array.shape, elements(array)))

    copying.copy_elements(tensor(target), tensor(source))
