"""Tests of law 14 over random formulas: folds, recurrences, reads, choices and scatters agree with PyTorch.

``python -m tests.laws.test_random_formulas FIRST LAST`` tries seeds, and prints those that fail.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from tests.by_date import FULL, today
from tests.laws.formula_checks import function_of, ours, problem_of
from tests.laws.formula_texts import Writer

COUNT = 2000 if FULL else 40


def tried(seed: int) -> str | None:
    """Return the text of a seed's formula with a description of its fault, or None if it has no fault."""
    drawn = Writer(seed).formula()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = problem_of(drawn)
    shapes = {name: (str(tensor.dtype), tuple(tensor.shape)) for name, tensor in drawn.tensors.items()}
    return problem and f"seed {seed}, {shapes}, {drawn.numbers}:\n{drawn.text}{problem}"


# Formulas of x, y and ids that failed once, by the reason, and their equivalents in PyTorch. These replace elements
# that a condition hides beforehand, so that their slopes are 0.
FOUND: dict[str, tuple[str, Callable[..., torch.Tensor]]] = {
    "gradients of scans of complex numbers were 0": (
        "opdsl.scan(lambda h, a: 0.5j * h + a, 0.0, x[i], along=i).order(i)",
        lambda x, y, ids: torch.stack([x[0], 0.5j * x[0] + x[1], 0.5j * (0.5j * x[0] + x[1]) + x[2]]),
    ),
    "a branch folded what its own condition hid from being read": (
        "(x[2 - i].sum(i) if y[i] > 0 else 0.0).order(i)",
        lambda x, y, ids: torch.where(y > 0, x.sum(), 0.0),
    ),
    "so did one that computed in between": (
        "(opdsl.exp(x[2 - i]).sum(i) if y[i] > 0 else 0.0).order(i)",
        lambda x, y, ids: torch.where(y > 0, x.exp().sum(), 0.0),
    ),
    "another position of such a branch is still hidden": (
        "(x[2 - i].order(i)[ids[i] - 1] if ids[i] > 0 else 0.0).order(i)",
        lambda x, y, ids: torch.where(ids > 0, x.flip(0)[(ids - 1).clamp(0)], 0.0),
    ),
    "gradients of a gathered read were not guarded beside a branch of more dims": (
        "(opdsl.sqrt(y.outside(0.0)[ids[i]]) if y.outside(0.0)[ids[i]] > 0 else x[j]).order(i, j)",
        lambda x, y, ids: torch.where(
            (y[ids] > 0)[:, None], torch.where(y[ids] > 0, y[ids], 1.0).sqrt()[:, None], x[None, :]
        ),
    ),
    "a branch that folds another dim is guarded": (
        "(opdsl.sqrt(y[i] + 0 * x[j]).sum(j) if y[i] > 0 else 0.0).order(i)",
        lambda x, y, ids: torch.where(y > 0, 3 * torch.where(y > 0, y, 1.0).sqrt(), 0.0),
    ),
    "a position without dims was read as an int": (
        "x[ids[1]] * x[i].cumsum(i).order(i)[ids[2]] + y[ids.sum() - 3]",
        lambda x, y, ids: x[ids[1]] * x.cumsum(0)[ids[2]] + y[ids.sum() - 3],
    ),
    "a number outside was refused though the read says what is there": (
        "x.outside(2.5)[7] * x.outside('circular')[4] + x.outside('replicate')[-9] * y.outside(0.0)[-1]",
        lambda x, y, ids: 2.5 * x[1] + x[0] * y[2],
    ),
    "a dim was no initial value of a scan": (
        "opdsl.scan(lambda h, a: h + a, j, i, along=i).order(i, j) * x[i].order(i)[:, None]",
        lambda x, y, ids: (torch.arange(3).cumsum(0)[:, None] + torch.arange(2)) * x[:, None],
    ),
    "conjugates were not computed over dims": (
        "(opdsl.conj(x[i] * 1j) * x[i]).sum(i)",
        lambda x, y, ids: ((x * 1j).conj() * x).sum(),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_text_that_failed(name: str) -> None:
    text, computed = FOUND[name]
    dims = "".join(
        f"    {dim} = opdsl.dim({size})\n" for dim, size in (("i", 3), ("j", 2 if "a dim was" in name else 3))
    )
    is_complex = "complex" in name or "conj" in name
    kind = torch.complex128 if is_complex else torch.float64
    x = torch.tensor([0.5, 1.5, -2.0], dtype=kind) * (1 + 0.5j if is_complex else 1)
    x, y, ids = (
        x.requires_grad_(),
        torch.tensor([-1.0, 4.0, 9.0], dtype=torch.float64).requires_grad_(),
        torch.tensor([0, 2, 1]),
    )
    wanted = computed(x, y, ids)
    weight = torch.cos(torch.arange(wanted.numel(), dtype=torch.float64)).reshape(wanted.shape).to(wanted.dtype)
    slopes = torch.autograd.grad(wanted, [x, y], weight, materialize_grads=True)
    with Library(f"found_{list(FOUND).index(name)}") as library:
        source = f"def f(x: Tensor, y: Tensor, ids: Tensor) -> Tensor:\n{dims}    return {text}\n"
        function = library.op(formula(function_of(source)))
        own = [ours(x).requires_grad_(), ours(y).requires_grad_()]
        for _ in range(3):
            actual = function(*own, ours(ids))
        torch.testing.assert_close(torch.from_dlpack(actual.detach()), wanted.detach())
        gradients = opdsl.autograd.grad([actual], own, [ours(weight)], materialize_grads=True)
        for one, other in zip(gradients, slopes, strict=True):
            torch.testing.assert_close(torch.from_dlpack(one), other)


def test_numbers_stay_weak_while_they_are_carried() -> None:
    """A carried number that only meets other numbers does not become int64 next to a carried value that becomes
    int32.
    """
    with Library("carried_numbers") as library:

        @library.op
        @formula
        def mixed(x: Tensor) -> Tensor:
            k = opdsl.dim()
            return opdsl.scan(lambda c, a: (c[0] ^ c[1], c[1] + a), (0, 0), x[k], along=k)[0].order(k)

        result = mixed(opdsl.tensor([1, 2, 4], dtype=opdsl.int32))
        assert (result.dtype, result.tolist()) == (opdsl.int32, [0, 1, 2])


@pytest.mark.parametrize("place", range(COUNT))
def test_random_formula(place: int) -> None:
    problem = tried(today().toordinal() * COUNT + place)
    assert problem is None, problem


def main(first: int, last: int) -> int:
    failed = 0
    for seed in range(first, last):
        try:
            problem = tried(seed)
        except Exception as error:
            problem = f"seed {seed}: {type(error).__name__}: {error}"
        if problem:
            failed += 1
            print(f"--- {problem}", flush=True)
    print(f"{last - first} formulas, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
