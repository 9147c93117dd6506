"""Validation of programs from outside: names must be bound once and before they are read, and expressions must be trees
of the nodes in ``sizes``, with integers of bounded length.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import attrs

from opdsl.errors import ProgramError
from opdsl.programs.leaves import RESERVED
from opdsl.programs.printing import OWN_NAMES
from opdsl.programs.program import Program
from opdsl.programs.sizes import (
    Asked,
    Binary,
    Called,
    Group,
    Name,
    Number,
    SizeSyntaxError,
    Spelling,
    Tree,
    Unary,
    names_of,
    read,
    written,
)
from opdsl.programs.steps import Expression, Input, Result, Size, Step

__all__ = ["checked"]

_BUILTINS: Final = frozenset(dir(builtins))
_LONGEST_NAME: Final = 200
# Most bits of integers: of arguments, and of computed ones.
_SIZE_BITS, _MOST_BITS = 64, 1 << 13
_LARGEST_FLOAT_BITS: Final = 1100
_LARGEST_EXPONENT: Final = 64
_ORDER: Final = ("bool", "int", "float", "complex")


class _Kind(NamedTuple):
    """Type of an expression in a program: a number type with a bound, a tensor, or a text.

    type: ``"bool"``, ``"int"``, ``"float"``, ``"complex"``, ``"tensor"`` or ``"text"``.
    size: maximum bits of an integer; rank of a tensor.
    """

    type: str
    size: int = 0

    @property
    def is_number(self) -> bool:
        """Return whether the type is a number type."""
        return self.type in _ORDER

    @property
    def is_whole(self) -> bool:
        """Return whether the type is an integer type or bool."""
        return self.type in ("bool", "int")


_INT, _BOOL, _FLOAT, _TEXT = _Kind("int", _SIZE_BITS), _Kind("bool", 1), _Kind("float"), _Kind("text")


def checked(program: Program) -> Program:
    """Validate a program from a file, and return it with every expression parsed and printed again.

    Raises:
        ProgramError: a name is invalid, is bound twice or read before it is bound, or an expression is invalid.
    """
    scope = _Scope()
    inputs = scope.inputs(program.inputs)
    for name, constant in program.constants.items():
        scope.bind(name, _Kind("tensor", constant.ndim))
    sizes = []
    for size, text in program.sizes:
        tree = scope.tree(text)
        kind = scope.number(tree)
        scope.bind(size, kind, is_size=True)
        sizes.append((size, written(tree)))
    return program.replace(
        inputs=inputs,
        sizes=tuple(sizes),
        guards=tuple([scope.text(text) for text in program.guards]),
        steps=tuple([scope.step(step) for step in program.steps]),
        outputs=scope.value(program.outputs),
    )


class _Scope:
    """Validator of a program's parts: the names that are bound so far, with their types."""

    def __init__(self) -> None:
        self.kinds: dict[str, _Kind] = {}
        # Data-dependent sizes, which only the shapes of results may use.
        self.late: set[str] = set()

    def bind(self, name: str, kind: _Kind, *, is_size: bool = False) -> None:
        """Bind a name.

        Raises:
            ProgramError: it is no identifier, is reserved in Python or programs, or is bound already.
        """
        is_name = name.isidentifier() and name.isascii() and len(name) <= _LONGEST_NAME
        is_taken = name in RESERVED or (keyword.issoftkeyword(name) and name == "_") or (is_size and name in _BUILTINS)
        if not is_name or is_taken or name.startswith(("__", OWN_NAMES)):
            raise ProgramError(f"{name[:60]!r} is no name for {'a size' if is_size else 'a tensor or number'}")
        if name in self.kinds or name in self.late:
            raise ProgramError(f"the name {name} is bound twice")
        self.kinds[name] = kind

    def inputs(self, inputs: Sequence[Input]) -> tuple[Input, ...]:
        """Bind the inputs and the names of their sizes."""
        for input in inputs:
            self.bind(input.name, _Kind("tensor", len(input.shape)) if input.kind is None else _of_type(input.kind))
        for size in (size for input in inputs for size in (*input.shape, *(input.strides or ()))):
            if isinstance(size, str) and size.isidentifier() and size not in self.kinds:
                self.bind(size, _INT, is_size=True)
        return tuple([self._input(input) for input in inputs])

    def _input(self, input: Input) -> Input:
        if input.kind is not None:
            return input
        strides = None if input.strides is None else self.shape(input.strides)
        if strides is not None and len(strides) != len(input.shape):
            raise ProgramError(f"{input.name} has {len(strides)} strides and {len(input.shape)} sizes")
        return attrs.evolve(input, shape=self.shape(input.shape), strides=strides)

    def shape(self, sizes: Iterable[Size], *, may_be_late: bool = False) -> tuple[Size, ...]:
        """Check a shape, whose sizes must be numbers or expressions of bound names, and return it printed again."""
        return tuple([size if isinstance(size, int) else self._size(size, may_be_late) for size in sizes])

    def _size(self, text: str, may_be_late: bool) -> str:
        tree = self.tree(text)
        if may_be_late:
            for name in names_of(tree) - self.kinds.keys() - self.late:
                self.bind(name, _INT, is_size=True)
                del self.kinds[name]
                self.late.add(name)
        if not self.kind(tree, self.late if may_be_late else frozenset()).is_whole:
            raise ProgramError(f"{_short(text)} is no size")
        return written(tree)

    def step(self, step: Step) -> Step:
        """Check the operands of a step and bind its results; return it with its expressions printed again."""
        operands, options = self.value(step.operands), {option: self.value(one) for option, one in step.options.items()}
        results = tuple([None if result is None else self._result(result) for result in step.results])
        return attrs.evolve(step, operands=operands, options=options, results=results)

    def _result(self, result: Result) -> Result:
        shape = self.shape(result.shape, may_be_late=True)
        self.bind(result.name, _Kind("tensor", len(shape)))
        return attrs.evolve(result, shape=shape)

    def value(self, value: Any) -> Any:
        """Check the expressions in an operand, or in the outputs of a program, and return it with them printed
        again.
        """
        if isinstance(value, Expression):
            tree = self.tree(value.text)
            if not (isinstance(tree, Name) and self.kind(tree).type == "tensor"):
                self.number(tree)
            return Expression(written(tree))
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(self.value, value))
        if isinstance(value, (tuple, list)):
            return type(value)(map(self.value, value))
        if isinstance(value, Mapping):
            return {key: self.value(one) for key, one in value.items()}
        return value

    def text(self, text: str) -> str:
        """Check an expression that must be a number, and print it again."""
        tree = self.tree(text)
        self.number(tree)
        return written(tree)

    def tree(self, text: str) -> Tree:
        """Parse an expression.

        Raises:
            ProgramError: it is no expression of sizes.
        """
        try:
            return read(text)
        except SizeSyntaxError as error:
            raise ProgramError(f"{_short(text)} is no expression of sizes: {error}") from error

    def number(self, tree: Tree) -> _Kind:
        """Return the type of an expression that must be a number.

        Raises:
            ProgramError: it is a tensor or a text.
        """
        kind = self.kind(tree)
        if not kind.is_number:
            raise ProgramError(f"{_short(written(tree))} is no number")
        return kind

    def kind(self, tree: Tree, late: Iterable[str] = ()) -> _Kind:
        """Return the type of an expression.

        Args:
            tree: the expression.
            late: data-dependent sizes that it may read besides bound names.

        Raises:
            ProgramError: it reads an unbound name, computes with a value that is no number, or its integers have no
                bound.
        """
        kind = self._kind(tree, late)
        if kind.is_whole and kind.size > _MOST_BITS:
            raise ProgramError(f"{_short(written(tree))} may be a number of {kind.size} bits")
        return kind

    def _kind(self, tree: Tree, late: Iterable[str]) -> _Kind:
        match tree:
            case Name(name):
                return _INT if name in late else self._bound(name)
            case Number(value):
                return _of_type(type(value), max(1, int(value).bit_length()) if isinstance(value, int) else 0)
            case Spelling():
                return _TEXT
            case Group(inner):
                return self.kind(inner, late)
            case Asked(tensor, what, dim):
                bound = self._bound(tensor)
                if bound.type != "tensor" or (what != "storage_offset" and dim >= bound.size):
                    raise ProgramError(f"{written(tree)} does not exist")
                return _INT
            case Unary(sign, operand):
                kind = self.kind(operand, late)
                _require(kind.is_number, tree)
                return _BOOL if sign == "not" else _added(kind, kind)
            case Called(function, operands):
                return _called(function, [self.kind(operand, late) for operand in operands], tree)
            case Binary("is", Name(left), Name(right)):
                _require(self._bound(left).type == self._bound(right).type == "tensor", tree)
                return _BOOL
            case Binary(sign, left, right):
                return _binary(tree, self.kind(left, late), self.kind(right, late))

    def _bound(self, name: str) -> _Kind:
        if name not in self.kinds:
            raise ProgramError(f"{name} is read, but nothing before it defines it")
        return self.kinds[name]


def _of_type(type_: type, size: int = _SIZE_BITS) -> _Kind:
    return _Kind(type_.__name__, size if type_ is int else int(type_ is bool))


def _require(holds: bool, tree: Tree) -> None:
    if not holds:
        raise ProgramError(f"{_short(written(tree))} cannot be computed")


def _short(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}...")


def _widest(*kinds: _Kind) -> str:
    return max((kind.type for kind in kinds), key=_ORDER.index)


def _added(left: _Kind, right: _Kind) -> _Kind:
    """Return the type of a sum, with the bound of an integer."""
    type_ = _widest(left, right)
    return _Kind("int", max(left.size, right.size) + 1) if type_ in ("bool", "int") else _Kind(type_)


def _called(function: str, operands: Sequence[_Kind], tree: Tree) -> _Kind:
    _require(all(kind.is_number for kind in operands), tree)
    if function == "repr":
        return _TEXT
    type_ = _widest(*operands)
    _require(type_ != "complex", tree)
    size = max(kind.size for kind in operands)
    if function in ("max", "min"):
        return _Kind(type_, size)
    return _Kind("int", _LARGEST_FLOAT_BITS if type_ == "float" else size)


def _binary(tree: Binary, left: _Kind, right: _Kind) -> _Kind:
    """Return the type of a binary operation, with the bound of an integer."""
    sign = tree.sign
    if sign in ("==", "!=") and left == right == _TEXT:
        return _BOOL
    _require(left.is_number and right.is_number and sign != "is", tree)
    type_ = _widest(left, right)
    _require(type_ != "complex" or sign in ("+", "-", "*", "/", "**", "==", "!="), tree)
    if sign in ("==", "!=", "<", "<=", ">", ">="):
        return _BOOL
    if sign in ("and", "or"):
        return _Kind(type_, max(left.size, right.size))
    if sign == "**":
        return _power(tree, left, right)
    if type_ in ("float", "complex") or sign == "/":
        return _Kind(type_ if type_ == "complex" else "float")
    if sign == "*":
        return _Kind("int", left.size + right.size)
    return _added(left, right)


def _power(tree: Binary, base: _Kind, exponent: _Kind) -> _Kind:
    """Return the type of a power; a power of integers must have a small constant exponent."""
    type_ = _widest(base, exponent)
    if type_ in ("float", "complex"):
        return _Kind(type_)
    number = tree.right
    while isinstance(number, Group):
        number = number.inner
    if isinstance(number, Unary) and isinstance(number.operand, Number):
        return _FLOAT
    _require(isinstance(number, Number) and 0 <= number.value <= _LARGEST_EXPONENT, tree)
    assert isinstance(number, Number), "required above"
    return _Kind("int", max(1, base.size * int(number.value)))
