"""Tests of the schema grammar: texts that it accepts and refuses, and the positions in its errors."""

from __future__ import annotations

import pytest

from opdsl.errors import SchemaError
from opdsl.schema import (
    BaseType,
    ClassType,
    FunctionSchema,
    ListType,
    OperatorName,
    OptionalType,
    Symbol,
    parse_argument,
    parse_operator_name,
    parse_schema,
    parse_type,
)
from opdsl.schema.parser import MOST_CHARACTERS

GOOD = [
    "f() -> ()",
    "ns::f.overload(int x) -> int",
    "__and__.Scalar(Tensor self, Scalar other) -> Tensor",
    "__iand__(Tensor(a!) self, Scalar other) -> Tensor(a!)",
    "f(Tensor(a|b) x) -> ()",
    "f(Tensor(a -> b) x) -> Tensor(b)",
    "f(Tensor(a -> *) x) -> Tensor(a)[]",
    "f(Tensor(a! -> *) x) -> ()",
    "f(Tensor(a! -> a|b|c) x) -> ()",
    "f(Tensor(a|b -> c) x) -> ()",
    "f(Tensor(a0!) x) -> ()",
    "f(Tensor(a!)[] x, Tensor(b!)? y) -> ()",
    "f(int[][] x, int[2]? y, Tensor?[] z) -> ()",
    "f(__torch__.torch.classes.quantized.Conv2dPackedParamsBase x) -> Tensor",
    "f(Tensor x, *, int[2] y=0, int[] z=[0,1], str s=', ', str t=\") -> \") -> (Tensor a, Tensor b)",
    "f(float a=1e-05, float b=-inf, float c=0, Scalar d=-1, bool e=False, int r=Mean, ScalarType? t=long) -> ()",
    "f(Tensor self, *, Tensor(a!) out, Tensor(b!) _scratch_x) -> Tensor(a!)",
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor",
    "max.dim_max(Tensor self, int dim, *, Tensor(a!) max, Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) i)",
]


@pytest.mark.parametrize("text", GOOD)
def test_good_text_prints_back(text: str) -> None:
    assert str(parse_schema(text)) == text


@pytest.mark.parametrize("text", GOOD)
def test_reading_again_gives_an_equal_value(text: str) -> None:
    first = parse_schema(text)
    second = parse_schema(text)
    assert (first, hash(first)) == (second, hash(second))


FAULTY = [
    # text, rule, the underlined part
    ("", "INV-3", ""),
    ("f", "INV-2", ""),
    ("f(", "INV-5", ""),
    ("f()", "INV-2", ""),
    ("f() -> ", "INV-5", ""),
    ("f() -> () and more", "INV-2", " and more"),
    ("f() -> () g() -> ()", "INV-2", " g() -> ()"),
    ("a::b::f() -> ()", "INV-2", ":"),
    ("f.a.b() -> ()", "INV-2", "."),
    ("f(int x,int y) -> ()", "INV-2", ","),
    ("f(int x,  int y) -> ()", "INV-5", " "),
    ("f(int  x) -> ()", "identifier", " "),
    ("f(int) -> ()", "INV-2", ")"),
    ("f(int 1x) -> ()", "identifier", "1"),
    ("f(Tenso x) -> ()", "INV-5", "Tenso"),
    ("f(int[0] x) -> ()", "INV-5", "0"),
    ("f(int[02] x) -> ()", "INV-5", "02"),
    ("f(int[2 x) -> ()", "INV-5", " "),
    ("f(int????????? x) -> ()", "INV-5", "int?????????"),
    ("f(Tensor! x) -> ()", "INV-2", "!"),
    ("f(Tensor() x) -> ()", "INV-6", ")"),
    ("f(Tensor(A) x) -> ()", "INV-6", "A"),
    ("f(Tensor(ab) x) -> ()", "INV-6", "ab"),
    ("f(Tensor(a|b|c) x) -> ()", "INV-6", "(a|b|c)"),
    ("f(Tensor(a|b!) x) -> ()", "INV-6", "(a|b!)"),
    ("f(Tensor(a|b -> c|d) x) -> ()", "INV-6", "(a|b -> c|d)"),
    ("f(Tensor(a -> *|b) x) -> ()", "INV-6", "|"),
    ("f(Tensor(a -> b|*) x) -> ()", "INV-6", "b|"),
    ("f(Tensor(a|a) x) -> ()", "INV-6", "(a|a)"),
    ("f(int(a) x) -> ()", "INV-6", "int("),
    ("f(Tensor?(a) x) -> ()", "INV-2", "("),
    ("f(Tensor(a)?[] x) -> ()", "INV-6", "Tensor(a)?[]"),
    ("f(*, *, int x) -> ()", "INV-7", "*"),
    ("f(int x, *) -> ()", "INV-7", "*"),
    ("f(*, Tensor(a!) out, int x) -> Tensor(a!)", "INV-7", "int x"),
    ("f(int x=abc) -> ()", "default-type", "abc"),
    ("f(int x=) -> ()", "default-type", ")"),
    ("f(int x=007) -> ()", "INV-1", "007"),
    ("f(int x=99999999999999999999) -> ()", "default-type", "99999999999999999999"),
    ("f(int x=1_0) -> ()", "default-type", "1"),
    ("f(int x=" + "9" * 5000 + ") -> ()", "default-type", "9" * 5000),
    ("f(int x=True) -> ()", "default-type", "True"),
    ("f(int[] x=[0 ,1]) -> ()", "INV-1", " "),
    ("f(int[] x=[[]]) -> ()", "default-type", "["),
    ("f(int[] x=0) -> ()", "default-type", "0"),
    ("f(Tensor x=None) -> ()", "default-type", "None"),
    ("f(Tensor x=5) -> ()", "default-type", "5"),
    ('f(str x="a) -> ()', "default-type", '"'),
    ("f(ScalarType x=longer) -> ()", "default-type", "longer"),
    ("f() -> (Tensor)", "INV-1", "(Tensor)"),
    ("f() -> (Tensor,Tensor)", "INV-2", ","),
    ("f() -> Tensor, Tensor", "INV-2", ", Tensor"),
    ("f() -> Tensor ", "identifier", ""),
    ("f() -> None", "INV-5", "None"),
    ("f()->()", "INV-2", "-"),
    ("f(int x = 1) -> ()", "INV-2", " "),
    ("f(é x) -> ()", "INV-5", "é"),
    ("f(\n) -> ()", "INV-5", "\n"),
]


@pytest.mark.parametrize(("text", "rule", "part"), FAULTY, ids=[text[:40] for text, _, _ in FAULTY])
def test_fault_is_pointed_at(text: str, rule: str, part: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema(text)
    assert (caught.value.rule, text[caught.value.start : caught.value.end]) == (rule, part)


def test_message_shows_the_line_and_the_place() -> None:
    with pytest.raises(SchemaError) as caught:
        parse_schema("add(Tenso self) -> Tensor")
    assert str(caught.value).splitlines() == [
        "Tenso is no schema type: did you mean Tensor? [INV-5]",
        "add(Tenso self) -> Tensor",
        "    ~~~~^",
    ]


@pytest.mark.parametrize("length", [MOST_CHARACTERS - 100, 10**6])
@pytest.mark.parametrize(
    "text", ["f(int x={}) -> ()", "f(float x={}.{}x) -> ()", "f(int[] x=[{}]) -> ()", "f(int[{}] x) -> ()"]
)
def test_long_numbers_end_in_linear_time(text: str, length: int) -> None:
    """A quadratic search would take minutes for a million digits."""
    with pytest.raises(SchemaError) as caught:
        parse_schema(text.replace("{}", "9" * (length // text.count("{}"))))
    assert len(str(caught.value)) < 1000


def test_text_of_another_type_is_refused() -> None:
    with pytest.raises(SchemaError, match="a schema is text"):
        parse_schema(b"f() -> ()")  # type: ignore[arg-type]


def test_parts_of_a_schema() -> None:
    schema = parse_schema("ns::f.o(Tensor x, int y=1, *, bool z=True, Tensor(a!) out) -> Tensor(a!)")
    assert schema.name == OperatorName("ns", "f", "o")
    assert [argument.name for argument in schema.arguments] == ["x", "y", "z", "out"]
    assert [len(schema.positional), len(schema.keyword_only), len(schema.out)] == [2, 1, 1]


def test_values_of_defaults() -> None:
    schema = parse_schema(
        "f(int a=1, float b=1e-3, bool c=True, str d='x\\'y', int[] e=[0,1], Tensor? g=None, int h=Mean, "
        "ScalarType i=long) -> ()"
    )
    values = [argument.default.value for argument in schema.arguments if argument.default is not None]
    assert values == [1, 0.001, True, "x'y", (0, 1), None, 1, Symbol("long")]


def test_parse_type() -> None:
    assert parse_type("int[2]?") == OptionalType(ListType(BaseType.int, 2))
    assert parse_type("__torch__.torch.classes.a.B") == ClassType("a.B")


def test_parse_argument() -> None:
    assert str(parse_argument("int[2] x=0")) == "int[2] x=0"


def test_parse_operator_name() -> None:
    assert parse_operator_name("aten::add.Tensor").qualified == "aten::add.Tensor"


@pytest.mark.parametrize("text", ["Tensor(a)", "int[0]", "int x", ""])
def test_parse_type_refuses(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_type(text)


@pytest.mark.parametrize("text", ["int", "int x=None", "Tensor(a)? x, int y", "Tensor x=1"])
def test_parse_argument_refuses(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_argument(text)


@pytest.mark.parametrize("text", ["add_out", "", "_", "a.b.c", "__ifoo__", "a::b::c", "x y"])
def test_parse_operator_name_refuses(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_operator_name(text)


def test_a_remembered_argument_is_still_refused_where_the_whole_is_wrong() -> None:
    parse_schema("f(int x=1) -> ()")
    with pytest.raises(SchemaError) as caught:
        parse_schema("f(int x=1, int y) -> ()")
    assert caught.value.rule == "default-order"


def test_a_remembered_argument_does_not_move_the_place_of_a_fault() -> None:
    parse_schema("f(int xyz) -> ()")
    with pytest.raises(SchemaError) as caught:
        parse_schema("f(int xyz)")
    assert caught.value.start == len("f(int xyz)")


def test_schema_prints_namespace_only_when_written() -> None:
    bare, written = parse_schema("f() -> ()"), parse_schema("aten::f() -> ()")
    assert (str(bare.name), str(written.name)) == ("f", "aten::f")
    assert bare.name.qualified == written.name.qualified


def test_is_view() -> None:
    def is_view(text: str) -> bool:
        return parse_schema(text).is_view

    assert is_view("f(Tensor(a) self) -> Tensor(a)")
    assert is_view("f(Tensor(a -> *) self) -> Tensor(a)[]")
    assert not is_view("f_(Tensor(a!) self) -> Tensor(a!)")
    assert not is_view("f(Tensor self) -> Tensor")


def test_constructed_values_print(corpus: list[str]) -> None:
    schema = parse_schema(corpus[0])
    rebuilt = FunctionSchema(schema.name, schema.positional, schema.keyword_only, schema.out, schema.returns)
    assert str(rebuilt) == corpus[0]


@pytest.mark.parametrize(
    ("printed", "written"),
    [
        ("f(int[2] a=[1, 1]) -> Tensor", "f(int[2] a=[1,1]) -> Tensor"),
        ('f(float[] a=[1., -0.5], str b="[1, 1]") -> Tensor', 'f(float[] a=[1.,-0.5], str b="[1, 1]") -> Tensor'),
        (
            "f(int n, *, ScalarType? dtype=4, Layout? layout=2) -> Tensor",
            "f(int n, *, ScalarType? dtype=long, Layout? layout=sparse_csr) -> Tensor",
        ),
        (
            "f(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)",
            "f(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",
        ),
    ],
)
def test_what_pytorch_prints_is_read(printed: str, written: str) -> None:
    assert parse_schema(printed) == parse_schema(written)
    assert str(parse_schema(printed)) == written


def test_a_number_that_names_no_enumerator_is_refused() -> None:
    with pytest.raises(SchemaError, match="99 is no value of ScalarType"):
        parse_schema("f(ScalarType dtype=99, int[2] a=[1, 1]) -> Tensor")
