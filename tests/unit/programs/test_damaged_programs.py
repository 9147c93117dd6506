"""Tests of damaged and hostile program files: no code in them runs, and every fault raises ProgramError."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import opdsl
from opdsl.errors import OpdslError, ProgramError
from opdsl.programs.program import Program

FIELDS = {"format", "version", "name", "inputs", "steps", "outputs", "guards", "sizes", "constants", "example"}


def halved(x: Any, pair: Any, r: float) -> Any:
    y = (x * r + pair[0]).reshape(-1)[: x.shape[0] // 2].to(opdsl.float64)
    z = y.exp() / (2.0 * r) if x.shape[0] > 3 and r == 0.5 else y
    return {"y": z, "rest": (pair[1].sum(0, keepdim=True), None, [opdsl.full((x.shape[1],), float("inf"))])}


def unbound(x: Any, w: Any) -> Any:
    first, second = opdsl.conv2d(x, w, stride=2).relu().split([1, w.shape[0] - 1], 1)
    return first * second, x.shape[0] * 2


CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[Any, ...]]] = {
    "sizes and numbers": (
        halved,
        (opdsl.ones(5, 3), (opdsl.ones(3), opdsl.ones(2, 3)), 0.5),
        (opdsl.ones(5, 3), opdsl.ones(3), opdsl.ones(2, 3), 0.5),
    ),
    "a network": (
        unbound,
        (opdsl.ones(2, 3, 9, 9), opdsl.ones(5, 3, 4, 4)),
        (opdsl.ones(2, 3, 9, 9), opdsl.ones(5, 3, 4, 4)),
    ),
}


def file_of(tmp_path: Path, name: str = "sizes and numbers") -> tuple[Path, Any]:
    function, arguments, _ = CALLS[name]
    path = tmp_path / "program.json"
    opdsl.trace(function, *arguments).save(path)
    return path, json.loads(path.read_text())


def refused(path: Path, contents: Any, match: str = "") -> None:
    path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
    with pytest.raises(ProgramError, match=match):
        Program.load(path)


# ------------------------------------------------------------------------------------------------------- nothing is run


def code(tmp_path: Path) -> tuple[Path, str]:
    """Return the path of a file that code creates when it runs, and the text of that code."""
    trace = tmp_path / "trace"
    return trace, f"__import__('pathlib').Path({str(trace)!r}).touch()"


@pytest.mark.parametrize(
    "called", ["repr", "max", "min", "math", "sum", "opdsl", "guard_failed", "_opdsl_1", "__builtins__"]
)
def test_sizes_do_not_bind_the_names_that_programs_call(tmp_path: Path, called: str) -> None:
    path, contents = file_of(tmp_path)
    trace, text = code(tmp_path)
    refused(path, contents | {"sizes": [[called, "exec"], ["y", f"{called}({text!r})"]]})
    for place in ("inputs", "results"):
        changed = json.loads(json.dumps(contents))
        (changed["inputs"] if place == "inputs" else changed["steps"][0]["results"])[0]["name"] = called
        if called != "sum":  # a valid name for a parameter: it then means that argument
            refused(path, changed)
    assert not trace.exists()


@pytest.mark.parametrize("builtin", ["exec", "eval", "open", "compile", "getattr", "breakpoint", "__import__"])
def test_names_that_the_file_does_not_bind_are_refused(tmp_path: Path, builtin: str) -> None:
    path, contents = file_of(tmp_path)
    for field, value in {
        "sizes": [["n", builtin]],
        "guards": [f"{builtin} == {builtin}"],
        "outputs": {"expression": builtin},
    }.items():
        refused(path, contents | {field: value}, "is read, but nothing before it defines it")
        refused(path, json.loads(json.dumps(contents | {field: value}).replace(builtin, f"{builtin}(1)")), "is called")


@pytest.mark.parametrize(
    "text",
    [
        "s1.__class__",
        "x.shape.__class__",
        "(lambda: 1)()",
        "s1 if s1 else 2",
        "[s1 for s1 in (1,)]",
        "s1 := 2",
        "s1; s2",
        "s1\n",
        "s1 #",
        "s1\\",
        "f'{s1}'",
        "'s1'",
        "repr(s1)",
        "repr('exec')",
        "max(s1)",
        "math.exp(s1)",
        "math",
        "max",
        "s1 < 2 < 3",
        "s1 ** 2 ** 3",
        "s1 is 1",
        "x + 1",
        "-x",
        "s1(1)",
        "*s1",
        "s1[0]",
        "x.shape[7]",
        "x.shape[-1]",
        "r.shape[0]",
        "9 ** 9 ** 9",
        "s1 ** s1",
        "2 ** s1",
        "s1 ** -(-100000000)",
        "(s1 ** 60) ** 60",
        "1" * 500,
        "(" * 500 + "s1" + ")" * 500,
        "-" * 5000 + "s1",
        "s1" + " + 1" * 300,
        "s" * 30_000,
        "",
        "é",
        "\uff53\uff11",
        "0x10",
        "1_000",
        "1j",
        "True.__class__",
        "...",
        "__builtins__",
    ],
)
def test_expressions_of_anything_but_sizes_are_refused(tmp_path: Path, text: str) -> None:
    path, contents = file_of(tmp_path)
    for field, value in {"guards": [text], "sizes": [["n", text]], "outputs": {"expression": f"({text})"}}.items():
        if (field, text) != ("guards", "x.shape[7]"):
            refused(path, contents | {field: value})


def test_squares_of_squares_are_refused(tmp_path: Path) -> None:
    path, contents = file_of(tmp_path)
    squares = [["n0", "s1 * s1"], *([f"n{at + 1}", f"n{at} * n{at}"] for at in range(60))]
    refused(path, contents | {"sizes": squares}, "may be a number of")


# ---------------------------------------------------------------------------------------------- mistakes show at once


def at(contents: Any, *place: Any, value: Any) -> Any:
    """Return a copy of a program file's contents with another value at a path of keys and indices."""
    changed = json.loads(json.dumps(contents))
    inner = changed
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return changed


def test_results_of_another_shape_dtype_device_or_number_are_refused(tmp_path: Path) -> None:
    path, contents = file_of(tmp_path)
    result = contents["steps"][0]["results"][0]
    for key, value in {"shape": ["s1"], "dtype": "opdsl.int32", "device": "meta"}.items():
        refused(
            path, at(contents, "steps", 0, "results", 0, key, value=value), r"mul.Tensor returns opdsl.float32\[5, 3\]"
        )
    refused(path, at(contents, "steps", 0, "results", 0, "shape", value=["s1", "s1"]), "returns")
    refused(path, at(contents, "steps", 0, "results", value=[result, {**result, "name": "other"}]), "returns 1 results")
    refused(path, at(contents, "steps", 0, "is_list", value=True), "returns 1 results")
    refused(path, at(contents, "steps", 0, "is_list", value=1), "is_list")


@pytest.mark.parametrize("version", [True, 1, 1.0, 2.0, "2", None, [2], 3])
def test_other_versions_are_refused(tmp_path: Path, version: Any) -> None:
    path, contents = file_of(tmp_path)
    refused(path, contents | {"version": version})


def test_operands_that_the_operator_does_not_take_are_refused(tmp_path: Path) -> None:
    path, contents = file_of(tmp_path)
    operands = contents["steps"][0]["operands"]["tuple"]
    for other in (
        [],
        operands[:1],
        [*operands, *operands],
        [operands[0], "text"],
        [operands[0], None],
        [{"dtype": "x"}],
    ):
        refused(path, at(contents, "steps", 0, "operands", "tuple", value=other))
    refused(path, at(contents, "steps", 0, "options", value={"dict": [["alpha", 1]]}))
    refused(path, at(contents, "steps", 0, "options", value={"dict": [["self", 1]]}))


def test_a_name_is_bound_once_and_before_it_is_read(tmp_path: Path) -> None:
    path, contents = file_of(tmp_path)
    refused(path, at(contents, "inputs", 1, "name", value="x"), "bound twice")
    refused(path, at(contents, "steps", 0, "results", 0, "name", value="x"), "bound twice")
    refused(path, contents | {"steps": contents["steps"][::-1]}, "nothing before it defines it")
    refused(path, contents | {"sizes": contents["sizes"] * 2}, "bound twice")


@pytest.mark.parametrize(
    "name", ["class", "None", "", "a b", "1a", "é", "__x", "_", "x\n", "ﬁ", "a" * 1000, None, 3, []]
)
def test_names_that_are_none_are_refused(tmp_path: Path, name: Any) -> None:
    path, contents = file_of(tmp_path)
    refused(path, at(contents, "steps", 0, "results", 0, "name", value=name))
    refused(path, at(contents, "inputs", 0, "name", value=name))
    refused(path, at(contents, "sizes", 0, 0, value=name))


def test_a_call_that_the_program_does_not_serve_is_no_example(tmp_path: Path) -> None:
    path, contents = file_of(tmp_path)
    for key, value in {"s1": 2, "s2": -1, "s3": 4, "r": 1, "x": 1}.items():
        refused(path, at(contents, "example", key, value=value), "example|divisor|sizes")
    refused(path, contents | {"example": {}}, "example")


@pytest.mark.parametrize(
    "text", ['{"a": ' * 100_000, "[" * 100_000, '{"format": "opdsl.program", "format": "x"}', "NaN"]
)
def test_json_of_no_program_is_refused(tmp_path: Path, text: str) -> None:
    refused(tmp_path / "program.json", text)


def test_outputs_nested_deeply_are_refused(tmp_path: Path) -> None:
    path, contents = file_of(tmp_path)
    nested: Any = 1
    for _ in range(200):
        nested = {"tuple": [nested]}
    refused(path, contents | {"outputs": nested}, "nested deeper")


def test_tensors_that_are_not_beside_the_file_are_missed(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    weight = opdsl.ones(3)
    path = tmp_path / "program.json"
    opdsl.trace(lambda x: x + weight, opdsl.ones(3)).save(path)
    contents = json.loads(path.read_text())
    refused(path, contents | {"constants": ["other"]}, "has no tensor other")
    refused(path, contents | {"constants": ["constant", "constant"]}, "twice")
    refused(path, contents | {"constants": {"constant": 1}}, "expected a list")
    (tmp_path / "program.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{       ")
    refused(path, contents, "cannot be read")
    (tmp_path / "program.safetensors").unlink()
    refused(path, contents, "cannot be read")


# ------------------------------------------------------------------------------------------------------------ mutations

MUTATIONS = 60

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        2,
        3,
        7,
        1 << 62,
        1 << 63,
        -(1 << 63),
        10**300,
        "",
        "s1",
        "s2",
        "x",
        "r",
        "exec",
        "s1 // 0",
    ),
    *(
        "1 / (r - r)",
        "0 ** -r",
        "max(s1, s2)",
        "s1 % s1",
        "opdsl.float16",
        "opdsl.complex64",
        "opdsl.bool",
        "cpu:9",
        "cuda",
    ),
    *("meta", "aten::add.Tensor", "aten::exp", "out", [], {}, [[]], ["s1"], [3, 4], {"expression": "x"}),
    *(
        {"expression": "s1 // (s2 - s2)"},
        {"expression": "r ** 9999.0"},
        {"float": "nan"},
        {"float": "inf"},
        {"tuple": []},
    ),
    *(
        {"complex": "1j"},
        {"dtype": "opdsl.int8"},
        {"layout": "sparse_coo"},
        {"tuple": [1, {"expression": "s2"}]},
        "\ud800",
    ),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values in nested lists and dicts."""
    yield path
    if isinstance(value, (list, dict)):
        for key in range(len(value)) if isinstance(value, list) else value:
            yield from places(value[key], (*path, key))


def mutated(contents: Any, draw: random.Random) -> Any:
    """Return the contents with a few random changes: values replaced, swapped, repeated or removed, and characters
    changed.
    """
    changed = json.loads(json.dumps(contents))
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        path = draw.choice([path for path in places(changed) if path])
        holder = changed
        for part in path[:-1]:
            holder = holder[part]
        value, kind = holder[path[-1]], draw.randrange(6)
        if kind == 0 and isinstance(value, str) and value:
            split = draw.randrange(len(value))
            letter = draw.choice("()[]*/%.,'\"\\ \n\0_1sxré")
            holder[path[-1]] = value[:split] + letter + value[split + draw.randrange(2) :]
        elif kind == 1 and isinstance(holder, list):
            holder[path[-1] : path[-1] + 1] = draw.choice(([], [value, value]))
        elif kind == 2 and isinstance(holder, dict):
            holder[draw.choice((path[-1], "kind", "more"))] = holder.pop(path[-1])
        elif kind == 3:
            other = draw.choice([path for path in places(contents) if path])
            result = contents
            for part in other:
                result = result[part]
            holder[path[-1]] = json.loads(json.dumps(result))
        else:
            holder[path[-1]] = json.loads(json.dumps(draw.choice(VALUES)))
    return changed


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seed", range(4))
def test_mutations_are_refused_or_harmless(tmp_path: Path, name: str, seed: int) -> None:
    path, contents = file_of(tmp_path, name)
    draw = random.Random(seed)
    Program.load(path)
    count = 0
    for _ in range(MUTATIONS):
        changed = mutated(contents, draw)
        path.write_text(json.dumps(changed))
        try:
            program = Program.load(path)
        except ProgramError:
            count += 1
            continue
        assert changed.keys() == FIELDS
        with suppress(OpdslError):
            program(*CALLS[name][2])
        assert program.source
    assert count > MUTATIONS // 2
