"""Script for the first ten minutes with a CUDA card: python tests/gpu/first.py [seconds]

Each step has its own time limit, and a failed step does not stop later ones. Output is printed at once and stored in
build/gpu-first; a table there, which names the card, is rewritten after each step. Nothing is downloaded. CUBINs that
``make gpu-pack`` has packed are unpacked first, so that steps do not wait for NVRTC.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
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
# Half a minute less than ten minutes: steps that are stopped, and unpacking, take time, too.
SECONDS = 570.0

PYTHON = sys.executable

sys.path.insert(0, str(ROOT))

from tests.gpu.pack import CACHE, NVRTC, PACK, WHEELS  # noqa: E402  importable once ROOT is on sys.path

# Start of the line in which the step ``card`` names the card.
_NAMED = "card: "


class Step(NamedTuple):
    """Command of a step, with its time limit in seconds."""

    name: str
    seconds: float
    command: Sequence[str]


class Outcome(NamedTuple):
    """Result of a step: ``passed``, ``failed (status)`` or ``timed out``, its duration, and its last line of output."""

    step: str
    ended: str
    seconds: float
    line: str


_PROCESSES = str(max(1, (os.cpu_count() or 16) - 1))
_SANITIZER = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
_PYTEST = (PYTHON, "-m", "pytest", "-q")
_SANITIZED = ("add.Tensor", "sum.dim_IntList", "_softmax", "cumsum", "index_put", "gather", "sort.stable",
              "scaled_dot_product_attention")  # fmt: skip

STEPS = (
    Step("card", 15, (PYTHON, "tests/gpu/card.py")),
    Step("runtime", 60, (*_PYTEST, "tests/gpu/test_runtime.py", "tests/gpu/test_interchange.py")),
    Step("kernels", 45, (PYTHON, "tests/gpu/kernels.py")),
    Step("benchmark", 90, ("env", "OPDSL_GPU_ROUNDS=5", PYTHON, "benchmarks/gpu.py", "--save")),
    *(
        Step(tool, 30, (_SANITIZER, "--tool", tool, "--error-exitcode", "1", PYTHON, "tests/gpu/kernels.py",
                        *_SANITIZED))
        for tool in ("memcheck", "racecheck", "synccheck", "initcheck")
    ),
    Step("operators", 60, (*_PYTEST, "tests/gpu/test_operators.py", "tests/gpu/test_new_shapes.py")),
    Step("laws", 600, (*_PYTEST, "-n", _PROCESSES, "--maxfail", "200", "tests/gpu/test_laws.py")),
)  # fmt: skip


def run(step: Step, left: float, place: Path) -> Outcome:
    """Run a step, printing and storing its output line by line, and stop it after its own or all remaining time."""
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
    """Return the outcomes of the steps as a Markdown table."""
    lines = [f"# First run on {card}", "", "| step | ended | seconds | last line |", "|---|---|---|---|"]
    for outcome in outcomes:
        line = outcome.line.replace("|", "\\|")[:160]
        lines.append(f"| {outcome.step} | {outcome.ended} | {outcome.seconds:.0f} | {line} |")
    return "\n".join([*lines, ""])


def named(log: Path) -> str:
    """Return the name of the card in the log of a step, which may have failed; empty if the log has no name."""
    lines = log.read_text().splitlines()
    return next((line.removeprefix(_NAMED) for line in reversed(lines) if line.startswith(_NAMED)), "")


def unpack(place: Path) -> None:
    """Unpack the files that ``make gpu-pack`` has packed, and set the environment so that all steps use them."""
    if PACK.exists():  # even if one was unpacked before, which may be older
        with tarfile.open(PACK) as packed:
            packed.extractall(place, filter="data")
    (place / CACHE).mkdir(mode=0o700, exist_ok=True)
    os.environ.setdefault("OPDSL_CACHE_DIR", str(place / CACHE))
    if (place / NVRTC).exists():
        os.environ.setdefault("OPDSL_NVRTC_VERSION", (place / NVRTC).read_text())
    for wheel in sorted((place / WHEELS).glob("*.whl")):
        if importlib.util.find_spec(wheel.name.split("-")[0]) is None:  # Python imports from wheels directly
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(wheel), os.environ.get("PYTHONPATH")]))


def main(seconds: float = SECONDS, steps: Sequence[Step] = STEPS, place: Path = PLACE) -> int:
    """Run the steps, and return the number of those that did not pass."""
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
