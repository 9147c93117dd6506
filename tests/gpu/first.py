"""The first ten minutes with a card: python tests/gpu/first.py [seconds]

Each step has a time of its own, and none stops those after it. What they print comes at once, and lies in
build/gpu-first; a table there, with the card named, is written anew after each step. Nothing is downloaded. CUBINs that
``make gpu-pack`` has packed are unpacked first, so that steps do not wait for NVRTC.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["STEPS", "Outcome", "Step", "run", "table"]

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "build" / "gpu-first"
SECONDS = 600.0

PYTHON = sys.executable

sys.path.insert(0, str(ROOT))

from tests.gpu.pack import CACHE, NVRTC, PACK, WHEELS  # noqa: E402  found by then

# How the step ``card`` names it.
_NAMED = "card: "


class Step(NamedTuple):
    """A command, and the seconds that it may take."""

    name: str
    seconds: float
    command: Sequence[str]


class Outcome(NamedTuple):
    """How a step ended: ``passed``, ``failed (status)`` or ``timed out``, after how long, and its last line."""

    step: str
    ended: str
    seconds: float
    line: str


_PYTEST = (PYTHON, "-m", "pytest", "-q")
_SANITIZED = ("add.Tensor", "sum.dim_IntList", "_softmax", "cumsum", "index_put", "gather", "sort.stable")

STEPS = (
    Step("card", 15, (PYTHON, "tests/gpu/card.py")),
    Step("runtime", 60, (*_PYTEST, "tests/gpu/test_runtime.py", "tests/gpu/test_interchange.py")),
    Step("kernels", 45, (PYTHON, "tests/gpu/kernels.py")),
    Step("benchmark", 90, (PYTHON, "benchmarks/gpu.py", "--save")),
    *(
        Step(tool, 30, ("compute-sanitizer", "--tool", tool, "--error-exitcode", "1", PYTHON, "tests/gpu/kernels.py",
                        *_SANITIZED))
        for tool in ("memcheck", "racecheck", "synccheck", "initcheck")
    ),
    Step("operators", 60, (*_PYTEST, "tests/gpu/test_operators.py", "tests/gpu/test_new_shapes.py")),
    Step("laws", 600, (*_PYTEST, "-n", "15", "--maxfail", "200", "tests/gpu/test_laws.py")),
)  # fmt: skip


def run(step: Step, left: float, place: Path) -> Outcome:
    """Run a step, its output passed on line by line and kept; it ends when its time, or all that is left, is over."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
        "PYTHONUNBUFFERED": "1",
        "OPDSL_REQUIRE_GPU": "1",
    }
    begin, line = time.monotonic(), ""
    with (place / f"{step.name}.log").open("w") as log:
        try:
            process = subprocess.Popen(
                step.command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                cwd=ROOT,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            log.write(f"{error}\n")
            return Outcome(step.name, "not there", 0.0, str(error))
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            os.killpg(process.pid, 9)

        timer = threading.Timer(max(0.1, min(step.seconds, left)), end)
        timer.start()
        assert process.stdout is not None, "it is a pipe"
        for text in process.stdout:
            line = text.strip() or line
            print(f"{step.name}: {text}", end="", flush=True)
            log.write(text)
            log.flush()
        status = process.wait()
        timer.cancel()
    ended = "timed out" if is_late.is_set() else "passed" if status == 0 else f"failed ({status})"
    return Outcome(step.name, ended, time.monotonic() - begin, line)


def table(card: str, outcomes: Sequence[Outcome]) -> str:
    """What has been found, as a table in Markdown."""
    lines = [f"# First run on {card}", "", "| step | ended | seconds | last line |", "|---|---|---|---|"]
    for outcome in outcomes:
        line = outcome.line.replace("|", "\\|")[:160]
        lines.append(f"| {outcome.step} | {outcome.ended} | {outcome.seconds:.0f} | {line} |")
    return "\n".join([*lines, ""])


def named(log: Path) -> str:
    """The card that a step has named, whatever became of the step; empty where it came to none."""
    lines = log.read_text().splitlines()
    return next((line.removeprefix(_NAMED) for line in reversed(lines) if line.startswith(_NAMED)), "")


def unpack(place: Path) -> None:
    """Unpack what ``make gpu-pack`` has packed, and have all steps use it."""
    if PACK.exists() and not (place / NVRTC).exists():
        with tarfile.open(PACK) as packed:
            packed.extractall(place, filter="data")
    (place / CACHE).mkdir(mode=0o700, exist_ok=True)
    os.environ.setdefault("OPDSL_CACHE_DIR", str(place / CACHE))
    if (place / NVRTC).exists():
        os.environ.setdefault("OPDSL_NVRTC_VERSION", (place / NVRTC).read_text())
    for wheel in sorted((place / WHEELS).glob("*.whl")):
        if importlib.util.find_spec(wheel.name.split("-")[0]) is None:  # Python imports from a wheel as it is
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(wheel), os.environ.get("PYTHONPATH")]))


def main(seconds: float = SECONDS, steps: Sequence[Step] = STEPS, place: Path = PLACE) -> int:
    """Run the steps; returns how many did not pass."""
    end = time.monotonic() + seconds
    place.mkdir(parents=True, exist_ok=True)
    unpack(place)
    outcomes: list[Outcome] = []
    card = "no card"
    for step in steps:
        outcomes.append(run(step, end - time.monotonic(), place))
        if step.name == "card":
            card = named(place / "card.log") or card
        (place / "table.md").write_text(table(card, outcomes))
    print(table(card, outcomes))
    return sum(outcome.ended != "passed" for outcome in outcomes)


if __name__ == "__main__":
    sys.exit(min(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS), 100))
