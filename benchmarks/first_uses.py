"""Stress test of first uses in eight threads of fresh processes: no crash, no deadlock, no wrong result.

``python benchmarks/first_uses.py [SECONDS]`` runs for 60 seconds by default and prints how many calls were the first of
their operator in a process. Rounds of four kinds alternate, each in its own process; a failure prints the seed:

- *operators*: eight threads call 40 of the library's operators, all at once or each thread in its own order;
- *features*: matrix products, factorizations, Fourier transforms, convolutions, compiled functions, backward passes;
- *shapes*: 60 kinds of calls with ever new sizes, while other threads declare operators, call them and close libraries;
- *torch*: operators that several threads register in PyTorch, call there and deregister.

Results of operators and features must equal those of one thread of another process, those of streams PyTorch's.
"""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from harness.first_calls import FEATURES, STREAMS, stream

import opdsl
from opdsl import Library, Tensor, formula

THREADS = 8
LISTED = 200  # operators in the book, of which each round calls some
OPERATORS = 40
PATIENCE = 120.0  # seconds after which the threads of a round count as deadlocked
STREAM = 2.5  # seconds of a round of shapes
SIZES = 24  # upper bound of the sizes in streams
KINDS = ("operators", "features", "operators", "shapes", "operators", "operators", "torch")


class Call(NamedTuple):
    """Call of an operator of the library, with its expected result.

    base: the name of the operator.
    positional, named: the arguments, in the form of ``packed``.
    result: the result that a single thread computed.
    """

    base: str
    positional: tuple[object, ...]
    named: dict[str, object]
    result: object


class Book(NamedTuple):
    """Calls that rounds make, with their expected results.

    calls: calls of operators.
    features: the result of each of ``FEATURES``.
    streams: the result of each of ``STREAMS`` for each size.
    """

    calls: tuple[Call, ...]
    features: tuple[object, ...]
    streams: tuple[tuple[object, ...], ...]


# ---------------------------------------------------------------------------------------------------- values in a file


def packed(value: object) -> object:
    """Convert arguments to objects that ``pickle`` can write without opdsl.

    Raises:
        TypeError: an argument has another type.
    """
    if isinstance(value, Tensor):
        return numpy.array(value.detach().numpy())
    if isinstance(value, opdsl.DType):
        return ("dtype", value.name)
    if isinstance(value, (tuple, list)):
        return [packed(element) for element in value]
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    raise TypeError(f"{type(value).__name__} is not written")


def unpacked(value: object) -> Any:
    """Convert packed arguments back, to new tensors that share no memory."""
    if isinstance(value, numpy.ndarray):
        return opdsl.from_numpy(value.copy())
    if isinstance(value, tuple):
        return getattr(opdsl, value[1])
    if isinstance(value, list):
        return [unpacked(element) for element in value]
    return value


def told(result: object) -> object:
    """Convert a result to arrays and strings, which ``agrees`` can compare."""
    if isinstance(result, Tensor):
        array = result.detach().resolve_conj().resolve_neg().numpy()
        return array.copy()
    if isinstance(result, (tuple, list)):
        return tuple(told(element) for element in result)
    return repr(result)


def agrees(result: object, wanted: object) -> bool:
    """Return whether two results, converted to arrays and strings, are equal bit by bit."""
    if isinstance(result, tuple) and isinstance(wanted, tuple):
        return len(result) == len(wanted) and all(map(agrees, result, wanted))
    if not isinstance(result, numpy.ndarray) or not isinstance(wanted, numpy.ndarray):
        return type(result) is type(wanted) and result == wanted
    if (result.dtype, result.shape) != (wanted.dtype, wanted.shape):
        return False
    return result.tobytes() == wanted.tobytes()


# ----------------------------------------------------------------------------------------------------------- operators


def call(entry: Call, as_method: bool) -> object:
    """Call an operator as a function or as a method and return its result, converted to arrays and strings."""
    from opdsl._attributes import aten

    positional = [unpacked(argument) for argument in entry.positional]
    named = {name: unpacked(value) for name, value in entry.named.items()}
    if as_method and positional and isinstance(positional[0], Tensor):
        method = getattr(positional[0], entry.base, None)
        if callable(method):
            return told(method(*positional[1:], **named))
    return told(aten[entry.base](*positional, **named))


# ------------------------------------------------------------------------------------------- temporary operators


def declare(choose: random.Random) -> None:
    """Declare an operator in a library of this thread, call it and its gradient, and close the library."""
    with Library(f"first{threading.get_ident()}") as lib:

        @lib.op(inplace=True, out=True)
        @formula
        def squared(self: Tensor, by: float = 1.0) -> Tensor:
            return self * self * by

        size = choose.randrange(1, SIZES)
        assert squared(opdsl.ones(size), 3.0).tolist() == [3.0] * size
        x = opdsl.full((size,), 2.0).requires_grad_()
        squared(x).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [4.0] * size


def register_and_call(choose: random.Random) -> None:
    """Register an operator of this thread in PyTorch, call it and its gradient there, and deregister it."""
    import torch

    from opdsl.interop.torch import deregister, register

    name = f"registered{threading.get_ident()}"
    with Library(name) as lib:

        @lib.op
        @formula
        def cubed(self: Tensor) -> Tensor:
            return self * self * self

        register(lib)
        size = choose.randrange(1, SIZES)
        x = torch.full((size,), 2.0, requires_grad=True)
        result = getattr(torch.ops, name).cubed(x)
        result.sum().backward()
        assert (result.tolist(), x.grad.tolist()) == ([8.0] * size, [12.0] * size)
        deregister(lib)


# -------------------------------------------------------------------------------------------------------------- rounds


class Round:
    """Round of calls in this process, with the faults and counts of its threads.

    Args:
        book: the calls to make, with results.
        seed: the seed of all random choices.
    """

    def __init__(self, book: Book, seed: int) -> None:
        self.book = book
        self.seed = seed
        self.choose = random.Random(seed)
        self.together = threading.Barrier(THREADS)
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()

    def run(self, work: Callable[[int], Iterator[str]]) -> None:
        """Run ``work`` in eight threads; it yields the name of each thing that it has done, which is counted."""

        def thread(index: int) -> None:
            counts: Counter[str] = Counter()
            try:
                for done in work(index):
                    counts[done] += 1
            except BaseException:
                self.faults.append(traceback.format_exc())
                self.together.abort()
            self.counts.update(counts)

        sys.setswitchinterval(self.choose.choice((1e-6, 1e-5, 1e-4, 5e-3)))
        threads = [threading.Thread(target=thread, args=(index,), daemon=True) for index in range(THREADS)]
        for worker in threads:
            worker.start()
        for worker in threads:
            worker.join()

    def _in_turn(self, steps: Sequence[Callable[[int], None]], kind: str) -> Callable[[int], Iterator[str]]:
        """Return work that does all steps: each step simultaneously in all threads, or in another order in each
        thread.
        """
        is_together = self.choose.random() < 0.6

        def work(index: int) -> Iterator[str]:
            order = list(steps) if is_together else random.Random(self.seed * 99 + index).sample(steps, len(steps))
            self.together.wait()
            for step in order:
                if is_together:
                    self.together.wait()
                step(index)
                yield kind

        return work

    def operators(self) -> None:
        """Call operators for the first time in the process, and compare the results."""

        def step(entry: Call) -> Callable[[int], None]:
            def run(index: int) -> None:
                result = call(entry, as_method=index % 2 == 0)
                if not agrees(result, entry.result):
                    raise AssertionError(f"{entry.base}: {result!r:.300} instead of {entry.result!r:.300}")

            return run

        chosen = self.choose.sample(self.book.calls, min(OPERATORS, len(self.book.calls)))
        self.run(self._in_turn([step(entry) for entry in chosen], "fresh call of an operator"))

    def features(self) -> None:
        """Use libraries, compiled functions and backward passes for the first time, and compare the results."""

        def step(index: int) -> Callable[[int], None]:
            def run(_: int) -> None:
                result = told(FEATURES[index]())
                if not agrees(result, self.book.features[index]):
                    raise AssertionError(f"feature {index}: {result!r:.300}")

            return run

        places = self.choose.sample(range(len(FEATURES)), len(FEATURES))
        self.run(self._in_turn([step(place) for place in places], "fresh use of a feature"))

    def shapes(self) -> None:
        """Call operators with ever new sizes, while two threads declare operators and close libraries."""
        end = time.monotonic() + STREAM

        def work(index: int) -> Iterator[str]:
            choose = random.Random(self.seed * 99 + index)
            self.together.wait()
            while time.monotonic() < end and not self.faults:
                if index < 2:
                    declare(choose)
                    yield "library that came and went"
                    continue
                place, size = choose.randrange(len(STREAMS)), choose.randrange(1, SIZES)
                values = numpy.asarray(stream(STREAMS[place], opdsl, size).numpy())
                wanted = self.book.streams[place][size]
                if not (values.shape == wanted.shape and numpy.allclose(values, wanted, 1e-4, 1e-5)):  # type: ignore[attr-defined, arg-type]
                    raise AssertionError(f"{STREAMS[place]} of {size}: {values!r}")
                yield "call of a stream"

        self.run(work)

    def torch(self) -> None:
        """Register operators in PyTorch from all threads, call and deregister them."""

        def work(index: int) -> Iterator[str]:
            choose = random.Random(self.seed * 99 + index)
            self.together.wait()
            for _ in range(3):
                register_and_call(choose)
                yield "operator in torch"

        self.run(work)


def play(path: str, kind: str, seed: int) -> None:
    """Run one round, in the process that was started for it.

    The counts are the last line of the output, since some of the called operators print.
    """
    played = Round(pickle.loads(Path(path).read_bytes()), seed)
    getattr(played, kind)()
    if played.faults:
        sys.exit(min(played.faults, key=lambda text: "BrokenBarrierError" in text))
    print(f"\n{json.dumps(played.counts)}")


# ---------------------------------------------------------------------------------------------------------- the parent


def _calls(choose: random.Random) -> Iterator[Call]:
    """Yield a call for each operator whose samples can be pickled and whose results are always the same."""
    from opdsl._attributes import aten
    from opdsl.aten.catalog import PACKETS
    from opdsl.dispatch import registry
    from opdsl.testing import samples_of

    for base in choose.sample(list(PACKETS), len(PACKETS)):
        if "empty" in base:  # its elements are uninitialized
            continue
        try:
            aten[base]  # loads it
            operator = next(iter(registry.packets[f"aten::{base}"].overloads.values()))
            sample = next(samples_of(operator))
            positional = tuple(packed(argument) for argument in sample.positional)
            named = {name: packed(value) for name, value in sample.named.items()}
            entry = Call(base, positional, named, None)
            results = [call(entry, as_method=k == 2) for k in range(3)]
        except Exception:  # operators that need more than a name and arguments that can be pickled
            continue
        if agrees(results[0], results[1]) and agrees(results[1], results[2]) and "out" not in entry.named:
            yield entry._replace(result=results[0])


def write_book(path: Path, choose: random.Random) -> Book:
    """Write the calls of rounds, with their results, to a file."""
    import torch

    streams = [[numpy.empty(0), *(stream(name, torch, n).numpy() for n in range(1, SIZES))] for name in STREAMS]
    calls = tuple(islice(_calls(choose), LISTED))
    book = Book(calls, tuple(told(feature()) for feature in FEATURES), tuple(map(tuple, streams)))
    path.write_bytes(pickle.dumps(book))
    return book


def soak(seconds: float, first_seed: int, kinds: Sequence[str] = KINDS) -> Counter[str]:
    """Run rounds in fresh processes.

    Args:
        seconds: for how long; each kind of round runs at least once in any case.
        first_seed: the seed of the first round; each later round adds 1.
        kinds: the kinds of rounds, which alternate.

    Raises:
        AssertionError: a round failed.
    """
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book"
        book = write_book(path, random.Random(first_seed))
        print(f"{len(book.calls)} operators, {len(FEATURES)} features, {len(STREAMS)} streams", flush=True)
        end = time.monotonic() + seconds
        index = 0
        while time.monotonic() < end or index < len(kinds):
            kind, seed = kinds[index % len(kinds)], first_seed + index
            counts.update(_played(path, kind, seed))
            counts[f"round of {kind}"] += 1
            index += 1
    return counts


def _played(path: Path, kind: str, seed: int) -> dict[str, int]:
    command = [sys.executable, "-X", "faulthandler", __file__, "--round", str(path), kind, str(seed)]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as waited:
        raise AssertionError(f"round {kind} {seed}: its threads wait for each other") from waited
    if run.returncode != 0:
        raise AssertionError(f"round {kind} {seed} ended with {run.returncode}:\n{run.stderr[-4000:]}")
    counts: dict[str, int] = json.loads(run.stdout.splitlines()[-1])
    return counts


def main() -> None:
    """Run rounds for the given time and print the counts."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else int(time.time())
    for name, count in sorted(soak(seconds, seed, sys.argv[3:] or KINDS).items()):
        print(f"{name:28s} {count:9,d}")
    print(f"no wrong result, no deadlock and no crash in {THREADS} threads of each process (seeds from {seed})")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--round"]:
        import faulthandler

        faulthandler.dump_traceback_later(PATIENCE - 20, exit=True)
        play(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main()
