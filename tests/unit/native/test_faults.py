"""Tests of refused texts: the rule and position of each fault, all faults of a text at once, always as
NativeYamlError.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opdsl.errors import NativeYamlError
from opdsl.native import Fault, load, loads

GOOD = "- func: f(Tensor self) -> Tensor\n"

FAULTY = [
    # the line below the schema, rule, line:column, the offending text
    ("colour: red", "INV-17", "2:3", "colour"),
    ("func: g() -> ()", "INV-17", "2:3", "func"),
    ("device_guard: 1", "INV-17", "2:17", "1"),
    ("device_guard: 'True'", "INV-17", "2:18", "True"),
    ("python_module: no", "INV-17", "2:18", "no"),
    ("python_module: 1.0", "INV-17", "2:18", "1.0"),
    ("python_module:", "INV-17", "2:17", "\n"),
    ("python_module: [a]", "INV-17", "2:18", "[a]"),
    ("variants: function, methods", "INV-18", "2:23", "methods"),
    ("variants: [function]", "INV-18", "2:13", "[function]"),
    ("variants: function,method", "INV-18", "2:13", "function,method"),
    ("variants: 'method, function '", "INV-18", "2:14", "method, function "),
    ("device_check: Nocheck", "INV-20", "2:17", "Nocheck"),
    ("tags: [core, pointvise]", "INV-22", "2:16", "pointvise"),
    ("tags: [core, core]", "INV-22", "2:16", "core"),
    ("dispatch: f", "INV-26", "2:13", "f"),
    ("dispatch: {CPU: f, GPU: g}", "INV-26", "2:22", "GPU"),
    ("dispatch: {CPU: f, 'CUDA, CPU': g}", "INV-26", "2:29", "CPU"),
    ("dispatch: {AutogradCPU: f}", "INV-26", "2:14", "AutogradCPU"),
    ("dispatch: {CPU: 1}", "INV-26", "2:19", "1"),
    ("dispatch: {CPU: 'a b'}", "INV-26", "2:20", "a b"),
    ("dispatch: {CPU: a::b::c::d::f}", "INV-26", "2:19", "a::b::c::d::f"),
    ("autogen: f.out, add_out", "INV-3", "2:19", "add_out"),
    ("autogen: f.a.b", "INV-2", "2:15", ".b"),
    ("structured_inherits: TensorIteratorBase", "INV-30", "2:24", "TensorIteratorBase"),
    ("structured_delegate: at::f.out", "INV-31", "2:24", "at::f.out"),
    ("precomputed: [dim -> int x]", "INV-30", "2:16", "[dim -> int x]"),
    ("precomputed: dim -> int x", "INV-32", "2:16", "dim -> int x"),
    ("precomputed: [int x, dim -> int y]", "INV-32", "2:17", "int x"),
    ("precomputed: [dim -> int X]", "INV-32", "2:24", "int X"),
    ("precomputed: [dim -> int x, dim -> int y]", "INV-32", "2:31", "dim"),
    ("precomputed: ['dim -> int x,int y']", "INV-32", "2:18", "dim -> int x,int y"),
    ("precomputed: [dim -> int]", "INV-32", "2:27", "]"),
    ("ufunc_inner_loop: add (Bool)", "INV-33", "2:21", "add (Bool)"),
    ("ufunc_inner_loop: {Generally: add (Bool)}", "INV-33", "2:22", "Generally"),
    ("ufunc_inner_loop: add", "INV-33", "2:21", "add"),
    ("ufunc_inner_loop: add (Bool,Half)", "INV-33", "2:21", "add (Bool,Half)"),
    ("ufunc_inner_loop: add (Boolean)", "INV-33", "2:26", "Boolean"),
    ("cpp_no_default_args: dim", "INV-34", "2:24", "dim"),
    ("tags: &x core", "YAML", "2:9", "&"),
    ("tags: !!python/object/apply:os.getcwd []", "YAML", "2:9", "!"),
    ("tags: [[[[[[core]]]]]]", "YAML", "2:13", "["),
    ("tags: [core", "YAML", "3:1", ""),
    ("[a]: b", "YAML", "2:3", "["),
]


def faults_of(text: str) -> list[Fault]:
    with pytest.raises(NativeYamlError) as caught:
        loads(text, file="file.yaml")
    return [fault for fault in caught.value.faults if isinstance(fault, Fault)]


@pytest.mark.parametrize(("line", "rule", "place", "part"), FAULTY)
def test_fault_is_reported_by_rule_and_place(line: str, rule: str, place: str, part: str) -> None:
    text = f"{GOOD}  {line}\n"
    result = [
        (fault.rule, str(fault.location), text[fault.start : fault.end])
        for fault in faults_of(text)
        if fault.rule == rule
    ]
    assert (rule, f"file.yaml:{place}", part) in result


@pytest.mark.parametrize(
    ("func", "rule", "place", "part"),
    [
        ("f(Tenso self) -> Tensor", "INV-5", "1:11", "Tenso"),
        ("'f(Tenso self) -> Tensor'", "INV-5", "1:12", "Tenso"),
        ("f_(Tensor self) -> Tensor", "INV-14", "1:9", "f_"),
        ("f(int x, int x) -> ()", "duplicate-name", "1:22", "x"),
        ("1", "INV-17", "1:9", "1"),
        ("a::b::f() -> ()", "INV-2", "1:13", ":"),
    ],
)
def test_faults_of_schemas_are_placed_in_the_file(func: str, rule: str, place: str, part: str) -> None:
    text = f"- func: {func}\n"
    [fault] = faults_of(text)
    assert (fault.rule, str(fault.location)) == (rule, f"file.yaml:{place}")
    assert text[fault.start : fault.end] == part


def test_all_faults_are_reported_at_once_in_the_order_of_the_file() -> None:
    text = "".join(f"{GOOD.replace('f(', f'f{index}(')}  {line}\n" for index, (line, *_) in enumerate(FAULTY[:-5]))
    result = faults_of(text)
    assert {fault.rule for fault in result} >= {rule for _, rule, *_ in FAULTY[:-5]}
    assert [fault.start for fault in result] == sorted(fault.start for fault in result)


def test_message_shows_place_text_and_rule() -> None:
    with pytest.raises(NativeYamlError) as caught:
        loads(GOOD + "  tags: poinwise\n", file="file.yaml")
    assert str(caught.value).splitlines() == [
        "file.yaml:2:9: poinwise is no known tag: did you mean pointwise? [INV-22]",
        "  tags: poinwise",
        "        ~~~~~~~^",
    ]


@pytest.mark.parametrize(
    "text", ["f", "a: b", "- f", "- [a]", "- tags: core", "- func: f() -> ()\n---\n- func: g() -> ()"]
)
def test_other_yaml_is_refused(text: str) -> None:
    assert faults_of(text)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_a_text_without_a_list_is_refused(text: str) -> None:
    assert faults_of(text)


def test_a_list_without_entries_has_none() -> None:
    assert loads("[]") == ()


@pytest.mark.parametrize("text", ["- \x00", "- \ud800", "\x07", "- func: f() -> ()\n  tags: \ud800"])
def test_what_is_no_text_of_yaml_is_refused(text: str) -> None:
    assert faults_of(text)[0].rule == "YAML"


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_bytes(b"- func: f() -> ()\n# \xff\n")
    with pytest.raises(NativeYamlError, match=r"file.yaml:2:1: the file is not UTF-8"):
        load(path)


def test_tags_of_the_callers_own() -> None:
    [entry] = loads(GOOD + "  tags: mine\n", tags={"mine"})
    assert entry.tags == ("mine",)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "- " * 100_000,
        "{a: " * 100_000,
        "- func: f(" + "int x, " * 100_000 + "int y) -> ()",
        "- func: f(int" + "[]" * 1_000_000 + " x) -> ()",
        "- func: f(Tensor" + "(a" * 100_000,
        "- &a [x]\n" + "- *a\n" * 100_000,
        "- func: " + "x" * 2_000_000,
        '- func: f(str x="' + "\\" * 200_001 + '") -> ()',
        "- tags: [" + "a, " * 100_000 + "]",
    ],
    ids=["sequences", "dashes", "mappings", "arguments", "lists", "aliases", "yaml-aliases", "name", "string", "tags"],
)
def test_hostile_texts_end(text: str) -> None:
    assert faults_of(text)


SEED = (
    "- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)\n"
    "  device_check: NoCheck   # TensorIterator\n"
    "  structured: True\n"
    "  ufunc_inner_loop:\n"
    "    Generic: add (AllAndComplex, BFloat16)\n"
    "  precomputed:\n"
    "  - dim -> int dim\n"
    "  dispatch:\n"
    "    SparseCPU, SparseMeta: add_out_sparse_cpu\n"
    "  autogen: add.b_out, add.c_out\n"
    "  tags: [core, pointwise]\n"
)


@given(
    st.integers(0, len(SEED)),
    st.integers(0, 12),
    st.one_of(st.text(st.sampled_from("[]{}:,-#&*!|>'\"%@`? \n\tax"), max_size=5), st.text(max_size=4)),
)
def test_mutated_texts_load_or_raise_with_places(start: int, length: int, insert: str) -> None:
    text = SEED[:start] + insert + SEED[start + length :]
    try:
        loads(text)
    except NativeYamlError as error:
        assert error.faults
        for fault in error.faults:
            assert isinstance(fault, Fault)
            assert fault.location.line >= 1
            assert 0 <= fault.start <= len(text)


def test_importing_loads_no_yaml() -> None:
    code = "import sys, opdsl.native; print('yaml' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout == "False\n"
