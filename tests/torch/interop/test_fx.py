"""Tests of conversions between programs and graphs of torch.fx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves, tree_map_only

import opdsl
from opdsl import Library, formula, primitives
from opdsl.errors import ArgumentError, ProgramError
from opdsl.interop.torch import deregister, register
from opdsl.interop.torch.exported import from_fx
from opdsl.interop.torch.writing import to_fx

CUBES = primitives.elements(lambda x: x * x * x)


def halves(x: Any, y: Any) -> Any:
    z = x.reshape(-1) + y
    first, second = z.split(z.shape[0] // 2)
    return {"product": first * second, "rest": [z.new_zeros(z.shape[0] + 1), (x.shape[0] * x).amax(1, keepdim=True)]}


def written(x: Any, y: Any) -> Any:
    x = x.clone()
    x[0] = 1.0
    x[:, 1:].mul_(2.0)
    return x, y.to(opdsl.float64).sum()


def asked(x: Any, y: Any) -> Any:
    return x.softmax(-1) if x.shape[0] > 3 and x.shape[1] <= 3 else y


WEIGHT = opdsl.tensor([1.0, 2.0, 3.0])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sizes, lists and dicts": halves,
    "writes and views": written,
    "guards": asked,
    "constants": lambda x, y: (x * WEIGHT).logsumexp(1),
    "several results": lambda x, y: x.topk(2, 1),
    "options": lambda x, y: opdsl.zeros(x.shape[1], 2, dtype=opdsl.int32) + x.argmax(),
    "strides": lambda x, y: x.t().contiguous().view(-1) @ y,
}


def arrays(rows: int) -> list[numpy.ndarray[Any, Any]]:
    draw = numpy.random.default_rng(rows)
    return [draw.random(size, dtype=numpy.float32) for size in ((rows, 3), (3 * rows,))]


def as_torch(value: Any) -> Any:
    return tree_map_only(opdsl.Tensor, lambda tensor: torch.from_numpy(tensor.numpy()), value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_program_gives_the_same_in_torch_and_comes_back(name: str) -> None:
    program = opdsl.trace(FUNCTIONS[name], *map(opdsl.from_numpy, arrays(4)))
    graph = to_fx(program)
    for rows in (4, 6):
        inputs = arrays(rows)
        wanted = as_torch(program(*map(opdsl.from_numpy, inputs)))
        torch.testing.assert_close(tree_leaves(graph(*map(torch.from_numpy, inputs))), tree_leaves(wanted))
    assert from_fx(graph) == program


def test_numbers_are_arguments_and_guards_are_checks() -> None:
    program = opdsl.trace(lambda x, r: x * (2 * r) if x.shape[0] > 2 else x, opdsl.ones(3), 0.5)
    graph = program.to_fx()
    assert graph(torch.ones(4), 1.5).tolist() == [3.0] * 4
    with pytest.raises(RuntimeError):
        graph(torch.ones(2), 1.5)
    assert from_fx(graph) == program


def test_constants_share_their_memory() -> None:
    weight = opdsl.ones(2)
    graph = opdsl.trace(lambda x: x + weight, opdsl.ones(2)).to_fx()
    weight.fill_(3.0)
    assert graph(torch.zeros(2)).tolist() == [3.0, 3.0]


def test_fused_steps_are_written_one_by_one() -> None:
    compiled = opdsl.compile(lambda x: (x * 2).exp() + 1)
    compiled(opdsl.ones(3))
    (program,) = compiled.explain().programs
    graph = program.to_fx()
    torch.testing.assert_close(graph(torch.ones(3)), (torch.ones(3) * 2).exp() + 1)
    assert from_fx(graph)(opdsl.ones(3)).tolist() == program(opdsl.ones(3)).tolist()


def test_what_torch_lacks_is_named_until_it_is_registered() -> None:
    with Library("fx_cubed") as library:

        @library.op
        @formula
        def cubed(self: opdsl.Tensor) -> opdsl.Tensor:
            return CUBES(self)  # one step: formulas of operators are expanded to such steps

        program = opdsl.trace(lambda x: cubed(x) + 1, opdsl.ones(2))
        with pytest.raises(ProgramError, match="torch has no fx_cubed::cubed"):
            program.to_fx()
        register(library)
        try:
            assert program.to_fx()(torch.tensor([2.0, 3.0])).tolist() == [9.0, 28.0]
        finally:
            deregister(library)


def test_a_graph_of_make_fx_is_a_program() -> None:
    x = torch.ones(3, 4)
    graph = make_fx(lambda x: torch.softmax(x * 2, 1).sum(0), tracing_mode="symbolic")(x)
    program = from_fx(graph)
    values = torch.rand(5, 6)
    wanted = torch.softmax(values * 2, 1).sum(0).numpy()
    numpy.testing.assert_allclose(program(opdsl.from_numpy(values.numpy())).numpy(), wanted, rtol=1e-6)


def test_nodes_that_do_not_say_what_they_give_are_refused() -> None:
    graph = torch.fx.symbolic_trace(lambda x: torch.ops.aten.exp.default(x))
    with pytest.raises(ProgramError, match="has no example value"):
        from_fx(graph)


def test_anything_else_is_no_graph() -> None:
    with pytest.raises(ArgumentError, match=r"from_fx expects the result of torch\.export\.export"):
        from_fx(torch.nn.Linear(2, 2))
