"""``Dim`` and ``DimTensor``: named dimensions, and tensors that vary along them.

A ``DimTensor`` is a tensor whose leading axes belong to dims, and its positional dimensions behind them. Everything is
done by ordinary operators, so that it is followed by autograd, traced and compiled as any call.

May import: what stands below; operators are methods of Tensor, so no module of the library is named.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from opdsl.dispatch import set_grad_enabled
from opdsl.dispatch.state import current
from opdsl.errors import DimAttributeError, DimError, NotPickledError
from opdsl.formulas.dim_sources import Source
from opdsl.runtime import Device, DType, Tensor, is_installed
from opdsl.runtime.init_hooks import prepare
from opdsl.runtime.interchange import operand
from opdsl.runtime.lowering import lowering
from opdsl.runtime.symbol import Symbol, is_symbol
from opdsl.runtime.tensor import Readable

if TYPE_CHECKING:
    _Value = Tensor  # what has dims is typed as a tensor, so that formulas check with plain annotations
else:
    _Value = object

# One dim is bound at a time.
_binding = threading.Lock()


class Later(NamedTuple):
    """A value that is computed when it is first used.

    compute: gives it.
    depends: the dims that must have sizes before.
    sources: the tensors that it reads.
    grad_mode: whether autograd followed where the value was written.
    factors: of a product, what is multiplied; empty for any other value.
    """

    compute: Callable[[], Tensor]
    depends: frozenset[Dim]
    sources: tuple[Source, ...]
    grad_mode: bool
    factors: tuple[DimTensor, ...] = ()


class DimTensor(_Value):
    """A tensor that varies along dims. Reading a tensor at dims gives one: ``x[..., i, k]``.

    Args:
        tensor: the elements: an axis for each dim, of its size or 1, then the positional dimensions.
        dims: those of the leading axes.
        mask: which turns there are, of what ``outside("skip")`` has read; None for all.
        is_of_dims: whether it is made of dims and numbers alone, so that it may live on any device.
        later: how it is computed, in place of ``tensor`` and ``dims``.

    is_gathered: whether it was read at computed positions, so that its elements are copies.

    >>> import opdsl
    >>> i, j = opdsl.dims(2)
    >>> x = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> (x[i, j] * x[j, i]).order(i, j)
    tensor([[ 1.,  6.],
            [ 6., 16.]])
    """

    __slots__ = ("__weakref__", "_dims", "_later", "_tensor", "is_gathered", "is_of_dims", "mask")

    # NumPy leaves ``array + x`` to ``__radd__``.
    __array_ufunc__ = None

    if not TYPE_CHECKING:
        # For a type checker these are a tensor's.
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

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be pickled or copied.

        Raises:
            NotPickledError: dims are themselves, and of another process or a copy they would be others.
        """
        raise NotPickledError("a value over dims is neither pickled nor copied. Place its dims: value.order(..., i).")

    # ------------------------------------------------------------------------------------------------ elements

    def _compute(self) -> Tensor:
        """Return the elements, computed if they were not.

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
        else:
            self._tensor, self._dims = value, ()
        self._later = None
        return self._tensor

    @property
    def tensor(self) -> Tensor:
        """The elements: an axis for each of ``dims``, then the positional dimensions."""
        return self._compute()

    @property
    def dims(self) -> tuple[Dim, ...]:
        """The dims along which it varies."""
        self._compute()
        return self._dims

    @property
    def pending(self) -> Later | None:
        """How it is going to be computed; None where it has been."""
        return self._later

    @property
    def depends(self) -> frozenset[Dim]:
        """The dims that it is made of."""
        later = self._later
        return frozenset(self._dims) if later is None else later.depends

    @property
    def lacks_sizes(self) -> bool:
        """Whether it cannot be computed yet, since a dim has no size."""
        later = self._later
        return later is not None and any(not dim.is_bound for dim in later.depends)

    # -------------------------------------------------------------------------------------------- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its positional dimensions."""
        tensor = self._compute()
        return tensor.shape[len(self._dims) :]

    @property
    def ndim(self) -> int:
        """The number of its positional dimensions."""
        tensor = self._compute()
        return tensor.ndim - len(self._dims)

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self._compute().dtype

    @property
    def device(self) -> Device:
        """Where it lives."""
        return self._compute().device

    def dim(self) -> int:
        """The number of its positional dimensions."""
        return self.ndim

    if not TYPE_CHECKING:

        @property
        def requires_grad(self):
            """Whether autograd follows it."""
            return self._compute().requires_grad

        def size(self, dim=None):
            """All sizes of positional dimensions as a tuple, or one of them."""
            return self.shape if dim is None else self.shape[dim]

        def is_floating_point(self):
            """Whether its dtype is a real floating-point one."""
            return self.dtype.is_floating_point

        def is_complex(self):
            """Whether its dtype is complex."""
            return self.dtype.is_complex

        def __getattr__(self, name):
            """The methods of Tensor that are operators, and its properties."""
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
        """Answer the call of an operator."""
        return importlib.import_module("opdsl.formulas.dim_calls").call(function, args, kwargs)

    @staticmethod
    def __opdsl_subscript__(value: Tensor, index: object) -> Tensor:
        """Answer ``value[index]``."""
        read: Tensor = importlib.import_module("opdsl.formulas.dim_reads").read(value, index, None)
        return read

    @staticmethod
    def __opdsl_subscript_write__(value: Tensor, index: object, written: object) -> None:
        raise DimError(
            "x[...] = value: neither the subscript nor the value has dims (got one over dims). Write a tensor: "
            "x[...] = value.order(...), or opdsl.index_put for computed positions."
        )

    if not TYPE_CHECKING:

        def __getitem__(self, index):
            return self.__opdsl_subscript__(self, index)

        def __setitem__(self, index, value):
            self.__opdsl_subscript_write__(self, index, value)

        def __iter__(self):
            if self.ndim == 0:
                raise DimError(
                    f"a value over {names(self.depends)} has no positional dimension to iterate over. "
                    "x.order(i) makes one of a dim."
                )
            return iter(Tensor.unbind(self))

    def order(self, *dims: object) -> Tensor:
        """Make positional dimensions of dims: ``x.order(..., i, j)``.

        Args:
            dims: in the order of the result. ``...`` stands for the positional dimensions, and is left out only where
                there are none; a tuple of dims is one dimension, their product. The result still varies along dims
                that are not listed, and is a plain tensor where all are.

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
            f"{what} of a value over {names(self.depends)} is asked for, and it has one for each of their positions. "
            "Fold the dims, or place them first: x.order(...); where(condition, a, b) chooses per element."
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
    """A method of Tensor bound to a value with dims."""

    __slots__ = ("_function", "_value")

    def __init__(self, function: Callable[..., object], value: DimTensor) -> None:
        self._function = function
        self._value = value

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._function(self._value, *args, **kwargs)


def _lacks(value: DimTensor, name: str) -> str:
    return (
        f"{name} of a value over {names(value.depends)}: that is asked of plain tensors. Place the dims first: "
        f"x.order(...).{name}."
    )


def _unknown(value: DimTensor, name: str) -> str:
    return f"'{type(value).__name__}' object has no attribute {name!r}"


def _special(name: str) -> Callable[..., object]:
    """Return the special method that calls Tensor's."""

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
    """A first-class dimension; ``opdsl.dims`` makes them. As a value it is an int64 tensor over itself: 0, 1, 2, ...

    Args:
        name: gives its name, in messages.
        extent: its size, or the range that its values run through; None where reads tell the size.

    >>> import opdsl
    >>> time = opdsl.dim(3)
    >>> time, time.size, (time * time).order(time)
    (time, 3, tensor([0, 1, 4]))
    """

    is_bare = True
    """Reads at it alone tell its size."""

    __slots__ = ("_bound_by", "_is_exact", "_name", "_size", "_used_by", "start", "step")

    def __init__(self, name: Callable[[], str], extent: int | range | None = None) -> None:
        prepare()  # a dim may be used before the first tensor is made, which gives Tensor its operators
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
        """The name that it was assigned to."""
        return self._name()

    @property
    def is_bound(self) -> bool:
        """Whether it has a size."""
        return self._size is not None

    @property
    def is_plain(self) -> bool:
        """Whether its values are its positions: 0, 1, 2, ..."""
        return self.start == 0 and self.step == 1

    @property
    def size(self) -> int:  # type: ignore[override]  # functorch.dim's name; of a tensor it is a method
        """How many positions it has.

        Raises:
            DimError: nothing has told yet.
        """
        require_sizes((self,))
        size = self._size
        assert size is not None, "a bound dim has a size"
        if is_symbol(size) and cast(Symbol, size).owner is not lowering.get():
            raise DimError(
                f"the dim {self.name} got its size while a function was traced, and is used outside of it. Make dims "
                "within the function."
            )
        return size

    def bind(self, size: int, place: object) -> None:
        """Note the size of a dimension that is read at the dim itself; one of size 1 broadcasts.

        Args:
            size: of the dimension.
            place: what its text calls the read, for messages.

        Raises:
            DimError: another read, or whoever made the dim, says something else.
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
                f"the dim {self.name} has size {known} by {self._bound_by}, and size {size} by {place}. All reads of a "
                "dim agree on its size, or have size 1. Read a part from a slice (x[:n][i]), or at a computed position "
                "(x[i + 0])."
            )
        if self._used_by:
            raise DimError(
                f"the dim {self.name} had size 1 by {self._bound_by}, and {self._used_by} has used that before {place} "
                f"says {size}. Read the longer tensor first, or give the size: dims(1, [{size}])."
            )
        self._size, self._bound_by = size, place

    def settle(self, use: str) -> int:
        """Return the size for a use of it, after which a longer read is an error.

        Args:
            use: what uses it, for messages.

        Raises:
            DimError: nothing has told the size yet.
        """
        size = self.size
        if not self._used_by:
            self._used_by = use
        return size

    @property
    def dims(self) -> tuple[Dim, ...]:
        """Itself: it is a value that varies along itself."""
        return (self,)

    def _compute(self) -> Tensor:
        return self._positions()

    def _positions(self) -> Tensor:
        """Its values, made anew each time: a trace must not keep those of another one."""
        positions = arange(self.settle("its value"))
        if self.step != 1:
            positions = positions * self.step
        return positions if self.start == 0 else positions + self.start

    def __repr__(self) -> str:
        return self.name


def require_sizes(dims: Iterable[Dim]) -> None:
    """Raise where dims have no size yet.

    Raises:
        DimError: one has none.
    """
    missing = [dim for dim in dims if not dim.is_bound]
    if missing:
        listed = ", ".join(sorted(dim.name for dim in missing))
        raise DimError(
            f"nothing has told the size of {listed}. A tensor read at the dim itself does (x[..., i]; computed "
            "positions do not), or dims(1, [size])."
        )


def names(dims: Iterable[Dim]) -> str:
    """The names of dims as a tuple, for messages."""
    listed = [dim.name for dim in dims] if isinstance(dims, tuple) else sorted(dim.name for dim in dims)
    return f"({', '.join(listed)}{',' * (len(listed) == 1)})"


def functions() -> Any:
    """The library's functions that are no methods; it stands above formulas, and is loaded by name."""
    return importlib.import_module("opdsl._attributes").aten


def arange(size: int, device: Device | None = None) -> Tensor:
    """The positions of a dimension."""
    tensor: Tensor = functions().arange(size, device=device)
    return tensor
