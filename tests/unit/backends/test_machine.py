"""Tests of machine code written in typed Python: it computes what Python does, and refuses code that it does not
support.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Annotated, Any, cast

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdsl.backends.cpu import engine
from opdsl.backends.cpu.machine import call, objects
from opdsl.backends.cpu.machine.language import (
    Address,
    Constant,
    Int32,
    Padding,
    Pointer,
    Records,
    Struct,
    Words,
    exported,
    exports,
    fields,
    internal,
    local,
    record_size,
    unrolled,
    words,
)
from opdsl.backends.cpu.machine.text import module_text

_LIMIT = 6
STEP = 2


class Pair(Struct):
    first: int
    narrow: Int32
    gap: Annotated[None, Padding(4)]
    second: int


@exported
def loops(a: int, b: int) -> int:
    total = 0
    for i in range(a):
        if i == b:
            continue
        if total > 1000:
            break
        for k in range(_LIMIT, -2, -2):
            total += i * k if k != 4 else -b
    while total < -5:
        total = total + 7
    return total


@exported
def choices(a: int, b: int) -> int:
    if (a > 0 and b // (a + 1) > 2) or not (a != b or a > 30):
        return min(a, b) - max(a, 3)
    elif a in (1, 2, b):
        return (a << 3 | 5) ^ 2 & a
    is_small = a < 3 or b < 3
    return 1 if is_small else b % 7 + (b >> 1)


@internal()
def twice(value: int) -> int:
    return value + value


@exported
def through_memory(a: int, b: int) -> int:
    room = local(int, 4)
    for i in range(4):
        room[i] = a + i
    room[1] += twice(b)
    return room[0] + room[1] + (room + 2)[1]


@exported
def of_records(pairs: Records[Pair], count: int) -> int:
    total = 0
    for i in range(count):
        pair = pairs[i]
        total += pair.first + pair.narrow + pair.second
        pair.narrow = 0 - pair.narrow
    return total


@exported
def calls_back(function: Callable[[int], int], numbers: Words, count: int) -> int:
    return function(numbers[count - 1])


@internal()
def power(base: int, exponent: Constant) -> int:
    total = 1
    for _ in unrolled(range(exponent)):
        total = total * base
    return total


def _pairs(count: int) -> tuple[int, ...]:
    return tuple(2 * index + 3 for index in range(count))


@exported
def constants(a: int, b: int) -> int:
    room = local(int, 3)
    for k in unrolled(range(3)):
        room[k] = power(a, k) + (b if k > 1 else -b)
    total = 0
    for number in unrolled(_pairs(STEP)):
        total += number * room[number % 3]
    return total


@functools.cache
def _code() -> engine.Code:
    here = [sys.modules[__name__]]
    return engine.compile_ir(f"machine {module_text(here)}", lambda: module_text(here), exports(here))


def _native(name: str, *kinds: Any) -> Callable[..., int]:
    return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(_code().address(name))


class _Room(list[int]):
    """Python equivalent of the memory that ``local`` returns."""

    def __add__(self, count: Any) -> Any:
        return _Room(self[count:])


@pytest.mark.parametrize("function", [loops, choices])
@given(a=st.integers(0, 40), b=st.integers(0, 40))
def test_it_computes_what_python_does(function: Callable[[int, int], int], a: int, b: int) -> None:
    assert _native(function.__name__, ctypes.c_int64, ctypes.c_int64)(a, b) == function(a, b)


@given(a=st.integers(-99, 99), b=st.integers(-99, 99))
def test_memory_of_a_function(a: int, b: int) -> None:
    scope = {**globals(), "local": lambda kind, count: _Room([0] * count)}
    in_python = type(through_memory)(through_memory.__code__, scope)
    assert _native("through_memory", ctypes.c_int64, ctypes.c_int64)(a, b) == in_python(a, b)


def _in_python(function: Callable[..., int]) -> Callable[..., int]:
    """Return the function as Python runs it."""
    scope = {**globals(), "local": lambda kind, count: _Room([0] * count), "unrolled": iter}
    scope["power"] = type(power)(power.__code__, scope)
    return type(function)(function.__code__, scope)


@given(a=st.integers(-99, 99), b=st.integers(-99, 99))
def test_what_is_unrolled_and_printed_for_constants(a: int, b: int) -> None:
    assert _native("constants", ctypes.c_int64, ctypes.c_int64)(a, b) == _in_python(constants)(a, b)


def test_constants_are_given_when_a_module_is_printed() -> None:
    here = [sys.modules[__name__]]
    code = engine.compile_ir("given", lambda: module_text(here, {"STEP": 3}), ["constants"])
    native = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(code.address("constants"))
    # the memory holds 1 - 5, 7 - 5, 49 + 5; the factors are 3, 5, 7
    assert native(7, 5) == 3 * -4 + 5 * 54 + 7 * 2


def test_records_lie_as_c_has_them() -> None:
    class C(ctypes.Structure):
        _fields_ = (
            ("first", ctypes.c_int64),
            ("narrow", ctypes.c_int32),
            ("gap", ctypes.c_char * 4),
            ("second", ctypes.c_int64),
        )

    assert {name: field.offset for name, field in fields(Pair).items()} == {
        name: getattr(C, name).offset for name in ("first", "narrow", "gap", "second")
    }
    assert record_size(Pair) == ctypes.sizeof(C)
    pairs = (C * 2)(C(1, -2, b"", 3), C(10, 20, b"", 30))
    assert _native("of_records", ctypes.c_void_p, ctypes.c_int64)(ctypes.addressof(pairs), 2) == 62
    assert [pair.narrow for pair in pairs] == [2, -20]


def test_an_ndarray_lies_as_it_is_described() -> None:
    array = numpy.empty((3, 5))
    places = {name: id(array) + field.offset for name, field in fields(objects.Array).items()}
    assert ctypes.c_void_p.from_address(places["type"]).value == id(numpy.ndarray)
    assert ctypes.c_void_p.from_address(places["data"]).value == array.ctypes.data
    assert ctypes.c_int32.from_address(places["dimensions"]).value == 2
    assert ctypes.c_void_p.from_address(places["descriptor"]).value == id(array.dtype)
    assert ctypes.c_int32.from_address(places["flags"]).value & objects.WRITEABLE


def test_functions_in_memory_are_called() -> None:
    square = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda value: value * value)
    numbers = (ctypes.c_int64 * 2)(3, 7)
    address = ctypes.cast(square, ctypes.c_void_p).value
    kinds = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    assert _native("calls_back", *kinds)(address, ctypes.addressof(numbers), 2) == 49


def test_words_are_named() -> None:
    assert words(call.Input, kind=1, lowest=2, highest=3) == [1, 2, 3]
    with pytest.raises(TypeError, match="Input has the fields kind, lowest, highest, got kind, largest"):
        words(call.Input, kind=1, largest=3)


def _untyped(a: int) -> int:
    return a if a else 1


def _mixed(a: int, b: float) -> float:
    return cast(float, a + b)


def _nameless(a: int) -> int:
    return nowhere(a)  # type: ignore[name-defined, no-any-return]  # noqa: F821


def _unknown(a: Address, b: Pointer[int]) -> None:
    with a:  # type: ignore[attr-defined]
        pass


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_untyped, "a condition has to be a bool: a"),
        (_mixed, r"no operation of numbers of one type: a \+ b"),
        (_nameless, "no such name: nowhere"),
        (_unknown, "no statement of machine code: with a"),
    ],
)
def test_what_it_cannot_hold_is_refused(function: Callable[..., Any], why: str) -> None:
    module = ModuleType(__name__)
    module.__dict__[function.__name__] = type(function)(function.__code__, function.__globals__, function.__name__)
    copy = module.__dict__[function.__name__]
    copy.__annotations__ = function.__annotations__
    exported(copy)
    with pytest.raises(TypeError, match=why):
        module_text([module])
