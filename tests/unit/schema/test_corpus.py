"""Tests of all of PyTorch's schemas, with torchgen's model as oracle."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from torchgen.model import FunctionSchema as TorchgenSchema

from opdsl.schema import FunctionSchema, check, parse_schema


@pytest.fixture(scope="module")
def ours(corpus: list[str]) -> list[FunctionSchema]:
    return [parse_schema(text) for text in corpus]


@pytest.fixture(scope="module")
def theirs(corpus: list[str]) -> list[Any]:
    return [TorchgenSchema.parse(text) for text in corpus]


def test_corpus_is_the_whole_one(corpus: list[str]) -> None:
    assert len(corpus) == 2584


def test_every_schema_prints_back(corpus: list[str], ours: list[FunctionSchema]) -> None:
    assert [str(schema) for schema in ours] == corpus


def test_every_schema_holds_all_invariants(ours: list[FunctionSchema]) -> None:
    assert [violation for schema in ours for violation in check(schema)] == []


def test_kinds(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [schema.kind.name for schema in ours] == [schema.kind().name for schema in theirs]


def test_kinds_add_up(ours: list[FunctionSchema]) -> None:
    counts: dict[str, int] = defaultdict(int)
    for schema in ours:
        counts[schema.kind.name] += 1
    assert counts == {"functional": 1606, "out": 631, "inplace": 337, "mutable": 10}


def test_signatures(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [str(schema.signature()) for schema in ours] == [str(schema.signature()) for schema in theirs]


def test_signatures_group_alike(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    def groups(signatures: list[Any]) -> list[list[int]]:
        result: dict[Any, list[int]] = defaultdict(list)
        for index, signature in enumerate(signatures):
            result[signature].append(index)
        return list(result.values())

    assert groups([schema.signature() for schema in ours]) == groups([schema.signature() for schema in theirs])


def test_view_signatures(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [str(schema.signature(strip_view_copy=True)) for schema in ours] == [
        str(schema.view_signature()) for schema in theirs
    ]


def test_signatures_with_return_names(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [str(schema.signature(keep_return_names=True)) for schema in ours] == [
        str(schema.signature(keep_return_names=True)) for schema in theirs
    ]


def test_mutability(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [schema.is_mutable for schema in ours] == [schema.is_mutable for schema in theirs]


def test_written_arguments(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [[written.name for written in schema.written_arguments] for schema in ours] == [
        schema.arguments.mutable_arg_names() for schema in theirs
    ]


def test_returned_arguments(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [list(schema.returned_arguments) for schema in ours] == [schema.aliased_return_names() for schema in theirs]


def test_tensor_options(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    assert [bool(schema.tensor_options) for schema in ours] == [
        schema.arguments.tensor_options is not None for schema in theirs
    ]


def test_names(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    def parts(name: Any) -> tuple[Any, ...]:
        return name.root, name.is_inplace, name.is_dunder, name.is_functional_variant, name.overload

    assert [parts(schema.name) for schema in ours] == [
        (name.name.base, name.name.inplace, name.name.dunder_method, name.name.functional_overload, name.overload_name)
        for name in (schema.name for schema in theirs)
    ]


def test_aliases(ours: list[FunctionSchema], theirs: list[Any]) -> None:
    def parts(alias: Any) -> tuple[Any, ...] | None:
        return None if alias is None else (alias.before, alias.write, alias.after)

    assert [[parts(argument.alias) for argument in schema.arguments] for schema in ours] == [
        [
            None if annotation is None else (annotation.alias_set, annotation.is_write, annotation.alias_set_after)
            for annotation in (argument.annotation for argument in schema.schema_order_arguments())
        ]
        for schema in theirs
    ]
