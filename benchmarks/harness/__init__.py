"""Tools that the benchmarks share: interleaved timing of two sides, tables, and files of results.

The sides of a comparison alternate in one process, so that whatever else the machine does affects both. Reports show
the median of each side, and the median of the ratios of neighboring measurements.
"""

from __future__ import annotations

from harness.processes import compare_processes
from harness.report import Report, main
from opdsl.testing.timing import Case, Measured, compare

__all__ = ["Case", "Measured", "Report", "compare", "compare_processes", "main"]
