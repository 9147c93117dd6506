"""Table of the dtypes that operators refuse: ``python -m tests.laws.refusals`` rewrites its file, for review.

Each line is a dtype and the operators of aten that accept none of their samples of that dtype.
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

# Dtypes that tests/torch/test_refusals.py reviews. PyTorch has few kernels for the others, and no list of them:
# tests/torch/pointwise/test_unsigned.py and tests/torch/test_float8.py compare those with PyTorch.
REVIEWED = [
    dtype for dtype in ALL_DTYPES if dtype.name not in ("uint16", "uint32", "uint64") and not dtype.is_stored_only
]

FILE = Path(__file__).with_name("refused.txt")


def operators() -> list[Operator]:
    """Return the main operator of each declaration in the library."""
    opdsl.add  # noqa: B018  loads them
    own = (operator for operator in opdsl.registry if operator.name.partition("::")[0] in ("aten", "opdsl"))
    return [
        operator
        for operator in own
        if isinstance(operator.declaration, Declaration) and operator.declaration.main is operator
    ]


def is_refused(operator: Operator, dtype: DType) -> bool:
    """Return whether an operator accepts none of its samples of a dtype."""
    try:
        fitting(samples_of(operator, dtype), Subject(operator, []).function, wanted=1)
    except OptionError:
        return True
    return False


def known() -> set[tuple[str, str]]:
    """Return the pairs of operator and dtype that the file lists."""
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
