"""Which dtypes operators refuse, as a file: ``python -m tests.laws.refusals`` writes it anew, for review.

Each line is a dtype and the operators of aten none of whose samples of that dtype is taken.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import opdsl
from opdsl.declare.declaration import Declaration
from opdsl.dispatch import Operator
from opdsl.errors import OptionError
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.testing.samples import fitting, samples_of
from opdsl.testing.subject import Subject

# Those that tests/torch/test_refusals.py reviews. PyTorch has few kernels for the others, and no list of them:
# tests/torch/pointwise/test_unsigned.py holds them to it.
REVIEWED = [dtype for dtype in ALL_DTYPES if dtype.name not in ("uint16", "uint32", "uint64")]

FILE = Path(__file__).with_name("refused.txt")


def operators() -> list[Operator]:
    """Those of the library that are declared, each with its variants."""
    opdsl.add  # noqa: B018  loads them
    own = (operator for operator in opdsl.registry if operator.name.partition("::")[0] in ("aten", "opdsl"))
    return [
        operator
        for operator in own
        if isinstance(operator.declaration, Declaration) and operator.declaration.main is operator
    ]


def is_refused(operator: Operator, dtype: DType) -> bool:
    """Whether none of an operator's samples of a dtype is taken."""
    try:
        fitting(samples_of(operator, dtype), Subject(operator, []).function, wanted=1)
    except OptionError:
        return True
    return False


def known() -> set[tuple[str, str]]:
    """The operators and dtypes of the file."""
    lines = [line.split() for line in FILE.read_text().splitlines() if line and not line.startswith("#")]
    return {(operator, dtype) for dtype, *names in lines for operator in names}


def lines_of(dtype: DType) -> Iterator[str]:
    refused = sorted(operator.name for operator in operators() if is_refused(operator, dtype))
    for index in range(0, len(refused), 4):
        yield " ".join([str(dtype), *refused[index : index + 4]])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    chosen = [getattr(opdsl, name) for name in sys.argv[1:]] or list(ALL_DTYPES)
    kept = (
        [line for line in FILE.read_text().splitlines() if line.split()[0] not in map(str, chosen)]
        if FILE.exists()
        else []
    )
    FILE.write_text("\n".join([*kept, *(line for operator in chosen for line in lines_of(operator))]) + "\n")
