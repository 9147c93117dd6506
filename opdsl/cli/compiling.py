"""Command ``opdsl compile``: compiles kernels for operators and dtypes into the cache, ahead of time."""

from __future__ import annotations

import math
import os
import runpy
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import click

from opdsl.aten import load as load_library
from opdsl.cli.modules import load_module, load_modules, module_option
from opdsl.cli.operators import find, namespace_of, namespaces_of
from opdsl.cli.selecting import select_option
from opdsl.dispatch import Operator, Packet, registry
from opdsl.errors import KernelCompileError, OptionError
from opdsl.native import load_selection
from opdsl.runtime import ALL_DTYPES, DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opdsl.testing.ahead import Outcome, Task

_LABEL = "compiling"


@click.command("compile", short_help="Compile kernels ahead of time.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@select_option
@click.option("--dtype", "dtypes", multiple=True, metavar="NAME", help="Compile only for this dtype; may be repeated.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", help="The device to compile for.")
@click.option(
    "--arch",
    "architectures",
    multiple=True,
    metavar="sm_NN",
    help="With --device cuda: the architecture to compile for; needs no such GPU; may be repeated.",
)
@click.option(
    "--jobs", type=click.IntRange(min=1), default=None, help="The number of processes; by default one for each core."
)
@click.option(
    "--from",
    "script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run a script, whose arguments follow --, and compile the kernels that it uses.",
)
@module_option
def compile_kernels(
    names: tuple[str, ...],
    selection: Path | None,
    dtypes: tuple[str, ...],
    device: str,
    architectures: tuple[str, ...],
    jobs: int | None,
    script: Path | None,
    modules: tuple[str, ...],
) -> None:
    """Compile the kernels of operators into the cache, for all dtypes and classes of memory layouts.

    With NAMEs, those of the named operators: `opdsl compile add softmax`; the name of a packet selects all of its
    overloads. With --select, those of the operators that the file selects; with neither, those of all operators.
    Kernels in the cache are not compiled again: a second run does nothing.

    With --from, run a script instead: `opdsl compile --from train.py -- --steps 1`. Afterwards the cache contains the
    kernels that it uses; with OPDSL_CACHE_DIR, it is a folder that can be shipped in an image.
    """
    started = time.perf_counter()
    if script is not None:
        if selection or dtypes or architectures or jobs or device != "cpu":
            raise OptionError("--from compiles what the script wants. Leave the other options out, but for --module.")
        load_modules(modules)
        click.echo(from_script(script, names))
        return
    targets = targets_of(device, architectures)
    operators = operators_wanted(names, selection, modules)
    wanted = [dtype_named(dtype) for dtype in dtypes] or ALL_DTYPES
    open_tasks, count = tasks_left(operators, wanted, targets)
    if not open_tasks:
        click.echo(f"nothing to compile: the kernels of {count} operators x dtypes are there")
        return
    with click.progressbar(length=len(open_tasks), label=_LABEL, file=sys.stderr) as bar:
        outcomes = run_all(open_tasks, modules, jobs or os.cpu_count() or 1, bar)
    compiled = sum(outcome.compiled for outcome in outcomes)
    seconds = time.perf_counter() - started
    click.echo(
        f"compiled {compiled} kernels for {len(outcomes)} operators x dtypes in {seconds:.1f} s; "
        f"{count - len(open_tasks)} were there"
    )
    refused = [outcome for outcome in outcomes if outcome.refused]
    if refused:
        task = refused[0].task
        raise KernelCompileError(
            f"{len(refused)} operators x dtypes have kernels that are not compiled. {task.operator} x {task.dtype}: "
            f"{refused[0].refused[0]}"
        )


def from_script(script: Path, arguments: Sequence[str]) -> str:
    """Run a script in order to cache the kernels that it compiles; return a summary.

    Raises:
        OptionError: the cache is off, or cannot be used.
    """
    from opdsl.backends.cpu.engine import Statistics

    require_cache()
    before, started = (Statistics.compiled, Statistics.loaded), time.perf_counter()
    argv, path = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code:  # the kernels compiled so far stay in the cache
            raise
    finally:
        sys.argv, sys.path[:] = argv, path
    seconds = time.perf_counter() - started
    compiled, loaded = Statistics.compiled - before[0], Statistics.loaded - before[1]
    return f"{script} ran for {seconds:.1f} s: compiled {compiled} kernels; {loaded} were there"


def targets_of(device: str, architectures: Sequence[str]) -> tuple[str, ...]:
    """Return the architectures to compile for; an empty one denotes the CPU.

    Raises:
        OptionError: no architecture is given for CUDA, one is given for the CPU, or NVRTC does not support one.
    """
    if device == "cpu":
        if architectures:
            raise OptionError(f"--arch {architectures[0]} is of a GPU. Say --device cuda with it.")
        return ("",)
    from opdsl.backends.cuda import nvrtc

    known = nvrtc.architectures()
    if not architectures:
        raise OptionError(f"--device cuda needs --arch, once or more (have {', '.join(known)}).")
    for architecture in architectures:
        # A letter after the number enables features of that exact architecture.
        if architecture.rstrip("af") not in known:
            raise OptionError(f"--arch {architecture}: NVRTC does not know it (have {', '.join(known)})")
    return tuple(dict.fromkeys(architectures))


def dtype_named(name: str) -> DType:
    """Return the dtype with a name, as given to ``--dtype``.

    Raises:
        OptionError: there is no such dtype.
    """
    dtype = next((dtype for dtype in ALL_DTYPES if dtype.name == name), None)
    if dtype is None:
        raise OptionError(
            f"--dtype {name}: there is no such dtype (have {', '.join(dtype.name for dtype in ALL_DTYPES)})"
        )
    return dtype


def operators_wanted(names: Sequence[str], selection: Path | None, modules: Sequence[str]) -> list[Operator]:
    """Return the operators that names and a selection request; with neither, those of the modules, or of ``aten``.

    Raises:
        UnknownOperatorError: no operator or packet has one of the names.
    """
    namespaces = namespaces_of(load_modules(modules))
    listed: list[Operator] = []
    if selection is not None or not names:
        if "aten" in namespaces:
            load_library()
        listed = [operator for operator in registry if namespace_of(operator) in namespaces]
    if selection is not None:
        selects = load_selection(selection).selects
        listed = [operator for operator in listed if selects(operator.schema.name)]
    for name in names:
        operator = find(name)
        listed += operator.overloads.values() if isinstance(operator, Packet) else [operator]
    return list(dict.fromkeys(listed))


def tasks_left(
    operators: Sequence[Operator], dtypes: Sequence[DType], targets: Sequence[str] = ("",)
) -> tuple[list[Task], int]:
    """Return the tasks whose kernels are not all in the cache, and the number of all tasks.

    Raises:
        OptionError: the cache is off, or cannot be used.
    """
    from opdsl.testing.ahead import is_done, tasks_of

    require_cache()
    tasks = list(tasks_of(operators, dtypes, targets))
    return [task for task in tasks if not is_done(task)], len(tasks)


def require_cache() -> None:
    """Check that there is a cache on disk.

    Raises:
        OptionError: the cache is disabled, or cannot be used.
    """
    from opdsl.backends import cache

    problem = cache.problem()
    if problem is not None:
        raise OptionError(f"{problem} Kernels would be lost with the process that compiles them.")


def run_all(
    tasks: Sequence[Task], modules: Sequence[str], jobs: int, bar: object = None, *, seconds: float = math.inf
) -> list[Outcome]:
    """Run tasks in worker processes, which load the same modules.

    Args:
        tasks: in the order in which they are started.
        modules: that declare operators.
        jobs: the number of processes.
        bar: click's progress bar.
        seconds: after this time no further task is started.
    """
    started = time.perf_counter()
    outcomes = []
    targets = tuple(dict.fromkeys(task.architecture for task in tasks if task.architecture))
    texts = (tuple(modules), targets)
    with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin, initargs=texts) as pool:
        futures = [pool.submit(_run, task) for task in tasks]
        for future in as_completed(futures):
            if future.cancelled():
                continue
            outcomes.append(future.result())
            if time.perf_counter() - started > seconds:
                for left in futures:
                    left.cancel()
            if bar is not None:
                getattr(bar, "update")(1)  # noqa: B009  click's progress bar
    return outcomes


def _begin(modules: tuple[str, ...], targets: tuple[str, ...]) -> None:
    """Initialize a worker process: load modules, and add devices for dry runs."""
    from opdsl.testing.ahead import dry_run_on

    for module in modules:
        load_module(module)
    if targets:
        dry_run_on(targets)


def _run(task: Task) -> Outcome:
    """Run a task in a worker process, which loads only the needed part of the operator library."""
    from opdsl.testing.ahead import run

    find(task.operator)
    return run(task)
