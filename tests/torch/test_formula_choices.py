"""Tests of operators with several formulas in a running PyTorch."""

from __future__ import annotations

import pytest
import torch

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.interop.torch import register

lib = Library("formula_choices_torch")


@lib.op(inplace=True, out=True)
@formula
def chosen(self: Tensor, mode: str = "exact", n: int = 2) -> Tensor:
    return self / n


@chosen.formula(dtypes="integer")
def chosen_integer(self: Tensor) -> Tensor:
    return self >> 1


@chosen.formula(dtypes="floating", when={"mode": "squared"})
def chosen_squared(self: Tensor, n: int) -> Tensor:
    return self * self * n


@chosen.formula(dtypes="floating", when={"mode": "exact", "n": 3})
def chosen_three(self: Tensor) -> Tensor:
    return self.sin()


@lib.op
@formula
def folded(self: Tensor, centre: bool = False) -> Tensor:
    return self * 2


@folded.formula(dtypes="floating", when={"centre": True})
def folded_centre(self: Tensor) -> Tensor:
    return self - self.mean(-1, keepdim=True)


@pytest.fixture(scope="module", autouse=True)
def registered():
    register(lib)


CALLS = {
    "exact": (lambda x: torch.ops.formula_choices_torch.chosen(x), lambda x: x / 2),
    "squared": (lambda x: torch.ops.formula_choices_torch.chosen(x, "squared", 5), lambda x: x * x * 5),
    "three": (lambda x: torch.ops.formula_choices_torch.chosen(x, "exact", 3), torch.sin),
    "not centred": (lambda x: torch.ops.formula_choices_torch.folded(x), lambda x: x * 2),
    "centred": (lambda x: torch.ops.formula_choices_torch.folded(x, True), lambda x: x - x.mean(-1, keepdim=True)),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_and_gradients_are_those_of_the_chosen_text(name):
    call, plain = CALLS[name]
    points = torch.linspace(-1, 2, 8, dtype=torch.float64).reshape(2, 4).requires_grad_()
    assert torch.allclose(call(points), plain(points))
    assert torch.autograd.gradcheck(call, (points,))
    assert torch.autograd.gradgradcheck(call, (points,))
    assert torch.allclose(torch.func.vmap(call)(points.detach()), torch.func.vmap(plain)(points.detach()))
    wanted = torch.func.jvp(plain, (points.detach(),), (torch.ones_like(points),))
    assert all(map(torch.allclose, torch.func.jvp(call, (points.detach(),), (torch.ones_like(points),)), wanted))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", ["three", "centred"])
def test_compiled(name, dynamic):
    call, plain = CALLS[name]
    compiled = torch.compile(call, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for rows in (1, 2, 5):
        points = torch.linspace(-1, 2, 4 * rows).reshape(rows, 4)
        assert torch.allclose(compiled(points), plain(points), atol=1e-6)


def test_a_symbolic_number_chooses():
    compiled = torch.compile(
        lambda x, n: torch.ops.formula_choices_torch.chosen(x, "exact", n), dynamic=True, backend="aot_eager"
    )
    x = torch.linspace(-1, 2, 4)
    for n in (2, 3, 4):
        assert torch.allclose(compiled(x, n), x.sin() if n == 3 else x / n)


def test_dtypes_choose_and_opcheck():
    op = torch.ops.formula_choices_torch.chosen
    assert op(torch.tensor([7, -7])).tolist() == [3, -4]
    assert op.out(torch.tensor([7]), out=torch.empty(0, dtype=torch.int64)).tolist() == [3]
    x = torch.randn(3, requires_grad=True)
    for arguments in ((x,), (x, "squared"), (x, "exact", 3), (torch.tensor([1, 2]),)):
        torch.library.opcheck(op.default, arguments)
    for arguments in ((x,), (x, True)):
        torch.library.opcheck(torch.ops.formula_choices_torch.folded.default, arguments)
    assert opdsl.ops.formula_choices_torch.chosen(opdsl.tensor([7])).tolist() == [3]
