"""Conversion of programs to torch.fx graphs, with a call of a torch operator for each step."""

from __future__ import annotations

import ast
import operator as arithmetic
from collections.abc import Callable, Mapping
from typing import Any

import torch

from opdsl.errors import ProgramError
from opdsl.interop.torch.crossing import Crossing
from opdsl.interop.torch.definition import find
from opdsl.interop.torch.reading import ARITHMETIC, FUNCTIONS, KEPT
from opdsl.interop.torch.tensors import to_torch
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Step, unfused
from opdsl.runtime import Generator
from opdsl.scalar.parsing import parsed

__all__ = ["to_fx"]

_BINARY: Mapping[type[ast.AST], Callable[..., Any]] = {
    type(ast.parse(f"a {text} b", mode="eval").body.op): function  # type: ignore[attr-defined]
    for function, text in ARITHMETIC.items()
    if text in ("+", "-", "*", "/", "//", "%", "**", "and", "or")
}
_COMPARISONS: Mapping[type[ast.AST], Callable[..., Any]] = {
    type(ast.parse(f"a {text} b", mode="eval").body.ops[0]): function  # type: ignore[attr-defined]
    for function, text in ARITHMETIC.items()
    if text in ("==", "!=", "<", "<=", ">", ">=", "is")
}
# The first entry of each name wins: torch's functions, which accept symbols.
_CALLED: Mapping[str, Callable[..., Any]] = {
    text.strip(): function for function, text in reversed(FUNCTIONS.items()) if text
}
_UNARY: Mapping[type[ast.AST], Callable[..., Any]] = {ast.USub: arithmetic.neg, ast.Not: arithmetic.not_}


def to_fx(program: Program) -> torch.fx.GraphModule:
    """See ``Program.to_fx``."""
    return _Writer(program).module()


class _Writer:
    """Writer that converts one program to a graph.

    nodes: the graph nodes of tensors, numbers and expressions, by their text.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.nodes: dict[str, Any] = {}
        self.sizes = dict(program.sizes)
        self.parts = [part for parts in unfused(program.steps) for part in parts]
        # For each symbolic size the input, and the operator and dimension that read it.
        self.read: dict[str, tuple[str, Any, int]] = {}

    def module(self) -> torch.fx.GraphModule:
        """Build the graph module.

        Raises:
            ProgramError: torch lacks some of the operators, or the program contains something that a graph cannot.
        """
        program = self.program
        missing = sorted({part.name for part in self.parts if find(part.operator.schema) is None})
        if missing:
            raise ProgramError(
                f"torch has no {', '.join(missing)}. Register your operators first: "
                "opdsl.interop.torch.register(library)."
            )
        for input in program.inputs:
            node = self.nodes[input.name] = self.graph.placeholder(input.name)
            node.meta[KEPT] = input
            for function, sizes in (
                (torch.ops.aten.sym_size.int, input.shape),
                (torch.ops.aten.sym_stride.int, input.strides or ()),
            ):
                for dim, size in enumerate(sizes):
                    if isinstance(size, str):
                        self.read.setdefault(size, (input.name, function, dim))
        for name, constant in program.constants.items():
            self.root.register_buffer(name, Crossing().tensor(constant.detach()))
            node = self.nodes[name] = self.graph.get_attr(name)
            node.meta[KEPT] = constant
        for guard in program.guards:
            self.graph.call_function(torch._check, (self.node(guard),)).meta[KEPT] = guard
        for step in self.parts:
            self._step(step)
        self.graph.output(self.value(program.outputs))
        module = torch.fx.GraphModule(self.root, self.graph, "Program")
        module.meta[KEPT] = program.name, program.sizes, program.example
        return module

    def _step(self, step: Step) -> None:
        target = find(step.operator.schema)
        assert target is not None, "all were looked up before"
        names = {argument.python_name: argument.name for argument in step.operator.schema.arguments}
        values = tuple(self.value(operand) for operand in step.operands)
        named = {names.get(name, name): self.value(option) for name, option in step.options.items()}
        is_several = step.is_list or len(step.results) > 1
        only = step.results[0] if len(step.results) == 1 and not is_several else None
        node = self.graph.create_node("call_function", target, values, named, only.name if only is not None else None)
        node.meta[KEPT] = step.results, is_several, step.is_list
        if only is not None:
            self.nodes[only.name] = node
        for index, result in enumerate(step.results if is_several else ()):
            if result is not None:
                self.nodes[result.name] = self.graph.call_function(arithmetic.getitem, (node, index))

    def value(self, value: Any) -> Any:
        """Convert an operand of a step to an argument of a node."""
        if isinstance(value, Expression):
            return self.node(value.text)
        if isinstance(value, (tuple, list)):
            parts = [self.value(element) for element in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, dict):
            return {key: self.value(element) for key, element in value.items()}
        if isinstance(value, Generator):
            raise ProgramError("torch draws from generators of its own (got an opdsl.Generator). Leave generator= out.")
        return to_torch(value)

    def node(self, text: str) -> Any:
        """Return the node of an expression, creating it on first use."""
        if text not in self.nodes:
            if text in self.read:
                source, function, dim = self.read[text]
                node = self.graph.call_function(function, (self.nodes[source], dim))
            elif text in self.sizes:
                node = self.node(self.sizes[text])
            else:
                node = self._computed(parsed(text, "eval").body)
            if isinstance(node, torch.fx.Node):
                node.meta[KEPT] = Expression(text)
            self.nodes[text] = node
        return self.nodes[text]

    def _computed(self, tree: ast.expr) -> Any:
        """Return the node, or the number, for a subexpression."""
        call = self.graph.call_function
        if isinstance(tree, ast.Constant):
            return tree.value
        if isinstance(tree, ast.Name):
            return self.node(tree.id)
        if isinstance(tree, ast.BinOp):
            return call(_BINARY[type(tree.op)], (self._computed(tree.left), self._computed(tree.right)))
        if isinstance(tree, ast.BoolOp):
            parts = [self._computed(value) for value in tree.values]
            computed = parts[0]
            for part in parts[1:]:
                computed = call(_BINARY[type(tree.op)], (computed, part))
            return computed
        if isinstance(tree, ast.Compare) and len(tree.ops) == 1:
            operands = self._computed(tree.left), self._computed(tree.comparators[0])
            return call(_COMPARISONS[type(tree.ops[0])], operands)
        if isinstance(tree, ast.UnaryOp):
            return call(_UNARY[type(tree.op)], (self._computed(tree.operand),))
        if isinstance(tree, ast.Call) and ast.unparse(tree.func) in _CALLED:
            return call(_CALLED[ast.unparse(tree.func)], tuple(self._computed(arg) for arg in tree.args))
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute) and tree.func.attr == "storage_offset":
            return call(torch.ops.aten.sym_storage_offset.default, (self._computed(tree.func.value),))
        raise ProgramError(
            f"{ast.unparse(tree)} is computed from sizes, and torch.fx has no node for it. Pass it as an argument."
        )
