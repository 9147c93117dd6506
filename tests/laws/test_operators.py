"""Tests that every operator of aten keeps every law, on samples of several dtypes."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import opdsl
from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.native.generated import GENERATED
from opdsl.runtime import ALL_DTYPES
from opdsl.schema import SchemaKind
from opdsl.testing import Violation, violations_of
from opdsl.testing.laws import USUAL, guard_pages
from opdsl.testing.laws.gradients import NO_DERIVATIVE
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject
from tests.by_date import FULL, is_its_turn, todays
from tests.laws.differences import WITHOUT_DERIVATIVE, WITHOUT_DIFFERENCES, takes_complex
from tests.laws.refusals import known, operators

OPERATORS = operators()
DTYPES = ALL_DTYPES if FULL else (opdsl.float32, opdsl.int64, opdsl.bool, opdsl.bfloat16, opdsl.complex64)

# Each day an operator is checked against the laws with another one of these dtypes; on the other days it is called with
# a dtype only if it refuses it. tests/torch/test_op_db.py checks results in all dtypes, those of variants and ``out=``
# included.
IN_TURN = () if FULL else (opdsl.int64, opdsl.bool, opdsl.bfloat16)
NAMES = [operator.name for operator in OPERATORS]
TURNS = {name: place for place, name in enumerate(NAMES)}

# The laws that depend on dtypes; gradients are computed in double precision, of real and complex numbers.
OF_DTYPES = (2, 3, 4)
OF_VARIANTS = 2
OF_META = 3
OF_EFFECTS = 4
OF_GRADIENTS = 5
OF_FORMS = 11
OF_PIECES = 12
OF_PROGRAMS = 13

# Lowering an operator and all that it calls takes long: each day another quarter is checked against the law of forms or
# that of programs; full runs check all against both.
LOWERED = frozenset(todays(NAMES, 8))
TRACED = frozenset(todays(NAMES, 8, 4))
# All reductions, scans, rows, views and products are split in tests/unit/sharding/test_sharding.py.
CUT = frozenset(todays(NAMES, 12))

# Operators on lists and those that `autogen` generates are derived and behave as the operators that they are derived
# from: each day another quarter is checked.
DERIVED = {
    operator.name for operator in OPERATORS if operator.name.startswith("aten::_foreach_") or GENERATED in operator.tags
}
LEFT_OUT = DERIVED.difference(todays(NAMES, 4))
# Operators without a kernel for the CPU, with the file that tests them.
ELSEWHERE = {
    "opdsl::attention_by_rows": "tests/unit/backends/test_cuda_launches.py",
    "opdsl::attention_by_tiles": "tests/unit/backends/test_cuda_attention.py",
}
HELD = [operator for operator in OPERATORS if operator.name not in LEFT_OUT | ELSEWHERE.keys()]

# Operators whose packet's function may compute something else, with the reason.
BEHIND_ANOTHER = {"aten::stft": "opdsl.stft takes its arguments for those of stft.center, which PyTorch tries first"}

# Operators that declare an argument as written that their kernels only read, as PyTorch's do.
READS_WHAT_IT_WRITES = {
    "aten::_fused_adagrad_": "the numbers of steps, which PyTorch's optimizer counts itself",
    "aten::set.out": "a result without elements",
}

# Operators that return no meta tensors for meta tensors, or that have no meta function.
WITHOUT_META = {
    "aten::_shape_as_tensor": "sizes lie on the CPU, whatever the device is",
    "aten::_to_cpu": "from meta tensors nothing can be moved",
    "aten::adaptive_avg_pool3d_backward.grad_input": "the out= entry of an operator of another name",
}

# PyTorch accepts expanded outputs here, too: filling writes the same number to an element that several positions share.
FILLED = frozenset(("aten::full", "aten::zeros", "aten::ones"))

# Rounding in place changes no integer.
ROUNDING = frozenset(
    f"aten::{prefix}{name}_" for prefix in ("", "_foreach_") for name in ("ceil", "fix", "floor", "round", "trunc")
)

# Dtypes that operators refuse: tests/laws/refusals.py writes the list, and tests/torch/test_refusals.py reviews it.
REFUSED = known()


# Number of operators that are called between guard pages in one child process; see opdsl/testing/laws/guard_pages.py.
TOGETHER = 16


def laws_for(operator: Operator, dtype: Any) -> tuple[int, ...]:
    """Return the laws that an operator is checked against with samples of a dtype; none on days when it is only
    called.
    """
    laws = {opdsl.float32: USUAL, opdsl.complex64: (OF_GRADIENTS,)}.get(dtype, OF_DTYPES)
    if FULL and dtype is opdsl.complex64:
        laws = (*OF_DTYPES, OF_GRADIENTS)
    without = {
        OF_GRADIENTS: operator.name in WITHOUT_DIFFERENCES or not is_differentiated(operator, dtype),
        OF_VARIANTS: operator.name in BEHIND_ANOTHER,
        OF_META: operator.name in WITHOUT_META,
        OF_EFFECTS: operator.name in READS_WHAT_IT_WRITES,
        OF_FORMS: operator.name not in LOWERED,
        OF_PROGRAMS: operator.name not in TRACED,
        OF_PIECES: operator.name not in CUT,
    }
    return () if is_asked(operator, dtype) else tuple(law for law in laws if not without.get(law, False))


def is_asked(operator: Operator, dtype: Any) -> bool:
    """Return whether an operator is only called with a dtype today, to see whether it accepts it, without checks of
    laws.
    """
    return dtype in IN_TURN and not is_its_turn(TURNS[operator.name], len(IN_TURN), IN_TURN.index(dtype))


def is_differentiated(operator: Operator, dtype: Any) -> bool:
    """Return whether gradients are checked with samples of a dtype; an operator has either real or complex ones.

    Each day a quarter of the operators is checked: tests/torch/test_op_db_gradients.py checks those that PyTorch has
    samples of. In-place operators share the formulas of the functional ones: an eighth of them is checked.
    """
    if not is_its_turn(TURNS[operator.name], 8 if operator.schema.kind is SchemaKind.inplace else 4):
        return False
    if FULL or (operator.name, str(opdsl.complex64)) in REFUSED:
        return True
    return takes_complex(operator.packet_name.partition("::")[2]) is dtype.is_complex


def violations(operator: Operator, dtype: Any) -> list[Violation]:
    """Return the violations of laws by an operator with samples of a dtype; none on days when it is only called.

    Raises:
        OptionError: the operator accepts no sample of the dtype.
    """
    laws = laws_for(operator, dtype)
    if laws:
        return violations_of(operator, dtypes=[dtype], laws=laws)
    fitting(samples_of(operator, dtype), Subject(operator, []).function, wanted=1)
    return []


def is_accepted(operator: Operator, dtype: Any, violation: Violation) -> bool:
    """Return whether a violation is accepted because PyTorch behaves the same."""
    if violation.law == OF_EFFECTS and operator.name in ROUNDING and not dtype.is_floating_point:
        return "no sample changes it" in violation.problem
    if violation.law == OF_GRADIENTS:
        return violation.problem in {
            f"{parameter} has {NO_DERIVATIVE.format(parameter)}"
            for parameter in WITHOUT_DERIVATIVE.get(operator.name, ())
        }
    return operator.name in FILLED and "expanded" in violation.problem


def cases() -> Iterator[Any]:
    """Yield test cases of operators and dtypes: those to check against the laws, and those that are refused."""
    for operator, dtype in itertools.product(HELD, DTYPES):
        if not is_asked(operator, dtype) or (operator.name, str(dtype)) in REFUSED:
            yield pytest.param(operator, dtype, id=f"{operator.name.removeprefix('aten::')}-{dtype}")


def check_together(subjects: list[Subject]) -> None:
    """Check that no kernel of several operators leaves the bounds of its arrays."""
    result = list(guard_pages.violations_of_all(subjects))
    subjects.clear()
    assert result == []


@pytest.fixture(scope="module")
def beside_guard_pages() -> Iterator[list[Subject]]:
    """Return a list of operators that are called between guard pages later, the last of them after all tests."""
    subjects: list[Subject] = []
    yield subjects
    check_together(subjects)


@pytest.mark.parametrize(("operator", "dtype"), list(cases()))
def test_operator_keeps_the_laws(operator: Operator, dtype: Any, beside_guard_pages: list[Subject]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if (operator.name, str(dtype)) in REFUSED:
            with pytest.raises(OptionError, match="no sample that was made fits"):
                violations(operator, dtype)
            return
        with guard_pages.postponed(beside_guard_pages):
            result = violations(operator, dtype)
        assert [violation for violation in result if not is_accepted(operator, dtype, violation)] == []
        if len(beside_guard_pages) >= TOGETHER:
            check_together(beside_guard_pages)
