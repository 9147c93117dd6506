"""Tests of functions of PyTorch that are not operators, and of names of dtypes and numbers."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

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
    wrapped = opdsl.asarray(array)
    assert opdsl.asarray(wrapped) is wrapped
    assert opdsl.asarray(array, dtype=opdsl.float32).dtype is opdsl.float32
    assert opdsl.asarray([1.0], requires_grad=True).requires_grad
    for inputs, dtype in (([1.0], None), (array, opdsl.float32)):
        with pytest.raises(ValueError, match="copy only"):
            opdsl.asarray(inputs, dtype=dtype, copy=False)
    of_bytes = torch.asarray(bytearray(b"ab"), dtype=torch.uint8)
    assert opdsl.asarray(bytearray(b"ab"), dtype=opdsl.uint8).tolist() == of_bytes.tolist()


def test_asarray_follows_gradients_as_it_is_told() -> None:
    followed = opdsl.ones(2, requires_grad=True) + 2
    assert opdsl.asarray(followed) is followed and opdsl.asarray(followed, requires_grad=True) is followed
    assert not opdsl.asarray(followed, requires_grad=False).requires_grad


# ------------------------------------------------------------------------------------------------------ several tensors

MATRIX, OTHER = numpy.arange(6.0).reshape(2, 3), numpy.arange(12.0).reshape(3, 4)
CUBE = numpy.arange(24.0).reshape(2, 3, 4)


def in_both(call: Callable[[Any, Any], Any], *arrays: numpy.ndarray) -> tuple[Any, Any]:
    """Return the results of a call in opdsl and in PyTorch, as lists."""

    def listed(value: Any) -> Any:
        return [listed(element) for element in value] if isinstance(value, (tuple, list)) else value.tolist()

    return tuple(listed(call(lib, *map(lib.asarray, arrays))) for lib in (opdsl, torch))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "call",
    [
        lambda lib, x, y: lib.einsum("ij,jk->ik", x, y),
        lambda lib, x, y: lib.einsum("ij,jk", [x, y]),
        lambda lib, x, y: lib.einsum("...i->...", x),
        lambda lib, x, y: lib.einsum(x, [0, 1], y, [1, 30], [30, 0]),
        lambda lib, x, y: lib.einsum(x, [..., 1], y, [1, 2]),
        lambda lib, x, y: lib.tensordot(x, y, dims=1),
        lambda lib, x, y: lib.tensordot(x, y, dims=0),
        lambda lib, x, y: lib.tensordot(x, y, ([1], [0])),
        lambda lib, x, y: lib.tensordot(x, y, dims=([-1], [0])),
        lambda lib, x, y: lib.tensordot(x, x, lib.asarray([[0, 1], [0, 1]])),
        lambda lib, x, y: lib.atleast_1d(x[0, 0]),
        lambda lib, x, y: lib.atleast_2d(x[0], y),
        lambda lib, x, y: lib.atleast_3d([x, y]),
        lambda lib, x, y: lib.cartesian_prod(x[0], y[0], x[1]),
        lambda lib, x, y: lib.unique_consecutive(lib.asarray([1, 1, 2, 1]), return_counts=True),
        lambda lib, x, y: lib.unique_consecutive(lib.asarray([1, 1, 2, 1])),
        lambda lib, x, y: lib.unravel_index(lib.asarray([[1, 5, 100], [-1, 0, 4]]), (2, 3)),
        lambda lib, x, y: lib.unravel_index(lib.asarray(3), 4),
        lambda lib, x, y: lib.unravel_index(lib.asarray([1]), ()),
        lambda lib, x, y: reversed(x),
        lambda lib, x, y: reversed(x[0, 0]),
        lambda lib, x, y: x.new_tensor([[1, 2]]),
        lambda lib, x, y: x.new_tensor([1.5], dtype=lib.int32),
        lambda lib, x, y: x.clone().apply_(lambda number: number * 2),
        lambda lib, x, y: y.t().clone().apply_(lambda number: number - 1),
        lambda lib, x, y: x.clone().map_(x[:1], lambda one, other: one * other + 1),
    ],
)
def test_tensors_one_by_one(call: Callable[[Any, Any, Any], Any]) -> None:
    ours, theirs = in_both(call, MATRIX, OTHER)
    assert ours == theirs


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda lib, x: lib.unravel_index(x, (2, 3)), TypeError),
        (lambda lib, x: lib.unravel_index(lib.asarray([1]), lib.asarray([2, 3])), TypeError),
        (lambda lib, x: lib.unravel_index(lib.asarray([1]), (lib.asarray(2), 3)), TypeError),
        (lambda lib, x: lib.unravel_index(x.to(lib.int64), (2, -3)), ValueError),
        (lambda lib, x: lib.unravel_index(x.to(lib.int64), (2, 3.0)), TypeError),
        (lambda lib, x: lib.nonzero(x, out=lib.empty(0, dtype=lib.int64), as_tuple=True), RuntimeError),
        (lambda lib, x: (x + 1j).conj().numpy(), RuntimeError),
        (lambda lib, x: x.requires_grad_().apply_(lambda number: number), RuntimeError),
        (lambda lib, x: x.map_(x.to(lib.int64), lambda one, other: one), TypeError),
        (lambda lib, x: x[0].map_(x[0, :2], lambda one, other: one), RuntimeError),
    ],
)
def test_functions_of_elements_refuse_what_pytorch_refuses(call: Callable[[Any, Any], Any], error: type) -> None:
    """Calls that PyTorch rejects raise; a TypeError about a dtype is a DTypeError, and so a RuntimeError, in opdsl."""
    with pytest.raises(error):
        call(torch, torch.asarray(MATRIX))
    with pytest.raises((opdsl.errors.DTypeError, error)):
        call(opdsl, opdsl.asarray(MATRIX.copy()))


def test_a_function_that_fails_has_written_nothing() -> None:
    x = opdsl.asarray(MATRIX.copy())
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda number: 1 / (number - 3))
    assert x.tolist() == MATRIX.tolist()


def test_tensordot_writes_where_it_is_asked_to() -> None:
    out = opdsl.empty(2, 4, dtype=opdsl.float64)
    assert opdsl.tensordot(opdsl.asarray(MATRIX), opdsl.asarray(OTHER), 1, out) is out
    assert out.tolist() == (MATRIX @ OTHER).tolist()


@pytest.mark.parametrize("dims", [-1, 3])
def test_tensordot_of_dimensions_that_are_not_there(dims: int) -> None:
    with pytest.raises(opdsl.errors.OptionError, match="dims >= 0 and at most 2"):
        opdsl.tensordot(opdsl.asarray(MATRIX), opdsl.asarray(CUBE), dims)


@pytest.mark.parametrize("equation", ["ba,cb", "Zy,yA", "zQ,aQ->", "...k,mk->m...", " t s , u s -> u t"])
def test_labels_of_einsum_are_ordered_as_pytorch_orders_them(equation: str) -> None:
    square, other = (numpy.random.default_rng(seed).standard_normal((3, 3)) for seed in (0, 1))
    ours, theirs = (lib.einsum(equation, lib.asarray(square), lib.asarray(other)) for lib in (opdsl, torch))
    numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-12)


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("xy,xz->yz", "subscript x has size 3 for operand 1 which does not broadcast with previously seen size 2"),
        ("xy,zw->xyy", "output subscript y appears more than once"),
        ("xy,yz->q", "output subscript q does not appear"),
        ("xy,y\u03bb->x", "invalid subscript given at index 4"),
        ("xy,yz->x*", "invalid subscript given at index 8"),
        ("xy,y,->x", "more operands|fewer operands"),
    ],
)
def test_errors_of_einsum_name_the_labels_that_were_written(equation: str, message: str) -> None:
    for lib, error in ((opdsl, opdsl.errors.ShapeError), (torch, RuntimeError)):
        with pytest.raises(error, match=message) as caught:
            lib.einsum(equation, lib.ones(2, 3), lib.ones(3, 4))
        assert caught.value.__context__ is None


def test_labels_of_einsum_are_numbers_below_52() -> None:
    with pytest.raises(opdsl.errors.OptionError, match="from 0 to 51"):
        opdsl.einsum(opdsl.asarray(MATRIX), [0, 52])


def test_names_of_classes_and_dtypes() -> None:
    assert (opdsl.float, opdsl.int) == (opdsl.float32, opdsl.int32)
    assert isinstance(opdsl.ones(1).device, opdsl.device) and isinstance(opdsl.float32, opdsl.dtype)
    assert isinstance(opdsl.strided, opdsl.layout) and isinstance(opdsl.channels_last, opdsl.memory_format)
    assert opdsl.is_floating_point(opdsl.ones(1)) and opdsl.is_complex(opdsl.tensor(1j))


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16", "complex64", "bool", "uint8"])
@pytest.mark.parametrize("where", [{}, {"count": 2}, {"offset": 8}, {"count": 1, "offset": 8}])
def test_frombuffer(dtype: str, where: dict[str, int]) -> None:
    memory = bytearray(b"\0\1" * 12)
    ours = opdsl.frombuffer(memory, dtype=getattr(opdsl, dtype), **where)
    theirs = torch.frombuffer(memory, dtype=getattr(torch, dtype), **where)
    assert ours.tolist() == theirs.tolist() and ours.dtype.name == dtype
    ours.zero_()
    assert theirs.tolist() == [0] * theirs.numel()


def test_frombuffer_refuses_what_is_no_buffer_or_too_short() -> None:
    for buffer, count in (([1], -1), (b"\0" * 3, -1), (b"\0" * 4, 2)):
        with pytest.raises(opdsl.errors.InterchangeError):
            opdsl.frombuffer(buffer, dtype=opdsl.int32, count=count)


# ------------------------------------------------------------------------------------------------------------- printing

NUMBERS = numpy.array([[1.5, -1234.56789, 0.0], [numpy.nan, 1e-3, numpy.inf]])


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 7, "linewidth": 30},
        {"sci_mode": True},
        {"sci_mode": False},
        {"profile": "short"},
        {"profile": "full"},
        {"threshold": 5, "edgeitems": 1},
        {"threshold": 5, "edgeitems": 0},
        {"profile": "full", "threshold": 4, "edgeitems": 1, "precision": 1},
    ],
)
@pytest.mark.parametrize(
    "array", [NUMBERS, numpy.arange(2000.0), numpy.arange(40).reshape(5, 8), NUMBERS[0] * 1j, NUMBERS[:, :0]]
)
def test_printing_follows_the_options(array: numpy.ndarray, options: dict[str, Any]) -> None:
    try:
        opdsl.set_printoptions(**options)
        torch.set_printoptions(**options)
        assert repr(opdsl.asarray(array)) == repr(torch.asarray(array)).replace("torch.", "opdsl.")
    finally:
        opdsl.set_printoptions(profile="default")
        torch.set_printoptions(profile="default")


@pytest.mark.parametrize("options", [{"profile": "long"}, {"precision": -1}, {"threshold": "many"}])
def test_options_of_printing_that_are_none(options: dict[str, Any]) -> None:
    before = repr(opdsl.asarray(NUMBERS))
    with pytest.raises(opdsl.errors.OptionError):
        opdsl.set_printoptions(linewidth=3, **options)
    assert repr(opdsl.asarray(NUMBERS)) == before


def test_functions_that_are_methods_in_pytorch_are_methods() -> None:
    functions = {name for name in dir(opdsl) if callable(getattr(opdsl, name)) and name[0] != "_"}
    assert functions & set(dir(torch.Tensor)) - set(dir(opdsl.Tensor)) == set()
    methods = {name for name in dir(opdsl.Tensor) if callable(getattr(opdsl.Tensor, name)) and name[0] != "_"}
    assert methods & {name for name in dir(torch) if inspect.isroutine(getattr(torch, name))} - set(dir(opdsl)) == set()


def test_unique_is_a_method() -> None:
    ours, theirs = (lib.tensor([[3, 1], [3, 1], [2, 2]]) for lib in (opdsl, torch))
    assert ours.unique().tolist() == theirs.unique().tolist()
    for one, other in zip(
        ours.unique(dim=0, return_counts=True), theirs.unique(dim=0, return_counts=True), strict=True
    ):
        assert one.tolist() == other.tolist()
    assert ours.flatten().unique_consecutive().tolist() == theirs.flatten().unique_consecutive().tolist()
