"""Tests of row definitions: forms, memory layouts, lengths and dtypes, against NumPy; and refused definitions."""

from __future__ import annotations

import math
from typing import cast

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opdsl
from opdsl import Library, Tensor, formula, primitives
from opdsl.autograd.derived_operators import defined
from opdsl.errors import KernelError, KernelSignatureError, ScalarFunctionError, UnsupportedDTypeError
from opdsl.kernels.calls import OperandSpec
from opdsl.kernels.definitions.row import RowDefinition
from opdsl.kernels.iteration.row_iterator import row_layout
from opdsl.kernels.loops.lowering import kept_types, lowered
from opdsl.kernels.loops.model import Fold, Store
from opdsl.runtime import cpu
from opdsl.runtime.geometry import geometry
from opdsl.scalar import read
from opdsl.scalar.intrinsics import row_max, row_mean, row_min, row_sum
from opdsl.scalar.types import ScalarType
from opdsl.schema import parse_schema
from tests.unit.kernels.computations import rows

pytestmark = pytest.mark.usefixtures("plans_at_once")

lib = Library("test_rows")


@lib.op(out=True)
def standard(self: Tensor, dim: int, shift: float = 0.0, weight: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the distance from the mean relative to the range of the row, and the mean."""
    ...


@standard.meta
def standard_meta(ctx, self, dim, shift, weight):
    rows = tuple(1 if index == dim else size for index, size in enumerate(self.shape))
    ctx.set_output(0, self.shape, like=self)
    ctx.set_output(1, rows, like=self)
    return (dim,)


def standard_row(self, shift, weight=1.0):
    mean = row_mean(self)
    extent = row_max(self) - row_min(self)
    return (self - mean) / (extent + shift) * weight, mean


STANDARD = primitives.rows(standard_row, promote="floating")


@standard.formula
def standardized(self: Tensor, shift: float, weight: Tensor | None) -> tuple[Tensor, Tensor]:
    return cast("tuple[Tensor, Tensor]", STANDARD(self, shift, weight))


LESS_ITS_SUM = primitives.rows(lambda self: self - row_sum(self))


def expected(x: numpy.ndarray, dim: int, shift: float, weight: numpy.ndarray | float) -> tuple[numpy.ndarray, ...]:
    wide = x.astype(numpy.float64)
    mean = wide.mean(dim, keepdims=True)
    extent = wide.max(dim, keepdims=True) - wide.min(dim, keepdims=True)
    return (wide - mean) / (extent + shift) * weight, mean


def array(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(0).normal(size=shape).astype(numpy.float32)


@settings(max_examples=60)
@given(st.lists(st.integers(1, 70), min_size=1, max_size=3), st.data())
def test_rows_along_every_dimension(shape, data):
    dim = data.draw(st.integers(0, len(shape) - 1))
    order = data.draw(st.permutations(range(len(shape))))
    x = array(*shape).transpose(order)
    actual = standard(opdsl.from_numpy(x), dim, 0.5)
    for one, other in zip(actual, expected(x, dim, 0.5, 1.0), strict=True):
        numpy.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 10_000), (10_000, 70), (5, 300, 65)])
@pytest.mark.parametrize("dim", [0, 1])
def test_rows_of_several_blocks(shape, dim):
    x = array(*shape)
    actual = standard(opdsl.from_numpy(x), dim, 0.5)
    for one, other in zip(actual, expected(x, dim, 0.5, 1.0), strict=True):
        numpy.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=1e-5)


def test_operands_broadcast():
    x, weight = array(4, 5, 6), array(5, 1)
    actual, _ = standard(opdsl.from_numpy(x), 2, 0.5, opdsl.from_numpy(weight))
    numpy.testing.assert_allclose(actual.numpy(), expected(x, 2, 0.5, weight)[0], rtol=1e-5, atol=1e-6)


def test_16_bits_are_computed_in_float32():
    x = array(3, 500).astype(numpy.float16)
    actual, _ = standard(opdsl.from_numpy(x), 1, 0.5)
    numpy.testing.assert_array_equal(actual.numpy(), expected(x, 1, 0.5, 1.0)[0].astype(numpy.float16))


def test_nan_reaches_the_whole_row():
    x = array(2, 40)
    x[0, 7] = numpy.nan
    result, _ = standard(opdsl.from_numpy(x), 1)
    assert numpy.isnan(result.numpy()).all(1).tolist() == [True, False]


def test_rows_without_elements():
    result, mean = standard(opdsl.from_numpy(array(2, 0)), 1)
    assert result.shape == (2, 0)
    assert numpy.isnan(mean.numpy()).all()


@pytest.mark.parametrize("shape", [(160, 1000), (1000, 160)])
def test_results_do_not_depend_on_threads(shape):
    from opdsl.backends.cpu.pool import get_num_threads, set_num_threads

    x = opdsl.from_numpy(array(*shape))
    before = get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            set_num_threads(count)
            results.append([output.numpy().tobytes() for dim in (0, 1) for output in standard(x, dim)])
    finally:
        set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_out_keeps_its_strides():
    x = array(6, 7)
    first = opdsl.from_numpy(numpy.zeros((7, 6), numpy.float32)).t()
    second = opdsl.from_numpy(numpy.zeros((6, 2), numpy.float32))[:, :1]
    result = standard.variants["out"](opdsl.from_numpy(x), 1, 0.5, out=(first, second))
    assert [output.stride() for output in result] == [(1, 6), (2, 1)]
    numpy.testing.assert_allclose(first.numpy(), expected(x, 1, 0.5, 1.0)[0], rtol=1e-5, atol=1e-6)


def test_a_plan_holds_for_its_numbers_only():
    x = opdsl.from_numpy(array(3, 4))
    first = [standard(x, 1, 0.5)[0].numpy() for _ in range(3)]
    other = standard(x, 1, 2.0)[0].numpy()
    assert not numpy.allclose(first[-1], other)
    numpy.testing.assert_allclose(other, expected(x.numpy(), 1, 2.0, 1.0)[0], rtol=1e-5, atol=1e-6)


def test_complex_rows_are_refused():
    with pytest.raises(UnsupportedDTypeError, match="ComplexFloat"):
        standard(opdsl.from_numpy(array(2, 2).astype(numpy.complex64)), 1)


def test_folds_need_a_row_definition():
    def wrong(x):
        return x - row_max(x)

    with pytest.raises(ScalarFunctionError, match="gets single elements"):
        read(wrong)


def test_rows_need_a_shape_function():
    @lib.op
    def shapeless(self: Tensor) -> Tensor: ...

    same = primitives.rows(lambda self: self)
    with pytest.raises(KernelSignatureError, match=r"Write @shapeless\.meta above it"):

        @shapeless.formula
        def shapeless_formula(self: Tensor) -> Tensor:
            return same(self)


@pytest.mark.parametrize(
    ("dims", "message"), [(None, "returned None"), ((0, 2), "adjacent"), ((1, 3), "from 0"), ((-1,), "from 0")]
)
def test_dimensions_that_make_no_row_are_refused(dims, message):
    with Library("test_rows_dims") as own:

        @own.op
        def odd(self: Tensor) -> Tensor: ...

        @odd.meta
        def odd_meta(ctx, self):
            ctx.set_output(0, self.shape, like=self)
            return dims

        @odd.formula
        def odd_formula(self: Tensor) -> Tensor:
            return LESS_ITS_SUM(self)

        with pytest.raises(KernelError, match=message):
            odd(opdsl.from_numpy(array(2, 2, 2)))


def test_a_result_of_another_shape_than_rows_have_is_refused():
    with Library("test_rows_shape") as own:

        @own.op
        def odd(self: Tensor) -> Tensor: ...

        @odd.meta
        def odd_meta(ctx, self):
            ctx.set_output(0, (2, 3), like=self)
            return (1,)

        @odd.formula
        def odd_formula(self: Tensor) -> Tensor:
            return LESS_ITS_SUM(self)

        with pytest.raises(KernelError, match=r"set output 0 to shape \(2, 3\)"):
            odd(opdsl.from_numpy(array(2, 2)))


def test_a_row_through_which_an_operand_steps_unevenly_is_no_loop():
    even = geometry(opdsl.float32, cpu, (2, 3, 4))
    spread = geometry(opdsl.float32, cpu, (2, 3, 4), (12, 1, 3))
    assert row_layout((2, 3, 4), (1, 2), [spread], [even]) is None
    assert row_layout((2, 3, 4), (1, 2), [even], [even]) is not None


def test_what_costs_much_is_kept_between_stages():
    def softmax(x):
        exponential = math.exp(x - row_max(x))
        return exponential / row_sum(exponential)

    graph = read(softmax, rows=True).specialise({"x": "float32"})
    spec = OperandSpec(opdsl.float32, (12, 4))
    kernel, layout = rows(graph, (2,), 3, (spec,), (spec,))
    for keep in (True, False):
        (loop,) = lowered(kernel, layout, keep=keep).program.body
        stages = [statement for statement in loop.body if isinstance(statement, Fold)]
        kept = [sum(isinstance(inner, Store) for inner in stage.body) for stage in stages]
        assert kept == ([0, 1] if keep else [0, 0])
    assert kept_types(kernel) == (ScalarType.FLOAT32,)


def test_parameters_of_a_function_are_found_by_name():
    def shares(scale, x):
        return x * x / scale + row_sum(x)

    schema = parse_schema("derived::numbers_first(float scale, Tensor x) -> Tensor")

    def meta(ctx, scale, x):
        ctx.set_output(0, x.shape, like=x)
        return (0,)

    definition = RowDefinition(schema, "numbers_first")
    definition.add(read(shares, rows=True), meta=meta, promote="floating")
    run = defined(schema, definition, "numbers_first", accepts_numbers=False)
    assert run(2.0, opdsl.tensor([1.0, 3.0])).tolist() == [4.5, 8.5]


def test_a_tensor_that_is_repeated_within_a_row_of_several_dimensions():
    @lib.op
    @formula
    def centred(self: Tensor, weight: Tensor) -> Tensor:
        product = self * weight
        return product - product.sum((1, 2), True)

    x = array(2, 3, 4)
    for weight in (array(4), array(3, 1), array(2, 1, 1), array(2, 3, 1), array(1, 4, 3).transpose(0, 2, 1)):
        product = x.astype(numpy.float64) * weight
        result = centred(opdsl.from_numpy(x), opdsl.from_numpy(weight)).numpy()
        numpy.testing.assert_allclose(result, product - product.sum((1, 2), keepdims=True), rtol=1e-5, atol=1e-5)
