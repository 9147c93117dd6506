"""Pass that removes steps without effect, such as a product with 1 or a sum with 0."""

from __future__ import annotations

from opdsl.errors import ScalarFunctionError
from opdsl.kernels.definitions.pointwise import PointwiseDefinition
from opdsl.kernels.iteration.dtypes import PRECISION
from opdsl.programs.composition import Composition
from opdsl.programs.passes import Memory, renamed, returned_by
from opdsl.programs.program import Program
from opdsl.programs.steps import Expression, Step, sizes_of
from opdsl.runtime import Tensor

__all__ = ["without_needless_steps"]


def without_needless_steps(program: Program) -> Program:
    """Remove pointwise steps whose result equals one of their operands, found by simplifying their scalar functions.

    Steps stay if their results are returned or their memory is written, since the caller may already have the operand.

    >>> import opdsl
    >>> program = opdsl.trace(lambda x: (x * 1.0).exp(), opdsl.ones(2))
    >>> [step.name for step in without_needless_steps(program).steps]
    ['aten::exp']
    """
    memory, returned = Memory(program), returned_by(program)
    names: dict[str, str] = {}
    kept: list[Step] = []
    for old in program.steps:
        step = renamed(old, names)
        source = _source(step)
        is_shared = bool(memory.of(old.reads | old.result_names) & memory.written) or bool(old.result_names & returned)
        if source is None or is_shared:
            kept.append(step)
        else:
            names |= dict.fromkeys(old.result_names, source)
    return program.replace(steps=tuple(kept))


def _source(step: Step) -> str | None:
    """Return the name of the operand that a pointwise step returns unchanged (as in ``x * 1``); None for other
    steps.
    """
    call, result = step.call, step.results[0] if len(step.results) == 1 else None
    if call is None or result is None or not isinstance(call.definition, PointwiseDefinition):
        return None
    tensors = [at for at, argument in enumerate(call.arguments) if isinstance(argument, Tensor)]
    names = [operand for operand in call.operands if isinstance(operand, Expression)]
    if len(tensors) != 1 or len(names) != 1:
        return None
    source: Tensor = call.arguments[tensors[0]]
    # 16-bit results are rounded, so the operand must not be of such a dtype.
    is_alike = source.dtype is result.dtype not in PRECISION and sizes_of(source.shape) == result.shape
    # Only 0 and 1 can be neutral elements.
    has_neutral = any(type(argument) in (int, float) and argument in (0, 1) for argument in call.arguments)
    if not is_alike or not has_neutral or source.geometry.form.order is None:
        return None
    composition = Composition((step,), {})
    try:
        graph = composition.function([result.name]).specialise(dict.fromkeys(composition.tensors, source.dtype.name))
    except ScalarFunctionError:
        return None
    return names[0].text if graph.nodes[graph.results[0]].op == "parameter" else None
