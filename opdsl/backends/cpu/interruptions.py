"""LLVM IR by which loops of scalar graphs stop on a signal such as Ctrl-C, see ``machine/signals.py``.

A loop checks when it begins, and every few hundred iterations. While no call has been stopped, which a word in memory
says, the check at the beginning costs a load and a branch.
"""

from __future__ import annotations

from typing import Final, Protocol

from opdsl.backends.cpu.engine import POLL, STOPPED
from opdsl.scalar.graph import Loop

__all__ = ["allowed_again", "allowed_at_first"]

# The number of iterations between two polls; a power of two.
_EVERY: Final = 256


class Printer(Protocol):
    """Interface of ``printer._Printer``: the printer of a function's LLVM IR."""

    lines: list[str]
    block: str
    declared: set[str]

    def line(self, instruction: str) -> str:
        """Append an instruction, and return the name of its result."""


def _is_interruptible(loop: Loop) -> bool:
    """Return whether a loop may run so long that it has to poll for interrupts."""
    return loop.most is None or loop.most > _EVERY


def allowed_at_first(printer: Printer, loop: Loop) -> str:
    """Emit the check at the beginning of a loop, and return the flag that says whether the loop may begin."""
    if not _is_interruptible(loop):
        return "true"
    printer.declared.add(f"@{STOPPED} = external global i64")
    stopped = printer.line(f"load atomic i64, ptr @{STOPPED} monotonic, align 8")
    return _allowed(printer, printer.line(f"icmp ne i64 {stopped}, 0"))


def allowed_again(printer: Printer, loop: Loop, turns: str) -> str:
    """Emit the check after ``turns`` iterations of a loop, and return the flag that says whether it may go on."""
    if not _is_interruptible(loop):
        return "true"
    left = printer.line(f"and i64 {turns}, {_EVERY - 1}")
    return _allowed(printer, printer.line(f"icmp eq i64 {left}, 0"))


def _allowed(printer: Printer, is_due: str) -> str:
    """Emit a poll that runs if ``is_due`` holds, and return the flag that says whether the loop may go on."""
    printer.declared.add(f"declare i1 @{POLL}() nounwind cold memory(inaccessiblemem: readwrite)")
    before, label = printer.block, f"poll{len(printer.lines)}"
    printer.lines.append(f"  br i1 {is_due}, label %{label}, label %{label}_end\n{label}:")
    answer = printer.line(f"call i1 @{POLL}() cold")
    goes_on = printer.line(f"xor i1 {answer}, true")
    printer.lines.append(f"  br label %{label}_end\n{label}_end:")
    printer.block = f"{label}_end"
    return printer.line(f"phi i1 [ true, %{before} ], [ {goes_on}, %{label} ]")
