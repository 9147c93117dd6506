"""Tests of tensors as operands of Python and NumPy: ``in``, NumPy's functions, operators between arrays and tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import opdsl
from tests.torch.twins import assert_fails

PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "number in": lambda lib, x: 1.0 in x,
    "number not in": lambda lib, x: 7 in x,
    "row in": lambda lib, x: x[0] in x,
    "tensor in": lambda lib, x: lib.tensor(2.0) in x,
    "None in": lambda lib, x: None in x,
    "text in": lambda lib, x: "1" in x,
    "function of NumPy": lambda lib, x: numpy.sin(x),
    "function of two": lambda lib, x: numpy.add(x, x),
    "function of what requires grad": lambda lib, x: numpy.sin(x.requires_grad_()),
    "function into an array": lambda lib, x: numpy.add(x, 1, out=numpy.ones((2, 3), numpy.float32)).tolist(),
    "array behind": lambda lib, x: x + numpy.ones(3),
    "number of NumPy before": lambda lib, x: numpy.float64(2) * x,
    "matrix of NumPy": lambda lib, x: x @ numpy.ones((3, 2), numpy.float32),
    "array made of tensors": lambda lib, x: numpy.stack([x, x]).tolist(),
    "array written": lambda lib, x: numpy.ones((2, 3), numpy.float32).__iadd__(x).tolist(),
}


# Operations with arrays that PyTorch rejects and NumPy computes.
BESIDE_ARRAYS: dict[str, Callable[[Any], Any]] = {
    "array before": lambda x: numpy.ones(3) * x,
    "array compared": lambda x: x < numpy.ones(3),
}


@pytest.mark.parametrize("program", BESIDE_ARRAYS)
def test_beside_arrays_elements_are_computed_as_numpy_does(program: str) -> None:
    elements = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    result = BESIDE_ARRAYS[program](opdsl.tensor(elements))
    assert result.tolist() == BESIDE_ARRAYS[program](numpy.array(elements)).tolist()


def plain(value: Any) -> Any:
    """Return dtype, shape and elements of a tensor, or another value unchanged."""
    if isinstance(value, (torch.Tensor, opdsl.Tensor)):
        return str(value.dtype).partition(".")[2], tuple(value.shape), value.tolist()
    return value


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program: str) -> None:
    def run(lib: Any) -> Any:
        return plain(PROGRAMS[program](lib, lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])))

    try:
        expected = run(torch)
    except Exception as error:
        with pytest.raises(Exception) as failed:
            run(opdsl)
        if isinstance(failed.value, opdsl.errors.OpdslError):
            assert_fails(lambda: run(opdsl), error)
        assert isinstance(failed.value, type(error))
    else:
        assert run(opdsl) == expected


@pytest.mark.parametrize("name", ["truediv", "floordiv", "sub", "mul", "add", "pow", "mod", "matmul"])
def test_unknown_operands_give_not_implemented(name: str) -> None:
    x = opdsl.ones(2)
    assert getattr(x, f"__{name}__")(object()) is NotImplemented
    assert getattr(x, f"__r{name}__")(object()) is NotImplemented
