"""Tests that no ``except`` hides an internal error: broad handlers raise again, or are listed with the reason."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "opdsl"

BROAD = {"Exception", "BaseException"}

# In modules that make plans only ``refusals_only`` distinguishes errors: ``NotLoweredError`` alone leads to a fallback.
ROADS = ("dispatch/plans/", "dispatch/layers/", "autograd/", "interop/torch/plans.py", "interop/torch/lowered.py")
# The number of broad handlers in a file that do not end in ``raise``, with the reason.
REASONS = {
    "aten/python/vmap.py": (1, "a user's function: it is called again, for one element after another"),
    "aten/python/vmap_rules.py": (1, "an author's body: its operator is called again, for each element"),
    "backends/cpu/pool.py": (1, "kept until the caller's thread raises it"),
    "dispatch/overrides/native_dsl.py": (2, "a user's module: what it raises is the reason why it is not available"),
    "dispatch/plans/lowering_errors.py": (1, "the one that tells errors of calls from internal ones"),
    "dispatch/state.py": (2, "thrown into a user's generator"),
    "formulas/control.py": (1, "a user's branch, run on masked values: it is run again, without masks"),
    "formulas/definition.py": (2, "a user's formula, read for likely arguments: the first call says what it raises"),
    "interop/torch/digests.py": (1, "pickling of foreign objects: without a digest nothing is kept on disk"),
    "programs/compiled.py": (1, "a user's function: it is traced again, for these integers alone"),
    "programs/tracer.py": (2, "an author's body or kernel, run without elements: the operator is one step, or none"),
    "scalar/statements.py": (1, "comparing foreign objects may do anything: they are not the same"),
    "schema/implementation.py": (1, "a user's annotation, which only type checkers can evaluate"),
    "testing/ahead.py": (2, "calls for what they compile: which are refused is tested elsewhere"),
    "testing/laws/bad_input.py": (1, "reports it"),
    "testing/laws/guard_pages.py": (1, "calls for where they read: which are refused is tested elsewhere"),
    "testing/pytorch/places.py": (1, "kept until the caller's thread reports it"),
    "testing/pytorch/trials.py": (2, "reports it; samples that PyTorch refuses say nothing"),
    "typing/declared.py": (1, "typing refuses an annotation: mypy says so itself"),
}


def names_in(node: ast.expr | None) -> set[str]:
    """Return the names of the classes that a handler catches; a bare one catches all."""
    if node is None:
        return BROAD
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def always_raises(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def handlers(path: Path) -> Iterator[tuple[set[str], bool]]:
    """Yield the names of the classes that each handler of a file catches, and whether it ends in ``raise``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            yield names_in(node.type), always_raises(node.body)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "suppress":
            yield {name for element in node.args for name in names_in(element)}, False


def files() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def test_broad_handlers_raise_again_or_have_a_reason() -> None:
    hiding = Counter(
        file for file in files() for names, raises in handlers(PACKAGE / file) if names & BROAD and not raises
    )
    assert hiding == {file: count for file, (count, _) in REASONS.items()}


def test_plans_are_left_to_a_slower_way_by_not_lowered_error_alone() -> None:
    beside = {
        (file, *sorted(names))
        for file in files()
        if file.startswith(ROADS) and file != "dispatch/plans/lowering_errors.py"
        for names, raises in handlers(PACKAGE / file)
        if names & {"OpdslError", "RuntimeError", "NotLoweredError", *BROAD} and not raises
    }
    assert {handler for handler in beside if handler[1:] != ("NotLoweredError",)} == set()
    assert len(beside) > 3  # the handlers are found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("try:\n f()\nexcept Exception:\n pass", ({"Exception"}, False)),
        ("try:\n f()\nexcept:\n g()", (BROAD, False)),
        ("try:\n f()\nexcept (OSError, Exception):\n g()\n raise", ({"OSError", "Exception"}, True)),
        ("with contextlib.suppress(Exception):\n f()", ({"Exception"}, False)),
    ],
)
def test_the_reader_sees(source: str, expected: object, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert list(handlers(path)) == [expected]
