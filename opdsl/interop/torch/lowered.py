"""Lowering of calls from torch, once per shape class: reads torch tensors and creates torch tensors in plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
import torch

from opdsl.dispatch import KeySet, Operator, State, current
from opdsl.dispatch.binding.arguments import Kind, kind_of
from opdsl.dispatch.plans.emission import Emitter
from opdsl.dispatch.plans.form_table import FormTable
from opdsl.dispatch.plans.forms import GUARD_FAILED, FormPlans
from opdsl.dispatch.plans.lowered import Given, Inputs, lower_form
from opdsl.dispatch.plans.plan_holders import Dependencies, PlanHolder
from opdsl.interop.torch import native
from opdsl.interop.torch.tensors import TORCH_DTYPES, geometry_of, shared, to_opdsl
from opdsl.runtime import DType, Tensor
from opdsl.runtime.geometry import TensorMeta
from opdsl.runtime.lowering import SymbolicArray, Written, concrete
from opdsl.runtime.overlap import MOST_WORK
from opdsl.runtime.plan_call import Plan
from opdsl.runtime.scopes import Setting
from opdsl.runtime.storage import storage_root
from opdsl.runtime.strides import contiguous_strides
from opdsl.runtime.symbol import NotLoweredError, is_symbol, least

__all__ = ["Forms", "Reader", "kernel_of"]

_CPU = KeySet("CPU")
_NUMBERS = (bool, int, float, complex)
# Types whose equal values are interchangeable, so that plans are keyed by the value.
_VALUES = (bool, int, str, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format)


class Reader(Inputs):
    """Reader of a torch call's arguments for lowering; the plan passes the torch tensors on unchanged."""

    def _taken(self, value: Any, text: str, argument: Given) -> Any:
        if isinstance(value, torch.Tensor):
            return self._stand_in(value, text)
        return super()._taken(tuple(value) if isinstance(value, list) else to_opdsl(value, shared), text, argument)

    def _stand_in(self, source: torch.Tensor, text: str) -> Tensor:
        is_exact = self.recorder.is_exact
        known = None if is_exact else self.seen.get(id(source))  # plans of exact geometries check overlap themselves
        if known is not None:
            self.checks.append(f"{text} is not {next(name for tensor, name in self.tensors if tensor is known)}")
            return known
        with concrete():
            form = geometry_of(source)
        stand_in = self.seen[id(source)] = Tensor()
        stand_in.geometry = form if is_exact else self.symbolic(form, f"{text}.shape", f"{text}.stride()")
        array = self._array(text)
        stand_in.array = SymbolicArray(array, form.dtype.numpy)
        stand_in._writes = self.recorder.size(f"{array}_writes", 0, 0)  # type: ignore[assignment]
        stand_in._base = None
        self.recorder.arguments[stand_in] = array
        self.tensors.append((stand_in, text))
        self.forms.append(stand_in.geometry)
        return stand_in

    def _array(self, text: str) -> str:
        """Return the expression that holds the elements of an argument."""
        return text


class MemoryReader(Reader):
    """Reader of a torch call's arguments that also emits lines which create arrays over their memory."""

    def _array(self, text: str) -> str:
        array = self.recorder.name("memory")
        self.recorder.shared = f"{self.recorder.constant(numpy.may_share_memory)}({{}}, {{}}, {MOST_WORK})"
        self.lines.append(f"{array} = {self.recorder.constant(native.array_function())}({text})")
        self.checks.append(f"{array} is None")
        return array


class MemoryPrinter(Emitter):
    """Emitter of plans whose tensors are torch tensors. Version counters are updated by the caller."""

    def _operand(self, value: Any) -> str:
        if isinstance(value, Tensor):
            raise NotLoweredError("a step that takes a tensor of ours")
        return super()._operand(value)

    def _written(self, step: Written) -> None:
        """See ``Emitter``."""

    def _tensor(self, tensor: Tensor) -> str:
        known = self.tensor_names.get(id(tensor))
        if known is not None:
            return known
        array: Any = getattr(tensor, "array", None)
        if type(array) is not SymbolicArray or hasattr(tensor, "_memory"):
            raise NotLoweredError("a tensor that was not made by steps")
        if storage_root(tensor) in self.recorder.arguments:
            raise NotLoweredError("a result that shares an argument's memory")
        variable = self.tensor_names[id(tensor)] = self.recorder.name("tensor")
        self._add(
            f"{variable} = {self.recorder.constant(torch.from_numpy)}({array.text}){self._lying(tensor.geometry)}"
        )
        return variable

    def _lying(self, form: TensorMeta) -> str:
        """Return the method calls that convert a tensor over NumPy's array to its dtype, shape and strides."""
        text = "" if _is_stored_alike(form.dtype) else f".view({self.recorder.constant(TORCH_DTYPES[form.dtype])})"
        is_wide = all((least(size) or 0) >= 2 for size in form.shape)
        if is_wide and _texts(form.strides) == _texts(contiguous_strides(form.shape)):
            return text
        return f"{text}.as_strided({self._sizes(form.shape)}, {self._sizes(form.strides)})"


class Forms:
    """Table of plans of a function of opdsl values, keyed by the shape classes of torch arguments.

    Args:
        name: of the function.
        function: the function to lower.
        kinds: of its arguments.
        owner: owner of the plans, which drops them when a kernel changes.
    """

    reader: type[Reader] = MemoryReader
    printer: type[Emitter] = MemoryPrinter

    def __init__(self, name: str, function: Plan, kinds: Sequence[Kind], owner: PlanHolder) -> None:
        self.function = function
        self.owner = owner
        self.kinds = kinds
        self.names = [f"argument{index}" for index in range(len(kinds))]
        self.table = FormTable(f"torch {name}", owner)
        self.form_of = native.form_function()
        self.array_of = native.array_function()

    def call(self, *arguments: Any) -> Any:
        """Call the function that is lowered."""
        return self.function(*arguments)

    def given(self, values: Sequence[Any]) -> list[Given]:
        """Return all arguments of a call in the form that the lowering takes."""
        return [
            Given(name, None, value, {kind}) for name, value, kind in zip(self.names, values, self.kinds, strict=True)
        ]

    def run(self, state: State, values: Sequence[Any]) -> Any:
        """Run a call by the plan for its shape class; return ``GUARD_FAILED`` if no plan matches.

        Args:
            state: of the call.
            values: all arguments, as torch values.
        """
        plans = self.table.plans.get(state)
        plan = None if plans is None else plans.get(self.key(values))
        try:
            return GUARD_FAILED if plan is None else plan(*values)
        except OverflowError:  # sizes or numbers out of range: the kernel itself raises the error
            return GUARD_FAILED

    def find(self, state: State, values: Sequence[Any]) -> FormPlans | None:
        """Return the entry for the shape class of a call that no plan has run; None if the call cannot be lowered."""
        key = self.key(values)
        if key is None or not state.plans or state.recording or state.modes:
            return None
        return self.table.find(state, key)

    def lower(self, state: State, form: FormPlans, values: Sequence[Any]) -> bool:
        """Lower a call, and return whether a plan for calls like this one exists now."""
        call = self.given(values)

        def run(positional: tuple[Any, ...], named: dict[str, Any]) -> Any:
            return self.call(*positional)

        def make() -> tuple[Plan, Dependencies]:
            return lower_form(self.table.name, run, form, self.names, call, reader=self.reader, printer=self.printer)

        with Setting(current, state):
            return self.table.lower(state, form, make, None, self.owner.generation)

    def key(self, values: Sequence[Any]) -> object:
        """Return the key of the shape class of a call; None if the call cannot have a plan."""
        form_of = self.form_of
        parts: list[object] = []
        for value, kind in zip(values, self.kinds, strict=True):
            part = form_of(value) or self._part(value, kind)
            if part is None:
                return None
            parts.append(part)
        return tuple(parts)

    def _part(self, value: Any, kind: Kind) -> object:
        """Return the key of an argument other than a contiguous tensor with sizes of at least two; None if it has
        none.
        """
        if isinstance(value, torch.Tensor):
            return None if self.array_of(value) is None else geometry_of(value).form
        if kind is Kind.NUMBER and type(value) in _NUMBERS:
            return type(value)
        if isinstance(value, list):
            parts = [self.form_of(element) or self._part(element, Kind.VALUE) for element in value]
            return None if None in parts else (list, *parts)
        return (type(value), value) if isinstance(value, _VALUES) else None


def kernel_of(operator: Operator) -> tuple[str, Plan, list[Kind]]:
    """Return the name, CPU kernel and argument kinds of an operator for ``Forms``; for a mutable one the kernel returns
    None.
    """

    def run(*arguments: Any) -> Any:
        result = operator.find_in(_CPU)(*arguments)
        return None if operator.schema.is_mutable else result

    return operator.name, run, [kind_of(argument) for argument in operator.schema.arguments]


def _is_stored_alike(dtype: DType) -> bool:
    """Return whether torch converts a NumPy array of a dtype to a tensor of the corresponding torch dtype."""
    return torch.from_numpy(numpy.empty(1, dtype.numpy)).dtype is TORCH_DTYPES[dtype]


def _texts(sizes: Sequence[Any]) -> list[str]:
    return [size.text if is_symbol(size) else repr(size) for size in sizes]
