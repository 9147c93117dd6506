"""What a step takes in this process, which loads no more than the library that it is of: the first one, and a later.

python -m harness.first_step opdsl 3
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import math
import re
import sys
import time
from pathlib import Path

from harness.models import MODELS, Model

STEPS = 5


def report(library: str, index: int, how: str = "") -> None:
    """Print the seconds of a model's first step and three sizes in MiB; ``compiled`` makes its forward pass a program.

    The memory that some steps from the first one on take, what a step takes for as long as it runs when all that it
    needs is loaded, and all that the process has had.
    """
    lib = importlib.import_module(library)
    lib.set_num_threads(1)
    model = MODELS[index].make(lib)
    if how == "compiled":
        vars(model)["loss"] = lib.compile(model.loss)
    before = status("VmHWM")
    started = time.process_time()
    float(model.step().item())
    seconds = time.process_time() - started
    for _ in range(STEPS - 1):
        model.step()
    most = status("VmHWM")
    print(seconds, most - before, of_a_step(library, model), most)


def of_a_step(library: str, model: Model) -> float:
    """How much a step needs beyond what is there before it, once nothing that is free is kept."""
    if library == "opdsl":
        importlib.import_module("opdsl.backends.cpu.memory").empty_cache()
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # the most that there was is what there is
    before = status("VmHWM")
    model.step()
    return status("VmHWM") - before


def status(name: str) -> float:
    """A size that the system knows of this process, in MiB; ``VmHWM`` is the most that was ever in memory.

    Without what its parent had, as ``getrusage`` gives it.
    """
    match = re.search(rf"^{name}:\s*(\d+)", Path("/proc/self/status").read_text(), re.MULTILINE)
    return float(match[1]) / 1024 if match else math.nan


if __name__ == "__main__":
    report(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
