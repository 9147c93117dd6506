"""Emitter of plans: prints the recorded steps of a call as the lines of a Python function.

Most calls with exact geometries are one compiled kernel and one new tensor, or one view. Their plan is a native
function of the backend, without Python code in between.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from opdsl.runtime import Tensor, version_of
from opdsl.runtime.device import backends
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import (
    Check,
    Lines,
    Lowering,
    Step,
    SymbolicArray,
    Unknown,
    Within,
    Written,
    concrete,
)
from opdsl.runtime.memory import device_memory
from opdsl.runtime.plan_call import Plan, PlanCall, PlanOperand, as_builtin
from opdsl.runtime.snapshot import tensors_in
from opdsl.runtime.storage import base_for_view, count_in_kept, version_counter
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import NotLoweredError, Symbol, is_symbol, least
from opdsl.runtime.tensor import MetaArray

__all__ = ["Emitter"]

_WORDS = re.compile(r"\w+")
_OWNED_ARRAY = re.compile(r"(.+)\.array")


class _Line:
    """Line of a plan's source.

    text: the source text.
    name: the variable that the line assigns, if it has no other effect, so that it is dead code if that is unused; else
        empty.
    step: the step that the line runs, if it runs one.
    tensor: the tensor that holds the result of the step, if the line makes it.
    native: for a line that makes a tensor by one function of a backend, that function and its argument expressions.
    """

    __slots__ = ("name", "native", "step", "tensor", "text")

    def __init__(self, text: str, name: str = "", step: Step | None = None) -> None:
        self.text = text
        self.name = name
        self.step = step
        self.tensor: Tensor | None = None
        self.native: tuple[Callable[..., Any], list[str]] | None = None


class Emitter:
    """Emitter that prints a recorded call as the body of a plan.

    Args:
        name: the name of the operator or function that is called.
        recorder: the record.
        tensors: the tensor arguments, with their expressions.
        leaving: the line that a failed guard runs, which leaves the call to another plan or to the slow path.
    """

    def __init__(self, name: str, recorder: Lowering, tensors: Sequence[tuple[Tensor, str]], leaving: str) -> None:
        self.name = name
        self.recorder = recorder
        self.tensors = tensors
        self.leaving = leaving
        self.texts = {id(tensor): text for tensor, text in tensors}
        self.tensor_names: dict[int, str] = {}
        self.counts: dict[int, int] = {}
        self.parts: dict[str, str] = {}
        self.lines: list[_Line] = []
        self.producers: dict[str, _Line] = {}
        self.returned = ""
        self.indent = ""

    def body(self, result: Any) -> list[str]:
        """Return the lines that run all steps and return the result, without dead code."""
        for step in self.recorder.steps:
            self._step(step)
        self.returned = self._returned(result)
        self._add(f"return {self.returned}")
        self._leave_unused_out()
        self._let_go()
        self.parts = {name: text for text, name in self.recorder.parts.items()}
        return [line.text for line in self.lines]

    @property
    def writes_often(self) -> bool:
        """Return whether more than one step writes into its operands."""
        return sum(isinstance(step, Step) and not step.results for step in self.recorder.steps) > 1

    def tests(self, checks: Sequence[str]) -> list[str]:
        """Return the lines that test the guards of the plan, and leave calls that fail one.

        Args:
            checks: conditions under which the plan does not serve a call, besides the recorded guards.
        """
        lines: list[str] = []
        together = list(checks)
        for text, outcome in self.recorder.guards.items():
            parts = self.parts_of(text)
            if parts:
                lines += [*self._leaves_if(together), *parts]
                together = []
            together.append(f"not ({text})" if outcome else text)
        return lines + self._leaves_if(together)

    def parts_of(self, *texts: str) -> list[str]:
        """Return the lines that compute the subexpressions of expressions, except those that were emitted before."""
        lines: list[str] = []
        for text in texts if self.parts else ():
            for word in _WORDS.findall(text):
                part = self.parts.pop(word, None)
                if part is not None:
                    lines += [*self.parts_of(part), f"{word} = {part}"]
        return lines

    def _leaves_if(self, checks: Sequence[str]) -> list[str]:
        return [f"if ({') or ('.join(checks)}):", f"    {self.leaving}"] if checks else []

    def native(self, parameters: Sequence[str], missed: Callable[..., Any], *, converts: bool) -> Plan | None:
        """Return the whole plan as one function of a backend; None if it does more than such a function can.

        Args:
            parameters: the parameters of the plan.
            missed: serves calls with tensors of other classes, and with numbers that do not fit.
            converts: whether the kernel gets Python numbers, so that its OverflowError means that one does not fit.
        """
        if len(self.lines) != 2 or self.lines[1].text != f"return {self.returned}":
            return None
        line = self.lines[0]
        if line.native is None or not line.text.startswith(f"{self.returned} ="):
            return None
        function, arguments = line.native
        if line.step is None:
            return function if arguments == list(parameters) else None
        return self._made_natively(line, list(parameters), missed, converts=converts)

    # ----------------------------------------------------------------------------------------------------- steps

    def _add(self, *texts: str) -> None:
        self.lines += [_Line(self.indent + text) for text in texts]

    def _step(self, step: Step | Check | Lines | Within | Written) -> None:
        if isinstance(step, Within):
            if step.enter is None:
                self.indent = self.indent[4:]
            else:
                self._add(f"with {self.recorder.constant(step.enter)}():")
                self.indent += "    "
                self._add("pass")
            return
        if isinstance(step, Check):
            self._add(f"if {'not ' * step.outcome}{step.text}: {self.leaving}")
            return
        if isinstance(step, Lines):
            self._add(*step.write(self._operand, self.recorder))
            return
        if isinstance(step, Written):
            self._written(step)
            return
        operands = ", ".join([self._operand(operand) for operand in step.operands])
        call = f"{self.recorder.constant(self._function(step))}({operands})"
        line = _Line(self.indent + (f"{', '.join(step.results)} = {call}" if step.results else call))
        line.step = step
        if len(step.results) == 1:
            self.producers[step.results[0]] = line
            line.name = step.results[0] if step.results[0].startswith("view") else ""
        self.lines.append(line)

    def _function(self, step: Step) -> Callable[..., Any]:
        """Return the function that a plan calls to run a step: for exact geometries, its built-in version if there is
        one.
        """
        return as_builtin(step.function) if self.recorder.is_exact else step.function

    def _operand(self, value: Any) -> str:
        if type(value) is Symbol:
            return value.text
        if isinstance(value, Tensor):
            return self._tensor(value)
        if type(value) in (tuple, list) and any(True for _ in tensors_in(tuple(value))):
            return f"({''.join(f'{self._operand(element)}, ' for element in value)})"
        return self.recorder.source(value)

    def _written(self, step: Written) -> None:
        """Emit the update of a version counter right at the write, since autograd may save tensors before it."""
        counter = step.counter
        self.counts[id(counter)] = self.counts.get(id(counter), 0) + step.amount
        text = self._counting(counter)
        if text and step.amount:
            self._add(f"{text}._writes += {step.amount}")
            # The plan does not know whether the base of an argument requires grad.
            is_known = id(counter) in self.tensor_names or any(tensor is counter for tensor, _ in self.tensors)
            if counter.geometry.requires_grad or not is_known:
                self._add(f"{self.recorder.constant(count_in_kept)}({text})")

    def _counting(self, counter: Tensor) -> str:
        """Return the expression of the tensor that counts writes; empty if it has not been made."""
        for tensor, text in self.tensors:
            if tensor is counter:
                return text
            if version_counter(tensor) is counter:
                return f"{self.recorder.constant(version_counter)}({text})"
        return self.tensor_names.get(id(counter), "")

    def _version(self, tensor: Tensor) -> Any:
        """Return how often a tensor has been written so far, as an integer or an expression."""
        writes: Any = tensor._writes
        later = sum(step.amount for step in self.recorder.steps if isinstance(step, Written) and step.counter is tensor)
        writes -= later - self.counts.get(id(tensor), 0)
        if type(writes) is int:
            return writes
        for argument, text in self.tensors:
            first = self.recorder.size(f"{self.recorder.constant(version_of)}({text})", 0, 0)
            since = writes - first
            if type(since) is int:
                return self.recorder.source(first + since - self.counts.get(id(version_counter(argument)), 0))
        raise NotLoweredError("a version that is not counted")

    def _leave_unused_out(self) -> None:
        """Eliminate dead code: remove lines that only assign a variable that is never used."""
        used: set[str] = set()
        kept: list[_Line] = []
        for line in reversed(self.lines):
            if line.name and line.name not in used:
                continue
            used.update(_WORDS.findall(line.text))
            kept.append(line)
        self.lines = kept[::-1]

    def _let_go(self) -> None:
        """Insert ``del`` after the last use of each intermediate, so that later steps can reuse its memory."""
        held = set(self.tensor_names.values())
        held.update(name for step in self.recorder.steps if isinstance(step, Step) for name in step.results)
        kept: list[_Line] = []
        is_last = True
        for line in reversed(self.lines):
            words = held.intersection(_WORDS.findall(line.text))
            if words and not is_last:
                indent = line.text[: len(line.text) - len(line.text.lstrip())]
                kept.append(_Line(f"{indent}del {', '.join(sorted(words))}"))
            held -= words
            is_last = is_last and line.step is None and line.native is None
            kept.append(line)
        self.lines = kept[::-1]

    # --------------------------------------------------------------------------------------------------- results

    def _returned(self, result: Any) -> str:
        if isinstance(result, Tensor):
            return self._tensor(result)
        if isinstance(result, Unknown):
            return result.text
        if isinstance(result, (tuple, list)):
            parts = "".join(f"{self._returned(element)}, " for element in result)
            if type(result) is list:
                return f"[{parts}]"
            return f"({parts})" if type(result) is tuple else f"{self.recorder.constant(type(result))}({parts})"
        if result is None:
            return "None"
        raise NotLoweredError("a result that is no tensor")

    def _tensor(self, tensor: Tensor) -> str:
        known = self.texts.get(id(tensor)) or self.tensor_names.get(id(tensor))
        if known is not None:
            return known
        array = getattr(tensor, "array", None)
        is_ours = type(array) is SymbolicArray or tensor.is_meta
        if not is_ours or hasattr(tensor, "_memory") or hasattr(tensor, "autograd"):
            raise NotLoweredError("a tensor that was not made by steps")
        if type(array) is SymbolicArray and self.recorder.is_exact and type(tensor._writes) is int:
            natively = self._view(tensor, array) or self._new(tensor, array)
            if natively:
                return natively
        base = "None" if tensor._base is None else self._base(tensor._base)
        variable = self.recorder.name("tensor")
        self.tensor_names[id(tensor)] = variable
        writes = self._version(tensor)
        self._add(
            f"{variable} = {self.recorder.constant(Tensor)}()",
            *self._array(variable, array),
            f"{variable}.geometry = {self._geometry(tensor.geometry)}",
            *self._known_form(variable, tensor.geometry),
            f"{variable}._writes = {writes}",
            f"{variable}._base = {base}",
        )
        return variable

    def _array(self, name: str, array: Any) -> list[str]:
        if type(array) is SymbolicArray:
            return [f"{name}.array = {array.text}"]
        if type(array) is MetaArray:
            return [f"{name}.array = {self.recorder.constant(MetaArray)}({self.recorder.source(array.offset)})"]
        return []

    def _base(self, base: Tensor) -> str:
        """Return the expression of a view's base: an argument, its base, or a tensor that the plan makes."""
        for tensor, text in self.tensors:
            if tensor is base:
                return text
            if tensor._base is base:
                return f"{self.recorder.constant(base_for_view)}({text})"
        return self._tensor(base)

    def _geometry(self, form: TensorMeta) -> str:
        if self.recorder.is_exact:
            return self.recorder.constant(form)
        return f"{self.recorder.constant(form.table)}({self._sizes(form.shape)}, {self._sizes(form.strides)})"

    def _known_form(self, name: str, form: TensorMeta) -> list[str]:
        """Return the line that presets the form of a new geometry, if the form does not depend on sizes."""
        if self.recorder.is_exact:
            return []
        for size, stride, other in zip(form.shape, form.strides, contiguous_strides(form.shape), strict=True):
            if not _is_same(stride, other) or (is_symbol(size) and (least(size) or 0) < 2):
                return []
        example = form.table(_examples(form.shape), _examples(form.strides))
        return [f"{name}.geometry._form = {self.recorder.constant(example.form)}"]

    def _sizes(self, sizes: tuple[Any, ...]) -> str:
        return f"({''.join([f'{self.recorder.source(size)}, ' for size in sizes])})"

    # ------------------------------------------------------------------------------------- functions of a backend

    def _view(self, tensor: Tensor, array: SymbolicArray) -> str:
        """Emit a view as one call of a backend's function, and return its name; empty if that is not possible."""
        if array.viewed is None or self._version(tensor) != 0:
            return ""
        source, offset = array.viewed
        viewer = getattr(device_memory(tensor.geometry.device), "viewer", None)
        if viewer is None or tensor._base is not base_for_view(source) or not tensor.geometry.is_view:
            return ""
        text = self._tensor(source)
        with concrete():
            function = viewer(source.geometry, tensor.geometry, offset)
        variable = self.tensor_names[id(tensor)] = self.recorder.name("tensor")
        line = _Line(f"{self.indent}{variable} = {self.recorder.constant(function)}({text})")
        line.native = (function, [text])
        self.lines.append(line)
        return variable

    def _new(self, tensor: Tensor, array: SymbolicArray) -> str:
        """Emit a kernel call and its new tensor as one backend function, and return its name; empty if impossible."""
        producer = self.producers.get(array.text)
        if producer is None or producer.step is None or producer.native is not None or self._version(tensor) != 0:
            return ""
        if tensor._base is not None or tensor.geometry.is_view:
            return ""
        producer.tensor = tensor
        arguments = [source for source in dict.fromkeys(_sources(producer.step)) if source not in self._arrays]
        function = self._made_natively(producer, arguments, None, converts=False)
        if function is None:
            return ""
        variable = self.tensor_names[id(tensor)] = self.recorder.name("tensor")
        indent = producer.text[: len(producer.text) - len(producer.text.lstrip())]
        producer.text = f"{indent}{variable} = {self.recorder.constant(function)}({', '.join(arguments)})"
        producer.native = (function, arguments)
        self.lines.insert(self.lines.index(producer) + 1, _Line(f"{indent}{array.text} = {variable}.array", array.text))
        return variable

    @property
    def _arrays(self) -> list[str]:
        """Return the names of the constants that are arrays, which are the same in every call."""
        return [name for name, value in self.recorder.constants.items() if isinstance(value, numpy.ndarray)]

    def _made_natively(
        self, line: _Line, arguments: list[str], missed: Callable[..., Any] | None, *, converts: bool
    ) -> Plan | None:
        """Return a function of a backend that runs a step and makes the tensor of its result, or None.

        Args:
            line: the line that runs the step.
            arguments: the expressions of the function's arguments.
            missed: is called if an argument is not a plain tensor; None for a function that does the same in Python.
            converts: whether it is called for an OverflowError of the kernel as well.
        """
        step, tensor = line.step, line.tensor
        assert step is not None and tensor is not None, "a line that makes a tensor"
        plan = _native_plans(tensor.geometry.device.type)
        if plan is None or not set(_sources(step)) <= {*arguments, *self._arrays}:
            return None
        operands = []
        for operand in step.operands:
            text = _text(operand)
            if text in self._arrays:
                operands.append(PlanOperand(None, False, self.recorder.constants[text]))
                continue
            if text is None:
                if type(operand) is tuple and not all(type(part) is int for part in operand):
                    return None
                operands.append(PlanOperand(None, False, operand))
                continue
            owner = _OWNED_ARRAY.fullmatch(text)
            operands.append(PlanOperand(arguments.index(owner[1] if owner else text), owner is not None))
        call = PlanCall(self.name, len(arguments), tuple(operands), tensor.geometry, converts)
        with concrete():
            function = self._function(step)
            native: Plan = plan(function, call, missed or _in_python(function, call))
        return native


def _native_plans(device_type: str) -> Callable[..., Plan] | None:
    """Return the function of a backend that compiles plans to native functions; None if the backend has none."""
    if not backends.has(device_type, "compiler"):
        return None
    compiler: Any = backends.load(device_type, "compiler")
    native_plans: Callable[..., Plan] | None = compiler.plan if compiler.ABILITIES.plan else None
    return native_plans


def _in_python(function: Callable[..., Any], call: Any) -> Plan:
    """Return a Python function that does the same as a native plan, for tensors of other classes."""

    def make(*arguments: Any) -> Tensor:
        operands = [
            operand.value
            if operand.place is None
            else arguments[operand.place].array
            if operand.is_array
            else arguments[operand.place]
            for operand in call.operands
        ]
        tensor = Tensor()
        tensor.array = function(*operands)
        tensor.geometry = call.result
        tensor._writes = 0
        tensor._base = None
        return tensor

    return make


def _text(value: Any) -> str | None:
    """Return the expression of a symbolic array or number; None for a constant."""
    return value.text if type(value) in (Symbol, SymbolicArray) else None


def _sources(step: Step) -> list[str]:
    """Return the source expressions of the operands of a step that vary between calls; for the array of a tensor
    (``x.array``), the expression of the tensor (``x``).
    """
    texts = [text for text in map(_text, step.operands) if text is not None]
    owners = [_OWNED_ARRAY.fullmatch(text) for text in texts]
    return [text if owner is None else owner[1] for text, owner in zip(texts, owners, strict=True)]


def _is_same(one: Any, other: Any) -> bool:
    """Return whether two sizes are the same expression, without adding a guard."""
    if type(one) is type(other) is Symbol:
        return bool(one.terms == other.terms)
    return type(one) is type(other) is int and one == other


def _examples(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple([size.example if type(size) is Symbol else size for size in sizes])
