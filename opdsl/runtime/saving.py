"""Tensors in files of the safetensors format, using its own package. Reading a file never executes code from it.

A dictionary of tensors is saved as a file that every reader of safetensors accepts. The structure of other Python
objects of tensors and plain values is stored in the header's metadata, under a key of opdsl.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy

from opdsl.errors import ConversionError, DTypeError, FileFormatError, MissingDependencyError
from opdsl.runtime.device import Device
from opdsl.runtime.dtype import ALL_DTYPES, complex128, float64
from opdsl.runtime.tensor import Tensor, wrap
from opdsl.runtime.values import host_array

__all__ = ["load", "save"]

File = str | os.PathLike[str] | IO[bytes]

_DTYPES = {dtype.safetensors: dtype for dtype in ALL_DTYPES if dtype.safetensors}

# Keys of the metadata: the structure of the saved object, and the complex128 tensors, stored as pairs of float64.
_STRUCTURE, _PAIRS = "opdsl.structure", "opdsl.complex128"

# First bytes of pickled files, in archives and bare.
_PICKLED = b"PK\x03\x04", b"\x80"

_PLAIN = (bool, int, float, str, type(None))


# ------------------------------------------------------------------------------------------------------------- writing


def save(obj: object, f: File) -> None:
    """Write tensors to a file in the safetensors format.

    A tensor that occurs several times is written once; views are written without their bases, and gradients are not
    written.

    Args:
        obj: a tensor, or dictionaries, lists and tuples of tensors, numbers, texts and None.
        f: a path, or a file that is open for writing bytes.

    Raises:
        ConversionError: ``obj`` contains something else; it is a TypeError. The file is not touched then.
        MissingDependencyError: the package safetensors is not installed.

    >>> import io, opdsl
    >>> file = io.BytesIO()
    >>> opdsl.save({"weight": opdsl.ones(2), "step": 3}, file)
    >>> opdsl.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    writer = _Writer()
    structure = writer.encoded(obj, ())
    is_flat = isinstance(obj, dict) and all(isinstance(value, Tensor) for value in obj.values())
    if not (is_flat and list(writer.tensors) == list(obj)):  # type: ignore[call-overload]  # a dict, then
        writer.metadata[_STRUCTURE] = json.dumps(structure)
    content = writer.content()
    if isinstance(f, (str, os.PathLike)):
        Path(f).write_bytes(content)
    else:
        f.write(content)


def _package() -> Any:
    """Import and return the package ``safetensors``.

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        import safetensors
    except ImportError as error:
        raise MissingDependencyError(
            'save and load need the package safetensors: pip install "opdsl[safetensors]"'
        ) from error
    return safetensors


class _Writer:
    """Collector of the tensors, by name, and of the metadata that are written to a file."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.metadata: dict[str, str] = {}
        self._names: dict[int, str] = {}

    def encoded(self, value: object, path: tuple[str, ...]) -> object:
        """Return a value as JSON, with tensors replaced by their names."""
        if isinstance(value, Tensor):
            return {"tensor": self._named(value, path)}
        if type(value) in _PLAIN:
            return value
        if type(value) is dict:
            if all(type(key) in _PLAIN for key in value):
                return {"dict": [[key, self.encoded(entry, (*path, str(key)))] for key, entry in value.items()]}
        elif type(value) in (list, tuple):
            items = enumerate(value)  # type: ignore[var-annotated, arg-type]
            return {type(value).__name__: [self.encoded(element, (*path, str(at))) for at, element in items]}
        where = f" at {'.'.join(path)!r}" if path else ""
        raise ConversionError(
            f"save: {type(value).__name__}{where} cannot be saved. Use tensors, numbers, strings, None, and "
            "dictionaries, lists and tuples of them."
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

    def content(self) -> bytes:
        """Return the content of the file."""
        package = _package()
        pairs = [name for name, tensor in self.tensors.items() if tensor.dtype is complex128]
        if pairs:
            self.metadata[_PAIRS] = json.dumps(pairs)
        arrays, specs = [], {}  # the specs only contain addresses, so the arrays are kept alive here
        for name, tensor in self.tensors.items():
            array, dtype, shape = numpy.ascontiguousarray(host_array(tensor)), tensor.dtype, list(tensor.shape)
            if dtype is complex128:
                dtype, shape = float64, [*shape, 2]
            arrays.append(array)
            data = {"data_ptr": array.ctypes.data, "data_len": array.nbytes}
            specs[name] = package.TensorSpec(dtype=dtype.name, shape=shape, **data)
        return bytes(package.serialize(specs, metadata=self.metadata or None))


# ------------------------------------------------------------------------------------------------------------- reading


def load(f: File, map_location: Device | str | None = None) -> Any:
    """Read a file that ``save`` wrote, or any file in the safetensors format.

    Args:
        f: a path, or a file that is open for reading bytes.
        map_location: the device of the tensors; the CPU by default.

    Returns:
        The saved object; for files of other programs a dictionary of their tensors.

    Raises:
        FileFormatError: the file has another format, or is damaged; it is a ValueError. Files of ``torch.save`` are
            pickled and not read: ``safetensors.torch.save_file`` converts their content.
        DTypeError: the file has elements of an unsupported dtype.
        MissingDependencyError: the package safetensors is not installed.

    >>> import opdsl
    >>> import io
    >>> file = io.BytesIO()
    >>> opdsl.save({"weight": opdsl.tensor([1.0, 2.0]), "step": 3}, file)
    >>> _ = file.seek(0)
    >>> opdsl.load(file)
    {'weight': tensor([1., 2.]), 'step': 3}
    """
    tensors, metadata = _read(Path(f).read_bytes() if isinstance(f, (str, os.PathLike)) else f.read())
    try:
        for name in json.loads(metadata.get(_PAIRS, "[]")):
            tensors[name] = _complex(tensors[name])
        if map_location is not None:
            tensors = {name: tensor.to(Device(map_location)) for name, tensor in tensors.items()}
        structure = metadata.get(_STRUCTURE)
        return tensors if structure is None else _decoded(json.loads(structure), tensors)
    except RecursionError as error:
        raise FileFormatError("load: the metadata is nested too deeply") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileFormatError(f"load: the metadata does not fit the tensors ({error!r})") from error


def _complex(pairs: Tensor) -> Tensor:
    """Return a complex128 tensor from pairs of float64."""
    if pairs.dtype is not float64 or tuple(pairs.shape[-1:]) != (2,):
        raise ValueError(f"{pairs.dtype}{list(pairs.shape)} are no pairs of float64")
    return wrap(host_array(pairs).view(numpy.complex128)[..., 0], complex128)


def _decoded(value: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    return _KINDS[kind](content, tensors)


_KINDS: dict[str, Callable[[Any, dict[str, Tensor]], object]] = {
    "tensor": lambda name, tensors: tensors[name],
    "dict": lambda pairs, tensors: {key: _decoded(entry, tensors) for key, entry in pairs},
    "list": lambda items, tensors: [_decoded(entry, tensors) for entry in items],
    "tuple": lambda items, tensors: tuple(_decoded(entry, tensors) for entry in items),
}


def _read(content: bytes) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return the tensors of a file by name, and its metadata."""
    package = _package()
    try:
        entries = package.deserialize(content)
    except package.SafetensorError as error:
        if content.startswith(_PICKLED):
            raise FileFormatError(
                "load: the file is pickled, as torch.save writes them, and reading it could run any code. Convert its "
                "tensors with safetensors.torch.save_file."
            ) from error
        raise FileFormatError(f"load: this is no file of the safetensors format, or is damaged ({error})") from error
    tensors = {name: _tensor(name, **fields) for name, fields in entries}
    end = 8 + int.from_bytes(content[:8], "little")
    return tensors, json.loads(content[8:end]).get("__metadata__", {})


def _tensor(name: str, dtype: str, shape: list[int], data: bytearray) -> Tensor:
    element_dtype = _DTYPES.get(dtype)
    if element_dtype is None:
        raise DTypeError(
            f"load: {name!r} has elements {dtype!r}, for which opdsl has no dtype. Supported: {', '.join(_DTYPES)}."
        )
    return wrap(numpy.frombuffer(data, element_dtype.numpy).reshape(shape), element_dtype)
