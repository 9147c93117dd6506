"""Tensors beside NumPy arrays: Python's operators in both orders, and dtypes where NumPy asks for its own."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.errors import InterchangeError, ShapeError
from opdsl.interop.dask_sizes import register
from opdsl.runtime import ALL_DTYPES, DType

ARITHMETIC = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.matmul,
]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]

Function = Callable[[Any, Any], Any]

LEFT = numpy.array([[1.0, -2.0, 3.0], [4.0, 5.5, 2.0], [7.0, 1.0, 9.0]])
RIGHT = numpy.array([[1.0, 2.0, 4.0], [4.0, -3.0, 2.0], [0.5, 1.0, 10.0]])


def hold(function: Function, left: numpy.ndarray[Any, Any], right: numpy.ndarray[Any, Any]) -> None:
    """Either side as a tensor gives a tensor with NumPy's elements and dtype."""
    with numpy.errstate(all="ignore"):
        expected = function(left, right)
    for given in ((opdsl.tensor(left), right), (left, opdsl.tensor(right))):
        found = function(*given)
        assert isinstance(found, opdsl.Tensor)
        assert found.numpy().dtype == expected.dtype
        numpy.testing.assert_allclose(found.numpy(), expected, rtol=1e-15, atol=0)


@pytest.mark.parametrize("function", ARITHMETIC + COMPARISONS, ids=lambda function: function.__name__)
def test_operators_of_floats_compute_element_by_element(function: Function) -> None:
    hold(function, LEFT, RIGHT)


@pytest.mark.parametrize("function", BITWISE + COMPARISONS, ids=lambda function: function.__name__)
def test_operators_of_integers_compute_element_by_element(function: Function) -> None:
    hold(function, numpy.array([6, -3, 40]), numpy.array([3, 2, 1]))


@pytest.mark.parametrize(
    "array",
    [RIGHT[::-1], RIGHT.T, RIGHT[:, ::-2], RIGHT.astype(">f8"), numpy.asfortranarray(RIGHT)],
    ids=["negative_strides", "transposed", "negative_steps", "other_byte_order", "by_columns"],
)
def test_arrays_of_any_layout_stand_beside_tensors(array: numpy.ndarray[Any, Any]) -> None:
    left = LEFT[:, : array.shape[1]]
    assert numpy.array_equal((opdsl.tensor(left) + array).numpy(), left + array)
    assert numpy.array_equal(numpy.asarray(array == opdsl.tensor(left)), array == left)


def test_arrays_that_may_not_be_written_are_read() -> None:
    array = RIGHT.copy()
    array.flags.writeable = False
    assert numpy.array_equal(numpy.asarray(array + opdsl.tensor(LEFT)), LEFT + RIGHT)


def test_a_tensor_is_changed_in_place_by_an_array() -> None:
    x = opdsl.tensor(LEFT)
    same = x
    x += RIGHT
    assert x is same
    assert numpy.array_equal(x.numpy(), LEFT + RIGHT)


def test_an_array_is_written_into_a_tensor() -> None:
    x = opdsl.zeros(3, 3)
    x[1] = RIGHT[1]
    x[:, numpy.array([0])] = LEFT[:, :1]
    assert x.dtype is opdsl.float32
    assert x.tolist() == [[1.0, 0.0, 0.0], [4.0, -3.0, 2.0], [7.0, 0.0, 0.0]]


def test_gradients_pass_beside_arrays() -> None:
    x = opdsl.tensor(LEFT, requires_grad=True)
    (RIGHT * x + x / RIGHT).sum().backward()
    assert x.grad is not None
    numpy.testing.assert_allclose(x.grad.numpy(), RIGHT + 1 / RIGHT, rtol=1e-15)


def test_arrays_of_another_shape_are_refused() -> None:
    for compare in (lambda: opdsl.ones(3) == numpy.ones(2), lambda: numpy.ones(2) == opdsl.ones(3)):
        with pytest.raises(ShapeError):
            compare()


@pytest.mark.parametrize("array", [numpy.array(["a", "b"]), numpy.array([None, 1])], ids=["text", "objects"])
def test_arrays_of_no_numbers_are_refused(array: numpy.ndarray[Any, Any]) -> None:
    """And are not unequal in silence."""
    for compare in (lambda: opdsl.ones(2) == array, lambda: array == opdsl.ones(2)):
        with pytest.raises(InterchangeError, match=r"can't convert np\.ndarray"):
            compare()


def test_what_is_no_array_is_left_to_python() -> None:
    assert operator.eq(opdsl.ones(2), "a") is False
    with pytest.raises(TypeError):
        opdsl.ones(2) + "a"


# -------------------------------------------------------------------------------------------------------------- dtypes


@pytest.mark.parametrize("dtype", [each for each in ALL_DTYPES if each is not opdsl.bfloat16], ids=str)
def test_a_dtype_is_one_where_numpy_asks_for_its_own(dtype: DType) -> None:
    own = opdsl.zeros(2, dtype=dtype).numpy().dtype
    assert numpy.dtype(dtype) == own
    assert numpy.zeros(2, dtype).dtype == own
    assert numpy.issubdtype(dtype, numpy.floating) == dtype.is_floating_point
    assert (own == dtype) is True
    assert (dtype == own) is True


def test_bfloat16_is_that_of_ml_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert numpy.dtype(opdsl.bfloat16) == numpy.dtype(ml_dtypes.bfloat16)
    assert (numpy.dtype("u2") == opdsl.bfloat16) is False


# ---------------------------------------------------------------------------------------------------------------- dask


def test_the_size_of_a_tensor_is_that_of_its_elements() -> None:
    sizeof = functools.singledispatch(lambda value: -1)
    register(sizeof)
    assert sizeof(opdsl.ones(100, 10)) == 4000
    assert sizeof(opdsl.ones(100, 10)[0]) == 40


def test_dask_knows_the_size_by_the_entry_point() -> None:
    dask = pytest.importorskip("dask.sizeof", reason="needs the extra dask")
    assert dask.sizeof(opdsl.ones(100, 10)) == 4000
