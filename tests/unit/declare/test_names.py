"""Tests of operators, arguments and results in schemas whose names are keywords or mean something else in Python."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import ModuleType

import pytest

import opdsl
from opdsl.declare.source import write_module
from opdsl.dispatch import Registry, declaring_into
from opdsl.errors import DeclarationError
from opdsl.native import load

NAMES = (
    *(
        "class",
        "None",
        "lambda",
        "_x",
        "__x",
        "_",
        "_0",
        "__init__",
        "_fields",
        "_make",
        "count",
        "index",
        "self",
        "out",
    ),
    *(
        "tuple",
        "list",
        "Tensor",
        "op",
        "Alias",
        "spelled",
        "print",
        "match",
        "__name__",
        "__getattr__",
        "body",
        "result",
    ),
)


def schemas(name: str) -> list[str]:
    return [
        f"results(Tensor self) -> (Tensor {name}, Tensor y, Tensor x)",
        f"single(Tensor self) -> Tensor {name}",
        f"argument(Tensor {name}, int y) -> Tensor",
        f"keyword(Tensor p, *, int {name}=1) -> Tensor",
        f"overloaded.{name}(Tensor self) -> Tensor",
        f"written.out(Tensor p, *, Tensor(a!) {name}, Tensor(b!) y) -> (Tensor(a!) {name}, Tensor(b!) y)",
        *([] if set(name) == {"_"} or name in ("__x", "__init__") else [f"{name}(Tensor p) -> Tensor"]),
    ]


@pytest.mark.parametrize("name", NAMES)
def test_entries_of_any_name_are_imported(tmp_path: Path, name: str) -> None:
    path = tmp_path / "entries.yaml"
    path.write_text("".join(f"- func: {schema}\n" for schema in schemas(name)))
    entries = load(path)
    module = ModuleType("imported")
    file = tmp_path / "imported.py"
    file.write_text(write_module(entries).source)
    with declaring_into(Registry()) as registry:
        exec(compile(file.read_text(), str(file), "exec"), vars(module))
    assert {str(operator.schema) for operator in registry} == {str(entry.schema) for entry in entries}


@pytest.mark.parametrize(
    ("names", "fields"),
    [
        (("class", "b"), ("class_", "b")),
        (("class", "class_"), ("result0", "class_")),
        (("_x", "y"), ("x", "y")),
        (("_x", "x"), ("result0", "x")),
        (("_", "result0"), ("result0_", "result0")),
        (("_0", "None"), ("result0", "None_")),
    ],
)
def test_results_are_fields_that_python_has_names_for(names: tuple[str, str], fields: tuple[str, str]) -> None:
    with opdsl.Library("names") as library:
        pair = library.define(
            f"3d(Tensor self) -> (Tensor {names[0]}, Tensor {names[1]})", lambda self: (self, self + 1)
        )
        result = pair(opdsl.zeros(1))
    assert result._fields == fields
    assert [getattr(result, field).tolist() for field in fields] == [[0.0], [1.0]]
    assert pickle.loads(pickle.dumps(result))._fields == fields


@pytest.mark.parametrize("name", ["body", "default_body", "f", "self", "adapted_function", "opdsl"])
def test_arguments_of_any_name_reach_the_body(name: str) -> None:
    with opdsl.Library("names") as library:
        twice = library.define(f"f(Tensor {name}, float by=2.0) -> Tensor", lambda x, by: x * by)
        assert twice(opdsl.ones(2)).tolist() == twice(**{name: opdsl.ones(2)}).tolist() == [2.0, 2.0]
        called = library.define(f"{name}.g(Tensor x) -> Tensor", lambda x: x + 1)
        assert called(opdsl.ones(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", ["class", "None", "é", "__init__", "__name__", "3d", "a.b", "", "a b", 3])
def test_namespaces_that_no_program_can_write_are_refused(name: str) -> None:
    with pytest.raises(DeclarationError, match="a namespace is a Python identifier in ASCII, and no keyword"):
        opdsl.Library(name)
