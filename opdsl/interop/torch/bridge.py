"""One operator in torch: its definition there, and what torch's dispatch keys run for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import torch
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad

from opdsl.dispatch import Kernel, Operator, current
from opdsl.dispatch.plans.forms import UNSERVED
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

# Names by which a body may turn grad mode on, or ask what requires grad.
_ABOUT_GRAD = ("enable_grad", "inference_mode", "requires_grad", "set_grad_enabled")
# What a bridge keeps of its operator's kernels and derivative, besides plans.
_OF_KERNELS = ("follows_always", "has_autograd", "graphs", "gradients", "is_composite", "is_traceable", "kind", "names")
# The tag of operators whose results' shapes depend on elements.
_DYNAMIC = "dynamic_output_shape"


class Bridge:
    """An operator of opdsl that torch has, from ``register`` to ``close``.

    Registering makes as little as possible: most operators of a library are never called in a process. Nodes of calls
    outlive the registration, and run what they need without torch's dispatcher then.

    Args:
        operator: of opdsl.
        schema: in torch, with a namespace.
        define: makes the torch operator of one that torch does not have yet.

    fuses: whether inductor may take it apart.
    is_asked_for: whether the user has registered it; otherwise torch has it for the sake of one that was.
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
        """Define it in torch.

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
        """Define it in torch anew: what it is registered with has changed."""
        self.close()
        self._forget()
        self.register()

    @property
    def is_as_declared(self) -> bool:
        """Whether it was registered with kernels of the kind and the tags that it has now."""
        return self._declared == self._as_declared()

    def _as_declared(self) -> tuple[object, ...]:
        return self.kind, self.is_composite, self.operator.tags

    def implement_keys(self) -> None:
        """Register what torch's keys run, for an operator that writes nothing and returns no views."""
        if self.is_composite:  # what its body calls may draw random numbers
            self.implement(self.under_vmap, "FuncTorchVmapMode", with_keyset=True)
        elif self.kind not in COMPILED:
            self.implement(self.under_vmap_mode, "FuncTorchVmapMode", with_keyset=True)
        if not any(map(is_differentiable, self.schema.arguments)):
            # No tensor says where it runs: for all keys alike.
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
        """What it is in torch.

        Raises:
            UnknownOperatorError: torch has it no more.
        """
        if self._definition is None:
            raise UnknownOperatorError(
                f"{self.schema.name.qualified} is not in torch any more, and only its own kernels can still run: "
                "no transform or mode of torch can see them. Register it again."
            )
        return self._definition

    @property
    def overload(self) -> Callable[..., Any]:
        """The torch operator."""
        return self.definition.overload

    @cached_property
    def is_composite(self) -> bool:
        """Whether its kernel is a body that calls other operators."""
        return self.operator.is_composite(CPU)

    @cached_property
    def has_autograd(self) -> bool:
        """Whether it has a kernel of its own at autograd's key, which does there what is to be recorded."""
        kernel = self.operator.entry(next(iter(AUTOGRAD.reachable()))).kernel
        return bool(getattr(kernel, "functions", ()))

    @cached_property
    def optional_lists(self) -> tuple[int, ...]:
        """The places of lists of tensors that may be missing."""
        return tuple(index for index, argument in enumerate(self.schema.arguments) if str(argument.type) == "Tensor?[]")

    @cached_property
    def returns_tensors(self) -> bool:
        """Whether it returns tensors, or lists of them, and nothing else."""
        return all(str(returned.type) in ("Tensor", "Tensor[]") for returned in self.schema.returns)

    @cached_property
    def completion(self) -> Completion:
        """Completes the arguments of calls."""
        return Completion(self.operator)

    @cached_property
    def kind(self) -> str:
        """What its CPU kernel is made of, in a word; empty for a function of torch's or opdsl's tensors."""
        kernel = self.operator.entry(next(iter(CPU.reachable()))).kernel
        return getattr(kernel, "kind", "")

    @cached_property
    def names(self) -> frozenset[str]:
        """All names in the code of what it comes to."""
        return digests.names_in(self.operator)

    @cached_property
    def follows_always(self) -> bool:
        """Whether its body may turn grad mode on, or asks what requires grad: without grad mode it runs as with it."""
        return self.is_composite and not self.names.isdisjoint(_ABOUT_GRAD)

    @cached_property
    def is_traceable(self) -> bool:
        """Whether its CPU kernel is a function that is promised to call operators alone."""
        functions = getattr(self.operator.entry(next(iter(CPU.reachable()))).kernel, "functions", ())
        return self.kind == "function" and bool(functions) and all(map(is_traceable, functions))

    @cached_property
    def plans(self) -> Plans | None:
        """See ``Plans``, if its kernel may have some."""
        if not (self.kind in COMPILED or self.is_traceable):
            return None
        from opdsl.interop.torch.plans import Plans  # with what runs machine code

        self._watch()
        return Plans(self.schema.name.qualified, self.operator, is_python=self.kind not in COMPILED)

    def kernel(self) -> Kernel:
        """The CPU kernel that a call runs."""
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
        """Drop what was found of the operator's kernels: one has changed. Threads that look meanwhile keep nothing."""
        self._found = []
        plans: Plans | None = self.__dict__.get("plans")
        if plans is not None:
            plans.forget()
        for name in _OF_KERNELS:
            self.__dict__.pop(name, None)

    def planned(self, function: Callable[..., Any], tests: int) -> Callable[..., Any]:
        """A function that answers calls from plans, and hands the others to one that is given."""
        plans = self.plans
        return function if plans is None or self.kind not in COMPILED else plans.function(function, tests)

    @cached_property
    def graphs(self) -> Graphs | None:
        """The plans of its body on torch's tensors, if it may have some."""
        if not (self.is_composite and self.is_traceable) or "requires_grad" in self.names:
            return None
        from opdsl.interop.torch import native  # with what runs machine code
        from opdsl.interop.torch.graphs import Graphs
        from opdsl.interop.torch.lowered import kernel_of

        return None if native.code() is None else Graphs(*kernel_of(self.operator), self.define)

    @cached_property
    def gradients(self) -> Gradients:
        """Its derivative."""
        from opdsl.interop.torch.gradients import Gradients  # with all of autograd

        return Gradients(self.operator, self.run_beneath, self.define)

    @cached_property
    def run_beneath(self) -> Callable[..., Any]:
        """Runs it below autograd."""
        return self.planned(self.beneath, MEMORY)

    def close(self) -> None:
        """Take the operator out of torch."""
        if self._forget in self.operator.watchers:
            self.operator.watchers.remove(self._forget)
        definition, self._definition = self._definition, None
        if definition is not None:
            inductor.withdraw(self, definition.overload)
            digests.withdraw(self.schema.name.qualified)
            distributed.detach(self, definition.overload)
            definition.close()

    def __call__(self, *positional: Any, **named: Any) -> Any:
        """The torch operator, or what that would run if torch has it no more."""
        definition = self._definition
        return (self.alone if definition is None else definition.overload)(*positional, **named)

    @property
    def alone(self) -> Callable[..., Any]:
        """What runs a call without torch's dispatcher."""
        return self.with_autograd

    def complete(self, positional: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call, in the order of the schema."""
        return self.completion.complete(positional, named)

    def call(self, *values: Any) -> Any:
        """The torch operator, called with schema-ordered arguments."""
        positional, named = self.completion.split(values)
        return self.definition.overload(*positional, **named)

    def implement(self, function: Callable[..., Any], key: str, *, with_keyset: bool = False) -> None:
        """Register what a dispatch key of torch runs."""
        self.definition.implement(function, key, with_keyset=with_keyset)

    def implement_composite(self, function: Callable[..., Any]) -> None:
        """Register what every key of torch runs, those of autograd and of vmap as well."""
        self.implement(function, "CompositeImplicitAutograd")
        self.implement(function, "FuncTorchBatchedDecomposition")
        self.implement(function, "Functionalize")

    @untraced
    def on_cpu(self, *positional: Any, **named: Any) -> Any:
        """What the CPU key runs."""
        values = self.complete(positional, named)
        if named:
            return self.run_beneath(*values)
        result = self.served(values)
        return kernels.run_on_cpu(self.kernel(), values, self.plans, positional) if result is UNSERVED else result

    def served(self, values: Sequence[Any]) -> Any:
        """What the plan of a form makes of a call; ``UNSERVED`` where none serves it."""
        return UNSERVED if self.plans is None else self.plans.run(values)

    @untraced
    def on_cuda(self, *positional: Any, **named: Any) -> Any:
        """What the CUDA key runs."""
        return kernels.run(self.operator, self.complete(positional, named))

    def without_elements(self, *positional: Any, **named: Any) -> Any:
        """What fake and meta tensors run."""
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
        """What the Autograd keys run."""
        values = self.completion.complete(positional, named)
        if not (self.returns_tensors and self.needs_recording(values)):
            return self.run_beneath(*(values if named else positional))
        if self.is_composite:
            return self.decomposed(values)
        if self.has_autograd:
            return decompose(self.operator, values, self.define, AUTOGRAD)
        return self.gradients.apply(*values)

    def note_graph(self, values: Sequence[Any]) -> None:
        """Have torch's caches know what it comes to, if a graph may be on the way."""
        if not self.is_asked_for or self._definition is None:
            return
        # Within a kernel of fake tensors their mode is off.
        is_fake = any(isinstance(value, FakeTensor) for value in kernels.spread(values))
        if is_fake or torch._C._len_torch_dispatch_stack():
            digests.note(self.operator, self.schema.name.qualified)

    def needs_recording(self, values: Sequence[Any]) -> bool:
        """Whether a call has to be recorded, for gradients or for tangents."""
        if torch.is_grad_enabled() or self.follows_always:
            if torch._C._any_requires_grad(*values):
                return True
            # torch does not look into lists of tensors that may be missing.
            if self.optional_lists and any(
                torch._C._any_requires_grad(*values[index]) for index in self.optional_lists
            ):
                return True
        return forward_ad._current_level >= 0

    def decomposed(self, values: Sequence[Any]) -> Any:
        """What a composite's body makes of torch tensors; results that are arguments are copied, as by its kernel."""
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
        """Run it below autograd."""
        values = self.complete(positional, named)
        if not is_watched():
            result = self.served(values)
            if result is not UNSERVED:
                return result
        if is_plain(values):
            return kernels.run_on_cpu(self.kernel(), values, self.plans, values if named else positional)
        if self._definition is None and not is_watched():
            return kernels.run(self.operator, [resolved(value) for value in values])
        with torch._C._AutoDispatchBelowAutograd():
            return self.call(*values)

    @untraced
    def under_vmap(self, keys: object, *positional: Any, **named: Any) -> Any:
        """What the keys of vmap run."""
        if self.is_composite:
            return self.decomposed(self.complete(positional, named))
        from torch._functorch.autograd_function import custom_function_call_vmap_helper

        level: Any = retrieve_current_functorch_interpreter()
        return custom_function_call_vmap_helper(level, self.in_batches, self.call, *self.complete(positional, named))

    @untraced
    def under_vmap_mode(self, keys: object, *positional: Any, **named: Any) -> Any:
        """What runs under vmap for an operator that may draw random numbers, whether or not a tensor is of a batch."""
        values = self.complete(positional, named)
        if isinstance(self.operator.formula, FormulaProgram) and not batching.are_recorded(values):
            return self.decomposed(values)  # what it calls has rules for batches
        return batching.drawn(self.call, retrieve_current_functorch_interpreter(), values)

    def in_batches(self, info: Any, dims: tuple[Any, ...], *arguments: Any) -> Any:
        """The operator for tensors with a batch dimension."""
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
    """A result that shares no memory with the arguments, as far as torch can tell."""
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
    """The identity of a tensor's storage; None of one that stands for others, as those of transforms do."""
    try:
        storage: int = tensor.untyped_storage()._cdata
    except (RuntimeError, NotImplementedError):
        return None
    return storage


def is_plain(values: Sequence[Any]) -> bool:
    """Whether tensors are nothing but memory on the CPU, and nobody wants to see what is called on them."""
    return not is_watched() and all(_is_plain(value) for value in values)


def resolved(value: Any) -> Any:
    """A value without conjugate and negative views: its tensors are what their memory says."""
    if isinstance(value, list | tuple):
        return [resolved(element) for element in value]
    return value.resolve_conj().resolve_neg() if isinstance(value, torch.Tensor) else value


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _is_plain(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        is_memory = type(value) in _PLAIN and value.is_cpu and value.layout is torch.strided
        # A batch that torch.autograd makes for gradcheck is in no transform.
        stands_for_others = value.is_neg() or value.is_conj() or torch._C._functorch.is_legacy_batchedtensor(value)
        return is_memory and not stands_for_others
    return not isinstance(value, list) or all(map(_is_plain, value))


def _tags(operator: Operator) -> tuple[torch.Tag, ...]:
    names = dict.fromkeys((*operator.tags, "pt2_compliant_tag"))
    return tuple(getattr(torch.Tag, name) for name in names if hasattr(torch.Tag, name))
