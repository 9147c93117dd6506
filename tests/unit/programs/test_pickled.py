"""Programs in pickles and deep copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import opdsl
from opdsl.errors import ProgramError
from opdsl.programs.loading import unpickled

WEIGHT = opdsl.tensor([1.0, 2.0, 4.0])


def weighted(x: opdsl.Tensor, r: float) -> dict[str, Any]:
    return {"all": [(x * WEIGHT + r).sum()], "shape": x.shape[0]}


@pytest.mark.parametrize("again", [lambda program: pickle.loads(pickle.dumps(program)), copy.deepcopy])
def test_programs_are_pickled_and_copied(again: Callable[[opdsl.Program], opdsl.Program]) -> None:
    program = opdsl.trace(weighted, opdsl.ones(2, 3), 0.5)
    other = again(program)
    assert other == program and other is not program
    result = other(opdsl.ones(5, 3), 2.0)
    assert (float(result["all"][0]), result["shape"]) == (5 * 7 + 15 * 2.0, 5)
    held = next(iter(other.constants.values()))
    held.fill_(0)
    assert WEIGHT.tolist() == [1.0, 2.0, 4.0]
    assert other != program


@pytest.mark.parametrize("text", ["", "[]", '{"format": "opdsl.program"}'])
def test_other_texts_are_no_programs(text: str) -> None:
    with pytest.raises(ProgramError, match="the pickle"):
        unpickled(text, {})
