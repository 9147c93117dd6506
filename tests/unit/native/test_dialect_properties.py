"""Property tests of randomly mutated texts of older dialects: they load or fail with positions, and upgrades change
nothing else.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.errors import NativeYamlError
from opdsl.native import Fault, load, loads, upgrade
from opdsl.native.dialects import DIALECTS, TODAY
from opdsl.native.dialects.edits import Edit, Rewriting

SEED = (Path(__file__).parent / "fixtures/dialects/0.4.yaml").read_text()
PIECES = st.one_of(
    st.text(st.sampled_from("[]{}:,-#&*!|>'\"%@`? \n\tax_.()<=/\\"), max_size=6),
    st.text(max_size=4),
    st.sampled_from([line.strip() for line in SEED.splitlines()]),
    st.sampled_from(["Tensor!", "_out", "self", "{}", "std::array<bool,", "void", "Type dtype", "IntList[", " -> "]),
)
EDITS = st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 40), PIECES), min_size=1, max_size=4)


def edited(edits: list[tuple[int, int, str]]) -> str:
    text = SEED
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length :]
    return text


@settings(max_examples=150)
@given(EDITS, st.sampled_from(["detect", *(dialect.name for dialect in DIALECTS)]))
def test_mutated_texts_load_or_fail_with_places(edits: list[tuple[int, int, str]], dialect: str) -> None:
    text = edited(edits)
    try:
        loads(text, dialect=dialect)
    except NativeYamlError as error:
        assert error.faults
        for fault in error.faults:
            assert isinstance(fault, Fault)
            assert 1 <= fault.location.line <= text.count("\n") + 2


@settings(max_examples=150)
@given(EDITS)
def test_mutated_texts_upgrade_with_places(edits: list[tuple[int, int, str]]) -> None:
    text = edited(edits)
    try:
        done = upgrade(text)
    except NativeYamlError as error:
        assert error.faults
        return
    for change in done.changes:
        assert 1 <= change.location.line <= text.count("\n") + 1
    for fault in done.faults:
        assert fault.shown(done.source)


@given(EDITS)
def test_what_loads_is_what_the_upgraded_text_says(edits: list[tuple[int, int, str]]) -> None:
    text = edited(edits)
    try:
        entries, done = loads(text, dialect="0.4"), upgrade(text, dialect="0.4")
    except NativeYamlError:
        return
    if not done.faults:
        assert entries == loads(done.text)


@given(st.text("ab\n"), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 5), st.text("xy\n", max_size=3))))
def test_places_that_no_edit_touched_are_found_again(text: str, edits: list[tuple[int, int, str]]) -> None:
    parts = [Edit(min(start, len(text)), min(start + length, len(text)), new) for start, length, new in edits]
    done = Rewriting(text, parts)
    for index, character in enumerate(done.after):
        if character in "ab":
            assert text[done.place_before(index)] == character


HOSTILE = {
    "arguments": "'- func: f(' + 'int64_t x, ' * 300_000 + ') -> Tensor'",
    "brackets": "'- func: f(' + '(' * 2_000_000",
    "types": "'- func: f(' + 'std::array<' * 200_000 + ' x) -> Tensor'",
    "entries": "'- func: f(double x) -> Tensor\\n' * 5_000",
    "keys": "'- func: f(double x) -> Tensor\\n' + '  cpu_half: True\\n' * 20_000",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_in_bounded_time(name: str) -> None:
    code = f"import opdsl.native as n; print(len(n.upgrade({HOSTILE[name]}).faults))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=90)
    assert process.returncode == 0 or "NativeYamlError" in process.stderr, process.stderr[-500:]


def test_the_corpus_of_today_stays_as_it_is(corpus_path: Path) -> None:
    text = corpus_path.read_text()
    done = upgrade(text)
    assert (done.text == text, done.dialect, done.changes, done.faults) == (True, TODAY, (), ())


def test_the_corpus_of_today_loads_in_every_dialect(corpus_path: Path) -> None:
    assert load(corpus_path, dialect="1.9") == load(corpus_path)
