"""Tests of derivatives.yaml: PyTorch's own file, and faults in others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opdsl.errors import NativeYamlError
from opdsl.native import (
    Derivative,
    FormulaKind,
    NativeFunction,
    load_derivatives,
    loads,
    read_derivatives,
)

ENTRIES = loads(
    "- func: f(Tensor self, Tensor other, int dim=0) -> (Tensor values, Tensor indices)\n  dispatch: {CPU: f}\n"
    "- func: g(Tensor self) -> Tensor\n"
    "- func: h(Tensor self) -> Tensor\n  dispatch: {CPU: h}\n  autogen: h.out\n"
)
F = "- name: f(Tensor self, Tensor other, int dim=0) -> (Tensor values, Tensor indices)\n"
H = "- name: h(Tensor self) -> Tensor\n"


@pytest.fixture(scope="module")
def derivatives(corpus_path: Path, entries: tuple[NativeFunction, ...]) -> tuple[Derivative, ...]:
    return load_derivatives(corpus_path.parents[2] / "autograd/derivatives.yaml", entries)


def test_all_of_pytorchs_load_without_a_fault(derivatives: tuple[Derivative, ...]) -> None:
    assert len(derivatives) == 687


def test_their_formulas(derivatives: tuple[Derivative, ...]) -> None:
    counter = Counter(
        formula.kind for derivative in derivatives for formulas in derivative.formulas.values() for formula in formulas
    )
    assert counter == {
        FormulaKind.backward: 733,
        FormulaKind.non_differentiable: 134,
        FormulaKind.not_implemented: 48,
        FormulaKind.forward: 256,
        FormulaKind.auto_linear: 124,
        FormulaKind.auto_element_wise: 83,
    }


def test_their_arguments_with_derivatives(derivatives: tuple[Derivative, ...], corpus_path: Path) -> None:
    """The arguments with gradients are those that torchgen reads for the same schema."""
    import sys

    packaged = corpus_path.parents[2]
    sys.path.insert(0, str(packaged))
    try:
        from autograd.load_derivatives import load_derivatives as load_theirs  # type: ignore[import-not-found]
    finally:
        sys.path.remove(str(packaged))
    infos, _ = load_theirs(
        str(packaged / "autograd/derivatives.yaml"), str(corpus_path), str(corpus_path.with_name("tags.yaml"))
    )
    expected = {
        str(schema): {argument.name for info in by_key.values() for argument in info.args_with_derivatives}
        for schema, by_key in infos.items()
    }
    ours = {
        str(derivative.schema): set(derivative.differentiable)
        for derivative in derivatives
        if str(derivative.schema) in expected
    }
    assert len(ours) > 600
    assert ours == {schema: expected[schema] for schema in ours}


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        ("- name: f(Tensor self) -> Tensor\n  self: grad\n", "derivative-name", "1:9"),
        ("- self: grad\n", "derivative-name", "1:3"),
        ("- f\n", "derivative", "1:3"),
        ("f: g\n", "derivative", "1:1"),
        (F + "  dim: grad\n", "differentiable", "2:3"),
        (F + "  input: grad\n", "derivative-argument", "2:3"),
        (F + "  self, input: grad\n", "derivative-argument", "2:3"),
        (F + "  self: f(grad\n", "brackets", "2:9"),
        (F + "  self: grad)\n", "brackets", "2:9"),
        (F + "  self: f(grad]\n", "brackets", "2:9"),
        (F + "  self: grad\n  other: grads[1]\n", "gradients", "1:3"),
        (F + "  self: grads[0]\n", "gradients", "1:3"),
        (F + "  self: grads[1] + grads[2]\n", "gradient-index", "2:9"),
        (F + "  self: grad_values\n  other: grad\n", "gradients", "1:3"),
        (F + "  self: grad_keys\n", "named-gradients", "2:9"),
        (F + "  self: grad * slef\n", "known-names", "2:9"),
        (F + "  self: grad * result5\n", "known-names", "2:9"),
        (F + "  self: grad\n  self: grad\n", "one-formula", "3:3"),
        (F + "  self, other: f(grad)\n  self: grad\n", "one-formula", "3:3"),
        (F + "  self: grad\n  self, other: non_differentiable\n", "one-formula", "3:3"),
        (F + "  self: [a]\n", "derivative", "2:9"),
        (H + "  self: grad\n" + H + "  self: grad\n", "one-entry", "3:9"),
        (H + "  output_differentiability: [True, False]\n  self: grad\n", "output-differentiability", "2:29"),
        (H + "  output_differentiability: True\n  self: grad\n", "output-differentiability", "2:29"),
        (H + "  dispatch:\n    CPU:\n      self: grad\n", "derivative-key", "3:5"),
        (H + "  dispatch:\n    Default: grad\n", "derivative-key", "3:14"),
        ("- name: g(Tensor self) -> Tensor\n  self: grad\n", "INV-56", "1:9"),
    ],
)
def test_faults(text: str, rule: str, place: str) -> None:
    _, faults, _ = read_derivatives(text, ENTRIES)
    assert (rule, place) in [(fault.rule, f"{fault.location.line}:{fault.location.column}") for fault in faults]


@pytest.mark.parametrize(
    "text",
    [
        F + "  self: grads[0] + grads[1]\n  other: non_differentiable\n  values: self_t\n",
        F + "  self, other: f(grad, ')', grad_input_mask)\n  result: auto_linear\n".replace("')'", '")"'),
        F + "  self: grad_values * grad_helper(self)\n",
        F + "  output_differentiability: [True]\n  self: grad\n",
        H + "  output_differentiability: ['isFloating(self)']\n  self: grad\n",
        H + "  dispatch:\n    Default:\n      self: grad\n    AutogradCUDA:\n      self: 2 * grad\n",
        H + '  self: not_implemented("h")\n  result: auto_element_wise\n',
        "- name: h.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  self: grad\n",
        "",
    ],
)
def test_what_is_right(text: str) -> None:
    assert read_derivatives(text, ENTRIES)[1] == []


def test_loading_raises_with_all_faults(tmp_path: Path) -> None:
    path = tmp_path / "derivatives.yaml"
    path.write_text(F + "  dim: grad\n" + H + "  self: (grad\n")
    with pytest.raises(NativeYamlError) as caught:
        load_derivatives(path, ENTRIES)
    assert len(caught.value.faults) == 2
    assert f"{path}:2:3: dim is int, and only Tensors have gradients [differentiable]" in str(caught.value)


SEED = (
    F
    + "  self: grads[0].f(other) * grads[1]\n  other, dim: g(grad)\n"
    + H
    + "  dispatch:\n    Default:\n      self: grad\n"
)


@settings(max_examples=200)
@given(st.integers(0, len(SEED)), st.integers(0, 20), st.text("[]{}:,-#&*'\"()\n grads012_xself", max_size=8))
def test_mutated_texts_have_faults_with_places(start: int, length: int, piece: str) -> None:
    text = SEED[:start] + piece + SEED[start + length :]
    try:
        _, faults, source = read_derivatives(text, ENTRIES)
    except NativeYamlError as error:
        assert error.faults
        return
    for fault in faults:
        assert fault.location.line >= 1
        assert fault.shown(source)
