"""Every operator of aten keeps every law, on samples of several dtypes."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

import opdsl
from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.runtime import ALL_DTYPES
from opdsl.testing import violations_of
from opdsl.testing.laws import LAWS
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject
from tests.laws.differences import WITHOUT_DIFFERENCES
from tests.laws.refusals import known, operators

OPERATORS = operators()
FULL = "OPDSL_TEST_FULL" in os.environ
DTYPES = ALL_DTYPES if FULL else (opdsl.float32, opdsl.int64, opdsl.bool, opdsl.bfloat16, opdsl.complex64)

# Of these each operator is held against the laws with two, in turn; of the third it is asked whether it is taken. That
# results are right in all of them is held by tests/torch/test_op_db.py, variants and outputs of other dtypes included.
IN_TURN = (opdsl.int64, opdsl.bool, opdsl.bfloat16)
ASKED = {} if FULL else {each.name: IN_TURN[place % len(IN_TURN)] for place, each in enumerate(OPERATORS)}

# The laws that dtypes have to do with; gradients are computed in double precision, of real and complex numbers.
OF_DTYPES = (2, 3, 4)
OF_VARIANTS = 2
OF_GRADIENTS = 5
OF_FORMS = 11
OF_PIECES = 12

# Lowering an operator and all that it calls takes long: every fourth is held against the law of forms, and all in full.
LOWERED = frozenset(each.name for each in OPERATORS[:: 1 if FULL else 4])
# Reductions, scans, rows, views and products are all cut in tests/unit/kernels/test_sharding.py.
CUT = frozenset(each.name for each in (OPERATORS if FULL else OPERATORS[3::12]))

# Operators whose packet's function is not held to give what they do, with the reason.
BEHIND_ANOTHER = {"aten::stft": "opdsl.stft takes its arguments for those of stft.center, which PyTorch tries first"}

# Operators refuse dtypes: tests/laws/refusals.py writes which, and tests/torch/test_refusals.py reviews it.
REFUSED = known()


def laws_for(operator: Operator, dtype: Any) -> tuple[int, ...]:
    """The laws that an operator is held against with samples of a dtype."""
    found = {opdsl.float32: tuple(LAWS), opdsl.complex64: (OF_GRADIENTS,)}.get(dtype, OF_DTYPES)
    if FULL and dtype is opdsl.complex64:
        found = (*OF_DTYPES, OF_GRADIENTS)
    left_out = {OF_GRADIENTS: WITHOUT_DIFFERENCES, OF_VARIANTS: BEHIND_ANOTHER}
    kept = tuple(law for law in found if operator.name not in left_out.get(law, ()))
    sampled = {OF_FORMS: LOWERED, OF_PIECES: CUT}
    return tuple(law for law in kept if law not in sampled or operator.name in sampled[law])


def violations(operator: Operator, dtype: Any) -> list[Any]:
    """How an operator breaks its laws; of the dtype that it is only asked of, none.

    Raises:
        OptionError: it takes no sample of the dtype.
    """
    if ASKED.get(operator.name) is dtype:
        fitting(samples_of(operator, dtype), Subject(operator, []).function, wanted=1)
        return []
    return violations_of(operator, dtypes=[dtype], laws=laws_for(operator, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name.removeprefix("aten::"))
def test_operator_keeps_the_laws(operator: Operator, dtype: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if (operator.name, str(dtype)) in REFUSED:
            with pytest.raises(OptionError, match="no sample that was made fits"):
                violations(operator, dtype)
            return
        found = violations(operator, dtype)
    assert found == []
