"""Tests of the operators that ``autogen`` generates, with torchgen as oracle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opdsl.native import NativeFunction, generated, loads, structured_groups, variant_groups, view_groups

Entries = tuple[NativeFunction, ...]


@pytest.fixture(scope="module")
def ours(entries: Entries) -> Entries:
    return generated(entries)


@pytest.fixture(scope="module")
def with_generated(corpus_path: Path, torchgen_parse: Any) -> Any:
    return torchgen_parse(corpus_path.read_text(), generate=True)


@pytest.fixture(scope="module")
def theirs_generated(entries: Entries, with_generated: Any) -> Any:
    return with_generated.native_functions[len(entries) :]


def test_their_number(ours: Entries) -> None:
    assert len(ours) == 517


def test_schemas(ours: Entries, theirs_generated: Any) -> None:
    assert [str(entry.schema) for entry in ours] == [str(entry.func) for entry in theirs_generated]


def test_tags(ours: Entries, theirs_generated: Any) -> None:
    assert [entry.all_tags for entry in ours] == [entry.tags for entry in theirs_generated]


@pytest.mark.parametrize("key", ["device_guard", "manual_cpp_binding", "use_const_ref_for_mutable_tensors"])
def test_simple_keys(key: str, ours: Entries, theirs_generated: Any) -> None:
    assert [getattr(entry, key) for entry in ours] == [getattr(entry, key) for entry in theirs_generated]


def test_device_checks(ours: Entries, theirs_generated: Any) -> None:
    assert [entry.device_check.name for entry in ours] == [entry.device_check.name for entry in theirs_generated]


def test_variants(ours: Entries, theirs_generated: Any) -> None:
    assert [{variant.name for variant in entry.variants} for entry in ours] == [
        {variant.name for variant in entry.variants} for entry in theirs_generated
    ]


def test_kernels(ours: Entries, with_generated: Any, theirs_generated: Any) -> None:
    expected: dict[str, dict[str, str]] = {str(entry.func.name): {} for entry in theirs_generated}
    for key, index in with_generated.backend_indices.items():
        for name, metadata in index.index.items():
            if str(name) in expected:
                expected[str(name)][key.name] = metadata.kernel
    assert {str(entry.name): {key: kernel.name for key, kernel in entry.kernels.items()} for entry in ours} == expected


def test_groups_with_them(entries: Entries, ours: Entries, with_generated: Any) -> None:
    from torchgen.gen import get_grouped_native_functions
    from torchgen.model import NativeFunctionsGroup

    def names(group: Any) -> list[str]:
        return [str(function.func.name) for function in group.functions()]

    theirs = get_grouped_native_functions(with_generated.native_functions)
    expected = [names(group) for group in theirs if isinstance(group, NativeFunctionsGroup)]
    groups = variant_groups(entries + ours)
    assert [
        [str(member.name) for member in group.members] for group in groups if not isinstance(group, NativeFunction)
    ] == (expected)


def test_group_counts(entries: Entries, ours: Entries) -> None:
    structured = structured_groups(entries + ours)
    assert (len(structured), sum(group.inplace is not None for group in structured)) == (275, 110)
    assert len(view_groups(entries + ours)) == 91


def test_a_name_outside_aten_keeps_its_namespace() -> None:
    [output] = generated(loads("[{func: 'mine::f(Tensor self) -> Tensor', dispatch: {CPU: f}, autogen: f.out}]"))
    assert str(output.schema) == "mine::f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"


def test_tensor_options_are_dropped_and_lists_written() -> None:
    options = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
    [output] = generated(
        loads(f"[{{func: 'f(int n, *, {options}) -> Tensor[]', dispatch: {{CPU: f}}, autogen: f.out}}]")
    )
    assert str(output.schema) == "f.out(int n, *, Tensor(a!)[] out) -> ()"
