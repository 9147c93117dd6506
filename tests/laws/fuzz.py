"""Random programs over a pool of tensors that share memory, run by PyTorch and by opdsl and compared after every step.

A program is a list of ``Step``: a target name and an expression over ``lib`` and the names before it, so that a failing
program is read, shortened and kept as text. ``python -m tests.laws.fuzz SECONDS [SEED]`` looks for failures.
"""

from __future__ import annotations

import operator
import re
import sys
import time
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
import torch

import opdsl
from opdsl.errors import OpdslError
from opdsl.runtime import make_view
from tests.laws.programs import DTYPES, REDUCTIONS, Generator, Step
from tests.torch.twins import Twins, theirs
from tests.torch.values import ordinary

INTEGERS = frozenset(DTYPES[:6])
NAME = re.compile(r"\bt\d+\b")


class Failure(NamedTuple):
    """Steps of a program up to the first that differs from PyTorch, and a description of the difference."""

    steps: tuple[Step, ...]
    problem: str

    def __str__(self) -> str:
        return "\n".join([*map(str, self.steps), f"-> {self.problem}"])


def program(text: str) -> tuple[Step, ...]:
    """Return the steps of a program that ``Failure`` has printed."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return tuple(Step(*line.split(" = ", 1)) for line in lines if line)


# ----------------------------------------------------------------------------------------------------- both libraries


def _theirs_strided(base: torch.Tensor, *place: Any) -> torch.Tensor:
    return torch.as_strided(base, *place)


def _ours_strided(base: opdsl.Tensor, *place: Any) -> opdsl.Tensor:
    return make_view(base, *place)


class World:
    """Variables of a program, as values of PyTorch and as values of opdsl."""

    def __init__(self) -> None:
        shared = {"numpy": numpy, "operator": operator, "setitem": _set_item}
        self.theirs: dict[str, Any] = {"lib": torch, "strided": _theirs_strided, **shared}
        self.ours: dict[str, Any] = {"lib": opdsl, "strided": _ours_strided, **shared}
        self.twins = Twins()
        self.is_over = False

    def pool(self) -> list[tuple[str, torch.Tensor, opdsl.Tensor]]:
        """Return the names of the program's tensors, each with PyTorch's tensor and opdsl's."""
        return [
            (name, value, self.ours[name]) for name, value in self.theirs.items() if isinstance(value, torch.Tensor)
        ]

    def run(self, step: Step) -> str | None:
        """Run a step in both libraries; describe how they differ, or return None."""
        names = NAME.findall(step.expression)
        if any(name not in self.theirs for name in names):
            return None
        if step.expression.startswith("values("):
            output = eval(step.expression, {"values": _values})
            self.theirs[step.target], self.ours[step.target] = output, self.twins.of(output)
            return None
        operands = [self.theirs[name] for name in names]
        if _is_undefined(step.expression, operands) or _reduces_into_itself(step.expression, operands):
            return None
        resized = _resized(step.expression, self.theirs)
        scale = max((_scale(operand) for operand in operands), default=1.0)
        before = [theirs(ours) for _, _, ours in self.pool()]
        shapes = [(ours.shape, ours.stride(), ours.dtype) for _, _, ours in self.pool()]
        expected, error = _outcome(step.expression, self.theirs)
        result, own_error = _outcome(step.expression, self.ours)
        if own_error is not None and not isinstance(own_error, OpdslError) and not _is_pythons(own_error):
            return f"raised {type(own_error).__name__}: {own_error} (PyTorch: {error!r})"
        if (error is None) != (own_error is None):
            self.is_over = True  # after an intended difference the pools differ
            return _departure(step.expression, expected, error, result, own_error)
        if error is not None:
            if not isinstance(own_error, type(error)) and not _is_other_fault(own_error, error):
                return f"{type(own_error).__name__} ({own_error}) for {type(error).__name__} ({error})"
            return self._unchanged(before, shapes)
        if resized is not None and tuple(resized[0].shape) != resized[1]:
            self.is_over = True  # PyTorch enlarges shared memory, opdsl allocates new memory
            if sum(_share_storage(operand, resized[0]) for operand in operands) > 1:
                return None  # PyTorch reads operands from the memory that it has resized
            return self._compare(result, expected, scale, offset=False)
        compare = self._compare(result, expected, scale) or self._compare_pool(scale)
        if compare is None:
            self._keep(step.target, expected, result)
            self._align()
        return compare

    def _keep(self, name: str, expected: Any, result: Any) -> None:
        if isinstance(expected, (list, tuple)) and expected and isinstance(expected[0], torch.Tensor):
            expected, result = expected[-1], result[-1]
        if isinstance(expected, torch.Tensor):
            self.theirs[name], self.ours[name] = expected, result

    def _unchanged(self, before: Sequence[torch.Tensor], forms: Sequence[tuple[Any, ...]]) -> str | None:
        for (name, _, ours), values, form in zip(self.pool(), before, forms, strict=True):
            if (ours.shape, ours.stride(), ours.dtype) != form:
                return f"a failed call changed {name}: {form} became {(ours.shape, ours.stride(), ours.dtype)}"
            if not torch.equal(_bits(theirs(ours)), _bits(values)):
                return f"a failed call changed values of {name}"
        # PyTorch resizes and writes outputs before it fails.
        self.is_over = self._compare_pool(1.0) is not None
        return None

    def _compare_pool(self, scale: float) -> str | None:
        for name, expected, ours in self.pool():
            problem = self._compare(ours, expected, scale)
            if problem is not None:
                return f"{name} afterwards: {problem}"
        return None

    def _compare(self, ours: Any, expected: Any, scale: float, *, offset: bool = True) -> str | None:
        if isinstance(expected, (list, tuple)):
            if not isinstance(ours, (list, tuple)) or len(ours) != len(expected):
                return f"{ours!r} for {expected!r}"
            problems = (self._compare(one, two, scale) for one, two in zip(ours, expected, strict=True))
            return next((difference for difference in problems if difference), None)
        if not isinstance(expected, torch.Tensor):
            same = type(ours) is type(expected) and (ours == expected or ours != ours)
            return None if same else f"{ours!r} for {expected!r}"
        if not isinstance(ours, opdsl.Tensor):
            return f"{ours!r} for a tensor"
        forms = [
            (f"torch.{ours.dtype.name}", ours.shape, ours.stride(), ours.storage_offset()),
            (str(expected.dtype), tuple(expected.shape), expected.stride(), expected.storage_offset()),
        ]
        if forms[0] != forms[1] and ((offset and expected.numel()) or forms[0][:3] != forms[1][:3]):
            return f"{forms[0]} for {forms[1]}"
        return _value_difference(theirs(ours), expected, scale)

    def _align(self) -> None:
        """Copy PyTorch's elements into opdsl's tensors, so that rounding errors do not grow from step to step."""
        for _, expected, ours in self.pool():
            if expected.dtype.is_floating_point and expected.numel():
                source = expected.view(torch.int16) if expected.dtype is torch.bfloat16 else expected
                target = ours.array.view(numpy.int16) if expected.dtype is torch.bfloat16 else ours.array
                numpy.copyto(target, source.clone().numpy())  # PyTorch no longer resizes a storage that NumPy has seen


def _values(dtype: str, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return ordinary(getattr(torch, dtype), shape, seed)


def _set_item(target: Any, index: Any, value: Any) -> None:
    target[index] = value


def _outcome(expression: str, names: dict[str, Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, names), None
        except Exception as error:
            return None, error


# Calls with two faults, of which each library reports another one: parts of opdsl's message and of PyTorch's.
_TWO_FAULTS = (
    ("Dimension out of range", "Expected the dtype for input and out to match"),
    ("to have non-zero size", "Expected the dtype for input and out to match"),
    ("Tensors must", "input types can't be cast"),
    ("Sizes of tensors must match", "input types can't be cast"),
    ("", "without overflow"),
    ("without overflow", ""),
    ("too many indices", "step"),
)


def _is_other_fault(own: Exception, error: Exception) -> bool:
    return any(one in str(own) and other in str(error) for one, other in _TWO_FAULTS)


def _is_pythons(error: Exception) -> bool:
    """Return whether an error is the one that Python raises if both operands return NotImplemented."""
    return isinstance(error, TypeError) and "unsupported operand type" in str(error)


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().flatten().view(torch.uint8) if tensor.numel() else tensor


def _scale(value: Any) -> float:
    """Return the largest finite magnitude of a value, to which the tolerance of sums is relative."""
    if not isinstance(value, torch.Tensor) or not value.numel() or not value.dtype.is_floating_point:
        return 1.0
    finite = value.double().abs()
    finite = finite[finite.isfinite()]
    return float(finite.max()) if finite.numel() else 1.0


def _value_difference(ours: torch.Tensor, expected: torch.Tensor, scale: float) -> str | None:
    if expected.numel() == 0:
        return None
    relative = absolute = 0.0
    if expected.dtype.is_floating_point:
        info = torch.finfo(expected.dtype)
        relative = 4 * info.eps
        absolute = min(relative * max(scale, scale * scale), info.max) if scale > 1e-3 else relative
    close = torch.isclose(ours.double(), expected.double(), rtol=relative, atol=absolute, equal_nan=True)
    if expected.dtype in (torch.int64,):
        close = ours == expected
    if bool(close.all()):
        return None
    place = tuple(int(index) for index in (~close).nonzero()[0])
    return f"value {ours[place].item()!r} for {expected[place].item()!r} at {place} of {tuple(expected.shape)}"


# ------------------------------------------------------------------------------------------- cases without an oracle


def _resized(expression: str, names: dict[str, Any]) -> tuple[torch.Tensor, tuple[int, ...]] | None:
    """Return the tensor that an expression passes as ``out`` and its shape before the call, or None."""
    matched = re.search(r"out=(t\d+)", expression)
    return (names[matched[1]], tuple(names[matched[1]].shape)) if matched else None


def _is_undefined(expression: str, operands: Sequence[torch.Tensor]) -> bool:
    """Return whether C++ leaves a result undefined: a float beyond the range of an integer dtype, an integer divided by
    zero.
    """
    integers = [operand for operand in operands if str(operand.dtype).removeprefix("torch.") in INTEGERS]
    floats = [operand for operand in operands if operand.dtype.is_floating_point and operand.numel()]
    writes_integers = any(
        f"dtype=lib.{integer}" in expression or f"to(lib.{integer}" in expression for integer in INTEGERS
    )
    if floats and (integers or writes_integers):
        values = torch.cat([part.double().flatten() for part in floats])
        if not bool(((values >= 0) & (values < 127)).all()):
            return True
    if "rounding_mode=" in expression and any(bool((integer == 0).any()) or _least(integer) for integer in integers):
        return True
    # A number that is infinite, NaN or huge, written into integers or divided by.
    wild = re.search(r"nan|inf|1e39|rounding_mode=.*(?:floor|trunc).*", expression)
    return bool(wild and (integers or writes_integers))


def _reduces_into_itself(expression: str, operands: Sequence[torch.Tensor]) -> bool:
    """Return whether a reduction's ``out`` shares memory with its input, which PyTorch does not refuse: it reads its
    own results.
    """
    if not expression.startswith(tuple(f"lib.{reduction}(" for reduction in REDUCTIONS)) or "out=t" not in expression:
        return False
    return _share_storage(operands[0], operands[-1])


def _share_storage(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.untyped_storage()._cdata == other.untyped_storage()._cdata


def _least(tensor: torch.Tensor) -> bool:
    return tensor.dtype is not torch.bool and bool((tensor == torch.iinfo(tensor.dtype).min).any())


# Intended differences: whether opdsl or PyTorch raises, and a part of the error's message.
_MEANT = (
    (True, "memory location"),  # PyTorch detects only expanded dimensions and dense tensors
    (True, "not supported yet"),
    (True, "matrix products are not implemented for bool"),  # PyTorch accepts empty ones
    (False, "uint16, uint32, uint64"),  # numbers beyond int64
    (False, "not resizable"),
    (False, "1D tensors expected"),  # matmul(x, y, out=x) resizes x before it reads it
)


def _departure(expression: str, expected: Any, error: Any, result: Any, own: Any) -> str | None:
    """Describe a call in which one library raises and the other does not; return None for intended differences."""
    text = str(own if error is None else error)
    if own is None and "memory location" in text and ("copy_(" in expression or "setitem(" in expression):
        return None  # a tensor is copied onto itself
    if any(is_ours == (error is None) and part in text for is_ours, part in _MEANT):
        return None
    return f"raised {own!r} for {_short(expected)}" if error is None else f"{_short(result)} for {error!r}"


def _short(value: Any) -> str:
    return repr(value).replace("\n", " ")[:200]


def run(steps: Sequence[Step]) -> Failure | None:
    """Run a program in both libraries up to its first failure, and return the failure or None."""
    world = World()
    for index, step in enumerate(steps):
        problem = world.run(step)
        if problem is not None:
            return Failure(tuple(steps[: index + 1]), problem)
        if world.is_over:
            return None
    return None


def shrink(failure: Failure) -> Failure:
    """Return the same failure without the steps that it does not need."""
    index = len(failure.steps) - 2
    while index >= 0:
        kept = failure.steps[:index] + failure.steps[index + 1 :]
        again = run(kept)
        if again is not None and again.steps[-1] == failure.steps[-1] and again.steps == kept:
            failure = again
        index -= 1
    return failure


def try_seed(seed: int, length: int = 30) -> Failure | None:
    """Run the program of a seed; return its failure with as few steps as possible, or None."""
    failure = run(Generator(seed).steps(length))
    return None if failure is None else shrink(failure)


def main(seconds: float, seed: int) -> int:
    """Run random programs for some seconds, and print each kind of failure once."""
    end = time.monotonic() + seconds
    seen: dict[str, int] = {}
    first = seed
    while time.monotonic() < end:
        failure = try_seed(seed)
        if failure is not None:
            kind = re.sub(r"\d+", "N", failure.steps[-1].expression + " " + failure.problem)[:70]
            seen[kind] = seen.get(kind, 0) + 1
            if seen[kind] == 1:
                print(f"--- seed {seed}\n{failure}", flush=True)
        seed += 1
    print(f"{seed - first} programs, {sum(seen.values())} failures, {len(seen)} kinds")
    return bool(seen)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
