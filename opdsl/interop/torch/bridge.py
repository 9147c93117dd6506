"""Registration of one operator in torch: its definition, and the kernels for torch's dispatch keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad

from opdsl.dispatch import Kernel, Operator, current
from opdsl.dispatch.plans.forms import GUARD_FAILED
from opdsl.dispatch.plans.traceable import is_traceable
from opdsl.errors import UnknownOperatorError
from opdsl.formulas.definition import FormulaDefinition
from opdsl.formulas.programs import FormulaProgram
from opdsl.interop.torch import autocast, batching, digests, distributed, inductor, kernels
from opdsl.interop.torch.calls import MEMORY, NOTHING, RECORDED, Completion, is_watched, untraced
from opdsl.interop.torch.decomposition import AUTOGRAD, Define, decompose
from opdsl.interop.torch.definition import Definition
from opdsl.interop.torch.fakes import fake, from_begin
from opdsl.interop.torch.kernels import CPU
from opdsl.schema import FunctionSchema
from opdsl.schema.implementation import is_differentiable
from opdsl.schema.kinds import COMPILED

if TYPE_CHECKING:
    from opdsl.interop.torch.gradients import Gradients
    from opdsl.interop.torch.graphs import Graphs
    from opdsl.interop.torch.plans import Plans

__all__ = ["Bridge", "is_plain", "resolved"]

# Names by which a body may enable grad mode, or read requires_grad.
_ABOUT_GRAD = ("enable_grad", "inference_mode", "requires_grad", "set_grad_enabled")
# Cached properties that depend on the operator's kernels and derivative, besides plans.
_OF_KERNELS = ("follows_always", "has_autograd", "graphs", "gradients", "is_composite", "is_traceable", "kind", "names")
# The tag of operators whose results' shapes depend on elements.
_DYNAMIC = "dynamic_output_shape"


class Bridge:
    """Operator of opdsl registered in torch, from ``register`` to ``close``.

    Registration does as little as possible, since most operators of a library are never called in a process. Autograd
    nodes of calls outlive the registration; then they run kernels without torch's dispatcher.

    Args:
        operator: of opdsl.
        schema: in torch, with a namespace.
        define: callback that defines a further operator in torch if torch does not have it yet.

    fuses: whether inductor may decompose it.
    is_asked_for: whether the user has registered it; otherwise another registered operator needs it.
    autocast: the autocast rule.
    plans: of its CPU kernel.
    """

    fuses = True
    is_asked_for = True
    autocast: autocast.Autocast = "derived"

    def __init__(self, operator: Operator, schema: FunctionSchema, define: Define) -> None:
        self.operator = operator
        self.schema = schema
        self.define = define
        self._found: list[Kernel] = []
        self._definition: Definition | None = None
        self._declared: tuple[object, ...] = ()

    def register(self) -> None:
        """Define the operator in torch and register its kernels.

        Raises:
            DuplicateOperatorError: torch has an operator of that name.
        """
        self._definition = Definition(self.schema, _tags(self.operator))
        self._declared = self._as_declared()
        self._watch()
        try:
            self.implement_keys()
        except BaseException:
            self.close()
            raise

    def renew(self) -> None:
        """Define the operator in torch again, after its kernels or tags have changed."""
        self.close()
        self._forget()
        self.register()

    @property
    def is_as_declared(self) -> bool:
        """Return whether the operator still has the kind of kernels and the tags with which it was registered."""
        return self._declared == self._as_declared()

    def _as_declared(self) -> tuple[object, ...]:
        return self.kind, self.is_composite, self.operator.tags

    def implement_keys(self) -> None:
        """Register kernels for torch's dispatch keys, for an operator that writes nothing and returns no views."""
        if self.is_composite:  # operators that its body calls may draw random numbers
            self.implement(self.under_vmap, "FuncTorchVmapMode", with_keyset=True)
        elif self.kind not in COMPILED:
            self.implement(self.under_vmap_mode, "FuncTorchVmapMode", with_keyset=True)
        if not any(map(is_differentiable, self.schema.arguments)):
            # Without tensor arguments the dispatch key does not select a device: one kernel for all keys.
            self.implement(self.on_cpu, "CompositeExplicitAutograd")
            self.definition.implement_fake(self.without_elements)
            return
        self.implement(self.planned(self.on_cpu, NOTHING), "CPU")
        if kernels.has_cuda():
            self.implement(self.on_cuda, "CUDA")
        self.implement(self.with_autograd, "Autograd")
        self.implement(self.planned(self.with_autograd, RECORDED), "AutogradCPU")
        if _DYNAMIC in self.operator.tags:
            self.definition.implement_fake(self.without_elements)
        else:
            self.implement(self.without_elements, "Meta")
        self.implement(self.under_vmap, "FuncTorchBatched", with_keyset=True)
        distributed.attach(self)
        if self.is_asked_for:
            autocast.attach(self, self.autocast)

    @property
    def definition(self) -> Definition:
        """Return the definition in torch.

        Raises:
            UnknownOperatorError: the operator is not in torch any more.
        """
        if self._definition is None:
            raise UnknownOperatorError(
                f"{self.schema.name.qualified} is not in torch any more, and only its own kernels can still run: "
                "no transform or mode of torch can see them. Register it again."
            )
        return self._definition

    @property
    def overload(self) -> Callable[..., Any]:
        """Return the torch operator."""
        return self.definition.overload

    @cached_property
    def is_composite(self) -> bool:
        """Return whether the operator's kernel is a body that calls other operators."""
        return self.operator.is_composite(CPU)

    @cached_property
    def has_autograd(self) -> bool:
        """Return whether the operator has its own autograd kernel, which records calls for gradients."""
        kernel = self.operator.entry(next(iter(AUTOGRAD.reachable()))).kernel
        return bool(getattr(kernel, "functions", ()))

    @cached_property
    def optional_lists(self) -> tuple[int, ...]:
        """Return the indices of arguments that are lists of optional tensors."""
        return tuple(index for index, argument in enumerate(self.schema.arguments) if str(argument.type) == "Tensor?[]")

    @cached_property
    def returns_tensors(self) -> bool:
        """Return whether the operator returns only tensors, or lists of tensors."""
        return all(str(returned.type) in ("Tensor", "Tensor[]") for returned in self.schema.returns)

    @cached_property
    def completion(self) -> Completion:
        """Return the helper that fills in default arguments of calls."""
        return Completion(self.operator)

    @cached_property
    def kind(self) -> str:
        """Return the kind of the operator's CPU kernel, such as ``pointwise``; empty for a function of torch's or
        opdsl's tensors.
        """
        kernel = self.operator.entry(next(iter(CPU.reachable()))).kernel
        return getattr(kernel, "kind", "")

    @cached_property
    def names(self) -> frozenset[str]:
        """Return all names in the code of the operator and of the functions and operators that it calls."""
        return digests.names_in(self.operator)

    @cached_property
    def follows_always(self) -> bool:
        """Return whether the body may enable grad mode or read ``requires_grad``; then calls are recorded even in
        no-grad mode.
        """
        return self.is_composite and not self.names.isdisjoint(_ABOUT_GRAD)

    @cached_property
    def is_traceable(self) -> bool:
        """Return whether the operator's CPU kernel is a Python function that is declared to only call operators."""
        functions = getattr(self.operator.entry(next(iter(CPU.reachable()))).kernel, "functions", ())
        return self.kind == "function" and bool(functions) and all(map(is_traceable, functions))

    @cached_property
    def plans(self) -> Plans | None:
        """Return the plans of the operator's CPU kernel, or None if the kernel cannot have plans."""
        if not (self.kind in COMPILED or self.is_traceable):
            return None
        from opdsl.interop.torch.plans import Plans  # imports the runner of machine code

        self._watch()
        return Plans(self.schema.name.qualified, self.operator, is_python=self.kind not in COMPILED)

    def kernel(self) -> Kernel:
        """Return the CPU kernel that a call runs."""
        if current.get().checking:
            return self.operator.find_in(CPU)
        cached = self._found
        if not cached:
            self._watch()
            cached.append(self.operator.find_in(CPU))
        return cached[0]

    def _watch(self) -> None:
        if self._forget not in self.operator.watchers:
            self.operator.watchers.append(self._forget)

    def _forget(self) -> None:
        """Drop the cached kernels and plans after a kernel has changed. Threads that look one up meanwhile cache
        nothing.
        """
        self._found = []
        plans: Plans | None = self.__dict__.get("plans")
        if plans is not None:
            plans.forget()
        for field in _OF_KERNELS:
            self.__dict__.pop(field, None)

    def planned(self, function: Callable[..., Any], tests: int) -> Callable[..., Any]:
        """Wrap a function so that calls with a cached plan run the plan, and other calls the function."""
        plans = self.plans
        return function if plans is None or self.kind not in COMPILED else plans.function(function, tests)

    @cached_property
    def graphs(self) -> Graphs | None:
        """Return the plans of the operator's composite body on torch's tensors, or None if the body cannot have
        plans.
        """
        if not (self.is_composite and self.is_traceable) or "requires_grad" in self.names:
            return None
        from opdsl.interop.torch import native  # imports the runner of machine code
        from opdsl.interop.torch.graphs import Graphs
        from opdsl.interop.torch.lowered import kernel_of

        return None if native.code() is None else Graphs(*kernel_of(self.operator), self.define)

    @cached_property
    def gradients(self) -> Gradients:
        """Return the derivative of the operator."""
        from opdsl.interop.torch.gradients import Gradients  # imports all of autograd

        return Gradients(self.operator, self.run_beneath, self.define)

    @cached_property
    def run_beneath(self) -> Callable[..., Any]:
        """Return the function that runs the operator below autograd."""
        return self.planned(self.beneath, MEMORY)

    def close(self) -> None:
        """Remove the operator from torch."""
        if self._forget in self.operator.watchers:
            self.operator.watchers.remove(self._forget)
        definition, self._definition = self._definition, None
        if definition is not None:
            inductor.withdraw(self, definition.overload)
            digests.withdraw(self.schema.name.qualified)
            distributed.detach(self, definition.overload)
            definition.close()

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """Call the torch operator, or its kernel without torch's dispatcher if torch does not have it any more."""
        definition = self._definition
        return (self.alone if definition is None else definition.overload)(*positional, **named)

    @property
    def alone(self) -> Callable[..., Any]:
        """Return the function that runs a call without torch's dispatcher."""
        return self.with_autograd

    def complete(self, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """Return all arguments of a call, in the order of the schema, with defaults filled in."""
        return self.completion.complete(positional, named)

    def call(self, *values: Any) -> Any:
        """Call the torch operator with schema-ordered arguments."""
        positional, named = self.completion.split(values)
        return self.definition.overload(*positional, **named)

    def implement(self, function: Callable[..., Any], key: str, *, with_keyset: bool = False) -> None:
        """Register a function as the kernel for a dispatch key of torch."""
        self.definition.implement(function, key, with_keyset=with_keyset)

    def implement_composite(self, function: Callable[..., Any]) -> None:
        """Register a composite kernel for every dispatch key of torch, including those of autograd and of vmap."""
        self.implement(function, "CompositeImplicitAutograd")
        self.implement(function, "FuncTorchBatchedDecomposition")
        self.implement(function, "Functionalize")

    @untraced
    def on_cpu(self, *positional: Any, **named: Any) -> Any:
        """Run a call under torch's CPU key."""
        values = self.complete(positional, named)
        if named:
            return self.run_beneath(*values)
        result = self.served(values)
        return kernels.run_on_cpu(self.kernel(), values, self.plans, positional) if result is GUARD_FAILED else result

    def served(self, values: Sequence[Any]) -> Any:
        """Run a call by a cached plan for its shape class; return ``GUARD_FAILED`` if no plan matches."""
        return GUARD_FAILED if self.plans is None else self.plans.run(values)

    @untraced
    def on_cuda(self, *positional: Any, **named: Any) -> Any:
        """Run a call under torch's CUDA key."""
        return kernels.run(self.operator, self.complete(positional, named))

    def without_elements(self, *positional: Any, **named: Any) -> Any:
        """Compute the results of a call for fake and meta tensors."""
        values = self.complete(positional, named)
        self.note_graph(values)
        if self.fuses and self._definition is not None:
            inductor.offer(self)
        if self.is_composite:
            results = self.decomposed(values)
            return results if self.schema.is_view else from_begin(results)
        return fake(self.operator, values)

    @untraced
    def with_autograd(self, *positional: Any, **named: Any) -> Any:
        """Run a call under torch's Autograd keys: record it for gradients if needed."""
        values = self.completion.complete(positional, named)
        if not (self.returns_tensors and self.needs_recording(values)):
            return self.run_beneath(*(values if named else positional))
        if self.is_composite:
            return self.decomposed(values)
        if self.has_autograd:
            self.note_graph(values)
            return decompose(self.operator, values, self.define, AUTOGRAD)
        return self.gradients.apply(*values)

    def note_graph(self, values: Sequence[Any]) -> None:
        """Record a digest of the operator's code for torch's compile caches, if the call may be part of a traced
        graph.
        """
        if not self.is_asked_for or self._definition is None:
            return
        # FakeTensorMode is off within a kernel for fake tensors, so that the arguments are checked as well.
        is_fake = any(isinstance(value, FakeTensor) for value in kernels.spread(values))
        if is_fake or torch._C._len_torch_dispatch_stack():
            digests.note(self.operator, self.schema.name.qualified)

    def needs_recording(self, values: Sequence[Any]) -> bool:
        """Return whether a call has to be recorded, for gradients or for tangents."""
        if torch.is_grad_enabled() or self.follows_always:
            if torch._C._any_requires_grad(*values):
                return True
            # torch's check ignores lists of optional tensors.
            if self.optional_lists and any(
                torch._C._any_requires_grad(*values[index]) for index in self.optional_lists
            ):
                return True
        return forward_ad._current_level >= 0

    def decomposed(self, values: Sequence[Any]) -> Any:
        """Run the body of a composite on torch tensors. Results that alias arguments are copied, as opdsl's kernels
        do.
        """
        self.note_graph(values)
        graphs = None if is_watched() else self.graphs
        if graphs is None:
            results = decompose(self.operator, values, self.define)
        else:
            results = graphs.answer(values, partial(decompose, self.operator, values, self.define))
        if isinstance(results, torch.Tensor):
            return own(results, values)
        return (
            type(results)(own(result, values) for result in results) if isinstance(results, list | tuple) else results
        )

    @untraced
    def beneath(self, *positional: Any, **named: Any) -> Any:
        """Run the operator below autograd."""
        values = self.complete(positional, named)
        if not is_watched():
            result = self.served(values)
            if result is not GUARD_FAILED:
                return result
        if is_plain(values):
            return kernels.run_on_cpu(self.kernel(), values, self.plans, values if named else positional)
        if self._definition is None and not is_watched():
            return kernels.run(self.operator, [resolved(value) for value in values])
        with torch._C._AutoDispatchBelowAutograd():
            return self.call(*values)

    @untraced
    def under_vmap(self, keys: object, *positional: Any, **named: Any) -> Any:
        """Run a call under torch's vmap keys."""
        if self.is_composite:
            return self.decomposed(self.complete(positional, named))
        from torch._functorch.autograd_function import custom_function_call_vmap_helper

        level: Any = retrieve_current_functorch_interpreter()
        return custom_function_call_vmap_helper(level, self.in_batches, self.call, *self.complete(positional, named))

    @untraced
    def under_vmap_mode(self, keys: object, *positional: Any, **named: Any) -> Any:
        """Run an operator that may draw random numbers under vmap, whether or not its tensors belong to a batch."""
        values = self.complete(positional, named)
        if isinstance(self.operator.formula, FormulaProgram) and not batching.are_recorded(values):
            return self.decomposed(values)  # the operators that it calls have batching rules
        return batching.drawn(self.call, retrieve_current_functorch_interpreter(), values)

    def in_batches(self, info: Any, dims: tuple[Any, ...], *arguments: Any) -> Any:
        """Run the operator on tensors with a batch dimension, by the batching rule for its kind."""
        values = arguments
        if self.kind == "pointwise":
            kernel: Any = self.kernel()
            if isinstance(kernel.definition, FormulaDefinition):
                return batching.elementwise(self.call, kernel.definition, info.batch_size, dims, values)
            return batching.broadcast(self.call, info.batch_size, dims, values)
        if self.kind in COMPILED:
            definition: Any = self.kernel()
            return batching.along_rows(self.call, definition.definition, info.batch_size, dims, values)
        return batching.batched(self.call, info.batch_size, dims, values)


def own(result: Any, values: Sequence[Any]) -> Any:
    """Return a result as a tensor that shares no memory with the arguments: a copy if torch reports shared memory."""
    if not isinstance(result, torch.Tensor):
        return result
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    storage = _storage(result)
    if storage is not None and any(_storage(tensor) == storage for tensor in tensors):
        return result.clone()
    root = result._base if result._is_view() else result
    roots = [tensor._base if tensor._is_view() else tensor for tensor in tensors]
    return result.clone() if any(root is tensor for tensor in roots) else result


def _storage(tensor: torch.Tensor) -> int | None:
    """Return the identity of a tensor's storage; None for tensors without one, such as those of functorch
    transforms.
    """
    try:
        storage: int = tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return None
    return storage


def is_plain(values: Sequence[Any]) -> bool:
    """Return whether all tensors are plain CPU memory, and no mode or transform intercepts calls."""
    return not is_watched() and all(_is_plain(value) for value in values)


def resolved(value: Any) -> Any:
    """Materialize conjugate and negative views, so that the memory of tensors holds their values."""
    if isinstance(value, list | tuple):
        return [resolved(element) for element in value]
    return value.resolve_conj().resolve_neg() if isinstance(value, torch.Tensor) else value


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _is_plain(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        is_memory = type(value) in _PLAIN and value.is_cpu and value.layout is torch.strided
        # torch.autograd.gradcheck makes legacy batched tensors outside of transforms.
        stands_for_others = value.is_neg() or value.is_conj() or torch._C._functorch.is_legacy_batchedtensor(value)
        return is_memory and not stands_for_others
    return not isinstance(value, list) or all(map(_is_plain, value))


def _tags(operator: Operator) -> tuple[torch.Tag, ...]:
    names = dict.fromkeys((*operator.tags, "pt2_compliant_tag"))
    return tuple(getattr(torch.Tag, name) for name in names if hasattr(torch.Tag, name))
