"""Tests of CUDA graphs on an emulated driver: one call queues the captured work, on memory that the graph owns."""

from __future__ import annotations

import pytest

import opdsl
from opdsl import Tensor
from opdsl.errors import ArgumentError, DriverError, RequiresGradError
from tests.emulation.driver import EmulatedDriver


def formula(x: Tensor) -> Tensor:
    y = x * 2
    return (y + 1) * y - x


def expected(numbers: list[float]) -> list[float]:
    return [(2 * number + 1) * 2 * number - number for number in numbers]


def test_a_graph_computes_what_the_function_does(cuda: EmulatedDriver) -> None:
    run = opdsl.cuda.graph(formula)
    for numbers in ([1.0, 2.0], [3.0, 4.0], [5.0, -6.0]):
        assert run(opdsl.tensor(numbers, device="cuda")).tolist() == expected(numbers)


def test_a_replay_is_one_call_beside_the_copy_of_the_arguments(cuda: EmulatedDriver) -> None:
    run, x = opdsl.cuda.graph(formula), opdsl.ones(4).cuda()
    run(x)
    run(x)
    cuda.calls.clear()
    run(x)
    assert [call.name for call in cuda.calls] == ["launch", "launch_graph"]


def test_the_steps_of_a_compiled_program_are_one_call(cuda: EmulatedDriver) -> None:
    def cumulated(x: Tensor) -> Tensor:
        y = (x * 2).exp()
        return y.cumsum(0) / y.sum(0, keepdim=True)

    x = opdsl.tensor([0.5, -0.5, 1.0])
    run, there = opdsl.cuda.graph(opdsl.compile(cumulated)), x.cuda()
    run(there)
    cuda.calls.clear()
    assert opdsl.allclose(run(there).cpu(), cumulated(x))
    assert [call.name for call in cuda.calls][:2] == ["launch", "launch_graph"]


def test_other_geometries_are_captured_apart(cuda: EmulatedDriver) -> None:
    run = opdsl.cuda.graph(formula)
    for shape in ((2,), (3,), (2,)):
        run(opdsl.ones(shape).cuda())
    assert len(cuda.named("begin_capture")) == 2


def test_tensors_from_outside_are_read_anew(cuda: EmulatedDriver) -> None:
    weight = opdsl.ones(3).cuda() * 2
    run = opdsl.cuda.graph(lambda x: x * weight)
    x = opdsl.ones(3).cuda()
    run(x)
    weight.fill_(7)
    assert run(x).tolist() == [7, 7, 7]


def test_the_graph_keeps_the_memory_that_it_uses(cuda: EmulatedDriver) -> None:
    def scaled() -> opdsl.cuda.Graph:
        weight = opdsl.ones(3).cuda() * 2
        return opdsl.cuda.graph(lambda x, weight=weight: x * weight)

    run = scaled()
    x = opdsl.ones(3).cuda()
    run(x)
    run.function = formula  # the only other reference to the weight
    opdsl.empty(3, device="cuda").fill_(-1)
    assert run(x).tolist() == [2, 2, 2]


def test_tensors_made_meanwhile_do_not_take_the_graphs_memory(cuda: EmulatedDriver) -> None:
    run, x = opdsl.cuda.graph(formula), opdsl.tensor([3.0], device="cuda")
    actual = run(x)
    others = [opdsl.zeros(1, device="cuda") for _ in range(20)]
    assert actual.tolist() == expected([3.0])
    assert run(x).tolist() == expected([3.0]) and all(other.item() == 0 for other in others)


def test_memory_comes_back_with_the_graph(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(100).cuda()
    opdsl.cuda.empty_cache()
    before = cuda.in_use
    run = opdsl.cuda.graph(formula)
    run(x)
    del run
    opdsl.cuda.empty_cache()
    assert cuda.in_use == before


def test_runs_on_two_streams_come_one_after_the_other(cuda: EmulatedDriver) -> None:
    run, x, y = opdsl.cuda.graph(formula), opdsl.ones(2).cuda(), opdsl.zeros(2, device="cuda")
    first = run(x).clone()
    with opdsl.cuda.Stream():
        second = run(y).clone()
    assert (first.tolist(), second.tolist()) == (expected([1, 1]), expected([0, 0]))


def test_nested_results_are_returned_as_they_are(cuda: EmulatedDriver) -> None:
    run = opdsl.cuda.graph(lambda x: {"sum": x + 1, "parts": [x * 2, "text"]})
    run(opdsl.ones(2).cuda())
    result = run(opdsl.zeros(2, device="cuda"))
    assert result["sum"].tolist() == [1, 1] and result["parts"][1] == "text"


def test_numbers_are_a_part_of_what_is_captured(cuda: EmulatedDriver) -> None:
    run, x = opdsl.cuda.graph(lambda x, factor: x * factor), opdsl.ones(2).cuda()
    assert [run(x, 2).tolist(), run(x, 3).tolist(), run(x, 2).tolist()] == [[2, 2], [3, 3], [2, 2]]


def test_looking_at_values_cannot_be_captured(cuda: EmulatedDriver) -> None:
    run = opdsl.cuda.graph(lambda x: x * x[0].item())
    with pytest.raises(DriverError, match="waited for the device"):
        run(opdsl.ones(2).cuda())


def test_gradients_are_not_captured(cuda: EmulatedDriver) -> None:
    with pytest.raises(RequiresGradError, match="detach"):
        opdsl.cuda.graph(formula)(opdsl.ones(2).cuda().requires_grad_())


def test_without_a_cuda_tensor_there_is_nothing_to_capture(cuda: EmulatedDriver) -> None:
    with pytest.raises(ArgumentError, match="needs a CUDA tensor"):
        opdsl.cuda.graph(formula)(opdsl.ones(2))


# ------------------------------------------------------------------------------------------------------ random numbers


def noisy(x: Tensor) -> Tensor:
    return opdsl.rand_like(x) + opdsl.nn.functional.dropout(x, 0.5) + opdsl.randn(x.shape, device="cuda")


def test_each_run_draws_the_numbers_that_calls_draw(cuda: EmulatedDriver) -> None:
    x = opdsl.ones(100, device="cuda")
    opdsl.manual_seed(7)
    expected = [noisy(x).tolist() for _ in range(4)]
    after = opdsl.rand(1, device="cuda").item()
    opdsl.manual_seed(7)
    run = opdsl.cuda.graph(noisy)
    assert [run(x).tolist() for _ in range(4)] == expected
    assert opdsl.rand(1, device="cuda").item() == after
    opdsl.manual_seed(7)
    assert run(x).tolist() == expected[0]
    assert len({tuple(numbers) for numbers in expected}) == 4


def test_a_generator_of_ones_own_goes_on_in_each_run(cuda: EmulatedDriver) -> None:
    def draw(x: Tensor) -> Tensor:
        return x + opdsl.rand(x.shape, device="cuda", generator=generator)

    generator, x = opdsl.Generator("cuda").manual_seed((1 << 64) - 1), opdsl.zeros(3, device="cuda")
    expected = [draw(x).tolist() for _ in range(3)]
    generator.manual_seed((1 << 64) - 1)
    run = opdsl.cuda.graph(draw)
    assert [run(x).tolist() for _ in range(3)] == expected


def test_numbers_of_the_cpu_are_drawn_once(cuda: EmulatedDriver) -> None:
    run, x = opdsl.cuda.graph(lambda x: x * opdsl.rand(1).item()), opdsl.ones(2, device="cuda")
    assert run(x).tolist() == run(x).tolist()


def test_another_librarys_capture_draws_nothing(cuda: EmulatedDriver) -> None:
    stream = opdsl.cuda.Stream.of(4711)
    cuda.begin_capture(4711)
    try:
        with stream, pytest.raises(DriverError, match="cannot be captured by another library"):
            opdsl.rand(3, device="cuda")
    finally:
        cuda.end_capture(4711)
