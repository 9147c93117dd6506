"""Property tests over generated texts: printing is the inverse of parsing, and every text parses or raises
SchemaError.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from opdsl.errors import SchemaError
from opdsl.schema import BaseType, FunctionSchema, OptionalType, check, parse_schema
from opdsl.schema.types import ListType, Type

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}", fullmatch=True)
NUMBERS = {"int": "-3", "SymInt": "0", "float": "1e-05", "bool": "True", "str": '"a, b) -> ("', "Scalar": "0.5"}


def types() -> SearchStrategy[Type]:
    """Return a strategy for types that are nested at most three deep."""
    bases = st.sampled_from([type for type in BaseType if type is not BaseType.Tensor])
    return st.recursive(
        bases,
        lambda inner: st.one_of(
            inner.map(OptionalType), inner.map(ListType), st.builds(ListType, inner, st.integers(1, 9))
        ),
        max_leaves=3,
    )


@st.composite
def arguments(draw: DrawFn, name: str, default: bool) -> str:
    """Draw the text of an argument without an alias annotation, with a default of its type if requested."""
    type = draw(types())
    if not default:
        return f"{type} {name}"
    if isinstance(type, OptionalType):
        return f"{type} {name}=None"
    if isinstance(type, ListType):
        return f"{type} {name}=[]"
    return f"{type} {name}={NUMBERS[str(type)]}" if str(type) in NUMBERS else f"{type}? {name}=None"


@st.composite
def schemas(draw: DrawFn) -> str:
    """Draw a functional or an out= schema that satisfies all invariants."""
    names = draw(st.lists(NAMES, max_size=6, unique=True))
    split = draw(st.integers(0, len(names)))
    first_default = draw(st.integers(0, split))
    parts = [draw(arguments(name, index >= first_default)) for index, name in enumerate(names[:split])]
    keyword_only = [draw(arguments(name, draw(st.booleans()))) for name in names[split:]]
    outs = draw(st.integers(0, 3))
    letters = "abc"[:outs]
    keyword_only += [f"Tensor({letter}!) out_{letter}" for letter in letters]
    if keyword_only:
        parts += ["*", *keyword_only]
    returns = [f"Tensor({letter}!)" for letter in letters] or [
        str(type) for type in draw(st.lists(types(), max_size=3))
    ]
    shown = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    overload = draw(st.one_of(st.just(""), NAMES.map(lambda name: f".{name}")))
    namespace = draw(st.sampled_from(["", "aten::", "mylib::"]))
    return f"{namespace}f{overload}({', '.join(parts)}) -> {shown}"


@given(schemas())
def test_generated_schemas_print_back(text: str) -> None:
    if ".functional" in text:
        return
    schema = parse_schema(text)
    assert str(schema) == text
    assert check(schema) == []


@st.composite
def mutations(draw: DrawFn) -> str:
    """Draw a valid text with a piece removed, doubled or replaced."""
    text = draw(
        st.one_of(
            schemas(),
            st.sampled_from(
                [
                    "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
                    "chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]",
                    "f(str x='fro', int[2] y=[0,1], float z=1e-05) -> (Tensor a, Tensor b)",
                ]
            ),
        )
    )
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 8)))
    symbols = st.sampled_from("()[]?!*|,.=:-> '\"\\_0a\n\u00e9")
    insert = draw(st.one_of(st.text(symbols, max_size=4), st.text(max_size=4), st.just(text[start:end] * 2)))
    return text[:start] + insert + text[end:]


@given(mutations())
def test_mutated_texts_parse_or_raise_with_a_position(text: str) -> None:
    try:
        schema = parse_schema(text)
    except SchemaError as error:
        assert error.rule
        assert 0 <= error.start <= error.end
        assert error.start <= len(text)
        assert "^" in str(error)
    else:
        assert isinstance(schema, FunctionSchema)
        assert str(schema) == text
