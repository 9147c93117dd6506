"""Tests that fused steps compute the same as separate ones."""

from __future__ import annotations

import numpy

import opdsl
from opdsl import Tensor
from opdsl.programs.compiled import RECORDED_PASSES, optimised
from opdsl.programs.derivative import differentiated
from opdsl.programs.leaves import as_leaves
from opdsl.programs.tracing import as_function


def test_rows_under_a_condition_keep_the_dtype_of_what_is_added() -> None:
    def masked(condition: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        chosen = opdsl.where(condition, x, y)
        return chosen.sum([0], True), chosen * 0.0

    condition = opdsl.tensor([[True, False], [True, True]])
    compiled = opdsl.compile(masked)
    for _ in range(2):
        total, nothing = compiled(condition, opdsl.full((2, 2), 2.5), opdsl.tensor(0.5))
        assert (total.tolist(), nothing.tolist()) == ([[5.0, 3.0]], [[0.0, 0.0], [0.0, 0.0]])


def test_fused_results_have_the_strides_of_separate_steps() -> None:
    """The result of a fused ``masked_fill`` is row-major for any input layout, so that ``view`` works on it."""
    x = opdsl.arange(12.0).reshape(3, 4).t()
    compiled = opdsl.compile(lambda x: (x.masked_fill(x > 5, 0.0) + 0.0).view(-1))
    for _ in range(3):
        assert compiled(x).tolist() == [0, 4, 0, 1, 5, 0, 2, 0, 0, 3, 0, 0]


def test_programs_share_row_operators_without_the_symbols_of_the_first() -> None:
    with opdsl.Library("shared_rows") as lib:

        @lib.op
        @opdsl.formula
        def normalized(self: Tensor, dim: int = -1) -> Tensor:
            e = opdsl.exp(self - self.amax(dim, keepdim=True))
            return e / e.sum(dim, keepdim=True)

        x = opdsl.rand(3, 5)
        normalized(x, 1)  # the formula's own program has a symbol for the dimension
        program = optimised(opdsl.trace(lambda x: normalized(x, 1), x), RECORDED_PASSES)
        leaves = as_leaves(program.inputs, (x.clone().requires_grad_(),))
        parts = differentiated(as_function(program), leaves)
        _, kept = parts.forward.function(x, *parts.forward.constants.values())
        (gradient,) = parts.backward.function(*kept, x, *parts.backward.constants.values())
    wanted = numpy.exp(x.numpy()) / numpy.exp(x.numpy()).sum(1, keepdims=True)
    wanted = wanted * (x.numpy() - (wanted * x.numpy()).sum(1, keepdims=True))
    numpy.testing.assert_allclose(gradient.numpy(), wanted, rtol=1e-5, atol=1e-6)
