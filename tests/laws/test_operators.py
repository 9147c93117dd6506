"""Every operator of aten keeps every law, on samples of several dtypes."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import pytest

import opdsl
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator
from opdsl.runtime import ALL_DTYPES
from opdsl.testing import violations_of

opdsl.add  # noqa: B018  loads the operators

OPERATORS = [
    each for each in opdsl.registry if isinstance(each.declaration, Declaration) and each.declaration.main is each
]
FULL = "OPDSL_TEST_FULL" in os.environ
DTYPES = ALL_DTYPES if FULL else (opdsl.float32, opdsl.int64, opdsl.bool, opdsl.bfloat16)

# The laws that dtypes have to do with.
OF_DTYPES = (2, 3, 4)

# How PyTorch, and so its operators here, say that they do not take a dtype; an output of the wrong one is no reason.
REFUSED = re.compile(
    "(?<!Expected out tensor to have )dtype|not supported|not implemented|does not support|Expected a floating point"
)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name.removeprefix("aten::"))
def test_operator_keeps_the_laws(operator: Operator, dtype: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = violations_of(operator, dtypes=[dtype], laws=None if dtype is opdsl.float32 else OF_DTYPES)
        except opdsl.errors.OptionError as error:
            assert REFUSED.search(str(error))
            pytest.skip(str(error))
    assert found == []
