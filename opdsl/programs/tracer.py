"""Tracer: runs a function on tensors without elements, and records the operators that it calls as steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from opdsl.autograd.graph import Leaf, has_hooks, leaf_of
from opdsl.dispatch import Operator, current, no_grad
from opdsl.dispatch.binding.arguments import Kind
from opdsl.dispatch.binding.boxed import unbox
from opdsl.dispatch.binding.function_override import is_override
from opdsl.dispatch.keys import COMPOSITE_KEY, DispatchKey
from opdsl.dispatch.layers.modes import DispatchMode
from opdsl.dispatch.plans.lowered import Given, Inputs, recording
from opdsl.dispatch.state import State
from opdsl.errors import KernelError, OpdslError, TraceError
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.reduction import ReductionDefinition
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.kernels.definitions.structured import Definition, StructuredKernel
from opdsl.programs.asking import is_asked_by_operators, takes_views
from opdsl.programs.branches import Noted, masked_branch
from opdsl.programs.leaves import RESERVED, Leaves, unflatten
from opdsl.programs.passes import without_unused_sizes
from opdsl.programs.program import Program
from opdsl.programs.sizes import FUNCTIONS
from opdsl.programs.steps import WORDS, Call, Expression, Input, Result, Step, operator_named, sizes_of
from opdsl.runtime import Device, DType, Tensor
from opdsl.runtime.geometry import TensorMeta, geometry
from opdsl.runtime.lowering import Lowering, SymbolicArray
from opdsl.runtime.scopes import Setting
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.symbol import NotLoweredError, Symbol, is_symbol

if TYPE_CHECKING:
    from opdsl.programs.reverse import Followed

# Operators that are equal to another operator with rearranged arguments.
_ALIKE: Mapping[str, tuple[str, Callable[..., tuple[Any, ...]]]] = {
    "aten::masked_fill.Scalar": ("aten::where.self", lambda x, mask, value: (mask, value, x)),
    "aten::sum": ("aten::sum.dim_IntList", lambda x, dtype: (x, None, False, dtype)),
    "aten::mean": ("aten::mean.dim", lambda x, dtype: (x, None, False, dtype)),
    "aten::count_nonzero": (
        "aten::count_nonzero.dim_IntList",
        lambda x, dim: (x, () if dim is None else (dim,)),
    ),
}
# Lower bound of symbolic sizes: 0 and 1 are other forms.
_LEAST = 2
# Types of constants that a function may return.
_CONSTANTS = (bool, int, float, complex, str, bytes, NoneType, type, Enum, DType, Device, Expression)

__all__ = ["Tracer", "tracing"]


@contextmanager
def tracing(function: Callable[..., Any], leaves: Leaves) -> Iterator[Tracer]:
    """Provide a tracer for a function with flattened arguments, as a context manager.

    Raises:
        TraceError: the function cannot be traced.
    """
    recorder = Lowering(leaves.names)
    recorder.compiles = False
    with recording(recorder):
        tracer: Tracer | None = None
        try:
            tracer = Tracer(recorder, leaves)
            yield tracer
        except NotLoweredError as error:
            raise TraceError(
                f"{getattr(function, '__qualname__', function)} cannot be traced: {error}. Use operators only: "
                "where(condition, a, b) instead of `if`, or leave that part outside."
            ) from error
        finally:
            if tracer is not None:
                tracer.restore()


def _kind(value: Any) -> Kind:
    return Kind.TENSOR if isinstance(value, Tensor) else Kind.NUMBER


class _Mark(NamedTuple):
    """Snapshot of a tracer's records, to which it can return.

    steps, guards: steps and guards of the program.
    inner: number of steps that kernels have recorded.
    """

    steps: int
    guards: dict[str, bool]
    inner: int


class Tracer(DispatchMode):
    """Dispatch mode that records operator calls; of composites it records the calls in their bodies.

    leaf_values: values that represent the leaves of the arguments in the trace.
    required: identities of the traced tensors whose gradients are needed.
    calls: the recorded calls of ``steps``, with their traced tensors.
    """

    is_lowered = True

    def __init__(self, recorder: Lowering, leaves: Leaves) -> None:
        self.recorder = recorder
        self.inputs = Inputs(recorder)
        call = [
            Given(name, None, value, {_kind(value)}) for name, value in zip(leaves.names, leaves.values, strict=True)
        ]
        stand_ins, _ = self.inputs.taken_in(call)
        pairs = zip(leaves.names, leaves.values, stand_ins, strict=True)
        self.leaf_values = tuple(
            [self._integer(name, one) if type(one) is int else stand_in for name, one, stand_in in pairs]
        )
        self.specs = tuple(map(_input, leaves.names, leaves.values, self.leaf_values))
        self.required = {id(output) for output, _ in self.inputs.tensors if output.geometry.requires_grad}
        for output, _ in self.inputs.tensors:
            output.geometry = output.geometry.replace(requires_grad=False)
        self.example = {symbol.text: value for value, symbol in self.inputs.symbols.items()} | _example(leaves)
        self.before = current.get()
        self.steps: list[Step] = []
        self.calls: list[Noted] = []
        self.names: dict[int, str] = {id(output): text for output, text in self.inputs.tensors}
        self.kept: list[Any] = [output for output, _ in self.inputs.tensors]
        self.constants: dict[str, Tensor] = {}
        self.stand_ins: dict[int, Tensor] = {}
        self.originals: dict[int, Tensor] = {}
        # Leaves whose gradients the function sets, by name, with the gradient that each had before; and the names of
        # those that the function itself set before a backward pass.
        self.gradients: dict[str, tuple[Leaf, Tensor | None]] = {}
        self.cleared: set[str] = set()
        self.taken: dict[str, int] = dict.fromkeys((*RESERVED, *leaves.names), 0)
        self.is_viewing = False
        recorder.note_bound = self._note_bound

    def _note_bound(self, symbol: Symbol) -> None:
        """Require of a program for sizes above 1 that they are, if the function compares them with 0 or 1.

        The bound of a symbol decides such comparisons, and those of opdsl's own code hold for all sizes.
        """
        if self.is_viewing or is_asked_by_operators():
            for name in sorted({name for term in symbol.terms or () for name in term}):
                if self.recorder.bounds.get(name) == _LEAST:
                    self.recorder.ask(f"{name} > {_LEAST - 1}", True)

    def _integer(self, name: str, value: int) -> Any:
        """Return a symbolic size for an integer among the leaves."""
        return self.recorder.size(name, value, _LEAST)

    def run(self, function: Callable[..., Any], leaves: Leaves) -> Any:
        """Return the results of the function on traced tensors.

        Raises:
            NotLoweredError: it does something other than call operators.
        """
        positional, named = unflatten(leaves, self.leaf_values)
        return self.within(lambda: function(*positional, **named))

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Record a call, and return traced tensors for its results."""
        if not _is_but_for_grad_mode(self.before):
            raise NotLoweredError("a guard or a mode is entered, which a program cannot record")
        if self._asks_of_shapes(args):
            return operator(*args, **kwargs)
        args, kwargs = self.standing_in(args), self.standing_in(kwargs)
        return self.noted(operator, args, kwargs, operator)

    def backward(self, tensors: Sequence[Any], gradients: Sequence[Any] | None) -> bool:
        """Record the computation of the gradients of leaf tensors, and set these to traced tensors."""
        pulled_back = self._pulled_back(tensors, gradients, self.required, self._followed()[1])
        if pulled_back is None:
            return False  # autograd reports the error
        with no_grad():
            for at in self.required & pulled_back.keys():
                leaf = self._leaf(at)
                leaf.grad = pulled_back[at] if leaf.grad is None else self._added(leaf.grad, pulled_back[at])
        return True

    def gradients_of(
        self, outputs: Sequence[Any], inputs: Sequence[Any], gradients: Sequence[Any] | None
    ) -> Sequence[Any] | None:
        """Record the computation of gradients of outputs by inputs and return them; None if autograd should report an
        error.
        """
        wanted = [id(self.standing_in(input)) for input in inputs]
        reached = self._followed()[1]
        if not reached.issuperset(wanted):
            return None
        pulled_back = self._pulled_back(outputs, gradients, set(wanted), reached)
        return None if pulled_back is None else [pulled_back.get(at) for at in wanted]

    def _pulled_back(
        self, tensors: Sequence[Any], gradients: Sequence[Any] | None, required: set[int], known: set[int]
    ) -> dict[int, Tensor] | None:
        """Record the backward pass and return gradients by the identities of traced tensors; None for an invalid
        request.

        Args:
            tensors, gradients: tensors at which the backward pass begins, and their gradients.
            required: identities of the tensors whose gradients are requested.
            known: identities of all tensors that have gradients.
        """
        from opdsl.programs.reverse import pulled_back

        calls, reached = self._followed(required)
        seed_gradients = [None] * len(tensors) if gradients is None else gradients
        with no_grad():
            pairs = []
            for root, gradient in zip(tensors, seed_gradients, strict=True):
                fits = root.numel() == 1 if gradient is None else root.shape == gradient.shape
                if id(root) not in known or not fits:
                    return None
                seed = root.new_ones(root.shape) if gradient is None else self.standing_in(gradient)
                pairs += [(root, seed)] if id(root) in reached else []
            return pulled_back(calls, pairs)

    def _followed(self, required: set[int] | None = None) -> tuple[list[Followed], set[int]]:
        """Return the recorded calls through which gradients flow, see ``followed``."""
        from opdsl.programs.reverse import followed  # imports autograd, which kernels of formulas do not need

        return followed(self.calls, self.required if required is None else required)

    def _leaf(self, at: int) -> Leaf:
        """Return the leaf tensor that a traced tensor represents, saving its gradient to restore it later."""
        stand_in = next(tensor for tensor in self.kept if id(tensor) == at)
        leaf: Leaf = leaf_of(self.originals.get(at, stand_in))
        if has_hooks(leaf):
            raise NotLoweredError("a leaf that gets a gradient has hooks, which a program does not call")
        self.gradients.setdefault(self.names[at], (leaf, leaf.grad))
        return leaf

    def _added(self, gradient: Tensor, more: Tensor) -> Tensor:
        if id(gradient) not in self.names:
            raise NotLoweredError("a gradient is added to that of an earlier call. Set it to None before")
        return gradient + more

    def before_gradient_is_used(self, tensor: Any, *, is_set: bool) -> None:
        """Save the gradient of a leaf tensor before the function sets it.

        Raises:
            NotLoweredError: the function reads a gradient that its own backward pass has not computed.
        """
        at = id(self.standing_in(tensor))
        if at not in self.required:
            return
        before = leaf_of(tensor).grad
        if not is_set and before is not None and id(before) not in self.names:
            raise NotLoweredError("a gradient of an earlier backward pass is read. Pass it as an argument")
        if is_set and self.names[at] not in self.gradients:
            self.cleared.add(self.names[at])
            self._leaf(at)

    def restore(self) -> None:
        """Restore the gradients that leaf tensors had before the trace."""
        for leaf, gradient in self.gradients.values():
            leaf.grad = gradient

    def noted(
        self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]
    ) -> object:
        """Record a call as a step.

        Args:
            operator: the called function.
            args, kwargs: its arguments.
            function: computes traced tensors for the results.
        """
        # Guards that kernels add on sizes are no guards of the function, unless they decide what its code sees.
        guards, count = dict(self.recorder.guards), len(self.recorder.steps)
        is_viewing = self.is_viewing = takes_views(operator.operator)
        branch = masked_branch.get()
        if branch is not None:
            branch.takes(operator.operator, [args, list(kwargs.values())])
        try:
            result = function(*args, **kwargs)
        finally:
            self.is_viewing = False
        if branch is not None:
            branch.gives(operator.operator, args, result)
        if len(self.recorder.steps) > count and _has_numbers(result):
            raise NotLoweredError(f"{operator.operator.name} returns a number that depends on elements")
        call = self._call_of(operator.operator, unbox(operator.operator, args, kwargs), result)
        asked = self.recorder.guards
        self.recorder.guards = self._asked_by_calls(guards, asked)
        if is_viewing:
            self.recorder.guards |= asked
        del self.recorder.steps[count:]
        self._note(operator.operator, args, kwargs, result, call)
        return result

    def _asked_by_calls(self, before: dict[str, bool], after: dict[str, bool]) -> dict[str, bool]:
        """Return the guards to keep after a call: by default those from before it."""
        return before

    def _asks_of_shapes(self, args: tuple[Any, ...]) -> bool:
        """Return whether a call only computes shapes: all its tensors are untraced meta tensors, as in derivatives of
        views.
        """
        tensors = list(tensors_in(args))
        is_about_meta = any(spec.device is not None and spec.device.type == "meta" for spec in self.specs)
        return (
            bool(tensors)
            and not is_about_meta
            and all(tensor.is_meta and id(tensor) not in self.names for tensor in tensors)
        )

    def mark(self) -> _Mark:
        """Return a snapshot of the records so far; see ``go_back``."""
        return _Mark(len(self.steps), dict(self.recorder.guards), len(self.recorder.steps))

    def go_back(self, mark: _Mark) -> None:
        """Discard everything recorded since a snapshot."""
        del self.steps[mark.steps :]
        del self.calls[mark.steps :]
        del self.recorder.steps[mark.inner :]
        self.recorder.guards = mark.guards

    def _call_of(self, operator: Operator, arguments: tuple[Any, ...], result: Any) -> Call | None:
        """Return the prepared call of an operator whose kernel consists of scalar functions, for fusion; None for
        others.
        """
        is_alike = operator.name in _ALIKE
        if is_alike:
            alike, arranged = _ALIKE[operator.name]
            operator, arguments = operator_named(alike), arranged(*arguments)
        definition = None if operator.schema.is_mutable else self.definition_of(operator)
        if not isinstance(definition, (PointwiseDefinition, ReductionDefinition, RowDefinition)):
            return None
        operands = tuple(map(self.operand, arguments))
        try:
            prepared = definition.prepare(arguments, ())
            state = definition.part_of_kernels(prepared.state)
        except (OpdslError, NotLoweredError):
            return None
        if is_alike and sizes_of(prepared.specs[0].strides) != sizes_of(result.geometry.strides):
            return None  # the same elements in another memory layout
        return None if state is None else Call(definition, arguments, operands, state)

    def definition_of(self, operator: Operator) -> Definition | None:
        """Return the definition of the kernel that calls of an operator reach on the CPU, or None if it has none."""
        kernel = operator.entry(DispatchKey("CPU")).kernel
        return kernel.definition if isinstance(kernel, StructuredKernel) else None

    def _note(self, operator: Operator, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any, call: Any) -> None:
        is_list = isinstance(result, list)
        listed = list(result) if isinstance(result, (tuple, list)) else [result]
        operands = self.operand(args)
        options = {name: self.operand(value) for name, value in kwargs.items()}
        results = tuple([self._result(output, operator) for output in listed])
        self.steps.append(Step(operator, operands, options, results, is_list, call=call))
        branch = masked_branch.get()
        self.calls.append(
            Noted(
                operator,
                unbox(operator, args, kwargs),
                tuple(listed),
                is_list,
                current.get().grad_mode,
                () if branch is None else branch.conditions(),
            )
        )

    def _result(self, value: Any, operator: Operator) -> Result | None:
        """Return a new named result for a tensor; None for a value that is no tensor or has a name, such as a written
        argument.
        """
        if not isinstance(value, Tensor) or id(value) in self.names:
            return None
        stem = operator.name.partition("::")[2].partition(".")[0].strip("_") or "value"
        name = self._free(stem)
        self.names[id(value)] = name
        self.kept.append(value)
        shape = tuple(size if isinstance(size, int) else self._text(size) for size in sizes_of(value.shape))
        return Result(name, value.dtype, shape, value.device)

    def _text(self, text: str) -> str:
        """Return an expression of sizes with the functions in it called by their public names.

        Raises:
            NotLoweredError: it calls a function that programs do not support.
        """
        words = set(WORDS.findall(text))
        for name, value in self.recorder.constants.items():
            if name in words:
                known = next((shown for shown, function in FUNCTIONS.items() if function is value), None)
                if known is None:
                    raise NotLoweredError(f"{value!r} is called with sizes")
                text = re.sub(rf"\b{name}\b", known, text)
        return text

    def _free(self, stem: str) -> str:
        """Return an unused name that begins with ``stem``."""
        count = self.taken.get(stem)
        if count is None:
            self.taken[stem] = 0
            return stem
        self.taken[stem] = count + 1
        return self._free(f"{stem}_{count + 1}")

    def standing_in(self, value: Any) -> Any:
        """Return an argument with tensors from outside the trace replaced by traced constants."""
        if isinstance(value, Tensor):
            return value if id(value) in self.names else self._constant(value)
        if isinstance(value, (tuple, list)):
            return type(value)([self.standing_in(member) for member in value])
        if isinstance(value, dict):
            return {name: self.standing_in(member) for name, member in value.items()}
        return value

    def _constant(self, tensor: Tensor) -> Tensor:
        known = self.stand_ins.get(id(tensor))
        if known is not None:
            return known
        if type(getattr(tensor, "array", None)) is SymbolicArray:
            raise NotLoweredError("a tensor that no operator returned")
        name = self._free("constant")
        self.constants[name] = tensor
        constant = Tensor()
        constant.geometry = tensor.geometry.replace(requires_grad=False)
        constant.array = SymbolicArray(f"{name}.array", tensor.geometry.dtype.numpy)
        constant._writes, constant._base = 0, None
        self.stand_ins[id(tensor)] = constant
        self.originals[id(constant)] = tensor
        if tensor.geometry.requires_grad:
            self.required.add(id(constant))
        self.names[id(constant)] = name
        self.kept.append(constant)
        return constant

    def operand(self, value: Any) -> Any:
        """Return an argument as an operand of the program, with names for tensors."""
        if isinstance(value, Tensor):
            name = self.names.get(id(value))
            if name is None:
                name = self.names[id(self._constant(value))]
            return Expression(name)
        if is_symbol(value):
            if self.recorder.is_late(value.text):
                raise NotLoweredError("a data-dependent size is used")
            return Expression(self._text(value.text))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.operand, value))
        if isinstance(value, (tuple, list)):
            return type(value)([self.operand(member) for member in value])
        if isinstance(value, dict):
            return {name: self.operand(member) for name, member in value.items()}
        if is_override(value):
            raise NotLoweredError("a value over dims is returned. Order its dims: value.order(..., i)")
        return value

    def within(self, compute: Callable[[], Any]) -> Any:
        """Run a function and record its calls.

        Raises:
            NotLoweredError: it does something other than call operators.
        """
        self.before = current.get()
        with self, _Calls(self):
            within = compute()
        if self.recorder.steps:
            raise NotLoweredError("it writes or computes without an operator")
        return within

    def stand_in(self, stem: str, form: TensorMeta) -> Tensor:
        """Return a new contiguous traced tensor, for an additional argument of the program."""
        name = self._free(stem)
        stand_in = Tensor()
        stand_in.geometry = geometry(form.dtype, form.device, form.shape)
        stand_in.array = SymbolicArray(f"{name}.array", form.dtype.numpy)
        stand_in._writes, stand_in._base = 0, None
        self.names[id(stand_in)] = name
        self.kept.append(stand_in)
        return stand_in

    def program(self, name: str, inputs: tuple[Input, ...], outputs: Any, *, keeps_sizes: bool = False) -> Program:
        """Return the recorded program.

        Args:
            name, inputs: of the program.
            outputs: results of the function.
            keeps_sizes: whether to keep sizes that nothing reads.
        """
        _require_plain(outputs)
        outputs = self.operand(outputs)
        # Arguments that are the same tensor must be the same in calls of the program.
        guards = [check.replace(" is not ", " is ") for check in self.inputs.checks if " is not " in check]
        asked = [(self._text(text), outcome) for text, outcome in self.recorder.guards.items()]
        guards += [text if outcome else f"not ({text})" for text, outcome in asked]
        sizes = tuple((name, self._text(text)) for text, name in self.recorder.parts.items())
        program = Program(name, inputs, tuple(self.steps), outputs, tuple(guards), sizes, self.constants, self.example)
        return program if keeps_sizes else without_unused_sizes(program)


def _require_plain(value: Any) -> None:
    """Raise an error if a function returned an object that may hide tensors from the tracer.

    Raises:
        NotLoweredError: it contains an object other than tensors, constants, tuples, lists and dicts.
    """
    if type(value) in (tuple, list) or (isinstance(value, tuple) and hasattr(value, "_fields")):
        for part in value:
            _require_plain(part)
    elif type(value) is dict:
        _require_plain([*value, *value.values()])
    elif not (isinstance(value, (Tensor, *_CONSTANTS)) or is_symbol(value) or is_override(value)):
        raise NotLoweredError(f"it returns a {type(value).__name__}, which may hold tensors")


def _is_but_for_grad_mode(before: State) -> bool:
    """Return whether the dispatch state is unchanged except for the grad mode, which is recorded with each call."""
    return current.get().change(grad_mode=before.grad_mode) is before


class _Calls(DispatchMode):
    """Dispatch mode that sees the function's own calls, so that a composite that cannot be decomposed becomes one
    step.
    """

    is_lowered = True
    before_decomposition = True

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.before = current.get()

    def backward(self, tensors: Sequence[Any], gradients: Sequence[Any] | None) -> bool:
        """See ``Tracer``."""
        return self.tracer.backward(tensors, gradients)

    def gradients_of(
        self, outputs: Sequence[Any], inputs: Sequence[Any], gradients: Sequence[Any] | None
    ) -> Sequence[Any] | None:
        """See ``DispatchMode``."""
        return self.tracer.gradients_of(outputs, inputs, gradients)

    def before_gradient_is_used(self, tensor: Any, *, is_set: bool) -> None:
        """See ``Tracer``."""
        self.tracer.before_gradient_is_used(tensor, is_set=is_set)

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        """Trace the body of a composite, or record the composite as one step if its body cannot be traced."""
        tracer = self.tracer
        if not _is_but_for_grad_mode(self.before):
            raise TraceError(
                f"{operator.operator.name} is called within a guard or a mode that the traced function enters, which "
                "its program cannot record. Enter it around the program."
            )
        args, kwargs = tracer.standing_in(args), tracer.standing_in(kwargs)
        if _is_its_text(operator.operator):  # errors should be those of its calls
            with _Calls(tracer):
                return operator.operator.formula(*unbox(operator.operator, args, kwargs))
        kept = tracer.mark()
        try:
            result = operator(*args, **kwargs)
        except Exception as error:  # it looks at elements, or makes tensors without operators
            tracer.go_back(kept)
            return self._as_one(operator, args, kwargs, error)
        if len(tracer.recorder.steps) == kept.inner:
            return result
        tracer.go_back(kept)  # it has written a tensor without an operator
        return self._as_one(operator, args, kwargs, NotLoweredError(f"{operator.operator.name} writes by itself"))

    def _as_one(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> object:
        """Record a composite as one step; ``error`` is the reason why it is not decomposed."""
        tracer = self.tracer
        kept = tracer.mark()
        for function in (operator, partial(_on_meta, operator)):
            try:
                with Setting(current, tracer.before):
                    return tracer.noted(operator, args, kwargs, function)
            except Exception:  # a user's kernel may fail in any way on tensors without elements
                tracer.go_back(kept)
        if isinstance(error, (OpdslError, NotLoweredError)) and not isinstance(error, KernelError):
            raise error
        raise NotLoweredError(f"{operator.operator.name} does more than call operators ({error})") from error


def _is_its_text(operator: Operator) -> bool:
    """Return whether an operator is a formula whose calls are traced; a formula with a declared derivative is traced as
    one step.
    """
    has_own = operator.derivative is not None and set(operator.registrations) != {COMPOSITE_KEY}
    return operator.formula is not None and not has_own


def _on_meta(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Return traced tensors for the results of a call, with geometries computed by the operator on the device ``meta``.

    Raises:
        NotLoweredError: it has no Meta kernel, or its results share memory with its arguments.
    """
    schema = operator.operator.schema
    if schema.is_view or schema.is_mutable or operator.operator.may_alias:
        raise NotLoweredError(f"{operator.operator.name} reads elements, or has no Meta kernel")
    devices: list[Any] = []

    def to_meta(value: Any) -> Any:
        if isinstance(value, Tensor):
            devices.append(value.device)
            meta = Tensor()
            meta.geometry = value.geometry.replace(device=Device("meta"))
            meta._writes, meta._base = 0, None
            return meta
        if isinstance(value, (tuple, list)):
            return type(value)([to_meta(member) for member in value])
        return value

    def from_meta(value: Any) -> Any:
        if isinstance(value, Tensor):
            tensor = Tensor()
            tensor.geometry = value.geometry.replace(device=devices[0])
            tensor.array = SymbolicArray("opaque", value.dtype.numpy)
            tensor._writes, tensor._base = 0, None
            return tensor
        return type(value)([from_meta(member) for member in value]) if isinstance(value, (tuple, list)) else value

    meta, named = to_meta(args), {name: to_meta(value) for name, value in kwargs.items()}
    if not devices:
        raise NotLoweredError(f"{operator.operator.name} has no tensor argument that determines its device")
    try:
        return from_meta(operator(*meta, **named))
    except Exception as error:  # a user's kernel may fail in any way on tensors without elements
        raise NotLoweredError(f"{operator.operator.name} reads elements, or has no Meta kernel: {error}") from error


def _has_numbers(result: Any) -> bool:
    """Return whether an operator returned a number, or any other value that is no tensor."""
    listed = result if isinstance(result, (tuple, list)) else (result,)
    return any(output is not None and not isinstance(output, Tensor) for output in listed)


def _example(leaves: Leaves) -> dict[str, Any]:
    """Return the numbers of a call by name, and the strides of tensors that are not contiguous."""
    pairs = list(zip(leaves.names, leaves.values, strict=True))
    strides = {
        name: tuple(value.stride()) for name, value in pairs if isinstance(value, Tensor) and not value.is_contiguous()
    }
    return strides | {name: value for name, value in pairs if not isinstance(value, Tensor)}


def _input(name: str, value: Any, stand_in: Any) -> Input:
    """Return an argument as an input of the program.

    Args:
        name: of the parameter.
        value: argument of the traced call.
        stand_in: traced value that represents it.
    """
    if not isinstance(value, Tensor):
        return Input(name, type(value))
    shape, strides = sizes_of(stand_in.geometry.shape), sizes_of(stand_in.geometry.strides)
    has_order = value.geometry.form.order is not None
    return Input(name, None, value.dtype, value.device, shape, None if has_order else strides)
