"""Part of law 10: no kernel accesses memory outside of its arrays, even if these have no elements.

Calls run in a child process, on tensors between protected pages: an access to such a page ends the process. A check of
many operators can postpone these calls, and make those of several operators in one child: copying the pages of the
parent takes longer than the calls of one operator.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import NamedTuple

import threadpoolctl

from opdsl.dispatch.warning import warn
from opdsl.runtime import Tensor
from opdsl.runtime.scopes import Setting
from opdsl.testing.guarded import guarded_tensor
from opdsl.testing.sample import Sample
from opdsl.testing.subject import Subject

# Maximum number of samples, and of sizes of each that are replaced by 0, one after another.
_SAMPLES, _SIZES = 4, 2

# Time limit for the calls of one operator, in seconds.
_SECONDS = 120


# Operators to check later; None if each is checked at once.
_postponed: ContextVar[list[Subject] | None] = ContextVar("opdsl_postponed_guard_pages", default=None)


def postponed(subjects: list[Subject]) -> Setting[list[Subject] | None]:
    """Return a context manager under which this law makes no calls, but adds the operator to a list.

    Args:
        subjects: the list, for ``violations_of_all``.
    """
    return Setting(_postponed, subjects)


class _Attempt(NamedTuple):
    """Call to try: an operator, its sample, the size that is replaced by 0, and the side of the protected page."""

    subject: Subject
    sample: Sample
    emptied: int | None
    at_end: bool

    def __str__(self) -> str:
        size = "" if self.emptied is None else f" with 0 for the size {self.emptied}"
        return f"{self.sample}{size}, {'before' if self.at_end else 'behind'} a page that nobody may touch"


def check(subject: Subject) -> Iterator[str]:
    """Yield the violations of this law."""
    subjects = _postponed.get()
    if subjects is None:
        yield from (text for _, text in violations_of_all([subject]))
    else:
        subjects.append(subject)


def violations_of_all(subjects: Sequence[Subject]) -> Iterator[tuple[str, str]]:
    """Yield the violations by several operators, each with the operator's name.

    Their calls share a child process, up to one that ends it: the next process continues behind that call.
    """
    if not hasattr(os, "fork"):
        return
    attempts = [attempt for subject in subjects for attempt in _attempts(subject)]
    begin = 0
    while begin < len(attempts):
        last, status = _in_a_process(attempts, begin)
        subject = attempts[last].subject
        begin = last + 1
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            warn(f"law 10 has not been tried beside guard pages: {attempts[last]} does not end in a forked process")
            while begin < len(attempts) and attempts[begin].subject is subject:
                begin += 1
        elif os.WIFSIGNALED(status):
            what = signal.strsignal(os.WTERMSIG(status))
            yield subject.operator.name, f"{attempts[last]}: the call ends the process: {what}"
        elif status == 0:
            return


def _attempts(subject: Subject) -> Iterator[_Attempt]:
    for sample in subject.samples[:_SAMPLES]:
        sizes = dict.fromkeys(size for tensor in sample.tensors() for size in tensor.shape if size)
        yield _Attempt(subject, sample, None, True)
        yield _Attempt(subject, sample, None, False)
        for size in list(sizes)[:_SIZES]:
            yield _Attempt(subject, sample, size, True)


def _in_a_process(attempts: list[_Attempt], begin: int) -> tuple[int, int]:
    """Make calls in a child process; return the index of the last one, and the child's status as from ``waitpid``."""
    receive, send = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads: the child needs none of their locks
        process = os.fork()
    if process == 0:
        os.close(receive)
        _work(attempts, begin, send)
    os.close(send)
    last = begin
    with open(receive, "rb") as numbers:
        while number := numbers.read(4):
            last = int.from_bytes(number, "little")
    _, status = os.waitpid(process, 0)
    return last, status


def _work(attempts: list[_Attempt], begin: int, send: int) -> None:
    """Make the calls in the child process, and end it."""
    status = 1
    try:
        faulthandler.disable()
        for sent in (signal.SIGALRM, signal.SIGSEGV, signal.SIGBUS):
            signal.signal(sent, signal.SIG_DFL)
        _keep_one_thread()
        gc.disable()  # a collection would copy the pages of all objects
        with open(os.devnull, "w", encoding="utf-8") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        warnings.simplefilter("ignore")
        subject: Subject | None = None
        for number in range(begin, len(attempts)):
            os.write(send, number.to_bytes(4, "little"))
            if attempts[number].subject is not subject:
                subject = attempts[number].subject
                signal.alarm(_SECONDS)
            with contextlib.suppress(Exception):  # the rest of the law checks which errors are raised
                _make(attempts[number])
        status = 0
    finally:
        os._exit(status)


def _keep_one_thread() -> None:
    """Limit thread pools to one thread, since their threads do not exist after a fork. OpenBLAS restarts its own."""
    controller = threadpoolctl.ThreadpoolController()
    known = [
        lib_controller
        for lib_controller in controller.lib_controllers
        if lib_controller.info().get("threading_layer") != "pthreads"
    ]
    controller.select(internal_api=[lib_controller.internal_api for lib_controller in known]).limit(limits=1)


def _make(attempt: _Attempt) -> None:
    sample = attempt.sample.copy()
    placed = {id(tensor): _placed(tensor, attempt) for tensor in sample.tensors()}
    positional = [_replaced(placed, value) for value in sample.positional]
    named = {name: _replaced(placed, value) for name, value in sample.named.items()}
    attempt.subject.function(*positional, **named)


def _placed(tensor: Tensor, attempt: _Attempt) -> Tensor:
    if attempt.emptied is not None:
        shape = tuple(0 if size == attempt.emptied else size for size in tensor.shape)
        if shape != tensor.shape:
            tensor = tensor.detach().new_empty(shape).requires_grad_(tensor.requires_grad)
    return guarded_tensor(tensor, at_end=attempt.at_end)


def _replaced(placed: dict[int, Tensor], value: object) -> object:
    if isinstance(value, Tensor):
        return placed[id(value)]
    if isinstance(value, (list, tuple)):
        return [_replaced(placed, part) for part in value]
    return value
