"""Tracing of functions into programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, overload

from opdsl.aten.create.triangles import trace as trace_of_matrix
from opdsl.errors import TraceError
from opdsl.programs.leaves import Leaves, closed_argument, flatten
from opdsl.programs.program import Program
from opdsl.programs.tracer import tracing
from opdsl.runtime import Tensor

__all__ = ["Traced", "as_function", "trace", "traced", "traced_call"]


@overload
def trace(function: Tensor | None = None, /, **named: Tensor) -> Tensor: ...
@overload
def trace(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Program: ...
def trace(function: Callable[..., Any] | Tensor | None = None, /, *arguments: Any, **named: Any) -> Program | Tensor:
    """Return the operators that a function calls as a program. The function is run once, without computing elements.

    Args:
        function: takes tensors and numbers, and tuples, lists and dicts of them, and returns tensors, in the same way.
            The trace of a matrix is PyTorch's ``torch.trace``: the sum of its diagonal.
        arguments, named: arguments of an example call. The program also serves other sizes: sizes of two or more are
            symbolic. Conditions that the function checks on them (``if x.shape[0] > 10``) become guards.

    Returns:
        The program. Its inputs are the tensors and numbers among the arguments, in order. Tensors that the function
        reads from elsewhere, such as weights, are its constants, and are not copied.

    Raises:
        TraceError: the function looks at elements (``item()``, ``if x > 0``), enters a mode (``no_grad``), or sets
            gradients of tensors.

    >>> import opdsl
    >>> def scaled(x, y):
    ...     return (x * 2.0 + y).exp()
    >>> program = opdsl.trace(scaled, opdsl.ones(3, 4), opdsl.ones(4))
    >>> print(program.source)
    import opdsl
    <BLANKLINE>
    <BLANKLINE>
    def scaled(x: opdsl.Tensor, y: opdsl.Tensor):
        # x: float32[s1, s2]
        # y: float32[s2]
        _, s2 = x.shape
        assert y.shape[0] == s2
        mul = opdsl.ops.aten.mul.Tensor(x, 2.0)  # float32[s1, s2]
        add = opdsl.ops.aten.add.Tensor(mul, y)  # float32[s1, s2]
        exp = opdsl.ops.aten.exp.default(add)  # float32[s1, s2]
        return exp
    <BLANKLINE>
    >>> program(opdsl.zeros(1, 2), opdsl.zeros(2))
    tensor([[1., 1.]])
    """
    if function is None or isinstance(function, Tensor):
        matrix = () if function is None else (function,)
        return trace_of_matrix(*matrix, *arguments, **named)
    leaves = flatten(function, arguments, named)
    closed = closed_argument(leaves)
    if closed is not None:
        raise TraceError(
            f"{getattr(function, '__name__', 'the function')} takes a {type(closed).__name__}, which tracing does not "
            "unpack: its tensors would be constants. Pass tuples, lists and dicts, or use opdsl.compile."
        )
    return traced(function, leaves)


def traced(function: Callable[..., Any], leaves: Leaves) -> Program:
    """Return the program of a function with flattened arguments; see ``trace``."""
    call = traced_call(function, leaves)
    if call.gradients:
        raise TraceError(
            f"{call.program.name} sets gradients of tensors, but a program only returns results. Return the gradients "
            "(opdsl.autograd.grad), or use opdsl.compile."
        )
    if call.is_mixed:
        raise TraceError(
            f"{call.program.name} enters no_grad or enable_grad, which a program cannot record. Enter it around the "
            "program, or use opdsl.compile."
        )
    return call.program


class Traced(NamedTuple):
    """Result of tracing a call: the program, and how the call used autograd.

    program: the program; if the call set gradients of tensors, it returns these after the function's results.
    gradients: names of the inputs and constants whose gradients it has set.
    begins_without: those of them that must have no gradient before.
    is_mixed: whether the grad mode changed during the call.
    has_branches: whether elements choose between branches, which guard gradients.
    """

    program: Program
    gradients: tuple[str, ...]
    begins_without: tuple[str, ...]
    is_mixed: bool
    has_branches: bool


def traced_call(function: Callable[..., Any], leaves: Leaves) -> Traced:
    """Trace a call, which may contain a backward pass.

    Raises:
        TraceError: it cannot be traced.
    """
    with tracing(function, leaves) as tracer:
        outputs = tracer.run(function, leaves)
        names = tuple(tracer.gradients)
        if names:
            outputs = outputs, tuple([leaf.grad for leaf, _ in tracer.gradients.values()])
        program = tracer.program(getattr(function, "__name__", "program"), tracer.specs, outputs)
        is_mixed = not names and any(call.is_recorded != tracer.before.grad_mode for call in tracer.calls)
        begins_without = tuple([name for name in names if name not in tracer.cleared])
        has_branches = any(call.conditions for call in tracer.calls)
        return Traced(program, names, begins_without, is_mixed, has_branches)


def as_function(program: Program) -> Callable[..., Any]:
    """Return a program as a function of its inputs that can be traced again."""
    run, constants = program.function, tuple(program.constants.values())

    def function(*values: Any) -> Any:
        return run(*values, *constants)

    function.__name__ = function.__qualname__ = program.name
    return function
