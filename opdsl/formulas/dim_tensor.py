"""``Dim`` and ``DimTensor``: named dimensions, and tensors that vary along them.

The leading axes of a ``DimTensor`` belong to dims; its positional dimensions follow. It is computed by ordinary
operators, so that autograd, tracing and compilation apply as to any call.

May import: lower layers; operators are methods of Tensor, so no module of the library is named.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from opdsl.dispatch import set_grad_enabled
from opdsl.dispatch.state import current
from opdsl.errors import DimAttributeError, DimError, NotPickledError
from opdsl.formulas.dim_affine import Affine, Windows
from opdsl.formulas.dim_sources import Source
from opdsl.runtime import Device, DType, Tensor, is_installed
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.interchange import operand
from opdsl.runtime.lowering import lowering
from opdsl.runtime.symbol import Symbol, is_symbol
from opdsl.runtime.tensor import Readable

if TYPE_CHECKING:
    _Value = Tensor  # typed as a tensor, so that formulas type-check with plain annotations
else:
    _Value = object

# Serializes the binding of sizes to dims.
_binding = threading.Lock()


class Later(NamedTuple):
    """Deferred computation of a value over dims, run when the value is first used.

    compute: computes the value.
    depends: dims that must have sizes before.
    sources: the tensors that it reads.
    grad_mode: whether grad mode was on where the value was written.
    factors: the factors if it is a product; empty otherwise.
    """

    compute: Callable[[], Tensor]
    depends: frozenset[Dim]
    sources: tuple[Source, ...]
    grad_mode: bool
    factors: tuple[DimTensor, ...] = ()


class DimTensor(_Value):
    """Tensor that varies along dims; reading a tensor at dims returns one: ``x[..., i, k]``.

    Args:
        tensor: the elements: an axis for each dim, of its size or 1, then the positional dimensions.
        dims: the dims of the leading axes.
        mask: mask of the elements that ``outside("skip")`` has not skipped; None for all.
        is_of_dims: whether it is computed only from dims and numbers, so that it may be moved to any device.
        later: the deferred computation, instead of ``tensor`` and ``dims``.

    is_gathered: whether it was read at computed indices, so that its elements are copies.
    affine: the affine function of dims that it is, if it is known to be one.
    windows: the read of a tensor at affine indices that it is, if it is known to be one.

    >>> import opdsl
    >>> i, j = opdsl.dims(2)
    >>> x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x[i, j] * x[j, i]).order(i, j)
    tensor([[ 1.,  6.],
            [ 6., 16.]])
    """

    __slots__ = ("__weakref__", "_dims", "_later", "_tensor", "affine", "is_gathered", "is_of_dims", "mask", "windows")

    # Makes NumPy leave ``array + x`` to ``__radd__``.
    __array_ufunc__ = None

    if not TYPE_CHECKING:
        # A type checker takes the members of Tensor.
        __hash__ = object.__hash__

    def __init__(
        self,
        tensor: Tensor | None,
        dims: tuple[Dim, ...],
        mask: DimTensor | None = None,
        is_of_dims: bool = False,
        later: Later | None = None,
    ) -> None:
        self._tensor = tensor
        self._dims = dims
        self.mask = mask
        self.is_of_dims = is_of_dims
        self._later = later
        self.is_gathered = False
        self.affine: Affine | None = None
        self.windows: Windows | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be pickled or copied.

        Raises:
            NotPickledError: always; dims are compared by identity, which a copy would not keep.
        """
        raise NotPickledError(
            "a value over dims can be neither pickled nor copied. Order its dims: value.order(..., i)."
        )

    # ------------------------------------------------------------------------------------------------ elements

    def _compute(self) -> Tensor:
        """Return the elements as a tensor, running the deferred computation if there is one.

        Raises:
            DimError: a dim has no size yet.
        """
        later = self._later
        if later is None:
            assert self._tensor is not None, "a value is computed now or later"
            return self._tensor
        require_sizes(later.depends)
        for source in later.sources:
            source.require_unchanged()
        if current.get().grad_mode == later.grad_mode:
            value = later.compute()
        else:
            with set_grad_enabled(later.grad_mode):
                value = later.compute()
        if isinstance(value, DimTensor):
            self._tensor, self._dims, self.mask = value.tensor, value.dims, value.mask
            self.is_gathered, self.affine, self.windows = value.is_gathered, value.affine, value.windows
        else:
            self._tensor, self._dims = value, ()
        self._later = None
        return self._tensor

    @property
    def tensor(self) -> Tensor:
        """Return the elements as a tensor: an axis for each of ``dims``, then the positional dimensions."""
        return self._compute()

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Return the dims along which the tensor varies."""
        self._compute()
        return self._dims

    @property
    def pending(self) -> Later | None:
        """Return the tensor's deferred computation; None if it is computed."""
        return self._later

    @property
    def depends(self) -> frozenset[Dim]:
        """Return the dims that the tensor's elements depend on."""
        later = self._later
        return frozenset(self._dims) if later is None else later.depends

    @property
    def lacks_sizes(self) -> bool:
        """Return whether the tensor cannot be computed yet, since a dim has no size."""
        later = self._later
        return later is not None and any(not dim.is_bound for dim in later.depends)

    # -------------------------------------------------------------------------------------------- properties

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the sizes of the positional dimensions."""
        computed = self._compute()
        return computed.shape[len(self._dims) :]

    @property
    def ndim(self) -> int:
        """Return the number of positional dimensions."""
        computed = self._compute()
        return computed.ndim - len(self._dims)

    @property
    def dtype(self) -> DType:
        """Return the dtype of the elements."""
        return self._compute().dtype

    @property
    def device(self) -> Device:
        """Return the device of the elements."""
        return self._compute().device

    def dim(self) -> int:
        """Return the number of positional dimensions."""
        return self.ndim

    if not TYPE_CHECKING:

        @property
        def requires_grad(self):
            """Return whether autograd records operations on the tensor."""
            return self._compute().requires_grad

        def size(self, dim=None):
            """Return the sizes of all positional dimensions as a tuple, or the size of one."""
            return self.shape if dim is None else self.shape[dim]

        def is_floating_point(self):
            """Return whether the dtype is a real floating-point one."""
            return self.dtype.is_floating_point

        def is_complex(self):
            """Return whether the dtype is complex."""
            return self.dtype.is_complex

        def __getattr__(self, name):
            """Return a method of Tensor that is an operator, bound to this value, or the value of a property."""
            member = None if name.startswith("__") else getattr(Tensor, name, None)
            if member is None or not is_installed(name):
                raise (
                    DimAttributeError(_lacks(self, name))
                    if member is not None
                    else AttributeError(_unknown(self, name))
                )
            if isinstance(member, property):
                return member.fget(self)
            return _Method(member, self)

    def __repr__(self) -> str:
        if self.lacks_sizes:
            return f"<a tensor over {names(self.depends)}, computed once all of them have sizes>"
        sizes = ", ".join(map(str, (dim.size for dim in self.dims)))
        return f"{self.tensor!r}\nwith dims={names(self.dims)} sizes=({sizes})"

    # ------------------------------------------------------------------------------------------------ operators

    @staticmethod
    def __opdsl_function__(function: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Compute the call of an operator that has a ``DimTensor`` among its arguments."""
        return importlib.import_module("opdsl.formulas.dim_calls").call(function, args, kwargs)

    @staticmethod
    def __opdsl_subscript__(value: Tensor, index: object) -> Tensor:
        """Return ``value[index]``."""
        read: Tensor = importlib.import_module("opdsl.formulas.dim_reads").read(value, index, None)
        return read

    @staticmethod
    def __opdsl_subscript_write__(value: Tensor, index: object, written: object) -> None:
        raise DimError(
            "x[...] = value: the subscript and the value must not have dims. Assign a plain tensor: x[...] = "
            "value.order(...), or opdsl.index_put for computed positions."
        )

    if not TYPE_CHECKING:

        def __getitem__(self, index):
            return self.__opdsl_subscript__(self, index)

        def __setitem__(self, index, value):
            self.__opdsl_subscript_write__(self, index, value)

        def __iter__(self):
            if self.ndim == 0:
                raise DimError(
                    f"a value over {names(self.depends)} has no positional dimension to iterate over. x.order(i) makes "
                    "a dim positional."
                )
            return iter(Tensor.unbind(self))

    def order(self, *dims: object) -> Tensor:
        """Convert dims to positional dimensions: ``x.order(..., i, j)``.

        Args:
            dims: dims in the order of the result. ``...`` denotes the positional dimensions, and may be left out
                only if there are none; a tuple of dims becomes one dimension, their product.

        Returns:
            The tensor, which still varies along dims that are not listed, and is a plain tensor if all are.

        Raises:
            DimError: a dim is listed twice, or the value does not vary along it; ``...`` is missing.
        """
        ordered: Tensor = importlib.import_module("opdsl.formulas.dim_order").order(self, dims)
        return ordered

    def outside(self, what: object) -> Readable:
        """See ``Tensor.outside``."""
        readable: Readable = importlib.import_module("opdsl.formulas.dim_reads").Outside(self, what)
        return readable

    def _refuse(self, what: str) -> DimError:
        return DimError(
            f"{what} of a value over {names(self.depends)} is ambiguous, since it differs along them. Fold the dims, "
            "or order them first: x.order(...); where(condition, a, b) chooses per element."
        )

    def __bool__(self) -> bool:
        raise self._refuse("the truth")

    def __int__(self) -> int:
        raise self._refuse("an int")

    def __float__(self) -> float:
        raise self._refuse("a float")

    def __complex__(self) -> complex:
        raise self._refuse("a complex number")

    def __len__(self) -> int:
        shape = self.shape
        if not shape:
            raise self._refuse("the length")
        return shape[0]


class _Method:
    """Method of Tensor bound to a ``DimTensor``."""

    __slots__ = ("_function", "_value")

    def __init__(self, function: Callable[..., object], value: DimTensor) -> None:
        self._function = function
        self._value = value

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._function(self._value, *args, **kwargs)


def _lacks(value: DimTensor, name: str) -> str:
    return (
        f"{name} of a value over {names(value.depends)}: only plain tensors have it. Order the dims first: "
        f"x.order(...).{name}."
    )


def _unknown(value: DimTensor, name: str) -> str:
    return f"'{type(value).__name__}' object has no attribute {name!r}"


def _special(name: str) -> Callable[..., object]:
    """Return a special method for ``DimTensor`` that calls that of Tensor."""

    def method(self: DimTensor, *others: object) -> object:
        return getattr(Tensor, name)(self, *map(operand, others))

    method.__name__ = method.__qualname__ = name
    return method


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul neg pos abs "
    "invert and rand or ror xor rxor lshift rlshift rshift rrshift eq ne lt le gt ge"
)

for _name in _OPERATORS.split():
    setattr(DimTensor, f"__{_name}__", _special(f"__{_name}__"))


# ------------------------------------------------------------------------------------------------------------- dims


class Dim(DimTensor):
    """First-class dimension, made by ``opdsl.dims``. As a value it is an int64 tensor over itself: 0, 1, 2, ...

    Args:
        name: function that returns its name, for messages.
        extent: its size, or the range of its values; None if reads determine the size.

    >>> import opdsl
    >>> time = opdsl.dim(3)
    >>> time, time.size, (time * time).order(time)
    (time, 3, tensor([0, 1, 4]))
    """

    is_bare = True
    """Flag that this index is a dim itself: a read at it is in bounds, as it determines the dim's size."""

    __slots__ = ("_bound_by", "_is_exact", "_name", "_size", "_used_by", "start", "step")

    def __init__(self, name: Callable[[], str], extent: int | range | None = None) -> None:
        prepare()  # Tensor gets its operators when the first tensor is made, which may be later
        super().__init__(None, (self,), is_of_dims=True)
        self._name = name
        self._later = Later(self._positions, frozenset((self,)), (), True)
        self._used_by = ""
        self.start, self.step = (extent.start, extent.step) if isinstance(extent, range) else (0, 1)
        self._size: int | None = len(extent) if isinstance(extent, range) else extent
        self._is_exact = extent is not None
        self._bound_by: object = "the size that it was made with"

    def __copy__(self) -> Dim:
        return self

    def __deepcopy__(self, memo: object) -> Dim:
        return self

    @property
    def name(self) -> str:
        """Return the name of the variable that the dim was assigned to."""
        return self._name()

    @property
    def is_bound(self) -> bool:
        """Return whether the dim has a size."""
        return self._size is not None

    @property
    def is_plain(self) -> bool:
        """Return whether the dim's values are its indices: 0, 1, 2, ..."""
        return self.start == 0 and self.step == 1

    @property
    def size(self) -> int:  # type: ignore[override]  # functorch.dim's name; of a tensor it is a method
        """Return the size of the dim.

        Raises:
            DimError: the size is not known yet.
        """
        require_sizes((self,))
        size = self._size
        assert size is not None, "a bound dim has a size"
        if is_symbol(size) and cast(Symbol, size).owner is not lowering.get():
            raise DimError(
                f"the dim {self.name} got its size while a function was traced, and is used outside of it. Create dims "
                "within the function."
            )
        return size

    def bind(self, size: int, place: object) -> None:
        """Set the size of the dim from a tensor dimension that is read at it, or check that both agree; size 1
        broadcasts.

        Args:
            size: of the dimension.
            place: description of the read, for messages.

        Raises:
            DimError: another read, or the creation of the dim, set another size.
        """
        with _binding:
            if self._size is None:
                self._size, self._bound_by = size, place
                return
        known = self.size
        if size == 1 or known == size:
            return
        if known != 1 or self._is_exact:
            raise DimError(
                f"the dim {self.name} has size {known} by {self._bound_by}, but size {size} by {place}. All reads at a "
                "dim need the same size, or size 1. Read a part from a slice (x[:n][i]), or at a computed index (x[i + "
                "0])."
            )
        if self._used_by:
            raise DimError(
                f"the dim {self.name} had size 1 by {self._bound_by}, and {self._used_by} used it before {place} set "
                f"it to {size}. Read the longer tensor first, or pass the size: dims(1, [{size}])."
            )
        self._size, self._bound_by = size, place

    def settle(self, use: str) -> int:
        """Return the size and mark it as used, after which a read that would enlarge it is an error.

        Args:
            use: description of the use, for messages.

        Raises:
            DimError: the size is not known yet.
        """
        size = self.size
        if not self._used_by:
            self._used_by = use
        return size

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Return the dims along which the dim's value varies: a tuple of the dim itself."""
        return (self,)

    def _compute(self) -> Tensor:
        return self._positions()

    def _positions(self) -> Tensor:
        """Return the values of the dim as a new tensor each time, since a trace must not keep a tensor of another
        trace.
        """
        positions = arange(self.settle("its value"))
        if self.step != 1:
            positions = positions * self.step
        return positions if self.start == 0 else positions + self.start

    def __repr__(self) -> str:
        return self.name


def require_sizes(dims: Iterable[Dim]) -> None:
    """Raise an error if a dim has no size yet.

    Raises:
        DimError: a dim has none.
    """
    missing = [dim for dim in dims if not dim.is_bound]
    if missing:
        listed = ", ".join(sorted(dim.name for dim in missing))
        raise DimError(
            f"the size of {listed} is unknown. Read a tensor at the dim itself (x[..., i]; computed indices do not "
            "determine it), or pass the size: dims(1, [size])."
        )


def names(dims: Iterable[Dim]) -> str:
    """Return the names of dims as a tuple, for messages."""
    listed = [dim.name for dim in dims] if isinstance(dims, tuple) else sorted(dim.name for dim in dims)
    return f"({', '.join(listed)}{',' * (len(listed) == 1)})"


def functions() -> Any:
    """Return the namespace of library functions that are no methods; the library is a higher layer, so it is imported
    here.
    """
    return importlib.import_module("opdsl._attributes").aten


def arange(size: int, device: Device | None = None) -> Tensor:
    """Return the indices 0, 1, 2, ... of a dimension."""
    positions: Tensor = functions().arange(size, device=device)
    return positions
