"""Mutation testing: makes one small change of the code at a time, and checks whether a test fails.

    python -m tests.mutants --folder opdsl/runtime --count 50 --seed 1 tests/unit/runtime tests/torch/shape

All work is done in a copy of the repository, which ``--work`` keeps for further runs. The named tests run in it once,
which records for each line the tests that execute it. Each mutant is then tried by those tests alone, in a separate
process, up to the first failure. If a mutant survives, a test is missing, or the code is not needed, or the mutant
computes the same as the original: such mutants are listed in ``equivalent_mutants.txt``, with the reason, and are not
tried again. At first few cases of each test run; ``--match``, ``--cases 9999`` and ``--seconds 300`` try one survivor
with all tests that execute it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")

# Modules that most tests import, loaded once, before a process is forked for each mutant.
_PRELOADED = ("numpy", "scipy.linalg", "numba", "hypothesis", "mpmath", "typeguard", "torch")
_PRELOADED_LATE = ("torch.testing._internal.common_methods_invocations",)


# ------------------------------------------------------------------------------------------------------------ mutations

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutant(NamedTuple):
    """Change of one expression in a module.

    path: path of the module in the repository.
    scope: qualified name of the function that holds the expression; empty at module level.
    node: the expression that is replaced.
    statement: line of the statement that holds the expression.
    after: the expression that replaces it.
    """

    path: str
    scope: str
    node: ast.expr | ast.AugAssign
    statement: int
    after: ast.AST

    def __str__(self) -> str:
        return f"{self.path}::{self.scope}: {ast.unparse(self.node)} -> {ast.unparse(self.after)}"

    def applied(self, text: str) -> str:
        """Return the module's text with the change; all other lines keep their numbers."""
        lines = text.encode().splitlines(keepends=True)
        first, last = self.node.lineno - 1, (self.node.end_lineno or self.node.lineno) - 1
        changed = ast.unparse(self.after) + "\n" * (last - first)
        if isinstance(self.node, ast.expr):
            changed = f"({changed})"
        head, tail = lines[first][: self.node.col_offset], lines[last][self.node.end_col_offset :]
        return b"".join([*lines[:first], head, changed.encode(), tail, *lines[last + 1 :]]).decode()


def mutants_of(path: str, text: str) -> Iterator[Mutant]:
    """Yield all mutants of a module."""
    return _below(ast.parse(text), path, "", 0)


def _below(node: ast.AST, path: str, scope: str, statement: int) -> Iterator[Mutant]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        scope = f"{scope}.{node.name}".lstrip(".")
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.stmt):
        statement = node.lineno
    for before, after in _changes(node, inside_function=bool(scope)):
        yield Mutant(path, scope, before, statement, after)
    for child in _evaluated(node):
        yield from _below(child, path, scope, statement)


def _evaluated(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the child nodes that are evaluated: no annotations, no assertions, and no f-strings, whose parts have no
    positions.
    """
    if isinstance(node, (ast.JoinedStr, ast.Assert)):
        return
    for name, field in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            yield from (
                child for child in (field if isinstance(field, list) else [field]) if isinstance(child, ast.AST)
            )


def _changes(node: ast.AST, *, inside_function: bool) -> Iterator[tuple[Any, ast.AST]]:
    """Yield pairs of an expression to replace and its replacement, for changes at this node itself."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            yield node, _with(node, ops=[*node.ops[:index], _OPERATORS[type(operator)](), *node.ops[index + 1 :]])
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, node.operand
    elif isinstance(node, (ast.BoolOp, ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        if inside_function or not isinstance(node.op, ast.BitOr):  # a union of types
            yield node, _with(node, op=_OPERATORS[type(node.op)]())
    elif isinstance(node, (ast.If, ast.IfExp)):
        yield node.test, ast.Constant(True)
        yield node.test, ast.Constant(False)
    elif isinstance(node, ast.While):
        yield node.test, ast.Constant(False)
    elif isinstance(node, ast.comprehension):
        yield from ((condition, ast.Constant(True)) for condition in node.ifs)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


# --------------------------------------------------------------------------------------- which tests execute which line


class Reach:
    """Pytest plugin that records which lines of modules each test executes, and how long the test takes.

    Args:
        folders: folders of the modules.
        cases: number of cases of each parametrized test that are run, chosen at random.
    """

    def __init__(self, folders: Sequence[str], cases: int) -> None:
        self._folders = tuple(folders)
        self._cases = cases
        self._lines: set[tuple[str, int]] = set()
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        self.reached: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """Record the lines that imports execute, those of operators that load late included, for the test named ''."""
        self._follow()
        try:
            return (yield)
        finally:
            dir(importlib.import_module("opdsl").ops.aten)  # loads all of its operators
            self._note("")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep only some cases of each test."""
        by_test: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            by_test[item.nodeid.partition("[")[0]].append(item)
        few = {
            case
            for name, cases in by_test.items()
            for case in random.Random(name).sample(cases, min(self._cases, len(cases)))
        }
        items[:] = [entry for entry in items if entry in few]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record the lines that one test executes, and its duration."""
        started = time.perf_counter()
        self._follow()
        try:
            return (yield)
        finally:
            self.seconds[item.nodeid] = time.perf_counter() - started
            self._note(item.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the tests that fail without a mutation, which cannot detect one."""
        if not report.passed:
            self.failed.add(report.nodeid)

    def _follow(self) -> None:
        self._lines.clear()
        threading.settrace(self._entered)
        sys.settrace(self._entered)

    def _note(self, test: str) -> None:
        sys.settrace(None)
        threading.settrace(None)
        for path, line in tuple(self._lines):
            self.reached[os.path.relpath(path)][line].append(test)

    def _entered(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        return self._stepped if frame.f_code.co_filename.startswith(self._folders) else None

    def _stepped(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        if event == "line":
            self._lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self._stepped

    def table(self) -> dict[str, Any]:
        """Return the recorded lines and durations of the tests that pass."""
        good = {"": 0.0, **{test: seconds for test, seconds in self.seconds.items() if test not in self.failed}}
        numbers = {test: number for number, test in enumerate(good)}
        reached = {
            path: {line: [numbers[test] for test in tests if test in numbers] for line, tests in lines.items()}
            for path, lines in self.reached.items()
        }
        return {"tests": list(good.items()), "reached": reached}


class Table:
    """Lines and durations of tests, read from a file that holds ``Reach.table``."""

    def __init__(self, path: Path) -> None:
        noted = json.loads(path.read_text())
        self._tests: list[str] = [test for test, _ in noted["tests"]]
        self._seconds: Mapping[str, float] = dict(noted["tests"])
        self._reached: Mapping[str, Mapping[str, list[int]]] = noted["reached"]

    def tests_for(self, mutant: Mutant, most: float) -> list[str]:
        """Return tests that execute a mutant, short ones first and modules alternating, of at most ``most`` seconds in
        total.
        """
        lines = self._reached.get(mutant.path, {})
        numbers = lines.get(str(mutant.node.lineno)) or lines.get(str(mutant.statement)) or []
        if 0 in numbers:  # executed by an import: any test of the module may fail
            numbers = list(dict.fromkeys(itertools.chain(numbers, *lines.values())))
        by_module: dict[str, list[str]] = defaultdict(list)
        for test in sorted((self._tests[number] for number in numbers if number), key=self._seconds.__getitem__):
            by_module[test.partition("::")[0]].append(test)
        tests: list[str] = []
        seconds = 0.0
        for test in filter(None, itertools.chain(*itertools.zip_longest(*by_module.values()))):
            if seconds + self._seconds[test] < most:
                seconds += self._seconds[test]
                tests.append(test)
        return tests

    def limit(self, tests: Sequence[str]) -> float:
        """Return the time limit for running tests, in seconds."""
        return 30 + 3 * sum(self._seconds[test] for test in tests)


# -------------------------------------------------------------------------------------------------------------- running


class Only:
    """Pytest plugin that runs the given tests only, and records the name of the first that fails."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._tests = frozenset(tests)
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep only the given tests."""
        items[:] = [item for item in items if item.nodeid in self._tests]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the name of the first test that fails."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def note_reach(folders: Sequence[str], cases: int, tests: Sequence[str], path: Path, send: Connection) -> None:
    """Run tests in the copy that this process uses, and write the lines that they execute to a file."""
    noted = Reach([os.path.abspath(folder) for folder in folders], cases)
    status = pytest.main(["-q", "-p", "no:cacheprovider", *tests], plugins=[noted])
    path.write_text(json.dumps(noted.table()))
    send.send(f"{int(status)}")


def try_tests(tests: Sequence[str], send: Connection) -> None:
    """Run tests up to the first failure, and send the name of that test; send an empty text if all pass."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(null, stream)
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    only = Only(tests)
    try:
        cache: Any = importlib.import_module("opdsl.backends.cache")
        cache.store = lambda *_: None  # other processes must not load the kernels of a mutant
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        status = pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files], plugins=[only])
    except BaseException as error:
        send.send(f"import: {type(error).__name__}")
    else:
        send.send(only.failed or ("" if status in (0, 5) else f"collection: {status!r}"))


def in_copy(copied: Path, seconds: float | None, task: Callable[..., None], *arguments: object) -> str | None:
    """Run a task in a forked process that imports modules from a copy of the repository.

    Returns:
        The text that the task sent; None if it took too long, and "died" if it ended without sending one.
    """
    receive, send = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        os.setsid()
        os.chdir(copied)
        os.environ["PYTHONPATH"] = sys.path[0] = str(copied)
        for name in [module for module in sys.modules if module.partition(".")[0] in ("opdsl", "tests")]:
            del sys.modules[name]
        task(*arguments, send)
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    send.close()
    try:
        if not receive.poll(seconds):
            return None
        return str(receive.recv())
    except EOFError:
        return "died"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()


@contextlib.contextmanager
def applied(mutant: Mutant, copied: Path) -> Iterator[None]:
    """Write a mutant into the copy of the repository for the duration of this block."""
    path = copied / mutant.path
    before, times = path.read_text(), path.stat()
    path.write_text(mutant.applied(before))
    try:
        yield
    finally:
        path.write_text(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


# ---------------------------------------------------------------------------------------------------------- the command


def equivalent() -> dict[str, str]:
    """Return the mutants that compute the same as the original, with the reason."""
    lines = [line.partition("  # ") for line in EQUIVALENT.read_text().splitlines()] if EQUIVALENT.exists() else []
    return {mutant.strip(): reason.strip() for mutant, _, reason in lines if mutant.strip()}


def chosen(copied: Path, options: argparse.Namespace) -> list[Mutant]:
    """Return random mutants of the given folders, the same ones for the same seed."""
    paths = sorted(itertools.chain(*((copied / folder).rglob("*.py") for folder in options.folder)))
    paths += [copied / path for path in options.folder if path.endswith(".py")]
    every = [mutant for path in paths for mutant in mutants_of(str(path.relative_to(copied)), path.read_text())]
    same = equivalent()
    wanted = [
        mutant
        for mutant in every
        if str(mutant) not in same and not (options.skip and re.search(options.skip, f"{mutant.path}::{mutant.scope}"))
    ]
    picked = random.Random(options.seed).sample(wanted, min(options.count, len(wanted)))
    return [mutant for mutant in picked if not options.match or options.match in str(mutant)]


def main() -> None:
    """Run the command line that the module describes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", action="append", required=True, help="a folder or module to change; several may be")
    parser.add_argument("--count", type=int, default=20, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0, help="which mutants")
    parser.add_argument("--skip", help="a regular expression: no mutants in paths::scopes with it")
    parser.add_argument("--match", help="of the chosen mutants only those with this text")
    parser.add_argument("--seconds", type=float, default=40, help="how long the tests of a mutant took without it")
    parser.add_argument("--work", type=Path, help="a directory for the copy; one that is there is used again")
    parser.add_argument("--cases", type=int, default=8, help="how many cases of each parametrised test are run")
    parser.add_argument("tests", nargs="*", default=["tests/tiny", "tests/unit"], help="what pytest runs")
    options = parser.parse_args()
    for name in _PRELOADED + _PRELOADED_LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with tempfile.TemporaryDirectory() as temporary:
        copied = (options.work or Path(temporary) / "copy").resolve()
        if not copied.exists():
            shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(".*", "__pycache__"))
        noted = copied / "reach.json"
        if not noted.exists():
            in_copy(copied, None, note_reach, options.folder, options.cases, options.tests, noted)
        report(chosen(copied, options), Table(noted), copied, options.seconds)


def report(mutants: Sequence[Mutant], table: Table, copied: Path, most: float) -> None:
    """Try mutants, each with tests of at most ``most`` seconds, and print the outcome of each."""
    counts: Counter[str] = Counter()
    for mutant in mutants:
        tests = table.tests_for(mutant, most)
        started = time.perf_counter()
        with applied(mutant, copied):
            failed = in_copy(copied, table.limit(tests), try_tests, tests) if tests else ""
        outcome = "timed out" if failed is None else "killed" if failed else "survived" if tests else "not reached"
        counts[outcome] += 1
        place = f"{mutant.path}:{mutant.node.lineno}"
        print(f"{outcome:11} {place} {str(mutant).partition('::')[2]}", end="  ")
        print(f"[{len(tests)} tests, {time.perf_counter() - started:.0f} s] {failed or ''}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
