"""Tests of operators' functions, compiled functions and namespaces in pickles and copies: they are found by name."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.dispatch import Registry
from opdsl.dispatch.model.namespaces import Operators
from opdsl.errors import NotPickledError, PickledOperatorError

lib = Library("pickled_by_name")


@lib.op(out=True, inplace=True)
def twice(self: Tensor) -> Tensor:
    return self * 2


@twice.overload("plus")
def twice_plus(self: Tensor, other: Tensor) -> Tensor:
    return self * 2 + other


other_name = twice.alias("double")
defined = lib.define("triple(Tensor self) -> Tensor", lambda self: self * 3)


@lib.op
@formula
def halved(self: Tensor) -> Tensor:
    return self / 2


@opdsl.compile
def compiled(x: Tensor) -> Tensor:
    return x * 2 + 1


def plain(x: Tensor) -> Tensor:
    return x * 2 - 1


under_another_name = opdsl.compile(plain)
own = opdsl.ops.pickled_by_name
aten = opdsl.ops.aten

FUNCTIONS = {
    "packet": opdsl.add,
    "overload": aten.add.Tensor,
    "out": aten.add.out,
    "inplace": aten.add_.Tensor,
    "default": aten.tanh.default,
    "alias": opdsl.absolute,
    "table": opdsl._foreach_add,
    "fft": opdsl.fft.fft,
    "special": opdsl.special.digamma,
    "linalg": opdsl.linalg.svd,
    "nn": opdsl.nn.functional.relu,
    "method": Tensor.tanh,
    "own": twice,
    "own overload": twice_plus,
    "own first overload": own.twice.default,
    "own out": own.twice.out,
    "own inplace": own.twice_,
    "own alias": other_name,
    "defined": defined,
    "formula": halved,
    "formula's overload": own.halved.default,
    "compiled": compiled,
}


@pytest.mark.parametrize("protocol", [0, 2, pickle.HIGHEST_PROTOCOL])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_pickled_and_copied_as_themselves(name: str, protocol: int) -> None:
    function = FUNCTIONS[name]
    assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert pickle._loads(pickle._dumps(function, protocol)) is function  # type: ignore[attr-defined]
    assert copy.copy(function) is function
    if name != "compiled":  # a deep copy of a compiled function copies the objects that its function holds
        assert copy.deepcopy(function) is function


def test_every_operator_is_pickled_as_itself() -> None:
    assert repr(aten)  # loads them
    packets = [packet for name, packet in opdsl.registry.packets.items() if name.startswith("aten::")]
    functions = [packet.function for packet in packets]
    functions += [packet.operator_function(operator) for packet in packets for operator in packet.overloads.values()]
    strange = [function for function in functions if pickle.loads(pickle.dumps(function)) is not function]
    assert len(packets) > 1000 and not strange


def test_bound_methods_take_their_tensor_along() -> None:
    x = opdsl.tensor([1.0, 2.0])
    assert pickle.loads(pickle.dumps(x.add))(1.0).tolist() == [2.0, 3.0]
    assert copy.deepcopy(x.add)(1.0).tolist() == [2.0, 3.0]


def test_a_function_that_was_compiled_under_another_name_is_compiled_again() -> None:
    again = pickle.loads(pickle.dumps(under_another_name))
    assert again is not under_another_name and again.function is plain
    assert again(opdsl.tensor([2.0])).tolist() == [3.0]


@pytest.mark.parametrize(
    "again",
    [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_namespaces_and_registries_are_found_again(again: Callable[[Any], Any]) -> None:
    assert again(opdsl.ops) is opdsl.ops
    assert again(own).twice is twice
    assert again(opdsl.registry) is opdsl.registry


def test_what_has_no_name_is_refused() -> None:
    for refused in (lib, Operators(Registry(), {}), opdsl.dim(3), opdsl.zeros(3)[opdsl.dim(3)]):
        with pytest.raises(NotPickledError):
            pickle.dumps(refused)
    i, j = opdsl.dims(2)
    assert copy.copy(i) is i and copy.deepcopy([i, j])[1] is j
    with Library("taken_back") as taken_back:
        gone = taken_back.define("f(Tensor self) -> Tensor", lambda self: self)
        text = pickle.dumps(gone)
    with pytest.raises(pickle.PicklingError, match="taken_back"):
        pickle.dumps(gone)
    with pytest.raises(PickledOperatorError, match=r"taken_back::f is not declared.*declare the operator before"):
        pickle.loads(text)


DECLARING = """
import opdsl

lib = opdsl.Library("apart")

@lib.op(out=True)
def grown(self: opdsl.Tensor) -> opdsl.Tensor:
    return self + 1
"""
USING = """
import pickle, sys

functions = pickle.loads(bytes.fromhex(sys.argv[1]))
import opdsl
print([function(opdsl.zeros(1), **named).tolist() for function, named in zip(functions, ({}, {"out": opdsl.empty(1)}))])
"""


def test_another_process_imports_what_declares_an_operator(tmp_path: Path) -> None:
    """Unpickling an operator in a fresh process imports the module that declares it, or names the module that is
    missing.
    """
    package = tmp_path / "apart_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "own_operators.py").write_text(DECLARING)
    writing = (
        "import apart_package.own_operators as own, opdsl, pickle\n"
        "for functions in ([own.grown, opdsl.ops.apart.grown.out], [opdsl.ops.apart.grown.out]):\n"
        "    print(pickle.dumps(functions).hex())"
    )
    root = str(Path(opdsl.__file__).parents[1])

    def run(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", *arguments]
        return subprocess.run(
            command, env={"PYTHONPATH": path}, capture_output=True, text=True, timeout=120, check=False
        )

    written = run(writing, path=f"{root}:{tmp_path}")
    assert written.returncode == 0, written.stderr
    both, only_out = written.stdout.split()
    assert run(USING, both, path=f"{root}:{tmp_path}").stdout.strip() == "[[1.0], [1.0]]"
    failed = run(USING, only_out, path=root)
    assert (
        "PickledOperatorError: the operator apart::grown is not declared: No module named 'apart_package'"
        in failed.stderr
    )
