"""Tests of tensors combined with NumPy arrays: Python's operators in both orders, NumPy's functions, and dtypes."""

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
    """Check that an operator of a tensor and an array, in both orders, returns a tensor with NumPy's elements and
    dtype.
    """
    with numpy.errstate(all="ignore"):
        expected = function(left, right)
    for inputs in ((opdsl.tensor(left), right), (left, opdsl.tensor(right))):
        actual = function(*inputs)
        assert isinstance(actual, opdsl.Tensor)
        assert actual.numpy().dtype == expected.dtype
        numpy.testing.assert_allclose(actual.numpy(), expected, rtol=1e-15, atol=0)


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
    """Comparisons with arrays of texts or objects raise an error instead of returning False."""
    for compare in (lambda: opdsl.ones(2) == array, lambda: array == opdsl.ones(2)):
        with pytest.raises(InterchangeError, match=r"can't convert np\.ndarray"):
            compare()


def test_what_is_no_array_is_left_to_python() -> None:
    assert operator.eq(opdsl.ones(2), "a") is False
    with pytest.raises(TypeError):
        opdsl.ones(2) + "a"


# ----------------------------------------------------------------------------------------------------------- functions

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: numpy.sum(x, axis=0, keepdims=True),
    "sum to a dtype": lambda x: numpy.sum(x, dtype="f4"),
    "sum of integers": lambda x: numpy.sum(x.astype(numpy.int32), 1),
    "max": lambda x: numpy.max(x, axis=(0, 1)),
    "amin": lambda x: numpy.amin(x, 1),
    "mean of integers": lambda x: numpy.mean(x.astype("i4"), axis=0),
    "std": lambda x: numpy.std(x, axis=0, ddof=1),
    "nansum": lambda x: numpy.nansum(x, axis=1),
    "cumsum": lambda x: numpy.cumsum(x),
    "cumprod": lambda x: numpy.cumprod(x, axis=1),
    "concatenate": lambda x: numpy.concatenate([x, LEFT], axis=1),
    "concatenate to a dtype": lambda x: numpy.concatenate((x, x), dtype="f4", casting="same_kind"),
    "stack": lambda x: numpy.stack([x, x], axis=-1),
    "where": lambda x: numpy.where(x > 1, x, numpy.float64(-1)),
    "where alone": lambda x: numpy.where(x > 4)[0],
    "dot": lambda x: numpy.dot(x, RIGHT),
    "dot of more": lambda x: numpy.dot(x, numpy.stack([RIGHT, LEFT])),
    "tensordot": lambda x: numpy.tensordot(x, x, axes=((0,), (1,))),
    "einsum": lambda x: numpy.einsum("ij,kj->ik", x, RIGHT, optimize=True),
    "take": lambda x: numpy.take(x, [4, 1]),
    "take of rows": lambda x: numpy.take(x, numpy.array([2, 0], "u1"), axis=0),
    "clip": lambda x: numpy.clip(x, a_min=0, a_max=4),
    "round": lambda x: numpy.round(x, 1),
    "reshape": lambda x: numpy.reshape(x, -1),
    "tile": lambda x: numpy.tile(x, 2),
    "squeeze": lambda x: numpy.squeeze(x[:1]),
    "transpose": lambda x: numpy.transpose(x),
    "flip": lambda x: numpy.flip(x, 1),
    "argsort": lambda x: numpy.argsort(x, axis=0),
    "searchsorted": lambda x: numpy.searchsorted(x[0], [0.0, 2.5], side="right"),
    "ones_like": lambda x: numpy.ones_like(x, shape=(2, 1)),
    "full_like": lambda x: numpy.full_like(x, 2, dtype="i8"),
    "asarray": lambda x: numpy.asarray([1.0, 2.0], like=x),
    "norm": lambda x: numpy.linalg.norm(x),
    "norms of rows": lambda x: numpy.linalg.norm(x, 1, axis=1),
    "norm of a matrix": lambda x: numpy.linalg.norm(x, "nuc"),
    "inv": lambda x: numpy.linalg.inv(x),
    "svd": lambda x: numpy.linalg.svd(x, full_matrices=False)[1],
    "fft": lambda x: numpy.fft.fft(x, axis=0, norm="ortho"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_that_the_standard_has_give_tensors(name: str) -> None:
    actual, expected = FUNCTIONS[name](opdsl.tensor(LEFT)), FUNCTIONS[name](LEFT)
    assert isinstance(actual, opdsl.Tensor)
    assert actual.dtype.numpy == numpy.asarray(expected).dtype
    numpy.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6, atol=1e-12)


def test_functions_pass_gradients() -> None:
    x = opdsl.tensor(LEFT, requires_grad=True)
    numpy.sum(numpy.concatenate([x, x])[:4]).backward()
    assert x.grad.tolist() == [[2.0] * 3, [1.0] * 3, [1.0] * 3]


def test_functions_that_the_standard_lacks_give_arrays() -> None:
    x = opdsl.tensor(LEFT)
    for function in (
        numpy.median,
        numpy.unwrap,
        lambda x: numpy.expand_dims(x, (0, 1)),
        lambda x: numpy.linalg.norm(x, 2, axis=(0, 1)),
    ):
        assert not isinstance(function(x), opdsl.Tensor)
        assert numpy.array_equal(function(x), function(LEFT))
    assert numpy.linalg.det(opdsl.tensor([[1, 2], [3, 4]])) == numpy.linalg.det([[1, 2], [3, 4]])
    out = numpy.zeros(3)
    assert numpy.sum(x, axis=0, out=out) is out and numpy.array_equal(out, LEFT.sum(0))
    assert numpy.sum(x, where=LEFT > 2) == LEFT.sum(where=LEFT > 2)
    with pytest.raises(RuntimeError, match="detach"):
        numpy.median(x.requires_grad_())


def test_numpy_reads_the_shape_and_dtype_of_any_tensor() -> None:
    x = opdsl.ones(2, 3, device="meta", dtype=opdsl.complex64)
    assert (numpy.shape(x), numpy.ndim(x), numpy.size(x), numpy.size(x, 1)) == ((2, 3), 2, 6, 3)
    assert numpy.iscomplexobj(x) and not numpy.isrealobj(x)
    assert numpy.result_type(x, numpy.float64) == numpy.complex128


def test_arrays_of_others_decide_themselves() -> None:
    class Other:
        def __array_function__(self, *inputs: object) -> str:
            return "theirs"

    assert numpy.concatenate([opdsl.ones(1), Other()]) == "theirs"


# -------------------------------------------------------------------------------------------------------------- dtypes


@pytest.mark.parametrize("kind", [bool, int, float, complex, numpy.int8, numpy.float32, str, list])
def test_a_dtype_equals_the_types_that_numpys_equals(kind: type) -> None:
    for dtype in (dtype for dtype in ALL_DTYPES if not dtype.is_encoded):
        expected = dtype.numpy == kind if kind not in (str, list) else False
        assert (dtype == kind) is expected
        assert (dtype.kind, dtype.type) == (dtype.numpy.kind, dtype.numpy.type)


def test_operators_take_numpys_dtypes() -> None:
    for inputs in (numpy.float64, numpy.dtype("f8"), float):
        assert opdsl.ones(2).sum(dtype=inputs).dtype is opdsl.float64
        assert opdsl.zeros(2, dtype=inputs).dtype is opdsl.float64
    with pytest.raises(opdsl.errors.DTypeError):
        opdsl.ones(2).sum(dtype=numpy.dtype("U1"))


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL_DTYPES if not dtype.is_encoded], ids=str)
def test_a_dtype_converts_to_numpys(dtype: DType) -> None:
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
