"""CUDA agrees with the CPU, for every operator of aten and every dtype (law 6).

On an emulated device a share of them, so that CI has time for it: a few calls of every operator in one dtype, the next
of the twelve that it takes, in turn along the alphabet, so that each kind of kernel meets each dtype in some operator.
OPDSL_TEST_FULL=1 runs all of them, as a real device does.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import opdsl
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator
from opdsl.native.generated import GENERATED
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.testing import Sample, violations_of
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject

opdsl.ops.aten  # noqa: B018  loads the operators

OPERATORS = sorted((each for each in opdsl.registry if each.name.startswith("aten::")), key=lambda each: each.name)
IS_WHOLE = opdsl.cuda.is_available() or bool(os.environ.get("OPDSL_TEST_FULL"))

# How many calls are made of an operator that is declared, and of a variant of one, which runs the same kernels.
FEW, FEWEST = 4, 1

# What has no kernels for CUDA, as the README says, by how their names begin; operators that call it say so too.
MISSING = (
    "_fft_",
    "_cholesky",
    "_linalg_",
    "cholesky",
    "histogram",
    "linalg_",
    "lu_",
    "triangular_solve",
)


# Operators that take no sample of any dtype: they are for devices that are not here.
WITHOUT_SAMPLES = ("aten::_pin_memory", "aten::pin_memory", "aten::record_stream")


def cases() -> list[tuple[Operator, tuple[DType, ...]]]:
    """The operators, and the dtypes in the order in which they are tried with each."""
    # Generated operators call what is here anyway.
    own = OPERATORS if IS_WHOLE else [each for each in OPERATORS if GENERATED not in each.tags]
    turns = [place % len(ALL_DTYPES) for place in range(len(own))]
    return [(each, ALL_DTYPES[turn:] + ALL_DTYPES[:turn]) for each, turn in zip(own, turns, strict=True)]


def samples(operator: Operator, dtype: DType) -> list[Sample]:
    """The calls that are made; none where the operator refuses the dtype, on the CPU."""
    try:
        made = samples_of(operator, dtype)
        function = Subject(operator, []).function
        return fitting(made, function, wanted=math.inf if IS_WHOLE else FEW if is_declared(operator) else FEWEST)
    except (opdsl.errors.OptionError, opdsl.errors.DTypeError):
        return []


def is_declared(operator: Operator) -> bool:
    return isinstance(operator.declaration, Declaration) and operator.declaration.main is operator


@pytest.mark.parametrize(("operator", "dtypes"), [pytest.param(*each, id=each[0].name[6:]) for each in cases()])
def test_cuda_agrees_with_the_cpu(operator: Operator, dtypes: tuple[DType, ...], complete: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        taken = ((dtype, made) for dtype in dtypes if (made := samples(operator, dtype)))
        chosen = list(taken if IS_WHOLE else itertools.islice(taken, 1))
        assert chosen or operator.name.startswith(WITHOUT_SAMPLES)
        for dtype, made in chosen:
            found = complete(lambda made=made: violations_of(operator, made, laws=[6]))
            assert [f"{dtype}: {each}" for each in found if not is_missing(each.problem)] == []


def is_missing(problem: str) -> bool:
    """Whether an operator says that there is no kernel for CUDA of one that the README tells of."""
    return any(f"raises MissingKernelError (aten::{name}" in problem for name in MISSING)
