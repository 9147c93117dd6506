"""Random calls of every overload: only documented errors are raised, and a call that raises changes no argument.

A seed determines a call, so that a failing call can be repeated. Most calls are samples that the operator accepts with
one or two arguments replaced, so that they reach the last checks. Tensors end at memory pages without access rights: a
read out of bounds crashes. ``python -m tests.laws.overloads CALLS [SEED]`` looks for failures in child processes, with
a limit of memory and of time for each call; ``... overloads one SEED`` runs one call. Names after the seed, with ``*``
for any part (``'linalg_*'``), restrict it to overloads of these operators; a call is repeated by its seed and the same
names.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import math
import multiprocessing
import random
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from multiprocessing.sharedctypes import Synchronized
from typing import Any, NamedTuple

import numpy

import opdsl
from opdsl.dispatch import Operator
from opdsl.errors import KernelCompileError, KernelError, LawError, OpdslError
from opdsl.runtime import ALL_DTYPES, DType, Tensor
from opdsl.runtime.snapshot import content, tensors_in
from opdsl.schema import BaseType, ListType, OptionalType, Type
from opdsl.testing.guarded import guarded_tensor
from opdsl.testing.sample import Sample, described
from opdsl.testing.samples import samples_of

COMMON_DTYPES = tuple(
    dtype for dtype in ALL_DTYPES if dtype.name in ("float32", "float64", "int64", "bool", "complex64")
)
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5)
HUGE = (2**31 - 1, 2**31, 2**33, 2**40, 2**61, 2**62, 2**63 - 1, 2**63, 2**64, 10**30)
INTEGERS = (-3, -2, -1, -1, 0, 0, 1, 1, 2, 2, 3, 4, 7, 100)
FLOATS = (0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 1e-300, 1e38, 1e39, 1e300, -1e300, math.inf, -math.inf, math.nan)
SECONDS = 60  # processor time, most of which goes into compiling a kernel; the limit of wall time is ten times as long
LATE = (signal.SIGPROF, signal.SIGALRM)
MEMORY = 6 << 30

# Patterns of the names of operators to call; if empty, all are called.
NAMES: list[str] = []

# Polynomials take as many steps as their degree, which may be 2^31 (in PyTorch, too).
AS_LONG_AS_ASKED = re.compile(r"_polynomial_[a-z]+")


class Failure(NamedTuple):
    """Call, with a description of its fault."""

    call: str
    problem: str

    @property
    def kind(self) -> str:
        """Return a text that failures of the same cause share."""
        return re.sub(r"-?\d+", "N", f"{self.call.partition('(')[0]} {self.problem}")


# ---------------------------------------------------------------------------------------------------------- arguments


class Draw:
    """Random generator of arguments for types of schemas."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tensors: list[Tensor] = []

    def value(self, type: Type) -> object:
        """Return a random value of a schema type, and seldom one of another type."""
        if self.random.random() < 0.02:
            return self.random.choice((None, "x", (), [], {}, 2**70, object, numpy.float32(2), True, [[1]]))
        if isinstance(type, OptionalType):
            return None if self.random.random() < 0.4 else self.value(type.element)
        if isinstance(type, ListType):
            return self._list(type)
        return self._of_base(type)

    def _list(self, type: ListType) -> object:
        usual = type.size or self.random.choice((1, 2, 2, 3))
        count = usual if self.random.random() < 0.75 else self.random.choice((0, 1, 2, 3, 4, 5, 6, 70))
        if type.base is BaseType.Tensor and count > 6:
            count = 3
        if type.size and self.random.random() < 0.1:
            return self.value(type.element)
        values = [self.value(type.element) for _ in range(count)]
        return tuple(values) if self.random.random() < 0.3 else values

    def _of_base(self, type: object) -> object:
        choices: dict[object, Callable[[], object]] = {
            BaseType.Tensor: self.tensor,
            BaseType.int: self.integer,
            BaseType.SymInt: self.integer,
            BaseType.float: self.number,
            BaseType.Scalar: self._scalar,
            BaseType.bool: lambda: self.random.random() < 0.5,
            BaseType.str: self._text,
            BaseType.ScalarType: lambda: self.random.choice(ALL_DTYPES),
            BaseType.Device: lambda: self.random.choice(("cpu", "cpu", "meta", "cuda", "nowhere", "cpu:7")),
            BaseType.Layout: lambda: opdsl.strided,
            BaseType.MemoryFormat: lambda: self.random.choice(tuple(opdsl.runtime.MemoryFormat)),
            BaseType.Generator: lambda: None if self.random.random() < 0.7 else opdsl.Generator(),
        }
        make = choices.get(type)
        return None if make is None else make()

    def _text(self) -> str:
        names = ("mean", "none", "sum", "floor", "trunc", "linear", "nearest", "left", "right", "ij", "reduce", "amax")
        return self.random.choice((*names, "constant", "reflect", "", "forward", "ortho", "same", "valid", "prod", "L"))

    def integer(self) -> object:
        """Return a random integer, seldom a huge one."""
        chance = self.random.random()
        if chance < 0.06:
            return self.random.choice((1, -1)) * self.random.choice(HUGE)
        return self.random.choice(INTEGERS)

    def number(self) -> object:
        """Return a random float, or seldom an integer."""
        return self.random.choice(FLOATS) if self.random.random() < 0.8 else self.integer()

    def _scalar(self) -> object:
        chance = self.random.random()
        if chance < 0.1:
            return complex(self.random.choice(FLOATS), self.random.choice(FLOATS))
        if chance < 0.2:
            return self.random.random() < 0.5
        return self.number() if chance < 0.6 else self.integer()

    def tensor(self) -> object:
        """Return a new tensor, one that was drawn before, or a view of one."""
        chance = self.random.random()
        if self.tensors and chance < 0.12:
            return self.random.choice(self.tensors)
        if self.tensors and chance < 0.2:
            return self._view(self.random.choice(self.tensors))
        dtypes: Sequence[DType] = COMMON_DTYPES if self.random.random() < 0.75 else ALL_DTYPES
        dtype = self.random.choice(dtypes)
        ndim = self.random.choice((0, 1, 1, 2, 2, 2, 3, 3, 4, 5))
        shape = tuple(self.random.choice(SIZES) for _ in range(ndim))
        drawn = self.filled(shape, dtype)
        chance = self.random.random()
        if chance < 0.15 and ndim:
            drawn = drawn.transpose(0, -1)
        elif chance < 0.2:
            drawn = opdsl.empty(shape, dtype=dtype, device="meta")
        elif chance < 0.25:
            drawn = drawn.expand(self.random.choice(((2, *shape), (0, *shape))))
        elif chance < 0.26:
            drawn = opdsl.empty((2**31, 2**20), dtype=dtype, device="meta")
        elif chance < 0.27:
            drawn = drawn.reshape(-1)[:1].expand(2**16, -1)
        if chance > 0.9 and (dtype.is_floating_point or dtype.is_complex):
            drawn = drawn.detach().requires_grad_()
        self.tensors.append(drawn)
        return drawn

    def filled(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Return a tensor of random elements in guarded memory."""
        generator = numpy.random.default_rng(self.random.getrandbits(32))
        values: Any = generator.standard_normal(shape) * self.random.choice((0.3, 3, 100))
        if dtype.is_floating_point or dtype.is_complex:
            if self.random.random() < 0.3:
                wild = generator.choice(numpy.array(FLOATS), shape)
                values = numpy.where(generator.random(shape) < 0.3, wild, values)
        else:
            values = numpy.clip(values, 0, 1) if dtype is opdsl.bool else numpy.clip(values, -100, 100)
            if self.random.random() < 0.2 and dtype is not opdsl.bool:
                info = numpy.iinfo(dtype.numpy)
                wild = generator.choice(numpy.array((info.min, info.max, 0)), shape)
                return guarded_tensor(opdsl.from_numpy(numpy.asarray(wild, dtype.numpy)).to(dtype))
            if not dtype.is_signed:
                values = numpy.abs(values)
            values = numpy.asarray(values).astype(numpy.int64)
        with numpy.errstate(all="ignore"):
            return guarded_tensor(opdsl.from_numpy(numpy.asarray(values)).to(dtype))

    def _view(self, base: Tensor) -> Tensor:
        forms: tuple[Callable[[], Tensor], ...] = (
            lambda: base[1:],
            lambda: base[..., :1],
            lambda: base.t(),
            lambda: base.reshape(-1),
            lambda: base.detach(),
        )
        try:
            return self.random.choice(forms)()
        except OpdslError:
            return base


@functools.cache
def operators() -> tuple[Operator, ...]:
    """Return all overloads that are called, sorted by name, whenever they were loaded."""
    opdsl.add  # noqa: B018  loads the operators
    dir(opdsl.ops.aten)  # and declares what they generate
    result = (
        operator
        for operator in opdsl.registry
        if operator.name.startswith("aten::") and operator.packet_name not in WRITING
    )
    chosen = [f"aten::{name}" for name in NAMES]
    kept = (
        operator
        for operator in result
        if not chosen or any(fnmatch(part, name) for name in chosen for part in parts(operator))
    )
    return tuple(sorted(kept, key=lambda operator: operator.name))


# Operators that create files in the current directory.
WRITING = ("aten::from_file",)


def parts(operator: Operator) -> tuple[str, str]:
    """Return the name of an overload and that of its packet."""
    return operator.name, operator.name.partition(".")[0]


@functools.cache
def _samples(operator: Operator, dtype: DType) -> tuple[Sample, ...]:
    batch = []
    try:
        for sample in samples_of(operator, dtype):
            batch.append(sample)
            if len(batch) == 40:
                break
    except Exception:
        return tuple(batch)
    return tuple(batch)


class Call(NamedTuple):
    """Operator with the arguments of one call."""

    operator: Operator
    positional: tuple[object, ...]
    named: dict[str, object]

    def __str__(self) -> str:
        parts = [described(value) for value in self.positional]
        parts += [f"{name}={described(value)}" for name, value in self.named.items()]
        return f"{self.operator.name}({', '.join(parts)})"[:600]


def make_call(seed: int) -> Call:
    """Return the call that a seed determines."""
    draw = Draw(seed)
    operator = draw.random.choice(operators())
    if draw.random.random() < 0.6:
        dtype = draw.random.choice(COMMON_DTYPES if draw.random.random() < 0.8 else ALL_DTYPES)
        samples = _samples(operator, dtype)
        if samples:
            return _changed(operator, draw.random.choice(samples).copy(), draw)
    arguments = operator.schema.arguments
    inputs: list[object] = []
    named: dict[str, object] = {}
    positional = {argument.name for argument in operator.schema.positional}
    left_out = False
    for argument in arguments:
        left_out = left_out or (argument.default is not None and draw.random.random() < 0.5)
        if argument.default is not None and left_out:
            continue
        if argument.name in positional:
            inputs.append(draw.value(argument.type))
        else:
            named[argument.python_name] = draw.value(argument.type)
    return Call(operator, tuple(inputs), named)


def _changed(operator: Operator, sample: Sample, draw: Draw) -> Call:
    """Return a call with the arguments of a sample in guarded memory, up to three of them replaced."""
    guard = {id(tensor): guarded_tensor(tensor) for tensor in sample.tensors()}
    draw.tensors.extend(guard.values())
    replace = functools.partial(_replaced, guard)
    positional = [replace(value) for value in sample.positional]
    named = {name: replace(value) for name, value in sample.named.items()}
    arguments = operator.schema.arguments
    for argument in draw.random.choices(arguments, k=draw.random.choice((0, 1, 1, 1, 2, 3))) if arguments else ():
        index = arguments.index(argument)
        old = positional[index] if index < len(positional) else named.get(argument.python_name)
        value = _similar(old, draw) if draw.random.random() < 0.5 else draw.value(argument.type)
        if index < len(positional):
            positional[index] = value
        elif argument.default is None or index >= len(operator.schema.positional) or index > len(positional):
            named[argument.python_name] = value
        else:
            positional.append(value)
    return Call(operator, tuple(positional), named)


def _replaced(guard: dict[int, Tensor], value: object) -> object:
    if isinstance(value, Tensor):
        return guard[id(value)]
    if isinstance(value, (list, tuple)):
        return [_replaced(guard, element) for element in value]
    return value


def _similar(value: object, draw: Draw) -> object:
    """Return a value that differs in one respect from one that an operator accepts."""
    if isinstance(value, Tensor) and not value.is_meta:
        forms: tuple[Callable[[], Tensor], ...] = (
            lambda: draw.filled(value.shape, draw.random.choice(ALL_DTYPES)),
            lambda: draw.filled(value.shape, value.dtype),
            lambda: draw.filled((*value.shape, draw.random.choice(SIZES)), value.dtype),
            lambda: draw.filled(value.shape[1:], value.dtype),
            lambda: draw.filled((), value.dtype),
            lambda: draw.filled(tuple(size * draw.random.choice((0, 1)) for size in value.shape), value.dtype),
            lambda: draw.filled(tuple(size + draw.random.choice((0, 1)) for size in value.shape), value.dtype),
            lambda: opdsl.empty(value.shape, dtype=value.dtype, device="meta"),
            lambda: value.detach()[..., :1],
        )
        try:
            return draw.random.choice(forms)()
        except OpdslError:
            return value
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.random.choice((value + 1, value - 1, -value, 0, value * 2, *HUGE[:8]))
    if isinstance(value, float):
        return draw.random.choice(FLOATS)
    if isinstance(value, (list, tuple)) and value:
        forms_of_lists: tuple[Callable[[], list[object]], ...] = (
            lambda: list(value[:-1]),
            lambda: [*value, value[-1]],
            list,
            lambda: [*value[:-1], _similar(value[-1], draw)],
            lambda: [_similar(value[0], draw), *value[1:]],
            lambda: [None, *value[1:]],
        )
        return draw.random.choice(forms_of_lists)()
    return None if draw.random.random() < 0.3 else value


# ------------------------------------------------------------------------------------------------------------- checks

# Errors that mean a fault in opdsl, not in the call.
OURS = (KernelError, KernelCompileError, LawError)


def run(call: Call) -> Failure | None:
    """Make a call, and return its failure, or None if it behaved as documented."""
    tensors = [tensor for tensor in tensors_in((call.positional, tuple(call.named.values()))) if tensor.numel() < 10**6]
    before = [content(tensor) for tensor in tensors]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy's, which name functions that users have not called
        try:
            result = call.operator.function(*call.positional, **call.named)
        except OpdslError as error:
            if isinstance(error, OURS):
                return Failure(str(call), _raised(error))
            return _unchanged(call, tensors, before)
        except TypeError as error:
            return None if _is_pythons(error) else Failure(str(call), _raised(error))
        except Exception as error:
            return Failure(str(call), _raised(error))
        for tensor in tensors_in(result):
            if tensor.numel() < 10**6:
                content(tensor)
        return _backward(call, result)


def _backward(call: Call, result: object) -> Failure | None:
    """Compute the gradients of a call's results, if they require any; return a failure or None."""
    for tensor in tensors_in(result):
        if not tensor.requires_grad or tensor.numel() > 10**4:
            continue
        try:
            total = (tensor.abs() if tensor.is_complex() else tensor).sum()
            total.backward(retain_graph=True)
        except OpdslError as error:
            if isinstance(error, OURS):
                return Failure(str(call), f"backward {_raised(error)}")
        except Exception as error:
            return Failure(str(call), f"backward {_raised(error)}")
    return None


def _is_pythons(error: TypeError) -> bool:
    """Return whether an error is Python's own for wrong arguments of a function."""
    return re.search(r"got multiple values for argument|required positional argument", str(error)) is not None


def _raised(error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "opdsl" in frame.filename]
    where = " < ".join(f"{frame.filename.rpartition('opdsl/')[2]}:{frame.lineno}" for frame in frames[:-4:-1])
    return f"raised {type(error).__name__}: {str(error)[:160]} [{where}]"


def _unchanged(call: Call, tensors: Sequence[Tensor], before: Sequence[Any]) -> Failure | None:
    for index, (tensor, old) in enumerate(zip(tensors, before, strict=True)):
        if content(tensor) != old:
            return Failure(str(call), f"raised, and changed tensor {index}: {old[:3]} to {content(tensor)[:3]}")
    return None


def try_seed(seed: int) -> Failure | None:
    """Make the call of a seed, and return its failure or None."""
    return run(make_call(seed))


# ---------------------------------------------------------------------------------------------------------- processes


def _work(first: int, end: int, at: Synchronized[int], pipe: Any) -> None:
    with open("/proc/self/statm", encoding="ascii") as sizes:
        most = int(sizes.read().split()[0]) * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.disable()
    for number in LATE:
        signal.signal(number, signal.SIG_DFL)
    for seed in range(first, end):
        at.value = seed
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(10 * SECONDS)
        failure = try_seed(seed)
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        if failure is not None:
            pipe.send((seed, failure))
    at.value = end


def failures(calls: int, seed: int, share: int = 500) -> Any:
    """Yield the seeds and failures of ``calls`` calls in child processes; a process that dies or hangs is a failure,
    too.
    """
    operators()
    context = multiprocessing.get_context("fork")
    at, end = context.Value("q", seed, lock=False), seed + calls
    while at.value < end:
        receive, send = context.Pipe(duplex=False)
        process = context.Process(target=_work, args=(at.value, min(at.value + share, end), at, send))
        process.start()
        send.close()
        while True:
            try:
                yield receive.recv()
            except EOFError:
                break
        process.join()
        if process.exitcode:
            late = -process.exitcode in LATE
            call = str(make_call(at.value))
            if not (late and AS_LONG_AS_ASKED.search(call)):
                yield at.value, Failure(call, "took too long" if late else f"ended the process ({process.exitcode})")
            at.value += 1


def main(calls: int, seed: int) -> int:
    """Make random calls and print each kind of failure once; calls write files into a temporary folder."""
    seen: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for at, failure in failures(calls, seed):
            seen[failure.kind] = seen.get(failure.kind, 0) + 1
            if seen[failure.kind] == 1:
                print(f"--- seed {at}\n{failure.call}\n-> {failure.problem}", flush=True)
    print(f"{calls} calls, {sum(seen.values())} failures, {len(seen)} kinds")
    return bool(seen)


if __name__ == "__main__":
    NAMES += sys.argv[3:]
    if sys.argv[1] == "one":
        call = make_call(int(sys.argv[2]))
        print(call, flush=True)
        print(call.operator.function(*call.positional, **call.named))
    else:
        sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
