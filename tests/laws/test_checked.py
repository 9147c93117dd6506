"""Tests that in checked mode no operator of aten fails on its samples, and each returns its usual results."""

from __future__ import annotations

import os
import warnings
from itertools import islice

import pytest

import opdsl
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator
from opdsl.errors import OpdslError
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.runtime.snapshot import contents
from opdsl.testing.samples import samples_of
from opdsl.testing.subject import Subject
from tests.laws.refusals import known

opdsl.add  # noqa: B018  loads the operators

FULL = "OPDSL_TEST_FULL" in os.environ
MOST = None if FULL else 2
OPERATORS = [operator for operator in opdsl.registry if isinstance(operator.declaration, Declaration)]
# Operators are called with these dtypes alternately; one that refuses its dtype, with the other.
IN_TURN = (opdsl.float32, opdsl.int64)
REFUSED = known()


def dtypes_for(place: int, operator: Operator) -> tuple[DType, ...]:
    """Return the dtypes that an operator, given with its index, is called with."""
    if FULL:
        return ALL_DTYPES
    taken = [dtype for dtype in IN_TURN if (operator.name, str(dtype)) not in REFUSED]
    return (taken[place % len(taken)],) if taken else ()


# Every third operator, so that each kind of definition is among them.
HELD = OPERATORS if FULL else OPERATORS[::3]
CASES = [(operator, dtype) for place, operator in enumerate(HELD) for dtype in dtypes_for(place, operator)]


@pytest.mark.parametrize("group", range(16))
def test_operators_pass_their_checks(group: int) -> None:
    failed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for operator, dtype in CASES[group::16]:
            failed += _failures(operator, dtype)
    assert failed == []


def _failures(operator: Operator, dtype: DType) -> list[str]:
    function = Subject(operator, []).function
    failures: list[str] = []
    for sample in islice(samples_of(operator, dtype), MOST):
        opdsl.manual_seed(0)
        try:
            plain = sample.copy().call(function)
        except OpdslError:
            continue  # a dtype, a divisor or a device that the operator does not take
        opdsl.manual_seed(0)
        try:
            with opdsl.checked():
                checked = sample.copy().call(function)
        except Exception as error:
            failures.append(f"{operator.name}{sample}: {type(error).__name__}: {error}")
            continue
        if "empty" not in operator.name and contents(checked) != contents(plain):
            failures.append(f"{operator.name}{sample}: another result")
    return failures
