"""Class ``Tensor``: an array, its geometry, and the methods of PyTorch's tensor that need no operator."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Collection
from types import EllipsisType, ModuleType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, SupportsIndex, overload

import numpy

import opdsl.runtime.dlpack as dlpack
import opdsl.runtime.representation as representation
import opdsl.runtime.values as values
from opdsl.errors import ConversionError, DeviceError, DimensionError, InterchangeError, RequiresGradError
from opdsl.runtime.device import Device, Layout, MemoryFormat
from opdsl.runtime.differentiable import Differentiable
from opdsl.runtime.dtype import DType, to_dtype
from opdsl.runtime.geometry import geometry, geometry_of
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.lowering import SymbolicArray, layout_watchers, report_layout
from opdsl.runtime.memory import device_memory
from opdsl.runtime.storage import storage_root, version_of
from opdsl.runtime.strides import byte_strides, contiguous_strides, is_non_overlapping_and_dense, wrap_dimension

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = numpy.ndarray

_CONTIGUOUS = MemoryFormat.contiguous_format

# Aliases, since the name numpy is a method inside of Tensor.
_NumpyArray = numpy.ndarray[Any, Any]
_NumpyDType = numpy.dtype[Any]
# Elements in memory order or None, dtype, device, shape, strides, requires_grad.
_Parts = tuple[_NumpyArray | None, DType, Device, tuple[int, ...], tuple[int, ...], bool]


class Tensor(Differentiable):
    """Tensor. Make one with ``opdsl.tensor``, ``opdsl.from_numpy`` or an operator; ``Tensor()`` has no data.

    ``array`` has the elements, on the CPU as a ``numpy.ndarray``; ``geometry`` has dtype, device, shape and strides.

    >>> import opdsl
    >>> x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, x.device, (x @ x).sum().item()
    ((2, 2), opdsl.float32, device(type='cpu'), 54.0)
    """

    __slots__ = ()

    __schema_type__: ClassVar[str] = "Tensor"

    # Makes NumPy leave ``ndarray + tensor`` to ``Tensor.__radd__``.
    __array_priority__: ClassVar[float] = 1000.0

    # The operator library installs these methods: until then __len__ with __getitem__ would make every tensor iterable.
    __iter__: ClassVar[Any] = None
    __contains__: ClassVar[Any] = None

    __hash__ = object.__hash__

    if TYPE_CHECKING:
        # The operator library installs these methods; their parameters are in the operators' schemas.
        def __getattr__(self, name: str) -> Callable[..., Tensor]: ...
        def __add__(self, other: object) -> Tensor: ...
        def __radd__(self, other: object) -> Tensor: ...
        def __sub__(self, other: object) -> Tensor: ...
        def __rsub__(self, other: object) -> Tensor: ...
        def __mul__(self, other: object) -> Tensor: ...
        def __rmul__(self, other: object) -> Tensor: ...
        def __truediv__(self, other: object) -> Tensor: ...
        def __rtruediv__(self, other: object) -> Tensor: ...
        def __matmul__(self, other: Tensor) -> Tensor: ...
        def __floordiv__(self, other: object) -> Tensor: ...
        def __mod__(self, other: object) -> Tensor: ...
        def __pow__(self, other: object) -> Tensor: ...
        def __rpow__(self, other: object) -> Tensor: ...
        def __and__(self, other: object) -> Tensor: ...
        def __or__(self, other: object) -> Tensor: ...
        def __xor__(self, other: object) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, index: Index) -> Tensor: ...
        def __setitem__(self, index: Index, value: object) -> None: ...
        def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
        def __lt__(self, other: object) -> Tensor: ...
        def __le__(self, other: object) -> Tensor: ...
        def __gt__(self, other: object) -> Tensor: ...
        def __ge__(self, other: object) -> Tensor: ...

    def __class_getitem__(cls, item: object) -> object:
        """Return ``Annotated[Tensor, Alias("a")]`` for ``Tensor[Alias("a")]``."""
        return Annotated[cls, item]

    # ------------------------------------------------------------------------------------------- properties

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of the dimensions."""
        return self.geometry.shape

    @property
    def names(self) -> tuple[str | None, ...]:
        """Return the names of the dimensions, with None for unnamed ones."""
        from opdsl.runtime.names import names_of

        return names_of(self)

    @property
    def strides(self) -> tuple[int, ...]:
        """Return the strides of the dimensions, in elements."""
        if layout_watchers:
            report_layout()
        return self.geometry.strides

    @property
    def dtype(self) -> DType:
        """Return the dtype of the elements."""
        return self.geometry.dtype

    @property
    def device(self) -> Device:
        """Return the device on which the tensor is stored."""
        return self.geometry.device

    @property
    def layout(self) -> Layout:
        """Return the layout, which is always strided."""
        return self.geometry.layout

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return self.geometry.ndim

    @property
    def itemsize(self) -> int:
        """Return the size of one element in bytes."""
        return self.geometry.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Return the size of all elements in bytes."""
        return self.geometry.numel * self.geometry.dtype.itemsize

    @property
    def is_cpu(self) -> bool:
        """Return whether the tensor is on the CPU."""
        return self.geometry.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Return whether the tensor is on a CUDA device."""
        return self.geometry.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Return whether the tensor is on the meta device, and so has a geometry but no elements."""
        return self.geometry.device.type == "meta"

    @property
    def is_sparse(self) -> bool:
        """Return False: all tensors are strided."""
        return False

    @property
    def is_quantized(self) -> bool:
        """Return False: quantized dtypes are not supported."""
        return False

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.geometry.ndim

    ndimension = dim

    def numel(self) -> int:
        """Return the number of elements."""
        return self.geometry.numel

    nelement = numel

    @overload
    def size(self, dim: None = None) -> tuple[int, ...]: ...

    @overload
    def size(self, dim: int) -> int: ...

    def size(self, dim: int | None = None) -> tuple[int, ...] | int:
        """Return all sizes as a tuple, or the size of one dimension.

        Args:
            dim: the dimension; None for all.

        Raises:
            DimensionError: there is no such dimension.
        """
        sizes = self.geometry.shape
        return sizes if dim is None else sizes[_dimension_of_values(dim, sizes)]

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...

    @overload
    def stride(self, dim: int) -> int: ...

    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """Return all strides in elements as a tuple, or the stride of one dimension.

        Args:
            dim: the dimension; None for all.

        Raises:
            DimensionError: there is no such dimension.
        """
        if layout_watchers:
            report_layout()
        strides = self.geometry.strides
        return strides if dim is None else strides[_dimension_of_values(dim, strides)]

    def element_size(self) -> int:
        """Return the size of one element in bytes."""
        return self.geometry.dtype.itemsize

    def get_device(self) -> int:
        """Return the index of the tensor's device, -1 if it has none."""
        index = self.geometry.device.index
        return -1 if index is None else index

    def is_contiguous(self, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> bool:
        """Return whether the elements have no gaps in memory, in the order of a memory format.

        Args:
            memory_format: ``opdsl.contiguous_format``, where the last dimension is the innermost, or
                ``opdsl.channels_last``.
        """
        if layout_watchers:
            report_layout()
        if memory_format is _CONTIGUOUS and self.geometry._contiguous:
            return True
        return self.geometry.is_contiguous(memory_format)

    def is_floating_point(self) -> bool:
        """Return whether the dtype is a real floating-point dtype."""
        return self.geometry.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Return whether the dtype is complex."""
        return self.geometry.dtype.is_complex

    def is_signed(self) -> bool:
        """Return whether the dtype can represent negative values."""
        return self.geometry.dtype.is_signed

    def _is_view(self) -> bool:
        return self.geometry.is_tracked_view

    @property
    def _version(self) -> int:
        """Return how often the memory has been written, through this tensor or tensors that share its history.

        Raises:
            RequiresGradError: the tensor was made in inference mode, in which writes are not counted.
        """
        if self.geometry.is_inference:
            raise RequiresGradError("Inference tensors do not track version counter.")
        return version_of(self)

    def data_ptr(self) -> int:
        """Return the address of the first element; 0 if the tensor has no elements or no memory."""
        try:
            return values.first_address(self.array)
        except (AttributeError, TypeError):  # an array of another device
            return values.address(self) if self.geometry.numel else 0

    def storage_offset(self) -> int:
        """Return the offset of the first element in the tensor's storage, in elements."""
        if self.geometry.device.type == "meta":
            return getattr(self, "array", _NO_OFFSET).offset
        base, array = self._base, self.array
        if base is not None and type(array) is numpy.ndarray:
            whole = base.array
            # An array that owns its memory shows all of it.
            if whole.base is None and array.base is whole and array.size:
                return (values.first_address(array) - values.first_address(whole)) // self.geometry.dtype.itemsize
        elif base is None and not hasattr(self, "_memory"):
            return 0
        elif type(array) is SymbolicArray:
            offset: int = array.offset
            return offset
        return (values.address(self) - values.storage_begin(self, storage_root(self))) // self.geometry.dtype.itemsize

    # --------------------------------------------------------------------------------------- Python values

    def item(self) -> bool | int | float | complex:
        """Return the value of a tensor with one element as a Python number.

        Raises:
            ConversionError: the tensor has more or fewer than one element, or no data.
        """
        if self.geometry.numel != 1:
            raise ConversionError(f"a Tensor with {self.geometry.numel} elements cannot be converted to Scalar")
        number: bool | int | float | complex = values.readable(self, "item").item()
        return number

    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers, or as one number if there are no dimensions.

        Raises:
            ConversionError: the tensor has no data (meta).
        """
        return values.readable(self, "tolist").tolist()

    def __len__(self) -> int:
        if self.geometry.ndim == 0:
            raise ConversionError("len() of a 0-d tensor")
        return self.geometry.shape[0]

    def __bool__(self) -> bool:
        if self.geometry.numel == 1:
            return bool(values.readable(self, "item").item())
        count = "no values" if self.geometry.numel == 0 else "more than one value"
        raise ConversionError(f"Boolean value of Tensor with {count} is ambiguous")

    def __int__(self) -> int:
        return int(values.real_item(self, "int"))

    def __float__(self) -> float:
        return float(values.real_item(self, "float"))

    def __complex__(self) -> complex:
        return complex(values.single_item(self))

    def __index__(self) -> int:
        dtype = self.geometry.dtype
        if self.geometry.numel != 1 or dtype.is_floating_point or dtype.is_complex:
            raise ConversionError("only integer tensors of a single element can be converted to an index")
        return int(values.real_item(self, "int"))

    # ----------------------------------------------------------------------------------------- interchange

    def numpy(self, *, force: bool = False) -> _NumpyArray:
        """Return the elements as a NumPy array that shares the tensor's memory.

        Args:
            force: whether to copy to the host if the memory cannot be shared, and to drop the gradient.

        Raises:
            InterchangeError: the tensor is not on the CPU, requires gradients, or is bfloat16 without ml_dtypes.
        """
        return values.numpy_array(self, force)

    def __array__(self, dtype: _NumpyDType | None = None, copy: bool | None = None) -> _NumpyArray:
        shared = values.numpy_array(self, False, may_copy=copy is not False)
        if dtype is not None and dtype != shared.dtype:
            if copy is False:
                raise InterchangeError(
                    f"a tensor of {self.dtype} becomes an array of {dtype} by a copy only (got copy=False)"
                )
            return shared.astype(dtype)
        return shared.copy() if copy else shared

    def __arrow_array__(self, type: object = None) -> Any:
        """Return a one-dimensional tensor as an Arrow array, for ``pyarrow.array(x)``; without a copy if possible."""
        return values.arrow_array(self, type)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Export a one-dimensional tensor by Arrow's C protocol, for polars and others: ``polars.Series(x)``."""
        return values.arrow_array(self, None).__arrow_c_array__(requested_schema)

    def __array_wrap__(self, array: _NumpyArray, context: object = None, return_scalar: bool = False) -> Tensor:
        """Return the result of a NumPy function, such as ``numpy.sin(x)``, as a tensor over NumPy's array."""
        return wrap(*values.stored(array))

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Collection[type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """Call a NumPy function on tensors: those in ``opdsl.array_api`` return tensors, others compute with arrays.

        >>> import numpy, opdsl
        >>> numpy.concatenate([opdsl.ones(1), opdsl.zeros(2)])
        tensor([1., 0., 0.])
        """
        return importlib.import_module("opdsl.array_api.numpy_functions").call(function, types, args, kwargs)

    def astype(self, dtype: DType | _NumpyDType | type | str, copy: bool = True) -> Tensor:
        """Return the elements as another dtype: NumPy's name for ``to``, used by other libraries.

        Args:
            dtype: a dtype of opdsl, or anything that NumPy accepts as one.
            copy: whether the result is a copy even if nothing changes.

        Raises:
            DTypeError: there is no such dtype.

        >>> import numpy, opdsl
        >>> opdsl.tensor([1.5, -2.5]).astype(numpy.int64)
        tensor([ 1, -2])
        """
        return self.to(dtype if isinstance(dtype, DType) else to_dtype(numpy.dtype(dtype)), copy=copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Return the CUDA Array Interface (version 3), by which numba, cupy and torch share a CUDA tensor's memory.

        Raises:
            AttributeError: the tensor is on another device.
            InterchangeError: the tensor is bfloat16, or requires gradients.
        """
        if not self.is_cuda:
            raise AttributeError(
                f"a tensor on {self.geometry.device} has no __cuda_array_interface__. Move it: x.cuda()."
            )
        values.refuse_gradient(self, "__cuda_array_interface__", InterchangeError)
        values.require_no_bits(self, "__cuda_array_interface__")
        return device_memory(self.geometry.device).array_interface(self.array)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return DLPack's pair ``(device type, index)`` for the tensor's device."""
        return dlpack.device_of(self.geometry.device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Return a DLPack capsule that shares the tensor's memory (or a copy of it with ``copy=True``).

        Raises:
            InterchangeError: it cannot be exported that way; the message shows the remedy.
        """
        values.refuse_gradient(self, "__dlpack__()", InterchangeError)
        values.require_no_bits(self, "__dlpack__()")
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return ``opdsl.array_api``, the functions of the array API standard for tensors.

        Args:
            api_version: the version of the standard; the latest supported one by default.

        Raises:
            OptionError: the version is not supported; it is a ValueError.

        >>> import opdsl
        >>> x = opdsl.ones(3)
        >>> x.__array_namespace__().cumulative_sum(x)
        tensor([1., 2., 3.])
        """
        module: ModuleType = importlib.import_module("opdsl.array_api").namespace(api_version)
        return module

    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """Return the tensor on another device; the tensor itself if it is on that device.

        Args:
            device: the target device.
            stream: None; use ``with opdsl.cuda.stream(s)`` to copy on a stream.

        Raises:
            DeviceError: there is no such device, or a stream is given.
        """
        if stream is not None:
            raise DeviceError("to_device takes no stream. Set it around the call: with opdsl.cuda.stream(s): ...")
        return self.to(Device(device))

    # --------------------------------------------------------------------------------- first-class dimensions

    def order(self, *dims: object) -> Tensor:
        """Return the tensor itself; for a value over dims (``opdsl.dims``), make the dims positional dimensions.

        Args:
            dims: dims, tuples of dims that become one dimension, and ``...`` for the positional ones; for a plain
                tensor only ``...`` is allowed.

        Raises:
            DimError: a dim is listed that the value does not vary along, or ``...`` is missing.

        >>> import opdsl
        >>> i = opdsl.dim()
        >>> opdsl.arange(3)[i].square().sum(i).order()
        tensor(5)
        """
        ordered: Tensor = importlib.import_module("opdsl.formulas.dim_order").order(self, dims)
        return ordered

    def outside(self, what: object) -> Readable:
        """Return the tensor with a rule for out-of-bounds reads (padding), to be indexed once at computed positions.

        Args:
            what: a number; ``"replicate"``, ``"reflect"`` or ``"circular"``, which read at another position inside;
                ``"skip"``, for which folds leave the element out; or a mapping to these by dimension.

        Raises:
            OptionError: ``what`` is none of these.

        >>> import opdsl
        >>> i = opdsl.dim(range(5))
        >>> opdsl.tensor([1, 2, 3]).outside(0)[i - 1].order(i)
        tensor([0, 1, 2, 3, 0])
        """
        readable: Readable = importlib.import_module("opdsl.formulas.dim_reads").Outside(self, what)
        return readable

    # ----------------------------------------------------------------------------------- printing, copying

    def __repr__(self) -> str:
        return representation.representation(self)

    def _repr_html_(self) -> str:
        from opdsl.runtime.html import tensor_html

        return tensor_html(self)

    def __format__(self, specification: str) -> str:
        if self.geometry.ndim == 0 and not self.is_meta:
            return format(self.item(), specification)
        return object.__format__(self, specification)

    def __copy__(self) -> Tensor:
        tensor = Tensor()
        root = storage_root(self)
        if hasattr(self, "array"):
            tensor.array = self.array
        tensor.geometry = self.geometry.replace(is_view=True, is_inference=False, requires_grad=False)
        tensor._writes = 0
        tensor._base = root
        return tensor.requires_grad_() if self.requires_grad else tensor

    def __deepcopy__(self, memo: dict[int, object]) -> Tensor:
        if not self.is_leaf:
            raise RequiresGradError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the "
                "moment. Copy the elements: x.detach().clone()."
            )
        memo[id(self)] = copied = _rebuild(*_parts(self))
        if self.requires_grad and self.grad is not None:
            copied.grad = copy.deepcopy(self.grad, memo)
        return copied

    def __reduce_ex__(self, protocol: object) -> tuple[object, _Parts]:
        return _rebuild, _parts(self)


Index = SupportsIndex | slice | EllipsisType | Tensor | Array | range | list[Any] | tuple[Any, ...] | None
"""Subscript of a tensor. A tuple contains such subscripts; a list contains subscripts or numbers."""


class Readable(Protocol):
    """Protocol of objects that can be indexed like a tensor, to read elements."""

    def __getitem__(self, index: Index) -> Tensor: ...


class MetaArray:
    """Array of a meta tensor whose first element is not at the beginning of its storage; it only has the offset."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset


_NO_OFFSET = MetaArray(0)


class _DeviceOf(type):
    """Metaclass whose ``isinstance`` check tests a tensor's device type."""

    device_type: str

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.geometry.device.type == cls.device_type


class CPUTensor(Tensor, metaclass=_DeviceOf):
    """Type of CPU tensors, for annotations and ``isinstance``; their ``array`` is a ``numpy.ndarray``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CPUTensor)
    True
    """

    __slots__ = ()
    device_type: ClassVar[str] = "cpu"


class CUDATensor(Tensor, metaclass=_DeviceOf):
    """Type of tensors on CUDA devices, for annotations and ``isinstance``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CUDATensor)
    False
    """

    __slots__ = ()
    device_type: ClassVar[str] = "cuda"


# --------------------------------------------------------------------------------------------- making


def wrap(array: _NumpyArray, dtype: DType) -> Tensor:
    """Return a CPU tensor that owns ``array``, which must be in the storage dtype of ``dtype``.

    Raises:
        InterchangeError: a stride is negative or no multiple of the itemsize.
    """
    prepare()
    tensor = Tensor()
    tensor.array = array
    tensor.geometry = geometry_of(array, dtype)
    tensor._writes = 0
    tensor._base = None
    return tensor


# -------------------------------------------------------------------------------------------------------- helpers


def _dimension_of_values(dim: int, values: tuple[int, ...]) -> int:
    if not values:
        raise DimensionError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dimension(dim, len(values))


def _parts(tensor: Tensor) -> _Parts:
    """Return the arguments of ``_rebuild`` for a tensor: its elements in memory order without gaps, and more."""
    form = tensor.geometry
    if form.device.type == "meta":
        return None, form.dtype, form.device, form.shape, form.strides, form.requires_grad
    array = values.host_array(tensor)
    strides = form.strides
    if not is_non_overlapping_and_dense(form.shape, strides):
        strides = contiguous_strides(form.shape)
    # Dimensions of size 1 are made outermost, so that NumPy considers the transposed array contiguous, too.
    order = sorted(range(form.ndim), key=lambda dim: (form.shape[dim] != 1, -strides[dim]))
    elements = numpy.array(array.transpose(order), order="C", copy=True).reshape(-1)
    return elements, form.dtype, form.device, form.shape, strides, form.requires_grad


def _rebuild(
    elements: _NumpyArray | None,
    dtype: DType,
    device: Device,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
) -> Tensor:
    prepare()
    tensor = Tensor()
    tensor._writes = 0
    tensor._base = None
    tensor.geometry = geometry(dtype, device, shape, strides)
    if elements is not None:
        steps = byte_strides(strides, dtype.itemsize)
        array = numpy.ndarray(shape, dtype.numpy, buffer=elements, strides=steps)
        tensor.array = array if device.type == "cpu" else device_memory(device).from_host(array, device, dtype)
    return tensor.requires_grad_() if requires_grad else tensor
