"""Tests of law 15: operators in PyTorch return opdsl's results; some operators a day, all in full runs (see
``law_15``).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import opdsl
from opdsl import Library, Tensor
from opdsl.dispatch import Operator
from opdsl.testing import Sample, violations_of
from tests.by_date import todays
from tests.torch.interop.law_15 import KNOWN, LAW, LIBRARY, broken, of_the_library, of_the_page

# Number of days in which each operator is tested once: eight or nine operators a day.
DAYS = 10


@pytest.fixture
def library() -> Iterator[Library]:
    with Library("law_15") as lib:
        yield lib


def held(operator: Operator, samples: list[Sample]) -> None:
    """Check that exactly the known trials find problems of an operator."""
    result = broken(operator, samples)
    assert set(result) == set(KNOWN.get(operator.name, ())), result


def test_operators_of_the_page() -> None:
    calls = of_the_page()
    for operator in todays(sorted(calls, key=lambda operator: operator.name), DAYS):
        held(operator, calls[operator])


@pytest.mark.parametrize("name", todays(LIBRARY, DAYS))
def test_operators_of_the_library(name: str) -> None:
    for operator, samples in of_the_library([name]).items():
        held(operator, samples)


def test_what_is_known_to_be_broken_is_of_the_page_or_the_library() -> None:
    names = {f"aten::{name}" for name in LIBRARY} | {name for name in KNOWN if name.startswith("constructs::")}
    assert names >= set(KNOWN)
    assert len(LIBRARY) == len(set(LIBRARY))


def test_a_shape_function_that_differs_is_found(library: Library) -> None:
    @library.op
    def longer(self: Tensor) -> Tensor: ...

    @longer.kernel("CPU")
    def longer_cpu(self):
        return self * 2.0

    @longer.kernel("Meta")
    def longer_meta(self):
        return self.new_empty((*self.shape, 1))

    longer.non_differentiable("self")
    violations = violations_of(longer, [Sample(opdsl.ones(3))], laws=[LAW])
    assert any("opcheck" in violation.problem for violation in violations)


def test_operators_of_pytorch_are_not_tried() -> None:
    with pytest.warns(UserWarning, match=r"law 15 .* has not been tried: operators of aten are PyTorch's own"):
        assert violations_of(opdsl.exp, laws=[LAW]) == []
