"""Tests of operators that are deregistered from torch while nodes, users or compiled programs still refer to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from opdsl import Library, Tensor, formula
from opdsl.errors import UnknownOperatorError
from opdsl.interop.torch import deregister, register
from tests.forks import Outcome, outcomes_of
from tests.torch.interop.bridge import declare

# Without care each of these would crash, since torch frees operators.
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "pointwise": lambda ops, x, y: ops.smooth_relu(x, 0.5),
    "pointwise of several": lambda ops, x, y: ops.blend(x, y, x * y),
    "pointwise, keyword": lambda ops, x, y: ops.scaled_add(x, y, alpha=3.0),
    "pointwise, two results": lambda ops, x, y: torch.stack(ops.from_polar(x, y)),
    "pointwise, complex": lambda ops, x, y: ops.exponential_times(torch.complex(x, y), y).abs(),
    "in place": lambda ops, x, y: ops.smooth_relu_(x * y),
    "row": lambda ops, x, y: ops.softmax(x, 1),
    "scan": lambda ops, x, y: ops.running_sum(x * y, 0),
    "reduction": lambda ops, x, y: ops.average(x * x, [1]),
    "out-kernel": lambda ops, x, y: torch.stack(ops.ordered(x[0], y[0])),
    "kernel of lists": lambda ops, x, y: torch.stack(ops.products([x, y], [y, y])),
    "kernel of what may be missing": lambda ops, x, y: ops.masked(x * y, None, 2.0),
    "composite": lambda ops, x, y: ops.swish_of_sums(x, y),
}


def gradients(results: list[Any], inputs: list[tuple[Any, Any]]) -> list[Any]:
    """Return first and second gradients."""
    slopes: list[Any] = []
    for result, input in zip(results, inputs, strict=True):
        first = torch.autograd.grad(result.square().sum(), input, create_graph=True, allow_unused=True)
        second = torch.autograd.grad(
            sum(gradient.sum() for gradient in first if gradient is not None), input, allow_unused=True
        )
        slopes += [*first, *second]
    return slopes


def recorded(ops: Any) -> tuple[list[Any], list[tuple[Any, Any]]]:
    """Return the results of all calls, and their arguments, which require grad."""
    torch.manual_seed(0)
    inputs = [(torch.randn(3, 4, requires_grad=True), torch.randn(3, 4, requires_grad=True)) for _ in CALLS]
    return [call(ops, *input) for call, input in zip(CALLS.values(), inputs, strict=True)], inputs


def check_nodes(first: bool) -> None:
    """Check that nodes give correct gradients after deregistration, also if they gave none before (``first``)."""
    library = Library("interop")
    declare(library)
    register(library)
    graph = recorded(torch.ops.interop)
    if not first:
        gradients(*recorded(torch.ops.interop))
    deregister(library)
    result = gradients(*graph)
    register(library)
    expected = gradients(*recorded(torch.ops.interop))
    assert sum(gradient is not None for gradient in expected) > 3 * len(CALLS)
    torch.testing.assert_close(result, expected, rtol=0, atol=0)
    deregister(library)


# Their formulas call an operator of the library by its function, which does not exist after the library is closed.
CALL_THEIR_LIBRARY = ("scan", "kernel of what may be missing", "composite")


def check_closed() -> None:
    """Check that nodes give correct gradients after their library is closed, unless their formulas call its
    operators.
    """
    library = Library("interop")
    declare(library)
    register(library)
    expected = gradients(*recorded(torch.ops.interop))
    graph = recorded(torch.ops.interop)
    library.close()
    for at, (kind, computed, inputs) in enumerate(zip(CALLS, *graph, strict=True)):
        if kind in CALL_THEIR_LIBRARY:
            with pytest.raises(UnknownOperatorError, match="its library has removed it"):
                gradients([computed], [inputs])
        else:
            torch.testing.assert_close(gradients([computed], [inputs]), expected[4 * at : 4 * at + 4], rtol=0, atol=0)


def check_declared_again() -> None:
    """Check that nodes keep the meaning of their operator when it is declared again with another one."""
    with Library("interop_again") as library:
        _declare_power(library, 2)
        register(library)
        x = torch.full((3,), 2.0, requires_grad=True)
        square = torch.ops.interop_again.power(x)
    with Library("interop_again") as library:
        _declare_power(library, 3)
        register(library)
        cube = torch.ops.interop_again.power(x)
        for actual, expected in ((square, (4.0, 2.0)), (cube, (12.0, 12.0))):
            (slope,) = torch.autograd.grad(actual.sum(), x, create_graph=True)
            (curvature,) = torch.autograd.grad(slope.sum(), x)
            assert (slope[0].item(), curvature[0].item()) == expected


def _declare_power(library: Library, exponent: int) -> None:
    @library.op
    @formula
    def power(self: Tensor) -> Tensor:
        return self * self if exponent == 2 else self * self * self


def check_held() -> None:
    """Check that references to a deregistered operator raise, and work again after it is registered again."""
    library = Library("interop")
    declare(library)
    register(library)
    ops, x = torch.ops.interop, torch.ones(2)
    held: list[tuple[Any, dict[str, Any]]] = [
        (ops.smooth_relu, {}),
        (ops.smooth_relu.default, {}),
        (ops.smooth_relu_.default, {}),
        (ops.smooth_relu.out, {"out": torch.empty(2)}),
        (ops.pieces.default, {"chunks": 2}),
    ]
    expected = [call(x.clone(), **named) for call, named in held]
    hashes = [hash(call) for call, _ in held]
    deregister(library)
    for call, named in held:
        with pytest.raises(UnknownOperatorError, match="not in torch any more"):
            call(x.clone(), **named)
    register(library)
    torch.testing.assert_close([call(x.clone(), **named) for call, named in held], expected)
    assert hashes == [hash(call) for call, _ in held]
    deregister(library)


def check_compiled(backend: str) -> None:
    """Check that a compiled program raises; nodes of its earlier calls give gradients, unless these are
    compiled, too.
    """
    library = Library("interop")
    declare(library)
    register(library)
    compiled = torch.compile(lambda x: torch.ops.interop.smooth_relu(x) * 2, backend=backend)
    x = torch.ones(2, requires_grad=True)
    compiled(x.detach())
    y = compiled(x)
    library.close()
    for sample in (x, x.detach()):
        with pytest.raises(AttributeError):
            compiled(sample)
    if backend == "eager":
        y.sum().backward()
        torch.testing.assert_close(x.grad, 2 * torch.sigmoid(torch.ones(2)))
    else:
        with pytest.raises(AttributeError):
            y.sum().backward()


CHECKS = {
    "nodes": lambda: check_nodes(first=False),
    "nodes, first gradient": lambda: check_nodes(first=True),
    "nodes of a closed library": check_closed,
    "declared again": check_declared_again,
    "held": check_held,
    "compiled": lambda: check_compiled("eager"),
    "compiled with its backward": lambda: check_compiled("aot_eager"),
}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    """Return the outcomes of all checks, each in its own process, which could crash."""
    programs = {check: f"CHECKS[{check!r}]()" for check in CHECKS}
    return outcomes_of(programs, imports=f"from {__name__} import *")


@pytest.mark.parametrize("check", CHECKS)
def test_what_is_taken_back(check: str, outcomes: dict[str, Outcome]) -> None:
    """Deregistration is safe in every situation."""
    outcomes[check].check()
