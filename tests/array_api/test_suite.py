"""Run of the array API standard's own test suite (see README.md), at a fixed seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FULL = bool(os.environ.get("OPDSL_TEST_FULL"))

# The first compile of a kernel may exceed the suite's time limit for a call, at least on a busy machine.
OPTIONS = ["--hypothesis-disable-deadline", "--hypothesis-derandomize", "--hypothesis-seed=0"]
OPTIONS += ["-p", "no:cacheprovider", "-p", "no:warnings"]


def run(folder: Path) -> dict[str, Any]:
    """Run the suite in a folder, and return its report: each test with its outcome."""
    with tarfile.open(HERE / "array-api-tests.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    report = folder / "report.json"
    command = [sys.executable, "-m", "pytest", "-q", "array_api_tests", *OPTIONS]
    command += ["--json-report", f"--json-report-file={report}"]
    command += ["--xfails-file", str(HERE / "xfails.txt"), f"--max-examples={20 if FULL else 1}"]
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "opdsl.array_api",
        "ARRAY_API_TESTS_VERSION": "2024.12",
        # Failing tests are slow, because Hypothesis looks for the smallest example.
        "ARRAY_API_TESTS_XFAIL_MARK": "xfail" if FULL else "skip",
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    place = folder / "array-api-tests"
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, env=environment, timeout=3000)
    assert report.exists(), done.stdout + done.stderr
    loads: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    assert loads["tests"], done.stdout + done.stderr
    return loads


def table(tests: list[dict[str, Any]]) -> str:
    """Return the numbers of outcomes by file, as a Markdown table."""
    outcomes = ("passed", "xpassed", "xfailed", "skipped", "failed")
    by_file: dict[str, Counter[str]] = {}
    for test in tests:
        name = test["nodeid"].partition("::")[0].removeprefix("array_api_tests/")
        by_file.setdefault(name, Counter())[test["outcome"]] += 1
    by_file["all"] = sum(by_file.values(), Counter())
    lines = ["| file | " + " | ".join(outcomes) + " |", "|---" * (len(outcomes) + 1) + "|"]
    for name, counts in by_file.items():
        lines.append(f"| {name} | " + " | ".join(str(counts[outcome]) for outcome in outcomes) + " |")
    return "\n".join(lines) + "\n"


def test_the_standards_own_tests(tmp_path: Path) -> None:
    tests = run(tmp_path)["tests"]
    assert len(tests) > 1300
    failed = {test["nodeid"]: test["call"]["longrepr"] for test in tests if test["outcome"] in ("failed", "error")}
    assert failed == {}
    # An entry without a test would hide that the reason for it is gone.
    listed = (line for line in (HERE / "xfails.txt").read_text(encoding="utf-8").splitlines() if line)
    assert {line for line in listed if not line.startswith("#")} <= {test["nodeid"] for test in tests}
    if FULL:
        heading = "The array API's test suite, 20 examples each (`xpassed`: fails for other examples only)\n\n"
        (HERE / "results.md").write_text(heading + table(tests), encoding="utf-8")
