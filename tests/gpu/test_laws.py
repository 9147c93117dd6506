"""CUDA agrees with the CPU, for every operator of aten and every dtype (law 6).

On an emulated device a share of them, so that CI has time for it: a few calls of every operator in one dtype of the
twelve, in turn along the alphabet, so that each kind of kernel meets each dtype in some operator. OPDSL_TEST_FULL=1
runs all of them, as a real device does.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import opdsl
from opdsl.dispatch import Operator
from opdsl.native.generated import GENERATED
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.testing import Sample, violations_of
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject

opdsl.ops.aten  # noqa: B018  loads the operators

OPERATORS = sorted((each for each in opdsl.registry if each.name.startswith("aten::")), key=lambda each: each.name)
IS_WHOLE = opdsl.cuda.is_available() or bool(os.environ.get("OPDSL_TEST_FULL"))

FEW = 4

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


def cases() -> list[tuple[Operator, DType]]:
    """What is run."""
    if IS_WHOLE:
        return [(operator, dtype) for operator in OPERATORS for dtype in ALL_DTYPES]
    # Generated operators call what is here anyway.
    own = [each for each in OPERATORS if GENERATED not in each.tags]
    return [(operator, ALL_DTYPES[place % len(ALL_DTYPES)]) for place, operator in enumerate(own)]


def samples(operator: Operator, dtype: DType) -> list[Sample] | None:
    """The calls that are made; None for all that the operator has samples of."""
    return None if IS_WHOLE else fitting(samples_of(operator, dtype), Subject(operator, []).function, wanted=FEW)


@pytest.mark.parametrize(("operator", "dtype"), cases(), ids=lambda each: each.name.removeprefix("aten::"))
def test_cuda_agrees_with_the_cpu(operator: Operator, dtype: DType, complete: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = complete(lambda: violations_of(operator, samples(operator, dtype), dtypes=[dtype], laws=[6]))
        except (opdsl.errors.OptionError, opdsl.errors.DTypeError) as error:
            pytest.skip(str(error))  # there are no samples of this dtype that the operator takes, on the CPU either
    assert [each for each in found if not is_missing(each.problem)] == []


def is_missing(problem: str) -> bool:
    """Whether an operator says that there is no kernel for CUDA of one that the README tells of."""
    return any(f"raises MissingKernelError (aten::{name}" in problem for name in MISSING)
