"""Tests that converting entries to Python declarations and back is lossless: PyTorch's entries, and hostile ones."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import attrs
import pytest

from opdsl.declare.export import export
from opdsl.declare.source import Written, write_module
from opdsl.dispatch import Registry, declaring_into
from opdsl.errors import AnnotationError
from opdsl.native import NativeFunction, load, loads
from opdsl.schema.spelling import spelled

Entries = tuple[NativeFunction, ...]
Back = Callable[[str], dict[str, NativeFunction]]


@pytest.fixture(scope="module")
def entries() -> Entries:
    torchgen = importlib.util.find_spec("torchgen")
    assert torchgen is not None
    assert torchgen.submodule_search_locations is not None
    return load(Path(torchgen.submodule_search_locations[0]) / "packaged/ATen/native/native_functions.yaml")


@pytest.fixture(scope="module")
def written(entries: Entries) -> Written:
    return write_module(entries)


@pytest.fixture
def back(tmp_path: Path) -> Iterator[Back]:
    """Yield a function that imports a source into an empty registry, and returns its entries by name."""
    name = "_imported_declarations"

    def run(source: str) -> dict[str, NativeFunction]:
        path = tmp_path / f"{name}.py"
        path.write_text(source, encoding="utf-8")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        with declaring_into(Registry()) as registry:
            spec.loader.exec_module(module)
        return {entry.name.qualified: entry for entry in export(registry)}

    yield run
    sys.modules.pop(name, None)


def by_name(entries: Entries) -> dict[str, NativeFunction]:
    return {entry.name.qualified: entry for entry in entries}


def test_all_entries_come_back_in_every_key(entries: Entries, written: Written, back: Back) -> None:
    assert back(written.source) == by_name(entries)


def test_most_variants_are_folded(written: Written) -> None:
    assert written.inplace >= 250
    assert written.out >= 500


def test_changing_one_annotation_changes_the_export(back: Back) -> None:
    source = write_module(loads("- func: f(Tensor self, int n) -> Tensor\n")).source
    assert source.count("n: int") == 1
    [entry] = back(source.replace("n: int", "n: int | None")).values()
    assert str(entry.schema) == "f(Tensor self, int? n) -> Tensor"


def test_no_text_in_it_is_a_schema(written: Written) -> None:
    texts = [
        node.value
        for node in ast.walk(ast.parse(written.source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts[1:] if "->" in text or "(" in text or "\n" in text] == []


def test_it_holds_declarations_only(written: Written) -> None:
    statements = ast.parse(written.source).body[1:]
    assert {type(statement) for statement in statements} == {ast.ImportFrom, ast.FunctionDef}
    functions = [statement for statement in statements if isinstance(statement, ast.FunctionDef)]
    assert {ast.unparse(function.body[0]) for function in functions} == {"..."}
    names = [function.name for function in functions]
    assert len(set(names)) == len(names)


def test_lines_are_not_too_long(written: Written) -> None:
    assert sum(len(line) > 120 for line in written.source.splitlines()) < 5


HOSTILE = ['"); import os #', "'''", '"""', "a\\", "${x}", "{0}", "tab\there", "☃", "\u202e", "']", "\\N{DASH}"]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_stay_texts(text: str, back: Back) -> None:
    [plain] = loads("- func: f(Tensor self, str mode) -> Tensor\n")
    entry = attrs.evolve(plain, category_override=text)
    assert back(write_module([entry]).source) == by_name((entry,))


@pytest.mark.parametrize("name", ['x""".yaml', "x\nimport os.yaml", "\\", 'a" "b', '"'])
def test_a_files_name_stays_in_the_docstring(name: str) -> None:
    body = ast.parse(write_module(loads("- func: f() -> ()\n"), file=name).source).body
    assert {type(statement) for statement in body} == {ast.Expr, ast.ImportFrom, ast.FunctionDef}


SCHEMAS = [
    "f(Tensor self, str mode='none') -> Tensor",
    'f(Tensor self, str mode="a \\"b\\"") -> Tensor',
    "f(Tensor self, float eps=1e-5, float other=1e-05) -> Tensor",
    "f(Tensor self, Scalar a=inf, Scalar b=-1) -> Tensor",
    "f(int from, int lambda_, *, int class) -> ()",
    "f(Tensor(a)? self, Tensor(b!)[] lists) -> Tensor(a)?",
    "f(Tensor(a -> *) self) -> Tensor(a)[]",
    "f(int[2]? size=None, bool[3] mask=[True,False,True], SymInt[1] n=0, float[2] s=[1.5,2.0]) -> (int x, Tensor)",
    "f(Tensor?[] indices, int[] dims=[], Scalar[] values=[]) -> ()",
    "f(__torch__.torch.classes.mine.Thing thing, __torch__.torch.classes.mine.sub.Thing? other) -> Tensor",
    "f(ScalarType dtype=long, MemoryFormat? m=channels_last, Layout layout=strided, int reduction=Mean) -> Tensor",
    "f(int n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "f(int n, *, ScalarType dtype, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    "mine::f(Tensor self) -> Tensor",
    "int(Tensor self, int list) -> int",
    "op.Tensor(Tensor self) -> Tensor",
    "match(Tensor self) -> Tensor",
    "__and__.Scalar(Tensor self, Scalar other) -> Tensor",
]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_schemas_come_back(schema: str, back: Back) -> None:
    # A block scalar needs no quotes, whatever characters the schema has.
    entries = loads(f"- func: >-\n    {schema}\n  tags: nondeterministic_seeded\n")
    assert back(write_module(entries).source) == by_name(entries)


def test_a_custom_class_is_written_once(back: Back) -> None:
    thing = "__torch__.torch.classes.mine.Thing"
    entries = loads(f"- func: f({thing} one, {thing}? other) -> Tensor\n- func: g({thing}[] many) -> Tensor\n")
    source = write_module(entries).source
    assert [source.count(text) for text in (thing, "class ClassMineThing:", "ClassMineThing")] == [1, 1, 4]
    assert back(source) == by_name(entries)


@pytest.mark.parametrize(
    ("dtype", "together"),
    [("ScalarType? dtype=None", True), ("ScalarType? dtype=long", False), ("ScalarType? dtype", False)],
)
def test_the_four_options_are_written_as_one_where_they_mean_the_same(dtype: str, together: bool, back: Back) -> None:
    others = "Layout? layout=None, Device? device=None, bool? pin_memory=None"
    entries = loads(f"- func: f(int n, *, {dtype}, {others}) -> Tensor\n")
    source = write_module(entries).source
    assert ("options: TensorOptions" in source) is together
    assert back(source) == by_name(entries)


def test_similar_names_stay_distinct(back: Back) -> None:
    names = ["a.b_c", "a_b.c", "a_b_c", "a", "a.default_", "a_.b", "a._b", "a.1"]
    entries = loads(
        "".join(f"- func: {name}(int x{index}) -> ()\n" for index, name in enumerate(names) if name != "a_.b")
    )
    assert back(write_module(entries).source) == by_name(entries)


def test_an_out_entry_that_departs_from_the_rule_is_written_separately(back: Back) -> None:
    entries = loads(
        "- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out\n"
        "- func: f.out(Tensor self, *, Tensor(b!) out) -> Tensor(b!)\n  structured: True\n  dispatch: {CPU: f_out}\n"
    )
    written = write_module(entries)
    assert (written.out, back(written.source)) == (0, by_name(entries))


def test_a_folded_delegate_of_an_out_entry_that_is_not_folded_says_so(back: Back) -> None:
    entries = loads(
        "- func: f(Tensor self) -> Tensor\n  structured_delegate: f.out\n"
        "- func: f_(Tensor(a!) self) -> Tensor(a!)\n  structured_delegate: f.out\n"
        "- func: f.out(Tensor self, *, Tensor(b!) out) -> Tensor(b!)\n  structured: True\n  dispatch: {CPU: f_out}\n"
    )
    written = write_module(entries)
    assert (written.inplace, back(written.source)) == (1, by_name(entries))


def test_kernels_keep_their_namespaces(back: Back) -> None:
    entries = loads(
        "- func: f(Tensor self) -> Tensor\n  dispatch:\n    CPU, CUDA: mine::own::f\n    Meta: mine::own::g\n"
    )
    assert back(write_module(entries).source) == by_name(entries)


@pytest.mark.parametrize(("value", "text"), [("none", "'nothing'"), (1.0, "1.5"), (1.0, "1.0)"), ("a", "a b")])
def test_a_spelling_means_its_value(value: object, text: str) -> None:
    with pytest.raises(AnnotationError):
        spelled(value, text)
