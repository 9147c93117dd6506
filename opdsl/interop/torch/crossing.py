"""One call of a torch operator on opdsl tensors: what goes over, and what comes back.

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
    """The tensors of one call.

    Tensors of one storage become torch tensors of one storage, each tensor always the same one, so that torch sees
    overlap and views as they are. A result over the memory of an argument becomes a view of it, or the argument itself.
    """

    __slots__ = ("_ours", "_storages", "_theirs", "_viewed")

    def __init__(self) -> None:
        self._theirs: dict[int, torch.Tensor] = {}
        self._ours: dict[int, Tensor] = {}
        self._viewed: dict[int, Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}

    # -------------------------------------------------------------------------------------------------------- there

    def value(self, value: Any) -> Any:
        """An argument as torch takes it."""
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
        """The torch tensor over the memory of a tensor."""
        result = self._theirs.get(id(source))
        return self.pair(source, self.alias(source)) if result is None else result

    def pair(self, ours: Tensor, theirs: torch.Tensor) -> torch.Tensor:
        """Let a torch tensor stand for a tensor."""
        self._theirs[id(ours)] = theirs
        self._ours[id(theirs)] = ours
        self._viewed.setdefault(theirs.untyped_storage()._cdata, ours)
        return theirs

    def alias(self, source: Tensor) -> torch.Tensor:
        """A new torch tensor over the memory of a tensor; no view as torch sees it, and with a version of its own."""
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
        """What torch returned, as opdsl has it.

        Raises:
            InterchangeError: opdsl has no such tensors.
        """
        if isinstance(value, torch.Tensor):
            return self.returned(value)
        if isinstance(value, list | tuple):
            return type(value)(self.result(element) for element in value)
        return tensors.to_opdsl(value, self.returned)

    def returned(self, value: torch.Tensor) -> Tensor:
        """A tensor for one that torch returned."""
        returned = self._ours.get(id(value))
        if returned is not None:
            return returned
        # Without its history: who shares its memory shall not keep that alive.
        plain = value.detach()
        if plain._is_zerotensor():  # of which torch has no memory
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
        """Whether a torch tensor is one that stands for an argument."""
        return id(value) in self._ours

    def viewed(self, value: torch.Tensor) -> Tensor | None:
        """The argument whose memory a torch tensor shows."""
        return self._viewed.get(value.untyped_storage()._cdata)

    def update(self, written: Iterable[Tensor]) -> None:
        """Give tensors the shapes that torch has given those that stand for them, and elements that lie elsewhere."""
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
        """Give an output the shape that torch has given what stands for it; with elements it warns."""
        resize_output(output, tuple(self._theirs[id(output)].shape))

    def _storages_hold(self, theirs: torch.Tensor) -> bool:
        storage = theirs.untyped_storage()._cdata
        return any(held._cdata == storage for held in self._storages.values())

    def stand_apart(self, outputs: Iterable[Tensor]) -> None:
        """Let empty torch tensors with memory of their own stand for outputs: torch cannot resize what we share."""
        for output in outputs:
            dtype = tensors.TORCH_DTYPES[output.dtype]
            self.pair(output, torch.empty(0, dtype=dtype, device=str(output.device)))


@cache
def _device(theirs: torch.device) -> Device:
    return Device(str(theirs))


def flattened(value: Any) -> Iterator[Any]:
    """The elements of nested lists and tuples, one after the other."""
    if isinstance(value, list | tuple):
        for element in value:
            yield from flattened(element)
    else:
        yield value


def require_writable(written: Iterable[Tensor]) -> None:
    """Refuse to write memory that must not be written.

    Raises:
        ReadOnlyError: it must not.
    """
    if any(tensor.geometry.read_only for tensor in written):
        raise ReadOnlyError(
            "the tensor shares the memory of a read-only array and cannot be written. Write to a copy, tensor.clone()."
        )


def _storage(root: Tensor, memory: Any) -> torch.UntypedStorage:
    """The torch storage of the memory that a tensor owns."""
    make = _STORAGES.get(root.device.type)
    if make is None:
        raise InterchangeError(
            f"torch operators run on tensors on {', '.join(_STORAGES)} (got one on {root.device}). Copy it first: "
            "tensor.cpu()."
        )
    return make(root, memory)


def _of_array(root: Tensor, memory: numpy.ndarray[Any, Any]) -> torch.UntypedStorage:
    if not memory.flags.writeable:
        # torch knows no read-only memory; what would write it has been refused.
        memory = numpy.asarray(_Writable(memory))
    return torch.from_numpy(memory).untyped_storage()


class _Writable:
    """The memory of a read-only array for torch, which it keeps alive."""

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
