"""Tests of the operators that compute Sobol sequences, compared with PyTorch's."""

import pytest
import torch
from torch.quasirandom import SobolEngine

import opdsl


@pytest.mark.parametrize(("drawn", "count"), [(0, 1), (0, 7), (5, 12)])
def test_points_of_a_sequence_are_pytorchs(drawn: int, count: int) -> None:
    state = SobolEngine(5).sobolstate
    start = torch.randint(0, 2**30, (5,))
    inputs = opdsl.from_dlpack(start), opdsl.from_dlpack(state)
    wanted = torch._sobol_engine_draw(start, count, state, 5, drawn, torch.float32)
    actual = opdsl.ops.aten._sobol_engine_draw(inputs[0], count, inputs[1], 5, drawn, opdsl.float32)
    assert [part.tolist() for part in actual] == [part.tolist() for part in wanted]
    opdsl.ops.aten._sobol_engine_ff_(inputs[0], count, inputs[1], 5, drawn)
    assert inputs[0].tolist() == wanted[1].tolist()


def test_scrambled_states_are_pytorchs() -> None:
    state = SobolEngine(3).sobolstate
    matrices = torch.randint(2, (3, 30, 30)).tril()
    result = opdsl.from_dlpack(state.clone())
    opdsl.ops.aten._sobol_engine_scramble_(result, opdsl.from_dlpack(matrices), 3)
    assert result.tolist() == torch._sobol_engine_scramble_(state, matrices, 3).tolist()
