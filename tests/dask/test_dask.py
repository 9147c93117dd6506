"""Tests that operators on dask arrays compute what they do on one tensor, for any chunks, and only when dask
computes.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opdsl
from opdsl import Library, Tensor, formula
from opdsl.errors import DeclarationError, ShardingError
from opdsl.interop.dask import lazy

dask = pytest.importorskip("dask", reason="needs the extra dask")
da = pytest.importorskip("dask.array", reason="needs the extra dask")

X = np.random.default_rng(0).normal(size=(7, 6)).astype("f4")


@pytest.fixture(autouse=True)
def without_threads() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture
def lib() -> Iterator[Library]:
    with Library("chunked") as own:
        yield own


def held(function: Any, *inputs: Any, chunks: Any = (3, 4), **named: Any) -> list[Any]:
    """Check that a call on dask arrays computes what it does on tensors, and return the arrays."""
    cut = [
        da.from_array(input, chunks=chunks[: input.ndim]) if isinstance(input, np.ndarray) else input
        for input in inputs
    ]
    whole = [opdsl.from_numpy(input) if isinstance(input, np.ndarray) else input for input in inputs]
    expected = function(*whole, **named)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", da.PerformanceWarning)
        actual = lazy(function)(*cut, **named)
    arrays = list(actual) if isinstance(actual, tuple) else [actual]
    tensors = [expected] if isinstance(expected, Tensor) else list(expected)
    for one, other in zip(arrays, tensors, strict=True):
        result = one.compute()
        assert (one.shape, one.dtype) == (result.shape, result.dtype)
        np.testing.assert_allclose(result, other.numpy(), rtol=2e-5, atol=1e-5, strict=True)
    return arrays


CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "gelu": (opdsl.nn.gelu, (X,)),
    "add, broadcast": (opdsl.add, (X, X[0])),
    "where": (opdsl.where, (X > 0, X, -X)),
    "a number": (opdsl.mul, (X, 2.5)),
    "sum": (opdsl.sum, (X,)),
    "sum of rows": (opdsl.sum, (X, 1, True)),
    "mean": (opdsl.mean, (X, [0, 1])),
    "var": (opdsl.var, (X, 0)),
    "var_mean": (opdsl.var_mean, (X, 1)),
    "argmax": (opdsl.argmax, (X, 0)),
    "argmax of all": (opdsl.argmax, (X,)),
    "max": (opdsl.max, (X, 1)),
    "logsumexp": (opdsl.logsumexp, (X, 0)),
    "any": (opdsl.any, (X > 1, 0)),
    "cumsum": (opdsl.cumsum, (X, 0)),
    "cummax": (opdsl.cummax, (X, 1)),
    "softmax": (opdsl.softmax, (X, 1)),
    "layer_norm": (opdsl.layer_norm, (X, [6])),
    "sort": (opdsl.sort, (X, 1)),
    "topk": (opdsl.topk, (X, 3, 1)),
    "mm": (opdsl.mm, (X, X.T.copy())),
    "linear": (opdsl.ops.aten.linear.default, (X, X)),
    "transpose": (opdsl.transpose, (X, 0, 1)),
    "unsqueeze": (opdsl.unsqueeze, (X, 1)),
    "svd": (opdsl.linalg.svdvals, (X,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_one_tensor(name: str) -> None:
    function, inputs = CALLS[name]
    held(function, *inputs)


def test_blocks_stay_as_they_are() -> None:
    assert held(opdsl.exp, X)[0].chunks == ((3, 3, 1), (4, 2))
    assert held(opdsl.sum, X, 1)[0].chunks == ((3, 3, 1),)
    assert held(opdsl.transpose, X, 0, 1)[0].chunks == ((4, 2), (3, 3, 1))


def test_lists_of_arrays() -> None:
    x = da.from_array(X, chunks=(3, 6))
    np.testing.assert_array_equal(lazy(opdsl.cat)([x, x], 1).compute(), np.concatenate([X, X], 1))


def test_nothing_is_computed_to_find_shapes() -> None:
    def fail() -> Any:
        raise AssertionError("computed")

    x = da.from_delayed(dask.delayed(fail)(), shape=(8, 4), dtype="f4").rechunk((4, 4))
    y = lazy(opdsl.softmax)(lazy(opdsl.exp)(x), 1)
    assert (y.shape, y.dtype, y.chunks) == ((8, 4), np.float32, ((4, 4), (4,)))
    assert lazy(opdsl.var)(y).shape == ()


def test_what_cannot_be_cut_becomes_one_chunk_and_says_so() -> None:
    x = da.from_array(X, chunks=(3, 4))
    with pytest.warns(da.PerformanceWarning, match=r"_softmax: dimension 1 cannot be split \(row: .* its 2 chunks"):
        lazy(opdsl.softmax)(x, 1)


@pytest.mark.parametrize("function", [opdsl.amax, opdsl.amin, opdsl.argmax, opdsl.prod, opdsl.mean, opdsl.var])
def test_chunks_without_elements(function: Any) -> None:
    x = da.from_array(X, chunks=((0, 3, 0, X.shape[0] - 3), (4, X.shape[1] - 4)))
    np.testing.assert_allclose(lazy(function)(x, 0).compute(), function(opdsl.from_numpy(X), 0).numpy(), rtol=1e-5)


def test_chunks_of_unknown_size() -> None:
    x = da.from_array(X, chunks=(3, 6))
    unknown, known = x[x[:, 0] > 0], X[X[:, 0] > 0]
    np.testing.assert_allclose(lazy(opdsl.exp)(unknown).compute(), np.exp(known), rtol=1e-6)
    np.testing.assert_allclose(lazy(opdsl.mean)(unknown).compute(), known.mean(), rtol=1e-5)
    np.testing.assert_allclose(lazy(opdsl.cumsum)(unknown, 0).compute(), known.cumsum(0), rtol=1e-5)
    for function, inputs in ((opdsl.softmax, (0,)), (opdsl.argmax, (0,)), (opdsl.sort, (0,))):
        with pytest.raises(ShardingError, match=r"compute_chunk_sizes\(\)"):
            lazy(function)(unknown, *inputs)


def exponential(x: Any) -> Any:
    """Return the matrix exponential, by its power series."""
    term, total = np.eye(len(x)), np.eye(len(x))
    for at in range(1, 40):
        term = term @ x / at
        total = total + term
    return total


# Operators whose kernels read elements or write only some: they run on whole arrays.
LOOKING: dict[str, tuple[Any, tuple[Any, ...], Callable[[Any], Any]]] = {
    "median": (opdsl.median, (), lambda x: np.sort(x, None)[(x.size - 1) // 2]),
    "median of rows": (opdsl.ops.aten.median.dim, (1,), lambda x: np.sort(x, 1)[:, (x.shape[1] - 1) // 2]),
    "kthvalue": (opdsl.kthvalue, (2, 0), lambda x: np.sort(x, 0)[1]),
    "mode": (opdsl.mode, (0,), lambda x: x.min(0)),
    "inverse": (opdsl.linalg.inv, (), np.linalg.inv),
    "matrix_exp": (opdsl.matrix_exp, (), exponential),
    "histogram": (opdsl.ops.aten.histogramdd.int_bins, (3,), lambda x: np.histogramdd(x, 3)[0]),
}


@pytest.mark.parametrize("name", LOOKING)
def test_kernels_that_look_at_elements(name: str) -> None:
    values = np.random.default_rng(3).standard_normal((4, 4))
    function, inputs, expected = LOOKING[name]
    result = lazy(function)(da.from_array(values, chunks=(2, 3)), *inputs)
    actual = (result[0] if isinstance(result, tuple) else result).compute()
    np.testing.assert_allclose(actual, expected(values), rtol=1e-9)


def test_blocks_that_are_written_into_zeros() -> None:
    values = np.arange(6.0).reshape(2, 3)
    result = lazy(opdsl.ops.aten.block_diag.default)([da.from_array(values, chunks=(1, 2)), np.ones((1, 1))])
    np.testing.assert_array_equal(result.compute(), np.block([[values, np.zeros((2, 1))], [np.zeros((1, 3)), 1.0]]))


def test_questions_give_no_arrays() -> None:
    x = da.from_array(X, chunks=(3, 4))
    with pytest.raises(ShardingError, match="is_complex returns no tensor"):
        lazy(opdsl.ops.aten.is_complex.default)(x)


# ------------------------------------------------------------------------------------------------ operators of a user


def test_operators_of_a_user(lib: Library) -> None:
    @lib.op
    @formula
    def wave(self: Tensor, beta: float = 1.0) -> Tensor:
        return beta * self * self - self

    @lib.op
    @formula
    def spread(self: Tensor, dim: list[int] | None = None, keepdim: bool = False) -> Tensor:
        return self.amax(dim or [], keepdim) - self.amin(dim or [], keepdim)

    @lib.op
    def standardised(self: Tensor) -> Tensor:
        mean = self.mean([0], True)
        return (self - mean) / (spread(self, [0], True) + 1.0)

    held(wave, X, 0.5)
    held(spread, X, [0])
    held(standardised, X)


def test_a_body_that_computes_with_a_size(lib: Library) -> None:
    @lib.op
    def mean_by_hand(self: Tensor) -> Tensor:
        return self.sum([0]) / self.shape[0]

    held(mean_by_hand, X)
    x = da.from_array(X, chunks=(3, 6))
    with pytest.raises(ShardingError, match="its body computes with sizes"):
        lazy(mean_by_hand)(x[x[:, 0] > 0])


def test_what_a_kernel_raises_names_the_block(lib: Library) -> None:
    @lib.op
    def refused(self: Tensor) -> Tensor: ...

    @refused.kernel("CPU")
    def refused_cpu(self: Tensor) -> Tensor:
        if self.shape == (3, 2):
            raise ValueError("no")
        return self.clone()

    @refused.kernel("Meta")
    def refused_meta(self: Tensor) -> Tensor:
        return opdsl.empty_like(self)

    refused.sharding("ij->ij")
    blocks = lazy(refused)(da.from_array(X[:4], chunks=((1, 3), (4, 2))))
    with pytest.raises(ValueError, match="no") as raised:
        blocks.compute()
    assert "raised for chunk (1, 1) of chunked::refused, of shapes (3, 2)" in raised.value.__notes__


def test_graphs_can_be_sent_to_other_processes() -> None:
    x = da.from_array(X, chunks=(3, 4))
    y = lazy(opdsl.cumsum)(lazy(opdsl.var)(lazy(opdsl.add)(x, 1.0), 1), 0)
    again = pickle.loads(pickle.dumps(y))
    np.testing.assert_allclose(again.compute(), np.cumsum(np.var(X + 1, 1, ddof=1)), rtol=1e-5)
    assert lazy(opdsl.exp)(x).name == lazy(opdsl.exp)(x).name


def test_what_is_no_operator_is_refused() -> None:
    with pytest.raises(DeclarationError, match="lazy takes a declared operator"):
        lazy(np.sin)


# ---------------------------------------------------------------------------------------------- blocks that are tensors

OF_BLOCKS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "max": lambda x: da.max(x, axis=1),
    "mean of integers": lambda x: x.astype("i8").mean(axis=0),
    "var": lambda x: x.var(axis=1),
    "argmax": lambda x: x.argmax(axis=0),
    "nansum": lambda x: da.nansum(x, axis=0),
    "cumsum": lambda x: x.cumsum(axis=0),
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "joined": lambda x: da.concatenate([x, da.stack([x, x])[0]], axis=1),
    "where": lambda x: da.where(x > 1, x, -abs(x)),
    "products": lambda x: da.einsum("ij,kj->ik", x @ x.T, da.tensordot(x, x, axes=((1,), (1,)))),
    "rechunked": lambda x: da.exp(x).rechunk((2, 6)).T.reshape(3, 2, 7).ravel(),
    "rows": lambda x: x[[0, 3, 5]] + da.take(x, [1, 4, 6], axis=0),
    "chosen": lambda x: x[x > 0],
    "norms": lambda x: da.linalg.norm(x, axis=1),
    "overlap": lambda x: x.map_overlap(lambda block: block + 1, depth=1, boundary="none"),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OF_BLOCKS)
def test_dasks_own_operators_compute_on_tensors(name: str) -> None:
    blocks, arrays = (da.from_array(array, chunks=(3, 4)) for array in (opdsl.from_numpy(X), X))
    assert isinstance(blocks.blocks[0, 0].compute(), Tensor)
    actual, expected = (np.asarray(OF_BLOCKS[name](array).compute()) for array in (blocks, arrays))
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


# ---------------------------------------------------------------------------------------------- windows

IMAGES = np.random.default_rng(1).normal(size=(2, 3, 17, 14)).astype("f4")
WEIGHT = np.random.default_rng(2).normal(size=(4, 3, 3, 2)).astype("f4")

SLIDING: dict[str, Any] = {
    "max_pool2d": (opdsl.max_pool2d, (3,), {}),
    "max_pool2d, margins": (opdsl.max_pool2d, ([3, 2], [2, 1], [1, 1], [2, 1], True), {}),
    "avg_pool2d": (opdsl.nn.avg_pool2d, (3, 2, 1, True, False), {}),
    "conv2d": (opdsl.conv2d, (WEIGHT,), {}),
    "conv2d, margins": (opdsl.conv2d, (WEIGHT, None, [2, 3], [2, 1], [2, 1]), {}),
    "conv2d, transposed": (opdsl.conv_transpose2d, (WEIGHT.transpose(1, 0, 2, 3).copy(),), {}),
}


@pytest.mark.parametrize("name", SLIDING)
@pytest.mark.parametrize("chunks", [(1, 3, 5, 14), (2, 3, (1, 9, 7), (4, 1, 9))], ids=str)
def test_windows_over_chunks(name: str, chunks: Any) -> None:
    """Windowed operators work on overlapping chunks; only transposed ones merge chunks into one."""
    function, inputs, named = SLIDING[name]
    x = da.from_array(IMAGES, chunks=chunks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if "transposed" in name else "error", da.PerformanceWarning)
        result = lazy(function)(x, *inputs, **named)
    assert "transposed" in name or result.numblocks[2] > 1
    whole = [opdsl.from_numpy(input) if isinstance(input, np.ndarray) else input for input in (IMAGES, *inputs)]
    np.testing.assert_allclose(result.compute(), function(*whole, **named).numpy(), rtol=2e-5, atol=1e-5, strict=True)


# ---------------------------------------------------------------------------------------------- selection


@pytest.mark.parametrize(("dim", "largest", "k"), [(0, True, 3), (0, False, 6), (1, True, 5), (-1, False, 1)])
def test_topk_of_chunks(dim: int, largest: bool, k: int) -> None:
    """``topk`` selects candidates in each chunk and then among these, without merging chunks first."""
    x = da.from_array(X, chunks=((2, 4, 1), (4, 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", da.PerformanceWarning)
        result = lazy(opdsl.topk)(x, k, dim, largest)
    for one, other in zip(result, opdsl.topk(opdsl.from_numpy(X), k, dim, largest), strict=True):
        assert one.shape == other.shape
        np.testing.assert_array_equal(one.compute(), other.numpy(), strict=True)


# ---------------------------------------------------------------------------------------------- random numbers

DRAWN: dict[str, Any] = {
    "rand_like": (opdsl.rand_like, ()),
    "randn_like": (opdsl.randn_like, ()),
    "dropout": (opdsl.nn.functional.dropout, (0.5, True)),
    "bernoulli": (opdsl.bernoulli, (0.3,)),
    "normal": (opdsl.normal, (0.5,)),
}


@pytest.mark.parametrize("name", DRAWN)
def test_random_numbers_do_not_depend_on_chunks(name: str) -> None:
    """Random numbers equal those of one tensor for any chunks, also when calls run by plans; later calls draw other
    numbers.
    """
    function, inputs = DRAWN[name]
    function = opdsl.ops.aten.dropout.default if name == "dropout" else function
    opdsl.manual_seed(7)
    whole = [function(opdsl.from_numpy(X), *inputs).numpy() for _ in range(3)]
    for chunks in ((3, 4), (7, 6), (7, 1), ((1, 6), (2, 4))):
        opdsl.manual_seed(7)
        result = [lazy(function)(da.from_array(X, chunks=chunks), *inputs) for _ in range(3)]
        for one, other in zip(result, whole, strict=True):
            np.testing.assert_array_equal(one.compute(), other)
    assert not (whole[0] == whole[1]).all()


def test_random_numbers_in_a_body(lib: Library) -> None:
    @lib.op
    def thinned(self: Tensor) -> Tensor:
        return opdsl.rand_like(self * 2.0) * self

    opdsl.manual_seed(7)
    whole = thinned(opdsl.from_numpy(X)).numpy()
    opdsl.manual_seed(7)
    np.testing.assert_array_equal(lazy(thinned)(da.from_array(X, chunks=(3, 4))).compute(), whole)


def test_random_numbers_of_a_generator_and_of_unknown_places() -> None:
    x = da.from_array(X, chunks=(3, 4))
    actual = lazy(opdsl.bernoulli)(x * 0 + 0.5, generator=opdsl.Generator().manual_seed(3)).compute()
    wanted = opdsl.bernoulli(opdsl.from_numpy(X * 0 + 0.5), generator=opdsl.Generator().manual_seed(3))
    np.testing.assert_array_equal(actual, wanted.numpy())
    with pytest.raises(ShardingError, match="its random numbers depend on the positions of elements"):
        lazy(opdsl.rand_like)(x[x[:, 0] > 0])


@pytest.mark.parametrize("name", ["_reshape_alias", "as_strided", "as_strided_copy"])
def test_strides_are_those_of_an_array_without_gaps(name: str) -> None:
    """Strides given as arguments refer to a contiguous array, even if a block is transposed in memory."""
    array = np.arange(12.0).reshape(3, 4)
    transposed = da.from_array(array, chunks=(3, 4)).T
    result = lazy(getattr(opdsl.ops.aten, name))(transposed, [3, 4], [4, 1]).compute()
    np.testing.assert_array_equal(result, np.ascontiguousarray(array.T).reshape(3, 4))
