"""Tests of gradients on PyTorch's own samples (``op_db``), for every operator that PyTorch differentiates.

First and second gradients, and tangents (forward mode), are compared with PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

import opdsl
from opdsl.autograd.functional import pushed
from opdsl.errors import MissingDerivativeError
from tests.by_date import FULL, half_of_today, is_its_turn
from tests.laws.differences import WITHOUT_DIFFERENCES, takes_complex
from tests.torch.op_db import DAYS, FEW, MOST, function_of, is_random, name_of, operators, our_name, thinned
from tests.torch.twins import Twins
from tests.torch.twins import theirs as real

# Operators whose gradients are not compared with PyTorch's, with the reason.
LEFT_OUT: dict[str, str] = {
    **{f"nn.functional.dropout{kind}": "its values are random" for kind in ("", "2d", "3d")},
    "nn.functional.alpha_dropout": "its values are random",
    "nn.functional.feature_alpha_dropout.with_train": "its values are random",
    **dict.fromkeys(
        ("linalg.svd", "svd", "linalg.eigh", "linalg.eig"),
        "directions of vectors are free: linalg/test_spectral_factors.py takes what does not depend on them",
    ),
    **dict.fromkeys(
        ("linalg.norm", "linalg.norm.subgradients_at_zero"),
        "at zero PyTorch's are NaN, ours 0; linalg.vector_norm and linalg.matrix_norm are held",
    ),
    "nn.functional.rrelu": "its values are random",
    **{f"nn.functional.fractional_max_pool{dims}d": "its values are random" for dims in (2, 3)},
    **{
        f"nn.functional.max_unpool{dims}d": "several elements go to one place, where one of them stays"
        for dims in (1, 2, 3)
    },
    "istft-complex128": "its windows are slices of which PyTorch says here that they have not been used",
    "as_strided_scatter": "PyTorch gives self the gradient of what is replaced (its own gradcheck is left out)",
}

# Operators without second gradients in PyTorch, although op_db claims them.
WITHOUT_SECOND = {"nn.functional.ctc_loss"}

Function = Callable[..., Any]


def of_hermitian(function: Function, matrix: Any, *rest: Any, **named: Any) -> Any:
    return function(matrix + matrix.mH, *rest, **named)


def of_triangular(place: int, is_upper: bool, function: Function, *inputs: Any, upper: bool | None = None) -> Any:
    chosen = is_upper if upper is None else upper
    matrix = inputs[place].triu() if chosen else inputs[place].tril()
    return function(*inputs[:place], matrix, *inputs[place + 1 :], upper=chosen)


# Wrappers that keep directions within a kind of matrices, as op_db's gradcheck_wrapper does.
WITHIN: dict[str, Callable[..., Any]] = {
    "linalg.cholesky": of_hermitian,
    "linalg.cholesky_ex": of_hermitian,
    "triangular_solve": partial(of_triangular, 1, True),
}

# Operators whose tangents are not compared, with the reason.
WITHOUT_TANGENTS = {
    "logcumsumexp": "PyTorch's are NaN where its logarithms overflow",
    "cholesky_inverse": "PyTorch's are not what finite differences give, ours are",
}

# Relative errors where PyTorch has fewer digits: it rounds the slope 1/6 of hardsigmoid to float32, sums of
# exponentials of large numbers cancel, reflections are undone by their inverses. The weights of cov are float32 in all
# samples, and so are their sums.
COARSE = {"nn.functional.hardsigmoid": 1e-7, "logcumsumexp": 1e-7, "cov": 1e-6, "linalg.householder_product": 1e-7}

# Messages of errors in PyTorch: second gradients of layer_norm without a weight, and missing gradients.
BUGS = ("Expected a proper Tensor but got None", "flash_attention_for_cpu_backward is not implemented")

DTYPES = (torch.float64, torch.complex128)


def cases(wanted: Callable[[Any], object] = lambda info: True, *, in_turn: bool = False) -> Iterator[Any]:
    """Yield test parameters of operators and dtypes.

    wanted: a condition on operators.
    in_turn: tests half of the operators a day, in one of two dtypes, if finite differences test the other one.
    """
    for index, info in enumerate(operators()):
        if not wanted(info) or (in_turn and not is_its_turn(index, DAYS)):
            continue
        known = info.supported_backward_dtypes("cpu") if info.supports_autograd else ()
        dtypes = [dtype for dtype in DTYPES if dtype in known]
        if in_turn and len(dtypes) == 2 and not FULL and f"aten::{our_name(info)}" not in WITHOUT_DIFFERENCES:
            dtypes = [dtypes[not takes_complex(our_name(info))]]
        for dtype in dtypes:
            name = f"{name_of(info)}-{str(dtype).removeprefix('torch.')}"
            if not {name, name_of(info)} & LEFT_OUT.keys():
                yield pytest.param(info, dtype, id=name)


def has_tangents(info: Any) -> bool:
    return info.supports_forward_ad and name_of(info) not in WITHOUT_TANGENTS


def tensors_in(value: Any) -> Iterator[Any]:
    """Yield all tensors of arguments or results, in order."""
    if isinstance(value, (torch.Tensor, opdsl.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for element in value:
            yield from tensors_in(element)
    elif isinstance(value, dict):
        for element in value.values():
            yield from tensors_in(element)


def differentiable(result: Any) -> list[Any]:
    return [tensor for tensor in tensors_in(result) if tensor.requires_grad]


def twins_of(inputs: Any) -> Any:
    """Return copies of arguments as tensors of opdsl, which require grad if the originals do."""
    with torch.no_grad():
        own = Twins().of(inputs)
    for mine, other in zip(tensors_in(own), tensors_in(inputs), strict=True):
        if other.requires_grad:
            mine.requires_grad_()
    return own


class Calls:
    """Sample, called in both libraries; copies of tensors require grad if the originals do.

    leaves, results: PyTorch's tensors that require grad.
    own, tracked: those of opdsl.
    problem: the reason if opdsl has no results.
    """

    def __init__(self, info: Any, sample: Any) -> None:
        ours = function_of(info)
        assert ours is not None
        self.inputs = ((sample.input, *sample.args), sample.kwargs)
        within = WITHIN.get(name_of(info))
        self.call = info.op if within is None else partial(within, info.op)
        ours = ours if within is None else partial(within, ours)
        twins = twins_of(self.inputs)
        self.leaves = differentiable(self.inputs)
        self.own = differentiable(twins)
        every = list(tensors_in(self.call(*self.inputs[0], **self.inputs[1]))) if self.leaves else []
        self.places = [index for index, tensor in enumerate(every) if tensor.requires_grad]
        self.results = [every[index] for index in self.places]
        self.tracked: list[Any] = []
        self.problem: list[str] = []
        if self.results:
            try:
                self.tracked = differentiable(ours(*twins[0], **twins[1]))
            except Exception as error:
                self.problem = [f"{error!r} for a result"]
            else:
                if len(self.tracked) != len(self.results):
                    self.problem = [f"{len(self.tracked)} results require grad, not {len(self.results)}"]

    @property
    def is_comparable(self) -> bool:
        return bool(self.results) and not self.problem

    def of_duals(self, directions: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run PyTorch's call on dual numbers along the directions, and return the results that require grad."""
        duals = map(forward_ad.make_dual, self.leaves, directions)
        positional, named = replaced(self.inputs, duals)
        every = list(tensors_in(self.call(*positional, **named)))
        return [every[index] for index in self.places]


def replaced(value: Any, tensors: Iterator[torch.Tensor]) -> Any:
    """Return arguments in which the tensors that require grad are replaced."""
    if isinstance(value, torch.Tensor):
        return next(tensors) if value.requires_grad else value
    if isinstance(value, dict):
        return {name: replaced(element, tensors) for name, element in value.items()}
    return type(value)(replaced(element, tensors) for element in value) if type(value) in (list, tuple) else value


def seeds_of(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn_like(tensor) for tensor in tensors]


def gradients(library: Any, outputs: list[Any], inputs: list[Any], seeds: list[Any], **options: Any) -> tuple[Any, ...]:
    grad: tuple[Any, ...] = library.autograd.grad(
        outputs, inputs, seeds, allow_unused=True, materialize_grads=True, **options
    )
    return grad


def first(calls: Calls) -> list[tuple[Any, Any]]:
    """Return pairs of first gradients, of opdsl and of PyTorch."""
    seeds = seeds_of(calls.results)
    theirs = gradients(torch, calls.results, calls.leaves, seeds)
    return list(zip(gradients(opdsl, calls.tracked, calls.own, Twins().of(seeds)), theirs, strict=True))


def second(calls: Calls) -> list[tuple[Any, Any]]:
    """Return pairs of second gradients, by the leaves and by the gradients of the results."""

    def of(library: Any, results: list[Any], leaves: list[Any], seeds: list[Any], directions: list[Any]) -> Any:
        for seed in seeds:
            seed.requires_grad_()
        once = gradients(library, results, leaves, seeds, create_graph=True)
        # Gradients that depend on nothing have no gradients, or zeros.
        kept = [(one, direction) for one, direction in zip(once, directions, strict=True) if one.requires_grad]
        inputs = [*leaves, *seeds]
        if not kept:
            return [library.zeros_like(input) for input in inputs]
        return gradients(library, [one for one, _ in kept], inputs, [direction for _, direction in kept])

    seeds, directions = seeds_of(calls.results), seeds_of(calls.leaves)
    ours = of(opdsl, calls.tracked, calls.own, Twins().of(seeds), Twins().of(directions))
    try:
        theirs = of(torch, calls.results, calls.leaves, seeds, directions)
    except RuntimeError as error:
        assert any(bug in str(error) for bug in BUGS)
        return []
    return list(zip(ours, theirs, strict=True))


def tangents(calls: Calls) -> list[tuple[Any, Any]]:
    """Return pairs of derivatives of the results along a direction of the leaves; PyTorch's come from dual numbers."""
    directions = seeds_of(calls.leaves)
    with forward_ad.dual_level():
        theirs = [forward_ad.unpack_dual(dual).tangent for dual in calls.of_duals(directions)]
    ours = pushed(calls.tracked, calls.own, Twins().of(directions), create_graph=False)
    pairs = []
    for one, other, result, actual in zip(ours, theirs, calls.results, calls.tracked, strict=True):
        mine = opdsl.zeros_like(actual.detach()) if one is None else one
        pairs.append((mine, torch.zeros_like(result) if other is None else other.detach()))
    return pairs


def differing(tensor: opdsl.Tensor, expected: torch.Tensor, tolerance: float) -> list[str]:
    """Return how a gradient differs; the absolute tolerance covers sums that cancel, since seeds are about 1."""
    values = real(tensor)
    if (values.dtype, values.shape) != (expected.dtype, expected.shape):
        return [f"{values.dtype}{list(values.shape)} for {expected.dtype}{list(expected.shape)}"]
    absolute = tolerance / 100
    if expected.dtype is torch.float32:  # the weights of cov: sums of terms of about 100 that cancel
        tolerance, absolute = 2e-6, 1e-4
    if torch.allclose(values, expected, rtol=tolerance, atol=absolute, equal_nan=True):
        return []
    return [f"{values.tolist()} for {expected.tolist()}"[:300]]


def compare(order: Callable[[Calls], list[tuple[Any, Any]]], info: Any, dtype: torch.dtype) -> list[str]:
    """Return how the gradients of all samples of an operator differ."""
    wrong: list[str] = []
    torch.manual_seed(0)
    chosen = thinned(info.sample_inputs("cpu", dtype, requires_grad=True), MOST if order is first else FEW)
    for sample in half_of_today(chosen) if len(chosen) > FEW else chosen:
        if is_random(info, sample):
            continue  # its results are random
        calls = Calls(info, sample)
        wrong += calls.problem
        if calls.is_comparable:
            try:
                pairs = order(calls)
            except MissingDerivativeError as error:
                wrong.append(str(error))
            else:
                tolerance = COARSE.get(name_of(info), 1e-9)
                wrong += [text for pair in pairs for text in differing(*pair, tolerance)]
    return wrong


@pytest.mark.parametrize(("info", "dtype"), list(cases()))
def test_gradients_agree(info: Any, dtype: torch.dtype) -> None:
    assert compare(first, info, dtype) == []


def has_second(info: Any) -> bool:
    return info.supports_gradgrad and name_of(info) not in WITHOUT_SECOND


@pytest.mark.parametrize(("info", "dtype"), list(cases(has_second, in_turn=True)))
def test_second_gradients_agree(info: Any, dtype: torch.dtype) -> None:
    assert compare(second, info, dtype) == []


@pytest.mark.parametrize(("info", "dtype"), list(cases(has_tangents, in_turn=True)))
def test_tangents_agree(info: Any, dtype: torch.dtype) -> None:
    assert compare(tangents, info, dtype) == []
