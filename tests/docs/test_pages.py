"""Tests of the documentation: its code runs, its links lead to files, and its lists are complete."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

import opdsl
from tests.docs import docstrings
from tests.docs.pages import blocks, faults_of

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent in (DOCS, DOCS / "howto"))


@pytest.fixture(scope="module")
def generators() -> tuple[ModuleType, ModuleType]:
    """Import and return the modules that generate pages, in the way Sphinx finds them."""
    sys.path.insert(0, str(DOCS))
    try:
        import operator_pages
        import reference_pages
    finally:
        sys.path.remove(str(DOCS))
    return operator_pages, reference_pages


def test_the_code_of_all_pages_runs() -> None:
    command = [sys.executable, "-m", "tests.docs.pages", "README.md", *map(str, PAGES)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_code_that_does_not_do_what_a_page_says_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\n```\n```pycon\n>>> x\n2\n```\n```python\nx.y\n```\n"
        "```sh\nopdsl lits\nopdsl show --all\nopdsl show add\n```\n"
    )
    assert [fault.partition(": ")[0] for fault in faults_of(page)] == [f"{page}:{line}" for line in (5, 9, 12, 12)]


def test_blocks_that_are_not_run_are_few() -> None:
    skipped = [block for page in PAGES for block in blocks(page.read_text()) if not block.is_run]
    assert len(skipped) <= 4  # CUDA, and the backend that is a separate package


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_links_lead_to_files(page: Path) -> None:
    generated = {DOCS / "operators" / "index.md", DOCS / "reference" / "index.md"}
    text = re.sub(r"(?ms)^ *```.*?^ *```$", "", page.read_text())
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
        target = (page.parent / link).resolve()
        assert "://" in link or target.exists() or target in generated, link


def test_every_page_is_in_the_contents() -> None:
    text = (DOCS / "index.md").read_text()
    listed = {line for block in blocks(text) if block.language == "{toctree}" for line in block.text.split()}
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES}
    assert pages - {"index"} <= listed


def test_every_environment_variable_is_explained() -> None:
    text = (DOCS / "howto" / "debugging.md").read_text()
    read = set()
    for path in (ROOT / "opdsl").rglob("*.py"):
        read |= set(re.findall(r'"(OPDSL_[A-Z_]+)"', path.read_text(encoding="utf-8")))
    read -= {"OPDSL_VERSION"}  # a word in a template
    assert len(read) > 8
    assert {variable for variable in read if variable not in text} == set()


def test_docstrings_of_public_names_say_all() -> None:
    """Public docstrings name arguments, results, errors and an example; ``python -m tests.docs.docstrings`` prints
    gaps.
    """
    names = {name.path: name for name in docstrings.names()}
    assert len(names) > 700
    faulty = {path: list(docstrings.missing(name)) for path, name in names.items()}
    assert {path: lacks for path, lacks in faulty.items() if lacks} == {}


def _refuse() -> None:
    raise opdsl.errors.OptionError("no")


def taken(x: int, *more: int) -> int:
    """Take some.

    Args:
        x: the first.
    """
    if x:
        _refuse()
    return x


def test_what_a_docstring_leaves_out_is_found() -> None:
    result = list(docstrings.missing(docstrings.Named("tests.docs.taken", taken)))
    assert result == ["argument more", "what it returns", "error OptionError", "an example"]


def test_every_operator_has_a_page(generators: Any) -> None:
    operators, _ = generators
    pages = operators.packets()
    own = [name.removeprefix("aten::") for name in opdsl.registry.packets if name.startswith("aten::")]
    assert {name for name in own if name not in pages and name.removesuffix("_") not in pages} == set()


@pytest.mark.parametrize("base", ["exp", "max", "add", "softmax", "nonzero", "arccos", "narrow", "zeros"])
def test_the_page_of_an_operator_says_what_is_so(base: str, generators: Any) -> None:
    operators, _ = generators
    text = operators.page(base, operators.packets()[base])
    parts = list(blocks(text))
    schemas = {
        str(operator.schema) for operator in operators.packets()[base] if operator.schema.kind.name == "functional"
    }
    assert schemas <= {block.text.strip() for block in parts if block.language == "text"}
    sessions = [block.text for block in parts if block.language == "pycon"]
    assert sessions
    for session in sessions:
        example = doctest.DocTestParser().get_doctest(session, {"opdsl": opdsl}, base, base, 0)
        assert doctest.DocTestRunner(verbose=False).run(example).failed == 0
    assert f"def {base}" in text or "Another name of" in text or base in text.partition("Definition")[2]


def test_the_page_of_an_operator_tells_its_dtypes_and_its_gradient(generators: Any) -> None:
    operators, _ = generators
    bases = ("bitwise_not", "exp", "argmax", "maximum")
    shown = {base: operators.page(base, operators.packets()[base]) for base in bases}
    for base in ("bitwise_not", "exp", "maximum"):
        told = re.search(r"^Dtypes: (all)?(?: but )?(.*)\.$", shown[base], re.MULTILINE)
        assert told is not None
        named = set(filter(None, told[2].split(", ")))
        taken = {dtype for dtype in operators.DTYPES if (dtype in named) != bool(told[1])}
        # PyTorch supports the wide unsigned integers in hardly any operator.
        assert taken - {"uint16", "uint32", "uint64"} == taken_by_torch(base, operators.DTYPES)
    assert "t0: float64 = grad * result" in shown["exp"]
    assert "Gradient: a formula, below" not in shown["argmax"]


def taken_by_torch(base: str, dtypes: list[str]) -> set[str]:
    """Return the dtypes that PyTorch's operator accepts, without the wide unsigned integers, which it hardly
    supports.
    """
    taken = set()
    for dtype in (dtype for dtype in dtypes if dtype not in ("uint16", "uint32", "uint64")):
        x = torch.ones(2, dtype=getattr(torch, dtype))
        try:
            getattr(torch, base)(*(x for _ in range(1 + (base == "maximum"))))
        except (NotImplementedError, RuntimeError):
            continue
        taken.add(dtype)
    return taken


def test_docstrings_become_markdown(generators: Any) -> None:
    markdown = sys.modules["markdown"]
    text = markdown.documented("Half.\n\nArgs:\n    x: a number,\n        with a sign.\n\n>>> half(2)\n1\n")
    assert text == "Half.\n\n**Arguments**\n\n- `x`: a number, with a sign.\n\n```pycon\n>>> half(2)\n1\n```\n\n"
    _, reference = generators
    page = reference.module_page("opdsl.testing")
    assert "## check_op" in page and "- `samples`: calls to check it with" in page and "LawError" in page
