"""The computed table: which kernel a runtime key reaches, and why.

A pure function of what is registered for an operator and of the fallbacks of the keys. The order of the rules and
their names are those of ``OperatorEntry::computeDispatchTableEntryWithDebug`` in aten/src/ATen/core/dispatch. Entries
are computed one at a time, when a call or a reader asks: a table has 138 rows, of which few are ever used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import NamedTuple, NoReturn

from opdsl.dispatch.keys import (
    AUTOGRADOTHER_BACKENDS,
    PER_BACKEND,
    RUNTIME_KEYS,
    DispatchKey,
    KeySet,
    alias_runtime_keys,
    backend_keys_of_autograd,
)
from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import DispatchKeyError, DuplicateOperatorError, MissingKernelError


class Reason(StrEnum):
    """Why an entry is what it is, in the words that PyTorch prints."""

    KERNEL = "kernel"
    DEFAULT_BACKEND = "default backend kernel"
    NESTED = "nested kernel"
    MATH = "math kernel"
    AMBIGUOUS = "ambiguous autogradother"
    AUTOGRAD = "autograd kernel"
    BATCHED = "batched kernel"
    FALLBACK = "backend fallback"
    MISSING = "missing"


class Fallthrough(Kernel):
    """A kernel that no call reaches: dispatch goes on to the next key of the set."""

    __slots__ = ("name",)

    def __init__(self, name: str = "fallthrough") -> None:
        self.name = name

    def __call__(self, *arguments: object) -> NoReturn:
        raise MissingKernelError("a fallthrough entry was called; dispatch goes past it to the next key of the set.")

    def __str__(self) -> str:
        return self.name


FALLTHROUGH = Fallthrough()


class NamedKernel(Kernel):
    """A kernel that is only a name, to experiment with tables."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: object) -> NoReturn:
        raise MissingKernelError(f"{self.name} stands for a kernel in a DispatchTable; it cannot be called.")

    def __str__(self) -> str:
        return self.name


class Ambiguous(Kernel):
    """The entry of AutogradOther where a composite kernel and a backend's own would both be right, for some backend."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> NoReturn:
        raise MissingKernelError(
            "the operator has a CompositeImplicitAutograd kernel and one for a backend that shares AutogradOther, so "
            "the gradient to use is ambiguous. Register a kernel for AutogradOther that says which."
        )

    def __str__(self) -> str:
        return "ambiguous_autogradother"


class Entry(NamedTuple):
    """One row of a computed table.

    kernel: what is called; None if the entry is missing. A ``Fallthrough`` passes the call on.
    reason: which rule gave the kernel.
    registered_at: the key, alias key or fallback's key that it was registered for; None if missing or ambiguous.
    """

    kernel: Kernel | None
    reason: Reason
    registered_at: DispatchKey | None

    def __str__(self) -> str:
        """As PyTorch prints it: the kernel, and the reason in brackets."""
        return f"{'' if self.kernel is None else self.kernel} [{self.reason}]".lstrip()


_MISSING = Entry(None, Reason.MISSING, None)
_AMBIGUOUS = Entry(Ambiguous(), Reason.AMBIGUOUS, None)


class _Rule(NamedTuple):
    """A kernel of ``alias`` fills the row, unless a key of ``blockers`` has one.

    If a key of ``ambiguities`` has one, the row says so, and the rules after it do not count.
    """

    alias: DispatchKey
    reason: Reason
    blockers: frozenset[DispatchKey]
    ambiguities: frozenset[DispatchKey]


# The alias keys by precedence: their reason, whether they fill Undefined too, whether a backend's own kernel blocks
# them at the autograd key of that backend.
_PRECEDENCE = (
    ("CompositeExplicitAutogradNonFunctional", Reason.DEFAULT_BACKEND, True, False),
    ("CompositeExplicitAutograd", Reason.DEFAULT_BACKEND, True, False),
    ("CompositeImplicitAutogradNestedTensor", Reason.NESTED, False, False),
    ("CompositeImplicitAutograd", Reason.MATH, True, True),
    ("Autograd", Reason.AUTOGRAD, False, False),
    ("FuncTorchBatchedDecomposition", Reason.BATCHED, False, False),
)


@cache
def _rules(key: DispatchKey) -> tuple[_Rule, ...]:
    """The alias keys that can fill a runtime key's row, by precedence."""
    backend_kernels = frozenset({*backend_keys_of_autograd(key), DispatchKey("CompositeExplicitAutograd")})
    rules: list[_Rule] = []
    for name, reason, fills_undefined, is_blocked in _PRECEDENCE:
        covered = fills_undefined if key.index == 0 else key in alias_runtime_keys(name)
        if covered:
            is_ambiguous = reason is Reason.MATH and key.name == "AutogradOther"
            rules.append(
                _Rule(
                    alias=DispatchKey(name),
                    reason=reason,
                    blockers=backend_kernels if is_blocked else frozenset(),
                    ambiguities=frozenset(AUTOGRADOTHER_BACKENDS) if is_ambiguous else frozenset(),
                )
            )
    return tuple(rules)


def compute(
    key: DispatchKey,
    registrations: Mapping[DispatchKey, Sequence[Kernel]],
    fallbacks: Mapping[DispatchKey, Kernel],
) -> Entry:
    """The entry of a runtime key.

    Args:
        key: a runtime key.
        registrations: the kernels of an operator by the key or alias key that they are registered for, newest first.
            No sequence is empty.
        fallbacks: the kernels that serve every operator, by runtime key.

    Returns:
        The newest direct kernel; else that of the alias key of highest precedence; else the fallback; else a missing
        entry.

    Raises:
        DispatchKeyError: the key has no row: it is an alias key, or a functionality without its backend.
    """
    require_row(key)
    direct = registrations.get(key)
    if direct:
        return Entry(direct[0], Reason.KERNEL, key)
    for rule in _rules(key):
        kernels = registrations.get(rule.alias)
        if kernels:
            if rule.ambiguities and not rule.ambiguities.isdisjoint(registrations):
                return _AMBIGUOUS
            if not rule.blockers or rule.blockers.isdisjoint(registrations):
                return Entry(kernels[0], rule.reason, rule.alias)
    fallback = fallbacks.get(key)
    return _MISSING if fallback is None else Entry(fallback, Reason.FALLBACK, key)


def require_row(key: DispatchKey) -> None:
    """Refuse an alias key, and a functionality without its backend.

    Raises:
        DispatchKeyError: no computed table has a row for the key.
    """
    if key.index < 0:
        raise DispatchKeyError(_no_row(key))


def _no_row(key: DispatchKey) -> str:
    if key.is_alias:
        some = ", ".join(runtime_key.name for runtime_key in list(alias_runtime_keys(key))[:3])
        return f"{key} is an alias key: no call reaches it, so it has no row. It fills those of {some}, ..."
    return f"{key} exists once per backend: ask for {PER_BACKEND[key.name]}CPU, for example."


def default_fallbacks() -> dict[DispatchKey, Kernel]:
    """The fallbacks of a new registry: every key that does nothing unless a kernel or a mode is registered for it."""
    passing = KeySet(
        "BackendSelect", "ADInplaceOrView", "Common", "FuncTorchVmapMode", "VmapMode", "AutocastCPU", "AutocastMTIA",
        "AutocastMAIA", "AutocastXPU", "AutocastMPS", "AutocastCUDA",
    )  # fmt: skip
    return dict.fromkeys((*passing, *alias_runtime_keys("Autograd")), FALLTHROUGH)


# ------------------------------------------------------------------------------------------------ tables to experiment

# One key of each kind, those that PyTorch's PythonDispatcher shows, with CUDA and Meta.
_SHOWN = KeySet("CPU", "CUDA", "XLA", "Lazy", "Meta", "AutogradCPU", "FPGA", "AutogradOther")

_COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")


class DispatchTable:
    """A computed table to experiment with, as PyTorch's ``torch._python_dispatcher.PythonDispatcher``.

    Args:
        keys: what kernels are registered for; their kernels are named ``fn_<key>``. A mapping gives kernels of its own.
        fallbacks: the runtime keys that have a fallback, named ``fallback_<key>``; a mapping gives the kernels, and
            ``FALLTHROUGH`` among them those that pass calls on.

    Raises:
        DispatchKeyError: there is no such key, or both composite alias keys are given.
        DuplicateOperatorError: a key is given twice.

    >>> table = DispatchTable(["CPU", "XLA", "CompositeImplicitAutograd"])
    >>> table["CPU"].reason, table["AutogradLazy"].reason, table["AutogradCPU"].reason
    (<Reason.KERNEL: 'kernel'>, <Reason.MATH: 'math kernel'>, <Reason.MISSING: 'missing'>)
    >>> print(table["CUDA"])
    fn_CompositeImplicitAutograd [math kernel]
    """

    def __init__(
        self,
        keys: Iterable[DispatchKey | str] | Mapping[DispatchKey | str, Kernel] = (),
        *,
        fallbacks: Iterable[DispatchKey | str] | Mapping[DispatchKey | str, Kernel] = (),
    ) -> None:
        self._registrations: dict[DispatchKey, tuple[Kernel, ...]] = {}
        self._fallbacks = _named(fallbacks, "fallback_")
        self._entries: dict[DispatchKey, Entry] = {}
        without_row = [key for key in self._fallbacks if not key.is_runtime]
        if without_row:
            raise DispatchKeyError(f"no fallback can stand there. {_no_row(without_row[0])}")
        self._add(_named(keys, "fn_"))

    @classmethod
    def of(
        cls, registrations: Mapping[DispatchKey, Sequence[Kernel]], fallbacks: Mapping[DispatchKey, Kernel]
    ) -> DispatchTable:
        """The table of an operator as it is now; what is registered in the table later does not touch the operator.

        Args:
            registrations: the kernels of each key, the newest first.
            fallbacks: the kernels that serve every operator, by key.
        """
        table = cls()
        table._registrations = {key: tuple(kernels) for key, kernels in registrations.items() if kernels}
        table._fallbacks = dict(fallbacks)
        return table

    def register(self, *keys: DispatchKey | str, kernel: Kernel | None = None) -> None:
        """Register a kernel for keys; all of them, or none if one is refused.

        Args:
            keys: runtime keys and alias keys.
            kernel: the kernel; None makes one named ``fn_<key>``.

        Raises:
            DispatchKeyError: there is no such key, or the other composite alias key has a kernel.
            DuplicateOperatorError: the key has a kernel, or is given twice.
        """
        named = _named(keys, "fn_")
        self._add(named if kernel is None else dict.fromkeys(named, kernel))

    def _add(self, kernels: Mapping[DispatchKey, Kernel]) -> None:
        for key in kernels:
            if key in self._registrations:
                raise DuplicateOperatorError(f"{key} has a kernel already: {self[key] if key.is_runtime else key}.")
            if not (key.is_runtime or key.is_alias):
                raise DispatchKeyError(_no_row(key))
        present = {key.name for key in (*self._registrations, *kernels)}
        if present.issuperset(_COMPOSITES):
            raise DispatchKeyError(
                f"an operator has a kernel for {_COMPOSITES[0]} or for {_COMPOSITES[1]}, not for both: take the first "
                "if its gradient follows from what it calls, the second if a derivative is registered."
            )
        self._registrations.update((key, (kernel,)) for key, kernel in kernels.items())
        self._entries.clear()

    @property
    def registrations(self) -> dict[DispatchKey, Kernel]:
        """The newest kernel of each key that has one."""
        return {key: kernels[0] for key, kernels in self._registrations.items()}

    def __getitem__(self, key: DispatchKey | str) -> Entry:
        """The entry of a runtime key.

        Raises:
            DispatchKeyError: there is no such key, or it has no row.
        """
        dispatch_key = DispatchKey(key)
        entry = self._entries.get(dispatch_key)
        if entry is None:
            entry = self._entries[dispatch_key] = compute(dispatch_key, self._registrations, self._fallbacks)
        return entry

    def rows(self, keys: Iterable[DispatchKey | str] = RUNTIME_KEYS) -> list[tuple[DispatchKey, Entry]]:
        """The rows of these keys that are not missing, in the order of the table.

        Args:
            keys: which ones; all runtime keys by default.
        """
        dispatch_keys = sorted({DispatchKey(key) for key in keys}, key=lambda key: key.index)
        return [(key, self[key]) for key in dispatch_keys if self[key].reason is not Reason.MISSING]

    def __str__(self) -> str:
        """The rows that tell most, aligned: one key of each kind, and those with a kernel or fallback of their own."""
        registered = [key for key in self._registrations if key.is_runtime]
        own_autograd = [f"Autograd{key}" for key in (*registered, *_SHOWN) if key.functionality == "Dense"]
        fallbacks = [key for key, kernel in self._fallbacks.items() if not isinstance(kernel, Fallthrough)]
        rows = self.rows([*_SHOWN, *registered, *own_autograd, *fallbacks])
        width = max((len(key.name) for key, _ in rows), default=0)
        width = max(width, len("key"))
        lines = [f"{'key':<{width}}  kernel", "-" * (width + 12)]
        lines += [f"{key.name:<{width}}  {entry}" for key, entry in rows]
        return "\n".join(lines)

    def __repr__(self) -> str:
        keys = [key.name for key in self._registrations]
        fallbacks = [key.name for key in self._fallbacks]
        return f"DispatchTable({keys!r}, fallbacks={fallbacks!r})"


def _named(
    keys: Iterable[DispatchKey | str] | Mapping[DispatchKey | str, Kernel], prefix: str
) -> dict[DispatchKey, Kernel]:
    """Kernels by key, with made-up ones where only keys are given.

    Raises:
        DuplicateOperatorError: a key is given twice.
    """
    kernels_by_key = keys if isinstance(keys, Mapping) else {}
    kernels: dict[DispatchKey, Kernel] = {}
    for dispatch_key in keys:
        key = DispatchKey(dispatch_key)
        if key in kernels:
            raise DuplicateOperatorError(f"{key} is given twice; a key has one kernel.")
        kernels[key] = kernels_by_key[dispatch_key] if dispatch_key in kernels_by_key else NamedKernel(f"{prefix}{key}")
    return kernels


__all__ = [
    "FALLTHROUGH",
    "Ambiguous",
    "DispatchTable",
    "Entry",
    "Fallthrough",
    "NamedKernel",
    "Reason",
    "compute",
    "default_fallbacks",
    "require_row",
]
