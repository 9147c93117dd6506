"""Devices, layouts, memory formats, and the table of backends."""

from __future__ import annotations

import enum
import sys
import threading
from contextlib import suppress
from typing import ClassVar, NamedTuple

from opdsl.errors import DeviceError
from opdsl.runtime.forking import held_across_fork


class Layout(enum.Enum):
    """Layout of a tensor: how its elements are addressed (strided, or a sparse format)."""

    __schema_type__ = "Layout"

    strided = 0
    sparse_coo = 1
    sparse_csr = 2
    sparse_csc = 3
    sparse_bsr = 4
    sparse_bsc = 5
    mkldnn = 6
    jagged = 7

    def __repr__(self) -> str:
        return f"opdsl.{self.name}"

    __str__ = __repr__


class MemoryFormat(enum.Enum):
    """Memory format: the order of a strided tensor's dimensions in memory."""

    __schema_type__ = "MemoryFormat"

    contiguous_format = 0
    preserve_format = 1
    channels_last = 2
    channels_last_3d = 3

    def __repr__(self) -> str:
        return f"opdsl.{self.name}"

    __str__ = __repr__


strided = Layout.strided
contiguous_format = MemoryFormat.contiguous_format
preserve_format = MemoryFormat.preserve_format
channels_last = MemoryFormat.channels_last
channels_last_3d = MemoryFormat.channels_last_3d


class Device:
    """Device of a tensor; there is exactly one object for each type and index, so compare with ``is`` or ``==``.

    Args:
        type: ``"cpu"``, ``"cuda"``, ``"meta"`` or the name of a backend, with an index (``"cuda:1"``) unless ``index``
            is given; or a device.
        index: the index of the device among those of its type.

    >>> Device("cuda:1"), Device("cuda", 1) is Device("cuda:1"), Device("cpu").index
    (device(type='cuda', index=1), True, None)
    """

    __slots__ = ("index", "type")
    __schema_type__: ClassVar[str] = "Device"

    type: str
    index: int | None

    def __new__(cls, type: str | Device, index: int | None = None) -> Device:
        """Return the device of a type and index.

        Args:
            type: ``"cpu"``, ``"cuda"``, ``"meta"``, or the name of a registered backend; an index may follow a colon.
            index: the index among the devices of that type; None for the current one.

        Raises:
            DeviceError: the text is no device, the type has no backend, or an index is given twice.
        """
        if isinstance(type, Device):
            return type
        kind, number = _split(type)
        if number is not None and index is not None:
            raise DeviceError(
                f"device {type!r} already has an index, and index={index} was given too. Give one of them."
            )
        index = index if number is None else number
        device = _INTERNED.get((kind, index))
        return device if device is not None else _new_device(cls, kind, index)

    def __repr__(self) -> str:
        return (
            f"device(type={self.type!r})" if self.index is None else f"device(type={self.type!r}, index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Device is immutable; make Device(type, index) with the {name} that you want")

    def __reduce__(self) -> tuple[object, tuple[str, int | None]]:
        return Device, (self.type, self.index)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: object) -> Device:
        return self


_INTERNED: dict[tuple[str, int | None], Device] = {}
_LOCK = held_across_fork(threading.Lock())


# The most digits of a device index, and the most characters of a device text that messages repeat.
_MOST_DIGITS, _LONGEST_SHOWN = 20, 100


def _split(text: str) -> tuple[str, int | None]:
    """Parse the text of a device, ``type [":" digits]``, into its type and index."""
    if not isinstance(text, str):
        raise DeviceError(f"a device is a text such as 'cpu' or 'cuda:0' or a Device (got {text!r})")
    kind, colon, digits = text.partition(":")
    if not colon:
        return kind, None
    is_number = digits.isdecimal() and digits.isascii() and (len(digits) == 1 or digits[0] != "0")
    if not is_number or len(digits) > _MOST_DIGITS:
        shown = repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")
        raise DeviceError(f"Invalid device string: {shown}. Write a type and a number, such as 'cuda:0'.")
    return kind, int(digits)


def _new_device(cls: type[Device], kind: str, index: int | None) -> Device:
    if index is not None and (isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < 128):
        raise DeviceError(f"a device index is a number from 0 to 127 (got {index!r})")
    backends.module_of(kind)
    with _LOCK:
        device = _INTERNED.get((kind, index))
        if device is None:
            device = object.__new__(cls)
            object.__setattr__(device, "type", kind)
            object.__setattr__(device, "index", index)
            _INTERNED[kind, index] = device
        return device


class BackendEntry(NamedTuple):
    """Entry of a backend in the table of backends, which is known before the backend is imported.

    module: the package that contains the modules ``memory`` (a ``Memory``) and ``compiler``.
    key: the backend component of its dispatch keys, ``"CPU"``.
    """

    module: str
    key: str


class BackendTable:
    """Table of device types and the packages of their backends, which are imported on first use."""

    entry_point_group = "opdsl.backends"

    def __init__(self, entries: dict[str, BackendEntry]) -> None:
        self._entries = dict(entries)

    def register(self, device_type: str, module: str, key: str = "PrivateUse1") -> None:
        """Register a backend for a device type.

        Args:
            device_type: the type as written in ``Device(...)``.
            module: the package to import on first use; ``<module>.memory`` implements ``runtime.memory.Memory``.
            key: the backend component of its dispatch keys.

        Raises:
            DeviceError: another module is registered for that type.
        """
        entry = BackendEntry(module, key)
        if self._entries.setdefault(device_type, entry) != entry:
            raise DeviceError(f"backend {device_type!r} is already registered (have {self._entries[device_type]})")

    def module_of(self, device_type: str) -> str:
        """Return the package of a device type's backend, without importing it; see ``entry`` for errors."""
        return self.entry(device_type).module

    def key_of(self, device_type: str) -> str:
        """Return the backend component of a device type's dispatch keys; see ``entry`` for errors."""
        return self.entry(device_type).key

    def entry(self, device_type: str) -> BackendEntry:
        """Return the entry of a device type, from the table or from the entry points of installed packages.

        Raises:
            DeviceError: no backend has that name.
        """
        entry = self._entries.get(device_type) or self._from_entry_points(device_type)
        if entry is None:
            known = ", ".join(self.device_types())
            raise DeviceError(f"no backend for device type {device_type!r} (have {known}). Register one with {_HOW}.")
        return entry

    def device_types(self) -> tuple[str, ...]:
        """Return all device types that have a backend, including those of installed packages."""
        import importlib.metadata  # slow to import, and only needed to list all backends or to find an unknown one

        installed = importlib.metadata.entry_points(group=self.entry_point_group).names
        return tuple(dict.fromkeys((*self._entries, *sorted(installed))))

    def package_of(self, device_type: str) -> str:
        """Return the installed package of a device type's backend, with its version: ``my-backend 1.0``.

        Empty if a program has registered the backend; see ``entry`` for other errors.
        """
        import importlib.metadata

        module = self.module_of(device_type)
        for entry_point in importlib.metadata.entry_points(group=self.entry_point_group, name=device_type):
            if entry_point.module == module and entry_point.dist is not None:
                return f"{entry_point.dist.name} {entry_point.dist.version}"
        return ""

    def load(self, device_type: str, part: str) -> object:
        """Return the module ``part`` (``"memory"``, ``"compiler"``) of a backend, imported on first use.

        Raises:
            DeviceError: no backend has that name, or it has no such module.
        """
        module_name = f"{self.module_of(device_type)}.{part}"
        loaded = sys.modules.get(module_name)
        if loaded is not None and not getattr(loaded.__spec__, "_initializing", False):
            return loaded
        import importlib

        try:
            return importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name is None or not module_name.startswith(error.name):
                raise
            raise DeviceError(
                f"device {device_type!r}: its backend is not installed (no module {module_name}). "
                "Use device='cpu'; `opdsl doctor` shows which backends there are."
            ) from error

    def has(self, device_type: str, part: str) -> bool:
        """Return whether a backend has a module of that name; see ``entry`` for errors."""
        import importlib.util

        module_name = f"{self.module_of(device_type)}.{part}"
        try:
            return module_name in sys.modules or importlib.util.find_spec(module_name) is not None
        except (ModuleNotFoundError, ValueError):  # the package is not installed, or is a module object without a spec
            return False

    def is_fused(self, key: str) -> bool:
        """Return whether the kernels of a backend, given by its dispatch key, allocate and check their own outputs.

        A backend's package declares this by ``FUSED = True``. For other backends, the kernels at Common allocate and
        check outputs. A package that cannot be imported has no kernels; the error is raised when its device is used.
        """
        import importlib

        for package in [entry.module for entry in tuple(self._entries.values()) if entry.key == key]:
            with suppress(ImportError):
                if getattr(importlib.import_module(package), "FUSED", False):
                    return True
        return False

    def _from_entry_points(self, device_type: str) -> BackendEntry | None:
        import importlib.metadata

        for entry_point in importlib.metadata.entry_points(group=self.entry_point_group, name=device_type):
            entry = BackendEntry(entry_point.module, entry_point.attr or "PrivateUse1")
            return self._entries.setdefault(device_type, entry)
        return None


_HOW = "opdsl.runtime.device.backends.register(name, module)"

backends = BackendTable(
    {
        "cpu": BackendEntry("opdsl.backends.cpu", "CPU"),
        "cuda": BackendEntry("opdsl.backends.cuda", "CUDA"),
        "meta": BackendEntry("opdsl.backends.meta", "Meta"),
        "opencl": BackendEntry("opdsl.backends.opencl", "PrivateUse3"),
    }
)

cpu = Device("cpu")
meta = Device("meta")
