"""The laws of an operator, checked on samples: for opdsl's own operators and for those of users.

``check_op(operator)`` makes samples from the schema, or takes the caller's, and holds the operator against every law
that applies to it; ``gradcheck`` holds the gradients of any function against finite differences,
``assert_close`` one result against another.
May import: everything below; never PyTorch, but for what law 15 does (``opdsl/testing/pytorch``).
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
