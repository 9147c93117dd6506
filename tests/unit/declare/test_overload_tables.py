"""Tests of ``@op(overloads={...})``: overloads that one body computes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl import Library, Overload, Tensor, TensorOptions
from opdsl.errors import DeclarationError

X = opdsl.tensor([1.0, 2.0, 3.0])


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("tables") as lib:
        yield lib


def schemas(library: Library, name: str) -> list[str]:
    return [str(overload.schema) for overload in library.registry.packets[f"tables::{name}"].overloads.values()]


def line(library: Library, overloads: Any, **options: Any) -> Any:
    @library.op("tables::line.step", overloads=overloads, **options)
    def line(start: int, end: int, step: int = 1, *, options: TensorOptions) -> Tensor:
        """Numbers."""
        return opdsl.arange(start, end, step, **options)

    return line


def test_a_body_that_takes_out_is_that_of_the_out_variants_of_all_overloads(library: Library) -> None:
    seen = []

    @library.op("tables::same.from", overloads={"": Overload(fixed={"start": 1})}, out=True)
    def same(start: int, count: int, *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
        seen.append((options.dtype, out is None))
        target = opdsl.empty(count, **options) if out is None else out
        return target.fill_(start)

    assert [schema.partition("(")[0] for schema in schemas(library, "same")] == [
        "tables::same.from",
        "tables::same.from_out",
        "tables::same",
        "tables::same.out",
    ]
    numbers = opdsl.empty(2, dtype=opdsl.int16)
    assert same(2, 3, dtype=opdsl.float64).tolist() == [2.0, 2.0, 2.0]
    assert opdsl.ops.tables.same.out(2, out=numbers) is numbers
    assert numbers.tolist() == [1, 1]
    assert seen == [(opdsl.float64, True), (opdsl.int16, False)]  # the options are those of ``out``


def test_what_has_a_fixed_out_has_no_out_variant(library: Library) -> None:
    @library.op("tables::same.from", overloads={"": Overload(fixed={"start": 1, "out": None})}, out=True)
    def same(start: int, count: int, *, options: TensorOptions, out: Tensor | None = None) -> Tensor:
        return opdsl.full((count,), start, **options, out=out)

    assert [schema.partition("(")[0] for schema in schemas(library, "same")][2:] == ["tables::same"]


def test_an_overload_lacks_what_is_fixed(library: Library) -> None:
    f = line(library, {"start": Overload(fixed={"step": 1}), "": Overload(fixed={"start": 0, "step": 2})})
    options = "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    assert schemas(library, "line") == [
        f"tables::line.step(int start, int end, int step=1, {options}) -> Tensor",
        f"tables::line.start(int start, int end, {options}) -> Tensor",
        f"tables::line(int end, {options}) -> Tensor",
    ]
    assert f(1, 6, 2).tolist() == [1, 3, 5] and f(5).tolist() == [0, 2, 4]
    assert f(3, dtype=opdsl.float64).dtype is opdsl.float64


def test_the_operators_own_name_determines_its_order(library: Library) -> None:
    line(library, {"": Overload(fixed={"start": 0, "step": 1}), "step": Overload()})
    assert list(library.registry.packets["tables::line"].overloads) == ["", "step"]


def test_what_an_overload_does_not_say_is_the_operators(library: Library) -> None:
    line(
        library,
        {"start": Overload("From here.", fixed={"step": 1}, tags="core"), "": Overload(fixed={"start": 0, "step": 1})},
        kernel="CPU",
        tags="nondeterministic_seeded",
        autogen="line.step_out",
    )
    main, start, end = library.registry.packets["tables::line"].overloads.values()
    assert (main.tags, start.tags, end.tags) == (("nondeterministic_seeded",), ("core",), ("nondeterministic_seeded",))
    assert all("CPU" in map(str, operand.registrations) for operand in (main, start, end))
    assert "autogen" not in start.properties and "autogen" not in end.properties
    assert opdsl.ops.tables.line.start.__doc__ == "From here." and opdsl.ops.tables.line.default.__doc__ == "Numbers."


def test_the_function_of_an_overload_has_its_signature(library: Library) -> None:
    line(library, {"start": Overload(fixed={"step": 1})})
    result = inspect.signature(opdsl.ops.tables.line.start)
    assert list(result.parameters) == ["start", "end", "options"]
    assert result.parameters["options"].kind is inspect.Parameter.KEYWORD_ONLY


def test_defaults_stay_those_of_the_body(library: Library) -> None:
    @library.op("tables::f.both", overloads={"": Overload(fixed={"first": 10})})
    def f(first: int, second: int = 2, *, third: int = 3) -> int:
        return first + second + third

    assert opdsl.ops.tables.f.default() == 15 and opdsl.ops.tables.f.default(1, third=0) == 11


def test_formulas_hold_for_the_overloads(library: Library) -> None:
    @library.op("tables::f.by", kernel=True, overloads={"": Overload(fixed={"by": 2.0})})
    def f(self: Tensor, by: float) -> Tensor:
        return self * by

    f.derivative(self=lambda grad: grad * 10)
    x = opdsl.tensor([1.0], requires_grad=True)
    f(x).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [10]


@pytest.mark.parametrize(
    ("overloads", "message"),
    [
        ({"": Overload(fixed={"stop": 1})}, r"fixed= names 'stop', which is no argument. Use one of start, end, step"),
        ({"": Overload(types={"end": int})}, r"has no option 'types'"),
        ({"": Overload(fixed={"end": 1}, colour="red")}, r"has no option 'colour'"),
        ({"": {"end": 1}}, r"no dict of overloads by name"),
        ([Overload()], r"no dict of overloads by name"),
        ({1: Overload()}, r"no dict of overloads by name"),
    ],
)
def test_misuse_says_what_to_write_and_leaves_nothing(library: Library, overloads: Any, message: str) -> None:
    with pytest.raises(DeclarationError, match=message):
        line(library, overloads)
    assert "tables::line" not in library.registry.packets or schemas(library, "line") == []


def test_what_has_no_body_computes_no_overloads(library: Library) -> None:
    with pytest.raises(DeclarationError, match="overloads= needs a body, which computes them"):

        @library.op(overloads={"x": Overload(fixed={"n": 1})})
        def f(self: Tensor, n: int) -> Tensor: ...
