"""Tests of each numbered invariant: schemas that break it, schemas that break several, and schemas that torchgen
accepts.
"""

from __future__ import annotations

import pytest

from opdsl.errors import SchemaError
from opdsl.schema import (
    Alias,
    Argument,
    BaseType,
    Default,
    FunctionSchema,
    ListType,
    OperatorName,
    Return,
    check,
    examine_schema,
    parse_schema,
)

FAULTY = [
    ("INV-3", "add_out(Tensor self) -> Tensor", "add_out"),
    ("INV-3", "__ifoo__(Tensor self) -> Tensor", "__ifoo__"),
    ("INV-3", "x_functional_(Tensor(a!) self) -> Tensor(a!)", "x_functional_"),
    ("INV-3", "_(Tensor(a!) self) -> Tensor(a!)", "_"),
    ("INV-4", "f.functional(Tensor x, Tensor(a!) y) -> ()", "f.functional"),
    (
        "INV-8",
        "f(Tensor(a!) x, *, ScalarType? dtype, Layout? layout, Device? device, bool? pin_memory) -> ()",
        "ScalarType? dtype",
    ),
    ("INV-8", "f(Tensor(a!) x, Tensor self) -> ()", "Tensor(a!) x"),
    ("INV-9", "f(*, Tensor(a!) x, Tensor(b!) y) -> (Tensor(b!), Tensor(a!))", "Tensor(b!)"),
    ("INV-10", "f(Tensor self, Tensor(a!) x) -> Tensor(a!)", "Tensor(a!)"),
    ("INV-11", "f_(Tensor(a!) self) -> (Tensor(a!), Tensor)", "Tensor(a!)"),
    ("INV-12", "f(Tensor(a) x) -> Tensor(a!)", "Tensor(a!)"),
    ("INV-13", "f(*, Tensor(a!)[] out) -> Tensor(a!)", "Tensor(a!)"),
    ("INV-13", "f(*, Tensor(a!) out) -> ()", "f"),
    ("INV-13", "f(*, Tensor(a!) x, Tensor(b!) _scratch_y) -> (Tensor(a!), Tensor(b!))", "Tensor(a!)"),
    ("INV-14", "f_(Tensor self) -> Tensor", "f_"),
    ("INV-14", "f_(Tensor(a!) x) -> ()", "f_"),
    ("INV-14", "f_(Tensor(a!) self) -> ()", "f_"),
    ("INV-14", "f_(Tensor(a!)[] self) -> Tensor[]", "Tensor[]"),
    ("INV-15", "f_(Tensor(a!) self, *, Tensor(b!) out) -> Tensor(a!)", "Tensor(b!) out"),
    ("INV-16", "f(Tensor(a) x, Tensor(a) y) -> Tensor(a)", "Tensor(a)"),
    ("duplicate-name", "f(int x, int y, int x) -> ()", "x"),
    ("duplicate-name", "f() -> (int x, int x)", "x"),
    ("default-order", "f(int x=1, int y) -> ()", "int y"),
    ("default-type", "f(Tensor x=5) -> ()", "5"),
    ("default-type", "f(int x=abc) -> ()", "abc"),
    ("out-default", "f(*, Tensor(a!)? out=None) -> ()", "None"),
    ("unbound-alias", "f(Tensor(a) x) -> Tensor(b)", "Tensor(b)"),
    ("unbound-alias", "f(Tensor x) -> Tensor(a)", "Tensor(a)"),
]


@pytest.mark.parametrize(("rule", "text", "part"), FAULTY)
def test_broken_rule_is_named_and_underlined(rule: str, text: str, part: str) -> None:
    schema, violations = examine_schema(text)
    result = next(violation for violation in violations if violation.rule == rule)
    start, end = result.span(schema)
    assert text[start:end] == part


@pytest.mark.parametrize(("rule", "text", "part"), FAULTY)
def test_parse_refuses_what_breaks_a_rule(rule: str, text: str, part: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert f"[{rule}]" in str(caught.value)


def test_all_violations_are_reported_at_once() -> None:
    schema, _ = examine_schema("f_(int x=1, int y, int x) -> Tensor(b)")
    assert {violation.rule for violation in check(schema)} == {
        "INV-14",
        "default-order",
        "duplicate-name",
        "unbound-alias",
    }


def test_values_that_no_text_can_hold_are_checked_too() -> None:
    write = Alias("a", write=True)
    schema = FunctionSchema(
        OperatorName(None, "a b"),
        (Argument("x y", ListType(BaseType.int, 0)), Argument("z", BaseType.int, Default("x", "x"), Alias("a"))),
        (Argument("w", BaseType.Tensor, None, write),),
        (Argument("v", BaseType.Tensor),),
        (Return("1", BaseType.Tensor),),
    )
    rules = [violation.rule for violation in check(schema)]
    assert {"INV-5", "INV-6", "INV-7", "default-type", "identifier"} <= set(rules)
    assert rules.count("INV-7") == 2


def test_a_default_after_star_needs_no_order() -> None:
    assert check(parse_schema("f(*, int x=1, int y) -> ()")) == []


def test_an_argument_and_a_return_may_share_a_name() -> None:
    assert check(parse_schema("f(Tensor x, *, Tensor(a!) out) -> Tensor(a!) out")) == []
