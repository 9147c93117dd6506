"""Checks of random formulas against PyTorch: values, first and second gradients, and transforms."""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.autograd.functional import jvp
from opdsl.interop.torch import register
from tests.laws.formula_texts import Formula

counter = itertools.count()

# Tolerances of results, first gradients and second gradients, in roundings of the largest intermediate number.
_ROUNDINGS = (128, 1e5, 1e6)
_NARROW = (torch.float16, torch.bfloat16)


def function_of(source: str) -> Callable[..., Any]:
    """Return the function ``f`` that a text defines, registering the text as a source file as user code has one."""
    name = f"<random formula {next(counter)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"Tensor": Tensor, "opdsl": opdsl}
    exec(compile(source, name, "exec"), namespace)
    function: Callable[..., Any] = namespace["f"]
    return function


@contextmanager
def wide_numbers() -> Iterator[None]:
    """Make float64 PyTorch's default dtype in this block, so that it computes float64 from integers."""
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor converted to float64 or complex128; tensors of integers stay unchanged."""
    return tensor.to(torch.complex128) if tensor.is_complex() else tensor.double() if _is_float(tensor) else tensor


def _is_float(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point


def _is_inexact(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.is_complex()


def ours(tensor: torch.Tensor) -> Any:
    """Return a copy of a PyTorch tensor as an opdsl tensor."""
    return opdsl.from_dlpack(tensor.detach().resolve_conj().clone())


def theirs(tensor: Any) -> torch.Tensor:
    """Return an opdsl tensor as a PyTorch tensor that shares its memory."""
    return torch.from_dlpack(tensor.detach().resolve_conj())


def listed(value: Any) -> list[Any]:
    """Return the results of a call as a list, even if there is only one."""
    return list(value) if isinstance(value, (tuple, list)) else [value]


def difference(result: Any, expected: torch.Tensor, margin: float, last: float) -> str | None:
    """Describe the first element at which two tensors differ, or return None.

    Args:
        result, expected: the tensors.
        margin: absolute tolerance of elements.
        last: relative tolerance of elements: the rounding of the result.
    """
    mine, wanted = widened(theirs(result)), widened(expected.detach())
    if mine.shape != wanted.shape:
        return f"shape {tuple(mine.shape)} for {tuple(wanted.shape)}"
    if not _is_inexact(wanted):
        return (
            None if torch.equal(mine, wanted) else f"{mine.flatten()[:8].tolist()} for {wanted.flatten()[:8].tolist()}"
        )
    close = ((mine - wanted).abs() <= margin + last * wanted.abs()) | (mine == wanted) | (mine.isnan() & wanted.isnan())
    close |= wanted.abs() > (6e4 if last == torch.finfo(torch.float16).eps else 1e38)
    if bool(close.all()):
        return None
    place = tuple((~close).nonzero()[0].tolist())
    return f"{mine[place].item()} for {wanted[place].item()} at {place} of {tuple(wanted.shape)}"


class Trial:
    """Random formula declared as an operator, with the results that PyTorch computes for it."""

    def __init__(self, drawn: Formula, library: Library) -> None:
        self.drawn, self.library = drawn, library
        self.error: Exception | None = None
        self.operator: Any = None
        try:
            self.narrow, seen = drawn.expected(drawn.tensors)
            with wide_numbers():
                self.leaves = {name: widened(tensor).clone() for name, tensor in drawn.tensors.items()}
                for leaf in self.leaves.values():
                    leaf.requires_grad_(_is_inexact(leaf))
                self.wide, noted = drawn.expected(self.leaves)
        except (IndexError, RuntimeError) as error:
            self.error = error
            return
        kinds = {tensor.dtype for tensor in drawn.tensors.values()}
        # Values stored between kernels have the dtype of arguments; all others are computed in float32 at least.
        least = 0.0 if kinds.isdisjoint(_NARROW) else seen.get("eps", 0.0) / 16
        eps = max(least, min(seen.get("eps", 0.0), torch.finfo(torch.float32).eps))
        self.margin = eps * noted.get("scale", 1.0)

    def arguments(self, required: Sequence[str] = ()) -> list[Any]:
        """Return new copies of the arguments; those named in ``required`` require gradients."""
        tensors = [
            ours(tensor).requires_grad_() if name in required else ours(tensor)
            for name, tensor in self.drawn.tensors.items()
        ]
        return [*tensors, *self.drawn.numbers.values()]

    def values(self) -> str | None:
        """Describe how results of repeated calls differ from PyTorch's, or return None."""
        try:
            self.operator = self.library.op(formula(function_of(self.drawn.text)))
            for _ in range(3):
                actual = listed(self.operator(*self.arguments()))
        except opdsl.errors.OpdslError as error:
            if "Declare separate operators" in str(error):  # a limit: it folds for some ranks only
                self.error = error
            return None if self.error is not None else f"{type(error).__name__}: {error}"
        if self.error is not None:
            return f"no error for {self.error!r}"
        for result, narrow, wide in zip(actual, self.narrow, self.wide, strict=True):
            if f"torch.{result.dtype.name}" != str(narrow.dtype):
                return f"{result.dtype} for {narrow.dtype}"
            last = torch.finfo(narrow.dtype).eps if _is_inexact(narrow) else 0.0
            problem = difference(result, wide, _ROUNDINGS[0] * self.margin + last / 1e4, last)
            if problem:
                return problem
        return None

    def gradients(self) -> str | None:
        """Describe how first and second gradients in 64 bits differ from PyTorch's, or return None."""
        if self.error is not None:
            return None
        names = [
            name for name, tensor in self.drawn.tensors.items() if tensor.dtype in (torch.float64, torch.complex128)
        ]
        inputs = [self.leaves[name] for name in names]
        arguments = self.arguments(names)
        own_inputs = [value for name, value in zip(self.drawn.tensors, arguments, strict=False) if name in names]
        results, own = self.wide, listed(self.operator(*arguments))
        for order in (1, 2):
            kept = [at for at, value in enumerate(results) if _is_inexact(value) and value.requires_grad]
            own_kept = [at for at in kept if own[at].requires_grad]
            if not kept or not names:
                return None
            weights = {at: _weight(results[at], at) for at in kept}
            wanted = torch.autograd.grad(
                [results[at] for at in kept],
                inputs,
                [weights[at] for at in kept],
                create_graph=True,
                materialize_grads=True,
            )
            if own_kept:
                gradients = opdsl.autograd.grad(
                    [own[at] for at in own_kept],
                    own_inputs,
                    [ours(weights[at]) for at in own_kept],
                    create_graph=True,
                    materialize_grads=True,
                )
            else:
                gradients = tuple([opdsl.zeros_like(value) for value in own_inputs])
            for name, one, other in zip(names, gradients, wanted, strict=True):
                known = other.detach()[other.detach().isfinite()].abs()
                scale = max(self.margin, self.margin * float(known.max()) if known.numel() else 0.0)
                problem = difference(one, other, _ROUNDINGS[order] * scale, 0.0)
                if problem:
                    return f"gradient of {name}, order {order}: {problem}"
            results, own = list(wanted), list(gradients)
        return None

    # ------------------------------------------------------------------------------------------------------ transforms

    def batches(self) -> str | None:
        """Describe how ``vmap`` over the first tensor differs from separate calls, or return None."""
        first, *others = self.arguments()
        several = [first, first * 2, first + first]
        actual = listed(opdsl.vmap(lambda value: self.operator(value, *others))(opdsl.stack(several)))
        wanted = [listed(self.operator(sample, *others)) for sample in several]
        for at, result in enumerate(actual):
            stacked = torch.stack([theirs(results[at]) for results in wanted])
            problem = self._same(result, stacked)
            if problem:
                return f"vmap: {problem}"
        return None

    def tangents(self) -> str | None:
        """Describe how forward-mode derivatives differ from PyTorch's, or return None."""
        at = [place for place, tensor in enumerate(self.drawn.tensors.values()) if tensor.dtype is torch.float64]
        kept = [place for place, value in enumerate(self.wide) if _is_float(value)]
        if not at or not kept:
            return None
        names, arguments = list(self.drawn.tensors), self.arguments()
        directions = [_weight(self.leaves[names[place]], place) for place in at]

        def own(*values: Any) -> Any:
            inputs = list(arguments)
            for place, value in zip(at, values, strict=True):
                inputs[place] = value
            results = listed(self.operator(*inputs))
            return tuple([results[place] for place in kept])

        def computed(*values: torch.Tensor) -> Any:
            results, _ = self.drawn.expected(
                self.leaves | {names[place]: v for place, v in zip(at, values, strict=True)}
            )
            return tuple([results[place] for place in kept])

        _, tangent = jvp(
            own, tuple([arguments[place] for place in at]), tuple([ours(direction) for direction in directions])
        )
        inputs = tuple([self.leaves[names[place]].detach() for place in at])
        with wide_numbers():
            _, wanted = torch.autograd.functional.jvp(computed, inputs, tuple(directions))
        for one, other in zip(listed(tangent), listed(wanted), strict=True):
            known = other[other.isfinite()].abs()
            scale = self.margin * max(1.0, float(known.max()) if known.numel() else 0.0)
            problem = difference(one, other, _ROUNDINGS[1] * scale, 0.0)
            if problem:
                return f"jvp: {problem}"
        return None

    def program(self) -> str | None:
        """Describe how ``opdsl.compile`` of a call differs from the call itself, or return None."""
        compiled = opdsl.compile(lambda *values: self.operator(*values))
        for _ in range(2):
            computed, wanted = listed(compiled(*self.arguments())), listed(self.operator(*self.arguments()))
        problems = (self._same(one, theirs(other)) for one, other in zip(computed, wanted, strict=True))
        return next((f"compile: {problem}" for problem in problems if problem), None)

    def in_torch(self) -> str | None:
        """Describe how the operator registered in PyTorch differs, called alone and within ``torch.compile``, or return
        None.
        """
        register(self.library)
        torch._dynamo.reset()
        function = getattr(torch.ops, self.library.namespace).f.default
        inputs = [*self.drawn.tensors.values(), *self.drawn.numbers.values()]
        compiled = torch.compile(lambda *values: function(*values), backend="eager")
        wanted = listed(self.operator(*self.arguments()))
        for what, call in (("torch", function), ("torch.compile", compiled)):
            for one, other in zip(listed(call(*inputs)), wanted, strict=True):
                problem = self._same(ours(one), theirs(other))
                if problem:
                    return f"{what}: {problem}"
        return None

    def _same(self, result: Any, expected: torch.Tensor) -> str | None:
        last = torch.finfo(expected.dtype).eps if _is_inexact(expected) else 0.0
        return difference(result, expected, _ROUNDINGS[0] * self.margin, last)


def _weight(tensor: torch.Tensor, at: int) -> torch.Tensor:
    """Return distinct weights of a tensor's shape and dtype, which serve as the gradient of a result."""
    return torch.cos(torch.arange(tensor.numel(), dtype=torch.float64) + at).reshape(tensor.shape).to(tensor.dtype)


def problem_of(drawn: Formula) -> str | None:
    """Describe the first fault of a formula, or return None; its seed selects the transform that is checked."""
    with Library(f"random_formula_{next(counter)}") as library:
        trial = Trial(drawn, library)
        problem = trial.values() or trial.gradients()
        if problem or trial.error is not None:
            return problem
        transforms = (trial.batches, trial.tangents, trial.program, trial.in_torch)
        return transforms[drawn.seed % len(transforms)]()
