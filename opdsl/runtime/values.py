"""Access to the elements of a tensor as Python numbers and NumPy arrays, for methods of ``Tensor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opdsl.errors import (
    ConversionError,
    DTypeError,
    InterchangeError,
    MissingDependencyError,
    NoElementsError,
    OpdslError,
    RequiresGradError,
)
from opdsl.runtime.device import backends
from opdsl.runtime.dtype import BY_NUMPY, DType, to_dtype
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import SymbolicArray
from opdsl.runtime.memory import device_memory
from opdsl.runtime.tensor_base import TensorBase
from opdsl.runtime.views import required_storage
from opdsl.scalar.narrow_values import widen

_Array = numpy.ndarray[Any, Any]


def _first_address_of(array: object) -> int:
    global first_address
    first_address = backends.load("cpu", "memory").address_reader()  # type: ignore[attr-defined]
    return first_address(array)


first_address: Callable[[object], int] = _first_address_of
"""Function that returns the address of the first element of a CPU array, or 0 if the array has no memory; it raises
TypeError for other objects.
"""


def address(tensor: TensorBase) -> int:
    """Return the address of a tensor's first element; 0 on meta, and a unique number during lowering."""
    if type(getattr(tensor, "array", None)) is SymbolicArray:
        # a unique number: all that is known is that it differs from the addresses of other arrays
        return id(tensor.array)
    if tensor.geometry.device.type == "cpu":
        return _address_of(tensor.array)
    if tensor.geometry.device.type == "meta":
        return 0
    return device_memory(tensor.geometry.device).address(tensor.array)


def _address_of(array: _Array) -> int:
    """Return the address of an array's first element, or, without elements, of its memory."""
    return first_address(array) or array.__array_interface__["data"][0]


def owner_of(array: _Array) -> _Array:
    """Return the array that owns the memory of an array, at the end of its chain of bases."""
    while True:
        base = getattr(array.base, "_owner", array.base)
        if not isinstance(base, numpy.ndarray):
            return array
        array = base


def memory_of(root: TensorBase) -> _Array:
    """Return the array of the whole memory of a CPU tensor that owns it."""
    memory: _Array = getattr(root, "_memory", root.array)
    return memory


def storage_begin(tensor: TensorBase, root: TensorBase) -> int:
    """Return the address of the memory that contains a tensor's elements.

    It is that of the root, unless the root got other memory (an ``out=`` that was resized) after the view was made.
    """
    if tensor.geometry.device.type != "cpu":
        return address(root)
    memory = memory_of(root)
    begin = _address_of(memory)
    if tensor.array.base is memory or begin <= address(tensor) <= begin + extent(memory):
        return begin
    return _address_of(owner_of(tensor.array))


def extent(array: _Array) -> int:
    """Return the number of bytes from the first to the last byte of an array."""
    return required_storage(array.shape, array.strides) - 1 + array.itemsize if array.size else 0


def host_array(tensor: TensorBase) -> _Array:
    """Return the elements in the storage dtype, in host memory; shared for a tensor on the CPU.

    Raises:
        NoElementsError: a meta tensor has no elements.
    """
    form = tensor.geometry
    if form.device.type == "meta":
        raise NoElementsError("Cannot copy out of meta tensor; no data!")
    array: _Array = tensor.array if form.device.type == "cpu" else device_memory(form.device).to_host(tensor.array)
    return _resolved(array, form) if has_bits(tensor) else array


def has_bits(tensor: TensorBase) -> bool:
    """Return whether a tensor has its conjugate or negative bit set."""
    return tensor.geometry.is_conj or tensor.geometry.is_neg


def _resolved(array: _Array, form: TensorMeta) -> _Array:
    """Return an array with the conjugate and negative bits of a geometry applied to its elements."""
    if form.is_conj:
        array = numpy.conjugate(array)
    if form.is_neg:
        array = array ^ _sign(form.dtype) if form.dtype.is_encoded else numpy.negative(array)
    return numpy.asarray(array)  # for a zero-dim array NumPy returns a scalar


def _sign(dtype: DType) -> numpy.generic:
    """Return the sign bit of the stored elements of a dtype that NumPy lacks."""
    return dtype.numpy.type(1 << 8 * dtype.itemsize - 1)


def require_no_bits(tensor: TensorBase, call: str) -> None:
    """Check that a tensor's memory can be shared: its conjugate and negative bits must not be set.

    Raises:
        InterchangeError: one of the bits is set.
    """
    for is_set, bit, remedy in (
        (tensor.geometry.is_conj, "conjugate", "resolve_conj"),
        (tensor.geometry.is_neg, "negative", "resolve_neg"),
    ):
        if is_set:
            raise InterchangeError(
                f"Can't call {call} on Tensor that has {bit} bit set. Use tensor.{remedy}().{call} instead."
            )


def readable(tensor: TensorBase, method: str) -> _Array:
    """Return the elements of a tensor as a NumPy array that Python can read, of float32 if NumPy lacks the dtype;
    ``method`` is the name of the calling Tensor method, for the error message.

    Raises:
        ConversionError: a meta tensor has no elements.
    """
    if tensor.geometry.device.type == "meta":
        raise ConversionError(f"Tensor.{method}() cannot be called on meta tensors: they have no data")
    array = host_array(tensor)
    dtype = tensor.geometry.dtype
    return widen(array, dtype.name) if dtype.is_encoded else array


def single_item(tensor: TensorBase) -> bool | int | float | complex:
    """Return the value of a tensor with one element.

    Raises:
        ConversionError: it has more or fewer than one element.
    """
    if tensor.geometry.numel != 1:
        raise ConversionError(
            f"only one element tensors can be converted to Python scalars (got {tensor.geometry.numel} elements)"
        )
    number: bool | int | float | complex = readable(tensor, "item").item()
    return number


def real_item(tensor: TensorBase, target: str) -> bool | int | float:
    """Return the value of a tensor with one element as a real number.

    Raises:
        ConversionError: it does not have exactly one element, or its imaginary part is not 0.
    """
    value = single_item(tensor)
    if isinstance(value, complex):
        if value.imag != 0:
            raise ConversionError(f"value {value} cannot be converted to type {target} without overflow")
        return value.real
    return value


_answers: list[Callable[[], bool]] = []


def ask_autograd(is_followed: Callable[[], bool]) -> None:
    """Register a function that returns whether autograd records operations at present."""
    _answers.append(is_followed)


def refuse_gradient(tensor: TensorBase, call: str, error: type[OpdslError] = RequiresGradError) -> None:
    """Raise ``error`` if a call would lose the gradient of a tensor that requires grad."""
    if tensor.geometry.requires_grad and all(is_followed() for is_followed in _answers):
        raise error(f"Can't call {call} on Tensor that requires grad. Use tensor.detach() first.")


def numpy_array(tensor: TensorBase, force: bool, *, may_copy: bool = False) -> _Array:
    """Return the elements as a NumPy array, see ``Tensor.numpy``; ``may_copy`` allows copies for set bits."""
    kind = tensor.geometry.device.type
    if not force:
        refuse_gradient(tensor, "numpy()")
        if not may_copy:
            require_no_bits(tensor, "numpy()")
    if kind == "meta" or (kind != "cpu" and not force):
        raise InterchangeError(
            f"can't convert {kind} device type tensor to numpy. "
            "Use Tensor.cpu() to copy the tensor to host memory first."
        )
    array = host_array(tensor)
    if not tensor.geometry.dtype.is_encoded:
        return array
    try:
        return array.view(tensor.geometry.dtype.__numpy_dtype__)
    except AttributeError as error:
        raise InterchangeError(f"{error} or convert with .to(opdsl.float32) first.") from error


def arrow_array(tensor: TensorBase, type: object) -> Any:
    """Return the elements of a one-dimensional tensor as an Arrow array.

    Raises:
        MissingDependencyError: pyarrow is not installed.
        InterchangeError: it is not on the CPU, requires gradients, or has not one dimension.
    """
    try:
        import pyarrow
    except ImportError:
        raise MissingDependencyError("pyarrow is not installed. Install it with: pip install pyarrow") from None
    if tensor.geometry.ndim != 1:
        raise InterchangeError(
            f"an array of Arrow has one dimension (got a tensor of shape {tensor.geometry.shape}). Pass its columns "
            "one by one, or x.flatten()."
        )
    return pyarrow.array(numpy_array(tensor, False), type=type)


def stored(array: _Array) -> tuple[_Array, DType]:
    """Return a NumPy array in the storage dtype, and the tensor's dtype.

    Raises:
        InterchangeError: the array has another byte order than the machine, or an unsupported dtype.
    """
    known = BY_NUMPY.get(array.dtype) if type(array) is numpy.ndarray else None
    if known is not None:
        return array, known
    if not array.dtype.isnative:
        raise InterchangeError(
            f"an array of dtype {array.dtype} does not have the machine's byte order. Convert it first with "
            f"array.astype({array.dtype.newbyteorder('=').str!r})."
        )
    try:
        dtype = to_dtype(array.dtype)
    except DTypeError as error:
        raise InterchangeError(
            f"can't convert np.ndarray of type {array.dtype}. Convert it first with array.astype(...): {error}"
        ) from error
    # A subclass could change the meaning of elements (a mask, a unit), and would pass on to every view.
    plain = numpy.asarray(array)
    return (plain.view(dtype.numpy) if dtype.is_encoded else plain), dtype
