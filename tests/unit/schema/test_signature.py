"""Tests of the schemas that Python annotations and defaults mean; expected texts are written by hand from DESIGN
section 1.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, Optional

import pytest

from opdsl.errors import AnnotationError, SchemaError
from opdsl.runtime import Generator
from opdsl.schema import (
    MISSING,
    Alias,
    Default,
    OperatorName,
    ParameterSpec,
    from_signature,
    parse_schema,
    type_of,
)
from opdsl.schema.vocabulary import (
    Bools,
    DeviceIndex,
    DimVector,
    Floats,
    GraphModule,
    IntList,
    Ints,
    Name,
    QScheme,
    Reduction,
    Scalar,
    Size,
    Storage,
    Stream,
    SymBool,
    SymInt,
    SymIntList,
    SymInts,
    TensorOptions,
)


class Tensor:
    """Stub of the runtime's Tensor, with the two attributes that reading annotations needs."""

    __schema_type__: ClassVar[str] = "Tensor"

    def __class_getitem__(cls, alias: object) -> Any:
        return Annotated[cls, alias]


class DType(enum.Enum):
    int64 = 4

    @property
    def schema_name(self) -> str:
        return "long"


DType.__schema_type__ = "ScalarType"  # type: ignore[attr-defined]


class MemoryFormat(enum.Enum):
    __schema_type__ = "MemoryFormat"
    contiguous_format = 0


class Index:
    __schema_type__: ClassVar[str] = "__torch__.torch.classes.mylib.Index"


class Values(NamedTuple):
    values: Tensor
    indices: Annotated[Tensor, Alias("a")]
    import_: Annotated[Tensor, Name("import")]


def argument(annotation: object) -> str:
    """Return the schema text of an argument ``x`` with an annotation."""
    schema = from_signature(OperatorName(None, "f"), [ParameterSpec("x", annotation)], None)
    return str(schema.arguments[0])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Tensor, "Tensor"),
        (Tensor | None, "Tensor?"),
        (Optional[Tensor], "Tensor?"),  # noqa: UP045
        (list[Tensor], "Tensor[]"),
        (list[Tensor | None], "Tensor?[]"),
        (Sequence[Tensor], "Tensor[]"),
        (tuple[Tensor, ...], "Tensor[]"),
        (int, "int"),
        (float, "float"),
        (bool, "bool"),
        (str, "str"),
        (Scalar, "Scalar"),
        (Scalar | None, "Scalar?"),
        (SymInt, "SymInt"),
        (SymBool, "SymBool"),
        (DeviceIndex, "DeviceIndex"),
        (DimVector, "DimVector"),
        (DType, "ScalarType"),
        (DType | None, "ScalarType?"),
        (MemoryFormat | None, "MemoryFormat?"),
        (Generator | None, "Generator?"),
        (QScheme, "QScheme"),
        (Storage, "Storage"),
        (Stream, "Stream"),
        (GraphModule, "GraphModule"),
        (Index, "__torch__.torch.classes.mylib.Index"),
        (list[int], "int[]"),
        (list[list[int]], "int[][]"),
        (list[float] | None, "float[]?"),
        (list[Scalar], "Scalar[]"),
        (list[SymInt], "SymInt[]"),
        (Ints[2], "int[2]"),
        (Ints[2] | None, "int[2]?"),
        (SymInts[3], "SymInt[3]"),
        (Floats[2], "float[2]"),
        (Bools[3], "bool[3]"),
        (Annotated[IntList, Size(2)], "int[2]"),
        (Annotated[IntList | None, Size(2)], "int[2]?"),
        (Annotated[IntList, Size(2)] | None, "int[2]?"),
        (Annotated[SymIntList, Size(1)], "SymInt[1]"),
        (Annotated[list[int], Size(4)], "int[4]"),
        (Tensor[Alias("a")], "Tensor(a)"),
        (Annotated[Tensor, Alias("a")], "Tensor(a)"),
        (Tensor[Alias("a", write=True)], "Tensor(a!)"),
        (Tensor[Alias("a|b")], "Tensor(a|b)"),
        (Tensor[Alias("a", after="*")], "Tensor(a -> *)"),
        (Tensor[Alias("a", write=True, after="a|b")], "Tensor(a! -> a|b)"),
        (Tensor[Alias("a")] | None, "Tensor(a)?"),
        (Annotated[Tensor | None, Alias("a")], "Tensor(a)?"),
        (list[Tensor[Alias("a", write=True)]], "Tensor(a!)[]"),
        (Annotated[list[Tensor], Alias("a", write=True)], "Tensor(a!)[]"),
        (Annotated[Tensor, "a remark of someone else's"], "Tensor"),
    ],
)
def test_annotation_means(annotation: object, expected: str) -> None:
    assert argument(annotation) == f"{expected} x"


@pytest.mark.parametrize(
    ("annotation", "advice"),
    [
        (complex, "Scalar"),
        (dict[str, int], "no mappings"),
        (Any, "concrete"),
        (object, "concrete"),
        (list, "names its elements"),
        (int | str, "several types"),
        (int | float, "Scalar"),
        (IntList, "Ints[2]"),
        (list[IntList], "Ints[2]"),
        (tuple[int, int], "several returns"),
        ("Tenso", "text that names nothing"),
        (list["Tenso"], "text that names nothing"),  # noqa: F821
        (Tensor[Alias], "parentheses"),
        (Annotated[int, Alias("a")], "Alias"),
        (Annotated[list[Tensor | None], Alias("a")], "Alias"),
        (Annotated[Tensor[Alias("a")], Alias("b")], "one Alias"),
        (Annotated[int, Size(2)], "belongs to a list"),
        (TensorOptions, "keyword-only"),
        (7, "Known are"),
        (None, "Known are"),
    ],
)
def test_annotation_without_meaning(annotation: object, advice: str) -> None:
    with pytest.raises(AnnotationError) as caught:
        type_of(annotation)
    assert advice in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"before": "a!"}, 'Alias("a", write=True)'),
        ({"before": "a! -> b"}, 'Alias("a", write=True, after="b")'),
        ({"before": "a -> *"}, 'Alias("a", after="*")'),
        ({"before": "*"}, 'after="*"'),
        ({"before": "A"}, "lower-case"),
        ({"before": ""}, "lower-case"),
        ({"before": "a|b", "write": True}, "exactly one alias set"),
        ({"before": "a|b|c"}, "at most two"),
        ({"before": "a|b", "after": "c|d"}, "not both"),
        ({"before": "a", "after": "*|b"}, "has to be alone"),
        ({"before": "a|a"}, "twice"),
        ({"before": 1}, "as text"),
    ],
)
def test_alias_misuse_says_how_it_is_written(arguments: dict[str, Any], advice: str) -> None:
    with pytest.raises(AnnotationError) as caught:
        Alias(**arguments)
    assert advice in str(caught.value)


def test_alias_repr_makes_it_again() -> None:
    alias = Alias("a", write=True, after="a|b")
    assert eval(repr(alias)) == alias


@pytest.mark.parametrize(
    ("annotation", "default", "expected"),
    [
        (int, 1, "int x=1"),
        (int, -1, "int x=-1"),
        (int, Reduction.Mean, "int x=Mean"),
        (float, 1.0, "float x=1.0"),
        (float, 1, "float x=1"),
        (float, 1e-5, "float x=1e-05"),
        (float, float("-inf"), "float x=-inf"),
        (bool, True, "bool x=True"),
        (str, "none", 'str x="none"'),
        (str, "\"'\\", 'str x="\\"\'\\\\"'),
        (str, Default("'none'", "none"), "str x='none'"),
        (str | None, None, "str? x=None"),
        (Scalar, 1, "Scalar x=1"),
        (Scalar, 0.5, "Scalar x=0.5"),
        (list[int], [], "int[] x=[]"),
        (list[int], [0, 1], "int[] x=[0,1]"),
        (list[int], (0, 1), "int[] x=[0,1]"),
        (Ints[2], 0, "int[2] x=0"),
        (Tensor | None, None, "Tensor? x=None"),
        (DType | None, DType.int64, "ScalarType? x=long"),
        (MemoryFormat, MemoryFormat.contiguous_format, "MemoryFormat x=contiguous_format"),
    ],
)
def test_default_prints(annotation: object, default: object, expected: str) -> None:
    schema = from_signature(OperatorName(None, "f"), [ParameterSpec("x", annotation, default)], None)
    assert str(schema) == f"f({expected}) -> ()"
    assert parse_schema(str(schema)) == schema


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (Tensor, None),
        (int, 1.5),
        (int, True),
        (int, None),
        (list[int], 0),
        (str, 1),
        (float, 1j),
        (int, 2**70),
        (bool, 0),
    ],
)
def test_default_that_does_not_fit(annotation: object, default: object) -> None:
    with pytest.raises(AnnotationError, match=r"f: parameter x: "):
        from_signature(OperatorName(None, "f"), [ParameterSpec("x", annotation, default)], None)


@pytest.mark.parametrize(
    ("returns", "expected"),
    [
        (None, "()"),
        (type(None), "()"),
        (Tensor, "Tensor"),
        (bool, "bool"),
        (tuple[()], "()"),
        (tuple[Tensor], "Tensor"),
        (tuple[Tensor, int], "(Tensor, int)"),
        (tuple[Tensor, ...], "Tensor[]"),
        (tuple[Tensor[Alias("a")], ...], "Tensor(a)[]"),
        (list[Tensor[Alias("a")]], "Tensor(a)[]"),
        (tuple[Tensor[Alias("a")], Tensor[Alias("a")]], "(Tensor(a), Tensor(a))"),
        (Annotated[Tensor, Name("grad")], "Tensor grad"),
        (Values, "(Tensor values, Tensor(a) indices, Tensor import)"),
    ],
)
def test_return_annotation_means(returns: object, expected: str) -> None:
    parameters = [ParameterSpec("x", Tensor[Alias("a")])]
    assert str(from_signature(OperatorName(None, "f"), parameters, returns)) == f"f(Tensor(a) x) -> {expected}"


def test_missing_return_annotation_is_refused() -> None:
    with pytest.raises(AnnotationError, match="f: the return annotation is missing"):
        from_signature(OperatorName(None, "f"), [], MISSING)


def test_keyword_only_written_parameters_are_out_arguments() -> None:
    write = Tensor[Alias("a", write=True)]
    parameters = [
        ParameterSpec("self", Tensor),
        ParameterSpec("alpha", Scalar, 1, "keyword_only"),
        ParameterSpec("out", write, kind="keyword_only"),
    ]
    schema = from_signature(OperatorName("aten", "add", "out"), parameters, write)
    assert str(schema) == "aten::add.out(Tensor self, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"
    assert [out.name for out in schema.out] == ["out"]


def test_parameter_after_out_is_refused() -> None:
    write = Tensor[Alias("a", write=True)]
    parameters = [ParameterSpec("out", write, kind="keyword_only"), ParameterSpec("n", int, kind="keyword_only")]
    with pytest.raises(AnnotationError, match="n is not written"):
        from_signature(OperatorName(None, "f"), parameters, write)


def test_tensor_options_are_four_arguments() -> None:
    parameters = [
        ParameterSpec("size", list[SymInt]),
        ParameterSpec("options", TensorOptions, kind="keyword_only"),
    ]
    assert str(from_signature(OperatorName(None, "zeros"), parameters, Tensor)) == (
        "zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor"
    )


def test_name_that_python_forbids() -> None:
    parameters = [ParameterSpec("self", Tensor), ParameterSpec("from_", Annotated[int, Name("from")])]
    assert str(from_signature(OperatorName(None, "f"), parameters, Tensor)) == "f(Tensor self, int from) -> Tensor"


def test_broken_invariant_shows_the_schema() -> None:
    parameters = [ParameterSpec("self", Tensor)]
    with pytest.raises(SchemaError) as caught:
        from_signature(OperatorName(None, "add_"), parameters, Tensor)
    assert caught.value.rule == "INV-14"
    assert "add_(Tensor self) -> Tensor" in str(caught.value)
