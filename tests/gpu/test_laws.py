"""CUDA agrees with the CPU, for every operator of aten and every dtype (law 6)."""

from __future__ import annotations

import warnings

import pytest

import opdsl
from opdsl.dispatch import Operator
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.testing import violations_of

opdsl.add  # noqa: B018  loads the operators

# Without a GPU it is one test, which is skipped.
OPERATORS = [each for each in opdsl.registry if each.name.startswith("aten::")] if opdsl.cuda.is_available() else []


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda each: each.name.removeprefix("aten::"))
def test_cuda_agrees_with_the_cpu(operator: Operator, dtype: DType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = violations_of(operator, dtypes=[dtype], laws=[6])
        except opdsl.errors.OptionError as error:
            pytest.skip(str(error))  # the operator takes none of the samples of this dtype, on the CPU either
    assert found == []
