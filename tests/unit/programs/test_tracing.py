"""Tests of the steps, sizes and guards that ``opdsl.trace`` records of a function without computing."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

import opdsl
from opdsl.errors import ProgramError, ShapeError, TraceError
from opdsl.programs.fusion import with_fused_steps
from opdsl.programs.passes import without_repeated_steps, without_unused_steps
from opdsl.programs.program import Program


def names(program: Program) -> list[str]:
    return [step.name for step in program.steps]


def test_the_operators_that_are_called_become_steps_in_order() -> None:
    program = opdsl.trace(lambda x: x.exp().sum(0), opdsl.ones(3, 4))
    assert names(program) == ["aten::exp", "aten::sum.dim_IntList"]


def test_a_composite_becomes_what_it_calls() -> None:
    program = opdsl.trace(lambda x, w: opdsl.ops.aten.linear(x, w), opdsl.ones(3, 4), opdsl.ones(5, 4))
    assert names(program) == ["aten::t", "aten::mm"]


def test_sizes_of_two_or_more_are_names() -> None:
    program = opdsl.trace(lambda x: x, opdsl.ones(3, 1, 5))
    assert [str(input) for input in program.inputs] == ["x: float32[s1, 1, s2]"]


def test_equal_sizes_are_one_name() -> None:
    program = opdsl.trace(lambda x, y: x + y, opdsl.ones(3, 5), opdsl.ones(5))
    assert [input.shape for input in program.inputs] == [("s1", "s2"), ("s2",)]


def test_results_know_their_shapes() -> None:
    program = opdsl.trace(lambda x: x.reshape(-1), opdsl.ones(3, 5))
    assert program.steps[0].results[0].shape == ("(s1 * s2)",)  # type: ignore[union-attr]


def test_what_the_function_asks_of_sizes_is_a_guard() -> None:
    def asking(x: Any) -> Any:
        return x if x.shape[0] > 10 else -x

    assert opdsl.trace(asking, opdsl.ones(20)).guards == ("s1 > 10",)
    assert opdsl.trace(asking, opdsl.ones(5)).guards == ("not (s1 > 10)",)


def test_what_kernels_ask_of_sizes_is_none() -> None:
    assert opdsl.trace(lambda x: x.sum(1), opdsl.ones(20, 30)).guards == ()


def test_numbers_are_inputs_and_what_is_made_of_them_an_expression() -> None:
    program = opdsl.trace(lambda x, r: x * (2 * r), opdsl.ones(3), 0.5)
    assert [str(input) for input in program.inputs] == ["x: float32[s1]", "r: float"]
    assert "mul.Tensor(x, (r * 2))" in program.source


def test_tensors_in_lists_and_dicts_are_inputs_and_outputs() -> None:
    program = opdsl.trace(lambda xs, d: {"a": xs[0] + d["b"]}, [opdsl.ones(3)], {"b": opdsl.ones(3)})
    assert [input.name for input in program.inputs] == ["xs_0", "d_b"]
    assert "return {'a': add}" in program.source


def test_tensors_from_elsewhere_are_constants_and_no_copies() -> None:
    weight = opdsl.ones(3)
    program = opdsl.trace(lambda x: x * weight, opdsl.ones(3))
    assert list(program.constants.values()) == [weight]
    assert next(iter(program.constants.values())) is weight


def test_arguments_that_are_one_tensor_are_a_guard() -> None:
    x = opdsl.ones(3)
    assert "y is x" in opdsl.trace(lambda x, y: x + y, x, x).guards


def test_writes_and_views_are_steps() -> None:
    def writing(x: Any) -> Any:
        x = x.clone()
        x[0] = 1.0
        return x

    assert names(opdsl.trace(writing, opdsl.ones(3, 4))) == ["aten::clone", "aten::select.int", "aten::fill_.Scalar"]


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x.item(), id="item"),
        pytest.param(lambda x: x if x.sum() > 0 else -x, id="truth"),
        pytest.param(lambda x: [*x.tolist()], id="tolist"),
        pytest.param(lambda x: x.numpy().sum(), id="numpy"),
        pytest.param(lambda x: opdsl.equal(x, x), id="equal"),
        pytest.param(lambda x: opdsl.full((2,), float(x[0])), id="float"),
        pytest.param(lambda x: x[x > 0].reshape(x[x > 0].shape[0], 1), id="a size"),
    ],
)
def test_a_function_that_looks_at_elements_is_refused(function: Any) -> None:
    with pytest.raises((TraceError, opdsl.errors.ConversionError)):
        opdsl.trace(function, opdsl.ones(3))


def test_a_guard_that_is_entered_is_refused() -> None:
    def entering(x: Any) -> Any:
        with opdsl.no_grad():
            return x + 1

    with pytest.raises(TraceError, match=r"entering enters no_grad"):
        opdsl.trace(entering, opdsl.ones(3))


def test_a_wrong_call_raises_what_it_raises_untraced() -> None:
    with pytest.raises(ShapeError):
        opdsl.trace(lambda x, y: x @ y, opdsl.ones(3, 4), opdsl.ones(3, 4))


def test_a_program_takes_other_sizes_and_refuses_another_dtype() -> None:
    program = opdsl.trace(lambda x: x, opdsl.ones(3))
    assert program(opdsl.ones(7)).shape == (7,)
    with pytest.raises(ProgramError, match=r"expected x: float32\[s1\] as in the trace \(got int64\[3\]\)"):
        program(opdsl.ones(3, dtype=opdsl.int64))


def test_a_program_refuses_sizes_that_its_guards_do_not_hold_for() -> None:
    program = opdsl.trace(lambda x: x if x.shape[0] > 10 else -x, opdsl.ones(20))
    with pytest.raises(ProgramError, match="s1 > 10"):
        program(opdsl.ones(5))


def test_equal_programs_are_equal() -> None:
    one, other = (opdsl.trace(lambda x: x.exp() + 1, opdsl.ones(n)) for n in (3, 4))
    assert one == other
    assert one != opdsl.trace(lambda x: x.exp() + 2, opdsl.ones(3))


def test_the_shapes_of_a_program_need_no_memory() -> None:
    program = opdsl.trace(lambda x: x.reshape(-1).exp(), opdsl.ones(3, 4))
    output = program.meta(opdsl.empty(1 << 20, 1 << 20, device="meta"))
    assert output.shape == (1 << 40,) and output.is_meta


def test_the_source_of_a_program_runs() -> None:
    program = opdsl.trace(lambda x, r: (x * r).reshape(-1).to(opdsl.float64), opdsl.ones(2, 3), 0.5)
    namespace: dict[str, Any] = {}
    exec(program.source, namespace)
    output = namespace["_lambda_"](opdsl.empty(4, 5, device="meta"), 2.0)
    assert (output.shape, output.dtype) == ((20,), opdsl.float64)


def test_names_of_operators_and_arguments_stay_clear_of_what_programs_call() -> None:
    def function(max: Any, *, lambda_: Any) -> Any:
        return (max & lambda_).max(), opdsl.ops.aten.__and__.Tensor(max, lambda_)

    program = opdsl.trace(function, opdsl.ones(3, dtype=opdsl.int64), lambda_=opdsl.ones(3, dtype=opdsl.int64))
    assert [input.name for input in program.inputs] == ["max_", "lambda_"]
    assert [step.results[0].name for step in program.steps] == ["bitwise_and", "max_1", "bitwise_and_1"]  # type: ignore[union-attr]
    compile(program.source, "program", "exec")


def test_steps_that_nothing_reads_are_left_out() -> None:
    program = opdsl.trace(lambda x: (x.exp(), x + 1)[1], opdsl.ones(2))
    assert names(without_unused_steps(program)) == ["aten::add.Tensor"]


def test_steps_that_write_or_draw_stay() -> None:
    def writing(x: Any) -> Any:
        x.add_(1)
        x.bernoulli_()
        return None

    program = opdsl.trace(writing, opdsl.ones(2))
    assert without_unused_steps(program).steps == program.steps


def test_equal_steps_become_one() -> None:
    program = opdsl.trace(lambda x: x.exp() + x.exp(), opdsl.ones(2))
    assert names(without_repeated_steps(program)) == ["aten::exp", "aten::add.Tensor"]


def test_numbers_that_are_equal_but_not_the_same_are_kept_apart() -> None:
    program = opdsl.trace(lambda x: opdsl.copysign(x, 0.0) + opdsl.copysign(x, -0.0), opdsl.ones(2))
    assert len(without_repeated_steps(program).steps) == 3


def test_nothing_becomes_one_where_something_is_written() -> None:
    def writing(x: Any) -> Any:
        first = x.exp()
        x.add_(1)
        return first + x.exp()

    program = opdsl.trace(writing, opdsl.ones(2))
    assert without_repeated_steps(program) == program


def test_results_that_are_returned_stay_apart() -> None:
    program = opdsl.trace(lambda x: (x.exp(), x.exp()), opdsl.ones(2))
    assert len(without_repeated_steps(program).steps) == 2


def test_views_of_equal_steps_that_are_returned_stay_apart() -> None:
    program = opdsl.trace(lambda x: (x.exp().t(), x.exp().t()), opdsl.ones(2, 3))
    assert names(without_repeated_steps(program)).count("aten::exp") == 2


def parts(program: Program) -> list[int]:
    """Return, for each step of the fused program, the number of steps that it replaces."""
    return [len(step.parts) or 1 for step in with_fused_steps(program).steps]


def test_pointwise_steps_become_one() -> None:
    program = opdsl.trace(lambda x, y: ((x * 2 + 1).exp(), y - 1), opdsl.ones(3), opdsl.ones(3))
    assert parts(program) == [3, 1]


def test_steps_that_read_one_tensor_become_one_with_several_results() -> None:
    program = opdsl.trace(lambda x, y: ((x * y + 1).exp(), x - y, x > 0), opdsl.ones(3), opdsl.ones(3))
    assert parts(program) == [4, 1]  # the step with a bool result is not fused


def test_folds_of_the_same_rows_become_one() -> None:
    def folds(x: Any) -> Any:
        return x.sum(1, keepdim=True), x.amax(1, keepdim=True), x.amin(0, keepdim=True)

    assert parts(opdsl.trace(folds, opdsl.ones(3, 4))) == [2, 1]


def test_folds_that_keep_no_dimension_are_fused_with_what_they_fold() -> None:
    def distances(x: Any, y: Any) -> Any:
        return ((x - y) ** 2).sum(1)

    program = opdsl.trace(distances, opdsl.ones(3, 4), opdsl.ones(3, 4))
    assert parts(program) == [3, 1]  # the second step drops the dimension
    x = opdsl.rand(3, 4)
    computed = opdsl.compile(distances)(x, opdsl.ones(3, 4))
    assert (
        computed.shape == (3,) and not computed._is_view() and opdsl.allclose(computed, distances(x, opdsl.ones(3, 4)))
    )


def test_sums_of_rows_that_broadcast_along_rows_are_read_from_outside() -> None:
    def crossed(x: Any) -> Any:
        return x - (x * 2).sum(1)  # as many rows as columns: the sums broadcast along the columns

    x = opdsl.rand(4, 4)
    assert opdsl.allclose(opdsl.compile(crossed)(x), crossed(x))


def test_sums_of_everything_stay_reductions() -> None:
    assert parts(opdsl.trace(lambda x: (x * x).sum((0, 1)), opdsl.ones(3, 4))) == [1, 1]


def test_steps_that_read_one_tensor_before_and_after_another_stay_apart() -> None:
    def around(x: Any) -> Any:
        return x - x.exp().cumsum(0)

    assert parts(opdsl.trace(around, opdsl.ones(4))) == [1, 1, 1]


def test_steps_on_both_sides_of_a_write_stay_apart() -> None:
    def writing(x: Any) -> Any:
        y = x.exp()
        x.add_(1)
        return y, x.sin()

    assert parts(opdsl.trace(writing, opdsl.ones(4))) == [1, 1, 1]


def test_a_softmax_that_is_written_out_becomes_one() -> None:
    def softmax(x: Any) -> Any:
        e = (x - x.amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    assert parts(opdsl.trace(softmax, opdsl.ones(3, 4))) == [5]


def test_steps_of_other_shapes_stay_apart() -> None:
    program = opdsl.trace(lambda x, y: x.exp() * y.exp(), opdsl.ones(4), opdsl.ones(3, 4))
    assert parts(program) == [1, 2]


def test_pairs_of_steps_that_lead_to_each_other_are_not_all_fused() -> None:
    """Two pairs of steps of which fusing both would create a cycle are not both fused."""

    def crossed(x: Any, y: Any) -> Any:
        first = x * 2.0
        of_first = first @ first
        second = y * 2.0
        of_second = second @ second
        return first, second, x * 3.0 + of_second, y * 3.0 + of_first

    x, y = opdsl.tensor([[1.0, 2.0], [3.0, 4.0]]), opdsl.tensor([[0.0, 1.0], [2.0, 0.5]])
    fused = with_fused_steps(opdsl.trace(crossed, x, y))
    for one, other in zip(fused(x, y), crossed(x, y), strict=True):
        assert one.tolist() == other.tolist()


def test_steps_are_not_fused_around_one_that_lies_between() -> None:
    def between(x: Any) -> Any:
        y = x.exp()
        return y.cumsum(0) + y

    assert parts(opdsl.trace(between, opdsl.ones(4))) == [1, 1, 1]


def test_steps_are_not_fused_across_a_write() -> None:
    def writing(x: Any) -> Any:
        y = x.exp()
        x.add_(1)
        return y + x

    assert parts(opdsl.trace(writing, opdsl.ones(4))) == [1, 1, 1]


def test_rows_along_other_dimensions_stay_apart() -> None:
    program = opdsl.trace(lambda x: (x - x.amax(0, keepdim=True)) / x.sum(1, keepdim=True), opdsl.ones(3, 4))
    assert max(parts(program)) < 4


def test_integers_are_fused() -> None:
    assert parts(opdsl.trace(lambda x: x * 2 + 1, opdsl.ones(3, dtype=opdsl.int64))) == [2]


def test_rows_of_narrow_floats_are_not_fused() -> None:
    program = opdsl.trace(lambda x: x / x.sum(0, keepdim=True), opdsl.ones(3, dtype=opdsl.bfloat16))
    assert parts(program) == [1, 1]


def test_parameters_get_names_that_mean_nothing_else() -> None:
    program = opdsl.trace(
        lambda _, é, __x, _opdsl_1: _ * é + __x - _opdsl_1, *[opdsl.full((2, n), 2.0) for n in (3, 1, 3, 1)]
    )
    assert program(*[opdsl.full((4, n), 3.0) for n in (5, 1, 5, 1)]).tolist() == [[9.0] * 5] * 4
    assert [input.name for input in program.inputs] == ["argument", "argument_", "x", "opdsl_1"]


def test_numbers_without_a_result_are_not_served() -> None:
    def scaled(x: Any, r: float) -> Any:
        return x * (1.0 / r)

    program = opdsl.trace(scaled, opdsl.ones(2), 2.0)
    with pytest.raises(ProgramError, match="is not valid for these sizes and numbers"):
        program(opdsl.ones(2), 0.0)
    compiled = opdsl.compile(scaled)
    assert compiled(opdsl.ones(2), 2.0).tolist() == [0.5, 0.5]
    with pytest.raises(ZeroDivisionError):
        compiled(opdsl.ones(2), 0.0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: opdsl.from_numpy(x.numpy() * 2) + x,
        lambda x: opdsl.from_numpy(1 - x.numpy()) + x,
        lambda x: x + float((x.numpy() == 1).sum()),
        lambda x: x + float((x.numpy() < 1).sum()),
    ],
)
def test_functions_that_compute_with_arrays_run_uncompiled(function):
    compiled = opdsl.compile(function)
    for input in (opdsl.tensor([1.0, 2.0]), opdsl.tensor([0.0, 0.5]), opdsl.tensor([1.0, 1.0])):
        assert compiled(input).tolist() == function(input).tolist()


def test_functions_of_numpy_take_sizes():
    compiled = opdsl.compile(lambda x: x / numpy.sqrt(x.shape[-1]) + numpy.log2(x.numel()))
    for rows, columns in ((2, 3), (2, 3), (4, 5), (1, 1), (4, 5)):
        x = numpy.ones((rows, columns))
        wanted = x / columns**0.5 + math.log2(rows * columns)
        numpy.testing.assert_allclose(compiled(opdsl.from_numpy(x)).numpy(), wanted)
