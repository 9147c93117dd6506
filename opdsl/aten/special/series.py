"""Series of special functions, and squares of zeros: the tables of ``series.json``, which ``series_fit`` writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, TypeAlias

# The factor and the summand that bring the interval to [-1, 1], and coefficients, the highest power first.
Series: TypeAlias = tuple[float, float, tuple[float, ...]]

# Where the series of large arguments begin.
HANKEL_FROM: Final = 5.0
AIRY_FROM: Final = 1.0
AIRY_LEFT_FROM: Final = 4.5

PATH: Final = Path(__file__).with_name("series.json")
_TABLES = json.loads(PATH.read_text(encoding="utf-8"))

# For each function and precision.
SERIES: Final[dict[str, dict[str, Series]]] = {
    name: {kind: (one["factor"], one["summand"], tuple(one["coefficients"])) for kind, one in kinds.items()}
    for name, kinds in _TABLES["series"].items()
}
# A number, and what rounding left of it.
ROOTS: Final[dict[str, dict[str, tuple[float, float]]]] = {
    name: {kind: (number, rest) for kind, (number, rest) in kinds.items()} for name, kinds in _TABLES["roots"].items()
}
