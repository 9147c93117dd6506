"""Conversion of torch.fx graphs to programs: each call of an ATen or registered operator becomes a step."""

from __future__ import annotations

import math
import operator as arithmetic
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from opdsl.dispatch import Operator
from opdsl.errors import OpdslError, ProgramError, UnknownOperatorError
from opdsl.interop.torch import tensors
from opdsl.interop.torch.crossing import Crossing
from opdsl.programs.program import Program
from opdsl.programs.sizes import SizeSyntaxError, read, written
from opdsl.programs.steps import Expression, Input, Result, Size, Step, operator_named
from opdsl.runtime import Device, Tensor

__all__ = ["ARITHMETIC", "FUNCTIONS", "KEPT", "STATEMENTS", "GraphReader", "operator_of"]

KEPT = "opdsl"
"""Key in ``node.meta`` of the part of a program that an FX node was written from."""

ARITHMETIC: dict[Callable[..., Any], str] = {
    arithmetic.add: "+",
    arithmetic.sub: "-",
    arithmetic.mul: "*",
    arithmetic.truediv: "/",
    arithmetic.floordiv: "//",
    arithmetic.mod: "%",
    arithmetic.pow: "**",
    arithmetic.eq: "==",
    arithmetic.ne: "!=",
    arithmetic.lt: "<",
    arithmetic.le: "<=",
    arithmetic.gt: ">",
    arithmetic.ge: ">=",
    arithmetic.and_: "and",
    arithmetic.or_: "or",
    arithmetic.is_: "is",
}
"""Operators on symbolic sizes in FX graphs, with their spelling in programs."""

FUNCTIONS: dict[Callable[..., Any], str] = {
    torch.sym_max: "max",
    torch.sym_min: "min",
    max: "max",
    min: "min",
    math.ceil: "math.ceil",
    math.floor: "math.floor",
    math.trunc: "math.trunc",
    torch.sym_float: "",
    arithmetic.neg: "-",
    arithmetic.not_: "not ",
    torch.sym_not: "not ",
}
"""Functions of symbolic sizes in FX graphs, with their spelling in programs."""

STATEMENTS = re.compile(r"_assert|sym_constrain|_guards_fn|\b_check")
"""Pattern of the names of calls that only check or state a condition."""

# Operators that read sizes and strides.
_READ = {torch.ops.aten.sym_size.int: "shape[{}]", torch.ops.aten.sym_stride.int: "stride()[{}]"}


def operator_of(target: Any) -> Operator | None:
    """Return the opdsl operator with the name of a torch operator; None if opdsl has none, or it lacks arguments.

    Args:
        target: the target of a node.
    """
    if not isinstance(target, torch._ops.OpOverload):
        return None
    try:
        operator = operator_named(str(target.name()))  # type: ignore[no-untyped-call]
    except (UnknownOperatorError, OpdslError):
        return None
    # A newer torch may have arguments that opdsl lacks.
    names = {argument.name for argument in operator.schema.arguments}
    return operator if names.issuperset(argument.name for argument in target._schema.arguments) else None


class GraphReader:
    """Reader that converts the nodes of one graph to a program.

    values: for each node an expression, a constant, or a tuple of them for an operator with several results.

    Args:
        nodes: in order.
        attributes: the module whose attributes are the tensors that the graph reads by name.
    """

    def __init__(self, nodes: Iterable[torch.fx.Node], attributes: torch.nn.Module | None = None) -> None:
        self.nodes = list(nodes)
        self.attributes = attributes
        self.values: dict[torch.fx.Node, Any] = {}
        self.constants: dict[str, Tensor] = {}
        self.inputs: list[Input] = []
        self.steps: list[Step] = []
        self.guards: list[str] = []
        self.missing: set[str] = set()
        # Names of results to the names of the nodes that return them.
        self.node_names: dict[str, str] = {}
        # Example values of symbolic sizes and numbers, by name.
        self.example: dict[str, Any] = {}
        # Names of symbolic sizes of inputs, by torch's symbol.
        self._sizes: dict[str, str] = {}

    def program(self, name: str) -> Program:
        """Convert the graph to a program with the given name.

        Raises:
            ProgramError: the graph calls operators that opdsl does not have, or returns something that a program
                cannot.
        """
        outputs: Any = None
        for node in self.nodes:
            if node.op == "placeholder":
                self.placeholder(node)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "get_attr":
                self._attribute(node)
            elif node.op == "output":
                outputs = self.outputs(node)
            elif node.op != "call_module":
                raise ProgramError(
                    f"a node {node.op} of {node.target} is no call of an ATen operator. Export with torch.export."
                )
        name, sizes, example = getattr(self.attributes, "meta", {}).get(KEPT, (name, (), self.example))
        if self.missing:
            raise ProgramError(
                f"the exported program calls operators that opdsl lacks: {', '.join(sorted(self.missing))}. Decompose "
                "it: exported.run_decompositions()."
            )
        guards = tuple(self.guards)
        return Program(name, tuple(self.inputs), tuple(self.steps), outputs, guards, sizes, self.constants, example)

    def placeholder(self, node: torch.fx.Node) -> None:
        """Add an input of the program for an argument of the graph."""
        kept, value = node.meta.get(KEPT), node.meta.get("val")
        if isinstance(kept, Input):
            self.inputs.append(kept)
        elif isinstance(value, torch.Tensor):
            dtype, device = tensors.to_opdsl(value.dtype, _refuse), Device(str(value.device))
            shape = tuple([self._named(size, f"{node.name}_{dim}") for dim, size in enumerate(value.shape)])
            self.inputs.append(Input(node.name, None, dtype, device, shape))
        else:
            kinds = {bool: bool, torch.SymBool: bool, float: float, torch.SymFloat: float}
            self.inputs.append(Input(node.name, kinds.get(type(value), int)))
            self._note(node.name, value)
        self.values[node] = Expression(self.inputs[-1].name)

    def _named(self, size: Any, name: str) -> Size:
        """Return a size of an input as the program has it: a number, or the name of a symbolic size."""
        if type(size) is int:
            return size
        text = str(size)
        known = self._sizes.setdefault(text, text if text.isidentifier() else name)
        self._note(known, size)
        return known

    def _note(self, name: str, value: Any) -> None:
        """Record the example value that torch has for a symbolic size or a number."""
        hint = value.node.hint if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)) else value
        if isinstance(hint, (bool, int, float, complex)):
            self.example[name] = hint

    def constant(self, node: torch.fx.Node, tensor: torch.Tensor) -> None:
        """Add a constant of the program, which shares the memory of a torch tensor."""
        self.constants[node.name] = Crossing().returned(tensor)
        self.values[node] = Expression(node.name)

    def _attribute(self, node: torch.fx.Node) -> None:
        attributes: Any = self.attributes
        for name in str(node.target).split("."):
            attributes = getattr(attributes, name)
        if not isinstance(attributes, torch.Tensor):
            return  # a nested graph
        self.constant(node, attributes)
        kept = node.meta.get(KEPT)
        if isinstance(kept, Tensor) and Crossing().tensor(kept.detach()).data_ptr() == attributes.data_ptr():
            self.constants[node.name] = kept

    def _call(self, node: torch.fx.Node) -> None:
        target: Any = node.target
        kept = node.meta.get(KEPT)
        if target is arithmetic.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]  # type: ignore[index]
        elif isinstance(kept, Expression):
            self.values[node] = kept
        elif target in _READ:
            self.values[node] = self._size(node, _READ[target])
        elif target in ARITHMETIC or target in FUNCTIONS:
            self.values[node] = Expression(self._computed(target, [self.operand(arg) for arg in node.args]))
        elif isinstance(kept, str):
            self.guards.append(kept)
        elif not STATEMENTS.search(str(target)):
            self._step(node)

    def _size(self, node: torch.fx.Node, text: str) -> Expression:
        known = self._sizes.get(str(node.meta.get("val")))
        if known is not None:
            return Expression(known)
        source, dim = node.args
        return Expression(f"{self.operand(source).text}.{text.format(dim)}")

    @staticmethod
    def _computed(target: Any, operands: Sequence[Any]) -> str:
        """Return the expression for a computation with sizes."""
        texts = [operand.text if isinstance(operand, Expression) else repr(operand) for operand in operands]
        if target in ARITHMETIC and len(texts) == 2:
            return f"({f' {ARITHMETIC[target]} '.join(texts)})"
        name = FUNCTIONS[target]
        return f"({name}{texts[0]})" if name.strip() in ("-", "not") else f"{name}({', '.join(texts)})"

    def _step(self, node: torch.fx.Node) -> None:
        called = operator_of(node.target)
        kept = node.meta.get(KEPT)
        results, is_several, is_list = kept if kept is not None else _results(node)
        parts = tuple(None if result is None else Expression(result.name) for result in results)
        self.node_names |= {result.name: node.name for result in results if result is not None}
        if not is_several and parts[0] is None:
            # An operator that returns nothing writes its first argument.
            parts = (self.operand(node.args[0]) if node.args else None,)
        self.values[node] = parts if is_several else parts[0]
        if called is None:
            target: Any = node.target
            self.missing.add(str(target.name() if isinstance(target, torch._ops.OpOverload) else target))  # type: ignore[no-untyped-call]
            return
        names = {argument.name: argument.python_name for argument in called.schema.arguments}
        operands = tuple(self.operand(arg) for arg in node.args)
        options = {names[name]: self.operand(value) for name, value in node.kwargs.items()}
        self.steps.append(Step(called, operands, options, results, is_list))

    def operand(self, value: Any) -> Any:
        """Convert an argument of a node to an operand of a step."""
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if isinstance(value, (tuple, list)):
            return tuple(self.operand(element) for element in value)
        return tensors.to_opdsl(value, _refuse)

    def outputs(self, node: torch.fx.Node) -> Any:
        """Return the outputs of the program."""
        return self._structured(node.args[0])

    def _structured(self, value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            parts = [self._structured(element) for element in value]
            return parts if isinstance(value, list) else tuple(parts)
        if isinstance(value, dict):
            return {key: self._structured(element) for key, element in value.items()}
        return self.operand(value)


def _results(node: torch.fx.Node) -> tuple[tuple[Result | None, ...], bool, bool]:
    """Return the results of a call, whether it may have several, and whether these are a list."""
    fake_result = node.meta.get("val")
    if fake_result is None and node.users:
        raise ProgramError(
            f"the node {node.name} has no example value (meta['val']). Propagate fake tensors first: "
            "torch.fx.passes.fake_tensor_prop.FakeTensorProp(graph_module).propagate(*arguments)."
        )
    is_several = isinstance(fake_result, (tuple, list))
    listed: list[Any] = list(fake_result) if isinstance(fake_result, (tuple, list)) else [fake_result]
    names = [f"{node.name}_{index}" for index in range(len(listed))] if is_several else [node.name]
    results = tuple(
        Result(name, tensors.to_opdsl(fake.dtype, _refuse), tuple(map(_size, fake.shape)), Device(str(fake.device)))
        if isinstance(fake, torch.Tensor)
        else None
        for name, fake in zip(names, listed, strict=True)
    )
    return results, is_several, isinstance(fake_result, list)


def _size(value: Any) -> Size:
    """Return a size of a result. A size that opdsl cannot express becomes a name, which nothing reads."""
    if type(value) is int:
        return value
    text = str(value)
    try:
        return written(read(text))
    except SizeSyntaxError:
        return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def _refuse(value: torch.Tensor) -> Tensor:
    raise ProgramError(f"a call has a constant tensor of shape {tuple(value.shape)} as argument. Make it a buffer.")
