"""Dispatch keys and sets of them.

The names, their order and the two-part representation are those of ``c10/core/DispatchKey.h`` and
``DispatchKeySet.h``: a set is one integer whose low bits are backends (CPU, CUDA, ...) and whose high bits are
functionalities (Dense, Sparse, Autograd, ...) in the order of their priority. Six functionalities exist once per
backend, so that a set with the bits Dense, Autograd and CPU contains the runtime keys ``AutogradCPU`` and ``CPU``.
``Common`` is opdsl's own addition.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from opdsl.errors import DispatchKeyError

_BACKENDS = "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta"

_FUNCTIONALITIES = """
    Dense FPGA Vulkan Metal Quantized CustomRNGKeyId MkldnnCPU Sparse SparseCsr NestedTensor Common BackendSelect Fake
    Python FuncTorchDynamicLayerBackMode Functionalize Conjugate Negative ZeroTensor ADInplaceOrView AutogradOther
    AutogradFunctionality AutogradNestedTensor Tracer AutocastCPU AutocastMTIA AutocastMAIA AutocastXPU AutocastIPU
    AutocastHPU AutocastXLA AutocastMPS AutocastCUDA AutocastPrivateUse1 FuncTorchBatched BatchedNestedTensor
    FuncTorchVmapMode Batched VmapMode FuncTorchGradWrapper DeferredInit PythonTLSSnapshot
    FuncTorchDynamicLayerFrontMode TESTING_ONLY_GenericWrapper TESTING_ONLY_GenericMode PreDispatch PythonDispatcher
"""

BACKENDS = tuple(_BACKENDS.split())
"""Names of the backend components; if a call has tensors of several backends, the last one in this order wins."""

FUNCTIONALITIES = tuple(_FUNCTIONALITIES.split())
"""Names of the functionalities, lowest priority first."""

PER_BACKEND = {
    "Dense": "",
    "Quantized": "Quantized",
    "Sparse": "Sparse",
    "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor",
    "AutogradFunctionality": "Autograd",
}
"""Prefixes of the backend's name in dispatch keys, for the functionalities that exist once per backend."""

ALIASES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)
"""Names of the alias keys: each registers a kernel for several runtime keys, and no call reaches it."""

_WIDTH = len(BACKENDS)
_BACKEND_MASK = (1 << _WIDTH) - 1


class _KeyNames(type):
    """Metaclass that makes ``DispatchKey.CPU`` mean ``DispatchKey("CPU")``, without 150 class attributes."""

    def __getattr__(cls, name: str) -> DispatchKey:
        key = _keys.get(name)
        if key is None:
            raise AttributeError(_no_such_key(name))
        return key

    def __iter__(cls) -> Iterator[DispatchKey]:
        """Iterate over all keys: the runtime keys in the order of the computed table, functionalities, aliases."""
        return iter(tuple(_keys.values()))


class DispatchKey(metaclass=_KeyNames):
    """Dispatch key, for which kernels are registered; there is exactly one object of each, so compare with ``is``.

    name: as PyTorch prints it.
    index: the row of the computed table, -1 for a key that has none (an alias, a functionality without its backend).
    bits: the key as a set.
    functionality: the functionality of a runtime key; its own name for any other key.
    backend: the backend component, or None for a key that has none.
    is_alias: whether it represents several runtime keys.

    >>> DispatchKey("SparseCPU"), DispatchKey.SparseCPU.functionality, DispatchKey.SparseCPU.backend
    (DispatchKey.SparseCPU, 'Sparse', 'CPU')

    Raises:
        DispatchKeyError: there is no key of that name.
    """

    __slots__ = ("backend", "bits", "functionality", "index", "is_alias", "name")

    name: str
    index: int
    bits: int
    functionality: str
    backend: str | None
    is_alias: bool

    def __new__(cls, name: str | DispatchKey) -> DispatchKey:
        if isinstance(name, DispatchKey):
            return name
        key = _keys.get(name) if isinstance(name, str) else None
        if key is None:
            raise DispatchKeyError(_no_such_key(name))
        return key

    @property
    def is_runtime(self) -> bool:
        """Return whether the key is a runtime key, which has a row in computed tables."""
        return self.index >= 0

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __reduce__(self) -> tuple[type[DispatchKey], tuple[str]]:
        return DispatchKey, (self.name,)


_keys: dict[str, DispatchKey] = {}


def _make_key(name: str, index: int, bits: int, functionality: str, backend: str | None = None) -> DispatchKey:
    key: DispatchKey = object.__new__(DispatchKey)
    key.name = name
    key.index = index
    key.bits = bits
    key.functionality = functionality
    key.backend = backend
    key.is_alias = name in ALIASES
    _keys[name] = key
    return key


def _make_runtime_keys() -> tuple[DispatchKey, ...]:
    """Create all keys, and return the rows of a computed table in PyTorch's order: Undefined, then by functionality."""
    rows = [_make_key("Undefined", 0, 0, "Undefined")]
    for index, functionality in enumerate(FUNCTIONALITIES):
        bit = 1 << (_WIDTH + index)
        prefix = PER_BACKEND.get(functionality)
        if prefix is None:
            rows.append(_make_key(functionality, len(rows), bit, functionality))
            continue
        for number, backend in enumerate(BACKENDS):
            rows.append(_make_key(prefix + backend, len(rows), bit | 1 << number, functionality, backend))
    for functionality in PER_BACKEND:
        _make_key(functionality, -1, 1 << (_WIDTH + FUNCTIONALITIES.index(functionality)), functionality)
    for alias in ALIASES:
        _make_key(alias, -1, 0, alias)
    return tuple(rows)


RUNTIME_KEYS = _make_runtime_keys()
"""Runtime keys in the order of the rows of a computed table, Undefined first."""


# Common other names of keys.
_OTHER_NAMES = {"gpu": "CUDA", "nvidia": "CUDA", "host": "CPU", "composite": "CompositeImplicitAutograd"}


def _no_such_key(name: object) -> str:
    from difflib import get_close_matches  # slow to import, and only needed for a wrong name

    lowered = {key.lower(): key for key in _keys}
    wanted = _OTHER_NAMES.get(str(name).lower(), str(name)).lower()
    close = (
        [lowered[wanted]]
        if wanted in lowered
        else [lowered[close_match] for close_match in get_close_matches(wanted, lowered, n=3)]
    )
    meant = f"Did you mean {' or '.join(close)}?" if close else "list(opdsl.DispatchKey) shows all of them."
    return f"there is no dispatch key {name!r}. {meant}"


# ---------------------------------------------------------------------------------------------------------------- sets


@lru_cache(maxsize=1024)
def _members(bits: int) -> tuple[DispatchKey, ...]:
    """Return the runtime keys of a set, highest priority first."""
    backends = [backend for number, backend in enumerate(BACKENDS) if bits >> number & 1]
    backends.reverse()
    members: list[DispatchKey] = []
    rest = bits >> _WIDTH
    while rest:
        place = rest.bit_length() - 1
        rest ^= 1 << place
        functionality = FUNCTIONALITIES[place]
        prefix = PER_BACKEND.get(functionality)
        if prefix is None:
            members.append(_keys[functionality])
        else:
            members.extend(_keys[prefix + backend] for backend in backends)
    return tuple(members)


@lru_cache(maxsize=1024)
def _reachable(bits: int) -> tuple[DispatchKey, ...]:
    """Return the members that dispatch can reach: for a per-backend functionality, only that of the highest backend."""
    highest: dict[str, DispatchKey] = {}
    for key in _members(bits):
        highest.setdefault(key.functionality, key)
    return tuple(highest.values())


class KeySet:
    """Immutable set of runtime keys, like c10's DispatchKeySet: the product of backends and functionalities.

    Because a backend is stored once for all functionalities, ``KeySet("CPU", "AutogradCUDA")`` contains CUDA and
    AutogradCPU too, and ``-`` only removes functionalities and keeps the backends, as in c10.

    Args:
        keys: keys or their names. A functionality without its backend (``"Sparse"``) is useful for ``&``, ``-`` and
            guards.

    Raises:
        DispatchKeyError: a name is no key, or is an alias key, which no set can contain.

    >>> KeySet("CPU", "AutogradCPU")
    KeySet(AutogradCPU, CPU)
    >>> KeySet("CPU", "AutogradCPU") - KeySet("AutogradCPU")
    KeySet(CPU)
    """

    __slots__ = ("bits",)

    bits: int

    def __init__(self, *keys: DispatchKey | str) -> None:
        bits = 0
        for dispatch_key in keys:
            key = DispatchKey(dispatch_key)
            if key.is_alias:
                raise DispatchKeyError(
                    f"{key} is an alias key; a key set holds runtime keys. alias_runtime_keys({key.name!r}) has them."
                )
            bits |= key.bits
        object.__setattr__(self, "bits", bits)

    @classmethod
    def of_bits(cls, bits: int) -> KeySet:
        """Return the set with the given bits, backends in the lowest ones.

        Args:
            bits: an integer whose bits represent keys, like that of PyTorch's ``raw_repr()``.
        """
        keys = object.__new__(cls)
        object.__setattr__(keys, "bits", bits)
        return keys

    @classmethod
    def full(cls) -> KeySet:
        """Return the set of all keys."""
        return cls.of_bits((1 << (_WIDTH + len(FUNCTIONALITIES))) - 1)

    @classmethod
    def below(cls, key: DispatchKey | str) -> KeySet:
        """Return all keys of lower priority than a key's functionality, to which a kernel of the key redispatches.

        Args:
            key: the key, or its name.

        Raises:
            DispatchKeyError: there is no such key, or it is an alias key.
        """
        functionality = DispatchKey(key).functionality
        if functionality not in FUNCTIONALITIES:
            raise DispatchKeyError(f"{key} has no priority: it is no runtime key.")
        return cls.of_bits((1 << (_WIDTH + FUNCTIONALITIES.index(functionality))) - 1)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a key set cannot be changed (setting {name}); combine sets with | & -")

    def __or__(self, other: KeySet) -> KeySet:
        return KeySet.of_bits(self.bits | other.bits)

    def __and__(self, other: KeySet) -> KeySet:
        return KeySet.of_bits(self.bits & other.bits)

    def __sub__(self, other: KeySet) -> KeySet:
        return KeySet.of_bits(self.bits & (_BACKEND_MASK | ~other.bits))

    def meets(self, other: KeySet) -> bool:
        """Return whether two sets have a functionality in common.

        Args:
            other: the other set.
        """
        return self.bits & other.bits & ~_BACKEND_MASK != 0

    def __contains__(self, key: DispatchKey | str) -> bool:
        bits = DispatchKey(key).bits
        return bits != 0 and self.bits & bits == bits

    def __iter__(self) -> Iterator[DispatchKey]:
        """Iterate over the set's runtime keys, highest priority first."""
        return iter(_members(self.bits))

    def reachable(self) -> tuple[DispatchKey, ...]:
        """Return the keys that a call with this set tries, in order: one per functionality, the highest backend's."""
        return _reachable(self.bits)

    def __len__(self) -> int:
        return len(_members(self.bits))

    def __bool__(self) -> bool:
        return bool(_members(self.bits))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeySet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return KeySet.of_bits, (self.bits,)

    @property
    def highest_priority(self) -> DispatchKey:
        """Return the key to which a call is dispatched first; ``Undefined`` if the set is empty."""
        members = _members(self.bits)
        return members[0] if members else RUNTIME_KEYS[0]

    @property
    def highest_backend(self) -> str | None:
        """Return the backend with the highest priority (``"CUDA"`` over ``"CPU"``), or None."""
        bits = self.bits & _BACKEND_MASK
        return BACKENDS[bits.bit_length() - 1] if bits else None

    def __repr__(self) -> str:
        return f"KeySet({', '.join(key.name for key in self)})"


# -------------------------------------------------------------------------------------------- which keys go with which


def _product(functionalities: str, without: tuple[str, ...] = ()) -> KeySet:
    """Return the product of functionalities, given in a string, and all backends except some."""
    backends = sum(1 << number for number, backend in enumerate(BACKENDS) if backend not in without)
    return KeySet(*functionalities.split()) | KeySet.of_bits(backends)


AUTOGRAD_KEYS = KeySet("AutogradOther", "AutogradFunctionality", "AutogradNestedTensor")
"""Keys that a guard excludes to get below autograd, for every backend."""

BACKEND_SELECT = DispatchKey("BackendSelect")
"""Key at which factories choose their backend."""

AUTOCAST_KEYS = KeySet(*(functionality for functionality in FUNCTIONALITIES if functionality.startswith("Autocast")))
"""Keys of autocasting; excluded unless a mode enables it."""

AUTOGRADOTHER_BACKENDS = _product("FPGA Vulkan Metal CustomRNGKeyId MkldnnCPU Sparse SparseCsr Quantized")
"""Keys that share the autograd key AutogradOther."""

_AUTOGRAD = "AutogradOther AutogradFunctionality AutogradNestedTensor"
_SINGLE_BACKENDS = "FPGA Vulkan Metal CustomRNGKeyId MkldnnCPU"
_ALIAS_KEYS = {
    "Autograd": _product(_AUTOGRAD),
    "CompositeImplicitAutograd": _product(
        f"Dense {_SINGLE_BACKENDS} Quantized Sparse SparseCsr NestedTensor {_AUTOGRAD}"
    ),
    "CompositeExplicitAutograd": _product(f"Dense {_SINGLE_BACKENDS} Quantized Sparse SparseCsr"),
    "CompositeExplicitAutogradNonFunctional": _product(
        f"Dense {_SINGLE_BACKENDS} Quantized SparseCsr", without=("XLA", "Lazy")
    ),
    "CompositeImplicitAutogradNestedTensor": _product("NestedTensor AutogradNestedTensor"),
    "FuncTorchBatchedDecomposition": KeySet("FuncTorchBatched"),
}

# Backends whose tensors use AutogradOther in c10, and those whose own autograd key has no backend key in c10.
_USE_AUTOGRAD_OTHER = ("HIP", "VE")
_UNTIED_AUTOGRAD = ("HIP", "VE", "MTIA")


def alias_runtime_keys(alias: DispatchKey | str) -> KeySet:
    """Return the runtime keys that an alias key represents (c10's ``getRuntimeDispatchKeySet``).

    Raises:
        DispatchKeyError: the key is no alias key.
    """
    key = DispatchKey(alias)
    if not key.is_alias:
        raise DispatchKeyError(f"{key} is no alias key (those are {', '.join(ALIASES)}).")
    return _ALIAS_KEYS[key.name]


def backend_keys_of_autograd(key: DispatchKey) -> KeySet:
    """Return the backend keys that an autograd key serves (c10's ``getBackendKeySetFromAutograd``), if any."""
    if key.functionality == "AutogradFunctionality" and key.backend is not None:
        return KeySet() if key.backend in _UNTIED_AUTOGRAD else KeySet(key.backend)
    if key.name == "AutogradOther":
        return AUTOGRADOTHER_BACKENDS
    if key.name == "AutogradNestedTensor":
        return _product("NestedTensor")
    return KeySet()


@lru_cache(maxsize=256)
def backend_key_set(name: str, is_inference: bool = False, is_conj: bool = False, is_neg: bool = False) -> KeySet:
    """Return the key set of a tensor with a backend key: with ADInplaceOrView and its autograd and autocast keys.

    Args:
        name: a backend (``"CPU"``), or a backend key of another functionality (``"SparseCPU"``, ``"MkldnnCPU"``).
        is_inference: whether it was made in inference mode, so that it has neither ADInplaceOrView nor autograd keys.
        is_conj, is_neg: whether its elements are the conjugates or negatives of the values in its memory.

    Raises:
        DispatchKeyError: there is no such key.

    >>> backend_key_set("CPU")
    KeySet(AutocastCPU, AutogradCPU, ADInplaceOrView, CPU)
    """
    key = DispatchKey(name)
    keys = KeySet(key, "ADInplaceOrView")
    if key.backend is None or key.backend in _USE_AUTOGRAD_OTHER:
        keys |= KeySet("AutogradOther")
    else:
        keys |= KeySet(f"Autograd{key.backend}")
    if key.functionality == "NestedTensor":
        keys |= KeySet("AutogradNestedTensor")
    if is_inference:
        keys = KeySet(key)
    others = {f"Autocast{key.backend}": True, "Conjugate": is_conj, "Negative": is_neg}
    return keys | KeySet(
        *(functionality for functionality, is_there in others.items() if is_there and functionality in _keys)
    )


COMPOSITE_KEY = DispatchKey("CompositeImplicitAutograd")
"""Key of composite bodies: they call operators, and their gradients follow from these on every backend."""

__all__ = [
    "ALIASES",
    "AUTOCAST_KEYS",
    "AUTOGRADOTHER_BACKENDS",
    "AUTOGRAD_KEYS",
    "BACKENDS",
    "BACKEND_SELECT",
    "COMPOSITE_KEY",
    "FUNCTIONALITIES",
    "PER_BACKEND",
    "RUNTIME_KEYS",
    "DispatchKey",
    "KeySet",
    "alias_runtime_keys",
    "backend_key_set",
    "backend_keys_of_autograd",
]
