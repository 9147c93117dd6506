"""In checked mode no operator of aten fails on its samples, and each gives what it gives otherwise."""

from __future__ import annotations

import os
import warnings
from itertools import islice
from typing import Any

import pytest

import opdsl
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator
from opdsl.errors import OpdslError
from opdsl.runtime import ALL_DTYPES
from opdsl.runtime.snapshot import contents
from opdsl.testing.samples import samples_of
from opdsl.testing.subject import Subject

opdsl.add  # noqa: B018  loads the operators

FULL = "OPDSL_TEST_FULL" in os.environ
DTYPES = ALL_DTYPES if FULL else (opdsl.float32, opdsl.int64)
MOST = None if FULL else 3
OPERATORS = [each for each in opdsl.registry if isinstance(each.declaration, Declaration)]
GROUPS = [OPERATORS[place::16] for place in range(16)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("operators", GROUPS, ids=[f"group{index}" for index in range(16)])
def test_operators_pass_their_checks(operators: list[Operator], dtype: Any) -> None:
    failed: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for operator in operators:
            failed += _failures(operator, dtype)
    assert failed == []


def _failures(operator: Operator, dtype: Any) -> list[str]:
    function = Subject(operator, []).function
    found: list[str] = []
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
            found.append(f"{operator.name}{sample}: {type(error).__name__}: {error}")
            continue
        if "empty" not in operator.name and contents(checked) != contents(plain):
            found.append(f"{operator.name}{sample}: another result")
    return found
