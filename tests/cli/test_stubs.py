"""Tests of ``opdsl stubs``, which writes files for type checkers, for opdsl itself or for a library."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.typing.checker import mypy_says

Run = Callable[..., Result]

ROOT = Path(__file__).resolve().parents[2]

LIBRARY = '''
"""Operators of mine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, overload

import opdsl
from opdsl import Alias, Ints, Library, Tensor, TensorOptions

lib = Library("mine")
FACTOR = 2.0
Pair = tuple[int, int]


class Layout:
    """Has the name of one of opdsl's."""


class Extremes(NamedTuple):
    """Both ends."""

    low: Tensor
    high: Tensor


@dataclass
class Options:
    """Options."""

    size: int = 1

    def total(self, factor=2) -> int:
        """In all."""
        return self.size * factor


class Counter:
    """Counts."""

    def __init__(self, start: int, name="c") -> None:
        self.count = start
        self.name = name

    @overload
    def get(self) -> int: ...
    @overload
    def get(self, text: str) -> str: ...
    def get(self, text=None):
        """The count."""
        return text or self.count


@lib.op(variants="function, method", inplace=True, out=True)
def smooth_relu(self: Tensor, beta: float = 1.0) -> Tensor:
    """``log(1 + exp(beta * self)) / beta``, without overflow."""
    return self * beta


@smooth_relu.overload("Tensor", variants="function, method")
def smooth_relu_tensor(self: Tensor, beta: Tensor) -> Tensor:
    """With a tensor."""
    return self * beta


@lib.op(variants="function, method")
def extremes(self: Tensor, dim: int) -> Extremes:
    """Smallest and largest."""
    return Extremes(self.amin(dim), self.amax(dim))


other_extremes = extremes.alias("other_extremes")


@lib.op
def filled(size: list[int], *, options: TensorOptions) -> Tensor: ...


@lib.op
def first(self: Tensor[Alias("a")], size: Ints[2] = 2) -> Tensor[Alias("a")]: ...
'''

USER = """
from typing import assert_type

import opdsl
from mine import other_extremes
from mine import Counter, Extremes, FACTOR, Options, Pair, extremes, filled, first, smooth_relu, smooth_relu_tensor
from opdsl import Tensor

x = opdsl.ones(2, 3)
assert_type(smooth_relu(x, 2.0), Tensor)
assert_type(smooth_relu(x, x), Tensor)
assert_type(smooth_relu(x, out=x), Tensor)
assert_type(smooth_relu_tensor(x, x), Tensor)
assert_type(x.smooth_relu(2.0).smooth_relu_(), Tensor)
assert_type(x.extremes(0), Extremes)
assert_type(extremes(x, dim=0).low, Tensor)
assert_type(opdsl.ops.mine.smooth_relu.Tensor(x, x), Tensor)
assert_type(filled(2, 3, dtype=opdsl.float32, device="cpu"), Tensor)
filled([2], layout=opdsl.strided)
first(x, (1, 2))
assert_type(other_extremes(x, 1), Extremes)
assert_type(Options(2).total(), int)
assert_type(Counter(1).count + FACTOR, float)
assert_type(Counter(1).get("a"), str)
pair: Pair = (1, 2)
str(smooth_relu.schema)
smooth_relu_tensor(x, 2)  # wrong
smooth_relu(x, "a")  # wrong
x.extremes("a")  # wrong
x.smooth()  # wrong
opdsl.ops.mine.nothing  # wrong
"""


@pytest.fixture
def library(folder: Path) -> Path:
    file = folder / "mine.py"
    file.write_text(LIBRARY, encoding="utf-8")
    return file


def test_a_library_is_known_to_mypy(run: Run, library: Path, folder: Path) -> None:
    assert run("stubs", "mine.py").exit_code == 0
    (folder / "user.py").write_text(USER, encoding="utf-8")
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nfollow_imports = silent\nmypy_path = typings:{ROOT}\n")
    cache = ROOT / ".mypy_cache" / "tests-library"
    options = ["--config-file", "mypy.ini", "--cache-dir", str(cache), "--no-error-summary"]
    report, _ = mypy_says(*options, "user.py", "typings/mine.pyi")
    wrong = [number for number, line in enumerate(USER.splitlines(), 1) if "# wrong" in line]
    assert [int(line.split(":")[1]) for line in report.splitlines() if ": error:" in line] == wrong, report


def test_a_library_and_its_users_are_checked_in_one_run(run: Run, library: Path, folder: Path) -> None:
    """mypy accepts a library and a program that uses it in one run, where it reads the library's source instead of its
    stubs.
    """
    assert run("stubs", "mine.py").exit_code == 0
    (folder / "user.py").write_text("import opdsl\nfrom mine import smooth_relu\n\nx = smooth_relu(opdsl.ones(2))\n")
    (folder / "mypy.ini").write_text(
        f"[mypy]\nplugins = opdsl.typing.mypy_plugin\nfollow_imports = silent\nmypy_path = typings:{ROOT}\n"
    )
    cache = ROOT / ".mypy_cache" / "tests-library-plugin"  # mypy cannot use a cache written without the plugin
    options = ["--config-file", "mypy.ini", "--cache-dir", str(cache), "--no-error-summary"]
    report, errors = mypy_says(*options, "mine.py", "user.py")
    assert (report, errors) == ("", "")


OTHER_MODULE = """
from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import opdsl
from opdsl import *

K = TypeVar("K")
Callback = Callable[[int], str]


class Mode(enum.Enum):
    FAST = 1


class Box(Generic[K]):
    def __init__(self, *items: K, **named):
        self.items = list(items)
        self.first, self.last = items[0], items[-1]

    @property
    def size(self) -> int:
        return len(self.items)

    @size.setter
    def size(self, value: int) -> None: ...

    @functools.cached_property
    def kept(self) -> int:
        return 1

    @staticmethod
    def make(text: str = 'a"b', sizes: tuple[int, ...] = ()) -> Box[int]: ...


@contextmanager
def scope(n: int) -> Iterator[int]:
    yield n


def untyped(a, b=None, *c, d, **e):
    return a


@opdsl.op
def only(self: opdsl.Tensor, int: int = 1, lambda_: float = 2.0) -> opdsl.Tensor: ...


@only.kernel("CPU")
def only_kernel(self, int, lambda_):
    return self
"""

OTHER_USER = """
from typing import assert_type

import opdsl
from other import Box, Mode, only, scope, untyped

box = Box.make()
assert_type(box.size + box.kept, int)
box.size = 2
with scope(2) as n:
    assert_type(n, int)
untyped(1, d=2).anything
assert_type(only(opdsl.ones(2), int=2), opdsl.Tensor)
print(Mode.FAST.name, box.items, box.last)
"""


def test_what_stands_beside_operators_keeps_its_types(run: Run, folder: Path) -> None:
    (folder / "other.py").write_text(OTHER_MODULE, encoding="utf-8")
    (folder / "user.py").write_text(OTHER_USER, encoding="utf-8")
    assert run("stubs", "other.py").exit_code == 0
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nfollow_imports = silent\nmypy_path = typings:{ROOT}\n")
    cache = ROOT / ".mypy_cache" / "tests-library"
    options = ["--config-file", "mypy.ini", "--cache-dir", str(cache), "--no-error-summary"]
    report, errors = mypy_says(*options, "user.py", "typings/other.pyi")
    assert (report, errors) == ("", "")


def test_stubs_run_nothing(run: Run, library: Path, folder: Path) -> None:
    run("stubs", "mine.py", "-o", "made")
    tree = ast.parse((folder / "made" / "mine.pyi").read_text(encoding="utf-8"))
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert all(len(body) == 1 and isinstance(body[0], ast.Expr) for body in bodies)


def test_docstrings_are_those_of_the_declarations(run: Run, library: Path, folder: Path) -> None:
    run("stubs", "mine.py", "-o", "made")
    tree = ast.parse((folder / "made" / "opdsl" / "_operators.pyi").read_text(encoding="utf-8"))
    name = "_packet_mine_smooth_relu"
    (packet,) = (statement for statement in tree.body if isinstance(statement, ast.ClassDef) and statement.name == name)
    docs = {ast.get_docstring(statement) for statement in packet.body if isinstance(statement, ast.FunctionDef)}
    assert docs == {"``log(1 + exp(beta * self)) / beta``, without overflow.", "With a tensor."}


def test_check_tells_what_is_stale(run: Run, library: Path, folder: Path) -> None:
    run("stubs", "mine.py")
    library.write_text(LIBRARY.replace("beta: float = 1.0", "beta: float = 2.25"), encoding="utf-8")
    outcome = run("stubs", "mine.py", "--check")
    assert (outcome.exit_code, outcome.stdout.splitlines()) == (
        1,
        [f"typings/{name} is not up to date" for name in ("opdsl/_operators.pyi", "opdsl/runtime/tensor.pyi")],
    )


def test_check_passes_right_after_writing(run: Run, library: Path) -> None:
    run("stubs", "mine.py")
    assert run("stubs", "mine.py", "--check").exit_code == 0


def test_check_writes_nothing(run: Run, library: Path, folder: Path) -> None:
    assert run("stubs", "mine.py", "--check").exit_code == 1
    assert not (folder / "typings").exists()


def test_a_package_has_stubs_of_what_is_around_its_modules(run: Run, folder: Path) -> None:
    package = folder / "package_of_mine"
    package.mkdir()
    (package / "__init__.py").write_text("from package_of_mine.mine import smooth_relu\n")
    (package / "mine.py").write_text(LIBRARY, encoding="utf-8")
    run("stubs", "package_of_mine", "-o", "made")
    output = folder / "made" / "package_of_mine"
    assert "smooth_relu as smooth_relu" in (output / "__init__.pyi").read_text()
    assert "smooth_relu: _packet_mine_smooth_relu" in (output / "mine.pyi").read_text()


def test_the_text_is_that_of_ruff(run: Run, library: Path) -> None:
    run("stubs", "mine.py", "-o", "made")
    command = [sys.executable, "-m", "ruff", "format", "--check", "--line-length", "120", "made"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout


def test_two_processes_write_the_same(run: Run, library: Path, folder: Path) -> None:
    run("stubs", "mine.py", "-o", "here")
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed, "PATH": ""}
    command = [sys.executable, "-m", "opdsl", "stubs", "mine.py", "-o", "there"]
    subprocess.run(command, check=True, timeout=60, capture_output=True, env=environment)
    here, there = (
        {str(path.relative_to(name)): path.read_text() for path in Path(name).rglob("*.pyi")}
        for name in ("here", "there")
    )
    assert here == there


def test_a_folder_that_cannot_be_written_is_an_error(run: Run, library: Path, folder: Path) -> None:
    (folder / "file").write_text("")
    outcome = run("stubs", "mine.py", "-o", "file/made")
    assert (outcome.exit_code, "file/made" in outcome.stderr) == (1, True)
