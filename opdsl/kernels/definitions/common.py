"""Kernels at the key Common (RFC-0005): they allow a backend to register only a kernel that fills outputs.

A backend registers that kernel for the ``out=`` operator of a structured group. The kernels here check shapes, allocate
or resize outputs, make the device current, and run it, for the functional and the in-place operator too. These
two have their kernel where PyTorch has it, at CompositeExplicitAutogradNonFunctional; that of ``out=`` is at
Common. Calls are passed on to backends whose kernels do all this themselves (``FUSED``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from opdsl.dispatch.keys import DispatchKey, KeySet
from opdsl.dispatch.layers.devices import OnDevice
from opdsl.dispatch.model.kernel import Kernel
from opdsl.dispatch.model.operator import Operator
from opdsl.dispatch.state import current
from opdsl.dispatch.table import Fallthrough, Reason
from opdsl.errors import MissingKernelError
from opdsl.kernels.definitions.author import OutKernel, StructuredDefinition
from opdsl.kernels.definitions.structured import Arguments, Definition, PreparedCall, StructuredKernel
from opdsl.kernels.outputs import OutputSpec
from opdsl.runtime.device import backends
from opdsl.runtime.tensor import Tensor

COMMON = DispatchKey("Common")
NON_FUNCTIONAL = DispatchKey("CompositeExplicitAutogradNonFunctional")


class OutKernelAdapter(StructuredDefinition):
    """Definition whose outputs are filled by the kernels that backends register for its ``out=`` operator.

    Args:
        definition: computes the properties of the outputs.
        out: the ``out=`` operator.
    """

    __slots__ = ("definition", "out")

    def __init__(self, definition: Definition, out: Operator) -> None:
        super().__init__(definition.schema, definition.prepare, definition.name)
        self.definition = definition
        self.out = out

    @property
    def kind(self) -> str:
        """See ``Definition.kind``."""
        return f"{self.definition.kind} by out-kernel"

    @property
    def may_resize_inputs(self) -> bool:
        """See ``Definition.may_resize_inputs``."""
        return self.definition.may_resize_inputs

    def functions(self, key: str) -> tuple[FunctionType, ...]:
        """See ``Definition.functions``."""
        return self.definition.functions(key)

    def prepare(self, arguments: Arguments, tensors: Sequence[Tensor | None]) -> PreparedCall:
        """See ``Definition.prepare``."""
        return self.definition.prepare(arguments, tensors)

    def check_given(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, inplace: bool) -> None:
        """See ``Definition.check_given``."""
        self.definition.check_given(prepared, spec, output, inplace=inplace)

    def needs_proxy(self, prepared: PreparedCall, spec: OutputSpec, output: Tensor, *, aliased: bool) -> bool:
        """See ``Definition.needs_proxy``; kernels get outputs that have the result's dtype."""
        if output.dtype is not spec.dtype:
            return True
        return self.definition.needs_proxy(prepared, spec, output, aliased=aliased)

    def _handed(self, arguments: Arguments, prepared: PreparedCall) -> Arguments:
        """Return the arguments of the schema; precomputed values are only for kernels of the declaration itself."""
        return arguments

    def _kernel(self, key: str) -> OutKernel:
        entry = self.out.entry(DispatchKey(key))
        if entry.reason is not Reason.KERNEL or entry.kernel is None:
            have = f"nor one of {self.out.name} to compute with (have {self.out.kernel_keys})"
            raise MissingKernelError(
                f'no {key} kernel, {have}. Register it: @library.impl("{self.out.name}", "{key}").'
            )
        return OutKernel(_filling(entry.kernel.for_call(self.out, KeySet(key))), compiled=False)


def _filling(kernel: Kernel) -> Callable[..., None]:
    """Wrap a kernel that returns its outputs as one that fills them; the caller bumps their versions."""

    def fill(*values: Any) -> None:
        kernel.run(*values)

    fill.__dict__["__wrapped__"] = kernel.functions[0]  # the function that error messages name
    return fill


class CommonKernel(Kernel):
    """Kernel of one variant of a structured operator, for every backend that registers only the ``out=`` kernel.

    Args:
        definition: of the group.
        variant: ``functional``, ``inplace`` or ``out``.
        operator: the variant's operator.
    """

    __slots__ = ("definition", "operator", "variant")

    def __init__(self, definition: OutKernelAdapter, variant: str, operator: Operator) -> None:
        self.definition = definition
        self.variant = variant
        self.operator = operator

    def for_call(self, operator: Operator, keys: KeySet) -> Kernel:
        """Return the kernel for a call with a key set; for a backend with its own complete kernels, that kernel."""
        backend = keys.highest_backend or "CPU"
        composite = self._composite(backend)
        if composite is not None:
            structured = StructuredKernel(self.definition.definition, self.variant, self.operator, composite)
            return OnDevice(self.operator, structured)
        fallback = self._fallback(backend)
        if fallback is not None:
            return fallback.for_call(self.operator, keys)
        if self.variant == "out" and not self._serves(backend):
            return self.operator.find_in(keys & KeySet.below(COMMON))
        return OnDevice(self.operator, StructuredKernel(self.definition, self.variant, self.operator, backend))

    def _fallback(self, backend: str) -> Kernel | None:
        """Return the fallback of a backend without its own out-kernel, or None."""
        key = DispatchKey(backend)
        fallback = self.operator.fallbacks.get(key)
        has_own = self.definition.out.entry(key).reason is Reason.KERNEL
        return None if has_own or isinstance(fallback, Fallthrough) else fallback

    def _composite(self, backend: str) -> str | None:
        """Return the key of a composite out-kernel that serves every backend; None if the backend has an out-kernel of
        its own.
        """
        definition = self.definition.definition
        if not isinstance(definition, StructuredDefinition):
            return None
        key = next((kernel for kernel in definition.kernels if kernel.startswith("Composite")), None)
        own = self.definition.out.entry(DispatchKey(backend)).reason is Reason.KERNEL
        return None if own else key

    def _serves(self, backend: str) -> bool:
        """Return whether a backend has a kernel that is used unwrapped: one that is registered, not structured and not
        fused.
        """
        entry = self.operator.entry(DispatchKey(backend))
        is_bare = entry.reason is Reason.KERNEL and not isinstance(entry.kernel, StructuredKernel)
        return is_bare and not backends.is_fused(backend)

    def __call__(self, *arguments: Any) -> object:
        """Run the kernel of the backend that the arguments are on."""
        return self.for_call(self.operator, self.operator.key_set(arguments, current.get()))(*arguments)

    @property
    def kind(self) -> str:
        """See ``Kernel``."""
        return self.definition.kind

    @property
    def functions(self) -> tuple[FunctionType, ...]:
        """See ``Kernel``."""
        return self.definition.functions("Common")


__all__ = ["COMMON", "NON_FUNCTIONAL", "CommonKernel", "OutKernelAdapter"]
