"""Tests that every form of a call reaches the overload that PyTorch's call reaches, or is rejected by both.

The forms follow from the schemas: each argument has every kind of value, is passed by position, by its name and by
PyTorch's other names for it; calls with too many, too few and unknown arguments are included.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from keyword import iskeyword
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import pytest
import torch
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function

import opdsl
from opdsl.dispatch import Operator
from opdsl.errors import ArgumentError
from opdsl.schema import Argument
from tests.torch.twins import Twins, of

# Otherwise every fourth form is called.
FULL = "OPDSL_TEST_FULL" in os.environ

# Calls that reach an operator in opdsl and that PyTorch rejects, such as a bool tensor in a list of floats.
DIFFERENT = (
    "x.set_(t): None, not aten::set_.source_Tensor",  # it rejects other dtypes
    "lib.histogram(x, range=(t, 0)): None, not aten::histogram.bin_ct",
    "lib.histogramdd(x, (0, 1), (t, 0)): None, not aten::histogramdd",
    "lib.gradient(x, spacing=(t, 0)): None, not aten::gradient.scalarrayint",
    *(
        f"lib.gradient(x, spacing=({name}), dim=(0, 1)): None, not aten::gradient.scalarrayarray"
        for name in ("i, 0", "t, 0", "0, z")
    ),
)

# Values of arguments. `x` a matrix, `z` a number as a tensor, `i` an integer as one, `t` a bool, `g` one that requires
# a gradient, `o` a vector of one integer, `c` bools, `v` a vector.
VALUES = (
    "x",
    "z",
    "i",
    "g",
    "t",
    "o",
    "c",
    "v",
    "2",
    "1.5",
    "True",
    "1j",
    "None",
    "'sum'",
    "numpy.float64(1.5)",
    "numpy.int64(1)",
    "numpy.bool_(True)",
    "(0, 1)",
    "[0]",
    "()",
    "(True,)",
    "(1.5, 2)",
    "(numpy.int64(1), 0)",
    "(i, 0)",
    "(0, i)",
    "(t, 0)",
    "[o]",
    "(0, z)",
    "(0, 1.5)",
    "(0, True)",
    "(0, None)",
    "[[0], 1]",
    "[x, x]",
    "(x, None)",
    "lib.float64",
    "float",
    "'cpu'",
    "slice(1)",
)

# A valid value, by schema type.
FITTING = {
    "Tensor": "x",
    "Tensor[]": "[x, x]",
    "Scalar": "2",
    "int": "0",
    "SymInt": "0",
    "float": "1.5",
    "bool": "True",
    "int[]": "(0, 1)",
    "SymInt[]": "(0, 1)",
    "Scalar[]": "(1, 2)",
    "float[]": "(1.5, 2.0)",
    "bool[]": "(True, True)",
    "ScalarType": "lib.float64",
    "MemoryFormat": "lib.contiguous_format",
    "Layout": "lib.strided",
    "Device": "'cpu'",
    "str": "'sum'",
}

OTHER_NAMES = {"input": ("x", "a", "x1"), "other": ("x2",), "dim": ("axis",), "keepdim": ("keepdims",)}

# Python functions of torch, and names that PyTorch binds by hand (python_torch_functions_manual.cpp,
# python_variable_methods.cpp); their calls reach several operators, or one that the schema does not name. Subscripts
# call index_put with None among the indices, which PyTorch's function rejects.
BY_HAND = frozenset(
    (
        "record_stream",  # no argument for it exists without a GPU
        "index_put",
        "index_put_",
        "nonzero",
        "contiguous",
        "to",
        "arange",
        "range",
        "full",
        "item",
        "copy_",
        "requires_grad_",
    )
)


KINDS = {"function": torch, "method": torch.Tensor}


def is_binding(kind: str, base: str) -> bool:
    """Return whether PyTorch implements a name as a binding in C++, not as a Python function."""
    result = type(getattr(KINDS[kind], base, None))
    return result.__name__ in ("builtin_function_or_method", "method_descriptor")


class Form(NamedTuple):
    """Call, written as a Python expression."""

    text: str

    def __str__(self) -> str:
        return self.text


def names(lib: Any) -> dict[str, Any]:
    """Return new variables for the forms, since some forms write to them."""
    tensors = {
        "x": torch.arange(4.0).reshape(2, 2),
        "z": torch.tensor(2.0),
        "i": torch.tensor(1),
        "t": torch.tensor(True),
        "o": torch.tensor([1]),
        "c": torch.ones(2, 2, dtype=torch.bool),
        "v": torch.arange(2.0),
        "out": torch.empty(0),
    }
    known = tensors if lib is torch else Twins().of(tensors)
    return {"lib": lib, "numpy": numpy, "g": lib.full((), 2.0, requires_grad=True), **known}


@cache
def packets() -> tuple[str, ...]:
    """Return the packets that PyTorch's generated bindings can call."""
    opdsl.registry  # noqa: B018  loads the operators
    bases = []
    for packet in opdsl.registry.packets.values():
        is_public = packet.name.startswith("aten::") and packet.base[0] != "_" and packet.base not in BY_HAND
        if not is_public or not any(map(is_generated, packet.overloads.values())):
            continue
        if any(is_binding(kind, packet.base) for kind in KINDS):
            bases.append(packet.base)
    return tuple(sorted(bases))


def forms(base: str) -> Iterator[Form]:
    """Yield the calls of a packet, as a function and as a method."""
    packet = opdsl.registry.packets[f"aten::{base}"]
    bound = [overload for overload in packet.overloads.values() if overload.is_bound]
    for kind in filter(lambda kind: is_binding(kind, base), KINDS):
        for operator in [
            overload for overload in bound if kind in str(overload.properties["variants"]) and is_generated(overload)
        ]:
            schema = operator.schema
            yield from _forms(base, kind, list(schema.positional), list(schema.keyword_only), has_out=bool(schema.out))


def is_generated(operator: Operator) -> bool:
    """Return whether PyTorch generates a binding for an operator; it does not for manual bindings and ``autogen``
    operators.
    """
    theirs = getattr(getattr(torch.ops.aten, operator.schema.name.base), operator.schema.name.overload or "default")
    return not operator.properties.get("manual_cpp_binding") and torch.Tag.generated not in theirs.tags


def _fitting(argument: Argument) -> str:
    text = str(argument.type).removesuffix("?")
    bare = text.partition("[")[0] + "[]" if "[" in text else text
    return FITTING.get(bare, "None")


def _name(argument: Argument, kind: str) -> str:
    """Return the argument's name: PyTorch's functions call a tensor ``self`` only ``input``, opdsl's accept both."""
    is_input = argument.name == "self" and kind == "function" and str(argument.type) == "Tensor"
    return "input" if is_input else argument.python_name


def _forms(base: str, kind: str, places: list[Argument], options: list[Argument], *, has_out: bool) -> Iterator[Form]:
    options = [option for option in options if option.alias is None]
    if kind == "method":
        places = [place for place in places if place.name != "self"]
    handle = f"lib.{base}" if kind == "function" else f"x.{base}"

    def call(inputs: list[str], named: dict[str, str]) -> Form:
        parts = [*inputs, *(f"{name}={value}" for name, value in named.items())]
        return Form(f"{handle}({', '.join(parts)})")

    required = [place for place in places if place.default is None]
    base_given = [_fitting(argument) for argument in required]
    base_named = {option.python_name: _fitting(option) for option in options if option.default is None}
    if has_out:
        base_named["out"] = "out"
    yield call(base_given, base_named)
    for index, argument in enumerate(places):
        before = [_fitting(place) for place in places[:index]]
        after = [_fitting(place) for place in required if place not in places[: index + 1]]
        rest = {_name(place, kind): value for place, value in zip(places[index + 1 :], after, strict=False)}
        for value in VALUES:
            yield call([*before, value, *after], base_named)
        yield call([*before, *after], base_named)
        own = _name(argument, kind)
        # A keyword of Python cannot name an argument; opdsl appends an underscore.
        names = [] if iskeyword(argument.name) else [own, *OTHER_NAMES.get(own, ())]
        for name in names:
            for value in (_fitting(argument), "None"):
                yield call(before, {**base_named, name: value, **rest})
    for argument in options:
        for value in VALUES:
            # A number selects a device of an accelerator, which PyTorch may be built without.
            if str(argument.type) != "Device?" or value[0] not in "12n":
                yield call(base_given, {**base_named, argument.python_name: value})
    yield call([*base_given, *["x"] * 5], base_named)
    yield call(base_given, {**base_named, "unknown": "2"})


def reached_in_torch(calls: list[Form]) -> list[str | None]:
    """Return the operator that each call reaches in torch, or None if the arguments fit no overload."""
    settings = _ExperimentalConfig(capture_overload_names=True)
    with profile(activities=[ProfilerActivity.CPU], experimental_config=settings) as recorded:
        for number, form in enumerate(calls):
            known = names(torch)
            code = compile(form.text, form.text, "eval")
            with record_function(f"call {number}"), suppress(Exception):  # the result does not matter
                eval(code, known)
    events = sorted(
        recorded.profiler.kineto_results.events(), key=lambda event: (event.start_ns(), -event.duration_ns())
    )
    result: dict[int, str] = {}
    number, ends, end_of_call = -1, 0, 0
    for event in events:
        if event.name().startswith("call "):
            number = int(event.name().removeprefix("call "))
            ends, end_of_call = 0, event.start_ns() + event.duration_ns()
        elif event.name().startswith("aten::") and ends <= event.start_ns() <= end_of_call:
            overload = event.overload_name()
            result[number] = f"{event.name()}.{overload}" if overload else event.name()
            ends = event.start_ns() + event.duration_ns()
    # Reading a number from a tensor, to reject it, does not count as reaching an operator.
    return [None if result.get(number) == "aten::item" else result.get(number) for number in range(len(calls))]


# Operators that read arguments: numbers from tensors, lists from tensors.
BEFORE = ("aten::item", "aten::unbind.int")


class ReachedError(Exception):
    """Raised when a call has reached its operator, so that the result need not be computed."""


class First(opdsl.DispatchMode):
    """Dispatch mode that records the operator of a call; it skips operators that only read the arguments."""

    before_decomposition = True
    reached: str | None = None

    def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self.reached = operator.schema.name.qualified
        if self.reached in BEFORE:
            return operator(*args, **kwargs)
        raise ReachedError


def reached_in_ours(form: Form) -> str | None:
    """Return the operator that a call reaches in opdsl, or None if the arguments fit no overload."""
    known = names(opdsl)
    mode = First()
    with mode:
        try:
            eval(form.text, known)
        except ArgumentError:
            return None
        except Exception:
            pass
    return mode.reached


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change to a temporary directory, since ``from_file`` creates the file that it is given."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("base", packets())
def test_every_form_reaches_torchs_overload(base: str) -> None:
    calls = list(dict.fromkeys(forms(base)))[:: 1 if FULL else 4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = reached_in_torch(calls)
        reached = [reached_in_ours(call) for call in calls]
    pairs = zip(calls, expected, reached, strict=True)
    wrong = [f"{call}: {there}, not {here}" for call, there, here in pairs if there != here]
    assert [message for message in wrong if message not in DIFFERENT] == []
    assert any(expected)


def test_numbers_that_require_gradients_are_no_numbers() -> None:
    wanted = opdsl.full((), 2.0, requires_grad=True)
    with pytest.raises(TypeError):
        opdsl.full((2,), wanted)
    assert opdsl.full((2,), of(torch.tensor(2.0))).tolist() == [2.0, 2.0]


def test_outputs_have_the_names_of_the_schema() -> None:
    there = torch.ops.aten.max.dim_max(torch.ones(2, 3), 0, max=torch.empty(0), max_values=torch.empty(0).long())
    values, indices = opdsl.empty(0), opdsl.empty(0, dtype=opdsl.int64)
    for _ in range(2):  # a plan serves the second call
        largest = opdsl.ops.aten.max.dim_max(opdsl.ones(2, 3), 0, max=values, max_values=indices)
        assert largest.values is values and largest.indices is indices
    assert [operand.tolist() for operand in (values, indices)] == [tensor.tolist() for tensor in there]


@pytest.mark.parametrize("missing", ["max", "max_values"])
def test_all_outputs_have_to_be_given(missing: str) -> None:
    outs = {"max": opdsl.empty(0), "max_values": opdsl.empty(0, dtype=opdsl.int64)}
    del outs[missing]
    with pytest.raises(TypeError):
        opdsl.ops.aten.max.dim_max(opdsl.ones(2, 3), 0, **outs)


def test_outputs_are_given_in_one_way() -> None:
    outs = (opdsl.empty(0), opdsl.empty(0, dtype=opdsl.int64))
    with pytest.raises(TypeError):
        opdsl.ops.aten.max.dim_max(opdsl.ones(2, 3), 0, max=outs[0], max_values=outs[1], out=outs)


@pytest.mark.parametrize("mask", [[], [False], [True] * 4])
def test_an_array_of_bools_has_its_size(mask: list[bool]) -> None:
    def call(lib: Any) -> Any:
        x, row = lib.ones(3, 4), lib.ones(4)
        return lib.ops.aten.native_batch_norm_backward(x, x, None, row, row, None, None, False, 1e-5, mask)

    for lib, error in ((torch, RuntimeError), (opdsl, opdsl.errors.ConversionError)):
        with pytest.raises(error, match=f"a List with {len(mask)} elements to a fixed-size array of size 3"):
            call(lib)
