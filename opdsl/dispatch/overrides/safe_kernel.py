"""Handle of a kernel in a dispatch table, for a kernel that replaces it and still calls it."""

from __future__ import annotations

from opdsl.dispatch.binding.signature import bind, own_signature
from opdsl.dispatch.keys import DispatchKey, KeySet
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.model.registry import registry
from opdsl.dispatch.table import Entry
from opdsl.errors import DispatchKeyError, KernelError, MissingKernelError, OptionError


class SafeKernel:
    """Kernel that an operator had for a key when ``get_kernel`` was called; usable until it is deregistered.

    operator: the operator.
    key: the dispatch key.
    """

    __slots__ = ("_entry", "key", "operator")

    def __init__(self, operator: Operator, key: DispatchKey, entry: Entry) -> None:
        self.operator = operator
        self.key = key
        self._entry = entry

    @property
    def is_valid(self) -> bool:
        """Return whether the kernel is still registered, even if newer kernels take precedence over it."""
        kernel, _, registered_at = self._entry
        if registered_at is None:
            return True
        kernels = (*self.operator.registrations.get(registered_at, ()), self.operator.fallbacks.get(registered_at))
        return any(candidate is kernel for candidate in kernels)

    def call_boxed(self, dispatch_keys: KeySet, *positional: object, **named: object) -> object:
        """Run the kernel, regardless of the kernel that is registered for the key now.

        Args:
            dispatch_keys: the key set of the call, for kernels that take it.
            positional, named: the operator's arguments.

        Raises:
            KernelError: the kernel has been deregistered by its library.
        """
        if not self.is_valid:
            raise KernelError(
                f"{self.operator.name}: the kernel {self} for {self.key} has been removed by its library. Keep the "
                "library open, or get the kernel again: opdsl.get_kernel(operator, key)."
            )
        kernel = self._entry.kernel
        assert kernel is not None, "there is a kernel, or get_kernel has raised"
        bound = bind(self.operator.schema.name.base, (own_signature(self.operator),), positional, named)
        return kernel.for_call(self.operator, dispatch_keys)(*bound.arguments)

    __call__ = call_boxed

    def __str__(self) -> str:
        return str(self._entry)

    def __repr__(self) -> str:
        return f"<kernel of {self.operator.name} at {self.key}: {self}>"


def get_kernel(operator: object, dispatch_key: DispatchKey | str) -> SafeKernel:
    """Return the current kernel of an operator for a key, like ``torch.library.get_kernel``.

    A kernel that is registered for the same key later can call it for cases that it does not handle itself.

    Args:
        operator: the operator's name, ``"aten::add.Tensor"``, or its function, ``opdsl.ops.aten.add.Tensor``.
        dispatch_key: a runtime key.

    Returns:
        A function of the call's key set and the operator's arguments.

    Raises:
        OptionError: ``operator`` is neither a name nor an operator.
        UnknownOperatorError: there is no operator of that name.
        DispatchKeyError: there is no such key, or it is an alias key.
        MissingKernelError: the operator has no kernel for the key.

    >>> import opdsl
    >>> exp = opdsl.get_kernel("aten::exp", "CPU")
    >>> exp(opdsl.DispatchKeySet("CPU"), opdsl.tensor([0.0]))
    tensor([1.])
    """
    target = registry.operator(operator) if isinstance(operator, str) else getattr(operator, "operator", operator)
    if not isinstance(target, Operator):
        raise OptionError(
            f'get_kernel({operator!r}): expected an operator or its name. Write get_kernel("aten::add.Tensor", "CPU").'
        )
    key = DispatchKey(dispatch_key)
    if key.is_alias:
        raise DispatchKeyError(f"get_kernel({target.name}, {key}): an alias key has no row. Use a runtime key: CPU.")
    entry = target.entry(key)
    if entry.kernel is None:
        raise MissingKernelError(
            f"{target.name}: no {key} kernel to get (have {target.kernel_keys}). Register one for {key}."
        )
    return SafeKernel(target, key, entry)


__all__ = ["SafeKernel", "get_kernel"]
