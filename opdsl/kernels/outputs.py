"""Outputs of structured kernels: allocated, checked, resized, replaced by a temporary where needed, and copied back.

Everything is checked before anything is changed, so a call that raises leaves its arguments as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from opdsl.dispatch.state import current
from opdsl.dispatch.warning import warn
from opdsl.errors import DeviceError, KernelError, OverlapError, ReadOnlyError
from opdsl.runtime.device import Device, cpu
from opdsl.runtime.dtype import DType
from opdsl.runtime.geometry import TensorMeta, geometry, geometry_of
from opdsl.runtime.interchange import from_numpy
from opdsl.runtime.lowering import SymbolicArray, lowering
from opdsl.runtime.memory import device_memory
from opdsl.runtime.names import Names, set_names
from opdsl.runtime.overlap import Overlap, has_internal_overlap, overlap
from opdsl.runtime.storage import bump_version
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.tensor import Tensor
from opdsl.runtime.values import has_bits, stored
from opdsl.runtime.viewing import become, make_view, storage_size
from opdsl.runtime.views import View, required_storage


class OutputSpec(NamedTuple):
    """Specification of one output of an operator, as its shape function computes it.

    dtype, device, shape: of the output.
    strides: in elements, of a new or resized output.
    exact: whether the kernel needs these strides; otherwise it uses the strides of an ``out=`` tensor.
    names: of the dimensions; None for no names.
    """

    dtype: DType
    device: Device
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    exact: bool = False
    names: Names | None = None

    @property
    def geometry(self) -> TensorMeta:
        """Return the geometry of a new output with this specification."""
        inference = current.get().inference_mode
        return geometry(self.dtype, self.device, self.shape, self.strides, is_inference=inference)


def array_of(tensor: Tensor) -> Any:
    """Return the array of a tensor; None if the tensor has no memory.

    Raises:
        KernelError: the tensor is a conjugate or negative view whose memory has other values than the tensor.
    """
    if has_bits(tensor):
        raise KernelError(
            "the memory of a conjugate or negative view cannot be read directly. Call an operator on it, or "
            "x.resolve_conj().resolve_neg()."
        )
    return getattr(tensor, "array", None)


def tensor_over(array: Any, form: TensorMeta) -> Tensor:
    """Return a tensor with an array (None if it has no memory) and a geometry."""
    tensor = Tensor()
    if array is not None:
        tensor.array = array
    tensor.geometry = form
    tensor._writes = 0
    tensor._base = None
    return tensor


def table(values: numpy.ndarray[Any, Any]) -> Tensor:
    """Return a CPU tensor of constants that depend on sizes alone; plans of exact geometries keep it as a constant.

    The tensor must be neither written nor returned.
    """
    recorder = lowering.get()
    if recorder is None or not recorder.is_exact:
        return from_numpy(values)
    array, dtype = stored(values)
    return tensor_over(SymbolicArray(recorder.constant(array), array.dtype), geometry_of(array, dtype))


def new_tensor(form: TensorMeta, *, pinned: bool = False) -> Tensor:
    """Allocate a tensor with a geometry, not a view, its elements undefined.

    Args:
        form: the geometry.
        pinned: whether it is in page-locked memory of the host.

    Raises:
        DeviceError: pinned memory is requested without a CUDA device, or for another device than the CPU.
    """
    form = in_this_mode(form)
    if pinned:
        return tensor_over(_pinned_array(form), form)
    return tensor_over(device_memory(form.device).empty(form.shape, form.strides, form.dtype, form.device), form)


def in_this_mode(form: TensorMeta) -> TensorMeta:
    """Return the geometry that a new tensor gets: without conjugate and negative bits, and with the current inference
    mode.
    """
    inference = current.get().inference_mode
    if form.is_inference is inference and not (form.is_conj or form.is_neg):
        return form
    return form.replace(is_inference=inference, is_conj=False, is_neg=False)


def _pinned_array(form: TensorMeta) -> Any:
    if form.device is not cpu:
        raise DeviceError(f"Only dense CPU tensors can be pinned (got one on {form.device}).")
    return device_memory(Device("cuda")).empty_pinned(form.shape, form.strides, form.dtype)


def maker_for(form: TensorMeta) -> Callable[[], Any]:
    """Return a function without arguments that allocates the array of a new tensor with a geometry."""
    memory = device_memory(form.device)
    make = getattr(memory, "maker", None) or partial(partial, memory.empty)
    maker: Callable[[], Any] = make(form.shape, form.strides, form.dtype, form.device)
    return maker


def resize(
    tensor: Tensor,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    copy: Callable[[Tensor, Tensor], object] | None = None,
) -> None:
    """Change the shape of a tensor in place, keeping its memory where that is large enough, as in PyTorch.

    Otherwise the tensor gets new memory. PyTorch would enlarge memory that is shared with other tensors;
    these keep the old memory here.

    Args:
        tensor: of any shape.
        shape, strides: the new ones; contiguous strides by default.
        copy: writes its second argument into its first, so that new memory begins with the old elements; without it the
            elements of new memory are undefined.
    """
    form = tensor.geometry
    strides = contiguous_strides(shape) if strides is None else strides
    inside = place_inside(tensor, shape, strides)
    if inside is not None:
        become(tensor, inside)
        return
    output = new_tensor(form.replace(shape=shape, strides=strides, is_view=False))
    if copy is not None:
        kept = (storage_size(tensor) // form.dtype.itemsize - tensor.storage_offset(),)
        copy(make_view(output, kept, (1,)), make_view(tensor, kept, (1,)))
    tensor._base = None
    tensor.geometry = output.geometry
    if hasattr(output, "array"):
        tensor.array = tensor._memory = output.array


def place_inside(tensor: Tensor, shape: tuple[int, ...], strides: tuple[int, ...]) -> View | None:
    """Return the shape, strides and offset that a tensor has in its storage after resizing; None if the storage is too
    small.
    """
    place = View(shape, strides, tensor.storage_offset())
    fits = required_storage(*place) * tensor.geometry.dtype.itemsize <= storage_size(tensor)
    return place if fits else None


def as_resized(output: Tensor, shape: tuple[int, ...], strides: tuple[int, ...] | None = None) -> Tensor:
    """Return a view of the memory that ``output`` will have after a resize to ``shape``; ``output`` itself if its shape
    stays or it needs new memory.
    """
    if output.geometry.shape == shape:
        return output
    inside = place_inside(output, shape, contiguous_strides(shape) if strides is None else strides)
    return output if inside is None else make_view(output, *inside)


class restored_on_error:
    """Context manager that restores the shapes and the memory of tensors if its body raises.

    Args:
        tensors: those that may be resized.
    """

    __slots__ = ("_before",)

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._before = [(tensor, {name: getattr(tensor, name, _UNSET) for name in _RESIZED}) for tensor in tensors]

    def __enter__(self) -> None:
        """Do nothing: the constructor has saved the tensors."""

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        """Undo resizing if the body raised."""
        if kind is None:
            return
        for tensor, before in self._before:
            for name, value in before.items():
                if value is not _UNSET:
                    setattr(tensor, name, value)
                elif hasattr(tensor, name):
                    delattr(tensor, name)


# The attributes of a tensor that resizing changes, and a marker for attributes that a tensor lacks.
_RESIZED = ("geometry", "_base", "array", "_memory")
_UNSET = object()


class Target(NamedTuple):
    """Output of an ``out=`` or in-place call, with its specification.

    out: the tensor that the caller passed.
    spec: its required dtype, shape and strides.
    uses_proxy: whether the kernel fills a temporary that is copied back.
    """

    out: Tensor
    spec: OutputSpec
    uses_proxy: bool

    @property
    def resizes(self) -> bool:
        """Return whether the tensor has to be resized, as its shape differs from the specification."""
        return self.out.geometry.shape != self.spec.shape

    @property
    def form(self) -> TensorMeta:
        """Return the geometry of the tensor that the kernel fills."""
        if self.uses_proxy:
            return self.spec.geometry
        if self.resizes:
            return self.out.geometry.replace(shape=self.spec.shape, strides=self.spec.strides)
        return self.out.geometry

    def working(self) -> Tensor:
        """Return the tensor that the kernel fills, a temporary or the output itself; resize the output if necessary."""
        if self.resizes:
            _warn_of_resize(self.out, self.spec.shape)
            resize(self.out, self.spec.shape, self.spec.strides)
        return new_tensor(self.spec.geometry) if self.uses_proxy else self.out

    def finish(self, working: Tensor, copy: Callable[[Tensor, Tensor], object]) -> Tensor:
        """Return the output after the kernel has run: copy a temporary back, bump the version and set names."""
        if self.uses_proxy:
            copy(self.out, working)
        bump_version(self.out)
        return named(self.out, self.spec)


def named(tensor: Tensor, spec: OutputSpec) -> Tensor:
    """Set the dimension names of a result as its specification says, and return it."""
    if spec.names is not None:
        set_names(tensor, spec.names)
    return tensor


def resize_output(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    """Resize an ``out=`` tensor to the shape of the result, with a warning if it has elements
    (``at::native::resize_output``).

    Returns:
        Whether it had another shape.
    """
    if tensor.geometry.shape == shape:
        return False
    _warn_of_resize(tensor, shape)
    resize(tensor, shape)
    return True


def _warn_of_resize(resized: Tensor, shape: tuple[int, ...]) -> None:
    if resized.geometry.numel == 0:
        return
    warn(
        f"An output with one or more elements was resized since it had shape {list(resized.geometry.shape)}, which "
        f"does not match the required output shape {list(shape)}. This behavior is deprecated, and in a future PyTorch "
        "release outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor t "
        "by resizing it, inplace, to zero elements with t.resize_(0)."
    )


def check_read_only(output: Tensor) -> None:
    """Raise if a tensor's memory cannot be written.

    Raises:
        ReadOnlyError: the memory is that of a read-only array.
    """
    if output.geometry.read_only:
        raise ReadOnlyError(
            "the tensor shares the memory of a read-only array and cannot be written. Write to a copy, tensor.clone()."
        )


def check_written(output: Tensor, inputs: Sequence[Tensor], others: Sequence[Tensor]) -> bool:
    """Check that an output can be written without changing elements that are still to be read.

    Args:
        output: the tensor that will be written.
        inputs: the tensors that will be read.
        others: further outputs that will be written.

    Returns:
        Whether an input is the same memory, element for element.

    Raises:
        ReadOnlyError: the output's memory must not be written.
        OverlapError: elements of the output share memory with each other, or with other elements of an input.
    """
    check_read_only(output)
    if has_internal_overlap(output.geometry):
        raise OverlapError(
            "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
            "Please clone() the tensor before performing the operation."
        )
    relations = [overlap(output, input) for input in inputs]
    if Overlap.PARTIAL in relations or any(overlap(output, other) is not Overlap.NONE for other in others):
        raise OverlapError(
            "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single "
            "memory location. Please clone() the tensor before performing the operation."
        )
    return Overlap.FULL in relations


def check_device(output: Tensor, spec: OutputSpec) -> None:
    """Check that an output is on the device that the operator computes on.

    Raises:
        DeviceError: it is on another device.
    """
    if output.geometry.device is not spec.device:
        raise DeviceError(f"Expected out tensor to have device {spec.device}, but got {output.geometry.device} instead")
