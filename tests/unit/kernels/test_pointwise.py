"""Tests of pointwise operators: three variants by the slow path and by plans, with PyTorch as oracle."""

from __future__ import annotations

import warnings

import pytest
import torch
from hypothesis import given, settings

from opdsl.errors import (
    ArgumentError,
    DTypeError,
    KernelSignatureError,
    NumberError,
    OverlapError,
    ReadOnlyError,
    ShapeError,
)
from opdsl.kernels import PointwiseDefinition
from opdsl.runtime import from_numpy, int32, meta
from opdsl.runtime.storage import version_of
from opdsl.runtime.viewing import make_view
from opdsl.schema import parse_schema
from tests.unit.kernels.geometries import operands
from tests.unit.kernels.operators import assert_same, ours, plan_of, pointwise, theirs

pytestmark = pytest.mark.usefixtures("plans_at_once")


def add_function(self, other, alpha):
    return self + alpha * other


def eq_function(self, other):
    return self == other


def neg_function(self):
    return -self


def half_function(self):
    return self / 2


def where_function(condition, self, other):
    return self if condition else other


def both_function(self, other):
    return self + other, self - other


ADD = pointwise(
    "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    add_function,
    "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)",
)
EQ = pointwise(
    "eq.Tensor(Tensor self, Tensor other) -> Tensor",
    eq_function,
    "eq_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "eq.Tensor_out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)",
    promote="bool",
)
EQ_NUMBER = pointwise("eq.Scalar(Tensor self, Scalar other) -> Tensor", eq_function, promote="bool", wrapped=["other"])
NEG = pointwise(
    "neg(Tensor self) -> Tensor",
    neg_function,
    "neg_(Tensor(a!) self) -> Tensor(a!)",
    "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
)
HALF = pointwise("half(Tensor self) -> Tensor", half_function, promote="int_to_float")
WHERE = pointwise(
    "where.self(Tensor condition, Tensor self, Tensor other) -> Tensor", where_function, keep=["condition"]
)
BOTH = pointwise(
    "both(Tensor self, Tensor other) -> (Tensor, Tensor)",
    both_function,
    None,
    "both.out(Tensor self, Tensor other, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
)

FEW = settings(max_examples=60)
DTYPES = [torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32]


def filled(values):
    for value in values:
        if isinstance(value, torch.Tensor) and value.numel() and not _is_expanded(value):
            value.copy_(torch.arange(value.numel()).reshape(value.shape) % 7)
    return values


def _is_expanded(tensor):
    return any(stride == 0 and size > 1 for size, stride in zip(tensor.shape, tensor.stride(), strict=True))


# --------------------------------------------------------------------------------------------------------- functional


@FEW
@given(operands(dtypes=DTYPES))
def test_functional_results_are_pytorchs(values):
    first, second = filled(values)
    assert_same(torch.add(first, second), ADD.functional(ours(first), ours(second), 1))


@FEW
@given(operands(dtypes=DTYPES))
def test_plans_give_the_same_results(values):
    arguments = (*map(ours, filled(values)), 2)
    plan = plan_of(ADD.functional, arguments)
    assert_same(theirs(ADD.functional(*arguments)), plan(*arguments))


@FEW
@given(operands(dtypes=DTYPES))
def test_comparisons_are_pytorchs(values):
    first, second = filled(values)
    assert_same(torch.eq(first, second), EQ.functional(ours(first), ours(second)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_integers_become_floating_point(dtype):
    x = torch.arange(5).to(dtype)
    assert_same(x / 2, HALF.functional(ours(x)))


def test_a_kept_condition_takes_no_part_in_promotion():
    condition, x, y = torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor(0.5)
    assert_same(torch.where(condition, x, y), WHERE.functional(ours(condition), ours(x), ours(y)))


def test_several_outputs():
    x, y = torch.arange(6.0).reshape(2, 3).t(), torch.ones(2)
    sums, differences = BOTH.functional(ours(x), ours(y))
    assert_same(x + y, sums)
    assert_same(x - y, differences)


def test_several_outputs_of_a_plan():
    x, y = ours(torch.arange(3.0)), ours(torch.ones(3))
    sums, differences = plan_of(BOTH.functional, (x, y))(x, y)
    assert (sums.tolist(), differences.tolist()) == ([1, 2, 3], [-1, 0, 1])


def test_a_16_bit_result_is_rounded_once_more_as_in_pytorch():
    x, y = torch.tensor([2048.0], dtype=torch.float16), torch.tensor([2049])
    assert_same(x + y, ADD.functional(ours(x), ours(y), 1))


# ------------------------------------------------------------------------------------------------------------ numbers


@pytest.mark.parametrize("dtype", [*DTYPES, torch.bool])
@pytest.mark.parametrize("number", [2, -1, 2.5, True, 2**40, 300, 2**63 - 1])
def test_numbers_are_wrapped_as_pytorchs(dtype, number):
    x = torch.tensor([1, 0, 1]).to(dtype)
    assert_same(torch.add(x, number), ADD.functional(ours(x), number, 1))


@pytest.mark.parametrize("number", [2, -1, 127, 128, -129, 300, 2**40, 2**63])
def test_a_plan_wraps_numbers_too(number):
    x = torch.tensor([1, 2, 3], dtype=torch.int8)
    plan = plan_of(ADD.functional, (ours(x), 1, 1))
    assert_same(torch.add(x, number), plan(ours(x), number, 1))


def test_an_integer_of_more_than_64_bits_is_refused():
    with pytest.raises(NumberError, match="64 bits"):
        ADD.functional(ours(torch.ones(1)), 2**64, 1)


@pytest.mark.parametrize(
    ("dtype", "alpha"),
    [(torch.int8, 300), (torch.uint8, -300), (torch.int32, 2**40), (torch.float32, 1e300), (torch.float32, -1e39)],
)
def test_a_scalar_that_does_not_fit_raises_pytorchs_text(dtype, alpha):
    x = torch.ones(2, dtype=dtype)
    with pytest.raises(RuntimeError) as expected:
        torch.add(x, x, alpha=alpha)
    plan = plan_of(ADD.functional, (ours(x), ours(x), type(alpha)(1)))
    for run in (ADD.functional, plan):
        with pytest.raises(NumberError) as actual:
            run(ours(x), ours(x), alpha)
        assert str(actual.value) == f"aten::add.Tensor: {str(expected.value).splitlines()[0]}"


@pytest.mark.parametrize("alpha", [float("nan"), float("inf"), 2.5, -3])
def test_scalars_that_fit(alpha):
    x = torch.arange(3.0)
    plan = plan_of(ADD.functional, (ours(x), ours(x), alpha))
    for run in (ADD.functional, plan):
        assert_same(torch.add(x, x, alpha=alpha), run(ours(x), ours(x), alpha))


def test_a_negative_scalar_is_its_complement_in_uint8():
    x = torch.tensor([44], dtype=torch.uint8)
    plan = plan_of(ADD.functional, (ours(x), ours(x), 1))
    for run in (ADD.functional, plan):
        assert_same(torch.add(x, x, alpha=-1), run(ours(x), ours(x), -1))


@pytest.mark.parametrize("number", [300, 1.5, 44])
def test_a_wrapped_scalar_promotes(number):
    x = torch.tensor([44, 1], dtype=torch.int8)
    plan = plan_of(EQ_NUMBER.functional, (ours(x), number))
    for run in (EQ_NUMBER.functional, plan):
        assert_same(torch.eq(x, number), run(ours(x), number))


def test_16_bit_comparisons_round_the_number():
    x = torch.tensor([0.1], dtype=torch.float16)
    assert EQ_NUMBER.functional(ours(x), 0.1).tolist() == [True]


# ----------------------------------------------------------------------------------------------------------- in place


def test_inplace_writes_and_returns_self():
    x = ours(torch.arange(3.0))
    assert ADD.inplace(x, 2, 1) is x
    assert (x.tolist(), version_of(x)) == ([2, 3, 4], 1)


def test_an_inplace_plan_counts_versions():
    x, y = ours(torch.arange(3.0)), ours(torch.ones(3))
    plan = plan_of(ADD.inplace, (x, y, 1))
    assert plan(x, y, 1) is x
    assert (x.tolist(), version_of(x)) == ([1, 2, 3], 1)


def test_an_inplace_plan_counts_the_versions_of_a_base():
    x = ours(torch.arange(4.0))
    view = make_view(x, (2,), (2,))
    plan = plan_of(ADD.inplace, (view, 1, 1))
    assert plan(view, 1, 1) is view
    assert (x.tolist(), version_of(x)) == ([1, 1, 3, 3], 1)


def test_inplace_keeps_self_s_dtype():
    x = torch.tensor([1, 2])
    assert_same(x.clone().eq_(torch.tensor([1.0, 3.0])), EQ.inplace(ours(x), ours(torch.tensor([1.0, 3.0]))))


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        (torch.ones(3), torch.ones(2, 3), ShapeError),
        (torch.ones(3), torch.ones(2), ShapeError),
        (torch.tensor([1, 2]), torch.ones(2), DTypeError),
        (torch.tensor([True]), torch.tensor([1]), DTypeError),
    ],
)
def test_inplace_errors_are_pytorchs_and_change_nothing(first, second, error):
    with pytest.raises(RuntimeError) as expected:
        first.clone().add_(second)
    x = ours(first)
    with pytest.raises(error) as actual:
        ADD.inplace(x, ours(second), 1)
    assert str(actual.value) == f"aten::add_.Tensor: {str(expected.value).splitlines()[0]}"
    assert (x.tolist(), version_of(x)) == (first.tolist(), 0)


# ---------------------------------------------------------------------------------------------------------------- out


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_out_is_filled_and_returned(dtype):
    x, out = torch.arange(3.0), torch.zeros(3, dtype=dtype)
    expected = torch.add(x, x, out=out.clone())
    inputs = ours(out)
    assert ADD.out(ours(x), ours(x), 1, inputs) is inputs
    assert_same(expected, inputs)


def test_out_keeps_its_strides():
    x, out = torch.arange(6.0).reshape(2, 3), torch.zeros(3, 2).t()
    assert_same(torch.add(x, x, out=out.clone()), ADD.out(ours(x), ours(x), 1, ours(out)))


def test_a_16_bit_result_is_rounded_before_it_is_stored_wider():
    x, y = torch.tensor([2048.0], dtype=torch.float16), torch.tensor([1.0], dtype=torch.float16)
    expected = torch.add(x, y, out=torch.zeros(1, dtype=torch.float64))
    assert_same(expected, ADD.out(ours(x), ours(y), 1, ours(torch.zeros(1, dtype=torch.float64))))


def test_an_empty_out_is_resized_silently():
    x, out = ours(torch.arange(4.0).reshape(2, 2)), ours(torch.zeros(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ADD.out(x, 1, 1, out)
    assert (out.shape, out.tolist()) == ((2, 2), [[1, 2], [3, 4]])


def test_another_out_is_resized_with_pytorchs_warning():
    x = torch.arange(4.0)
    with pytest.warns(UserWarning) as expected:
        torch.add(x, 1, out=torch.zeros(2, 3))
    out = ours(torch.zeros(2, 3))
    with pytest.warns(UserWarning) as actual:
        ADD.out(ours(x), 1, 1, out)
    assert str(actual[0].message) == str(expected[0].message).partition(" (Triggered")[0]
    assert actual[0].filename == __file__
    assert out.tolist() == [1, 2, 3, 4]


def test_a_resized_out_follows_the_inputs_strides():
    x = torch.arange(6.0).reshape(2, 3).t()
    assert_same(torch.add(x, 1, out=torch.zeros(0)), ADD.out(ours(x), 1, 1, ours(torch.zeros(0))))


def test_an_out_that_is_an_input_is_not_resized():
    """An ``out`` that is an input is not resized, and the call raises the error of ``torch.add(x, y, out=x)``."""
    x, y = ours(torch.arange(2.0)), ours(torch.ones(2, 2))
    with pytest.raises(ShapeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[2, 2\]"):
        ADD.out(x, y, 1, x)
    assert x.tolist() == [0, 1]


def test_out_may_be_an_input():
    x = ours(torch.arange(3.0))
    plan = plan_of(ADD.out, (x, x, 1, x))
    assert ADD.out(x, x, 1, x).tolist() == [0, 2, 4]
    assert plan(x, x, 1, x).tolist() == [0, 4, 8]


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_an_out_that_loses_the_category_is_refused(dtype):
    x, out = torch.ones(2), torch.zeros(2, dtype=dtype)
    with pytest.raises(RuntimeError) as expected:
        torch.add(x, x, out=out)
    with pytest.raises(DTypeError) as actual:
        ADD.out(ours(x), ours(x), 1, ours(out))
    assert str(actual.value) == f"aten::add.out: {expected.value}"


def test_comparisons_write_any_dtype():
    x, out = torch.ones(2), torch.zeros(2)
    assert_same(torch.eq(x, x, out=out.clone()), EQ.out(ours(x), ours(x), ours(out)))


def test_unary_operators_that_do_not_promote_want_their_own_dtype():
    with pytest.raises(DTypeError, match="Found dtype Double but expected Float"):
        NEG.out(ours(torch.ones(2)), ours(torch.ones(2, dtype=torch.float64)))


def test_the_rule_for_out_can_be_given():
    schema = "neg.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
    loose = pointwise("neg(Tensor self) -> Tensor", neg_function, None, schema, cast="safe")
    assert loose.out(ours(torch.ones(2)), ours(torch.ones(2, dtype=torch.float64))).tolist() == [-1, -1]


# ------------------------------------------------------------------------------------------------------------ overlap


def overlapping():
    base = ours(torch.arange(4.0))
    return base, make_view(base, (3,), (1,), 0), make_view(base, (3,), (1,), 1)


def test_partial_overlap_is_refused():
    base, first, second = overlapping()
    with pytest.raises(OverlapError, match="some elements of the input tensor and the written-to tensor refer"):
        ADD.inplace(first, second, 1)
    assert base.tolist() == [0, 1, 2, 3]


def test_a_plan_hands_overlapping_views_back():
    _, first, second = overlapping()
    other = make_view(ours(torch.ones(4)), (3,), (1,), 1)
    plan = plan_of(ADD.inplace, (first, other, 1))
    assert plan(first, other, 1).tolist() == [1, 2, 3]
    with pytest.raises(OverlapError):
        plan(first, second, 1)


def test_a_base_and_its_view_overlap():
    base = ours(torch.arange(4.0))
    view = make_view(base, (4,), (0,), 0)
    other = make_view(ours(torch.ones(4)), (4,), (0,), 0)
    plan = plan_of(ADD.inplace, (base, other, 1))
    with pytest.raises(OverlapError):
        plan(base, view, 1)


def test_internal_overlap_is_refused():
    expanded = make_view(ours(torch.ones(1)), (3,), (0,))
    with pytest.raises(OverlapError, match="more than one element of the written-to tensor refers to a single memory"):
        ADD.inplace(expanded, 1, 1)


def test_two_outputs_must_not_be_one():
    x, out = ours(torch.ones(2)), ours(torch.ones(2))
    with pytest.raises(OverlapError):
        BOTH.out(x, x, out, out)
    other = ours(torch.ones(2))
    plan = plan_of(BOTH.out, (x, x, out, other))
    with pytest.raises(OverlapError):
        plan(x, x, out, out)


def test_a_read_only_array_is_not_written():
    array = torch.ones(2).numpy().copy()
    array.flags.writeable = False
    with pytest.raises(ReadOnlyError):
        ADD.inplace(from_numpy(array), 1, 1)


# --------------------------------------------------------------------------------------------------------------- meta


def on_meta(tensor):
    from opdsl.kernels import new_tensor

    return new_tensor(tensor.geometry.replace(device=meta))


def test_meta_results_have_a_geometry_only():
    x = ours(torch.arange(6.0).reshape(2, 3).t())
    expected = ADD.functional(x, 1, 1)
    actual = ADD.functional(on_meta(x), 1, 1)
    assert actual.geometry is expected.geometry.replace(device=meta)
    assert not hasattr(actual, "array")


def test_meta_plans_compute_nothing():
    x = on_meta(ours(torch.ones(3)))
    assert plan_of(ADD.functional, (x, x, 1))(x, x, 1).geometry is x.geometry
    assert plan_of(ADD.inplace, (x, x, 1))(x, x, 1) is x


def test_meta_takes_no_memory():
    from opdsl.kernels import new_tensor
    from opdsl.runtime import float32
    from opdsl.runtime.geometry import geometry

    x = new_tensor(geometry(float32, meta, (10**9, 10**9)))
    assert ADD.functional(x, x, 1).shape == (10**9, 10**9)


# ------------------------------------------------------------------------------------------------------- declarations


def test_check_runs_before_anything_is_written():
    def refuse(ctx, self, other, alpha):
        raise ShapeError("not today")

    checked = pointwise(
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        add_function,
        "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
    )
    checked.definition.check = refuse
    x = ours(torch.ones(2))
    with pytest.raises(ShapeError, match="not today"):
        checked.inplace(x, x, 1)
    assert x.tolist() == [1, 1]


def test_a_plan_holds_for_the_numbers_that_the_check_has_seen():
    seen = []
    checked = pointwise("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add_function)
    checked.definition.check = lambda ctx, self, other, alpha: seen.append(alpha)
    x = ours(torch.ones(2))
    plan = plan_of(checked.functional, (x, x, 1))
    plan(x, x, 1)
    plan(x, x, 2)
    assert seen == [1, 2]


def test_functions_are_chosen_by_values():
    schema = parse_schema("act(Tensor self, *, str how='neg') -> Tensor")
    definition = PointwiseDefinition(schema, "act")
    definition.add(neg_function, when={"how": "neg"})
    definition.add(half_function, promote="int_to_float", when={"how": "half"})
    from tests.unit.kernels.operators import kernels

    act = kernels(definition).functional
    x = ours(torch.tensor([2]))
    assert (act(x, "neg").tolist(), act(x, "half").tolist()) == ([-2], [1.0])
    with pytest.raises(ArgumentError, match=r"how='double' \(have how='neg' or how='half'\)"):
        act(x, "double")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("f(Tensor self, Tensor other) -> Tensor", {}, "Give it one parameter for each argument"),
        ("f(Tensor self) -> (Tensor, Tensor)", {}, "returns 1 values for 2 results"),
        ("f(Tensor self) -> Tensor", {"promote": "upwards"}, "promote='upwards' is unknown"),
        ("f(Tensor self) -> Tensor", {"keep": ["mask"]}, "'mask' is no argument"),
        ("f(int[] self) -> Tensor", {}, "Choose functions by its value"),
    ],
)
def test_a_function_that_does_not_fit_its_schema_is_refused(text, options, message):
    with pytest.raises(KernelSignatureError, match=message):
        pointwise(text, neg_function, **options)


def test_a_dtype_that_an_operation_does_not_have_is_named():
    def bits(self, other):
        return self & other

    function = pointwise("and(Tensor self, Tensor other) -> Tensor", bits)
    x = ours(torch.ones(2))
    with pytest.raises(DTypeError, match="not implemented for 'Float'"):
        function.functional(x, x)


def test_errors_name_the_operator():
    with pytest.raises(ShapeError, match=r"^aten::add.Tensor: The size of tensor a \(2\)"):
        ADD.functional(ours(torch.ones(2)), ours(torch.ones(3)), 1)


def test_the_default_dtype_decides_for_integers():
    from opdsl.dispatch.state import current

    x = ours(torch.tensor([1]))
    token = current.set(current.get().change(default_dtype=ours(torch.ones(1, dtype=torch.float64)).dtype))
    try:
        assert HALF.functional(x).dtype.name == "float64"
    finally:
        current.reset(token)
    assert x.dtype is not int32


@pytest.mark.parametrize("alpha", [1e300, 2**80])
def test_numbers_are_checked_before_out_is_resized(alpha):
    out = ours(torch.zeros(5))
    with pytest.raises(NumberError):
        ADD.out(ours(torch.ones(2, dtype=torch.int32)), 1, alpha, out)
    assert (out.shape, version_of(out)) == ((5,), 0)


def test_dtypes_are_checked_before_out_is_resized():
    def bits(self, other):
        return self & other

    out_schema = "and.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)"
    function = pointwise("and(Tensor self, Tensor other) -> Tensor", bits, None, out_schema)
    x, out = ours(torch.ones(2)), ours(torch.zeros(5))
    with pytest.raises(DTypeError):
        function.out(x, x, out)
    assert out.shape == (5,)
