"""Rehearsal of ``first.py`` without a card: python tests/gpu/rehearse.py [seconds]

The steps run under a stand-in driver whose kernels compute nothing, so that most of them fail. What counts is that no
step stops the others or exceeds its time, that their output is stored, and that the pack is small. The table of
build/gpu-rehearsal names the stand-in; it says nothing about a card.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]

sys.path.insert(0, str(ROOT))  # for when the script was started by its path

from tests.gpu import first  # noqa: E402  importable once ROOT is on sys.path
from tests.gpu.pack import PACK  # noqa: E402

__all__ = ["main", "problems"]

PLACE = ROOT / "build" / "gpu-rehearsal"
SOURCE = ROOT / "tests" / "emulation" / "libcuda.c"
MOST_BYTES = 8 << 20

# Seconds that a stopped step, and all of them together, may exceed their time.
_SLACK = 20.0


def build(folder: Path) -> None:
    """Compile the stand-in driver into a folder."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        sys.exit("tests/gpu/rehearse.py needs a C compiler: apt-get install gcc")
    library = str(folder / "libcuda.so.1")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-w", str(SOURCE), "-o", library, "-lpthread"], check=True)


def problems(steps: Sequence[first.Step], place: Path, seconds: float, taken: float) -> list[str]:
    """Return what is wrong with the table and the logs that steps have left."""
    text = (place / "table.md").read_text()
    rows = {match[1]: match for match in re.finditer(r"^\| (\S+) \| ([^|]+) \| (\d+) \|", text, re.MULTILINE)}
    wrong = []
    for step in steps:
        row = rows.get(step.name)
        if row is None or not (place / f"{step.name}.log").exists():
            wrong.append(f"{step.name} has no row or no log")
        elif int(row[3]) > step.seconds + _SLACK:
            wrong.append(f"{step.name} took {row[3]} of {step.seconds:.0f} seconds")
    if taken > seconds + _SLACK:
        wrong.append(f"all steps took {taken:.0f} of {seconds:.0f} seconds")
    if PACK.exists() and PACK.stat().st_size > MOST_BYTES:
        wrong.append(f"{PACK} has {PACK.stat().st_size} bytes, more than {MOST_BYTES}")
    return wrong


def main(seconds: float = first.SECONDS, steps: Sequence[first.Step] = first.STEPS, place: Path = PLACE) -> int:
    """Run the steps under the stand-in driver, and return the number of problems."""
    place.mkdir(parents=True, exist_ok=True)
    build(place)
    places = [str(place), os.environ.get("LD_LIBRARY_PATH", "")]
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, places))
    begin = time.monotonic()
    first.main(seconds, steps, place)
    taken = time.monotonic() - begin
    wrong = problems(steps, place, seconds, taken)
    print(f"rehearsed in {taken / 60:.1f} minutes:", "; ".join(wrong) or "every step has its row and its log")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else first.SECONDS))
