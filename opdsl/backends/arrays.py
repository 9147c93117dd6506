"""What the array of a tensor on a device is: a block of memory, and where in it the elements lie."""

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
    """The block of arrays without elements: nobody has to wait for anything."""

    address = 0
    size = 0
    stream = None
    cache = None
    buffer = None


NOTHING = _Nothing()


class DeviceArray:
    """Elements in the memory of a device.

    There is no ``__init__``: whoever makes one, plans among them, sets everything.

    block: the memory, which has an address and a size; ``NOTHING`` where there are no elements.
    address: of the first element, 0 where there is none.
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
        """The number of dimensions."""
        return len(self.shape)

    def __repr__(self) -> str:
        place = f"device {self.index}, {self.address:#x}"
        return f"DeviceArray({self.dtype.name}, {self.shape}, strides={self.strides}, {place})"


def over(
    block: Any, address: int, index: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType
) -> DeviceArray:
    """An array of given memory; strides in bytes."""
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
    """Another array over the same memory.

    Args:
        array: whose block is shared.
        shape: of the result.
        strides, offset: in elements of ``dtype``; the offset counts from the first element of ``array``.
        dtype: what the bytes are taken for.

    Raises:
        KernelError: it would leave the block.
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
    """A function that makes one view of every tensor of a geometry; it trusts that the view lies inside.

    Args:
        source: the geometry of the tensors.
        view: that of their views.
        offset: elements from the first one of the tensor to that of the view.
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
    """The address of the first element, 0 where there is none."""
    return array.address


def extent(array: Any) -> int:
    """Bytes from the first element to behind the last one; of NumPy's arrays too."""
    itemsize: int = array.dtype.itemsize
    return required_storage(array.shape, array.strides) - 1 + itemsize if 0 not in array.shape else 0


def elements(array: Any) -> tuple[int, ...]:
    """The strides of an array in elements; of NumPy's arrays too."""
    return tuple(step // array.dtype.itemsize for step in array.strides)


def copy_elements(source: DeviceArray, target: DeviceArray, device_type: str) -> None:
    """Copies element by element into an array of the same shape and dtype."""
    from opdsl.kernels.outputs import tensor_over
    from opdsl.kernels.primitives import copying
    from opdsl.runtime.geometry import geometry

    def tensor(array: DeviceArray) -> Any:
        device = Device(device_type, array.index)
        return tensor_over(array, geometry(array.dtype, device, array.shape, elements(array)))

    copying.copy_elements(tensor(target), tensor(source))
