"""Tests of reductions: dimensions, dtypes, strides, errors and results, with PyTorch as oracle.

Each test runs with the reference compiler of the tests, one element after another, and with the CPU's compiler.
"""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings, strategies

from opdsl.errors import DimensionError, DTypeError, KernelSignatureError, OverlapError, ShapeError
from opdsl.kernels.iteration.reduction_iterator import reduction_layout
from opdsl.kernels.structure import Structure, structure_of
from opdsl.runtime import cpu, float32, to_dtype
from opdsl.runtime.geometry import geometry
from opdsl.runtime.viewing import make_view
from tests.unit.kernels import fakes
from tests.unit.kernels.geometries import tensors
from tests.unit.kernels.operators import assert_same, ours, plan_of, reduction, theirs

pytestmark = pytest.mark.usefixtures("plans_at_once")


@pytest.fixture(autouse=True, params=["fake", "real"], scope="module")
def compiler(request):
    from opdsl.backends.cpu import compiler

    patch, real = pytest.MonkeyPatch(), compiler.compile

    def compiling(kernel, layout):
        return (fakes.compiling if structure_of(kernel) is Structure.FOLD else real)(kernel, layout)

    if request.param == "fake":
        patch.setattr(compiler, "compile", compiling)
    yield
    patch.undo()


def plus(a, b):
    return a + b


def divide(a, count):
    return a / count


def larger(a, b):
    return max(a, b)


def element_and_index(x, index):
    return x, index


def first_of_the_largest(a, i, b, j):
    takes_b = b > a or (b != b and a == a)
    return (b if takes_b else a), (j if takes_b else i)


def index_only(value, index, count):
    return index


def element_alone(value, index, count):
    return value, index


def is_true(x):
    return x != 0


def either(a, b):
    return a or b


def moments(x):
    return x, 0.0, 1.0


def merge_moments(mean, deviation, count, other_mean, other_deviation, other_count):
    total = max(count + other_count, 1.0)
    delta = other_mean - mean
    return (
        mean + delta * other_count / total,
        deviation + other_deviation + delta * delta * count * other_count / total,
        count + other_count,
    )


def variance(mean, deviation, count, n, correction=1):
    return deviation / max(count - correction, 0.0)


SUM = reduction(
    "sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    plus,
    "sum.IntList_out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out)"
    " -> Tensor(a!)",
    init=0,
    promote="sum",
)
MEAN = reduction(
    "mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
    plus,
    "mean.out(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)",
    init=0,
    finish=divide,
    promote="float",
)
AMAX = reduction(
    "amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
    larger,
    "amax.out(Tensor self, int[1] dim=[], bool keepdim=False, *, Tensor(a!) out) -> Tensor(a!)",
    init=-math.inf,
    needs_elements=True,
)
ARGMAX = reduction(
    "argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
    first_of_the_largest,
    init=(-math.inf, 0),
    lift=element_and_index,
    finish=index_only,
    accumulators=("value", "index"),
    results=("index",),
    needs_elements=True,
)
MAX = reduction(
    "max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    first_of_the_largest,
    init=(-math.inf, 0),
    lift=element_and_index,
    finish=element_alone,
    accumulators=("value", "index"),
    results=("value", "index"),
    needs_elements=True,
)
ANY = reduction(
    "any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
    either,
    init=False,
    lift=is_true,
    accumulators=("truth",),
    empty_is_all=False,
)
VAR = reduction(
    "var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
    merge_moments,
    init=(0, 0, 0),
    lift=moments,
    finish=variance,
    promote="floating_input",
    accumulators=("value", "value", "value"),
    results=("value",),
)


@strategies.composite
def calls(draw, dtypes=(torch.int32, torch.float32, torch.float16, torch.bool)):
    """Draw a filled tensor, dimensions of it, and keepdim."""
    shape = tuple(draw(strategies.lists(strategies.sampled_from([1, 2, 3, 4]), min_size=0, max_size=4)))
    source = draw(tensors(shape, list(dtypes)))
    if not any(stride == 0 and size > 1 for size, stride in zip(source.shape, source.stride(), strict=True)):
        source.copy_((torch.arange(source.numel()) * 7 % 5 - 2).reshape(source.shape))
    dims = draw(strategies.lists(strategies.sampled_from(range(max(source.ndim, 1))), unique=True, max_size=4))
    return source, dims, draw(strategies.booleans())


MANY = settings(max_examples=150)


@MANY
@given(calls())
def test_sum_is_pytorchs(call):
    source, dims, keepdim = call
    assert_same(torch.sum(source, dims, keepdim), SUM.functional(ours(source), dims, keepdim, None))


@MANY
@given(calls(dtypes=[torch.float32, torch.bfloat16]))
def test_mean_is_pytorchs(call):
    source, dims, keepdim = call
    actual = MEAN.functional(ours(source), dims, keepdim, None)
    assert_same(torch.mean(source, dims, keepdim), actual, rtol=torch.finfo(source.dtype).eps, atol=0)


@MANY
@given(calls())
def test_amax_is_pytorchs(call):
    source, dims, keepdim = call
    assert_same(torch.amax(source, dims, keepdim), AMAX.functional(ours(source), dims, keepdim))


@MANY
@given(calls(dtypes=[torch.int32, torch.float32]))
def test_argmax_is_the_first_in_row_major_order(call):
    source, dims, keepdim = call
    dim = dims[0] if dims else None
    assert_same(torch.argmax(source, dim, keepdim), ARGMAX.functional(ours(source), dim, keepdim))


@MANY
@given(calls(dtypes=[torch.float32, torch.int32]))
def test_max_gives_values_and_indices(call):
    source, dims, keepdim = call
    dim = dims[0] if dims else 0
    expected = torch.max(source, dim, keepdim)
    for one, other in zip(expected, MAX.functional(ours(source), dim, keepdim), strict=True):
        assert_same(one, other)


@MANY
@given(calls(dtypes=[torch.float32, torch.bool, torch.uint8]))
def test_any_is_pytorchs(call):
    source, dims, keepdim = call
    assert_same(torch.any(source, dims, keepdim), ANY.functional(ours(source), dims, keepdim))


@pytest.mark.parametrize("correction", [None, 0, 1, 2.5])
def test_numbers_reach_finish(correction):
    x = torch.arange(12.0).reshape(3, 4)
    expected = torch.var(x, 1, correction=1 if correction is None else correction)
    assert_same(expected, VAR.functional(ours(x), 1, correction, False), rtol=1e-6, atol=0)


def test_nan_is_the_largest():
    x = torch.tensor([1, math.nan, 3, math.nan])
    assert ARGMAX.functional(ours(x), None, False).item() == 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float16, torch.bool])
@pytest.mark.parametrize("source", [torch.float32, torch.int32, torch.bool, torch.uint8])
def test_dtype_is_what_is_folded(source, dtype):
    x = torch.tensor([2, 1, 1]).to(source)
    assert_same(torch.sum(x, 0, dtype=dtype), SUM.functional(ours(x), 0, False, to_dtype(str(dtype))))


def test_elements_are_rounded_to_16_bits_before_they_are_folded():
    x = torch.tensor([2049.0, 1.0, 1.0])
    assert_same(torch.sum(x, 0, dtype=torch.float16), SUM.functional(ours(x), 0, False, to_dtype("float16")))


@pytest.mark.parametrize("dim", [None, (), [], (0, 1)])
def test_no_dimensions_mean_all(dim):
    assert SUM.functional(ours(torch.ones(2, 3)), dim, False, None).item() == 6


def test_unless_the_operator_says_otherwise():
    assert_same(torch.any(torch.tensor([1.0, 0.0]), ()), ANY.functional(ours(torch.tensor([1.0, 0.0])), (), False))


@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0), (2, 0, 3)])
def test_sums_of_nothing_are_zero(shape):
    assert_same(torch.sum(torch.zeros(shape), 0), SUM.functional(ours(torch.zeros(shape)), 0, False, None))


def test_the_mean_of_nothing_is_nan():
    assert_same(torch.mean(torch.zeros(0, 2), 0), MEAN.functional(ours(torch.zeros(0, 2)), 0, False, None))


# ------------------------------------------------------------------------------------------------------ out and plans


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.float16])
def test_the_dtype_of_out_is_folded(dtype):
    x = torch.arange(6.0).reshape(2, 3)
    expected = torch.sum(x, 0, out=torch.zeros(3, dtype=dtype))
    assert_same(expected, SUM.out(ours(x), 0, False, None, ours(torch.zeros(3, dtype=dtype))))


def test_out_keeps_its_strides():
    x = torch.arange(24.0).reshape(2, 3, 4)
    out = torch.zeros(4, 3).t()
    assert_same(torch.sum(x, 0, out=out.clone()), SUM.out(ours(x), 0, False, None, ours(out)))


def test_out_is_resized():
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        out = SUM.out(ours(torch.ones(2, 3)), 0, False, None, ours(torch.zeros(2)))
    assert out.tolist() == [2, 2, 2]


def test_out_may_be_the_input():
    x = ours(torch.ones(1, 3))
    assert SUM.out(x, 0, True, None, x).tolist() == [[1, 1, 1]]


def test_out_may_not_be_a_part_of_the_input():
    x = ours(torch.ones(2, 3))
    with pytest.raises(OverlapError):
        SUM.out(x, 0, False, None, make_view(x, (3,), (1,)))


@MANY
@given(calls())
def test_plans_give_the_same_results(call):
    source, dims, keepdim = call
    x = ours(source)
    plan = plan_of(AMAX.functional, (x, dims, keepdim))
    assert_same(theirs(AMAX.functional(x, dims, keepdim)), plan(x))


def test_plans_write_into_out():
    x, out = ours(torch.ones(2, 3)), ours(torch.zeros(3))
    plan = plan_of(SUM.out, (x, 0, False, None, out))
    assert plan(x, out) is out
    assert (out.tolist(), out._version) == ([2, 2, 2], 1)


def test_a_plan_holds_for_its_numbers_only():
    x = torch.arange(4.0)
    plan = plan_of(VAR.functional, (ours(x), 0, 1, False))
    assert_same(torch.var(x, 0, correction=1), plan(ours(x), 1))
    assert_same(torch.var(x, 0, correction=0), plan(ours(x), 0))


def test_meta_results_have_no_elements():
    from opdsl.kernels import new_tensor
    from opdsl.runtime import meta

    x = new_tensor(geometry(float32, meta, (10**9, 10**9)))
    assert SUM.functional(x, 0, True, None).shape == (1, 10**9)
    assert plan_of(SUM.functional, (x, 0, True, None))(x).shape == (1, 10**9)


# ------------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("theirs_", "ours_", "error"),
    [
        (lambda: torch.sum(torch.ones(2, 2), 2), lambda: SUM.functional(TWO, 2, False, None), DimensionError),
        (lambda: torch.sum(torch.ones(2, 2), -3), lambda: SUM.functional(TWO, -3, False, None), DimensionError),
        (lambda: torch.sum(torch.tensor(1.0), 1), lambda: SUM.functional(ZERO_DIM, 1, False, None), DimensionError),
        (lambda: torch.amax(torch.ones(2, 2), (0, -2)), lambda: AMAX.functional(TWO, (0, -2), False), ShapeError),
        (lambda: torch.amax(torch.ones(0, 2), 0), lambda: AMAX.functional(EMPTY, 0, False), DimensionError),
        (lambda: torch.amax(torch.ones(0, 2)), lambda: AMAX.functional(EMPTY, (), False), ShapeError),
        (lambda: torch.mean(torch.tensor([1]), 0), lambda: MEAN.functional(INTEGERS, 0, False, None), DTypeError),
        (
            lambda: torch.mean(torch.ones(2, 2), 0, dtype=torch.int64),
            lambda: MEAN.functional(TWO, 0, False, to_dtype("int64")),
            DTypeError,
        ),
        (
            lambda: torch.mean(torch.tensor([1]), 0, out=torch.tensor(1.0)),
            lambda: MEAN.out(INTEGERS, 0, False, None, ZERO_DIM),
            DTypeError,
        ),
        (
            lambda: torch.mean(torch.ones(0, 2), 3, dtype=torch.int64),
            lambda: MEAN.functional(EMPTY, 3, False, to_dtype("int64")),
            DTypeError,
        ),
        (lambda: torch.var(torch.tensor([1]), 0), lambda: VAR.functional(INTEGERS, 0, 1, False), DTypeError),
        (
            lambda: torch.amax(torch.ones(2, 2), 0, out=torch.ones(2, dtype=torch.float64)),
            lambda: AMAX.out(TWO, 0, False, DOUBLES),
            DTypeError,
        ),
        (
            lambda: torch.sum(torch.ones(2, 2), 0, dtype=torch.float32, out=torch.ones(2, dtype=torch.float64)),
            lambda: SUM.out(TWO, 0, False, float32, DOUBLES),
            DTypeError,
        ),
    ],
)
def test_errors_have_pytorchs_text(theirs_, ours_, error):
    with pytest.raises((RuntimeError, IndexError)) as expected:
        theirs_()
    with pytest.raises(error) as actual:
        ours_()
    assert str(actual.value).partition(": ")[2] == str(expected.value).splitlines()[0]


TWO, EMPTY, ZERO_DIM = ours(torch.ones(2, 2)), ours(torch.ones(0, 2)), ours(torch.tensor(1.0))
INTEGERS, DOUBLES = ours(torch.tensor([1])), ours(torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": (0, 0)}, "init has 2 values for 1 accumulators"),
        ({"init": 0, "promote": "up"}, "promote='up' is unknown"),
        ({"init": 0, "results": ["value", "index"]}, "there are 2 results for 1 returns"),
        ({"init": 0, "lift": element_and_index}, "lift returns 1 accumulators"),
        ({"init": 0, "lift": variance}, "lift takes elements of self, perhaps their index"),
        ({"init": 0, "finish": plus, "accumulators": ["value", "value"]}, "init has 1 values for 2"),
        ({"init": 0, "accumulators": ["sum"]}, "accumulators are value, real, double"),
    ],
)
def test_functions_that_do_not_fit_are_refused(options, message):
    with pytest.raises(KernelSignatureError, match=message):
        reduction("f(Tensor self) -> Tensor", plus, **options)


# -------------------------------------------------------------------------------------------------------------- calls


def test_folded_dimensions_coalesce():
    source = geometry(float32, cpu, (2, 3, 4))
    layout = reduction_layout([source], (1, 2), [geometry(float32, cpu, (2,))])
    assert (layout.sizes, layout.inputs[0].strides) == (((2,), (12,)), (48, 4))


def test_folded_dimensions_run_in_memory_order():
    source = geometry(float32, cpu, (4, 3), (1, 4))
    assert reduction_layout([source], (0, 1), [geometry(float32, cpu, ())]).sizes == ((), (12,))


def test_but_not_where_positions_count():
    source = geometry(float32, cpu, (4, 3), (1, 4))
    layout = reduction_layout([source], (0, 1), [geometry(float32, cpu, ())], in_order=True)
    assert (layout.sizes, layout.inputs[0].strides) == (((), (4, 3)), (4, 16))


def test_kept_dimensions_of_the_output_have_no_strides_of_folded_ones():
    source = geometry(float32, cpu, (2, 3, 4))
    layout = reduction_layout([source], (1,), [geometry(float32, cpu, (2, 1, 4))])
    assert (layout.sizes[0], layout.outputs[0].strides, layout.inputs[0].strides) == ((2, 4), (16, 4), (48, 4, 16))
