"""Tests of the modules that ``import opdsl`` loads, in separate processes since this one has loaded everything."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

HEAVY = [
    "attrs",
    "numba",
    "llvmlite",
    "cuda",
    "torch",
    "yaml",
    "typeguard",
    "click",
    "rich",
    "ml_dtypes",
    "importlib.metadata",
]
LATER = [
    "opdsl.schema",
    "opdsl.dispatch",
    "opdsl.declare",
    "opdsl.aten",
    "opdsl.array_api",
    "opdsl.kernels",
    "opdsl.backends.cpu",
    "opdsl.backends.cuda",
    "opdsl.native",
    "opdsl.cli",
    "opdsl.testing",
]


@cache
def loaded_by(statement: str) -> frozenset[str]:
    """Return the modules that a fresh interpreter loads for a statement, without those that it loads at start.

    The latter are found by a second run, because ``.pth`` files of other packages may load anything.
    """
    printing = "import sys; print(*sys.modules, sep='\\n')"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
        for code in (printing, f"{statement}\n{printing}")
    ]
    before, after = (set(run.stdout.split()) for run in runs)
    return frozenset(after - before)


@pytest.mark.parametrize("name", HEAVY)
def test_importing_opdsl_does_not_load(name: str) -> None:
    assert name not in loaded_by("import opdsl")


def test_declaring_operators_needs_no_typeguard() -> None:
    topics = ("reduce.sums", "reduce.variances", "reduce.extrema", "nn.average_pooling", "create.ranges")
    assert "typeguard" not in loaded_by("import opdsl\n" + "\n".join(f"import opdsl.aten.{topic}" for topic in topics))


@pytest.mark.parametrize("name", LATER)
def test_importing_opdsl_leaves_for_first_use(name: str) -> None:
    assert name not in loaded_by("import opdsl")


def test_importing_opdsl_loads_its_own_modules() -> None:
    """``loaded_by`` finds modules that are certainly loaded, without which the other tests would prove nothing."""
    assert {"opdsl.errors", "opdsl.runtime.tensor", "numpy"} <= loaded_by("import opdsl")


def test_the_language_is_loaded_when_it_is_asked_for() -> None:
    assert {"opdsl.declare", "opdsl.dispatch", "opdsl.schema"} <= loaded_by("from opdsl import op")
    assert "opdsl.aten" not in loaded_by("from opdsl import Library, op")


def test_every_public_name_exists_however_it_is_first_accessed() -> None:
    """In a fresh process ``from opdsl import *`` binds every public name to the same object as attribute access."""
    same = "all(globals()[each] is getattr(opdsl, each) for each in opdsl.__all__)"
    code = f"from opdsl import *; import opdsl; assert {same}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_looking_for_an_unknown_function_of_a_module_loads_no_operators() -> None:
    loaded = loaded_by("import opdsl\nassert not hasattr(opdsl.nn, 'cross_entropie')")
    assert {name for name in loaded if name.startswith("opdsl.aten.")} == {"opdsl.aten.catalog"}


@pytest.mark.parametrize("name", ["difflib", "numba", "typeguard"])
def test_a_first_call_does_not_load(name: str) -> None:
    assert name not in loaded_by("import opdsl\nopdsl.add(opdsl.ones(2), opdsl.ones(2))")
