"""Compiling ahead: every kernel that the samples of an operator need, for every dtype, into the kernel cache.

A record in the cache says which files an operator needs for a dtype. As long as they are there, and the operator's
functions are the same, nothing is done for it again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache as cache_results
from pathlib import Path
from typing import Any, NamedTuple

import opdsl.errors
from opdsl.backends import cache
from opdsl.backends.cpu import engine
from opdsl.dispatch import Operator, registry
from opdsl.kernels.described import Described
from opdsl.native.generated import GENERATED
from opdsl.runtime import ALL_DTYPES, DType
from opdsl.testing.samples import samples_of


class Task(NamedTuple):
    """What is compiled at once.

    operator: its qualified name.
    dtype: a dtype's name.
    """

    operator: str
    dtype: str


class Outcome(NamedTuple):
    """What a task has done.

    task: the task.
    compiled: how many kernels it has compiled.
    loaded: how many were there.
    """

    task: Task
    compiled: int
    loaded: int


def tasks_of(operators: Iterable[Operator], dtypes: Iterable[DType] = ALL_DTYPES) -> Iterator[Task]:
    """All tasks, dtype by dtype; operators that are generated call others, and need none of their own."""
    own = [each for each in operators if GENERATED not in each.tags]
    for dtype in dtypes:
        for operator in own:
            yield Task(operator.name, dtype.name)


def is_done(task: Task) -> bool:
    """Whether the cache has every kernel of a task."""
    key = _record(task)
    content = None if key is None else cache.load(key)
    return content is not None and all(map(cache.holds, content.decode().split()))


def run(task: Task) -> Outcome:
    """Compile what the samples of an operator need. Samples that it refuses need nothing."""
    operator = registry.operator(task.operator)
    dtype = next(each for each in ALL_DTYPES if each.name == task.dtype)
    function = registry.packets[operator.packet_name].operator_function(operator)
    before = engine.Statistics.compiled, engine.Statistics.loaded
    with cache.names_used() as names, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Exception):  # samples are made for some dtypes only
            for sample in samples_of(operator, dtype):
                with suppress(Exception):
                    sample.call(function)
    key = _record(task)
    if key is not None:
        cache.store(key, " ".join(sorted(names)).encode())
    return Outcome(task, engine.Statistics.compiled - before[0], engine.Statistics.loaded - before[1])


def _record(task: Task) -> str | None:
    """The key of a task's record; None for an operator with functions that stand in no file."""
    operator = registry.operator(task.operator)
    kernels = [each for present in operator.registrations.values() for each in present]
    described: list[Any] = [kernel for kernel in kernels if isinstance(kernel, Described)]
    functions = [function for kernel in described for function in kernel.functions]
    try:
        stamps = sorted({_digest(Path(each.__code__.co_filename)) for each in functions})
    except OSError:
        return None
    return f"{engine.environment()}\n{_packages()}\nahead {operator.schema} {task.dtype} {' '.join(stamps)}"


@cache_results
def _digest(path: Path) -> str:
    """A digest of a file: functions that an operator's own call stand in it, or in opdsl."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@cache_results
def _packages() -> str:
    """A digest of what stands between an operator and the compiler: another graph, another loop, other samples."""
    root = Path(opdsl.errors.__file__).parent
    files = [each for name in ("scalar", "kernels", "testing") for each in sorted((root / name).rglob("*.py"))]
    return hashlib.sha256(" ".join(map(_digest, files)).encode()).hexdigest()[:16]
