"""Tests that the library's scalar functions are read on their first call, and an author's at declaration."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from typing import Any

import pytest

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.errors import KernelSignatureError, ScalarFunctionError
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.definitions.reduction import ReductionDefinition


def definitions() -> dict[str, PointwiseDefinition]:
    """Return the pointwise definitions of the library by operator."""
    by_operator = {}
    for operator in opdsl.registry:
        for kernels in operator.registrations.values():
            for kernel in kernels:
                definition: Any = getattr(kernel, "definition", None)
                if isinstance(definition, PointwiseDefinition) and operator.name.startswith("aten::"):
                    by_operator[operator.name] = definition
    return by_operator


def test_all_scalar_functions_of_the_library_can_be_read():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = definitions()
        assert len(known) > 300
        assert [name for name, value in known.items() if not value.formulas and not hasattr(value, "text")] == []


def test_threads_that_ask_first_see_all_of_them():
    for _ in range(20):
        definition = PointwiseDefinition(opdsl.ops.aten.add.Tensor.operator.schema, "test::added")
        for kind in ("integer", "floating", "complex"):
            definition.add_later(lambda self, other, alpha: self + alpha * other, dtypes=(kind,))
        counts: list[int] = []
        begin = threading.Barrier(4)

        def ask(pointwise_definition: PointwiseDefinition, start: threading.Barrier, seen: list[int]) -> None:
            start.wait()
            seen.append(len(pointwise_definition.formulas))

        threads = [threading.Thread(target=ask, args=(definition, begin, counts)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts == [3, 3, 3, 3]
        assert [sorted(dtype.name for dtype in one.dtypes or ())[0] for one in definition.formulas] == [
            "int16", "bfloat16", "complex128"
        ]  # fmt: skip


def test_functions_that_cannot_be_read_say_so_with_each_call_that_asks():
    definition = PointwiseDefinition(opdsl.ops.aten.add.Tensor.operator.schema, "test::unread")

    def unread(self, other, alpha):
        return [self, other][alpha]

    definition.add_later(unread)
    for _ in range(2):
        with pytest.raises(ScalarFunctionError):
            definition.formulas  # noqa: B018  # a property


def test_an_authors_function_is_refused_at_its_declaration():
    loop = primitives.elements(lambda x: [x, x][x])
    with Library("late_reading") as local, pytest.raises(ScalarFunctionError):

        @local.op
        @formula
        def unread(self: Tensor) -> Tensor:
            return loop(self)


def test_the_folds_of_the_library_are_read_on_first_use():
    code = "import opdsl; from opdsl.aten import load_topic; load_topic('reduce.sums')\n"
    code += "folds = opdsl.ops.aten.sum.dim_IntList.operator.entry(opdsl.DispatchKey('CPU')).kernel.definition._folds\n"
    code += "print(len(folds._values), len(folds.values))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["0", "1"]


def test_all_folds_of_the_library_can_be_read():
    read = []
    for operator in opdsl.registry:
        for kernels in operator.registrations.values():
            for kernel in kernels:
                definition: Any = getattr(kernel, "definition", None)
                if type(definition) is ReductionDefinition and operator.name.startswith("aten::"):
                    read.append((operator.name, len(definition.folds)))
    assert len(read) > 50
    assert [name for name, count in read if count == 0] == []


def test_an_authors_fold_is_refused_at_its_declaration():
    loop = primitives.fold(lambda a, b: a + b, init=1)
    with Library("late_folds") as local, pytest.raises(KernelSignatureError, match="combined with itself"):

        @local.op
        @formula
        def unneutral(self: Tensor) -> Tensor:
            return loop(self)
