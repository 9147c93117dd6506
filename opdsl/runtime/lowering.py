"""Calls lowered: run once on arrays that record what is done, and on numbers that record what is asked of them.

What is done to an array becomes a step; what is asked of a number becomes a guard, what is made of it an expression. So
one run gives the plan of every call that is like it. Where sizes are such numbers, too, it is the plan of a form: of
all calls that differ in their sizes alone. PyTorch's ``SymInt`` and JAX's tracers are the same idea.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
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
    "concrete",
    "deferred",
    "is_lowered",
    "lowering",
    "made_once",
    "may_choose",
    "sizes_are_symbols",
]

P = ParamSpec("P")
R = TypeVar("R")


_WORDS = re.compile(r"\w+")

# A call that does more, or asks more often, goes on in a loop that sizes or elements decide.
_MOST_STEPS = 512
_MOST_QUESTIONS = 10_000


class _NoElementsError(NotLoweredError, AttributeError):
    """Something is asked of an array that only its elements tell."""


class SymbolicArray:
    """The array of a tensor of which a plan only knows where it will find it.

    text: the expression of the array in the plan.
    offset: elements in its storage before its first one.
    dtype: of the array's items, as NumPy has it.
    viewed: of a view the tensor that it is taken of, and how many elements lie before its first one there.
    source: of a view the array that is no view of another one, and how many bytes lie before its first element there.
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

    # NumPy would make an array of one object of it, and Python would take it for true.
    __array__ = __bool__ = __len__ = __iter__ = __getitem__ = __setitem__ = item = _refuse


class Unknown(NamedTuple):
    """A result of which a plan knows nothing: what a kernel gives that is run as it is, or a truth about elements."""

    text: str

    def __bool__(self) -> bool:
        raise NotLoweredError("elements decide what is done")


class Check(NamedTuple):
    """A guard that depends on what steps have given: what was asked, and what was answered."""

    text: str
    outcome: bool


class Lines(NamedTuple):
    """Something is done by lines of the plan: ``write`` gives them, from what gives the expression of a value."""

    write: Callable[[Callable[[Any], str], Lowering], list[str]]


class Within(NamedTuple):
    """What is done from here on is done within a context; None ends the innermost one.

    enter: makes the context.
    """

    enter: Callable[[], Any] | None


class Written(NamedTuple):
    """A write to memory is counted.

    counter: the tensor that counts the writes.
    amount: by how much; less than one where writes that were counted before are a part of this one.
    """

    counter: Any
    amount: int


class Step(NamedTuple):
    """One thing that a plan does: ``results = function(*operands)``.

    function: what is called; it has no state that sizes decide.
    operands: arrays, tensors, symbols, tuples of them, and constants.
    results: the names of what it gives; none where it writes alone.
    """

    function: Callable[..., Any]
    operands: tuple[Any, ...]
    results: tuple[str, ...]


class Lowering:
    """What is recorded while a call is lowered.

    guards: what was asked, as expressions, and what was answered.
    parts: expressions that are computed once, with the names of their values.
    steps: what is done, in order.
    constants: what names in expressions mean.
    packets: of every operator that was called, with its generation.
    arguments: the expression of the storage of each argument, by the tensor that stands for it.
    may_hand_numbers: whether compiled kernels may convert numbers.
    shared: how a plan asks whether two of these are the same memory, of which each has its own.
    edges: where gradients of tensors go that were made on the way: expressions, by the tensors' ids.
    followed: arguments, and views of them, that require grad from here on. Which others do so is not known: no call may
        follow.
    hands_numbers: whether a compiled kernel converts numbers, and raises OverflowError where one does not fit.
    compiles: whether kernels are compiled; otherwise only what is called is of interest, and no plan is made.
    originals: of a rehearsal, which makes no plan, the arguments by the ids of the tensors that stand for them.

    Args:
        taken: names that the plan's own must differ from.
        is_exact: whether the plan is for the very geometries of the call; sizes are plain integers then.
        is_general: see ``may_choose``.
        most_steps: how many there may be.
        guesses: answers about elements.
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
        self.guards: dict[str, bool] = {}
        self.steps: list[Step | Check | Lines | Within | Written] = []
        self.constants: dict[str, object] = {}
        self.packets: dict[Any, int] = {}
        self.arguments: dict[Any, str] = {}
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

    def name(self, prefix: str) -> str:
        """A name that is not taken."""
        self._names += 1
        name = f"{prefix}{self._names}"
        return name if name not in self._taken else self.name(prefix)

    def constant(self, value: object) -> str:
        """The name of a value that every call has."""
        for name, known in self.constants.items():
            if known is value:
                return name
        name = self.name("c")
        self.constants[name] = value
        return name

    def size(self, text: str, example: int, least: int | None = 2) -> Symbol:
        """A symbol of an integer.

        Args:
            text: its expression.
            example: its value in the call that is lowered.
            least: what it is at least; None where nothing is known.
        """
        self.bounds[text] = least
        return Symbol(self, example, {(text,): 1}, "", least)

    def part(self, text: str, example: int, least: int | None) -> Symbol:
        """A symbol of an integer that the plan computes once, wherever it is used.

        Args:
            text, example, least: see ``size``.
        """
        if self.is_late(text):
            return self.size(text, example, least)
        if text not in self.parts:
            self.parts[text] = self.name("part")
        return self.size(self.parts[text], example, least)

    def number(self, text: str, example: Any) -> Symbol:
        """A symbol of a number that is no integer."""
        return Symbol(self, example, None, text)

    def ask(self, text: str, outcome: bool) -> bool:
        """Note a guard, and answer it as the example does."""
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
        """Whether this was asked about an array before, and nothing has been written since; it is asked now."""
        written = sum(isinstance(step, Step) and not step.results for step in self.steps)
        known, self._asked_of_arrays[key] = self._asked_of_arrays.get(key), written
        return known == written

    def is_late(self, text: str) -> bool:
        """Whether an expression is of what steps have given."""
        return not self._late.isdisjoint(_WORDS.findall(text))

    def writes(self) -> bool:
        """Whether an argument has been written."""
        return any(not is_symbol(argument._writes) or len(argument._writes.terms) > 1 for argument in self.arguments)

    def run(self, function: Callable[..., Any], operands: Sequence[Any], results: Sequence[str]) -> tuple[str, ...]:
        """Note a step; the names of its results begin as is given."""
        if len(self.steps) >= self._most_steps:
            raise NotLoweredError("too many steps")
        names = tuple(self.name(result) for result in results)
        self._late.update(names)
        self.steps.append(Step(function, tuple(operands), names))
        return names

    def allocates(
        self,
        function: Callable[..., Any],
        operands: Sequence[Any],
        allocating: Callable[..., Callable[..., Any] | None],
    ) -> bool:
        """Whether a step is noted that makes its last operand, too: a new array that nothing has used before.

        Args:
            function: fills its last operand alone.
            operands: of the step.
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
        """Which step has made an array of nothing, if none since then may have used it."""
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
        """``run``, for one result, of a function that depends on its operands alone: it is noted once."""
        key = (function, tuple(map(self.source, operands)))
        if key not in self._noted:
            (self._noted[key],) = self.run(function, operands, [result])
        return self._noted[key]

    def source(self, value: Any) -> str:
        """The expression of a value in the plan."""
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
    """The names in the expressions of a step's operands."""
    names: set[str] = set()
    for operand in operands:
        if type(operand) in (tuple, list):
            names |= _names(operand)
        else:
            names.update(_WORDS.findall(str(getattr(getattr(operand, "array", operand), "text", ""))))
    return names


lowering: ContextVar[Lowering | None] = ContextVar("opdsl_lowering", default=None)
"""What records in this thread and task; None where nothing is lowered."""


def sizes_are_symbols() -> bool:
    """Whether a call is lowered for a form, so that its sizes are no plain integers."""
    recorder = lowering.get()
    return recorder is not None and not recorder.is_exact


def may_choose() -> bool:
    """Whether sizes may be asked what decides nothing but how fast kernels are.

    The first plans of a form are for the sizes that come. Where these differ too often in such answers, a general plan
    takes kernels that are right, and fair, for all.
    """
    recorder = lowering.get()
    return recorder is None or not recorder.is_general


class Noted:
    """A compiled function while a call is lowered: calling it notes a step.

    Args:
        function: the compiled one; the outputs that it is given are its last arguments.
        results: for each output the NumPy dtype of the array that it makes, None where the output is given.
        first: what it is called with before all else.
        allocating: makes of the function, and of what makes the one output that it is given, a function that does both;
            None where there is none.
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
        """Note the step, and give the arrays that it will make, or fill."""
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
    """A function whose results are kept, the latest ones, but for those that belong to a call that is lowered."""

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
    """Nothing is recorded while this is entered: what is made is for real."""
    nothing: Lowering | None = None
    return Setting(lowering, nothing)


def is_lowered(value: object) -> bool:
    """Whether a value is known to a plan only, alone or in a tuple."""
    kind = type(value)
    if kind is tuple:
        return any(is_lowered(element) for element in cast("tuple[object, ...]", value))
    return kind is Symbol or kind is SymbolicArray


def deferred(function: Callable[P, R]) -> Callable[P, R]:
    """A function of numbers that a plan calls itself, where one of the numbers is known to it only.

    Its result is then a symbol of which nothing is known, and the function must depend on its arguments alone.
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
        # A step, which runs whether or not its result is used: it may raise.
        text = owner.once(function, args, "number")
        size: Any = owner.size(text, example, None) if type(example) is int else owner.number(text, example)
        return cast("R", size)

    return within
