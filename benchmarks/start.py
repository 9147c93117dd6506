"""Benchmark of starting: the import, and the first result of a fresh process with a warm kernel cache."""

from __future__ import annotations

from harness import Case, Report, compare_processes, main

OURS = "import opdsl; opdsl.add(opdsl.tensor([1., 2.]), opdsl.tensor([3., 4.]))"
THEIRS = "import torch; torch.add(torch.tensor([1., 2.]), torch.tensor([3., 4.]))"

IMPORTS = (Case("import opdsl", "import opdsl", "import numpy", 1.5),)
RESULTS = (Case("first result", OURS, THEIRS, 0.15),)


def run() -> Report:
    """Measure imports and first results."""
    report = Report("Start", threads=1)
    report.comparison(
        "Import", compare_processes(IMPORTS), theirs="numpy", note="Whole processes, from start to end of Python."
    )
    report.comparison(
        "From start to the first sum of two tensors",
        compare_processes(RESULTS),
        theirs="torch",
        note="Whole processes; the kernel comes from the disk cache.",
    )
    return report


if __name__ == "__main__":
    main("start", run)
