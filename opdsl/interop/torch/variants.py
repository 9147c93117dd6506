"""Registration of in-place, ``out=`` and view operators in torch.

``torch.compile`` supports no operator outside of aten that returns an argument. So these are composites: for gradients
and transforms they call the functional operator and copy, which torch differentiates; otherwise they call an operator
with the same arguments that writes them and returns nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import attrs
import torch

from opdsl.dispatch import Operator
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.errors import DTypeError, MissingDerivativeError, RequiresGradError
from opdsl.interop.torch import distributed, kernels
from opdsl.interop.torch.bridge import Bridge, is_plain, resolved
from opdsl.interop.torch.calls import RECORDED, is_watched, untraced
from opdsl.interop.torch.decomposition import Define, decompose
from opdsl.schema import FunctionSchema, SchemaKind
from opdsl.schema.kinds import COMPILED

__all__ = ["ViewBridge", "WritingBridge", "writer_schema"]


def writer_schema(schema: FunctionSchema) -> FunctionSchema:
    """Return the schema of the operator that writes its arguments and returns nothing."""
    operator_name = attrs.evolve(schema.name, base=f"_write_{schema.name.base}")
    # torch warns about mutable operators with an argument named self.
    taken = {argument.name for argument in schema.arguments}
    other = next(name for name in ("input", "written", "_self") if name not in taken)
    positional = [
        attrs.evolve(argument, name=other) if argument.name == "self" else argument for argument in schema.positional
    ]
    return attrs.evolve(schema, name=operator_name, positional=tuple(positional), returns=())


class ViewBridge(Bridge):
    """Operator registered in torch that returns views of an argument."""

    def implement_keys(self) -> None:
        """See ``Bridge``."""
        self.implement_composite(self.on_tensors)

    @property
    def alone(self) -> Callable[..., Any]:
        """See ``Bridge``."""
        return self.on_tensors

    @untraced
    def on_tensors(self, *positional: Any, **named: Any) -> Any:
        """Run a call for every dispatch key: torch creates the views, and differentiates them."""
        values = self.complete(positional, named)
        self.note_graph(values)
        return decompose(self.operator, values, self.define)


class Writer(Bridge):
    """Operator registered in torch that writes its arguments and returns nothing."""

    def implement_keys(self) -> None:
        """See ``Bridge``."""
        self.implement(self.on_memory, "CPU")
        if kernels.has_cuda():
            self.implement(self.on_memory, "CUDA")
        self.implement(self.with_versions, "ADInplaceOrView")
        for bit in ("Conjugate", "Negative"):
            self.implement(self.on_resolved, bit)
        self.implement(self.without_elements, "Meta")
        distributed.attach(self)

    @untraced
    def on_memory(self, *positional: Any, **named: Any) -> None:
        """Run a call under torch's CPU and CUDA keys."""
        kernels.run_writing(self.operator, self.complete(positional, named))

    @untraced
    def with_versions(self, *positional: Any, **named: Any) -> None:
        """Run a call after incrementing the version counter of each written argument, for autograd."""
        values = self.complete(positional, named)
        count_writes(self.written(values))
        with torch._C._AutoDispatchBelowADInplaceOrView():
            self.call(*values)

    @untraced
    def on_resolved(self, *positional: Any, **named: Any) -> None:
        """Run a call with conjugate or negative views: write materialized copies, and copy them back."""
        values = self.complete(positional, named)
        replaced = [resolved(value) for value in values]
        self.call(*replaced)
        for target, source in zip(self.written(values), self.written(replaced), strict=True):
            if source is not target:
                if target.shape != source.shape:
                    target.resize_(source.shape)
                target.copy_(source)

    def without_elements(self, *positional: Any, **named: Any) -> None:
        """Do nothing for fake and meta tensors, which have no elements to write."""

    def written(self, values: Sequence[Any]) -> list[torch.Tensor]:
        """Return the tensors that a call writes."""
        return written_of(self.schema, values)


class WritingBridge(Bridge):
    """In-place or ``out=`` operator registered in torch.

    Args:
        operator, schema, define: see ``Bridge``.
        functional: the functional variant of the operator, or None.

    writer: the operator that writes and returns nothing.
    """

    def __init__(self, operator: Operator, schema: FunctionSchema, define: Define, functional: Bridge | None) -> None:
        super().__init__(operator, schema, define)
        self.functional = functional
        self.writer = Writer(operator, writer_schema(schema), define)

    def implement_keys(self) -> None:
        """See ``Bridge``."""
        self.writer.register()
        self.implement_composite(self.run)
        if self.kind not in COMPILED:  # the kernel may draw random numbers
            self.implement(self.run, "FuncTorchVmapMode")

    @cached_property
    def run(self) -> Callable[..., Any]:
        """Return the function that runs calls for every dispatch key, with plans if possible."""
        return self.planned(self.on_tensors, RECORDED)

    @property
    def alone(self) -> Callable[..., Any]:
        """See ``Bridge``."""
        return self.run

    def close(self) -> None:
        """See ``Bridge``."""
        self.writer.close()
        super().close()

    @untraced
    def on_tensors(self, *positional: Any, **named: Any) -> Any:
        """Run a call for every dispatch key."""
        values = self.complete(positional, named)
        if len(positional) < len(values):
            return self.run(*values)
        self.note_graph(values)
        written = written_of(self.schema, values)
        records = self.needs_recording(values)
        if records and self.schema.kind is SchemaKind.out and torch._C._any_requires_grad(*values):
            raise RequiresGradError(
                f"{self.schema.name.base}(): functions with out=... arguments don't support automatic differentiation, "
                "but one of the arguments requires grad."
            )
        if not (records or is_watched()) and self.served(values) is not GUARD_FAILED:
            count_writes(written)
        elif not records and is_plain(values):
            kernels.run_writing(self.operator, values, self.plans)
            count_writes(written)
        elif records or torch._C._are_functorch_transforms_active() or self.writes_pieces(values):
            if self.is_composite and self.functional is None:
                self.decomposed(values)
            else:
                self.copy_functional(values, written)
        else:
            self.write(values, written)
        return self.returned(written)

    def returned(self, written: list[torch.Tensor]) -> Any:
        """Return the written tensors that the schema declares as results."""
        if not self.schema.returns:
            return None
        return written[0] if len(self.schema.returns) == 1 else tuple(written)

    def writes_pieces(self, values: Sequence[Any]) -> bool:
        """Return whether the written tensors are DTensors, which the writer cannot write."""
        return (self.schema.kind is SchemaKind.out or self.is_composite) and distributed.is_distributed(values)

    def copy_functional(self, values: Sequence[Any], written: list[torch.Tensor]) -> None:
        """Call the functional operator and copy its results into the written tensors, so that torch can differentiate
        the call.
        """
        overwritten = {id(tensor) for tensor in written}
        results = self.compute([value.clone() if id(value) in overwritten else value for value in values])
        for target, result in zip(written, results, strict=True):
            self.fit(target, result)
            target.copy_(result)

    def write(self, values: Sequence[Any], written: list[torch.Tensor]) -> None:
        """Call the writer on tensors of modes or transforms. Outputs are resized to the shape of the results before."""
        if self.schema.kind is SchemaKind.out and self.functional is not None:
            with torch._C._DisableFuncTorch():
                results = self.functional.without_elements(*values[: len(self.functional.schema.arguments)])
            listed = results if isinstance(results, tuple | list) else (results,)
            for target, result in zip(written, listed, strict=True):
                self.fit(target, result)
        self.writer.call(*values)

    def compute(self, values: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Return the results of the functional operator."""
        if self.functional is None:
            raise MissingDerivativeError(
                f"derivative for {self.operator.name} is not implemented: it has no functional variant to "
                "differentiate. Declare one, or call it under torch.no_grad()."
            )
        results = self.functional.call(*values[: len(self.functional.schema.arguments)])
        return tuple(results) if isinstance(results, tuple | list) else (results,)

    def fit(self, target: torch.Tensor, result: torch.Tensor) -> None:
        """Check that a result can be copied into an output, and resize the output.

        Raises:
            DTypeError: the result cannot be cast to the output's dtype.
        """
        if not torch.can_cast(result.dtype, target.dtype):
            raise DTypeError(
                f"{self.operator.name}: result type {result.dtype} can't be cast to the desired output type "
                f"{target.dtype}"
            )
        if self.schema.kind is SchemaKind.out and target.shape != result.shape:
            target.resize_(result.shape)


def written_of(schema: FunctionSchema, values: Sequence[Any]) -> list[torch.Tensor]:
    """Return the tensors that a call with these arguments writes."""
    written: list[torch.Tensor] = []
    for declared, value in zip(schema.arguments, values, strict=True):
        if declared.alias is not None and declared.alias.write:
            written += value if isinstance(value, list | tuple) else [value]
    return written


def count_writes(written: Sequence[torch.Tensor]) -> None:
    """Increment the version counters of written tensors; tensors of inference mode have none."""
    for tensor in written:
        if not tensor.is_inference():
            torch.autograd.graph.increment_version(tensor)
