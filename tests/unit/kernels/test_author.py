"""Tests of structured operators with shape functions and out-kernels that authors write."""

from __future__ import annotations

import numpy
import pytest
import torch

from opdsl.errors import DTypeError, KernelError, KernelSignatureError, MissingKernelError, OverlapError, ShapeError
from opdsl.kernels import StructuredDefinition, check, new_tensor
from opdsl.runtime import MemoryFormat, float32, float64, meta
from opdsl.runtime.storage import version_of
from opdsl.runtime.viewing import make_view
from opdsl.schema import parse_schema
from tests.unit.kernels.operators import assert_same, kernels, ours, plan_of, structured

pytestmark = pytest.mark.usefixtures("plans_at_once")

REPEAT = "repeat_columns(Tensor self, int times) -> Tensor"
REPEAT_OUT = "repeat_columns.out(Tensor self, int times, *, Tensor(a!) out) -> Tensor(a!)"
REVERSE = "reverse(Tensor self) -> Tensor"
REVERSE_INPLACE = "reverse_(Tensor(a!) self) -> Tensor(a!)"
REVERSE_OUT = "reverse.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"


def repeat_meta(ctx, self, times):
    check(self.ndim == 2, "expected a matrix", got=self.shape)
    ctx.set_output(0, (self.shape[0], self.shape[1] * times), like=self)


def repeat_kernel(self, times, out):
    for row in range(self.shape[0]):
        for column in range(out.shape[1]):
            out[row, column] = self[row, column // times]


def reverse_meta(ctx, self):
    ctx.set_output(0, self.shape, like=self)


def reverse_kernel(self, out):
    size = self.shape[0]
    for place in range(size):
        out[place] = self[size - 1 - place]


def python_repeat_kernel(self, times, out):
    repeat_kernel(self.array, times, out.array)


def python_reverse_kernel(self, out):
    reverse_kernel(self.array, out.array)


def fills(value):
    """Return an out-kernel that fills its output with a value."""

    def fill(self, out):
        out.array[...] = value

    return fill


@pytest.fixture(params=[True, False], ids=["compiled", "python"])
def repeat(request):
    kernel = repeat_kernel if request.param else python_repeat_kernel
    return structured(REPEAT, repeat_meta, kernel, None, REPEAT_OUT, compiled=request.param)


def matrix():
    return torch.arange(6.0).reshape(2, 3)


def test_functional(repeat):
    assert_same(matrix().repeat_interleave(2, 1), repeat.functional(ours(matrix()), 2))


def test_functional_plan(repeat):
    x = ours(matrix())
    assert_same(matrix().repeat_interleave(2, 1), plan_of(repeat.functional, (x, 2))(x))


def test_strided_inputs(repeat):
    transposed = torch.arange(6.0).reshape(3, 2).t()
    assert_same(transposed.repeat_interleave(2, 1), repeat.functional(ours(transposed), 2))


def test_out(repeat):
    out = ours(torch.zeros(2, 6))
    assert repeat.out(ours(matrix()), 2, out) is out
    assert_same(matrix().repeat_interleave(2, 1), out)
    assert version_of(out) == 1


def test_out_plan(repeat):
    x, out = ours(matrix()), ours(torch.zeros(2, 6))
    plan = plan_of(repeat.out, (x, 2, out))
    assert plan(x, out) is out
    assert_same(matrix().repeat_interleave(2, 1), out)


def test_free_strides_leave_out_s_own(repeat):
    out = torch.zeros(6, 2).t()
    repeat.out(ours(matrix()), 2, ours(out))
    assert torch.equal(out, matrix().repeat_interleave(2, 1))


def test_out_is_resized_with_a_warning(repeat):
    out = ours(torch.zeros(2))
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        repeat.out(ours(matrix()), 2, out)
    assert out.shape == (2, 6)


def test_checks_of_the_shape_function(repeat):
    with pytest.raises(ShapeError, match=r"repeat_columns: expected a matrix \(got=\(2,\)\)"):
        repeat.functional(ours(torch.ones(2)), 2)


def test_meta_runs_alone(repeat):
    x = new_tensor(ours(matrix()).geometry.replace(device=meta, shape=(10**9, 10**6), strides=(10**6, 1)))
    planned = repeat.functional(x, 2)
    assert (planned.shape, planned.device, hasattr(planned, "array")) == ((10**9, 2 * 10**6), meta, False)
    assert plan_of(repeat.functional, (x, 2))(x).geometry is planned.geometry


def test_another_dtype_of_out_raises_pytorchs_text(repeat):
    with pytest.raises(DTypeError, match="Expected out tensor to have dtype float, but got double instead"):
        repeat.out(ours(matrix()), 2, ours(torch.zeros(2, 6, dtype=torch.float64)))


def test_partial_overlap_is_refused(repeat):
    base = ours(torch.zeros(20))
    with pytest.raises(OverlapError):
        repeat.out(make_view(base, (2, 3), (3, 1)), 2, make_view(base, (2, 6), (6, 1), 3))


# --------------------------------------------------------------------------------------------- outputs that are inputs


def test_inplace_does_not_overwrite_what_is_still_to_be_read():
    reverse = structured(REVERSE, reverse_meta, python_reverse_kernel, REVERSE_INPLACE, REVERSE_OUT)
    x = ours(torch.arange(4.0))
    assert reverse.inplace(x) is x
    assert (x.tolist(), version_of(x)) == ([3, 2, 1, 0], 1)
    assert reverse.out(x, x).tolist() == [0, 1, 2, 3]


def test_a_plan_does_not_either():
    reverse = structured(REVERSE, reverse_meta, python_reverse_kernel, REVERSE_INPLACE, REVERSE_OUT)
    x, out = ours(torch.arange(4.0)), ours(torch.zeros(4))
    plan = plan_of(reverse.out, (x, out))
    assert plan(x, out).tolist() == [3, 2, 1, 0]
    assert plan(x, x).tolist() == [3, 2, 1, 0]


def test_a_kernel_that_may_get_its_input_does():
    seen = []

    def remember(self, out):
        seen.append(self.array is out.array)

    structured(REVERSE, reverse_meta, remember, REVERSE_INPLACE, alias_safe=True).inplace(ours(torch.ones(2)))
    assert seen == [True]


@pytest.mark.parametrize(
    ("sizes", "dtype", "error", "text"),
    [
        ((3,), float32, ShapeError, "input tensor size \\[2\\] and output tensor size \\[3\\] should match"),
        ((2,), float64, DTypeError, "input tensor dtype float and output tensor dtype double should match"),
    ],
)
def test_inplace_needs_the_result_s_shape_and_dtype(sizes, dtype, error, text):
    def other(ctx, self):
        ctx.set_output(0, sizes, dtype=dtype)

    with pytest.raises(error, match=f"Bad in-place call: {text}"):
        structured(REVERSE, other, python_reverse_kernel, REVERSE_INPLACE).inplace(ours(torch.ones(2)))


# -------------------------------------------------------------------------------------------------------------- strides


def exact_meta(ctx, self):
    ctx.set_output(0, (2, 3), (1, 2), like=self)


def test_exact_strides_of_new_outputs():
    planned = structured(REVERSE, exact_meta, fills(1)).functional(ours(torch.ones(2, 3)))
    assert planned.strides == (1, 2)


def test_exact_strides_are_kept_from_out_by_a_proxy():
    seen = []

    def remember(self, out):
        seen.append(out.strides)
        out.array[...] = numpy.arange(6).reshape(2, 3)

    exact = structured(REVERSE, exact_meta, remember, None, REVERSE_OUT)
    out = ours(torch.zeros(2, 3))
    exact.out(ours(torch.ones(2, 3)), out)
    assert (seen, out.strides, out.tolist()) == ([(1, 2)], (3, 1), [[0, 1, 2], [3, 4, 5]])
    assert plan_of(exact.out, (out, out))(out, out).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_resized_out_gets_the_exact_strides():
    out = ours(torch.zeros(0))
    structured(REVERSE, exact_meta, fills(1), None, REVERSE_OUT).out(ours(torch.ones(2, 3)), out)
    assert (out.shape, out.strides) == ((2, 3), (1, 2))


def test_memory_formats():
    def channels_last(ctx, self):
        ctx.set_output(0, self.shape, like=self, memory_format=MemoryFormat.channels_last)

    planned = structured(REVERSE, channels_last, fills(0)).functional(ours(torch.ones(2, 3, 4, 5)))
    assert planned.strides == torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last).stride()


# ---------------------------------------------------------------------------------- several outputs, precomputed values


def test_several_outputs_and_maybe_get_output():
    seen = []

    def two_meta(ctx, self):
        seen.append((ctx.maybe_get_output(0), ctx.maybe_get_output(1)))
        ctx.set_output(0, self.shape, like=self)
        ctx.set_output(1, (), dtype=float64)

    def two_kernel(self, out0, out1):
        out0.array[...] = self.array * 2
        out1.array[...] = self.array.sum()

    two = structured(
        "two(Tensor self) -> (Tensor, Tensor)",
        two_meta,
        two_kernel,
        None,
        "two.out(Tensor self, *, Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))",
    )
    x = ours(torch.ones(2))
    doubled, total = two.functional(x)
    assert (doubled.tolist(), total.item(), total.dtype) == ([2, 2], 2, float64)
    doubled, total = plan_of(two.functional, (x,))(x)
    assert (doubled.tolist(), total.item()) == ([2, 2], 2)
    outs = ours(torch.zeros(2)), ours(torch.zeros((), dtype=torch.float64))
    assert two.out(x, *outs) == outs
    assert seen[0] == (None, None)
    assert seen[-1] == outs


def test_precomputed_values_reach_the_kernel():
    def scaled_meta(ctx, self, times):
        ctx.set_output(0, self.shape, like=self)
        return {"factor": times * 10}

    def scaled_kernel(self, times, factor, out):
        out.array[...] = self.array * factor + times

    scaled = structured("scaled(Tensor self, int times) -> Tensor", scaled_meta, scaled_kernel, precomputed=["factor"])
    x = ours(torch.ones(2))
    assert scaled.functional(x, 2).tolist() == [22, 22]
    assert plan_of(scaled.functional, (x, 2))(x).tolist() == [22, 22]
    assert scaled.definition.kernel_parameters(["out"]) == ("self", "times", "factor", "out")


def test_a_plan_holds_for_the_numbers_that_the_shape_function_has_seen():
    def grow_meta(ctx, self, factor):
        ctx.set_output(0, (int(self.shape[0] * factor),), like=self)

    def grow_kernel(self, factor, out):
        out.array[...] = factor

    grow = structured("grow(Tensor self, float factor) -> Tensor", grow_meta, grow_kernel)
    x = ours(torch.ones(2))
    plan = plan_of(grow.functional, (x, 2.0))
    assert (plan(x, 2.0).tolist(), plan(x, 1.5).tolist()) == ([2, 2, 2, 2], [1.5, 1.5, 1.5])


def test_lists_are_tuples():
    def cat_meta(ctx, tensors):
        ctx.set_output(0, (sum(tensor.shape[0] for tensor in tensors),), like=tensors[0])

    def cat_kernel(tensors, out):
        numpy.concatenate([tensor.array for tensor in tensors], out=out.array)

    out_schema = "cat.out(Tensor[] tensors, *, Tensor(a!) out) -> Tensor(a!)"
    cat = structured("cat(Tensor[] tensors) -> Tensor", cat_meta, cat_kernel, None, out_schema)
    x = ours(torch.ones(2))
    assert cat.functional((x, x)).tolist() == [1, 1, 1, 1]
    assert plan_of(cat.functional, ((x, x),))([x, x]).tolist() == [1, 1, 1, 1]
    out = ours(torch.zeros(4))
    with pytest.raises(OverlapError):
        cat.out((make_view(out, (2,), (1,)), x), out)


# ------------------------------------------------------------------------------------------------- mistakes of authors


def broken(meta=reverse_meta, kernel=None, **options):
    return structured(REVERSE, meta, kernel or fills(0), **options).functional(ours(torch.ones(2)))


@pytest.mark.parametrize(
    ("meta_function", "message"),
    [
        (lambda ctx, self: None, "has not set output 0 of 1. Call ctx.set_output"),
        (lambda ctx, self: ctx.set_output(1, (2,), like=self), "there is no output 1. The operator has 1"),
        (lambda ctx, self: ctx.set_output(0, (2,)), "output 0 has no dtype. Give like= or dtype="),
        (lambda ctx, self: ctx.set_output(0, (-2,), like=self), "output 0 has a negative size"),
        (lambda ctx, self: ctx.set_output(0, (2.5,), like=self), "Sizes are ints"),
        (lambda ctx, self: ctx.set_output(0, (2, 2), (1,), like=self), "Give one stride that is not negative for each"),
        (lambda ctx, self: [ctx.set_output(0, (2,), like=self) for _ in "ab"], "output 0 is set twice"),
        (lambda ctx, self: ctx.maybe_get_output(3), "there is no output 3"),
        (lambda ctx, self: ctx.set_output(0, (2,), like=self) or {"n": 1}, "has to return nothing"),
    ],
)
def test_wrong_shape_functions(meta_function, message):
    with pytest.raises(KernelError, match=message):
        broken(meta_function)


def test_a_kernel_that_returns_something():
    def returns(self, out):
        return out

    with pytest.raises(KernelError, match="returned Tensor, but it has to fill its outputs"):
        broken(kernel=returns)


def test_a_kernel_that_raises():
    def raises(self, out):
        raise ZeroDivisionError("oh")

    with pytest.raises(KernelError, match="raised ZeroDivisionError: oh") as error:
        broken(kernel=raises)
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_a_kernel_that_rebinds_its_output_is_refused_at_once():
    def rebinds(self, out):
        out = self.array * 2  # noqa: F841

    with pytest.raises(KernelSignatureError, match=r"assigns to the name 'out'.* Write out\[...\] = ..."):
        structured(REVERSE, reverse_meta, rebinds)


def test_a_backend_without_a_kernel_is_named():
    definition = StructuredDefinition(parse_schema(REVERSE), reverse_meta)
    with pytest.raises(
        MissingKernelError, match=r'there is no CPU out-kernel .have none.*@reverse.out_kernel\("CPU"\)'
    ):
        kernels(definition).functional(ours(torch.ones(2)))
