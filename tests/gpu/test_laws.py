"""Tests of law 6: CUDA agrees with the CPU, for every operator of aten and every dtype.

On an emulated device only a share of them runs, to save time in CI: a few calls of every operator in one dtype, the
first that the operator accepts from a dtype that rotates along the alphabet, so that each kind of kernel meets each
dtype in some operator. Half of these operators are tested today, the others tomorrow.

OPDSL_TEST_FULL=1 runs all of them, as a real device does.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import opdsl
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import DispatchKey, Operator
from opdsl.dispatch.plans.policy import lowered_at_once
from opdsl.native.generated import GENERATED
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.testing import Sample, violations_of
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject
from tests.by_date import todays

dir(opdsl.ops.aten)  # loads all of its operators

OPERATORS = sorted(
    (operator for operator in opdsl.registry if operator.name.startswith("aten::")), key=lambda operator: operator.name
)
IS_WHOLE = opdsl.cuda.is_available() or bool(os.environ.get("OPDSL_TEST_FULL"))

# Number of calls for a declared operator, and for a variant of one, which runs the same kernels.
FEW, FEWEST = 4, 1

# Number of operators whose kernels are compiled together on the emulated device: starting g++, reading the common
# headers and linking take longer than compiling the kernels of an operator.
TOGETHER = 1 if IS_WHOLE else 30

# Operators without CUDA kernels, listed in docs/limits.md, by the start of their names; operators that call them raise
# the same error.
MISSING = (
    "_fft_",
    "_cholesky",
    "_linalg_",
    "cholesky",
    "geqrf",
    "histogram",
    "linalg_",
    "lu_",
    "orm",
    "triangular_solve",
)


# Operators that accept no sample of any dtype: they need unavailable devices or layouts, tensors that share memory, or
# outputs of two dtypes.
PARTS_OF_SPARSE = ("aten::indices", "aten::_indices", "aten::values", "aten::_values", "aten::col_ind", "aten::row_ind")
WITHOUT_SAMPLES = (
    *("aten::_pin_memory", "aten::pin_memory", "aten::record_stream", "aten::slice_inverse"),
    "aten::_fused_moving_avg_obs_fq_helper.out",
    *PARTS_OF_SPARSE,
)


def cases() -> list[tuple[Operator, tuple[DType, ...]]]:
    """Return the operators, each with the dtypes in the order in which they are tried."""
    # Generated operators call operators that are listed anyway.
    own = OPERATORS if IS_WHOLE else [operator for operator in OPERATORS if GENERATED not in operator.tags]
    if not IS_WHOLE:  # every sixth of the variants and composites, which run the kernels of other operators
        others = {operator.name for operator in [operator for operator in own if not has_own_kernels(operator)][::6]}
        own = [operator for operator in own if has_own_kernels(operator) or operator.name in others]
    if opdsl.cuda.is_available():  # a run on a borrowed GPU may end early: begin with what other operators call
        own = sorted(own, key=lambda operator: not has_own_kernels(operator))
    turns = [index % len(ALL_DTYPES) for index in range(len(own))]
    result = [(operator, ALL_DTYPES[turn:] + ALL_DTYPES[:turn]) for operator, turn in zip(own, turns, strict=True)]
    return result if IS_WHOLE else todays(result, 2)


def samples(operator: Operator, dtype: DType) -> list[Sample]:
    """Return the calls to make, none if the operator refuses the dtype on the CPU."""
    try:
        calls = samples_of(operator, dtype)
        function = Subject(operator, []).function
        return fitting(calls, function, wanted=math.inf if IS_WHOLE else FEW if is_declared(operator) else FEWEST)
    except (opdsl.errors.OptionError, opdsl.errors.DTypeError):
        return []


def is_declared(operator: Operator) -> bool:
    return isinstance(operator.declaration, Declaration) and operator.declaration.main is operator


def has_own_kernels(operator: Operator) -> bool:
    return is_declared(operator) and DispatchKey("CUDA") in operator.registrations


CASES = cases()
OUTCOMES: dict[int, list[list[str] | Exception]] = {}


@pytest.mark.parametrize("place", range(len(CASES)), ids=[operator.name[6:] for operator, _ in CASES])
def test_cuda_agrees_with_the_cpu(place: int, complete: Callable[..., Any]) -> None:
    if place not in OUTCOMES:
        first = place - place % TOGETHER
        wanted = {index: checks(*CASES[index]) for index in range(first, min(first + TOGETHER, len(CASES)))}
        checked = iter(complete([check for of_operator in wanted.values() for check in of_operator]))
        OUTCOMES.update({index: list(itertools.islice(checked, len(wanted[index]))) for index in wanted})
    outcomes = OUTCOMES.pop(place)
    assert outcomes or CASES[place][0].name.startswith(WITHOUT_SAMPLES)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome == []


def checks(operator: Operator, dtypes: tuple[DType, ...]) -> list[Callable[[], list[str]]]:
    """Return functions that find how an operator differs from the CPU, one for each dtype to try."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        taken = ((dtype, calls) for dtype in dtypes if (calls := samples(operator, dtype)))
        chosen = list(taken if IS_WHOLE else itertools.islice(taken, 1))
    return [partial(differences, operator, *case) for case in chosen]


def differences(operator: Operator, dtype: DType, output: list[Sample]) -> list[str]:
    """Return the differences of an operator from the CPU on samples of a dtype, in calls that run by plans of their
    forms.
    """
    with warnings.catch_warnings(), lowered_at_once():
        warnings.simplefilter("ignore", UserWarning)
        violations = violations_of(operator, output, laws=[6])
    return [f"{dtype}: {violation}" for violation in violations if not is_missing(violation.problem)]


def is_missing(problem: str) -> bool:
    """Return whether a problem is that an operator listed in docs/limits.md has no kernel for CUDA."""
    return any(f"raises MissingKernelError (aten::{name}" in problem for name in MISSING)
