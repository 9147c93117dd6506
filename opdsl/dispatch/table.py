"""Computed table: which kernel a runtime key reaches, and why.

It is a pure function of an operator's registrations and of the keys' fallbacks. The order of the rules and their names
are those of ``OperatorEntry::computeDispatchTableEntryWithDebug`` in aten/src/ATen/core/dispatch. Entries are computed
on demand: a table has 138 rows, of which few are ever used.
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
    """Rule that determined an entry of a computed table, as PyTorch prints it."""

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
    """Kernel that is never called: dispatch goes on to the next key of the set."""

    __slots__ = ("name",)

    def __init__(self, name: str = "fallthrough") -> None:
        self.name = name

    def __call__(self, *arguments: object) -> NoReturn:
        raise MissingKernelError("a fallthrough entry was called; dispatch skips it and uses the next key of the set.")

    def __str__(self) -> str:
        return self.name


FALLTHROUGH = Fallthrough()


class NamedKernel(Kernel):
    """Placeholder kernel that only has a name, for experiments with dispatch tables."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *arguments: object) -> NoReturn:
        raise MissingKernelError(f"{self.name} represents a kernel in a DispatchTable; it cannot be called.")

    def __str__(self) -> str:
        return self.name


class Ambiguous(Kernel):
    """Entry of AutogradOther if a composite kernel and a backend's own kernel would both apply, which is an error."""

    __slots__ = ()

    def __call__(self, *arguments: object) -> NoReturn:
        raise MissingKernelError(
            "the operator has a CompositeImplicitAutograd kernel and one for a backend that shares AutogradOther, so "
            "the gradient to use is ambiguous. Register a kernel for AutogradOther to choose one."
        )

    def __str__(self) -> str:
        return "ambiguous_autogradother"


class Entry(NamedTuple):
    """Row of a computed table.

    kernel: the kernel that is called; None if the entry is missing. A ``Fallthrough`` passes the call on.
    reason: the rule that determined the kernel.
    registered_at: the key, alias key or fallback's key that it was registered for; None if missing or ambiguous.
    """

    kernel: Kernel | None
    reason: Reason
    registered_at: DispatchKey | None

    def __str__(self) -> str:
        """Return the entry as PyTorch prints it: the kernel, and the reason in brackets."""
        return f"{'' if self.kernel is None else self.kernel} [{self.reason}]".lstrip()


_MISSING = Entry(None, Reason.MISSING, None)
_AMBIGUOUS = Entry(Ambiguous(), Reason.AMBIGUOUS, None)


class _Rule(NamedTuple):
    """Rule by which a kernel of ``alias`` fills a row, unless a key of ``blockers`` has a kernel.

    If a key of ``ambiguities`` has a kernel, the entry is ambiguous and later rules do not apply.
    """

    alias: DispatchKey
    reason: Reason
    blockers: frozenset[DispatchKey]
    ambiguities: frozenset[DispatchKey]


# The alias keys by precedence, with their reason, whether they fill Undefined too, and whether a backend's own kernel
# blocks them at the autograd key of that backend.
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
    """Return the rules of the alias keys that can fill a runtime key's row, by precedence."""
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
    """Compute the entry of a runtime key.

    Args:
        key: a runtime key.
        registrations: the kernels of an operator by the key or alias key that they are registered for, newest first.
            No sequence is empty.
        fallbacks: the kernels that serve every operator, by runtime key.

    Returns:
        The newest kernel of the key itself; else that of the alias key of highest precedence; else the fallback; else a
            missing entry.

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
    """Check that a key has a row in computed tables: it is no alias key and no functionality without backend.

    Raises:
        DispatchKeyError: the key has no row.
    """
    if key.index < 0:
        raise DispatchKeyError(_no_row(key))


def _no_row(key: DispatchKey) -> str:
    if key.is_alias:
        some = ", ".join(runtime_key.name for runtime_key in list(alias_runtime_keys(key))[:3])
        return f"{key} is an alias key: no call reaches it, so it has no row. It fills those of {some}, ..."
    return f"{key} exists once per backend: use {PER_BACKEND[key.name]}CPU, for example."


def default_fallbacks() -> dict[DispatchKey, Kernel]:
    """Return the fallbacks of a new registry: fallthrough at keys that need no kernel by default."""
    passing = KeySet(
        "BackendSelect", "ADInplaceOrView", "Common", "FuncTorchVmapMode", "VmapMode", "AutocastCPU", "AutocastMTIA",
        "AutocastMAIA", "AutocastXPU", "AutocastMPS", "AutocastCUDA",
    )  # fmt: skip
    return dict.fromkeys((*passing, *alias_runtime_keys("Autograd")), FALLTHROUGH)


# ------------------------------------------------------------------------------------------------ tables to experiment

# One key of each kind: those that PyTorch's PythonDispatcher shows, and CUDA and Meta.
_SHOWN = KeySet("CPU", "CUDA", "XLA", "Lazy", "Meta", "AutogradCPU", "FPGA", "AutogradOther")

_COMPOSITES = ("CompositeImplicitAutograd", "CompositeExplicitAutograd")


class DispatchTable:
    """Computed table for experiments, like PyTorch's ``torch._python_dispatcher.PythonDispatcher``.

    Args:
        keys: the keys with kernels, which are named ``fn_<key>``. A mapping specifies the kernels.
        fallbacks: the runtime keys with a fallback, named ``fallback_<key>``; a mapping specifies the kernels, such as
            ``FALLTHROUGH``.

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
            raise DispatchKeyError(f"no fallback can be registered there. {_no_row(without_row[0])}")
        self._add(_named(keys, "fn_"))

    @classmethod
    def of(
        cls, registrations: Mapping[DispatchKey, Sequence[Kernel]], fallbacks: Mapping[DispatchKey, Kernel]
    ) -> DispatchTable:
        """Return a copy of an operator's table; later registrations in the copy do not affect the operator.

        Args:
            registrations: the kernels of each key, the newest first.
            fallbacks: the kernels that serve every operator, by key.
        """
        table = cls()
        table._registrations = {key: tuple(kernels) for key, kernels in registrations.items() if kernels}
        table._fallbacks = dict(fallbacks)
        return table

    def register(self, *keys: DispatchKey | str, kernel: Kernel | None = None) -> None:
        """Register a kernel for several keys; if one of them is refused, nothing is registered.

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
                f"an operator has a kernel for {_COMPOSITES[0]} or for {_COMPOSITES[1]}, not for both: use the first "
                "if its gradient follows from the operators that it calls, the second if a derivative is registered."
            )
        self._registrations.update((key, (kernel,)) for key, kernel in kernels.items())
        self._entries.clear()

    @property
    def registrations(self) -> dict[DispatchKey, Kernel]:
        """Return the newest kernel of each key that has one."""
        return {key: kernels[0] for key, kernels in self._registrations.items()}

    def __getitem__(self, key: DispatchKey | str) -> Entry:
        """Return the entry of a runtime key, computing it on first use.

        Raises:
            DispatchKeyError: there is no such key, or it has no row.
        """
        dispatch_key = DispatchKey(key)
        entry = self._entries.get(dispatch_key)
        if entry is None:
            entry = self._entries[dispatch_key] = compute(dispatch_key, self._registrations, self._fallbacks)
        return entry

    def rows(self, keys: Iterable[DispatchKey | str] = RUNTIME_KEYS) -> list[tuple[DispatchKey, Entry]]:
        """Return the rows of the given keys that are not missing, in the order of the table.

        Args:
            keys: the keys; all runtime keys by default.
        """
        dispatch_keys = sorted({DispatchKey(key) for key in keys}, key=lambda key: key.index)
        return [(key, self[key]) for key in dispatch_keys if self[key].reason is not Reason.MISSING]

    def __str__(self) -> str:
        """Return the most informative rows as text: one key of each kind, and keys with own kernels or fallbacks."""
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
    """Return kernels by key, with placeholder kernels if only keys are given.

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
