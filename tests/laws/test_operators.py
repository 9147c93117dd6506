"""Every operator of aten keeps every law, on samples of several dtypes."""

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
from opdsl.testing.laws import USUAL
from opdsl.testing.laws.gradients import NO_DERIVATIVE
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject
from tests.by_date import FULL, is_its_turn, todays
from tests.laws.differences import WITHOUT_DERIVATIVE, WITHOUT_DIFFERENCES, takes_complex
from tests.laws.refusals import known, operators

OPERATORS = operators()
DTYPES = ALL_DTYPES if FULL else (opdsl.float32, opdsl.int64, opdsl.bool, opdsl.bfloat16, opdsl.complex64)

# Of these each operator is held against the laws with one, each day another one; others are asked where they are
# refused.
# That results are right in all of them is held by tests/torch/test_op_db.py, variants and outputs included.
IN_TURN = () if FULL else (opdsl.int64, opdsl.bool, opdsl.bfloat16)
NAMES = [operator.name for operator in OPERATORS]
TURNS = {name: place for place, name in enumerate(NAMES)}

# The laws that dtypes have to do with; gradients are computed in double precision, of real and complex numbers.
OF_DTYPES = (2, 3, 4)
OF_VARIANTS = 2
OF_META = 3
OF_EFFECTS = 4
OF_GRADIENTS = 5
OF_FORMS = 11
OF_PIECES = 12
OF_PROGRAMS = 13

# Lowering an operator and all that it calls takes long: every fourth is held against the law of forms or that of
# programs, each day others, and all against both in full.
LOWERED = frozenset(todays(NAMES, 8))
TRACED = frozenset(todays(NAMES, 8, 4))
# Reductions, scans, rows, views and products are all cut in tests/unit/sharding/test_sharding.py.
CUT = frozenset(todays(NAMES, 12))

# Forms of lists are derived, and so is what `autogen` stands for; they do what the operators do that they are derived
# of: every fourth is held.
DERIVED = {
    operator.name for operator in OPERATORS if operator.name.startswith("aten::_foreach_") or GENERATED in operator.tags
}
LEFT_OUT = DERIVED.difference(todays(NAMES, 4))
HELD = [operator for operator in OPERATORS if operator.name not in LEFT_OUT]

# Operators whose packet's function is not held to give what they do, with the reason.
BEHIND_ANOTHER = {"aten::stft": "opdsl.stft takes its arguments for those of stft.center, which PyTorch tries first"}

# Operators that declare as written what their kernels only read, as PyTorch's do.
READS_WHAT_IT_WRITES = {
    "aten::_fused_adagrad_": "the numbers of steps, which PyTorch's optimizer counts itself",
    "aten::set.out": "a result without elements",
}

# Operators whose results are no meta tensors where their arguments are, or that have no shape function.
WITHOUT_META = {
    "aten::_shape_as_tensor": "sizes lie on the CPU, whatever the device is",
    "aten::_to_cpu": "from meta tensors nothing can be moved",
    "aten::adaptive_avg_pool3d_backward.grad_input": "the out= entry of an operator of another name",
}

# What PyTorch lets pass, too: filling gives one element that stands for many the same number as often.
FILLED = frozenset(("aten::full", "aten::zeros", "aten::ones"))

# Integers are round: in place nothing is to be changed.
ROUNDING = frozenset(
    f"aten::{prefix}{name}_" for prefix in ("", "_foreach_") for name in ("ceil", "fix", "floor", "round", "trunc")
)

# Operators refuse dtypes: tests/laws/refusals.py writes which, and tests/torch/test_refusals.py reviews it.
REFUSED = known()


def laws_for(operator: Operator, dtype: Any) -> tuple[int, ...]:
    """The laws that an operator is held against with samples of a dtype; none where it is only asked."""
    result = {opdsl.float32: USUAL, opdsl.complex64: (OF_GRADIENTS,)}.get(dtype, OF_DTYPES)
    if FULL and dtype is opdsl.complex64:
        result = (*OF_DTYPES, OF_GRADIENTS)
    without = {
        OF_GRADIENTS: operator.name in WITHOUT_DIFFERENCES or not is_differentiated(operator, dtype),
        OF_VARIANTS: operator.name in BEHIND_ANOTHER,
        OF_META: operator.name in WITHOUT_META,
        OF_EFFECTS: operator.name in READS_WHAT_IT_WRITES,
        OF_FORMS: operator.name not in LOWERED,
        OF_PROGRAMS: operator.name not in TRACED,
        OF_PIECES: operator.name not in CUT,
    }
    return () if is_asked(operator, dtype) else tuple(law for law in result if not without.get(law, False))


def is_asked(operator: Operator, dtype: Any) -> bool:
    """Whether it is only asked whether the operator takes a dtype, which is another's turn."""
    return dtype in IN_TURN and not is_its_turn(TURNS[operator.name], len(IN_TURN), IN_TURN.index(dtype))


def is_differentiated(operator: Operator, dtype: Any) -> bool:
    """Whether gradients are held with samples of a dtype: of real or of complex numbers, in turn.

    Every fourth operator is held: tests/torch/test_op_db_gradients.py holds what PyTorch has samples of. In place the
    formulas are those of the functional: every eighth.
    """
    if not is_its_turn(TURNS[operator.name], 8 if operator.schema.kind is SchemaKind.inplace else 4):
        return False
    if FULL or (operator.name, str(opdsl.complex64)) in REFUSED:
        return True
    return takes_complex(operator.packet_name.partition("::")[2]) is dtype.is_complex


def violations(operator: Operator, dtype: Any) -> list[Violation]:
    """How an operator breaks its laws; of a dtype that it is only asked of, none.

    Raises:
        OptionError: it takes no sample of the dtype.
    """
    laws = laws_for(operator, dtype)
    if laws:
        return violations_of(operator, dtypes=[dtype], laws=laws)
    fitting(samples_of(operator, dtype), Subject(operator, []).function, wanted=1)
    return []


def is_accepted(operator: Operator, dtype: Any, violation: Violation) -> bool:
    """Whether PyTorch does the same."""
    if violation.law == OF_EFFECTS and operator.name in ROUNDING and not dtype.is_floating_point:
        return "no sample changes it" in violation.problem
    if violation.law == OF_GRADIENTS:
        return violation.problem in {
            f"{argument} has {NO_DERIVATIVE.format(argument)}" for argument in WITHOUT_DERIVATIVE.get(operator.name, ())
        }
    return operator.name in FILLED and "expanded" in violation.problem


def cases() -> Iterator[Any]:
    """Operators and dtypes: those that are held, and those that are refused."""
    for operator, dtype in itertools.product(HELD, DTYPES):
        if not is_asked(operator, dtype) or (operator.name, str(dtype)) in REFUSED:
            yield pytest.param(operator, dtype, id=f"{operator.name.removeprefix('aten::')}-{dtype}")


@pytest.mark.parametrize(("operator", "dtype"), list(cases()))
def test_operator_keeps_the_laws(operator: Operator, dtype: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        if (operator.name, str(dtype)) in REFUSED:
            with pytest.raises(OptionError, match="no sample that was made fits"):
                violations(operator, dtype)
            return
        result = violations(operator, dtype)
    assert [violation for violation in result if not is_accepted(operator, dtype, violation)] == []
