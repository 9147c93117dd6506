"""Tests of all of PyTorch's entries, key by key, with torchgen as oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opdsl.native import Delegate, NativeFunction, Structured, loads

Entries = tuple[NativeFunction, ...]


def test_all_entries_are_there(entries: Entries) -> None:
    assert len(entries) == 2584


@pytest.mark.parametrize(
    "key",
    [
        "device_guard",
        "python_module",
        "category_override",
        "manual_cpp_binding",
        "manual_kernel_registration",
        "use_const_ref_for_mutable_tensors",
    ],
)
def test_simple_keys(key: str, entries: Entries, theirs: Any) -> None:
    assert [getattr(entry, key) for entry in entries] == [getattr(one, key) for one in theirs.native_functions]


def test_schemas(entries: Entries, theirs: Any) -> None:
    assert [str(entry.schema) for entry in entries] == [str(one.func) for one in theirs.native_functions]


def test_variants(entries: Entries, theirs: Any) -> None:
    assert [{variant.name for variant in entry.variants} for entry in entries] == [
        {variant.name for variant in one.variants} for one in theirs.native_functions
    ]


def test_device_checks(entries: Entries, theirs: Any) -> None:
    assert [entry.device_check.name for entry in entries] == [one.device_check.name for one in theirs.native_functions]


def test_tags_with_the_inferred_ones(entries: Entries, theirs: Any) -> None:
    assert [entry.all_tags for entry in entries] == [one.tags for one in theirs.native_functions]


def test_autogen(entries: Entries, theirs: Any) -> None:
    assert [[str(name) for name in entry.autogen] for entry in entries] == [
        [str(name) for name in one.autogen] for one in theirs.native_functions
    ]


def test_arguments_without_cpp_default(entries: Entries, theirs: Any) -> None:
    assert [set(entry.cpp_no_default_args) for entry in entries] == [
        one.cpp_no_default_args for one in theirs.native_functions
    ]


def test_structured_entries(entries: Entries, theirs: Any) -> None:
    def parts(entry: NativeFunction) -> tuple[bool, str | None, str | None]:
        structure = entry.structure
        return (
            isinstance(structure, Structured),
            structure.inherits if isinstance(structure, Structured) else None,
            str(structure.to) if isinstance(structure, Delegate) else None,
        )

    assert [parts(entry) for entry in entries] == [
        (
            one.structured,
            one.structured_inherits,
            None if one.structured_delegate is None else str(one.structured_delegate),
        )
        for one in theirs.native_functions
    ]


def test_precomputed(entries: Entries, theirs: Any) -> None:
    def parts(entry: NativeFunction) -> Any:
        precomputed = entry.structure.precomputed if isinstance(entry.structure, Structured) else None
        if precomputed is None:
            return None
        replaced = {name: [str(argument) for argument in arguments] for name, arguments in precomputed.replaced}
        return replaced, [str(argument) for argument in precomputed.added]

    assert [parts(entry) for entry in entries] == [
        None
        if one.precomputed is None
        else (
            {name: [str(argument) for argument in arguments] for name, arguments in one.precomputed.replace.items()},
            [str(argument) for argument in one.precomputed.add],
        )
        for one in theirs.native_functions
    ]


def test_ufuncs(entries: Entries, theirs: Any) -> None:
    def parts(entry: NativeFunction) -> Any:
        loops = entry.structure.ufunc if isinstance(entry.structure, Structured) else ()
        return {loop.key.name: (loop.name, list(loop.supported)) for loop in loops}

    assert [parts(entry) for entry in entries] == [
        {
            key.name: (loop.name, [dtype.name for dtype in loop.supported_dtypes])
            for key, loop in one.ufunc_inner_loop.items()
        }
        for one in theirs.native_functions
    ]


def test_kernels(entries: Entries, theirs: Any) -> None:
    expected: dict[str, dict[str, tuple[str, str]]] = {str(one.func.name): {} for one in theirs.native_functions}
    for key, index in theirs.backend_indices.items():
        for name, metadata in index.index.items():
            expected[str(name)][key.name] = (metadata.cpp_namespace, metadata.kernel)
    assert {
        str(entry.name): {
            key: (f"{kernel.namespace or 'at'}::native", kernel.name) for key, kernel in entry.kernels.items()
        }
        for entry in entries
    } == expected


def test_views(entries: Entries, theirs: Any) -> None:
    assert [entry.is_view for entry in entries] == [one.is_view_op for one in theirs.native_functions]


def test_lines(entries: Entries, theirs: Any, corpus_path: Path) -> None:
    assert [(entry.location().file, entry.location().line) for entry in entries] == [
        (str(corpus_path), one.loc.line) for one in theirs.native_functions
    ]


def test_every_key_knows_its_place() -> None:
    [entry] = loads(
        "- func: f(Tensor self) -> Tensor\n"
        "  variants: function, method\n"
        "  dispatch:\n"
        "    CPU, CUDA: f_fast\n"
        "    Meta: f_meta\n"
        "  tags: [core, pointwise]\n",
        file="some.yaml",
    )
    assert str(entry.location()) == "some.yaml:1:3"
    assert str(entry.location("func")) == "some.yaml:1:9"
    assert str(entry.location("dispatch", "CUDA")) == "some.yaml:4:16"
    assert str(entry.location("tags", 1)) == "some.yaml:6:16"
    assert str(entry.location("autogen")) == "some.yaml:1:3"
