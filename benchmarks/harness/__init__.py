"""What the benchmarks share: interleaved timing of two sides, tables, and where results are kept.

Both sides of a comparison run in turns in one process, so that whatever else the machine does hits both. Reported are
the medians of each side, and the median of the ratios of neighbouring turns.
"""

from __future__ import annotations

from harness.processes import compare_processes
from harness.report import Report, main
from opdsl.testing.timing import Case, Measured, compare

__all__ = ["Case", "Measured", "Report", "compare", "compare_processes", "main"]
