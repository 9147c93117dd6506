# Written by `opdsl stubs` from the declarations; not to be edited.
# A static method may have a parameter `self`: schemas have one.
# pyright: reportSelfClsParameterName=false
"""``Tensor``: an array, its geometry, and what of PyTorch's tensor needs no operator."""

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
    """A tensor. Make one with ``opdsl.tensor``, ``opdsl.from_numpy`` or an operator; ``Tensor()`` alone is unfinished.

    What it holds stands at ``TensorBase``.

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
        """``Tensor[Alias("a")]`` means ``Annotated[Tensor, Alias("a")]``."""
    @property
    def shape(self) -> tuple[_int, ...]:
        """The sizes of its dimensions."""
    @property
    def names(self) -> tuple[str | None, ...]:
        """The names of its dimensions, None for each that has none."""
    @property
    def strides(self) -> tuple[_int, ...]:
        """The steps of its dimensions, in elements."""
    @property
    def dtype(self) -> DType:
        """The type of its elements."""
    @property
    def device(self) -> Device:
        """Where it lives."""
    @property
    def layout(self) -> Layout:
        """How its elements are addressed."""
    @property
    def ndim(self) -> _int:
        """The number of its dimensions."""
    @property
    def itemsize(self) -> _int:
        """Bytes of one element."""
    @property
    def nbytes(self) -> _int:
        """Bytes of all elements."""
    @property
    def is_cpu(self) -> _bool:
        """Whether it lives in the memory of the CPU."""
    @property
    def is_cuda(self) -> _bool:
        """Whether it lives on a CUDA device."""
    @property
    def is_meta(self) -> _bool:
        """Whether it has a geometry only."""
    @property
    def is_sparse(self) -> _bool:
        """Always False: tensors are strided."""
    @property
    def is_quantized(self) -> _bool:
        """Always False: quantized dtypes are not supported."""
    def dim(self) -> _int:
        """The number of its dimensions."""
    ndimension = dim
    def numel(self) -> _int:
        """The number of its elements."""
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
        """Bytes of one element."""
    def get_device(self) -> _int:
        """The index of its device, -1 where it has none."""
    def is_contiguous(self, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> _bool:
        """Whether its elements lie without gaps in the order of a memory format.

        Args:
            memory_format: ``opdsl.contiguous_format``, where the last dimension is the innermost, or
                ``opdsl.channels_last``.
        """
    def is_floating_point(self) -> _bool:
        """Whether its dtype is a real floating-point one."""
    def is_complex(self) -> _bool:
        """Whether its dtype is complex."""
    def is_signed(self) -> _bool:
        """Whether its dtype can hold negative values."""
    def _is_view(self) -> _bool: ...
    @property
    def _version(self) -> _int:
        """How often its memory has been written, through it or through what shares its history.

        Raises:
            RequiresGradError: it was made in inference mode, where nobody counts.
        """
    def data_ptr(self) -> _int:
        """The address of its first element; 0 where there is none."""
    def storage_offset(self) -> _int:
        """How many elements lie in its memory before its first one."""
    def item(self) -> _bool | _int | _float | complex:
        """Its one element as a Python number.

        Raises:
            ConversionError: it has more or fewer than one element, or no data.
        """
    def tolist(self) -> Any:
        """Its elements as nested lists of Python numbers, one number when it has no dimensions.

        Raises:
            ConversionError: it has no data (meta).
        """
    def __len__(self) -> _int: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> _int: ...
    def numpy(self, *, force: _bool = False) -> _NumpyArray:
        """Its elements as a NumPy array that shares its memory.

        Args:
            force: copies to the host where the memory cannot be shared, and drops the gradient.

        Raises:
            InterchangeError: it is not on the CPU, requires gradients, or is bfloat16 without ml_dtypes.
        """
    def __array__(self, dtype: _NumpyDType | None = None, copy: _bool | None = None) -> _NumpyArray: ...
    def __arrow_array__(self, type: object = None) -> Any:
        """``pyarrow.array(x)``: of one dimension, over the same memory where Arrow's layout allows it."""
    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Arrow's protocol, by which polars and others take it: ``polars.Series(x)``; of one dimension."""
    def __array_wrap__(self, array: _NumpyArray, context: object = None, return_scalar: _bool = False) -> Tensor:
        """What NumPy's functions give for tensors: ``numpy.sin(x)`` is a tensor over the array that NumPy made."""
    def __array_function__(
        self,
        function: Callable[..., object],
        types: Collection[_type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        """NumPy's functions: those that ``opdsl.array_api`` has give tensors, others compute on arrays.

        >>> import numpy, opdsl
        >>> numpy.concatenate([opdsl.ones(1), opdsl.zeros(2)])
        tensor([1., 0., 0.])
        """
    def astype(self, dtype: DType | _NumpyDType | _type | str, copy: _bool = True) -> Tensor:
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
    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """The CUDA Array Interface (version 3), by which numba, cupy and torch share its memory; on CUDA alone.

        Raises:
            AttributeError: it is on another device.
            InterchangeError: it is bfloat16, or requires gradients.
        """
    def __dlpack_device__(self) -> tuple[_int, _int]:
        """Where a DLPack consumer finds it, as ``(device type, index)``."""
    def __dlpack__(
        self,
        *,
        stream: _int | None = None,
        max_version: tuple[_int, _int] | None = None,
        dl_device: tuple[_int, _int] | None = None,
        copy: _bool | None = None,
    ) -> object:
        """A DLPack capsule that shares its memory (or a copy of it where ``copy=True``).

        Raises:
            InterchangeError: it cannot be handed out that way; the message says how it can.
        """
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
    def to_device(self, device: Device | str, /, *, stream: object = None) -> Tensor:
        """The tensor on a device; itself where it is there.

        Args:
            device: where to.
            stream: None; ``with opdsl.cuda.stream(s)`` says on which stream it is copied.

        Raises:
            DeviceError: there is no such device, or a stream is named.
        """
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
    def _repr_html_(self) -> str: ...
    def __format__(self, specification: str) -> str: ...
    def __copy__(self) -> Tensor: ...
    def __deepcopy__(self, memo: dict[_int, object]) -> Tensor: ...
    def __reduce_ex__(self, protocol: object) -> tuple[object, _Parts]: ...
    @property
    def H(self) -> Tensor:
        """``x.H``: a matrix transposed and conjugated."""
    @property
    def T(self) -> Tensor:
        """``x.T``: all dimensions the other way round."""
    def __abs__(self) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""
    def __add__(self, other: Tensor | Scalar) -> Tensor:
        """``self + alpha * other``"""
    @overload
    def __and__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_and``: ``self & other``; of bools whether both hold."""
    @overload
    def __and__(self, other: Scalar) -> Tensor: ...
    def __contains__(self, element: Tensor | complex) -> _bool:
        """``element in self``: whether any element is equal to it.

        Raises:
            ConversionError: it is no tensor and no number.
        """
    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        """Return where ``self`` is equal to ``other``."""
    def __floordiv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    @overload
    def __ge__(self, other: Tensor) -> Tensor:
        """Return where ``self`` is at least ``other``."""
    @overload
    def __ge__(self, other: Scalar) -> Tensor: ...
    def __getitem__(self, index: Index) -> Tensor:
        """``x[index]``: a view where ints, slices, ``None`` and ``...`` index, new elements where tensors do."""
    @overload
    def __gt__(self, other: Tensor) -> Tensor:
        """Return where ``self`` is greater than ``other``."""
    @overload
    def __gt__(self, other: Scalar) -> Tensor: ...
    def __iadd__(self, other: Tensor | Scalar) -> Tensor:
        """``self + alpha * other``"""
    @overload
    def __iand__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_and``: ``self & other``; of bools whether both hold."""
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
        """What dividing down leaves; it has the sign of ``other``."""
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
        """Another name of ``bitwise_or``: ``self | other``; of bools whether one holds."""
    @overload
    def __ior__(self, other: Scalar) -> Tensor: ...
    @overload
    def __ipow__(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @overload
    def __ipow__(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number."""
    @overload
    def __irshift__(self, other: Tensor) -> Tensor:
        """``self >> other``"""
    @overload
    def __irshift__(self, other: Scalar) -> Tensor: ...
    def __isub__(self, other: Tensor | Scalar) -> Tensor:
        """``self - alpha * other``"""
    def __iter__(self) -> Iterator[Tensor]:
        """``for row in x``: the positions of the first dimension.

        Raises:
            ArgumentError: the tensor has no dimensions.
        """
    def __itruediv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __ixor__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; of bools whether one of them holds."""
    @overload
    def __ixor__(self, other: Scalar) -> Tensor: ...
    @overload
    def __le__(self, other: Tensor) -> Tensor:
        """Return where ``self`` is at most ``other``."""
    @overload
    def __le__(self, other: Scalar) -> Tensor: ...
    @overload
    def __lshift__(self, other: Tensor) -> Tensor:
        """``self << other``"""
    @overload
    def __lshift__(self, other: Scalar) -> Tensor: ...
    @overload
    def __lt__(self, other: Tensor) -> Tensor:
        """Return where ``self`` is less than ``other``."""
    @overload
    def __lt__(self, other: Scalar) -> Tensor: ...
    def __matmul__(self, other: Tensor) -> Tensor:
        """The matrix product, with vectors and broadcast batches as ``numpy.matmul`` has them."""
    @overload
    def __mod__(self, other: Tensor) -> Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @overload
    def __mod__(self, other: Scalar) -> Tensor: ...
    def __mul__(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        """Return where ``self`` is different from ``other``."""
    def __neg__(self) -> Tensor:
        """``-self``"""
    @overload
    def __or__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_or``: ``self | other``; of bools whether one holds."""
    @overload
    def __or__(self, other: Scalar) -> Tensor: ...
    def __pos__(self) -> Tensor:
        """``self`` itself."""
    @overload
    def __pow__(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @overload
    def __pow__(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number."""
    def __radd__(self, other: Tensor | Scalar) -> Tensor:
        """``self + alpha * other``"""
    @overload
    def __rand__(self, other: Tensor) -> Tensor:
        """``self & other``; of bools whether both hold."""
    @overload
    def __rand__(self, other: Scalar) -> Tensor: ...
    def __repr__(self) -> str:
        """The tensor's text, which names the dtype where it is not the default one."""
    def __reversed__(self) -> Tensor:
        """``reversed(self)``: its slices along the first dimension in the other order."""
    def __rfloordiv__(self, other: Scalar) -> Tensor: ...
    def __rlshift__(self, other: Scalar) -> Tensor: ...
    def __rmatmul__(self, other: Scalar) -> Tensor: ...
    def __rmod__(self, other: Scalar) -> Tensor: ...
    def __rmul__(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    @overload
    def __ror__(self, other: Tensor) -> Tensor:
        """``self | other``; of bools whether one holds."""
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
        """``other - alpha * self`` for a number."""
    def __rtruediv__(self, other: Scalar) -> Tensor:
        """``other / self``, as PyTorch computes it: the reciprocal times the number; a quotient for arrays."""
    @overload
    def __rxor__(self, other: Tensor) -> Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @overload
    def __rxor__(self, other: Scalar) -> Tensor: ...
    def __setitem__(self, index: Index, value: Tensor | Scalar) -> None:
        """``x[index] = value``: a number, a tensor or a NumPy array that broadcasts."""
    def __sub__(self, other: Tensor | Scalar) -> Tensor:
        """``self - alpha * other``"""
    def __truediv__(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``; integers are divided as floating-point numbers."""
    @overload
    def __xor__(self, other: Tensor) -> Tensor:
        """Another name of ``bitwise_xor``: ``self ^ other``; of bools whether one of them holds."""
    @overload
    def __xor__(self, other: Scalar) -> Tensor: ...
    def _addmm_activation(
        self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1, use_gelu: _bool = False
    ) -> Tensor:
        """``relu``, or ``gelu``, of ``addmm``."""
    def _autocast_to_full_precision(self, cuda_enabled: _bool, cpu_enabled: _bool) -> Tensor:
        """A tensor of 16-bit numbers as float32, where its device computes in less; any other as it is."""
    def _autocast_to_reduced_precision(
        self, cuda_enabled: _bool, cpu_enabled: _bool, cuda_dtype: DType, cpu_dtype: DType
    ) -> Tensor:
        """A float32 tensor in the dtype that its device computes in; any other as it is."""
    def _conj(self) -> Tensor:
        """A view of complex numbers that stands for their conjugates."""
    def _conj_physical(self) -> Tensor:
        """The conjugate complex numbers."""
    def _is_all_true(self) -> Tensor:
        """Return whether all elements are true."""
    def _is_any_true(self) -> Tensor:
        """Return whether an element is true."""
    def _is_zerotensor(self) -> _bool:
        """False: no tensor of this kind stands for zeros without memory."""
    def _lazy_clone(self) -> Tensor:
        """A copy; PyTorch's is not made before one of the two is written."""
    def _neg_view(self) -> Tensor:
        """A view that stands for the negatives."""
    def abs(self) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""
    def abs_(self) -> Tensor:
        """The magnitude of every element; of complex numbers a real one."""
    def absolute(self) -> Tensor:
        """Another name of ``abs``: The magnitude of every element; of complex numbers a real one."""
    def absolute_(self) -> Tensor:
        """Another name of ``abs``: The magnitude of every element; of complex numbers a real one."""
    def acos(self) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def acos_(self) -> Tensor:
        """The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def acosh(self) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""
    def acosh_(self) -> Tensor:
        """The inverse hyperbolic cosine of every element; NaN below 1."""
    def add(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``self + alpha * other``"""
    def add_(self, other: Tensor | Scalar, *, alpha: Scalar = 1) -> Tensor:
        """``self + alpha * other``"""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self`` and ``alpha`` times the sum of the products of a batch."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``addbmm`` into ``self``."""
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 / tensor2``"""
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: Scalar = 1) -> Tensor:
        """``self + value * tensor1 * tensor2``"""
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat1 @ mat2)``; NaN in ``self`` does not count for ``beta=0``."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (mat @ vec)`` for a vector."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * outer(vec1, vec2)``; NaN in ``self`` does not count for ``beta=0``."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * outer(vec1, vec2)``; NaN in ``self`` does not count for ``beta=0``."""
    def adjoint(self) -> Tensor:
        """Every matrix of a batch transposed and conjugated."""
    def all(self, dim: AnyDims | None = None, keepdim: _bool = False) -> Tensor:
        """Whether all elements along dimensions, along all for ``dim=None``, are not zero."""
    def allclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> _bool:
        """Return whether all elements are close (``isclose``)."""
    def amax(self, dim: AnyDims = (), keepdim: _bool = False) -> Tensor:
        """The largest element along dimensions, along all for none given; NaN where there is one."""
    def amin(self, dim: AnyDims = (), keepdim: _bool = False) -> Tensor:
        """The smallest element along dimensions, along all for none given; NaN where there is one."""
    def aminmax(self, *, dim: AnyDim | None = None, keepdim: _bool = False) -> _results_aminmax:
        """The smallest and the largest element along a dimension, or of all."""
    def angle(self) -> Tensor:
        """The angle of every complex number; of real ones 0, or pi where they are negative."""
    def any(self, dim: AnyDims | None = None, keepdim: _bool = False) -> Tensor:
        """Whether any element along dimensions, along all for ``dim=None``, is not zero."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor:
        """Replace each element by what a Python function gives for it: slow, one call for each.

        Args:
            callable: takes an element as a Python number and returns one.

        Raises:
            DeviceError: a tensor that is not on the CPU.
            RequiresGradError: a tensor that requires grad.

        >>> import opdsl
        >>> opdsl.tensor([1.0, 4.0]).apply_(lambda x: x + 1)
        tensor([2., 5.])
        """
    def arccos(self) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def arccos_(self) -> Tensor:
        """Another name of ``acos``: The arccosine of every element, in [0, pi]; NaN outside of [-1, 1]."""
    def arccosh(self) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""
    def arccosh_(self) -> Tensor:
        """Another name of ``acosh``: The inverse hyperbolic cosine of every element; NaN below 1."""
    def arcsin(self) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def arcsin_(self) -> Tensor:
        """Another name of ``asin``: The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def arcsinh(self) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""
    def arcsinh_(self) -> Tensor:
        """Another name of ``asinh``: The inverse hyperbolic sine of every element."""
    def arctan(self) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""
    def arctan2(self, other: Tensor) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def arctan2_(self, other: Tensor) -> Tensor:
        """Another name of ``atan2``: The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def arctan_(self) -> Tensor:
        """Another name of ``atan``: The arctangent of every element, in [-pi/2, pi/2]."""
    def arctanh(self) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def arctanh_(self) -> Tensor:
        """Another name of ``atanh``: The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def argmax(self, dim: AnyDim | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the largest element along a dimension, or among all in row-major order; of several the first."""
    def argmin(self, dim: AnyDim | None = None, keepdim: _bool = False) -> Tensor:
        """The position of the smallest element along a dimension, or among all in row-major order; of several the first."""
    @overload
    def argsort(self, *, stable: _bool, dim: AnyDim = -1, descending: _bool = False) -> Tensor:
        """The indices of the elements along a dimension in order, equal ones in theirs."""
    @overload
    def argsort(self, dim: AnyDim = -1, descending: _bool = False) -> Tensor:
        """The indices of the elements along a dimension in order."""
    def argwhere(self) -> Tensor:
        """``nonzero``, by NumPy's name."""
    def as_strided(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Any shape, strides and offset inside the storage."""
    def as_strided_(self, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None) -> Tensor:
        """Any shape, strides and offset inside the storage, given to the tensor itself."""
    def as_strided_scatter(
        self, src: Tensor, size: Sequence[_int], stride: Sequence[_int], storage_offset: _int | None = None
    ) -> Tensor:
        """A copy of ``self``, where what ``as_strided`` shows is ``src``."""
    def asin(self) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def asin_(self) -> Tensor:
        """The arcsine of every element, in [-pi/2, pi/2]; NaN outside of [-1, 1]."""
    def asinh(self) -> Tensor:
        """The inverse hyperbolic sine of every element."""
    def asinh_(self) -> Tensor:
        """The inverse hyperbolic sine of every element."""
    def atan(self) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""
    def atan2(self, other: Tensor) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def atan2_(self, other: Tensor) -> Tensor:
        """The angle of the point (``other``, ``self``) in the plane, in [-pi, pi]."""
    def atan_(self) -> Tensor:
        """The arctangent of every element, in [-pi/2, pi/2]."""
    def atanh(self) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def atanh_(self) -> Tensor:
        """The inverse hyperbolic tangent of every element; NaN outside of [-1, 1]."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1) -> Tensor:
        """``beta * self + alpha * (batch1 @ batch2)`` for each matrix of a batch."""
    @overload
    def bernoulli(self, *, generator: Generator | None = None) -> Tensor:
        """1 where a trial with the probability of the element succeeds, 0 elsewhere."""
    @overload
    def bernoulli(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """1 where a trial with the probability ``p`` succeeds, 0 elsewhere, in the form of a tensor."""
    @overload
    def bernoulli_(self, p: Tensor, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with 1 where a trial with the probability of ``p``'s element succeeds, with 0 elsewhere."""
    @overload
    def bernoulli_(self, p: _float = 0.5, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with 1 where a trial with the probability ``p`` succeeds, with 0 elsewhere."""
    def bfloat16(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.bfloat16; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def bincount(self, weights: Tensor | None = None, minlength: _int = 0) -> Tensor:
        """Return how often each number from 0 on is among integers, or the sum of the weights where it is.

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
        """``self & other``; of bools whether both hold."""
    @overload
    def bitwise_and(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_and_(self, other: Tensor) -> Tensor:
        """``self & other``; of bools whether both hold."""
    @overload
    def bitwise_and_(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_left_shift(self, other: Tensor) -> Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @overload
    def bitwise_left_shift(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_left_shift_(self, other: Tensor) -> Tensor:
        """``self << other``; 0 where a shift is negative or too far."""
    @overload
    def bitwise_left_shift_(self, other: Scalar) -> Tensor: ...
    def bitwise_not(self) -> Tensor:
        """``~self``; of bools the opposite."""
    def bitwise_not_(self) -> Tensor:
        """``~self``; of bools the opposite."""
    @overload
    def bitwise_or(self, other: Tensor) -> Tensor:
        """``self | other``; of bools whether one holds."""
    @overload
    def bitwise_or(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_or_(self, other: Tensor) -> Tensor:
        """``self | other``; of bools whether one holds."""
    @overload
    def bitwise_or_(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_right_shift(self, other: Tensor) -> Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @overload
    def bitwise_right_shift(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_right_shift_(self, other: Tensor) -> Tensor:
        """``self >> other``; the sign alone where a shift is negative or too far."""
    @overload
    def bitwise_right_shift_(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_xor(self, other: Tensor) -> Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @overload
    def bitwise_xor(self, other: Scalar) -> Tensor: ...
    @overload
    def bitwise_xor_(self, other: Tensor) -> Tensor:
        """``self ^ other``; of bools whether one of them holds."""
    @overload
    def bitwise_xor_(self, other: Scalar) -> Tensor: ...
    def bmm(self, mat2: Tensor) -> Tensor:
        """The products of two batches of matrices."""
    def bool(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.bool; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    @overload
    def broadcast_to(self, size: Sequence[_int]) -> Tensor:
        """``expand``, by NumPy's name."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor: ...
    def byte(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.uint8; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def cauchy_(self, median: _float = 0, sigma: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with Cauchy distributed numbers."""
    def cdouble(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.complex128; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def ceil(self) -> Tensor:
        """The least integer that is not below each element."""
    def ceil_(self) -> Tensor:
        """The least integer that is not below each element."""
    def cfloat(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.complex64; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def char(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.int8; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def cholesky(self, upper: _bool = False) -> Tensor:
        """The older name of ``linalg.cholesky``.

        Raises:
            LinearAlgebraError: a matrix is not positive definite.
        """
    def cholesky_inverse(self, upper: _bool = False) -> Tensor:
        """The inverse of the matrix that has the factor ``self``, of which one triangle is read."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = False) -> Tensor:
        """The solution ``X`` of ``L @ L.mH @ X = self``.

        Args:
            self: (..., n, k).
            input2: ``L``, or for ``upper`` its adjoint: (..., n, n), of which one triangle is read.
            upper: see above.
        """
    def chunk(self, chunks: _int, dim: AnyDim = 0) -> list[Tensor]:
        """A dimension in so many parts of one size; the last may be smaller, or there are fewer."""
    @overload
    def clamp(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Every element, or the bound that it lies beyond, each its own."""
    @overload
    def clamp(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Every element, or the bound that it lies beyond."""
    @overload
    def clamp_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Every element, or the bound that it lies beyond, each its own."""
    @overload
    def clamp_(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Every element, or the bound that it lies beyond."""
    @overload
    def clamp_max(self, max: Tensor) -> Tensor:
        """Every element, or its bound where that is smaller."""
    @overload
    def clamp_max(self, max: Scalar) -> Tensor:
        """Every element, or the bound where that is smaller."""
    @overload
    def clamp_max_(self, max: Tensor) -> Tensor:
        """Every element, or its bound where that is smaller."""
    @overload
    def clamp_max_(self, max: Scalar) -> Tensor:
        """Every element, or the bound where that is smaller."""
    @overload
    def clamp_min(self, min: Tensor) -> Tensor:
        """Every element, or its bound where that is larger."""
    @overload
    def clamp_min(self, min: Scalar) -> Tensor:
        """Every element, or the bound where that is larger."""
    @overload
    def clamp_min_(self, min: Tensor) -> Tensor:
        """Every element, or its bound where that is larger."""
    @overload
    def clamp_min_(self, min: Scalar) -> Tensor:
        """Every element, or the bound where that is larger."""
    @overload
    def clip(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond, each its own."""
    @overload
    def clip(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    @overload
    def clip_(self, min: Tensor | None = None, max: Tensor | None = None) -> Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond, each its own."""
    @overload
    def clip_(self, min: Scalar | None = None, max: Scalar | None = None) -> Tensor:
        """Another name of ``clamp``: Every element, or the bound that it lies beyond."""
    def clone(self, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """A copy with memory of its own."""
    def col_indices(self) -> Tensor:
        """A part of a sparse tensor; refused, since there are none."""
    def conj(self) -> Tensor:
        """The conjugate complex numbers: a view that is conjugated when it is read; real numbers are their own."""
    def conj_physical(self) -> Tensor:
        """The conjugate complex numbers; real numbers are their own."""
    def conj_physical_(self) -> Tensor:
        """``conj_physical`` in place."""
    def contiguous(self, *, memory_format: MemoryFormat = MemoryFormat.contiguous_format) -> Tensor:
        """The tensor itself if its elements lie in that order, a copy in which they do otherwise."""
    def copy_(self, src: Tensor, non_blocking: _bool = False) -> Tensor:
        """Writes another tensor's elements, broadcast and converted, into this one."""
    @overload
    def copysign(self, other: Tensor) -> Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @overload
    def copysign(self, other: Scalar) -> Tensor: ...
    @overload
    def copysign_(self, other: Tensor) -> Tensor:
        """The magnitude of ``self`` with the sign of ``other``."""
    @overload
    def copysign_(self, other: Scalar) -> Tensor: ...
    def corrcoef(self) -> Tensor:
        """The correlation coefficients of variables, one a row, from their observations, one a column."""
    def cos(self) -> Tensor:
        """The cosine of every element, an angle in radians."""
    def cos_(self) -> Tensor:
        """The cosine of every element, an angle in radians."""
    def cosh(self) -> Tensor:
        """The hyperbolic cosine of every element."""
    def cosh_(self) -> Tensor:
        """The hyperbolic cosine of every element."""
    @overload
    def count_nonzero(self, dim: AnyDim | None = None) -> Tensor:
        """Return how many elements along a dimension, or of all, are not zero."""
    @overload
    def count_nonzero(self, dim: AnyDims) -> Tensor:
        """Return how many elements along dimensions are not zero."""
    @overload
    def count_nonzero(self, *dim: _int) -> Tensor: ...
    def cov(self, *, correction: _int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
        """The covariance matrix of variables, one a row, from their observations, one a column.

        Args:
            self: the observations; a vector is one variable.
            correction: what the number of observations is lessened by.
            fweights: how often each observation is there.
            aweights: how much each observation counts.
        """
    def cpu(self, *, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor in the memory of the CPU; itself if it is there.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def cross(self, other: Tensor, dim: AnyDim | None = None) -> Tensor:
        """The cross products of vectors of three elements along a dimension, the first one of that size for None."""
    def cuda(
        self,
        device: Device | str | _int | None = None,
        non_blocking: _bool = False,
        *,
        memory_format: MemoryFormat = MemoryFormat.preserve_format,
    ) -> Tensor:
        """The tensor on a CUDA device, the current one by default; itself if it is there.

        Args:
            device: which one.
            non_blocking: has no effect: copies are waited for.
            memory_format: as of ``cpu``.
        """
    def cummax(self, dim: AnyDim) -> _results_cummax:
        """The largest element so far, NaN from the first one on, and the index of the last that equals it."""
    def cummin(self, dim: AnyDim) -> _results_cummin:
        """The smallest element so far, NaN from the first one on, and the index of the last that equals it."""
    def cumprod(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""
    def cumprod_(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """The products of all elements so far; integers are multiplied as int64."""
    def cumsum(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""
    def cumsum_(self, dim: AnyDim, *, dtype: DType | None = None) -> Tensor:
        """The sums of all elements so far; integers are summed as int64."""
    def deg2rad(self) -> Tensor:
        """Degrees as radians."""
    def deg2rad_(self) -> Tensor:
        """Degrees as radians."""
    def dense_dim(self) -> _int:
        """Return how many dimensions lie densely in memory: all."""
    def det(self) -> Tensor:
        """Another name of ``linalg_det``: The determinants of matrices, (..., n, n)."""
    def detach(self) -> Tensor:
        """A view of everything that autograd does not follow."""
    def detach_(self) -> Tensor:
        """Has autograd no longer follow the tensor: it becomes a leaf."""
    def diag(self, diagonal: _int = 0) -> Tensor:
        """A matrix with a vector as its diagonal, or the diagonal of a matrix."""
    def diag_embed(self, offset: _int = 0, dim1: _int = -2, dim2: _int = -1) -> Tensor:
        """Matrices of zeros, with the last dimension as their diagonals."""
    def diagflat(self, offset: _int = 0) -> Tensor:
        """A matrix with all elements as its diagonal."""
    def diagonal(self, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A diagonal of two dimensions, as a last dimension in their place."""
    def diagonal_scatter(self, src: Tensor, offset: _int = 0, dim1: _int = 0, dim2: _int = 1) -> Tensor:
        """A copy of ``self``, where what ``diagonal`` shows is ``src``."""
    def diff(
        self, n: _int = 1, dim: AnyDim = -1, prepend: Tensor | None = None, append: Tensor | None = None
    ) -> Tensor:
        """The differences of neighbours along a dimension, ``n`` times; of bools whether they differ.

        prepend, append: what is put before and behind ``self`` first.
        """
    def digamma(self) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""
    def digamma_(self) -> Tensor:
        """The derivative of ``lgamma``; NaN at negative integers."""
    def dist(self, other: Tensor, p: Scalar = 2) -> Tensor:
        """The norm of the difference."""
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
        """The sum of the products of two vectors' elements."""
    def double(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.float64; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    @overload
    def dsplit(self, sections: _int) -> list[Tensor]:
        """Parts of one size, along the third dimension."""
    @overload
    def dsplit(self, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, along the third dimension."""
    @overload
    def dsplit(self, *indices: _int) -> list[Tensor]: ...
    @overload
    def eq(self, other: Tensor) -> Tensor:
        """Return where ``self`` is equal to ``other``."""
    @overload
    def eq(self, other: Scalar) -> Tensor: ...
    @overload
    def eq_(self, other: Tensor) -> Tensor:
        """Return where ``self`` is equal to ``other``."""
    @overload
    def eq_(self, other: Scalar) -> Tensor: ...
    def equal(self, other: Tensor) -> _bool:
        """Return whether two tensors have one shape and the same elements."""
    def erf(self) -> Tensor:
        """The error function of every element."""
    def erf_(self) -> Tensor:
        """The error function of every element."""
    def erfc(self) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""
    def erfc_(self) -> Tensor:
        """``1 - erf(self)``, exact where that is small."""
    def erfinv(self) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    def erfinv_(self) -> Tensor:
        """The inverse of the error function; NaN outside of [-1, 1]."""
    def exp(self) -> Tensor:
        """The exponential of every element."""
    def exp2(self) -> Tensor:
        """2 to the power of every element."""
    def exp2_(self) -> Tensor:
        """2 to the power of every element."""
    def exp_(self) -> Tensor:
        """The exponential of every element."""
    @overload
    def expand(self, size: Sequence[_int], *, implicit: _bool = False) -> Tensor:
        """Dimensions of size 1, and new ones in front, repeated without a copy."""
    @overload
    def expand(self, *size: _int, implicit: _bool = False) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """``expand`` to the shape of another tensor."""
    def expm1(self) -> Tensor:
        """``exp(self) - 1``, exact near 0."""
    def expm1_(self) -> Tensor:
        """``exp(self) - 1``, exact near 0."""
    def exponential_(self, lambd: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with exponentially distributed numbers of the rate ``lambd``; none is 0."""
    @overload
    def fill_(self, value: Tensor) -> Tensor:
        """Writes the element of a zero-dim tensor into every element."""
    @overload
    def fill_(self, value: Scalar) -> Tensor:
        """Writes a number into every element."""
    def fill_diagonal_(self, fill_value: Scalar, wrap: _bool = False) -> Tensor:
        """Fills the diagonal of a matrix, or of a cube; of a tall matrix also those below, if they wrap."""
    def fix(self) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""
    def fix_(self) -> Tensor:
        """Another name of ``trunc``: Every element without its fraction."""
    def flatten(self, start_dim: _int = 0, end_dim: _int = -1) -> Tensor:
        """The dimensions from one to another as one."""
    @overload
    def flip(self, dims: AnyDims) -> Tensor:
        """Some dimensions the other way round."""
    @overload
    def flip(self, *dims: _int) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """The columns of a matrix from right to left."""
    def flipud(self) -> Tensor:
        """The rows of a matrix from the last to the first."""
    def float(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.float32; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    @overload
    def float_power(self, exponent: Tensor) -> Tensor:
        """``self ** exponent`` in double precision."""
    @overload
    def float_power(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` in double precision, for a number."""
    @overload
    def float_power_(self, exponent: Tensor) -> Tensor:
        """``float_power`` in place, of a double tensor."""
    @overload
    def float_power_(self, exponent: Scalar) -> Tensor:
        """``float_power`` of a number in place, of a double tensor."""
    def floor(self) -> Tensor:
        """The largest integer that is not above each element."""
    def floor_(self) -> Tensor:
        """The largest integer that is not above each element."""
    def floor_divide(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    def floor_divide_(self, other: Tensor | Scalar) -> Tensor:
        """``self / other``, rounded down."""
    def fmax(self, other: Tensor) -> Tensor:
        """The larger of two elements; beside NaN the other one."""
    def fmin(self, other: Tensor) -> Tensor:
        """The smaller of two elements; beside NaN the other one."""
    @overload
    def fmod(self, other: Tensor) -> Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @overload
    def fmod(self, other: Scalar) -> Tensor: ...
    @overload
    def fmod_(self, other: Tensor) -> Tensor:
        """What dividing towards zero leaves; it has the sign of ``self``."""
    @overload
    def fmod_(self, other: Scalar) -> Tensor: ...
    def frac(self) -> Tensor:
        """The fraction of every element, with its sign."""
    def frac_(self) -> Tensor:
        """The fraction of every element, with its sign."""
    def frexp(self) -> _results_frexp:
        """Mantissas from 1/2 to 1 and exponents of which ``self`` is ``mantissa * 2**exponent``."""
    def gather(self, dim: AnyDim, index: Tensor, *, sparse_grad: _bool = False) -> Tensor:
        """For each element of ``index`` the element of ``self`` at that position of a dimension."""
    def gcd(self, other: Tensor) -> Tensor:
        """The greatest common divisor."""
    def gcd_(self, other: Tensor) -> Tensor:
        """The greatest common divisor."""
    @overload
    def ge(self, other: Tensor) -> Tensor:
        """Return where ``self`` is at least ``other``."""
    @overload
    def ge(self, other: Scalar) -> Tensor: ...
    @overload
    def ge_(self, other: Tensor) -> Tensor:
        """Return where ``self`` is at least ``other``."""
    @overload
    def ge_(self, other: Scalar) -> Tensor: ...
    def geometric_(self, p: _float, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers of trials up to the first that succeeds with the probability ``p``."""
    def geqrf(self) -> _results_geqrf:
        """The factors Q and R of matrices as LAPACK keeps them, see ``linalg.qr``.

        Args:
            self: (..., m, n).
        """
    def ger(self, vec2: Tensor) -> Tensor:
        """Another name of ``outer``: The products of each element of one vector with each of another."""
    @overload
    def greater(self, other: Tensor) -> Tensor:
        """Another name of ``gt``: Return where ``self`` is greater than ``other``."""
    @overload
    def greater(self, other: Scalar) -> Tensor: ...
    @overload
    def greater_(self, other: Tensor) -> Tensor:
        """Another name of ``gt``: Return where ``self`` is greater than ``other``."""
    @overload
    def greater_(self, other: Scalar) -> Tensor: ...
    @overload
    def greater_equal(self, other: Tensor) -> Tensor:
        """Another name of ``ge``: Return where ``self`` is at least ``other``."""
    @overload
    def greater_equal(self, other: Scalar) -> Tensor: ...
    @overload
    def greater_equal_(self, other: Tensor) -> Tensor:
        """Another name of ``ge``: Return where ``self`` is at least ``other``."""
    @overload
    def greater_equal_(self, other: Scalar) -> Tensor: ...
    @overload
    def gt(self, other: Tensor) -> Tensor:
        """Return where ``self`` is greater than ``other``."""
    @overload
    def gt(self, other: Scalar) -> Tensor: ...
    @overload
    def gt_(self, other: Tensor) -> Tensor:
        """Return where ``self`` is greater than ``other``."""
    @overload
    def gt_(self, other: Scalar) -> Tensor: ...
    def half(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.float16; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def hardshrink(self, lambd: Scalar = 0.5) -> Tensor:
        """0 where the magnitude is at most ``lambd``."""
    @overload
    def hash_tensor(self, dim: AnyDims = (), *, keepdim: _bool = False, mode: _int = 0) -> Tensor:
        """One uint64 for the elements along dimensions, along all by default: exclusive or of their bits in 64 bits.

        Args:
            self: real numbers; their bits are those of float64 or of int64.
            dim: the dimensions. keepdim: whether they are kept, of size 1.
            mode: 0.
        """
    @overload
    def hash_tensor(self, *dim: _int, keepdim: _bool = False, mode: _int = 0) -> Tensor: ...
    def heaviside(self, values: Tensor) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""
    def heaviside_(self, values: Tensor) -> Tensor:
        """0 for negative elements, 1 for positive ones, ``values`` for 0."""
    def histc(self, bins: _int = 100, min: Scalar = 0, max: Scalar = 0) -> Tensor:
        """Return how many elements lie in each of so many bins between ``min`` and ``max``, of the elements' dtype.

        Args:
            self: floating-point numbers, of any shape; what lies outside is not counted.
            bins: how many, all of one width.
            min, max: the outer edges; the smallest and the largest element if they are equal.
        """
    @overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = None, density: _bool = False) -> _results_histogram:
        """Return how many elements lie between neighbouring edges, or the sum of their weights.

        Args:
            self: float32 or float64, of any shape; what lies outside of all edges is not counted.
            bins: the edges in ascending order, of the same dtype.
            weight: one for each element, of the same dtype.
            density: whether the counts are divided by their sum and the lengths, so that the whole area is 1.
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
        """``histogram`` of so many bins of one width, from the smallest to the largest element or over ``range``."""
    @overload
    def hsplit(self, sections: _int) -> list[Tensor]:
        """Parts of one size, side by side."""
    @overload
    def hsplit(self, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, side by side."""
    @overload
    def hsplit(self, *indices: _int) -> list[Tensor]: ...
    def hypot(self, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    def hypot_(self, other: Tensor) -> Tensor:
        """``sqrt(self**2 + other**2)``, without overflow."""
    def i0(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    def i0_(self) -> Tensor:
        """The modified Bessel function of the first kind, of order 0."""
    def igamma(self, other: Tensor) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""
    def igamma_(self, other: Tensor) -> Tensor:
        """The lower incomplete gamma function of order ``self``, over the gamma function."""
    def igammac(self, other: Tensor) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""
    def igammac_(self, other: Tensor) -> Tensor:
        """The upper incomplete gamma function of order ``self``, over the gamma function."""
    @property
    def imag(self) -> Tensor:
        """The imaginary parts of complex numbers."""
    @imag.setter
    def imag(self, value: object) -> None: ...
    def index_add(self, dim: AnyDim, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""
    def index_add_(self, dim: AnyDim, index: Tensor, source: Tensor, *, alpha: Scalar = 1) -> Tensor:
        """``self`` with ``alpha * source`` added at the positions of a dimension that ``index`` tells."""
    def index_copy(self, dim: AnyDim, index: Tensor, source: Tensor) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""
    def index_copy_(self, dim: AnyDim, index: Tensor, source: Tensor) -> Tensor:
        """``self`` with ``source`` written at the positions of a dimension that ``index`` tells."""
    @overload
    def index_fill(self, dim: AnyDim, index: Tensor, value: Tensor) -> Tensor:
        """``self`` with a zero-dim tensor written at the positions of a dimension that ``index`` tells."""
    @overload
    def index_fill(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at the positions of a dimension that ``index`` tells."""
    @overload
    def index_fill_(self, dim: AnyDim, index: Tensor, value: Tensor) -> Tensor:
        """Writes a zero-dim tensor at the positions of a dimension that ``index`` tells."""
    @overload
    def index_fill_(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """Writes a number at the positions of a dimension that ``index`` tells."""
    def index_put(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """``self`` with values written, or added, where index tensors lead."""
    def index_put_(self, indices: Sequence[Tensor | None], values: Tensor, accumulate: _bool = False) -> Tensor:
        """Writes, or adds, values where index tensors lead."""
    def index_reduce(
        self, dim: AnyDim, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """``self`` with slices of ``source`` multiplied, averaged or compared at positions of a dimension.

        Args:
            self: any numbers but complex ones.
            dim: the dimension.
            index: which position each slice of ``source`` belongs to.
            source: of the same dtype, with the positions in place of the dimension.
            reduce: ``prod``, ``mean``, ``amax`` or ``amin``.
            include_self: whether what is there counts.
        """
    def index_reduce_(
        self, dim: AnyDim, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """``self`` with slices of ``source`` multiplied, averaged or compared at positions of a dimension.

        Args:
            self: any numbers but complex ones.
            dim: the dimension.
            index: which position each slice of ``source`` belongs to.
            source: of the same dtype, with the positions in place of the dimension.
            reduce: ``prod``, ``mean``, ``amax`` or ``amin``.
            include_self: whether what is there counts.
        """
    def index_select(self, dim: AnyDim, index: Tensor) -> Tensor:
        """The positions of a dimension that ``index`` tells, one after another."""
    def indices(self) -> Tensor:
        """A part of a sparse tensor; refused, since there are none."""
    def inner(self, other: Tensor) -> Tensor:
        """The scalar products of all vectors along the last dimensions; of a zero-dim tensor plain products."""
    def int(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.int32; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def inverse(self) -> Tensor:
        """Another name of ``linalg_inv``: The inverses of matrices.

        Raises:
            LinearAlgebraError: one is singular.
        """
    def is_conj(self) -> _bool:
        """Return whether it is a view that is conjugated when it is read."""
    def is_distributed(self) -> _bool:
        """False: no tensor of this kind lies on several machines."""
    def is_neg(self) -> _bool:
        """Return whether it is a view that is negated when it is read."""
    def is_nonzero(self) -> _bool:
        """Return whether the one element of a tensor is not zero."""
    def is_pinned(self, device: Device | str | _int | None = None) -> _bool:
        """Return whether the tensor lies in page-locked memory of the host, which devices read and write on their own."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Return whether two tensors have one shape."""
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Return whether two tensors show the same elements of one memory in the same way."""
    def isclose(self, other: Tensor, rtol: _float = 1e-05, atol: _float = 1e-08, equal_nan: _bool = False) -> Tensor:
        """Return whether ``abs(self - other) <= atol + rtol * abs(other)``; infinities are close to equal ones alone."""
    def isfinite(self) -> Tensor:
        """Return where an element is neither infinite nor NaN; of a complex number, both of its parts."""
    def isinf(self) -> Tensor:
        """Return where an element is infinite; of a complex number, one of its parts."""
    def isnan(self) -> Tensor:
        """Return where an element is NaN; of a complex number, one of its parts."""
    def isneginf(self) -> Tensor:
        """Return where an element is negative infinity."""
    def isposinf(self) -> Tensor:
        """Return where an element is positive infinity."""
    def isreal(self) -> Tensor:
        """Return where the imaginary part of an element is 0."""
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
        """The signals of which ``stft`` gave the transforms: the windows' sum, divided by that of the squared windows.

        Args:
            self: complex (batch, frequencies, windows) or (frequencies, windows).
            n_fft, hop_length, win_length, window, center, normalized: what ``stft`` was given.
            onesided: whether the frequencies end where the rest follows by symmetry; what their number says by default.
            length: of the signals; what is missing at the end becomes 0.
            return_complex: whether the signals are complex.

        Raises:
            ShapeError, DeviceError: the arguments do not fit each other, or the windows leave out a point.
        """
    def kron(self, other: Tensor) -> Tensor:
        """The Kronecker product: each element of one tensor times the whole other one, as blocks."""
    def kthvalue(self, k: _int, dim: AnyDim = -1, keepdim: _bool = False) -> _results_kthvalue:
        """The k-th smallest element along a dimension, counted from 1, and its index."""
    def lcm(self, other: Tensor) -> Tensor:
        """The least common multiple; 0 where an element is 0."""
    def lcm_(self, other: Tensor) -> Tensor:
        """The least common multiple; 0 where an element is 0."""
    def ldexp(self, other: Tensor) -> Tensor:
        """``self * 2**other``"""
    def ldexp_(self, other: Tensor) -> Tensor:
        """``ldexp`` in place."""
    @overload
    def le(self, other: Tensor) -> Tensor:
        """Return where ``self`` is at most ``other``."""
    @overload
    def le(self, other: Scalar) -> Tensor: ...
    @overload
    def le_(self, other: Tensor) -> Tensor:
        """Return where ``self`` is at most ``other``."""
    @overload
    def le_(self, other: Scalar) -> Tensor: ...
    @overload
    def lerp(self, end: Tensor, weight: Tensor) -> Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""
    @overload
    def lerp(self, end: Tensor, weight: Scalar) -> Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @overload
    def lerp_(self, end: Tensor, weight: Tensor) -> Tensor:
        """``self + weight * (end - self)``, every element with a weight of its own."""
    @overload
    def lerp_(self, end: Tensor, weight: Scalar) -> Tensor:
        """``self + weight * (end - self)``, exact for a weight of 1."""
    @overload
    def less(self, other: Tensor) -> Tensor:
        """Another name of ``lt``: Return where ``self`` is less than ``other``."""
    @overload
    def less(self, other: Scalar) -> Tensor: ...
    @overload
    def less_(self, other: Tensor) -> Tensor:
        """Another name of ``lt``: Return where ``self`` is less than ``other``."""
    @overload
    def less_(self, other: Scalar) -> Tensor: ...
    @overload
    def less_equal(self, other: Tensor) -> Tensor:
        """Another name of ``le``: Return where ``self`` is at most ``other``."""
    @overload
    def less_equal(self, other: Scalar) -> Tensor: ...
    @overload
    def less_equal_(self, other: Tensor) -> Tensor:
        """Another name of ``le``: Return where ``self`` is at most ``other``."""
    @overload
    def less_equal_(self, other: Scalar) -> Tensor: ...
    def lgamma(self) -> Tensor:
        """The logarithm of the gamma function's magnitude."""
    def lgamma_(self) -> Tensor:
        """The logarithm of the gamma function's magnitude."""
    def log(self) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""
    def log10(self) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""
    def log10_(self) -> Tensor:
        """The logarithm to base 10 of every element; NaN below 0."""
    def log1p(self) -> Tensor:
        """``log(1 + self)``, exact near 0."""
    def log1p_(self) -> Tensor:
        """``log(1 + self)``, exact near 0."""
    def log2(self) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""
    def log2_(self) -> Tensor:
        """The logarithm to base 2 of every element; NaN below 0."""
    def log_(self) -> Tensor:
        """The natural logarithm of every element; NaN below 0."""
    def log_normal_(self, mean: _float = 1, std: _float = 2, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers whose logarithm is normally distributed."""
    def log_softmax(self, dim: AnyDim, dtype: DType | None = None) -> Tensor:
        """The logarithm of ``softmax``; ``dtype`` is what ``self`` is cast to before."""
    def logaddexp(self, other: Tensor) -> Tensor:
        """``log(exp(self) + exp(other))``, without overflow."""
    def logaddexp2(self, other: Tensor) -> Tensor:
        """``log2(2**self + 2**other)``, without overflow."""
    def logcumsumexp(self, dim: AnyDim) -> Tensor:
        """``log(cumsum(exp(x)))``, without overflow."""
    def logdet(self) -> Tensor:
        """The logarithms of matrices' determinants; NaN for negative ones of real matrices."""
    def logical_and(self, other: Tensor) -> Tensor:
        """Return where both elements are true: not 0."""
    def logical_and_(self, other: Tensor) -> Tensor:
        """Return where both elements are true: not 0."""
    def logical_not(self) -> Tensor:
        """Return where an element is 0."""
    def logical_not_(self) -> Tensor:
        """Return where an element is 0."""
    def logical_or(self, other: Tensor) -> Tensor:
        """Return where an element is true: not 0."""
    def logical_or_(self, other: Tensor) -> Tensor:
        """Return where an element is true: not 0."""
    def logical_xor(self, other: Tensor) -> Tensor:
        """Return where one element is true and the other is not."""
    def logical_xor_(self, other: Tensor) -> Tensor:
        """Return where one element is true and the other is not."""
    def logit(self, eps: _float | None = None) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    def logit_(self, eps: _float | None = None) -> Tensor:
        """``log(self / (1 - self))``, of ``self`` between ``eps`` and ``1 - eps``."""
    def logsumexp(self, dim: AnyDims, keepdim: _bool = False) -> Tensor:
        """``log(sum(exp(self)))`` along dimensions, without overflow; integers are taken as the default dtype."""
    def long(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.int64; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    @overload
    def lt(self, other: Tensor) -> Tensor:
        """Return where ``self`` is less than ``other``."""
    @overload
    def lt(self, other: Scalar) -> Tensor: ...
    @overload
    def lt_(self, other: Tensor) -> Tensor:
        """Return where ``self`` is less than ``other``."""
    @overload
    def lt_(self, other: Scalar) -> Tensor: ...
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """An older name of ``linalg.lu_solve``."""
    @property
    def mH(self) -> Tensor:
        """``x.mH``: every matrix of a batch transposed and conjugated."""
    @property
    def mT(self) -> Tensor:
        """``x.mT``: every matrix of a batch transposed."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
        """Replace each element by what a Python function gives for it and that of another tensor.

        Args:
            tensor: of the same dtype; broadcasts to this one's shape.
            callable: takes two Python numbers and returns one.

        Raises:
            DeviceError, RequiresGradError: as of ``apply_``.
            DTypeError: the dtypes differ.
            ShapeError: the shapes do not fit.

        >>> import opdsl
        >>> opdsl.tensor([1.0, 4.0]).map_(opdsl.tensor(2.0), lambda x, y: x * y)
        tensor([2., 8.])
        """
    @overload
    def masked_fill(self, mask: Tensor, value: Tensor) -> Tensor:
        """``self`` with a zero-dim tensor where a mask holds."""
    @overload
    def masked_fill(self, mask: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number where a mask holds."""
    @overload
    def masked_fill_(self, mask: Tensor, value: Tensor) -> Tensor:
        """Writes a zero-dim tensor where a mask holds."""
    @overload
    def masked_fill_(self, mask: Tensor, value: Scalar) -> Tensor:
        """Writes a number where a mask holds."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """``self`` with the elements of ``source``, one after another, where a mask holds."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor:
        """Writes the elements of ``source``, one after another, where a mask holds."""
    def masked_select(self, mask: Tensor) -> Tensor:
        """The elements where a mask holds, in row-major order."""
    def matmul(self, other: Tensor) -> Tensor:
        """The matrix product, with vectors and broadcast batches as ``numpy.matmul`` has them."""
    def matrix_exp(self) -> Tensor:
        """Another name of ``linalg_matrix_exp``: The exponentials of square matrices: ``1 + A + A @ A / 2 + ...``."""
    def matrix_power(self, n: _int) -> Tensor:
        """Another name of ``linalg_matrix_power``: The ``n``-th power of square matrices; of their inverses for a negative ``n``."""
    @overload
    def max(self) -> Tensor:
        """The largest of all elements."""
    @overload
    def max(self, other: Tensor) -> Tensor:
        """The larger of two elements, as ``maximum``."""
    @overload
    def max(self, dim: AnyDim, keepdim: _bool = False) -> _results_max:
        """The largest elements along a dimension and their positions, of several equal ones the first."""
    def maximum(self, other: Tensor) -> Tensor:
        """The larger of two elements; NaN if either is NaN."""
    @overload
    def mean(self, *, dtype: DType | None = None) -> Tensor:
        """The mean of all elements."""
    @overload
    def mean(self, dim: AnyDims | None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The mean along dimensions, along all for ``dim=None``."""
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: AnyDim, keepdim: _bool = False) -> _results_median: ...
    @overload
    def min(self) -> Tensor:
        """The smallest of all elements."""
    @overload
    def min(self, other: Tensor) -> Tensor:
        """The smaller of two elements, as ``minimum``."""
    @overload
    def min(self, dim: AnyDim, keepdim: _bool = False) -> _results_min:
        """The smallest elements along a dimension and their positions, of several equal ones the first."""
    def minimum(self, other: Tensor) -> Tensor:
        """The smaller of two elements; NaN if either is NaN."""
    def mm(self, mat2: Tensor) -> Tensor:
        """The product of two matrices."""
    def mode(self, dim: AnyDim = -1, keepdim: _bool = False) -> _results_mode:
        """The element that is most often along a dimension, the least of several, and where one of them stands."""
    @overload
    def moveaxis(self, source: _int, destination: _int) -> Tensor:
        """Another name of ``movedim``: One dimension at another place."""
    @overload
    def moveaxis(self, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """Another name of ``movedim``: Dimensions at other places; those that are not named keep their order."""
    @overload
    def movedim(self, source: _int, destination: _int) -> Tensor:
        """One dimension at another place."""
    @overload
    def movedim(self, source: Sequence[_int], destination: Sequence[_int]) -> Tensor:
        """Dimensions at other places; those that are not named keep their order."""
    def msort(self) -> Tensor:
        """The elements along the first dimension in order."""
    def mul(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def mul_(self, other: Tensor | Scalar) -> Tensor:
        """``self * other``"""
    def multinomial(
        self, num_samples: _int, replacement: _bool = False, *, generator: Generator | None = None
    ) -> Tensor:
        """Indices drawn with the probabilities that a row of ``self`` is proportional to, for each row."""
    def multiply(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``mul``: ``self * other``"""
    def multiply_(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``mul``: ``self * other``"""
    def mv(self, vec: Tensor) -> Tensor:
        """The product of a matrix and a vector."""
    def mvlgamma(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of ``p`` variables."""
    def mvlgamma_(self, p: _int) -> Tensor:
        """The logarithm of the gamma function of ``p`` variables."""
    def nan_to_num(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""
    def nan_to_num_(
        self, nan: _float | None = None, posinf: _float | None = None, neginf: _float | None = None
    ) -> Tensor:
        """Other numbers for NaN and infinities: by default 0, and the largest and the smallest one."""
    def nanmean(self, dim: AnyDims | None = None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The mean along dimensions of all elements but NaN."""
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
        """The sum along dimensions of all elements but NaN."""
    @overload
    def narrow(self, dim: AnyDim, start: Tensor, length: _int) -> Tensor:
        """``narrow`` whose start is a zero-dim tensor of integers."""
    @overload
    def narrow(self, dim: AnyDim, start: _int, length: _int) -> Tensor:
        """``length`` positions of a dimension, beginning with ``start``."""
    def narrow_copy(self, dim: AnyDim, start: _int, length: _int) -> Tensor:
        """A copy of the elements from ``start`` on along a dimension."""
    @overload
    def ne(self, other: Tensor) -> Tensor:
        """Return where ``self`` is different from ``other``."""
    @overload
    def ne(self, other: Scalar) -> Tensor: ...
    @overload
    def ne_(self, other: Tensor) -> Tensor:
        """Return where ``self`` is different from ``other``."""
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
        """A tensor of the dtype and device of another, of a size, whose elements are not set."""
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
        """A tensor of the dtype and device of another, of a size and strides, whose elements are not set."""
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
        """A tensor of the dtype and device of another, of a size, with every element the same."""
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
        """A tensor of ones of the dtype and device of another, of a size."""
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
        """A tensor with a copy of the data, of this one's dtype and on its device.

        Args:
            data: as of ``opdsl.tensor``.
            dtype, device: others than this tensor's.
            requires_grad: whether autograd follows it.

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
        """A tensor of zeros of the dtype and device of another, of a size."""
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
        """The number after every element of ``self`` in the direction of ``other``."""
    def nextafter_(self, other: Tensor) -> Tensor:
        """The number after every element of ``self`` in the direction of ``other``."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = False) -> Tensor: ...
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, as_tuple: _bool) -> Tensor | tuple[Tensor, ...]: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = -1) -> Tensor:
        """The indices of the first elements that are not zero, one row for each.

        Args:
            self: of any dtype.
            size: how many rows there are.
            fill_value: what the rows are filled with for which there is no element.

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
        """``opdsl.norm`` of this tensor.

        Args:
            p, dim, keepdim, dtype: as of ``opdsl.norm``.

        >>> import opdsl
        >>> opdsl.tensor([3.0, 4.0]).norm()
        tensor(5.)
        """
    def normal_(self, mean: _float = 0, std: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with normally distributed numbers; of complex ones both parts are, with ``std / sqrt(2)``."""
    @overload
    def not_equal(self, other: Tensor) -> Tensor:
        """Another name of ``ne``: Return where ``self`` is different from ``other``."""
    @overload
    def not_equal(self, other: Scalar) -> Tensor: ...
    @overload
    def not_equal_(self, other: Tensor) -> Tensor:
        """Another name of ``ne``: Return where ``self`` is different from ``other``."""
    @overload
    def not_equal_(self, other: Scalar) -> Tensor: ...
    def orgqr(self, input2: Tensor) -> Tensor:
        """Another name of ``linalg_householder_product``: The first columns of products of reflections: the factor Q whose reflectors ``geqrf`` gives.

        Args:
            input: (..., m, n) with m >= n, whose columns have the reflectors beneath the diagonal.
            tau: (..., k) with n >= k: their factors.
        """
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = True, transpose: _bool = False) -> Tensor:
        """The product of the orthogonal matrices that reflections make with others.

        Args:
            self: (..., m, n), the reflectors as ``geqrf`` gives them.
            input2: (..., k), their factors.
            input3: (..., m, p), or (..., p, m) where the orthogonal matrix stands to the right.
            left: whether it stands to the left.
            transpose: whether its adjoint is meant.
        """
    def outer(self, vec2: Tensor) -> Tensor:
        """The products of each element of one vector with each of another."""
    @overload
    def permute(self, dims: AnyDims) -> Tensor:
        """The dimensions in another order."""
    @overload
    def permute(self, *dims: _int) -> Tensor: ...
    def pin_memory(self, device: Device | str | _int | None = None) -> Tensor:
        """The tensor itself if it lies in page-locked memory, a copy that does otherwise."""
    def pinverse(self, rcond: _float = 1e-15) -> Tensor:
        """The pseudo-inverses of matrices."""
    def polygamma(self, n: _int) -> Tensor:
        """The derivative of ``digamma``, taken ``n`` times."""
    def polygamma_(self, n: _int) -> Tensor:
        """``polygamma``, written into ``self``."""
    def positive(self) -> Tensor:
        """``self`` itself."""
    @overload
    def pow(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @overload
    def pow(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number."""
    @overload
    def pow_(self, exponent: Tensor) -> Tensor:
        """``self ** exponent``; an integer to a negative power is 0, but for 1 and -1."""
    @overload
    def pow_(self, exponent: Scalar) -> Tensor:
        """``self ** exponent`` for a number."""
    def prelu(self, weight: Tensor) -> Tensor:
        """``self``, times a learned weight where it is negative: one for all, or one for each channel (He et al., 2015)."""
    @overload
    def prod(self, *, dtype: DType | None = None) -> Tensor:
        """The product of all elements."""
    @overload
    def prod(self, dim: AnyDim, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The product along a dimension; integers are multiplied as int64."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """``self`` with values written, or added, at positions among all elements."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = False) -> Tensor:
        """Writes, or adds, values at positions among all elements."""
    def qr(self, some: _bool = True) -> _results_qr:
        """An older name of ``linalg.qr``."""
    @overload
    def quantile(
        self, q: Tensor, dim: AnyDim | None = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    @overload
    def quantile(
        self, q: _float, dim: AnyDim | None = None, keepdim: _bool = False, *, interpolation: str = "linear"
    ) -> Tensor: ...
    def rad2deg(self) -> Tensor:
        """Radians as degrees."""
    def rad2deg_(self) -> Tensor:
        """Radians as degrees."""
    @overload
    def random_(self, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from 0 to the largest that its dtype holds without gaps below."""
    @overload
    def random_(self, from_: _int, to: _int | None, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from ``from`` up to, but not including, ``to``."""
    @overload
    def random_(self, to: _int, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with integers from 0 up to, but not including, ``to``."""
    def ravel(self) -> Tensor:
        """One dimension: a view of a contiguous tensor, a copy of others."""
    @property
    def real(self) -> Tensor:
        """The real parts; real numbers are their own."""
    @real.setter
    def real(self, value: object) -> None: ...
    def reciprocal(self) -> Tensor:
        """``1 / self``"""
    def reciprocal_(self) -> Tensor:
        """``1 / self``"""
    def record_stream(self, s: Stream) -> None:
        """Keeps the tensor's memory, when it is freed, until a stream has done what is queued on it then."""
    def relu(self) -> Tensor:
        """``max(self, 0)``"""
    def relu_(self) -> Tensor:
        """``max(self, 0)``"""
    @overload
    def remainder(self, other: Tensor) -> Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @overload
    def remainder(self, other: Scalar) -> Tensor: ...
    @overload
    def remainder_(self, other: Tensor) -> Tensor:
        """What dividing down leaves; it has the sign of ``other``."""
    @overload
    def remainder_(self, other: Scalar) -> Tensor: ...
    def renorm(self, p: Scalar, dim: AnyDim, maxnorm: Scalar) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""
    def renorm_(self, p: Scalar, dim: AnyDim, maxnorm: Scalar) -> Tensor:
        """The slices along a dimension, those of a larger ``p``-norm than ``maxnorm`` shortened to it."""
    @overload
    def repeat(self, repeats: Sequence[_int]) -> Tensor:
        """The tensor side by side with itself, so many times along each dimension."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor: ...
    @overload
    def repeat_interleave(
        self, repeats: Tensor, dim: AnyDim | None = None, *, output_size: _int | None = None
    ) -> Tensor:
        """Every position of a dimension as often as ``repeats`` says, one after another."""
    @overload
    def repeat_interleave(self, repeats: _int, dim: AnyDim | None = None, *, output_size: _int | None = None) -> Tensor:
        """Every position of a dimension so many times, one after another."""
    @overload
    def reshape(self, shape: Sequence[_int]) -> Tensor:
        """Another shape of the same elements: a view where strides can show it, a copy elsewhere."""
    @overload
    def reshape(self, *shape: _int) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """The shape of another tensor: a view where strides can show it, a copy elsewhere."""
    @overload
    def resize_(self, size: Sequence[_int], *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Gives the tensor another size, in place; new elements are not set."""
    @overload
    def resize_(self, *size: _int, memory_format: MemoryFormat | None = None) -> Tensor: ...
    def resize_as_(self, the_template: Tensor, *, memory_format: MemoryFormat | None = None) -> Tensor:
        """Gives the tensor the size of another, in place."""
    def resolve_conj(self) -> Tensor:
        """The tensor with its conjugates in memory of their own; itself where it is no conjugate view."""
    def resolve_neg(self) -> Tensor:
        """The tensor with its negatives in memory of their own; itself where it is no negative view."""
    def roll(self, shifts: _int | Sequence[_int], dims: AnyDims = ()) -> Tensor:
        """Elements moved along dimensions; what leaves at the end comes in at the beginning."""
    def rot90(self, k: _int = 1, dims: AnyDims = (0, 1)) -> Tensor:
        """A plane turned by ``k`` right angles, from the first of its dimensions towards the second."""
    @overload
    def round(self) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @overload
    def round(self, *, decimals: _int) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""
    @overload
    def round_(self) -> Tensor:
        """The integer nearest to every element; of two the even one."""
    @overload
    def round_(self, *, decimals: _int) -> Tensor:
        """Every element rounded to a number of decimals; of a negative number to tens, hundreds, ..."""
    def row_indices(self) -> Tensor:
        """A part of a sparse tensor; refused, since there are none."""
    def rsqrt(self) -> Tensor:
        """``1 / sqrt(self)``"""
    def rsqrt_(self) -> Tensor:
        """``1 / sqrt(self)``"""
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @overload
    def scatter(self, dim: AnyDim, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` written at positions along a dimension."""
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, src: Tensor, *, reduce: str) -> Tensor:
        """``self`` with values of ``src`` added or multiplied at positions along a dimension."""
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, value: Scalar) -> Tensor:
        """``self`` with a number written at positions along a dimension."""
    @overload
    def scatter_(self, dim: AnyDim, index: Tensor, value: Scalar, *, reduce: str) -> Tensor:
        """``self`` with a number added or multiplied at positions along a dimension."""
    def scatter_add(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""
    def scatter_add_(self, dim: AnyDim, index: Tensor, src: Tensor) -> Tensor:
        """``self`` with values of ``src`` added at positions along a dimension."""
    def scatter_reduce(
        self, dim: AnyDim, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """
    def scatter_reduce_(
        self, dim: AnyDim, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = True
    ) -> Tensor:
        """``self`` with values of ``src`` summed, multiplied, averaged or compared at positions along a dimension.

        With ``include_self=False`` what is at these positions does not count.
        """
    def select(self, dim: AnyDim, index: _int) -> Tensor:
        """One position of a dimension, which disappears."""
    def select_scatter(self, src: Tensor, dim: AnyDim, index: _int) -> Tensor:
        """A copy of ``self``, where what ``select`` shows is ``src``."""
    @overload
    def set_(self) -> Tensor:
        """Has the tensor show nothing: one dimension without elements."""
    @overload
    def set_(self, source: Tensor) -> Tensor:
        """Has the tensor show what another one shows, in its memory."""
    @overload
    def set_(self, source: Tensor, storage_offset: _int, size: Sequence[_int], stride: Sequence[_int] = ()) -> Tensor:
        """Has the tensor show any part of the memory of another one."""
    def sgn(self) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""
    def sgn_(self) -> Tensor:
        """``sign`` for real elements; complex ones are divided by their magnitude, 0 stays."""
    def short(self, memory_format: MemoryFormat = MemoryFormat.preserve_format) -> Tensor:
        """The tensor as opdsl.int16; itself if it has that dtype.

        Args:
            memory_format: how the elements of the result lie; as they did by default.
        """
    def sigmoid(self) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    def sigmoid_(self) -> Tensor:
        """``1 / (1 + exp(-self))``"""
    def sign(self) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""
    def sign_(self) -> Tensor:
        """-1, 0 or 1, as every element is negative, zero or positive; 0 for NaN."""
    def signbit(self) -> Tensor:
        """Return whether the sign of every element is set; -0.0 has one."""
    def sin(self) -> Tensor:
        """The sine of every element, an angle in radians."""
    def sin_(self) -> Tensor:
        """The sine of every element, an angle in radians."""
    def sinc(self) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    def sinc_(self) -> Tensor:
        """``sin(pi * self) / (pi * self)``; 1 for 0."""
    def sinh(self) -> Tensor:
        """The hyperbolic sine of every element."""
    def sinh_(self) -> Tensor:
        """The hyperbolic sine of every element."""
    def slice_inverse(
        self, src: Tensor, dim: AnyDim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
    ) -> Tensor:
        """What a slice was taken of: a view of ``self`` that lies in its memory as ``src`` does."""
    def slice_scatter(
        self, src: Tensor, dim: AnyDim = 0, start: _int | None = None, end: _int | None = None, step: _int = 1
    ) -> Tensor:
        """A copy of ``self``, where what ``slice`` shows is ``src``."""
    def slogdet(self) -> _results_slogdet:
        """Another name of ``linalg_slogdet``: The signs of matrices' determinants, and the logarithms of their magnitudes; for a singular one 0 and -inf."""
    def softmax(self, dim: AnyDim, dtype: DType | None = None) -> Tensor:
        """``exp(x) / sum(exp(x))`` along a dimension; ``dtype`` is what ``self`` is cast to before."""
    @overload
    def sort(self, *, stable: _bool | None, dim: AnyDim = -1, descending: _bool = False) -> _results_sort:
        """``sort`` that leaves equal elements in their order, unless ``stable=False``."""
    @overload
    def sort(self, dim: AnyDim = -1, descending: _bool = False) -> _results_sort:
        """The elements along a dimension in order, and their indices; NaN is the largest."""
    @overload
    def split(self, split_size: _int, dim: AnyDim = 0) -> list[Tensor]:
        """Parts of ``split_size`` positions of a dimension; the last may be smaller."""
    @overload
    def split(self, split_size: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """Parts of a dimension, each of its size."""
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """Parts of a dimension, each of its size."""
    def sqrt(self) -> Tensor:
        """The square root of every element; NaN below 0."""
    def sqrt_(self) -> Tensor:
        """The square root of every element; NaN below 0."""
    def square(self) -> Tensor:
        """``self ** 2``"""
    def square_(self) -> Tensor:
        """``self ** 2``"""
    @overload
    def squeeze(self) -> Tensor:
        """Without the dimensions of size 1."""
    @overload
    def squeeze(self, dim: AnyDims) -> Tensor:
        """Without those of the dimensions whose size is 1."""
    @overload
    def squeeze(self, *dim: _int) -> Tensor: ...
    @overload
    def squeeze_(self) -> Tensor:
        """Without the dimensions of size 1."""
    @overload
    def squeeze_(self, dim: AnyDims) -> Tensor:
        """Without those of the dimensions whose size is 1."""
    @overload
    def squeeze_(self, *dim: _int) -> Tensor: ...
    @overload
    def std(self, dim: AnyDims | None, unbiased: _bool = True, keepdim: _bool = False) -> Tensor:
        """The standard deviation along dimensions, of a sample if ``unbiased``."""
    @overload
    def std(self, unbiased: _bool = True) -> Tensor:
        """The standard deviation of all elements, of a sample if ``unbiased``."""
    @overload
    def std(self, dim: AnyDims | None = None, *, correction: Scalar | None = None, keepdim: _bool = False) -> Tensor:
        """The square root of the variance along dimensions."""
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
        """The Fourier transforms of windows that slide over signals.

        Args:
            self: (length) or (batch, length).
            n_fft: how many points are transformed at a time.
            hop_length: from one to the next; a quarter of ``n_fft`` by default.
            win_length: the length of the window, ``n_fft`` by default.
            window: what the points are multiplied by, ones by default.
            center: whether the first window's middle is the first point; the signal is continued on both sides then.
            pad_mode: how, see ``pad``.
            normalized: whether results are divided by the root of ``n_fft``.
            onesided: whether they end where the rest follows by symmetry, which is the default for real numbers.
            return_complex: whether they are complex, or pairs of real numbers.
            align_to_window: whether windows shorter than ``n_fft`` begin at the first point. Only without ``center``.

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
        """``stft`` without ``center``."""
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
        """The sum of all elements."""
    @overload
    def sum(self, dim: AnyDims | None, keepdim: _bool = False, *, dtype: DType | None = None) -> Tensor:
        """The sum along dimensions, along all for ``dim=None``; integers are summed as int64."""
    @overload
    def sum_to_size(self, size: Sequence[_int]) -> Tensor:
        """The sums over the dimensions along which a tensor of that shape would be broadcast; itself without any."""
    @overload
    def sum_to_size(self, *size: _int) -> Tensor: ...
    def svd(self, some: _bool = True, compute_uv: _bool = True) -> _results_svd:
        """``linalg.svd``, with the right vectors as columns; zeros for vectors that are not asked for."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """``transpose``, by NumPy's name."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Tensor:
        """``transpose``, by NumPy's name."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """``transpose``, by another name."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor:
        """``transpose``, by another name."""
    def t(self) -> Tensor:
        """The transpose of a matrix; vectors and numbers stay as they are."""
    def t_(self) -> Tensor:
        """The transpose of a matrix; vectors and numbers stay as they are."""
    def take(self, index: Tensor) -> Tensor:
        """The elements at positions among all elements, which are counted in row-major order."""
    def take_along_dim(self, indices: Tensor, dim: AnyDim | None = None) -> Tensor:
        """``gather`` with broadcasting, among all elements without a dimension."""
    def tan(self) -> Tensor:
        """The tangent of every element, an angle in radians."""
    def tan_(self) -> Tensor:
        """The tangent of every element, an angle in radians."""
    def tanh(self) -> Tensor:
        """The hyperbolic tangent of every element."""
    def tanh_(self) -> Tensor:
        """The hyperbolic tangent of every element."""
    @overload
    def tensor_split(self, indices: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """The parts of a dimension between positions."""
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: AnyDim = 0) -> list[Tensor]:
        """``tensor_split`` by a tensor: a number of parts, or positions."""
    @overload
    def tensor_split(self, sections: _int, dim: AnyDim = 0) -> list[Tensor]:
        """A dimension in so many parts, of sizes that differ by one at most."""
    @overload
    def tile(self, dims: Sequence[_int]) -> Tensor:
        """``repeat``; dimensions that are not named stay as they are."""
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
        """The same elements in a tensor of their own, which is dense as all are, in ``dtype`` if that is given."""
    def topk(self, k: _int, dim: AnyDim = -1, largest: _bool = True, sorted: _bool = True) -> _results_topk:
        """The largest (or smallest) elements along a dimension, the largest first, and their indices."""
    def trace(self) -> Tensor:
        """The sum of a matrix' diagonal."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions change places."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor:
        """Two dimensions change places."""
    def triangular_solve(
        self, A: Tensor, upper: _bool = True, transpose: _bool = False, unitriangular: _bool = False
    ) -> _results_triangular_solve:
        """The solution of ``A X = B`` for a triangular ``A``, and a copy of ``A``. Use ``linalg.solve_triangular``."""
    def tril(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""
    def tril_(self, diagonal: _int = 0) -> Tensor:
        """The lower triangle of a matrix, up to a diagonal; zeros elsewhere."""
    def triu(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""
    def triu_(self, diagonal: _int = 0) -> Tensor:
        """The upper triangle of a matrix, from a diagonal on; zeros elsewhere."""
    def true_divide(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    def true_divide_(self, other: Tensor | Scalar) -> Tensor:
        """Another name of ``div``: ``self / other``; integers are divided as floating-point numbers."""
    def trunc(self) -> Tensor:
        """Every element without its fraction."""
    def trunc_(self) -> Tensor:
        """Every element without its fraction."""
    @overload
    def type(self, dtype: None = None, non_blocking: _bool = False) -> str: ...
    @overload
    def type(self, dtype: DType, non_blocking: _bool = False) -> Tensor: ...
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor in the dtype, and on the device, of another one."""
    def unbind(self, dim: AnyDim = 0) -> list[Tensor]:
        """Every position of a dimension as a tensor of its own."""
    def unflatten(self, dim: AnyDim, sizes: Sequence[_int]) -> Tensor:
        """One dimension as several."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """Windows of ``size`` positions, ``step`` apart, the window as a new last dimension."""
    def uniform_(self, from_: _float = 0, to: _float = 1, *, generator: Generator | None = None) -> Tensor:
        """Fills the tensor with numbers from ``from`` up to, but not including, ``to``, each as likely as the others."""
    def unique(
        self, sorted: _bool = True, return_inverse: _bool = False, return_counts: _bool = False, dim: _int | None = None
    ) -> Tensor | tuple[Tensor, ...]:
        """The distinct elements of a tensor in order, or its distinct slices along a dimension.

        Args:
            input: the tensor.
            sorted: has no effect: they always are.
            return_inverse: whether a second result says where each element is among them.
            return_counts: whether a last result says how often each is there.
            dim: along which slices are compared; elements are for None.

        Returns:
            The distinct elements; a tuple where more is asked for.

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
        """The elements of a tensor, or its slices along a dimension, without those that equal the one before them.

        Args:
            input: the tensor.
            return_inverse: whether a second result says where each element is among those that are left.
            return_counts: whether a last result says how many stand beside each other.
            dim: along which slices are compared; elements are for None.

        Returns:
            What is left; a tuple where more is asked for.

        Raises:
            DimensionError: there is no such dimension.

        >>> import opdsl
        >>> opdsl.unique_consecutive(opdsl.tensor([3, 3, 1, 3]), return_counts=True)
        (tensor([3, 1, 3]), tensor([2, 1, 1]))
        """
    def unsafe_chunk(self, chunks: _int, dim: AnyDim = 0) -> list[Tensor]:
        """``chunk`` for callers that write one part at most."""
    def unsafe_split(self, split_size: _int, dim: AnyDim = 0) -> list[Tensor]:
        """``split`` for callers that write one part at most."""
    def unsafe_split_with_sizes(self, split_sizes: Sequence[_int], dim: AnyDim = 0) -> list[Tensor]:
        """``split_with_sizes`` for callers that write one part at most."""
    def unsqueeze(self, dim: AnyDim) -> Tensor:
        """A dimension of size 1 more."""
    def unsqueeze_(self, dim: AnyDim) -> Tensor:
        """A dimension of size 1 more."""
    def values(self) -> Tensor:
        """A part of a sparse tensor; refused, since there are none."""
    @overload
    def var(self, dim: AnyDims | None, unbiased: _bool = True, keepdim: _bool = False) -> Tensor:
        """The variance along dimensions, of a sample if ``unbiased``."""
    @overload
    def var(self, unbiased: _bool = True) -> Tensor:
        """The variance of all elements, of a sample if ``unbiased``."""
    @overload
    def var(self, dim: AnyDims | None = None, *, correction: Scalar | None = None, keepdim: _bool = False) -> Tensor:
        """The sum of squared deviations from the mean along dimensions, divided by the number of elements less
        ``correction`` (1 where None is given).
        """
    def vdot(self, other: Tensor) -> Tensor:
        """The scalar product of two vectors, the first of them conjugated."""
    @overload
    def view(self, dtype: DType) -> Tensor:
        """The same bytes as elements of another dtype."""
    @overload
    def view(self, size: Sequence[_int]) -> Tensor:
        """Another shape of the same elements, where strides can show it."""
    @overload
    def view(self, *size: _int) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """The shape of another tensor, where strides can show it."""
    @overload
    def vsplit(self, sections: _int) -> list[Tensor]:
        """Parts of one size, one below the other."""
    @overload
    def vsplit(self, indices: Sequence[_int]) -> list[Tensor]:
        """The parts between positions, one below the other."""
    @overload
    def vsplit(self, *indices: _int) -> list[Tensor]: ...
    @overload
    def where(self, condition: Tensor, other: Tensor) -> Tensor:
        """``self`` where the condition holds, ``other`` elsewhere."""
    @overload
    def where(self, condition: Tensor, other: Scalar) -> Tensor:
        """``where`` with a number where the condition does not hold."""
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
        """Sets every element to 0."""

Array = NDArray[Any]
_CONTIGUOUS: MemoryFormat
_NumpyArray = numpy.ndarray[Any, Any]
_NumpyDType = numpy.dtype[Any]
_Parts = tuple[_NumpyArray | None, DType, Device, tuple[int, ...], tuple[int, ...], bool]
Index = SupportsIndex | slice | EllipsisType | Tensor | Array | range | list[Any] | tuple[Any, ...] | None

class Readable(Protocol):
    """What can be read as a tensor is, by a subscript."""

    def __getitem__(self, index: Index) -> Tensor: ...

class MetaArray:
    """What a meta tensor has for an array when its memory would not begin with its first element."""

    offset: int
    __slots__ = ("offset",)
    def __init__(self, offset: int) -> None: ...

_NO_OFFSET: MetaArray

class _DeviceOf(type):
    """Makes ``isinstance`` of a refinement a question about the device."""

    device_type: str
    def __instancecheck__(cls, instance: object) -> bool: ...

class CPUTensor(Tensor, metaclass=_DeviceOf):
    """A tensor on the CPU, in annotations and ``isinstance``; ``array`` is a ``numpy.ndarray``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CPUTensor)
    True
    """

    __slots__ = ()
    device_type: ClassVar[str]

class CUDATensor(Tensor, metaclass=_DeviceOf):
    """A tensor on a CUDA device, in annotations and ``isinstance``.

    >>> import opdsl
    >>> isinstance(opdsl.ones(1), opdsl.CUDATensor)
    False
    """

    __slots__ = ()
    device_type: ClassVar[str]

def wrap(array: _NumpyArray, dtype: DType) -> Tensor:
    """A CPU tensor that owns ``array``, which must be in the storage dtype of ``dtype``.

    Raises:
        InterchangeError: a stride is negative or no multiple of the itemsize.
    """

def _dimension_of_values(dim: int, values: tuple[int, ...]) -> int: ...
def _parts(tensor: Tensor) -> _Parts:
    """What ``_rebuild`` makes the tensor from: its elements in memory order, without the memory between them."""

def _rebuild(
    elements: _NumpyArray | None,
    dtype: DType,
    device: Device,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
) -> Tensor: ...
