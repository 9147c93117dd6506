"""Tests of which changes to entries break callers, with PyTorch's own check as oracle."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.native import loads
from opdsl.native.compatibility import compare, is_compatible
from opdsl.schema import parse_schema

OLD = "f(Tensor self, int dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)"
CASES = [
    (OLD, ""),
    ("f(Tensor self, int axis, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", "called axis"),
    ("f(Tensor self, int dim, float eps, *, bool keepdim=False) -> (Tensor a, Tensor b)", "lost its default"),
    ("f(Tensor self, int dim, float eps=1e-06, *, bool keepdim=False) -> (Tensor a, Tensor b)", "default 1e-06 now"),
    ("f(Tensor(a!) self, int dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", "Tensor(a!) now"),
    (
        "f(Tensor self, int dim, float eps=1e-05, *, bool keepdim=False, int n) -> (Tensor a, Tensor b)",
        "has no default",
    ),
    ("f(Tensor self, int dim, float eps=1e-05, *, bool keepdim=False, int n=0) -> (Tensor a, Tensor b)", ""),
    (
        "f(Tensor self, int dim, float eps=1e-05, int n=0, *, bool keepdim=False) -> (Tensor a, Tensor b)",
        "another place",
    ),
    ("f(Tensor self, int dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor b, Tensor a)", "reordered"),
    ("f(Tensor self, int dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor c)", "c now"),
    ("f(Tensor self, int dim, float eps=1e-05, *, bool keepdim=False) -> Tensor", "gives 1 value"),
    ("f(Tensor self, int dim, *, float eps=1e-05, bool keepdim=False) -> (Tensor a, Tensor b)", "keyword-only"),
    ("f(Tensor self, int dim, float eps=1e-05, bool keepdim=False) -> (Tensor a, Tensor b)", ""),
    ("f(Tensor self, int? dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", ""),
    ("f(Tensor self, Scalar dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", ""),
    ("f(Tensor self, int dim=0, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", ""),
    ("f(Tensor self, float dim, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", "float now"),
    ("f(Tensor self, int dim, *, bool keepdim=False) -> (Tensor a, Tensor b)", "eps is gone"),
    ("f(int dim, Tensor self, float eps=1e-05, *, bool keepdim=False) -> (Tensor a, Tensor b)", "another place"),
]


@pytest.mark.parametrize(("new", "message"), CASES)
def test_changes_that_break_callers(new: str, message: str) -> None:
    broken = [change for change in compare(loads(f"- func: {OLD}"), loads(f"- func: {new}")) if change.breaks]
    assert bool(broken) == bool(message)
    assert not message or any(message in change.message for change in broken)


@pytest.mark.parametrize("type", ["int", "int?", "int[]", "int[]?", "int[2]", "int[2]?"])
def test_sizes_may_become_symbols(type: str) -> None:
    old, new = (
        f"- func: f(Tensor self, {size_type} size) -> Tensor" for size_type in (type, type.replace("int", "SymInt"))
    )
    [change] = compare(loads(old), loads(new))
    assert (change.breaks, "SymInt" in change.message) == (False, True)


@pytest.mark.parametrize("new", [new for new, _ in CASES])
def test_pytorch_decides_so_too(new: str) -> None:
    theirs = torch._C.parse_schema(new).is_backward_compatible_with(torch._C.parse_schema(OLD))
    assert is_compatible(parse_schema(OLD), parse_schema(new)) == theirs


TENSORS = ["Tensor", "Tensor(a)", "Tensor?", "Tensor[]", "Tensor?[]"]
SIZES = [f"{base}{suffix}" for base in ("int", "SymInt") for suffix in ("", "?", "[]", "[]?", "[2]", "[2]?")]
TYPES = st.sampled_from([*TENSORS, *SIZES, "float", "Scalar", "bool"])
RETURNS = ["Tensor", "Tensor?", "int", "SymInt", "int[]", "SymInt[]", "Scalar", "()", "(Tensor a, int b)"]
ARGUMENTS = st.lists(
    st.tuples(TYPES, st.sampled_from("abc"), st.booleans()), max_size=4, unique_by=lambda argument: argument[1]
)
DEFAULTS = {"int?": "None", "Tensor?": "None", "int": "1", "float": "0.5", "Scalar": "2", "bool": "True", "int[]": "[]"}


@st.composite
def schemas(draw: st.DrawFn) -> str:
    arguments = draw(ARGUMENTS)
    star = draw(st.integers(0, len(arguments)))
    texts = []
    has_default = False
    for index, (type, name, defaulted) in enumerate(arguments):
        if index == star:
            texts.append("*")
            has_default = False
        if type in DEFAULTS and (defaulted or has_default):
            texts.append(f"{type} {name}={DEFAULTS[type]}")
            has_default = True
        elif not has_default:
            texts.append(f"{type} {name}")
    if texts and texts[-1] == "*":
        texts.pop()
    out = draw(st.sampled_from([(), ("x",), ("x", "y")]))
    if out:
        letters = "de"
        texts += [*([] if "*" in texts else ["*"]), *(f"Tensor({letters[i]}!) {name}" for i, name in enumerate(out))]
        returns = ", ".join(f"Tensor({letters[i]}!)" for i in range(len(out)))
        return f"f({', '.join(texts)}) -> {returns if len(out) == 1 else f'({returns})'}"
    returns = draw(st.sampled_from([*RETURNS, "(Tensor b, int a)"]))
    return f"f({', '.join(texts)}) -> {returns}"


@settings(max_examples=400)
@given(schemas(), schemas())
def test_pytorch_decides_so_for_any_two_schemas(old: str, new: str) -> None:
    theirs = torch._C.parse_schema(new).is_backward_compatible_with(torch._C.parse_schema(old))
    assert is_compatible(parse_schema(old), parse_schema(new)) == theirs


def messages(old: str, new: str) -> list[tuple[str, bool]]:
    return [(change.message, change.breaks) for change in compare(loads(old), loads(new))]


def test_a_renamed_overload_breaks_callers() -> None:
    [(gone, breaks), (new, _)] = messages("- func: f.a(Tensor x) -> Tensor", "- func: f.b(Tensor x) -> Tensor")
    assert (breaks, "It may be f.b now" in gone, new) == (True, True, "is new: f.b(Tensor x) -> Tensor")


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("variants: function, method", "variants: method", ("is no function any more", True)),
        ("variants: method", "variants: function, method", ("is a function too", False)),
        ("python_module: nn", "python_module: fft", ("moved from torch.nn to torch.fft", True)),
        ("tags: core", "tags: pointwise", ("tags changed", False)),
        ("dispatch: {CPU: f}", "dispatch: {CPU: g}", ("dispatch changed", False)),
    ],
)
def test_changes_of_other_keys(old: str, new: str, change: tuple[str, bool]) -> None:
    func = "- func: f(Tensor self) -> Tensor\n  "
    assert messages(func + old, func + new) == [change]


def test_breaking_changes_come_first() -> None:
    old = "- func: f() -> ()\n- func: g() -> ()"
    changes = compare(loads(old), loads("- func: h() -> ()\n- func: f() -> ()"))
    assert [change.breaks for change in changes] == [True, False]
