"""Conversion of the tensors of one call between opdsl and torch, in both directions.

Memory is shared, never copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy
import torch
import torch.utils.dlpack

from opdsl.errors import InterchangeError, OptionError, ReadOnlyError
from opdsl.interop.torch import tensors
from opdsl.kernels.outputs import resize, resize_output, tensor_over
from opdsl.runtime import Device, Generator, Tensor, View, become, from_dlpack, make_view, storage_root
from opdsl.runtime.viewing import memory_around, storage_size

__all__ = ["Crossing", "flattened", "require_writable"]


class Crossing:
    """Converter of the tensors of one call between opdsl and torch.

    Tensors of one storage become torch tensors of one storage, and a tensor is always converted to the same torch
    tensor, so that torch detects overlap and views. A result over the memory of an argument becomes a view of the
    argument, or the argument itself.
    """

    __slots__ = ("_ours", "_storages", "_theirs", "_viewed")

    def __init__(self) -> None:
        self._theirs: dict[int, torch.Tensor] = {}
        self._ours: dict[int, Tensor] = {}
        self._viewed: dict[int, Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}

    # -------------------------------------------------------------------------------------------------------- there

    def value(self, value: Any) -> Any:
        """Convert an argument to torch."""
        if isinstance(value, Tensor):
            return self.tensor(value)
        if isinstance(value, list | tuple):
            return [self.value(element) for element in value]
        if isinstance(value, Generator):
            raise OptionError(
                "torch draws random numbers from generators of its own (got an opdsl.Generator). Leave generator= out, "
                "and seed torch with torch.manual_seed."
            )
        return tensors.to_torch(value)

    def tensor(self, source: Tensor) -> torch.Tensor:
        """Return the torch tensor over the memory of a tensor, creating it if necessary."""
        result = self._theirs.get(id(source))
        return self.pair(source, self.alias(source)) if result is None else result

    def pair(self, ours: Tensor, theirs: torch.Tensor) -> torch.Tensor:
        """Record that a torch tensor represents a tensor, and return the torch tensor."""
        self._theirs[id(ours)] = theirs
        self._ours[id(theirs)] = ours
        self._viewed.setdefault(theirs.untyped_storage()._cdata, ours)
        return theirs

    def alias(self, source: Tensor) -> torch.Tensor:
        """Return a new torch tensor over the memory of a tensor; torch does not treat it as a view, and versions it
        separately.
        """
        form = source.geometry
        output = torch.empty(0, dtype=tensors.TORCH_DTYPES[form.dtype], device=str(form.device))
        output.set_(self._storage(source), source.storage_offset(), form.shape, form.strides)
        return tensors.with_bits(output, form)

    def _storage(self, source: Tensor) -> torch.UntypedStorage:
        root = storage_root(source)
        memory = memory_around(source.array, root) if source.is_cpu else root
        storage = self._storages.get(id(memory))
        if storage is None:
            storage = self._storages[id(memory)] = _storage(root, memory)
        return storage

    # --------------------------------------------------------------------------------------------------------- back

    def result(self, value: Any) -> Any:
        """Convert a result of torch to opdsl.

        Raises:
            InterchangeError: opdsl has no such tensors.
        """
        if isinstance(value, torch.Tensor):
            return self.returned(value)
        if isinstance(value, list | tuple):
            return type(value)(self.result(element) for element in value)
        return tensors.to_opdsl(value, self.returned)

    def returned(self, value: torch.Tensor) -> Tensor:
        """Convert a tensor that torch returned: to the argument that it is, to a view of an argument, or to a new
        tensor.
        """
        returned = self._ours.get(id(value))
        if returned is not None:
            return returned
        # Detached, so that tensors that share its memory do not keep the autograd graph alive.
        plain = value.detach()
        if plain._is_zerotensor():  # has no memory
            plain = plain.clone()
        form = tensors.geometry_of(plain, _device(plain.device))
        viewed = self.viewed(plain)
        if viewed is not None:
            view = make_view(viewed, form.shape, form.strides, int(plain.storage_offset()), form.dtype)
            view.geometry = view.geometry.replace(is_conj=plain.is_conj(), is_neg=plain.is_neg())
            return view
        if plain.is_conj() or plain.is_neg():
            return self.returned(plain.resolve_conj().resolve_neg())
        if form.device.type == "cuda":
            return from_dlpack(plain)
        return tensor_over(None if plain.is_meta else tensors.array_over(plain, form), form)

    def is_argument(self, value: torch.Tensor) -> bool:
        """Return whether a torch tensor represents an argument."""
        return id(value) in self._ours

    def viewed(self, value: torch.Tensor) -> Tensor | None:
        """Return the argument that shares its storage with a torch tensor, or None."""
        return self._viewed.get(value.untyped_storage()._cdata)

    def update(self, written: Iterable[Tensor]) -> None:
        """Copy changes that torch made to written arguments back: shapes, strides, and elements if torch reallocated
        them.
        """
        for ours in written:
            theirs = self._theirs[id(ours)]
            shape, strides = tuple(theirs.shape), theirs.stride()
            stays = self._storages_hold(theirs)
            place = View(shape, strides, int(theirs.storage_offset()))
            if stays and place != View(ours.shape, ours.strides, ours.storage_offset()):
                become(ours, place)
            elif not stays:
                resize(ours, shape, strides)
                with torch.no_grad():
                    Crossing().tensor(ours).copy_(theirs)

    def resize_output(self, output: Tensor) -> None:
        """Resize an ``out=`` tensor to the shape that torch gave its stand-in, with a warning if it has elements."""
        resize_output(output, tuple(self._theirs[id(output)].shape))

    def _storages_hold(self, theirs: torch.Tensor) -> bool:
        storage = theirs.untyped_storage()._cdata
        return any(held._cdata == storage for held in self._storages.values())

    def stand_apart(self, outputs: Iterable[Tensor]) -> None:
        """Pair ``out=`` tensors with empty torch tensors that own their memory, since torch cannot resize shared
        memory.
        """
        for output in outputs:
            dtype = tensors.TORCH_DTYPES[output.dtype]
            self.pair(output, torch.empty(0, dtype=dtype, device=str(output.device)))


@cache
def _device(theirs: torch.device) -> Device:
    return Device(str(theirs))


def flattened(value: Any) -> Iterator[Any]:
    """Yield the elements of nested lists and tuples, in order."""
    if isinstance(value, list | tuple):
        for element in value:
            yield from flattened(element)
    else:
        yield value


def require_writable(written: Iterable[Tensor]) -> None:
    """Refuse to write to read-only memory.

    Raises:
        ReadOnlyError: a tensor is read-only.
    """
    if any(tensor.geometry.read_only for tensor in written):
        raise ReadOnlyError(
            "the tensor shares the memory of a read-only array and cannot be written. Write to a copy, tensor.clone()."
        )


def _storage(root: Tensor, memory: Any) -> torch.UntypedStorage:
    """Return the torch storage over the memory that a tensor owns."""
    make = _STORAGES.get(root.device.type)
    if make is None:
        raise InterchangeError(
            f"torch operators run on tensors on {', '.join(_STORAGES)} (got one on {root.device}). Copy it first: "
            "tensor.cpu()."
        )
    return make(root, memory)


def _of_array(root: Tensor, memory: numpy.ndarray[Any, Any]) -> torch.UntypedStorage:
    if not memory.flags.writeable:
        # torch has no read-only tensors. Calls that would write this memory have been refused before.
        memory = numpy.asarray(_Writable(memory))
    return torch.from_numpy(memory).untyped_storage()


class _Writable:
    """Array interface that presents the memory of a read-only array as writable to torch, and keeps the array alive."""

    def __init__(self, array: numpy.ndarray[Any, Any]) -> None:
        self._array = array
        interface = array.__array_interface__
        self.__array_interface__ = {**interface, "data": (interface["data"][0], False)}


def _of_nothing(root: Tensor, memory: object) -> torch.UntypedStorage:
    return torch.empty(storage_size(root), dtype=torch.uint8, device="meta").untyped_storage()


def _of_dlpack(root: Tensor, memory: object) -> torch.UntypedStorage:
    return torch.utils.dlpack.from_dlpack(root.detach()).untyped_storage()


_STORAGES: Mapping[str, Callable[[Tensor, Any], torch.UntypedStorage]] = {
    "cpu": _of_array,
    "cuda": _of_dlpack,
    "meta": _of_nothing,
}
