"""What stands at the key Common (RFC-0005): a backend registers a kernel that fills outputs, and nothing else.

Such a kernel is registered for the ``out=`` operator of a structured group. Here shapes are checked, outputs are made
or resized, the device is made current, and that kernel is run, for the functional and the in-place operator too. These
two have their kernel where PyTorch has it, at CompositeExplicitAutogradNonFunctional; that of ``out=`` stands at
Common. Backends whose kernels do all this themselves (``FUSED``) are passed on to.
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
    """A definition whose outputs are filled by what backends register for its ``out=`` operator.

    Args:
        definition: says what the outputs are.
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
        """See ``Definition.needs_proxy``; kernels are handed outputs of the dtype that the result has."""
        if output.dtype is not spec.dtype:
            return True
        return self.definition.needs_proxy(prepared, spec, output, aliased=aliased)

    def _handed(self, arguments: Arguments, prepared: PreparedCall) -> Arguments:
        """The arguments of the schema: what is precomputed is for kernels of the declaration itself."""
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
    """A kernel that returns what it has filled, as one that fills; versions are counted by who hands it outputs."""

    def fill(*values: Any) -> None:
        kernel.run(*values)

    fill.__dict__["__wrapped__"] = kernel.functions[0]  # who is named if it fails
    return fill


class CommonKernel(Kernel):
    """One variant of a structured operator, for every backend that has a kernel of the ``out=`` operator alone.

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
        """The kernel for a call with that key set: for a backend that needs none of this, the one beneath."""
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
        """What serves the operator on a backend that has a fallback, and no kernel of its own to compute with."""
        key = DispatchKey(backend)
        fallback = self.operator.fallbacks.get(key)
        has_own = self.definition.out.entry(key).reason is Reason.KERNEL
        return None if has_own or isinstance(fallback, Fallthrough) else fallback

    def _composite(self, backend: str) -> str | None:
        """The key of an out-kernel that serves every backend, where the backend has none of its own."""
        definition = self.definition.definition
        if not isinstance(definition, StructuredDefinition):
            return None
        key = next((kernel for kernel in definition.kernels if kernel.startswith("Composite")), None)
        own = self.definition.out.entry(DispatchKey(backend)).reason is Reason.KERNEL
        return None if own else key

    def _serves(self, backend: str) -> bool:
        """Whether a backend has an out-kernel and nothing around it."""
        entry = self.operator.entry(DispatchKey(backend))
        is_bare = entry.reason is Reason.KERNEL and not isinstance(entry.kernel, StructuredKernel)
        return is_bare and not backends.is_fused(backend)

    def __call__(self, *arguments: Any) -> object:
        """Run it for the backend that the arguments are on."""
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
