"""Tests of writing entries: opdsl and torchgen read equal values from the written text."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opdsl.native import NativeFunction, Variant, dumps, loads
from opdsl.native.dump import plain_or_quoted

Entries = tuple[NativeFunction, ...]


@pytest.fixture(scope="module", params=[True, False], ids=["verbatim", "canonical"])
def dumped(request: pytest.FixtureRequest, entries: Entries) -> str:
    return dumps(entries, verbatim=request.param)


def test_corpus_reads_back_equal(dumped: str, entries: Entries) -> None:
    assert loads(dumped) == entries


def test_torchgen_reads_back_equal_entries(dumped: str, theirs: Any, torchgen_parse: Any) -> None:
    def without_location(function: Any) -> Any:
        return dataclasses.replace(function, loc=None)

    again = torchgen_parse(dumped)
    assert list(map(without_location, again.native_functions)) == list(map(without_location, theirs.native_functions))


def test_torchgen_reads_back_equal_kernels(dumped: str, theirs: Any, torchgen_parse: Any) -> None:
    again = torchgen_parse(dumped)
    assert dict(again.backend_indices) == dict(theirs.backend_indices)


def test_an_unchanged_corpus_is_written_as_it_was(entries: Entries, corpus_path: Path) -> None:
    assert dumps(entries) == corpus_path.read_text()


def test_a_changed_entry_is_written_anew_below_its_comments() -> None:
    first, second = loads("# one\n- func: f() -> ()  # here\n\n# two\n- func: g() -> ()\n  tags: core # three\n")
    changed = attrs.evolve(second, variants=frozenset(Variant))
    assert dumps([first, changed]) == (
        "# one\n- func: f() -> ()  # here\n\n# two\n- func: g() -> ()\n  variants: function, method\n  tags: core\n"
    )


def test_entries_changed_over_and_over_are_never_taken_for_unchanged() -> None:
    [entry] = loads("- func: f() -> ()\n")
    for count in range(200):
        entry = attrs.evolve(entry, python_module=f"m{count}")
        assert f"python_module: m{count}\n" in dumps([entry])


def test_comments_move_with_their_entry() -> None:
    first, second = loads("# one\n- func: f() -> ()\n  # of f\n# two\n\n- func: g() -> ()\n")
    assert dumps([second, first]) == "# two\n\n- func: g() -> ()\n# one\n- func: f() -> ()\n  # of f\n"


def test_marks_of_documents_are_left_out() -> None:
    first, second = loads("%YAML 1.1\n---\n- func: f() -> ()\n\n- func: g() -> ()\n...\n")
    assert loads(dumps([second, first])) == (second, first)


def test_made_entries_are_parted_by_an_empty_line() -> None:
    entries = [attrs.evolve(entry, origin=None) for entry in loads("- func: f() -> ()\n- func: g() -> ()\n")]
    assert dumps(entries) == "- func: f() -> ()\n\n- func: g() -> ()\n"


def test_every_key_is_written() -> None:
    text = (
        "- func: f.out(Tensor self, int[2] dim=0, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  python_module: nn\n"
        "  category_override: factory\n"
        '  cpp_no_default_args: ["dim"]\n'
        "  manual_cpp_binding: True\n"
        "  manual_kernel_registration: True\n"
        "  use_const_ref_for_mutable_tensors: True\n"
        "  device_check: NoCheck\n"
        "  device_guard: False\n"
        "  variants: method\n"
        "  structured: True\n"
        "  structured_inherits: TensorIteratorBase\n"
        "  precomputed:\n"
        "  - dim -> int width, int height\n"
        "  - int batch\n"
        "  ufunc_inner_loop:\n"
        "    Generic: f (AllAndComplex, Half)\n"
        "    ScalarOnly: f (Bool)\n"
        "  dispatch:\n"
        "    CPU, CUDA: a::b::f_out\n"
        "    Meta: f_meta\n"
        "  autogen: f.x_out, g\n"
        "  tags: [core, pointwise]\n"
    )
    [entry] = loads(text)
    again = dumps([entry], verbatim=False)
    assert again == text.replace('["dim"]', "[dim]")
    assert loads(again) == (entry,)


def test_an_empty_dispatch_is_not_a_missing_one() -> None:
    empty, missing = loads("- func: f() -> ()\n  dispatch: {}\n- func: g() -> ()\n")
    assert (empty.dispatch, missing.dispatch) == ((), None)
    assert loads(dumps([empty, missing], verbatim=False)) == (empty, missing)


def test_entries_in_flow_style_are_written_in_block_style() -> None:
    entries = loads("[{func: f() -> ()}, {func: g() -> ()}]")
    assert dumps(entries) == "- func: f() -> ()\n\n- func: g() -> ()\n"


def test_indented_entries_are_written_in_block_style() -> None:
    entries = loads("  - func: f() -> ()\n  - func: g() -> ()\n")
    assert dumps(entries) == "- func: f() -> ()\n\n- func: g() -> ()\n"


def test_several_entries_in_one_line_are_not_doubled() -> None:
    entries = loads("- func: f() -> ()\n- {func: g() -> (),\n   tags: core}\n")
    assert loads(dumps(entries)) == entries


def test_comments_inside_an_entry_stay() -> None:
    text = "- func: f() -> ()\n  # why\n  tags: core  # really\n"
    assert dumps(loads(text)) == text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_scalars_read_back_as_the_same_text(text: str) -> None:
    assert yaml.load(plain_or_quoted(text), yaml.CSafeLoader) == text
