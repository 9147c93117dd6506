"""Tests of Python's prompt: the text of operators, packets and namespaces, and suggestions for wrong names."""

from __future__ import annotations

import subprocess
import sys

import pytest

import opdsl
from opdsl.aten import load
from opdsl.dispatch import registry
from opdsl.errors import UnknownOperatorError
from opdsl.runtime.close_names import suggestion
from opdsl.runtime.prompt import text_of

load()

ADD = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def test_a_function_shows_the_schemas_of_its_overloads() -> None:
    overloads = registry.packets["aten::add"].overloads
    assert text_of(opdsl.add) == "\n".join(str(operator.schema) for operator in overloads.values())
    assert str(text_of(opdsl.add)).splitlines()[0] == ADD


def test_an_overload_shows_its_own() -> None:
    assert text_of(opdsl.ops.aten.add.Scalar) == str(registry.operator("add.Scalar").schema)


@pytest.mark.parametrize("value", [None, len, lambda: 1, opdsl.Tensor, 3])
def test_other_values_are_left_to_python(value: object) -> None:
    assert text_of(value) is None


def test_a_packet_shows_its_schemas() -> None:
    text = repr(registry.packets["aten::add"])
    assert text.startswith("<packet aten::add: ") and ADD in text


def test_namespaces_are_shown() -> None:
    dir(opdsl.ops.aten)  # loads all of its operators
    assert any(line.strip().startswith("aten: 1") for line in repr(opdsl.ops).splitlines())
    lines = repr(opdsl.ops.aten).splitlines()
    assert lines[0].startswith("namespace aten, ") and "abs(Tensor self) -> Tensor" in [line.strip() for line in lines]
    assert lines[-1].strip().startswith("... and ")


def test_the_prompt_of_python_shows_schemas() -> None:
    typed = "import opdsl\nopdsl.add\n_ is opdsl.add\n2 + 3\n"
    command = [sys.executable, "-i", "-q"]
    done = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=120, check=True)
    lines = done.stdout.splitlines()
    assert (lines[0], lines[-2:]) == (ADD, ["True", "5"])


def test_a_script_keeps_its_display() -> None:
    code = "import opdsl, sys; print(sys.displayhook is sys.__displayhook__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "True\n"


@pytest.mark.parametrize(
    ("get", "meant"),
    [
        (lambda: opdsl.softmx, "softmax"),
        (lambda: opdsl.Tensr, "Tensor"),
        (lambda: opdsl.profle, "profile"),
        (lambda: opdsl.linalg.invv, "inv"),
        (lambda: opdsl.nn.functional.rellu, "relu"),
        (lambda: opdsl.ops.aten.softmx, "softmax"),
        (lambda: opdsl.ops.atn, "aten"),
    ],
    ids=["function", "class", "tool", "module", "functional", "namespace", "namespaces"],
)
def test_a_wrong_name_is_answered_with_what_is_close(get: object, meant: str) -> None:
    assert callable(get)
    with pytest.raises(UnknownOperatorError) as caught:
        get()
    assert isinstance(caught.value, AttributeError)
    assert meant in str(caught.value).partition("Did you mean ")[2].removesuffix("?").split(" or ")


def test_a_name_like_no_other_says_where_to_look() -> None:
    with pytest.raises(UnknownOperatorError, match="`opdsl list` shows every operator"):
        opdsl.zzzzzzzzzzz  # noqa: B018


def test_private_names_are_suggested_for_private_ones_alone() -> None:
    known = ["softmax", "_softmax"]
    assert suggestion("softmx", known, "") == "Did you mean softmax?"
    assert "_softmax" in suggestion("_softmx", known, "")
