"""Tests of every numbered invariant, each with a fixture that breaks it and whose first line states the
expected fault.
"""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from opdsl.native import Fault, NativeFunction, check, check_text, loads
from opdsl.native.rules.breach import number
from opdsl.native.rules.checking import ACROSS, DISPATCHED, SINGLE, STRUCTURED

FIXTURES = sorted(Path(__file__).with_name("fixtures").glob("inv_*.yaml"))
HEADER = re.compile(r"# (?P<rule>INV-\d+) (?P<place>\d+:\d+) (?P<text>.*?)(?: \| (?P<other>\d+:\d+))?\n")

# INV-55 is about a list of names inside torchgen; INV-56 is about derivatives, whose tests check it.
NUMBERS = {f"INV-{number}" for number in range(1, 58)} - {"INV-55", "INV-56"}


def expected(text: str) -> re.Match[str]:
    header = HEADER.match(text)
    assert header is not None
    return header


def place(fault: Fault) -> str:
    return f"{fault.location.line}:{fault.location.column}"


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_fault_is_found_by_rule_and_place(path: Path) -> None:
    text = path.read_text()
    header = expected(text)
    faults, _ = check_text(text)
    result = [(fault.rule, place(fault), text[fault.start : fault.end]) for fault in faults]
    assert (header["rule"], header["place"], header["text"]) in result


@pytest.mark.parametrize("path", [path for path in FIXTURES if " | " in path.read_text()], ids=lambda path: path.stem)
def test_faults_across_entries_name_both_places(path: Path) -> None:
    text = path.read_text()
    header = expected(text)
    [fault] = [fault for fault in check_text(text)[0] if fault.rule == header["rule"]]
    assert header["other"] in [f"{other.location.line}:{other.location.column}" for other in fault.others]


def test_every_invariant_has_a_fixture() -> None:
    assert {expected(path.read_text())["rule"] for path in FIXTURES} == NUMBERS


def test_all_fixtures_in_one_text_are_all_reported() -> None:
    text = ""
    wanted = []
    for path in FIXTURES:
        header = expected(path.read_text())
        line, column = map(int, header["place"].split(":"))
        wanted.append((header["rule"], f"{text.count(chr(10)) + line}:{column}"))
        text += path.read_text()
    actual = [(fault.rule, place(fault)) for fault in check_text(text)[0]]
    assert [fault for fault in wanted if fault not in actual] == []


def test_rules_are_named_by_their_number() -> None:
    assert {rule for rule, _ in SINGLE + DISPATCHED + STRUCTURED + ACROSS} < NUMBERS
    assert all(name == number(rule) for name, rule in SINGLE)


def test_pytorchs_own_entries_break_no_rule(entries: tuple[NativeFunction, ...]) -> None:
    assert check(entries) == []


def test_entries_that_were_made_are_shown_as_they_would_be_written() -> None:
    [entry] = loads("- func: f(Tensor self) -> Tensor\n  variants: function, method")
    output = attrs.evolve(entry, python_module="nn", origin=None)
    [fault] = check([output])
    assert (fault.rule, str(fault.location)) == ("INV-19", "<made>:3:23")


def test_a_delegate_of_an_entry_that_cannot_be_read_is_no_fault_of_its_own() -> None:
    faults, _ = check_text(
        "- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out\n- func: f.out(Tensor self, * -> Tensor\n"
    )
    assert [fault.location.line for fault in faults] == [3]


FAMILY = {
    "f": "f(Tensor self) -> Tensor\n  structured_delegate: f.out\n",
    "f_": "f_(Tensor(a!) self) -> Tensor(a!)\n  structured_delegate: f.out\n",
    "f.out": (
        "f.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  structured: True\n  structured_inherits: TensorIteratorBase\n  dispatch:\n    CPU: f_out\n"
    ),
    "v": "v(Tensor(a) self) -> Tensor(a)\n  dispatch:\n    CPU: v\n",
    "v_": "v_(Tensor(a!) self) -> Tensor(a!)\n  tags: inplace_view\n  dispatch:\n    CPU: v_\n",
    "v_copy": "v_copy(Tensor self) -> Tensor\n  tags: view_copy\n  dispatch:\n    CompositeExplicitAutograd: v_copy\n",
    "random_": (
        "random_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    CPU: random_\n  autogen: random, random.out\n"
        "  tags: nondeterministic_seeded\n"
    ),
    "_foreach_f": "_foreach_f(Tensor[] self) -> Tensor[]\n  device_check: NoCheck\n  dispatch:\n    CPU: g\n",
    "empty": "empty(int[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None) -> Tensor\n  dispatch:\n    CPU: empty\n",
}
"""Faultless entries that are variants of each other."""

SPOILED = {
    "-> Tensor": "-> Tenso",
    "(Tensor": "(Tensor*",
    "structured: True": "structured: Ture",
    "structured_delegate: f.out": "structured_delgate: f.out",
    "dispatch:": "dispach:",
    "CPU: ": "CPV: ",
    "tags: ": "tag: ",
    "nondeterministic_seeded": "nondeterministic_seded",
    "inplace_view": "in_place_view",
    "view_copy\n": "viewcopy\n",
    "autogen: ": "autogem: ",
    "NoCheck": "Nocheck",
    "func: ": "fnc: ",
}


def written(name: str) -> str:
    return f"- func: {FAMILY[name]}"


def test_the_family_that_is_spoiled_is_without_fault() -> None:
    assert check_text("".join(map(written, FAMILY)))[0] == []


@pytest.mark.parametrize(
    ("name", "good"), [(name, part) for name in FAMILY for part in SPOILED if part in written(name)]
)
def test_what_cannot_be_read_is_the_only_fault(name: str, good: str) -> None:
    """An entry that cannot be read is the only fault: rules do not report missing variants that it may have
    declared.
    """
    spoiled = written(name).replace(good, SPOILED[good])
    text = "".join(map(written, FAMILY)).replace(written(name), spoiled)
    first = text.index(spoiled)
    [fault] = check_text(text)[0]
    assert first <= fault.start < first + len(spoiled)


def test_an_entry_beside_one_that_cannot_be_read_still_has_its_own_faults() -> None:
    faults, _ = check_text(
        "- func: f(Tenso self) -> Tensor\n- func: g_(Tensor(a!) self) -> Tensor(a!)\n  dispatch:\n    CPU: g_\n"
    )
    assert [(fault.rule, fault.location.line) for fault in faults] == [("INV-5", 1), ("INV-53", 2)]


def test_an_empty_text_is_a_fault() -> None:
    [fault] = check_text("# nothing\n")[0]
    assert (fault.rule, str(fault.location)) == ("INV-17", "<string>:1:1")
    assert check_text("[]")[0] == check([]) == []


def test_a_backends_stub_file_is_called_so() -> None:
    [fault] = check_text("backend: XLA\ncpp_namespace: torch_xla\nsupported:\n- add.Tensor\n")[0]
    assert (fault.rule, "backend's stub file" in fault.message) == ("INV-17", True)


def test_a_text_that_is_no_yaml_has_one_fault() -> None:
    assert [fault.rule for fault in check_text("- func: [")[0]] == ["YAML"]


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        ("CompositeImplicitAutograd: f\n    CompositeImplicitAutogradNestedTensor: g", []),
        ("CompositeExplicitAutograd: f\n    CompositeImplicitAutogradNestedTensor: g", []),
        ("CompositeExplicitAutogradNonFunctional: f\n    CompositeImplicitAutogradNestedTensor: g", ["INV-27"]),
        ("CompositeImplicitAutograd: f_symint", []),
        ("CompositeImplicitAutograd: mine::f", ["INV-28"]),
    ],
)
def test_composite_kernels(lines: str, rules: list[str]) -> None:
    text = f"- func: f(Tensor self) -> Tensor\n  dispatch:\n    {lines}\n"
    assert [fault.rule for fault in check_text(text)[0]] == rules


@pytest.mark.parametrize(
    "text",
    [
        "[{func: 'f(Tensor self, *, Generator? generator) -> Tensor', tags: nondeterministic_seeded}]",
        "[{func: 'f_backward(Tensor self, float dropout) -> Tensor'}]",
        "[{func: 'f(int dim, Tensor self) -> Tensor', variants: method}]",
        "[{func: 'f(bool[2] mask) -> Tensor[]'}]",
    ],
)
def test_valid_entries_that_resemble_faults(text: str) -> None:
    assert check_text(text)[0] == []
