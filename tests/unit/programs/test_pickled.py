"""Tests of programs in pickles and deep copies."""

from __future__ import annotations

import copy
import json
import pickle
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import opdsl
from opdsl.errors import ProgramError, TraceError
from opdsl.programs.loading import unpickled
from opdsl.programs.saving import text_of

WEIGHT = opdsl.tensor([1.0, 2.0, 4.0])


def weighted(x: opdsl.Tensor, r: float) -> dict[str, Any]:
    return {"all": [(x * WEIGHT + r).sum()], "shape": x.shape[0]}


@pytest.mark.parametrize("again", [lambda program: pickle.loads(pickle.dumps(program)), copy.deepcopy])
def test_programs_are_pickled_and_copied(again: Callable[[opdsl.Program], opdsl.Program]) -> None:
    program = opdsl.trace(weighted, opdsl.ones(2, 3), 0.5)
    other = again(program)
    assert other == program and other is not program
    result = other(opdsl.ones(5, 3), 2.0)
    assert (float(result["all"][0]), result["shape"]) == (5 * 7 + 15 * 2.0, 5)
    held = next(iter(other.constants.values()))
    held.fill_(0)
    assert WEIGHT.tolist() == [1.0, 2.0, 4.0]
    assert other != program


class Pair(NamedTuple):
    left: opdsl.Tensor
    right: opdsl.Tensor


def saved(program: opdsl.Program, folder: Path) -> opdsl.Program:
    program.save(folder / "program.json")
    return opdsl.Program.load(folder / "program.json")


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "file"])
def test_nested_arguments_and_results_come_back(how: str, tmp_path: Path) -> None:
    """Copied programs have the nested arguments and results of the function, and compute the same as NumPy."""

    def mixed(d: dict[Any, Any], p: Pair) -> Any:
        (a, b), c = d["l"], d[0, "t"][0]["z"]
        results = {"x": [a @ b, (c * d["r"],)], 3: (p.left - p.right, "text", None), (1, "k"): {True: a + c}}
        return results, d["n"], a.dtype

    x, y = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]]), opdsl.tensor([[0.0, 1.0], [5.0, 6.0]])
    inputs = {"l": (x, y), (0, "t"): [{"z": y + 1}], "r": 2.5, "n": None}
    program = opdsl.trace(mixed, inputs, Pair(x + 1, y + 2))
    again = {"pickle": lambda: pickle.loads(pickle.dumps(program)), "deepcopy": lambda: copy.deepcopy(program)}
    other = again.get(how, lambda: saved(program, tmp_path))()
    u, v = x * 2 - 3, y / 4
    results, nothing, dtype = other(u, v, v * 3, 0.5, v + 0, u + 0)
    assert (nothing, dtype) == (None, opdsl.float32)
    assert list(results) == ["x", 3, (1, "k")]
    a, b, z = u.numpy(), v.numpy(), (v * 3).numpy()
    assert isinstance(results["x"][1], tuple) and isinstance(results["x"], list)
    assert results["x"][0].tolist() == (a @ b).tolist()
    assert results["x"][1][0].tolist() == (z * 0.5).tolist()
    assert results[3][0].tolist() == (b - a).tolist() and results[3][1:] == ("text", None)
    assert results[1, "k"][True].tolist() == (a + z).tolist()


@pytest.mark.parametrize("how", ["pickle", "deepcopy", "file"])
def test_results_by_name_stay_results_by_name(how: str, tmp_path: Path) -> None:
    program = opdsl.trace(lambda x: [x.max(0), opdsl.linalg.svd(x)], opdsl.ones(2, 2))
    again = {"pickle": lambda: pickle.loads(pickle.dumps(program)), "deepcopy": lambda: copy.deepcopy(program)}
    other = again.get(how, lambda: saved(program, tmp_path))()
    most, svd = other(opdsl.tensor([[0.0, 3.0], [2.0, 0.0]]))
    assert most.values.tolist() == [2.0, 3.0] and most.indices.tolist() == [1, 0]
    assert type(most) is type(opdsl.ones(1, 1).max(0))
    assert [round(number, 5) for number in svd.S.tolist()] == [3.0, 2.0] and svd.Vh.shape == (2, 2)


def test_what_no_text_holds_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    pairs = opdsl.trace(lambda x: Pair(x, x), opdsl.ones(2))
    assert type(pairs(opdsl.ones(3))) is Pair
    keys = opdsl.trace(lambda x: {1j: x}, opdsl.ones(2))
    for program, message in ((pairs, "a Pair cannot be saved .* Return a plain tuple"), (keys, "a complex cannot")):
        with pytest.raises(ProgramError, match=message):
            program.save(tmp_path / "program.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected a string"),
        (["aten::add.Tensor", 1], "has no 1 results by name"),
        (["aten::max.dim", 1], "has no 1 results by name"),
        (["no::operator", 1], "is not declared"),
        ([{"dict": []}], "expected a string"),
        ("aten::max.dim", "expected a list"),
    ],
)
def test_damaged_results_are_refused(content: object, message: str) -> None:
    document = json.loads(text_of(opdsl.trace(lambda x: x.max(0), opdsl.ones(2, 2))))
    assert list(document["outputs"]) == ["results"]
    document["outputs"]["results"] = content
    with pytest.raises(ProgramError, match=message):
        unpickled(json.dumps(document), {})


@dataclass
class Model:
    weight: opdsl.Tensor


def closed(x: opdsl.Tensor) -> dict[str, Any]:
    return {
        "data class": Model(x),
        "ordered dict": OrderedDict(x=x),
        "set": {x},
        "deque": deque([x]),
        "within": [1, {"k": (Model(x),)}],
    }


@pytest.mark.parametrize("kind", closed(opdsl.ones(1)))
def test_arguments_that_are_not_taken_apart_are_refused(kind: str) -> None:
    """Tracing refuses arguments that hide tensors, because a program would hold these tensors as constants."""
    with pytest.raises(TraceError, match="its tensors would be constants"):
        opdsl.trace(lambda argument: 1.0, closed(opdsl.ones(2))[kind])


def test_compiled_functions_return_what_programs_cannot() -> None:
    """Compiled functions return objects that hold tensors unchanged, while traces refuse them."""
    x = opdsl.tensor([1.0, 2.0])
    functions: list[tuple[Callable[[opdsl.Tensor], Any], Callable[[Any], opdsl.Tensor]]] = [
        (lambda x: Model(x * 2), lambda result: result.weight),
        (lambda x: OrderedDict(x=x * 2), lambda result: result["x"]),
        (lambda x: {x * 2}, lambda result: next(iter(result))),
        (lambda x: deque([x * 2]), lambda result: result[0]),
        (lambda x: lambda: x * 2, lambda result: result()),
        (lambda x: (part * 2 for part in (x,)), next),
    ]
    for function, unpack in functions:
        compiled = opdsl.compile(function)
        for factor in (1.0, 1.0, 3.0):
            computed = compiled(x * factor)
            assert type(computed) is type(function(x))
            assert unpack(computed).tolist() == [2.0 * factor, 4.0 * factor]
        with pytest.raises(TraceError, match="which may hold tensors"):
            opdsl.trace(function, x)


@pytest.mark.parametrize("text", ["", "[]", '{"format": "opdsl.program"}'])
def test_other_texts_are_no_programs(text: str) -> None:
    with pytest.raises(ProgramError, match="the pickle"):
        unpickled(text, {})
