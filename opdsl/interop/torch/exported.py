"""Exported PyTorch programs as programs of opdsl: each call of an ATen operator becomes a step, weights are shared."""

from __future__ import annotations

import operator as arithmetic
import re
from collections.abc import Callable
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from opdsl.dispatch import Operator
from opdsl.errors import ProgramError, UnknownOperatorError
from opdsl.interop.torch import tensors
from opdsl.interop.torch.crossing import Crossing
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Input, Result, Step, operator_named
from opdsl.runtime import Device, Tensor

__all__ = ["from_exported"]

# Arithmetic of sizes between the calls.
_ARITHMETIC: dict[Callable[..., Any], str] = {
    arithmetic.add: "+",
    arithmetic.sub: "-",
    arithmetic.mul: "*",
    arithmetic.floordiv: "//",
    arithmetic.mod: "%",
}

# Calls that only say what has been found to hold.
_STATEMENTS = re.compile(r"_assert|sym_constrain|_guards_fn")


def from_exported(exported: torch.export.ExportedProgram) -> Program:
    """See ``opdsl.interop.torch.from_fx``."""
    return _Reader(exported).program()


class _Reader:
    """Reads one exported program.

    values: what stands for each node: an expression, a constant, or a tuple of them for an operator of several results.
    """

    def __init__(self, exported: torch.export.ExportedProgram) -> None:
        self.exported = exported
        self.values: dict[torch.fx.Node, Any] = {}
        self.constants: dict[str, Tensor] = {}
        self.inputs: list[Input] = []
        self.steps: list[Step] = []
        self.missing: set[str] = set()

    def program(self) -> Program:
        """The program.

        Raises:
            ProgramError: it calls operators that are not here, or returns what no program does.
        """
        specs = iter(self.exported.graph_signature.input_specs)
        outputs: Any = None
        for node in self.exported.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, next(specs))
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                outputs = self._outputs(node)
            elif node.op != "call_module":
                raise ProgramError(f"a node {node.op} of {node.target} is none of ATen's. Export with torch.export.")
        if self.missing:
            raise ProgramError(
                f"the exported program calls what is not here: {', '.join(sorted(self.missing))}. Decompose it: "
                "exported.run_decompositions()."
            )
        return Program("exported", tuple(self.inputs), tuple(self.steps), outputs, constants=self.constants)

    def _placeholder(self, node: torch.fx.Node, spec: Any) -> None:
        if spec.kind is not InputKind.USER_INPUT:
            held = self.exported.constants if spec.kind is InputKind.CONSTANT_TENSOR else self.exported.state_dict
            found = held.get(spec.target, self.exported.constants.get(spec.target))
            if not isinstance(found, torch.Tensor):
                raise ProgramError(
                    f"the input {node.name} ({spec.kind.name}) is no tensor. Export the model without it."
                )
            self.constants[node.name] = Crossing().returned(found)
            self.values[node] = Expression(node.name)
            return
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            dtype, device = tensors.to_opdsl(value.dtype, _refuse), Device(str(value.device))
            self.inputs.append(Input(node.name, None, dtype, device, tuple(map(_size, value.shape))))
        else:
            self.inputs.append(Input(node.name, type(value) if type(value) in (bool, float) else int))
        self.values[node] = Expression(node.name)

    def _call(self, node: torch.fx.Node) -> None:
        target: Any = node.target
        if target is arithmetic.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]  # type: ignore[index]
        elif target in _ARITHMETIC:
            first, second = (self._operand(each) for each in node.args)
            self.values[node] = Expression(f"({_text(first)} {_ARITHMETIC[target]} {_text(second)})")
        elif target is torch.ops.aten.sym_size.int:
            source, dim = node.args
            self.values[node] = Expression(f"{self._operand(source).text}.shape[{dim}]")
        elif not _STATEMENTS.search(str(target)):
            self._step(node)

    def _step(self, node: torch.fx.Node) -> None:
        called = self._operator(node.target)
        made = node.meta.get("val")
        listed = list(made) if isinstance(made, (tuple, list)) else [made]
        names = (
            [node.name] if len(listed) == 1 and made is listed[0] else [f"{node.name}_{k}" for k in range(len(listed))]
        )
        results = tuple(
            Result(
                name,
                tensors.to_opdsl(each.dtype, _refuse),
                tuple(map(_size, each.shape)),
                Device(str(each.device)),
            )
            if isinstance(each, torch.Tensor)
            else None
            for name, each in zip(names, listed, strict=True)
        )
        parts = tuple(None if each is None else Expression(each.name) for each in results)
        self.values[node] = parts if isinstance(made, (tuple, list)) else parts[0]
        if called is not None:
            operands = tuple(self._operand(each) for each in node.args)
            options = {name: self._operand(each) for name, each in node.kwargs.items()}
            self.steps.append(Step(called, operands, options, results, isinstance(made, list)))

    def _operator(self, target: Any) -> Operator | None:
        """The operator of the same name; None, and it is noted, where there is none."""
        name = str(target.name() if isinstance(target, torch._ops.OpOverload) else target)  # type: ignore[no-untyped-call]
        try:
            return operator_named(name)
        except UnknownOperatorError:
            self.missing.add(name)
            return None

    def _operand(self, value: Any) -> Any:
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if isinstance(value, (tuple, list)):
            return tuple(self._operand(each) for each in value)
        return tensors.to_opdsl(value, _refuse)

    def _outputs(self, node: torch.fx.Node) -> Any:
        specs = self.exported.graph_signature.output_specs
        kept = [
            self._operand(each)
            for each, spec in zip(node.args[0], specs, strict=True)  # type: ignore[arg-type]
            if spec.kind is OutputKind.USER_OUTPUT
        ]
        return kept[0] if len(kept) == 1 else tuple(kept)


def _size(value: Any) -> int | str:
    return value if type(value) is int else str(value)


def _text(value: Any) -> str:
    return value.text if isinstance(value, Expression) else repr(value)


def _refuse(value: torch.Tensor) -> Tensor:
    raise ProgramError(f"a tensor stands among the arguments of a call: {tuple(value.shape)}. Make it a buffer.")
