"""Tensors in files, in the safetensors format: a header in JSON, then the elements. Nothing of it is executed.

A dictionary of tensors is a file that every reader of safetensors takes. What else Python builds of tensors and plain
values stands in the header's metadata, under one key of ours.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

import numpy

from opdsl.errors import ConversionError, DTypeError, FileFormatError
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import (
    DType,
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from opdsl.runtime.tensor import Tensor, wrap
from opdsl.runtime.values import host_array

__all__ = ["load", "save"]

File = str | os.PathLike[str] | IO[bytes]

_CODES = {
    bool_: "BOOL",
    uint8: "U8",
    int8: "I8",
    int16: "I16",
    int32: "I32",
    int64: "I64",
    float16: "F16",
    bfloat16: "BF16",
    float32: "F32",
    float64: "F64",
    complex64: "C64",
}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}

# Keys of the metadata: how the tensors are put together, and which are complex128, stored as pairs of float64.
_STRUCTURE, _PAIRS = "opdsl.structure", "opdsl.complex128"

_LONGEST_HEADER = 100_000_000  # of the format's own reader

# How pickled files begin, in archives and bare.
_PICKLED = b"PK\x03\x04", b"\x80"

_PLAIN = (bool, int, float, str, type(None))


# ------------------------------------------------------------------------------------------------------------- writing


def save(obj: object, f: File) -> None:
    """Write tensors into a file of the safetensors format.

    A tensor that is there several times is written once; views are written without what they are views of, and
    gradients are not.

    Args:
        obj: a tensor, or dictionaries, lists and tuples of tensors, numbers, texts and None.
        f: a path, or a file that is open for writing bytes.

    Raises:
        ConversionError: something else is in it; it is a TypeError. The file is not touched then.

    >>> import io, opdsl
    >>> file = io.BytesIO()
    >>> opdsl.save({"weight": opdsl.ones(2), "step": 3}, file)
    >>> opdsl.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    writer = _Writer()
    structure = writer.encoded(obj, ())
    is_flat = isinstance(obj, dict) and all(isinstance(each, Tensor) for each in obj.values())
    if not (is_flat and list(writer.tensors) == list(obj)):  # type: ignore[call-overload]  # a dict, then
        writer.metadata[_STRUCTURE] = json.dumps(structure)
    header, arrays = writer.laid_out()
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as opened:
            _write(opened, header, arrays)
    else:
        _write(f, header, arrays)


def _write(file: IO[bytes], header: bytes, arrays: list[numpy.ndarray[Any, Any]]) -> None:
    file.write(len(header).to_bytes(8, "little") + header)
    for each in arrays:
        file.write(each.tobytes())


class _Writer:
    """What is written: tensors by name, and the metadata."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.metadata: dict[str, str] = {}
        self._names: dict[int, str] = {}

    def encoded(self, value: object, path: tuple[str, ...]) -> object:
        """A value as JSON, tensors by their names."""
        if isinstance(value, Tensor):
            return {"tensor": self._named(value, path)}
        if type(value) in _PLAIN:
            return value
        if type(value) is dict:
            if all(type(key) in _PLAIN for key in value):
                return {"dict": [[key, self.encoded(each, (*path, str(key)))] for key, each in value.items()]}
        elif type(value) in (list, tuple):
            items = enumerate(value)  # type: ignore[var-annotated, arg-type]
            return {type(value).__name__: [self.encoded(each, (*path, str(at))) for at, each in items]}
        where = f" at {'.'.join(path)!r}" if path else ""
        raise ConversionError(
            f"save: {type(value).__name__}{where} is not written. Tensors, numbers, texts, None, and dictionaries, "
            "lists and tuples of them are."
        )

    def _named(self, tensor: Tensor, path: tuple[str, ...]) -> str:
        known = self._names.get(id(tensor))
        if known is not None:
            return known
        if tensor.device.type == "meta":
            raise ConversionError("save: a tensor on the meta device has no elements to write")
        name = ".".join(path) or "tensor"
        while name in self.tensors or name == "__metadata__":
            name += "_"
        self.tensors[name] = tensor
        self._names[id(tensor)] = name
        return name

    def laid_out(self) -> tuple[bytes, list[numpy.ndarray[Any, Any]]]:
        """The header, and the arrays in their order: wide elements first, so that all are aligned."""
        pairs = [name for name, each in self.tensors.items() if each.dtype is complex128]
        if pairs:
            self.metadata[_PAIRS] = json.dumps(pairs)
        header: dict[str, object] = {"__metadata__": self.metadata} if self.metadata else {}
        arrays = []
        begin = 0
        for name, tensor in sorted(self.tensors.items(), key=lambda item: -item[1].dtype.itemsize):
            array, dtype, shape = host_array(tensor), tensor.dtype, list(tensor.shape)
            if dtype is complex128:
                dtype, shape = float64, [*shape, 2]
            end = begin + array.nbytes
            header[name] = {"dtype": _CODES[dtype], "shape": shape, "data_offsets": [begin, end]}
            arrays.append(array)
            begin = end
        text = json.dumps(header, separators=(",", ":")).encode()
        return text + b" " * (-len(text) % 8), arrays


# ------------------------------------------------------------------------------------------------------------- reading


def load(f: File, map_location: Device | str | None = None) -> Any:
    """Read what ``save`` wrote, or any file of the safetensors format.

    Args:
        f: a path, or a file that is open for reading bytes.
        map_location: the device of the tensors; the CPU by default.

    Returns:
        What was saved; of another's file a dictionary of its tensors.

    Raises:
        FileFormatError: it is no such file, or is damaged; it is a ValueError. Files of ``torch.save`` are pickled
            and not read: ``safetensors.torch.save_file`` converts what is in them.
        DTypeError: the file has elements of a dtype that is not here.
    """
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as opened:
            tensors, metadata = _read(opened)
    else:
        tensors, metadata = _read(f)
    try:
        for name in json.loads(metadata.get(_PAIRS, "[]")):
            tensors[name] = wrap(host_array(tensors[name]).view(numpy.complex128)[..., 0], complex128)
        if map_location is not None:
            tensors = {name: each.to(Device(map_location)) for name, each in tensors.items()}
        structure = metadata.get(_STRUCTURE)
        return tensors if structure is None else _decoded(json.loads(structure), tensors)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileFormatError(f"load: the metadata does not fit the tensors ({error!r})") from error


def _decoded(value: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return _KINDS[kind](content, tensors)


_KINDS: dict[str, Callable[[Any, dict[str, Tensor]], object]] = {
    "tensor": lambda name, tensors: tensors[name],
    "dict": lambda pairs, tensors: {key: _decoded(each, tensors) for key, each in pairs},
    "list": lambda items, tensors: [_decoded(each, tensors) for each in items],
    "tuple": lambda items, tensors: tuple(_decoded(each, tensors) for each in items),
}


class _Entry(NamedTuple):
    """What a header says of a tensor."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    begin: int
    end: int


def _read(file: IO[bytes]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors by name, in the header's order, and the metadata."""
    header = _header(file)
    metadata = header.pop("__metadata__", {})
    entries = sorted(_entries(header), key=lambda each: (each.begin, each.end))
    found: dict[str, Tensor] = {}
    at = 0
    for each in entries:
        size = math.prod(each.shape) * each.dtype.itemsize
        if each.begin != at or each.end - at != size:
            raise FileFormatError(
                f"load: {each.name!r} has {size} bytes from {at} on, and the header says {each.begin} to {each.end}"
            )
        data = bytearray(file.read(size))
        if len(data) != size:
            raise FileFormatError(f"load: the file ends within {each.name!r}")
        found[each.name] = wrap(numpy.frombuffer(data, each.dtype.numpy).reshape(each.shape), each.dtype)
        at = each.end
    return {name: found[name] for name in header}, metadata


def _header(file: IO[bytes]) -> dict[str, Any]:
    start = file.read(8)
    length = int.from_bytes(start, "little")
    text = file.read(length) if len(start) == 8 and length <= _LONGEST_HEADER else b""
    if text[:1] != b"{" and start.startswith(_PICKLED):
        raise FileFormatError(
            "load: the file is pickled, as torch.save writes them, and reading it could run any code. Convert what is "
            "in it with safetensors.torch.save_file."
        )
    try:
        header = json.loads(text.decode())
    except ValueError as error:
        raise FileFormatError(f"load: this is no file of the safetensors format (its header: {error})") from error
    metadata = header.get("__metadata__", {}) if isinstance(header, dict) else None
    if not isinstance(metadata, dict):
        raise FileFormatError("load: the header is no dictionary, or its metadata is none")
    return dict(header)


def _entries(header: dict[str, Any]) -> Iterator[_Entry]:
    for name, each in header.items():
        try:
            code, shape, (begin, end) = each["dtype"], tuple(each["shape"]), each["data_offsets"]
            sizes = (*shape, begin, end)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"load: the header says of {name!r} what is no tensor ({error!r})") from error
        if not all(type(size) is int and 0 <= size < 2**63 for size in sizes):
            raise FileFormatError(f"load: the header has sizes of {name!r} that are none: {sizes}")
        if code not in _DTYPES:
            raise DTypeError(
                f"load: {name!r} has elements {code!r}, which no dtype is for. Have: {', '.join(_DTYPES)}."
            )
        yield _Entry(name, _DTYPES[code], shape, begin, end)
