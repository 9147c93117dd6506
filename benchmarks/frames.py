"""Count of the Python frames that calls enter while no plan is cached, and of their files; generated code counts, too.

``python benchmarks/frames.py [--by-function]`` runs each program in a fresh process whose kernels are on disk.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import NamedTuple

from harness import Report, main

import opdsl

SHAPES = 5  # new shapes of ``mul`` after a first call
SHOWN = 25  # functions that ``--by-function`` names


class Place(NamedTuple):
    """Key of a function: its file, its qualified name, and its first line."""

    file: str
    name: str
    line: int


Frames = Counter[Place]


def counted(run: Callable[[], object]) -> Frames:
    """Count the frames that a call enters, by function."""
    frames: Frames = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            frames[Place(code.co_filename, code.co_qualname, code.co_firstlineno)] += 1

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return frames


def new_shapes() -> Frames:
    """Count the frames of calls of ``mul`` with new shapes, and return the counts of the call that enters most."""
    operands = [(opdsl.ones(size, 3), opdsl.ones(size, 3)) for size in range(4, 5 + SHAPES)]
    each_call = [counted(lambda pair=pair: opdsl.mul(*pair)) for pair in operands]
    return max(each_call[1:], key=Counter.total)


def first_backward() -> Frames:
    """Count the frames of the first backward pass of a recorded ``add``."""
    self, other = (opdsl.ones(3, 4).requires_grad_() for _ in range(2))
    result, gradient = opdsl.add(self, other), opdsl.ones(3, 4)
    return counted(lambda: result.backward(gradient))


PROGRAMS = {
    "dearest of the first five new shapes of mul": (new_shapes, 600, 30),
    "first backward pass of a recorded add": (first_backward, 3000, None),
}


def of_program(name: str) -> None:
    """Run a program in this process and print its counts."""
    frames = PROGRAMS[name][0]()
    print(frames.total(), len({place.file for place in frames}))
    for place, count in frames.most_common(SHOWN):
        print(f"{count:6} {place.name} ({place.file}:{place.line})", file=sys.stderr)


def run() -> Report:
    """Run every program in fresh processes and report the counts."""
    report = Report("Python frames before there is a plan", threads=1)
    report.write("", "| | frames | to reach | files | to reach |", "|---|---:|---:|---:|---:|")
    for name, (_, frames, files) in PROGRAMS.items():
        for _ in range(2):  # the first run leaves its kernels on disk
            command = [sys.executable, __file__, "--program", name]
            process = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
        count, in_files = process.stdout.split()
        report.write(f"| {name} | {count} | {frames} | {in_files} | {files or ''} |")
        if CHOSEN.by_function:
            report.write("", process.stderr)
    return report


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--by-function", action="store_true")
    parser.add_argument("--program", choices=PROGRAMS)
    CHOSEN, rest = parser.parse_known_args()
    if CHOSEN.program:
        of_program(CHOSEN.program)
    else:
        sys.argv[1:] = rest
        main("frames", run)
