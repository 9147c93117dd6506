"""Programs that run in a process each, forked from one that has imported the modules that all of them need.

Such a process is as fresh as one that has run these imports itself, and takes a fraction of the time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]

# A child leaves the loop and runs its program at the end, so that it ends as every interpreter does.
# Without the freeze, collections of each child, at its end above all, would copy the pages of all imported objects.
_FORKING = """
import gc, json, os, signal, sys, tempfile
imports, programs, seconds = json.load(sys.stdin)
scope = {"__name__": "__main__"}
exec(imports, scope)
gc.freeze()
nowhere, outcomes = os.open(os.devnull, os.O_WRONLY), {}
for name, text in programs.items():
    errors = tempfile.TemporaryFile()
    process = os.fork()
    if not process:
        os.dup2(nowhere, 1)
        os.dup2(errors.fileno(), 2)
        signal.alarm(seconds)
        break
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    errors.seek(0)
    outcomes[name] = status, errors.read().decode(errors="replace")
else:
    text = "print(json.dumps(outcomes))"
    scope |= {"json": json, "outcomes": outcomes}
exec(compile(text, f"<{name}>", "exec"), scope)
"""


class Outcome(NamedTuple):
    """End of a process: its exit status, negative for a signal, and what it has written to stderr."""

    status: int
    errors: str

    def check(self) -> None:
        """Raise an AssertionError unless the program ran to its end."""
        reason = f"ended by {signal.strsignal(-self.status)}: " if self.status < 0 else ""
        assert self.status == 0, reason + self.errors


def outcomes_of(programs: Mapping[str, str], *, imports: str, seconds: int = 120) -> dict[str, Outcome]:
    """Run programs one after another, and return the outcome of each.

    Args:
        programs: the text of each program, by name; the names that ``imports`` binds are its globals.
        imports: text that runs once, before the processes are forked; it starts no threads and calls no operators.
        seconds: the time limit of each program.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", _FORKING],
        input=json.dumps([imports, dict(programs), seconds]),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        timeout=seconds * (len(programs) + 1),
    )
    assert done.returncode == 0, done.stderr
    return {name: Outcome(*outcome) for name, outcome in json.loads(done.stdout.splitlines()[-1]).items()}
