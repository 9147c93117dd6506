"""Printer of typed Python expressions as LLVM IR; local variables are stack slots, which LLVM promotes to registers."""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, NamedTuple, NoReturn, get_args, get_origin

from opdsl.backends.cpu.machine import language
from opdsl.backends.cpu.machine.constants import known
from opdsl.backends.cpu.machine.language import (
    Constant,
    Instruction,
    Library,
    Marked,
    Pointer,
    Records,
    Shared,
    fields,
    hints,
    is_function,
    llvm_type,
    plain,
    record_size,
)
from opdsl.backends.cpu.machine.module import Callee, Module, Value, is_record


class Place(NamedTuple):
    """Address of a value, and its type; for an element of ``Records`` it is the address of the record itself."""

    text: str
    kind: Any
    is_record: bool = False


_INTEGERS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "udiv",
    ast.Mod: "urem",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "shl",
    ast.RShift: "lshr",
}
_FLOATS: dict[type[ast.operator], str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_TESTS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
    ast.Is: ("eq", ""),
    ast.IsNot: ("ne", ""),
}
_BUILTINS = {"min": "llvm.smin.i64", "max": "llvm.smax.i64"}
_NARROW = ("i8", "i16", "i32")


class Expressions:
    """Printer of the lines and expressions of one function."""

    def __init__(self, module: Module, name: str) -> None:
        function, constants = module.wanted[name]
        self.module, self.name, self.function = module, name, function
        self.scope: dict[str, Any] = {**function.__globals__, **module.constants, **constants}
        self.mark: Marked = function.__dict__["__machine__"]
        self.parameters = {name: kind for name, kind in module.hints(function).items() if kind is not Constant}
        self.result = self.parameters.pop("return")
        self.slots: dict[str, Value] = {}
        self.entry: list[str] = []
        self.lines: list[str] = []
        self.loops: list[tuple[str, str]] = []
        self.count = 0
        self.is_open = True

    # Lines.

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def value(self, text: str) -> str:
        """Append an instruction, and return the name of its result."""
        self.count += 1
        self.line(f"%v{self.count} = {text}")
        return f"%v{self.count}"

    def labels(self, *names: str) -> list[str]:
        """Return new names of basic blocks."""
        self.count += 1
        return [f"{name}{self.count}" for name in names]

    def go(self, label: str) -> None:
        """End the basic block with a branch to another one, unless it has ended."""
        if self.is_open:
            self.line(f"br label %{label}")
        self.is_open = False

    def begin(self, label: str) -> None:
        """Begin a basic block, which the current one falls through to."""
        self.go(label)
        self.lines.append(f"{label}:")
        self.is_open = True

    def slot(self, name: str, kind: Any) -> str:
        """Return the stack slot of a variable, allocating it at the first use."""
        if name not in self.slots:
            self.slots[name] = Value(f"%{name}.slot", kind)
            self.entry.append(f"  %{name}.slot = alloca {llvm_type(kind)}")
        return self.slots[name].text

    def fail(self, node: ast.AST, why: str) -> NoReturn:
        """Raise an error for a construct that machine code does not support."""
        raise TypeError(f"{self.function.__module__}.{self.function.__name__}: {why}: {ast.unparse(node)}")

    # Expressions.

    def branch(self, test: ast.expr, then: str, other: str) -> None:
        """End the block with a conditional branch; ``and`` and ``or`` are short-circuited."""
        if isinstance(test, ast.BoolOp):
            for expression in test.values[:-1]:
                (following,) = self.labels("test")
                self.branch(expression, *((following, other) if isinstance(test.op, ast.And) else (then, following)))
                self.begin(following)
            self.branch(test.values[-1], then, other)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.branch(test.operand, other, then)
        elif isinstance(test, ast.Constant):
            self.go(then if test.value else other)
        else:
            value = self.expression(test)
            if value.kind is not bool:
                self.fail(test, "a condition has to be a bool")
            self.line(f"br i1 {value.text}, label %{then}, label %{other}")
            self.is_open = False

    def known(self, node: ast.expr) -> Any:
        """Return the value of a constant expression, or None for any other expression."""
        return known(node, self.scope, self.slots)

    def expression(self, node: ast.expr) -> Value:
        """Emit an expression, and return its value; constant expressions are folded."""
        constant = self.known(node)
        return self.computed(node) if constant is None else self.constant(node, constant)

    def computed(self, node: ast.expr) -> Value:
        """Emit an expression that is evaluated at run time."""
        emit = _EXPRESSIONS.get(type(node))
        if emit is None:
            self.fail(node, "no expression of machine code")
        return emit(self, node)

    def _constant(self, node: ast.Constant) -> Value:
        return self.constant(node, node.value)  # only None gets here

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.slots:
            slot = self.slots[node.id]
            return Value(self.value(f"load {llvm_type(slot.kind)}, ptr {slot.text}"), slot.kind)
        return self.constant(node, self.outside(node))

    def _attribute(self, node: ast.Attribute) -> Value:
        outside = self.outside(node)
        return self.loaded(self.place(node)) if outside is None else self.constant(node, outside)

    def _subscript(self, node: ast.Subscript) -> Value:
        return self.loaded(self.place(node))

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.expression(node.left), self.expression(node.right)
        if get_origin(left.kind) is Pointer:
            return Value(self.element(left, right, get_args(left.kind)[0]).text, left.kind)
        kind = llvm_type(left.kind)
        element = kind.strip("<>").split()[-1]
        instruction = (_FLOATS if element in ("float", "double") else _INTEGERS).get(type(node.op))
        if instruction is None or kind == "ptr" or kind != llvm_type(right.kind):
            self.fail(node, "no operation of numbers of one type")
        return Value(self.value(f"{instruction} {kind} {left.text}, {right.text}"), left.kind)

    def _unary(self, node: ast.UnaryOp) -> Value:
        value = self.expression(node.operand)
        if isinstance(node.op, ast.USub):
            zero, instruction = ("-0.0", "fsub") if value.kind is float else ("0", "sub")
            return Value(self.value(f"{instruction} {llvm_type(value.kind)} {zero}, {value.text}"), value.kind)
        if not isinstance(node.op, ast.Not) or value.kind is not bool:
            self.fail(node, "no operation of machine code")
        return Value(self.value(f"xor i1 {value.text}, true"), bool)

    def _comparison(self, node: ast.Compare) -> Value:
        (operator,), (second,) = node.ops, node.comparators
        if isinstance(operator, ast.In) and isinstance(second, ast.Tuple):
            return self.expression(ast.BoolOp(ast.Or(), [ast.Compare(node.left, [ast.Eq()], [e]) for e in second.elts]))
        left, right = self.expression(node.left), self.expression(second)
        signed, ordered = _TESTS[type(operator)]
        instruction = f"fcmp {ordered}" if llvm_type(left.kind) in ("float", "double") else f"icmp {signed}"
        return Value(self.value(f"{instruction} {llvm_type(left.kind)} {left.text}, {right.text}"), bool)

    def _boolean(self, node: ast.BoolOp) -> Value:
        return self.chosen(node, lambda: Value("true", bool), lambda: Value("false", bool))

    def _conditional(self, node: ast.IfExp) -> Value:
        return self.chosen(node.test, lambda: self.expression(node.body), lambda: self.expression(node.orelse))

    def _called(self, node: ast.Call) -> Value:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in _BUILTINS:
            values = ", ".join(f"i64 {self.expression(arg).text}" for arg in node.args)
            return Value(self.value(f"call i64 @{_BUILTINS[name]}({values})"), int)
        special = _SPECIAL.get(name)
        return special(self, *node.args) if special else self.call(node)

    def chosen(self, test: ast.expr, one: Callable[[], Value], two: Callable[[], Value]) -> Value:
        """Emit a choice between two values, of which only one is computed."""
        constant = self.known(test)
        if constant is not None:
            return one() if constant else two()
        then, other, end = self.labels("then", "else", "end")
        self.branch(test, then, other)
        kind: Any = None
        for label, make in ((then, one), (other, two)):
            self.begin(label)
            value = make()
            kind = value.kind if kind in (None, object) else kind
            self.line(f"store {llvm_type(kind)} {value.text}, ptr {self.slot(end, kind)}")
            self.go(end)
        self.begin(end)
        return Value(self.value(f"load {llvm_type(kind)}, ptr {self.slot(end, kind)}"), kind)

    def call(self, node: ast.Call) -> Value:
        """Emit a call of a machine code function, a library function, or a function pointer."""
        callee = self.callee(node.func, node.args)
        values = [self.expression(arg) for arg in node.args[: len(node.args) - callee.constants]]
        kinds = [value.kind for value in values] if callee.parameters is None else callee.parameters
        texts = [self.fitting(value, kind) for value, kind in zip(values, kinds, strict=True)]
        if isinstance(callee.text, Instruction):
            (temporary,) = self.labels("%t")
            lines = callee.text.lines(texts, temporary, self.module.types())
        else:
            arguments = ", ".join(f"{llvm_type(kind)} {value}" for kind, value in zip(kinds, texts, strict=True))
            lines = [f"call {llvm_type(callee.result)} {callee.text}({arguments})"]
        if llvm_type(callee.result) == "void":
            self.lines += [f"  {line}" for line in lines]
            return Value("", None)
        self.lines += [f"  {line}" for line in lines[:-1]]
        return self.widened(Value(self.value(lines[-1]), callee.result))

    def callee(self, node: ast.expr, arguments: Sequence[ast.expr]) -> Callee:
        """Return the function that a call calls."""
        callee = self.outside(node)
        if isinstance(callee, FunctionType):
            *parameters, (_, returned) = self.module.hints(callee).items()
            constants = {
                name: self.known(argument)
                for (name, kind), argument in zip(parameters, arguments, strict=True)
                if kind is Constant
            }
            mark = callee.__dict__["__machine__"]
            text = mark if isinstance(mark, Instruction) else self.module.function(callee, **constants)
            kinds = tuple(kind for _, kind in parameters if kind is not Constant)
            return Callee(text, kinds, returned, len(constants))
        if isinstance(callee, Callee):
            return callee
        value = self.expression(node)
        if not is_function(value.kind):
            self.fail(node, "no function")
        parameters, returned = get_args(value.kind)
        return Callee(value.text, None if parameters is ... else tuple(parameters), returned)

    def outside(self, node: ast.expr) -> Any:
        """Return the object that a global name or an attribute of one refers to, or None for a local variable."""
        if isinstance(node, ast.Name) and node.id not in self.slots:
            if node.id not in self.scope:
                self.fail(node, "no such name")
            return self.scope[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.outside(node.value)
            if isinstance(owner, Library):
                return self.module.external(node.attr, hints(_type_of(owner))[node.attr])
            return None if owner is None else getattr(owner, node.attr)
        return None

    def constant(self, node: ast.expr, value: Any) -> Value:
        """Return the LLVM value of an object that is known at compile time."""
        if value is None:
            return Value("null", object)
        if isinstance(value, bool):
            return Value(str(value).lower(), bool)
        if isinstance(value, int):
            return Value(str(int(value)), int)
        if isinstance(value, float):
            return Value(_double(value), float)
        if isinstance(value, bytes):
            return Value(self.module.constant(value), bytes)
        if type(value) is tuple:
            return Value(f"<{len(value)} x i32> <{', '.join(f'i32 {lane}' for lane in value)}>", tuple)
        if isinstance(value, Shared):
            return Value(
                self.module.variable(value), _pointer(value.kind, Records if is_record(value.kind) else Pointer)
            )
        if isinstance(value, Value):
            return value
        if not isinstance(value, FunctionType):
            self.fail(node, "no constant of machine code")
        return Value(self.module.function(value), Callable)

    def annotation(self, node: ast.expr) -> Any:
        """Evaluate an expression that is a type, and return the type."""
        return plain(eval(ast.unparse(node), self.scope))

    # Memory.

    def place(self, node: ast.expr) -> Place:
        """Emit the computation of the address of a field or an element."""
        if isinstance(node, ast.Attribute):
            record = self.expression(node.value)
            field = fields(record.kind)[node.attr]
            address = self.value(f"getelementptr i8, ptr {record.text}, i64 {field.offset}")
            return Place(address, plain(field.kind))
        if not isinstance(node, ast.Subscript):
            self.fail(node, "no field or element")
        base, index = self.expression(node.value), self.expression(node.slice)
        return self.element(base, index, get_args(base.kind)[0])

    def element(self, base: Value, index: Value, kind: Any) -> Place:
        """Emit the computation of the address of an element of ``Pointer`` or ``Records``."""
        if get_origin(base.kind) is Records:
            offset = self.value(f"mul i64 {index.text}, {record_size(kind)}")
            return Place(self.value(f"getelementptr i8, ptr {base.text}, i64 {offset}"), kind, is_record=True)
        return Place(self.value(f"getelementptr {llvm_type(kind)}, ptr {base.text}, i64 {index.text}"), kind)

    def loaded(self, place: Place) -> Value:
        """Emit the load of the value at an address."""
        if place.is_record:
            return Value(place.text, place.kind)
        return self.widened(Value(self.value(f"load {llvm_type(place.kind)}, ptr {place.text}"), place.kind))

    def widened(self, value: Value) -> Value:
        """Emit the conversion of a loaded or returned value to the type that variables have: narrow integers become
        i64.
        """
        kind = llvm_type(value.kind)
        if kind in _NARROW:
            return Value(self.value(f"sext {kind} {value.text} to i64"), int)
        return Value(value.text, plain(value.kind))

    def fitting(self, value: Value, kind: Any) -> str:
        """Emit the conversion of a value to its narrower type in memory or in a call."""
        wanted = llvm_type(kind)
        if wanted in _NARROW and not value.text.lstrip("-").isdigit():
            return self.value(f"trunc i64 {value.text} to {wanted}")
        return value.text

    # Built-in functions of the language.

    def cast(self, kind: ast.expr, value: ast.expr) -> Value:
        """Emit ``cast``, which reinterprets the bits of a value as another type."""
        target = self.annotation(kind)
        expression = self.expression(value)
        names = {("i64", "ptr"): "inttoptr", ("ptr", "i64"): "ptrtoint", ("double", "i64"): "bitcast"}
        instruction = names.get((llvm_type(expression.kind), llvm_type(target)))
        text = (
            self.value(f"{instruction} {llvm_type(expression.kind)} {expression.text} to {llvm_type(target)}")
            if instruction
            else expression.text
        )
        return Value(text, target)

    def local(self, kind: ast.expr, count: ast.expr, alignment: ast.expr | None = None) -> Value:
        """Emit ``local``, which allocates an array on the stack."""
        element, number = self.annotation(kind), self.expression(count)
        self.count += 1
        held = llvm_type(element)
        least = ast.Constant(64 if held.startswith("<") else 16)
        aligned = self.expression(alignment or least).text
        if number.text.isdigit():
            self.entry.append(f"  %v{self.count} = alloca [{number.text} x {held}], align {aligned}")
        else:
            self.lines.append(f"  %v{self.count} = alloca {held}, i64 {number.text}, align {aligned}")
        return Value(f"%v{self.count}", _pointer(element))

    def local_record(self, kind: ast.expr) -> Value:
        """Emit ``local_record``, which allocates a record on the stack."""
        record = self.annotation(kind)
        self.count += 1
        self.entry.append(f"  %v{self.count} = alloca i8, i64 {record_size(record)}, align 64")
        return Value(f"%v{self.count}", record)

    def address_of(self, node: ast.expr) -> Value:
        """Emit ``address_of``, which computes the address of a field or an element."""
        place = self.place(node)
        return Value(place.text, _pointer(place.kind))


_EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, Any], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._comparison,
    ast.BoolOp: Expressions._boolean,
    ast.IfExp: Expressions._conditional,
    ast.Call: Expressions._called,
}

_SPECIAL: dict[str, Callable[..., Value]] = {
    "cast": Expressions.cast,
    language.local.__name__: Expressions.local,
    language.local_record.__name__: Expressions.local_record,
    language.address_of.__name__: Expressions.address_of,
}


def _type_of(library: Library) -> Any:
    return type(library)


def _pointer(kind: Any, generic: Any = Pointer) -> Any:
    """Return the type of an address of values, or of records."""
    return generic[kind]


def _double(value: float) -> str:
    """Return a float as an LLVM hexadecimal constant."""
    return f"0x{int.from_bytes(struct.pack('>d', value), 'big'):016X}"
