"""No ``except`` hides an internal error: broad ones raise again, or stand in a list with the reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "opdsl"

BROAD = {"Exception", "BaseException"}

# Where plans are made ``refusals_only`` alone tells errors apart: only ``NotLoweredError`` leads to a slower way.
ROADS = ("dispatch/plans/", "dispatch/layers/", "autograd/", "interop/torch/plans.py", "interop/torch/lowered.py")
# What broad handlers there are that do not end in ``raise``, by file and function: each with the reason.
REASONS = {
    ("dispatch/plans/lowering_errors.py", "refusals_only"): "the one that tells errors of calls from internal ones",
    ("aten/python/vmap.py", "_by_rules"): "a user's function: it is called again, for one element after another",
    ("aten/python/vmap_rules.py", "_taken_apart"): "an author's body: its operator is called again, for each element",
    ("backends/cpu/pool.py", "part"): "kept until the caller's thread raises it",
    ("dispatch/overrides/native_dsl.py", "unavailable_reason"): "a user's module: what it raises is the reason",
    ("dispatch/overrides/native_dsl.py", "dsl_version"): "a user's module, which need not tell a version",
    ("dispatch/state.py", "within"): "thrown into a user's generator",
    ("formulas/definition.py", "try_forms"): "a user's formula: the first call says what it raises",
    ("formulas/definition.py", "_try_options"): "a user's formula: the first call says what it raises",
    ("interop/torch/digests.py", "_object"): "pickling of foreign objects: without a digest nothing is kept on disk",
    ("programs/compiled.py", "takes_sizes"): "a user's function: it is traced again, for these integers alone",
    ("programs/tracer.py", "dispatch"): "an author's body, which may look at elements: its operator is one step then",
    ("scalar/statements.py", "_same"): "comparing foreign objects may do anything: they are not the same",
    ("schema/implementation.py", "annotations_of"): "a user's annotation, which only type checkers can evaluate",
    ("testing/ahead.py", "run"): "compiles for samples: those that are refused compile nothing",
    ("testing/ahead.py", "<suppress>"): "calls for what they compile: which are refused is tested elsewhere",
    ("testing/laws/bad_input.py", "check"): "reports it",
    ("testing/laws/guard_pages.py", "<suppress>"): "calls for where they read: which are refused is tested elsewhere",
    ("testing/pytorch/places.py", "work"): "kept until the caller's thread reports it",
    ("testing/pytorch/trials.py", "_compiled"): "samples that PyTorch refuses say nothing",
    ("testing/pytorch/trials.py", "_told"): "reports it",
    ("typing/declared.py", "_faults"): "typing refuses an annotation: mypy says so itself",
}


def names_in(node: ast.expr | None) -> set[str]:
    """The names of the classes that a handler catches; a bare one catches all."""
    if node is None:
        return BROAD
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def always_raises(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Raise)


def handlers(path: Path) -> Iterator[tuple[str, set[str], bool]]:
    """Each handler of a file: its function, what it catches, and whether it ends in ``raise``."""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, set[str], bool]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.ExceptHandler):
            yield function, names_in(node.type), always_raises(node.body)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "suppress":
            yield "<suppress>", {name for each in node.args for name in names_in(each)}, False
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), "<module>")


def files() -> list[str]:
    return sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py"))


def test_broad_handlers_raise_again_or_have_a_reason() -> None:
    hiding = {
        (file, function)
        for file in files()
        for function, names, raises in handlers(PACKAGE / file)
        if names & BROAD and not raises
    }
    assert hiding == set(REASONS)


def test_plans_are_left_to_a_slower_way_by_not_lowered_error_alone() -> None:
    beside = {
        (file, *sorted(names))
        for file in files()
        if file.startswith(ROADS) and file != "dispatch/plans/lowering_errors.py"
        for _, names, raises in handlers(PACKAGE / file)
        if names & {"OpdslError", "RuntimeError", "NotLoweredError", *BROAD} and not raises
    }
    assert {each for each in beside if each[1:] != ("NotLoweredError",)} == set()
    assert len(beside) > 3  # the handlers are found


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("try:\n f()\nexcept Exception:\n pass", [("<module>", {"Exception"}, False)]),
        ("try:\n f()\nexcept:\n g()", [("<module>", BROAD, False)]),
        (
            "def h():\n try:\n  f()\n except (OSError, Exception):\n  g()\n  raise",
            [("h", {"OSError", "Exception"}, True)],
        ),
        ("with contextlib.suppress(Exception):\n f()", [("<suppress>", {"Exception"}, False)]),
    ],
)
def test_the_reader_sees(source: str, expected: object, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert list(handlers(path)) == expected
