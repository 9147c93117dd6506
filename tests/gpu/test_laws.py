"""CUDA agrees with the CPU, for every operator of aten and every dtype (law 6).

On an emulated device a share of them, so that CI has time for it: a few calls of every operator in one dtype, the next
of the twelve that it takes, in turn along the alphabet, so that each kind of kernel meets each dtype in some operator.
Every second of these operators has its turn today, the others tomorrow.
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
from opdsl.dispatch.plans.forms import lowered_at_once
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

# How many calls are made of an operator that is declared, and of a variant of one, which runs the same kernels.
FEW, FEWEST = 4, 1

# The kernels of so many operators are compiled together on the emulated device: for each compilation g++ is started,
# reads what all kernels begin with, and links, which takes longer than the kernels of an operator do.
TOGETHER = 1 if IS_WHOLE else 30

# What has no kernels for CUDA, as docs/limits.md says, by how their names begin; operators that call it say so too.
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


# Operators that take no sample of any dtype: they are for devices, or for layouts, that are not here, want tensors that
# share memory, or outputs of two dtypes.
PARTS_OF_SPARSE = ("aten::indices", "aten::_indices", "aten::values", "aten::_values", "aten::col_ind", "aten::row_ind")
WITHOUT_SAMPLES = (
    *("aten::_pin_memory", "aten::pin_memory", "aten::record_stream", "aten::slice_inverse"),
    "aten::_fused_moving_avg_obs_fq_helper.out",
    *PARTS_OF_SPARSE,
)


def cases() -> list[tuple[Operator, tuple[DType, ...]]]:
    """The operators, and the dtypes in the order in which they are tried with each."""
    # Generated operators call what is here anyway.
    own = OPERATORS if IS_WHOLE else [operator for operator in OPERATORS if GENERATED not in operator.tags]
    if not IS_WHOLE:  # variants and composites run the kernels of other operators: every sixth
        others = {operator.name for operator in [operator for operator in own if not has_own_kernels(operator)][::6]}
        own = [operator for operator in own if has_own_kernels(operator) or operator.name in others]
    turns = [index % len(ALL_DTYPES) for index in range(len(own))]
    result = [(operator, ALL_DTYPES[turn:] + ALL_DTYPES[:turn]) for operator, turn in zip(own, turns, strict=True)]
    return result if IS_WHOLE else todays(result, 2)


def samples(operator: Operator, dtype: DType) -> list[Sample]:
    """The calls that are made; none where the operator refuses the dtype, on the CPU."""
    try:
        output = samples_of(operator, dtype)
        function = Subject(operator, []).function
        return fitting(output, function, wanted=math.inf if IS_WHOLE else FEW if is_declared(operator) else FEWEST)
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
        result = iter(complete([check for of_operator in wanted.values() for check in of_operator]))
        OUTCOMES.update({index: list(itertools.islice(result, len(wanted[index]))) for index in wanted})
    outcomes = OUTCOMES.pop(place)
    assert outcomes or CASES[place][0].name.startswith(WITHOUT_SAMPLES)
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome == []


def checks(operator: Operator, dtypes: tuple[DType, ...]) -> list[Callable[[], list[str]]]:
    """What finds how an operator differs, for each dtype that it is tried with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        taken = ((dtype, output) for dtype in dtypes if (output := samples(operator, dtype)))
        chosen = list(taken if IS_WHOLE else itertools.islice(taken, 1))
    return [partial(differences, operator, *case) for case in chosen]


def differences(operator: Operator, dtype: DType, output: list[Sample]) -> list[str]:
    """How an operator differs on samples of a dtype, its calls made by plans of their forms."""
    with warnings.catch_warnings(), lowered_at_once():
        warnings.simplefilter("ignore", UserWarning)
        result = violations_of(operator, output, laws=[6])
    return [f"{dtype}: {violation}" for violation in result if not is_missing(violation.problem)]


def is_missing(problem: str) -> bool:
    """Whether an operator says that there is no kernel for CUDA of one that docs/limits.md tells of."""
    return any(f"raises MissingKernelError (aten::{name}" in problem for name in MISSING)
