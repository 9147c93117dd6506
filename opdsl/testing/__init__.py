"""Tests for operators: checks of the laws that every operator keeps, gradient checks, and comparison of results.

``check_op(operator)`` makes samples from the schema, or takes the caller's, and checks every law that applies to the
operator; ``gradcheck`` compares the gradients of any function with finite differences, ``assert_close`` one result with
another.
May import: everything below; never PyTorch, except for law 15 (``opdsl/testing/pytorch``).
"""

from __future__ import annotations

from opdsl.testing.checking import Violation, check_op, violations_of
from opdsl.testing.closeness import assert_close
from opdsl.testing.gradients import gradcheck, gradgradcheck
from opdsl.testing.making import Maker
from opdsl.testing.sample import Sample
from opdsl.testing.samples import samples_of

__all__ = [
    "Maker",
    "Sample",
    "Violation",
    "assert_close",
    "check_op",
    "gradcheck",
    "gradgradcheck",
    "samples_of",
    "violations_of",
]
