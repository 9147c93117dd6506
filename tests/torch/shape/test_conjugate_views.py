"""Tests of conjugate and negative views, compared with PyTorch's: shared memory, writes through views, gradients."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from opdsl.errors import InterchangeError, OpdslError
from opdsl.testing import gradcheck
from tests.torch.twins import Twins, assert_agree, bit_differences, of

Call = Callable[..., Any]


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.complex64, generator=torch.Generator().manual_seed(seed))


# ---------------------------------------------------------------------------------------------------------------- views

VIEWS: dict[str, Call] = {
    "conj": lambda lib, x: x.conj(),
    "conj of real numbers": lambda lib, x: x.real.conj(),
    "conj twice": lambda lib, x: x.conj().conj(),
    "adjoint": lambda lib, x: x.adjoint(),
    "mH": lambda lib, x: x.mH,
    "H": lambda lib, x: x.H,
    "mH twice": lambda lib, x: x.mH.mH,
    "imag": lambda lib, x: x.conj().imag,
    "real": lambda lib, x: x.conj().real,
    "part of a view": lambda lib, x: x.conj()[1:, 0].imag,
    "negative": lambda lib, x: lib._neg_view(x),
    "both": lambda lib, x: lib._neg_view(x.conj()),
    "imag of both": lambda lib, x: lib._neg_view(x).conj().imag,
    "parts of a negative view": lambda lib, x: lib.view_as_real(lib._neg_view(x)),
    "complex of negative parts": lambda lib, x: lib.view_as_complex(lib._neg_view(lib.view_as_real(x))),
    "transpose": lambda lib, x: x.conj().t(),
    "reshape": lambda lib, x: x.conj().reshape(-1),
    "reshape that copies": lambda lib, x: x.mH.reshape(-1),
    "contiguous": lambda lib, x: x.conj().contiguous(),
    "contiguous that copies": lambda lib, x: x.mH.contiguous(),
    "expand": lambda lib, x: x.conj().expand(2, 3, 3),
    "diagonal": lambda lib, x: x.mH.diagonal(),
    "as_strided": lambda lib, x: x.conj().as_strided((2, 2), (1, 3), 1),
    "unbind": lambda lib, x: x.conj().unbind()[1],
    "detach": lambda lib, x: x.conj().detach(),
    "data": lambda lib, x: x.conj().data,
    "to": lambda lib, x: x.conj().to(lib.complex64),
    "to that copies": lambda lib, x: x.conj().to(lib.complex128),
    "clone": lambda lib, x: x.mH.clone(),
    "resolve_conj": lambda lib, x: x.conj().resolve_conj(),
    "resolve_conj of none": lambda lib, x: x.resolve_conj(),
    "resolve_neg": lambda lib, x: x.conj().imag.resolve_neg(),
    "resolve_neg of both": lambda lib, x: lib._neg_view(x.conj()).resolve_neg(),
    "conj_physical": lambda lib, x: x.conj().conj_physical(),
    "_conj_physical": lambda lib, x: lib._conj_physical(x.conj()),
    "_conj_copy": lambda lib, x: lib._conj_copy(x.conj()),
    "_neg_view_copy": lambda lib, x: lib._neg_view_copy(x.conj()),
    "indices": lambda lib, x: x.conj()[[2, 0]],
    "empty_like": lambda lib, x: lib.zeros_like(x.conj()),
    "svd": lambda lib, x: lib.svd(lib.ones_like(x))[1],
    "transposed in place": lambda lib, x: x.conj().t_(),
    "copied by Python": lambda lib, x: copy.copy(x.conj()),
    "copied deeply": lambda lib, x: copy.deepcopy(x.conj()),
}

# Singular values have errors relative to the largest one, so a 0 among them becomes a rounding error, which differs
# between processors.
INEXACT: dict[str, Callable[[torch.dtype], float]] = {"svd": lambda dtype: 16 * torch.finfo(dtype).eps}


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_the_bits_and_the_memory_of_pytorch(name: str) -> None:
    theirs = numbers(3, 3)
    ours = of(theirs)
    for _ in range(4):
        actual, expected = VIEWS[name](opdsl, ours), VIEWS[name](torch, theirs)
        assert_agree(actual, expected, tolerance=INEXACT.get(name))
        assert bit_differences(actual, expected) == []
        assert (actual.data_ptr() == ours.data_ptr()) == (expected.data_ptr() == theirs.data_ptr())


def test_a_view_without_a_bit_is_that_of_the_base() -> None:
    x = of(numbers(3))
    assert x.conj()._base is x
    assert x.resolve_conj() is x
    assert x.resolve_neg() is x


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_meta_tensors_have_bits(device: str) -> None:
    x = opdsl.empty(2, 3, dtype=opdsl.complex64, device=device)
    assert x.mH.is_conj()
    assert x.mH.imag.is_neg()
    assert not (x.mH * 2).is_conj()
    assert (x.mH @ x).shape == (3, 3)


# ------------------------------------------------------------------------------------------------------------- elements

COMPUTED: dict[str, Call] = {
    "add": lambda lib, x: x.conj() + x,
    "add of numbers": lambda lib, x: x.conj() + 2j,
    "both operands": lambda lib, x: x.conj() * x.mH,
    "mm": lambda lib, x: x.conj() @ x,
    "mm of the adjoint": lambda lib, x: x.mH @ x,
    "mm by the adjoint": lambda lib, x: x @ x.mH,
    "addmm": lambda lib, x: lib.addmm(x.conj(), x.mH, x.conj(), beta=2j),
    "bmm": lambda lib, x: lib.bmm(x.expand(2, 3, 3).mH, x.expand(2, 3, 3)),
    "vdot": lambda lib, x: lib.vdot(x[0].conj(), x[1]),
    "dot": lambda lib, x: lib.dot(x[0].conj(), x[1].conj()),
    "sum": lambda lib, x: x.conj().sum(0),
    "imag and real": lambda lib, x: x.conj().imag - x.conj().real,
    "negative view of integers": lambda lib, x: lib._neg_view(lib.arange(4)) + 1,
    "negative views of lists": lambda lib, x: lib.stack([x.conj().imag, x.imag]),
    "cat": lambda lib, x: lib.cat([x.conj(), x, x.mH]),
    "foreach": lambda lib, x: lib._foreach_mul([x.conj(), x], [x, x.conj()])[0],
    "where": lambda lib, x: lib.where(x.real > 0, x.conj(), x),
    "solve": lambda lib, x: lib.linalg.solve(x.mH, x.conj()),
    "fft": lambda lib, x: lib.fft.fft(x.conj()),
    "sort": lambda lib, x: x.conj().imag.reshape(-1).sort()[0],
    "both bits": lambda lib, x: lib._neg_view(x.conj()) * 1,
    "negative view times conjugate view": lambda lib, x: lib._neg_view(x) * x.conj(),
    "equal": lambda lib, x: lib.tensor(lib.equal(x.conj(), x.conj_physical())),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_operators_resolve_conjugate_views(name: str) -> None:
    theirs = numbers(3, 3)
    for _ in range(4):  # by the kernel, by a plan of the form, by a plan of the sizes
        assert_agree(COMPUTED[name](opdsl, of(theirs)), COMPUTED[name](torch, theirs), tolerance=1e-5)


def test_python_resolves_conjugate_views() -> None:
    theirs = numbers(3)
    ours = of(theirs)
    assert ours.conj().tolist() == theirs.conj().tolist()
    assert ours.conj()[0].item() == theirs.conj()[0].item()
    assert repr(ours.conj()) == repr(theirs.conj())
    assert repr(ours.conj().imag) == repr(theirs.conj().imag)
    assert opdsl.tensor([1.5, -2.0], dtype=opdsl.bfloat16)._neg_view().tolist() == [-1.5, 2.0]
    assert_agree(pickle.loads(pickle.dumps(ours.conj())).clone(), theirs.conj().clone())
    assert numpy.array_equal(numpy.asarray(ours.conj()), theirs.conj().resolve_conj().numpy())
    assert numpy.array_equal(ours.conj().numpy(force=True), theirs.conj().numpy(force=True))


REFUSED: dict[str, Call] = {
    "view of another dtype": lambda lib, x: x.conj().view(lib.float32),
    "negative view of another dtype": lambda lib, x: x.conj().imag.view(lib.int32),
    "view_as_real": lambda lib, x: lib.view_as_real(x.conj()),
    "numpy": lambda lib, x: x.conj().numpy(),
    "numpy of a negative view": lambda lib, x: x.conj().imag.numpy(),
    "dlpack": lambda lib, x: x.conj().__dlpack__(),
    "bit of real numbers": lambda lib, x: lib._conj(x.real),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_pytorch_refuses_is_refused(name: str) -> None:
    with pytest.raises((RuntimeError, BufferError)):
        REFUSED[name](torch, numbers(2))
    with pytest.raises(OpdslError):
        REFUSED[name](opdsl, of(numbers(2)))


def test_a_negative_view_is_not_shared_by_dlpack() -> None:
    with pytest.raises(InterchangeError, match=r"resolve_neg\(\)"):
        of(numbers(2)).conj().imag.__dlpack__()


def test_modes_see_calls_without_bits() -> None:
    class Log(opdsl.DispatchMode):
        def dispatch(self, operator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
            seen.append(operator.schema.name.base)
            return operator(*args, **kwargs)

    seen: list[str] = []
    x = of(numbers(2)).conj()
    with Log():
        x.add(1)
    assert seen == ["_conj", "_conj_physical", "add"]


def test_checked_calls_know_bits() -> None:
    theirs = numbers(2)
    with opdsl.checked():
        ours = of(theirs)
        ours.conj().imag.mul_(2)
    theirs.conj().imag.mul_(2)
    assert_agree(ours, theirs)


# -------------------------------------------------------------------------------------------------------------- writing

WRITTEN: dict[str, Call] = {
    "add_": lambda lib, x: x.conj().add_(1j),
    "mul_ by its base": lambda lib, x: x.conj().mul_(x),
    "mul_ of a part": lambda lib, x: x.mH[0].mul_(2j),
    "copy_": lambda lib, x: x.conj().copy_(x.mH.clone()),
    "copy_ of a base": lambda lib, x: x.copy_(x.conj()),
    "fill_": lambda lib, x: x.mH[1].fill_(3 + 1j),
    "zero_": lambda lib, x: x.conj().imag.zero_(),
    "imag": lambda lib, x: x.conj().imag.add_(5),
    "real": lambda lib, x: x.conj().real.add_(5),
    "both bits": lambda lib, x: lib._neg_view(x.conj()).add_(1 + 2j),
    "conj_physical_": lambda lib, x: x.conj().conj_physical_(),
    "conj_physical_ of a part": lambda lib, x: x[0].conj_physical_(),
    "out": lambda lib, x: lib.add(x, x, out=x.conj()),
    "out of the adjoint": lambda lib, x: lib.mm(x, x, out=x.clone().mH),
    "out that is resized": lambda lib, x: lib.add(x, 1, out=lib.empty(0, dtype=lib.complex64).conj()),
    "index_put_": lambda lib, x: x.mH.index_put_((lib.tensor([0, 2]),), x[0]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_writes_through_conjugate_views_are_resolved(name: str) -> None:
    theirs = numbers(3, 3)
    ours = of(theirs)
    for _ in range(4):
        expected, actual = WRITTEN[name](torch, theirs), WRITTEN[name](opdsl, ours)
        if expected is not None:
            assert_agree(actual, expected, tolerance=1e-5)
        assert_agree(ours, theirs, tolerance=1e-5)
        assert ours._version == theirs._version


def test_lists_of_views_are_written() -> None:
    theirs = numbers(3, 3)
    ours = of(theirs)
    for _ in range(4):
        opdsl._foreach_add_([ours.conj()[0], ours.imag[1], ours.conj().imag[2]], 2)
        theirs[0].add_(2)
        theirs.imag[1:].add_(torch.tensor([[2], [-2]]))
        assert_agree(ours, theirs, tolerance=1e-5)


def test_subscripts_write_through_views() -> None:
    theirs = numbers(3, 3)
    ours = of(theirs)
    for matrix in (theirs, ours):
        matrix.conj()[0] = 1 + 2j
        matrix.mH[1, :2] = matrix[0, :2].clone()
        matrix.conj().imag[2] = 7
    assert_agree(ours, theirs)


def test_a_write_that_is_refused_leaves_the_memory() -> None:
    ours = of(numbers(3))
    before = ours.tolist()
    with pytest.raises(OpdslError):
        ours.conj().add_(opdsl.ones(2, 3))
    assert ours.tolist() == before
    assert ours._version == 0


def test_the_result_of_writing_is_the_view() -> None:
    view = of(numbers(3)).conj()
    for _ in range(4):
        assert view.add_(1) is view


# ------------------------------------------------------------------------------------------------------------ gradients

DIFFERENTIATED: dict[str, Call] = {
    "conj": lambda lib, x: x.conj() * x * 1j,
    "adjoint": lambda lib, x: x.mH @ x * x.conj(),
    "imag": lambda lib, x: x.conj().imag * x.real,
    "saved": lambda lib, x: x.conj().exp(),
    "negative": lambda lib, x: lib._neg_view(x) * x,
    "resolve_conj": lambda lib, x: x.conj().resolve_conj() * x,
    "conj_physical": lambda lib, x: x.conj().conj_physical() * x,
    "the view itself": lambda lib, x: x.conj(),
}


@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_pass_views(name: str) -> None:
    theirs = numbers(3, 3).requires_grad_()
    weights = numbers(3, 3, seed=1)
    expected = DIFFERENTIATED[name](torch, theirs)
    weights = weights if expected.is_complex() else weights.real.clone()
    expected.backward(weights)
    for _ in range(4):
        ours = of(theirs.detach()).requires_grad_()
        computed = DIFFERENTIATED[name](opdsl, ours)
        computed.backward(of(weights))
        assert ours.grad is not None
        assert theirs.grad is not None
        assert_agree(ours.grad, theirs.grad, tolerance=1e-5)


@pytest.mark.parametrize("name", ["_conj_copy", "_neg_view_copy", "_conj", "_neg_view"])
def test_derivatives_agree_with_finite_differences(name: str) -> None:
    x = of(numbers(2, 2).to(torch.complex128)).requires_grad_()
    assert gradcheck(lambda x: getattr(opdsl, name)(x) * x, x)


def test_gradients_of_gradients_pass_views() -> None:
    def twice(lib: Any, x: Any) -> Any:
        (first,) = lib.autograd.grad((x.conj() * x * x).abs().sum(), x, create_graph=True)
        return lib.autograd.grad(first.abs().sum(), x)[0]

    theirs = numbers(3).requires_grad_()
    ours = of(theirs.detach()).requires_grad_()
    assert_agree(twice(opdsl, ours), twice(torch, theirs), tolerance=1e-4)


REWRITTEN: dict[str, Call] = {
    "mul_": lambda lib, x, y: x.conj().mul_(y),
    "part": lambda lib, x, y: x.mH[0].mul_(y[0]),
    "negative": lambda lib, x, y: lib._neg_view(x).mul_(y),
    "both": lambda lib, x, y: lib._neg_view(x.conj()).add_(y * 2j),
    "copy_": lambda lib, x, y: x.conj()[1].copy_(y[1]),
    "the base": lambda lib, x, y: x.mul_(y.conj()),
}


@pytest.mark.parametrize("name", REWRITTEN)
def test_gradients_of_what_is_written_through_views(name: str) -> None:
    weights = numbers(3, 3, seed=3)

    def run(lib: Any, x: Any, y: Any, weights: Any) -> tuple[Any, Any]:
        base = x * 1
        view = base.conj()
        REWRITTEN[name](lib, base, y)
        return lib.autograd.grad((base * weights).sum() + (view * weights * 2j).sum(), (x, y), lib.tensor(1 + 0j))

    theirs = [leaf.requires_grad_() for leaf in (numbers(3, 3), numbers(3, 3, seed=2))]
    ours = [of(leaf.detach()).requires_grad_() for leaf in theirs]
    for mine, wanted in zip(run(opdsl, *ours, of(weights)), run(torch, *theirs, weights), strict=True):
        assert_agree(mine, wanted, tolerance=1e-5, strides=False)


# ------------------------------------------------------------------------------------------------------------- programs


def f(x: Any, y: Any) -> Any:
    return (x.conj() * y).sum() + (x.mH @ y).imag.sum()


def test_programs_know_bits() -> None:
    first, second = numbers(3, 3), numbers(3, 3, seed=1)
    x, y = of(first), of(second)
    expected = f(first, second)
    assert_agree(opdsl.trace(f, x, y)(x, y), expected, tolerance=1e-5)
    assert_agree(opdsl.trace(f, x.mH, y)(x.mH, y), f(first.mH, second), tolerance=1e-5)
    compiled = opdsl.compile(f)
    for _ in range(3):
        assert_agree(compiled(x, y), expected, tolerance=1e-5)
        assert_agree(compiled(x.mH, y), f(first.mH, second), tolerance=1e-5)
        assert_agree(compiled(x, y.conj()), f(first, second.conj()), tolerance=1e-5)


def test_compiled_writes_go_through_views() -> None:
    def write(x: Any) -> Any:
        x.conj().mul_(1j)
        return x.conj() + 1

    theirs = numbers(3)
    ours, compiled = of(theirs), opdsl.compile(write)
    for _ in range(3):
        assert_agree(compiled(ours), write(theirs))
        assert_agree(ours, theirs)


def test_vmap_passes_views() -> None:
    theirs = numbers(200, 3)
    assert_agree(
        opdsl.vmap(lambda x: x.conj() * 2)(of(theirs)), torch.vmap(lambda x: x.conj() * 2)(theirs), strides=False
    )


def test_inference_mode_knows_bits() -> None:
    theirs = numbers(3, 3)
    ours = of(theirs)
    with torch.inference_mode():
        expected = [theirs.mH, theirs.mH + 1, theirs.conj().reshape(9), theirs.conj().imag]
    with opdsl.inference_mode():
        actual = [ours.mH, ours.mH + 1, ours.conj().reshape(9), ours.conj().imag]
    for one, other in zip(actual, expected, strict=True):
        assert_agree(one, other)
        assert bit_differences(one, other) == []


def test_twins_share_memory_through_views() -> None:
    theirs = numbers(3)
    twins = Twins().of([theirs, theirs.conj()])
    assert twins[1]._base is twins[0]
