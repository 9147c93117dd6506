# Written by `opdsl stubs` from the declarations; not to be edited.
# A static method may have a parameter `self`: schemas have one.
# pyright: reportSelfClsParameterName=false
"""Class ``Tensor``: an array, its geometry, and the methods of PyTorch's tensor that need no operator."""

import numpy
from builtins import bool as _bool, float as _float, int as _int, type as _type
from collections.abc import Callable, Collection, Iterator, Sequence
from numpy.typing import NDArray
from opdsl._operators import (
    _results_aminmax,
    _results_cummax,
    _results_cummin,
    _results_frexp,
    _results_geqrf,
    _results_histogram,
    _results_kthvalue,
    _results_max,
    _results_median,
    _results_min,
    _results_mode,
    _results_nanmedian,
    _results_qr,
    _results_slogdet,
    _results_sort,
    _results_svd,
    _results_topk,
    _results_triangular_solve,
)
from opdsl.formulas.dims import AnyDim, AnyDims
from opdsl.runtime.device import Device, Layout, MemoryFormat
from opdsl.runtime.differentiable import Differentiable
from opdsl.runtime.dtype import DType
from opdsl.runtime.generator import Generator
from opdsl.schema.vocabulary import Scalar, Stream
from types import EllipsisType, ModuleType
from typing import Any, ClassVar, Literal, Protocol, SupportsIndex, overload

class Tensor(Differentiable):
    """Tensor. Make one with ``opdsl.tensor``, ``opdsl.from_numpy`` or an operator; ``Tensor()`` has no data.

    ``array`` has the elements, on the CPU as a ``numpy.ndarray``; ``geometry`` has dtype, device, shape and strides.

    >>> import opdsl
    >>> x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x.shape, x.dtype, x.device, (x @ x).sum().item()
    ((2, 2), opdsl.float32, device(type='cpu'), 54.0)
    """

    __slots__ = ()
    __schema_type__: ClassVar[str]
    __array_priority__: ClassVar[_float]
    __hash__ = object.__hash__
    def __class_getitem__(cls, item: object) -> object:
        """Return ``Annotated[Tensor, Alias("a")]`` for ``Tensor[Alias("a")]``."""
    @property
    def shape(self) -> tuple[_int, ...]:
        """Return the sizes of the dimensions."""
    @property
    def names(self) -> tuple[str | None, ...]:
        """Return the names of the dimensions, with None for unnamed ones."""
    @property
    def strides(self) -> tuple[_int, ...]:
        """Return the strides of the dimensions, in elements."""
    @property
    def dtype(self) -> DType:
        """Return the dtype of the elements."""
    @property
    def device(self) -> Device:
        """Return the device on which the tensor is stored."""
    @property
    def layout(self) -> Layout:
        """Return the layout, which is always strided."""
    @property
    def ndim(self) -> _int:
        """Return the number of dimensions."""
    @property
    def itemsize(self) -> _int:
        """Return the size of one element in bytes."""
    @property
    def nbytes(self) -> _int:
        """Return the size of all elements in bytes."""
    @property
    def is_cpu(self) -> _bool:
        """Return whether the tensor is on the CPU."""
    @property
    def is_cuda(self) -> _bool:
        """Return whether the tensor is on a CUDA device."""
    @property
    def is_meta(self) -> _bool:
        """Return whether the tensor is on the meta device, and so has a geometry but no elements."""
    @property
    def is_sparse(self) -> _bool:
        """Return False: all tensors are strided."""
    @property
    def is_quantized(self) -> _bool:
        """Return False: quantized dtypes are not supported."""
    def dim(self) -> _int:
        """Return the number of dimensions."""
    ndimension = dim
    def numel(self) -> _int:
        """Return the number of elements."""
    nelement = numel
    @overload
    def size(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def size(self, dim: _int) -> _int: ...
    @overload
    def stride(self, dim: None = None) -> tuple[_int, ...]: ...
    @overload
    def stride(self, dim: _int) -> _int: ...
    def element_size(self) -> _int:
        """Return the size of one element in bytes."""
    def get_device(self) -> _int:
        """Return the index of the tensor's device, -1 if it has none."""
    def is_contiguous(self, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> _bool:
        """Return whether the elements have no gaps in memory, in the order of a memory format.

        Args:
            memory_format: ``opdsl.contiguous_format``, where the last dimension is the innermost, or
                ``opdsl.channels_last``.
        """
    def is_floating_point(self) -> _bool:
        """Return whether the dtype is a real floating-point dtype."""
    def is_complex(self) -> _bool:
        """Return whether the dtype is complex."""
    def is_signed(self) -> _bool:
        """Return whether the dtype can represent negative values."""
    def _is_view(self) -> _bool: ...
    @property
    def _version(self) -> _int:
        """Return how often the memory has been written, through this tensor or tensors that share its history.

        Raises:
            RequiresGradError: the tensor was made in inference mode, in which writes are not counted.
        """
    def data_ptr(self) -> _int:
        """Return the address of the first element; 0 if the tensor has no elements or no memory."""
    def storage_offset(self) -> _int:
        """Return the offset of the first element in the tensor's storage, in elements."""
    def item(self) -> _bool | _int | _float | complex:
        """Return the value of a tensor with one element as a Python number.

        Raises:
            ConversionError: the tensor has more or fewer than one element, or no data.
        """
    def tolist(self) -> Any:
        """Return the elements as nested lists of Python numbers, or as one number if there are no dimensions.

        Raises:
            ConversionError: the tensor has no data (meta).
        """
    def __len__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> _int: ...
    def numpy(self, *, force: _bool = False) -> _NumpyArray:
        """Return the elements as a NumPy array that shares the tensor's memory.

        Args:
            force: whether to copy to the host if the memory cannot be shared, and to drop the gradient.

        Raises:
            InterchangeError: the tensor is not on the CPU, requires gradients, or is bfloat16 without ml_dtypes.
        """
    def __array__(self, dtype: _NumpyDType | None = None, copy: _bool | None = None) -> _NumpyArray: ...
    def __arrow_array__(self, type: object = None) -> Any:
        """Return a one-dimensional tensor as an Arrow array, for ``pyarrow.array(x)``; without a copy if possible."""
    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Export a one-dimensional tensor by Arrow's C protocol, for polars and others: ``polars.Series(x)``."""
    def __array_wrap__(self, array: _NumpyArray, context: object = None, return_scalar: _bool = False) -> Tensor:
        """Return the result of a NumPy function, such as ``numpy.sin(x)``, as a tensor over NumPy's array."""
    def __array_function__(
        self,
        function: Callable[..., object],
        types: Collection[_type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """Call a NumPy function on tensors: those in ``opdsl.array_api`` return tensors, others compute with arrays.

        >>> import numpy, opdsl
        >>> numpy.concatenate([opdsl.ones(1), opdsl.zeros(2)])
        tensor([1., 0., 0.])
        """
    def astype(self, dtype: DType | _NumpyDType | _type | str, copy: _bool = True) -> Tensor:
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
    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """Return the CUDA Array Interface (version 3), by which numba, cupy and torch share a CUDA tensor's memory.

        Raises:
            AttributeError: the tensor is on another device.
            InterchangeError: the tensor is bfloat16, or requires gradients.
        """
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """Return DLPack's pair ``(device type, index)`` for the tensor's device."""
    def __dlpack__(
        self,
        *,
        stream: _int | None = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> object:
        """Return a DLPack capsule that shares the tensor's memory (or a copy of it with ``copy=True``).

        Raises:
            InterchangeError: it cannot be exported that way; the message shows the remedy.
        """
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
    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """Return the tensor on another device; the tensor itself if it is on that device.

        Args:
            device: the target device.
            stream: None; use ``with opdsl.cuda.stream(s)`` to copy on a stream.

        Raises:
            DeviceError: there is no such device, or a stream is given.
        """
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
    def _repr_html_(self) -> str: ...
    def __format__(self, specification: str) -> str: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: dict[_int, object]) -> Tensor: ...
    def __reduce_ex__(self, protocol: object) -> tuple[object, _Parts]: ...
    @property
    def H(self) -> Tensor:
        """Return a view of a matrix, transposed and conjugated: ``x.H``."""
    @property
    def T(self) -> Tensor:
        """Return a view with the order of all dimensions reversed: ``x.T``."""
    def __abs__(self) -> Tensor:
        """Return the magnitude of every element; real also for complex elements."""
    def __add__(self, other: Tensor | Scalar) -> Tensor:
        """``self + alpha * other``"""
    @overload
    def __and__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_and``: ``self & other``; logical and for bools."""
    @overload
    def __and__(self, other: Scalar) -> Tensor: ...
    def __contains__(self, element: Tensor | complex) -> _bool:
        """Return ``element in self``: whether any element of the tensor equals it.

        Raises:
            ConversionError: ``element`` is no tensor and no number.
        """
    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        """``self == other``"""
    def __floordiv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    @overload
    def __ge__(self, other: Tensor) -> Tensor:
        """``self >= other``"""
    @overload
    def __ge__(self, other: Scalar) -> Tensor: ...
    def __getitem__(self, index: Index) -> Tensor:
        """Return ``x[index]``: a view if ints, slices, ``None`` and ``...`` index, a copy if tensors do."""
    @overload
    def __gt__(self, other: Tensor) -> Tensor:
        """``self > other``"""
    @overload
    def __gt__(self, other: Scalar) -> Tensor: ...
    def __iadd__(self, other: Tensor | Scalar) -> Tensor:
        """``self + alpha * other``"""
    @overload
    def __iand__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_and``: ``self & other``; logical and for bools."""
    @overload
    def __iand__(self, other: Scalar) -> Tensor: ...
    def __ifloordiv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    @overload
    def __ilshift__(self, other: Tensor) -> Tensor:
        """``self << other``"""
    @overload
    def __ilshift__(self, other: Scalar) -> Tensor: ...
    @overload
    def __imod__(self, other: Tensor) -> Tensor:
        """Return the remainder of the division rounded down; it has the sign of ``other``."""
    @overload
    def __imod__(self, other: Scalar) -> Tensor: ...
    def __imul__(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def __invert__(self) -> Tensor:
        """``~self``

        Raises:
            ArgumentError: the tensor holds neither integers nor bools.
        """
    @overload
    def __ior__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_or``: ``self | other``; logical or for bools."""
    @overload
    def __ior__(self, other: Scalar) -> Tensor: ...
    @overload
    def __ipow__(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; integers to a negative power give 0, except for 1 and -1."""
    @overload
    def __ipow__(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number ``exponent``"""
    @overload
    def __irshift__(self, other: Tensor) -> Tensor:
        """``self >> other``"""
    @overload
    def __irshift__(self, other: Scalar) -> Tensor: ...
    def __isub__(self, other: Tensor | Scalar) -> Tensor:
        """``self - alpha * other``"""
    def __iter__(self) -> Iterator[Tensor]:
        """Return an iterator over the slices along the first dimension: ``for row in x``.

        Raises:
            ArgumentError: the tensor has no dimensions.
        """
    def __itruediv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __ixor__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; logical exclusive or for bools."""
    @overload
    def __ixor__(self, other: Scalar) -> Tensor: ...
    @overload
    def __le__(self, other: Tensor) -> Tensor:
        """``self <= other``"""
    @overload
    def __le__(self, other: Scalar) -> Tensor: ...
    @overload
    def __lshift__(self, other: Tensor) -> Tensor:
        """``self << other``"""
    @overload
    def __lshift__(self, other: Scalar) -> Tensor: ...
    @overload
    def __lt__(self, other: Tensor) -> Tensor:
        """``self < other``"""
    @overload
    def __lt__(self, other: Scalar) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor:
        """Return the matrix product, with the rules of ``numpy.matmul`` for vectors and broadcast batch dimensions."""
    @overload
    def __mod__(self, other: Tensor) -> Tensor:
        """Return the remainder of the division rounded down; it has the sign of ``other``."""
    @overload
    def __mod__(self, other: Scalar) -> Tensor: ...
    def __mul__(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        """``self != other``"""
    def __neg__(self) -> Tensor:
        """``-self``"""
    @overload
    def __or__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_or``: ``self | other``; logical or for bools."""
    @overload
    def __or__(self, other: Scalar) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """Return ``self``."""
    @overload
    def __pow__(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; integers to a negative power give 0, except for 1 and -1."""
    @overload
    def __pow__(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number ``exponent``"""
    def __radd__(self, other: Tensor | Scalar) -> Tensor:
        """``self + alpha * other``"""
    @overload
    def __rand__(self, other: Tensor) -> Tensor:
        """``self & other``; logical and for bools."""
    @overload
    def __rand__(self, other: Scalar) -> Tensor: ...
    def __repr__(self) -> str:
        """Return the text of the tensor, which names the dtype unless it is the default one."""
    def __reversed__(self) -> Tensor:
        """Return ``reversed(self)``: the tensor with its first dimension flipped."""
    def __rfloordiv__(self, other: Scalar) -> Tensor: ...
    def __rlshift__(self, other: Scalar) -> Tensor: ...
    def __rmatmul__(self, other: Scalar) -> Tensor: ...
    def __rmod__(self, other: Scalar) -> Tensor: ...
    def __rmul__(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    @overload
    def __ror__(self, other: Tensor) -> Tensor:
        """``self | other``; logical or for bools."""
    @overload
    def __ror__(self, other: Scalar) -> Tensor: ...
    def __rpow__(self, other: Scalar) -> Tensor: ...
    def __rrshift__(self, other: Scalar) -> Tensor: ...
    @overload
    def __rshift__(self, other: Tensor) -> Tensor:
        """``self >> other``"""
    @overload
    def __rshift__(self, other: Scalar) -> Tensor: ...
    @overload
    def __rsub__(self, other: Tensor) -> Tensor:
        """``other - alpha * self``"""
    @overload
    def __rsub__(self, other: Scalar, alpha: Scalar = 1) -> Tensor:
        """``other - alpha * self`` for a number ``other``"""
    def __rtruediv__(self, other: Scalar) -> Tensor:
        """``other / self``, computed as in PyTorch: the reciprocal times the number; a quotient if ``other`` is
        an array.
        """
    @overload
    def __rxor__(self, other: Tensor) -> Tensor:
        """``self ^ other``; logical exclusive or for bools."""
    @overload
    def __rxor__(self, other: Scalar) -> Tensor: ...
    def __setitem__(self, index: Index, value: Tensor | Scalar) -> None:
        """Execute ``x[index] = value``: a number, a tensor or a NumPy array that broadcasts."""
    def __sub__(self, other: Tensor | Scalar) -> Tensor:
        """``self - alpha * other``"""
    def __truediv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __xor__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; logical exclusive or for bools."""
    @overload
    def __xor__(self, other: Scalar) -> Tensor: ...
    def _addmm_activation(
        self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, use_gelu: _bool = False
    ) -> Tensor:
        """``relu(addmm(self, mat1, mat2))``, or ``gelu`` of it for ``use_gelu``"""
    def _autocast_to_full_precision(self, cuda_enabled: _bool, cpu_enabled: _bool) -> Tensor:
        """Return a float16 or bfloat16 tensor converted to float32, if autocast is enabled for its device; return others
        unchanged.
        """
    def _autocast_to_reduced_precision(
        self, cuda_enabled: _bool, cpu_enabled: _bool, cuda_dtype: DType, cpu_dtype: DType
    ) -> Tensor:
        """Return a float32 tensor converted to the autocast dtype of its device, if autocast is enabled; return others
        unchanged.
        """
    def _conj(self) -> Tensor:
        """Return a view of a complex tensor that is conjugated when it is read."""
    def _conj_physical(self) -> Tensor:
        """Return the complex conjugates, computed rather than marked lazily."""
    def _is_all_true(self) -> Tensor:
        """Return whether all elements are true."""
    def _is_any_true(self) -> Tensor:
        """Return whether at least one element is true."""
    def _is_zerotensor(self) -> _bool:
        """Return False, as all tensors have memory, those of zeros too."""
    def _lazy_clone(self) -> Tensor:
        """Return a copy. It is made at once; PyTorch's is copy-on-write."""
    def _neg_view(self) -> Tensor:
        """Return a view that is negated when it is read."""
    def abs(self) -> Tensor:
        """Return the magnitude of every element; real also for complex elements."""
    def abs_(self) -> Tensor:
        """Return the magnitude of every element; real also for complex elements."""
    def absolute(self) -> Tensor:
        """Another name of ``abs``: Return the magnitude of every element; real also for complex elements."""
    def absolute_(self) -> Tensor:
        """Another name of ``abs``: Return the magnitude of every element; real also for complex elements."""
    def acos(self) -> Tensor:
        """Return the arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def acos_(self) -> Tensor:
        """Return the arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def acosh(self) -> Tensor:
        """Return the inverse hyperbolic cosine of every element; NaN below 1."""
    def acosh_(self) -> Tensor:
        """Return the inverse hyperbolic cosine of every element; NaN below 1."""
    def add(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``self + alpha * other``"""
    def add_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``self + alpha * other``"""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * bmm(batch1, batch2).sum(0)``"""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """Write the result of ``addbmm`` into ``self``."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; for ``beta=0`` NaN in ``self`` is ignored."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; for ``beta=0`` NaN in ``self`` is ignored."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * outer(vec1, vec2)``; for ``beta=0`` NaN in ``self`` is ignored."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * outer(vec1, vec2)``; for ``beta=0`` NaN in ``self`` is ignored."""
    def adjoint(self) -> Tensor:
        """Return a view with each matrix of a batch transposed and conjugated."""
    def all(self, dim: AnyDims | None = None, keepdim: _bool = False) -> Tensor:
        """Return whether all elements along dimensions, along all for ``dim=None``, are not zero."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Return whether all elements are close, see ``isclose``."""
    def amax(self, dim: AnyDims = (), keepdim: _bool = False) -> Tensor:
        """Return the largest element along dimensions, by default along all; NaN if an element is NaN."""
    def amin(self, dim: AnyDims = (), keepdim: _bool = False) -> Tensor:
        """Return the smallest element along dimensions, by default along all; NaN if an element is NaN."""
    def aminmax(self, *, dim: AnyDim | None = None, keepdim: _bool = False) -> _results_aminmax:
        """Return the smallest and the largest element along a dimension, or of all elements."""
    def angle(self) -> Tensor:
        """Return the angle of every complex number; for real ones 0, or pi if they are negative."""
    def any(self, dim: AnyDims | None = None, keepdim: _bool = False) -> Tensor:
        """Return whether any element along dimensions, along all for ``dim=None``, is not zero."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element in place by the result of a Python function; slow, as there is a call for each element.

        Args:
            callable: takes an element as a Python number and returns one.

        Raises:
            DeviceError: the tensor is not on the CPU.
            RequiresGradError: the tensor requires grad.

        >>> import opdsl
        >>> opdsl.tensor([1.0, 4.0]).apply_(lambda x: x + 1)
        tensor([2., 5.])
        """
    def arccos(self) -> Tensor:
        """Another name of ``acos``: Return the arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def arccos_(self) -> Tensor:
        """Another name of ``acos``: Return the arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def arccosh(self) -> Tensor:
        """Another name of ``acosh``: Return the inverse hyperbolic cosine of every element; NaN below 1."""
    def arccosh_(self) -> Tensor:
        """Another name of ``acosh``: Return the inverse hyperbolic cosine of every element; NaN below 1."""
    def arcsin(self) -> Tensor:
        """Another name of ``asin``: Return the arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """Another name of ``asin``: Return the arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def arcsinh(self) -> Tensor:
        """Another name of ``asinh``: Return the inverse hyperbolic sine of every element."""
    def arcsinh_(self) -> Tensor:
        """Another name of ``asinh``: Return the inverse hyperbolic sine of every element."""
    def arctan(self) -> Tensor:
        """Another name of ``atan``: Return the arctangent of every element, in [-pi/2, pi/2]."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Another name of ``atan2``: Return the angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """Another name of ``atan2``: Return the angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def arctan_(self) -> Tensor:
        """Another name of ``atan``: Return the arctangent of every element, in [-pi/2, pi/2]."""
    def arctanh(self) -> Tensor:
        """Another name of ``atanh``: Return the inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """Another name of ``atanh``: Return the inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def argmax(self, dim: AnyDim | None = None, keepdim: _bool = False) -> Tensor:
        """Return the index of the largest element along a dimension, or of all in row-major order; the first of equals."""
    def argmin(self, dim: AnyDim | None = None, keepdim: _bool = False) -> Tensor:
        """Return the index of the smallest element along a dimension, or of all in row-major order; the first of equals."""
    @overload
    def argsort(self, *, stable: _bool, dim: AnyDim = -1, descending: _bool = False) -> Tensor:
        """Return the indices that sort the elements along a dimension, with equal elements in their original order."""
    @overload
    def argsort(self, dim: AnyDim = -1, descending: _bool = False) -> Tensor:
        """Return the indices that sort the elements along a dimension."""
    def argwhere(self) -> Tensor:
        """Return the indices of the nonzero elements, one row for each element; NumPy's name of ``nonzero``."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Return a view of the storage with any shape, strides and offset."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Give the tensor itself another shape, strides and offset in its storage."""
    def as_strided_scatter(
        self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
    ) -> Tensor:
        """Return a copy of ``self`` with ``src`` where ``as_strided`` selects elements."""
    def asin(self) -> Tensor:
        """Return the arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def asin_(self) -> Tensor:
        """Return the arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def asinh(self) -> Tensor:
        """Return the inverse hyperbolic sine of every element."""
    def asinh_(self) -> Tensor:
        """Return the inverse hyperbolic sine of every element."""
    def atan(self) -> Tensor:
        """Return the arctangent of every element, in [-pi/2, pi/2]."""
    def atan2(self, other: Tensor) -> Tensor:
        """Return the angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def atan2_(self, other: Tensor) -> Tensor:
        """Return the angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def atan_(self) -> Tensor:
        """Return the arctangent of every element, in [-pi/2, pi/2]."""
    def atanh(self) -> Tensor:
        """Return the inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def atanh_(self) -> Tensor:
        """Return the inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    @overload
    def bernoulli(self, *, generator: Generator | None = None) -> Tensor:
        """Return 1 where a trial with the probability in that element of ``self`` succeeds, and 0 elsewhere."""
    @overload
    def bernoulli(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Return 1 where a trial with the probability ``p`` succeeds and 0 elsewhere, in a new tensor like ``self``."""
    @overload
    def bernoulli_(self, p: Tensor, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with 1 where a trial with the probability in that element of ``p`` succeeds, and with 0
        elsewhere.
        """
    @overload
    def bernoulli_(self, p: _float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with 1 where a trial with the probability ``p`` succeeds, and with 0 elsewhere."""
    def bfloat16(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.bfloat16; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """Count how often each integer from 0 on occurs, or add up the weights of its occurrences.

        Args:
            self: a vector of integers that are not negative.
            weights: one for each of them; the sums are float32 for float32 weights, else float64.
            minlength: the least length of the result, which otherwise ends with the largest integer.

        >>> import opdsl
        >>> opdsl.bincount(opdsl.tensor([1, 3, 1]))
        tensor([0, 2, 0, 1])
        """
    @overload
    def bitwise_and(self, other: Tensor) -> Tensor:
        """``self & other``; logical and for bools."""
    @overload
    def bitwise_and(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_and_(self, other: Tensor) -> Tensor:
        """``self & other``; logical and for bools."""
    @overload
    def bitwise_and_(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_left_shift(self, other: Tensor) -> Tensor:
        """``self << other``; 0 where ``other`` is negative or at least the number of bits."""
    @overload
    def bitwise_left_shift(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_left_shift_(self, other: Tensor) -> Tensor:
        """``self << other``; 0 where ``other`` is negative or at least the number of bits."""
    @overload
    def bitwise_left_shift_(self, other: Scalar) -> Tensor: ...
    def bitwise_not(self) -> Tensor:
        """``~self``; logical not for bools."""
    def bitwise_not_(self) -> Tensor:
        """``~self``; logical not for bools."""
    @overload
    def bitwise_or(self, other: Tensor) -> Tensor:
        """``self | other``; logical or for bools."""
    @overload
    def bitwise_or(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_or_(self, other: Tensor) -> Tensor:
        """``self | other``; logical or for bools."""
    @overload
    def bitwise_or_(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_right_shift(self, other: Tensor) -> Tensor:
        """``self >> other``; 0 or -1, by the sign of ``self``, where ``other`` is negative or at least the number of
        bits.
        """
    @overload
    def bitwise_right_shift(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_right_shift_(self, other: Tensor) -> Tensor:
        """``self >> other``; 0 or -1, by the sign of ``self``, where ``other`` is negative or at least the number of
        bits.
        """
    @overload
    def bitwise_right_shift_(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_xor(self, other: Tensor) -> Tensor:
        """``self ^ other``; logical exclusive or for bools."""
    @overload
    def bitwise_xor(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_xor_(self, other: Tensor) -> Tensor:
        """``self ^ other``; logical exclusive or for bools."""
    @overload
    def bitwise_xor_(self, other: Scalar) -> Tensor: ...
    def bmm(self, mat2: Tensor) -> Tensor:
        """Return the matrix product of each pair of matrices in two batches."""
    def bool(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.bool; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """Return a view expanded to a shape; NumPy's name of ``expand``."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor: ...
    def byte(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.uint8; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with numbers of the Cauchy distribution with ``median`` and the half width ``sigma``."""
    def cdouble(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.complex128; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def ceil(self) -> Tensor:
        """Return every element rounded up to an integer."""
    def ceil_(self) -> Tensor:
        """Return every element rounded up to an integer."""
    def cfloat(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.complex64; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def char(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.int8; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def cholesky(self, upper: _bool = False) -> Tensor:
        """Return ``linalg.cholesky(self)``, under its older name.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """Return the inverse of the matrix whose Cholesky factor is ``self``, of which one triangle is read."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """Return the solution ``X`` of ``L @ L.mH @ X = self`` for the Cholesky factor ``L``.

        Args:
            self: (..., n, k).
            input2: ``L``, or for ``upper`` its adjoint: (..., n, n), of which one triangle is read.
            upper: see above.
        """
    def chunk(self, chunks: _int, dim: AnyDim = 0) -> list[Tensor]:
        """Split a dimension into ``chunks`` parts of equal size; the last may be smaller, or there may be fewer."""
    @overload
    def clamp(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Return the elements clamped to the range from ``min`` to ``max``, with bounds for each element."""
    @overload
    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Return the elements clamped to the range from ``min`` to ``max``."""
    @overload
    def clamp_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Return the elements clamped to the range from ``min`` to ``max``, with bounds for each element."""
    @overload
    def clamp_(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Return the elements clamped to the range from ``min`` to ``max``."""
    @overload
    def clamp_max(self, max: Tensor) -> Tensor:
        """Return the elements, or the element of ``max`` where that is smaller."""
    @overload
    def clamp_max(self, max: Scalar) -> Tensor:
        """Return the elements, or ``max`` where that is smaller."""
    @overload
    def clamp_max_(self, max: Tensor) -> Tensor:
        """Return the elements, or the element of ``max`` where that is smaller."""
    @overload
    def clamp_max_(self, max: Scalar) -> Tensor:
        """Return the elements, or ``max`` where that is smaller."""
    @overload
    def clamp_min(self, min: Tensor) -> Tensor:
        """Return the elements, or the element of ``min`` where that is larger."""
    @overload
    def clamp_min(self, min: Scalar) -> Tensor:
        """Return the elements, or ``min`` where that is larger."""
    @overload
    def clamp_min_(self, min: Tensor) -> Tensor:
        """Return the elements, or the element of ``min`` where that is larger."""
    @overload
    def clamp_min_(self, min: Scalar) -> Tensor:
        """Return the elements, or ``min`` where that is larger."""
    @overload
    def clip(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Another name of ``clamp``: Return the elements clamped to the range from ``min`` to ``max``, with bounds for each element."""
    @overload
    def clip(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Another name of ``clamp``: Return the elements clamped to the range from ``min`` to ``max``."""
    @overload
    def clip_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Another name of ``clamp``: Return the elements clamped to the range from ``min`` to ``max``, with bounds for each element."""
    @overload
    def clip_(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Another name of ``clamp``: Return the elements clamped to the range from ``min`` to ``max``."""
    def clone(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Return a copy of the tensor, which shares no memory with it."""
    def col_indices(self) -> Tensor:
        """Refuse to return a part of a sparse tensor, as all tensors are dense."""
    def conj(self) -> Tensor:
        """Return a view of a complex tensor that is conjugated when it is read; a real tensor is returned itself."""
    def conj_physical(self) -> Tensor:
        """Return the complex conjugates, computed rather than marked lazily; a real tensor is returned itself."""
    def conj_physical_(self) -> Tensor:
        """Replace the elements by their complex conjugates in place."""
    def contiguous(self, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> Tensor:
        """Return the tensor itself if it has the memory layout ``memory_format``, else a copy that has it."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Tensor:
        """Copy the elements of ``src``, broadcast and converted to the dtype of ``self``, into ``self``."""
    @overload
    def copysign(self, other: Tensor) -> Tensor:
        """Return the magnitude of ``self`` with the sign of ``other``."""
    @overload
    def copysign(self, other: Scalar) -> Tensor: ...
    @overload
    def copysign_(self, other: Tensor) -> Tensor:
        """Return the magnitude of ``self`` with the sign of ``other``."""
    @overload
    def copysign_(self, other: Scalar) -> Tensor: ...
    def corrcoef(self) -> Tensor:
        """Return the correlation matrix of variables (rows) from their observations (columns)."""
    def cos(self) -> Tensor:
        """Return the cosine of every element, an angle in radians."""
    def cos_(self) -> Tensor:
        """Return the cosine of every element, an angle in radians."""
    def cosh(self) -> Tensor:
        """Return the hyperbolic cosine of every element."""
    def cosh_(self) -> Tensor:
        """Return the hyperbolic cosine of every element."""
    @overload
    def count_nonzero(self, dim: AnyDim | None = None) -> Tensor:
        """Return the number of nonzero elements along a dimension, or of all."""
    @overload
    def count_nonzero(self, dim: AnyDims) -> Tensor:
        """Return the number of nonzero elements along dimensions."""
    @overload
    def count_nonzero(self, *dim: _int) -> Tensor: ...
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """Return the covariance matrix of variables (rows) from their observations (columns).

        Args:
            self: the observations; a vector is one variable.
            correction: is subtracted from the number of observations to get the divisor.
            fweights: how often each observation occurs.
            aweights: the weight of each observation.
        """
    def cpu(self, *, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return a copy of the tensor on the CPU, or the tensor itself if it is on the CPU.

        Args:
            memory_format: the order of the elements of the result; by default that of the tensor.
        """
    def cross(self, other: Tensor, dim: AnyDim | None = None) -> Tensor:
        """Return the cross products of vectors of three elements along ``dim``, or along the first dimension of size 3 for
        None.
        """
    def cuda(
        self,
        device: Device | str | _int | None = None,
        non_blocking: _bool = False,
        *,
        memory_format: MemoryFormat = MemoryFormat.preserve_format,
    ) -> Tensor:
        """Return a copy of the tensor on a CUDA device, or the tensor itself if it is on that device.

        Args:
            device: which CUDA device; the current one by default.
            non_blocking: has no effect; the call always waits for the copy.
            memory_format: see ``cpu``.
        """
    def cummax(self, dim: AnyDim) -> _results_cummax:
        """Return the cumulative largest element, NaN from the first NaN on, and the last index of that element."""
    def cummin(self, dim: AnyDim) -> _results_cummin:
        """Return the cumulative smallest element, NaN from the first NaN on, and the last index of that element."""
    def cumprod(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """Return the cumulative products along a dimension; integers are multiplied as int64."""
    def cumprod_(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """Return the cumulative products along a dimension; integers are multiplied as int64."""
    def cumsum(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """Return the cumulative sums along a dimension; integers are summed as int64."""
    def cumsum_(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """Return the cumulative sums along a dimension; integers are summed as int64."""
    def deg2rad(self) -> Tensor:
        """``self * pi / 180``"""
    def deg2rad_(self) -> Tensor:
        """``self * pi / 180``"""
    def dense_dim(self) -> _int:
        """Return the number of dense dimensions: all, as there are no sparse tensors."""
    def det(self) -> Tensor:
        """Another name of ``linalg_det``: Return the determinants of matrices, (..., n, n)."""
    def detach(self) -> Tensor:
        """Return a view of the whole tensor without autograd history."""
    def detach_(self) -> Tensor:
        """Drop the autograd history of the tensor, which becomes a leaf."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """Return a matrix with the vector ``self`` as its diagonal, or the diagonal of the matrix ``self``."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Return matrices that are zero except for a diagonal, which holds the last dimension of ``self``."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """Return a matrix whose diagonal holds all elements of ``self``, flattened."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return a view of the diagonal of two dimensions, which becomes the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """Return a copy of ``self`` with ``src`` where ``diagonal`` selects elements."""
    def diff(
        self, n: _int = 1, dim: AnyDim = -1, prepend: Tensor | None = None, append: Tensor | None = None
    ) -> Tensor:
        """Return the differences of adjacent elements along a dimension, taken ``n`` times; for bools whether they differ.

        Args:
            self: the elements.
            n: how many times to take differences.
            dim: the dimension.
            prepend, append: tensors that are first concatenated before and after ``self``.
            out: a tensor to write the result into.
        """
    def digamma(self) -> Tensor:
        """Return the derivative of ``lgamma``; NaN at negative integers."""
    def digamma_(self) -> Tensor:
        """Return the derivative of ``lgamma``; NaN at negative integers."""
    def dist(self, other: Tensor, p: Scalar = 2) -> Tensor:
        """Return the ``p``-norm of ``self - other``."""
    @overload
    def div(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def div(self, other: Tensor | Scalar, *, rounding_mode: str | None) -> Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @overload
    def div_(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def div_(self, other: Tensor | Scalar, *, rounding_mode: str | None) -> Tensor:
        """``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @overload
    def divide(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @overload
    def divide(self, other: Tensor | Scalar, *, rounding_mode: str | None) -> Tensor:
        """Another name of ``div``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    @overload
    def divide_(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    @overload
    def divide_(self, other: Tensor | Scalar, *, rounding_mode: str | None) -> Tensor:
        """Another name of ``div``: ``self / other``, rounded towards zero (``"trunc"``), down (``"floor"``) or not at all (None)."""
    def dot(self, tensor: Tensor) -> Tensor:
        """Return the sum of the products of two vectors' elements."""
    def double(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.float64; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    @overload
    def dsplit(self, sections: _int) -> list[Tensor]:
        """Return ``sections`` views of parts of equal size along the third dimension."""
    @overload
    def dsplit(self, indices: Sequence[_int]) -> list[Tensor]:
        """Return views of the parts between ``indices`` along the third dimension."""
    @overload
    def dsplit(self, *indices: _int) -> list[Tensor]: ...
    @overload
    def eq(self, other: Tensor) -> Tensor:
        """``self == other``"""
    @overload
    def eq(self, other: Scalar) -> Tensor: ...
    @overload
    def eq_(self, other: Tensor) -> Tensor:
        """``self == other``"""
    @overload
    def eq_(self, other: Scalar) -> Tensor: ...
    def equal(self, other: Tensor) -> _bool:
        """Return whether two tensors have the same shape and equal elements."""
    def erf(self) -> Tensor:
        """Return the error function of every element."""
    def erf_(self) -> Tensor:
        """Return the error function of every element."""
    def erfc(self) -> Tensor:
        """``1 - erf(self)``; accurate where the result is small."""
    def erfc_(self) -> Tensor:
        """``1 - erf(self)``; accurate where the result is small."""
    def erfinv(self) -> Tensor:
        """Return the inverse of the error function for every element; NaN outside of [-1, 1]."""
    def erfinv_(self) -> Tensor:
        """Return the inverse of the error function for every element; NaN outside of [-1, 1]."""
    def exp(self) -> Tensor:
        """Return the exponential of every element."""
    def exp2(self) -> Tensor:
        """``2 ** self``"""
    def exp2_(self) -> Tensor:
        """``2 ** self``"""
    def exp_(self) -> Tensor:
        """Return the exponential of every element."""
    @overload
    def expand(self, size: Sequence[_int], *, implicit: _bool = False) -> Tensor:
        """Return a view with dimensions of size 1, and new leading dimensions, repeated without a copy."""
    @overload
    def expand(self, *size: _int, implicit: _bool = False) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """Return a view expanded to the shape of another tensor."""
    def expm1(self) -> Tensor:
        """``exp(self) - 1``; accurate near 0."""
    def expm1_(self) -> Tensor:
        """``exp(self) - 1``; accurate near 0."""
    def exponential_(self, lambd: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with exponentially distributed numbers of the rate ``lambd``; none is 0."""
    @overload
    def fill_(self, value: Tensor) -> Tensor:
        """Set every element to the element of the zero-dim tensor ``value``."""
    @overload
    def fill_(self, value: Scalar) -> Tensor:
        """Set every element to a number."""
    def fill_diagonal_(self, fill_value: Scalar, wrap: _bool = False) -> Tensor:
        """Fill the diagonal of a matrix or a hypercube; with ``wrap``, also the diagonals further down in a tall matrix."""
    def fix(self) -> Tensor:
        """Another name of ``trunc``: Return every element rounded towards zero to an integer."""
    def fix_(self) -> Tensor:
        """Another name of ``trunc``: Return every element rounded towards zero to an integer."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """Merge the dimensions from ``start_dim`` to ``end_dim`` into one; a view if the strides allow it, else a copy."""
    @overload
    def flip(self, dims: AnyDims) -> Tensor:
        """Return a copy of the tensor with the given dimensions reversed."""
    @overload
    def flip(self, *dims: _int) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """Reverse the second dimension: the columns of a matrix."""
    def flipud(self) -> Tensor:
        """Reverse the first dimension: the rows of a matrix."""
    def float(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.float32; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    @overload
    def float_power(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``, computed and returned in double precision."""
    @overload
    def float_power(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number ``exponent``, computed and returned in double precision."""
    @overload
    def float_power_(self, exponent: Tensor) -> Tensor:
        """Replace the tensor, which has double precision, by ``self ** exponent``."""
    @overload
    def float_power_(self, exponent: Scalar) -> Tensor:
        """Replace the tensor, which has double precision, by ``self ** exponent`` for a number ``exponent``."""
    def floor(self) -> Tensor:
        """Return every element rounded down to an integer."""
    def floor_(self) -> Tensor:
        """Return every element rounded down to an integer."""
    def floor_divide(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    def floor_divide_(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    def fmax(self, other: Tensor) -> Tensor:
        """Return the larger of two elements; if one is NaN, the other one."""
    def fmin(self, other: Tensor) -> Tensor:
        """Return the smaller of two elements; if one is NaN, the other one."""
    @overload
    def fmod(self, other: Tensor) -> Tensor:
        """Return the remainder of the division rounded towards zero; it has the sign of ``self``."""
    @overload
    def fmod(self, other: Scalar) -> Tensor: ...
    @overload
    def fmod_(self, other: Tensor) -> Tensor:
        """Return the remainder of the division rounded towards zero; it has the sign of ``self``."""
    @overload
    def fmod_(self, other: Scalar) -> Tensor: ...
    def frac(self) -> Tensor:
        """``self - trunc(self)``"""
    def frac_(self) -> Tensor:
        """``self - trunc(self)``"""
    def frexp(self) -> _results_frexp:
        """Return mantissas in [1/2, 1) by magnitude and exponents, so that ``self == mantissa * 2**exponent``."""
    def gather(self, dim: AnyDim, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """Return the elements at the indices ``index`` along ``dim``: ``out[i, j] = self[index[i, j], j]`` for
        ``dim=0``.
        """
    def gcd(self, other: Tensor) -> Tensor:
        """Return the greatest common divisor of two elements."""
    def gcd_(self, other: Tensor) -> Tensor:
        """Return the greatest common divisor of two elements."""
    @overload
    def ge(self, other: Tensor) -> Tensor:
        """``self >= other``"""
    @overload
    def ge(self, other: Scalar) -> Tensor: ...
    @overload
    def ge_(self, other: Tensor) -> Tensor:
        """``self >= other``"""
    @overload
    def ge_(self, other: Scalar) -> Tensor: ...
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with counts of trials up to the first success, each trial succeeding with the probability
        ``p``.
        """
    def geqrf(self) -> _results_geqrf:
        """Return the QR decomposition in LAPACK's packed form; see ``linalg.qr`` for separate factors.

        Args:
            self: (..., m, n).
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """Another name of ``outer``: Return the outer product of two vectors: ``self[i] * vec2[j]``."""
    @overload
    def greater(self, other: Tensor) -> Tensor:
        """Another name of ``gt``: ``self > other``"""
    @overload
    def greater(self, other: Scalar) -> Tensor: ...
    @overload
    def greater_(self, other: Tensor) -> Tensor:
        """Another name of ``gt``: ``self > other``"""
    @overload
    def greater_(self, other: Scalar) -> Tensor: ...
    @overload
    def greater_equal(self, other: Tensor) -> Tensor:
        """Another name of ``ge``: ``self >= other``"""
    @overload
    def greater_equal(self, other: Scalar) -> Tensor: ...
    @overload
    def greater_equal_(self, other: Tensor) -> Tensor:
        """Another name of ``ge``: ``self >= other``"""
    @overload
    def greater_equal_(self, other: Scalar) -> Tensor: ...
    @overload
    def gt(self, other: Tensor) -> Tensor:
        """``self > other``"""
    @overload
    def gt(self, other: Scalar) -> Tensor: ...
    @overload
    def gt_(self, other: Tensor) -> Tensor:
        """``self > other``"""
    @overload
    def gt_(self, other: Scalar) -> Tensor: ...
    def half(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.float16; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def hardshrink(self, lambd: Scalar = 0.5) -> Tensor:
        """``self``, with 0 in place of elements whose magnitude is at most ``lambd``."""
    @overload
    def hash_tensor(self, dim: AnyDims = (), *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """Return a uint64 hash of the elements along dimensions, along all by default: the exclusive or of their 64-bit
        patterns.

        Args:
            self: real numbers, which are converted to float64 or int64 first.
            dim: the dimensions.
            keepdim: whether to keep them with size 1.
            mode: must be 0.
        """
    @overload
    def hash_tensor(self, *dim: _int, keepdim: _bool = False, mode: _int = 0) -> Tensor: ...
    def heaviside(self, values: Tensor) -> Tensor:
        """Return 0 for negative elements, 1 for positive ones, and the element of ``values`` for 0."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """Return 0 for negative elements, 1 for positive ones, and the element of ``values`` for 0."""
    def histc(self, bins: _int = 100, min: Scalar = 0, max: Scalar = 0) -> Tensor:
        """Count the elements in each of ``bins`` bins between ``min`` and ``max``; the result has the dtype of the
        elements.

        Args:
            self: floating-point numbers, of any shape; elements outside of all bins are not counted.
            bins: the number of bins, all of one width.
            min, max: the outer edges; the smallest and the largest element if they are equal.
        """
    @overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = None, density: _bool = False) -> _results_histogram:
        """Count the elements in each bin between given edges, or add up their weights.

        Args:
            self: float32 or float64, of any shape; elements outside of all bins are not counted.
            bins: the edges in ascending order, of the same dtype.
            weight: one for each element, of the same dtype.
            density: whether to divide the counts by their sum and the width of the bins, so that the whole area is 1.
        """
    @overload
    def histogram(
        self,
        bins: _int = 100,
        *,
        range: Sequence[_float] | None = None,
        weight: Tensor | None = None,
        density: _bool = False,
    ) -> _results_histogram:
        """Return ``histogram`` for ``bins`` bins of equal width, over ``range`` or from the smallest to the largest
        element.
        """
    @overload
    def hsplit(self, sections: _int) -> list[Tensor]:
        """Return ``sections`` views of parts of equal size along the second dimension, or the first of a one-dimensional tensor."""
    @overload
    def hsplit(self, indices: Sequence[_int]) -> list[Tensor]:
        """Return views of the parts between ``indices`` along the second dimension, or the first of a one-dimensional tensor."""
    @overload
    def hsplit(self, *indices: _int) -> list[Tensor]: ...
    def hypot(self, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    def hypot_(self, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    def i0(self) -> Tensor:
        """Return the modified Bessel function of the first kind, of order 0."""
    def i0_(self) -> Tensor:
        """Return the modified Bessel function of the first kind, of order 0."""
    def igamma(self, other: Tensor) -> Tensor:
        """Return the lower incomplete gamma function of order ``self``, divided by the gamma function."""
    def igamma_(self, other: Tensor) -> Tensor:
        """Return the lower incomplete gamma function of order ``self``, divided by the gamma function."""
    def igammac(self, other: Tensor) -> Tensor:
        """Return the upper incomplete gamma function of order ``self``, divided by the gamma function."""
    def igammac_(self, other: Tensor) -> Tensor:
        """Return the upper incomplete gamma function of order ``self``, divided by the gamma function."""
    @property
    def imag(self) -> Tensor:
        """Return a view of the imaginary parts of a complex tensor."""
    @imag.setter
    def imag(self, value: object) -> None: ...
    def index_add(self, dim: AnyDim, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """Return ``self`` with the slices of ``alpha * source`` added at the indices ``index`` along a dimension."""
    def index_add_(self, dim: AnyDim, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """Return ``self`` with the slices of ``alpha * source`` added at the indices ``index`` along a dimension."""
    def index_copy(self, dim: AnyDim, index: Tensor, source: Tensor) -> Tensor:
        """Return ``self`` with the slices of ``source`` written at the indices ``index`` along a dimension."""
    def index_copy_(self, dim: AnyDim, index: Tensor, source: Tensor) -> Tensor:
        """Return ``self`` with the slices of ``source`` written at the indices ``index`` along a dimension."""
    @overload
    def index_fill(self, dim: AnyDim, index: Tensor, value: Tensor) -> Tensor:
        """Return ``self`` with the slices at the indices ``index`` along a dimension set to the element of a zero-dim
        tensor.
        """
    @overload
    def index_fill(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """Return ``self`` with the slices at the indices ``index`` along a dimension set to a number."""
    @overload
    def index_fill_(self, dim: AnyDim, index: Tensor, value: Tensor) -> Tensor:
        """Fill the slices at the indices ``index`` along a dimension with the element of a zero-dim tensor, in place."""
    @overload
    def index_fill_(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """Fill the slices at the indices ``index`` along a dimension with a number, in place."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Return ``self`` with values written at index tensors, or added if ``accumulate``."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Write values at index tensors in place, or add them if ``accumulate``."""
    def index_reduce(
        self, dim: AnyDim, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """Return ``self`` with the slices of ``source`` reduced into those at the indices ``index`` along a dimension.

        Args:
            self: any numbers but complex ones.
            dim: the dimension.
            index: for each slice of ``source``, the index of the slice of ``self`` that it is reduced into.
            source: of the dtype of ``self``, with one slice for each index.
            reduce: ``prod``, ``mean``, ``amax`` or ``amin``.
            include_self: whether the elements of ``self`` are part of the reduction.
        """
    def index_reduce_(
        self, dim: AnyDim, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """Return ``self`` with the slices of ``source`` reduced into those at the indices ``index`` along a dimension.

        Args:
            self: any numbers but complex ones.
            dim: the dimension.
            index: for each slice of ``source``, the index of the slice of ``self`` that it is reduced into.
            source: of the dtype of ``self``, with one slice for each index.
            reduce: ``prod``, ``mean``, ``amax`` or ``amin``.
            include_self: whether the elements of ``self`` are part of the reduction.
        """
    def index_select(self, dim: AnyDim, index: Tensor) -> Tensor:
        """Return the slices of a dimension at the indices in the vector ``index``."""
    def indices(self) -> Tensor:
        """Refuse to return a part of a sparse tensor, as all tensors are dense."""
    def inner(self, other: Tensor) -> Tensor:
        """Return the scalar products of all pairs of vectors along the last dimensions; a zero-dim tensor is multiplied."""
    def int(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.int32; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def inverse(self) -> Tensor:
        """Another name of ``linalg_inv``: Return the inverses of matrices.

        Raises:
            LinearAlgebraError: a matrix is singular.
        """
    def is_conj(self) -> _bool:
        """Return whether the tensor is a view that is conjugated when it is read."""
    def is_distributed(self) -> _bool:
        """Return False, as no tensor is distributed over machines."""
    def is_neg(self) -> _bool:
        """Return whether the tensor is a view that is negated when it is read."""
    def is_nonzero(self) -> _bool:
        """Return whether the only element of a tensor is nonzero."""
    def is_pinned(self, device: Device | str | _int | None = None) -> _bool:
        """Return whether the tensor is in page-locked host memory, which devices read and write by themselves."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Return whether two tensors have the same shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Return whether two tensors have the same memory, dtype, shape, strides and offset."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """``abs(self - other) <= atol + rtol * abs(other)``; an infinity is only close to an equal one."""
    def isfinite(self) -> Tensor:
        """Return a mask of the elements that are neither infinite nor NaN; complex ones if both parts are."""
    def isinf(self) -> Tensor:
        """Return a mask of the elements that are infinite; complex ones if a part is."""
    def isnan(self) -> Tensor:
        """Return a mask of the elements that are NaN; complex ones if a part is."""
    def isneginf(self) -> Tensor:
        """Return a mask of the elements that are negative infinity."""
    def isposinf(self) -> Tensor:
        """Return a mask of the elements that are positive infinity."""
    def isreal(self) -> Tensor:
        """Return a mask of the elements whose imaginary part is 0."""
    def istft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        normalized: _bool = False,
        onesided: _bool | None = None,
        length: _int | None = None,
        return_complex: _bool = False,
    ) -> Tensor:
        """Return the signals whose short-time Fourier transform is ``self``, by overlap-add.

        The inverse transforms are multiplied by the window and summed, then divided by the sum of the squared windows.

        Args:
            self: complex (batch, frequencies, windows) or (frequencies, windows).
            n_fft, hop_length, win_length, window, center, normalized: the arguments of the call of ``stft``.
            onesided: whether ``self`` has only the ``n_fft // 2 + 1`` frequencies that determine the others; by default
                inferred from their number.
            length: of the signals, which are padded with zeros at the end if necessary.
            return_complex: whether the signals are complex.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other, or the windows leave out a point.
        """
    def kron(self, other: Tensor) -> Tensor:
        """Return the Kronecker product: the block matrix ``[[a11 * B, a12 * B, ...], ...]`` for ``A = self`` and ``B =
        other``.
        """
    def kthvalue(self, k: _int, dim: AnyDim = -1, keepdim: _bool = False) -> _results_kthvalue:
        """Return the k-th smallest element along a dimension, counted from 1, and its index."""
    def lcm(self, other: Tensor) -> Tensor:
        """Return the least common multiple of two elements; 0 where an element is 0."""
    def lcm_(self, other: Tensor) -> Tensor:
        """Return the least common multiple of two elements; 0 where an element is 0."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``self * 2**other``"""
    def ldexp_(self, other: Tensor) -> Tensor:
        """Multiply the elements by ``2**other`` in place."""
    @overload
    def le(self, other: Tensor) -> Tensor:
        """``self <= other``"""
    @overload
    def le(self, other: Scalar) -> Tensor: ...
    @overload
    def le_(self, other: Tensor) -> Tensor:
        """``self <= other``"""
    @overload
    def le_(self, other: Scalar) -> Tensor: ...
    @overload
    def lerp(self, end: Tensor, weight: Tensor) -> Tensor:
        """``self + weight * (end - self)`` with a weight for each element; exact for a weight of 1."""
    @overload
    def lerp(self, end: Tensor, weight: Scalar) -> Tensor:
        """``self + weight * (end - self)``; exact for a weight of 1."""
    @overload
    def lerp_(self, end: Tensor, weight: Tensor) -> Tensor:
        """``self + weight * (end - self)`` with a weight for each element; exact for a weight of 1."""
    @overload
    def lerp_(self, end: Tensor, weight: Scalar) -> Tensor:
        """``self + weight * (end - self)``; exact for a weight of 1."""
    @overload
    def less(self, other: Tensor) -> Tensor:
        """Another name of ``lt``: ``self < other``"""
    @overload
    def less(self, other: Scalar) -> Tensor: ...
    @overload
    def less_(self, other: Tensor) -> Tensor:
        """Another name of ``lt``: ``self < other``"""
    @overload
    def less_(self, other: Scalar) -> Tensor: ...
    @overload
    def less_equal(self, other: Tensor) -> Tensor:
        """Another name of ``le``: ``self <= other``"""
    @overload
    def less_equal(self, other: Scalar) -> Tensor: ...
    @overload
    def less_equal_(self, other: Tensor) -> Tensor:
        """Another name of ``le``: ``self <= other``"""
    @overload
    def less_equal_(self, other: Scalar) -> Tensor: ...
    def lgamma(self) -> Tensor:
        """Return the logarithm of the gamma function's magnitude."""
    def lgamma_(self) -> Tensor:
        """Return the logarithm of the gamma function's magnitude."""
    def log(self) -> Tensor:
        """Return the natural logarithm of every element; NaN below 0."""
    def log10(self) -> Tensor:
        """Return the logarithm to base 10 of every element; NaN below 0."""
    def log10_(self) -> Tensor:
        """Return the logarithm to base 10 of every element; NaN below 0."""
    def log1p(self) -> Tensor:
        """``log(1 + self)``; accurate near 0."""
    def log1p_(self) -> Tensor:
        """``log(1 + self)``; accurate near 0."""
    def log2(self) -> Tensor:
        """Return the logarithm to base 2 of every element; NaN below 0."""
    def log2_(self) -> Tensor:
        """Return the logarithm to base 2 of every element; NaN below 0."""
    def log_(self) -> Tensor:
        """Return the natural logarithm of every element; NaN below 0."""
    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with numbers whose logarithms are normally distributed with ``mean`` and ``std``."""
    def log_softmax(self, dim: AnyDim, dtype: DType | None = None) -> Tensor:
        """Return the logarithm of ``softmax`` along dimension ``dim`` of ``self``, converted to ``dtype`` if given."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """``log(exp(self) + exp(other))``, without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """``log2(2**self + 2**other)``, without overflow."""
    def logcumsumexp(self, dim: AnyDim) -> Tensor:
        """``log(cumsum(exp(self), dim))``, without overflow."""
    def logdet(self) -> Tensor:
        """Return the logarithms of determinants; NaN for real matrices with a negative determinant."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Return a mask of where both elements are nonzero."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """Return a mask of where both elements are nonzero."""
    def logical_not(self) -> Tensor:
        """Return a mask of the elements that are 0."""
    def logical_not_(self) -> Tensor:
        """Return a mask of the elements that are 0."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Return a mask of where at least one element is nonzero."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """Return a mask of where at least one element is nonzero."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Return a mask of where exactly one element is nonzero."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """Return a mask of where exactly one element is nonzero."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(self / (1 - self))``; if ``eps`` is given, ``self`` is clamped to the range from ``eps`` to ``1 - eps``
        first.
        """
    def logit_(self, eps: _float | None = None) -> Tensor:
        """``log(self / (1 - self))``; if ``eps`` is given, ``self`` is clamped to the range from ``eps`` to ``1 - eps``
        first.
        """
    def logsumexp(self, dim: AnyDims, keepdim: _bool = False) -> Tensor:
        """``log(sum(exp(self)))`` along dimensions, without overflow; integers are converted to the default dtype."""
    def long(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.int64; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    @overload
    def lt(self, other: Tensor) -> Tensor:
        """``self < other``"""
    @overload
    def lt(self, other: Scalar) -> Tensor: ...
    @overload
    def lt_(self, other: Tensor) -> Tensor:
        """``self < other``"""
    @overload
    def lt_(self, other: Scalar) -> Tensor: ...
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """Return ``linalg.lu_solve(LU_data, LU_pivots, self)``, under an older name."""
    @property
    def mH(self) -> Tensor:
        """Return a view with each matrix of a batch transposed and conjugated: ``x.mH``."""
    @property
    def mT(self) -> Tensor:
        """Return a view with each matrix of a batch transposed: ``x.mT``."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element in place by the result of a Python function of this element and that of another tensor.

        Args:
            tensor: of the same dtype; broadcasts to this one's shape.
            callable: takes two Python numbers and returns one.

        Raises:
            DeviceError, RequiresGradError: see ``apply_``.
            DTypeError: the dtypes differ.
            ShapeError: the shapes do not fit.

        >>> import opdsl
        >>> opdsl.tensor([1.0, 4.0]).map_(opdsl.tensor(2.0), lambda x, y: x * y)
        tensor([2., 8.])
        """
    @overload
    def masked_fill(self, mask: Tensor, value: Tensor) -> Tensor:
        """Return ``self`` filled with the element of a zero-dim tensor where a mask holds."""
    @overload
    def masked_fill(self, mask: Tensor, value: Scalar) -> Tensor:
        """Return ``self`` filled with a number where a mask holds."""
    @overload
    def masked_fill_(self, mask: Tensor, value: Tensor) -> Tensor:
        """Fill the tensor in place with the element of a zero-dim tensor where a mask holds."""
    @overload
    def masked_fill_(self, mask: Tensor, value: Scalar) -> Tensor:
        """Fill the tensor in place with a number where a mask holds."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """Return ``self`` with the first elements of ``source``, in order, where a mask holds."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Write the first elements of ``source``, in order, to the elements where a mask holds."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """Return the elements where a mask holds, as a vector in row-major order."""
    def matmul(self, other: Tensor) -> Tensor:
        """Return the matrix product, with the rules of ``numpy.matmul`` for vectors and broadcast batch dimensions."""
    def matrix_exp(self) -> Tensor:
        """Another name of ``linalg_matrix_exp``: Return the exponentials of square matrices: ``1 + A + A @ A / 2 + ...``."""
    def matrix_power(self, n: _int) -> Tensor:
        """Another name of ``linalg_matrix_power``: Return the ``n``-th power of square matrices, or that of their inverses if ``n`` is negative."""
    @overload
    def max(self) -> Tensor:
        """Return the largest of all elements."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """Return the larger of two elements, like ``maximum``."""
    @overload
    def max(self, dim: AnyDim, keepdim: _bool = False) -> _results_max:
        """Return the largest elements along a dimension and their indices, the first of equal elements."""
    def maximum(self, other: Tensor) -> Tensor:
        """Return the larger of two elements; NaN if either is NaN."""
    @overload
    def mean(self, *, dtype: DType | None = None) -> Tensor:
        """Return the mean of all elements."""
    @overload
    def mean(self, dim: AnyDims | None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Return the mean along dimensions, along all for ``dim=None``."""
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: AnyDim, keepdim: _bool = False) -> _results_median: ...
    @overload
    def min(self) -> Tensor:
        """Return the smallest of all elements."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """Return the smaller of two elements, like ``minimum``."""
    @overload
    def min(self, dim: AnyDim, keepdim: _bool = False) -> _results_min:
        """Return the smallest elements along a dimension and their indices, the first of equal elements."""
    def minimum(self, other: Tensor) -> Tensor:
        """Return the smaller of two elements; NaN if either is NaN."""
    def mm(self, mat2: Tensor) -> Tensor:
        """Return the product of two matrices."""
    def mode(self, dim: AnyDim = -1, keepdim: _bool = False) -> _results_mode:
        """Return the most frequent element along a dimension, the smallest of several, and the index of one of its
        occurrences.
        """
    @overload
    def moveaxis(self, source: _int, destination: _int) -> Tensor:
        """Another name of ``movedim``: Return a view with one dimension moved; the others keep their order."""
    @overload
    def moveaxis(self, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """Another name of ``movedim``: Return a view with the dimensions ``source`` moved to ``destination``; the others keep their order."""
    @overload
    def movedim(self, source: _int, destination: _int) -> Tensor:
        """Return a view with one dimension moved; the others keep their order."""
    @overload
    def movedim(self, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """Return a view with the dimensions ``source`` moved to ``destination``; the others keep their order."""
    def msort(self) -> Tensor:
        """Return the elements in order along the first dimension."""
    def mul(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def mul_(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def multinomial(
        self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Return ``num_samples`` random indices for each row of ``self``, which holds the weights of the indices."""
    def multiply(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``mul``: ``self * other``"""
    def multiply_(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``mul``: ``self * other``"""
    def mv(self, vec: Tensor) -> Tensor:
        """Return the product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension ``p``."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """Return the logarithm of the multivariate gamma function of dimension ``p``."""
    def nan_to_num(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """Replace NaN and infinities by numbers: by default 0, and the largest and the smallest number of the dtype."""
    def nan_to_num_(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """Replace NaN and infinities by numbers: by default 0, and the largest and the smallest number of the dtype."""
    def nanmean(self, dim: AnyDims | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Return the mean along dimensions of all elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(self, dim: AnyDim, keepdim: _bool = False) -> _results_nanmedian: ...
    @overload
    def nanquantile(
        self, q: Tensor, dim: AnyDim | None = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @overload
    def nanquantile(
        self, q: _float, dim: AnyDim | None = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    def nansum(self, dim: AnyDims | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Return the sum along dimensions of all elements that are not NaN."""
    @overload
    def narrow(self, dim: AnyDim, start: Tensor, length: _int) -> Tensor:
        """Return ``narrow`` whose start is a zero-dim tensor of integers."""
    @overload
    def narrow(self, dim: AnyDim, start: _int, length: _int) -> Tensor:
        """Return a view of ``length`` elements of a dimension, from index ``start`` on."""
    def narrow_copy(self, dim: AnyDim, start: _int, length: _int) -> Tensor:
        """Return a copy of ``length`` elements of a dimension, from index ``start`` on."""
    @overload
    def ne(self, other: Tensor) -> Tensor:
        """``self != other``"""
    @overload
    def ne(self, other: Scalar) -> Tensor: ...
    @overload
    def ne_(self, other: Tensor) -> Tensor:
        """``self != other``"""
    @overload
    def ne_(self, other: Scalar) -> Tensor: ...
    def neg(self) -> Tensor:
        """``-self``"""
    def neg_(self) -> Tensor:
        """``-self``"""
    def negative(self) -> Tensor:
        """Another name of ``neg``: ``-self``"""
    def negative_(self) -> Tensor:
        """Another name of ``neg``: ``-self``"""
    @overload
    def new_empty(
        self,
        size: Sequence[_int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return an uninitialized tensor of the given size, with the dtype and device of ``self`` by default."""
    @overload
    def new_empty(
        self,
        *size: _int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_empty_strided(
        self,
        size: Sequence[_int],
        stride: Sequence[_int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return an uninitialized tensor of the given size and strides, with the dtype and device of ``self``
        by default.
        """
    def new_full(
        self,
        size: Sequence[_int],
        fill_value: Scalar,
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return a tensor of the given size with every element set to ``fill_value``, with the dtype and device of ``self``
        by default.
        """
    @overload
    def new_ones(
        self,
        size: Sequence[_int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return a tensor of ones of the given size, with the dtype and device of ``self`` by default."""
    @overload
    def new_ones(
        self,
        *size: _int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def new_tensor(
        self,
        data: object,
        *,
        dtype: DType | None = None,
        device: Device | str | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return a tensor with a copy of the data, by default with the dtype and device of this tensor.

        Args:
            data: see ``opdsl.tensor``.
            dtype, device: of the result, if not this tensor's.
            requires_grad: whether autograd records operations on the result.

        Raises:
            ConversionError: lists of unequal length, or elements that are no numbers.

        >>> import opdsl
        >>> opdsl.ones(2, dtype=opdsl.int16).new_tensor([1, 2])
        tensor([1, 2], dtype=opdsl.int16)
        """
    @overload
    def new_zeros(
        self,
        size: Sequence[_int],
        *,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor:
        """Return a tensor of zeros of the given size, with the dtype and device of ``self`` by default."""
    @overload
    def new_zeros(
        self,
        *size: _int,
        dtype: DType | None = None,
        layout: Layout | None = None,
        device: Device | str | _int | None = None,
        pin_memory: _bool | None = None,
        requires_grad: _bool = False,
    ) -> Tensor: ...
    def nextafter(self, other: Tensor) -> Tensor:
        """Return the next representable number after each element of ``self`` in the direction of ``other``."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """Return the next representable number after each element of ``self`` in the direction of ``other``."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, as_tuple: _bool) -> Tensor | tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """Return the indices of the first ``size`` nonzero elements, one row for each, padded to ``size`` rows.

        Args:
            self: of any dtype.
            size: the number of rows.
            fill_value: the content of rows for which there is no nonzero element.

        >>> import opdsl
        >>> opdsl.nonzero_static(opdsl.tensor([0, 4, 0, 5]), size=3)
        tensor([[ 1],
                [ 3],
                [-1]])
        """
    def norm(
        self,
        p: complex | str | None = "fro",
        dim: _int | Sequence[_int] | None = None,
        keepdim: _bool = False,
        dtype: DType | None = None,
    ) -> Tensor:
        """Return the norm of this tensor, see ``opdsl.norm``.

        Args:
            p, dim, keepdim, dtype: see ``opdsl.norm``.

        >>> import opdsl
        >>> opdsl.tensor([3.0, 4.0]).norm()
        tensor(5.)
        """
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with normally distributed numbers. Real and imaginary parts of complex ones have ``std /
        sqrt(2)`` each.
        """
    @overload
    def not_equal(self, other: Tensor) -> Tensor:
        """Another name of ``ne``: ``self != other``"""
    @overload
    def not_equal(self, other: Scalar) -> Tensor: ...
    @overload
    def not_equal_(self, other: Tensor) -> Tensor:
        """Another name of ``ne``: ``self != other``"""
    @overload
    def not_equal_(self, other: Scalar) -> Tensor: ...
    def orgqr(self, input2: Tensor) -> Tensor:
        """Another name of ``linalg_householder_product``: Return the first columns of a product of Householder reflections: the factor Q from the result of ``geqrf``.

        Args:
            input: (..., m, n) with m >= n, whose columns have the Householder vectors below the diagonal.
            tau: (..., k) with n >= k, the coefficients of the reflections.
        """
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """Return the product of an orthogonal matrix, stored as Householder reflections, with other matrices.

        Args:
            self: (..., m, n), the Householder vectors as ``geqrf`` returns them.
            input2: (..., k), the coefficients of the reflections.
            input3: (..., m, p), or (..., p, m) if not ``left``.
            left: whether the orthogonal matrix is the left factor.
            transpose: whether to multiply by the adjoint of the orthogonal matrix.
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """Return the outer product of two vectors: ``self[i] * vec2[j]``."""
    @overload
    def permute(self, dims: AnyDims) -> Tensor:
        """Return a view with the dimensions in the order ``dims``."""
    @overload
    def permute(self, *dims: _int) -> Tensor: ...
    def pin_memory(self, device: Device | str | _int | None = None) -> Tensor:
        """Return the tensor itself if it is in page-locked memory, else a copy in page-locked memory."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """Return the pseudo-inverses of matrices; singular values up to ``rcond`` times the largest count as 0."""
    def polygamma(self, n: _int) -> Tensor:
        """Return the ``n``-th derivative of ``digamma``."""
    def polygamma_(self, n: _int) -> Tensor:
        """Write ``polygamma(n, self)`` into ``self``."""
    def positive(self) -> Tensor:
        """Return ``self``."""
    @overload
    def pow(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; integers to a negative power give 0, except for 1 and -1."""
    @overload
    def pow(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number ``exponent``"""
    @overload
    def pow_(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; integers to a negative power give 0, except for 1 and -1."""
    @overload
    def pow_(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number ``exponent``"""
    def prelu(self, weight: Tensor) -> Tensor:
        """``self``, multiplied where negative by a learned weight, one for all or one per channel (He et al., 2015)."""
    @overload
    def prod(self, *, dtype: DType | None = None) -> Tensor:
        """Return the product of all elements."""
    @overload
    def prod(self, dim: AnyDim, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Return the product along a dimension; integers are multiplied as int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Return ``self`` with values written at indices into the flattened tensor, or added if ``accumulate``."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Write values at indices into the flattened tensor, or add them if ``accumulate``, in place."""
    def qr(self, some: _bool = True) -> _results_qr:
        """Return ``linalg.qr(self)``, under an older name."""
    @overload
    def quantile(
        self, q: Tensor, dim: AnyDim | None = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @overload
    def quantile(
        self, q: _float, dim: AnyDim | None = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    def rad2deg(self) -> Tensor:
        """``self * 180 / pi``"""
    def rad2deg_(self) -> Tensor:
        """``self * 180 / pi``"""
    @overload
    def random_(self, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with random integers from 0 to the largest up to which its dtype holds all integers."""
    @overload
    def random_(self, from_: _int, to: _int | None, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with random integers from ``from`` up to, but not including, ``to``."""
    @overload
    def random_(self, to: _int, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with random integers from 0 up to, but not including, ``to``."""
    def ravel(self) -> Tensor:
        """Return the elements as a vector: a view if the tensor is contiguous, else a copy."""
    @property
    def real(self) -> Tensor:
        """Return a view of the real parts; a real tensor is returned itself."""
    @real.setter
    def real(self, value: object) -> None: ...
    def reciprocal(self) -> Tensor:
        """``1 / self``"""
    def reciprocal_(self) -> Tensor:
        """``1 / self``"""
    def record_stream(self, s: Stream) -> None:
        """Delay the reuse of the tensor's memory, once it is freed, until the stream ``s`` has finished its queued work."""
    def relu(self) -> Tensor:
        """``max(self, 0)``"""
    def relu_(self) -> Tensor:
        """``max(self, 0)``"""
    @overload
    def remainder(self, other: Tensor) -> Tensor:
        """Return the remainder of the division rounded down; it has the sign of ``other``."""
    @overload
    def remainder(self, other: Scalar) -> Tensor: ...
    @overload
    def remainder_(self, other: Tensor) -> Tensor:
        """Return the remainder of the division rounded down; it has the sign of ``other``."""
    @overload
    def remainder_(self, other: Scalar) -> Tensor: ...
    def renorm(self, p: Scalar, dim: AnyDim, maxnorm: Scalar) -> Tensor:
        """Return the slices along a dimension, with those whose ``p``-norm exceeds ``maxnorm`` scaled down to it."""
    def renorm_(self, p: Scalar, dim: AnyDim, maxnorm: Scalar) -> Tensor:
        """Return the slices along a dimension, with those whose ``p``-norm exceeds ``maxnorm`` scaled down to it."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor:
        """Repeat the whole tensor along each dimension the given number of times."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor: ...
    @overload
    def repeat_interleave(
        self, repeats: Tensor, dim: AnyDim | None = None, *, output_size: _int | None = None
    ) -> Tensor:
        """Return the slices of a dimension, each slice ``i`` repeated ``repeats[i]`` times in succession."""
    @overload
    def repeat_interleave(self, repeats: _int, dim: AnyDim | None = None, *, output_size: _int | None = None) -> Tensor:
        """Return the slices of a dimension, each repeated ``repeats`` times in succession."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor:
        """Return the tensor with another shape: a view if the strides allow it, else a copy."""
    @overload
    def reshape(self, *shape: _int) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """Return the tensor with the shape of another tensor: a view if the strides allow it, else a copy."""
    @overload
    def resize_(self, size: Sequence[_int], *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Resize the tensor in place; new elements are uninitialized."""
    @overload
    def resize_(self, *size: _int, memory_format: MemoryFormat | None = None) -> Tensor: ...
    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Resize the tensor in place to the shape of ``the_template``."""
    def resolve_conj(self) -> Tensor:
        """Return a copy with the conjugates computed if the tensor is a lazily conjugated view, else the tensor itself."""
    def resolve_neg(self) -> Tensor:
        """Return a copy with the negatives computed if the tensor is a lazily negated view, else the tensor itself."""
    def roll(self, shifts: _int | Sequence[_int], dims: AnyDims = ()) -> Tensor:
        """Shift elements along dimensions cyclically: elements beyond the end reappear at the start."""
    def rot90(self, k: _int = 1, dims: AnyDims = (0, 1)) -> Tensor:
        """Rotate by ``k`` right angles in the plane of two dimensions, from the first towards the second."""
    @overload
    def round(self) -> Tensor:
        """Return every element rounded to the nearest integer; halves to the even one."""
    @overload
    def round(self, *, decimals: _int) -> Tensor:
        """Return every element rounded to ``decimals`` decimals; -1 rounds to tens, -2 to hundreds."""
    @overload
    def round_(self) -> Tensor:
        """Return every element rounded to the nearest integer; halves to the even one."""
    @overload
    def round_(self, *, decimals: _int) -> Tensor:
        """Return every element rounded to ``decimals`` decimals; -1 rounds to tens, -2 to hundreds."""
    def row_indices(self) -> Tensor:
        """Refuse to return a part of a sparse tensor, as all tensors are dense."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(self)``"""
    def rsqrt_(self) -> Tensor:
        """``1 / sqrt(self)``"""
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """Return ``self`` with ``src`` written at indices along ``dim``: ``self[index[i, j], j] = src[i, j]`` for
        ``dim=0``.
        """
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """Return ``self`` with ``src`` added or multiplied (``reduce``) to the elements at indices along a dimension."""
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """Return ``self`` with a number written at indices along ``dim``: ``self[index[i, j], j] = value`` for
        ``dim=0``.
        """
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """Return ``self`` with a number added or multiplied (``reduce``) to the elements at indices along a dimension."""
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """Return ``self`` with ``src`` written at indices along ``dim``: ``self[index[i, j], j] = src[i, j]`` for
        ``dim=0``.
        """
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """Return ``self`` with ``src`` added or multiplied (``reduce``) to the elements at indices along a dimension."""
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """Return ``self`` with a number written at indices along ``dim``: ``self[index[i, j], j] = value`` for
        ``dim=0``.
        """
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """Return ``self`` with a number added or multiplied (``reduce``) to the elements at indices along a dimension."""
    def scatter_add(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """Return ``self`` with ``src`` added at indices along ``dim``: ``self[index[i, j], j] += src[i, j]`` for
        ``dim=0``.
        """
    def scatter_add_(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """Return ``self`` with ``src`` added at indices along ``dim``: ``self[index[i, j], j] += src[i, j]`` for
        ``dim=0``.
        """
    def scatter_reduce(
        self, dim: AnyDim, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """Return ``self`` with ``src`` reduced (sum, product, mean or extremum) into the elements at indices along a
        dimension.

        With ``include_self=False`` the elements of ``self`` at the indices are not part of the reduction.
        """
    def scatter_reduce_(
        self, dim: AnyDim, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """Return ``self`` with ``src`` reduced (sum, product, mean or extremum) into the elements at indices along a
        dimension.

        With ``include_self=False`` the elements of ``self`` at the indices are not part of the reduction.
        """
    def select(self, dim: AnyDim, index: _int) -> Tensor:
        """Return a view at one index of a dimension, without that dimension."""
    def select_scatter(self, src: Tensor, dim: AnyDim, index: _int) -> Tensor:
        """Return a copy of ``self`` with ``src`` where ``select`` selects elements."""
    @overload
    def set_(self) -> Tensor:
        """Make the tensor empty, with a single dimension of size 0, in new memory."""
    @overload
    def set_(self, source: Tensor) -> Tensor:
        """Make the tensor share the memory, shape and strides of ``source``."""
    @overload
    def set_(self, source: Tensor, storage_offset: _int, size: Sequence[_int], stride: Sequence[_int] = ()) -> Tensor:
        """Make the tensor share memory of ``source``, with the given offset, size and strides."""
    def sgn(self) -> Tensor:
        """Return ``sign`` of real elements; complex ones are divided by their magnitude, except for 0."""
    def sgn_(self) -> Tensor:
        """Return ``sign`` of real elements; complex ones are divided by their magnitude, except for 0."""
    def short(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """Return the tensor converted to opdsl.int16; the tensor itself if it has that dtype.

        Args:
            memory_format: the memory layout of the result; by default that of the tensor.
        """
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    def sigmoid_(self) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    def sign(self) -> Tensor:
        """Return -1, 0 or 1 for negative, zero or positive elements; 0 for NaN."""
    def sign_(self) -> Tensor:
        """Return -1, 0 or 1 for negative, zero or positive elements; 0 for NaN."""
    def signbit(self) -> Tensor:
        """Return a mask of the elements whose sign bit is set, which includes -0.0."""
    def sin(self) -> Tensor:
        """Return the sine of every element, an angle in radians."""
    def sin_(self) -> Tensor:
        """Return the sine of every element, an angle in radians."""
    def sinc(self) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    def sinc_(self) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    def sinh(self) -> Tensor:
        """Return the hyperbolic sine of every element."""
    def sinh_(self) -> Tensor:
        """Return the hyperbolic sine of every element."""
    def slice_inverse(
        self, src: Tensor, dim: AnyDim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
    ) -> Tensor:
        """Return the base of a slice: a view of the memory of ``self`` with the shape, strides and offset of ``src``."""
    def slice_scatter(
        self, src: Tensor, dim: AnyDim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
    ) -> Tensor:
        """Return a copy of ``self`` with ``src`` where ``slice`` selects elements."""
    def slogdet(self) -> _results_slogdet:
        """Another name of ``linalg_slogdet``: Return the signs of determinants and the logarithms of their magnitudes: 0 and -inf for a singular matrix."""
    def softmax(self, dim: AnyDim, dtype: DType | None = None) -> Tensor:
        """``exp(x) / sum(exp(x))`` along dimension ``dim``, where ``x`` is ``self``, converted to ``dtype`` if given."""
    @overload
    def sort(self, *, stable: _bool | None, dim: AnyDim = -1, descending: _bool = False) -> _results_sort:
        """Return ``sort`` with equal elements in their original order, unless ``stable=False``."""
    @overload
    def sort(self, dim: AnyDim = -1, descending: _bool = False) -> _results_sort:
        """Return the elements along a dimension in order, and their indices; NaN is the largest."""
    @overload
    def split(self, split_size: _int, dim: AnyDim = 0) -> list[Tensor]:
        """Return views of consecutive parts of a dimension, each of size ``split_size``; the last may be smaller."""
    @overload
    def split(self, split_size: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """Return views of consecutive parts of a dimension with the given sizes."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """Return views of consecutive parts of a dimension with the given sizes."""
    def sqrt(self) -> Tensor:
        """Return the square root of every element; NaN below 0."""
    def sqrt_(self) -> Tensor:
        """Return the square root of every element; NaN below 0."""
    def square(self) -> Tensor:
        """``self ** 2``"""
    def square_(self) -> Tensor:
        """``self ** 2``"""
    @overload
    def squeeze(self) -> Tensor:
        """Return a view without the dimensions of size 1."""
    @overload
    def squeeze(self, dim: AnyDims) -> Tensor:
        """Return a view without those of the given dimensions whose size is 1."""
    @overload
    def squeeze(self, *dim: _int) -> Tensor: ...
    @overload
    def squeeze_(self) -> Tensor:
        """Return a view without the dimensions of size 1."""
    @overload
    def squeeze_(self, dim: AnyDims) -> Tensor:
        """Return a view without those of the given dimensions whose size is 1."""
    @overload
    def squeeze_(self, *dim: _int) -> Tensor: ...
    @overload
    def std(self, dim: AnyDims | None, unbiased: _bool = True, keepdim: _bool = False) -> Tensor:
        """Return the standard deviation along dimensions, estimated from a sample if ``unbiased``."""
    @overload
    def std(self, unbiased: _bool = True) -> Tensor:
        """Return the standard deviation of all elements, estimated from a sample if ``unbiased``."""
    @overload
    def std(self, dim: AnyDims | None = None, *, correction: Scalar | None = None, keepdim: _bool = False) -> Tensor:
        """Return the standard deviation along dimensions: the square root of the variance."""
    @overload
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        center: _bool = True,
        pad_mode: str = "reflect",
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
        align_to_window: _bool | None = None,
    ) -> Tensor:
        """Return the short-time Fourier transform: the transforms of windows that slide over signals.

        Args:
            self: signals of shape (length) or (batch, length).
            n_fft: how many points each transform has.
            hop_length: the distance between starts of successive windows; a quarter of ``n_fft`` by default.
            win_length: the length of the window; ``n_fft`` by default.
            window: factors of the points in a window; ones by default.
            center: whether windows are centered at multiples of ``hop_length``; the signal is then padded on both sides.
            pad_mode: how ``center`` pads the signal, see ``pad``.
            normalized: whether results are divided by the root of ``n_fft``.
            onesided: whether results have only the ``n_fft // 2 + 1`` frequencies that determine the others; the default
                for real signals.
            return_complex: whether results are complex, or pairs of real numbers.
            align_to_window: whether a window shorter than ``n_fft`` begins at the first point. Only without ``center``.

        Returns:
            (batch, frequencies, windows), without ``batch`` for one signal, with a last dimension of 2 for pairs.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other.
        """
    @overload
    def stft(
        self,
        n_fft: _int,
        hop_length: _int | None = None,
        win_length: _int | None = None,
        window: Tensor | None = None,
        normalized: _bool = False,
        onesided: _bool | None = None,
        return_complex: _bool | None = None,
        align_to_window: _bool | None = None,
    ) -> Tensor:
        """Return the short-time Fourier transform, as ``stft`` with ``center=False``."""
    def sub(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``self - alpha * other``"""
    def sub_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``self - alpha * other``"""
    def subtract(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    def subtract_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """Another name of ``sub``: ``self - alpha * other``"""
    @overload
    def sum(self, *, dtype: DType | None = None) -> Tensor:
        """Return the sum of all elements."""
    @overload
    def sum(self, dim: AnyDims | None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """Return the sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor:
        """Sum over the dimensions along which a tensor of shape ``size`` would be broadcast; return ``self`` if there are
        none.
        """
    @overload
    def sum_to_size(self, *size: _int) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _results_svd:
        """Return ``linalg.svd`` with the right singular vectors as columns; without ``compute_uv`` the vectors
        are zeros.
        """
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """Return a view with two dimensions swapped; NumPy's name of ``transpose``."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """Return a view with two dimensions swapped; NumPy's name of ``transpose``."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped; another name of ``transpose``."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped; another name of ``transpose``."""
    def t(self) -> Tensor:
        """Return the transpose of a matrix as a view; vectors and zero-dim tensors are unchanged."""
    def t_(self) -> Tensor:
        """Return the transpose of a matrix as a view; vectors and zero-dim tensors are unchanged."""
    def take(self, index: Tensor) -> Tensor:
        """Return the elements at indices into the flattened tensor, in row-major order."""
    def take_along_dim(self, indices: Tensor, dim: AnyDim | None = None) -> Tensor:
        """Return ``gather`` with the other dimensions broadcast; if ``dim`` is None, from the flattened tensor."""
    def tan(self) -> Tensor:
        """Return the tangent of every element, an angle in radians."""
    def tan_(self) -> Tensor:
        """Return the tangent of every element, an angle in radians."""
    def tanh(self) -> Tensor:
        """Return the hyperbolic tangent of every element."""
    def tanh_(self) -> Tensor:
        """Return the hyperbolic tangent of every element."""
    @overload
    def tensor_split(self, indices: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """Split a dimension at the given indices."""
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: AnyDim = 0) -> list[Tensor]:
        """Split a dimension by ``tensor_split``, with a tensor that is the number of parts or the indices."""
    @overload
    def tensor_split(self, sections: _int, dim: AnyDim = 0) -> list[Tensor]:
        """Split a dimension into ``sections`` parts, whose sizes differ by one at most."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor:
        """Repeat the whole tensor along the last dimensions the given number of times, see ``repeat``."""
    @overload
    def tile(self, *dims: _int) -> Tensor: ...
    @overload
    def to(
        self,
        dtype: DType,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        device: Device | str | _int | None = None,
        dtype: DType | None = None,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor: ...
    @overload
    def to(
        self,
        other: Tensor,
        non_blocking: _bool = False,
        copy: _bool = False,
        *,
        memory_format: MemoryFormat | None = None,
    ) -> Tensor: ...
    def to_dense(self, dtype: DType | None = None, *, masked_grad: _bool | None = None) -> Tensor:
        """Return a copy of the tensor, converted to ``dtype`` if given; all tensors are dense already."""
    def topk(self, k: _int, dim: AnyDim = -1, largest: _bool = True, sorted: _bool = True) -> _results_topk:
        """Return the ``k`` largest (or smallest) elements along a dimension, the largest (smallest) first, and their
        indices.
        """
    def trace(self) -> Tensor:
        """Return the sum of the main diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Return a view with two dimensions swapped."""
    def triangular_solve(
        self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False
    ) -> _results_triangular_solve:
        """Return the solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Prefer
        ``linalg.solve_triangular``.
        """
    def tril(self, diagonal: _int = 0) -> Tensor:
        """Return the lower triangle of matrices, up to and including a diagonal, and zeros elsewhere."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """Return the lower triangle of matrices, up to and including a diagonal, and zeros elsewhere."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """Return the upper triangle of matrices, from a diagonal on, and zeros elsewhere."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """Return the upper triangle of matrices, from a diagonal on, and zeros elsewhere."""
    def true_divide(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    def true_divide_(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    def trunc(self) -> Tensor:
        """Return every element rounded towards zero to an integer."""
    def trunc_(self) -> Tensor:
        """Return every element rounded towards zero to an integer."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> str: ...
    @overload
    def type(self, dtype: DType, non_blocking: _bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """Return the tensor converted to the dtype and device of another one."""
    def unbind(self, dim: AnyDim = 0) -> list[Tensor]:
        """Return a list of views, one for each index of a dimension, without that dimension."""
    def unflatten(self, dim: AnyDim, sizes: Sequence[_int]) -> Tensor:
        """Return a view with one dimension split into several."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Return a view of sliding windows of ``size`` elements at the distance ``step``; the window is a new last
        dimension.
        """
    def uniform_(self, from_: _float = 0, to: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fill the tensor with uniformly distributed numbers from ``from`` up to, but not including, ``to``."""
    def unique(
        self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """Return the distinct elements of a tensor in order, or its distinct slices along a dimension.

        Args:
            input: the tensor.
            sorted: has no effect; the result is always sorted.
            return_inverse: whether to also return the index of each element among the distinct ones.
            return_counts: whether to also return how often each distinct element occurs.
            dim: the dimension whose slices are compared; None compares elements.

        Returns:
            The distinct elements; a tuple if further results are requested.

        Raises:
            DimensionError: there is no such dimension.
            UnsupportedDTypeError: the elements are complex.

        >>> import opdsl
        >>> opdsl.unique(opdsl.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3]), tensor([1, 2]))
        """
    def unique_consecutive(
        self, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """Return the elements of a tensor, or its slices along a dimension, that differ from the preceding one.

        Args:
            input: the tensor.
            return_inverse: whether to also return the index of each element's run of equal elements.
            return_counts: whether to also return the length of each run.
            dim: the dimension whose slices are compared; None compares elements.

        Returns:
            The first element or slice of each run; a tuple if further results are requested.

        Raises:
            DimensionError: there is no such dimension.

        >>> import opdsl
        >>> opdsl.unique_consecutive(opdsl.tensor([3, 3, 1, 3]), return_counts=True)
        (tensor([3, 1, 3]), tensor([2, 1, 1]))
        """
    def unsafe_chunk(self, chunks: _int, dim: AnyDim = 0) -> list[Tensor]:
        """Return ``chunk`` for callers that write at most one of the parts: autograd does not treat them as views."""
    def unsafe_split(self, split_size: _int, dim: AnyDim = 0) -> list[Tensor]:
        """Return ``split`` for callers that write at most one of the parts: autograd does not treat them as views."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """Return ``split_with_sizes`` for callers that write at most one of the parts: autograd does not treat them as
        views.
        """
    def unsqueeze(self, dim: AnyDim) -> Tensor:
        """Return a view with a new dimension of size 1."""
    def unsqueeze_(self, dim: AnyDim) -> Tensor:
        """Return a view with a new dimension of size 1."""
    def values(self) -> Tensor:
        """Refuse to return a part of a sparse tensor, as all tensors are dense."""
    @overload
    def var(self, dim: AnyDims | None, unbiased: _bool = True, keepdim: _bool = False) -> Tensor:
        """Return the variance along dimensions, estimated from a sample if ``unbiased``."""
    @overload
    def var(self, unbiased: _bool = True) -> Tensor:
        """Return the variance of all elements, estimated from a sample if ``unbiased``."""
    @overload
    def var(self, dim: AnyDims | None = None, *, correction: Scalar | None = None, keepdim: _bool = False) -> Tensor:
        """Return the variance along dimensions: the sum of squared deviations from the mean, divided by the number of
        elements minus ``correction`` (1 for None).
        """
    def vdot(self, other: Tensor) -> Tensor:
        """Return the scalar product of two vectors, the first of them conjugated."""
    @overload
    def view(self, dtype: DType) -> Tensor:
        """Return a view of the same bytes as elements of another dtype."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor:
        """Return a view with another shape. The strides must allow it."""
    @overload
    def view(self, *size: _int) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """Return a view with the shape of another tensor. The strides must allow it."""
    @overload
    def vsplit(self, sections: _int) -> list[Tensor]:
        """Return ``sections`` views of parts of equal size along the first dimension."""
    @overload
    def vsplit(self, indices: Sequence[_int]) -> list[Tensor]:
        """Return views of the parts between ``indices`` along the first dimension."""
    @overload
    def vsplit(self, *indices: _int) -> list[Tensor]: ...
    @overload
    def where(self, condition: Tensor, other: Tensor) -> Tensor:
        """``self if condition else other``, for each element."""
    @overload
    def where(self, condition: Tensor, other: Scalar) -> Tensor:
        """``self if condition else other``, for a number ``other``."""
    @overload
    def xlogy(self, other: Tensor) -> Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @overload
    def xlogy(self, other: Scalar) -> Tensor: ...
    @overload
    def xlogy_(self, other: Tensor) -> Tensor:
        """``self * log(other)``; 0 where ``self`` is 0."""
    @overload
    def xlogy_(self, other: Scalar) -> Tensor: ...
    def zero_(self) -> Tensor:
        """Set every element to 0."""

Array = NDArray[Any]
_CONTIGUOUS: MemoryFormat
_NumpyArray = numpy.ndarray[Any, Any]
_NumpyDType = numpy.dtype[Any]
_Parts = tuple[_NumpyArray | None, DType, Device, tuple[int, ...], tuple[int, ...], bool]
Index = SupportsIndex | slice | EllipsisType | Tensor | Array | range | list[Any] | tuple[Any, ...] | None

class Readable(Protocol):
    """Protocol of objects that can be indexed like a tensor, to read elements."""

    def __getitem__(self, index: Index) -> Tensor: ...

class MetaArray:
    """Array of a meta tensor whose first element is not at the beginning of its storage; it only has the offset."""

    offset: int
    __slots__ = ("offset",)
    def __init__(self, offset: int) -> None: ...

_NO_OFFSET: MetaArray

class _DeviceOf(type):
    """Metaclass whose ``isinstance`` check tests a tensor's device type."""

    device_type: str
    def __instancecheck__(cls, instance: object) -> bool: ...

class CPUTensor(Tensor, metaclass=_DeviceOf):
    """Type of CPU tensors, for annotations and ``isinstance``; their ``array`` is a ``numpy.ndarray``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CPUTensor)
    True
    """

    __slots__ = ()
    device_type: ClassVar[str]

class CUDATensor(Tensor, metaclass=_DeviceOf):
    """Type of tensors on CUDA devices, for annotations and ``isinstance``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CUDATensor)
    False
    """

    __slots__ = ()
    device_type: ClassVar[str]

def wrap(array: _NumpyArray, dtype: DType) -> Tensor:
    """Return a CPU tensor that owns ``array``, which must be in the storage dtype of ``dtype``.

    Raises:
        InterchangeError: a stride is negative or no multiple of the itemsize.
    """

def _dimension_of_values(dim: int, values: tuple[int, ...]) -> int: ...
def _parts(tensor: Tensor) -> _Parts:
    """Return the arguments of ``_rebuild`` for a tensor: its elements in memory order without gaps, and more."""

def _rebuild(
    elements: _NumpyArray | None,
    dtype: DType,
    device: Device,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
) -> Tensor: ...
