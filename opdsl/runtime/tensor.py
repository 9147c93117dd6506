"""``Tensor``: an array, its geometry, and what of PyTorch's tensor needs no operator."""

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
from opdsl.runtime.lowering import SymbolicArray
from opdsl.runtime.memory import device_memory
from opdsl.runtime.storage import storage_root, version_of
from opdsl.runtime.strides import byte_strides, contiguous_strides, is_non_overlapping_and_dense, wrap_dimension

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:
    Array = numpy.ndarray

_CONTIGUOUS = MemoryFormat.contiguous_format

# Inside Tensor the name numpy is a method.
_NumpyArray = numpy.ndarray[Any, Any]
_NumpyDType = numpy.dtype[Any]
# Elements in memory order or None, dtype, device, shape, strides, requires_grad.
_Parts = tuple[_NumpyArray | None, DType, Device, tuple[int, ...], tuple[int, ...], bool]


class Tensor(Differentiable):
    """A tensor. Make one with ``opdsl.tensor``, ``opdsl.from_numpy`` or an operator; ``Tensor()`` alone is unfinished.

    What it holds stands at ``TensorBase``.

    >>> import opdsl
    >>> x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, x.device, (x @ x).sum().item()
    ((2, 2), opdsl.float32, device(type='cpu'), 54.0)
    """

    __slots__ = ()

    __schema_type__: ClassVar[str] = "Tensor"

    # NumPy leaves ``ndarray + tensor`` to ``Tensor.__radd__``.
    __array_priority__: ClassVar[float] = 1000.0

    # Until the operator library installs real ones: __len__ with __getitem__ would make every tensor iterable.
    __iter__: ClassVar[Any] = None
    __contains__: ClassVar[Any] = None

    __hash__ = object.__hash__

    if TYPE_CHECKING:
        # The operator library installs methods; what they take is in the operators' schemas.
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
        """``Tensor[Alias("a")]`` means ``Annotated[Tensor, Alias("a")]``."""
        return Annotated[cls, item]

    # ------------------------------------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its dimensions."""
        return self.geometry.shape

    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of its dimensions, None for each that has none."""
        from opdsl.runtime.names import names_of

        return names_of(self)

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps of its dimensions, in elements."""
        return self.geometry.strides

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.geometry.dtype

    @property
    def device(self) -> Device:
        """Where it lives."""
        return self.geometry.device

    @property
    def layout(self) -> Layout:
        """How its elements are addressed."""
        return self.geometry.layout

    @property
    def ndim(self) -> int:
        """The number of its dimensions."""
        return self.geometry.ndim

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.geometry.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.geometry.numel * self.geometry.dtype.itemsize

    @property
    def is_cpu(self) -> bool:
        """Whether it lives in the memory of the CPU."""
        return self.geometry.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether it lives on a CUDA device."""
        return self.geometry.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether it has a geometry only."""
        return self.geometry.device.type == "meta"

    @property
    def is_sparse(self) -> bool:
        """Always False: tensors are strided."""
        return False

    @property
    def is_quantized(self) -> bool:
        """Always False: quantized dtypes are not supported."""
        return False

    def dim(self) -> int:
        """The number of its dimensions."""
        return self.geometry.ndim

    ndimension = dim

    def numel(self) -> int:
        """The number of its elements."""
        return self.geometry.numel

    nelement = numel

    @overload
    def size(self, dim: None = None) -> tuple[int, ...]: ...

    @overload
    def size(self, dim: int) -> int: ...

    def size(self, dim: int | None = None) -> tuple[int, ...] | int:
        """All sizes as a tuple, or that of one dimension.

        Args:
            dim: which one; all for None.

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
        """All strides in elements as a tuple, or that of one dimension.

        Args:
            dim: which one; all for None.

        Raises:
            DimensionError: there is no such dimension.
        """
        strides = self.geometry.strides
        return strides if dim is None else strides[_dimension_of_values(dim, strides)]

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.geometry.dtype.itemsize

    def get_device(self) -> int:
        """The index of its device, -1 where it has none."""
        index = self.geometry.device.index
        return -1 if index is None else index

    def is_contiguous(self, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> bool:
        """Whether its elements lie without gaps in the order of a memory format.

        Args:
            memory_format: ``opdsl.contiguous_format``, where the last dimension is the innermost, or
                ``opdsl.channels_last``.
        """
        if memory_format is _CONTIGUOUS and self.geometry._contiguous:
            return True
        return self.geometry.is_contiguous(memory_format)

    def is_floating_point(self) -> bool:
        """Whether its dtype is a real floating-point one."""
        return self.geometry.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether its dtype is complex."""
        return self.geometry.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether its dtype can hold negative values."""
        return self.geometry.dtype.is_signed

    def _is_view(self) -> bool:
        return self.geometry.is_tracked_view

    @property
    def _version(self) -> int:
        """How often its memory has been written, through it or through what shares its history.

        Raises:
            RequiresGradError: it was made in inference mode, where nobody counts.
        """
        if self.geometry.is_inference:
            raise RequiresGradError("Inference tensors do not track version counter.")
        return version_of(self)

    def data_ptr(self) -> int:
        """The address of its first element; 0 where there is none."""
        try:
            return values.first_address(self.array)
        except (AttributeError, TypeError):  # of another device
            return values.address(self) if self.geometry.numel else 0

    def storage_offset(self) -> int:
        """How many elements lie in its memory before its first one."""
        if self.geometry.device.type == "meta":
            return getattr(self, "array", _NO_OFFSET).offset
        if self._base is None and not hasattr(self, "_memory"):
            return 0
        if type(self.array) is SymbolicArray:
            offset: int = self.array.offset
            return offset
        return (values.address(self) - values.storage_begin(self, storage_root(self))) // self.geometry.dtype.itemsize

    # --------------------------------------------------------------------------------------- Python values

    def item(self) -> bool | int | float | complex:
        """Its one element as a Python number.

        Raises:
            ConversionError: it has more or fewer than one element, or no data.
        """
        if self.geometry.numel != 1:
            raise ConversionError(f"a Tensor with {self.geometry.numel} elements cannot be converted to Scalar")
        number: bool | int | float | complex = values.readable(self, "item").item()
        return number

    def tolist(self) -> Any:
        """Its elements as nested lists of Python numbers, one number when it has no dimensions.

        Raises:
            ConversionError: it has no data (meta).
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
        """Its elements as a NumPy array that shares its memory.

        Args:
            force: copies to the host where the memory cannot be shared, and drops the gradient.

        Raises:
            InterchangeError: it is not on the CPU, requires gradients, or is bfloat16 without ml_dtypes.
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
        """``pyarrow.array(x)``: of one dimension, over the same memory where Arrow's layout allows it."""
        return values.arrow_array(self, type)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Arrow's protocol, by which polars and others take it: ``polars.Series(x)``; of one dimension."""
        return values.arrow_array(self, None).__arrow_c_array__(requested_schema)

    def __array_wrap__(self, array: _NumpyArray, context: object = None, return_scalar: bool = False) -> Tensor:
        """What NumPy's functions give for tensors: ``numpy.sin(x)`` is a tensor over the array that NumPy made."""
        return wrap(*values.stored(array))

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Collection[type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """NumPy's functions: those that ``opdsl.array_api`` has give tensors, others compute on arrays.

        >>> import numpy, opdsl
        >>> numpy.concatenate([opdsl.ones(1), opdsl.zeros(2)])
        tensor([1., 0., 0.])
        """
        return importlib.import_module("opdsl.array_api.numpy_functions").call(function, types, args, kwargs)

    def astype(self, dtype: DType | _NumpyDType | type | str, copy: bool = True) -> Tensor:
        """The elements as another dtype: ``to`` by NumPy's name, for libraries that convert blocks of any kind.

        Args:
            dtype: ours, or what NumPy takes for one.
            copy: whether the result is a copy where nothing changes, too.

        Raises:
            DTypeError: there is no such dtype.

        >>> import numpy, opdsl
        >>> opdsl.tensor([1.5, -2.5]).astype(numpy.int64)
        tensor([ 1, -2])
        """
        return self.to(dtype if isinstance(dtype, DType) else to_dtype(numpy.dtype(dtype)), copy=copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The CUDA Array Interface (version 3), by which numba, cupy and torch share its memory; on CUDA alone.

        Raises:
            AttributeError: it is on another device.
            InterchangeError: it is bfloat16, or requires gradients.
        """
        if not self.is_cuda:
            raise AttributeError(
                f"a tensor on {self.geometry.device} has no __cuda_array_interface__. Move it: x.cuda()."
            )
        values.refuse_gradient(self, "__cuda_array_interface__", InterchangeError)
        values.require_no_bits(self, "__cuda_array_interface__")
        return device_memory(self.geometry.device).array_interface(self.array)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Where a DLPack consumer finds it, as ``(device type, index)``."""
        return dlpack.device_of(self.geometry.device)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A DLPack capsule that shares its memory (or a copy of it where ``copy=True``).

        Raises:
            InterchangeError: it cannot be handed out that way; the message says how it can.
        """
        values.refuse_gradient(self, "__dlpack__()", InterchangeError)
        values.require_no_bits(self, "__dlpack__()")
        return dlpack.export(self, stream, max_version, dl_device, copy)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """``opdsl.array_api``, the functions of the array API standard for tensors.

        Args:
            api_version: the version of the standard that is wanted; the latest one that is here by default.

        Raises:
            OptionError: that version is not here; it is a ValueError.

        >>> import opdsl
        >>> x = opdsl.ones(3)
        >>> x.__array_namespace__().cumulative_sum(x)
        tensor([1., 2., 3.])
        """
        module: ModuleType = importlib.import_module("opdsl.array_api").namespace(api_version)
        return module

    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """The tensor on a device; itself where it is there.

        Args:
            device: where to.
            stream: None; ``with opdsl.cuda.stream(s)`` says on which stream it is copied.

        Raises:
            DeviceError: there is no such device, or a stream is named.
        """
        if stream is not None:
            raise DeviceError("to_device takes no stream. Name it around the call: with opdsl.cuda.stream(s): ...")
        return self.to(Device(device))

    # --------------------------------------------------------------------------------- first-class dimensions

    def order(self, *dims: object) -> Tensor:
        """The tensor itself: of a value over dims (``opdsl.dims``) it makes positional dimensions.

        Args:
            dims: dims, tuples of dims that become one dimension, and ``...`` for the positional ones; of a plain
                tensor there are only these.

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
        """The tensor together with what lies outside of it, for one read at computed positions.

        Args:
            what: a number; ``"replicate"``, ``"reflect"`` or ``"circular"``, which read at another position inside;
                ``"skip"``, of which folds leave out the turn; or a mapping to these by dimension.

        Raises:
            OptionError: it is none of these.

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
"""What a tensor is indexed by; a tuple holds such things, a list those or numbers."""


class Readable(Protocol):
    """What can be read as a tensor is, by a subscript."""

    def __getitem__(self, index: Index) -> Tensor: ...


class MetaArray:
    """What a meta tensor has for an array when its memory would not begin with its first element."""

    __slots__ = ("offset",)

    def __init__(self, offset: int) -> None:
        self.offset = offset


_NO_OFFSET = MetaArray(0)


class _DeviceOf(type):
    """Makes ``isinstance`` of a refinement a question about the device."""

    device_type: str

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.geometry.device.type == cls.device_type


class CPUTensor(Tensor, metaclass=_DeviceOf):
    """A tensor on the CPU, in annotations and ``isinstance``; ``array`` is a ``numpy.ndarray``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CPUTensor)
    True
    """

    __slots__ = ()
    device_type: ClassVar[str] = "cpu"


class CUDATensor(Tensor, metaclass=_DeviceOf):
    """A tensor on a CUDA device, in annotations and ``isinstance``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CUDATensor)
    False
    """

    __slots__ = ()
    device_type: ClassVar[str] = "cuda"


# --------------------------------------------------------------------------------------------- making


def wrap(array: _NumpyArray, dtype: DType) -> Tensor:
    """A CPU tensor that owns ``array``, which must be in the storage dtype of ``dtype``.

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
    """What ``_rebuild`` makes the tensor from: its elements in memory order, without the memory between them."""
    form = tensor.geometry
    if form.device.type == "meta":
        return None, form.dtype, form.device, form.shape, form.strides, form.requires_grad
    array = values.host_array(tensor)
    strides = form.strides
    if not is_non_overlapping_and_dense(form.shape, strides):
        strides = contiguous_strides(form.shape)
    # Dimensions of size 1 go outermost so that the transposed array is contiguous for NumPy, too.
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
