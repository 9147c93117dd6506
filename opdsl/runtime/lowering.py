"""Tracing of calls for lowering: a call runs once on symbolic arrays and numbers, which record steps and guards.

An operation on an array becomes a step of the plan; a comparison of a number becomes a guard; arithmetic on a number
becomes an expression. So one run gives the plan of all calls that satisfy the guards. If sizes are symbolic too, it is
the plan of a form: of all calls that differ only in their sizes. PyTorch's ``SymInt`` and JAX's tracers work likewise.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

import numpy

from opdsl.runtime.guesses import Guesses
from opdsl.runtime.scopes import Setting
from opdsl.runtime.symbol import NotLoweredError, Symbol, is_symbol

__all__ = [
    "Check",
    "Lines",
    "Lowering",
    "Noted",
    "Step",
    "SymbolicArray",
    "Unknown",
    "Within",
    "Written",
    "allocates_apart",
    "concrete",
    "deferred",
    "is_lowered",
    "layout_watchers",
    "lowering",
    "made_once",
    "may_choose",
    "report_layout",
    "sizes_are_symbols",
    "watching_layout",
]

P = ParamSpec("P")
R = TypeVar("R")


_WORDS = re.compile(r"\w+")

# Limits of steps and guards: a call that exceeds them probably loops over sizes or elements.
_MOST_STEPS = 512
_MOST_QUESTIONS = 10_000


class _NoElementsError(NotLoweredError, AttributeError):
    """Raised when elements of a symbolic array are accessed; also an AttributeError, for ``getattr``."""


class SymbolicArray:
    """Array of a tensor during lowering: a plan only knows the expression of the array.

    text: the expression of the array in the plan.
    offset: the number of elements in its storage before its first one.
    dtype: the NumPy dtype of the array's elements.
    viewed: for a view, the tensor that it is a view of, and the offset of its first element from that tensor's.
    source: for a view, the array at the end of the chain of views, and the byte offset of its first element there.
    """

    __slots__ = ("dtype", "offset", "source", "text", "viewed")

    def __init__(self, text: str, dtype: Any, offset: Any = 0, viewed: tuple[Any, int] | None = None) -> None:
        self.text = text
        self.source: tuple[SymbolicArray, Any] = self, 0
        self.dtype = dtype
        self.offset = offset
        self.viewed = viewed

    def _refuse(self, *_: object, **__: object) -> Any:
        raise NotLoweredError("elements are read")

    def __getattr__(self, name: str) -> Any:
        raise _NoElementsError(f"elements are read (.{name})")

    # Without these methods, NumPy would make an object array of it, and Python would consider it true.
    __array__ = __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = item = _refuse
    # Without these, arithmetic would be an error of types, not one that elements are read.
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __matmul__ = __rmatmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _refuse
    __and__ = __or__ = __xor__ = __neg__ = __pos__ = __abs__ = __invert__ = __int__ = __float__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float, complex, numpy.generic, numpy.ndarray)):
            self._refuse()
        return self is other


class Unknown(NamedTuple):
    """Result whose value a plan does not know: that of a kernel that runs unlowered, or a condition on elements."""

    text: str

    def __bool__(self) -> bool:
        raise NotLoweredError("elements decide what is done")


class Check(NamedTuple):
    """Guard on the result of a step: the condition, and the outcome for which the plan was made."""

    text: str
    outcome: bool


class Lines(NamedTuple):
    """Steps of a plan given as source lines: ``write`` returns them; it takes a function from values to expressions."""

    write: Callable[[Callable[[Any], str], Lowering], list[str]]


class Within(NamedTuple):
    """Begin of a context within which the following steps run; None ends the innermost one.

    enter: makes the context manager.
    """

    enter: Callable[[], Any] | None


class Written(NamedTuple):
    """Record of a write to memory, which updates a version counter.

    counter: the tensor that counts the writes.
    amount: the increment; less than one if writes that were counted before are part of this write.
    """

    counter: Any
    amount: int


class Step(NamedTuple):
    """Step of a plan: ``results = function(*operands)``.

    function: the function to call; it has no state that depends on sizes.
    operands: arrays, tensors, symbols, tuples of them, and constants.
    results: the names of its results; empty if it only writes.
    """

    function: Callable[..., Any]
    operands: tuple[Any, ...]
    results: tuple[str, ...]


class Lowering:
    """Recorder of a call that is being lowered: collects steps, guards and constants.

    guards: the conditions of the plan, as expressions, and their outcomes.
    parts: subexpressions that are computed once, and the names of their values.
    steps: the steps, in order.
    constants: the values of names in expressions.
    packets: the packet of every operator that was called, with its generation.
    arguments: the expression of the storage of each argument, by its symbolic tensor.
    roots: the tensors that own the storage of arguments in the call that is lowered, by the same symbolic tensors. Only
        arguments that know where they begin in their storage are in it.
    arrays: the expressions of the NumPy arrays of arguments on the CPU, by the ids of the symbolic tensors.
    may_hand_numbers: whether Python numbers may be passed to compiled kernels, which convert them.
    shared: the format of the test whether two arguments share storage.
    edges: the expressions of the autograd edges of intermediate tensors, by the tensors' ids.
    followed: arguments, and views of them, that require grad from here on. It is unknown which other tensors then do,
        so no further call is allowed.
    hands_numbers: whether a compiled kernel converts numbers, and raises OverflowError if one does not fit.
    compiles: whether kernels are compiled; False if only the operator calls are of interest, and no plan is made.
    originals: in a dry run, which makes no plan, the arguments by the ids of their symbolic tensors.
    note_bound: see ``SymbolOwner``.
    note_layout: see ``watching_layout``.
    is_pinned: whether a guard requires a single value of a number.
    allocates_apart: whether each output is allocated by a step of its own, as plans that are shipped need it.

    Args:
        taken: names that the plan's own names must not use.
        is_exact: whether the plan is for the exact geometries of the call, so that sizes are plain integers.
        is_general: see ``may_choose``.
        most_steps: the largest number of steps.
        guesses: outcomes of conditions on elements.
    """

    def __init__(
        self,
        taken: Collection[str] = (),
        *,
        is_exact: bool = False,
        is_general: bool = False,
        most_steps: int | None = None,
        guesses: Guesses | None = None,
    ) -> None:
        self._taken = frozenset(taken)
        self.is_exact = is_exact
        self.is_general = is_general
        self._most_steps = most_steps or _MOST_STEPS
        self.guesses = Guesses() if guesses is None else guesses
        self.may_hand_numbers = is_exact
        self.hands_numbers = False
        self.compiles = True
        self.originals: dict[int, Any] = {}
        self.note_bound: Callable[[Symbol], None] | None = None
        self.note_layout: Callable[[], None] | None = None
        self.allocates_apart = False
        self.guards: dict[str, bool] = {}
        self.steps: list[Step | Check | Lines | Within | Written] = []
        self.constants: dict[str, object] = {}
        self.packets: dict[Any, int] = {}
        self.arguments: dict[Any, str] = {}
        self.roots: dict[Any, int] = {}
        self.arrays: dict[int, str] = {}
        self.shared = "{} is {}"
        self.parts: dict[str, str] = {}
        self.edges: dict[int, str] = {}
        self.followed: list[Any] = []
        self.bounds: dict[str, int | None] = {}
        self._late: set[str] = set()
        self._checked: set[str] = set()
        self._noted: dict[tuple[Any, ...], str] = {}
        self._asked_of_arrays: dict[tuple[str, ...], int] = {}
        self._names = 0
        self._asked = 0
        self.is_pinned = False

    def name(self, prefix: str) -> str:
        """Return a new name with the given prefix, which is not taken."""
        self._names += 1
        name = f"{prefix}{self._names}"
        return name if name not in self._taken else self.name(prefix)

    def constant(self, value: object) -> str:
        """Return the name of a constant, which has the same value in every call."""
        for name, known in self.constants.items():
            if known is value:
                return name
        self._names += 1
        name = f"c{self._names}"
        if name in self._taken:
            name = self.name("c")
        self.constants[name] = value
        return name

    def size(self, text: str, example: int, least: int | None = 2) -> Symbol:
        """Return a symbol for an integer.

        Args:
            text: its expression.
            example: its value in the call that is lowered.
            least: its lower bound; None if unknown.
        """
        self.bounds[text] = least
        return Symbol(self, example, {(text,): 1}, text, least)

    def part(self, text: str, example: int, least: int | None) -> Symbol:
        """Return a symbol for an integer expression that the plan computes only once.

        Args:
            text, example, least: see ``size``.
        """
        if self.is_late(text):
            return self.size(text, example, least)
        if text not in self.parts:
            self.parts[text] = self.name("part")
        return self.size(self.parts[text], example, least)

    def number(self, text: str, example: Any) -> Symbol:
        """Return a symbol for a number that is no integer."""
        return Symbol(self, example, None, text)

    def ask(self, text: str, outcome: bool) -> bool:
        """Record a guard, and return its outcome in the call that is lowered."""
        self._asked += 1
        if self._asked > _MOST_QUESTIONS:
            raise NotLoweredError("too many questions of sizes")
        if self.is_late(text):
            outcome = self.guesses.answer(text, outcome)
            if self.writes():
                raise NotLoweredError("elements decide what is done after something was written")
            if text not in self._checked:
                self._checked.add(text)
                self.steps.append(Check(text, outcome))
        else:
            self.guards.setdefault(text, outcome)
        return outcome

    def is_checked(self, key: tuple[str, ...]) -> bool:
        """Return whether a check of an array was recorded before, with no write since; record it now."""
        written = sum(isinstance(step, Step) and not step.results for step in self.steps)
        known, self._asked_of_arrays[key] = self._asked_of_arrays.get(key), written
        return known == written

    def is_late(self, text: str) -> bool:
        """Return whether an expression depends on results of steps."""
        return not self._late.isdisjoint(_WORDS.findall(text))

    def writes(self) -> bool:
        """Return whether an argument has been written."""
        return any(not is_symbol(argument._writes) or len(argument._writes.terms) > 1 for argument in self.arguments)

    def run(self, function: Callable[..., Any], operands: Sequence[Any], results: Sequence[str]) -> tuple[str, ...]:
        """Record a step, and return the names of its results, which have the given prefixes."""
        if len(self.steps) >= self._most_steps:
            raise NotLoweredError("too many steps")
        names = tuple([self.name(result) for result in results])
        self._late.update(names)
        self.steps.append(Step(function, tuple(operands), names))
        return names

    def allocates(
        self,
        function: Callable[..., Any],
        operands: Sequence[Any],
        allocating: Callable[..., Callable[..., Any] | None],
    ) -> bool:
        """Record a step that also allocates its output, its last operand; return False if that is not possible.

        It is possible if the output is a new array that no step has used. The step that allocates it is removed.

        Args:
            function: writes only its last operand.
            operands: the operands of the step.
            allocating: see ``Noted``.
        """
        target = operands[-1] if operands else None
        if type(target) is not SymbolicArray or target.text in _names(operands[:-1]):
            return False
        place = self._unused(target.text)
        together = None if place is None else allocating(function, cast("Step", self.steps[place]).function)
        if place is None or together is None:
            return False
        del self.steps[place]
        self.steps.append(Step(together, tuple(operands[:-1]), (target.text,)))
        return True

    def _unused(self, text: str) -> int | None:
        """Return the index of the step that allocated an array, if no later step may have used the array, else None."""
        for place in range(len(self.steps) - 1, -1, -1):
            step = self.steps[place]
            if not isinstance(step, Step):
                if not isinstance(step, (Check, Written)):
                    return None
            elif step.results == (text,):
                return None if step.operands else place
            elif text in _names(step.operands):
                return None
        return None

    def once(self, function: Callable[..., Any], operands: Sequence[Any], result: str) -> str:
        """Record a step with one result, of a pure function, or return the result if it was recorded before."""
        key = (function, tuple(map(self.source, operands)))
        if key not in self._noted:
            (self._noted[key],) = self.run(function, operands, [result])
        return self._noted[key]

    def source(self, value: Any) -> str:
        """Return the expression of a value in the plan."""
        if isinstance(value, (Symbol, SymbolicArray, Unknown)):
            return value.text
        if type(value) is tuple and any(is_lowered(element) for element in value):
            return f"({''.join(f'{self.source(element)}, ' for element in value)})"
        if value is None or type(value) in (int, bool) or (type(value) is tuple and not value):
            return repr(value)
        if type(value) is tuple and all(type(element) is int for element in value):
            return repr(value)
        if isinstance(value, numpy.ndarray):
            raise NotLoweredError("an array that was made while the call was lowered")
        return self.constant(value)


def _names(operands: Sequence[Any]) -> set[str]:
    """Return the names in the expressions of a step's operands."""
    names: set[str] = set()
    for operand in operands:
        if type(operand) in (tuple, list):
            names |= _names(operand)
        else:
            names.update(_WORDS.findall(str(getattr(getattr(operand, "array", operand), "text", ""))))
    return names


lowering: ContextVar[Lowering | None] = ContextVar("opdsl_lowering", default=None)

layout_watchers: list[Lowering] = []
"""Lowerings of all threads with ``note_layout``: while there is none, methods of tensors need not look for theirs."""


@contextmanager
def watching_layout(recorder: Lowering, note: Callable[[], None]) -> Iterator[None]:
    """Call a function before a method of a tensor tells its strides, or whether it is contiguous, while ``recorder``
    records.
    """
    recorder.note_layout = note
    layout_watchers.append(recorder)
    try:
        yield
    finally:
        layout_watchers.remove(recorder)


def report_layout() -> None:
    """Report that the strides of a tensor are asked for, or whether it is contiguous, if the lowering of this thread
    wants to know.
    """
    recorder = lowering.get()
    if recorder is not None and recorder.note_layout is not None:
        recorder.note_layout()


"""Recorder of lowering in this thread and task, or None."""


def sizes_are_symbols() -> bool:
    """Return whether a call is being lowered for a form, so that its sizes are symbols instead of plain integers."""
    recorder = lowering.get()
    return recorder is not None and not recorder.is_exact


def may_choose() -> bool:
    """Return whether kernels may be specialized to sizes for speed, by guards that do not affect results.

    The first plans of a form are specialized to the sizes that occur. If too many plans result, a general plan uses
    kernels that are correct, and reasonably fast, for all sizes.
    """
    recorder = lowering.get()
    return recorder is None or not recorder.is_general


def allocates_apart() -> bool:
    """Return whether outputs are allocated by steps of their own while a call is lowered: in general plans, since they
    may be large, and in those that are shipped.
    """
    recorder = lowering.get()
    return recorder is not None and (recorder.is_general or recorder.allocates_apart)


class Noted:
    """Wrapper of a compiled function during lowering: calling it records a step.

    Args:
        function: the compiled function; outputs that are given are its last arguments.
        results: for each output the NumPy dtype of the array that the function makes; None if the output is given.
        first: leading arguments of every call.
        allocating: combines the function with the function that allocates its given output, into one that does both;
            returns None if it cannot. None if there is no such combination.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        results: Sequence[Any],
        first: Sequence[Any] = (),
        allocating: Callable[..., Callable[..., Any] | None] | None = None,
    ) -> None:
        self.function = function
        self.results = results
        self.first = first
        self.allocating = allocating

    def __call__(self, *operands: Any) -> Any:
        """Record the step, and return the symbolic arrays of its outputs."""
        recorder = lowering.get()
        if recorder is None:
            raise NotLoweredError("a noted function outside of the lowering that it was made in")
        if self.allocating is not None and recorder.allocates(self.function, operands, self.allocating):
            return operands[-1]
        targets = iter(operands[len(operands) - sum(dtype is None for dtype in self.results) :])
        count = sum(dtype is not None for dtype in self.results)
        names = iter(recorder.run(self.function, (*self.first, *operands), ["array"] * count))
        arrays = [next(targets) if dtype is None else SymbolicArray(next(names), dtype) for dtype in self.results]
        return arrays[0] if len(arrays) == 1 else tuple(arrays)


def made_once(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that caches the latest results of a function, except those computed during lowering."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        kept = functools.lru_cache(maxsize=most)(function)

        @functools.wraps(function)
        def once(*args: P.args, **kwargs: P.kwargs) -> R:
            if lowering.get() is not None:
                return function(*args, **kwargs)
            return kept(*args, **kwargs)  # type: ignore[arg-type]

        once.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
        return once

    return decorate


def concrete() -> Setting[Lowering | None]:
    """Return a context manager in which nothing is recorded, so that operations are executed."""
    nothing: Lowering | None = None
    return Setting(lowering, nothing)


def is_lowered(value: object) -> bool:
    """Return whether a value is a symbolic number or array, or a tuple that contains one."""
    kind = type(value)
    if kind is tuple:
        return any(is_lowered(element) for element in cast("tuple[object, ...]", value))
    return kind is Symbol or kind is SymbolicArray


def deferred(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function of numbers so that the plan calls it if an argument is symbolic.

    Its result is then a symbol without known bounds. The function must be pure.
    """

    @functools.wraps(function)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        symbol = next((arg for arg in args if type(arg) is Symbol), None)
        if symbol is None:
            return function(*args, **kwargs)
        owner = cast("Lowering", symbol.owner)
        if kwargs:
            raise NotLoweredError(f"{function.__name__} of a symbol takes no keywords")
        run = cast("Callable[..., Any]", function)
        example = run(*[arg.example if isinstance(arg, Symbol) else arg for arg in args])
        # A step runs even if its result is unused, since it may raise an error.
        text = owner.once(function, args, "number")
        size: Any = owner.size(text, example, None) if type(example) is int else owner.number(text, example)
        return cast("R", size)

    return within
