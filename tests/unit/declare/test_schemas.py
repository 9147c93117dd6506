"""Tests of the schemas that Python signatures declare, in every spelling."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import pytest
import torch

import opdsl
from opdsl import Alias, Device, DType, Ints, Library, MemoryFormat, Name, Scalar, Size, SymInt, Tensor, TensorOptions
from opdsl.schema.vocabulary import IntList


@pytest.fixture
def lib():
    with Library("schemas") as library:
        yield library


class Extremes(NamedTuple):
    smallest: Tensor
    largest: Tensor


def declared(lib, function, **options) -> str:
    return str(lib.op(**options)(function).schema)


def test_tensors_and_numbers(lib):
    def f(self: Tensor, other: Tensor | None, n: int, x: float = 1.0, *, flag: bool = False) -> Tensor: ...

    expected = "schemas::f(Tensor self, Tensor? other, int n, float x=1.0, *, bool flag=False) -> Tensor"
    assert declared(lib, f) == expected


def test_lists(lib):
    def f(tensors: list[Tensor], optional: list[Tensor | None], sizes: list[SymInt], dim: Ints[2]) -> list[Tensor]: ...

    assert declared(lib, f) == (
        "schemas::f(Tensor[] tensors, Tensor?[] optional, SymInt[] sizes, int[2] dim) -> Tensor[]"
    )


def test_the_plain_spelling_means_the_same(lib):
    def f(self: Annotated[Tensor, Alias("a")], dim: Annotated[IntList, Size(2)]) -> Annotated[Tensor, Alias("a")]: ...

    assert declared(lib, f) == "schemas::f(Tensor(a) self, int[2] dim) -> Tensor(a)"


def test_a_written_argument(lib):
    def f_(self: Tensor[Alias("a", write=True)]) -> Tensor[Alias("a", write=True)]: ...

    assert declared(lib, f_) == "schemas::f_(Tensor(a!) self) -> Tensor(a!)"


def test_a_wildcard_alias(lib):
    def f(self: Tensor[Alias("a", after="*")], chunks: int) -> list[Tensor[Alias("a")]]: ...

    assert declared(lib, f) == "schemas::f(Tensor(a -> *) self, int chunks) -> Tensor(a)[]"


def test_named_returns(lib):
    def f(self: Tensor) -> Extremes: ...

    assert declared(lib, f) == "schemas::f(Tensor self) -> (Tensor smallest, Tensor largest)"


def test_nothing_returned(lib):
    def f(self: Tensor) -> None: ...

    assert declared(lib, f) == "schemas::f(Tensor self) -> ()"


def test_tensor_options_are_four_arguments(lib):
    def f(size: list[SymInt], *, options: TensorOptions = None) -> Tensor: ...

    assert declared(lib, f) == (
        "schemas::f(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
        "bool? pin_memory=None) -> Tensor"
    )


def test_a_name_that_python_forbids(lib):
    def f(self: Tensor, from_: Annotated[int, Name("from")]) -> Tensor: ...

    assert declared(lib, f) == "schemas::f(Tensor self, int from) -> Tensor"


def test_symbolic_defaults(lib):
    def f(
        self: Tensor,
        dtype: DType = opdsl.int64,
        memory_format: MemoryFormat = MemoryFormat.contiguous_format,
        device: Device | None = None,
    ) -> Tensor: ...

    assert declared(lib, f) == (
        "schemas::f(Tensor self, ScalarType dtype=long, MemoryFormat memory_format=contiguous_format, "
        "Device? device=None) -> Tensor"
    )


def test_a_scalar(lib):
    def f(self: Tensor, alpha: Scalar = 1) -> Tensor: ...

    assert declared(lib, f) == "schemas::f(Tensor self, Scalar alpha=1) -> Tensor"


def test_evaluated_annotations_mean_the_same(lib):
    namespace: dict[str, object] = {"Tensor": Tensor, "Alias": Alias}
    exec('def f(self: Tensor[Alias("a")], n: int = 2) -> Tensor[Alias("a")]: ...', namespace)
    assert str(lib.op(namespace["f"]).schema) == "schemas::f(Tensor(a) self, int n=2) -> Tensor(a)"


def test_annotations_may_use_local_names(lib):
    View = Tensor[Alias("a")]

    @lib.op
    def f(self: View) -> View: ...

    assert str(f.schema) == "schemas::f(Tensor(a) self) -> Tensor(a)"


def test_the_full_name_may_be_given(lib):
    def g(self: Tensor) -> Tensor: ...

    assert str(lib.op("elsewhere::name.overload")(g).schema) == "elsewhere::name.overload(Tensor self) -> Tensor"


def test_derived_variants_follow_torchgens_rule(lib):
    @lib.op("f.X", inplace=True, out=True)
    def f(self: Tensor, n: int) -> Tensor: ...

    assert {name: str(variant.schema) for name, variant in f.variants.items()} == {
        "functional": "schemas::f.X(Tensor self, int n) -> Tensor",
        "inplace": "schemas::f_.X(Tensor(a!) self, int n) -> Tensor(a!)",
        "out": "schemas::f.X_out(Tensor self, int n, *, Tensor(a!) out) -> Tensor(a!)",
    }


def test_several_outputs_are_numbered(lib):
    @lib.op(out=True)
    def f(self: Tensor) -> tuple[Tensor, Tensor]: ...

    assert str(f.variants["out"].schema) == (
        "schemas::f.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"
    )


def test_variants_may_depart_from_the_rule(lib):
    @lib.op(
        "pow.Tensor_Tensor",
        inplace=opdsl.Inplace("pow_.Tensor"),
        out=opdsl.Out("pow.into", args=("result",)),
    )
    def pow_tensors(self: Tensor, exponent: Tensor) -> Tensor: ...

    assert [str(variant.schema.name) for variant in pow_tensors.variants.values()] == [
        "schemas::pow.Tensor_Tensor",
        "schemas::pow_.Tensor",
        "schemas::pow.into",
    ]
    assert [out.name for out in pow_tensors.variants["out"].schema.out] == ["result"]


def test_an_out_variant_has_no_tensor_options(lib):
    @lib.op(out=True)
    def f(size: list[SymInt], *, options: TensorOptions = None) -> Tensor: ...

    assert str(f.variants["out"].schema) == "schemas::f.out(SymInt[] size, *, Tensor(a!) out) -> Tensor(a!)"


@pytest.mark.parametrize("text", ["int[2] x=0", "float x=1.", "float x=1.0000000000000001e-05", "ScalarType x=long"])
def test_a_schema_may_write_a_default_in_any_way(text: str) -> None:
    with Library("anyway") as lib:
        operator = lib.define(f"taken(Tensor self, *, {text}) -> Tensor", lambda self, x: self)
        assert str(operator.schema) == f"anyway::taken(Tensor self, *, {text}) -> Tensor"


@pytest.mark.parametrize(
    ("schema", "printed"),
    [
        ("f(Tensor self, int[] d=[-2, -1]) -> Tensor", "f(Tensor self, int[] d=[-2,-1]) -> Tensor"),
        ("f(Tensor self) -> (Tensor)", "f(Tensor self) -> Tensor"),
        ("f(Tensor(a) self) -> (Tensor(a))", "f(Tensor(a) self) -> Tensor(a)"),
        ("f(Tensor self, int a = 2) -> Tensor", "f(Tensor self, int a=2) -> Tensor"),
        ('f(Tensor self, *, str s="[1, 2] = 3") -> ()', 'f(Tensor self, *, str s="[1, 2] = 3") -> ()'),
        ("f(Tensor self) -> (Tensor, Tensor)", "f(Tensor self) -> (Tensor, Tensor)"),
    ],
)
def test_spellings_that_torch_takes_are_defined(schema, printed):
    with opdsl.Library("spelled") as lib:
        assert str(lib.define(schema).schema) == f"spelled::{printed}"
    assert "Tensor" in str(torch._C.parse_schema(schema))
