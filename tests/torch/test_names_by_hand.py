"""Functions of PyTorch's that are no operators, and names of dtypes and numbers."""

from __future__ import annotations

import math

import numpy
import pytest
import torch

import opdsl


@pytest.mark.parametrize("name", ["cdouble", "cfloat", "double", "half", "long", "short"])
def test_second_names_of_dtypes(name: str) -> None:
    assert getattr(opdsl, name).name == str(getattr(torch, name)).removeprefix("torch.")


def test_numbers() -> None:
    assert (opdsl.pi, opdsl.e, opdsl.inf) == (torch.pi, torch.e, torch.inf)
    assert math.isnan(opdsl.nan)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
def test_finfo(dtype: str) -> None:
    ours, theirs = opdsl.finfo(getattr(opdsl, dtype)), torch.finfo(getattr(torch, dtype))
    for name in ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(ours, name) == getattr(theirs, name), name


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo(dtype: str) -> None:
    ours, theirs = opdsl.iinfo(getattr(opdsl, dtype)), torch.iinfo(getattr(torch, dtype))
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


def test_limits_of_other_kinds_are_refused() -> None:
    for limits, dtype in ((opdsl.finfo, "int32"), (opdsl.iinfo, "float32"), (opdsl.iinfo, "bool")):
        with pytest.raises(opdsl.errors.DTypeError):
            limits(getattr(opdsl, dtype))


@pytest.mark.parametrize("shapes", [(), ((3, 1), (2, 1, 4)), (5, (2, 1)), ((0,), (1,)), ((2, 3), (4, 3))])
def test_broadcast_shapes(shapes: tuple[int | tuple[int, ...], ...]) -> None:
    try:
        expected = tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        with pytest.raises(RuntimeError):
            opdsl.broadcast_shapes(*shapes)
    else:
        assert opdsl.broadcast_shapes(*shapes) == expected


@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("more", [{}, {"return_inverse": True}, {"return_counts": True, "return_inverse": True}])
def test_unique(more: dict[str, bool], dim: int | None) -> None:
    numbers = numpy.random.default_rng(0).integers(0, 2, (6, 3))
    ours = opdsl.unique(opdsl.tensor(numbers), dim=dim, **more)
    theirs = torch.unique(torch.tensor(numbers), dim=dim, **more)
    assert isinstance(ours, tuple) == isinstance(theirs, tuple)
    for one, other in zip(ours if more else [ours], theirs if more else [theirs], strict=True):
        assert one.tolist() == other.tolist()


def test_questions() -> None:
    assert opdsl.is_tensor(opdsl.ones(1)) and not opdsl.is_tensor(numpy.ones(1))
    assert opdsl.numel(opdsl.ones(2, 3)) == 6
    with pytest.raises(TypeError, match="must be Tensor"):
        opdsl.numel([1])


def test_asarray() -> None:
    array = numpy.arange(3.0)
    assert opdsl.asarray(array).data_ptr() == array.ctypes.data
    assert opdsl.asarray(array, copy=True).data_ptr() != array.ctypes.data
    tensor = opdsl.asarray(array)
    assert opdsl.asarray(tensor) is tensor
    assert opdsl.asarray(array, dtype=opdsl.float32).dtype is opdsl.float32
    assert opdsl.asarray([1.0], requires_grad=True).requires_grad
    for given, dtype in (([1.0], None), (array, opdsl.float32)):
        with pytest.raises(ValueError, match="copy only"):
            opdsl.asarray(given, dtype=dtype, copy=False)
    of_bytes = torch.asarray(bytearray(b"ab"), dtype=torch.uint8)
    assert opdsl.asarray(bytearray(b"ab"), dtype=opdsl.uint8).tolist() == of_bytes.tolist()
