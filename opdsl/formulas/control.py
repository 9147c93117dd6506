"""Control flow hooks called by rewritten formulas, for conditions on Python values and on elements of tensors.

A condition of a host value (a Python number, None, text, a shape) is decided as in Python. For a condition of elements
both sides are computed and ``where`` selects; calls on one side are recorded with the condition, so that it guards
gradients. The hooks also work on real tensors, outside of a trace: the formula then runs operator by operator.
"""

from __future__ import annotations

import builtins
import cmath
import importlib
import linecache
import math
import sys
from collections.abc import Callable, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeVar

from opdsl.errors import FormulaError
from opdsl.formulas.foreign import call_named, filling_tensor, instead_of, is_tensor_maker
from opdsl.formulas.rewriting import is_rewritten, rewritten, use_hooks
from opdsl.programs.branches import Conditions, MaskedBranch, conditions, exposed, masked_branch
from opdsl.runtime import Category, Tensor, bool_
from opdsl.runtime.scopes import Setting

__all__ = [
    "both",
    "callee",
    "chain",
    "choose",
    "choose_value",
    "counted",
    "either",
    "error_at",
    "error_here",
    "host",
    "is_element",
    "is_of_formula",
    "loop",
    "opposite",
    "position",
    "ranged",
    "returned",
    "surely",
    "value",
]


R = TypeVar("R")


class Unbound:
    """Value of a variable that not every path has assigned.

    name: the variable.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}, which is not assigned on every path>"


def is_element(value: object) -> bool:
    """Return whether a value consists of elements: a tensor or a ``DimTensor``, and no Python number."""
    return isinstance(value, Tensor) or hasattr(type(value), "__opdsl_function__")


def is_waiting(value: object) -> bool:
    """Return whether a value cannot be computed yet, since a dim has no size."""
    return getattr(value, "lacks_sizes", False) is True


def error_here(problem: str, remedy: str) -> FormulaError:
    """Build an error that underlines the source line of the formula that is running."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_rewritten(frame.f_code):
        frame = frame.f_back
    return _error(None if frame is None else (frame.f_code, frame.f_lasti), problem, remedy)


def error_at(error: BaseException, problem: str, remedy: str) -> FormulaError:
    """Build an error that underlines the source line of the formula at which another error was raised."""
    place: tuple[CodeType, int] | None = None
    traceback = error.__traceback__
    while traceback is not None:
        if is_rewritten(traceback.tb_frame.f_code):
            place = traceback.tb_frame.f_code, traceback.tb_lasti
        traceback = traceback.tb_next
    return _error(place, problem, remedy)


def is_of_formula(error: BaseException) -> bool:
    """Return whether an error was raised by a formula's own code, and not by a function that it called."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and is_rewritten(traceback.tb_frame.f_code)


def _error(place: tuple[CodeType, int] | None, problem: str, remedy: str) -> FormulaError:
    if place is None:
        return FormulaError(f"{problem}. {remedy}")
    code, instruction = place
    first, last, start, end = list(code.co_positions())[instruction // 2]
    line = first or code.co_firstlineno
    text = linecache.getline(code.co_filename, line).rstrip("\n")
    begin, finish = _columns(text, start or 0, end if last == first else None)
    lead = len(text) - len(text.lstrip())
    mark = " " * max(begin - lead, 0) + "~" * max(finish - begin - 1, 0) + "^"
    where = f"{code.co_filename}:{line}: formula {_outermost(code)}: {problem}"
    return FormulaError(f"{where}\n    {text.strip()}\n    {mark}\n{remedy}")


def _columns(text: str, start: int, end: int | None) -> tuple[int, int]:
    """Convert column offsets from bytes, as Python counts them, to characters."""
    data = text.encode()
    finish = len(data) if end is None else end
    return len(data[:start].decode(errors="ignore")), len(data[:finish].decode(errors="ignore"))


def _outermost(code: CodeType) -> str:
    """Return the name of the formula that a code object belongs to; functions generated from its branches are nested in
    it.
    """
    before, mark, within = code.co_qualname.partition("\N{SECTION SIGN}")
    return within.partition(".")[0] if mark else before.rpartition(".")[2]


# ----------------------------------------------------------------------------------------------------- truth and choice


def truth(value: Any) -> Any:
    """Convert elements to bool, with NaN as true."""
    if is_waiting(value):
        return value != 0
    return value if value.dtype is bool_ else value != 0


def value(get: Callable[[], Any], name: str) -> Any:
    """Return the value of a local variable, or an ``Unbound`` marker if it is not assigned yet."""
    try:
        return get()
    except NameError:
        return Unbound(name)


def _guarded(condition: Any, outcome: bool, run: Callable[..., R], *values: Any) -> R:
    """Run one side of a condition with operands masked where the condition has the other outcome. If a reduction needs
    the masked values, run it again without these masks.
    """
    own = MaskedBranch(condition, outcome, masked_branch.get())
    with Setting(conditions, (*conditions.get(), (condition, outcome))):
        try:
            with Setting(masked_branch, own):
                result = run(*values)
        except Exception:
            if not own.is_crossed:
                raise
        else:
            if not own.is_crossed:
                return result
        with Setting(exposed, exposed.get() | {(id(condition), subscript) for subscript in own.exposed}):
            return run(*values)


def choose_value(test: Any, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
    """Evaluate a conditional expression: ``then() if test else other()``; a test of elements selects between both by
    ``where``.
    """
    if not is_element(test):
        return then() if test else other()
    condition = truth(test)
    chosen = _guarded(condition, True, then)
    rejected = _guarded(condition, False, other)
    return _merged(condition, chosen, rejected, "")


def choose(
    test: Any,
    then: Callable[..., tuple[Any, ...]],
    other: Callable[..., tuple[Any, ...]],
    values: tuple[Any, ...],
    names: tuple[str, ...],
) -> tuple[Any, ...]:
    """Run an ``if`` statement; both branches run if the test is a tensor, and ``where`` selects the variables they
    assign.
    """
    if not is_element(test):
        return then(*values) if test else other(*values)
    condition = truth(test)
    chosen = _guarded(condition, True, then, *values)
    rejected = _guarded(condition, False, other, *values)
    return tuple([_merged(condition, *paths) for paths in zip(chosen, rejected, names, strict=True)])


def returned(
    test: Any, then: Callable[..., Any], other: Callable[..., Any], values: tuple[Any, ...], names: tuple[str, ...]
) -> Any:
    """Run an ``if`` statement whose branches return from the function; ``where`` selects between the results for a
    tensor test.
    """
    if not is_element(test):
        return then(*values) if test else other(*values)
    condition = truth(test)
    chosen = _guarded(condition, True, then, *values)
    rejected = _guarded(condition, False, other, *values)
    return _merged(condition, chosen, rejected, "what is returned")


def _merged(condition: Any, chosen: Any, rejected: Any, name: str) -> Any:
    """Merge the values that a variable has after both branches: by ``where`` if they differ, else the common value."""
    from opdsl.aten.pointwise.comparison import where

    if chosen is rejected:
        return chosen
    if isinstance(chosen, Unbound) or isinstance(rejected, Unbound):
        return Unbound(name)
    if is_element(chosen) or is_element(rejected):
        if all(is_element(path) or isinstance(path, (bool, int, float, complex)) for path in (chosen, rejected)):
            return where(condition, chosen, rejected)
    elif isinstance(chosen, (tuple, list)) and type(chosen) is type(rejected) and len(chosen) == len(rejected):
        parts = [_merged(condition, *pair, name) for pair in zip(chosen, rejected, strict=True)]
        return type(chosen)(*parts) if hasattr(chosen, "_fields") else type(chosen)(parts)
    elif isinstance(chosen, (bool, int, float, complex)) and isinstance(rejected, (bool, int, float, complex)):
        same = type(chosen) is type(rejected) and repr(chosen) == repr(rejected)
        return chosen if same else where(condition, chosen, rejected)
    elif type(chosen) is type(rejected) and not callable(chosen) and chosen == rejected:
        return chosen
    raise error_here(
        f"{name or 'the value'} is {_shown(chosen)} on one path and {_shown(rejected)} on the other, and the choice "
        "depends on elements",
        "Assign a number or a tensor on both paths, or tuples of the same length.",
    )


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return "a tensor" if is_element(value) else "nothing" if value is None else repr(value)


def both(first: Any, *others: Callable[[], Any]) -> Any:
    """Evaluate ``a and b``, elementwise for tensors: the result is one of the operands as in Python; for bools a
    bool.
    """
    for other in others:
        if not is_element(first):
            if not first:
                return first
            first = other()
            continue
        condition = truth(first)
        second = _guarded(condition, True, other)
        first = condition & second if condition is first and _is_bool(second) else _merged(condition, second, first, "")
    return first


def either(first: Any, *others: Callable[[], Any]) -> Any:
    """Evaluate ``a or b``, elementwise for tensors: the result is one of the operands as in Python; for bools a
    bool.
    """
    for other in others:
        if not is_element(first):
            if first:
                return first
            first = other()
            continue
        condition = truth(first)
        second = _guarded(condition, False, other)
        first = condition | second if condition is first and _is_bool(second) else _merged(condition, first, second, "")
    return first


def _is_bool(value: Any) -> bool:
    return value.dtype is bool_ if is_element(value) else isinstance(value, bool)


def position(index: Any) -> Any:
    """Return an index of a subscript, masked by the conditions of the current branch so that it never reads out of
    bounds.

    Where the conditions do not hold, the index is 0; the branch's result does not use the element read there.
    """
    if not is_element(index) or getattr(index, "is_bare", False):
        return index
    if not is_waiting(index) and index.dtype is bool_:
        return index
    under, frame = conditions.get(), sys._getframe(1)
    if under and (is_waiting(index) or index.dtype.category <= Category.INT):
        index = _hidden(index, under, (frame.f_code, frame.f_lasti))
    if not isinstance(index, Tensor) or index.ndim:
        return index
    from opdsl.formulas.dim_tensor import DimTensor

    return DimTensor(index, ())  # without dims: a plain tensor without dimensions would be read as an int


def _hidden(index: Any, under: Conditions, subscript: object) -> Any:
    """Set an index to 0 where the conditions of the current branches do not hold, and record it in these branches."""
    from opdsl.aten.pointwise.comparison import where

    branch, bare = masked_branch.get(), exposed.get()
    nothing: MaskedBranch | None = None
    with Setting(conditions, ()), Setting(masked_branch, nothing):
        for condition, outcome in under:
            if (id(condition), subscript) in bare:
                continue
            if _fits(condition, index):
                index = where(condition, index, 0) if outcome else where(condition, 0, index)
    if branch is not None and not isinstance(index, Tensor):
        branch.mask(index, subscript)
    return index


def _fits(condition: Any, index: Any) -> bool:
    """Return whether a condition broadcasts to the shape of an index without enlarging it."""
    if is_waiting(condition) or is_waiting(index):
        return True  # a value that is computed only from dims has no positional dimensions
    missing = index.ndim - condition.ndim
    return missing >= 0 and all(
        one in (1, size) for one, size in zip(condition.shape, index.shape[missing:], strict=True)
    )


def opposite(value: Any) -> Any:
    """Evaluate ``not a``, elementwise for tensors."""
    return truth(value).logical_not() if is_element(value) else not value


def chain(first: Any, *pairs: tuple[Callable[[Any, Any], Any], Callable[[], Any]]) -> Any:
    """Evaluate ``a < b < c``: each operand is computed once, and those after a failed comparison not at all."""
    result: Any = True
    left = first
    for compare, get in pairs:
        if not is_element(result):
            if not result:
                return result
            right = get()
            result = compare(left, right)
        else:
            right = _guarded(result, True, get)
            result = result & compare(left, right)
        left = right
    return result


def host(test: Any) -> Any:
    """Return a test if it is a Python value, which statements that cannot be vectorized need, else raise an error.

    Raises:
        FormulaError: the test is of elements.
    """
    if is_element(test):
        raise error_here(
            "this depends on elements, in a statement that cannot be computed for each element",
            "Return after the loop, not within it, and avoid `with`, `try`, `assert`, and `else:` of loops.",
        )
    return test


def surely(value: Any) -> bool:
    """Return whether a loop has ended for certain, for all elements: the flag is the Python value True and no
    tensor.
    """
    return value is True


# ---------------------------------------------------------------------------------------------------------------- loops


def counted(items: Any) -> Any:
    """Return the iterable of a ``for`` loop, unless it is a tensor.

    Raises:
        FormulaError: it is a tensor.
    """
    if is_element(items):
        raise error_here("a loop iterates over a tensor", "Loop over range(n), or fold: self.sum(dim).")
    return items


# Path of the function that runs loops of elements. It defines operators, which are in a higher layer.
_ELEMENT_LOOP = "opdsl.formulas.loops:element_loop"


def loop(
    test: Callable[..., Any],
    turn: Callable[..., tuple[Any, ...]],
    carried: tuple[Any, ...],
    kept: tuple[Any, ...],
    names: Sequence[str],
) -> tuple[Any, ...]:
    """Run a ``while`` loop: in Python while its condition is a Python value, else as a loop inside the kernel.

    Args:
        test, turn: condition and body; both take ``carried``, then ``kept``, and the body returns new carried values.
        carried, kept: values of the variables that the body assigns, and of those that it only reads.
        names: names of the carried and kept variables.
    """
    while True:
        going = test(*carried, *kept)
        if is_element(going):
            module, _, attribute = _ELEMENT_LOOP.partition(":")
            element_loop = getattr(importlib.import_module(module), attribute)
            result: tuple[Any, ...] = element_loop(test, turn, carried, kept, names)
            return result
        if not going:
            return carried
        carried = turn(*carried, *kept)


# ---------------------------------------------------------------------------------------------------------------- calls


def maximum(first: Any, *others: Any, **named: Any) -> Any:
    """Compute ``max`` of numbers or, two at a time, of tensors."""
    if named or not others or not any(map(is_element, (first, *others))):
        return max(first, *others, **named)
    return _folded("maximum", "clamp_min", (first, *others))


def minimum(first: Any, *others: Any, **named: Any) -> Any:
    """Compute ``min`` of numbers or, two at a time, of tensors."""
    if named or not others or not any(map(is_element, (first, *others))):
        return min(first, *others, **named)
    return _folded("minimum", "clamp_max", (first, *others))


def _folded(name: str, clamp: str, values: Sequence[Any]) -> Any:
    tensors = [operand for operand in values if is_element(operand)]
    folded = tensors[0]
    for tensor in tensors[1:]:
        folded = getattr(folded, name)(tensor)
    for operand in values:
        if not is_element(operand):
            folded = getattr(folded, clamp)(operand)
    return folded


def rounded(value: Any, *digits: Any) -> Any:
    """Compute ``round`` of a number or, elementwise and half to even, of a tensor."""
    return value.round() if is_element(value) and not digits else round(value, *digits)


_BUILTINS: dict[str, Callable[..., Any]] = {"max": maximum, "min": minimum, "round": rounded}
_ON_NUMBERS = {getattr(module, name): name for module in (math, cmath) for name in dir(module)
               if callable(getattr(module, name)) and not name.startswith("_")}  # fmt: skip
_CONVERSIONS = {float: "x.to(opdsl.float32)", int: "x.to(opdsl.int64)", bool: "x != 0", complex: "opdsl.complex(x, y)"}


def callee(function: Any) -> Any:
    """Return the function to call instead of ``function``: helper functions are rewritten, as formulas are."""
    instead = instead_of(function)
    if instead is not None:
        return _of_others(function, *instead)
    for name, hook in _BUILTINS.items():
        if function is getattr(builtins, name):  # looked up now, since torch.export replaces built-ins for a time
            return hook
    if isinstance(function, FunctionType):
        if is_tensor_maker(function):
            return filling_tensor
        is_ours = function.__module__ is not None and function.__module__.partition(".")[0] in ("opdsl", "numpy")
        if is_ours or hasattr(function, "operator") or is_rewritten(function.__code__):
            return function
        try:
            return rewritten(function)
        except FormulaError:  # no source, or unsupported code: the function is called unchanged
            return function
    try:
        if function in _ON_NUMBERS:
            return _of_others(function, "host numbers", call_named(_ON_NUMBERS[function]))
        if function in _CONVERSIONS:
            return _of_others(function, "host numbers", _CONVERSIONS[function])
    except TypeError:  # not hashable
        pass
    return function


def ranged(function: Any, *ends: Callable[[], Any]) -> Any:
    """Evaluate ``range(start, stop)``, whose ends may be elements of tensors (the ranges of a ragged dim)."""
    if function is not builtins.range:
        return callee(function)(*[end() for end in ends])
    return importlib.import_module("opdsl.formulas.ranges").element_range(*ends)


def _of_others(function: Callable[..., Any], kind: str, instead: str) -> Callable[..., Any]:
    """Wrap a function of Python numbers, or of another library, so that it raises an error if called with tensors."""

    def call(*positional: Any, **named: Any) -> Any:
        if any(map(is_element, positional)):
            function_name = getattr(function, "__name__", str(function))
            raise error_here(f"`{function_name}` is a function of {kind}, but this is an element", f"Write {instead}.")
        return function(*positional, **named)

    return call


use_hooks(sys.modules[__name__])
