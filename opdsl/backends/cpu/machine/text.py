"""Printer of typed Python functions as an LLVM module."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from opdsl.backends.cpu.machine.expressions import Expressions, Place
from opdsl.backends.cpu.machine.language import (
    Marked,
    functions,
    llvm_type,
    unrolled,
)
from opdsl.backends.cpu.machine.module import Module, Value
from opdsl.scalar.parsing import parsed

_NOTHING: Mapping[str, Any] = MappingProxyType({})

# Matches calls of LLVM intrinsics, from which their declarations are derived.
_INTRINSIC = re.compile(r"call (?:reassoc )?(\w+|<[^>]+>) (@llvm\.[\w.]+)\((.*)\)")


def module_text(
    modules: Iterable[ModuleType],
    constants: Mapping[str, Any] = _NOTHING,
    attributes: str = "",
    only: Collection[str] | None = None,
) -> str:
    """Return the LLVM module of the functions that Python modules export, and of all functions that they call.

    Args:
        modules: written in the language of ``opdsl.backends.cpu.machine.language``.
        constants: values of names, in place of those that the modules have: numbers, tuples and types.
        attributes: of all functions.
        only: the exported functions that are wanted; None for all.
    """
    modules = list(modules)
    module = Module([module.__name__ for module in modules], constants, attributes)
    for function in itertools.chain.from_iterable(map(functions, modules)):
        mark = function.__dict__["__machine__"]
        if isinstance(mark, Marked) and mark.exported and (only is None or function.__name__ in only):
            module.function(function)
    texts: dict[str, str] = {}
    while len(texts) < len(module.wanted):
        for name in [*module.wanted]:
            if name not in texts:
                texts[name] = _Function(module, name).text()
    functions_text = "\n".join(texts.values())
    intrinsics = {f"declare {match[1]} {match[2]}({_types(match[3])})" for match in _INTRINSIC.finditer(functions_text)}
    return "\n".join([*sorted(module.declarations | intrinsics), *module.globals.values(), functions_text])


def _types(arguments: str) -> str:
    """Return the types of a call's arguments, without their values."""
    return ", ".join(part.rsplit(" ", 1)[0] for part in arguments.split(", ") if part)


@functools.cache
def _trees(module: ModuleType) -> dict[str, ast.FunctionDef]:
    """Return the syntax trees of a module's functions, by name."""
    return {
        statement.name: statement
        for statement in parsed(inspect.getsource(module)).body
        if isinstance(statement, ast.FunctionDef)
    }


class _Function(Expressions):
    """Printer of one function."""

    def text(self) -> str:
        """Return the definition of the function."""
        tree = _trees(sys.modules[self.function.__module__])[self.function.__name__]
        for name, kind in self.parameters.items():
            self.line(f"store {llvm_type(kind)} %{name}, ptr {self.slot(name, kind)}")
        self.block(tree.body)
        if self.is_open:
            self.line("ret void" if self.result is type(None) else "unreachable")
        parameters = ", ".join(f"{llvm_type(kind)} %{name}" for name, kind in self.parameters.items())
        linkage = "" if self.mark.exported else "internal "
        head = f"define {linkage}{llvm_type(self.result)} @{self.name}({parameters})"
        attributes = f"{self.mark.attributes} {self.module.attributes}"
        return "\n".join([f"{head} {attributes} {{", *self.entry, *self.lines, "}"])

    # Statements.

    def block(self, statements: Iterable[ast.stmt]) -> None:
        """Emit statements in order."""
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Emit a statement."""
        emit = _STATEMENTS.get(type(node))
        if emit is None:
            self.fail(node, "no statement of machine code")
        emit(self, node)

    def _assignment(self, node: ast.Assign) -> None:
        (target,) = node.targets
        self.assign(target, self.expression(node.value))

    def _typed_assignment(self, node: ast.AnnAssign) -> None:
        assert isinstance(node.target, ast.Name) and node.value is not None
        self.slot(node.target.id, self.annotation(node.annotation))
        self.assign(node.target, self.expression(node.value))

    def _update(self, node: ast.AugAssign) -> None:
        self.assign(node.target, self.expression(ast.BinOp(_loaded(node.target), node.op, node.value)))

    def _discarded(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value)

    def _returned(self, node: ast.Return) -> None:
        if node.value is None:
            self.line("ret void")
        else:
            value = self.fitting(self.expression(node.value), self.result)
            self.line(f"ret {llvm_type(self.result)} {value}")
        self.is_open = False

    def _choice(self, node: ast.If) -> None:
        known = self.known(node.test)
        if known is not None:
            self.block(node.body if known else node.orelse)
            return
        then, other, end = self.labels("then", "else", "end")
        self.branch(node.test, then, other)
        self.begin(then)
        self.block(node.body)
        goes_on = self.is_open
        self.go(end)
        self.begin(other)
        self.block(node.orelse)
        if goes_on or self.is_open:
            self.begin(end)

    def _repeated(self, node: ast.While) -> None:
        head, body, end = self.labels("while", "do", "done")
        self.begin(head)
        self.branch(node.test, body, end)
        self.loop(node.body, body, head, end)
        self.go(head)
        self.begin(end)

    def _counted(self, node: ast.For) -> None:
        assert isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Call), "a range"
        if isinstance(node.iter.func, ast.Name) and node.iter.func.id == unrolled.__name__:
            for value in self.known(node.iter.args[0]):
                self.scope[node.target.id] = value
                self.block(node.body)
            return
        texts = [self.expression(arg).text for arg in node.iter.args]
        first, last, step = {1: ["0", *texts, "1"], 2: [*texts, "1"], 3: texts}[len(texts)]
        head, body, following, end = self.labels("for", "do", "next", "done")
        slot = self.slot(node.target.id, int)
        self.line(f"store i64 {first}, ptr {slot}")
        self.begin(head)
        test = "sgt" if step.startswith("-") else "slt"
        more = self.value(f"icmp {test} i64 {self.value(f'load i64, ptr {slot}')}, {last}")
        self.line(f"br i1 {more}, label %{body}, label %{end}")
        self.is_open = False
        self.loop(node.body, body, following, end)
        self.begin(following)
        reached = self.value(f"load i64, ptr {slot}")
        self.line(f"store i64 {self.value(f'add i64 {reached}, {step}')}, ptr {slot}")
        self.go(head)
        self.begin(end)

    def _ended(self, node: ast.Break) -> None:
        self.go(self.loops[-1][1])

    def _continued(self, node: ast.Continue) -> None:
        self.go(self.loops[-1][0])

    def loop(self, statements: list[ast.stmt], body: str, following: str, end: str) -> None:
        """Emit the body of a loop; ``following`` and ``end`` are the targets of ``continue`` and ``break``."""
        self.begin(body)
        self.loops.append((following, end))
        self.block(statements)
        self.loops.pop()

    def assign(self, target: ast.expr, value: Value) -> None:
        """Emit the store of a value in a variable, a field or an element."""
        if isinstance(target, ast.Name):
            slot = self.slot(target.id, value.kind)
            place = Place(slot, self.slots[target.id].kind)
        else:
            place = self.place(target)
        self.line(f"store {llvm_type(place.kind)} {self.fitting(value, place.kind)}, ptr {place.text}")


_STATEMENTS: dict[type[ast.stmt], Callable[[_Function, Any], None]] = {
    ast.Assign: _Function._assignment,
    ast.AnnAssign: _Function._typed_assignment,
    ast.AugAssign: _Function._update,
    ast.Expr: _Function._discarded,
    ast.Return: _Function._returned,
    ast.If: _Function._choice,
    ast.While: _Function._repeated,
    ast.For: _Function._counted,
    ast.Break: _Function._ended,
    ast.Continue: _Function._continued,
}


def _loaded(node: ast.expr) -> ast.expr:
    """Return an assignment's target as an expression that reads it."""
    return parsed(ast.unparse(node), "eval").body
