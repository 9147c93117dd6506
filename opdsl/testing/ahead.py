"""Ahead-of-time compilation: fills the kernel cache with the kernels that the samples of operators need, for every
dtype.

CUDA kernels are compiled without a GPU: samples run on a device whose driver launches nothing.

A record in the cache lists the files that an operator needs for a dtype. While they exist, and the operator's functions
are unchanged, nothing is compiled again.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache as cache_results
from pathlib import Path
from typing import Any, NamedTuple

import opdsl.errors
from opdsl.backends import cache
from opdsl.backends.cpu import engine
from opdsl.dispatch import Operator, registry
from opdsl.dispatch.model.kernel import Kernel
from opdsl.errors import KernelCompileError
from opdsl.runtime import ALL_DTYPES, Device, DType, Generator, Tensor
from opdsl.schema import GENERATED
from opdsl.testing.sample import Sample
from opdsl.testing.samples import samples_of


class Task(NamedTuple):
    """Unit of ahead-of-time compilation: one operator for one dtype and architecture.

    operator: its qualified name.
    dtype: a dtype's name.
    architecture: of the GPU, ``sm_90``; empty for the CPU.
    """

    operator: str
    dtype: str
    architecture: str = ""


class Outcome(NamedTuple):
    """Result of a task.

    task: the task.
    compiled: how many kernels were compiled.
    loaded: how many kernels were loaded from the cache.
    refused: the compiler's messages for kernels that it does not compile.
    """

    task: Task
    compiled: int
    loaded: int
    refused: tuple[str, ...]


def tasks_of(
    operators: Iterable[Operator], dtypes: Iterable[DType] = ALL_DTYPES, architectures: Sequence[str] = ("",)
) -> Iterator[Task]:
    """Yield all tasks, dtype by dtype. Generated operators are skipped, since they only call others."""
    own = [operator for operator in operators if GENERATED not in operator.tags]
    for dtype in dtypes:
        for architecture in architectures:
            for operator in own:
                yield Task(operator.name, dtype.name, architecture)


def dry_run_on(architectures: Sequence[str]) -> None:
    """Add a CUDA device for each architecture to this process, on which kernels are compiled but not launched."""
    from opdsl.backends.cuda import driver
    from opdsl.backends.cuda.dry_run import DryRunDriver
    from opdsl.backends.cuda.fallback import learn

    dry_run = DryRunDriver(architectures)
    driver.use(dry_run)  # type: ignore[arg-type]  # has the methods of a driver
    learn(dry_run)


def is_done(task: Task) -> bool:
    """Return whether the cache has every kernel of a task."""
    key = _record(task)
    content = None if key is None else cache.load(key)
    return content is not None and all(map(cache.holds, content.decode().split()))


def run(task: Task, *, first: bool = False) -> Outcome:
    """Compile the kernels that the samples of an operator need. Samples that the operator refuses are skipped.

    Args:
        task: the task; one with an architecture requires ``dry_run_on`` to have been called with it.
        first: whether to stop after the first sample that needs kernels.
    """
    operator = registry.operator(task.operator)
    dtype = next(dtype for dtype in ALL_DTYPES if dtype.name == task.dtype)
    function = registry.packets[operator.packet_name].operator_function(operator)
    before = _statistics(task)
    refused: list[str] = []
    with cache.names_used() as names, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Exception):  # making samples fails for some dtypes
            for sample in samples_of(operator, dtype):
                try:
                    (sample if not task.architecture else _on_device(sample, operator, task)).call(function)
                except KernelCompileError as error:
                    refused.append(str(error))
                except Exception:
                    continue
                if first and _statistics(task) != before:
                    break
    key = None if refused or first else _record(task)
    if key is not None:
        cache.store(key, " ".join(sorted(names)).encode())
    compiled, loaded = (now - then for now, then in zip(_statistics(task), before, strict=True))
    return Outcome(task, compiled, loaded, tuple(dict.fromkeys(refused)))


def _statistics(task: Task) -> tuple[int, int]:
    """Return how many kernels this process has compiled and loaded."""
    compiler: Any = engine
    if task.architecture:
        from opdsl.backends.cuda import nvrtc as compiler
    return compiler.Statistics.compiled, compiler.Statistics.loaded


def _on_device(sample: Sample, operator: Operator, task: Task) -> Sample:
    """Return a sample with its tensors, or its device argument, on the device of the task's architecture."""
    from opdsl.backends.cuda.driver import driver

    dry_run: Any = driver()
    dry_run.forget()
    device = Device("cuda", dry_run.architectures.index(task.architecture))

    def moved(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(map(moved, value))
        if isinstance(value, Tensor):
            return _moved(value, device)
        return Generator(device) if isinstance(value, Generator) else value

    named = {name: moved(value) for name, value in sample.named.items()}
    if any(argument.name == "device" for argument in operator.schema.arguments):
        named["device"] = device
    return Sample(*map(moved, sample.positional), **named)


def _moved(source: Tensor, device: Device) -> Tensor:
    """Copy a tensor to a device, with the same strides."""
    if source.numel() == 0:
        return source.to(device)
    size = 1 + sum((size - 1) * stride for size, stride in zip(source.shape, source.strides, strict=True))
    flat: Tensor = source.as_strided((size,), (1,), source.storage_offset()).to(device)
    return flat.as_strided(source.shape, source.strides, 0)


def _record(task: Task) -> str | None:
    """Return the cache key of a task's record; None for an operator with functions that are not defined in a file."""
    operator = registry.operator(task.operator)
    kernels = [kernel for present in operator.registrations.values() for kernel in present]
    described: list[Any] = [kernel for kernel in kernels if isinstance(kernel, Kernel)]
    functions = [function for kernel in described for function in kernel.functions]
    try:
        stamps = sorted({_digest(Path(function.__code__.co_filename)) for function in functions})
    except OSError:
        return None
    what = f"ahead {operator.schema} {task.dtype} {task.architecture} {' '.join(stamps)}"
    return f"{_environment(task)}\n{_packages()}\n{what}"


def _environment(task: Task) -> str:
    if not task.architecture:
        return engine.environment()
    from opdsl.backends.cuda import nvrtc

    return nvrtc.environment()


@cache_results
def _digest(path: Path) -> str:
    """Return a digest of a file. It covers the functions that an operator's functions call, unless they are in
    opdsl.
    """
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


@cache_results
def _packages() -> str:
    """Return a digest of the parts of opdsl that influence which kernels an operator needs: graphs, loops and
    samples.
    """
    root = Path(opdsl.errors.__file__).parent
    files = [path for name in ("scalar", "kernels", "testing") for path in sorted((root / name).rglob("*.py"))]
    return hashlib.sha256(" ".join(map(_digest, files)).encode()).hexdigest()[:16]
