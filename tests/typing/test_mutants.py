"""Tests that mypy or the decorator finds every mutant of an implementation of ``opdsl.aten``.

``OPDSL_TEST_FULL=1`` checks all modules, otherwise every fourth.
"""

from __future__ import annotations

import ast
import importlib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import opdsl
from opdsl import Library, Out
from opdsl.errors import DeclarationError, OpdslError
from tests.typing.mutants import Implementation, Mutant, implementations, mutants_of

Mypy = Callable[..., list[str]]
FOLDER = Path(opdsl.__file__).parent / "aten"
FULL = bool(os.environ.get("OPDSL_TEST_FULL"))
# The text of each module by its name, such as "nn_normalization".
TEXTS = {
    "_".join(path.relative_to(FOLDER).with_suffix("").parts): path.read_text() for path in sorted(FOLDER.glob("*/*.py"))
}
TOPICS = [topic for topic, text in TEXTS.items() if any(implementations(text))]
CHOSEN = TOPICS if FULL else TOPICS[::4]

# mypy reports these errors in a body that uses a dropped or retyped parameter, so they do not count as found.
_FINDS = ("does not fit", "is annotated", "[return-value]")


class Written(NamedTuple):
    """Mutant in a module for mypy, with its first and last line."""

    topic: str
    mutant: Mutant
    first: int
    last: int

    def __str__(self) -> str:
        mutant = self.mutant
        return f"{self.topic}: {mutant.what} of @{mutant.operator}.{mutant.decorator} {mutant.original}"


class Checked(NamedTuple):
    """Mutants, those that mypy misses, and mypy's report about the originals."""

    written: list[Written]
    missed: list[Written]
    originals: list[str]


@pytest.fixture(scope="module")
def checked(mypy: Mypy, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    """Append all mutants to the texts of their modules, and check the modules in one run of mypy."""
    folder = tmp_path_factory.mktemp("mutants")
    written: list[Written] = []
    for topic in CHOSEN:
        text = TEXTS[topic]
        lines = [*text.rstrip("\n").split("\n"), "from opdsl import CPUTensor, CUDATensor"]
        for implementation in implementations(text):
            for mutant in mutants_of(implementation):
                source = mutant.source(f"mutant_{len(written)}").split("\n")
                written.append(Written(topic, mutant, len(lines) + 1, len(lines) + len(source)))
                lines += source
        (folder / f"{topic}.py").write_text("\n".join(lines) + "\n")
    said: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for line in mypy(*sorted(folder.glob("*.py"))):
        path, number, message = line.split(":", 2)
        if " error:" in message:
            said[Path(path).stem].append((int(number), message))
    missed = [change for change in written if not any(_finds(change, *one) for one in said[change.topic])]
    ends = {topic: TEXTS[topic].count("\n") for topic in CHOSEN}
    originals = [f"{topic}:{n}:{text}" for topic, value in said.items() for n, text in value if n <= ends[topic]]
    return Checked(written, missed, originals)


def _finds(written: Written, line: int, message: str) -> bool:
    if not written.first <= line <= written.last or not any(find in message for find in _FINDS):
        return False
    return "[return-value]" in message or f"@{written.mutant.operator}.{written.mutant.decorator}" in message


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("mutants") as lib:
        yield lib


def test_none_is_reported_on_the_originals(checked: Checked) -> None:
    assert checked.originals == []


def test_every_change_is_found(checked: Checked, library: Library, tmp_path: Path) -> None:
    assert len(checked.written) > (800 if FULL else 200)
    unfound = [
        str(change)
        for number, change in enumerate(checked.missed)
        if not _is_refused(change.topic, change.mutant, library, number, tmp_path)
    ]
    assert unfound == []


def test_the_decorators_find_them_without_mypy(library: Library, tmp_path: Path) -> None:
    """The decorators reject every mutant of one module, without a type checker."""
    for number, (implementation, mutant) in enumerate(_of("nn_normalization")):
        assert _is_refused("nn_normalization", mutant, library, number, tmp_path), (mutant.what, mutant.original)
        assert implementation.kind == mutant.decorator


def test_the_decorators_refuse_no_original(library: Library, tmp_path: Path) -> None:
    for number, implementation in enumerate(implementations(TEXTS["nn_normalization"])):
        original = Mutant(
            "nothing",
            implementation.operator,
            implementation.kind,
            implementation.function.name,
            implementation.function,
        )
        assert not _is_refused("nn_normalization", original, library, number, tmp_path), implementation.function.name


def _of(topic: str) -> Iterator[tuple[Implementation, Mutant]]:
    for implementation in implementations(TEXTS[topic]):
        for mutant in mutants_of(implementation):
            yield implementation, mutant


def _is_refused(topic: str, mutant: Mutant, library: Library, number: int, folder: Path) -> bool:
    """Return whether the decorator of a new operator with an equal schema rejects a mutant."""
    namespace = dict(vars(importlib.import_module(f"opdsl.aten.{topic.replace('_', '.', 1)}")))
    namespace |= {"CPUTensor": opdsl.CPUTensor, "CUDATensor": opdsl.CUDATensor}
    operator = eval(mutant.operator, namespace).operator
    namespace["scratch"] = _declared_anew(library, operator, f"operator{number}", with_meta=mutant.decorator != "meta")
    node = mutant.node
    for place, decorator in enumerate(node.decorator_list):
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(callee, ast.Attribute) and callee.attr == mutant.decorator:
            callee.value = ast.Name("scratch")
            node.decorator_list[place] = decorator
    path = folder / f"mutant{number}.py"  # scalar functions are read from their files
    path.write_text(mutant.source(f"mutant_{number}"))
    try:
        exec(compile(path.read_text(), str(path), "exec", flags=0x1000000, dont_inherit=True), namespace)
    except DeclarationError as error:
        return "is attached" not in str(error)
    except OpdslError:
        return True
    return False


def _declared_anew(library: Library, operator: Any, name: str, *, with_meta: bool) -> Any:
    """Declare an operator of equal schema and structure in another namespace."""
    declaration = operator.declaration
    schema = declaration.main.schema
    out = declaration.operators.get("out")
    options: dict[str, Any] = {}
    if out is not None and out is not declaration.main:
        kept = {key: out.properties[key] for key in ("precomputed", "structured_inherits") if key in out.properties}
        options["out"] = Out(args=tuple(output.name for output in out.schema.out), **kept)
    text = str(schema).partition("(")
    output = library.define(f"{name}({text[2]}", **options)
    if with_meta and "meta" in declaration.attached:
        output.meta(declaration.attached["meta"])
    return output
