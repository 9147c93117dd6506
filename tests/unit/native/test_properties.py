"""Property tests: generated entries round-trip, mutated ones load or fail with positions, and hostile files end in
bounded time and memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.errors import NativeYamlError
from opdsl.native import (
    DeviceCheck,
    DispatchEntry,
    Fault,
    Kernel,
    NativeFunction,
    Variant,
    check,
    check_text,
    dumps,
    loads,
)
from opdsl.native.known import DISPATCH_KEYS, TAGS
from opdsl.schema import OperatorName, parse_schema

NAMES = st.text("abcdefgh_", min_size=1, max_size=8).map(lambda text: f"n{text}x")
TYPES = st.sampled_from(
    ["Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "SymInt[2]", "float?", "bool", "str", "Scalar", "int[]?"]
)
DEFAULTS = {"int": "1", "bool": "False", "float?": "None", "str": '"a b: c"', "Scalar": "-1.5e-05", "int[]?": "None"}
OPTION = "[{func: 'f() -> ()'}]"


@st.composite
def schemas(draw: st.DrawFn) -> str:
    names = draw(st.lists(NAMES, unique=True, max_size=6))
    arguments: list[tuple[str, str]] = []
    keywords: list[tuple[str, str]] = []
    for name in names:
        type = draw(TYPES)
        (keywords if draw(st.booleans()) else arguments).append((type, name))
    texts = [f"{type} {name}" for type, name in arguments]
    if keywords:
        texts.append("*")
        texts += [f"{type} {name}{f'={DEFAULTS[type]}' if type in DEFAULTS else ''}" for type, name in keywords]
    returns = draw(st.sampled_from(["Tensor", "()", "(Tensor, int)", "Tensor[]", "(Tensor values, Tensor indices)"]))
    overload = draw(st.sampled_from(["", ".Tensor", ".x_1"]))
    return f"{draw(NAMES)}{overload}({', '.join(texts)}) -> {returns}"


@st.composite
def made_entries(draw: st.DrawFn) -> NativeFunction:
    keys = draw(st.lists(st.sampled_from(sorted(DISPATCH_KEYS)), unique=True, max_size=4))
    kernels = st.builds(Kernel, NAMES, st.sampled_from(["", "mine", "mine::own"]))
    lines = tuple(DispatchEntry((key,), draw(kernels)) for key in keys)
    return NativeFunction(
        parse_schema(draw(schemas())),
        variants=frozenset(draw(st.sets(st.sampled_from(list(Variant)), min_size=1))),
        dispatch=lines if draw(st.booleans()) else None,
        tags=tuple(draw(st.lists(st.sampled_from(sorted(TAGS)), unique=True, max_size=3))),
        autogen=tuple(OperatorName(None, name, "out") for name in draw(st.lists(NAMES, max_size=2))),
        device_check=draw(st.sampled_from(list(DeviceCheck))),
        device_guard=draw(st.booleans()),
        python_module=draw(st.none() | st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")))),
        category_override=draw(st.none() | st.text("abc 'x\"#:-&*!", min_size=1)),
        manual_cpp_binding=draw(st.booleans()),
    )


@given(st.lists(made_entries(), max_size=4))
def test_generated_entries_round_trip(entries: list[NativeFunction]) -> None:
    assert list(loads(dumps(entries))) == entries


@given(st.lists(made_entries(), max_size=5))
def test_checking_generated_entries_ends_in_faults_with_places(entries: list[NativeFunction]) -> None:
    for fault in check(entries):
        assert fault.rule
        assert fault.location.line >= 1


SEED = """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  structured_delegate: add.out
  variants: function, method
  tags: [core, pointwise]
- func: add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)
  structured_delegate: add.out
  variants: method
- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16)
    ScalarOnly: add (Bool)
  precomputed:
  - alpha -> int dim
  dispatch:
    SparseCPU, SparseMeta: add_out_sparse_cpu
- func: t(Tensor(a) self) -> Tensor(a)
  dispatch:
    CompositeExplicitAutograd: t
- func: t_copy(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: t_copy
  autogen: t_copy.out
  tags: view_copy
- func: t_(Tensor(a!) self) -> Tensor(a!)
  tags: inplace_view
  dispatch:
    CompositeExplicitAutograd: t_
- func: f(Tensor self, Tensor(a!) other) -> Tensor
  dispatch: {CPU: f}
  autogen: f_functional, f.out
"""
PIECES = st.one_of(
    st.text(st.sampled_from("[]{}:,-#&*!|>'\"%@`? \n\tax_.()"), max_size=6),
    st.text(max_size=4),
    st.sampled_from([line.strip() for line in SEED.splitlines()] + ["Tensor(a!)", " -> ()", "out", "_", "self"]),
)


def test_the_seed_is_good() -> None:
    assert check_text(SEED)[0] == []


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, len(SEED)), st.integers(0, 30), PIECES), min_size=1, max_size=4))
def test_mutated_texts_are_checked_with_places(edits: list[tuple[int, int, str]]) -> None:
    text = SEED
    for start, length, piece in edits:
        text = text[:start] + piece + text[start + length :]
    faults, source = check_text(text)
    for fault in faults:
        assert fault.location.line >= 1
        assert 0 <= fault.start <= len(text)
        assert fault.shown(source)
    try:
        loads(text)
    except NativeYamlError as error:
        assert error.faults
        assert all(isinstance(fault, Fault) for fault in error.faults)


def test_checking_many_returns_ends() -> None:
    returns = ", ".join(["Tensor"] * 40)
    text = f"- func: f(Tensor self) -> ({returns})\n  dispatch: {{CPU: f}}\n  autogen: f.out\n"
    assert [fault.rule for fault in check_text(text)[0]] == ["INV-43"]


HOSTILE = {
    "sequences": "'[' * 10_000_000",
    "entries": "'- func: f(Tenso self) -> Tensor\\n' * 300_000",
    "duplicates": "'- func: f(Tensor self) -> Tensor\\n' * 300_000",
    "aliases": "'- &a [x]\\n' + '- *a\\n' * 2_000_000",
    "bomb": "'a: &a [x,x]\\n' + ''.join(f'k{i}: &k{i} [*a,*a]\\n' for i in range(500_000))",
    "one-line": "'- func: f(' + 'int x, ' * 1_400_000",
    "tags": "'- tags: [' + 'a, ' * 3_000_000 + ']'",
    "keys": "'- func: f() -> ()\\n' + '  colour: red\\n' * 700_000",
    "comment": "'#' * 10_000_000",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_of_10_mb_ends_in_bounded_time_and_memory(name: str) -> None:
    code = f"import opdsl.native as n; print(len(n.check_text({HOSTILE[name]})[0]))"
    gigabytes = 4 << 30
    process = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (gigabytes, gigabytes)),
    )
    assert process.returncode == 0, process.stderr[-500:]


def test_values_that_were_changed_are_checked_as_they_are() -> None:
    [entry] = loads(OPTION)
    changed = attrs.evolve(entry, tags=("inplace",))
    assert [fault.rule for fault in check([changed])] == ["INV-23"]
